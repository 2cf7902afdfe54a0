"""Claims of a paper, the checks each is made of, and the rule that turns measured values into a verdict.

A claim is one sentence of a paper. It is checked by one or more checks, each a comparison of measured values
(one per seed) with the statement in the paper. Two kinds exist:

* a *number* check compares a mean with a printed number, and asks that it lies within a tolerance;
* a *trend* check tests an order, a likeness or a bound that the paper states.

Each check asks whether a mean lies in a range: within a tolerance, above zero, at most a bound. It holds if
the 95 % interval of the mean lies inside the range, and fails if that lies outside. It is undecided if the
interval contains an end of the range. Orders are corrected for their number (`corrected`).

The verdict follows from the checks alone:

* ``reproduced``: every check holds;
* ``same order``: every trend check holds (and there is one), but some number fails;
* ``not reproduced``: some trend fails, or there is no trend and some number fails;
* ``undecided``: the undecided checks decide which of these it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from bentpipe import stats
from bentpipe.io.toml_tables import beside
from bentpipe.stats.ranking import holm, paired_p
from bentpipe.studies.text import Block, Text, as_json
from bentpipe.studies.tolerance import Tolerance as Tolerance

_GIVEN = beside(__file__, "claim.toml")
RULE: str = _GIVEN["rule"]
TOLERANCES = {name: Tolerance(**of) for name, of in _GIVEN["tolerances"].items()}
INDEX_TOLERANCE, RELATIVE_TOLERANCE, ALIKE_RATIO = TOLERANCES.values()


class Verdict(StrEnum):
    """The outcome of the checks of a claim."""

    REPRODUCED = "reproduced"
    SAME_ORDER = "same order"
    #: More seeds would tell.
    UNDECIDED = "undecided"
    NOT_REPRODUCED = "not reproduced"
    #: No verdict: the paper quotes results of others.
    REFERENCE = "reference"


#: The verdicts that are counted, from best to worst.
COUNTED = (Verdict.REPRODUCED, Verdict.SAME_ORDER, Verdict.UNDECIDED, Verdict.NOT_REPRODUCED)


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
    #: Whether it neither holds nor fails: its interval contains an end of the range.
    undecided: bool = False
    #: Of an order: the p-value of its paired t test, two-sided.
    p: float | None = None
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

    @property
    def outcome(self) -> str:
        """``"yes"``, ``"no"`` or ``"undecided"``."""
        return "undecided" if self.undecided else "yes" if self.holds else "no"

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
            "outcome": self.outcome,
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
    made = _check(what, "number", paper, got, unit, rule, least=paper - margin, most=paper + margin)
    return replace(made, remark=remark)


def _check(
    what: str,
    kind: Literal["number", "trend"],
    paper: str | float,
    got: stats.Interval,
    unit: str,
    rule: str,
    *,
    least: float = -math.inf,
    most: float = math.inf,
) -> Check:
    """A check whose mean has to lie between two ends, which belong to the range."""
    dust = stats.TOLERANCE * max(abs(end) for end in (least, most, got.centre) if math.isfinite(end))
    holds = least - dust <= got.low and got.high <= most + dust
    fails = got.high < least - dust or got.low > most + dust
    return Check(what, kind, paper, got, unit, holds, rule, undecided=not (holds or fails))


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
    one, other = (
        side.tolist() for side in np.broadcast_arrays(*(np.asarray(v, float) for v in (upper, lower)))
    )
    got = stats.paired(one, other)
    if got.n < 2:
        raise ValueError("a confidence interval needs at least two seeds")
    p, holds = paired_p(one, other), got.low > 0
    return Check(
        what, "trend", paper, got, unit, holds, "interval above 0",
        undecided=got.low <= 0 <= got.high and not got.alike, p=p,
    )  # fmt: skip


def highest(what: str, groups: Mapping[str, Sequence[float]], name: str, *, unit: str = "") -> Check:
    """``name`` exceeds every other group: tested against the largest other mean."""
    rival = max((g for g in groups if g != name), key=lambda g: float(np.mean(groups[g])))
    return above(f"{what} {rival}", groups[name], groups[rival], unit=unit)


def lowest(what: str, groups: Mapping[str, Sequence[float]], name: str, *, unit: str = "") -> Check:
    """``name`` is below every other group: tested against the smallest other mean."""
    rival = min((g for g in groups if g != name), key=lambda g: float(np.mean(groups[g])))
    return above(f"{what} {rival}", groups[rival], groups[name], unit=unit)


def alike(what: str, groups: Mapping[str, Sequence[float]]) -> Check:
    """The groups' means agree: the largest is at most `ALIKE_RATIO` times the smallest.

    The interval is that of the ratio of two means, paired by seed, by the delta method.
    """
    means = {name: float(np.mean(values)) for name, values in groups.items()}
    largest, smallest = (of(means, key=lambda name: means[name]) for of in (max, min))
    if means[smallest] <= 0:
        raise ValueError(f"{what}: a ratio needs positive means")
    top, bottom = (np.asarray(groups[name], dtype=float) for name in (largest, smallest))
    ratio = means[largest] / means[smallest]
    got = interval(ratio + (top - ratio * bottom) / means[smallest], signed=True)
    rule = f"at most {ALIKE_RATIO:g}"
    label = f"{what}: {largest} / {smallest}"
    return _check(label, "trend", "about 1", got, "", rule, most=ALIKE_RATIO)


def near(what: str, one: Sequence[float], other: Values, within: float, *, unit: str = "") -> Check:
    """The means differ by at most ``within`` (absolute); the difference is paired by seed."""
    got = interval(np.asarray(one, dtype=float) - np.asarray(other, dtype=float), signed=True)
    rule = f"within {within:g}"
    return _check(what, "trend", "about 0", got, unit, rule, least=-within, most=within)


def ratio_at_least(what: str, top: Sequence[float], bottom: Values, bound: float) -> Check:
    """``top`` over ``bottom``, paired by seed, is at least ``bound`` in the mean."""
    return at_least(what, np.asarray(top, dtype=float) / np.asarray(bottom, dtype=float), bound)


def at_least(what: str, samples: Iterable[float], bound: float, *, paper: str = "") -> Check:
    """The mean is at least ``bound``; ``paper`` is the paper's word for it, if it has one."""
    rule = f"at least {bound:g}"
    return _check(what, "trend", paper or rule, interval(samples, signed=True), "", rule, least=bound)


