"""The model of a Starlink link: its constants from the measurement, and its validation. See docs/starlink.md.

    python scripts/starlink_model.py fit DIR        # constants and 95 % intervals by day, and of the model
    python scripts/starlink_model.py validate DIR   # TCP over the model beside the measured, by day
    python scripts/starlink_model.py race           # algorithms over the model, at all ends of its ranges

DIR is that of scripts/starlink.py. The model was fitted on 27 May 2024; the other days are for comparison.
`validate` and `race` write tables of docs/starlink.md and CSV files into docs/validation.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import md
import numpy as np
import starlink
from numpy.typing import NDArray
from starlink_counts import MSS, QUIET, SLOT_S, TEST_S, WAYS, Counts, of_result

import bentpipe as bp
from bentpipe import files, terminal
from bentpipe.controller import named_algorithm
from bentpipe.drawn import starlink as model
from bentpipe.drawn.recipe import Recipe

Floats = NDArray[np.float64]
Item = TypeVar("Item")
SLOTS = int(TEST_S / SLOT_S)
LEAST_SLOTS = 20
"""Half seconds that a period needs to count, of its 30."""
MODEL_TESTS = 200
"""Tests of the model whose statistics are shown beside the measured ones."""
BOOTSTRAP = 1000


@dataclass(frozen=True)
class Day:
    """What describes the capacity of a day, for each test, so that tests can be drawn again.

    Attributes:
        slots: (tests, 240) payload of half seconds in bits per second.
        phases: their middles in seconds after a full minute, modulo 15.
        periods: the period of each.
        clear: whether it is outside outages.
        pings: round trips in seconds.
        windows: of UDP and TCP tests, the outages' lengths in seconds.
    """

    slots: list[Floats]
    phases: list[Floats]
    periods: list[NDArray[np.int64]]
    clear: list[NDArray[np.bool_]]
    pings: list[Floats]
    windows: list[Floats]


def measured(directory: Path, day: str) -> Day:
    """The capacity of a day, from its UDP tests, pings and the dish's outages."""
    capacities, transfers, _ = starlink.measured(directory, day)
    dark = [one for one in starlink.outages(directory / starlink.DISH / day) if one.cause != "BOOTING"]
    middle = (np.arange(SLOTS) + 0.5) * SLOT_S
    slots, phases, periods, clear = [], [], [], []
    for one in capacities:
        times, rates = one.frame["t_s"].to_numpy(), one.frame["rate_bps"].to_numpy()
        slots.append(rates[np.clip(np.searchsorted(times, middle, side="right") - 1, 0, len(times) - 1)])
        now = one.begin_s + middle
        hit = np.zeros(SLOTS, dtype=bool)
        for each in dark:  # and the half second around: the clocks agree that well
            hit |= (now > each.begin_s - 0.75) & (now < each.begin_s + each.length_s + 0.75)
        clear.append(~hit)
        phases.append(now % model.PERIOD_S)
        periods.append(np.floor((now - model.PHASE_S) / model.PERIOD_S).astype(np.int64))
    begins = [one.begin_s for one in (*capacities, *transfers)]
    windows = [
        np.array([one.length_s for one in dark if begin <= one.begin_s < begin + TEST_S]) for begin in begins
    ]
    return Day(
        slots, phases, periods, clear, [2 * one.ping["delay_s"].to_numpy() for one in capacities], windows
    )


def drawn(tests: int) -> Day:
    """The same of the model: each test has a seed of its own."""
    profile = model.PROFILES["car-2024"]
    middle = (np.arange(SLOTS) + 0.5) * SLOT_S
    to_payload = starlink.DATAGRAM / (starlink.DATAGRAM + starlink.DATAGRAM_HEADER)
    slots, pings, windows = [], [], []
    for seed in range(1, tests + 1):
        frame = model.line(
            profile, "down", seed, TEST_S, profile.rate_down_bps.value, profile.blackout_s.value
        )
        times = frame["t_s"].to_numpy()
        rates = to_payload * frame["rate_bps"].to_numpy() * frame["up"].to_numpy()
        sent = np.append(0.0, np.cumsum(rates[:-1] * np.diff(times)))
        ends = np.arange(SLOTS + 1) * SLOT_S
        slots.append(np.diff(np.interp(ends, times, sent)) / SLOT_S)
        pings.append(2 * np.interp(np.arange(0, 30, 0.2), times, frame["delay_s"].to_numpy()))
        out = model.outages(profile, seed, TEST_S)
        windows.append(np.array([end - begin for begin, end in out]))
    phases = [middle % model.PERIOD_S] * tests
    periods = [np.floor((middle - model.PHASE_S) / model.PERIOD_S).astype(np.int64)] * tests
    return Day(slots, phases, periods, [np.ones(SLOTS, dtype=bool)] * tests, pings, windows)


