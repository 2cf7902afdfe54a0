"""The claims of the HSWA-TCP paper, H1 to H10, with their checks and reasons."""

from __future__ import annotations

import math
from functools import partial
from itertools import pairwise
from statistics import fmean
from typing import NamedTuple

import numpy as np
import polars as pl

from bentpipe.papers.hswa import setup
from bentpipe.papers.hswa.setup import AMPLITUDES, APART, BASE, BERS, INCREMENT, LEGACY, RTT_S, SPAN_S
from bentpipe.studies.claim import (
    RELATIVE_TOLERANCE,
    Cause,
    Check,
    Tolerance,
    above,
    interval,
    near,
    number,
    ratio_at_least,
)
from bentpipe.studies.design import where
from bentpipe.studies.judge import Findings, Reason, Sentence, column
from bentpipe.studies.page import plain
from bentpipe.studies.text import Table
from bentpipe.studies.words import Words

WORDS = Words.beside(__file__)

#: Mbit/s printed in the paper (sections I and IV-B): algorithm, orbit, BER.
PRINTED = {
    ("scps", "GEO", 1e-8): 6.3,
    ("scps", "GEO", 1e-5): 0.034,
    ("hswa", "GEO", 1e-8): 44.0,
    ("hswa", "GEO", 1e-5): 2.3,
    ("hswa", "MEO", 1e-5): 4.0,
    ("hswa", "LEO", 1e-8): 99.0,
    ("hswa", "LEO", 1e-7): 99.0,
    ("hswa", "LEO", 1e-6): 99.0,
    ("hswa", "LEO", 1e-5): 81.0,
}
#: SCPS-TP at a BER of 1e-6, Mbit/s, which the paper quotes from a NASA report.
QUOTED = 0.27
#: The legacy TCP over 1.5 Mbit/s at a BER of 1e-6, Mbit/s, which section I quotes.
LEGACY_MBPS = 0.2
#: HSWA over SCPS-TP, at the ends of the range.
TIMES = {1e-8: 7.0, 1e-5: 66.0}
#: S of eq. 5 with A = 10 and the logarithm to base 10, packets per round trip; the paper prints no value.
S = {1e-8: 80.0, 1e-7: 70.0, 1e-6: 60.0, 1e-5: 50.0}
#: The line of figure 1 ends here, in units of BaseTD.
ZERO = 2.0
ZERO_WITHIN = Tolerance(
    0.02,
    "H7: the line ends within this of 2 BaseTD",
    "1 %: a law of the controller, met but for rounding",
)
FULL_WITHIN = Tolerance(
    2.0,
    'H5: a throughput is "close to 99 %" of the 100 Mbit/s if it lies within this of 99, Mbit/s',
    "a ninth of the 18 by which the 81 of the worst link, printed beside it, are less",
)
STRAIGHT = Tolerance(
    0.99,
    "H7: the share of the variance that a line explains, at least",
    "a law of the controller is a line",
)
NONE_WITHIN = Tolerance(
    0.1,
    "H7: growth beyond 2 BaseTD, packets per round trip, at most",
    "less than the one packet of Reno",
)

#: The names of the algorithms in tables.
LABELS = {"scps": "SCPS-TP", "hswa": "HSWA"}


def power(ber: float) -> str:
    """An error rate as the paper prints it: ``1e-8``."""
    return f"{ber:g}".replace("e-0", "e-")


def rate(runs: pl.DataFrame, cc: str, orbit: str, ber: float, name: str = "mbps") -> list[float]:
    """Throughput of one algorithm over one orbit at one error rate, Mbit/s, or another measure, by seed."""
    flows = runs.filter(~pl.col("variant").is_in(APART))
    return column(flows, name, cc=cc, orbit=orbit, ber=ber)


def _printed(runs: pl.DataFrame, cc: str, orbit: str, ber: float, within: float | None = None) -> Check:
    what = f"{LABELS[cc]}, {orbit}, BER {power(ber)}"
    mbps, paper = rate(runs, cc, orbit, ber), PRINTED[cc, orbit, ber]
    return number(what, mbps, paper, unit="Mbit/s", within=within)


