"""Runs from which a figure is drawn: a result, a directory that `run --out` wrote, or several of either."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bentpipe import _core
from bentpipe.result import Result

Given = Result | str | Path | Sequence["Result | str | Path"] | Mapping[str, "Result | str | Path"]
"""One run or several: results, or the directories that hold them. A mapping names them."""

_NEEDS = {
    "trace": ("trace of flows", "--set record.interval=100ms", 'record=Record("100 ms")'),
    "link_trace": (
        "trace of links",
        "--set record.interval=100ms --set record.links=true",
        'record=Record("100 ms", links=True)',
    ),
    "segments": ("segments", "--set record.segments=true", "record=Record(segments=True)"),
}


def results(given: Given, table: str) -> dict[str, Result]:
    """The runs by name: the name that a mapping gives them, the directory, or else "run 1", "run 2".

    Args:
        given: the runs for a figure.
        table: the table that each run must have recorded, as for `need`.

    Raises:
        ScenarioError: there are none, one is neither a result directory nor a result, or lacks the table.
    """
    if isinstance(given, Mapping):
        named: list[tuple[str, Any]] = [(str(name), value) for name, value in given.items()]
    elif isinstance(given, Result | str | Path):
        named = [("", given)]
    elif isinstance(given, Sequence):
        named = [("", value) for value in given]
    else:
        raise _core.ScenarioError(_wrong(given))
    if not named:
        raise _core.ScenarioError("a figure of no results: give one at least")
    found: dict[str, Result] = {}
    for place, (name, value) in enumerate(named, 1):
        if isinstance(value, str | Path):
            if (Path(value) / "sweep.json").is_file():
                raise _core.ScenarioError(
                    f"{value} is a sweep, and this figure is of single runs: "
                    "write one with bentpipe run FILE --out DIR"
                )
            result = Result.load(value)
            name = name or Path(value).name or str(value)
        elif isinstance(value, Result):
            result = value
        else:
            raise _core.ScenarioError(_wrong(value))
        name = name or f"run {place}"
        need(result, table, name if len(named) > 1 or isinstance(value, str | Path) else "")
        found[name if name not in found else f"{name} ({place})"] = result
    return found


def need(result: Result, table: str, name: str = "") -> None:
    """Checks that a run recorded the table that a figure needs.

    Args:
        result: the run.
        table: "trace", "link_trace" or "segments".
        name: the name of the run in messages; by default "the result".

    Raises:
        ScenarioError: it did not; the message has the command that does.
    """
    if getattr(result, table).height:
        return
    what, options, python = _NEEDS[table]
    raise _core.ScenarioError(
        f"{name or 'the result'} has no {what}; record it with bentpipe run FILE {options} --out DIR "
        f"(in Python: {python})"
    )


def _wrong(value: Any) -> str:
    kind = type(value).__name__
    return f"a figure is drawn of results or of directories that run --out wrote, not of {kind}"
