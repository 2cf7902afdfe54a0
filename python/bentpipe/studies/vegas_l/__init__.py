"""TCP Vegas-L over a geostationary satellite (figures 4, 5 and 6 of the paper)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from bentpipe.studies.study import Case, Key, Plan, ReportOf, Study
from bentpipe.studies.vegas_l.measure import measure
from bentpipe.studies.vegas_l.setup import ALGORITHMS, BASE, DURATION_S, HIGH, LOW, VARIANTS, Setup, Variant

#: The seed whose windows figure 4 draws.
TRACE_SEED = 1


@dataclass(frozen=True)
class Size:
    """How much a mode runs: seeds of the base, seeds and variants of the sensitivity runs, run length."""

    seeds: int
    sensitivity_seeds: int
    variants: tuple[Variant, ...]
    duration_s: float


SIZES = {
    "quick": Size(8, 4, tuple(v for v in VARIANTS if v.quick), DURATION_S),
    "full": Size(24, 10, VARIANTS, DURATION_S),
}


def plan(mode: str) -> Plan:
    """The runs of ``mode``: the base over all its seeds, and every variant over the first few of them."""
    return plan_of(mode, SIZES[mode])


def plan_of(mode: str, size: Size) -> Plan:
    """The runs of a given size; ``mode`` only names it."""
    cases = [*_cases("base", BASE, range(1, size.seeds + 1), size.duration_s)]
    for variant in size.variants:
        seeds = range(1, size.sensitivity_seeds + 1)
        cases += _cases(variant.name, variant.setup, seeds, size.duration_s)
    note = (
        f"{size.seeds} seeds (1 to {size.seeds}) of {size.duration_s:g} s for every value; "
        f"{size.sensitivity_seeds} seeds for each changed choice. A seed draws the satellite's longitude, "
        "the start of each flow and the packets that are lost."
    )
    settings: dict[str, Key] = {
        "seeds": size.seeds,
        "sensitivity_seeds": size.sensitivity_seeds,
        "duration_s": size.duration_s,
        "trace_seed": TRACE_SEED,
        "note": note,
    }
    return Plan(mode, cases, settings)


def _cases(name: str, setup: Setup, seeds: Iterable[int], duration_s: float) -> list[Case]:
    return [
        Case(
            {"variant": name, "cc": cc, "per": per, "seed": seed},
            setup.scenario(cc, per, seed, duration_s),
            keep_trace=name == "base" and seed == TRACE_SEED,
        )
        for seed in seeds
        for per in (LOW, HIGH)
        for cc in ALGORITHMS
    ]


STUDY = Study(
    name="vegas-l",
    title="TCP Vegas-L over a geostationary satellite",
    citation=(
        "L. Li, J. Zhu, N. He: TCP Vegas-L: An Adaptive End-to-End Congestion Control Algorithm over "
        "Satellite Communications. Section IV, figures 4 to 6."
    ),
    summary=(
        "Two TCP flows share a 5 Mbit/s satellite downlink for 1000 s. Flow 1, from Beijing to New York, is "
        "Vegas, Vegas-A, Veno or Vegas-L; flow 2, from Shanghai, is NewReno. Packets are lost at random at a "
        "low (1e-6) and a high (1e-3) rate. The paper claims that Vegas-L takes more than Vegas does, and "
        "shares better."
    ),
    plan=plan,
    measure=measure,
    report=ReportOf("bentpipe.studies.vegas_l.report"),
    previews=("figure-4",),
)
