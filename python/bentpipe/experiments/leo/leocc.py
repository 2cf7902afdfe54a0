"""LeoCC against BBR in its authors' setting and in ours, with one change at a time: a table of docs/leo.md.

The folder of measured data has LeoReplayer's trace of a Starlink access link (SpaceNetLab/LeoCC, commit
867e673): its opportunities to send and its delays. Without the data of docs/starlink.md the rows of the
measured downlinks stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import bentpipe as bp
from bentpipe import stats
from bentpipe.controller import named_algorithm
from bentpipe.experiments.experiment import Experiment, case_of
from bentpipe.experiments.leo import measure, page
from bentpipe.experiments.rows import Rows
from bentpipe.experiments.starlink.measured import PLACE
from bentpipe.io.files import stored_rows, write_rows
from bentpipe.io.toml_tables import beside
from bentpipe.sweeps.case import Case
from bentpipe.sweeps.kept import Row
from bentpipe.timeline.drawn import draw
from bentpipe.timeline.traces import mahimahi

TRACE = "leoreplayer/replayer/example/Cubic"
"""Its place in the folder of measured data."""
SEEDS = 10
LENGTH_S = 60.0
RATE_BPS = 48.7e6
"""Mean rate of the trace."""
PERIOD_S = 15.0
FIRST_S = 8.74
"""The first reconfiguration of the trace; the delay rises by 20 to 60 ms there, and every 15 s after."""
RIVALS = {"bbr3": 0.005, "cubic": 0.002, "copa": 0.002}
"""Other algorithms in the authors' uplink, with the random losses that the authors set for each."""

FIRST = "its authors' uplink"
MEASURES = ("goodput_bps", "rtt_mean_s", "rtt_p95_s")

Build = Callable[[Any, int, Path], bp.Scenario]


def replay(
    cc: Any,
    seed: int,
    folder: Path,
    *,
    trace: Path,
    delay: str = "trace",
    rate: str = "trace",
    queue: str = "500 packets",
    loss: float = 0.005,
    thin: bool = False,
    flow: Mapping[str, Any] | None = None,
) -> bp.Scenario:
    """The trace as the authors play it over an uplink, or with one change; time lines go into `folder`.

    `delay` and `rate` are "trace", "constant" or "model": those of `starlink-down`, the delay less what makes
    its least 8 ms, the rate with the mean of the trace. `queue` is the limit of the bottleneck's queue, each
    way, and `loss` the share of packets lost at random on the way of the data. With `thin` the queue of the
    way back keeps the newest acknowledgement only. `flow` has more keys of the flow.
    """
    drawn = draw({"generator": "starlink"}, seed, LENGTH_S).line
    air = bp.Link(
        rate="10 Gbit/s",
        timeline={"file": str(_delays(trace, delay, drawn, seed, folder)), "delay": "steps"},
        handover={},
        reorder=True,  # as the authors' queue of delays
        loss=bp.PacketError(loss) if loss else None,
    )
    mean = f"{RATE_BPS:.0f} bit/s"
    bottleneck = bp.Link(rate=mean, delay="0 s", queue=bp.DropTail(queue), reverse={"rate": mean})
    if rate == "trace":
        (file,) = trace.glob("bw_*.txt")
        bottleneck.opportunities, bottleneck.reverse = str(file), {"opportunities": str(file)}
    elif rate == "model":
        scale = pl.lit(RATE_BPS) / pl.col("rate_bps").mean()
        frame = drawn.select("t_s", rate_bps=(pl.col("rate_bps") * scale).round())
        bottleneck.rate, bottleneck.timeline = None, {"file": str(_written(frame, folder, f"rate-{seed}"))}
    if thin:
        bottleneck.reverse = {**(bottleneck.reverse or {}), "ack_thinning": {"keep": 1}}
    links = {"air": air, "bottleneck": bottleneck}
    flows = [bp.Flow(cc, path=list(links), start_jitter="200 ms", **(flow or {}))]
    return bp.Scenario(links=links, flows=flows, duration=f"{LENGTH_S:g} s", seed=seed)


def _delays(trace: Path, delay: str, drawn: pl.DataFrame, seed: int, folder: Path) -> Path:
    (file,) = trace.glob("delay_*.txt")
    frame = mahimahi.leoreplayer(file)
    if delay == "constant":
        frame = frame.with_columns(delay_s=frame["delay_s"].median())
    elif delay == "model":
        now = np.interp(frame["t_s"].to_numpy(), drawn["t_s"].to_numpy(), drawn["delay_s"].to_numpy())
        frame = frame.with_columns(delay_s=pl.Series(now - now.min() + frame["delay_s"].min()))
    step = pl.col("t_s") % PERIOD_S
    first = ((step - FIRST_S).abs() < mahimahi.STEP_S / 2) & (pl.col("t_s") > 0)
    name = delay if delay != "model" else f"model-{seed}"
    return _written(frame.with_columns(handover=first), folder, f"delay-{name}")


