"""Figures 1 to 22 of the spectrum paper, from closed forms and from our runs."""

from __future__ import annotations

from itertools import product
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from matplotlib.colors import ListedColormap
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from bentpipe.analysis import convergence, convergence_time, spectrum, tradeoffs
from bentpipe.analysis.traces import columns, cuts
from bentpipe.papers.spectrum import claims, closed_forms, setup
from bentpipe.papers.spectrum.closed_forms import TABLE_6
from bentpipe.papers.spectrum.measure import AHEAD_S, LAST_S, SHORT_S, STRETCH_S, rates
from bentpipe.papers.spectrum.setup import BETA, CHAIN, FIVE, FRIENDLY, LABELS, QUEUES, SMOOTH, SUBTRACT
from bentpipe.studies import draw
from bentpipe.studies.claim import interval
from bentpipe.studies.design import where
from bentpipe.studies.judge import Findings, column
from bentpipe.studies.page import plus_minus
from bentpipe.studies.study import Figure
from bentpipe.studies.words import Words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes

    from bentpipe.analysis._values import Array
    from bentpipe.stats import Interval
    from bentpipe.studies.study import Key

WORDS = Words.beside(__file__)
#: Figure 1: the window before the loss, packets, and the time shown, round trips.
MOST, SPAN = 100.0, 80.0
#: Figures 5 and 6: the window before the change.
WINDOW = 20.0
#: A start of figure 4a, shares of the two users, and one of figure 4b, windows of 100 packets in all.
START, WINDOWS, TOTAL, EPOCHS = (0.15, 0.45), (15.0, 50.0), 100.0, 25
LOOKS = {name: draw.look(of.cc, label=of.label) for name, of in setup.ALGORITHMS.items()}
COLOURS = {name: look["color"] for name, look in LOOKS.items()}
#: Options of intervals: thin.
THIN: dict[str, Any] = {"elinewidth": 0.7, "capsize": 1.5}
DASHED = (0, (4, 2))


def _line(label: str, colour: str, **look: Any) -> Line2D:
    return Line2D([], [], color=colour, label=label, **look)


def said(values: Sequence[float]) -> str:
    """Mean and half-width of the 95 % interval."""
    return plus_minus(interval(values))


def _row(keys: Mapping[str, Key], name: str, got: Interval) -> dict[str, Key]:
    return {**keys, name: got.centre, "low": got.low, "high": got.high}


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
    ax.set(xlim=(0, SPAN), xlabel="time since the loss (RTT)", ylabel="window (packets)")
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
    draw.legend(fig, _line("always fair", always, linewidth=2.0), *treated, columnspacing=1.2)
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
    draw.legend(fig, *(_line(cc.upper(), COLOURS[cc]) for cc in ("simd", "aimd")))
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
    axes[0].set_ylabel("window 2 (packets)")
    axes[1].set_xlabel("window 1 (packets)")
    return WORDS.figure(
        "figure-4b",
        fig,
        pl.concat(rows),
        windows=WINDOWS,
        total=TOTAL,
        losses=EPOCHS - 1,
        corners="; ".join(corners),
    )


def region(_: Findings) -> Figure:
    """Figure 4c: which of SIMD and AIMD converges faster, by the windows at the start."""
    found = convergence_time.region()
    inside = np.isfinite(found.ratio)
    fig, (ax,) = draw.figure(2.9)
    faster = np.where(inside, np.where(found.ratio > 1, 1.0, 0.0), np.nan)
    colours = ListedColormap(["#dddddd", COLOURS["simd"]])
    ax.pcolormesh(found.w1, found.w2, faster.T, cmap=colours, vmin=0, vmax=1, alpha=0.75, rasterized=True)
    ax.set(xlabel="window of flow 1 (packets)", ylabel="window of flow 2 (packets)", aspect="equal")
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
    axes[0].set_ylabel("1 / aggressiveness (RTT)")
    axes[1].set_ylabel("1 / responsiveness (losses)")
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


def friendliness(found: Findings) -> Figure:
    """Figure 7: throughput over TCP's, by loss rate."""
    every = claims.present(found.base, "p", experiment="friendly")
    fig, (ax,) = draw.figure(2.7)
    rows = []
    for name in FRIENDLY[1:]:
        got = [interval(claims.relative(found.base, name, p)) for p in every]
        rows += [_row({"control": LABELS[name], "p": p}, "ratio", k) for p, k in zip(every, got, strict=True)]
        style = {"simd-8": "--", "simd-4": ":"}.get(name, "-")
        draw.curve(ax, every, got, linestyle=style, capthick=None, **THIN, **LOOKS[name])
    ax.axhline(1, color=COLOURS["tcp"], linewidth=0.8, linestyle="-.")
    ax.axhline(claims.LEAST_FRIENDLY, color="black", linewidth=0.8, linestyle=(0, (1, 1)))
    ax.set(xscale="log", ylim=(0.5, 1.35), xlabel="loss rate p", ylabel="throughput / TCP's")
    fig.legend(loc="outside upper center", ncols=2)
    return WORDS.figure(
        "figure-7",
        fig,
        pl.DataFrame(rows),
        rounds=found.plan.settings["rounds"],
        longer=setup.LONGER,
        often=setup.OFTEN_LOST,
        seeds=found.seeds,
    )


