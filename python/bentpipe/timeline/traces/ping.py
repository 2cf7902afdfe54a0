"""The output of programs called ping: iputils, macOS and the BSDs, BusyBox, Windows; and of fping.

Lines may have times, by the option -D of iputils and fping, or by `ts`. Sources: iputils,
`ping/ping_common.c` (the line of a reply, the summary) and its manual page; FreeBSD, `sbin/ping/ping.c`, of
which macOS has a copy; BusyBox, `networking/ping.c`; fping, `src/fping.c`; Windows, `ping -t` into a file, in
any language. Of these, only iputils ends with the time that all probes took.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import polars as pl

from bentpipe import _core
from bentpipe.io.foreign import decoded, refuse, split, unpacked
from bentpipe.io.kinds import lacking
from bentpipe.timeline.traces.probes import Probe, frame

USUAL_S = 1.0
"""How far apart all these programs send unless the user says otherwise, which Windows has no option for."""
# A pattern that may begin anywhere in a line is bounded: a long line must not take time of the square of its
# length.
_AT = r"(?:\[(?P<at>[^\[\]]{1,60})\] +)?"
_REPLY = re.compile(
    _AT + r"\b\d{1,6} bytes from .{0,400}\b(?P<icmp>icmp_)?seq=(?P<seq>\d{1,5}) .{0,80}"
    r"time=(?P<rtt>-?\d{1,12}(?:\.\d{0,12})?) *ms"
)
_FPING = re.compile(
    "^" + _AT + r"(?P<host>\S{1,300}) +: \[(?P<seq>\d{1,9})\], "
    r"(?:\d{1,9} bytes, (?P<rtt>\d{1,12}(?:\.\d{0,12})?) ms|timed out)"
)
_WINDOWS = re.compile(r": .{0,60}(?P<less>[=<])(?P<rtt>\d{1,9}) ?ms(?: TTL=\d{1,3})?\s*$")
_MISSED = re.compile(r"\b(?:no answer yet|Request timeout) for icmp_seq[= ](\d{1,5})\b")
_SUMMARY = re.compile(
    r"\b(\d{1,7}) packets transmitted, \d{1,7} (packets )?received(?:.{0,80} time (\d{1,12}) ?ms)?"
)
_FROM_ZERO = re.compile(r"^PING .{1,400}: \d{1,6} data bytes")
_WRAP = 65536


@dataclass
class PingLog:
    """What a ping has seen.

    Attributes:
        path: the file.
        program: "ping", "fping" or "Windows".
        replies: of each probe that came back, by its number: its line, when it was sent if that is known, and
            its round trip in seconds.
        first: the number of the first probe.
        last: the number of the last one that is known to have been sent.
        spacing_s: how far apart they were sent, if that is known.
        ended: whether the summary is there.
    """

    path: Path
    program: str = "ping"
    replies: dict[int, tuple[int, float | None, float]] = field(default_factory=dict)
    first: int = 1
    last: int = 0
    spacing_s: float | None = None
    ended: bool = False

    @property
    def stamped(self) -> bool:
        """Whether the replies have times."""
        return all(at is not None for _, at, _ in self.replies.values())

    @property
    def timed(self) -> bool:
        """Whether it is known when the probes were sent, or how far apart."""
        return self.stamped or self.spacing_s is not None

    def probes(self) -> list[Probe]:
        """Every probe in the order of sending; if nothing is known of its times, `USUAL_S` apart."""
        known, stamped = sorted(self.replies), self.stamped
        spacing = self.spacing_s
        if stamped and spacing is None and len(known) > 1:
            begin, end = self.replies[known[0]][1], self.replies[known[-1]][1]
            assert begin is not None and end is not None
            spacing = (end - begin) / (known[-1] - known[0])
        step = spacing if spacing is not None and spacing > 0 else USUAL_S
        found: list[Probe] = []
        for place, seq in enumerate(known):
            line, at, rtt_s = self.replies[seq]
            now = at if stamped and at is not None else seq * step
            if place == 0:
                lost = range(min(self.first, seq), seq)
                found += [Probe(None, now - (seq - one) * step, None) for one in lost]
            else:
                before, missing = found[-1].sent_s, seq - known[place - 1] - 1
                apart = (now - before) / (missing + 1)
                found += [Probe(None, before + apart * (i + 1), None) for i in range(missing)]
            found.append(Probe(line, now, rtt_s))
        end_s = found[-1].sent_s
        lost = range(known[-1] + 1, self.last + 1)
        return found + [Probe(None, end_s + (seq - known[-1]) * step, None) for seq in lost]

    def add(self, number: int, seq: int, found: re.Match[str], rtt_ms: float) -> None:
        """One reply.

        Raises:
            ScenarioError: its time cannot be read.
        """
        self.last = max(self.last, seq)
        stamp = found.groupdict().get("at")
        at = None if stamp is None else _instant(self.path, number, stamp) - rtt_ms / 1000
        self.replies.setdefault(seq, (number, at, rtt_ms / 1000))


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
        ScenarioError: there is no reply, times go back, there is a gap, or output without times has no
            interval.
        OSError: it cannot be read.
    """
    seen = log(path, interval_s=interval_s)
    if not seen.timed:
        missing = "the summary of this ping has no duration" if seen.ended else "the summary is missing"
        other = (
            f"or measure with {seen.program} -D"
            if seen.program == "fping" or not seen.ended
            else "its default"
        )
        refuse(path, None, f'the replies have no times and {missing}; say --interval "1 s", {other}')
    return frame(path, seen.probes(), outage_s, gap_s)


