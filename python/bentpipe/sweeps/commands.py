"""The verb `sweep`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bentpipe import _core, measures, stats, terminal, units
from bentpipe.cli import completion
from bentpipe.cli.verbs import FAILED, Json, Ray, Set, Workers, argument, option, overrides
from bentpipe.result import each_once

if TYPE_CHECKING:
    import polars as pl

    from bentpipe.sweeps.engine import Runs
    from bentpipe.sweeps.plan import Plan

#: Runs that failed that are named, and warnings that are shown.
_SHOWN = 5
#: Rows of the table that are printed.
_ROWS = 40
_HEADS = ["runs", "<goodput, Mbit/s\nmean, 95 % interval", "RTT p95\nms", "lost\n%"]


def sweep_verb(
    file: Annotated[
        str,
        argument(
            "FILE",
            "A scenario with a table vary, or any and --vary: a file, a shipped name, - for stdin.",
            completes=completion.scenarios,
        ),
    ],
    out: Annotated[Path, option("DIR", "Where the runs are kept, as Parquet tables.", "--out", "-o")],
    vary: Annotated[
        list[str] | None,
        option(
            "KEY=VALUES",
            "Values with commas between, link.sat.delay=10ms,100ms; or a range, "
            "'link.sat.loss.rate={ log = [1e-6, 1e-3], points = 7 }'. Repeatable.",
            "--vary",
        ),
    ] = None,
    set_: Set = None,
    seeds: Annotated[str | None, option("N", "Runs of each point: how many, or seeds: 1,7,9.")] = None,
    until_ci: Annotated[
        str | None,
        option(
            "SHARE",
            "More seeds for each point until the 95 % interval of its mean goodput is so narrow: 2%.",
            "--until-ci",
        ),
    ] = None,
    most_seeds: Annotated[
        int, option("N", "With --until-ci: of a point, at most.", "--most-seeds", min=1)
    ] = 100,
    workers: Workers = 0,
    shard: Annotated[
        str | None, option("I/N", "Only this part of the runs: 2/8. All write to one DIR.")
    ] = None,
    ray: Ray = None,
    traces: Annotated[
        bool, typer.Option("--traces", help="Keep the traces that the scenario records.")
    ] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Remove the runs that are in DIR.")] = False,
    json: Json = False,
) -> None:
    """Run a scenario at every point of a grid, with several seeds, on all processors.

    A sweep that was interrupted goes on when the same command is given again.
    """
    from bentpipe.sweeps.job import relative, run_plan
    from bentpipe.sweeps.plan import Plan
    from bentpipe.sweeps.ray import on_ray
    from bentpipe.sweeps.store import WHOLE, Shard

    until = None if until_ci is None else relative(until_ci)
    part = WHOLE if shard is None else Shard.of(shard)
    with terminal.Bar("planning"):
        plan = Plan(file, vary or (), _seeds(seeds), overrides=overrides(set_ or []), traces=traces)
    if not json:
        terminal.line(_planned(plan, shard, until_ci, most_seeds))
    warned: dict[str, int] = {}
    with terminal.RunsBar(plan.title or file) as bar:
        runs = run_plan(
            plan, out, workers=workers, shard=part, until=until, most_seeds=most_seeds, fresh=fresh,
            progress=bar.at, executor=on_ray(ray), warned=warned,
        )  # fmt: skip
    if bar.taken_over and not json:
        terminal.line(f"{bar.taken_over:,} of these runs were done before")
    _warn(warned)
    _show(plan, runs, out, json=json)
    failed = runs.failed
    for row in failed.head(_SHOWN).iter_rows(named=True):
        keys = failed.columns[: failed.columns.index("run")]
        named = ", ".join([*(f"{key} = {row[key]}" for key in keys), f"seed {row['seed']}"])
        terminal.error(f"run {row['run']} failed ({named}): {row['error']}")
    if failed.height:
        if failed.height > _SHOWN:
            terminal.error(f"and {failed.height - _SHOWN:,} more; see {out / 'failed'}")
        raise typer.Exit(FAILED)


def _seeds(text: str | None) -> int | list[int] | None:
    """The number of seeds, or a list of them."""
    if text is None:
        return None
    numbers = [number.strip() for number in text.split(",")]
    if not all(number.isascii() and number.isdigit() for number in numbers):
        raise _core.ScenarioError(f"--seeds {text}: write how many, 5, or which, 1,7,9")
    return int(numbers[0]) if len(numbers) == 1 else [int(number) for number in numbers]


def _planned(plan: Plan, shard: str | None, until_ci: str | None, most: int) -> str:
    count = len(plan.seeds)
    if until_ci is None:
        seeds, runs = units.many(count, "seed"), units.many(len(plan), "run")
        part = "" if shard is None else f"; of them part {shard}"
        one = "" if plan.axes else "; nothing varies, as there is no [vary] and no --vary KEY=VALUES"
        return f"{runs}: {plan.in_words()} x {seeds}{part}{one}"
    return f"{plan.points:,} points: {plan.in_words()}; up to {most} seeds each, until ±{until_ci}"


def _warn(warned: dict[str, int]) -> None:
    """The simulator's warnings about the runs, each line once."""
    for text, count in list(warned.items())[:_SHOWN]:
        terminal.error(f"warning: {text}" + (f" ({count:,} runs)" if count > 1 else ""))
    if len(warned) > _SHOWN:
        terminal.error(f"warning: and {len(warned) - _SHOWN:,} more")


