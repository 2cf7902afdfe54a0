"""What tests of emulated links need of this machine."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

UNABLE = (
    "emulation takes root"
    if os.geteuid() != 0
    else "emulation takes /dev/net/tun"
    if not Path("/dev/net/tun").exists()
    else None
)
"""Why there can be no emulated link here; None if there can."""


def needs_root(test):
    """Marks a test, or a class of tests, that makes emulated links."""
    return pytest.mark.root(pytest.mark.skipif(UNABLE is not None, reason=str(UNABLE))(test))
