"""Every witness writes the columns of its data file in docs/validation, and rows as they stand there."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from types import ModuleType

import closed_forms
import data_file
import equilibria
import extremes
import ns2_curves
import ns2_grid
import ns2_means
import ns2_satellite
import ns3_grid
import orbit_paths
import orbit_positions
import pytest
from closed_forms import DOCS
from response_curves import CURVES

from bentpipe.stats import Interval

MODULES = {
    "closed-forms": closed_forms,
    "equilibria": equilibria,
    "extremes": extremes,
    "ns2-curves": ns2_curves,
    "ns2-grid": ns2_grid,
    "ns2-queues": ns2_means,
    "ns2-satellite": ns2_satellite,
    "ns3-grid": ns3_grid,
    "orbit-paths": orbit_paths,
    "orbit-positions": orbit_positions,
}


def stored(name: str) -> list[list[str]]:
    """The lines of a data file, its head first."""
    with (DOCS / "validation" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


@pytest.mark.parametrize("name", MODULES)
def test_a_data_file_has_the_columns_that_its_witness_writes(name: str) -> None:
    module: ModuleType = MODULES[name]
    head, *rows = stored(name)
    assert head == module.COLUMNS
    assert {len(row) for row in rows} == {len(head)}


def test_a_cell_with_a_comma_is_one_cell() -> None:
    assert data_file.line(["red, drops", "1"]) == '"red, drops",1'
    assert data_file.percent(-0.0584) == "-5.8"


def named(name: str, *first: str) -> list[str]:
    """The stored row that begins with these cells."""
    return next(row for row in stored(name) if row[: len(first)] == list(first))


def around(mean: float, error: float, n: int) -> Sequence[float]:
    """`n` values, an even number, of this mean and standard error of the mean."""
    far = error * math.sqrt(n - 1)
    return [mean - far, mean + far] * (n // 2)


def test_a_cell_beside_ns2_is_written_as_it_is_stored() -> None:
    cell = next(c for c in ns2_grid.cells() if c.name == "bic-20ms-per-0.01")

    def runs(mbit: float, error: float, dropped: float, queue: float, *rest: float) -> list[ns2_grid.Run]:
        return [ns2_grid.Run(1e6 * x, dropped, queue, 1000.0, *rest) for x in around(mbit, error, 10)]

    verdict = ns2_grid.Verdict(
        cell, runs(7.985, 0.036, 8.91, 2.5, 1457.0, 0.0), runs(7.064, 0.041, 2.87, 1.2, 792.0, 8.4)
    )
    assert ns2_grid.row(verdict, "repeated") == named("ns2-grid", cell.name)
    assert ns2_grid.row(verdict)[-2:] == ["goodput dropped queue", "differs"]


def test_a_cell_beside_ns3_is_written_as_it_is_stored() -> None:
    cell = next(c for c in ns3_grid.cells() if c.name == "veno-500ms-per-0.001")
    verdict = ns3_grid.Verdict(cell, [*around(1.7632, 0.0941, 10)], [*around(1.9345, 0.0712, 10)])
    assert verdict.row() == named("ns3-grid", cell.name)


def test_a_flow_beside_ns2s_satellite_is_written_as_it_is_stored() -> None:
    def flows(mbps: float, error: float, *counts: float) -> list[ns2_satellite.Flow]:
        return [ns2_satellite.Flow(x, *counts) for x in around(mbps, error, 36)]

    found = ns2_satellite.Comparison(
        "Vegas", 1e-6, "", flows(0.8454, 0.009, 3.6, 0.1), flows(0.8176, 0.010, 4.5, 0.0)
    )
    assert found.row("agrees") == named("ns2-satellite", "Vegas")


def test_a_flow_that_differs_must_agree_with_the_rule() -> None:
    def found(rule: str, ours: float) -> ns2_satellite.Comparison:
        there, here = ([ns2_satellite.Flow(x, 0, 0)] * 2 for x in (1.0, ours))
        return ns2_satellite.Comparison("Veno", 1e-6, rule, there, here)

    assert ns2_satellite.judged([found("", 1.38), found("latest", 0.95)]) == ["repeated", "agrees by rule"]
    assert ns2_satellite.judged([found("", 1.02), found("latest", 0.95)]) == ["agrees", "agrees"]
    assert ns2_satellite.judged([found("", 1.38), found("latest", 0.8)]) == ["repeated", "differs"]
    assert ns2_satellite.judged([found("", 1.38)]) == ["differs"]


def test_a_window_beside_its_form_is_written_as_it_is_stored() -> None:
    point = closed_forms.Point(
        curve=next(curve for curve in CURVES if curve.name == "Scalable"),
        p=2e-5,
        periodic=3449.9,
        periodic_form=3744.5,
        periodic_rules=3482.6,
        random=Interval(3369.0, 2819.0, 3919.0, 5, False),
        random_form=3508.3,
        random_rules=3267.4,
        timeouts=0.04,
    )
    assert closed_forms.row(point) == named("closed-forms", "Scalable", "2e-05")
