"""Figures 6 to 11 of the TCP-STAR paper, drawn from our runs, and its page."""

from __future__ import annotations

from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from bentpipe import registry
from bentpipe.papers.tcp_star import claims, setup
from bentpipe.papers.tcp_star.claims import LABELS
from bentpipe.papers.tcp_star.setup import (
    ALGORITHMS,
    BACK,
    BDP,
    BERS,
    COUNTS,
    DESIGN,
    OFTEN,
    RARE,
    RATE_S,
    SHARERS,
    SMALL,
)
from bentpipe.studies import draw
from bentpipe.studies.assembly import Assembly, Explanation, fares_both_ways
from bentpipe.studies.claim import interval
from bentpipe.studies.design import where
from bentpipe.studies.judge import Findings, column, index_of_means, over_seeds
from bentpipe.studies.page import plus_minus
from bentpipe.studies.places import Place, PlaceKind
from bentpipe.studies.study import Figure, Section
from bentpipe.studies.tables import MEAN, Number, Numbers, choices_section, decision, means, set_up
from bentpipe.studies.text import Table
from bentpipe.studies.words import Words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as MplFigure

#: Ends of the time axes of figures 7 and 8, and start of that of figure 8, s.
STARTUP_END, OUTAGE_START, OUTAGE_END = 12.0, 8.0, 26.0

#: The look of a time that the paper prints.
PRINTED: dict[str, Any] = {"color": "black", "linewidth": 0.9, "linestyle": (0, (1, 1)), "zorder": 1.5}

LOOKS = {
    cc: draw.look(cc, 5.0 if registry.style(cc)["marker"] == "*" else 3.5, label)
    for cc, label in LABELS.items()
}

#: Rows of the tables of the runs, of one flow and of many: column, what it is, and a factor.
ALONE = (
    ("x_mbps", "throughput, Mbit/s", 1),
    ("timeouts", "timeouts", 1),
    ("resent", "segments sent again, %", 100),
    ("rwnd_share", "time held by the receiver's window, %", 100),
)
SHARED = (
    ("x_mbps", "throughput per flow, Mbit/s"),
    ("reno_mbps", "of NewReno, Mbit/s"),
    ("queue_drops", "packets lost at the queue"),
    ("jain", "Jain's index"),
)

WORDS = Words.beside(__file__)


def throughput(found: Findings) -> Figure:
    """Figure 6: throughput of one flow over the bit error rate, on a linear and a logarithmic axis."""
    by_ber = [claims.samples(found.base, "x_mbps", "loss", ber) for ber in BERS]
    got = {cc: [interval(at[LABELS[cc]]) for at in by_ber] for cc in ALGORITHMS}
    fig, axes = draw.figure(4.3, rows=2, sharex=True)
    for ax, title in zip(axes, ("(a) linear axis", "(b) logarithmic axis"), strict=True):
        for cc in ALGORITHMS:
            draw.curve(ax, range(len(BERS)), got[cc], **LOOKS[cc])
        ax.set_ylabel("throughput, Mbit/s")
        draw.panel_title(ax, title)
    axes[0].set_ylim(0, 10)
    axes[1].set(yscale="log", ylim=(0.02, 15), xlabel="bit error rate")
    axes[1].set_yticks([0.1, 1, 10], ["0.1", "1", "10"])
    axes[1].minorticks_off()
    axes[1].set_xticks(range(len(BERS)), ["0", *(f"$10^{{{round(np.log10(b))}}}$" for b in BERS[1:])])
    _legend(fig, axes[0])
    points = [draw.row({"ber": b, "cc": cc}, m) for cc in got for b, m in zip(BERS, got[cc], strict=True)]
    length = found.plan.settings["duration_s"]
    return WORDS.figure("figure-6", fig, pl.DataFrame(points), seeds=found.seeds, duration=length)


