"""Why a claim does or does not reproduce: notes and details, computed from the runs."""

from __future__ import annotations

from collections.abc import Callable
from statistics import fmean

import polars as pl

from bentpipe.analysis import a_liad as analysis
from bentpipe.studies import tried
from bentpipe.studies.a_liad import claims
from bentpipe.studies.a_liad.sensitivity import Sensitivity, choice
from bentpipe.studies.a_liad.setup import BASE, GEO_S, HIGH, INTRA_S, LOW, NONE, RARE, RTTS_S, SHORT_S
from bentpipe.studies.claim import Claim
from bentpipe.studies.page import plain

Reason = tuple[str, list[str]]


def explain(claim: Claim, base: pl.DataFrame, sensitivity: Sensitivity) -> None:
    """Write the note (short) and the detail (for the page) of a claim."""
    short, detail = _REASONS[claim.id](base, sensitivity)
    failed = [c.what for c in claim.checks if not c.holds]
    claim.note = claim.tally() + (f"; {short}" if short else "")
    if failed:
        claim.detail.append("Does not hold: " + "; ".join(failed) + ".")
    claim.detail += detail
    if claim.id == "A10" or not sensitivity.variants:
        return
    if clause := tried.nearest(claim, sensitivity, choice):
        claim.note += f"; {clause}"
    claim.detail += tried.told(claim, sensitivity, choice)
    claim.detail.append(sensitivity.fares(claim, choice))


def _mean(
    base: pl.DataFrame, experiment: str, cc: str, column: str, rtt_s: float = GEO_S, per: float = NONE
) -> float:
    return fmean(claims.values(base, experiment, cc, column, rtt_s=rtt_s, per=per))


def _tried(sensitivity: Sensitivity, claim: str, index: int, names: tuple[str, ...], unit: str) -> list[str]:
    """The measured mean of a check in the base and under each choice of ``names``, over the same seeds.

    Empty if none of the choices was run.
    """
    found = [(choice(n), sensitivity.check(n, claim, index)) for n in names]
    told = [f"{plain(v)}{unit} with: {n}" for n, v in found if v is not None]
    of_base = next(c for c in sensitivity.base if c.id == claim).checks[index].measured.mean
    return [f"{plain(of_base)}{unit} in the base over these seeds", *told] if told else []


def _a1(base: pl.DataFrame, _: Sensitivity) -> Reason:
    first, last = (_mean(base, "fig1", "liad", "mbps", rtt, HIGH) for rtt in (RTTS_S[0], RTTS_S[-1]))
    rare = [_mean(base, "fig1", "liad", "mbps", rtt, RARE) for rtt in (RTTS_S[0], RTTS_S[-1])]
    fall = 1 - rare[1] / rare[0]
    window = float(analysis.window_at_loss(2.0))
    rate = float(analysis.rate(2.0, window, GEO_S)) * BASE.wire_bytes * 8 / 1e9
    straight = claims.linearity(RTTS_S, [1 / rtt for rtt in RTTS_S])
    return (
        f"a straight line, but only {fall:.0%} down: at 1e-8 no packet of a run is lost at random, so the "
        "link sets the rate and not the loss",
        [
            "At 1e-8 one packet in a hundred million is lost. Equation 9 then gives a window of "
            f"{window:,.0f} packets, {rate:.0f} Gbit/s at 600 ms: figure 1 must be a calculation, not a "
            "simulation of the paper's 10 Mbit/s. The small fall seen here is the longer slow start.",
            "Equation 9 gives exactly 1/RTT, of which a straight line in the RTT explains "
            f"{straight:.0%}; with loss that limits the rate (1 %) LIAD falls from {first:.1f} Mbit/s at "
            f"50 ms to {last:.1f} at 600 ms, along that law (figure). So LIAD does depend on the RTT as "
            "the paper says, as 1/RTT and not linearly.",
        ],
    )


