"""Figures 1, 5, 8, 9, 10, 12 and 13 of the A-LIAD paper and the curve of alpha, drawn from our runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
import polars as pl
from matplotlib.patches import Patch

from bentpipe import registry
from bentpipe.analysis import a_liad as analysis
from bentpipe.stats import Mean
from bentpipe.studies import draw
from bentpipe.studies.a_liad import claims
from bentpipe.studies.a_liad.measure import ELAPSED_S
from bentpipe.studies.a_liad.setup import (
    ALGORITHMS,
    BASE,
    GEO_S,
    HIGH,
    INTRA_FLOWS,
    INTRA_S,
    LOW,
    NEWRENO_FLOWS,
    NONE,
    RARE,
    RTTS_S,
    SHORT_S,
)
from bentpipe.studies.claim import interval
from bentpipe.studies.study import Figure, Plan

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BARS: Any = {"elinewidth": 0.8, "capsize": 2.0, "capthick": 0.8, "ecolor": "black"}
RTT_MS = [rtt * 1e3 for rtt in RTTS_S]


def look(cc: str, size: float = 4.0) -> dict[str, Any]:
    """Colour, marker and label of an algorithm as keyword arguments of a line."""
    style = registry.style(cc)
    return {
        "color": style["colour"],
        "marker": style["marker"],
        "markersize": size,
        "label": claims.label(cc),
    }


def seeds(plan: Plan) -> str:
    """The sentence on means and intervals that captions share."""
    return f"Mean and 95 % interval over {plan.settings['seeds']} seeds (Student's t)."


def row(figure: Mapping[str, Any], got: Mean) -> dict[str, Any]:
    """One row of a figure's data."""
    return {**figure, "mean": got.mean, "low": got.low, "high": got.high, "seeds": got.n}


def line(ax: Axes, x: Sequence[float], got: Sequence[Mean], **options: Any) -> None:
    """Means joined by a line, with their intervals."""
    ax.errorbar(
        x,
        [m.mean for m in got],
        yerr=[m.half_width for m in got],
        elinewidth=0.7,
        capsize=1.8,
        capthick=0.7,
        **options,
    )


def figure_1(plan: Plan, base: pl.DataFrame) -> Figure:
    """LIAD's rate over the RTT: by eq 9, and in simulation."""
    style = registry.style("liad")
    rows, fig, (law, ax) = [], *draw.figure(4.0, rows=2, sharex=True)
    with mpl.rc_context(draw.STYLE):
        many = np.linspace(RTTS_S[0], RTTS_S[-1], 100)
        window = float(analysis.window_at_loss(2.0))
        rate = np.asarray(analysis.rate(2.0, window, many)) * BASE.wire_bytes * 8 / 1e9
        rows += [
            row({"series": "eq 9", "rtt_ms": float(r * 1e3)}, interval([v * 1e3] * 2))
            for r, v in zip(many, rate, strict=True)
        ]
        law.plot(many * 1e3, rate, color="#777777")
        law.set_ylim(bottom=0)
        law.set_ylabel("sending rate (Gbit/s)")
        draw.panel_title(law, "(a) equation 9, PER 1e-8")
        draw.panel_title(ax, "(b) simulated, 10 Mbit/s")
        for per, dash, name in ((RARE, "-", "1e-8"), (LOW, "--", "0.1 %"), (HIGH, ":", "1 %")):
            got = [interval(claims.values(base, "fig1", "liad", "mbps", rtt_s=r, per=per)) for r in RTTS_S]
            rows += [row({"series": f"PER {name}", "rtt_ms": r}, m) for r, m in zip(RTT_MS, got, strict=True)]
            line(
                ax,
                RTT_MS,
                got,
                color=style["colour"],
                marker=style["marker"],
                markersize=4,
                linestyle=dash,
                label=f"PER {name}",
            )
        last = got[-1].mean
        x = np.linspace(last * RTTS_S[-1] / 10, RTTS_S[-1], 100)
        ax.plot(x * 1e3, last * RTTS_S[-1] / x, color="#777777", linewidth=0.8, label="eq 9: 1/RTT")
        ax.set_ylim(0, 10.5)
        ax.set_xlim(0, 620)
        ax.set_xlabel("RTT (ms)")
        ax.set_ylabel("throughput (Mbit/s)")
        fig.legend(loc="outside upper center", ncols=2, columnspacing=1.5, handlelength=3.2)
    return Figure(
        "figure-1",
        "Figure 1. Average sending rate of LIAD over the RTT.",
        f"(a) Equation 9 with alpha = 2 and the window of {window:,.0f} packets at which one in 1e8 is "
        "lost. (b) One LIAD flow on 10 Mbit/s at three packet error rates (the paper's is 1e-8). "
        f"{seeds(plan)} Grey: the law of equation 9 at a constant loss rate, 1/RTT, through the value for 1 "
        "% at 600 ms.",
        "Two line charts over the round-trip time: a hyperbola, and throughputs that are flat at low loss "
        "and fall like a hyperbola at 1 %.",
        fig,
        pl.DataFrame(rows),
    )


