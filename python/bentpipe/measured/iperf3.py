"""What a test by iperf3 says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bentpipe.foreign import refuse, text, value
from bentpipe.measured.losses import share
from bentpipe.measured.quantities import Estimate
from bentpipe.timeline.traces import iperf3 as trace

HEADERS = 52
"""Bytes of headers on each segment: IPv4, TCP, and its time stamps, as Linux has them."""
UDP_HEADERS = 28
_MSS, _DATAGRAM = 1448, 1448
_FILLED = 0.05
"""A test whose round trips swell by this share has filled a queue somewhere, so its rate is the link's."""
_FILLING = 2
"""Intervals at the start that say more of the sender's buffer, or of slow start, than of the link."""


def estimates(path: Path, floor_s: float | None = None) -> list[Estimate]:
    """Rate and loss; of a test by TCP on Linux also round-trip time and buffer.

    Args:
        path: iperf3's JSON, or its report as text.
        floor_s: the round-trip time without queues as another file tells it, which makes the buffer narrower.

    Raises:
        ScenarioError: the file is damaged, or the test failed.
    """
    report = _report(path)
    try:
        return _estimates(path, report, floor_s)
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError):
        refuse(path, None, "its start or its end is not as iperf3 writes it")


def _estimates(path: Path, report: dict[str, Any], floor_s: float | None) -> list[Estimate]:
    start, end = report.get("start") or {}, report.get("end") or {}
    test = start.get("test_start") or {}
    if test.get("protocol") == "UDP" and "error" not in report:
        return _datagrams(path, test, end)
    rates = trace.read(path)["rate_bps"].to_numpy()[:-1]
    mss = start.get("tcp_mss_default") or start.get("tcp_mss") or _MSS
    wire = (mss + HEADERS) / mss
    senders = [s.get("sender") or {} for s in end.get("streams") or []]
    least = min((s["min_rtt"] / 1e6 for s in senders if s.get("min_rtt")), default=0.0)
    most = max((s["max_rtt"] / 1e6 for s in senders if s.get("max_rtt")), default=0.0)
    swell = most - min(least, floor_s or least)
    filled = bool(least) and swell > _FILLED * least
    rate = _rate(path, rates, end, wire, filled=filled)
    found = [rate]
    if least:
        low = max(2 * least - most, 0.0)
        how = (
            "least smoothed round trip that the kernel told at the end of an interval; a queue may have "
            "stood then, and is taken for no longer than the swell of the others"
        )
        found.append(Estimate("rtt_s", least, low, least, how, path))
        floor = (floor_s, floor_s) if floor_s is not None and floor_s <= least else (low, least)
        if filled:
            room = [(most - at) * rate.value / 8 for at in floor]
            how = "swell of the smoothed round trip times the rate; more if the queue never was full"
            middle = room[1] if floor_s is None else room[0]
            found.append(Estimate("buffer_bytes", middle, min(room), max(room), how, path, "least"))
    sent = sum(s.get("bytes") or 0 for s in senders)
    resent = sum(s.get("retransmits") or 0 for s in senders)
    if sent:
        packets = max(round(sent / mss), 1)
        _, _, high = share(min(resent, packets), packets)
        how = f"at most the {resent} of {packets} segments that were sent again; queues may have dropped them"
        found.append(Estimate("loss", 0.0, 0.0, high, how, path, weight=0))
    return found


def _rate(
    path: Path, rates: NDArray[np.float64], end: dict[str, Any], wire: float, *, filled: bool
) -> Estimate:
    """The best half of the test without its start: shorter pieces tell how a socket's buffer was filled."""
    steady = rates[_FILLING:] if len(rates) > 2 * _FILLING else rates
    width = max(len(steady) // 2, 1)
    means = np.convolve(steady, np.ones(width) / width, mode="valid")
    value = float(means.max()) * wire
    whole = (end.get("sum_received") or {}).get("bits_per_second") or float(rates.mean())
    low = min(float(np.percentile(steady, 25)) * wire, value)
    high = max(float(np.percentile(steady, 75)) * wire, value)
    if filled:  # what came through in all is no more than the link carries
        high = max(high, float(whole) * wire)
    how = (
        f"highest mean over {width} of {len(rates)} intervals in a row, with headers; the middle half of them"
    )
    if filled:
        return Estimate("rate_bps", value, low, high, how, path, weight=2)
    how += "; nothing shows that the test filled the link"
    return Estimate("rate_bps", value, low, high, how, path, "least", 1)


def _datagrams(path: Path, test: dict[str, Any], end: dict[str, Any]) -> list[Estimate]:
    """What came through of a test by UDP, and what was lost."""
    total = end.get("sum") or {}
    sent, lost = int(total.get("packets") or 0), int(total.get("lost_packets") or 0)
    if not 0 <= lost <= sent or sent == 0:
        refuse(path, None, "it tells of no datagrams; did the test end?")
    size = test.get("blksize") or _DATAGRAM
    rate = float(total["bits_per_second"]) * (1 - lost / sent) * (size + UDP_HEADERS) / size
    value, low, high = share(lost, sent)
    how = f"{lost} of {sent} datagrams, Wilson's interval; a queue drops them too if more is sent than fits"
    return [
        Estimate("rate_bps", rate, rate, rate, "datagrams that came through, with headers", path, "least", 0),
        Estimate("loss", value, low, high, how, path, weight=1),
    ]


def _report(path: Path) -> dict[str, Any]:
    """Its JSON; of a report as text, nothing."""
    content = text(path)
    return dict(value(path, content.encode())) if content.lstrip().startswith("{") else {}
