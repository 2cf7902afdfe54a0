"""What tests of the page that simulates share: the page in a browser, and what a reader does there."""

from __future__ import annotations

import json
import time
from pathlib import Path

import browser
import pytest

PAGE = Path(__file__).parents[2] / "out" / "web" / "bentpipe.html"

needs_page = pytest.mark.skipif(not PAGE.is_file(), reason="needs out/web/bentpipe.html; run make web")
needs_browser = pytest.mark.skipif(
    not (browser.FIREFOX or browser.CHROMIUM), reason="needs Chromium, which is not here"
)


def opened(window: browser.Browser, fragment: str = "", width: int = 1280, *, dark: bool = False) -> None:
    """Opens the page, and waits for its first run or its first message."""
    window.open("about:blank")
    window.open(PAGE.as_uri() + fragment, width, dark=dark)
    until(window, "document.body.dataset.runs || !document.getElementById('wrong').hidden")


def until(window: browser.Browser, condition: str) -> None:
    end = time.monotonic() + 60
    while not window.run(condition):
        assert time.monotonic() < end, condition
        time.sleep(0.05)


def after(window: browser.Browser, code: str) -> None:
    """Does something on the page, and waits for the run that follows."""
    runs = window.run("document.body.dataset.runs")
    window.run(code)
    until(window, f"(document.body.dataset.runs ?? null) !== {json.dumps(runs)}")


def text_of(window: browser.Browser, name: str) -> str:
    what = "value" if name in ("text", "own") else "textContent"
    found: str = window.run(f"document.getElementById('{name}').{what}")
    return found


def moved(label: str, value: int) -> str:
    """Moves the first slider with this label."""
    return f"""(() => {{
      const rows = [...document.querySelectorAll(".slider")];
      const input = rows.find(row => row.textContent.startsWith({label!r})).querySelector("input");
      input.value = {value};
      input.dispatchEvent(new Event("input"));
    }})()"""


def written(window: browser.Browser, name: str, text: str) -> None:
    """Writes a text into an area of the page."""
    window.run(f"""(() => {{
      const area = document.getElementById({json.dumps(name)});
      area.value = {json.dumps(text)};
      area.dispatchEvent(new Event("input"));
    }})()""")
