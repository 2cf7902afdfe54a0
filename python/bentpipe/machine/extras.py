"""Packages that only some verbs need, and the message when one is missing."""

from __future__ import annotations

from bentpipe import _core

PACKAGES = {
    "cmaes": "bentpipe break",
    "fpdf2": "bentpipe advise --pdf",
    "gymnasium": "environments for agents that learn (bentpipe.gym)",
    "itur": "bentpipe weather",
    "pettingzoo": "environments of several agents (bentpipe.gym.ParallelEnv)",
    "ray": "many runs on a cluster (--ray)",
}
"""The purpose of each package, by its name on the package index. `pyproject.toml` has an extra for each."""


def install(package: str) -> str:
    """The command that installs a package of `PACKAGES`."""
    return f"pip install {package}"


def missing(asker: str, package: str) -> _core.ScenarioError:
    """The error of a verb or an option that needs a package which is not installed.

    Args:
        asker: the verb or option that needs it, such as "--ray".
        package: a name of `PACKAGES`.
    """
    return _core.ScenarioError(f"{asker} needs the package {package}: {install(package)}")
