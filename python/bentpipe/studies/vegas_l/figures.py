"""Figures 4, 5 and 6 of the Vegas-L paper, drawn from our runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import matplotlib as mpl
import polars as pl
from matplotlib.lines import Line2D

from bentpipe import registry
from bentpipe.stats import Mean
from bentpipe.studies import draw
from bentpipe.studies.claim import interval
from bentpipe.studies.page import plus_minus
from bentpipe.studies.study import Figure, Outcome, Plan
from bentpipe.studies.vegas_l import claims
from bentpipe.studies.vegas_l.measure import STEADY
from bentpipe.studies.vegas_l.setup import ALGORITHMS, BASE, HIGH, LOW

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PANELS = ((LOW, "(a) PER 10$^{-6}$"), (HIGH, "(b) PER 10$^{-3}$"))


def figures(plan: Plan, outcome: Outcome, base: pl.DataFrame) -> list[Figure]:
    """The three figures; ``base`` is the rows of the base variant."""
    return [windows(plan, outcome.traces, base), throughput(plan, base), fairness(plan, base)]


def windows(plan: Plan, traces: pl.DataFrame, base: pl.DataFrame) -> Figure:
    """Figure 4: the window of flow 1 over time in one run of each algorithm."""
    seed = plan.settings["trace_seed"]
    data = traces.filter(pl.col("flow") == "x").select("per", "cc", "seed", "t_s", "cwnd")
    fig, axes = draw.figure(3.9, rows=2, sharex=True)
    with mpl.rc_context(draw.STYLE):
        for ax, (per, title) in zip(axes, PANELS, strict=True):
            for cc in ALGORITHMS:
                look = registry.style(cc)
                one = data.filter((pl.col("per") == per) & (pl.col("cc") == cc)).sort("t_s")
                ax.plot(
                    one["t_s"],
                    one["cwnd"],
                    color=look["colour"],
                    marker=look["marker"],
                    markevery=max(1, one.height // 8),
                    markersize=3.5,
                    linewidth=0.9,
                    label=look["label"],
                )
            if per == LOW:
                _printed_line(ax, claims.STEADY_WINDOW)
            ax.set_ylim(bottom=0)
            ax.set_xlim(0, float(plan.settings["duration_s"]))
            ax.set_ylabel("cwnd (packets)")
            draw.panel_title(ax, title)
        axes[-1].set_xlabel("time (s)")
        fig.legend(
            handles=_handles(), loc="outside upper center", ncols=3, columnspacing=1.2, handlelength=1.8
        )
    steady = {
        per: "; ".join(
            f"{name} {plus_minus(interval(x))}"
            for name, x in claims.samples(base, "cwnd_steady", per).items()
        )
        for per in (LOW, HIGH)
    }
    return Figure(
        "figure-4",
        "Figure 4. Congestion window of flow 1.",
        f"One run each (seed {seed}, satellite at {BASE.longitude(int(seed)):g}E), sampled every second; "
        f"flow 2 is NewReno. Mean over the last {1 - STEADY:.0%} of the run, {plan.settings['seeds']} seeds, "
        f"with the half-width of the 95 % interval: (a) {steady[LOW]}; (b) {steady[HIGH]} packets. The paper "
        "prints a steady 350 packets for Vegas-L in (a), three times the window of Vegas (dashed line: 350).",
        "Two line charts of the congestion window over time, one line for each of four algorithms; the upper "
        "at the low and the lower at the high packet error rate.",
        fig,
        data,
    )


def throughput(plan: Plan, base: pl.DataFrame) -> Figure:
    """Figure 5: mean throughput of flow 1 and of NewReno beside it."""
    printed = {
        LOW: (claims.THROUGHPUT, claims.NEWRENO_AGAINST),
        HIGH: ({}, dict.fromkeys(ALGORITHMS, claims.NEWRENO_HIGH)),
    }
    reno = registry.style("reno")
    rows = []
    fig, axes = draw.figure(3.9, rows=2, sharex=True)
    width = 0.36
    with mpl.rc_context(draw.STYLE):
        for ax, (per, title) in zip(axes, PANELS, strict=True):
            x, n = claims.samples(base, "x_mbps", per), claims.samples(base, "newreno_mbps", per)
            for i, cc in enumerate(ALGORITHMS):
                look = registry.style(cc)
                bars = (
                    ("flow 1", x[look["label"]], i - width / 2, look["colour"], None, printed[per][0]),
                    ("NewReno", n[look["label"]], i + width / 2, "white", "/////", printed[per][1]),
                )
                for who, values, at, fill, hatch, paper in bars:
                    got = interval(values)
                    rows.append(_row(per, cc, who, got, paper.get(cc)))
                    ax.bar(
                        at,
                        got.mean,
                        width,
                        yerr=got.half_width,
                        facecolor=fill,
                        edgecolor=look["colour"] if hatch is None else reno["colour"],
                        hatch=hatch,
                        linewidth=0.7,
                        error_kw={"elinewidth": 0.8, "capsize": 2, "capthick": 0.8, "ecolor": "black"},
                    )
                    if cc in paper:
                        _printed_mark(ax, at, width, paper[cc])
            ax.set_ylabel("throughput (Mbit/s)")
            ax.grid(axis="x", visible=False)
            draw.panel_title(ax, title)
        _algorithm_axis(axes[-1])
        fig.legend(
            handles=[
                mpl.patches.Patch(facecolor="#8a8a8a", label="flow 1"),
                mpl.patches.Patch(
                    facecolor="white", edgecolor=reno["colour"], hatch="/////", label="NewReno beside it"
                ),
                Line2D([], [], color="black", linewidth=1.6, linestyle=(0, (1, 0.6)), label="paper"),
            ],
            loc="outside upper center",
            ncols=3,
            columnspacing=1.2,
        )
    return Figure(
        "figure-5",
        "Figure 5. Throughput of flow 1 and of the NewReno flow beside it.",
        f"Goodput over {plan.settings['duration_s']:g} s; mean and 95 % interval over "
        f"{plan.settings['seeds']} seeds (Student's t). Black marks: the values that the paper prints (1.1 "
        "and 2.9, NewReno 3.2 and 1.5 Mbit/s in (a); NewReno about 0.5 Mbit/s in (b)); it prints no others.",
        "Two bar charts of throughput in Mbit/s for four algorithms and the NewReno flow beside each.",
        fig,
        pl.DataFrame(rows),
    )


def fairness(plan: Plan, base: pl.DataFrame) -> Figure:
    """Figure 6: Jain's index of the two flows."""
    rows = []
    fig, axes = draw.figure(2.1, columns=2, sharey=True)
    with mpl.rc_context(draw.STYLE):
        for ax, (per, title) in zip(axes, PANELS, strict=True):
            groups = claims.samples(base, "jain", per)
            for i, cc in enumerate(ALGORITHMS):
                look = registry.style(cc)
                got = interval(groups[look["label"]])
                paper = claims.FAIRNESS.get(cc) if per == LOW else None
                rows.append(_row(per, cc, "both flows", got, paper))
                ax.bar(
                    i,
                    got.mean,
                    0.62,
                    yerr=got.half_width,
                    color=look["colour"],
                    error_kw={"elinewidth": 0.8, "capsize": 2.5, "capthick": 0.8, "ecolor": "black"},
                )
                if paper is not None:
                    _printed_mark(ax, i, 0.62, paper)
            ax.set_ylim(0.5, 1.02)
            ax.grid(axis="x", visible=False)
            _algorithm_axis(ax)
            ax.tick_params(axis="x", labelrotation=35)
            for text in ax.get_xticklabels():
                text.set_horizontalalignment("right")
                text.set_rotation_mode("anchor")
            draw.panel_title(ax, title)
        axes[0].set_ylabel("Jain's index")
    return Figure(
        "figure-6",
        "Figure 6. Fairness between flow 1 and NewReno.",
        f"Jain's index of the two throughputs, mean and 95 % interval over {plan.settings['seeds']} seeds; "
        "the axis begins at 0.5, the least that two flows can have. Black marks: the values that the paper "
        "prints (Vegas 0.8074, Veno 0.9994).",
        "Two bar charts of Jain's fairness index for four algorithms, at the low and the high packet error "
        "rate.",
        fig,
        pl.DataFrame(rows),
    )


