"""Reasons why claims of the TCP-STAR paper do or do not reproduce, and reasons for its set-up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

import polars as pl

from bentpipe.papers.tcp_star import claims, figures, setup
from bentpipe.papers.tcp_star.claims import BR, STAR, J
from bentpipe.papers.tcp_star.setup import BERS, COUNTS, OFTEN, PAPER, RARE, SMALL
from bentpipe.studies.assembly import Assembly, Explanation, Reason, fares_both_ways
from bentpipe.studies.claim import INDEX_TOLERANCE
from bentpipe.studies.judge import Findings, by_claim, column
from bentpipe.studies.page import plain
from bentpipe.studies.places import listed
from bentpipe.studies.study import Section, Table
from bentpipe.studies.tables import choices_section, decision, set_up
from bentpipe.studies.words import Words, each

WORDS = Words.beside(__file__)

#: Place of the check that TCP-STAR and TCP-J overlap among those of S5 and S6; that on WestwoodBR follows.
OVERLAP = -4


def _means(found: Findings, name: str, part: str, ber: float = 0.0, n: int = 1) -> dict[str, float]:
    return {x: fmean(v) for x, v in claims.samples(found.base, name, part, ber, n).items()}


def _aen(found: Findings, claim: str, check: int) -> list[float] | None:
    """The value of a check with and without AEN, over the same seeds; None if not both were run."""
    with_it, without = (found.means(name, claim, check) for name in ("base", "no-aen"))
    return with_it + without if with_it and without else None


def _s1(found: Findings) -> Reason:
    mbps = {claims.at(b): _means(found, "x_mbps", "loss", b) for b in BERS[:-1]}
    variants = {n: found.sensitivity.claim(n, "S1") for n in ("newreno", "reno", "queue-64")}
    margins = []
    for name, claim in variants.items():
        if claim is not None:
            got = zip(BERS, claim.checks, strict=False)
            of = ", ".join(f"{claims.at(b)} {plain(check.measured.centre)}" for b, check in got)
            margins.append(f"{found.sensitivity.choices[name]}: {of}")
    return WORDS.reason(
        "S1",
        throughput="; ".join(f"{at}: {each(of)}" for at, of in mbps.items()),
        margins="; ".join(margins) or None,
        queue=None if variants["queue-64"] is None else 64,
    )


def _s2(found: Findings) -> Reason:
    mbps, timeouts = (_means(found, c, "loss", BERS[-1]) for c in ("x_mbps", "timeouts"))
    others = max(v for x, v in mbps.items() if x != STAR)
    return WORDS.reason(
        "S2",
        mbps=mbps,
        others=others,
        timeouts=timeouts,
        times=mbps[STAR] / others,
        least=max(mbps.values()) - min(mbps.values()),
        almost=claims.ALMOST_EQUAL_MBPS,
        aen=_aen(found, "S2", 0),
        tried=found.under("S2", "newreno bw-reset slow-start", 0),
    )


def _s3(found: Findings) -> Reason:
    not_delayed = found.sensitivity.mean("no-delayed-ack", "S3", 0)
    return WORDS.reason("S3", full=_means(found, "full_s", "startup"), not_delayed=not_delayed)


def _s4(found: Findings) -> Reason:
    timeouts = _means(found, "timeouts", "outage")[STAR]
    none, long, long_none = (
        fmean(column(found.runs, "restart_s", variant=setup.rto_name(rto, aen=aen)))
        for rto, aen in ((1.0, False), (2.0, True), (2.0, False))
    )
    slow, slow_none = (
        fmean(column(found.runs, "recovery_s", variant=setup.rto_name(2.0, aen=aen, slow=True)))
        for aen in (True, False)
    )
    short, detail = WORDS.reason(
        "S4",
        back=_means(found, "recovery_s", "outage"),
        timeouts=timeouts,
        none=none,
        long=long,
        long_none=long_none,
        slow=slow,
        slow_none=slow_none,
    )
    return short if timeouts > 0 else "", detail


def _crowd(found: Findings, ber: float, counts: Sequence[int]) -> dict[str, Any]:
    """What the reasons of S5 and S6 quote: Jain's index beside NewReno, averaged over numbers of flows.

    ``gap``: by how much TCP-STAR is below TCP-J; ``below``: by how much the mean of both is below WestwoodBR.
    """
    index = {x: fmean(v) for x, v in claims.over(found.base, "mixed", ber, counts).items()}
    gap, below = index[J] - index[STAR], index[BR] - (index[STAR] + index[J]) / 2
    limits = {"tolerance": INDEX_TOLERANCE, "a_little": claims.A_LITTLE}
    return {"crowd": index, "gap": gap, "below": below, **limits}


def _apart(found: Findings, crowd: Mapping[str, Any], key: str, ber: float, detail: list[str]) -> Reason:
    """The note on the three curves, and the detail with the causes of the difference of two of them."""
    clauses = []
    if crowd["gap"] > INDEX_TOLERANCE:
        clauses.append(f"{STAR} lies {crowd['gap']:.3f} below {J}")
        drops = _means(found, "queue_drops", "mixed", ber, COUNTS[-1])
        aen = _aen(found, key, OVERLAP)
        detail += WORDS.paragraphs("TCP-STAR and TCP-J apart", n=COUNTS[-1], drops=drops, aen=aen)
    if crowd["below"] > claims.A_LITTLE:
        clauses.append(f"{STAR} and {J} lie {crowd['below']:.2f} below {BR}, more than a little")
    return "; ".join(clauses), detail


def _s5(found: Findings) -> Reason:
    crowd, middle = _crowd(found, RARE, COUNTS[1:]), COUNTS[len(COUNTS) // 2]
    other = found.sensitivity.claim("queue-64", "S5")
    detail = WORDS.paragraphs(
        "S5",
        **crowd,
        first=COUNTS[1],
        last=COUNTS[-1],
        middle=middle,
        own=_means(found, "x_mbps", "mixed", RARE, middle),
        newreno=_means(found, "reno_mbps", "mixed", RARE, middle),
        tally=None if other is None else other.tally(),
    )
    return _apart(found, crowd, "S5", RARE, detail)


def _s6(found: Findings) -> Reason:
    crowd, first = _crowd(found, OFTEN, COUNTS), COUNTS[0]
    rare, often = (_means(found, "jain", "mixed", ber, first) for ber in (RARE, OFTEN))
    detail = WORDS.paragraphs("S6", **crowd, first=first, rare=rare, often=often)
    return _apart(found, crowd, "S6", OFTEN, detail)


def _s7(found: Findings) -> Reason:
    most = COUNTS[-1]
    j, drops, resent = (_means(found, c, "same", OFTEN, most) for c in ("jain", "queue_drops", "resent"))
    low = min(j, key=lambda name: j[name])
    short, detail = WORDS.reason(
        "S7",
        low=low,
        j_low=j[low],
        n=most,
        j=j,
        beside=_means(found, "jain", "mixed", OFTEN, most),
        drops=drops,
        again={x: 100 * v for x, v in resent.items()},
        unfair=BR if j[BR] < min(j[STAR], j[J]) else None,
    )
    return short if j[low] < 1 - INDEX_TOLERANCE else "", detail


def sections(found: Findings) -> list[Section]:
    """The behaviour of the runs, the set-up, figure 8, and the influence of the choices on the verdicts."""
    runs, chosen = figures.runs_section(found.base), setup_section(found.base)
    return [runs, chosen, figures.rto_section(found), _choices(found)]


def _choices(found: Findings) -> Section:
    said = WORDS.text("The choices", seeds=found.few_seeds)
    if len(found.sensitivity.variants) < len(setup.VARIANTS):
        said += " The full run tries more choices."
    said += f" {decision(found, 'Some choice changes the verdict of {}.')}"
    untouched = ", - not touched by the choice"
    return choices_section(found, said, untouched=untouched, numbers=PAPER.numbers)


def setup_section(base: pl.DataFrame) -> Section:
    """The values that the paper gives, and the choices with their reasons."""
    product, first = setup.RATE_BPS * 2 * setup.ONE_WAY_S / 8, COUNTS[0]
    on_wire = product / setup.SEGMENT_BYTES
    return set_up(
        WORDS.block(
            "Set-up",
            setup=setup,
            on_wire=on_wire,
            more=product / (setup.SEGMENT_BYTES + setup.HEADER_BYTES),
            first=first,
            all_small=first * SMALL,
            places=first * SMALL - round(on_wire),
            lost=fmean(column(base, "queue_drops", part="mixed", ber=RARE, n=first)),
        )
    )


def parameters(found: Findings) -> Table:
    """Table 1 beside our choices."""
    return setup_section(found.base).tables[0]


build = Assembly(
    setup.DESIGN,
    claims.CLAIMS,
    Explanation(by_claim(vars()), PAPER.claims, lists_failing=True, fares=fares_both_ways),
    listed(WORDS["Figures and tables"], PAPER.figures, vars() | vars(figures)),
    sections,
)
