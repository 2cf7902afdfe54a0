"""The same link under several algorithms: which was faster, and what limited the others."""

from __future__ import annotations

import copy
import dataclasses
import math
import tomllib
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from bentpipe import _core, measures, stats
from bentpipe.controller import named_algorithm
from bentpipe.document.plain import is_datagrams
from bentpipe.document.relays import BUFFER, NONE, listed, relay_of
from bentpipe.document.spans import LinkSpec
from bentpipe.models import BitError, Flow, Link, PacketError, Record
from bentpipe.registry import find
from bentpipe.result import LIMITS, Result, each_once
from bentpipe.runs import run_many
from bentpipe.scenario import Scenario
from bentpipe.sweeps.case import Case
from bentpipe.sweeps.engine import Interrupted
from bentpipe.sweeps.execution import Executor, Ran
from bentpipe.sweeps.fingerprint import RowKeys
from bentpipe.sweeps.kept import Row
from bentpipe.sweeps.lab import Lab
from bentpipe.sweeps.vary import words
from bentpipe.terminal.progress import State
from bentpipe.units import seconds, spaced

SEEDS = 5
"""Runs of each algorithm unless the caller says otherwise."""
MOST_RUNS = 1_000_000
"""Runs of one comparison; all scenarios are in memory at once."""
ROWS = 1000
"""Rows of a traced run: more than a figure has columns of pixels for each of its lines."""

Relays = str | Mapping[str, Any] | Sequence[str | Mapping[str, Any]]
"""A relay or several: keys of a flow's `relay`, or text as `relays.relay_of` and `relays.listed` read it."""

if TYPE_CHECKING:
    import polars as pl


@dataclass
class Comparison:
    """The result of a comparison.

    Attributes:
        rows: one for each algorithm (and relay) with a finished run, as `compare` has them.
        warnings: the simulator's warnings on the runs, each line once.
        failed: for each algorithm with runs that failed, its label and the error of the first.
        stopped: whether the user stopped it before all runs were done.
        notes: why rows are alike, and which part of a time line was not played.
    """

    rows: list[dict[str, Any]]
    warnings: list[str]
    failed: dict[str, str]
    stopped: bool = False
    notes: list[str] = field(default_factory=list)

    def frame(self) -> pl.DataFrame:
        """The rows as the frame that `compare` returns."""
        import polars as pl

        ends = ("goodput_low_bps", "goodput_high_bps", "completion_s", "completed")
        types: dict[str, Any] = {"relay": pl.String, "group": pl.Int64, **dict.fromkeys(ends, pl.Float64)}
        return pl.DataFrame(self.rows, infer_schema_length=None, schema_overrides=types)


class ComparisonStopped(Interrupted):
    """The user interrupted a comparison.

    Attributes:
        found: the finished part, a `Comparison`.
    """

    def __init__(self, message: str, found: Comparison) -> None:
        super().__init__(message)
        self.found = found


