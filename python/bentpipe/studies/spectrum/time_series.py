"""Figures 14 to 19, 21 and 22 of the spectrum paper: single runs over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
import polars as pl
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from bentpipe.analysis.traces import columns, cuts
from bentpipe.studies import draw
from bentpipe.studies.claim import interval
from bentpipe.studies.page import plus_minus
from bentpipe.studies.spectrum import claims
from bentpipe.studies.spectrum.figures import look
from bentpipe.studies.spectrum.measure import AHEAD_S, SHORT_S
from bentpipe.studies.spectrum.setup import CHAIN, FIVE, QUEUES, SMOOTH, SQUARE_HALF_S, label
from bentpipe.studies.study import Figure, Plan

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Length of the stretch that figures 14 to 17 show.
STRETCH_S = 20.0


def _one(traces: pl.DataFrame, experiment: str, cc: str, **keys: str | float) -> pl.DataFrame:
    return claims.of(traces, experiment, cc=cc, **keys)


def throughput(plan: Plan, base: pl.DataFrame, traces: pl.DataFrame) -> list[Figure]:
    """Figures 14 to 17: throughput of one flow of each kind over 20 s."""
    found = []
    for number, (mbps, queue) in enumerate(
        ((60.0, "red-ecn"), (60.0, "red"), (15.0, "red-ecn"), (15.0, "red")), start=14
    ):
        start = float(plan.settings["smooth_s"]) - STRETCH_S
        fig, axes = draw.figure(5.0, rows=4, sharex=True, sharey=True)
        rows = []
        with mpl.rc_context(draw.STYLE):
            for ax, cc in zip(axes, SMOOTH, strict=True):
                trace = _one(traces, "smooth", cc, mbps=mbps, queue=queue)
                for flow, name in (("tcp-1", "tcp"), ("x-1", cc)):
                    t, delivered = columns(trace.sort("t_s"), flow, "delivered_bytes")
                    edges = np.arange(start, start + STRETCH_S, SHORT_S)
                    rate = np.diff(np.interp(edges, t, delivered)) * 8 / SHORT_S / 1e6
                    of = look(name)
                    ax.step(
                        edges[:-1], rate, where="post", color=of["colour"], linewidth=0.8, label=of["label"]
                    )
                    hit = _cut_times(trace.sort("t_s"), flow, start)
                    ax.plot(
                        hit,
                        np.full(hit.size, 0.03 if flow == "tcp-1" else 0.11),
                        "|",
                        color=of["colour"],
                        markersize=4,
                        transform=ax.get_xaxis_transform(),
                    )
                    rows += [
                        {"control": label(cc), "flow": flow, "t_s": float(a), "mbps": float(b)}
                        for a, b in zip(edges[:-1], rate, strict=True)
                    ]
                runs = claims.of_cc(claims.of(base, "smooth", mbps=mbps, queue=queue), cc)
                draw.panel_title(ax, f"{label(cc)}: variation {plus_minus(interval(runs['x_cov']))}")
                ax.set_ylabel("Mbit/s")
            # Room below zero for the marks.
            top = axes[-1].get_ylim()[1]
            axes[-1].set_ylim(-0.22 * top, top)
            axes[-1].set_xlim(start, start + STRETCH_S)
            axes[-1].set_xticks(np.arange(start, start + STRETCH_S + 1, 5))
            axes[-1].set_xlabel("time (s)")
            tcp = look("tcp")["colour"]
            fig.legend(
                handles=[
                    Line2D([], [], color=tcp, linewidth=0.9, label="a TCP flow"),
                    Line2D(
                        [],
                        [],
                        color=tcp,
                        marker="|",
                        linestyle="none",
                        markersize=5,
                        label="cuts of the window",
                    ),
                ],
                loc="outside upper center",
                ncols=2,
            )
        found.append(
            Figure(
                f"figure-{number}",
                f"Figure {number}. Throughput over 0.2 s, 16 + 16 flows, {mbps:g} Mbit/s, {QUEUES[queue]}.",
                f"One flow of the control (colour) and one of TCP (grey) in the last {STRETCH_S:g} s of "
                f"{plan.settings['smooth_s']:g} s, seed {plan.settings['trace_seed']}. Ticks: where the "
                f"flow's window was cut, within {SHORT_S:g} s (the paper has the packets "
                f"{'marked' if queue == 'red-ecn' else 'dropped'}). Above each panel: the coefficient of "
                f"variation of a flow, mean over the 16 and over {plan.settings['load_seeds']} seeds with "
                "its 95 % interval.",
                "Four line charts of throughput over time, one per control, each with a TCP flow.",
                fig,
                pl.DataFrame(rows),
            )
        )
    return found


def _cut_times(trace: pl.DataFrame, flow: str, start: float) -> np.ndarray:
    """When the window of a flow was cut, from ``start`` on, to within a row of the trace."""
    t, cwnd = columns(trace, flow, "cwnd")
    part = (t >= start) & (t <= start + STRETCH_S)
    t, cwnd = t[part], cwnd[part]
    return np.asarray(t[cuts(cwnd, least=0.01).after])


def steps(plan: Plan, base: pl.DataFrame, traces: pl.DataFrame) -> Figure:
    """Figure 18: the tagged flow's window as the load doubles and halves."""
    four = ("tcp", "aimd", "simd", "iiad")
    at = float(plan.settings["step_at_s"])
    experiments = (("load-doubles", "(a)"), ("load-halves", "(b)"))
    fig, axes = draw.figure(4.8, rows=4, columns=2, sharex=True, sharey=True)
    rows: list[pl.DataFrame] = []
    with mpl.rc_context(draw.STYLE):
        for j, (experiment, tag) in enumerate(experiments):
            for i, cc in enumerate(four):
                ax = axes[2 * i + j]
                trace = _one(traces, experiment, cc).sort("t_s")
                t, cwnd = columns(trace, "x-1", "cwnd")
                part = (t > at - 20) & (t < at + 40)
                ax.plot(t[part], cwnd[part], color=look(cc)["colour"], linewidth=0.8)
                ax.axvline(at, color="black", linewidth=0.6, linestyle=":")
                runs = claims.of_cc(claims.of(base, experiment), cc)
                settled = plus_minus(interval(runs["settle_s"]))
                draw.panel_title(ax, f"{tag} {label(cc).split('(')[0]}: {settled} s")
                rows.append(
                    pl.DataFrame({"t_s": t[part], "cwnd": cwnd[part]}).with_columns(
                        experiment=pl.lit(experiment), control=pl.lit(label(cc))
                    )
                )
        for ax in axes[::2]:
            ax.set_ylabel("cwnd (packets)")
        for ax in axes[-2:]:
            ax.set_xlabel("time (s)")
    return Figure(
        "figure-18",
        "Figure 18. The window as the load doubles (a) and halves (b).",
        f"One run each (seed {plan.settings['trace_seed']}), 8 flows before {at:g} s and 16 after, and the "
        f"other way round. Above each panel: the time until the mean window of the next {AHEAD_S:g} s is "
        "within a packet of its later mean, with the half-width of the 95 % interval over "
        f"{plan.settings['step_seeds']} seeds.",
        "Eight line charts of the congestion window over time around the change of the load.",
        fig,
        pl.concat(rows),
    )


