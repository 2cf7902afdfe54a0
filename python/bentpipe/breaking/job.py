"""A search from the question to the answer: search, shrink, confirm, and say where the mechanism shows."""

from __future__ import annotations

import json
import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bentpipe import _core
from bentpipe.breaking import mechanism, record
from bentpipe.breaking.conditions import PULSES, Bounds, Conditions, in_words
from bentpipe.breaking.goals import FALLBACK, YARDSTICK, RunAnswer, find_goal
from bentpipe.breaking.observation import Trace
from bentpipe.breaking.search import BATCH, Search
from bentpipe.breaking.shrink import shrink
from bentpipe.breaking.trials import Algorithm, Pair, SearchRuns, Tell, traced
from bentpipe.controller import spelled
from bentpipe.document.spans import ranges
from bentpipe.io import files
from bentpipe.result import Result
from bentpipe.sweeps.execution import Executor
from bentpipe.sweeps.kept import FOLDER
from bentpipe.sweeps.lab import Lab
from bentpipe.units import seconds

if TYPE_CHECKING:
    from bentpipe.plot import Drawing

SHRINK_SEEDS, CONFIRM_SEEDS = 3, 5
"""Seeds of the median that decides while a link is shrunk, and further ones that confirm the result."""
FINALISTS = 8
"""The best links of the search that are tried with `SHRINK_SEEDS` before one of them is shrunk."""
KEEP = 0.5
"""A shrunk link must keep this share of what the found one's score has beyond the limit."""
KEEP_BELOW = 0.9
"""The same of the whole score, if that does not reach the limit."""
SEARCHING = 0.8
"""The share of a budget of time that the search has; the rest is for shrinking and confirming."""
FILE, PAGE, FIGURE = "found.toml", "found.json", "found.svg"
"""Files of an answer."""


@dataclass
class Found:
    """The worst link that a search found.

    Attributes:
        pair: the goal, the algorithm and the yardstick.
        conditions: the link, shrunk unless the search was interrupted.
        seed: of the run.
        measured: the goal's number there.
        confirmed: that number with other seeds.
        where: where the mechanism shows, sentences from the trace.
        links: links that were tried by the search.
        runs: simulations in all.
        elapsed_s: how long it took.
        cpu_s: processor time of this process.
        interrupted: whether the user stopped it.
        command: the command that finds it again.
    """

    pair: Pair
    conditions: Conditions
    seed: int
    measured: RunAnswer
    confirmed: Sequence[float] = ()
    where: str = ""
    links: int = 0
    runs: int = 0
    elapsed_s: float = 0.0
    cpu_s: float = 0.0
    interrupted: bool = False
    command: str = ""
    _seen: tuple[Any, Any] | None = field(default=None, repr=False)

    @property
    def fails(self) -> bool:
        """Whether the number is beyond the limit of the goal."""
        return self.pair.goal.fails(self.measured.value)

    @property
    def held(self) -> int:
        """The number of other seeds with which it fails."""
        return sum(map(self.pair.goal.fails, self.confirmed))

    @property
    def scenario(self) -> dict[str, Any]:
        """The scenario as plain data."""
        found = self.pair.scenario(self.conditions, self.seed)
        found["record"] = {**found["record"], "links": True}
        algorithms = (self.pair.subject, self.pair.yardstick)
        record.rename(found, {one.cc: spelled(one.text) for one in algorithms if one.own})
        return found

    def text(self) -> str:
        """The file of the failure (`bentpipe.breaking.record`)."""
        head = record.RecordHead(
            algorithm=spelled(self.pair.subject.text),
            goal=self.pair.goal.name,
            value=self.measured.value,
            yardstick=spelled(self.pair.yardstick.text),
            subject_value=self.measured.subject,
            yardstick_value=self.measured.yardstick,
            confirmed=f"{self.held} of {len(self.confirmed)}",
            where=self.where,
            cause="",
            command=self.command,
        )
        return head.text(self.scenario, self.title)

    @property
    def title(self) -> str:
        """What it shows, in a line."""
        return f"{self.pair.subject.label}: {self.pair.goal.title}"

    def figure(self) -> Drawing:
        """The algorithm beside the yardstick over time."""
        from bentpipe.breaking.figure import figure

        return figure(self.pair, self.scenario, *self.traces(), self.title)

    def traces(self) -> tuple[dict[str, dict[str, Trace]], dict[str, Result]]:
        """The traces of the flows of each run by its role, and its result."""
        if self._seen is None:
            self._seen = traced(self.pair, self.pair.scenario(self.conditions, self.seed))
        return self._seen

    def to_dict(self) -> dict[str, Any]:
        """The answer as plain values; an infinite number is None."""
        return {
            "algorithm": spelled(self.pair.subject.text),
            "goal": self.pair.goal.name,
            "yardstick": spelled(self.pair.yardstick.text),
            "fails": self.fails,
            "value": _finite(self.measured.value),
            "limit": self.pair.goal.limit,
            "subject_value": _finite(self.measured.subject),
            "yardstick_value": _finite(self.measured.yardstick),
            "confirmed": [_finite(value) for value in self.confirmed],
            "link": in_words(self.scenario),
            "where": self.where,
            "scenario": self.scenario,
            "links": self.links,
            "runs": self.runs,
            "elapsed_s": self.elapsed_s,
            "cpu_s": self.cpu_s,
            "interrupted": self.interrupted,
            "command": self.command,
        }

    def write(self, folder: Path) -> list[Path]:
        """Writes the file, the answer as JSON, and the figure unless the search was interrupted.

        Raises:
            OSError: they cannot be written.
        """
        folder.mkdir(parents=True, exist_ok=True)
        text = self.text()
        files.replace_text(folder / FILE, text)
        answer = json.dumps({"schema": 1, **self.to_dict()}, indent=2)
        files.replace_text(folder / PAGE, answer)
        if self.interrupted:
            return [folder / FILE]
        from bentpipe.plot import save

        return [folder / FILE, save(self.figure(), folder / FIGURE)]


