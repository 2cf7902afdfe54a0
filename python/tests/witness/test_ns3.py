"""Goodput agrees with ns-3 (docs/validation.md); skips where its libraries are missing."""

from __future__ import annotations

import pytest
from ns3_grid import cells, compare

from bentpipe.bench import ns3

needs_ns3 = pytest.mark.skipif(ns3.missing() is not None, reason=f"ns-3: {ns3.missing()}")


@needs_ns3
@pytest.mark.slow
def test_goodput_agrees_with_ns3_or_with_its_rules() -> None:
    names = ("newreno-100ms", "cubic-100ms", "vegas-100ms", "hybla-100ms-per-0.001", "vegas-500ms-per-0")
    chosen = [cell for cell in cells() if cell.name.startswith(names)]
    explained = []
    for verdict, ruled in compare(chosen):
        assert verdict.agrees or ruled is not None, verdict.row()
        assert ruled is None or ruled.agrees, ruled.row()
        if ruled is not None:
            explained.append(verdict.cell.name)
    # What needs ns-3's rules is what docs/validation.md says.
    assert explained == [
        "vegas-100ms-per-0.001",
        "vegas-500ms-per-0",
        "vegas-500ms-per-0.001",
        "hybla-100ms-per-0.001",
    ]
