"""The tables of the spectrum paper, from its closed forms and from our runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bentpipe.papers.spectrum import closed_forms, figures
from bentpipe.studies.claim import Check
from bentpipe.studies.page import interval, shown
from bentpipe.studies.study import Table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bentpipe.studies.judge import Findings


def _checked(checks: Iterable[Check], begins: str, caption: str) -> Table:
    """The checks whose names begin so, as the cells of a table."""
    rows = [
        [
            check.what.removeprefix(begins).strip(", "),
            shown(check.paper),
            interval(check.measured).partition(" [")[0],
            "yes" if check.holds else "no",
        ]
        for check in checks
        if check.what.startswith(begins)
    ]
    return Table(["Cell", "Paper's formula", "Ours", "Holds"], rows, caption)


def special_cases(found: Findings) -> Table:
    """Table 1: the constants of its six rows."""
    said = "Constants of table 1: alpha of the increase rule and c of the increase function"
    return _checked(closed_forms.k1(found.base), "table 1", said)


def indices(found: Findings) -> Table:
    """Table 3: the column of smoothness, at a window of 20 packets."""
    said = "Column smoothness of table 3, W = 20; table 5 has the other two columns"
    return _checked(closed_forms.k11(found.base), "table 3, smoothness at W = 20:", said)


def square_wave(found: Findings) -> Table:
    """Table 5: round trips to double the window and losses to halve it."""
    return figures.table_5(found.base)


def convergence(found: Findings) -> Table:
    """Table 6: round trips to fairness and to efficiency."""
    return figures.table_6(found.base)
