"""A controller that the user writes in JavaScript, in the page that simulates."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Iterator
from typing import Any

import browser
import pytest
from web_page import after, moved, needs_browser, needs_page, opened, text_of, until, written

import bentpipe as bp

pytestmark = [needs_page, needs_browser]

USED = "#scenario=geo-star&flow.0.cc=javascript:Mine"
HEAD = "class Mine extends Controller {\n  "
END = "\n  on_congestion() {}\n}"
RATE = "document.getElementById('text').value.match(/rate = .*/)[0]"


def code(window: browser.Browser, body: str) -> None:
    """Makes this the code of the page, which a flow uses."""
    written(window, "own", body)
    until(window, "!document.getElementById('wrong').hidden")


def changed(window: browser.Browser, body: str) -> None:
    """Makes this the code of the page, and waits for the run that follows."""
    area = f"Object.assign(document.getElementById('own'), {{ value: {json.dumps(body)} }})"
    after(window, f"{area}.dispatchEvent(new Event('input'))")
    assert text_of(window, "wrong") == ""


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
        window.run("document.getElementById('own-use').click()")
        until(window, "document.getElementById('text').value.includes('javascript:Ten')")
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
            (
                HEAD
                + "backoff() { return null; }\n  on_ack(flow, ack) { this.cwnd += ack.acked / flow.mss; }"
                + END,
                r"Mine.backoff\(\) is null after backoff .*\[cwnd, ssthresh\].*without backoff halves",
            ),
            (
                HEAD + "backoff() {}\n  on_ack(flow, ack) { this.cwnd += ack.acked / flow.mss; }" + END,
                r"Mine.backoff\(\) is undefined after backoff",
            ),
            (
                HEAD + "static call_limit_s = 'long';\n  on_ack() {}" + END,
                r'Mine.call_limit_s is "long"; it must be a number of seconds above 0',
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

    @pytest.mark.parametrize("fault", ["throw new Error('no')", "for (;;);"])
    def test_a_failed_run_keeps_the_text_and_what_is_changed_afterwards(
        self, window: browser.Browser, fault: str
    ) -> None:
        opened(window, USED)
        code(window, HEAD + f"on_ack() {{ {fault}; }}" + END)
        said = text_of(window, "wrong")
        # A slider, which the old text does not know; then a flow, which goes on from the newest text.
        before = window.run(RATE)
        window.run(moved("Rate", 3))
        until(window, f"{RATE} !== {json.dumps(before)} && !document.getElementById('wrong').hidden")
        moved_to = window.run(RATE)
        assert text_of(window, "wrong").split(" at ")[0] == said.split(" at ")[0]
        assert "The charts show the run before" in text_of(window, "state")
        window.run("document.getElementById('add').click()")
        until(window, "document.getElementById('text').value.split('[[flow]]').length === 3")
        assert window.run(RATE) == moved_to
        after(window, "document.getElementById('own-example').click()")
        assert (window.run(RATE), text_of(window, "wrong")) == (moved_to, "")

    def test_a_run_that_is_stopped_keeps_its_text(self, window: browser.Browser) -> None:
        opened(window, USED)
        written(
            window,
            "own",
            HEAD + "on_ack() { const at = performance.now() + 20;\n while (performance.now() < at); }" + END,
        )
        until(window, "!document.getElementById('stop').hidden")
        before = window.run(RATE)
        window.run(moved("Rate", 3))
        until(window, "!document.getElementById('stop').hidden")
        window.run("document.getElementById('stop').click()")
        until(window, "document.getElementById('state').textContent.startsWith('Stopped.')")
        until(window, f"{RATE} !== {json.dumps(before)}")
        assert text_of(window, "wrong") == ""

    def test_the_limit_is_that_of_one_call(self, window: browser.Browser) -> None:
        """Many slow calls are no endless loop, and a class may allow itself more."""
        opened(window, USED)
        slow = "const at = performance.now() + {}; while (performance.now() < at);"
        mine = "calls = 0;\n  on_ack() { if (this.calls++ < 200) { " + slow.format(30) + " } }"
        changed(window, HEAD + mine + END)
        own = "static call_limit_s = 4;\n  calls = 0;\n  on_ack() { if (!this.calls++) { %s } }"
        changed(window, HEAD + own % slow.format(3000) + END)
        code(window, HEAD + own % "for (;;);" + END)
        assert "within 4 s" in text_of(window, "wrong")

    def test_methods_may_be_fields(self, window: browser.Browser) -> None:
        opened(window, USED)
        example = text_of(window, "own")
        packets = text_of(window, "state").split(" in ")[0]
        fields = example.replace("on_ack(flow, ack) {", "on_ack = (flow, ack) => {")
        fields = fields.replace("on_congestion(flow, why) {", "on_congestion = (flow, why) => {")
        assert fields.count("=>") == 2
        changed(window, fields)
        assert text_of(window, "state").split(" in ")[0] == packets

    @pytest.mark.parametrize("name", ["reno", "Reno"])
    def test_a_class_with_the_name_of_another_controller_is_told_apart(
        self, window: browser.Browser, name: str
    ) -> None:
        opened(window, f"#scenario=geo-star&flow.0.name={name}&flow.0.cc=reno")
        cells = (
            "[...document.querySelectorAll('#summary tbody tr:first-child > *')]"
            ".slice(0, 2).map(one => one.textContent)"
        )
        assert window.run(cells)[:2] == [name, "Reno"]
        changed(window, text_of(window, "own").replace("Mine", name))
        after(window, "document.getElementById('own-use').click()")
        assert window.run(cells)[:2] == [f"{name}, your own", f"{name}, your own"]
        legend = "document.querySelector('#chart-cwnd .legend').textContent"
        assert f"{name}, your own" in window.run(legend)

    def test_probes_of_a_class_have_a_chart(self, window: browser.Browser) -> None:
        opened(window, USED)
        probes = "probes() { return { window: this.cwnd, half: this.cwnd / 2, none: null }; }\n  "
        changed(window, text_of(window, "own").replace("on_ack(", probes + "on_ack("))
        window.run("document.getElementById('probes').open = true")
        until(window, "document.getElementById('probe-name').options.length > 0")
        names = window.run("[...document.getElementById('probe-name').options].map(one => one.textContent)")
        assert names == ["window", "half", "none"]
        values = {}
        for name in names:
            window.run(f"""(() => {{
              const chosen = document.getElementById("probe-name");
              chosen.value = "{name}";
              chosen.dispatchEvent(new Event("change"));
            }})()""")
            values[name] = window.run(
                "bentpipe.all.get(document.getElementById('chart-probe')).given.curves[0].y"
            )
        assert len(values["window"]) > 100 and set(values["none"]) == {None}
        assert values["window"] == [2 * half for half in values["half"]]
        assert len(set(values["window"])) > 50
        code_of = text_of(window, "own").replace("none: null", "none: 'x'")
        written(window, "own", code_of)
        until(window, "document.getElementById('probe-said').textContent.includes('Mine.probes()')")
        assert "an object of numbers by name" in text_of(window, "probe-said")

    def test_what_a_link_runs_is_said(self, window: browser.Browser) -> None:
        """The code of whoever opens it: the example, an own class, or none."""
        opened(window, USED)
        assert "in your own editor below runs, which is the example" in text_of(window, "only-here")
        changed(window, text_of(window, "own") + "// mine")
        assert "whoever opens it runs the class of that name" in text_of(window, "only-here")
        opened(window, "#scenario=geo-star&flow.0.cc=javascript:Theirs")
        assert "names Theirs" in text_of(window, "only-here")
        assert "has no such class" in text_of(window, "only-here")

    def test_code_stays_in_the_tab_and_never_in_a_link(self, window: browser.Browser) -> None:
        opened(window, USED)
        assert "holds no code" in text_of(window, "only-here")
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
