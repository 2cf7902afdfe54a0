"""The verbs `bentpipe plot …`: each is the function of `bentpipe.plot` of the same name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from bentpipe import plot, terminal
from bentpipe.verbs import FigureOut, From, Json, Size, To, argument, option, pairs

if TYPE_CHECKING:
    from bentpipe.plot.drawing import Drawing

app = typer.Typer(
    help="Figures of results and of sweeps, with their numbers beside them.", no_args_is_help=True
)

Results = Annotated[list[Path], argument("RESULT_DIR...", "What `run --out` wrote; one or several.")]
Sweep = Annotated[
    list[Path], argument("DIR...", "What `sweep --out` wrote, or several that `run --out` wrote.")
]
Data = Annotated[
    Path | None, option("FILE", "The numbers, .csv or .parquet. Default: beside it, .csv.", "--data")
]
NoData = Annotated[bool, typer.Option("--no-data", help="Write no numbers.")]
X = Annotated[str | None, option("KEY", "The key of the abscissa.", "--x")]
By = Annotated[str | None, option("KEY", "The key of the lines. Default: the algorithm.", "--by")]
Where = Annotated[
    list[str] | None, option("KEY=VALUE", "Only runs with this value of a key. Repeatable.", "--where")
]


def _write(
    draw: Callable[[], Drawing],
    *,
    out: FigureOut,
    size: Size = "paper",
    data: Data = None,
    no_data: NoData = False,
    json: Json = False,
) -> None:
    """Checks where the files go, draws, and writes both."""
    from bentpipe import _core
    from bentpipe.files import check_figure
    from bentpipe.plot.places import beside, check_numbers

    check_figure("-o", out)
    if no_data and data is not None:
        raise _core.ScenarioError("--data and --no-data contradict each other")
    numbers = None if no_data else data or beside(out)
    if numbers is not None:
        try:
            check_numbers(numbers)
        except _core.ScenarioError as wrong:
            hint = "" if data is not None else ", or give --data FILE or --no-data"
            raise _core.ScenarioError(f"{wrong}{hint}") from None
    with plot.sized(size):
        written = plot.save(draw(), out, data=False if numbers is None else numbers)
    if json:
        terminal.answer({"figure": str(written), "numbers": None if numbers is None else str(numbers)})
        return
    more = "" if numbers is None else f", the numbers to {terminal.plain(str(numbers))}"
    terminal.line(f"written to {terminal.plain(str(written))}{more}")


def _parameters(function: Callable[..., object]) -> list[inspect.Parameter]:
    """The parameters of a function, all by name, with their annotations evaluated."""
    hints = get_type_hints(function, localns={"Drawing": object}, include_extras=True)
    return [
        one.replace(annotation=hints[one.name], kind=inspect.Parameter.KEYWORD_ONLY)
        for one in inspect.signature(function).parameters.values()
    ]


_FILES = _parameters(_write)[1:]
"""The options of all verbs for the files that are written."""


def _verb(name: str) -> Callable[[Callable[..., Drawing]], None]:
    """Makes a verb of a function that draws: it takes the function's options and those of `_FILES`."""

    def register(draw: Callable[..., Drawing]) -> None:
        def verb(**given: Any) -> None:
            files = {one.name: given.pop(one.name) for one in _FILES}
            _write(lambda: draw(**given), **files)

        asked = sorted([*_parameters(draw), *_FILES], key=lambda one: one.default is not one.empty)
        verb.__signature__ = inspect.Signature(asked)  # type: ignore[attr-defined]
        app.command(name, help=inspect.getdoc(draw))(verb)

    return register


@_verb("cwnd")
def _cwnd(
    places: Results,
    column: Annotated[
        str | None,
        option("NAME", "Draw this instead: retransmitted_packets, in_flight or srtt_s of the trace."),
    ] = None,
) -> Drawing:
    """Draw windows over time, with the data in flight and the bandwidth-delay product."""
    return plot.cwnd(places, column=column)


@_verb("goodput")
def _goodput(
    places: Results,
    window: Annotated[float | None, option("SECONDS", "Each point is a mean over this time.")] = None,
) -> Drawing:
    """Draw the goodput of each flow over time, over the capacity of the path."""
    return plot.goodput(places, window_s=window)


@_verb("rtt")
def _rtt(places: Results) -> Drawing:
    """Draw round-trip times over time, above the round trip without queues."""
    return plot.rtt(places)


@_verb("queue")
def _queue(
    places: Results,
    link: Annotated[str | None, option("NAME", "sat or sat/reverse. Default: the slowest.")] = None,
) -> Drawing:
    """Draw the queue of a link over time, with its drops."""
    return plot.queue(places, link=link)


