"""The place where a failure shows: sentences of instants and windows, derived from the traces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bentpipe.breaking.conditions import FIRST, LINK, SECOND, steps
from bentpipe.breaking.observation import (
    LATE,
    SETTLED,
    Floats,
    Trace,
    capacity,
    course,
    floor,
    longest_gap,
    outages,
    queueing,
    rates,
    seconds,
)
from bentpipe.breaking.trials import Pair
from bentpipe.units import PACKET, digits, in_percent, short

_LOW = 0.25
"""A period of failure is one in which less than this share of the yardstick's rate arrives."""
_BRIEF = 0.2
"""A period of less than this share of the run is not the failure."""
_BACK = 0.5
"""A flow is back when it has this share of the link's rate."""
_ABRUPT_S = 3.0
"""An event this long before a period at most is named as what it follows, or three round trips."""


@dataclass(frozen=True)
class Seen:
    """A flow of a run.

    Attributes:
        label: its name for people.
        role: its run, "subject" or "yardstick".
        flow: its name in the scenario.
        trace: what was recorded of it.
    """

    label: str
    role: str
    flow: str
    trace: Trace

    @property
    def t(self) -> Floats:
        """The instants, s."""
        return self.trace["t_s"]

    def arriving(self, window: float) -> Floats:
        """The rate at which bytes arrive around each instant, bit/s: the mean over a window of time."""
        delivered = self.trace["delivered_bytes"]
        before, behind = (np.interp(self.t + s * window / 2, self.t, delivered) for s in (-1, 1))
        span = np.minimum(self.t + window / 2, self.t[-1]) - np.maximum(self.t - window / 2, self.t[0])
        rate: Floats = 8 * (behind - before) / span
        return rate

    def median(self, column: str, begin: float, end: float) -> float:
        """The median of a column over a time; NaN without a number."""
        values = self.trace[column][(self.t >= begin) & (self.t <= end)]
        values = values[np.isfinite(values)]
        return float(np.median(values)) if values.size else float("nan")


def sentence(pair: Pair, scenario: Mapping[str, Any], traces: Mapping[str, Mapping[str, Trace]]) -> str:
    """Sentences about the place where the mechanism shows.

    Args:
        pair: the goal, the algorithm and the yardstick.
        scenario: that of the algorithm.
        traces: of the flows of each run, by the names of `Goal.scenarios`.
    """
    one, other = flows(pair, traces)
    tell = {"queue": _queue, "losses": _losses, "stall": _stall}.get(pair.goal.name, _slow)
    return tell(scenario, one, other)


def flows(pair: Pair, traces: Mapping[str, Mapping[str, Trace]]) -> list[Seen]:
    """The flow that fails, and the one that it is compared with."""

    def seen(label: str, role: str, flow: str) -> Seen:
        return Seen(label, role, flow, traces[role][flow])

    label, other = pair.subject.label, pair.yardstick.label
    match pair.goal.name:
        case "starve":
            both = [seen(f"the {name} flow", "subject", name) for name in (FIRST, SECOND)]
            return sorted(both, key=lambda flow: _mean(flow, LATE * float(flow.t[-1]), float(flow.t[-1])))
        case "harm":
            return [
                seen(f"{other} beside {label}", "subject", SECOND),
                seen(f"{other} beside another {other}", "yardstick", SECOND),
            ]
        case "attack":
            return [seen(label, "subject", FIRST), seen("the same without pulses", "yardstick", FIRST)]
        case _:
            return [seen(label, "subject", FIRST), seen(other, "yardstick", FIRST)]


def _slow(scenario: Mapping[str, Any], one: Seen, other: Seen) -> str:
    """Of a flow that gets little where another gets much."""
    window = max(1.0, 2 * _trip(scenario))
    ours, theirs = one.arriving(window), np.interp(one.t, other.t, other.arriving(window))
    begin, end = _longest(one.t, ours < _LOW * theirs)
    if end - begin < _BRIEF * one.t[-1]:  # nowhere that slow for long: all of it
        begin, end = float(one.t[0]), float(one.t[-1])
    share = _mean(one, begin, end) / max(_mean(other, begin, end), 1.0)
    part = in_percent(share, ".2g" if share < 0.995 else ".0f")
    text = (
        f"From {_s(begin)} to {_s(end)} {one.label} delivers {part} of what {other.label} does. "
        f"{_windows(one, other, begin, end)}"
    )
    return text + _after(scenario, begin, one, other)


def _stall(scenario: Mapping[str, Any], one: Seen, other: Seen) -> str:
    """Of a flow to which nothing arrives."""
    end = float(one.t[-1])
    begin, stop, length = longest_gap(one.t, one.trace["delivered_bytes"], end, outages(scenario, end))
    text = (
        f"Nothing of {one.label} arrives for {_s(length)}, from {_s(begin)} to {_s(stop)}, with a window "
        f"near {_segments(one, begin, stop)} and {_number(one.median('in_flight', begin, stop))} in flight. "
        f"{_capital(other.label)} delivers {digits(_mean(other, begin, stop) / 1e6, 3)} Mbit/s in that time."
    )
    return text + _after(scenario, begin, one, other)


