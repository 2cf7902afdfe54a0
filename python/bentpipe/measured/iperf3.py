"""What a test by iperf3 says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from bentpipe.measured.losses import share
from bentpipe.measured.quantities import Estimate
from bentpipe.timeline.traces import iperf3 as trace

HEADERS = 52
"""Bytes of headers on each segment: IPv4, TCP, and its time stamps, as Linux has them."""
_MSS = 1448
_FILLED = 0.05
"""A test whose round trips swell by this share has filled a queue somewhere, so its rate is the link's."""


def estimates(path: Path) -> list[Estimate]:
    """Rate; of a test by TCP on Linux also round-trip time, an upper bound of loss, and buffer.

    Raises:
        ScenarioError: the file is damaged, or the test failed.
    """
    frame = trace.read(path)
    rates = frame["rate_bps"].to_numpy()[:-1]
    report = _report(path)
    start = report.get("start") or {}
    udp = (start.get("test_start") or {}).get("protocol") == "UDP"
    mss = start.get("tcp_mss_default") or start.get("tcp_mss") or _MSS
    wire = 1.0 if udp else (mss + HEADERS) / mss
    senders = [s.get("sender") or {} for s in (report.get("end") or {}).get("streams") or []]
    least = [s["min_rtt"] / 1e6 for s in senders if s.get("min_rtt")]
    most = [s["max_rtt"] / 1e6 for s in senders if s.get("max_rtt")]
    swell = max(most) - min(least) if least and most else 0.0
    filled = bool(least) and swell > _FILLED * min(least)
    high, middle, top = (float(np.percentile(rates, q)) * wire for q in (95, 50, 100))
    how = (
        f"95th percentile of {len(rates)} intervals, with headers; its range from their median to their most"
    )
    if not filled:
        how += "; nothing shows that the test filled the link"
    found = [
        Estimate(
            "rate_bps", high, min(middle, high), top, how, path, "" if filled else "least", 2 if filled else 1
        )
    ]
    if least:
        how = "least round trip that the sender's kernel saw"
        found.append(Estimate("rtt_s", min(least), min(least), min(least), how, path))
    sent = sum(s.get("bytes") or 0 for s in senders)
    resent = sum(s.get("retransmits") or 0 for s in senders)
    if sent and not udp:
        packets = max(round(sent / mss), 1)
        _, _, most_loss = share(min(resent, packets), packets)
        how = f"at most the {resent} of {packets} segments that were sent again; queues may have dropped them"
        found.append(Estimate("loss", 0.0, 0.0, most_loss, how, path, weight=0))
    if filled:
        room = swell * high / 8
        how = "swell of the round trip times the rate; more if the queue never was full"
        found.append(Estimate("buffer_bytes", room, swell * middle / 8, swell * top / 8, how, path))
    return found


def _report(path: Path) -> dict[str, Any]:
    """Its JSON; of a report as text, nothing."""
    content = path.read_text(encoding="utf-8-sig")
    return dict(json.loads(content)) if content.lstrip().startswith("{") else {}
