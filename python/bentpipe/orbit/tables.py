"""Tables of paths, shells and places for the command line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

from bentpipe import terminal, units
from bentpipe.orbit.paths import Solution

MOST = 30
"""Rows of the table of handovers; of more, the middle is counted and not shown."""


def rows(found: Solution) -> list[dict[str, Any]]:
    """A path's rows for JSON.

    t_s, rtt_ms, first_sat, last_sat, hops, reachable; null where there is no path.
    """
    names = ["t_s", "rtt_ms", "first_sat", "last_sat", "hops", "reachable"]
    return list(found.frame.select(names).iter_rows(named=True))


def events(found: Solution) -> pl.DataFrame:
    """Every instant at which the path changes.

    Columns: t_s, what (handover, route, lost, found), first_sat, last_sat, hops, rtt_ms, step_ms (the jump of
    the round-trip time against the row before), gap_s (the time without a path before this row).
    """
    frame = found.frame
    lost = ~pl.col("reachable") & pl.col("reachable").shift(1, fill_value=True)
    again = pl.col("reachable") & ~pl.col("reachable").shift(1, fill_value=True)
    extra = ["gateway"] if "gateway" in frame.columns else []
    seen = frame.with_columns(
        what=pl.when(lost).then(pl.lit("lost")).when(again).then(pl.lit("found"))
        .when(pl.col("access")).then(pl.lit("handover")).when(pl.col("handover")).then(pl.lit("route")),
        step_ms=pl.col("rtt_ms") - pl.col("rtt_ms").shift(1),
        since=pl.when(lost).then(pl.col("t_s")).otherwise(None).forward_fill(),
    )  # fmt: skip
    return seen.filter(pl.col("what").is_not_null()).select(
        "t_s", "what", "first_sat", "last_sat", "hops", "rtt_ms", "step_ms", *extra,
        gap_s=pl.when(pl.col("what") == "found").then(pl.col("t_s") - pl.col("since")).otherwise(None),
    )  # fmt: skip


def summary(found: Solution, step_s: float) -> dict[str, float | int | None]:
    """The share of time with a path, its round-trip time in ms, and the number of its changes."""
    frame = found.frame
    lasts = np.append(np.diff(frame["t_s"].to_numpy()), step_s)
    reachable = frame["reachable"].to_numpy()
    rtt = frame["rtt_ms"].fill_null(np.nan).to_numpy()[reachable]
    what = events(found)["what"]
    return {
        "reachable": float(lasts[reachable].sum() / lasts.sum()),
        "up": float(lasts[frame["up"].to_numpy()].sum() / lasts.sum()),
        "least": float(rtt.min()) if len(rtt) else None,
        "mean": float(np.average(rtt, weights=lasts[reachable])) if len(rtt) else None,
        "greatest": float(rtt.max()) if len(rtt) else None,
        "handovers": int(frame["access"].sum()),
        "routes": int((frame["handover"] & ~frame["access"]).sum()),
        "outages": int((what == "lost").sum()),
    }


_WORDS = {"handover": "handover", "route": "other route", "lost": "no path", "found": "path again"}


def show_path(found: Solution, step_s: float) -> None:
    """A path in a few lines, and its handovers as a table."""
    info, sums = found.info, summary(found, step_s)
    a, b = (terminal.plain(name) for name in found.ends)
    way = "over lasers" if info["mode"] == "lasers" else "by bent pipe"
    terminal.line(
        f"{a} to {b}, {way}: {terminal.plain(info['shell'] or 'TLEs')}, {info['satellites']:,} satellites, "
        f"at least {info['min_elevation_deg']:g} degrees high, from {info['epoch']}"
    )
    share = units.percent(sums["reachable"])
    again = f" ({_count(sums['outages'], 'outage')})" if sums["outages"] else ""
    terminal.line(
        f"a path in {share} % of the time{again}; {_count(sums['handovers'], 'handover')}, "
        f"{_count(sums['routes'], 'change')} of the route between"
    )
    if sums["least"] is not None:
        terminal.line(
            f"round trip {sums['least']:.2f} ms at least, {sums['mean']:.2f} ms in the mean, "
            f"{sums['greatest']:.2f} ms at most"
        )
    every = events(found)
    if every.height == 0:
        return
    gateways = "gateway" in every.columns
    shown = terminal.table(
        "",
        [
            "at\ns", "<what", "first\nsatellite", "last\nsatellite", *(["<gateway"] if gateways else []),
            "hops", "RTT\nms", "change\nms", "without path\ns",
        ],
    )  # fmt: skip
    for row in _folded(every):
        if row is None:
            shown.add_row("...", f"{every.height - MOST:,} more")
            continue
        shown.add_row(
            f"{row['t_s']:.10g}",
            _WORDS[row["what"]],
            *(_cell(row[name], "d") for name in ("first_sat", "last_sat")),
            *([terminal.plain(row["gateway"] or "-")] if gateways else []),
            _cell(row["hops"], "d"),
            _cell(row["rtt_ms"], ".2f"),
            _cell(row["step_ms"], "+.2f"),
            _cell(row["gap_s"], ".10g"),
        )
    terminal.console().print(shown)


def show_shells(frame: pl.DataFrame) -> None:
    """The shells by name."""
    heads = [
        "<shell", "planes", "per\nplane", "altitude\nkm", "inclination\ndegrees", "least el.\ndegrees",
        "<lasers", "~source",
    ]  # fmt: skip
    rows = [
        [
            row["name"], str(row["planes"]), str(row["per_plane"]), _height(row),
            f"{row['inclination_deg']:g}", f"{row['min_elevation_deg']:g}", "yes" if row["lasers"] else "no",
            row["source"],
        ]
        for row in frame.iter_rows(named=True)
    ]  # fmt: skip
    terminal.show_whole("", heads, rows)


def show_places(frame: pl.DataFrame) -> None:
    """Places by name."""
    rows = [
        [
            row["name"], row["kind"], row["country"], f"{row['lat_deg']:.10g}", f"{row['lon_deg']:.10g}",
            (row["aliases"] or "").replace(";", ", "), row["source"],
        ]
        for row in frame.iter_rows(named=True)
    ]  # fmt: skip
    heads = ["<place", "<kind", "~country", "latitude", "longitude", "~also", "~source"]
    terminal.show_whole("", heads, rows)


def _folded(frame: pl.DataFrame) -> Iterator[dict[str, Any] | None]:
    if frame.height <= MOST:
        yield from frame.iter_rows(named=True)
        return
    yield from frame.head(MOST * 2 // 3).iter_rows(named=True)
    yield None
    yield from frame.tail(MOST - MOST * 2 // 3).iter_rows(named=True)


def _height(row: dict[str, Any]) -> str:
    """The altitude in km; of a shell that is given by its revolutions, those."""
    if row["altitude_km"] is None:
        return f"{row['mean_motion_rev_per_day']:g}/day"
    return f"{row['altitude_km']:g}"


def _count(number: float | None, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _cell(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)
