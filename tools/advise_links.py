"""The 180 links of the truth set of `bentpipe advise`: drawn by a fixed seed, none chosen by hand."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

import bentpipe as bp
from bentpipe import timeline
from bentpipe.advice.question import Question
from bentpipe.document.spans import radical_inverse
from bentpipe.units import seconds

SEED = 24
"""Of all that is drawn here."""
SETS = (30, 30, 30, 30, 30, 30)
"""Links of each set, in order. A set has as many of `TIME_LINES` as any other."""
COUNT = sum(SETS)
OPEN = 150
"""The number of links that may be examined during work on `advise`. The others, the last set, are sealed."""
TRUTH_SEED = 100_000
"""Seeds of the truth begin here: far from those of the answers."""
TIME_LINES = {"leo": 0.032, "aircraft": 0.042, "meo": 0.13, "geo-rain": 0.5, "geo-rain-ku": 0.51}
"""Shipped scenarios with a time line, and the round trip by which their buffers are drawn, seconds."""
HAS_RATE = {"geo-rain": 10.861608e6, "geo-rain-ku": 10.861608e6}
"""Those whose time line has rate and losses, and none are drawn: the rate under a clear sky, bit/s."""
MOVING = 3
"""Links with a time line in each set."""
RATE_BPS = (0.5e6, 25e6)
RTT_S = (0.02, 0.65)
BUFFER_BDP = (0.2, 4.0)
PER = (1e-6, 2e-2)
BURST = (2.0, 30.0)
"""Mean length of a burst of losses, packets."""
BURST_SHARE = (1e-5, 1e-2)
"""Mean share of packets lost in bursts."""
LEAST_BUFFER = 4
"""Packets that every buffer holds: a fifth of 1.25 kB would be none."""
QUEUES = ("codel", "fq-codel", "pie", "red")
DROP_TAIL = 0.7
"""Share of links with a drop-tail queue; the others have one of `QUEUES`, each as often."""
SINGLE = 0.75
"""Share of links with one flow of the algorithm; the others have two to five."""
PERIOD_S = (1.0, 10.0)
"""Mean length of a pause, and of a period of sending, of unresponsive traffic that pauses."""
_PACKET_BITS = 8 * 1500


@dataclass(frozen=True)
class DrawnLink:
    """One link of the set, and its flows.

    Attributes:
        number: 0 to 179.
        rate_bps: of the link; of a time line that has it, under a clear sky.
        rtt_s: without queues; of a time line, about.
        buffer_bdp: room of the queue, in bandwidth-delay products.
        queue: its kind.
        per: packet error rate of independent losses, 0 for none.
        burst: mean length of bursts of losses and the share lost in them; None for none.
        flows: of the algorithm at once.
        competing: flows beside them all the time, (algorithm, how many).
        load: unresponsive traffic: share of the rate while it sends, seconds on, seconds off (0: always on).
        scenario: the shipped scenario whose time line it has, or "".
    """

    number: int
    rate_bps: float
    rtt_s: float
    buffer_bdp: float
    queue: str
    per: float
    burst: tuple[float, float] | None
    flows: int
    competing: tuple[tuple[str, int], ...]
    load: tuple[float, float, float] | None
    scenario: str

    @property
    def sealed(self) -> bool:
        """Whether it is kept for the end."""
        return self.number >= OPEN

    @property
    def buffer_packets(self) -> int:
        """Room of the queue, packets of 1500 bytes."""
        return max(LEAST_BUFFER, round(self.buffer_bdp * self.rate_bps * self.rtt_s / _PACKET_BITS))

    def link(self) -> bp.Scenario:
        """The link and its unresponsive traffic, as `advise` takes it."""
        delay = f"{round(self.rtt_s / 2 * 1e9)} ns"
        plain = bp.Scenario(links={"link": bp.Link(delay=delay)})
        base = bp.Scenario.load(self.scenario) if self.scenario else plain
        ((name, link),) = base.links.items()
        if self.scenario not in HAS_RATE:
            link.rate = f"{self.rate_bps:.0f} bit/s"
        link.queue = {"kind": self.queue, "limit": f"{self.buffer_packets} packets"}
        link.loss = self._loss()
        return dataclasses.replace(base, flows=[*base.flows, *self._unresponsive(name)])

    def question(self, n: int = 0) -> Question:
        """The question, with the first seed of the truth; `n` selects the window of a time line."""
        base = self.link()
        if self.scenario:
            (link,) = base.links.values()
            link.timeline = {"file": _file(link.timeline), "offset": f"{self.offset_s(n):.9g} s"}
        return Question(
            link=base, flows=self.flows, competing=self.competing, seed=TRUTH_SEED, name=f"link {self.number}"
        )

    @property
    def run_s(self) -> float:
        """Simulated time of a run: 100 round trips, from 60 to 90 s, an even number of seconds."""
        return float(min(max(60, 2 * math.ceil(50 * self.rtt_s)), 90))

    def offset_s(self, n: int) -> float:
        """The start of run `n` in the time line: windows lie evenly in it after any number of runs.

        They are points of J. G. van der Corput's sequence (1935) of base 2.
        """
        if not self.scenario:
            return 0.0
        first, last = _played(self.scenario)
        return round(first + radical_inverse(n + 1, 2) * (last - self.run_s - first), 3)

    def words(self) -> str:
        """The link in words."""
        parts = [f"{self.scenario}'s time line"] if self.scenario else []
        parts += [f"{self.rate_bps / 1e6:.3g} Mbit/s, {1e3 * self.rtt_s:.3g} ms"]
        parts += [f"{self.queue} of {self.buffer_bdp:.2g} BDP ({self.buffer_packets} packets)"]
        parts += [f"PER {self.per:.1e}"] if self.per else []
        parts += [f"{self.burst[1]:.1e} lost in bursts of {self.burst[0]:.2g}"] if self.burst else []
        parts += [f"{self.flows} flows"] if self.flows > 1 else []
        parts += [f"beside {count} {cc}" for cc, count in self.competing]
        if self.load:
            share, on, off = self.load
            pauses = f", {on:.2g} s on, {off:.2g} s off" if off else ""
            parts += [f"beside a constant rate of {100 * share:.0f} %{pauses}"]
        return ", ".join(parts)

    def _loss(self) -> list[bp.PacketError | bp.GilbertElliott] | None:
        if self.per:
            return [bp.PacketError(self.per)]
        if self.burst is None:
            return None
        length, share = self.burst
        return [bp.GilbertElliott(p=share / (1 - share) / length, r=1 / length)]

    def _unresponsive(self, link: str) -> list[bp.Flow]:
        if self.load is None:
            return []
        share, on, off = self.load
        rate = f"{share * self.rate_bps:.0f} bit/s"
        traffic = bp.Cbr(rate, on=f"{on:.3g} s", off=f"{off:.3g} s") if off else bp.Cbr(rate)
        return [bp.Flow(path=[link], name="load", traffic=traffic, start_jitter=f"{max(on + off, 1):.3g} s")]


def draw() -> list[DrawnLink]:
    """The same 180 links on every machine."""
    names = _moving()
    return [_draw(number, names.get(number, "")) for number in range(COUNT)]


def chosen(numbers: Sequence[int] | None, *, sealed: bool) -> list[DrawnLink]:
    """The links that may be judged: those of these numbers, or all; without the seal broken, open ones.

    Raises:
        SystemExit: a sealed one is asked for by its number, and the seal is not to be broken.
    """
    known = draw()
    if numbers is None:
        return [one for one in known if sealed or not one.sealed]
    shut = [n for n in numbers if known[n].sealed]
    if shut and not sealed:
        raise SystemExit(
            f"link {shut[0]} is sealed until the end: links 0 to {OPEN - 1} are open; or --sealed"
        )
    return [known[n] for n in numbers]


def _moving() -> dict[int, str]:
    """The time lines of links: the first two sets have each file, and one again; each later set has three."""
    first = SETS[0] + SETS[1]
    rng = np.random.default_rng([SEED, first])
    names = [str(name) for name in rng.permutation(list(TIME_LINES))]
    names += [str(rng.choice(names))]
    places = [start + rng.choice(SETS[0], MOVING, replace=False) for start in (0, SETS[0])]
    found = dict(zip(np.concatenate(places).tolist(), rng.permutation(names).tolist(), strict=True))
    for start, size in zip(np.cumsum(SETS)[1:-1].tolist(), SETS[2:], strict=True):
        rng = np.random.default_rng([SEED, start + size])
        places = (start + rng.choice(size, MOVING, replace=False)).tolist()
        found |= dict(zip(places, rng.permutation(list(TIME_LINES))[:MOVING].tolist(), strict=True))
    return found


def _draw(number: int, scenario: str) -> DrawnLink:
    rng = np.random.default_rng([SEED, number])
    rate, rtt, buffer = _log(rng, RATE_BPS), _log(rng, RTT_S), _log(rng, BUFFER_BDP)
    queue = "drop-tail" if rng.random() < DROP_TAIL else str(rng.choice(QUEUES))
    loss, per, burst = int(rng.integers(3)), _log(rng, PER), (_log(rng, BURST), _log(rng, BURST_SHARE))
    loss = 0 if scenario in HAS_RATE else loss
    flows = 1 if rng.random() < SINGLE else int(rng.integers(2, 6))
    cross, mix = rng.random(), rng.choice(["cubic", "reno"], int(rng.integers(1, 4)))
    load, pauses = round(float(rng.uniform(0.1, 0.5)), 2), rng.random() < 0.5
    on, off = _log(rng, PERIOD_S), _log(rng, PERIOD_S)
    return DrawnLink(
        number=number, rate_bps=HAS_RATE.get(scenario, rate), rtt_s=TIME_LINES.get(scenario, rtt),
        buffer_bdp=buffer, queue=queue, per=per if loss == 1 else 0.0, burst=burst if loss == 2 else None,
        flows=flows, competing=tuple(sorted(Counter(map(str, mix)).items())) if 0.5 <= cross < 0.75 else (),
        load=(load, on if pauses else 0.0, off if pauses else 0.0) if cross >= 0.75 else None,
        scenario=scenario,
    )  # fmt: skip


def _log(rng: np.random.Generator, ends: tuple[float, float]) -> float:
    """A value between two ends, all magnitudes alike, with three digits."""
    return float(f"{math.exp(rng.uniform(math.log(ends[0]), math.log(ends[1]))):.3g}")


@cache
def _played(scenario: str) -> tuple[float, float]:
    """From when to when its time line is played, seconds of the file."""
    (link,) = bp.Scenario.load(scenario).links.values()
    given = link.timeline if isinstance(link.timeline, dict) else {}
    first = seconds(given["offset"], "offset") if "offset" in given else 0.0
    return first, float(timeline.read(_file(link.timeline))["t_s"].to_numpy().max())


def _file(given: object) -> str:
    """The file of a time line."""
    return str(given["file"] if isinstance(given, dict) else given)
