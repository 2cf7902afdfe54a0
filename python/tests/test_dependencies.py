"""`make setup` gives uv those settings of pip that uv cannot read, and pip installs where uv fails."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def dependencies(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    import dependencies

    return dependencies


def test_settings_of_pip_become_variables_of_uv(dependencies: ModuleType) -> None:
    settings = ":env:.find-links='/opt/wheels'\nglobal.index-url='https://packages.example/simple'\nglobal.timeout='9'"
    assert dependencies.variables(settings) == {
        "UV_FIND_LINKS": "/opt/wheels",
        "UV_DEFAULT_INDEX": "https://packages.example/simple",
    }
    assert dependencies.variables("") == {}


def test_requirements_are_those_of_the_part(dependencies: ModuleType) -> None:
    whole = dependencies.requirements(None)
    assert len(whole) == len(set(whole))
    assert set(dependencies.requirements("build")) < set(whole)
    assert all(part.startswith("maturin") for part in dependencies.requirements("build"))
    assert dependencies.requirements("weather") == ["itur>=0.4,<0.5"]


@pytest.mark.parametrize(("uv_works", "last"), [(True, "uv"), (False, "pip")])
def test_pip_installs_where_uv_fails(
    dependencies: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, uv_works: bool, last: str
) -> None:
    (tmp_path / "uv").touch()
    commands: list[list[str]] = []

    def run(command: list[object], **_: object) -> SimpleNamespace:
        commands.append([str(word) for word in command])
        by_uv = command[0] == str(tmp_path / "uv")
        return SimpleNamespace(returncode=0 if uv_works or not by_uv else 2, stdout="")

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setattr(sys, "argv", ["dependencies.py", "build"])
    assert dependencies.main() == 0
    made_by = "uv" if commands[-1][0].endswith("uv") else commands[-1][2]
    assert made_by == last
    assert commands[-1][-1].startswith("maturin")
