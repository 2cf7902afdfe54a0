"""A measured transfer of a known algorithm as evidence: simulated over a link, and compared."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bentpipe import _core
from bentpipe.models import Cbr, Flow, Link, Loss, Record
from bentpipe.scenario import Scenario
from bentpipe.units import PACKET

Floats = NDArray[np.float64]

ENOUGH_S = 20.0
"""The least time of a transfer that is simulated; one that is not simulated whole goes on as its second
half."""
LEAST_TRIPS = 20
"""Round trips below which slow start is most of the simulation."""
TOLERANCES = {
    "goodput": 0.1, "plateau": 0.1, "resent_early": math.log(2), "resent_late": math.log(2),
    "lossy": math.log(1.5), "silent": math.log(3), "swing": math.log(1.5),
    "rtt_low": 0.05, "rtt_mean": 0.1, "rtt_high": 0.15,
}  # fmt: skip
"""By how much the logarithm of a simulated value may differ, one standard deviation.

The kernel's own algorithms differ from the simulated ones by up to 6.7 % in goodput, 13 % in the mean round
trip and 94 % in retransmissions (docs/linux-truth.md), over the same links with the same losses. Round trips
are compared by their 10th percentile, mean and 90th percentile over the same intervals: extremes depend on
how long a transfer is. Overshoot of the start is apart from losses later, and how many intervals have losses
apart from how many segments were lost: that distinguishes bursts from independent losses.

A burst longer than the window can silence a transfer for a minute: each repair that is lost doubles the
timeout. Whether this happens within a transfer is chance. So all other quantities leave silences out, and the
number of silent intervals has a wide tolerance of its own. The swing of the rate shows traffic that pauses.
"""
SENDERS_PLATEAU = 0.2
"""The same of a plateau by the sender's intervals, which also reflect the filling of a socket's buffer."""
SHARED_GOODPUT = 0.3
"""The same of goodput and plateau beside flows of others: chance decides a flow's share."""
RATE_FLOOR = 12e3
"""Bits per second below which all plateaus are the same: a segment in a second, of a stalled transfer."""
RESENT_FLOOR, LOSSY_FLOOR, SILENT_FLOOR = 5.0, 3.0, 3.0
"""Numbers of segments sent again, of intervals with any, and of silent intervals below these are all the
same."""
SWING_FLOOR, SWING_BYTES = 0.1, 1 << 20
"""Standard deviations of the rate below this share of it are all the same. Rates are over spans with
this many bytes: sockets take data in blocks of 128 KiB."""
SILENCE_S, SILENCE_TRIPS = 1.0, 4.0
"""Nothing for this time, and for this number of round trips, is a silence: a timeout has doubled."""
_RECORDS = 30
"""Samples of a transfer whose own intervals are not known, or too long for its round trips."""
_SWINGS = 10
"""Spans without which a swing is not known."""
_TRIPS, _ENDS = ("rtt_low", "rtt_mean", "rtt_high"), (10, 90)
"""The statistics of round trips that are compared: two percentiles, and the mean."""
SEEKERS = ("bbr", "bbr2", "bbr3")
"""Algorithms that seek the rate of a link despite losses; others may have got any part of it."""
FREEDOM = 5.0
"""Degrees of freedom of the law by which differences count. Its tails are long: one quantity that chance, or
effects outside all hypotheses, have moved far does not outweigh all others (D. Prangle, Adapting the ABC
Distance Function, Bayesian Analysis 12, 2017, has the question; K. L. Lange, R. J. A. Little, J. M. G.
Taylor, Robust Statistical Modeling Using the t Distribution, JASA 84, 1989, the law)."""
_NONE = 8.0
"""Tolerances by which a transfer that carried nothing differs; none differs by more."""
_JITTER = "1 s"
RUN = 10_000
"""Fixed cost of a simulated transfer, in packets that take the same time."""
AHEAD_S = 20.0
"""Competing flows beside a transfer start this long before it."""
SMALL_WINDOW = 3 << 20
"""The receive window of kernels before 6.18 with their default tcp_rmem of 6 MiB."""


