"""Reasons why claims of the spectrum paper do or do not reproduce, and reasons for its set-up."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from statistics import fmean

import numpy as np
import polars as pl

from bentpipe.analysis import convergence
from bentpipe.papers.spectrum import claims, closed_forms, figures, setup, tables
from bentpipe.papers.spectrum.closed_forms import TABLE_5, TABLE_6
from bentpipe.papers.spectrum.setup import BASE, CHAIN, FIVE, LABELS, PAPER, QUEUES, SMOOTH, SUBTRACT
from bentpipe.studies.assembly import Assembly, Explanation, Reason
from bentpipe.studies.claim import Claim, interval
from bentpipe.studies.design import where
from bentpipe.studies.judge import Findings, Sensitivity, by_claim, column
from bentpipe.studies.page import plus_minus
from bentpipe.studies.places import listed
from bentpipe.studies.study import Section, Table
from bentpipe.studies.tables import choices_section, decision, set_up
from bentpipe.studies.words import Words, each

WORDS = Words.beside(__file__)
#: The checks of K3 and K4 at little loss that were run under every choice.
LOW_LOSS = tuple(f"{claims.SMALL_MBPS:g} Mbit/s, {queue}, low loss" for queue in ("red-ecn", "red"))


def fares(claim: Claim, sensitivity: Sensitivity) -> str:
    """A sentence: under which other choices the verdict is another, over the same seeds."""
    base = sensitivity.claim("base", claim.id)
    steps = sensitivity.compared(base) if base else {}
    changed = sensitivity.listed(claim.id, [name for name, step in steps.items() if step])
    if not changed:
        return "No other choice that was tried changes the verdict (section on choices)."
    return f"Over the seeds of the sensitivity runs the verdict changes with: {changed}."


def _mean(found: Findings, name: str, experiment: str, controls: Iterable[str]) -> dict[str, float]:
    """The mean of a column for each control, by its label."""
    return {x: fmean(v) for x, v in claims.samples(found.base, name, experiment, controls).items()}


def _spread(found: Findings, name: str, experiment: str, controls: Iterable[str]) -> dict[str, str]:
    """The mean of a column and the half-width of its interval for each control, by its label."""
    groups = claims.samples(found.base, name, experiment, controls)
    return {x: plus_minus(interval(v)) for x, v in groups.items()}


def _k1(_: Findings) -> Reason:
    return WORDS.reason("K1")


def _k2(found: Findings) -> Reason:
    rates = claims.present(found.base, "p", experiment="friendly")
    at = min(rates, key=lambda p: abs(p - claims.WORST_LOSS))
    four = ("simd", "simd-8", "simd-4", "aimd-8")
    return WORDS.reason(
        "K2",
        at=at,
        four={LABELS[c]: fmean(claims.relative(found.base, c, at)) for c in four},
        simd=LABELS["simd"],
        curve=", ".join(f"{fmean(claims.relative(found.base, 'simd', p)):.2f} at {p:g}" for p in rates),
    )


def _shares(found: Findings, claim: str, cc: str) -> Reason:
    every = claims.present(found.base, "n", experiment="share", mbps=15.0)

    def mean(queue: str, n: float, name: str) -> float:
        return fmean(claims.share(found.base, cc, queue, n, name))

    cells = (
        f"{2 * n} flows: "
        + ", ".join(
            f"{what} {mean(queue, n, 'ratio'):.2f} ({mean(queue, n, 'loss'):.1%})"
            for queue, what in QUEUES.items()
        )
        for n in every
    )
    low = {n: _low_loss(found, n, claim) for n in ("share-160s", "closed", "slow-40ms")}
    parts = [f"{v:.2f} with: {found.sensitivity.choices[n]}" for n, v in low.items() if v is not None]
    detail = WORDS.paragraphs(
        "K3 and K4",
        control=LABELS[cc],
        shares="; ".join(cells),
        low=_low_loss(found, "base", claim),
        low_under="; ".join(parts) or None,
    )
    few = {queue: mean(queue, every[0], "ratio") for queue in QUEUES}
    lead = max(few, key=lambda queue: few[queue])
    if few[lead] <= 1 + claims.CLOSE:
        return "", detail
    return f"{2 * every[0]} flows over {QUEUES[lead]}: {few[lead]:.2f} of TCP's", detail


_k3, _k4 = partial(_shares, claim="K3", cc="simd"), partial(_shares, claim="K4", cc="aiad")


def _low_loss(found: Findings, variant: str, claim_id: str) -> float | None:
    """Mean ratio of a control to TCP where K3 and K4 find little loss; None if it was not run."""
    claim = found.sensitivity.claim(variant, claim_id)
    near = [c.measured.centre for c in claim.checks if c.key in LOW_LOSS] if claim else []
    return 1 + fmean(near) if near else None


def _k5(found: Findings) -> Reason:
    at = where(experiment="smooth", mbps=15.0).rows(found.base)
    shares = {
        QUEUES[q]: {LABELS[cc]: fmean(column(at, "ratio", queue=q, cc=cc)) for cc in SMOOTH}
        for q in ("red", "red-ecn")
    }
    rtt = {
        mbps: fmean(where(experiment="smooth", mbps=mbps, queue="red").rows(found.base)["rtt_s"].to_list())
        for mbps in claims.DROPS
    }
    real = found.sensitivity.claim("real-cuts", "K5")
    ratios = [c.measured.centre for c in real.checks if "RED: TCP over" in c.what] if real else []
    return WORDS.reason(
        "K5",
        aimd=fmean(column(at, "ratio", queue="red", cc="aimd")),
        shares="; ".join(f"{queue}: {each(of, '.2f')}" for queue, of in shares.items()),
        trips=" and ".join(f"{1e3 * v:.0f} ms at {mbps:g} Mbit/s" for mbps, v in rtt.items()),
        real=ratios[0] if ratios else None,
    )


def _steps(found: Findings, experiment: str) -> tuple[dict[str, str], str]:
    """The times to settle, and a paragraph on them."""
    four = ("tcp", "aimd", "simd", "iiad")
    times, cov = _spread(found, "settle_s", experiment, four), _mean(found, "cov", experiment, four)
    return times, WORDS.text("K6 and K7", times=times, cov=cov)


def _k6(found: Findings) -> Reason:
    aimd, simd = _mean(found, "settle_s", "load-doubles", ("aimd", "simd")).values()
    return WORDS.reason(
        "K6",
        simd=simd,
        aimd=aimd,
        steps=_steps(found, "load-doubles")[1],
        fell=_mean(found, "fell", "load-doubles", ("tcp", "aimd", "simd", "iiad")),
        whole=WORDS.text("Cuts to whole numbers"),
    )


def _k7(found: Findings) -> Reason:
    times, steps = _steps(found, "load-halves")
    return WORDS.reason("K7", times=times, steps=steps, whole=WORDS.text("Cuts to whole numbers"))


def _k8(found: Findings) -> Reason:
    outs, grow, shrink = (_mean(found, c, "square", FIVE) for c in ("timeouts", "grow_double", "shrink"))
    shares = (
        [v / printed[cc] for cc, v in zip(FIVE, of.values(), strict=True)]
        for of, printed in ((grow, claims.GROW), (shrink, claims.SHRINK))
    )
    grown, shrunk = (f"{min(v):.2f} to {max(v):.2f}" for v in shares)
    return WORDS.reason("K8", grow=grown, shrink=shrunk, timeouts=outs, whole=_doubling_cut_to_whole(found))


def _doubling_cut_to_whole(found: Findings) -> str | None:
    """Two controls whose doubling differs from the printed, with whole cuts; None if not run."""
    whole = found.runs.filter(pl.col("variant") == "whole-cuts", pl.col("experiment") == "square")
    if whole.is_empty():
        return None
    same = found.base.filter(pl.col("seed").is_in(whole["seed"].unique().to_list()))
    parts = []
    for cc in ("simd", "aiad"):
        ours, theirs = (fmean(column(of, "grow_double", experiment="square", cc=cc)) for of in (whole, same))
        low, high = TABLE_5["grow"][cc]
        parts.append(
            f"{LABELS[cc]} doubles in {ours:.1f} instead of {theirs:.1f} round trips ({low} to {high} "
            "printed)."
        )
    return " ".join(parts)


def _started(found: Findings, number: int) -> str:
    """The number of runs that begin as the paper's did, and the rank of the printed single run among them."""
    of, printed = (("t2", TABLE_6["to_fair"]), ("t1", TABLE_6["to_full"]))[number - 1]
    parts = []
    for cc in CHAIN:
        every = column(found.base, of, experiment=f"chain-{number}", cc=cc)
        started: list[float] = claims.from_there(found.base, number, cc)[of].to_list()
        below = f"{claims.percentile(started, printed[cc]):.0%}" if started else "-"
        parts.append(
            f"{LABELS[cc]}: runs that begin there {len(started)} of {len(every)}, of these below the printed "
            f"number {below}, of all runs below it {claims.percentile(every, printed[cc]):.0%}"
        )
    return "; ".join(parts)


