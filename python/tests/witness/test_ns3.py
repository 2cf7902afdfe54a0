"""Goodput agrees with ns-3 (docs/validation.md); skips where its libraries are missing."""

from __future__ import annotations

import pytest
from forms import form
from ns3_grid import cells, compare

from bentpipe.bench import ns3

ONCE = ("newreno-100ms-per-0", "cubic-100ms-per-0", "vegas-500ms-per-0")
"""Cells of one run each."""
LONG = (*ONCE, "vegas-100ms", "hybla-100ms-per-0.001")
RULED = ("vegas-100ms-per-0.001", "vegas-500ms-per-0", "vegas-500ms-per-0.001", "hybla-100ms-per-0.001")
needs_ns3 = pytest.mark.skipif(ns3.missing() is not None, reason=f"ns-3: {ns3.missing()}")


@needs_ns3
@pytest.mark.slow
def test_goodput_agrees_with_ns3_or_with_its_rules() -> None:
    once = [cell for cell in cells() if cell.name in ONCE]
    chosen = form(once, [cell for cell in cells() if cell.name.startswith(LONG)])
    explained = []
    for verdict, ruled in compare(chosen):
        assert verdict.agrees or ruled is not None, verdict.row()
        assert ruled is None or ruled.agrees, ruled.row()
        if ruled is not None:
            explained.append(verdict.cell.name)
    # What needs ns-3's rules is what docs/validation.md says.
    assert explained == [cell.name for cell in chosen if cell.name in RULED]
