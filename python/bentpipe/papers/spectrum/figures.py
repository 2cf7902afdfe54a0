"""Figures 7 to 22 of the spectrum paper, from our runs, and its page."""

from __future__ import annotations

import math
from functools import partial
from itertools import product
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from bentpipe.analysis.traces import columns, cuts
from bentpipe.papers.spectrum import claims, closed_forms, curves, measure, scenarios, setup, tables
from bentpipe.papers.spectrum.closed_forms import TABLE_6
from bentpipe.papers.spectrum.curves import COLOURS, LOOKS, THIN, line
from bentpipe.papers.spectrum.measure import AHEAD_S, LAST_S, SHORT_S, STRETCH_S, rates
from bentpipe.papers.spectrum.reasons import CLAIMS, fares
from bentpipe.papers.spectrum.scenarios import AFTER, CHAIN, FIVE, FRIENDLY, LABELS, QUEUES, SMOOTH
from bentpipe.papers.spectrum.tables import said
from bentpipe.studies import draw
from bentpipe.studies.assembly import Assembly, Explanation
from bentpipe.studies.claim import interval
from bentpipe.studies.design import where
from bentpipe.studies.judge import Findings, column
from bentpipe.studies.places import Place, PlaceKind
from bentpipe.studies.study import Figure, Section
from bentpipe.studies.tables import choices_section, decision
from bentpipe.studies.words import Words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes

    from bentpipe.analysis._values import Array
    from bentpipe.stats import Interval
    from bentpipe.studies.study import Key


WORDS = Words.beside(__file__)


def _row(keys: Mapping[str, Key], name: str, got: Interval) -> dict[str, Key]:
    return {**keys, name: got.centre, "low": got.low, "high": got.high}


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
        longer=scenarios.LONGER,
        often=scenarios.OFTEN_LOST,
        seeds=found.seeds,
    )


def compatibility(found: Findings, number: int, cc: str, queue: str) -> Figure:
    """Figures 8 to 13: shares by the number of flows."""
    runs = where(experiment="share", cc=cc, queue=queue).rows(found.base).sort("seed")
    links = claims.present(runs, "mbps")
    fig, axes = draw.figure(3.4, rows=2, columns=len(links), sharex="col", sharey="row")
    rows: list[dict[str, Key]] = []
    settings, highest = found.plan.settings, 2.0
    ends = {m: float(settings["share_s" if m < scenarios.FAST_MBPS else "share_fast_s"]) for m in links}
    last = min(LAST_S, min(ends.values()) / 2)
    for i, mbps in enumerate(links):
        end = ends[mbps]
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
        shown = flows_of if len(flows_of) < 5 else [count for count in flows_of if count in (2, 8, 32, 128)]
        bottom.set_xticks(shown, [str(c) for c in shown])
        bottom.minorticks_off()
        draw.panel_title(top, f"{mbps:g} Mbit/s")
    marked = "marked or lost" if queue == "red-ecn" else "lost"
    axes[0].set(ylim=(0, 1.05 * highest), ylabel="throughput / fair share")
    axes[len(links)].set_ylabel("lost or marked, %" if queue == "red-ecn" else "lost, %")
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
        ends=" and ".join(f"{end:g} s at {mbps:g} Mbit/s" for mbps, end in ends.items()),
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
    axes[-1].set(ylim=(-0.22 * top, top), xlim=(start, start + STRETCH_S), xlabel="time, s")
    axes[-1].set_xticks(np.arange(start, start + STRETCH_S + 1, 5))
    marks = {"marker": "|", "linestyle": "none", "markersize": 5}
    tcp = COLOURS["tcp"]
    draw.legend(fig, line("a TCP flow", tcp, linewidth=0.9), line("cuts of the window", tcp, **marks))
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
        seeds=found.plan.settings["smooth_seeds"],
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
        "figure-14-17-variation", fig, pl.DataFrame(rows), seeds=found.plan.settings["smooth_seeds"]
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
        ax.set_ylabel("cwnd, packets")
    for ax in axes[-2:]:
        ax.set_xlabel("time, s")
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
                i * 2 * scenarios.SQUARE_HALF_S,
                (2 * i + 1) * scenarios.SQUARE_HALF_S,
                color="#eeeeee",
                zorder=0,
            )
        draw.panel_title(ax, LABELS[cc])
        ax.set_ylabel("cwnd, packets")
    axes[-1].set(xlim=(80, 200), ylim=(0, 32), xlabel="time, s")
    draw.legend(fig, Patch(color="#eeeeee", label="constant-rate traffic"))
    return WORDS.figure("figure-19", fig, pl.concat(rows), seed=setup.TRACE_SEED)


