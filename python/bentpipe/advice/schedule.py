"""What is run, within a budget: how many algorithms, how many seeds of each, for how long."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass

from bentpipe import _core
from bentpipe.units import seconds

LEAST_SEEDS = 5
"""Seeds of the second stage below which intervals are too wide to be worth a stage of their own."""
MOST_SEEDS = 20
"""Seeds beyond which intervals shrink little: by a tenth for each further five."""
LEAST_TRIPS = 25
"""Round trips of a run below which next to nothing but slow start is seen."""
BEST = 8
"""Algorithms that go on to the second stage, if the budget allows it."""
SUSPECTS = 3
"""Reckless ones that look as good as the best, and go on as well, so that enough seeds condemn them."""
ROLES = 4
"""Runs of an algorithm and seed: alone, beside CUBIC, beside Reno, one file."""
SCREENING = 0.5
"""The share of the budget after which screening begins no further seed."""
_TEXT = re.compile(r"(\d+)x(\d+)x([0-9.]+s)(?:\+(\d+)x(\d+)x([0-9.]+s))?")
_SLOWER = 1.5
"""What a run costs beside one of CUBIC, on average over all algorithms: some send more than they deliver."""


@dataclass(frozen=True)
class Stage:
    """So many algorithms, runs of each, and simulated seconds of a run."""

    algorithms: int
    seeds: int
    run_s: float

    def __str__(self) -> str:
        return f"{self.algorithms}x{self.seeds}x{self.run_s:.9g}s"


@dataclass(frozen=True)
class Schedule:
    """What is run. The same schedule gives the same numbers, whatever the machine.

    Attributes:
        screen: the first stage, of the first algorithms in the order of `Question.candidates`.
        final: the second, of those that were best; None if the budget has no room for it.
    """

    screen: Stage
    final: Stage | None

    def __str__(self) -> str:
        return f"{self.screen}" + ("" if self.final is None else f"+{self.final}")


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


def read(text: str) -> Schedule:
    """The schedule that `str` wrote: "34x3x30s+8x20x60s".

    Raises:
        ScenarioError: it is none.
    """
    found = _TEXT.fullmatch(text.replace(" ", ""))
    if found is None:
        raise _core.ScenarioError(
            f"plan: {text!r} is no plan; write ALGORITHMSxSEEDSxTIME of both stages, "
            'for example "34x3x30s+8x20x60s"'
        )
    parts = [_stage(*found.group(1, 2, 3))]
    parts += [_stage(*found.group(4, 5, 6))] if found[4] else []
    return Schedule(parts[0], parts[1] if len(parts) > 1 else None)


def thorough(algorithms: int, run_s: float) -> Schedule:
    """Without a budget: runs of full length at once, then the best twelve, longer and with many seeds."""
    return Schedule(Stage(algorithms, 5, run_s), Stage(12, 30, 2 * run_s))


def run_time(rtt_s: float) -> float:
    """How long a run lasts unless somebody says: a hundred round trips, from 60 to 180 s."""
    return float(min(max(60, round(100 * rtt_s)), 180))


def screening(
    algorithms: int, run_s: float, rtt_s: float, cost: float, budget_s: float, workers: int
) -> Stage:
    """The largest first stage that takes at most half of the budget; the smallest if none does.

    Args:
        algorithms: how many there are.
        run_s: full simulated time of a run.
        rtt_s: the round-trip time, of which a run has `LEAST_TRIPS` or the sixth of its full length.
        cost: seconds of a processor that a simulated second takes, mean over the algorithms.
        budget_s: seconds for all.
        workers: runs at once.
    """
    least = min(LEAST_TRIPS * rtt_s / run_s, 1 / 6)
    shorter = [(1, share) for share in (1 / 6, 1 / 12, 1 / 24) if share > least]
    for seeds, share in [(3, 1 / 2), (2, 1 / 2), (2, 1 / 3), (1, 1 / 3), *shorter, (1, least)]:
        stage = Stage(algorithms, seeds, max(float(round(run_s * share)), 1.0))
        if _SLOWER * seconds_of(stage, cost, workers) <= SCREENING * budget_s:
            break
    return stage


def finals(screen: Stage, run_s: float, seed_s: float, left_s: float) -> Stage | None:
    """The largest second stage for what is left of the budget.

    Args:
        screen: what was screened.
        run_s: full simulated time of a run.
        seed_s: seconds that one seed of all algorithms took.
        left_s: seconds that are left.
    """
    each = seed_s / (screen.algorithms * screen.run_s)
    more = 2 + SUSPECTS / 2  # CUBIC and Reno are run as well, wherever they came in
    for best in (BEST, 5, 3):
        for share in (1, 1 / 2, 1 / 3, 1 / 6, 1 / 12, 1 / 24):
            length = max(float(round(run_s * share)), screen.run_s)
            seeds = int(0.9 * left_s / ((best + more) * length * each)) if each > 0 else MOST_SEEDS
            if seeds >= LEAST_SEEDS:
                return Stage(best, min(seeds, MOST_SEEDS), length)
    return None


def seconds_of(stage: Stage, cost: float, workers: int) -> float:
    """How long a stage takes if a simulated second costs so much."""
    return stage.algorithms * stage.seeds * stage.run_s * ROLES * cost / workers


def _stage(algorithms: str, seeds: str, run: str) -> Stage:
    if int(algorithms) < 1 or not 1 <= int(seeds) <= 10_000:
        raise _core.ScenarioError(
            f"plan: {algorithms}x{seeds}: at least one algorithm and one seed are needed"
        )
    return Stage(int(algorithms), int(seeds), seconds(run.replace("s", " s"), "plan"))