def _show(plan: Plan, runs: Runs, out: Path, *, json: bool) -> None:
    keys: Sequence[str] = [column.name for column in plan.columns]
    found = groups(runs.flows, runs.links, keys)
    if json:
        terminal.answer(
            {
                "out": str(out),
                "keys": [column.as_dict() for column in plan.columns],
                "runs": runs.flows["run"].n_unique(),
                "failed": runs.failed.to_dicts(),
                "groups": found,
            }
        )
        return
    show_groups(found, keys)
    if measures.sums_of_lives(runs.flows):
        terminal.line(measures.LIVES)
    place = terminal.plain(str(out))
    terminal.line(f"written to {place}: {runs.flows.height:,} rows of flows, {runs.links.height:,} of links")
    terminal.line(f'polars: pl.read_parquet("{place}/flows/*.parquet")')
    terminal.line(f"DuckDB: SELECT * FROM '{place}/flows/*.parquet'")
    terminal.line(f"a page: bentpipe report {place}")


def groups(flows: pl.DataFrame, links: pl.DataFrame, keys: Sequence[str]) -> list[dict[str, Any]]:
    """One dict for each point of the grid, in the order of the runs.

    With the keys, and runs; goodput_bps of all flows together, its mean over runs, with the ends of its 95 %
    interval, goodput_low_bps and goodput_high_bps (None for one run), which are not beyond the rates of the
    links; rtt_p95_s, the mean over flows and runs; loss, as `measures.lost`. Parts of a flow count with the
    whole.
    """
    from bentpipe.sweeps.job import goodput

    crossed = measures.crossed(links).group_by("run", maintain_order=True).agg("rate_bps")
    rates: dict[int, list[float]] = dict(crossed.iter_rows())
    points: dict[tuple[Any, ...], dict[int, list[dict[str, Any]]]] = {}
    for row in flows.iter_rows(named=True):
        points.setdefault(tuple(row[key] for key in keys), {}).setdefault(row["run"], []).append(row)
    found = []
    for point, runs in points.items():
        values = [goodput(rows) for rows in runs.values()]
        most = math.fsum(rates.get(next(iter(runs)), ()))
        mean = stats.interval(values, least=0, most=most if most >= max(values) else None)
        every = [row for rows in runs.values() for row in each_once(rows)]
        rtts = [row["rtt_p95_s"] for row in every if row["rtt_p95_s"] is not None]
        found.append(
            {
                **dict(zip(keys, point, strict=True)),
                "runs": len(runs),
                "goodput_bps": mean.centre,
                "goodput_low_bps": mean.low if mean.n > 1 else None,
                "goodput_high_bps": mean.high if mean.n > 1 else None,
                "rtt_p95_s": math.fsum(rtts) / len(rtts) if rtts else None,
                "loss": measures.lost(every),
            }
        )
    return found


def show_groups(found: Sequence[dict[str, Any]], keys: Sequence[str]) -> None:
    """Prints them."""
    rows = []
    for row in found[:_ROWS]:
        low, high = row["goodput_low_bps"], row["goodput_high_bps"]
        mean = stats.Interval(
            row["goodput_bps"] / 1e6,
            math.nan if low is None else low / 1e6,
            math.nan if high is None else high / 1e6,
            row["runs"],
            low is not None and low == high,
        )
        rows.append(
            [
                *([_cell(row[key]) for key in keys] or [""]),
                str(row["runs"]),
                stats.shown(mean),
                units.milliseconds(row["rtt_p95_s"]),
                units.percent(row["loss"], 2),
            ]
        )
    heads = [*([f"<{key}" for key in keys] or ["<"]), *_HEADS]
    wide = sum(
        max(len(text) for text in (*(row[i] for row in rows), *head.lstrip("<").split("\n"))) + 2
        for i, head in enumerate(heads)
    )
    if len(keys) > 1 and wide > terminal.console().width:  # the keys as one column
        count = len(keys)
        heads = ["<point", *_HEADS]
        rows = [[", ".join(row[:count]), *row[count:]] for row in rows]
        terminal.line(f"point: {', '.join(keys)}")
    terminal.show_table("", heads, rows)
    terminal.rest(_ROWS, len(found), "points")


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.6g}" if isinstance(value, float) else terminal.named(str(value))
