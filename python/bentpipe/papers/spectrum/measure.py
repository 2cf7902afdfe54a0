"""Measures of one run of the spectrum study."""

from __future__ import annotations

import math
from collections.abc import Mapping
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np

from bentpipe.analysis import traces
from bentpipe.papers.spectrum import scenarios
from bentpipe.studies.study import Case, Measures
from bentpipe.studies.tolerance import Tolerance

if TYPE_CHECKING:
    import polars as pl


#: Steady windows of the square wave are means over the last third of each half period.
SETTLED = 2 / 3
WITHIN = Tolerance(
    1.0,
    "K6 to K8: a window is reached when so many packets are missing",
    'the paper allows a "steady-state error" and prints none; windows grow by whole packets',
)
#: Epsilon of section 6.3.1: the shares are fair when the windows differ by less.
EPSILON = 10.0
#: The interval of figures 14 to 17, and the length of the time shown: 250 to 270 s.
SHORT_S, STRETCH_S = 0.2, 20.0
#: Figures 8 to 13 show the throughput of the last 60 s, or half of a shorter run.
LAST_S = 60.0
#: A window has settled when its mean over the next 20 round trips of 100 ms has: one that a timeout throws to
#: a packet and that is back a second later has not.
AHEAD_S = 2.0


def measure(case: Case, result: Mapping[str, Any], trace: pl.DataFrame | None) -> Measures:
    """The scalars of one run; which ones depends on the experiment that the case's keys name."""
    experiment = case.keys["experiment"]
    if experiment == "friendly":
        return _friendly(result)
    if trace is None:
        raise ValueError("this experiment measures windows over time, so its runs record a trace")
    if experiment == "share":
        return _beside(result, trace, LAST_S)
    if experiment == "smooth":
        return _smooth(result, trace)
    if experiment == "square":
        return _square(result, trace)
    change = float(case.keys["p"])
    return _step(result, trace, change) if experiment in scenarios.STEPS else _chain(result, trace, change)


def _friendly(result: Mapping[str, Any]) -> Measures:
    """``window``: packets delivered per 100 ms, the round trip of the base; ``timeouts``."""
    flow = result["flows"][0]
    rate = flow["goodput_bps"] / 8 / (scenarios.PACKET_BYTES - scenarios.HEADER_BYTES)
    return {"window": rate * scenarios.BASE.friendly_rtt_s, "timeouts": int(flow["timeouts"])}


def rates(trace: pl.DataFrame, since: float, until: float) -> dict[str, float]:
    """Mbit/s of each flow from ``since`` to ``until``, by the rows nearest to them."""
    found = {}
    for name in trace["flow"].unique(maintain_order=True):
        t, delivered = traces.columns(trace, name, "delivered_bytes")
        first, last = np.interp([since, until], t, delivered)
        found[name] = float((last - first) * 8 / (until - since) / 1e6)
    return found


def _beside(result: Mapping[str, Any], trace: pl.DataFrame, last_s: float) -> Measures:
    """Flows "x" beside as many "tcp", over the last ``last_s`` or half of the run if that is shorter.

    ``x_mbps``, ``tcp_mbps``: mean per flow; ``ratio`` of them; ``x_spread``, ``tcp_spread``: standard
    deviation over mean among the flows (0 for one flow); ``least``: throughput of the slowest "x" over the
    mean of "tcp"; ``loss``: share dropped or marked at the bottleneck; ``rtt_s``: mean over the flows.
    """
    end = float(result["simulated_s"])
    of = rates(trace, end - min(last_s, end / 2), end)
    x, tcp = ([v for k, v in of.items() if k.rsplit("-", 1)[0] == name] for name in ("x", "tcp"))
    link = next(k for k in result["links"] if (k["name"], k["direction"]) == ("out", "forward"))
    arrived = link["delivered_packets"] + link["dropped_queue"]
    forward = (f["rtt_mean_s"] for f in result["flows"] if not f["name"].startswith("back"))
    return {
        "x_mbps": fmean(x),
        "tcp_mbps": fmean(tcp),
        "ratio": fmean(x) / fmean(tcp),
        "x_spread": float(np.std(x) / np.mean(x)),
        "tcp_spread": float(np.std(tcp) / np.mean(tcp)),
        "least": min(x) / fmean(tcp),
        "loss": float((link["dropped_queue"] + link["marked"]) / arrived),
        "rtt_s": fmean(rtt for rtt in forward if rtt is not None),  # none if nothing got through
        "utilisation": float(link["utilisation"]),
    }


