"""A-LIAD, adaptive logarithmic increase and adaptive decrease (figures 1 and 5 to 13 of the paper)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from bentpipe.studies.a_liad.measure import measure
from bentpipe.studies.a_liad.setup import BASE, VARIANTS, Run, Setup, Variant, experiments
from bentpipe.studies.study import Case, Key, Plan, ReportOf, Study

#: The seed whose windows the figures draw.
TRACE_SEED = 1
TRACED = ("start-up", "no-sack")


@dataclass(frozen=True)
class Size:
    """How much a mode runs: seeds of the base, seeds and variants of the sensitivity runs."""

    seeds: int
    sensitivity_seeds: int
    variants: tuple[Variant, ...]


SIZES = {
    "quick": Size(3, 3, tuple(v for v in VARIANTS if v.quick)),
    "full": Size(10, 4, tuple(VARIANTS)),
}


def plan(mode: str) -> Plan:
    """The runs of ``mode``: the base over all its seeds, and what each variant touches over the first few."""
    return plan_of(mode, SIZES[mode])


def plan_of(mode: str, size: Size, setup: Setup = BASE) -> Plan:
    """The runs of a given size; ``mode`` only names it, ``setup`` is the base."""
    cases = _cases("base", setup, experiments(), range(1, size.seeds + 1))
    few = range(1, size.sensitivity_seeds + 1)
    for variant in size.variants:
        touched = [run for run in experiments() if variant.touches(run)]
        cases += _cases(variant.name, variant.setup, touched, few)
    note = (
        f"{size.seeds} seeds (1 to {size.seeds}) for every value, {size.sensitivity_seeds} for each changed "
        "choice. A seed draws the round-trip time (up to 4 % below the nominal one), the start of "
        "flows that compete, and the packets that are lost."
    )
    settings: dict[str, Key] = {
        "seeds": size.seeds,
        "sensitivity_seeds": size.sensitivity_seeds,
        "trace_seed": TRACE_SEED,
        "note": note,
    }
    return Plan(mode, cases, settings)


def _cases(name: str, setup: Setup, runs: Iterable[Run], seeds: Iterable[int]) -> list[Case]:
    runs = list(runs)
    made = []
    for seed in seeds:
        for run in runs:
            drawn = name == "base" and seed == TRACE_SEED and run.experiment in (*TRACED, "loss")
            keys: dict[str, Key] = {
                "variant": name,
                "experiment": run.experiment,
                "cc": run.cc,
                "rtt_ms": round(run.rtt_s * 1e3),
                "per": run.per,
                "mss": setup.mss_bytes,
                "seed": seed,
            }
            scenario = setup.scenario(run, seed, trace=drawn or run.experiment in TRACED)
            made.append(Case(keys, scenario, keep_trace=drawn))
    return made


STUDY = Study(
    name="a-liad",
    title="A-LIAD: adaptive logarithmic increase over a geostationary satellite",
    citation=(
        "M. Shin, M. Park, D. Oh, B. Kim, J. Lee: Adaptive Logarithmic Increase Congestion Control Algorithm "
        "for Satellite Networks. KSII Trans. Internet Inf. Syst. 8(8), 2014. Section 4, figures 1 and 5 to "
        "13."
    ),
    summary=(
        "One or six flows cross a bottleneck of 10 or 50 Mbit/s, over 25 to 600 ms, with and without random "
        "loss. The paper claims that A-LIAD starts fast without overshooting, hardly depends on the "
        "round-trip time, and withstands loss better than LIAD, NewReno, Westwood, CUBIC, BIC, Scalable and "
        "HighSpeed TCP."
    ),
    plan=plan,
    measure=measure,
    report=ReportOf("bentpipe.studies.a_liad.report"),
    previews=("figure-10",),
)
