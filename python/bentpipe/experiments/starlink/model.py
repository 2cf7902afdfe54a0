"""Experiments over the model of a Starlink link: tables of docs/starlink.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import bentpipe as bp
from bentpipe.controller import named_algorithm
from bentpipe.experiments.experiment import case_of
from bentpipe.experiments.rows import Rows
from bentpipe.experiments.starlink import measured as data
from bentpipe.experiments.starlink.experiment import OfStarlink, Tests, by_setting, percentiles, transfers
from bentpipe.experiments.starlink.measured import MSS, SLOT_S, TEST_S, WAYS, Floats
from bentpipe.experiments.starlink.statistics import STATISTICS, fit, of_day, split
from bentpipe.sweeps.case import Case
from bentpipe.sweeps.kept import Row
from bentpipe.timeline.drawn import PROFILES

CAR = PROFILES["car-2024"]
Part = tuple[str, list[list[str]], str]
FAMILIES = {"D": (0.25, 1.0), "S": (2.5, 0.65)}
"""Both explanations of the measurement: buffer in BDP, and share of the rate."""


@dataclass(frozen=True)
class SenderSetting:
    """A sender over the model, or one in each direction."""

    cc: str  #: the algorithm.
    family: str | None = "D"  #: one of `FAMILIES`; None on the uplink, whose buffer is that of the preset.
    loss: float | None = None  #: loss events per packet; None for those of the preset.
    loss_up: float | None = None  #: the same of the reverse direction.
    window: str | None = None  #: receive window.
    #: median of the level, on the wire, bits per second; None for that of the profile.
    rate: float | None = None
    preset: str = "starlink-down"  #: the scenario.
    flows: Sequence[str] = ()  #: some of its flows; empty for all.
    length_s: float = TEST_S  #: of a run.
    counted: str = ""  #: "late" or "prompt": count its segments as those of a measured test.

    def scenario(self, seed: int) -> bp.Scenario:
        """The scenario of a seed, with the segments and the least timeout of the measured senders."""
        base = bp.Scenario.load(self.preset, {"duration": f"{self.length_s:g} s", "seed": seed})
        link = base.links["starlink"]
        recipe = dict(link.timeline) if isinstance(link.timeline, dict) else {}
        if self.family is not None:
            bdp, recipe["share"] = FAMILIES[self.family]
            link.queue = bp.DropTail(f"{bdp:g} bdp")
        if self.rate is not None:
            recipe["rate_median"] = f"{self.rate / 1e6:.6g} Mbit/s"
        link.timeline = recipe
        if self.loss is not None:
            link.loss = bp.GilbertElliott(p=self.loss, r=1 / CAR.loss_down_packets.value)
        if self.loss_up is not None:
            packets = CAR.loss_up_packets.value
            link.reverse = {**(link.reverse or {}), "loss": bp.GilbertElliott(p=self.loss_up, r=1 / packets)}
        base.flows = [flow for flow in base.flows if not self.flows or flow.name in self.flows]
        for flow in base.flows:
            flow.cc, flow.min_rto, flow.receive_window = named_algorithm(self.cc), "200 ms", self.window
            flow.mss, flow.header = f"{MSS} bytes", f"{data.HEADER} bytes"
        base.record = bp.Record(f"{SLOT_S:g} s", segments=bool(self.counted))
        return base

    def cases(self, seeds: Sequence[int], **keys: str) -> list[Case]:
        """The runs of seeds, each over a draw of its own; `keys` name the setting."""
        return [case_of({**keys, "seed": seed}, self.scenario(seed), counted=self.counted) for seed in seeds]


VALIDATED = {
    "BBR, 0.25 BDP, window 1 MiB": SenderSetting("bbr", "D", window="1 MiB", counted="late"),
    "BBR, 2.5 BDP, 65 %": SenderSetting("bbr", "S", counted="late"),
}
"""The explanations of the measured downlink, over the model."""
TESTS = 16
"""Seeds of a day of `validate`."""


UPLINK = SenderSetting("cubic slow_start=hystart", None, preset="starlink-up", counted="prompt")


class Validation(OfStarlink):
    """TCP over the model beside the measured, day by day.

    The model was fitted on 27 May 2024; the other days are for comparison. A second table has the statistics
    to which it was fitted, of each day and of the model (`statistics.py`).
    """

    name = "starlink-model"

    def cases(self) -> list[Case]:
        """Both explanations at the rate of each day, and the uplink, with each seed."""
        directory, levels = self.given(), STATISTICS["level: median, Mbit/s"]
        self.given(data.PLACE)
        seeds = self.seeds(TESTS)
        found = UPLINK.cases(seeds, day="", setting="uplink")
        for day in data.DAYS:
            rate = levels(split(of_day(directory, day))) * 1e6 * data.TO_WIRE
            for name, setting in VALIDATED.items():
                found += replace(setting, rate=rate).cases(seeds, day=day, setting=name)
        return found

    def parts(self, rows: Rows) -> Iterator[Part]:
        """Both tables."""
        directory, found = self.given(), by_setting(rows, "day", "setting")
        yield "starlink_validate", validated(directory, found, found["", "uplink"]), ""
        yield "starlink_fit", fit(directory), ""


def validated(directory: Path, found: Mapping[tuple[Any, ...], Tests], up: Tests) -> list[list[str]]:
    """For each day, the measured transfers, both explanations over the model, and the uplink."""
    rows = [[
        "day", "transfers", "goodput / capacity, %: p10, p50, p90",
        "Mbit/s of half seconds: p25, p50, p75, p90", "idle, %",
        "sent again, %, as reported: p10, p50, p90", "settled", "quiet 5 s, %: as reported, settled", "fails",
    ]]  # fmt: skip
    for day in data.DAYS:
        seen, of = transfers(directory, day, "downlink"), f"{day[6:]} May"
        rows.append([of, "measured downlink", *_columns(seen), ""])
        for name in VALIDATED:
            ours = found[day, name]
            rows.append([of, name, *_columns(ours), _marked(_fails(ours, seen))])
        seen = transfers(directory, day, "uplink")
        rows.append([of, "measured uplink", "", *_columns(seen)[1:], ""])
        rows.append([of, "CUBIC with HyStart, uplink", "", *_columns(up)[1:], _marked(_fails_up(up, seen))])
    return rows


def _marked(letters: str) -> str:
    """The cell of a row: marks that fail in red, which GitHub and the site draw alike."""
    return letters if letters == "none" else f"🔴 {letters}"


def _columns(of: Tests) -> list[str]:
    ends = (10, 50, 90)
    return [
        percentiles(100 * of.share, ends, 0),
        ", ".join(f"{of.pooled(q):.0f}" for q in (25, 50, 75, 90)), f"{100 * of.idle:.1f}",
        *(percentiles(100 * np.array(of.again[way]), ends, 2) for way in WAYS),
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
            ways = zip(WAYS, np.atleast_1d(holds), strict=True)
            names += [f"{name} ({way})" for way, one in ways if not one]
    return ", ".join(names) or "none"


RACED = {
    "BBR": "bbr", "BBRv3": "bbr3", "LeoCC": "leocc", "Illinois": "illinois", "CUBIC": "cubic",
    "CUBIC, HyStart": "cubic slow_start=hystart", "Reno": "reno", "Vegas": "vegas", "Copa": "copa",
    "A-LIAD": "a-liad", "TCP-STAR": "star", "HSWA-TCP": "hswa", "Vegas-L": "vegas-l", "SIMD": "simd",
}  # fmt: skip
"""The algorithms of the race: those that people run, and those of the five papers."""
RACE_LOSSES = {"6e-6": 6e-6, "2e-5": 2e-5, "1e-4": 1e-4}
RACES, LENGTH_S = 6, 60.0
"""Seeds of the race, and the length of its runs and of those with both directions."""


def race_settings(cc: str) -> dict[str, SenderSetting]:
    """All ends for an algorithm, by the heads of the table: both families, all losses, and the uplink."""
    found = {
        f"{family}, {name}": SenderSetting(cc, family, loss, length_s=LENGTH_S)
        for family in FAMILIES
        for name, loss in RACE_LOSSES.items()
    }
    return {**found, "uplink": SenderSetting(cc, None, preset="starlink-up", length_s=LENGTH_S)}


class StarlinkRace(OfStarlink):
    """Algorithms over the model at all ends of its ranges."""

    name = "starlink-race"

    def cases(self) -> list[Case]:
        """Every algorithm at all ends, with each seed."""
        return [
            case
            for name, cc in RACED.items()
            for end, setting in race_settings(cc).items()
            for case in setting.cases(self.seeds(RACES), algorithm=name, end=end)
        ]

    def parts(self, rows: Rows) -> Iterator[Part]:
        """The median goodput over what UDP gets."""
        found = by_setting(rows, "algorithm", "end")
        *ends, up = race_settings("")
        table = [["algorithm", *ends, "sent again, D, 2e-5", up]]
        for name in RACED:
            shares = [f"{100 * np.median(found[name, end].share):.0f}" for end in (*ends, up)]
            again = f"{100 * np.median(found[name, 'D, 2e-5'].again['sender']):.2f}"
            table.append([name, *shares[:-1], again, shares[-1]])
        yield "starlink_race", table, ""


BOTH_TESTS = 12
"""Seeds of a download and an upload."""
DIRECTIONS = ("down", "up")
SENDERS = {name: RACED[name] for name in ("BBR", "BBRv3", "CUBIC", "CUBIC, HyStart")}
LOSSES = {"few": (CAR.loss_down.low, CAR.loss_up.low), "many": (CAR.loss_down.high, CAR.loss_up.high)}
"""Loss events per packet at both ends of their ranges, downlink and uplink."""
ENDS = {f"{family}, {few}": (family, *losses) for family in FAMILIES for few, losses in LOSSES.items()}
"""The ends of what the measurement leaves open: a family, and losses down and up."""
BOTH = "at once"


class Both(OfStarlink):
    """A download and an upload at once, and alone.

    The folder of measured data may have `throughput.csv` of sys-uos/Starlink-on-the-Autobahn (in
    `Data/Autobahn/throughput.zip`), and `iperf.csv` of sys-uos/Starlink-on-the-Road (in `data`): seconds in
    which both directions were measured at once. Without them the second table has simulated rows alone.
    """

    name = "starlink-both"

    def cases(self) -> list[Case]:
        """Each algorithm at each end, at once and alone, with each seed."""
        return [
            case
            for name, cc in SENDERS.items()
            for end, of in ENDS.items()
            for ways in (BOTH, *DIRECTIONS)
            for case in SenderSetting(
                cc, *of, preset="starlink", flows=DIRECTIONS if ways == BOTH else [ways], length_s=LENGTH_S
            ).cases(self.seeds(BOTH_TESTS), algorithm=name, end=end, ways=ways)
        ]

    def parts(self, rows: Rows) -> Iterator[Part]:
        """Both tables."""
        found = {key: of.column("flows") for key, of in rows.groups("algorithm", "end", "ways").items()}
        files = [self.data / name for name in ("throughput.csv", "iperf.csv")] if self.data else []
        yield "starlink_both", in_both_directions(found), ""
        yield "starlink_both_seconds", distributions(found, [file for file in files if file.is_file()]), ""


Found = Mapping[tuple[Any, ...], Sequence[Row]]
"""The runs of all seeds by algorithm, end and ways."""


def in_both_directions(found: Found) -> list[list[str]]:
    """Each algorithm at each end, alone and at once."""
    heads = ["algorithm", "end", *(f"{way}, {what}" for way in DIRECTIONS for what in ("alone", BOTH))]
    rows = [[*heads, "sent again down, %: alone, at once", "round trip down, ms: alone, at once"]]
    for name in SENDERS:
        for end in ENDS:
            pairs = {
                way: [[run[way] for run in found[name, end, ways]] for ways in (way, BOTH)]
                for way in DIRECTIONS
            }
            shares = [
                f"{100 * np.median(Tests.of(flows).share):.0f}" for pair in pairs.values() for flows in pair
            ]
            medians = {
                of: [float(np.median([flow[of] for flow in flows])) for flows in pairs["down"]]
                for of in ("again", "rtt_s")
            }
            again = ", ".join(f"{100 * value:.2f}" for value in medians["again"])
            trips = ", ".join(f"{1e3 * value:.0f}" for value in medians["rtt_s"])
            rows.append([name, end, *shares, again, trips])
    return rows


QUANTILES = (10, 25, 50, 75, 90)


def distributions(found: Found, files: Sequence[Path]) -> list[list[str]]:
    """Goodput of seconds with both directions at once, measured and simulated."""
    rows = [["seconds", *(f"{way}, Mbit/s: p10, p25, p50, p75, p90" for way in DIRECTIONS), "correlation"]]
    for file in files:
        measured = pl.read_csv(file, infer_schema_length=None, null_values="")
        if "download" in measured:
            rows.append(_pooled("Autobahn, April 2024", measured["download"], measured["upload"]))
            continue
        both = measured.drop_nulls(["download_mbps", "upload_mbps"])
        for words, moves in (("moves", True), ("is parked", False)):
            own = both.filter((pl.col("average_speed") > 0) == moves)
            rows.append(_pooled(f"Osnabrück, UDP, car {words}", own["download_mbps"], own["upload_mbps"]))
    draws = found[next(iter(SENDERS)), next(iter(ENDS)), BOTH]
    udp = (np.concatenate([run[way]["capacity_bps"] for run in draws]) / 1e6 for way in DIRECTIONS)
    rows.append(_pooled("model: what UDP gets", *udp))
    for (name, end, ways), runs in found.items():
        if ways == BOTH and end.endswith("few"):
            halves = (np.concatenate([run[way]["slots_bps"] for run in runs]) for way in DIRECTIONS)
            series = (slots.reshape(-1, 2).mean(axis=1) / 1e6 for slots in halves)
            rows.append(_pooled(f"model: {name}, {end} losses", *series))
    return rows


def _pooled(name: str, down: Floats | pl.Series, up: Floats | pl.Series) -> list[str]:
    cells = [percentiles(down, QUANTILES, 0), percentiles(up, QUANTILES, 1)]
    return [name, *cells, f"{np.corrcoef(down, up)[0, 1]:.2f}"]
