"""The claims K2 to K10 of the spectrum paper, as checks on measured runs."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from bentpipe.analysis import convergence_time
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
from bentpipe.studies.spectrum import closed
from bentpipe.studies.spectrum.setup import CHAIN, FIVE, FRIENDLY, QUEUES, SMOOTH, label

if TYPE_CHECKING:
    import polars as pl

#: Figure 7: the least share of TCP's throughput, and where the paper saw it.
LEAST_FRIENDLY = 0.75
WORST_LOSS = 0.15
#: "Most parts of the Internet are experiencing less than 5 % loss".
LOW_LOSS = 0.05
#: "The loss rate exceeds a certain level"; "a reasonable loss regime (loss rate below 10 %)".
HIGH_LOSS = 0.10
#: A share is close to TCP's if the ratio is this close to 1.
CLOSE = 0.15
#: Table 5, simulation: the printed intervals (round trips to double, losses to halve), and their middles.
GROW_PRINTED = {
    "tcp": (12.8, 14.1),
    "aimd": (108.1, 110.7),
    "iiad": (172.8, 176.0),
    "simd": (31.6, 34.6),
    "aiad": (103.3, 107.9),
}
SHRINK_PRINTED = {
    "tcp": (1.54, 1.63),
    "aimd": (3.85, 5.19),
    "iiad": (4.20, 5.82),
    "simd": (4.21, 5.47),
    "aiad": (3.73, 4.81),
}
GROW = {name: round((low + high) / 2, 4) for name, (low, high) in GROW_PRINTED.items()}
SHRINK = {name: round((low + high) / 2, 4) for name, (low, high) in SHRINK_PRINTED.items()}
#: Table 6, simulation.
TO_FAIR = {"tcp": 68.0, "aimd": 776.0, "iiad": 4232.0, "simd": 218.0}
TO_FULL = {"tcp": 55.0, "aimd": 349.0, "iiad": 1284.0, "simd": 90.0}
GAP = {"tcp": 5.8, "aimd": 18.6, "iiad": 8.1, "simd": 13.6}
#: Section 6.2.1.
DROPS = {60.0: 0.003, 15.0: 0.05}
WINDOW = 23.0

Groups = dict[str, list[float]]


def of(runs: pl.DataFrame, experiment: str, **keys: str | float) -> pl.DataFrame:
    """The rows of an experiment with the given keys, ordered by seed."""
    import polars as pl

    found = runs.filter(pl.col("experiment") == experiment)
    for key, value in keys.items():
        found = found.filter(pl.col(key) == value)
    return found.sort("seed")


def groups(runs: pl.DataFrame, column: str, names: tuple[str, ...]) -> Groups:
    """``column`` of the given rows: one list per control's label, ordered by seed."""
    return {label(name): of_cc(runs, name)[column].to_list() for name in names}


def of_cc(runs: pl.DataFrame, name: str) -> pl.DataFrame:
    """The rows of a control."""
    import polars as pl

    return runs.filter(pl.col("cc") == name)


def relative(runs: pl.DataFrame, name: str, p: float) -> list[float]:
    """Throughput of a control over TCP's at the loss rate ``p`` of figure 7, seed by seed."""
    at = of(runs, "friendly", p=p)
    top, bottom = of_cc(at, name)["window"].to_list(), of_cc(at, "tcp")["window"].to_list()
    return [a / b for a, b in zip(top, bottom, strict=True)]


def loss_rates(runs: pl.DataFrame) -> list[float]:
    """The loss rates of figure 7 that were run."""
    return sorted(of(runs, "friendly")["p"].unique().to_list())