def _hswa_above(runs: pl.DataFrame, ber: float) -> Check:
    hswa, scps = (rate(runs, cc, "GEO", ber) for cc in ("hswa", "scps"))
    return above(f"HSWA above SCPS-TP, GEO, BER {power(ber)}", hswa, scps, unit="Mbit/s")


def _times(runs: pl.DataFrame, ber: float) -> list[Check]:
    pairs = zip(*(rate(runs, cc, "GEO", ber) for cc in ("hswa", "scps")), strict=True)
    return [
        number(f"HSWA over SCPS-TP, GEO, BER {power(ber)}", [a / b for a, b in pairs], TIMES[ber]),
        *(_printed(runs, cc, "GEO", ber) for cc in ("scps", "hswa")),
        _hswa_above(runs, ber),
    ]


def _check_h3(runs: pl.DataFrame) -> list[Check]:
    return [_hswa_above(runs, ber) for ber in BERS]


def _check_h4(runs: pl.DataFrame) -> list[Check]:
    best, quoted = (rate(runs, "scps", "GEO", ber) for ber in (1e-8, 1e-6))
    return [
        number("SCPS-TP, GEO, BER 1e-6", quoted, QUOTED, unit="Mbit/s"),
        above("SCPS-TP: BER 1e-8 above 1e-6", best, quoted, unit="Mbit/s"),
    ]


def _check_h5(runs: pl.DataFrame) -> list[Check]:
    better, worst = (rate(runs, "hswa", "LEO", ber) for ber in (1e-6, 1e-5))
    return [
        _printed(runs, "hswa", "LEO", 1e-5),
        *(_printed(runs, "hswa", "LEO", ber, within=FULL_WITHIN) for ber in BERS[:-1]),
        above("LEO: BER 1e-6 above 1e-5", better, worst, unit="Mbit/s"),
    ]


def _check_h6(runs: pl.DataFrame) -> list[Check]:
    order = []
    for pair in (("LEO", "MEO"), ("MEO", "GEO")):
        for ber in BERS:
            fast, slow = (rate(runs, "hswa", orbit, ber) for orbit in pair)
            order.append(above(f"{pair[0]} above {pair[1]}, BER {power(ber)}", fast, slow, unit="Mbit/s"))
    return [*(_printed(runs, "hswa", orbit, 1e-5) for orbit in ("MEO", "GEO")), *order]


def _check_h7(runs: pl.DataFrame) -> list[Check]:
    grown = runs.filter(pl.col("variant") == INCREMENT.name)
    zero, straight, beyond = (
        [fmean(at) for at in zip(*(column(grown, name, ber=ber) for ber in BERS), strict=True)]
        for name in ("zero", "linear", "beyond")
    )
    at_base = ((power(ber), s, column(grown, "at_base", ber=ber)) for ber, s in S.items())
    what = "increment at TD = BaseTD, BER"
    return [
        number("increment is 0 at TD / BaseTD", zero, ZERO, within=ZERO_WITHIN),
        ratio_at_least("variance that a line explains", straight, 1.0, STRAIGHT),
        near("increment at TD of 2 BaseTD and more", beyond, 0.0, NONE_WITHIN, unit="packets"),
        # The paper prints eq. 5 and no value of S.
        *(
            number(f"{what} {ber}", x, s, unit="packets", within=s * ZERO_WITHIN).unprinted()
            for ber, s, x in at_base
        ),
    ]


#: Packets in flight for three duplicate ACKs, and so for a fast retransmit.
LEAST_WINDOW = 4


class Implied(NamedTuple):
    """The channel that a printed throughput implies, if the window is a square root of the loss rate.

    The window, packets; the loss rate of packets that gives it; the error rates per byte and per bit that
    give this loss rate, in units of the paper's BER.
    """

    window: float
    loss: float
    per_byte: float
    per_bit: float


def growth(cc: str, ber: float) -> float:
    """Packets by which the window grows per round trip without a standing queue: S of eq. 5, or 1."""
    return S[ber] if cc == "hswa" else 1.0


def law_window(growth: float, loss: float) -> float:
    """Mean window of a rule that adds ``growth`` per round trip and halves at a loss, packets."""
    return math.sqrt(1.5 * growth / loss)


