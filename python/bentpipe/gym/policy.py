"""A controller that decides by a trained policy: a small neural network with the weights of a file.

    # learned.py
    from bentpipe.gym import PolicyController

    class Learned(PolicyController):
        file = "learned.json"

    bentpipe compare --link geo --cc cubic,learned.py:Learned

It observes monitor intervals as an environment does, as far as a sender knows them, and sets the pacing rate.
An interval ends with the first acknowledgement after its time.
"""

from __future__ import annotations

import inspect
import json
import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from bentpipe._core import ScenarioError
from bentpipe.controller import AckReport, Controller, FlowState

GUARD = 4.0
"""The window is this multiple of what the rate sends in a round trip, and four segments."""
DIGITS = 6
"""Decimal digits of a decision. The functions of a network differ between machines in their last bits."""


@dataclass
class Policy:
    """A network of full layers with tanh between them, and how it was trained.

    Args:
        layers: for each layer its weights, a row for each output, and its biases.
        observe: what it observes of an interval: names of `OBSERVED`.
        history: how many intervals, the oldest first.
        multiple: an interval takes this multiple of the mean round-trip time of the interval before.
        scale: alpha, and the bound of actions, as for `bentpipe.gym.Task`.
        most: the bound of actions.
    """

    layers: list[tuple[list[list[float]], list[float]]]
    observe: list[str]
    history: int
    multiple: float = 0.5
    scale: float = 0.025
    most: float = 1.0

    def __post_init__(self) -> None:
        for name in self.observe:
            if name not in OBSERVED:
                raise ScenarioError(
                    f"policy: no controller can observe {name}; there are {', '.join(OBSERVED)}"
                )
        width = len(self.observe) * self.history
        for weights, biases in self.layers:
            if len(weights) != len(biases) or any(len(row) != width for row in weights):
                raise ScenarioError(f"policy: a layer with {width} inputs is needed")
            width = len(biases)

    def factor(self, observation: Sequence[float]) -> float:
        """What the rate is multiplied by."""
        values = list(observation)
        for i, (weights, biases) in enumerate(self.layers):
            values = [
                bias + sum(w * v for w, v in zip(row, values, strict=True))
                for row, bias in zip(weights, biases, strict=True)
            ]
            if i + 1 < len(self.layers):
                values = [math.tanh(value) for value in values]
        step = self.scale * round(min(max(values[0], -self.most), self.most), DIGITS)
        return 1 + step if step >= 0 else 1 / (1 - step)

    def save(self, file: str | Path) -> None:
        """Writes the file that `load` reads: JSON."""
        Path(file).write_text(json.dumps(asdict(self)) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, file: str | Path) -> Policy:
        """The policy of a file.

        Raises:
            ScenarioError: the file is none of a policy.
        """
        try:
            found: dict[str, Any] = json.loads(Path(file).read_text(encoding="utf-8"))
            found["layers"] = [(weights, biases) for weights, biases in found["layers"]]
            return cls(**found)
        except (OSError, KeyError, TypeError, ValueError) as error:
            raise ScenarioError(f"policy: {file}: {error}") from None


@dataclass
class _Interval:
    """An interval in bytes and seconds, and what the life of the connection has shown by its end."""

    began: float
    sent: int
    delivered: int
    lost: int
    rtts: list[float] = field(default_factory=list)
    time: float = 0.0
    rate: float = 0.0
    rtt_mean: float = 0.0
    rtt_mean_min: float = math.inf
    rtt_min: float = 0.0
    throughput: float = 0.0
    throughput_max: float = 0.0


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _ratio(a: float, b: float, without: float) -> float:
    return a / b if b > 0 else without


def _gradient(i: _Interval) -> float:
    half = len(i.rtts) // 2
    return _ratio(_mean(i.rtts[half:]) - _mean(i.rtts[:half]), i.time, 0.0) if half else 0.0


