"""Tests whether the ranges of `bentpipe.measured` contain the truth; prints the table of docs/advise.md.

    python tools/measured_truth.py [SEEDS]
    python tools/measured_truth.py --transfers [SEEDS]

Known links are simulated, their packets captured at the sender (`bentpipe run --pcap`), and the capture read
as one of a real link would be; tshark is needed. With `--transfers` the links are measured by a ping of 300
probes and a transfer, both as the real programs write them, or by the transfer alone.
"""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import bentpipe as bp
from bentpipe.measured import estimate
from bentpipe.measured.draws import Possible
from bentpipe.measured.said import ends


@dataclass(frozen=True)
class Known:
    """A link, and the flow that measures it."""

    name: str
    rate_bps: float
    rtt_s: float
    buffer_bytes: float
    loss: bp.PacketError | bp.GilbertElliott | None = None
    share: float = 0.0
    cc: str = "cubic"
    duration: str = "30 s"


LINKS = [
    Known("GEO, no loss", 10e6, 0.6, 750e3, duration="60 s"),
    Known("GEO, 1e-3", 10e6, 0.6, 750e3, bp.PacketError(1e-3), 1e-3, "bbr", "60 s"),
    Known("VSAT return, deep", 2e6, 0.55, 400e3, duration="90 s"),
    Known("LEO, 1e-3", 50e6, 0.04, 250e3, bp.PacketError(1e-3), 1e-3, "bbr", "20 s"),
    Known("LEO, short buffer", 50e6, 0.04, 60e3, duration="20 s"),
    Known("MEO, bursts", 20e6, 0.15, 375e3, bp.GilbertElliott(2e-4, 0.2, 0.0, 0.5), 5e-4, "bbr", "60 s"),
]


def main() -> None:
    """Prints a row for each link, and as comments the values outside."""
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    seeds = numbers[0] if numbers else 5
    if "--transfers" in sys.argv:
        by_transfers(seeds)
        return
    print("| link | rate | RTT | loss | bursts | buffer |")
    print("|---|---|---|---|---|---|")
    for known in LINKS:
        held = {"rate_bps": 0, "rtt_s": 0, "loss": 0, "buffer_bytes": 0}
        bursty, least, shown = 0, 0, ""
        for seed in range(1, seeds + 1):
            found = measured(known, seed)
            truth = {"rate_bps": known.rate_bps, "rtt_s": known.rtt_s, "loss": known.share,
                     "buffer_bytes": known.buffer_bytes}  # fmt: skip
            for name, value in truth.items():
                one = found.of(name)
                if one is None:
                    continue
                ends = one.low * (1 - 1e-9) <= value and (
                    one.bound == "least" or value <= one.high * (1 + 1e-9)
                )
                held[name] += ends
                if not ends:
                    shown += f"# {known.name} seed {seed}: {name} is {value:g}: {one}\n"
            loss = found.of("loss")
            bursty += loss is not None and loss.bursts is not None
            room = found.of("buffer_bytes")
            least += room is not None and room.bound == "least"
        cells = [f"{count} of {seeds}" for count in held.values()]
        cells.insert(3, f"seen in {bursty} of {seeds}")
        cells[-1] += f", {least} as a lower bound" if least else ""
        print(f"| {known.name} | {' | '.join(cells)} |")
        print(shown, end="", flush=True)


TRANSFERS = [
    Known("VSAT, no loss", 20e6, 0.5, 1.25e6, cc="bbr"),
    Known("VSAT, no loss; CUBIC", 20e6, 0.5, 1.25e6),
    Known("GEO, 1e-3; CUBIC", 10e6, 0.6, 750e3, bp.PacketError(1e-3), 1e-3),
    Known("GEO, 1e-2", 10e6, 0.6, 750e3, bp.PacketError(1e-2), 1e-2, "bbr"),
    Known("MEO, bursts", 20e6, 0.15, 375e3, bp.GilbertElliott(2e-4, 0.1, 0.0, 0.5), 1e-3, "bbr"),
    Known("LEO, 1e-3", 50e6, 0.04, 250e3, bp.PacketError(1e-3), 1e-3, "bbr"),
]


EFFORT = 0.5
"""The share of the simulation of `bentpipe advise` within 30 s on an idle machine."""


def by_transfers(seeds: int) -> None:
    """Prints for each link the number of seeds in which the truth is in 90 % of the links that are left."""
    print("| link | measured by | rate | RTT | loss | buffer |")
    print("|---|---|---|---|---|---|")
    for known in TRANSFERS:
        for probes in (300, 0):
            held = [within(known, left(known, seed, probes, EFFORT)) for seed in range(1, seeds + 1)]
            counts = [sum(one[name] for one in held) for name in ("rate", "round trip", "loss", "buffer")]
            how = "ping and transfer" if probes else "transfer"
            print(f"| {known.name} | {how} | {' | '.join(f'{n} of {seeds}' for n in counts)} |", flush=True)


