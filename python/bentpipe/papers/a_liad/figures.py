"""Figures 1 and 5 to 13 of the A-LIAD paper, the curve of alpha, and its page."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from bentpipe.analysis import a_liad as analysis
from bentpipe.papers.a_liad import claims, setup
from bentpipe.papers.a_liad.claims import LABELS, values
from bentpipe.papers.a_liad.setup import (
    ALGORITHMS,
    BASE,
    BDP,
    CUT,
    DESIGN,
    ELAPSED_S,
    GEO_S,
    HIGH,
    INTRA_S,
    LOW,
    NONE,
    RTTS_S,
    SHORT_S,
)
from bentpipe.studies import draw
from bentpipe.studies.assembly import Assembly, Explanation
from bentpipe.studies.claim import Tally, interval
from bentpipe.studies.design import where
from bentpipe.studies.judge import Findings
from bentpipe.studies.page import plain, plus_minus
from bentpipe.studies.places import Place, PlaceKind
from bentpipe.studies.study import Figure, Section
from bentpipe.studies.tables import MARKS, Number, Numbers, choices_section, decision, set_up
from bentpipe.studies.text import Table
from bentpipe.studies.words import Words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as MplFigure

    from bentpipe.stats import Interval

RTT_MS = [rtt * 1e3 for rtt in RTTS_S]
PERS = (NONE, LOW, HIGH)
SMALL = {"markersize": 3.5}
THIN: dict[str, Any] = {"elinewidth": 0.7, "capsize": 1.8, "capthick": 0.7}
LOOKS = {cc: draw.look(cc, 4.0, label) for cc, label in LABELS.items()}

WORDS = Words.beside(__file__)


def _figure(found: Findings, name: str, fig: MplFigure, rows: list[dict[str, object]], **said: Any) -> Figure:
    seeds = f"Mean and 95 % interval over {found.seeds} seeds (Student's t)."
    return WORDS.figure(name, fig, pl.DataFrame(rows), seeds=seeds, **said)


def liad(found: Findings) -> Figure:
    """Figure 1: LIAD's rate over the RTT, by eq 9 and in simulation."""
    fig, (law, ax) = draw.figure(4.0, rows=2, sharex=True)
    many = np.linspace(RTTS_S[0], RTTS_S[-1], 100)
    window = float(analysis.window_at_loss(2.0))
    rate = np.asarray(analysis.rate(2.0, window, many)) * setup.BASE.wire_bytes * 8 / 1e9
    rows = [
        draw.row({"series": "eq 9", "rtt_ms": float(r * 1e3)}, interval([v * 1e3] * 2))
        for r, v in zip(many, rate, strict=True)
    ]
    law.plot(many * 1e3, rate, color="#777777")
    law.set_ylim(bottom=0)
    law.set_ylabel("sending rate, Gbit/s")
    draw.panel_title(law, "(a) equation 9, PER 1e-8")
    draw.panel_title(ax, "(b) simulated, 10 Mbit/s")
    for per, dash, name in ((setup.RARE, "-", "PER 1e-8"), (LOW, "--", "PER 0.1 %"), (HIGH, ":", "PER 1 %")):
        got = [interval(values(found.base, "fig1", "liad", "mbps", r, per)) for r in RTTS_S]
        rows += [draw.row({"series": name, "rtt_ms": r}, m) for r, m in zip(RTT_MS, got, strict=True)]
        draw.curve(ax, RTT_MS, got, **(LOOKS["liad"] | {"linestyle": dash, "label": name}), **THIN)
    last = got[-1].centre
    x = np.linspace(last * RTTS_S[-1] / 10, RTTS_S[-1], 100)
    ax.plot(x * 1e3, last * RTTS_S[-1] / x, color="#777777", linewidth=0.8, label="eq 9: 1/RTT")
    ax.set(ylim=(0, 10.5), xlim=(0, 620), xlabel="RTT, ms", ylabel="throughput, Mbit/s")
    fig.legend(loc="outside upper center", ncols=2, columnspacing=1.5, handlelength=3.2)
    return _figure(found, "figure-1", fig, rows, window=window)


#: The end of figure 2, s.
PHASES_S = 120.0


