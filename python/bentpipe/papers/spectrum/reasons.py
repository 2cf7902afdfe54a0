"""Reasons why claims of the spectrum paper do or do not reproduce, and reasons for its set-up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from statistics import fmean

import numpy as np
import polars as pl

from bentpipe.analysis import convergence
from bentpipe.papers.spectrum import claims, closed_forms, figures, setup
from bentpipe.papers.spectrum.places import PLACES
from bentpipe.papers.spectrum.setup import BASE, CHAIN, FIVE, LABELS, QUEUES, SMOOTH, SUBTRACT
from bentpipe.studies.assembly import Assembly
from bentpipe.studies.claim import Cause, Claim, interval
from bentpipe.studies.design import where
from bentpipe.studies.explain import Explanation, Reason
from bentpipe.studies.findings import Findings
from bentpipe.studies.judge import Sensitivity
from bentpipe.studies.page import plain, plus_minus
from bentpipe.studies.places import drawn
from bentpipe.studies.prose import paragraphs
from bentpipe.studies.rows import column
from bentpipe.studies.study import Section
from bentpipe.studies.tables import choices_section, decided, set_up

WHOLE = (
    "A cut to a whole number takes up to a packet more than IIAD's two thirds, so IIAD comes down faster "
    "than by its rule, and its window is smaller. Cut to fractions it takes longer (section on choices)."
)
#: The checks of K3 and K4 at little loss that were run under every choice.
LOW_LOSS = tuple(f"{claims.SMALL_MBPS:g} Mbit/s, {queue}, low loss" for queue in ("red-ecn", "red"))
EXACT = "A closed form has no seeds: the intervals have no width."


def fares(claim: Claim, sensitivity: Sensitivity) -> str:
    """A sentence: under which other choices the verdict is another, over the same seeds."""
    base = sensitivity.claim("base", claim.id)
    steps = sensitivity.compared(base) if base else {}
    changed = sensitivity.listed(claim.id, [name for name, step in steps.items() if step])
    if not changed:
        return "No other choice that was tried changes the verdict (section on choices)."
    return f"Over the seeds of the sensitivity runs the verdict changes with: {changed}."


def _said(values: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())


def _mean(found: Findings, name: str, experiment: str, controls: Iterable[str]) -> dict[str, float]:
    """The mean of a column for each control, by its label."""
    return {x: fmean(v) for x, v in claims.samples(found.base, name, experiment, controls).items()}


def _k1(_: Findings) -> Reason:
    return "closed form, without seeds", [
        EXACT,
        "For k = -1/3 the paper prints 1.89 and 1.4, which follow from Gamma(5/2) rounded to 1.3; unrounded "
        "they are 1.861 and 1.382.",
    ]


def _k2(found: Findings) -> Reason:
    rates = claims.present(found.base, "p", experiment="friendly")
    at = min(rates, key=lambda p: abs(p - claims.WORST_LOSS))
    four = ("simd", "simd-8", "simd-4", "aimd-8")
    text = _said({LABELS[c]: f"{fmean(claims.relative(found.base, c, at)):.2f}" for c in four})
    curve = ", ".join(f"{fmean(claims.relative(found.base, 'simd', p)):.2f} at {p:g}" for p in rates)
    return f"at p = {at:g}: {text}", paragraphs(f"""
        Throughput over TCP's at p = {at:g}: {text}. {LABELS["simd"]} over TCP by loss rate: {curve}. The dip
        where timeouts and duplicate ACKs share the work, and the order of the four, are the paper's if the
        checks above say so. The depth of the dip depends on the timer (section on choices).
    """)


def _shares(found: Findings, claim: str, cc: str) -> Reason:
    every = claims.present(found.base, "n", experiment="share", mbps=15.0)

    def mean(queue: str, n: float, name: str) -> float:
        return fmean(claims.share(found.base, cc, queue, n, name))

    detail = [
        "Both halves of the figures are judged, 15 and 60 Mbit/s. The choices were tried over the smaller "
        "link, with every number of flows: the checks at 60 Mbit/s count as tried under the readings only."
    ]
    cells = (
        f"{2 * n} flows: "
        + ", ".join(
            f"{what} {mean(queue, n, 'ratio'):.2f} ({mean(queue, n, 'loss'):.1%})"
            for queue, what in QUEUES.items()
        )
        for n in every
    )
    detail.append(
        f"{LABELS[cc]} over TCP at 15 Mbit/s, and in brackets the share of packets lost or marked: "
        f"{'; '.join(cells)}."
    )
    low = {n: _low_loss(found, n, claim) for n in ("share-160s", "closed", "slow-40ms")}
    if parts := [f"{v:.2f} with: {found.sensitivity.choices[n]}" for n, v in low.items() if v is not None]:
        detail.append(
            f"Mean of {LABELS[cc]} over TCP at low loss, RED and RED with ECN: "
            f"{_low_loss(found, 'base', claim):.2f} in the base over the seeds of the last section; "
            f"{'; '.join(parts)}."
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
    near = [c.measured.mean for c in claim.checks if c.key in LOW_LOSS] if claim else []
    return 1 + fmean(near) if near else None


def _k5(found: Findings) -> Reason:
    at = where(experiment="smooth", mbps=15.0).rows(found.base)
    shares = {
        QUEUES[q]: {LABELS[cc]: f"{fmean(column(at, 'ratio', queue=q, cc=cc)):.2f}" for cc in SMOOTH}
        for q in ("red", "red-ecn")
    }
    text = "; ".join(f"{queue}: {_said(of)}" for queue, of in shares.items())
    rtt = {
        mbps: fmean(where(experiment="smooth", mbps=mbps, queue="red").rows(found.base)["rtt_s"].to_list())
        for mbps in claims.DROPS
    }
    trips = " and ".join(f"{1e3 * v:.0f} ms at {mbps:g} Mbit/s" for mbps, v in rtt.items())
    aimd = fmean(column(at, "ratio", queue="red", cc="aimd"))
    detail = paragraphs(f"""
        Throughput over TCP's at 15 Mbit/s: {text}.

        AIMD's loss of its share comes from ns-2's slowdown(): half the window after a timeout, in slow start
        and at the first loss, whatever the control's own decrease, and a cut to a whole number. At a window
        of 5.9 packets AIMD(1/16) goes to 4, a cut by a third and not by a sixteenth. SIMD and AIAD were the
        authors' own code and cut to fractions here. IIAD then varies more than AIAD, against the paper. The
        cause is the same cut to whole numbers.

        A round trip takes {trips}. At 15 Mbit/s the printed loss (5 %) and the printed 0.1 s exclude each
        other: 32 windows of 5.9 packets lose about 3 %. With 40 ms of propagation, and AIAD cut to whole
        numbers as IIAD is, the loss, the shares of IIAD and AIAD and their likeness are the paper's (reading
        "congested").
    """)
    if (real := found.sensitivity.claim("real-cuts", "K5")) is not None:
        ratio = next(c for c in real.checks if "RED: TCP over" in c.what)
        detail.append(
            f"Without cuts to whole numbers TCP has {ratio.measured.mean:.2f} times AIMD's throughput."
        )
    return f"AIMD has {aimd:.2f} of TCP's throughput at 15 Mbit/s, RED, as the paper says", detail


def _steps(found: Findings, experiment: str) -> tuple[str, str]:
    """The times to settle, and a paragraph on them."""
    four = ("tcp", "aimd", "simd", "iiad")
    settle = claims.samples(found.base, "settle_s", experiment, four)
    times = _said({x: plus_minus(interval(v)) for x, v in settle.items()})
    cov = _said({x: f"{v:.2f}" for x, v in _mean(found, "cov", experiment, four).items()})
    return times, (
        "The paper shows one run of each and no number. The time to settle ends when the mean window of the "
        "next 2 s is within a packet of its later mean. Means over the seeds: seconds to settle: "
        f"{times}; variation of the window before: {cov}. One flow at one change is noisy: by table 3 AIMD "
        "and SIMD need equally many losses to come down, IIAD at these windows half as many again."
    )


def _k6(found: Findings) -> Reason:
    fell = _mean(found, "fell", "load-doubles", ("tcp", "aimd", "simd", "iiad"))
    aimd, simd = _mean(found, "settle_s", "load-doubles", ("aimd", "simd")).values()
    return f"SIMD settles in {simd:.1f} s, AIMD in {aimd:.1f} s", [
        _steps(found, "load-doubles")[1],
        "The text calls AIMD and SIMD similarly smooth; table 3 gives them 0.41 and 0.73 beta of variation, "
        "and claim K5 says that SIMD varies more. That likeness is shown and not counted.",
        "The flows that join slow-start together. Share of the runs in which the burst of losses ends in a "
        f"timeout of the tagged flow: {_said({x: f'{v:.0%}' for x, v in fell.items()})}.",
        WHOLE,
    ]


def _k7(found: Findings) -> Reason:
    times, detail = _steps(found, "load-halves")
    return f"seconds to settle: {times}", [detail, WHOLE]


def _k8(found: Findings) -> Reason:
    outs, grow, shrink = (_mean(found, c, "square", FIVE) for c in ("timeouts", "grow_double", "shrink"))
    text = _said({x: f"{v:.0f}" for x, v in outs.items()})
    shares = (
        [v / printed[cc] for cc, v in zip(FIVE, of.values(), strict=True)]
        for of, printed in ((grow, claims.GROW), (shrink, claims.SHRINK))
    )
    ends = [f"{min(v):.2f} to {max(v):.2f}" for v in shares]
    return f"round trips to double {ends[0]} of the printed, losses to halve {ends[1]}", paragraphs(f"""
        Measured against the middles of the printed intervals, round trips to double are {ends[0]} times and
        losses to halve {ends[1]} times as many; the checks compare interval with interval.

        The losses to halve are, as the paper says, hard to measure: the burst of losses when the traffic
        comes often ends in a timeout, whatever the control. Timeouts per run: {text}. The number of cuts
        before a timeout depends on the queue and on the recovery (section on choices).

        {_doubling_cut_to_whole(found)}
    """)


def _doubling_cut_to_whole(found: Findings) -> str:
    """The results with whole cuts of two controls whose doubling differs from the printed; "" if not run."""
    whole = found.runs.filter(pl.col("variant") == "whole-cuts", pl.col("experiment") == "square")
    if whole.is_empty():
        return ""
    same = found.base.filter(pl.col("seed").is_in(whole["seed"].unique().to_list()))
    parts = []
    for cc in ("simd", "aiad"):
        ours, theirs = (fmean(column(of, "grow_double", experiment="square", cc=cc)) for of in (whole, same))
        low, high = claims.GROW_PRINTED[cc]
        parts.append(
            f"{LABELS[cc]} doubles in {ours:.1f} instead of {theirs:.1f} round trips ({low} to {high} "
            "printed)."
        )
    return (
        "SIMD and AIAD double later here. Whether their cuts are to whole numbers, as TCP's are in ns-2, is "
        "not printed. If they are, the window comes down further and doubles sooner, over the same seeds. "
        + " ".join(parts)
    )


def _started(found: Findings, number: int) -> str:
    """The number of runs that begin as the paper's did, and the rank of the printed single run among them."""
    of, printed = (("t2", claims.TO_FAIR), ("t1", claims.TO_FULL))[number - 1]
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
    text = _said({LABELS[c]: f"{first[LABELS[c]] / claims.TO_FAIR[c]:.2f}" for c in CHAIN})
    return f"measured over printed: {text}; the paper gives one run", paragraphs(f"""
        The numbers are compared over those of our runs whose windows at the change are within
        {claims.NEAR_START:.0%} of the paper's W1 and W2. Their number, and the share below the printed
        number: {_started(found, 1)}. The order is that of all runs.

        The paper defines T2 as the time until the difference stays within the bound, but a TCP flow never
        stays there; the first moment is what its 68 round trips can mean. A window that varies much meets it
        by chance, so one run says little. Round trips until it stays there for 2 s:
        {_said({x: plain(v) for x, v in stay.items()})}.
    """)