def figure_5(plan: Plan, base: pl.DataFrame) -> Figure:
    """Throughput up to several elapsed times."""
    rows, fig, (ax,) = [], *draw.figure(3.0)
    with mpl.rc_context(draw.STYLE):
        for i, cc in enumerate(ALGORITHMS):
            got = [interval(claims.values(base, "start-up", cc, f"at_{t}")) for t in ELAPSED_S]
            rows += [row({"cc": cc, "until_s": t}, m) for t, m in zip(ELAPSED_S, got, strict=True)]
            line(ax, [t + 0.12 * (i - 3.5) for t in ELAPSED_S], got, **look(cc))
        ax.plot([30], [claims.START_UP_SHARE], marker="_", markersize=14, color="black", linestyle="none")
        ax.set_ylim(0, 100)
        ax.set_xlabel("elapsed time (s)")
        ax.set_ylabel("share of the bandwidth (%)")
        fig.legend(loc="outside upper center", ncols=4, columnspacing=0.9, handlelength=1.6)
    return Figure(
        "figure-5",
        "Figure 5. Throughput at the start-up of a GEO satellite connection.",
        "One flow, 10 Mbit/s, 600 ms, SACK, no random loss: what has been delivered by then over what "
        f"the link could carry, headers counted; markers are set apart a little. {seeds(plan)} Dash: the "
        "paper's 80 % for A-LIAD.",
        "A line chart of the share of the bandwidth used up to 5, 10, ... 30 seconds, for eight algorithms.",
        fig,
        pl.DataFrame(rows),
    )


def figure_8(plan: Plan, base: pl.DataFrame) -> Figure:
    """Throughput of six competing A-LIAD flows."""
    rows, fig, (ax,) = [], *draw.figure(2.3)
    shades = ("#cc3311", "#dd7766", "#f0bbb0")
    with mpl.rc_context(draw.STYLE):
        for i, (per, shade) in enumerate(zip((NONE, LOW, HIGH), shades, strict=True)):
            got = [
                interval(claims.values(base, "intra", "a-liad", f"flow_{k}", rtt_s=INTRA_S, per=per))
                for k in range(1, INTRA_FLOWS + 1)
            ]
            rows += [row({"per": per, "rank": k + 1}, m) for k, m in enumerate(got)]
            ax.bar(
                [k + 1 + 0.27 * (i - 1) for k in range(INTRA_FLOWS)],
                [m.mean for m in got],
                0.25,
                yerr=[m.half_width for m in got],
                color=shade,
                error_kw=BARS,
                label=f"PER {per * 100:g} %",
            )
        ax.grid(axis="x", visible=False)
        ax.set_xlabel("flow, from the slowest to the fastest of its run")
        ax.set_ylabel("throughput (Mbit/s)")
        fig.legend(loc="outside upper center", ncols=3)
    index = "; ".join(
        f"{per * 100:g} %: "
        f"{np.mean(claims.values(base, 'intra', 'a-liad', 'jain', rtt_s=INTRA_S, per=per)):.3f}"
        for per in (NONE, LOW, HIGH)
    )
    return Figure(
        "figure-8",
        "Figure 8. Six competing A-LIAD flows.",
        f"50 Mbit/s, 100 ms. {seeds(plan)} Flows are ranked within each run, since the mean of one flow over "
        f"runs would hide unfairness. Jain's index in the mean: {index}; the paper has about 0.995 in each.",
        "A bar chart of the throughput of six flows at three packet error rates.",
        fig,
        pl.DataFrame(rows),
    )


