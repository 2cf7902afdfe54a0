"""The closed forms of the spectrum paper and their claims (K1, K11, K12), which need no run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import brentq

from bentpipe.analysis import convergence, convergence_time, spectrum, tradeoffs
from bentpipe.analysis.response import aimd_friendly_alpha, aimd_rate
from bentpipe.papers.spectrum.measure import EPSILON
from bentpipe.papers.spectrum.scenarios import BETA, SUBTRACT
from bentpipe.studies.claim import Check, Tolerance, above, alike, at_most, number, ratio_at_least

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from bentpipe.analysis._values import Value

WITHIN = Tolerance(
    0.03,
    "K1 and K11: a closed form meets a printed value within this share",
    "the paper rounds the constants of its formulas to two digits (0.41, 0.73)",
)
CLOSED = Tolerance(
    0.95,
    "K12: the share of the first difference that is closed, at least",
    "fairness is reached, not only neared",
)
JUST_IF = Tolerance(
    0.99,
    "K12: the share of starts where SIMD crosses fairer just if x1 + x2 > 1/3, at least",
    "all but starts so near the limit that rounding decides",
)
DIP_WITHIN = Tolerance(
    0.05,
    "K2 and K13: the loss rate at which a control gets least lies within this of the printed 15 %",
    "the rates of figure 7's runs are 5 % apart there",
)
SMOOTHEST = Tolerance(
    1 / 64,
    "K11: the beta of the smoothest SIMD of figure 5, at whose smoothness it is compared with AIMD and IIAD",
    "where SIMD's line begins in figure 5 here; the text does not say which part it shows",
)
#: Windows of table 5: the analysis of TCP, 14.7 round trips, is 4/3 of 11.
LOW_WINDOW, HIGH_WINDOW = 11.0, 22.0
#: Table 5 as printed: round trips to double the window and losses to halve it, in simulation (intervals) and
#: by analysis.
TABLE_5: Mapping[str, Any] = {
    "grow": {
        "tcp": (12.8, 14.1),
        "aimd": (108.1, 110.7),
        "iiad": (172.8, 176.0),
        "simd": (31.6, 34.6),
        "aiad": (103.3, 107.9),
    },
    "shrink": {
        "tcp": (1.54, 1.63),
        "aimd": (3.85, 5.19),
        "iiad": (4.2, 5.82),
        "simd": (4.21, 5.47),
        "aiad": (3.73, 4.81),
    },
    "grow_form": {"tcp": 14.7, "aimd": 117.6, "iiad": 181.5, "simd": 41.5, "aiad": 121.0},
    "shrink_form": {"tcp": 1.0, "aimd": 10.7, "iiad": 16.5, "simd": 10.7, "aiad": 16.5},
}
#: Table 6 as printed: T2, T1 and the difference of the windows then, in simulation; the windows of each
#: control at the change in experiments 1 and 2; T2, T1 and the difference by analysis; and the total window.
TABLE_6: Mapping[str, Any] = {
    "to_fair": {"tcp": 68.0, "aimd": 776.0, "iiad": 4232.0, "simd": 218.0},
    "to_full": {"tcp": 55.0, "aimd": 349.0, "iiad": 1284.0, "simd": 90.0},
    "gap": {"tcp": 5.8, "aimd": 18.6, "iiad": 8.1, "simd": 13.6},
    "start_fair": {"tcp": (6.1, 99.6), "aimd": (7.9, 99.2), "iiad": (7.7, 99.8), "simd": (6.6, 96.3)},
    "start_full": {"tcp": (8.8, 13.8), "aimd": (12.7, 31.0), "iiad": (11.8, 31.2), "simd": (10.2, 33.2)},
    "fair_form": {"tcp": 88.7, "aimd": 1217.0, "iiad": 6684.0, "simd": 852.0},
    "full_form": {"tcp": 43.7, "aimd": 342.0, "iiad": 1242.0, "simd": 85.1},
    "gap_form": {"tcp": 6.0, "aimd": 18.3, "iiad": 7.6, "simd": 12.3},
}
TOTAL = 110.0
#: Section 5: SIMD at the smoothness of another control.
MORE_AGGRESSIVE, LESS_RESPONSIVE = 10.0, 1.7
#: The window before the change in figures 5 and 6, packets.
BEFORE = 20.0
#: The numbers that two sentences on AIMD and SIMD contradict.
TABLE_3 = "its table 3 has 0.41 beta for AIMD and 0.73 beta for SIMD"
#: The controls of tables 2 and 6, and those of tables 3 and 5: their closed forms, with beta.
TIMED: Mapping[str, tuple[convergence_time.Control, float]] = {
    "tcp": ("aimd", 0.5),
    "aimd": ("aimd", BETA),
    "iiad": ("iiad", SUBTRACT),
    "simd": ("simd", BETA),
}
INDEXED: Mapping[str, tuple[tradeoffs.Control, float]] = {**TIMED, "aiad": ("aiad", SUBTRACT)}


def crosses_fairer(x1: Value, x2: Value) -> NDArray[np.bool_]:
    """Whether SIMD comes from two shares to a full link at a fairer point than AIMD does (figure 4a)."""
    simd, aimd = (
        np.asarray(convergence.fairness_index(*convergence.increase(x1, x2, 1.0, k, 1.0))) for k in (-0.5, 0)
    )
    return np.asarray(simd < aimd)


def times(first: convergence_time.Control, second: convergence_time.Control) -> NDArray[np.float64]:
    """Time to efficiency and fairness of the second control over the first's, from each start (figure 4c)."""
    ratio = convergence_time.region(first, second, second_beta=TIMED[second][1]).ratio
    return ratio[np.isfinite(ratio)]


