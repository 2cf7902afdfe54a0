"""The claims of the Vegas-L paper, V1 to V6, with their checks and reasons.

The reason of V4 is figure 1, the rules of Vegas-A, beside those of Vegas, both per round trip: the proof that
these rules cannot put Vegas-A below Vegas while losses keep the queue empty and both answer a loss alike. How
Vegas-A answers a loss is not printed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from statistics import fmean
from typing import NamedTuple

import polars as pl

from bentpipe import registry
from bentpipe.papers.vegas_l.setup import ALGORITHMS, ALPHA, APART, BASE, HIGH, LOW, MSS_BYTES
from bentpipe.studies import judge
from bentpipe.studies.claim import (
    INDEX_TOLERANCE,
    Cause,
    Check,
    Tolerance,
    above,
    alike,
    highest,
    lowest,
    near,
    number,
    ratio_at_least,
    spread,
)
from bentpipe.studies.judge import (
    Findings,
    Groups,
    Reason,
    Sentence,
    by_algorithm,
    seed_means,
)
from bentpipe.studies.words import Words

WORDS = Words.beside(__file__)

#: Numbers printed in the paper, section IV-B.
STEADY_WINDOW = 350.0
WINDOW_OVER_VEGAS = 3.0
THROUGHPUT = {"vegas": 1.1, "vegas-l": 2.9}
NEWRENO_AGAINST = {"vegas": 3.2, "vegas-l": 1.5}
NEWRENO_HIGH = 0.5
FAIRNESS = {"vegas": 0.8074, "veno": 0.9994}
MUCH_SMALLER = Tolerance(
    2.0,
    'V4: windows are "much smaller" if their mean is at least this many times larger at the low rate',
    "a factor that no one calls slight",
)

#: Mean window of Reno over 1 / sqrt(p) (one more segment per round trip, half lost at each loss).
RENO_CONSTANT = 1.5**0.5
#: Two means that differ by less than this share are called the same here.
SAME = 0.15

#: The names of the algorithms in tables and figures.
LABELS = {cc: registry.style(cc)["label"] for cc in ALGORITHMS}
VEGAS, VEGAS_A, VENO, VEGAS_L = LABELS.values()
#: The algorithms with an alpha, to which `measure.inside` applies.
FAMILY = tuple(cc for cc in ALGORITHMS if cc.startswith("vegas"))


def samples(runs: pl.DataFrame, column: str, per: float) -> Groups:
    """``column`` of the runs at ``per``: one list per algorithm's label, ordered by seed."""
    return by_algorithm(runs, column, LABELS, per=per)


def index_of_means(runs: pl.DataFrame, per: float) -> dict[str, float]:
    """Jain's index of the throughputs averaged over seeds, beside the mean of the indices."""
    return judge.index_of_means(*(samples(runs, column, per) for column in ("x_mbps", "newreno_mbps")))


def _check_v1(runs: pl.DataFrame) -> list[Check]:
    window = samples(runs, "cwnd_steady", LOW)
    ratio = [a / b for a, b in zip(window[VEGAS_L], window[VEGAS], strict=True)]
    return [
        number("steady window of Vegas-L", window[VEGAS_L], STEADY_WINDOW, unit="packets", one_run=True),
        number("that over the window of Vegas", ratio, WINDOW_OVER_VEGAS, one_run=True),
        alike("mean windows of the first 150 s alike", samples(runs, "cwnd_early", LOW)),
        highest("steady window of Vegas-L above", window, VEGAS_L, unit="packets"),
    ]


def _check_v2(runs: pl.DataFrame) -> list[Check]:
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
        above("Vegas-L above the NewReno beside it", x[VEGAS_L], reno[VEGAS_L], unit="Mbit/s"),
        above(less, reno[VEGAS], reno[VEGAS_L], unit="Mbit/s"),
    ]


def _check_v3(runs: pl.DataFrame) -> list[Check]:
    fair = samples(runs, "jain", LOW)
    return [
        *(
            number(f"fairness of {LABELS[cc]}", fair[LABELS[cc]], paper, within=INDEX_TOLERANCE, one_run=True)
            for cc, paper in FAIRNESS.items()
        ),
        lowest("fairness: Vegas below", fair, VEGAS),
    ]


