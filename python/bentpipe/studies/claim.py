"""Claims of a paper, the checks each is made of, and the rule that turns measured values into a verdict.

A claim is one sentence of a paper. It is checked by one or more checks, each a comparison of measured values
(one per seed) with the statement in the paper. Two kinds exist:

* a *number* check compares a mean with a printed number and holds within a tolerance;
* a *trend* check tests an order, a likeness or a bound that the paper states.

The verdict follows from the checks alone:

* ``reproduced``: every check holds;
* ``same order``: every trend check holds (and there is one), but some number does not;
* ``not reproduced``: some trend does not hold, or there is no trend and some number does not hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import pairwise
from typing import Any, Literal, Self

import numpy as np

from bentpipe import stats
from bentpipe.io.toml_tables import beside
from bentpipe.studies.text import Block, Text, as_json


class Tolerance(float):
    """A number of ours that decides checks and that no paper prints; as a number it is that number.

    Args:
        value: the number, in the unit of the quantity that it bounds.
        decides: the checks, and the rule, in words.
        why: the reason of the value, a sentence without its full stop.
    """

    decides: str
    why: str

    def __new__(cls, value: float, decides: str, why: str) -> Self:
        """Raises ValueError if no reason is given."""
        if not (decides and why):
            raise ValueError(f"the tolerance {value:g} needs the checks that it decides and a reason")
        made = super().__new__(cls, value)
        made.decides, made.why = decides, why
        return made

    # For pickling.
    def __getnewargs__(self) -> tuple[float, str, str]:  # type: ignore[override]
        return float(self), self.decides, self.why


_GIVEN = beside(__file__, "claim.toml")
RULE: str = _GIVEN["rule"]
TOLERANCES = {name: Tolerance(**of) for name, of in _GIVEN["tolerances"].items()}
INDEX_TOLERANCE, RELATIVE_TOLERANCE, ALIKE_RATIO = TOLERANCES.values()


class Verdict(StrEnum):
    """The outcome of the checks of a claim."""

    REPRODUCED = "reproduced"
    SAME_ORDER = "same order"
    NOT_REPRODUCED = "not reproduced"
    #: No verdict: the paper quotes results of others.
    REFERENCE = "reference"


#: The verdicts that are counted, from best to worst.
COUNTED = (Verdict.REPRODUCED, Verdict.SAME_ORDER, Verdict.NOT_REPRODUCED)


class Basis(StrEnum):
    """The basis of a check. Only statements that the paper prints and does not contradict are counted."""

    PRINTED = "printed"
    UNPRINTED = "not printed"
    #: Another number or sentence of the same paper differs; the check's remark names it.
    CONTRADICTED = "printed, contradicted by the paper itself"


class Cause(StrEnum):
    """The cause of a claim's failure under the base, in one of five words; its reason says the rest."""

    CONTRADICTION = "the paper contradicts itself"
    RULE = "a rule is not printed"
    PARAMETER = "a parameter is not printed"
    SPREAD = "the paper prints single runs"
    OURS = "ours: no cause found"


def interval(samples: Iterable[float], *, signed: bool = False, most: float | None = None) -> stats.Interval:
    """The mean of one value per seed with its 95 % confidence interval, within the possible range.

    Args:
        samples: one value per seed.
        signed: whether the quantity may be below 0, as a difference may; an amount may not.
        most: the largest possible value: 100 for a share in per cent.

    Raises:
        ValueError: there are fewer than two values, or one is not finite.
    """
    values = [float(x) for x in samples]
    if len(values) < 2:
        raise ValueError("a confidence interval needs at least two seeds")
    least = None if signed or min(values) < 0 else 0.0
    # Rounded values exceed it by dust.
    return stats.interval(values, least=least, most=None if most is None else max(most, *values))


@dataclass(frozen=True)
class Check:
    """One comparison: the measured values, the paper's statement, and whether it holds."""

    what: str
    kind: Literal["number", "trend"]
    paper: str | float
    measured: stats.Interval
    unit: str
    holds: bool
    rule: str
    #: Whether it fails only because the interval is wide: the mean has the expected sign.
    few_seeds: bool = False
    #: One whose basis is not `Basis.PRINTED` is shown, but decides nothing.
    basis: Basis = Basis.PRINTED
    #: A sentence about the measurement.
    remark: str = ""
    #: Distinguishes it from the other checks of its claim where `what` contains a result (a rival, the loads
    #: with little loss); empty: its place among them, or `what`, does.
    key: str = ""

    def known_as(self, key: str) -> Check:
        """The same with a `key`: under every choice it is compared with the check of that key only."""
        return replace(self, key=key)

    @property
    def counted(self) -> bool:
        """Whether the verdict of its claim follows from it."""
        return self.basis == Basis.PRINTED

    def unprinted(self) -> Check:
        """The same as a check that the paper does not print."""
        return replace(self, basis=Basis.UNPRINTED)

    def contradicted(self, by: str) -> Check:
        """The same as a check that the paper prints and contradicts; ``by`` says where, and is remarked."""
        remark = f"the paper itself: {by}"
        return replace(self, basis=Basis.CONTRADICTED, remark="; ".join(filter(None, (self.remark, remark))))

    def printed(self) -> str:
        """The quantity and the paper's statement, in words: ``"throughput of Vegas: 1.1 Mbit/s"``."""
        if isinstance(self.paper, str):
            return (
                f"{self.what} (difference {self.paper})"
                if self.paper == "> 0"
                else f"{self.what}: {self.paper}"
            )
        return f"{self.what}: {self.paper:g} {self.unit}".rstrip()

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "what": self.what,
            "kind": self.kind,
            "paper": self.paper,
            "measured": self.measured.centre,
            "ci95": [self.measured.low, self.measured.high],
            "n": self.measured.n,
            "unit": self.unit,
            "rule": self.rule,
            "holds": self.holds,
            "few_seeds": self.few_seeds,
            "counted": self.counted,
            "basis": str(self.basis),
            "remark": self.remark,
        }


