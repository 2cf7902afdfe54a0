"""Measures of one run of the A-LIAD study."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bentpipe.papers.a_liad.setup import HEADER_BYTES, INTRA_FLOWS, START_UP_S
from bentpipe.stats import jain
from bentpipe.studies.claim import Tolerance
from bentpipe.studies.study import Case, Measures

if TYPE_CHECKING:
    import polars as pl

#: Elapsed times of figure 5, seconds.
ELAPSED_S = (5, 10, 15, 20, 25, 30)
CUT = Tolerance(
    0.1,
    "A3: a window is reduced if it falls by more than this share",
    "less than the least cut at a loss, Scalable's eighth",
)


def measure(case: Case, result: Mapping[str, Any], trace: pl.DataFrame | None) -> Measures:
    """The scalars of one run; all runs have the first group, the others NaN where they do not apply.

    ``mbps``: goodput of the algorithm under test; ``share``: its share of the bottleneck in per cent, headers
    counted; ``cwnd``: its mean window, segments; ``drops``: packets lost, ``overflow``: dropped by the full
    queue; ``timeouts``; ``used``: per cent of the link in use, retransmissions counted; ``jain`` of all
    flows.

    ``newreno_mbps``: goodput of all NewReno flows together; ``flow_1`` to ``flow_6``: goodput of the flows of
    the intra-fairness runs, from the slowest to the fastest.

    Start-up runs: ``at_5`` to ``at_30``: as ``share``, up to 5 s to 30 s; ``exit``: window at the end of slow
    start (the first that reaches ssthresh, or before the first reduction); ``peak``: largest window;
    ``cuts``: reductions of the window.
    """
    flows = [f for f in result["flows"] if f["name"].startswith("x-")]
    reno = [f for f in result["flows"] if f["name"].startswith("newreno-")]
    link = next(k for k in result["links"] if k["direction"] == "forward")
    rate = float(link["rate_bps"])
    mss = int(case.keys["mss"])
    wire = (mss + HEADER_BYTES) / mss
    x = flows[0]
    rates = [float(f["goodput_bps"]) for f in [*flows, *reno]]
    got: Measures = {
        "mbps": x["goodput_bps"] / 1e6,
        "share": x["goodput_bps"] * wire / rate * 100,
        "cwnd": float(x["cwnd_mean_segments"]),
        "drops": int(x["dropped_packets"]),
        "overflow": int(link["dropped_queue"]),
        "timeouts": int(x["timeouts"]),
        "used": float(link["utilisation"]) * 100,
        "jain": jain(rates),
        "newreno_mbps": sum(f["goodput_bps"] for f in reno) / 1e6 if reno else float("nan"),
    }
    ranked = sorted(f["goodput_bps"] / 1e6 for f in flows)
    for i in range(INTRA_FLOWS):
        got[f"flow_{i + 1}"] = ranked[i] if len(flows) == INTRA_FLOWS else float("nan")
    starts = case.keys["experiment"] in ("start-up", "no-sack")
    return got | (_start_up(trace, wire * 8 / rate) if starts else _BLANK)


_BLANK: Measures = dict.fromkeys([*(f"at_{t}" for t in ELAPSED_S), "exit", "peak", "cuts"], float("nan"))


def _start_up(trace: pl.DataFrame | None, seconds_per_byte: float) -> Measures:
    if trace is None:
        raise ValueError("the start-up runs measure windows over time, so they record a trace")
    rows = trace.sort("t_s")
    got: Measures = {}
    for t in ELAPSED_S:
        until = rows.filter(rows["t_s"] <= t + 1e-9)
        delivered = float(until["delivered_bytes"][-1]) if until.height else 0.0
        got[f"at_{t}"] = delivered * seconds_per_byte / min(t, START_UP_S) * 100
    cwnd, ssthresh = rows["cwnd"].to_list(), rows["ssthresh"].to_list()
    falls = [i for i in range(1, len(cwnd)) if cwnd[i] < (1 - CUT) * cwnd[i - 1]]
    first = falls[0] if falls else len(cwnd)
    reached = (i for i in range(first) if cwnd[i] >= ssthresh[i] - 1)
    end = float(cwnd[next(reached, first - 1)])
    return {**got, "exit": end, "peak": float(max(cwnd)), "cuts": float(len(falls))}
