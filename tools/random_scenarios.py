"""Writes random scenarios that the simulator accepts: `python tools/random_scenarios.py FOLDER COUNT`.

They are those of python/tests/test_random.py, from fixed seeds, so the same number gives the same files.
The files that they name are copied beside them. `make web-check` runs them in the page's simulator.
"""

from __future__ import annotations

import random
import shutil
import sys
from pathlib import Path

from bentpipe import _core
from bentpipe.document.source import Source

DATA = Path(__file__).parents[1] / "crates" / "sim" / "tests" / "sim"
LOSSES = "losses.csv"
BYTES = 800


def main(folder: Path, count: int) -> None:
    """Draws until there are enough; about two in three draws contradict themselves and are skipped."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    shutil.copy(DATA / "losses.txt", folder / LOSSES)
    for name in ("time_line.csv", "delays.csv"):
        shutil.copy(DATA / name, folder)
    seed = found = 0
    while found < count:
        seed += 1
        text = _core.random_scenario(random.Random(seed).randbytes(BYTES), LOSSES)
        place = folder / f"{seed:05}.toml"
        place.write_text(text, encoding="utf-8")
        try:
            Source(place).load()
        except _core.ScenarioError:
            place.unlink()
            continue
        found += 1


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
