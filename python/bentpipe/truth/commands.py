"""The verbs `bentpipe validate ...`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from bentpipe import terminal
from bentpipe.cli.verbs import Json, Stopped, option

if TYPE_CHECKING:
    from bentpipe.experiments.truth import LinuxTruth, PausedTruth, QuicTruth

Fresh = Annotated[bool, typer.Option("--fresh", help="Make transfers that are in DIR again.")]
Made = TypeVar("Made", "LinuxTruth", "PausedTruth", "QuicTruth")

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
    paused: Annotated[
        bool,
        typer.Option(
            "--paused",
            help="Traffic that pauses: requests, pages, bursts and films, three times each; an hour. "
            "With --quick one link, a minute.",
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
    fresh: Fresh = False,
    json: Json = False,
) -> None:
    """Make the same transfers in simulation and with the kernel's TCP, and compare them. Needs root."""
    from bentpipe._core import ScenarioError
    from bentpipe.experiments.truth import LinuxTruth, PausedTruth
    from bentpipe.truth.cell import chosen
    from bentpipe.truth.comparison import show_truth
    from bentpipe.truth.paused_table import show_paused

    if paused:
        if full or links or for_ is not None:
            raise ScenarioError(
                "--paused goes with --quick, --seeds, --only, --at-once, --out and --fresh alone"
            )
        making = PausedTruth.GRIDS["quick" if quick else "full"]
        some = chosen(making(**({} if seeds is None else {"seeds": seeds})), only or [])
        with made(PausedTruth, out, some, at_once, fresh=fresh) as (talks, answer):
            terminal.give(lambda: answer, lambda: show_paused(talks.means, talks.rows), json=json)
        if not talks.rows:
            raise typer.Exit(1)
        return
    cells = chosen(grid(LinuxTruth.GRIDS, seeds, for_, full=full, quick=quick, links=links), only or [])
    with made(LinuxTruth, out, cells, at_once, fresh=fresh) as (truth, answer):
        terminal.give(lambda: answer, lambda: show_truth(truth.means, truth.rows), json=json)
    if not truth.rows:
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
    fresh: Fresh = False,
    json: Json = False,
) -> None:
    """Make the same transfers over TCP and over QUIC, each simulated and real. Needs root."""
    from bentpipe import _core
    from bentpipe.experiments.truth import QuicTruth
    from bentpipe.truth.quic_program import SENDERS
    from bentpipe.truth.quic_table import late_rows, page_rows

    for name in cc or []:
        if name not in SENDERS:
            raise _core.ScenarioError(f"--cc {name}: compared are {', '.join(SENDERS)}")
    cells = grid(QuicTruth.GRIDS, seeds, for_, full=full, quick=quick)

    def show() -> None:
        terminal.show_table("Mbit/s, mean RTT in ms, losses in %", *page_rows(truth.means))
        if late := late_rows(truth.means):
            busy = f"{late} of {len(truth.means)} QUIC senders had to wait for a processor: a busy machine"
            terminal.warn([busy])

    cells = [cell for cell in cells if not cc or cell.algorithm in cc]
    with made(QuicTruth, out, cells, at_once, fresh=fresh) as (truth, answer):
        terminal.give(lambda: answer, show, json=json)


def grid(
    grids: Mapping[str, Callable[..., list[Any]]], seeds: int | None, for_: float | None, **asked: bool
) -> list[Any]:
    """The transfers of the form that is asked for, the quick one by default.

    Raises:
        ScenarioError: more than one form is asked for.
    """
    from bentpipe._core import ScenarioError

    forms = [name for name, wanted in asked.items() if wanted] or ["quick"]
    if len(forms) > 1:
        raise ScenarioError(f"give one of {' and '.join(f'--{name}' for name in forms)}")
    given = {"seeds": seeds, "length_s": for_}
    return grids[forms[0]](**{name: value for name, value in given.items() if value is not None})


@contextmanager
def made(
    kind: type[Made], out: Path | None, cells: Sequence[Any], at_once: int, *, fresh: bool
) -> Iterator[tuple[Made, dict[str, Any]]]:
    """A comparison that has run, and its answer as an object.

    Without a folder of the user, its files are gone afterwards.

    Raises:
        Stopped: it was interrupted.
    """
    left_out: list[str] = []

    def tell(line: str) -> None:
        left_out.append(line)
        terminal.note(line)

    with ExitStack() as held:
        folder = out or Path(held.enter_context(TemporaryDirectory()))
        truth = kind(folder, cells=cells, at_once=at_once, tell=tell, fresh=fresh)
        try:
            with terminal.RunsBar("transfers") as bar:
                truth.run(progress=bar.at)
        except KeyboardInterrupt as stop:
            raise Stopped(str(stop) if out else "nothing is kept; with --out DIR it would go on") from None
        yield truth, {"cells": truth.rows, "table": truth.means, "left_out": left_out}
