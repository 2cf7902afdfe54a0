"""Links from reports and studies to runs in the page that simulates."""

from __future__ import annotations

import base64
import re
import tomllib
import zlib
from pathlib import Path

import browser
import pytest
from web_page import needs_browser, needs_page, opened, text_of

import bentpipe as bp
from bentpipe.registry import SCENARIOS
from bentpipe.web import installed
from bentpipe.web.link import links, run_in_page


def text_in(fragment: str) -> str:
    """The scenario in a fragment, as a browser reads it."""
    code = fragment.removeprefix("#text=")
    return zlib.decompress(base64.urlsafe_b64decode(code + "=" * (-len(code) % 4)), wbits=-15).decode()


def linked(page: Path) -> list[str]:
    return re.findall(r'href="(bentpipe\.html#[^"]*)"', page.read_text("utf-8"))


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A package whose simulator for browsers is at hand."""
    path = tmp_path / "package" / "bentpipe.wasm"
    path.parent.mkdir()
    path.write_bytes(b"\0asm")
    monkeypatch.setattr(installed, "MODULE", path)
    return path


def test_a_fragment_holds_the_whole_scenario() -> None:
    table = bp.Scenario.load("geo", {"link.geo.rate": "5 Mbit/s", "seed": 7}).to_dict()
    fragment = run_in_page(table)
    assert fragment is not None and re.fullmatch(r"#text=[A-Za-z0-9_-]+", fragment)
    assert tomllib.loads(text_in(fragment)) == table


def test_only_files_of_shipped_scenarios_are_in_the_page(tmp_path: Path) -> None:
    fragment = run_in_page(bp.Scenario.load("leo").to_dict())
    assert fragment is not None
    assert tomllib.loads(text_in(fragment))["link"]["leo"]["timeline"] == "leo.csv"
    (tmp_path / "leo.csv").write_bytes((SCENARIOS / "leo.csv").read_bytes())
    own = tmp_path / "own.toml"
    own.write_bytes((SCENARIOS / "leo.toml").read_bytes())
    assert run_in_page(bp.Scenario.load(own).to_dict()) is None


def test_a_controller_in_python_has_no_link(module: Path, tmp_path: Path) -> None:
    geo = bp.Scenario.load("geo").to_dict()
    mine = geo | {"flow": [{**geo["flow"][0], "cc": "python:Mine"}]}
    assert run_in_page(mine) is None
    page = tmp_path / "page.html"
    assert links([("mine", mine)], page) == []
    assert not page.with_name("bentpipe.html").exists()
    assert [words for words, _ in links([("mine", mine), ("geo", geo)], page)] == ["geo"]


def test_a_report_has_a_link_for_each_combination_and_the_page_beside_it(
    module: Path, tmp_path: Path
) -> None:
    short = bp.Scenario.load("geo", {"duration": "5 s"})
    out = tmp_path / "swept"
    bp.sweep(short, {"flow.0.cc": ["star", "cubic"], "link.geo.rate": ["2 Mbit/s", "5 Mbit/s"]}, out=out)
    found = linked(bp.report(out))
    runs = [tomllib.loads(text_in(one.removeprefix("bentpipe.html"))) for one in found]
    assert [(run["flow"][0]["cc"], run["link"]["geo"]["rate"]) for run in runs] == [
        ("star", "2 Mbit/s"), ("star", "5 Mbit/s"), ("cubic", "2 Mbit/s"), ("cubic", "5 Mbit/s"),
    ]  # fmt: skip
    assert (tmp_path / "bentpipe.html").read_text("utf-8").startswith("<!DOCTYPE html>")


def test_without_the_simulator_or_its_place_there_are_no_links(module: Path, tmp_path: Path) -> None:
    bp.run(bp.Scenario.load("geo", {"duration": "5 s"})).save(tmp_path / "result")
    other = tmp_path / "bentpipe.html"
    other.write_text("mine", "utf-8")
    assert linked(bp.report(tmp_path / "result")) == []
    assert other.read_text("utf-8") == "mine"
    other.unlink()
    assert len(linked(bp.report(tmp_path / "result"))) == 1
    other.unlink()
    module.unlink()
    assert linked(bp.report(tmp_path / "result")) == []
    assert not other.exists()


@needs_page
@needs_browser
def test_a_link_opens_the_run_itself(window: browser.Browser) -> None:
    scenario = bp.Scenario.load("leo", {"duration": "20 s", "seed": 3})
    fragment = run_in_page(scenario.to_dict())
    assert fragment is not None
    opened(window, fragment)
    assert (text_of(window, "wrong"), window.errors) == ("", [])
    assert int(text_of(window, "state").split()[0].replace(",", "")) == bp.run(scenario).json["packets"]
