"""Positions of satellites beside python-sgp4 and Skyfield.

    python python/tests/witness/orbit_positions.py

prints docs/validation/orbit-positions.csv. Every named shell: satellites of it over a day beside SGP4
(python-sgp4, Vallado's code) on elements made from the shell's numbers, turned to the Earth by GMST of 1982.
TLEs: those of SGP4's verification set that stay up, and of shells, over a day beside Skyfield (its own
turning of the Earth, with its table of UT1), as Earth-fixed positions.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from importlib.util import find_spec
from typing import Any

import data_file
import numpy as np
from numpy.typing import NDArray

from bentpipe import _core

MISSING = 3
COLUMNS = [
    "other",
    "satellites",
    "count",
    "instants",
    "difference_m",
    "mean_difference_m",
    "tolerance_m",
    "verdict",
]
SGP4_M, SKYFIELD_M = 1.0, 100.0
DAY_S = 86_400.0
_A, _F = 6_378_137.0, 1 / 298.257223563
"""WGS 84: semi-major axis in metres, and flattening (NIMA TR8350.2, table 3.1)."""
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Apart:
    """Distances in metres, of any shape, between the positions of some satellites in two programs."""

    other: str
    satellites: str
    distances: Floats
    count: int
    tolerance_m: float

    def row(self) -> list[str]:
        """The line of the data file."""
        worst = float(self.distances.max())
        return [
            self.other,
            self.satellites,
            str(self.count),
            str(self.distances.size // self.count),
            f"{worst:.4f}",
            f"{float(self.distances.mean()):.4f}",
            f"{self.tolerance_m:g}",
            "agrees" if worst <= self.tolerance_m else "differs",
        ]


def positions(satellites: dict[str, Any], t_s: float, **more: Any) -> dict[int, Floats]:
    """Earth-fixed positions in metres of all satellites, by number, as Bentpipe has them."""
    request = {
        "satellites": satellites,
        "a": {"name": "a", "lat": 0.0, "lon": 0.0},
        "b": {"name": "b", "lat": 1.0, "lon": 1.0},
        "duration_s": DAY_S + 1,
        "step_s": 1.0,
        **more,
    }
    there = _core.orbit_snapshot(json.dumps(request), t_s)
    lat, lon, alt = np.radians(there["lat"]), np.radians(there["lon"]), there["alt_km"] * 1000.0
    squared = _F * (2 - _F)
    normal = _A / np.sqrt(1 - squared * np.sin(lat) ** 2)
    fixed = np.column_stack(
        [
            (normal + alt) * np.cos(lat) * np.cos(lon),
            (normal + alt) * np.cos(lat) * np.sin(lon),
            (normal * (1 - squared) + alt) * np.sin(lat),
        ]
    )
    return {int(sat): at for sat, at in zip(there["sat"], fixed, strict=True)}


def shell(one: dict[str, Any], instants: list[float], every: int) -> Apart:
    """Every so many satellites of a named shell beside python-sgp4."""
    from sgp4.api import WGS72, Satrec, jday
    from sgp4.propagation import gstime

    epoch = datetime.fromisoformat(one["epoch"])
    jd, fraction = jday(epoch.year, epoch.month, epoch.day, epoch.hour, epoch.minute, epoch.second)
    planes, per_plane = one["planes"], one["per_plane"]
    chosen = range(0, planes * per_plane, every)
    records = {}
    for sat in chosen:
        plane, slot = divmod(sat, per_plane)
        walker = one["phase"]["walker"] if isinstance(one["phase"], dict) else None
        shift = (plane % 2) / 2 / per_plane if walker is None else walker * plane / (planes * per_plane)
        made = Satrec()

        def begin(
            motion: float,
            made: Satrec = made,
            at: tuple[float, float] = (plane / planes, slot / per_plane + shift),
        ) -> None:
            # Angles to four digits, as a TLE has them.
            node, anomaly = round(one["raan_span_deg"] * at[0], 4), round(360 * at[1] % 360, 4)
            made.sgp4init(
                WGS72, "i", 1, jd + fraction - 2433281.5, 0.0, 0.0, 0.0, 1e-7, 0.0,
                math.radians(one["inclination_deg"]), math.radians(anomaly), motion, math.radians(node),
            )  # fmt: skip

        motion = mean_motion(one)
        begin(motion)
        if one["altitude_km"] is not None:  # then it is SGP4's own mean motion, and not Kozai's
            for _ in range(6):
                motion *= (made.a / (1 + one["altitude_km"] / made.radiusearthkm)) ** 1.5
                begin(motion)
        records[sat] = made
    distances = []
    for t_s in instants:
        ours = positions({"shell": one["name"]}, t_s)
        angle = gstime(jd + fraction + t_s / DAY_S)
        turn = np.array(
            [[math.cos(angle), math.sin(angle), 0], [-math.sin(angle), math.cos(angle), 0], [0, 0, 1]]
        )
        for sat, record in records.items():
            failed, inertial, _ = record.sgp4(jd, fraction + t_s / DAY_S)
            assert failed == 0
            distances.append(float(np.linalg.norm(turn @ np.array(inertial) * 1000.0 - ours[sat])))
    return Apart("python-sgp4", one["name"], np.array(distances), len(records), SGP4_M)


def mean_motion(one: dict[str, Any]) -> float:
    """Of a shell, in radians a minute: as its source has it, or by Kepler's law of its altitude (WGS 72)."""
    if one["mean_motion_rev_per_day"] is not None:
        return float(one["mean_motion_rev_per_day"]) * 2 * math.pi / 1440
    axis_km, gravity = 6378.135 + float(one["altitude_km"]), 398_600.8
    return 60 * math.sqrt(gravity / axis_km**3)