def converging(found: Findings, number: int, name: str, what: str) -> Figure:
    """Figures 21 and 22: the windows of two flows after the background has ended."""
    at, experiment = float(found.plan.settings["switch_s"]), f"chain-{number}"
    printed = (TABLE_6["to_fair"], TABLE_6["to_full"])[number - 1]
    flows = (("s1", "flow 1", 1.0), ("s2", "flow 2", 0.45))
    # The way to fairness takes IIAD some 400 s and TCP some 10 s: each panel is as long as its run.
    own = number == 1
    fig, axes = draw.figure(5.6 if own else 4.8, rows=4, sharex=not own, sharey=True)
    rows: list[pl.DataFrame] = []
    for ax, cc in zip(axes, CHAIN, strict=True):
        for flow, _, alpha in flows:
            t, cwnd = columns(_kept(found, experiment, cc), flow, "cwnd")
            part = (t > at - 20) & (t < at + (math.inf if own else 180))
            thin = _thinned(t[part] - at, cwnd[part], 0.3)
            rows.append(_window(ax, *thin, cc, {"control": LABELS[cc], "flow": flow}, alpha))
        ax.axvline(0, color="black", linewidth=0.6, linestyle=":")
        rounds = said(column(found.base, name, experiment=experiment, cc=cc))
        draw.panel_title(ax, f"{LABELS[cc]}: {rounds} (paper {printed[cc]:g})")
        end = AFTER[cc] * float(found.plan.settings["after_s"]) if own else 180
        ax.set(ylabel="cwnd", xlim=(-end / 20, end), ylim=(0, 130))
    axes[-1].set_xlabel("time since the background ended, s")
    dark = COLOURS["tcp"]
    draw.legend(fig, *(line(label, dark, alpha=alpha, linewidth=1.2) for _, label, alpha in flows))
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


def sections(found: Findings) -> list[Section]:
    """Simulation and analysis, the set-up, and the influence of the choices on the verdicts."""
    return [tables.runs_section(found), tables.setup_section(), _choices(found)]


def comparable(few: pl.DataFrame) -> pl.DataFrame:
    """The runs without those of figures 8 to 13 with seeds that no choice was tried with."""
    shares = where(experiment="share").rows(few)
    singles = [variant.name for variant in setup.VARIANTS]
    tried = shares.filter(pl.col("variant").is_in(singles))["seed"].unique().to_list()
    if not tried:
        return few
    others = few.filter(pl.col("experiment") != "share")
    return pl.concat([others, shares.filter(pl.col("seed").is_in(tried))])


def _choices(found: Findings) -> Section:
    verdicts = decision(found, "A choice decides the verdict of {}.", "No choice decides a verdict.")
    said = f"{WORDS.text('The choices', seeds=found.few_seeds)} {verdicts}"
    return choices_section(
        found,
        said,
        untouched=", - not touched by the choice",
        title="How far the choices decide the verdicts",
        changes="verdicts that change",
    )