def _smooth(result: Mapping[str, Any], trace: pl.DataFrame) -> Measures:
    """`_beside` over the second half of the run, and the variation in its last `STRETCH_S`.

    ``x_cov``, ``tcp_cov``: coefficient of variation of a flow's throughput over intervals of 0.2 s, mean over
    the flows; ``x_epoch``, ``tcp_epoch``: that of its window within an epoch, as table 3 defines it;
    ``window``: mean window of all flows.
    """
    found = _beside(result, trace, math.inf)
    for name in ("x", "tcp"):
        short, epochs = [], []
        for flow in (f["name"] for f in result["flows"] if f["name"].rsplit("-", 1)[0] == name):
            t, delivered, cwnd = traces.columns(trace, flow, "delivered_bytes", "cwnd")
            late = t >= float(result["simulated_s"]) - STRETCH_S
            if delivered[-1] > delivered[late][0]:  # else it waits for its timer all the time
                short.append(traces.smoothness(t[late], delivered[late], SHORT_S * (1 + 1e-9)))
            if traces.cuts(cwnd[late], least=0.01).peak.size > 1:  # else it has no whole epoch
                epochs.append(traces.epoch_smoothness(t[late], cwnd[late], least=0.01))
        found |= {f"{name}_cov": fmean(short), f"{name}_epoch": fmean(epochs)}
    windows = (f["cwnd_mean_segments"] for f in result["flows"] if not f["name"].startswith("back"))
    return found | {"window": fmean(windows)}


def _step(result: Mapping[str, Any], trace: pl.DataFrame, change: float) -> Measures:
    """The tagged flow "x-1", where the load changes at ``change`` seconds.

    ``before``, ``after``: mean window in the second half of the time before the change and in the second half
    of what follows; ``cov``: standard deviation over mean of it before; ``settle_s``: from the change until
    the window is first within a packet of ``after``; ``fell``: whether it fell to two packets soon.
    """
    end = float(result["simulated_s"])
    t, cwnd = traces.columns(trace, "x-1", "cwnd")
    steady = cwnd[(t >= change / 2) & (t < change)]
    before, after = float(steady.mean()), float(cwnd[t >= (change + end) / 2].mean())
    grid = np.arange(change, end - AHEAD_S, 0.1)
    # The mean over the time ahead of each point of the grid; rows come at equal intervals.
    total = np.concatenate([[0.0], np.cumsum(cwnd)])
    first, last = np.searchsorted(t, [grid, grid + AHEAD_S])
    ahead = (total[last] - total[first]) / np.maximum(last - first, 1)
    there = ahead <= after + WITHIN if after < before else ahead >= after - WITHIN
    soon = cwnd[(t >= change) & (t < change + 15)]
    return {
        "before": before,
        "after": after,
        "cov": float(steady.std() / before),
        "settle_s": float(grid[there][0] - change if there.any() else end - change),
        "fell": int(soon.size and float(soon.min()) <= 2.0),
    }


