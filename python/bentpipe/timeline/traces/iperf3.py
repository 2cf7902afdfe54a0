"""Measurements by iperf3, as a rate: its JSON (`--json`), or the text of its report, also with times by `ts`.

Source: iperf3, `iperf_api.c` (the reports) and its manual page. An interval of a UDP test that the client
sends contains the data sent and not the data received; only the receiver's intervals are taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from bentpipe.foreign import cut, refuse, split, text, value
from bentpipe.timeline.traces.samples import Samples

_UNITS = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
# A number can be read in one way alone: a long one must not take time of the square of its length.
_ROW = re.compile(
    r"\[ *(?P<id>\d+|SUM)\](?:\[[TR]X-[CS]\])? +(?P<from>\d+(?:\.\d*)?)-(?P<to>\d+(?:\.\d*)?) +sec "
    r"+[0-9.]+ [KMGT]?Bytes +"
    r"(?P<rate>-?\d+(?:\.\d*)?) (?P<unit>[KMGT]?)bits/sec(?P<rest>.*)"
)
_TOLERANCE_S = 0.02


def read(path: Path, *, stream: int | None = None, gap_s: float | None = None) -> pl.DataFrame:
    """The rate in each interval of a test: of all its streams together, or of one.

    The last row is the end of the last interval, with its rate.

    Args:
        path: iperf3's JSON, or its report as text.
        stream: one of the parallel streams, from 1.
        gap_s: the longest interval that is not a gap.

    Raises:
        ScenarioError: it is neither, it is damaged, the test failed or has no intervals, they leave a gap,
            or it is a UDP test whose intervals are those of the sender.
        OSError: it cannot be read.
    """
    content = text(path)
    rows = _of_json if content.lstrip().startswith("{") else _of_text
    samples = Samples(path)
    before = 0.0
    for line, what, begin, end, rate_bps in rows(path, content, stream):
        if begin > before + _TOLERANCE_S:
            refuse(path, line, f"a gap: {what} at {begin:g} s, the one before ended at {before:g} s")
        if begin < before - _TOLERANCE_S:
            refuse(
                path, line, f"the time goes back: {what} at {begin:g} s, the one before ended at {before:g} s"
            )
        samples.add(line, begin, rate_bps=rate_bps)
        before = end
    samples.end_s = before
    return samples.frame(gap_s)


_Rows = Iterator[tuple[int | None, str, float, float, float]]
"""Of each interval its line, the words "the interval begins", begin and end in seconds, and its rate."""


def _of_json(path: Path, content: str, stream: int | None) -> _Rows:
    report = value(path, content.encode())
    if not isinstance(report, dict):
        refuse(path, None, "it is JSON, but no object as of iperf3")
    if isinstance(report.get("error"), str):
        refuse(path, None, f"the test failed: {cut(report['error'])}")
    try:
        start = report.get("start", {}).get("test_start", {})
        sent = start.get("protocol") == "UDP" and not start.get("reverse") and not start.get("bidir")
    except AttributeError:
        refuse(path, None, "start.test_start is no object; is it iperf3's JSON?")
    intervals = report.get("intervals")
    if sent:
        intervals = (report.get("server_output_json") or {}).get("intervals")
        if intervals is None:
            _senders(path)
    if not isinstance(intervals, list) or not intervals:
        refuse(path, None, "it has no intervals; is it iperf3's JSON? (iperf3 --json --interval 0.5)")
    for place, interval in enumerate(intervals):
        try:
            part = interval["sum"] if stream is None else interval["streams"][stream - 1]
            if part.get("omitted"):  # omitted intervals (--omit) have a clock of their own
                continue
            begin, end, rate = (float(part[key]) for key in ("start", "end", "bits_per_second"))
        except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
            refuse(path, None, f"intervals[{place}] has no start, end and bits_per_second")
        except IndexError:
            refuse(path, None, f"there is no stream {stream}; the test has {len(interval['streams'])}")
        yield None, f"intervals[{place}] begins", begin, end, rate


def _of_text(path: Path, content: str, stream: int | None) -> _Rows:
    rows: list[tuple[int, re.Match[str]]] = []
    udp_sender = False
    for number, line in enumerate(split(path, content), 1):
        if "iperf3: error" in line:
            refuse(path, number, f"the test failed: {cut(line.partition('iperf3: error')[2].strip(' -'))}")
        udp_sender |= "Total Datagrams" in line and "Lost/Total" not in line and not rows
        found = _ROW.search(line)
        if found is not None and not re.search(r"\b(sender|receiver|omitted)\b", found["rest"]):
            rows.append((number, found))
    if not rows:
        refuse(path, None, "it has no intervals; is it a report of iperf3, or its JSON?")
    if udp_sender:
        _senders(path)
    streams = list(dict.fromkeys(row["id"] for _, row in rows if row["id"] != "SUM"))
    if stream is None:
        wanted = "SUM" if len(streams) > 1 else streams[0]
    elif stream > len(streams):
        refuse(path, None, f"there is no stream {stream}; the test has {len(streams)}")
    else:
        wanted = streams[stream - 1]
    before = 0.0
    for number, row in rows:
        begin, end = float(row["from"]), float(row["to"])
        # The final sum of UDP receivers is not an interval.
        if row["id"] != wanted or (before > 0 and begin == 0 and end >= before - _TOLERANCE_S):
            continue
        yield number, "the interval begins", begin, end, float(row["rate"]) * _UNITS[row["unit"]]
        before = end


def _senders(path: Path) -> None:
    refuse(
        path, None,
        "its intervals say what was sent by UDP, not what came through; "
        "measure with --reverse, or with --get-server-output and --json",
    )  # fmt: skip
