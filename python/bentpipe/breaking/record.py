"""A found failure as a file: a scenario, which gives the same bits everywhere, and a head about it.

The head is a comment whose lines are TOML, so `bentpipe run FILE` takes the file as any other scenario.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from bentpipe import _core
from bentpipe.breaking.goals import find_goal
from bentpipe.breaking.trials import Algorithm, Pair, SearchRuns, traced
from bentpipe.controller import spelled
from bentpipe.document.plain import toml
from bentpipe.io.foreign import quoted
from bentpipe.sweeps.lab import Lab

if TYPE_CHECKING:
    from bentpipe.plot import Drawing

_WIDTH = 105


@dataclass(frozen=True)
class RecordHead:
    """The head of a file.

    Attributes:
        algorithm: the algorithm, as a command names it.
        goal: the name of the goal.
        value: its number, to the digit.
        yardstick: the algorithm that it is compared with.
        subject_value: the algorithm's quantity behind the number.
        yardstick_value: that of the yardstick.
        confirmed: in how many other seeds it fails, "5 of 5".
        where: where the mechanism shows, sentences that a program derived from the trace.
        cause: why it happens, if somebody knows; written by hand.
        command: how it was found.
    """

    algorithm: str
    goal: str
    value: float
    yardstick: str
    subject_value: float
    yardstick_value: float
    confirmed: str
    where: str
    cause: str
    command: str

    @classmethod
    def read(cls, path: Path) -> Self:
        """The head of a file.

        Raises:
            ScenarioError: the file has no such head.
            OSError: it cannot be read.
        """
        lines = path.read_text(encoding="utf-8").splitlines()
        head = "\n".join(line[2:] for line in lines if line.startswith("# ") and " = " in line)
        try:
            table = tomllib.loads(head)
            return cls(**{field.name: table[field.name] for field in fields(cls)})
        except (tomllib.TOMLDecodeError, KeyError) as wrong:
            raise _core.ScenarioError(
                f"{path}: it has no head of a found failure ({quoted(str(wrong))})"
            ) from None

    def text(self, scenario: Mapping[str, Any], title: str) -> str:
        """The whole file."""
        head = [f"# {field.name} = {toml(getattr(self, field.name))}" for field in fields(self)]
        return "\n".join([*head, "", f"title = {toml(title)}", *_body(scenario), ""])


def again(path: Path) -> float:
    """The number of a file's goal, from runs that are made now.

    Raises:
        ScenarioError: the file is no record of a failure.
        ControllerError: a run failed.
        OSError: it cannot be read.
    """
    pair, scenario = read(path)
    with Lab(workers=1) as lab:
        trials = SearchRuns(pair, lab)
        (found,) = trials.measure_scenarios([scenario])
        if found is None:
            raise _core.ControllerError(trials.failed)
        return found.value


def drawn(path: Path) -> Drawing:
    """The figure of a file, from runs that are made now.

    Raises:
        ScenarioError: the file is no record of a failure.
        ControllerError: a run failed.
        OSError: it cannot be read.
    """
    from bentpipe.breaking.figure import figure

    pair, scenario = read(path)
    return figure(pair, scenario, *traced(pair, scenario), scenario["title"])


def read(path: Path) -> tuple[Pair, dict[str, Any]]:
    """The goal and the algorithms of a file, and its scenario.

    Raises:
        ScenarioError: the file is no record of a failure.
        OSError: it cannot be read.
    """
    head = RecordHead.read(path)
    pair = Pair(find_goal(head.goal), Algorithm.of(head.algorithm), Algorithm.of(head.yardstick))
    scenario = tomllib.loads(path.read_text(encoding="utf-8"))
    rename(scenario, {spelled(one.text): one.cc for one in (pair.subject, pair.yardstick) if one.own})
    return pair, scenario


def rename(scenario: Mapping[str, Any], names: Mapping[Any, Any]) -> None:
    """Replaces controllers in Python by other names of them: that of a file, or that of a run."""
    for flow in scenario["flow"] if names else ():
        if "cc" in flow:
            flow["cc"] = names.get(flow["cc"], flow["cc"])


def _body(scenario: Mapping[str, Any]) -> list[str]:
    """A scenario as lines of TOML."""
    found = [f"{key} = {toml(scenario[key])}" for key in ("duration", "seed")]
    for name, link in scenario["link"].items():
        found += ["", f"[link.{name}]"]
        for key, value in link.items():
            found += _entry(key, value)
    for flow in scenario["flow"]:
        found += ["", "[[flow]]", *(f"{key} = {toml(value, str)}" for key, value in flow.items())]
    return [*found, "", "[record]", *(f"{key} = {toml(value)}" for key, value in scenario["record"].items())]


def _entry(key: str, value: Any) -> list[str]:
    """A key of a link; a long list has a line for each item."""
    text = f"{key} = {toml(value, str)}"
    if isinstance(value, list) and len(text) > _WIDTH:
        return [f"{key} = [", *(f"  {toml(item, str)}," for item in value), "]"]
    return [text]
