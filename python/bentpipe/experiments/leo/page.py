"""Every controller over paths that move: docs/leo.md, its table, its text and its figures."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import bentpipe as bp
from bentpipe import controller
from bentpipe.experiments.leo.measure import (
    LEO,
    LOSS,
    SHARE,
    WINDOW_S,
    LeoNumbers,
    MovingPath,
    fades,
    mean,
    measure,
    measured,
    shells,
    shipped,
)  # fmt: skip
from bentpipe.experiments.table import Key, TableExperiment, line_colour, shown
from bentpipe.io.files import read_rows
from bentpipe.io.toml_tables import beside
from bentpipe.pages.markdown import markdown, rendered, texts
from bentpipe.plot import looks
from bentpipe.registry import style as style_of
from bentpipe.sweeps.case import Case

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
    key: (of["name"], of["about"].format(loss=100 * LOSS))
    for key, of in beside(__file__, "paths.toml").items()
}
CLEAN = ("leo-handover", "starlink", "kuiper", "telesat")
"""The LEO paths on which nothing is lost at random."""
ON_LEO = ("leo-handover", "leo-loss", "starlink", "kuiper", "telesat")

SEEDS = 3
RESET = "path_change=reset"
WINDOW = "base_window=10"

PAGE = Path(__file__).with_name("page.md")
PAIR = tuple[str, str]


SENDERS = {"LeoCC": "leocc", "LeoCC without filter": "leocc fluctuation=10"}
"""LeoCC, and LeoCC that never takes a long RTT for a queue, so that it never follows the filtered rate."""


def leocc(rows: Sequence[Mapping[str, Any]]) -> str:
    """The table of LeoCC beside BBR, from the rows of validation/leocc.csv."""
    found = {(row["setting"], row["cc"]): row for row in rows}
    lines = []
    for name in dict.fromkeys(row["setting"] for row in rows):
        bbr, *others = (found[name, cc] for cc in ("bbr", *SENDERS.values()))
        ratios = [shown(row["ratio"], row["half"], 2) for row in others]
        trips = [f"{1e3 * row['rtt_p95_s']:.0f}" for row in (bbr, *others)]
        lines.append([name, f"{bbr['goodput_bps'] / 1e6:.1f}", *ratios, *trips])
    heads = ["<path", "BBR, Mbit/s", *SENDERS, "RTT, p95, ms: BBR", *SENDERS]
    return markdown(heads, lines, spaced=True)


def _by(rows: Sequence[LeoNumbers]) -> dict[PAIR, list[LeoNumbers]]:
    found: dict[PAIR, list[LeoNumbers]] = {}
    for r in rows:
        found.setdefault((r.path, r.cc), []).append(r)
    return found


def _value(found: Mapping[PAIR, list[LeoNumbers]], path: str, cc: str, what: str) -> float:
    known = mean(found.get((path, cc), []), what)
    return float("nan") if known is None else known.centre


def _cell(found: Mapping[PAIR, list[LeoNumbers]], key: PAIR, what: str, digits: int, scale: float) -> str:
    known = mean(found.get(key, []), what)
    return "" if known is None else shown(scale * known.centre, scale * known.half_width, digits)


def _table(found: Mapping[PAIR, list[LeoNumbers]], what: str, digits: int, scale: float) -> str:
    paths = [p for p in PATHS if any(not np.isnan(_value(found, p, e["id"], what)) for e in bp.controllers())]
    rows = (
        [entry["label"], *(_cell(found, (p, entry["id"]), what, digits, scale) for p in paths)]
        for entry in bp.controllers()
    )
    return markdown(["<controller", *(PATHS[p][0] for p in paths)], rows)


def _mean_share(found: Mapping[PAIR, list[LeoNumbers]], cc: str, paths: Sequence[str] = CLEAN) -> float:
    return float(np.mean([_value(found, p, cc, "share") for p in paths]))


def _keepers(found: Mapping[PAIR, list[LeoNumbers]]) -> str:
    """Goodput of those that keep the minimum: as published, with a window, with a reset."""
    rows = []
    for entry in bp.controllers():
        if entry["id"] in KEEPERS:
            cells = []
            for p in ON_LEO:
                three = [
                    _value(found, p, f"{entry['id']}{more}", "share")
                    for more in ("", " base_window=10", " path_change=reset")
                ]
                cells.append(", ".join("–" if np.isnan(v) else f"{100 * v:.0f}" for v in three))
            rows.append([entry["label"], *cells])
    return markdown(texts(["controller", *(PATHS[p][0] for p in ON_LEO)]), rows)


def _look(cc: str) -> tuple[str, str, str]:
    """Label, colour and line style of a controller with parameters."""
    style, changed = style_of(cc.split()[0]), " " in cc
    label = f"{style['label']}, reset at handovers" if changed else style["label"]
    return label, style["colour"], "--" if changed else "-"


def _story(file: Path, path: MovingPath, traces: Mapping[str, Any]) -> None:
    figure = Figure(figsize=(8.0, 4.6), layout="constrained")
    top, low = figure.subplots(2, 1, sharex=True, height_ratios=[3, 2])
    grid = np.arange(0.5, path.duration_s, 0.5)
    could = np.diff(path.capacity(np.append(0.0, grid))) / 0.5e6
    under = {"color": "#cccccc", "linewidth": 4, "zorder": 0}
    top.step(grid, could, where="pre", label="the path", **under)
    for cc, trace in traces.items():
        label, colour, line = _look(cc)
        bits = np.interp(
            np.append(0.0, grid), trace["t_s"].to_numpy(), 8.0 * trace["delivered_bytes"].to_numpy()
        )
        top.plot(grid, np.diff(bits) / 0.5e6, line, color=colour, linewidth=1, label=label)
        low.plot(trace["t_s"], 1e3 * trace["srtt_s"], line, color=colour, linewidth=0.9)
    low.step(*_until_end(path, 2e3 * path.frame["delay_s"].to_numpy()), where="post", **under)
    top.set_ylabel("goodput, Mbit/s")
    low.set_ylabel("round trip, ms")
    low.set_xlabel("time, s")
    low.set_ylim(0)
    top.set_ylim(0)
    top.set_xlim(0, path.duration_s)
    figure.legend(loc="outside upper center", ncols=5, frameon=False)
    looks.write(figure, file)


def _until_end(path: MovingPath, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Instants and values of a path, the last value to the end of the run."""
    t = path.frame["t_s"].to_numpy()
    t, y = t[t < path.duration_s], y[t < path.duration_s]
    return np.append(t, path.duration_s), np.append(y, y[-1])