PLACES = (
    Place("1", "patterns of increase of the window (a sketch)", curves.patterns),
    Place("2", "the spectrum of controls in the plane of k and l", curves.family, ("K1", "K12")),
    Place("3", "convergence of two users (a sketch)", claims=("K12",),
        why="a sketch of one step; figure 4b has the whole way by number, and K12 checks it"),
    Place("4a", "where SIMD reaches a full link fairer than AIMD", curves.crossing, ("K12",),
        only="section 4.2"),
    Place("4b", "the way of two windows to fairness", curves.trajectories, ("K12",), only="epochs"),
    Place("4c", "where SIMD converges faster than AIMD", curves.region, ("K11",), only="figure 4c"),
    Place("5", "smoothness against aggressiveness and responsiveness, m = 2",
        partial(curves.tradeoff, number=5, m=2.0), ("K11",), only="section 5"),
    Place("6", "the same, m = 5", partial(curves.tradeoff, number=6, m=5.0)),
    Place("7", "TCP-friendliness over the loss rate", friendliness, ("K2", "K13"),
        where(experiment="friendly")),
    *(
        Place(
            str(number),
            f"{LABELS[cc]} beside TCP, {QUEUES[queue]}",
            partial(compatibility, number=number, cc=cc, queue=queue),
            (claim,),
            where(experiment="share", cc=cc),
            only=only,
        )
        for number, cc, claim, queue, only in (
            (8, "simd", "K3", "red-ecn", "RED with ECN"),
            (9, "simd", "K3", "red", "RED[,:]"),
            (10, "simd", "K3", "drop-tail", "drop-tail"),
            (11, "aiad", "K4", "red-ecn", "RED with ECN"),
            (12, "aiad", "K4", "red", "RED[,:]"),
            (13, "aiad", "K4", "drop-tail", "drop-tail"),
        )
    ),
    *(
        Place(
            str(number),
            f"throughput over time at {mbps:g} Mbit/s, {QUEUES[queue]}",
            partial(throughput, number=number, mbps=mbps, queue=queue),
            ("K5",),
            where(experiment="smooth"),
            only=f"{mbps:g} Mbit/s, {only}",
        )
        for number, mbps, queue, only in (
            (14, 60.0, "red-ecn", "RED with ECN"),
            (15, 60.0, "red", "RED[,:]"),
            (16, 15.0, "red-ecn", "RED with ECN"),
            (17, 15.0, "red", "RED[,:]"),
        )
    ),
    Place("figure-14-17-variation", "the variation behind figures 14 to 17", variation, ("K5",),
        where(experiment="smooth"), kind=PlaceKind.OWN),
    Place("18", "the window as the load doubles (a) and halves (b)", steps, ("K6", "K7"),
        where(experiment=("load-doubles", "load-halves"))),
    Place("19", "response to a square wave", impulse, ("K8",), where(experiment="square")),
    Place("20", "the topology of the test of convergence",
        why="three links in a row; the set-up's table has rates, delays and flows"),
    Place("21", "two flows converge to fairness",
        partial(
            converging, number=1, name="t2", what="round trips until they differ by less than 10 packets"
        ), ("K9",), where(experiment="chain-1")),
    Place("22", "two flows converge to efficiency",
        partial(converging, number=2, name="t1", what="round trips until they fill the link"), ("K10",),
        where(experiment="chain-2")),
    Place("23", "the window between losses (a sketch of appendix A)", claims=("K1",), only="appendix A",
        why="the law of a period between losses; K1 checks the throughput that follows from it"),
    Place("24", "bounded increases and decreases (a sketch of appendix B)", claims=("K12",),
        only="equation 14",
        why="a sketch of the proof; K12 checks its condition, equation 14, on random starts"),
    Place("1", "special cases: constants of the increase", table=tables.special_cases, claims=("K1",),
        only="table 1", kind=PlaceKind.TABLE),
    Place("2", "times to efficiency and fairness in closed form", claims=("K11",), only="table 6",
        why="formulas; table 6 has their values", kind=PlaceKind.TABLE),
    Place("3", "smoothness, aggressiveness and responsiveness in closed form", table=tables.indices,
        claims=("K11",), only="table 3", kind=PlaceKind.TABLE),
    Place("4", "the configuration of the network", table=tables.configuration, kind=PlaceKind.TABLE),
    Place("5", "response to the square wave in numbers", table=tables.square_wave, claims=("K8", "K11"),
        needs=where(experiment="square"), only="table 5", kind=PlaceKind.TABLE),
    Place("6", "times of convergence in numbers", table=tables.convergence, claims=("K9", "K10", "K11"),
        needs=where(experiment=("chain-1", "chain-2")), only="table 6", kind=PlaceKind.TABLE),
)  # fmt: skip


def drawn(traces: pl.DataFrame) -> pl.DataFrame:
    """The part of the traces that figures 8 to 22 show."""
    size, t, flow, of = setup.DESIGN.sizes["full"], pl.col("t_s"), pl.col("flow"), pl.col("experiment")
    slow = pl.col("mbps") < scenarios.FAST_MBPS
    end = pl.when(slow).then(size.share_s).otherwise(size.share_fast_s)
    after_step, after_switch = t - size.step_at_s, t - size.switch_s
    parts = [
        traces.filter(of == "share", t >= end - LAST_S),
        traces.filter(of == "smooth", flow.is_in(["x-1", "tcp-1"]), t > size.smooth_s - STRETCH_S - 1),
        traces.filter(of.is_in(list(scenarios.STEPS)), flow == "x-1", after_step.is_between(-20, 40)),
        _first(traces.filter(of == "square", flow == "x", t.is_between(80, 200)), t / 0.1),
        _first(traces.filter(of.is_in(list(scenarios.CHAINS)), after_switch >= -20), after_switch / 0.3),
    ]
    keys = ("experiment", "cc", "queue", "mbps", "n", "seed", "flow")
    return pl.concat(parts).select(*keys, "t_s", "cwnd", "delivered_bytes")


def _first(traces: pl.DataFrame, step: pl.Expr) -> pl.DataFrame:
    """The first row of each step of a flow, as `_thinned` takes."""
    by = traces.sort("t_s").with_columns(step=step.floor())
    return by.group_by("experiment", "cc", "flow", "step", maintain_order=True).first().select(traces.columns)


build = Assembly(
    setup.DESIGN,
    CLAIMS,
    Explanation(clause_if_failing=True, fares=fares),
    PLACES,
    sections,
    comparable,
    drawn=drawn,
    limits=(
        measure.WITHIN,
        closed_forms.WITHIN,
        closed_forms.CLOSED,
        closed_forms.JUST_IF,
        closed_forms.SMOOTHEST,
        closed_forms.DIP_WITHIN,
        claims.CLOSE,
        claims.VERY_HIGH,
        claims.MUCH,
        claims.DEGRADED,
        claims.NEAR_START,
    ),
    previews=("figure-8", "figure-21"),
)
