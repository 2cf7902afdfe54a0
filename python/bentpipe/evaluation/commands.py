"""The verb `bentpipe evaluate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bentpipe import terminal
from bentpipe.cli import completion
from bentpipe.cli.verbs import Fresh, Json, Ray, Stopped, Workers, argument, option, write_and_show

ALGORITHM = argument(
    "NAME",
    'An algorithm: a name, one with parameters ("vegas alpha=2"), or my.py:MyClass.',
    completes=completion.algorithms,
)
"""The algorithm that is evaluated, or broken."""


def evaluate_verb(
    algorithm: Annotated[str, ALGORITHM],
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer set-ups and seeds: about half a minute.")
    ] = False,
    only: Annotated[
        str | None, option("NAMES", "Some experiments, with commas between: beside-others,queues.")
    ] = None,
    out: Annotated[
        Path | None, option("DIR", "Write the page, evaluation.json and the tables there.", "--out", "-o")
    ] = None,
    workers: Workers = 0,
    ray: Ray = None,
    fresh: Fresh = False,
    json: Json = False,
) -> None:
    """Evaluate an algorithm beside CUBIC and Reno by what RFC 9743 and the TCP evaluation suite ask for.

    With --out an interrupted evaluation goes on where it was when the same command is given again.
    """
    from bentpipe.evaluation.assessment import Evaluation
    from bentpipe.evaluation.report import PAGE, is_complete, show
    from bentpipe.sweeps.ray import on_ray

    names = None if only is None else [name.strip() for name in only.split(",") if name.strip()]
    found = Evaluation(algorithm, names, out=out, quick=quick, fresh=fresh)
    with terminal.RunsBar(f"evaluating {algorithm}") as bar:
        found.run(workers=workers, progress=bar.at, executor=on_ray(ray))

    kept = out is not None and found.stopped and is_complete(out)
    write_and_show(
        lambda: None if out is None else found.write(out),
        lambda: terminal.give(found.as_dict, lambda: show(found), json=json),
    )
    if out is not None and not json and not kept:
        terminal.line(f"written to {terminal.plain(str(out / PAGE))}")
    if found.stopped:
        rest = "the answers rest on the runs that were done"
        rest += f"; the complete evaluation in {out} stays" if kept else ""
        raise Stopped(f"{rest}; the same command goes on from there" if out is not None else rest)