@dataclass(frozen=True)
class Test:
    """The levels of a UDP test's periods, and its half seconds relative to these."""

    levels: dict[int, float]
    spreads: dict[int, float]
    course: Floats
    phases: Floats

    def standardised(self, periods: NDArray[np.int64]) -> Floats:
        """The course over the standard deviation of its period."""
        found = self.course.copy()
        for period, spread in self.spreads.items():
            found[periods == period] /= spread
        return found


def split(day: Day) -> list[tuple[Test, Floats]]:
    """Each test in levels and courses, with its standardised course."""
    found = []
    for slots, phases, periods, clear in zip(day.slots, day.phases, day.periods, day.clear, strict=True):
        course = np.full(len(slots), np.nan)
        levels, spreads = {}, {}
        for period in np.unique(periods).tolist():
            own = (periods == period) & clear
            if own.sum() >= LEAST_SLOTS:
                levels[period] = float(slots[own].mean())
                course[own] = slots[own] / levels[period] - 1
                spreads[period] = float(np.std(course[own]))
        test = Test(levels, spreads, course, phases)
        found.append((test, test.standardised(periods)))
    return found


Split = Sequence[tuple[Test, Floats]]


def _levels(tests: Split) -> Floats:
    return np.array([level for test, _ in tests for level in test.levels.values()])


def _spreads(tests: Split) -> Floats:
    return np.log([spread for test, _ in tests for spread in test.spreads.values()])


def _next(tests: Split) -> float:
    pairs = [(of.levels[k], of.levels[k + 1]) for of, _ in tests for k in of.levels if k + 1 in of.levels]
    return float(np.corrcoef(np.array(pairs).T)[0, 1])


def _half(tests: Split) -> float:
    """The correlation of successive half seconds; a mean over n of them takes (1 + r) / (1 - r) / n away."""
    both = np.concatenate([of[:-1] * of[1:] for _, of in tests])
    seen = float(np.nanmean(both) / np.nanmean(np.concatenate([of**2 for _, of in tests])))
    found = seen
    for _ in range(20):  # a fixed point
        lost = (1 + found) / (1 - found) / (model.PERIOD_S / SLOT_S)
        found = seen + lost * (1 - seen)
    return found


def _blackout(tests: Split) -> float:
    """Seconds of capacity that the 3 s around the end of a period lack."""
    phases = np.concatenate([of.phases for of, _ in tests])
    course = np.concatenate([of.course for of, _ in tests])
    near, far = (phases >= 10.5) & (phases < 13.5), (phases >= 1) & (phases < 9)
    return float(3 * (np.nanmean(course[far]) - np.nanmean(course[near])))


STATISTICS: dict[str, Callable[[Split], float]] = {
    "level: median, Mbit/s": lambda tests: float(np.median(_levels(tests))) / 1e6,
    "level: p10, Mbit/s": lambda tests: float(np.percentile(_levels(tests), 10)) / 1e6,
    "level: p90, Mbit/s": lambda tests: float(np.percentile(_levels(tests), 90)) / 1e6,
    "level_cv": lambda tests: float(np.std(_levels(tests)) / np.mean(_levels(tests))),
    "level_slow": _next,
    "course_cv": lambda tests: float(np.exp(np.median(_spreads(tests)))),
    "course_spread": lambda tests: float(np.std(_spreads(tests))),
    "course_level": lambda tests: float(np.corrcoef(_spreads(tests), np.log(_levels(tests)))[0, 1]),
    "course_half": _half,
    "blackout_s": _blackout,
}
LENGTHS: dict[str, Callable[[Sequence[Floats]], float]] = {
    "outage_every_s": lambda tests: TEST_S * len(tests) / max(sum(map(len, tests)), 1),
    "outage_length_s": lambda tests: float(np.median(np.concatenate(tests))),
    "outage_spread": lambda tests: float(np.std(np.log(np.concatenate(tests)))),
    "outages: share of time": lambda tests: float(np.concatenate(tests).sum() / (TEST_S * len(tests))),
}
PINGS: dict[str, Callable[[Sequence[Floats]], float]] = {
    "rtt: p1, ms": lambda tests: 1e3 * float(np.percentile(np.concatenate(tests), 1)),
    "rtt: p10, ms": lambda tests: 1e3 * float(np.percentile(np.concatenate(tests), 10)),
    "rtt: p50, ms": lambda tests: 1e3 * float(np.percentile(np.concatenate(tests), 50)),
    "rtt: p90, ms": lambda tests: 1e3 * float(np.percentile(np.concatenate(tests), 90)),
    "rtt: p99, ms": lambda tests: 1e3 * float(np.percentile(np.concatenate(tests), 99)),
    "rtt_more_s": lambda tests: float(np.exp(np.mean(_beyond(tests)))),
    "rtt_spread": lambda tests: float(np.std(_beyond(tests))),
    "rtt: correlation at 0.2 s": lambda tests: _lag(tests, 1),
    "rtt: correlation at 1 s": lambda tests: _lag(tests, 5),
    "rtt: correlation at 5 s": lambda tests: _lag(tests, 25),
    "rtt: correlation at 10 s": lambda tests: _lag(tests, 50),
}