def implied(cc: str, orbit: str, ber: float, mbps: float) -> Implied:
    """The loss rate at which the square-root law gives ``mbps``, Mbit/s."""
    window = mbps * 1e6 * RTT_S[orbit] / 8 / setup.PACKET_BYTES
    loss = 1.5 * growth(cc, ber) / window**2
    per_byte = loss / setup.PACKET_BYTES / ber
    return Implied(window, loss, per_byte, per_byte / 8)


#: The numbers printed for a BER of 1e-5: algorithm and orbit.
SCANNED = (("scps", "GEO"), ("hswa", "GEO"), ("hswa", "MEO"), ("hswa", "LEO"))


def scanned(found: Findings, size: int, cc: str, orbit: str) -> dict[float, list[float]]:
    """Throughput over the printed one, by packet loss rate: one value per seed."""
    printed, at = PRINTED[cc, orbit, setup.SCAN_BER], {"cc": cc, "orbit": orbit}
    return {
        loss: [x / printed for x in column(found.runs, "mbps", variant=setup.scan_name(size, loss), **at)]
        for loss in setup.SCAN_LOSS
    }


def needed(found: Findings, size: int, cc: str, orbit: str) -> tuple[float, float]:
    """The packet loss rates between which a number printed for 1e-5 is met within the rule's tolerance.

    By interpolation between the rates of the scan, both axes logarithmic; an end of the scan if beyond it.
    """
    ratio = {loss: math.log(interval(x).centre) for loss, x in scanned(found, size, cc, orbit).items()}
    falling = list(reversed(np.minimum.accumulate(list(ratio.values()))))
    losses = [math.log(loss) for loss in reversed(ratio)]
    high, low = (
        math.exp(float(np.interp(math.log(1 + sign * RELATIVE_TOLERANCE), falling, losses)))
        for sign in (-1, 1)
    )
    return low, high


def ranges(found: Findings) -> Table:
    """The requirements of each number, by packet size."""

    def cells(size: int) -> list[str]:
        return [" to ".join(map(plain, needed(found, size, cc, orbit))) for cc, orbit in SCANNED]

    heads = [f"{LABELS[cc]} over {orbit}" for cc, orbit in SCANNED]
    rows = [[f"{size} bytes", *cells(size)] for size in setup.SCAN_BYTES]
    return Table(["", *heads], rows, "Packet loss needed, by packet size")


def _mean(found: Findings, cc: str, orbit: str, ber: float, name: str = "mbps") -> float:
    return fmean(rate(found.base, cc, orbit, ber, name))


def _law(cc: str, orbit: str, ber: float) -> str:
    mbps = PRINTED[cc, orbit, ber]
    return WORDS.text("The law", mbps=mbps, of=implied(cc, orbit, ber, mbps))


_tried = partial(Findings.tried, before="first ", between=", then ")


def _why_h1(found: Findings) -> Reason:
    byte = found.means("byte", "H1", 1, 2)
    names = "byte packet-1500 buffer-50 byte-buffer-50 window-2000 per-ack span-100"
    return WORDS.reason(
        "H1",
        per_byte=f"; per byte {plain(byte[0])} and {plain(byte[1])} Mbit/s" if byte else "",
        scps=_law("scps", "GEO", 1e-8),
        hswa=_law("hswa", "GEO", 1e-8),
        root=S[1e-8] ** 0.5,
        tried=_tried(found, "H1", names, 1, 2),
    )


def _why_h2(found: Findings) -> Reason:
    scps, hswa = (_mean(found, cc, "GEO", 1e-5) for cc in ("scps", "hswa"))
    mbps, per_ack = PRINTED["scps", "GEO", 1e-5], found.means("per-ack", "H2", 0)
    return WORDS.reason(
        "H2",
        root=S[1e-5] ** 0.5,
        lost=BASE.packet_loss(1e-5),
        window=_mean(found, "scps", "GEO", 1e-5, "cwnd"),
        timeout_s=SPAN_S["scps", "GEO"] / max(_mean(found, "scps", "GEO", 1e-5, "timeouts"), 1.0),
        printed=mbps,
        printed_window=implied("scps", "GEO", 1e-5, mbps).window,
        scps=scps,
        hswa=_law("hswa", "GEO", 1e-5),
        ratio=hswa / scps,
        ranges=ranges(found),
        per_ack=per_ack,
        tried=_tried(found, "H2", "byte packet-1500 ln byte-ln newreno reno prr per-ack", 1, 2),
    )


