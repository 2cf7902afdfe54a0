"""HSWA-TCP against SCPS-TP over GEO, MEO and LEO satellites (figures 1, 3 and 4 of the paper)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bentpipe.studies.hswa.measure import SETUPS, measure
from bentpipe.studies.hswa.setup import (
    BERS,
    BETWEEN,
    PAIRS,
    VARIANTS,
    Variant,
    increment_scenario,
)
from bentpipe.studies.study import Case, Key, Plan, ReportOf, Study

#: The variant that is run over as many seeds as the base, and drawn beside it.
BESIDE = "byte"


@dataclass(frozen=True)
class Size:
    """How much a mode runs: seeds of the base and of the other choices, these, and the error rates drawn."""

    seeds: int
    sensitivity_seeds: int
    variants: tuple[Variant, ...]
    bers: tuple[float, ...]


SIZES = {
    "quick": Size(6, 3, tuple(v for v in VARIANTS if v.quick), BERS),
    "full": Size(12, 5, VARIANTS, tuple(sorted(BERS + BETWEEN))),
}


def plan(mode: str) -> Plan:
    """The runs of ``mode``: base and `BESIDE` over all its seeds, every other variant over the first few."""
    return plan_of(mode, SIZES[mode])


def plan_of(mode: str, size: Size) -> Plan:
    """The runs of a given size; ``mode`` only names it."""
    cases = [
        Case(
            {"variant": "increment", "cc": "hswa", "orbit": "GEO", "ber": ber, "seed": seed},
            increment_scenario(ber, seed),
        )
        for seed in range(1, size.seeds + 1)
        for ber in BERS
    ]
    cases += _cases("base", range(1, size.seeds + 1), size.bers)
    for variant in size.variants:
        beside = variant.name == BESIDE
        seeds = range(1, (size.seeds if beside else size.sensitivity_seeds) + 1)
        cases += _cases(variant.name, seeds, size.bers if beside else BERS)
    note = (
        f"{size.seeds} seeds (1 to {size.seeds}) for every value; {size.sensitivity_seeds} seeds for each "
        "other choice. A seed draws the packets that are lost, and in the runs of figure 1 when the cross "
        "traffic begins."
    )
    settings: dict[str, Key] = {
        "seeds": size.seeds,
        "sensitivity_seeds": size.sensitivity_seeds,
        "note": note,
    }
    return Plan(mode, cases, settings)


def _cases(name: str, seeds: Iterable[int], bers: Sequence[float]) -> list[Case]:
    return [
        Case(
            {"variant": name, "cc": cc, "orbit": orbit, "ber": ber, "seed": seed},
            SETUPS[name].scenario(cc, orbit, ber, seed),
        )
        for seed in seeds
        for ber in bers
        for cc, orbit in PAIRS
    ]


STUDY = Study(
    name="hswa",
    title="HSWA-TCP in high-speed satellite networks",
    citation=(
        "X. Ge, F. Y. Li, F. Reichert: An Enhanced TCP Congestion Avoidance Scheme and its Performance "
        "Evaluation in High Speed Satellite Networks. Section IV, figures 1, 3 and 4."
    ),
    summary=(
        "One TCP flow crosses a 100 Mbit/s satellite link at bit error rates from 1e-8 to 1e-5, with the "
        "round trips of GEO (500 ms), MEO (250 ms) and LEO (10 ms) orbits. HSWA-TCP lets the window grow by "
        "-10 lg(BER) packets per round trip where SCPS-TP, in its Vegas mode, grows by one. The paper claims "
        "7 to 66 times the throughput over GEO, and nearly the full rate over LEO."
    ),
    plan=plan,
    measure=measure,
    report=ReportOf("bentpipe.studies.hswa.report"),
    previews=("figure-3",),
)