def exact(value: object) -> list[float]:
    """A value that every seed would give."""
    return [float(np.asarray(value, dtype=np.float64))] * 2


def _printed(what: str, value: object, paper: float, unit: str = "") -> Check:
    return number(what, exact(value), paper, unit=unit, within=round(WITHIN * paper, 6))


def _each(
    what: str, values: Mapping[str, object], printed: Mapping[str, float], unit: str = ""
) -> list[Check]:
    return [_printed(f"{what}: {name.upper()}", of, printed[name], unit) for name, of in values.items()]


def _all_of(what: str, share: float, bound: float = 1.0) -> Check:
    return ratio_at_least(what, exact(share), 1, bound)


def k1(_: pl.DataFrame) -> list[Check]:
    """K1: the constants of equations 4 to 8, and table 1."""
    third = -1 / 3
    simd = 3 * math.sqrt(BETA) / ((1 - 2 * BETA / 3) * math.sqrt(200))
    worst = 1.0
    for k, fall, beta in ((-0.5, 1.0, BETA), (third, 0.5, 0.6), (0.0, 0.0, SUBTRACT), (0.0, 1.0, 0.5)):
        rounds = float(np.asarray(spectrum.epoch_rounds(k, fall, beta, 60, periodic=True)))
        packets = float(np.asarray(spectrum.epoch_packets(k, fall, beta, 60, periodic=True)))
        off = packets / rounds / math.sqrt(1.5 * packets)
        worst = max(worst, off, 1 / off)
    aimd = "alpha of AIMD(1/16), 3 beta / (2 - beta)"
    periodic = "appendix A: throughput over sqrt(3 / 2p) under periodic losses, four controls"
    return [
        _printed(aimd, spectrum.alpha(0, 1, BETA, 50), 3 * BETA / (2 - BETA)),
        _printed("table 1, k = -1/3: constant of alpha", spectrum.alpha_factor(third), 1.89),
        _printed("table 1, k = -1/3: constant of c", spectrum.c_factor(third), 1.4),
        _printed("table 1, SIMD: constant of alpha", spectrum.alpha_factor(-0.5), 3 / math.sqrt(2)),
        _printed("table 1, SIMD: constant of c", spectrum.c_factor(-0.5), 9 / 8),
        _printed("table 1, AIAD: constant of alpha", spectrum.alpha_factor(0), 1.5),
        *_table_1(),
        _printed("equation 8, SIMD(1/16) at w_max = 100: alpha", spectrum.alpha(-0.5, 1, BETA, 100), simd),
        _printed(periodic, worst, 1.0),
    ]


def _table_1() -> list[Check]:
    """The two rows of table 1 that have no name: the growth of the window in a round trip, and as a whole."""
    w, beta = 100.0, BETA
    rows = (
        ("k = 0, l = 1/2", (0.0, 0.5), 1.5 * beta / math.sqrt(w), 1.5 * beta / math.sqrt(w)),
        ("k = -1/3, l = 1/2", (-1 / 3, 0.5), 1.89 * beta ** (2 / 3) / w ** (2 / 3), 1.4 * beta / w),
    )
    return [
        _printed(f"table 1, {row}, W = {w:g}: {what}", of(*exponents, beta, w, simplified=True), value)
        for row, exponents, *values in rows
        for what, of, value in zip(("alpha", "c"), (spectrum.alpha, spectrum.c), values, strict=True)
    ]