def _beyond(tests: Sequence[Floats]) -> Floats:
    least = model.PROFILES["car-2024"].rtt_least_s.value
    return np.asarray(np.log(np.maximum(np.concatenate(tests) - least, 1e-3)))


def _lag(tests: Sequence[Floats], lag: int) -> float:
    whole = _beyond(tests)
    parts = [_beyond([test]) - whole.mean() for test in tests if len(test) > lag]
    return float(np.mean(np.concatenate([of[:-lag] * of[lag:] for of in parts])) / whole.var())


def interval(tests: Sequence[Item], of: Callable[[Sequence[Item]], float]) -> tuple[float, float, float]:
    """A statistic of tests with its 95 % interval by a bootstrap over them."""
    random = np.random.default_rng(1)
    again = [of([tests[i] for i in random.integers(0, len(tests), len(tests))]) for _ in range(BOOTSTRAP)]
    low, high = np.percentile(again, [2.5, 97.5])
    return of(tests), float(low), float(high)


def fit(directory: Path) -> str:
    """A table: each statistic of each day, with its interval, and of the model."""
    days = {day: measured(directory, day) for day in starlink.DAYS}
    made = drawn(MODEL_TESTS)
    rows = [["", *(f"{day[6:]} May" for day in days), "model"], ["---", *["---:"] * (len(days) + 1)]]
    parts = {day: split(of) for day, of in days.items()}
    whole = split(made)
    for name, of in STATISTICS.items():
        rows.append([name, *(_shown(*interval(parts[day], of)) for day in days), f"{of(whole):.3g}"])
    for table, key in ((LENGTHS, "windows"), (PINGS, "pings")):
        for name, what in table.items():
            found = [_shown(*interval(getattr(day, key), what)) for day in days.values()]
            rows.append([name, *found, f"{what(getattr(made, key)):.3g}"])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _shown(value: float, low: float, high: float) -> str:
    return f"{value:.3g} ({low:.3g} to {high:.3g})"


TO_WIRE = (starlink.DATAGRAM + starlink.DATAGRAM_HEADER) / starlink.DATAGRAM
FAMILIES = {"D": (0.25, 1.0), "S": (2.5, 0.65)}
"""Both explanations of the measurement: buffer in BDP, and share of the rate."""


@dataclass(frozen=True)
class Tests:
    """Tests of TCP, measured or simulated, with one capacity for all: payload in bits per second.

    Attributes:
        capacity_bps: by test.
        slots_bps: goodput of half seconds, by test.
        again: for each way to count (`starlink_counts.WAYS`) retransmitted over delivered, by test. Simulated
            tests also have "sender", the sender's own count of the whole test.
        quiet: for each way the share of times of 5 s that are quiet.
    """

    capacity_bps: list[float]
    slots_bps: list[Floats]
    again: dict[str, list[float]]
    quiet: dict[str, float]

    @property
    def share(self) -> Floats:
        """Goodput over capacity of each test."""
        each = zip(self.slots_bps, self.capacity_bps, strict=True)
        return np.array([slots.mean() / capacity for slots, capacity in each])

    @property
    def idle(self) -> float:
        """Share of half seconds with less than 1 % of the capacity."""
        each = zip(self.slots_bps, self.capacity_bps, strict=True)
        return float(np.mean(np.concatenate([slots < 0.01 * capacity for slots, capacity in each])))

    def pooled(self, share: float) -> float:
        """A quantile of the half seconds of all tests, Mbit/s."""
        return float(np.percentile(np.concatenate(self.slots_bps), share)) / 1e6


