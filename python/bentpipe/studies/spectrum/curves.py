"""Figures 2, 4, 5 and 6 of the spectrum paper: closed forms."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import polars as pl

from bentpipe import registry
from bentpipe.analysis import convergence, convergence_time, spectrum, tradeoffs
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
    """Figures 2, 4a to 4c, 5 and 6."""
    return [
        family(),
        crossing(),
        trajectories(),
        region(),
        tradeoff(2.0, "figure-5", "Figure 5"),
        tradeoff(5.0, "figure-6", "Figure 6"),
    ]


def family() -> Figure:
    """Figure 2: the spectrum in the (k, l) plane."""
    k = np.linspace(-0.75, 2, 276)
    top = np.asarray(spectrum.exponent(k))
    high, low = np.minimum(top, 1), top - 1
    always = registry.style("simd")["colour"]
    fig, (ax,) = draw.figure(2.6)
    with mpl.rc_context(draw.STYLE):
        inside = low <= 1
        ax.fill_between(k, np.maximum(low, 0), high, where=inside, color="#b9cde0", linewidth=0)
        ax.fill_between(k, low, 0, where=low < 0, color="#ece7f2", linewidth=0)
        ax.plot(k[inside], high[inside], color=always, linewidth=2.0, clip_on=False)
        for cc, at, name in (("simd", (-0.5, 1), "SIMD"), ("aimd", (0, 1), "AIMD"), ("aiad", (0, 0), "AIAD")):
            look = registry.style(cc)
            ax.plot(*at, look["marker"], color=look["colour"], markersize=6, clip_on=False, zorder=5)
            ax.annotate(name, at, xytext=(6, 4), textcoords="offset points", fontsize=8)
        ax.set_xlim(-1, 2)
        ax.set_ylim(-1, 1.15)
        ax.set_yticks([-1, -0.5, 0, 0.5, 1])
        ax.set_xlabel("k (increase)")
        ax.set_ylabel("l (decrease)")
        fig.legend(
            handles=[
                mpl.lines.Line2D([], [], color=always, linewidth=2.0, label="always fair"),
                mpl.patches.Patch(color="#b9cde0", label="if eq. 14 holds"),
                mpl.patches.Patch(color="#ece7f2", label="not treated"),
            ],
            loc="outside upper center",
            ncols=3,
            columnspacing=1.2,
        )
    return Figure(
        "figure-2",
        "Figure 2. The spectrum of controls.",
        "The window grows by alpha / (w - w0)^k per round trip and falls by beta w^l at a loss. Shaded: "
        "-1 <= l - 1/(k+1) <= 0, where two users come nearer to equal shares (section 4.1): always on the "
        "lines l = 1 and l = 1/(k+1), below them if over- and undershoot are bounded (equation 14); the "
        "paper does not treat l < 0.",
        "A map of the plane of the two exponents with the region of the spectrum shaded and three controls "
        "marked.",
        fig,
        pl.DataFrame({"k": k, "l_least": low, "l_most": high}),
    )


#: A start of figure 4a, shares of the two users, and one of figure 4b, windows of 100 packets in all.
_START = (0.15, 0.45)
_WINDOWS, _TOTAL, _EPOCHS = (15.0, 50.0), 100.0, 25


def crossing() -> Figure:
    """Figure 4a: from which shares SIMD reaches the efficiency line at a fairer point than AIMD does."""
    axis = (np.arange(200) + 0.5) / 200
    x1, x2 = np.meshgrid(axis, axis, indexing="ij")
    inside = x1 + x2 < 1 - 1e-9
    fairer = np.full(x1.shape, np.nan)
    index = {}
    for k in (0.0, -0.5):
        a, b = (np.asarray(x) for x in convergence.increase(x1[inside], x2[inside], 1.0, k, 1.0))
        # Past the other axis a user would have nothing: as unfair as can be.
        index[k] = np.where((a > 0) & (b > 0), np.maximum(a, b) / np.maximum(np.minimum(a, b), 1e-12), np.inf)
    fairer[inside] = index[-0.5] < index[0.0]
    fig, (ax,) = draw.figure(2.9)
    simd, aimd = (registry.style(c) for c in ("simd", "aimd"))
    with mpl.rc_context(draw.STYLE):
        colours = mpl.colors.ListedColormap(["#dddddd", simd["colour"]])
        ax.pcolormesh(axis, axis, fairer.T, cmap=colours, vmin=0, vmax=1, alpha=0.35, rasterized=True)
        ax.plot([0, 1], [1, 0], color="black", linewidth=0.9)
        ax.plot([0, 1], [0, 1], color="black", linewidth=0.7, linestyle=(0, (4, 2)))
        ax.text(0.78, 0.28, "efficiency", rotation=-45, ha="center", va="center", fontsize=7)
        ax.text(0.79, 0.86, "fairness", rotation=45, ha="center", va="center", fontsize=7)
        for k, look in ((0.0, aimd), (-0.5, simd)):
            end = convergence.increase(*_START, 1.0, k, 1.0)
            ax.annotate(
                "",
                (float(end[0]), float(end[1])),
                xytext=_START,
                arrowprops={
                    "arrowstyle": "-|>",
                    "color": look["colour"],
                    "linewidth": 1.4,
                    "shrinkA": 0,
                    "shrinkB": 0,
                },
            )
        ax.plot(*_START, "o", color="black", markersize=4)
        ax.text(0.52, 0.10, "(1)", fontsize=8, ha="center")
        ax.text(0.19, 0.04, "(2)", fontsize=8, ha="center")
        ax.set_xlim(0, 1)
        ax.set_ylim(0, 1)
        ax.set_aspect("equal")
        ax.grid(visible=False)
        ax.set_xlabel("share of user 1")
        ax.set_ylabel("share of user 2")
        fig.legend(
            handles=[
                mpl.lines.Line2D([], [], color=simd["colour"], label="SIMD"),
                mpl.lines.Line2D([], [], color=aimd["colour"], label="AIMD"),
            ],
            loc="outside upper center",
            ncols=2,
        )
    share = float(np.mean(fairer[inside]))
    return Figure(
        "figure-4a",
        "Figure 4a. Where SIMD crosses the efficiency line nearer to fairness than AIMD.",
        f"Arrows: the way of both from shares of {_START[0]:g} and {_START[1]:g} to the line where the link "
        f"is full. Area (1), {share:.1%} of the starts: SIMD's crossing is the fairer one; the paper gives "
        "it as x1 + x2 > 1/3. Area (2): AIMD's is.",
        "A map of the shares of two users, with the lines of equal shares and of a full link and two arrows.",
        fig,
        pl.DataFrame({"x1": x1[inside], "x2": x2[inside], "simd_fairer": fairer[inside] > 0.5}),
    )


def trajectories() -> Figure:
    """Figure 4b: the way of two windows to efficiency (T1) and to fairness (T2)."""
    fig, axes = draw.figure(1.6, columns=3, sharex=True, sharey=True)
    rows = []
    paths = (
        ("AIMD(1/16)", "aimd", convergence.trajectory(*_WINDOWS, _TOTAL, 0, 1, BETA, epochs=_EPOCHS)),
        (
            "IIAD(1,2/3)",
            "iiad",
            convergence.binomial_trajectory(*_WINDOWS, _TOTAL, 1, 0, SUBTRACT, epochs=_EPOCHS),
        ),
        ("SIMD(1/16)", "simd", convergence.trajectory(*_WINDOWS, _TOTAL, -0.5, 1, BETA, epochs=_EPOCHS)),
    )
    text = []
    with mpl.rc_context(draw.STYLE):
        for ax, (name, control, path) in zip(axes, paths, strict=True):
            colour = registry.style(control)["colour"]
            ax.plot([0, _TOTAL], [_TOTAL, 0], color="black", linewidth=0.7)
            ax.plot([0, _TOTAL], [0, _TOTAL], color="black", linewidth=0.7, linestyle=(0, (4, 2)))
            ax.plot(path.w[:, 0], path.w[:, 1], color=colour, linewidth=0.9)
            ax.plot(path.w[1::2, 0], path.w[1::2, 1], ".", color=colour, markersize=3)
            ax.plot(*_WINDOWS, "o", color="black", markersize=3)
            draw.panel_title(ax, name)
            ax.set_aspect("equal")
            ax.set_xlim(5, 65)
            ax.set_ylim(35, 95)
            ax.set_xticks([20, 40, 60])
            ax.set_yticks([40, 60, 80])
            first, last = (f"{path.t[i]:.0f} ({path.gap[i]:.1f})" for i in (1, -1))
            text.append(f"{name} {first} and {last}")
            rows += [
                {"control": name, "t_rtt": float(t), "w1": float(a), "w2": float(b)}
                for t, (a, b) in zip(path.t, path.w, strict=True)
            ]
        axes[0].set_ylabel("window 2 (packets)")
        axes[1].set_xlabel("window 1 (packets)")
    return Figure(
        "figure-4b",
        "Figure 4b. Two windows on the way to fairness.",
        f"From {_WINDOWS[0]:g} and {_WINDOWS[1]:g} packets (black dot) to the efficiency line W = {_TOTAL:g} "
        f"(T1), and {_EPOCHS - 1} synchronised losses on from there. Round trips to the line and to the "
        f"last loss, with the difference of the windows: {'; '.join(text)}. Dashed: equal windows.",
        "Three phase plots of two congestion windows, one per control, with the lines of a full link and of "
        "equal windows.",
        fig,
        pl.DataFrame(rows),
    )


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
            ax.set_xticks([1e-3, 1e-2, 1e-1, 1])
            ax.set_xlim(right=1.2)
            ax.minorticks_off()
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
