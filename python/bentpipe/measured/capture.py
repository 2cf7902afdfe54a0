"""Estimates from a capture of TCP connections: pcap and pcapng, read by tshark.

tshark knows every kind of link layer and tunnel, IPv6, and files cut short, and is kept up. The packages for
Python that read captures are not (dpkt: 2022), or take minutes for a large one (scapy).
"""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bentpipe.foreign import refuse
from bentpipe.measured.hypotheses import Count, Watched
from bentpipe.measured.quantities import CHANCE, Estimate, bursts, share
from bentpipe.measured.quantities import floor as least_of

_FIELDS = (
    "frame.time_epoch", "tcp.stream", "tcp.srcport", "tcp.seq", "tcp.len", "tcp.ack", "tcp.analysis.ack_rtt",
    "tcp.analysis.initial_rtt", "ip.len", "ipv6.plen", "tcp.options.sack_le", "tcp.flags.syn",
)  # fmt: skip
_IPV6 = 40
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
_MOST_PACKETS = 2_000_000
"""In a capture, which may be compressed: a packet takes a kilobyte of memory by the time that it is a row."""
_ACK = 100
"""Bytes of an acknowledgement with all its options, at most."""
Floats = NDArray[np.float64]


@dataclass
class CapturedTransfer:
    """One direction of one connection, by the packets of its capture.

    Attributes:
        sent: of each data segment, in order: time, first byte, length in bytes, length on the wire.
        acked: of each acknowledgement: time, first byte not acknowledged, its RTT sample or NaN, and 1 if it
            shows that something is missing. One that fills a gap has no sample: it waited for the repeat.
        handshake_s: round trip of the handshake, NaN if it is not in the capture.
    """

    sent: Floats
    acked: Floats
    handshake_s: float


Losses = list[Watched | Count]


def estimates(path: Path) -> tuple[list[Estimate], Losses]:
    """Round-trip time, rate, loss with its bursts, and buffer, from the connection that carries most.

    Also the packets that are known to be lost or not lost by the link, in order; if a queue may have dropped
    the missing ones, only an upper bound of their number.

    Raises:
        ScenarioError: tshark is missing or refuses the file, or there is no connection with enough data.
    """
    flow = _largest(path, _read(path))
    samples = _samples(flow)
    trips = np.array([flow.handshake_s, *samples[:, 2]])
    trips = trips[~np.isnan(trips)]
    if not trips.size:
        refuse(path, None, "no acknowledgement can be matched to its segment; capture both directions")
    at_sender = len(samples) > 0 and (
        np.isnan(flow.handshake_s) or float(samples[:, 2].min()) > flow.handshake_s / 2
    )
    if not at_sender:
        if np.isnan(flow.handshake_s):
            refuse(path, None, "it was made at the receiver and has no handshake; capture at the sender")
        how = "the handshake; a capture at the sender tells more"
        return [Estimate("rtt_s", flow.handshake_s, flow.handshake_s, flow.handshake_s, how, path)], []
    floor, low = least_of(trips)
    rate = _rate(flow, samples, floor, path)
    how = f"least of {len(samples)} acknowledgements"
    if rate is not None and not rate.bound:
        # A delayed acknowledgement waits for two segments, and for itself, however short the queue.
        low = min(low, floor - 8 * (2 * _segment(flow) + _ACK) / rate.value)
        how += "; less the time that two of them take on the link"
    found = [Estimate("rtt_s", floor, max(low, 0.0), floor, how, path)]
    fates = _fates(flow, samples)
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
        room = _buffer(rate, (full, longest, most), _segment(flow), path, overflowed=overflowed)
    return found + [one for one in (rate, loss, room) if one is not None], losses


