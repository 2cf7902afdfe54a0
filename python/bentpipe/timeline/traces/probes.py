"""Probes that come back or not, as ping and irtt send them: delays, outages and losses.

The output of ping (iputils) may be plain, with times by its option -D, or by `ts`. Source: iputils,
`ping/ping_common.c` (the line of a reply, the summary) and its manual page. The JSON of irtt
(`irtt client -o FILE`) may be compressed by gzip. Source: the manual page irtt-client(1), section "JSON
format": round_trips with seqno, lost, timestamps, delay.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from pathlib import Path

import polars as pl

from bentpipe.foreign import lines, refuse, unpacked, value
from bentpipe.timeline.traces.samples import Samples

OUTAGE_S = 1.0
"""Consecutive probes that are lost for longer than this mean that the path was dark."""
# A pattern that may begin anywhere in a line is bounded: a long line must not take time of the square of its
# length.
_REPLY = re.compile(
    r"(?:\[(?P<at>[^\[\]]{1,60})\] +)?\b\d{1,6} bytes from "
    r".{0,400}icmp_seq=(?P<seq>\d{1,5}) .{0,80}time=(?P<rtt>-?\d{1,12}(?:\.\d{0,12})?) *ms"
)
_SUMMARY = re.compile(r"\b(\d{1,7}) packets transmitted, \d{1,7} received.{0,80} time (\d{1,12}) ?ms")
_WRAP = 65536


@dataclass(frozen=True)
class Probe:
    """One probe: its line in the file, its time of sending, its round-trip time (None if it was lost)."""

    line: int | None
    sent_s: float
    rtt_s: float | None


def frame(path: Path, probes: Sequence[Probe], outage_s: float | None, gap_s: float | None) -> pl.DataFrame:
    """Half of each round trip as the one-way delay at the instant when its probe was sent.

    Of lost ones, a run in which nothing came back for longer than `outage_s` is an outage: from the first
    that was lost until the next that was not, `up` is false. The others are a rate of loss, the same over
    the whole time line: their share of the probes outside outages. It counts losses of either way.

    Raises:
        ScenarioError: no probe came back, times go back, or there is a gap.
    """
    longest = OUTAGE_S if outage_s is None else outage_s
    if all(probe.rtt_s is None for probe in probes):
        refuse(path, None, f"none of {len(probes)} probes came back" if probes else "it holds no probe")
    unseen = dark(probes, longest)
    outside = [probe for probe, is_dark in zip(probes, unseen, strict=True) if not is_dark]
    lost = sum(probe.rtt_s is None for probe in outside)
    samples = Samples(path)
    for probe, is_dark in zip(probes, unseen, strict=True):
        values: dict[str, float | bool | None] = {
            "delay_s": None if probe.rtt_s is None else probe.rtt_s / 2,
        }
        if lost:
            values["loss_rate"] = lost / len(outside)
        if any(unseen):
            values["up"] = not is_dark
        samples.add(probe.line, probe.sent_s, **values)
    found = samples.frame(gap_s)
    # A lost probe has no delay: a straight line bridges it.
    kept = pl.Series([probe.rtt_s is not None for probe in probes])
    if any(unseen):
        kept |= found["up"] != found["up"].shift(1, fill_value=True)
    kept[0] = True
    return found.filter(kept)


def dark(probes: Sequence[Probe], longest: float) -> list[bool]:
    """For each probe, whether it was lost in an outage: a run of lost ones of more than `longest` seconds."""
    found: list[bool] = []
    for is_lost, run in groupby(probes, key=lambda probe: probe.rtt_s is None):
        lost = list(run)
        # The length of a run that ends with the trace is unknown; its visible part counts.
        after = probes[min(len(found) + len(lost), len(probes) - 1)]
        found += [is_lost and after.sent_s - lost[0].sent_s > longest] * len(lost)
    return found


def irtt(path: Path, *, outage_s: float | None = None, gap_s: float | None = None) -> pl.DataFrame:
    """Half of each round trip as delay; lost probes as outages, or as loss (see `frame`).

    Times are those at which the client sent, by its monotonic clock.

    Raises:
        ScenarioError: it is not such JSON, or damaged, no probe came back, or there is a gap.
        OSError: it cannot be read.
    """
    return frame(path, irtt_probes(path), outage_s, gap_s)


def irtt_probes(path: Path) -> list[Probe]:
    """Every probe of irtt, in the order of the file.

    Raises:
        ScenarioError: it is not such JSON, or damaged.
        OSError: it cannot be read.
    """
    content = unpacked(path)
    if not content.strip():
        refuse(path, None, "the file is empty")
    report = value(path, content)
    trips = report.get("round_trips") if isinstance(report, dict) else None
    if not isinstance(trips, list) or not trips:
        refuse(path, None, "it has no round_trips; is it the JSON of irtt client?")
    found = []
    for place, trip in enumerate(trips):
        try:
            sent = float(trip["timestamps"]["client"]["send"]["monotonic"]) / 1e9
            lost = trip["lost"] not in ("false", False)
            rtt = None if lost else float(trip["delay"]["rtt"]) / 1e9
        except (KeyError, OverflowError, TypeError, ValueError):
            refuse(path, None, f"round_trips[{place}] has no time of sending, or no round-trip time")
        if rtt is not None and rtt < 0:
            refuse(path, None, f"round_trips[{place}]: the round-trip time is negative")
        found.append(Probe(None, sent, rtt))
    return found


def ping(
    path: Path,
    *,
    interval_s: float | None = None,
    outage_s: float | None = None,
    gap_s: float | None = None,
) -> pl.DataFrame:
    """Half of each round trip as delay; lost probes as outages, or as loss (see `frame`).

    Times are those at which the probes were sent: the times of the replies less the round trips. Without
    them the probes are `interval_s` apart, by default the interval in the summary at the end.

    Raises:
        ScenarioError: there is no reply, times go back, there is a gap, or plain output without its summary
            has no interval.
        OSError: it cannot be read.
    """
    return frame(path, ping_probes(path, interval_s=interval_s), outage_s, gap_s)


def ping_probes(path: Path, *, interval_s: float | None = None) -> list[Probe]:
    """Every probe, in the order in which they were sent; see `ping`.

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
    return _with_lost(replies, max(last, before), spacing, stamped=stamped)


def _with_lost(
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