def phases(found: Findings) -> Figure:
    """Figure 2: A-LIAD's window from the start through some epochs."""
    data = _pick(found, "loss").filter(cc="a-liad", per=LOW).filter(pl.col("t_s") <= PHASES_S)
    fig, (ax,) = draw.figure(2.3)
    ax.plot(data["t_s"], data["cwnd"], color=LOOKS["a-liad"]["color"], label=LABELS["a-liad"])
    ax.axhline(BDP, color="black", linewidth=0.7, linestyle="--", label="BDP")
    ax.set(xlim=(0, PHASES_S), xlabel="time, s", ylabel="cwnd, packets")
    ax.set_ylim(bottom=0)
    fig.legend(loc="outside upper center", ncols=2)
    return WORDS.figure("figure-2", fig, data, seed=setup.TRACE_SEED, until=PHASES_S)


def start_up(found: Findings) -> Figure:
    """Figure 5: throughput up to several elapsed times."""
    by_time = [claims.groups(found.base, "start-up", f"at_{t}", of=ALGORITHMS) for t in ELAPSED_S]
    got = {cc: [interval(at[LABELS[cc]], most=100) for at in by_time] for cc in ALGORITHMS}
    fig, (ax, apart) = draw.figure(4.6, rows=2, sharex=True)
    rows = draw.family(ax, ("until_s", ELAPSED_S), got, LOOKS, apart=0.12, **THIN)
    ax.plot([30], [claims.START_UP_SHARE], marker="_", markersize=14, color="black", linestyle="none")
    ax.set(ylim=(0, 100), ylabel="share of the bandwidth, %")
    draw.panel_title(ax, "(a) the share")
    # The curves of (a) nearly coincide; their differences do not.
    for cc in ALGORITHMS:
        pairs = [zip(at[LABELS[cc]], at[LABELS["a-liad"]], strict=True) for at in by_time]
        beyond = [interval((theirs - ours for theirs, ours in of), signed=True) for of in pairs]
        draw.curve(apart, ELAPSED_S, beyond, **LOOKS[cc], **THIN)
    apart.plot([30], [claims.CUBIC_LEAD], marker="_", markersize=14, color="black", linestyle="none")
    apart.set(xlabel="elapsed time, s", ylabel="percentage points")
    draw.panel_title(apart, "(b) more than A-LIAD, paired by seed")
    handles, _ = ax.get_legend_handles_labels()
    draw.legend(fig, *handles, ncols=4, columnspacing=0.9, handlelength=1.6)
    return _figure(found, "figure-5", fig, rows)


def intra(found: Findings) -> Figure:
    """Figure 8: throughput of six competing A-LIAD flows."""
    rows, fig, (ax,) = [], *draw.figure(2.3)
    ranks = range(1, setup.INTRA_FLOWS + 1)
    for i, (per, shade) in enumerate(zip(PERS, ("#cc3311", "#dd7766", "#f0bbb0"), strict=True)):
        flows = [values(found.base, "intra", "a-liad", f"flow_{k}", INTRA_S, per) for k in ranks]
        got = [interval(flow) for flow in flows]
        rows += [draw.row({"per": per, "rank": k}, m) for k, m in zip(ranks, got, strict=True)]
        at, name = [k + 0.27 * (i - 1) for k in ranks], f"PER {per * 100:g} %"
        draw.bars(ax, at, got, 0.25, color=shade, label=name)
    ax.grid(axis="x", visible=False)
    ax.set(xlabel="flow, from the slowest to the fastest of its run", ylabel="throughput, Mbit/s")
    fig.legend(loc="outside upper center", ncols=3)
    fair = {per: values(found.base, "intra", "a-liad", "jain", INTRA_S, per) for per in PERS}
    index = "; ".join(f"{per * 100:g} %: {np.mean(j):.3f}" for per, j in fair.items())
    return _figure(found, "figure-8", fig, rows, index=index)


def rtts(found: Findings) -> Figure:
    """Figure 9: throughput of A-LIAD and CUBIC over the RTT."""
    fig, (ax,) = draw.figure(2.3)
    looks = {cc: draw.look(cc, 5.0, LABELS[cc]) for cc in ("a-liad", "cubic")}
    got = {cc: [interval(values(found.base, "rtt", cc, "mbps", rtt)) for rtt in RTTS_S] for cc in looks}
    rows = draw.family(ax, ("rtt_ms", RTT_MS), got, looks, **THIN)
    ax.set(ylim=(0, 10.5), xlim=(0, 620), xlabel="RTT, ms", ylabel="throughput, Mbit/s")
    fig.legend(loc="outside upper center", ncols=2)
    return _figure(found, "figure-9", fig, rows)