def within(known: Known, found: Possible, about: float = 0.02) -> dict[str, bool]:
    """Of each quantity whether the truth is in its range, whose ends are as good as known to `about`.

    A link without losses has a share that is too small to matter: below 1e-4.
    """
    truth = {"rate": known.rate_bps, "round trip": known.rtt_s, "buffer": known.buffer_bytes}
    held = {}
    for name, value in truth.items():
        low, high = ends(found, name)
        held[name] = low * (1 - about) <= value <= high * (1 + about)
    low, high = ends(found, "loss")
    return {**held, "loss": low <= max(known.share, 1e-4) and (known.share <= high)}


def left(known: Known, seed: int, probes: int = 300, effort: float = 1.0) -> Possible:
    """The links that remain after ping, if there are probes, and a transfer."""
    with tempfile.TemporaryDirectory() as place:
        test, ping = Path(place) / "iperf3.json", Path(place) / "ping.log"
        test.write_text(json.dumps(as_iperf3(known, seed)))
        ping.write_text(as_ping(known, seed, probes))
        return estimate([test, ping] if probes else [test]).possible({}, seed, effort)


def as_ping(known: Known, seed: int, probes: int) -> str:
    """The output of ping -D -i 0.2 over an idle link."""
    draw = np.random.default_rng(seed)
    lines, bad = ["PING 10.0.0.1 (10.0.0.1) 56(84) bytes of data."], False
    for i in range(1, probes + 1):
        share, chances = 0.0, draw.random(3)
        if isinstance(known.loss, bp.GilbertElliott):
            bad = bool(chances[0] >= known.loss.r) if bad else bool(chances[0] < known.loss.p)
            share = float((known.loss.bad_loss if bad else known.loss.good_loss) or 0.0)
        elif known.loss is not None:
            share = known.loss.rate
        if chances[1] >= share:
            trip = 1e3 * known.rtt_s + 0.3 * chances[2] ** 2
            lines.append(
                f"[{1.7e9 + 0.2 * i:.6f}] 64 bytes from 10.0.0.1: icmp_seq={i} ttl=64 time={trip:.1f} ms"
            )
    return "\n".join([*lines, "", "--- 10.0.0.1 ping statistics ---", ""])


def as_iperf3(known: Known, seed: int) -> dict[str, Any]:
    """The output of iperf3 --json for a simulated upload with a Linux sender."""
    flow = bp.Flow(known.cc, path=["sat"], profile="linux")
    made = scenario(known, flow, seed)
    made.record = bp.Record("1 s")
    result = bp.run(made)
    lasted = result.json["simulated_s"]
    trace = result.trace.filter(result.trace["t_s"] > 0)
    rows = trace.group_by("t_s", maintain_order=True).agg(pl.col("delivered_bytes").sum())
    bits = 8 * np.diff(rows["delivered_bytes"].to_numpy().astype(float), prepend=0.0)
    sums = [
        {"start": i, "end": i + 1, "seconds": 1, "bits_per_second": float(value)}
        for i, value in enumerate(bits)
    ]
    senders = []
    for one in result.json["flows"]:
        smoothed = 1e6 * trace.filter(trace["flow"] == one["name"])["srtt_s"].to_numpy()
        senders.append({
            "bytes": one["delivered_bytes"], "retransmits": one["retransmitted_packets"], "seconds": lasted,
            "min_rtt": np.nanmin(smoothed), "mean_rtt": np.nanmean(smoothed), "max_rtt": np.nanmax(smoothed),
            "max_snd_wnd": 16 << 20,
        })  # fmt: skip
    got = sum(one["delivered_bytes"] for one in result.json["flows"])
    return {
        "start": {"tcp_mss_default": 1448, "test_start": {"protocol": "TCP", "num_streams": 1}},
        "intervals": [{"sum": one} for one in sums],
        "end": {
            "streams": [{"sender": one} for one in senders],
            "sum_received": {"seconds": lasted, "bits_per_second": 8 * got / lasted},
            "sender_tcp_congestion": known.cc,
        },
    }


def scenario(known: Known, flow: bp.Flow, seed: int) -> bp.Scenario:
    """The flow over the link."""
    link = bp.Link(
        rate=f"{known.rate_bps:.0f} bit/s",
        delay=f"{known.rtt_s / 2 * 1e9:.0f} ns",
        queue=bp.DropTail(f"{known.buffer_bytes:.0f} bytes"),
        loss=known.loss,
    )
    return bp.Scenario(links={"sat": link}, flows=[flow], duration=known.duration, seed=seed)


def measured(known: Known, seed: int) -> bp.measured.Estimates:
    """The estimates from the capture of one run."""
    made = scenario(known, bp.Flow(known.cc, path=["sat"]), seed)
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "run.pcapng"
        bp.run(made, pcap=path)
        return estimate([path])


if __name__ == "__main__":
    main()
