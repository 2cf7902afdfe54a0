"""Published experiments as programs: each study runs its sweeps, draws its figures and checks its claims.

To add one: write a module (or package) here that defines ``STUDY`` (`bentpipe.studies.study.Study`) and add
its name to `_MODULES`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bentpipe.studies.study import Plan, Study, StudyResult

#: The modules of the studies, in the order in which they are listed.
_MODULES = ("vegas_l", "tcp_star", "hswa", "a_liad", "spectrum")

MODES = ("quick", "full")

__all__ = ["MODES", "available", "get", "run"]


def _all() -> dict[str, Study]:
    found = [importlib.import_module(f"{__name__}.{module}").STUDY for module in _MODULES]
    return {study.name: study for study in found}


def available() -> dict[str, str]:
    """Every study: its name and its title."""
    return {name: study.title for name, study in _all().items()}


def get(name: str) -> Study:
    """The study called ``name``; KeyError says which names exist."""
    studies = _all()
    if name not in studies:
        raise KeyError(f"no study is called {name!r}; there are: {', '.join(studies)}")
    return studies[name]


def run(
    name: str,
    mode: str = "quick",
    out: Path | str = "study",
    progress: Callable[[int, int], None] | None = None,
) -> StudyResult:
    """Run the study ``name`` and write its page, claims, figures and data under ``out``.

    ``mode`` is ``"quick"`` (few seeds, under a minute on two cores) or ``"full"`` (the published form).
    ``progress(done, total)`` counts runs. Raises KeyError for an unknown study, ValueError for an unknown
    mode.
    """
    study = get(name)
    if mode not in MODES:
        raise ValueError(f"mode must be one of {', '.join(MODES)}, not {mode!r}")
    return run_plan(study, study.plan(mode), Path(out), progress)


def run_plan(
    study: Study, plan: Plan, out: Path, progress: Callable[[int, int], None] | None = None
) -> StudyResult:
    """Run ``plan`` of ``study`` and write everything under ``out``."""
    from bentpipe.studies.execute import execute
    from bentpipe.studies.write import write

    outcome = execute(study, plan, progress)
    return write(study, plan, outcome, study.report(plan, outcome), out)
