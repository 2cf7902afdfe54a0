"""The verbs `bentpipe validate ...`."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from bentpipe import terminal
from bentpipe.truth.quic_verb import quic_verb
from bentpipe.verbs import Json, Stopped, write_and_show

app = typer.Typer(
    help="Compare simulations with real programs behind the emulated link.", no_args_is_help=True
)

QUICK_S, FULL_S = 20.0, 120.0
QUICK_SEEDS, FULL_SEEDS = 1, 5


@app.command("kernel")
def kernel_verb(
    full: Annotated[
        bool,
        typer.Option("--full", help="The whole grid: 270 links and senders, five seeds of 120 s; hours."),
    ] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Three cells of 20 s, half a minute. The default.")
    ] = False,
    seeds: Annotated[int | None, typer.Option(metavar="N", min=1, help="Seeds of each cell.")] = None,
    for_: Annotated[
        float | None, typer.Option("--for", metavar="SECONDS", min=1, help="Length of a transfer.")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN",
            help='Some cells: a sender, "kernel:*", or a row, "kernel-reno-100ms-*". Repeatable.',
        ),
    ] = None,
    at_once: Annotated[int, typer.Option(metavar="N", min=1, max=64, help="Links emulated at a time.")] = 12,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Keep the transfers and the tables there; the same command goes on where it was stopped.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Make the same transfers in simulation and with the kernel's TCP, and compare them. Needs root."""
    from bentpipe import _core
    from bentpipe.truth import cell as cells_of
    from bentpipe.truth import measuring
    from bentpipe.truth.comparison import table

    if full and quick:
        raise _core.ScenarioError("give one of --quick and --full")
    make = cells_of.full if full else cells_of.quick
    count = seeds or (FULL_SEEDS if full else QUICK_SEEDS)
    cells = cells_of.chosen(make(count, for_ or (FULL_S if full else QUICK_S)), only or [])
    skipped: list[str] = []

    def tell(line: str) -> None:
        skipped.append(line)
        terminal.note(line)

    with ExitStack() as held:
        folder = out or Path(held.enter_context(TemporaryDirectory()))
        with terminal.Bar("transfers") as bar:
            try:
                there = measuring.measure(
                    cells, folder, at_once=at_once, tell=tell, progress=lambda done, of, _: bar(done / of)
                )
            except KeyboardInterrupt:
                kept = "" if out is None else f"; the same command goes on from what is in {out}"
                raise Stopped(f"transfers under way are lost{kept}") from None
        with terminal.Bar("simulations") as bar:
            rows = measuring.rows(there, folder, progress=lambda done, of, _: bar(done / of))
        compared = table(rows)

        def show() -> None:
            if json:
                terminal.answer({"schema": 1, "cells": rows, "table": compared, "left_out": skipped})
            else:
                from bentpipe.truth.show import show_truth

                show_truth(compared, rows)

        def write() -> None:
            if out is not None:
                from bentpipe.truth.writing import write_rows

                write_rows(out / "cells.csv", rows)
                write_rows(out / "table.csv", compared)

        write_and_show(write, show)
    if not rows:
        raise typer.Exit(1)


app.command("quic")(quic_verb)
