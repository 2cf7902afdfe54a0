"""The source of a scenario: a file, a shipped name, a stored result, or standard input."""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from bentpipe import _core
from bentpipe.controller import Controller, is_own, load_controller
from bentpipe.document.plain import document, toml
from bentpipe.document.relays import NONE, relay_of
from bentpipe.io import foreign
from bentpipe.registry import shipped_files, unknown

MOST_BYTES = 16 << 20
"""Bytes of a scenario, as in the simulator (crates/sim/src/scenario/text.rs)."""
STDIN = "-"
"""Represents standard input."""
FILE_KEYS = ("timeline", "file", "opportunities")
"""Last parts of keys whose values are names of files."""
_CC = re.compile(r"flow\.(\d+|\*)\.cc")
_LIKE_TOML = re.compile(r"""\s*(\[|[\w."'-]+\s*=)""")
"""The head of a table, or a key with its value."""
_RELAY = re.compile(r"flow\.(\d+|\*)\.relay")
SWEEP_KEYS = ("vary", "seeds")
"""The keys at the top of a file that define the axes of a sweep."""


class Source:
    """The text of a scenario, read once, and the name that messages call it by.

    Args:
        given: a TOML or JSON file; a name of a scenario that comes with the package ("geo", in any case); a
            directory that `bentpipe run --out` wrote, or the run.json in it; "-", standard input; or the
            contents of such a file, as a dict.

    Raises:
        ScenarioError: there is no such scenario, or the text is not correct.
    """

    def __init__(self, given: str | Path | Mapping[str, Any]) -> None:
        self._path: Path | None = None
        self._text = ""
        #: Whether it comes with the package.
        self.is_shipped = False
        #: Whether it is the stored result of an emulation, whose programs were not simulated.
        self.is_emulation = False
        #: Its name in messages.
        self.name = "scenario"
        if isinstance(given, Mapping):
            self._text = json.dumps(given)
        elif str(given) == STDIN:
            self.name = "standard input"
            self._text = _standard_input()
        elif (stored := _stored(Path(given))) is not None:
            self.name = str(given)
            self._text = json.dumps({**stored["scenario"], "seed": stored["seed"]})
            self.is_emulation = "emulation" in stored
        else:
            self._path = find_file(given)
            self.is_shipped = self._path != Path(given)
            self.name = f"scenario {self._path.stem}" if self.is_shipped else str(self._path)

    @property
    def folder(self) -> Path:
        """The folder of the files that it names."""
        return Path() if self._path is None else self._path.parent

    @property
    def text(self) -> str:
        """The scenario in TOML: as it is written, or its table.

        Raises:
            ScenarioError: it cannot be read.
        """
        table = self.raw()
        return document(table) if self._content.lstrip().startswith("{") else self._content

    def raw(self) -> dict[str, Any]:
        """The table as it is written, not checked.

        Raises:
            ScenarioError: it is neither TOML nor JSON, or cannot be read.
        """
        try:
            text = self._content
            table = json.loads(text) if text.lstrip().startswith("{") else tomllib.loads(text)
        except (OSError, ValueError, RecursionError) as error:
            self.load()  # has a better message
            raise _core.ScenarioError(f"{self.name}: {error}") from None
        if not isinstance(table, dict):
            raise _core.ScenarioError(f"{self.name}: a scenario is a table")
        return table

    def load(
        self,
        overrides: Mapping[str, Any] | Sequence[tuple[str, str]] = (),
        *,
        sweep: bool = False,
        own: bool = False,
    ) -> dict[str, Any]:
        """The table of the scenario, checked; files that it names can be found from the working directory.

        Args:
            overrides: values by dotted key, or pairs of a key and its value as TOML. The `relay` of a flow
                may be a text as `relays.relay_of` reads it; "none" takes it away.
            sweep: leave out the keys that define the axes of a sweep, `vary` and `seeds`.
            own: an algorithm may be a class in Python, "FILE.py:CLASS"; the table then has the class.

        Raises:
            ScenarioError: it is not correct; the message names file, line and key.
        """
        if isinstance(overrides, Mapping):
            overrides = [(key, toml(value)) for key, value in overrides.items()]
        pairs, bare = self._without_relays(overrides)
        self._check_links(key for key, _ in pairs)
        pairs, classes = self._without_classes(pairs) if own else (pairs, {})
        try:
            table = self._checked(pairs, sweep=sweep)
        except _core.ScenarioError as wrong:
            self._refuse_other_text(wrong.mistakes)
            if self.is_shipped:
                raise self._by_name(wrong) from None
            raise
        flows = table.get("flow", [])
        for which in bare:
            if which != "*" and int(which) >= len(flows):
                raise _core.ScenarioError(f"{self.name}: flow.{which}.relay: the flows are {len(flows)}")
            for flow in flows if which == "*" else [flows[int(which)]]:
                flow.pop("relay", None)
        for i, flow in enumerate(flows):
            found = classes.get(str(i)) or classes.get("*")
            if found is not None and flow.get("cc") == f"python:{found.__name__}":
                flow["cc"] = found
        return table

    def _checked(self, pairs: list[tuple[str, str]], *, sweep: bool) -> dict[str, Any]:
        """The table with overrides, as the simulator has checked it."""
        if self._path is not None:
            pairs = [(key, self._from_here(key, value)) for key, value in pairs]
            text = _core.load(str(self._path), pairs, sweep)
        else:
            if sweep:
                left = {key: value for key, value in self.raw().items() if key not in SWEEP_KEYS}
                self._text = json.dumps(left, default=str)
            text = _core.parse(self._text, self.name, pairs)
        table: dict[str, Any] = json.loads(text)
        return table

    def _by_name(self, wrong: _core.ScenarioError) -> _core.ScenarioError:
        """The error with the name of a shipped scenario in place of the path of its file."""
        mistakes = [
            self.name + text.removeprefix(str(self._path)) if text.startswith(str(self._path)) else text
            for text in wrong.mistakes or str(wrong).splitlines()
        ]
        error = _core.ScenarioError("\n".join(mistakes))
        error.mistakes = tuple(mistakes) if wrong.mistakes else ()
        return error

    def _refuse_other_text(self, mistakes: Sequence[str]) -> None:
        """Refuses a file that is no scenario by one line in place of one for each of its lines.

        Raises:
            ScenarioError: it is the report of an emulation, or the first line with content does not look like
                TOML, and at least three are not.
        """
        if any(": lateness_bound_s: unknown key" in text for text in mistakes):
            raise _core.ScenarioError(
                f"{self.name} is the report of an emulation, and its programs cannot be simulated; bentpipe "
                "emulate --trace DIR keeps the link over time, and bentpipe plot queue DIR -o FILE draws it"
            )
        if sum(": not valid TOML: " in text for text in mistakes) < 3:
            return
        lines = enumerate(self._content.splitlines(), 1)
        first, text = next((number, line) for number, line in lines if line.split("#")[0].strip())
        if _LIKE_TOML.match(text) is None:
            raise _core.ScenarioError(
                f"{self.name}: this is no scenario: line {first} and others are not TOML; a scenario has "
                'lines such as duration = "120 s", and bentpipe scenario new -o FILE writes one'
            )

    def controller(self, spec: str) -> type[Controller]:
        """The class that "FILE.py:CLASS" names; its file is beside the scenario, or in the working directory.

        Raises:
            ScenarioError: the file cannot be read or run, or has no such class, or the class lacks a method.
        """
        beside = str(self.folder / spec)
        return load_controller(beside if Path(beside.rpartition(":")[0]).is_file() else spec)

    def _without_relays(self, overrides: Sequence[tuple[str, str]]) -> tuple[list[tuple[str, str]], set[str]]:
        """The overrides with relays as tables, and the flows that are to have none: numbers, or "*"."""
        pairs: list[tuple[str, str]] = []
        bare: set[str] = set()
        for key, value in overrides:
            relay, text = _RELAY.fullmatch(key), value.strip("\"' ")
            if relay is None:
                pairs.append((key, value))
            elif text == NONE:
                bare.add(relay[1])
            else:  # the later override holds
                bare.discard(relay[1])
                pairs += [(key, value)] if text.startswith("{") else self._relay(relay[1], text)
        return pairs, bare

    def _relay(self, which: str, text: str) -> list[tuple[str, str]]:
        """The relay that a text describes, as an override of each flow that it is for."""
        flows = self.raw().get("flow")
        pairs = []
        for number, flow in enumerate(flows if isinstance(flows, list) else []):
            if which in ("*", str(number)) and isinstance(flow, dict):
                own = flow.get("relay")
                own, key = own if isinstance(own, dict) else None, f"flow.{number}.relay"
                made = relay_of(text, own, flow.get("path") or (), option=f"{self.name}: {key}")
                pairs.append((key, toml(made)))
        return pairs or [(f"flow.{which}.relay", json.dumps(text))]  # whose message names the flow

    def _without_classes(
        self, overrides: Sequence[tuple[str, str]]
    ) -> tuple[list[tuple[str, str]], dict[str, type[Controller]]]:
        """Overrides with names for algorithms that are classes; the classes by the flow's number, or "*"."""
        pairs: list[tuple[str, str]] = []
        classes: dict[str, type[Controller]] = {}
        for key, value in [*self._classes_of_flows(), *overrides]:
            which, spec = _CC.fullmatch(key), value.strip().strip("\"'")
            if which is not None:  # the later override holds
                for number in list(classes) if which[1] == "*" else [which[1]]:
                    classes.pop(number, None)
                if is_own(spec):
                    found = classes[which[1]] = self.controller(spec)
                    value = json.dumps(f"python:{found.__name__}")
            pairs.append((key, value))
        return pairs, classes

    def _classes_of_flows(self) -> list[tuple[str, str]]:
        """The flows of the text whose algorithm is "FILE.py:CLASS", by the key of that."""
        try:
            if ".py:" not in self._content:  # almost always, and then nothing is parsed twice
                return []
        except (OSError, ValueError):
            return []  # `load` says what is wrong
        flows = self.raw().get("flow")
        of_file = enumerate(flows if isinstance(flows, list) else [])
        written = [(f"flow.{i}.cc", flow.get("cc")) for i, flow in of_file if isinstance(flow, dict)]
        return [(key, cc) for key, cc in written if isinstance(cc, str) and is_own(cc)]

    @cached_property
    def _content(self) -> str:
        """The text; it is read once.

        Raises:
            ScenarioError: it is too large, or not in a regular file.
            ValueError: it is not UTF-8.
            OSError: it cannot be read.
        """
        return self._text if self._path is None else foreign.content(self._path, MOST_BYTES).decode()

    def _from_here(self, key: str, value: str) -> str:
        """The value of an override; of a file that is in the working directory, its place.

        Files that a scenario names lie beside it, but an override refers to files in the working directory.

        Raises:
            ScenarioError: the file is in neither of the two.
        """
        name = value.strip().strip("\"'")
        here = Path(name)
        is_file = key.rpartition(".")[2] in FILE_KEYS and name and not name.startswith("{")
        if not is_file or here.is_absolute():
            return value
        if here.is_file():
            return json.dumps(str(here.resolve()))
        if not (self.folder / name).exists():
            raise _core.ScenarioError(
                f"{self.name}: {key}: no file {name!r} is in the working directory, nor in {self.folder}"
            )
        return value

    def _check_links(self, keys: Iterable[str]) -> None:
        """Checks that overrides change existing links, or make complete ones.

        Raises:
            ScenarioError: a link has no such name; the message has those that are near.
        """
        split = [_core.key_parts(key) or [] for key in keys]
        parts = [parts for parts in split if parts[:1] == ["link"] and parts[1:]]
        changed = [name for _, name, *rest in parts if rest and name != "*"]
        if not changed:
            return
        links = self.raw().get("link")
        made = {name for _, name, *rest in parts if not rest}
        known = [*links, *made] if isinstance(links, dict) else changed
        for name in changed:
            if name not in known:
                raise _core.ScenarioError(f"{self.name}: {unknown('link', name, known)}")


