"""The claims of the A-LIAD paper, A1 to A13, with their checks and reasons."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from bentpipe import registry
from bentpipe.analysis import a_liad as analysis
from bentpipe.papers.a_liad.setup import (
    ALGORITHMS,
    BASE,
    BDP,
    DELTAS,
    FAR_S,
    GEO_S,
    HIGH,
    INTRA_S,
    LOW,
    NONE,
    RARE,
    RTTS_S,
    SHORT_S,
    delta_name,
)
from bentpipe.studies.claim import (
    ALIKE_RATIO,
    INDEX_TOLERANCE,
    Cause,
    Check,
    Tolerance,
    above,
    alike,
    at_least,
    at_most,
    highest,
    interval,
    number,
    ratio_at_least,
)
from bentpipe.studies.design import where
from bentpipe.studies.judge import Findings, Groups, Reason, Sentence, column, linearity
from bentpipe.studies.page import plain
from bentpipe.studies.text import Items
from bentpipe.studies.words import Words

if TYPE_CHECKING:
    import polars as pl

WORDS = Words.beside(__file__)

#: The names of the algorithms in tables and figures: the paper's.
LABELS = {cc: registry.style(cc)["label"] for cc in ALGORITHMS} | {"reno": "NewReno"}
A_LIAD, LIAD, NEWRENO, WESTWOOD, CUBIC, BIC, STCP, HSTCP = LABELS.values()
#: Those that section 4 of the paper compares by name; LIAD, which it does not, is left out of the orders.
RANKED = tuple(cc for cc in ALGORITHMS if cc != "liad")
#: Those that section 4.5, on friendliness, names beside NewReno.
NAMED = ("highspeed", "cubic", "scalable", "a-liad")
FAST = (CUBIC, BIC, STCP, HSTCP)

#: Numbers printed in the paper.
START_UP_SHARE, CUBIC_LEAD = 80.0, 3.0
FAIRNESS = 0.995
LOSS_SHARE = 60.0
REDUCTION = {"scalable": 45.0, "a-liad": 38.0, "cubic": 11.0}
EPOCH_S, ALPHA_REF, RTT_REF_S = 1.5787, 2.0, 0.075

LINEAR = Tolerance(
    0.9,
    'A1: a line explains at least this share of the variance of what falls "almost linearly"',
    "a hyperbola over a factor of three in RTT is within it, one over a factor of twelve is not",
)
NEAR = Tolerance(
    0.5,
    'A7: a window "much below" the BDP is at most this share of it',
    "half is the least that is much below",
)
BEST = Tolerance(
    1.0,
    "A12: the share with delta = 1.93 is at least this many times that with any other",
    "a tie is best, too",
)
FIT_WITHIN = Tolerance(
    0.0002,
    "A10: largest relative error of the fit of alpha",
    "what the fit was made to; the paper prints none",
)
DIGITS = Tolerance(
    0.001,
    "A10: the constant of equation 11, s, and alpha at 75 ms",
    "some units of the last printed digit",
)
SAME_EPOCH_S = Tolerance(
    1e-06,
    "A10: an epoch by the alpha that is solved for, s",
    "the equation is solved to this",
)


def values(
    runs: pl.DataFrame, experiment: str, cc: str, name: str, rtt_s: float = GEO_S, per: float = NONE
) -> list[float]:
    """A measure of one set of runs, ordered by seed."""
    return column(runs, name, experiment=experiment, cc=cc, rtt_ms=round(rtt_s * 1e3), per=per)


def groups(
    runs: pl.DataFrame, experiment: str, name: str, *, per: float = NONE, of: Iterable[str] = RANKED
) -> Groups:
    """A measure over GEO by the algorithms' labels."""
    return {LABELS[cc]: values(runs, experiment, cc, name, per=per) for cc in of}


