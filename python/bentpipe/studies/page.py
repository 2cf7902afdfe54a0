"""The page of a study: its claims with their verdicts, its figures, and every check."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bentpipe import _core
from bentpipe.pages import Badge, Hyperlink, Page, Prose, Snippet, Tone
from bentpipe.stats import Interval
from bentpipe.studies import chance
from bentpipe.studies.claim import COUNTED, RULE, TRIED, Claim, Tally, Verdict
from bentpipe.studies.study import Outcome, Report, Section, Study, StudyPlan
from bentpipe.studies.text import Block, Items, sentences
from bentpipe.units import exponent
from bentpipe.web.link import links

#: The colour of each verdict's badge.
TONE: Mapping[str, Tone] = {
    str(Verdict.REPRODUCED): "good",
    str(Verdict.SAME_ORDER): "partly",
    str(Verdict.UNDECIDED): "plain",
    str(Verdict.NOT_REPRODUCED): "bad",
    str(Verdict.REFERENCE): "plain",
}

#: The heads of a table of claims.
CLAIMS = (
    *("Claim", "Headline quantity", "Paper", "Measured [95\u00a0% interval]", "Verdict"),
    *("Probability, in full runs", "Note"),
)


def plain(value: float) -> str:
    """A number for reading: three significant digits, no exponent for ordinary sizes."""
    if not math.isfinite(value):
        return "-"
    return _fixed(value, max(0, 2 - exponent(value)))


def shown(value: str | float) -> str:
    """Text as it is, numbers as the paper prints them."""
    return value if isinstance(value, str) else f"{value:g}"


def interval(value: Interval) -> str:
    """``"2.31 [2.20, 2.42]"``, with as many decimals as the width of the interval allows."""
    d = _decimals(value)
    return f"{_fixed(value.centre, d)} [{_fixed(value.low, d)}, {_fixed(value.high, d)}]"


def plus_minus(value: Interval) -> str:
    """``"2.31 ± 0.11"``, with as many decimals as the width of the interval allows.

    Where the interval ends at the possible range, it is written with its ends.
    """
    if min(value.arms) < value.half_width * (1 - 1e-9):
        return interval(value)
    d = _decimals(value)
    return f"{_fixed(value.centre, d)} ± {_fixed(value.half_width, d)}"


def _decimals(value: Interval) -> int:
    """Two digits of the half-width, at most five digits of the mean and four decimals.

    None where every seed gave the same whole number.
    """
    if value.half_width == 0 and value.centre == round(value.centre):
        return 0
    wanted = 1 - exponent(value.half_width) if value.half_width > 0 else 4
    return max(0, min(wanted, 4 - exponent(value.centre), 4))


def _fixed(value: float, decimals: int) -> str:
    if value and abs(value) < 0.5 * 10**-4:
        return f"{value:.1g}"
    return f"{value:,.{decimals}f}"


@dataclass(frozen=True)
class Row:
    """A claim in one line of a table; every cell is text."""

    id: str
    title: str
    what: str
    paper: str
    measured: str
    verdict: str
    probability: str
    note: str

    def cells(self, page: str = "") -> list[Prose]:
        """The columns `CLAIMS`, with a link to the claim on a page of its study."""
        place: Prose = [Hyperlink(self.id, f"{page}#claim-{self.id}"), f" {self.title}"]
        verdict = Badge(self.verdict, TONE[self.verdict])
        return [place, self.what, self.paper, self.measured, verdict, self.probability, self.note]


def row(claim: Mapping[str, Any]) -> Row:
    """The line of a claim as ``claims.json`` has it: its headline, its verdict and its note."""
    head = claim["checks"][claim["headline"]]
    probability = chance.shown(claim["probabilities"])
    return Row(
        claim["id"], claim["title"], head["what"], *values(head), claim["verdict"], probability, claim["note"]
    )


def values(check: Mapping[str, Any]) -> tuple[str, str]:
    """The paper's statement and the measured value of a check as ``claims.json`` has it, with their unit."""
    unit, middle, paper = f" {check['unit']}".rstrip(), check["measured"], check["paper"]
    low, high = check["ci95"]
    got = Interval(middle, low, high, check["n"], low == high)
    said = paper if isinstance(paper, str) else f"{paper:g}{unit}"
    return said, interval(got) + unit


def count(verdicts: Iterable[str]) -> dict[str, int]:
    """The number of claims with each verdict."""
    found = Counter(map(str, verdicts))
    return {str(verdict): found[verdict] for verdict in COUNTED}


def quick(page: Page, why: str) -> None:
    """A banner on a page about a quick run; ``why`` it is not to be quoted, a sentence without its end."""
    page.banner(
        Badge("Quick run.", "partly"),
        f" {why}, and a claim near its limit may change its verdict; run with ",
        Snippet("--full"),
        " for the figures to quote.",
    )


def meaning(claims: Sequence[Mapping[str, Any]], of: str) -> str:
    """The meaning of the number of claims not reproduced: the rule, and the share of each that holds.

    Args:
        claims: as ``claims.json`` has them.
        of: a sentence on where a reader finds the choices.
    """
    judged = [claim for claim in claims if claim["verdict"] != Verdict.REFERENCE]
    failed = [claim for claim in judged if claim["verdict"] == Verdict.NOT_REPRODUCED]
    if not failed:
        return ""
    checks = [check for claim in failed for check in claim["checks"] if check["counted"]]
    trends = sum(any(c["kind"] == "trend" and c["counted"] for c in claim["checks"]) for claim in failed)
    if trends == len(failed):
        why = "an order or a trend that the paper states did not come out in any of them"
    elif trends:
        why = f"{trends} of them because an order or a trend that the paper states did not come out here"
    else:
        why = "all of them for their numbers"
    rest = f", {len(failed) - trends} for a number alone" if 0 < trends < len(failed) else ""
    return (
        f"{len(failed)} of {len(judged)} claims are not reproduced: {why}{rest}. One check "
        f"decides about its whole claim: of the {len(checks)} checks in these claims "
        f"{sum(c['holds'] for c in checks)} hold. It does not say that a paper is wrong. {of}"
    )


