"""A ground station and its path to a satellite: all that rain attenuation depends on, as text with units."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from bentpipe import _core
from bentpipe.orbit import ground
from bentpipe.units import number

BANDS = {"ku": 12.0, "ka": 20.0, "q": 40.0, "v": 50.0}
"""Frequencies in GHz that represent a band: downlinks at 10.7 to 12.75 GHz (Ku), 17.7 to 20.2 GHz (Ka) and
37.5 to 42.5 GHz (Q), and the uplink at 47.2 to 50.2 GHz (V). ITU Radio Regulations, article 5; letters as
satellite operators use them (Rec. ITU-R V.431 gives no single meaning)."""
TILTS = {"horizontal": 0.0, "circular": 45.0, "vertical": 90.0}
"""Tilt of the polarisation against the horizontal in degrees (Rec. ITU-R P.838-3, equations 4 and 5)."""
_EARTH_KM = 6378.137
_GEO_KM = 42164.17


@dataclass(frozen=True)
class Quantity:
    """A kind of quantity: its units as factors, an example, and the range in which it makes sense."""

    units: dict[str, float]
    example: str
    least: float = -math.inf
    most: float = math.inf

    def read(self, text: str, what: str) -> float:
        """The value of a text, in the unit whose factor is 1.

        Raises:
            ScenarioError: it is not such a quantity, or out of range; `what` names it in the message.
        """
        value = number(str(text), self.units)
        if value is None or not math.isfinite(value):
            raise _core.ScenarioError(
                f"{what}: {text!r} does not say how much; write for example {self.example!r}"
            )
        if not self.least <= value <= self.most:
            unit = next(name for name, factor in self.units.items() if factor == 1)
            bounds = f"from {self.least:g} to {self.most:g} {unit}"
            raise _core.ScenarioError(f"{what}: {text!r} is out of range; it must be {bounds}")
        return value

    def of(self, attribute: str) -> cached_property[float]:
        """A property of a class: the value of the text in an attribute, read once."""
        return cached_property(lambda owner: self.read(getattr(owner, attribute), attribute))


FREQUENCY: Final = Quantity({"GHz": 1.0, "MHz": 1e-3}, "20 GHz", 4.0, 55.0)
"""In GHz; the range is that of P.1853-1 for paths between Earth and space."""
ELEVATION: Final = Quantity({"deg": 1.0, "°": 1.0}, "35 deg", 5.0, 90.0)
"""In degrees; the range is that of P.1853-1 for paths between Earth and space."""
DIAMETER: Final = Quantity({"m": 1.0, "cm": 1e-2}, "60 cm", 0.05, 70.0)
HEIGHT: Final = Quantity({"km": 1.0, "m": 1e-3}, "120 m", -0.5, 6.0)


@dataclass(frozen=True)
class Station:
    """The place of an antenna, and the signal that it receives.

    Args:
        at: a place: latitude and longitude in degrees, "1.35,103.82", or a name that `bentpipe orbit places`
            lists.
        band: "ku" (12 GHz), "ka" (20), "q" (40) or "v" (50); or give `frequency`.
        frequency: for example "19.7 GHz", from 4 to 55 GHz.
        geo: the longitude of a geostationary satellite, "100E". Without it and without `elevation` the
            satellite is the one over the station's own meridian, the highest that there is.
        elevation: the elevation of the satellite, "35 deg", for any orbit; from 5 to 90 degrees.
        polarisation: "circular", "horizontal" or "vertical".
        antenna: its diameter, which matters to scintillation alone. 60 cm is the VSAT of 3GPP TR 38.821,
            table 6.1.1.1-3.
        height: above sea level; by default from the map of Rec. ITU-R P.1511.

    Raises:
        ScenarioError: a value is invalid, out of range, or the satellite is too low.
    """

    at: str
    band: str | None = None
    frequency: str | None = None
    geo: str | None = None
    elevation: str | None = None
    polarisation: str = "circular"
    antenna: str = "60 cm"
    height: str | None = None

    def __post_init__(self) -> None:
        if self.band is None and self.frequency is None:
            raise _core.ScenarioError('say which band ("ku", "ka", "q", "v") or frequency ("20 GHz")')
        if self.band is not None and self.frequency is not None:
            raise _core.ScenarioError("give one of band and frequency, and not both")
        if self.geo is not None and self.elevation is not None:
            raise _core.ScenarioError("give one of geo and elevation, and not both")
        if self.polarisation not in TILTS:
            raise _core.ScenarioError(
                f"polarisation: {self.polarisation!r} is none of {', '.join(sorted(TILTS))}"
            )
        # Each of these checks its value.
        _ = self.place, self.frequency_ghz, self.elevation_deg, self.antenna_m, self.height_km

    @cached_property
    def place(self) -> tuple[str, float, float]:
        """Name, latitude and longitude in degrees; the name is empty if the station has coordinates only."""
        return find(self.at)

    @cached_property
    def frequency_ghz(self) -> float:
        """Frequency in GHz."""
        if self.frequency is not None:
            return FREQUENCY.read(self.frequency, "frequency")
        if self.band not in BANDS:
            raise _core.ScenarioError(
                f"band: {self.band!r} is none of {', '.join(BANDS)}; or give a frequency"
            )
        return BANDS[self.band]

    @cached_property
    def elevation_deg(self) -> float:
        """Elevation of the satellite in degrees, rounded to 0.01."""
        if self.elevation is not None:
            return ELEVATION.read(self.elevation, "elevation")
        _, latitude, longitude = self.place
        over = longitude if self.geo is None else satellite_longitude(self.geo)
        angle = geo_elevation(latitude, longitude - over)
        if angle < ELEVATION.least:
            seen = "under the horizon" if angle < 0 else f"at {angle:.1f} degrees"
            raise _core.ScenarioError(
                f"at: from {self.described} the geostationary satellite over {_side(over, 'EW')} is {seen}; "
                f"the recommendations begin at {ELEVATION.least:g} degrees"
            )
        return round(angle, 2)

    antenna_m = DIAMETER.of("antenna")
    """Diameter of the antenna in metres."""

    @cached_property
    def height_km(self) -> float | None:
        """Height above sea level in km, if it was given."""
        return None if self.height is None else HEIGHT.read(self.height, "height")

    @property
    def tilt_deg(self) -> float:
        """Tilt of the polarisation against the horizontal, in degrees."""
        return TILTS[self.polarisation]

    @property
    def described(self) -> str:
        """Name and coordinates, for display."""
        name, latitude, longitude = self.place
        where = f"{_side(latitude, 'NS')} {_side(longitude, 'EW')}"
        return f"{name} ({where})" if name else where

    @property
    def seen(self) -> str:
        """The basis of the elevation, for display."""
        angle = f"elevation {self.elevation_deg:g} degrees"
        if self.elevation is not None:
            return angle
        if self.geo is not None:
            return f"{angle} (GEO {self.geo})"
        return f"{angle} (GEO over the station's own meridian)"

    @property
    def numbers(self) -> dict[str, float | None]:
        """The inputs of the attenuation, as numbers; two stations of equal numbers have equal weather."""
        _, latitude, longitude = self.place
        return {
            "latitude_deg": latitude,
            "longitude_deg": longitude,
            "height_km": self.height_km,
            "frequency_ghz": self.frequency_ghz,
            "elevation_deg": self.elevation_deg,
            "tilt_deg": self.tilt_deg,
            "antenna_m": self.antenna_m,
        }


def find(at: str) -> tuple[str, float, float]:
    """Name, latitude and longitude of a place in degrees; of coordinates the name is empty.

    Raises:
        ScenarioError: it is neither a pair of coordinates nor the name of a place.
    """
    point = ground.point(at, "at")
    name = "" if point.name == at.strip() and "," in at else point.name
    if not name and at.count(",") > 1:
        raise _core.ScenarioError(
            f"at: {at!r} has an altitude; give latitude and longitude, and height by itself"
        )
    return name, point.lat_deg, (point.lon_deg + 180) % 360 - 180


def satellite_longitude(text: str) -> float:
    """The longitude in degrees east of a text such as "100E" or "30W".

    Raises:
        ScenarioError: it is not a longitude.
    """
    found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([EeWw])\s*", text)
    if found is None or float(found[1]) > 180:
        raise _core.ScenarioError(f'geo: {text!r} is no longitude; write for example "100E" or "30.5W"')
    return float(found[1]) if found[2] in "Ee" else -float(found[1])


def geo_elevation(latitude: float, east: float) -> float:
    """Elevation in degrees of a geostationary satellite `east` degrees from the station's meridian.

    Plane geometry on a spherical Earth of the equatorial radius; its flattening changes the angle by less
    than 0.2 degrees.
    """
    central = math.cos(math.radians(latitude)) * math.cos(math.radians(east))
    side = math.sqrt(max(1 - central * central, 0.0))
    return math.degrees(math.atan2(central - _EARTH_KM / _GEO_KM, side))


def _side(value: float, letters: str) -> str:
    return f"{abs(value):.2f}{letters[value < 0]}"
