"""The claims of the TCP-STAR paper, S1 to S7, as checks on measured runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from bentpipe import registry
from bentpipe.papers.tcp_star.measure import BACK
from bentpipe.papers.tcp_star.setup import (
    ALGORITHMS,
    BERS,
    BETWEEN,
    COUNTS,
    NO_AEN,
    OFTEN,
    PAPER,
    RARE,
    SHARERS,
)
from bentpipe.studies.claim import (
    INDEX_TOLERANCE,
    Check,
    above,
    at_least,
    at_most,
    highest,
    lowest,
    near,
    number,
    ratio_at_least,
)
from bentpipe.studies.judge import Groups, by_algorithm, by_claim, column, seed_means, sentences
from bentpipe.studies.words import Words

if TYPE_CHECKING:
    import polars as pl

#: Numbers printed in the paper: end of the others' slow start (section 4.2.1), restart of TCP-STAR (4.2.2).
SLOW_START_S, RESTART_S = 8.0, 13.0
RESTART_WITHIN_S, COINCIDE_S, MUCH, ALMOST_EQUAL_MBPS, A_LITTLE, NO_CONGESTION = PAPER.limits()

#: The names of the protocols in tables and figures; Reno's window with RFC 6582 recovery is NewReno.
LABELS = {cc: registry.style(cc)["label"] for cc in ALGORITHMS} | {"reno": "NewReno"}
STAR, J, BR, RENO = LABELS.values()


def samples(runs: pl.DataFrame, column: str, part: str, ber: float = 0.0, n: int = 1) -> Groups:
    """``column`` of the runs of a part: one list per protocol's label, ordered by seed."""
    names = SHARERS if part in ("mixed", "same") else ALGORITHMS
    return by_algorithm(runs, column, {cc: LABELS[cc] for cc in names}, part=part, ber=ber, n=n)


def over(runs: pl.DataFrame, part: str, ber: float, counts: Iterable[int]) -> Groups:
    """Jain's index, averaged over numbers of flows, seed by seed."""
    each = [samples(runs, "jain", part, ber, n) for n in counts]
    return {name: seed_means(g[name] for g in each) for name in each[0]}


def at(ber: float) -> str:
    """``"BER 1e-8"``."""
    return f"BER {ber:.0e}".replace("e-0", "e-") if ber else "BER 0"


def _s1(runs: pl.DataFrame) -> list[Check]:
    by_ber = {at(ber): samples(runs, "x_mbps", "loss", ber) for ber in BERS[:-1]}
    return [highest(f"throughput at {b}: {STAR} above", x, STAR, unit="Mbit/s") for b, x in by_ber.items()]


def _s2(runs: pl.DataFrame) -> list[Check]:
    often, most = BERS[-2:]
    worst = samples(runs, "x_mbps", "loss", most)
    fewer, waits = (samples(runs, "timeouts", "loss", ber) for ber in (often, most))
    apart = f"throughputs at {at(most)}: largest less smallest"
    top, bottom = ([end(of) for of in zip(*worst.values(), strict=True)] for end in (max, min))
    return [
        # Not a ratio: the figure's axis is linear, and on it curves of 0.04 and 0.2 Mbit/s are one.
        near(apart, top, bottom, ALMOST_EQUAL_MBPS, unit="Mbit/s"),
        highest(f"throughput at {at(most)}: {STAR} above", worst, STAR, unit="Mbit/s"),
        *(above(f"timeouts of {x}: {at(most)} above {at(often)}", waits[x], fewer[x]) for x in worst),
    ]


def _s3(runs: pl.DataFrame) -> list[Check]:
    full = samples(runs, "full_s", "startup")
    return [
        number(f"{RENO} reaches 432 segments after", full[RENO], SLOW_START_S, unit="s"),
        *(
            near(f"{x} reaches them when {RENO} does", full[x], full[RENO], COINCIDE_S, unit="s")
            for x in (J, BR)
        ),
        ratio_at_least(f"that time of {RENO} over that of {STAR}", full[RENO], full[STAR], MUCH),
    ]