def _why_h3(found: Findings) -> Reason:
    ratio = {ber: _mean(found, "hswa", "GEO", ber) / _mean(found, "scps", "GEO", ber) for ber in BERS}
    return WORDS.reason("H3", each={f"at {power(ber)}": r for ber, r in ratio.items()})


def _why_h4(found: Findings) -> Reason:
    return WORDS.reason("H4", mbps=_mean(found, "scps", "GEO", 1e-6))


def _why_h5(found: Findings) -> Reason:
    byte = found.means("byte", "H5", 3, 0)
    return WORDS.reason(
        "H5",
        lost=BASE.packet_loss(1e-5),
        per_byte=f"; per byte {plain(byte[0])} Mbit/s at 1e-6 and {plain(byte[1])} at 1e-5" if byte else "",
        hswa=_law("hswa", "LEO", 1e-5),
        timeouts=_mean(found, "hswa", "LEO", 1e-5, "timeouts") / SPAN_S["hswa", "LEO"],
        tried=_tried(found, "H5", "byte packet-1500 byte-prr byte-ln per-ack byte-per-ack", 3, 0),
    )


def _why_h6(found: Findings) -> Reason:
    meo, geo = (_mean(found, "hswa", orbit, 1e-5) for orbit in ("MEO", "GEO"))
    tried = _tried(found, "H6", "byte packet-1500 byte-prr byte-ln per-ack byte-per-ack", 0, 1)
    byte = found.means("byte", "H6", 1, 0)
    per_byte = f"; per byte {plain(byte[0])} and {plain(byte[1])}" if byte else ""
    return WORDS.reason("H6", geo=geo, meo=meo, ratio=meo / geo, per_byte=per_byte, tried=tried)


def _why_h7(_: Findings) -> Reason:
    return WORDS.reason("H7")


def _with_a(runs: pl.DataFrame, a: float, ber: float) -> list[float]:
    return column(runs.filter(pl.col("variant") == f"a-{a:g}"), "mbps", ber=ber)


def _check_h8(runs: pl.DataFrame) -> list[Check]:
    return [
        above(
            f"GEO, BER {power(ber)}: A = 10 above A = {a:g}",
            rate(runs, "hswa", "GEO", ber),
            _with_a(runs, a, ber),
            unit="Mbit/s",
        )
        for ber in (BERS[0], BERS[-1])
        for a in AMPLITUDES
    ]


def _why_h8(found: Findings) -> Reason:
    runs, each = found.runs, (BERS[0], BERS[-1])
    rows = {f"A = {a:g}": {f"BER {power(b)}": fmean(_with_a(runs, a, b)) for b in each} for a in AMPLITUDES}
    ten = {f"BER {power(b)}": fmean(rate(found.base, "hswa", "GEO", b)) for b in each}
    return WORDS.reason(
        "H8", rows=dict(sorted({**rows, "A = 10": ten}.items(), key=lambda row: float(row[0][4:])))
    )


def _falls(runs: pl.DataFrame) -> dict[str, list[float]]:
    """How many times less HSWA has over GEO where the BER is ten times as high, by decade."""
    mbps = [rate(runs, "hswa", "GEO", ber) for ber in BERS]
    return {
        f"{power(few)} to {power(many)}": [a / b for a, b in zip(*pair, strict=True)]
        for (few, many), pair in zip(pairwise(BERS), pairwise(mbps), strict=True)
    }


def _check_h9(runs: pl.DataFrame) -> list[Check]:
    """The paper: more robust under good channel conditions, but decreases faster at poorer ones."""
    falls = _falls(runs)
    (first, good), *_, (last, poor) = falls.items()
    return [
        above(f"HSWA, GEO: falls more times from {last} than from {first}", poor, good),
        # "Decays sharply with the increasing of BER values": more at each step.
        *(
            above(f"HSWA, GEO: from {name} more than from {before}", falls[name], falls[before]).unprinted()
            for before, name in pairwise(falls)
        ),
        above(
            "SCPS-TP, GEO: the same from 1e-6 to 1e-5",
            [a / b for a, b in zip(*(rate(runs, "scps", "GEO", ber) for ber in BERS[-2:]), strict=True)],
            [a / b for a, b in zip(*(rate(runs, "scps", "GEO", ber) for ber in BERS[:2]), strict=True)],
        ).unprinted(),
    ]