def startup(found: Findings) -> Figure:
    """Figure 7: the sending window from the start on, without errors."""
    shown = found.traces.filter((pl.col("part") == "startup") & (pl.col("t_s") <= STARTUP_END))
    window = pl.min_horizontal("cwnd", pl.lit(float(BDP)))
    data = over_seeds(shown.with_columns(value=window), "cc", "t_s")
    fig, (ax,) = draw.figure(2.5)
    draw.bands(ax, data, LOOKS, every=24)
    ax.axhline(BDP, color="black", linewidth=0.8, linestyle="--", zorder=1.5)
    ax.axvline(claims.SLOW_START_S, **PRINTED)
    ax.set(ylim=(0, 480), xlim=(0, STARTUP_END), xlabel="time, s", ylabel="sending window, segments")
    _legend(fig, ax)
    return WORDS.figure("figure-7", fig, data, bdp=BDP, interval=setup.INTERVAL_S * 1e3, seeds=found.seeds)


def congestion_windows(found: Findings, name: str, part: str) -> Figure:
    """Figures 2 and 4: windows of TCP-STAR and NewReno, means over the seeds.

    What LWC adds to Reno's at start-up, and the effect of AEN after an outage of the ACKs.
    """
    start, end, top = (0.0, STARTUP_END, 2 * BDP) if part == "startup" else (OUTAGE_START, OUTAGE_END, None)
    shown = found.traces.filter(
        (pl.col("part") == part) & pl.col("t_s").is_between(start, end) & pl.col("cc").is_in(["star", "reno"])
    )
    data = over_seeds(shown.with_columns(value=pl.col("cwnd").cast(pl.Float64)), "cc", "t_s")
    fig, (ax,) = draw.figure(2.3)
    draw.bands(ax, data, {cc: LOOKS[cc] for cc in ("star", "reno")}, every=30)
    ax.set(xlim=(start, end), xlabel="time, s", ylabel="cwnd, segments")
    _legend(fig, ax)
    if part == "outage":
        ax.axvspan(*setup.OUTAGE, color="#ececec", zorder=0.5)
    ax.set_ylim(0, top)
    return WORDS.figure(name, fig, data, seeds=found.seeds)


def outage(found: Findings) -> Figure:
    """Figure 8: throughput over time around an outage of the ACKs."""
    step = round(RATE_S / setup.INTERVAL_S)
    rate = pl.col("delivered_bytes").cast(pl.Float64).diff().over("cc", "seed") * 8e-6 / RATE_S
    bins = (
        found.traces.filter(pl.col("part") == "outage")
        .sort("cc", "seed", "t_s")
        .filter(pl.int_range(pl.len()).over("cc", "seed") % step == 0)
        .with_columns(value=rate)
        .filter(pl.col("value").is_not_null() & pl.col("t_s").is_between(OUTAGE_START, OUTAGE_END))
        .with_columns(pl.col("t_s") - RATE_S / 2)
    )
    data = over_seeds(bins, "cc", "t_s")
    fig, (ax,) = draw.figure(2.5)
    ax.axvspan(*setup.OUTAGE, color="#ececec", zorder=0.5)
    ax.axvline(claims.RESTART_S, **PRINTED)
    ax.text(sum(setup.OUTAGE) / 2, 10.15, "no ACKs", ha="center", va="bottom", fontsize=7)
    draw.bands(ax, data, LOOKS, every=5)
    ax.set(ylim=(0, 11.2), xlim=(OUTAGE_START, OUTAGE_END))
    ax.set(xticks=np.arange(OUTAGE_START, OUTAGE_END + 1, 2), xlabel="time, s", ylabel="throughput, Mbit/s")
    _legend(fig, ax)
    return WORDS.figure("figure-8", fig, data, rate=RATE_S, seeds=found.seeds)


def fairness(found: Findings, name: str, part: str, ber: float) -> Figure:
    """Figures 9, 10 and 11: Jain's index over the number of flows."""
    by_n = [claims.samples(found.base, "jain", part, ber, n) for n in COUNTS]
    got = {cc: [interval(at[LABELS[cc]]) for at in by_n] for cc in SHARERS}
    fig, (ax,) = draw.figure(2.3)
    points = pl.DataFrame(draw.family(ax, ("n", COUNTS), got, LOOKS, apart=0.5))
    ax.set(ylim=(0.5, 1.02), xticks=COUNTS, xlabel="number of flows N", ylabel="Jain's index")
    _legend(fig, ax, columns=3)
    every = claims.over(found.base, part, ber, COUNTS)
    said = {
        "index": "Jain's index of the throughputs of all flows, mean and 95 % interval over "
        f"{found.seeds} seeds",
        "apart": "Points at the same N are set apart a little.",
        "means": "Mean over all N: " + "; ".join(f"{x} {plus_minus(interval(v))}" for x, v in every.items()),
    }
    return WORDS.figure(name, fig, points.select("n", pl.exclude("n")), **said)


