"""Answers of `bentpipe advise` to the links of the truth set, and their losses against the truth.

The page with all of them is docs/advise-truth.md.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate, pairwise
from pathlib import Path

import advise_files
import advise_links
import advise_table
import md
from advise_links import DrawnLink
from advise_table import GOAL, INTERVAL, LinkTruth

import bentpipe as bp
from bentpipe.io import files
from bentpipe.pages.markdown import markdown
from bentpipe.sweeps.fingerprint import simulator_hash

GOOD, FAIR = 0.05, 0.15
"""Shares of the goal: an answer that loses less than the first is a hit; none may lose the second."""


@dataclass(frozen=True)
class Answer:
    """The answer of `advise` to a link.

    Attributes:
        link: number of the link.
        recommended: id of the recommended algorithm.
        recommended_in_linux: id of the best that is in Linux.
        known: whether the runs decide the question; the answer begins with "Not yet known" if not.
        flagged: ids of those that it calls reckless.
        plan: the plan that it ran.
        took_s: the time it took, seconds.
    """

    link: int
    recommended: str | None
    recommended_in_linux: str | None
    known: bool
    flagged: list[str]
    plan: str
    took_s: float

    @property
    def taken(self) -> str | None:
        """The algorithm that a user would run: the recommended one if available, else the best in Linux."""
        first = self.recommended
        return first if first and advise_table.can_be_had(first) else self.recommended_in_linux


@dataclass(frozen=True)
class Judged:
    """An answer beside the truth."""

    drawn: DrawnLink
    answer: Answer
    truth: LinkTruth

    @property
    def best(self) -> str:
        """The best of those that certainly are not reckless."""
        return self.truth.best(INTERVAL)

    @property
    def regret(self) -> float:
        """Share of the goal that the answer loses."""
        return self.truth.regret(self.answer.taken, INTERVAL)

    @property
    def reckless(self) -> str:
        """The reason why the answer certainly is reckless by the truth, or ""."""
        taken = self.answer.taken or ""
        return "" if taken in self.truth.doubtful() else self.truth.reckless().get(taken, "")

    @property
    def hit(self) -> bool:
        """Whether it is as good as the best, and not reckless."""
        return self.regret < GOOD and not self.reckless


def ask(
    some: Sequence[DrawnLink],
    place: Path,
    *,
    measured: bool,
    budget: str,
    fresh: bool,
    tell: Callable[[str], None],
) -> None:
    """Asks today's code about these links; answers that lie in `place` are not asked for again."""
    for one in some:
        if _path(place, one).exists() and not fresh:
            continue
        answer = _ask(one, place, measured=measured, budget=budget)
        place.mkdir(parents=True, exist_ok=True)
        files.replace_text(_path(place, one), json.dumps(asdict(answer)))
        tell(f"link {one.number}: {answer.taken} in {answer.took_s:.0f} s, plan {answer.plan}")


def stored(some: Sequence[DrawnLink], place: Path) -> list[tuple[DrawnLink, Answer]]:
    """The answers that are there to these links."""
    there = [one for one in some if _path(place, one).exists()]
    return [(one, Answer(**json.loads(_path(place, one).read_text(encoding="utf-8")))) for one in there]


def answers_place(place: Path, *, measured: bool, budget: str) -> Path:
    """The folder of answers; another one if the code that makes them has changed."""
    code = hashlib.sha256(simulator_hash().encode())
    root = Path(str(bp.__file__)).parent
    for path in sorted([*root.glob("advice/*.*"), *root.glob("measured/*.py"), Path(advise_files.__file__)]):
        code.update(path.read_bytes())
    mode = "measured" if measured else "described"
    return place / "answers" / code.hexdigest()[:12] / f"{mode}-{budget.replace(' ', '')}"


def _path(place: Path, one: DrawnLink) -> Path:
    """The path of the answer to a link."""
    return place / f"{one.number:02}.json"


