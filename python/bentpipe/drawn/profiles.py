"""The constants of the model of a Starlink access link, by the drive that measured them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from bentpipe import _core
from bentpipe.registry import unknown


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
    """The constants of the model. Units are those of the names; shares and ratios have none.

    Attributes:
        measured: where and when it was measured, in words.
        rate_down_bps: median of the downlink's level, on the wire.
        rate_up_bps: the same of the uplink.
        level_cv: standard deviation of the levels over their mean.
        level_slow: correlation of the levels of two successive periods.
        course_cv: median over the periods of the standard deviation of half seconds over the period's level.
        course_spread: standard deviation of its logarithm over the periods.
        course_level: correlation of this logarithm with the level; low periods vary more.
        course_half: correlation of successive half seconds within a period.
        noise_cv: standard deviation of 50 ms within half a second, over its mean.
        blackout_s: time without transmission at the end of each period.
        outage_every_s: mean time from one outage to the next.
        outage_length_s: median length of an outage.
        outage_spread: standard deviation of the logarithm of the length.
        rtt_least_s: the least round trip, without queues.
        rtt_more_s: median of what a round trip has beyond it.
        rtt_spread: standard deviation of the logarithm of this.
        rtt_period: share of its variance that changes from period to period.
        rtt_slow: share that changes within about a second, and the rest within 0.2 s.
        loss_down: loss events per packet, downlink, outside outages. Not identified: a range.
        loss_down_packets: packets lost in an event, mean.
        loss_up: loss events per packet, uplink.
        loss_up_packets: packets lost in an event, mean.
        buffer_bdp: buffer of the downlink over rate times `rtt_short_s`. Not identified, and tied to `share`:
            the low end belongs to a share of 1, the high end to 0.65.
        share: share of the rate that TCP can get.
    """

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


# Starlink measurement of 27 May 2024, a car in Maine (docs/starlink.md, "The model"). Those marked "fit" are
# from `bentpipe study run starlink-model`, with 95 % intervals by a bootstrap over tests.
PROFILES: Mapping[str, Profile] = {
    "car-2024": Profile(
        measured="a car's dish in Maine, May 2024",
        rate_down_bps=Constant(246e6, 209e6, 264e6),  # fit: 241 Mbit/s of payload, with heads of IP and UDP
        rate_up_bps=Constant(31e6, 24e6, 39e6),  # UDP tests of 120 s: median, p10 and p90
        level_cv=Constant(0.37, 0.31, 0.42),  # fit
        level_slow=Constant(0.27, 0.08, 0.41),  # fit
        course_cv=Constant(0.28, 0.24, 0.33),  # fit
        course_spread=Constant(0.52, 0.45, 0.58),  # fit
        course_level=Constant(-0.81, -0.86, -0.74),  # fit
        course_half=Constant(
            0.48, 0.44, 0.53
        ),  # fit: half seconds that are drawn then have 0.41; measured 0.44
        noise_cv=Constant(0.11, 0.0, 0.22),  # LeoCC's sample trace at 50 ms; at 20 ms
        blackout_s=Constant(0.15, 0.0, 0.32),  # fit: what UDP lacks in the 3 s around the end of a period
        outage_every_s=Constant(65.0, 51.0, 93.0),  # fit
        outage_length_s=Constant(0.9, 0.78, 1.06),  # fit
        outage_spread=Constant(0.7, 0.52, 0.83),  # fit: 0.63 in tests; 0.82 in the whole day
        rtt_least_s=Constant(0.026, 0.026, 0.027),  # the least of 3,651 pings
        rtt_more_s=Constant(0.0183, 0.0163, 0.0206),  # fit
        rtt_spread=Constant(0.75, 0.64, 0.85),  # fit
        rtt_period=Constant(0.35, 0.2, 0.5),  # from the correlation of pings at 5 and 10 s: 0.26 and 0.09
        rtt_slow=Constant(0.41, 0.3, 0.5),  # from that at 0.2 and 1 s: 0.65 and 0.40
        loss_down=Constant(2e-5, 6e-6, 1e-4),  # 6e-6 to 1.4e-5 measured; LeoCC's emulator has 1e-4
        loss_down_packets=Constant(8.0, 8.0, 8.0),  # retransmissions of BBR in quiet seconds
        loss_up=Constant(9e-4, 9e-4, 1.6e-3),  # by TCP's goodput; by half seconds with a loss
        loss_up_packets=Constant(4.0, 2.6, 4.0),
        buffer_bdp=Constant(0.25, 0.25, 2.5),
        share=Constant(1.0, 0.65, 1.0),
    ),
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
