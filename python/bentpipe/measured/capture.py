"""Estimates from a capture of TCP connections: pcap and pcapng, read by tshark.

tshark knows every kind of link layer and tunnel, IPv6, and files cut short, and is kept up. The packages for
Python that read captures are not (dpkt: 2022), or take minutes for a large one (scapy).
"""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bentpipe.io.foreign import refuse
from bentpipe.measured.hypotheses import Count, Watched
from bentpipe.measured.quantities import CHANCE, Estimate, bursts, share
from bentpipe.measured.quantities import floor as least_of

_FIELDS = (
    "frame.time_epoch", "tcp.stream", "tcp.srcport", "tcp.seq", "tcp.len", "tcp.ack", "tcp.analysis.ack_rtt",
    "tcp.analysis.initial_rtt", "ip.len", "ipv6.plen", "tcp.options.sack_le", "tcp.flags.syn",
    "tcp.options.mss_val", "tcp.hdr_len", "ip.src", "ipv6.src", "ip.dst", "ipv6.dst",
)  # fmt: skip
_IPV4, _IPV6, _TCP = 20, 40, 20
_MTU = 1500
"""Of the path, where the capture has no SYN: a longer record was cut into segments behind the capture."""
_ALIKE = 0.25
"""Connections between other hosts share the link if their least or median round trips differ by less."""
_AROUND = 5
"""Samples further apart than this show different queues."""
_FEW = 10
"""Data packets below which a connection is left out."""
_FEW_BYTES = 0.02
"""A share of the bytes below which a connection that is left out is not worth a word."""
FULL = 0.7
"""A queue whose delay is more than this share of the longest one may be dropping packets; others do not."""
_TOP = 0.9
"""A queue whose delay is more than this share of the longest one is at its longest."""
_BUSY_S, _BUSY = 0.002, 0.02
"""A round trip this much above the least one has waited in a queue, so the transmitter was busy."""
_LEAST_BIN_S, _LEAST_BIN_SEGMENTS = 0.05, 100
"""A rate is measured over at least this time and this number of segments: less would measure bursts."""
_STRAY = 0.05
"""So small a share of all losses may be of a full queue, though samples next to them show a shorter one."""
_FRESH = 0.25
"""A sample that is older than this share of the least round trip does not show the current queue."""
_LEAST_PACKETS = 200
_MOST_SEGMENTS = 16_000_000
"""Into which the packets of a capture may have been cut."""
_MOST_PACKETS = 2_000_000
"""In a capture, which may be compressed: a packet takes a kilobyte of memory by the time that it is a row."""
_ACK = 100
"""Bytes of an acknowledgement with all its options, at most."""
Floats = NDArray[np.float64]