def drawn(cc: Any, seed: int, folder: Path, *, constant: bool = False, hints: bool = True) -> bp.Scenario:
    """The preset `starlink-down`; its delay may be constant, the median of the draw, or hints be left out."""
    base = bp.Scenario.load("starlink-down", {"duration": f"{LENGTH_S:g} s", "seed": seed})
    base.flows = [bp.Flow(cc, path=["starlink"], path_hints=None if hints else False)]
    if not constant:
        return base
    table = base.to_dict()
    link = table["link"]["starlink"]
    for name, way in (("there", link), ("back", link["reverse"])):
        found = draw(way["timeline"], seed, LENGTH_S)
        frame = found.line.with_columns(delay_s=found.line["delay_s"].median())
        lost = [
            {"kind": "outage", "from": f"{begin * 1e3:.0f} ms", "to": f"{end * 1e3:.0f} ms"}
            for begin, end in found.outages
        ]
        own = way["loss"]
        way["loss"] = [*([own] if isinstance(own, Mapping) else own), *lost]
        way["nominal"] = found.nominal
        way["timeline"] = str(_written(frame, folder, f"constant-{name}-{seed}"))
    return bp.Scenario.from_dict(table)


def _written(frame: pl.DataFrame, folder: Path, name: str) -> Path:
    file = folder / f"{name}.csv"
    bp.timeline.write(frame, file)
    return file


def settings(trace: Path, measured: Path | None) -> dict[str, Build]:
    """All settings by the name in the table."""
    given = beside(__file__, "leocc.toml")
    found: dict[str, Build] = {
        name: partial(replay, trace=trace, **of) for name, of in given["replay"].items()
    }
    found |= {name: partial(drawn, **of) for name, of in given["drawn"].items()}
    if measured is not None:
        for path in measure.measured(measured):
            found[page.PATHS[path.name][0]] = path.scenario
    return found


class LeoCC(Experiment):
    """The experiment."""

    name = "leocc"

    def cases(self) -> list[Case]:
        """Every setting with BBR and both forms of LeoCC, and the first with other algorithms as well."""
        trace = self.given(TRACE).resolve()
        measured = self.data if self.data and (self.data / PLACE).is_dir() else None
        ccs, every = ("bbr", *page.SENDERS.values()), settings(trace, measured).items()
        runs = [(name, cc, build) for name, build in every for cc in ccs]
        runs += [(FIRST, cc, partial(replay, trace=trace, loss=loss)) for cc, loss in RIVALS.items()]
        return [
            case_of({"setting": name, "cc": cc, "seed": seed}, build(named_algorithm(cc), seed, self.lines))
            for name, cc, build in sorted(runs, key=lambda run: run[0] != FIRST)
            for seed in self.seeds(SEEDS)
        ]

    def measure(self, case: Case, result: bp.Result) -> Row:  # noqa: ARG002
        """Goodput and round trip."""
        (flow,) = result.json["flows"]
        return {what: flow[what] for what in MEASURES}

    def finish(self, rows: Rows) -> list[Path]:
        """Writes the table, in which rows of settings that were not run stay, and the page if it is there."""
        table = [
            _row(setting, cc, runs, rows.column("goodput_bps", setting=setting, cc="bbr"))
            for (setting, cc), runs in rows.groups("setting", "cc").items()
        ]
        file = self.tables / "leocc.csv"
        others = [row for row in stored_rows(file) if not rows.where(setting=row["setting"])]
        write_rows(file, [*table, *others])
        if not self.quick and (leo := page.Leo(self.out)).table.exists():
            leo.write_page()
        return [file]


def _row(setting: Any, cc: Any, runs: Rows, base: Sequence[float]) -> dict[str, Any]:
    """A row of the table: means over seeds, and the ratio to BBR seed by seed."""
    pairs = zip(runs, base, strict=True)
    ratio = stats.interval(run["goodput_bps"] / of for run, of in pairs)
    means = {what: float(np.mean([run[what] for run in runs])) for what in MEASURES}
    compared = {"ratio": ratio.centre, "half": ratio.half_width}
    return {"setting": setting, "cc": cc, "seeds": len(runs), **means, **compared}
