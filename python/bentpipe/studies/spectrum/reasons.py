"""Why a claim does or does not reproduce: notes and details, computed from the runs."""

from __future__ import annotations

from collections.abc import Callable
from statistics import fmean

import numpy as np
import polars as pl

from bentpipe.analysis import convergence, convergence_time
from bentpipe.studies import tried
from bentpipe.studies.claim import Claim, interval
from bentpipe.studies.page import plain, plus_minus
from bentpipe.studies.spectrum import claims, closed
from bentpipe.studies.spectrum.sections import Sensitivity, choice
from bentpipe.studies.spectrum.setup import CHAIN, FIVE, QUEUES, SUBTRACT, label

#: The short reason (for the note) and the paragraphs (for the page).
Reason = tuple[str, list[str]]


def explain(claim: Claim, base: pl.DataFrame, sensitivity: Sensitivity) -> None:
    """Write the note (short) and the detail (for the page) of a claim."""
    claim.note = claim.tally()
    failing = [c for c in claim.checks if not c.holds]
    if claim.id in _CLOSED:
        short, detail = _CLOSED[claim.id]()
        claim.note += f"; closed form, without seeds{f'; {short}' if short and failing else ''}"
        claim.detail += ["A closed form has no seeds: the intervals have no width.", *detail]
        return
    short, detail = _MEASURED[claim.id](base, sensitivity)
    if short and failing:
        claim.note += f"; {short}"
    if clause := tried.nearest(claim, sensitivity, choice):
        claim.note += f"; {clause}"
    claim.detail += [*detail, *tried.told(claim, sensitivity, choice)]
    changed = sensitivity.changed(claim.id)
    if not changed:
        claim.detail.append("No other choice that was tried changes the verdict (section on choices).")
        return
    claim.detail.append(
        "Over the seeds of the sensitivity runs the verdict changes with: "
        + "; ".join(f"{choice(n)} ({v})" for n, v in changed.items())
        + "."
    )


def _k1() -> Reason:
    return "", [
        "For k = -1/3 the paper prints 1.89 and 1.4, which follow from Gamma(5/2) rounded to 1.3; unrounded "
        "they "
        "are 1.861 and 1.382."
    ]


def _k11() -> Reason:
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


def _k12() -> Reason:
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


def _k2(base: pl.DataFrame, _: Sensitivity) -> Reason:
    rates = claims.loss_rates(base)
    at = min(rates, key=lambda p: abs(p - claims.WORST_LOSS))
    ratios = {c: fmean(claims.relative(base, c, at)) for c in ("simd", "simd-8", "simd-4", "aimd-8")}
    text = ", ".join(f"{label(c)} {v:.2f}" for c, v in ratios.items())
    curve = ", ".join(f"{fmean(claims.relative(base, 'simd', p)):.2f} at {p:g}" for p in rates)
    return f"at p = {at:g}: {text}", [
        f"Throughput over TCP's at p = {at:g}: {text}. {label('simd')} over TCP by loss rate: {curve}. The "
        "dip where timeouts and duplicate ACKs share the work, and the order of the four, are the paper's "
        "if the checks above say so; how deep it is depends on the timer (section on choices)."
    ]


