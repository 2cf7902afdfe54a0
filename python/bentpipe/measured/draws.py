"""Links consistent with measurements, drawn with their probability, each a complete link.

First come the ranges of the estimates, and the evidence of packets in order on losses, under each hypothesis
of the loss process. Then each transfer of a known algorithm is simulated over links drawn from there; links
on which the simulated transfer differs from the measured one lose their weight: approximate Bayesian
computation (M. A. Beaumont, W. Zhang, D. J. Balding, Approximate Bayesian Computation in Population Genetics,
Genetics 162, 2002).
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bentpipe.document.spans import Span, radical_inverse
from bentpipe.measured import hypotheses
from bentpipe.measured.fitting import Fitting
from bentpipe.measured.hypotheses import Below, Hypothesis, Near, Unknown
from bentpipe.measured.population import (
    Density,
    Points,
    PointSource,
    Population,
    effective,
    mixed,
    populate,
    systematic,
    uniform,
)  # fmt: skip
from bentpipe.measured.quantities import Estimate
from bentpipe.measured.transfers import SEEKERS, IperfTest, Pausing, Played
from bentpipe.models import Loss
from bentpipe.units import PACKET, number

Told = Callable[[str, int, int], None]
Floats = NDArray[np.float64]
DRAWS = 64
"""Links that are drawn: more than any algorithm has runs by default."""
PACKETS = 84_000_000
"""Work for an answer, in packets simulated. Many links need less: `_ENOUGH`."""
WEIGHING_S = 27.0
"""Time that this work takes, about, on two processors of 2024."""
_ROUNDS, _LEAST_ROUNDS = 8, 3
"""Rounds of the search, each of the same work; the first two are one. A small budget has fewer, and below the
least number smaller ones."""
_LINKS = (8, 320)
"""The least and the most links in a round."""
_ENOUGH = 60.0
"""This number of effective links needs no further round."""
_LOSS_POINTS = (6000, 2000, 2000)
_POWERS = (1.0, 0.5)
"""Links are first drawn from the likelihood of the probes to these powers: transfers may contradict them."""
_ALIVE = 1e-3
"""A hypothesis with less weight than this after the probes is not simulated."""
_OUT = 4.5
"""A link is ruled out if a transfer on it lies as far from the measured one as three tolerances of a normal
law: the kernel is below exp(-4.5) for each transfer."""
_UNEXPLAINED = 15.0
"""If on the best link it is below exp(-15), something else held the transfers back."""
_SCATTER = 1.0
"""By how much the logarithm of a loss may differ from what was sent again, in one of the first proposals."""
SAME = 0.02
"""Ends of a range that differ by less than this share are one value."""
_FAR = 10.0
"""Ends whose ratio is at least this are a range of magnitudes."""
_UNSURE = 0.1
"""A round trip whose range exceeds this share of it may include a queue: it is an upper bound only."""
_WIDER_RATE, _SOUGHT_RATE, _BOUND_RATE, _CAPTURED = 1.5, 3.0, 20.0, 1.1
"""By how much ranges of the rate are wider where a transfer narrows them again: above what one of these got
that filled the link, or did not, and above what another algorithm got, which may have filled it for a while;
and at both ends of a capture's range, which has more data."""
_FILLED = 0.8
"""One of these that got less than this share of what another transfer got did not fill the link."""
_WIDER_BUFFER, _BOUND_BUFFER, _LOWER_BUFFER = 1.5, 4.0, 2.0
"""The same of the buffer, above a lower bound further than below it: a queue was seen that long."""
_ANY_BUFFER = (0.1, 4.0)
"""In BDPs, where no file gives it."""
_QUEUES = (("drop-tail", 2 / 3), ("codel", 1 / 12), ("fq-codel", 1 / 12), ("pie", 1 / 12), ("red", 1 / 12))
"""Kinds of queues and how likely each is before anything was measured: most modems drop what does not fit.
A ping alone gives no information on them; without a transfer, the queue is the first."""
_LOADED = 1 / 8
"""How likely other traffic that pauses is before anything was measured, if the user names none. One that does
not pause looks like a slower link."""
_LOADS, _PERIODS_S = (0.1, 0.5), (1.0, 10.0)
"""Its share of the rate while it sends, and the lengths of its periods of sending and of its pauses."""
_UNITS = {"rate": "bit/s", "rtt": "s", "buffer": "bytes"}
WHAT = "weighing links by what was measured"


