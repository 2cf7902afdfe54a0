"""A flow over a link whose rate and delay change, beside ns-2.

    python python/tests/witness/ns2_moving.py [--jobs N]

prints docs/validation/ns2-moving.csv in two minutes. In both programs rate and delay change in steps, and a
packet does not overtake (`avoidReordering_` there). In ns-2 a packet has the rate and the delay of the
instant at which its transmission begins; here what is left of it has the new rate, and the delay is that at
the end.

* `rate`: 20 and 15 Mbit/s in turns of 15 s, RTT 60 ms;
* `delay`: 20 Mbit/s; one way 20 to 34 ms and back in 15 s, in steps of 100 ms;
* `path`: the same, with a jump of 12 ms every 15 s, and with it 20, 12 and 16 Mbit/s in turns.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import data_file

import bentpipe as bp
from bentpipe import ns2
from bentpipe.ns2.dumbbell import ENDLESS

PERIOD = 15.0
STEP = 0.1
DURATION = 120.0
STARTS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75)
"""Of the flow, s: each meets the changes at another place of its sawtooth."""
TOLERANCE = 0.02
Steps = list[list[str]]


@dataclass(frozen=True)
class Setup:
    """What changes, and the loss recovery."""

    name: str
    recovery: str

    def rate(self, duration: float) -> str | Steps:
        """As a scenario has it."""
        turns = {"rate": (20, 15), "path": (20, 12, 16)}.get(self.name)
        if turns is None:
            return "20 Mbit/s"
        number = math.ceil(duration / PERIOD)
        return [[f"{i * PERIOD:g} s", f"{turns[i % len(turns)]} Mbit/s"] for i in range(number)]

    def delay(self, duration: float) -> str | Steps:
        """One way, likewise."""
        if self.name == "rate":
            return "28 ms"
        steps = []
        for i in range(math.ceil(duration / STEP)):
            turn, into = divmod(i * STEP, PERIOD)
            away = abs(2.0 * into / PERIOD - 1.0)
            jump = 12.0 if self.name == "path" and int(turn) % 2 else 0.0
            steps.append([f"{i * STEP:.1f} s", f"{20.0 + 14.0 * away + jump:.6f} ms"])
        return steps

    def scenario(self, start: float, duration: float = DURATION) -> bp.Scenario:
        """For both programs."""
        edge = bp.Link(rate="1 Gbit/s", delay="1 ms", queue=ENDLESS)
        sat = bp.Link(
            rate=self.rate(duration),
            delay=self.delay(duration),
            queue=bp.DropTail("100 packets"),
            reverse={"queue": ENDLESS},
        )
        flow = bp.Flow(
            "reno",
            path=["access", "sat", "egress"],
            profile="paper",
            recovery=self.recovery,
            start=f"{start} s",
            initial_ssthresh=64,
        )
        links = {"access": edge, "sat": sat, "egress": edge}
        return bp.Scenario(links=links, flows=[flow], duration=f"{duration} s")


SETUPS = tuple(Setup(name, tcp) for name in ("rate", "delay", "path") for tcp in ("sack", "newreno"))


@dataclass(frozen=True)
class Run:
    """Bit/s, mean packets waiting."""

    goodput: float
    queue: float


def in_ns2(setup: Setup, start: float, duration: float = DURATION) -> Run:
    """One run of ns-2."""
    run = ns2.run(setup.scenario(start, duration), watch=["sat/forward"])
    link, (flow,) = run.links["sat/forward"], run.flows
    return Run(flow.delivered * 11680.0 / duration, link.queue_mean_packets)


def here(setup: Setup, start: float, duration: float = DURATION) -> Run:
    """One run of Bentpipe."""
    result = bp.run(setup.scenario(start, duration)).json
    link = next(x for x in result["links"] if (x["name"], x["direction"]) == ("sat", "forward"))
    return Run(result["flows"][0]["delivered_bytes"] * 8.0 / duration, link["queue_mean_packets"])


@dataclass(frozen=True)
class Found:
    """One quantity, its mean over starts and the standard error in both programs."""

    setup: Setup
    quantity: str
    theirs: tuple[float, float]
    ours: tuple[float, float]

    @property
    def difference(self) -> float:
        """Relative difference of the means."""
        return self.ours[0] / self.theirs[0] - 1.0

    @property
    def tolerated(self) -> float:
        """The tolerance, or three standard errors where that is more."""
        return max(TOLERANCE, 3.0 * math.hypot(self.theirs[1], self.ours[1]) / self.theirs[0])

    @property
    def agrees(self) -> bool:
        """Is the difference tolerated?"""
        return abs(self.difference) <= self.tolerated

    def row(self) -> list[str]:
        """One row of the data file."""
        means = [text for mean, error in (self.theirs, self.ours) for text in (f"{mean:.4g}", f"{error:.1g}")]
        verdict = "agrees" if self.agrees else "differs"
        difference, tolerated = data_file.percent(self.difference), f"{100.0 * self.tolerated:.0f}"
        name = f"{self.setup.name}, {self.setup.recovery}"
        return [name, self.quantity, *means, difference, tolerated, verdict]


COLUMNS = """
setup quantity ns2_mean ns2_standard_error bentpipe_mean bentpipe_standard_error
difference_percent tolerated_percent verdict
""".split()
"""Of the data file. `quantity` says the unit of the four columns behind it."""


def compare(setup: Setup, duration: float = DURATION, jobs: int = 2) -> Iterator[Found]:
    """Both programs over all starts."""
    with ThreadPoolExecutor(jobs) as pool:
        theirs = list(pool.map(partial(in_ns2, setup, duration=duration), STARTS))
        ours = list(pool.map(partial(here, setup, duration=duration), STARTS))

    def mean(runs: list[Run], column: str, scale: float) -> tuple[float, float]:
        values = [getattr(run, column) * scale for run in runs]
        return statistics.fmean(values), statistics.stdev(values) / math.sqrt(len(values))

    for name, column, scale in [("goodput, Mbit/s", "goodput", 1e-6), ("mean queue, packets", "queue", 1.0)]:
        yield Found(setup, name, mean(theirs, column, scale), mean(ours, column, scale))


def main(arguments: list[str] | None = None) -> int:
    """Prints the rows; 1 if a quantity differs."""
    parser = argparse.ArgumentParser(description="A link that moves, beside ns-2.")
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time")
    given = parser.parse_args(arguments)
    if not ns2.available():
        print(ns2.MISSING, file=sys.stderr)
        return 3
    print(data_file.line(COLUMNS))
    bad = 0
    for setup in SETUPS:
        for found in compare(setup, jobs=given.jobs):
            bad += not found.agrees
            print(data_file.line(found.row()), flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