def at_most(what: str, samples: Sequence[float], bound: float, *, paper: str = "") -> Check:
    """The mean is at most ``bound``; ``paper`` as in `at_least`."""
    rule = f"at most {bound:g}"
    return _check(what, "trend", paper or rule, interval(samples, signed=True), "", rule, most=bound)


#: The largest chance of one or more wrong decisions among the orders that are judged together.
ERROR = 0.05


def corrected(claims: Sequence[Claim]) -> None:
    """Makes undecided the orders that Holm's correction leaves open, of all that count in some claims."""
    tests = {
        (i, j): check.p
        for i, claim in enumerate(claims)
        for j, check in enumerate(claim.checks)
        if check in claim.counted and check.p is not None
    }
    left = tests.keys() - holm(tests, ERROR)
    for i, j in left:
        check = claims[i].checks[j]
        if not check.undecided and not check.measured.alike:
            remark = f"not decided among {len(tests)} orders: p = {check.p:.2g} > {ERROR:g} / {len(left)}"
            remark = "; ".join(filter(None, (check.remark, remark)))
            claims[i].checks[j] = replace(check, holds=False, undecided=True, remark=remark)


def possible(checks: Sequence[Check]) -> tuple[Verdict, Verdict]:
    """The best and the worst verdict of a claim by those of its checks that count, whatever is undecided."""
    checks = [c for c in checks if c.counted]
    if not checks:
        raise ValueError("a claim without checks has no verdict")
    best, worst = (
        _decided([(c.kind, c.holds or c.undecided and yes) for c in checks]) for yes in (True, False)
    )
    return best, worst