def log(path: Path, *, interval_s: float | None = None) -> PingLog:
    """All that the output of a ping says.

    Raises:
        ScenarioError: there is no reply, several hosts are probed, or some of the replies have no times.
        OSError: it cannot be read.
    """
    given = unpacked(path)
    found = PingLog(path, spacing_s=interval_s)
    try:
        lines = split(path, decoded(path, given))
    except _core.ScenarioError:
        # Windows writes in the code page of its terminal: only words, not numbers, are no UTF-8.
        if not given.strip() or b"\0" in given:
            raise
        lines = split(path, given.decode("latin-1"))
    hosts = _fping(found, lines)
    if not hosts:
        _unix(found, lines)
    if not found.replies and not hosts:
        _windows(found, lines)
    if not found.replies:
        refuse(path, None, lacking(path, "it has no reply", "ping", "the output of ping"))
    if not found.stamped and any(at is not None for _, at, _ in found.replies.values()):
        line = next(n for n, at, _ in found.replies.values() if at is None)
        refuse(path, line, "this reply has no time, others have")
    return found


def _unix(found: PingLog, lines: Sequence[str]) -> None:
    """The ping of iputils counts probes from 1, all others from 0."""
    zero, sent, before = False, 0, 0
    for number, line in enumerate(lines, 1):
        if (summary := _SUMMARY.search(line)) is not None:
            found.ended, sent = True, int(summary[1])
            zero |= summary[2] is not None
            if found.spacing_s is None and sent > 1 and summary[3] is not None:
                found.spacing_s = int(summary[3]) / 1000 / (sent - 1)
        zero |= number == 1 and _FROM_ZERO.search(line) is not None
        if (missed := _MISSED.search(line)) is not None:
            before = _unwrapped(int(missed[1]), before)
            found.last = max(found.last, before)
        reply = _REPLY.search(line)
        if reply is None or "DUP!" in line:
            continue
        zero |= reply["icmp"] is None
        rtt_ms = float(reply["rtt"])
        if rtt_ms < 0:
            refuse(found.path, number, f"the round-trip time is negative: {reply['rtt']} ms")
        seq = _unwrapped(int(reply["seq"]), before)
        before = max(before, seq)
        found.add(number, seq, reply, rtt_ms)
    found.first = 0 if zero else 1
    found.last = max(found.last, sent - zero)


def _unwrapped(seq: int, before: int) -> int:
    """The number has 16 bits: the one nearest to the last is meant."""
    return before + (seq - before + _WRAP // 2) % _WRAP - _WRAP // 2


def _fping(found: PingLog, lines: Sequence[str]) -> Mapping[str, int]:
    """The hosts that fping probes; empty for other programs."""
    hosts: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        probe = _FPING.search(line)
        if probe is None:
            continue
        hosts.setdefault(probe["host"], number)
        if len(hosts) > 1:
            refuse(
                found.path, number, "it has probes of several hosts, which are several paths; "
                "keep the lines of one (grep)",
            )  # fmt: skip
        found.last = max(found.last, int(probe["seq"]))
        if probe["rtt"] is not None:
            found.add(number, int(probe["seq"]), probe, float(probe["rtt"]))
    if hosts:
        found.program, found.first = "fping", 0
    return hosts


def _windows(found: PingLog, lines: Sequence[str]) -> None:
    """A line for each probe, without numbers: from the heading, or the first reply, to an empty line."""
    replies = [_WINDOWS.search(line) for line in lines]
    start = next((place for place, one in enumerate(replies) if one is not None), None)
    if start is None:
        return
    heads = [place for place in range(start) if lines[place].rstrip().endswith(":")]
    first = heads[-1] + 1 if heads else start
    for place in range(first, len(lines)):
        if not lines[place].strip():
            break
        found.last = place - first
        if (reply := replies[place]) is not None:
            found.add(
                place + 1, place - first, reply, float(reply["rtt"]) * (0.5 if reply["less"] == "<" else 1)
            )
    found.program, found.first = "Windows", 0
    found.spacing_s = USUAL_S if found.spacing_s is None else found.spacing_s


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
