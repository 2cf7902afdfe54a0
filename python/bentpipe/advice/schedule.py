"""What is run, within a budget: how many algorithms, at most how many seeds of each, for how long."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass

from bentpipe import _core
from bentpipe.units import seconds

LEAST_SEEDS = 3
"""Seeds after which an algorithm may leave the race; with fewer an interval says next to nothing."""
LEAST_SEEDS_HAD = 5
"""The same for one that Linux or an agent can run today."""
MOST_SEEDS = 20
"""Seeds beyond which intervals shrink little: by a tenth for each further five."""
LEAST_TRIPS = 40
"""Round trips of a run below which slow start, which takes ten to fifteen, is a large part of it ..."""
LEAST_RUN_S = 10.0
"""... and its least simulated seconds: handovers and bursts of losses are rarer than round trips."""
TRYING = 1 / 6
"""The share of the budget in which the first seed with runs of full length is over, or runs are shorter."""
COSTS = 10
"""Seeds for what the best cost: beside CUBIC and Reno, and a file."""
RACING = 0.7
"""The share of the budget after which the race begins no further seed."""
_TEXT = re.compile(r"(\d+)x(\d+)x([0-9.]+s)(?:\+(\d+))?")


@dataclass(frozen=True)
class Plan:
    """What is run. The same plan gives the same numbers, whatever the machine.

    Attributes:
        algorithms: how many race, the first in the order of `Question.candidates`.
        seeds: at most so many seeds of each; the race ends when nothing is left to decide.
        run_s: simulated seconds of a run.
        costs: seeds for what the best of them cost.
    """

    algorithms: int
    seeds: int
    run_s: float
    costs: int = COSTS

    def __str__(self) -> str:
        return f"{self.algorithms}x{self.seeds}x{self.run_s:.9g}s+{self.costs}"


class Budget:
    """The wall-clock time that an answer may take, from the first moment on.

    Args:
        limit_s: seconds for all; None for no limit.
        begun: when it began, by `time.monotonic`.
    """

    def __init__(self, limit_s: float | None, begun: float) -> None:
        self._limit_s = limit_s
        self._begun = begun
        # For judging, writing and the end of the interpreter.
        self._kept_s = 0.0 if limit_s is None else min(max(2.0, 0.1 * limit_s), limit_s / 4)

    def part_s(self, share: float) -> float:
        """Seconds that are a share of it."""
        return float("inf") if self._limit_s is None else share * self._limit_s

    @property
    def ends(self) -> float | None:
        """When the last run must be over, by `time.monotonic`."""
        return None if self._limit_s is None else self._begun + self._limit_s - self._kept_s

    def left_s(self) -> float:
        """Seconds until then."""
        return float("inf") if self.ends is None else self.ends - time.monotonic()

    def room(self, each_s: float, share: float = 1.0) -> bool:
        """Can something that takes so long still be over by this share of the budget?"""
        if self._limit_s is None or self.ends is None:
            return True
        end = min(self._begun + share * self._limit_s, self.ends)
        return time.monotonic() + each_s <= end


def read(text: str) -> Plan:
    """The plan that `str` wrote: "60x12x60s+5".

    Raises:
        ScenarioError: it is none.
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
    return Plan(algorithms, seeds, run_s, COSTS if found[4] is None else int(found[4]))


def thorough(algorithms: int, run_s: float) -> Plan:
    """Without a budget: many seeds, and as many of what the best cost."""
    return Plan(algorithms, 3 * MOST_SEEDS, run_s, MOST_SEEDS)


def run_time(rtt_s: float) -> float:
    """How long a run lasts unless somebody says: a hundred round trips, from 60 to 180 s."""
    return float(min(max(60, round(100 * rtt_s)), 180))


def shorter(algorithms: int, run_s: float, rtt_s: float, seed_s: float, left_s: float) -> Plan:
    """The plan with the longest runs of which `LEAST_SEEDS_HAD` seeds fit the budget; the shortest if none.

    Args:
        algorithms: how many there are.
        run_s: full simulated time of a run.
        rtt_s: the round-trip time, of which a run has at least `LEAST_TRIPS`, and at least `LEAST_RUN_S`.
        seed_s: seconds that one seed of all algorithms with runs of full length takes.
        left_s: seconds for the race.
    """
    least = min(max(LEAST_TRIPS * rtt_s, LEAST_RUN_S) / run_s, 1.0)
    for share in (2 / 3, 1 / 2, 1 / 3, 1 / 4, least):
        length = max(float(round(run_s * max(share, least))), 1.0)
        if LEAST_SEEDS_HAD * seed_s * length / run_s <= left_s:
            break
    return Plan(algorithms, MOST_SEEDS, length)