def number(
    what: str,
    samples: Sequence[float],
    paper: float,
    *,
    unit: str = "",
    within: float | None = None,
    one_run: bool = False,
    most: float | None = None,
) -> Check:
    """The mean of ``samples`` is the printed ``paper`` within 20 %, or ``within`` (absolute) if given.

    ``one_run`` says that the paper prints the result of one run; the check then reports the range of ours.
    ``most`` is the largest possible value, 100 for a share in per cent; a number of per cent without it may
    be a difference, and have any sign.
    """
    got = interval(samples, signed=paper < 0 or (unit == "%" and most is None), most=most)
    margin = RELATIVE_TOLERANCE * abs(paper) if within is None else within
    rule = f"within {RELATIVE_TOLERANCE:.0%}" if within is None else f"within {within:g}"
    remark = f"the paper prints one run; ours give {spread(samples, unit)}" if one_run else ""
    return Check(what, "number", paper, got, unit, abs(got.centre - paper) <= margin, rule, remark=remark)


def spread(samples: Iterable[float], unit: str = "") -> str:
    """The range of one value per seed, and its two groups if a gap parts them: ``"1 to 9 Mbit/s"``.

    There are two groups if the widest gap between neighbours is more than two fifths of the range, and both
    groups have two seeds or more.
    """
    values = sorted(map(float, samples))

    def ends(part: Sequence[float]) -> str:
        return f"{part[0]:.3g} to {part[-1]:.3g}" + (f" {unit}" if unit else "")

    gaps = [high - low for low, high in pairwise(values)]
    cut = 1 + gaps.index(max(gaps)) if gaps else 0
    low, high = values[:cut], values[cut:]
    if min(len(low), len(high)) < 2 or max(gaps) <= 0.4 * (values[-1] - values[0]):
        return ends(values)
    return f"{ends(values)} in two groups: {ends(low)} ({len(low)} seeds) and {ends(high)} ({len(high)})"


#: One value per seed, or one value for all of them.
Values = Sequence[float] | float


def above(what: str, upper: Values, lower: Values, *, unit: str = "", paper: str = "> 0") -> Check:
    """``upper`` exceeds ``lower``: the 95 % interval of the difference, paired by seed, lies above zero."""
    got = interval(np.asarray(upper, dtype=float) - np.asarray(lower, dtype=float), signed=True)
    few = bool(got.low <= 0 < got.centre)
    return Check(what, "trend", paper, got, unit, bool(got.low > 0), "interval above 0", few_seeds=few)


def highest(what: str, groups: Mapping[str, Sequence[float]], name: str, *, unit: str = "") -> Check:
    """``name`` exceeds every other group: tested against the largest other mean."""
    rival = max((g for g in groups if g != name), key=lambda g: float(np.mean(groups[g])))
    return above(f"{what} {rival}", groups[name], groups[rival], unit=unit)


def lowest(what: str, groups: Mapping[str, Sequence[float]], name: str, *, unit: str = "") -> Check:
    """``name`` is below every other group: tested against the smallest other mean."""
    rival = min((g for g in groups if g != name), key=lambda g: float(np.mean(groups[g])))
    return above(f"{what} {rival}", groups[rival], groups[name], unit=unit)


def alike(what: str, groups: Mapping[str, Sequence[float]]) -> Check:
    """The groups' means agree: the largest is at most `ALIKE_RATIO` times the smallest."""
    means = {name: float(np.mean(values)) for name, values in groups.items()}
    largest, smallest = (of(means, key=lambda name: means[name]) for of in (max, min))
    if means[smallest] <= 0:
        raise ValueError(f"{what}: a ratio needs positive means")
    ratio = interval(np.asarray(groups[largest], dtype=float) / means[smallest])
    label = f"{what}: {largest} / {smallest}"
    holds = ratio.centre <= ALIKE_RATIO
    return Check(label, "trend", "about 1", ratio, "", holds, f"at most {ALIKE_RATIO:g}")


