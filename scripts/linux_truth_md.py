"""The numbers and figures of docs/linux-truth.md, from those that are stored.

    bentpipe validate kernel --full --out DIR      # measures, as root; hours
    bentpipe validate kernel --links --out DIR     # the links that have a name; a quarter of an hour
    python scripts/linux_truth_md.py --from DIR    # takes the measurements over: docs/linux-truth/*.csv
    python scripts/linux_truth_md.py --simulate    # simulates all stored transfers again

cells.csv has a row for each pair of transfers, curves.csv the windows of a few. New measurements replace the
same transfers, and other seeds stay, so that a table may grow by a seed at a time
(`--seeds 5 --only '*-120s-5'`). A transfer whose emulation did not keep time is left out. New simulations
leave the real columns as they are. The distance of two windows needs the real curve, which is not stored:
where the simulation comes out otherwise, that column is emptied. Tables and figures follow from these two,
those of traffic that pauses from linux_truth_paused.py; the words around them are written by hand.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any

import linux_truth_paused
import md
from matplotlib.figure import Figure
from md import DOCS

from bentpipe.experiments.truth import TRANSFERS
from bentpipe.io.files import DIGITS, read_rows, stored_rows, write_rows
from bentpipe.pages.markdown import markdown
from bentpipe.plot import looks
from bentpipe.sweeps.kept import Kept
from bentpipe.truth import comparison
from bentpipe.truth.cell import BUFFERS_BDP, LINKS, PACKET_ERRORS, PRESETS, Sender, of_dict
from bentpipe.truth.comparison import CURVE, GOODPUT, LABELS, RTT, Errors, link_of, signed, verdict
from bentpipe.truth.measuring import quantities
from bentpipe.truth.side import Side, grid, simulate
from bentpipe.units import in_percent

PAGE = DOCS / "linux-truth.md"
CELLS = DOCS / "linux-truth" / "cells.csv"
CURVES = DOCS / "linux-truth" / "curves.csv"
ERRORS_FIGURE = DOCS / "linux-truth" / "errors.svg"

Row = dict[str, Any]

DRAWN = (
    ("kernel:cubic", 100, 1e-3, 1.0, ""),
    ("kernel:reno", 500, 1e-4, 1.0, ""),
    ("agent:star", 500, 1e-3, 1.0, ""),
    ("kernel:bbr", 100, 1e-4, 1.0, ""),
)
"""The cells whose windows are drawn, with the first seed."""
NAMED = (*LINKS, *PRESETS)
EVERY = 3
"""Number of samples on the grid for each row of curves.csv."""
SHOWN = 12
"""Rows of the table of the largest errors."""


def take_over(folder: Path) -> None:
    """Puts a folder of `bentpipe validate kernel --out` into cells.csv and curves.csv."""
    rows = [row for row in read_rows(folder / "cells.csv") if row["kept_time"]]
    known = {of_dict(row).key: row for row in [*stored_rows(CELLS), *rows]}
    CELLS.parent.mkdir(exist_ok=True)
    write_rows(CELLS, sorted(known.values(), key=lambda row: row["seed"]))
    with Kept(folder / TRANSFERS) as kept:
        stored = kept.rows
    new = {of_dict(row).key for row in rows}
    points: list[Row] = [point for point in stored_rows(CURVES) if point["row"] not in new]
    for row in rows:
        cell = of_dict(row)
        if (str(cell.sender), *cell.link) in DRAWN and cell.seed == 1 and cell.key in stored:
            real, simulated = Side.of(stored[cell.key]).cwnd, simulate(cell).cwnd
            at = grid(cell.length_s)
            points += [
                {"row": cell.key, "t_s": float(t), "real": float(r), "simulated": float(s)}
                for t, r, s in list(zip(at, real, simulated, strict=False))[::EVERY]
            ]
    write_rows(CURVES, points)


def simulate_again() -> None:
    """Puts the results of current simulations into cells.csv and curves.csv."""

    def again(row: Row) -> Row:
        ours = quantities(simulate(of_dict(row)))
        new = row | {f"{name}_simulated": float(f"{value:.{DIGITS}g}") for name, value in ours.items()}
        return new if new == row else new | {CURVE: None}

    rows = read_rows(CELLS)
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        write_rows(CELLS, list(threads.map(again, rows)))
    windows = {
        (cell := of_dict(row)).key: simulate(cell).cwnd[::EVERY]
        for row in rows
        if row["seed"] == 1 and (row["sender"], *of_dict(row).link) in DRAWN
    }
    points = []
    for name in dict.fromkeys(point["row"] for point in read_rows(CURVES)):
        mine = [point for point in read_rows(CURVES) if point["row"] == name]
        points += [
            point | {"simulated": float(value)} for point, value in zip(mine, windows[name], strict=False)
        ]
    write_rows(CURVES, points)


def overview(table: Sequence[Row]) -> str:
    """Median and worst errors: of all, and by the controller of the window."""
    homes = {"all": table} | {
        name: [row for row in table if Sender.named(row["sender"]).home == home]
        for home, name in (
            ("kernel", "the kernel's own algorithms"),
            ("agent", "controllers through the agent"),
            ("native", "programs inside the kernel"),
        )
    }
    lines = []
    for name, rows in homes.items():
        for quantity, label in LABELS.items():
            if rows:
                said = verdict(rows, quantity)
                lines.append(
                    [name, label, in_percent(said.median), _worst(said), f"{said.beyond} of {said.rows}"]
                )
    return markdown(["<senders", "<quantity", "median error", "<largest that counts", "above 10 %"], lines)


def _worst(said: Errors) -> str:
    return (
        f"{in_percent(said.worst)} ({said.where['sender']}, {link_of(said.where)})" if said.where else "none"
    )


def measured(rows: Sequence[Row]) -> str:
    """The number of transfers, and their conditions."""
    seeds = sorted({len(group) for _, group in comparison.grouped(rows, comparison.PLACE)})
    lengths = sorted({row["length_s"] for row in rows})
    kept = sum(bool(row["kept_time"]) for row in rows)
    late = [row["lateness_p99_s"] for row in rows]
    kernels = ", ".join(sorted({str(row["kernel"]) for row in rows}))
    count = f"{' to '.join(map(str, seeds[:1] + seeds[1:][-1:]))} {'seed' if seeds == [1] else 'seeds'}"
    long = " and ".join(f"{length:g}" for length in lengths)
    return (
        f"The tables hold {len(rows)} pairs of transfers: {count} of {long} s. Kernel {kernels}. "
        f"Of one hundred packets one was late by more than {median(late) * 1e6:.0f} us in the middle of all "
        f"transfers, and by {max(late) * 1e6:.0f} us in the worst. "
        f"The emulation kept time in {kept} of {len(rows)}."
    )


def matrix(table: Sequence[Row], rtt_ms: int, show: Callable[[Row], str]) -> str:
    """A table of one round trip: senders by packet errors and buffers."""
    links = [(per, buffer) for per in PACKET_ERRORS for buffer in BUFFERS_BDP]
    found = {(r["sender"], r["per"], r["buffer_bdp"]): r for r in table if r["rtt_ms"] == rtt_ms}
    senders = list(dict.fromkeys(name for name, *_ in found))
    lines = [
        [name, *(show(found[name, *link]) if (name, *link) in found else "" for link in links)]
        for name in senders
    ]
    return markdown(["<sender", *(f"{per:g}, {buffer:g} BDP" for per, buffer in links)], lines)


def _retransmissions(row: Row) -> str:
    real, simulated = (in_percent(row[f"retransmitted_{world}"], ".2f") for world in ("real", "simulated"))
    return f"{real} ({simulated})"


def links(table: Sequence[Row]) -> str:
    """The links that have a name: quantities real with the error, retransmissions in both worlds."""
    lines = [
        [
            row["link"],
            row["sender"],
            str(row["seeds"]),
            f"{row['goodput_real'] / 1e6:.2f} ({signed(row['goodput_error'])})",
            f"{row['rtt_real'] * 1e3:.0f} ({signed(row['rtt_error'])})",
            _retransmissions(row),
        ]
        for row in sorted(table, key=lambda row: list(NAMED).index(row["link"]))
    ]
    return markdown(["<link", "<sender", "seeds", "Mbit/s", "mean RTT, ms", "retransmissions"], lines)


def by_rtt(table: Sequence[Row], show: Callable[[Row], str]) -> str:
    """`matrix` of each round trip."""
    rtts = sorted({row["rtt_ms"] for row in table})
    return "\n\n".join(f"RTT {rtt} ms:\n\n{matrix(table, rtt, show)}" for rtt in rtts)


def largest(table: Sequence[Row]) -> str:
    """The largest errors that count, of goodput and RTT."""
    errors: list[tuple[float, list[str]]] = []
    for name in (GOODPUT, RTT):
        scale, unit = (1e6, "Mbit/s") if name == GOODPUT else (1e-3, "ms")
        for row in table:
            if row[f"{name}_counts"]:
                real, simulated, error = (row[f"{name}_{what}"] for what in ("real", "simulated", "error"))
                line = [row["sender"], link_of(row), LABELS[name], f"{real / scale:.3g} {unit}"]
                errors.append((abs(error), [*line, f"{simulated / scale:.3g} {unit}", signed(error)]))
    errors.sort(key=lambda pair: -pair[0])
    heads = ["<sender", "<link", "<quantity", "real", "simulated", "error"]
    return markdown(heads, [line for _, line in errors[:SHOWN]])


def star(table: Sequence[Row]) -> str:
    """The goodput of TCP-STAR at 500 ms as a multiple of that of the kernel's CUBIC, in both worlds."""
    found = {(r["sender"], r["per"], r["buffer_bdp"]): r for r in table if r["rtt_ms"] == 500}
    lines = []
    for home in ("agent", "native"):
        for per in PACKET_ERRORS:
            for buffer in BUFFERS_BDP:
                one, other = (
                    found.get((f"{home}:star", per, buffer)),
                    found.get(("kernel:cubic", per, buffer)),
                )
                if one and other:
                    real, simulated = (
                        one[f"{GOODPUT}_{w}"] / other[f"{GOODPUT}_{w}"] for w in ("real", "simulated")
                    )
                    values = [f"{real:.2f}", f"{simulated:.2f}", signed(simulated / real - 1)]
                    lines.append([f"{home}:star", f"{per:g}", f"{buffer:g} BDP", *values])
    return markdown(["<sender", "PER", "buffer", "real", "simulated", "error"], lines)


