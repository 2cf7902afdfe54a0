"""Runs of an algorithm in its roles, and the quantities measured for each seed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bentpipe import _core, measures, stats
from bentpipe.advice.question import RIVALS, Candidate, Question
from bentpipe.advice.schedule import Budget
from bentpipe.result import each_once
from bentpipe.sweeps.case import Case, Key
from bentpipe.sweeps.engine import work_off
from bentpipe.sweeps.execution import Ran

Floats = NDArray[np.float64]

ROLES = ("alone", *RIVALS, "file")
"""The roles in which an algorithm is run."""
REACHED = 0.9
"""Start-up is over when goodput reaches this share of its mean over the second half of the run."""
STEADY = 0.5
"""Long-run quantities are measured after this share of the run."""
_END = (1.0 - STEADY) / 5

FILE_S = 300.0
"""A file that takes longer is not finished: its time is missing."""


class Wanted(NamedTuple):
    """A run: its algorithm, its role, and the number of its seed."""

    candidate: Candidate
    role: str
    n: int


@dataclass
class Trials:
    """The measurements of one algorithm, by quantity: the value of seed 0 first, NaN where there is none.

    Quantities, in SI units. After start-up, that is over the second half of the run (the whole run, if the
    flows do not have data all the time): goodput_bps (all of its flows together), queue_p50_s and queue_p95_s
    (RTT over the least of that seed), own_loss (dropped at a queue, of arrivals there). Over the whole run:
    jain (between its flows), loss (lost of sent data packets), resent (retransmitted, of sent), startup_s. Of
    a file: file_s. Of two flows, after start-up: beside_cubic_bps (its own goodput), cubic_bps (that of the
    rival), beside_reno_bps, reno_bps, worse_bps (the lower of both, mean over the two rivals), harm_cubic
    and harm_reno. Roles may have been run with different numbers of seeds.
    """

    candidate: Candidate
    values: dict[str, list[float]] = field(default_factory=dict)

    def of(self, name: str) -> list[float]:
        """The values of a quantity that are there."""
        return [value for value in self.values.get(name, []) if not math.isnan(value)]

    def mean(self, name: str) -> float:
        """The mean of a quantity, NaN if it was never measured."""
        known = self.of(name)
        return math.fsum(known) / len(known) if known else math.nan


def comparable(known: Mapping[str, Trials], question: Question) -> dict[str, Trials]:
    """The same with values whose means can be compared.

    Over measured links each run is over another possible link, and a mean of bits per second would follow the
    fastest links. So goodputs become shares of each link's rate.
    """
    rates = [draw.rate_bps for draw in question.draws]
    if not rates:
        return dict(known)
    return {
        cc: Trials(
            one.candidate,
            {
                name: [value / rates[n % len(rates)] for n, value in enumerate(values)]
                if name.endswith("_bps")
                else values
                for name, values in one.values.items()
            },
        )
        for cc, one in known.items()
    }


def run_all(
    question: Question,
    wanted: Sequence[Wanted],
    run_s: float,
    budget: Budget,
    *,
    needed: int = 0,
    progress: Callable[[int], None] | None = None,
) -> tuple[dict[Wanted, dict[str, float]], bool]:
    """Makes these runs and measures them; also returns whether the user interrupted.

    Args:
        question: the question.
        wanted: the runs.
        run_s: simulated seconds of a run; the file has more if it needs them.
        budget: charged with their work; if it is late, the finished runs are returned.
        needed: this number of the first runs is made however late it is.
        progress: called with the number of runs that are done.

    Raises:
        ControllerError: an algorithm failed.
    """
    cases = [_case(question, one, run_s) for one in wanted]
    found: dict[Wanted, dict[str, float]] = {}
    try:
        if progress is not None:
            progress(0)
        with closing(work_off(cases, range(len(cases)))) as runs:
            for some in runs:
                for ran in some:
                    one = wanted[ran.number]
                    if ran.error is not None:
                        raise _core.ControllerError(f"{one.candidate.label} failed: {ran.error}")
                    found[one] = measured(question, one.role, ran)
                    budget.spend(ran.result["packets"])
                if progress is not None and some:
                    progress(len(found))
                if budget.late and all(one in found for one in wanted[:needed]):
                    break
    except KeyboardInterrupt:
        return found, True
    return found, False


def measured(question: Question, role: str, ran: Ran) -> dict[str, float]:
    """The measurements of a run; in the role "alone" also rtt_min_s, rtt_p50_s and rtt_p95_s."""
    result = ran.result
    match role:
        case "alone":
            return _alone(question, result, ran.trace, ran.link_trace)
        case "file":
            done = each_once(result["flows"])[0]["completion_s"]
            return {"file_s": math.nan if done is None else done}
        case _:
            own, other = _pair(result, ran.trace)
            return {f"beside_{role}_bps": own, f"{role}_bps": other}


def harm(trials: Mapping[str, Trials]) -> None:
    """Adds the effect of each algorithm on a CUBIC and on a Reno flow beside it, seed by seed.

    Harm is the share that the rival loses against what it has beside its own kind, at least 0: R. Ware,
    M. K. Mukerjee, S. Seshan, J. Sherry: Beyond Jain's Fairness Index: Setting the Bar For The Deployment of
    Congestion Control Algorithms, HotNets 2019, section 4.
    """
    for rival in RIVALS:
        usual = trials[rival].values.get(f"{rival}_bps", [])
        for one in trials.values():
            beside = one.values.get(f"{rival}_bps", [])
            one.values[f"harm_{rival}"] = [
                max(0.0, 1 - got / own) if own > 0 else math.nan
                for got, own in zip(beside, usual, strict=False)
            ]


def startup(t: Floats, delivered: Floats, rtt_s: float) -> float:
    """Seconds until goodput is at its final level: `REACHED` of its mean over the second half of the run.

    Goodput is averaged over two round trips, because acknowledgements come in bursts. NaN if it never is.

    Args:
        t: instants of the trace, seconds.
        delivered: bytes delivered until then, of all flows.
        rtt_s: the round-trip time without queues.
    """
    if len(t) < 3 or not rtt_s > 0:
        return math.nan
    wanted = REACHED * steady_goodput(t, delivered) / 8
    if not wanted > 0:
        return math.nan
    window = max(2 * rtt_s, 2 * float(t[1] - t[0]))
    ends = t[t >= window]
    rates = (np.interp(ends, t, delivered) - np.interp(ends - window, t, delivered)) / window
    reached = np.flatnonzero(rates >= wanted)
    return float(ends[reached[0]]) if reached.size else math.nan


def steady_goodput(t: Floats, delivered: Floats) -> float:
    """Bits per second after start-up: over the run after its first `STEADY`. 0 without a trace.

    Bytes behind a hole are delivered at once when it is filled, which may move a round trip's worth over
    either end. So the mean of the first fifth of that time is compared with the mean of the last.

    Args:
        t: instants of the trace, seconds.
        delivered: bytes delivered until then, of all flows.
    """
    if len(t) < 2:
        return 0.0
    end = float(t[-1])
    first = (t >= STEADY * end) & (t <= (STEADY + _END) * end)
    last = t >= (1.0 - _END) * end
    span = float(t[last].mean() - t[first].mean())
    return 8 * float(delivered[last].mean() - delivered[first].mean()) / span if span > 0 else 0.0


def _case(question: Question, one: Wanted, run_s: float) -> Case:
    match one.role:
        case "alone":
            scenario = question.alone(one.candidate, one.n, run_s)
        case "file":
            scenario = question.file(one.candidate, one.n, max(run_s, FILE_S))
        case _:
            scenario = question.beside(one.candidate, one.role, one.n, run_s)
    keys: dict[str, Key] = {"algorithm": one.candidate.id, "role": one.role}
    controllers: Any = scenario.controllers()
    return Case(keys, scenario.to_dict(), keep_trace=one.role != "file", controllers=controllers)


def _alone(
    question: Question,
    result: Mapping[str, Any],
    trace: pl.DataFrame | None,
    link_trace: pl.DataFrame | None,
) -> dict[str, float]:
    count = 1 if question.whole else question.flows
    flows = each_once(result["flows"])[:count]
    lost, resent = measures.lost(flows), measures.resent(flows)
    rows = _rows_of(trace, [f["name"] for f in flows])
    t, delivered = _delivered(rows)
    rtt_min_s = least_rtt_s(result)
    begin = STEADY if question.endless else 0.0
    trips = _after(rows, begin)["rtt_s"].drop_nans().drop_nulls().to_numpy() if rows.height else np.empty(0)
    whole = math.fsum(f["goodput_bps"] for f in flows)
    return {
        "goodput_bps": steady_goodput(t, delivered) if question.endless else whole,
        "jain": stats.jain(f["goodput_bps"] for f in flows),
        "rtt_min_s": rtt_min_s,
        "rtt_p50_s": float(np.percentile(trips, 50)) if trips.size else math.nan,
        "rtt_p95_s": float(np.percentile(trips, 95)) if trips.size else math.nan,
        "loss": math.nan if lost is None else lost,
        "own_loss": _own_loss(question, link_trace, begin),
        "resent": math.nan if resent is None else resent,
        "startup_s": startup(t, delivered, rtt_min_s),
    }


def _rows_of(trace: pl.DataFrame | None, names: Sequence[str]) -> pl.DataFrame:
    """The rows of a trace that are of these flows."""
    if trace is None or trace.height == 0:
        return pl.DataFrame()
    return trace.filter(pl.col("flow").is_in(list(names)))


def _after(rows: pl.DataFrame, share: float) -> pl.DataFrame:
    """The rows after this share of the run."""
    return rows.filter(pl.col("t_s") >= share * pl.col("t_s").max())


def _delivered(rows: pl.DataFrame) -> tuple[Floats, Floats]:
    """Instants of a trace, and the bytes that its flows have delivered by then."""
    if rows.height == 0:
        return np.empty(0), np.empty(0)
    together = rows.group_by("t_s").agg(pl.col("delivered_bytes").sum()).sort("t_s")
    return together["t_s"].to_numpy(), together["delivered_bytes"].to_numpy().astype(float)


def _own_loss(question: Question, links: pl.DataFrame | None, begin: float) -> float:
    """Drops at queues after this share of the run, as a share of arrivals at the busiest queue."""
    if links is None or links.height == 0:
        return math.nan
    names = ["/".join(direction) for direction in question.crossed]
    rows = _after(links.filter(pl.col("link").is_in(names)), begin).sort("t_s")
    span = rows.group_by("link").agg(
        (pl.col(name).last() - pl.col(name).first()).cast(pl.Float64).alias(name)
        for name in ("delivered_packets", "dropped_packets", "dropped_queue")
    )
    came = (span["delivered_packets"] + span["dropped_packets"]).max()
    return float(span["dropped_queue"].sum()) / came if isinstance(came, float) and came > 0 else 0.0


def _pair(result: Mapping[str, Any], trace: pl.DataFrame | None) -> tuple[float, float]:
    """Goodput after start-up of the flow that is asked about, and of its rival."""
    by_name = {
        f["name"].removesuffix(f"/{f['half']}"): steady_goodput(*_delivered(_rows_of(trace, [f["name"]])))
        for f in each_once(result["flows"])
    }
    return by_name["asked"], by_name["rival"]


def least_rtt_s(result: Mapping[str, Any]) -> float:
    """The least round-trip time that a flow of a run saw, seconds; NaN if nothing came back."""
    return min((f["rtt_min_s"] for f in each_once(result["flows"]) if f["rtt_min_s"]), default=math.nan)
