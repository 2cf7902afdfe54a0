"""Why a claim does or does not reproduce: notes and details, computed from the runs."""

from __future__ import annotations

from statistics import fmean

import polars as pl

from bentpipe.studies import tried
from bentpipe.studies.claim import Claim
from bentpipe.studies.page import plain
from bentpipe.studies.sensitivity import Sensitivity
from bentpipe.studies.vegas_l import claims
from bentpipe.studies.vegas_l.sections import RENO_CONSTANT, choice, implied_rtt
from bentpipe.studies.vegas_l.setup import ALGORITHMS, BASE, HIGH, LOW, MSS_BYTES

#: Two means that differ by less than this share are called the same here.
SAME = 0.15


def explain(claim: Claim, base: pl.DataFrame, sensitivity: Sensitivity) -> None:
    """Write the note (short) and the detail (for the page) of a claim."""
    short, detail = _REASONS[claim.id](base, sensitivity)
    claim.note = claim.tally()
    if short and not all(c.holds for c in claim.checks):
        claim.note += f"; {short}"
    if clause := tried.nearest(claim, sensitivity, choice):
        claim.note += f"; {clause}"
    claim.detail += [*detail, *tried.told(claim, sensitivity, choice)]
    sensitivity.tell(claim, choice)


def _mean(base: pl.DataFrame, cc: str, per: float, column: str) -> float:
    at = base.filter((pl.col("cc") == cc) & (pl.col("per") == per))
    return fmean(at[column].to_list())


def _v1(base: pl.DataFrame, sensitivity: Sensitivity) -> tuple[str, list[str]]:
    needed = implied_rtt(claims.STEADY_WINDOW, claims.THROUGHPUT["vegas-l"])
    rtt = _mean(base, "vegas-l", LOW, "x_rtt_s")
    rate = _mean(base, "vegas-l", LOW, "x_mbps")
    window = rate * 1e6 * rtt / (MSS_BYTES * 8)
    detail = [
        f"350 packets of {MSS_BYTES} bytes per round trip at the paper's 2.9 Mbit/s mean a round trip of "
        f"{needed:.2f} s. Here it takes {rtt:.2f} s, queue included, and the {rate:.2f} Mbit/s that Vegas-L "
        f"gets are {window:.0f} packets. The paper's window and throughput need a path of about two "
        "satellite hops."
    ]
    for name in ("two-hops", "two-hops-no-acks", "washington-dc", "washington-dc-buffer-100"):
        if name in sensitivity.variants:
            of = next(c for c in sensitivity.variants[name] if c.id == "V1").checks
            detail.append(
                f"With {choice(name)}: {of[0].measured.mean:.0f} packets, {of[1].measured.mean:.2f} times "
                "Vegas."
            )
    detail.append(
        "The paper contradicts itself on the fluctuation: it first says that Vegas-L's window fluctuates "
        "little, then that Veno and Vegas-L have some sharp fluctuations at the low error rate."
    )
    short = f"350 packets at 2.9 Mbit/s need an RTT of {needed:.2f} s, one hop gives {rtt:.2f} s"
    return (short if rtt < (1 - SAME) * needed else ""), detail