OBSERVED: dict[str, tuple[Callable[[_Interval], float], float]] = {
    "latency_gradient": (_gradient, 0.0),
    "latency_ratio": (lambda i: _ratio(i.rtt_mean, i.rtt_mean_min, 1.0), 1.0),
    "send_ratio": (lambda i: _ratio(i.sent, i.delivered, 1.0), 1.0),
    "throughput_ratio": (lambda i: _ratio(i.throughput, i.throughput_max, 0.0), 0.0),
    "rate_ratio": (lambda i: _ratio(i.rate, i.throughput_max, 1.0), 1.0),
    "rtt_ratio": (lambda i: _ratio(i.rtt_mean, i.rtt_min, 1.0), 1.0),
    "loss_share": (lambda i: _ratio(i.lost, i.lost + i.delivered, 0.0), 0.0),
}
"""The measures that a controller can observe, and the value of each before the first interval."""


class PolicyController(Controller):
    """A controller whose pacing rate is set by a policy. A subclass names the file of its policy.

    The first rate sends the initial window in a round-trip time.
    """

    file = ""
    """The file, which `Policy.save` wrote; a relative path begins at the file of the class."""
    policy: ClassVar[Policy]
    """The policy. It is read with the class, so that it goes to other machines with it."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if cls.file:
            cls.policy = Policy.load(cls._file())

    @classmethod
    def files_read(cls) -> list[Path]:
        """The file of the policy, and the rules by which it decides."""
        return [cls._file(), Path(__file__)]

    @classmethod
    def _file(cls) -> Path:
        return Path(inspect.getfile(cls)).parent / cls.file

    def __init__(self, mss: int, initial_window: float) -> None:
        super().__init__(mss, initial_window)
        self._policy = self.policy
        neutral = [OBSERVED[name][1] for name in self._policy.observe]
        self._seen = deque(neutral * self._policy.history, maxlen=len(neutral) * self._policy.history)
        self._interval: _Interval | None = None
        self._ends = 0.0

    def on_ack(self, flow: FlowState, ack: AckReport) -> None:
        """Measures, and decides at the end of an interval."""
        now = flow["now_s"]
        if self._interval is None:
            if flow["rtt_s"] is None:
                return
            self.pacing_rate = self.cwnd * self.mss / flow["rtt_s"]
            self._begin(flow, flow["rtt_s"])
        elif ack["rtt_s"] is not None:
            self._interval.rtts.append(ack["rtt_s"])
        if self._interval is not None and now >= self._ends:
            self._decide(self._interval, flow)

    def on_congestion(self, flow: FlowState, why: str) -> None:
        """Nothing: the next decision comes at the end of the interval."""

    def backoff(self, flow: FlowState, why: str) -> tuple[float, float]:
        """As `on_congestion`."""
        return self.cwnd, self.ssthresh

    def _decide(self, i: _Interval, flow: FlowState) -> None:
        i.time = flow["now_s"] - i.began
        i.sent = max(_sent(flow) - i.sent, 0)
        i.delivered, i.lost = flow["delivered"] - i.delivered, max(flow["lost"] - i.lost, 0)
        i.rate = self.pacing_rate or 0.0
        if i.rtts:
            i.rtt_mean = _mean(i.rtts)
            i.rtt_mean_min = min(i.rtt_mean_min, i.rtt_mean)
        i.rtt_min = flow["rtt_min_s"] or 0.0
        i.throughput = _ratio(i.delivered, i.time, 0.0)
        i.throughput_max = max(i.throughput_max, i.throughput)
        self._seen.extend(OBSERVED[name][0](i) for name in self._policy.observe)
        self.pacing_rate = max(i.rate * self._policy.factor(list(self._seen)), float(self.mss))
        self._begin(flow, i.rtt_mean, i)

    def _begin(self, flow: FlowState, rtt: float, before: _Interval | None = None) -> None:
        begun = _Interval(flow["now_s"], _sent(flow), flow["delivered"], flow["lost"])
        if before is not None:
            begun.rtt_mean, begun.rtt_mean_min = before.rtt_mean, before.rtt_mean_min
            begun.throughput_max = before.throughput_max
        self._interval, self._ends = begun, flow["now_s"] + self._policy.multiple * rtt
        rate = self.pacing_rate or 0.0
        self.cwnd = max(GUARD * rate * rtt / self.mss + 4, 4.0)


def _sent(flow: FlowState) -> int:
    """Bytes sent so far, retransmissions included."""
    return flow["in_flight"] + flow["delivered"] + flow["lost"]