def cell(text: str | Tally) -> Prose:
    """A cell of a study's table: a tally and the name of a verdict are badges."""
    if isinstance(text, Tally):
        return Badge(str(text), TONE[str(text.claim.verdict)])
    return Badge(text, TONE[text]) if text in TONE else text


def add_section(page: Page, section: Section) -> None:
    """A section of a study's report."""
    page.section(section.title)
    _laid_out(page, [*section.paragraphs, *section.tables])


def render(study: Study, plan: StudyPlan, outcome: Outcome, report: Report, out: Path) -> Page:
    """The page of a study. Reads the figures' SVG files from ``out``."""
    page = Page(study.title, source=study.citation, lead=study.summary)
    if plan.mode == "quick":
        quick(page, f"{plan.settings['note']} The intervals are wider than in the full run")
    counts = count(claim.verdict for claim in report.claims)
    page.tally([Badge(f"{n} {name}", TONE[name]) for name, n in counts.items()])
    free = next((section for section in report.sections if section.free), None)
    choices = (
        f"The paper leaves open {free.free} things that a run needs, which we chose (see {free.title}); "
        "the note of a claim says which other choices were tried."
        if free is not None
        else "What the paper leaves open we chose; the note of a claim says what is known of the reason."
    )
    claims = [claim.as_dict() for claim in report.claims]
    said = meaning(claims, choices)
    page.section("Claims", [said] if said else [])
    page.table(CLAIMS, [row(claim).cells() for claim in claims])
    page.paragraphs(RULE, small=True)
    page.section("Figures")
    for figure in report.figures:
        stem = f"figures/{figure.name}"
        kinds = [Hyperlink(kind.upper(), f"{stem}.{kind}") for kind in ("pdf", "svg", "png")]
        page.figure(
            out / f"{stem}.svg",
            alt=figure.alt,
            title=figure.title,
            caption=sentences(figure.caption),
            files=[*kinds, Hyperlink("data", f"{figure.name}.parquet")],
            id=figure.name,
        )
    page.section("Each claim, check by check")
    for claim in report.claims:
        _checks(page, claim)
    for section in report.sections:
        add_section(page, section)
    _reproducing(page, study, plan, outcome)
    page.opened(links(openable(plan), out / "index.html"))
    return page


def openable(plan: StudyPlan) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The run of each case as the study reads the paper, with the first seed: words and scenario."""
    seen = set()
    for case in plan.cases:
        keys = {key: value for key, value in case.keys.items() if key not in ("seed", "variant")}
        words = ", ".join(f"{key} {value}" for key, value in keys.items())
        if words not in seen:
            seen.add(words)
            yield words, case.scenario


def _checks(page: Page, claim: Claim) -> None:
    verdict = Badge(str(claim.verdict), TONE[str(claim.verdict)])
    said = [f"The paper: {sentences(claim.statement)}"]
    page.section(f"{claim.id} {claim.title}", said, level=3, id=f"claim-{claim.id}", badge=verdict)
    rows: list[list[Prose]] = []
    for check in claim.checks:
        holds: Prose = check.outcome
        if check.counted and not claim.reference:
            tone: Tone = "plain" if check.undecided else "good" if check.holds else "bad"
            holds = Badge(check.outcome, tone)
        else:
            holds = f"{holds} ({'' if claim.reference else f'{check.basis}, '}not counted)"
        rows.append(
            [
                check.what + (f" ({check.remark})" if check.remark else ""),
                *values(check.as_dict()),
                check.rule,
                holds,
            ]
        )
    page.table(["Check", "Paper", "Measured [95\u00a0% interval]", "Rule", "Holds"], rows)
    _laid_out(page, claim.detail)
    if claim.tried:
        page.table(TRIED, claim.tried)


def _laid_out(page: Page, text: Sequence[Block]) -> None:
    for block in text:
        if isinstance(block, str):
            page.paragraphs(block)
        elif isinstance(block, Items):
            page.paragraphs(f"{block.head}:")
            page.bullets(block.items)
        else:
            rows = [[cell(text) for text in row] for row in block.rows]
            page.table(block.header, rows, caption=block.caption)


def _reproducing(page: Page, study: Study, plan: StudyPlan, outcome: Outcome) -> None:
    page.section("Reproducing this page")
    page.command(f"bentpipe study run {study.name} --{plan.mode}")
    page.paragraphs(
        [
            f"{len(plan.cases)} runs, {outcome.packets:,} data packets delivered, {outcome.cpu_s:.0f} s of "
            f"processor time; bentpipe {_core.__version__}. {plan.settings['note']} Equal seeds "
            "give equal runs. The measured values of every run are in ",
            Hyperlink("runs.parquet", "runs.parquet"),
            ", the verdicts in ",
            Hyperlink("claims.json", "claims.json"),
            ".",
        ]
    )
    if outcome.warnings:
        page.paragraphs("The simulator warned:")
        more = len(outcome.warnings) - 3
        page.bullets([*outcome.warnings[:3], *([f"and {more} more of this kind"] if more > 0 else [])])
