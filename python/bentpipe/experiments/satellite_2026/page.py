"""Start-up and files, pages and films over satellites: docs/satellite-2026.md, its text and its figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import bentpipe as bp
from bentpipe.experiments.experiment import Experiment, case_of
from bentpipe.experiments.rows import Rows, shown
from bentpipe.experiments.satellite_2026 import measure as sat
from bentpipe.experiments.satellite_2026.claims import claims
from bentpipe.experiments.satellite_2026.measure import PATHS, mean
from bentpipe.pages.markdown import markdown, rendered, texts
from bentpipe.pages.page import line_colour
from bentpipe.registry import style
from bentpipe.studies.claim import Claim
from bentpipe.sweeps.case import Case
from bentpipe.sweeps.kept import Row

STARTS: dict[str, str] = sat.GIVEN["starts"]
"""CUBIC with several starts, by name."""
ALGORITHMS: dict[str, str] = STARTS | sat.GIVEN["others"]
"""The algorithms that are run if registered. To add an algorithm is to add a line to satellite.toml."""
COLOURS: dict[str, str] = sat.GIVEN["colours"]
"""Of the starts; others have those of the gallery."""
STORY = [*STARTS, "bbr3", "hybla"]
SHOWN = ("geo", "geo-jitter")
"""The curves over time: these algorithms over these paths."""
SEEDS = 8
PAGE = Path(__file__).with_name("page.md")


def fastest(rows: Rows, found: Sequence[str]) -> str:
    """The fastest on each path, with their times."""

    def first(what: str, path: str) -> str:
        known = [(of.centre, cc) for cc in found if (of := mean(rows, path, cc, what))]
        if not known:
            return "–"
        least, cc = min(known, key=lambda pair: pair[0])
        return f"{ALGORITHMS[cc]}, {least:.2f} s"

    whats = {"startup_s": "half of the rate", "file_1_s": "1 MB", "file_100_s": "100 MB", "page_s": "a page"}
    lines = [[path.label, *(first(what, path.name) for what in whats)] for path in PATHS]
    known = [line for line in lines if set(line[1:]) != {"–"}]
    return markdown(texts(["path", *whats.values()]), known)


def _cell(rows: Rows, path: str, cc: str, what: str, digits: int) -> str:
    if (known := mean(rows, path, cc, what)) is not None:
        return shown(known.centre, known.half_width, digits)
    every, values = rows.where(path=path, cc=cc), rows.values(what, path=path, cc=cc)
    return f"{len(values)} of {len(every)}" if values else "–" if every else ""


def _table(rows: Rows, found: Sequence[str], columns: Sequence[tuple[str, str, str, int]]) -> str:
    """A row for each algorithm. `columns`: head, path, number, digits."""
    heads = ["<algorithm", *(head for head, *_ in columns)]
    cells = ([_cell(rows, path, cc, what, n) for _, path, what, n in columns] for cc in found)
    return markdown(heads, ([ALGORITHMS[cc], *row] for cc, row in zip(found, cells, strict=True)))


def _checks(claim: Claim) -> str:
    rows = []
    for check in claim.checks:
        got = check.measured
        unit = f" {check.unit}" if check.unit else ""
        paper = check.paper if isinstance(check.paper, str) else f"{check.paper:g}{unit}"
        counted = "" if check.counted else " (not counted)"
        ours = f"{got.centre:.3g} ± {got.half_width:.2g}{unit}"
        rows.append([check.what, paper, ours, check.outcome + counted])
    return markdown(texts(["check", "published", "measured", "holds"]), rows)


Traces = Mapping[tuple[str, str], tuple[np.ndarray, np.ndarray]]
"""Seconds from the start of the flow, and bytes delivered, by path and algorithm."""


def colour(cc: str) -> str:
    """The colour of an algorithm."""
    return COLOURS.get(cc) or line_colour(style(cc.partition(" ")[0])["colour"])


def _draw_start(traces: Traces) -> Figure:
    figure = Figure(figsize=(8.6, 3.6), layout="constrained")
    until = 20.0
    for ax, name in zip(figure.subplots(1, 2, sharey=True), SHOWN, strict=True):
        path = _path(name)
        for (of, cc), (t, delivered) in traces.items():
            if of == name:
                dashes = "-" if cc in STARTS else "--"
                # Others lie upon plain CUBIC for long: it is a broad line below them.
                under = {"linewidth": 3.5, "zorder": 1} if cc == "cubic" else {"linewidth": 1.2}
                ax.plot(t, delivered / 1e6, dashes, color=colour(cc), label=ALGORITHMS[cc], **under)
        line = [0, until * sat.RATE_BPS / 8e6]
        ax.plot([0, until], line, ":", color="black", linewidth=1, label="rate of the link")
        ax.set(xlim=(0, until), xticks=np.arange(0, until + 1, 5), ylim=(0, until * sat.RATE_BPS / 8e6))
        ax.set(title=path.label, xlabel="seconds since the flow began")
    figure.axes[0].set_ylabel("delivered, MB")
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=4, frameon=False)
    return figure


def _draw_dots(rows: Rows, found: Sequence[str], numbers: Sequence[tuple[str, str]]) -> Figure:
    """A row for each algorithm, a column for each path, one line of panels for each number."""
    paths = [
        path for path in PATHS if any(mean(rows, path.name, cc, what) for cc in found for what, _ in numbers)
    ]
    figure = Figure(figsize=(8.6, 0.8 + 2.9 * len(numbers)), layout="constrained")
    grid = figure.subplots(len(numbers), len(paths), sharey=True, squeeze=False)
    for line, (what, about) in zip(grid, numbers, strict=True):
        for ax, path in zip(line, paths, strict=True):
            _dots(ax, rows, found, path.name, what)
            ax.set_title(path.label)
        line[0].set_yticks(range(len(found)), [ALGORITHMS[cc] for cc in found])
        line[len(line) // 2].set_xlabel(about, x=0.5 if len(line) % 2 else 0.0)
        line[0].set_ylim(len(found) - 0.4, -0.6)
    return figure


def _dots(ax: Axes, rows: Rows, found: Sequence[str], path: str, what: str) -> None:
    ends = [0.0]
    for y, cc in enumerate(found):
        if (known := mean(rows, path, cc, what)) is not None:
            ends.append(known.high)
            arms = [[arm] for arm in known.arms]
            ax.errorbar(known.centre, y, xerr=arms, fmt="o", color=colour(cc), markersize=4, elinewidth=1)
    ax.set_xlim(0, 1.1 * max(ends) or 1)
    ax.grid(axis="x", linewidth=0.4)


class Satellite2026(Experiment):
    """Start-up and files, pages and films over satellites."""

    name = "satellite-2026"
    columns = sat.COLUMNS

    def cases(self) -> list[Case]:
        """The runs of each algorithm over each path, seed by seed.

        Quick: one seed over GEO with and without jitter, CUBIC with its starts.
        """
        ccs = [cc for cc in (STARTS if self.quick else ALGORITHMS) if sat.exists(cc)]
        paths = [path for path in PATHS if not self.quick or path.name in SHOWN]
        return [
            case_of(
                {"path": path.name, "cc": cc, "seed": seed},
                path.scenario(cc, traffic, seed, duration, record),
                run=run,
            )
            for seed in range(1, (1 if self.quick else SEEDS) + 1)
            for path in paths
            for cc in ccs
            for run, (traffic, duration, record) in sat.RUNS.items()
        ]

    def measure(self, case: Case, result: bp.Result) -> Row:
        """The columns of one of the runs."""
        return sat.measure(_path(str(case.keys["path"])), str(case.settings["run"]), result)

    def text(self, rows: Rows) -> str:
        """The page: page.md with the numbers."""
        found = [cc for cc in ALGORITHMS if rows.where(cc=cc)]

        def table(what: str, digits: int) -> str:
            return _table(rows, found, [(path.label, path.name, what, digits) for path in PATHS])

        video = [
            (f"{path.label}, {head}", path.name, what, 1)
            for path in PATHS
            for head, what in (("Mbit/s", "video_mbps"), ("start, s", "video_startup_s"))
        ]
        stalled = [
            f"{ALGORITHMS[cc]} over {path.label} ({known.centre:.1f} s on average)"
            for path in PATHS
            for cc in found
            if (known := mean(rows, path.name, cc, "video_stalled_s")) and known.centre > 0
        ]
        files = ((cc, mean(rows, "geo", cc, "file_100_s")) for cc in found)
        return rendered(
            PAGE,
            sat=sat,
            seeds=len(rows.groups("seed")),
            fastest=fastest(rows, found),
            claims=claims(rows),
            checks=_checks,
            table=table,
            # The objective of a draft for the path GEO.
            met=[ALGORITHMS[cc] for cc, known in files if known and known.centre <= 20],
            video=_table(rows, found, video),
            stalled=stalled,
        )

    def views(self, rows: Rows) -> Iterator[tuple[str, Figure]]:
        """The three figures."""
        found = [cc for cc in ALGORITHMS if rows.where(cc=cc)]
        yield "satellite-2026-start.svg", _draw_start(_traces([cc for cc in STORY if sat.exists(cc)]))
        files = [("file_1_s", "1 MB, seconds"), ("file_100_s", "100 MB, seconds")]
        yield "satellite-2026-files.svg", _draw_dots(rows, found, files)
        pages = [("page_s", "page load time, seconds"), ("video_mbps", "video, mean Mbit/s")]
        yield "satellite-2026-pages.svg", _draw_dots(rows, found, pages)


def _path(name: str) -> sat.SatellitePath:
    return next(path for path in PATHS if path.name == name)


def _traces(ccs: Sequence[str]) -> Traces:
    """The delivery of a bulk flow of each algorithm over time, with one seed."""
    keys = [(path, cc) for path in PATHS if path.name in SHOWN for cc in ccs]
    scenarios = [path.scenario(cc, bp.Bulk(), 1, "24 s", bp.Record("50 ms")) for path, cc in keys]
    found = {}
    for (path, cc), result in zip(keys, bp.run_many(scenarios), strict=True):
        t, delivered = sat.delivery(result)
        begun = next(flow["start_s"] for flow in result.json["flows"] if flow["name"] == "flow")
        found[path.name, cc] = (t - begun, delivered)
    return found
