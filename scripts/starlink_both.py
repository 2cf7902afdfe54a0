"""A download and an upload at once over the model of a Starlink link, and alone. See docs/starlink.md.

    python scripts/starlink_both.py [AUTOBAHN [ROAD]]

AUTOBAHN is `throughput.csv` of sys-uos/Starlink-on-the-Autobahn (in `Data/Autobahn/throughput.zip`), and ROAD
is `data/iperf.csv` of sys-uos/Starlink-on-the-Road: seconds in which both directions were measured at once.
Without them the second table has simulated rows alone. Only distributions are written: tables of
docs/starlink.md and CSV files in docs/validation.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import md
import numpy as np
import polars as pl
import starlink_model as model
from numpy.typing import NDArray
from starlink_counts import MSS

import bentpipe as bp
from bentpipe import terminal
from bentpipe.drawn.starlink import PROFILES

Floats = NDArray[np.float64]
LENGTH_S, SEEDS = 60.0, 12
WAYS = ("down", "up")
SENDERS = {name: model.RACED[name] for name in ("BBR", "BBRv3", "CUBIC", "CUBIC, HyStart")}
_CAR = PROFILES["car-2024"]
LOSSES = {
    "few": (_CAR.loss_down.low, _CAR.loss_up.low),
    "many": (_CAR.loss_down.high, _CAR.loss_up.high),
}
"""Loss events per packet at both ends of their ranges, downlink and uplink."""


@dataclass(frozen=True)
class End:
    """One end of what the measurement leaves open.

    Attributes:
        family: one of `starlink_model.FAMILIES`.
        losses: one of `LOSSES`.
    """

    family: str
    losses: str

    def scenario(self, cc: str, ways: Sequence[str], seed: int) -> bp.Scenario:
        """The preset `starlink` with the flows of these ways alone, all with one algorithm."""
        base = bp.Scenario.load("starlink", {"duration": f"{LENGTH_S:g} s", "seed": seed})
        link = base.links["starlink"]
        assert isinstance(link.timeline, dict) and link.reverse is not None
        bdp, share = model.FAMILIES[self.family]
        down, up = LOSSES[self.losses]
        link.queue, link.timeline = bp.DropTail(f"{bdp:g} bdp"), {**link.timeline, "share": share}
        link.loss = bp.GilbertElliott(p=down, r=1 / _CAR.loss_down_packets.value)
        link.reverse["loss"] = bp.GilbertElliott(p=up, r=1 / _CAR.loss_up_packets.value)
        base.flows = [flow for flow in base.flows if flow.name in ways]
        for flow in base.flows:
            model.set_sender(flow, cc)
        base.record = bp.Record("1 s")
        return base


ENDS = [End(family, losses) for family in model.FAMILIES for losses in LOSSES]


@dataclass(frozen=True)
class Runs:
    """The flow of one way in the runs of all seeds.

    Attributes:
        seconds_bps: goodput of each second, by seed.
        rtt_s: median round trip, by seed.
        again: retransmitted over delivered segments, by seed.
    """

    seconds_bps: list[Floats]
    rtt_s: list[float]
    again: list[float]


def run(cc: str, end: End, ways: Sequence[str]) -> dict[str, Runs]:
    """The flows of these ways, at once if there are two."""
    found: dict[str, Runs] = {way: Runs([], [], []) for way in ways}
    for seed in range(1, SEEDS + 1):
        result = bp.run(end.scenario(cc, ways, seed))
        trace = result.trace.with_columns(pl.col("flow").cast(pl.String))
        for row in result.flows.iter_rows(named=True):
            own, runs = trace.filter(pl.col("flow") == row["name"]), found[row["name"]]
            ends = np.arange(LENGTH_S + 1)
            bits = 8 * np.interp(ends, own["t_s"].to_numpy(), own["delivered_bytes"].to_numpy())
            runs.seconds_bps.append(np.diff(bits))
            runs.rtt_s.append(row["rtt_p50_s"])
            runs.again.append(row["retransmitted_packets"] * MSS / max(row["delivered_bytes"], 1))
    return found


def capacities() -> dict[str, list[Floats]]:
    """What UDP would get in each second of the draws, by way."""
    base = bp.Scenario.load("starlink")
    link = base.links["starlink"]
    recipes = {"down": link.timeline, "up": (link.reverse or {})["timeline"]}
    return {
        way: [model.capacity(recipe, seed, LENGTH_S) for seed in range(1, SEEDS + 1)]
        for way, recipe in recipes.items()
        if isinstance(recipe, dict)
    }


Both = dict[tuple[str, End], dict[str, Runs]]


def table(udp: dict[str, list[Floats]]) -> tuple[list[list[str]], Both]:
    """Each algorithm at each end, alone and at once; and the runs at once."""
    heads = ["algorithm", "end", *(f"{way}, {what}" for way in WAYS for what in ("alone", "at once"))]
    rows = [[*heads, "sent again down, %: alone, at once", "round trip down, ms: alone, at once"]]
    together: Both = {}
    for name, cc in SENDERS.items():
        for end in ENDS:
            both = together[name, end] = run(cc, end, WAYS)
            alone = {way: run(cc, end, [way])[way] for way in WAYS}
            shares = [_share(of[way], udp[way]) for way in WAYS for of in (alone, both)]
            pair = (alone["down"], both["down"])
            again = ", ".join(f"{100 * np.median(of.again):.2f}" for of in pair)
            trips = ", ".join(f"{1e3 * np.median(of.rtt_s):.0f}" for of in pair)
            rows.append([name, f"{end.family}, {end.losses}", *shares, again, trips])
            terminal.note(" ".join(rows[-1]))
    return rows, together


def _share(runs: Runs, udp: Sequence[Floats]) -> str:
    """Median goodput over what UDP gets alone, %."""
    each = zip(runs.seconds_bps, udp, strict=True)
    return f"{100 * np.median([own.mean() / whole.mean() for own, whole in each]):.0f}"


QUANTILES = (10, 25, 50, 75, 90)


def distributions(udp: dict[str, list[Floats]], together: Both, files: Sequence[Path]) -> list[list[str]]:
    """Goodput of seconds with both directions at once, measured and simulated."""
    rows = [["seconds", *(f"{way}, Mbit/s: p10, p25, p50, p75, p90" for way in WAYS), "correlation"]]
    if files:
        drive = pl.read_csv(files[0], infer_schema_length=None)
        rows.append(_pooled("Autobahn, April 2024", drive["download"], drive["upload"]))
    for road in files[1:2]:
        measured = pl.read_csv(road, infer_schema_length=None, null_values="")
        both = measured.drop_nulls(["download_mbps", "upload_mbps"])
        for words, moves in (("moves", True), ("is parked", False)):
            own = both.filter((pl.col("average_speed") > 0) == moves)
            rows.append(_pooled(f"Osnabrück, UDP, car {words}", own["download_mbps"], own["upload_mbps"]))
    rows.append(_pooled("model: what UDP gets", *(np.concatenate(udp[way]) / 1e6 for way in WAYS)))
    for (name, end), of in together.items():
        if end.losses == "few":
            series = (np.concatenate(of[way].seconds_bps) / 1e6 for way in WAYS)
            rows.append(_pooled(f"model: {name}, {end.family}, few losses", *series))
    return rows


def _pooled(name: str, down: Floats | pl.Series, up: Floats | pl.Series) -> list[str]:
    texts = []
    for values, digits in ((down, 0), (up, 1)):
        texts.append(", ".join(f"{value:.{digits}f}" for value in np.percentile(values, QUANTILES)))
    return [name, *texts, f"{np.corrcoef(down, up)[0, 1]:.2f}"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Writes both tables into the page. Exit status 2: a file is not there."""
    parser = md.command_line(__doc__)
    parser.add_argument("files", type=Path, nargs="*", help="throughput.csv and iperf.csv")
    parser.add_argument("--out", type=Path, default=md.DOCS, help="where starlink.md lies; default docs")
    given = parser.parse_args(arguments)
    for file in given.files:
        if not file.is_file():
            terminal.error(f"{file} is no file")
            return 2
    udp = capacities()
    rows, together = table(udp)
    model.write(given.out, "both", rows, "scripts/starlink_both.py alone and at once")
    seconds = distributions(udp, together, given.files)
    model.write(given.out, "both_seconds", seconds, "scripts/starlink_both.py seconds")
    return 0


if __name__ == "__main__":
    sys.exit(main())
