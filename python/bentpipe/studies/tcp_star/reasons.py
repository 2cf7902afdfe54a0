"""Why a claim does or does not reproduce: notes and details, computed from the runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from statistics import fmean

import polars as pl

from bentpipe.studies import tried
from bentpipe.studies.claim import Claim, Verdict
from bentpipe.studies.page import plain
from bentpipe.studies.tcp_star import claims
from bentpipe.studies.tcp_star.claims import BR, STAR, J
from bentpipe.studies.tcp_star.sections import Sensitivity, choice
from bentpipe.studies.tcp_star.setup import ACKS, BERS, COUNTS, LOSS, MIXED, OFTEN, RARE, SAME, rto_name


def explain(claim: Claim, runs: pl.DataFrame, sensitivity: Sensitivity) -> None:
    """Write the note (short) and the detail (for the page) of a claim."""
    base = runs.filter(pl.col("variant") == "base")
    short, detail = _REASONS[claim.id](base, runs, sensitivity)
    failed = [c.what for c in claim.checks if not c.holds]
    claim.note = claim.tally() + (f"; {short}" if short else "")
    if failed:
        claim.detail.append("Does not hold: " + "; ".join(failed) + ".")
    if clause := tried.nearest(claim, sensitivity, choice):
        claim.note += f"; {clause}"
    claim.detail += [*detail, *tried.told(claim, sensitivity, choice)]
    claim.detail += _elsewhere(claim.id, sensitivity)


def _elsewhere(key: str, sensitivity: Sensitivity) -> list[str]:
    """Under which other choices the claim fares better or worse, over the same seeds."""
    steps = sensitivity.compared(key)
    fared = {n: found.verdict for n in steps if (found := sensitivity.of(n, key)) is not None}
    base = sensitivity.of("base", key)
    assert base is not None
    said = []
    for what, names in (
        ("better", [n for n, step in steps.items() if step > 0]),
        ("worse", [n for n, step in steps.items() if step < 0]),
    ):
        if names:
            said.append(f"{what} with: {_list(names, fared)}")
        elif base.verdict != (Verdict.REPRODUCED if what == "better" else Verdict.NOT_REPRODUCED):
            said.append(f"{what} under no other choice tried")
    seeds = base.checks[0].measured.n
    return [
        f"Over the {seeds} seeds of the last section ({base.verdict} in the base) it fares "
        + "; ".join(said)
        + "."
    ]


def _list(names: list[str], fared: Mapping[str, Verdict]) -> str:
    return "; ".join(f"{choice(n)} ({fared[n]})" for n in names)


def _means(base: pl.DataFrame, column: str, part: str, ber: float = 0.0, n: int = 1) -> dict[str, float]:
    return {x: fmean(v) for x, v in claims.samples(base, column, part, ber, n).items()}


def _said(values: Mapping[str, float], unit: str = "") -> str:
    return ", ".join(f"{x} {plain(v)}" for x, v in values.items()) + (f" {unit}" if unit else "")


def _s1(base: pl.DataFrame, runs: pl.DataFrame, found: Sensitivity) -> tuple[str, list[str]]:
    detail = [
        "Throughput: "
        + "; ".join(f"{claims.at(b)}: {_said(_means(base, 'x_mbps', LOSS, b))}" for b in BERS[:-1])
        + " Mbit/s.",
        "A loss on an empty queue costs TCP-J and WestwoodBR little as well, since they go to an estimate or "
        "keep their window; what TCP-STAR has over them is that its window is Reno's plus the estimate, so "
        "it stays above the receiver's limit and needs no growth after a loss.",
    ]
    variants = {n: found.of(n, "S1") for n in ("newreno", "reno", "queue-64")}
    for name, claim in variants.items():
        if claim is not None:
            margins = ", ".join(
                f"{plain(c.measured.mean)} at {claims.at(b)}"
                for b, c in zip(BERS, claim.checks, strict=False)
            )
            detail.append(f"With {choice(name)} its margin over the best other is {margins} Mbit/s.")
    if variants["newreno"] is not None:
        detail.append(
            "NewReno recovery with burst avoidance hurts TCP-STAR most: it fills the receiver's window, so "
            "it can send nothing new while the first hole blocks it, leaves recovery with almost nothing "
            "in flight, and doubles from there whatever LWC says."
        )
    if variants["queue-64"] is not None:
        detail.append(
            "With a queue of 64 segments LWC overshoots: ACKs that arrive in bursts make the estimate as "
            "large as the link while the queue is full already."
        )
    return "", detail


def _s2(base: pl.DataFrame, runs: pl.DataFrame, found: Sensitivity) -> tuple[str, list[str]]:
    worst = BERS[-1]
    mbps, timeouts = (_means(base, c, LOSS, worst) for c in ("x_mbps", "timeouts"))
    others = max(v for x, v in mbps.items() if x != STAR)
    least = max(mbps.values()) - min(mbps.values())
    detail = [
        f"Throughput: {_said(mbps, 'Mbit/s')}; timeouts per run: {_said(timeouts)}. Timeouts dominate, as "
        f"the paper says, but TCP-STAR is {mbps[STAR] / others:.0f} times as fast as the best other, "
        "most likely because after each of them LWC lifts the window to the estimate with the first ACKs. "
        "The estimate is smoothed per ACK, so a burst of a few ACKs at the link's rate drives it up even "
        "when the flow is slow.",
        f"On the paper's linear axis to 10 Mbit/s the four lie within {least:.1f} Mbit/s of each other; "
        f"{claims.ALMOST_EQUAL_MBPS:g} are allowed for 'almost equal'.",
    ]
    without, base_few = found.of("no-aen", "S2"), found.of("base", "S2")
    if without is not None and base_few is not None:
        detail.append(
            f"Without AEN they lie within {plain(without.checks[0].measured.mean)} Mbit/s, with it "
            f"{plain(base_few.checks[0].measured.mean)} over the same seeds: AEN is not the cause."
        )
    detail.append(
        "An estimate that is reset at a timeout, or fed by one sample per round trip, would make TCP-STAR "
        "like the others here; the paper gives neither."
    )
    return f"{STAR} {plain(mbps[STAR])}, the others at most {plain(others)} Mbit/s", detail


def _s3(base: pl.DataFrame, runs: pl.DataFrame, found: Sensitivity) -> tuple[str, list[str]]:
    full = _means(base, "full_s", "startup")
    detail = [
        f"Time to 432 segments: {_said(full, 's')}. TCP-STAR too begins with a slow start: until a round "
        "trip has some ten ACKs, the estimate is small.",
    ]
    other = found.of("no-delayed-ack", "S3")
    if other is not None:
        detail.append(
            f"Without delayed ACKs NewReno needs {plain(other.checks[0].measured.mean)} s, so the paper's "
            "8 s speak for them."
        )
    return f"{STAR} full after {plain(full[STAR])} s", detail


def _s4(base: pl.DataFrame, runs: pl.DataFrame, found: Sensitivity) -> tuple[str, list[str]]:
    back, timeouts = (_means(base, c, ACKS) for c in ("recovery_s", "timeouts"))
    none = runs.filter(pl.col("variant") == rto_name(1.0, aen=False))
    long, long_none = (
        fmean(runs.filter(pl.col("variant") == rto_name(2.0, aen=a))["restart_s"].to_list())
        for a in (True, False)
    )
    detail = [
        f"Time from the end of the outage to full rate: {_said(back, 's')} (a run ends 28 s after it).",
        "The picture is the paper's, but the reason is not. With a least RTO of 1 s the probe of 11.25 s "
        f"goes unanswered (its answer falls into the outage), and {timeouts[STAR]:.0f} timeout is acted "
        "on; the retransmission's cumulative ACK then lifts the window to Reno's plus the estimate at once "
        f"(LWC). Without AEN the data arrives again at {fmean(none['restart_s'].to_list()):.2f} s, since "
        f"the timeout doubles, and with the same window. With a least RTO of 2 s the probe is answered and "
        f"AEN does what the paper says ({long:.2f} s), but without AEN LWC gives the same ({long_none:.2f} "
        "s).",
    ]
    return ("but by LWC rather than AEN" if timeouts[STAR] > 0 else ""), detail


def _s5(base: pl.DataFrame, runs: pl.DataFrame, found: Sensitivity) -> tuple[str, list[str]]:
    crowd = {x: fmean(v) for x, v in claims.over(base, MIXED, RARE, COUNTS[1:]).items()}
    middle = COUNTS[len(COUNTS) // 2]
    x, reno = (_means(base, c, MIXED, RARE, middle) for c in ("x_mbps", "reno_mbps"))
    detail = [
        f"Mean J over N = {COUNTS[1]} to {COUNTS[-1]}: {_said(crowd)}. TCP-STAR is below TCP-J by "
        f"{crowd[J] - crowd[STAR]:.3f}; the rule allows {claims.TIED:g} for curves that overlap.",
        f"At N = {middle} a flow gets {_said(x)}, and a NewReno flow beside them {_said(reno)} Mbit/s: the "
        "index falls because NewReno halves at each loss and the others go to their estimate.",
    ]
    detail.append(
        f"What the paper calls a little, TCP-STAR below WestwoodBR, is {crowd[BR] - crowd[STAR]:.2f} here."
    )
    other = found.of("queue-64", "S5")
    if other is not None:
        detail.append(
            "With 64 segments in the link's queue and 432 in the sockets, flows congest the link at N = 10 "
            f"already, and {sum(c.holds for c in other.checks)} of {len(other.checks)} checks hold: the "
            "paper's 64 are more likely the buffers of sender and receiver."
        )
    return _apart(crowd, base, found, "S5", detail), detail


def _apart(
    crowd: Mapping[str, float], base: pl.DataFrame, found: Sensitivity, key: str, detail: list[str]
) -> str:
    """The clause on the difference of TCP-STAR and TCP-J, if they do not overlap; adds its causes."""
    gap = crowd[J] - crowd[STAR]
    if gap <= claims.TIED:
        return ""
    drops = _means(base, "queue_drops", MIXED, {"S5": RARE, "S6": OFTEN}[key], COUNTS[-1])
    detail.append(
        f"At a loss both go to the same estimate, but {STAR} has Reno's window on top of it: at N = "
        f"{COUNTS[-1]} {plain(drops[STAR])} packets are lost at the queue in a run, with {J} "
        f"{plain(drops[J])}."
    )
    with_it, without = found.of("base", key), found.of("no-aen", key)
    if with_it is not None and without is not None:
        detail.append(
            f"AEN has a part in it, since a probe spares {STAR} timeouts that the others act on: the "
            f"difference is {with_it.checks[-3].measured.mean:.3f} with AEN and "
            f"{without.checks[-3].measured.mean:.3f} without, over the same seeds."
        )
    return f"{STAR} lies {gap:.3f} below {J}"


def _s6(base: pl.DataFrame, runs: pl.DataFrame, found: Sensitivity) -> tuple[str, list[str]]:
    first = COUNTS[0]
    rare, often = (_means(base, "jain", MIXED, ber, first) for ber in (RARE, OFTEN))
    crowd = {x: fmean(v) for x, v in claims.over(base, MIXED, OFTEN, COUNTS).items()}
    detail = [
        f"J at N = {first}: {_said(rare)} at 1e-8, {_said(often)} at 1e-6. Mean over all N at 1e-6: "
        f"{_said(crowd)}; TCP-STAR is below TCP-J by {crowd[J] - crowd[STAR]:.3f}, the rule allows "
        f"{claims.TIED:g}.",
    ]
    return _apart(crowd, base, found, "S6", detail), detail


def _s7(base: pl.DataFrame, runs: pl.DataFrame, found: Sensitivity) -> tuple[str, list[str]]:
    most = COUNTS[-1]
    j, drops, resent = (_means(base, c, SAME, OFTEN, most) for c in ("jain", "queue_drops", "resent"))
    again = {x: 100 * v for x, v in resent.items()}
    detail = [
        f"J at N = {most}: {_said(j)}. Packets lost at the queue in a run: {_said(drops)}; segments sent "
        f"again: {_said(again, '%')}. Reno's "
        "window plus the estimate is more than a flow's share, so TCP-STAR's flows keep overrunning the "
        "queue.",
    ]
    if j[BR] < min(j[STAR], j[J]):
        detail.append(
            "WestwoodBR is the least fair here, probably because a flow that takes a loss for an error "
            "keeps its window, so that flows differ for longer. Its loss discrimination is a reconstruction."
        )
    long = found.of("long", "S7")
    if long is not None:
        means = ", ".join(f"{x} {plain(c.measured.mean)}" for x, c in zip(j, long.checks, strict=False))
        detail.append(f"Over runs three times as long the mean J over all N is: {means}.")
    low = min(j, key=lambda name: j[name])
    return (f"{low} {plain(j[low])} at N = {most}" if j[low] < 1 - claims.NEAR_ONE else ""), detail


_Reason = Callable[[pl.DataFrame, pl.DataFrame, Sensitivity], tuple[str, list[str]]]
_REASONS: Mapping[str, _Reason] = {
    "S1": _s1,
    "S2": _s2,
    "S3": _s3,
    "S4": _s4,
    "S5": _s5,
    "S6": _s6,
    "S7": _s7,
}
