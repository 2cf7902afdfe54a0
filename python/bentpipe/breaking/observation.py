"""The measures of one run of a search: plain numbers from the result, the trace and the scenario."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bentpipe import measures
from bentpipe.breaking.conditions import CROSS, LINK, losses, steps
from bentpipe.document.spans import merged
from bentpipe.result import each_once
from bentpipe.sweeps.case import Case
from bentpipe.sweeps.execution import Ran
from bentpipe.units import quantity

if TYPE_CHECKING:
    import polars as pl

LATE = 0.5
"""The share of a run after which flows that share a link are compared."""
SETTLED = 0.25
"""The share of a run after which a queue is called a standing one."""
STANDING = 10
"""The percentile of queueing delay that counts as standing: the queue is shorter for a tenth of the time."""

COLUMNS = ("t_s", "cwnd", "in_flight", "rtt_s", "delivered_bytes")
"""The columns of a trace that are used."""

Floats = npt.NDArray[np.float64]
Trace = Mapping[str, Floats]
"""The columns of the trace of one flow."""
Row = Mapping[str, Any]


def observe(
    scenario: Mapping[str, Any], result: Mapping[str, Any], traces: Mapping[str, Trace]
) -> dict[str, Any]:
    """The measures of a run, by the names of its flows.

    - goodput_bps: payload delivered over the duration of the run
    - late_bps: the same over its second half
    - lost: `measures.lost`, 0 if nothing was sent
    - gap_s: the longest time without a delivered byte after the first, outages apart
    - standing_s: the queueing delay of `STANDING`, after `SETTLED` of the run; 0 without a round trip

    Args:
        scenario: as plain data.
        result: the object of `bentpipe run --json`.
        traces: as `traces` has them.
    """
    end = float(result["simulated_s"])
    found: dict[str, Any] = {}
    downs = outages(scenario, end)
    for flow in each_once(result["flows"]):
        if flow["name"] == CROSS:
            continue
        rows = traces[flow["name"]]
        t, delivered = rows["t_s"], rows["delivered_bytes"]
        half = float(np.interp(LATE * end, t, delivered)) if t.size else 0.0
        whole = float(flow["delivered_bytes"])
        found[flow["name"]] = {
            "goodput_bps": 8 * whole / end,
            "late_bps": 8 * (whole - half) / (end * (1 - LATE)),
            "lost": measures.lost([flow]) or 0.0,
            "gap_s": longest_gap(t, delivered, end, downs)[2],
            "standing_s": standing(t, rows["rtt_s"], delivered, floor(scenario, flow["name"])),
        }
    return found


def near(case: Case, ran: Ran) -> Row:
    """The measures of a run in this process."""
    return observe(case.scenario, ran.result, traces(ran))


def far(case: Case, result: Mapping[str, Any], trace: pl.DataFrame | None) -> Row:
    """The measures of a run in a worker."""
    return observe(case.scenario, result, traces(Ran(0, trace=trace)))


def traces(ran: Ran) -> dict[str, Trace]:
    """The trace of each flow of a run by the flow's name; nothing if it has none.

    The numbers of a run in this process are taken as they are: a frame takes longer than a short run.
    """
    if ran.raw is not None:
        columns, names = ran.raw.trace(), list(ran.raw.flow_names)
        flows = np.asarray(columns["flow"])
    elif ran.trace is not None:
        columns = {name: ran.trace[name].to_numpy() for name in COLUMNS}
        names = ran.trace["flow"].unique(maintain_order=True).to_list()
        flows = np.array([names.index(name) for name in ran.trace["flow"]])
    else:
        return {}
    return {
        name: {column: np.asarray(columns[column], dtype=float)[flows == i] for column in COLUMNS}
        for i, name in enumerate(names)
    }


def longest_gap(
    t: Floats, delivered: Floats, end: float, downs: Sequence[tuple[float, float]]
) -> tuple[float, float, float]:
    """The longest time without a delivered byte after the first: begin, end, and length less outages, s."""
    edges = np.array([edge for span in downs for edge in span] or [0.0])
    away = np.cumsum([0.0, *(b - a if i % 2 == 0 else 0.0 for i, (a, b) in enumerate(pairwise(edges)))])

    def up(at: Floats) -> Floats:
        """The time with a path until each instant."""
        passed: Floats = at - np.interp(at, edges, away)
        return passed

    news = t[np.flatnonzero(np.diff(delivered, prepend=0.0) > 0)] if t.size else t
    at = np.array([*(news if news.size else [0.0]), end])
    lengths = np.diff(up(at))
    longest = int(np.argmax(lengths))
    return float(at[longest]), float(at[longest + 1]), float(lengths[longest])


def standing(t: Floats, rtt: Floats, delivered: Floats, least: Mapping[float, float]) -> float:
    """The standing queueing delay of round trips at these times, s; `least` as `floor` has it."""
    found = queueing(t, rtt, delivered, least)
    return max(0.0, float(np.percentile(found, STANDING))) if found.size else 0.0


def queueing(t: Floats, rtt: Floats, delivered: Floats, least: Mapping[float, float]) -> Floats:
    """The queueing delays of these round trips after `SETTLED` of the run, s; `least` as `floor` has it.

    A trace repeats the last round trip until there is another, so times when nothing arrived are left out.
    """
    seen = np.diff(delivered, prepend=0.0) > 0
    if t.size:
        seen &= (t >= SETTLED * t[-1]) & np.isfinite(rtt) & (rtt > 0)
    found: Floats = rtt[seen] - course(least, t[seen])
    return found


def course(values: Mapping[float, float], t: Floats) -> Floats:
    """The value at each instant, of values from some instants on (`floor`, `rates`)."""
    found: Floats = np.array(list(values.values()))[np.searchsorted(list(values), t, side="right") - 1]
    return found


def floor(scenario: Mapping[str, Any], flow: str) -> dict[float, float]:
    """The round trip without queues of a flow, s, from each instant on."""
    own = next((one.get("extra_delay") for one in scenario["flow"] if one["name"] == flow), None)
    more = seconds(own) if own else 0.0
    return {seconds(at): 2 * (seconds(value) + more) for at, value in steps(scenario["link"][LINK]["delay"])}


def rates(scenario: Mapping[str, Any]) -> dict[float, float]:
    """The rate of the link, bit/s, from each instant on."""
    return {seconds(at): bits(value) for at, value in steps(scenario["link"][LINK]["rate"])}


def capacity(scenario: Mapping[str, Any]) -> float:
    """The mean rate of the link over the run, outages included, bit/s."""
    end = seconds(scenario["duration"])
    parts = list(rates(scenario).items())
    ends = [*(at for at, _ in parts[1:]), end]
    whole = 0.0
    for (begin, rate), stop in zip(parts, ends, strict=True):
        whole += rate * max(0.0, min(stop, end) - min(begin, end))
    return whole / end


def cross(scenario: Mapping[str, Any]) -> float:
    """The mean rate of the unresponsive traffic, bit/s."""
    for flow in scenario["flow"]:
        if flow["name"] == CROSS:
            traffic = flow["traffic"]
            on, off = (seconds(traffic[key]) if key in traffic else 0.0 for key in ("on", "off"))
            return bits(traffic["rate"]) * (on / (on + off) if off else 1.0)
    return 0.0


def outages(scenario: Mapping[str, Any], end: float) -> list[tuple[float, float]]:
    """The times without a path, in order: those of the time line, and outages that repeat."""
    link = scenario["link"][LINK]
    found, since = [], math.inf
    for at, there in link.get("up", ()):
        if not there:
            since = min(since, seconds(at))
        elif since < math.inf:
            found.append((since, seconds(at)))
            since = math.inf
    if since < end:
        found.append((since, end))
    for every, length in repeated(scenario):
        found += [(k * every, k * every + length) for k in range(1, int(end / every) + 1)]
    return merged([(begin, min(stop, end)) for begin, stop in found if begin < end])


def repeated(scenario: Mapping[str, Any]) -> list[tuple[float, float]]:
    """Period and length of the outages that repeat, s."""
    every = losses(scenario["link"][LINK])
    return [(seconds(one["every"]), seconds(one["length"])) for one in every if one["kind"] == "outage"]


def seconds(text: str) -> float:
    """The seconds of a time in one of our scenarios."""
    return quantity("time", text, "a time")


def bits(text: str) -> float:
    """The bits per second of a rate in one of our scenarios."""
    return quantity("rate", text, "a rate")