@dataclass
class CapturedTransfer:
    """One direction of one connection, by the packets of its capture.

    Attributes:
        hosts: its sender and its receiver.
        sent: of each data segment, in order: time, first byte, length in bytes, length on the wire. A packet
            that the network card has yet to cut (TSO, GSO) is several segments.
        acked: of each acknowledgement: time, first byte not acknowledged, its RTT sample or NaN, and 1 if it
            shows that something is missing. One that fills a gap has no sample: it waited for the repeat.
        handshake_s: round trip of the handshake, NaN if it is not in the capture.
    """

    hosts: tuple[str, str]
    sent: Floats
    acked: Floats
    handshake_s: float

    @cached_property
    def samples(self) -> Floats:
        """The acknowledgements with a round trip, without those of segments sent twice, which are ambiguous.

        P. Karn, C. Partridge: Improving Round-Trip Time Estimates in Reliable Transport Protocols, SIGCOMM
        1987. One of a single segment that is later than those of two segments around it waited for a timer
        of the receiver, and is left out, too.
        """
        ends = self.sent[:, 1] + self.sent[:, 2]
        again = ends <= np.concatenate(([0.0], np.maximum.accumulate(ends)[:-1]))
        known = ~np.isnan(self.acked[:, 2]) & ~np.isin(self.acked[:, 1], ends[again])
        found, news = self.acked[known], np.diff(self.acked[:, 1], prepend=0.0)[known]
        waited = np.zeros(len(found), dtype=bool)
        two = np.flatnonzero(news >= 1.5 * float(np.median(self.sent[:, 2]))) if len(found) else waited
        if len(two) > 1:
            place = np.arange(len(found))
            after = np.searchsorted(two, place).clip(1, len(two) - 1)
            before, after = two[after - 1], two[after]
            later = found[:, 2] > np.maximum(found[before, 2], found[after, 2]) + _BUSY_S
            waited = later & (before < place) & (place < after) & (after - before <= _AROUND)
        return found[~waited]

    @property
    def at_sender(self) -> bool:
        """Whether it was captured at its sender: acknowledgements come a round trip after their data."""
        trips = self.samples[:, 2]
        return len(trips) > 0 and bool(np.isnan(self.handshake_s) or trips.min() > self.handshake_s / 2)

    def shares(self, other: CapturedTransfer) -> bool:
        """Whether its data goes over the link of another one, which was captured at its sender."""
        if self.hosts == other.hosts:
            return True
        if not self.at_sender:
            return False
        mine, its = (np.percentile(one.samples[:, 2], (0, 50)) for one in (self, other))
        return bool((abs(mine - its) < _ALIKE * its).any())


Losses = list[Watched | Count]


def estimates(path: Path) -> tuple[list[Estimate], Losses]:
    """Round-trip time, rate, loss with its bursts, and buffer, from all connections that share the link.

    Also the packets that are known to be lost or not lost by the link, in order; if a queue may have dropped
    the missing ones, only an upper bound of their number.

    Raises:
        ScenarioError: tshark is missing or refuses the file, or there is no connection with enough data.
    """
    flows, of = _together(path, _read(path))
    samples = np.concatenate([flow.samples for flow in flows])
    samples = samples[np.argsort(samples[:, 0], kind="stable")]
    handshakes = np.array([flow.handshake_s for flow in flows])
    handshakes = handshakes[~np.isnan(handshakes)]
    trips = np.array([*handshakes, *samples[:, 2]])
    if not trips.size:
        refuse(path, None, "no acknowledgement can be matched to its segment; capture both directions")
    if not flows[0].at_sender:
        if not handshakes.size:
            refuse(path, None, "it was made at the receiver and has no handshake; capture at the sender")
        how, least = "the handshake; a capture at the sender tells more", float(handshakes.min())
        return [Estimate("rtt_s", least, least, least, how, path)], []
    floor, low = least_of(trips)
    rate = _rate(flows, samples, floor, path, of)
    how = f"least of {len(samples)} acknowledgements"
    if rate is not None and not rate.bound:
        # A delayed acknowledgement waits for two segments, and for itself, however short the queue.
        low = min(low, floor - 8 * (2 * _segment(flows) + _ACK) / rate.value)
        how += "; less the time that two of them take on the link"
    found = [Estimate("rtt_s", floor, max(low, 0.0), floor, how, path)]
    fates = _fates(flows, samples)
    lost, age = fates.lost, fates.age
    queue = fates.trip - floor
    longest = float(np.percentile(samples[:, 2], 99.9)) - floor
    full = float(np.percentile(samples[:, 2], 99)) - floor
    free = _free(queue, age, full, floor)
    loss, losses = _loss(fates, free, path, swelled=full > _swell(floor))
    room = None
    if rate is not None and not rate.bound and longest > _BUSY_S:
        most = float(samples[:, 2].max()) - floor
        top = (queue > _TOP * longest) & (age <= _FRESH * floor)
        overflowed = _overflowed(int(lost[top].sum()), int(top.sum()), 0.0 if loss is None else loss.high)
        room = _buffer(rate, (full, longest, most), _segment(flows), path, overflowed=overflowed)
    return found + [one for one in (rate, loss, room) if one is not None], losses