@_verb("path")
def _path(places: Results) -> Drawing:
    """Draw goodput and round trips of runs over a path that moves, one line for each run."""
    return plot.over_path(places)


@_verb("convergence")
def _convergence(
    place: Annotated[Path, argument("RESULT_DIR", "What `run --out` wrote.")],
) -> Drawing:
    """Draw how a late-comer gets its share."""
    return plot.convergence(place)


@app.command("sequence")
def sequence_verb(
    place: Annotated[Path, argument("RESULT_DIR", "What run --out wrote, with record.segments=true.")],
    out: FigureOut,
    flow: Annotated[str | None, option("NAME", "Default: the first.")] = None,
    unit: Annotated[str, option("UNIT", '"bytes" or "segments".')] = "bytes",
    begin: From = 0.0,
    end: To = float("inf"),
    size: Size = "paper",
    data: Annotated[
        Path | None, option("FILE", "Write the segments too: .csv or .parquet.", "--data")
    ] = None,
    json: Json = False,
) -> None:
    """Draw when each segment of a flow was sent, lost and acknowledged (time against sequence number)."""
    from bentpipe.result import Result

    def draw() -> Drawing:
        return plot.sequence(Result.load(place), flow=flow, unit=unit, between=(begin, end))

    _write(draw, out=out, size=size, data=data, no_data=data is None, json=json)


@_verb("throughput-delay")
def _throughput_delay(places: Sweep, by: By = None, where: Where = None) -> Drawing:
    """Draw goodput against the 95th percentile of the queueing delay, an ellipse for each algorithm."""
    return plot.throughput_delay(places, by=by, where=_pairs(where))


@_verb("cdf")
def _cdf(
    places: Sweep,
    column: Annotated[
        str | None, option("COLUMN", "A column of the flows, or rtt_s of traces.", "--x")
    ] = None,
    by: By = None,
    where: Where = None,
) -> Drawing:
    """Draw the cumulative distribution of completion times, round trips, or any column."""
    return plot.cdf(places, column, by=by, where=_pairs(where))


@_verb("utilisation")
def _utilisation(
    places: Sweep,
    x: X = None,
    y: Annotated[str | None, option("COLUMN", "Another measure, as of `against`.", "--y")] = None,
    by: By = None,
    where: Where = None,
) -> Drawing:
    """Draw the utilisation of the link against the loss rate."""
    return plot.utilisation(places, x=x, y=y, by=by, where=_pairs(where))


@_verb("heatmap")
def _heatmap(
    places: Sweep,
    x: X = None,
    y: Annotated[str | None, option("KEY", "The key of the ordinate.", "--y")] = None,
    value: Annotated[str, option("COLUMN", "What the colours show, as --y of `against`.")] = "goodput_bps",
    best: Annotated[bool, typer.Option("--best", help="Which algorithm is best where.")] = False,
    by: By = None,
    where: Where = None,
) -> Drawing:
    """Draw a measure over two keys, a map for each algorithm, or the best algorithm of each cell."""
    return plot.heatmap(places, x=x, y=y, value=value, best=best, by=by, where=_pairs(where))


@_verb("friendliness")
def _friendliness(places: Sweep, x: X = None, by: By = None, where: Where = None) -> Drawing:
    """Draw the share that an algorithm gets beside Reno or CUBIC, against the size of the buffer."""
    return plot.friendliness(places, x=x, by=by, where=_pairs(where))


@_verb("fairness")
def _fairness(places: Sweep, x: X = None, by: By = None, where: Where = None) -> Drawing:
    """Draw Jain's fairness index against the ratio of the flows' round trips."""
    return plot.fairness(places, x=x, by=by, where=_pairs(where))


@_verb("completion")
def _completion(places: Sweep, x: X = None, by: By = None, where: Where = None) -> Drawing:
    """Draw the completion time of transfers against their size."""
    return plot.completion(places, x=x, by=by, where=_pairs(where))


@_verb("against")
def _against(
    places: Sweep,
    x: X = None,
    y: Annotated[
        str, option("COLUMN", "A column of flows or links, queueing_p95_s, lost, jain.", "--y")
    ] = "goodput_bps",
    by: By = None,
    where: Where = None,
) -> Drawing:
    """Draw any measure against any key of a sweep, with its 95 % interval."""
    return plot.against(places, x=x, y=y, by=by, where=_pairs(where))


def _pairs(given: list[str] | None) -> Mapping[str, str]:
    return dict(pairs("--where", given or [], "link.sat.delay_s=0.25"))