def compatibility(found: Findings, number: int, cc: str, queue: str) -> Figure:
    """Figures 8 to 13: shares by the number of flows."""
    runs = where(experiment="share", cc=cc, queue=queue).rows(found.base).sort("seed")
    links = claims.present(runs, "mbps")
    fig, axes = draw.figure(3.4, rows=2, columns=len(links), sharex="col", sharey="row")
    rows: list[dict[str, Key]] = []
    end = float(found.plan.settings["share_s"])
    last, highest = min(LAST_S, end / 2), 2.0
    for i, mbps in enumerate(links):
        top, bottom = axes[i], axes[len(links) + i]
        counts = claims.present(runs, "n", mbps=mbps)
        for who, name, shift in (("x", cc, 0.94), ("tcp", "tcp", 1.06)):
            means, look = [], LOOKS[name] | {"label": None}
            for n in counts:
                fair = mbps / (2 * n)
                means.append(interval(v / fair for v in column(runs, f"{who}_mbps", mbps=mbps, n=n)))
                rows.append(_row({"mbps": mbps, "n": n, "flow": who}, "share", means[-1]))
                at = where(experiment="share", cc=cc, queue=queue, mbps=mbps, n=n).rows(found.traces)
                flows = at.filter(pl.col("flow").str.starts_with(f"{who}-"))
                each = [v / fair for v in rates(flows, end - last, end).values()]
                highest = max(highest, *each)
                dots = look | {"markersize": 1.6, "alpha": 0.5, "linestyle": "none"}
                top.plot([2 * n * shift] * len(each), each, **dots)
            places = [2 * n * shift for n in counts]
            draw.curve(top, places, means, capthick=None, **THIN, **look | {"markersize": 4})
        loss = [interval((100 * v for v in column(runs, "loss", mbps=mbps, n=n)), most=100) for n in counts]
        flows_of = [2 * n for n in counts]
        draw.curve(bottom, flows_of, loss, capthick=None, **THIN, color="#555555", marker=".")
        rows += [
            _row({"mbps": mbps, "n": n, "flow": "loss, %"}, "share", k)
            for n, k in zip(counts, loss, strict=True)
        ]
        top.axhline(1, color="black", linewidth=0.6, linestyle=(0, (1, 1)), zorder=1.5)
        bottom.set_ylim(bottom=0)
        bottom.set_xscale("log", base=2)
        bottom.set(xlim=(flows_of[0] / 1.6, flows_of[-1] * 1.6), xlabel="flows (half TCP)")
        shown = flows_of if len(flows_of) < 5 else flows_of[::2]
        bottom.set_xticks(shown, [str(c) for c in shown])
        bottom.minorticks_off()
        draw.panel_title(top, f"{mbps:g} Mbit/s")
    marked = "marked or lost" if queue == "red-ecn" else "lost"
    axes[0].set(ylim=(0, 1.05 * highest), ylabel="throughput / fair share")
    axes[len(links)].set_ylabel("lost or marked (%)" if queue == "red-ecn" else "lost (%)")
    draw.legend(fig, *(Line2D([], [], **LOOKS[name] | {"markersize": 4}) for name in (cc, "tcp")))
    seeds = [f"{len(claims.present(runs, 'seed', mbps=m))} at {m:g} Mbit/s" for m in links]
    return WORDS.figure(
        f"figure-{number}",
        fig,
        pl.DataFrame(rows),
        of="figures 8 to 13",
        number=number,
        control=LABELS[cc],
        queue=QUEUES[queue],
        last=last,
        end=end,
        seeds=", ".join(seeds),
        seed=setup.TRACE_SEED,
        marked=marked,
    )


def _kept(found: Findings, experiment: str, cc: str, **keys: Key) -> pl.DataFrame:
    """The trace of the run of a control that is kept."""
    return where(experiment=experiment, cc=cc, **keys).rows(found.traces).sort("t_s")


