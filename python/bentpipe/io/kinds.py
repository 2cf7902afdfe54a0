"""Kinds of files from elsewhere, recognised by their content, for every verb that reads one.

A name says nothing: `curl > starlink.txt` holds a table, and a log may be anything. A verb that cannot use a
file says what it is, and which verb takes it.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bentpipe import _core
from bentpipe.io.foreign import documents, head, text_of, unpacked

_ENOUGH = 1 << 16
MEASURED, TRACE, ELEMENTS = "measured", "trace", "elements"
_VERBS = {
    MEASURED: "bentpipe advise --measured takes it",
    TRACE: "bentpipe timeline import takes it",
    ELEMENTS: "bentpipe orbit path --tle takes it",
    "timeline": "it is for the key timeline of a link, and for --timeline",
    "scenario": "bentpipe run takes it",
}


@dataclass(frozen=True)
class FileKind:
    """A kind of file.

    Attributes:
        name: a short one; of a trace that of `bentpipe timeline import --format`.
        words: what such a file is, for messages: "the output of ping".
        uses: of `_VERBS`, what it is good for.
    """

    name: str
    words: str
    uses: Sequence[str] = ()

    @property
    def taken_by(self) -> str:
        """The verbs that take it, or that none does."""
        return "; ".join(_VERBS[use] for use in self.uses) or "no verb of bentpipe reads it"


_KINDS = {
    name: FileKind(name, words, uses)
    for name, words, *uses in (
        ("capture", "a capture of packets", MEASURED),
        ("parquet", "a Parquet table", "timeline"),
        ("timeline", "a time line", "timeline"),
        ("scenario", "a scenario", "scenario"),
        ("iperf3", "a report of iperf3", MEASURED, TRACE),
        ("nuttcp", "a report of nuttcp", TRACE),
        ("ping", "the output of ping or fping", MEASURED, TRACE),
        ("irtt", "the JSON of irtt client", MEASURED, TRACE),
        ("atlas", "pings of RIPE Atlas", MEASURED, TRACE),
        ("dish", "the history of a Starlink dish", MEASURED, TRACE),
        ("ndt7", "a measurement by NDT7", MEASURED),
        ("qlog", "a qlog of QUIC", MEASURED),
        ("flent", "the data of flent", MEASURED),
        ("ss", "the output of ss -tin", MEASURED),
        ("conext23", "a table of rates of Satellite-vs-Cellular", TRACE),
        ("autobahn", "a table of rates of Starlink-on-the-Autobahn", TRACE),
        ("leoem", "a path of LeoEM", TRACE),
        ("mahimahi", "a packet-delivery trace of mahimahi", TRACE),
        ("leoreplayer", "a trace of LeoReplayer", TRACE),
        ("hypatia", "forwarding state of Hypatia", TRACE),
        ("csv", "a table", TRACE),
        ("tle", "orbital elements (TLE)", ELEMENTS),
        ("omm-json", "orbital elements (OMM in JSON)", ELEMENTS),
        ("omm-csv", "orbital elements (OMM in CSV)", ELEMENTS),
        ("omm-kvn", "orbital elements (OMM in KVN)", ELEMENTS),
        ("omm-xml", "orbital elements (OMM in XML)", ELEMENTS),
        ("json", "JSON of another program"),
        ("xml", "XML of another program"),
    )
}
_MAGIC = {
    b"\x0a\x0d\x0d\x0a": "capture",  # pcapng
    b"\xa1\xb2\xc3\xd4": "capture",  # pcap, either order of bytes, micro- or nanoseconds
    b"\xd4\xc3\xb2\xa1": "capture",
    b"\xa1\xb2\x3c\x4d": "capture",
    b"\x4d\x3c\xb2\xa1": "capture",
    b"PAR1": "parquet",
}
# Of a text, the first that is found. A pattern is bounded: a long line must not take time of the square of
# its length.
_TEXTS = {
    "ping": (
        r"\bbytes from .{1,200}\b(?:icmp_)?seq=",
        r"^PING .{1,300}\bdata\b",
        r"^(?:\[[^\]\n]{1,60}\] )?[^\s:]\S{0,200} +: \[\d{1,9}\], (?:\d+ bytes|timed out)",  # fping
        r": .{0,60}[=<]\d{1,9} ?ms TTL=\d",  # Windows, in any language
        r": \S{1,12}[=<]\d{1,9} ?ms\s*$",  # the same by IPv6
    ),
    "iperf3": (
        r"^.{0,80}\[ *(?:\d+|SUM)\].{0,40} sec .{0,60}(?:bits|Bytes)/sec",
        r"^.{0,80}(?:iperf3: error|Connecting to host \S{1,200}, port \d)",
    ),
    "nuttcp": (r"[0-9.]{1,30} +MB +/ +[0-9.]{1,30} +sec += ", r"megabytes=\S{1,40} real_sec"),
    "ss": (r"\bcwnd:\d.{0,2000}\b(?:minrtt|segs_out|rcv_space|bytes_acked|data_segs_out):\d",),
    "leoem": (r"\A\d{1,9}\$(?:NULL|\[)",),
    "omm-kvn": (r"^\s*CCSDS_OMM_VERS\s*=", r"^\s*MEAN_MOTION\s*="),
    "omm-xml": (r"<(?:\w+:)?(?:omm|ndm)\b",),
    "tle": (r"^1 .{60,80}\r?\n2 .", r"^1 [0-9A-Z ]{5}[A-Z ] .{8} \d{5}\.\d"),
    "scenario": (r"^\s*\[\[flow\]\]", r'^\s*\[link\.["\w]'),
}
_PATTERNS = {name: [re.compile(one, re.MULTILINE) for one in patterns] for name, patterns in _TEXTS.items()}
_NUMBER = r"[-+]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:[eE][-+]?\d+)?"
_NUMBERS = re.compile(rf"\s*{_NUMBER}(?:[ \t]+{_NUMBER})+\s*")
SEPARATORS = {"\t": "tabs", ";": "semicolons", ",": "commas"}
"""What divides the cells of a table, and its name; the first that is in the first line is taken."""


def kind(path: Path) -> FileKind | None:
    """The kind of a file or directory; None if it is not known.

    Raises:
        ScenarioError: it is empty, too large, damaged JSON, or no regular file.
        OSError: it cannot be read.
    """
    if path.is_dir():
        names = {"fstate_": "hypatia", "bw_": "leoreplayer", "delay_": "leoreplayer"}
        return next((_KINDS[of] for name, of in names.items() if any(path.glob(f"{name}*.txt"))), None)
    begin = head(path, _ENOUGH)
    if not begin:
        raise _core.ScenarioError(f"{path}: the file is empty")
    if (magic := _MAGIC.get(begin[:4])) is not None:
        return _KINDS[magic]
    words = text_of(begin, errors="replace")
    name = _of_text(path, words.lstrip("\ufeff"), cut=len(begin) == _ENOUGH)
    return None if name is None else _KINDS[name]


def lacking(path: Path, what: str, name: str, words: str) -> str:
    """A message about a file that lacks what each file of a kind has.

    Args:
        path: the file.
        what: what is missing: "it has no reply".
        name: the kind.
        words: such a file: "the output of ping".
    """
    try:
        found = kind(path)
    except _core.ScenarioError:
        found = None
    if found is None:
        return f"{what}; is it {words}?"
    return what if found.name == name else f"{what}; it is {found.words}: {found.taken_by}"


def _of_text(path: Path, words: str, *, cut: bool) -> str | None:
    begins = words.lstrip(" \t\r\n\x1e")
    if '"dishGetHistory"' in words:  # scripts write the time of the request before it
        return "dish"
    if not begins.startswith("{"):
        for name, patterns in _PATTERNS.items():
            if any(one.search(words) for one in patterns):
                return name
    if re.match(r"\{|\[\s*[\[{\"\]\d-]", begins):
        return _of_json(documents(path, unpacked(path)))
    if begins.startswith("<"):
        return "xml"
    lines = words.splitlines()
    return _of_table([line for line in (lines[:-1] if cut else lines) if line.strip()])


def _of_json(found: Sequence[Any]) -> str:
    first = found[0]
    if isinstance(first, list) and first:
        first = first[0]
    if not isinstance(first, dict):
        return "json"
    return next((name for name, fits in _OBJECTS.items() if fits(first)), "json")


def _has(*names: str) -> Callable[[Mapping[str, Any]], bool]:
    return lambda one: all(name in one for name in names)


def _is_ndt7(one: Mapping[str, Any]) -> bool:
    inner = one.get("Download") or one.get("Upload")
    archived = isinstance(inner, dict) and ("UUID" in inner or "ServerMeasurements" in inner)
    of_client = isinstance(one.get("Key"), str) and "Value" in one
    return archived or of_client or any(name in one for name in ("TCPInfo", "AppInfo", "BBRInfo"))


_OBJECTS: Mapping[str, Callable[[Mapping[str, Any]], bool]] = {
    "irtt": _has("round_trips"),
    "scenario": _has("link", "flow"),
    "qlog": lambda one: "qlog_version" in one or "qlog" in str(one.get("file_schema", "")),
    "flent": _has("metadata", "results", "x_values"),
    "omm-json": _has("MEAN_MOTION", "EPOCH"),
    "atlas": _has("prb_id", "msm_id"),
    "ndt7": _is_ndt7,
    "iperf3": lambda one: (
        isinstance(one.get("event"), str) or any(name in one for name in ("intervals", "start", "error"))
    ),
}


def cells(line: str, separator: str) -> list[str]:
    """The cells of a line, without blanks around them."""
    return [cell.strip() for cell in next(csv.reader([line], delimiter=separator), [])]


def _of_table(lines: Sequence[str]) -> str | None:
    """The kind of a table by its first lines."""
    if not lines:
        return None
    if lines[0].startswith("# bentpipe timeline"):
        return "timeline"
    if all(line.strip().isascii() and line.strip().isdigit() for line in lines):
        return _of_whole_numbers([int(line) for line in lines if len(line) < 20])
    rows = [line for line in lines if not line.startswith("#")]
    if len(rows) > 1 and all(_NUMBERS.fullmatch(line) for line in rows[1:20]):
        return "csv" if len(rows[0].split()) == len(rows[1].split()) else None
    separator = next((one for one in SEPARATORS if rows and one in rows[0]), None)
    if separator is None:
        return None
    try:
        names = cells(rows[0], separator)
        second = cells(rows[1], separator) if len(rows) > 1 else []
    except csv.Error:
        return None
    if {"MEAN_MOTION", "EPOCH"} <= set(names):
        return "omm-csv"
    if "t_s" in names and {"rate_bps", "delay_s", "loss_rate", "up", "handover"} & set(names):
        return "timeline"
    if {"timestamp_start_dl", "download"} <= set(names):
        return "autobahn"
    if any(set(pair) <= set(names) for pair in (("time", "throughput"), ("Time", "Bitrate"))):
        if any(cell.endswith(" CDT") for cell in second):
            return "conext23"
    numbers = any(re.fullmatch(_NUMBER, cell) for cell in second)
    return "csv" if len(names) == len(second) > 1 and numbers else None


def _of_whole_numbers(found: Sequence[int]) -> str | None:
    """Opportunities never go back; delays do. If they are all the same, nobody knows."""
    if any(later < sooner for sooner, later in zip(found, found[1:], strict=False)):
        return "leoreplayer"
    return "mahimahi" if len(set(found)) > 1 else None
