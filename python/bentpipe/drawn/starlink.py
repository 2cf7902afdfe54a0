"""A model of a Starlink access link: time lines drawn from what one drive measured.

The link is reconfigured every 15 s. Each period has a level of the rate and a step of the delay. Within a
period the rate has a course in half seconds, and noise below. Outages lose all packets. docs/starlink.md has
the equations, their fit and the comparison with days that were not fitted.

Random numbers are raw words of PCG64 through inverse distributions: numpy promises not to change the words.
Rates are whole bits per second and delays whole microseconds, so that the last bit of a logarithm, which
differs between machines, does not matter.
"""

from __future__ import annotations

import math

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.signal import lfilter
from scipy.special import gammaincinv, ndtri

from bentpipe.drawn.profiles import Profile
from bentpipe.spans import merged

Floats = NDArray[np.float64]
PERIOD_S, PHASE_S = 15.0, 12.0
"""Time between reconfigurations, and the first second after a full minute that has one: 12, 27, 42 and 57."""
SLOT_S, FINE_S, PING_S = 0.5, 0.05, 0.2
"""Steps of the course of the rate, of its noise, and of the delay."""
SLOW_S = 300.0
"""Time in which the common part of successive levels changes: a place on the drive. An assumption."""
RTT_SLOW_S = 0.65
"""Time in which the part `rtt_slow` of the delay changes, from the same autocorrelation as that part."""
LEAST_LEVEL = 0.05
"""No level is below this share of the median."""
MOST_S = 86_400.0
"""The longest time line that is drawn."""
# The streams of random numbers. Both directions of a link have the same outages and delays.
_STREAMS = {name: i for i, name in enumerate((
    "outage", "delay-period", "delay-slow", "delay-fast",
    "level-down", "slow-down", "spread-down", "course-down", "noise-down",
    "level-up", "slow-up", "spread-up", "course-up", "noise-up",
))}  # fmt: skip


def line(
    profile: Profile,
    direction: str,
    seed: int,
    duration_s: float,
    rate_median_bps: float,
    blackout_s: float,
) -> pl.DataFrame:
    """The rate, the delay and the reconfigurations of one direction; `outages` are apart.

    A shorter time line is the beginning of a longer one with the same seed.

    Args:
        profile: the constants.
        direction: one of `profiles.DIRECTIONS`.
        seed: of the run, from 0 to 2^64 - 1.
        duration_s: time of the last row.
        rate_median_bps: median of the level.
        blackout_s: at the beginning of each period nothing is sent for this time.

    Returns:
        `t_s`, `rate_bps`, `delay_s`, `up` and `handover`.
    """
    count = max(math.ceil(duration_s / FINE_S - 1e-9), 1)
    # Whole steps of 50 ms: periods, half seconds and pings begin at one of them.
    step = np.arange(count + 1)
    period = _period(step)
    rate = rate_median_bps * _shape(profile, direction, seed, step, period)
    delay = _delay(profile, seed, step, period) / 2
    begins = np.append(False, np.diff(period) > 0)
    times = np.round(step * FINE_S, 9)
    times[-1] = duration_s
    frame = pl.DataFrame(
        {
            "t_s": times, "rate_bps": np.round(rate), "delay_s": np.round(delay, 6),
            "up": ~begins if blackout_s > 0 else np.ones(count + 1, dtype=bool), "handover": begins,
        }
    )  # fmt: skip
    return _dark(frame, times[begins], blackout_s, duration_s)


def _dark(frame: pl.DataFrame, begins: Floats, blackout_s: float, duration_s: float) -> pl.DataFrame:
    """The path is dark from the beginning of each period until the blackout is over."""
    if blackout_s <= 0 or not len(begins):
        return frame
    ends = np.round(begins + blackout_s, 9)
    inside = np.zeros(frame.height, dtype=bool)
    times = frame["t_s"].to_numpy()
    for begin, end in zip(begins, ends, strict=True):
        inside |= (times >= begin) & (times < end)
    dark = frame.with_columns(up=pl.Series(~inside))
    missing = ends[(ends < duration_s) & ~np.isin(ends, times)]
    held = dark[(np.searchsorted(times, missing, side="right") - 1).tolist()]
    more = held.with_columns(t_s=pl.Series(missing), up=pl.lit(True), handover=pl.lit(False))
    whole: pl.DataFrame = pl.concat([dark, more]).sort("t_s")
    return whole


