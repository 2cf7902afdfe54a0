"""Which program wrote a file, from its content."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from pathlib import Path

from bentpipe.timeline.traces.samples import refuse

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
    content = path.read_bytes()
    if not content:
        refuse(path, None, "the file is empty")
    if content.startswith(b"\x1f\x8b"):
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error):
            refuse(path, None, "it begins like gzip and is damaged")
    if content[:4] in _CAPTURES:
        return "capture"
    text = content.decode("utf-8-sig", errors="replace")
    if text.lstrip().startswith("{"):
        return _json_kind(path, text)
    head = text[:_ENOUGH]
    if re.search(r"bytes from .*icmp_seq=", head):
        return "ping"
    if re.search(r"\[ *(\d+|SUM)\].* sec .*bits/sec", head):
        return "iperf3"
    refuse(path, None, "it is none of: iperf3 (JSON or text), ping, irtt (JSON), pcap, pcapng")


def _json_kind(path: Path, text: str) -> str:
    try:
        report = json.loads(text)
    except json.JSONDecodeError as wrong:
        refuse(path, wrong.lineno, f"the JSON is damaged: {wrong.msg}")
    except (ValueError, RecursionError) as wrong:
        refuse(path, None, f"the JSON is damaged: {wrong}")
    if "round_trips" in report:
        return "irtt"
    if "intervals" in report or "start" in report or "error" in report:
        return "iperf3"
    refuse(path, None, "it is JSON, but neither of iperf3 nor of irtt (irtt client -o FILE)")
