"""Rain attenuation over time, by Rec. ITU-R P.1853-1, annex 1, section 2 (Earth-space paths).

A Gaussian process with the correlation exp(-beta t) is turned into a log-normal one whose distribution is
fitted to P.618's, less an offset that makes it rain as often as in P.837. Steps and equations are named
below.

The numbers behind it are the raw 64-bit words of PCG64 (O'Neill 2014; numpy promises that they stay), the
upper 53 of them through the inverse of the normal distribution. The rest is sums, logarithms and
exponentials, whose last bits may differ from machine to machine. So a series is rounded to 0.01 dB, and it
has a sum by which two are compared.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.ndimage import maximum_filter1d
from scipy.signal import lfilter
from scipy.special import ndtri

from bentpipe import _core, units
from bentpipe.weather.climate import (
    LEAST_EXCEEDED,
    MOST_EXCEEDED,
    Climate,
    climate,
    kept,
    rain_attenuation,
)
from bentpipe.weather.station import Station

BETA = 2e-4
"""Parameter of the low-pass filter, per second (P.1853-1, step B)."""
MOST_ROWS = 1 << 22
"""Rows of a series."""
_SEARCHED = 1 << 25
"""Samples among which an event is looked for, unless a year has fewer."""
_BATCH = 1 << 20
_YEAR_S = 365.25 * 86400

Floats = npt.NDArray[np.float64]
Progress = Callable[[float, float], None]


@dataclass(frozen=True)
class Law:
    """The map from a normal variable to attenuation: exp(m + sigma X) - offset, and at least 0."""

    m: float
    sigma: float
    offset_db: float

    def attenuation(self, x: Floats) -> Floats:
        """Attenuation in dB of values of the normal variable (P.1853-1, steps D4 and D5)."""
        return np.maximum(np.exp(self.m + self.sigma * x) - self.offset_db, 0.0)

    def exceeded(self, percent: float) -> float:
        """The attenuation in dB that is exceeded for this share of the time."""
        return float(self.attenuation(np.array([-ndtri(percent / 100)]))[0])


def law(found: Climate) -> Law:
    """The law that P.1853-1 fits to the distribution of P.618 (steps A1 to A4 and C).

    Raises:
        ScenarioError: it rains so seldom that nothing can be fitted.
    """
    if len(found.points) < 2:
        raise _core.ScenarioError(
            f"at: it rains {found.rain_percent:.3g} % of the time there (P.837); "
            "P.1853 needs more than 0.02 %"
        )
    shares, depths = (np.array(part) for part in zip(*found.points, strict=True))
    slope, level = np.polyfit(-ndtri(shares / 100), np.log(depths), 1)
    offset = math.exp(level - slope * ndtri(found.rain_percent / 100))
    return Law(float(level), float(slope), offset)


def fade(
    station: Station,
    *,
    availability: float = 99.5,
    duration: str = "1 h",
    step: str = "1 s",
    seed: int = 1,
    progress: Progress | None = None,
) -> pl.DataFrame:
    """Rain attenuation over time, with an event of the depth that an availability asks for.

    The depth is the rain attenuation that is exceeded (100 - availability) % of an average year by P.618. A
    year of attenuation is made from the seed (or 2^25 samples of it). Its events are peaks that are the
    highest in a window of the wanted duration centred on them; the one whose peak is nearest to the depth is
    returned. So this is not an hour of an average year, but one in which the link comes to the edge of its
    availability. The year is one draw: the seed decides how the event looks, the place how deep it is.

    Args:
        station: the place and its path.
        availability: in percent, from 95 to 99.999.
        duration: of the series.
        step: between two rows; P.1853 is made for 1 s.
        seed: of the generator, from 0.
        progress: called with the amount done, and the total.

    Returns:
        `t_s` from 0 and `attenuation_db`, in steps of 0.01 dB. The same is kept between calls.

    Raises:
        ScenarioError: a value is out of range, it does not rain so often there, or `itur` is missing.
    """
    step_s = units.seconds(step, "step")
    count = round(units.seconds(duration, "duration") / step_s)
    if not 2 <= count <= MOST_ROWS:
        raise _core.ScenarioError(
            f"duration: {duration!r} in steps of {step!r} are {count:,} rows; there may be 2 to {MOST_ROWS:,}"
        )
    if seed < 0:
        raise _core.ScenarioError(f"seed: {seed} is negative")
    depth = depth_db(station, availability)
    fitted = law(climate(station))
    inputs = {**vars(fitted), "depth_db": depth, "count": count, "step_s": step_s, "seed": seed}
    made = kept("fade", inputs, lambda: _event(fitted, depth, count, step_s, seed, progress))
    t_s = np.round(np.arange(count) * (step_s * 1e9)) / 1e9  # whole nanoseconds
    return pl.DataFrame({"t_s": t_s, "attenuation_db": np.array(made) / 100})


def same_rain(fades: pl.DataFrame, station: Station, other: Station) -> pl.DataFrame:
    """The attenuation on another path from the same place in the same rain: that of an uplink, for example.

    At each instant both paths have the attenuation that is exceeded equally often, each by its own law.
    P.618-13 scales by equal probabilities too (section 2.2.1.3).

    Args:
        fades: `t_s` and `attenuation_db` on the path of `station`.
        station: the path that they are of.
        other: the same place, with another frequency, elevation or polarisation.

    Returns:
        `t_s` and `attenuation_db` on the path of `other`, in steps of 0.01 dB.

    Raises:
        ScenarioError: the places differ, it hardly ever rains there, or `itur` is missing.
    """
    if station.place[1:] != other.place[1:]:
        raise _core.ScenarioError(
            f"other: it stands at {other.described} and not at {station.described}; "
            "rain differs from place to place"
        )
    ours, theirs = law(climate(station)), law(climate(other))
    depth = fades["attenuation_db"].to_numpy()
    x = (np.log(np.maximum(depth, 0.0) + ours.offset_db) - ours.m) / ours.sigma
    scaled = np.where(depth > 0, theirs.attenuation(x), 0.0)
    return pl.DataFrame({"t_s": fades["t_s"], "attenuation_db": np.round(scaled * 100) / 100})


def depth_db(station: Station, availability: float) -> float:
    """The rain attenuation in dB that is exceeded (100 - availability) % of an average year (P.618).

    Raises:
        ScenarioError: the availability is out of range, it does not rain so often there, or `itur` is
            missing.
    """
    low, high = 100 - MOST_EXCEEDED, 100 - LEAST_EXCEEDED
    if not low <= availability <= high:
        raise _core.ScenarioError(
            f"availability: {availability:g} is out of range; P.618 knows {low:g} to {high:g} %"
        )
    exceeded = round(100 - availability, 9)
    rains = climate(station).rain_percent
    if exceeded >= rains:
        raise _core.ScenarioError(
            f"availability: rain falls {rains:.3g} % of the time at {station.described} (P.837); "
            f"an availability of {availability:g} % means no rain at all, more than {100 - rains:.4g} % some"
        )
    return rain_attenuation(station, exceeded)


def series_sum(attenuation: pl.Series) -> str:
    """The SHA-256 sum of a series in hundredths of a dB, as 32-bit integers, low byte first."""
    return hashlib.sha256(
        (attenuation * 100).round().cast(pl.Int32).to_numpy().astype("<i4").tobytes()
    ).hexdigest()


def _event(
    fitted: Law, depth: float, count: int, step_s: float, seed: int, progress: Progress | None
) -> list[int]:
    """The event that `fade` describes, in hundredths of a dB.

    A sample is the middle of an event if no other of the `count` samples around it is higher.
    """
    before = count // 2
    wanted = max(min(_YEAR_S / step_s, _SEARCHED), 4 * count)
    batch = max(_BATCH, 2 * count)
    process = Process(step_s, seed)
    starts, places, peaks = [], np.empty(0, dtype=np.int64), np.empty(0)
    x = process.next(count)  # with the last of the batch before, so that no event is cut
    done = 0
    while done < wanted or len(peaks) == 0:
        starts.append((x[-count:], process.snapshot()))
        x = np.concatenate([x[-count:], process.next(batch)])
        inner = slice(before, before + batch)
        highest = maximum_filter1d(x, count, mode="nearest")[inner]
        found = np.flatnonzero(x[inner] == highest)
        places = np.concatenate([places, found + done])
        peaks = np.concatenate([peaks, fitted.attenuation(x[inner][found])])
        done += batch
        if progress is not None:
            progress(min(done, wanted), wanted)
    start = int(places[np.abs(peaks - depth).argmin()])
    known, then = starts[start // batch]
    x = np.concatenate([known, process.again(then, batch)])[start % batch :][:count]
    return [int(value) for value in np.round(fitted.attenuation(x) * 100)]


class Process:
    """The Gaussian process of mean 0, variance 1 and correlation exp(-beta t).

    P.1853-1, steps D1 to D3: X(k) = rho X(k-1) + sqrt(1 - rho^2) n(k) with rho = exp(-beta step). It begins
    in its stationary distribution, so nothing is discarded (D6). `Law.attenuation` is D4 and D5.

    Args:
        step_s: seconds between two values.
        seed: the same one gives the same values.
    """

    def __init__(self, step_s: float, seed: int) -> None:
        self._words = np.random.PCG64(seed)
        self._rho = math.exp(-BETA * step_s)
        self._state = self._rho * float(self._normal(1)[0])

    def next(self, count: int) -> Floats:
        """The next values."""
        gain = math.sqrt(1 - self._rho * self._rho)
        x, (self._state,) = lfilter([gain], [1.0, -self._rho], self._normal(count), zi=[self._state])
        return np.asarray(x)

    def snapshot(self) -> tuple[Any, float]:
        """A snapshot of its state."""
        return self._words.state, self._state

    def again(self, snapshot: tuple[Any, float], count: int) -> Floats:
        """The values that followed a snapshot."""
        self._words.state, self._state = snapshot
        return self.next(count)

    def _normal(self, count: int) -> Floats:
        """Normal numbers from raw words: the upper 53 bits as a number between 0 and 1, and its quantile."""
        upper = (self._words.random_raw(count) >> np.uint64(11)).astype(np.float64)
        return np.asarray(ndtri((upper + 0.5) * 2.0**-53))
