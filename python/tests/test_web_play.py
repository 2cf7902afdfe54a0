"""The player of the page that simulates, its probes, and the files that it saves."""

from __future__ import annotations

import base64
import io
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import browser
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from web_page import after, moved, needs_browser, needs_page, opened, text_of, until

import bentpipe as bp
from bentpipe.registry import SCENARIOS

pytestmark = [needs_page, needs_browser]

#: Losses, slow start, recovery, a full queue: 2 Mbit/s over 500 ms, 30 s.
LOSSY = "#scenario=geo&duration=30+s&link.geo.rate=2+Mbit%2Fs"
CHANGES = {"duration": "30 s", "link.geo.rate": "2 Mbit/s"}


def ours(cc: str = "reno", **record: Any) -> bp.Result:
    """The same run on the command line, with something recorded."""
    changes = CHANGES | {"flow.0.cc": cc, "record": record}
    return bp.run(bp.Scenario.load(SCENARIOS / "geo.toml", changes))


def click(window: browser.Browser, name: str) -> None:
    window.run(f"document.getElementById('{name}').click()")


def choose(window: browser.Browser, name: str, value: str) -> None:
    window.run(f"""(() => {{
      const select = document.getElementById({json.dumps(name)});
      select.value = {json.dumps(value)};
      select.dispatchEvent(new Event("change", {{ bubbles: true }}));
    }})()""")


def played(window: browser.Browser, at: float, of: float = 30) -> dict[str, Any]:
    """Pauses, goes to a time, and returns what is to be seen there."""
    if text_of(window, "play-go") == "Pause":
        click(window, "play-go")
    window.run(f"""(() => {{
      const slider = document.getElementById("play-time");
      slider.value = {round(2000 * at / of)};
      slider.dispatchEvent(new Event("input"));
    }})()""")
    until(window, f"Math.abs(JSON.parse(document.body.dataset.playing ?? '{{}}').at - {at}) < 1e-9")
    seen: dict[str, Any] = json.loads(window.run("document.body.dataset.playing"))["seen"]
    return seen


def open_player(window: browser.Browser, fragment: str = LOSSY, width: int = 1280) -> None:
    opened(window, fragment, width)
    window.run("void delete document.body.dataset.playing")
    click(window, "play-open")
    until(window, "document.body.dataset.playing")


def test_what_is_shown_is_what_the_simulator_records(window: browser.Browser) -> None:
    open_player(window)
    run = ours(interval="750 ms", links=True)
    for at in (3.0, 4.5, 6.0, 13.5, 24.0):
        seen = played(window, at)
        flow = run.trace.filter(pl.col("t_s") == at).row(0, named=True)
        links = run.link_trace.filter(pl.col("t_s") == at)
        waiting = links.filter(pl.col("link") == "geo/forward").item(0, "queue_packets")
        assert dict(seen["waiting"]).get(0, [0])[0] == waiting
        said = text_of(window, "play-said")
        assert f"in flight {flow['in_flight']:g}" in said
        # What has not been delivered is in the queue, on the way, or about to be acknowledged.
        assert seen["data"] + waiting + seen["acks"] <= 2 * flow["in_flight"] + 2
    assert window.errors == []


def test_going_back_shows_the_same_again(window: browser.Browser) -> None:
    open_player(window)
    first = played(window, 6.0), text_of(window, "play-said")
    played(window, 27.0)
    assert (played(window, 6.0), text_of(window, "play-said")) == first


def test_moments_are_those_of_the_run(window: browser.Browser) -> None:
    open_player(window)
    until(window, "document.getElementById('play-moments').options.length > 2")
    options = window.run(
        "[...document.getElementById('play-moments').options].map(one => [one.textContent, one.value])"
    )
    found = {words.split(": ", 1)[1]: float(value) for words, value in options[1:]}
    segments = ours(segments=True).segments
    first = segments.filter(pl.col("event") == "lost").item(0, "t_s")
    assert found["a full queue drops a packet"] == first
    resent = segments.filter(pl.col("event") == "resent").item(0, "t_s")
    assert found["a fast recovery begins"] == pytest.approx(resent, abs=1e-9)
    choose(window, "play-moments", str(first))
    until(window, f"Math.abs(JSON.parse(document.body.dataset.playing).at - {first}) < 0.1")


