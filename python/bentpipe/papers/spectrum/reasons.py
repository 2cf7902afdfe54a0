"""The claims of the spectrum paper, each with its checks and the reason why it does or does not reproduce."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from statistics import fmean

import numpy as np
import polars as pl

from bentpipe.analysis import convergence
from bentpipe.papers.spectrum import claims, closed_forms
from bentpipe.papers.spectrum.closed_forms import TABLE_5, TABLE_6
from bentpipe.papers.spectrum.scenarios import CHAIN, FIVE, LABELS, QUEUES, SMOOTH, SUBTRACT
from bentpipe.studies.claim import Cause, Claim, interval
from bentpipe.studies.design import where
from bentpipe.studies.judge import Findings, Reason, Sensitivity, Sentence, column
from bentpipe.studies.page import plus_minus
from bentpipe.studies.text import Block, Table, listing
from bentpipe.studies.words import Words

WORDS = Words.beside(__file__)
#: The checks of K3 and K4 at little loss that were run under every choice.
LOW_LOSS = tuple(f"{claims.SMALL_MBPS:g} Mbit/s, {queue}, low loss" for queue in ("red-ecn", "red"))


def fares(claim: Claim, sensitivity: Sensitivity) -> list[Block]:
    """A sentence: under which other choices the verdict is another, over the same seeds."""
    base = sensitivity.claim("base", claim.id)
    steps = sensitivity.compared(base) if base else {}
    changed = sensitivity.listed(claim.id, [name for name, step in steps.items() if step])
    if not changed:
        return ["No other choice that was tried changes the verdict (section on choices)."]
    return [listing("Over the seeds of the sensitivity runs the verdict changes with", changed)]


def _mean(found: Findings, name: str, experiment: str, controls: Iterable[str]) -> dict[str, float]:
    """The mean of a column for each control, by its label."""
    return {x: fmean(v) for x, v in claims.samples(found.base, name, experiment, controls).items()}


def _spread(found: Findings, name: str, experiment: str, controls: Iterable[str]) -> dict[str, str]:
    """The mean of a column and the half-width of its interval for each control, by its label."""
    groups = claims.samples(found.base, name, experiment, controls)
    return {x: plus_minus(interval(v)) for x, v in groups.items()}


def _why_k1(_: Findings) -> Reason:
    return WORDS.reason("K1")


def _why_k2(found: Findings) -> Reason:
    rates = claims.present(found.base, "p", experiment="friendly")
    at = min(rates, key=lambda p: abs(p - closed_forms.WORST_LOSS))
    four = ("simd", "simd-8", "simd-4", "aimd-8")
    base = found.sensitivity.claim("base", "K2")
    closer = [i for i, check in enumerate(base.checks) if check.key == claims.CLOSER] if base else []
    return WORDS.reason(
        "K2",
        closer=found.under("K2", "limited-transmit real-cuts min-rto-1s rtt-200ms reno", *closer)
        if closer
        else None,
        at=at,
        four={LABELS[c]: fmean(claims.relative(found.base, c, at)) for c in four},
        simd=LABELS["simd"],
        curve={f"at {p:g}": fmean(claims.relative(found.base, "simd", p)) for p in rates},
    )


def _shares(found: Findings, claim: str, cc: str) -> Reason:
    every = claims.present(found.base, "n", experiment="share", mbps=15.0)

    def mean(queue: str, n: float, name: str) -> float:
        return fmean(claims.share(found.base, cc, queue, n, name))

    shares = {
        f"{2 * n} flows": {
            what: f"{mean(queue, n, 'ratio'):.2f} ({mean(queue, n, 'loss'):.1%})"
            for queue, what in QUEUES.items()
        }
        for n in every
    }
    choices = {"base": "in the base over the seeds of the last section"}
    choices |= {n: f"with: {what}" for n, what in found.sensitivity.choices.items()}
    low = {n: _low_loss(found, n, claim) for n in ("base", "share-160s", "closed", "slow-40ms")}
    parts = [f"{v:.2f} {choices[n]}" for n, v in low.items() if v is not None]
    detail = WORDS.paragraphs("K3 and K4", control=LABELS[cc], shares=shares, low=parts)
    few = {queue: mean(queue, every[0], "ratio") for queue in QUEUES}
    lead = max(few, key=lambda queue: few[queue])
    if few[lead] <= 1 + claims.CLOSE:
        return "", detail
    return f"{2 * every[0]} flows over {QUEUES[lead]}: {few[lead]:.2f} of TCP's", detail


def _low_loss(found: Findings, variant: str, claim_id: str) -> float | None:
    """Mean ratio of a control to TCP where K3 and K4 find little loss; None if it was not run."""
    claim = found.sensitivity.claim(variant, claim_id)
    near = [c.measured.centre for c in claim.checks if c.key in LOW_LOSS] if claim else []
    return 1 + fmean(near) if near else None


def _why_k5(found: Findings) -> Reason:
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
        shares=shares,
        trips=" and ".join(f"{1e3 * v:.0f} ms at {mbps:g} Mbit/s" for mbps, v in rtt.items()),
        real=ratios[0] if ratios else None,
    )


def _steps(found: Findings, experiment: str) -> tuple[dict[str, str], list[Block]]:
    """The times to settle, and a text on them."""
    four = ("tcp", "aimd", "simd", "iiad")
    times, cov = _spread(found, "settle_s", experiment, four), _mean(found, "cov", experiment, four)
    return times, WORDS.paragraphs("K6 and K7", times=times, cov=cov)


def _why_k6(found: Findings) -> Reason:
    aimd, simd = _mean(found, "settle_s", "load-doubles", ("aimd", "simd")).values()
    fell = _mean(found, "fell", "load-doubles", ("tcp", "aimd", "simd", "iiad"))
    tried = found.tried("K6", "step-30 iiad-real", 1, 4)
    short, detail = WORDS.reason("K6", simd=simd, aimd=aimd, fell=fell, tried=tried)
    _, steps = _steps(found, "load-doubles")
    return short, [*steps, *detail, *WORDS.paragraphs("Cuts to whole numbers")]


def _why_k7(found: Findings) -> Reason:
    times, steps = _steps(found, "load-halves")
    short, _ = WORDS.reason("K7", times=times)
    return short, [*steps, *WORDS.paragraphs("Cuts to whole numbers")]


def _why_k8(found: Findings) -> Reason:
    outs, grow, shrink = (_mean(found, c, "square", FIVE) for c in ("timeouts", "grow_double", "shrink"))
    shares = (
        [v / printed[cc] for cc, v in zip(FIVE, of.values(), strict=True)]
        for of, printed in ((grow, claims.GROW), (shrink, claims.SHRINK))
    )
    grown, shrunk = (f"{min(v):.2f} to {max(v):.2f}" for v in shares)
    cov = _mean(found, "cov_off", "square", FIVE)
    whole = _doubling_cut_to_whole(found)
    return WORDS.reason("K8", grow=grown, shrink=shrunk, timeouts=outs, whole=whole, cov=cov)


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


def _started(found: Findings, number: int) -> dict[str, dict[str, str]]:
    """The number of runs that begin as the paper's did, and the rank of the printed single run among them."""
    of, printed = (("t2", TABLE_6["to_fair"]), ("t1", TABLE_6["to_full"]))[number - 1]
    rows = {}
    for cc in CHAIN:
        every = column(found.base, of, experiment=f"chain-{number}", cc=cc)
        started: list[float] = claims.from_there(found.base, number, cc)[of].to_list()
        below = f"{claims.percentile(started, printed[cc]):.0%}" if started else "-"
        rows[LABELS[cc]] = {
            "runs that begin there": f"{len(started)} of {len(every)}",
            "of these below the printed number": below,
            "of all runs below it": f"{claims.percentile(every, printed[cc]):.0%}",
        }
    return rows


