"""The pages of docs/controllers: one for each controller, with its rules, and a command that works."""

from __future__ import annotations

import importlib
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from bentpipe import _core
from bentpipe.registry import controllers

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


@pytest.fixture
def scripts() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "scripts")
        yield importlib.import_module("controllers_md")


def test_the_pages_are_those_of_the_registry_and_the_sources(scripts: ModuleType) -> None:
    found = scripts.pages()
    assert {path.stem for path in found if path.parent.name == "controllers"} == {
        entry["id"] for entry in controllers()
    }
    assert importlib.import_module("md").stale(found, scripts.FOLDER) == []


def test_a_page_that_differs_or_has_no_source_is_found(scripts: ModuleType, monkeypatch, tmp_path) -> None:
    md = importlib.import_module("md")
    monkeypatch.setattr(md, "ROOT", tmp_path)
    kept, other = tmp_path / "kept.md", tmp_path / "other.md"
    kept.write_text("as it is", encoding="utf-8")
    other.write_text("an algorithm that is gone", encoding="utf-8")
    assert md.stale({kept: "as it is"}, tmp_path) == ["other.md has no source"]
    assert md.stale({kept: "new"}) == ["kept.md does not agree with its source"]


def test_the_whole_head_of_the_source_is_on_the_page(scripts: ModuleType) -> None:
    """Word by word, but for the links and the marks of lists."""
    for entry in controllers():
        head = re.findall(
            r"^//!(.*)$", scripts.source_of(entry["id"]).read_text(encoding="utf-8"), re.MULTILINE
        )
        text = (DOCS / "controllers" / f"{entry['id']}.md").read_text(encoding="utf-8")
        there = text[text.index("## Rules and deviations") : text.index("## Parameters")]
        assert len(words(there)) > len(words(" ".join(head))), entry["id"]
        for line in head:
            plain = re.sub(r"\([a-z_:]+\)|`\w+\.rs`|docs/\w+\.md", " ", line)
            assert set(words(plain)) <= set(words(there)), f"{entry['id']}: {line}"


def words(text: str) -> list[str]:
    return re.findall(r"[a-z]{3,}", text.lower())


def test_every_controller_is_in_one_family(scripts: ModuleType) -> None:
    entries = json.loads(_core.controllers())
    everyone = [entry["id"] for entry in entries]
    scripts.families(entries, [{"title": "all", "cc": everyone}])
    with pytest.raises(SystemExit, match="star: every controller is in one family"):
        scripts.families(entries, [{"title": "most", "cc": [cc for cc in everyone if cc != "star"]}])
    with pytest.raises(SystemExit, match="reno is in all and in two"):
        scripts.families(entries, [{"title": "all", "cc": everyone}, {"title": "two", "cc": ["reno"]}])


@pytest.mark.parametrize("cc", [entry["id"] for entry in controllers()])
def test_the_command_of_a_page_works(cli, cc: str) -> None:
    """With a short run in place of the command's own."""
    text = (DOCS / "controllers" / f"{cc}.md").read_text(encoding="utf-8")
    (line,) = re.findall(r"## Try it\n\n```sh\nbentpipe (.*)\n```", text)
    short = ["--for", "3 s", "--seeds", "1"] if line.startswith("compare") else ["--set", "duration=3 s"]
    done = cli(*shlex.split(line), *short)
    assert done.exit_code == 0, done.output


def test_names_of_witnesses_mean_one_controller(scripts: ModuleType) -> None:
    for name, cc in {
        "newreno-100ms-per-0": "reno",
        "westwood-20ms-per-0": "westwood-plus",
        "H-TCP": "htcp",
        "AIMD(1/5, 1/8)": "aimd",
        "(k, l) = (-1/3, 1)": "kl",
        "highspeed-native": "highspeed",
        "Vegas, Linux's rules": "vegas",
        "FAST, alpha = 20": "fast",
    }.items():
        assert [entry["id"] for entry in controllers() if entry["id"] in scripts.meant(name, entry)] == [cc]
