"""The page that this installation writes: its compiled simulator, and a scenario that it opens with."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from bentpipe import _core, terminal
from bentpipe.document.source import Source
from bentpipe.io import foreign
from bentpipe.io.files import Kind, check_kind, replace_text
from bentpipe.sweeps.fingerprint import named_files
from bentpipe.web import FirstScenario, page

MODULE = Path(__file__).with_name("bentpipe.wasm")
"""In a wheel; `make web` puts it there."""
CLONE = Path(__file__).parents[3]
"""The sources, if this package lies in them."""
PAGE = Kind("a page", (b"<!DOCTYPE html>", b"<!doctype html>"))
MOST_BYTES = 64 << 20
"""Bytes of a file that a scenario names."""


def module() -> bytes:
    """The simulator as WebAssembly: that of the wheel; in a clone, that of its sources, compiled if need be.

    Raises:
        ScenarioError: the installation has none, or it could not be compiled.
    """
    script = CLONE / "scripts" / "web.sh"
    if not script.is_file():
        if MODULE.is_file():
            return MODULE.read_bytes()
        raise _core.ScenarioError(
            "this installation lacks the simulator for browsers; a wheel of `make wheel` on Debian 12 has it"
        )
    if not (CLONE / "target" / "web" / "wasm32-unknown-unknown").is_dir():
        terminal.note("compiling the simulator for browsers, which takes some minutes the first time")
    done = subprocess.run([script, CLONE / "target" / "web"], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise _core.ScenarioError("the simulator could not be compiled for browsers; `make web` tries again")
    return Path(done.stdout.strip()).read_bytes()


def is_at_hand(path: Path) -> bool:
    """Whether a page can be written there at once, with the module as it is and in no other file's place."""
    try:
        check_kind(path, PAGE)
    except _core.ScenarioError:
        return False
    return MODULE.is_file()


def first(given: str | Path) -> FirstScenario:
    """A scenario for a page to open with: a shipped name, or a file with those that it names.

    Raises:
        ScenarioError: there is none, or it is wrong.
        OSError: a file that it names cannot be read.
    """
    source = Source(given)
    source.load()
    beside = {}
    for name in named_files(source.raw()):
        place = source.folder / name
        if place.suffix == ".parquet":
            raise _core.ScenarioError(
                f"{source.name}: a page reads no Parquet files such as {name}; save it as CSV"
            )
        beside[name] = foreign.content(place, MOST_BYTES).decode()
    return FirstScenario(str(given), source.text, beside, is_shipped=source.is_shipped)


def write(path: Path, scenario: str | Path | None = None, *, compiled: bool = False) -> None:
    """Writes the page, complete or not at all; it opens with the scenario.

    Args:
        path: the page.
        scenario: a shipped name, or a file.
        compiled: take the module of the package as it is, instead of compiling what has changed in a clone.

    Raises:
        ScenarioError: the scenario is wrong, `path` is a file of another kind, or the installation has no
            page.
        OSError: a file cannot be read or written.
    """
    check_kind(path, PAGE)
    given = None if scenario is None else first(scenario)
    replace_text(path, page(MODULE.read_bytes() if compiled else module(), given))


def browser_can_be_opened() -> bool:
    """Whether this machine has a screen for a browser."""
    return sys.platform != "linux" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