def figure_9(plan: Plan, base: pl.DataFrame) -> Figure:
    """Throughput of A-LIAD and CUBIC over the RTT."""
    rows, fig, (ax,) = [], *draw.figure(2.3)
    with mpl.rc_context(draw.STYLE):
        for cc in ("a-liad", "cubic"):
            got = [interval(claims.values(base, "rtt", cc, "mbps", rtt_s=rtt)) for rtt in RTTS_S]
            rows += [row({"cc": cc, "rtt_ms": r}, m) for r, m in zip(RTT_MS, got, strict=True)]
            line(ax, RTT_MS, got, **look(cc, 5.0))
        ax.set_ylim(0, 10.5)
        ax.set_xlim(0, 620)
        ax.set_xlabel("RTT (ms)")
        ax.set_ylabel("throughput (Mbit/s)")
        fig.legend(loc="outside upper center", ncols=2)
    return Figure(
        "figure-9",
        "Figure 9. Throughput over the RTT.",
        f"One flow on 10 Mbit/s for 300 s, no random loss, buffer 1 BDP. {seeds(plan)} The lines nearly "
        "coincide.",
        "A line chart of throughput over round-trip time for A-LIAD and CUBIC, both nearly flat.",
        fig,
        pl.DataFrame(rows),
    )


def figure_10(plan: Plan, base: pl.DataFrame) -> Figure:
    """Utilisation under random loss."""
    rows, fig, axes = [], *draw.figure(4.0, rows=2, sharex=True)
    with mpl.rc_context(draw.STYLE):
        for ax, per in zip(axes, (LOW, HIGH), strict=True):
            for i, cc in enumerate(ALGORITHMS):
                got = interval(claims.values(base, "loss", cc, "share", per=per))
                rows.append(row({"per": per, "cc": cc}, got))
                ax.bar(i, got.mean, 0.65, yerr=got.half_width, color=look(cc)["color"], error_kw=BARS)
            _mark(ax, 0, 0.8, claims.LOSS_SHARE)
            ax.set_ylim(0, 105)
            ax.set_ylabel("share of the bandwidth (%)")
            ax.grid(axis="x", visible=False)
            draw.panel_title(ax, f"PER {per * 100:g} %")
        _names(axes[-1], ALGORITHMS)
    return Figure(
        "figure-10",
        "Figure 10. Packet loss and throughput over GEO.",
        f"One flow, 10 Mbit/s, 600 ms, 300 s. {seeds(plan)} Black marks: about 60 %, which the paper says of "
        "A-LIAD without naming the packet error rate.",
        "Two bar charts of the share of the bandwidth that eight algorithms use at two packet error rates.",
        fig,
        pl.DataFrame(rows),
    )


def friendliness(plan: Plan, base: pl.DataFrame, name: str, rtt_s: float) -> Figure:
    """Figures 12 and 13: one flow of each algorithm against five of NewReno."""
    rows, fig, (ax,) = [], *draw.figure(2.7)
    alone = interval(claims.values(base, "friend", "reno", "newreno_mbps", rtt_s=rtt_s)).mean / NEWRENO_FLOWS
    reno = registry.style("reno")["colour"]
    with mpl.rc_context(draw.STYLE):
        for i, cc in enumerate(ALGORITHMS):
            x = interval(claims.values(base, "friend", cc, "mbps", rtt_s=rtt_s))
            five = claims.values(base, "friend", cc, "newreno_mbps", rtt_s=rtt_s)
            each = interval(v / NEWRENO_FLOWS for v in five)
            rows += [row({"cc": cc, "flow": "A"}, x), row({"cc": cc, "flow": "B"}, each)]
            ax.bar(i - 0.19, x.mean, 0.36, yerr=x.half_width, color=look(cc)["color"], error_kw=BARS)
            ax.bar(
                i + 0.19,
                each.mean,
                0.36,
                yerr=each.half_width,
                facecolor="white",
                edgecolor=reno,
                hatch="/////",
                linewidth=0.7,
                error_kw=BARS,
            )
            if rtt_s == SHORT_S and cc in claims.REDUCTION:
                paper = alone * (1 - claims.REDUCTION[cc] / 100)
                _mark(ax, i + 0.19, 0.4, paper)
        ax.set_ylim(bottom=0)
        ax.set_ylabel("throughput (Mbit/s)")
        ax.grid(axis="x", visible=False)
        _names(ax, ALGORITHMS)
        fig.legend(
            handles=[
                Patch(facecolor="#777777", label="group A, one flow"),
                Patch(facecolor="white", edgecolor=reno, hatch="/////", label="group B, NewReno, mean of 5"),
            ],
            loc="outside upper center",
            ncols=2,
        )
    cut = claims.reductions(base, rtt_s, ALGORITHMS)
    numbers = ", ".join(f"{cc} {np.mean(v):.0f} %" for cc, v in cut.items() if cc != claims.label("reno"))
    printed = (
        " Black marks: what group B's loss of 45 % (STCP), 38 % (A-LIAD) and 11 % (CUBIC) in the paper would "
        "leave of its throughput here."
        if rtt_s == SHORT_S
        else ""
    )
    return Figure(
        f"figure-{name}",
        f"Figure {name}. Friendliness with NewReno at {rtt_s * 1e3:g} ms.",
        f"One flow of each algorithm beside five NewReno flows, 10 Mbit/s, 300 s. {seeds(plan)} Group B "
        f"loses to {numbers}, against a sixth NewReno flow.{printed}",
        "A bar chart of the throughput of one flow of eight algorithms and of the NewReno flows beside it.",
        fig,
        pl.DataFrame(rows),
    )