def loss(found: Findings) -> Figure:
    """Figure 10: utilisation under random loss."""
    rows, fig, axes = [], *draw.figure(4.0, rows=2, sharex=True)
    for ax, per in zip(axes, (LOW, HIGH), strict=True):
        for i, cc in enumerate(ALGORITHMS):
            got = interval(values(found.base, "loss", cc, "share", per=per), most=100)
            # "Dramatically increased for a very high PER (e.g., 1 %)": so the 60 % are those at 0.1 %.
            paper = claims.LOSS_SHARE if i == 0 and per == LOW else None
            rows.append(draw.row({"per": per, "cc": cc}, got, paper=paper))
            draw.bars(ax, [i], [got], 0.65, color=LOOKS[cc]["color"])
        if per == LOW:
            _mark(ax, 0, 0.8, claims.LOSS_SHARE)
        ax.set(ylim=(0, 105), ylabel="share of the bandwidth, %")
        ax.grid(axis="x", visible=False)
        draw.panel_title(ax, f"PER {per * 100:g} %")
    draw.names(axes[-1], list(LABELS.values()), slanted=True)
    printed = f"the paper's {claims.LOSS_SHARE:g} % for A-LIAD"
    draw.legend(fig, Line2D([], [], color="black", linewidth=1.4, linestyle="--", label=printed))
    return _figure(found, "figure-10", fig, rows)


def friendliness(found: Findings, name: str, rtt_s: float) -> Figure:
    """Figures 12 and 13: one flow of each algorithm against five of NewReno."""
    rows, fig, (ax,) = [], *draw.figure(2.7)
    alone = interval(values(found.base, "friend", "reno", "newreno_mbps", rtt_s)).centre / setup.NEWRENO_FLOWS
    for i, cc in enumerate(ALGORITHMS):
        x, reno = (values(found.base, "friend", cc, name, rtt_s) for name in ("mbps", "newreno_mbps"))
        one, each = interval(x), interval(v / setup.NEWRENO_FLOWS for v in reno)
        said = rtt_s == SHORT_S and cc in claims.REDUCTION
        paper = alone * (1 - claims.REDUCTION[cc] / 100) if said else None
        rows.append(draw.row({"cc": cc, "flow": "A"}, one, paper=None))
        rows.append(draw.row({"cc": cc, "flow": "B"}, each, paper=paper))
        draw.bars(ax, [i - 0.19], [one], 0.36, color=LOOKS[cc]["color"])
        draw.bars(ax, [i + 0.19], [each], 0.36, **draw.hatched("reno"))
        if paper is not None:
            _mark(ax, i + 0.19, 0.4, paper)
    ax.set_ylim(bottom=0)
    ax.set_ylabel("throughput, Mbit/s")
    draw.names(ax, list(LABELS.values()), slanted=True)
    group_a = Patch(facecolor="#777777", label="group A, one flow")
    group_b = Patch(**(draw.hatched("reno") | {"linewidth": None}), label="group B, NewReno, mean of 5")
    draw.legend(fig, group_a, group_b)
    cut = claims.reductions(found.base, rtt_s, ALGORITHMS)
    taken = {x: float(np.mean(v)) for x, v in cut.items() if x != claims.NEWRENO}
    return _figure(found, name, fig, rows, taken=taken)


def _mark(ax: Axes, at: float, width: float, value: float) -> None:
    draw.printed(ax, at, width, value, thick=1.4, dash=1.2, ends="projecting")


