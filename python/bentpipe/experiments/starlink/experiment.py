"""Parts that the experiments of docs/starlink.md share: the measures of a run, and the tables of the page."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import bentpipe as bp
from bentpipe.experiments.experiment import Experiment
from bentpipe.experiments.rows import Rows
from bentpipe.experiments.starlink import measured as data
from bentpipe.experiments.starlink.measured import Floats
from bentpipe.io import files
from bentpipe.pages.markdown import markdown, replaced
from bentpipe.sweeps.case import Case
from bentpipe.sweeps.kept import Row
from bentpipe.timeline.drawn import draw
from bentpipe.units import seconds


class OfStarlink(Experiment):
    """An experiment of the page, whose results are tables, each a CSV file and a part of docs/starlink.md.

    Settings of a case: `counted` is "late" or "prompt" if the run is counted as a measured test
    (`measured.of_result`), else empty; `capacity_bps` is what UDP got if the link is not drawn.
    """

    def measure(self, case: Case, result: bp.Result) -> Row:
        """`flows`: the measures of each flow, by its name.

        They are `slots_bps`, goodput of half seconds; `rtt_s`, the median round trip; `again`, segments sent
        again over segments delivered; over a drawn link `capacity_bps`, what UDP would get in each second.
        The flow of a counted run also has `reported` and `settled`, each with `again` and `windows` of
        `Counts`.
        """
        length_s = seconds(str(case.scenario["duration"]), "duration")
        ends = np.arange(0, length_s + data.SLOT_S / 2, data.SLOT_S)
        found: dict[str, Any] = {}
        for flow, row in zip(case.scenario["flow"], result.flows.iter_rows(named=True), strict=True):
            own = result.trace.filter(flow=row["name"])
            bits = 8.0 * np.interp(ends, own["t_s"].to_numpy(), own["delivered_bytes"].to_numpy())
            link, _, back = flow["path"][0].partition("/")
            way = case.scenario["link"][link]
            drawn = (way["reverse"] if back else way)["timeline"]
            given = isinstance(drawn, str)
            udp = [case.settings["capacity_bps"]] if given else capacity(drawn, case.seed, length_s)
            found[row["name"]] = {
                "slots_bps": (np.diff(bits) / data.SLOT_S).tolist(),
                "rtt_s": row["rtt_p50_s"],
                "again": row["retransmitted_packets"] * data.MSS / max(row["delivered_bytes"], 1),
                "capacity_bps": list(udp),
            }
        if case.settings["counted"]:
            (only,) = found.values()
            only |= data.of_result(result, late=case.settings["counted"] == "late").by_way()
        return {"flows": found}

    @abstractmethod
    def parts(self, rows: Rows) -> Iterable[tuple[str, Sequence[Sequence[str]], str]]:
        """Tables, the heads first: the name of each, which its marks in the page have, and its text there.

        Without a text it is the table.
        """

    def finish(self, rows: Rows) -> list[Path]:
        """Writes the tables; with a full experiment into the page, too, which is begun if it is not there."""
        written = []
        page = self.out / "starlink.md"
        for name, (heads, *body), part in self.parts(rows):
            written.append(self.tables / f"{name}.csv")
            files.replace_text(written[-1], files.csv_text([heads, *body]))
            if self.quick:
                continue
            text = page.read_text(encoding="utf-8") if page.is_file() else ""
            if f"<!-- {name} -->\n" not in text:
                text += f"<!-- {name} -->\n<!-- end {name} -->\n"
            part = part or markdown([f"<{heads[0]}", *heads[1:]], body, spaced=True)
            files.replace_text(page, replaced(text, name, part))
            written.append(page)
        return written


def capacity(timeline: Mapping[str, object], seed: int, length_s: float) -> Floats:
    """What UDP would get in each second of a draw: payload outside outages, with all of the rate.

    Args:
        timeline: the recipe of a direction.
        seed: of the draw.
        length_s: whole seconds.
    """
    found = draw({**timeline, "share": 1.0}, seed, length_s)
    frame, outages = found.line, found.outages
    times = frame["t_s"].to_numpy()
    edges = np.unique(np.concatenate([times, *outages])) if outages else times
    now = np.searchsorted(times, edges[:-1], side="right") - 1
    rates = (frame["rate_bps"].to_numpy() * frame["up"].to_numpy() / data.TO_WIRE)[now]
    for begin, end in outages:
        rates[(edges[:-1] >= begin) & (edges[:-1] < end)] = 0
    sent = np.append(0.0, np.cumsum(rates * np.diff(edges)))
    return np.diff(np.interp(np.arange(round(length_s) + 1), edges, sent))


@dataclass(frozen=True)
class Tests:
    """Tests of TCP, measured or simulated, each with the capacity of its path: payload in bits per second."""

    capacity_bps: list[float]  #: by test.
    slots_bps: list[Floats]  #: goodput of half seconds, by test.
    #: for each way to count (`measured.WAYS`) retransmitted over delivered, by test, where known; "sender" is
    #: the simulated sender's own count of the whole test.
    again: dict[str, list[float]]
    quiet: dict[str, float]  #: for each way the share of times of 5 s that are quiet.

    @classmethod
    def of(cls, flows: Sequence[Row]) -> Tests:
        """Tests from measures of a flow (`OfStarlink`)."""
        ways = [way for way in data.WAYS if way in flows[0]]
        again = {way: [flow[way]["again"] for flow in flows] for way in ways}
        again["sender"] = [flow["again"] for flow in flows]
        windows = {way: np.concatenate([flow[way]["windows"] for flow in flows]) for way in ways}
        return cls(
            [float(np.mean(flow["capacity_bps"])) for flow in flows],
            [np.array(flow["slots_bps"]) for flow in flows],
            {way: [share for share in each if not np.isnan(share)] for way, each in again.items()},
            {way: float(np.mean(counts <= data.QUIET)) for way, counts in windows.items()},
        )

    @property
    def share(self) -> Floats:
        """Goodput over capacity of each test."""
        each = zip(self.slots_bps, self.capacity_bps, strict=True)
        return np.array([slots.mean() / capacity for slots, capacity in each])

    @property
    def slots(self) -> Floats:
        """Goodput of the half seconds of all tests over the capacity of their test."""
        each = zip(self.slots_bps, self.capacity_bps, strict=True)
        return np.concatenate([slots / capacity for slots, capacity in each])

    @property
    def idle(self) -> float:
        """Share of half seconds with less than 1 % of the capacity."""
        return float(np.mean(self.slots < 0.01))

    def pooled(self, share: float) -> float:
        """A quantile of the half seconds of all tests, Mbit/s."""
        return float(np.percentile(np.concatenate(self.slots_bps), share)) / 1e6


def by_setting(rows: Rows, *keys: str) -> dict[tuple[Any, ...], Tests]:
    """Runs with one flow, those of all seeds together, by the keys of their settings."""
    runs = ((setting, of.column("flows")) for setting, of in rows.groups(*keys).items())
    return {setting: Tests.of([flow for run in flows for flow in run.values()]) for setting, flows in runs}


def transfers(directory: Path, day: str, way: str) -> Tests:
    """The measured TCP tests of a day that have a UDP test within 15 minutes; uplinks have no capacity."""
    capacities, tests, _ = data.measured(directory, day, way)
    flows = []
    for one in tests:
        mean = data.near(capacities, one.begin_s) if way == "downlink" else float(one.slots_bps.mean())
        if mean is not None:
            counted = one.counts.by_way()
            flows.append({"slots_bps": one.slots_bps, "capacity_bps": [mean], "again": np.nan, **counted})
    return Tests.of(flows)


def percentiles(values: Sequence[float] | Floats | pl.Series, shares: Sequence[int], digits: int) -> str:
    """Percentiles of values as a cell of a table."""
    return ", ".join(f"{value:.{digits}f}" for value in np.percentile(values, shares))
