"""LeoCC against BBR in its authors' setting and in ours, with one change at a time: a table of docs/leo.md.

    git -C LEOCC archive 867e673 leoreplayer/replayer/example/Cubic | tar x -C DIR
    python scripts/leocc.py DIR/leoreplayer/replayer/example/Cubic [--measured DIR2]

LEOCC is a clone of SpaceNetLab/LeoCC. The directory has one trace of a Starlink access link: its
opportunities to send and its delays. DIR2 is the DIR of scripts/starlink.py; without it the rows of the
measured downlinks stay as they are. Writes docs/validation/leocc.csv and the table in the page.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import md
import numpy as np
import polars as pl

import bentpipe as bp
from bentpipe import stats, terminal
from bentpipe.controller import named_algorithm
from bentpipe.drawn.lines import with_lines
from bentpipe.drawn.recipe import Recipe
from bentpipe.experiments.leo import EXPERIMENT, page
from bentpipe.timeline.traces import leoreplayer
from bentpipe.truth.writing import read_rows, write_rows

TABLE = md.DOCS / "validation" / "leocc.csv"
SEEDS = 10
LENGTH_S = 60.0
RATE_BPS = 48.7e6
"""Mean rate of the trace."""
PERIOD_S = 15.0
FIRST_S = 8.74
"""The first reconfiguration of the trace; the delay rises by 20 to 60 ms there, and every 15 s after."""
SENDERS = {"LeoCC": "leocc", "LeoCC without filter": "leocc fluctuation=10"}
"""LeoCC, and LeoCC that never takes a long RTT for a queue, so that it never follows the filtered rate."""
RIVALS = {"bbr3": 0.005, "cubic": 0.002, "copa": 0.002}
"""Other algorithms in the authors' uplink, with the random losses that the authors set for each."""

Build = Callable[[Any, int, Path], bp.Scenario]


@dataclass(frozen=True)
class Replay:
    """The trace as the authors play it over an uplink, or with one change.

    Attributes:
        trace: the directory of the trace.
        delay: "trace", "constant" or "model": that of `starlink-down`, less what makes its least 8 ms.
        rate: "trace", "constant" or "model": that of `starlink-down`, with the mean of the trace.
        queue: limit of the bottleneck's queue, each way.
        loss: share of packets lost at random on the way of the data.
        thin: whether the queue of the way back keeps the newest acknowledgement only.
        flow: more keys of the flow.
    """

    trace: Path
    delay: str = "trace"
    rate: str = "trace"
    queue: str = "500 packets"
    loss: float = 0.005
    thin: bool = False
    flow: Mapping[str, Any] | None = None

    def __call__(self, cc: Any, seed: int, folder: Path) -> bp.Scenario:
        """The scenario of a run; time lines are written into `folder`."""
        drawn = Recipe().line(seed, LENGTH_S)
        air = bp.Link(
            rate="10 Gbit/s",
            timeline={"file": str(self._delays(drawn, seed, folder)), "delay": "steps"},
            handover={},
            reorder=True,  # as the authors' queue of delays
            loss=bp.PacketError(self.loss) if self.loss else None,
        )
        bottleneck = bp.Link(
            rate=f"{RATE_BPS:.0f} bit/s", delay="0 s", queue=bp.DropTail(self.queue),
            reverse={"rate": f"{RATE_BPS:.0f} bit/s"},
        )  # fmt: skip
        if self.rate == "trace":
            (file,) = self.trace.glob("bw_*.txt")
            bottleneck.opportunities, bottleneck.reverse = str(file), {"opportunities": str(file)}
        elif self.rate == "model":
            scale = pl.lit(RATE_BPS) / pl.col("rate_bps").mean()
            frame = drawn.select("t_s", rate_bps=(pl.col("rate_bps") * scale).round())
            file = _written(frame, folder, f"rate-{seed}")
            bottleneck.rate, bottleneck.timeline = None, {"file": str(file)}
        if self.thin:
            bottleneck.reverse = {**(bottleneck.reverse or {}), "ack_thinning": {"keep": 1}}
        flow = bp.Flow(cc, path=["air", "bottleneck"], start_jitter="200 ms", **(self.flow or {}))
        return bp.Scenario(
            links={"air": air, "bottleneck": bottleneck}, flows=[flow], duration=f"{LENGTH_S:g} s", seed=seed
        )

    def _delays(self, drawn: pl.DataFrame, seed: int, folder: Path) -> Path:
        (file,) = self.trace.glob("delay_*.txt")
        frame = leoreplayer.read(file)
        if self.delay == "constant":
            frame = frame.with_columns(delay_s=frame["delay_s"].median())
        elif self.delay == "model":
            now = np.interp(frame["t_s"].to_numpy(), drawn["t_s"].to_numpy(), drawn["delay_s"].to_numpy())
            frame = frame.with_columns(delay_s=pl.Series(now - now.min() + frame["delay_s"].min()))
        step = pl.col("t_s") % PERIOD_S
        first = ((step - FIRST_S).abs() < leoreplayer.STEP_S / 2) & (pl.col("t_s") > 0)
        name = self.delay if self.delay != "model" else f"model-{seed}"
        return _written(frame.with_columns(handover=first), folder, f"delay-{name}")