@dataclass(frozen=True)
class Intervals:
    """The statistics of the sending kernels at the end of each interval, over all connections.

    Attributes:
        width_s: how long an interval is.
        rtts_s: the smoothed round trip, mean over the connections.
        resent: segments sent again in the interval.
        idle: whether nothing was acknowledged in the interval.
    """

    width_s: float
    rtts_s: tuple[float, ...]
    resent: tuple[int, ...]
    idle: tuple[bool, ...]

    def first(self, count: int) -> Intervals:
        """The first of them."""
        return Intervals(self.width_s, self.rtts_s[:count], self.resent[:count], self.idle[:count])

    @property
    def patience(self) -> int:
        """The number of idle intervals in a row that make a silence."""
        known = [trip for trip in self.rtts_s if trip > 0]
        trip = float(np.median(known)) if known else 0.0
        return math.ceil(max(SILENCE_S, SILENCE_TRIPS * trip) / self.width_s)

    @property
    def alive(self) -> NDArray[np.bool_]:
        """Whether each is in no silence."""
        return ~_silent(np.asarray(self.idle, dtype=bool), self.patience)


@dataclass(frozen=True)
class IperfTest:
    """A transfer as iperf3 reports it.

    Attributes:
        source: the file.
        cc: the algorithm's id.
        label: its display name.
        streams: number of connections.
        reverse: whether the server sent.
        omit_s: time left out at the start, ...
        lasted_s: ... and how long the rest was.
        goodput_bps: payload that all receivers got together.
        rates_bps: what the receivers got in each interval, or what the senders' sockets took.
        by_receiver: whether they are the receivers'.
        resent: segments sent again, None if not reported.
        intervals: round trips and retransmissions over time, None if not reported.
        windows: the receive windows that it may have had in bytes, None for one that grows without limit.
    """

    source: Path
    cc: str
    label: str
    streams: int
    reverse: bool
    omit_s: float
    lasted_s: float
    goodput_bps: float
    rates_bps: tuple[float, ...]
    by_receiver: bool
    resent: int | None
    intervals: Intervals | None
    windows: tuple[int | None, ...]

    def __str__(self) -> str:
        from bentpipe.units import rate

        several = f" over {self.streams} connections" if self.streams > 1 else ""
        resent = "" if self.resent is None else f" with {self.resent:,} segments sent again"
        return f"by {self.label}{several}, which received {rate(self.goodput_bps)}{resent}"

    def played_s(self, packets: float, most: float, rtt_s: float, beside: int) -> float:
        """The length of it that is simulated: as many packets as `packets`, to reach `ENOUGH_S` up to `most`.

        It is a whole number of intervals, if those are known.
        """
        each = self.packets(1.0, beside)
        long_s = max(packets / each, min(ENOUGH_S, most / each), LEAST_TRIPS * rtt_s)
        if self.intervals is not None:
            long_s = math.ceil(long_s / self.intervals.width_s) * self.intervals.width_s
        return min(self.lasted_s, long_s)

    def start_s(self, at_least_s: float) -> float | None:
        """The first whole intervals that last this long; None if they are not known, or there are no more."""
        if self.intervals is None:
            return None
        long_s = math.ceil(at_least_s / self.intervals.width_s) * self.intervals.width_s
        return long_s if self.omit_s == 0 and long_s < self.lasted_s else None

    def samples(self, lasted_s: float) -> int:
        """The number of samples in this length of it."""
        return _RECORDS if self.intervals is None else max(round(lasted_s / self.intervals.width_s), 1)

    @property
    def alive_bps(self) -> float:
        """The goodput outside silences."""
        if self.intervals is None:
            return self.goodput_bps
        return self.goodput_bps / max(float(self.intervals.alive.mean()), 1 / len(self.intervals.idle))

    @property
    def plateau_bps(self) -> float | None:
        """The rate in the second half, outside silences: the median, or the mean if it is the senders'.

        None if all of that half is a silence.
        """
        later = self.later_bps
        if not len(later):
            return None
        return float(np.median(later) if self.by_receiver else later.mean())

    @property
    def later_bps(self) -> Floats:
        """The rates in the second half, outside silences if they are known for each of them."""
        half = len(self.rates_bps) // 2
        later = np.asarray(self.rates_bps[half:])
        if self.intervals is None or not self.has_each:
            return later
        return later[self.intervals.alive[half:]]

    @property
    def has_each(self) -> bool:
        """Whether each of the rates has its kernel statistics."""
        return self.intervals is not None and len(self.intervals.idle) == len(self.rates_bps)

    @property
    def sent_again(self) -> float | None:
        """The share of segments sent again in its second half, or in all of it; None if not reported."""
        if self.intervals is not None:
            half = len(self.intervals.resent) // 2
            resent, lasted_s = sum(self.intervals.resent[half:]), self.lasted_s / 2
        elif self.resent is not None:
            resent, lasted_s = self.resent, self.lasted_s
        else:
            return None
        return max(resent, 0.5) / self.packets(lasted_s, 0)

    def packets(self, lasted_s: float, beside: int) -> float:
        """About how many packets it and `beside` flows of others send in this time."""
        return max(self.goodput_bps * lasted_s / (8 * PACKET), 1.0) * (1 + beside / self.streams)

    def cost(self, lasted_s: float, beside: int) -> float:
        """The work of simulating this length of it once, in packets."""
        return RUN + self.packets(ahead_s(beside) + lasted_s, beside)


