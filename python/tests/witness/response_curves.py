"""Which controllers have a closed form for the window at a given loss rate, and those forms.

`CURVES` is what `closed_forms.py` measures. The forms are `bentpipe.analysis`'s where it has them; the others
are stated here with their source. Each holds for a flow that nothing limits but losses, without a queue.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import loss_rules
from scipy.optimize import brentq

from bentpipe.analysis import highspeed, response, spectrum

RTT = 0.5
SHORT_RTT = 0.01
LOSS_RATES = (2e-5, 1e-4, 1e-3, 3e-3, 1e-2)

Form = Callable[[float], float]


@dataclass(frozen=True)
class Curve:
    """A controller, the rule that it is said to follow, and the closed forms for it.

    `periodic` and `random` give the mean window for `p` loss events per packet; None if there is no form.
    `memory` is the number of losses after which a wrong window has shrunk to 1/e of its error. `start` is the
    first window over the expected one: not 1, so that the flow has to find its window. The form is meant for
    loss rates from `least` to `most`: above, an epoch has so few round trips that it says nothing.
    """

    label: str
    cc: dict[str, Any]
    rule: loss_rules.Rule | None
    periodic: Form
    random: Form | None
    memory: Callable[[float], float]
    rtt: float = RTT
    start: float = 1.1
    least: float = 0.0
    most: float = 1.0

    @property
    def name(self) -> str:
        """The name in tables: the controller's label, and the round-trip time if it matters."""
        return self.label if self.cc["name"] != "cubic" else f"{self.label}, {self.rtt * 1e3:.0f} ms"

    def rates(self, among: tuple[float, ...] = LOSS_RATES) -> list[float]:
        """The loss rates of `among` for which the form is meant."""
        return [p for p in among if self.least <= p <= self.most]


def _spectrum_periodic(k: float) -> Form:
    """A (k, l) control makes Reno's window under random losses; if they are periodic its c is too small.

    By Gamma(u + 1) with u = 1 / (k + 1): appendix A of the spectrum paper. The window before a loss is where
    c (1 / (p W))^u makes up for the cut, and c falls as W^-u.
    """
    factor = float(spectrum.gamma_factor(k)) ** (-(k + 1) / 2)
    return lambda p: factor * float(response.mathis(p, 1.0))


def _aimd(alpha: float, beta: float) -> dict[str, Any]:
    """The forms of AIMD(alpha, beta)."""
    return {
        "rule": loss_rules.Binomial(alpha, beta),
        "periodic": lambda p: float(response.aimd_window(p, alpha, beta)),
        "random": lambda p: float(response.aimd_window_random(p, alpha, beta)),
        "memory": _binomial_memory(0, 1, beta),
    }


def _yeah(p: float) -> float:
    """Scalable's window, or that of AIMD(1, 1/8) if it is larger: YeAH adds the larger of 1/100 and 1/W."""
    return max(float(highspeed.scalable_window(p)), float(response.aimd_window(p, 1.0, 0.125)))


def _htcp(p: float) -> float:
    """H-TCP, periodic: growth by s 2 (1 - beta) alpha(t) a round trip makes up for (1 - beta) W in an epoch.

    Leith and Shorten 2004: alpha(t) = 1 for a second, then 1 + 10 (t - 1) + ((t - 1) / 2)^2; beta = 0.8
    without a queue, and s = 2 at an RTT of 0.2 s and more. The sender sends 1/p segments in an epoch.
    """
    keep, steps = 0.8, 2 * 2 * (1 - 0.8)

    def rise(t: float) -> float:
        late = max(t - 1.0, 0.0)
        return steps * (t + 5 * late**2 + late**3 / 12) / RTT

    def area(t: float) -> float:
        late = max(t - 1.0, 0.0)
        return steps * (t**2 / 2 + 5 * late**3 / 3 + late**4 / 48) / RTT

    def sent(t: float) -> float:
        return (keep * rise(t) / (1 - keep) * t + area(t)) / RTT

    epoch = brentq(lambda t: sent(t) - 1 / p, 1e-6, 1e4)
    return float(RTT / (p * epoch))


def _binomial_memory(k: float, l: float, beta: float) -> Callable[[float], float]:  # noqa: E741
    """A loss takes beta w^l, growth gives as much: an error falls by the share (k+l+1) beta w^(l-1)."""
    return lambda w: w ** (1 - l) / ((k + l + 1) * beta)


