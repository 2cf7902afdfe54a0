"""The page of a report, section by section: summary, charts, set-up, files, repetition, failures."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from bentpipe import _core, stats
from bentpipe.measures import LOSSY, MeasureRow
from bentpipe.pages import Badge, Hyperlink, Page, Prose, Snippet
from bentpipe.pages.latex import booktabs
from bentpipe.pages.prose import with_snippets
from bentpipe.reports import curves
from bentpipe.reports.measures import Means, Sample, leads, means, said, sample
from bentpipe.reports.time import over_time
from bentpipe.sweeps import dataset
from bentpipe.sweeps.stored import Stored
from bentpipe.units import many

#: Most rows of a table; further rows are in the data files.
ROWS = 200
#: From this number of rows on a table is unfolded by a click.
LONG = 30
#: Values of a parameter that are listed one by one.
FEW = 12


def build(stored: Stored, measures: Sequence[str] = (), opened: Sequence[tuple[str, str]] = ()) -> Page:
    """The page about stored runs.

    Args:
        stored: the runs.
        measures: the measures of each, names of `REPORTED`; none: the usual ones.
        opened: runs in the page that simulates: words and address.

    Raises:
        ScenarioError: there is no such measure, or no run has it.
    """
    names = ", ".join(place.resolve().name for place in stored.places)
    runs = stored.flows["run"].n_unique() if stored.flows.height else 0
    page = Page(
        _title(stored) or f"Runs of {names}",
        lead=f"{many(runs + stored.failed.height, 'run')} in {names}.",
        foot=f"Written by bentpipe {_core.__version__}.",
    )
    if stored.failed.height:
        one = stored.failed.height == 1
        page.banner(
            Badge(f"{many(stored.failed.height, 'run')} failed", "bad"),
            f" and {'is' if one else 'are'} in no number below; see ",
            Hyperlink("the list", "#failed-runs"),
            ".",
        )
    if not stored.flows.height:
        _what_was_run(page, stored, None)
        _failed(page, stored)
        _data_files(page, stored)
        return page
    found = sample(stored, measures)
    if found.least_runs == 1:
        page.banner(
            Badge("One run each", "partly"),
            " where no interval is shown (n = 1): other seeds give other numbers.",
        )
    _summary(page, found)
    curves.by_algorithm(page, found)
    for parameter in found.parameters:
        curves.against(page, found, parameter)
    curves.maps(page, found)
    curves.distributions(page, found)
    curves.every_run(page, found)
    over_time(page, stored, found)
    _every_combination(page, found)
    _what_was_run(page, stored, found)
    page.opened(opened)
    _failed(page, stored)
    _data_files(page, stored)
    return page


def _title(stored: Stored) -> str:
    """The title of the sweep or of the scenario, if all have the same."""
    titles = {
        str(part.get("title") or (part.get("scenario") or {}).get("title") or "") for part in stored.parts
    }
    return titles.pop() if len(titles) == 1 else ""


def _summary(page: Page, found: Sample) -> None:
    """A table of all algorithms, the best group of the first measure on top."""
    of = {measure.name: means(found, measure) for measure in found.measures}
    first = found.measures[0]
    groups = of[first.name].groups(first, found.rivals) if of[first.name].random else []
    place = {name: nth for nth, group in enumerate(groups, 1) for name in group}
    led = leads(found, first)
    page.section("Summary", _said(found, of[first.name]))
    rows: list[list[Prose]] = []
    for algorithm in _ordered(found, of[first.name], place):
        row: list[Prose] = [algorithm]
        if groups:
            row.append(_group(place.get(algorithm), groups))
        if led:
            row.append(f"{led[algorithm]:,} of {found.points:,}" if algorithm in led else "-")
        for measure in found.measures:
            got = of[measure.name].interval(algorithm, measure)
            lossy = measure.name == "loss" and got is not None and got.centre > 100 * LOSSY
            shown = "-" if got is None else stats.shown(got)
            row.append([shown, " ", Badge("loses much", "bad")] if lossy else shown)
        runs = found.rows.filter(algorithm=algorithm).height
        rows.append([*row, runs])
    heads = ["Algorithm", *(["Group"] if groups else []), *(["Leads at"] if led else [])]
    page.table([*heads, *(measure.label for measure in found.measures), "Runs"], rows)
    _notes(page, found, of, grouped=bool(groups), led=bool(led))


def _ordered(found: Sample, first: Means, place: dict[str, int]) -> list[str]:
    """The algorithms, the best first, those without a value last."""
    last = len(found.algorithms) + 1
    sign = -1 if found.measures[0].better == "more" else 1

    def rank(name: str) -> tuple[int, float]:
        values = first.values.get(name)
        return place.get(name, last if name in found.rivals else 1), sign * sum(values) / len(
            values
        ) if values else float("inf")

    return sorted(found.algorithms, key=rank)


def _group(place: int | None, groups: list[list[str]]) -> Prose:
    if place is None:
        return "-"
    text = f"{place}" + (" (tied)" if len(groups[place - 1]) > 1 else "")
    return Badge(text, "good") if place == 1 else text


def _said(found: Sample, first: Means) -> list[Prose]:
    """The meaning of the numbers in the table."""
    if not first.shared:
        return [
            "The mean of each algorithm over its own combinations of the parameters and the seeds. They have "
            "none in common, so these means must not be compared; the charts show which is where."
        ]
    if found.points == 1:
        over = "The mean over the seeds"
    elif first.points == found.points:
        over = f"The mean over all {found.points:,} combinations of the parameters and over the seeds"
    elif first.points:
        over = (
            f"The mean over the {first.points:,} of {found.points:,} combinations of the parameters at which "
            "every algorithm has all its runs, and over the seeds"
        )
    else:
        return [
            "No combination of the parameters has all runs of all algorithms, so that no fair mean exists; "
            "see the charts."
        ]
    if found.least_runs == 1:
        return [f"{over}. One run each (n = 1): nothing here says how runs differ."]
    return [f"{over}, with its 95 % interval (Student's t, one value a seed)."]


def _notes(page: Page, found: Sample, of: dict[str, Means], *, grouped: bool, led: bool) -> None:
    first = found.measures[0]
    if grouped:
        better = "highest" if first.better == "more" else "lowest"
        names = ", ".join(parameter.words for parameter in found.parameters)
        page.paragraphs(
            f"Group 1 has the {better} {first.words} and all that these runs cannot distinguish from it "
            "(paired t tests, 5 % in all, after Holm). Algorithms of one group need not be equal: more seeds "
            "can separate them. One that scatters much can be in a better group than one with a better mean."
            + (f" Leads at: the number of combinations of {names} with it in group 1." if led else ""),
            small=True,
        )
    other = [m for m in found.measures[1:] if 0 < of[m.name].points != of[first.name].points]
    for measure in other:
        page.paragraphs(
            f"{measure.title}: over {of[measure.name].points:,} of the combinations, where every run has it.",
            small=True,
        )
    if any(m.name == "loss" for m in found.measures):
        page.paragraphs(
            "Lost packets count wherever they were lost: by errors of the link or in a full queue. More than "
            f"{100 * LOSSY:g} % is marked.",
            small=True,
        )


def _what_was_run(page: Page, stored: Stored, found: Sample | None) -> None:
    """Parameters, algorithms, seeds, and the scenario."""
    page.section("What was run")
    rows: list[list[Prose]] = []
    for parameter in found.parameters if found else []:
        values = _few(list(map(said, parameter.values)))
        rows.append([f"{parameter.label} ({parameter.key})", len(parameter.values), values])
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


def openable(stored: Stored) -> Iterator[tuple[str, dict[str, Any]]]:
    """The first run of each combination, words and scenario; nothing of results of the emulator."""
    for part, place in zip(stored.parts, stored.places, strict=False):
        if "emulation" in part:
            continue
        for run in range(int(part.get("points", 1))):
            values = dataset.point_of(part, run)
            name = ", ".join(f"{key} {value}" for key, value in reversed(values.items()))
            yield name or place.resolve().name, dataset.scenario_of(part, run)


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


def _data_files(page: Page, stored: Stored) -> None:
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


def _every_combination(page: Page, found: Sample) -> None:
    """A row for each combination and algorithm, where they are few enough to read."""
    if not found.parameters:
        return
    page.section("Every combination")
    heads, rows = _combinations(found)
    if len(rows) > ROWS:
        page.paragraphs(
            f"There are {len(rows):,}, too many to read here. The charts give them as CSV, and the data "
            "files have all."
        )
        return
    page.paragraphs("Means over the seeds with 95 % intervals (Student's t).")
    labels = [f"{name}, {unit}" if unit else name for name, unit in heads]
    page.table(labels, rows, fold=f"All {len(rows)} rows" if len(rows) > LONG else "")


def latex(stored: Stored, measures: Sequence[str] = ()) -> str:
    """The table of every combination for LaTeX; the arguments are those of `build`.

    Raises:
        ScenarioError: there is no such measure, or no run has it.
    """
    if not stored.flows.height:
        raise _core.ScenarioError("there is no run that has not failed, so there is no table")
    found = sample(stored, measures)
    heads, rows = _combinations(found)
    names = ", ".join(place.resolve().name for place in stored.places)
    title = f"{names}, means over the seeds with 95 % intervals (Student's t)"
    text = [True, *(not p.numeric for p in found.parameters), *(False for _ in found.measures)]
    return booktabs(title, heads, rows, left=text)


def _combinations(found: Sample) -> tuple[list[tuple[str, str]], list[list[str]]]:
    """Names and units of the columns, and a row for each combination and algorithm."""
    keys = [*(p.column for p in found.parameters), "algorithm"]
    rows = []
    for point in found.rows.partition_by(keys, maintain_order=True):
        first = point.row(0, named=True)
        values = [said(first[p.column]) for p in found.parameters]
        rows.append(
            [first["algorithm"], *values, *(_shown(point[m.name].to_list(), m) for m in found.measures)]
        )
    heads = [("Algorithm", ""), *((p.words, p.unit) for p in found.parameters)]
    return [*heads, *((m.words, m.unit) for m in found.measures)], rows


def _failed(page: Page, stored: Stored) -> None:
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


def _shown(values: Sequence[float | None], measure: MeasureRow) -> str:
    there = [value for value in values if value is not None and value == value]
    if not there:
        return "-"
    short = f" (of {len(values)})" if len(there) < len(values) else ""
    return measure.shown(there) + short


def _few(words: Sequence[str]) -> str:
    return ", ".join(words) if len(words) <= FEW else f"{words[0]} to {words[-1]}"
