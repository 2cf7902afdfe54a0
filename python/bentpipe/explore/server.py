"""Serves the page of `explore` on this machine, to this machine only."""

from __future__ import annotations

import os
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import uvicorn
from marimo import create_asgi_app
from starlette.middleware.trustedhost import TrustedHostMiddleware

from bentpipe._core import ScenarioError
from bentpipe.explore import shown

HOST = "127.0.0.1"
PORT = 2718
"""The default port if it is free: that of marimo."""
_STYLE = """<style>
.explore { display: grid; grid-template-columns: minmax(0, 1fr); gap: 1rem; }
.explore aside { display: grid; gap: .9rem; align-content: start; }
.explore main { display: grid; gap: 1rem; grid-template-columns: minmax(0, 1fr); }
.explore h1 { font-size: 1.3rem; font-weight: 600; margin: 0; }
@media (min-width: 60rem) {
  .explore { grid-template-columns: 17rem minmax(0, 1fr); gap: 2rem; }
  .explore aside { position: sticky; top: 1rem; align-self: start; }
}
</style>
"""


class _ExploreServer(uvicorn.Server):
    """Ends at once on request: there is nothing to finish."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.should_exit = self.force_exit = True


def serve(
    port: int | None = None,
    *,
    link: str | None = None,
    browser: bool = True,
    tell: Callable[[str], None] = print,
) -> None:
    """Serves the page until Ctrl-C, which ends the process.

    Args:
        port: of 127.0.0.1; None: `PORT`, or any other if it is taken.
        link: show the links of this scenario, a name or a file, in place of a link with sliders.
        browser: open the page in the browser of this machine.
        tell: called with the address of the page once it is served.

    Raises:
        ScenarioError: the port is taken, or the scenario cannot be shown.
    """
    if link is not None:
        shown.shown(shown.Setting(link=link, algorithms=("cubic",), duration_s=shown.DURATIONS[0]))
    shown.given = link
    listening = _listen(port)
    address = f"http://{HOST}:{listening.getsockname()[1]}/"
    page = create_asgi_app(quiet=True, html_head=shown.head() + _STYLE)
    page = page.with_app(path="", root=str(Path(__file__).with_name("app.py")))
    # A page from elsewhere must not reach this one under a name of its own for 127.0.0.1.
    own = OwnOrigin(page.build(), listening.getsockname()[1])
    safe = TrustedHostMiddleware(own, allowed_hosts=[HOST, "localhost"])
    server = _ExploreServer(uvicorn.Config(safe, log_level="critical", timeout_graceful_shutdown=0))
    tell(address)
    if browser:
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
    server.run(sockets=[listening])
    # The threads in which marimo runs the cells of open pages would be waited for.
    sys.stdout.flush()
    os._exit(0)


class OwnOrigin:
    """Serves only what the page itself asks for: a browser names the page that asks in the header Origin.

    Hosts alone do not tell: any page may open a WebSocket to 127.0.0.1 (RFC 6455 section 10.2).
    """

    def __init__(self, app: Any, port: int) -> None:
        self._app = app
        self._own = {f"http://{host}:{port}".encode() for host in (HOST, "localhost")}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """One request or WebSocket (ASGI)."""
        foreign = [
            value for name, value in scope.get("headers", []) if name == b"origin" and value not in self._own
        ]
        if not foreign:
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": "another page asks"})
        else:
            await send({"type": "http.response.start", "status": 403, "headers": []})
            await send({"type": "http.response.body", "body": b"another page asks"})


def _listen(port: int | None) -> socket.socket:
    """A socket that listens, so that the page can be opened before the server is ready."""
    for wanted in (PORT, 0) if port is None else (port,):
        try:
            return socket.create_server((HOST, wanted))
        except OSError as failure:
            if port is not None:
                raise ScenarioError(f"--port {port}: {failure.strerror}; choose another") from None
    raise AssertionError("any port is free")