@dataclass(frozen=True)
class Drawn:
    """The preset `starlink-down`.

    Attributes:
        constant: whether the delay is constant, the median of the draw.
        hints: whether the sender learns of reconfigurations.
    """

    constant: bool = False
    hints: bool = True

    def __call__(self, cc: Any, seed: int, folder: Path) -> bp.Scenario:
        """The scenario of a run; time lines are written into `folder`."""
        base = bp.Scenario.load("starlink-down", {"duration": f"{LENGTH_S:g} s", "seed": seed})
        base.flows = [bp.Flow(cc, path=["starlink"], path_hints=None if self.hints else False)]
        if not self.constant:
            return base
        table = dict(with_lines(base.to_dict()))
        link = table["link"]["starlink"]
        for name, way in (("there", link), ("back", link["reverse"])):
            frame = bp.timeline.read(way["timeline"])
            frame = frame.with_columns(delay_s=frame["delay_s"].median())
            way["timeline"] = str(_written(frame, folder, f"constant-{name}-{seed}"))
        return bp.Scenario.from_dict(table)


def _written(frame: pl.DataFrame, folder: Path, name: str) -> Path:
    file = folder / f"{name}.csv"
    bp.timeline.write(frame, file)
    return file


def settings(trace: Path, measured: Path | None) -> dict[str, Build]:
    """All settings by the name in the table."""
    up = Replay(trace)
    found: dict[str, Build] = {
        "its authors' uplink": up,
        "- no hints of reconfigurations": replace(up, flow={"path_hints": False}),
        "- no random loss": replace(up, loss=0.0),
        "- its authors' downlink: 50,000 packets, 0.01 %": replace(up, queue="50000 packets", loss=1e-4),
        "- a buffer of 0.25 BDP": replace(up, queue="21 packets"),
        "- a receive window of 128 kB": replace(up, flow={"receive_window": "128 kB"}),
        "- thinned acknowledgements": replace(up, thin=True),
        "- a constant rate": replace(up, rate="constant"),
        "- the rate of `starlink-down`": replace(up, rate="model"),
        "- a constant delay": replace(up, delay="constant"),
        "- the delay of `starlink-down`": replace(up, delay="model"),
        "- each ACK up to 20 ms late": replace(up, flow={"ack_jitter": "20 ms"}),
        "`starlink-down`": Drawn(),
        "- no hints": Drawn(hints=False),
        "- its median delay, constant": Drawn(constant=True),
    }
    if measured is not None:
        import leo_md

        for path in leo_md.measured(measured):
            found[page.PATHS[path.name][0]] = path.scenario
    return found


def run(name: str, build: Build, folder: Path) -> list[dict[str, Any]]:
    """A row of the table for each algorithm: means over seeds, and the ratio to BBR seed by seed."""
    ccs = ["bbr", *SENDERS.values()]
    builds = {cc: build for cc in ccs}
    if isinstance(build, Replay) and name == "its authors' uplink":
        builds |= {cc: replace(build, loss=loss) for cc, loss in RIVALS.items()}
    rows: list[dict[str, Any]] = []
    base: list[float] = []
    for cc, one in builds.items():
        place = folder / "".join(c if c.isalnum() else "-" for c in f"{name} {cc}")
        place.mkdir()
        scenarios = [one(named_algorithm(cc), seed, place) for seed in range(1, SEEDS + 1)]
        flows = [result.json["flows"][0] for result in bp.run_many(scenarios)]
        base = base or [flow["goodput_bps"] for flow in flows]
        ratio = stats.mean([flow["goodput_bps"] / of for flow, of in zip(flows, base, strict=True)])
        means = {
            what: float(np.mean([flow[what] for flow in flows]))
            for what in ("goodput_bps", "rtt_mean_s", "rtt_p95_s")
        }
        compared = {"ratio": ratio.mean, "half": ratio.half_width}
        rows.append({"setting": name, "cc": cc, "seeds": SEEDS, **means, **compared})
    return rows


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """The table of the page."""
    found = {(row["setting"], row["cc"]): row for row in rows}
    lines = [
        md.row("path", "BBR, Mbit/s", *SENDERS, "RTT, p95, ms: BBR", *SENDERS),
        md.row("---", *["---:"] * (2 + 2 * len(SENDERS))),
    ]
    for name in dict.fromkeys(row["setting"] for row in rows):
        bbr = found[name, "bbr"]
        others = [found[name, cc] for cc in SENDERS.values()]
        ratios = [_cell(row["ratio"], row["half"]) for row in others]
        trips = [f"{1e3 * row['rtt_p95_s']:.0f}" for row in (bbr, *others)]
        lines.append(md.row(name, f"{bbr['goodput_bps'] / 1e6:.1f}", *ratios, *trips))
    return "\n".join(lines)


def _cell(ratio: float, half: float) -> str:
    return f"{ratio:.2f} ± {half:.2f}" if half >= 0.005 else f"{ratio:.2f}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs, and writes the table and the page."""
    parser = md.command_line(__doc__)
    parser.add_argument("trace", type=Path, help="LeoReplayer's directory of one trace")
    parser.add_argument("--measured", type=Path, metavar="DIR2", help="the data of 27 May 2024")
    given = parser.parse_args(arguments)
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        for name, build in settings(given.trace.resolve(), given.measured).items():
            rows += run(name, build, Path(folder))
            terminal.note(f"{name}: {rows[-1]['ratio']:.3f}")
    made = {row["setting"] for row in rows}
    if TABLE.exists():
        rows += [row for row in read_rows(TABLE) if row["setting"] not in made]
    write_rows(TABLE, rows)
    md.fill(page.PAGE, table(read_rows(TABLE)), "scripts/leocc.py")
    (md.DOCS / "leo.md").write_text(EXPERIMENT.text(EXPERIMENT.read(md.DOCS / "leo.csv")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
