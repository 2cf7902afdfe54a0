"""Environments of one agent, with the interfaces of Gymnasium."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bentpipe.gym.batch import Batch
from bentpipe.gym.task import Task, measures
from bentpipe.machine.extras import missing
from bentpipe.scenario import Scenario

try:
    import gymnasium
    from gymnasium.spaces import Box
    from gymnasium.vector import AutoresetMode
    from gymnasium.vector.utils import batch_space
except ImportError:
    raise missing("bentpipe.gym", "gymnasium") from None

Array = NDArray[Any]
Given = Task | Scenario | Mapping[str, Any] | str | Path


def task_of(given: Given, changes: Mapping[str, Any], *, several: bool = False) -> Task:
    """The task that is given: one, or a scenario with the arguments of a task.

    Raises:
        TypeError: a task and arguments, or a number of agents that the class does not take.
    """
    if isinstance(given, Task) and changes:
        raise TypeError(f"a Task has its arguments already: {', '.join(changes)}")
    task = given if isinstance(given, Task) else Task(given, **changes)
    if len(task.names) > 1 and not several:
        raise TypeError("several agents need bentpipe.gym.ParallelEnv")
    return task


def spaces(task: Task) -> tuple[Box, Box]:
    """The spaces of an agent's observation and of its action."""
    known = measures()
    low, high = (
        np.tile(np.array([getattr(known[name], end) for name in task.observe], np.float32), task.history)
        for end in ("low", "high")
    )
    return Box(low, high, dtype=np.float32), Box(-task.most, task.most, (task.actions,), np.float32)


class Env(gymnasium.Env[Array, Array]):
    """One agent in one run. A step is a monitor interval, or an acknowledgement.

    Args:
        given: a `Task`, or a scenario and, as `changes`, the other arguments of a `Task`.
        changes: arguments of `Task`.

    Raises:
        ScenarioError: the task or its scenario is not correct.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012

    def __init__(self, given: Given, **changes: Any) -> None:
        self.task = task_of(given, changes)
        self._batch = Batch(self.task, 1, 1)
        self._over = True
        self.observation_space, self.action_space = spaces(self.task)

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy has the same task, and begins with `reset`."""
        return type(self), (self.task,)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begins an episode: draws a scenario, and runs it until the first sample of the round-trip time."""
        super().reset(seed=seed)
        self._batch.begin({0: self.np_random})
        self._over = False
        return self._batch.observations[0, 0].copy(), self._batch.info((0, 0))

    def step(self, action: Array) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Makes a step.

        Raises:
            ResetNeeded: the episode is over, or none has begun.
            ScenarioError: the action is outside its space.
        """
        if self._over:
            raise gymnasium.error.ResetNeeded("the episode is over, or none has begun: call reset first")
        batch = self._batch
        batch.step(action)
        self._over = bool(batch.complete[0, 0] or batch.cut_off[0])
        return (
            batch.observations[0, 0].copy(),
            float(batch.rewards[0, 0]),
            bool(batch.complete[0, 0]),
            bool(batch.cut_off[0]),
            batch.info((0, 0)),
        )


class VectorEnv(gymnasium.vector.VectorEnv[Array, Array, Array]):
    """Many environments of one agent, which one call of the simulator advances, without Python's lock.

    The numbers of an environment depend on its seed and its actions alone: not on how many there are, nor on
    the number of threads.

    Args:
        given: as for `Env`.
        count: how many environments.
        threads: how many advance at once; 0 for one a core.
        autoreset: when an environment whose episode has ended begins another one: `AutoresetMode.NEXT_STEP`,
            with the next step, in place of it; or `SAME_STEP`, within the step, whose last observation is
            then in `info["final_obs"]`.
        changes: arguments of `Task`.

    Raises:
        ScenarioError: the task or its scenario is not correct.
    """

    def __init__(
        self,
        given: Given,
        count: int,
        *,
        threads: int = 0,
        autoreset: AutoresetMode = AutoresetMode.NEXT_STEP,
        **changes: Any,
    ) -> None:
        if autoreset == AutoresetMode.DISABLED:
            raise ValueError("autoreset is NEXT_STEP or SAME_STEP")
        if count < 1:
            raise ValueError(f"count: one environment at least, not {count}")
        self.task = task_of(given, changes)
        self._threads = threads
        self._batch = Batch(self.task, count, threads)
        self.num_envs = count
        self.metadata = {"render_modes": [], "autoreset_mode": autoreset}
        self.single_observation_space, self.single_action_space = spaces(self.task)
        self.observation_space = batch_space(self.single_observation_space, count)
        self.action_space = batch_space(self.single_action_space, count)
        self._same = autoreset == AutoresetMode.SAME_STEP
        self._randoms: list[np.random.Generator] = []
        self._over = np.zeros(count, np.bool_)

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy has the same tasks, and begins with `reset`."""
        mode = self.metadata["autoreset_mode"]
        made = functools.partial(type(self), threads=self._threads, autoreset=mode)
        return made, (self.task, self.num_envs)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begins an episode in every environment. Environment i has the seed `seed + i` or `seed[i]`."""
        seeds: Sequence[int | None]
        if seed is None or isinstance(seed, int):
            seeds = [None if seed is None else seed + i for i in range(self.num_envs)]
        else:
            seeds = seed
        if len(seeds) != self.num_envs:
            raise ValueError(f"{len(seeds)} seeds for {self.num_envs} environments")
        if not self._randoms:
            self._randoms = [np.random.default_rng() for _ in seeds]
        for i, one in enumerate(seeds):
            if one is not None:
                self._randoms[i], _ = gymnasium.utils.seeding.np_random(one)
        self._over[:] = False
        self._batch.begin(dict(enumerate(self._randoms)))
        return self._observations(), self._batch.info((slice(None), 0))

    def step(self, actions: Array) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """Makes a step in every environment."""
        batch = self._batch
        batch.step(actions, self._ended())
        rewards, info = batch.rewards[:, 0].copy(), batch.info((slice(None), 0))
        complete, cut_off = batch.complete[:, 0].copy(), batch.cut_off.copy()
        over = complete | cut_off
        if self._same and over.any():
            final = np.full(self.num_envs, None, dtype=object)
            for i in np.flatnonzero(over):
                final[i] = batch.observations[i, 0].copy()
            info.update(final_obs=final, _final_obs=over)
            batch.begin({int(i): self._randoms[i] for i in np.flatnonzero(over)})
        else:
            self._over = over
        return self._observations(), rewards, complete, cut_off, info

    def _ended(self) -> dict[int, np.random.Generator]:
        """The environments whose episodes ended with the last step."""
        return {int(i): self._randoms[i] for i in np.flatnonzero(self._over)}

    def _observations(self) -> Array:
        return self._batch.observations[:, 0].copy()