def _v2(base: pl.DataFrame, sensitivity: Sensitivity) -> tuple[str, list[str]]:
    a, veno, b = (_mean(base, cc, LOW, "x_mbps") for cc in ("vegas-a", "veno", "vegas-l"))
    each = base.filter((pl.col("cc") == "vegas-l") & (pl.col("per") == LOW))["x_mbps"].to_list()
    lost = {cc: _mean(base, cc, LOW, "x_lost") for cc in ("veno", "vegas-a", "vegas-l")}
    total = _mean(base, "vegas", LOW, "x_mbps") + _mean(base, "vegas", LOW, "newreno_mbps")
    printed = claims.THROUGHPUT["vegas"] + claims.NEWRENO_AGAINST["vegas"]
    uplink = _mean(base, "vegas-l", LOW, "newreno_uplink_lost")
    detail = [
        f"Vegas and NewReno get {total:.2f} Mbit/s together, in the paper {printed:.1f}. Data and ACKs share "
        f"a queue of {BASE.buffer_packets} packets. ACKs that waited behind data packets arrive in clusters, "
        "so the sources send in bursts (ACK compression, as with two-way traffic); the queue overflows "
        f"though it is short in the mean ({_mean(base, 'vegas', LOW, 'queue'):.1f} packets) and the downlink "
        f"used to {_mean(base, 'vegas', LOW, 'utilisation'):.0%}."
    ]
    if "no-acks" in sensitivity.variants:
        of = next(c for c in sensitivity.variants["no-acks"] if c.id == "V2").checks
        vegas_l, vegas, against_l, against = (of[i].measured.mean for i in range(4))
        detail.append(
            f"With ACKs that pass this queue by, Vegas gets {vegas:.2f} and NewReno beside it {against:.2f} "
            f"Mbit/s, Vegas-L {vegas_l:.2f} and NewReno {against_l:.2f}. But then all packets in the queue "
            "are of one size, arrivals lock into the rhythm of departures, and one flow can lose at every "
            "full queue (a phase effect of drop-tail)."
        )
    if veno > (1 + SAME) * b:
        detail.append(
            f"Veno's {veno:.2f} Mbit/s depend on which RTT it believes. Here it takes the smallest of the "
            "last round trip, which bursts do not reach; the Veno module of ns-2 takes that of the latest "
            "ACK, sees congestion more often, and gets less than Vegas-L does here (docs/validation.md). "
            "The paper does not say which Veno it ran."
        )
    detail += [
        f"Vegas-L against Vegas-A: {b:.2f} and {a:.2f} Mbit/s; both raise alpha whenever the throughput "
        "rose, so both keep more packets queued than Vegas does.",
        "From one longitude of the satellite to another, Vegas-L's throughput varies between "
        f"{min(each):.2f} and {max(each):.2f} Mbit/s: the delays decide whose packets meet a full queue. A "
        "single run, as the paper seems to show, may give any value between.",
        "Data packets lost per run by flow 1: "
        + ", ".join(f"{plain(n)} as {claims.label(cc)}" for cc, n in lost.items())
        + f"; by NewReno beside Vegas-L {plain(_mean(base, 'vegas-l', LOW, 'newreno_lost'))}, of which "
        f"{plain(uplink)} at its own uplink, where its first slow start ends.",
    ]
    reasons = []
    if veno > (1 + SAME) * b:
        reasons.append(f"Veno gets more than Vegas-L ({veno:.2f} to {b:.2f} Mbit/s)")
    elif abs(a / b - 1) < SAME:
        reasons.append("Vegas-A and Vegas-L are nearly equal")
    if total < (1 - SAME) * printed:
        reasons.append(f"Vegas and NewReno get {total:.1f} Mbit/s together, in the paper {printed:.1f}")
    return "; ".join(reasons), detail


def _v3(base: pl.DataFrame, sensitivity: Sensitivity) -> tuple[str, list[str]]:
    mine = {cc: _mean(base, cc, LOW, "x_mbps") for cc in ALGORITHMS}
    reno = {cc: _mean(base, cc, LOW, "newreno_mbps") for cc in ALGORITHMS}
    detail = [
        "The index follows from V2's throughputs, flow 1 against NewReno in Mbit/s: "
        + ", ".join(f"{claims.label(cc)} {mine[cc]:.2f} to {reno[cc]:.2f}" for cc in ALGORITHMS)
        + ". It does not say which of the two flows has more. The paper's own throughputs give 0.807 for "
        "Vegas and 0.908 for Vegas-L."
    ]
    detail.append(
        "Single runs spread: "
        + ", ".join(
            f"{min(j):.3f} to {max(j):.3f} for {claims.label(cc)}"
            for cc in ALGORITHMS
            for j in [base.filter((pl.col("cc") == cc) & (pl.col("per") == LOW))["jain"].to_list()]
        )
        + "."
    )
    if mine["veno"] > (1 + SAME) * reno["veno"]:
        return f"Veno takes {mine['veno'] / reno['veno']:.1f} times NewReno's throughput", detail
    if mine["vegas-l"] > (1 + SAME) * reno["vegas-l"]:
        return "Vegas-L is unfair in the other direction", detail
    return "", detail


