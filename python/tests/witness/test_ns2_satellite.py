"""The Vegas-L study's set-up gives the same throughputs in ns-2's satellite model (docs/validation.md)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from forms import form
from ns2_satellite import LATEST_VENO, TOLERANCE, VEGAS, VENO, Kind, compare, here, in_ns2

from bentpipe import ns2
from bentpipe.papers.vegas_l import setup

needs_ns2 = pytest.mark.skipif(not ns2.available(), reason=ns2.MISSING)


@needs_ns2
@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "seeds"),
    [(VEGAS, form(4, 8)), (LATEST_VENO, form(6, 12))],
    ids=["vegas", "veno"],
)
def test_goodputs_agree_with_ns2s_satellite_nodes(kind: Kind, seeds: int) -> None:
    """Of docs/validation/ns2-satellite.csv (`make validate`) one error rate and some of the seeds."""
    kind = replace(kind, seeds=seeds)
    for found in compare(kind, setup.HIGH):
        # Seed noise must not widen the tolerance so far that nothing could fail.
        assert found.error <= TOLERANCE, f"too few seeds: {found}"
        noise = 2 * found.error if found.error > TOLERANCE / 2 else 0
        assert abs(found.difference) <= TOLERANCE + noise, found


@needs_ns2
def test_a_seed_decides_a_run() -> None:
    first, again, other = (in_ns2(VEGAS, setup.HIGH, seed, 30.0) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_the_latest_rtt_makes_veno_slower_where_acks_share_the_queue() -> None:
    # At the printed coordinates; with flow 2 to Washington the two rules give the same.
    near = setup.BASE.changed(destination="washington-as-printed")
    slow, fast = (here(kind, setup.LOW, 1, 300.0, near)[0].mbps for kind in (LATEST_VENO, VENO))
    assert slow < 0.95 * fast
