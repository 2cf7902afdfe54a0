"""Every controller over paths that move: docs/leo.md, its table, its text and its figures."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import bentpipe as bp
from bentpipe import controller
from bentpipe.experiments.experiment import Experiment, case_of
from bentpipe.experiments.leo import measure as leo
from bentpipe.experiments.leo.measure import MovingPath
from bentpipe.experiments.rows import Rows, shown
from bentpipe.io.files import stored_rows
from bentpipe.io.toml_tables import beside
from bentpipe.pages.markdown import markdown, rendered, texts
from bentpipe.pages.page import line_colour
from bentpipe.registry import find
from bentpipe.registry import style as style_of
from bentpipe.sweeps.case import Case
from bentpipe.sweeps.kept import Row

_WINDOWED = [
    e["id"] for e in bp.controllers() if any(param["name"] == "base_window" for param in e["params"])
]
KEEPERS = ["star", "a-liad", "hybla", "htcp", *_WINDOWED]
"""Those that keep the smallest round-trip time of the connection; Copa, BBR and LeoCC: of 10 to 20 s."""

STORY = ("vegas", "vegas path_change=reset", "cubic", "leocc")

NAMED = (
    "reno", "cubic", "satcp", "vegas", "fast", "westwood", "westwood-br", "hybla", "star", "a-liad", "jersey",
    "bbr", "bbr3", "copa", "vivace", "leocc",
)  # fmt: skip
"""The controllers that have a row of their own in the figure of all controllers."""

PATHS = {
    key: (of["name"], of["about"].format(loss=100 * leo.LOSS))
    for key, of in beside(__file__, "paths.toml").items()
}
CLEAN = ("leo-handover", "starlink", "kuiper", "telesat")
"""The LEO paths on which nothing is lost at random."""
ON_LEO = ("leo-handover", "leo-loss", "starlink", "kuiper", "telesat")

SEEDS = 3
RESET = "path_change=reset"
WINDOW = "base_window=10"

PAGE = Path(__file__).with_name("page.md")


SENDERS = {"LeoCC": "leocc", "LeoCC without filter": "leocc fluctuation=10"}
"""LeoCC, and LeoCC that never takes a long RTT for a queue, so that it never follows the filtered rate."""


def leocc(rows: Rows) -> str:
    """The table of LeoCC beside BBR, from the rows of validation/leocc.csv."""
    lines = []
    for (name,), own in rows.groups("setting").items():
        (bbr,), *others = (own.where(cc=cc) for cc in ("bbr", *SENDERS.values()))
        ratios = [shown(row["ratio"], row["half"], 2) for (row,) in others]
        trips = [f"{1e3 * row['rtt_p95_s']:.0f}" for row in (bbr, *(row for (row,) in others))]
        lines.append([name, f"{bbr['goodput_bps'] / 1e6:.1f}", *ratios, *trips])
    heads = ["<path", "BBR, Mbit/s", *SENDERS, "RTT, p95, ms: BBR", *SENDERS]
    return markdown(heads, lines, spaced=True)


def _table(rows: Rows, what: str, digits: int, scale: float) -> str:
    ccs = [entry["id"] for entry in bp.controllers()]
    paths = [p for p in PATHS if any(rows.values(what, path=p, cc=cc) for cc in ccs)]
    body = (
        [find(cc)["label"], *(rows.cell(what, digits, scale, path=p, cc=cc) for p in paths)] for cc in ccs
    )
    return markdown(["<controller", *(PATHS[p][0] for p in paths)], body)


def _mean_share(rows: Rows, cc: str, paths: Sequence[str] = CLEAN) -> float:
    return float(np.mean([rows.mean("share", path=p, cc=cc) for p in paths]))


def _keepers(rows: Rows) -> str:
    """Goodput of those that keep the minimum: as published, with a window, with a reset."""
    body = []
    for entry in bp.controllers():
        if entry["id"] in KEEPERS:
            cells = []
            for p in ON_LEO:
                ways = (entry["id"] + more for more in ("", " base_window=10", " path_change=reset"))
                three = [rows.mean("share", path=p, cc=cc) for cc in ways]
                cells.append(", ".join("–" if np.isnan(v) else f"{100 * v:.0f}" for v in three))
            body.append([entry["label"], *cells])
    return markdown(texts(["controller", *(PATHS[p][0] for p in ON_LEO)]), body)


def _story(path: MovingPath, traces: Mapping[str, Any]) -> Figure:
    figure = Figure(figsize=(8.0, 4.6), layout="constrained")
    top, low = figure.subplots(2, 1, sharex=True, height_ratios=[3, 2])
    grid = np.arange(0.5, path.duration_s, 0.5)
    could = np.diff(path.capacity(np.append(0.0, grid))) / 0.5e6
    under = {"color": "#cccccc", "linewidth": 4, "zorder": 0}
    top.step(grid, could, where="pre", label="the path", **under)
    for cc, trace in traces.items():
        style, changed = style_of(cc.split()[0]), " " in cc
        colour, line = style["colour"], "--" if changed else "-"
        label = f"{style['label']}, reset at handovers" if changed else style["label"]
        t, delivered = (trace[name].to_numpy() for name in ("t_s", "delivered_bytes"))
        bits = np.interp(np.append(0.0, grid), t, 8.0 * delivered)
        top.plot(grid, np.diff(bits) / 0.5e6, line, color=colour, linewidth=1, label=label)
        low.plot(trace["t_s"], 1e3 * trace["srtt_s"], line, color=colour, linewidth=0.9)
    low.step(*_until_end(path, 2e3 * path.frame["delay_s"].to_numpy()), where="post", **under)
    low.set(ylabel="round trip, ms", xlabel="time, s", ylim=(0, None))
    top.set(ylabel="goodput, Mbit/s", ylim=(0, None), xlim=(0, path.duration_s))
    figure.legend(loc="outside upper center", ncols=5, frameon=False)
    return figure


def _until_end(path: MovingPath, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Instants and values of a path, the last value to the end of the run."""
    t = path.frame["t_s"].to_numpy()
    t, y = t[t < path.duration_s], y[t < path.duration_s]
    return np.append(t, path.duration_s), np.append(y, y[-1])


