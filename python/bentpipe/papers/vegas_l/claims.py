"""The claims of the Vegas-L paper, V1 to V6, as checks on measured runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bentpipe import registry
from bentpipe.papers.vegas_l.setup import ALGORITHMS, HIGH, LOW, PAPER
from bentpipe.studies import judge
from bentpipe.studies.claim import (
    INDEX_TOLERANCE,
    Check,
    above,
    alike,
    highest,
    lowest,
    near,
    number,
    ratio_at_least,
)
from bentpipe.studies.judge import Groups, by_algorithm, by_claim, seed_means, sentences
from bentpipe.studies.words import Words

if TYPE_CHECKING:
    import polars as pl

#: Numbers printed in the paper, section IV-B.
STEADY_WINDOW = 350.0
WINDOW_OVER_VEGAS = 3.0
THROUGHPUT = {"vegas": 1.1, "vegas-l": 2.9}
NEWRENO_AGAINST = {"vegas": 3.2, "vegas-l": 1.5}
NEWRENO_HIGH = 0.5
FAIRNESS = {"vegas": 0.8074, "veno": 0.9994}
(MUCH_SMALLER,) = PAPER.limits()

#: The names of the algorithms in tables and figures.
LABELS = {cc: registry.style(cc)["label"] for cc in ALGORITHMS}
VEGAS, VEGAS_A, VENO, VEGAS_L = LABELS.values()


def samples(runs: pl.DataFrame, column: str, per: float) -> Groups:
    """``column`` of the runs at ``per``: one list per algorithm's label, ordered by seed."""
    return by_algorithm(runs, column, LABELS, per=per)


def index_of_means(runs: pl.DataFrame, per: float) -> dict[str, float]:
    """Jain's index of the throughputs averaged over seeds, beside the mean of the indices."""
    return judge.index_of_means(*(samples(runs, column, per) for column in ("x_mbps", "newreno_mbps")))


def _v1(runs: pl.DataFrame) -> list[Check]:
    window = samples(runs, "cwnd_steady", LOW)
    ratio = [a / b for a, b in zip(window[VEGAS_L], window[VEGAS], strict=True)]
    return [
        number("steady window of Vegas-L", window[VEGAS_L], STEADY_WINDOW, unit="packets", one_run=True),
        number("that over the window of Vegas", ratio, WINDOW_OVER_VEGAS, one_run=True),
        alike("mean windows of the first 150 s alike", samples(runs, "cwnd_early", LOW)),
        highest("steady window of Vegas-L above", window, VEGAS_L, unit="packets"),
    ]


def _v2(runs: pl.DataFrame) -> list[Check]:
    x, reno = (samples(runs, c, LOW) for c in ("x_mbps", "newreno_mbps"))
    less = "NewReno gets less against Vegas-L than against Vegas"
    printed = (("throughput of", x, THROUGHPUT), ("NewReno against", reno, NEWRENO_AGAINST))
    return [
        *(
            number(f"{what} {LABELS[cc]}", groups[LABELS[cc]], paper[cc], unit="Mbit/s", one_run=True)
            for what, groups, paper in printed
            for cc in ("vegas-l", "vegas")
        ),
        highest("throughput: Vegas-L above", x, VEGAS_L, unit="Mbit/s"),
        lowest("throughput: Vegas below", x, VEGAS, unit="Mbit/s"),
        above(less, reno[VEGAS], reno[VEGAS_L], unit="Mbit/s"),
    ]


def _v3(runs: pl.DataFrame) -> list[Check]:
    fair = samples(runs, "jain", LOW)
    return [
        *(
            number(f"fairness of {LABELS[cc]}", fair[LABELS[cc]], paper, within=INDEX_TOLERANCE, one_run=True)
            for cc, paper in FAIRNESS.items()
        ),
        lowest("fairness: Vegas below", fair, VEGAS),
    ]


def _v4(runs: pl.DataFrame) -> list[Check]:
    low, high = (samples(runs, "cwnd_steady", per) for per in (LOW, HIGH))
    all_low, all_high = (seed_means(windows.values()) for windows in (low, high))
    rare, often = (samples(runs, "cuts", per) for per in (LOW, HIGH))
    return [
        lowest("window at the high error rate: Vegas-A below", high, VEGAS_A, unit="packets"),
        alike("windows of Vegas, Veno and Vegas-L alike", {x: high[x] for x in (VEGAS, VENO, VEGAS_L)}),
        ratio_at_least("mean window of all four: low over high error rate", all_low, all_high, MUCH_SMALLER),
        *(above(f"cuts of {x} per 100 s: more at the high error rate", often[x], rare[x]) for x in low),
    ]


def _v5(runs: pl.DataFrame) -> list[Check]:
    x, reno = (samples(runs, c, HIGH) for c in ("x_mbps", "newreno_mbps"))
    every = seed_means(reno.values())
    return [
        number("NewReno, mean of all four runs", every, NEWRENO_HIGH, unit="Mbit/s", one_run=True),
        alike("NewReno alike against all four", reno),
        highest("throughput: Veno above", x, VENO, unit="Mbit/s"),
        lowest("throughput: Vegas-A below", x, VEGAS_A, unit="Mbit/s"),
    ]


def _v6(runs: pl.DataFrame) -> list[Check]:
    fair = samples(runs, "jain", HIGH)
    return [
        lowest("fairness: Vegas-A below", fair, VEGAS_A),
        above("fairness: Vegas above Veno", fair[VEGAS], fair[VENO]),
        above("fairness: Vegas-L above Veno", fair[VEGAS_L], fair[VENO]),
        near("fairness of Vegas and Vegas-L tied", fair[VEGAS], fair[VEGAS_L], INDEX_TOLERANCE),
    ]


CLAIMS = sentences(Words.beside(__file__)["Claims"], by_claim(vars()), PAPER.claims)
