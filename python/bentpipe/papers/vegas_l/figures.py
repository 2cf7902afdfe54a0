"""Figures 4, 5 and 6 of the Vegas-L paper, drawn from our runs, and its page."""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean
from typing import Any

import polars as pl
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from bentpipe import registry
from bentpipe.papers.vegas_l import claims, setup
from bentpipe.papers.vegas_l.claims import LABELS
from bentpipe.papers.vegas_l.setup import (
    ALGORITHMS,
    BASE,
    DESIGN,
    ENDS,
    HIGH,
    LOW,
    MSS_BYTES,
    STATIONS,
    STEADY,
    TRACE_SEED,
)
from bentpipe.studies import draw
from bentpipe.studies.assembly import Assembly, Explanation
from bentpipe.studies.claim import interval
from bentpipe.studies.design import Where
from bentpipe.studies.judge import Findings
from bentpipe.studies.page import plus_minus
from bentpipe.studies.places import Place
from bentpipe.studies.study import Figure, Section
from bentpipe.studies.tables import MEAN, Number, Numbers, choices_section, decision, held, means, set_up
from bentpipe.studies.text import Table
from bentpipe.studies.words import Words

WORDS = Words.beside(__file__)

PANELS = ((LOW, "(a) PER 10$^{-6}$"), (HIGH, "(b) PER 10$^{-3}$"))


def topology(_: Findings) -> Figure:
    """Figure 3: the places of the terminals and the satellite."""
    fig, (ax,) = draw.figure(2.3)
    west, east = BASE.satellite
    ax.plot(
        [west, east], [0, 0], color="black", linewidth=3, solid_capstyle="butt", label="satellite, by seed"
    )
    middle, rows = (west + east) / 2, []
    for (source, sink), style, name in zip(ENDS, ("-", "--"), ("flow 1", "flow 2"), strict=True):
        ends = [STATIONS[of] for of in (source, BASE.destination if sink == "washington" else sink)]
        at = [(longitude % 360, latitude) for latitude, longitude in ends]
        way = [at[0], (middle, 0.0), at[1]]
        ax.plot(*zip(*way, strict=True), style, color="#4477aa", linewidth=0.9, label=name)
        for (x, y), place in zip(at, (source, sink), strict=True):
            ax.plot(x, y, "o", color="#4477aa", markersize=3)
            # Above for flow 1; to the right, away from the lines, for flow 2.
            offset, ha, va = ((0, 3), "center", "bottom") if name == "flow 1" else ((5, -1), "left", "top")
            look: dict[str, Any] = {"textcoords": "offset points", "ha": ha, "va": va, "fontsize": 7}
            ax.annotate(place.replace("-", " ").title(), (x, y), offset, **look)
            rows.append({"flow": name, "station": place, "latitude": y, "longitude": x})
    degrees = range(60, 331, 45)
    ax.set_xticks(degrees, [f"{d}E" if d <= 180 else f"{360 - d}W" for d in degrees])
    ax.set(ylim=(-8, 55), xlim=(55, 345), xlabel="longitude", ylabel="latitude, degrees north")
    fig.legend(loc="outside upper center", ncols=3)
    return WORDS.figure("figure-3", fig, pl.DataFrame(rows), west=west, east=east)


