"""The declared joint readings of a paper: its verdicts under each, and the checks that none meets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bentpipe.studies.claim import COUNTED, Claim, Standing, Tally, Verdict
from bentpipe.studies.design import AS_PRINTED, BASE, DEFENSIBLE, Design, Reading
from bentpipe.studies.judge import Sensitivity, Sentence, evaluate, judged
from bentpipe.studies.study import Section, StudyPlan
from bentpipe.studies.text import Table

if TYPE_CHECKING:
    import polars as pl


#: The readings that the base represents where they are not declared, in words.
STANDS_FOR = {AS_PRINTED: "as printed", DEFENSIBLE: "best defensible"}


@dataclass(frozen=True)
class Read(Standing):
    """The claims of a paper under one reading, or under the base."""

    name: str
    title: str
    #: Its choices: the change, the evidence and the source of each; none for the base.
    choices: Sequence[tuple[str, str, str]]
    #: The number of free ones.
    free: int
    claims: Sequence[Claim]

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        choices = [list(choice) for choice in self.choices]
        return {"name": self.name, "title": self.title, "choices": choices, **self.counts()}


@dataclass(frozen=True)
class Readings:
    """The base and the readings that were run, over the same seeds."""

    of: Sequence[Read] = ()
    #: By claim the checks that hold neither in the base nor under any reading or single choice under which
    #: that very check was run, each with the number of those.
    never: Mapping[str, Sequence[str]] = field(default_factory=dict)
    #: Free choices of the base; None if its set-up does not say.
    free: int | None = None

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        never = {claim: list(checks) for claim, checks in self.never.items()}
        return {"free": self.free, "never": never, "readings": [read.as_dict() for read in self.of]}


def read(
    claims: Sequence[Sentence],
    design: Design[Any, Any],
    plan: StudyPlan,
    runs: pl.DataFrame,
    under: Sensitivity,
    free: int | None,
) -> Readings:
    """Judge the base and each reading that was run.

    Args:
        claims: of the paper.
        design: the design.
        plan: its plan.
        runs: all of them.
        under: the claims under the single choices.
        free: free choices of the base.
    """
    names = [reading.name for reading in design.readings]
    also = [words for name, words in STANDS_FOR.items() if name not in names]
    title = f"the base ({' and '.join(also)})" if also else "the base"
    found = [Read(BASE, title, [], 0, evaluate(claims, judged(runs, BASE, design, plan)))]
    variants = {v.name: v for v in (*design.variants, *design.only_joint)}
    present = set(runs["variant"])
    for reading in design.readings:
        if reading.name in present:
            made = [variants[name] for name in reading.variants]
            choices = [(v.choice, str(v.evidence), v.source) for v in made]
            mine = evaluate(claims, judged(runs, reading.name, design, plan))
            free_of = design.free(reading.variants)
            found.append(Read(reading.name, _titled(reading), choices, free_of, mine))
    return Readings(found, _never(found[0], _tried(claims, design, runs, found[1:], under)), free)


def section(found: Readings) -> Section | None:
    """The table of the readings; None if there are none beside the base."""
    if len(found.of) < 2:
        return None
    base, *_ = found.of
    said = (
        "Each row is the whole paper read in one way: the base with the changes of several choices at once, "
        "over all seeds of the base where it does not say how many. A choice is free if neither the paper, "
        "nor its numbers, nor the simulator that it names gives it; such choices are counted beside those of "
        "the base."
    )
    if found.free is not None:
        said += f" The base has {found.free} (table of the set-up)."
    ids = [claim.id for claim in base.claims]
    rows: list[list[str | Tally]] = [
        [of.title, "; ".join(map(choice, of.choices)) or "as in the set-up", *of.cells()] for of in found.of
    ]
    table = Table(["Reading", "Choices (evidence)", "Free choices", "Checks that hold", *ids], rows)
    return Section("The paper read as a whole", [said, *never_given(found.never)], [table])


def candidates(claim: Claim, found: Readings, under: Sensitivity, design: Design[Any, Any]) -> list[str]:
    """The choices and readings that may suit a claim better than the base: the best, and the best if lucky.

    The first is the best by its possible verdicts, the share of its checks that hold, and its free choices.
    The second is so if all that is undecided held: a single choice has fewer seeds. None if the base
    reproduces it.
    """
    if claim.verdict in (Verdict.REPRODUCED, Verdict.REFERENCE):
        return []
    single = {name: (design.free([name]), of) for name, of in under.under(claim.id).items()}
    whole = {of.name: (of.free, one) for of in found.of[1:] for one in of.claims if one.id == claim.id}
    tried = {BASE: (0, claim), **whole, **single}

    def rank(name: str) -> tuple[int, float, int]:
        free, of = tried[name]
        return sum(map(COUNTED.index, of.possible)), -of.held / len(of.counted), free

    def lucky(name: str) -> tuple[int, float, float, int]:
        free, of = tried[name]
        some = sum(check.holds or check.undecided for check in of.counted)
        count = len(of.counted)
        return COUNTED.index(of.possible[0]), -some / count, -of.held / count, free

    best = [min(tried, key=rank), min(tried, key=lucky)]
    return [name for name in dict.fromkeys(best) if name != BASE]


def choice(of: Sequence[str]) -> str:
    """A choice with its evidence and source: ``"buffer 50 (default of the simulator it names: ns-2)"``."""
    what, evidence, source = of
    return f"{what} ({evidence}: {source.rstrip('.')})" if source else f"{what} ({evidence})"


def never_given(never: Mapping[str, Sequence[str]]) -> list[str]:
    """A paragraph on the checks that no reading meets; none if some reading or choice gives each check."""
    if not never:
        return []
    each = ". ".join(f"{claim}: {'; '.join(checks)}" for claim, checks in never.items())
    return [f"Checks that hold under no reading and no single choice of those that ran them. {each}."]


def _titled(reading: Reading) -> str:
    """The title of a reading, with its name in front unless it begins so: ``"as printed: one hop"``."""
    name = reading.name.replace("-", " ")
    title = reading.title if reading.title.lower().startswith(name) else f"{name}: {reading.title}"
    return title if reading.seeds is None else f"{title} ({reading.seeds} seeds at most)"


def _tried(
    claims: Sequence[Sentence],
    design: Design[Any, Any],
    runs: pl.DataFrame,
    found: Sequence[Read],
    under: Sensitivity,
) -> dict[str, list[tuple[str, Claim]]]:
    """By claim that choices may decide: the choices that ran any part of it, and the claim under each.

    A reading of one choice has the choice's name.
    """
    joins = {reading.name: " + ".join(sorted(reading.variants)) for reading in design.readings}
    tried = {s.id: list(under.partly(s.id).items()) for s in claims if s.open}
    for of in found:
        mine = runs.filter(runs["variant"] == of.name)
        touched = {s.id for s in claims if s.about is not None and s.about.rows(mine).height}
        for claim in of.claims:
            if claim.id in touched and claim.id in tried:
                tried[claim.id].append((joins[of.name], claim))
    return tried


def _never(base: Read, tried: Mapping[str, Sequence[tuple[str, Claim]]]) -> dict[str, list[str]]:
    never = {}
    for claim in base.claims:
        failing = []
        for place, check in enumerate(claim.checks):
            same = [(name, other.counterpart(claim, place)) for name, other in tried.get(claim.id, ())]
            ran = {name for name, other in same if other is not None}
            if check in claim.counted and not any(c.holds for c in (check, *(o for _, o in same if o))):
                count = f"{len(ran)} tried" if claim.id in tried else "no choice touches it"
                failing.append(f"{check.what} ({count})")
        if failing:
            never[claim.id] = failing
    return never
