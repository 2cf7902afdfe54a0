"""The claims of the HSWA-TCP paper, H1 to H7, as checks on measured runs."""

from __future__ import annotations

from functools import partial
from statistics import fmean

import polars as pl

from bentpipe.papers.hswa.setup import BERS, INCREMENT, PAPER
from bentpipe.studies.claim import Check, above, near, number, ratio_at_least
from bentpipe.studies.judge import by_claim, column, sentences
from bentpipe.studies.words import Words

#: Mbit/s printed in the paper: (algorithm, orbit, BER).
PRINTED = {(cc, orbit, ber): mbps for cc, orbit, ber, mbps in PAPER.given["printed"]}
#: SCPS-TP at a BER of 1e-6, Mbit/s, which the paper quotes from a NASA report.
QUOTED = 0.27
#: HSWA over SCPS-TP, at the ends of the range.
TIMES = {1e-8: 7.0, 1e-5: 66.0}
#: S of eq. 5 with A = 10 and the logarithm to base 10, packets per round trip; the paper prints no value.
S = {1e-8: 80.0, 1e-7: 70.0, 1e-6: 60.0, 1e-5: 50.0}
#: The line of figure 1 ends here, in units of BaseTD.
ZERO = 2.0
ZERO_WITHIN, STRAIGHT, NONE_WITHIN = PAPER.limits()

#: The names of the algorithms in tables.
LABELS = {"scps": "SCPS-TP", "hswa": "HSWA"}


def power(ber: float) -> str:
    """An error rate as the paper prints it: ``1e-8``."""
    return f"{ber:g}".replace("e-0", "e-")


def rate(runs: pl.DataFrame, cc: str, orbit: str, ber: float, name: str = "mbps") -> list[float]:
    """Throughput of one algorithm over one orbit at one error rate, Mbit/s, or another measure, by seed."""
    flows = runs.filter(pl.col("variant") != INCREMENT.name)
    return column(flows, name, cc=cc, orbit=orbit, ber=ber)


def _printed(runs: pl.DataFrame, cc: str, orbit: str, ber: float) -> Check:
    what = f"{LABELS[cc]}, {orbit}, BER {power(ber)}"
    return number(what, rate(runs, cc, orbit, ber), PRINTED[cc, orbit, ber], unit="Mbit/s")


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


def _h3(runs: pl.DataFrame) -> list[Check]:
    return [_hswa_above(runs, ber) for ber in BERS]


def _h4(runs: pl.DataFrame) -> list[Check]:
    best, quoted = (rate(runs, "scps", "GEO", ber) for ber in (1e-8, 1e-6))
    return [
        number("SCPS-TP, GEO, BER 1e-6", quoted, QUOTED, unit="Mbit/s"),
        above("SCPS-TP: BER 1e-8 above 1e-6", best, quoted, unit="Mbit/s"),
    ]


def _h5(runs: pl.DataFrame) -> list[Check]:
    better, worst = (rate(runs, "hswa", "LEO", ber) for ber in (1e-6, 1e-5))
    return [
        *(_printed(runs, "hswa", "LEO", ber) for ber in (1e-5, *BERS[:-1])),
        above("LEO: BER 1e-6 above 1e-5", better, worst, unit="Mbit/s"),
    ]


def _h6(runs: pl.DataFrame) -> list[Check]:
    order = []
    for pair in (("LEO", "MEO"), ("MEO", "GEO")):
        for ber in BERS:
            fast, slow = (rate(runs, "hswa", orbit, ber) for orbit in pair)
            order.append(above(f"{pair[0]} above {pair[1]}, BER {power(ber)}", fast, slow, unit="Mbit/s"))
    return [*(_printed(runs, "hswa", orbit, 1e-5) for orbit in ("MEO", "GEO")), *order]


def _h7(runs: pl.DataFrame) -> list[Check]:
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


_h1, _h2 = partial(_times, ber=1e-8), partial(_times, ber=1e-5)
CLAIMS = sentences(Words.beside(__file__)["Claims"], by_claim(vars()), PAPER.claims)