def windows(found: Findings) -> Figure:
    """Figure 4: the window of flow 1 over time in one run of each algorithm."""
    data = found.traces.filter(pl.col("flow") == "x").select("per", "cc", "seed", "t_s", "cwnd")
    fig, axes = draw.figure(3.9, rows=2, sharex=True)
    for ax, (per, title) in zip(axes, PANELS, strict=True):
        for cc in ALGORITHMS:
            one = data.filter((pl.col("per") == per) & (pl.col("cc") == cc)).sort("t_s")
            every = max(1, one.height // 8)
            ax.plot(one["t_s"], one["cwnd"], linewidth=0.9, markevery=every, **draw.look(cc))
        if per == LOW:
            ax.axhline(claims.STEADY_WINDOW, color="black", linewidth=0.8, linestyle="--", zorder=1.5)
        ax.set_ylim(bottom=0)
        ax.set(xlim=(0, float(found.plan.settings["duration_s"])), ylabel="cwnd, packets")
        draw.panel_title(ax, title)
    axes[-1].set_xlabel("time, s")
    paper = Line2D([], [], color="black", linewidth=0.8, linestyle="--", label="paper, Vegas-L")
    handles = [*(Line2D([], [], **draw.look(cc)) for cc in ALGORITHMS), paper]
    draw.legend(fig, *handles, ncols=3, columnspacing=1.2, handlelength=1.8)
    low, high = (
        {name: plus_minus(interval(x)) for name, x in claims.samples(found.base, "cwnd_steady", per).items()}
        for per in (LOW, HIGH)
    )
    return WORDS.figure(
        "figure-4",
        fig,
        data,
        seed=TRACE_SEED,
        longitude=BASE.longitude(TRACE_SEED),
        steady=1 - STEADY,
        seeds=found.seeds,
        low=low,
        high=high,
    )


def throughput(found: Findings) -> Figure:
    """Figure 5: mean throughput of flow 1 and of NewReno beside it."""
    printed: dict[float, tuple[dict[str, float], dict[str, float]]] = {
        LOW: (claims.THROUGHPUT, claims.NEWRENO_AGAINST),
        HIGH: ({}, dict.fromkeys(ALGORITHMS, claims.NEWRENO_HIGH)),
    }
    rows = []
    fig, axes = draw.figure(3.9, rows=2, sharex=True)
    width = 0.36
    for ax, (per, title) in zip(axes, PANELS, strict=True):
        x, newreno = (claims.samples(found.base, c, per) for c in ("x_mbps", "newreno_mbps"))
        for i, (cc, label) in enumerate(LABELS.items()):
            colour = registry.style(cc)["colour"]
            full = {"facecolor": colour, "edgecolor": colour, "linewidth": 0.7}
            for who, values, at, look, paper in (
                ("flow 1", x, i - width / 2, full, printed[per][0].get(cc)),
                ("NewReno", newreno, i + width / 2, draw.hatched("reno"), printed[per][1].get(cc)),
            ):
                got = interval(values[label])
                rows.append(draw.row({"per": per, "cc": cc, "flow": who}, got, paper=paper))
                draw.bars(ax, [at], [got], width, **look)
                if paper is not None:
                    draw.printed(ax, at, width, paper)
        ax.set_ylabel("throughput, Mbit/s")
        ax.grid(axis="x", visible=False)
        draw.panel_title(ax, title)
    draw.names(axes[-1], list(LABELS.values()))
    own = Patch(facecolor="#8a8a8a", label="flow 1")
    beside = Patch(**(draw.hatched("reno") | {"linewidth": None}), label="NewReno beside it")
    mark = Line2D([], [], color="black", linewidth=1.6, linestyle=(0, (1, 0.6)), label="paper")
    draw.legend(fig, own, beside, mark, columnspacing=1.2)
    duration_s = found.plan.settings["duration_s"]
    return WORDS.figure("figure-5", fig, pl.DataFrame(rows), duration=duration_s, seeds=found.seeds)


def fairness(found: Findings) -> Figure:
    """Figure 6: Jain's index of the two flows."""
    rows = []
    fig, axes = draw.figure(2.1, columns=2, sharey=True)
    for ax, (per, title) in zip(axes, PANELS, strict=True):
        groups = claims.samples(found.base, "jain", per)
        for i, (cc, label) in enumerate(LABELS.items()):
            got = interval(groups[label])
            paper = claims.FAIRNESS.get(cc) if per == LOW else None
            rows.append(draw.row({"per": per, "cc": cc, "flow": "both flows"}, got, paper=paper))
            draw.bars(ax, [i], [got], 0.62, cap=2.5, color=registry.style(cc)["colour"])
            if paper is not None:
                draw.printed(ax, i, 0.62, paper)
        ax.set_ylim(0.5, 1.02)
        draw.names(ax, list(LABELS.values()), slanted=True)
        draw.panel_title(ax, title)
    axes[0].set_ylabel("Jain's index")
    return WORDS.figure("figure-6", fig, pl.DataFrame(rows), seeds=found.seeds)


#: Rows of the table of the runs: column, and what it is.
MEASURES = (
    ("x_mbps", "throughput of flow 1, Mbit/s"),
    ("newreno_mbps", "throughput of NewReno, Mbit/s"),
    ("jain", "Jain's index"),
    ("cwnd_steady", "window of flow 1, packets"),
    ("cwnd_cv", "its variation in the second half"),
    ("cuts", "its cuts per 100 s"),
    ("x_rtt_s", "RTT of flow 1, s"),
    ("newreno_rtt_s", "RTT of NewReno, s"),
    ("queue", "mean queue, packets"),
    ("utilisation", "share of the downlink used"),
    ("x_lost", "packets of flow 1 lost"),
    ("newreno_lost", "packets of NewReno lost"),
    ("newreno_uplink_lost", "of these at its own uplink"),
    ("x_timeouts", "timeouts of flow 1"),
    ("newreno_timeouts", "timeouts of NewReno"),
)


def _rows(found: Findings, per: float) -> list[list[str]]:
    listed = [[what, *means(claims.samples(found.base, column, per))] for column, what in MEASURES]
    place = next(i for i, (column, _) in enumerate(MEASURES) if column == "jain")
    of_means = [f"{j:.3f}" for j in claims.index_of_means(found.base, per).values()]
    return [*listed[: place + 1], ["Jain's index of the mean throughputs", *of_means], *listed[place + 1 :]]


def runs_section(found: Findings) -> Section:
    """A table of the main measures per algorithm and error rate."""
    return Section(
        "What the runs did",
        WORDS.paragraphs("What the runs did"),
        [
            Table(
                [MEAN, *LABELS.values()],
                _rows(found, per),
                f"PER {per:g} ({name}), by the algorithm of flow 1",
            )
            for per, name in ((LOW, "low"), (HIGH, "high"))
        ]
        + [inside_table(found)],
    )


def inside_table(found: Findings) -> Table:
    """Results of the probes of Vegas's family: how often alpha and Diff exceed the initial alpha."""
    of = {cc: found.base.filter(pl.col("cc") == cc) for cc in claims.FAMILY}

    def row(what: str, column: str, per: float) -> list[str]:
        values = {cc: runs.filter(pl.col("per") == per)[column].to_list() for cc, runs in of.items()}
        return [f"{what}, PER {per:g}", *means(values, 100.0)]

    listed = (("Diff > 1", "diff_above"), ("alpha > 1", "alpha_above"))
    return Table(
        [MEAN, *(LABELS[cc] for cc in claims.FAMILY)],
        [row(what, column, per) for per in (LOW, HIGH) for what, column in listed],
        "Inside flow 1, sampled every second: the share of the run with Diff, the packets that it believes "
        "queued, or alpha above 1 packet, % (Vegas's alpha is fixed)",
    )


def sections(found: Findings) -> list[Section]:
    """The behaviour of the runs, the set-up, and the influence of the choices on the verdicts."""
    return [runs_section(found), setup_section(found.base), _choices(found)]


def _choices(found: Findings) -> Section:
    choices, holding = found.sensitivity.choices, held(found)
    of_base = holding.pop("base")
    best = max(holding, key=lambda name: holding[name])
    said = WORDS.text(
        "The choices",
        seeds=found.few_seeds,
        tried=len(choices),
        all=len(setup.VARIANTS),
        decision=decision(found),
        nearest=choices[best],
        held=holding[best],
        of_base=of_base,
    )
    return choices_section(found, said, numbers=NUMBERS)


def setup_section(base: pl.DataFrame) -> Section:
    """The values that the paper gives, and the choices with their reasons."""
    least = {who: base[f"{who}_rtt_min_s"].to_list() for who in ("x", "newreno")}
    span = {who: f"{min(of) * 1e3:.0f} to {max(of) * 1e3:.0f}" for who, of in least.items()}
    wire = {cc: MSS_BYTES + BASE.header_bytes(cc) for cc in (*ALGORITHMS, "reno")}
    of_l = claims.implied_rtt(claims.STEADY_WINDOW, claims.THROUGHPUT["vegas-l"])
    of_vegas = claims.implied_rtt(claims.STEADY_WINDOW / claims.WINDOW_OVER_VEGAS, claims.THROUGHPUT["vegas"])
    of_reno = claims.implied_rtt(claims.RENO_CONSTANT / HIGH**0.5, claims.NEWRENO_HIGH)
    given = WORDS.rows(
        "Set-up",
        span=span["x"],
        span_newreno=span["newreno"],
        second=-BASE.second_satellite,
        apart_ms=setup.between_satellites_s(fmean(BASE.satellite), BASE.second_satellite) * 1e3,
        setup=setup,
        bdp=setup.RATE_BPS * fmean(least["x"]) / 8 / wire["vegas"],
        wire=wire,
        ack=setup.TCP_IP_BYTES + BASE.link_bytes,
    )
    chosen = set_up(given, WORDS.paragraphs("About the set-up", of_l=of_l, of_reno=of_reno))
    implied = WORDS.rows("Implied round trips", of_l=of_l, of_vegas=of_vegas, of_reno=of_reno)
    table = Table(
        ["Flow", "The paper's numbers", "By", "Implied RTT, queue included"],
        implied,
        "What the paper's own numbers imply: about two satellites (or a long standing queue) for flow 1, one "
        "for flow 2",
    )
    return replace(chosen, tables=[*chosen.tables, table])


NUMBERS = Numbers(
    "Means of the quantities for which the paper prints a number (packets, Mbit/s)",
    [
        Number("cwnd of Vegas-L", "V1", 0), Number("over Vegas", "V1", 1), Number("Vegas", "V2", 1),
        Number("Vegas-L", "V2", 0), Number("NewReno, Vegas", "V2", 3), Number("NewReno, Vegas-L", "V2", 2),
        Number("J Vegas", "V3", 0), Number("J Veno", "V3", 1), Number("NewReno, high PER", "V5", 0),
    ],
)  # fmt: skip

PLACES = (
    Place("1", "the algorithm of Vegas-A (pseudo code)", claims=("V4",),
        why="the rule is the controller vegas-a; the reason of V4 is a proof about its lines"),
    Place("2", "the algorithm of Vegas-L (pseudo code)",
        why="the rule is the controller vegas-l; its tests repeat it"),
    Place("3", "the topology of the satellite network", topology),
    Place("4", "windows at two packet error rates", windows, ("V1", "V4"), Where()),
    Place("5", "throughput at two packet error rates", throughput, ("V2", "V5"), Where()),
    Place("6", "fairness at two packet error rates", fairness, ("V3", "V6"), Where()),
)  # fmt: skip


def drawn(traces: pl.DataFrame) -> pl.DataFrame:
    """The part of the traces that figure 4 shows."""
    return traces.filter(flow="x").select("per", "cc", "seed", "flow", "t_s", "cwnd")


build = Assembly(
    DESIGN,
    claims.CLAIMS,
    Explanation(clause_if_failing=True, counts_choices=True),
    PLACES,
    sections,
    drawn=drawn,
    limits=(setup.CUT, claims.MUCH_SMALLER),
    previews=("figure-4",),
)
