"""The runs of a stage, and what is measured of each algorithm and seed."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bentpipe import _core, stats
from bentpipe.advice.question import RIVALS, Candidate, Question
from bentpipe.result import PARTS
from bentpipe.sweeps.case import Case, Key
from bentpipe.sweeps.engine import work_off
from bentpipe.sweeps.execution import Ran

Floats = NDArray[np.float64]

ROLES = ("alone", *RIVALS, "file")
"""What an algorithm is run for."""
REACHED = 0.9
"""Start-up is over when goodput reaches this share of its mean over the second half of the run."""

FILE_S = 300.0
"""A file that takes longer is not finished: its time is missing."""


@dataclass
class Trials:
    """What was measured of one algorithm, by quantity: one value for each seed, NaN where there is none.

    Quantities, in SI units: goodput_bps (all of its flows together), jain (between them), queue_p50_s and
    queue_p95_s (RTT over the least of that seed, mean over the flows), loss (lost of sent data packets),
    own_loss (dropped at a queue, of sent), resent (retransmitted, of sent), startup_s, file_s, and of two
    flows beside_cubic_bps (its own goodput), cubic_bps (that of the rival), beside_reno_bps, reno_bps, and
    worse_bps (the lower of both, mean over the two rivals); harm_cubic and harm_reno come from `harm`.
    """

    candidate: Candidate
    values: dict[str, list[float]] = field(default_factory=dict)

    def add(self, found: dict[str, float]) -> None:
        """What one seed gave."""
        for name, value in found.items():
            self.values.setdefault(name, []).append(value)

    def of(self, name: str) -> list[float]:
        """The values of a quantity that are there."""
        return [value for value in self.values.get(name, []) if not math.isnan(value)]

    def mean(self, name: str) -> float:
        """The mean of a quantity, NaN if it was never measured."""
        known = self.of(name)
        return math.fsum(known) / len(known) if known else math.nan


@dataclass
class Seed:
    """What one seed gave.

    Attributes:
        candidates: the algorithms that were run, by id.
        values: by id, what `Trials.add` takes; without those at the end that were not run in all roles.
        interrupted: whether the user stopped it.
    """

    candidates: Mapping[str, Candidate]
    values: dict[str, dict[str, float]]
    interrupted: bool


def run_seed(
    question: Question,
    candidates: Sequence[Candidate],
    n: int,
    run_s: float,
    *,
    until: float | None = None,
    progress: Callable[[int], None] | None = None,
) -> Seed:
    """Runs seed `n` of all these algorithms in all roles, and measures.

    Args:
        question: what is asked.
        candidates: CUBIC and Reno first; they are run to the end, whatever the time.
        n: the number of the seed.
        run_s: simulated seconds of a run; the file has more if it needs them.
        until: when to stop, by `time.monotonic`.
        progress: called with the number of runs that are done.

    Raises:
        ControllerError: an algorithm failed.
    """
    cases = [_case(question, one, role, n, run_s) for one, role in product(candidates, ROLES)]
    needed = range(len(RIVALS) * len(ROLES))
    over: dict[int, Ran] = {}
    interrupted = False
    try:
        if progress is not None:
            progress(0)
        with closing(work_off(cases, range(len(cases)))) as runs:
            for some in runs:
                over.update((ran.number, ran) for ran in some)
                if progress is not None and some:
                    progress(len(over))
                late = until is not None and time.monotonic() > until
                if late and all(number in over for number in needed):
                    break
    except KeyboardInterrupt:
        interrupted = True
    whole = []
    for i, one in enumerate(candidates):
        runs_of = [over.get(len(ROLES) * i + j) for j in range(len(ROLES))]
        if None in runs_of:
            break
        whole.append([_checked(one, ran) for ran in runs_of if ran is not None])
    if len(whole) < len(RIVALS):
        whole = []  # nothing to measure harm against
    results = [{role: ran.result for role, ran in zip(ROLES, of, strict=True)} for of in whole]
    floor = min(
        (f["rtt_min_s"] for of in results for run in of.values() for f in run["flows"] if f["rtt_min_s"]),
        default=math.nan,
    )
    values = {
        one.id: _measured(question, of, ran[0].trace, floor)
        for one, of, ran in zip(candidates, results, whole, strict=False)
    }
    return Seed({one.id: one for one in candidates}, values, interrupted)


def harm(trials: dict[str, Trials]) -> None:
    """Adds what each algorithm does to a CUBIC and to a Reno flow beside it, seed by seed.

    Harm is the share that the rival loses against what it has beside its own kind, at least 0: R. Ware,
    M. K. Mukerjee, S. Seshan, J. Sherry: Beyond Jain's Fairness Index: Setting the Bar For The Deployment of
    Congestion Control Algorithms, HotNets 2019, section 4.
    """
    for rival in RIVALS:
        usual = trials[rival].values[f"{rival}_bps"]
        for one in trials.values():
            beside = one.values[f"{rival}_bps"]
            one.values[f"harm_{rival}"] = [
                max(0.0, 1 - got / own) if own > 0 else math.nan
                for got, own in zip(beside, usual, strict=True)
            ]


def startup(t: Floats, delivered: Floats, rtt_s: float) -> float:
    """Seconds until goodput is as high as it will be: `REACHED` of its mean over the second half of the run.

    Goodput is averaged over two round trips, because acknowledgements come in bursts. NaN if it never is.

    Args:
        t: instants of the trace, seconds.
        delivered: bytes delivered until then, of all flows.
        rtt_s: the round-trip time without queues.
    """
    if len(t) < 3 or not rtt_s > 0:
        return math.nan
    half = float(np.interp(t[-1] / 2, t, delivered))
    wanted = REACHED * (delivered[-1] - half) / (t[-1] / 2)
    if not wanted > 0:
        return math.nan
    window = max(2 * rtt_s, 2 * float(t[1] - t[0]))
    ends = t[t >= window]
    rates = (np.interp(ends, t, delivered) - np.interp(ends - window, t, delivered)) / window
    reached = np.flatnonzero(rates >= wanted)
    return float(ends[reached[0]]) if reached.size else math.nan


def _case(question: Question, one: Candidate, role: str, n: int, run_s: float) -> Case:
    match role:
        case "alone":
            scenario = question.alone(one, n, run_s)
        case "file":
            scenario = question.file(one, n, max(run_s, FILE_S))
        case _:
            scenario = question.beside(one, role, n, run_s)
    keys: dict[str, Key] = {"algorithm": one.id, "role": role}
    controllers: Any = scenario.controllers()
    return Case(keys, scenario.to_dict(), keep_trace=role == "alone", controllers=controllers)


def _checked(one: Candidate, ran: Ran) -> Ran:
    if ran.error is not None:
        raise _core.ControllerError(f"{one.label} failed: {ran.error}")
    return ran


def _measured(
    question: Question, runs: Mapping[str, dict[str, Any]], trace: pl.DataFrame | None, floor: float
) -> dict[str, float]:
    """All quantities of one seed of one algorithm."""
    found = _alone(question, runs["alone"], trace, floor)
    lower = []
    for rival in RIVALS:
        own, other = _pair(runs[rival])
        found |= {f"beside_{rival}_bps": own, f"{rival}_bps": other}
        lower.append(min(own, other))
    done = runs["file"]["flows"][0]["completion_s"]
    return {
        **found,
        "worse_bps": math.fsum(lower) / len(lower),
        "file_s": math.nan if done is None else done,
    }


def _alone(
    question: Question, result: dict[str, Any], trace: pl.DataFrame | None, floor: float
) -> dict[str, float]:
    count = 1 if question.whole else question.flows
    flows = [f for f in result["flows"] if f["half"] not in PARTS][:count]
    sent = sum(f["sent_packets"] for f in flows)
    everyone = sum(f["sent_packets"] for f in result["flows"] if f["half"] != "subflow")
    crossed = question.crossed()
    dropped = sum(k["dropped_queue"] for k in result["links"] if (k["name"], k["direction"]) in crossed)
    names = [f["name"] for f in flows]
    t, delivered = _delivered(trace, names)
    queue = {
        name: [f[key] - floor for f in flows if f[key] is not None]
        for name, key in (("queue_p50_s", "rtt_p50_s"), ("queue_p95_s", "rtt_p95_s"))
    }
    return {
        "goodput_bps": math.fsum(f["goodput_bps"] for f in flows),
        "jain": stats.jain(f["goodput_bps"] for f in flows),
        **{name: math.fsum(values) / len(values) if values else math.nan for name, values in queue.items()},
        "loss": sum(f["dropped_packets"] for f in flows) / sent if sent else 0.0,
        "own_loss": dropped / everyone if everyone else 0.0,
        "resent": sum(f["retransmitted_packets"] for f in flows) / sent if sent else 0.0,
        "startup_s": startup(t, delivered, floor),
    }


def _delivered(trace: pl.DataFrame | None, names: Sequence[str]) -> tuple[Floats, Floats]:
    """Instants of a trace, and the bytes that these flows have delivered by then."""
    if trace is None or trace.height == 0:
        return np.empty(0), np.empty(0)
    together = (
        trace.filter(pl.col("flow").cast(pl.String).is_in(list(names)))
        .group_by("t_s")
        .agg(pl.col("delivered_bytes").sum())
        .sort("t_s")
    )
    return together["t_s"].to_numpy(), together["delivered_bytes"].to_numpy().astype(float)


def _pair(result: dict[str, Any]) -> tuple[float, float]:
    """Goodput of the flow that is asked about, and of its rival."""
    by_name = {f["name"]: f["goodput_bps"] for f in result["flows"] if f["half"] not in PARTS}
    return by_name["asked"], by_name["rival"]