def test_keys_move_it(window: browser.Browser) -> None:
    open_player(window)
    choose(window, "play-speed", "1/10 of real time")
    played(window, 6.0)

    def key(name: str) -> None:
        window.run(f"""document.getElementById("play-go").dispatchEvent(
            new KeyboardEvent("keydown", {{ key: {json.dumps(name)}, bubbles: true, cancelable: true }}))""")

    key("ArrowRight")
    until(window, "Math.abs(JSON.parse(document.body.dataset.playing).at - 6.01) < 1e-9")
    key("ArrowLeft")
    key("ArrowLeft")
    until(window, "Math.abs(JSON.parse(document.body.dataset.playing).at - 5.99) < 1e-9")
    key(" ")
    until(window, "JSON.parse(document.body.dataset.playing).at > 6")
    assert text_of(window, "play-go") == "Pause"
    assert window.run("document.getElementById('play-said').getAttribute('aria-live')") == "off"
    key(" ")
    until(window, "document.getElementById('play-said').getAttribute('aria-live') === 'polite'")


def test_it_does_not_start_by_itself_for_whom_motion_disturbs(window: browser.Browser) -> None:
    opened(window, LOSSY)
    window.media(still=True)
    click(window, "play-open")
    until(window, "document.body.dataset.playing")
    assert text_of(window, "play-go") == "Play"
    window.media()


def test_another_run_takes_the_place_of_the_played_one(window: browser.Browser) -> None:
    open_player(window)
    played(window, 6.0)
    before = text_of(window, "play-said")
    after(window, moved("Rate", 17))
    until(window, f"document.getElementById('play-said').textContent !== {json.dumps(before)}")
    assert text_of(window, "play-said").startswith("At 6.000 s")
    click(window, "play-close")
    assert window.run("document.getElementById('play').hidden") is True


def test_a_click_in_a_chart_plays_from_there(window: browser.Browser) -> None:
    opened(window, LOSSY)
    offered = window.run("""(() => {
      const { over } = bentpipe.all.get(document.getElementById("chart-cwnd")).u;
      const box = over.getBoundingClientRect();
      const where = { clientX: box.left + box.width / 2, clientY: box.top };
      for (const type of ["mousedown", "click"])
        over.dispatchEvent(new MouseEvent(type, { ...where, bubbles: true }));
      const button = document.querySelector(".from-here"), words = button.textContent;
      button.click();
      return words;
    })()""")
    assert offered.startswith("Play from 1")
    at = float(offered.split()[2])
    until(window, "document.body.dataset.playing")
    until(window, f"Math.abs(JSON.parse(document.body.dataset.playing).at - {at}) < 2")


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize(
    "fragment", ["#scenario=leo", "#scenario=geo-leo-multipath", "#scenario=geo-web-load"]
)
def test_it_fits(window: browser.Browser, fragment: str, width: int, *, dark: bool) -> None:
    opened(window, fragment, width, dark=dark)
    window.run("void delete document.body.dataset.playing")
    window.run("document.querySelectorAll('#save, #probes').forEach(part => part.open = true)")
    click(window, "play-open")
    until(window, "document.body.dataset.playing")
    until(window, "document.getElementById('probe-said').textContent !== 'Simulating.'")
    assert (window.overflowing(), window.errors, window.requests) == ([], [], [])
    assert text_of(window, "play-wait") == ""


def saved(window: browser.Browser, button: str) -> tuple[str, bytes]:
    """The name and the bytes of what a button saves."""
    window.run("""(() => {
      window.kept = null;
      window.made ??= URL.createObjectURL;
      URL.createObjectURL = blob => { window.kept = { blob }; return window.made.call(URL, blob); };
      document.addEventListener("click", event => {
        if (event.target.download) { window.kept.name = event.target.download; event.preventDefault(); }
      }, true);
      HTMLAnchorElement.prototype.click = function () { window.kept.name = this.download; };
    })()""")
    click(window, button)
    until(window, "window.kept?.name")
    content: str = window.run("""new Promise(done => {
      const reader = new FileReader();
      reader.onload = () => done(reader.result.split(",")[1] ?? "");
      reader.readAsDataURL(window.kept.blob);
    })""")
    return window.run("window.kept.name"), base64.b64decode(content)


