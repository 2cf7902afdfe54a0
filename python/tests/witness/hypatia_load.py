"""A loaded constellation beside Hypatia's packet simulation (Kassing et al., IMC 2020), which runs on ns-3.

    python python/tests/witness/hypatia_load.py

prints docs/validation/hypatia-load.csv. The reference, `hypatia-load.parquet`, is what Hypatia's ns-3 code
gave, built against Debian's ns-3.37: Kuiper's first shell and the hundred cities of its paper, forwarding
state each second, every port at 10 Mbit/s behind 100 packets. It has 70 bursts of UDP over 5 s, every 25th
of 16,000 pings over 20 s and all that had no answer, 8 TCP flows over 20 s that share no bottleneck, 100
over 5 s that do, and how busy the lasers are with these. Stations are numbers in the list of cities.

TCP is chaotic where flows share a bottleneck: of these 100 flows, ns-3 with starts 0 to 1 ms later differs
from itself by 12 % in the median. So their mean over seeds is compared, and what all of them get.
"""

from __future__ import annotations

import math
import statistics
from pathlib import Path
from typing import Any

import data_file
import polars as pl

import bentpipe as bp
from bentpipe.orbit.networks import cities

REFERENCE = Path(__file__).parent / "hypatia-load.parquet"
COLUMNS = ["what", "from", "to", "unit", "hypatia", "bentpipe", "difference_percent", "verdict"]
SEEDS = 8
MOST_PACKETS = 2
"""Packets of a burst that may arrive in one program alone: positions differ by metres."""
MOST_NS = 1_500
"""Difference of a ping. PyEphem's positions, which Hypatia takes, are up to 52 m off."""
MOST_ALONE, MOST_FEW, MOST_SHARED = 0.03, 0.01, 0.03
"""Differences of a flow's goodput, of eight flows together, of a hundred together."""
LEAST_CORRELATION = 0.95
MOST_BUSY, MOST_CARRIED = 0.04, 0.02
"""Mean difference of the share of time in which a laser sends, and the difference of all of them together."""


def reference(kind: str) -> pl.DataFrame:
    """The rows of one kind: "burst", "ping", "few20" or "run1"."""
    return pl.read_parquet(REFERENCE).filter(pl.col("kind") == kind)


def run(duration: str, flows: list[dict[str, Any]], seed: int = 1) -> bp.Result:
    """A run over Kuiper's first shell as Hypatia sets it up."""
    port = {"rate": "10 Mbit/s"}
    network = {"shell": "hypatia-kuiper-k1", "reach": "length", "isl": port, "gsl": port}
    record = {"transfers": True, "flows": False, "interval": "1 s", "links": True}
    return bp.run({"duration": duration, "seed": seed, "network": network, "flow": flows, "record": record})


def _ends(row: dict[str, Any]) -> dict[str, str]:
    names = [city.name for city in cities()]
    return {"from": names[row["src"]], "to": names[row["dst"]], "start": f"{row['start_ns']} ns"}


def bursts(of: pl.DataFrame) -> list[list[str]]:
    """A row for each burst: packets that arrive."""
    flows = []
    for row in of.iter_rows(named=True):
        interval = math.ceil(1500 * 8000 / row["mbps"])
        stop = row["start_ns"] + row["duration_ns"]
        # A spurt of a mean of ten years does not end in five seconds.
        traffic = {
            "kind": "voice",
            "payload": "1472 bytes",
            "header": "30 bytes",
            "interval": f"{interval} ns",
        }
        traffic |= {"spurt": "3650 d", "silence": "1 ms"}
        flows.append(
            {**_ends(row), "name": f"burst {row['number']}", "stop": f"{stop} ns", "traffic": traffic}
        )
    result = run("5 s", flows)
    arrived = result.transfers.drop_nulls("completion_s").group_by(pl.col("flow").cast(pl.String)).len()
    counts = dict(arrived.iter_rows())
    rows = []
    for row, flow, sent in zip(of.iter_rows(named=True), flows, result.flows["sent_packets"], strict=True):
        ours, theirs = counts.get(flow["name"], 0), row["received_packets"]
        agrees = sent == row["sent_packets"] and abs(ours - theirs) <= MOST_PACKETS
        rows.append(_row(flow, "burst", "packets", (theirs, ours), _verdict(agrees=agrees)))
    return rows


def pings(of: pl.DataFrame) -> list[list[str]]:
    """A row for each pair: the mean of the round trips in ms, and whether each is the same."""
    pairs = of.unique("number", keep="first", maintain_order=True).sort("number")
    traffic = {"kind": "ping", "interval": "10 ms", "packet": "42 bytes"}
    flows = [
        {
            **_ends({**row, "start_ns": row["start_ns"] - 10_000_000 * row["seq"]}),
            "name": f"ping {row['number']}",
        }
        | {"traffic": traffic}
        for row in pairs.iter_rows(named=True)
    ]
    found = run("20 s", flows).transfers.with_columns(pl.col("flow").cast(pl.String))
    rows = []
    for number, flow in enumerate(flows):
        ours = found.filter(pl.col("flow") == flow["name"])["completion_s"]
        theirs = of.filter(pl.col("number") == number)
        both = [
            (row["rtt_ns"], None if ours[row["seq"]] is None else ours[row["seq"]] * 1e9)
            for row in theirs.iter_rows(named=True)
        ]
        same = [(a, b) for a, b in both if a is not None and b is not None]
        agrees = all((a is None) == (b is None) for a, b in both)
        agrees = agrees and max(abs(a - b) for a, b in same) <= MOST_NS
        means = tuple(statistics.fmean(values) / 1e6 for values in zip(*same, strict=True))
        rows.append(_row(flow, "ping", "ms", (means[0], means[1]), _verdict(agrees=agrees)))
    return rows


