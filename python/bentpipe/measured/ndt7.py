"""Estimates from a measurement by NDT7 of M-Lab: the lines of a client, or the archived result of a server.

Source: m-lab/ndt-server, `spec/ndt7-protocol.md` (the measurement message: times are microseconds, TCPInfo
counts at the level of TCP) and `spec/data-format.md` (the archive); m-lab/ndt7-client-go,
`internal/emitter/json.go` (a message in the Value of each line).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from bentpipe.io.foreign import documents, refuse, unpacked
from bentpipe.measured.counters import FILLED, WIRE, Found, joined, rate, round_trip, sent_again
from bentpipe.units import MSS

_US = 1e-6
_WIDTH_S = 0.5


def estimates(path: Path) -> Found:
    """Rate, round trip without queues, and an upper bound of the losses: of the download, if there is one.

    Raises:
        ScenarioError: it is damaged, or has no measurement.
        OSError: it cannot be read.
    """
    try:
        messages = list(_messages(documents(path, unpacked(path))))
        for test in ("download", "upload"):
            of = [(origin, one) for name, origin, one in messages if name == test]
            if of:
                beside = test == "download" and any(name == "upload" for name, _, _ in messages)
                found = _of(path, test, of, beside=beside)
                if found[0]:
                    return found
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
        refuse(path, None, "a message is not as NDT7 writes it")
    refuse(path, None, "it is a measurement by NDT7 without data: no message has AppInfo or TCPInfo")


def _messages(found: Sequence[Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """The test, the origin and the measurement of each message."""
    for one in found:
        for name in ("Download", "Upload"):
            archived = one.get(name)
            if isinstance(archived, dict):
                for origin in ("Server", "Client"):
                    for message in archived.get(f"{origin}Measurements") or ():
                        yield name.lower(), origin.lower(), message
        message = one.get("Value", one) if "Key" in one else one
        if isinstance(message, dict) and ("AppInfo" in message or "TCPInfo" in message):
            yield str(message.get("Test") or "download"), str(message.get("Origin") or "client"), message


def _of(path: Path, test: str, messages: Sequence[tuple[str, Mapping[str, Any]]], *, beside: bool) -> Found:
    kernel = [one["TCPInfo"] for origin, one in messages if origin == "server" and one.get("TCPInfo")]
    found: list[Found] = []
    filled = False
    if kernel:
        least = min(float(one["MinRTT"]) for one in kernel if one.get("MinRTT"))
        most = max(float(one.get("RTT") or 0) for one in kernel)
        filled = most > (1 + FILLED) * least
        how = f"least of the {test} that the server's kernel saw"
        found.append(([round_trip(path, least * _US, how)], []))
    if test == "download":  # the client received
        reported = [one["AppInfo"] for origin, one in messages if origin == "client" and one.get("AppInfo")]
        counted = [(float(one["ElapsedTime"]) * _US, float(one["NumBytes"])) for one in reported]
        if not counted:
            counted = [(float(one["ElapsedTime"]) * _US, float(one["BytesAcked"])) for one in kernel]
        last = kernel[-1] if kernel else {}
        again, sent = (round(float(last.get(name) or 0) / MSS) for name in ("BytesRetrans", "BytesSent"))
        found.append(sent_again(path, again, sent, float(last.get("ElapsedTime") or 0) * _US))
    else:
        counted = [(float(one["ElapsedTime"]) * _US, float(one["BytesReceived"])) for one in kernel]
    of = f"of the {test}"
    of += " (the file has an upload, too)" if beside else ""
    if rates := _rates(sorted(counted)):
        found.append(([rate(path, rates, of, filled=filled)], []))
    return joined(*found)


def _rates(counted: Sequence[tuple[float, float]]) -> list[float]:
    """Bits per second with headers, in intervals of half a second or more."""
    kept = [(0.0, 0.0)]
    for one in counted:
        if one[0] - kept[-1][0] >= _WIDTH_S:
            kept.append(one)
    if len(kept) == 1 and counted and counted[-1][0] > 0:
        kept.append(counted[-1])
    return [8 * WIRE * (b[1] - a[1]) / (b[0] - a[0]) for a, b in pairwise(kept)]
