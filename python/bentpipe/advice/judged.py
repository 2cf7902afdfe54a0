"""The flows of a run that are judged: their rows, the bytes that arrive over time, and what they cross.

Over a link these are the flows of the algorithm. Of a whole scenario they are all flows with a controller:
every connection of each, whole Multipath connections, and both directions of one whose two ends write.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bentpipe import measures
from bentpipe.document.plain import is_datagrams
from bentpipe.models import Flow
from bentpipe.result import each_once

Floats = NDArray[np.float64]
Direction = tuple[str, str]
"""A direction of a link, as ("sat", "forward")."""

STEADY = 0.5
"""Long-run quantities are measured after this share of the run."""
BEFORE_END = 1 / 12
"""Goodput is counted until this share of the run before its end: later deliveries show what had arrived."""
_OTHER = {"forward": "reverse", "reverse": "forward"}


@dataclass(frozen=True)
class Payload:
    """The payload of a data segment, and all bytes of its packet."""

    bytes: int
    whole: int

    @property
    def share(self) -> float:
        """The share of a packet that is payload."""
        return self.bytes / self.whole


def ways(flow: Flow) -> list[list[Direction]]:
    """The directions that data of a flow crosses, by subflow; with data of both ends, there and back."""
    there = _directions(flow.path or ())
    if flow.both_ways:
        return [there, [opposite(way) for way in reversed(there)]]
    paths = [one["path"] if isinstance(one, Mapping) else one.path for one in flow.subflow or ()]
    return [there, *map(_directions, paths)]


def opposite(way: Direction) -> Direction:
    """The other direction of the same link."""
    return way[0], _OTHER[way[1]]


def _directions(path: Iterable[str]) -> list[Direction]:
    named = (name.partition("/") for name in ([path] if isinstance(path, str) else path))
    return [(link, direction or "forward") for link, _, direction in named]


@dataclass(frozen=True)
class JudgedFlows:
    """The judged flows of one run.

    Attributes:
        flows: the flows of its scenario that are judged, in their order.
        rows: the rows of the result, each connection once, by flow.
        parts: all rows of the result by name, those of subflows included.
    """

    flows: Sequence[Flow]
    rows: Sequence[Sequence[Mapping[str, Any]]]
    parts: Mapping[str, Mapping[str, Any]]

    @classmethod
    def of(cls, flows: Sequence[Flow], result: Mapping[str, Any], some: Sequence[int]) -> JudgedFlows:
        """Those of these numbers, of a run's scenario and result."""
        left = iter(each_once(result["flows"]))
        rows = [[row for _, row in zip(range(rows_of(flow)), left, strict=False)] for flow in flows]
        parts = {row["name"]: row for row in result["flows"]}
        return cls([flows[i] for i in some], [rows[i] for i in some], parts)

    def only(self, number: int) -> JudgedFlows:
        """One of the flows alone."""
        return JudgedFlows(self.flows[number : number + 1], self.rows[number : number + 1], self.parts)

    @property
    def connections(self) -> list[Mapping[str, Any]]:
        """The rows of all connections."""
        return [row for rows in self.rows for row in rows]

    @cached_property
    def crossed(self) -> set[Direction]:
        """The directions that their data crosses."""
        return {way for flow in self.flows for path in ways(flow) for way in path}

    @cached_property
    def last(self) -> set[Direction]:
        """The directions that bring their data to the receivers."""
        return {path[-1] for flow in self.flows for path in ways(flow) if path}

    def goodput(self, simulated_s: float) -> float:
        """Bits per second over the whole run: of flows that live at different times, from the first on."""
        rows = self.connections
        if not measures.lives_differ(rows):
            return math.fsum(row["goodput_bps"] for row in rows)
        done = [row["completion_s"] for row in rows]
        ends = [simulated_s if s is None else row["start_s"] + s for row, s in zip(rows, done, strict=True)]
        lived = max(ends) - min(row["start_s"] for row in rows)
        return 8 * math.fsum(row["delivered_bytes"] for row in rows) / lived if lived > 0 else 0.0

    def trace_of(self, trace: pl.DataFrame | None) -> pl.DataFrame:
        """Their rows of a trace, with the column `path`: rows of one value have the same path."""
        if trace is None or trace.height == 0:
            return pl.DataFrame()
        paths = {}
        for number, (flow, rows) in enumerate(zip(self.flows, self.rows, strict=True)):
            for row in rows:
                paths[str(row["name"])] = number, flow
        places = {}
        for name in map(str, trace["flow"].unique()):
            own = _row_of(name, paths)
            if own is not None:
                number, flow = paths[own]
                part = own.rpartition("/")[2] if flow.both_ways else name[len(own) :] if flow.subflow else ""
                places[name] = f"{number} {part}"
        found = trace.filter(pl.col("flow").is_in(list(places)))
        named = found["flow"].cast(pl.String)
        return found.with_columns(path=named.replace_strict(places, return_dtype=pl.String), name=named)

    def waits(self, rows: pl.DataFrame) -> Floats:
        """Round trips of rows of `trace_of` above the least of their path, seconds."""
        if not rows.height:
            return np.empty(0)
        floors: dict[str, float] = {}
        for name, path in rows.select("name", "path").unique().iter_rows():
            row = self.parts[_row_of(name, self.parts) or ""]
            if row["rtt_min_s"]:
                floors[path] = min(floors.get(path, math.inf), row["rtt_min_s"])
        known = rows.filter(pl.col("path").is_in(list(floors))).filter(
            pl.col("rtt_s").is_not_null() & pl.col("rtt_s").is_not_nan()
        )
        floor = known["path"].replace_strict(floors, return_dtype=pl.Float64, default=math.nan)
        return (known["rtt_s"] - floor).to_numpy().astype(float)

    def own_loss(self, links: pl.DataFrame | None, begin: float) -> float:
        """Drops at queues after this share of the run, as a share of arrivals.

        Of the directions of one path, or of paths that share one, the arrivals at the busiest count.
        """
        if links is None or links.height == 0:
            return math.nan
        rows = after(links.filter(pl.col("link").is_in(["/".join(way) for way in self.crossed])), begin)
        span = rows.sort("t_s").group_by("link").agg(
            (pl.col(name).last() - pl.col(name).first()).cast(pl.Float64).alias(name)
            for name in ("delivered_packets", "dropped_packets", "dropped_queue")
        )  # fmt: skip
        seen = {link: (through + lost, dropped) for link, through, lost, dropped in span.iter_rows()}
        came = dropped = 0.0
        for together in _joined([{"/".join(way) for way in path} for f in self.flows for path in ways(f)]):
            there = [seen[link] for link in together if link in seen]
            came += max((arrivals for arrivals, _ in there), default=0.0)
            dropped += sum(lost for _, lost in there)
        return dropped / came if came > 0 else 0.0

    def window(self, links: pl.DataFrame | None) -> float:
        """Bandwidth-delay product of a connection, bytes: of subflows the sum of rates by the longest path.

        The rates are the highest of each path's narrowest link.
        """
        if links is None or links.height == 0:
            return math.nan
        most = dict(links.group_by("link").agg(pl.col("rate_bps").max()).iter_rows())
        paths = [way for flow in self.flows for way in ways(flow)]
        rates = [min(most.get("/".join(way), math.inf) for way in path) for path in paths if path]
        names = tuple(str(row["name"]) for row in self.connections)
        trips = [row["rtt_min_s"] for name, row in self.parts.items() if name.startswith(names)]
        longest = max((trip for trip in trips if trip), default=math.nan)
        both = any(flow.both_ways for flow in self.flows)
        return float((max(rates) if both else sum(rates)) * longest / 8)

    def arrivals(
        self, rows: pl.DataFrame, links: pl.DataFrame | None, payload: Payload
    ) -> tuple[Floats, Floats]:
        """Instants, and the bytes that had arrived at the receivers by then, in order or not.

        Args:
            rows: of `trace_of`, which says what was delivered in order.
            links: the trace of the links.
            payload: of their segments.
        """
        if rows.height == 0:
            return np.empty(0), np.empty(0)
        news = pl.col("delivered_bytes").cast(pl.Float64)
        steps = rows.sort("t_s").with_columns(news=news.diff().over("flow").fill_null(news))
        sums = steps.group_by("t_s").agg(pl.col("news").sum()).sort("t_s")
        t, delivered = sums["t_s"].to_numpy(), sums["news"].cum_sum().to_numpy()
        return t, arrived(delivered, self._carried(t, links, payload))

    def _carried(self, t: Floats, links: pl.DataFrame | None, payload: Payload) -> Floats:
        """The payload that can have arrived until each instant: the packets, and no more than the rates."""
        total = np.zeros_like(t)
        for way in self.last:
            rows = links.filter(pl.col("link") == "/".join(way)).sort("t_s") if links is not None else None
            if rows is None or rows.height < 2:
                return np.full_like(t, math.inf)
            at, rates = rows["t_s"].to_numpy(), rows["rate_bps"].to_numpy()
            each = np.diff(rows["delivered_packets"].to_numpy().astype(float)) * payload.bytes
            if (rates == rates[0]).all():  # one that varies is known at instants alone
                each = _policed(each, np.diff(at) * rates[0] / 8 * payload.share, payload.bytes)
            total += np.interp(t, at, np.concatenate([[0.0], np.cumsum(each)]))
        return total


