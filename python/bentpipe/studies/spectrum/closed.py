"""The claims K1, K11 and K12, which are closed forms: they have no seeds, and their intervals no width."""

from __future__ import annotations

import math
from collections.abc import Mapping
from random import Random

import numpy as np

from bentpipe.analysis import convergence, convergence_time, spectrum, tradeoffs
from bentpipe.studies.claim import Check, Claim, above, number, ratio_at_least
from bentpipe.studies.spectrum.setup import BETA, SUBTRACT

#: A printed value is met within this share: the paper rounds its constants (Gamma(5/2) to 1.3, 0.41, 0.73).
WITHIN = 0.03
#: Windows of table 5: the analysis of TCP, 14.7 round trips, is 4/3 of 11.
LOW_WINDOW, HIGH_WINDOW = 11.0, 22.0
#: Table 6: total window, epsilon, and the windows of each control at the change, experiments 1 and 2.
TOTAL, EPSILON = 110.0, 10.0
CHAIN_1 = {"tcp": (6.1, 99.6), "aimd": (7.9, 99.2), "iiad": (7.7, 99.8), "simd": (6.6, 96.3)}
CHAIN_2 = {"tcp": (8.8, 13.8), "aimd": (12.7, 31.0), "iiad": (11.8, 31.2), "simd": (10.2, 33.2)}
#: Table 6, analysis.
FAIR = {"tcp": 88.7, "aimd": 1217.0, "iiad": 6684.0, "simd": 852.0}
FULL = {"tcp": 43.7, "aimd": 342.0, "iiad": 1242.0, "simd": 85.1}
GAP = {"tcp": 6.0, "aimd": 18.3, "iiad": 7.6, "simd": 12.3}
#: Table 5, analysis.
GROW = {"tcp": 14.7, "aimd": 117.6, "iiad": 181.5, "simd": 41.5, "aiad": 121.0}
SHRINK = {"tcp": 1.0, "aimd": 10.7, "iiad": 16.5, "simd": 10.7, "aiad": 16.5}
NAMES = {"tcp": "TCP", "aimd": "AIMD", "iiad": "IIAD", "simd": "SIMD", "aiad": "AIAD"}

#: The controls of tables 3 and 5 with their betas.
INDEXED: Mapping[str, tuple[tradeoffs.Control, float]] = {
    "tcp": ("aimd", 0.5),
    "aimd": ("aimd", BETA),
    "iiad": ("iiad", SUBTRACT),
    "simd": ("simd", BETA),
    "aiad": ("aiad", SUBTRACT),
}
#: The controls of tables 2 and 6 with their betas.
TIMED: Mapping[str, tuple[convergence_time.Control, float]] = {
    "tcp": ("aimd", 0.5),
    "aimd": ("aimd", BETA),
    "iiad": ("iiad", SUBTRACT),
    "simd": ("simd", BETA),
}


def _exact(value: object) -> list[float]:
    """A value that every seed would give."""
    one = float(np.asarray(value, dtype=np.float64))
    return [one, one]


def _printed(what: str, value: object, paper: float, unit: str = "") -> Check:
    return number(what, _exact(value), paper, unit=unit, within=round(WITHIN * paper, 6))


def constants() -> list[Check]:
    """K1: alpha and c of table 1 and equations 4 to 8."""
    third = -1 / 3
    checks = [
        _printed(
            "alpha of AIMD(1/16), 3 beta / (2 - beta)", spectrum.alpha(0, 1, BETA, 50), 3 * BETA / (2 - BETA)
        ),
        _printed("table 1, k = -1/3: constant of alpha", spectrum.alpha_factor(third), 1.89),
        _printed("table 1, k = -1/3: constant of c", spectrum.c_factor(third), 1.4),
        _printed("table 1, SIMD: constant of alpha", spectrum.alpha_factor(-0.5), 3 / math.sqrt(2)),
        _printed("table 1, SIMD: constant of c", spectrum.c_factor(-0.5), 9 / 8),
        _printed("table 1, AIAD: constant of alpha", spectrum.alpha_factor(0), 1.5),
        _printed(
            "equation 8, SIMD(1/16) at w_max = 100: alpha",
            spectrum.alpha(-0.5, 1, BETA, 100),
            3 * math.sqrt(BETA) / ((1 - 2 * BETA / 3) * math.sqrt(200)),
        ),
    ]
    worst = 1.0
    for k, fall, beta in ((-0.5, 1.0, BETA), (third, 0.5, 0.6), (0.0, 0.0, SUBTRACT), (0.0, 1.0, 0.5)):
        rounds = float(np.asarray(spectrum.epoch_rounds(k, fall, beta, 60, periodic=True)))
        packets = float(np.asarray(spectrum.epoch_packets(k, fall, beta, 60, periodic=True)))
        off = packets / rounds / math.sqrt(1.5 * packets)
        worst = max(worst, off, 1 / off)
    checks.append(
        _printed("appendix A: throughput over sqrt(3 / 2p) under periodic losses, four controls", worst, 1.0)
    )
    return checks


