"""The same link under several algorithms: who was faster, and what held the others back."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bentpipe import _core, stats
from bentpipe.controller import load_controller
from bentpipe.models import BitError, Cbr, Model, PacketError, Record
from bentpipe.registry import find
from bentpipe.result import LIMITS, Result
from bentpipe.runs import run_many
from bentpipe.scenario import Flow, Link, Scenario
from bentpipe.units import seconds, spaced

MOST_RUNS = 1_000_000
"""Runs of one comparison; all scenarios are in memory at once."""
ROWS = 1000
"""Rows of a traced run: more than a figure has columns of pixels for each of its lines."""

if TYPE_CHECKING:
    import polars as pl


def compare(
    link: str | Path | Link | Scenario,
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
    duration: str | None = None,
    seeds: int = 1,
    seed: int = 1,
    threads: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> pl.DataFrame:
    """Runs each algorithm alone on the same link and gives one row for each, the fastest first.

    Args:
        link: a link, a scenario that comes with the package ("geo"), or a TOML file. Of a scenario, its links
            and its unresponsive traffic are kept, and its first other flow is the model for the flows that
            are compared.
        cc: names of algorithms, also with parameters ("vegas path_change=reset"), "FILE.py:CLASS",
            `Controller` subclasses, or names with parameters as in `Flow`.
        whole: play the scenario as it stands, with all its flows. Its first flow with a controller takes
            each algorithm in turn and is what the rows are about. Only the duration may be changed.
        rate: instead of the link's own, "10 Mbit/s".
        rtt: round-trip propagation delay instead of the link's own, "600 ms"; half of it each way.
        ber: bit error rate instead of the link's own losses.
        per: packet error rate instead of the link's own losses.
        buffer: limit of the queue in the forward direction, "1 bdp", "432 packets".
        timeline: a file with the link's rate, delay and losses over time (docs/timeline.md), as `bentpipe
            orbit path`, `weather` and `timeline import` write. What it has no column of stays as it is.
        flows: so many flows of the algorithm at once.
        duration: simulated time, "120 s".
        seeds: runs per algorithm, with seeds `seed`, `seed` + 1 and so on.
        seed: the first seed.
        threads: 0 for one per processor.
        progress: called with the number of runs done and the number of all runs.

    Returns:
        A frame with the columns label, cc, flows, runs; goodput_bps (of all flows together) with the
        half-width of its 95 % confidence interval goodput_ci95_bps (null for one run); utilisation of the
        busiest link by delivered bits; rtt_p50_s and rtt_p95_s (means over flows and runs); loss (lost of
        sent data packets), retransmitted (of sent); timeouts (per run); jain (fairness between the flows);
        and limited_cwnd .. limited_timeout, the shares of time that each limit held the flows back.

    Raises:
        ScenarioError: the link, an algorithm or a value is wrong.
    """
    rows = compare_rows(
        link, cc, whole=whole, rate=rate, rtt=rtt, ber=ber, per=per, buffer=buffer, timeline=timeline,
        flows=flows, duration=duration, seeds=seeds, seed=seed, threads=threads, progress=progress,
    )  # fmt: skip
    return to_frame(rows)


def to_frame(rows: list[dict[str, Any]]) -> pl.DataFrame:
    """The frame that `compare` returns, from the rows of `compare_rows`."""
    import polars as pl

    return pl.DataFrame(rows, infer_schema_length=None, schema_overrides={"goodput_ci95_bps": pl.Float64})


def compare_rows(
    link: str | Path | Link | Scenario,
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
    duration: str | None = None,
    seeds: int = 1,
    seed: int = 1,
    threads: int = 0,
    progress: Callable[[int, int], None] | None = None,
    traced: dict[str, Result] | None = None,
) -> list[dict[str, Any]]:
    """`compare` as a list of dicts, for callers that need no frame.

    If `traced` is given, the first run of each algorithm is put there under its label. Its flows and links
    are recorded `ROWS` times over the run, for `bentpipe.plot.over_path`.
    """
    if isinstance(cc, str):
        cc = [cc]
    for value, what in ((flows, "flows"), (seeds, "seeds"), (len(cc), "cc")):
        if value < 1:
            raise _core.ScenarioError(f"{what}: at least 1 is needed")
    if seeds * len(cc) > MOST_RUNS:
        raise _core.ScenarioError(f"seeds: {seeds} for each of {len(cc)} is more than {MOST_RUNS} runs")
    algorithms = [named_algorithm(a) for a in cc]
    base, model = _base(link, whole=whole)
    given = {"rate": rate, "rtt": rtt, "ber": ber, "per": per, "buffer": buffer, "timeline": timeline}
    changed = [name for name, value in given.items() if value is not None]
    if whole:
        wrong = [*changed, *["flows"] * (flows != 1)]
        if wrong:
            raise _core.ScenarioError(f"{wrong[0]}: a scenario is played as it stands; compare on its link")
        flows = model.count or 1
    if changed:
        _change(base, rate=rate, rtt=rtt, ber=ber, per=per, buffer=buffer, timeline=timeline)
    if duration is not None:
        base.duration = spaced(duration)
    others = base.flows
    record = None if traced is None else Record(f"{seconds(base.duration, 'duration') / ROWS} s", links=True)
    scenarios = []
    for algorithm, n in itertools.product(algorithms, range(seeds)):
        flow = dataclasses.replace(model, cc=algorithm, count=flows, name="compared")
        recorded = record if n == 0 else None
        scenarios.append(dataclasses.replace(base, flows=[flow, *others], seed=seed + n, record=recorded))
    total = len(scenarios)
    done = run_many(
        scenarios, threads, progress=None if progress is None else lambda count: progress(count, total)
    )
    rows = []
    for i, algorithm in enumerate(algorithms):
        named, runs = _named(algorithm), done[i * seeds : (i + 1) * seeds]
        if traced is not None:
            traced[named["label"]] = runs[0]
        rows.append({**named, **_row(runs, flows)})
    return sorted(rows, key=lambda row: -row["goodput_bps"])


def named_algorithm(given: Any) -> Any:
    """What to put into `Flow.cc` for one of the algorithms to compare."""
    if isinstance(given, str) and ":" in given and not given.startswith("python:"):
        return load_controller(given)
    if isinstance(given, str):
        name, *arguments = given.split() or [given]
        known = find(name)["id"]
        return {"name": known, **dict(map(_argument, arguments))} if arguments else known
    return given


def _argument(text: str) -> tuple[str, Any]:
    """Name and value of "NAME=VALUE", one parameter of an algorithm."""
    name, _, value = text.partition("=")
    if not (name and value):
        raise _core.ScenarioError(f"cc: {text!r} is no parameter; write e.g. path_change=reset")
    if value in ("true", "false"):
        return name, value == "true"
    try:
        return name, float(value)
    except ValueError:
        return name, value


def _named(algorithm: Any) -> dict[str, Any]:
    """The columns that say which algorithm a row is about."""
    if isinstance(algorithm, type):
        return {"label": algorithm.__name__, "cc": algorithm.__name__}
    name = algorithm["name"] if isinstance(algorithm, dict) else algorithm
    label = find(name)["label"]
    if isinstance(algorithm, dict) and len(algorithm) > 1:
        label += " " + " ".join(f"{key}={_shown(value)}" for key, value in algorithm.items() if key != "name")
    return {"label": label, "cc": name}


def _shown(value: Any) -> str:
    """A parameter's value as on the command line."""
    return f"{value:.10g}" if isinstance(value, float) else str(value).lower()


def _base(link: str | Path | Link | Scenario, *, whole: bool) -> tuple[Scenario, Flow]:
    """The scenario without the flows to compare, and the flow that they are modelled on."""
    if isinstance(link, Link):
        return Scenario(links={"link": dataclasses.replace(link)}), Flow(path=["link"])
    base = dataclasses.replace(Scenario.of(link))
    base.record = None
    kept: list[Flow] = []
    model: Flow | None = None
    for flow in base.flows:
        if isinstance(flow.traffic, Cbr):
            kept.append(flow)
        elif model is None:
            model = flow
        elif whole:
            kept.append(flow)
    base.flows = kept
    return base, model or Flow(path=list(base.links))


def _change(
    base: Scenario,
    *,
    rate: str | None,
    rtt: str | None,
    ber: float | None,
    per: float | None,
    buffer: str | None,
    timeline: str | Path | None,
) -> None:
    """Puts what the caller asked for in place of the link's own values."""
    if len(base.links) != 1:
        names = ", ".join(base.links)
        raise _core.ScenarioError(
            f"rate, rtt, ber, per, buffer and timeline need a scenario of one link, but this one has {names}"
        )
    (link,) = base.links.values()
    reverse = dict(link.reverse or {})
    if link.timeline is not None and (rate is not None or rtt is not None):
        raise _core.ScenarioError(
            "rate and rtt would not replace those of the link's time line; leave them out"
        )
    if rate is not None:
        link.rate = spaced(rate)
    if rtt is not None:
        link.delay = f"{round(seconds(rtt, 'rtt') * 1e9 / 2)} ns"
        link.from_ = link.to = link.satellite = None
        for key in ("delay", "from", "to", "satellite"):
            reverse.pop(key, None)
    if buffer is not None:
        link.queue = {"kind": "drop-tail", "limit": spaced(buffer)}
    if ber is not None or per is not None:
        losses: list[Model | dict[str, Any]] = []
        if ber is not None:
            losses.append(BitError(ber))
        if per is not None:
            losses.append(PacketError(per))
        link.loss = losses
    if timeline is not None:
        link.timeline = str(Path(timeline).resolve())
    link.reverse = reverse or None


def _row(results: list[Result], flows: int) -> dict[str, Any]:
    """The numbers of one algorithm from its runs."""
    # What the second half of a relayed flow delivers is what the whole flow does.
    compared = [[f for f in r.json["flows"] if f["half"] != "first"][:flows] for r in results]
    every = [flow for run in compared for flow in run]
    goodput = stats.mean(math.fsum(f["goodput_bps"] for f in run) for run in compared)
    sent = sum(f["sent_packets"] for f in every)
    busiest = [
        max((k["utilisation"] for k in r.json["links"] if k["direction"] == "forward"), default=0.0)
        for r in results
    ]
    return {
        "flows": flows,
        "runs": len(results),
        "goodput_bps": goodput.mean,
        "goodput_ci95_bps": None if goodput.n == 1 else goodput.half_width,
        "utilisation": stats.mean(busiest).mean,
        "rtt_p50_s": _mean_of(every, "rtt_p50_s"),
        "rtt_p95_s": _mean_of(every, "rtt_p95_s"),
        "loss": sum(f["dropped_packets"] for f in every) / sent if sent else 0.0,
        "retransmitted": sum(f["retransmitted_packets"] for f in every) / sent if sent else 0.0,
        "timeouts": sum(f["timeouts"] for f in every) / len(results),
        "jain": stats.mean(stats.jain(f["goodput_bps"] for f in run) for run in compared).mean,
        **{f"limited_{what}": stats.mean(f["limited"][what] for f in every).mean for what in LIMITS},
    }


def _mean_of(flows: list[dict[str, Any]], key: str) -> float | None:
    values = [f[key] for f in flows if f[key] is not None]
    return stats.mean(values).mean if values else None