@dataclass(frozen=True)
class Pausing:
    """Datagrams of others on the link: at a constant rate, with pauses.

    Attributes:
        share: of the link's rate while it sends.
        on_s: mean length of a period of sending.
        off_s: mean length of a pause.
    """

    share: float
    on_s: float
    off_s: float

    @property
    def mean(self) -> float:
        """The mean share of the link's rate."""
        return self.share * self.on_s / (self.on_s + self.off_s)

    def flow(self, link: str, rate_bps: float) -> Flow:
        """The same as a flow over a link of that rate."""
        traffic = Cbr(
            f"{self.share * rate_bps:.6g} bit/s", on=f"{self.on_s:.3g} s", off=f"{self.off_s:.3g} s"
        )
        jitter = f"{self.on_s + self.off_s:.3g} s"
        return Flow(path=[link], name="load", traffic=traffic, start_jitter=jitter)


@dataclass(frozen=True)
class Played:
    """One link on which a transfer is played, as texts of a scenario, and the run's seed.

    `window`, 0 to 1, selects one of the possible receive windows; `beside`, (algorithm, how many), are
    flows of others that share the link; `queue` is the kind of its queue; `load` is other traffic.
    """

    rate: str
    rtt_s: float
    buffer: str
    losses: Sequence[Loss]
    window: float
    seed: int
    beside: Sequence[tuple[str, int]] = ()
    queue: str = "drop-tail"
    load: Flow | None = None


def ahead_s(beside: int) -> float:
    """The lead with which this many competing flows begin before a transfer."""
    return AHEAD_S if beside else 0.0


def scenario(test: IperfTest, link: Played, lasted_s: float) -> Scenario:
    """The transfer over that link; it begins to count one round trip after the handshake began.

    Flows of others began `AHEAD_S` before it, within `_JITTER`.
    """
    ahead = ahead_s(len(link.beside))
    window = test.windows[min(int(link.window * len(test.windows)), len(test.windows) - 1)]
    flow = Flow(
        test.cc, path=["link"], count=test.streams, profile="linux",
        receive_window=None if window is None else f"{window} bytes",
        start=f"{ahead:g} s" if ahead else None,
    )  # fmt: skip
    over = Link(
        rate=link.rate,
        delay=f"{round(link.rtt_s / 2 * 1e9)} ns",
        queue={"kind": link.queue, "limit": link.buffer},
        loss=list(link.losses) or None,
    )
    others = [
        Flow(cc, path=["link"], count=count, profile="linux", start_jitter=_JITTER)
        for cc, count in link.beside
    ]
    others += [] if link.load is None else [link.load]
    duration_s = ahead + test.omit_s + link.rtt_s + lasted_s
    return Scenario(
        links={"link": over}, flows=[flow, *others], seed=link.seed, duration=f"{round(duration_s * 1e9)} ns",
        record=Record(
            f"{round(max(lasted_s / test.samples(lasted_s), 1e-3) * 1e9)} ns",
            links=test.resent is not None and test.intervals is None, segments=test.intervals is not None,
        ),
    )  # fmt: skip


def log_fit(test: IperfTest, raw: _core.RawResult, lasted_s: float) -> float:
    """The logarithm of a kernel, at most 0, of the distance of the simulated from the measured transfer."""
    return sum(_kernel(difference) for difference in differences(test, raw, lasted_s).values())


def log_fit_at_start(test: IperfTest, raw: _core.RawResult, lasted_s: float) -> float:
    """The same of the first seconds of a transfer whose intervals are known, by round trips and losses."""
    assert test.intervals is not None
    first = test.intervals.first(test.samples(lasted_s))
    return sum(map(_kernel, _by_interval(first, _Simulated(test, raw, lasted_s)).values()))