def _dots(file: Path, found: Mapping[PAIR, list[LeoNumbers]]) -> None:
    """The share of the capacity on each path: a row for each of `NAMED`, and one for all others."""
    known = sorted(bp.controllers(), key=lambda e: _mean_share(found, e["id"], ON_LEO))
    entries = [e for e in known if e["id"] in NAMED]
    others = [e["id"] for e in known if e["id"] not in NAMED]
    names = [p for p in PATHS if any(key[0] == p for key in found)]
    figure = Figure(figsize=(8.6, 4.0), layout="constrained")
    axes = figure.subplots(1, len(names), sharey=True)
    for ax, name in zip(axes, names, strict=True):
        for y, entry in enumerate(entries):
            at = 100 * _value(found, name, entry["id"], "share")
            again = 100 * _value(found, name, f"{entry['id']} path_change=reset", "share")
            ink = line_colour(entry["colour"])
            ax.plot([at, again], [y, y], color="#bbbbbb", linewidth=0.8, zorder=1)
            ax.plot(again, y, "o", mfc="white", mec=ink, markersize=5, zorder=2, clip_on=False)
            ax.plot(at, y, "o", color=ink, markersize=5, zorder=3, clip_on=False)
        shares = [100 * _value(found, name, cc, "share") for cc in others]
        ax.plot(shares, [-1.5] * len(shares), "|", color="black", markersize=9, alpha=0.45, clip_on=False)
        ax.set_title(PATHS[name][0], fontsize=8)
        ax.set_xlim(0, 105)
        ax.set_xticks([0, 50, 100])
        ax.grid(axis="x", linewidth=0.4)
    rows = [*((y, e["label"]) for y, e in enumerate(entries)), (-1.5, f"the {len(others)} others")]
    axes[0].set_yticks(*zip(*rows, strict=True))
    axes[0].set_ylim(-2.2, len(entries) - 0.3)
    figure.supxlabel("goodput, % of what the path could carry; hollow: reset at handovers", fontsize=8)
    looks.write(figure, file)


def _paths(file: Path, paths: Sequence[MovingPath]) -> None:
    figure = Figure(figsize=(8.6, 4.4), layout="constrained")
    drawn = [path for path in paths if path.name != "leo-loss"]
    columns = len(drawn) // 2
    for i, (ax, path) in enumerate(zip(figure.subplots(2, columns).flat, drawn, strict=True)):
        moves = path.group != "geo"
        y = 2e3 * path.frame["delay_s"].to_numpy() if moves else path.frame["rate_bps"].to_numpy() / 1e6
        y = np.where(path.frame["up"].to_numpy(), y, np.nan)
        line = {"drawstyle": "steps-post"} if path.group != LEO or path.name.startswith("leo") else {}
        ax.plot(*_until_end(path, y), color="#0072b2", linewidth=0.9, **line)
        for at in path.handovers:
            ax.axvline(at, color="#bbbbbb", linewidth=0.5, zorder=0)
        ax.set_title(PATHS[path.name][0], fontsize=8)
        ax.set_ylabel("round trip, ms" if moves else "rate, Mbit/s")
        ax.set_ylim(0, 1.15 * float(np.nanmax(y)))
        ax.set_xlim(0, path.duration_s)
        if i >= columns:
            ax.set_xlabel("s")
    looks.write(figure, file)


