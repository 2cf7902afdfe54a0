"""Estimates from what the kernel knows of its connections: `ss -tin`, once or again and again.

Source: iproute2, `misc/ss.c`, `tcp_stats_print` (the names and units of the values: minrtt in milliseconds,
rates with k, M, G or T by 1000, retrans with what is in flight and in all).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bentpipe.io.foreign import decoded, refuse, split, unpacked
from bentpipe.measured.counters import Found, joined, round_trip, sent_again
from bentpipe.measured.quantities import Estimate
from bentpipe.units import HEADERS, MSS

_VALUE = re.compile(r"\b([a-z_]{2,20}):([0-9.]{1,30})(?:/([0-9.]{1,30}))?(?![\w(])")
_RATE = re.compile(r"\b(?:delivery_rate |bbr:\(bw:)([0-9.]{1,20})([kMGT]?)bps\b")
_ENDS = re.compile(r"(\S{1,80}:[\w*]{1,20}) +(\S{1,80}:[\w*]{1,20})")
_UNITS = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


@dataclass
class _Connection:
    """A connection: its ends, its counters at last, its highest rate, and its least round trip."""

    ends: str = ""
    counters: Mapping[str, float] = field(default_factory=dict)
    rate_bps: float = 0.0
    least_ms: float = float("inf")


def estimates(path: Path) -> Found:
    """Round trip without queues, a lower bound of the rate, and an upper bound of the losses.

    They are those of the connection to another host that has sent most.

    Raises:
        ScenarioError: no connection has sent anything, or its round trip is missing.
        OSError: it cannot be read.
    """
    known: dict[str, _Connection] = {}
    ends = ""
    for line in split(path, decoded(path, unpacked(path))):
        if not line[:1].isspace() and (both := _ENDS.search(line)) is not None:
            ends = f"{both[1]} {both[2]}"
        values = {name: (first, second) for name, first, second in _VALUE.findall(line)}
        if "cwnd" not in values:
            continue
        try:
            counters = {name: float(second or first) for name, (first, second) in values.items()}
            counters["rtt"] = float(values["rtt"][0]) if "rtt" in values else 0.0
            rates = [float(number) * _UNITS[unit] for number, unit in _RATE.findall(line)]
        except ValueError:
            continue
        one = known.setdefault(ends, _Connection(ends))
        one.counters = counters
        one.rate_bps = max(one.rate_bps, *rates, 0.0)
        one.least_ms = min(one.least_ms, counters.get("minrtt") or counters["rtt"] or float("inf"))
    outside = [one for one in known.values() if not one.ends.startswith(("127.", "[::1]"))]
    most = max(outside, key=lambda one: one.counters.get("bytes_acked", 0.0), default=None)
    if most is None or most.least_ms == float("inf"):
        refuse(path, None, "no connection to another host has a round trip in it; is it of ss -tin?")
    mss = most.counters.get("mss") or MSS
    of = f"of the connection that sent most, of {len(outside)}" if len(outside) > 1 else "of the connection"
    found = [round_trip(path, most.least_ms / 1e3, f"least {of}, by the kernel")]
    if most.rate_bps:
        rate_bps = most.rate_bps * (mss + HEADERS) / mss
        how = f"most at which data {of} was delivered, by the kernel, with headers"
        found.append(Estimate("rate_bps", rate_bps, rate_bps, rate_bps, how, path, "least", 1))
    sent = round(most.counters.get("data_segs_out", 0.0))
    again = sent_again(path, round(most.counters.get("retrans", 0.0)), sent, 1.0)
    return joined((found, []), again)
