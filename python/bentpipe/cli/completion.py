"""Names that a shell may offer for a word that is being typed: scenarios, algorithms, places and so on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from importlib import import_module
from typing import Any

import typer

from bentpipe import _core
from bentpipe.document.source import Source
from bentpipe.registry import chooses, controllers, queues, shipped_files, unknown

SHELLS = ("bash", "zsh", "fish", "powershell", "pwsh")
"""Shells that can complete words."""
_ZSH_AT_ONCE = """
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  _bentpipe_completion "$@"
fi
"""
"""zsh reads a file of `fpath` at the first Tab. Without these lines that Tab defines the function and offers
nothing."""


def script(shell: str) -> str:
    """The script by which this shell completes words of `bentpipe`.

    Raises:
        ScenarioError: there is no such shell.
    """
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    made: str = get_completion_script(
        prog_name="bentpipe", complete_var="_BENTPIPE_COMPLETE", shell=_checked(shell)
    )
    return made + _ZSH_AT_ONCE if shell == "zsh" else made


def install(shell: str) -> str:
    """Writes this script to the place where the shell finds it, and says which.

    Raises:
        ScenarioError: there is no such shell.
        OSError: it cannot be written.
    """
    from typer.completion import install as write  # type: ignore[attr-defined]

    _, place = write(_checked(shell), prog_name="bentpipe")
    if shell == "zsh":
        place.write_text(script(shell), encoding="utf-8")
    return f"completion for {shell} is in {place}; a new terminal uses it"


OPTIONS: dict[str, Callable[[str], str]] = {"--show-completion": script, "--install-completion": install}
"""Options that may name a shell, and the answer to each."""


def _checked(shell: str) -> str:
    if shell not in SHELLS:
        raise _core.ScenarioError(unknown("shell", shell, list(SHELLS)))
    return shell


def algorithms(incomplete: str) -> list[str]:
    """Algorithms; the last of several with commas between."""
    before, comma, last = incomplete.rpartition(",")
    names = [entry["id"] for entry in controllers()]
    return [before + comma + name for name in names if name.startswith(last.lower())]


def keys(ctx: typer.Context, incomplete: str) -> list[str]:
    """Keys of `--set`, those of the scenario before; after "flow.0.cc=" algorithms."""
    key, equals, value = incomplete.partition("=")
    if equals:
        return [f"{key}={name}" for name in algorithms(value)] if chooses(key) else []
    # An option that lacks its value leaves the arguments before it unread.
    given = ctx.params.get("file") or ctx.params.get("link") or next(iter(ctx.args), None)
    try:
        table = Source(given).raw() if given and given != "-" else {}
    except _core.ScenarioError:
        table = {}
    return _beginning(dict.fromkeys(_keys(table)), incomplete)


def _keys(table: dict[str, Any]) -> Iterator[str]:
    """Keys that a scenario may have: of the run, its links and flows, and those written in it."""
    from bentpipe.models import Flow, Link
    from bentpipe.scenario import Scenario

    def of(model: type, prefix: str) -> Iterator[str]:
        return (f"{prefix}{one.name.rstrip('_')}" for one in fields(model) if one.name not in parts)

    parts = ("links", "flows")
    yield from of(Scenario, "")
    for name, link in (table.get("link") or {}).items():
        yield from of(Link, f"link.{name}.")
        yield from _written(link, f"link.{name}.")
    for number, flow in enumerate(table.get("flow") or []):
        yield from of(Flow, f"flow.{number}.")
        yield from _written(flow, f"flow.{number}.")


def _written(table: Any, prefix: str) -> Iterator[str]:
    """The keys of tables within a table."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from (f"{prefix}{key}.{inner}" for inner in value)


def _beginning(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.lower().startswith(incomplete.lower())]


def _offer(names: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """A function that offers names, which are computed when a shell asks."""
    return lambda incomplete: _beginning(names(), incomplete)


def _in(module: str, name: str) -> Any:
    """A name of a module, which is loaded when a shell asks."""
    return getattr(import_module(f"bentpipe.{module}"), name)


scenarios = _offer(shipped_files)
"""Scenarios that come with the package; files are offered by the shell itself."""
kinds_of_queue = _offer(lambda: [entry["kind"] for entry in queues()])
"""Kinds of queues."""
papers = _offer(lambda: _in("studies", "available")())
"""Studies."""
studies = _offer(lambda: [*_in("studies", "available")(), "all", *_in("experiments", "OWN")])
"""What `bentpipe study run` takes: papers, other experiments, and "all"."""
places = _offer(lambda: _in("orbit.ground", "table")()["name"].unique(maintain_order=True).to_list())
"""Places that have a name."""
shells = _offer(lambda: [one["name"] for one in json.loads(_core.orbit_shells())])
"""Shells of satellites."""
bands = _offer(lambda: _in("weather.station", "BANDS"))
"""Bands of frequencies."""
goals = _offer(lambda: _in("advice.question", "GOALS"))
"""Goals of advice."""
break_goals = _offer(lambda: _in("breaking.goals", "GOALS"))
"""Goals of a search for the worst link."""
formats = _offer(lambda: _in("timeline.traces", "FORMATS"))
"""Formats that a time line can be imported from."""
sizes = _offer(lambda: _in("plot.looks", "SIZES"))
"""Sizes of figures."""