def reductions(runs: pl.DataFrame, rtt_s: float, of: Iterable[str] = RANKED) -> Groups:
    """Per cent that five NewReno flows lose to one flow of each algorithm, against a sixth NewReno flow."""
    beside = {cc: values(runs, "friend", cc, "newreno_mbps", rtt_s) for cc in ("reno", *of)}
    pairs = {LABELS[cc]: zip(beside[cc], beside["reno"], strict=True) for cc in of}
    return {name: [(1 - a / b) * 100 for a, b in each] for name, each in pairs.items()}


def figure_1() -> list[float]:
    """Figure 1 by equation 9: LIAD's rate at `RTTS_S`, packets/s."""
    window = float(analysis.window_at_loss(ALPHA_REF))
    rate: list[float] = np.asarray(analysis.rate(ALPHA_REF, window, np.array(RTTS_S))).tolist()
    return rate


def _check_a1(runs: pl.DataFrame) -> list[Check]:
    by_seed = list(zip(*(values(runs, "fig1", "liad", "mbps", rtt, RARE) for rtt in RTTS_S), strict=True))
    share, rate = "share of the variance that a line explains", figure_1()
    fall = [each[0] / each[-1] for each in by_seed]
    return [
        at_least("LIAD at 50 ms over LIAD at 600 ms", fall, ALIKE_RATIO, paper="falls"),
        at_least(share, [linearity(RTTS_S, each) for each in by_seed], LINEAR, paper="almost linear"),
        # Equation 9, by which "its performance analysis" may be read, is a hyperbola.
        at_least(
            f"{share} of eq 9", [linearity(RTTS_S, rate)] * 2, LINEAR, paper="almost linear"
        ).unprinted(),
    ]


def _check_a2(runs: pl.DataFrame) -> list[Check]:
    share = groups(runs, "start-up", "at_30")
    mine = share[A_LIAD]
    lead = [c - a for c, a in zip(share[CUBIC], mine, strict=True)]
    return [
        number("A-LIAD, share of the bandwidth in 30 s", mine, START_UP_SHARE, unit="%", most=100),
        number("CUBIC minus A-LIAD", lead, CUBIC_LEAD, unit="% of bandwidth"),
        *(above(f"{x} above A-LIAD", share[x], mine, unit="%") for x in FAST),
        *(above(f"A-LIAD above {x}", mine, share[x], unit="%") for x in (NEWRENO, WESTWOOD)),
    ]


def _check_a3(runs: pl.DataFrame) -> list[Check]:
    """Figure 7 is with SACK; the text describes the case without it."""
    reached, drops, cuts = (values(runs, "start-up", "a-liad", name) for name in ("exit", "drops", "cuts"))
    without = values(runs, "no-sack", "a-liad", "drops")
    rivals = {LABELS[cc]: cc for cc in ("westwood", "cubic")}

    def of(experiment: str, name: str) -> Groups:
        return {label: values(runs, experiment, cc, name) for label, cc in rivals.items()}

    reduced, share, hurt = of("start-up", "cuts"), of("start-up", "at_30"), of("no-sack", "at_30")
    more = "share in 30 s: more with SACK than without"
    return [
        number("A-LIAD's window at the end of slow start, in BDPs", [w / BDP for w in reached], 1.0),
        at_most("packets that A-LIAD loses in 30 s", drops, 0),
        at_most("packets that A-LIAD loses in 30 s without SACK", without, 0),
        at_most("reductions of A-LIAD's window in 30 s", cuts, 1),
        *(at_least(f"reductions of {x}'s window", cut, 2, paper="multiple") for x, cut in reduced.items()),
        *(above(f"{more}, {x}", share[x], hurt[x], unit="%") for x in rivals),
    ]


def _check_a4(runs: pl.DataFrame) -> list[Check]:
    what, per_cent = "Jain's index at a packet error rate of", {NONE: "0 %", LOW: "0.1 %", HIGH: "1 %"}
    index = {name: values(runs, "intra", "a-liad", "jain", INTRA_S, per) for per, name in per_cent.items()}
    return [number(f"{what} {at}", j, FAIRNESS, within=INDEX_TOLERANCE) for at, j in index.items()]


