"""A controller that the user writes in JavaScript, in the page that simulates."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterator
from typing import Any

import browser
import pytest
from web_page import after, needs_browser, needs_page, opened, text_of, until, written

import bentpipe as bp

pytestmark = [needs_page, needs_browser]

USED = "#scenario=geo-star&flow.0.cc=javascript:Mine"
HEAD = "class Mine extends Controller {\n  "
END = "\n  on_congestion() {}\n}"


def code(window: browser.Browser, body: str) -> None:
    """Makes this the code of the page, which a flow uses."""
    written(window, "own", body)
    until(window, "!document.getElementById('wrong').hidden")


class Mine(bp.Controller):
    """The example of the page, in Python (docs/lab.md, part 5)."""

    def on_ack(self, flow: dict[str, Any], ack: dict[str, Any]) -> None:  # type: ignore[override]
        if flow["phase"] == "recovery" or not flow["cwnd_limited"]:
            return
        segments = (ack["acked"] - ack["uncounted"]) / flow["mss"]
        self.cwnd += segments if self.cwnd < self.ssthresh else segments / self.cwnd

    def on_congestion(self, flow: dict[str, Any], why: str) -> None:  # type: ignore[override]
        if self.cwnd > 1:
            self.ssthresh = max(self.cwnd / 2, 2)
        self.cwnd = 1 if why == "timeout" else self.ssthresh


@pytest.fixture(autouse=True)
def nothing_kept(window: browser.Browser) -> Iterator[None]:
    """The code of a test is not that of the next."""
    yield
    window.run("sessionStorage.clear()")


class TestOwn:
    """The editor, the class in a run, and its mistakes."""

    @pytest.mark.parametrize("name", ["geo-star", "geo"])
    def test_the_example_does_what_the_class_in_python_does(self, window: browser.Browser, name: str) -> None:
        opened(window, f"#scenario={name}")
        after(window, "document.getElementById('own-use').click()")
        assert 'cc = "javascript:Mine"' in text_of(window, "text")
        assert text_of(window, "wrong") == ""
        loaded = bp.Scenario.load(name)
        flow = dataclasses.replace(loaded.flows[0], cc=Mine)
        report = bp.run(dataclasses.replace(loaded, flows=[flow])).json
        packets = int(text_of(window, "state").split()[0].replace(",", ""))
        assert packets == report["packets"]
        chosen = "document.querySelector('#flows select').selectedOptions[0].textContent"
        assert window.run(chosen) == "Mine, your own"

    def test_what_a_class_sets_is_what_the_sender_does(self, window: browser.Browser) -> None:
        opened(window)
        written(
            window,
            "own",
            "class Ten extends Controller {\n"
            "  constructor(mss, initial_window) { super(mss, initial_window); this.cwnd = 10; }\n"
            "  on_ack(flow, ack) { this.rtt = flow.rtt_min_s; this.cwnd = ack.rtt_s === null ? 1 : 10; }\n"
            "  on_congestion() {}\n}\n",
        )
        until(
            window, "[...document.querySelectorAll('#flows option')].some(one => one.value.endsWith(':Ten'))"
        )
        after(window, "document.getElementById('own-use').click()")
        goodput = window.run("document.querySelector('#summary td:nth-child(3)').textContent")
        floor = bp.run("geo").json["flows"][0]["rtt_min_s"]
        # Ten segments of 1448 bytes in each round trip.
        assert math.isclose(float(goodput), 10 * 1448 * 8e-6 / floor, rel_tol=0.05)

    @pytest.mark.parametrize(
        ("body", "said"),
        [
            (
                HEAD + "on_ack(flow) {\n    flow.rtt.x;\n  }" + END,
                r"Mine.on_ack raised TypeError.*\(line 3\) at 0\.\d+ s in flow star",
            ),
            (
                "function helper(x) {\n  throw new RangeError('too much');\n}\n"
                + HEAD
                + "on_ack() { helper(1); }"
                + END,
                r"Mine.on_ack raised RangeError: too much \(line 2\)",
            ),
            (
                HEAD + "on_ack(flow, ack) { this.cwnd += ack.bytes; }" + END,
                r"Mine.cwnd is NaN after on_ack at .* must be a number of segments",
            ),
            (
                HEAD + "on_ack() { this.cwnd = -3; }" + END,
                r"Mine.cwnd is -3 after on_ack",
            ),
            (
                HEAD + "on_ack() { this.pacing_rate = '5 Mbit/s'; }" + END,
                r'Mine.pacing_rate is "5 Mbit/s" after on_ack .* bytes per second',
            ),
            ("class Mine extends Controller {\n  on_ack() {}\n}", r"Mine does not define on_congestion"),
            (
                "class Mine extends Controller {\n  on_ack() {\n    let = 5;\n  }\n}",
                r"SyntaxError.*\(line 3 of your code\)",
            ),
            ("class Mine extends Controller {\n  on_ack() {\n", r"SyntaxError.*\(line 3 of your code\)"),
            (
                "const x = 1;\nx.y.z = 2;\nclass Mine extends Controller {}",
                r"TypeError.*\(line 2 of your code\)",
            ),
            ("class Yours extends Controller { on_ack() {} on_congestion() {} }", r"no class Mine"),
        ],
    )
    def test_a_mistake_is_named_with_its_line(self, window: browser.Browser, body: str, said: str) -> None:
        opened(window, USED)
        code(window, body)
        assert re.search(said, text_of(window, "wrong")), text_of(window, "wrong")
        # What is right again runs again.
        after(window, "document.getElementById('own-example').click()")
        assert text_of(window, "wrong") == ""

    def test_a_call_that_does_not_come_back_ends(self, window: browser.Browser) -> None:
        opened(window, USED)
        code(window, HEAD + "on_ack() { for (;;); }" + END)
        assert "not come back from a call within 2 s" in text_of(window, "wrong")
        after(window, "document.getElementById('original').click()")
        assert text_of(window, "wrong") == ""

    def test_code_stays_in_the_tab_and_never_in_a_link(self, window: browser.Browser) -> None:
        opened(window, USED)
        assert "does not hold the code" in text_of(window, "only-here")
        assert "docs/own-controller.md" in text_of(window, "by-command")
        assert window.run("document.getElementById('command').hidden")
        mine = "class Mine extends Controller { on_ack() { this.cwnd = 4; } on_congestion() {} }"
        area = "document.getElementById('own')"
        written(window, "own", mine)
        until(window, "!document.getElementById('summary').textContent.includes('0.305')")
        assert "extends" not in window.run("location.href")
        opened(window, window.run("location.hash"))
        kept = window.run("(() => { try { return sessionStorage.length; } catch { return null; } })()")
        assert (window.run(f"{area}.value") == mine) is bool(kept)
        assert (window.errors, window.requests) == ([], [])
        opened(window)
        assert window.run("document.getElementById('only-here').hidden")