def _square(result: Mapping[str, Any], trace: pl.DataFrame) -> Measures:
    """The flow "x" against the square wave, from its second period on.

    ``on``, ``off``: mean window in the last third of the on and off halves; ``grow``: round trips from the
    end of the on half until a packet is missing to ``off``, mean over the periods; ``grow_clock``: the same
    in units of 100 ms; ``grow_double``: to twice ``on``; ``shrink``: cuts from the end of the off half until
    the window is within a packet of ``on``; ``cov_off``: variation in the last third of the off halves.
    A period in which the window is never reached counts with its whole half; ``missed`` is the share of them.
    """
    t, cwnd, srtt = traces.columns(trace, "x", "cwnd", "srtt_s")
    keep = np.isfinite(srtt)
    t, cwnd, srtt = t[keep], cwnd[keep], srtt[keep]
    half = scenarios.SQUARE_HALF_S
    periods = int(float(result["simulated_s"]) / (2 * half))
    grid = np.arange(2 * half, periods * 2 * half, 0.05)
    w, phase = traces.hold(t, cwnd, grid), grid % (2 * half)
    on = float(w[(phase >= SETTLED * half) & (phase < half)].mean())
    high = w[phase >= (1 + SETTLED) * half]
    off = float(high.mean())
    grow, clock, double, shrink = [], [], [], []
    missed = 0
    for loud in 2 * half * np.arange(1, periods):
        quiet = loud + half
        part = (t >= quiet - 1) & (t < quiet + half)
        at, rtt = (t[part], cwnd[part]), srtt[part]
        longest = traces.rounds_between(t[part], rtt, quiet, quiet + half)
        rounds = traces.rounds_to_grow(*at, rtt, quiet, off, WITHIN)
        missed += math.isinf(rounds)
        grow.append(min(rounds, longest))
        ticks = traces.rounds_to_grow(*at, np.full_like(rtt, 0.1), quiet, off, WITHIN)
        clock.append(min(ticks, half / 0.1))
        double.append(min(traces.rounds_to_grow(*at, rtt, quiet, 2 * on, WITHIN), longest))
        part = (t >= loud - 1) & (t < loud + half)
        losses = traces.losses_to_shrink(t[part], cwnd[part], loud, on, WITHIN)
        if math.isfinite(losses):
            shrink.append(losses)
    return {
        "on": on,
        "off": off,
        "grow": fmean(grow),
        "grow_clock": fmean(clock),
        "grow_double": fmean(double),
        "shrink": fmean(shrink),
        "cov_off": float(high.std() / off),
        "missed": missed / (periods - 1),
        "rtt_s": float(result["flows"][0]["rtt_mean_s"]),
        "timeouts": int(result["flows"][0]["timeouts"]),
    }


def _chain(result: Mapping[str, Any], trace: pl.DataFrame, change: float) -> Measures:
    """The flows "s1" and "s2" of the chain, whose background ends at ``change`` seconds.

    ``w1``, ``w2``: mean windows in the last 10 s before; ``w1_at``, ``w2_at``: windows then; ``total``: their
    sum in the last quarter of the run; ``t1``: round trips until the sum first is ``total``; ``gap``:
    difference of the windows then; ``t1_loss``, ``gap_loss``: the same at the first loss of either; ``t2``:
    round trips from the change until the windows first differ by less than 10 packets; ``t2_stay``: until
    they do so for 20 round trips (about 2 s) without a break. An event that does not happen counts with the
    whole run; ``open`` is then 1.
    """
    end = float(result["simulated_s"])
    grid = np.arange(change - 10, end - 0.05, 0.1)
    w, rtt = [], []
    for name in ("s1", "s2"):
        t, cwnd, srtt = traces.columns(trace, name, "cwnd", "srtt_s")
        known = np.isfinite(srtt)
        w.append(traces.hold(t, cwnd, grid))
        rtt.append(traces.hold(t[known], srtt[known], grid))
    trip, both, apart = (rtt[0] + rtt[1]) / 2, w[0] + w[1], np.abs(w[0] - w[1])
    before, late = grid < change, grid > change
    total = float(both[grid >= end - (end - change) / 4].mean())
    full = grid[late & (both >= total)]
    line = float(full[0]) if full.size else end - 0.1
    loss = change + traces.efficiency_seconds(grid, w[0], w[1], change)
    first, stay = (traces.fairness_seconds(grid, w[0], w[1], change, EPSILON, stay=s) for s in (0, 2.0))

    def rounds(until: float) -> float:
        return traces.rounds_between(grid, trip, change, min(until, float(grid[-1])))

    def gap(when: float) -> float:
        return float(apart[min(int(np.searchsorted(grid, when)), grid.size - 1)])

    return {
        "w1": float(w[0][before].mean()),
        "w2": float(w[1][before].mean()),
        "w1_at": float(w[0][before][-1]),
        "w2_at": float(w[1][before][-1]),
        "total": total,
        "t1": rounds(line),
        "gap": gap(line),
        "t1_loss": rounds(loss),
        "gap_loss": gap(loss),
        "t2": rounds(change + first),
        "t2_stay": rounds(change + stay),
        "open": int(math.isinf(first)),
        "rtt_s": float(trip[late].mean()),
        "below_limit": int(float(np.max(both[late])) < 2 * scenarios.MAX_WINDOW),
    }