@dataclass(frozen=True)
class Draw:
    """One link that is consistent with the measurements.

    Attributes:
        rate_bps: its rate.
        rtt_s: its round-trip time without queues.
        buffer: of its queue as a scenario has it, None if nothing is known of it.
        losses: the loss model of the simulator.
        hypothesis: how it loses packets: "independent", "bursts", "fades", "per", "ber" or "none".
        loss: the share of packets lost.
        together: of bursts the mean packets in one, of fades the mean seconds; else None.
        queue: its kind.
        load: traffic of others; None for none.
    """

    rate_bps: float
    rtt_s: float
    buffer: str | None
    losses: tuple[Loss, ...]
    hypothesis: str
    loss: float
    together: float | None = None
    queue: str = _QUEUES[0][0]
    load: Pausing | None = None

    def values(self) -> dict[str, str]:
        """Rate and round trip as texts of a scenario."""
        return {"rate": f"{self.rate_bps:.6g} bit/s", "rtt": f"{self.rtt_s:.9g} s"}

    def to_dict(self) -> dict[str, Any]:
        """The attributes as JSON has them, without the loss model of the simulator."""
        kept = {name: value for name, value in vars(self).items() if name != "losses"}
        return kept | {"load": None if self.load is None else vars(self.load)}

    @property
    def buffer_bytes(self) -> float | None:
        """The buffer in bytes."""
        if self.buffer is None:
            return None
        bdp, second = self.rate_bps * self.rtt_s / 8, self.rate_bps / 8
        return number(self.buffer, {"packets": float(PACKET), "bdp": bdp, "bytes": 1.0, "s": second})


@dataclass(frozen=True)
class Weighed:
    """The effect of measured transfers on the weights of links.

    Attributes:
        tests: the transfers.
        links: how many links they were simulated on.
        ruled_out: share of the links that were possible before and lie three tolerances off, or further.
        effective: how many links of equal weight those that are left are worth.
        widened: by how much the tolerances had to be widened for that; None if no link fits at all.
    """

    tests: Sequence[IperfTest]
    links: int
    ruled_out: float
    effective: float
    widened: float | None


@dataclass(frozen=True)
class Possible:
    """The links that are consistent with the measurements.

    Attributes:
        draws: some of them, each as likely as the others; the first few are spread over all losses.
        hypotheses: probability of each loss hypothesis.
        weighed: the effect of the transfers; None without a transfer of a known algorithm.
        effort: amount of simulation for that, 1 for `PACKETS`.
    """

    draws: Sequence[Draw]
    hypotheses: Mapping[Hypothesis, float]
    weighed: Weighed | None
    effort: float = 1.0


