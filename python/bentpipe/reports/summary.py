"""The summary of a report: a row for each algorithm, in groups that intervals do not separate."""

from __future__ import annotations

from bentpipe import stats
from bentpipe.measures import LOSSY
from bentpipe.pages import Badge, Page, Prose
from bentpipe.reports.measures import Means, Sample, leads, means


def summary(page: Page, found: Sample) -> None:
    """A table of all algorithms, the best group of the first measure on top."""
    of = {measure.name: means(found, measure) for measure in found.measures}
    first = found.measures[0]
    groups = of[first.name].groups(first, found.rivals)
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
        page.paragraphs(
            f"Group 1 has the {better} {first.quantity} and all that these runs cannot distinguish from it "
            "(paired t tests, 5 % in all, after Holm). Algorithms of one group need not be equal: more seeds "
            "can separate them. One that scatters much can be in a better group than one with a better mean."
            + (
                f" Leads at: the number of combinations of {_names(found)} with it in group 1." if led else ""
            ),
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


def _names(found: Sample) -> str:
    return ", ".join(parameter.name for parameter in found.parameters)
