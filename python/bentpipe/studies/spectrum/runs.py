"""The runs of the spectrum study in each mode."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from bentpipe.studies.spectrum.setup import (
    BASE,
    CHAIN,
    FIVE,
    FRIENDLY,
    QUEUES,
    SMOOTH,
    Setup,
)
from bentpipe.studies.study import Case, Key, Plan

#: The seed whose runs the figures of single runs draw.
TRACE_SEED = 1


@dataclass(frozen=True)
class Size:
    """How much a mode runs. Times in seconds of simulated time."""

    seeds: int
    #: Figure 18 measures one flow at one change per run, and takes more seeds.
    step_seeds: int
    #: Figures 8 to 17: runs of many flows, long enough to forget the start, take fewer.
    load_seeds: int
    sensitivity_seeds: int
    #: Figure 7: loss rates, and length in round trips.
    loss_rates: tuple[float, ...]
    rounds: int
    #: Figures 8 to 13: link rates in Mbit/s with the numbers of flows of each kind and of seeds; length.
    shares: tuple[tuple[float, tuple[int, ...], int], ...]
    share_s: float
    #: Figures 14 to 17: link rates and length.
    smooth_mbps: tuple[float, ...]
    smooth_s: float
    #: The runs that ask where AIMD loses its share: length.
    busy_s: float
    #: Figure 18: when the load changes, and how long the run goes on.
    step_at_s: float
    step_after_s: float
    #: Figure 19: periods of the square wave.
    cycles: int
    #: Section 6.3: when the background ends, and how long the run goes on.
    switch_s: float
    after_s: float
    variants: tuple[str, ...]


@dataclass(frozen=True)
class Variant:
    """One choice changed against the base, and the experiments that it touches."""

    name: str
    choice: str
    setup: Setup
    experiments: tuple[str, ...]


LOADS = ("share", "smooth", "busy")
STEPS = ("load-doubles", "load-halves")
CHAINS = ("chain-1", "chain-2")
ALL = ("friendly", *LOADS, *STEPS, "square", *CHAINS)
#: From this loss rate on, a flow of figure 7 mostly waits for its timer and sends little: its runs are longer
#: by a factor, else the ratio of two of them is noise.
OFTEN_LOST, LONGER = 0.1, 5

VARIANTS = (
    Variant(
        "ss-half",
        "a loss in slow start halves the window",
        BASE.changed(ss_beta=0.5),
        ("friendly", "share", "busy", *STEPS, "square", *CHAINS),
    ),
    Variant(
        "closed",
        "SIMD and AIAD by equation 1, not per ACK",
        BASE.changed(mode="closed"),
        ("friendly", "share", "square", *CHAINS),
    ),
    Variant(
        "share-160s",
        "figures 8 to 13 from runs of 160 s",
        BASE.changed(share_s=160.0),
        ("share",),
    ),
    Variant("min-rto-1s", "least timeout 1 s", BASE.changed(min_rto_s=1.0), ("friendly", "busy", "square")),
    Variant(
        "tick-500ms", "timer of 0.5 s", BASE.changed(granularity_s=0.5, min_rto_s=1.0), ("friendly", "busy")
    ),
    Variant("newreno", "NewReno recovery", BASE.changed(recovery="newreno"), ("friendly", "busy")),
    Variant("reno", "Reno recovery", BASE.changed(recovery="reno"), ("friendly", "busy")),
    Variant("busy-8", "a link of 8 Mbit/s in place of 15", BASE.changed(busy_mbps=8.0), ("busy",)),
    Variant("busy-ecn", "15 Mbit/s, RED with ECN", BASE.changed(busy_queue="red-ecn"), ("busy",)),
    Variant("busy-drop-tail", "15 Mbit/s, drop-tail", BASE.changed(busy_queue="drop-tail"), ("busy",)),
    Variant(
        "rtt-200ms", "figure 7 with round trips of 200 ms", BASE.changed(friendly_rtt_s=0.2), ("friendly",)
    ),
    Variant(
        "bdp-100ms",
        "limits of the queues by a round trip of 100 ms",
        BASE.changed(bdp_rtt_s=0.1),
        ("square", *CHAINS),
    ),
    Variant(
        "dumbbell-50ms",
        "dumbbell with 50 ms of propagation",
        BASE.changed(dumbbell_rtt_s=0.05),
        ("share", "busy", *STEPS),
    ),
    Variant("step-30", "figure 18 with a link of 30 Mbit/s", BASE.changed(step_mbps=30.0), STEPS),
    Variant(
        "square-drop-tail",
        "square wave over a drop-tail queue",
        BASE.changed(square_queue="drop-tail"),
        ("square",),
    ),
    Variant("square-sack", "square wave with SACK", BASE.changed(square_recovery="sack"), ("square",)),
    Variant(
        "square-90ms", "square wave with 90 ms of propagation", BASE.changed(square_rtt_s=0.09), ("square",)
    ),
    Variant("chain-50ms", "chain with 50 ms of propagation", BASE.changed(chain_rtt_s=0.05), CHAINS),
    Variant("chain-5.5", "middle link of 5.5 Mbit/s", BASE.changed(middle_mbps=5.5), CHAINS),
)

_FULL = Size(
    seeds=10,
    step_seeds=20,
    load_seeds=6,
    sensitivity_seeds=3,
    loss_rates=(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3),
    rounds=3000,
    shares=((15.0, (1, 2, 4, 8, 16, 32, 64), 6), (60.0, (8, 32), 3)),
    share_s=400.0,
    smooth_mbps=(60.0, 15.0),
    smooth_s=200.0,
    busy_s=80.0,
    step_at_s=200.0,
    step_after_s=100.0,
    cycles=21,
    switch_s=200.0,
    after_s=450.0,
    variants=tuple(v.name for v in VARIANTS),
)

SIZES = {
    "full": _FULL,
    "quick": replace(
        _FULL,
        seeds=4,
        step_seeds=8,
        load_seeds=6,
        sensitivity_seeds=2,
        rounds=2000,
        loss_rates=(0.002, 0.01, 0.05, 0.15, 0.3),
        shares=((15.0, (2, 8, 32), 6),),
        share_s=180.0,
        smooth_s=100.0,
        busy_s=40.0,
        step_at_s=120.0,
        step_after_s=60.0,
        cycles=11,
        switch_s=80.0,
        after_s=330.0,
        variants=("share-160s", "newreno", "busy-8"),
    ),
}


def plan(mode: str) -> Plan:
    """The runs of ``mode``."""
    return plan_of(mode, SIZES[mode])


def plan_of(mode: str, size: Size) -> Plan:
    """The runs of a given size; ``mode`` only names it."""
    rest = tuple(e for e in ALL if e not in (*LOADS, *STEPS))
    cases = list(_cases("base", BASE, rest, size, range(1, size.seeds + 1)))
    cases += _cases("base", BASE, LOADS, size, range(1, size.load_seeds + 1))
    cases += _cases("base", BASE, STEPS, size, range(1, size.step_seeds + 1))
    few = range(1, size.sensitivity_seeds + 1)
    for variant in VARIANTS:
        if variant.name in size.variants:
            cases += _cases(variant.name, variant.setup, variant.experiments, size, few)
    fast = "".join(f" ({most} at {mbps:g} Mbit/s)" for mbps, _, most in size.shares[1:])
    note = (
        f"{size.seeds} seeds for every value, but {size.load_seeds}{fast} for figures 8 to 17, "
        f"{size.step_seeds} for figure 18 and {size.sensitivity_seeds} for each changed choice. A seed draws "
        "when the flows start, their private delays, what the random queues and links drop."
    )
    settings: dict[str, Key] = {
        "seeds": size.seeds,
        "step_seeds": size.step_seeds,
        "load_seeds": size.load_seeds,
        "sensitivity_seeds": size.sensitivity_seeds,
        "rounds": size.rounds,
        "share_s": size.share_s,
        "smooth_s": size.smooth_s,
        "step_at_s": size.step_at_s,
        "cycles": size.cycles,
        "switch_s": size.switch_s,
        "trace_seed": TRACE_SEED,
        "note": note,
    }
    return Plan(mode, cases, settings)


def _cases(
    variant: str, of: Setup, experiments: tuple[str, ...], size: Size, seeds: Iterable[int]
) -> Iterator[Case]:
    base = variant == "base"
    for seed in seeds:
        keep = base and seed == TRACE_SEED

        def case(
            experiment: str,
            cc: str,
            scenario: dict[str, object],
            *,
            seed: int = seed,
            keep: bool = keep,
            **keys: Key,
        ) -> Case:
            found: dict[str, Key] = {"queue": "red", "mbps": 0.0, "n": 1, "p": 0.0, **keys}
            return Case(
                {"variant": variant, "experiment": experiment, "cc": cc, **found, "seed": seed},
                scenario,
                keep_trace=keep and "record" in scenario,
            )

        if "friendly" in experiments:
            for p in size.loss_rates:
                rounds = size.rounds * (LONGER if p >= OFTEN_LOST else 1)
                for cc in FRIENDLY:
                    yield case("friendly", cc, of.friendly(cc, p, seed, rounds), p=p, queue="none")
        if "share" in experiments:
            # A changed choice is tried where the paper's statement is made: the smaller link.
            rates = size.shares if base else tuple((m, ns[1::2], most) for m, ns, most in size.shares[:1])
            length = of.share_s or size.share_s
            for mbps, counts, most in rates:
                for n in counts if seed <= most else ():
                    for queue in QUEUES:
                        for cc in ("simd", "aiad"):
                            groups = [_of("x", cc, n), _of("tcp", "tcp", n), _of("back", "tcp", 4)]
                            every = f"{min(20.0, length / 2):g} s"
                            scenario = of.dumbbell(groups, queue, mbps, seed, length, every)
                            yield case("share", cc, scenario, queue=queue, mbps=mbps, n=n)
        if "smooth" in experiments:
            for mbps in size.smooth_mbps:
                for queue in ("red-ecn", "red"):
                    for cc in SMOOTH:
                        groups = [_of("x", cc, 16), _of("tcp", "tcp", 16), _of("back", "tcp", 4)]
                        scenario = of.dumbbell(groups, queue, mbps, seed, size.smooth_s, "200 ms")
                        yield case("smooth", cc, scenario, queue=queue, mbps=mbps, n=16)
        if "busy" in experiments:
            for cc in ("aimd", "simd"):
                groups = [_of("x", cc, 16), _of("tcp", "tcp", 16), _of("back", "tcp", 4)]
                every = f"{size.busy_s / 2:g} s"
                scenario = of.dumbbell(groups, of.busy_queue, of.busy_mbps, seed, size.busy_s, every)
                yield case("busy", cc, scenario, queue=of.busy_queue, mbps=of.busy_mbps, n=16)
        for experiment, when in (("load-doubles", "start"), ("load-halves", "stop")):
            if experiment in experiments:
                for cc in FIVE:
                    groups = [
                        _of("x", cc, 1),
                        _of("tcp", "tcp", 7),
                        _of("other", "tcp", 8) | {when: f"{size.step_at_s:g} s"},
                        _of("back", "tcp", 4),
                    ]
                    end = size.step_at_s + size.step_after_s
                    scenario = of.dumbbell(groups, "red", of.step_mbps, seed, end, "100 ms")
                    yield case(experiment, cc, scenario, mbps=of.step_mbps, n=8, p=size.step_at_s)
        if "square" in experiments:
            for cc in FIVE:
                yield case("square", cc, of.square(cc, seed, size.cycles), queue=of.square_queue, mbps=1.5)
        for number in (1, 2):
            if f"chain-{number}" in experiments:
                for cc in CHAIN:
                    scenario = of.chain(cc, number, seed, size.switch_s, size.after_s)
                    yield case(f"chain-{number}", cc, scenario, mbps=of.middle_mbps, p=size.switch_s)


def _of(name: str, cc: str, count: int) -> dict[str, object]:
    return {"name": name, "of": cc, "count": count}
