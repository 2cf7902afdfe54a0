"""Start-up and files, pages and films over satellites: docs/satellite-2026.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import bentpipe as bp
from bentpipe.experiments.satellite_2026 import measure, page
from bentpipe.experiments.satellite_2026.measure import PATHS, RUNS, Measured, SatellitePath, delivery, exists
from bentpipe.experiments.table import Key, Table
from bentpipe.sweeps.case import Case

SEEDS = 8


class Satellite2026(Table[Measured]):
    """The experiment."""

    name = "satellite-2026"
    row = Measured

    def keys(self) -> list[Key]:
        """Seed by seed, so that a table of an interrupted job is one of fewer seeds.

        Quick: one seed over GEO with and without jitter, CUBIC with its starts.
        """
        paths = [path.name for path in PATHS if not self.quick or path.name in page.SHOWN]
        ccs = page.STARTS if self.quick else page.ALGORITHMS
        seeds = range(1, 2 if self.quick else SEEDS + 1)
        return [Key(path, cc, seed) for seed in seeds for path in paths for cc in ccs if exists(cc)]

    def scenarios(self, key: Key) -> dict[str, bp.Scenario]:
        """The runs of an algorithm."""
        path = _path(key.path)
        return {
            name: path.scenario(key.cc, traffic, key.seed, duration, record)
            for name, (traffic, duration, record) in RUNS.items()
        }

    def measure(self, case: Case, result: bp.Result) -> Mapping[str, float]:
        """The columns of one of the runs."""
        return measure.measure(_path(str(case.keys["path"])), str(case.settings["run"]), result)

    def text(self, rows: Sequence[Measured]) -> str:
        """The page."""
        return page.text(rows)

    def draw(self, rows: Sequence[Measured]) -> None:
        """The figures."""
        page.draw(self.out, rows, _story([cc for cc in page.STORY if exists(cc)]))


def _path(name: str) -> SatellitePath:
    return next(path for path in PATHS if path.name == name)


def _story(ccs: Sequence[str]) -> page.Traces:
    """The delivery of a bulk flow of each algorithm over time, with one seed."""
    keys = [(path, cc) for path in PATHS if path.name in page.SHOWN for cc in ccs]
    scenarios = [path.scenario(cc, bp.Bulk(), 1, "24 s", bp.Record("50 ms")) for path, cc in keys]
    found = {}
    for (path, cc), result in zip(keys, bp.run_many(scenarios), strict=True):
        t, delivered = delivery(result)
        begun = next(flow["start_s"] for flow in result.json["flows"] if flow["name"] == "flow")
        found[path.name, cc] = (t - begun, delivered)
    return found
