"""Runs of a figure over time and their lines: one for each flow, or for many flows one for each algorithm."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl
from matplotlib.axes import Axes

from bentpipe import _core
from bentpipe.plot.looks import Turns
from bentpipe.plot.words import valued
from bentpipe.result import Result

Given = Result | str | Path | Sequence["Result | str | Path"] | Mapping[str, "Result | str | Path"]
"""One run or several: results, or the directories that hold them. A mapping names them. A directory may also
be that of a sweep that kept its traces."""

_NEEDS = {
    "trace": ("trace of flows", "--set record.interval=100ms", 'record=Record("100 ms")'),
    "link_trace": (
        "trace of links",
        "--set record.interval=100ms --set record.links=true",
        'record=Record("100 ms", links=True)',
    ),
    "segments": ("segments", "--set record.segments=true", "record=Record(segments=True)"),
}
Measure = Callable[[Result, str, pl.DataFrame], pl.DataFrame]
"""Gives columns t_s and y of a flow from its run, its name and the rows of its trace."""
CROWD = 8
"""More flows than these are drawn as the median and the middle 80 % of each algorithm's flows."""
COLUMNS = 200
"""Points of an envelope. A line with more than four times as many samples would hide others."""
LINES = 12
"""More runs of a sweep than these are too many for one figure over time."""
ENVELOPED = "median and 5th to 95th percentile of the samples of every {:.2g} s"


def results(given: Given, table: str) -> dict[str, Result]:
    """The runs by name: the name that a mapping gives them, the directory, or else "run 1", "run 2".

    Args:
        given: the runs for a figure.
        table: the table that each run must have recorded, as for `need`.

    Raises:
        ScenarioError: there are none, one is neither a result directory nor a result, or lacks the table.
    """
    if isinstance(given, Mapping):
        named: list[tuple[str, Any]] = [(str(name), value) for name, value in given.items()]
    elif isinstance(given, Result | str | Path):
        named = [("", given)]
    elif isinstance(given, Sequence):
        named = [("", value) for value in given]
    else:
        raise _core.ScenarioError(_wrong(given))
    if not named:
        raise _core.ScenarioError("a figure of no results: give one at least")
    found: dict[str, Result] = {}
    for place, (name, value) in enumerate(named, 1):
        if isinstance(value, str | Path):
            if (Path(value) / "sweep.json").is_file():
                swept = of_sweep(value)
                for run, result in swept.items():
                    need(result, table, run or str(value), swept=True)
                found |= {f"{name}: {run}" if name else run or str(value): one for run, one in swept.items()}
                continue
            result = Result.load(value)
            name = name or Path(value).name or str(value)
        elif isinstance(value, Result):
            result = value
        else:
            raise _core.ScenarioError(_wrong(value))
        name = name or f"run {place}"
        need(result, table, name if len(named) > 1 or isinstance(value, str | Path) else "")
        found[name if name not in found else f"{name} ({place})"] = result
    return found


def of_sweep(place: str | Path, where: Mapping[str, Any] | None = None) -> dict[str, Result]:
    """Runs of a sweep that kept its traces, named by the values in which they differ, for a figure over time.

    Args:
        place: the directory of the sweep.
        where: values of keys, seed among them: other runs are left out.

    Raises:
        ScenarioError: there are more than `LINES`, or none, or there is no such key or value.
    """
    from bentpipe.plot.many import many
    from bentpipe.sweeps.stored import read

    stored = read([Path(place)])
    kept = many(stored, where=where)
    every = kept.flows.unique("run", maintain_order=True)
    keys = [key for key in [*stored.keys, "seed"] if key in every.columns and every[key].n_unique() > 1]
    if every.height > LINES:
        first = every.row(0, named=True)
        words = " ".join(f"--where {key}={first[key]}" for key in keys)
        raise _core.ScenarioError(
            f"{place} has {every.height:,} runs, and a figure over time draws {LINES} at most: "
            f"choose by their keys, for example {words}"
        )
    return {
        ", ".join(f"seed {row[key]}" if key == "seed" else valued(key, row[key]) for key in keys):
            stored.result(int(row["run"]))
        for row in every.iter_rows(named=True)
    }  # fmt: skip


def need(result: Result, table: str, name: str = "", *, swept: bool = False) -> None:
    """Checks that a run recorded the table that a figure needs.

    Args:
        result: the run.
        table: "trace", "link_trace" or "segments".
        name: the name of the run in messages; by default "the result".
        swept: whether it is one of a sweep.

    Raises:
        ScenarioError: it did not; the message has the command that does.
    """
    if getattr(result, table).height:
        return
    if table != "link_trace" and not result.json["flows"]:
        raise _core.ScenarioError(
            f"{name or 'the result'} is of an emulation, which has no flows of its own; "
            "bentpipe plot queue draws its link"
        )
    what, options, python = _NEEDS[table]
    if swept:
        raise _core.ScenarioError(
            f"{name} has no {what}; keep them with bentpipe sweep FILE {options} --traces --out DIR"
        )
    raise _core.ScenarioError(
        f"{name or 'the result'} has no {what}; record it with bentpipe run FILE {options} --out DIR "
        f"(in Python: {python})"
    )


