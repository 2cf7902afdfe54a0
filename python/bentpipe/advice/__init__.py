"""Advice: which congestion control to use on a link, what it costs, and what is fast and reckless.

    advice = bp.advise("vsat", flows=20)
    print(*advice.sentences())
    advice.write("advice")

docs/advise.md says how it is found.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bentpipe.advice.job import advise
    from bentpipe.advice.verdict import Advice

_HOME = {"Advice": "bentpipe.advice.verdict", "advise": "bentpipe.advice.job"}

__all__ = ["Advice", "advise"]


def __getattr__(name: str) -> Any:
    """Loads a public name on its first use: the command line imports this package at its start."""
    from importlib import import_module

    if name not in _HOME:
        raise AttributeError(f"module 'bentpipe.advice' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
