"""The quantities of an answer: words of their columns, units and possible ranges. None is below 0."""

from __future__ import annotations

from collections.abc import Mapping

from bentpipe.measures import MeasureRow

FILE = "2 MB"
"""The size of the file whose completion is measured."""
QUANTITIES: Mapping[str, MeasureRow] = {
    column: MeasureRow(column, words, "more" if unit in ("Mbit/s", "") else "less", most, "", unit, factor)
    for column, words, unit, factor, most in (
        ("goodput_bps", "Goodput", "Mbit/s", 1e-6, None),
        ("first_flow_bps", "Goodput of the first flow", "Mbit/s", 1e-6, None),
        ("jain", "Jain's index", "", 1.0, 1.0),
        ("queue_p50_s", "Queue, median", "ms", 1e3, None),
        ("queue_p95_s", "Queue, p95", "ms", 1e3, None),
        ("loss", "Lost in all", "%", 100.0, 1.0),
        ("own_loss", "Lost at the queue after start-up", "%", 100.0, 1.0),
        ("resent", "Retransmitted in all", "%", 100.0, 1.0),
        ("startup_s", "Start-up", "s", 1.0, None),
        ("file_s", FILE, "s", 1.0, None),
        ("beside_cubic_bps", "Goodput beside CUBIC", "Mbit/s", 1e-6, None),
        ("cubic_bps", "Goodput of CUBIC beside it", "Mbit/s", 1e-6, None),
        ("beside_reno_bps", "Goodput beside Reno", "Mbit/s", 1e-6, None),
        ("reno_bps", "Goodput of Reno beside it", "Mbit/s", 1e-6, None),
        ("worse_bps", "Goodput of the worse-off of two flows", "Mbit/s", 1e-6, None),
        ("harm_cubic", "CUBIC beside it loses", "%", 100.0, 1.0),
        ("harm_reno", "Reno beside it loses", "%", 100.0, 1.0),
    )
}
"""Each by its name in the rows of an answer."""
