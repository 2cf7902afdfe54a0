"""Claims by others about slow starts over satellites, as checks on the runs of docs/satellite-2026.md."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from bentpipe.experiments.rows import Rows
from bentpipe.experiments.satellite_2026.measure import GIVEN, PATHS, SAVED
from bentpipe.studies.claim import Check, Claim, above, at_least, at_most, number

HYSTART, PLAIN, SEARCH = "cubic slow_start=hystart", "cubic", "cubic slow_start=search"
RESUME = f"cubic slow_start=hystart {SAVED}"
CALM, JUDGED, DEEP = "geo", "geo-jitter", "geo-deep"
"""The authors' links were real ones, whose delay varies and whose buffers are not known."""
LABELS = {path.name: path.label for path in PATHS}
WORDS = {
    "start_mb": ("delivered at the start", "MB"),
    "start_lost": ("lost at the start", "packets"),
    "file_1_s": ("1 MB", "s"),
    "file_100_s": ("100 MB", "s"),
}
"""What is compared in words, and its unit."""


def claims(rows: Rows) -> list[Claim]:
    """The claims about algorithms that were run; their words are in satellite.toml."""
    if not {path for (path,) in rows.groups("path")}.issuperset(LABELS):
        return []
    known = {cc for (cc,) in rows.where(path=JUDGED).groups("cc")}
    return [
        Claim(name, words["title"], words["statement"], list(checks(rows)), words.get("note", ""))
        for name, (checks, needed) in CHECKS.items()
        for words in [GIVEN["claims"][name]]
        if known.issuperset(needed)
    ]


def _hystart(rows: Rows) -> Iterator[Check]:
    for path in (JUDGED, CALM):
        what = f"{LABELS[path]}: delivered at the start, with HyStart over without it"
        for check in (
            number(what, _ratio(rows, path, HYSTART, PLAIN), 0.5),
            _more(rows, path, "start_mb", PLAIN, HYSTART, "without HyStart less with it"),
        ):
            yield check if path == JUDGED else check.unprinted()


def _search_exits(rows: Rows) -> Iterator[Check]:
    for path in (CALM, DEEP):
        lost = _values(rows, path, SEARCH, "start_lost")
        yield at_most(f"{LABELS[path]}: lost at the start with SEARCH", lost, 1.0, paper="none")
        yield _more(rows, path, "start_lost", PLAIN, SEARCH, "without HyStart less with SEARCH")
        yield at_least(
            f"{LABELS[path]}: delivered at the start, with SEARCH over without HyStart",
            _ratio(rows, path, SEARCH, PLAIN), 0.9, paper="after the congestion point",
        )  # fmt: skip


def _search_gains(rows: Rows) -> Iterator[Check]:
    for path in (JUDGED, CALM, DEEP):
        start = _more(rows, path, "start_mb", SEARCH, HYSTART, "SEARCH less HyStart")
        yield start if path == JUDGED else start.unprinted()
        yield _more(rows, path, "file_100_s", HYSTART, SEARCH, "HyStart less SEARCH").unprinted()


def _resume(rows: Rows) -> Iterator[Check]:
    for path in (JUDGED, CALM, DEEP):
        for what in ("file_1_s", "file_100_s"):
            yield _more(rows, path, what, HYSTART, RESUME, "without less with it")


CHECKS: dict[str, tuple[Callable[[Rows], Iterator[Check]], tuple[str, str]]] = {
    "hystart": (_hystart, (HYSTART, PLAIN)),
    "search-exit": (_search_exits, (PLAIN, SEARCH)),
    "search-gain": (_search_gains, (HYSTART, SEARCH)),
    "resume": (_resume, (HYSTART, RESUME)),
}
"""The checks of each claim, and the algorithms that it is about."""


def _values(rows: Rows, path: str, cc: str, what: str) -> list[float]:
    values = rows.values(what, path=path, cc=cc)
    if len(values) < len(rows.where(path=path, cc=cc)):
        raise ValueError(f"{cc} over {path}: {what} is missing")
    return [values[seed] for seed in sorted(values)]


def _ratio(rows: Rows, path: str, upper: str, lower: str) -> list[float]:
    both = (_values(rows, path, cc, "start_mb") for cc in (upper, lower))
    return [a / b for a, b in zip(*both, strict=True)]


def _more(rows: Rows, path: str, what: str, upper: str, lower: str, said: str) -> Check:
    words, unit = WORDS[what]
    values = (_values(rows, path, cc, what) for cc in (upper, lower))
    return above(f"{LABELS[path]}: {words}, {said}", *values, unit=unit)
