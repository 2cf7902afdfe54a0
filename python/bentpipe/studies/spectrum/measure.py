"""What is measured in one run of the spectrum study."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np

from bentpipe.analysis import traces
from bentpipe.studies.spectrum.setup import BASE, MAX_WINDOW, PACKET_BYTES, SQUARE_HALF_S
from bentpipe.studies.study import Case, Measures

if TYPE_CHECKING:
    import polars as pl

    from bentpipe.analysis._values import Array

#: Steady windows of the square wave are means over the last third of each half period.
SETTLED = 2 / 3
#: "Steady-state error": a window is reached when one packet is missing.
WITHIN = 1.0
#: Epsilon of section 6.3.1: the shares are fair when the windows differ by less.
EPSILON = 10.0
#: The interval of figures 14 to 17.
SHORT_S = 0.2
#: Figures 8 to 13 show the throughput of the last 60 s, or half of a shorter run.
LAST_S = 60.0
#: A window has settled when its mean over the next 20 round trips of 100 ms has: one that a timeout throws to
#: a packet and that is back a second later has not.
AHEAD_S = 2.0


def measure(case: Case, result: Mapping[str, Any], trace: pl.DataFrame | None) -> Measures:
    """The scalars of one run; which ones depends on the experiment that the case's keys name."""
    return _OF[str(case.keys["experiment"])](case, result, trace)


def _kept(trace: pl.DataFrame | None) -> pl.DataFrame:
    if trace is None:
        raise ValueError("this experiment measures windows over time, so its runs record a trace")
    return trace


def _friendly(case: Case, result: Mapping[str, Any], trace: pl.DataFrame | None) -> Measures:
    """``window``: packets delivered per 100 ms, the round trip of the base; ``timeouts``."""
    flow = result["flows"][0]
    payload = PACKET_BYTES - 40
    rate = flow["goodput_bps"] / 8 / payload
    return {"window": rate * BASE.friendly_rtt_s, "timeouts": int(flow["timeouts"])}