def _decided(checks: Sequence[tuple[str, bool]]) -> Verdict:
    """The verdict by the kinds of checks, and whether each holds."""
    if all(holds for _, holds in checks):
        return Verdict.REPRODUCED
    trends = [holds for kind, holds in checks if kind == "trend"]
    return Verdict.SAME_ORDER if trends and all(trends) else Verdict.NOT_REPRODUCED


def verdict(checks: Sequence[Check]) -> Verdict:
    """The verdict of a claim from those of its checks that count (module documentation)."""
    best, worst = possible(checks)
    return best if best == worst else Verdict.UNDECIDED


#: The words that introduce the list of the checks that fail.
FAILING = "Does not hold"
#: The head of the table of `Claim.tried`.
TRIED = ("Check that does not hold", "Paper", "Here", "Under the other choices", "Holds with")


@dataclass
class Claim:
    """One checked claim."""

    id: str
    title: str
    statement: Text
    checks: list[Check]
    note: str = ""
    detail: list[Block] = field(default_factory=list)
    #: A row for each check that does not hold, with its values under the other choices: columns `TRIED`.
    tried: list[list[str]] = field(default_factory=list)
    #: Whether the paper quotes it from others. It has no verdict then.
    reference: bool = False
    #: The reason why it is not reproduced; None if it is, or has no verdict.
    cause: Cause | None = None
    #: Its probabilities: `bentpipe.studies.chance.known`.
    chances: Sequence[Mapping[str, Any]] = ()

    @property
    def verdict(self) -> Verdict:
        """Computed from the checks each time, never stored."""
        return Verdict.REFERENCE if self.reference else verdict(self.checks)

    @property
    def possible(self) -> tuple[Verdict, Verdict]:
        """The best and the worst verdict, whatever is undecided."""
        return (Verdict.REFERENCE, Verdict.REFERENCE) if self.reference else possible(self.checks)

    @property
    def counted(self) -> list[Check]:
        """The checks that its verdict follows from."""
        return [] if self.reference else [c for c in self.checks if c.counted]

    @property
    def headline(self) -> int:
        """The place of the check that tables show: the first counted one that fails, is undecided, or any."""
        counted = [i for i, c in enumerate(self.checks) if c in self.counted and not c.holds]
        failing = [i for i in counted if not self.checks[i].undecided]
        return next(iter([*failing, *counted, 0]))

    @property
    def held(self) -> int:
        """The number of `counted` that hold."""
        return sum(c.holds for c in self.counted)

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
            "possible": list(map(str, self.possible)),
            "cause": None if self.cause is None else str(self.cause),
            "headline": self.headline,
            "probabilities": list(self.chances),
            "note": self.note,
            "statement": as_json(self.statement),
            "detail": as_json(self.detail),
            "tried": self.tried,
            "checks": [c.as_dict() for c in self.checks],
        }


@dataclass(frozen=True)
class Tally:
    """A table cell: number of a claim's checks that hold, in the colour and with the mark of its verdict."""

    claim: Claim

    def __str__(self) -> str:
        mark = {"reproduced": "✓", "same order": "~", "undecided": "?", "not reproduced": "✗"}
        if self.claim.reference:
            return "-"
        return f"{mark[self.claim.verdict]} {self.claim.held}/{len(self.claim.counted)}"


class Standing:
    """The checks of some claims, counted together."""

    claims: Sequence[Claim]
    #: The number of free choices under which they were judged.
    free: int

    @property
    def held(self) -> int:
        """Checks that hold, of all claims."""
        return sum(claim.held for claim in self.claims)

    @property
    def checks(self) -> int:
        """Checks that count, of all claims."""
        return sum(len(claim.counted) for claim in self.claims)

    def cells(self) -> list[str | Tally]:
        """The free choices, the checks that hold, and the tally of each claim, as cells of a table."""
        return [str(self.free), f"{self.held} / {self.checks}", *map(Tally, self.claims)]

    def counts(self) -> dict[str, Any]:
        """The same as plain values for JSON."""
        claims = {c.id: {"verdict": str(c.verdict), "tally": str(Tally(c))} for c in self.claims}
        return {"free": self.free, "held": self.held, "checks": self.checks, "claims": claims}