def _check_a5(runs: pl.DataFrame) -> list[Check]:
    named = {f"{rtt * 1e3:g} ms": rtt for rtt in RTTS_S}
    mine, cubic = (
        {name: values(runs, "rtt", cc, "mbps", rtt) for name, rtt in named.items()}
        for cc in ("a-liad", "cubic")
    )
    first, *_, last = cubic
    return [
        alike("A-LIAD alike at all RTTs", mine),
        # The text only says that CUBIC is compared.
        ratio_at_least(
            "CUBIC at 50 ms over CUBIC at 600 ms", cubic[first], cubic[last], ALIKE_RATIO
        ).unprinted(),
        above("A-LIAD above CUBIC at 600 ms", mine[last], cubic[last], unit="Mbit/s").unprinted(),
    ]


def _check_a6(runs: pl.DataFrame) -> list[Check]:
    none, low, high = (groups(runs, "loss", "share", per=per) for per in (NONE, LOW, HIGH))
    return [
        number("A-LIAD, share of the bandwidth at 0.1 %", low[A_LIAD], LOSS_SHARE, unit="%", most=100),
        # "Dramatically increased for a very high PER (e.g., 1 %)": so the 60 % are those at 0.1 %.
        above("A-LIAD, share at 0.1 % above that at 1 %", low[A_LIAD], high[A_LIAD], unit="%"),
        highest("share at 0.1 %: A-LIAD above", low, A_LIAD, unit="%"),
        highest("share at 1 %: A-LIAD above", high, A_LIAD, unit="%"),
        # "A PER value of 0.1 % significantly affects all variants, including Westwood."
        *(
            ratio_at_least(f"share of {x} without loss over that at 0.1 %", none[x], low[x], ALIKE_RATIO)
            for x in low
        ),
    ]


def _check_a7(runs: pl.DataFrame) -> list[Check]:
    low, high = (
        {name: [w / BDP for w in found] for name, found in groups(runs, "loss", "cwnd", per=per).items()}
        for per in (LOW, HIGH)
    )
    rival = max((name for name in low if name != A_LIAD), key=lambda name: fmean(low[name]))
    return [
        at_most(f"the largest other ({rival}) at 0.1 %, in BDPs", low[rival], NEAR, paper="much below"),
        highest("window at 0.1 %: A-LIAD above", low, A_LIAD, unit="BDP"),
        highest("window at 1 %: A-LIAD above", high, A_LIAD, unit="BDP"),
    ]


def _check_a8(runs: pl.DataFrame) -> list[Check]:
    cut = reductions(runs, SHORT_S, NAMED)
    friendly = max((HSTCP, CUBIC), key=lambda n: fmean(cut[n]))
    printed = {LABELS[cc]: share for cc, share in REDUCTION.items()}
    return [
        *(number(f"NewReno loses to {n}", cut[n], share, unit="%") for n, share in printed.items()),
        *(above(f"{n} takes more than {friendly}", cut[n], cut[friendly], unit="%") for n in (STCP, A_LIAD)),
    ]


def _check_a9(runs: pl.DataFrame) -> list[Check]:
    short, cut = (reductions(runs, rtt, NAMED) for rtt in (SHORT_S, GEO_S))
    every = reductions(runs, GEO_S, [cc for cc in RANKED if cc != "reno"])
    three = (CUBIC, STCP, A_LIAD)
    return [
        # "One of the highest values, along with STCP and A-LIAD": the three lead, no more is said.
        above("CUBIC takes more at 600 ms than at 25 ms", cut[CUBIC], short[CUBIC], unit="%"),
        *(above(f"{n} takes more than {HSTCP}", cut[n], cut[HSTCP], unit="%") for n in three),
        # "Its friendliness is the lowest among all the evaluated protocols."
        highest("at 600 ms CUBIC takes more than", every, CUBIC, unit="%"),
    ]