def _legend(fig: MplFigure, ax: Axes, columns: int = 4) -> None:
    """The protocols in their own order, in whatever order they were drawn."""
    handles, labels = ax.get_legend_handles_labels()
    drawn = dict(zip(labels, handles, strict=True))
    ordered = {label: drawn[label] for label in LABELS.values() if label in drawn}
    spaced = {"columnspacing": 0.9, "handlelength": 1.4, "handletextpad": 0.4}
    fig.legend(ordered.values(), ordered.keys(), loc="outside upper center", ncols=columns, **spaced)


def runs_section(base: pl.DataFrame) -> Section:
    """Tables of the main measures."""
    alone = [
        [f"{claims.at(ber)}: {what}", *means(claims.samples(base, name, "loss", ber), times)]
        for ber in BERS
        for name, what, times in ALONE
    ]
    with_newreno = [("mixed", ber, f"with NewReno, {claims.at(ber)}") for ber in (RARE, OFTEN)]
    shared = [
        [f"{title}, N = {n}: {what}", *means(claims.samples(base, name, part, ber, n))]
        for part, ber, title in (*with_newreno, ("same", OFTEN, f"among themselves, {claims.at(OFTEN)}"))
        for n in (COUNTS[0], COUNTS[len(COUNTS) // 2], COUNTS[-1])
        for name, what in SHARED
        if part == "mixed" or name != "reno_mbps"
    ]
    both = ("x_mbps", "reno_mbps")
    shared += [
        [f"{title}, N = {n}: Jain's index of the mean throughputs", *(f"{j:.3f}" for j in index.values())]
        for _, ber, title in with_newreno
        for n in (COUNTS[0], COUNTS[len(COUNTS) // 2], COUNTS[-1])
        for index in [index_of_means(*(claims.samples(base, c, "mixed", ber, n) for c in both))]
    ]
    one = Table([MEAN, *LABELS.values()], alone, "One flow")
    many = Table([MEAN, *(LABELS[cc] for cc in SHARERS)], shared, "Many flows")
    return Section("What the runs did", [], [one, many])


def rto_section(found: Findings) -> Section:
    """The deciding factors of claim S4: the least RTO, and AEN."""

    def cells(rto: float, *, aen: bool, slow: bool) -> list[str]:
        names = ("restart_s", "timeouts", "recovery_s", "restart_window")
        variant = setup.rto_name(rto, aen=aen, slow=slow)
        restart, timeouts, back, window = (fmean(column(found.runs, c, variant=variant)) for c in names)
        return [f"{restart:.2f}", f"{timeouts:.1f}", f"{window:.2f}", f"{back:.2f}"]

    head = ["data again at (s)", "timeouts", "window", "full rate after 12 s +"]
    rules = {False: "eq. 4 from the first ACK on", True: "slow start to ssthresh without the estimate"}
    tables = [
        Table(
            ["Least RTO", f"AEN: {head[0]}", *head[1:], f"no AEN: {head[0]}", *head[1:]],
            [
                [f"{rto:g} s", *(cell for aen in (True, False) for cell in cells(rto, aen=aen, slow=slow))]
                for rto in setup.RTOS
            ],
            WORDS.text("Around the outage", seeds=found.few_seeds, rule=rule),
        )
        for slow, rule in rules.items()
    ]
    return Section("Figure 8: what brings TCP-STAR back", WORDS.paragraphs("Figure 8"), tables)


def sections(found: Findings) -> list[Section]:
    """The behaviour of the runs, the set-up, figure 8, and the influence of the choices on the verdicts."""
    runs, chosen = runs_section(found.base), setup_section(found.base)
    return [runs, chosen, rto_section(found), _choices(found)]


def _choices(found: Findings) -> Section:
    said = WORDS.text("The choices", seeds=found.few_seeds)
    if len(found.sensitivity.variants) < len(setup.VARIANTS):
        said += " The full run tries more choices."
    said += f" {decision(found, 'Some choice changes the verdict of {}.')}"
    untouched = ", - not touched by the choice"
    return choices_section(found, said, untouched=untouched, numbers=NUMBERS)


def setup_section(base: pl.DataFrame) -> Section:
    """The values that the paper gives, and the choices with their reasons."""
    product, first = setup.RATE_BPS * 2 * setup.ONE_WAY_S / 8, COUNTS[0]
    on_wire = product / setup.SEGMENT_BYTES
    return set_up(
        WORDS.rows(
            "Set-up",
            setup=setup,
            on_wire=on_wire,
            more=product / (setup.SEGMENT_BYTES + setup.HEADER_BYTES),
            first=first,
            all_small=first * SMALL,
            places=first * SMALL - round(on_wire),
            lost=fmean(column(base, "queue_drops", part="mixed", ber=RARE, n=first)),
        )
    )


def parameters(found: Findings) -> Table:
    """Table 1 beside our choices."""
    return setup_section(found.base).tables[0]


NUMBERS = Numbers(
    "TCP-STAR's throughput less the best other's, Mbit/s (S1); time of NewReno to 432 segments, s (S3); "
    "TCP-STAR's restart, s (S4); differences of Jain's index with NewReno at 1e-8, mean over N = 20 to 50 "
    "(S5)",
    [
        Number("margin at BER 0", "S1", 0), Number("margin at BER 1e-8", "S1", 1),
        Number("margin at BER 1e-7", "S1", 2), Number("margin at BER 1e-6", "S1", 3),
        Number("NewReno full after", "S3", 0), Number("STAR's data again at", "S4", 0),
        Number("J, STAR - TCP-J", "S5", -4), Number("J, BR - STAR", "S5", -3),
    ],
    with_paper=False,
)  # fmt: skip

PLACES = (
    Place("1", "CWS, the window after a loss (pseudo code)",
        why="the rule is the controller star; its tests repeat it"),
    Place("2", "windows of TCP-STAR by LWC and of TCP-Reno (a sketch)",
        partial(congestion_windows, name="figure-2", part="startup"), needs=where(part="startup")),
    Place("3", "TCP-Reno's window (pseudo code)",
        why="the rule is the controller reno; figure 2 has its window"),
    Place("4", "AEN after a loss of data (a) and of ACKs (b) (a sketch)",
        partial(congestion_windows, name="figure-4", part="outage"), needs=where(part=("outage", "late"))),
    Place("5", "the topology of the simulations",
        why="a sender, a satellite link and a receiver; rates and delays are in table 1"),
    Place("6", "throughput over the bit error rate", throughput, ("S1", "S2"), where(part="loss")),
    Place("7", "sending windows without errors", startup, ("S3",), where(part="startup")),
    Place("8", "throughput around an outage of the ACKs", outage, ("S4", "S8"),
        where(part=("outage", "late"))),
    Place("9", "fairness beside NewReno, BER 1e-8",
        partial(fairness, name="figure-9", part="mixed", ber=1e-08), ("S5",), where(part="mixed")),
    Place("10", "fairness beside NewReno, BER 1e-6",
        partial(fairness, name="figure-10", part="mixed", ber=1e-06), ("S6",), where(part="mixed")),
    Place("11", "fairness among themselves", partial(fairness, name="figure-11", part="same", ber=1e-06),
        ("S7",), where(part=("same", "mixed"), ber=1e-06)),
    Place("1", "parameters of the simulations", table=parameters, needs=where(part="mixed", ber=1e-08, n=10),
        kind=PlaceKind.TABLE),
)  # fmt: skip


def drawn(traces: pl.DataFrame) -> pl.DataFrame:
    """The part of the traces that figures 2, 4, 7 and 8 show."""
    end = pl.when(part="startup").then(STARTUP_END).otherwise(OUTAGE_END)
    return traces.filter(pl.col("t_s") <= end).select("part", "cc", "seed", "t_s", "cwnd", "delivered_bytes")


build = Assembly(
    DESIGN,
    claims.CLAIMS,
    Explanation(lists_failing=True, fares=fares_both_ways),
    PLACES,
    sections,
    drawn=drawn,
    limits=(
        BACK,
        claims.RESTART_WITHIN_S,
        claims.COINCIDE_S,
        claims.AT_ONCE_S,
        claims.MUCH,
        claims.ALMOST_EQUAL_MBPS,
        claims.A_LITTLE,
        claims.NO_CONGESTION,
    ),
    previews=("figure-6",),
)