def _why_k9(found: Findings) -> Reason:
    first, stay = (_mean(found, c, "chain-1", CHAIN) for c in ("t2", "t2_stay"))
    return WORDS.reason(
        "K9",
        first={LABELS[c]: first[LABELS[c]] / TABLE_6["to_fair"][c] for c in CHAIN},
        near=claims.NEAR_START,
        started=_started(found, 1),
        stay=stay,
    )


def _why_k10(found: Findings) -> Reason:
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


def _why_k11(_: Findings) -> Reason:
    simd, aimd = (np.mean(closed_forms.times(cc, "iiad") > 1) for cc in ("simd", "aimd"))
    two, five = (closed_forms.faster_than_others(m) for m in (2.0, 5.0))
    return WORDS.reason("K11", simd=simd, aimd=aimd, two=two, five=five)


def _why_k12(_: Findings) -> Reason:
    gap = convergence.trajectory(10, 70, 100, 0, 0, SUBTRACT, epochs=4000).gap[-1]
    return WORDS.reason("K12", gap=float(gap))


def _why_k13(_: Findings) -> Reason:
    least = {name: float(closed_forms.dip(beta).min()) for name, beta in closed_forms.DIPPING.items()}
    return WORDS.reason("K13", least=least)


CLAIMS = [
    Sentence("K1", "The constants (table 1, equations 4 to 8)",
        "with alpha and c of equations 4 and 5 every control of the family is TCP-friendly; k = 0, l = 1 "
        "gives AIMD's alpha = 3 beta / (2 - beta).", closed_forms.k1, _why_k1, about=None),
    Sentence("K2", "TCP-friendliness (figure 7)",
        "one flow over a link that loses packets at random: SIMD gets what standard TCP gets at low loss "
        "rates, never less than 75 % of it (near 15 % loss, SIMD(1/16) being the worst), where it "
        "performs much closer to TCP than AIMD(1/5,1/8). Every curve has a dip at moderate loss, and at "
        "very high loss rates the throughputs are comparable again.", claims.k2, _why_k2,
        about=where(experiment="friendly")),
    Sentence("K3", "TCP-compatibility of SIMD (figures 8 to 10)",
        "n SIMD and n TCP flows share a link with a round trip of around 0.1 s: the shares are close at low "
        "loss, SIMD's is slightly smaller at high loss; under drop-tail it is smaller and varies more.",
        partial(claims.shares, cc="simd"),
        partial(_shares, claim="K3", cc="simd"), about=where(experiment="share", cc="simd"),
        cause=Cause.RULE),  # whether cuts are to whole numbers
    Sentence("K4", "TCP-compatibility of AIAD (figures 11 to 13)",
        "the conclusion is similar for AIAD: compatible over a wide range of parameters.",
        partial(claims.shares, cc="aiad"), partial(_shares, claim="K4", cc="aiad"),
        about=where(experiment="share", cc="aiad"), cause=Cause.RULE),  # as K3
    Sentence("K5", "Smoothness (figures 14 to 17)",
        "16 flows beside 16 of TCP: about 0.3 % of the packets dropped at 60 Mbit/s, nearly 5 % at 15 "
        "Mbit/s. IIAD and AIAD vary least, then AIMD, then SIMD. All vary less than TCP, and all vary more "
        "at 15 Mbit/s. There the throughput of AIMD degrades significantly, IIAD and AIAD get less than a "
        "fair share, and SIMD comes close to TCP.", claims.k5, _why_k5, about=where(experiment="smooth"),
        cause=Cause.RULE),  # as K3
    Sentence("K6", "Responsiveness (figure 18a)",
        "the load doubles at 200 s: TCP answers first and varies most, IIAD last and varies least; AIMD and "
        "SIMD are between and, against table 3, similar.", claims.k6, _why_k6,
        about=where(experiment="load-doubles"), cause=Cause.PARAMETER),  # the rate of the link
    Sentence("K7", "Aggressiveness (figure 18b)",
        "half of the load goes at 200 s: TCP is the fastest to use the room, IIAD the slowest, SIMD faster "
        "than AIMD.", claims.k7, _why_k7, about=where(experiment="load-halves"), cause=Cause.RULE),  # as K3
    Sentence(
        "K8",
        "Impulse response (figure 19, table 5)",
        [
            "constant-rate traffic takes half of 1.5 Mbit/s every other 30 s.",
            Table(
                ["", "TCP", "AIMD", "IIAD", "SIMD", "AIAD"],
                [
                    [
                        "round trips to double the window",
                        "12.8 to 14.1",
                        "108.1 to 110.7",
                        "172.8 to 176.0",
                        "31.6 to 34.6",
                        "103.3 to 107.9",
                    ],
                    [
                        "losses to halve it",
                        "1.54 to 1.63",
                        "3.85 to 5.19",
                        "4.20 to 5.82",
                        "4.21 to 5.47",
                        "3.73 to 4.81",
                    ],
                ],
                "Printed intervals",
            ),
            "The checks ask whether our intervals overlap these. SIMD is much more aggressive than AIMD, "
            "IIAD and AIAD, and AIAD more than IIAD. In the steady state TCP's window varies most and "
            "IIAD's least, and AIAD's is as smooth as IIAD's.",
        ],
        claims.k8,
        _why_k8,
        about=where(experiment="square"),
        cause=Cause.RULE,  # as K3
    ),
    Sentence(
        "K9",
        "Convergence to fairness (figure 21, table 6)",
        [
            "two flows have windows of 7 and 100 packets.",
            Table(
                ["", "TCP", "AIMD", "IIAD", "SIMD"],
                [["", "68", "776", "4232", "218"]],
                "Round trips until they differ by less than 10",
            ),
            "W is about 110 packets. Each needs less than by its closed form, SIMD much less than others.",
        ],
        claims.k9,
        _why_k9,
        about=where(experiment="chain-1"),
        cause=Cause.SPREAD,
    ),
    Sentence(
        "K10",
        "Convergence to efficiency (figure 22, table 6)",
        [
            "two flows have windows of about 10 and 30 packets, and W is about 110.",
            Table(
                ["", "TCP", "AIMD", "IIAD", "SIMD"],
                [
                    ["round trips until then", "55", "349", "1284", "90"],
                    ["difference in packets", "5.8", "18.6", "8.1", "13.6"],
                ],
                "When they fill 110 packets",
            ),
            "The round trips are close to the closed forms.",
        ],
        claims.k10,
        _why_k10,
        about=where(experiment="chain-2"),
        cause=Cause.SPREAD,
    ),
    Sentence("K11", "Closed forms (tables 2, 3, 5 and 6, figure 4c)",
        "smoothness, aggressiveness and responsiveness, T1, the difference then, and T2; SIMD(1/16) "
        "converges faster than AIMD(1/16) in most cases, and IIAD is slower than both in all.",
        closed_forms.k11, _why_k11, about=None, cause=Cause.PARAMETER),  # the axis of figure 5
    Sentence("K12", "Convergence of two users (section 4, appendix B)",
        "with l = 1 or l = 1/(k+1) two users become fair; otherwise they do if the overshoot and three times "
        "the undershoot stay below 2; SIMD's crossing of the efficiency line is fairer than AIMD's if x1 + "
        "x2 > 1/3.", closed_forms.k12, _why_k12, about=None),
    Sentence("K13", "The dip of figure 7 (equation 9)",
        "the TCP-friendly equation reveals one possible explanation of the dip at moderate loss rates: "
        "at very low and very high ones a control gets what TCP gets, between them less, least near 15 %.",
        closed_forms.k13, _why_k13, about=None),
]  # fmt: skip
