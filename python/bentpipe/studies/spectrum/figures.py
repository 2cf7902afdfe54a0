"""Figures 7 to 13 of the spectrum paper, and the summary of 14 to 17, from our runs."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import polars as pl
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from bentpipe import registry
from bentpipe.studies import draw
from bentpipe.studies.claim import interval
from bentpipe.studies.spectrum import claims
from bentpipe.studies.spectrum.measure import LAST_S, rates
from bentpipe.studies.spectrum.runs import LONGER, OFTEN_LOST
from bentpipe.studies.spectrum.setup import ALGORITHMS, FRIENDLY, QUEUES, SMOOTH, label
from bentpipe.studies.study import Figure, Plan

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LINES = {"simd-8": "--", "simd-4": ":"}


def look(name: str) -> dict[str, str]:
    """Label, colour and marker of a control."""
    return {**registry.style(ALGORITHMS[name].cc), "label": label(name)}


def friendliness(plan: Plan, base: pl.DataFrame) -> Figure:
    """Figure 7: throughput over TCP's, by loss rate."""
    every = claims.loss_rates(base)
    fig, (ax,) = draw.figure(2.7)
    rows = []
    with mpl.rc_context(draw.STYLE):
        for name in FRIENDLY[1:]:
            of = look(name)
            found = [interval(claims.relative(base, name, p)) for p in every]
            rows += [
                {"control": of["label"], "p": p, "ratio": k.mean, "low": k.low, "high": k.high}
                for p, k in zip(every, found, strict=True)
            ]
            ax.errorbar(
                every,
                [k.mean for k in found],
                yerr=[k.half_width for k in found],
                color=of["colour"],
                marker=of["marker"],
                linestyle=_LINES.get(name, "-"),
                markersize=3.5,
                capsize=1.5,
                elinewidth=0.7,
                label=of["label"],
            )
        ax.axhline(1, color=registry.style("reno")["colour"], linewidth=0.8, linestyle="-.")
        ax.axhline(claims.LEAST_FRIENDLY, color="black", linewidth=0.8, linestyle=(0, (1, 1)))
        ax.set_xscale("log")
        ax.set_ylim(0.5, 1.35)
        ax.set_xlabel("loss rate p")
        ax.set_ylabel("throughput / TCP's")
        fig.legend(loc="outside upper center", ncols=2)
    return Figure(
        "figure-7",
        "Figure 7. TCP-friendliness under random losses.",
        f"One flow, infinite link, {plan.settings['rounds']} round trips ({LONGER} times as many from a "
        f"loss rate of {OFTEN_LOST:g} on, where a run is mostly timeouts); mean and 95 % interval over "
        f"{plan.settings['seeds']} seeds of the ratio to TCP under the same seed. Dotted: the 75 % that the "
        "paper gives as the least, at about 15 % loss.",
        "A line chart of throughput relative to TCP over the loss rate, one line per control.",
        fig,
        pl.DataFrame(rows),
    )


def compatibility(plan: Plan, base: pl.DataFrame, traces: pl.DataFrame) -> list[Figure]:
    """Figures 8 to 13: shares by the number of flows."""
    found = []
    number = 8
    for cc in ("simd", "aiad"):
        for queue in QUEUES:
            found.append(_share(plan, base, traces, cc, queue, number))
            number += 1
    return found


def _share(plan: Plan, base: pl.DataFrame, traces: pl.DataFrame, cc: str, queue: str, number: int) -> Figure:
    runs = claims.of(base, "share", cc=cc, queue=queue)
    links = sorted(runs["mbps"].unique().to_list())
    fig, axes = draw.figure(3.4, rows=2, columns=len(links), sharex="col", sharey="row")
    rows: list[dict[str, object]] = []
    end = float(plan.settings["share_s"])
    last = min(LAST_S, end / 2)
    highest = 2.0
    with mpl.rc_context(draw.STYLE):
        for i, mbps in enumerate(links):
            top, bottom = axes[i], axes[len(links) + i]
            at = runs.filter(pl.col("mbps") == mbps)
            counts = sorted(at["n"].unique().to_list())
            for who, name, shift in (("x", cc, 0.94), ("tcp", "tcp", 1.06)):
                of = look(name)
                means = []
                for n in counts:
                    fair = mbps / (2 * n)
                    got = interval([v / fair for v in at.filter(pl.col("n") == n)[f"{who}_mbps"]])
                    means.append(got)
                    rows.append(
                        {
                            "mbps": mbps,
                            "n": n,
                            "flow": who,
                            "share": got.mean,
                            "low": got.low,
                            "high": got.high,
                        }
                    )
                    one = traces.filter(
                        (pl.col("experiment") == "share")
                        & (pl.col("cc") == cc)
                        & (pl.col("queue") == queue)
                        & (pl.col("mbps") == mbps)
                        & (pl.col("n") == n)
                        & pl.col("flow").str.starts_with(f"{who}-")
                    )
                    each = [v / fair for v in rates(one, end - last, end).values()]
                    highest = max(highest, *each)
                    top.plot(
                        [2 * n * shift] * len(each),
                        each,
                        of["marker"],
                        color=of["colour"],
                        markersize=1.6,
                        alpha=0.5,
                    )
                top.errorbar(
                    [2 * n * shift for n in counts],
                    [k.mean for k in means],
                    yerr=[k.half_width for k in means],
                    color=of["colour"],
                    marker=of["marker"],
                    markersize=4,
                    capsize=1.5,
                    elinewidth=0.7,
                )
            loss = [interval([100 * v for v in at.filter(pl.col("n") == n)["loss"]]) for n in counts]
            bottom.errorbar(
                [2 * n for n in counts],
                [k.mean for k in loss],
                yerr=[k.half_width for k in loss],
                color="#555555",
                marker=".",
                capsize=1.5,
                elinewidth=0.7,
            )
            rows += [
                {"mbps": mbps, "n": n, "flow": "loss, %", "share": k.mean, "low": k.low, "high": k.high}
                for n, k in zip(counts, loss, strict=True)
            ]
            top.axhline(1, color="black", linewidth=0.6, linestyle=(0, (1, 1)), zorder=1.5)
            bottom.set_ylim(bottom=0)
            _counts_axis(bottom, [2 * n for n in counts])
            draw.panel_title(top, f"{mbps:g} Mbit/s")
            bottom.set_xlabel("flows (half TCP)")
        axes[0].set_ylim(0, 1.05 * highest)
        axes[0].set_ylabel("throughput / fair share")
        axes[len(links)].set_ylabel("lost or marked (%)" if queue == "red-ecn" else "lost (%)")
        fig.legend(handles=_handles((cc, "tcp")), loc="outside upper center", ncols=2)
    return Figure(
        f"figure-{number}",
        f"Figure {number}. TCP competing with {label(cc)}, {QUEUES[queue]}.",
        f"Throughput of a flow in the last {last:g} of {end:g} s over an equal share of the link. Large "
        "marks: mean of the group with the 95 % interval over the seeds "
        f"({', '.join(_seeds(runs, m) for m in links)}); small marks: single flows of seed "
        f"{plan.settings['trace_seed']}. Below: share of the packets "
        f"{'marked or lost' if queue == 'red-ecn' else 'lost'} at the bottleneck.",
        "Charts of the flows' throughput over the number of flows, and of the loss rate below.",
        fig,
        pl.DataFrame(rows),
    )


