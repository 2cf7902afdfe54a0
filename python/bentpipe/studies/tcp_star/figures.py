"""Figures 6 to 11 of the TCP-STAR paper, drawn from our runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
import polars as pl

from bentpipe import registry
from bentpipe.studies import draw
from bentpipe.studies.claim import interval
from bentpipe.studies.page import plus_minus
from bentpipe.studies.study import Figure, Outcome, Plan
from bentpipe.studies.tcp_star import claims
from bentpipe.studies.tcp_star.measure import RATE_S
from bentpipe.studies.tcp_star.setup import (
    ACKS,
    ALGORITHMS,
    BDP,
    BERS,
    COUNTS,
    INTERVAL_S,
    LOSS,
    MIXED,
    OFTEN,
    OUTAGE,
    RARE,
    SAME,
    SHARERS,
    STARTUP,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: End of the time axes of figures 7 and 8, s.
STARTUP_END, OUTAGE_END = 12.0, 26.0
#: Start of the time axis of figure 8, s.
OUTAGE_START = 8.0


def figures(plan: Plan, outcome: Outcome, base: pl.DataFrame) -> list[Figure]:
    """The six figures; ``base`` is the rows of the base variant."""
    seeds = int(plan.settings["seeds"])
    return [
        throughput(plan, base),
        startup(outcome.traces, seeds),
        outage(outcome.traces, seeds),
        fairness("figure-9", MIXED, RARE, base, seeds),
        fairness("figure-10", MIXED, OFTEN, base, seeds),
        fairness("figure-11", SAME, OFTEN, base, seeds),
    ]


def throughput(plan: Plan, base: pl.DataFrame) -> Figure:
    """Figure 6: throughput of one flow over the bit error rate, on a linear and a logarithmic axis."""
    rows = [
        _row(ber, cc, claims.samples(base, "x_mbps", LOSS, ber)[claims.label(cc)])
        for cc in ALGORITHMS
        for ber in BERS
    ]
    data = pl.DataFrame(rows).rename({"x": "ber"})
    fig, axes = draw.figure(4.3, rows=2, sharex=True)
    with mpl.rc_context(draw.STYLE):
        for ax, title in zip(axes, ("(a) linear axis", "(b) logarithmic axis"), strict=True):
            for cc in ALGORITHMS:
                _errorbars(ax, cc, range(len(BERS)), data.filter(pl.col("cc") == cc))
            ax.set_ylabel("throughput (Mbit/s)")
            draw.panel_title(ax, title)
        axes[0].set_ylim(0, 10)
        axes[1].set_yscale("log")
        axes[1].set_ylim(0.02, 15)
        axes[1].set_yticks([0.1, 1, 10], ["0.1", "1", "10"])
        axes[1].minorticks_off()
        axes[1].set_xticks(range(len(BERS)), ["0", *(f"$10^{{{round(np.log10(b))}}}$" for b in BERS[1:])])
        axes[1].set_xlabel("bit error rate")
        _legend(fig, axes[0])
    return Figure(
        "figure-6",
        "Figure 6. Throughput of one flow under bit errors.",
        f"Goodput over {plan.settings['duration_s']:g} s; mean and 95 % interval over "
        f"{plan.settings['seeds']} seeds (Student's t). (b) shows the same on a logarithmic axis: at 1e-5 "
        "the curves come close on a linear axis only because all are small. The lines guide the eye; the "
        "paper prints no numbers.",
        "Two line charts of throughput in Mbit/s over five bit error rates for four protocols, with error "
        "bars.",
        fig,
        data,
    )


def startup(traces: pl.DataFrame, seeds: int) -> Figure:
    """Figure 7: the sending window from the start on, without errors."""
    data = _over_seeds(
        traces.filter((pl.col("part") == STARTUP) & (pl.col("t_s") <= STARTUP_END)).with_columns(
            pl.min_horizontal("cwnd", pl.lit(float(BDP))).alias("value")
        )
    )
    fig, axes = draw.figure(2.5)
    with mpl.rc_context(draw.STYLE):
        _lines(axes[0], data, every=24)
        axes[0].axhline(BDP, color="black", linewidth=0.8, linestyle="--", zorder=1.5)
        axes[0].set_ylim(0, 480)
        axes[0].set_xlim(0, STARTUP_END)
        axes[0].set_xlabel("time (s)")
        axes[0].set_ylabel("sending window (segments)")
        _legend(fig, axes[0])
    return Figure(
        "figure-7",
        "Figure 7. Sending window at BER 0.",
        f"The lesser of the congestion window and the receiver's {BDP} segments (dashed), sampled every "
        f"{INTERVAL_S * 1e3:g} ms; mean over {seeds} seeds, which differ in the start of the flow (within "
        "0.1 s). TCP-J, WestwoodBR and NewReno lie on one line, as in the paper.",
        "Line chart of the sending window over the first 12 s for four protocols; three of them coincide.",
        fig,
        data,
    )


def outage(traces: pl.DataFrame, seeds: int) -> Figure:
    """Figure 8: throughput over time around an outage of the ACKs."""
    step = round(RATE_S / INTERVAL_S)
    bins = (
        traces.filter(pl.col("part") == ACKS)
        .sort("cc", "seed", "t_s")
        .with_columns(pl.int_range(pl.len()).over("cc", "seed").alias("i"))
        .filter(pl.col("i") % step == 0)
        .with_columns(
            (pl.col("delivered_bytes").cast(pl.Float64).diff().over("cc", "seed") * 8e-6 / RATE_S).alias(
                "value"
            )
        )
        .filter(pl.col("value").is_not_null() & pl.col("t_s").is_between(OUTAGE_START, OUTAGE_END))
        .with_columns(pl.col("t_s") - RATE_S / 2)
    )
    data = _over_seeds(bins)
    fig, axes = draw.figure(2.5)
    with mpl.rc_context(draw.STYLE):
        axes[0].axvspan(*OUTAGE, color="#ececec", zorder=0.5)
        axes[0].text(sum(OUTAGE) / 2, 10.15, "no ACKs", ha="center", va="bottom", fontsize=7)
        _lines(axes[0], data, every=5)
        axes[0].set_ylim(0, 11.2)
        axes[0].set_xlim(OUTAGE_START, OUTAGE_END)
        axes[0].set_xticks(np.arange(OUTAGE_START, OUTAGE_END + 1, 2))
        axes[0].set_xlabel("time (s)")
        axes[0].set_ylabel("throughput (Mbit/s)")
        _legend(fig, axes[0])
    return Figure(
        "figure-8",
        "Figure 8. Throughput when the ACKs sent from 10 s to 12 s are lost.",
        f"New data at the receiver per {RATE_S:g} s; mean over {seeds} seeds, which differ in the start of "
        "the flow (within 0.1 s). WestwoodBR stays slow because its estimate, and with it ssthresh, falls "
        "during the silence, and it then grows by one segment per round trip.",
        "Line chart of throughput over time for four protocols, with the interval of lost ACKs shaded.",
        fig,
        data,
    )


def fairness(name: str, part: str, ber: float, base: pl.DataFrame, seeds: int) -> Figure:
    """Figures 9, 10 and 11: Jain's index over the number of flows."""
    rows = [
        _row(n, cc, claims.samples(base, "jain", part, ber, n)[claims.label(cc)])
        for cc in SHARERS
        for n in COUNTS
    ]
    data = pl.DataFrame(rows).rename({"x": "n"})
    fig, axes = draw.figure(2.3)
    with mpl.rc_context(draw.STYLE):
        for i, cc in enumerate(SHARERS):
            at = [n + 0.5 * (i - 1) for n in COUNTS]
            _errorbars(axes[0], cc, at, data.filter(pl.col("cc") == cc))
        axes[0].set_ylim(0.5, 1.02)
        axes[0].set_xticks(COUNTS)
        axes[0].set_xlabel("number of flows N")
        axes[0].set_ylabel("Jain's index")
        _legend(fig, axes[0], columns=3)
    number = name.removeprefix("figure-")
    who = "N/2 flows of a protocol and N/2 of NewReno" if part == MIXED else "N flows of one protocol"
    floor = "; the axis begins at 0.5" + (
        ", where one half of the flows would get everything" if part == MIXED else ""
    )
    mean = "; ".join(
        f"{x} {plus_minus(interval(v))}" for x, v in claims.over(base, part, ber, COUNTS).items()
    )
    return Figure(
        name,
        f"Figure {number}. Fairness of {who}, {claims.at(ber)}.",
        f"Jain's index of the throughputs of all flows, mean and 95 % interval over {seeds} seeds{floor}. "
        f"Points at the same N are set apart a little. Mean over all N: {mean}.",
        f"Line chart of Jain's fairness index over the number of flows for three protocols, "
        f"{claims.at(ber)}.",
        fig,
        data,
    )


