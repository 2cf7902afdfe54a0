"""Reports: one page about the runs of a sweep or about stored results, to explore and to share.

bp.report("out/loss")                                # a sweep's dataset: writes out/loss.html
bp.report(["out/cubic", "out/bbr"], "both.html")     # results of `bentpipe run --out`
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

__all__ = ["place_of", "report"]


def report(
    places: str | Path | Sequence[str | Path],
    out: str | Path | None = None,
    measures: Sequence[str] = (),
) -> Path:
    """Writes one page about stored runs: set-up, tables, charts, failures; or their table for LaTeX.

    Where the simulator for browsers is at hand, it is written beside the page as `bentpipe.html`, and the
    page has a link for each combination that it can run.

    Args:
        places: datasets of sweeps and directories of results; several are shown together.
        out: the page, or FILE.tex for the table of every combination; if None, a page
            that is beside the directory and named after it (`place_of`).
        measures: the measures of each run, names of `bentpipe.measures.REPORTED`; the first orders
            the algorithms. None: goodput, the 95th percentile of the RTT, lost packets, and completion time
            and Jain's index where there are any.

    Returns:
        The path of the page or of the table.

    Raises:
        ScenarioError: a place is neither, a measure does not exist, `out` is not called *.html or *.tex, or
            it is a file that Bentpipe did not write.
        OSError: something cannot be read or written.
    """
    from bentpipe._core import ScenarioError
    from bentpipe.io.files import TABLES, check_kind, replace_text
    from bentpipe.pages import check_page
    from bentpipe.reports.writing import build, latex, openable
    from bentpipe.sweeps.stored import read
    from bentpipe.web.link import links

    given = [Path(places)] if isinstance(places, str | Path) else [Path(place) for place in places]
    target = place_of(given) if out is None else Path(out)
    if target.suffix == ".tex":
        check_kind(target, TABLES[".tex"])
        replace_text(target, latex(read(given), measures))
        return target
    if target.suffix.lower() not in (".html", ".htm"):
        raise ScenarioError(
            f"{target}: a report is a page, and its name ends in .html; a browser prints it as PDF, "
            "and a name in .tex is its table for LaTeX"
        )
    check_page(target)
    stored = read(given)
    return build(stored, measures, links(openable(stored), target)).write(target)


def place_of(places: Sequence[Path]) -> Path:
    """The default place of a report: beside its only directory, or `report.html`."""
    if len(places) != 1:
        return Path("report.html")
    whole = places[0].resolve()
    return whole.with_name(whole.name + ".html")
