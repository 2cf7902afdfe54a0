"""Scenarios: links, flows, a duration and a seed, built by keyword arguments or loaded from TOML."""

from __future__ import annotations

import copy
import dataclasses
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bentpipe import _core
from bentpipe.controller import Controller, check_controller
from bentpipe.document.plain import Checked, filled, to_plain
from bentpipe.document.source import Source
from bentpipe.models import KINDS, Flow, Link, Record
from bentpipe.registry import unknown


def from_plain(value: Any) -> Any:
    """The reverse of `to_plain`: tables of a known kind become models, others stay tables."""
    if isinstance(value, list):
        return [from_plain(item) for item in value]
    if not isinstance(value, dict):
        return value
    model = KINDS.get(value.get("kind", ""))
    if model is None:
        return value
    names = _arguments(model)
    if not set(value) <= {"kind", *names}:
        return value
    return model(**{names[key]: from_plain(item) for key, item in value.items() if key != "kind"})


def _arguments(cls: Any) -> dict[str, str]:
    """The arguments of a class by the keys of a scenario."""
    return {field.name.rstrip("_"): field.name for field in dataclasses.fields(cls)}


def _expect(value: Any, kind: type | tuple[type, ...], where: str, wanted: str) -> None:
    """Refuses a value that is not of the wanted kind."""
    if not isinstance(value, kind):
        raise _core.ScenarioError(f"{where}: {wanted} is needed, not a value of type {type(value).__name__}")


def _fields(cls: type, table: Any, where: str) -> dict[str, Any]:
    """Constructor arguments of `cls` from a table of a scenario."""
    _expect(table, Mapping, where, "a table")
    names = _arguments(cls)
    for key in table:
        if key not in names:
            raise _core.ScenarioError(f"{where}: {unknown('key', key, sorted(names))}")
    return {names[key]: from_plain(value) for key, value in table.items()}


