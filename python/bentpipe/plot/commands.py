"""The verbs `bentpipe plot …`: each is the function of `bentpipe.plot` of the same name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from bentpipe import plot, terminal
from bentpipe.cli.verbs import FigureOut, From, Json, Size, To, argument, option, pairs

if TYPE_CHECKING:
    from bentpipe.plot.drawing import Drawing

app = typer.Typer(
    help="Figures of results and of sweeps, with their numbers beside them.", no_args_is_help=True
)

Results = Annotated[
    list[Path],
    argument(
        "RESULT_DIR...", "What `run --out` wrote, one or several; or what `sweep --traces --out` wrote."
    ),
]
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
Y = Annotated[str, option("COLUMN", "A column of flows or links, queueing_p95_s, lost, jain.", "--y")]
Window = Annotated[float | None, option("SECONDS", "Each point is a mean over this time.", "--window")]


def write_figure(
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
    from bentpipe.io.files import check_figure
    from bentpipe.plot.drawing import check_numbers

    check_figure("-o", out)
    if no_data and data is not None:
        raise _core.ScenarioError("--data and --no-data contradict each other")
    numbers = None if no_data else data or out.with_suffix(".csv")
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


_FILES = _parameters(write_figure)[1:]
"""The options of all verbs for the files that are written."""


def _over_time(places: list[Path] | Path, where: dict[str, str]) -> Any:
    """What a figure over time draws: the runs of the one sweep that `where` chooses, or results as given."""
    from bentpipe import _core

    listed = places if isinstance(places, list) else [places]
    if not where:
        return places
    if len(listed) > 1 or not (listed[0] / "sweep.json").is_file():
        raise _core.ScenarioError("--where chooses runs of a sweep, and one sweep is drawn at once")
    return plot.of_sweep(listed[0], where)


def _draws(
    name: str, about: str, places: Any, *, over_time: bool = False, **options: tuple[Any, Any]
) -> None:
    """Makes a verb of the function of `plot` of that name; it takes its options and those of `_FILES`.

    Args:
        name: of the verb.
        about: its help.
        places: the annotation of its argument.
        over_time: whether the function draws runs over time, and knows no `where`.
        options: annotation and default of each keyword of the function.
    """

    def verb(places: Any, **given: Any) -> None:
        files = {one.name: given.pop(one.name) for one in _FILES}
        if "where" in given:
            given["where"] = dict(pairs("--where", given["where"] or [], "link.sat.delay_s=0.25"))
        where = given.pop("where", {}) if over_time else {}
        function = "over_path" if name == "path" else name.replace("-", "_")
        write_figure(lambda: getattr(plot, function)(_over_time(places, where), **given), **files)

    by_name = inspect.Parameter.KEYWORD_ONLY
    own = [inspect.Parameter("places", by_name, annotation=places)]
    own += [
        inspect.Parameter(key, by_name, default=default, annotation=of)
        for key, (of, default) in options.items()
    ]
    asked = sorted([*own, *_FILES], key=lambda one: one.default is not one.empty)
    verb.__signature__ = inspect.Signature(asked)  # type: ignore[attr-defined]
    app.command(name, help=about)(verb)


def _text(metavar: str, help: str, *names: str) -> tuple[Any, None]:
    """An option with a text that may be left out."""
    return Annotated[str | None, option(metavar, help, *names)], None


_TIME: dict[str, Any] = {"over_time": True, "where": (Where, None)}
_draws(
    "cwnd", "Draw windows over time, with the data in flight and the bandwidth-delay product.", Results,
    column=_text("NAME", "Draw this instead: retransmitted_packets, in_flight or srtt_s of the trace."),
    **_TIME,
)  # fmt: skip
_draws(
    "goodput", "Draw the goodput of each flow over time, over the capacity of the path.", Results,
    window_s=(Window, None), **_TIME,
)  # fmt: skip
_draws("rtt", "Draw round-trip times over time, above the round trip without queues.", Results, **_TIME)
_draws(
    "queue", "Draw the queue of a link over time, with its drops.", Results,
    link=_text("NAME", "sat or sat/reverse. Default: the slowest."), **_TIME,
)  # fmt: skip
_draws(
    "path", "Draw goodput and round trips of runs over a path that moves, one line for each run.", Results,
    **_TIME,
)  # fmt: skip
_draws(
    "convergence", "Draw how a late-comer gets its share.",
    Annotated[Path, argument("RESULT_DIR", "What `run --out` wrote; or a sweep, and --where for a run.")],
    **_TIME,
)  # fmt: skip


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

    write_figure(draw, out=out, size=size, data=data, no_data=data is None, json=json)


_BY: dict[str, Any] = {"by": (By, None), "where": (Where, None)}
_X: dict[str, Any] = {"x": (X, None)}
_draws(
    "throughput-delay",
    "Draw goodput against the 95th percentile of the queueing delay, an ellipse for each algorithm.",
    Sweep, **_BY,
)  # fmt: skip
_draws(
    "cdf", "Draw the cumulative distribution of completion times, round trips, or any column.", Sweep,
    column=_text("COLUMN", "A column of the flows, or rtt_s of traces.", "--x"), **_BY,
)  # fmt: skip
_draws(
    "utilisation", "Draw the utilisation of the link against the loss rate.", Sweep,
    **_X, y=_text("COLUMN", "Another measure, as of `against`.", "--y"), **_BY,
)  # fmt: skip
_draws(
    "response", "Draw mean windows against the loss rate, over the response function of Reno.", Sweep,
    **_X, **_BY,
)  # fmt: skip
_draws(
    "heatmap", "Draw a measure over two keys, a map for each algorithm, or the best algorithm of each cell.",
    Sweep, **_X, y=_text("KEY", "The key of the ordinate.", "--y"),
    value=(Annotated[str, option("COLUMN", "What the colours show, as --y of `against`.")], "goodput_bps"),
    best=(Annotated[bool, typer.Option("--best", help="Which algorithm is best where.")], False),
    **_BY,
)  # fmt: skip
_draws(
    "friendliness",
    "Draw the share that an algorithm gets beside Reno or CUBIC, against the size of the buffer.",
    Sweep, **_X, **_BY,
)  # fmt: skip
_draws(
    "fairness", "Draw Jain's fairness index against the ratio of the flows' round trips.", Sweep, **_X, **_BY
)
_draws("completion", "Draw the completion time of transfers against their size.", Sweep, **_X, **_BY)
_draws(
    "against", "Draw any measure against any key of a sweep, with its 95 % interval.", Sweep,
    **_X, y=(Y, "goodput_bps"), **_BY,
)  # fmt: skip
