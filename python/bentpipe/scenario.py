"""Scenarios: links, flows, a duration and a seed, built by keyword arguments or loaded from TOML."""

from __future__ import annotations

import copy
import dataclasses
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bentpipe import _core
from bentpipe.controller import Controller, check_controller
from bentpipe.models import AckThinning, Arq, Dama, Queue, Record, from_plain
from bentpipe.plain import Model, to_plain
from bentpipe.registry import unknown
from bentpipe.source import Source
from bentpipe.traffic import Traffic

Steps = Sequence[Sequence[Any]]
"""Instants, and a value from each of them on: [["0 s", "20 ms"], ["15 s", "25 ms"]]."""


def _table(item: Any) -> dict[str, Any]:
    """The fields of a dataclass that are set, under the names that a scenario uses."""
    found = {f.name: getattr(item, f.name) for f in dataclasses.fields(item)}
    return {name.rstrip("_"): to_plain(value) for name, value in found.items() if value is not None}


def _expect(value: Any, kind: type | tuple[type, ...], where: str, wanted: str) -> None:
    """Refuses a value that is not of the wanted kind."""
    if not isinstance(value, kind):
        raise _core.ScenarioError(f"{where}: {wanted} is needed, not a value of type {type(value).__name__}")


def _fields(cls: type, table: Any, where: str) -> dict[str, Any]:
    """Constructor arguments of `cls` from a table of a scenario."""
    _expect(table, Mapping, where, "a table")
    names = {f.name.rstrip("_"): f.name for f in dataclasses.fields(cls)}
    for key in table:
        if key not in names:
            raise _core.ScenarioError(f"{where}: {unknown('key', key, sorted(names))}")
    return {names[key]: from_plain(value) for key, value in table.items()}


@dataclass(kw_only=True)
class Link:
    """A link between two places: a forward direction, which data crosses, and a return direction for ACKs.

    Args:
        rate: "10 Mbit/s", or steps: [["0 s", "100 Mbit/s"], ["15 s", "60 Mbit/s"]].
        delay: one way, "250 ms", or steps; or instead `from_`, `to` (cities or own stations) and `satellite`.
        timeline: name of a CSV or Parquet file with t_s, rate_bps, delay_s, loss_rate, up and handover, or
            {"file": "leo.parquet", "repeat": True, "delay": "steps", "offset": "10 s"}.
        up: whether the path is there, as steps: [["0 s", True], ["14.5 s", False], ["15 s", True]].
        nominal: of which rate and delay `1 bdp` is, {"rate": "100 Mbit/s", "delay": "20 ms"}.
        reorder: whether a packet may overtake when the delay shrinks.
        handover: what a change of path does, and when: {"in_flight": "lost", "queue": "flushed",
            "outage": "500 ms", "every": "15 s"}.
        from_: ground station at the sender's end.
        to: ground station at the receiver's end.
        satellite: {"geo": "100E", "min_elevation": 0.0}.
        queue: default one bandwidth-delay product.
        loss: one loss model, or a list of them; forward direction only.
        opportunities: a file of mahimahi's packet opportunities; forward direction only, as the next three.
        access: how the sender gets the right to send, a `Dama`.
        arq: repeats of what is lost, an `Arq`.
        ack_thinning: an `AckThinning`.
        reverse: keys that differ in the return direction, {"rate": "1 Mbit/s", "loss": BitError(1e-7)}.
    """

    rate: str | Steps | None = None
    delay: str | Steps | None = None
    timeline: str | Path | dict[str, Any] | None = None
    up: Steps | None = None
    nominal: dict[str, Any] | None = None
    reorder: bool | None = None
    handover: dict[str, Any] | None = None
    from_: str | None = None
    to: str | None = None
    satellite: dict[str, Any] | None = None
    queue: Queue | dict[str, Any] | None = None
    loss: Model | dict[str, Any] | Sequence[Model | dict[str, Any]] | None = None
    opportunities: str | Path | None = None
    access: Dama | dict[str, Any] | None = None
    arq: Arq | dict[str, Any] | None = None
    ack_thinning: AckThinning | dict[str, Any] | None = None
    reverse: dict[str, Any] | None = None


@dataclass
class Flow:
    """One TCP connection, or `count` equal ones.

    `cc` is an algorithm's name, or {"name": "simd", "beta": 0.0625} with parameters, or a `Controller`
    subclass. `path` names the directions that data crosses, in order: "sat" is the forward direction of a
    link, "sat/reverse" the other. Acknowledgements return over the opposite ones, or over those of
    `ack_path`. `relay`, {"at": "gateway", "cc": "hybla", "buffer": "4 MB"}, splits it into two connections,
    each a row of the result; requests and responses are two each. `subflow`,
    [{"path": ["leo"], "cc": "lia"}], adds further paths (Multipath TCP): the connection is a row, and each
    of its subflows another one. What is not given is set by `profile` ("modern", the default, "paper",
    "linux" or "scps") and by what the algorithm asks of its sender.
    """

    cc: Any = None
    path: Sequence[str] | None = None
    _: dataclasses.KW_ONLY
    name: str | None = None
    start: str | None = None
    stop: str | None = None
    start_jitter: str | None = None
    count: int | None = None
    traffic: Traffic | dict[str, Any] | None = None
    profile: str | None = None
    ack_path: Sequence[str] | None = None
    extra_delay: str | None = None
    ack_jitter: str | None = None
    priority: int | None = None
    mss: str | None = None
    header: str | None = None
    ack_size: str | None = None
    initial_window: float | None = None
    initial_ssthresh: float | None = None
    receive_window: str | None = None
    read_rate: str | None = None
    relay: dict[str, Any] | None = None
    subflow: Sequence[dict[str, Any]] | None = None
    scheduler: str | None = None
    opportunistic: bool | None = None
    both_ways: bool | dict[str, Any] | None = None
    recovery: str | None = None
    rack: bool | None = None
    tlp: bool | None = None
    dsack: bool | None = None
    sack_restarts_rto: bool | None = None
    snack: bool | None = None
    snack_vector: int | None = None
    newreno_exit: str | None = None
    prr: bool | None = None
    byte_counting: bool | None = None
    slow_start_limit: bool | None = None
    limited_transmit: bool | None = None
    delayed_ack: bool | None = None
    delayed_ack_timeout: str | None = None
    acks: str | None = None
    timestamps: bool | None = None
    ecn: bool | str | None = None
    ect1: bool | None = None
    handshake: bool | None = None
    initial_rto: str | None = None
    rto: str | None = None
    min_rto: str | None = None
    max_rto: str | None = None
    granularity: str | None = None
    spurious: str | None = None
    idle_restart: bool | None = None
    pacing: bool | None = None
    aen: bool | None = None
    bulk_repeat: bool | None = None
    fixed_rto: bool | None = None
    path_hints: bool | None = None
    rate_hints: bool | None = None
    hint_delay: str | None = None
    hint_lead: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.path, str):
            self.path = [self.path]


