"""A time line on the terminal: a table of its quantities with their course, and a line on its events."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from bentpipe import terminal, units
from bentpipe.timeline.format import complete

_BARS = "\u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588"
_WIDTH = 48


def show(title: str, frame: pl.DataFrame, found: dict[str, Any]) -> None:
    """Prints `summary`'s result, and beside each quantity its mean in 48 slots of time as bars from 0."""
    whole = complete(frame)
    shown = terminal.table(terminal.plain(title), ["<", "least", "mean", "most", "<over time"])
    for name, label, text in (
        ("rate_bps", "rate", units.rate),
        ("delay_s", "delay", lambda value: f"{units.milliseconds(value)} ms"),
        ("loss_rate", "loss", lambda value: f"{units.digits(100 * value, 3)} %"),
    ):
        if name in found:
            values = (text(found[name][key]) for key in ("least", "mean", "most"))
            shown.add_row(label, *values, course(whole, name))
    if "up" in whole.columns:
        share = found["dark_s"] / found["duration_s"] if found["duration_s"] else 0.0
        shown.add_row("up", "", f"{units.percent(1 - share, 2)} %", "", course(whole, "up"))
    terminal.console().print(shown)
    words = [f"{found['rows']:,} rows over {found['duration_s']:g} s", f"{found['handovers']:,} handovers"]
    if "outages" in found:
        longest = f", the longest {found['longest_outage_s']:.3g} s" if found["outages"] else ""
        words.append(f"{found['outages']:,} outages{longest}")
    terminal.line("; ".join(words))


def course(frame: pl.DataFrame, name: str) -> str:
    """The mean of a column in each slot of time as bars, from 0 to its greatest; blank where it is 0."""
    times = frame["t_s"].to_numpy()
    values = frame[name].cast(pl.Float64).to_numpy()
    if times[-1] == 0:
        return ""
    edges = np.linspace(0, times[-1], _WIDTH + 1)
    whole = np.concatenate([[0.0], np.cumsum(values[:-1] * np.diff(times))])
    means = np.diff(np.interp(edges, times, whole)) / np.diff(edges)
    top = means.max()
    if top <= 0:
        return " " * _WIDTH
    return "".join(
        " " if mean <= 1e-12 * top else _BARS[min(int(len(_BARS) * mean / top), len(_BARS) - 1)]
        for mean in means
    )
