"""A simulated link under real programs: network namespaces joined by TUN devices."""

from __future__ import annotations

from bentpipe.emulation.session import Emulation

__all__ = ["Emulation"]
