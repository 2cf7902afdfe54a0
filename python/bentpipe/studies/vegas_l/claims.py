"""The claims of the Vegas-L paper, V1 to V6, as checks on measured runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from bentpipe import registry
from bentpipe.studies.claim import (
    Check,
    Claim,
    above,
    alike,
    highest,
    lowest,
    near,
    number,
    ratio_at_least,
)
from bentpipe.studies.vegas_l.setup import ALGORITHMS, HIGH, LOW

if TYPE_CHECKING:
    import polars as pl

#: Numbers printed in the paper, section IV-B.
STEADY_WINDOW = 350.0
WINDOW_OVER_VEGAS = 3.0
THROUGHPUT = {"vegas": 1.1, "vegas-l": 2.9}
NEWRENO_AGAINST = {"vegas": 3.2, "vegas-l": 1.5}
NEWRENO_HIGH = 0.5
FAIRNESS = {"vegas": 0.8074, "veno": 0.9994}
#: Windows are "much smaller" at the high error rate if the low rate's is at least this many times larger.
MUCH_SMALLER = 2.0
#: Tolerance of a fairness index, absolute.
FAIRNESS_WITHIN = 0.05
#: Two fairness indices are tied if their means differ by at most this.
TIED_WITHIN = 0.02

Groups = dict[str, list[float]]


def label(cc: str) -> str:
    """The name of an algorithm in tables and figures."""
    return registry.style(cc)["label"]


def samples(runs: pl.DataFrame, column: str, per: float) -> Groups:
    """``column`` of the runs at ``per``: one list per algorithm's label, ordered by seed."""
    import polars as pl

    at = runs.filter(pl.col("per") == per).sort("seed")
    return {label(cc): at.filter(pl.col("cc") == cc)[column].to_list() for cc in ALGORITHMS}


def evaluate(runs: pl.DataFrame) -> list[Claim]:
    """The six claims for one set of runs (one variant, all algorithms and error rates, two seeds or more)."""
    vegas, vegas_a, veno, vegas_l = (label(cc) for cc in ALGORITHMS)
    low = {c: samples(runs, c, LOW) for c in ("cwnd_early", "cwnd_steady", "cwnd_cv", "cuts")}
    high = {c: samples(runs, c, HIGH) for c in ("cwnd_steady", "cuts")}
    x_low, x_high = samples(runs, "x_mbps", LOW), samples(runs, "x_mbps", HIGH)
    reno_low, reno_high = samples(runs, "newreno_mbps", LOW), samples(runs, "newreno_mbps", HIGH)
    fair_low, fair_high = samples(runs, "jain", LOW), samples(runs, "jain", HIGH)
    window = low["cwnd_steady"]
    ratio = [a / b for a, b in zip(window[vegas_l], window[vegas], strict=True)]
    three = (vegas, veno, vegas_l)

    v1 = [
        number("steady window of Vegas-L", window[vegas_l], STEADY_WINDOW, unit="packets"),
        number("that over the window of Vegas", ratio, WINDOW_OVER_VEGAS),
        alike("mean windows of the first 150 s alike", low["cwnd_early"]),
        highest("steady window of Vegas-L above", window, vegas_l, unit="packets"),
        lowest("steady Vegas-L varies less (coefficient of variation) than", low["cwnd_cv"], vegas_l),
    ]
    v2 = [
        number("throughput of Vegas-L", x_low[vegas_l], THROUGHPUT["vegas-l"], unit="Mbit/s"),
        number("throughput of Vegas", x_low[vegas], THROUGHPUT["vegas"], unit="Mbit/s"),
        number("NewReno against Vegas-L", reno_low[vegas_l], NEWRENO_AGAINST["vegas-l"], unit="Mbit/s"),
        number("NewReno against Vegas", reno_low[vegas], NEWRENO_AGAINST["vegas"], unit="Mbit/s"),
        highest("throughput: Vegas-L above", x_low, vegas_l, unit="Mbit/s"),
        lowest("throughput: Vegas below", x_low, vegas, unit="Mbit/s"),
        above(
            "NewReno gets less against Vegas-L than against Vegas",
            reno_low[vegas],
            reno_low[vegas_l],
            unit="Mbit/s",
        ),
    ]
    v3 = [
        number("fairness of Vegas", fair_low[vegas], FAIRNESS["vegas"], within=FAIRNESS_WITHIN),
        number("fairness of Veno", fair_low[veno], FAIRNESS["veno"], within=FAIRNESS_WITHIN),
        lowest("fairness: Vegas below", fair_low, vegas),
    ]
    v4 = [
        lowest("window at the high error rate: Vegas-A below", high["cwnd_steady"], vegas_a, unit="packets"),
        alike("windows of Vegas, Veno and Vegas-L alike", pick(high["cwnd_steady"], three)),
        *(
            ratio_at_least(
                f"window of {x}: low over high error rate", window[x], high["cwnd_steady"][x], MUCH_SMALLER
            )
            for x in window
        ),
        *(
            above(f"cuts of {x} per 100 s: more at the high error rate", high["cuts"][x], low["cuts"][x])
            for x in window
        ),
    ]
    v5 = [
        number("NewReno, mean of all four runs", means(reno_high), NEWRENO_HIGH, unit="Mbit/s"),
        alike("NewReno alike against all four", reno_high),
        highest("throughput: Veno above", x_high, veno, unit="Mbit/s"),
        lowest("throughput: Vegas-A below", x_high, vegas_a, unit="Mbit/s"),
    ]
    v6 = [
        lowest("fairness: Vegas-A below", fair_high, vegas_a),
        above("fairness: Vegas above Veno", fair_high[vegas], fair_high[veno]),
        above("fairness: Vegas-L above Veno", fair_high[vegas_l], fair_high[veno]),
        near("fairness of Vegas and Vegas-L tied", fair_high[vegas], fair_high[vegas_l], TIED_WITHIN),
    ]
    checks: dict[str, list[Check]] = {"V1": v1, "V2": v2, "V3": v3, "V4": v4, "V5": v5, "V6": v6}
    return [Claim(key, *TEXT[key], found) for key, found in checks.items()]


