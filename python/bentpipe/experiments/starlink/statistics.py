"""Statistics of Starlink on a day, measured and drawn from the model. See docs/starlink.md."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from bentpipe.experiments.starlink import measured as data
from bentpipe.experiments.starlink.measured import Floats
from bentpipe.timeline.drawn import PERIOD_S, PHASE_S, PROFILES, draw

Item = TypeVar("Item")
SLOTS = int(data.TEST_S / data.SLOT_S)
LEAST_SLOTS = 20
"""Half seconds that a period needs to count, of its 30."""
MODEL_TESTS = 200
"""Tests of the model whose statistics are shown beside the measured ones."""
BOOTSTRAP = 1000
PING_S = 0.2
"""Between two pings."""


@dataclass(frozen=True)
class Day:
    """What describes the capacity of a day, for each test, so that tests can be drawn again."""

    slots: list[Floats]  #: (tests, 240) payload of half seconds in bits per second.
    phases: list[Floats]  #: their middles in seconds after a full minute, modulo 15.
    periods: list[NDArray[np.int64]]  #: the period of each.
    clear: list[NDArray[np.bool_]]  #: whether it is outside outages.
    pings: list[Floats]  #: round trips in seconds.
    windows: list[Floats]  #: of UDP and TCP tests, the outages' lengths in seconds.


def of_day(directory: Path, day: str) -> Day:
    """The capacity of a day, from its UDP tests, pings and the dish's outages."""
    capacities, transfers, _ = data.measured(directory, day)
    dark = [one for one in data.outages(directory / data.DISH / day) if one.cause != "BOOTING"]
    middle = (np.arange(SLOTS) + 0.5) * data.SLOT_S
    slots, phases, periods, clear = list[Floats](), list[Floats](), [], []
    for one in capacities:
        times, rates = one.frame["t_s"].to_numpy(), one.frame["rate_bps"].to_numpy()
        slots.append(rates[np.clip(np.searchsorted(times, middle, side="right") - 1, 0, len(times) - 1)])
        now = one.begin_s + middle
        hit = np.zeros(SLOTS, dtype=bool)
        for each in dark:  # and the half second around: the clocks agree that well
            hit |= (now > each.begin_s - 0.75) & (now < each.begin_s + each.length_s + 0.75)
        clear.append(~hit)
        phases.append(np.mod(now, PERIOD_S))
        periods.append(np.floor((now - PHASE_S) / PERIOD_S).astype(np.int64))
    begins = [*(one.begin_s for one in capacities), *(one.begin_s for one in transfers)]
    test = data.TEST_S
    windows = [np.array([one.length_s for one in dark if 0 <= one.begin_s - at < test]) for at in begins]
    return Day(
        slots, phases, periods, clear, [2 * one.ping["delay_s"].to_numpy() for one in capacities], windows
    )


def drawn(tests: int) -> Day:
    """The same of the model: each test has a seed of its own."""
    middle = (np.arange(SLOTS) + 0.5) * data.SLOT_S
    slots, pings, windows = list[Floats](), [], []
    for seed in range(1, tests + 1):
        found = draw({"generator": "starlink"}, seed, data.TEST_S)
        frame = found.line
        times = frame["t_s"].to_numpy()
        rates = frame["rate_bps"].to_numpy() * frame["up"].to_numpy() / data.TO_WIRE
        sent = np.append(0.0, np.cumsum(rates[:-1] * np.diff(times)))
        ends = np.arange(SLOTS + 1) * data.SLOT_S
        slots.append(np.diff(np.interp(ends, times, sent)) / data.SLOT_S)
        pings.append(2 * np.interp(np.arange(0, 30, PING_S), times, frame["delay_s"].to_numpy()))
        windows.append(np.array([end - begin for begin, end in found.outages]))
    phases = [np.mod(middle, PERIOD_S)] * tests
    periods = [np.floor((middle - PHASE_S) / PERIOD_S).astype(np.int64)] * tests
    return Day(slots, phases, periods, [np.ones(SLOTS, dtype=bool)] * tests, pings, windows)


@dataclass(frozen=True)
class UdpLevels:
    """The levels of a UDP test's periods, and its half seconds relative to these."""

    levels: dict[int, float]  #: by period.
    spreads: dict[int, float]  #: standard deviation of the course in each period.
    course: Floats  #: of each half second.
    even: Floats  #: the course over the standard deviation of its period.
    phases: Floats  #: as of the day.


def split(day: Day) -> list[UdpLevels]:
    """Each test in levels and courses."""
    found = []
    for slots, phases, periods, clear in zip(day.slots, day.phases, day.periods, day.clear, strict=True):
        test = UdpLevels({}, {}, np.full(len(slots), np.nan), np.full(len(slots), np.nan), phases)
        for period in np.unique(periods).tolist():
            own = (periods == period) & clear
            if own.sum() >= LEAST_SLOTS:
                test.levels[period] = float(slots[own].mean())
                test.course[own] = slots[own] / test.levels[period] - 1
                test.spreads[period] = float(np.std(test.course[own]))
                test.even[own] = test.course[own] / test.spreads[period]
        found.append(test)
    return found


Split = Sequence[UdpLevels]


def _levels(tests: Split) -> Floats:
    return np.array([level for test in tests for level in test.levels.values()])


def _spreads(tests: Split) -> Floats:
    return np.log([spread for test in tests for spread in test.spreads.values()])


