"""The verbs `bentpipe timeline ...` and `bentpipe plot timeline`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bentpipe import _core, terminal, units
from bentpipe.cli import completion
from bentpipe.cli.verbs import FigureOut, From, Json, To, argument, option, probability
from bentpipe.io.files import check_figure
from bentpipe.plot import commands as plots

if TYPE_CHECKING:
    import polars as pl

app = typer.Typer(help="Links that change over time: import, combine, look at.", no_args_is_help=True)
plot_app = plots.app

Out = Annotated[Path, option("FILE", "The time line: .parquet or .csv.", "--out", "-o")]
Line = Annotated[Path, argument("FILE", "A time line: .parquet or .csv.", exists=True)]


@app.command("import")
def import_verb(
    file: Annotated[Path, argument("FILE", "What another program wrote.", exists=True)],
    out: Annotated[
        Path | None, option("FILE", "The time line: .parquet or .csv.", "--out", "-o", show_default=False)
    ] = None,
    format: Annotated[
        str | None,
        option(
            "NAME",
            "By default by the content: mahimahi, iperf3, nuttcp, ping, irtt, atlas, csv, hypatia, leoem, "
            "dish, dish-outages, leoreplayer, conext23 or autobahn.",
            completes=completion.formats,
        ),
    ] = None,
    bin_: Annotated[
        str | None, option("TIME", 'mahimahi, leoreplayer: a rate in bins of "100 ms".', "--bin")
    ] = None,
    columns: Annotated[
        str | None, option("LIST", 'csv: "t=time_ms:ms, rate=down:Mbit/s, rtt=ping:ms"; units after colons.')
    ] = None,
    stream: Annotated[int | None, option("N", "iperf3: one of parallel streams.", min=1)] = None,
    interval: Annotated[
        str | None, option("TIME", "ping without times, leoreplayer's delays: how far apart.")
    ] = None,
    buffer: Annotated[str | None, option("SIZE", 'nuttcp: the buffer of the sender, "1 MiB".')] = None,
    test: Annotated[int | None, option("N", "conext23, autobahn: one of the tests.", min=1)] = None,
    direction: Annotated[
        str | None, option("NAME", "autobahn: down (the default) or up; iperf3 --bidir: one of them.")
    ] = None,
    outage: Annotated[
        str | None, option("TIME", 'ping, irtt, hypatia: lost for longer is dark; default "1 s".')
    ] = None,
    pair: Annotated[str | None, option("A,B", "hypatia: between which nodes.")] = None,
    gap: Annotated[
        str | None, option("TIME", "The longest step that is no gap; default 10 times the median.")
    ] = None,
    json: Json = False,
) -> None:
    """Make a time line of what another program measured or computed."""
    from bentpipe.timeline.format import check_place
    from bentpipe.timeline.traces import read_trace, recognised

    chosen = recognised(file) if format is None else format
    if out is None:
        raise _core.ScenarioError("--out FILE is missing: where the time line goes, .parquet or .csv")
    check_place(out)
    options: dict[str, Any] = {}
    for name, text in (("bin", bin_), ("interval", interval), ("outage", outage), ("gap", gap)):
        if text is not None:
            options[f"{name}_s"] = units.seconds(text, f"--{name}")
    plain = {"columns": columns, "stream": stream, "test": test, "direction": direction}
    options |= {name: value for name, value in plain.items() if value is not None}
    if buffer is not None:
        options["buffer_bytes"] = units.positive("size", buffer, "--buffer")
    if pair is not None:
        options["pair"] = _pair(pair)
    frame = read_trace(file, chosen, **options)
    _write(frame, out, json=json, source=chosen if format is None else None)


@app.command("starlink")
def starlink_verb(
    out: Out,
    rate_median: Annotated[str | None, option("RATE", 'Median over the 15 s periods: "242 Mbit/s".')] = None,
    profile: Annotated[str, option("NAME", "Constants of the model.")] = "car-2024",
    direction: Annotated[str, option("NAME", "down or up.")] = "down",
    seed: Annotated[int, option("N", "Another seed, another draw.", min=0)] = 1,
    duration: Annotated[str, option("TIME", "Length of the time line.", "--for")] = "600 s",
    share: Annotated[float, option("SHARE", "Share of the rate that TCP gets.")] = 1.0,
    blackout: Annotated[
        str | None, option("TIME", 'Nothing is sent at the end of a period: "150 ms".')
    ] = None,
    losses: Annotated[
        float | None, option("P", "Loss rate outside outages: 2e-5.", parser=probability)
    ] = None,
    json: Json = False,
) -> None:
    """Draw a Starlink access link from a model: rate, delay and outages over time (docs/starlink.md)."""
    from bentpipe.timeline.combine import generate
    from bentpipe.timeline.format import check_place

    check_place(out)
    given: dict[str, Any] = {"rate_median": rate_median, "blackout": blackout}
    chosen = {name: value for name, value in given.items() if value is not None}
    frame = generate(
        "starlink", duration=duration, seed=seed, losses=losses or 0.0, profile=profile, direction=direction,
        share=share, **chosen,
    )  # fmt: skip
    _write(frame, out, json=json)


@app.command("show")
def show_verb(file: Line, json: Json = False) -> None:
    """Say what a time line does: its quantities, their course over time, its outages and handovers."""
    from bentpipe.timeline.format import read
    from bentpipe.timeline.measures import show, summary

    frame = read(file)
    found = summary(frame)
    terminal.give(lambda: found, lambda: show(str(file), frame, found), json=json)


@app.command("join")
def join_verb(
    first: Line,
    second: Annotated[Path, argument("OTHER", "Another one, laid over it.", exists=True)],
    out: Out,
    take: Annotated[
        str | None, option("COLUMNS", "Of the other: rate_bps,loss_rate. Default: what the first lacks.")
    ] = None,
    offset: Annotated[
        str | None, option("TIME", 'How much later the other begins: "10 s" or "-10 s".')
    ] = None,
    delay: Annotated[
        str, option("KIND", 'Between rows the delay moves in "lines", or in "steps".')
    ] = "lines",
    json: Json = False,
) -> None:
    """Lay two time lines over each other: the delay of one, the rate of another."""
    from bentpipe.timeline.combine import join
    from bentpipe.timeline.format import check_place, read

    check_place(out)
    shift = 0.0
    if offset is not None:
        later = offset.strip()
        shift = units.seconds(later.removeprefix("-").strip(), "--offset") * (-1 if later[:1] == "-" else 1)
    names = None if take is None else [name.strip() for name in take.split(",")]
    _write(join(read(first), read(second), columns=names, offset_s=shift, delay=delay), out, json=json)


@app.command("stretch")
def stretch_verb(
    file: Line,
    out: Out,
    time: Annotated[float, option("FACTOR", "Multiply its length by this.")] = 1.0,
    rate: Annotated[float, option("FACTOR", "Multiply its rate.")] = 1.0,
    mean_rate: Annotated[str | None, option("RATE", 'Give it this mean rate: "50 Mbit/s".')] = None,
    json: Json = False,
) -> None:
    """Make a time line longer or shorter, or its rate higher or lower."""
    from bentpipe.timeline.combine import stretch
    from bentpipe.timeline.format import check_place, read

    check_place(out)
    wanted = None if mean_rate is None else units.bits_per_second(mean_rate, "--mean-rate")
    _write(stretch(read(file), time=time, rate=rate, mean_rate=wanted), out, json=json)


@app.command("check")
def check_verb(file: Line, json: Json = False) -> None:
    """Say everything that is wrong with a time line; exit status 2 if anything is."""
    from bentpipe.timeline.format import faults, load

    frame, lines = load(file)
    found = [f"{terminal.plain(str(file))}{fault}" for fault in faults(frame, lines)]
    if json:
        terminal.answer({"rows": frame.height, "faults": found})
    else:
        for fault in found[: terminal.MOST_ROWS]:
            terminal.error(fault)
        terminal.rest(min(len(found), terminal.MOST_ROWS), len(found), "faults")
    if found:
        raise typer.Exit(2)
    if not json:
        terminal.line(f"{terminal.plain(str(file))}: {_in_half_a_line(frame)}")


@plot_app.command("timeline")
def plot_verb(
    file: Line,
    out: FigureOut,
    begin: From = 0.0,
    end: To = float("inf"),
    json: Json = False,
) -> None:
    """Draw a time line: rate, delay, loss and reach, with handovers and outages."""
    from bentpipe.timeline.format import read

    check_figure("-o", out)
    frame = read(file)
    from bentpipe.plot import save
    from bentpipe.timeline.figure import draw

    written = str(save(draw(frame, between=(begin, end)), out))
    if json:
        terminal.answer({"figure": written, "numbers": None})
    else:
        terminal.line(f"written to {terminal.plain(written)}")


def _write(frame: pl.DataFrame, out: Path, *, json: bool, source: str | None = None) -> None:
    """Writes a time line, and says so; `source` is the format that was recognised."""
    from bentpipe.timeline.format import write

    write(frame, out)
    if json:
        said = {"file": str(out), "rows": frame.height, "columns": frame.columns}
        terminal.answer(said if source is None else {**said, "format": source})
        return
    read_as = "" if source is None else f", read as {source}"
    terminal.line(f"written to {terminal.plain(str(out))}: {_in_half_a_line(frame)}{read_as}")


def _in_half_a_line(frame: pl.DataFrame) -> str:
    """A time line in half a line."""
    known = [name for name in frame.columns if name != "t_s"]
    return f"{frame.height:,} rows over {frame['t_s'][-1]:g} s of {', '.join(known)}"


def _pair(text: str) -> tuple[int, int]:
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != 2 or not all(part.isdigit() for part in parts):
        raise _core.ScenarioError(f"--pair {text}: write the numbers of two nodes, for example 1174,1229")
    return int(parts[0]), int(parts[1])
