"""Measures how often intervals hold the truth: the table of docs/statistics.md.

    python tools/statistics_coverage.py [SAMPLES]

It draws samples of a known mean and median and asks `bentpipe.stats`, SAMPLES (2000) of each kind. With 2000
the standard error of a coverage near 95 % is 0.5 percentage points.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable

import numpy as np
from scipy.stats import skew

import bentpipe as bp
from bentpipe import stats

Draw = Callable[[np.random.Generator, int], np.ndarray]

# The skewed one is lognormal with a log standard deviation of 1: its skewness is 6.2.
KINDS: dict[str, tuple[Draw, float, float]] = {
    "normal": (lambda r, n: r.normal(10, 1, n), 10.0, 10.0),
    "skewed": (lambda r, n: r.lognormal(0, 1, n), float(np.exp(0.5)), 1.0),
}
SIZES = (3, 5, 10, 30)
RUNS = 1000
"""Runs of the simulator that samples of the kind "goodput" are drawn from. Their mean counts as the truth."""


def goodput(per: float) -> tuple[Draw, float, float]:
    """Goodputs of one CUBIC flow over GEO with random losses, for 20 s, one a seed."""
    link = bp.Link(rate="10 Mbit/s", delay="250 ms", loss=[bp.PacketError(per)])
    scenario = bp.Scenario(links={"sat": link}, flows=[bp.Flow("cubic", path=["sat"])], duration="20 s")
    runs = bp.run_many([dataclasses.replace(scenario, seed=seed) for seed in range(1, RUNS + 1)])
    values = np.array([run.json["flows"][0]["goodput_bps"] for run in runs])
    scatter = values.std() / values.mean()
    print(f"PER {per:g}: skewness {skew(values):.1f}, standard deviation {scatter:.0%} of the mean")
    return lambda r, n: r.choice(values, n, replace=False), float(values.mean()), float(np.median(values))


def coverage(draw: Draw, truth: float, n: int, samples: int, **how: str) -> float:
    """The share of intervals that hold the truth, %."""
    source = np.random.default_rng(20)
    held = 0
    for _ in range(samples):
        found = stats.interval(draw(source, n), **how)  # type: ignore[arg-type]
        held += found.low <= truth <= found.high
    return 100 * held / samples


def stopped(draw: Draw, truth: float, relative: float, samples: int) -> tuple[float, float]:
    """Sequential stopping: the share of intervals that hold the truth, %, and the mean number of runs."""
    source = np.random.default_rng(21)
    held, runs = 0, 0
    for _ in range(samples):
        values = list(draw(source, stats.LEAST_RUNS))
        while not stats.enough(values, relative):
            values.append(float(draw(source, 1)[0]))
        found = stats.interval(values)
        held += found.low <= truth <= found.high
        runs += len(values)
    return 100 * held / samples, runs / samples


def wrongly_apart(n: int, names: int, samples: int) -> float:
    """The frequency with which groups separate any of several equal ones, %."""
    source = np.random.default_rng(22)
    wrong = 0
    for _ in range(samples):
        drawn = {str(i): list(source.normal(10, 1, n)) for i in range(names)}
        wrong += len(stats.groups(drawn)) > 1
    return 100 * wrong / samples


def main(samples: int) -> None:
    """Prints every number of the page."""
    simulated = {f"goodput, PER {per:g}": goodput(per) for per in (1e-4, 1e-3)}
    print("| values | interval | " + " | ".join(f"n = {n}" for n in SIZES) + " |")
    print("|---|---|" + "---:|" * len(SIZES))
    for kind, (draw, mean, median) in (KINDS | simulated).items():
        for of, by, truth in (
            ("mean", "t", mean),
            ("mean", "bootstrap", mean),
            ("median", "bootstrap", median),
        ):
            cells = [f"{coverage(draw, truth, n, samples, of=of, by=by):.1f}" for n in SIZES]
            print(f"| {kind} | {of}, {by} | " + " | ".join(cells) + " |", flush=True)
    for kind, relative in (("normal", 0.05), ("normal", 0.02), ("skewed", 0.2)):
        draw, truth, _ = KINDS[kind]
        share, runs = stopped(draw, truth, relative, samples)
        print(f"stopped at ±{relative:.0%}, {kind}: {share:.1f} % hold, {runs:.1f} runs", flush=True)
    for n, names in ((3, 8), (5, 8), (5, 20)):
        print(
            f"{names} equal ones, {n} runs: {wrongly_apart(n, names, samples):.1f} % told apart", flush=True
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
