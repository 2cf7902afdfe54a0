"""Every experiment of the laboratory in one list.

Papers are studies (`bentpipe.papers`, `bentpipe.studies`). An experiment whose result is a table of runs is a
module here (`bentpipe.experiments.table`). Others have a verb, a target of make or a script.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bentpipe.experiments.table import Table


@dataclass(frozen=True)
class Experiment:
    """An entry of the list.

    Attributes:
        name: its name.
        title: what it is about, in one line.
        command: how it is run, as a line of a shell.
    """

    name: str
    title: str
    command: str


TABLES = {
    "leo": "Every controller over paths that move (docs/leo.md)",
    "satellite-2026": "Start-up, files, pages and films over satellites (docs/satellite-2026.md)",
}
"""Modules with an `EXPERIMENT`, by the names of the experiments, and their titles."""

OTHERS = (
    Experiment("rfc9743", "An algorithm beside CUBIC and Reno, by RFC 9743", "bentpipe evaluate NAME"),
    Experiment("gallery", "The window of every controller over one GEO link", "make docs"),
    Experiment("linux-truth", "Simulator beside Linux kernel, as root", "bentpipe validate kernel --full"),
    Experiment("quic-truth", "TCP and QUIC, simulated and real, as root", "bentpipe validate quic --full"),
    Experiment("starlink", "BBR over measured Starlink capacity", "python scripts/starlink.py DIR"),
    Experiment("leocc", "LeoCC in its authors' setting and in ours", "python scripts/leocc.py DIR"),
)
"""Experiments that `bentpipe study run` does not run."""


def listed() -> list[Experiment]:
    """All experiments: papers, tables of runs, others."""
    from bentpipe.studies import available

    run = available() | TABLES
    return [*(Experiment(name, title, f"bentpipe study run {name}") for name, title in run.items()), *OTHERS]


def check_name(name: str) -> None:
    """Checks that `bentpipe study run` can run an experiment of this name.

    Raises:
        ScenarioError: there is none, or it is run in another way, which the message says.
    """
    from bentpipe._core import ScenarioError
    from bentpipe.registry import unknown
    from bentpipe.studies import available

    if (other := next((one for one in OTHERS if one.name == name), None)) is not None:
        raise ScenarioError(f"{name} is run by: {other.command}")
    if name not in (known := available() | TABLES):
        raise ScenarioError(unknown("study", name, list(known)))


def load(name: str) -> Table[Any]:
    """The experiment of `TABLES` of that name, which is loaded now."""
    found: Table[Any] = import_module(f"{__name__}.{name.replace('-', '_')}").EXPERIMENT
    return found
