"""Tables of paths, shells and places for the command line."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import polars as pl

from bentpipe import terminal, units
from bentpipe.orbit.hypatia import Agreement
from bentpipe.orbit.networks import Network
from bentpipe.orbit.paths import Solution

MOST = 30
"""Rows of the table of handovers; of more, the middle is counted and not shown."""


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


def summary(found: Solution, step_s: float) -> dict[str, Any]:
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
    again = f" ({units.many(sums['outages'], 'outage')})" if sums["outages"] else ""
    terminal.line(
        f"a path in {share} % of the time{again}; {units.many(sums['handovers'], 'handover')}, "
        f"{units.many(sums['routes'], 'change')} of the route between"
    )
    if sums["least"] is not None:
        terminal.line(
            f"round trip {sums['least']:.2f} ms at least, {sums['mean']:.2f} ms in the mean, "
            f"{sums['greatest']:.2f} ms at most"
        )
    every = events(found)
    if every.height == 0:
        return
    columns: list[tuple[str, Callable[[dict[str, Any]], str]]] = [
        ("at\ns", lambda row: f"{row['t_s']:.10g}"),
        ("<what", lambda row: _WORDS[row["what"]]),
        ("first\nsatellite", lambda row: units.cell(row["first_sat"], "d")),
        ("last\nsatellite", lambda row: units.cell(row["last_sat"], "d")),
        ("<gateway", lambda row: terminal.plain(row["gateway"] or "-")),
        ("hops", lambda row: units.cell(row["hops"], "d")),
        ("RTT\nms", lambda row: units.cell(row["rtt_ms"], ".2f")),
        ("change\nms", lambda row: units.cell(row["step_ms"], "+.2f")),
        ("without path\ns", lambda row: units.cell(row["gap_s"], ".10g")),
    ]
    if "gateway" not in every.columns:
        del columns[4]
    more = ["...", f"{every.height - MOST:,} more", *[""] * (len(columns) - 2)]
    rows = [more if row is None else [cell(row) for _, cell in columns] for row in _folded(every)]
    terminal.show_whole("", [head for head, _ in columns], rows)


def network_sums(made: Network) -> dict[str, Any]:
    """What the paths of a network are like: one number a name, times in s.

    `tables` is how many there are. `entries_changed` and `paths_changed` are means from table to table;
    `reachable`, `delay_s` and `links` are means over pairs and time.
    """
    step_s, duration_s = made.info["step_s"], made.info["duration_s"]
    count, stations = len(made.satellites), len(made.stations)
    number = math.ceil(duration_s / step_s - 1e-9)
    later = pl.col("t_s") > 0
    held = made.paths.with_columns(
        holds=pl.col("t_s").shift(-1).over("from", "to").fill_null(duration_s) - pl.col("t_s")
    )
    with_path = held.filter(pl.col("delay_s").is_not_null())
    weights = with_path["holds"].to_numpy()
    delay_s = with_path["delay_s"].to_numpy()
    links = with_path["via"].list.len().to_numpy() + 1
    reached = len(weights) > 0
    return {
        "satellites": count,
        "lasers": len(made.lasers),
        "stations": stations,
        "tables": number,
        "failed": made.failed.height,
        "entries": (count + stations - 1) * stations,
        "paths": stations * (stations - 1),
        "entries_changed": made.tables.filter(later).height / max(number - 1, 1),
        "paths_changed": made.paths.filter(later).height / max(number - 1, 1),
        "reachable": float(weights.sum() / held["holds"].sum()),
        "delay_s": float(np.average(delay_s, weights=weights)) if reached else None,
        "least_delay_s": float(delay_s.min()) if reached else None,
        "greatest_delay_s": float(delay_s.max()) if reached else None,
        "links": float(np.average(links, weights=weights)) if reached else None,
    }


def show_network(made: Network, found: Agreement | None) -> None:
    """A network in a few lines, and how far it agrees with a folder's state."""
    sums, info = network_sums(made), made.info
    terminal.line(
        f"{terminal.plain(info['shell'] or 'satellites')}: {sums['satellites']:,} satellites, "
        f"{units.many(sums['lasers'], 'laser')}, {units.many(sums['stations'], 'station')}, "
        f"from {info['epoch']}"
    )
    terminal.line(
        f"{units.many(sums['tables'], 'table')}, one each {units.short(info['step_s'])} s; from one to the "
        f"next {sums['entries_changed']:.4g} of {sums['entries']:,} entries and "
        f"{sums['paths_changed']:.4g} of {sums['paths']:,} paths change"
    )
    if sums["failed"]:
        terminal.line(f"{sums['failed']:,} of its satellites, lasers and stations fail")
    if found is not None:
        terminal.line(
            f"as in the folder: {found.same_entries:,} of {found.entries:,} entries, "
            f"{found.same_paths:,} of {found.paths:,} paths"
        )
    share = f"a path {units.percent(sums['reachable'])} % of the time"
    if sums["delay_s"] is None:
        terminal.line(share)
        return
    least, mean, most = (1e3 * sums[name] for name in ("least_delay_s", "delay_s", "greatest_delay_s"))
    terminal.line(
        f"{share}, over {sums['links']:.1f} links in the mean; one way {least:.1f} ms at least, "
        f"{mean:.1f} ms in the mean, {most:.1f} ms at most"
    )


def show_shells(frame: pl.DataFrame) -> None:
    """The shells by name."""
    columns: list[tuple[str, Callable[[dict[str, Any]], str]]] = [
        ("<shell", lambda row: row["name"]),
        ("planes", lambda row: str(row["planes"])),
        ("per\nplane", lambda row: str(row["per_plane"])),
        ("altitude\nkm", _height),
        ("inclination\ndegrees", lambda row: f"{row['inclination_deg']:g}"),
        ("least el.\ndegrees", lambda row: f"{row['min_elevation_deg']:g}"),
        ("<lasers", lambda row: "yes" if row["lasers"] else "no"),
        ("~source", lambda row: row["source"]),
    ]
    terminal.show_rows("", columns, frame.to_dicts(), whole=True)


def show_places(frame: pl.DataFrame) -> None:
    """Places by name."""
    columns: list[tuple[str, Callable[[dict[str, Any]], str]]] = [
        ("<place", lambda row: row["name"]),
        ("<kind", lambda row: row["kind"]),
        ("~country", lambda row: row["country"]),
        ("latitude", lambda row: f"{row['lat_deg']:.10g}"),
        ("longitude", lambda row: f"{row['lon_deg']:.10g}"),
        ("~also", lambda row: (row["aliases"] or "").replace(";", ", ")),
        ("~source", lambda row: row["source"]),
    ]
    terminal.show_rows("", columns, frame.to_dicts(), whole=True)


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