def _next(tests: Split) -> float:
    pairs = [(of.levels[k], of.levels[k + 1]) for of in tests for k in of.levels if k + 1 in of.levels]
    return float(np.corrcoef(np.array(pairs).T)[0, 1])


def _half(tests: Split) -> float:
    """The correlation of successive half seconds; a mean over n of them takes (1 + r) / (1 - r) / n away."""
    both = np.concatenate([of.even[:-1] * of.even[1:] for of in tests])
    seen = float(np.nanmean(both) / np.nanmean(np.concatenate([of.even**2 for of in tests])))
    found = seen
    for _ in range(20):  # a fixed point
        lost = (1 + found) / (1 - found) / (PERIOD_S / data.SLOT_S)
        found = seen + lost * (1 - seen)
    return found


def _blackout(tests: Split) -> float:
    """Seconds of capacity that the 3 s around the end of a period lack."""
    phases = np.concatenate([of.phases for of in tests])
    course = np.concatenate([of.course for of in tests])
    near, far = (phases >= 10.5) & (phases < 13.5), (phases >= 1) & (phases < 9)
    return float(3 * (np.nanmean(course[far]) - np.nanmean(course[near])))


def _beyond(tests: Sequence[Floats]) -> Floats:
    least = PROFILES["car-2024"].rtt_least_s.value
    return np.asarray(np.log(np.maximum(np.concatenate(tests) - least, 1e-3)))


def _lag(tests: Sequence[Floats], lag: int) -> float:
    whole = _beyond(tests)
    parts = [_beyond([test]) - whole.mean() for test in tests if len(test) > lag]
    return float(np.mean(np.concatenate([of[:-lag] * of[lag:] for of in parts])) / whole.var())


def _rtt_ms(tests: Sequence[Floats], share: float) -> float:
    return 1e3 * float(np.percentile(np.concatenate(tests), share))


STATISTICS: dict[str, Callable[[Split], Any]] = {
    "level: median, Mbit/s": lambda tests: np.median(_levels(tests)) / 1e6,
    "level: p10, Mbit/s": lambda tests: np.percentile(_levels(tests), 10) / 1e6,
    "level: p90, Mbit/s": lambda tests: np.percentile(_levels(tests), 90) / 1e6,
    "levels: standard deviation over mean": lambda tests: np.std(_levels(tests)) / np.mean(_levels(tests)),
    "levels: correlation of successive periods": _next,
    "half seconds in a period: standard deviation over mean, median": (
        lambda tests: np.exp(np.median(_spreads(tests)))
    ),
    "the same: standard deviation of its logarithm": lambda tests: np.std(_spreads(tests)),
    "the same: correlation of its logarithm with that of the level": (
        lambda tests: np.corrcoef(_spreads(tests), np.log(_levels(tests)))[0, 1]
    ),
    "correlation of successive half seconds": _half,
    "lack around the end of a period, s": _blackout,
}
LENGTHS: dict[str, Callable[[Sequence[Floats]], Any]] = {
    "time between outages, s": lambda tests: data.TEST_S * len(tests) / max(sum(map(len, tests)), 1),
    "length of an outage, median, s": lambda tests: np.median(np.concatenate(tests)),
    "the same: standard deviation of the logarithm": lambda tests: np.std(np.log(np.concatenate(tests))),
    "outages: share of time": lambda tests: np.concatenate(tests).sum() / (data.TEST_S * len(tests)),
}
PINGS: dict[str, Callable[[Sequence[Floats]], Any]] = {
    **{f"rtt: p{share}, ms": partial(_rtt_ms, share=share) for share in (1, 10, 50, 90, 99)},
    "round trip beyond 26 ms: geometric mean, s": lambda tests: np.exp(np.mean(_beyond(tests))),
    "the same: standard deviation of the logarithm": lambda tests: np.std(_beyond(tests)),
    **{f"rtt: correlation at {PING_S * lag:g} s": partial(_lag, lag=lag) for lag in (1, 5, 25, 50)},
}


def interval(tests: Sequence[Item], of: Callable[[Sequence[Item]], Any]) -> tuple[float, float, float]:
    """A statistic of tests with its 95 % interval by a bootstrap over them."""
    random = np.random.default_rng(1)
    again = [of([tests[i] for i in random.integers(0, len(tests), len(tests))]) for _ in range(BOOTSTRAP)]
    low, high = np.percentile(again, [2.5, 97.5])
    return float(of(tests)), float(low), float(high)


def fit(directory: Path) -> list[list[str]]:
    """A table: each statistic of each day, with its 95 % interval, and of the model."""
    days, made = [of_day(directory, day) for day in data.DAYS], drawn(MODEL_TESTS)
    rows = [["", *(f"{day[6:]} May" for day in data.DAYS), "model"]]

    def add(table: Mapping[str, Callable[[Any], Any]], part: Callable[[Day], Any]) -> None:
        parts, model = list(map(part, days)), part(made)
        for name, of in table.items():
            rows.append([name, *(_shown(*interval(each, of)) for each in parts), f"{of(model):.3g}"])

    add(STATISTICS, split)
    add(LENGTHS, attrgetter("windows"))
    add(PINGS, attrgetter("pings"))
    return rows


def _shown(value: float, low: float, high: float) -> str:
    return f"{value:.3g} ({low:.3g} to {high:.3g})"
