"""The verbs `bentpipe plot …`: each is the function of `bentpipe.plot` of the same name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bentpipe import completion, terminal
from bentpipe.verbs import Json

if TYPE_CHECKING:
    from bentpipe.plot.drawing import Drawing

app = typer.Typer(
    help="Figures of results and of sweeps, with their numbers beside them.", no_args_is_help=True
)

Results = Annotated[
    list[Path], typer.Argument(metavar="RESULT_DIR...", help="What `run --out` wrote; one or several.")
]
Sweep = Annotated[
    list[Path],
    typer.Argument(metavar="DIR...", help="What `sweep --out` wrote, or several that `run --out` wrote."),
]
Out = Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The figure: .svg, .pdf or .png.")]
Size = Annotated[
    str,
    typer.Option(
        "--size",
        metavar="SIZE",
        help='paper, page, screen, slide, or a width: "12 cm".',
        autocompletion=completion.sizes,
    ),
]
Data = Annotated[
    Path | None,
    typer.Option("--data", metavar="FILE", help="The numbers, .csv or .parquet. Default: beside it, .csv."),
]
NoData = Annotated[bool, typer.Option("--no-data", help="Write no numbers.")]
X = Annotated[str | None, typer.Option("--x", metavar="KEY", help="The key of the abscissa.")]
By = Annotated[
    str | None, typer.Option("--by", metavar="KEY", help="The key of the lines. Default: the algorithm.")
]
Where = Annotated[
    list[str] | None,
    typer.Option("--where", metavar="KEY=VALUE", help="Only runs with this value of a key. Repeatable."),
]


@app.command("cwnd")
def cwnd_verb(
    places: Results,
    out: Out,
    size: Size = "paper",
    data: Data = None,
    no_data: NoData = False,
    json: Json = False,
) -> None:
    """Draw windows over time, with the data in flight and the bandwidth-delay product."""
    _draw(lambda plot: plot.cwnd(places), out, size, data, no_data, json=json)


@app.command("goodput")
def goodput_verb(
    places: Results,
    out: Out,
    window: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Each point is a mean over so long.")
    ] = None,
    size: Size = "paper",
    data: Data = None,
    no_data: NoData = False,
    json: Json = False,
) -> None:
    """Draw the goodput of each flow over time, over the capacity of the path."""
    _draw(lambda plot: plot.goodput(places, window_s=window), out, size, data, no_data, json=json)


@app.command("rtt")
def rtt_verb(
    places: Results,
    out: Out,
    size: Size = "paper",
    data: Data = None,
    no_data: NoData = False,
    json: Json = False,
) -> None:
    """Draw round-trip times over time, above the round trip without queues."""
    _draw(lambda plot: plot.rtt(places), out, size, data, no_data, json=json)


@app.command("queue")
def queue_verb(
    places: Results,
    out: Out,
    link: Annotated[
        str | None, typer.Option(metavar="NAME", help="sat or sat/reverse. Default: the slowest.")
    ] = None,
    size: Size = "paper",
    data: Data = None,
    no_data: NoData = False,
    json: Json = False,
) -> None:
    """Draw the queue of a link over time, with its drops."""
    _draw(lambda plot: plot.queue(places, link=link), out, size, data, no_data, json=json)


@app.command("path")
def path_verb(
    places: Results,
    out: Out,
    size: Size = "paper",
    data: Data = None,
    no_data: NoData = False,
    json: Json = False,
) -> None:
    """Draw goodput and round trips of runs over a path that moves, one line for each run."""
    _draw(lambda plot: plot.over_path(places), out, size, data, no_data, json=json)


@app.command("convergence")
def convergence_verb(
    place: Annotated[Path, typer.Argument(metavar="RESULT_DIR", help="What `run --out` wrote.")],
    out: Out,
    size: Size = "paper",
    data: Data = None,
    no_data: NoData = False,
    json: Json = False,
) -> None:
    """Draw how a late-comer gets its share."""
    _draw(lambda plot: plot.convergence(place), out, size, data, no_data, json=json)


@app.command("sequence")
def sequence_verb(
    place: Annotated[
        Path, typer.Argument(metavar="RESULT_DIR", help="What run --out wrote, with record.segments=true.")
    ],
    out: Out,
    flow: Annotated[str | None, typer.Option(metavar="NAME", help="Default: the first.")] = None,
    unit: Annotated[str, typer.Option(metavar="UNIT", help='"bytes" or "segments".')] = "bytes",
    begin: Annotated[float, typer.Option("--from", metavar="SECONDS", help="Show no earlier.")] = 0.0,
    end: Annotated[float, typer.Option("--to", metavar="SECONDS", help="Show no later.")] = float("inf"),
    size: Size = "paper",
    data: Annotated[
        Path | None, typer.Option("--data", metavar="FILE", help="Write the segments too: .csv or .parquet.")
    ] = None,
    json: Json = False,
) -> None:
    """Draw when each segment of a flow was sent, lost and acknowledged (time against sequence number)."""
    from bentpipe.result import Result

    def drawn(plot: Any) -> Drawing:
        given: Drawing = plot.sequence(Result.load(place), flow=flow, unit=unit, between=(begin, end))
        return given

    _draw(drawn, out, size, data, data is None, json=json)


@app.command("throughput-delay")
def throughput_delay_verb(
    places: Sweep, out: Out, by: By = None, where: Where = None, size: Size = "paper", data: Data = None,
    no_data: NoData = False, json: Json = False,
) -> None:  # fmt: skip
    """Draw goodput against the 95th percentile of the queueing delay, an ellipse for each algorithm."""
    _draw(
        lambda plot: plot.throughput_delay(places, by=by, where=_where(where)),
        out,
        size,
        data,
        no_data,
        json=json,
    )


@app.command("cdf")
def cdf_verb(
    places: Sweep,
    out: Out,
    column: Annotated[
        str | None,
        typer.Option("--x", metavar="COLUMN", help="A column of the flows, or rtt_s of traces."),
    ] = None,
    by: By = None,
    where: Where = None,
    size: Size = "paper",
    data: Data = None,
    no_data: NoData = False,
    json: Json = False,
) -> None:
    """Draw the cumulative distribution of completion times, round trips, or any column."""
    _draw(
        lambda plot: plot.cdf(places, column, by=by, where=_where(where)), out, size, data, no_data, json=json
    )


@app.command("utilisation")
def utilisation_verb(
    places: Sweep,
    out: Out,
    x: X = None,
    y: Annotated[
        str | None, typer.Option("--y", metavar="COLUMN", help="Another measure, as of `against`.")
    ] = None,
    by: By = None,
    where: Where = None,
    size: Size = "paper",
    data: Data = None,
    no_data: NoData = False,
    json: Json = False,
) -> None:
    """Draw the utilisation of the link against the loss rate."""
    _draw(
        lambda plot: plot.utilisation(places, x=x, y=y, by=by, where=_where(where)),
        out,
        size,
        data,
        no_data,
        json=json,
    )


@app.command("heatmap")
def heatmap_verb(
    places: Sweep,
    out: Out,
    x: X = None,
    y: Annotated[str | None, typer.Option("--y", metavar="KEY", help="The key of the ordinate.")] = None,
    value: Annotated[
        str, typer.Option(metavar="COLUMN", help="What the colours show, as --y of `against`.")
    ] = "goodput_bps",
    best: Annotated[bool, typer.Option("--best", help="Which algorithm is best where.")] = False,
    by: By = None,
    where: Where = None,
    size: Size = "paper",
    data: Data = None,
    no_data: NoData = False,
    json: Json = False,
) -> None:
    """Draw a measure over two keys, a map for each algorithm, or the best algorithm of each cell."""
    _draw(
        lambda plot: plot.heatmap(places, x=x, y=y, value=value, best=best, by=by, where=_where(where)),
        out, size, data, no_data, json=json,
    )  # fmt: skip


@app.command("friendliness")
def friendliness_verb(
    places: Sweep, out: Out, x: X = None, by: By = None, where: Where = None, size: Size = "paper",
    data: Data = None, no_data: NoData = False, json: Json = False,
) -> None:  # fmt: skip
    """Draw the share that an algorithm gets beside Reno or CUBIC, against the size of the buffer."""
    _draw(
        lambda plot: plot.friendliness(places, x=x, by=by, where=_where(where)),
        out,
        size,
        data,
        no_data,
        json=json,
    )


@app.command("fairness")
def fairness_verb(
    places: Sweep, out: Out, x: X = None, by: By = None, where: Where = None, size: Size = "paper",
    data: Data = None, no_data: NoData = False, json: Json = False,
) -> None:  # fmt: skip
    """Draw Jain's fairness index against the ratio of the flows' round trips."""
    _draw(
        lambda plot: plot.fairness(places, x=x, by=by, where=_where(where)),
        out,
        size,
        data,
        no_data,
        json=json,
    )


@app.command("completion")
def completion_verb(
    places: Sweep, out: Out, x: X = None, by: By = None, where: Where = None, size: Size = "paper",
    data: Data = None, no_data: NoData = False, json: Json = False,
) -> None:  # fmt: skip
    """Draw the completion time of transfers against their size."""
    _draw(
        lambda plot: plot.completion(places, x=x, by=by, where=_where(where)),
        out,
        size,
        data,
        no_data,
        json=json,
    )


@app.command("against")
def against_verb(
    places: Sweep,
    out: Out,
    x: X = None,
    y: Annotated[
        str,
        typer.Option("--y", metavar="COLUMN", help="A column of flows or links, queueing_p95_s, lost, jain."),
    ] = "goodput_bps",
    by: By = None,
    where: Where = None,
    size: Size = "paper",
    data: Data = None,
    no_data: NoData = False,
    json: Json = False,
) -> None:
    """Draw any measure against any key of a sweep, with its 95 % interval."""
    _draw(
        lambda plot: plot.against(places, x=x, y=y, by=by, where=_where(where)),
        out,
        size,
        data,
        no_data,
        json=json,
    )


def _draw(
    draw: Callable[[Any], Drawing],
    out: Path,
    size: str,
    data: Path | None,
    no_data: bool,  # noqa: FBT001
    *,
    json: bool,
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
    from bentpipe import plot

    with plot.sized(size):
        written = plot.save(draw(plot), out, data=False if numbers is None else numbers)
    if json:
        terminal.answer({"figure": str(written), "numbers": None if numbers is None else str(numbers)})
        return
    more = "" if numbers is None else f", the numbers to {terminal.plain(str(numbers))}"
    terminal.line(f"written to {terminal.plain(str(written))}{more}")


def _where(given: list[str] | None) -> Mapping[str, str]:
    from bentpipe import _core

    pairs = {}
    for text in given or []:
        key, equals, value = text.partition("=")
        if not (key.strip() and equals):
            raise _core.ScenarioError(f"--where {text}: write KEY=VALUE, for example link.sat.delay_s=0.25")
        pairs[key.strip()] = value.strip()
    return pairs
