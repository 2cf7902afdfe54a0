"""The source of a scenario: a file, a shipped name, a stored result, or standard input."""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from bentpipe import _core
from bentpipe.controller import Controller, check_controller, is_own, load_controller, named_algorithm
from bentpipe.document.plain import document, toml, value_of
from bentpipe.document.relays import NONE, relay_of
from bentpipe.registry import shipped_files, unknown

MOST_BYTES = 16 << 20
"""Bytes of a scenario, as in the simulator (crates/sim/src/scenario/text.rs)."""
STDIN = "-"
"""Represents standard input."""
FILE_KEYS = ("timeline", "file", "opportunities")
"""Last parts of keys whose values are names of files."""
CC = re.compile(r"flow\.(\d+|\*)\.cc(\.name)?")
"""Keys of algorithms."""
_LIKE_TOML = re.compile(r"""\s*(\[|[\w."'-]+\s*=)""")
"""The head of a table, or a key with its value."""
_RELAY = re.compile(r"flow\.(\d+|\*)\.relay")


class Source:
    """The text of a scenario, read once, and the name that messages call it by.

    Args:
        given: a TOML or JSON file; a name of a scenario that comes with the package ("geo", in any case); a
            directory that `bentpipe run --out` wrote, or the run.json in it; "-", standard input; or the
            contents of such a file, as a dict.

    Raises:
        ScenarioError: there is no such scenario, or it cannot be read.
    """

    def __init__(self, given: str | Path | Mapping[str, Any]) -> None:
        path, text = None, ""
        #: Whether it comes with the package.
        self.is_shipped = False
        #: Whether it is the stored result of an emulation, whose programs were not simulated.
        self.is_emulation = False
        #: Its name in messages.
        self.name = "scenario"
        #: Algorithms in Python that it names, or an override: "NAME" for the `cc` "python:NAME".
        self.controllers: dict[str, type] = {}
        if isinstance(given, Mapping):
            text = json.dumps(given)
        elif str(given) == STDIN:
            self.name = "standard input"
            text = _standard_input()
        elif (stored := _stored(Path(given))) is not None:
            self.name = str(given)
            text = json.dumps({**stored["scenario"], "seed": stored["seed"]})
            self.is_emulation = "emulation" in stored
        else:
            path = find_file(given)
            self.is_shipped = path != Path(given)
            self.name = f"scenario {path.stem}" if self.is_shipped else str(path)
        #: The folder of the files that it names.
        self.folder = Path() if path is None else path.parent
        self._document = _core.ScenarioText(self.name, path, text)

    @property
    def text(self) -> str:
        """The scenario in TOML: as it is written, or its table.

        Raises:
            ScenarioError: it is neither TOML nor JSON.
        """
        return document(self.raw()) if self._is_json else self._document.text

    def raw(self) -> dict[str, Any]:
        """The table as it is written, not checked.

        Raises:
            ScenarioError: it is neither TOML nor JSON.
        """
        try:
            table = (json if self._is_json else tomllib).loads(self._document.text)
        except (ValueError, RecursionError) as error:
            self.load()  # has a better message
            raise _core.ScenarioError(f"{self.name}: {error}") from None
        if not isinstance(table, dict):
            raise _core.ScenarioError(f"{self.name}: a scenario is a table")
        return table

    @property
    def _is_json(self) -> bool:
        return self._document.text.lstrip().startswith("{")

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
            own: an algorithm may be a class in Python, "FILE.py:CLASS"; `controllers` then has the class.

        Raises:
            ScenarioError: it is not correct; the message names file, line and key.
        """
        if isinstance(overrides, Mapping):
            overrides = [(key, toml(value)) for key, value in overrides.items()]
        pairs = [pair for key, value in overrides for pair in self._relays(key, value)]
        if own:
            pairs = [*self._classes_of_flows, *(self.override(*pair) for pair in pairs)]
        try:
            table: dict[str, Any] = json.loads(self._document.load(pairs, sweep))
        except _core.ScenarioError as wrong:
            self._refuse_other_text(wrong.mistakes)
            raise
        return table

    def override(self, key: str, value: str) -> tuple[str, str]:
        """An override whose algorithm may be a class in Python; its name then represents it."""
        return key, toml(self.algorithm(value_of(value))) if CC.fullmatch(key) else value

    def algorithm(self, given: Any) -> Any:
        """The value that represents an algorithm in the scenario; one in Python is loaded, and named.

        Raises:
            ScenarioError: there is no such algorithm, or its class cannot be loaded or lacks a method.
        """
        if isinstance(given, str) and is_own(given):
            given = self._controller(given)
        elif isinstance(given, str) and " " not in given.strip():
            return given
        found = named_algorithm(given)
        if not isinstance(found, type):
            return found
        check_controller(found, found.__qualname__)
        name, n = found.__name__, 1
        while self.controllers.get(name, found) is not found:
            n += 1
            name = f"{found.__name__}-{n}"
        self.controllers[name] = found
        return f"python:{name}"

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
        lines = enumerate(self._document.text.splitlines(), 1)
        first, text = next((number, line) for number, line in lines if line.split("#")[0].strip())
        if _LIKE_TOML.match(text) is None:
            raise _core.ScenarioError(
                f"{self.name}: this is no scenario: line {first} and others are not TOML; a scenario has "
                'lines such as duration = "120 s", and bentpipe scenario new -o FILE writes one'
            )

    def _controller(self, spec: str) -> type[Controller]:
        """The class of "FILE.py:CLASS", a file beside the scenario, or in the working directory."""
        beside = str(self.folder / spec)
        return load_controller(beside if Path(beside.rpartition(":")[0]).is_file() else spec)

    @cached_property
    def _classes_of_flows(self) -> list[tuple[str, str]]:
        """Overrides for the flows of the text whose algorithm is "FILE.py:CLASS"."""
        flows = self.raw().get("flow") if ".py:" in self._document.text else None  # almost never
        of_file = enumerate(flows if isinstance(flows, list) else [])
        written = [(f"flow.{i}.cc", flow.get("cc")) for i, flow in of_file if isinstance(flow, dict)]
        return [(key, toml(self.algorithm(cc))) for key, cc in written if isinstance(cc, str) and is_own(cc)]

    def _relays(self, key: str, value: str) -> list[tuple[str, str]]:
        """An override; the relay that a text describes as an override of each flow that it is for."""
        relay, text = _RELAY.fullmatch(key), value.strip("\"' ")
        if relay is None or text == NONE or text.startswith("{"):
            return [(key, value)]
        flows = self.raw().get("flow")
        pairs = []
        for number, flow in enumerate(flows if isinstance(flows, list) else []):
            if relay[1] in ("*", str(number)) and isinstance(flow, dict):
                own = flow.get("relay")
                own, key = own if isinstance(own, dict) else None, f"flow.{number}.relay"
                made = relay_of(text, own, flow.get("path") or (), option=f"{self.name}: {key}")
                pairs.append((key, toml(made)))
        return pairs or [(key, json.dumps(text))]  # whose message names the flow


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