def _rate(flow: CapturedTransfer, samples: Floats, floor: float, path: Path) -> Estimate | None:
    """The rate of acknowledgements during a standing queue, over spans between two that miss nothing."""
    wire = float(flow.sent[:, 3].sum() / flow.sent[:, 2].sum())
    whole = flow.acked[flow.acked[:, 3] == 0]
    if len(whole) < 2 or whole[-1, 0] == whole[0, 0]:
        return None
    mean = (whole[-1, 1] - whole[0, 1]) / (whole[-1, 0] - whole[0, 0])
    width = max(floor, _LEAST_BIN_S, _LEAST_BIN_SEGMENTS * _segment(flow) / max(mean, 1.0))
    cells = np.floor((whole[:, 0] - whole[0, 0]) / width).astype(int)
    ends = whole[np.append(np.flatnonzero(np.diff(cells)), len(whole) - 1)]
    busy, all_of_them = [], []
    least = floor + max(_BUSY_S, _BUSY * floor)
    for one, other in zip(ends[:-1], ends[1:], strict=True):
        rate = 8 * wire * (other[1] - one[1]) / (other[0] - one[0])
        all_of_them.append(rate)
        waits = samples[(samples[:, 0] > one[0]) & (samples[:, 0] <= other[0]), 2]
        if waits.size and waits.min() > least:
            busy.append(rate)
    if len(busy) >= 3:
        low, value, high = (float(np.percentile(busy, q)) for q in (25, 50, 95))
        how = f"acknowledged bytes with headers, median of {len(busy)} spans in which a queue stood"
        return Estimate("rate_bps", value, low, high, how, path, weight=3)
    if not all_of_them:
        return None
    value, high = (float(np.percentile(all_of_them, q)) for q in (95, 100))
    how = "acknowledged bytes with headers, 95th percentile of spans; no queue ever stood"
    return Estimate("rate_bps", value, value, high, how, path, "least", 1)


@dataclass
class _Fates:
    """Of each segment: when it was first sent, was it sent again; trip and age of the sample before."""

    sent_s: Floats
    lost: NDArray[np.bool_]
    trip: Floats
    age: Floats


def _fates(flow: CapturedTransfer, samples: Floats) -> _Fates:
    """The fate of each segment.

    Samples after a segment are ignored: whether there are some depends on whether it was lost.
    """
    ends = flow.sent[:, 1] + flow.sent[:, 2]
    before = np.concatenate(([0.0], np.maximum.accumulate(ends)[:-1]))
    first = flow.sent[:, 1] >= before
    again = set(flow.sent[~first, 1])
    lost = np.array([begin in again for begin in flow.sent[first, 1]])
    sent_at = samples[:, 0] - samples[:, 2]
    order = np.argsort(sent_at, kind="stable")
    now = flow.sent[first, 0]
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


def _samples(flow: CapturedTransfer) -> Floats:
    """The acknowledgements with a round trip, without those of segments sent twice, which are ambiguous.

    P. Karn, C. Partridge: Improving Round-Trip Time Estimates in Reliable Transport Protocols, SIGCOMM 1987.
    """
    ends = flow.sent[:, 1] + flow.sent[:, 2]
    again = ends <= np.concatenate(([0.0], np.maximum.accumulate(ends)[:-1]))
    known = ~np.isnan(flow.acked[:, 2]) & ~np.isin(flow.acked[:, 1], ends[again])
    return flow.acked[known]


def _segment(flow: CapturedTransfer) -> float:
    """Bytes of a usual segment on the wire."""
    return float(np.median(flow.sent[:, 3]))


def _largest(path: Path, rows: list[list[str]]) -> CapturedTransfer:
    """The direction of a connection that carries the most data."""
    sizes: Counter[tuple[str, str]] = Counter()
    for row in rows:
        sizes[row[1], row[2]] += int(row[4] or 0)
    stream, port = max(sizes, key=lambda key: sizes[key], default=("", ""))
    if not sizes[stream, port]:
        refuse(path, None, "it has no TCP connection that carries data")
    sent, acked, handshake, gap, before = [], [], float("nan"), False, 0.0
    for row in rows:
        if row[1] != stream:
            continue
        if row[7]:
            handshake = float(row[7])
        if row[2] == port and int(row[4] or 0):
            wire = int(row[8].split(",")[0]) if row[8] else int(row[9].split(",")[0] or 0) + _IPV6
            sent.append((float(row[0]), float(row[3]), float(row[4]), float(wire)))
        elif row[2] != port and row[5] and row[11] not in ("1", "True"):
            if float(row[5]) < before:
                continue  # it came late, or it resets the connection
            before = float(row[5])
            missing = bool(row[10])
            sample = float(row[6]) if row[6] and not (missing or gap) else float("nan")
            acked.append((float(row[0]), float(row[5]), sample, float(missing)))
            gap = missing
    if len(sent) < _LEAST_PACKETS or len(acked) < 3:
        refuse(
            path, None, f"its largest connection has {len(sent)} data packets; {_LEAST_PACKETS} are needed"
        )
    return CapturedTransfer(np.array(sent), np.array(acked), handshake)


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
