"""A modem with adaptive coding and modulation that follows a fade, and the time line of its link.

The rule is the one that vendors describe (Newtec EL170 manual, "Optimal ModCod Based on EsNo"): a mode is
left when the Es/N0 that was reported falls under its threshold plus a margin, and a higher one is taken when
it exceeds that of the higher one by a hysteresis more. The report is old by the time that measuring,
reporting over the satellite and changing the mode take.

The modes are in `modcods.csv` beside this file. Sources: ETSI EN 302 307-1 V1.4.1, table 13 (DVB-S2; ideal
Es/N0 at a packet error rate of 1e-7) and ETSI EN 302 307-2 V1.1.1, table 20a (DVB-S2X; ideal Es/N0 at a frame
error rate of 1e-5, linear channel), both for normal FECFRAMEs of 64,800 bits over an AWGN channel, without
pilots. Only modes are listed for which at least two independent public copies of the tables agree in both
numbers. Copies disagree on the efficiency of 32APSK 2/3-L and 64APSK 5/6; those two are left out.
"""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from bentpipe import _core, units
from bentpipe.weather.fades import Progress, fade
from bentpipe.weather.station import Quantity, Station

RAIN_K = 275.0
"""Mean radiating temperature of rain and clouds (P.618-13, section 3)."""
SKY_K = 2.7
"""Temperature of the cosmic background, which the attenuation hides (P.618-13, section 3)."""
WATERFALL_DB = 0.15
"""Es/N0 over which the share of lost frames falls from 1 to 1e-5. Of the simulated curves of two modes, the
five decades take 0.153 dB (QPSK 1/2: 8.1e-3 at 0.877 dB, 9.9e-7 at 0.997 dB) and 0.139 dB (16APSK 3/4: 6.2e-2
at 10.053 dB, 4.0e-7 at 10.197 dB); they come with the satellite module of ns-3 (sns3/sns3-data,
linkresults)."""
Hundredths = npt.NDArray[np.int64]
"""Values in hundredths of a dB, in which comparisons come out alike on every machine."""
RATIO: Final = Quantity({"dB": 1.0}, "14 dB", -20.0, 60.0)
MARGIN: Final = Quantity({"dB": 1.0}, "1 dB", 0.0, 20.0)
TEMPERATURE: Final = Quantity({"K": 1.0}, "242 K", 10.0, 1e5)
SYMBOL_RATE: Final = Quantity({"baud": 1.0, "kbaud": 1e3, "Mbaud": 1e6, "Gbaud": 1e9}, "30 Mbaud", 1e3, 1e10)
_QEF = -5
_NEGLIGIBLE = 1e-9


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


