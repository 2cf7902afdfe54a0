"""The runs of the study of the spectrum paper: the choices that are tried, and their sizes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from bentpipe.papers.spectrum.measure import measure
from bentpipe.papers.spectrum.scenarios import (
    AFTER,
    BASE,
    CHAIN,
    CHAINS,
    FAST_MBPS,
    FIVE,
    FRIENDLY,
    LOADS,
    LONGER,
    OFTEN_LOST,
    QUEUES,
    SMOOTH,
    SQUARE_MBPS,
    STEPS,
    Group,
    SpectrumSetup,
)
from bentpipe.studies import design
from bentpipe.studies.design import Design, Keys, Origin, Reading, Replication, Variant, where
from bentpipe.studies.study import Key

CUTS_RUNS = where(
    experiment=("friendly", "share", "smooth", "load-doubles", "load-halves", "square", "chain-1", "chain-2")
)
IIAD_RUNS = where(
    experiment=("smooth", "load-doubles", "load-halves", "square", "chain-1", "chain-2"), cc="iiad"
)
OWN_CUTS_RUNS = where(
    experiment=("friendly", "share", "smooth", "load-doubles", "load-halves", "square", "chain-1", "chain-2"),
    cc=("simd", "simd-8", "simd-4", "aiad"),
)
AIAD_RUNS = where(experiment=("share", "smooth", "square"), cc="aiad")
LOSSY_RUNS = where(experiment=("friendly", "smooth", "square"))
GROWTH_RUNS = where(
    experiment=("friendly", "share", "square", "chain-1", "chain-2"), cc=("simd", "simd-8", "simd-4", "aiad")
)
SHARES_RUNS = where(experiment="share")
FRIENDLY_RUNS = where(experiment="friendly")
SLOW_RUNS = where(experiment=("share", "smooth"))
LIMITS_RUNS = where(experiment=("square", "chain-1", "chain-2"))
STEPS_RUNS = where(experiment=("load-doubles", "load-halves"))
SQUARES_RUNS = where(experiment="square")
CHAINS_RUNS = where(experiment=("chain-1", "chain-2"))

#: The choices that are tried beside the base.
VARIANTS = (
    Variant("own-cuts", "a loss in slow start and the first loss cut as any other",
        replace(BASE, ss_beta=0.0, halve_first=False), CUTS_RUNS, evidence=Origin.PAPER,
        source="appendix E has one rule of decrease and no exception"),
    Variant("real-cuts", "no cut to whole numbers", replace(BASE, whole=()), CUTS_RUNS,
        source="ns-2 since 2006"),
    Variant("iiad-real", "IIAD cut to fractions, too", replace(BASE, whole=("tcp", "aimd", "aimd-8")),
        IIAD_RUNS, evidence=Origin.IMPLIED, source="sections 6.2.1 and 6.2.4: AIAD is as smooth as IIAD"),
    Variant("whole-cuts", "SIMD and AIAD cut to whole numbers, too",
        replace(BASE, whole=("tcp", "aimd", "aimd-8", "iiad", "simd", "simd-8", "simd-4", "aiad")),
        OWN_CUTS_RUNS, evidence=Origin.DEFAULT,
        source="TcpAgent::slowdown without precisionReduce_, ns-2's default until 2006"),
    Variant("aiad-whole", "AIAD cut to whole numbers, too",
        replace(BASE, whole=("tcp", "aimd", "aimd-8", "iiad", "aiad")), AIAD_RUNS, evidence=Origin.IMPLIED,
        source="sections 6.2.1 and 6.2.4: AIAD is as smooth as IIAD"),
    Variant("limited-transmit", "limited transmit", replace(BASE, limited_transmit=True), LOSSY_RUNS,
        source="ns-2 since November 2001 (singledup_)"),
    Variant("closed", "SIMD and AIAD by equation 1, not per ACK", replace(BASE, mode="closed"), GROWTH_RUNS,
        evidence=Origin.PAPER, source="section 2"),
    Variant("share-160s", "figures 8 to 13 from runs of 160 s", replace(BASE, share_s=160.0), SHARES_RUNS,
        quick=True, source="shorter"),
    Variant("min-rto-1s", "least timeout 1 s", replace(BASE, min_rto_s=1.0), LOSSY_RUNS,
        source="RFC 2988, of 2000"),
    Variant("newreno", "NewReno recovery", replace(BASE, recovery="newreno"), FRIENDLY_RUNS, quick=True,
        evidence=Origin.PAPER,
        source='section 6: "similar results for other mechanisms (e.g. Reno, newReno)"'),
    Variant("reno", "Reno recovery", replace(BASE, recovery="reno"), FRIENDLY_RUNS, evidence=Origin.PAPER,
        source='section 6: "similar results for other mechanisms (e.g. Reno, newReno)"'),
    Variant("rtt-200ms", "figure 7 with round trips of 200 ms", replace(BASE, friendly_rtt_s=0.2),
        FRIENDLY_RUNS, source="longer"),
    Variant("slow-40ms", "15 Mbit/s with 40 ms of propagation", replace(BASE, slow_rtt_s=0.04), SLOW_RUNS,
        evidence=Origin.IMPLIED, source="nearly 5 % lost at 15 Mbit/s, at the price of the 0.1 s"),
    Variant("bdp-100ms", "limits of the queues by a round trip of 100 ms", replace(BASE, bdp_rtt_s=0.1),
        LIMITS_RUNS, source="the measured one"),
    Variant("step-30", "figure 18 with a link of 30 Mbit/s", replace(BASE, step_mbps=30.0), STEPS_RUNS,
        source="the text gives no rate"),
    Variant("square-drop-tail", "square wave over a drop-tail queue", replace(BASE, square_queue="drop-tail"),
        SQUARES_RUNS, source="ns-2's queue"),
    Variant("square-sack", "square wave with SACK", replace(BASE, square_recovery="sack"), SQUARES_RUNS,
        quick=True, evidence=Origin.PAPER,
        source='section 6.2.4: SACK "does not qualitatively change the conclusion"'),
    Variant("square-90ms", "square wave with 90 ms of propagation", replace(BASE, square_rtt_s=0.09),
        SQUARES_RUNS, source="longer"),
    Variant("chain-50ms", "chain with 50 ms of propagation", replace(BASE, chain_rtt_s=0.05), CHAINS_RUNS,
        source="shorter"),
    Variant("chain-5.5", "middle link of 5.5 Mbit/s", replace(BASE, middle_mbps=5.5), CHAINS_RUNS,
        source="below the 6 beside it"),
    Variant("chain-far", "background with a hop of its own", replace(BASE, background_extra=1.0), CHAINS_RUNS,
        source="an access link"),
)  # fmt: skip

#: The paper read as a whole.
READINGS = (
    Reading("as-printed", "one rule of decrease and equation 1", ("own-cuts", "closed"), seeds=4),
    Reading("defensible", "IIAD cut to fractions, as AIAD, with which it varies alike", ("iiad-real",)),
    Reading("congested",
        "figures 14 to 17 with AIAD cut to whole numbers, as IIAD, and 40 ms of propagation at 15 Mbit/s",
        ("aiad-whole", "slow-40ms"), where(experiment="smooth")),
    Reading("steps-30", "figure 18, whose text gives no rate, with a link of 30 Mbit/s", ("step-30",),
        where(experiment=("load-doubles", "load-halves"))),
)  # fmt: skip

#: The seed whose runs the figures of single runs draw.
TRACE_SEED = 1


@dataclass(frozen=True)
class SpectrumSize(design.Size):
    """The amount of runs of a mode. Times in seconds of simulated time."""

    #: Figure 18 measures one flow at one change per run, and takes more seeds.
    step_seeds: int = 40
    #: Section 6.3 takes one sample of the windows per run, and takes more seeds, too.
    chain_seeds: int = 24
    #: Figures 8 to 17: runs of many flows, long enough to forget the start, take fewer.
    load_seeds: int = 8
    smooth_seeds: int = 4
    #: Figure 7: loss rates, and length in round trips.
    loss_rates: tuple[float, ...] = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3)
    rounds: int = 3000
    #: Figures 8 to 13: link rates in Mbit/s with the numbers of flows of each kind and of seeds; length.
    shares: tuple[tuple[float, tuple[int, ...], int], ...] = (
        (15.0, (1, 2, 4, 8, 16, 32, 64), 8),
        (60.0, (1, 2, 4, 8, 16, 24, 32, 64), 4),
    )
    #: Seeds of figures 8 to 17 under each changed choice, which runs every number of flows at 15 Mbit/s.
    few_load_seeds: int = 2
    share_s: float = 400.0
    #: The same over the faster link, which carries four times as much meanwhile.
    share_fast_s: float = 160.0
    #: Figures 14 to 17: link rates and length.
    smooth_mbps: tuple[float, ...] = (60.0, 15.0)
    #: The paper draws 250 to 270 s of 500 s; later times cannot change them.
    smooth_s: float = 270.0
    #: Figure 18: when the load changes, and how long the run continues.
    step_at_s: float = 200.0
    step_after_s: float = 100.0
    #: Figure 19: periods of the square wave.
    cycles: int = 21
    #: Section 6.3: when the background ends, and how long the run of the slowest control continues.
    switch_s: float = 400.0
    after_s: float = 450.0

    @property
    def fewer(self) -> str:
        """The number of seeds of the faster links of figures 8 to 13, in words."""
        return "".join(f" ({seeds} at {mbps:g} Mbit/s)" for mbps, _, seeds in self.shares[1:])


#: The amount of runs of a quick study.
QUICK = SpectrumSize(
    seeds=4,
    sensitivity_seeds=2,
    step_seeds=4,
    chain_seeds=4,
    load_seeds=2,
    smooth_seeds=2,
    loss_rates=(0.002, 0.01, 0.05, 0.15, 0.3),
    rounds=2000,
    shares=((15.0, (2, 8, 32), 2),),
    share_s=180.0,
    smooth_s=100.0,
    step_at_s=120.0,
    step_after_s=60.0,
    cycles=11,
    switch_s=80.0,
    after_s=330.0,
)


def points(of: Replication[SpectrumSetup, SpectrumSize]) -> Iterator[Keys]:
    """The keys of every run of one seed; ``p`` is a loss rate, or the time at which the load changes."""
    choice, size = of.setup, of.size
    shares = size.shares
    if not of.variant.whole:  # a choice: the smaller link, where losses are high and low
        shares = tuple((mbps, counts, size.few_load_seeds) for mbps, counts, _ in shares[:1])

    def runs(experiment: str, controls: Iterable[str], queue: str = "red", **more: Key) -> Iterator[Keys]:
        for cc in controls:
            least = {"mbps": 0.0, "n": 1, "p": 0.0}
            yield {"experiment": experiment, "cc": cc, "queue": queue, **least, **more}

    for p in size.loss_rates:
        yield from runs("friendly", FRIENDLY, "none", p=p)
    for mbps, counts, seeds in shares:
        for n, queue in product(counts if of.seed <= seeds else (), QUEUES):
            yield from runs("share", ("simd", "aiad"), queue, mbps=mbps, n=n)
    for mbps, queue in product(size.smooth_mbps if of.seed <= size.smooth_seeds else (), ("red-ecn", "red")):
        yield from runs("smooth", SMOOTH, queue, mbps=mbps, n=16)
    for experiment in STEPS:
        yield from runs(experiment, CHAIN, mbps=choice.step_mbps, n=8, p=size.step_at_s)
    yield from runs("square", FIVE, choice.square_queue, mbps=SQUARE_MBPS)
    for experiment in CHAINS:
        yield from runs(experiment, CHAIN, mbps=choice.middle_mbps, p=size.switch_s)


def scenario(
    of: Replication[SpectrumSetup, SpectrumSize],
    experiment: str,
    cc: str,
    queue: str,
    mbps: float,
    n: int,
    p: float,
) -> dict[str, Any]:
    """One run."""
    choice, size, seed = of.setup, of.size, of.seed
    if experiment == "friendly":
        return choice.friendly(cc, p, seed, size.rounds * (LONGER if p >= OFTEN_LOST else 1))
    if experiment == "square":
        return choice.square(cc, seed, size.cycles)
    if experiment in CHAINS:
        return choice.chain(cc, CHAINS[experiment], seed, size.switch_s, AFTER[cc] * size.after_s)
    if experiment in STEPS:
        joins = {STEPS[experiment]: f"{size.step_at_s:g} s"}
        groups: list[Group] = [("x", cc, 1, {}), ("tcp", "tcp", n - 1, {}), ("other", "tcp", n, joins)]
        return choice.dumbbell(groups, queue, mbps, seed, size.step_at_s + size.step_after_s, "100 ms")
    groups = [("x", cc, n, {}), ("tcp", "tcp", n, {})]
    share_s = choice.share_s or (size.share_s if mbps < FAST_MBPS else size.share_fast_s)
    length, every = {
        "share": (share_s, f"{min(20.0, share_s / 2):g} s"),
        "smooth": (size.smooth_s, "200 ms"),
    }[experiment]
    return choice.dumbbell(groups, queue, mbps, seed, length, every)


def order(
    base: Variant[SpectrumSetup], variants: Sequence[Variant[SpectrumSetup]], size: SpectrumSize
) -> Iterator[tuple[Variant[SpectrumSetup], int]]:
    """The base, whose experiments have seeds of their own, and the variants."""
    yield base.only(experiment=("friendly", "square")), size.seeds
    yield base.only(experiment=CHAINS), size.chain_seeds
    yield base.only(experiment=LOADS), size.load_seeds
    yield base.only(experiment=STEPS), size.step_seeds
    yield from ((variant, size.sensitivity_seeds) for variant in variants)


DESIGN = Design(
    BASE,
    VARIANTS,
    {"quick": QUICK, "full": SpectrumSize(10, 3)},
    points,
    scenario,
    measure,
    note="{size.seeds} seeds for every value, but {size.load_seeds}{size.fewer} for figures 8 to 13, "
    "{size.smooth_seeds} for figures 14 to 17, {size.step_seeds} for figure 18, {size.chain_seeds} for table "
    "6 and {size.sensitivity_seeds} for each changed choice. A seed draws when the flows start, their "
    "private delays, what the random queues and links drop.",
    keeps=lambda keys, seed: seed == TRACE_SEED and keys["experiment"] != "friendly",
    order=order,
    # A variant repeats the whole of a control's experiment, at fewer loads or over another link.
    identity=("experiment", "cc"),
    readings=READINGS,
)
