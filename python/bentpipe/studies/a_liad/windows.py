"""Figures 6, 7 and 11 of the A-LIAD paper: congestion windows over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import matplotlib as mpl
import polars as pl
from matplotlib.lines import Line2D

from bentpipe.studies import draw
from bentpipe.studies.a_liad import claims
from bentpipe.studies.a_liad.figures import look
from bentpipe.studies.a_liad.setup import ALGORITHMS, BASE, GEO_S, HIGH, LOW, WITHOUT_SACK
from bentpipe.studies.claim import interval
from bentpipe.studies.page import plus_minus
from bentpipe.studies.study import Figure, Plan

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BDP = BASE.bdp(10.0, GEO_S)


def windows(plan: Plan, traces: pl.DataFrame, base: pl.DataFrame) -> dict[int, Figure]:
    """The three figures by number."""
    return {6: figure_6(plan, traces), 7: figure_7(plan, traces, base), 11: figure_11(plan, traces, base)}


def figure_6(plan: Plan, traces: pl.DataFrame) -> Figure:
    """All algorithms at the start-up, with SACK."""
    data = _pick(traces, "start-up")
    fig, axes = draw.figure(4.4, rows=2, sharex=True, sharey=True)
    with mpl.rc_context(draw.STYLE):
        for ax, some in zip(axes, (ALGORITHMS[:4], ALGORITHMS[4:]), strict=True):
            _draw(ax, data, some)
        axes[-1].set_xlabel("time (s)")
        _legend(fig, ALGORITHMS)
    return _figure(
        plan,
        6,
        "Windows at the start-up, with SACK",
        "The panels differ only in the algorithms that they show; A-LIAD and LIAD begin alike and coincide.",
        fig,
        data,
    )


def figure_7(plan: Plan, traces: pl.DataFrame, base: pl.DataFrame) -> Figure:
    """A-LIAD and two others at the start-up, without SACK."""
    data = _pick(traces, "no-sack")
    fig, axes = draw.figure(3.9, rows=2, sharex=True)
    with mpl.rc_context(draw.STYLE):
        for ax, some, name in (
            (axes[0], WITHOUT_SACK[:1], "(a) A-LIAD"),
            (axes[1], WITHOUT_SACK[1:], "(b) others"),
        ):
            _draw(ax, data, some)
            draw.panel_title(ax, name)
        axes[-1].set_xlabel("time (s)")
        _legend(fig, WITHOUT_SACK)
    lost = ", ".join(
        f"{claims.label(cc)} {interval(claims.values(base, 'no-sack', cc, 'drops')).mean:,.0f}"
        for cc in WITHOUT_SACK
    )
    return _figure(
        plan,
        7,
        "Windows at the start-up, without SACK",
        f"Packets lost in 30 s, mean over the seeds: {lost}.",
        fig,
        data,
    )


def figure_11(plan: Plan, traces: pl.DataFrame, base: pl.DataFrame) -> Figure:
    """Windows under random loss."""
    data = _pick(traces, "loss")
    fig, axes = draw.figure(4.6, rows=2, sharex=True)
    text = []
    with mpl.rc_context(draw.STYLE):
        for ax, per in zip(axes, (LOW, HIGH), strict=True):
            at = data.filter(pl.col("per") == per)
            _draw(ax, at, [*ALGORITHMS[1:], "a-liad"], every=100, thin=True)
            top = 1.05 * float(at.filter(pl.col("t_s") > 20)["cwnd"].max() or 1.0)  # type: ignore[arg-type]
            ax.set_ylim(0, top)
            draw.panel_title(ax, f"PER {per * 100:g} %")
            means = ", ".join(
                f"{claims.label(cc)} {plus_minus(interval(claims.values(base, 'loss', cc, 'cwnd', per=per)))}"
                for cc in ALGORITHMS
            )
            text.append(f"{per * 100:g} %: {means}")
        axes[-1].set_xlabel("time (s)")
        _legend(fig, ALGORITHMS)
    note = "The first slow start is cut off. Mean windows over the seeds: " + "; ".join(text) + "."
    return _figure(plan, 11, "Windows under packet loss", note, fig, data)


def _pick(traces: pl.DataFrame, experiment: str) -> pl.DataFrame:
    at = traces.filter((pl.col("experiment") == experiment) & (pl.col("flow") == "x-1"))
    return at.select("per", "cc", "seed", "t_s", "cwnd").sort("per", "cc", "t_s")


def _draw(ax: Axes, data: pl.DataFrame, some: Sequence[str], *, every: int = 40, thin: bool = False) -> None:
    for i, cc in enumerate(some):
        one = data.filter(pl.col("cc") == cc)
        ax.plot(
            one["t_s"],
            one["cwnd"],
            linewidth=0.8 if thin else 1.0,
            markevery=(i * every // len(some), every),
            **look(cc, 3.5),
        )
    ax.axhline(BDP, color="black", linewidth=0.7, linestyle="--", zorder=1.5)
    ax.set_ylim(bottom=0)
    ax.set_xlim(0, float(data["t_s"].max() or 1.0))  # type: ignore[arg-type]
    ax.set_ylabel("cwnd (packets)")


def _legend(fig: mpl.figure.Figure, some: Sequence[str]) -> None:
    handles = [Line2D([], [], **look(cc, 3.5)) for cc in some]
    handles.append(Line2D([], [], color="black", linewidth=0.7, linestyle="--", label="BDP"))
    fig.legend(handles=handles, loc="outside upper center", ncols=4, columnspacing=0.9, handlelength=1.6)


def _figure(
    plan: Plan, number: int, title: str, note: str, fig: mpl.figure.Figure, data: pl.DataFrame
) -> Figure:
    return Figure(
        f"figure-{number}",
        f"Figure {number}. {title}.",
        f"One flow, 10 Mbit/s, 600 ms; one run each (seed {plan.settings['trace_seed']}). Dashed: the BDP, "
        f"{BDP:.0f} packets; with the buffer the path holds {2 * BDP:.0f}. {note}",
        "Line charts of the congestion window over time, one line for each algorithm.",
        fig,
        data,
    )
