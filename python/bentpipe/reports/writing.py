"""The page of a report, section by section."""

from __future__ import annotations

from collections.abc import Sequence

from bentpipe import _core
from bentpipe.pages import Badge, Hyperlink, Page
from bentpipe.reports import about, curves
from bentpipe.reports.measures import sample
from bentpipe.reports.summary import summary
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
    summary(page, found)
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
