"""Sections of a report about its runs: set-up, files, repetition, failures."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from typing import Any

from bentpipe import _core, stats
from bentpipe.pages import Page, Prose, Snippet
from bentpipe.pages.prose import with_snippets
from bentpipe.reports.measures import Parameter, Sample, Shown, interval
from bentpipe.sweeps.stored import Stored

#: Most rows of a table; further rows are in the data files.
ROWS = 200
#: From this number of rows on a table is unfolded by a click.
LONG = 30
#: Values of a parameter that are listed one by one.
FEW = 12


def what_was_run(page: Page, stored: Stored, found: Sample | None) -> None:
    """Parameters, algorithms, seeds, and the scenario."""
    page.section("What was run")
    rows: list[list[Prose]] = []
    for parameter in found.parameters if found else []:
        rows.append(
            [parameter.label, len(parameter.values), _few([Parameter.said(v) for v in parameter.values])]
        )
    if found:
        seeds = found.rows["seed"].unique().sort().to_list()
        rows.append(["algorithms", len(found.algorithms), ", ".join(found.algorithms)])
        rows.append(["seeds", len(seeds), _few([str(seed) for seed in seeds])])
        page.table(["What", "Values", "Which"], rows)
    if stored.links.height:
        _links(page, stored)
    warnings = [str(text) for part in stored.parts for text in part.get("warnings", [])]
    if warnings:
        page.paragraphs("The simulator warned:")
        page.bullets(list(dict.fromkeys(warnings))[:5])
    for part, place in zip(stored.parts, stored.places, strict=False):
        text = scenario_text(part)
        if text:
            of = f" of {place.resolve().name}" if len(stored.places) > 1 else ""
            page.command(text, fold=f"The scenario{of}, as JSON")


def scenario_text(part: dict[str, Any]) -> str:
    """The scenario as a text that `bentpipe run` or `bentpipe sweep` reads; empty if it is not known."""
    table = part.get("scenario")
    if not table:
        return ""
    table = {key: value for key, value in table.items() if key != "seed" or "vary" not in part}
    if "vary" in part:
        zipped = []
        vary: dict[str, Any] = {}
        for axis in part["vary"]:
            columns = dict(zip(axis["keys"], zip(*axis["values"], strict=True), strict=True))
            if len(columns) > 1:
                zipped.append(columns)
            else:
                vary |= columns
        table |= {"vary": vary | ({"zip": zipped} if zipped else {}), "seeds": part["seeds"]}
    return json.dumps(table, indent=2, ensure_ascii=False)


def data_files(page: Page, stored: Stored) -> None:
    """How to read the files, and how to repeat the runs."""
    page.section("Data and reproduction")
    datasets = [place for place in stored.places if (place / "sweep.json").is_file()]
    single = [place for place in stored.places if place not in datasets]
    if datasets:
        at = shlex.quote(str(datasets[0]))
        page.paragraphs(
            with_snippets(
                "A sweep is a directory of Parquet files: `flows/` has a row per flow and run, `links/` a "
                "row per direction of a link and run, `traces/` the flows over time where they were "
                "recorded, `failed/` the runs that failed. The varied parameters come first, with their "
                "units in the names of the columns; then run and seed; then the results."
            )
        )
        page.command(
            "import polars as pl\n"
            f'flows = pl.read_parquet("{datasets[0]}/flows/*.parquet")\n\n'
            "import pandas as pd\n"
            f'flows = pd.read_parquet("{datasets[0]}/flows")\n\n'
            f"duckdb -c \"SELECT * FROM '{at}/flows/*.parquet'\""
        )
    if single:
        page.paragraphs(
            with_snippets(
                "A stored result is a directory: `flows.parquet` and `links.parquet` have a row per flow "
                "and per direction of a link, `trace.parquet` the flows over time where they were recorded, "
                "`run.json` the scenario, the seed and the version."
            )
        )
        page.command(
            f'import bentpipe as bp\nresult = bp.Result.load("{single[0]}")\nresult.flows, result.links'
        )
    page.paragraphs(
        "Each chart gives its data as CSV. Equal versions of bentpipe, scenarios and seeds give equal runs, "
        "bit for bit, with any number of workers."
    )
    if datasets:
        file = "To repeat a sweep, save its scenario from above in a file: "
        page.paragraphs([file, Snippet("bentpipe sweep scenario.json --out again")])
    if single:
        page.command("\n".join(f"bentpipe run {shlex.quote(str(place))}" for place in single[:FEW]))
    facts = [
        f"{name} {value}"
        for part in stored.parts
        for name in ("bentpipe", "version", "simulator")
        if isinstance(value := part.get(name), str)
    ]
    where = _few([str(place) for place in stored.places])
    page.paragraphs(
        f"Read from {where}. The runs: {'; '.join(dict.fromkeys(facts)) or 'of an unknown version'}. "
        f"The page: version {_core.__version__}.",
        small=True,
    )


def _links(page: Page, stored: Stored) -> None:
    """A row for each direction of a link, means over all runs."""
    import polars as pl

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
    page.table(
        ["Link", "Utilisation, %", "Dropped by the queue, %", "Lost on the link, %", "Mean queue, packets"],
        [
            [f"{link}/{way}", *(f"{value:.3g}" for value in rest)]
            for link, way, *rest in rows.head(ROWS).iter_rows()
        ],
        caption="Links: means over all runs.",
    )


def every_combination(page: Page, found: Sample) -> None:
    """A row for each combination and algorithm, where they are few enough to read."""
    if not found.parameters:
        return
    keys = [*(p.key for p in found.parameters), "algorithm"]
    points = found.rows.partition_by(keys, maintain_order=True)
    page.section("Every combination")
    if len(points) > ROWS:
        page.paragraphs(
            f"There are {len(points):,}, too many to read here. The charts give them as CSV, and the data "
            "files have all."
        )
        return
    page.paragraphs("Means over the seeds with 95 % intervals (Student's t).")
    rows: list[list[Prose]] = []
    for point in points:
        first = point.row(0, named=True)
        values = [Parameter.said(first[p.key]) for p in found.parameters]
        rows.append(
            [first["algorithm"], *values, *(_shown(point[m.name].to_list(), m) for m in found.measures)]
        )
    heads = ["Algorithm", *(p.label for p in found.parameters), *(m.label for m in found.measures)]
    page.table(heads, rows, fold=f"All {len(rows)} rows" if len(rows) > LONG else "")


def failed(page: Page, stored: Stored) -> None:
    """The runs that failed, with their errors."""
    if not stored.failed.height:
        return
    page.section("Failed runs", id="failed-runs")
    many = stored.failed.group_by("error").len().sort("len", descending=True)
    if many.height < stored.failed.height:
        page.table(["Error", "Runs"], [[error, n] for error, n in many.head(FEW).iter_rows()])
    keys = [key for key in stored.keys if key in stored.failed.columns]
    rows = [
        [str(row["run"]), *(str(row[key]) for key in keys), row["seed"], row["error"]]
        for row in stored.failed.head(ROWS).iter_rows(named=True)
    ]
    page.table(["Run", *keys, "Seed", "Error"], rows, fold=f"{len(rows)} runs" if len(rows) > LONG else "")
    if stored.failed.height > ROWS:
        page.paragraphs(f"These are the first {ROWS} of {stored.failed.height:,}.", small=True)


def _shown(values: Sequence[float | None], measure: Shown) -> str:
    there = [value for value in values if value is not None and value == value]
    if not there:
        return "-"
    short = f" (of {len(values)})" if len(there) < len(values) else ""
    return stats.shown(interval(there, measure)) + short


def _few(words: Sequence[str]) -> str:
    return ", ".join(words) if len(words) <= FEW else f"{words[0]} to {words[-1]}"
