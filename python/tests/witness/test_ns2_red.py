"""RED drops and marks as often as in ns-2, and keeps the same queue (docs/validation.md)."""

from __future__ import annotations

import pytest
from ns2_red import TOLERANCE, compare, here, in_ns2

from bentpipe import ns2

needs_ns2 = pytest.mark.skipif(not ns2.available(), reason=ns2.MISSING)


@needs_ns2
@pytest.mark.slow
def test_red_agrees_with_ns2() -> None:
    for found in compare(range(1, 5), duration=200.0):
        # Seed noise must not widen the tolerance so far that nothing could fail.
        assert 3.0 * found.error <= TOLERANCE, f"too few seeds: {found.row()}"
        assert found.agrees, found.row()


@needs_ns2
def test_marks_take_the_place_of_drops_in_both() -> None:
    for run in (in_ns2, here):
        dropping, marking = run(1, ecn=False, duration=40.0), run(1, ecn=True, duration=40.0)
        assert dropping.marked == 0.0 < dropping.dropped
        assert marking.dropped == 0.0 < marking.marked
