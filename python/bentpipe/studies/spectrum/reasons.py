"""Why a claim does or does not reproduce: notes and details, computed from the runs."""

from __future__ import annotations

from collections.abc import Callable
from statistics import fmean

import numpy as np
import polars as pl

from bentpipe.analysis import convergence, convergence_time
from bentpipe.studies.claim import Claim, Verdict
from bentpipe.studies.page import plain
from bentpipe.studies.spectrum import claims
from bentpipe.studies.spectrum.sections import Sensitivity, choice
from bentpipe.studies.spectrum.setup import SUBTRACT, label


def explain(claim: Claim, base: pl.DataFrame, sensitivity: Sensitivity) -> None:
    """Write the note (short) and the detail (for the page) of a claim."""
    claim.note = claim.tally()
    failing = [c for c in claim.checks if not c.holds]
    if claim.id in _CLOSED:
        short, detail = _CLOSED[claim.id]()
        claim.note += f"; closed form, without seeds{f'; {short}' if short and failing else ''}"
        claim.detail += ["A closed form has no seeds: the intervals have no width.", *detail]
        return
    short, detail = _MEASURED[claim.id](base)
    if short and failing:
        claim.note += f"; {short}"
    claim.detail += detail
    changed = sensitivity.changed(claim.id)
    if not changed:
        claim.detail.append("No other choice that was tried changes the verdict (section on choices).")
        return
    claim.detail.append(
        "Over the seeds of the sensitivity runs the verdict changes with: "
        + "; ".join(f"{choice(n)} ({v})" for n, v in changed.items())
        + "."
    )
    if claim.verdict != Verdict.REPRODUCED and Verdict.REPRODUCED in changed.values():
        claim.note += "; another choice reproduces it"


def _k1() -> tuple[str, list[str]]:
    return "", [
        "For k = -1/3 the paper prints 1.89 and 1.4, which follow from Gamma(5/2) rounded to 1.3; unrounded "
        "they "
        "are 1.861 and 1.382."
    ]


def _k11() -> tuple[str, list[str]]:
    detail = [
        "The paper prints a difference of 6.0 packets for TCP in experiment 2; its own formula, W2 - W1 of "
        "the "
        "windows printed beside it (8.8 and 13.8), gives 5.0.",
    ]
    controls: tuple[convergence_time.Control, ...] = ("simd", "aimd")
    for other in controls:
        found = convergence_time.region(other, "iiad", second_beta=SUBTRACT)
        share = float(np.mean(found.ratio[np.isfinite(found.ratio)] > 1))
        detail.append(
            f"By the closed forms IIAD is slower than {other.upper()} from {share:.1%} of the starts, not "
            "from all: "
            "it is faster from a few where the windows are small or nearly equal."
        )
    return "the formulas contradict the text in two places", detail


def _k12() -> tuple[str, list[str]]:
    path = convergence.trajectory(10, 70, 100, 0, 0, SUBTRACT, epochs=4000)
    return "", [
        f"AIAD(2/3) is case (c) of section 4.1: from 10 and 70 packets it comes to a difference of "
        f"{plain(float(path.gap[-1]))} packets after 4000 epochs.",
        "Equation 14 is tested for epochs that begin after a loss, where the sum is 1 - Delta_D. The paper "
        "states "
        "it for any start between there and the efficiency line; a start close to that line may end its "
        "first "
        "epoch less fair, because the loss is then larger than the increase before it.",
    ]


def _k2(base: pl.DataFrame) -> tuple[str, list[str]]:
    rates = claims.loss_rates(base)
    at = min(rates, key=lambda p: abs(p - claims.WORST_LOSS))
    ratios = {c: fmean(claims.relative(base, c, at)) for c in ("simd", "simd-8", "simd-4", "aimd-8")}
    text = ", ".join(f"{label(c)} {v:.2f}" for c, v in ratios.items())
    return f"at p = {at:g}: {text}", [f"Throughput over TCP's at p = {at:g}: {text}."]


