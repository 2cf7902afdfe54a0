"""The verbs on what there is: the algorithms, the kinds of queues, and the keys of a scenario."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bentpipe import _core, registry, terminal
from bentpipe.cli import completion
from bentpipe.cli.verbs import FirstSeed, Json, argument, option
from bentpipe.io.files import replace_text

Out = Annotated[Path | None, option("FILE", "Default: standard output.", "--out", "-o")]

cc_app = typer.Typer(help="The congestion-control algorithms.", no_args_is_help=True)
queue_app = typer.Typer(help="The kinds of queues.", no_args_is_help=True)


@cc_app.command("list")
def cc_list(json: Json = False) -> None:
    """Every algorithm."""
    from bentpipe.cli.tables import show_algorithms

    known = registry.controllers()
    terminal.give(lambda: {"algorithms": known}, lambda: show_algorithms(known), json=json)


@cc_app.command("show")
def cc_show(
    name: Annotated[str, typer.Argument(metavar="NAME", autocompletion=completion.algorithms)],
    json: Json = False,
) -> None:
    """One algorithm: what it is, where it comes from, its parameters."""
    from bentpipe.cli.tables import show_algorithm

    entry = registry.find(name)
    terminal.give(lambda: entry, lambda: show_algorithm(entry), json=json)


@cc_app.command("vectors")
def cc_vectors(
    name: Annotated[
        str,
        argument(
            "NAME",
            'An algorithm, also with parameters: "cubic rules=linux".',
            completes=completion.algorithms,
        ),
    ],
    out: Out = None,
    seed: FirstSeed = 1,
    sequences: Annotated[int, option("N", "Random sequences.", min=0, max=10_000)] = 8,
    calls: Annotated[int, option("N", "Lines of a sequence, at most.", min=1, max=1_000_000)] = 500,
    without: Annotated[
        str,
        option(
            "EVENTS",
            "Not in random sequences, with commas between: loss, timeout, ecn, undo, idle_restart, "
            "validation, mss_changed, uncounted, limited, path_change, ssthresh.",
        ),
    ] = "",
    scenario: Annotated[
        str | None,
        option(
            "NAME|FILE",
            "The run of the last sequence: what its first flow meets.",
            completes=completion.scenarios,
        ),
    ] = None,
) -> None:
    """Test vectors for other implementations: each call of the controller with its answer, as JSON lines."""
    from bentpipe import vectors

    leave = [event.strip() for event in without.split(",") if event.strip()]
    text = vectors.of(name, seed=seed, sequences=sequences, calls=calls, without=leave, scenario=scenario)
    _give(text, out)


@queue_app.command("list")
def queue_list(json: Json = False) -> None:
    """Every kind of queue."""
    from bentpipe.cli.tables import show_queues

    known = registry.queues()
    terminal.give(lambda: {"queues": known}, lambda: show_queues(known), json=json)


@queue_app.command("show")
def queue_show(
    kind: Annotated[str, typer.Argument(metavar="KIND", autocompletion=completion.kinds_of_queue)],
    json: Json = False,
) -> None:
    """One kind of queue: what it is, where it comes from, its keys."""
    from bentpipe.cli.tables import show_queue

    entry = registry.find_queue(kind)
    terminal.give(lambda: entry, lambda: show_queue(entry), json=json)


def schema_verb(out: Out = None) -> None:
    """Print the JSON Schema of scenarios and sweeps: keys, units, defaults and completion in an editor."""
    import json

    from bentpipe.document.schema import sweep_schema

    _give(json.dumps(sweep_schema(), indent=2) + "\n", out)


def _give(text: str, out: Path | None) -> None:
    """Writes a text to a file, or to standard output."""
    if out is None:
        terminal.line(text.rstrip("\n"))
        return
    if out.is_dir():
        raise _core.ScenarioError(f"--out {out} is a directory; name a file")
    replace_text(out, text)
    terminal.line(f"written to {terminal.plain(str(out))}")
