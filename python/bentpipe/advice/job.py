"""The job of `advise`, from question to answer: measures the speed, makes a plan, runs it, judges."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bentpipe import _core
from bentpipe.advice import flags, ranking, schedule, wording
from bentpipe.advice.question import Question
from bentpipe.advice.race import Race, Told, Unanswered
from bentpipe.advice.schedule import Budget, Schedule
from bentpipe.advice.verdict import Advice
from bentpipe.comparison import algorithms
from bentpipe.controller import spelled
from bentpipe.document.spans import Span, ranges
from bentpipe.models import Link
from bentpipe.sweeps.execution import Executor, cores
from bentpipe.sweeps.kept import FOLDER
from bentpipe.sweeps.lab import Lab
from bentpipe.units import seconds

if TYPE_CHECKING:
    from bentpipe.scenario import Scenario

BUDGET = "30 s"
"""Approximate time limit of an answer by default."""
_UNWEIGHED = Link(rate="1 Mbit/s", delay="1 ms")
"""In the place of a measured link while the rest of a question is checked."""


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
    relay: str | None = None,
    competing: Sequence[str] = (),
    goal: str = "throughput",
    shared: bool = True,
    cc: str | Sequence[Any] = (),
    duration: str | None = None,
    seed: int = 1,
    budget: str = BUDGET,
    thorough: bool = False,
    plan: str | None = None,
    progress: Told | None = None,
    begun: float | None = None,
    out: str | Path | None = None,
    fresh: bool = False,
    workers: int = 0,
    executor: Callable[[], Executor] | None = None,
) -> Advice:
    """Recommends a congestion control for a link, with evidence.

    Every registered algorithm races on the link, seed after seed, and leaves when its interval lies below
    that of the best. The best are then run as one flow beside one of CUBIC and beside one of Reno, and with
    one file of 2 MB. Those that are fast at the expense of others are flagged and not recommended.

    Args:
        link: a shipped scenario's name, a TOML file, a `Link` or a `Scenario`: its links and its unresponsive
            traffic. Or leave it out, and give rate and rtt.
        scenario: instead, a whole scenario; its first flow takes each algorithm in turn, and all its flows
            with a controller are judged together.
        measured: instead, files of measurements of the link (docs/advise.md has their formats).
        rate: "20 Mbit/s", or a range "15 Mbit/s..25 Mbit/s". The next four may be ranges, too.
        rtt: round-trip time without queues, "600 ms".
        per: packet error rate, 1e-4 or "1e-5..1e-3".
        ber: bit error rate.
        buffer: "1 bdp", "432 packets", "1 MB", or a time at the link's rate, "4 s".
        timeline: a file with the link over time (docs/timeline.md).
        flows: number of flows of the algorithm at once.
        relay: instead of the flow's own: "none", "hybla" or "gateway, buffer=8 MB" (`relays.relay_of`).
        competing: flows beside them all the time, such as "3 cubic"; during the measurements, too.
        goal: "throughput", "delay", "fair" or "completion"; `advice.question.GOALS` defines each.
        shared: whether flows of others use the link. If not, harm to them flags nothing.
        cc: judge these only (and CUBIC and Reno, for comparison): names, also with parameters,
            "FILE.py:CLASS", `Controller` subclasses, or a text of several with commas between.
        duration: simulated time of a run; by default a time line whole, else as `schedule.run_time` says.
        seed: the first seed.
        budget: approximate time that it may take, not counting the weighing of measurements. The speed of
            this machine decides how many seeds that is.
        thorough: more seeds, without a budget.
        plan: repeat exactly the plan of an earlier answer, "60x12x60s+5".
        progress: called with the current task, the runs done of it, and all of its runs.
        begun: when the budget began, by `time.monotonic`; by default now.
        out: a folder whose `.runs` keeps the runs of the race. Those that are there are not made again, so
            the same call goes on after a stop.
        fresh: forget the runs that are there.
        workers: threads, or processes for controllers in Python; 0: one per processor.
        executor: makes the executor of the race's runs, in place of this machine.

    Raises:
        ScenarioError: the link, an algorithm or a value is wrong.
        Unanswered: interrupted before the first seed of all algorithms was done. Later interrupts give an
            answer from the finished runs, whose `interrupted` is true.
    """
    begun = time.monotonic() if begun is None else begun
    if sum(given is not None for given in (link, scenario)) + bool(measured) > 1:
        raise _core.ScenarioError("give one of link, scenario and measured")
    if per is not None and ber is not None:
        raise _core.ScenarioError("give per or ber, not both")
    if thorough and plan is not None:
        raise _core.ScenarioError("give thorough or plan, not both")
    given = None if plan is None else schedule.read(plan)
    values = {"rate": rate, "rtt": rtt, "per": per, "ber": ber, "buffer": buffer}
    spans = ranges(**values)
    tell = progress or (lambda what, done, total: None)
    limit_s = seconds(budget, "budget")
    exact = thorough or plan is not None
    others = tuple(map(_competing, competing))
    if link is None and scenario is None and timeline is not None and not measured:
        link, spans = _of_time_line(timeline, spans)
    question = Question(
        link=_UNWEIGHED if measured else link if scenario is None else scenario,
        whole=scenario is not None, spans=spans, timeline=timeline, flows=flows, relay=relay,
        competing=others, goal=goal, shared=shared, seed=seed,
    ).loaded()  # fmt: skip
    question.check()
    cc = algorithms(cc) if isinstance(cc, str) else list(cc)
    asked, left = question.candidates(cc)
    worked = None
    if measured:
        question, worked = _weighed(question, measured, limit_s, tell, exact=exact)
        asked, left = question.candidates(cc)
        begun = time.monotonic()  # the race has its budget, however long weighing took
    run_s = None if duration is None else seconds(duration, "duration")
    place = None if out is None else Path(out) / FOLDER
    with Lab(place, workers=workers, executor=executor, fresh=fresh) as lab:
        race = Race(lab, question, asked, left, tell)
        budgeted = Budget(None if given or thorough else limit_s, begun, workers or cores())
        race.go(given, budgeted, run_s, thorough=thorough)
        if not race.interrupted:
            lab.prune()
    options = {
        "cc": cc, "duration": duration, "measured": measured, "scenario": scenario, "timeline": timeline,
        "link": None if measured else link, "competing": competing, **values,
        "budget": worked,
    }  # fmt: skip
    return _judged(race, command(question, options, race.plan))


def _weighed(
    question: Question, files: Sequence[str | Path], limit_s: float, tell: Told, *, exact: bool
) -> tuple[Question, str | None]:
    """The question over the links that are consistent with the measurements.

    Takes about the time limit at most, or, if it is to be exact, as much work as is usual for it. The
    returned budget is that whose usual work was done; None if it is that of 30 s.

    Raises:
        ScenarioError: a file is wrong, or does not contain enough data.
        Unanswered: interrupted.
    """
    from bentpipe.measured import estimate
    from bentpipe.measured.said import title, typical

    measured, spans = estimate(files), question.spans
    usual_s = seconds(BUDGET, "budget")
    try:
        until = None if exact else time.monotonic() + schedule.PATIENCE * limit_s
        effort = min(limit_s / usual_s, 1.0)
        found = measured.possible(spans, question.seed, effort, tell, until, question.competing)
    except KeyboardInterrupt:
        raise Unanswered("nothing is known yet") from None
    middle, notes = typical(found).values(), measured.notes(found, spans)
    if question.competing:
        others = ", ".join(f"{count} of {cc}" for cc, count in question.competing)
        notes.append(f"The flows of others ({others}) are assumed to have run during the measurement, too.")
    over = dataclasses.replace(
        question, link=Link(rate=middle["rate"], delay=f"{seconds(middle['rtt'], 'rtt') / 2:.9g} s"),
        name=title(found, spans), notes=notes, draws=found.draws,
        tests=[(test.cc, test.goodput_bps) for test in measured.tests],
    )  # fmt: skip
    return over, f"{found.effort * usual_s:.9g} s" if found.effort < 1 else None


def command(question: Question, options: Mapping[str, Any], made: Schedule) -> str:
    """The command line that repeats an answer."""
    import shlex

    words = ["bentpipe", "advise"]
    given = dict(options)
    for name in ("link", "scenario", "rate", "rtt", "per", "ber", "buffer", "timeline", "budget"):
        value = given.get(name)
        if value is None:
            continue
        words += [f"--{name}", str(value) if isinstance(value, str | Path | float | int) else "FILE"]
    for name in ("measured", "competing"):
        for value in given.get(name) or ():
            words += [f"--{name}", str(value)]
    if given.get("cc"):
        words += ["--cc", ", ".join(map(spelled, given["cc"]))]
    words += ["--flows", str(question.flows)] if question.flows > 1 else []
    words += ["--relay", question.relay] if question.relay is not None else []
    words += ["--goal", question.goal] if question.goal != "throughput" else []
    words += [] if question.shared else ["--not-shared"]
    words += ["--seed", str(question.seed)] if question.seed != 1 else []
    return shlex.join([*words, "--plan", str(made)])


def _of_time_line(timeline: str | Path, spans: dict[str, Span]) -> tuple[Link | None, dict[str, Span]]:
    """A link as the file has it, with means for keys that depend on one value, such as a buffer in BDPs.

    Raises:
        ScenarioError: the file has a rate or a delay, and another one is given.
        OSError: it cannot be read.
    """
    from bentpipe.timeline.measures import nominal

    known = nominal(timeline)
    found = {}
    for name, key in (("rate", "rate"), ("rtt", "delay")):
        if key in known and name in spans:
            raise _core.ScenarioError(f"{name}: {timeline} has it; leave one of them out")
        if key not in known and name not in spans:
            return None, spans  # the question says what is missing
        found[key] = known.get(key) or spans[name].at(0.5)
    if "delay" not in known:
        found["delay"] = f"{round(seconds(found['delay'], 'rtt') / 2 * 1e9)} ns"
    return Link(rate=found["rate"], delay=found["delay"]), spans


def _judged(race: Race, repeat: str) -> Advice:
    """Builds the answer from the runs that are done."""
    question, known = race.question, race.trials()
    flagged = flags.all_flags(known, question)
    fine = {name: one for name, one in race.compared().items() if name not in flagged}
    return Advice(
        question=question,
        plan=race.plan,
        trials=known,
        asked=len(race.asked),
        finalists=race.finalists(),
        left=race.left,
        groups=ranking.groups(fine, question.goal) if fine else [],
        flagged=flagged,
        assumptions=wording.assumptions(question, race.plan, race.rtt_s),
        cut=[*race.cut, *wording.left_out(race)],
        command=repeat,
        rtt_s=race.rtt_s,
        interrupted=race.interrupted,
        warnings=race.warnings,
    )


def _competing(text: str) -> tuple[str, int]:
    """Algorithm and number of "3 cubic", "cubic 3" or "cubic"."""
    from bentpipe.registry import find

    words = text.split()
    counts = [word for word in words if word.isdigit()]
    names = [word for word in words if not word.isdigit()]
    if len(names) != 1 or len(counts) > 1 or counts == ["0"]:
        raise _core.ScenarioError(f'competing: {text!r} is not understood; write for example "3 cubic"')
    return str(find(names[0].lower())["id"]), int(counts[0]) if counts else 1
