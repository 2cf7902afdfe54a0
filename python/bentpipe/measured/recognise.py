"""Recognition of the program that wrote a file, from its content."""

from __future__ import annotations

import re
from pathlib import Path

from bentpipe.foreign import head, refuse, unpacked, value

_CAPTURES = (
    b"\x0a\x0d\x0d\x0a",  # pcapng
    b"\xa1\xb2\xc3\xd4",  # pcap, either order of bytes, micro- or nanoseconds
    b"\xd4\xc3\xb2\xa1",
    b"\xa1\xb2\x3c\x4d",
    b"\x4d\x3c\xb2\xa1",
)
_ENOUGH = 1 << 16


def kind(path: Path) -> str:
    """One of "capture", "iperf3", "irtt" and "ping".

    Raises:
        ScenarioError: it is none of them.
        OSError: it cannot be read.
    """
    begin = head(path, _ENOUGH)
    if not begin:
        refuse(path, None, "the file is empty")
    if begin[:4] in _CAPTURES:
        return "capture"
    words = begin.decode("utf-8-sig", errors="replace")
    if words.lstrip().startswith("{"):
        return _json_kind(path)
    if re.search(r"bytes from .*icmp_seq=", words):
        return "ping"
    if re.search(r"\[ *(\d+|SUM)\].* sec .*bits/sec", words):
        return "iperf3"
    refuse(path, None, "it is none of: iperf3 (JSON or text), ping, irtt (JSON), pcap, pcapng")


def _json_kind(path: Path) -> str:
    report = value(path, unpacked(path))
    if "round_trips" in report:
        return "irtt"
    if "intervals" in report or "start" in report or "error" in report:
        return "iperf3"
    refuse(path, None, "it is JSON, but neither of iperf3 nor of irtt (irtt client -o FILE)")