def _dots(rows: Rows) -> Figure:
    """The share of the capacity on each path: a row for each of `NAMED`, and one for all others."""
    known = sorted(bp.controllers(), key=lambda e: _mean_share(rows, e["id"], ON_LEO))
    entries = [e for e in known if e["id"] in NAMED]
    others = [e["id"] for e in known if e["id"] not in NAMED]
    names = [p for p in PATHS if rows.where(path=p)]
    figure = Figure(figsize=(8.6, 4.0), layout="constrained")
    axes = figure.subplots(1, len(names), sharey=True)
    for ax, name in zip(axes, names, strict=True):
        for y, entry in enumerate(entries):
            at = 100 * rows.mean("share", path=name, cc=entry["id"])
            again = 100 * rows.mean("share", path=name, cc=f"{entry['id']} path_change=reset")
            ink = line_colour(entry["colour"])
            ax.plot([at, again], [y, y], color="#bbbbbb", linewidth=0.8, zorder=1)
            ax.plot(again, y, "o", mfc="white", mec=ink, markersize=5, zorder=2, clip_on=False)
            ax.plot(at, y, "o", color=ink, markersize=5, zorder=3, clip_on=False)
        shares = [100 * rows.mean("share", path=name, cc=cc) for cc in others]
        ax.plot(shares, [-1.5] * len(shares), "|", color="black", markersize=9, alpha=0.45, clip_on=False)
        ax.set_title(PATHS[name][0], fontsize=8)
        ax.set(xlim=(0, 105), xticks=[0, 50, 100])
        ax.grid(axis="x", linewidth=0.4)
    ticks = [*((y, e["label"]) for y, e in enumerate(entries)), (-1.5, f"the {len(others)} others")]
    axes[0].set_yticks(*zip(*ticks, strict=True))
    axes[0].set_ylim(-2.2, len(entries) - 0.3)
    figure.supxlabel("goodput, % of what the path could carry; hollow: reset at handovers", fontsize=8)
    return figure


def _paths(paths: Sequence[MovingPath]) -> Figure:
    figure = Figure(figsize=(8.6, 4.4), layout="constrained")
    drawn = [path for path in paths if path.name != "leo-loss"]
    columns = len(drawn) // 2
    for i, (ax, path) in enumerate(zip(figure.subplots(2, columns).flat, drawn, strict=True)):
        moves = path.group != "geo"
        y = 2e3 * path.frame["delay_s"].to_numpy() if moves else path.frame["rate_bps"].to_numpy() / 1e6
        y = np.where(path.frame["up"].to_numpy(), y, np.nan)
        line = {"drawstyle": "steps-post"} if path.group != leo.LEO or path.name.startswith("leo") else {}
        ax.plot(*_until_end(path, y), color="#0072b2", linewidth=0.9, **line)
        for at in path.handovers:
            ax.axvline(at, color="#bbbbbb", linewidth=0.5, zorder=0)
        ax.set_title(PATHS[path.name][0], fontsize=8)
        ax.set(ylabel="round trip, ms" if moves else "rate, Mbit/s", xlabel="s" if i >= columns else "")
        ax.set(ylim=(0, 1.15 * float(np.nanmax(y))), xlim=(0, path.duration_s))
    return figure


