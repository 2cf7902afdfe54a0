"""The constants of the model of a Starlink access link, by the drive that measured them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from bentpipe import _core
from bentpipe.registry import unknown
from bentpipe.toml_tables import beside


@dataclass(frozen=True)
class Constant:
    """A constant of the model: its value, and the ends of its 95 % interval or of its range."""

    value: float
    low: float
    high: float

    def __post_init__(self) -> None:
        assert self.low <= self.value <= self.high


@dataclass(frozen=True)
class Profile:
    """The constants of the model; `profiles.toml` beside this file has the meaning of each."""

    measured: str
    rate_down_bps: Constant
    rate_up_bps: Constant
    level_cv: Constant
    level_slow: Constant
    course_cv: Constant
    course_spread: Constant
    course_level: Constant
    course_half: Constant
    noise_cv: Constant
    blackout_s: Constant
    outage_every_s: Constant
    outage_length_s: Constant
    outage_spread: Constant
    rtt_least_s: Constant
    rtt_more_s: Constant
    rtt_spread: Constant
    rtt_period: Constant
    rtt_slow: Constant
    loss_down: Constant
    loss_down_packets: Constant
    loss_up: Constant
    loss_up_packets: Constant
    buffer_bdp: Constant
    share: Constant

    @property
    def rtt_short_s(self) -> float:
        """A round trip that 1 % of all are below: about the least in half a minute."""
        from scipy.special import ndtri

        return self.rtt_least_s.value + self.rtt_more_s.value * math.exp(
            self.rtt_spread.value * float(ndtri(0.01))
        )


PROFILES: Mapping[str, Profile] = {
    name: Profile(of.pop("measured"), **{key: Constant(*ends) for key, ends in of.items()})
    for name, of in beside(__file__, "profiles.toml").items()
}
"""The profiles by name."""
DIRECTIONS = ("down", "up")


def find_profile(name: str) -> Profile:
    """The profile with this name.

    Raises:
        ScenarioError: there is none.
    """
    if name == "fixed":
        raise _core.ScenarioError(
            "profile fixed: no data describes a dish that stays in its place; the profiles are "
            + ", ".join(PROFILES)
        )
    if name not in PROFILES:
        raise _core.ScenarioError(unknown("profile", name, list(PROFILES)))
    return PROFILES[name]
