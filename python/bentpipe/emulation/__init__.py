"""A simulated link under real programs: network namespaces joined by TUN devices, forwarded by the wall clock."""

from __future__ import annotations

from bentpipe.emulation.session import Emulation

__all__ = ["Emulation"]
