"""Figures 1, 3 and 4 of the HSWA-TCP paper, drawn from our runs, and tables of the runs."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl
from matplotlib.lines import Line2D

from bentpipe import registry
from bentpipe.papers.hswa import claims, setup
from bentpipe.papers.hswa.claims import LABELS, power
from bentpipe.papers.hswa.setup import BERS, BESIDE, RATE_BPS, RTT_S
from bentpipe.studies import draw
from bentpipe.studies.claim import RELATIVE_TOLERANCE, interval
from bentpipe.studies.design import BASE, where
from bentpipe.studies.judge import Findings, column
from bentpipe.studies.page import plain, plus_minus
from bentpipe.studies.study import Figure, Section, Table
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
    ax.set(xlabel="TD / BaseTD of the round trip before", ylabel="increment (packets per RTT)")
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
        fits="; ".join(
            f"{power(b)}: increment at TD = BaseTD {plus_minus(s)}, TD / BaseTD without increment "
            f"{plus_minus(zero)}"
            for b, (s, zero) in ends.items()
        ),
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


#: The numbers printed for a BER of 1e-5: algorithm and orbit.
SCANNED = (("scps", "GEO"), ("hswa", "GEO"), ("hswa", "MEO"), ("hswa", "LEO"))


def scanned(found: Findings, size: int, cc: str, orbit: str) -> dict[float, list[float]]:
    """Throughput over the printed one, by packet loss rate: one value per seed."""
    printed, at = claims.PRINTED[cc, orbit, setup.SCAN_BER], {"cc": cc, "orbit": orbit}
    return {
        loss: [x / printed for x in column(found.runs, "mbps", variant=setup.scan_name(size, loss), **at)]
        for loss in setup.SCAN_LOSS
    }


def needed(found: Findings, size: int, cc: str, orbit: str) -> tuple[float, float]:
    """The packet loss rates between which a number printed for 1e-5 is met within the rule's tolerance.

    By interpolation between the rates of the scan, both axes logarithmic; an end of the scan if beyond it.
    """
    ratio = {loss: math.log(interval(x).centre) for loss, x in scanned(found, size, cc, orbit).items()}
    falling = list(reversed(np.minimum.accumulate(list(ratio.values()))))
    losses = [math.log(loss) for loss in reversed(ratio)]
    high, low = (
        math.exp(float(np.interp(math.log(1 + sign * RELATIVE_TOLERANCE), falling, losses)))
        for sign in (-1, 1)
    )
    return low, high


def ranges(found: Findings) -> str:
    """A sentence on the requirements of each number, by packet size."""
    rows = []
    for size in setup.SCAN_BYTES:
        each = (
            f"{LABELS[cc]} over {orbit} {plain(low)} to {plain(high)}"
            for cc, orbit in SCANNED
            for low, high in [needed(found, size, cc, orbit)]
        )
        rows.append(f"{size} bytes: {', '.join(each)}")
    return f"Packet loss needed, by packet size: {'; '.join(rows)}."


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
            got = {loss: interval(x) for loss, x in scanned(found, size, cc, orbit).items()}
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
        ranges=ranges(found),
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
        ax.set_ylabel("throughput (Mbit/s)")
        ax.set_yticks([0.1, 1, 10, 100], ["0.1", "1", "10", "100"])
        ax.minorticks_off()
        draw.panel_title(ax, title)
    axes[-1].set_xlabel("error rate")
    return fig, axes, rows


def _line(cc: str, orbit: str, marker: str, style: Any) -> dict[str, Any]:
    return {"color": registry.style(cc)["colour"], "marker": marker, "markersize": 3.5, "linestyle": style}


class Implied(NamedTuple):
    """The channel that a printed throughput implies, if the window is a square root of the loss rate.

    The window, packets; the loss rate of packets that gives it; the error rates per byte and per bit that
    give this loss rate, in units of the paper's BER.
    """

    window: float
    loss: float
    per_byte: float
    per_bit: float


def growth(cc: str, ber: float) -> float:
    """Packets by which the window grows per round trip without a standing queue: S of eq. 5, or 1."""
    return claims.S[ber] if cc == "hswa" else 1.0


def law_window(growth: float, loss: float) -> float:
    """Mean window of a rule that adds ``growth`` per round trip and halves at a loss, packets."""
    return math.sqrt(1.5 * growth / loss)


def implied(cc: str, orbit: str, ber: float, mbps: float) -> Implied:
    """The loss rate at which the square-root law gives ``mbps``, Mbit/s."""
    window = mbps * 1e6 * RTT_S[orbit] / 8 / setup.PACKET_BYTES
    loss = 1.5 * growth(cc, ber) / window**2
    per_byte = loss / setup.PACKET_BYTES / ber
    return Implied(window, loss, per_byte, per_byte / 8)


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
            law = law_window(growth(cc, ber), loss) * of.packet_bytes * 8 / RTT_S[orbit] / 1e6
            rate = plus_minus(interval(claims.rate(runs, cc, orbit, ber)))
            got = {name: interval(claims.rate(runs, cc, orbit, ber, name)).centre for name in rest}
            means = (mean * rest[name] for name, mean in got.items())
            cells = [f"{loss:.2g}", rate, plain(law) if law < RATE_BPS / 1e6 else "full", *map(plain, means)]
            rows.append([f"{LABELS[cc]}, {orbit}, {power(ber)}", *cells])
        tables.append(Table(head, rows, f"Errors per {of.unit}"))
    spans = "; ".join(f"{LABELS[cc]} over {to} {length:g} s" for (cc, to), length in setup.SPAN_S.items())
    said = WORDS.paragraphs("What the runs did", spans=spans, setup=setup)
    return Section("What the runs did", said, tables)