def _check_a11(runs: pl.DataFrame) -> list[Check]:
    """Section 3.3: alpha of the RTT "can guarantee RTT fairness", and alpha = 2 cannot."""
    checks = []
    for per, at in ((NONE, "without loss"), (LOW, "at 0.1 %")):
        near, far = (
            {cc: values(runs, "two-rtts", cc, name, FAR_S, per) for cc in ("a-liad", "liad")}
            for name in ("mbps", "far_mbps")
        )
        ratio = {cc: [a / b for a, b in zip(near[cc], far[cc], strict=True)] for cc in near}
        alone = {"100 ms": near["a-liad"], "600 ms": far["a-liad"]}
        checks += [
            alike(f"two flows of A-LIAD alike {at}", alone),
            above(
                f"flow of 100 ms over flow of 600 ms {at}: LIAD above A-LIAD", ratio["liad"], ratio["a-liad"]
            ),
        ]
    return checks


def _of_deltas(runs: pl.DataFrame, per: float) -> dict[str, list[float]]:
    """A-LIAD's share over GEO by delta, 1.93 first: of the start-up without loss, else of the whole run."""
    ours = values(runs, "start-up" if per == NONE else "loss", "a-liad", "share", per=per)
    others = {f"{d:g}": values(runs, delta_name(d), "a-liad", "share", per=per) for d in DELTAS}
    return {"1.93": ours} | others


def _check_a12(runs: pl.DataFrame) -> list[Check]:
    """Section 3.2: "delta = 1.93 gives the best results", so no other gives more."""
    checks = []
    for per, at in ((NONE, "in 30 s without loss"), (LOW, "at 0.1 %"), (HIGH, "at 1 %")):
        share = _of_deltas(runs, per)
        rival = max((name for name in share if name != "1.93"), key=lambda name: fmean(share[name]))
        what = f"share {at}: delta 1.93 over the best other"
        best = ratio_at_least(f"{what} ({rival})", share["1.93"], share[rival], BEST)
        checks.append(best.known_as(what))
    return checks


def _check_a13(runs: pl.DataFrame) -> list[Check]:
    """Figure 6: "CUBIC operates at the capacity level, including link capacity and network buffer"."""
    of = values(runs, "start-up", "cubic", "late")
    return [number("CUBIC's window from 15 s to 30 s, over what link and queue hold", of, 1.0)]


#: Round-trip times at which the fit of alpha is tested against the solution, seconds.
FIT_RTTS_S = tuple(r / 1000 for r in range(25, 601, 5))


def _check_a10(_: pl.DataFrame) -> list[Check]:
    rtt = np.array(FIT_RTTS_S)
    solved = np.asarray(analysis.alpha(rtt))
    epochs = np.asarray(analysis.epoch_seconds(solved, rtt)).tolist()
    constant = {beta: float(analysis.epoch_seconds(ALPHA_REF, RTT_REF_S, beta)) for beta in (0.4586, 0.46)}
    reference = [float(f(RTT_REF_S)) for f in (analysis.alpha, analysis.alpha_fit)]
    error = np.abs(analysis.fit_error(rtt)).tolist()
    rule = f"at most {FIT_WITHIN:g} at each of {len(error)} RTTs"
    fit = "relative error of the fit, mean over 25 to 600 ms"
    return [
        *(
            number(
                f"constant of eq 11 from eq 8 to 10, beta {beta}", [of] * 2, EPOCH_S, unit="s", within=DIGITS
            )
            for beta, of in constant.items()
        ),
        number("alpha at 75 ms, solved and fitted", reference, ALPHA_REF, within=DIGITS),
        number("N(alpha) RTT over 25 to 600 ms, solved", epochs, EPOCH_S, unit="s", within=SAME_EPOCH_S),
        Check(fit, "trend", rule, interval(error), "", max(error) <= FIT_WITHIN, rule),
    ]