def near(what: str, one: Sequence[float], other: Values, within: float, *, unit: str = "") -> Check:
    """The means differ by at most ``within`` (absolute); the difference is paired by seed."""
    got = interval(np.asarray(one, dtype=float) - np.asarray(other, dtype=float), signed=True)
    return Check(what, "trend", "about 0", got, unit, abs(got.centre) <= within, f"within {within:g}")


def ratio_at_least(what: str, top: Sequence[float], bottom: Values, bound: float) -> Check:
    """``top`` over ``bottom``, paired by seed, is at least ``bound`` in the mean."""
    return at_least(what, np.asarray(top, dtype=float) / np.asarray(bottom, dtype=float), bound)


def at_least(what: str, samples: Iterable[float], bound: float, *, paper: str = "") -> Check:
    """The mean is at least ``bound``; ``paper`` is the paper's word for it, if it has one."""
    got, rule = interval(samples, signed=True), f"at least {bound:g}"
    return Check(what, "trend", paper or rule, got, "", got.centre >= bound, rule)


def at_most(what: str, samples: Sequence[float], bound: float, *, paper: str = "") -> Check:
    """The mean is at most ``bound``; ``paper`` as in `at_least`."""
    got, rule = interval(samples, signed=True), f"at most {bound:g}"
    return Check(what, "trend", paper or rule, got, "", got.centre <= bound, rule)


def verdict(checks: Sequence[Check]) -> Verdict:
    """The verdict of a claim from those of its checks that count (module documentation)."""
    checks = [c for c in checks if c.counted]
    if not checks:
        raise ValueError("a claim without checks has no verdict")
    if all(c.holds for c in checks):
        return Verdict.REPRODUCED
    trends = [c for c in checks if c.kind == "trend"]
    if trends and all(c.holds for c in trends):
        return Verdict.SAME_ORDER
    return Verdict.NOT_REPRODUCED


#: The words that introduce the list of the checks that fail.
FAILING = "Does not hold"
#: The head of the table of `Claim.tried`.
TRIED = ("Check that fails", "Paper", "Here", "Under the other choices", "Holds with")


@dataclass
class Claim:
    """One checked claim."""

    id: str
    title: str
    statement: Text
    checks: list[Check]
    note: str = ""
    detail: list[Block] = field(default_factory=list)
    #: A row for each check that fails, with its values under the other choices: the columns are `TRIED`.
    tried: list[list[str]] = field(default_factory=list)
    #: Whether the paper quotes it from others. It has no verdict then.
    reference: bool = False
    #: The reason why it is not reproduced; None if it is, or has no verdict.
    cause: Cause | None = None

    @property
    def verdict(self) -> Verdict:
        """Computed from the checks each time, never stored."""
        return Verdict.REFERENCE if self.reference else verdict(self.checks)

    @property
    def counted(self) -> list[Check]:
        """The checks that its verdict follows from."""
        return [] if self.reference else [c for c in self.checks if c.counted]

    @property
    def headline(self) -> int:
        """The place of the check that tables show: the first counted one that fails, else the first."""
        failing = (i for i, c in enumerate(self.checks) if c in self.counted and not c.holds)
        return next(failing, 0)

    @property
    def held(self) -> int:
        """The number of `counted` that hold."""
        return sum(c.holds for c in self.counted)

    @property
    def with_seeds(self) -> Verdict:
        """The verdict if each check that fails only for too few seeds held."""
        if self.reference:
            return Verdict.REFERENCE
        return verdict([replace(c, holds=c.holds or c.few_seeds) for c in self.checks])

    @property
    def few_seeds(self) -> bool:
        """Whether its verdict is due to too few seeds only."""
        return self.with_seeds != self.verdict

    def counterpart(self, other: Claim, place: int) -> Check | None:
        """The check that corresponds to the check of ``other`` at ``place``; None if there is none.

        By key if it has one, else by place, or by name if the two have different numbers of checks.
        """
        if key := other.checks[place].key:
            return next((c for c in self.checks if c.key == key), None)
        if len(self.checks) == len(other.checks):
            return self.checks[place]
        return next((c for c in self.checks if c.what == other.checks[place].what), None)

    def covers(self, other: Claim) -> bool:
        """Whether each check of ``other`` that counts was run here, too."""
        return all(self.counterpart(other, i) for i, c in enumerate(other.checks) if c in other.counted)

    def tally(self) -> str:
        """``"7 of 9 checks hold"``."""
        return f"{self.held} of {len(self.counted)} checks hold"

    def as_dict(self) -> dict[str, Any]:
        """The row of ``claims.json``: the headline check, the verdict, and every check."""
        head = self.checks[self.headline]
        return {
            "id": self.id,
            "title": self.title,
            "paper": head.printed(),
            "measured": head.measured.centre,
            "ci95": [head.measured.low, head.measured.high],
            "verdict": str(self.verdict),
            "cause": None if self.cause is None else str(self.cause),
            "headline": self.headline,
            "few_seeds": self.few_seeds,
            "note": self.note,
            "statement": as_json(self.statement),
            "detail": as_json(self.detail),
            "tried": self.tried,
            "checks": [c.as_dict() for c in self.checks],
        }
