"""A stored benchmark as ratios, and as tables: for the terminal, and in Markdown for docs/performance.md.

Ratios are taken within pairs, whose runs saw the same machine.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bentpipe import terminal
from bentpipe.bench.cases import CASES
from bentpipe.io.toml_tables import beside
from bentpipe.pages.markdown import markdown

SCHEMA = 1
"""Version of the form in which timings are stored."""

_GIVEN = beside(__file__, "page.toml")
_HEADS: list[str] = _GIVEN["heads"]


@dataclass(frozen=True)
class Spread:
    """Median, least and largest of some values."""

    median: float
    least: float
    most: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """The spread of at least one value."""
        return cls(statistics.median(values), min(values), max(values))


@dataclass(frozen=True)
class Figures:
    """The results of the timings of one case.

    Attributes:
        here: data packets that Bentpipe delivers in order per CPU second.
        events: events of its engine per such packet; None where it does not count them.
        peak_bytes: most memory of its process, the median.
        ns2: packets per CPU second of ns-2 in this case, or in the one that `ns2_of` names; None without
            it. Its set-up counts where the case says so.
        ns2_setup_s: CPU seconds until ns-2 begins to simulate, the median.
        ns2_peak_bytes: most memory of its process, the median.
        ns3: packets per CPU second of ns-3, whose run is shorter and whose start counts; None without it.
        ratio: of our speed to ns-2's; for a case that is compared with another, of the costs per packet.
        of_ns3: of our speed to ns-3's.
    """

    here: Spread
    events: float | None
    peak_bytes: float | None
    ns2: Spread | None
    ns2_setup_s: float | None
    ns2_peak_bytes: float | None
    ns3: Spread | None
    ratio: Spread | None
    of_ns3: Spread | None

    @property
    def here_ns(self) -> Spread:
        """Nanoseconds of CPU time for each of them."""
        return Spread(1e9 / self.here.median, 1e9 / self.here.most, 1e9 / self.here.least)


def _speed(run: dict[str, Any], *, setup: bool = True) -> float:
    return float(run["packets"] / (run["cpu_s"] - (0.0 if setup else run["setup_s"])))


def _median(runs: Sequence[dict[str, Any]], key: str) -> float | None:
    known = [run[key] for run in runs if run[key] is not None]
    return statistics.median(known) if known else None


def figures(stored: dict[str, Any]) -> dict[str, Figures]:
    """The results of every case of a stored benchmark.

    Raises:
        ValueError: it is of another version, or holds a case that is not known.
    """
    if stored.get("schema") != SCHEMA:
        raise ValueError(f"timings of schema {SCHEMA} are known, not {stored.get('schema')!r}")
    unknown = set(stored["cases"]) - set(CASES)
    if unknown:
        raise ValueError(f"no benchmark is called {sorted(unknown)[0]!r}")
    return {key: _figures(key, stored) for key in CASES if key in stored["cases"]}


def _figures(key: str, stored: dict[str, Any]) -> Figures:
    case, pairs = CASES[key], stored["cases"][key]["pairs"]
    ours = [pair["here"] for pair in pairs]
    thirds = [(pair["here"], pair["ns3"]) for pair in pairs if pair.get("ns3") is not None]
    witness = stored["cases"].get(case.ns2_of or key, {"pairs": []})
    theirs = [pair["ns2"] for pair in witness["pairs"] if pair["ns2"] is not None]
    ratio = None
    if case.against is not None and case.against in stored["cases"]:
        ratio = _costs(stored, key, case.against)
    elif len(theirs) == len(ours):
        both = zip(ours, theirs, strict=True)
        ratio = Spread.of([_speed(o) / _speed(t, setup=case.setup) for o, t in both])
    events = [run["events"] / run["packets"] for run in ours if run["events"] is not None]
    return Figures(
        here=Spread.of([_speed(run) for run in ours]),
        events=statistics.median(events) if events else None,
        peak_bytes=_median(ours, "peak_bytes"),
        ns2=Spread.of([_speed(run, setup=case.setup) for run in theirs]) if theirs else None,
        ns2_setup_s=_median(theirs, "setup_s"),
        ns2_peak_bytes=_median(theirs, "peak_bytes"),
        ns3=Spread.of([_speed(run) for _, run in thirds]) if thirds else None,
        ratio=ratio,
        of_ns3=Spread.of([_speed(ours) / _speed(run) for ours, run in thirds]) if thirds else None,
    )


def _costs(stored: dict[str, Any], key: str, against: str) -> Spread:
    """CPU time per packet of one case as a multiple of another's, turn by turn."""
    turns = zip(stored["cases"][key]["pairs"], stored["cases"][against]["pairs"], strict=True)
    return Spread.of([_speed(base["here"]) / _speed(run["here"]) for run, base in turns])


