"""A download and an upload at once over the model of a Starlink link, and alone: tables of docs/starlink.md.

The folder of measured data may have `throughput.csv` of sys-uos/Starlink-on-the-Autobahn (in
`Data/Autobahn/throughput.zip`), and `iperf.csv` of sys-uos/Starlink-on-the-Road (in `data`): seconds in which
both directions were measured at once. Without them the second table has simulated rows alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from bentpipe.experiments.experiment import over_seeds
from bentpipe.experiments.starlink.experiment import Floats, OfStarlink, Tests, percentiles, put
from bentpipe.experiments.starlink.model import CAR, FAMILIES, Setting
from bentpipe.experiments.starlink.race import RACED
from bentpipe.sweeps.case import Case
from bentpipe.sweeps.kept import Row

LENGTH_S, SEEDS = 60.0, 12
WAYS = ("down", "up")
SENDERS = {name: RACED[name] for name in ("BBR", "BBRv3", "CUBIC", "CUBIC, HyStart")}
LOSSES = {
    "few": (CAR.loss_down.low, CAR.loss_up.low),
    "many": (CAR.loss_down.high, CAR.loss_up.high),
}
"""Loss events per packet at both ends of their ranges, downlink and uplink."""
ENDS = {f"{family}, {few}": (family, *losses) for family in FAMILIES for few, losses in LOSSES.items()}
"""The ends of what the measurement leaves open: a family, and losses down and up."""
BOTH = "at once"


class Both(OfStarlink):
    """The experiment."""

    name = "starlink-both"

    def cases(self) -> list[Case]:
        """Each algorithm at each end, at once and alone, with each seed."""
        return [
            case
            for name, cc in SENDERS.items()
            for end, of in ENDS.items()
            for ways in (BOTH, *WAYS)
            for case in Setting(
                cc, *of, preset="starlink", flows=WAYS if ways == BOTH else [ways], length_s=LENGTH_S
            ).cases(self.seeds(SEEDS), algorithm=name, end=end, ways=ways)
        ]

    def write(self, cases: Sequence[Case], rows: Sequence[Row]) -> list[Path]:
        """Writes both tables."""
        found = over_seeds(cases, rows, list)
        files = [self.data / name for name in ("throughput.csv", "iperf.csv")] if self.data else []
        seconds = distributions(found, [file for file in files if file.is_file()])
        return [*put(self, "starlink_both", table(found)), *put(self, "starlink_both_seconds", seconds)]


Found = Mapping[tuple[Any, ...], Sequence[Row]]
"""The runs of all seeds by algorithm, end and ways."""


def table(found: Found) -> list[list[str]]:
    """Each algorithm at each end, alone and at once."""
    heads = ["algorithm", "end", *(f"{way}, {what}" for way in WAYS for what in ("alone", BOTH))]
    rows = [[*heads, "sent again down, %: alone, at once", "round trip down, ms: alone, at once"]]
    for name in SENDERS:
        for end in ENDS:
            pairs = {
                way: [[run[way] for run in found[name, end, ways]] for ways in (way, BOTH)] for way in WAYS
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
    rows = [["seconds", *(f"{way}, Mbit/s: p10, p25, p50, p75, p90" for way in WAYS), "correlation"]]
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
    udp = (np.concatenate([run[way]["capacity_bps"] for run in draws]) / 1e6 for way in WAYS)
    rows.append(_pooled("model: what UDP gets", *udp))
    for (name, end, ways), runs in found.items():
        if ways == BOTH and end.endswith("few"):
            halves = (np.concatenate([run[way]["slots_bps"] for run in runs]) for way in WAYS)
            series = (slots.reshape(-1, 2).mean(axis=1) / 1e6 for slots in halves)
            rows.append(_pooled(f"model: {name}, {end} losses", *series))
    return rows


def _pooled(name: str, down: Floats | pl.Series, up: Floats | pl.Series) -> list[str]:
    cells = [percentiles(down, QUANTILES, 0), percentiles(up, QUANTILES, 1)]
    return [name, *cells, f"{np.corrcoef(down, up)[0, 1]:.2f}"]