def _mean(
    found: Findings, experiment: str, cc: str, name: str, rtt_s: float = GEO_S, per: float = NONE
) -> float:
    return fmean(values(found.base, experiment, cc, name, rtt_s, per))


def _tried(found: Findings, claim: str, check: int, names: str, unit: str = " %") -> Items | None:
    """The value of a check in the base and under each of some choices; None if none of them was run."""
    under = {name: found.sensitivity.mean(name, claim, check) for name in names.split()}
    choices = found.sensitivity.choices
    of_base = found.sensitivity.mean("base", claim, check) or 0.0
    parts = [f"{plain(mean)}{unit} with: {choices[name]}" for name, mean in under.items() if mean is not None]
    return Items("", [f"{plain(of_base)}{unit} in the base over these seeds", *parts]) if parts else None


def _behind_50(found: Findings) -> dict[str, dict[str, float]] | None:
    """LIAD in the runs of figure 1 behind a queue of 50 packets; None if they were not made."""
    runs = found.runs.filter(found.runs["variant"] == "buffer-50")
    if where(experiment="fig1").rows(runs).is_empty():
        return None
    return {
        f"{rtt * 1e3:g} ms": {
            what: fmean(values(runs, "fig1", "liad", name, rtt, RARE))
            for what, name in (("Mbit/s", "mbps"), ("mean window", "cwnd"), ("packets dropped", "overflow"))
        }
        for rtt in RTTS_S
    }


def _why_a1(found: Findings) -> Reason:
    first, *_, last = (_mean(found, "fig1", "liad", "mbps", rtt, RARE) for rtt in RTTS_S)
    return WORDS.reason(
        "A1",
        first=first,
        last=last,
        straight=linearity(RTTS_S, figure_1()),
        gbps=figure_1()[-1] * BASE.wire_bytes * 8 / 1e9,
        short=_behind_50(found),
        fall=_tried(found, "A1", 0, "buffer-50 buffer-0.5 buffer-two", ""),
        line=_tried(found, "A1", 1, "buffer-50 length-100", ""),
    )


def _why_a2(found: Findings) -> Reason:
    share = {LABELS[cc]: _mean(found, "start-up", cc, "at_30") for cc in RANKED}
    mine, fast = share[A_LIAD], ("cubic", "bic", "scalable", "highspeed")
    names = "newreno eq6 window-none bounded window-1500 delayed-ack rtt-spread"
    return WORDS.reason(
        "A2",
        mine=mine,
        ahead={name: share[name] - mine for name in (CUBIC, NEWRENO)},
        share=share,
        window=BASE.window_packets(),
        lost={LABELS[cc]: _mean(found, "start-up", cc, "overflow") for cc in fast},
        tried=_tried(found, "A2", 1, names),
    )


def _why_a3(found: Findings) -> Reason:
    peak = _mean(found, "start-up", "cubic", "exit")
    names = "bounded window-1500 window-none buffer-50 buffer-two rtt-spread"
    return WORDS.reason(
        "A3",
        westwood=_mean(found, "start-up", "westwood", "cuts"),
        cubic=_mean(found, "start-up", "cubic", "cuts"),
        westwood_without=_mean(found, "no-sack", "westwood", "cuts"),
        cubic_without=_mean(found, "no-sack", "cubic", "cuts"),
        peak=peak,
        peak_bdp=peak / BDP,
        tried=_tried(found, "A3", 4, names, ""),
    )


def _why_a4(found: Findings) -> Reason:
    j, fast, slow = (_mean(found, "intra", "a-liad", c, INTRA_S) for c in ("jain", "flow_6", "flow_1"))
    names = "buffer-50 buffer-two delayed-ack no-sack eq6 at-w-max own-rtts"
    short, detail = WORDS.reason("A4", j=j, fast=fast, slow=slow, tried=_tried(found, "A4", 0, names, ""))
    return short if j < FAIRNESS - INDEX_TOLERANCE else "", detail


