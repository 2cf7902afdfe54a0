"""Measures of one run of the TCP-STAR study."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np

from bentpipe.papers.tcp_star.setup import BDP, INTERVAL_S, OUTAGE
from bentpipe.stats import jain
from bentpipe.studies.claim import Tolerance
from bentpipe.studies.study import Case, Measures

if TYPE_CHECKING:
    import polars as pl

BACK = Tolerance(
    0.9,
    "S4: a flow is back at its rate, or window, if it has this share of that before the outage",
    "a window of some segments less is no slow start",
)
#: The rate before the outage is measured from here on, s.
BEFORE_S = 7.0
#: Width of the interval over which a rate is measured after the outage, s: a round trip.
RATE_S = 0.5
#: The paper's time by which TCP-STAR is back, s: the rate is measured over the second before.
BACK_BY_S = 16.0
#: The measures of `after_outage`.
AFTER = ("before_mbps", "restart_s", "restart_window", "by_16_mbps", "recovery_s")


def measure(case: Case, result: Mapping[str, Any], trace: pl.DataFrame | None) -> Measures:
    """The scalars of one run.

    In all: ``x_mbps`` mean goodput of a flow of the protocol, ``reno_mbps`` of a NewReno flow beside it (NaN
    if there is none), Mbit/s; ``jain`` of all flows; ``timeouts`` per flow of the protocol; ``resent``, data
    segments sent again over segments sent; ``queue_drops`` packets; ``queue`` mean length, packets;
    ``utilisation``; ``rwnd_share``, share of the time for which the receiver's window held the protocol back.
    Start-up: ``full_s``, time until the sending window is `BDP`, s. Outage: see `after_outage`.
    """
    x = [f for f in result["flows"] if f["name"].startswith("x")]
    reno = [f for f in result["flows"] if f["name"].startswith("newreno")]
    link = next(k for k in result["links"] if k["direction"] == "forward")
    found: Measures = {
        "x_mbps": fmean(f["goodput_bps"] for f in x) / 1e6,
        "reno_mbps": fmean(f["goodput_bps"] for f in reno) / 1e6 if reno else float("nan"),
        "jain": jain(f["goodput_bps"] for f in result["flows"]),
        "timeouts": fmean(f["timeouts"] for f in x),
        "resent": sum(f["retransmitted_packets"] for f in x) / max(1, sum(f["sent_packets"] for f in x)),
        "queue_drops": float(link["dropped_queue"]),
        "queue": float(link["queue_mean_packets"]),
        "utilisation": float(link["utilisation"]),
        "rwnd_share": fmean(f["limited"]["rwnd"] for f in x),
        **dict.fromkeys(("full_s", *AFTER), float("nan")),
    }
    part = case.keys["part"]
    if part in ("startup", "outage"):
        if trace is None:
            raise ValueError("the start-up and the outage runs record a trace")
        if part == "outage":
            return found | after_outage(trace)
        full = trace.filter(trace["cwnd"] >= BDP)["t_s"].to_list()
        end = full[0] if full else float(result["simulated_s"])
        found["full_s"] = end - float(x[0]["start_s"])
    elif part != "mixed" and reno:
        raise ValueError("only the mixed runs have NewReno flows")
    return found


def after_outage(trace: pl.DataFrame) -> Measures:
    """The recovery of one flow from an outage of the ACKs.

    ``before_mbps``: rate at the receiver before it; ``restart_s``: when the first new data after it reaches
    the receiver (time of the run); ``restart_window``: largest amount in flight in the round trip after that,
    over that before the outage; ``by_16_mbps``: rate from 15 s to 16 s; ``recovery_s``: time from the
    outage's end to the end of the first `RATE_S` at `BACK` of the rate before, or to the end of the run.
    """
    t = trace["t_s"].to_numpy()
    got = trace["delivered_bytes"].to_numpy().astype(float)
    flight = trace["in_flight"].to_numpy()

    def rate(start: float, end: float) -> float:
        first, last = np.searchsorted(t, [start - INTERVAL_S / 2, end - INTERVAL_S / 2])
        return float((got[last] - got[first]) * 8 / 1e6 / (t[last] - t[first]))

    before = rate(BEFORE_S, OUTAGE[0])
    # Data sent before the outage still arrives in its first second.
    moved = (np.diff(got) > 0) & (t[1:] > OUTAGE[0] + 1)
    restart = float(t[1:][moved][0]) if moved.any() else float(t[-1])
    at_once = (t >= restart - INTERVAL_S / 2) & (t <= restart + RATE_S)
    steady = (t >= BEFORE_S) & (t <= OUTAGE[0])
    step = round(RATE_S / INTERVAL_S)
    rates = (got[step:] - got[:-step]) * 8 / 1e6 / RATE_S
    full = (t[:-step] >= OUTAGE[1] - INTERVAL_S / 2) & (rates >= BACK * before)
    back = float(t[step:][full][0]) if full.any() else float(t[-1])
    return {
        "before_mbps": before,
        "restart_s": restart,
        "restart_window": float(flight[at_once].max() / flight[steady].max()),
        "by_16_mbps": rate(BACK_BY_S - 1, BACK_BY_S),
        "recovery_s": back - OUTAGE[1],
    }