def break_(
    algorithm: Any,
    goal: str = "slow",
    *,
    against: Any = None,
    profile: str | None = None,
    rate: str | None = None,
    rtt: str | None = None,
    buffer: str | None = None,
    without: Sequence[str] = (),
    changes: int = 3,
    duration: str = "30 s",
    seed: int = 1,
    runs: int | None = None,
    budget: str = "60 s",
    out: str | Path | None = None,
    fresh: bool = False,
    workers: int = 0,
    progress: Tell | None = None,
    executor: Callable[[], Executor] | None = None,
    command: str = "",
) -> Found:
    """Searches the link on which an algorithm is worst, and shrinks it to what matters (docs/break.md).

        found = bp.break_("bbr", "stall", runs=2000)
        print(found.where)
        found.figure()

    Args:
        algorithm: a name, a name with parameters ("vegas alpha=2"), "FILE.py:CLASS", or a class.
        goal: a name of `bentpipe.breaking.goals.GOALS`.
        against: the yardstick; by default Reno, and CUBIC for Reno itself.
        profile: the options of all connections, "linux"; by default those of a flow without a profile.
        rate: bounds of the rate, "1-10 Mbit/s", or a value.
        rtt: bounds of the round trip without queues, "10-600 ms".
        buffer: bounds of the queue, "0.2..4 bdp".
        without: parts that no link has: names of `bentpipe.breaking.conditions.PARTS`.
        changes: most changes of the time line.
        duration: simulated time of a run.
        seed: of the search, and the first of its runs.
        runs: stop after this number of runs, and not by time. The answer then does not depend on the
            number of workers.
        budget: otherwise, how long the search may take.
        out: a folder for the file, the figure and the runs. Runs that are there are not made again, so the
            same call goes on after a stop.
        fresh: forget the runs that are there.
        workers: threads, or processes for controllers in Python; 0: one per processor.
        progress: called with the state of the search.
        executor: makes the executor of the runs, in place of this machine.
        command: the command that finds it again, for the file.

    Raises:
        KeyboardInterrupt: the user stopped it before any link was tried. Later the worst so far is returned.
        ScenarioError: a name or a value is wrong, cmaes is missing, or another process uses `out`.
        ControllerError: the algorithm failed in every run.
        OSError: `out` cannot be written.
    """
    began, cpu = time.monotonic(), time.process_time()
    wanted, subject = find_goal(goal), Algorithm.of(algorithm)
    if against is None:
        against = FALLBACK if subject.cc == YARDSTICK else YARDSTICK
    pair = Pair(wanted, subject, Algorithm.of(against), profile)
    spans = ranges(rate=rate, rtt=rtt, buffer=buffer)
    bounds = Bounds(seconds(duration, "duration"), spans, tuple(without), changes)
    until = None if runs is not None else began + SEARCHING * seconds(budget, "budget")
    space = bounds.variables(two=pair.goal.second != "none", cross=pair.goal.pulses)
    if not space:
        raise _core.ScenarioError("nothing is left to vary: give a range, or leave out fewer parts")
    search = Search(space, seed)
    place = None if out is None else Path(out) / FOLDER
    with Lab(place, workers=workers, executor=executor, fresh=fresh) as lab:
        trials = SearchRuns(pair, lab, progress)
        trials.report("searching")
        best: list[tuple[float, Conditions, RunAnswer]] = []
        links, asked, interrupted = 0, 0, False
        try:
            while asked < runs if runs is not None else time.monotonic() < (until or 0.0) or not links:
                tried = [bounds.conditions(point, cross=pair.goal.pulses) for point in search.ask()]
                answers = trials.measure([(link, seed) for link in tried])
                scores = [-math.inf if answer is None else answer.score for answer in answers]
                search.tell(scores)
                links, asked = links + BATCH, asked + 2 * BATCH
                best += [(s, c, a) for s, c, a in zip(scores, tried, answers, strict=True) if a is not None]
                best = sorted(best, key=lambda one: -one[0])[:FINALISTS]
                share = asked / runs if runs else (time.monotonic() - began) / seconds(budget, "budget")
                worst = f"{best[0][2].value:.3g}" if best else "none"
                trials.report(f"searching, worst so far {worst}", min(1.0, share))
            if not best:
                trials.refuse()
            found = _settled(pair, trials, best, seed)
        except KeyboardInterrupt:
            if not best:
                raise
            interrupted = True
            found = Found(pair, best[0][1], seed, best[0][2], interrupted=True)
        found.links, found.runs = links, trials.runs
    found.elapsed_s, found.cpu_s = time.monotonic() - began, time.process_time() - cpu
    found.command = command
    if not interrupted:
        found.where = mechanism.sentence(pair, found.scenario, found.traces()[0])
    return found