@dataclass(frozen=True)
class Modem:
    """The modem at the far end of a satellite link, and the one here that obeys it.

    Args:
        clear_sky: Es/N0 (C/N in the symbol rate's bandwidth) without rain. 14 dB is the value that 3GPP TR
            38.821 gives a VSAT under a GEO satellite at 20 GHz before losses in the atmosphere: 40 dBW/MHz
            (table 6.1.1.1-1) - 210.6 dB (40,586 km, the edge of coverage) + 15.9 dB/K (table 6.1.1.1-3) +
            228.6 - 60 dB = 13.9 dB.
        symbol_rate: 30 Mbaud fill a transponder of 36 MHz at a roll-off of 20 % (EN 302 307-1, clause 5.6).
        standard: "dvb-s2x" or "dvb-s2".
        margin: the reserve that a mode must have; 1 dB is the default of Comtech's CDM-760 (manual, appendix
            G) and CDM-570A. The slowest mode is kept without it.
        hysteresis: the further reserve that a higher mode must have; 0.3 dB is that of the CDM-570A (manual,
            chapter 6).
        reaction: from a fade to the first frame in another mode; 870 ms is the sum in the CDM-760's manual
            for one hop over a GEO satellite: 300 + 250 + 20 + 300 ms.
        noise: the receiver's noise temperature with its antenna under a clear sky, against which rain is
            warm: a fade reduces the signal and adds to the noise. 242 K is the VSAT
            of TR 38.821: 150 K and a noise figure of 1.2 dB. None for a receiver whose noise does not change,
            that of an uplink.

    Raises:
        ScenarioError: a value is invalid, or out of range.
    """

    clear_sky: str = "14 dB"
    symbol_rate: str = "30 Mbaud"
    standard: str = "dvb-s2x"
    margin: str = "1 dB"
    hysteresis: str = "0.3 dB"
    reaction: str = "870 ms"
    noise: str | None = "242 K"

    def __post_init__(self) -> None:
        if self.standard not in STANDARDS:
            raise _core.ScenarioError(f"standard: {self.standard!r} is none of {', '.join(STANDARDS)}")
        # Each of these checks its value.
        _ = (
            self.clear_sky_db,
            self.symbol_rate_baud,
            self.margin_db,
            self.hysteresis_db,
            self.reaction_s,
            self.noise_k,
        )
        if self.clear_sky_db < self.modes[0].threshold_db:
            raise _core.ScenarioError(
                f"clear_sky: {self.clear_sky} is below {self.modes[0].threshold_db} dB, the threshold of the "
                f"slowest mode ({self.modes[0].name}); there would be no link even without rain"
            )

    @cached_property
    def modes(self) -> tuple[Modcod, ...]:
        """The modes that it steps through, from slow to fast."""
        return ladder(self.standard)

    clear_sky_db = RATIO.of("clear_sky")
    """Es/N0 without rain, in dB."""
    symbol_rate_baud = SYMBOL_RATE.of("symbol_rate")
    """Symbols per second."""
    margin_db = MARGIN.of("margin")
    """The reserve that a mode must have, in dB."""
    hysteresis_db = MARGIN.of("hysteresis")
    """The reserve of a higher mode beyond the margin, in dB."""

    @cached_property
    def reaction_s(self) -> float:
        """Age of its information, in seconds."""
        return units.seconds(self.reaction, "reaction")

    @cached_property
    def noise_k(self) -> float | None:
        """Noise temperature of the receiver under a clear sky, in K."""
        return None if self.noise is None else TEMPERATURE.read(self.noise, "noise")

    @property
    def clear_rate_bps(self) -> int:
        """Bits per second under a clear sky."""
        return self.rate_bps(int(self.follow(es_n0(np.zeros(1), self))[0]))

    def rate_bps(self, mode: int) -> int:
        """Bits per second of a mode by its place in `modes`; 0 of -1, no mode at all."""
        return 0 if mode < 0 else round(self.symbol_rate_baud * self.modes[mode].efficiency)

    def follow(self, known: Hundredths) -> npt.NDArray[np.int64]:
        """The mode in use at each instant, by its place in `modes`, or -1 where nothing can be sent.

        Args:
            known: the Es/N0 in hundredths of a dB that the modem knows at each instant. Before the first one
                the modem was at rest at that value.
        """
        thresholds = np.array([round(mode.threshold_db * 100) for mode in self.modes])
        stays = thresholds + np.where(thresholds == thresholds[0], 0, round(self.margin_db * 100))
        keeps = np.searchsorted(stays, known, side="right") - 1
        rises = np.searchsorted(stays + round(self.hysteresis_db * 100), known, side="right") - 1
        used = np.empty(len(known), dtype=np.int64)
        mode = int(rises[0])
        for i, (low, high) in enumerate(zip(rises.tolist(), keeps.tolist(), strict=True)):
            mode = min(max(mode, low), high)
            used[i] = mode
        return used


def es_n0(attenuation: npt.NDArray[np.float64], modem: Modem) -> Hundredths:
    """Es/N0 under rain, in hundredths of a dB.

    The signal loses the attenuation A. The noise temperature gains (275 K - 2.7 K) (1 - 10^(-A/10)) by
    P.618-13, section 3, unless the modem has `noise` None.
    """
    left = modem.clear_sky_db - attenuation
    if modem.noise_k is not None:
        warmer = (RAIN_K - SKY_K) * (1 - 10 ** (-attenuation / 10))
        left = left - 10 * np.log10(1 + warmer / modem.noise_k)
    return np.round(left * 100).astype(np.int64)


def lost(es_n0: Hundredths, mode: npt.NDArray[np.int64], modem: Modem) -> npt.NDArray[np.float64]:
    """The share of frames that is lost.

    It is 1e-5 at the threshold of the mode in use, and its logarithm is a straight line.

    One where nothing can be received, 0 below 1e-9. A packet counts as lost with its frame: at most some
    thousand bytes are in a frame, so few packets are cut in two.
    """
    thresholds = np.array([round(each.threshold_db * 100) for each in modem.modes])[np.maximum(mode, 0)]
    decades = _QEF * (1 + (es_n0 - thresholds) / (100 * WATERFALL_DB))
    share = np.where(mode < 0, 1.0, 10 ** np.minimum(decades, 0.0))
    return np.where(share < _NEGLIGIBLE, 0.0, np.round(share, 9))