def compare(
    link: str | Path | Link | Scenario | None,
    cc: Sequence[Any],
    *,
    whole: bool = False,
    rate: str | None = None,
    rtt: str | None = None,
    ber: float | None = None,
    per: float | None = None,
    buffer: str | None = None,
    timeline: str | Path | None = None,
    flows: int = 1,
    relay: Relays | None = None,
    duration: str | None = None,
    seeds: int = SEEDS,
    seed: int = 1,
    threads: int = 0,
    progress: Callable[[int, int], None] | None = None,
    cache: str | Path | None = None,
    fresh: bool = False,
    executor: Callable[[], Executor] | None = None,
) -> pl.DataFrame:
    """Runs each algorithm alone on the same link and gives one row for each, the fastest group first.

    Args:
        link: a link, a scenario that comes with the package ("geo"), or a file. Of a scenario, its links
            and its unresponsive traffic are kept, and its first other flow is the model for the flows that
            are compared. None: `rate` and `rtt` say all.
        cc: names of algorithms, also with parameters ("vegas path_change=reset"), "FILE.py:CLASS",
            `Controller` subclasses, or names with parameters as in `Flow`.
        whole: play the scenario as it is, with all its flows. Its first flow with a controller takes each
            algorithm in turn, and the rows describe that flow. Only relay and duration may be changed.
        rate: instead of the link's own, "10 Mbit/s".
        rtt: round-trip propagation delay instead of the link's own, "600 ms"; half of it each way.
        ber: bit error rate instead of the link's own losses.
        per: packet error rate instead of the link's own losses.
        buffer: limit of the queue in the forward direction, "1 bdp", "432 packets", "4 s"; or each of several
            in turn: "0.1 bdp, 0.5 bdp, 2 bdp".
        timeline: a file with the link's rate, delay and losses over time (docs/timeline.md), as `bentpipe
            orbit path`, `weather` and `timeline import` write. Quantities without a column stay as they are.
        flows: number of flows of the algorithm at once.
        relay: instead of that of the first flow, or each of several in turn: "none, hybla, cubic" is no
            relay, and relays that send with Hybla and with CUBIC; `relays.relay_of` describes the other
            forms.
        duration: simulated time, "120 s".
        seeds: runs per algorithm, with seeds `seed`, `seed` + 1 and so on.
        seed: the first seed.
        threads: 0 for one per processor.
        progress: called with the number of runs done and the number of all runs.
        cache: a folder for the runs. Those that are there are not made again: the same call goes on after a
            stop, and one for more algorithms or seeds makes the further runs alone.
        fresh: forget the runs that are there.
        executor: makes the executor of the runs, in place of this machine.

    Returns:
        A frame with the columns label, cc; relay, the algorithm with which the relay sends on (null if
        there is none); buffer, if there are several; flows, runs; group, 1 for the fastest and all that do
        not differ from it at 95 % confidence (`bentpipe.stats.groups`), null for one run and where nothing
        is random; goodput_bps (of all flows together) with the ends of its 95 % confidence interval,
        goodput_low_bps and goodput_high_bps (null for one run); utilisation of the busiest direction that
        data crosses, the bits sent in those that its rate allowed while it was up, and up, the share of the
        run in which it was; rtt_p50_s and rtt_p95_s (means over flows and runs); loss (lost of sent data
        packets), lossy (whether that exceeds `measures.LOSSY`), retransmitted (of sent); timeouts (per
        run); jain (fairness between the flows); completion_s, the mean time of transfers of a size that
        were completed (of an application's transfers, their mean), and completed, their share (null if the
        flows have no size); and limited_cwnd and so on, the shares of time that each limit held the flows
        back.

    Raises:
        ScenarioError: the link, an algorithm or a value is wrong.
        ControllerError: a controller written in Python failed.
        ComparisonStopped: the user stopped it; it contains the finished runs.
    """
    found = run_comparison(
        link, cc, LinkSpec(rate, rtt, ber, per, buffer, timeline), whole=whole, flows=flows, relay=relay,
        duration=duration, seeds=seeds, seed=seed, threads=threads,
        progress=None if progress is None else lambda state: progress(state.done, state.total),
        cache=cache, fresh=fresh, executor=executor,
    )  # fmt: skip
    for label, error in found.failed.items():
        raise _core.ControllerError(f"{label}: {error}")
    return found.frame()