def _a2(base: pl.DataFrame, s: Sensitivity) -> Reason:
    lost = {cc: _mean(base, "start-up", cc, "overflow") for cc in claims.FAST}
    mine = _mean(base, "start-up", "a-liad", "at_30")
    detail = [
        f"A-LIAD's {mine:.1f} % agree with the paper's 80 %. The others overshoot in the first slow start "
        "and lose, in 30 s, "
        + ", ".join(f"{n:,.0f} ({claims.label(cc)})" for cc, n in lost.items())
        + " packets. They keep 0.7 to 0.9 of a window of almost 4 BDPs, above the 2 BDPs that path and "
        "buffer hold, so the queue goes on overflowing during the repair. Retransmissions are lost too, and "
        "SACK recovery repairs those only after a timeout (in figure 6 at 12 s).",
    ]
    told = _tried(s, "A2", 1, ("old-cubic", "buffer-two", "buffer-50", "delayed-ack"), " %")
    if told:
        detail.append("CUBIC less A-LIAD: " + "; ".join(told) + ".")
    short = "A-LIAD's 80 % agrees; the others overshoot 1 BDP of buffer and lose time on repair"
    if (lead := s.check("delayed-ack", "A2", 1)) is not None:
        short += f"; with delayed ACKs CUBIC is {lead:+.1f} % from A-LIAD"
        detail.append(
            "With delayed ACKs, counted as ns-2 counts them, a window grows by half per round trip in slow "
            "start: the overshoot is less, and A-LIAD takes longer to its BDP (its share is "
            f"{s.check('delayed-ack', 'A2', 0):.1f} %)."
        )
    detail.append(
        "What crosses the link, retransmissions included, is in the table of the runs beside what is "
        "delivered."
    )
    return short, detail


def _a3(base: pl.DataFrame, s: Sensitivity) -> Reason:
    peak = _mean(base, "no-sack", "cubic", "exit")
    drops = s.check("buffer-half", "A3", 1)
    cuts = [_mean(base, "start-up", cc, "cuts") for cc in ("westwood", "cubic", "a-liad")]
    return (
        "with half a BDP of buffer max-probing overflows it" if (drops or 0) > 0 else "",
        [
            f"CUBIC's and Westwood's windows reach {peak:,.0f} packets before the first loss is known, "
            f"{peak / BASE.bdp(10.0, GEO_S):.1f} BDPs. A-LIAD ends slow start at the estimated BDP and its "
            "max-probing stops at twice that, which the buffer just holds.",
            "The paper's own figure 7 seems to be with SACK. Reductions with SACK here (figure 6): "
            f"Westwood {cuts[0]:.0f}, CUBIC {cuts[1]:.0f}, A-LIAD {cuts[2]:.0f}.",
        ],
    )


#: Choices whose effect on A4 is told.
A4_TRIED = ("buffer-two", "buffer-half", "buffer-50", "delayed-ack", "no-sack", "eq6", "own-rtts")


def _a4(base: pl.DataFrame, s: Sensitivity) -> Reason:
    none = _mean(base, "intra", "a-liad", "jain", INTRA_S)
    fast, slow = (_mean(base, "intra", "a-liad", f"flow_{k}", INTRA_S) for k in (6, 1))
    told = _tried(s, "A4", 0, A4_TRIED, "")
    return (
        f"with random loss fair; without, J is {none:.2f}: flows that lose together keep their shares"
        if none < claims.FAIRNESS - claims.FAIRNESS_WITHIN
        else "",
        [
            f"Without random loss the fastest flow has {fast:.1f} and the slowest {slow:.1f} Mbit/s. After a "
            "loss A-LIAD returns to the window that it lost at (Wmax), so a flow that has more keeps more; "
            "only losses that come at different times even the shares out. Random loss brings them, and so "
            "may whatever makes losses at the queue more frequent or less regular.",
            *(["J without random loss: " + "; ".join(told) + "."] if told else []),
        ],
    )