def k11(_: pl.DataFrame) -> list[Check]:
    """K11: tables 2, 3, 5 and 6, and figure 4c."""
    grow = {name: tradeoffs.rounds_to_grow(*of, LOW_WINDOW) for name, of in INDEXED.items()}
    shrink = {name: tradeoffs.losses_to_shrink(*of, HIGH_WINDOW) for name, of in INDEXED.items()}
    apart = {name: w2 - w1 for name, (w1, w2) in TABLE_6["start_fair"].items()}
    fair = {c: convergence_time.fairness_rounds(*of, apart[c], EPSILON, TOTAL) for c, of in TIMED.items()}
    checks = _each("table 5, round trips to double", grow, TABLE_5["grow_form"], "RTT")
    checks += _each("table 5, losses to halve", shrink, TABLE_5["shrink_form"])
    checks += _each("table 6, T2", fair, TABLE_6["fair_form"], "RTT")
    for name, (control, beta) in TIMED.items():
        start = (*TABLE_6["start_full"][name], TOTAL)
        full = convergence_time.efficiency_rounds(control, beta, *start)
        gap = convergence_time.gap_at_efficiency(control, *start)
        checks.append(_printed(f"table 6, T1: {name.upper()}", full, TABLE_6["full_form"][name], "RTT"))
        differ = _printed(f"table 6, difference: {name.upper()}", gap, TABLE_6["gap_form"][name], "packets")
        # TCP's 6.0 contradicts the windows printed beside it, 8.8 and 13.8.
        own = "the windows printed beside it, 8.8 and 13.8, differ by 5.0"
        checks.append(differ.contradicted(own) if name == "tcp" else differ)
    half = "figure 4c: share of the starts where SIMD is faster than AIMD, above one half"
    least = min(times("simd", "iiad").min(), times("aimd", "iiad").min())
    return [
        *checks,
        *_table_3(),
        above(half, exact(np.mean(times("simd", "aimd") > 1)), 0.5),
        # "Much slower than AIMD and SIMD in all cases."
        _all_of("figure 4c: IIAD's time over SIMD's and AIMD's, the least", least).contradicted(
            "by its closed forms IIAD is faster from a few starts with small or equal windows"
        ),
    ]


def _table_3() -> list[Check]:
    """The column of smoothness, and the two sentences of section 5 on it."""
    w = BEFORE
    printed = {
        "aimd": 0.41 * BETA / (1 - BETA / 2),
        "iiad": 0.41 * SUBTRACT / (w - SUBTRACT / 2),
        "simd": 0.73 * BETA / (1 - 2 * BETA / 3) ** 2,
        "aiad": 0.41 * SUBTRACT / (w - SUBTRACT / 2),
    }
    cov = {name: _cov(name, INDEXED[name][1], w) for name in printed}
    column = _each("table 3, smoothness at W = 20", cov, printed)
    three = {
        "AIMD(1/20,1/30)": _cov("aimd", 1 / 30, w),
        "IIAD(1,2/3)": _cov("iiad", SUBTRACT, w),
        "SIMD(1/30)": _cov("simd", 1 / 30, w),
    }
    smooth = alike("section 5: variation at W = 20", {name: exact(of) for name, of in three.items()})
    at = _cov("simd", SMOOTHEST, w)
    best = f"round trips to grow over SIMD's, as smooth as {at:.3g}, the larger of AIMD and IIAD"
    worst = "section 5: SIMD's losses to halve over AIMD's, both as smooth"
    return [
        *column,
        smooth.contradicted(TABLE_3),
        # "Up to order of magnitude better", said of figure 5, where the window doubles.
        ratio_at_least(f"figure 5: {best}", exact(faster_than_others(2.0)), 1, MORE_AGGRESSIVE),
        ratio_at_least(f"figure 6: {best}", exact(faster_than_others(5.0)), 1, MORE_AGGRESSIVE).unprinted(),
        # "Less than about 1.7 times lower."
        at_most(worst, exact(_beside_simd("aimd", at, w, 2.0)[1]), LESS_RESPONSIVE).contradicted(
            f"{TABLE_3}, a ratio of {0.73 / 0.41:.2f} at every smoothness"
        ),
    ]


def _cov(name: str, beta: float, w: float) -> float:
    return float(np.asarray(tradeoffs.smoothness(INDEXED[name][0], beta, w)))


def faster_than_others(m: float) -> float:
    """How many times as fast the smoothest SIMD grows by ``m`` as AIMD or IIAD as smooth, the larger."""
    at = _cov("simd", SMOOTHEST, BEFORE)
    return max(_beside_simd(other, at, BEFORE, m)[0] for other in ("aimd", "iiad"))


def _beside_simd(other: tradeoffs.Control, cov: float, w: float, m: float) -> tuple[float, float]:
    """Another control's round trips to grow by ``m`` over SIMD's, and SIMD's losses to shrink over its.

    Both are as smooth as ``cov`` at the window ``w`` before.
    """

    def at(control: tradeoffs.Control) -> tuple[float, float]:
        beta = brentq(lambda b: float(np.asarray(tradeoffs.smoothness(control, b, w))) - cov, 1e-6, 0.99)
        of = tradeoffs.rounds_to_grow(control, beta, w, m), tradeoffs.losses_to_shrink(control, beta, w, m)
        return float(np.asarray(of[0])), float(np.asarray(of[1]))

    (grow, shrink), (simd_grow, simd_shrink) = at(other), at("simd")
    return grow / simd_grow, simd_shrink / shrink