@dataclass(frozen=True)
class Evidence:
    """All data from measurements and from the user.

    Attributes:
        estimates: by quantity, "rate_bps", "rtt_s" and "buffer_bytes".
        watched: packets in order.
        counts: of losses.
        tests: transfers of known algorithms.
        given: the user's values, which take precedence.
        beside: flows of others, (algorithm, how many), that ran while all of it was measured. Their queue
            is in the round trips, and it drops probes: the losses seen are bounds of the channel's.
    """

    estimates: Mapping[str, Estimate]
    watched: Sequence[hypotheses.Watched]
    counts: Sequence[hypotheses.Count]
    tests: Sequence[IperfTest]
    given: Mapping[str, Span]
    beside: Sequence[tuple[str, int]] = ()

    @property
    def in_order(self) -> Sequence[hypotheses.Watched]:
        """Packets in order that only the link can lose."""
        return () if self.beside else self.watched

    @property
    def counted(self) -> Sequence[hypotheses.Count]:
        """Numbers of losses; beside flows of others, no more than bounds."""
        if not self.beside:
            return self.counts
        bounds = [dataclasses.replace(one, most=True) for one in self.counts]
        return [*bounds, *(bound for one in self.watched for bound in one.bounds())]

    def rivals(self) -> list[Hypothesis]:
        """The hypotheses of losses that there are."""
        for name in ("per", "ber"):
            if name in self.given:
                return [Hypothesis(name, "as given", (_axis(self.given[name]),))]
        if self.watched or self.counts or self.tests:
            return list(hypotheses.RIVALS)
        return [hypotheses.NONE]

    def axes(self) -> list[tuple[Unknown, str]]:
        """Rate, round trip, and buffer if a file gives it, with the units of their texts."""
        found = []
        for name in ("rate", "rtt", "buffer"):
            if name in self.given:
                span = self.given[name]
                unit = "s" if span.kind == "time" else span.unit if span.kind == span.unit else _UNITS[name]
                found.append((_axis(span), unit))
            elif (axis := self._measured(name)) is not None:
                unknown = name == "buffer" and "buffer_bytes" not in self.estimates
                found.append((axis, "bdp" if unknown else _UNITS[name]))
        return found

    def _measured(self, name: str) -> Unknown | None:
        """The range of an estimate, wider where a transfer will narrow it again."""
        one = self.estimates.get({"rate": "rate_bps", "rtt": "rtt_s", "buffer": "buffer_bytes"}[name])
        if name == "buffer":
            return self._buffer(one)
        assert one is not None
        low, high = one.low, one.high
        if name == "rtt":
            least = one.value / 4
            if self.beside:
                return Below(name, least, one.value)
            if high - low > _UNSURE * high:
                return Below(name, max(low, least), high)
            return _between(name, low, high, one.value)
        if self.tests and one.weight > 2:
            low, high = low / _CAPTURED, high * _CAPTURED
        elif self.tests:
            whole = max(test.goodput_bps for test in self.tests)
            sought = max((test.goodput_bps for test in self.tests if test.cc in SEEKERS), default=0.0)
            seeks = sought >= _FILLED * whole > 0
            most = _BOUND_RATE if not seeks else _SOUGHT_RATE if one.bound else _WIDER_RATE
            most *= 1 + sum(count for _, count in self.beside)
            low, high = whole, max(high, most * one.value, most * whole)
            if (seeks or not one.bound) and not self.beside:  # they have a part of it that is not known
                return Near(name, low, high)
        return _between(name, low, high, one.value, log=bool(self.tests))

    def _buffer(self, one: Estimate | None) -> Unknown | None:
        if one is None:
            return Unknown("buffer", *_ANY_BUFFER, log=True) if self.tests else None
        low, high = max(one.low, one.value / 20, PACKET), max(one.high, PACKET)
        wider = 1.0 if not self.tests else _BOUND_BUFFER if one.bound else _WIDER_BUFFER
        if self.tests and one.bound and {"rate_bps", "rtt_s"} <= set(self.estimates):
            bdp = self.estimates["rate_bps"].high * self.estimates["rtt_s"].value / 8
            high = max(high, bdp)
        return _between("buffer", low / min(wider, _LOWER_BUFFER), high * wider, one.value, log=True)