def _row(x: float, cc: str, values: Sequence[float]) -> dict[str, object]:
    got = interval(values)
    return {"x": x, "cc": cc, "mean": got.mean, "low": got.low, "high": got.high, "seeds": got.n}


def _over_seeds(traces: pl.DataFrame) -> pl.DataFrame:
    """Mean and 95 % interval of the column ``value`` over the seeds, by protocol and time."""
    from scipy.special import stdtrit

    by = traces.group_by("cc", "t_s").agg(
        pl.col("value").mean().alias("mean"),
        pl.col("value").std().alias("std"),
        pl.len().alias("seeds"),
    )
    n = by["seeds"].to_numpy()
    half = stdtrit(n - 1, 0.975) * by["std"].to_numpy() / np.sqrt(n)
    return (
        by.with_columns(pl.Series("half", half))
        .with_columns(
            (pl.col("mean") - pl.col("half")).alias("low"), (pl.col("mean") + pl.col("half")).alias("high")
        )
        .drop("std", "half")
        .sort("cc", "t_s")
    )


def _errorbars(ax: Axes, cc: str, at: Sequence[float], data: pl.DataFrame) -> None:
    look = registry.style(cc)
    mean = data["mean"].to_numpy()
    ax.errorbar(
        list(at),
        mean,
        yerr=[mean - data["low"].to_numpy(), data["high"].to_numpy() - mean],
        color=look["colour"],
        marker=look["marker"],
        markersize=_size(look["marker"]),
        elinewidth=0.8,
        capsize=2,
        capthick=0.8,
        label=claims.label(cc),
    )


