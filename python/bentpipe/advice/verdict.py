"""The answer: groups, flags, what each algorithm costs, assumptions, what was cut, and how to repeat it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bentpipe import _core, stats
from bentpipe.advice import linux, ranking
from bentpipe.advice.flags import Flag
from bentpipe.advice.question import GOALS, Question
from bentpipe.advice.schedule import Schedule
from bentpipe.advice.trials import Trials

if TYPE_CHECKING:
    import polars as pl

KEEP = 0.05
"""CUBIC stays if it is tied with the best and its mean is this close: then a change brings nothing."""
BOUNDS: Mapping[str, tuple[float | None, float | None]] = {
    "goodput_bps": (0.0, None),
    "jain": (0.0, 1.0),
    "queue_p50_s": (0.0, None),
    "queue_p95_s": (0.0, None),
    "loss": (0.0, 1.0),
    "own_loss": (0.0, 1.0),
    "resent": (0.0, None),
    "startup_s": (0.0, None),
    "file_s": (0.0, None),
    "beside_cubic_bps": (0.0, None),
    "cubic_bps": (0.0, None),
    "beside_reno_bps": (0.0, None),
    "reno_bps": (0.0, None),
    "worse_bps": (0.0, None),
    "harm_cubic": (0.0, 1.0),
    "harm_reno": (0.0, 1.0),
}
"""The quantities of an answer, and between which bounds each can lie."""


@dataclass(frozen=True)
class Advice:
    """What `advise` answers.

    Attributes:
        question: what was asked.
        schedule: what was run.
        trials: what the last stage measured, by the algorithm's id.
        asked: how many algorithms were to be judged.
        screened: how many of them were screened.
        groups: groups of ids, the best first, tied inside; without those that are flagged.
        flagged: why an algorithm is fast and reckless, by its id.
        assumptions: what the answer rests on, sentences.
        cut: what was left out, and why, sentences.
        command: what repeats it.
        rtt_s: the least round-trip time seen, seconds.
        interrupted: whether it was stopped before all runs were done.
    """

    question: Question
    schedule: Schedule
    trials: Mapping[str, Trials]
    asked: int
    screened: int
    groups: Sequence[Sequence[str]]
    flagged: Mapping[str, Sequence[Flag]]
    assumptions: Sequence[str]
    cut: Sequence[str]
    command: str
    rtt_s: float
    interrupted: bool = False

    @property
    def recommended(self) -> str | None:
        """The id of the algorithm to use, or None if all are flagged.

        CUBIC, if it is as good as the best: nothing need be changed. Else the best that Linux has in the best
        group; else the best of that group.
        """
        if not self.groups:
            return None
        best = self.groups[0]
        return self._in_linux(best, best[0]) or best[0]

    @property
    def recommended_in_linux(self) -> str | None:
        """The best one that Linux has, or None if it has none of those that are not flagged."""
        chosen = self.recommended
        if chosen is not None and linux.module(chosen):
            return chosen
        for group in self.groups:
            known = [one for one in group if linux.module(one)]
            if known:
                return self._in_linux(known, known[0])
        return None

    def group_of(self, one: str) -> Sequence[str]:
        """The algorithms that are tied with this one, itself included; itself alone if it is flagged."""
        return next((group for group in self.groups if one in group), [one])

    def _in_linux(self, some: Sequence[str], best: str) -> str | None:
        """CUBIC if it is as good as the best; else the first that Linux has and that is as good."""
        if "cubic" in some and self._close("cubic", best):
            return "cubic"
        return next((one for one in some if linux.module(one) and self._close(one, best)), None)

    @property
    def frame(self) -> pl.DataFrame:
        """A row for each algorithm, as in `rows`; of each quantity the centre, and columns _low and _high."""
        import polars as pl

        flat = []
        for row in self.rows():
            entry = {key: value for key, value in row.items() if not isinstance(value, dict | list)}
            entry["flags"] = "; ".join(flag["text"] for flag in row["flags"])
            for name in BOUNDS:
                value = row[name] or {}
                entry |= {
                    name: value.get("centre"),
                    f"{name}_low": value.get("low"),
                    f"{name}_high": value.get("high"),
                }
            flat.append(entry)
        return pl.DataFrame(flat, infer_schema_length=None)

    def rows(self) -> list[dict[str, Any]]:
        """For each algorithm of the last stage: rank, flags, and its quantities.

        The unflagged come first, by group. A quantity is an object with centre, low, high (null for one run),
        runs and alike, or null if it was never measured.
        """
        ranked = [(rank, one) for rank, group in enumerate(self.groups, 1) for one in group]
        reckless = [
            (None, one)
            for one in ranking.order({n: self.trials[n] for n in self.flagged}, self.question.goal)
        ]
        return [self._row(rank, one) for rank, one in [*ranked, *reckless]]

    def sentences(self) -> list[str]:
        """The advice in two or three sentences."""
        from bentpipe.advice.wording import sentences

        return sentences(self)

    def to_dict(self) -> dict[str, Any]:
        """The answer as `bentpipe advise --json` prints it."""
        chosen = self.recommended
        return {
            "schema": 1,
            "version": _core.version(),
            "advice": self.sentences(),
            "recommended": chosen,
            "recommended_in_linux": self.recommended_in_linux,
            "question": self.question.title,
            "goal": self.question.goal,
            "goal_means": GOALS[self.question.goal],
            "plan": str(self.schedule),
            "interrupted": self.interrupted,
            "groups": [list(group) for group in self.groups],
            "algorithms": self.rows(),
            "assumptions": list(self.assumptions),
            "cut": list(self.cut),
            "repeat": self.command,
        }

    def write(self, directory: str | Path) -> Path:
        """Writes advice.html and advice.json; returns the path of the page.

        Raises:
            OSError: they cannot be written.
        """
        import json

        from bentpipe.advice.page import write_page
        from bentpipe.files import replace

        place = Path(directory)
        place.mkdir(parents=True, exist_ok=True)
        text = json.dumps(self.to_dict(), indent=1, allow_nan=False) + "\n"
        replace(place / "advice.json", lambda work: work.write_text(text, encoding="utf-8"))
        return write_page(self, place / "advice.html")

    def _close(self, one: str, best: str) -> bool:
        name, _ = ranking.QUANTITIES[self.question.goal]
        ours, theirs = self.trials[one].mean(name), self.trials[best].mean(name)
        return abs(ours - theirs) <= max(
            KEEP * max(abs(ours), abs(theirs)), 1e-3 if name == "queue_p95_s" else 0
        )

    def _row(self, rank: int | None, one: str) -> dict[str, Any]:
        trials = self.trials[one]
        size = len(self.groups[rank - 1]) if rank is not None else 1
        return {
            "cc": one,
            "label": trials.candidate.label,
            "rank": rank,
            "tied": size > 1,
            "linux": linux.module(one),
            "linux_commands": linux.commands(one),
            "flags": [{"kind": flag.kind, "text": flag.text} for flag in self.flagged.get(one, ())],
            **{name: _object(trials.of(name), *bounds) for name, bounds in BOUNDS.items()},
        }


def _object(values: list[float], least: float | None, most: float | None) -> dict[str, Any] | None:
    if not values:
        return None
    found = stats.interval(values, least=least, most=most)
    ends = {"low": found.low, "high": found.high}
    return {
        "centre": found.centre,
        **{name: None if math.isnan(end) else end for name, end in ends.items()},
        "runs": found.n,
        "alike": found.alike,
    }
