"""Why a claim does or does not reproduce: notes and details, computed from the runs."""

from __future__ import annotations

from collections.abc import Callable
from statistics import fmean

import polars as pl

from bentpipe.studies import tried
from bentpipe.studies.claim import Claim
from bentpipe.studies.hswa import claims
from bentpipe.studies.hswa.sensitivity import choice, implied
from bentpipe.studies.hswa.setup import BASE, BERS, SPAN_S
from bentpipe.studies.page import plain
from bentpipe.studies.sensitivity import Sensitivity


def explain(claim: Claim, base: pl.DataFrame, under: Sensitivity) -> None:
    """Write the note (short) and the detail (for the page) of a claim."""
    short, detail = _REASONS[claim.id](base, under)
    failed = [c.what for c in claim.checks if not c.holds]
    claim.note = claim.tally()
    if short:
        claim.note += f"; {short}"
    if failed:
        claim.detail.append("Does not hold: " + "; ".join(failed) + ".")
    claim.detail += detail
    if claim.id == "H7":
        return  # the choices do not touch its runs
    if clause := tried.nearest(claim, under, choice):
        claim.note += f"; {clause}"
    claim.detail += tried.told(claim, under, choice)
    under.tell(claim, choice)


def _mean(base: pl.DataFrame, cc: str, orbit: str, ber: float, column: str = "mbps") -> float:
    at = (pl.col("cc") == cc) & (pl.col("orbit") == orbit) & (pl.col("ber") == ber)
    return fmean(base.filter(at)[column].to_list())


def _under(under: Sensitivity, variant: str, claim_id: str, check: int) -> float | None:
    """The mean of one check under a variant, if it was run."""
    if variant not in under.variants:
        return None
    found = next(c for c in under.variants[variant] if c.id == claim_id)
    return found.checks[check].measured.mean


def _values(under: Sensitivity, claim_id: str, names: tuple[str, ...], checks: tuple[int, ...]) -> list[str]:
    """One sentence with the measured values of some checks under each of some variants."""
    parts = []
    for name in names:
        got = [_under(under, name, claim_id, i) for i in checks]
        if all(g is not None for g in got):
            parts.append(f"{choice(name)}: {' and '.join(plain(g) for g in got if g is not None)}")
    headed = next(c for c in under.base if c.id == claim_id).checks
    what = [headed[i].what for i in checks]
    return [f"Under other choices ({' and '.join(what)}, Mbit/s): {'; '.join(parts)}."] if parts else []


def _law(cc: str, orbit: str, ber: float) -> str:
    of = implied(cc, orbit, ber, claims.PRINTED[cc, orbit, ber])
    return (
        f"{claims.PRINTED[cc, orbit, ber]:g} Mbit/s are a window of {plain(of.window)} packets, which the "
        f"square-root law gives at a packet loss rate of {of.loss:.2g}: {plain(of.per_byte)} times what "
        "errors "
        f"per byte would give, {plain(of.per_bit)} times what errors per bit would"
    )


def _h1(base: pl.DataFrame, under: Sensitivity) -> tuple[str, list[str]]:
    byte = [_under(under, "byte", "H1", i) for i in (1, 2)]
    short = "both rates are low for errors per bit"
    if all(b is not None for b in byte):
        short += f"; per byte {' and '.join(plain(b) for b in byte if b is not None)} Mbit/s"
    return short, [
        "For SCPS-TP, " + _law("scps", "GEO", 1e-8) + ". For HSWA, " + _law("hswa", "GEO", 1e-8) + ".",
        "Both are near an error rate per byte, which is what an ns-2 ErrorModel of unit byte draws: a packet "
        "of n bytes survives with probability (1 - rate) to the power n.",
        f"The square-root law makes the ratio the root of S = 80, {plain(claims.S[1e-8] ** 0.5)}, whatever "
        "the loss rate, unless the window reaches its limit. The paper's 7 is a little less.",
        *_values(under, "H1", ("byte", "byte-1500", "buffer-50", "byte-buffer-50", "per-ack"), (1, 2)),
        "With ns-2's default queue of 50 packets HSWA loses its gain: it sends S = 80 packets more in each "
        "round trip, in bursts at the rate of the link, and they do not fit. So the paper's queue was "
        "longer, unless its sender was paced.",
    ]