def throughput(found: Findings, number: int, mbps: float, queue: str) -> Figure:
    """Figures 14 to 17: throughput of one flow of each kind over 20 s."""
    end = float(found.plan.settings["smooth_s"])
    start = end - STRETCH_S
    edges = np.arange(start, end, SHORT_S)
    fig, axes = draw.figure(5.0, rows=4, sharex=True, sharey=True)
    rows = []
    for ax, cc in zip(axes, SMOOTH, strict=True):
        trace = _kept(found, "smooth", cc, mbps=mbps, queue=queue)
        for flow, name, height in (("tcp-1", "tcp", 0.03), ("x-1", cc, 0.11)):
            t, delivered, cwnd = columns(trace, flow, "delivered_bytes", "cwnd")
            rate = np.diff(np.interp(edges, t, delivered)) * 8 / SHORT_S / 1e6
            look = {"color": COLOURS[name], "linewidth": 0.8, "label": LABELS[name]}
            ax.step(edges[:-1], rate, where="post", **look)
            part = (t >= start) & (t <= start + STRETCH_S)
            hit = t[part][cuts(cwnd[part], least=0.01).after]
            place, tick = ax.get_xaxis_transform(), {"color": COLOURS[name], "markersize": 4}
            ax.plot(hit, np.full(hit.size, height), "|", transform=place, **tick)
            keys = {"control": LABELS[cc], "flow": flow}
            rows.append(pl.DataFrame({**keys, "t_s": edges[:-1], "mbps": rate}))
        cov = column(found.base, "x_cov", experiment="smooth", cc=cc, mbps=mbps, queue=queue)
        draw.panel_title(ax, f"{LABELS[cc]}: variation {said(cov)}")
        ax.set_ylabel("Mbit/s")
    # Room below zero for the marks.
    top = axes[-1].get_ylim()[1]
    axes[-1].set(ylim=(-0.22 * top, top), xlim=(start, start + STRETCH_S), xlabel="time (s)")
    axes[-1].set_xticks(np.arange(start, start + STRETCH_S + 1, 5))
    marks = {"marker": "|", "linestyle": "none", "markersize": 5}
    tcp = COLOURS["tcp"]
    draw.legend(fig, _line("a TCP flow", tcp, linewidth=0.9), _line("cuts of the window", tcp, **marks))
    return WORDS.figure(
        f"figure-{number}",
        fig,
        pl.concat(rows),
        of="figures 14 to 17",
        number=number,
        mbps=mbps,
        queue=QUEUES[queue],
        stretch=STRETCH_S,
        end=end,
        seed=setup.TRACE_SEED,
        short=SHORT_S,
        marked="marked" if queue == "red-ecn" else "dropped",
        seeds=found.plan.settings["load_seeds"],
    )


def variation(found: Findings) -> Figure:
    """The coefficients of variation behind figures 14 to 17."""
    links = claims.present(found.base, "mbps", experiment="smooth")[::-1]
    fig, axes = draw.figure(1.75 * len(links), rows=len(links), columns=2, sharex=True, sharey="row")
    rows = []
    for ax, (mbps, queue) in zip(axes, product(links, ("red-ecn", "red")), strict=True):
        at = where(experiment="smooth", mbps=mbps, queue=queue).rows(found.base)
        for i, cc in enumerate(SMOOTH):
            for who, name, shift in (("x", cc, -0.2), ("tcp", "tcp", 0.2)):
                got = interval(column(at, f"{who}_cov", cc=cc))
                rows.append(_row({"mbps": mbps, "queue": queue, "control": cc, "flow": who}, "cov", got))
                draw.bars(ax, [i + shift], [got], 0.38, cap=1.5, color=COLOURS[name])
        draw.names(ax, [LABELS[cc].split("(")[0] for cc in SMOOTH])
        ecn, loss = ", ECN" if queue == "red-ecn" else "", fmean(at["loss"].to_list())
        draw.panel_title(ax, f"{mbps:g} Mbit/s{ecn} ({loss:.1%})")
    for ax in axes[::2]:
        ax.set_ylabel("coeff. of variation")
    draw.legend(fig, Patch(color=COLOURS["tcp"], label="TCP beside it"))
    return WORDS.figure(
        "figure-14-17-variation", fig, pl.DataFrame(rows), seeds=found.plan.settings["load_seeds"]
    )


def _window(
    ax: Axes, t: Array, cwnd: Array, cc: str, names: Mapping[str, str], alpha: float = 1.0
) -> pl.DataFrame:
    """Draws a window over time; returns the line."""
    ax.plot(t, cwnd, color=COLOURS[cc], alpha=alpha, linewidth=0.8)
    return pl.DataFrame({"t_s": t, "cwnd": cwnd}).with_columns(**{k: pl.lit(v) for k, v in names.items()})