def _why_h9(found: Findings) -> Reason:
    return WORDS.reason("H9", falls={name: fmean(of) for name, of in _falls(found.base).items()})


def _legacy(runs: pl.DataFrame) -> list[float]:
    return column(runs.filter(pl.col("variant") == LEGACY.name), "mbps")


def _check_h10(runs: pl.DataFrame) -> list[Check]:
    return [number("NewReno, GEO, 1.5 Mbit/s, BER 1e-6", _legacy(runs), LEGACY_MBPS, unit="Mbit/s")]


def _why_h10(found: Findings) -> Reason:
    return WORDS.reason("H10", mbps=fmean(_legacy(found.runs)), bytes=BASE.packet_bytes)


CLAIMS = [
    Sentence("H1", "GEO at the best channel (figure 3)",
        "at a BER of 1e-8 SCPS-TP gets about 6.3 Mbit/s and HSWA 44 Mbit/s, about 7 times as much.",
        partial(_times, ber=1e-8), _why_h1, cause=Cause.PARAMETER),  # the unit of the errors, cwnd_lim
    # SCPS-TP's number needs ten times HSWA's packet loss (the scan of q)
    Sentence("H2", "GEO at the worst channel (figure 3)",
        "at a BER of 1e-5 HSWA gets 2.3 Mbit/s and SCPS-TP 34 kbit/s, a difference of 66 times.",
        partial(_times, ber=1e-5), _why_h2, cause=Cause.CONTRADICTION),
    Sentence("H3", "HSWA above SCPS-TP (figure 3)",
        "over GEO HSWA outperforms SCPS-TP at every BER from 1e-8 to 1e-5.", _check_h3, _why_h3),
    Sentence("H4", "SCPS-TP at 1e-6 (section I)",
        "quoted from a NASA report: SCPS-TP's throughput over a 100 Mbit/s link falls from 6.3 Mbit/s at a "
        "BER of 1e-8 to 270 kbit/s at 1e-6.", _check_h4, _why_h4, reference=True),
    Sentence("H5", "HSWA over LEO (figure 4)",
        "HSWA comes close to 99 % of 100 Mbit/s over a range of BERs and to 81 Mbit/s at 1e-5. (The text "
        "says from 1e-6 to 1e-5, where it cannot be both; read here as 1e-8 to 1e-6.)", _check_h5, _why_h5,
        cause=Cause.PARAMETER),  # the unit of the errors
    Sentence("H6", "Shorter delay, higher throughput (figure 4)",
        "HSWA's throughput is the higher the shorter the delay; over GEO and MEO it falls to 2 to 4 Mbit/s "
        "at 1e-5.", _check_h6, _why_h6, cause=Cause.PARAMETER),  # as H5
    Sentence("H7", "The increment (figure 1, eq. 4)",
        "between BaseTD and 2 BaseTD the increment falls linearly with TD from S = -10 lg(BER) to 0; beyond "
        "it is 0.", _check_h7, _why_h7, fixed=True),
    Sentence("H8", "A = 10 (footnote 1)",
        "a value of 10 for A gives the best performance in the simulated scenarios.", _check_h8, _why_h8,
        about=where(variant=tuple(f"a-{a:g}" for a in AMPLITUDES)), fixed=True),
    Sentence("H9", "The shape of figure 3",
        "HSWA is more robust under good channel conditions and decreases faster at poorer ones.", _check_h9,
        _why_h9),
    Sentence("H10", "Legacy TCP (section I)",
        "quoted from others: TCP over a satellite link of 1.5 Mbit/s with a BER of 1e-6 gets merely "
        "about 200 kbit/s.", _check_h10, _why_h10, about=where(variant=(LEGACY.name,)), fixed=True,
        reference=True),
]  # fmt: skip
