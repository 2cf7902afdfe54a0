"""Maps, and what is drawn and told of a path."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bentpipe.orbit import coasts, figures


def test_the_map_keeps_distances_and_directions_from_its_centre() -> None:
    paris = figures.Around(2.3488, 48.85341)
    # Haversine, by hand: Paris to Moscow 22.37 degrees of arc.
    (x, y), (x0, y0) = paris.xy(np.array([[37.621849, 55.754996], [2.3488, 48.85341]]))
    assert math.hypot(x, y) == pytest.approx(22.37, abs=0.02)
    assert x > 0 < y
    assert (x0, y0) == pytest.approx((0, 0), abs=1e-9)
    equator = figures.Around(0.0, 0.0)
    assert equator.xy(np.array([[90.0, 0.0], [0.0, -30.0], [180.0, 0.0]]))[:2] == pytest.approx(
        np.array([[90.0, 0.0], [0.0, -30.0]]), abs=1e-9
    )


def test_a_great_circle_over_the_pole_crosses_it() -> None:
    line = figures.great_circle((0.0, 60.0), (180.0, 60.0), count=3)
    assert line[1, 1] == pytest.approx(90.0)
    assert figures.great_circle((5.0, 5.0), (5.0, 5.0)).shape == (2, 2)


def test_the_coasts_tell_land_from_sea() -> None:
    from matplotlib.path import Path

    land = [Path(one.points) for one in coasts.coasts() if one.level == coasts.LAND]

    def ashore(lon: float, lat: float) -> bool:
        return any(shape.contains_point((lon, lat)) for shape in land)

    assert ashore(-47.9, -15.8)  # Brasília
    assert ashore(37.6, 55.8)  # Moscow
    assert ashore(134.0, -25.0)  # Australia
    assert not ashore(-30.0, 30.0)  # the Atlantic
    assert not ashore(-150.0, 0.0)  # the Pacific
    assert len(coasts.borders()) > 300


def test_times_without_a_path_are_joined() -> None:
    time = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    reachable = np.array([True, False, False, True, False])
    assert figures.dark(time, reachable) == [(1.0, 3.0), (4.0, 5.0)]
    assert figures.dark(time, np.full(5, fill_value=True)) == []
