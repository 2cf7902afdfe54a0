"""The claims of the spectrum paper that runs judge, K2 to K10, as checks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from bentpipe.analysis import convergence_time
from bentpipe.papers.spectrum import closed_forms
from bentpipe.papers.spectrum.closed_forms import TABLE_5, TABLE_6
from bentpipe.papers.spectrum.measure import EPSILON
from bentpipe.papers.spectrum.scenarios import CHAIN, FIVE, FRIENDLY, LABELS, QUEUES, SMOOTH
from bentpipe.studies.claim import (
    Check,
    Tolerance,
    above,
    alike,
    at_most,
    highest,
    interval,
    lowest,
    near,
    number,
    ratio_at_least,
)
from bentpipe.studies.design import where
from bentpipe.studies.judge import Groups, by_algorithm, column

if TYPE_CHECKING:
    import polars as pl

    from bentpipe.studies.study import Key

#: Table 5, simulation: the middles of the printed intervals.
GROW, SHRINK = (
    {cc: round((low + high) / 2, 4) for cc, (low, high) in TABLE_5[of].items()} for of in ("grow", "shrink")
)
#: Figure 7: the least share of TCP's throughput.
LEAST_FRIENDLY = 0.75
#: "Most parts of the Internet are experiencing less than 5 % loss"; "the loss rate exceeds a certain level",
#: "a reasonable loss regime (loss rate below 10 %)".
LOW_LOSS, HIGH_LOSS = 0.05, 0.10
CLOSE = Tolerance(
    0.15,
    "K2 to K5: a share is close to TCP's if the ratio is this close to 1",
    "less than the quarter by which the least friendly case of the paper differs",
)
VERY_HIGH = Tolerance(
    0.25,
    'K2: "very high" loss rates are those from here on',
    "beyond the dip of figure 7, which the text calls moderate",
)
MUCH = Tolerance(
    2.0,
    'K2, K8 and K9: "much" closer, more aggressive, or more means by at least this factor',
    "a factor that no one calls slight",
)
DEGRADED = Tolerance(
    1.25,
    'K5: the share of AIMD "degrades significantly" if TCP gets at least this many times more',
    "what no longer counts as alike",
)
NEAR_START = Tolerance(
    0.2,
    "K9 and K10: a run begins as the paper's did if its windows at the change are within this share of those",
    "the 20 % of the rule",
)
#: Section 6.1.2: the measured round trip, s.
ROUND_TRIP_S = 0.1
#: Section 6.3: W, and W1 and W2 of experiments 1 and 2, packets.
CAPACITY, STARTS = 110.0, {1: (7.0, 100.0), 2: (10.0, 30.0)}
#: The key of the check whether SIMD is much closer to TCP than AIMD.
CLOSER = "much closer"
#: The smaller link of figures 8 to 13, under which the choices are tried.
SMALL_MBPS = 15.0
#: Section 6.2.1: the share of packets dropped by link rate, and the mean window at 60 Mbit/s.
DROPS = {60.0: 0.003, 15.0: 0.05}
WINDOW = 23.0


def samples(runs: pl.DataFrame, name: str, experiment: str, controls: Iterable[str], **keys: Key) -> Groups:
    """A column of an experiment's runs: one list per control's label, ordered by seed."""
    return by_algorithm(runs, name, {cc: LABELS[cc] for cc in controls}, experiment=experiment, **keys)


def relative(runs: pl.DataFrame, name: str, p: float) -> list[float]:
    """Throughput of a control over TCP's at the loss rate ``p`` of figure 7, seed by seed."""
    top, bottom = (column(runs, "window", experiment="friendly", cc=cc, p=p) for cc in (name, "tcp"))
    return [a / b for a, b in zip(top, bottom, strict=True)]


def present(runs: pl.DataFrame, key: str, **keys: Key) -> list[float]:
    """The values of a key that some runs have, from small to large."""
    found: list[float] = sorted(where(**keys).rows(runs)[key].unique().to_list())
    return found


def share(
    runs: pl.DataFrame, cc: str, queue: str, n: float, name: str, mbps: float = SMALL_MBPS
) -> list[float]:
    """A column of the runs of figures 8 to 13 with ``n`` flows of each kind."""
    return column(runs, name, experiment="share", cc=cc, queue=queue, n=n, mbps=mbps)


