"""Modulations and code rates of DVB-S2 and DVB-S2X: the Es/N0 that each needs, and its efficiency.

Sources: ETSI EN 302 307-1 V1.4.1, table 13 (DVB-S2; ideal Es/N0 at a packet error rate of 1e-7) and ETSI
EN 302 307-2 V1.1.1, table 20a (DVB-S2X; ideal Es/N0 at a frame error rate of 1e-5, linear channel), both for
normal FECFRAMEs of 64,800 bits over an AWGN channel, without pilots. Only modes are listed for which at least
two independent public copies of the tables agree in both numbers. Copies disagree on the efficiency of 32APSK
2/3-L and 64APSK 5/6; those two are left out.
"""

from __future__ import annotations

from typing import NamedTuple

import polars as pl


class Modcod(NamedTuple):
    """A mode of the modem."""

    name: str
    threshold_db: float
    """Es/N0 in dB at which it is quasi error free."""
    efficiency: float
    """Bits per symbol, with the headers of frame and code counted as overhead."""


DVB_S2 = (
    Modcod("QPSK 1/4", -2.35, 0.490243),
    Modcod("QPSK 1/3", -1.24, 0.656448),
    Modcod("QPSK 2/5", -0.30, 0.789412),
    Modcod("QPSK 1/2", 1.00, 0.988858),
    Modcod("QPSK 3/5", 2.23, 1.188304),
    Modcod("QPSK 2/3", 3.10, 1.322253),
    Modcod("QPSK 3/4", 4.03, 1.487473),
    Modcod("QPSK 4/5", 4.68, 1.587196),
    Modcod("QPSK 5/6", 5.18, 1.654663),
    Modcod("QPSK 8/9", 6.20, 1.766451),
    Modcod("QPSK 9/10", 6.42, 1.788612),
    Modcod("8PSK 3/5", 5.50, 1.779991),
    Modcod("8PSK 2/3", 6.62, 1.980636),
    Modcod("8PSK 3/4", 7.91, 2.228124),
    Modcod("8PSK 5/6", 9.35, 2.478562),
    Modcod("8PSK 8/9", 10.69, 2.646012),
    Modcod("8PSK 9/10", 10.98, 2.679207),
    Modcod("16APSK 2/3", 8.97, 2.637201),
    Modcod("16APSK 3/4", 10.21, 2.966728),
    Modcod("16APSK 4/5", 11.03, 3.165623),
    Modcod("16APSK 5/6", 11.61, 3.300184),
    Modcod("16APSK 8/9", 12.89, 3.523143),
    Modcod("16APSK 9/10", 13.13, 3.567342),
    Modcod("32APSK 3/4", 12.73, 3.703295),
    Modcod("32APSK 4/5", 13.64, 3.951571),
    Modcod("32APSK 5/6", 14.28, 4.119540),
    Modcod("32APSK 8/9", 15.69, 4.397854),
    Modcod("32APSK 9/10", 16.05, 4.453027),
)
"""EN 302 307-1 V1.4.1, table 13."""

DVB_S2X = (
    Modcod("QPSK 2/9", -2.85, 0.434841),
    Modcod("QPSK 13/45", -2.03, 0.567805),
    Modcod("QPSK 9/20", 0.22, 0.889135),
    Modcod("QPSK 11/20", 1.45, 1.088581),
    Modcod("8APSK 5/9-L", 4.73, 1.647211),
    Modcod("8APSK 26/45-L", 5.13, 1.713601),
    Modcod("8PSK 23/36", 6.12, 1.896173),
    Modcod("8PSK 25/36", 7.02, 2.062148),
    Modcod("8PSK 13/18", 7.49, 2.145136),
    Modcod("16APSK 1/2-L", 5.97, 1.972253),
    Modcod("16APSK 8/15-L", 6.55, 2.104850),
    Modcod("16APSK 5/9-L", 6.84, 2.193247),
    Modcod("16APSK 26/45", 7.51, 2.281645),
    Modcod("16APSK 3/5", 7.80, 2.370043),
    Modcod("16APSK 3/5-L", 7.41, 2.370043),
    Modcod("16APSK 28/45", 8.10, 2.458441),
    Modcod("16APSK 23/36", 8.38, 2.524739),
    Modcod("16APSK 2/3-L", 8.43, 2.635236),
    Modcod("16APSK 25/36", 9.27, 2.745734),
    Modcod("16APSK 13/18", 9.71, 2.856231),
    Modcod("16APSK 7/9", 10.65, 3.077225),
    Modcod("16APSK 77/90", 11.99, 3.386618),
    Modcod("32APSK 32/45", 11.75, 3.510192),
    Modcod("32APSK 11/15", 12.17, 3.620536),
    Modcod("32APSK 7/9", 13.05, 3.841226),
    Modcod("64APSK 32/45-L", 13.98, 4.206428),
    Modcod("64APSK 11/15", 14.81, 4.338659),
    Modcod("64APSK 7/9", 15.47, 4.603122),
    Modcod("64APSK 4/5", 15.87, 4.735354),
    Modcod("128APSK 3/4", 17.73, 5.163248),
    Modcod("128APSK 7/9", 18.53, 5.355556),
    Modcod("256APSK 29/45-L", 16.98, 5.065690),
    Modcod("256APSK 2/3-L", 17.24, 5.241514),
    Modcod("256APSK 31/45-L", 18.10, 5.417338),
    Modcod("256APSK 32/45", 18.59, 5.593162),
    Modcod("256APSK 11/15-L", 18.84, 5.768987),
    Modcod("256APSK 3/4", 19.57, 5.900855),
)
"""EN 302 307-2 V1.1.1, table 20a, the modes that it adds."""

STANDARDS = {"dvb-s2": DVB_S2, "dvb-s2x": DVB_S2 + DVB_S2X}
"""The modes of a modem; one for DVB-S2X has those of DVB-S2 too (EN 302 307-2, clause 4.1)."""


def ladder(standard: str) -> tuple[Modcod, ...]:
    """The modes that a modem steps through: those which no other beats with less Es/N0, from slow to fast."""
    steps: list[Modcod] = []
    for mode in sorted(STANDARDS[standard], key=lambda mode: (mode.threshold_db, -mode.efficiency)):
        if not steps or mode.efficiency > steps[-1].efficiency:
            steps.append(mode)
    return tuple(steps)


def modcod_table(standard: str = "dvb-s2x") -> pl.DataFrame:
    """The modes of a standard: modcod, threshold_db (Es/N0), efficiency (bits per symbol), in_ladder.

    Raises:
        KeyError: the standard is neither "dvb-s2" nor "dvb-s2x".
    """
    used = {mode.name for mode in ladder(standard)}
    rows = [(*mode, mode.name in used) for mode in STANDARDS[standard]]
    return pl.DataFrame(rows, schema=["modcod", "threshold_db", "efficiency", "in_ladder"], orient="row")
