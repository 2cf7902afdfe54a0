"""The answer as an object: groups, flags, costs, assumptions, what was cut, and how to repeat it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bentpipe import _core
from bentpipe.advice import ranking, standing
from bentpipe.advice.flags import HARM_MOST, Flag
from bentpipe.advice.quantities import QUANTITIES
from bentpipe.advice.question import CURE, GOALS, Question
from bentpipe.advice.schedule import LEAST_SEEDS, LEAST_TRIPS, Schedule
from bentpipe.advice.trials import Trials, comparable
from bentpipe.machine import linux
from bentpipe.machine.linux import Way
from bentpipe.measures import MeasureRow

if TYPE_CHECKING:
    import polars as pl

KEEP = 0.04
"""An algorithm that is easier to install is recommended if its mean is this close to the best: CUBIC before a
module, a module before an agent. Beyond that the effort gains nothing. Over measured links, where the means
are less certain, it must be a tie (`ranking.SAME`)."""
OPEN = 0.1
"""If another available algorithm may be better by more than this share, the answer is open."""


@dataclass(frozen=True)
class Advice:
    """The answer of `advise`.

    Attributes:
        question: the question.
        plan: the plan of the runs.
        trials: measurements, by the algorithm's id.
        asked: how many algorithms were to be judged.
        finalists: ids of those that stayed in the race to its end, and of CUBIC and Reno, the best first.
        left: algorithms that dropped out, by id, with the number of seeds they had.
        groups: groups of ids, the best group first, tied inside; without those that are flagged.
        flagged: why an algorithm is fast and reckless, by its id.
        assumptions: assumptions of the answer, as sentences.
        cut: what was left out, with the reasons, as sentences.
        command: the command that repeats it.
        rtt_s: the least round-trip time seen, seconds.
        interrupted: whether it was stopped before all runs were done.
        warnings: of the simulator, on CUBIC's first run alone.
    """

    question: Question
    plan: Schedule
    trials: Mapping[str, Trials]
    asked: int
    finalists: Sequence[str]
    left: Mapping[str, int]
    groups: Sequence[Sequence[str]]
    flagged: Mapping[str, Sequence[Flag]]
    assumptions: Sequence[str]
    cut: Sequence[str]
    command: str
    rtt_s: float
    interrupted: bool = False
    warnings: Sequence[str] = ()

    def __repr__(self) -> str:
        return f"Advice({' '.join(self.sentences()[:1])})"

    def _repr_html_(self) -> str:
        """The answer for a notebook: its sentences, and the algorithms that stayed."""
        from html import escape

        import polars as pl

        said = "".join(f"<p>{escape(sentence)}</p>" for sentence in self.sentences())
        stayed = self.frame.filter(pl.col("cc").is_in(list(self.finalists)))
        return f"{said}{stayed._repr_html_()}"

    @property
    def best(self) -> str | None:
        """The id of the best algorithm, available or not; None if all are flagged."""
        return next(iter(self._fine(lambda way: True)), None)

    @property
    def recommended(self) -> str | None:
        """The id of the algorithm to use: the best available, or one as good that is easier to install.

        None if no available algorithm is suitable.
        """
        return self._of(self._fine(lambda way: way.had))

    @property
    def recommended_in_linux(self) -> str | None:
        """The same among those that are built into Linux or are modules of it."""
        return self._of(self._fine(lambda way: way.in_linux))

    @cached_property
    def compared(self) -> Mapping[str, Trials]:
        """The measurements as they are compared: over measured links goodputs are shares of the rate."""
        return comparable(self.trials, self.question)

    @property
    def doubts(self) -> list[str]:
        """The reasons why the answer is still open, as clauses; empty if the runs decide it."""
        found = []
        if self.silent:
            found.append("nothing arrived after start-up in any run")
        if len(self.trials) < self.asked:
            found.append(f"the time was enough for {len(self.trials)} of {self.asked} algorithms")
        if self.plan.run_s < 0.95 * LEAST_TRIPS * self.rtt_s:
            trips = round(self.plan.run_s / self.rtt_s)
            found.append(f"a run had {trips} round trips, of which slow start is a large part")
        if self.plan.seeds < LEAST_SEEDS:
            found.append(
                "there was one seed" if self.plan.seeds == 1 else f"there were {self.plan.seeds} seeds"
            )
        if self.interrupted:
            found.append("it was interrupted")
        if found:
            return found
        open_ones = (
            self.perhaps_harmless(self.recommended, lambda way: way.had) if self.question.draws else []
        )
        labels = [self.trials[one].candidate.label for one in open_ones[:1]]
        perhaps = [
            f"{label} has much more, and may take less than half from a CUBIC flow beside it"
            for label in labels
        ]
        return [*self._rivals(), *perhaps]

    @property
    def silent(self) -> bool:
        """Whether no algorithm has brought anything in the measured time, or anything of what is compared."""
        goal = GOALS[self.question.goal]
        names = ("goodput_bps", goal.quantity) if goal.more else ("goodput_bps",)
        came = [[value for one in self.trials.values() for value in one.of(name)] for name in names]
        return any(values and not any(values) for values in came)

    @property
    def doubtful_in_linux(self) -> list[str]:
        """Algorithms of Linux that may be better than the one named for Linux: their harm is not known."""
        return self.perhaps_harmless(self.recommended_in_linux, lambda way: way.in_linux)

    @property
    def cure(self) -> dict[str, Any] | None:
        """The queues in which acknowledgements wait behind data, and what CUBIC has with others there.

        `worth` says whether that is more than any algorithm has without, by more than `OPEN`. None if
        there are no such queues, or it was not measured.
        """
        cured = self.trials["cubic"].of("cured_bps") if "cubic" in self.trials else []
        if not cured:
            return None
        best = max(
            (one.mean("goodput_bps") for one in self.trials.values() if one.of("goodput_bps")), default=0.0
        )
        found = _object(cured, QUANTITIES["goodput_bps"])
        assert found is not None
        return {
            "directions": ["/".join(way) for way in self.question.blocked],
            "queue": CURE,
            "cc": "cubic",
            "goodput_bps": found,
            "worth": found["centre"] > best * (1 + OPEN),
        }

    @property
    def standing(self) -> dict[str, Any] | None:
        """The standing answer to the same question, made with more work; None if there is none."""
        asked = self.question
        return standing.answers().get(asked.name) if asked.usual else None

    @property
    def sysctl(self) -> list[str]:
        """The file of settings that keeps the answer; empty if Linux has all without."""
        return linux.sysctl(self.recommended, self._bdp_bytes) if self.recommended else []

    @property
    def sysctl_file(self) -> str:
        """A file for /etc/sysctl.d with every setting for the link, each with its reason.

        Raises:
            ScenarioError: no algorithm is recommended.
        """
        if self.recommended is None:
            raise _core.ScenarioError(
                "--sysctl: nothing is recommended for this link, so no file was written"
            )
        return linux.sysctl_file(self.recommended, self._bdp_bytes, self.question.title)

    @property
    def _bdp_bytes(self) -> float:
        """The largest bandwidth-delay product of the links that were tried; 0 if it is not known."""
        windows = self.trials["cubic"].of("bdp_bytes") if "cubic" in self.trials else []
        return max(windows, default=0.0)

    @property
    def too_little_time(self) -> bool:
        """Whether the time was not enough for all algorithms, or for more than a seed or two."""
        return len(self.trials) < self.asked or self.plan.seeds < LEAST_SEEDS

    def _rivals(self) -> list[str]:
        """Available algorithms that are as good by their means, and may yet be better by more than `OPEN`."""
        chosen, goal = self.recommended, self.question.goal
        if chosen is None:
            return []
        gains = {
            one: -ranking.lead(self.compared[chosen], self.compared[one], goal, ranking.LIKELY)[0]
            for one in self._fine(lambda way: way.had)
            if one != chosen and one not in self.left and self.as_good(one, chosen)
        }
        may = [one for one, gain in gains.items() if gain > OPEN]
        if not may:
            return []
        most = max(may, key=lambda one: gains[one])
        more = f" and {len(may) - 1} more" if len(may) > 1 else ""
        gain = f"{100 * gains[most]:.0f} %" if math.isfinite(gains[most]) else "any amount"
        label = self.trials[most].candidate.label
        return [f"{label}{more} may be better by up to {gain}"]

    def perhaps_harmless(self, chosen: str | None, wanted: Callable[[Way], bool]) -> list[str]:
        """Those that are flagged for harm alone, which its interval leaves open; the best first.

        They are better than the chosen one by more than `OPEN`, with confidence.
        """
        goal = self.question.goal
        if chosen is None:
            return []
        leads = {
            one: ranking.lead(self.compared[one], self.compared[chosen], goal, ranking.LIKELY)[0]
            for one, flags in self.flagged.items()
            if {flag.kind for flag in flags} == {"harm"}
            and wanted(linux.way(one))
            and QUANTITIES["harm_cubic"].interval(self.trials[one].of("harm_cubic")).low <= HARM_MOST
        }
        return sorted((one for one in leads if leads[one] > OPEN), key=lambda one: -leads[one])

    @cached_property
    def to_avoid(self) -> list[str]:
        """The flagged that somebody might take: as good as the answer, or as the one of Linux.

        Those that Linux has come first, then the best. Those of measured transfers have their own sentence;
        so have those whose harm leaves the answer open.
        """
        goal, apart = self.question.goal, {cc for cc, _ in self.question.tests}
        if self.question.draws:
            apart |= {*self.perhaps_harmless(self.recommended, lambda way: way.had)}
        if self.recommended is not None and not linux.way(self.recommended).in_linux:
            apart |= {*self.doubtful_in_linux}
        ranked = ranking.order({one: self.compared[one] for one in self.flagged}, goal)

        def tempts(one: str) -> bool:
            other = self.recommended_in_linux if linux.way(one).in_linux else self.recommended
            return other is None or ranking.as_good(self.compared[one], self.compared[other], goal)

        named = [one for one in ranked if one not in apart and tempts(one)]
        return sorted(named, key=lambda one: not linux.way(one).in_linux)

    @cached_property
    def _unflagged(self) -> Mapping[str, Trials]:
        """The measurements of the unflagged algorithms, as they are compared."""
        return {one: self.compared[one] for group in self.groups for one in group}

    @cached_property
    def _fast(self) -> set[str]:
        """The unflagged algorithms that have the goodput that the goal "delay" demands."""
        return ranking.fast_enough(self._unflagged)

    def _fine(self, wanted: Callable[[Way], bool]) -> list[str]:
        """The unflagged algorithms that are obtained in such a way, the best first.

        One that brings nothing is none of them.
        """
        fine = self._unflagged
        ranked = ranking.order(fine, self.question.goal)
        there = [
            one
            for one in ranked
            if fine[one].of(self._quantity)
            and fine[one].mean("goodput_bps") != 0
            and (fine[one].mean(self._quantity) != 0 or not GOALS[self.question.goal].more)
        ]
        return [one for one in there if wanted(linux.way(one))]

    def _is_beaten(self, one: str, others: Sequence[str]) -> bool:
        """Whether it left the race, clearly behind another in their common seeds. Its mean is over fewer."""
        goal = self.question.goal
        return one in self.left and any(
            ranking.is_behind(self.compared[other], self.compared[one], goal) for other in others
        )

    def _of(self, had: Sequence[str]) -> str | None:
        """The one to recommend: among those as good as the best, the easiest to install."""
        some = [one for one in had if not self._is_beaten(one, had)]
        return _easiest([one for one in some if self._close(one, some[0])])

    @property
    def _quantity(self) -> str:
        return GOALS[self.question.goal].quantity

    def group_of(self, one: str) -> Sequence[str]:
        """The algorithms that are tied with this one, itself included; itself alone if it is flagged."""
        return next((group for group in self.groups if one in group), [one])

    @property
    def frame(self) -> pl.DataFrame:
        """A row for each algorithm, as in `rows`; of each quantity the centre, and columns _low and _high."""
        import polars as pl

        flat = []
        for row in self.rows():
            entry = {key: value for key, value in row.items() if not isinstance(value, dict | list)}
            entry["flags"] = "; ".join(flag["text"] for flag in row["flags"])
            for name in QUANTITIES:
                value = row[name] or {}
                entry |= {
                    name: value.get("centre"),
                    f"{name}_low": value.get("low"),
                    f"{name}_high": value.get("high"),
                }
            flat.append(entry)
        return pl.DataFrame(flat, infer_schema_length=None)

    def rows(self) -> list[dict[str, Any]]:
        """For each algorithm that was run: rank, flags, the way to obtain it, and its quantities.

        The unflagged come first, by group. A quantity is an object with centre, low, high (null for one run),
        runs and alike, or null if it was never measured.
        """
        ranked = [(rank, one) for rank, group in enumerate(self.groups, 1) for one in group]
        reckless = [
            (None, one)
            for one in ranking.order({n: self.compared[n] for n in self.flagged}, self.question.goal)
        ]
        return [self._row(rank, one) for rank, one in [*ranked, *reckless]]

    def final_rows(self) -> list[dict[str, Any]]:
        """The rows of `finalists`, of the best that Linux itself has, and of those that are named."""
        shown = {*self.finalists, self.recommended_in_linux, *self.to_avoid}
        shown |= {cc for cc, _ in self.question.tests}
        return [row for row in self.rows() if row["cc"] in shown]

    def sentences(self) -> list[str]:
        """The advice in two or three sentences."""
        from bentpipe.advice.wording import sentences

        return sentences(self)

    def to_dict(self) -> dict[str, Any]:
        """The answer as `bentpipe advise --json` prints it."""
        chosen = self.recommended
        return {
            "schema": 2,
            "version": _core.__version__,
            "advice": self.sentences(),
            "known": not self.doubts,
            "doubts": self.doubts,
            "recommended": chosen,
            "recommended_in_linux": self.recommended_in_linux,
            "doubtful_in_linux": self.doubtful_in_linux,
            "best": self.best,
            "question": self.question.title,
            "goal": self.question.goal,
            "goal_means": GOALS[self.question.goal].means,
            "plan": str(self.plan),
            "interrupted": self.interrupted,
            "connections": self.question.connections,
            "measured": [{"cc": cc, "received_bps": bps} for cc, bps in self.question.tests],
            "groups": [list(group) for group in self.groups],
            "algorithms": self.rows(),
            "standing": self.standing,
            "sysctl": self.sysctl,
            "cure": self.cure,
            "warnings": list(self.warnings),
            "assumptions": list(self.assumptions),
            "links": [draw.to_dict() for draw in self.question.draws],
            "cut": list(self.cut),
            "repeat": self.command,
        }

    def write(self, directory: str | Path) -> Path:
        """Writes advice.html and advice.json; returns the path of the page.

        Raises:
            OSError: they cannot be written.
        """
        import json

        from bentpipe.advice.page import build
        from bentpipe.io.files import replace_text

        place = Path(directory)
        text = json.dumps(self.to_dict(), indent=1, allow_nan=False) + "\n"
        replace_text(place / "advice.json", text)
        return build(self).write(place / "advice.html")

    def as_good(self, one: str, best: str, within: float = ranking.SAME) -> bool:
        """Whether an unflagged one is at most this share behind another, and as fast as the goal demands."""
        goal = self.question.goal
        slow = goal == "delay" and best in self._fast and one not in self._fast
        return not slow and ranking.as_good(self.compared[one], self.compared[best], goal, within)

    def _close(self, one: str, best: str) -> bool:
        return one == best or self.as_good(one, best, ranking.SAME if self.question.draws else KEEP)

    def _row(self, rank: int | None, one: str) -> dict[str, Any]:
        trials = self.trials[one]
        size = len(self.groups[rank - 1]) if rank is not None else 1
        way = linux.way(one)
        return {
            "cc": one,
            "label": trials.candidate.label,
            "rank": rank,
            "tied": size > 1,
            "seeds": len(trials.values[self._quantity]),
            "left": self.left.get(one),
            "had": way.kind,
            "how": way.text,
            "lacks": list(way.lacks),
            "commands": list(way.commands),
            "flags": [dataclasses.asdict(flag) for flag in self.flagged.get(one, ())],
            **{name: _object(trials.of(name), measure) for name, measure in QUANTITIES.items()},
        }


def _easiest(some: Sequence[str]) -> str | None:
    """The one that is easiest to install, the first of several: CUBIC is already present."""
    return min(some, key=lambda one: -1 if one == "cubic" else linux.way(one).effort, default=None)


def _object(values: list[float], measure: MeasureRow) -> dict[str, Any] | None:
    if not values:
        return None
    found = measure.interval(values)
    ends = {"low": found.low, "high": found.high}
    return {
        "centre": found.centre,
        **{name: None if math.isnan(end) else end for name, end in ends.items()},
        "runs": found.n,
        "alike": found.alike,
    }