def _seeds(runs: pl.DataFrame, mbps: float) -> str:
    found = runs.filter(pl.col("mbps") == mbps)["seed"].n_unique()
    return f"{found} at {mbps:g} Mbit/s"


def _counts_axis(ax: Axes, counts: list[int]) -> None:
    ax.set_xscale("log", base=2)
    ends = (counts[0] / 1.6, counts[-1] * 1.6)
    ax.set_xlim(*ends)
    shown = counts if len(counts) < 5 else counts[::2]
    ax.set_xticks(shown, [str(c) for c in shown])
    ax.minorticks_off()


def _handles(names: tuple[str, ...]) -> list[Line2D]:
    looks = [look(n) for n in names]
    return [
        Line2D([], [], color=k["colour"], marker=k["marker"], markersize=4, label=k["label"]) for k in looks
    ]


def variation(plan: Plan, base: pl.DataFrame) -> Figure:
    """The coefficients of variation behind figures 14 to 17."""
    links = sorted(claims.of(base, "smooth")["mbps"].unique().to_list(), reverse=True)
    cells = [(mbps, queue) for mbps in links for queue in ("red-ecn", "red")]
    fig, axes = draw.figure(1.75 * len(links), rows=len(links), columns=2, sharex=True, sharey="row")
    rows: list[dict[str, Any]] = []
    with mpl.rc_context(draw.STYLE):
        for ax, (mbps, queue) in zip(axes, cells, strict=True):
            at = claims.of(base, "smooth", mbps=mbps, queue=queue)
            for i, cc in enumerate(SMOOTH):
                for who, name, shift in (("x", cc, -0.2), ("tcp", "tcp", 0.2)):
                    got = interval(claims.of_cc(at, cc)[f"{who}_cov"])
                    rows.append(
                        {
                            "mbps": mbps,
                            "queue": queue,
                            "control": cc,
                            "flow": who,
                            "cov": got.mean,
                            "low": got.low,
                            "high": got.high,
                        }
                    )
                    ax.bar(
                        i + shift,
                        got.mean,
                        0.38,
                        yerr=got.half_width,
                        color=look(name)["colour"],
                        error_kw={"elinewidth": 0.7, "capsize": 1.5},
                    )
            ax.set_xticks(range(len(SMOOTH)), [label(cc).split("(")[0] for cc in SMOOTH])
            ax.tick_params(axis="x", length=0)
            ax.grid(axis="x", visible=False)
            loss = fmean(at["loss"].to_list())
            draw.panel_title(ax, f"{mbps:g} Mbit/s{', ECN' if queue == 'red-ecn' else ''} ({loss:.1%})")
        for ax in axes[::2]:
            ax.set_ylabel("coeff. of variation")
        beside = Patch(color=look("tcp")["colour"], label="TCP beside it")
        fig.legend(handles=[beside], loc="outside upper center")
    return Figure(
        "figure-14-17-variation",
        "Figures 14 to 17 in numbers. Variation of the throughput.",
        "Coefficient of variation of a flow's throughput over 0.2 s under RED, mean over 16 flows of each "
        "kind; "
        f"95 % interval over {plan.settings['load_seeds']} seeds. In brackets: packets dropped or marked.",
        "Bar charts of the coefficient of variation for four controls and the TCP flows beside them.",
        fig,
        pl.DataFrame(rows),
    )
