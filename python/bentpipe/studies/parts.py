"""Parts of the scenarios that several papers have: a link with a drop-tail queue, a flow, a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Part = dict[str, Any]


def link(rate_bps: float, delay: str, limit: str, **more: Any) -> Part:
    """A link with a drop-tail queue of ``limit``; rate and delay are those of one way."""
    queue = {"kind": "drop-tail", "limit": limit}
    return {"rate": f"{rate_bps / 1e6:g} Mbit/s", "delay": delay, "queue": queue, **more}


def flow(
    name: str,
    cc: str | Mapping[str, Any],
    path: Sequence[str],
    mss_bytes: int,
    header_bytes: int,
    **more: Any,
) -> Part:
    """A flow with the profile "paper": ns-2's defaults, which ``more`` may change."""
    sizes = {"mss": f"{mss_bytes} bytes", "header": f"{header_bytes} bytes"}
    return {"name": name, "cc": cc, "path": list(path), "profile": "paper", **sizes, **more}


def scenario(
    title: str,
    duration_s: float,
    seed: int,
    links: Mapping[str, Part],
    flows: Sequence[Part],
    every: str = "",
    **more: Any,
) -> Part:
    """A run; the interval ``every`` (or "change") of its record, none if empty."""
    if every:
        more["record"] = {"interval": every, **more.get("record", {})}
    head = {"title": title, "duration": f"{duration_s:g} s", "seed": seed, **more}
    return {**head, "link": dict(links), "flow": list(flows)}
