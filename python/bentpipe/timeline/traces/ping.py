"""The output of ping (iputils): plain, with times by its option -D, or by `ts`.

Source: iputils, `ping/ping_common.c` (the line of a reply, the summary) and its manual page.
"""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path

import polars as pl

from bentpipe.foreign import lines, refuse
from bentpipe.timeline.traces import probes
from bentpipe.timeline.traces.probes import Probe

# A pattern that may begin anywhere in a line is bounded: a long line must not take time of the square of its
# length.
_REPLY = re.compile(
    r"(?:\[(?P<at>[^\[\]]{1,60})\] +)?\b\d{1,6} bytes from "
    r".{0,400}icmp_seq=(?P<seq>\d{1,5}) .{0,80}time=(?P<rtt>-?\d{1,12}(?:\.\d{0,12})?) *ms"
)
_SUMMARY = re.compile(r"\b(\d{1,7}) packets transmitted, \d{1,7} received.{0,80} time (\d{1,12}) ?ms")
_WRAP = 65536


def read(
    path: Path,
    *,
    interval_s: float | None = None,
    outage_s: float | None = None,
    gap_s: float | None = None,
) -> pl.DataFrame:
    """Half of each round trip as delay; lost probes as outages, or as loss (see `probes.frame`).

    Times are those at which the probes were sent: the times of the replies less the round trips. Without
    them the probes are `interval_s` apart, by default the interval in the summary at the end.

    Raises:
        ScenarioError: there is no reply, times go back, there is a gap, or plain output without its summary
            has no interval.
        OSError: it cannot be read.
    """
    return probes.frame(path, sent(path, interval_s=interval_s), outage_s, gap_s)


def sent(path: Path, *, interval_s: float | None = None) -> list[Probe]:
    """Every probe, in the order in which they were sent; see `read`.

    Raises:
        ScenarioError: there is no reply, or plain output without its summary has no interval.
        OSError: it cannot be read.
    """
    replies: dict[int, tuple[int, float | None, float]] = {}
    last = 0
    spacing = interval_s
    before = 0
    for number, line in enumerate(lines(path), 1):
        summary = _SUMMARY.search(line)
        if summary is not None:
            last = int(summary[1])
            if spacing is None and last > 1:
                spacing = int(summary[2]) / 1000 / (last - 1)
        reply = _REPLY.search(line)
        if reply is None or "DUP!" in line:
            continue
        rtt_s = float(reply["rtt"]) / 1000
        if rtt_s < 0:
            refuse(path, number, f"the round-trip time is negative: {reply['rtt']} ms")
        # The number has 16 bits: the one nearest to the last is meant.
        seq = before + (int(reply["seq"]) - before + _WRAP // 2) % _WRAP - _WRAP // 2
        before = max(before, seq)
        at = None if reply["at"] is None else _instant(path, number, reply["at"])
        replies.setdefault(seq, (number, None if at is None else at - rtt_s, rtt_s))
    if not replies:
        refuse(path, None, "it has no reply; is it the output of ping?")
    stamped = all(at is not None for _, at, _ in replies.values())
    if not stamped and any(at is not None for _, at, _ in replies.values()):
        refuse(
            path,
            next(n for n, at, _ in replies.values() if at is None),
            "this reply has no time, others have",
        )
    if not stamped and spacing is None:
        refuse(
            path, None, 'the replies have no times and the summary is missing; say --interval "1 s", '
            "or measure with ping -D",
        )  # fmt: skip
    return _all(replies, max(last, before), spacing, stamped=stamped)


def _all(
    replies: dict[int, tuple[int, float | None, float]], last: int, spacing: float | None, *, stamped: bool
) -> list[Probe]:
    """The probes from the first to the last, those in between that were lost at even distances."""
    known = sorted(replies)
    if stamped and spacing is None and len(known) > 1:
        first, final = replies[known[0]][1], replies[known[-1]][1]
        assert first is not None and final is not None
        spacing = (final - first) / (known[-1] - known[0])
    step = spacing if spacing is not None and spacing > 0 else 1.0
    found: list[Probe] = []
    for place, seq in enumerate(known):
        line, at, rtt_s = replies[seq]
        now = at if stamped and at is not None else seq * step
        if place == 0:
            found += [Probe(None, now - (seq - lost) * step, None) for lost in range(min(1, seq), seq)]
        else:
            before, missing = found[-1].sent_s, seq - known[place - 1] - 1
            apart = (now - before) / (missing + 1)
            found += [Probe(line, before + apart * (i + 1), None) for i in range(missing)]
        found.append(Probe(line, now, rtt_s))
    end = found[-1].sent_s
    return found + [
        Probe(None, end + (seq - known[-1]) * step, None) for seq in range(known[-1] + 1, last + 1)
    ]


def _instant(path: Path, number: int, stamp: str) -> float:
    """Seconds of a time such as "1716822489.554994" or "2024-05-27 11:08:09.554994"."""
    try:
        return float(stamp)
    except ValueError:
        pass
    try:
        return datetime.fromisoformat(stamp).timestamp()
    except ValueError:
        refuse(path, number, f"{stamp[:40]!r} is no time")
