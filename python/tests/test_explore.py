"""Explore: what the sliders say, the cells without a server, the server, and the page in a browser."""

from __future__ import annotations

import http.client
import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from pathlib import Path
from typing import Any

import browser
import pytest

import bentpipe as bp
from bentpipe.explore.shown import CHARTS, Setting, frame, shown

needs_marimo = pytest.mark.skipif(
    importlib.util.find_spec("marimo") is None, reason="needs marimo, which is not here"
)
needs_chromium = pytest.mark.skipif(browser.CHROMIUM is None, reason="needs Chromium, which is not here")
QUICK = {"duration_s": 5.0, "rate_mbps": 2.0}


def given(setting: Setting) -> dict[str, Any]:
    """What the page is given for a setting."""
    element = shown(setting)
    assert element.startswith('<div class="bentpipe-data" hidden data-given="')
    data: dict[str, Any] = json.loads(unescape(element.split('data-given="')[1].removesuffix('"></div>')))
    return data


def test_every_chart_has_its_place_and_a_curve_of_each_algorithm() -> None:
    data = given(Setting(algorithms=("cubic", "vegas"), **QUICK))
    for name, label, *_ in CHARTS:
        chart = data[f"explore-{name}"]
        assert [curve["label"] for curve in chart["curves"]] == ["CUBIC", "Vegas"]
        assert chart["y"]["label"] == label and f'id="explore-{name}"' in frame()
        assert all(len(curve["x"]) >= 4 and max(curve["x"]) <= 5 for curve in chart["curves"])


def test_the_numbers_are_those_of_the_same_run() -> None:
    setting = Setting(algorithms=("cubic",), **QUICK)
    flow = bp.run(setting.scenarios()[0]).json["flows"][0]
    table = given(setting)["explore-table"]
    assert f">{flow['goodput_bps'] * 1e-6:.3g}</td>" in table
    assert f">{flow['rtt_p95_s'] * 1e3:.4g}</td>" in table
    assert "One run each, seed 1" in table


def test_sliders_reach_the_scenario() -> None:
    setting = Setting(5, 100, 0.1, 2, ("reno",), duration_s=10, seed=7)
    table = setting.scenarios()[0].to_dict()
    link = table["link"]["link"]
    assert (link["rate"], link["delay"], link["queue"]["limit"]) == ("5 Mbit/s", "50 ms", "2 bdp")
    assert (link["loss"], table["duration"], table["seed"]) == (
        {"kind": "packet-error", "rate": 0.001},
        "10 s",
        7,
    )
    assert "loss" not in Setting(loss_percent=0).scenarios()[0].to_dict()["link"]["link"]


def test_a_link_of_ones_own_takes_the_place_of_the_sliders() -> None:
    setting = Setting(link="leo", algorithms=("cubic", "vegas"), duration_s=5, seed=3)
    first, second = (scenario.to_dict() for scenario in setting.scenarios())
    assert first["link"] == second["link"] == bp.Scenario.load("leo").to_dict()["link"]
    assert [flow["cc"] for flow in [*first["flow"], *second["flow"]]] == ["cubic", "vegas"]
    assert (first["duration"], first["seed"]) == ("5 s", 3)
    data = given(setting)
    assert "Link used, %" in data["explore-table"]
    assert max(data["explore-queue"]["curves"][0]["y"]) > 0
    assert setting.command() == "bentpipe compare --link leo --for '5 s' --cc cubic,vegas"


@needs_marimo
def test_a_relay_is_refused_before_the_page_is_served(cli) -> None:
    ran = cli("explore", "geo-pep", "--no-browser")
    assert (ran.exit_code, ran.stdout) == (2, "")
    assert ran.stderr.startswith("bentpipe: explore shows connections over one path, without a relay")


def test_all_at_once_share_the_link() -> None:
    data = given(Setting(algorithms=("cubic", "bbr"), together=True, **QUICK))
    rows = [curve["y"] for curve in data["explore-goodput"]["curves"]]
    assert len(rows) == 2 and all(a + b <= 2.0001 for a, b in zip(*rows, strict=True))
    assert [curve["label"] for curve in data["explore-queue"]["curves"]] == ["all"]
    assert (
        "Jain's index" in unescape(data["explore-table"]) and "bentpipe compare" not in data["explore-more"]
    )


def test_without_an_algorithm_it_says_so() -> None:
    assert given(Setting(algorithms=()))["explore-table"] == "<p>Choose an algorithm.</p>"


def test_the_command_that_is_shown_works(cli) -> None:
    import shlex

    setting = Setting(algorithms=("cubic",), **QUICK)
    words = shlex.split(setting.command())
    assert words[0] == "bentpipe"
    ran = cli(*words[1:], "--json", "--seeds", "1")
    assert ran.exit_code == 0
    assert json.loads(ran.stdout)["rows"][0]["cc"] == "cubic"


def test_where_marimo_is_absent_one_line_says_so(cli, monkeypatch) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "marimo" else real(name))
    ran = cli("explore", "--no-browser")
    assert (ran.exit_code, ran.stdout) == (2, "")
    assert ran.stderr == ("bentpipe: explore needs the package marimo: pip install marimo\n")