@dataclass(frozen=True)
class TimeCurve:
    """One line over time.

    Attributes:
        look: its colour and marker.
        rows: columns t_s and y; low and high too, if it is of many flows or an envelope.
        run: the name of its run.
        flow: the name of its flow, or the algorithm's and how many.
    """

    look: dict[str, Any]
    rows: pl.DataFrame
    run: str
    flow: str


def curves(runs: Mapping[str, Result], measure: Measure) -> list[TimeCurve]:
    """The curve of each flow that was recorded; of each algorithm of a run if there are more than `CROWD`.

    Args:
        runs: the runs by name.
        measure: the quantity that is drawn.
    """
    flows = [(name, result, flow, rows) for name, result in runs.items() for flow, rows in _traced(result)]
    if len(flows) > CROWD:
        return _bands(runs, flows, measure)
    found, turns = [], Turns()
    for run, result, flow, rows in flows:
        cc = flow["cc"]
        alone = sum(1 for other in flows if other[0] == run) == 1
        label = None if flow["name"] == cc else flow["name"]
        if len(runs) > 1:
            label = run if alone else f"{run}: {flow['name']}"
        found.append(TimeCurve(turns.look(cc, label), measure(result, flow["name"], rows), run, flow["name"]))
    return found


def envelopes(found: list[TimeCurve]) -> tuple[list[TimeCurve], str]:
    """Curves that do not hide each other: of dense ones the median and the 5th to 95th percentile over time.

    A line whose value swings from sample to sample fills an area, and whatever is drawn before it lies below.

    Args:
        found: curves. One alone, or several without such a dense one, stay as they are.

    Returns:
        The curves, and a sentence for the note; empty if the curves are unchanged.
    """
    most = max((curve.rows.height for curve in found), default=0)
    if len(found) < 2 or most <= 4 * COLUMNS:
        return found, ""
    times = [curve.rows["t_s"] for curve in found if curve.rows.height]
    begin, end = min(float(t[0]) for t in times), max(float(t[-1]) for t in times)
    width_s = (end - begin) / COLUMNS
    column = ((pl.col("t_s") - begin) / width_s).floor().clip(upper_bound=COLUMNS - 1)
    drawn = [
        replace(
            curve,
            rows=curve.rows.group_by(column.alias("column"), maintain_order=True)
            .agg(_band(0.05))
            .select(((pl.col("column") + 0.5) * width_s + begin).alias("t_s"), "y", "low", "high"),
        )
        for curve in found
    ]
    return drawn, ENVELOPED.format(width_s)


def draw(axes: Axes, found: list[TimeCurve], *, scale: float = 1.0, **options: Any) -> None:
    """Draws curves, and their bands where they have one."""
    for curve in found:
        rows = curve.rows
        step: Any = "post" if options.get("drawstyle") else None
        axes.plot(rows["t_s"], rows["y"] * scale, **(curve.look | options))
        if "low" in rows.columns:
            axes.fill_between(
                rows["t_s"], rows["low"] * scale, rows["high"] * scale,
                color=curve.look["color"], alpha=0.2, linewidth=0, step=step,
            )  # fmt: skip


def table(found: list[TimeCurve], name: str) -> pl.DataFrame:
    """The drawn points: run, flow, t_s, and y under this name; low and high of bands."""
    parts = [
        curve.rows.select(
            pl.lit(curve.run).alias("run"), pl.lit(curve.flow).alias("flow"), "t_s", pl.all().exclude("t_s")
        )
        for curve in found
    ]
    return pl.concat(parts, how="diagonal").rename({"y": name}) if parts else pl.DataFrame()


def _band(outside: float) -> list[pl.Expr]:
    """The median of y as y, and as low and high what this share of the values lies below and above."""
    y = pl.col("y")
    low, high = (y.quantile(share, "linear") for share in (outside, 1 - outside))
    return [y.median(), low.alias("low"), high.alias("high")]


def _traced(result: Result) -> Iterator[tuple[dict[str, Any], pl.DataFrame]]:
    for flow in result.json["flows"]:
        rows = result.trace.filter(pl.col("flow").cast(pl.String) == flow["name"])
        if rows.height:
            yield flow, rows


def _bands(
    runs: Mapping[str, Result],
    flows: list[tuple[str, Result, dict[str, Any], pl.DataFrame]],
    measure: Measure,
) -> list[TimeCurve]:
    groups: dict[tuple[str, str], list[pl.DataFrame]] = {}
    for run, result, flow, rows in flows:
        groups.setdefault((run, flow["cc"]), []).append(measure(result, flow["name"], rows))
    found, turns = [], Turns()
    for (run, cc), parts in groups.items():
        # The windows of flows can differ by their round trips: each row is of one instant of most flows.
        together = pl.concat(parts).filter(pl.col("y").is_finite())
        rows = together.group_by("t_s").agg(_band(0.1)).sort("t_s")
        drawn = turns.look(cc)
        if len(parts) == 1:
            rows = rows.select("t_s", "y")
        many = f"{drawn['label']}, {len(parts)} flows" if len(parts) > 1 else drawn["label"]
        label = f"{run}: {many}" if len(runs) > 1 else many
        found.append(TimeCurve(drawn | {"label": label}, rows, run, f"{cc}, {len(parts)} flows"))
    return found


def _wrong(value: Any) -> str:
    kind = type(value).__name__
    return f"a figure is drawn of results or of directories that run --out wrote, not of {kind}"
