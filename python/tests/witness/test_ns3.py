"""Goodput agrees with ns-3 (docs/validation.md); skips where its bindings are missing."""

from __future__ import annotations

import pytest
from ns3_grid import MISSING, available, cells, compare

needs_ns3 = pytest.mark.skipif(not available(), reason=MISSING)


@needs_ns3
@pytest.mark.slow
def test_goodput_agrees_with_ns3() -> None:
    chosen = [cell for cell in cells() if cell.name.startswith(("newreno-100ms", "cubic-100ms"))]
    assert len(chosen) == 4
    for verdict in compare(chosen):
        assert verdict.agrees, verdict.row()
