"""Charts of all runs: over each parameter, as maps, as distributions, and one by one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from bentpipe import registry
from bentpipe.measures import LOG_FROM, MeasureRow, Scaled
from bentpipe.pages import Axis, Curve, Page
from bentpipe.reports.measures import Means, Sample, at_points, means, said, valued

#: Most points of the chart of all runs, and the number up to which each point names its run.
POINTS, NOTED = 100_000, 20_000
#: Points of a distribution's curve at most.
STEPS = 400
#: Most algorithms for which heat maps are drawn, and most columns of them.
MAPS, WIDE = 8, 60
#: Most combinations of the other parameters among which a reader chooses.
CHOICES = 100


def looks(found: Sample, algorithm: str) -> dict[str, Any]:
    """Colour and marker of an algorithm; a second of one name has its colour by its place."""
    own = found.ids[algorithm]
    same = [name for name in found.algorithms if found.ids[name] == own]
    colour = registry.colours(found.ids[name] for name in found.algorithms)[own]
    return {"marker": registry.style(own)["marker"], "colour": colour if algorithm == same[0] else ""}


def against(page: Page, found: Sample, parameter: Scaled) -> None:
    """Each measure against a parameter: the mean over the others, and at each choice of the others."""
    others = [p for p in found.parameters if p is not parameter]
    page.section(f"By {parameter.words}")
    choices = _choices(found, parameter, others)
    for measure in found.measures:
        mean_over = {
            value: means(found, measure, part)
            for value, part in _by(found.rows, parameter.column, parameter.values)
        }
        whole, counts = _curves(found, parameter, measure, mean_over)
        if not whole:
            continue
        drawn: Any = whole
        if 1 < len(choices) <= CHOICES:
            drawn = {"all, their mean": whole}
            runs = at_points(found, measure)
            for name, points in choices.items():
                there = {value: runs[point] for value, point in points.items() if point in runs}
                curves, _ = _curves(found, parameter, measure, there)
                if curves:
                    drawn[name] = curves
        page.chart(
            drawn,
            x=axis(parameter),
            y=_upright(measure),
            alt=f"{measure.label} against {parameter.label}, one curve for each algorithm",
            title=f"{measure.title} against {parameter.words}.",
            caption=_how(counts, averaged=bool(others)),
            choose=" and ".join(p.words for p in others),
        )


def by_algorithm(page: Page, found: Sample) -> None:
    """Each measure by algorithm, where nothing else varies."""
    if found.parameters or len(found.algorithms) < 2:
        return
    page.section("By algorithm")
    for measure in found.measures:
        of = means(found, measure)
        drawn, counts = [], set()
        for at, algorithm in enumerate(found.algorithms):
            got = of.interval(algorithm, measure)
            if got is not None:
                counts.add((got.n, got.alike))
                point = [float(at)], [got.centre], [got.low], [got.high]
                drawn.append(Curve(algorithm, *point, kind="points", **looks(found, algorithm)))
        page.chart(
            drawn,
            x=Axis("algorithm", names=found.algorithms),
            y=_upright(measure),
            alt=f"{measure.label} of each algorithm",
            title=f"{measure.title}.",
            caption=_how(counts, averaged=False),
        )


def _upright(measure: MeasureRow) -> Axis:
    """The axis of a measure, from zero; but an index of fairness is near one, and its axis ends there."""
    index = measure.name.startswith("jain")
    return Axis(measure.label, least=None if index else 0.0, most=1.0 if index else None)


def spaced(parameter: Scaled) -> bool:
    """Whether its values are equally spaced. Words are, and 0 beside values of several decades."""
    if not parameter.numeric:
        return True
    first, *rest = parameter.values
    return first == 0 and len(rest) > 1 and rest[-1] > LOG_FROM * rest[0]


def axis(parameter: Scaled) -> Axis:
    """Its axis: logarithmic where three values or more span a wide range."""
    if spaced(parameter):
        return _named_axis(parameter)
    return Axis(parameter.label, log=parameter.log and len(parameter.values) > 2)


def _named_axis(parameter: Scaled) -> Axis:
    """Its values as categories."""
    return Axis(parameter.label, names=list(map(said, parameter.values)))


def _choices(found: Sample, parameter: Scaled, others: Sequence[Scaled]) -> dict[str, dict[float | str, int]]:
    """Each combination of the others in words, with the points at the values of the parameter."""
    made: dict[str, dict[float | str, int]] = {}
    for row in (
        found.rows.unique("point").sort([p.column for p in others]).iter_rows(named=True) if others else []
    ):
        name = ", ".join(valued(p, row) for p in others)
        made.setdefault(name, {})[row[parameter.column]] = row["point"]
    return made


def _curves(
    found: Sample, parameter: Scaled, measure: MeasureRow, at: Mapping[float | str, Means]
) -> tuple[list[Curve], set[tuple[int, bool]]]:
    """A curve for each algorithm, the number of runs behind its points, and whether they are alike."""
    drawn, counts = [], set()
    for nth, algorithm in enumerate(found.algorithms):
        x, centre, low, high = [], [], [], []
        for place, value in enumerate(parameter.values):
            values = at[value].values.get(algorithm) if value in at else None
            if not values:
                continue
            shift = 0.0 if parameter.numeric else 0.5 * (nth + 0.5) / len(found.algorithms) - 0.25
            got = measure.interval(values)
            x.append(place + shift if spaced(parameter) else float(value))
            centre.append(got.centre)
            low.append(got.low)
            high.append(got.high)
            counts.add((got.n, got.alike))
        if x:
            kind: Any = "both" if parameter.numeric else "points"
            drawn.append(Curve(algorithm, x, centre, low, high, kind, **looks(found, algorithm)))
    return drawn, counts


def _how(counts: set[tuple[int, bool]], *, averaged: bool) -> str:
    """The meaning of points and bars of a chart."""
    others = " (and over what can be chosen, until it is)" if averaged else ""
    seeds = sorted({n for n, _ in counts})
    if seeds == [1]:
        return "One run each (n = 1): nothing says how runs differ."
    if all(alike for _, alike in counts):
        return f"The {seeds[-1]} runs of each point are all alike: nothing in them is random."
    many = f"{seeds[0]}" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
    return f"Mean over {many} seeds{others}, with its 95 % interval."


def maps(page: Page, found: Sample) -> None:
    """Heat maps of the first measure over the two parameters with the most values, in the same colours."""
    if len(found.parameters) < 2:
        return
    measure = found.measures[0]
    across, up = sorted(found.parameters, key=lambda p: len(p.values), reverse=True)[:2]
    if len(across.values) > WIDE or len(up.values) < 2:
        return
    grouped = (
        found.rows.filter(pl.col(measure.name).is_finite())
        .group_by("algorithm", across.column, up.column)
        .agg(pl.col(measure.name).mean().alias("value"))
    )
    page.section(f"{measure.title} by {across.words} and {up.words}")
    ends = float(str(grouped["value"].min())), float(str(grouped["value"].max()))
    over = "Mean over the seeds" + (" and all other parameters" if len(found.parameters) > 2 else "")
    for algorithm, rows in list(_by(grouped, "algorithm", found.algorithms))[:MAPS]:
        there = {(a, b): value for _, a, b, value in rows.iter_rows()}
        page.heat_map(
            [[there.get((a, b), float("nan")) for a in across.values] for b in up.values],
            x=_named_axis(across),
            y=_named_axis(up),
            quantity=measure.label,
            alt=f"{measure.words} of {algorithm} over {across.label} and {up.label}",
            title=f"{measure.title} of {algorithm}.",
            caption=f"{over}. The colours are those of the other maps.",
            ends=ends,
        )
    if len(found.algorithms) > MAPS:
        page.paragraphs(f"Of {len(found.algorithms)} algorithms the first {MAPS} have a map.", small=True)


def distributions(page: Page, found: Sample) -> None:
    """Cumulative distributions over all runs, where there are ten and more."""
    if found.rows.height < 10 * len(found.algorithms):
        return
    page.section("Distributions", ["The share of the runs that have at most so much."])
    for measure in found.measures:
        drawn = []
        for algorithm, rows in _by(found.rows, "algorithm", found.algorithms):
            values = rows[measure.name].drop_nulls().drop_nans().sort().to_list()
            n = len(values)
            if not n:
                continue
            picked = (
                range(n) if n <= STEPS else sorted({round(i * (n - 1) / (STEPS - 1)) for i in range(STEPS)})
            )
            x, share = [values[i] for i in picked], [(i + 1) / n for i in picked]
            drawn.append(Curve(algorithm, x, share, kind="steps", **looks(found, algorithm)))
        page.chart(
            drawn,
            x=Axis(measure.label),
            y=Axis("share of the runs", least=0, most=1),
            alt=f"cumulative distribution of {measure.label}, one curve for each algorithm",
            title=f"{measure.title}: cumulative distribution.",
        )


def every_run(page: Page, found: Sample) -> None:
    """A point for each run: the first two measures against each other."""
    if found.rows.height < 2 or len(found.measures) < 2:
        return
    right, up = found.measures[:2]
    rows = found.rows
    step = -(-rows.height // POINTS)
    page.section("Every run")
    drawn = []
    for algorithm, of in _by(rows.gather_every(step), "algorithm", found.algorithms):
        notes = [] if rows.height > NOTED else [_said(found, row) for row in of.iter_rows(named=True)]
        x, y = (of[m.name].fill_null(float("nan")).to_list() for m in (right, up))
        drawn.append(Curve(algorithm, x, y, kind="points", notes=notes, **looks(found, algorithm)))
    good = ("lower", "upper")[up.better == "more"] + " " + ("left", "right")[right.better == "more"]
    page.chart(
        drawn,
        x=Axis(right.label),
        y=Axis(up.label),
        alt=f"a point for each run: its {right.words} and its {up.words}",
        title=f"{right.title} and {up.words}.",
        caption=f"The best corner is the {good} one." + (f" One run in {step} is drawn." if step > 1 else ""),
    )


def _said(found: Sample, row: dict[str, Any]) -> str:
    each = (f"{p.words}: {valued(p, row)}" for p in found.parameters)
    return ", ".join([*each, f"seed {row['seed']}"])


def _by(rows: pl.DataFrame, column: str, order: Sequence[Any]) -> Iterator[tuple[Any, pl.DataFrame]]:
    """The parts of a table, in this order."""
    parts = rows.partition_by(column, as_dict=True, maintain_order=True)
    for value in order:
        if (value,) in parts:
            yield value, parts[(value,)]
