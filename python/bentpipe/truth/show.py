"""The truth table on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bentpipe import terminal
from bentpipe.truth.comparison import GOODPUT, RETRANSMITTED, RTT, verdict

LABELS = {GOODPUT: "goodput", RTT: "mean RTT", RETRANSMITTED: "retransmissions"}


def percent(share: float, digits: int = 1) -> str:
    """A share in percent."""
    return f"{100 * share:.{digits}f} %"


def signed(share: float) -> str:
    """An error in percent, with its sign."""
    return f"{100 * share:+.1f} %"


def link_of(row: dict[str, Any]) -> str:
    """RTT, packet error rate and buffer in a few words, or the link's name."""
    return row["link"] or f"{row['rtt_ms']} ms, {row['per']:g}, {row['buffer_bdp']:g} BDP"


def show_truth(table: Sequence[dict[str, Any]], rows: Sequence[dict[str, Any]]) -> None:
    """Prints the table, and a summary of its errors."""
    heads = [
        "<sender",
        "<link",
        "Mbit/s",
        "simulated",
        "error",
        "RTT ms",
        "error",
        "retr.",
        "error",
        "window",
        "curve",
    ]
    lines = [
        [
            row["sender"],
            link_of(row),
            f"{row['goodput_real'] / 1e6:.2f}",
            f"{row['goodput_simulated'] / 1e6:.2f}",
            _marked(row, GOODPUT),
            f"{row['rtt_real'] * 1e3:.1f}",
            _marked(row, RTT),
            percent(row["retransmitted_real"], 2),
            _marked(row, RETRANSMITTED),
            signed(row["cwnd_error"]),
            "" if row["curve"] is None else percent(row["curve"], 0),
        ]
        for row in table
    ]
    terminal.show_table("Real and simulated", heads, lines)
    if any(row["seeds"] > 1 for row in table):
        terminal.line("* a difference that the seeds do not explain (three standard errors)")
    for name, label in LABELS.items():
        said = verdict(table, name)
        if said.rows:
            worst = f"worst {percent(said.worst)}" if said.where else "none that counts"
            where = f" ({said.where['sender']}, {link_of(said.where)})" if said.where else ""
            terminal.line(f"{label}: median error {percent(said.median)}, {worst}{where}")
    late = sum(not row["kept_time"] for row in rows)
    if late:
        terminal.warn([f"{late} of {len(rows)} transfers were made by an emulation that did not keep time"])


def _marked(row: dict[str, Any], name: str) -> str:
    star = "*" if row["seeds"] > 1 and row[f"{name}_counts"] else ""
    return signed(row[f"{name}_error"]) + star
