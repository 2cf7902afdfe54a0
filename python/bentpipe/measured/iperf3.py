"""Estimates from a test by iperf3."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bentpipe import _core
from bentpipe.io.foreign import refuse
from bentpipe.machine.linux import MODULES
from bentpipe.measured.counters import FILLED, best_half, from_count
from bentpipe.measured.hypotheses import Count
from bentpipe.measured.quantities import Estimate, share
from bentpipe.measured.transfers import SMALL_WINDOW, Intervals, IperfTest
from bentpipe.registry import controllers
from bentpipe.timeline.traces import iperf3 as trace
from bentpipe.timeline.traces.samples import check_rate
from bentpipe.units import HEADERS, MSS

UDP_HEADERS = 28
_COOKIE = 30
"""Characters below which it is not a cookie of iperf3, which draws 36 of them."""
_LONG_S = 5.0
_UNSEEN = 0.5
"""Of what a sender's socket took, the least share that came through, where the file does not say."""
_LIKE = 0.25
"""A window whose logarithm is as near to that of `SMALL_WINDOW` may have been held there by the kernel."""


def read(
    report: trace.Iperf3Report, floor_s: float | None = None
) -> tuple[list[Estimate], list[Count], IperfTest | str]:
    """All that a test says of the link.

    Args:
        report: the test.
        floor_s: the round-trip time without queues from another file, which narrows the range of the buffer.

    Returns:
        Rate and loss, and of a test by TCP on Linux also round-trip time and buffer; the number of lost
        packets, the exact one for UDP and an upper bound by retransmissions for TCP; the transfer as
        evidence, or the reason why it is not, a clause.

    Raises:
        ScenarioError: its start or its end is damaged.
    """
    content = dict(report.content)
    try:
        return _estimates(report, content, floor_s), _counts(report, content), _test(report, content)
    except _core.ScenarioError:
        raise
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError):
        refuse(report.path, None, "its start or its end is not as iperf3 writes it")


def cookie(report: trace.Iperf3Report) -> str:
    """What both ends of a test have in their JSON, and no other test has; empty if it is missing."""
    found = (report.content.get("start") or {}).get("cookie")
    return found if isinstance(found, str) and len(found) >= _COOKIE else ""


def _estimates(report: trace.Iperf3Report, content: dict[str, Any], floor_s: float | None) -> list[Estimate]:
    path, start, end = report.path, content.get("start") or {}, content.get("end") or {}
    asked = start.get("test_start") or {}
    if report.udp and content:
        return _datagrams(path, asked, end)
    wire = (_segment(start) + HEADERS) / _segment(start)
    trips = _round_trips(_senders(report, content))
    least, _, most = trips or (0.0, 0.0, 0.0)
    swell = most - min(least, floor_s or least)
    filled = bool(least) and swell > FILLED * least
    rate = _rate(report, _received(report, content), wire, filled=filled)
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
    for one in _counts(report, content):
        found += from_count(one)[0]
    return found


def _rate(
    report: trace.Iperf3Report, received: tuple[float, float] | None, wire: float, *, filled: bool
) -> Estimate:
    """By the receiver's intervals, the best half of the test without its start; else by the receiver's sum.

    The sender's intervals show how a socket's buffer was filled: they are an upper end only.
    """
    rates, by_receiver = _intervals(report)
    mean, low, high, width = best_half(rates * wire)
    whole = wire * float(received[0] if received else rates.mean())
    way = "of the upload, beside a download at once (--bidir): " if report.both_ways else ""
    if by_receiver:
        value, high = mean, max(high, whole)
        how = f"{way}highest mean over {width} of {len(rates)} intervals in a row, with headers; the middle "
        how += "half of them"
    elif received:
        value, low, high = whole, whole, max(whole, mean)
        how = f"{way}what the receiver got in all, start-up included, with headers; up to the highest mean "
        how += f"over {width} of {len(rates)} intervals of the sender"
    else:
        value, low, high = whole, _UNSEEN * whole, max(whole, mean)
        how = f"{way}what the sender's socket took in all, with headers; what came through is not in the file"
        return Estimate("rate_bps", value, low, high, how, report.path, "least", 0)
    if filled and not way:
        return Estimate("rate_bps", value, low, high, how, report.path, weight=2)
    how += "" if filled else "; nothing shows that the test filled the link"
    return Estimate("rate_bps", value, low, high, how, report.path, "least", 1)


