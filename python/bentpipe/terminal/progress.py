"""Progress of long work, as the bars of the terminal and the pages show it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class State:
    """The progress of a job of many runs."""

    done: int
    total: int
    #: Of those that are done, the ones that failed.
    failed: int
    elapsed_s: float
    #: The estimated time of the remaining runs, s; None before the first is over.
    remaining_s: float | None
    #: Of those that are done, the ones that were there before the job.
    taken_over: int = 0
    #: Names of the studies of a job that are being run, and of those that are being drawn.
    running: Sequence[str] = ()
    drawing: Sequence[str] = ()
    #: Stored runs that cannot be used, so that they are repeated: a line each.
    warnings: Sequence[str] = ()


@dataclass(frozen=True)
class SearchProgress:
    """The progress of a search."""

    #: The current stage, the number of its combinations that are done, and their total.
    what: str
    done: int
    total: int
    #: All runs that there are, those of earlier searches included.
    runs: int
    #: Most checks that hold, and how many count; 0 before the base is judged.
    held: int
    checks: int