def _check_v4(runs: pl.DataFrame) -> list[Check]:
    low, high = (samples(runs, "cwnd_steady", per) for per in (LOW, HIGH))
    all_low, all_high = (seed_means(windows.values()) for windows in (low, high))
    rare, often = (samples(runs, "cuts", per) for per in (LOW, HIGH))
    return [
        lowest("window at the high error rate: Vegas-A below", high, VEGAS_A, unit="packets"),
        alike("windows of Vegas, Veno and Vegas-L alike", {x: high[x] for x in (VEGAS, VENO, VEGAS_L)}),
        ratio_at_least("mean window of all four: low over high error rate", all_low, all_high, MUCH_SMALLER),
        *(above(f"cuts of {x} per 100 s: more at the high error rate", often[x], rare[x]) for x in low),
    ]


def _check_v5(runs: pl.DataFrame) -> list[Check]:
    x, reno = (samples(runs, c, HIGH) for c in ("x_mbps", "newreno_mbps"))
    low = samples(runs, "x_mbps", LOW)
    every = seed_means(reno.values())
    return [
        number("NewReno, mean of all four runs", every, NEWRENO_HIGH, unit="Mbit/s", one_run=True),
        alike("NewReno alike against all four", reno),
        highest("throughput: Veno above", x, VENO, unit="Mbit/s"),
        lowest("throughput: Vegas-A below", x, VEGAS_A, unit="Mbit/s"),
        # "All of these algorithms' performance becomes poor with the increases of PER."
        *(above(f"throughput of {name}: more at the low error rate", low[name], x[name]) for name in x),
    ]


def _check_v6(runs: pl.DataFrame) -> list[Check]:
    fair = samples(runs, "jain", HIGH)
    return [
        lowest("fairness: Vegas-A below", fair, VEGAS_A),
        above("fairness: Vegas above Veno", fair[VEGAS], fair[VENO]),
        above("fairness: Vegas-L above Veno", fair[VEGAS_L], fair[VENO]),
        near("fairness of Vegas and Vegas-L tied", fair[VEGAS], fair[VEGAS_L], INDEX_TOLERANCE),
    ]


def implied_rtt(window: float, mbps: float) -> float:
    """The round-trip time at which ``window`` packets per round trip give ``mbps``, s (Little's law)."""
    return window * MSS_BYTES * 8 / (mbps * 1e6)


def _mean(found: Findings, cc: str, per: float, column: str) -> float:
    return fmean(samples(found.base, column, per)[LABELS[cc]])


def _why_v1(found: Findings) -> Reason:
    needed = implied_rtt(STEADY_WINDOW, THROUGHPUT["vegas-l"])
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


def _why_v2(found: Findings) -> Reason:
    a, veno, b = (_mean(found, cc, LOW, "x_mbps") for cc in ("vegas-a", "veno", "vegas-l"))
    each = samples(found.base, "x_mbps", LOW)[VEGAS_L]
    total = _mean(found, "vegas", LOW, "x_mbps") + _mean(found, "vegas", LOW, "newreno_mbps")
    printed = THROUGHPUT["vegas"] + NEWRENO_AGAINST["vegas"]
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


def _why_v3(found: Findings) -> Reason:
    mine, reno = (
        {LABELS[cc]: _mean(found, cc, LOW, column) for cc in ALGORITHMS}
        for column in ("x_mbps", "newreno_mbps")
    )
    fair = samples(found.base, "jain", LOW)
    detail = WORDS.paragraphs(
        "V3",
        mine=mine,
        newreno=reno,
        single={label: spread(j) for label, j in fair.items()},
        of_means=index_of_means(found.base, LOW),
    )
    ratio = {name: mine[name] / reno[name] for name in mine}
    if ratio[VENO] > 1 + SAME and ratio[VENO] > ratio[VEGAS_L]:
        return f"Veno takes {ratio[VENO]:.1f} times NewReno's throughput", detail
    printed = THROUGHPUT["vegas"] / NEWRENO_AGAINST["vegas"]
    if ratio[VEGAS] < printed * (1 - SAME):
        return f"Vegas gets {ratio[VEGAS]:.2f} of NewReno's throughput, in the paper 0.34", detail
    return "", detail


def same_runs(runs: pl.DataFrame) -> tuple[int, int]:
    """At the high error rate, the seeds under which Vegas-A and Vegas-L are one run to the last digit.

    Returns:
        the number of such seeds, and the number of seeds.
    """
    measures = ("x_mbps", "newreno_mbps", "cwnd_early", "cwnd_steady", "x_rtt_s")
    of = [samples(runs, column, HIGH) for column in measures]
    pairs = [zip(*(each[name] for each in of), strict=True) for name in (VEGAS_A, VEGAS_L)]
    alike = [one == other for one, other in zip(*pairs, strict=True)]
    return sum(alike), len(alike)