class Leo(TableExperiment[LeoNumbers]):
    """Every controller over paths that move. With data, the measured downlinks are among the paths."""

    name = "leo"
    row = LeoNumbers

    @cached_property
    def paths(self) -> dict[str, MovingPath]:
        """All paths by name."""
        ours = [shipped(), shipped("leo-loss", LOSS)]
        own = [] if self.data is None else measured(self.data)
        return {path.name: path for path in (*ours, *shells(), *fades(), *own)}

    def keys(self) -> list[Key]:
        """Quick: one seed over the two shipped paths, the controllers that the figures name."""
        if self.quick:
            few = [path for path in self.paths.values() if path.name in ("leo-handover", "leo-loss")]
            named = (*NAMED, *(cc for cc in STORY if cc not in NAMED))
            return [Key(path.name, cc, 1) for path in few for cc in named]
        return [
            Key(path.name, cc, seed)
            for seed in range(1, SEEDS + 1)
            for path in self.paths.values()
            for cc in algorithms(path)
        ]

    def scenarios(self, key: Key) -> dict[str, bp.Scenario]:
        """One run a row."""
        cc = controller.named_algorithm(key.cc)
        return {"flow": self.paths[key.path].scenario(cc, key.seed, self.lines)}

    def measure(self, case: Case, result: bp.Result) -> Mapping[str, float]:
        """All columns."""
        return measure(self.paths[str(case.keys["path"])], result)

    def text(self, rows: Sequence[LeoNumbers]) -> str:
        """The page: page.md with the numbers, and those of `leocc` in its folder."""
        about_leocc = self.out / "validation" / "leocc.csv"
        found = _by(rows)
        value = partial(_value, found)
        labels = {e["id"]: e["label"] for e in bp.controllers()}

        def percent(cc: str, path: str = "leo-handover") -> str:
            return f"{100 * value(path, cc, 'share'):.0f} %"

        def changes(ccs: Sequence[str], share: Callable[[str], float]) -> str:
            """A table of goodput without and with a reset."""
            rows = [
                [labels[cc], *(f"{100 * share(name):.0f} %" for name in (cc, f"{cc} path_change=reset"))]
                for cc in ccs
            ]
            return markdown(["<controller", "no reset", "reset"], rows)

        gained = sorted(
            KEEPERS, key=lambda cc: _mean_share(found, cc) - _mean_share(found, f"{cc} path_change=reset")
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
            resets=changes([*gained[:5], *gained[:-3:-1]], lambda cc: _mean_share(found, cc)),
            losses=changes(
                ["a-liad", "westwood", "westwood-br", "star"], lambda cc: value("leo-loss", cc, "share")
            ),
            percent=percent,
            value=value,
            loss=LOSS,
            keepers=_keepers(found),
            tables=[
                (title, _table(found, what, digits, scale))
                for title, what, digits, scale in (
                    ("Goodput, % of what the path could carry", "share", 0, 100.0),
                    ("Round trip, 95th percentile, ms", "rtt_p95_s", 0, 1e3),
                    ("Lost, % of what was sent", "lost", 2, 100.0),
                    ("Recovery after a handover, s", "recovery_s", 2, 1.0),
                )
            ],
            leocc=leocc(read_rows(about_leocc)) if about_leocc.exists() else "(`bentpipe study run leocc`)",
            share=SHARE,
            window=WINDOW_S,
            paths=PATHS.values(),
            seeds=max((r.seed for r in rows), default=0),
        )

    def draw(self, rows: Sequence[LeoNumbers]) -> None:
        """The figures; that of the paths only if the measured ones are there."""
        every = list(self.paths.values())
        with tempfile.TemporaryDirectory() as work:
            runs = [every[0].scenario(controller.named_algorithm(cc), 1, Path(work)) for cc in STORY]
            results = bp.run_many(runs)
        with looks.fixed(looks.PAGE | looks.LETTERS):
            traces = {cc: result.trace for cc, result in zip(STORY, results, strict=True)}
            _story(self.out / "leo-handover.svg", every[0], traces)
            _dots(self.out / "leo-controllers.svg", _by(rows))
            if len(every) == len(PATHS):  # not without the measured data
                _paths(self.out / "leo-paths.svg", every)


def algorithms(path: MovingPath) -> list[str]:
    """Every controller; where the path changes hands, also those that forget the smallest round-trip time."""
    found = []
    for entry in bp.controllers():
        found.append(entry["id"])
        if path.group != LEO or entry["uses_path_hints"]:
            continue
        if any(param["name"] == "base_window" for param in entry["params"]):
            found.append(f"{entry['id']} {WINDOW}")
        if entry["id"] in KEEPERS:
            found.append(f"{entry['id']} {RESET}")
    return found
