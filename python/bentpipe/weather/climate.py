"""The long-term statistics of rain and attenuation over a station, by the ITU-R recommendations.

The package `itur` computes them, in the versions that it holds: P.618-13 (attenuation), P.837-7 (rain rate
and the probability of rain), P.838-3 (specific attenuation), P.839-4 (rain height), P.840 (clouds), P.676
(gases), P.1511 (height above sea level).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from typing import Any

import polars as pl

from bentpipe import _core
from bentpipe.io.caches import Cache, digest
from bentpipe.machine import extras
from bentpipe.weather.station import Station

LEAST_EXCEEDED, MOST_EXCEEDED = 0.001, 5.0
"""Shares of an average year in percent for which P.618 (section 2.2.1.1, step 10) gives an attenuation."""
FITTED = (0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0)
"""Shares of an average year in percent at which P.1853-1 (annex 1, step A2) takes the attenuation."""
KEPT = Cache("weather", most=500)
_FORM = 2
"""Counted up when a method changes, so that earlier values are not used."""


@dataclass(frozen=True)
class Climate:
    """Rain over a station in an average year."""

    rain_rate_mm_h: float
    """Rate that is exceeded 0.01 % of the year (P.837)."""
    rain_percent: float
    """Share of the year in which it rains, in percent (P.837)."""
    rain_height_km: float
    """Mean height of the rain above sea level (P.839)."""
    height_km: float
    """Height of the station above sea level."""
    points: tuple[tuple[float, float], ...]
    """Pairs of `FITTED`, as far as it rains so often, and the rain attenuation in dB that is exceeded for
    that share of the year (P.618)."""


def climate(station: Station) -> Climate:
    """The statistics of rain over a station; kept between calls.

    Raises:
        ScenarioError: the package `itur` is missing.
    """
    found = kept("climate", _inputs(station), lambda: _climate(station))
    return Climate(**{**found, "points": tuple((p, a) for p, a in found["points"])})


def rain_attenuation(station: Station, exceeded: float) -> float:
    """The rain attenuation in dB that is exceeded `exceeded` percent of an average year.

    P.618-13, section 2.2.1.1.

    Raises:
        ScenarioError: the package `itur` is missing.
    """
    inputs = {**_inputs(station), "exceeded": exceeded}
    return float(kept("rain", inputs, lambda: _rain(station, exceeded)))


def attenuation(station: Station, exceeded: Sequence[float] = (0.01, 0.1, 1.0)) -> pl.DataFrame:
    """The attenuation that is exceeded for shares of an average year, by its causes.

    Args:
        station: the place and its path.
        exceeded: shares of an average year in percent, from 0.001 to 5.

    Returns:
        One row per share: `exceeded_percent`, and in dB `rain_db`, `gas_db`, `cloud_db`, `scintillation_db`
        and `total_db`, which P.618-13 (section 2.5) combines: gas + sqrt((rain + cloud)^2 + scintillation^2).

    Raises:
        ScenarioError: a share is out of range, or the package `itur` is missing.
    """
    for share in exceeded:
        if not LEAST_EXCEEDED <= share <= MOST_EXCEEDED:
            raise _core.ScenarioError(
                f"exceeded: {share:g} is out of range; P.618 gives attenuation that is exceeded from "
                f"{LEAST_EXCEEDED:g} to {MOST_EXCEEDED:g} % of an average year"
            )
    rows = [
        kept("causes", {**_inputs(station), "exceeded": share}, partial(_causes, station, share))
        for share in exceeded
    ]
    names = ["exceeded_percent", "rain_db", "gas_db", "cloud_db", "scintillation_db", "total_db"]
    whole = [(float(share), *row) for share, row in zip(exceeded, rows, strict=True)]
    return pl.DataFrame(whole, schema=dict.fromkeys(names, pl.Float64), orient="row")


def _itur() -> Any:
    """The package `itur` with the parts that are used here."""
    try:
        import itur
        import itur.models.itu618
        import itur.models.itu837
        import itur.models.itu839
        import itur.models.itu1511
    except ImportError:
        raise extras.missing("weather", "itur") from None
    return itur


def _inputs(station: Station) -> dict[str, Any]:
    try:
        version = metadata.version("itur")
    except metadata.PackageNotFoundError:
        version = ""
    return {**station.numbers, "itur": version}


def _rain(station: Station, exceeded: float) -> float:
    where = (*station.place[1:], station.frequency_ghz, station.elevation_deg)
    more = {"hs": station.height_km, "tau": station.tilt_deg}
    return float(_itur().models.itu618.rain_attenuation(*where, p=exceeded, **more).value)


def _climate(station: Station) -> dict[str, Any]:
    models = _itur().models
    _, latitude, longitude = station.place
    height = station.height_km
    if height is None:
        height = float(models.itu1511.topographic_altitude(latitude, longitude).value)
    rain_percent = float(models.itu837.rainfall_probability(latitude, longitude).value)
    return {
        "rain_rate_mm_h": float(models.itu837.rainfall_rate(latitude, longitude, 0.01).value),
        "rain_percent": rain_percent,
        "rain_height_km": float(models.itu839.rain_height(latitude, longitude).value),
        "height_km": height,
        "points": [(p, _rain(station, p)) for p in FITTED if p < rain_percent],
    }


def _causes(station: Station, exceeded: float) -> list[float]:
    where = (*station.place[1:], station.frequency_ghz, station.elevation_deg)
    more = {"hs": station.height_km, "tau": station.tilt_deg, "return_contributions": True}
    parts = _itur().atmospheric_attenuation_slant_path(*where, exceeded, station.antenna_m, **more)
    gas, cloud, rain, scintillation, total = parts
    return [float(part.value) for part in (rain, gas, cloud, scintillation, total)]


def kept(kind: str, inputs: dict[str, Any], make: Callable[[], Any]) -> Any:
    """The value of `make`, which depends on nothing but `inputs`: from its file, or made and written there.

    Args:
        kind: the beginning of the file's name.
        inputs: all that the value depends on, as JSON.
        make: computes the value, as JSON.
    """
    name = f"{kind}-{digest({'form': _FORM, 'inputs': inputs})[:32]}"
    try:
        value, _ = KEPT.read(name)
    except LookupError:
        value = make()
        KEPT.write(name, value)
    return value