def _row(per: float, cc: str, flow: str, got: Mean, paper: float | None) -> Mapping[str, object]:
    return {
        "per": per,
        "cc": cc,
        "flow": flow,
        "mean": got.mean,
        "low": got.low,
        "high": got.high,
        "seeds": got.n,
        "paper": paper,
    }


def _handles() -> list[Line2D]:
    looks = [registry.style(cc) for cc in ALGORITHMS]
    lines = [
        Line2D([], [], color=k["colour"], marker=k["marker"], markersize=3.5, label=k["label"]) for k in looks
    ]
    return [*lines, Line2D([], [], color="black", linewidth=0.8, linestyle="--", label="paper, Vegas-L")]


def _printed_line(ax: Axes, value: float) -> None:
    ax.axhline(value, color="black", linewidth=0.8, linestyle="--", zorder=1.5)


def _printed_mark(ax: Axes, at: float, width: float, value: float) -> None:
    ax.plot(
        [at - width * 0.5, at + width * 0.5],
        [value, value],
        color="white",
        linewidth=2.8,
        solid_capstyle="butt",
        zorder=4,
    )
    ax.plot(
        [at - width * 0.5, at + width * 0.5],
        [value, value],
        color="black",
        linewidth=1.6,
        linestyle=(0, (1, 0.6)),
        zorder=5,
    )


def _algorithm_axis(ax: Axes) -> None:
    ax.set_xticks(range(len(ALGORITHMS)), [claims.label(cc) for cc in ALGORITHMS])
    ax.tick_params(axis="x", length=0)