def from_there(runs: pl.DataFrame, number: int, name: str) -> pl.DataFrame:
    """The runs of section 6.3 whose windows at the change are within `NEAR_START` of those of table 6."""
    import polars as pl

    of = where(experiment=f"chain-{number}", cc=name).rows(runs).sort("seed")
    printed = (TABLE_6["start_fair"], TABLE_6["start_full"])[number - 1][name]
    near_it = [
        (pl.col(column) / window - 1).abs() <= NEAR_START
        for column, window in zip(("w1_at", "w2_at"), printed, strict=True)
    ]
    return of.filter(*near_it)


def percentile(values: Sequence[float], printed: float) -> float:
    """The share of our runs below a printed single run; half of those that equal it."""
    return float(np.mean([(v < printed) + (v == printed) / 2 for v in values]))


def analysed(runs: pl.DataFrame, number: int, name: str) -> list[float]:
    """T2 (experiment 1) or T1 (2) by the closed form from the windows of each run, ordered by seed."""
    control, beta = closed_forms.TIMED[name]
    found = []
    starts = (column(runs, c, experiment=f"chain-{number}", cc=name) for c in ("w1", "w2", "total"))
    for w1, w2, total in zip(*starts, strict=True):
        if number == 1:
            rounds = convergence_time.fairness_rounds(control, beta, abs(w2 - w1), EPSILON, total)
        else:
            rounds = convergence_time.efficiency_rounds(control, beta, w1, w2, max(total, w1 + w2 + 1))
        found.append(float(np.asarray(rounds)))
    return found


def k2(runs: pl.DataFrame) -> list[Check]:
    """K2: figure 7."""
    rates = present(runs, "p", experiment="friendly")
    ratio = {p: relative(runs, "simd", p) for p in rates}
    simd = LABELS["simd"]
    worst = min(rates, key=lambda p: fmean(ratio[p]))
    at = min(rates, key=lambda p: abs(p - closed_forms.WORST_LOSS))

    def worst_without(seed: int) -> float:
        # The paper's curve is one long run; the least of a single short one is mostly noise at high loss.
        return min(rates, key=lambda p: fmean(v for i, v in enumerate(ratio[p]) if i != seed))

    lowest_at = [worst_without(i) for i in range(len(ratio[worst]))]
    least = f"{simd} over TCP where it is least (p = {worst:g})"
    same = {LABELS[c]: relative(runs, c, at) for c in ("simd", "simd-8", "simd-4")}
    return [
        ratio_at_least(least, ratio[worst], 1.0, LEAST_FRIENDLY),
        number(
            "p where it is least, by all seeds but one",
            lowest_at,
            closed_forms.WORST_LOSS,
            within=closed_forms.DIP_WITHIN,
        ),
        *(_close(f"{simd} over TCP at p = {p:g}", ratio[p]) for p in rates if p <= LOW_LOSS),
        above(f"at p = {at:g}: {simd} above {LABELS['aimd-8']}", ratio[at], relative(runs, "aimd-8", at)),
        _much_closer(runs, at),
        lowest(f"at p = {at:g}: {simd} the least friendly SIMD, below", same, simd),
        *_dips(runs, rates),
    ]


def _much_closer(runs: pl.DataFrame, p: float) -> Check:
    """SIMD "performs much closer to standard TCP than AIMD(1/5,1/8)" where it is worst."""
    simd, aimd = ([abs(1 - v) for v in relative(runs, cc, p)] for cc in ("simd", "aimd-8"))
    what = f"at p = {p:g}: distance of {LABELS['aimd-8']} from TCP over that of {LABELS['simd']}"
    # By the mean of SIMD's distance: in one run it may be near 0.
    return ratio_at_least(what, aimd, fmean(simd), MUCH).known_as(CLOSER)


