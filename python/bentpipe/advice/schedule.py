"""The plan of runs within a budget: number of algorithms, maximum number of seeds, length of runs.

A budget is a time. It means work that the processors finish in that time: how fast they are is measured once,
at the beginning. From then on work is counted in simulated packets, so what else the machine does changes no
plan.
"""

from __future__ import annotations

import math
import re
import time
from dataclasses import dataclass, replace

from bentpipe import _core
from bentpipe.runs import run
from bentpipe.scenario import Scenario
from bentpipe.units import seconds

LEAST_SEEDS = 3
"""Seeds after which an algorithm may leave the race; with fewer, an interval says almost nothing."""
LEAST_SEEDS_HAD = 5
"""The same for one that Linux or an agent can run today."""
MOST_SEEDS = 20
"""Seeds beyond which intervals shrink little: by a tenth for each further five."""
LEAST_TRIPS = 40
"""Round trips of a run below which slow start, which takes ten to fifteen, is a large part of it ..."""
LEAST_RUN_S = 10.0
"""... and its least simulated seconds: handovers and bursts of losses are rarer than round trips."""
SAMPLE = ("geo-consumer", "30 s")
"""What is simulated to learn the speed of a processor: a scenario and its duration."""
SAMPLES = 3
"""The fastest of so many counts: each other one was disturbed."""
STEP = 1.25
"""A speed is a power of it, so that the same machine nearly always has the same."""
USED = 2 / 3
"""The share of its speed that a processor is expected to have for packets; Python judges runs meanwhile."""
RUN = 20_000
"""Fixed cost of a run that is measured and judged as well, in packets that take the same time."""
PATIENCE = 2.0
"""After this multiple of the budget the answer ends with the finished runs: the machine is slow or busy."""
TRYING = 1 / 6
"""The share of the budget that the first seed with runs of full length may take, or runs are shorter."""
TOGETHER = 8
"""Algorithms of the first seed that are run together; then it is seen whether there is room for more."""
COSTS = 10
"""Seeds for the costs of the best: beside CUBIC and Reno, and a file."""
LINKS, COSTS_OF_LINKS = 40, 20
"""The same two numbers where several links are consistent with the measurements, and each seed is another
one: the value of an algorithm is then a share of the links."""
RACING = 0.7
"""The share of the budget beyond which the race begins no further seed."""
_TEXT = re.compile(r"(\d+)x(\d+)x([0-9.]+s)(?:\+(\d+))?")


@dataclass(frozen=True)
class Schedule:
    """The runs to make. The same plan gives the same numbers, whatever the machine.

    Attributes:
        algorithms: how many race, the first in the order of `Question.candidates`.
        seeds: maximum number of seeds of each; the race ends when nothing is left to decide.
        run_s: simulated seconds of a run.
        costs: seeds for the costs of the best of them.
    """

    algorithms: int
    seeds: int
    run_s: float
    costs: int = COSTS

    def __str__(self) -> str:
        return f"{self.algorithms}x{self.seeds}x{self.run_s:.9g}s+{self.costs}"


def packets_per_s() -> float:
    """Packets that one processor simulates in a second of its time: a power of `STEP`."""
    scenario = Scenario.load(SAMPLE[0], {"duration": SAMPLE[1]})
    speeds = []
    for _ in range(SAMPLES):
        began = time.thread_time()
        packets = run(scenario).json["packets"]
        speeds.append(packets / (time.thread_time() - began))
    return float(STEP ** math.floor(math.log(max(speeds), STEP)))


class Budget:
    """The work that an answer may take, and the moment at which it ends whatever was done.

    Args:
        limit_s: seconds that the processors may work; None for no limit.
        begun: when it began, by `time.monotonic`.
        processors: how many there are.

    Attributes:
        spent: the work that was done, in packets.
    """

    def __init__(self, limit_s: float | None, begun: float, processors: int) -> None:
        self.spent = 0.0
        self._whole = math.inf if limit_s is None else limit_s * USED * processors * packets_per_s()
        self.ends = None if limit_s is None else begun + PATIENCE * limit_s

    def spend(self, packets: float) -> None:
        """Records the work of a finished run, in packets."""
        self.spent += RUN + packets

    def part(self, share: float) -> float:
        """The work that corresponds to a share of the budget."""
        return share * self._whole

    @property
    def late(self) -> bool:
        """Whether time is up, so that the answer rests on the finished runs."""
        return self.ends is not None and time.monotonic() > self.ends

    def room(self, each: float, share: float = 1.0) -> bool:
        """Whether this much more work fits into this share of the budget."""
        return self.spent + each <= self.part(share) and not self.late


def read(text: str) -> Schedule:
    """The plan that `str` wrote: "60x12x60s+5".

    Raises:
        ScenarioError: it is not a plan.
    """
    found = _TEXT.fullmatch(text.replace(" ", ""))
    if found is None:
        raise _core.ScenarioError(
            f"plan: {text!r} is no plan; write ALGORITHMSxSEEDSxTIME+SEEDS, "
            'for example "60x12x60s+5": the last are those of what the best cost'
        )
    algorithms, seeds = int(found[1]), int(found[2])
    if algorithms < 1 or not 1 <= seeds <= 10_000:
        raise _core.ScenarioError(f"plan: {text}: at least one algorithm and one seed are needed")
    run_s = seconds(found[3].replace("s", " s"), "plan")
    return Schedule(algorithms, seeds, run_s, COSTS if found[4] is None else int(found[4]))


def thorough(algorithms: int, run_s: float) -> Schedule:
    """Without a budget: many seeds, and as many for the costs of the best."""
    return Schedule(algorithms, 3 * MOST_SEEDS, run_s, MOST_SEEDS)


def run_time(rtt_s: float) -> float:
    """The default length of a run: a hundred round trips, from 60 to 180 s."""
    return float(min(max(60, round(100 * rtt_s)), 180))


def shorter(whole: Schedule, rtt_s: float, seed: float, left: float) -> Schedule:
    """The plan with the longest runs that let `LEAST_SEEDS_HAD` seeds fit the budget; else the shortest.

    Args:
        whole: with runs of full length.
        rtt_s: the round-trip time; a run has at least `LEAST_TRIPS` of them, and lasts at least
            `LEAST_RUN_S`.
        seed: the work of one seed of all algorithms with runs of full length.
        left: the work available for the race.
    """
    run_s = whole.run_s
    least = min(max(LEAST_TRIPS * rtt_s, LEAST_RUN_S) / run_s, 1.0)
    for share in (2 / 3, 1 / 2, 1 / 3, 1 / 4, least):
        length = max(float(round(run_s * max(share, least))), 1.0)
        if LEAST_SEEDS_HAD * seed * length / run_s <= left:
            break
    return replace(whole, run_s=length)