def _ask(one: DrawnLink, place: Path, *, measured: bool, budget: str) -> Answer:
    """Asks as a user would, with the defaults; a user knows the flows without a measurement."""
    competing = [f"{count} {cc}" for cc, count in one.competing]
    since = time.monotonic()
    if measured:
        paths = advise_files.write(one, place / f"{one.number:02}")
        since = time.monotonic()
        advice = bp.advise(measured=paths, flows=one.flows, competing=competing, budget=budget)
    else:
        advice = bp.advise(one.link(), flows=one.flows, competing=competing, budget=budget)
    return Answer(
        link=one.number, recommended=advice.recommended, recommended_in_linux=advice.recommended_in_linux,
        known=not advice.doubts, flagged=sorted(advice.flagged), plan=str(advice.plan),
        took_s=round(time.monotonic() - since, 1),
    )  # fmt: skip


def verdicts(answers: Sequence[tuple[DrawnLink, Answer]], table: Mapping[int, LinkTruth]) -> list[Judged]:
    """Each answer beside the truth of its link.

    Raises:
        ValueError: the table lacks a link.
    """
    lacking = [one.number for one, _ in answers if one.number not in table]
    if lacking:
        raise ValueError(f"the table has no link {lacking[0]}: run `measure` to its end, then `table`")
    return [Judged(one, answer, table[one.number]) for one, answer in answers]


def page(table: Mapping[int, LinkTruth], described: Sequence[Judged], measured: Sequence[Judged]) -> str:
    """docs/advise-truth.md."""
    seeds = sorted({int(row["seeds"]) for truth in table.values() for row in truth.rows.values()})
    return md.page(
        "../tools/advise_judge.md",
        None,
        links=advise_links,
        seeds=str(seeds[0]) if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}",
        moving=advise_links.MOVING * len(advise_links.SETS),
        asked={
            "Asked with the link's values": described,
            "Asked with files of ping and iperf3": measured,
        },
        summary=summary,
        by_set=_by_set,
        miss=miss,
        row=row,
    )


def summary(found: Sequence[Judged]) -> str:
    """The number of answers that are as good as the best."""
    hits = sum(one.hit for one in found)
    doubtful = [one.truth.regret(one.answer.taken) for one in found]
    good, fair = (sum(regret < bound for regret in doubtful) for bound in (GOOD, FAIR))
    return (
        f"**{hits} of {len(found)} are hits.** If the best may be in doubt, {good} lose less than 5 % and "
        f"{fair} less than 15 %."
    )


def _by_set(found: Sequence[Judged]) -> str:
    """A table with a row for each set, and one for all."""
    ends = list(accumulate(advise_links.SETS, initial=0))
    rows = []
    for first, end in [*pairwise(ends), (0, ends[-1])]:
        some = [one for one in found if first <= one.drawn.number < end]
        losses = [one.regret for one in some]
        counts = [str(sum(loss < bound for loss in losses)) for bound in (GOOD, FAIR)]
        worst, reckless = max(losses, default=0.0), sum(bool(one.reckless) for one in some)
        if some:
            rows.append([f"{first} to {end - 1}", *counts, f"{100 * worst:.1f} %", str(reckless)])
    return markdown(["<links", "lose less than 5 %", "less than 15 %", "worst", "reckless"], rows)


def row(one: Judged) -> str:
    """A row of the table."""
    best, taken = one.best, one.answer.taken
    cells = [
        one.drawn.number, one.drawn.words(), best, _goal(one, best), taken or "none",
        _goal(one, taken) if taken else "-", f"{100 * one.regret:.1f} %",
        "yes" if one.reckless else "no", "hit" if one.hit else "**miss**",
    ]  # fmt: skip
    return f"| {' | '.join(map(str, cells))} |"


def miss(one: Judged) -> str:
    """A line of the list of misses."""
    best = one.best
    why = [f"it loses {100 * one.regret:.1f} %"] if one.regret >= GOOD else []
    why += [f"it is reckless: {one.reckless}"] if one.reckless else []
    why += [f"the answer calls {best} reckless"] if best in one.answer.flagged else []
    why += [] if one.answer.known else ['the answer begins with "Not yet known"']
    taken = one.answer.taken or "no answer"
    return f"- {one.drawn.number}: {taken} instead of {best}; {'; '.join(why)} (plan {one.answer.plan})"


def _goal(one: Judged, cc: str) -> str:
    """Mean of the goal and the half of its 95 % interval, Mbit/s."""
    row = one.truth.rows[cc]
    error = INTERVAL * row[GOAL + "_se"] / 1e6
    return f"{row[GOAL] / 1e6:.4g} ± {error if error > 1e-4 else 0:.1g}"