def _k10(found: Findings) -> Reason:
    w1, w2, t1 = (_mean(found, c, "chain-2", ["tcp"])["TCP"] for c in ("w1", "w2", "t1"))
    one, two = closed_forms.START_FULL["tcp"]
    text = f"TCP starts from {w1:.0f} and {w2:.0f} packets, not {one:g} and {two:g}"
    gaps = claims.samples(found.base, "gap", "chain-2", CHAIN)
    return text, paragraphs(f"""
        The numbers are compared over those of our runs whose windows at the change are within
        {claims.NEAR_START:.0%} of the paper's W1 and W2. Their number, and the share below the printed
        number: {_started(found, 2)}.

        {text}. AIMD, IIAD and SIMD start from about 30 packets in the paper, too, so its TCP run may have
        been caught just after a loss. From our windows the closed form gives TCP
        {fmean(claims.analysed(found.base, 2, "tcp")):.0f} round trips in the mean, and {t1:.0f} were
        measured. The paper's own ratio of the two is 55 / 43.7 = 1.26, more than the 20 % that count as
        close, so TCP's ratio is shown and not counted. The difference of the windows at that moment is one
        sample per run. Its mean in packets: {_said({x: plus_minus(interval(v)) for x, v in gaps.items()})}.
    """)


def _k11(_: Findings) -> Reason:
    detail = [
        EXACT,
        "Every formula agrees. In three places the paper contradicts itself; they are shown and not counted.",
        "At W = 20 AIMD(1/20,1/30) and IIAD(1,2/3) vary alike by table 3, SIMD(1/30) 1.8 times as much. SIMD "
        "doubles its window ten times as fast as an AIMD as smooth only where both vary by 0.1 %; the text "
        "does not say which part of the axis it means.",
        "It prints a difference of 6.0 packets for TCP in experiment 2; its own formula, W2 - W1 of the "
        "windows printed beside it (8.8 and 13.8), gives 5.0.",
    ]
    for other, share in (
        ("SIMD", closed_forms.times("simd", "iiad")),
        ("AIMD", closed_forms.times("aimd", "iiad")),
    ):
        detail.append(
            f'"In all cases" IIAD is slower than {other}, says the text; by the closed forms it is from '
            f"{np.mean(share > 1):.1%} of the starts, and faster from a few with small or equal windows."
        )
    return "closed form, without seeds; in three places the paper contradicts itself", detail


