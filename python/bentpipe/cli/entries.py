"""The verbs on what there is: the algorithms, the kinds of queues, and the keys of a scenario."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bentpipe import _core, registry, terminal
from bentpipe.cli import completion
from bentpipe.cli.verbs import Json
from bentpipe.io.files import replace_text

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


def schema_verb(
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Default: standard output.")
    ] = None,
) -> None:
    """Print the JSON Schema of scenarios and sweeps: keys, units, defaults and completion in an editor."""
    import json

    from bentpipe.document.schema import sweep_schema

    text = json.dumps(sweep_schema(), indent=2) + "\n"
    if out is None:
        terminal.line(text.rstrip("\n"))
        return
    if out.is_dir():
        raise _core.ScenarioError(f"--out {out} is a directory; name a file")
    replace_text(out, text)
    terminal.line(f"written to {terminal.plain(str(out))}")