def _why_a5(found: Findings) -> Reason:
    return WORDS.reason(
        "A5",
        first=_mean(found, "rtt", "cubic", "mbps", RTTS_S[0]),
        last=_mean(found, "rtt", "cubic", "mbps", RTTS_S[-1]),
        tried=_tried(found, "A5", 0, "sweep-loss at-w-max", ""),
        tried_cubic=_tried(found, "A5", 1, "sweep-loss", ""),
    )


def _why_a6(found: Findings) -> Reason:
    low, high = ({cc: _mean(found, "loss", cc, "share", per=per) for cc in RANKED} for per in (LOW, HIGH))
    readings = "eq6 lifetime at-w-max"
    return WORDS.reason(
        "A6",
        low=low,
        high=high,
        at_low=_tried(found, "A6", 0, readings),
        fall=_tried(found, "A6", 1, readings),
        lead=_tried(found, "A6", 2, "westwood westwood-ns2"),
    )


def _why_a7(found: Findings) -> Reason:
    windows = {LABELS[cc]: _mean(found, "loss", cc, "cwnd", per=LOW) / BDP for cc in RANKED}
    return WORDS.reason("A7", windows=windows)


def _why_a8(found: Findings) -> Reason:
    cut = {n: fmean(v) for n, v in reductions(found.base, SHORT_S, (*RANKED, "liad")).items()}
    return WORDS.reason(
        "A8",
        cubic=cut[CUBIC],
        liad=cut[LIAD],
        others={n: cut[n] for n in (HSTCP, WESTWOOD, BIC)},
        alpha=float(analysis.alpha(SHORT_S)),
        to_cubic=_tried(found, "A8", 2, "cubic-rfc old-cubic newreno buffer-bdp"),
        to_a_liad=_tried(found, "A8", 1, "eq6 buffer-bdp buffer-two"),
    )


def _why_a9(found: Findings) -> Reason:
    cut = {n: fmean(v) for n, v in reductions(found.base, GEO_S).items() if n != NEWRENO}
    names = "highspeed-own eq6 lifetime at-w-max buffer-50 buffer-two own-rtts"
    return WORDS.reason(
        "A9",
        three={n: cut[n] for n in (CUBIC, STCP, A_LIAD)},
        order=dict(sorted(cut.items(), key=lambda item: -item[1])),
        less_highspeed=_tried(found, "A9", 3, names),
        less_next=_tried(found, "A9", 4, names),
    )


def _why_a10(_: Findings) -> Reason:
    return WORDS.reason("A10")


def _why_a11(found: Findings) -> Reason:
    def ratio(cc: str, per: float) -> float:
        near, far = (values(found.base, "two-rtts", cc, name, FAR_S, per) for name in ("mbps", "far_mbps"))
        return fmean(a / b for a, b in zip(near, far, strict=True))

    each = {LABELS[cc]: (ratio(cc, NONE), ratio(cc, LOW)) for cc in ("a-liad", "liad", "cubic")}
    return WORDS.reason(
        "A11", each=each, tried=_tried(found, "A11", 0, "buffer-50 delayed-ack eq6 lifetime", "")
    )


def _why_a12(found: Findings) -> Reason:
    rows = {
        at: {name: fmean(of) for name, of in _of_deltas(found.base, per).items()}
        for per, at in ((NONE, "30 s, no loss"), (LOW, "0.1 %"), (HIGH, "1 %"))
    }
    return WORDS.reason("A12", rows=rows)


def _why_a13(found: Findings) -> Reason:
    late = {LABELS[cc]: _mean(found, "start-up", cc, "late") for cc in ALGORITHMS}
    return WORDS.reason("A13", late=late)


