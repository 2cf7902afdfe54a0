"""The verbs `bentpipe validate ...`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from bentpipe import terminal
from bentpipe.verbs import Json, Stopped, option, write_and_show

app = typer.Typer(
    help="Compare simulations with real programs behind the emulated link.", no_args_is_help=True
)

Seeds = Annotated[int | None, option("N", "Seeds of each cell.", "--seeds", min=1)]
Length = Annotated[float | None, option("SECONDS", "Length of a transfer.", "--for", min=1)]
AtOnce = Annotated[int, option("N", "Links emulated at a time.", "--at-once", min=1, max=64)]
Out = Annotated[
    Path | None,
    option(
        "DIR",
        "Keep the transfers and the tables there; the same command goes on where it was stopped.",
        "--out",
        "-o",
    ),
]

QUICK_S, FULL_S, LINKS_S = 20.0, 120.0, 30.0
QUICK_SEEDS, FULL_SEEDS, LINKS_SEEDS = 1, 5, 3
QUIC_FULL_S, QUIC_FULL_SEEDS = 60.0, 3


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
    from bentpipe.truth.comparison import show_truth, table
    from bentpipe.truth.writing import write_rows

    check_size(full=full, quick=quick, links=links)
    make, count, length = cells_of.quick, QUICK_SEEDS, QUICK_S
    if full:
        make, count, length = cells_of.full, FULL_SEEDS, FULL_S
    elif links:
        make, count, length = cells_of.further, LINKS_SEEDS, LINKS_S
    cells = cells_of.chosen(make(seeds or count, for_ or length), only or [])
    skipped = Skipped()
    with folder_of(out) as folder:
        with resumable(out), terminal.Bar("transfers") as bar:
            there = measuring.measure(
                cells, folder, at_once=at_once, tell=skipped.tell, progress=lambda done, of, _: bar(done / of)
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


@app.command("quic")
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
    from bentpipe.truth import quic_program
    from bentpipe.truth.quic_table import late_rows, measure, over_seeds, page_rows
    from bentpipe.truth.writing import write_rows

    check_size(full=full, quick=quick)
    for name in cc or []:
        if name not in quic_program.SENDERS:
            raise _core.ScenarioError(f"--cc {name}: compared are {', '.join(quic_program.SENDERS)}")
    make = quic_program.full if full else quic_program.quick
    cells = make(
        seeds or (QUIC_FULL_SEEDS if full else QUICK_SEEDS), for_ or (QUIC_FULL_S if full else QUICK_S)
    )
    cells = [cell for cell in cells if not cc or cell.algorithm in cc]
    skipped = Skipped()
    with folder_of(out) as folder:
        with resumable(out), terminal.Bar("transfers") as bar:
            try:
                rows = measure(cells, folder, at_once=at_once, progress=bar, tell=skipped.tell)
            except quic_program.NotBuilt as missing:
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


class Skipped(list[str]):
    """Lines about what was left out."""

    def tell(self, line: str) -> None:
        """Adds a line, and prints it."""
        self.append(line)
        terminal.note(line)


def check_size(**asked: bool) -> None:
    """Refuses two sizes at once, each an option of its own.

    Raises:
        ScenarioError: more than one was asked for.
    """
    from bentpipe._core import ScenarioError

    given = [f"--{name}" for name, wanted in asked.items() if wanted]
    if len(given) > 1:
        raise ScenarioError(f"give one of {' and '.join(given)}")


@contextmanager
def folder_of(out: Path | None) -> Iterator[Path]:
    """The folder for the transfers: the user's, or one that is gone afterwards."""
    if out is not None:
        yield out
        return
    with TemporaryDirectory() as made:
        yield Path(made)


@contextmanager
def resumable(out: Path | None) -> Iterator[None]:
    """Real transfers: on Ctrl-C, a message says what is kept.

    Raises:
        Stopped: they were interrupted.
    """
    try:
        yield
    except KeyboardInterrupt:
        kept = "" if out is None else f"; the same command goes on from what is in {out}"
        raise Stopped(f"transfers under way are lost{kept}") from None
