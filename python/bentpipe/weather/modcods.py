"""Modulations and code rates of DVB-S2 and DVB-S2X: the Es/N0 that each needs, and its efficiency.

Sources: ETSI EN 302 307-1 V1.4.1, table 13 (DVB-S2; ideal Es/N0 at a packet error rate of 1e-7) and ETSI
EN 302 307-2 V1.1.1, table 20a (DVB-S2X; ideal Es/N0 at a frame error rate of 1e-5, linear channel), both for
normal FECFRAMEs of 64,800 bits over an AWGN channel, without pilots. Only modes are listed for which at least
two independent public copies of the tables agree in both numbers. Copies disagree on the efficiency of 32APSK
2/3-L and 64APSK 5/6; those two are left out.
"""

from __future__ import annotations

import csv
from importlib.resources import files
from typing import NamedTuple

import polars as pl


class Modcod(NamedTuple):
    """A mode of the modem."""

    name: str
    threshold_db: float
    """Es/N0 in dB at which it is quasi error free."""
    efficiency: float
    """Bits per symbol, with the headers of frame and code counted as overhead."""


def _read(standard: str) -> tuple[Modcod, ...]:
    """The modes that a standard has in modcods.csv beside this file, in the order of its table."""
    rows = csv.reader(files("bentpipe.weather").joinpath("modcods.csv").read_text("utf-8").splitlines())
    return tuple(Modcod(name, float(db), float(bits)) for of, name, db, bits in rows if of == standard)


DVB_S2 = _read("dvb-s2")
"""EN 302 307-1 V1.4.1, table 13."""
DVB_S2X = _read("dvb-s2x")
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