@needs_marimo
def test_the_cells_run_without_a_server() -> None:
    """In a process of their own: marimo leaves threads behind."""
    code = (
        "from bentpipe.explore import shown as of\nof.given = 'leo'\n"
        "from bentpipe.explore.app import app\n"
        "_, names = app.run()\nsetting = names['setting']\n"
        "same = names['data'] == of.shown(setting)\n"
        "print(setting.rate_mbps, setting.link, sorted(setting.algorithms), same)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert (ran.returncode, ran.stdout) == (0, "10.0 leo ['bbr', 'cubic', 'reno'] True\n"), ran.stderr


@contextmanager
def serving(home: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The server in a process of its own, and the address that it says."""
    code = "import sys; from bentpipe.cli import main; sys.argv[0] = 'bentpipe'; main()"
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-c", code, "explore", "--no-browser", "--port", str(port)],
        env={**os.environ, "HOME": str(home), "XDG_CONFIG_HOME": str(home)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        # Whoever runs the tests in the background may have switched Ctrl-C off.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line == f"http://127.0.0.1:{port}/ shows the link; Ctrl-C ends it\n"
        yield process, line.split()[0]
    finally:
        process.kill()
        process.communicate()


def ask(address: str, host: str | None = None, path: str = "/", **headers: str) -> tuple[int, str]:
    """The status and the text of the page, asked for by this name of the machine."""
    there = address.removeprefix("http://").rstrip("/")
    connection = http.client.HTTPConnection(there, timeout=60)
    try:
        connection.request("GET", path, headers={"Host": host or there, **headers})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


@needs_marimo
def test_the_server_serves_this_machine_only_and_ends_with_ctrl_c(tmp_path, cli) -> None:
    with serving(tmp_path) as (process, address):
        status, page = ask(address)
        assert status == 200 and "uPlot" in page and "<title>bentpipe explore</title>" in page
        assert ask(address, "elsewhere.example")[0] == 400
        # A page from elsewhere opens a WebSocket here: RFC 6455 section 4.2.2, a foreign Origin is refused.
        socket_of = {
            "Connection": "Upgrade",
            "Upgrade": "websocket",
            "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
        }
        place = "/ws?session_id=s_000000"
        assert ask(address, path=place, Origin="http://evil.example", **socket_of)[0] == 403
        assert ask(address, Origin="http://evil.example")[0] == 403
        assert ask(address, Origin=address.rstrip("/"))[0] == 200
        port = int(address.rstrip("/").rpartition(":")[2])
        with pytest.raises(OSError):
            socket.create_connection(("127.0.0.2", port), timeout=5)
        again = cli("explore", "--no-browser", "--port", port)
        assert again.exit_code == 2 and f"--port {port}: Address already in use" in again.stderr
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
        assert process.stdout is not None and process.stdout.read() == ""


@needs_marimo
@needs_chromium
def test_the_page_fits_loads_nothing_from_elsewhere_and_follows_a_slider(tmp_path) -> None:
    drawn = "document.querySelectorAll('figure.chart[data-ms]').length === 4"
    table = "document.querySelector('#explore-table').innerText"
    with serving(tmp_path / "home") as (process, address), browser.browser(tmp_path / "chromium") as window:
        for width, dark in ((1280, False), (390, True)):
            window.open(address, width, dark=dark)
            wait(window, drawn)
            elsewhere = [url for url in window.requests if not url.startswith(address)]
            assert (window.overflowing(), window.errors, elsewhere) == ([], [], [])
            assert window.run("document.body.classList.contains('dark')") == dark
            tops = "['table', 'goodput', 'more'].map(n => document.querySelector(`#explore-${n}`).offsetTop)"
            assert window.run(f"{tops}.every((top, i, all) => i === 0 || top > all[i - 1])")
        before = window.run(table)
        slider = "document.querySelector('marimo-slider').shadowRoot.querySelector('[role=slider]')"
        window.run(f"{slider}.focus()")
        for kind in ("keyDown", "keyUp"):
            window.ask("Input.dispatchKeyEvent", type=kind, key="ArrowRight", code="ArrowRight",
                       windowsVirtualKeyCode=39)  # fmt: skip
        wait(window, f"{table} !== {json.dumps(before)}")
        assert window.run(drawn) and window.errors == []
        # marimo may put the figures there anew at any time.
        window.run("""(() => {
          const old = document.getElementById("explore-rtt"), made = old.cloneNode(true);
          made.removeAttribute("data-ms");
          made.querySelectorAll(".plot, .legend").forEach(part => part.replaceChildren());
          old.replaceWith(made);
        })()""")
        wait(window, drawn)
        assert window.run("document.querySelectorAll('#explore-rtt canvas').length") == 1
        process.send_signal(signal.SIGINT)  # with a page that is open
        assert process.wait(20) == 0


def wait(window: browser.Browser, what: str) -> None:
    until = time.monotonic() + 60
    while not window.run(what):
        assert time.monotonic() < until, what
        time.sleep(0.05)