def test_packets_are_the_bytes_of_the_command_line(window: browser.Browser, tmp_path: Path) -> None:
    opened(window, LOSSY)
    window.run("document.getElementById('save').open = true")
    until(window, "document.getElementById('save-at').options.length === 3")
    scenario = bp.Scenario.load(SCENARIOS / "geo.toml", CHANGES)
    for at in ("sender", "geo"):
        choose(window, "save-at", at)
        name, content = saved(window, "save-packets")
        file = tmp_path / f"{at}.pcapng"
        result = bp.run(scenario, pcap=bp.Capture(file, at))
        assert name == f"geo-seed1-{at}.pcapng"
        assert content == file.read_bytes()
        if shutil.which("tshark") and at == "sender":
            packets = ["tshark", "-r", str(file), "-Y", "tcp.len > 0", "-T", "fields", "-e", "tcp.len"]
            said = subprocess.run(packets, check=True, capture_output=True, text=True).stdout
            assert len(said.split()) == result.flows.item(0, "sent_packets")


def test_tables_are_those_of_python(window: browser.Browser) -> None:
    opened(
        window,
        LOSSY
        + "&flow.0.cc=bbr&record=%7B+interval+%3D+%22500+ms%22%2C+links+%3D+true%2C+probes+%3D+true+%7D",
    )
    run = ours(interval="500 ms", links=True, probes=True, cc="bbr")
    for button, ending, frame in (
        ("save-trace", "flows", run.trace),
        ("save-link-trace", "links", run.link_trace),
        ("save-probes", "probes", run.probes),
    ):
        name, content = saved(window, button)
        assert name == f"geo-seed1-{ending}.csv"
        read = pl.read_csv(io.BytesIO(content), schema_overrides=frame.schema)
        assert frame.height > 50
        assert_frame_equal(read, frame, check_exact=True)


def test_charts_are_pictures_with_their_origin(window: browser.Browser) -> None:
    opened(window, LOSSY)
    name, content = saved(window, "save-svg")
    assert name == "geo-seed1-charts.svg"
    root = ElementTree.fromstring(content)
    words = [text.text or "" for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"time, s", "congestion window, segments", "queue, packets", "reno", "capacity"} <= set(words)
    assert words[0] == "Goodput. What arrives in order, mean over a second or more."
    assert any("Seed 1" in word for word in words)
    assert any("link.geo.rate=2 Mbit/s" in word for word in words)
    choose(window, "save-chart", "rtt")
    name, content = saved(window, "save-png")
    assert name == "geo-seed1-rtt.png" and content.startswith(b"\x89PNG")
    assert int.from_bytes(content[16:20]) == 1520


def test_a_scenario_is_saved_as_it_runs(window: browser.Browser) -> None:
    opened(window, LOSSY)
    name, content = saved(window, "download")
    assert (name, content.decode()) == ("geo.toml", text_of(window, "text"))


def test_a_probe_has_the_values_that_python_records(window: browser.Browser) -> None:
    opened(window, LOSSY + "&flow.0.cc=bbr")
    window.run("document.getElementById('probes').open = true")
    until(window, "document.getElementById('probe-name').options.length > 0")
    names = window.run("[...document.getElementById('probe-name').options].map(one => one.textContent)")
    probes = ours("bbr", interval="50 ms", probes=True).probes
    assert names == probes["probe"].unique(maintain_order=True).to_list()
    choose(window, "probe-name", names[-1])
    shown = window.run(
        "bentpipe.all.get(document.getElementById('chart-probe')).given.curves[0].y.slice(0, 600)"
    )
    assert shown == probes.filter(pl.col("probe") == names[-1])["value"].to_list()[:600]


def test_a_controller_of_the_reader_is_played_too(window: browser.Browser) -> None:
    """It halves its window at a loss, as Reno does."""
    open_player(window, LOSSY + "&flow.0.cc=javascript:Mine")
    until(window, "document.getElementById('play-moments').options.length > 2")
    played(window, 6.0)
    assert "window" in text_of(window, "play-said") and text_of(window, "play-wait") == ""
    assert "a full queue drops a packet" in text_of(window, "play-moments")
    assert window.errors == []
