"""Many flows on one queue beside ns-2: drop-tail and RED, drops and marks, equal and mixed RTTs.

    python python/tests/witness/ns2_queues.py [--jobs N]

prints docs/validation/ns2-queues.csv in two or three minutes.

* `red`: eight SACK flows, 15 Mbit/s, RTT 100 ms, RED with the parameters of the spectrum paper;
* `mixed`: the same link with twelve flows of RTTs from 100 ms to 540 ms, and drop-tail or RED of that size.
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

LIMIT = 451
"""Packets of 1040 bytes: 2.5 bandwidth-delay products of 100 ms."""
SEEDS = 8
DURATION = 500.0
TOLERANCE = 0.10
SHARES = [i / 11 for i in range(12)]
"""Private delays of the mixed flows, as shares of 220 ms."""


@dataclass(frozen=True)
class Setup:
    """Flows and the queue before them."""

    name: str
    mixed: bool
    red: bool
    ecn: bool

    def scenario(self, seed: int, duration: float = DURATION) -> bp.Scenario:
        """For both programs."""
        access = bp.Link(rate="1 Gbit/s", delay="1 ms", queue=ENDLESS)
        room = f"{LIMIT} packets"
        queue = (
            bp.Red(room, min=0.15, max=0.5, weight=0.002, max_p=0.1, mean_packet="1040 bytes", ecn=self.ecn)
            if self.red
            else bp.DropTail(room)
        )
        sat = bp.Link(rate="15 Mbit/s", delay="48 ms", queue=queue, reverse={"queue": ENDLESS})

        def flow(name: str, count: int = 1, extra_ms: float = 0.0) -> bp.Flow:
            return bp.Flow(
                "reno",
                name=name,
                path=["access", "sat", "egress"],
                profile="paper",
                count=count,
                extra_delay=f"{extra_ms:.6f} ms",
                start_jitter="1 s",
                mss="1000 bytes",
                initial_ssthresh=16,
                receive_window="128 segments",
                granularity="100 ms",
                ecn=self.ecn,
            )

        flows = [flow(f"f{i}", 1, 220.0 * s) for i, s in enumerate(SHARES)] if self.mixed else [flow("f", 8)]
        links = {"access": access, "sat": sat, "egress": access}
        return bp.Scenario(links=links, flows=flows, duration=f"{duration} s", seed=seed)


SETUPS = (
    Setup("red, drops", mixed=False, red=True, ecn=False),
    Setup("red, ECN", mixed=False, red=True, ecn=True),
    Setup("mixed, drop-tail", mixed=True, red=False, ecn=False),
    Setup("mixed, red, drops", mixed=True, red=True, ecn=False),
    Setup("mixed, red, ECN", mixed=True, red=True, ecn=True),
)


@dataclass(frozen=True)
class Run:
    """Shares of packets dropped and marked, mean packets waiting, bit/s of all flows and of the last."""

    dropped: float
    marked: float
    queue: float
    goodput: float
    farthest: float


def in_ns2(setup: Setup, seed: int, duration: float = DURATION) -> Run:
    """One run of ns-2."""
    run = ns2.run(setup.scenario(seed, duration), watch=["sat/forward"])
    link = run.links["sat/forward"]
    goodputs = [flow.delivered * 8000.0 / duration for flow in run.flows]
    return Run(
        link.dropped / link.arrived,
        link.marked / link.arrived,
        link.queue_mean_packets,
        sum(goodputs),
        goodputs[-1],
    )


def here(setup: Setup, seed: int, duration: float = DURATION) -> Run:
    """One run of Bentpipe."""
    result = bp.run(setup.scenario(seed, duration)).json
    link = next(x for x in result["links"] if (x["name"], x["direction"]) == ("sat", "forward"))
    arrived = sum(flow["sent_packets"] for flow in result["flows"])
    goodputs = [flow["delivered_bytes"] * 8.0 / duration for flow in result["flows"]]
    return Run(
        link["dropped_queue"] / arrived,
        link["marked"] / arrived,
        link["queue_mean_packets"],
        sum(goodputs),
        goodputs[-1],
    )


@dataclass(frozen=True)
class Found:
    """One quantity, mean and standard error over seeds in both programs."""

    setup: str
    quantity: str
    theirs: tuple[float, float]
    ours: tuple[float, float]

    @property
    def difference(self) -> float:
        """Relative difference of the means."""
        return self.ours[0] / self.theirs[0] - 1.0

    @property
    def error(self) -> float:
        """Its standard error."""
        return math.hypot(self.theirs[1], self.ours[1]) / self.theirs[0]

    @property
    def tolerated(self) -> float:
        """The tolerance, or three standard errors where that is more."""
        return max(TOLERANCE, 3.0 * self.error)

    @property
    def agrees(self) -> bool:
        """Is the difference tolerated?"""
        return abs(self.difference) <= self.tolerated

    def row(self) -> list[str]:
        """One row of the data file."""
        means = [text for mean, error in (self.theirs, self.ours) for text in (f"{mean:.4g}", f"{error:.1g}")]
        return [
            self.setup,
            self.quantity,
            *means,
            data_file.percent(self.difference),
            f"{100.0 * self.tolerated:.0f}",
            "agrees" if self.agrees else "differs",
        ]


COLUMNS = """
setup quantity ns2_mean ns2_standard_error bentpipe_mean bentpipe_standard_error
difference_percent tolerated_percent verdict
""".split()
"""Of the data file. `quantity` says the unit of the four columns behind it."""


def compare(setup: Setup, seeds: range, duration: float = DURATION, jobs: int = 2) -> Iterator[Found]:
    """Both programs over `seeds`."""
    with ThreadPoolExecutor(jobs) as pool:
        theirs = list(pool.map(partial(in_ns2, setup, duration=duration), seeds))
        ours = list(pool.map(partial(here, setup, duration=duration), seeds))

    def found(name: str, column: str, scale: float) -> Found:
        def mean(runs: list[Run]) -> tuple[float, float]:
            values = [getattr(run, column) * scale for run in runs]
            return statistics.fmean(values), statistics.stdev(values) / math.sqrt(len(values))

        return Found(setup.name, name, mean(theirs), mean(ours))

    yield found("marked per 1000", "marked", 1e3) if setup.ecn else found("dropped per 1000", "dropped", 1e3)
    yield found("mean queue, packets", "queue", 1.0)
    yield found("goodput, Mbit/s", "goodput", 1e-6)
    if setup.mixed:
        yield found("goodput at 540 ms, Mbit/s", "farthest", 1e-6)


def main(arguments: list[str] | None = None) -> int:
    """Prints the rows; 1 if a quantity differs."""
    parser = argparse.ArgumentParser(description="Many flows on one queue beside ns-2.")
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time")
    given = parser.parse_args(arguments)
    if not ns2.available():
        print(ns2.MISSING, file=sys.stderr)
        return 3
    print(data_file.line(COLUMNS))
    bad = 0
    for setup in SETUPS:
        for found in compare(setup, range(1, SEEDS + 1), jobs=given.jobs):
            bad += not found.agrees
            print(data_file.line(found.row()), flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