def impulse(plan: Plan, traces: pl.DataFrame) -> Figure:
    """Figure 19: windows against the square wave."""
    fig, axes = draw.figure(5.6, rows=5, sharex=True, sharey=True)
    rows: list[pl.DataFrame] = []
    with mpl.rc_context(draw.STYLE):
        for ax, cc in zip(axes, FIVE, strict=True):
            t, cwnd = columns(_one(traces, "square", cc).sort("t_s"), "x", "cwnd")
            part = (t >= 80) & (t <= 200)
            t, cwnd = _thinned(t[part], cwnd[part])
            ax.plot(t, cwnd, color=look(cc)["colour"], linewidth=0.8)
            _loud(ax)
            draw.panel_title(ax, label(cc))
            ax.set_ylabel("cwnd (packets)")
            rows.append(pl.DataFrame({"t_s": t, "cwnd": cwnd}).with_columns(control=pl.lit(label(cc))))
        axes[-1].set_xlim(80, 200)
        axes[-1].set_ylim(0, 32)
        axes[-1].set_xlabel("time (s)")
        loud = Patch(color="#eeeeee", label="constant-rate traffic")
        fig.legend(handles=[loud], loc="outside upper center")
    return Figure(
        "figure-19",
        "Figure 19. Response to a square wave.",
        f"Congestion window, one run each (seed {plan.settings['trace_seed']}); grey: constant-rate traffic "
        "takes half of the 1.5 Mbit/s. The numbers are in table 5 below.",
        "Five line charts of the congestion window over time, one per control, with grey bands while the "
        "other traffic is on.",
        fig,
        pl.concat(rows),
    )


