"""Simulated measurements that an operator would make of a drawn link: the files of ping and of iperf3.

docs/choose.md describes them: 30,000 pings at 100 a second, then a transfer of 60 s by CUBIC, and one by
BBR. Flows of others are there in all of them.
"""

from __future__ import annotations

import dataclasses
import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import polars as pl
from advise_links import DrawnLink
from advise_measure import SEEDS

import bentpipe as bp
from bentpipe.advice.question import Candidate

TRANSFER_S = 60
TRANSFERS = ("cubic", "bbr")
"""The algorithms of the transfers, one after the other."""
AFTER_S = 60
"""Competing flows run for this time before a transfer begins: the pings come first."""
PINGS = 30_000
EVERY_S = 0.01
PACKET = 84
"""Bytes of an echo request on the wire: 56 of data, ICMP, IPv4."""
MSS = 1448
SEED = 1000
"""Measurements have seeds that no run of the truth has: this one and the link's number after the last is of
the pings and the first transfer; the second transfer has one that is further off by `FURTHER`."""
FURTHER = 1000
BEGAN = 1_795_358_834
"""Date of creation in the files, seconds since 1970."""
_PORT = 49152
"""Of the first flow in a capture; the next has the next."""


def write(one: DrawnLink, place: Path) -> list[Path]:
    """Writes ping.log and a file for each of the transfers of a link; gives their paths."""
    place.mkdir(parents=True, exist_ok=True)
    probes = place / "ping.log"
    probes.write_text(ping(one), encoding="utf-8")
    paths = [place / f"{cc}.json" for cc in TRANSFERS]
    for number, path in enumerate(paths):
        path.write_text(json.dumps(iperf3(one, number), indent=1), encoding="utf-8")
    return [probes, *paths]


def iperf3(one: DrawnLink, number: int = 0) -> dict[str, Any]:
    """The JSON of iperf3 3.12 of a transfer to the far end: the kernel's statistics after each second.

    `number` is its index in `TRANSFERS`. Of a time line each plays a window of its own.
    """
    cc = TRANSFERS[number]
    scenario = _transfer(one, cc, number)
    asked, *others = scenario.flows
    after_s = AFTER_S if one.competing else 0
    flows = [dataclasses.replace(asked, start=f"{after_s} s", start_jitter=None), *others]
    record = bp.Record("1 s", segments=True)
    result = bp.run(
        dataclasses.replace(scenario, flows=flows, duration=f"{after_s + TRANSFER_S} s", record=record)
    )
    return report(result, cc, after_s)


def report(result: bp.Result, cc: str, after_s: int = 0) -> dict[str, Any]:
    """The same of a run whose first flow is the transfer, recorded each second with its segments."""
    seconds = _seconds(result, after_s)
    streams = [_interval(second) for second in seconds]
    trips = [row["rtt"] for row in streams if row["rtt"]]
    sent = {**_sum(streams), "start": 0, "end": TRANSFER_S, "seconds": TRANSFER_S}
    got = 8 * seconds[-1]["delivered_bytes"] / TRANSFER_S
    received = {**sent, "bytes": seconds[-1]["delivered_bytes"], "bits_per_second": got}
    received.pop("retransmits")
    trip_times = {"max_rtt": max(trips), "min_rtt": min(trips), "mean_rtt": round(sum(trips) / len(trips))}
    return {
        "start": _start(),
        "intervals": [{"streams": [row], "sum": _sum([row])} for row in streams],
        "end": {
            "streams": [
                {"sender": {"socket": 5, **sent, **trip_times}, "receiver": {"socket": 5, **received}}
            ],
            "sum_sent": sent,
            "sum_received": received,
            "sender_tcp_congestion": cc,
            "receiver_tcp_congestion": "cubic",
        },
    }


def ping(one: DrawnLink) -> str:
    """The output of `ping -D -i 0.01 -c 30000` of iputils."""
    trips = round_trips(one)
    lines = [f"PING 10.78.0.2 (10.78.0.2) 56({PACKET}) bytes of data."]
    for n, trip in sorted(trips.items(), key=lambda item: item[0] * EVERY_S + item[1]):
        at = BEGAN - PINGS * EVERY_S - TRANSFER_S + n * EVERY_S + trip
        lines.append(
            f"[{at:.6f}] 64 bytes from 10.78.0.2: icmp_seq={n + 1} ttl=64 time={_shown(1e3 * trip)} ms"
        )
    lost = 100 * (1 - len(trips) / PINGS)
    took = round(1e3 * PINGS * EVERY_S)
    lines += ["", "--- 10.78.0.2 ping statistics ---"]
    lines += [f"{PINGS} packets transmitted, {len(trips)} received, {lost:.6g}% packet loss, time {took}ms"]
    if trips:
        mean = sum(trips.values()) / len(trips)
        spread = (sum((trip - mean) ** 2 for trip in trips.values()) / len(trips)) ** 0.5
        four = [f"{1e3 * value:.3f}" for value in (min(trips.values()), mean, max(trips.values()), spread)]
        lines += [f"rtt min/avg/max/mdev = {'/'.join(four)} ms"]
    return "\n".join(lines) + "\n"