def _thinned(t: Array, values: Array, step: float) -> tuple[Array, Array]:
    """The first row of each ``step`` seconds: a trace by change has one per ACK."""
    _, first = np.unique(np.floor(t / step), return_index=True)
    return t[first], values[first]


def steps(found: Findings) -> Figure:
    """Figure 18: the tagged flow's window as the load doubles and halves."""
    at = float(found.plan.settings["step_at_s"])
    fig, axes = draw.figure(4.8, rows=4, columns=2, sharex=True, sharey=True)
    rows: list[pl.DataFrame] = []
    for j, (experiment, tag) in enumerate((("load-doubles", "(a)"), ("load-halves", "(b)"))):
        for ax, cc in zip(axes[j::2], ("tcp", "aimd", "simd", "iiad"), strict=True):
            t, cwnd = columns(_kept(found, experiment, cc), "x-1", "cwnd")
            part = (t > at - 20) & (t < at + 40)
            names = {"experiment": experiment, "control": LABELS[cc]}
            rows.append(_window(ax, t[part], cwnd[part], cc, names))
            ax.axvline(at, color="black", linewidth=0.6, linestyle=":")
            settled = said(column(found.base, "settle_s", experiment=experiment, cc=cc))
            draw.panel_title(ax, f"{tag} {LABELS[cc].split('(')[0]}: {settled} s")
    for ax in axes[::2]:
        ax.set_ylabel("cwnd (packets)")
    for ax in axes[-2:]:
        ax.set_xlabel("time (s)")
    return WORDS.figure(
        "figure-18",
        fig,
        pl.concat(rows),
        seed=setup.TRACE_SEED,
        at=at,
        ahead=AHEAD_S,
        seeds=found.plan.settings["step_seeds"],
    )


def impulse(found: Findings) -> Figure:
    """Figure 19: windows against the square wave."""
    fig, axes = draw.figure(5.6, rows=5, sharex=True, sharey=True)
    rows: list[pl.DataFrame] = []
    for ax, cc in zip(axes, FIVE, strict=True):
        t, cwnd = columns(_kept(found, "square", cc), "x", "cwnd")
        part = (t >= 80) & (t <= 200)
        rows.append(_window(ax, *_thinned(t[part], cwnd[part], 0.1), cc, {"control": LABELS[cc]}))
        for i in range(1, 4):
            ax.axvspan(
                i * 2 * setup.SQUARE_HALF_S, (2 * i + 1) * setup.SQUARE_HALF_S, color="#eeeeee", zorder=0
            )
        draw.panel_title(ax, LABELS[cc])
        ax.set_ylabel("cwnd (packets)")
    axes[-1].set(xlim=(80, 200), ylim=(0, 32), xlabel="time (s)")
    draw.legend(fig, Patch(color="#eeeeee", label="constant-rate traffic"))
    return WORDS.figure("figure-19", fig, pl.concat(rows), seed=setup.TRACE_SEED)


def converging(found: Findings, number: int, name: str, what: str) -> Figure:
    """Figures 21 and 22: the windows of two flows after the background has ended."""
    at, experiment = float(found.plan.settings["switch_s"]), f"chain-{number}"
    printed = (TABLE_6["to_fair"], TABLE_6["to_full"])[number - 1]
    flows = (("s1", "flow 1", 1.0), ("s2", "flow 2", 0.45))
    fig, axes = draw.figure(4.8, rows=4, sharex=True, sharey=True)
    rows: list[pl.DataFrame] = []
    for ax, cc in zip(axes, CHAIN, strict=True):
        for flow, _, alpha in flows:
            t, cwnd = columns(_kept(found, experiment, cc), flow, "cwnd")
            part = (t > at - 20) & (t < at + 180)
            thin = _thinned(t[part] - at, cwnd[part], 0.3)
            rows.append(_window(ax, *thin, cc, {"control": LABELS[cc], "flow": flow}, alpha))
        ax.axvline(0, color="black", linewidth=0.6, linestyle=":")
        rounds = said(column(found.base, name, experiment=experiment, cc=cc))
        draw.panel_title(ax, f"{LABELS[cc]}: {rounds} (paper {printed[cc]:g})")
        ax.set(ylabel="cwnd", ylim=(0, 130))
    axes[-1].set(xlim=(-20, 180), xlabel="time since the background ended (s)")
    dark = COLOURS["tcp"]
    draw.legend(fig, *(_line(label, dark, alpha=alpha, linewidth=1.2) for _, label, alpha in flows))
    return WORDS.figure(
        f"figure-{20 + number}",
        fig,
        pl.concat(rows),
        of="figures 21 and 22",
        number=20 + number,
        seed=setup.TRACE_SEED,
        what=what,
        seeds=found.plan.settings["chain_seeds"],
    )
