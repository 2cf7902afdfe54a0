"""Every controller over paths that move: docs/leo.md."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

import bentpipe as bp
from bentpipe import controller
from bentpipe.experiments.leo import measure, page, paths
from bentpipe.experiments.leo.measure import Measured
from bentpipe.experiments.leo.paths import MovingPath
from bentpipe.experiments.table import Key, Table
from bentpipe.sweeps.case import Case

SEEDS = 3
RESET = "path_change=reset"
WINDOW = "base_window=10"


class Leo(Table[Measured]):
    """The experiment. With data, the measured downlinks are among the paths."""

    name = "leo"
    row = Measured

    @cached_property
    def paths(self) -> dict[str, MovingPath]:
        """All paths by name."""
        shipped = [paths.shipped(), paths.shipped("leo-loss", paths.LOSS)]
        own = [] if self.data is None else paths.measured(self.data)
        return {path.name: path for path in (*shipped, *paths.shells(), *paths.fades(), *own)}

    def keys(self) -> list[Key]:
        """Quick: one seed over the two shipped paths, the controllers that the figures name."""
        if self.quick:
            few = [path for path in self.paths.values() if path.name in ("leo-handover", "leo-loss")]
            named = (*page.NAMED, *(cc for cc in page.STORY if cc not in page.NAMED))
            return [Key(path.name, cc, 1) for path in few for cc in named]
        return [
            Key(path.name, cc, seed)
            for seed in range(1, SEEDS + 1)
            for path in self.paths.values()
            for cc in algorithms(path)
        ]

    def scenarios(self, key: Key) -> dict[str, bp.Scenario]:
        """One run a row."""
        cc = controller.named_algorithm(key.cc)
        return {"flow": self.paths[key.path].scenario(cc, key.seed, self.lines)}

    def measure(self, case: Case, result: bp.Result) -> Mapping[str, float]:
        """All columns."""
        return measure.measure(self.paths[str(case.keys["path"])], result)

    def text(self, rows: Sequence[Measured]) -> str:
        """The page; the table of `leocc` is in its folder, too."""
        return page.text(rows, self.out)

    def draw(self, rows: Sequence[Measured]) -> None:
        """The figures; that of the paths only if the measured ones are there."""
        every = list(self.paths.values())
        with tempfile.TemporaryDirectory() as work:
            told = [every[0].scenario(controller.named_algorithm(cc), 1, Path(work)) for cc in page.STORY]
            results = bp.run_many(told)
        page.draw(self.out, rows, every, {cc: r.trace for cc, r in zip(page.STORY, results, strict=True)})


def algorithms(path: MovingPath) -> list[str]:
    """Every controller; where the path changes hands, also those that forget the smallest round-trip time."""
    found = []
    for entry in bp.controllers():
        found.append(entry["id"])
        if path.group != paths.LEO or entry["uses_path_hints"]:
            continue
        if any(param["name"] == "base_window" for param in entry["params"]):
            found.append(f"{entry['id']} {WINDOW}")
        if entry["id"] in page.KEEPERS:
            found.append(f"{entry['id']} {RESET}")
    return found