def transfers(directory: Path, day: str, way: str) -> Tests:
    """The measured TCP tests of a day that have a UDP test within 15 minutes; uplinks have no capacity."""
    capacities, _, _ = starlink.measured(directory, day)
    kept, counts = [], []
    for file in sorted((directory / starlink.PLACE / day).glob(f"*/tcp_{way}_*.out")):
        try:
            one = starlink.transfer(file)
        except (bp.ScenarioError, ValueError):  # refused
            continue
        near = starlink.near(capacities, one.begin_s) if way == "downlink" else float(one.slots_bps.mean())
        if near is not None and one.counts is not None:
            kept.append((near, one))
            counts.append(one.counts)
    return Tests([near for near, _ in kept], [one.slots_bps for _, one in kept], *_counted(counts))


def _counted(counts: Sequence[Counts]) -> tuple[dict[str, list[float]], dict[str, float]]:
    """For each way to count, the retransmitted share of each test, and the share of quiet times of all."""
    again = {way: [found for one in counts if not np.isnan(found := one.again(way))] for way in WAYS}
    pooled = {way: [found for one in counts for found in one.windows(way)] for way in WAYS}
    return again, {way: float(np.mean(np.array(found) <= QUIET)) for way, found in pooled.items()}


@dataclass(frozen=True)
class Setting:
    """A sender over the model.

    Attributes:
        cc: the algorithm.
        family: one of `FAMILIES`; None on the uplink, whose buffer is that of the preset.
        loss: loss events per packet; None for those of the preset.
        window: receive window.
        rate: median of the level, on the wire, bits per second; None for that of the profile.
        up: the uplink.
        length_s: of a run.
        counted: record what `starlink_counts` needs.
    """

    cc: str
    family: str | None = "D"
    loss: float | None = None
    window: str | None = None
    rate: float | None = None
    up: bool = False
    length_s: float = TEST_S
    counted: bool = False

    def scenario(self, seed: int) -> bp.Scenario:
        """The scenario of a seed."""
        name = "starlink-up" if self.up else "starlink-down"
        base = bp.Scenario.load(name, {"duration": f"{self.length_s:g} s", "seed": seed})
        link, (flow,) = base.links["starlink"], base.flows
        recipe = dict(link.timeline) if isinstance(link.timeline, dict) else {}
        if self.family is not None:
            bdp, recipe["share"] = FAMILIES[self.family]
            link.queue = bp.DropTail(f"{bdp:g} bdp")
        if self.rate is not None:
            recipe["rate_median"] = f"{self.rate / 1e6:.6g} Mbit/s"
        link.timeline = recipe
        if self.loss is not None:
            link.loss = bp.GilbertElliott(p=self.loss, r=1 / 8)
        flow.receive_window = self.window
        set_sender(flow, self.cc)
        base.record = bp.Record(f"{SLOT_S:g} s", segments=self.counted)
        return base


def set_sender(flow: bp.Flow, cc: str) -> None:
    """Gives a flow an algorithm, and the segments and the least timeout of the measured senders."""
    flow.cc, flow.min_rto = named_algorithm(cc), "200 ms"
    flow.mss, flow.header = f"{MSS} bytes", f"{starlink.HEADER} bytes"


def simulate(setting: Setting, seeds: int) -> Tests:
    """Runs of the first seeds, each over a draw of its own. One at a time: a run has millions of segments."""
    ends = np.arange(0, setting.length_s + SLOT_S / 2, SLOT_S)
    capacities, slots, sender, counts = [], [], [], []
    for seed in range(1, seeds + 1):
        scenario = setting.scenario(seed)
        result = bp.run(scenario)
        times, delivered = result.trace["t_s"].to_numpy(), result.trace["delivered_bytes"].to_numpy()
        slots.append(np.diff(8.0 * np.interp(ends, times, delivered)) / SLOT_S)
        row = result.flows.row(0, named=True)
        sender.append(row["retransmitted_packets"] * MSS / max(row["delivered_bytes"], 1))
        counts += [of_result(result, late=not setting.up)] if setting.counted else []
        timeline = scenario.links["starlink"].timeline
        assert isinstance(timeline, dict)
        capacities.append(float(capacity(timeline, seed, setting.length_s).mean()))
    again, quiet = _counted(counts) if counts else ({}, {})
    return Tests(capacities, slots, {**again, "sender": sender}, quiet)