def find_file(given: str | Path) -> Path:
    """The file of that name, or the one that comes with the package under it.

    Raises:
        ScenarioError: there is neither.
    """
    if not str(given):
        raise _core.ScenarioError('give a scenario: a file, - for standard input, or a name such as "geo"')
    file = Path(given)
    if file.is_file():
        return file
    known = shipped_files()
    name = str(given).lower()
    if name in known:
        return known[name]
    if file.is_dir():
        raise _core.ScenarioError(
            f"{given} is a directory, neither a scenario file nor a result of run --out"
        )
    if file.exists():
        raise _core.ScenarioError(
            f"{given} is no regular file but a pipe or a device; a scenario is read from a file"
        )
    if file.suffix or len(file.parts) > 1:
        raise _core.ScenarioError(f"there is no file {str(given)!r}{_near_file(file, list(known))}")
    raise _core.ScenarioError(unknown("scenario", str(given), list(known)))


def _near_file(missing: Path, shipped: Sequence[str]) -> str:
    """What a message about a missing file adds: scenario files beside it, and a shipped scenario's name."""
    beside = {file.stem: str(file) for file in sorted(missing.parent.glob("*.toml"))}
    near = [beside[stem] for stem in _core.nearest(missing.stem, list(beside))]
    if missing.parts == (missing.name,) and missing.stem.lower() in shipped:
        near.append(f"{missing.stem.lower()}, which comes with the package")
    return f"; did you mean {' or '.join(near)}?" if near else ""


def _standard_input() -> str:
    try:
        given = sys.stdin.buffer.read(MOST_BYTES + 1)
        if len(given) > MOST_BYTES:
            raise _core.ScenarioError(f"standard input: a scenario is at most {MOST_BYTES >> 20} MiB")
        return given.decode()
    except UnicodeDecodeError as error:
        raise _core.ScenarioError(f"standard input is not text in UTF-8: byte {error.start + 1}") from None
    except (AttributeError, OSError, ValueError):  # it is closed
        raise _core.ScenarioError("standard input cannot be read; give a file") from None


def _stored(path: Path) -> dict[str, Any] | None:
    """The contents of the run.json of a stored result; None if `path` is not one."""
    directory = path.parent if path.name == "run.json" else path
    if not (directory / "run.json").is_file():
        return None
    from bentpipe.result import read_about

    return read_about(directory)