def _thinned(t: np.ndarray, values: np.ndarray, step: float = 0.1) -> tuple[np.ndarray, np.ndarray]:
    """The first row of each ``step`` seconds: a trace by change has one per ACK."""
    _, first = np.unique(np.floor(t / step), return_index=True)
    return t[first], values[first]


def _loud(ax: Axes) -> None:
    for i in range(1, 4):
        ax.axvspan(i * 2 * SQUARE_HALF_S, (2 * i + 1) * SQUARE_HALF_S, color="#eeeeee", zorder=0)


def convergence(plan: Plan, base: pl.DataFrame, traces: pl.DataFrame) -> list[Figure]:
    """Figures 21 and 22: the windows of two flows after the background has ended."""
    at = float(plan.settings["switch_s"])
    found = []
    for number, column, what, printed in (
        (1, "t2", "round trips until they differ by less than 10 packets", claims.TO_FAIR),
        (2, "t1", "round trips until they fill the link", claims.TO_FULL),
    ):
        fig, axes = draw.figure(4.8, rows=4, sharex=True, sharey=True)
        rows: list[pl.DataFrame] = []
        with mpl.rc_context(draw.STYLE):
            for ax, cc in zip(axes, CHAIN, strict=True):
                trace = _one(traces, f"chain-{number}", cc).sort("t_s")
                of = look(cc)
                for flow, style, alpha in (("s1", "-", 1.0), ("s2", "-", 0.45)):
                    t, cwnd = columns(trace, flow, "cwnd")
                    part = (t > at - 20) & (t < at + 180)
                    t, cwnd = _thinned(t[part] - at, cwnd[part], 0.3)
                    ax.plot(t, cwnd, style, color=of["colour"], alpha=alpha, linewidth=0.8)
                    rows.append(
                        pl.DataFrame({"t_s": t, "cwnd": cwnd}).with_columns(
                            control=pl.lit(label(cc)), flow=pl.lit(flow)
                        )
                    )
                ax.axvline(0, color="black", linewidth=0.6, linestyle=":")
                runs = claims.of_cc(claims.of(base, f"chain-{number}"), cc)
                draw.panel_title(
                    ax, f"{label(cc)}: {plus_minus(interval(runs[column]))} (paper {printed[cc]:g})"
                )
                ax.set_ylabel("cwnd")
                ax.set_ylim(0, 130)
            axes[-1].set_xlim(-20, 180)
            axes[-1].set_xlabel("time since the background ended (s)")
            dark = look("tcp")["colour"]
            fig.legend(
                handles=[
                    Line2D([], [], color=dark, alpha=alpha, linewidth=1.2, label=name)
                    for name, alpha in (("flow 1", 1.0), ("flow 2", 0.45))
                ],
                loc="outside upper center",
                ncols=2,
            )
        found.append(
            Figure(
                f"figure-{20 + number}",
                f"Figure {20 + number}. Two flows converge.",
                f"Windows in packets of 500 bytes, one run each (seed {plan.settings['trace_seed']}): flow 1 "
                "dark, "
                f"flow 2 light. Above each panel: {what}, with the half-width of the 95 % interval over "
                f"{plan.settings['seeds']} seeds, and the paper's number.",
                "Four line charts, one per control, of the congestion windows of two flows over time.",
                fig,
                pl.concat(rows),
            )
        )
    return found
