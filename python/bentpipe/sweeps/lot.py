"""Runs that are wanted together: their cases, how each is measured, and where its row is kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from bentpipe.sweeps.case import Case
from bentpipe.sweeps.execution import Measure, Ran
from bentpipe.sweeps.kept import Row
from bentpipe.sweeps.store import Store

Then = tuple[Callable[..., Any], *tuple[Any, ...]]
"""A task of a worker (`Processes.begin`) and its arguments."""


@dataclass(eq=False)
class Lot:
    """Runs that are wanted together.

    Args:
        cases: the runs. It may build them as they are asked for; not all are in memory at once.
        measure: makes the row of a run in this process, from its case and the run, whose `number` is that of
            the case. The run has its trace if the case keeps it. None: the row is what `far` gives, if that.
        far: measures a run where it is made, a function of a module. Traces of such runs are stored, too.
        key: the key of a run in the store, from the number of its case; "" for one that is not stored.
        then: begun in a worker process when all rows are there, while the runs of other lots go on. A run
            that fails ends a lot with such a task, and no other.
        named: the name of the work on a case, for people.
        kept: the store; None: nothing is stored.
        numbers: the numbers of the cases that are wanted; None: all.

    Attributes:
        total: how many runs they are.
        done: runs that are over.
        taken_over: those of them that were there before.
        error: why the lot was given up, in one line; empty if it was not.
        result: that of its task.
    """

    cases: Sequence[Case]
    measure: Callable[[Case, Ran], Row] | None = None
    far: Measure | None = None
    key: Callable[[int], str] = lambda _: ""
    then: Callable[[], Then] | None = None
    named: Callable[[Case], str] = lambda _: ""
    kept: Store | None = None
    numbers: Sequence[int] | None = None
    total: int = field(init=False)
    done: int = 0
    taken_over: int = 0
    failed: int = 0
    error: str = ""
    result: Any = None
    #: The name of the current work, runs in hand, and what those that are over have cost, s.
    now: str = ""
    in_hand: int = 0
    spent_s: float = 0.0
    drawing: bool = False

    def __post_init__(self) -> None:
        self.numbers = range(len(self.cases)) if self.numbers is None else self.numbers
        self.total = len(self.numbers)

    @property
    def left(self) -> int:
        """Runs that are not over."""
        return 0 if self.error else self.total - self.done

    def over(self, *, there: bool, error: str | None = None) -> None:
        """A run is over; there: its row was made before, or for another lot."""
        self.done += 1
        self.taken_over += there
        self.failed += error is not None
        if self.then is not None:
            self.error = self.error or error or ""
        if self.done == self.total:  # a laboratory keeps its lots to the end, and these may be large
            self.cases, self.measure, self.key = (), None, str