def _bottleneck(result: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = next(
        k for k in result["links"] if (k["name"], k["direction"]) == ("out", "forward")
    )
    return found


def _loss(link: Mapping[str, Any]) -> float:
    """Packets dropped or marked over packets that arrived."""
    arrived = link["delivered_packets"] + link["dropped_queue"]
    return float((link["dropped_queue"] + link["marked"]) / arrived)


def rates(trace: pl.DataFrame, since: float, until: float) -> dict[str, float]:
    """Mbit/s of each flow from ``since`` to ``until``, by the rows nearest to them."""
    found = {}
    for name in trace["flow"].unique(maintain_order=True):
        t, delivered = traces.columns(trace, name, "delivered_bytes")
        first, last = np.interp([since, until], t, delivered)
        found[name] = float((last - first) * 8 / (until - since) / 1e6)
    return found


def _group(of: Mapping[str, float], name: str) -> list[float]:
    return [v for k, v in of.items() if k.rsplit("-", 1)[0] == name]


def _share(case: Case, result: Mapping[str, Any], trace: pl.DataFrame | None) -> Measures:
    """Flows "x" beside as many "tcp", over the last `LAST_S` of the run: see `_beside`."""
    return _beside(result, _kept(trace), LAST_S)


def _busy(case: Case, result: Mapping[str, Any], trace: pl.DataFrame | None) -> Measures:
    """As `_share` over the second half of the run, and ``timeouts``: of a flow "x", mean."""
    waits = [f["timeouts"] for f in result["flows"] if f["name"].startswith("x-")]
    return _beside(result, _kept(trace), math.inf) | {"timeouts": fmean(waits)}


def _beside(result: Mapping[str, Any], rows: pl.DataFrame, last_s: float) -> Measures:
    """Flows "x" beside as many "tcp", over the last ``last_s`` or half of the run if that is shorter.

    ``x_mbps``, ``tcp_mbps``: mean per flow; ``ratio`` of them; ``x_spread``, ``tcp_spread``: standard
    deviation over mean among the flows (0 for one flow); ``least``: throughput of the slowest "x" over the
    mean of "tcp"; ``loss``: share dropped or marked at the bottleneck; ``rtt_s``: mean over the flows.
    """
    end = float(result["simulated_s"])
    of = rates(rows, end - min(last_s, end / 2), end)
    x, tcp = _group(of, "x"), _group(of, "tcp")
    link = _bottleneck(result)
    forward = (f["rtt_mean_s"] for f in result["flows"] if not f["name"].startswith("back"))
    trips = [rtt for rtt in forward if rtt is not None]  # a flow that got nothing through has none
    return {
        "x_mbps": fmean(x),
        "tcp_mbps": fmean(tcp),
        "ratio": fmean(x) / fmean(tcp),
        "x_spread": float(np.std(x) / np.mean(x)),
        "tcp_spread": float(np.std(tcp) / np.mean(tcp)),
        "least": min(x) / fmean(tcp),
        "loss": _loss(link),
        "rtt_s": fmean(trips),
        "utilisation": float(link["utilisation"]),
    }


def _smooth(case: Case, result: Mapping[str, Any], trace: pl.DataFrame | None) -> Measures:
    """As `_share` over the second half of the run, and the variation there.

    ``x_cov``, ``tcp_cov``: coefficient of variation of a flow's throughput over intervals of 0.2 s, mean over
    the flows; ``x_epoch``, ``tcp_epoch``: that of its window within an epoch, as table 3 defines it;
    ``window``: mean window of all flows.
    """
    rows = _kept(trace)
    end = float(result["simulated_s"])
    found = _beside(result, rows, math.inf)
    for name in ("x", "tcp"):
        short, epochs = [], []
        for flow in (f["name"] for f in result["flows"] if f["name"].rsplit("-", 1)[0] == name):
            t, delivered, cwnd = traces.columns(rows, flow, "delivered_bytes", "cwnd")
            late = t >= end / 2
            if delivered[-1] > delivered[late][0]:  # else it waits for its timer all the time
                short.append(traces.smoothness(t[late], delivered[late], SHORT_S * (1 + 1e-9)))
            if traces.cuts(cwnd[late], least=0.01).peak.size > 1:  # else it has no whole epoch
                epochs.append(traces.epoch_smoothness(t[late], cwnd[late], least=0.01))
        found |= {f"{name}_cov": fmean(short), f"{name}_epoch": fmean(epochs)}
    windows = [f["cwnd_mean_segments"] for f in result["flows"] if not f["name"].startswith("back")]
    return found | {"window": fmean(windows)}


def _step(case: Case, result: Mapping[str, Any], trace: pl.DataFrame | None) -> Measures:
    """The tagged flow "x-1" where the load changes.

    ``before``, ``after``: mean window in the second half of the time before the change and in the second half
    of what follows; ``cov``: standard deviation over mean of it before; ``settle_s``: from the change until
    the window is first within a packet of ``after``.
    """
    change, end = float(case.keys["p"]), float(result["simulated_s"])
    t, cwnd = traces.columns(_kept(trace), "x-1", "cwnd")
    steady = cwnd[(t >= change / 2) & (t < change)]
    before = float(steady.mean())
    after = float(cwnd[t >= (change + end) / 2].mean())
    grid = np.arange(change, end - AHEAD_S, 0.1)
    ahead = _ahead(t, cwnd, grid)
    there = ahead <= after + WITHIN if after < before else ahead >= after - WITHIN
    settle = grid[there][0] - change if there.any() else end - change
    soon = (t >= change) & (t < change + 15)
    return {
        "before": before,
        "after": after,
        "cov": float(steady.std() / before),
        "settle_s": float(settle),
        "fell": int(soon.any() and float(cwnd[soon].min()) <= 2.0),
    }


def _ahead(t: Array, values: Array, at: Array) -> Array:
    """Mean of a column over the `AHEAD_S` after each time; rows come at equal intervals."""
    total = np.concatenate([[0.0], np.cumsum(values)])
    first, last = np.searchsorted(t, [at, at + AHEAD_S])
    found: Array = (total[last] - total[first]) / np.maximum(last - first, 1)
    return found


def _square(case: Case, result: Mapping[str, Any], trace: pl.DataFrame | None) -> Measures:
    """The flow "x" against the square wave, from its second period on.

    ``on``, ``off``: mean window in the last third of the on and off halves; ``grow``: round trips from the
    end of the on half until a packet is missing to ``off``, mean over the periods; ``grow_clock``: the same
    in units of 100 ms; ``grow_double``: to twice ``on``; ``shrink``: cuts from the end of the off half until
    the window is within a packet of ``on``; ``cov_off``: variation in the last third of the off halves.
    A period in which the window is never reached counts with its whole half; ``missed`` is the share of them.
    """
    t, cwnd, srtt = traces.columns(_kept(trace), "x", "cwnd", "srtt_s")
    keep = np.isfinite(srtt)
    t, cwnd, srtt = t[keep], cwnd[keep], srtt[keep]
    half = SQUARE_HALF_S
    periods = int(float(result["simulated_s"]) / (2 * half))
    grid = np.arange(2 * half, periods * 2 * half, 0.05)
    w = traces.hold(t, cwnd, grid)
    phase = grid % (2 * half)
    on = float(w[(phase >= SETTLED * half) & (phase < half)].mean())
    high = w[phase >= (1 + SETTLED) * half]
    off = float(high.mean())
    grow, clock, double, shrink = [], [], [], []
    missed = 0
    for i in range(1, periods):
        quiet = i * 2 * half + half
        part = (t >= quiet - 1) & (t < quiet + half)
        a, b, r = t[part], cwnd[part], srtt[part]
        rounds = _rounds(a, b, r, quiet, off)
        missed += math.isinf(rounds)
        longest = traces.rounds_between(a, r, quiet, quiet + half)
        grow.append(min(rounds, longest))
        clock.append(min(_rounds(a, b, np.full_like(r, 0.1), quiet, off), half / 0.1))
        double.append(min(_rounds(a, b, r, quiet, 2 * on), longest))
        loud = i * 2 * half
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


def _rounds(t: Array, w: Array, rtt: Array, start: float, target: float) -> float:
    return traces.rounds_to_grow(t, w, rtt, start, target, WITHIN)


def _chain(case: Case, result: Mapping[str, Any], trace: pl.DataFrame | None) -> Measures:
    """The flows "s1" and "s2" of the chain, whose background ends at the case's ``p`` seconds.

    ``w1``, ``w2``: mean windows in the last 10 s before; ``total``: their sum in the last quarter of the run;
    ``t1``: round trips until the sum first is ``total``; ``gap``: difference of the windows then;
    ``t1_loss``, ``gap_loss``: the same at the first loss of either; ``t2``: round trips from the change until
    the windows first differ by less than 10 packets; ``t2_stay``: until they do so for 20 round trips (about
    2 s) without a break. What does not happen counts with the whole run; ``open`` is then 1.
    """
    change, end = float(case.keys["p"]), float(result["simulated_s"])
    grid = np.arange(change - 10, end - 0.05, 0.1)
    w, rtt = [], []
    for name in ("s1", "s2"):
        t, cwnd, srtt = traces.columns(_kept(trace), name, "cwnd", "srtt_s")
        known = np.isfinite(srtt)
        w.append(traces.hold(t, cwnd, grid))
        rtt.append(traces.hold(t[known], srtt[known], grid))
    trip = (rtt[0] + rtt[1]) / 2
    both, apart = w[0] + w[1], np.abs(w[0] - w[1])
    total = float(both[grid >= end - (end - change) / 4].mean())
    late = grid > change
    full = grid[late & (both >= total)]
    line = float(full[0]) if full.size else end - 0.1
    loss = change + traces.efficiency_seconds(grid, w[0], w[1], change)

    def rounds(until: float) -> float:
        return traces.rounds_between(grid, trip, change, min(until, float(grid[-1])))

    def at(when: float) -> float:
        return float(apart[min(int(np.searchsorted(grid, when)), grid.size - 1)])

    first = traces.fairness_seconds(grid, w[0], w[1], change, EPSILON, stay=0)
    stay = traces.fairness_seconds(grid, w[0], w[1], change, EPSILON, stay=2.0)
    before = grid < change
    return {
        "w1": float(w[0][before].mean()),
        "w2": float(w[1][before].mean()),
        "total": total,
        "t1": rounds(line),
        "gap": at(line),
        "t1_loss": rounds(loss),
        "gap_loss": at(loss),
        "t2": rounds(change + first),
        "t2_stay": rounds(change + stay),
        "open": int(math.isinf(first)),
        "rtt_s": float(trip[late].mean()),
        "below_limit": int(float(np.max(both[late])) < 2 * MAX_WINDOW),
    }


_OF: Mapping[str, Callable[[Case, Mapping[str, Any], pl.DataFrame | None], Measures]] = {
    "friendly": _friendly,
    "share": _share,
    "smooth": _smooth,
    "busy": _busy,
    "load-doubles": _step,
    "load-halves": _step,
    "square": _square,
    "chain-1": _chain,
    "chain-2": _chain,
}