CLAIMS = [
    Sentence("A1", "LIAD depends on the RTT (figure 1)",
        "from the performance analysis: the average sending rate of LIAD (alpha = 2) falls almost linearly "
        "as the RTT grows, at a packet error rate of 1e-8.", _check_a1, _why_a1,
        about=where(experiment="fig1"), cause=Cause.PARAMETER),  # the queue and the length of the runs
    Sentence("A2", "Start-up (figure 5)",
        "in the first 30 s, CUBIC, BIC, STCP and HSTCP have the highest throughput; A-LIAD follows with "
        "about 80 % of the bandwidth, about 3 % of the bandwidth below CUBIC.", _check_a2, _why_a2,
        cause=Cause.PARAMETER),  # the queue; A4 and A9 need another one
    # the window
    Sentence("A3", "No overshoot (figure 7)",
        "A-LIAD does not overshoot in slow start, even without SACK, and enters congestion avoidance at the "
        "proper level, while Westwood and CUBIC, with SACK, reduce their windows several times after slow "
        "start; without SACK they would suffer more.", _check_a3, _why_a3, cause=Cause.PARAMETER),
    # the queue; A2, A3 and A5 need another one
    Sentence("A4", "Intra-fairness (figure 8)",
        "six A-LIAD flows on 50 Mbit/s at 100 ms share with a Jain's index around 0.995 at packet error "
        "rates of 0, 0.1 % and 1 %.", _check_a4, _why_a4, cause=Cause.PARAMETER),
    Sentence("A5", "RTT (figure 9)",
        "one A-LIAD flow on 10 Mbit/s is almost unaffected by RTTs from 50 to 600 ms; the figure compares "
        "CUBIC, of which the text says nothing.", _check_a5, _why_a5),
    Sentence("A6", "Packet loss (figure 10)",
        "over GEO, a packet error rate of 0.1 % significantly affects all variants; A-LIAD has the highest "
        "throughput of all at 0.1 % and 1 %, about 60 % of the bandwidth.", _check_a6, _why_a6,
        cause=Cause.SPREAD),
    Sentence("A7", "Window under loss (figure 11)",
        "with losses the others work much below the BDP of 700 packets, A-LIAD at a comparatively higher "
        "window.", _check_a7, _why_a7),
    # which CUBIC
    Sentence("A8", "Friendliness at 25 ms (figure 12)",
        "five NewReno flows lose 45 % of their throughput to STCP, 38 % to A-LIAD, the worst two, and 11 % "
        "to CUBIC; HSTCP and CUBIC are the friendliest.", _check_a8, _why_a8, cause=Cause.RULE),
    Sentence("A9", "Friendliness at 600 ms (figure 13)",
        "over GEO, CUBIC's aggressiveness has one of the highest values, along with STCP and A-LIAD; its "
        "friendliness is the lowest of all the evaluated protocols.", _check_a9, _why_a9,
        cause=Cause.PARAMETER),  # the queue; A2, A3 and A5 need another one
    Sentence("A10", "alpha of the RTT (equation 11)",
        "N(alpha) = 1.5787 s / RTT with alpha = 2 at 75 ms; the paper fits a curve to alpha but does not "
        "print it.", _check_a10, _why_a10, fixed=True),
    Sentence("A11", "RTT fairness of flows that compete (sections 3.2 and 3.3)",
        "alpha of the RTT can guarantee RTT fairness between flows with different RTTs, which logarithmic "
        "increase with alpha = 2 cannot.", _check_a11, _why_a11, about=where(experiment="two-rtts")),
    Sentence("A12", "delta = 1.93 (section 3.2)",
        "from the simulation, delta = 1.93 of equation 3 gives the best results.", _check_a12, _why_a12,
        about=where(experiment=tuple(map(delta_name, DELTAS))), fixed=True),
    Sentence("A13", "CUBIC's window at start-up (figure 6)",
        "CUBIC operates at the network capacity level, including the link capacity and the network buffer.",
        _check_a13, _why_a13, about=where(experiment="start-up", cc="cubic")),
]  # fmt: skip
