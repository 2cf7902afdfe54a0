"""The moving paths of docs/leo.md, and the measures of a run over one of them.

There are a scenario, three shells, two rain fades and two measured downlinks. Each is a time line with its
rate, and the rule that builds its link from that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import bentpipe as bp
from bentpipe import measures
from bentpipe.experiments.starlink import measured as starlink
from bentpipe.units import quantity, seconds

SCENARIO = "leo-handover"
LEO, GEO, MEASURED = "leo", "geo", "measured"
SHELL_BPS = 50e6
"""The rate over the shells. It is ours: a shell's geometry gives no rate."""
LOSS = 3e-4
"""Little beside the 1 to 2 % that Huston saw on Starlink; enough to cut windows before they fill the path."""
START = "2 s"
"""A flow starts within this time, which is all that differs between seeds where nothing is lost at random."""
WINDOW_S = 0.5
"""Goodput is averaged over this time: several round trips, and long against the darkness of a handover."""
SHARE = 0.9
APART_S = 3.0
"""A handover that is followed by another within this time is ignored."""
COLUMNS = {
    "goodput_bps": "payload over time",
    "share": "of the payload that the path could carry from the start of the flow",
    "rtt_p95_s": "95th percentile of the round-trip time samples",
    "lost": "lost of sent segments",
    "recovery_s": "median over handovers, `recovery`; NaN on a path without any",
}
"""The columns of docs/leo.csv."""


@dataclass(frozen=True)
class MovingPath:
    """A path over time, with the data that a simulation of it needs."""

    name: str  #: as in docs/leo.csv.
    group: str  #: `LEO`, `GEO` or `MEASURED`.
    frame: pl.DataFrame  #: a time line with rate_bps, delay_s, up and handover.
    duration_s: float  #: of a run.
    reverse_bps: float  #: the rate of the way back.
    loss: float = 0.0  #: packets lost at random, a share; where the frame has a loss rate, that counts.

    @property
    def handovers(self) -> np.ndarray:
        """Their instants, seconds."""
        return self.frame.filter("handover")["t_s"].to_numpy()

    @property
    def nominal(self) -> tuple[float, float]:
        """Mean rate while the path is there, bit/s, and mean delay, seconds, the basis of the buffer."""
        t, rate = self.frame["t_s"].to_numpy(), self._rates()
        lengths = np.diff(np.append(t, self.duration_s)).clip(0)
        there = lengths * (rate > 0)
        delay = np.average(self.frame["delay_s"].to_numpy(), weights=lengths)
        return float(np.average(rate, weights=there)), float(delay)

    def capacity(self, at: np.ndarray) -> np.ndarray:
        """Bits that the forward direction can have sent until these instants."""
        t = np.append(self.frame["t_s"].to_numpy(), max(self.duration_s, float(self.frame["t_s"][-1]) + 1))
        return np.asarray(np.interp(at, t, np.append(0.0, np.cumsum(self._rates() * np.diff(t)))))

    def _rates(self) -> np.ndarray:
        return np.where(self.frame["up"].to_numpy(), self.frame["rate_bps"].to_numpy(), 0.0)

    def scenario(self, cc: Any, seed: int, folder: Path) -> bp.Scenario:
        """One flow of `cc`; the time line is written into `folder`."""
        file = folder / f"{self.name}.csv"
        if not file.exists():
            known = ("t_s", "rate_bps", "delay_s", "loss_rate", "up", "handover")
            bp.timeline.write(self.frame.select([name for name in known if name in self.frame]), file)
        rate, delay = self.nominal
        link = bp.Link(
            timeline={"file": str(file), "delay": "lines" if self.group == LEO else "steps"},
            nominal={"rate": f"{rate:.0f} bit/s", "delay": f"{delay * 1e9:.0f} ns"},
            queue=bp.DropTail("1 bdp"),
            handover={},
            loss=bp.PacketError(self.loss) if self.loss else None,
            reverse={"rate": f"{self.reverse_bps:.0f} bit/s"},
        )
        return bp.Scenario(
            links={"sat": link},
            flows=[bp.Flow(cc, path=["sat"], start_jitter=START)],
            duration=f"{self.duration_s:g} s",
            seed=seed,
            record=bp.Record("100 ms"),
        )


def shipped(name: str = "leo-handover", loss: float = 0.0) -> MovingPath:
    """The scenario leo-handover, also with random losses."""
    (link,) = bp.Scenario.load(SCENARIO).to_dict()["link"].values()
    dark = seconds(link["handover"]["outage"], "outage")
    rows = []
    for (at, rate), (_, delay) in zip(link["rate"], link["delay"], strict=True):
        t = quantity("time", at, "rate")
        bits, way = quantity("rate", rate, "rate"), seconds(delay, "delay")
        rows += [(t, bits, way, t == 0, t > 0)] + ([(t + dark, bits, way, True, False)] if t else [])
    frame = pl.DataFrame(rows, ["t_s", "rate_bps", "delay_s", "up", "handover"], orient="row")
    return MovingPath(name, LEO, frame, 120.0, 15e6, loss)