class DrawSpaces:
    """The spaces of losses and of whole links, and the draws from them.

    `alone` draws without transfers, `weighed` with them.

    A point of the latter has columns for `axes`, for the receive window, for the kind of the queue, three for
    the load of others, and those of the losses.
    """

    def __init__(self, known: Evidence, random: np.random.Generator) -> None:
        self.known = known
        self.random = random
        self.rivals = known.rivals()
        self.axes = known.axes()
        self.window = len(self.axes)
        self.ahead = self.window + 5

    def losses(self) -> Population:
        """The evidence of packets in order on losses."""
        active = [len(one.axes) for one in self.rivals]
        first = uniform(len(self.rivals), max(active), self.random)
        return populate(first, first.log_density, self._likelihood, active, _LOSS_POINTS, self.random)

    def alone(self, losses: Population, weighed: Weighed | None = None) -> Possible:
        """Draws from the losses, and from the ranges of all else."""
        weights = losses.weights()
        shares = _by_kind(losses.points.kind, weights, len(self.rivals))
        return self._drawn(self._whole(losses, weights, DRAWS), shares, weighed)

    def weighed(self, losses: Population, effort: float, tell: Told, until: float | None) -> Possible:
        """Draws from there that the transfers leave.

        After `until`, by `time.monotonic`, no further round begins; the effort that was made is in the
        answer, and gives the same again.
        """
        rounds = max(round(_ROUNDS * min(effort, 1.0)), _LEAST_ROUNDS)
        unit = PACKETS * min(1 / _ROUNDS, effort / _LEAST_ROUNDS)
        (rtt,) = (axis for axis, _ in self.axes if axis.name == "rtt")
        beside = sum(count for _, count in self.known.beside)
        fit = Fitting(self.known.tests, beside, float(rtt.at(np.array(0.5))), unit * _ROUNDS)
        first, prior = self._from(losses)
        done = made = 0

        def fitted(points: Points) -> Floats:
            nonlocal done
            left = round((rounds - made) * unit / fit.each)
            links = [self._played(points.pick(np.array([i]))) for i in range(len(points))]
            found = fit(links, lambda more: tell(WHAT, done + more, done + len(points) + left))
            done += len(points)
            return found

        def sizes() -> Iterator[int]:
            nonlocal made, effort
            while made < rounds:
                # No effort has fewer rounds than the least, so an answer of fewer could not be repeated.
                if made >= _LEAST_ROUNDS and until is not None and time.monotonic() >= until:
                    effort = made * unit / PACKETS
                    return
                units = 1 if made else 2
                made += units
                yield units * min(max(round(unit / fit.each), _LINKS[0]), _LINKS[1])

        active = [self.ahead + len(one.axes) for one in self.rivals]
        found = populate(first, prior, fitted, active, sizes(), self.random, _ENOUGH, self.ahead)
        tell(WHAT, done, done)
        tests = len(self.known.tests)
        widened = found.widening() if found.log_fit.max() > -_UNEXPLAINED * tests else None
        weights = found.weights(widened or 1.0)
        out = _ruled_out(found, found.drawn[0][1], tests)
        weighed = Weighed(self.known.tests, len(weights), out, effective(weights), widened)
        if widened is None:
            return dataclasses.replace(self.alone(losses, weighed), effort=effort)
        picked = found.points.pick(systematic(weights, DRAWS, self.random))
        shares = _by_kind(found.points.kind, weights, len(self.rivals))
        return dataclasses.replace(self._drawn(picked, shares, weighed), effort=effort)

    def _likelihood(self, points: Points) -> Floats:
        """The evidence of packets in order; the columns of the losses are the last ones."""
        found = np.zeros(len(points))
        for kind, one in enumerate(self.rivals):
            of = points.kind == kind
            if of.any():
                values = _parameters(one, points.at[of])
                found[of] = hypotheses.log_likelihood(one, values, self.known.in_order, self.known.counted)
        return found

    def _prior(self, points: Points) -> Floats:
        behind = Points(points.kind, points.at[:, self.ahead :])
        return np.asarray(self._likelihood(behind) - math.log(len(self.rivals)))

    def _whole(self, losses: Population, weights: Floats, count: int) -> Points:
        """Points of whole links: losses by weight, all else uniform."""
        found = losses.points.pick(self.random.permutation(systematic(weights, count, self.random)))
        return Points(found.kind, np.hstack([self.random.random((count, self.ahead)), found.at]))

    def _from(self, losses: Population) -> tuple[PointSource, Density]:
        """The first proposal, and the prior.

        One part comes from the evidence of packets in order, one part from a flatter law, and one part lies
        around the share of segments that were sent again: transfers lose no less than the link does.
        """
        kinds = losses.points.kind
        alive = _by_kind(kinds, losses.weights(), len(self.rivals)) > _ALIVE
        sources = [self._powered(losses, alive, power) for power in _POWERS]
        shares = [share for test in self.known.tests if (share := test.sent_again) is not None]
        if shares:
            sources.append(self._powered(losses, alive, _POWERS[-1], partial(self._near, min(shares))))
        return mixed(sources), self._prior

    def _near(self, share: float, points: Points) -> Floats:
        """Log density of losses, whose columns are the last ones, around a share of the packets."""
        found = np.zeros(len(points))
        for kind, one in enumerate(self.rivals):
            of = points.kind == kind
            if of.any() and one.axes:
                chain = one.chain(_parameters(one, points.at[of]), 1.0)
                found[of] = -0.5 * (np.log(chain.share / share) / _SCATTER) ** 2
        return found

    def _powered(
        self,
        losses: Population,
        alive: NDArray[np.bool_],
        power: float,
        more: Density = lambda points: np.zeros(len(points)),
    ) -> PointSource:
        """Links by the likelihood of their losses to that power, and by `more`, a function of the losses.

        Each living hypothesis has its share.
        """
        flat = losses.log_ratio() + power * losses.log_fit + more(losses.points)
        log_evidence = float(np.logaddexp.reduce(flat) - math.log(len(flat)))
        weights = np.exp(flat - log_evidence) / len(flat)
        shares = _by_kind(losses.points.kind, weights, len(self.rivals))
        chosen = np.where(alive, shares + 1 / alive.sum(), 0.0)
        factor = np.where(alive, chosen / chosen.sum() / np.maximum(shares, 1e-300), 0.0)
        known = math.log(len(self.rivals))

        def log_density(points: Points) -> Floats:
            behind = Points(points.kind, points.at[:, self.ahead :])
            flatter = power * (self._prior(points) + known) + more(behind) - known - log_evidence
            with np.errstate(divide="ignore"):
                return np.asarray(flatter + np.log(factor[points.kind]))

        again = weights * factor[losses.points.kind]
        return PointSource(partial(self._whole, losses, again / again.sum()), log_density)

    def _played(self, point: Points) -> Played:
        link = self._draw(point)
        window, seed = float(point.at[0, self.window]), int(self.random.integers(1, 2**31))
        return Played(
            link.values()["rate"],
            link.rtt_s,
            link.buffer or "1 bdp",
            link.losses,
            window,
            seed,
            self.known.beside,
            link.queue,
            None if link.load is None else link.load.flow("link", link.rate_bps),
        )

    def _draw(self, point: Points) -> Draw:
        """A point as a link."""
        one = self.rivals[int(point.kind[0])]
        arrays = _parameters(one, point.at[:, self.ahead :])
        of = {name: float(values[0]) for name, values in arrays.items()}
        link = {
            axis.name: (float(axis.at(at)), unit)
            for (axis, unit), at in zip(self.axes, point.at[0], strict=False)
        }
        losses = tuple(one.models(of, float(self.random.random())))
        share = float(one.chain(arrays, 1.0).share[0]) if of else 0.0
        buffer = _room(*link["buffer"]) if "buffer" in link else None
        together = of.get("length", of.get("length_s"))
        queue = _queue(float(point.at[0, self.window + 1])) if self.known.tests else _QUEUES[0][0]
        load = self._load(*map(float, point.at[0, self.window + 2 : self.ahead]))
        rate = link["rate"][0]
        if load is not None and "rate" not in self.known.given:
            rate /= 1 - load.mean  # what was measured is the rest
        return Draw(rate, link["rtt"][0], buffer, losses, one.name, share, together, queue, load)

    def _load(self, share: float, on: float, off: float) -> Pausing | None:
        """The load of others at this place of its columns; only a transfer can see it."""
        if not self.known.tests or self.known.beside or share >= _LOADED:
            return None
        low, high = _LOADS
        first, last = _PERIODS_S
        lengths = (first * (last / first) ** at for at in (on, off))
        return Pausing(low + (high - low) * share / _LOADED, *lengths)

    def _drawn(self, points: Points, shares: Floats, weighed: Weighed | None) -> Possible:
        """The links of these points, so ordered that the first few are spread over all losses."""
        every = [self._draw(points.pick(np.array([i]))) for i in range(len(points))]
        every.sort(key=lambda one: (one.loss, one.rate_bps))
        order = sorted(range(len(every)), key=lambda i: radical_inverse(i, 2))
        order = [*order[1:], *order[:1]]  # a single run is over a link in the middle
        weights = dict(zip(self.rivals, map(float, shares), strict=True))
        return Possible([every[i] for i in order], weights, weighed)