def differences(test: IperfTest, raw: _core.RawResult, lasted_s: float) -> dict[str, float]:
    """By quantity, the distance of the simulated value from the measured one, in tolerances."""
    ours = _Simulated(test, raw, lasted_s)
    share = lasted_s / test.lasted_s
    counted = (
        ours.alive.sum() if test.intervals is None else min(ours.alive.sum(), test.intervals.alive.sum())
    )
    least = max(SHARED_GOODPUT if ours.beside else 0.0, 1 / max(int(counted), 1))  # an end may be within one
    tolerance = TOLERANCES["plateau"] if test.by_receiver else SENDERS_PLATEAU
    later = ours.later
    mean = float(ours.rates[ours.alive].mean()) if ours.alive.any() else 0.0
    goodput = share * mean + (1 - share) * (float(later.mean()) if len(later) else mean)
    found = {"goodput": _logs(goodput, test.alive_bps, max(TOLERANCES["goodput"], least))}
    if test.plateau_bps is not None and len(later):
        plateau = float(np.median(later) if test.by_receiver else later.mean())
        found["plateau"] = _logs(plateau + RATE_FLOOR, test.plateau_bps + RATE_FLOOR, max(tolerance, least))
    if test.intervals is not None:
        found |= _by_interval(test.intervals, ours) | _swings(test, ours)
    elif test.resent is not None:
        total = sum(flow["retransmitted_packets"] for flow in json.loads(raw.json)["flows"][: test.streams])
        more = (1 / share - 1) * 2 * _dropped_late(raw, float(ours.ends[[0, -1]].mean()))
        found["resent_late"] = _counts(total * (1 + more), test.resent, RESENT_FLOOR, "resent_late")
    return found


class _Simulated:
    """A simulated transfer by interval.

    Attributes:
        beside: whether flows of others ran beside it.
        ends: the beginning of the first interval, and the end of each.
        rates: payload delivered in each, bit/s.
        trips: the smoothed round trip at the end of each, mean over its flows; NaN before the first.
        resent: segments sent again in each; empty if they were not recorded.
        alive: whether each is in no silence.
        half: index of the first interval of the second half.
        later: the rates in that half, outside silences.
    """

    def __init__(self, test: IperfTest, raw: _core.RawResult, lasted_s: float) -> None:
        known = json.loads(raw.json)
        end = float(known["simulated_s"])
        self.beside = any(flow["cc"] for flow in known["flows"][test.streams :])
        self.ends = np.linspace(end - lasted_s, end, test.samples(lasted_s) + 1)
        t, bytes_then, smoothed = _samples(raw, test.streams)
        delivered = np.interp(self.ends, t, bytes_then)
        self.rates = 8 * np.diff(delivered) / np.diff(self.ends)
        at_ends = smoothed[np.searchsorted(t, self.ends - 1e-9).clip(max=len(t) - 1)]
        self.trips = at_ends[1:]
        self.half = len(self.rates) // 2
        self.alive = np.ones(len(self.rates), dtype=bool)
        self.resent: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        if test.intervals is not None:
            idle = (np.diff(delivered) == 0) & (np.diff(at_ends) == 0)
            self.alive = ~_silent(idle, test.intervals.patience)
            self.resent = np.histogram(_resent_at(raw, test.streams), self.ends)[0]
        self.later = self.rates[self.half :][self.alive[self.half :]]


def _by_interval(measured: Intervals, ours: _Simulated) -> dict[str, float]:
    """Silences; and retransmissions and round trips outside them."""
    alive = measured.alive
    silent = len(ours.alive) * float((~alive).mean())
    found = {"silent": _counts((~ours.alive).sum(), silent, SILENT_FLOOR, "silent")}
    return found | _losses(measured, alive, ours) | _trips(measured, alive, ours)


def _swings(test: IperfTest, ours: _Simulated) -> dict[str, float]:
    """How much the rate swings in the second half of the transfer, outside silences."""
    if test.intervals is None or not test.has_each:
        return {}
    theirs, mine = test.later_bps, ours.later
    size = theirs.mean() * test.intervals.width_s / 8 if len(theirs) else 0.0
    together = math.ceil(SWING_BYTES / max(size, 1.0))
    if min(len(theirs), len(mine)) < _SWINGS * together:
        return {}
    return {"swing": _counts(_swing(mine, together), _swing(theirs, together), SWING_FLOOR, "swing")}


