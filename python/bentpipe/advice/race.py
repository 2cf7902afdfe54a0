"""The race of all algorithms within a budget: seed by seed; those clearly behind the best drop out.

A race (O. Maron, A. Moore, Hoeffding Races: Accelerating Model Selection Search for Classification and
Function Approximation, NIPS 1993) spends the runs where they still decide something.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Sequence
from functools import partial

from bentpipe import _core
from bentpipe.advice import flags, ranking, schedule, trials
from bentpipe.advice.flags import Flag
from bentpipe.advice.question import GOALS, LONGEST_RTT_S, RIVALS, Candidate, Question
from bentpipe.advice.schedule import Budget, Schedule
from bentpipe.advice.trials import Trials, Wanted
from bentpipe.machine import linux
from bentpipe.sweeps.fingerprint import RowKeys
from bentpipe.sweeps.lab import Lab

Told = Callable[[str, int, int], None]
"""Called with the current task, the runs done of it, and all of its runs."""
FINALISTS = 12
"""The costs of this number of the best are measured."""
_CLEARING = 3
"""Seeds beside CUBIC after which a leader may be called harmless ..."""
_CONDEMNING = 10
"""... and after which harm alone condemns it, if the race has had that many."""
_FIRST_LOOKS_S = (0.5, 5.0, LONGEST_RTT_S)
"""Simulated seconds of the runs that measure the round trip: the next if nothing is back yet."""


class Unanswered(KeyboardInterrupt):
    """The user interrupted before any result was available; the message says so."""


class Race:
    """The runs of an answer.

    Attributes:
        question: the question.
        asked: the algorithms, CUBIC and Reno first, then those of measured transfers, then by ease of
            installation.
        cut: what was left out, with the reasons, as sentences.
        rtt_s: the round-trip time without queues, as CUBIC sees it.
        left: algorithms that dropped out, by id, with the number of seeds they had.
        plan: the plan as it was carried out.
        interrupted: whether the user stopped it.
        warnings: of the simulator, on CUBIC's first run alone.
    """

    def __init__(
        self, lab: Lab, question: Question, asked: Sequence[Candidate], left: Sequence[str], tell: Told
    ) -> None:
        self.question = question
        first = {cc: -1 for cc, _ in question.tests} | {"cubic": -3, "reno": -2}
        self.asked = sorted(asked, key=lambda one: first.get(one.id, linux.way(one.id).effort))
        self.cut = list(left)
        self.rtt_s = 0.0
        self.left: dict[str, int] = {}
        self.plan = Schedule(len(self.asked), 1, 1.0, 0)
        self.interrupted = False
        self.warnings: list[str] = []
        self._tell = tell
        self._run = partial(trials.run_all, lab, RowKeys(trials.measured), question)
        self._found: dict[tuple[str, str], list[dict[str, float]]] = {}

    def go(
        self, given: Schedule | None, budget: Budget, run_s: float | None, *, thorough: bool = False
    ) -> None:
        """Runs the plan that is given, or one that the budget has room for.

        Raises:
            Unanswered: interrupted before anything was known.
            ScenarioError: nothing comes back over the link, or an algorithm failed.
        """
        try:
            self._tell("looking how long the round trip is", 0, 1)
            self.rtt_s = self._round_trip()
        except KeyboardInterrupt:
            raise Unanswered("nothing is known yet") from None
        full_s = run_s or self.question.whole_s or schedule.run_time(self.rtt_s)
        if given is not None:
            plan = given
        elif thorough:
            plan = schedule.thorough(len(self.asked), full_s)
        else:
            plan = self._sized(full_s, budget)
        self.plan = plan
        done = self._race(plan, budget)
        self.plan = Schedule(min(len(self.trials()), plan.algorithms), done, plan.run_s, 0)
        if not self.interrupted:
            costs = self._costs(plan, budget)
            self.plan = Schedule(self.plan.algorithms, done, plan.run_s, costs)

    def _sized(self, full_s: float, budget: Budget) -> Schedule:
        """The plan that fits the budget; its first seed may be done then.

        That seed, with runs of full length, shows how much work a run is. If it is too much, everything
        starts again with shorter runs.
        """
        drawn = bool(self.question.draws)
        seeds = schedule.LINKS if drawn else schedule.MOST_SEEDS
        costs = schedule.COSTS_OF_LINKS if drawn else schedule.COSTS
        self.plan = plan = Schedule(len(self.asked), seeds, full_s, costs)
        if self._seed(self.asked, 0, plan, budget, budget.part(schedule.TRYING)) or self.interrupted:
            return plan
        done = sum(map(len, self._found.values())) / (len(self.asked) * len(GOALS[self.question.goal].roles))
        self._found.clear()
        seed = budget.spent / max(done, 1 / len(self.asked))
        left = budget.part(schedule.RACING) - budget.spent
        return schedule.shorter(plan, self.rtt_s, seed, left)

    def trials(self) -> dict[str, Trials]:
        """The measurements of each algorithm that was run, in the order of `asked`."""
        floors = self._floors()
        found = {}
        for one in self.asked:
            rows = {role: self._found.get((one.id, role), []) for role in (*trials.ROLES, trials.CURED)}
            if rows[GOALS[self.question.goal].roles[0]]:
                found[one.id] = Trials(one, _values(rows, floors))
        if all(rival in found for rival in RIVALS):
            trials.harm(found)
        return found

    def compared(self) -> dict[str, Trials]:
        """The same as shares of each link's rate, if each run is over another link (`trials.comparable`)."""
        return trials.comparable(self.trials(), self.question)

    def finalists(self) -> list[str]:
        """The best that stay in the race, CUBIC and Reno, and the algorithms of measured transfers.

        Of the reckless, the best of all and the best in Linux itself.
        """
        known, goal = self.compared(), self.question.goal
        flagged = flags.all_flags(known, self.question)
        fine = ranking.order({one: known[one] for one in known if one not in flagged}, goal)
        reckless = ranking.order({one: known[one] for one in flagged}, goal)
        ahead = [one for one in fine if one not in self.left]
        had = [one for one in fine if linux.way(one).had]
        chosen = {*ahead[:FINALISTS], *reckless[: FINALISTS // 4], *had[: FINALISTS // 4], *RIVALS}
        chosen |= {
            *[one for one in reckless if linux.way(one).in_linux][:1],
            *(cc for cc, _ in self.question.tests),
        }
        return [one for one in (*fine, *reckless) if one in chosen]

    def _race(self, plan: Schedule, budget: Budget) -> int:
        """Seed after seed, until nothing is left to decide; returns their number.

        The first seed alone may be incomplete: it then has the first algorithms of `asked`.
        """
        runners = self.asked[: max(plan.algorithms, len(RIVALS))]
        each = 0.0
        for n in range(plan.seeds):
            if self.interrupted:
                return self._broken_off(runners, n)
            if n and not budget.room(1.1 * each, schedule.RACING):
                return n
            before = budget.spent
            done = n == 0 and bool(self._found)  # to find the plan
            if not done and not self._seed(runners, n, plan, budget, budget.part(schedule.RACING)):
                return self._broken_off(runners, n)
            each = budget.spent - (0.0 if done else before)
            if n + 1 >= min(schedule.LEAST_SEEDS, plan.seeds) and self._settle(n + 1, budget):
                return n + 1
        return plan.seeds

    def _seed(
        self, runners: Sequence[Candidate], n: int, plan: Schedule, budget: Budget, most: float
    ) -> bool:
        """Runs seed `n` of all that are in the race; were all of them run?

        Of the first seed those that are whole are kept, and after this much work no more are begun.
        """
        alive = [one for one in runners if one.id not in self.left]
        goal = self.question.goal
        together = schedule.TOGETHER if n == 0 else len(alive)
        whole = len(alive) * len(GOALS[goal].roles)
        for first in range(0, len(alive), together):
            if n == 0 and first and budget.spent >= most:
                return False
            some = alive[first : first + together]
            wanted = [Wanted(one, role, n) for one in some for role in GOALS[goal].roles]
            done = n * whole + first * len(GOALS[goal].roles)
            progress = partial(self._report, f"racing {len(runners)} algorithms", done, plan.seeds * whole)
            if not self._add(wanted, budget, progress, partly=n == 0, needed=first == 0):
                return False
        return True

    def _broken_off(self, runners: Sequence[Candidate], n: int) -> int:
        """Seed `n` did not come to its end; how many seeds count.

        Raises:
            Unanswered: not even CUBIC and Reno have been run.
        """
        known = self.trials()
        if len(known) < len(RIVALS):
            raise Unanswered("no algorithm was run to the end yet; nothing is known")
        if n == 0:
            without = [one.label for one in runners if one.id not in known]
            why = "It was interrupted before" if self.interrupted else "The time was not enough for"
            self.cut += [f"{why} {', '.join(without)}."] if without else []
        else:
            self.cut.append(f"It ended in seed {n + 1}: {n} seeds of each algorithm decide.")
        return max(n, 1)

    def _settle(self, seeds: int, budget: Budget) -> bool:
        """Drops the algorithms that are clearly behind the best; true if nothing is left to decide."""
        leader = self._leader(seeds, budget)
        if leader is None:
            return False
        known, goal = self.compared(), self.question.goal
        best = known[leader]
        open_ones = 0
        for name, one in known.items():
            if name == leader or name in self.left:
                continue
            least = schedule.LEAST_SEEDS_HAD if linux.way(name).had else schedule.LEAST_SEEDS
            if name in RIVALS:  # the others are compared with them, so they stay
                open_ones += not (ranking.is_behind(best, one, goal) or ranking.is_tied(best, one, goal))
            elif ranking.is_behind(best, one, goal):
                if seeds >= least:
                    self.left[name] = seeds
                else:
                    open_ones += 1
            else:
                open_ones += not ranking.is_tied(best, one, goal)
        return open_ones == 0 and seeds >= schedule.LEAST_SEEDS_HAD

    def _leader(self, seeds: int, budget: Budget) -> str | None:
        """The best that is available and takes nothing from others; None if the time ended before that.

        Beside CUBIC only the candidates for the lead are run: the others need no such run until then. One
        that is condemned for its harm alone has had ten runs, if the race has had that many seeds. Until
        then no other leaves because of it.
        """
        while True:
            known = self.compared()
            flagged = flags.all_flags(known, self.question)
            condemned = {name for name, found in flagged.items() if not self._is_open(found, name, seeds)}
            best, leader = self._first(known, condemned), self._first(known, flagged)
            for name, least in ((best, _CONDEMNING if best in flagged else _CLEARING), (leader, _CLEARING)):
                if self._lacks(name, min(seeds, least)):
                    break
            else:
                return leader
            for one in ("cubic", name):
                if not self._have(one, "cubic", min(seeds, least), budget):
                    return None

    def _lacks(self, name: str, seeds: int) -> bool:
        """Whether it has had fewer runs beside CUBIC, and they matter."""
        asked = self.question.shared and name != "cubic"
        return asked and len(self._found.get((name, "cubic"), ())) < seeds

    def _first(self, known: dict[str, Trials], without: Container[str]) -> str:
        """The best that is available and is not among these; CUBIC if there is none."""
        some = {name: one for name, one in known.items() if name not in without}
        ranked = ranking.order(some, self.question.goal)
        return next((name for name in ranked if linux.way(name).had), "cubic")

    def _is_open(self, found: Sequence[Flag], name: str, seeds: int) -> bool:
        """Whether harm is the only reason against an algorithm, and more seeds would add information."""
        done = len(self._found.get((name, "cubic"), ()))
        return {flag.kind for flag in found} == {"harm"} and done < min(seeds, _CONDEMNING)

    def _have(self, name: str, role: str, seeds: int, budget: Budget) -> bool:
        """Ensures that an algorithm has this number of seeds in a role; false if time ran out."""
        done = self._found.setdefault((name, role), [])
        one = next(one for one in self.asked if one.id == name)
        wanted = [Wanted(one, role, n) for n in range(len(done), seeds)]
        if not wanted:
            return True
        found, self.interrupted = self._run(wanted, self.plan.run_s, budget)
        for n in wanted:
            if n not in found:
                return False
            done.append(found[n])
        return not self.interrupted

    def _costs(self, plan: Schedule, budget: Budget) -> int:
        """Measures the finalists' costs: the roles that the race did not need; number of seeds."""
        chosen = [one for one in self.asked if one.id in self.finalists()]
        each = 0.0
        for n in range(plan.costs):
            if n and not budget.room(1.1 * each):
                return n
            before = budget.spent
            wanted = [
                Wanted(one, role, n)
                for one in chosen
                for role in trials.ROLES
                if len(self._found.get((one.id, role), ())) <= n and role != "alone"
            ]
            if self.question.blocked:
                wanted += [Wanted(one, trials.CURED, n) for one in chosen if one.id == "cubic"]
            progress = partial(
                self._report, f"what the best {len(chosen)} cost", n * len(wanted), plan.costs * len(wanted)
            )
            if wanted and not self._add(wanted, budget, progress):
                return n
            each = budget.spent - before
        return plan.costs

    def _add(
        self,
        wanted: list[Wanted],
        budget: Budget,
        progress: Callable[[int], None],
        *,
        partly: bool = False,
        needed: bool = False,
    ) -> bool:
        """Makes these runs and keeps them if all are done; `partly`: else those of whole algorithms.

        With `needed`, those of the rivals, which come first, are made whatever the time.
        """
        least = len(RIVALS) * len(GOALS[self.question.goal].roles) if partly and needed else 0
        found, self.interrupted = self._run(
            wanted, self.plan.run_s, budget, needed=least, progress=progress, warn=self._warned
        )
        missing = {one.candidate.id for one in wanted if one not in found}
        for one in wanted:
            if not missing or (partly and one.candidate.id not in missing):
                self._found.setdefault((one.candidate.id, one.role), []).append(found[one])
        return not missing

    def _warned(self, lines: Sequence[str]) -> None:
        self.warnings = list(lines)

    def _floors(self) -> list[float]:
        """The least round-trip time that any algorithm saw, seed by seed."""
        alone = [rows for (_, role), rows in self._found.items() if role == "alone"]
        count = max(map(len, alone), default=0)
        seen = [[rows[n]["rtt_min_s"] for rows in alone if n < len(rows)] for n in range(count)]
        return [min((s for s in some if not math.isnan(s)), default=math.nan) for some in seen]

    def _report(self, what: str, before: int, whole: int, count: int) -> None:
        """`count` runs are done after `before` others; those of an algorithm that left count as done."""
        self._tell(what, before + count, whole)

    def _round_trip(self) -> float:
        """The least round-trip time that a short run of CUBIC sees, seconds."""
        from bentpipe.runs import run

        for look_s in _FIRST_LOOKS_S:
            rtt_s = trials.least_rtt_s(run(self.question.alone(self.asked[0], 0, look_s)).json)
            if not math.isnan(rtt_s):
                return rtt_s
        raise _core.ScenarioError(
            f"nothing comes back over this link within {_FIRST_LOOKS_S[-1]:.0f} s: "
            "its delay is too long, or it loses everything"
        )


def _values(rows: dict[str, list[dict[str, float]]], floors: list[float]) -> dict[str, list[float]]:
    """By quantity the values of all seeds, as `Trials` has them."""
    found: dict[str, list[float]] = {}
    for of in rows.values():
        for row in of:
            for name, value in row.items():
                found.setdefault(name, []).append(value)
    for name in ("rtt_p50_s", "rtt_p95_s"):
        trips = found.pop(name, [])
        queue = [max(trip - floor, 0.0) for trip, floor in zip(trips, floors, strict=False)]
        found[name.replace("rtt", "queue")] = queue
    found.pop("rtt_min_s", None)
    pairs = [
        [min(row[f"beside_{rival}_bps"], row[f"{rival}_bps"]) for row in rows[rival]] for rival in RIVALS
    ]
    found["worse_bps"] = [math.fsum(both) / len(both) for both in zip(*pairs, strict=False)]
    return found