def capacity(timeline: Mapping[str, object], seed: int, length_s: float) -> Floats:
    """What UDP would get in each second of a draw: payload outside outages, with all of the rate.

    Args:
        timeline: the recipe of a direction.
        seed: of the draw.
        length_s: whole seconds.
    """
    recipe = Recipe.of({**timeline, "share": 1.0}, "timeline")
    frame = recipe.line(seed, length_s)
    times = frame["t_s"].to_numpy()
    outages = recipe.outages(seed, length_s)
    edges = np.unique(np.concatenate([times, *outages])) if outages else times
    now = np.searchsorted(times, edges[:-1], side="right") - 1
    rates = (frame["rate_bps"].to_numpy() * frame["up"].to_numpy() / TO_WIRE)[now]
    for begin, end in outages:
        rates[(edges[:-1] >= begin) & (edges[:-1] < end)] = 0
    sent = np.append(0.0, np.cumsum(rates * np.diff(edges)))
    return np.diff(np.interp(np.arange(round(length_s) + 1), edges, sent))


VALIDATED = {
    "BBR, 0.25 BDP, window 1 MiB": Setting("bbr", "D", window="1 MiB", counted=True),
    "BBR, 2.5 BDP, 65 %": Setting("bbr", "S", counted=True),
}
"""The explanations of the measured downlink, over the model."""
TESTS = 16
"""Seeds of a day of `validate`."""


def validate(directory: Path) -> list[list[str]]:
    """For each day, the measured transfers, both explanations over the model, and the uplink."""
    rows = [[
        "day", "transfers", "goodput / capacity, %: p10, p50, p90",
        "Mbit/s of half seconds: p25, p50, p75, p90", "idle, %",
        "sent again, %, as reported: p10, p50, p90", "settled", "quiet 5 s, %: as reported, settled", "fails",
    ]]  # fmt: skip
    levels = STATISTICS["level: median, Mbit/s"]
    up = simulate(Setting("cubic slow_start=hystart", None, up=True, counted=True), TESTS)
    for day in starlink.DAYS:
        rate = levels(split(measured(directory, day))) * 1e6 * TO_WIRE
        seen = transfers(directory, day, "downlink")
        rows.append([f"{day[6:]} May", "measured downlink", *_columns(seen), ""])
        for name, setting in VALIDATED.items():
            found = simulate(replace(setting, rate=rate), TESTS)
            rows.append([f"{day[6:]} May", name, *_columns(found), _marked(_fails(found, seen))])
        seen = transfers(directory, day, "uplink")
        rows.append([f"{day[6:]} May", "measured uplink", "", *_columns(seen)[1:], ""])
        name = "CUBIC with HyStart, uplink"
        rows.append([f"{day[6:]} May", name, "", *_columns(up)[1:], _marked(_fails_up(up, seen))])
    return rows


def _marked(letters: str) -> str:
    """The cell of a row: marks that fail in red, which GitHub and the site draw alike."""
    return letters if letters == "none" else f"🔴 {letters}"


def _columns(of: Tests) -> list[str]:
    again = [np.percentile(of.again[way], [10, 50, 90]) for way in WAYS]
    return [
        ", ".join(f"{100 * value:.0f}" for value in np.percentile(of.share, [10, 50, 90])),
        ", ".join(f"{of.pooled(q):.0f}" for q in (25, 50, 75, 90)), f"{100 * of.idle:.1f}",
        *(", ".join(f"{100 * value:.2f}" for value in values) for values in again),
        ", ".join(f"{100 * of.quiet[way]:.0f}" for way in WAYS),
    ]  # fmt: skip


def _fails(found: Tests, seen: Tests) -> str:
    """The letters of the marks that fail: (a) to (e) of docs/starlink.md.

    Marks of retransmissions are tried with both ways to count. One that fails with one way alone names it.
    """
    marks: dict[str, bool | list[bool]] = {
        "a": bool(abs(np.median(found.share) - np.median(seen.share)) <= 0.09),
        "b": [_near_again(found, seen, way) for way in WAYS],
        "c": all(abs(found.pooled(q) / seen.pooled(q) - 1) <= 0.15 for q in (25, 50, 75, 90)),
        "d": abs(found.idle - seen.idle) <= 0.015,
        "e": [abs(found.quiet[way] - seen.quiet[way]) <= 0.15 for way in WAYS],
    }
    return _failed(marks)