def _a5(base: pl.DataFrame, s: Sensitivity) -> Reason:
    first, last = (_mean(base, "rtt", "cubic", "mbps", rtt) for rtt in (RTTS_S[0], RTTS_S[-1]))
    detail = [
        f"CUBIC has {first:.2f} Mbit/s at 50 ms and {last:.2f} at 600 ms: with a buffer of 1 BDP a cut to "
        "0.7 never empties the queue, so without random loss only the start depends on the RTT. Its "
        "growth depends on the time and not on the RTT by design.",
    ]
    if (ratio := s.check("sweep-loss", "A5", 1)) is not None:
        mine = s.check("sweep-loss", "A5", 0)
        detail.append(
            f"At a packet error rate of 0.1 % CUBIC at 50 ms has {ratio:.1f} times its rate at 600 ms; "
            f"A-LIAD's largest rate is then {mine:.2f} times its smallest. The paper names no packet "
            "error rate; figure 9 may have one."
        )
    return "A-LIAD is flat; but so is CUBIC without random loss, which fills a buffer of 1 BDP", detail


def _a6(base: pl.DataFrame, s: Sensitivity) -> Reason:
    mine, west, cubic = (
        [_mean(base, "loss", cc, "share", per=per) for per in (LOW, HIGH)]
        for cc in ("a-liad", "westwood", "cubic")
    )
    low = _tried(s, "A6", 0, ("eq6", "lifetime", "literal"), " %")
    fall = _tried(s, "A6", 1, ("eq6", "lifetime", "literal"), " %")
    west_tried = _tried(s, "A6", 2, ("westwood-ns2", "westwood-plus"), " %")
    return (
        f"Westwood is higher ({west[0]:.0f} and {west[1]:.0f} %); A-LIAD, {mine[0]:.0f} and {mine[1]:.0f} "
        f"%, is far above the rest (CUBIC {cubic[0]:.0f} and {cubic[1]:.0f} %)" + _plus(s, "A6", (2, 3)),
        [
            "Westwood sets its window to the measured rate times RTTmin, which a random loss hardly "
            "lowers, so it keeps what its first slow start found. In the paper it does badly; its ns-2 "
            "module is not known.",
            "60 % is one number for two packet error rates; it is read as that at 0.1 %, since the paper "
            "says that 1 % is dramatically worse. A-LIAD at 1 % loses six packets in a window "
            "of the BDP and cannot hold it: a recovery takes a round trip or more, a lost retransmission "
            "a timeout.",
            "With RTTmax since the last loss, beta is near 0 while the queue is empty: a random loss "
            "then hardly lowers the window, and what A-LIAD holds is the window of the first loss "
            "(figure 11), plus one packet per round trip. With RTTmax ever, each loss cuts deep, and as "
            "Wmax becomes the window of the last loss, two losses close together lower it for good. The "
            "paper's 60 % at 0.1 % lies between these two readings; a Wmax that outlives such losses, "
            "which it does not describe, would raise the second.",
            *(["A-LIAD at 0.1 %: " + "; ".join(low) + "."] if low else []),
            *(["A-LIAD's fall from 0.1 % to 1 %: " + "; ".join(fall) + "."] if fall else []),
            *(["A-LIAD less the best other at 0.1 %: " + "; ".join(west_tried) + "."] if west_tried else []),
        ],
    )


def _plus(s: Sensitivity, claim: str, orders: tuple[int, ...]) -> str:
    """A clause for the note, if Westwood+ in Westwood's place gives the orders of the paper."""
    found = next((c for c in s.variants.get("westwood-plus", []) if c.id == claim), None)
    if found is None or not all(found.checks[i].holds for i in orders):
        return ""
    return "; with Westwood+ in Westwood's place the order is the paper's"