def alpha(_: Findings) -> Figure:
    """The curve of alpha over the RTT: solution, fit and its error."""
    rtt = np.array(claims.FIT_RTTS_S)
    solved, fitted = np.asarray(analysis.alpha(rtt)), np.asarray(analysis.alpha_fit(rtt))
    error = (fitted / solved - 1) * 100
    colour = LOOKS["a-liad"]["color"]
    fig, (top, bottom) = draw.figure(3.4, rows=2, sharex=True, height_ratios=(2, 1))
    top.semilogy(rtt * 1e3, fitted, color=colour, label="fit")
    rings: dict[str, Any] = {"color": "black", "markersize": 3.5, "fillstyle": "none"}
    top.semilogy(rtt[::10] * 1e3, solved[::10], "o", label="eq 11, solved", **rings)
    top.semilogy([75], [2], "+", color="#4477aa", markersize=10, label="reference: 2 at 75 ms")
    top.set_ylabel(r"$\alpha$")
    bottom.plot(rtt * 1e3, error, color=colour)
    bottom.set(xlim=(0, 620), xlabel="RTT, ms", ylabel="error, %")
    fig.legend(loc="outside upper center", ncols=3, columnspacing=1.0)
    data = pl.DataFrame({"rtt_s": rtt, "solved": solved, "fitted": fitted})
    return WORDS.figure("alpha", fig, data, error=float(np.max(np.abs(error))))


def windows_with_sack(found: Findings) -> Figure:
    """Figure 6: all algorithms at start-up, with SACK."""
    data = _pick(found, "start-up")
    fig, axes = draw.figure(4.4, rows=2, sharex=True, sharey=True)
    for ax, some in zip(axes, (ALGORITHMS[:4], ALGORITHMS[4:]), strict=True):
        _windows(ax, data, some)
    return _of_windows("figure-6", fig, data, ALGORITHMS)


def overshoot(found: Findings) -> Figure:
    """Figure 7: A-LIAD and two others at start-up, with SACK, and those without."""
    some = setup.WITHOUT_SACK
    kinds = {sack: _pick(found, name) for sack, name in (("with", "start-up"), ("without", "no-sack"))}
    fig, axes = draw.figure(5.2, rows=3, sharex=True)
    panels = (("with", some[:1], "(a) A-LIAD"), ("with", some[1:], "(b) others"))
    for ax, (sack, shown, name) in zip(axes, (*panels, ("without", some[1:], "(c) others")), strict=True):
        _windows(ax, kinds[sack], shown)
        draw.panel_title(ax, f"{name}, {sack} SACK")
    data = pl.concat(
        of.filter(pl.col("cc").is_in(list(some))).with_columns(sack=pl.lit(s)) for s, of in kinds.items()
    )
    drops = {
        LABELS[cc]: [interval(values(found.base, of, cc, "drops")).centre for of in ("start-up", "no-sack")]
        for cc in some
    }
    lost = ", ".join(f"{x} {a:,.0f} and {b:,.0f}" for x, (a, b) in drops.items())
    return _of_windows("figure-7", fig, data, some, lost=lost)


def windows_under_loss(found: Findings) -> Figure:
    """Figure 11: windows under random loss."""
    data = _pick(found, "loss")
    fig, axes = draw.figure(4.6, rows=2, sharex=True)
    each = {}
    for ax, per in zip(axes, (LOW, HIGH), strict=True):
        at = data.filter(pl.col("per") == per)
        _windows(ax, at, [*ALGORITHMS[1:], "a-liad"], every=100, linewidth=0.8)
        ax.set_ylim(0, 1.05 * max(at.filter(pl.col("t_s") > 20)["cwnd"].to_list(), default=1.0))
        draw.panel_title(ax, f"PER {per * 100:g} %")
        means = claims.groups(found.base, "loss", "cwnd", per=per, of=ALGORITHMS)
        each[f"{per * 100:g} %"] = {x: plus_minus(interval(v)) for x, v in means.items()}
    return _of_windows("figure-11", fig, data, ALGORITHMS, means=each)


def _pick(found: Findings, experiment: str) -> pl.DataFrame:
    at = found.traces.filter((pl.col("experiment") == experiment) & (pl.col("flow") == "x-1"))
    return at.select("per", "cc", "seed", "t_s", "cwnd").sort("per", "cc", "t_s")