def _k12(_: Findings) -> Reason:
    gap = convergence.trajectory(10, 70, 100, 0, 0, SUBTRACT, epochs=4000).gap[-1]
    return "closed form, without seeds", [
        EXACT,
        *paragraphs(f"""
            AIAD(2/3) is case (c) of section 4.1: from 10 and 70 packets it comes to a difference of
            {plain(float(gap))} packets after 4000 epochs.

            Equation 14 is tested for epochs that begin after a loss, where the sum is 1 - Delta_D. The paper
            states it for any start between there and the efficiency line; a start close to that line may end
            its first epoch less fair, because the loss is then larger than the increase before it.
        """),
    ]


def sections(found: Findings) -> list[Section]:
    """Simulation and analysis, the set-up, and the influence of the choices on the verdicts."""
    return [figures.runs_section(found.base), setup_section(), _choices(found)]


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
    changed = decided(found)
    text = (
        "Each row changes one choice and repeats the experiments that it touches over "
        f"{found.few_seeds} seeds; the first row is the base over the same seeds, so that its intervals are "
        "wider than those above and an order that holds there may fail here. "
    )
    text += (
        f"A choice decides the verdict of {', '.join(changed)}."
        if changed
        else "No choice decides a verdict."
    )
    return choices_section(
        found,
        text,
        untouched=", - not touched by the choice",
        title="How far the choices decide the verdicts",
        changes="verdicts that change",
    )


