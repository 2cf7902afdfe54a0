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

import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ns2_means import Found, compared, main, sat

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


def in_ns2(run: ns2.Run) -> Run:
    """What ns-2 found."""
    return Run(run.flows[0].delivered * 11680.0 / DURATION, run.links["sat/forward"].queue_mean_packets)


def here(result: dict[str, Any]) -> Run:
    """What Bentpipe found."""
    return Run(result["flows"][0]["delivered_bytes"] * 8.0 / DURATION, sat(result)["queue_mean_packets"])


def compare(setup: Setup, jobs: int = 2) -> Iterator[Found]:
    """Both programs over all starts."""
    name = f"{setup.name}, {setup.recovery}"
    quantities = [("goodput, Mbit/s", "goodput", 1e-6), ("mean queue, packets", "queue", 1.0)]
    runs = [setup.scenario(start) for start in STARTS]
    return compared(name, runs, in_ns2, here, quantities, TOLERANCE, jobs)


if __name__ == "__main__":
    title = "A link that moves, beside ns-2."
    sys.exit(main(title, lambda jobs: (found for setup in SETUPS for found in compare(setup, jobs))))
