"""The runs behind environments: arrays that a call of the simulator fills."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bentpipe import _core
from bentpipe.gym.task import Reward, Task, measures


class Batch:
    """Environments of one task, and the arrays with what their last steps have yielded.

    Args:
        task: what their agents are asked to do.
        count: how many there are.
        threads: how many advance at once; 0 for one a core. It changes no result.
    """

    def __init__(self, task: Task, count: int, threads: int) -> None:
        self.task = task
        self.count = count
        agents = len(task.names)
        threads = threads or len(os.sched_getaffinity(0))
        self._environments = _core.Environments(task.settings(), count, min(threads, count))
        self._measures = list(measures())
        self._most = float(np.nextafter(np.float32(task.most), np.float32(np.inf)))  # agents act in float32
        self._actions = np.zeros((count, agents, task.actions))
        self.observations = np.zeros((count, agents, task.observations), np.float32)
        self.rewards = np.zeros((count, agents))
        self.complete = np.zeros((count, agents), np.bool_)
        self.cut_off = np.zeros(count, np.bool_)
        self.measures = np.zeros((count, agents, len(self._measures)))
        self._flat: dict[str, NDArray[Any]] = {
            "actions": self._actions.reshape(-1),
            "observations": self.observations.reshape(-1),
            "rewards": self.rewards.reshape(-1),
            "complete": self.complete.reshape(-1),
            "cut_off": self.cut_off,
            "measures": self.measures.reshape(-1),
        }

    def begin(self, randoms: dict[int, np.random.Generator]) -> None:
        """Begins an episode in each environment that has a generator here; the others rest."""
        self._environments.step(self._flat, self._fresh(randoms), True)  # noqa: FBT003

    def step(self, actions: NDArray[Any], randoms: dict[int, np.random.Generator] | None = None) -> None:
        """Makes a step in each environment, or begins an episode in those that have a generator here."""
        given = np.asarray(actions, np.float64)
        if given.size != self._actions.size or np.isnan(given).any():
            count = self._actions.size
            raise _core.ScenarioError(
                f"action {given.tolist()}: it must have {count} values, none of them NaN"
            )
        if given.size and np.abs(given).max() > self._most:
            most = f"{self.task.most:g}"
            raise _core.ScenarioError(f"action {given.tolist()}: its values are from -{most} to {most}")
        self._actions[...] = given.reshape(self._actions.shape)
        self._environments.step(self._flat, self._fresh(randoms or {}), False)  # noqa: FBT003
        if callable(self.task.reward):
            self._reward(self.task.reward)
            self.rewards[list(randoms or {})] = 0.0  # their episodes have just begun

    def _reward(self, reward: Reward) -> None:
        """Asks the function of the task for the rewards of a step.

        Raises:
            ScenarioError: it has another number of rewards, or one that is no number.
        """
        given = np.asarray(reward(self.info((slice(None), slice(None)))), np.float64)
        if given.shape not in ((), self.rewards.shape) or np.isnan(given).any():
            raise _core.ScenarioError(
                f"reward: the function gave {given.tolist()}; it must give a number for each of "
                f"{self.rewards.size} environments and agents, in the shape of the measures"
            )
        self.rewards[...] = given

    def info(self, of: Any) -> dict[str, Any]:
        """All measures of the last interval by name: of an index into environments and agents."""
        return dict(zip(self._measures, np.moveaxis(self.measures[of], -1, 0).copy(), strict=True))

    def _fresh(self, randoms: dict[int, np.random.Generator]) -> Sequence[tuple[int, str, list[float]]]:
        return [(number, *self.task.draw(random)) for number, random in randoms.items()]
