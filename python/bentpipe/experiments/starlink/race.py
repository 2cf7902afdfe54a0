"""Algorithms over the model of a Starlink link, at all ends of its ranges: a table of docs/starlink.md."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bentpipe.experiments.starlink.experiment import OfStarlink, by_setting, put
from bentpipe.experiments.starlink.model import FAMILIES, Setting
from bentpipe.sweeps.case import Case
from bentpipe.sweeps.kept import Row

RACED = {
    "BBR": "bbr", "BBRv3": "bbr3", "LeoCC": "leocc", "Illinois": "illinois", "CUBIC": "cubic",
    "CUBIC, HyStart": "cubic slow_start=hystart", "Reno": "reno", "Vegas": "vegas", "Copa": "copa",
    "A-LIAD": "a-liad", "TCP-STAR": "star", "HSWA-TCP": "hswa", "Vegas-L": "vegas-l", "SIMD": "simd",
}  # fmt: skip
"""The algorithms of the race: those that people run, and those of the five papers."""
LOSSES = {"6e-6": 6e-6, "2e-5": 2e-5, "1e-4": 1e-4}
SEEDS, LENGTH_S = 6, 60.0


def settings(cc: str) -> dict[str, Setting]:
    """All ends for an algorithm, by the heads of the table: both families, all losses, and the uplink."""
    found = {
        f"{family}, {name}": Setting(cc, family, loss, length_s=LENGTH_S)
        for family in FAMILIES
        for name, loss in LOSSES.items()
    }
    return {**found, "uplink": Setting(cc, None, preset="starlink-up", length_s=LENGTH_S)}


class Race(OfStarlink):
    """The experiment."""

    name = "starlink-race"

    def cases(self) -> list[Case]:
        """Every algorithm at all ends, with each seed."""
        return [
            case
            for name, cc in RACED.items()
            for end, setting in settings(cc).items()
            for case in setting.cases(self.seeds(SEEDS), algorithm=name, end=end)
        ]

    def write(self, cases: Sequence[Case], rows: Sequence[Row]) -> list[Path]:
        """Writes the median goodput over what UDP gets."""
        found = by_setting(cases, rows)
        *ends, up = settings("")
        table = [["algorithm", *ends, "sent again, D, 2e-5", up]]
        for name in RACED:
            shares = [f"{100 * np.median(found[name, end].share):.0f}" for end in (*ends, up)]
            again = f"{100 * np.median(found[name, 'D, 2e-5'].again['sender']):.2f}"
            table.append([name, *shares[:-1], again, shares[-1]])
        return put(self, "starlink_race", table)
