"""The claims of the TCP-STAR paper, S1 to S8, with their checks and reasons."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import TYPE_CHECKING, Any

from bentpipe import registry
from bentpipe.papers.tcp_star import setup
from bentpipe.papers.tcp_star.setup import (
    ALGORITHMS,
    BACK,
    BERS,
    BETWEEN,
    COUNTS,
    NO_AEN,
    OFTEN,
    RARE,
    SHARERS,
)
from bentpipe.studies.claim import (
    INDEX_TOLERANCE,
    Cause,
    Check,
    Tolerance,
    above,
    at_least,
    at_most,
    highest,
    lowest,
    near,
    number,
    ratio_at_least,
)
from bentpipe.studies.design import where
from bentpipe.studies.judge import (
    Findings,
    Groups,
    Reason,
    Sentence,
    by_algorithm,
    column,
    seed_means,
)
from bentpipe.studies.text import Block
from bentpipe.studies.words import Words

if TYPE_CHECKING:
    import polars as pl

WORDS = Words.beside(__file__)

#: Numbers printed in the paper: end of the others' slow start (section 4.2.1), restart of TCP-STAR (4.2.2).
SLOW_START_S, RESTART_S = 8.0, 13.0
RESTART_WITHIN_S = Tolerance(
    0.5,
    "S4: the restart lies within this of the printed 13 s",
    "a round trip; the paper prints whole seconds",
)
COINCIDE_S = Tolerance(
    0.1,
    "S3: curves coincide if their times differ by at most this, s",
    "a fifth of a round trip, within which the flows start",
)
AT_ONCE_S = Tolerance(
    1.0,
    'S3: a window that grows "immediately" is at 432 segments after this, s',
    "two round trips: none comes without ACKs, and the first ACKs are two",
)
MUCH = Tolerance(
    2.0,
    'S3 and S4: "quickly" and "it takes long" mean by at least this factor',
    "a factor that no one calls slight",
)
ALMOST_EQUAL_MBPS = Tolerance(
    0.5,
    'S2: throughputs are "almost equal" if they differ by at most this, Mbit/s',
    "5 % of the axis of the figure, which ends at the link's 10 Mbit/s",
)
A_LITTLE = Tolerance(
    0.1,
    'S5 and S6: an index is "a little" lower by at most this',
    "twice what still counts as alike",
)
NO_CONGESTION = Tolerance(
    0.5,
    "S5 and S6: packets lost at the queue in a run without congestion, at most",
    "less than one packet",
)

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


def _check_s1(runs: pl.DataFrame) -> list[Check]:
    by_ber = {at(ber): samples(runs, "x_mbps", "loss", ber) for ber in BERS[:-1]}
    return [highest(f"throughput at {b}: {STAR} above", x, STAR, unit="Mbit/s") for b, x in by_ber.items()]


def _check_s2(runs: pl.DataFrame) -> list[Check]:
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


def _check_s3(runs: pl.DataFrame) -> list[Check]:
    full = samples(runs, "full_s", "startup")
    return [
        number(f"{RENO} reaches 432 segments after", full[RENO], SLOW_START_S, unit="s"),
        *(
            near(f"{x} reaches them when {RENO} does", full[x], full[RENO], COINCIDE_S, unit="s")
            for x in (J, BR)
        ),
        ratio_at_least(f"that time of {RENO} over that of {STAR}", full[RENO], full[STAR], MUCH),
        # The text has "immediately" of the increase, and no time for TCP-STAR.
        at_most(f"that time of {STAR}, s", full[STAR], AT_ONCE_S, paper="immediately").unprinted(),
    ]


def _check_s4(runs: pl.DataFrame) -> list[Check]:
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
        # "It is because TCP-STAR restarts by using AEN": an answered probe is no timeout.
        at_most(f"timeouts of {STAR} that AEN does not spare", timeouts[STAR], 0),
        above(f"throughput of {STAR} with late ACKs: with AEN above without", *late, unit="Mbit/s"),
    ]


def _check_s8(runs: pl.DataFrame) -> list[Check]:
    """Equation 1, drawback (c) of standard TCP."""
    ratio = samples(runs, "rto_rtt", "outage")[RENO]
    return [number(f"RTO of {RENO} over its RTT after 10 s", ratio, 1.0)]


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


def _check_s5(runs: pl.DataFrame) -> list[Check]:
    first, rest = COUNTS[0], COUNTS[1:]
    by_n = {n: samples(runs, "jain", "mixed", RARE, n) for n in COUNTS}
    top = {x: max(rest, key=lambda n: sum(by_n[n][x])) for x in by_n[first]}
    pairs = [(x, first, n) for x, n in top.items()] + [(x, rest[0], rest[-1]) for x in top]
    return [
        *(above(f"J of {x}: N = {few} above N = {n}", by_n[few][x], by_n[n][x]) for x, few, n in pairs),
        *_crowded(runs, RARE, rest, f"N = {first}", f"N = {rest[0]} to {rest[-1]}"),
    ]


def _check_s6(runs: pl.DataFrame) -> list[Check]:
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


def _check_s7(runs: pl.DataFrame) -> list[Check]:
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


#: Place of the check that TCP-STAR and TCP-J overlap among those of S5 and S6; that on WestwoodBR follows.
OVERLAP = -4


def _means(found: Findings, name: str, part: str, ber: float = 0.0, n: int = 1) -> dict[str, float]:
    return {x: fmean(v) for x, v in samples(found.base, name, part, ber, n).items()}


def _aen(found: Findings, claim: str, check: int) -> list[float] | None:
    """The value of a check with and without AEN, over the same seeds; None if not both were run."""
    with_it, without = (found.means(name, claim, check) for name in ("base", "no-aen"))
    return with_it + without if with_it and without else None


def _why_s1(found: Findings) -> Reason:
    mbps = {at(b): _means(found, "x_mbps", "loss", b) for b in BERS[:-1]}
    variants = {n: found.sensitivity.claim(n, "S1") for n in ("newreno", "reno", "queue-64")}
    margins = {}
    for name, claim in variants.items():
        if claim is not None:
            got = zip(BERS, claim.checks, strict=False)
            margins[found.sensitivity.choices[name]] = {at(b): check.measured.centre for b, check in got}
    return WORDS.reason(
        "S1",
        throughput=mbps,
        margins=margins,
        short_queue=variants["queue-64"] is not None,
    )


def _why_s2(found: Findings) -> Reason:
    mbps, timeouts = (_means(found, c, "loss", BERS[-1]) for c in ("x_mbps", "timeouts"))
    others = max(v for x, v in mbps.items() if x != STAR)
    return WORDS.reason(
        "S2",
        mbps=mbps,
        others=others,
        timeouts=timeouts,
        times=mbps[STAR] / others,
        least=max(mbps.values()) - min(mbps.values()),
        almost=ALMOST_EQUAL_MBPS,
        aen=_aen(found, "S2", 0),
        tried=found.under("S2", "newreno bw-reset slow-start", 0),
    )


def _why_s3(found: Findings) -> Reason:
    not_delayed = found.sensitivity.mean("no-delayed-ack", "S3", 0)
    return WORDS.reason("S3", full=_means(found, "full_s", "startup"), not_delayed=not_delayed)


def _why_s4(found: Findings) -> Reason:
    timeouts = _means(found, "timeouts", "outage")[STAR]
    none, long, long_none = (
        fmean(column(found.runs, "restart_s", variant=setup.rto_name(rto, aen=aen)))
        for rto, aen in ((1.0, False), (2.0, True), (2.0, False))
    )
    slow, slow_none = (
        fmean(column(found.runs, "recovery_s", variant=setup.rto_name(2.0, aen=aen, slow=True)))
        for aen in (True, False)
    )
    short, detail = WORDS.reason(
        "S4",
        back=_means(found, "recovery_s", "outage"),
        timeouts=timeouts,
        without=none,
        long=long,
        long_none=long_none,
        slow=slow,
        slow_none=slow_none,
    )
    return short if timeouts > 0 else "", detail


def _crowd(found: Findings, ber: float, counts: Sequence[int]) -> dict[str, Any]:
    """What the reasons of S5 and S6 quote: Jain's index beside NewReno, averaged over numbers of flows.

    ``gap``: by how much TCP-STAR is below TCP-J; ``below``: by how much the mean of both is below WestwoodBR.
    """
    index = {x: fmean(v) for x, v in over(found.base, "mixed", ber, counts).items()}
    gap, below = index[J] - index[STAR], index[BR] - (index[STAR] + index[J]) / 2
    limits = {"tolerance": INDEX_TOLERANCE, "a_little": A_LITTLE}
    return {"crowd": index, "gap": gap, "below": below, **limits}


def _apart(found: Findings, crowd: Mapping[str, Any], key: str, ber: float, detail: list[Block]) -> Reason:
    """The note on the three curves, and the detail with the causes of the difference of two of them."""
    clauses = []
    if crowd["gap"] > INDEX_TOLERANCE:
        clauses.append(f"{STAR} lies {crowd['gap']:.3f} below {J}")
        drops = _means(found, "queue_drops", "mixed", ber, COUNTS[-1])
        aen = _aen(found, key, OVERLAP)
        detail += WORDS.paragraphs("TCP-STAR and TCP-J apart", n=COUNTS[-1], drops=drops, aen=aen)
    if crowd["below"] > A_LITTLE:
        clauses.append(f"{STAR} and {J} lie {crowd['below']:.2f} below {BR}, more than a little")
    return "; ".join(clauses), detail


def _with_lda(found: Findings, ber: float, counts: Sequence[int]) -> list[float] | None:
    """TCP-STAR's index beside NewReno, mean over numbers of flows: without LDA, with it, by the RTT alone.

    Over the same seeds; None if it was not run.
    """
    runs = [where(variant=name, part="mixed").rows(found.runs) for name in ("lda", "lda-rtt")]
    if any(of.is_empty() for of in runs):
        return None
    same = found.base.filter(found.base["seed"].is_in(runs[0]["seed"].unique().to_list()))
    return [
        fmean(fmean(column(of, "jain", part="mixed", cc="star", ber=ber, n=n)) for n in counts)
        for of in (same, *runs)
    ]


def _why_s5(found: Findings) -> Reason:
    crowd, middle = _crowd(found, RARE, COUNTS[1:]), COUNTS[len(COUNTS) // 2]
    other = found.sensitivity.claim("queue-64", "S5")
    detail = WORDS.paragraphs(
        "S5",
        **crowd,
        first=COUNTS[1],
        last=COUNTS[-1],
        middle=middle,
        own=_means(found, "x_mbps", "mixed", RARE, middle),
        newreno=_means(found, "reno_mbps", "mixed", RARE, middle),
        tally=None if other is None else other.tally(),
        lda=_with_lda(found, RARE, COUNTS[1:]),
        not_delayed=found.sensitivity.mean("no-delayed-ack", "S5", 10),
    )
    return _apart(found, crowd, "S5", RARE, detail)


def _why_s6(found: Findings) -> Reason:
    crowd, first = _crowd(found, OFTEN, COUNTS), COUNTS[0]
    rare, often = (_means(found, "jain", "mixed", ber, first) for ber in (RARE, OFTEN))
    lda = _with_lda(found, OFTEN, COUNTS)
    detail = WORDS.paragraphs("S6", **crowd, first=first, rare=rare, often=often, lda=lda)
    return _apart(found, crowd, "S6", OFTEN, detail)


def _why_s7(found: Findings) -> Reason:
    most = COUNTS[-1]
    j, drops, resent = (_means(found, c, "same", OFTEN, most) for c in ("jain", "queue_drops", "resent"))
    low = min(j, key=lambda name: j[name])
    short, detail = WORDS.reason(
        "S7",
        low=low,
        j_low=j[low],
        n=most,
        j=j,
        beside=_means(found, "jain", "mixed", OFTEN, most),
        drops=drops,
        again={x: 100 * v for x, v in resent.items()},
        unfair=BR if j[BR] < min(j[STAR], j[J]) else None,
    )
    return short if j[low] < 1 - INDEX_TOLERANCE else "", detail


def _why_s8(found: Findings) -> Reason:
    ratio = fmean(samples(found.base, "rto_rtt", "outage")[RENO])
    tried = found.under("S8", "min-rto-200ms tick-500ms min-rto-2s", 0)
    return WORDS.reason("S8", ratio=ratio, tried=tried)


CLAIMS = [
    Sentence("S1", "Throughput under bit errors (figure 6)",
        "one flow: TCP-STAR has the highest throughput at every bit error rate below 1e-5, also at 0.",
        _check_s1, _why_s1, about=where(part="loss")),
    # the addition of LWC between a timeout and ssthresh
    Sentence("S2", "Throughput at BER 1e-5 (figure 6)",
        "timeouts are frequent and all four are almost equal; TCP-STAR is still the best.", _check_s2,
        _why_s2, about=where(part="loss"), cause=Cause.RULE),
    Sentence("S3", "Start-up without errors (figure 7)",
        "TCP-J, WestwoodBR and NewReno coincide and need slow start from 0 s to 8 s; TCP-STAR's window grows "
        "quickly.", _check_s3, _why_s3, about=where(part="startup")),
    Sentence("S4", "Outage of the ACKs from 10 s to 12 s (figure 8)",
        "TCP-STAR restarts at 13 s with the large window, by AEN, and is back at its throughput by 16 s; the "
        "others retransmit needlessly, slow-start, and take long. Where ACKs are late, AEN improves the "
        "throughput, too (section 4.2.2).", _check_s4, _why_s4, about=where(part=("outage", "late")),
        cause=Cause.PARAMETER),  # the least RTO
    Sentence("S5", "Fairness with NewReno, BER 1e-8 (figure 9)",
        "Jain's index of N/2 flows of a protocol and N/2 of NewReno is best at N = 10, where there is no "
        "congestion, and falls as N grows. TCP-STAR and TCP-J overlap, a little below WestwoodBR except at N "
        "= 10.", _check_s5, _why_s5, about=where(part="mixed"), cause=Cause.PARAMETER),  # delayed ACKs
    Sentence("S6", "Fairness with NewReno, BER 1e-6 (figure 10)",
        "at N = 10 the index is lower than at 1e-8 although there is no congestion, and that at 1e-7 lies "
        "between (footnote); TCP-STAR and TCP-J overlap, a little below WestwoodBR.", _check_s6, _why_s6,
        about=where(part="mixed")),
    Sentence("S7", "Fairness among themselves, BER 1e-6 (figure 11)",
        "flows of one protocol keep the better fairness even if N grows, and the index is almost equal for "
        "TCP-STAR, TCP-J and WestwoodBR.", _check_s7, _why_s7, about=where(part=("same", "mixed")),
        cause=Cause.PARAMETER),  # as S5
    # S4 needs a least RTO of more than 1.5 s
    Sentence("S8", "The timeout of standard TCP (drawback (c), equation 1)",
        "in satellite links the RTT is almost stable, so the RTO gets up close to the RTT.", _check_s8,
        _why_s8, about=where(part="outage", cc="reno"), cause=Cause.CONTRADICTION),
]  # fmt: skip