def _swing(rates: Floats, together: int) -> float:
    """The standard deviation of the rate over spans of several intervals, as a share of its mean."""
    spans = rates[: len(rates) // together * together].reshape(-1, together).mean(axis=1)
    return float(spans.std() / spans.mean()) if spans.mean() > 0 else 0.0


def _silent(idle: NDArray[np.bool_], patience: int) -> NDArray[np.bool_]:
    """Which intervals are in a silence: in a run of idle ones of this length or longer."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], idle.astype(np.int8), [0]])))
    found = np.zeros(len(idle), dtype=bool)
    for first, last in zip(edges[::2], edges[1::2], strict=True):
        found[first:last] = last - first >= patience
    return found


def _losses(measured: Intervals, alive: NDArray[np.bool_], ours: _Simulated) -> dict[str, float]:
    """Retransmissions of the first and the second half of the simulation, outside silences.

    All measured intervals after the first half count as the second, however many there are.
    """
    theirs, half = np.asarray(measured.resent), ours.half
    found = {}
    for part, name in ((slice(half), "resent_early"), (slice(half, None), "resent_late")):
        mine, other = ours.resent[part][ours.alive[part]], theirs[part][alive[part]]
        if not len(mine) or not len(other):
            continue
        found[name] = _counts(mine.sum(), other.mean() * len(mine), RESENT_FLOOR, name)
        if name == "resent_late":
            lossy = float((other > 0).mean()) * len(mine)
            found["lossy"] = _counts((mine > 0).sum(), lossy, LOSSY_FLOOR, "lossy")
    return found


def _counts(ours: float, theirs: float, floor: float, name: str) -> float:
    return _logs(ours + floor, theirs + floor, TOLERANCES[name])


def _trips(measured: Intervals, alive: NDArray[np.bool_], ours: _Simulated) -> dict[str, float]:
    """Smoothed round trips at the ends of the same intervals, outside silences."""
    mine = ours.trips[ours.alive]
    mine = mine[~np.isnan(mine)]
    seen = zip(measured.rtts_s[: len(ours.trips)], alive, strict=False)
    theirs = np.asarray([trip for trip, lives in seen if trip > 0 and lives])
    if not len(mine) or not len(theirs):
        return dict.fromkeys(_TRIPS, 0.0 if len(mine) else _NONE)
    pairs = zip(_TRIPS, _spread(mine), _spread(theirs), strict=True)
    return {name: _logs(one, other, TOLERANCES[name]) for name, one, other in pairs}


def _spread(trips: Floats) -> tuple[float, float, float]:
    low, high = np.percentile(trips, _ENDS)
    return float(low), float(trips.mean()), float(high)


def _samples(raw: _core.RawResult, flows: int) -> tuple[Floats, Floats, Floats]:
    """Instants; the bytes that the first flows have delivered by then; their mean smoothed round trip."""
    trace = raw.trace()
    of = np.asarray(trace["flow"], dtype=np.int64) < flows
    t, delivered, smoothed = (
        trace[name][of].astype(float).reshape(-1, flows) for name in ("t_s", "delivered_bytes", "srtt_s")
    )
    return t[:, 0], delivered.sum(axis=1), smoothed.mean(axis=1)


def _resent_at(raw: _core.RawResult, flows: int) -> Floats:
    """The times at which the first flows sent a segment again."""
    segments = raw.segments()
    resent = segments["event"] == raw.event_names.index("resent")
    ours = np.asarray(segments["flow"], dtype=np.int64) < flows
    return np.asarray(segments["t_s"][resent & ours], dtype=np.float64)


def _dropped_late(raw: _core.RawResult, middle_s: float) -> float:
    """The share of all packets lost that was lost after this instant."""
    trace = raw.link_trace()
    forward = trace["link"] == [name.endswith("/forward") for name in raw.link_names].index(True)
    dropped = trace["dropped_packets"][forward].astype(float)
    t = trace["t_s"][forward].astype(float)
    return 1 - float(np.interp(middle_s, t, dropped)) / dropped[-1] if dropped[-1] else 0.0


def _kernel(difference: float) -> float:
    """The logarithm of Student's density with `FREEDOM` degrees, 0 where nothing differs."""
    return -0.5 * (FREEDOM + 1) * math.log1p(difference**2 / FREEDOM)


def _logs(ours: float, theirs: float, tolerance: float) -> float:
    """The difference of two logarithms in tolerances, a large one if the simulated value is missing."""
    if not ours > 0:
        return _NONE
    return float(np.clip(math.log(ours / max(theirs, 1.0e-9)) / tolerance, -_NONE, _NONE))
