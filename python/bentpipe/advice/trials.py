"""Runs of an algorithm in its roles, and the quantities measured for each seed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from bentpipe import _core, measures
from bentpipe.advice.judged import STEADY, Floats, JudgedFlows, Traces, after, steady_goodput, traces
from bentpipe.advice.question import RIVALS, Candidate, Question
from bentpipe.advice.schedule import Budget
from bentpipe.result import each_once
from bentpipe.sweeps.case import Case, Key
from bentpipe.sweeps.execution import Ran
from bentpipe.sweeps.fingerprint import RowKeys
from bentpipe.sweeps.kept import Row
from bentpipe.sweeps.lab import Lab

ROLES = ("alone", *RIVALS, "file")
"""The roles in which an algorithm is run."""
CURED = "cured"
"""The role in which CUBIC is run, too, where acknowledgements wait behind data (`Question.blocked`)."""
REACHED = 0.9
"""Start-up is over when goodput reaches this share of its mean over the second half of the run."""
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
    flows do not have data all the time): goodput_bps (all judged flows together), first_flow_bps (those of
    the first, where there are others), queue_p50_s and queue_p95_s (RTT over the least of that seed),
    own_loss (dropped at a queue, of arrivals there). Over the whole run: jain (between the flows), loss (lost
    of sent data packets), resent (retransmitted, of sent), startup_s, bdp_bytes (`JudgedFlows.window` of the
    first flow). Of a file: file_s. Of two flows, after start-up: beside_cubic_bps (its own goodput),
    cubic_bps (that of the rival), beside_reno_bps, reno_bps, worse_bps (the lower of both, mean over the two
    rivals), harm_cubic and harm_reno. Of CUBIC where `Question.blocked` has queues: cured_bps, its
    goodput_bps with other queues there. Roles may have been run with different numbers of seeds.
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
    lab: Lab,
    keys: RowKeys,
    question: Question,
    wanted: Sequence[Wanted],
    run_s: float,
    budget: Budget,
    *,
    needed: int = 0,
    progress: Callable[[int], None] | None = None,
    warn: Callable[[Sequence[str]], None] | None = None,
) -> tuple[dict[Wanted, dict[str, float]], bool]:
    """Makes these runs and measures them; also returns whether the user interrupted.

    Args:
        lab: makes the runs, and keeps their rows if it has a place.
        keys: those of the rows.
        question: the question.
        wanted: the runs.
        run_s: simulated seconds of a run; the file has more if it needs them.
        budget: charged with their work; if it is late, the finished runs are returned.
        needed: this number of the first runs is made however late it is.
        progress: called with the number of runs that are done.
        warn: called with the simulator's warnings on CUBIC's first run alone.

    Raises:
        ControllerError: an algorithm failed.
    """
    cases = [_case(question, one, run_s) for one in wanted]
    found: dict[Wanted, dict[str, float]] = {}
    try:
        if progress is not None:
            progress(0)
        for some in lab.each(cases, partial(_row, question), key=keys.of(cases)):
            for ran in some:
                one = wanted[ran.number]
                if ran.error is not None:
                    raise _core.ControllerError(f"{one.candidate.label} failed: {ran.error}")
                found[one] = dict(ran.measures["values"])
                if warn is not None and (one.candidate.id, one.role, one.n) == ("cubic", "alone", 0):
                    warn(ran.measures["warnings"])
                budget.spend(ran.measures["packets"])
            if progress is not None and some:
                progress(len(found))
            if budget.late and all(one in found for one in wanted[:needed]):
                break
    except KeyboardInterrupt:
        return found, True
    return found, False


def _row(question: Question, case: Case, ran: Ran) -> Row:
    """What is kept of a run: what was measured, its work and its warnings."""
    result = ran.result
    values = measured(question, str(case.keys["role"]), ran)
    return {"values": values, "packets": result["packets"], "warnings": result["warnings"]}


def measured(question: Question, role: str, ran: Ran) -> dict[str, float]:
    """The measurements of a run; in the role "alone" also rtt_min_s, rtt_p50_s and rtt_p95_s."""
    result = ran.result
    trace = traces(ran.trace, "flow", "delivered_bytes", "rtt_s")
    counts = ("delivered_packets", "dropped_packets", "dropped_queue")
    links = traces(ran.link_trace, "link", "rate_bps", *counts)
    match role:
        case "alone":
            return _alone(question, result, trace, links)
        case "cured":
            found = _alone(question, result, trace, links)
            return {"cured_bps": found["goodput_bps"]}
        case "file":
            done = each_once(result["flows"])[0]["completion_s"]
            return {"file_s": math.nan if done is None else done}
        case _:
            own, other = _pair(question, result, trace, links)
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


def startup(t: Floats, came: Floats, rtt_s: float) -> float:
    """Seconds until goodput is at its final level: `REACHED` of its mean over the second half of the run.

    Goodput is averaged over two round trips, because acknowledgements come in bursts. NaN if it never is.

    Args:
        t: instants of the trace, seconds.
        came: bytes that had arrived until then, of all flows.
        rtt_s: the round-trip time without queues.
    """
    if len(t) < 3 or not rtt_s > 0:
        return math.nan
    wanted = REACHED * steady_goodput(t, came) / 8
    if not wanted > 0:
        return math.nan
    window = max(2 * rtt_s, 2 * float(t[1] - t[0]))
    ends = t[t >= window]
    rates = (np.interp(ends, t, came) - np.interp(ends - window, t, came)) / window
    reached = np.flatnonzero(rates >= wanted)
    return float(ends[reached[0]]) if reached.size else math.nan


def _case(question: Question, one: Wanted, run_s: float) -> Case:
    match one.role:
        case "alone":
            scenario = question.alone(one.candidate, one.n, run_s)
        case "cured":
            scenario = question.cured(one.candidate, one.n, run_s)
        case "file":
            scenario = question.file(one.candidate, one.n, max(run_s, FILE_S))
        case _:
            scenario = question.beside(one.candidate, one.role, one.n, run_s)
    keys: dict[str, Key] = {"algorithm": one.candidate.id, "role": one.role}
    controllers: Any = scenario.controllers()
    # What a measure depends on beside the scenario.
    asked: dict[str, Key] = {"whole": question.whole, "endless": question.endless, **vars(question.payload)}
    return Case(
        keys, scenario.to_dict(), keep_trace=one.role != "file", settings=asked, controllers=controllers
    )


def _alone(question: Question, result: Mapping[str, Any], trace: Traces, links: Traces) -> dict[str, float]:
    judged = question.judged(result)
    flows = judged.connections
    lost, resent = measures.lost(flows), measures.resent(flows)
    rows = judged.trace_of(trace)
    t, came = judged.arrivals(rows, links, question.payload)
    rtt_min_s = least_rtt_s(result)
    begin = STEADY if question.endless else 0.0
    waits = judged.waits(after(rows, begin))
    p50_s, p95_s = np.percentile(waits, (50, 95)) if waits.size else (math.nan, math.nan)

    def goodput(some: JudgedFlows) -> float:
        if not question.endless:
            return some.goodput(result["simulated_s"])
        return steady_goodput(*some.arrivals(some.trace_of(trace), links, question.payload))

    first = judged.only(0)
    return {
        "goodput_bps": steady_goodput(t, came) if question.endless else goodput(judged),
        "first_flow_bps": goodput(first) if len(judged.flows) > 1 else math.nan,
        "jain": measures.jain(flows),
        "rtt_min_s": rtt_min_s,
        "rtt_p50_s": rtt_min_s + float(p50_s),
        "rtt_p95_s": rtt_min_s + float(p95_s),
        "loss": math.nan if lost is None else lost,
        "own_loss": judged.own_loss(links, begin),
        "resent": math.nan if resent is None else resent,
        "startup_s": startup(t, came, rtt_min_s),
        "bdp_bytes": first.window(links),
    }


def _pair(question: Question, result: Mapping[str, Any], trace: Traces, links: Traces) -> tuple[float, float]:
    """Goodput after start-up of the flow that is asked about, and of its rival."""
    pair = question.judged_pair(result)
    own, other = (
        steady_goodput(*one.arrivals(one.trace_of(trace), links, question.payload))
        for one in (pair.only(0), pair.only(1))
    )
    return own, other


def least_rtt_s(result: Mapping[str, Any]) -> float:
    """The least round-trip time that a flow of a run saw, seconds; NaN if nothing came back."""
    return min((f["rtt_min_s"] for f in each_once(result["flows"]) if f["rtt_min_s"]), default=math.nan)
