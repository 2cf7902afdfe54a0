"""The claims under each changed choice, and what the paper's numbers imply."""

from __future__ import annotations

import math
from dataclasses import dataclass

import polars as pl

from bentpipe.studies.claim import Claim
from bentpipe.studies.hswa import claims
from bentpipe.studies.hswa.setup import PACKET_BYTES, RTT_S, VARIANTS
from bentpipe.studies.sensitivity import Sensitivity
from bentpipe.studies.study import Plan


def choice(name: str) -> str:
    """What a variant changes, in words."""
    return next(v.choice for v in VARIANTS if v.name == name)


def sensitivity(plan: Plan, runs: pl.DataFrame) -> Sensitivity:
    """The claims evaluated for the base and every variant, over the seeds that all variants have."""
    few = runs.filter(pl.col("seed") <= int(plan.settings["sensitivity_seeds"]))
    increments = few.filter(pl.col("variant") == "increment")
    names = [v.name for v in VARIANTS if v.name in set(runs["variant"])]

    def of(name: str) -> list[Claim]:
        return claims.evaluate(few.filter(pl.col("variant") == name), increments)

    return Sensitivity(of("base"), {name: of(name) for name in names})


@dataclass(frozen=True)
class Implied:
    """What a printed throughput says about the channel, if the window is a square root of the loss rate."""

    cc: str
    orbit: str
    ber: float
    mbps: float
    #: Window, packets.
    window: float
    #: Loss rate of packets that gives it.
    loss: float

    @property
    def per_byte(self) -> float:
        """Error rate per byte that gives this loss rate, in units of the paper's BER."""
        return self.loss / PACKET_BYTES / self.ber

    @property
    def per_bit(self) -> float:
        """Error rate per bit that gives this loss rate, in units of the paper's BER."""
        return self.per_byte / 8


def growth(cc: str, ber: float) -> float:
    """Packets by which the window grows per round trip while no queue stands: S of eq. 5, or 1."""
    return claims.S[ber] if cc == "hswa" else 1.0


def law_window(growth: float, loss: float) -> float:
    """Mean window of a rule that adds ``growth`` per round trip and halves at a loss, packets."""
    return math.sqrt(1.5 * growth / loss)


def implied(cc: str, orbit: str, ber: float, mbps: float) -> Implied:
    """The loss rate at which the square-root law gives ``mbps``, Mbit/s."""
    window = mbps * 1e6 * RTT_S[orbit] / 8 / PACKET_BYTES
    return Implied(cc, orbit, ber, mbps, window, 1.5 * growth(cc, ber) / window**2)
