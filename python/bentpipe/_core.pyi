from collections.abc import Callable
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "EVENTS_PER_PROGRESS",
    "ControllerError",
    "RawResult",
    "ScenarioError",
    "check",
    "controllers",
    "load",
    "queues",
    "random_scenario",
    "run",
    "run_many",
    "schema",
    "version",
]

EVENTS_PER_PROGRESS: int
"""A run reports its progress once in so many events."""

class ControllerError(RuntimeError):
    """A controller written in Python failed; the message says which, where and when."""

class ScenarioError(ValueError):
    """A scenario, or a request to do with one, is wrong; the message is one line."""

@final
class RawResult:
    """What a run yields: one JSON object, and traces as columns."""

    @property
    def json(self) -> str: ...
    @property
    def scenario(self) -> str: ...
    @property
    def flow_names(self) -> list[str]: ...
    @property
    def link_names(self) -> list[str]: ...
    def trace(self) -> dict[str, NDArray[np.generic]]: ...
    def link_trace(self) -> dict[str, NDArray[np.generic]]: ...
    def segments(self) -> dict[str, NDArray[np.generic]]: ...
    @property
    def event_names(self) -> list[str]: ...

def version() -> str: ...
def controllers() -> str: ...
def queues() -> str: ...
def load(path: str, overrides: list[tuple[str, str]] = ...) -> str: ...
def check(scenario_json: str) -> str: ...
def schema() -> str: ...
def random_scenario(data: bytes, losses: str) -> str:
    """The random scenario that some bytes stand for, as TOML: for tests.

    `losses` is the file that its traces of losses name.
    """

def run(
    scenario_json: str,
    controllers: dict[str, Callable[..., Any]] | None = None,
    progress: Callable[[float], Any] | None = None,
    capture: tuple[str, str, bool] | None = None,
) -> RawResult: ...
def run_many(
    scenarios: list[str], threads: int = 0, progress: Callable[[int], Any] | None = None
) -> list[RawResult]: ...
