"""Measures of one run of the Vegas-L study."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

from bentpipe.papers.vegas_l.setup import ALPHA
from bentpipe.stats import jain
from bentpipe.studies.claim import Tolerance
from bentpipe.studies.study import Case, Measures

if TYPE_CHECKING:
    import polars as pl

#: The paper's "first 150 seconds" of 1000, as a share of the run.
EARLY = 0.15
#: The steady part of a run begins here, as a share of it: the windows have had half the run to settle.
STEADY = 0.5
CUT = Tolerance(
    0.1,
    "V4: a window is cut if it falls by more than this share from one second to the next",
    "less than the least cut at a loss, Veno's fifth",
)


def measure(case: Case, result: Mapping[str, Any], trace: pl.DataFrame | None) -> Measures:
    """The scalars of one run.

    ``x_mbps``, ``newreno_mbps``: goodput, Mbit/s; ``jain`` of the two; ``cwnd_early``, ``cwnd_steady``: mean
    window of flow 1, segments; ``cwnd_cv``: standard deviation over mean of its steady window; ``cuts``:
    falls of its window by more than a tenth, per 100 s; ``x_rtt_s``, ``newreno_rtt_s``: mean RTT;
    ``x_rtt_min_s``, ``newreno_rtt_min_s``; ``x_lost``, ``newreno_lost``: data packets lost; ``x_timeouts``;
    ``newreno_uplink_lost``: those of NewReno that its own uplink's full queue dropped; ``queue``: mean queue
    of the shared downlink, data and ACKs; ``utilisation`` of it; and `inside` of flow 1.
    """
    import polars as pl

    if trace is None:
        raise ValueError("this study measures windows over time, so its runs record a trace")
    x, newreno = ({f["name"]: f for f in result["flows"]}[n] for n in ("x", "newreno"))
    links = {k["name"]: k for k in result["links"] if k["direction"] == "forward"}
    shared = links["sat"]
    length = float(result["simulated_s"])
    window = trace.filter(pl.col("flow") == "x").sort("t_s")
    early = window.filter(pl.col("t_s") < EARLY * length)["cwnd"].to_list()
    steady = window.filter(pl.col("t_s") >= STEADY * length)["cwnd"].to_list()
    falls = window["cwnd"].diff() / window["cwnd"].shift(1)
    steady_mean = fmean(steady)
    return {
        "x_mbps": x["goodput_bps"] / 1e6,
        "newreno_mbps": newreno["goodput_bps"] / 1e6,
        "jain": jain([x["goodput_bps"], newreno["goodput_bps"]]),
        "cwnd_early": fmean(early),
        "cwnd_steady": steady_mean,
        "cwnd_cv": stdev(steady) / steady_mean,
        "cuts": int((falls < -CUT).sum()) / length * 100,
        "x_rtt_s": float(x["rtt_mean_s"]),
        "newreno_rtt_s": float(newreno["rtt_mean_s"]),
        "x_rtt_min_s": float(x["rtt_min_s"]),
        "newreno_rtt_min_s": float(newreno["rtt_min_s"]),
        "x_lost": int(x["dropped_packets"]),
        "newreno_lost": int(newreno["dropped_packets"]),
        "x_timeouts": int(x["timeouts"]),
        "newreno_uplink_lost": int(links["up-shanghai"]["dropped_queue"]),
        "newreno_timeouts": int(newreno["timeouts"]),
        "queue": float(shared["queue_mean_packets"]),
        "utilisation": float(shared["utilisation"]),
        **inside(window),
    }


def inside(window: pl.DataFrame) -> Measures:
    """Results of the probes of Vegas and its family in a run; empty for Veno, which has no alpha.

    ``alpha_above``, ``diff_above``: the shares of the samples with alpha, or Diff, above the alpha of 1
    packet that all begin with; ``base_rtt_s``: baseRTT at the end.
    """
    if "alpha_segments" not in window.columns:
        return {}

    def above(probe: str) -> float:
        return int((window[probe].fill_nan(None) > ALPHA).sum()) / window.height

    return {
        "alpha_above": above("alpha_segments"),
        "diff_above": above("diff_segments"),
        "base_rtt_s": float(window["base_rtt_s"][-1]),
    }
