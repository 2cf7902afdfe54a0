"""The table of `validate quic`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from bentpipe.truth.comparison import GOODPUT, RETRANSMITTED, RTT, grouped
from bentpipe.truth.quic_program import WORLDS

QUANTITIES = ("goodput_bps", "rtt_s", "lost")
"""The quantities of each world, as columns WORLD_QUANTITY."""

LATE_S = 0.05
"""A QUIC sender that once waited this long for a processor may have been held back by the machine."""


def tcp(found: Mapping[str, float]) -> dict[str, float]:
    """The quantities of a world in which TCP sends, from `measuring.quantities`."""
    return {"goodput_bps": found[GOODPUT], "rtt_s": found[RTT], "lost": found[RETRANSMITTED]}


def over_seeds(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row for each controller on each link: means over the seeds."""
    columns = [f"{world}_{quantity}" for world in WORLDS for quantity in QUANTITIES]
    made = []
    for place, group in grouped(rows, ("controller", "rtt_ms", "per", "length_s")):
        found: dict[str, Any] = dict(zip(("controller", "rtt_ms", "per", "length_s"), place, strict=True))
        late = max((row["quic_late_s"] or 0.0 for row in group), default=0.0)
        found |= {"seeds": len(group), "kernel_by": group[0]["kernel_by"], "quic_late_s": late}
        for column in columns:
            known = [row[column] for row in group if row[column] is not None]
            found[column] = fmean(known) if known else None
        made.append(found)
    return made


def page_rows(table: Sequence[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Heads and body of a table: per world goodput in Mbit/s, mean RTT in ms, losses in percent."""
    heads = ["<controller", "<RTT, PER", *WORLDS.values()]
    body = [
        [
            row["controller"]
            + (f" ({row['kernel_by']})" if row["kernel_by"] not in (None, "kernel") else ""),
            f"{row['rtt_ms']} ms, {row['per']:g}",
            *(_numbers(row, world) for world in WORLDS),
        ]
        for row in table
    ]
    return heads, body


def late_rows(table: Sequence[dict[str, Any]]) -> int:
    """The number of rows in which the machine kept the QUIC sender waiting for longer than `LATE_S`."""
    return sum((row["quic_late_s"] or 0.0) > LATE_S for row in table)


def _numbers(row: dict[str, Any], world: str) -> str:
    goodput, rtt, lost = (row[f"{world}_{quantity}"] for quantity in QUANTITIES)
    if goodput is None:
        return "-"
    return f"{goodput / 1e6:.2f}, {1e3 * rtt:.0f}, {100 * lost:.2f}"