def shells() -> list[MovingPath]:
    """Three shells, by `bentpipe orbit`."""
    found = []
    for name, ends, shell in (
        ("starlink", ("Manila", "Dalian"), "starlink-s1"),
        ("kuiper", ("Istanbul", "Nairobi"), "kuiper-k1"),
        ("telesat", ("Rio", "Tokyo"), "telesat-inclined"),
    ):
        frame = bp.orbit.path(*ends, shell=shell, duration="120 s", step="1 s", handover_break="100 ms")
        frame = frame.select("t_s", "delay_s", "up", "handover").with_columns(rate_bps=pl.lit(SHELL_BPS))
        found.append(MovingPath(name, LEO, frame, 120.0, SHELL_BPS))
    return found


def fades() -> list[MovingPath]:
    """Two fades over GEO, by `bentpipe weather`."""
    found = []
    for name, station, availability, seed in (
        ("geo-singapore", bp.weather.Station("Singapore", band="ka", geo="98E"), 99.0, 1),
        ("geo-london", bp.weather.Station("London", band="ku", geo="13E"), 99.9, 2),
    ):
        line = bp.weather.timeline(
            station, availability=availability, duration="300 s", seed=seed,
            modem=bp.weather.Modem(symbol_rate="6 Mbaud"),
        )  # fmt: skip
        columns = ["t_s", "rate_bps", "loss_rate", "up", "handover"]
        frame = line.select(columns).with_columns(delay_s=pl.lit(0.27))
        found.append(MovingPath(name, GEO, frame, 300.0, 2e6))
    return found


def measured(directory: Path, duration_s: float = 60.0) -> list[MovingPath]:
    """Two measured downlinks of 27 May 2024: those whose mean rates are the quartiles of the day.

    The rate is that of UDP, in half seconds. The delay is that of a ping minutes later, which includes waits
    in the network, too. The data has no licence that lets us ship it.
    """
    capacities, _, _ = starlink.measured(directory)
    order = sorted(capacities, key=lambda capacity: capacity.mean_bps)
    found = []
    for name, share in (("starlink-slow", 0.25), ("starlink-fast", 0.75)):
        capacity = order[round(share * (len(order) - 1))]
        delays = starlink.repeated(capacity.ping, duration_s)
        frame = bp.timeline.join(capacity.frame, delays, columns=["delay_s"])
        frame = frame.filter(pl.col("t_s") < duration_s).select("t_s", "rate_bps", "delay_s")
        frame = frame.with_columns(up=pl.lit(value=True), handover=pl.lit(value=False))
        found.append(MovingPath(name, MEASURED, frame, duration_s, 15e6))
    return found


def measure(path: MovingPath, result: bp.Result) -> dict[str, float]:
    """The numbers of a run (`COLUMNS`)."""
    (flow,) = result.json["flows"]
    t = result.trace["t_s"].to_numpy()
    delivered = result.trace["delivered_bytes"].to_numpy() * 8.0
    payload = 1448 / 1500
    begin, end = path.capacity(np.array([flow["start_s"], path.duration_s])) * payload
    times = recovery(path, t, delivered)
    return {
        "goodput_bps": flow["goodput_bps"],
        "share": float(8.0 * flow["delivered_bytes"] / (end - begin)),
        "rtt_p95_s": flow["rtt_p95_s"] or math.nan,
        "lost": measures.lost([flow]) or 0.0,
        "recovery_s": float(np.median(times)) if times else math.nan,
    }


def recovery(path: MovingPath, t: np.ndarray, delivered: np.ndarray) -> list[float]:
    """For each handover the time until the flow has again 90 % of the share of the capacity that it had.

    The share before is that since the handover before (at most 15 s). The share after is that of half a
    second, and the time ends where this half second begins. If it never comes back, it is the time to the
    next handover. In shares, because the new path may be slower or faster than the old one.

    Args:
        path: with its capacity and its handovers.
        t: instants, seconds.
        delivered: bits delivered until then.
    """
    ends = [*path.handovers, path.duration_s]
    grid = np.arange(0.0, path.duration_s - WINDOW_S, 0.05)
    could = path.capacity(grid + WINDOW_S) - path.capacity(grid)
    did = np.interp(grid + WINDOW_S, t, delivered) - np.interp(grid, t, delivered)
    share = np.divide(did, could, out=np.zeros_like(did), where=could > 0)
    found = []
    for before, at, after in zip([0.0, *ends], ends[:-1], ends[1:], strict=False):
        begin = max(before, at - 15.0, 2.0)
        if after - at < APART_S or at - begin < 1.0:
            continue
        bits = np.diff(np.interp([begin, at], t, delivered))[0]
        usual = bits / np.diff(path.capacity(np.array([begin, at])))[0]
        back = (grid >= at) & (grid < after - WINDOW_S) & (share >= SHARE * usual)
        found.append(float(grid[back][0] - at) if back.any() else float(after - at))
    return found
