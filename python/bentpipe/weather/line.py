"""The time line of a link in rain: the response of a modem to a fade."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from bentpipe.weather.fades import Progress, fade
from bentpipe.weather.modem import Modem, es_n0, late, lost
from bentpipe.weather.station import Station


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
