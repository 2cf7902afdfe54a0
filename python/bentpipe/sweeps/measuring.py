"""Runs that are measured in this process as they are over, resuming after a stop."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bentpipe.progress import State
from bentpipe.sweeps.case import Case
from bentpipe.sweeps.engine import Clock, work_off
from bentpipe.sweeps.execution import Ran
from bentpipe.sweeps.fingerprint import Fingerprints
from bentpipe.sweeps.kept import Kept

Row = Mapping[str, Any]
"""Measures of a run: text, numbers, and lists and objects of them."""


@dataclass
class Made:
    """The measures of runs by the numbers of their cases, the errors of those that failed.

    Attributes:
        stopped: whether the user stopped the job before all runs were made.
    """

    rows: dict[int, Row] = field(default_factory=dict)
    failed: dict[int, str] = field(default_factory=dict)
    stopped: bool = False


def measure_all(
    cases: Sequence[Case],
    measure: Callable[[int, Case, Ran], Row],
    *,
    place: Path | None = None,
    code: Callable[[Case], str] = lambda _: "",
    fresh: bool = False,
    workers: int = 0,
    progress: Callable[[State], None] | None = None,
    named: Callable[[Case], str] | None = None,
) -> Made:
    """Runs cases on all cores and measures each in this process as soon as it is over.

    Args:
        cases: the runs. It may build them as they are asked for; not all are in memory at once.
        measure: the measures of a run from the number of its case, the case and the run, which has its trace
            if the case keeps it.
        place: the folder of the measures; a run that is there is not made again. None: they stay in memory.
        code: the hash of the code that measures a case; another hash, and the run is made again.
        fresh: forget the runs that are in `place`.
        workers: threads, or processes for controllers in Python; 0: one per processor. The results do not
            depend on it.
        progress: called with the state of the job.
        named: the name of the current work, for `progress`.

    Raises:
        ScenarioError: another process writes to `place`.
        OSError: `place` cannot be written.
    """
    made, keys, fingerprints = Made(), dict[int, str](), Fingerprints()
    clock = Clock(len(cases), 0, progress)
    with ExitStack() as held:
        kept, there = None, {}
        if place is not None:
            kept = held.enter_context(Kept(place))
            if fresh:
                kept.clear()
            there = kept.rows()
            clock.warnings = kept.warnings

        def missing() -> Iterator[int]:
            for number in range(len(cases)):
                if kept is not None:
                    keys[number] = key = fingerprints.case(cases[number], code(cases[number]))
                    if key in there:
                        made.rows[number] = there[key]
                        clock.take_over()
                        continue
                yield number

        try:
            clock.tell()
            with closing(work_off(cases, missing(), workers=workers)) as runs:
                for some in runs:
                    for ran in some:
                        case = cases[ran.number]
                        if ran.error is not None:
                            made.failed[ran.number] = ran.error
                            continue
                        row = measure(ran.number, case, ran)
                        made.rows[ran.number] = row
                        # A change of a controller without a source could not be noticed.
                        if kept is not None and all(map(fingerprints.controllers.get, case.controllers)):
                            ran.trace = None
                            kept.take(keys[ran.number], row, ran)
                    if some and named is not None:
                        clock.running = [named(cases[some[-1].number])]
                    clock.count(some)
        except KeyboardInterrupt:
            made.stopped = True
        if kept is not None and not made.stopped:
            kept.keep_only(set(keys.values()))
            kept.finish()
    return made
