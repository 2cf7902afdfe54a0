"""The sketches of the spectrum paper that closed forms give."""

from __future__ import annotations

import numpy as np
import polars as pl

from bentpipe.analysis import spectrum
from bentpipe.papers.spectrum.figures import COLOURS, WORDS
from bentpipe.papers.spectrum.setup import BETA, LABELS, SUBTRACT
from bentpipe.studies import draw
from bentpipe.studies.judge import Findings
from bentpipe.studies.study import Figure

#: The window before the loss, packets, and the time shown, round trips.
MOST, SPAN = 100.0, 80.0


def patterns(_: Findings) -> Figure:
    """Figure 1: how the window grows after a loss."""
    t = np.linspace(0, SPAN, 161)
    windows = {
        "aimd": _grown(t, 0.0, 1.0, BETA),
        "simd": _grown(t, -0.5, 1.0, BETA),
        "aiad": _grown(t, 0.0, 0.0, SUBTRACT),
        # The window of IIAD grows by one over itself: as a square root.
        "iiad": np.sqrt((MOST - SUBTRACT) ** 2 + 2 * t),
    }
    fig, (ax,) = draw.figure(2.3)
    rows = []
    for name, window in windows.items():
        # IIAD's lies on AIAD's.
        style = "--" if name == "iiad" else "-"
        ax.plot(t, window, style, color=COLOURS[name], label=LABELS[name])
        rows += [
            {"control": LABELS[name], "t_rtt": float(a), "w": float(b)}
            for a, b in zip(t, window, strict=True)
        ]
    ax.set(xlim=(0, SPAN), xlabel="time since the loss (RTT)", ylabel="window (packets)")
    fig.legend(loc="outside upper center", ncols=2)
    return WORDS.figure("figure-1", fig, pl.DataFrame(rows), most=MOST)


def _grown(t: np.ndarray, k: float, fall: float, beta: float) -> np.ndarray:
    """The window of a control of the spectrum at times after a loss, packets."""
    c = float(np.asarray(spectrum.c(k, fall, beta, MOST)))
    return np.asarray(MOST - beta * MOST**fall + c * t ** (1 / (k + 1)))
