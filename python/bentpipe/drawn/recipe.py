"""The recipe of a drawn time line: a table that a link of a scenario may have in place of a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bentpipe import _core, units
from bentpipe.drawn.profiles import DIRECTIONS, Profile, find_profile
from bentpipe.registry import unknown
from bentpipe.units import seconds, spaced

if TYPE_CHECKING:
    import polars as pl

GENERATORS = ("starlink",)
"""Their names."""


@dataclass(frozen=True)
class Recipe:
    """What is drawn.

    Attributes:
        profile: name of the constants.
        direction: "down" or "up".
        rate_median: median of the rate's level, bits per second; None for that of the profile.
        share: share of the rate that is drawn.
        blackout: seconds without transmission at the end of each period; None for that of the profile.
        seed: of the draw; None for the seed of the run.
    """

    profile: str = "car-2024"
    direction: str = "down"
    rate_median: float | None = None
    share: float = 1.0
    blackout: float | None = None
    seed: int | None = None

    @classmethod
    def of(cls, table: Mapping[str, Any], key: str) -> Recipe:
        """The recipe of a table of a scenario; `key` is its place.

        Raises:
            ScenarioError: a key is unknown, or a value is wrong.
        """
        generator = table.get("generator")
        if generator not in GENERATORS:
            raise _core.ScenarioError(
                f"{key}.generator: {unknown('generator', str(generator), list(GENERATORS))}"
            )
        for name in table:
            if name != "generator" and name not in cls.__dataclass_fields__:
                known = ["generator", *cls.__dataclass_fields__]
                raise _core.ScenarioError(f"{key}: {unknown('key', name, known)}")
        given = dict(table)
        try:
            find_profile(str(given.get("profile", cls.profile)))
        except _core.ScenarioError as wrong:
            raise _core.ScenarioError(f"{key}.{wrong}") from None
        direction = given.get("direction", cls.direction)
        if direction not in DIRECTIONS:
            raise _core.ScenarioError(f'{key}.direction: write "down" or "up", not {direction!r}')
        share = given.get("share", cls.share)
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share <= 1:
            raise _core.ScenarioError(f"{key}.share: {share!r} is not a number above 0, and at most 1")
        seed = given.get("seed")
        if seed is not None and (type(seed) is not int or not 0 <= seed < 2**64):
            raise _core.ScenarioError(f"{key}.seed: {seed!r} is not a whole number from 0")
        rate = given.get("rate_median")
        return cls(
            str(given.get("profile", cls.profile)), direction,
            None if rate is None else units.bits_per_second(str(rate), f"{key}.rate_median"), float(share),
            _blackout(given.get("blackout"), f"{key}.blackout"), seed,
        )  # fmt: skip

    @property
    def constants(self) -> Profile:
        """The constants of the profile."""
        return find_profile(self.profile)

    @property
    def rate_bps(self) -> float:
        """The median of the rate's level, times the share."""
        known = self.constants
        median = known.rate_down_bps if self.direction == "down" else known.rate_up_bps
        return self.share * (median.value if self.rate_median is None else self.rate_median)

    @property
    def nominal(self) -> dict[str, str]:
        """Median rate and short delay: the bandwidth-delay product of a queue's limit is theirs."""
        return {
            "rate": f"{self.rate_bps:.0f} bit/s",
            "delay": f"{self.constants.rtt_short_s / 2 * 1e6:.0f} us",
        }

    def line(self, seed: int, duration_s: float) -> pl.DataFrame:
        """Rate, delay and reconfigurations over time, without outages."""
        from bentpipe.drawn import starlink

        known = self.constants
        blackout_s = known.blackout_s.value if self.blackout is None else self.blackout
        return starlink.line(known, self.direction, self._seed(seed), duration_s, self.rate_bps, blackout_s)

    def outages(self, seed: int, duration_s: float) -> list[tuple[float, float]]:
        """Begin and end of each outage, seconds."""
        from bentpipe.drawn import starlink

        return starlink.outages(self.constants, self._seed(seed), duration_s)

    def _seed(self, of_run: int) -> int:
        return of_run if self.seed is None else self.seed


def _blackout(value: object, key: str) -> float | None:
    if value is None:
        return None
    return 0.0 if spaced(str(value)).partition(" ")[0] == "0" else seconds(str(value), key)