def _share(cc: str) -> Callable[[pl.DataFrame], tuple[str, list[str]]]:
    def reason(base: pl.DataFrame) -> tuple[str, list[str]]:
        detail = []
        for queue in ("red-ecn", "red", "drop-tail"):
            cells = [
                f"{2 * n} flows {fmean(claims.share_column(base, cc, queue, n, 'ratio')):.2f} "
                f"({fmean(claims.share_column(base, cc, queue, n, 'loss')):.1%} lost or marked)"
                for n in claims.counts(base, 15.0)
            ]
            detail.append(f"15 Mbit/s, {queue}: {label(cc)} over TCP with {'; '.join(cells)}.")
        detail.append(
            "With few flows the share still carries the end of slow start: a cut by "
            + ("a sixteenth" if cc == "simd" else "two thirds of a packet")
            + " there leaves a window that many losses must bring down. The choice to halve in slow start "
            "(section on choices) removes this."
        )
        return ("few flows keep the window of slow start for long" if cc == "aiad" else ""), detail

    return reason


def _k5(base: pl.DataFrame) -> tuple[str, list[str]]:
    at = claims.of(base, "smooth", mbps=15.0)
    ratio = {
        q: {
            c: fmean(claims.of_cc(claims.of(at, "smooth", queue=q), c)["ratio"].to_list())
            for c in ("aimd", "simd")
        }
        for q in ("red", "red-ecn")
    }
    text = "; ".join(f"{q}: AIMD {v['aimd']:.2f}, SIMD {v['simd']:.2f}" for q, v in ratio.items())
    return f"AIMD keeps its share at 15 Mbit/s ({text} of TCP's)", [
        f"Throughput over TCP's at 15 Mbit/s: {text}. The paper's figures show AIMD far below its share "
        "there. It is "
        "the same rule here; the likely reason is the timer: ns-2 of 2001 with ticks of 0.1 s timed out "
        "more, "
        "and a control that grows by a tenth of a packet per round trip needs long to return from the small "
        "ssthresh that repeated timeouts leave."
    ]


def _steps(base: pl.DataFrame) -> tuple[str, list[str]]:
    return (
        "one flow at one change is noisy: the first touch of the new mean is what a reader takes from the "
        "plot",
        [
            "The paper shows one run and no number. Here the time is that until the window first is within a "
            "packet of "
            "its later mean, which a window that varies much touches early."
        ],
    )


def _k8(base: pl.DataFrame) -> tuple[str, list[str]]:
    at = claims.of(base, "square")
    outs = {c: fmean(claims.of_cc(at, c)["timeouts"].to_list()) for c in ("tcp", "simd", "aiad")}
    text = ", ".join(f"{label(c)} {v:.0f}" for c, v in outs.items())
    return "losses to halve depend on timeouts in the burst", [
        "The losses to halve are, as the paper says, hard to measure: the burst of losses when the traffic "
        "comes often "
        f"ends in a timeout, whatever the control (timeouts per run: {text})."
    ]


def _k9(base: pl.DataFrame) -> tuple[str, list[str]]:
    return "T2 is the first moment within 10 packets, which a window that varies much meets by chance", [
        "The paper defines T2 as the time until the difference stays within the bound, but a TCP flow never "
        "stays "
        "there; the first moment is what its 68 round trips can mean. The section on simulation and analysis "
        "gives both."
    ]


def _k10(base: pl.DataFrame) -> tuple[str, list[str]]:
    at = claims.of_cc(claims.of(base, "chain-2"), "tcp")
    w1, w2, total, t1 = (fmean(at[c].to_list()) for c in ("w1", "w2", "total", "t1"))
    theory = (total - w1 - w2) / 2
    text = f"TCP starts from {w1:.0f} and {w2:.0f} packets, not 8.8 and 13.8"
    return text, [
        f"{text}: flow 2 gets more beside the background of the last link than in the paper, whose delays "
        "are not "
        f"in the text. From these windows the closed form gives {theory:.0f} round trips, and {t1:.0f} were "
        "measured. The difference of the windows at that moment is one sample per run and varies much."
    ]


_CLOSED = {"K1": _k1, "K11": _k11, "K12": _k12}
_MEASURED: dict[str, Callable[[pl.DataFrame], tuple[str, list[str]]]] = {
    "K2": _k2,
    "K3": _share("simd"),
    "K4": _share("aiad"),
    "K5": _k5,
    "K6": _steps,
    "K7": _steps,
    "K8": _k8,
    "K9": _k9,
    "K10": _k10,
}