def _rate(
    flows: Sequence[CapturedTransfer], samples: Floats, floor: float, path: Path, of: str
) -> Estimate | None:
    """The rate of acknowledgements during a standing queue, over spans between two that miss nothing."""
    wire = sum(flow.sent[:, 3].sum() for flow in flows) / sum(flow.sent[:, 2].sum() for flow in flows)
    whole = [flow.acked[flow.acked[:, 3] == 0] for flow in flows]
    whole = [acked for acked in whole if len(acked)]
    times = np.sort(np.concatenate([acked[:, 0] for acked in whole])) if whole else np.zeros(0)
    if len(times) < 2 or times[-1] == times[0]:
        return None
    counts = sum(np.interp(times, acked[:, 0], acked[:, 1]) for acked in whole)
    assert not isinstance(counts, int)
    mean = (counts[-1] - counts[0]) / (times[-1] - times[0])
    width = max(floor, _LEAST_BIN_S, _LEAST_BIN_SEGMENTS * _segment(flows) / max(mean, 1.0))
    cells = np.floor((times - times[0]) / width).astype(int)
    ends = np.append(np.flatnonzero(np.diff(cells)), len(times) - 1)
    busy, all_of_them = [], []
    least = floor + max(_BUSY_S, _BUSY * floor)
    for one, other in zip(ends[:-1], ends[1:], strict=True):
        rate = float(8 * wire * (counts[other] - counts[one]) / (times[other] - times[one]))
        all_of_them.append(rate)
        waits = samples[(samples[:, 0] > times[one]) & (samples[:, 0] <= times[other]), 2]
        if waits.size and waits.min() > least:
            busy.append(rate)
    if len(busy) >= 3:
        low, value, high = (float(np.percentile(busy, q)) for q in (25, 50, 95))
        how = f"acknowledged bytes with headers{of}, median of {len(busy)} spans in which a queue stood"
        return Estimate("rate_bps", value, low, high, how, path, weight=3)
    if not all_of_them:
        return None
    value, high = (float(np.percentile(all_of_them, q)) for q in (95, 100))
    how = f"acknowledged bytes with headers{of}, 95th percentile of spans; no queue ever stood"
    return Estimate("rate_bps", value, value, high, how, path, "least", 1)


@dataclass
class _Fates:
    """Of each segment: when it was first sent, was it sent again; trip and age of the sample before."""

    sent_s: Floats
    lost: NDArray[np.bool_]
    trip: Floats
    age: Floats


def _fates(flows: Sequence[CapturedTransfer], samples: Floats) -> _Fates:
    """The fate of each segment, in the order of sending.

    Samples after a segment are ignored: whether there are some depends on whether it was lost.
    """
    parts = []
    for flow in flows:
        ends = flow.sent[:, 1] + flow.sent[:, 2]
        before = np.concatenate(([0.0], np.maximum.accumulate(ends)[:-1]))
        first = flow.sent[:, 1] >= before
        again = np.isin(flow.sent[first, 1], flow.sent[~first, 1])
        parts.append((flow.sent[first, 0], again))
    now, lost = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(now, kind="stable")
    now, lost = now[order], lost[order]
    sent_at = samples[:, 0] - samples[:, 2]
    order = np.argsort(sent_at, kind="stable")
    last = np.searchsorted(sent_at[order], now) - 1
    known = last >= 0
    age = np.where(known, now - sent_at[order][last], np.inf)
    return _Fates(now, lost, samples[order, 2][last], age)


def _swell(floor: float) -> float:
    """A round trip that swells by more has a queue in it."""
    return max(_BUSY_S, _BUSY * floor)


def _free(queue: Floats, age: Floats, longest: float, floor: float) -> NDArray[np.bool_]:
    """The segments that found a queue too short to drop them, as far as that is known."""
    if longest > _swell(floor):
        return np.asarray((queue <= FULL * longest) & (age <= _FRESH * floor))
    return np.ones(len(queue), dtype=bool)


