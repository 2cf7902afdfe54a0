"""The page that simulates: what it lists, and, where `make web` has made it, what a browser and node show."""

from __future__ import annotations

import json
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import browser
import pytest
from web_page import after, moved, needs_browser, needs_page, opened, text_of, until

import bentpipe as bp
from bentpipe import web
from bentpipe.registry import SCENARIOS, shipped_files
from bentpipe.web import installed

ROOT = Path(__file__).parents[2]
NODE = shutil.which("node")


def test_the_page_lists_every_scenario_that_it_can_run_with_its_files() -> None:
    known = web.known()
    names = {one["name"] for one in known["scenarios"]}
    assert names == set(shipped_files())
    assert all(one["title"] and one["about"] for one in known["scenarios"])
    for one in known["scenarios"]:
        for link in tomllib.loads(one["text"])["link"].values():
            line = link.get("timeline")
            file = line.get("file") if isinstance(line, dict) else line
            assert file is None or file in known["files"]


def test_the_page_may_load_nothing() -> None:
    text = web.page(b"\0asm")
    policy = text.split('http-equiv="Content-Security-Policy" content="')[1].split('"')[0]
    assert policy.startswith("default-src 'none'; worker-src blob:")
    assert "connect-src" not in policy and "'unsafe-eval'" not in policy
    assert text == web.page(b"\0asm")


def test_a_page_opens_with_a_file_and_what_the_file_names(tmp_path: Path) -> None:
    leo = (SCENARIOS / "leo.toml").read_text("utf-8")
    (tmp_path / "mine.toml").write_text(leo, "utf-8")
    (tmp_path / "leo.csv").write_text(
        (SCENARIOS / "leo.csv").read_text("utf-8") + "126.0,4.0e-3,1,0\n", "utf-8"
    )
    with pytest.raises(bp.ScenarioError, match=r"leo\.csv.*line 34: 4 cells"):
        installed.first(tmp_path / "mine.toml")  # a wrong file is refused before a page is written
    (tmp_path / "leo.csv").write_bytes((SCENARIOS / "leo.csv").read_bytes())
    listed = web.known(installed.first(tmp_path / "mine.toml"))
    assert (listed["first"], listed["scenarios"][0]["file"]) == ("mine", "mine.toml")
    assert listed["scenarios"][0]["text"] == leo and "leo.csv" in listed["files"]


def test_a_stored_result_becomes_a_text(tmp_path: Path) -> None:
    bp.run(bp.Scenario.load("geo", {"duration": "5 s"})).save(tmp_path / "result")
    first = installed.first(tmp_path / "result")
    again = tmp_path / "again.toml"
    again.write_text(first.text, "utf-8")
    assert "[link.geo]" in first.text and "[[flow]]" in first.text
    assert bp.run(again).json["packets"] == bp.run(tmp_path / "result").json["packets"]


def test_explore_and_web_write_a_page(cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installed, "module", lambda: b"\0asm")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    ran = cli("explore", "leo", "--no-browser")
    place = tmp_path / "bentpipe" / "web" / "leo.html"
    assert (ran.exit_code, ran.stdout) == (0, f"open this file in a browser: {place}\n")
    assert place.read_text("utf-8").startswith("<!DOCTYPE html>")
    (tmp_path / "notes.txt").write_text("mine", "utf-8")
    ran = cli("web", "-o", str(tmp_path / "notes.txt"))
    assert (ran.exit_code, ran.stderr) == (
        2,
        f"bentpipe: {tmp_path / 'notes.txt'} exists and is not a page; choose another\n",
    )
    assert cli("web", "geoo", "-o", str(tmp_path / "x.html")).exit_code == 2


@pytest.mark.skipif(NODE is None, reason="needs node, which is not here")
@pytest.mark.skipif(not installed.MODULE.is_file(), reason="needs the compiled module; run make web")
@pytest.mark.parametrize("name", ["geo-star", "leo", "geo-web-load"])
def test_a_run_in_the_page_has_the_report_of_the_command_line(name: str) -> None:
    """Losses, a time line from a file, and short flows; `make web-check` compares all and the traces."""
    command = [str(NODE), "crates/web/bits.mjs", str(installed.MODULE), str(SCENARIOS / f"{name}.toml")]
    said = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, timeout=120)
    report: dict[str, Any] = json.loads(said.stdout)["report"]
    ours = dict(bp.run(name).json)
    assert report.pop("wall_s") == 0 and ours.pop("wall_s") >= 0
    assert report == {key: ours[key] for key in report}