def indices() -> list[Check]:
    """K11: the analysis columns of tables 5 and 6, and figure 4c."""
    checks: list[Check] = []
    for name, (control, beta) in INDEXED.items():
        grow = tradeoffs.rounds_to_grow(control, beta, LOW_WINDOW)
        checks.append(_printed(f"table 5, round trips to double: {NAMES[name]}", grow, GROW[name], "RTT"))
    for name, (control, beta) in INDEXED.items():
        shrink = tradeoffs.losses_to_shrink(control, beta, HIGH_WINDOW)
        checks.append(_printed(f"table 5, losses to halve: {NAMES[name]}", shrink, SHRINK[name]))
    for name, (timed, beta) in TIMED.items():
        w1, w2 = CHAIN_1[name]
        fair = convergence_time.fairness_rounds(timed, beta, w2 - w1, EPSILON, TOTAL)
        checks.append(_printed(f"table 6, T2: {NAMES[name]}", fair, FAIR[name], "RTT"))
    for name, (timed, beta) in TIMED.items():
        w1, w2 = CHAIN_2[name]
        full = convergence_time.efficiency_rounds(timed, beta, w1, w2, TOTAL)
        gap = convergence_time.gap_at_efficiency(timed, w1, w2, TOTAL)
        checks.append(_printed(f"table 6, T1: {NAMES[name]}", full, FULL[name], "RTT"))
        checks.append(_printed(f"table 6, difference: {NAMES[name]}", gap, GAP[name], "packets"))
    faster = convergence_time.region()
    inside = np.isfinite(faster.ratio)
    share = float(np.mean(faster.ratio[inside] > 1))
    slow = convergence_time.region("simd", "iiad", second_beta=SUBTRACT)
    aimd = convergence_time.region("aimd", "iiad", second_beta=SUBTRACT)
    least = min(float(np.nanmin(r.ratio)) for r in (slow, aimd))
    half = _exact(0.5)
    checks += [
        above(
            "figure 4c: share of the starts where SIMD is faster than AIMD, above one half",
            _exact(share),
            half,
        ),
        ratio_at_least(
            "figure 4c: IIAD's time over SIMD's and AIMD's, the least", _exact(least), _exact(1), 1.0
        ),
    ]
    return checks


def converging() -> list[Check]:
    """K12: trajectories of two users, and the condition of appendix B."""
    checks: list[Check] = []
    for name, k, fall, beta, epochs in (
        ("AIMD(1/16)", 0.0, 1.0, BETA, 400),
        ("SIMD(1/16)", -0.5, 1.0, BETA, 400),
        ("k = 1, l = 1/2", 1.0, 0.5, 0.5, 2000),
        ("AIAD(2/3)", 0.0, 0.0, SUBTRACT, 4000),
    ):
        gap = convergence.trajectory(10, 70, 100, k, fall, beta, epochs=epochs).gap
        what = f"{name}: share of the first difference that is closed after {epochs} epochs"
        checks.append(ratio_at_least(what, _exact(1 - gap[-1] / gap[0]), _exact(1), 0.95))
    slow = convergence.trajectory(10, 70, 100, 0, 1, BETA, epochs=20).gap[-1]
    fast = convergence.trajectory(10, 70, 100, -0.5, 1, BETA, epochs=20).gap[-1]
    checks.append(
        above("difference after 20 epochs: AIMD above SIMD", _exact(slow), _exact(fast), unit="packets")
    )
    draw = Random(1)
    fairer, met = 0, 0
    for _ in range(2000):
        over, under = draw.uniform(0, 0.5), draw.uniform(0, 0.5)
        if not convergence.bounded_enough(over, under):
            continue
        total = 1 - under
        x1 = total * draw.uniform(0.02, 0.499)
        try:
            path = convergence.bounded_trajectory(
                x1, total - x1, 0, 0, overshoot=over, undershoot=under, epochs=1
            )
        except ValueError:  # the other user would be left with nothing
            met += 1
            continue
        met += 1
        before = float(np.asarray(convergence.fairness_index(*path[0])))
        after = float(np.asarray(convergence.fairness_index(*path[-1])))
        fairer += after < before * (1 + 1e-9)
    checks.append(
        ratio_at_least(
            f"equation 14: share of {met} epochs that meet it, begin at 1 - Delta_D and end fairer, k = l = "
            "0",
            _exact(fairer / met),
            _exact(1),
            1.0,
        )
    )
    right = 0
    for _ in range(2000):
        total = draw.uniform(0.02, 0.98)
        x1 = total * draw.uniform(0.01, 0.49)
        index = [
            float(np.asarray(convergence.fairness_index(*convergence.increase(x1, total - x1, 1.0, k, 1.0))))
            if k == 0 or total > 0.5 * 0.5
            else math.inf
            for k in (0.0, -0.5)
        ]
        right += (index[1] < index[0]) == (total > 1 / 3)
    checks.append(
        ratio_at_least(
            "section 4.2: share of 2000 starts where SIMD's crossing is fairer than AIMD's just if x1 + x2 > "
            "1/3",
            _exact(right / 2000),
            _exact(1),
            0.99,
        )
    )
    return checks


def evaluate() -> list[Claim]:
    """K1, K11 and K12."""
    return [Claim(key, *TEXT[key], checks()) for key, checks in _OF.items()]


_OF = {"K1": constants, "K11": indices, "K12": converging}

TEXT: Mapping[str, tuple[str, str]] = {
    "K1": (
        "The constants (table 1, equations 4 to 8)",
        "with alpha and c of equations 4 and 5 every control of the family is TCP-friendly; k = 0, l = 1 "
        "gives "
        "AIMD's alpha = 3 beta / (2 - beta).",
    ),
    "K11": (
        "Closed forms (tables 2, 3, 5 and 6, figure 4c)",
        "smoothness, aggressiveness and responsiveness, T1, the difference then, and T2; SIMD(1/16) "
        "converges "
        "faster than AIMD(1/16) in most cases, and IIAD is slower than both in all.",
    ),
    "K12": (
        "Convergence of two users (section 4, appendix B)",
        "with l = 1 or l = 1/(k+1) two users become fair; otherwise they do if the overshoot and three times "
        "the "
        "undershoot stay below 2; SIMD's crossing of the efficiency line is fairer than AIMD's if x1 + x2 > "
        "1/3.",
    ),
}