def _same_at_high(base: pl.DataFrame, column: str) -> tuple[float, float, bool]:
    a, b = (_mean(base, cc, HIGH, column) for cc in ("vegas-a", "vegas"))
    return a, b, abs(a / b - 1) < SAME


def _v4(base: pl.DataFrame, sensitivity: Sensitivity) -> tuple[str, list[str]]:
    a, b, same = _same_at_high(base, "cwnd_steady")
    low, high = (_mean(base, "vegas", per, "cwnd_steady") for per in (LOW, HIGH))
    detail = [
        f"At the high error rate Vegas-A's window is {a:.0f} packets and Vegas's {b:.0f}. Random losses keep "
        "the queue empty, so Diff stays below alpha = 1, where Vegas-A (figure 1, line 15) grows as Vegas "
        "does; after a loss both keep three quarters. The paper does not print Vegas-A's loss response; one "
        "that cuts deeper, or resets alpha and the window, would explain its result.",
        f"Vegas's window is {low:.0f} packets at the low and {high:.0f} at the high error rate: at the low "
        "rate NewReno, not loss, holds it down.",
    ]
    return ("Vegas-A acts as Vegas when losses keep the queue empty" if same else ""), detail


def _v5(base: pl.DataFrame, sensitivity: Sensitivity) -> tuple[str, list[str]]:
    a, b, same = _same_at_high(base, "x_mbps")
    rtt = fmean(base.filter(pl.col("per") == HIGH)["newreno_rtt_s"].to_list())
    law = RENO_CONSTANT / HIGH**0.5 * MSS_BYTES * 8 / rtt / 1e6
    detail = [
        f"NewReno over {rtt:.2f} s at a loss rate of 1e-3 gets {law:.2f} Mbit/s by the square-root law, near "
        "what is measured; the paper's 0.5 Mbit/s needs a longer path or more loss."
    ]
    if "loss-every-link" in sensitivity.variants:
        of = next(c for c in sensitivity.variants["loss-every-link"] if c.id == "V5").checks
        detail.append(f"With packets lost on the uplinks too it gets {of[0].measured.mean:.2f} Mbit/s.")
    detail.append(
        f"Vegas-A gets {a:.2f} and Vegas {b:.2f} Mbit/s: see V4 for why they are alike here and not in the "
        "paper."
    )
    return ("Vegas-A does as well as Vegas (see V4)" if same else ""), detail


def _v6(base: pl.DataFrame, sensitivity: Sensitivity) -> tuple[str, list[str]]:
    x = {cc: _mean(base, cc, HIGH, "x_mbps") for cc in ("vegas", "vegas-a", "veno", "vegas-l")}
    reno = fmean(base.filter(pl.col("per") == HIGH)["newreno_mbps"].to_list())
    faster = min(x.values()) > reno
    detail = [
        "Throughput of flow 1: "
        + ", ".join(f"{claims.label(cc)} {v:.2f}" for cc, v in x.items())
        + f" Mbit/s, beside NewReno's {reno:.2f}."
        + (
            " All are above NewReno, so the slowest is the fairest; the paper's Vegas-A must have fallen "
            "below."
            if faster
            else ""
        )
    ]
    return ("all are faster than NewReno, so the slowest is the fairest" if faster else ""), detail


_REASONS = {"V1": _v1, "V2": _v2, "V3": _v3, "V4": _v4, "V5": _v5, "V6": _v6}