def _s4(runs: pl.DataFrame) -> list[Check]:
    before, later, restart, window = (
        samples(runs, c, "outage")[STAR] for c in ("before_mbps", "by_16_mbps", "restart_s", "restart_window")
    )
    recovery, timeouts = (samples(runs, c, "outage") for c in ("recovery_s", "timeouts"))
    late = [column(runs, "x_mbps", part="late", cc=cc) for cc in ("star", NO_AEN)]
    rival = min((x for x in recovery if x != STAR), key=lambda x: sum(recovery[x]))
    return [
        number(f"{STAR}'s new data arrives again at", restart, RESTART_S, unit="s", within=RESTART_WITHIN_S),
        at_least(f"{STAR} restarts with its old window: amount in flight over that before", window, BACK),
        ratio_at_least(f"rate of {STAR} from 15 s to 16 s over that before", later, before, BACK),
        lowest(f"time from 12 s to full rate: {STAR} below", recovery, STAR, unit="s"),
        ratio_at_least(f"that time of {rival} over that of {STAR}", recovery[rival], recovery[STAR], MUCH),
        *(at_least(f"timeouts of {x}, at least one", of, 1) for x, of in timeouts.items() if x != STAR),
        above(f"throughput of {STAR} with late ACKs: with AEN above without", *late, unit="Mbit/s"),
    ]


def _crowded(runs: pl.DataFrame, ber: float, counts: Sequence[int], few: str, many: str) -> list[Check]:
    """Few flows lose nothing at the queue; of many, TCP-STAR is as fair as TCP-J, WestwoodBR is fairer."""
    lost = seed_means(samples(runs, "queue_drops", "mixed", ber, COUNTS[0]).values())
    index = over(runs, "mixed", ber, counts)
    return [
        near(f"packets lost at the queue with {few}", lost, 0.0, NO_CONGESTION),
        near(f"mean J over {many}: {STAR} as {J}", index[STAR], index[J], INDEX_TOLERANCE),
        *(above(f"the same: {BR} above {x}", index[BR], index[x]) for x in (STAR, J)),
        _little(f"the same: {BR} less the mean of {STAR} and {J}", index),
    ]


def _little(what: str, index: Groups) -> Check:
    """TCP-STAR and TCP-J are a little below WestwoodBR: a size and no order, so the check is of a number."""
    both = seed_means((index[STAR], index[J]))
    less = [top - bottom for top, bottom in zip(index[BR], both, strict=True)]
    return replace(at_most(what, less, A_LITTLE, paper="a little"), kind="number")


def _s5(runs: pl.DataFrame) -> list[Check]:
    first, rest = COUNTS[0], COUNTS[1:]
    by_n = {n: samples(runs, "jain", "mixed", RARE, n) for n in COUNTS}
    top = {x: max(rest, key=lambda n: sum(by_n[n][x])) for x in by_n[first]}
    pairs = [(x, first, n) for x, n in top.items()] + [(x, rest[0], rest[-1]) for x in top]
    return [
        *(above(f"J of {x}: N = {few} above N = {n}", by_n[few][x], by_n[n][x]) for x, few, n in pairs),
        *_crowded(runs, RARE, rest, f"N = {first}", f"N = {rest[0]} to {rest[-1]}"),
    ]


def _s6(runs: pl.DataFrame) -> list[Check]:
    first = COUNTS[0]
    order = (RARE, OFTEN), (RARE, BETWEEN), (BETWEEN, OFTEN)
    index = {ber: samples(runs, "jain", "mixed", ber, first) for ber in (RARE, BETWEEN, OFTEN)}
    return [
        *(
            above(f"J of {x} at N = {first}: {at(few)} above {at(many)}", index[few][x], index[many][x])
            for few, many in order
            for x in index[few]
        ),
        *_crowded(runs, OFTEN, COUNTS, f"N = {first}, {at(OFTEN)}", f"all N, {at(OFTEN)}"),
    ]


def _s7(runs: pl.DataFrame) -> list[Check]:
    every, last = over(runs, "same", OFTEN, COUNTS), COUNTS[-1]
    most, beside = (samples(runs, "jain", part, OFTEN, last) for part in ("same", "mixed"))
    near_one = [(f"mean J over all N of {x}", every[x]) for x in every]
    near_one += [(f"J of {x} at N = {last}", most[x]) for x in most]
    return [
        *(near(f"mean J over all N: {STAR} as {x}", every[STAR], every[x], INDEX_TOLERANCE) for x in (J, BR)),
        *(above(f"J of {x} at N = {last}: above that beside {RENO}", most[x], beside[x]) for x in most),
        # The text has no number; figure 11 cannot be read off.
        *(number(what, of, 1.0, within=INDEX_TOLERANCE).unprinted() for what, of in near_one),
    ]


CLAIMS = sentences(Words.beside(__file__)["Claims"], by_claim(vars()), PAPER.claims)