def verdict(value: float, must: float | None, aim: float | None, *, least: bool) -> str:
    """The rating of a value against its targets: "aim", "must" or "miss"; empty without targets.

    Args:
        value: the measured value.
        must: the required value.
        aim: the desired value.
        least: whether these are lower bounds; otherwise they are upper bounds.
    """
    sign = 1.0 if least else -1.0
    for name, bound in (("aim", aim), ("must", must)):
        if bound is not None and sign * value >= sign * bound:
            return name
    return "miss" if must is not None or aim is not None else ""


def judged(key: str, found: Figures) -> str:
    """The verdict on a case: the worse of those on its ratio and on its nanoseconds."""
    case = CASES[key]
    verdicts = [verdict(found.here_ns.median, case.must_ns, None, least=False)]
    if found.ratio is not None:
        verdicts.append(verdict(found.ratio.median, case.must, case.aim, least=case.against is None))
    return next((word for word in ("miss", "must", "aim") if word in verdicts), "")


def parallel(stored: dict[str, Any]) -> tuple[Spread, Spread]:
    """Several threads against one: the CPU seconds of all, and how many times as fast by the wall clock."""
    pairs = stored["parallel"]["pairs"]
    cpu = Spread.of([pair["several"]["cpu_s"] / pair["one"]["cpu_s"] for pair in pairs])
    return cpu, Spread.of([pair["one"]["wall_s"] / pair["several"]["wall_s"] for pair in pairs])


def environments(stored: dict[str, Any]) -> dict[str, tuple[Spread, Spread]]:
    """By transport: steps of agents' environments per CPU second of one thread, and per second on several."""
    found = stored["environments"]
    steps = found["count"] * found["steps"]

    def speeds(pairs: list[dict[str, Any]]) -> tuple[Spread, Spread]:
        one = Spread.of([steps / pair["one"]["cpu_s"] for pair in pairs])
        return one, Spread.of([steps / pair["several"]["wall_s"] for pair in pairs])

    return {transport: speeds(pairs) for transport, pairs in found["transports"].items()}


def _many(value: float | None, digits: int = 2) -> str:
    return "" if value is None else f"{value:,.{digits}f}"


def _megabytes(value: float | None) -> str:
    return "" if value is None else f"{value / 1e6:,.0f}"


def _range(spread: Spread | None, digits: int = 1) -> str:
    if spread is None:
        return ""
    return f"{spread.median:.{digits}f} ({spread.least:.{digits}f} to {spread.most:.{digits}f})"


def _asked(key: str) -> str:
    case = CASES[key]
    sign = ">=" if case.against is None else "<="
    bounds = [f"{bound:g}" for bound in (case.must, case.aim) if bound is not None]
    asked = [f"{sign} {', '.join(bounds)}"] if bounds else []
    return "; ".join(asked + ([] if case.must_ns is None else [f"<= {case.must_ns:g} ns"]))


def _row(key: str, what: str, found: Figures) -> list[str]:
    case = CASES[key]
    return [
        key,
        what,
        _many(found.here.median / 1e6),
        _range(found.here_ns, 0),
        _many(found.events),
        _megabytes(found.peak_bytes),
        "" if found.ns2 is None else _many(found.ns2.median / 1e6),
        _megabytes(found.ns2_peak_bytes),
        _many(found.ns2_setup_s),
        _many(None if found.ns3 is None else found.ns3.median / 1e6, 4),
        _range(found.of_ns3, 0),
        _range(found.ratio, 1 if case.against is None else 2),
        _asked(key),
        judged(key, found),
    ]


def rows(stored: dict[str, Any]) -> list[list[str]]:
    """A row of text for each case."""
    return [_row(key, stored["cases"][key]["what"], found) for key, found in figures(stored).items()]


def data(stored: dict[str, Any]) -> list[list[str]]:
    """The rows for a file of comma-separated values, below a head with the units. A range has three cells."""
    made = [_GIVEN["columns"].split()]
    for key, what, *numbers, asked, judgement in rows(stored):
        cells = []
        for column, number in enumerate(numbers, start=2):
            found = re.findall(r"[\d.]+", number.replace(",", ""))
            cells += found or [""] * (3 if column in _GIVEN["ranges"] else 1)
        made.append([key, what, *cells, asked, judgement])
    return made