def late(values: Hundredths, step_s: float, by_s: float) -> Hundredths:
    """The values as they were `by_s` before, as far as steps show it; before the first they were like it."""
    lag = min(math.ceil(round(by_s / step_s, 9)), len(values))
    return np.concatenate([np.full(lag, values[0]), values[: len(values) - lag]])


def timeline(
    station: Station,
    *,
    modem: Modem | None = None,
    availability: float = 99.5,
    duration: str = "1 h",
    step: str = "1 s",
    seed: int = 1,
    progress: Progress | None = None,
) -> pl.DataFrame:
    """The rate, the losses and the outages of a link in rain, one row per step.

    Args:
        station: the place and its path.
        modem: the modem that follows the fade; `Modem()` if there is none.
        availability: as for `fade`, and so are the rest.
        duration: of the time line.
        step: between two rows.
        seed: of the generator.
        progress: called with the amount done, and the total.

    Returns:
        The columns of `follow`.

    Raises:
        ScenarioError: as `fade` does.
    """
    fades = fade(
        station, availability=availability, duration=duration, step=step, seed=seed, progress=progress
    )
    return follow(fades, modem or Modem())


def follow(fades: pl.DataFrame, modem: Modem) -> pl.DataFrame:
    """The response of a modem to a fade.

    Args:
        fades: `t_s`, in equal steps, and `attenuation_db`.
        modem: the modem that follows it.

    Returns:
        A time line (docs/timeline.md): `t_s`; `rate_bps` of the mode in use, which is 0 while `up` is false:
        the modem knows that the Es/N0 is below its slowest mode, and nothing is sent; `loss_rate`, the share
        of frames that the Es/N0 at this instant does not let through; `handover`, never true, since the
        satellite is the same after an outage. Beside them `attenuation_db`, `es_n0_db`, and the name of the
        mode, `modcod`, which is empty while `up` is false.
    """
    now = es_n0(fades["attenuation_db"].to_numpy(), modem)
    step_s = float(fades["t_s"][1] - fades["t_s"][0]) if fades.height > 1 else 1.0
    mode = modem.follow(late(now, step_s, modem.reaction_s))
    rates = np.array(
        [modem.rate_bps(-1), *(modem.rate_bps(i) for i in range(len(modem.modes)))], dtype=np.float64
    )
    names = pl.Series(["", *(each.name for each in modem.modes)])
    up = mode >= 0
    return pl.DataFrame(
        {
            "t_s": fades["t_s"],
            "rate_bps": rates[mode + 1],
            "loss_rate": np.where(up, lost(now, mode, modem), 0.0),
            "up": up,
            "handover": np.zeros(len(up), dtype=bool),
            "attenuation_db": fades["attenuation_db"],
            "es_n0_db": now / 100,
            "modcod": names.gather(mode + 1),
        }
    )


@dataclass(frozen=True)
class Summary:
    """A time line in a few numbers."""

    modcods: pl.DataFrame
    """Per mode, from fast to slow: `modcod`, `share` of the time, `rate_bps`, and `loss_rate` while it is
    used."""
    mean_rate_bps: float
    """Rate on average, outages counted as 0."""
    mean_goodput_bps: float
    """The same without the frames that are lost."""
    outage: float
    """Share of the time in which the link is down, or loses more than half of its frames."""


def summary(line: pl.DataFrame) -> Summary:
    """The summary of a time line with rows of equal length."""
    modcods = (
        line.group_by("modcod")
        .agg(
            share=pl.len() / line.height,
            rate_bps=pl.col("rate_bps").first(),
            loss_rate=pl.col("loss_rate").mean(),
        )
        .sort("rate_bps", descending=True)
    )
    through = line["rate_bps"] * (1 - line["loss_rate"])
    outage = line.select((~pl.col("up") | (pl.col("loss_rate") > 0.5)).mean()).item()
    return Summary(modcods, float(line["rate_bps"].mean()), float(through.mean()), float(outage))  # type: ignore[arg-type]
