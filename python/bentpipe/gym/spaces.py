"""The spaces of observations and actions."""

from __future__ import annotations

import numpy as np

from bentpipe.extras import missing
from bentpipe.gym.task import Task, measures

try:
    from gymnasium.spaces import Box
except ImportError:
    raise missing("bentpipe.gym", "gymnasium") from None


def spaces(task: Task) -> tuple[Box, Box]:
    """The spaces of an agent's observation and of its action."""
    known = measures()
    low, high = (
        np.tile(np.array([getattr(known[name], end) for name in task.observe], np.float32), task.history)
        for end in ("low", "high")
    )
    return Box(low, high, dtype=np.float32), Box(-task.most, task.most, (task.actions,), np.float32)