def _share(cc: str) -> Callable[[pl.DataFrame, Sensitivity], Reason]:
    def reason(base: pl.DataFrame, sensitivity: Sensitivity) -> Reason:
        detail = []
        every = claims.counts(base, 15.0)
        for queue, name in QUEUES.items():
            cells = [
                f"{2 * n} flows {fmean(claims.share_column(base, cc, queue, n, 'ratio')):.2f} "
                f"({fmean(claims.share_column(base, cc, queue, n, 'loss')):.1%} lost or marked)"
                for n in every
            ]
            detail.append(f"15 Mbit/s, {name}: {label(cc)} over TCP with {'; '.join(cells)}.")
        low = [
            f"{mean:.2f} with: {choice(n)}"
            for n in ("share-160s", "ss-half", "closed", "dumbbell-50ms")
            if (mean := sensitivity.low_share(n, cc)) is not None
        ]
        if low:
            detail.append(
                f"Mean of {label(cc)} over TCP at low loss, RED and RED with ECN: "
                f"{sensitivity.low_share('base', cc):.2f} in the base over the seeds of the last section; "
                + "; ".join(low)
                + "."
            )
        detail.append(
            "With few flows the share carries the end of slow start for minutes: a cut by "
            + ("a sixteenth" if cc == "simd" else "two thirds of a packet")
            + " there leaves a window that many losses must bring down. Longer runs, or to halve in slow "
            "start as ns-2.35 does, remove it."
        )
        few = {q: fmean(claims.share_column(base, cc, q, every[0], "ratio")) for q in QUEUES}
        lead = max(few, key=lambda q: few[q])
        short = (
            f"{2 * every[0]} flows over {QUEUES[lead]}: {few[lead]:.2f} of TCP's, the end of slow start"
            if few[lead] > 1 + claims.CLOSE
            else ""
        )
        return short, detail

    return reason


def _k5(base: pl.DataFrame, sensitivity: Sensitivity) -> Reason:
    at = claims.of(base, "smooth", mbps=15.0)
    of = {
        q: {c: claims.of_cc(claims.of(at, "smooth", queue=q), c) for c in ("aimd", "simd")}
        for q in ("red", "red-ecn")
    }
    ratio = {q: {c: fmean(v["ratio"].to_list()) for c, v in each.items()} for q, each in of.items()}
    text = "; ".join(f"{QUEUES[q]}: AIMD {v['aimd']:.2f}, SIMD {v['simd']:.2f}" for q, v in ratio.items())
    least = fmean(of["red"]["aimd"]["least"].to_list())
    detail = [f"Throughput over TCP's at 15 Mbit/s: {text}."]
    short = f"AIMD keeps its share at 15 Mbit/s ({text} of TCP's)"
    busy = sensitivity.busy.filter(pl.col("cc") == "aimd") if sensitivity.busy.height else pl.DataFrame()
    if busy.height:
        means = busy.group_by("variant", maintain_order=True).agg(pl.col("ratio", "loss").mean())
        low, high = float(means["ratio"].min()), float(means["ratio"].max())  # type: ignore[arg-type]
        most = float(means["loss"].max())  # type: ignore[arg-type]
        others = means.height - 1
        detail.append(
            f"AIMD's share lies between {low:.2f} and {high:.2f} of TCP's under the base and {others} other "
            f"choices of timer, recovery, queue, delay and rate, with up to {most:.1%} of the packets lost "
            "(table of claim K5 in the section on choices): no timer and no loss rate tried takes it away."
        )
        short += f", and under {others} other choice{'' if others == 1 else 's'} ({low:.2f} to {high:.2f})"
    detail.append(
        "The paper shows one flow of each kind for 20 s. AIMD's flows converge slowly (claim K9), so single "
        f"ones differ: over 100 s the slowest of the 16 has {least:.2f} of the mean of TCP. One such flow "
        "is the likely cause."
    )
    return short, detail


def _steps(base: pl.DataFrame, experiment: str) -> Reason:
    at = claims.of(base, experiment)
    four = {c: claims.of_cc(at, c) for c in ("tcp", "aimd", "simd", "iiad")}
    times = ", ".join(f"{label(c)} {plus_minus(interval(v['settle_s']))}" for c, v in four.items())
    cov = ", ".join(f"{label(c)} {fmean(v['cov'].to_list()):.2f}" for c, v in four.items())
    fell = ", ".join(f"{label(c)} {fmean(v['fell'].to_list()):.0%}" for c, v in four.items())
    aimd, simd = (fmean(four[c]["settle_s"].to_list()) for c in ("aimd", "simd"))
    detail = [
        "The paper shows one run of each and no number. Seconds until the mean window of the next 2 s is "
        f"within a packet of its later mean: {times}. Variation of the window before: {cov}. One flow at "
        "one change is noisy: by table 3 AIMD and SIMD need equally many losses to come down, IIAD at these "
        "windows half as many again.",
    ]
    if experiment == "load-doubles":
        detail.append(
            "The flows that join slow-start together, and the burst of losses ends in a timeout of the "
            f"tagged flow in {fell} of the runs."
        )
        return f"SIMD settles in {simd:.1f} s, AIMD in {aimd:.1f} s, which the paper calls alike", detail
    return f"seconds to settle: {times}", detail


