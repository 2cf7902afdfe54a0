"""Environments of several agents, with PettingZoo's interface."""

from __future__ import annotations

from typing import Any

import numpy as np

from bentpipe.gym.batch import Batch
from bentpipe.gym.env import Array, Given, spaces, task_of
from bentpipe.machine.extras import missing

try:
    import pettingzoo
    from gymnasium.spaces import Box
    from gymnasium.utils import seeding
except ImportError:
    raise missing("bentpipe.gym.ParallelEnv", "pettingzoo") from None


class ParallelEnv(pettingzoo.ParallelEnv[str, Array, Array]):
    """Several agents in one run, one for each of some flows.

    All agents act at once. A step that is a multiple of a round-trip time takes the longest of theirs.
    An agent whose transfer has ended leaves, and all leave with the last step.

    Args:
        given: a `Task`, or a scenario and, as `changes`, the other arguments of a `Task`; `agents` names the
            flows.
        changes: arguments of `Task`.

    Raises:
        ScenarioError: the task or its scenario is not correct.
    """

    metadata: dict[str, Any] = {"render_modes": [], "name": "bentpipe"}  # noqa: RUF012

    def __init__(self, given: Given, **changes: Any) -> None:
        self.task = task_of(given, changes, several=True)
        self._batch = Batch(self.task, 1, 1)
        self.possible_agents = list(self.task.names)
        self.agents: list[str] = []
        self._spaces = {name: spaces(self.task) for name in self.possible_agents}
        self._random: np.random.Generator | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy has the same task, and begins with `reset`."""
        return type(self), (self.task,)

    def observation_space(self, agent: str) -> Box:
        """The space of an agent's observations, always the same object."""
        return self._spaces[agent][0]

    def action_space(self, agent: str) -> Box:
        """The space of an agent's actions, always the same object."""
        return self._spaces[agent][1]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Array], dict[str, dict[str, Any]]]:
        """Begins an episode: draws a scenario, and runs it until every agent has a sample of its RTT."""
        if seed is not None or self._random is None:
            self._random, _ = seeding.np_random(seed)
        self._batch.begin({0: self._random})
        self.agents = list(self.possible_agents)
        return self._observed(), self._info()

    def step(
        self, actions: dict[str, Array]
    ) -> tuple[
        dict[str, Array], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]
    ]:
        """Makes a step. An agent without an action keeps its rate and its window."""
        none = np.zeros(self.task.actions)
        batch = self._batch
        batch.step(np.array([actions.get(name, none) for name in self.possible_agents]))
        live = [(i, name) for i, name in enumerate(self.possible_agents) if name in self.agents]
        found = (
            self._observed(),
            {name: float(batch.rewards[0, i]) for i, name in live},
            {name: bool(batch.complete[0, i]) for i, name in live},
            {name: bool(batch.cut_off[0]) for i, name in live},
            self._info(),
        )
        over = batch.complete[0] | batch.cut_off[0]
        self.agents = [name for i, name in live if not over[i]]
        return found

    def _observed(self) -> dict[str, Array]:
        seen = self._batch.observations[0]
        return {name: seen[i].copy() for i, name in enumerate(self.possible_agents) if name in self.agents}

    def _info(self) -> dict[str, dict[str, Any]]:
        info = self._batch.info
        return {name: info((0, i)) for i, name in enumerate(self.possible_agents) if name in self.agents}