def _ends_fairer(x1: float, overshoot: float, undershoot: float) -> bool:
    """Whether an epoch that begins after a loss improves fairness."""
    start = (x1, 1 - undershoot - x1)
    with suppress(ValueError):  # the other user would be left with nothing
        *_, end = convergence.bounded_trajectory(
            *start, 0, 0, overshoot=overshoot, undershoot=undershoot, epochs=1
        )
        before, after = (np.asarray(convergence.fairness_index(*shares)) for shares in (start, end))
        return bool(after < before * (1 + 1e-9))
    return False


#: Figure 7's AIMD controls with the increase of equation 4, and the worst loss rate of the text.
DIPPING: Mapping[str, float] = {"AIMD(1/10,1/16)": BETA, "AIMD(1/5,1/8)": 1 / 8}
#: Section 6.1.1: the worst loss rate, and how the runs of figure 7 have the round trip and the timeout, s.
WORST_LOSS, DIP_RTT_S, DIP_T0_S = 0.15, 0.1, 0.2
#: Loss rates of a curve of equation 9: very low, to very high.
DIP_RATES = np.geomspace(1e-4, 1.0, 801)


def dip(beta: float) -> NDArray[np.float64]:
    """Equation 9 for AIMD that is friendly at low loss, over equation 9 for TCP, at `DIP_RATES`."""
    control, tcp = (
        np.asarray(aimd_rate(DIP_RATES, DIP_RTT_S, DIP_T0_S, alpha, fall))
        for alpha, fall in ((aimd_friendly_alpha(beta), beta), (1.0, 0.5))
    )
    return np.asarray(control / tcp)


def k13(_: pl.DataFrame) -> list[Check]:
    """K13: equation 9 explains the dip of figure 7."""
    checks: list[Check] = []
    for name, beta in DIPPING.items():
        ratio = dip(beta)
        least = int(np.argmin(ratio))
        what = f"equation 9, {name} over TCP"
        checks += [
            _printed(f"{what} at p = {DIP_RATES[0]:g}", ratio[0], 1.0),
            _printed(f"{what} at p = {DIP_RATES[-1]:g}", ratio[-1], 1.0),
            at_most(f"{what}, the least", exact(ratio[least]), 1 - WITHIN, paper="a dip"),
            number(f"p where it is least, {name}", exact(DIP_RATES[least]), WORST_LOSS, within=DIP_WITHIN),
        ]
    return checks


def k12(runs: pl.DataFrame) -> list[Check]:
    """K12: two users converge (section 4, appendix B)."""
    checks: list[Check] = []
    for name, k, fall, beta, epochs in (
        ("AIMD(1/16)", 0.0, 1.0, BETA, 400),
        ("SIMD(1/16)", -0.5, 1.0, BETA, 400),
        ("k = 1, l = 1/2", 1.0, 0.5, 0.5, 2000),
        ("AIAD(2/3)", 0.0, 0.0, SUBTRACT, 4000),
    ):
        gap = convergence.trajectory(10, 70, 100, k, fall, beta, epochs=epochs).gap
        what = f"{name}: share of the first difference that is closed after {epochs} epochs"
        checks.append(_all_of(what, 1 - gap[-1] / gap[0], CLOSED))
    slow, fast = (convergence.trajectory(10, 70, 100, k, 1, BETA, epochs=20).gap[-1] for k in (0, -0.5))
    after = "difference after 20 epochs: AIMD above SIMD"
    draw = Random(1)
    fairer = met = 0
    for _ in range(2000):
        over, under = draw.uniform(0, 0.5), draw.uniform(0, 0.5)
        if convergence.bounded_enough(over, under):
            met += 1
            x1 = (1 - under) * draw.uniform(0.02, 0.499)
            fairer += _ends_fairer(x1, over, under)
    totals, x1s = [], []
    for _ in range(2000):
        totals.append(draw.uniform(0.02, 0.98))
        x1s.append(totals[-1] * draw.uniform(0.01, 0.49))
    total, first = np.array(totals), np.array(x1s)
    right = np.mean(crosses_fairer(first, total - first) == (total > 1 / 3))
    meet = f"equation 14: share of {met} epochs that meet it, begin at 1 - Delta_D and end fairer, k = l = 0"
    third = (
        "section 4.2: share of 2000 starts where SIMD's crossing is fairer than AIMD's just if x1 + x2 > 1/3"
    )
    return [
        *checks,
        above(after, exact(slow), exact(fast), unit="packets"),
        _all_of(meet, fairer / met),
        _all_of(third, float(right), JUST_IF),
    ]