def pick(groups: Groups, names: Iterable[str]) -> Groups:
    """The named groups only."""
    return {name: groups[name] for name in names}


def means(groups: Groups) -> list[float]:
    """The mean over the groups, seed by seed."""
    return [sum(at) / len(at) for at in zip(*groups.values(), strict=True)]


#: Title and statement of each claim.
TEXT: Mapping[str, tuple[str, str]] = {
    "V1": (
        "Window, low error rate (figure 4a)",
        "all windows are alike for the first 150 s; then Vegas-L grows steadily, with little fluctuation, to "
        "a steady 350 packets, 200 % above Vegas and above Vegas-A and Veno.",
    ),
    "V2": (
        "Throughput, low error rate (figure 5a)",
        "Vegas gets 1.1 Mbit/s and Vegas-L 2.9 Mbit/s, the most; Vegas-A and Veno lie between; NewReno gets "
        "3.2 Mbit/s against Vegas and 1.5 Mbit/s against Vegas-L.",
    ),
    "V3": (
        "Fairness, low error rate (figure 6a)",
        "Jain's index is 0.8074 for Vegas, the lowest, and 0.9994 for Veno.",
    ),
    "V4": (
        "Window, high error rate (figure 4b)",
        "windows are much smaller than at the low error rate and fluctuate more densely; those of Vegas-L, "
        "Vegas and Veno are alike, and Vegas-A's is below them.",
    ),
    "V5": (
        "Throughput, high error rate (figure 5b)",
        "Veno gets the most, then Vegas and Vegas-L, Vegas-A the least; NewReno always gets about 0.5 "
        "Mbit/s.",
    ),
    "V6": (
        "Fairness, high error rate (figure 6b)",
        "Vegas and Vegas-L tie for the best, then Veno; Vegas-A is the worst.",
    ),
}
