"""What several tests share: a scenario file, and the command line in this process."""

from __future__ import annotations

import contextlib
import functools
import os
import pty
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import browser
import pytest
import typer.testing
from typer.main import get_command

from bentpipe.cli.application import application

SCENARIO = """
title = "a test"
duration = "20 s"

[link.sat]
rate = "2 Mbit/s"
delay = "100 ms"
queue = { kind = "drop-tail", limit = "1 bdp" }
loss = { kind = "packet-error", rate = 0.002 }

[[flow]]
cc = "reno"
path = ["sat"]
"""

# readline, which pytest loads, leaves them to its workers. Terminals of tests have sizes of their own.
for _name in ("LINES", "COLUMNS"):
    os.environ.pop(_name, None)


# `CliRunner` makes the verb anew for each call, which takes longer than most calls.
typer.testing._get_command = functools.cache(get_command)
verb_alone = functools.cache(lambda verb: application([verb]))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with tests marked `slow` come first, so that no process is left with one of them at the end."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


@pytest.fixture
def scenario_file(tmp_path: Path) -> Path:
    path = tmp_path / "sat.toml"
    path.write_text(SCENARIO)
    return path


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch) -> Callable[..., object]:
    """The command line: arguments in; exit_code, stdout and stderr out."""
    monkeypatch.setenv("COLUMNS", "100")

    def invoke(*args: object) -> object:
        words = [str(a) for a in args]
        verb = verb_alone(words[0] if words else "")
        return typer.testing.CliRunner().invoke(verb, words, prog_name="bentpipe")

    return invoke


@pytest.fixture
def on_a_terminal() -> Callable[[Sequence[str], Mapping[str, str]], tuple[int, bytes]]:
    """Runs a command whose standard error is a terminal: exit status, and what it wrote there."""

    def run(command: Sequence[str], environment: Mapping[str, str]) -> tuple[int, bytes]:
        ours, theirs = pty.openpty()
        with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=theirs) as process:
            os.close(theirs)
            said = b""
            with contextlib.suppress(OSError):  # how Linux says that the other side of a terminal is closed
                while part := os.read(ours, 4096):
                    said += part
        os.close(ours)
        return process.returncode, said

    return run


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[browser.Browser]:
    """A window of Chromium."""
    with browser.browser(tmp_path_factory.mktemp("chromium")) as opened:
        yield opened
