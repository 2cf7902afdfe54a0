"""Published experiments as programs: each study runs its sweeps, draws its figures and checks its claims.

The parts of each paper are in `bentpipe.papers`; the shared parts are here.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from bentpipe.studies.job import Failure
    from bentpipe.studies.study import Study, StudyPlan, StudyResult
    from bentpipe.sweeps.execution import Executor
    from bentpipe.terminal.progress import State

MODES = ("quick", "full")
PAPERS = ("vegas_l", "tcp_star", "hswa", "a_liad", "spectrum")
"""The packages in `bentpipe.papers`, in the order in which they are listed."""

__all__ = ["MODES", "PAPERS", "Joined", "available", "get", "run", "run_all", "run_each"]


def _all() -> dict[str, Study]:
    found = [paper(f"bentpipe.papers.{name}") for name in PAPERS]
    return {study.name: study for study in found}


def paper(package: str) -> Study:
    """The study of a paper by its package, the last part of whose name is that of the study.

    ``words.md`` there has a title, a citation (authors, title, year, and the sections and figures that are
    repeated) and a summary (the runs and the claims of the paper). The module ``setup`` has a ``DESIGN``,
    ``figures`` an `Assembly` called ``build``.
    """
    from bentpipe.studies.study import Loaded, Study
    from bentpipe.studies.words import Words

    setup = importlib.import_module(f"{package}.setup")
    words = Words.beside(setup.__file__ or "")
    title, citation, summary = (" ".join(words[name].split()) for name in ("Title", "Citation", "Summary"))
    return Study(
        name=package.rpartition(".")[2].replace("_", "-"),
        title=title,
        citation=citation,
        summary=summary,
        plan=Loaded(f"{package}.setup", "DESIGN.plan"),
        measure=setup.DESIGN.measure,
        report=Loaded(f"{package}.figures", "build"),
        places=Loaded(f"{package}.figures", "build.places"),
    )


def available() -> dict[str, str]:
    """Every study: its name and its title."""
    return {name: study.title for name, study in _all().items()}


def get(name: str) -> Study:
    """The study called ``name``; KeyError lists the existing names."""
    studies = _all()
    if name not in studies:
        raise KeyError(f"no study is called {name!r}; there are: {', '.join(studies)}")
    return studies[name]


def run(
    name: str,
    mode: str = "quick",
    out: Path | str = "study",
    progress: Callable[[int, int], None] | None = None,
    *,
    workers: int = 0,
    fresh: bool = False,
    executor: Callable[[], Executor] | None = None,
) -> StudyResult:
    """Run the study ``name`` and write its page, claims, figures and data under ``out``.

    ``mode`` is ``"quick"`` (few seeds, under a minute on two cores) or ``"full"`` (the published form).
    ``progress(done, total)`` counts runs. ``workers`` processes share the work, one per processor if 0;
    the results do not depend on it. Runs that are under ``out`` from an earlier call, finished or not, are
    not repeated unless ``fresh``. ``executor`` makes the executor of the runs in place of this machine
    (`bentpipe.sweeps.ray.Ray`). Raises KeyError for an unknown study, ValueError for an unknown mode,
    StudyFailed if the study could not be finished.
    """
    return run_plan(
        get(name), _plan(name, mode), Path(out), progress, workers=workers, fresh=fresh, executor=executor
    )


def run_plan(
    study: Study,
    plan: StudyPlan,
    out: Path,
    progress: Callable[[int, int], None] | None = None,
    *,
    workers: int = 0,
    fresh: bool = False,
    executor: Callable[[], Executor] | None = None,
) -> StudyResult:
    """Run ``plan`` of ``study`` as `run` does, and write everything under ``out``."""
    from bentpipe.pages import check_page
    from bentpipe.studies.job import Failure, Job, StudyFailed, run_jobs

    check_page(out / "index.html")  # before the runs, which may be long
    tell = None if progress is None else lambda state: progress(state.done, state.total)
    (result,) = run_jobs(
        [Job(study, plan, out)], workers=workers, fresh=fresh, executor=executor, progress=tell
    )
    if isinstance(result, Failure):
        raise StudyFailed(f"study {result.name}: {result.why}")
    return result


def run_each(
    places: Mapping[str, Path],
    mode: str = "quick",
    progress: Callable[[State], None] | None = None,
    *,
    workers: int = 0,
    fresh: bool = False,
    executor: Callable[[], Executor] | None = None,
) -> list[StudyResult | Failure]:
    """Run several studies as one job and write each in the folder that ``places`` gives for its name.

    The results are in the order of the names; a study that fails does not stop the others. The rest is as
    with `run`; ``progress`` gets the state of the whole job.
    """
    from bentpipe.pages import check_page
    from bentpipe.studies.job import Job, run_jobs

    for place in places.values():
        check_page(Path(place) / "index.html")
    jobs = [Job(get(name), _plan(name, mode), Path(place)) for name, place in places.items()]
    return run_jobs(jobs, workers=workers, fresh=fresh, executor=executor, progress=progress)


def run_all(
    names: Sequence[str],
    mode: str = "quick",
    out: Path | str = "studies",
    progress: Callable[[State], None] | None = None,
    *,
    workers: int = 0,
    fresh: bool = False,
    executor: Callable[[], Executor] | None = None,
) -> Joined:
    """Run several studies as `run_each` does, each in ``out/NAME``, and write ``out/index.html`` about all.

    ``out/claims.json`` has the claims of all.
    """
    from bentpipe.pages import check_page
    from bentpipe.studies import summary

    check_page(Path(out) / "index.html")
    began = time.monotonic()
    taken_over = 0

    def tell(state: State) -> None:
        nonlocal taken_over
        taken_over = state.taken_over
        if progress is not None:
            progress(state)

    out = Path(out)
    results = run_each(
        {n: out / n for n in names}, mode, tell, workers=workers, fresh=fresh, executor=executor
    )
    page = summary.write(results, out, time.monotonic() - began, taken_over)
    return Joined(results, page)


class Joined(NamedTuple):
    """Several studies that were run as one job, and the page about all of them."""

    results: list[StudyResult | Failure]
    page: Path


def _plan(name: str, mode: str) -> StudyPlan:
    if mode not in MODES:
        raise ValueError(f"mode must be one of {', '.join(MODES)}, not {mode!r}")
    return get(name).plan(mode)
