"""The paths and the runs of docs/satellite-2026.md, the measures of each run, and the table of all."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import polars as pl

import bentpipe as bp
from bentpipe import controller, stats
from bentpipe.experiments.rows import Rows
from bentpipe.io.toml_tables import beside

RATE_BPS = 50e6
"""Rate of every path, forward."""
FEEDER_BPS = 200e6
"""Rate from the server to a relay."""
PROBES = ("peach",)
"""Algorithms that probe with segments of low priority: their links have two bands."""
SAVED = "resume_cwnd=bdp"
"""In the name of an algorithm: Careful Resume, with the product of rate and round trip as the saved value."""
FIRST_S = 10.0
"""Length of the start of a flow."""
WINDOW_S = 0.5
"""Goodput is averaged over this time."""
JITTER = "2 s"
"""The flow that is measured starts within this time."""
LOAD = 0.05
"""Load of the short flows beside it. Only they differ from seed to seed."""
BACKGROUND = bp.ShortFlows(bp.Pareto("5 kB", 1.2, "1 MB"), load=LOAD)
PAGE = bp.Web(main="30 kB", objects=70, embedded=bp.LogNormal("20 kB", 1.0), reading=bp.Exponential("8 s"))
"""Objects as many as in the median page of the HTTP Archive, and about as large."""
VIDEO = bp.Video(
    ladder=["1500 kbit/s", "3 Mbit/s", "6 Mbit/s", "12 Mbit/s", "25 Mbit/s"], buffer="60 s", segment="4 s"
)


@dataclass(frozen=True)
class SatellitePath:
    """A path."""

    name: str  #: as in docs/satellite-2026.csv.
    label: str  #: in tables and figures.
    about: str  #: a line about it.
    links: dict[str, bp.Link]  #: in the order in which data crosses them.
    rtt_s: Sequence[float]  #: round trip without queues; with a relay of its two halves.
    extra_delay: str | None = None  #: at the server, one way.
    ack_jitter: str | None = None  #: acknowledgements are held for up to this time, at random and in order.
    first_s: float = FIRST_S  #: length of the start of a flow.

    @property
    def relay(self) -> bool:
        """Whether there is a relay at the gateway."""
        return len(self.rtt_s) > 1

    def named(self, cc: str, half: int = -1) -> Any:
        """An algorithm as a scenario has it; `SAVED` is the value saved by a connection over this path."""
        rtt = self.rtt_s[half]
        rate = RATE_BPS if half == -1 or not self.relay else FEEDER_BPS
        saved = f"resume_cwnd={rate * rtt / 8 / 1500:.0f} resume_rtt={rtt:g}"
        return controller.named_algorithm(cc.replace(SAVED, saved))

    def scenario(self, cc: str, traffic: Any, seed: int, duration: str, record: bp.Record) -> bp.Scenario:
        """One flow of `cc`, and beside it the short flows, which are CUBIC with HyStart."""
        path = list(self.links)
        way: dict[str, Any] = {"path": path, "extra_delay": self.extra_delay, "ack_jitter": self.ack_jitter}
        split = {"at": "gateway", "buffer": "16 MB"} if self.relay else None
        own = split and {**split, "cc": self.named(cc)}
        usual = {"name": "cubic", "slow_start": "hystart"}
        flows = [
            bp.Flow(self.named(cc, 0), name="flow", traffic=traffic, start_jitter=JITTER, relay=own, **way),
            bp.Flow(usual, name="others", traffic=BACKGROUND, relay=split, **way),
        ]
        links = {name: _two_bands(link) if cc in PROBES else link for name, link in self.links.items()}
        return bp.Scenario(links=links, flows=flows, duration=duration, seed=seed, record=record)


def _two_bands(link: bp.Link) -> bp.Link:
    return dataclasses.replace(link, queue=bp.Priority(cast(bp.DropTail, link.queue).limit, bands=2))


def _link(rate: str, delay: str, back: str, room: str = "1 bdp", **more: Any) -> bp.Link:
    return bp.Link(rate=rate, delay=delay, queue=bp.DropTail(room), reverse={"rate": back}, **more)


GIVEN = beside(__file__, "satellite.toml")
"""Paths, algorithms, and the words of claims."""
PATHS = [
    SatellitePath(name, **of | {"links": {link: _link(**given) for link, given in of["links"].items()}})
    for name, of in GIVEN["paths"].items()
]


COLUMNS = {
    "startup_s": "from the start of a bulk flow until it has delivered half of the rate over half a second",
    "start_mb": "megabytes that it has delivered by the end of its start",
    "start_lost": "packets that queues have dropped by then, those of the short flows among them",
    "file_1_s": "completion of 1 MB",
    "file_100_s": "completion of 100 MB",
    "page_s": "mean page load time",
    "video_mbps": "mean bitrate of a video",
    "video_startup_s": "until it plays",
    "video_stalled_s": "time for which it stalled",
}
"""The numbers of one algorithm over one path with one seed; NaN where there is none."""
RUNS = {
    "start": (bp.Bulk(size="100 MB"), "120 s", bp.Record("50 ms", links=True)),
    "file": (bp.Bulk(size="1 MB"), "30 s", bp.Record(flows=False)),
    "page": (PAGE, "120 s", bp.Record(flows=False)),
    "video": (VIDEO, "120 s", bp.Record(flows=False)),
}
"""The runs of one algorithm over one path with one seed: traffic, duration, and what is recorded."""


def measure(path: SatellitePath, run: str, result: bp.Result) -> dict[str, float]:
    """The measures of one of `RUNS`."""
    if run == "start":
        return {**_start(path, result), "file_100_s": _whole(result)["completion_s"] or math.nan}
    if run == "file":
        return {"file_1_s": _whole(result)["completion_s"] or math.nan}
    name = "flow/responses/second" if path.relay else "flow/responses"
    row = next(flow for flow in result.json["flows"] if flow["name"] == name)
    if run == "page":
        return {"page_s": row["completion_mean_s"] or math.nan}
    return {
        "video_mbps": (row["video"]["bitrate_bps"] or 0.0) / 1e6,
        "video_startup_s": row["video"]["startup_s"] or math.nan,
        "video_stalled_s": row["video"]["stalled_s"],
    }


def _start(path: SatellitePath, result: bp.Result) -> dict[str, float]:
    begun = _whole(result)["start_s"]
    t, delivered = delivery(result)
    after = np.interp(np.arange(0.0, 60.0, 0.02) + begun, t, delivered)
    over = int(WINDOW_S / 0.02)
    enough = np.nonzero(after[over:] - after[:-over] >= RATE_BPS / 8 / 2 * WINDOW_S)[0]
    links = result.link_trace.filter(
        pl.col("t_s") <= begun + path.first_s, pl.col("link").cast(pl.String).str.ends_with("/forward")
    )
    lost = links.group_by("link").agg(pl.col("dropped_packets").last())["dropped_packets"].sum()
    return {
        "startup_s": float(enough[0] + over) * 0.02 if enough.size else math.nan,
        "start_mb": float(np.interp(begun + path.first_s, t, delivered)) / 1e6,
        "start_lost": float(lost),
    }


def delivery(result: bp.Result) -> tuple[np.ndarray, np.ndarray]:
    """Instants, and the bytes that the flow has delivered until then."""
    trace = result.trace.filter(pl.col("flow").cast(pl.String) == _whole(result)["name"])
    return trace["t_s"].to_numpy(), trace["delivered_bytes"].to_numpy().astype(float)


def _whole(result: bp.Result) -> dict[str, Any]:
    """The row of the flow, with a relay that of its second half."""
    names = {"flow", "flow/second"}
    return next(flow for flow in result.json["flows"] if flow["name"] in names)


def mean(rows: Rows, path: str, cc: str, what: str) -> stats.Interval | None:
    """Mean and 95 % interval over the seeds; None if any of them has no number."""
    values = rows.values(what, path=path, cc=cc).values()
    whole = len(values) == len(rows.where(path=path, cc=cc))
    return stats.interval(values, least=0.0) if values and whole else None


def exists(cc: str) -> bool:
    """Whether this algorithm is registered, with these parameters."""
    try:
        PATHS[0].scenario(cc, bp.Bulk(), 1, "1 s", bp.Record(flows=False)).check()
    except bp.ScenarioError:
        return False
    return True
