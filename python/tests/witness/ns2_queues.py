"""Many flows on one queue beside ns-2: drop-tail and RED, drops and marks, equal and mixed RTTs.

    python python/tests/witness/ns2_queues.py [--jobs N]

prints docs/validation/ns2-queues.csv in two or three minutes.

* `red`: eight SACK flows, 15 Mbit/s, RTT 100 ms, RED with the parameters of the spectrum paper;
* `mixed`: the same link with twelve flows of RTTs from 100 ms to 540 ms, and drop-tail or RED of that size.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from ns2_means import Found, compared, main, sat

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


def in_ns2(run: ns2.Run, duration: float) -> Run:
    """What ns-2 found."""
    link = run.links["sat/forward"]
    goodputs = [flow.delivered * 8000.0 / duration for flow in run.flows]
    dropped, marked = link.dropped / link.arrived, link.marked / link.arrived
    return Run(dropped, marked, link.queue_mean_packets, sum(goodputs), goodputs[-1])


def here(result: dict[str, Any], duration: float) -> Run:
    """What Bentpipe found."""
    link, arrived = sat(result), sum(flow["sent_packets"] for flow in result["flows"])
    goodputs = [flow["delivered_bytes"] * 8.0 / duration for flow in result["flows"]]
    dropped, marked = link["dropped_queue"] / arrived, link["marked"] / arrived
    return Run(dropped, marked, link["queue_mean_packets"], sum(goodputs), goodputs[-1])


def compare(setup: Setup, seeds: range, duration: float = DURATION, jobs: int = 2) -> Iterator[Found]:
    """Both programs over `seeds`."""
    quantities = [
        ("marked per 1000", "marked", 1e3) if setup.ecn else ("dropped per 1000", "dropped", 1e3),
        ("mean queue, packets", "queue", 1.0),
        ("goodput, Mbit/s", "goodput", 1e-6),
    ]
    if setup.mixed:
        quantities.append(("goodput at 540 ms, Mbit/s", "farthest", 1e-6))
    runs = [setup.scenario(seed, duration) for seed in seeds]
    of = (partial(measure, duration=duration) for measure in (in_ns2, here))
    return compared(setup.name, runs, *of, quantities, TOLERANCE, jobs)


if __name__ == "__main__":
    title, seeds = "Many flows on one queue beside ns-2.", range(1, SEEDS + 1)
    every = lambda jobs: (found for setup in SETUPS for found in compare(setup, seeds, jobs=jobs))  # noqa: E731
    sys.exit(main(title, every))
