"""The flows of a run that are judged: their rows, the bytes that arrive over time, and what they cross.

Over a link these are the flows of the algorithm. Of a whole scenario they are all flows with a controller:
every connection of each, whole Multipath connections, and both directions of one whose two ends write.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bentpipe import measures
from bentpipe.document.plain import is_datagrams
from bentpipe.models import Flow
from bentpipe.result import each_once

if TYPE_CHECKING:
    import polars as pl

Floats = NDArray[np.float64]
Traces = Mapping[str, Mapping[str, Floats]]
"""The columns of the trace of each flow, or of each direction of a link, by its name."""
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

    def trace_of(self, trace: Traces) -> Traces:
        """Their part of the traces of flows."""
        return {name: rows for name, rows in trace.items() if self._path(name) is not None}

    def _path(self, name: str) -> str | None:
        """The path of a flow of the trace: equal for flows with the same. None if it is not of theirs."""
        own = _row_of(name, self._places)
        if own is None:
            return None
        number, flow = self._places[own]
        part = own.rpartition("/")[2] if flow.both_ways else name[len(own) :] if flow.subflow else ""
        return f"{number} {part}"

    @cached_property
    def _places(self) -> dict[str, tuple[int, Flow]]:
        """Number and flow of each row."""
        pairs = enumerate(zip(self.flows, self.rows, strict=True))
        return {str(row["name"]): (number, flow) for number, (flow, rows) in pairs for row in rows}

    def waits(self, rows: Traces) -> Floats:
        """Round trips of rows of `trace_of` above the least of their path, seconds."""
        floors: dict[str | None, float] = {}
        for name in rows:
            row = self.parts[_row_of(name, self.parts) or ""]
            if row["rtt_min_s"]:
                path = self._path(name)
                floors[path] = min(floors.get(path, math.inf), row["rtt_min_s"])
        found = [one["rtt_s"] - floors.get(self._path(name), math.nan) for name, one in rows.items()]
        waits: Floats = np.concatenate([np.empty(0), *found])
        return waits[~np.isnan(waits)]

    def own_loss(self, links: Traces, begin: float) -> float:
        """Drops at queues after this share of the run, as a share of arrivals.

        Of the directions of one path, or of paths that share one, the arrivals at the busiest count.
        """
        if not links:
            return math.nan
        crossed = {"/".join(way) for way in self.crossed}
        seen = {}
        for link, rows in after({name: links[name] for name in crossed & links.keys()}, begin).items():
            through, lost, dropped = (
                rows[name][-1] - rows[name][0]
                for name in ("delivered_packets", "dropped_packets", "dropped_queue")
            )
            seen[link] = float(through + lost), float(dropped)
        came = dropped = 0.0
        for together in _joined([{"/".join(way) for way in path} for f in self.flows for path in ways(f)]):
            there = [seen[link] for link in together if link in seen]
            came += max((arrivals for arrivals, _ in there), default=0.0)
            dropped += sum(lost for _, lost in there)
        return dropped / came if came > 0 else 0.0

    def window(self, links: Traces) -> float:
        """Bandwidth-delay product of a connection, bytes: of subflows the sum of rates by the longest path.

        The rates are the highest of each path's narrowest link.
        """
        if not links:
            return math.nan
        most = {name: float(rows["rate_bps"].max()) for name, rows in links.items()}
        paths = [way for flow in self.flows for way in ways(flow)]
        rates = [min(most.get("/".join(way), math.inf) for way in path) for path in paths if path]
        names = tuple(str(row["name"]) for row in self.connections)
        trips = [row["rtt_min_s"] for name, row in self.parts.items() if name.startswith(names)]
        longest = max((trip for trip in trips if trip), default=math.nan)
        both = any(flow.both_ways for flow in self.flows)
        return float((max(rates) if both else sum(rates)) * longest / 8)

    def arrivals(self, rows: Traces, links: Traces, payload: Payload) -> tuple[Floats, Floats]:
        """Instants, and the bytes that had arrived at the receivers by then, in order or not.

        Args:
            rows: of `trace_of`, which says what was delivered in order.
            links: the traces of the links.
            payload: of their segments.
        """
        if not rows:
            return np.empty(0), np.empty(0)
        at = np.concatenate([one["t_s"] for one in rows.values()])
        news = np.concatenate([np.diff(one["delivered_bytes"], prepend=0.0) for one in rows.values()])
        t, which = np.unique(at, return_inverse=True)
        return t, arrived(np.bincount(which, news).cumsum(), self._carried(t, links, payload))

    def _carried(self, t: Floats, links: Traces, payload: Payload) -> Floats:
        """The payload that can have arrived until each instant: the packets, and no more than the rates."""
        total = np.zeros_like(t)
        for way in self.last:
            rows = links.get("/".join(way), {"t_s": np.empty(0)})
            if len(rows["t_s"]) < 2:
                return np.full_like(t, math.inf)
            at, rates = rows["t_s"], rows["rate_bps"]
            each = np.diff(rows["delivered_packets"]) * payload.bytes
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


def traces(frame: pl.DataFrame | None, key: str, *columns: str) -> Traces:
    """Columns of a trace and its instants as numbers, by the name in `key`, in order of time."""
    if frame is None or not frame.height:
        return {}
    numbers: dict[str, int] = {}
    which = np.array([numbers.setdefault(name, len(numbers)) for name in frame[key].to_list()])
    values = {name: frame[name].to_numpy().astype(float) for name in ("t_s", *columns)}
    order = np.lexsort((values["t_s"], which))
    parts = np.split(order, np.searchsorted(which[order], range(1, len(numbers))))
    return {
        name: {column: of[some] for column, of in values.items()}
        for name, some in zip(numbers, parts, strict=True)
    }


def after(rows: Traces, share: float) -> Traces:
    """The rows after this share of the run."""
    least = share * max((one["t_s"][-1] for one in rows.values()), default=0.0)
    late = {name: one["t_s"] >= least for name, one in rows.items()}
    return {
        name: {column: values[late[name]] for column, values in one.items()}
        for name, one in rows.items()
        if late[name].any()
    }


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
