"""The task of an agent: its scenario, its observations, the effect of its actions, and its reward."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bentpipe import _core
from bentpipe._core import ScenarioError
from bentpipe.gym.domain import Range, ranges
from bentpipe.scenario import Scenario
from bentpipe.sweeps.vary import put_at

KEY = "python:agent"
"""The `cc` of a flow that an agent controls."""

AURORA_OBSERVATION = ("latency_gradient", "latency_ratio", "send_ratio")
"""Aurora's observation of an interval: the "statistics vector" of its paper."""

AURORA_REWARD = {"throughput_pps": 10.0, "rtt_mean_s": -1000.0, "loss_share": -2000.0}
"""Aurora's reward: 10 throughput - 1000 latency - 2000 loss, in packets a second, seconds, and the share of
packets that are lost."""

Reward = Callable[[Mapping[str, NDArray[Any]]], Any]
"""A reward that is no sum of measures."""

TRANSPORTS = ("datagrams", "tcp")
"""What can carry an agent's data."""


@dataclass(frozen=True)
class Measure:
    """A measure of a monitor interval. A name ends in its unit."""

    name: str
    low: float
    high: float
    neutral: float
    about: str


@cache
def measures() -> dict[str, Measure]:
    """Every measure by its name: what an agent may observe, and what a reward may consist of."""
    return {row["name"]: Measure(**row) for row in json.loads(_core.measures())}


@dataclass(frozen=True)
class Task:
    """What one or several agents are asked to do.

    Args:
        scenario: any scenario: a file, the name of a shipped one, a dict, or a `bp.Scenario`.
        agents: the flows that agents control, by name or by number, one agent each. Their `cc` is replaced.
        domain: ranges by dotted key, drawn anew for each episode:
            {"link.geo.rate": ("1 Mbit/s", "50 Mbit/s"), "link.geo.delay": {"log": ("10 ms", "300 ms")},
            "flow.1.cc": ["cubic", "bbr"]}.
        observe: names of `measures()`.
        history: how many intervals an observation has, the oldest first.
        reward: the weight of each measure in the sum; or a function of the measures by name, which are arrays
            with a value for each environment and agent, and so is its answer.
        transport: what carries an agent's data: "tcp", a sender that retransmits what is lost; or
            "datagrams", which are sent once and at the agent's rate alone. They are for one flow, and eight
            times as fast.
        step: when a step ends: "0.5 rtt", a multiple of the mean round-trip time of the interval before; a
            time, "100 ms"; or "ack", with the next acknowledgement.
        acts: what an action changes: "rate", "window" or "both", the rate first.
        scale: alpha. An action a multiplies by 1 + alpha a, and divides by 1 - alpha a if a is negative.
        most: the bound of actions, [-most, most].
        start: the first rate as a multiple of the rate of the slowest link of the path; a pair is a range.
        bounds: the least and the largest rate in the same way.
        steps: steps after which an episode is cut off; None for the end of the scenario.
    """

    scenario: Scenario | Mapping[str, Any] | str | Path
    agents: Sequence[str | int] = (0,)
    domain: Mapping[str, Any] = field(default_factory=dict)
    observe: Sequence[str] = AURORA_OBSERVATION
    history: int = 10
    reward: Mapping[str, float] | Reward = field(default_factory=lambda: dict(AURORA_REWARD))
    transport: str = "tcp"
    step: str = "0.5 rtt"
    acts: str = "rate"
    scale: float = 0.025
    most: float = 1.0
    start: float | tuple[float, float] = (0.3, 1.5)
    bounds: tuple[float, float] = (0.05, 5.0)
    steps: int | None = 400

    def __post_init__(self) -> None:
        if not isinstance(self.reward, Mapping) and not callable(self.reward):
            raise TypeError(
                'reward: a weight for each measure, {"throughput_pps": 10}, or a function of the measures'
            )
        if self.steps is not None and self.steps < 1:
            raise ScenarioError(f"steps: an episode has one step at least, not {self.steps}")

    @cached_property
    def _table(self) -> tuple[dict[str, Any], list[str]]:
        """The scenario with the flows of the agents in their hands, and the names of these flows."""
        table = Scenario.of(self.scenario).to_dict()
        flows = table["flow"]
        known = [flow.get("name") for flow in flows]
        names = []
        for agent in self.agents:
            if isinstance(agent, str) and agent not in known:
                there = ", ".join(name for name in known if name) or "none with a name"
                raise ScenarioError(f"agents: the scenario has no flow called {agent!r}; it has {there}")
            number = known.index(agent) if isinstance(agent, str) else agent
            if not 0 <= number < len(flows):
                raise ScenarioError(f"agents: the scenario has no flow {number}; it has {len(flows)}")
            flow = flows[number]
            flow["cc"] = KEY
            names.append(flow.setdefault("name", f"agent-{number}"))
        if len(set(names)) < len(names):
            raise ScenarioError("agents: a flow has one agent")
        return table, names

    @property
    def names(self) -> list[str]:
        """The names of the flows that agents control."""
        return self._table[1]

    @cached_property
    def _ranges(self) -> list[Range]:
        return ranges(self.domain)

    @property
    def actions(self) -> int:
        """Numbers of an action."""
        return 2 if self.acts == "both" else 1

    @property
    def observations(self) -> int:
        """Numbers of an observation."""
        return len(self.observe) * self.history

    def settings(self) -> str:
        """The settings of the simulator's environments, as JSON.

        Raises:
            ScenarioError: `step`, `acts` or `transport` is none of those that there are.
        """
        if self.acts not in ("rate", "window", "both"):
            raise ScenarioError(f'acts: "rate", "window" or "both", not {self.acts!r}')
        if self.transport not in TRANSPORTS:
            raise ScenarioError(f'transport: "datagrams" or "tcp", not {self.transport!r}')
        found = {
            "flows": self.names,
            "transport": self.transport,
            "acts": self.acts,
            "step": _step(self.step),
            "scale": self.scale,
            "bounds": list(self.bounds),
            "observe": list(self.observe),
            "history": self.history,
            "reward": list(self.reward.items()) if isinstance(self.reward, Mapping) else [],
            "most_steps": self.steps,
        }
        return json.dumps(found)

    def draw(self, random: np.random.Generator) -> tuple[str, list[float]]:
        """An episode: its scenario as JSON, with a seed and values of the ranges, and the first rates."""
        table = copy.deepcopy(self._table[0])
        table["seed"] = int(random.integers(2**32))
        for one in self._ranges:
            put_at(table, one.key, one.draw(random))
        low, high = self.start if isinstance(self.start, tuple) else (self.start, self.start)
        start = [low + (high - low) * float(random.random()) for _ in self.agents]
        return json.dumps(table), start