def _loss(
    fates: _Fates, free: NDArray[np.bool_], path: Path, *, swelled: bool
) -> tuple[Estimate | None, Losses]:
    """Losses of segments that found a queue too short to drop them."""
    lost, sent = int(fates.lost[free].sum()), int(free.sum())
    if sent < _LEAST_PACKETS:
        return None, []
    value, low, high = share(lost, sent)
    stray = 0 < lost <= _STRAY * fates.lost.sum() * free.mean()
    how = f"{lost} of {sent} segments sent again"
    how += " that found the queue at most 70 % full" if swelled else ""
    found = Estimate(
        "loss", value, 0.0 if stray else low, high, f"{how}, Wilson's interval", path, weight=3,
        bursts=bursts(fates.lost[free]),
    )  # fmt: skip
    if stray:  # the queue at a loss is known only as well as the sample before it
        return found, [Count(lost, sent, float(np.ptp(fates.sent_s)), path, most=True)]
    return found, [Watched(fates.lost[free], fates.sent_s[free], path)]


def _overflowed(lost: int, sent: int, loss: float) -> bool:
    """Whether more segments were lost at the longest queue than the link loses by itself."""
    from scipy.stats import binom

    return lost > 0 and float(binom.sf(lost - 1, sent, loss)) < CHANCE


def _buffer(
    rate: Estimate, swell: tuple[float, float, float], segment: float, path: Path, *, overflowed: bool
) -> Estimate:
    """The longest queue, in bytes at the rate; if nothing was lost there, it may hold more.

    `swell` has percentiles 99, 99.9 and 100 of the round trips, less the least one.
    """
    how = "swell of the round trip (99.9th percentile) times the rate"
    how += ", with losses when it was full" if overflowed else "; nothing was lost when it was longest"
    ends = zip(swell, (rate.low, rate.value, rate.high), strict=True)
    low, value, high = (longest * bps / 8 for longest, bps in ends)
    # The least round trip has up to two segments in it, and room for less than one segment holds none.
    return Estimate(
        "buffer_bytes", value, max(low - segment, 0.0), high + 3 * segment, how, path,
        "" if overflowed else "least", 2,
    )  # fmt: skip


def _segment(flows: Sequence[CapturedTransfer]) -> float:
    """Bytes of a usual segment on the wire."""
    return float(np.median(np.concatenate([flow.sent[:, 3] for flow in flows])))