def arrived(delivered: Floats, carried: Floats) -> Floats:
    """Bytes that had arrived by each instant, in order or not: the most that is certain.

    Bytes behind a hole are delivered at once when it is filled. What is delivered later than an instant had
    arrived by then, but for what was carried in between. So no difference of two values is larger than what
    was carried between their instants.

    Args:
        delivered: in order, until each instant.
        carried: the payload that can have arrived until each; infinite where it is not known.
    """
    if not np.isfinite(carried).all():
        return delivered
    return np.maximum.accumulate((delivered - carried)[::-1])[::-1] + carried


def _policed(given: Floats, room: Floats, burst: float) -> Floats:
    """The part of these bytes that a link can have carried: acknowledgements of others are smaller packets.

    Args:
        given: bytes in each interval, if all packets were full.
        room: bytes for which the rate has room in each.
        burst: of one packet, which may end just behind the beginning of an interval.
    """
    left, found = burst, np.empty_like(given)
    for i, (wanted, more) in enumerate(zip(given.tolist(), room.tolist(), strict=True)):
        left += more
        found[i] = min(wanted, left)
        left = min(left - found[i], burst)
    return found


def after(rows: pl.DataFrame, share: float) -> pl.DataFrame:
    """The rows after this share of the run."""
    return rows.filter(pl.col("t_s") >= share * pl.col("t_s").max())


