"""Many flows on one queue are dropped and marked as in ns-2 (docs/validation.md)."""

from __future__ import annotations

import pytest
from ns2_queues import SETUPS, Setup, compare, here, in_ns2

import bentpipe as bp
from bentpipe import ns2

needs_ns2 = pytest.mark.skipif(not ns2.available(), reason=ns2.MISSING)


@needs_ns2
@pytest.mark.slow
@pytest.mark.parametrize("setup", SETUPS, ids=lambda s: s.name)
def test_a_queue_agrees_with_ns2s(setup: Setup) -> None:
    for found in compare(setup, range(1, 5), duration=200.0):
        # Seed noise must not widen the tolerance so far that nothing could fail.
        assert 3.0 * found.error <= 0.30, f"too few seeds: {found.row()}"
        assert found.agrees, found.row()


@needs_ns2
def test_marks_take_the_place_of_drops_in_both() -> None:
    dropping, marking = SETUPS[0], SETUPS[1]
    scenarios = [setup.scenario(1, 40.0) for setup in (dropping, marking)]
    theirs = [in_ns2(ns2.run(scenario, watch=["sat/forward"]), 40.0) for scenario in scenarios]
    ours = [here(bp.run(scenario).json, 40.0) for scenario in scenarios]
    for without, with_ecn in (theirs, ours):
        assert without.marked == 0.0 < without.dropped
        assert with_ecn.dropped == 0.0 < with_ecn.marked