def alpha() -> Figure:
    """The curve of alpha over the RTT: solution, fit and its error."""
    rtt = np.array(claims.FIT_RTTS_S)
    solved, fitted = np.asarray(analysis.alpha(rtt)), np.asarray(analysis.alpha_fit(rtt))
    fig, axes = draw.figure(3.4, rows=2, sharex=True, height_ratios=(2, 1))
    with mpl.rc_context(draw.STYLE):
        style = registry.style("a-liad")
        axes[0].semilogy(rtt * 1e3, fitted, color=style["colour"], label="fit")
        axes[0].semilogy(
            rtt[::10] * 1e3,
            solved[::10],
            "o",
            color="black",
            markersize=3.5,
            fillstyle="none",
            label="eq 11, solved",
        )
        axes[0].semilogy([75], [2], "+", color="#4477aa", markersize=10, label="reference: 2 at 75 ms")
        axes[0].set_ylabel(r"$\alpha$")
        axes[1].plot(rtt * 1e3, (fitted / solved - 1) * 100, color=style["colour"])
        axes[1].set_ylabel("error (%)")
        axes[1].set_xlabel("RTT (ms)")
        axes[1].set_xlim(0, 620)
        fig.legend(loc="outside upper center", ncols=3, columnspacing=1.0)
    worst = float(np.max(np.abs(fitted / solved - 1))) * 100
    return Figure(
        "alpha",
        "Equation 11: alpha over the RTT.",
        "The increase factor for which an epoch lasts 1.5787 s at any RTT (beta 0.46, packet error rate "
        "1e-8), solved numerically, and the fit exp(R (10.8606 + 0.6194 ln R - 0.165 R)), R in seconds, "
        f"that the controller uses; largest error {worst:.3f} % from 25 to 600 ms.",
        "A line chart of alpha over round-trip time on a logarithmic axis, and the relative error of the "
        "fit.",
        fig,
        pl.DataFrame({"rtt_s": rtt, "solved": solved, "fitted": fitted}),
    )


def _mark(ax: Axes, at: float, width: float, value: float) -> None:
    for colour, thick, order in (("white", 2.8, 4), ("black", 1.4, 5)):
        ax.plot(
            [at - width / 2, at + width / 2],
            [value, value],
            color=colour,
            linewidth=thick,
            linestyle="-" if colour == "white" else (0, (1.2, 0.6)),
            zorder=order,
        )


def _names(ax: Axes, of: Sequence[str]) -> None:
    ax.set_xticks(
        range(len(of)), [claims.label(cc) for cc in of], rotation=35, ha="right", rotation_mode="anchor"
    )
    ax.tick_params(axis="x", length=0)


def figures(plan: Plan, base: pl.DataFrame, windows: Mapping[int, Figure]) -> list[Figure]:
    """All figures in the paper's order; ``windows`` are those of windows over time, by number."""
    return [
        figure_1(plan, base),
        figure_5(plan, base),
        windows[6],
        windows[7],
        figure_8(plan, base),
        figure_9(plan, base),
        figure_10(plan, base),
        windows[11],
        friendliness(plan, base, "12", SHORT_S),
        friendliness(plan, base, "13", GEO_S),
        alpha(),
    ]