@dataclass(kw_only=True)
class Scenario:
    """Links, flows, duration, seed, and what to record.

    Args:
        links: by name.
        flows: in the order of the result.
        duration: "120 s".
        seed: each random source draws from its own stream of this seed.
        title: one line for people.
        record: what to trace; nothing by default.
        stations: own ground stations by name, {"lat": 39.4, "lon": 116.4}.
    """

    links: dict[str, Link]
    flows: list[Flow] = field(default_factory=list)
    duration: str = "60 s"
    seed: int = 1
    title: str | None = None
    record: Record | dict[str, Any] | None = None
    stations: dict[str, dict[str, float]] | None = None

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
        return cls.from_dict(Source(path).load(overrides or {}))

    @classmethod
    def of(cls, given: Scenario | Mapping[str, Any] | str | Path) -> Scenario:
        """The scenario that is given: one, its table as a dict, or what `load` reads.

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
    def from_dict(cls, table: Mapping[str, Any]) -> Scenario:
        """A scenario from the table that a TOML or JSON file holds.

        Raises:
            ScenarioError: a key is unknown; the message has a line for each mistake that the table has. If no
                key is, values are not checked yet.
        """
        if not isinstance(table, Mapping):
            raise _core.ScenarioError(f"scenario: a table is needed, not {type(table).__name__}")
        try:
            return cls._from_dict(table)
        except _core.ScenarioError:
            _check_table(table)  # which knows of all mistakes
            raise

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
        """The controller classes of the flows that have one, by the key that stands for each in the JSON."""
        return self._keyed()[1]

    def to_dict(self) -> dict[str, Any]:
        """The table that a TOML or JSON file of this scenario would hold, without the defaults."""
        _expect(self.links, Mapping, "links", 'a dict of links by name, {"sat": bp.Link(...)}')
        for name, link in self.links.items():
            _expect(link, Link, f"links[{name!r}]", "a bp.Link")
        _expect(self.flows, (list, tuple), "flows", "a list of flows, [bp.Flow(...)]")
        for i, flow in enumerate(self.flows):
            _expect(flow, Flow, f"flows[{i}]", "a bp.Flow")
        table = _table(self)
        table.pop("links")
        stations = table.pop("stations", None)
        if stations:
            table["station"] = stations
        table["link"] = {name: _table(link) for name, link in self.links.items()}
        names, _ = self._keyed()
        table["flow"] = [
            {key: value for key, value in {**_table(flow), "cc": cc}.items() if value is not None}
            for flow, cc in zip(self.flows, names, strict=True)
        ]
        table.pop("flows")
        return table

    def to_json(self) -> str:
        """This scenario as JSON, checked and with every default filled in. It means the same run.

        Raises:
            ScenarioError: it is not correct; the message names the key and what would be right.
        """
        return _core.check(self.as_written())

    def as_written(self) -> str:
        """This scenario as JSON, not checked and without the defaults: what every command simulates.

        Raises:
            ScenarioError: a value has no word in JSON; the message names the key.
        """
        tree = self.to_dict()
        for key, value in _numbers(tree, ""):
            # JSON has no word for the first, and larger ones would be read as floating point.
            if value != value or abs(value) == float("inf"):
                raise _core.ScenarioError(f"{key}: {value} is not a finite number")
            if isinstance(value, int) and not -(2**63) <= value < 2**64:
                raise _core.ScenarioError(f"{key}: too large; whole numbers go up to {2**64 - 1}")
        for key, value in _strange(tree, ""):
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
"""The names in Python of the keys of a table that are called otherwise there."""


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


def _strange(value: Any, key: str) -> Iterator[tuple[str, Any]]:
    """The values of a tree for which JSON has no word, each with its dotted key."""
    if isinstance(value, dict):
        for name, member in value.items():
            yield from _strange(member, f"{key}.{name}" if key else str(name))
    elif isinstance(value, (list, tuple)):
        for i, member in enumerate(value):
            yield from _strange(member, f"{key}.{i}")
    elif not (value is None or isinstance(value, (str, int, float))):
        yield key, value


def _numbers(value: Any, key: str) -> Iterator[tuple[str, int | float]]:
    """The numbers of a tree, each with its dotted key."""
    if isinstance(value, dict):
        members: Iterable[tuple[Any, Any]] = value.items()
    elif isinstance(value, (list, tuple)):
        members = enumerate(value)
    else:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            yield key, value
        return
    for name, member in members:
        yield from _numbers(member, f"{key}.{name}" if key else str(name))
