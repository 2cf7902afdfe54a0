"""Studies that three of the papers announce as future work and nobody has published, and what they share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product
from pathlib import Path
from typing import Any

from bentpipe.experiments.experiment import KEYS
from bentpipe.experiments.rows import Rows
from bentpipe.pages.markdown import rendered
from bentpipe.registry import find
from bentpipe.sweeps.case import Case


def label(cc: str) -> str:
    """The name of an algorithm in the papers."""
    return "NewReno" if cc == "reno" else str(find(cc)["label"])


def grid(
    paths: Iterable[str],
    ccs: Iterable[str],
    seeds: Iterable[int],
    scenario: Callable[[str, str, int], dict[str, Any]],
) -> list[Case]:
    """A run for each path, algorithm and seed, of the scenario that these three give."""
    return [Case(dict(zip(KEYS, of, strict=True)), scenario(*of)) for of in product(paths, ccs, seeds)]


def page(module: str, rows: Rows, **values: Any) -> str:
    """The page by the template beside a module; ``of(measure, path, cc)`` there is a mean over the seeds."""

    def of(measure: str, path: str, cc: str) -> float:
        return rows.mean(measure, path=path, cc=cc)

    return rendered(Path(module).with_suffix(".md"), of=of, **values)