def round_trips(one: DrawnLink) -> dict[int, float]:
    """The round trip of each echo that came back, by its number: seconds.

    Requests and replies are packets of their own, at the same rate in either direction; the reply leaves half
    a round trip after its request, when an echo does.
    """
    base = _transfer(one, "cubic")
    asked, others = base.flows[0], base.flows[1:]
    (link,) = asked.path or ()
    probe = bp.Cbr(f"{8 * PACKET / EVERY_S:.0f} bit/s", packet=f"{PACKET} bytes")
    request = dataclasses.replace(
        asked, cc=None, count=None, name="request", traffic=probe, start_jitter=None
    )
    half = f"{round(one.rtt_s / 2 * 1e9)} ns"
    reply = dataclasses.replace(request, name="reply", path=[f"{link}/reverse"], start=half)
    last = PINGS * EVERY_S
    scenario = dataclasses.replace(
        base, flows=[request, reply, *others], duration=f"{last + 10 * one.rtt_s + 5:.9g} s"
    )
    sent, got = (_seen(scenario, at) for at in ("sender", "receiver"))
    ways = [
        {n: got[way, n] - at for (of, n), at in sent.items() if of == way and (way, n) in got}
        for way in (0, 1)
    ]
    return {n: ways[0][n] + ways[1][n] for n in range(PINGS) if n in ways[0] and n in ways[1]}


def _transfer(one: DrawnLink, cc: str, number: int = 0) -> bp.Scenario:
    """One flow of Linux, beside those of others, with a seed and a window of its own."""
    single = dataclasses.replace(one, flows=1)
    seed = SEED + number * FURTHER + one.number
    scenario = single.question(SEEDS + number).alone(Candidate(cc, cc, cc), seed, float(TRANSFER_S))
    flows = [
        flow if flow.cc is None else dataclasses.replace(flow, profile="linux") for flow in scenario.flows
    ]
    return dataclasses.replace(scenario, flows=flows)


def _seen(scenario: bp.Scenario, at: str) -> dict[tuple[int, int], float]:
    """The times at which packets of the first two flows were seen there, by flow and number: seconds."""
    fields = ["-e", "frame.time_epoch", "-e", "udp.srcport", "-e", "ip.id"]
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "run.pcapng"
        bp.run(scenario, pcap=bp.Capture(path, at=at))
        wanted = f"udp.srcport <= {_PORT + 1}"
        words = ["tshark", "-r", str(path), "-Y", wanted, "-T", "fields", *fields]
        said = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    rows = [line.split("\t") for line in said.splitlines()]
    return {(int(port) - _PORT, int(number, 16)): float(t) for t, port, number in rows}


def _seconds(result: bp.Result, after_s: int) -> list[dict[str, Any]]:
    """Of each second of the transfer, which begins at `after_s`: its end, and the state then."""
    name = result.json["flows"][0]["name"]
    trace = result.trace.filter((pl.col("flow") == name) & (pl.col("t_s") > after_s)).sort("t_s")
    trace = trace.with_columns(pl.col("t_s") - after_s)
    resent = result.segments.filter((pl.col("flow") == name) & (pl.col("event") == "resent"))["t_s"] - after_s
    before = 0.0
    found = []
    for row in trace.iter_rows(named=True):
        count = ((resent > row["t_s"] - 1) & (resent <= row["t_s"])).sum()
        taken = row["delivered_bytes"] + row["in_flight"] * MSS
        found.append({**row, "resent": count, "bytes": max(0, round(taken - before))})
        before = max(before, taken)
    return found


def _interval(second: dict[str, Any]) -> dict[str, Any]:
    """A stream's second as iperf3 reports it: the bytes that the socket took, and the kernel's tcp_info."""
    srtt, trip = second["srtt_s"], second["rtt_s"]
    known = srtt == srtt and srtt is not None
    return {
        "socket": 5, "start": second["t_s"] - 1, "end": second["t_s"], "seconds": 1,
        "bytes": second["bytes"], "bits_per_second": 8 * second["bytes"],
        "retransmits": int(second["resent"]), "snd_cwnd": round(second["cwnd"] * MSS),
        "rtt": round(1e6 * srtt) if known else 0, "rttvar": round(1e6 * abs(trip - srtt)) if known else 0,
        "pmtu": 1500, "omitted": False, "sender": True,
    }  # fmt: skip


def _sum(rows: list[dict[str, Any]]) -> dict[str, Any]:
    total = sum(row["bytes"] for row in rows)
    return {
        "start": rows[0]["start"], "end": rows[-1]["end"], "seconds": len(rows), "bytes": total,
        "bits_per_second": 8 * total / len(rows), "retransmits": sum(row["retransmits"] for row in rows),
        "omitted": False, "sender": True,
    }  # fmt: skip


def _start() -> dict[str, Any]:
    return {
        "version": "iperf 3.12", "timestamp": {"timesecs": BEGAN}, "tcp_mss_default": MSS,
        "connecting_to": {"host": "10.78.0.2", "port": 5201}, "target_bitrate": 0, "sock_bufsize": 0,
        "test_start": {
            "protocol": "TCP", "num_streams": 1, "blksize": 131072, "omit": 0, "duration": TRANSFER_S,
            "bytes": 0, "blocks": 0, "reverse": 0, "tos": 0, "target_bitrate": 0,
        },
    }  # fmt: skip


def _shown(milliseconds: float) -> str:
    """A time as ping writes it: three digits, and never more than three places."""
    places = 0 if milliseconds >= 100 else 1 if milliseconds >= 10 else 2 if milliseconds >= 1 else 3
    return f"{milliseconds:.{places}f}"
