"""Figures 1, 3 and 4 of the HSWA-TCP paper, drawn from our runs, and its page."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from matplotlib.lines import Line2D

from bentpipe import registry
from bentpipe.papers.hswa import claims, setup
from bentpipe.papers.hswa.claims import LABELS, power
from bentpipe.papers.hswa.setup import BERS, BESIDE, DESIGN, RATE_BPS, RTT_S
from bentpipe.studies import draw
from bentpipe.studies.assembly import Assembly, Explanation
from bentpipe.studies.claim import RELATIVE_TOLERANCE, interval
from bentpipe.studies.design import BASE, Where, where
from bentpipe.studies.judge import Findings, column
from bentpipe.studies.page import plain, plus_minus
from bentpipe.studies.places import Place, PlaceKind
from bentpipe.studies.study import Figure, Section
from bentpipe.studies.tables import Number, Numbers, choices_section, decision, held, set_up
from bentpipe.studies.text import Table
from bentpipe.studies.words import Words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as MplFigure

PANELS = {BASE: "(a) error rate per bit, as printed", BESIDE: "(b) error rate per byte (ns-2, unit byte)"}
#: Line of each orbit in figure 4.
ORBIT_LINE: dict[str, Any] = {"LEO": "-", "MEO": (0, (5, 1.5)), "GEO": (0, (1, 1.2))}
#: Figure 1 is drawn up to here; beyond it the curve is 0.
LARGEST_RATIO = 3.0
PAPER_MARK: dict[str, Any] = {"markerfacecolor": "none", "markeredgecolor": "black", "markeredgewidth": 0.8}
PAPER_MARK |= {"linestyle": "none", "zorder": 5}

WORDS = Words.beside(__file__)


def increments(found: Findings) -> Figure:
    """Figure 1: the growth of the window per round trip against TD / BaseTD, one point per round trip."""
    runs = found.runs.filter(pl.col("variant") == setup.INCREMENT.name)
    rows = [
        {"ber": run["ber"], "seed": run["seed"], "td_over_base": x, "increment": y}
        for run in runs.iter_rows(named=True)
        for x, y in json.loads(run["rounds"])
    ]
    data = pl.DataFrame(rows, schema_overrides={"td_over_base": pl.Float64, "increment": pl.Float64})
    near = data.filter(pl.col("td_over_base") <= LARGEST_RATIO)
    look = draw.look("hswa", 2.6, f"{registry.style('hswa')['label']}, one round trip")
    dots: dict[str, Any] = {"markeredgewidth": 0, "alpha": 0.6, "linestyle": "none", "zorder": 2}
    dots["rasterized"] = True  # some thousand
    fig, (ax,) = draw.figure(2.4)
    ax.plot(near["td_over_base"], near["increment"], **look, **dots)
    for ber, s in claims.S.items():
        law = ax.plot([1.0, 2.0, LARGEST_RATIO], [s, 0.0, 0.0], color="black", linewidth=0.7, linestyle="--")
        law[0].set(zorder=3, label="eq. 4" if ber == BERS[0] else "_")
        name, at = f"BER $10^{{{round(np.log10(ber))}}}$", (-4, 0)
        ax.annotate(name, (1.0, s), at, textcoords="offset points", ha="right", va="center", fontsize=7)
    ax.set(xlim=(0.5, LARGEST_RATIO), ylim=(-3, 88), xticks=[1.0, 1.5, 2.0, 2.5, 3.0])
    ax.set(xlabel="TD / BaseTD of the round trip before", ylabel="increment, packets per RTT")
    ax.legend(loc="upper right")
    ends = {ber: [interval(column(runs, name, ber=ber)) for name in ("at_base", "zero")] for ber in BERS}
    return WORDS.figure(
        "figure-1",
        fig,
        data,
        trips=data.height,
        inside=data.filter((pl.col("td_over_base") > 1) & (pl.col("td_over_base") < 2)).height,
        seeds=found.seeds,
        rate=setup.INCREMENT_RATE_BPS / 1e6,
        rtt=setup.INCREMENT_RTT_S * 1e3,
        fits={
            power(b): {
                "increment at TD = BaseTD": plus_minus(s),
                "TD / BaseTD without increment": plus_minus(zero),
            }
            for b, (s, zero) in ends.items()
        },
    )


def geo(found: Findings) -> Figure:
    """Figure 3: throughput over GEO against the BER, SCPS-TP and HSWA."""
    both = ("hswa", "scps")
    fig, axes, rows = _panels(found, [(cc, "GEO", registry.style(cc)["marker"], "-") for cc in both])
    for ax in axes:
        ax.plot([1e-6], [claims.QUOTED], marker="x", markersize=5, **PAPER_MARK)
    handles = [Line2D([], [], **draw.look(cc)) for cc in both]
    handles.append(Line2D([], [], marker="D", markersize=6, label="paper", **PAPER_MARK))
    handles.append(Line2D([], [], marker="x", markersize=5, label="NASA", **PAPER_MARK))
    draw.legend(fig, *handles, columnspacing=1.0, handlelength=1.6, handletextpad=0.5)
    return WORDS.figure("figure-3", fig, pl.DataFrame(rows), seeds=found.seeds)


def orbits(found: Findings) -> Figure:
    """Figure 4: throughput of HSWA over LEO, MEO and GEO against the BER."""
    markers = {"LEO": "^", "MEO": "v", "GEO": registry.style("hswa")["marker"]}
    lines = [("hswa", orbit, marker, ORBIT_LINE[orbit]) for orbit, marker in markers.items()]
    fig, _, rows = _panels(found, lines)
    handles = [Line2D([], [], **_line(*line), label=line[1]) for line in lines]
    handles.append(Line2D([], [], marker="^", markersize=6, label="paper", **PAPER_MARK))
    draw.legend(fig, *handles, columnspacing=1.2, handlelength=2.6)
    return WORDS.figure("figure-4", fig, pl.DataFrame(rows), seeds=found.seeds)


def loss_scan(found: Findings) -> Figure:
    """Throughput over the printed value at 1e-5 against the packet loss rate."""
    rows: list[dict[str, object]] = []
    fig, axes = draw.figure(4.3, rows=2, sharex=True, sharey=True)
    lines = {("scps", "GEO"): "-"} | {("hswa", orbit): style for orbit, style in ORBIT_LINE.items()}
    for ax, size in zip(axes, setup.SCAN_BYTES, strict=True):
        ax.axhspan(1 - RELATIVE_TOLERANCE, 1 + RELATIVE_TOLERANCE, color="0.85", zorder=0)
        for unit in ("byte", "bit"):
            of = setup.BASE.changed(packet_bytes=size, unit=unit)
            ax.axvline(of.packet_loss(setup.SCAN_BER), color="0.5", linewidth=0.7, linestyle="--", zorder=1)
        for (cc, orbit), style in lines.items():
            got = {loss: interval(x) for loss, x in claims.scanned(found, size, cc, orbit).items()}
            marker = registry.style(cc)["marker"]
            draw.curve(
                ax,
                list(got),
                list(got.values()),
                **_line(cc, orbit, marker, style),
                label=f"{LABELS[cc]}, {orbit}",
            )
            keys = {"packet_bytes": size, "cc": cc, "orbit": orbit}
            rows += [draw.row({**keys, "packet_loss": loss}, mean) for loss, mean in got.items()]
        ax.set(xscale="log", yscale="log", ylim=(0.03, 30), ylabel="throughput over printed")
        draw.panel_title(ax, f"packets of {size} bytes")
    axes[-1].set_xlabel("packet loss rate")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=2, columnspacing=1.2)
    return WORDS.figure(
        "loss-scan",
        fig,
        pl.DataFrame(rows),
        seeds=setup.SCAN_SEEDS,
        span=setup.SCAN_SPAN_S,
        ranges=claims.ranges(found),
    )


#: A line of figures 3 and 4: algorithm, orbit, marker and style.
Line = tuple[str, str, str, Any]


def _panels(
    found: Findings, lines: Sequence[Line]
) -> tuple[MplFigure, Sequence[Axes], list[dict[str, object]]]:
    """Throughput against the BER, with the paper's numbers; in each panel, errors of another kind."""
    rows: list[dict[str, object]] = []
    fig, axes = draw.figure(4.3, rows=2, sharex=True, sharey=True)
    for ax, (variant, title) in zip(axes, PANELS.items(), strict=True):
        runs = found.runs.filter(pl.col("variant") == variant)
        kind = "bit" if variant == BASE else "byte"
        for cc, orbit, marker, style in lines:
            bers = sorted(set(where(cc=cc, orbit=orbit).rows(runs)["ber"]))
            got = [interval(claims.rate(runs, cc, orbit, ber)) for ber in bers]
            draw.curve(ax, bers, got, **_line(cc, orbit, marker, style))
            keys = {"error_rate_per": kind, "cc": cc, "orbit": orbit}
            for ber, mean in zip(bers, got, strict=True):
                printed = claims.PRINTED.get((cc, orbit, ber))
                rows.append(draw.row({**keys, "ber": ber}, mean, paper=printed))
                if printed is not None:
                    ax.plot([ber], [printed], marker=marker, markersize=6.5, **PAPER_MARK)
        ax.set(xscale="log", yscale="log", xlim=(7e-9, 1.4e-5), ylim=(0.02, 200))
        ax.set_ylabel("throughput, Mbit/s")
        ax.set_yticks([0.1, 1, 10, 100], ["0.1", "1", "10", "100"])
        ax.minorticks_off()
        draw.panel_title(ax, title)
    axes[-1].set_xlabel("error rate")
    return fig, axes, rows