def _k8(base: pl.DataFrame, _: Sensitivity) -> Reason:
    at = claims.of(base, "square")
    outs = {c: fmean(claims.of_cc(at, c)["timeouts"].to_list()) for c in FIVE}
    text = ", ".join(f"{label(c)} {v:.0f}" for c, v in outs.items())
    grow = {c: fmean(claims.of_cc(at, c)["grow_double"].to_list()) / claims.GROW[c] for c in FIVE}
    shrink = {c: fmean(claims.of_cc(at, c)["shrink"].to_list()) / claims.SHRINK[c] for c in FIVE}
    ends = [f"{min(v.values()):.2f} to {max(v.values()):.2f}" for v in (grow, shrink)]
    return f"round trips to double {ends[0]} of the printed, losses to halve {ends[1]}", [
        "The losses to halve are, as the paper says, hard to measure: the burst of losses when the traffic "
        f"comes often ends in a timeout, whatever the control (timeouts per run: {text}). How many cuts "
        "come before it hangs on the queue and on the recovery (section on choices)."
    ]


def _k9(base: pl.DataFrame, _: Sensitivity) -> Reason:
    at = claims.of(base, "chain-1")
    share = {c: fmean(claims.of_cc(at, c)["t2"].to_list()) / claims.TO_FAIR[c] for c in CHAIN}
    stay = {c: fmean(claims.of_cc(at, c)["t2_stay"].to_list()) for c in CHAIN}
    text = ", ".join(f"{label(c)} {v:.2f}" for c, v in share.items())
    return f"measured over printed: {text}; the paper gives one run", [
        "The paper defines T2 as the time until the difference stays within the bound, but a TCP flow never "
        "stays there; the first moment is what its 68 round trips can mean. A window that varies much meets "
        "it by chance, so one run says little. Until it stays there for 2 s: "
        + ", ".join(f"{label(c)} {plain(v)}" for c, v in stay.items())
        + " round trips."
    ]


def _k10(base: pl.DataFrame, sensitivity: Sensitivity) -> Reason:
    at = claims.of_cc(claims.of(base, "chain-2"), "tcp")
    w1, w2, t1 = (fmean(at[c].to_list()) for c in ("w1", "w2", "t1"))
    theory = fmean(claims.analysed(base, 2, "tcp"))
    one, two = closed.CHAIN_2["tcp"]
    text = f"TCP starts from {w1:.0f} and {w2:.0f} packets, not {one:g} and {two:g}"
    gaps = ", ".join(
        f"{label(c)} {plus_minus(interval(claims.of_cc(claims.of(base, 'chain-2'), c)['gap']))}"
        for c in CHAIN
    )
    return text, [
        f"{text}: flow 2 gets more beside the background of the last link than in the paper, whose delays "
        "are not in the text; AIMD, IIAD and SIMD get about 30 packets there in the paper too, so its TCP "
        "run may have been caught just after a loss. From our windows the closed form gives TCP "
        f"{theory:.0f} round trips in the mean, and {t1:.0f} were measured. The difference of the windows "
        f"at that moment is one sample per run: {gaps}."
    ]


_CLOSED: dict[str, Callable[[], Reason]] = {"K1": _k1, "K11": _k11, "K12": _k12}
_MEASURED: dict[str, Callable[[pl.DataFrame, Sensitivity], Reason]] = {
    "K2": _k2,
    "K3": _share("simd"),
    "K4": _share("aiad"),
    "K5": _k5,
    "K6": lambda base, _: _steps(base, "load-doubles"),
    "K7": lambda base, _: _steps(base, "load-halves"),
    "K8": _k8,
    "K9": _k9,
    "K10": _k10,
}
