"""What several tests share: a scenario file, and the command line in this process."""

from __future__ import annotations

import contextlib
import os
import pty
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bentpipe.cli import app

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


@pytest.hookimpl(tryfirst=True)  # before the plugin reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Says which tests one worker of pytest-xdist takes, one after another (`make test-python`).

    Those of a file, because they share fixtures, and all that need root, because they share the machine's
    networks and kernel. What takes longest comes first, so that no worker is left with it at the end.
    """
    groups = {item: "machine" if item.get_closest_marker("root") else item.path.stem for item in items}
    long = {groups[item] for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: (groups[item] != "machine", groups[item] not in long))
    for item, group in groups.items():
        item.add_marker(pytest.mark.xdist_group(group))


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
        return CliRunner().invoke(app, [str(a) for a in args], prog_name="bentpipe")

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