def _k9(found: Findings) -> Reason:
    first, stay = (_mean(found, c, "chain-1", CHAIN) for c in ("t2", "t2_stay"))
    return WORDS.reason(
        "K9",
        first={LABELS[c]: first[LABELS[c]] / TABLE_6["to_fair"][c] for c in CHAIN},
        near=claims.NEAR_START,
        started=_started(found, 1),
        stay=stay,
    )


def _k10(found: Findings) -> Reason:
    w1, w2, t1 = (_mean(found, c, "chain-2", ["tcp"])["TCP"] for c in ("w1", "w2", "t1"))
    one, two = TABLE_6["start_full"]["tcp"]
    return WORDS.reason(
        "K10",
        w1=w1,
        w2=w2,
        one=one,
        two=two,
        near=claims.NEAR_START,
        started=_started(found, 2),
        form=fmean(claims.analysed(found.base, 2, "tcp")),
        t1=t1,
        gaps=_spread(found, "gap", "chain-2", CHAIN),
    )


def _k11(_: Findings) -> Reason:
    simd, aimd = (np.mean(closed_forms.times(cc, "iiad") > 1) for cc in ("simd", "aimd"))
    return WORDS.reason("K11", simd=simd, aimd=aimd)


def _k12(_: Findings) -> Reason:
    gap = convergence.trajectory(10, 70, 100, 0, 0, SUBTRACT, epochs=4000).gap[-1]
    return WORDS.reason("K12", gap=float(gap))