def friendliness(runs: pl.DataFrame) -> list[Check]:
    """K2."""
    rates = loss_rates(runs)
    ratio = {p: relative(runs, "simd", p) for p in rates}
    simd = label("simd")
    worst = min(rates, key=lambda p: float(np.mean(ratio[p])))
    ones = [1.0] * len(ratio[worst])
    at = min(rates, key=lambda p: abs(p - WORST_LOSS))

    def worst_without(seed: int) -> float:
        # The paper's curve is one long run; the least of a single short one is mostly noise at high loss.
        return min(rates, key=lambda p: fmean(v for i, v in enumerate(ratio[p]) if i != seed))

    lowest_at = [worst_without(i) for i in range(len(ones))]
    same = {label(c): relative(runs, c, at) for c in FRIENDLY if c.startswith("simd")}
    return [
        ratio_at_least(
            f"{simd} over TCP where it is least (p = {worst:g})", ratio[worst], ones, LEAST_FRIENDLY
        ),
        number("p where it is least, by all seeds but one", lowest_at, WORST_LOSS, within=0.05),
        *(
            near(f"{simd} over TCP at p = {p:g}, less 1", ratio[p], ones, CLOSE)
            for p in rates
            if p <= LOW_LOSS
        ),
        above(f"at p = {at:g}: {simd} above {label('aimd-8')}", ratio[at], relative(runs, "aimd-8", at)),
        lowest(f"at p = {at:g}: {simd} the least friendly SIMD, below", same, simd),
    ]


def counts(runs: pl.DataFrame, mbps: float) -> list[int]:
    """Numbers of flows of each kind that were run over a link."""
    return sorted(of(runs, "share", mbps=mbps)["n"].unique().to_list())


def share_column(runs: pl.DataFrame, cc: str, queue: str, n: int, column: str) -> list[float]:
    """``column`` of the runs over the 15 Mbit/s link with ``n`` flows of each kind."""
    return of(runs, "share", cc=cc, queue=queue, n=n, mbps=15.0)[column].to_list()


def compatibility(runs: pl.DataFrame, cc: str) -> list[Check]:
    """K3 and K4, on the 15 Mbit/s link: shares by loss rate, and what drop-tail changes."""
    name = label(cc)
    every = counts(runs, 15.0)
    checks: list[Check] = []

    def over(queue: str, column: str, some: list[int]) -> list[float]:
        each = zip(*(share_column(runs, cc, queue, n, column) for n in some), strict=True)
        return [fmean(at) for at in each]

    for queue in ("red-ecn", "red"):
        loss = {n: float(np.mean(share_column(runs, cc, queue, n, "loss"))) for n in every}
        low = [n for n in every if loss[n] <= LOW_LOSS]
        high = [n for n in every if loss[n] > HIGH_LOSS]
        if low:
            ratio = over(queue, "ratio", low)
            what = f"{QUEUES[queue]}, loss up to {LOW_LOSS:.0%} (n = {_list(low)}): {name} over TCP, less 1"
            checks.append(near(what, ratio, [1.0] * len(ratio), CLOSE))
        if high:
            ratio = over(queue, "ratio", high)
            ones = [1.0] * len(ratio)
            what = f"{QUEUES[queue]}, loss above {HIGH_LOSS:.0%} (n = {_list(high)})"
            checks.append(above(f"{what}: {name} gets less than TCP, difference of the ratio", ones, ratio))
            checks.append(ratio_at_least(f"{what}: but only slightly", ratio, ones, LEAST_FRIENDLY))
    checks.append(
        above(
            f"{name}: smaller share under drop-tail than under RED, mean over n",
            over("red", "ratio", every),
            over("drop-tail", "ratio", every),
        )
    )
    several = [n for n in every if n > 1]
    checks.append(
        above(
            f"{name}: flows differ more under drop-tail than under RED, mean over n > 1",
            over("drop-tail", "x_spread", several),
            over("red", "x_spread", several),
        )
    )
    return checks


def _list(numbers: list[int]) -> str:
    return ", ".join(str(n) for n in numbers)


