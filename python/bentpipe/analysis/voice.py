"""The quality of a call: the E-model of ITU-T G.107 (06/2015), for one direction of traffic of kind "voice".

R = 93.2 - Idd - Ie,eff. The first number holds for the default values of all that is not said here (section
7.7). Idd is the impairment by the delay from mouth to ear (equations 7-27 and 7-28), Ie,eff that by codec
and losses (equation 7-29, losses at random). A mean opinion score follows from R (annex B). A payload of 64
kbit/s is G.711, with its concealment of losses; one of 8 kbit/s is G.729A. Their Ie and Bpl are those of
ITU-T G.113, appendix I.

A receiver holds packets until the 99th percentile of their delay, as a buffer against jitter, and loses the
one in a hundred that is later. A packet holds 20 ms of speech, which are spoken before it is sent.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

DEFAULT_R = 93.2
CODECS = {64_000: (0.0, 25.1), 8_000: (11.0, 19.0)}
"""Ie, and the robustness Bpl against random losses, by the bits per second of payload."""
LATE = 0.01
"""The share of packets that come too late for the buffer."""


@dataclass(frozen=True)
class CallQuality:
    """How a call sounds in one direction.

    Attributes:
        delay_s: one-way delay of packets: median, 95th and 99th percentile.
        jitter_s: the 99th percentile less the median.
        lost: the share of packets that were lost.
        r: the rating R; None for a codec that is not in `CODECS`.
        mos: the mean opinion score, 1 to 4.5; None likewise.
    """

    delay_s: tuple[float, float, float]
    jitter_s: float
    lost: float
    r: float | None
    mos: float | None


def rating(mouth_to_ear_s: float, lost: float, payload_bps: int = 64_000) -> float:
    """R of a codec with this delay from mouth to ear and this share of packets lost or too late."""
    idd = 0.0
    if mouth_to_ear_s > 0.1:
        x = math.log2(mouth_to_ear_s / 0.1)
        idd = 25 * ((1 + x**6) ** (1 / 6) - 3 * (1 + (x / 3) ** 6) ** (1 / 6) + 2)
    percent, (ie, bpl) = 100 * lost, CODECS[payload_bps]
    return max(0.0, DEFAULT_R - idd - ie - (95 - ie) * percent / (percent + bpl))


def opinion(r: float) -> float:
    """The mean opinion score that belongs to R."""
    if r <= 0:
        return 1.0
    return 4.5 if r >= 100 else max(1.0, 1 + 0.035 * r + r * (r - 60) * (100 - r) * 7e-6)


def quality(flow: Mapping[str, Any], traffic: Mapping[str, Any]) -> CallQuality | None:
    """The quality of a call by its row in the result and its traffic in the scenario; None: nothing came."""
    from bentpipe import measures
    from bentpipe.units import FACTORS, number

    p50, p95, p99 = (flow[f"completion_{which}_s"] for which in ("p50", "p95", "p99"))
    if p99 is None:
        return None
    lost = measures.lost([flow]) or 0.0
    payload = number(str(traffic.get("payload")), FACTORS["size"])
    interval = number(str(traffic.get("interval")), FACTORS["time"])
    bps = round(8 * payload / interval) if payload and interval else 0
    r = rating((interval or 0) + p99, 1 - (1 - lost) * (1 - LATE), bps) if bps in CODECS else None
    return CallQuality((p50, p95, p99), p99 - p50, lost, r, None if r is None else opinion(r))