def _fails_up(found: Tests, seen: Tests) -> str:
    """Mark (f): mean goodput within 15 %, retransmissions within a factor of 1.5."""
    mean = np.mean(np.concatenate(found.slots_bps)) / np.mean(np.concatenate(seen.slots_bps))
    again = [_near_again(found, seen, way) for way in WAYS]
    return _failed({"f: goodput": bool(abs(mean - 1) <= 0.15), "f: sent again": again})


def _near_again(found: Tests, seen: Tests, way: str) -> bool:
    """Whether the medians of the retransmitted share are within a factor of 1.5."""
    return bool(abs(np.log(np.median(found.again[way]) / np.median(seen.again[way]))) <= np.log(1.5))


def _failed(marks: Mapping[str, bool | list[bool]]) -> str:
    names = []
    for name, holds in marks.items():
        if not np.any(holds):
            names.append(name)
        elif not np.all(holds):
            names += [
                f"{name} ({way})" for way, one in zip(WAYS, np.atleast_1d(holds), strict=True) if not one
            ]
    return ", ".join(names) or "none"


RACED = {
    "BBR": "bbr", "BBRv3": "bbr3", "LeoCC": "leocc", "Illinois": "illinois", "CUBIC": "cubic",
    "CUBIC, HyStart": "cubic slow_start=hystart", "Reno": "reno", "Vegas": "vegas", "Copa": "copa",
    "A-LIAD": "a-liad", "TCP-STAR": "star", "HSWA-TCP": "hswa", "Vegas-L": "vegas-l", "SIMD": "simd",
}  # fmt: skip
"""The algorithms of `race`: those that people run, and those of the five papers."""
LOSSES = (6e-6, 2e-5, 1e-4)
RACE_SEEDS, RACE_S = 6, 60.0


def race() -> list[list[str]]:
    """For each algorithm the median goodput over what UDP gets: both families, all losses, and the uplink."""
    heads = [f"{family}, {_short(loss)}" for family in FAMILIES for loss in LOSSES]
    rows = [["algorithm", *heads, "sent again, D, 2e-5", "uplink"]]
    for name, cc in RACED.items():
        row, again = [name], ""
        for family in FAMILIES:
            for loss in LOSSES:
                found = simulate(Setting(cc, family, loss, length_s=RACE_S), RACE_SEEDS)
                row.append(f"{100 * np.median(found.share):.0f}")
                if (family, loss) == ("D", 2e-5):
                    again = f"{100 * np.median(found.again['sender']):.2f}"
        up = simulate(Setting(cc, None, up=True, length_s=RACE_S), RACE_SEEDS)
        rows.append([*row, again, f"{100 * np.median(up.share):.0f}"])
        terminal.note(" ".join(rows[-1]))
    return rows


def _short(rate: float) -> str:
    """A rate as "2e-5"."""
    return f"{rate:.0e}".replace("e-0", "e-")


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the table of `fit`, or writes one into the page. Exit status 2: the data is not there."""
    parser = md.command_line(__doc__)
    parser.add_argument("what", choices=("fit", "validate", "race"))
    parser.add_argument("directory", type=Path, nargs="?", help="with datasets/maine_starlink_trip/raw in it")
    parser.add_argument("--out", type=Path, default=md.DOCS, help="where starlink.md lies; default docs")
    given = parser.parse_args(arguments)
    if given.what == "race":
        write(given.out, "race", race())
        return 0
    if given.directory is None or not (given.directory / starlink.PLACE).is_dir():
        terminal.error(f"{given.directory}: the head of starlink.py says how to get the data")
        return 2
    if given.what == "fit":
        terminal.line(fit(given.directory))
    else:
        write(given.out, "validate", validate(given.directory))
    return 0


def write(out: Path, what: str, rows: Sequence[Sequence[str]], mark: str | None = None) -> None:
    """Writes a table as CSV, and into the page between its marks.

    Args:
        out: the folder of the page.
        what: in the name of the CSV file.
        rows: the table, its heads first.
        mark: what the marks name; by default this script and `what`.
    """
    text = files.csv_text(rows)
    place = out / "validation" / f"starlink_{what}.csv"
    place.parent.mkdir(parents=True, exist_ok=True)
    files.replace_text(place, text)
    lines = [rows[0], ["---", *["---:"] * (len(rows[0]) - 1)], *rows[1:]]
    table = "\n".join(md.row(*cells) for cells in lines)
    md.fill(out / "starlink.md", table, mark or f"scripts/starlink_model.py {what}")
    terminal.line(text.rstrip())


if __name__ == "__main__":
    sys.exit(main())