def show(stored: dict[str, Any]) -> None:
    """Prints the tables."""
    columns = _GIVEN["in_terminal"]
    terminal.show_whole("", _GIVEN["short"], [[row[i] for i in columns] for row in rows(stored)])
    for line in [*_facts(stored), *_steps(stored)]:
        terminal.line(line)


def _facts(stored: dict[str, Any]) -> list[str]:
    """The measurements besides the scenarios, a sentence each."""
    if "parallel" not in stored:
        return []
    cpu, wall = parallel(stored)
    runs, threads = stored["parallel"]["runs"], stored["parallel"]["threads"]
    found = [
        f"{runs} short runs on {threads} threads against one: {_range(cpu, 3)} times the CPU seconds",
        f"the same by the wall clock: {_range(wall, 2)} times as fast; asked 1.9",
    ]
    if (shell := stored.get("constellation")) is not None:
        cpu, wall = parallel({"parallel": shell})
        speed = Spread.of([shell["hops"] / pair["one"]["cpu_s"] / 1e6 for pair in shell["pairs"]])
        found += [
            f"a constellation under load: {_range(speed, 1)} M packets over single links per CPU second, "
            "its routes included; asked 8",
            f"the same on {shell['threads']} threads: {_range(wall, 2)} times as fast by the wall clock, "
            f"{_range(cpu, 2)} times the CPU seconds; asked 1.7",
        ]
    for key, (what, limit) in _GIVEN["memory"].items():
        taken = stored["memory"][key]
        if taken["grown_bytes"] is not None:
            each = taken["grown_bytes"] / taken["things"]
            peak = _megabytes(taken["peak_bytes"])
            found.append(f"{each:,.0f} {what} ({taken['things']:,} take {peak} MB); asked {limit}")
    for name, times in stored["start"].items():
        wall_s, cpu_s = (Spread.of([t[k] for t in times]).median for k in ("wall_s", "cpu_s"))
        limit = _GIVEN["start"][name]
        found.append(f"{name}: {1e3 * wall_s:.0f} ms, of them {1e3 * cpu_s:.0f} ms of CPU time{limit}")
    return found


def _steps(stored: dict[str, Any]) -> list[str]:
    """The speed of agents' environments, a sentence each."""
    if "environments" not in stored:
        return []
    count, threads = stored["environments"]["count"], stored["environments"]["threads"]
    found = []
    for transport, (one, several) in environments(stored).items():
        asked = ("; asked 100,000", "; asked 180,000") if transport == "datagrams" else ("", "")
        who = f"{transport}, {count} environments on"
        found += [
            f"{who} one thread: {_steps_of(one)} steps per CPU second{asked[0]}",
            f"{who} {threads} threads: {_steps_of(several)} steps per second by the wall clock{asked[1]}",
        ]
    return found


def _steps_of(spread: Spread) -> str:
    return f"{spread.median:,.0f} ({spread.least:,.0f} to {spread.most:,.0f})"


def _shown(stored: dict[str, Any], columns: Sequence[int]) -> str:
    return markdown([_HEADS[i] for i in columns], [[row[i] for i in columns] for row in rows(stored)])


def module_tables(stored: dict[str, Any]) -> Mapping[str, str]:
    """The parts that a benchmark of the module of the page decides, likewise."""
    return {
        "module machine": tables(stored)["machine"],
        "module": _shown(stored, _GIVEN["of_module"]),
    }


def tables(stored: dict[str, Any]) -> Mapping[str, str]:
    """The parts of docs/performance.md that numbers decide, by the names of their markers."""
    machine = stored["machine"]
    turns = sorted({len(case["pairs"]) for case in stored["cases"].values()})
    how = f"{' or '.join(map(str, turns))} pairs{' of a quick benchmark' if stored['quick'] else ''}"
    made = {
        "machine": f"{how} on {machine['date']}: {machine['processor']}, {machine['processors']} processors, "
        f"{machine['memory']};\n{machine['system']}, rustc {machine['rustc']}, Python {machine['python']}; "
        f"load {machine['load']}.",
        "scenarios": _shown(stored, _GIVEN["on_page"]),
    }
    if "environments" in stored:
        made["environments"] = "\n".join(f"- {line}." for line in _steps(stored))
    if "parallel" in stored:
        made["beside"] = "\n".join(f"- {line}." for line in _facts(stored))
    return made