def _settled(
    pair: Pair,
    trials: SearchRuns,
    best: Sequence[tuple[float, Conditions, RunAnswer]],
    seed: int,
) -> Found:
    """The worst of the best links over several seeds, shrunk and confirmed."""
    seeds = range(seed, seed + SHRINK_SEEDS)

    def medians(links: Sequence[Conditions]) -> list[float]:
        answers = trials.measure([(link, each) for link in links for each in seeds])
        scores = [-math.inf if answer is None else answer.score for answer in answers]
        return [statistics.median(scores[i : i + SHRINK_SEEDS]) for i in range(0, len(scores), SHRINK_SEEDS)]

    trials.report("trying the worst with other seeds")
    links = [link for _, link, _ in best]
    scores = medians(links)
    top = max(range(len(links)), key=scores.__getitem__)
    if scores[top] == -math.inf:  # usable with the seed of the search alone
        return Found(pair, links[0], seed, best[0][2])
    # The score of a number at the limit of the goal, where rates are large beside `LITTLE`.
    limit = -math.log(pair.goal.limit) if pair.goal.worse == "less" else pair.goal.limit
    if scores[top] > limit:
        enough = limit + KEEP * (scores[top] - limit)
    else:
        enough = KEEP_BELOW * scores[top] if scores[top] > 0 else scores[top]
    shrunk = shrink(
        links[top],
        lambda some: [score >= enough for score in medians(some)],
        trials.report,
        pulses=PULSES if pair.goal.pulses else 0,
    )
    trials.report("confirming")
    answers = trials.measure([(shrunk, seed + i) for i in range(SHRINK_SEEDS + CONFIRM_SEEDS)])
    known = [(answer, seed + i) for i, answer in enumerate(answers[:SHRINK_SEEDS]) if answer is not None]
    if not known:
        trials.refuse()
    # The seed of the median, so that the run that is shown is a usual one.
    first, of = sorted(known, key=lambda one: one[0].score)[len(known) // 2]
    rest = [answer.value for answer in answers[SHRINK_SEEDS:] if answer is not None]
    return Found(pair, shrunk, of, first, rest)


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
