"""Figures 4c, 5 and 6 of the spectrum paper: closed forms."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import polars as pl

from bentpipe import registry
from bentpipe.analysis import convergence_time, tradeoffs
from bentpipe.studies import draw
from bentpipe.studies.spectrum.setup import BETA, SUBTRACT
from bentpipe.studies.study import Figure

#: Figures 5 and 6: the window before the change.
WINDOW = 20.0
_CONTROLS: tuple[tuple[tradeoffs.Control, str], ...] = (("aimd", "AIMD"), ("iiad", "IIAD"), ("simd", "SIMD"))
_POINTS: tuple[tuple[tradeoffs.Control, float, str], ...] = (
    ("aimd", 0.5, "TCP"),
    ("aimd", 1 / 8, "AIMD(1/5,1/8)"),
    ("aimd", BETA, "AIMD(1/10,1/16)"),
    ("iiad", SUBTRACT, "IIAD(1,2/3)"),
    ("simd", BETA, "SIMD(1/16)"),
)


def figures() -> list[Figure]:
    """Figures 4c, 5 and 6."""
    return [region(), tradeoff(2.0, "figure-5", "Figure 5"), tradeoff(5.0, "figure-6", "Figure 6")]


def region() -> Figure:
    """Figure 4c: which of SIMD and AIMD converges faster, by the windows at the start."""
    found = convergence_time.region()
    fig, (ax,) = draw.figure(2.9)
    with mpl.rc_context(draw.STYLE):
        faster = np.where(np.isfinite(found.ratio), np.where(found.ratio > 1, 1.0, 0.0), np.nan)
        colours = mpl.colors.ListedColormap(["#dddddd", registry.style("simd")["colour"]])
        ax.pcolormesh(found.w1, found.w2, faster.T, cmap=colours, vmin=0, vmax=1, alpha=0.75, rasterized=True)
        ax.set_xlabel("window of flow 1 (packets)")
        ax.set_ylabel("window of flow 2 (packets)")
        ax.set_aspect("equal")
        ax.grid(visible=False)
        fig.legend(
            handles=[
                mpl.patches.Patch(color=colours(1.0), alpha=0.75, label="SIMD faster"),
                mpl.patches.Patch(color=colours(0.0), label="AIMD faster"),
            ],
            loc="outside upper center",
            ncols=2,
        )
    w1, w2 = np.meshgrid(found.w1, found.w2, indexing="ij")
    inside = np.isfinite(found.ratio)
    data = pl.DataFrame({"w1": w1[inside], "w2": w2[inside], "ratio": found.ratio[inside]})
    share = float(np.mean(found.ratio[inside] > 1))
    return Figure(
        "figure-4c",
        "Figure 4c. Where SIMD(1/16) converges faster than AIMD(1/16).",
        "Closed forms of T1 + T2 (table 2) for each pair of windows at the start, W = 100 and epsilon = 1 "
        f"packet. SIMD is faster from {share:.1%} of the starts.",
        "A map of the two windows at the start, coloured by which control converges faster.",
        fig,
        data,
    )


def tradeoff(m: float, name: str, title: str) -> Figure:
    """Figures 5 and 6: round trips to grow and losses to shrink over the coefficient of variation."""
    fig, axes = draw.figure(2.6, columns=2)
    rows: list[dict[str, object]] = []
    betas = np.geomspace(1 / 64, 0.5, 60)
    with mpl.rc_context(draw.STYLE):
        for ax, which in zip(axes, ("grow", "shrink"), strict=True):
            for control, label in _CONTROLS:
                look = registry.style(control)
                x, y = _curve(control, betas, m, which)
                ax.loglog(x, y, color=look["colour"], label=label)
                rows += [
                    {"panel": which, "control": label, "beta": float(b), "cov": float(a), "value": float(v)}
                    for b, a, v in zip(betas, x, y, strict=True)
                ]
            for control, beta, label in _POINTS:
                look = registry.style("reno" if label == "TCP" else control)
                x, y = _curve(control, np.array([beta]), m, which)
                fill = "white" if label == "AIMD(1/5,1/8)" else look["colour"]
                ax.plot(x, y, look["marker"], color=look["colour"], mfc=fill, markersize=5, label=f"{label} ")
            ax.set_xlabel("coefficient of variation")
        axes[0].set_ylabel("1 / aggressiveness (RTT)")
        axes[1].set_ylabel("1 / responsiveness (losses)")
        draw.panel_title(axes[0], f"(a) window times {m:g}")
        draw.panel_title(axes[1], f"(b) window over {m:g}")
        handles, labels = axes[0].get_legend_handles_labels()
        fig.legend(handles, labels, loc="outside upper center", ncols=3, columnspacing=0.9, handlelength=1.4)
    return Figure(
        name,
        f"{title}. Smoothness against aggressiveness and responsiveness.",
        f"Closed forms of table 3 for a window of {WINDOW:g} packets that must become {m:g} times as large "
        "(a) or "
        "small (b). Lines: beta from 1/64 to 1/2. For IIAD the variation is the geometric mean of its values "
        "before and after.",
        "Two charts on logarithmic axes: round trips to grow, and losses to shrink, over the coefficient of "
        "variation, for AIMD, IIAD and SIMD.",
        fig,
        pl.DataFrame(rows),
    )


def _curve(
    control: tradeoffs.Control, betas: np.ndarray, m: float, which: str
) -> tuple[np.ndarray, np.ndarray]:
    after = WINDOW * m if which == "grow" else WINDOW / m
    cov = np.sqrt(
        np.asarray(tradeoffs.smoothness(control, betas, WINDOW))
        * np.asarray(tradeoffs.smoothness(control, betas, after))
    )
    of = tradeoffs.rounds_to_grow if which == "grow" else tradeoffs.losses_to_shrink
    return cov, np.asarray(of(control, betas, WINDOW, m))
