"""TCP-STAR against TCP-J, WestwoodBR and NewReno (figures 6 to 11 of the paper)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from bentpipe.studies.study import Case, Key, Plan, ReportOf, Study
from bentpipe.studies.tcp_star.measure import measure
from bentpipe.studies.tcp_star.setup import (
    ACKS,
    ALGORITHMS,
    BASE,
    BERS,
    COUNTS,
    LOSS,
    MIXED,
    OFTEN,
    PARTS,
    RARE,
    SAME,
    SHARERS,
    STARTUP,
    VARIANTS,
    Setup,
    Variant,
    rto_setups,
)


@dataclass(frozen=True)
class Size:
    """How much a mode runs: seeds of the base and of the rest, the variants, the length of a run."""

    seeds: int
    sensitivity_seeds: int
    variants: tuple[Variant, ...]
    duration_s: float = 100.0


SIZES = {
    "quick": Size(12, 4, tuple(v for v in VARIANTS if v.quick)),
    "full": Size(24, 12, VARIANTS),
}


def plan(mode: str) -> Plan:
    """The runs of ``mode``: the base over all its seeds, and every variant over the first few of them."""
    return plan_of(mode, SIZES[mode])


def plan_of(mode: str, size: Size) -> Plan:
    """The runs of a given size; ``mode`` only names it."""
    few = range(1, size.sensitivity_seeds + 1)
    cases = list(_cases("base", BASE, PARTS, range(1, size.seeds + 1), size.duration_s))
    for variant in size.variants:
        cases += _cases(variant.name, variant.setup, variant.parts, few, size.duration_s)
    for name, setup in rto_setups().items():
        cases += [c for c in _cases(name, setup, (ACKS,), few, size.duration_s) if c.keys["cc"] == "star"]
    settings: dict[str, Key] = {
        "seeds": size.seeds,
        "sensitivity_seeds": size.sensitivity_seeds,
        "duration_s": size.duration_s,
        "note": (
            f"{size.seeds} seeds (1 to {size.seeds}) for every value, {size.sensitivity_seeds} for each "
            f"changed choice; throughput and fairness over {size.duration_s:g} s. A seed draws the bit "
            "errors and the starts of the flows."
        ),
    }
    return Plan(mode, cases, settings)


def _points(parts: Iterable[str]) -> Iterator[tuple[str, str, float, int]]:
    """Part, protocol, bit error rate and number of flows of every run of one seed."""
    for part in parts:
        if part == LOSS:
            yield from ((part, cc, ber, 1) for cc in ALGORITHMS for ber in BERS)
        elif part in (STARTUP, ACKS):
            yield from ((part, cc, 0.0, 1) for cc in ALGORITHMS)
        elif part == MIXED:
            yield from ((part, cc, ber, n) for cc in SHARERS for ber in (RARE, OFTEN) for n in COUNTS)
        elif part == SAME:
            yield from ((part, cc, OFTEN, n) for cc in SHARERS for n in COUNTS)


def _cases(
    name: str, setup: Setup, parts: Iterable[str], seeds: Iterable[int], duration_s: float
) -> Iterator[Case]:
    points = list(_points(parts))
    for seed in seeds:
        for part, cc, ber, n in points:
            yield Case(
                {"variant": name, "part": part, "cc": cc, "ber": ber, "n": n, "seed": seed},
                setup.scenario(part, cc, ber, n, seed, duration_s),
                keep_trace=name == "base" and part in (STARTUP, ACKS),
            )


STUDY = Study(
    name="tcp-star",
    title="TCP-STAR: throughput and fairness over a satellite link",
    citation=(
        "H. Obata, K. Ishida, S. Takeuchi, S. Hanasaki: TCP-STAR: TCP Congestion Control Method for "
        "Satellite Internet. IEICE Transactions on Communications E89-B(6), 2006. Section 4, figures 6 to 11."
    ),
    summary=(
        "One or more TCP flows over a satellite link of 10 Mbit/s and 250 ms one way, with bit errors or an "
        "outage of the ACKs. TCP-STAR adds an estimate of the bandwidth to Reno's window (LWC), goes to that "
        "estimate at a loss (CWS), and after a timeout probes whether only ACKs were lost (AEN). The paper "
        "claims a higher throughput than TCP-J, TCP-WestwoodBR and NewReno, and about the same fairness."
    ),
    plan=plan,
    measure=measure,
    report=ReportOf("bentpipe.studies.tcp_star.report"),
    previews=("figure-6",),
)
