"""A headless Firefox with the methods of `browser.Browser`, spoken to by WebDriver BiDi."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import browser
from websockets.sync.client import ClientConnection, connect

#: What Firefox would ask its makers for, and questions to a user.
SETTINGS = """
user_pref("app.normandy.enabled", false);
user_pref("app.update.auto", false);
user_pref("browser.shell.checkDefaultBrowser", false);
user_pref("datareporting.policy.dataSubmissionEnabled", false);
user_pref("network.captive-portal-service.enabled", false);
user_pref("network.connectivity-service.enabled", false);
user_pref("services.settings.server", "data:,#none");
user_pref("toolkit.telemetry.enabled", false);
"""

#: Settings that a style sheet of a page can ask for: their names, and the values.
SCHEME, STILL = "layout.css.prefers-color-scheme.content-override", "ui.prefersReducedMotion"


class Firefox(browser.Browser):
    """One window."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket, self._number = socket, 0
        self.errors, self.requests = [], []
        self.ask("session.new", capabilities={})
        self._page = self.ask("browsingContext.getTree")["contexts"][0]["context"]
        # What belongs to the browser itself may set preferences.
        system = self.ask("browsingContext.getTree", **{"moz:scope": "chrome"})
        self._system = system["contexts"][0]["context"]
        self.ask("session.subscribe", events=["log.entryAdded", "network.beforeRequestSent"])

    def ask(self, method: str, **params: Any) -> Any:
        """Sends a command and waits for its answer."""
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": params}))
        while True:
            said = json.loads(self._socket.recv(timeout=60))
            if said.get("id") == self._number:
                if said["type"] == "error":
                    raise RuntimeError(f"{method}: {said['message']}")
                return said["result"]
            self._hear(said)

    def media(self, *, dark: bool = False, still: bool = False) -> None:
        """What the reader's system asks of a page: dark colours, and no motion."""
        code = f"Services.prefs.setIntPref('{SCHEME}', {0 if dark else 1}); "
        code += f"Services.prefs.setIntPref('{STILL}', {int(still)})"
        self._evaluate(code, self._system)

    def size(self, width: int, height: int) -> None:
        """Makes the window of this size."""
        self.ask("browsingContext.setViewport", context=self._page,
                 viewport={"width": width, "height": height}, devicePixelRatio=1)  # fmt: skip

    def go(self, url: str) -> None:
        """Begins to load a page.

        Raises:
            OSError: there is no such page.
        """
        try:
            self.ask("browsingContext.navigate", context=self._page, url=url, wait="none")
        except RuntimeError as failure:
            raise OSError(f"{url}: {failure}") from None

    def run(self, code: str) -> Any:
        """The value of an expression on the page."""
        return self._evaluate(code, self._page)

    def picture(self, path: Path) -> None:
        """Writes what is to be seen as PNG."""
        shot = self.ask("browsingContext.captureScreenshot", context=self._page)
        path.write_bytes(base64.b64decode(shot["data"]))

    def _evaluate(self, code: str, context: str) -> Any:
        answer = self.ask("script.evaluate", expression=code, target={"context": context}, awaitPromise=True)
        if answer["type"] == "exception":
            raise RuntimeError(answer["exceptionDetails"]["text"])
        return _value(answer["result"])

    def _hear(self, said: dict[str, Any]) -> None:
        params = said.get("params", {})
        if said.get("method") == "log.entryAdded" and params["level"] in ("error", "warn"):
            if params["source"].get("context") == self._page:
                self.errors.append(str(params["text"]))
        elif said.get("method") == "network.beforeRequestSent" and params["context"] == self._page:
            url = params["request"]["url"]
            if not url.startswith(("data:", "blob:")) and params["navigation"] is None:
                self.requests.append(url)


def _value(given: dict[str, Any]) -> Any:
    """A value of the protocol."""
    value = given.get("value")
    if given["type"] == "array":
        return [_value(one) for one in value or []]
    if given["type"] == "object":
        return {key: _value(one) for key, one in value or []}
    if given["type"] == "number" and isinstance(value, str):
        return float(value.replace("Infinity", "inf").replace("NaN", "nan"))
    return value


@contextmanager
def firefox(program: str, home: Path) -> Iterator[Firefox]:
    """Starts Firefox with ``home`` for its files, and ends it."""
    profile = home / "profile"
    profile.mkdir()
    (profile / "user.js").write_text(SETTINGS, "utf-8")
    command = [program, "--headless", "--no-remote", "--profile", str(profile),
               "--remote-debugging-port", "0", "--remote-allow-system-access"]  # fmt: skip
    log = home / "log"
    with log.open("wb") as said:
        process = subprocess.Popen(
            command, stdout=said, stderr=said, env={"HOME": str(home), "PATH": "/usr/bin:/bin"}
        )
    try:
        with connect(f"{_address(log, process)}/session", max_size=None, open_timeout=30) as socket:
            yield Firefox(socket)
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _address(log: Path, process: subprocess.Popen[bytes]) -> str:
    """Where it listens, as soon as it says so."""
    until = time.monotonic() + 60
    while time.monotonic() < until and process.poll() is None:
        found = re.search(r"listening on (ws://\S+)", log.read_text("utf-8", "replace"))
        if found:
            return found[1]
        time.sleep(0.1)
    raise RuntimeError(f"Firefox has not started: {log.read_text('utf-8', 'replace')[-500:]}")