def _windows(
    ax: Axes, data: pl.DataFrame, some: Sequence[str], every: int = 40, linewidth: float = 1.0
) -> None:
    for i, cc in enumerate(some):
        one = data.filter(pl.col("cc") == cc)
        mark = (i * every // len(some), every)
        ax.plot(one["t_s"], one["cwnd"], linewidth=linewidth, markevery=mark, **(LOOKS[cc] | SMALL))
    ax.axhline(BDP, color="black", linewidth=0.7, linestyle="--", zorder=1.5)
    ax.set_ylim(bottom=0)
    ax.set(xlim=(0, max(data["t_s"].to_list(), default=1.0)), ylabel="cwnd, packets")


def _of_windows(name: str, fig: MplFigure, data: pl.DataFrame, some: Sequence[str], **said: Any) -> Figure:
    fig.axes[-1].set_xlabel("time, s")
    handles = [Line2D([], [], **(LOOKS[cc] | SMALL)) for cc in some]
    handles.append(Line2D([], [], color="black", linewidth=0.7, linestyle="--", label="BDP"))
    draw.legend(fig, *handles, ncols=4, columnspacing=0.9, handlelength=1.6)
    one = WORDS.text("One flow", setup=setup, holds=2 * BDP)
    return WORDS.figure(name, fig, data, one=one, **said)


def _cells(first: Interval, used: Interval, overflow: Interval, *more: Interval) -> list[str]:
    """A share or an index, per cent of the link in use, packets that the queue dropped, and the rest."""
    rest = (plain(mean.centre) for mean in more)
    return [plus_minus(first), plain(used.centre), f"{overflow.centre:,.0f}", *rest]


def runs_section(base: pl.DataFrame) -> Section:
    """Events in the runs, by algorithm."""

    def got(experiment: str, cc: str, name: str, rtt_s: float = GEO_S, per: float = NONE) -> Interval:
        most = 100 if name in ("at_30", "share", "used") else 1 if name == "jain" else None
        return interval(values(base, experiment, cc, name, rtt_s, per), most=most)

    rows = []
    for cc in ALGORITHMS:
        cells = _cells(*(got("start-up", cc, name) for name in ("at_30", "used", "overflow", "timeouts")))
        for per in (LOW, HIGH):
            share, timeouts = (got("loss", cc, name, per=per) for name in ("share", "timeouts"))
            cells.append(f"{plus_minus(share)} ({plain(timeouts.centre)})")
        taken = [
            interval(claims.reductions(base, rtt, [cc])[LABELS[cc]], signed=True) for rtt in (SHORT_S, GEO_S)
        ]
        rows.append([LABELS[cc], *cells, *("-" if cc == "reno" else plus_minus(m) for m in taken)])
    head = ["Algorithm", "Share in 30 s, %", "link in use, %", "packets dropped", "timeouts"]
    head += ["Share at 0.1 %, % (timeouts)", "at 1 %", "NewReno loses at 25 ms, %", "at 600 ms, %"]
    names = ("jain", "used", "overflow")
    kinds = {per: [got("intra", "a-liad", name, INTRA_S, per) for name in names] for per in PERS}
    fair = [[f"{per * 100:g} %", *_cells(*of)] for per, of in kinds.items()]
    intra_head = ["PER", "Jain's index", "Link in use, %", "Packets dropped by the queue"]
    runs, six = Table(head, rows, WORDS.text("The runs")), Table(intra_head, fair, "Six A-LIAD flows")
    return Section("What the runs did", [], [runs, six])


def sections(found: Findings) -> list[Section]:
    """The set-up, the behaviour of the runs, and the influence of the choices on the verdicts."""
    return [setup_section(), runs_section(found.base), *one_queue(found), _choices(found)]


#: Claims that no single queue reproduces together, and the variant with a short queue.
OF_THE_QUEUE, SHORT_QUEUE = ("A2", "A3", "A4", "A5", "A9"), "buffer-50"


def one_queue(found: Findings) -> list[Section]:
    """A note that figures 8 and 13 need a shorter queue than figures 5, 7 and 9; empty if it was not run."""
    under = found.sensitivity
    lines: list[list[str | Tally]] = []
    for name, what in (("base", "1 BDP of each path (base)"), (SHORT_QUEUE, "50 packets, at GEO 0.07 BDP")):
        claims_of = [under.claim(name, claim_id) for claim_id in OF_THE_QUEUE]
        lines.append([what, *(Tally(c) for c in claims_of if c is not None)])
    if any(len(line) <= len(OF_THE_QUEUE) for line in lines):
        return []
    table = Table(["Queue", *OF_THE_QUEUE], lines, f"{MARKS}, over {found.few_seeds} seeds")
    return [Section("One queue does not give all figures", WORDS.paragraphs("One queue"), [table])]


def setup_section() -> Section:
    """The values that the paper gives, and the choices with their reasons."""
    window = BASE.window_packets()
    given = WORDS.rows(
        "Set-up",
        setup=setup,
        window=window,
        queued=window - round(BDP),
        few=20 * BASE.wire_bytes * 8 / GEO_S / 1e6,
    )
    return set_up(given, WORDS.paragraphs("About the set-up"))


def _choices(found: Findings) -> Section:
    said = f"Each row changes one choice and repeats the study over {found.few_seeds} seeds; the first row "
    said += f"is the base over the same seeds. {decision(found)}"
    untouched = ". A choice that does not concern a claim leaves its runs as they are."
    return choices_section(found, said, untouched=untouched, numbers=NUMBERS)


NUMBERS = Numbers(
    "The numbers that the paper prints, under each choice",
    [
        Number("A-LIAD in 30 s, %", "A2", 0, "80"), Number("CUBIC less A-LIAD, %", "A2", 1, "3"),
        Number("J, no loss", "A4", 0, "0.995"), Number("A-LIAD at 0.1 %, %", "A6", 0, "60"),
        Number("less at 1 %", "A6", 1, "> 0"), Number("NewReno loses to STCP, %", "A8", 0, "45"),
        Number("to A-LIAD", "A8", 1, "38"), Number("to CUBIC", "A8", 2, "11"),
    ],
)  # fmt: skip

PLACES = (
    Place("1", "sending rate of LIAD over the RTT", liad, ("A1",), where(experiment="fig1")),
    Place("2", "the phases of A-LIAD's window (a sketch)", phases,
        needs=where(experiment="loss", cc="a-liad")),
    Place("3", "windows of two flows with different RTTs (a sketch)", claims=("A10", "A11"),
        why="a sketch without axes; the law that it illustrates, equation 11, is the figure alpha"),
    Place("4", "the network of the simulations",
        why="senders and receivers around one bottleneck; the set-up's table has rates and delays"),
    Place("5", "throughput at the start-up over GEO", start_up, ("A2",), where(experiment="start-up")),
    Place("6", "windows at the start-up", windows_with_sack, ("A13",), where(experiment="start-up")),
    Place("7", "windows of A-LIAD (a), Westwood and CUBIC (b) at the start-up", overshoot, ("A3",),
        where(experiment=("start-up", "no-sack"))),
    Place("8", "six competing A-LIAD flows at three error rates", intra, ("A4",), where(experiment="intra")),
    Place("9", "throughput over the RTT", rtts, ("A5",), where(experiment="rtt")),
    Place("10", "throughput under packet loss", loss, ("A6", "A12"),
        where(experiment=("loss", "start-up", *map(setup.delta_name, setup.DELTAS)))),
    Place("11", "windows under packet loss", windows_under_loss, ("A7",), where(experiment="loss")),
    Place("12", "friendliness with NewReno at 25 ms", partial(friendliness, name="figure-12", rtt_s=0.025),
        ("A8",), where(experiment="friend")),
    Place("13", "friendliness with NewReno at 600 ms", partial(friendliness, name="figure-13", rtt_s=0.6),
        ("A9",), where(experiment="friend")),
    Place("alpha", "equation 11: alpha over the RTT, solved and fitted", alpha, ("A10",), kind=PlaceKind.OWN),
)  # fmt: skip


def drawn(traces: pl.DataFrame) -> pl.DataFrame:
    """The part of the traces that figures 6, 7 and 11 show."""
    return traces.filter(flow="x-1").select("experiment", "per", "cc", "seed", "flow", "t_s", "cwnd")


build = Assembly(
    DESIGN,
    claims.CLAIMS,
    Explanation(lists_failing=True),
    PLACES,
    sections,
    drawn=drawn,
    limits=(
        CUT,
        claims.LINEAR,
        claims.NEAR,
        claims.BEST,
        claims.FIT_WITHIN,
        claims.DIGITS,
        claims.SAME_EPOCH_S,
    ),
    previews=("figure-10",),
)
