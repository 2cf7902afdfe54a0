"""The verb `bentpipe validate quic`."""

from __future__ import annotations

from typing import Annotated

import typer

from bentpipe import terminal
from bentpipe.truth.job import AtOnce, Length, Out, Seeds, check_size, folder_of, resumable
from bentpipe.verbs import Json, option, write_and_show

QUICK_S, FULL_S = 20.0, 60.0
FULL_SEEDS = 3


def quic_verb(
    full: Annotated[
        bool, typer.Option("--full", help="Six links instead of one, three seeds of 60 s; half an hour.")
    ] = False,
    quick: Annotated[bool, typer.Option("--quick", help="One link, 20 s: a minute. The default.")] = False,
    seeds: Seeds = None,
    for_: Length = None,
    cc: Annotated[list[str] | None, option("NAME", "Only this controller. Repeatable.", "--cc")] = None,
    at_once: AtOnce = 6,
    out: Out = None,
    json: Json = False,
) -> None:
    """Make the same transfers over TCP and over QUIC, each simulated and real. Needs root."""
    from bentpipe import _core
    from bentpipe.truth import quic_cell
    from bentpipe.truth.quic_program import NotBuilt
    from bentpipe.truth.quic_table import late_rows, measure, over_seeds, page_rows
    from bentpipe.truth.writing import write_rows

    check_size(full=full, quick=quick)
    for name in cc or []:
        if name not in quic_cell.SENDERS:
            raise _core.ScenarioError(f"--cc {name}: compared are {', '.join(quic_cell.SENDERS)}")
    make = quic_cell.full if full else quic_cell.quick
    cells = make(seeds or (FULL_SEEDS if full else 1), for_ or (FULL_S if full else QUICK_S))
    cells = [cell for cell in cells if not cc or cell.algorithm in cc]
    skipped: list[str] = []

    def tell(line: str) -> None:
        skipped.append(line)
        terminal.note(line)

    with folder_of(out) as folder:
        with resumable(out), terminal.Bar("transfers") as bar:
            try:
                rows = measure(cells, folder, at_once=at_once, progress=bar, tell=tell)
            except NotBuilt as missing:
                terminal.note(str(missing))
                raise typer.Exit(1) from None
        table = over_seeds(rows)

        def show() -> None:
            if json:
                terminal.answer({"cells": rows, "table": table, "left_out": skipped})
            else:
                terminal.show_table("Mbit/s, mean RTT in ms, losses in %", *page_rows(table))
                if late := late_rows(table):
                    busy = f"{late} of {len(table)} QUIC senders had to wait for a processor: a busy machine"
                    terminal.warn([busy])

        def write() -> None:
            if out is not None:
                write_rows(out / "quic.csv", table)

        write_and_show(write, show)