def _h2(base: pl.DataFrame, under: Sensitivity) -> tuple[str, list[str]]:
    loss = BASE.packet_loss(1e-5)
    scps, hswa = (_mean(base, cc, "GEO", 1e-5) for cc in ("scps", "hswa"))
    window = _mean(base, "scps", "GEO", 1e-5, "cwnd")
    every = SPAN_S["scps", "GEO"] / max(_mean(base, "scps", "GEO", 1e-5, "timeouts"), 1.0)
    printed = implied("scps", "GEO", 1e-5, claims.PRINTED["scps", "GEO", 1e-5])
    detail = [
        f"At 1e-5 per bit {loss:.1%} of the packets are lost. SCPS-TP's window is {plain(window)} packets in "
        f"the mean, often too few for three duplicate ACKs, and it times out every {plain(every)} s.",
        f"SCPS-TP's {printed.mbps:g} Mbit/s are {plain(printed.window)} packets per round trip, so few that "
        f"the square-root law does not apply; errors per bit come near it ({plain(scps)} Mbit/s). For HSWA, "
        + _law("hswa", "GEO", 1e-5)
        + ".",
        f"So no one error model gives both: the ratio is {plain(hswa / scps)} here, and the law makes it the "
        f"root of S = 50, {plain(claims.S[1e-5] ** 0.5)}, at any loss rate.",
    ]
    ratio = _under(under, "per-ack", "H2", 0)
    if ratio is not None:
        detail.append(
            f"Eq. 4 per ACK instead of per round trip gives {plain(ratio)} at most, but over LEO not the 81 "
            "Mbit/s of figure 4 (H5)."
        )
    detail += _values(
        under, "H2", ("byte", "byte-1500", "byte-ln", "newreno", "reno", "prr", "per-ack"), (1, 2)
    )
    return f"the rules alone give {plain(claims.S[1e-5] ** 0.5)} times, not 66", detail


def _h3(base: pl.DataFrame, under: Sensitivity) -> tuple[str, list[str]]:
    ratio = {ber: _mean(base, "hswa", "GEO", ber) / _mean(base, "scps", "GEO", ber) for ber in BERS}
    return "", [
        "HSWA over SCPS-TP, ratio of the means: "
        + ", ".join(f"{plain(r)} at {claims.power(ber)}" for ber, r in ratio.items())
        + "."
    ]


def _h4(base: pl.DataFrame, under: Sensitivity) -> tuple[str, list[str]]:
    got = _mean(base, "scps", "GEO", 1e-6)
    byte = _under(under, "byte", "H4", 0)
    beside = f", {plain(byte)} with errors per byte" if byte is not None else ""
    return (
        f"{plain(got)} Mbit/s with errors per bit{beside}; quoted, not the paper's own simulation",
        [
            "The paper gives neither path nor settings of that measurement. Its fall from 6.3 to 0.27 "
            "Mbit/s, 23 times for 100 times the errors, is steeper than the square root's 10 times, as it is "
            "where timeouts are many.",
            "The paper's own figure 3 has 6.3 Mbit/s at 1e-8 too, the same two digits as the report.",
            *_values(under, "H4", ("byte", "packet-1500", "byte-1500", "newreno", "reno"), (0,)),
        ],
    )


def _h5(base: pl.DataFrame, under: Sensitivity) -> tuple[str, list[str]]:
    loss = BASE.packet_loss(1e-5)
    byte = [_under(under, "byte", "H5", i) for i in (3, 0)]
    short = f"at 1e-5 {loss:.0%} of the packets are lost"
    if all(b is not None for b in byte):
        short += f"; per byte {plain(byte[0] or 0.0)} Mbit/s at 1e-6 and {plain(byte[1] or 0.0)} at 1e-5"
    timeouts = _mean(base, "hswa", "LEO", 1e-5, "timeouts") / SPAN_S["hswa", "LEO"]
    return short, [
        _law("hswa", "LEO", 1e-5) + ".",
        f"At 1e-5 per bit HSWA times out {plain(timeouts)} times per second: a retransmission that is lost "
        "again costs a timeout of 200 ms or more, twenty round trips of LEO.",
        "The paper's 99 % are of the rate of the link, so its throughput counts headers, and so does this "
        "study.",
        *_values(
            under, "H5", ("byte", "byte-1500", "byte-prr", "byte-ln", "per-ack", "byte-per-ack"), (3, 0)
        ),
    ]


def _h6(base: pl.DataFrame, under: Sensitivity) -> tuple[str, list[str]]:
    meo, geo = (_mean(base, "hswa", orbit, 1e-5) for orbit in ("MEO", "GEO"))
    return (
        f"order at every BER; at 1e-5 {plain(geo)} (GEO) and {plain(meo)} Mbit/s (MEO)",
        [
            "The order follows from the law: the window depends on the loss rate alone, so throughput falls "
            f"as the RTT grows; MEO has {meo / geo:.2f} times GEO at 1e-5.",
            *_values(
                under, "H6", ("byte", "byte-1500", "byte-prr", "byte-ln", "per-ack", "byte-per-ack"), (0, 1)
            ),
        ],
    )


def _h7(base: pl.DataFrame, under: Sensitivity) -> tuple[str, list[str]]:
    return "the controller as run, not a formula", [
        "TD and BaseTD are computed by eq. 2 and 3 from the RTT of each ACK in the trace, the increment is "
        "the growth of the traced window over the next round trip; eq. 4 is not used in between. An "
        "observation period is one round trip and AvgRTT its mean (both are readings: the paper's running "
        "mean over the connection would hardly react).",
        "BaseTD is the least of ten periods. A queue that stands for longer becomes the new base, and the "
        "window grows by S again.",
    ]


_REASONS: dict[str, Callable[[pl.DataFrame, Sensitivity], tuple[str, list[str]]]] = {
    "H1": _h1,
    "H2": _h2,
    "H3": _h3,
    "H4": _h4,
    "H5": _h5,
    "H6": _h6,
    "H7": _h7,
}