def outages(profile: Profile, seed: int, duration_s: float) -> list[tuple[float, float]]:
    """Begin and end of each outage, in which all packets of both directions are lost. They do not overlap."""
    count = 16 + int(4 * duration_s / profile.outage_every_s.value)
    uniform = _uniform(seed, "outage", 2 * count).reshape(count, 2)
    begins = np.cumsum(-profile.outage_every_s.value * np.log1p(-uniform[:, 0]))
    lengths = profile.outage_length_s.value * np.exp(profile.outage_spread.value * ndtri(uniform[:, 1]))
    found = merged(
        (begin, min(begin + max(length, 1e-3), duration_s))
        for begin, length in zip(np.round(begins, 3).tolist(), np.round(lengths, 3).tolist(), strict=True)
        if begin < duration_s
    )
    return [(begin, round(end, 3)) for begin, end in found if round(end, 3) > begin]


def _shape(
    profile: Profile, direction: str, seed: int, step: NDArray[np.int64], period: NDArray[np.int64]
) -> Floats:
    """The rate over its median: level x (1 + course) x noise."""

    def normal(name: str, last: int) -> Floats:
        return np.asarray(ndtri(_uniform(seed, f"{name}-{direction}", last + 1)))

    last = int(period[-1])
    slow = profile.level_slow.value
    z = math.sqrt(slow) * _markov(normal("slow", last), math.exp(-PERIOD_S / SLOW_S))
    z += math.sqrt(1 - slow) * normal("level", last)
    level = np.maximum(1 + profile.level_cv.value * z, LEAST_LEVEL)
    with_level = profile.course_level.value
    spread = with_level * z + math.sqrt(1 - with_level**2) * normal("spread", last)
    cv = profile.course_cv.value * np.exp(profile.course_spread.value * spread)
    slot = step // round(SLOT_S / FINE_S)
    y = _markov(normal("course", int(slot[-1])), profile.course_half.value)
    course = np.maximum(1 + cv[period] * y[slot], 0.0)
    shape = profile.noise_cv.value**-2
    noise = gammaincinv(shape, _uniform(seed, f"noise-{direction}", len(step))) / shape
    return np.asarray(level[period] * course * noise)


def _delay(profile: Profile, seed: int, step: NDArray[np.int64], period: NDArray[np.int64]) -> Floats:
    """The round trip without queues, seconds: in lines between pings, in a step where a period begins."""

    def normal(name: str, last: int) -> Floats:
        return np.asarray(ndtri(_uniform(seed, f"delay-{name}", last + 1)))

    each = round(PING_S / FINE_S)
    ping = np.arange(step[-1] // each + 2)
    of_ping = _period(ping * each)
    by_period, slow = profile.rtt_period.value, profile.rtt_slow.value
    z = math.sqrt(by_period) * normal("period", int(of_ping[-1]))[of_ping]
    z += math.sqrt(slow) * _markov(normal("slow", int(ping[-1])), math.exp(-PING_S / RTT_SLOW_S))
    z += math.sqrt(1 - by_period - slow) * normal("fast", int(ping[-1]))
    rtt = profile.rtt_least_s.value + profile.rtt_more_s.value * np.exp(profile.rtt_spread.value * z)
    now = step // each
    towards = np.where(of_ping[now + 1] == period, rtt[now + 1], rtt[now])
    return np.asarray(rtt[now] + (towards - rtt[now]) * (step % each) / each)


def _period(step: NDArray[np.int64]) -> NDArray[np.int64]:
    """The period in which each step of 50 ms lies, counted from the one at the start of the run."""
    return (step + round((PERIOD_S - PHASE_S) / FINE_S)) // round(PERIOD_S / FINE_S)


def _markov(normal: Floats, kept: float) -> Floats:
    """A Gaussian process of variance 1 whose successive values have the correlation `kept`."""
    rest = math.sqrt(1 - kept * kept)
    start = np.array([(1 - rest) * normal[0]])  # so that the first value is the first number
    found, _ = lfilter([rest], [1.0, -kept], normal, zi=start)
    return np.asarray(found)


def _uniform(seed: int, stream: str, count: int) -> Floats:
    """Numbers above 0 and below 1: the upper 53 bits of raw words."""
    words = np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(_STREAMS[stream],)))
    upper = (words.random_raw(count) >> np.uint64(11)).astype(np.float64)
    return np.asarray((upper + 0.5) * 2.0**-53)
