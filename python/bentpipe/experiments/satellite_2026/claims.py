"""Claims by others about slow starts over satellites, as checks on the runs of docs/satellite-2026.md."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from bentpipe.experiments.satellite_2026.measure import PATHS, SAVED, Measured, samples
from bentpipe.studies.claim import Check, Claim, above, at_least, at_most, number

HYSTART, PLAIN, SEARCH = "cubic slow_start=hystart", "cubic", "cubic slow_start=search"
RESUME = f"cubic slow_start=hystart {SAVED}"
CALM, JUDGED, DEEP = "geo", "geo-jitter", "geo-deep"
"""The authors' links were real ones, whose delay varies and whose buffers are not known."""
LABELS = {path.name: path.label for path in PATHS}


def claims(rows: Sequence[Measured]) -> list[Claim]:
    """The claims about algorithms that were run."""
    found = {r.cc for r in rows if r.path == JUDGED}
    judged = []
    for needed, make in (
        ((HYSTART, PLAIN), _hystart),
        ((PLAIN, SEARCH), _search_exits),
        ((HYSTART, SEARCH), _search_gains),
        ((HYSTART, RESUME), _resume),
    ):
        if found.issuperset(needed) and {r.path for r in rows}.issuperset(LABELS):
            judged.append(make(_reader(rows)))
    return judged


Reader = Callable[[str, str, str], list[float]]


def _reader(rows: Sequence[Measured]) -> Reader:
    def read(path: str, cc: str, what: str) -> list[float]:
        values = samples(rows, path, cc, what)
        if any(map(math.isnan, values)):
            raise ValueError(f"{cc} over {path}: {what} is missing")
        return values

    return read


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
    return Claim(
        "hystart",
        "HyStart leaves slow start too early",
        "B. Peters, P. Zhao, J. Chung and M. Claypool, TCP HyStart Performance over a Satellite Network, "
        "NetDev 0x15, 2021, abstract: with HyStart the throughput at the start is about half of that without "
        "it, over a commercial geostationary link.",
        checks,
        note="HyStart takes a rise of the smallest of eight round trips by 16 ms for a queue. Where the "
        "delay is constant there is none before the queue. Where acknowledgements wait for slots, chance "
        "decides in each run: it leaves early, and then CUBIC needs a long time, or it does not, and loses "
        "less than plain slow start. Plain slow start pays for its overshoot with a recovery of some "
        "seconds, in which little is delivered in order.",
    )


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
    return Claim(
        "search-exit",
        "SEARCH leaves slow start at the right point",
        "J. Chung, M. Kachooei, F. Li and M. Claypool, draft-chung-ccwg-search-02, abstract: SEARCH leaves "
        "slow start after the congestion point is reached and before packets are lost; without HyStart TCP "
        "leaves it too late, and loses packets. That the congestion point is reached is taken as nine tenths "
        "of what plain slow start delivers.",
        checks,
        note="SEARCH compares deliveries over three and a half round trips. A buffer of one product of rate "
        "and round trip overflows before that shows, and then SEARCH is plain slow start. With four products "
        "it leaves first, though with a window far above what the path holds, which it keeps; what comes "
        "then still overflows.",
    )


def _search_gains(of: Reader) -> Claim:
    checks = []
    for path in (JUDGED, CALM, DEEP):
        upper, lower = of(path, SEARCH, "start_mb"), of(path, HYSTART, "start_mb")
        one = above(f"{LABELS[path]}: delivered at the start, SEARCH less HyStart", upper, lower, unit="MB")
        upper, lower = of(path, HYSTART, "file_100_s"), of(path, SEARCH, "file_100_s")
        other = above(f"{LABELS[path]}: 100 MB, HyStart less SEARCH", upper, lower, unit="s").unprinted()
        checks += [one if path == JUDGED else one.unprinted(), other]
    return Claim(
        "search-gain",
        "SEARCH uses the link better than HyStart",
        "The same abstract: CUBIC with HyStart can leave slow start early, and then uses less of the link.",
        checks,
    )


def _resume(of: Reader) -> Claim:
    checks = []
    for path in (JUDGED, CALM, DEEP):
        usual, resumed = of(path, HYSTART, "file_1_s"), of(path, RESUME, "file_1_s")
        large, again = of(path, HYSTART, "file_100_s"), of(path, RESUME, "file_100_s")
        checks += [
            above(f"{LABELS[path]}: 1 MB, without less with it", usual, resumed, unit="s"),
            above(f"{LABELS[path]}: 100 MB, without less with it", large, again, unit="s"),
        ]
    return Claim(
        "resume",
        "Careful Resume shortens transfers of more than a few initial windows",
        "A. Custura and G. Fairhurst, draft-custura-tsvwg-careful-resume-qlog-01, section 1, of the method "
        "of N. Kuhn, E. Stephan, G. Fairhurst, R. Secchi and C. Huitema: it is expected to shorten transfers "
        "that send much more data than the initial window. The page has no number that could be compared.",
        checks,
    )
