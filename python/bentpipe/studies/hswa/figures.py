"""Figures 1, 3 and 4 of the HSWA-TCP paper, drawn from our runs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
import polars as pl
from matplotlib.lines import Line2D

from bentpipe import registry
from bentpipe.studies import draw
from bentpipe.studies.claim import interval
from bentpipe.studies.hswa import claims
from bentpipe.studies.hswa.setup import BERS, INCREMENT_RATE_BPS, INCREMENT_RTT_S
from bentpipe.studies.page import plus_minus
from bentpipe.studies.study import Figure, Outcome, Plan

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PANELS = (
    ("base", "(a) error rate per bit, as printed"),
    ("byte", "(b) error rate per byte (ns-2, unit byte)"),
)
#: Line of each orbit in figure 4.
ORBIT_LINE: dict[str, Any] = {"LEO": "-", "MEO": (0, (5, 1.5)), "GEO": (0, (1, 1.2))}
#: Figure 1 is drawn up to here; what lies beyond is 0.
LARGEST_RATIO = 3.0
PAPER_MARK: dict[str, Any] = {
    "markerfacecolor": "none",
    "markeredgecolor": "black",
    "markeredgewidth": 0.8,
    "linestyle": "none",
    "zorder": 5,
}


def figures(plan: Plan, outcome: Outcome) -> list[Figure]:
    """The three figures."""
    runs = outcome.runs
    return [
        increments(plan, runs.filter(pl.col("variant") == "increment")),
        geo(plan, runs),
        orbits(plan, runs),
    ]


def increments(plan: Plan, runs: pl.DataFrame) -> Figure:
    """Figure 1: the growth of the window per round trip against TD / BaseTD, one point per round trip."""
    look = registry.style("hswa")
    rows = [
        {"ber": run["ber"], "seed": run["seed"], "td_over_base": x, "increment": y}
        for run in runs.iter_rows(named=True)
        for x, y in json.loads(run["rounds"])
    ]
    data = pl.DataFrame(rows, schema_overrides={"td_over_base": pl.Float64, "increment": pl.Float64})
    fig, (ax,) = draw.figure(2.4)
    with mpl.rc_context(draw.STYLE):
        near = data.filter(pl.col("td_over_base") <= LARGEST_RATIO)
        ax.plot(
            near["td_over_base"],
            near["increment"],
            color=look["colour"],
            marker=look["marker"],
            markersize=2.6,
            markeredgewidth=0,
            alpha=0.6,
            linestyle="none",
            label=f"{look['label']}, one round trip",
            zorder=2,
        )
        for ber in BERS:
            s = claims.S[ber]
            ax.plot(
                [1.0, 2.0, LARGEST_RATIO],
                [s, 0.0, 0.0],
                color="black",
                linewidth=0.7,
                linestyle="--",
                zorder=3,
                label="eq. 4" if ber == BERS[0] else None,
            )
            ax.annotate(
                f"BER $10^{{{round(np.log10(ber))}}}$",
                (1.0, s),
                xytext=(-4, 0),
                textcoords="offset points",
                ha="right",
                va="center",
                fontsize=7,
            )
        ax.set_xlim(0.5, LARGEST_RATIO)
        ax.set_ylim(-3, 88)
        ax.set_xticks([1.0, 1.5, 2.0, 2.5, 3.0])
        ax.set_xlabel("TD / BaseTD of the round trip before")
        ax.set_ylabel("increment (packets per RTT)")
        ax.legend(loc="upper right")
    fits = "; ".join(
        f"{claims.power(ber)}: {plus_minus(interval(at['at_base'].to_list()))} and "
        f"{plus_minus(interval(at['zero'].to_list()))}"
        for ber in BERS
        for at in [runs.filter(pl.col("ber") == ber)]
    )
    inside = data.filter((pl.col("td_over_base") > 1) & (pl.col("td_over_base") < 2)).height
    return Figure(
        "figure-1",
        "Figure 1. Increment of the congestion window.",
        "The controller in the simulator: what its window grew by in one round trip, against the delay "
        "of the "
        f"round trip before ({data.height} round trips, {inside} of them between 1 and 2; "
        f"{plan.settings['seeds']} seeds for each BER). The path is {INCREMENT_RATE_BPS / 1e6:g} Mbit/s and "
        f"{INCREMENT_RTT_S * 1e3:g} ms without loss; cross traffic, 6 s on and 6 s off, makes the queue rise "
        "and fall. Dashed: eq. 4, not fitted. A line fitted to the points between 1 and 2, by BER: "
        "increment at "
        f"TD = BaseTD, and TD / BaseTD at which it is 0, with half-widths of 95 % intervals: {fits}.",
        "A scatter plot: for each of four bit error rates the increment falls on a straight line from S at a "
        "ratio of 1 to 0 at a ratio of 2.",
        fig,
        data,
    )


def geo(plan: Plan, runs: pl.DataFrame) -> Figure:
    """Figure 3: throughput over GEO against the BER, SCPS-TP and HSWA."""
    rows: list[dict[str, object]] = []
    fig, axes = draw.figure(4.3, rows=2, sharex=True, sharey=True)
    with mpl.rc_context(draw.STYLE):
        for ax, (variant, title) in zip(axes, PANELS, strict=True):
            for cc in ("hswa", "scps"):
                look = registry.style(cc)
                rows += _curve(ax, runs, variant, cc, "GEO", look["marker"], "-")
                for (name, orbit, ber), value in claims.PRINTED.items():
                    if (name, orbit) == (cc, "GEO"):
                        ax.plot([ber], [value], marker=look["marker"], markersize=6.5, **PAPER_MARK)
            ax.plot([1e-6], [claims.QUOTED], marker="x", markersize=5, **PAPER_MARK)
            _axes(ax, title)
        axes[-1].set_xlabel("error rate")
        fig.legend(
            handles=[
                *(_handle(cc) for cc in ("hswa", "scps")),
                Line2D([], [], marker="D", markersize=6, label="paper", **PAPER_MARK),
                Line2D([], [], marker="x", markersize=5, label="NASA", **PAPER_MARK),
            ],
            loc="outside upper center",
            ncols=4,
            columnspacing=1.0,
            handlelength=1.6,
            handletextpad=0.5,
        )
    return Figure(
        "figure-3",
        "Figure 3. Throughput over GEO.",
        f"Mean and 95 % interval over {plan.settings['seeds']} seeds. Black, open: the values that the paper "
        "prints (6.3 and 44 Mbit/s at 1e-8, 0.034 and 2.3 Mbit/s at 1e-5); cross: SCPS-TP in the NASA "
        "report that it quotes (0.27 Mbit/s). (a) A packet of 1000 bytes is lost with probability "
        "1 - (1 - BER) to the power 8000; (b) to the power 1000.",
        "Two line charts of throughput against bit error rate on logarithmic axes, HSWA-TCP above SCPS-TP.",
        fig,
        pl.DataFrame(rows),
    )


def orbits(plan: Plan, runs: pl.DataFrame) -> Figure:
    """Figure 4: throughput of HSWA over LEO, MEO and GEO against the BER."""
    rows: list[dict[str, object]] = []
    look = registry.style("hswa")
    markers = {"LEO": "^", "MEO": "v", "GEO": look["marker"]}
    fig, axes = draw.figure(4.3, rows=2, sharex=True, sharey=True)
    with mpl.rc_context(draw.STYLE):
        for ax, (variant, title) in zip(axes, PANELS, strict=True):
            for orbit, marker in markers.items():
                rows += _curve(ax, runs, variant, "hswa", orbit, marker, ORBIT_LINE[orbit])
                for (cc, where, ber), value in claims.PRINTED.items():
                    if (cc, where) == ("hswa", orbit):
                        ax.plot([ber], [value], marker=marker, markersize=6.5, **PAPER_MARK)
            _axes(ax, title)
        axes[-1].set_xlabel("error rate")
        fig.legend(
            handles=[
                *(
                    Line2D(
                        [],
                        [],
                        color=look["colour"],
                        linestyle=ORBIT_LINE[orbit],
                        marker=marker,
                        markersize=3.5,
                        label=orbit,
                    )
                    for orbit, marker in markers.items()
                ),
                Line2D([], [], marker="^", markersize=6, label="paper", **PAPER_MARK),
            ],
            loc="outside upper center",
            ncols=4,
            columnspacing=1.2,
            handlelength=2.6,
        )
    return Figure(
        "figure-4",
        "Figure 4. Throughput of HSWA-TCP by orbit.",
        f"Mean and 95 % interval over {plan.settings['seeds']} seeds; round-trip propagation 10, 250 and 500 "
        "ms. Black, open: the values that the paper prints (LEO about 99 Mbit/s over the better BERs and 81 "
        "at 1e-5, GEO 44 Mbit/s at 1e-8, GEO and MEO 2 to 4 Mbit/s at 1e-5). Error rates as in figure 3.",
        "Two line charts of the throughput of HSWA-TCP against bit error rate on logarithmic axes, LEO above "
        "MEO above GEO.",
        fig,
        pl.DataFrame(rows),
    )


def _curve(
    ax: Axes, runs: pl.DataFrame, variant: str, cc: str, orbit: str, marker: str, line: Any
) -> list[dict[str, object]]:
    """Draw the mean over the seeds with its interval against the BER; returns what is drawn."""
    at = runs.filter((pl.col("variant") == variant) & (pl.col("cc") == cc) & (pl.col("orbit") == orbit))
    bers = sorted(set(at["ber"]))
    got = [interval(claims.rate(at, cc, orbit, ber)) for ber in bers]
    ax.errorbar(
        bers,
        [g.mean for g in got],
        yerr=[g.half_width for g in got],
        color=registry.style(cc)["colour"],
        marker=marker,
        markersize=3.5,
        linestyle=line,
        elinewidth=0.8,
        capsize=2,
        capthick=0.8,
    )
    return [
        {
            "error_rate_per": "bit" if variant == "base" else "byte",
            "cc": cc,
            "orbit": orbit,
            "ber": ber,
            "mean": g.mean,
            "low": g.low,
            "high": g.high,
            "seeds": g.n,
            "paper": claims.PRINTED.get((cc, orbit, ber)),
        }
        for ber, g in zip(bers, got, strict=True)
    ]


def _handle(cc: str) -> Line2D:
    look = registry.style(cc)
    return Line2D([], [], color=look["colour"], marker=look["marker"], markersize=3.5, label=look["label"])


def _axes(ax: Axes, title: str) -> None:
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlim(7e-9, 1.4e-5)
    ax.set_ylim(0.02, 200)
    ax.set_yticks([0.1, 1, 10, 100], ["0.1", "1", "10", "100"])
    ax.minorticks_off()
    ax.set_ylabel("throughput (Mbit/s)")
    draw.panel_title(ax, title)