def lasers(of: pl.DataFrame, seeds: range) -> list[list[str]]:
    """Rows for the share of 5 s in which lasers send, with the hundred flows: their sum, and how alike."""
    flows, ends = _flows(reference("run1")), ["from", "to"]
    rows = [
        run("5 s", flows, seed)
        .port_trace.filter((pl.col("from") != pl.col("to")) & (pl.col("t_s") > 0))
        .select(*ends, pl.col("busy") / 5 / len(seeds))
        for seed in seeds
    ]
    ours = pl.concat(rows).group_by(ends).agg(pl.col("busy").sum()).with_columns(pl.col(ends).cast(pl.Int64))
    theirs = of.select(pl.col("src").alias("from"), pl.col("dst").alias("to"), pl.col("busy").alias("theirs"))
    both = theirs.join(ours, on=ends, how="full", coalesce=True).fill_null(0.0)
    pairs = both["theirs"].to_list(), both["busy"].to_list()
    sums = sum(pairs[0]), sum(pairs[1])
    apart = statistics.fmean(abs(a - b) for a, b in zip(*pairs, strict=True))
    correlation = statistics.correlation(*pairs)
    where = {"from": f"{both.height} lasers", "to": "5 s"}
    alike = correlation >= LEAST_CORRELATION and apart <= MOST_BUSY
    carried = abs(sums[1] / sums[0] - 1) <= MOST_CARRIED
    return [
        _row(where, "lasers, busy", "lasers", sums, _verdict(agrees=carried)),
        _row(where, "lasers, correlation", "1", (1.0, correlation), _verdict(agrees=alike)),
    ]


def _flows(of: pl.DataFrame) -> list[dict[str, Any]]:
    """TCP flows as Hypatia has them, with starts up to 1 ms later."""
    tcp_of_ns3 = {"cc": "reno", "profile": "ns3", "start_jitter": "1 ms"}
    return [{**_ends(row), "name": f"flow {row['number']}", **tcp_of_ns3} for row in of.iter_rows(named=True)]


def goodputs(of: pl.DataFrame, duration_s: int, seeds: range) -> tuple[list[dict[str, Any]], list[float]]:
    """The flows, and what each gets in the mean over the seeds, Mbit/s by acknowledged bytes."""
    flows = _flows(of)
    each = [run(f"{duration_s} s", flows, seed).network_flows["acked_bytes"].to_list() for seed in seeds]
    return flows, [statistics.fmean(values) * 8 / duration_s / 1e6 for values in zip(*each, strict=True)]


def tcp(of: pl.DataFrame, duration_s: int, seeds: range) -> list[list[str]]:
    """A row for each flow that has its bottleneck for itself, and one for all flows together."""
    flows, ours = goodputs(of, duration_s, seeds)
    theirs = [acked * 8 / duration_s / 1e6 for acked in of["acked_bytes"]]
    together = {"from": f"{len(flows)} flows", "to": f"{duration_s} s"}
    sums = sum(theirs), sum(ours)
    if of["kind"][0] == "few20":
        rows = [
            _row(flow, "TCP", "Mbit/s", (a, b), _verdict(agrees=abs(b / a - 1) <= MOST_ALONE, other="open"))
            for flow, a, b in zip(flows, theirs, ours, strict=True)
        ]
        agrees = abs(sums[1] / sums[0] - 1) <= MOST_FEW
        return [*rows, _row(together, "TCP", "Mbit/s", sums, _verdict(agrees=agrees))]
    agrees = abs(sums[1] / sums[0] - 1) <= MOST_SHARED
    correlation = statistics.correlation(theirs, ours)
    alike = _verdict(agrees=correlation >= LEAST_CORRELATION)
    return [
        _row(together, "TCP", "Mbit/s", sums, _verdict(agrees=agrees)),
        _row(together, "correlation", "1", (1.0, correlation), alike),
    ]


def _row(flow: dict[str, Any], what: str, unit: str, beside: tuple[float, float], verdict: str) -> list[str]:
    """A line of the data file; `beside` has Hypatia's value and ours."""
    theirs, ours = beside
    apart = data_file.percent(ours / theirs - 1 if theirs else 0.0, 3)
    return [what, flow["from"], flow["to"], unit, f"{theirs:.6g}", f"{ours:.6g}", apart, verdict]


def _verdict(*, agrees: bool, other: str = "differs") -> str:
    return "agrees" if agrees else other


def main() -> None:
    """Prints the data file."""
    print(data_file.line(COLUMNS))
    rows = bursts(reference("burst")) + pings(reference("ping"))
    seeds = range(1, SEEDS + 1)
    rows += tcp(reference("few20"), 20, seeds) + tcp(reference("run1"), 5, seeds)
    rows += lasers(reference("lasers"), seeds)
    for row in rows:
        print(data_file.line(row), flush=True)


if __name__ == "__main__":
    main()