def _line(cc: str, orbit: str, marker: str, style: Any) -> dict[str, Any]:
    return {"color": registry.style(cc)["colour"], "marker": marker, "markersize": 3.5, "linestyle": style}


def runs_section(found: Findings) -> Section:
    """Tables of the main measures per algorithm, orbit and error rate, errors per bit and per byte."""
    head = ["Run", "Packet loss rate", "Mbit/s ± half of the 95 % interval", "Square-root law"]
    head += ["cwnd, packets", "RTT, ms", "Lost by errors", "Lost at the queue", "Timeouts"]
    rest = {"cwnd": 1, "rtt_s": 1e3, "lost_error": 1, "lost_queue": 1, "timeouts": 1}
    tables = []
    for variant, of in ((BASE, setup.BASE), (BESIDE, setup.BYTES)):
        runs = found.runs.filter(pl.col("variant") == variant)
        rows = []
        for cc, orbit, ber in ((*pair, ber) for pair in setup.PAIRS for ber in BERS):
            loss = of.packet_loss(ber)
            law = claims.law_window(claims.growth(cc, ber), loss) * of.packet_bytes * 8 / RTT_S[orbit] / 1e6
            rate = plus_minus(interval(claims.rate(runs, cc, orbit, ber)))
            got = {name: interval(claims.rate(runs, cc, orbit, ber, name)).centre for name in rest}
            means = (mean * rest[name] for name, mean in got.items())
            cells = [f"{loss:.2g}", rate, plain(law) if law < RATE_BPS / 1e6 else "full", *map(plain, means)]
            rows.append([f"{LABELS[cc]}, {orbit}, {power(ber)}", *cells])
        tables.append(Table(head, rows, f"Errors per {of.unit}"))
    spans = "; ".join(f"{LABELS[cc]} over {to} {length:g} s" for (cc, to), length in setup.SPAN_S.items())
    said = WORDS.paragraphs("What the runs did", spans=spans, setup=setup)
    return Section("What the runs did", said, tables)


