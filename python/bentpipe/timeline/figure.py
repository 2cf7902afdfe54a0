"""The picture of a time line: one panel for each quantity over time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bentpipe import _core
from bentpipe.plot import WIDTH, styled
from bentpipe.timeline.combine import steps
from bentpipe.timeline.format import check, complete, handovers
from bentpipe.timeline.measures import outages

_COLOURS = {"rate_bps": "#1f77b4", "delay_s": "#d62728", "loss_rate": "#9467bd", "up": "#2ca02c"}
_HEIGHT = 1.15
_THIN = 0.35
_RATES = ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s"))
_TIMES = ((7200.0, 3600.0, "h"), (1200.0, 60.0, "min"), (0.0, 1.0, "s"))
# More than a viewer copes with as vectors becomes a picture.
_VECTORS = 20_000
# More lines than these would hide the curves that they cross.
_MANY_LINES = 100


def draw(frame: pl.DataFrame, *, between: tuple[float, float] | None = None) -> Figure:
    """Rate, delay, loss and reach of a time line in panels above each other.

    Handovers are vertical lines and outages are shaded, in every panel. The delay is drawn twice as long, as
    the round trip of a path whose two directions are alike.

    Args:
        frame: the time line.
        between: show only this interval, in seconds.

    Raises:
        ScenarioError: it is not a time line, or has nothing in the interval.
    """
    check(frame)
    whole = complete(frame)
    begin, end = (0.0, float("inf")) if between is None else between
    end = min(end, whole["t_s"][-1])
    if whole.height > 1 and not 0 <= begin < end:
        raise _core.ScenarioError(
            f"the time line ends at {whole['t_s'][-1]:g} s; there is nothing between {begin:g} and {end:g} s"
        )
    factor, unit = next((f, u) for least, f, u in _TIMES if end >= least)
    names = [name for name in _PANELS if name in whole.columns]
    heights = [_THIN if name == "up" else 1.0 for name in names]
    figure = Figure(figsize=(2 * WIDTH, 0.65 + _HEIGHT * sum(heights)), layout="constrained")
    with styled():
        panels = figure.subplots(
            max(len(names), 1), 1, sharex=True, squeeze=False, gridspec_kw={"height_ratios": heights or [1.0]}
        )[:, 0]
        for axes, name in zip(panels, names, strict=False):
            _PANELS[name](axes, whole, factor)
        marks = [now for now in handovers(whole) if begin <= now <= end]
        dark = [(since, until) for since, until in outages(whole) if since < end and until > begin]
        for axes in panels:
            _events(axes, marks, dark, factor)
            axes.spines[["top", "right"]].set_visible(False)
        panels[-1].set_xlabel(f"time, {unit}")
        if end > begin:
            panels[-1].set_xlim(begin / factor, end / factor)
        _legend(panels[0], len(marks), len(dark))
    return figure


def _events(axes: Axes, marks: list[float], dark: list[tuple[float, float]], factor: float) -> None:
    # One collection each: thousands of single lines take minutes. They reach from the bottom to the top.
    across = axes.get_xaxis_transform()
    spans = [(begin / factor, (end - begin) / factor) for begin, end in dark]
    axes.broken_barh(spans, (0, 1), transform=across, color="0.85", linewidth=0, zorder=0)
    width = 0.25 if len(marks) > _MANY_LINES else 0.5
    places = [now / factor for now in marks]
    axes.vlines(places, 0, 1, transform=across, color="0.55", linewidth=width, zorder=1)


def _legend(axes: Axes, changes: int, breaks: int) -> None:
    """Explains the lines and the shades, if there are any, and gives their number."""
    words = []
    if changes:
        words.append(f"| {changes} handover{'s' if changes > 1 else ''}")
    if breaks:
        words.append(f"\u2592 {breaks} outage{'s' if breaks > 1 else ''}, shaded")
    if words:
        axes.set_title("    ".join(words), loc="right", fontsize=7, color="0.35")


def _columns(frame: pl.DataFrame, name: str) -> tuple[np.ndarray, np.ndarray]:
    return frame["t_s"].to_numpy(), frame[name].to_numpy()


def _rate(axes: Axes, frame: pl.DataFrame, factor: float) -> None:
    times, rates = _columns(frame, "rate_bps")
    scale, unit = next((s, u) for s, u in _RATES if s == 1.0 or rates.max() >= s)
    _steps(axes, times / factor, rates / scale, "rate_bps")
    axes.set(ylabel=f"rate, {unit}", ylim=(0, None))


def _delay(axes: Axes, frame: pl.DataFrame, factor: float) -> None:
    times, delays = _columns(frame, "delay_s")
    held = steps(frame)
    # Where the delay is held, the line goes flat to the next row and jumps there.
    place = np.flatnonzero(held[:-1])
    xs = np.insert(times, place + 1, times[place + 1])
    ys = np.insert(delays, place + 1, delays[place])
    up = frame["up"].to_numpy() if "up" in frame.columns else np.ones(len(times), dtype=bool)
    shown = np.where(np.insert(up, place + 1, up[place]), ys, np.nan)
    axes.plot(
        xs / factor, 2e3 * shown, color=_COLOURS["delay_s"], linewidth=1.0, rasterized=len(xs) > _VECTORS
    )
    axes.set_ylabel("2 \u00d7 delay, ms")
    if np.ptp(delays) == 0:
        axes.set_ylim(0, 4e3 * delays[0] or 1)


def _loss(axes: Axes, frame: pl.DataFrame, factor: float) -> None:
    times, shares = _columns(frame, "loss_rate")
    _steps(axes, times / factor, 100 * shares, "loss_rate")
    axes.set(ylabel="loss, %", ylim=(0, None if shares.max() else 1))


def _reach(axes: Axes, frame: pl.DataFrame, factor: float) -> None:
    begin, spans = 0.0, []
    for since, until in [*outages(frame), (frame["t_s"][-1], 0.0)]:
        spans.append((begin / factor, (since - begin) / factor))
        begin = until
    axes.broken_barh(spans, (0, 1), color=_COLOURS["up"], alpha=0.6, linewidth=0)
    axes.set(ylim=(0, 1), yticks=[], ylabel="up")


def _steps(axes: Axes, times: np.ndarray, values: np.ndarray, name: str) -> None:
    many = len(times) > _VECTORS
    axes.plot(times, values, drawstyle="steps-post", color=_COLOURS[name], linewidth=0.9, rasterized=many)


_PANELS: dict[str, Callable[[Axes, pl.DataFrame, float], None]] = {
    "rate_bps": _rate,
    "delay_s": _delay,
    "loss_rate": _loss,
    "up": _reach,
}