def _dips(runs: pl.DataFrame, rates: Sequence[float]) -> list[Check]:
    """Section 6.1.1: "all of the curves have a dip", and at very high loss they are comparable to TCP."""
    checks: list[Check] = []
    for cc in FRIENDLY[1:]:
        ratio = {p: relative(runs, cc, p) for p in rates}
        worst = min(rates, key=lambda p: fmean(ratio[p]))
        checks += [
            above(f"{LABELS[cc]}: above its least (p = {worst:g}) at p = {end:g}", ratio[end], ratio[worst])
            for end in (rates[0], rates[-1])
        ]
        checks += [_close(f"{LABELS[cc]} over TCP at p = {p:g}", ratio[p]) for p in rates if p >= VERY_HIGH]
    return checks


def _close(what: str, ratio: list[float]) -> Check:
    return near(f"{what}, less 1", ratio, 1.0, CLOSE)


def _less(what: str, ratio: list[float]) -> Check:
    return above(f"{what} gets less than TCP, difference of the ratio", 1.0, ratio)


def _means(groups: Iterable[list[float]]) -> list[float]:
    return [fmean(of) for of in zip(*groups, strict=True)]


def shares(runs: pl.DataFrame, cc: str) -> list[Check]:
    """K3 and K4: both halves of figures 8 to 13."""
    links = present(runs, "mbps", experiment="share", cc=cc)
    return [check for mbps in links for check in _shares_of(runs, cc, mbps)]


def _shares_of(runs: pl.DataFrame, cc: str, mbps: float) -> list[Check]:
    """Shares over a link by loss rate, and the effect of drop-tail.

    That the share is below TCP's at high loss is said of SIMD only.
    """
    name, every = LABELS[cc], present(runs, "n", experiment="share", cc=cc, mbps=mbps)
    checks: list[Check] = []

    def over(queue: str, column: str, counts: Iterable[float]) -> list[float]:
        return _means(share(runs, cc, queue, n, column, mbps) for n in counts)

    def keyed(check: Check, of: str) -> Check:
        key = f"{mbps:g} Mbit/s, {of}"
        return replace(check, what=f"{mbps:g} Mbit/s, {check.what}").known_as(key)

    for queue in ("red-ecn", "red"):
        loss = {n: fmean(share(runs, cc, queue, n, "loss", mbps)) for n in every}
        low, high = [n for n in every if loss[n] <= LOW_LOSS], [n for n in every if loss[n] > HIGH_LOSS]
        if low:
            what = f"{QUEUES[queue]}, loss up to {LOW_LOSS:.0%} (n = {_list(low)}): {name} over TCP"
            checks.append(keyed(_close(what, over(queue, "ratio", low)), f"{queue}, low loss"))
        if high:
            ratio = over(queue, "ratio", high)
            what = f"{QUEUES[queue]}, loss above {HIGH_LOSS:.0%} (n = {_list(high)})"
            slightly = ratio_at_least(f"{what}: {name} over TCP", ratio, 1.0, LEAST_FRIENDLY)
            less = keyed(_less(f"{what}: {name}", ratio), f"{queue}, high loss, less")
            slightly = keyed(slightly, f"{queue}, high loss, slightly")
            checks += [less if cc == "simd" else less.unprinted(), slightly]
    several = [n for n in every if n > 1]
    ratios, spreads = (
        {queue: over(queue, column, counts) for queue in ("drop-tail", "red")}
        for column, counts in (("ratio", every), ("x_spread", several))
    )
    smaller = f"{name}: smaller share under drop-tail than under RED, mean over n"
    differ = f"{name}: flows differ more under drop-tail than under RED, mean over n > 1"
    trips = [
        fmean(of) for of in zip(*(over(queue, "rtt_s", every) for queue in ("red-ecn", "red")), strict=True)
    ]
    return [
        *checks,
        keyed(number("mean round trip over RED", trips, ROUND_TRIP_S, unit="s"), "round trip"),
        keyed(above(smaller, ratios["red"], ratios["drop-tail"]), "drop-tail, less"),
        keyed(above(differ, spreads["drop-tail"], spreads["red"]), "drop-tail, spread"),
    ]


def _list(numbers: Iterable[float]) -> str:
    return ", ".join(f"{n:g}" for n in numbers)