def _a7(base: pl.DataFrame, s: Sensitivity) -> Reason:
    bdp = BASE.bdp(10.0, GEO_S)
    mean = {cc: _mean(base, "loss", cc, "cwnd", per=LOW) / bdp for cc in claims.RANKED}
    text = ", ".join(f"{claims.label(cc)} {w:.2f}" for cc, w in mean.items())
    return (
        ("holds for all but Westwood (see A6)" if mean["westwood"] > claims.NEAR else "")
        + _plus(s, "A7", (2, 3)),
        [
            f"Mean windows at 0.1 % in BDPs: {text}. Near the BDP means at least half of it, much below at "
            "most half."
        ],
    )


def _a8(base: pl.DataFrame, s: Sensitivity) -> Reason:
    cut = {n: fmean(v) for n, v in claims.reductions(base, SHORT_S, (*claims.RANKED, "liad")).items()}
    told = _tried(s, "A8", 1, ("eq6", "buffer-half", "buffer-two", "buffer-50"), " %")
    deep = s.check("buffer-50", "A8", 1)
    west, mine, liad = cut[claims.label("westwood")], cut[claims.label("a-liad")], cut[claims.label("liad")]
    return (
        f"HSTCP and CUBIC are the friendliest; Westwood ({west:.0f} %) takes more than A-LIAD ({mine:.0f} %)"
        + (f"; A-LIAD {deep:.0f} % with a buffer of 50 packets" if deep is not None else ""),
        [
            f"At 25 ms alpha is {float(analysis.alpha(SHORT_S)):.2f}, below LIAD's 2, so A-LIAD is by "
            f"design gentler here than LIAD ({liad:.0f} %). How much it takes hangs on the buffer of a "
            "few dozen packets, which the paper does not give.",
            *(["NewReno loses to A-LIAD: " + "; ".join(told) + "."] if told else []),
            "Westwood's window after a loss is the measured rate times RTTmin, the others' a share of a "
            "window that filled the queue; here it takes what NewReno's halving leaves.",
        ],
    )


def _a9(base: pl.DataFrame, s: Sensitivity) -> Reason:
    cut = {n: fmean(v) for n, v in claims.reductions(base, GEO_S).items() if n != claims.label("reno")}
    order = ", ".join(f"{n} {v:.0f} %" for n, v in sorted(cut.items(), key=lambda item: -item[1]))
    mine, cubic = cut[claims.label("a-liad")], cut[claims.label("cubic")]
    told = _tried(s, "A9", 3, ("eq6", "lifetime", "literal", "buffer-half", "buffer-two", "own-rtts"), " %")
    return (
        f"CUBIC takes by far more than at 25 ms ({cubic:.0f} %), more than A-LIAD ({mine:.0f} %)",
        [
            f"NewReno loses, in order: {order}. NewReno's growth per second falls with the square of the "
            "RTT, CUBIC's does not, so CUBIC gains most.",
            "A-LIAD's beta = 1 - RTTmin/RTTmax is large where the queue is full, and it returns to the "
            "window that it had, not beyond: it holds a share rather than taking more, beyond one packet "
            "per round trip.",
            *(["A-LIAD less the next in order: " + "; ".join(told) + "."] if told else []),
        ],
    )


def _a10(base: pl.DataFrame, _: Sensitivity) -> Reason:
    return (
        "a calculation: intervals are over RTTs, or over the two values compared, not over seeds",
        [
            "The constant needs beta and a packet error rate, which the paper does not give with it. "
            "1e-8 (as in figure 1) and beta = 0.4586 give 1.5787 s; the 0.46 used here gives 1.5790 s "
            "with alpha = 2, that is alpha = 2.0003 with 1.5787 s. The curve and its error are in the "
            "last figure.",
        ],
    )


_REASONS: dict[str, Callable[[pl.DataFrame, Sensitivity], Reason]] = {
    "A1": _a1,
    "A2": _a2,
    "A3": _a3,
    "A4": _a4,
    "A5": _a5,
    "A6": _a6,
    "A7": _a7,
    "A8": _a8,
    "A9": _a9,
    "A10": _a10,
}