def _test(report: trace.Iperf3Report, content: dict[str, Any]) -> IperfTest | str:
    start, end = content.get("start") or {}, content.get("end") or {}
    asked = start.get("test_start") or {}
    if not content:
        return "a report as text does not name the algorithm; iperf3 --json does"
    if report.udp:
        return "it is by UDP"
    if report.both_ways:
        return "it went in both directions at once"
    if asked.get("target_bitrate"):
        return "its rate was limited (iperf3 -b)"
    name = end.get("sender_tcp_congestion") or asked.get("congestion") or ""
    known = _algorithm(str(name))
    received = _received(report, content)
    if known is None or received is None:
        return f"the algorithm {name!r} is not known here" if name else "it does not name the algorithm"
    rates, by_receiver = _intervals(report)
    senders, over_time = _senders(report, content), _over_time(content)
    if over_time is not None:  # a receiver has one more interval, which ends when the last data came
        rates = rates[: len(over_time.idle)]
    resent = [one["retransmits"] for one in senders if one.get("retransmits") is not None]
    return IperfTest(
        report.path, known["id"], known["label"], max(len(senders), 1), bool(asked.get("reverse")),
        float(asked.get("omit") or 0), received[1], received[0], tuple(map(float, rates)), by_receiver,
        int(sum(resent)) if resent else None, over_time, _windows(start, senders),
    )  # fmt: skip


def _over_time(report: dict[str, Any]) -> Intervals | None:
    """The senders' kernel statistics at the end of each interval; None if this end was not the sender.

    Intervals longer than `_LONG_S` contain too little information on round trips.
    """
    intervals = [one for one in report.get("intervals") or [] if not (one.get("sum") or {}).get("omitted")]
    streams = [one.get("streams") or [{}] for one in intervals]
    known = [row.get("rtt") and "retransmits" in row for rows in streams[1:] for row in rows]
    width_s = float(intervals[0]["sum"].get("seconds") or 0) if intervals else 0.0
    if not known or not all(known) or not 0 < width_s <= _LONG_S:
        return None
    rtts = [float(np.mean([row.get("rtt") or 0 for row in rows])) / 1e6 for rows in streams]
    resent = [sum(row.get("retransmits") or 0 for row in rows) for rows in streams]
    return Intervals(width_s, tuple(rtts), tuple(resent), _idle(streams))


def _idle(streams: list[list[dict[str, Any]]]) -> tuple[bool, ...]:
    """Whether nothing was acknowledged in each interval, on any stream.

    Then the kernel's round trip and window are those of the interval before. They can also be steady; so the
    socket, which takes data in large blocks, must have taken none.
    """
    same = ("rtt", "rttvar", "snd_cwnd")

    def idle(before: dict[str, Any], row: dict[str, Any]) -> bool:
        return not row.get("bytes", 1) and all(key in row and row[key] == before.get(key) for key in same)

    pairs = zip(streams, streams[1:], strict=False)
    return False, *(all(idle(*two) for two in zip(before, rows, strict=False)) for before, rows in pairs)


def _algorithm(module: str) -> dict[str, Any] | None:
    """The registry's entry of an algorithm by the name that Linux has for it."""
    names = {module.removeprefix("tcp_"): known for known, module in MODULES.items()}
    name = names.get(module, module)
    return next((one for one in controllers() if one["id"] == name), None)


def _windows(start: dict[str, Any], senders: list[dict[str, Any]]) -> tuple[int | None, ...]:
    """The receive windows that there may have been: as asked for, as seen, or those of usual kernels."""
    if start.get("sock_bufsize"):
        return (int(start["sock_bufsize"]),)
    seen = max((one.get("max_snd_wnd") or 0 for one in senders), default=0)
    if seen and abs(math.log(seen / SMALL_WINDOW)) > _LIKE:
        return (None,)
    return (SMALL_WINDOW, None)