class Leo(Experiment):
    """Every controller over paths that move. With data, the measured downlinks are among the paths."""

    name = "leo"
    columns = leo.COLUMNS

    @cached_property
    def paths(self) -> dict[str, MovingPath]:
        """All paths by name."""
        ours = [leo.shipped(), leo.shipped("leo-loss", leo.LOSS)]
        own = [] if self.data is None else leo.measured(self.data)
        return {path.name: path for path in (*ours, *leo.shells(), *leo.fades(), *own)}

    def cases(self) -> list[Case]:
        """Quick: one seed over the two shipped paths, the controllers that the figures name."""
        some = {name: self.paths[name] for name in ("leo-handover", "leo-loss")}
        paths, named = some if self.quick else self.paths, list(dict.fromkeys((*NAMED, *STORY)))
        return [
            case_of(
                {"path": name, "cc": cc, "seed": seed},
                path.scenario(controller.named_algorithm(cc), seed, self.lines),
            )
            for seed in range(1, (1 if self.quick else SEEDS) + 1)
            for name, path in paths.items()
            for cc in (named if self.quick else algorithms(path))
        ]

    def measure(self, case: Case, result: bp.Result) -> Row:
        """All columns."""
        return leo.measure(self.paths[str(case.keys["path"])], result)

    def text(self, rows: Rows) -> str:
        """The page: page.md with the numbers, and those of `leocc` in its folder."""
        about_leocc = self.out / "validation" / "leocc.csv"
        labels = {e["id"]: e["label"] for e in bp.controllers()}

        def value(path: str, cc: str, what: str) -> float:
            return rows.mean(what, path=path, cc=cc)

        def share(cc: str, paths: Sequence[str]) -> str:
            return f"{100 * _mean_share(rows, cc, paths):.0f} %"

        def percent(cc: str, path: str = "leo-handover") -> str:
            return share(cc, [path])

        def changes(ccs: Sequence[str], paths: Sequence[str] = CLEAN) -> str:
            """A table of goodput without and with a reset."""
            body = ([labels[cc], share(cc, paths), share(f"{cc} path_change=reset", paths)] for cc in ccs)
            return markdown(["<controller", "no reset", "reset"], body)

        gained = sorted(
            KEEPERS, key=lambda cc: _mean_share(rows, cc) - _mean_share(rows, f"{cc} path_change=reset")
        )
        handover = [
            [
                labels[cc.split()[0]] + (", reset at each handover" if " " in cc else ""),
                percent(cc),
                f"{1e3 * value('leo-handover', cc, 'rtt_p95_s'):.0f} ms",
            ]
            for cc in ("vegas", "vegas path_change=reset", "cubic", "satcp", "bbr", "leocc")
        ]
        heads = ["<controller", "goodput, of what the path could carry", "round trip (p95)"]
        return rendered(
            PAGE,
            handover=markdown(heads, handover),
            resets=changes([*gained[:5], *gained[:-3:-1]]),
            percent=percent,
            value=value,
            leo=leo,
            keepers=_keepers(rows),
            table=partial(_table, rows),
            changes=changes,
            leocc=leocc(Rows(stored_rows(about_leocc)))
            if about_leocc.exists()
            else "(`bentpipe study run leocc`)",
            paths=PATHS.values(),
            seeds=max((row["seed"] for row in rows), default=0),
        )

    def views(self, rows: Rows) -> Iterator[tuple[str, Figure]]:
        """The figures; that of the paths only if the measured ones are there."""
        every = list(self.paths.values())
        with tempfile.TemporaryDirectory() as work:
            runs = [every[0].scenario(controller.named_algorithm(cc), 1, Path(work)) for cc in STORY]
            results = bp.run_many(runs)
        traces = {cc: result.trace for cc, result in zip(STORY, results, strict=True)}
        yield "leo-handover.svg", _story(every[0], traces)
        yield "leo-controllers.svg", _dots(rows)
        if len(every) == len(PATHS):  # not without the measured data
            yield "leo-paths.svg", _paths(every)


def algorithms(path: MovingPath) -> Iterator[str]:
    """Every controller; where the path changes hands, also those that forget the smallest round-trip time."""
    for entry in bp.controllers():
        yield entry["id"]
        if path.group == leo.LEO and not entry["uses_path_hints"]:
            if entry["id"] in _WINDOWED:
                yield f"{entry['id']} {WINDOW}"
            if entry["id"] in KEEPERS:
                yield f"{entry['id']} {RESET}"
