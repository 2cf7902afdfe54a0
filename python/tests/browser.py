"""A headless Chromium that looks at pages, spoken to over a pipe (Chrome DevTools Protocol).

Where BENTPIPE_FIREFOX names the program of a Firefox, that is the browser (firefox.py).
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

FIREFOX = os.environ.get("BENTPIPE_FIREFOX")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

#: What reaches beyond the window of the document, what scrolls sideways, and text that its own box cuts off.
#: The rows of data under a chart and the lines of a terminal may scroll.
OVERFLOWING = """(() => {
  const root = document.documentElement, wide = root.clientWidth, found = new Set();
  const words = e => `${e.tagName} ${(e.innerText || "").slice(0, 60)}`;
  if (root.scrollWidth > wide) found.add(`the document is ${root.scrollWidth} wide`);
  const scroller = e => {
    for (; e && e !== document.body; e = e.parentElement)
      if (/auto|scroll/.test(getComputedStyle(e).overflowX) && e.scrollWidth > e.clientWidth) return e;
    return null;
  };
  for (const e of document.querySelectorAll("body *")) {
    const box = e.getBoundingClientRect(), style = getComputedStyle(e), within = scroller(e);
    if (!box.width || !box.height || e.closest(".sr, .skip, svg, .u-wrap, thead")) continue;
    if (within) {
      if (!within.matches("pre, .data-rows, nav")) found.add(`scrolls sideways: ${words(within)}`);
    } else if (box.right > wide + 1 || box.left < -1) found.add(`beyond the window: ${words(e)}`);
    else if (style.overflow === "hidden" && e.scrollWidth > e.clientWidth + 1) found.add(`cut: ${words(e)}`);
  }
  return [...found];
})()"""

#: Whether all charts are drawn that lie in no closed section.
DRAWN = """[...document.querySelectorAll("figure.chart")]
  .every(figure => figure.dataset.ms || figure.closest("details:not([open])"))"""

#: Gives a program the pipes, whose numbers are its first arguments, as its files 3 and 4.
AS_3_AND_4 = """import os, sys
for number, place in zip(map(int, sys.argv[1:3]), (30, 31)): os.dup2(number, place)
for place, wanted in ((30, 3), (31, 4)): os.dup2(place, wanted)
os.execv(sys.argv[3], sys.argv[3:])"""


class Browser:
    """One window."""

    def __init__(self, process: subprocess.Popen[bytes], to: int, back: int) -> None:
        self._process, self._to, self._from = process, to, back
        self._number, self._rest = 0, b""
        #: Messages of the console that are errors, exceptions included.
        self.errors: list[str] = []
        #: Everything that a page asked for, itself excepted, less what it holds itself.
        self.requests: list[str] = []
        self._session = ""
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **params: Any) -> Any:
        """Sends a command and waits for its answer."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + 60
        while time.monotonic() < until:
            for said in self._said(until):
                if said.get("id") == self._number:
                    if "error" in said:
                        raise RuntimeError(f"{method}: {said['error']}")
                    return said["result"]
        raise TimeoutError(method)

    def open(self, page: Path | str, width: int = 1280, *, dark: bool = False) -> None:
        """Opens a page in a window of this width and waits until it is drawn."""
        self.errors.clear()
        self.requests.clear()
        self.size(width, 900)
        self.media(dark=dark)
        self.go(page.resolve().as_uri() if isinstance(page, Path) else page)
        until = time.monotonic() + 60
        while self.run("document.readyState") != "complete" and time.monotonic() < until:
            time.sleep(0.05)
        tall = int(self.run("document.documentElement.scrollHeight"))
        self.size(width, min(tall, 12000))
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        while tall <= 12000 and not self.run(DRAWN) and time.monotonic() < until:
            time.sleep(0.05)

    def size(self, width: int, height: int) -> None:
        """Makes the window of this size."""
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                 mobile=False)  # fmt: skip

    def media(self, *, dark: bool = False, still: bool = False) -> None:
        """What the reader's system asks of a page: dark colours, and no motion."""
        values = {
            "prefers-color-scheme": "dark" if dark else "light",
            "prefers-reduced-motion": "reduce" if still else "",
        }
        features = [{"name": name, "value": value} for name, value in values.items()]
        self.ask("Emulation.setEmulatedMedia", features=features)

    def go(self, url: str) -> None:
        """Begins to load a page.

        Raises:
            OSError: there is no such page.
        """
        wrong = self.ask("Page.navigate", url=url).get("errorText")
        if wrong:
            raise OSError(f"{url}: {wrong}")

    def unfold(self) -> None:
        """Opens the sections that are closed on a phone."""
        self.run("document.querySelectorAll('details.part').forEach(part => part.open = true)")
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def run(self, code: str) -> Any:
        """The value of an expression on the page."""
        answer = self.ask("Runtime.evaluate", expression=code, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"]["description"])
        return answer["result"].get("value")

    def overflowing(self) -> list[str]:
        """What does not fit the window."""
        found: list[str] = self.run(OVERFLOWING)
        return found

    def picture(self, path: Path) -> None:
        """Writes what is to be seen as PNG."""
        path.write_bytes(base64.b64decode(self.ask("Page.captureScreenshot", format="png")["data"]))

    def _said(self, until: float) -> list[dict[str, Any]]:
        """The messages that have come in, at least one unless the time is over or the browser ended."""
        while b"\0" not in self._rest and time.monotonic() < until:
            if select.select([self._from], [], [], 1)[0]:
                part = os.read(self._from, 1 << 20)
                if not part:
                    raise RuntimeError("the browser ended")
                self._rest += part
        *whole, self._rest = self._rest.split(b"\0")
        messages = [json.loads(part) for part in whole]
        for message in messages:
            params = message.get("params", {})
            if message.get("method") == "Runtime.exceptionThrown":
                self.errors.append(params["exceptionDetails"]["exception"].get("description", "exception"))
            elif message.get("method") == "Log.entryAdded" and params["entry"]["level"] == "error":
                self.errors.append(params["entry"]["text"])
            elif message.get("method") == "Runtime.consoleAPICalled" and params["type"] in (
                "error",
                "warning",
            ):
                self.errors.append(str(params["args"]))
            elif message.get("method") == "Network.requestWillBeSent":
                url, kind = params["request"]["url"], params.get("type")
                if not url.startswith(("data:", "blob:")) and kind != "Document":
                    self.requests.append(url)
        return messages


def faults(window: Browser, page: Path | str, widths: Sequence[int] = (1280, 390)) -> list[str]:
    """What is wrong with a page, in the light and in the dark: it does not fit, errs, or loads something."""
    home = page if isinstance(page, str) else ""
    found = []
    for width in widths:
        for dark in (False, True):
            window.open(page, width, dark=dark)
            window.unfold()
            elsewhere = [url for url in window.requests if not (home and url.startswith(home))]
            found += [f"{width}: {what}" for what in [*window.overflowing(), *window.errors, *elsewhere]]
    return found


@contextmanager
def browser(home: Path) -> Iterator[Browser]:
    """Starts the browser with ``home`` for its files, and ends it."""
    if FIREFOX:
        from firefox import firefox  # which imports this module

        with firefox(FIREFOX, home) as window:
            yield window
        return
    assert CHROMIUM is not None
    their_in, to = os.pipe()
    back, their_out = os.pipe()
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
               "--disable-background-networking", "--disable-component-update", "--disable-sync",
               "--hide-scrollbars", "--remote-debugging-pipe", f"--user-data-dir={home}"]  # fmt: skip

    process = subprocess.Popen(
        [sys.executable, "-S", "-c", AS_3_AND_4, str(their_in), str(their_out), *command],
        pass_fds=(their_in, their_out),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(their_in)
    os.close(their_out)
    try:
        yield Browser(process, to, back)
    finally:
        os.close(to)
        os.close(back)
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