def _queue(scenario: Mapping[str, Any], one: Seen, other: Seen) -> str:
    """Of a queue that stays."""
    least = floor(scenario, FIRST)
    begin, end = float(SETTLED * one.t[-1]), float(one.t[-1])
    found = queueing(one.t, one.trace["rtt_s"], one.trace["delivered_bytes"], least)
    if not found.size:
        return f"Nothing of {one.label} arrives after {_s(begin)}."
    return (
        f"After {_s(begin)} {one.label}'s queueing delay is {_s(float(np.median(found)))} in the median "
        f"and {_s(max(float(found.min()), 0.0))} at least, over a round trip of "
        f"{_s(float(course(least, one.t)[-1]))}. {_windows(one, other, begin, end)}"
    )


def _losses(scenario: Mapping[str, Any], one: Seen, other: Seen) -> str:
    """Of a flow that sends in vain."""
    end = float(one.t[-1])
    path = capacity(scenario) * _trip(scenario) / 8 / PACKET
    room = path + int(scenario["link"][LINK]["queue"]["limit"].split()[0])
    return (
        f"{_windows(one, other, 0.0, end)} The path and its queue hold {room:.0f} packets at the mean rate."
    )


def _after(scenario: Mapping[str, Any], begin: float, one: Seen, other: Seen) -> str:
    """The event before a period, and the time until each flow was back after it."""
    near = [
        event
        for event in _events(scenario)
        if -0.2 <= begin - event[1] <= max(_ABRUPT_S, 3 * _trip(scenario))
    ]
    near = near or [event for event in _events(scenario) if event[0] - 0.2 <= begin <= event[1] + 0.2]
    if not near:
        return ""
    at, over, what = near[-1]
    text = f" This begins after {what} at {_s(at)}."
    back = [_back(scenario, flow, over) for flow in (one, other)]
    if back[1] is not None and (back[0] is None or back[0] > 2 * back[1]):
        ours = "not before the end" if back[0] is None else f"after {_s(back[0])}"
        text += (
            f" {_capital(other.label)} is back at half of the link's rate after {_s(back[1])}, "
            f"{one.label} {ours}."
        )
    return text


def _back(scenario: Mapping[str, Any], flow: Seen, over: float) -> float | None:
    """The time from an event until a flow has half of the link's rate again; None: not before the end."""
    enough = flow.arriving(1.0) >= _BACK * course(rates(scenario), flow.t)
    there = flow.t[enough & (flow.t >= over)]
    return float(there[0] - over) if there.size else None


def _events(scenario: Mapping[str, Any]) -> list[tuple[float, float, str]]:
    """The events on the link in the order of time: begin, end, and words for each."""
    end = seconds(scenario["duration"])
    link = scenario["link"][LINK]
    found = []
    for key, what in (("rate", "the change of the rate"), ("delay", "the change of the delay")):
        found += [(seconds(at), seconds(at), what) for at, _ in steps(link[key])[1:]]
    found += [(begin, stop, "the outage") for begin, stop in outages(scenario, end)]
    for flow in scenario["flow"]:
        if flow["name"] == SECOND and "start" in flow:
            found.append((seconds(flow["start"]), seconds(flow["start"]), "the start of the second flow"))
    return sorted(found)


def _longest(t: Floats, low: npt.NDArray[np.bool_]) -> tuple[float, float]:
    """The longest stretch of time in which a condition holds: begin and end, s."""
    marks = np.flatnonzero(np.diff(np.concatenate([[0], np.asarray(low, dtype=int), [0]])))
    if not marks.size:
        return 0.0, 0.0
    spans = [
        (float(t[a]), float(t[min(b, len(t) - 1)])) for a, b in zip(marks[::2], marks[1::2], strict=True)
    ]
    return max(spans, key=lambda span: span[1] - span[0])


def _mean(flow: Seen, begin: float, end: float) -> float:
    """The mean rate of a flow between two instants, bit/s."""
    first, last = np.interp([begin, end], flow.t, flow.trace["delivered_bytes"])
    return float(8 * (last - first) / max(end - begin, 1e-9))


def _windows(one: Seen, other: Seen, begin: float, end: float) -> str:
    """A sentence with the median windows of two flows over a time."""
    return (
        f"The window of {one.label} is near {_segments(one, begin, end)}, that of {other.label} near "
        f"{_window(other, begin, end)}."
    )


def _window(flow: Seen, begin: float, end: float) -> str:
    """The median window over a time, without its unit."""
    return _number(flow.median("cwnd", begin, end))


def _segments(flow: Seen, begin: float, end: float) -> str:
    number = _window(flow, begin, end)
    return f"{number} segment{'s' * (number != '1')}"


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def _trip(scenario: Mapping[str, Any]) -> float:
    return max(floor(scenario, FIRST).values())


def _s(value: float) -> str:
    return f"{value * 1e3:.0f} ms" if value < 1 else f"{short(value, 3)} s"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