def _step(text: str) -> Any:
    if text == "ack":
        return "ack"
    number, _, unit = text.partition(" ")
    if unit == "rtt":
        try:
            return {"rtts": float(number)}
        except ValueError:
            raise ScenarioError(f'step: write "0.5 rtt", "100 ms" or "ack", not {text!r}') from None
    from bentpipe.units import seconds

    return {"seconds": seconds(text, "step")}


def aurora(**changes: Any) -> Task:
    """Aurora's task: one flow on a link whose rate, delay, buffer and loss rate are drawn for each episode.

    The ranges, the length of an interval and of an episode are those of the public training environment of
    N. Jay, N. Rotman, P. B. Godfrey, M. Schapira and A. Tamar, "A Deep Reinforcement Learning Perspective on
    Internet Congestion Control", ICML 2019 (PCC-RL, `src/gym/network_sim.py`): 100 to 500 packets a second of
    1500 bytes, 50 to 500 ms one way, a buffer of 2 to 2981 packets, up to 5 % of the packets lost, and an
    initial rate of 0.3 to 1.5 times that of the link. Its sender retransmits nothing, as here unless
    `transport="tcp"` is given. Its actions have no bound; here it is `most`.

    Args:
        changes: arguments of `Task` to be used in place of those of Aurora.
    """
    link = {"rate": "3 Mbit/s", "delay": "200 ms", "queue": {"kind": "drop-tail", "limit": "100 packets"},
            "loss": {"kind": "packet-error", "rate": 0.01}}  # fmt: skip
    scenario = {
        "duration": "4 h",
        "link": {"link": link},
        "flow": [{"name": "aurora", "cc": "reno", "path": ["link"]}],
    }
    domain = {
        "link.link.rate": ("1.2 Mbit/s", "6 Mbit/s"),
        "link.link.delay": ("50 ms", "500 ms"),
        "link.link.queue.limit": {"log": ("2 packets", "2981 packets")},
        "link.link.loss.rate": (0.0, 0.05),
    }
    given: dict[str, Any] = {"transport": "datagrams", "most": 10.0, "bounds": (0.1, 5.0), **changes}
    return Task(given.pop("scenario", scenario), domain=given.pop("domain", domain), **given)
