"""Lines: what an interval on each side of one means."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bentpipe.evaluation.chapter import Chapter
from bentpipe.evaluation.criteria import Line, hold, side
from bentpipe.evaluation.single import BUFFERS
from bentpipe.experiments.rows import Rows

LABELS = ["Mine", "CUBIC", "Reno"]


def chapter(**values: list[float]) -> Chapter:
    """A chapter of one setting, with the loss of each algorithm by seed."""
    rows = [
        {"algorithm": label, "seed": seed, "flows": 1, "buffer": 1, "loss": value, "utilisation": value}
        for label, of in values.items()
        for seed, value in enumerate(of, 1)
    ]
    return replace(BUFFERS, labels=LABELS, rows=Rows(rows))


MOST = Line("buffers", "loss", "at most 1 %", most=0.01)
LEAST = Line("buffers", "utilisation", "at least 90 %", least=0.9)


@pytest.mark.parametrize(
    ("line", "values", "verdict"),
    [
        (MOST, [0.004, 0.005, 0.006], "meets"),
        (MOST, [0.02, 0.021, 0.022], "does not meet"),
        (MOST, [0.001, 0.009, 0.02], "a matter of judgement"),
        (MOST, [0.01], "meets"),
        (MOST, [0.011], "does not meet"),
        (LEAST, [0.95, 0.96, 0.97], "meets"),
        (LEAST, [0.5, 0.51, 0.52], "does not meet"),
        (LEAST, [0.85, 0.9, 0.95], "a matter of judgement"),
    ],
)
def test_an_interval_meets_a_line_or_not(line: Line, values: list[float], verdict: str) -> None:
    assert hold(line, chapter(Mine=values)).verdict == verdict


def test_a_bound_in_multiples_is_that_of_the_worse_standard() -> None:
    line = Line("buffers", "loss", "at most twice", most=0.01, times=2)
    given = chapter(Mine=[0.1, 0.1], CUBIC=[0.02, 0.02], Reno=[0.04, 0.04])
    found = hold(line, given)
    assert (found.bound, found.verdict) == (pytest.approx(0.08), "does not meet")
    mild = chapter(Mine=[0.009, 0.009], CUBIC=[0.001, 0.001], Reno=[0.002, 0.002])
    assert hold(line, mild).bound == 0.01


def test_the_worst_setting_decides() -> None:
    given = chapter(Mine=[0.001, 0.001])
    worse = [{**row, "buffer": 2, "loss": 0.5} for row in given.rows]
    found = hold(MOST, replace(given, rows=Rows([*given.rows, *worse])))
    assert (found.verdict, found.setting["buffer"], found.settings) == ("does not meet", 2, 2)


def test_no_numbers_no_verdict() -> None:
    assert hold(MOST, chapter(CUBIC=[0.1])) is None


def test_the_side_is_told_seed_by_seed() -> None:
    # The scatter over seeds is wide and common to all.
    given = chapter(Mine=[0.1, 0.5, 0.9], CUBIC=[0.2, 0.6, 1.0], Reno=[0.0, 0.41, 0.79])
    assert side(given, "loss", {}) == "better than CUBIC, worse than Reno"
    assert side(given, "utilisation", {}) == "worse than CUBIC, better than Reno"
    same = chapter(Mine=[0.1, 0.2], CUBIC=[0.1, 0.2], Reno=[0.1, 0.2])
    assert side(same, "loss", {}) == "like both"
