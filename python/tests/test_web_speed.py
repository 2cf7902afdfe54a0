"""How soon the page is there, and how soon it has drawn what a slider asks for (docs/web.md).

The goals are those of a calm machine with two processors. Elsewhere BENTPIPE_SLOWER multiplies them. What was
measured is printed (`pytest -rP`).
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Sequence

import browser
import pytest
from web_page import PAGE, needs_page, opened, until

pytestmark = [
    needs_page,
    pytest.mark.slow,
    pytest.mark.skipif(browser.CHROMIUM is None or bool(browser.FIREFOX), reason="needs Chromium"),
]

SLOWER = float(os.environ.get("BENTPIPE_SLOWER", "1"))
MOVES = 21

#: Remembers when a page first had sliders, and when the charts of its first run.
WATCH = """new MutationObserver(() => {
  window.times ??= {};
  const now = performance.now();
  if (document.querySelector(".slider")) times.controls ??= now;
  if (document.body?.dataset.runs) times.run ??= now;
}).observe(document, { subtree: true, childList: true, attributes: true });"""

#: Moves a slider by one, to and fro. Gives the time until its charts are seen, and what the run took of it.
MOVE = """new Promise(done => {
  const rows = [...document.querySelectorAll(".slider")];
  const input = rows.find(row => row.textContent.startsWith("Packet loss")).querySelector("input");
  const began = performance.now();
  const drawn = new MutationObserver(() => {
    drawn.disconnect();
    done([performance.now() - began, +document.body.dataset.simulated]);
  });
  drawn.observe(document.body, { attributeFilter: ["data-runs"] });
  input.value = +input.value + (+input.value > 0 ? -1 : 1);
  input.dispatchEvent(new Event("input"));
})"""


def said(what: str, times: Sequence[float], goal: float | None = None) -> float:
    """The median of some times in milliseconds, which it prints."""
    median = statistics.median(times)
    print(
        f"{what}: {median:.0f} ms ({min(times):.0f} to {max(times):.0f}){f'; goal {goal} ms' if goal else ''}"
    )
    return median


def test_it_is_ready_soon(window: browser.Browser) -> None:
    window.ask("Page.addScriptToEvaluateOnNewDocument", source=WATCH)
    times = []
    for _ in range(7):
        window.go("about:blank")
        window.go(PAGE.as_uri())
        until(window, "document.body?.dataset.runs")
        times.append(window.run("window.times"))
    said("from navigation to the charts of the first run", [one["run"] for one in times])
    assert said("from navigation to controls", [one["controls"] for one in times], 300) < 300 * SLOWER


@pytest.mark.parametrize(("rate", "goal"), [(20, 80), (100, 180)])
def test_a_slider_is_followed_soon(window: browser.Browser, rate: int, goal: int) -> None:
    opened(window, f"#scenario=geo&duration=60+s&link.geo.rate={rate}+Mbit/s&flow.0.count=3")
    for _ in range(MOVES):  # until then V8 compiles
        window.run(MOVE)
    times, runs = zip(*(window.run(MOVE) for _ in range(MOVES)), strict=True)
    words = f"3 flows, GEO, {rate} Mbit/s, 60 s"
    said(f"run alone, {words}", runs)
    assert said(f"from slider to charts, {words}", times, goal) < goal * SLOWER