def smoothness(runs: pl.DataFrame) -> list[Check]:
    """K5."""
    checks: list[Check] = []
    aimd, iiad, simd, aiad = (label(c) for c in SMOOTH)
    fast = of(runs, "smooth", mbps=60.0, queue="red-ecn")
    epoch = groups(fast, "x_epoch", SMOOTH) | {"TCP": of_cc(fast, "simd")["tcp_epoch"].to_list()}
    checks += [
        above(f"60 Mbit/s, window within an epoch: {aimd} varies more than {iiad}", epoch[aimd], epoch[iiad]),
        above(f"60 Mbit/s, window within an epoch: {simd} varies more than {aimd}", epoch[simd], epoch[aimd]),
        alike("60 Mbit/s, window within an epoch", {k: epoch[k] for k in (iiad, aiad)}),
        highest("60 Mbit/s, window within an epoch: TCP varies more than", epoch, "TCP"),
    ]
    for queue in ("red-ecn", "red"):
        for mbps, drops in DROPS.items():
            at = of(runs, "smooth", mbps=mbps, queue=queue)
            if queue == "red":
                loss = of_cc(at, "simd")["loss"].to_list()
                checks.append(number(f"{mbps:g} Mbit/s, RED: share dropped", loss, drops))
            short = groups(at, "x_cov", SMOOTH) | {"TCP": of_cc(at, "simd")["tcp_cov"].to_list()}
            where = f"{mbps:g} Mbit/s, {QUEUES[queue]}, throughput over 0.2 s"
            checks.append(highest(f"{where}: TCP varies more than", short, "TCP"))
            smooth = {k: v for k, v in short.items() if k != "TCP"}
            if mbps == max(DROPS):
                checks.append(highest(f"{where}: of the four {simd} varies more than", smooth, simd))
    checks.append(number("60 Mbit/s: mean window", of_cc(fast, "simd")["window"].to_list(), WINDOW))
    # "The smoothness of all four algorithms becomes worse when the network becomes more congested."
    for cc in SMOOTH:
        slow, quick = (
            [fmean(pair) for pair in zip(*(_cov(runs, cc, mbps, q) for q in ("red-ecn", "red")), strict=True)]
            for mbps in (min(DROPS), max(DROPS))
        )
        checks.append(
            above(f"throughput over 0.2 s: {label(cc)} varies more at 15 than at 60 Mbit/s", slow, quick)
        )
    for queue in ("red-ecn", "red"):
        at = of(runs, "smooth", mbps=15.0, queue=queue)
        ratio = groups(at, "ratio", SMOOTH)
        where = f"15 Mbit/s, {QUEUES[queue]}"
        ones = [1.0] * len(ratio[simd])
        checks += [
            ratio_at_least(f"{where}: TCP over {aimd}, which degrades", _inverse(ratio[aimd]), ones, 1.25),
            above(f"{where}: ratio to TCP, {simd} above {aimd}", ratio[simd], ratio[aimd]),
            near(f"{where}: ratio of {simd} to TCP, less 1", ratio[simd], ones, CLOSE),
            # "IIAD and AIAD also gets less than their fair share."
            *(
                above(f"{where}: {x} gets less than TCP, difference of the ratio", ones, ratio[x])
                for x in (iiad, aiad)
            ),
        ]
    return checks


def _cov(runs: pl.DataFrame, cc: str, mbps: float, queue: str) -> list[float]:
    found: list[float] = of(runs, "smooth", mbps=mbps, queue=queue, cc=cc)["x_cov"].to_list()
    return found


def _inverse(values: list[float]) -> list[float]:
    return [1 / v for v in values]


def steps(runs: pl.DataFrame, experiment: str) -> list[Check]:
    """K6 and K7."""
    four = ("tcp", "aimd", "iiad", "simd")
    at = of(runs, experiment)
    settle, cov = groups(at, "settle_s", four), groups(at, "cov", four)
    tcp, aimd, iiad, simd = (label(c) for c in four)
    found = [
        lowest("time to settle: TCP faster than", settle, tcp, unit="s"),
        highest(f"time to settle: {iiad} slower than", settle, iiad, unit="s"),
    ]
    if experiment == "load-halves":
        return [
            *found,
            above(f"time to settle: {simd} faster than {aimd}", settle[aimd], settle[simd], unit="s"),
        ]
    return [
        *found,
        alike("time to settle of AIMD and SIMD", {k: settle[k] for k in (aimd, simd)}),
        highest("variation of the window before: TCP above", cov, tcp),
        lowest(f"variation of the window before: {iiad} below", cov, iiad),
        alike("variation of AIMD and SIMD", {k: cov[k] for k in (aimd, simd)}),
    ]