def sections(found: Findings) -> list[Section]:
    """The implications of the numbers, the runs, the set-up, and the influence of the choices."""
    return [implied_section(), runs_section(found), setup_section(), _choices(found)]


def implied_section() -> Section:
    """The error rates at which the square-root law gives the printed numbers."""
    printed = {k: v for k, v in claims.PRINTED.items() if v < 99} | {("scps", "GEO", 1e-6): claims.QUOTED}
    listed, simulated = [], []
    for (cc, orbit, ber), mbps in sorted(printed.items(), key=lambda kv: (kv[0][0] != "scps", kv[0][2])):
        of = claims.implied(cc, orbit, ber, mbps)
        valid = of.window >= claims.LEAST_WINDOW
        by_law = [f"{of.loss:.2g}", plain(of.per_bit), plain(of.per_byte)] if valid else ["-"] * 3
        listed.append([f"{LABELS[cc]}, {orbit}, {power(ber)}", f"{mbps:g}", plain(of.window), *by_law])
        if valid and mbps != claims.QUOTED:
            simulated.append((of.per_bit, of.per_byte))
    bits, octets = (f"{plain(min(of))} and {plain(max(of))}" for of in zip(*simulated, strict=True))
    law = WORDS.paragraphs(
        "What the numbers imply",
        bits=8 * setup.PACKET_BYTES,
        bytes=setup.PACKET_BYTES,
        per_bit=bits,
        per_byte=octets,
    )
    head = ["Printed", "Mbit/s", "Window, packets", "Packet loss rate"]
    head += ["Over errors per bit", "Over errors per byte"]
    table = Table(head, listed, "The 0.27 Mbit/s are those of the NASA report")
    return Section("What the paper's numbers imply", law, [table])


