"""The two stages of an answer within its budget, and what is known at any time."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from bentpipe import _core
from bentpipe.advice import flags, ranking, schedule, trials
from bentpipe.advice.question import RIVALS, Candidate, Question
from bentpipe.advice.schedule import Budget, Schedule, Stage
from bentpipe.advice.trials import Trials
from bentpipe.sweeps.execution import cores

Told = Callable[[str, int, int], None]
"""Called with what is being done, the runs done of it, and all of its runs."""
_FIRST_LOOKS_S = (0.5, 5.0, 60.0)
"""Simulated seconds of runs that tell the round trip and the speed: the next if nothing is back yet, ..."""
_LOOK = 0.1
"""... or if it takes no more than this share of the time: shorter runs mostly begin and end."""
_FRAME_BITS = 8 * 1500


class Unanswered(KeyboardInterrupt):
    """The user stopped before anything was known; the message says so."""


class Work:
    """The runs of an answer.

    Attributes:
        cut: what was left out, and why, sentences.
        rtt_s: the round-trip time without queues, as CUBIC sees it.
        screened: what the first stage measured, by the algorithm's id.
        finals: what the second did; empty if there was none.
        made: the schedule as it was carried out.
        interrupted: whether the user stopped it.
    """

    def __init__(self, question: Question, asked: list[Candidate], left: list[str], tell: Told) -> None:
        self.question = question
        # CUBIC and Reno first: they are what harm is measured against, however short the time is.
        self.asked = sorted(asked, key=lambda one: {"cubic": 0, "reno": 1}.get(one.id, 2))
        self.cut = list(left)
        self.rtt_s = 0.0
        self.screened: dict[str, Trials] = {}
        self.finals: dict[str, Trials] = {}
        self.made = Schedule(Stage(len(asked), 1, 1.0), None)
        self.interrupted = False
        self._tell = tell
        self._seed_s = 0.0

    def go(self, given: Schedule | None, budget: Budget, run_s: float | None) -> None:
        """Runs the schedule that is given, or one that the budget has room for.

        Raises:
            Unanswered: interrupted before anything was known.
            ScenarioError: nothing comes back over the link, or an algorithm failed.
        """
        try:
            self._tell("measuring how fast this machine is", 0, 1)
            cost = self._look(budget.left_s())
        except KeyboardInterrupt:
            raise Unanswered("nothing is known yet") from None
        full_s = run_s or schedule.run_time(self.rtt_s)
        stage = (
            given.screen
            if given
            else schedule.screening(len(self.asked), full_s, self.rtt_s, cost, budget.left_s(), cores())
        )
        if not self._screen(stage, budget, alone=given is None) or self.interrupted:
            return
        final = (
            given.final if given else schedule.finals(self.made.screen, full_s, self._seed_s, budget.left_s())
        )
        if final is not None:
            self._final(final, budget)
        elif given is None:
            self.cut.append("The budget had no room for a second stage with more seeds; --thorough has.")

    def thorough(self, run_s: float | None) -> None:
        """Runs what `schedule.thorough` says, without a budget; raises as `go` does."""
        self._tell("measuring how fast this machine is", 0, 1)
        try:
            self._look(float("inf"))
        except KeyboardInterrupt:
            raise Unanswered("nothing is known yet") from None
        plan = schedule.thorough(len(self.asked), run_s or schedule.run_time(self.rtt_s))
        budget = Budget(None, time.monotonic())
        if self._screen(plan.screen, budget, alone=False) and not self.interrupted and plan.final:
            self._final(plan.final, budget)

    def _look(self, left_s: float) -> float:
        """Finds the round-trip time; returns the mean processor time of a simulated second."""
        from bentpipe.runs import run

        costs = {}
        slow = [one for one in self.asked if isinstance(one.cc, type)]
        for one in [self.asked[0], *slow]:
            for look_s in _FIRST_LOOKS_S:
                since = time.perf_counter()
                result = run(self.question.alone(one, 0, look_s)).json
                took_s = time.perf_counter() - since
                known = [flow["rtt_min_s"] for flow in result["flows"] if flow["rtt_min_s"]]
                longer = _FIRST_LOOKS_S[1] / look_s * took_s
                if known and (look_s > _FIRST_LOOKS_S[0] or longer > _LOOK * left_s):
                    break
            if not known and one.id == "cubic":
                raise _core.ScenarioError(
                    f"nothing comes back over this link within {_FIRST_LOOKS_S[-1]:.0f} s: "
                    "its delay is too long, or it loses everything"
                )
            if one.id == "cubic":
                self.rtt_s = min(known)
            costs[one.id] = max(took_s / look_s, self._when_full(result, took_s))
        usual = costs["cubic"]
        slower = sum(costs[one.id] for one in slow)
        return (usual * (len(self.asked) - len(slow)) + slower) / len(self.asked)

    def _when_full(self, result: dict[str, Any], took_s: float) -> float:
        """What a simulated second would cost if the flows filled the link; few do in their first seconds."""
        sent = sum(flow["sent_packets"] for flow in result["flows"])
        crossed = self.question.crossed()
        rates = [
            link["rate_bps"]
            for link in result["links"]
            if (link["name"], link["direction"]) in crossed and link["rate_bps"]
        ]
        return took_s / sent * min(rates) / _FRAME_BITS if sent and rates else 0.0

    def _screen(self, stage: Stage, budget: Budget, *, alone: bool) -> bool:
        """The first stage; False if it leaves nothing to choose from. `alone`: the budget decides."""
        some = self.asked[: max(stage.algorithms, len(RIVALS))]
        what = f"screening {len(some)} algorithms"
        self.screened, done = self._stage(what, some, stage, budget, schedule.SCREENING if alone else 1.0)
        if not done:
            raise Unanswered("no algorithm was run to the end yet; nothing is known")
        self.made = Schedule(Stage(len(self.screened), done, stage.run_s), None)
        without = [one.label for one in self.asked if one.id not in self.screened]
        if without:
            why = "It was interrupted before" if self.interrupted else "The time was not enough for"
            self.cut.append(f"{why} {', '.join(without)}.")
        if self.interrupted:
            self.cut.append(f"It was interrupted while screening: {done} seeds of each algorithm decide.")
        return len(self.screened) > len(RIVALS) or len(self.asked) == len(self.screened)

    def _final(self, final: Stage, budget: Budget) -> None:
        goal, screened = self.question.goal, self.screened
        reckless = {
            name for name, one in screened.items() if flags.flags(one, screened, shared=self.question.shared)
        }
        ranked = ranking.order(screened, goal)
        best = [name for name in ranked if name not in reckless][: final.algorithms]
        # What looks as good and was reckless is run again: so few seeds condemn nobody.
        leader = screened[best[0]] if best else None
        rivals = [
            name
            for name in ranked
            if name in reckless and (leader is None or ranking.as_good(screened[name], leader, goal))
        ]
        suspects = rivals[: schedule.SUSPECTS]
        chosen = [one for one in self.asked if one.id in {*best, *suspects, *RIVALS}]
        names = {one.id for one in chosen}
        labels = {one.id: one.label for one in self.asked}
        dropped = [labels[name] for name in ranked if name not in names and name not in rivals]
        left = [labels[name] for name in rivals if name not in names]
        self.finals, done = self._stage(f"the best {len(chosen)}", chosen, final, budget, 1.0)
        if self.interrupted:
            self.cut.append(
                f"It was interrupted: {done} of {final.seeds} seeds of the second stage are done."
            )
        elif done < final.seeds:
            self.cut.append(f"The budget ended the second stage after {done} of {final.seeds} seeds.")
        if done < 2:  # no interval, and fewer seeds than were screened
            self.finals = {}
            return
        self.made = Schedule(self.made.screen, Stage(final.algorithms, done, final.run_s))
        seeds = "one seed" if self.made.screen.seeds == 1 else f"{self.made.screen.seeds} seeds"
        if dropped:
            self.cut.append(
                f"Screened with {seeds} and not among the best {len(best)}: {', '.join(dropped)}."
            )
        if left:
            self.cut.append(
                f"Screened with {seeds}, fast and reckless, and not run again: {', '.join(left)}."
            )

    def _stage(
        self, what: str, some: list[Candidate], stage: Stage, budget: Budget, share: float
    ) -> tuple[dict[str, Trials], int]:
        """All seeds of a stage, and how many; fewer if the user or the budget ends it.

        The first seed alone may be incomplete: it then has the first algorithms of `some`.
        """
        found: dict[str, Trials] = {}
        each = len(some) * len(trials.ROLES)
        done = 0
        for n in range(stage.seeds):
            if n and not budget.room(1.1 * self._seed_s, share):
                break
            since = time.monotonic()
            told = partial(self._told, what, n * each, stage.seeds * each)
            seed = trials.run_seed(self.question, some, n, stage.run_s, until=budget.ends, progress=told)
            self.interrupted = seed.interrupted
            if n == 0:
                found = {name: Trials(seed.candidates[name]) for name in seed.values}
            elif len(seed.values) < len(found):
                break
            for name, values in seed.values.items():
                found[name].add(values)
            done += bool(found)
            self._seed_s = time.monotonic() - since
            if len(found) < len(some) or self.interrupted:
                break
        if found:
            trials.harm(found)
        return found, done

    def _told(self, what: str, ahead: int, total: int, count: int) -> None:
        """Some runs of a seed are done, and all of those before."""
        self._tell(what, ahead + count, total)