def parts(rows: Sequence[Row]) -> dict[str, str]:
    """The text between the markers of the page."""
    named = [row for row in rows if row["link"]]
    rows = [row for row in rows if not row["link"]]
    table = comparison.table(rows)
    return {
        "measured": measured(rows),
        "links": links(comparison.table(named)),
        "links-measured": measured(named),
        "overview": overview(table),
        "star": star(table),
        "largest": largest(table),
        "goodput": by_rtt(table, lambda r: f"{r['goodput_real'] / 1e6:.2f} ({signed(r['goodput_error'])})"),
        "rtt": by_rtt(table, lambda r: f"{r['rtt_real'] * 1e3:.0f} ({signed(r['rtt_error'])})"),
        "retransmissions": by_rtt(table, _retransmissions),
        "windows": by_rtt(
            table,
            lambda r: (
                f"{r['cwnd_real']:.0f} ({signed(r['cwnd_error'])})"
                + ("" if r["curve"] is None else f", {in_percent(r['curve'], '.0f')}")
            ),
        ),
    }


def draw_curves(points: Sequence[Row]) -> Figure:
    """Windows of the simulation and of the kernel over each other."""
    names = list(dict.fromkeys(point["row"] for point in points))
    figure = Figure(figsize=(7, 1.9 * len(names)), layout="constrained")
    axes = figure.subplots(len(names), 1, squeeze=False)[:, 0]
    for name, axis in zip(names, axes, strict=True):
        mine = [point for point in points if point["row"] == name]
        t = [point["t_s"] for point in mine]
        axis.plot(t, [p["real"] for p in mine], color="#0072b2", linewidth=2.4, alpha=0.55, label="kernel")
        axis.plot(t, [p["simulated"] for p in mine], color="#d55e00", linewidth=0.9, label="simulation")
        axis.set_title(_title(name), loc="left", fontsize=8)
        axis.set_ylabel("cwnd, segments")
        axis.set_ylim(bottom=0)
        axis.margins(x=0.01)
    figure.legend(*axes[0].get_legend_handles_labels(), frameon=False, ncols=2, loc="outside upper center")
    axes[-1].set_xlabel("time, s")
    return figure