def _way(report: trace.Iperf3Report) -> str | None:
    """The direction that is taken of a test in both directions at once: that of a test without --bidir."""
    return "up" if report.both_ways else None


def _intervals(report: trace.Iperf3Report) -> tuple[NDArray[np.float64], bool]:
    """Bits per second in each interval, all streams together; and whether they are the receiver's."""
    received = report.receiver(_way(report))
    end = received or report.sender(_way(report))
    assert end is not None
    if received is None and report.udp:
        report.refuse_senders()
    rates = trace.intervals(report.path, end)["rate_bps"].to_numpy()[:-1]
    return np.asarray(rates, dtype=float), received is not None


def _received(report: trace.Iperf3Report, content: dict[str, Any]) -> tuple[float, float] | None:
    """What the receivers got in all in that direction: bits per second, seconds; None if not reported."""
    if not content:
        row = report.total(_way(report))
        found = (0.0, 0.0) if row is None else (row.rate_bps, row.end_s - row.begin_s)
    else:
        end = (content.get("end") or {}).get("sum_received") or {}
        found = float(end.get("bits_per_second", 0)), float(end.get("seconds", 0))
        check_rate(report.path, None, found[0], "end.sum_received")
    return found if min(found) > 0 else None


def _senders(report: trace.Iperf3Report, content: dict[str, Any]) -> list[dict[str, Any]]:
    """The senders' statistics of each stream; in a test in both directions, those of the client."""
    senders = [one.get("sender") or {} for one in (content.get("end") or {}).get("streams") or []]
    return [one for one in senders if one.get("sender", True)] if report.both_ways else senders


def _round_trips(senders: list[dict[str, Any]]) -> tuple[float, float, float] | None:
    """The least, the mean and the greatest smoothed round trip, mean over the streams; None if unknown."""
    trips = [[one.get(key) or 0 for key in ("min_rtt", "mean_rtt", "max_rtt")] for one in senders]
    trips = [one for one in trips if all(one)]
    if not trips:
        return None
    least, mean, most = (float(value) / 1e6 for value in np.mean(trips, axis=0))
    return least, mean, most


def _counts(report: trace.Iperf3Report, content: dict[str, Any]) -> list[Count]:
    path, start, end = report.path, content.get("start") or {}, content.get("end") or {}
    if (start.get("test_start") or {}).get("protocol") == "UDP":
        total = end.get("sum") or {}
        sent, lost = int(total.get("packets") or 0), int(total.get("lost_packets") or 0)
        return [Count(lost, sent, float(total.get("seconds") or 1), path)] if sent else []
    senders = _senders(report, content)
    sent = sum(one.get("bytes") or 0 for one in senders)
    resent = sum(one.get("retransmits") or 0 for one in senders)
    if not sent:
        return []
    packets = max(round(sent / _segment(start)), 1)
    lasted_s = max(float(one.get("seconds") or 1) for one in senders)
    return [Count(min(resent, packets), packets, lasted_s, path, most=True)]


def _segment(start: dict[str, Any]) -> float:
    """Bytes of payload in a segment."""
    return float(start.get("tcp_mss_default") or start.get("tcp_mss") or MSS)


def _datagrams(path: Path, test: dict[str, Any], end: dict[str, Any]) -> list[Estimate]:
    """The delivered and the lost packets of a test by UDP."""
    total = end.get("sum") or {}
    sent, lost = int(total.get("packets") or 0), int(total.get("lost_packets") or 0)
    if not 0 <= lost <= sent or sent == 0:
        refuse(path, None, "it tells of no datagrams; did the test end?")
    size = test.get("blksize") or MSS
    check_rate(path, None, float(total["bits_per_second"]), "end.sum")
    rate = float(total["bits_per_second"]) * (1 - lost / sent) * (size + UDP_HEADERS) / size
    value, low, high = share(lost, sent)
    how = f"{lost} of {sent} datagrams, Wilson's interval; a queue drops them too if more is sent than fits"
    return [
        Estimate("rate_bps", rate, rate, rate, "datagrams that came through, with headers", path, "least", 0),
        Estimate("loss", value, low, high, how, path, weight=1),
    ]
