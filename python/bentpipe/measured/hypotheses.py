"""Hypotheses of packet loss on a link: the likelihood of packets in order, and the simulated loss model.

Losses are independent; or come in bursts that are counted in packets (E. N. Gilbert, Capacity of a
Burst-Noise Channel, Bell System Technical Journal 39, 1960; E. O. Elliott, Estimates of Error Rates for Codes
on Burst-Noise Channels, the same, 42, 1963); or in fades that last for a time, however many packets are sent.
A ping sees no difference between the last two, a transfer does: a burst of 20 packets is 4 s of pings, and
5 ms of 45 Mbit/s.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bentpipe.models import BitError, GilbertElliott, Loss, Outage, PacketError
from bentpipe.units import PACKET

Floats = NDArray[np.float64]
Values = Mapping[str, Floats]
LEAST, MOST = 1e-7, 0.5
"""Shares of packets lost that are considered: below, a transfer of ten gigabytes sees nothing; above, none
works."""
MOST_LOSSES = 1000
"""Losses of a file that are evaluated one by one; with that many a share is known to 3 %."""
_SHORT, _LONGEST, _AROUND = 0.5, 99.0, 5
"""A queue is short while this number of packets on either side wait for less than this share of the longest
wait, the percentile in the middle. A queue counted in packets is full of small probes at a shorter wait."""
_EARLY = 1e-4
"""The share of packets that a short queue may drop all the same: some queues drop before they are full."""
_NEAREST = 1e-3
_PIECES = 8
"""An outage loses everything. A fade that loses some of its packets is played as several outages in a row."""


@dataclass(frozen=True)
class Unknown:
    """An unknown number: it lies between two ends, in its logarithm evenly if `log`."""

    name: str
    low: float
    high: float
    log: bool = False

    def at(self, share: Floats) -> Floats:
        """The values that lie this far, 0 to 1, from the lower end to the upper."""
        if self.log:
            return np.asarray(self.low * (self.high / self.low) ** share)
        return np.asarray(self.low + (self.high - self.low) * share)


class Near(Unknown):
    """A number that is rather near its lower end: half of the weight is on a quarter of its logarithm."""

    def at(self, share: Floats) -> Floats:
        """The values that lie this far, 0 to 1, from the lower end to the upper."""
        return np.asarray(self.low * (self.high / self.low) ** share**2)


class Above(Unknown):
    """A number that is rather near its upper end: half of the weight is on the upper eighth."""

    def at(self, share: Floats) -> Floats:
        """The values that lie this far, 0 to 1, from the lower end to the upper."""
        return np.asarray(self.high - (self.high - self.low) * (1 - share) ** 3)


class Below(Unknown):
    """A number that is at most `high`: the distance below it is unknown, even its magnitude."""

    def at(self, share: Floats) -> Floats:
        """The values that lie this far, 0 to 1, from the lower end to the upper."""
        return np.asarray(self.high - (self.high - self.low) * _NEAREST**share)


@dataclass(frozen=True)
class Watched:
    """Packets in the order of sending.

    Attributes:
        lost: which of them were lost.
        sent_s: when each was sent.
        source: the file.
        rtt_s: the round trip of each, NaN of a lost one; None where the file has none.
    """

    lost: NDArray[np.bool_]
    sent_s: Floats
    source: Path
    rtt_s: Floats | None = None

    def bounds(self) -> list[Count]:
        """Bounds of the link's own losses, if flows of others filled its queue meanwhile.

        The link lost no more than all that was lost: a full queue drops, too. It lost what was lost while
        the queue was short. That is no more than this share of the packets of those moments, for a loss that
        lasts empties the queue and meets more such moments than its share; and no less than this share of
        all packets.
        """
        sent, lost = len(self.lost), int(self.lost.sum())
        lasted_s = max(float(self.sent_s[-1] - self.sent_s[0]), 1e-9) if sent > 1 else 1.0
        found = [Count(lost, sent, lasted_s, self.source, most=True, paced=self.rtt_s is not None)]
        short = self._short()
        if seen := int(short.sum()):
            own = int((self.lost & short).sum())
            found.append(Count(own, seen, lasted_s * seen / sent, self.source, most=True, paced=True))
            if own:
                found.append(Count(own, sent, lasted_s, self.source, least=True, paced=True))
        return found

    def _short(self) -> NDArray[np.bool_]:
        """Packets that met a short queue: those around them that came back waited for a short time."""
        if self.rtt_s is None or self.lost.all():
            return np.zeros(len(self.lost), dtype=bool)
        waited = self.rtt_s[~self.lost] - self.rtt_s[~self.lost].min()
        longest = float(np.percentile(waited, _LONGEST))
        came = np.cumsum(~self.lost)
        busy = np.concatenate([[0], np.cumsum(waited >= _SHORT * longest)])
        first = np.maximum(came - ~self.lost - _AROUND, 0)
        last = np.minimum(came + _AROUND, len(waited))
        return np.asarray((longest > 0) & (busy[last] == busy[first]))


@dataclass(frozen=True)
class Count:
    """Packets lost out of a total.

    Attributes:
        lost: of them were lost.
        sent: all of them.
        lasted_s: the time in which they were sent.
        source: the file.
        most: `lost` is an upper bound, as queues drop some too.
        least: `lost` is a lower bound.
        paced: the packets were sent at an even pace, whatever was lost.
    """

    lost: int
    sent: int
    lasted_s: float
    source: Path
    most: bool = False
    least: bool = False
    paced: bool = False


@dataclass(frozen=True)
class LossChain:
    """A chain of two states, its probabilities per packet, one for each link that is considered.

    Attributes:
        begins: from the good state to the bad one.
        ends: back.
        good: share of packets lost in the good state.
        bad: share lost in the bad one.
    """

    begins: Floats
    ends: Floats
    good: Floats
    bad: Floats

    @property
    def in_bad(self) -> Floats:
        """The share of packets that find the bad state."""
        return self.begins / (self.begins + self.ends)

    @property
    def share(self) -> Floats:
        """The share of packets lost."""
        return self.good + (self.bad - self.good) * self.in_bad

    @property
    def spread(self) -> Floats:
        """By how much more a number of losses scatters than if they were independent."""
        stays = np.clip(1 - self.begins - self.ends, 0.0, 1 - 1e-12)
        apart = (self.bad - self.good) ** 2 * self.in_bad * (1 - self.in_bad)
        return 1 + 2 * apart * stays / (1 - stays) / np.maximum(self.share * (1 - self.share), 1e-300)


_BESIDE = Unknown("beside", 1e-3, 0.1, log=True)
"""Losses beside those in bursts or fades, as a share of them: with more, losses would be independent."""
_INSIDE = Above("inside", 0.2, 1.0)
"""Of a burst that is counted in packets: most often a frame is lost whole, or the way is blocked."""


@dataclass(frozen=True)
class Hypothesis:
    """One way of losing packets.

    Attributes:
        name: "independent", "bursts", "fades", "per" and "ber" (both as the user gave them), or "none".
        words: its description, for display.
        axes: its parameters.
    """

    name: str
    words: str
    axes: tuple[Unknown, ...] = ()

    def chain(self, of: Values, apart_s: float) -> LossChain:
        """Its chain for packets that are sent so far apart."""
        if self.name == "bursts":
            return _chain(of, of["begins"], 1 / of["length"])
        if self.name == "fades":
            begins, ends = 1 / of["between_s"], 1 / of["length_s"]
            moved = -np.expm1(-(begins + ends) * apart_s) / (begins + ends)
            return _chain(of, begins * moved, ends * moved)
        share = of["per"] if self.name != "ber" else -np.expm1(8 * PACKET * np.log1p(-of["ber"]))
        none = np.zeros_like(share)
        return LossChain(none, none + 1, share, share)

    def models(self, of: Mapping[str, float], phase: float) -> list[Loss]:
        """The simulated losses; `phase`, 0 to 1, is how long ago the last fade was, in its periods."""
        match self.name:
            case "independent" | "per":
                return [PacketError(of["per"])]
            case "ber":
                return [BitError(of["ber"])]
            case "bursts" | "fades":
                chain = self.chain({name: np.array([value]) for name, value in of.items()}, 1.0)
                beside = float(chain.good[0])
                if self.name == "fades":
                    return [PacketError(beside), *_outages(of, phase)]
                return [GilbertElliott(of["begins"], 1 / of["length"], beside, of["inside"])]
        return []


def _chain(of: Values, begins: Floats, ends: Floats) -> LossChain:
    """A chain whose losses in the good state are a share of those in the bad one."""
    return LossChain(begins, ends, of["beside"] * of["inside"] * begins / (begins + ends), of["inside"])


INDEPENDENT = Hypothesis("independent", "independent", (Unknown("per", LEAST, MOST, log=True),))
BURSTS = Hypothesis(
    "bursts", "in bursts counted in packets",
    (Unknown("begins", LEAST, 0.1, log=True), Unknown("length", 2.0, 300.0, log=True), _INSIDE, _BESIDE),
)  # fmt: skip
FADES = Hypothesis(
    "fades", "in fades that last for a time",
    (Unknown("between_s", 1.0, 1e6, log=True), Unknown("length_s", 0.05, 10.0, log=True),
     Unknown("inside", 0.2, 1.0), _BESIDE),
)  # fmt: skip
NONE = Hypothesis("none", "none")
RIVALS = (INDEPENDENT, BURSTS, FADES)


def log_likelihood(
    one: Hypothesis, of: Values, watched: Sequence[Watched], counts: Sequence[Count]
) -> Floats:
    """The logarithm of the probability of the observations, for each set of parameters.

    Args:
        one: the hypothesis.
        of: its parameters, an array each.
        watched: packets whose losses are known.
        counts: used only if there are none of those.
    """
    size = len(next(iter(of.values()))) if of else 1
    found = np.zeros(size)
    if one not in RIVALS:
        return found
    for seen in watched:
        found = found + _in_order(one, of, seen)
    for count in counts if not watched else ():
        if count.paced or not (count.most and one is FADES):  # a transfer sends next to nothing in a fade
            found = found + _counted(one.chain(of, count.lasted_s / count.sent), count)
    return found


def _in_order(one: Hypothesis, of: Values, seen: Watched) -> Floats:
    """By the forward algorithm, a run of packets that came through at a time.

    L. R. Rabiner, A Tutorial on Hidden Markov Models, Proceedings of the IEEE 77, 1989, section III A.
    """
    places = np.flatnonzero(seen.lost)[:MOST_LOSSES]
    end = len(seen.lost) if len(places) < MOST_LOSSES else int(places[-1]) + 1
    apart = max(float(seen.sent_s[end - 1] - seen.sent_s[0]) / max(end - 1, 1), 1e-9)
    if one is INDEPENDENT:
        share = of["per"]
        return np.asarray(len(places) * np.log(share) + (end - len(places)) * np.log1p(-share))
    in_bad = one.chain(of, apart).in_bad
    good, bad, log = 1 - in_bad, in_bad, np.zeros(len(in_bad))
    before = -1
    for place in [*places, end]:
        first = max(before, 0)
        last = min(int(place), end - 1)
        wide = (seen.sent_s[last] - seen.sent_s[first]) / (last - first) if last > first else apart
        chain = one.chain(of, max(float(wide), 1e-9))
        good, bad, more = _passed(good, bad, chain, int(place) - before - 1)
        log = log + more
        if place < end:
            good, bad = good * chain.good, bad * chain.bad
            stays, leaves = good * (1 - chain.begins), good * chain.begins
            good, bad = stays + bad * chain.ends, leaves + bad * (1 - chain.ends)
        whole = np.maximum(good + bad, 1e-300)
        good, bad, log = good / whole, bad / whole, log + np.log(whole)
        before = int(place)
    return np.asarray(log)


def _passed(good: Floats, bad: Floats, chain: LossChain, count: int) -> tuple[Floats, Floats, Floats]:
    """After this number of delivered packets, by the eigenvalues of one step; the third is a logarithm."""
    if count == 0:
        return good, bad, np.zeros(len(good))
    stay, leave = (1 - chain.good) * (1 - chain.begins), (1 - chain.good) * chain.begins
    back, remain = (1 - chain.bad) * chain.ends, (1 - chain.bad) * (1 - chain.ends)
    apart = np.maximum(np.sqrt((stay - remain) ** 2 + 4 * leave * back), 1e-12)
    largest, least = (stay + remain + apart) / 2, (stay + remain - apart) / 2
    rest = (least / largest) ** count
    ones = ((stay - least) - rest * (stay - largest)) / apart, (1 - rest) * leave / apart
    others = (1 - rest) * back / apart, ((remain - least) - rest * (remain - largest)) / apart
    moved = [np.maximum(good * a + bad * b, 0.0) for a, b in zip(ones, others, strict=True)]
    return moved[0], moved[1], count * np.log(largest)


def _counted(chain: LossChain, count: Count) -> Floats:
    """As of that many fewer independent packets as bursts let the number scatter more."""
    from scipy.special import betainc, gammaln, xlog1py, xlogy

    share = np.clip(chain.share, 1e-300, 1 - 1e-12)
    lost, sent = min(count.lost, count.sent) / chain.spread, count.sent / chain.spread
    if count.most:
        at_most = betainc(np.maximum(sent - lost, 1e-9), lost + 1, 1 - share)
        return np.asarray(np.log(np.maximum(at_most, 1e-300)))
    if count.least:
        at_least = betainc(lost, np.maximum(sent - lost, 0) + 1, np.minimum(share + _EARLY, 1.0))
        return np.asarray(np.log(np.maximum(at_least, 1e-300)))
    ways = gammaln(sent + 1) - gammaln(lost + 1) - gammaln(sent - lost + 1)
    wide = np.log(chain.spread) if count.lost else 0.0
    return np.asarray(ways + xlogy(lost, share) + xlog1py(sent - lost, -share) - wide)


def _outages(of: Mapping[str, float], phase: float) -> list[Loss]:
    """Fades at equal distances: each of a few outages that together lose its share of packets."""
    every, length, inside = of["between_s"] + of["length_s"], of["length_s"], of["inside"]
    pieces = 1 if inside > 1 - 0.5 / _PIECES else _PIECES
    apart = length / pieces
    first = (1 - phase) * every
    return [
        Outage(every=_ns(every), length=_ns(max(inside * apart, 1e-9)), first=_ns(first + i * apart))
        for i in range(pieces)
    ]


def _ns(value_s: float) -> str:
    return f"{round(value_s * 1e9)} ns"