def _together(path: Path, rows: list[list[str]]) -> tuple[list[CapturedTransfer], str]:
    """The connections whose data goes over one link in one direction, the largest first; and words for them.

    They are those between the same hosts, and those with about the same least round trip.
    """
    packets: dict[str, list[list[str]]] = {}
    for row in rows:
        packets.setdefault(row[1], []).append(row)
    every = []
    for of in packets.values():
        sizes: Counter[str] = Counter()
        for row in of:
            sizes[row[2]] += int(row[4] or 0)
        port, size = max(sizes.items(), key=lambda item: item[1])
        every.append((size, of, port))
    every.sort(key=lambda one: -one[0])
    if not every or not every[0][0]:
        refuse(path, None, "it has no TCP connection that carries data")
    first = _connection(path, *every[0][1:])
    found, left, others = [first], 0, 0
    if len(first.acked) >= 3 and first.at_sender:
        for size, of, port in every[1:]:
            one = _connection(path, of, port) if len(of) > _FEW else None
            if one is not None and min(len(one.sent) // _FEW, len(one.acked) // 3) and one.shares(first):
                found.append(one)
            else:
                others, left = others + 1, left + size
    count = sum(len(one.sent) for one in found)
    if count < _LEAST_PACKETS or len(first.acked) < 3:
        what = "its largest connection has" if len(found) == 1 else f"its {len(found)} connections have"
        refuse(path, None, f"{what} {count} data packets; {_LEAST_PACKETS} are needed")
    words = f" of {len(found)} connections together" if len(found) > 1 else ""
    if left > _FEW_BYTES * sum(one.sent[:, 2].sum() for one in found):
        words += f" (not of {others} more over other paths, with {left / 1e6:.3g} MB)"
    return found, words


def _connection(path: Path, rows: list[list[str]], port: str) -> CapturedTransfer:
    """The data that a connection sends from a port, and its acknowledgements."""
    sent: list[tuple[float, float, float, float]] = []
    acked, handshake, gap, before = [], float("nan"), False, 0.0
    hosts, each = ("", ""), _payload(rows)
    for row in rows:
        if row[7]:
            handshake = float(row[7])
        if row[2] == port and int(row[4] or 0):
            hosts = (row[14] or row[15], row[16] or row[17])
            sent += _segments(row, each)
            if len(sent) > _MOST_SEGMENTS:
                refuse(path, None, f"it has more than {_MOST_SEGMENTS:,} segments; cut it with editcap -r")
        elif row[2] != port and row[5] and row[11] not in ("1", "True"):
            if float(row[5]) < before:
                continue  # it came late, or it resets the connection
            before = float(row[5])
            missing = bool(row[10])
            sample = float(row[6]) if row[6] and not (missing or gap) else float("nan")
            acked.append((float(row[0]), float(row[5]), sample, float(missing)))
            gap = missing
    return CapturedTransfer(hosts, np.array(sent), np.array(acked).reshape(-1, 4), handshake)


def _payload(rows: list[list[str]]) -> int:
    """The bytes of data in a full segment of a connection; 0 if the capture has no SYN.

    It is the MSS of the SYN less TCP's options, which the MSS does not count (RFC 9293, section 3.7.1). There
    are senders that count them: then most long packets are a multiple of the whole MSS.
    """
    announced = [int(row[12].split(",")[0]) for row in rows if row[12] and row[11] in ("1", "True")]
    if not announced:
        return 0
    mss = min(announced)
    long = [(int(row[4]), _options(row)) for row in rows if int(row[4] or 0) >= mss]
    whole = sum(length % mss == 0 for length, _ in long)
    less = sum(length % max(mss - options, 1) == 0 for length, options in long)
    options = max((options for _, options in long), default=0)
    return mss if whole > less else max(mss - options, 1)


def _options(row: list[str]) -> int:
    """The bytes of TCP's options."""
    return max(int(row[13].split(",")[-1] or _TCP) - _TCP, 0)


def _segments(row: list[str], each: int) -> list[tuple[float, float, float, float]]:
    """A packet with data as the segments on the wire, which the network card may have yet to cut."""
    t, seq, length = float(row[0]), float(row[3]), int(row[4])
    ip = _IPV4 if row[8] else _IPV6
    wire = int(row[8].split(",")[0]) if row[8] else int(row[9].split(",")[0] or 0) + _IPV6
    heads = wire - length if wire > length else ip + _TCP + _options(row)  # it is 0 beyond 64 KiB
    each = each or max(_MTU - heads, 1)
    if length <= each:
        return [(t, seq, float(length), float(length + heads))]
    parts = [(at, min(each, length - at)) for at in range(0, length, each)]
    return [(t, seq + at, float(size), float(size + heads)) for at, size in parts]


def _read(path: Path) -> list[list[str]]:
    """The fields of every TCP packet."""
    tshark = shutil.which("tshark")
    if tshark is None:
        refuse(path, None, "captures are read by tshark, which is not installed (apt install tshark)")
    command: list[Any] = [tshark, "-r", path, "-c", str(_MOST_PACKETS + 1), "-T", "fields"]
    command += ["-E", "separator=/t", "-o", "tcp.relative_sequence_numbers:TRUE"]
    command += [word for name in _FIELDS for word in ("-e", name)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    if len(rows) > _MOST_PACKETS:
        refuse(path, None, f"it has more than {_MOST_PACKETS:,} packets; cut it with editcap -r")
    if done.returncode != 0 and not rows:
        last = done.stderr.strip().splitlines()[-1:] or ["no reason given"]
        refuse(path, None, f"tshark cannot read it: {last[0]}")
    return [row for row in rows if len(row) == len(_FIELDS) and row[3]]