def k5(runs: pl.DataFrame) -> list[Check]:
    """K5: figures 14 to 17."""
    aimd, iiad, simd, aiad = (LABELS[c] for c in SMOOTH)

    def beside(x: str, tcp: str, mbps: float, queue: str) -> Groups:
        of_tcp = samples(runs, tcp, "smooth", ["simd"], mbps=mbps, queue=queue)[simd]
        return samples(runs, x, "smooth", SMOOTH, mbps=mbps, queue=queue) | {"TCP": of_tcp}

    epoch = beside("x_epoch", "tcp_epoch", 60.0, "red-ecn")
    at = "60 Mbit/s, window within an epoch"
    checks = [
        above(f"{at}: {aimd} varies more than {iiad}", epoch[aimd], epoch[iiad]),
        above(f"{at}: {simd} varies more than {aimd}", epoch[simd], epoch[aimd]),
        alike(at, {k: epoch[k] for k in (iiad, aiad)}),
        highest(f"{at}: TCP varies more than", epoch, "TCP"),
    ]
    cov: dict[tuple[str, float], Groups] = {}
    for queue in ("red-ecn", "red"):
        for mbps, drops in DROPS.items():
            if queue == "red":
                loss = samples(runs, "loss", "smooth", ["simd"], mbps=mbps, queue=queue)[simd]
                checks.append(number(f"{mbps:g} Mbit/s, RED: share dropped", loss, drops))
            cov[queue, mbps] = short = beside("x_cov", "tcp_cov", mbps, queue)
            at = f"{mbps:g} Mbit/s, {QUEUES[queue]}, throughput over 0.2 s"
            checks.append(highest(f"{at}: TCP varies more than", short, "TCP"))
            smooth = {k: v for k, v in short.items() if k != "TCP"}
            if mbps == max(DROPS):
                checks.append(highest(f"{at}: of the four {simd} varies more than", smooth, simd))
    window = samples(runs, "window", "smooth", ["simd"], mbps=60.0, queue="red-ecn")[simd]
    checks.append(number("60 Mbit/s: mean window", window, WINDOW))
    # "The smoothness of all four algorithms becomes worse when the network becomes more congested."
    for x in (aimd, iiad, simd, aiad):
        slow, quick = (_means(cov[q, mbps][x] for q in ("red-ecn", "red")) for mbps in (15.0, 60.0))
        checks.append(above(f"throughput over 0.2 s: {x} varies more at 15 than at 60 Mbit/s", slow, quick))
    for queue in ("red-ecn", "red"):
        ratio = samples(runs, "ratio", "smooth", SMOOTH, mbps=15.0, queue=queue)
        at = f"15 Mbit/s, {QUEUES[queue]}"
        inverse = [1 / v for v in ratio[aimd]]
        checks += [
            ratio_at_least(f"{at}: TCP over {aimd}, which degrades", inverse, 1.0, DEGRADED),
            above(f"{at}: ratio to TCP, {simd} above {aimd}", ratio[simd], ratio[aimd]),
            _close(f"{at}: ratio of {simd} to TCP", ratio[simd]),
            # "IIAD and AIAD also gets less than their fair share."
            *(_less(f"{at}: {x}", ratio[x]) for x in (iiad, aiad)),
        ]
    return checks


def _steps(runs: pl.DataFrame, experiment: str) -> list[Check]:
    """The start of K6 and K7."""
    settle = samples(runs, "settle_s", experiment, CHAIN)
    return [
        lowest("time to settle: TCP faster than", settle, "TCP", unit="s"),
        highest(f"time to settle: {LABELS['iiad']} slower than", settle, LABELS["iiad"], unit="s"),
    ]


def k6(runs: pl.DataFrame) -> list[Check]:
    """K6: figure 18a."""
    settle, cov = (samples(runs, name, "load-doubles", CHAIN) for name in ("settle_s", "cov"))
    tcp, aimd, iiad, simd = cov
    # "AIMD and SIMD achieve similar smoothness and responsiveness."
    return [
        *_steps(runs, "load-doubles"),
        highest("variation of the window before: TCP above", cov, tcp),
        lowest(f"variation of the window before: {iiad} below", cov, iiad),
        alike("time to settle of AIMD and SIMD", {k: settle[k] for k in (aimd, simd)}),
        alike("variation of AIMD and SIMD", {k: cov[k] for k in (aimd, simd)}).contradicted(
            closed_forms.TABLE_3
        ),
    ]