CUBIC = {"name": "cubic", "fast_convergence": False}
CURVES = (
    Curve(
        "Reno",
        {"name": "reno"},
        loss_rules.Binomial(1.0, 0.5),
        lambda p: response.mathis(p, 1.0),
        lambda p: response.aimd_window_random(p),
        _binomial_memory(0, 1, 0.5),
    ),
    Curve(
        "AIMD(1/5, 1/8)",
        {"name": "aimd"},
        loss_rules.Binomial(0.2, 0.125),
        lambda p: response.aimd_window(p, 0.2, 0.125),
        lambda p: response.aimd_window_random(p, 0.2, 0.125),
        _binomial_memory(0, 1, 0.125),
    ),
    Curve(
        "IIAD(1, 2/3)",
        {"name": "iiad"},
        loss_rules.Binomial(1.0, 2 / 3, 1.0, 0.0),
        lambda p: response.binomial_window(p, 1.0, 2 / 3, 1.0, 0.0),
        lambda p: response.binomial_window(p, 1.0, 2 / 3, 1.0, 0.0),
        _binomial_memory(1, 0, 2 / 3),
        least=1e-4,
    ),
    Curve(
        "SQRT(1, 2/3)",
        {"name": "sqrt"},
        loss_rules.Binomial(1.0, 2 / 3, 0.5, 0.5),
        lambda p: response.binomial_window(p, 1.0, 2 / 3, 0.5, 0.5),
        lambda p: response.binomial_window(p, 1.0, 2 / 3, 0.5, 0.5),
        _binomial_memory(0.5, 0.5, 2 / 3),
    ),
    Curve(
        "SIMD(1/16)",
        {"name": "simd"},
        loss_rules.Simd(),
        _spectrum_periodic(-0.5),
        lambda p: response.mathis(p, 1.0),
        lambda w: 8.0,
    ),
    Curve(
        "Scalable",
        {"name": "scalable"},
        loss_rules.Scalable(),
        highspeed.scalable_window,
        highspeed.scalable_window,
        lambda w: 8.0,
    ),
    Curve(
        "HighSpeed",
        {"name": "highspeed"},
        loss_rules.HighSpeed(),
        highspeed.hstcp_window,
        None,
        lambda w: 8.0,
    ),
    Curve(
        "CUBIC",
        CUBIC,
        loss_rules.Cubic(RTT, friendly=False),
        lambda p: highspeed.cubic_window(p, RTT),
        None,
        lambda w: 12.0,
        # Its window is only neutrally stable under periodic losses: it stays where it begins.
        start=1.0,
    ),
    Curve(
        "CUBIC",
        CUBIC,
        loss_rules.Cubic(SHORT_RTT, friendly=True),
        lambda p: highspeed.cubic_window(p, SHORT_RTT, reno=response.RENO),
        None,
        lambda w: 8.0,
        SHORT_RTT,
    ),
    Curve(
        "AIAD(2/3)",
        {"name": "aiad"},
        None,
        _spectrum_periodic(0.0),
        lambda p: response.mathis(p, 1.0),
        lambda w: 0.75 * w,
        least=1e-4,
    ),
    Curve(
        "(k, l) = (-1/3, 1)",
        {"name": "kl"},
        None,
        _spectrum_periodic(-1 / 3),
        lambda p: response.mathis(p, 1.0),
        lambda w: 8.0,
    ),
    # Growth by rho^2 = (100 ms / 25 ms)^2 a round trip: Reno's rate at 25 ms, whatever the RTT.
    Curve(
        "Hybla",
        {"name": "hybla", "ssthresh_est": False, "pacing": False},
        rtt=0.1,
        most=3e-4,
        **_aimd(16, 0.5),
    ),
    # Fu and Liew 2003: no queue, so every loss costs a fifth.
    Curve("Veno", {"name": "veno"}, **_aimd(1, 0.2)),
    # Liu et al. 2008: alpha_max and beta_min where no queue is.
    Curve("Illinois", {"name": "illinois"}, most=3e-4, **_aimd(10, 0.125)),
    # Ge et al., eq 5: S = -10 lg(1e-8) = 80 segments a round trip.
    Curve("HSWA-TCP", {"name": "hswa"}, most=1e-4, **_aimd(80, 0.5)),
    Curve("YeAH", {"name": "yeah"}, None, _yeah, None, lambda w: 8.0, most=3e-3),
    Curve("H-TCP", {"name": "htcp"}, None, _htcp, None, lambda w: 8.0, most=1e-3),
    Curve(
        "TFRC",
        {"name": "tfrc"},
        None,
        lambda p: response.tfrc(p, 1.0),
        lambda p: response.tfrc(p, 1.0),
        lambda w: 8.0,
    ),
)