def _lines(ax: Axes, data: pl.DataFrame, every: int) -> None:
    """One line per protocol with its interval as a band; TCP-STAR last, on top, markers staggered."""
    for i, cc in enumerate(reversed(ALGORITHMS)):
        look = registry.style(cc)
        one = data.filter(pl.col("cc") == cc)
        ax.fill_between(one["t_s"], one["low"], one["high"], color=look["colour"], alpha=0.2, linewidth=0)
        ax.plot(
            one["t_s"],
            one["mean"],
            color=look["colour"],
            linewidth=0.9,
            marker=look["marker"],
            markersize=_size(look["marker"]),
            markevery=(i * every // len(ALGORITHMS), every),
            label=claims.label(cc),
        )


def _size(marker: str) -> float:
    return 5.0 if marker == "*" else 3.5


def _legend(fig: mpl.figure.Figure, ax: Axes, columns: int = 4) -> None:
    handles, labels = ax.get_legend_handles_labels()
    found = dict(zip(labels, handles, strict=True))
    names = [claims.label(cc) for cc in ALGORITHMS if claims.label(cc) in found]
    fig.legend(
        [found[x] for x in names],
        names,
        loc="outside upper center",
        ncols=columns,
        columnspacing=0.9,
        handlelength=1.4,
        handletextpad=0.4,
    )
