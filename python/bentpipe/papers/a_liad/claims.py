"""The claims of the A-LIAD paper, A1 to A10, as checks on measured runs."""

from __future__ import annotations

import math
from collections.abc import Iterable
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from bentpipe import registry
from bentpipe.analysis import a_liad as analysis
from bentpipe.papers.a_liad.setup import (
    ALGORITHMS,
    BDP,
    GEO_S,
    HIGH,
    INTRA_S,
    LOW,
    NONE,
    PAPER,
    RTTS_S,
    SHORT_S,
)
from bentpipe.studies.claim import (
    ALIKE_RATIO,
    INDEX_TOLERANCE,
    Check,
    above,
    alike,
    at_least,
    at_most,
    highest,
    interval,
    number,
    ratio_at_least,
)
from bentpipe.studies.judge import Groups, by_claim, column, linearity, sentences
from bentpipe.studies.words import Words

if TYPE_CHECKING:
    import polars as pl

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

LINEAR, NEAR, FIT_WITHIN, DIGITS, SAME_EPOCH_S = PAPER.limits()


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


def _a1(_: pl.DataFrame) -> list[Check]:
    rate = figure_1()
    share = "share of the variance that a line explains"
    logarithmic = linearity([math.log(rtt) for rtt in RTTS_S], [math.log(r) for r in rate])
    fall, line, plain = ([v] * 2 for v in (rate[0] / rate[-1], logarithmic, linearity(RTTS_S, rate)))
    return [
        at_least("rate of LIAD by eq 9, 50 ms over 600 ms", fall, ALIKE_RATIO, paper="falls"),
        at_least(f"{share}, linear axes", plain, LINEAR, paper="almost linear"),
        at_least(f"{share}, logarithmic axes", line, LINEAR, paper="almost linear").unprinted(),
    ]


def _a2(runs: pl.DataFrame) -> list[Check]:
    share = groups(runs, "start-up", "at_30")
    mine = share[A_LIAD]
    lead = [c - a for c, a in zip(share[CUBIC], mine, strict=True)]
    return [
        number("A-LIAD, share of the bandwidth in 30 s", mine, START_UP_SHARE, unit="%", most=100),
        number("CUBIC minus A-LIAD", lead, CUBIC_LEAD, unit="% of bandwidth"),
        *(above(f"{x} above A-LIAD", share[x], mine, unit="%") for x in FAST),
        *(above(f"A-LIAD above {x}", mine, share[x], unit="%") for x in (NEWRENO, WESTWOOD)),
    ]


def _a3(runs: pl.DataFrame) -> list[Check]:
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


def _a4(runs: pl.DataFrame) -> list[Check]:
    what, per_cent = "Jain's index at a packet error rate of", {NONE: "0 %", LOW: "0.1 %", HIGH: "1 %"}
    index = {name: values(runs, "intra", "a-liad", "jain", INTRA_S, per) for per, name in per_cent.items()}
    return [number(f"{what} {at}", j, FAIRNESS, within=INDEX_TOLERANCE) for at, j in index.items()]


def _a5(runs: pl.DataFrame) -> list[Check]:
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


def _a6(runs: pl.DataFrame) -> list[Check]:
    low, high = (groups(runs, "loss", "share", per=per) for per in (LOW, HIGH))
    return [
        number("A-LIAD, share of the bandwidth at 0.1 %", low[A_LIAD], LOSS_SHARE, unit="%", most=100),
        # "Dramatically increased for a very high PER (e.g., 1 %)": so the 60 % are those at 0.1 %.
        above("A-LIAD, share at 0.1 % above that at 1 %", low[A_LIAD], high[A_LIAD], unit="%"),
        highest("share at 0.1 %: A-LIAD above", low, A_LIAD, unit="%"),
        highest("share at 1 %: A-LIAD above", high, A_LIAD, unit="%"),
    ]


def _a7(runs: pl.DataFrame) -> list[Check]:
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


def _a8(runs: pl.DataFrame) -> list[Check]:
    cut = reductions(runs, SHORT_S, NAMED)
    friendly = max((HSTCP, CUBIC), key=lambda n: fmean(cut[n]))
    printed = {LABELS[cc]: share for cc, share in REDUCTION.items()}
    return [
        *(number(f"NewReno loses to {n}", cut[n], share, unit="%") for n, share in printed.items()),
        *(above(f"{n} takes more than {friendly}", cut[n], cut[friendly], unit="%") for n in (STCP, A_LIAD)),
    ]


def _a9(runs: pl.DataFrame) -> list[Check]:
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


#: Round-trip times at which the fit of alpha is tested against the solution, seconds.
FIT_RTTS_S = tuple(r / 1000 for r in range(25, 601, 5))


def _a10(_: pl.DataFrame) -> list[Check]:
    rtt = np.array(FIT_RTTS_S)
    solved = np.asarray(analysis.alpha(rtt))
    epochs = np.asarray(analysis.epoch_seconds(solved, rtt)).tolist()
    constant = [float(analysis.epoch_seconds(ALPHA_REF, RTT_REF_S, beta)) for beta in (0.4586, 0.46)]
    reference = [float(f(RTT_REF_S)) for f in (analysis.alpha, analysis.alpha_fit)]
    error = np.abs(analysis.fit_error(rtt)).tolist()
    rule = f"at most {FIT_WITHIN:g} at each of {len(error)} RTTs"
    fit = "relative error of the fit, mean over 25 to 600 ms"
    return [
        number("constant of eq 11 from eq 8 to 10", constant, EPOCH_S, unit="s", within=DIGITS),
        number("alpha at 75 ms, solved and fitted", reference, ALPHA_REF, within=DIGITS),
        number("N(alpha) RTT over 25 to 600 ms, solved", epochs, EPOCH_S, unit="s", within=SAME_EPOCH_S),
        Check(fit, "trend", rule, interval(error), "", max(error) <= FIT_WITHIN, rule),
    ]


CLAIMS = sentences(Words.beside(__file__)["Claims"], by_claim(vars()), PAPER.claims)