def _parameters(one: Hypothesis, at: Floats) -> dict[str, Floats]:
    return {axis.name: axis.at(at[:, i]) for i, axis in enumerate(one.axes)}


def _by_kind(kind: NDArray[np.int64], weights: Floats, kinds: int) -> Floats:
    """The weight of each hypothesis."""
    return np.bincount(kind, weights, kinds).astype(float)


def _ruled_out(found: Population, first: int, tests: int) -> float:
    """The share of the previously possible links that does not fit, by the first round."""
    of = found.points.pick(np.arange(first))
    ratio = found.log_prior[:first] - found.drawn[0][0].log_density(of)
    before = np.exp(ratio - ratio.max())
    return float(before[found.log_fit[:first] < -_OUT * tests].sum() / before.sum())


def _axis(given: Span) -> Unknown:
    """A range of the user's in bits per second, seconds, bytes, packets or BDPs."""
    far = given.low > 0 and given.high >= _FAR * given.low
    return Unknown(given.name, given.low * given.factor, given.high * given.factor, log=far)


def _between(name: str, low: float, high: float, value: float, *, log: bool = False) -> Unknown:
    """A range, or its value if that is as good as one."""
    if high - low <= SAME * high:
        return Unknown(name, value, value)
    return Unknown(name, low, high, log=log or (low > 0 and high >= _FAR * low))


def _queue(share: float) -> str:
    """The kind of queue at this share, 0 to 1, of all of `_QUEUES` by their weights."""
    last = np.cumsum([weight for _, weight in _QUEUES])
    return _QUEUES[min(int(np.searchsorted(last, share, side="right")), len(_QUEUES) - 1)][0]


def _room(value: float, unit: str) -> str:
    return f"{value:.6g} {unit}" if unit in ("bdp", "s") else f"{max(round(value), 1)} {unit}"