@needs_page
@needs_browser
class TestInChromium:
    """The page as a reader has it."""

    @pytest.mark.parametrize("width", [1280, 768, 390])
    @pytest.mark.parametrize("dark", [False, True])
    def test_it_fits_and_loads_nothing(self, window: browser.Browser, width: int, *, dark: bool) -> None:
        for fragment in ("", "#scenario=leo", "#scenario=geo-leo-multipath"):
            opened(window, fragment, width, dark=dark)
            window.run("document.querySelectorAll('.group, .params').forEach(part => part.open = true)")
            assert (window.overflowing(), window.errors, window.requests) == ([], [], [])
            assert "packets simulated" in text_of(window, "state")

    def test_a_slider_changes_the_text_the_address_and_the_command(self, window: browser.Browser) -> None:
        opened(window)
        after(window, moved("Rate", 17))  # 5 Mbit/s: ten values a decade from 0.1 Mbit/s on
        assert 'rate = "5 Mbit/s"' in text_of(window, "text")
        assert text_of(window, "command") == "bentpipe run geo \\\n    --set 'link.geo.rate=5 Mbit/s'"
        packets = int(text_of(window, "state").split()[0].replace(",", ""))
        slower = bp.Scenario.load(SCENARIOS / "geo.toml", {"link.geo.rate": "5 Mbit/s"})
        assert packets == bp.run(slower).json["packets"]
        address = window.run("location.hash")
        opened(window, address)
        assert 'rate = "5 Mbit/s"' in text_of(window, "text")

    def test_flows_come_and_go(self, window: browser.Browser) -> None:
        opened(window)
        after(window, "document.getElementById('add').click()")
        assert len(tomllib.loads(text_of(window, "text"))["flow"]) == 2
        assert window.run("document.querySelectorAll('#flows .flow').length") == 2
        opened(window, window.run("location.hash"))  # an own text in the address
        assert len(tomllib.loads(text_of(window, "text"))["flow"]) == 2
        after(window, "document.querySelector('#flows .flow button').click()")
        assert [flow["cc"] for flow in tomllib.loads(text_of(window, "text"))["flow"]] == ["cubic"]

    def test_mistakes_are_shown_as_the_simulator_says_them(self, window: browser.Browser) -> None:
        opened(window, "#scenario=geo&flow.0.cc=renno")
        said = text_of(window, "wrong")
        assert said.startswith("geo.toml:") and "renno" in said and "did you mean" in said
        assert text_of(window, "title") == "geo, changed"
        after(window, "document.getElementById('original').click()")
        assert text_of(window, "wrong") == ""

    def test_sliders_stay_while_a_text_is_wrong(self, window: browser.Browser) -> None:
        opened(window)
        window.run("""(() => {
          const text = document.getElementById("text");
          text.focus();
          text.value = text.value.replace('"reno"', '"rno"');
          text.dispatchEvent(new Event("input"));
        })()""")
        until(window, "!document.getElementById('wrong').hidden")
        assert window.run("document.querySelectorAll('.slider.fixed').length") == 0
        assert window.errors == []

    def test_a_kept_run_stays_beside_the_next(self, window: browser.Browser) -> None:
        opened(window, "#scenario=geo&duration=20+s")
        window.run("document.getElementById('keep').click()")
        after(window, moved("Packet loss", 10))
        rows = window.run(
            "[...document.querySelectorAll('#summary th[scope=row]')].map(row => row.textContent)"
        )
        assert rows[:2] == ["reno", "reno, kept"]
        assert window.run("document.querySelectorAll('#chart-cwnd .legend button').length") == 3

    def test_a_zoom_is_that_of_all_charts(self, window: browser.Browser) -> None:
        opened(window)
        chart = "bentpipe.all.get(document.getElementById('chart-cwnd'))"
        window.run(f"void {chart}.show({{ x: [10, 20], y: [0, 500] }})")
        spans = window.run("[...bentpipe.all.values()].map(chart => chart.view('x'))")
        assert spans == [[10, 20]] * 4