def sections(found: Findings) -> list[Section]:
    """Simulation and analysis, the set-up, and the influence of the choices on the verdicts."""
    return [tables.runs_section(found), setup_section(), _choices(found)]


def comparable(few: pl.DataFrame) -> pl.DataFrame:
    """The runs without those of figures 8 to 13 with seeds that no choice was tried with."""
    shares = where(experiment="share").rows(few)
    singles = [variant.name for variant in setup.VARIANTS]
    tried = shares.filter(pl.col("variant").is_in(singles))["seed"].unique().to_list()
    if not tried:
        return few
    others = few.filter(pl.col("experiment") != "share")
    return pl.concat([others, shares.filter(pl.col("seed").is_in(tried))])


def _choices(found: Findings) -> Section:
    verdicts = decision(found, "A choice decides the verdict of {}.", "No choice decides a verdict.")
    said = f"{WORDS.text('The choices', seeds=found.few_seeds)} {verdicts}"
    return choices_section(
        found,
        said,
        untouched=", - not touched by the choice",
        title="How far the choices decide the verdicts",
        changes="verdicts that change",
    )


def setup_section() -> Section:
    """Table 4, and the values that the text leaves open."""
    given = WORDS.block(
        "Set-up",
        setup=setup,
        friendly_ms=1000 * BASE.friendly_rtt_s,
        fast_ms=1000 * BASE.fast_rtt_s,
        slow_ms=1000 * BASE.slow_rtt_s,
        spread_ms=1000 * BASE.dumbbell_spread_s,
        square_ms=1000 * BASE.square_rtt_s,
        chain_ms=1000 * BASE.chain_rtt_s,
    )
    return set_up(given, WORDS["About the set-up"])


def configuration(_: Findings) -> Table:
    """Table 4, and the values that the text leaves open."""
    return setup_section().tables[0]


build = Assembly(
    setup.DESIGN,
    claims.CLAIMS,
    Explanation(by_claim(vars()), PAPER.claims, clause_if_failing=True, fares=fares),
    listed(WORDS["Figures and tables"], PAPER.figures, vars() | vars(figures) | vars(tables)),
    sections,
    comparable,
)
