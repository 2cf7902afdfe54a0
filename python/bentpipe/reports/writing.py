"""The page of a report, section by section."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any

import polars as pl

from bentpipe import _core, registry, stats
from bentpipe.pages import Axis, Badge, Curve, Hyperlink, Page, Prose
from bentpipe.reports.measures import Metric, Parameter, Sample, sample
from bentpipe.reports.reading import Stored
from bentpipe.reports.time import over_time

#: Most rows of a table; what is beyond is in the CSV of a chart and in the dataset.
ROWS = 200
#: Most points of the chart of all runs, and up to which each says which run it is.
POINTS, NOTED = 100_000, 20_000
#: Points of a distribution's curve at most.
STEPS = 400
#: Heat maps of so many algorithms are drawn.
MAPS = 8


def build(stored: Stored) -> Page:
    """The page about stored runs."""
    names = ", ".join(place.resolve().name for place in stored.places)
    title = _title(stored) or f"Runs of {names}"
    runs = stored.flows["run"].n_unique() if stored.flows.height else 0
    page = Page(
        title,
        lead=f"{runs + stored.failed.height:,} runs in {names}.",
        foot=f"Written by bentpipe {_core.version()}. Equal seeds give equal runs.",
    )
    if stored.failed.height:
        page.banner(
            Badge(f"{stored.failed.height:,} runs failed", "bad"),
            " and are in no number below; see ",
            Hyperlink("the list", "#failed-runs"),
            ".",
        )
    if not stored.flows.height:
        _what_was_run(page, stored, None)
        _failed(page, stored)
        return page
    found = sample(stored)
    if _one_seed(found):
        page.banner(
            Badge("One run each", "partly"), " where no interval is shown: other seeds give other numbers."
        )
    _overview(page, found)
    for parameter in found.parameters:
        _against(page, found, parameter)
    _maps(page, found)
    _distributions(page, found)
    _every_run(page, found)
    over_time(page, stored, found)
    _links(page, stored)
    _table(page, found)
    _what_was_run(page, stored, found)
    _failed(page, stored)
    return page


def colours(found: Sample, algorithm: str) -> dict[str, Any]:
    """Colour and marker of an algorithm; one that is not the first of its name has its colour by its place."""
    own = found.ids[algorithm]
    same = [name for name in found.algorithms if found.ids[name] == own]
    style = registry.style(own)
    return {"marker": style["marker"], "colour": style["colour"] if algorithm == same[0] else ""}


def _title(stored: Stored) -> str:
    parts = stored.about.get("parts", [stored.about])
    titles = {str(part.get("scenario", {}).get("title") or "") for part in parts}
    return titles.pop() if len(titles) == 1 else ""


def _one_seed(found: Sample) -> bool:
    keys = ["algorithm", *(p.key for p in found.parameters)]
    return bool(found.rows.group_by(keys).len()["len"].min() == 1)


def _what_was_run(page: Page, stored: Stored, found: Sample | None) -> None:
    page.section("What was run")
    for part in stored.about.get("parts", [stored.about]):
        command = part.get("command")
        if command:
            page.command(command if isinstance(command, str) else shlex.join(command))
    rows: list[list[Prose]] = []
    for parameter in found.parameters if found else []:
        values = [Parameter.said(value) for value in parameter.values]
        shown = ", ".join(values) if len(values) <= 12 else f"{values[0]} to {values[-1]}"
        rows.append([parameter.label, len(values), shown])
    if found:
        seeds = found.rows["seed"].unique().sort().to_list()
        few = ", ".join(map(str, seeds)) if len(seeds) <= 12 else f"{seeds[0]} to {seeds[-1]}"
        rows.append(["algorithms", len(found.algorithms), ", ".join(found.algorithms)])
        rows.append(["seeds", len(seeds), few])
        page.table(["What", "Values", "Which"], rows)
    facts = [
        f"{name} {value}"
        for part in stored.about.get("parts", [stored.about])
        for name in ("version", "hash", "scenario_hash", "created_by")
        if isinstance(value := part.get(name), str)
    ]
    places = ", ".join(str(place) for place in stored.places)
    page.paragraphs(
        f"Read from {places}. " + ("; ".join(dict.fromkeys(facts)) + "." if facts else ""), small=True
    )
    warnings = [
        str(text) for part in stored.about.get("parts", [stored.about]) for text in part.get("warnings", [])
    ]
    if warnings:
        page.paragraphs("The simulator warned:")
        page.bullets(list(dict.fromkeys(warnings))[:5])


def _overview(page: Page, found: Sample) -> None:
    """A row for each algorithm: over the seeds, or over the whole grid."""
    many = found.points > 1
    said = (
        f"Over all {found.points:,} combinations of the parameters: the median of the runs, and the least and "
        "the greatest of them."
        if many
        else "The mean over the seeds with its 95 % interval (Student's t)."
    )
    page.section("At a glance", [said])
    best = _best(found)
    rows: list[list[Prose]] = []
    for algorithm, rows_of in _by(found.rows, "algorithm", found.algorithms):
        cells: list[Prose] = [algorithm, rows_of.height]
        for metric in found.metrics:
            values = _finite(rows_of, metric)
            cells.append((_range(values) if many else _shown(values, metric)) if values else "-")
        if best:
            cells.append(f"{best.get(algorithm, 0)} of {found.points}" if many else _badge(best, algorithm))
        rows.append(cells)
    columns = ["Algorithm", "Runs", *(metric.label for metric in found.metrics)]
    page.table([*columns, *(["Highest goodput"] if best else [])], rows)
    if best:
        page.paragraphs(
            "Highest goodput: no other algorithm is faster by more than chance explains (95 %, paired by seed). "
            "Several can share it.",
            small=True,
        )


def _badge(best: dict[str, int], algorithm: str) -> Prose:
    return Badge("yes", "good") if algorithm in best else ""


def _best(found: Sample) -> dict[str, int]:
    """At how many points an algorithm is in the group of the highest goodput; empty if that cannot be told."""
    if len(found.algorithms) < 2 or _one_seed(found) or found.points > 2000:
        return {}
    keys = [p.key for p in found.parameters]
    counted: dict[str, int] = {}
    for point in found.rows.partition_by(keys) if keys else [found.rows]:
        samples = {
            str(algorithm): rows.sort("seed")["goodput"].to_list()
            for (algorithm,), rows in point.partition_by(
                "algorithm", as_dict=True, maintain_order=True
            ).items()
        }
        if len(samples) < 2 or len({len(values) for values in samples.values()}) > 1:
            continue
        for name in stats.groups(samples, highest_first=True)[0]:
            counted[name] = counted.get(name, 0) + 1
    return counted


def _against(page: Page, found: Sample, parameter: Parameter) -> None:
    """Each metric against a parameter."""
    others = [p.label.split(",")[0] for p in found.parameters if p is not parameter]
    page.section(f"By {parameter.label.split(',')[0]}")
    for metric in found.metrics:
        drawn, counts = [], set()
        for nth, (algorithm, rows) in enumerate(_by(found.rows, "algorithm", found.algorithms)):
            x, centre, low, high = [], [], [], []
            for at, value in enumerate(parameter.values):
                values = _finite(rows.filter(pl.col(parameter.key) == value), metric)
                if not values:
                    continue
                shift = 0.0 if parameter.numeric else 0.5 * (nth + 0.5) / len(found.algorithms) - 0.25
                x.append(float(value) if parameter.numeric else at + shift)
                if others:
                    centre.append(median(values))
                    low.append(min(values))
                    high.append(max(values))
                else:
                    got = stats.interval(values, least=metric.least)
                    centre.append(got.centre)
                    low.append(got.low)
                    high.append(got.high)
                    counts.add((got.n, got.alike))
            if x:
                kind: Any = "both" if parameter.numeric else "points"
                drawn.append(Curve(algorithm, x, centre, low, high, kind, **colours(found, algorithm)))
        if drawn:
            page.chart(
                drawn,
                x=parameter.axis(),
                y=Axis(metric.label),
                alt=f"{metric.label} against {parameter.label}, one curve for each algorithm",
                title=f"{_name(metric)} against {parameter.label.split(',')[0]}.",
                caption=_how(others, counts),
            )


def _how(others: Sequence[str], counts: set[tuple[int, bool]]) -> str:
    """What points and bars of a chart are."""
    if others:
        return (
            f"Median of all runs, with their range: the runs differ in {', '.join(others)} and the seed too."
        )
    seeds = sorted({n for n, _ in counts})
    if seeds == [1]:
        return "One run each (n = 1): nothing says how runs differ."
    if all(alike for _, alike in counts):
        return f"The {seeds[-1]} runs of each point are all alike: nothing in them is random."
    many = f"{seeds[0]}" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
    return f"Mean over {many} seeds with its 95 % interval."


def _maps(page: Page, found: Sample) -> None:
    """Heat maps over the two parameters with the most values."""
    if len(found.parameters) < 2:
        return
    across, up = sorted(found.parameters, key=lambda p: len(p.values), reverse=True)[:2]
    if len(across.values) > 60 or len(up.values) < 2:
        return
    page.section(f"By {across.label.split(',')[0]} and {up.label.split(',')[0]}")
    of = "Median of all runs" if len(found.parameters) > 2 else "Mean over the seeds"
    for algorithm, rows in list(_by(found.rows, "algorithm", found.algorithms))[:MAPS]:
        grouped = rows.group_by(across.key, up.key).agg(
            pl.col("goodput").median() if len(found.parameters) > 2 else pl.col("goodput").mean()
        )
        there = {(a, b): value for a, b, value in grouped.iter_rows()}
        values = [[there.get((a, b), float("nan")) for a in across.values] for b in up.values]
        page.heat_map(
            values,
            x=across.named_axis(),
            y=up.named_axis(),
            quantity="goodput, Mbit/s",
            alt=f"goodput of {algorithm} over {across.label} and {up.label}",
            title=f"Goodput of {algorithm}.",
            caption=f"{of}.",
        )
    if len(found.algorithms) > MAPS:
        page.paragraphs(f"Of {len(found.algorithms)} algorithms the first {MAPS} are shown.", small=True)


def _distributions(page: Page, found: Sample) -> None:
    if found.rows.height < 10 * len(found.algorithms):
        return
    page.section("Distributions", ["The share of the runs that have at most so much."])
    for metric in found.metrics:
        drawn = []
        for algorithm, rows in _by(found.rows, "algorithm", found.algorithms):
            values = sorted(_finite(rows, metric))
            if values:
                n = len(values)
                picked = (
                    sorted({round(i * (n - 1) / (STEPS - 1)) for i in range(STEPS)})
                    if n > STEPS
                    else range(n)
                )
                x, share = [values[i] for i in picked], [(i + 1) / n for i in picked]
                drawn.append(Curve(algorithm, x, share, kind="steps", **colours(found, algorithm)))
        if drawn:
            page.chart(
                drawn,
                x=Axis(metric.label),
                y=Axis("share of the runs", least=0, most=1),
                alt=f"cumulative distribution of {metric.label}, one curve for each algorithm",
                title=f"{_name(metric)}: cumulative distribution.",
            )


def _every_run(page: Page, found: Sample) -> None:
    if found.rows.height < 2 or "rtt_p95" not in (metric.column for metric in found.metrics):
        return
    rows = found.rows
    step = -(-rows.height // POINTS)
    page.section("Every run")
    drawn = []
    for algorithm, of in _by(rows.gather_every(step), "algorithm", found.algorithms):
        notes = [] if rows.height > NOTED else [_said(found, row) for row in of.iter_rows(named=True)]
        x, y = of["goodput"].to_list(), of["rtt_p95"].fill_null(float("nan")).to_list()
        drawn.append(Curve(algorithm, x, y, kind="points", notes=notes, **colours(found, algorithm)))
    page.chart(
        drawn,
        x=Axis("goodput, Mbit/s"),
        y=Axis("95th percentile of the RTT, ms"),
        alt="a point for each run: its goodput and the 95th percentile of its RTT",
        title="Goodput and delay.",
        caption="The best corner is the lower right one."
        + (f" Each {step}th run is drawn." if step > 1 else ""),
    )


def _said(found: Sample, row: dict[str, Any]) -> str:
    parts = [f"{p.label.split(',')[0]} {Parameter.said(row[p.key])}" for p in found.parameters]
    return ", ".join([*parts, f"seed {row['seed']}"])


def _links(page: Page, stored: Stored) -> None:
    if not stored.links.height:
        return
    names = {"name": "result_name", "direction": "result_direction"}
    name, direction = (there if there in stored.links.columns else own for own, there in names.items())
    offered = pl.col("delivered_packets") + pl.col("dropped_queue") + pl.col("dropped_error")
    rows = (
        stored.links.filter(pl.col("delivered_packets") > 0)
        .group_by(name, direction, maintain_order=True)
        .agg(
            pl.col("utilisation").mean() * 100,
            (pl.col("dropped_queue") / offered).mean() * 100,
            (pl.col("dropped_error") / offered).mean() * 100,
            pl.col("queue_mean_packets").mean(),
        )
    )
    page.section("Links", ["Means over all runs."])
    page.table(
        ["Link", "Utilisation, %", "Dropped by the queue, %", "Lost on the link, %", "Mean queue, packets"],
        [
            [f"{link}/{way}", *(f"{value:.3g}" for value in rest)]
            for link, way, *rest in rows.head(40).iter_rows()
        ],
    )


def _table(page: Page, found: Sample) -> None:
    """A row for each combination and algorithm, where they are few enough to read."""
    keys = [*(p.key for p in found.parameters), "algorithm"]
    points = found.rows.partition_by(keys, maintain_order=True) if found.parameters else []
    if not points:
        return
    if len(points) > ROWS:
        page.section("Every combination")
        page.paragraphs(
            f"There are {len(points):,}, too many to read here. The charts give them as CSV, and DuckDB, polars and "
            "pandas read the dataset."
        )
        return
    page.section("Every combination", ["Means over the seeds with 95 % intervals (Student's t)."])
    rows: list[list[Prose]] = []
    for point in points:
        first = point.row(0, named=True)
        values = [Parameter.said(first[p.key]) for p in found.parameters]
        cells = [_shown(_finite(point, metric), metric) for metric in found.metrics]
        rows.append([first["algorithm"], *values, *cells])
    page.table(
        ["Algorithm", *(p.label for p in found.parameters), *(metric.label for metric in found.metrics)], rows
    )


def _failed(page: Page, stored: Stored) -> None:
    if not stored.failed.height:
        return
    page.section("Failed runs", id="failed-runs")
    keys = [key for key in stored.keys if key in stored.failed.columns]
    shown = stored.failed.head(ROWS)
    rows = [
        [str(row["run"]), *(str(row[key]) for key in keys), row["error"]]
        for row in shown.iter_rows(named=True)
    ]
    page.table(["Run", *keys, "Error"], rows)
    if stored.failed.height > ROWS:
        page.paragraphs(f"These are the first {ROWS} of {stored.failed.height:,}.", small=True)


def _by(rows: pl.DataFrame, column: str, order: Sequence[str]) -> Iterator[tuple[str, pl.DataFrame]]:
    """The parts of a table, in this order."""
    parts = rows.partition_by(column, as_dict=True, maintain_order=True)
    for value in order:
        if (value,) in parts:
            yield value, parts[(value,)]


def _finite(rows: pl.DataFrame, metric: Metric) -> list[float]:
    values: list[float] = rows[metric.column].drop_nulls().drop_nans().to_list()
    return values


def _shown(values: Sequence[float], metric: Metric) -> str:
    return stats.shown(stats.interval(values, least=metric.least)) if values else "-"


def _range(values: Sequence[float]) -> str:
    return f"{median(values):.4g} [{min(values):.4g}, {max(values):.4g}]"


def _name(metric: Metric) -> str:
    """The name of a quantity at the start of a sentence."""
    name = metric.label.split(",")[0]
    return name[0].upper() + name[1:]