def impulse(runs: pl.DataFrame) -> list[Check]:
    """K8."""
    at = of(runs, "square")
    grow, shrink = groups(at, "grow_double", FIVE), groups(at, "shrink", FIVE)
    names = {c: label(c) for c in FIVE}
    smooth = {k: v for k, v in grow.items() if k != names["tcp"]}
    return [
        *(number(f"round trips to double: {names[c]}", grow[names[c]], GROW[c], unit="RTT") for c in FIVE),
        *(number(f"losses to halve: {names[c]}", shrink[names[c]], SHRINK[c]) for c in FIVE),
        lowest("round trips to double: TCP below", grow, names["tcp"], unit="RTT"),
        lowest("round trips to double: SIMD below", smooth, names["simd"], unit="RTT"),
        highest("round trips to double: IIAD above", grow, names["iiad"], unit="RTT"),
        lowest("losses to halve: TCP below", shrink, names["tcp"]),
    ]


def analysed(runs: pl.DataFrame, number: int, name: str) -> list[float]:
    """T2 (experiment 1) or T1 (2) by the closed form from the windows of each run, ordered by seed."""
    control, beta = closed.TIMED[name]
    found = []
    for w1, w2, total in of_cc(of(runs, f"chain-{number}"), name)["w1", "w2", "total"].iter_rows():
        if number == 1:
            rounds = convergence_time.fairness_rounds(control, beta, abs(w2 - w1), closed.EPSILON, total)
        else:
            rounds = convergence_time.efficiency_rounds(control, beta, w1, w2, max(total, w1 + w2 + 1))
        found.append(float(np.asarray(rounds)))
    return found


def to_fairness(runs: pl.DataFrame) -> list[Check]:
    """K9."""
    measured = groups(of(runs, "chain-1"), "t2", CHAIN)
    return [
        *_ordered(runs, "chain-1", "t2", TO_FAIR, "round trips to fairness"),
        # "All measured convergence times are smaller than the corresponding theoretical values."
        *(
            above(
                f"round trips to fairness: {label(c)} less than by its closed form",
                analysed(runs, 1, c),
                measured[label(c)],
                unit="RTT",
            )
            for c in CHAIN
        ),
    ]


def to_efficiency(runs: pl.DataFrame) -> list[Check]:
    """K10."""
    at = of(runs, "chain-2")
    gap, measured = groups(at, "gap", CHAIN), groups(at, "t1", CHAIN)
    return [
        *_ordered(runs, "chain-2", "t1", TO_FULL, "round trips to efficiency"),
        # "Analytical results closely match the simulation results." The starts differ from run to run, so the
        # means are compared.
        *(
            number(
                f"round trips to efficiency over the closed form's mean: {label(c)}",
                [t / fmean(analysed(runs, 2, c)) for t in measured[label(c)]],
                1.0,
            )
            for c in CHAIN
        ),
        *(number(f"difference then: {label(c)}", gap[label(c)], GAP[c], unit="packets") for c in CHAIN),
        above(
            f"difference then: {label('simd')} below {label('aimd')}",
            gap[label("aimd")],
            gap[label("simd")],
            unit="packets",
        ),
    ]


def _ordered(
    runs: pl.DataFrame, experiment: str, column: str, printed: Mapping[str, float], what: str
) -> list[Check]:
    found = groups(of(runs, experiment), column, CHAIN)
    order = ("tcp", "simd", "aimd", "iiad")
    return [
        *(number(f"{what}: {label(c)}", found[label(c)], printed[c], unit="RTT") for c in CHAIN),
        *(
            above(f"{what}: {label(b)} above {label(a)}", found[label(b)], found[label(a)], unit="RTT")
            for a, b in zip(order, order[1:], strict=False)
        ),
    ]