def k7(runs: pl.DataFrame) -> list[Check]:
    """K7: figure 18b."""
    settle = samples(runs, "settle_s", "load-halves", CHAIN)
    _, aimd, _, simd = settle
    faster = above(f"time to settle: {simd} faster than {aimd}", settle[aimd], settle[simd], unit="s")
    return [*_steps(runs, "load-halves"), faster]


def _overlaps(what: str, samples: Sequence[float], printed: tuple[float, float], unit: str = "") -> Check:
    """Our 95 % interval and the printed one have a value in common."""
    got, (low, high) = interval(samples), printed
    rule, paper = "the 95 % intervals overlap", f"{low:g} to {high:g}"
    return Check(what, "number", paper, got, unit, got.low <= high and got.high >= low, rule)


def k8(runs: pl.DataFrame) -> list[Check]:
    """K8: figure 19 and table 5."""
    grow, shrink = (samples(runs, name, "square", FIVE) for name in ("grow_double", "shrink"))
    smooth = {k: v for k, v in grow.items() if k != "TCP"}
    double, halve = "round trips to double", "losses to halve"
    return [
        *(_overlaps(f"{double}: {LABELS[c]}", grow[LABELS[c]], TABLE_5["grow"][c], "RTT") for c in FIVE),
        *(_overlaps(f"{halve}: {LABELS[c]}", shrink[LABELS[c]], TABLE_5["shrink"][c]) for c in FIVE),
        lowest(f"{double}: TCP below", grow, "TCP", unit="RTT"),
        lowest(f"{double}: SIMD below", smooth, LABELS["simd"], unit="RTT"),
        _much_more_aggressive(double, smooth),
        highest(f"{double}: IIAD above", grow, LABELS["iiad"], unit="RTT"),
        lowest(f"{halve}: TCP below", shrink, "TCP"),
        *_figure_19(runs),
    ]


def _much_more_aggressive(what: str, smooth: Groups) -> Check:
    """Section 6.2.4: SIMD is much more aggressive than AIMD, IIAD, and AIAD."""
    simd = LABELS["simd"]
    rival = min((x for x in smooth if x != simd), key=lambda x: fmean(smooth[x]))
    return ratio_at_least(f"{what}: {rival} over SIMD", smooth[rival], smooth[simd], MUCH)


def _figure_19(runs: pl.DataFrame) -> list[Check]:
    """The variation of the window where no other traffic is: section 6.2.4 on figure 19."""
    cov, what = samples(runs, "cov_off", "square", FIVE), "variation of the window without other traffic"
    iiad, aiad = LABELS["iiad"], LABELS["aiad"]
    # "After reaching steady state, AIAD is as smooth as IIAD."
    others = {name: of for name, of in cov.items() if name != aiad}
    return [
        highest(f"{what}: TCP above", cov, "TCP"),
        lowest(f"{what}: {iiad} below", others, iiad),
        alike(what, {name: cov[name] for name in (iiad, aiad)}),
    ]


def _one_run(
    runs: pl.DataFrame, experiment: int, cc: str, of: str, printed: float, what: str, unit: str
) -> Check:
    """A printed single run against ours that begin as it did; against all if fewer than two do."""
    every = column(runs, of, experiment=f"chain-{experiment}", cc=cc)
    started: list[float] = from_there(runs, experiment, cc)[of].to_list()
    values = started if len(started) > 1 else every
    remark = (
        f"{len(started)} of {len(every)} runs begin within {NEAR_START:.0%} of the paper's windows"
        f"{'' if values is started else ', so all are taken'}; {percentile(values, printed):.0%} of them "
        "lie below the paper's single run"
    )
    return replace(number(f"{what}: {LABELS[cc]}", values, printed, unit=unit), remark=remark)


