"""Figures 1 to 6 of the spectrum paper, from closed forms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from matplotlib.colors import ListedColormap
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from bentpipe.analysis import convergence, convergence_time, spectrum, tradeoffs
from bentpipe.papers.spectrum import closed_forms, scenarios
from bentpipe.papers.spectrum.scenarios import BETA, LABELS, SUBTRACT
from bentpipe.studies import draw
from bentpipe.studies.judge import Findings
from bentpipe.studies.study import Figure
from bentpipe.studies.words import Words

if TYPE_CHECKING:
    from bentpipe.analysis._values import Array

WORDS = Words.beside(__file__)
#: Figure 1: the window before the loss, packets, and the time shown, round trips.
MOST, SPAN = 100.0, 80.0
#: Figures 5 and 6: the window before the change.
WINDOW = 20.0
#: A start of figure 4a, shares of the two users, and one of figure 4b, windows of 100 packets in all.
START, WINDOWS, TOTAL, EPOCHS = (0.15, 0.45), (15.0, 50.0), 100.0, 25
LOOKS = {name: draw.look(of.cc, label=of.label) for name, of in scenarios.ALGORITHMS.items()}
COLOURS = {name: look["color"] for name, look in LOOKS.items()}
#: Options of intervals: thin.
THIN: dict[str, Any] = {"elinewidth": 0.7, "capsize": 1.5}
DASHED = (0, (4, 2))


def line(label: str, colour: str, **look: Any) -> Line2D:
    """A line of a legend."""
    return Line2D([], [], color=colour, label=label, **look)


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
        rows.append(pl.DataFrame({"control": LABELS[name], "t_rtt": t, "w": window}))
    ax.set(xlim=(0, SPAN), xlabel="time since the loss, RTT", ylabel="window, packets")
    fig.legend(loc="outside upper center", ncols=2)
    return WORDS.figure("figure-1", fig, pl.concat(rows), most=MOST)


def _grown(t: np.ndarray, k: float, fall: float, beta: float) -> np.ndarray:
    """The window of a control of the spectrum at times after a loss, packets."""
    c = float(np.asarray(spectrum.c(k, fall, beta, MOST)))
    return np.asarray(MOST - beta * MOST**fall + c * t ** (1 / (k + 1)))


def family(_: Findings) -> Figure:
    """Figure 2: the spectrum in the (k, l) plane."""
    k = np.linspace(-0.75, 2, 276)
    top = np.asarray(spectrum.exponent(k))
    high, low = np.minimum(top, 1), top - 1
    inside, always = low <= 1, COLOURS["simd"]
    fig, (ax,) = draw.figure(2.6)
    ax.fill_between(k, np.maximum(low, 0), high, where=inside, color="#b9cde0", linewidth=0)
    ax.fill_between(k, low, 0, where=low < 0, color="#ece7f2", linewidth=0)
    ax.plot(k[inside], high[inside], color=always, linewidth=2.0, clip_on=False)
    for cc, at in (("simd", (-0.5, 1)), ("aimd", (0, 1)), ("aiad", (0, 0))):
        ax.plot(*at, LOOKS[cc]["marker"], color=COLOURS[cc], markersize=6, clip_on=False, zorder=5)
        ax.annotate(cc.upper(), at, xytext=(6, 4), textcoords="offset points", fontsize=8)
    ax.set(xlim=(-1, 2), ylim=(-1, 1.15), yticks=[-1, -0.5, 0, 0.5, 1])
    ax.set(xlabel="k (increase)", ylabel="l (decrease)")
    treated = Patch(color="#b9cde0", label="if eq. 14 holds"), Patch(color="#ece7f2", label="not treated")
    draw.legend(fig, line("always fair", always, linewidth=2.0), *treated, columnspacing=1.2)
    return WORDS.figure("figure-2", fig, pl.DataFrame({"k": k, "l_least": low, "l_most": high}))


def crossing(_: Findings) -> Figure:
    """Figure 4a: from which shares SIMD reaches the efficiency line at a fairer point than AIMD does."""
    axis = (np.arange(200) + 0.5) / 200
    x1, x2 = np.meshgrid(axis, axis, indexing="ij")
    inside = x1 + x2 < 1 - 1e-9
    fairer = np.full(x1.shape, np.nan)
    fairer[inside] = closed_forms.crosses_fairer(x1[inside], x2[inside])
    fig, (ax,) = draw.figure(2.9)
    colours = ListedColormap(["#dddddd", COLOURS["simd"]])
    ax.pcolormesh(axis, axis, fairer.T, cmap=colours, vmin=0, vmax=1, alpha=0.35, rasterized=True)
    ax.plot([0, 1], [1, 0], color="black", linewidth=0.9)
    ax.plot([0, 1], [0, 1], color="black", linewidth=0.7, linestyle=DASHED)
    ax.text(0.78, 0.28, "efficiency", rotation=-45, ha="center", va="center", fontsize=7)
    ax.text(0.79, 0.86, "fairness", rotation=45, ha="center", va="center", fontsize=7)
    arrow = {"arrowstyle": "-|>", "linewidth": 1.4, "shrinkA": 0, "shrinkB": 0}
    for cc, k in (("aimd", 0.0), ("simd", -0.5)):
        a, b = convergence.increase(*START, 1.0, k, 1.0)
        ax.annotate("", (float(a), float(b)), xytext=START, arrowprops=arrow | {"color": COLOURS[cc]})
    ax.plot(*START, "o", color="black", markersize=4)
    ax.text(0.52, 0.10, "(1)", fontsize=8, ha="center")
    ax.text(0.19, 0.04, "(2)", fontsize=8, ha="center")
    ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xlabel="share of user 1", ylabel="share of user 2")
    ax.grid(visible=False)
    draw.legend(fig, *(line(cc.upper(), COLOURS[cc]) for cc in ("simd", "aimd")))
    return WORDS.figure(
        "figure-4a",
        fig,
        pl.DataFrame({"x1": x1[inside], "x2": x2[inside], "simd_fairer": fairer[inside] > 0.5}),
        start=START,
        share=float(np.mean(fairer[inside])),
    )


def trajectories(_: Findings) -> Figure:
    """Figure 4b: the way of two windows to efficiency (T1) and to fairness (T2)."""
    fig, axes = draw.figure(1.6, columns=3, sharex=True, sharey=True)
    rows, corners = [], []
    iiad = convergence.binomial_trajectory(*WINDOWS, TOTAL, 1, 0, SUBTRACT, epochs=EPOCHS)
    paths = (
        ("aimd", "AIMD(1/16)", convergence.trajectory(*WINDOWS, TOTAL, 0, 1, BETA, epochs=EPOCHS)),
        ("iiad", "IIAD(1,2/3)", iiad),
        ("simd", "SIMD(1/16)", convergence.trajectory(*WINDOWS, TOTAL, -0.5, 1, BETA, epochs=EPOCHS)),
    )
    for ax, (cc, name, path) in zip(axes, paths, strict=True):
        ax.plot([0, TOTAL], [TOTAL, 0], color="black", linewidth=0.7)
        ax.plot([0, TOTAL], [0, TOTAL], color="black", linewidth=0.7, linestyle=DASHED)
        ax.plot(path.w[:, 0], path.w[:, 1], color=COLOURS[cc], linewidth=0.9)
        ax.plot(path.w[1::2, 0], path.w[1::2, 1], ".", color=COLOURS[cc], markersize=3)
        ax.plot(*WINDOWS, "o", color="black", markersize=3)
        draw.panel_title(ax, name)
        ax.set(aspect="equal", xlim=(5, 65), ylim=(35, 95), xticks=[20, 40, 60], yticks=[40, 60, 80])
        first, last = (f"{path.t[i]:.0f} ({path.gap[i]:.1f})" for i in (1, -1))
        corners.append(f"{name} {first} and {last}")
        one, two = path.w.T
        rows.append(pl.DataFrame({"control": name, "t_rtt": path.t, "w1": one, "w2": two}))
    axes[0].set_ylabel("window 2, packets")
    axes[1].set_xlabel("window 1, packets")
    return WORDS.figure(
        "figure-4b",
        fig,
        pl.concat(rows),
        windows=WINDOWS,
        total=TOTAL,
        losses=EPOCHS - 1,
        corners=corners,
    )


def region(_: Findings) -> Figure:
    """Figure 4c: which of SIMD and AIMD converges faster, by the windows at the start."""
    found = convergence_time.region()
    inside = np.isfinite(found.ratio)
    fig, (ax,) = draw.figure(2.9)
    faster = np.where(inside, np.where(found.ratio > 1, 1.0, 0.0), np.nan)
    colours = ListedColormap(["#dddddd", COLOURS["simd"]])
    ax.pcolormesh(found.w1, found.w2, faster.T, cmap=colours, vmin=0, vmax=1, alpha=0.75, rasterized=True)
    ax.set(xlabel="window of flow 1, packets", ylabel="window of flow 2, packets", aspect="equal")
    ax.grid(visible=False)
    simd = Patch(color=colours(1.0), alpha=0.75, label="SIMD faster")
    draw.legend(fig, simd, Patch(color=colours(0.0), label="AIMD faster"))
    w1, w2 = np.meshgrid(found.w1, found.w2, indexing="ij")
    return WORDS.figure(
        "figure-4c",
        fig,
        pl.DataFrame({"w1": w1[inside], "w2": w2[inside], "ratio": found.ratio[inside]}),
        share=float(np.mean(found.ratio[inside] > 1)),
    )


def tradeoff(_: Findings, number: int, m: float) -> Figure:
    """Figures 5 and 6: round trips to grow and losses to shrink over the coefficient of variation."""
    fig, axes = draw.figure(2.6, columns=2)
    rows = []
    betas = np.geomspace(1 / 64, 0.5, 60)
    for ax, panel in zip(axes, ("grow", "shrink"), strict=True):
        for cc in ("aimd", "iiad", "simd"):
            x, y = _traded(closed_forms.TIMED[cc][0], betas, m, panel)
            ax.loglog(x, y, color=COLOURS[cc], label=cc.upper())
            keys = {"panel": panel, "control": cc.upper()}
            rows.append(pl.DataFrame({**keys, "beta": betas, "cov": x, "value": y}))
        for cc in ("tcp", "aimd-8", "aimd", "iiad", "simd"):
            control, beta = closed_forms.TIMED.get(cc, ("aimd", 1 / 8))
            x, y = _traded(control, np.array([beta]), m, panel)
            fill = "white" if cc == "aimd-8" else COLOURS[cc]
            look = LOOKS[cc] | {"markersize": 5, "label": f"{LABELS[cc]} "}
            ax.plot(x, y, linestyle="none", markerfacecolor=fill, **look)
        ax.set(xlabel="coefficient of variation", xticks=[1e-3, 1e-2, 1e-1, 1])
        ax.set_xlim(right=1.2)
        ax.minorticks_off()
    axes[0].set_ylabel("1 / aggressiveness, RTT")
    axes[1].set_ylabel("1 / responsiveness, losses")
    draw.panel_title(axes[0], f"(a) window times {m:g}")
    draw.panel_title(axes[1], f"(b) window over {m:g}")
    shown = axes[0].get_legend_handles_labels()
    fig.legend(*shown, loc="outside upper center", ncols=3, columnspacing=0.9, handlelength=1.4)
    return WORDS.figure(
        f"figure-{number}", fig, pl.concat(rows), of="figures 5 and 6", number=number, window=WINDOW, m=m
    )


def _traded(control: tradeoffs.Control, betas: Array, m: float, panel: str) -> tuple[Array, Array]:
    """Coefficient of variation, and round trips to grow or losses to shrink, for each beta."""
    after = WINDOW * m if panel == "grow" else WINDOW / m
    early, late = (np.asarray(tradeoffs.smoothness(control, betas, w)) for w in (WINDOW, after))
    of = tradeoffs.rounds_to_grow if panel == "grow" else tradeoffs.losses_to_shrink
    return np.sqrt(early * late), np.asarray(of(control, betas, WINDOW, m))