@dataclass(kw_only=True)
class Scenario(Checked):
    """Links, flows, duration, seed, and what to record.

    Args:
        links: by name.
        flows: in the order of the result.
        duration: "120 s".
        seed: each random source draws from its own stream of this seed.
        title: one line of text.
        record: the traces to record; nothing by default.
        stations: own ground stations by name, {"lat": 39.4, "lon": 116.4}.
        network: a constellation between whose stations flows run (docs/constellations.md).
    """

    links: dict[str, Link] = field(default_factory=dict)
    flows: list[Flow] = field(default_factory=list)
    duration: str = "60 s"
    seed: int = 1
    title: str | None = None
    record: Record | dict[str, Any] | None = None
    stations: dict[str, dict[str, float]] | None = None
    network: dict[str, Any] | None = None

    @classmethod
    def load(cls, path: str | Path, overrides: Mapping[str, Any] | None = None) -> Scenario:
        """Reads a TOML or JSON file, a scenario that comes with the package ("geo"), or a stored result.

        Args:
            path: the file, the name, or the directory that `Result.save` wrote.
            overrides: values by dotted key, {"link.sat.loss.rate": 1e-5, "flow.0.cc": "reno"}.

        Raises:
            ScenarioError: the file does not hold a correct scenario; the message names file, line and key.
        """
        _expect(path, (str, Path), "Scenario.load", "a file or the name of a scenario")
        source = Source(path)
        return cls.from_dict(source.load(overrides or {}, own=True), source.controllers)

    @classmethod
    def of(cls, given: Scenario | Mapping[str, Any] | str | Path) -> Scenario:
        """The scenario that is given: one, its table as a dict, or an argument of `load`.

        Raises:
            ScenarioError: it is none of these, or not correct.
        """
        match given:
            case Scenario():
                return given
            case Mapping():
                return cls.from_dict(given)
            case str() | Path():
                return cls.load(given)
        what = type(given).__name__
        raise _core.ScenarioError(
            f"a scenario is a file, a dict or a bentpipe.Scenario, not a value of type {what}"
        )

    @classmethod
    def from_json(cls, text: str) -> Scenario:
        """The reverse of `to_json`."""
        return cls.from_dict(json.loads(text))

    @classmethod
    def from_dict(
        cls, table: Mapping[str, Any], controllers: Mapping[str, Callable[..., Any]] | None = None
    ) -> Scenario:
        """A scenario from the table that a TOML or JSON file holds.

        Args:
            table: the table.
            controllers: the class of each flow whose `cc` is "python:NAME", by the NAME.

        Raises:
            ScenarioError: a key is unknown; the message has a line for each mistake that the table has. If no
                key is, values are not checked yet.
        """
        if not isinstance(table, Mapping):
            raise _core.ScenarioError(f"scenario: a table is needed, not {type(table).__name__}")
        try:
            made = cls._from_dict(table)
        except _core.ScenarioError:
            _check_table(table)  # which knows of all mistakes
            raise
        for flow in made.flows:
            name = flow.cc.get("name") if isinstance(flow.cc, Mapping) else flow.cc
            if (own := (controllers or {}).get(str(name).removeprefix("python:"))) is not None:
                flow.cc = {**flow.cc, "name": own} if isinstance(flow.cc, Mapping) else own
        return made

    @classmethod
    def _from_dict(cls, table: Mapping[str, Any]) -> Scenario:
        given = {_ATTRIBUTES.get(key, key): copy.deepcopy(value) for key, value in table.items()}
        given = _fields(cls, given, "scenario")
        links, flows = given.pop("links", {}), given.pop("flows", [])
        _expect(links, Mapping, "link", "a table of links by name")
        _expect(flows, (list, tuple), "flow", "a list of flows")
        return cls(
            links={n: Link(**_fields(Link, t, f"link.{n}")) for n, t in links.items()},
            flows=[Flow(**_fields(Flow, t, f"flow.{i}")) for i, t in enumerate(flows)],
            **given,
        )

    def controllers(self) -> dict[str, Callable[..., Any]]:
        """The controller classes of the flows that have one, by the key that represents each in the JSON."""
        return self._keyed()[1]

    def to_dict(self) -> dict[str, Any]:
        """The table that a TOML or JSON file of this scenario would hold, without the defaults."""
        _expect(self.links, Mapping, "links", 'a dict of links by name, {"sat": bp.Link(...)}')
        for name, link in self.links.items():
            _expect(link, Link, f"links[{name!r}]", "a bp.Link")
        _expect(self.flows, (list, tuple), "flows", "a list of flows, [bp.Flow(...)]")
        for i, flow in enumerate(self.flows):
            _expect(flow, Flow, f"flows[{i}]", "a bp.Flow")
        table: dict[str, Any] = to_plain(filled(self))
        stations = table.pop("stations", None)
        if stations:
            table["station"] = stations
        table["link"] = table.pop("links")
        names, _ = self._keyed()
        table["flow"] = [
            {key: value for key, value in {**flow, "cc": cc}.items() if value is not None}
            for flow, cc in zip(table.pop("flows"), names, strict=True)
        ]
        return table

    def to_json(self) -> str:
        """This scenario as JSON, checked and with every default filled in. It means the same run.

        Raises:
            ScenarioError: it is not correct; the message names the key and the correct form.
        """
        return _core.check(self.as_written())

    def as_written(self) -> str:
        """This scenario as JSON, not checked and without the defaults.

        Every command simulates this form.

        Raises:
            ScenarioError: a value has no word in JSON; the message names the key.
        """
        tree = self.to_dict()
        leaves = list(_leaves(tree, ""))
        for key, value in leaves:
            # JSON has no word for the first, and larger ones would be read as floating point.
            if isinstance(value, (int, float)) and (value != value or abs(value) == float("inf")):
                raise _core.ScenarioError(f"{key}: {value} is not a finite number")
            if isinstance(value, int) and not -(2**63) <= value < 2**64:
                raise _core.ScenarioError(f"{key}: too large; whole numbers go up to {2**64 - 1}")
        for key, value in leaves:
            if not (value is None or isinstance(value, (str, int, float))):
                what = f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__
                raise _core.ScenarioError(
                    f"{key}: {what} cannot be written as JSON; give text, a number or a model"
                )
        try:
            return json.dumps(tree)
        except (TypeError, ValueError) as error:
            raise _core.ScenarioError(f"a value cannot be written as JSON: {error}") from None

    def check(self) -> None:
        """Checks the scenario without running it.

        Raises:
            ScenarioError: it is not correct.
        """
        self.to_json()

    def _keyed(self) -> tuple[list[Any], dict[str, Callable[..., Any]]]:
        """For each flow the `cc` that goes into the JSON, and the classes behind those that are Python's."""
        classes: dict[str, Callable[..., Any]] = {}
        names: list[Any] = []
        for i, flow in enumerate(self.flows):
            cc = flow.cc
            if isinstance(cc, Controller):
                name = type(cc).__name__
                raise _core.ScenarioError(
                    f"flow.{i}.cc: give the class {name}; each flow makes one of its own"
                )
            if isinstance(cc, type):
                check_controller(cc, cc.__qualname__)
                key, n = cc.__name__, 1
                while classes.get(key, cc) is not cc:
                    n += 1
                    key = f"{cc.__name__}-{n}"
                classes[key] = cc
                cc = f"python:{key}"
            names.append(to_plain(cc))
        return names, classes


_ATTRIBUTES = {"link": "links", "flow": "flows", "station": "stations"}
"""The names in Python of the keys of a table that have other names there."""


def _check_table(table: Mapping[str, Any]) -> None:
    """Raises a `ScenarioError` of all mistakes of a table, if it is one that the core can read."""
    keys = {name: key for key, name in _ATTRIBUTES.items()}
    try:
        text = json.dumps(
            {keys.get(key, key): to_plain(value) for key, value in table.items()},
            default=lambda value: f"python:{value.__name__}",  # a controller's class
            allow_nan=False,
        )
    except (AttributeError, TypeError, ValueError):
        return
    _core.check(text)


def _leaves(value: Any, key: str) -> Iterator[tuple[str, Any]]:
    """The values of a tree that are neither tables nor lists, each with its dotted key."""
    if isinstance(value, dict):
        members: Iterable[tuple[Any, Any]] = value.items()
    elif isinstance(value, (list, tuple)):
        members = enumerate(value)
    else:
        yield key, value
        return
    for name, member in members:
        yield from _leaves(member, f"{key}.{name}" if key else str(name))