def run_comparison(
    link: str | Path | Link | Scenario | None,
    cc: Sequence[Any],
    spec: LinkSpec = LinkSpec(),  # noqa: B008
    *,
    whole: bool = False,
    flows: int = 1,
    relay: Relays | None = None,
    duration: str | None = None,
    seeds: int = SEEDS,
    seed: int = 1,
    threads: int = 0,
    progress: Callable[[State], None] | None = None,
    cache: str | Path | None = None,
    fresh: bool = False,
    executor: Callable[[], Executor] | None = None,
    traced: dict[str, Result] | None = None,
) -> Comparison:
    """`compare`, with warnings, failures and notes; a controller that fails does not stop the others.

    If `traced` is given, the first run of each row is put there under its label (and its relay, if there are
    several). It is made on this machine, and not kept. Its flows and links are recorded `ROWS` times over
    the run, for `bentpipe.plot.over_path`.
    """
    if isinstance(cc, str):
        cc = algorithms(cc)
    for value, what in ((flows, "flows"), (seeds, "seeds"), (len(cc), "cc")):
        if value < 1:
            raise _core.ScenarioError(f"{what}: at least 1 is needed")
    if seed + seeds > 2**64:
        raise _core.ScenarioError(f"seed: too large; {seeds} seeds from {seed} on do not fit 64 bits")
    base, model = base_and_model(_of_values(spec) if link is None else link, whole=whole)
    rooms: list[str | None] = [None] if spec.buffer is None else _listed_buffers(spec.buffer)
    if whole:
        wrong = [*spec.given, *["flows"] * (flows != 1)]
        if wrong:
            raise _core.ScenarioError(f"{wrong[0]}: a scenario is played as it stands; compare on its link")
        flows = model.count or 1
    bases = [dataclasses.replace(base, links=copy.deepcopy(base.links)) for _ in rooms]
    for one, room in zip(bases, rooms, strict=True):
        change(one, dataclasses.replace(spec, buffer=room))
    base = bases[0]
    if duration is not None:
        for one in bases:
            one.duration = spaced(duration)
    ways = [model.relay] if relay is None else relays(relay, model)
    count = len(cc) * len(ways) * len(rooms)
    if seeds * count > MOST_RUNS:
        raise _core.ScenarioError(f"seeds: {seeds} for each of {count} is more than {MOST_RUNS} runs")
    name = flow_name(model, base.flows) if whole else "compared"
    model = dataclasses.replace(model, count=flows, name=name)
    contenders = [
        _Contender(algorithm, way, ways, room, len(rooms) > 1)
        for room in rooms for algorithm in map(named_algorithm, cc) for way in ways
    ]  # fmt: skip
    scenarios = [
        dataclasses.replace(on, flows=[dataclasses.replace(model, cc=one.cc, relay=one.relay), *on.flows])
        for one in contenders for on in [bases[rooms.index(one.buffer)]]
    ]  # fmt: skip
    cases = [case for scenario in scenarios for case in _cases(scenario, seeds, seed)]
    place = None if cache is None else Path(cache)
    with Lab(place, workers=threads, executor=executor, progress=progress, fresh=fresh) as lab:
        made = lab.rows(cases, _answer, key=RowKeys(_answer).of(cases))
    results = [made.rows.get(number) for number in range(len(cases))]
    found = _found(contenders, results, flows, seeds, stopped=made.stopped)
    found.notes += _played_in_part(base)
    for number, error in sorted(made.failed.items()):
        found.failed.setdefault(contenders[number // seeds].title, error)
    if made.stopped:
        done = sum(row["runs"] for row in found.rows)
        raise ComparisonStopped(f"{done} of {len(cases)} runs were done", found)
    if traced is not None:
        record = Record(f"{seconds(base.duration, 'duration') / ROWS} s", links=True)
        first = [dataclasses.replace(scenario, seed=seed, record=record) for scenario in scenarios]
        traced.update(zip((one.title for one in contenders), run_many(first, threads), strict=True))
    return found


@dataclass(frozen=True)
class _Contender:
    """The subject of a row: an algorithm of the sender, a relay or None, and all relays of the comparison.

    Also its buffer, if one is given, and whether there are several.
    """

    cc: Any
    relay: dict[str, Any] | None
    ways: Sequence[dict[str, Any] | None]
    buffer: str | None = None
    by_buffer: bool = False

    @property
    def named(self) -> dict[str, Any]:
        """The columns of the row that identify its subject."""
        room = {"buffer": self.buffer} if self.by_buffer else {}
        return {**_named(self.cc), "relay": self._sends_on, **room}

    @property
    def title(self) -> str:
        """Its name in a legend."""
        label: str = _named(self.cc)["label"]
        label += "" if len(self.ways) == 1 else f", relay {self._sends_on or NONE}"
        return f"{label}, buffer {self.buffer}" if self.by_buffer else label

    @property
    def _sends_on(self) -> str | None:
        """The algorithm behind the relay, with place and buffer if only they distinguish it from another."""
        if self.relay is None:
            return None
        label: str = _named(self.relay.get("cc", self.cc))["label"]
        alike = [way for way in self.ways if way is not None and way.get("cc") == self.relay.get("cc")]
        return label if len(alike) == 1 else f"{label} at {self.relay['at']}, {self.relay['buffer']}"


def relays(given: Relays, flow: Flow) -> list[dict[str, Any] | None]:
    """The value of `Flow.relay` for each of the relays; None for "none".

    Args:
        given: as `compare` has it.
        flow: the flow of the path, whose own relay fills in missing keys.

    Raises:
        ScenarioError: a text is not understood, an algorithm is unknown, or one relay is there twice.
    """
    several = listed(given) if isinstance(given, str) else [given] if isinstance(given, Mapping) else given
    found: list[dict[str, Any] | None] = []
    for one in several:
        way = (
            relay_of(one, flow.relay, flow.path or ()) if isinstance(one, str) else {"buffer": BUFFER, **one}
        )
        if way is not None and "cc" in way:
            way["cc"] = named_algorithm(way["cc"])
            if isinstance(way["cc"], type):
                raise _core.ScenarioError("relay: a controller in Python cannot send on; name one of ours")
        if way in found:
            raise _core.ScenarioError(f"relay: {one} is there twice")
        found.append(way)
    return found


def _cases(scenario: Scenario, seeds: int, first: int) -> list[Case]:
    """The runs of one algorithm; its scenario is checked."""
    controllers: dict[str, Any] = dict(scenario.controllers())
    scenario.check()
    table = scenario.to_dict()
    return [Case({}, {**table, "seed": first + n}, controllers=controllers) for n in range(seeds)]


def _found(
    contenders: Sequence[_Contender],
    results: Sequence[Mapping[str, Any] | None],
    flows: int,
    seeds: int,
    *,
    stopped: bool,
) -> Comparison:
    """The rows of all algorithms with a finished run, the fastest group first."""
    runs = [[r for r in results[i * seeds :][:seeds] if r is not None] for i in range(len(contenders))]
    warnings = dict.fromkeys(text for r in results if r is not None for text in r["warnings"])
    rows = {i: {**contenders[i].named, **_row(of, flows)} for i, of in enumerate(runs) if of}
    goodputs = {str(i): [_goodput(r, flows) for r in runs[i]] for i in rows}
    paired = len({len(sample) for sample in goodputs.values()}) == 1
    groups = stats.groups(goodputs, paired=paired) if stats.random_in(goodputs) else []
    for place, group in enumerate(groups, 1):
        for i in map(int, group):
            rows[i]["group"] = place
    ordered = sorted(rows.values(), key=lambda row: (row["group"] or 0, -row["goodput_bps"]))
    fixed = [rows[i] for i, one in enumerate(contenders) if i in rows and "cc" in (one.relay or {})]
    return Comparison(ordered, list(warnings), {}, stopped, _why_alike(fixed))


def _played_in_part(base: Scenario) -> list[str]:
    """A line for each time line that the runs play only in part."""
    moving = {name: link.timeline for name, link in base.links.items() if link.timeline is not None}
    if not moving:
        return []
    from bentpipe.timeline.measures import lasts

    run_s = seconds(base.duration, "duration")
    found = []
    for name, line in moving.items():
        line_s = lasts(line)
        if line_s is not None and line_s > run_s:
            found.append(
                f"Only the first {run_s:g} s of the {line_s:g} s of the time line of {name} are played; "
                f'--for "{line_s:g} s" plays all of it.'
            )
    return found


def _why_alike(rows: Sequence[dict[str, Any]]) -> list[str]:
    """One line if no algorithm of the sender makes a difference of 0.1 % with a relay of the comparison.

    Args:
        rows: those whose relay sends with an algorithm of its own.
    """
    names = []
    for name in dict.fromkeys(row["relay"] for row in rows):
        goodputs = [row["goodput_bps"] for row in rows if row["relay"] == name]
        if len(goodputs) > 1 and max(goodputs) - min(goodputs) <= 1e-3 * max(goodputs):
            names.append(name)
    if not names:
        return []
    senders = ",".join(dict.fromkeys(row["cc"] for row in rows))
    return [
        "The relay ends the sender's connection, and the half behind it runs "
        f"{' or '.join(names)} in all of these rows, which is why they are alike. "
        f"--relay {senders} (in a file: relay.cc of the flow) compares algorithms there."
    ]


def algorithms(text: str) -> list[str | dict[str, Any]]:
    """The algorithms of a list with commas between: names, "FILE.py:CLASS", and TOML tables with parameters.

    For example "cubic, vegas alpha=2, { name = 'simd', beta = 0.0625 }".

    Raises:
        ScenarioError: a table is not TOML, or has no name.
    """
    return [_algorithm(part) for part in _parts(text) if part]


def _parts(text: str) -> Iterable[str]:
    """Splits at commas outside braces."""
    depth, part = 0, ""
    for character in text:
        depth += {"{": 1, "}": -1}.get(character, 0)
        if character == "," and depth <= 0:
            yield part.strip()
            part = ""
        else:
            part += character
    yield part.strip()


def _algorithm(part: str) -> str | dict[str, Any]:
    if not part.startswith("{"):
        return part
    try:
        table: dict[str, Any] = tomllib.loads(f"cc = {part}")["cc"]
    except tomllib.TOMLDecodeError:
        table = {}
    if not isinstance(table.get("name"), str):
        raise _core.ScenarioError(f'cc: {part!r}: write a table such as {{ name = "simd", beta = 0.0625 }}')
    return table


def _named(algorithm: Any) -> dict[str, Any]:
    """The columns that identify the algorithm of a row."""
    if isinstance(algorithm, type):
        return {"label": algorithm.__name__, "cc": algorithm.__name__}
    name, *given = words(algorithm).split(" ")
    return {"label": " ".join([find(name)["label"], *given]), "cc": name}


def half_given(names: Container[str]) -> str:
    """The message about a link that has only a rate or only a round trip."""
    there, lacks = ("rate", "rtt") if "rate" in names else ("rtt", "rate")
    example = {"rate": "20 Mbit/s", "rtt": "600 ms"}[lacks]
    return f'{there} alone is no link; add its {lacks}, for example "{example}"'


def _of_values(spec: LinkSpec) -> Link:
    """A link that gets its rate and its round trip from `spec`.

    Raises:
        ScenarioError: one of the two is missing.
    """
    there = {"rate", "rtt"}.intersection(spec.given)
    if not there:
        raise _core.ScenarioError(
            'say which link: link ("geo", or a file), scenario (a file), or rate ("20 Mbit/s") with rtt '
            '("600 ms")'
        )
    if len(there) == 1:
        raise _core.ScenarioError(half_given(there))
    return Link(rate="1 Mbit/s", delay="1 ms")


def base_and_model(link: str | Path | Link | Scenario, *, whole: bool = False) -> tuple[Scenario, Flow]:
    """The scenario without the flows to compare, and the flow that they are modelled on.

    Args:
        link: as for `compare`.
        whole: keep all flows but the first with a controller; otherwise only traffic without controllers.

    Raises:
        ScenarioError: there is no such scenario, or it is wrong.
    """
    if isinstance(link, Link):
        return Scenario(links={"link": dataclasses.replace(link)}), Flow(path=["link"])
    base = dataclasses.replace(Scenario.of(link))
    base.record = None
    kept: list[Flow] = []
    model: Flow | None = None
    for flow in base.flows:
        if is_datagrams(flow.traffic):
            kept.append(flow)
        elif model is None:
            model = flow
        elif whole:
            kept.append(flow)
    base.flows = kept
    return base, model or Flow(path=list(base.links))


def flow_name(model: Flow, others: Sequence[Flow]) -> str:
    """The name of the compared flows: one name, so that all algorithms meet the same random numbers.

    It is that of the scenario if no other flow has it.
    """
    own = _own_name(model)
    return own if own and own not in map(_own_name, others) else "compared"


def _own_name(flow: Flow) -> str | None:
    """The name of a flow, or the algorithm by which the simulator calls it."""
    cc = flow.cc
    algorithm = cc.__name__ if isinstance(cc, type) else cc.get("name") if isinstance(cc, dict) else cc
    return flow.name or (None if algorithm is None else str(algorithm).removeprefix("python:"))


def change(base: Scenario, spec: LinkSpec) -> None:
    """Gives the values to the only link of a scenario.

    Raises:
        ScenarioError: it has several links, or a time line that has the value already.
    """
    if not spec.given:
        return
    if len(base.links) != 1:
        names = ", ".join(base.links)
        raise _core.ScenarioError(
            f"rate, rtt, ber, per, buffer and timeline need a scenario of one link, but this one has {names}"
        )
    (link,) = base.links.values()
    reverse = dict(link.reverse or {})
    if link.timeline is not None and (spec.rate is not None or spec.rtt is not None):
        raise _core.ScenarioError(
            "rate and rtt would not replace those of the link's time line; leave them out"
        )
    if spec.rate is not None:
        link.rate = spaced(spec.rate)
    if spec.rtt is not None:
        link.delay = f"{round(seconds(spec.rtt, 'rtt') * 1e9 / 2)} ns"
        link.from_ = link.to = link.satellite = None
        for key in ("delay", "from", "to", "satellite"):
            reverse.pop(key, None)
    if spec.buffer is not None:
        link.queue = {"kind": "drop-tail", "limit": spaced(spec.buffer)}
    if spec.ber is not None or spec.per is not None:
        errors = ((BitError, spec.ber), (PacketError, spec.per))
        link.loss = [model(rate) for model, rate in errors if rate is not None]
    if spec.timeline is not None:
        from bentpipe.timeline.measures import nominal

        link.timeline = str(Path(spec.timeline).resolve())
        link.nominal = nominal(link.timeline) or link.nominal
    link.reverse = reverse or None


def _listed_buffers(text: str) -> list[str | None]:
    """The buffers of a list with commas between.

    Raises:
        ScenarioError: one is there twice, or one is empty.
    """
    found = [spaced(part) for part in text.split(",")]
    for place, one in enumerate(found):
        if not one.strip() or one in found[:place]:
            what = f"{one} is there twice" if one.strip() else f"{text!r} has an empty part"
            raise _core.ScenarioError(f'buffer: {what}; write for example "0.5 bdp, 2 bdp"')
    return list(found)


def _compared(result: Mapping[str, Any], flows: int) -> list[dict[str, Any]]:
    """The flows that are compared, each once: parts of one do not count beside the whole."""
    rows = each_once(result["flows"])
    return rows[: 2 * flows if rows[0]["name"].endswith("/there") else flows]


def _goodput(result: Mapping[str, Any], flows: int) -> float:
    return math.fsum(f["goodput_bps"] for f in _compared(result, flows))


def _answer(_: Case, ran: Ran) -> Row:
    """The row of a run that is kept: all of its result."""
    return ran.result


def _row(results: Sequence[Mapping[str, Any]], flows: int) -> dict[str, Any]:
    """The numbers of one algorithm from its runs."""
    compared = [_compared(r, flows) for r in results]
    every = [flow for run in compared for flow in run]
    goodput = stats.interval([_goodput(r, flows) for r in results], least=0)
    repeated = goodput.n > 1
    loss = measures.lost(every)
    busiest = [measures.busiest(r["links"]) or {} for r in results]
    ended = [time for f in every for time in (f["completion_s"], f["completion_mean_s"]) if time is not None]
    done = [
        f["completed"] / f["transfers"] if f["transfers"] else f["completion_s"] is not None for f in every
    ]
    return {
        "flows": flows,
        "runs": len(results),
        "group": None,
        "goodput_bps": goodput.centre,
        "goodput_low_bps": goodput.low if repeated else None,
        "goodput_high_bps": goodput.high if repeated else None,
        "utilisation": fmean(link.get("utilisation", 0.0) for link in busiest),
        "up": fmean(
            link["up_s"] / r["simulated_s"] if link else 1.0 for link, r in zip(busiest, results, strict=True)
        ),
        "rtt_p50_s": _mean_of(every, "rtt_p50_s"),
        "rtt_p95_s": _mean_of(every, "rtt_p95_s"),
        "loss": loss,
        "lossy": loss is not None and loss > measures.LOSSY,
        "retransmitted": measures.resent(every),
        "timeouts": sum(f["timeouts"] for f in every) / len(results),
        "jain": fmean(measures.jain(run) for run in compared),
        "completion_s": fmean(ended) if ended else None,
        "completed": fmean(done) if ended else None,
        **{f"limited_{what}": fmean(f["limited"][what] for f in every) for what in LIMITS},
    }


def _mean_of(flows: list[dict[str, Any]], key: str) -> float | None:
    values = [f[key] for f in flows if f[key] is not None]
    return fmean(values) if values else None
