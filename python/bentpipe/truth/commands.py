"""The verbs `bentpipe validate ...`."""

from __future__ import annotations

from typing import Annotated

import typer

from bentpipe import terminal
from bentpipe.truth.job import AtOnce, Length, Out, Seeds, check_size, folder_of, resumable
from bentpipe.truth.quic_verb import quic_verb
from bentpipe.verbs import Json, option, write_and_show

app = typer.Typer(
    help="Compare simulations with real programs behind the emulated link.", no_args_is_help=True
)

QUICK_S, FULL_S, LINKS_S = 20.0, 120.0, 30.0
QUICK_SEEDS, FULL_SEEDS, LINKS_SEEDS = 1, 5, 3


@app.command("kernel")
def kernel_verb(
    full: Annotated[
        bool,
        typer.Option("--full", help="The whole grid: 270 links and senders, five seeds of 120 s; hours."),
    ] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Three cells of 20 s, half a minute. The default.")
    ] = False,
    links: Annotated[
        bool,
        typer.Option(
            "--links",
            help="Lossy and slow returns, 2 to 80 Mbit/s, presets; three seeds of 30 s, 15 minutes.",
        ),
    ] = False,
    seeds: Seeds = None,
    for_: Length = None,
    only: Annotated[
        list[str] | None,
        option("PATTERN", 'Some cells: a sender, "kernel:*", or a row, "kernel-reno-100ms-*". Repeatable.'),
    ] = None,
    at_once: AtOnce = 12,
    out: Out = None,
    json: Json = False,
) -> None:
    """Make the same transfers in simulation and with the kernel's TCP, and compare them. Needs root."""
    from bentpipe.truth import cell as cells_of
    from bentpipe.truth import measuring
    from bentpipe.truth.comparison import table
    from bentpipe.truth.show import show_truth
    from bentpipe.truth.writing import write_rows

    check_size(full=full, quick=quick, links=links)
    make, count, length = cells_of.quick, QUICK_SEEDS, QUICK_S
    if full:
        make, count, length = cells_of.full, FULL_SEEDS, FULL_S
    elif links:
        make, count, length = cells_of.further, LINKS_SEEDS, LINKS_S
    cells = cells_of.chosen(make(seeds or count, for_ or length), only or [])
    skipped: list[str] = []

    def tell(line: str) -> None:
        skipped.append(line)
        terminal.note(line)

    with folder_of(out) as folder:
        with resumable(out), terminal.Bar("transfers") as bar:
            there = measuring.measure(
                cells, folder, at_once=at_once, tell=tell, progress=lambda done, of, _: bar(done / of)
            )
        with terminal.Bar("simulations") as bar:
            rows = measuring.rows(there, folder, progress=lambda done, of, _: bar(done / of))
        compared = table(rows)

        def write() -> None:
            if out is not None:
                write_rows(out / "cells.csv", rows)
                write_rows(out / "table.csv", compared)

        answer = {"cells": rows, "table": compared, "left_out": skipped}
        write_and_show(
            write, lambda: terminal.give(lambda: answer, lambda: show_truth(compared, rows), json=json)
        )
    if not rows:
        raise typer.Exit(1)


app.command("quic")(quic_verb)