def evaluate(runs: pl.DataFrame) -> list[Claim]:
    """The claims that the experiments in ``runs`` allow, K2 to K10; two seeds or more."""
    present = set(runs["experiment"].unique().to_list())
    found: list[Claim] = []
    for key, (experiment, checks) in _OF.items():
        if experiment in present:
            found.append(Claim(key, *TEXT[key], checks(runs)))
    return found


_OF = {
    "K2": ("friendly", friendliness),
    "K3": ("share", lambda runs: compatibility(runs, "simd")),
    "K4": ("share", lambda runs: compatibility(runs, "aiad")),
    "K5": ("smooth", smoothness),
    "K6": ("load-doubles", lambda runs: steps(runs, "load-doubles")),
    "K7": ("load-halves", lambda runs: steps(runs, "load-halves")),
    "K8": ("square", impulse),
    "K9": ("chain-1", to_fairness),
    "K10": ("chain-2", to_efficiency),
}

#: Title and statement of each claim.
TEXT: Mapping[str, tuple[str, str]] = {
    "K2": (
        "TCP-friendliness (figure 7)",
        "one flow over a link that loses packets at random: SIMD gets what standard TCP gets at low loss "
        "rates, "
        "never less than 75 % of it (near 15 % loss, SIMD(1/16) being the worst), and more there than "
        "AIMD(1/5,1/8).",
    ),
    "K3": (
        "TCP-compatibility of SIMD (figures 8 to 10)",
        "n SIMD and n TCP flows share a link: the shares are close at low loss, SIMD's is slightly smaller "
        "at "
        "high loss; under drop-tail it is smaller and varies more.",
    ),
    "K4": (
        "TCP-compatibility of AIAD (figures 11 to 13)",
        "the same for AIAD: compatible over a wide range of loads.",
    ),
    "K5": (
        "Smoothness (figures 14 to 17)",
        "16 flows beside 16 of TCP: about 0.3 % of the packets dropped at 60 Mbit/s, nearly 5 % at 15 "
        "Mbit/s; "
        "IIAD and AIAD vary least, then AIMD, then SIMD, all less than TCP, and all more at 15 Mbit/s. There "
        "the throughput of AIMD degrades significantly, IIAD and AIAD get less than a fair share, and SIMD "
        "comes close to TCP.",
    ),
    "K6": (
        "Responsiveness (figure 18a)",
        "the load doubles at 200 s: TCP answers first and varies most, IIAD last and varies least; AIMD and "
        "SIMD "
        "are alike and between.",
    ),
    "K7": (
        "Aggressiveness (figure 18b)",
        "half of the load goes at 200 s: TCP is the fastest to use the room, IIAD the slowest, SIMD faster "
        "than "
        "AIMD.",
    ),
    "K8": (
        "Impulse response (figure 19, table 5)",
        "constant-rate traffic takes half of 1.5 Mbit/s every other 30 s. Round trips to double the window: "
        "TCP "
        "12.8 to 14.1, AIMD 108.1 to 110.7, IIAD 172.8 to 176.0, SIMD 31.6 to 34.6, AIAD 103.3 to 107.9; "
        "losses "
        "to halve it: 1.54 to 1.63, 3.85 to 5.19, 4.20 to 5.82, 4.21 to 5.47, 3.73 to 4.81. The checks use "
        "the "
        "middles of these intervals.",
    ),
    "K9": (
        "Convergence to fairness (figure 21, table 6)",
        "two flows with windows of 7 and 100 packets need 68 (TCP), 776 (AIMD), 4232 (IIAD) and 218 (SIMD) "
        "round trips until they differ by less than 10, each less than by its closed form.",
    ),
    "K10": (
        "Convergence to efficiency (figure 22, table 6)",
        "two flows with windows of about 10 and 30 packets fill 110 packets after 55 (TCP), 349 (AIMD), 1284 "
        "(IIAD) and 90 (SIMD) round trips, close to the closed forms, and then differ by 5.8, 18.6, 8.1 and "
        "13.6 packets.",
    ),
}