def steady_goodput(t: Floats, came: Floats) -> float:
    """Bits per second after start-up, from `STEADY` of the run until `BEFORE_END`. 0 without a trace.

    Args:
        t: instants of the trace, seconds.
        came: bytes that had arrived until then, of all flows.
    """
    if len(t) < 2:
        return 0.0
    end = float(t[-1])
    first, last = (int(np.searchsorted(t, share * end)) for share in (STEADY, 1 - BEFORE_END))
    span = float(t[last] - t[first])
    return 8 * float(came[last] - came[first]) / span if span > 0 else 0.0


def _row_of(name: str, rows: Container[str]) -> str | None:
    """The row of a result that a flow of its trace is of, or is a part of.

    A subflow is NAME/2 of NAME, a short flow NAME/17 of NAME, behind a relay NAME/17/second of NAME/second.
    """
    words = name.split("/")
    shorter = ("/".join(words[:i] + words[i + 1 :]) for i in range(1, len(words)))
    return next((one for one in (name, *shorter) if one in rows), None)


def rows_of(flow: Flow) -> int:
    """How many rows of a result are connections of this flow, each once."""
    return (flow.count or 1) * (2 if flow.both_ways else 1)


def with_controllers(flows: Sequence[Flow]) -> list[int]:
    """The numbers of the flows that a controller steers."""
    return [i for i, flow in enumerate(flows) if not is_datagrams(flow.traffic)]


def _joined(sets: Sequence[set[str]]) -> list[set[str]]:
    """Sets that share a member become one."""
    found: list[set[str]] = []
    for one in sets:
        apart = [other for other in found if not other & one]
        found = [*apart, one.union(*(other for other in found if other & one))]
    return found