def verification() -> Iterator[tuple[int, str]]:
    """The TLEs of SGP4's verification set that can be propagated for a day: number, and the two lines."""
    from sgp4.api import Satrec
    from sgp4.io import fix_checksum

    lines = files("sgp4").joinpath("SGP4-VER.TLE").read_text(encoding="ascii").splitlines()
    for first, second in zip(lines, lines[1:], strict=False):
        if not (first.startswith("1 ") and second.startswith("2 ")):
            continue
        # Some lack the type of the ephemeris, and some have another checksum than their characters give.
        one = fix_checksum(first[:62] + first[62:63].replace(" ", "0") + first[63:69])
        two = fix_checksum(second[:69])
        record = Satrec.twoline2rv(one, two)
        try:
            good = all(
                record.sgp4(record.jdsatepoch, record.jdsatepochF + day)[0] == 0
                for day in np.linspace(0, 1, 25)
            )
        except ValueError:
            good = False
        if good:
            yield record.satnum, f"{one}\n{two}\n"


def of_shells(count: int) -> Iterator[tuple[int, str]]:
    """TLEs of so many satellites, taken in turns from the named shells: a number, and the two lines."""
    from sgp4.api import WGS72, Satrec, jday
    from sgp4.exporter import export_tle

    jd, fraction = jday(2024, 5, 27, 12, 0, 0)
    known = json.loads(_core.orbit_shells())
    for i in range(count):
        one = known[i % len(known)]
        made = Satrec()
        made.sgp4init(
            WGS72, "i", 90_000 + i, jd + fraction - 2433281.5, 1e-5 * (i % 3), 0.0, 0.0, 1e-4 * (1 + i % 7),
            i % 6, math.radians(max(one["inclination_deg"], 0.01)), (1.7 * i) % 6.28,
            mean_motion(one), (0.9 * i) % 6.28,
        )  # fmt: skip
        yield 90_000 + i, "\n".join(export_tle(made)) + "\n"


def skyfield(tles: list[tuple[int, str]], instants: list[float], name: str) -> Apart:
    """Satellites of TLEs beside Skyfield: Earth-fixed positions at instants after each TLE's epoch."""
    from skyfield.api import EarthSatellite, load
    from skyfield.framelib import itrs

    clock = load.timescale(builtin=True)
    distances = []
    for number, text in tles:
        satellite = EarthSatellite(*text.splitlines(), ts=clock)
        begin = satellite.epoch.utc_datetime().astimezone(UTC).replace(microsecond=0)
        for t_s in instants:
            at = clock.from_datetime(begin + timedelta(seconds=t_s))
            theirs = satellite.at(at).frame_xyz(itrs).m
            ours = positions(
                {"tle": text, "file": name},
                t_s,
                epoch=begin.strftime("%Y-%m-%dT%H:%M:%SZ"),
                ut1_minus_utc_s=float(at.dut1),
            )
            distances.append(float(np.linalg.norm(theirs - ours[number])))
    return Apart("Skyfield", name, np.array(distances), len(tles), SKYFIELD_M)


def main() -> int:
    """Prints the data file; 1 if positions differ by more than is tolerated."""
    if any(find_spec(name) is None for name in ("sgp4", "skyfield")):
        return MISSING
    print(data_file.line(COLUMNS))
    quarters = [900.0 * i for i in range(97)]
    tles = list(verification())
    rows = [
        *(shell(one, quarters[::8], every=7) for one in json.loads(_core.orbit_shells())),
        skyfield(tles, quarters, "TLEs of SGP4's verification set"),
        skyfield(list(of_shells(50)), quarters, "TLEs made from shells"),
    ]
    for found in rows:
        print(data_file.line(found.row()), flush=True)
    return int(any(found.row()[-1] != "agrees" for found in rows))


if __name__ == "__main__":
    sys.exit(main())
