"""One run as an experiment sees it, and the numbers that several experiments take from it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bentpipe import measures, stats
from bentpipe.units import PACKET

if TYPE_CHECKING:
    import polars as pl

Floats = NDArray[np.float64]
ROW_S = 0.1
"""Seconds between two rows of a trace."""
SMOOTH_S = 1.0
"""Seconds over which a goodput over time is averaged."""


@dataclass(frozen=True)
class Observation:
    """A run: its setting, the rows of its flows and links, and its flows over time if they were recorded.

    Flows are called "test" or "test-3" if they use the algorithm, and otherwise as in the experiment.
    """

    setting: Mapping[str, Any]
    seed: int
    seconds: float
    flows: Sequence[Mapping[str, Any]]
    links: Sequence[Mapping[str, Any]]
    trace: pl.DataFrame | None = None
    #: Of a scenario with one link: instants, and its rate from each on, bits per second.
    capacity: Sequence[tuple[float, float]] = ()

    def named(self, name: str = "test") -> list[Mapping[str, Any]]:
        """The flows of this name, numbered or not."""
        return [f for f in self.flows if f["name"] == name or f["name"].startswith(f"{name}-")]

    def link(self, name: str = "link") -> Mapping[str, Any]:
        """The forward direction of a link."""
        return next(k for k in self.links if (k["name"], k["direction"]) == (name, "forward"))

    def goodput(self, name: str = "test") -> float:
        """Of all flows of this name together, in bits per second of the run."""
        return math.fsum(f["delivered_bytes"] for f in self.named(name)) * 8 / self.seconds

    def loss(self, name: str = "test") -> float:
        """Share of the packets that the flows of this name sent that were lost."""
        return _known(measures.lost(self.named(name)))

    def resent(self, name: str = "test") -> float:
        """Share of the packets that the flows of this name sent that were retransmissions."""
        return _known(measures.resent(self.named(name)))

    def drops(self, name: str = "link") -> float:
        """Share of the packets offered to a link that its queue dropped."""
        link = self.link(name)
        dropped = link["dropped_queue"]
        offered = link["delivered_packets"] + link["dropped_error"] + dropped
        return dropped / offered if offered else math.nan

    def queueing(self) -> float:
        """The mean wait, in seconds, if all packets that wait are full ones."""
        link = self.link()
        return float(link["queue_mean_packets"] * PACKET * 8 / link["rate_bps"])

    def queueing_p95(self, rtt_ms: float, name: str = "test") -> float:
        """Excess of the 95th percentile of the round-trip time over this one, in seconds, mean over flows."""
        seen = [f["rtt_p95_s"] - rtt_ms / 1e3 for f in self.named(name) if f["rtt_p95_s"] is not None]
        return max(math.fsum(seen) / len(seen), 0.0) if seen else math.nan

    def jain(self) -> float:
        """Jain's index of the goodput of the flows under test."""
        return stats.jain(f["goodput_bps"] for f in self.named())

    def completion(self, flow: Mapping[str, Any], least: float) -> float:
        """How long a flow took, s; one that was not done took at least as long as this."""
        return least if flow["completion_s"] is None else float(flow["completion_s"])

    def rates(self, name: str = "test", over: float = SMOOTH_S) -> tuple[Floats, Floats]:
        """Goodput over time of a flow, in bits per second: instants, and means over the time before each."""
        t, arrived = self.arrived(name)
        back = max(round(over / ROW_S), 1)
        return t[back:], (arrived[back:] - arrived[:-back]) * 8 / (t[back:] - t[:-back])

    def mbits(self, over: float = SMOOTH_S) -> tuple[list[float], list[float]]:
        """`rates` of the flow under test in Mbit/s, to be stored."""
        t, rates = self.rates(over=over)
        return t.tolist(), (rates / 1e6).tolist()

    def arrived(self, name: str = "test") -> tuple[Floats, Floats]:
        """Instants, and the bytes of a flow that had arrived by then, in order or not.

        After a loss the bytes in order stay constant and then jump; `plot.rates.spread` puts each byte at the
        latest instant at which the link's rate lets it have come.
        """
        return self._arrived.get(name, (np.empty(0), np.empty(0)))

    @cached_property
    def _arrived(self) -> dict[str, tuple[Floats, Floats]]:
        if self.trace is None or not self.trace.height:
            return {}
        import polars as pl

        from bentpipe.plot.rates import spread

        rows = self.trace.select("t_s", pl.col("flow").cast(pl.String), "delivered_bytes")
        wide = rows.pivot("flow", index="t_s", values="delivered_bytes").sort("t_s")
        wide = wide.fill_null(strategy="forward").fill_null(0)
        t_s, names = wide["t_s"].to_numpy(), wide.columns[1:]
        in_order = wide.select(pl.col(names).cast(pl.Float64)).to_numpy().T
        if self.capacity:
            at, bps = (np.array(column) for column in zip(*self.capacity, strict=True))
            sums = np.concatenate(([0.0], np.cumsum(bps[:-1] * np.diff(at))))
            row = np.clip(np.searchsorted(at, t_s, side="right") - 1, 0, None)
            in_order = spread(in_order, np.diff((sums[row] + bps[row] * (t_s - at[row])) / 8))
        return {name: (t_s, row) for name, row in zip(names, in_order, strict=True)}

    def column(self, column: str, name: str = "test") -> tuple[Floats, Floats]:
        """A column of a flow's trace with its instants; nothing if the run has no trace of the flow."""
        if self.trace is None:
            return np.empty(0), np.empty(0)
        rows = self.trace.filter(flow=name)
        return rows["t_s"].to_numpy(), rows[column].to_numpy().astype(float)

    def reached(self, share: float, after: float, name: str = "test", over: float = SMOOTH_S) -> float:
        """Seconds from `after` until a flow's goodput is `share` bits per second; if never, what is left."""
        t, rates = self.rates(name, over)
        reached = t[(t > after) & (rates >= share)]
        return float(reached[0] if len(reached) else self.seconds) - after

    def delivered_between(self, start: float, end: float, name: str = "test") -> float:
        """Goodput of a flow between two instants, in bits per second."""
        t, arrived = self.arrived(name)
        within = np.flatnonzero((start - 1e-9 <= t) & (t <= end + 1e-9))
        if len(within) < 2:
            return math.nan
        first, last = within[[0, -1]]
        return float((arrived[last] - arrived[first]) * 8 / (t[last] - t[first]))


def _known(value: float | None) -> float:
    return math.nan if value is None else value