def _ordered(
    runs: pl.DataFrame, experiment: int, of: str, printed: Mapping[str, float], what: str
) -> list[Check]:
    """The printed numbers of K9 and K10, and their order over the same runs."""
    rising = (("simd", "tcp"), ("aimd", "simd"), ("iiad", "aimd"))
    return [
        *(_one_run(runs, experiment, c, of, printed[c], what, "RTT") for c in CHAIN),
        *(
            above(
                f"{what}: {LABELS[b]} above {LABELS[a]}",
                *_started_alike(runs, experiment, of, b, a),
                unit="RTT",
            )
            for b, a in rising
        ),
    ]


def _started_alike(runs: pl.DataFrame, experiment: int, of: str, *controls: str) -> list[list[float]]:
    """A column under two controls, by the seeds whose runs both begin as the paper's; all if they are few."""
    rows = [from_there(runs, experiment, cc).select("seed", of) for cc in controls]
    both = set(rows[0]["seed"]) & set(rows[1]["seed"])
    if len(both) < 2:
        return [column(runs, of, experiment=f"chain-{experiment}", cc=cc) for cc in controls]
    return [[row[1] for row in each.sort("seed").iter_rows() if row[0] in both] for each in rows]


def k9(runs: pl.DataFrame) -> list[Check]:
    """K9: figure 21 and table 6."""
    measured, what = samples(runs, "t2", "chain-1", CHAIN), "round trips to fairness"
    form = {c: f"{what}: {LABELS[c]} less than by its closed form" for c in CHAIN}
    # "SIMD benefits from RED much more than other schemes": its 218 are a quarter of the closed form's 852,
    # the others' two thirds or more. The starts differ from run to run, so the form is taken in the mean.
    gain = {LABELS[c]: [t / fmean(analysed(runs, 1, c)) for t in measured[LABELS[c]]] for c in CHAIN}
    simd, over = LABELS["simd"], f"{what} over the closed form's mean"
    rival = min((x for x in gain if x != simd), key=lambda x: fmean(gain[x]))
    share = [t / fmean(gain[rival]) for t in gain[simd]]
    return [
        *_starts(runs, 1),
        *_ordered(runs, 1, "t2", TABLE_6["to_fair"], what),
        # "All measured convergence times are smaller than the corresponding theoretical values."
        *(above(form[c], analysed(runs, 1, c), measured[LABELS[c]], unit="RTT") for c in CHAIN),
        lowest(f"{over}: {simd} below", gain, simd),
        at_most(f"{over}: {simd} over {rival}", share, 1 / MUCH, paper="much less"),
    ]


def _starts(runs: pl.DataFrame, experiment: int) -> list[Check]:
    """Section 6.3: W, and the windows before the change, which its text computes for all controls alike."""
    printed = {"total": CAPACITY, "w1": STARTS[experiment][0], "w2": STARTS[experiment][1]}
    names = {"total": "W", "w1": "W1 before the change", "w2": "W2 before the change"}
    every = {name: samples(runs, name, f"chain-{experiment}", CHAIN) for name in printed}
    return [
        number(
            f"{names[name]}, mean of {len(of)} controls", _means(of.values()), printed[name], unit="packets"
        )
        for name, of in every.items()
    ]


def k10(runs: pl.DataFrame) -> list[Check]:
    """K10: figure 22 and table 6."""
    measured, gap = (samples(runs, name, "chain-2", CHAIN) for name in ("t1", "gap"))
    _, aimd, _, simd = gap
    # "Analytical results closely match the simulation results." The starts differ from run to run, so the
    # means are compared.
    form = {c: fmean(analysed(runs, 2, c)) for c in CHAIN}
    what, then = "round trips to efficiency", "difference then"
    over = f"{what} over the closed form's mean"
    tcp, *smooth = (
        number(f"{over}: {LABELS[c]}", [t / form[c] for t in measured[LABELS[c]]], 1.0) for c in CHAIN
    )
    return [
        *_starts(runs, 2),
        *_ordered(runs, 2, "t1", TABLE_6["to_full"], what),
        tcp.contradicted("its 55 is 1.26 times its 43.7, and more than 20 % is not close"),
        *smooth,
        *(_one_run(runs, 2, c, "gap", TABLE_6["gap"][c], then, "packets") for c in CHAIN),
        above(f"{then}: {simd} below {aimd}", gap[aimd], gap[simd], unit="packets"),
    ]
