"""From a question to an answer: measures the speed, makes a schedule, runs it, judges."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bentpipe import _core
from bentpipe.advice import flags, ranking, schedule, trials, wording
from bentpipe.advice.question import Candidate, Question
from bentpipe.advice.schedule import Schedule, Stage
from bentpipe.advice.spans import span
from bentpipe.advice.trials import Trials
from bentpipe.advice.verdict import Advice
from bentpipe.units import seconds

if TYPE_CHECKING:
    from bentpipe.scenario import Link, Scenario

BUDGET = "30 s"
"""How long an answer may take, about, unless somebody says."""
Told = Callable[[str, int, int], None]
"""Called with what is being done, the runs done of it, and all of its runs."""


class Unanswered(KeyboardInterrupt):
    """The user stopped before anything was known; the message says so."""


def advise(
    link: str | Path | Link | Scenario | None = None,
    *,
    scenario: str | Path | Scenario | None = None,
    measured: Sequence[str | Path] = (),
    rate: str | None = None,
    rtt: str | None = None,
    per: float | str | None = None,
    ber: float | str | None = None,
    buffer: str | None = None,
    timeline: str | Path | None = None,
    flows: int = 1,
    competing: Sequence[str] = (),
    goal: str = "throughput",
    shared: bool = True,
    cc: Sequence[Any] = (),
    duration: str | None = None,
    seed: int = 1,
    budget: str = BUDGET,
    thorough: bool = False,
    plan: str | None = None,
    progress: Told | None = None,
) -> Advice:
    """Which congestion control to use on a link, with evidence.

    Runs every registered algorithm on the link with few seeds, then the best eight with more. Each is run
    with all of its flows, as one flow beside one of CUBIC and beside one of Reno, and with one file of 2 MB.
    What is fast because it takes from others is flagged and not recommended.

    Args:
        link: a shipped scenario's name, a TOML file, a `Link` or a `Scenario`: its links and its unresponsive
            traffic. Or leave it out, and give rate and rtt.
        scenario: instead, a whole scenario; its first flow takes each algorithm in turn.
        measured: instead, files of measurements of the link (iperf3, ping, irtt, pcap; docs/advise.md).
        rate: "20 Mbit/s", or a range "15 Mbit/s..25 Mbit/s". Ranges may stand for the next four, too.
        rtt: round-trip time without queues, "600 ms".
        per: packet error rate, 1e-4 or "1e-5..1e-3".
        ber: bit error rate.
        buffer: "1 bdp", "432 packets", "1 MB".
        timeline: a file with the link over time (docs/timeline.md).
        flows: so many flows of the algorithm at once.
        competing: flows beside them all the time, such as "3 cubic".
        goal: "throughput", "delay", "fair" or "completion"; `advice.question.GOALS` says what each is.
        shared: do flows of others use the link? If not, harm to them flags nothing.
        cc: judge these only (and CUBIC and Reno, for comparison): names, also with parameters,
            "FILE.py:CLASS" or `Controller` subclasses.
        duration: simulated time of a run of the second stage; by default as `schedule.run_time` says.
        seed: the first seed.
        budget: how long it may take, about. The speed of this machine decides how many seeds that is.
        thorough: more and longer runs, without a budget.
        plan: repeat exactly the plan of an earlier answer, "34x3x30s+8x20x60s".
        progress: called with what is being done, the runs done of it, and all of its runs.

    Raises:
        ScenarioError: the link, an algorithm or a value is wrong.
        Unanswered: interrupted before the first seed of all algorithms was done. Later interrupts give an
            answer from what is done, whose `interrupted` is true.
    """
    tell = progress or (lambda what, done, total: None)
    if sum(given is not None for given in (link, scenario)) + bool(measured) > 1:
        raise _core.ScenarioError("give one of link, scenario and measured")
    values = {"rate": rate, "rtt": rtt, "per": per, "ber": ber, "buffer": buffer}
    spans = {name: span(name, value) for name, value in values.items() if value is not None}
    notes: list[str] = []
    if measured:
        from bentpipe.measured import estimate

        found = estimate(measured)
        spans = {**found.spans(spans), **spans}
        link = found.link(spans)
        notes = found.notes(spans)
    if per is not None and ber is not None:
        raise _core.ScenarioError("give per or ber, not both")
    question = Question(
        link=scenario if scenario is not None else link, whole=scenario is not None, spans=spans,
        timeline=timeline, flows=flows, competing=tuple(map(_competing, competing)), goal=goal,
        shared=shared, seed=seed, notes=notes,
    ).loaded()  # fmt: skip
    question.check()
    asked, left = question.candidates([cc] if isinstance(cc, str) else cc)
    if thorough and plan is not None:
        raise _core.ScenarioError("give thorough or plan, not both")
    given = None if plan is None else schedule.read(plan)
    limit_s = seconds(budget, "budget")
    work = _Work(question, asked, left, tell)
    run_s = None if duration is None else seconds(duration, "duration")
    work.go(given, limit_s, run_s, thorough=thorough)
    options = {
        "cc": cc, "duration": duration, "measured": measured, "scenario": scenario, "timeline": timeline,
        "link": None if measured else link, "competing": competing, **values,
    }  # fmt: skip
    return work.answer(command(question, options, work.made))


def command(question: Question, options: Mapping[str, Any], made: Schedule) -> str:
    """The command line that repeats an answer."""
    import shlex

    words = ["bentpipe", "advise"]
    given = dict(options)
    for name in ("link", "scenario", "rate", "rtt", "per", "ber", "buffer", "timeline"):
        value = given.get(name)
        if value is None:
            continue
        words += [f"--{name}", str(value) if isinstance(value, str | Path | float | int) else "FILE"]
    for name in ("measured", "competing"):
        for value in given.get(name) or ():
            words += [f"--{name}", str(value)]
    if given.get("cc"):
        words += ["--cc", ",".join(c if isinstance(c, str) else c.__name__ for c in given["cc"])]
    words += ["--flows", str(question.flows)] if question.flows > 1 else []
    words += ["--goal", question.goal] if question.goal != "throughput" else []
    words += [] if question.shared else ["--not-shared"]
    words += ["--seed", str(question.seed)] if question.seed != 1 else []
    return shlex.join([*words, "--plan", str(made)])


class _Work:
    """The two stages, with what is known at any time."""

    def __init__(self, question: Question, asked: list[Candidate], left: list[str], tell: Told) -> None:
        self.question = question
        self.asked = asked
        self.tell = tell
        self.cut = list(left)
        self.rtt_s = 0.0
        self.screened: dict[str, Trials] = {}
        self.finals: dict[str, Trials] = {}
        self.made = Schedule(Stage(len(asked), 1, 1.0), None)
        self.interrupted = False

    def go(self, given: Schedule | None, limit_s: float, run_s: float | None, *, thorough: bool) -> None:
        begun = time.monotonic()
        workers = len(os.sched_getaffinity(0))
        try:
            self.tell("measuring how fast this machine is", 0, 1)
            full_s, cost = self._speed(run_s)
        except KeyboardInterrupt:
            raise Unanswered("nothing is known yet") from None
        if given is None and thorough:
            given = schedule.thorough(len(self.asked), full_s)
        stage = given.screen if given else schedule.screening(len(self.asked), full_s, cost, limit_s, workers)
        # CUBIC and Reno are what harm is measured against.
        some = self._with_rivals(self.asked[: stage.algorithms])
        if len(some) < len(self.asked):
            names = ", ".join(one.label for one in self.asked if one not in some)
            self.cut.append(f"The plan had no room for {names}; a larger budget has.")
        stage = Stage(len(some), stage.seeds, stage.run_s)
        self.made = Schedule(stage, None)
        since = time.monotonic()
        self.screened = self._stage("screening", some, stage)
        if not self.screened:
            raise Unanswered("no algorithm was run to the end yet; nothing is known")
        if self.interrupted:
            self.made = Schedule(
                Stage(len(some), len(self.screened["cubic"].values["goodput_bps"]), stage.run_s), None
            )
            self.cut.append("It was interrupted while screening: the seeds that are done decide.")
            return
        now = time.monotonic()
        final = given.final if given else schedule.finals(stage, full_s, now - since, limit_s - (now - begun))
        if final is None:
            if given is None:
                self.cut.append("The budget had no room for a second stage with more seeds; --thorough has.")
            return
        self._final(some, final)

    def answer(self, repeat: str) -> Advice:
        """What follows from the runs that are done."""
        last = self.finals or self.screened
        together = {**self.screened, **self.finals}
        flagged = {
            name: found
            for name, one in together.items()
            if (
                found := flags.flags(
                    one, last if name in last else self.screened, shared=self.question.shared
                )
            )
        }
        fine = {name: one for name, one in last.items() if name not in flagged}
        return Advice(
            question=self.question,
            schedule=self.made,
            trials=together,
            last=list(last),
            groups=ranking.groups(fine, self.question.goal) if fine else [],
            flagged=flagged,
            assumptions=wording.assumptions(self.question, self.rtt_s),
            cut=self.cut,
            command=repeat,
            interrupted=self.interrupted,
        )

    def _speed(self, run_s: float | None) -> tuple[float, float]:
        """Full length of a run, and the seconds that a simulated second of CUBIC takes."""
        from bentpipe.runs import run

        cubic = self.asked[[one.id for one in self.asked].index("cubic")]
        first = run(self.question.alone(cubic, 0, 5.0))
        known = [flow["rtt_min_s"] for flow in first.json["flows"] if flow["rtt_min_s"]]
        if not known:
            raise _core.ScenarioError(
                "nothing comes back over this link within 5 s: its delay is too long, or it loses everything"
            )
        self.rtt_s = min(known)
        full_s = run_s or schedule.run_time(self.rtt_s)
        since = time.perf_counter()
        run(self.question.alone(cubic, 0, full_s))
        return full_s, (time.perf_counter() - since) / full_s

    def _final(self, some: list[Candidate], final: Stage) -> None:
        reckless = {
            name
            for name, one in self.screened.items()
            if flags.flags(one, self.screened, shared=self.question.shared)
        }
        ranked = ranking.order(self.screened, self.question.goal)
        best = [name for name in ranked if name not in reckless][: final.algorithms]
        by_id = {one.id: one for one in some}
        chosen = self._with_rivals([by_id[name] for name in best])
        names = {one.id for one in chosen}
        dropped = [by_id[name].label for name in ranked if name not in names | reckless]
        if dropped:
            self.cut.append(
                f"Screened with {self.made.screen.seeds} seeds and not among the best {final.algorithms}: "
                f"{', '.join(dropped)}."
            )
        self.finals = self._stage(f"the best {final.algorithms}", chosen, final)
        done = len(self.finals["cubic"].values["goodput_bps"]) if self.finals else 0
        if self.interrupted:
            self.cut.append(
                f"It was interrupted: {done} of {final.seeds} seeds of the second stage are done."
            )
        if done:
            self.made = Schedule(self.made.screen, Stage(final.algorithms, done, final.run_s))

    def _stage(self, what: str, some: list[Candidate], stage: Stage) -> dict[str, Trials]:
        """All seeds of a stage; fewer if it is interrupted."""
        found = {one.id: Trials(one) for one in some}
        each = len(some) * len(trials.ROLES)
        done = 0
        try:
            for n in range(stage.seeds):
                self.tell(what, n * each, stage.seeds * each)
                ahead = n * each
                measured = trials.run_seed(
                    self.question, some, n, stage.run_s, partial(self._tell, what, ahead, stage.seeds * each)
                )
                for name, values in measured.items():
                    found[name].add(values)
                done += 1
        except KeyboardInterrupt:
            self.interrupted = True
        if not done:
            return {}
        trials.harm(found)
        return found

    def _tell(self, what: str, ahead: int, total: int, count: int) -> None:
        """Some runs of a seed are done, and all of those before."""
        self.tell(what, ahead + count, total)

    def _with_rivals(self, some: list[Candidate]) -> list[Candidate]:
        known = {one.id for one in some}
        return some + [one for one in self.asked if one.id in ("cubic", "reno") and one.id not in known]


def _competing(text: str) -> tuple[str, int]:
    """Algorithm and number of "3 cubic", "cubic 3" or "cubic"."""
    from bentpipe.registry import find

    words = text.split()
    counts = [word for word in words if word.isdigit()]
    names = [word for word in words if not word.isdigit()]
    if len(names) != 1 or len(counts) > 1 or counts == ["0"]:
        raise _core.ScenarioError(f'competing: {text!r} is not understood; write for example "3 cubic"')
    return str(find(names[0].lower())["id"]), int(counts[0]) if counts else 1
