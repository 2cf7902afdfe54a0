"""Claims by others about slow starts over satellites, as checks on the runs of docs/satellite-2026.md."""

from __future__ import annotations

from collections.abc import Callable

from bentpipe.experiments.rows import Rows
from bentpipe.experiments.satellite_2026.measure import GIVEN, PATHS, SAVED
from bentpipe.studies.claim import Check, Claim, above, at_least, at_most, number

HYSTART, PLAIN, SEARCH = "cubic slow_start=hystart", "cubic", "cubic slow_start=search"
RESUME = f"cubic slow_start=hystart {SAVED}"
CALM, JUDGED, DEEP = "geo", "geo-jitter", "geo-deep"
"""The authors' links were real ones, whose delay varies and whose buffers are not known."""
LABELS = {path.name: path.label for path in PATHS}


def claims(rows: Rows) -> list[Claim]:
    """The claims about algorithms that were run."""
    if not {path for (path,) in rows.groups("path")}.issuperset(LABELS):
        return []
    known = {cc for (cc,) in rows.where(path=JUDGED).groups("cc")}

    def read(path: str, cc: str, what: str) -> list[float]:
        values = rows.where(path=path).values(what, cc=cc)
        if len(values) < len(rows.where(path=path, cc=cc)):
            raise ValueError(f"{cc} over {path}: {what} is missing")
        return [values[seed] for seed in sorted(values)]

    judged = {
        _hystart: (HYSTART, PLAIN),
        _search_exits: (PLAIN, SEARCH),
        _search_gains: (HYSTART, SEARCH),
        _resume: (HYSTART, RESUME),
    }
    return [make(read) for make, needed in judged.items() if known.issuperset(needed)]


def _claim(name: str, checks: list[Check]) -> Claim:
    """A claim with its words in satellite.toml."""
    words = GIVEN["claims"][name]
    return Claim(name, words["title"], words["statement"], checks, words.get("note", ""))


Reader = Callable[[str, str, str], list[float]]


def _ratio(of: Reader, path: str, what: str, upper: str, lower: str) -> list[float]:
    return [a / b for a, b in zip(of(path, upper, what), of(path, lower, what), strict=True)]


def _hystart(of: Reader) -> Claim:
    def more(path: str) -> Check:
        upper, lower = (of(path, cc, "start_mb") for cc in (PLAIN, HYSTART))
        return above(
            f"{LABELS[path]}: delivered at the start, without HyStart less with it", upper, lower, unit="MB"
        )

    what = "delivered at the start, with HyStart over without it"
    checks = [
        number(f"{LABELS[JUDGED]}: {what}", _ratio(of, JUDGED, "start_mb", HYSTART, PLAIN), 0.5),
        more(JUDGED),
        number(f"{LABELS[CALM]}: {what}", _ratio(of, CALM, "start_mb", HYSTART, PLAIN), 0.5).unprinted(),
        more(CALM).unprinted(),
    ]
    return _claim("hystart", checks)


def _search_exits(of: Reader) -> Claim:
    checks: list[Check] = []
    for path in (CALM, DEEP):
        lost, plain = of(path, SEARCH, "start_lost"), of(path, PLAIN, "start_lost")
        checks += [
            at_most(f"{LABELS[path]}: lost at the start with SEARCH", lost, 1.0, paper="none"),
            above(
                f"{LABELS[path]}: lost at the start, without HyStart less with SEARCH",
                plain,
                lost,
                unit="packets",
            ),
            at_least(
                f"{LABELS[path]}: delivered at the start, with SEARCH over without HyStart",
                _ratio(of, path, "start_mb", SEARCH, PLAIN),
                0.9,
                paper="after the congestion point",
            ),
        ]
    return _claim("search-exit", checks)


def _search_gains(of: Reader) -> Claim:
    checks = []
    for path in (JUDGED, CALM, DEEP):
        upper, lower = of(path, SEARCH, "start_mb"), of(path, HYSTART, "start_mb")
        one = above(f"{LABELS[path]}: delivered at the start, SEARCH less HyStart", upper, lower, unit="MB")
        upper, lower = of(path, HYSTART, "file_100_s"), of(path, SEARCH, "file_100_s")
        other = above(f"{LABELS[path]}: 100 MB, HyStart less SEARCH", upper, lower, unit="s").unprinted()
        checks += [one if path == JUDGED else one.unprinted(), other]
    return _claim("search-gain", checks)


def _resume(of: Reader) -> Claim:
    checks = []
    for path in (JUDGED, CALM, DEEP):
        usual, resumed = of(path, HYSTART, "file_1_s"), of(path, RESUME, "file_1_s")
        large, again = of(path, HYSTART, "file_100_s"), of(path, RESUME, "file_100_s")
        checks += [
            above(f"{LABELS[path]}: 1 MB, without less with it", usual, resumed, unit="s"),
            above(f"{LABELS[path]}: 100 MB, without less with it", large, again, unit="s"),
        ]
    return _claim("resume", checks)