def _raised(found: Findings, per: float) -> dict[str, float]:
    """The share of the samples with alpha above 1, of Vegas-A and Vegas-L."""
    above = samples(found.base, "alpha_above", per)
    return {cc: fmean(above[LABELS[cc]]) for cc in FAMILY[1:]}


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


def _why_v4(found: Findings) -> Reason:
    every = list(rounds())
    behind = [of for of in every if lead(of) < 0]
    assert all(of.alpha > ALPHA and of.diff < ALPHA and not of.rising for of in behind)
    a, b = (_mean(found, cc, HIGH, "cwnd_steady") for cc in ("vegas-a", "vegas"))
    physical = found.runs.filter(pl.col("variant") == "two-satellites")
    tahoe = found.means("vegas-a-tahoe", "V4", 0)
    short, detail = WORDS.reason(
        "V4",
        behind=None if tahoe is None else tahoe[0],
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
        diff=fmean(samples(found.base, "diff_above", HIGH)[VEGAS_A]),
        physical=same_runs(physical) if physical.height else None,
        tried=found.tried("V4", "line-15-scaled", 1),
    )
    return short if abs(a / b - 1) < SAME else "", detail


def _why_v5(found: Findings) -> Reason:
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


def slower_share(jain: float) -> float:
    """The throughput of the slower of two flows with this index, as a share of the faster one's."""
    apart = 2 * jain - 1
    return (1 - math.sqrt(1 - apart**2)) / apart


def _why_v6(found: Findings) -> Reason:
    x = {LABELS[cc]: _mean(found, cc, HIGH, "x_mbps") for cc in ("vegas", "vegas-a", "veno", "vegas-l")}
    reno = fmean(found.base.filter(pl.col("per") == HIGH)["newreno_mbps"].to_list())
    faster = min(x.values()) > reno
    fair = {name: fmean(j) for name, j in samples(found.base, "jain", HIGH).items()}
    short, detail = WORDS.reason(
        "V6",
        each=x,
        newreno=reno,
        faster=faster,
        veno=fair[VENO],
        vegas_a=fair[VEGAS_A],
        needed=reno * slower_share(fair[VENO]),
        tried=found.tried("V6", "vegas-a-half vegas-a-tahoe both-half both-tahoe", 0),
        of_means=index_of_means(found.base, HIGH),
    )
    return short if faster else "", detail


CLAIMS = [
    Sentence("V1", "Window, low error rate (figure 4a)",
        "all windows are alike for the first 150 s; then Vegas-L grows steadily, with little fluctuation, to "
        "a steady 350 packets, 200 % above Vegas and above Vegas-A and Veno.", _check_v1, _why_v1,
        cause=Cause.CONTRADICTION),  # 350 packets at 2.9 Mbit/s need a round trip that no printed path has
    Sentence("V2", "Throughput, low error rate (figure 5a)",
        "Vegas gets 1.1 Mbit/s and Vegas-L 2.9 Mbit/s, the most; Vegas-A and Veno lie between; NewReno gets "
        "3.2 Mbit/s against Vegas and 1.5 Mbit/s against Vegas-L.", _check_v2, _why_v2,
        cause=Cause.PARAMETER),  # the queue
    Sentence("V3", "Fairness, low error rate (figure 6a)",
        "Jain's index is 0.8074 for Vegas, the lowest, and 0.9994 for Veno.", _check_v3, _why_v3,
        cause=Cause.PARAMETER),  # where flow 2 ends
    Sentence("V4", "Window, high error rate (figure 4b)",
        "windows are much smaller than at the low error rate and fluctuate more densely; those of Vegas-L, "
        "Vegas and Veno are alike, and Vegas-A's is below them.", _check_v4, _why_v4,
        cause=Cause.RULE),  # Vegas-A's answer to a loss
    Sentence("V5", "Throughput, high error rate (figure 5b)",
        "Veno gets the most, then Vegas and Vegas-L, Vegas-A the least; NewReno always gets about 0.5 "
        "Mbit/s.", _check_v5, _why_v5, cause=Cause.RULE),  # as V4
    Sentence("V6", "Fairness, high error rate (figure 6b)",
        "Vegas and Vegas-L tie for the best, then Veno; Vegas-A is the worst.", _check_v6, _why_v6,
        cause=Cause.OURS),  # no answer of Vegas-A to a loss that was tried gives it
]  # fmt: skip
