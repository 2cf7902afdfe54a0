"""At the ends of the ranges numbers are those of arithmetic and memory is bounded (docs/validation.md)."""

from __future__ import annotations

import pytest
from extremes import EXTREMES, Extreme, Measured, measure, row


@pytest.mark.slow
@pytest.mark.parametrize("extreme", [e for e in EXTREMES if e.quick], ids=lambda e: e.name)
def test_an_extreme_runs_to_its_end_in_bounded_memory(extreme: Extreme) -> None:
    assert measure(extreme).wrong(extreme) == []


def test_a_wrong_number_and_too_much_memory_show_in_the_row() -> None:
    extreme = EXTREMES[0]
    found = Measured(3, 1.0, 1.0, extreme.most_mb + 90.0, 200.0, {"323 packets": False, "busy": True})
    assert found.wrong(extreme) == ["323 packets", "100 MB, more than 10"]
    assert row(extreme, found)[-2:] == ["323 packets; 100 MB, more than 10", "differs"]