def setup_section() -> Section:
    """The values that the paper gives, and the choices with their reasons."""
    return set_up(
        WORDS.rows(
            "Set-up",
            setup=setup,
            geo=setup.bdp_packets("GEO", setup.BASE),
            meo=setup.bdp_packets("MEO", setup.BASE),
            leo=setup.bdp_packets("LEO", setup.BASE),
        )
    )


def _choices(found: Findings) -> Section:
    holding = held(found)
    of_base = holding.pop("base")
    best = max(holding, key=lambda name: holding[name], default="")
    total = sum(len(c.checks) for c in found.sensitivity.base if c.id in found.open)
    said = WORDS.text(
        "The choices",
        seeds=found.few_seeds,
        decision=decision(found),
        best=found.sensitivity.choices[best] if best and holding[best] < total else None,
        held=holding.get(best),
        total=total,
        of_base=of_base,
    )
    return choices_section(found, said, numbers=NUMBERS)


NUMBERS = Numbers(
    "Means of the quantities for which the paper prints a number (Mbit/s)",
    [
        Number("SCPS-TP, GEO 1e-8", "H1", 1), Number("HSWA, GEO 1e-8", "H1", 2),
        Number("SCPS-TP, GEO 1e-5", "H2", 1), Number("HSWA, GEO 1e-5", "H2", 2),
        Number("HSWA, MEO 1e-5", "H6", 0), Number("HSWA, LEO 1e-6", "H5", 3),
        Number("HSWA, LEO 1e-5", "H5", 0),
    ],
)  # fmt: skip

PLACES = (
    Place("1", "the increment of the window over the delay", increments, ("H7",), Where(),
        variants=("increment",)),
    Place("2", "the topology of the simulations",
        why="a sender, a satellite link and a receiver; the set-up's table has rates and delays"),
    Place("3", "throughput of SCPS-TP and HSWA-TCP over GEO", geo,
        ("H1", "H2", "H3", "H4", "H8", "H9", "H10"), where(orbit="GEO"),
        variants=("base", "byte", "a-*", "legacy")),
    Place("4", "throughput of HSWA-TCP over LEO, MEO and GEO", orbits, ("H5", "H6"), where(cc="hswa"),
        variants=("base", "byte")),
    Place("loss-scan", "which packet loss gives the numbers printed for 1e-5", loss_scan, ("H2", "H5"),
        Where(), variants=("base", "scan-*"), kind=PlaceKind.OWN),
)  # fmt: skip

build = Assembly(
    DESIGN,
    claims.CLAIMS,
    Explanation(lists_failing=True, counts_choices=True),
    PLACES,
    sections,
    limits=(
        claims.FULL_WITHIN,
        claims.ZERO_WITHIN,
        claims.STRAIGHT,
        claims.NONE_WITHIN,
    ),
    previews=("figure-3",),
)
