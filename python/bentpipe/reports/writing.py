"""The page of a report, section by section, and its summary: a row for each algorithm, in groups."""

from __future__ import annotations

from collections.abc import Sequence

from bentpipe import _core, stats
from bentpipe.measures import LOSSY
from bentpipe.pages import Badge, Hyperlink, Page, Prose
from bentpipe.reports import about, curves
from bentpipe.reports.measures import Means, Sample, leads, means, sample
from bentpipe.reports.time import over_time
from bentpipe.sweeps.stored import Stored


def build(stored: Stored, measures: Sequence[str] = ()) -> Page:
    """The page about stored runs.

    Args:
        stored: the runs.
        measures: the measures of each, names of `MEASURES`; none: the usual ones.

    Raises:
        ScenarioError: there is no such measure, or no run has it.
    """
    names = ", ".join(place.resolve().name for place in stored.places)
    runs = stored.flows["run"].n_unique() if stored.flows.height else 0
    page = Page(
        _title(stored) or f"Runs of {names}",
        lead=f"{_many(runs + stored.failed.height, 'run')} in {names}.",
        foot=f"Written by bentpipe {_core.__version__}.",
    )
    if stored.failed.height:
        one = stored.failed.height == 1
        page.banner(
            Badge(f"{_many(stored.failed.height, 'run')} failed", "bad"),
            f" and {'is' if one else 'are'} in no number below; see ",
            Hyperlink("the list", "#failed-runs"),
            ".",
        )
    if not stored.flows.height:
        about.what_was_run(page, stored, None)
        about.failed(page, stored)
        about.data_files(page, stored)
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
    about.every_combination(page, found)
    about.what_was_run(page, stored, found)
    about.failed(page, stored)
    about.data_files(page, stored)
    return page


def _title(stored: Stored) -> str:
    """The title of the sweep or of the scenario, if all have the same."""
    titles = {
        str(part.get("title") or (part.get("scenario") or {}).get("title") or "") for part in stored.parts
    }
    return titles.pop() if len(titles) == 1 else ""


def _many(n: int, what: str) -> str:
    return f"{n:,} {what}" + ("" if n == 1 else "s")


def _summary(page: Page, found: Sample) -> None:
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
        names = ", ".join(parameter.name for parameter in found.parameters)
        page.paragraphs(
            f"Group 1 has the {better} {first.quantity} and all that these runs cannot distinguish from it "
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
