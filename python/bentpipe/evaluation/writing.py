"""The files of an evaluation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from bentpipe import _core
from bentpipe.files import Kind, check_kind, replace_frame, replace_text, try_place
from bentpipe.pages import check_page

if TYPE_CHECKING:
    from bentpipe.evaluation.assessment import Evaluation

PAGE, JSON, NUMBERS, RUNS = "evaluation.html", "evaluation.json", "numbers.csv", "runs.parquet"
"""Names of the files: the page, all as JSON, means with intervals, and a row for each run and metric."""

KINDS = {
    JSON: Kind("an evaluation", (b'{\n "schema": ',)),
    NUMBERS: Kind("the numbers of an evaluation", (b"experiment,sett",)),
    RUNS: Kind("a Parquet table", (b"PAR1",)),
}


def check_place(directory: Path) -> None:
    """Checks that an evaluation can be written to `directory` and replaces nothing but another one.

    Raises:
        ScenarioError: a file there does not belong to an evaluation.
        OSError: nothing can be written there.
    """
    if directory.exists() and not directory.is_dir():
        raise _core.ScenarioError(f"--out {directory}: it is a file; give a directory")
    check_page(directory / PAGE)
    for name, kind in KINDS.items():
        check_kind(directory / name, kind)
    try_place(directory / PAGE)


def is_complete(directory: Path) -> bool:
    """Whether there is an evaluation that was not stopped."""
    path = directory / JSON
    return path.is_file() and json.loads(path.read_text(encoding="utf-8")).get("stopped") is False


def write(evaluation: Evaluation, directory: Path) -> Path:
    """Writes all files; returns the page. One that was stopped replaces no complete one.

    Raises:
        ScenarioError: a file there does not belong to an evaluation.
        OSError: nothing can be written there.
    """
    from bentpipe.evaluation.report import build

    check_place(directory)
    if evaluation.stopped and is_complete(directory):
        return directory / PAGE
    text = json.dumps(evaluation.as_dict(), indent=1, allow_nan=False) + "\n"
    replace_text(directory / JSON, text)
    replace_frame(directory / NUMBERS, evaluation.numbers)
    replace_frame(directory / RUNS, evaluation.rows)
    return build(evaluation).write(directory / PAGE)