def setup_section() -> Section:
    """Table 4, and the values that the text leaves open."""
    return set_up(
        f"""
        - timeout, loss in slow start, first loss | half of the window | [paper, default, default] section
          6.1.1: "the same timeout mechanism as standard TCP"; TcpAgent::slowdown halves in all three cases,
          whatever decrease_num_. One rule for all losses (appendix E) is tried below
        - cuts to whole numbers | TCP, AIMD, IIAD | [default] slowdown() cut to int(decrease x int(W)) until
          2006 (precisionReduce_); these three were ns-2's own senders
        - cuts to fractions | SIMD, AIAD | [paper] appendix E: W - beta W, in code of the authors
        - limited transmit | off | [default] singledup_ became 1 in November 2001
        - first ssthresh | {setup.MAX_WINDOW} packets | [default] ns-2 takes it from window_, the maximum
          window of table 4
        - SIMD's and AIAD's increase | per ACK, equation 15 | [paper] appendix E: this is what the paper's
          simulator did
        - AIMD(1/10,1/16) | a = 0.1 | [paper] as printed; equation 4 gives 0.0968
        - packet size | 1000 (500) bytes with 40 of header | [default] table 4 gives packet sizes; until
          November 2001 ns-2 added no header to them (useHeaders_)
        - least and first timeout | {BASE.min_rto_s:g} and {BASE.initial_rto_s:g} s | [default] two ticks of
          the printed 0.1 s, the bound of ns-2 in 2001; rtxcur_init_ was 6 until 2006
        - figures 8 to 13: length | 400 s, throughput of the last 60 s | [implied] the 60 s are the paper's,
          the length is not in the text; section 6.2.1 runs 500 s, section 6.3 measures after 400 s
        - figures 14 to 17: length | 270 s, variation of the last 20 s | [paper] section 6.2.1: 250 to 270 s
          of 500 s; what comes after cannot change them. Shares of the link are those of the second half
        - figure 7: round trip | {1000 * BASE.friendly_rtt_s:g} ms | [implied] that of the other experiments
        - figures 8 to 18: propagation | {1000 * BASE.fast_rtt_s:g} ms at 60 Mbit/s, {
            1000
            * BASE.slow_rtt_s:g} ms at lower rates | [implied] with the queue this gives the measured 0.1 s of
          section 6.1.2, and at 60 Mbit/s the 0.3 % and the 23 packets of section 6.2.1
        - figures 8 to 18: spread | {1000 * BASE.dumbbell_spread_s:g} ms more or less by flow | [ours] the
          text says that the round trips are drawn at random
        - bandwidth-delay product | of the propagation | [ours] as ns-2 scripts compute it before any queue
          exists
        - reverse traffic | 4 TCP flows over a link of equal rate and queue | [paper] section 6.1.2; their
          ACKs cross ours
        - figure 18: link | {BASE.step_mbps:g} Mbit/s | [implied] windows stay above 10 packets before the
          load doubles
        - figure 18: settled | the mean window of the next 2 s is within a packet of its later mean | [ours]
          the text says only fast and slow. Two seconds are 20 round trips: a window that a timeout throws to
          one packet has not settled
        - table 5: propagation and queue | {1000 * BASE.square_rtt_s:g} ms, RED | [implied, paper] with the
          queue about 100 ms, as the text says; windows then are 11 and 22 packets, from which the paper's
          analysis column follows. RED "unless explicitly specified"
        - table 5: doubled | one packet below twice the window against the traffic | [paper] section 5 with m
          = 2, and the steady-state error of one packet
        - figure 20: middle link | {BASE.middle_mbps:g} Mbit/s, {1000 * BASE.chain_rtt_s:g} ms | [implied]
          the figure's numbers are not in the text; these give W = 110 packets, as the text says, and keep
          the link the bottleneck of flow 2 beside 6 Mbit/s
        - figure 20: background | over one link, no propagation but the link's | [implied] gives the windows
          of section 6.3: about 7 and 100, and 10 and 30 packets
        - section 6.3: end of the background | 400 s | [paper]
        - table 6: T1 | until the sum of the windows is W | [paper] W: mean of the sum in the last quarter of
          the run
        - table 6: T2 | until the windows first differ by less than 10 | [ours] a TCP flow does not stay there
        """,
        """
        Table 4 of the paper: packets of 1000 bytes (500 in section 6.3), windows of at most 128 packets,
        SACK, timer of 0.1 s, no delayed ACKs; RED by ns-2's rules with gentle, a limit of 2.5 bandwidth-delay
        products, thresholds at 0.15 and 0.5 of it, weight 0.002, max_p 0.1, wait; drop-tail queues of 1.5
        bandwidth-delay products. What the text leaves open is what its numbers imply, else what ns-2 did in
        2001, by the dates in ns-2.35's ns-default.tcl, and only then our choice:
        """,
    )


WHY: Sequence[Callable[[Findings], Reason]] = (_k1, _k2, _k3, _k4, _k5, _k6, _k7, _k8, _k9, _k10, _k11, _k12)

#: The reason for each claim that the base may not reproduce.
CAUSES = {
    "K3": Cause.RULE,  # whether cuts are to whole numbers
    "K4": Cause.RULE,  # as K3
    "K5": Cause.RULE,  # as K3
    "K6": Cause.RULE,  # as K3
    "K7": Cause.RULE,  # as K3
    "K8": Cause.RULE,  # as K3
    "K9": Cause.SPREAD,
    "K10": Cause.SPREAD,
}

build = Assembly(
    setup.DESIGN,
    claims.CLAIMS,
    Explanation(
        {f"K{i}": reason for i, reason in enumerate(WHY, start=1)},
        CAUSES,
        clause_if_failing=True,
        fares=fares,
    ),
    drawn(PLACES),
    sections,
    comparable,
)