def _title(key: str) -> str:
    for sender, rtt, per, buffer, _ in DRAWN:
        home, algorithm = sender.split(":")
        if key.startswith(f"{home}-{algorithm}-{rtt}ms-{per:g}-{buffer:g}bdp"):
            return f"{sender}, RTT {rtt} ms, PER {per:g}, buffer {buffer:g} BDP"
    return key


def draw_errors(table: Sequence[Row]) -> Figure:
    """Errors over cells: a point for each link, a column for each sender."""
    senders = list(dict.fromkeys(row["sender"] for row in table))
    colours = {20: "#009e73", 100: "#0072b2", 500: "#d55e00"}
    figure = Figure(figsize=(7, 5), layout="constrained")
    axes = figure.subplots(2, 1, sharex=True)
    for axis, name in zip(axes, (GOODPUT, RTT), strict=True):
        axis.axhspan(-10, 10, color="#eeeeee", zorder=0, label="within 10 %")
        axis.axhline(0, color="#888888", linewidth=0.6)
        for step, (rtt, colour) in enumerate(colours.items()):
            mine = [row for row in table if row["rtt_ms"] == rtt]
            x = [senders.index(row["sender"]) + 0.25 * (step - 1) for row in mine]
            y = [max(-30.0, min(30.0, 100 * row[f"{name}_error"])) for row in mine]
            axis.plot(x, y, ".", color=colour, markersize=5, alpha=0.8, label=f"RTT {rtt} ms")
        axis.set_ylabel(f"error of {LABELS[name]}, %")
    figure.legend(*axes[0].get_legend_handles_labels(), frameon=False, ncols=4, loc="outside upper center")
    axes[1].set_xticks(range(len(senders)), senders, rotation=60, ha="right")
    axes[1].set_xlim(-0.6, len(senders) - 0.4)
    return figure


def draw(folder: Path) -> None:
    """Draws the windows into a folder."""
    with looks.fixed(looks.PAGE):
        looks.write(draw_curves(read_rows(CURVES)), folder / "curves.svg")


def pages() -> dict[Path, str]:
    """The files that follow from the stored numbers."""
    rows = read_rows(CELLS)
    with looks.fixed(looks.PAGE):
        errors = looks.encoded(draw_errors(comparison.table(rows)), "svg").decode()
    return {**md.filled(PAGE, parts(rows) | linux_truth_paused.parts()), ERRORS_FIGURE: errors}


def stale() -> list[str]:
    """What is out of date. Another version of matplotlib draws the same figure with other bytes."""
    return md.stale({file: text for file, text in pages().items() if file == PAGE or not file.exists()})


if __name__ == "__main__":
    md.taken_or_simulated(__doc__, "validate kernel", take_over, simulate_again)
