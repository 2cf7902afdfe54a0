"""Reasons why claims of the Vegas-L paper do or do not reproduce, and reasons for its set-up.

That of V4 is figure 1, the rules of Vegas-A, beside those of Vegas, both per round trip: the proof that these
rules cannot put Vegas-A below Vegas while losses keep the queue empty.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from statistics import fmean
from typing import NamedTuple

import polars as pl

from bentpipe.papers.vegas_l import claims, figures, setup
from bentpipe.papers.vegas_l.claims import LABELS
from bentpipe.papers.vegas_l.setup import ALGORITHMS, ALPHA, APART, BASE, HIGH, LOW, MSS_BYTES, PAPER
from bentpipe.studies.assembly import Assembly, Explanation, Reason
from bentpipe.studies.claim import spread
from bentpipe.studies.judge import Findings, by_claim
from bentpipe.studies.places import listed
from bentpipe.studies.prose import rows
from bentpipe.studies.study import Section, Table
from bentpipe.studies.tables import choices_section, decision, held, set_up
from bentpipe.studies.words import Words

WORDS = Words.beside(__file__)

#: Mean window of Reno over 1 / sqrt(p) (one more segment per round trip, half lost at each loss).
RENO_CONSTANT = 1.5**0.5
#: Two means that differ by less than this share are called the same here.
SAME = 0.15


def implied_rtt(window: float, mbps: float) -> float:
    """The round-trip time at which ``window`` packets per round trip give ``mbps``, s (Little's law)."""
    return window * MSS_BYTES * 8 / (mbps * 1e6)


def _mean(found: Findings, cc: str, per: float, column: str) -> float:
    return fmean(claims.samples(found.base, column, per)[LABELS[cc]])


def _v1(found: Findings) -> Reason:
    needed = implied_rtt(claims.STEADY_WINDOW, claims.THROUGHPUT["vegas-l"])
    rtt, rate = (_mean(found, "vegas-l", LOW, column) for column in ("x_rtt_s", "x_mbps"))
    short, detail = WORDS.reason(
        "V1",
        needed=needed,
        rtt=rtt,
        mss=MSS_BYTES,
        rate=rate,
        window=rate * 1e6 * rtt / (MSS_BYTES * 8),
        tried=found.tried("V1", "two-satellites two-satellites-flow-1 two-hops", 0, 1),
    )
    return short if rtt < (1 - SAME) * needed else "", detail


def _v2(found: Findings) -> Reason:
    a, veno, b = (_mean(found, cc, LOW, "x_mbps") for cc in ("vegas-a", "veno", "vegas-l"))
    each = claims.samples(found.base, "x_mbps", LOW)[claims.VEGAS_L]
    total = _mean(found, "vegas", LOW, "x_mbps") + _mean(found, "vegas", LOW, "newreno_mbps")
    printed = claims.THROUGHPUT["vegas"] + claims.NEWRENO_AGAINST["vegas"]
    detail = WORDS.paragraphs(
        "V2",
        total=total,
        printed=printed,
        buffer=BASE.buffer_packets,
        queue=_mean(found, "vegas", LOW, "queue"),
        utilisation=_mean(found, "vegas", LOW, "utilisation"),
        tried=found.tried("V2", "washington-as-printed no-acks two-satellites satellite-anywhere", 1, 3),
        vegas_l=b,
        vegas_a=a,
        veno=veno,
        least=min(each),
        most=max(each),
        lost={LABELS[cc]: _mean(found, cc, LOW, "x_lost") for cc in ("veno", "vegas-a", "vegas-l")},
        newreno_lost=_mean(found, "vegas-l", LOW, "newreno_lost"),
        uplink=_mean(found, "vegas-l", LOW, "newreno_uplink_lost"),
    )
    reasons = []
    if veno > (1 + SAME) * b:
        reasons.append(f"Veno gets more than Vegas-L ({veno:.2f} to {b:.2f} Mbit/s)")
    elif abs(a / b - 1) < SAME:
        reasons.append("Vegas-A and Vegas-L are nearly equal")
    if total < (1 - SAME) * printed:
        reasons.append(f"Vegas and NewReno get {total:.1f} Mbit/s together, in the paper {printed:.1f}")
    return "; ".join(reasons), detail


def _v3(found: Findings) -> Reason:
    mine, reno = (
        {LABELS[cc]: _mean(found, cc, LOW, column) for cc in ALGORITHMS}
        for column in ("x_mbps", "newreno_mbps")
    )
    fair = claims.samples(found.base, "jain", LOW)
    detail = WORDS.paragraphs(
        "V3",
        mine=mine,
        newreno=reno,
        single={label: spread(j) for label, j in fair.items()},
        of_means=claims.index_of_means(found.base, LOW),
    )
    ratio = {name: mine[name] / reno[name] for name in mine}
    if ratio[claims.VENO] > 1 + SAME and ratio[claims.VENO] > ratio[claims.VEGAS_L]:
        return f"Veno takes {ratio[claims.VENO]:.1f} times NewReno's throughput", detail
    printed = claims.THROUGHPUT["vegas"] / claims.NEWRENO_AGAINST["vegas"]
    if ratio[claims.VEGAS] < printed * (1 - SAME):
        return f"Vegas gets {ratio[claims.VEGAS]:.2f} of NewReno's throughput, in the paper 0.34", detail
    return "", detail


def same_runs(runs: pl.DataFrame) -> tuple[int, int]:
    """At the high error rate, the seeds under which Vegas-A and Vegas-L are one run to the last digit.

    Returns:
        the number of such seeds, and the number of seeds.
    """
    measures = ("x_mbps", "newreno_mbps", "cwnd_early", "cwnd_steady", "x_rtt_s")
    of = [claims.samples(runs, column, HIGH) for column in measures]
    pairs = [zip(*(each[name] for each in of), strict=True) for name in (claims.VEGAS_A, claims.VEGAS_L)]
    alike = [one == other for one, other in zip(*pairs, strict=True)]
    return sum(alike), len(alike)


def _raised(found: Findings, per: float) -> dict[str, float]:
    """The share of the samples with alpha above 1, of Vegas-A and Vegas-L."""
    above = claims.samples(found.base, "alpha_above", per)
    return {cc: fmean(above[LABELS[cc]]) for cc in figures.FAMILY[1:]}


class Round(NamedTuple):
    """The state in a round trip: Vegas-A's alpha, the packets queued, and whether the throughput rose."""

    alpha: float
    diff: float
    rising: bool


class Step(NamedTuple):
    """Packets by which the window and alpha (and beta) change."""

    cwnd: int
    alpha: int


def vegas(diff: float) -> int:
    """The change of Vegas's window, equation 4, packets."""
    return 1 if diff < ALPHA else -1 if diff > ALPHA + APART else 0


def vegas_a(of: Round) -> Step:
    """The action of figure 1 in a round; the comments give its lines."""
    if of.alpha < of.diff < of.alpha + APART:
        return Step(1, 1) if of.rising else Step(0, 0)  # 3, 5
    if of.diff < of.alpha:
        if of.alpha > ALPHA:
            return Step(1, 0) if of.rising else Step(-1, -1)  # 10, 12
        return Step(1, 0)  # 15
    if of.diff > of.alpha + APART and of.alpha > ALPHA:
        return Step(-1, -1)  # 19
    return Step(0, 0)  # 21, and equality


def lead(of: Round) -> int:
    """The change of Vegas-A's window less its alpha in a round, minus that of Vegas's window.

    alpha is 1 at the start, so where no round has a negative lead Vegas-A's window is never below Vegas's.
    """
    mine = vegas_a(of)
    return mine.cwnd - mine.alpha - vegas(of.diff)


def rounds(most: int = 12) -> Iterator[Round]:
    """Every kind of round with alpha up to ``most``: Diff on, between and beyond all thresholds."""
    for alpha, half, rising in product(range(1, most + 1), range(2 * most + 8), (False, True)):
        yield Round(float(alpha), half / 2 + 0.25 * (half % 2), rising)


def _v4(found: Findings) -> Reason:
    every = list(rounds())
    behind = [of for of in every if lead(of) < 0]
    assert all(of.alpha > ALPHA and of.diff < ALPHA and not of.rising for of in behind)
    a, b = (_mean(found, cc, HIGH, "cwnd_steady") for cc in ("vegas-a", "vegas"))
    physical = found.runs.filter(pl.col("variant") == "two-satellites")
    short, detail = WORDS.reason(
        "V4",
        vegas_a=a,
        vegas=b,
        vegas_low=_mean(found, "vegas", LOW, "cwnd_steady"),
        kinds=len(every),
        lead=min(lead(of) for of in every if of.alpha == ALPHA),
        low=LOW,
        high=HIGH,
        alike=same_runs(found.base),
        raised_high=_raised(found, HIGH),
        raised_low=_raised(found, LOW),
        diff=fmean(claims.samples(found.base, "diff_above", HIGH)[claims.VEGAS_A]),
        physical=same_runs(physical) if physical.height else None,
        tried=found.tried("V4", "line-15-scaled", 1),
    )
    return short if abs(a / b - 1) < SAME else "", detail


def _v5(found: Findings) -> Reason:
    a, b, veno, mine = (_mean(found, cc, HIGH, "x_mbps") for cc in ("vegas-a", "vegas", "veno", "vegas-l"))
    rtt = fmean(found.base.filter(pl.col("per") == HIGH)["newreno_rtt_s"].to_list())
    short, detail = WORDS.reason(
        "V5",
        rtt=rtt,
        law=RENO_CONSTANT / HIGH**0.5 * MSS_BYTES * 8 / rtt / 1e6,
        tried=found.tried("V5", "two-satellites loss-every-link", 0),
        veno=veno,
        vegas_l=mine,
        vegas_a=a,
        vegas=b,
    )
    return short if abs(a / b - 1) < SAME else "", detail


def _v6(found: Findings) -> Reason:
    x = {LABELS[cc]: _mean(found, cc, HIGH, "x_mbps") for cc in ("vegas", "vegas-a", "veno", "vegas-l")}
    reno = fmean(found.base.filter(pl.col("per") == HIGH)["newreno_mbps"].to_list())
    faster = min(x.values()) > reno
    short, detail = WORDS.reason(
        "V6",
        each=x,
        newreno=reno,
        faster=f" {WORDS.text('V6 if all are faster')}" if faster else "",
        of_means=claims.index_of_means(found.base, HIGH),
    )
    return short if faster else "", detail


def sections(found: Findings) -> list[Section]:
    """The behaviour of the runs, the set-up, and the influence of the choices on the verdicts."""
    return [figures.runs_section(found), setup_section(found.base), _choices(found)]


def _choices(found: Findings) -> Section:
    choices, holding = found.sensitivity.choices, held(found)
    of_base = holding.pop("base")
    best = max(holding, key=lambda name: holding[name])
    said = WORDS.paragraphs(
        "The choices",
        seeds=found.few_seeds,
        tried=len(choices) if len(choices) < len(setup.VARIANTS) else None,
        all=len(setup.VARIANTS),
        decision=decision(found),
        nearest=choices[best] if holding[best] > of_base else None,
        held=holding[best],
        of_base=of_base,
    )
    return choices_section(found, " ".join(said), numbers=PAPER.numbers)


def setup_section(base: pl.DataFrame) -> Section:
    """The values that the paper gives, and the choices with their reasons."""
    least = {who: base[f"{who}_rtt_min_s"].to_list() for who in ("x", "newreno")}
    span = {who: f"{min(of) * 1e3:.0f} to {max(of) * 1e3:.0f}" for who, of in least.items()}
    wire = {cc: MSS_BYTES + BASE.header_bytes(cc) for cc in (*ALGORITHMS, "reno")}
    of_l = implied_rtt(claims.STEADY_WINDOW, claims.THROUGHPUT["vegas-l"])
    of_vegas = implied_rtt(claims.STEADY_WINDOW / claims.WINDOW_OVER_VEGAS, claims.THROUGHPUT["vegas"])
    of_reno = implied_rtt(RENO_CONSTANT / HIGH**0.5, claims.NEWRENO_HIGH)
    given = WORDS.block(
        "Set-up",
        span=span["x"],
        span_newreno=span["newreno"],
        second=-BASE.second_satellite,
        apart_ms=setup.between_satellites_s(fmean(BASE.satellite), BASE.second_satellite) * 1e3,
        setup=setup,
        bdp=setup.RATE_BPS * fmean(least["x"]) / 8 / wire["vegas"],
        wire=wire,
        ack=setup.TCP_IP_BYTES + BASE.link_bytes,
    )
    chosen = set_up(given, WORDS.block("About the set-up", of_l=of_l, of_reno=of_reno))
    implied = rows(WORDS.block("Implied round trips", of_l=of_l, of_vegas=of_vegas, of_reno=of_reno))
    table = Table(
        ["Flow", "The paper's numbers", "By", "Implied RTT, queue included"],
        implied,
        "What the paper's own numbers imply: about two satellites (or a long standing queue) for flow 1, one "
        "for flow 2",
    )
    return replace(chosen, tables=[*chosen.tables, table])


build = Assembly(
    setup.DESIGN,
    claims.CLAIMS,
    Explanation(by_claim(vars()), PAPER.claims, clause_if_failing=True, counts_choices=True),
    listed(WORDS["Figures and tables"], PAPER.figures, vars(figures)),
    sections,
)
