"""Serves a live page and the numbers of its last minutes to the browsers of this machine, in threads."""

from __future__ import annotations

import ipaddress
import json
import math
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from bentpipe._core import ScenarioError
from bentpipe.live.board import LivePage, Numbers, written

#: Seconds between two questions to the source.
EVERY_S = 0.5
#: Seconds without numbers after which a browser gets a comment.
QUIET_S = 10.0
#: Seconds that a browser may leave data unread.
PATIENCE_S = 30.0
#: Browsers that may be connected at once.
BROWSERS = 32
#: Time for which a number is kept, in seconds.
KEPT_S = 600.0
#: Most numbers that are kept, with a name each: 50 MB at the very worst. With more, less time is kept.
MOST = 400_000
#: Rows after which a browser that did not keep up gets the whole history instead.
BEHIND = 20

_HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "Connection": "close",
}


class ServedPage:
    """A page that is being served. As a context manager it ends with its block."""

    def __init__(self, server: _Server, source: Callable[[], Numbers], every_s: float) -> None:
        self._server, self._source, self._every_s = server, source, every_s
        self._stop = threading.Event()
        host, port = server.at
        #: The address of the page for a browser of this machine.
        self.address = f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"
        self._threads = [
            threading.Thread(target=server.serve_forever, args=(0.1,), daemon=True, name="live page"),
            threading.Thread(target=self._ask, daemon=True, name="live numbers"),
        ]
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self.close("interrupted" if kind is KeyboardInterrupt else "")

    def close(self, said: str = "") -> None:
        """Reports to browsers that the run has ended, and why; then stops serving. At once, and once only."""
        if self._stop.is_set():
            return
        self._stop.set()
        self._threads[1].join(1)
        self._server.history.end(said)
        self._server.wait_for_readers(1)
        self._server.shutdown()
        self._server.server_close()

    def _ask(self) -> None:
        """Asks the source until the end. A source that fails ends the page, not the command."""
        began = due = time.monotonic()
        while not self._stop.is_set():
            now = time.monotonic()
            try:
                numbers = self._source()
            except Exception as failure:
                if not self._stop.is_set():
                    self._server.history.end(f"no more numbers: {failure}")
                return
            self._server.history.add(now - began, numbers)
            due = max(due + self._every_s, time.monotonic())
            self._stop.wait(due - time.monotonic())


def serve(
    address: str, page: LivePage, source: Callable[[], Numbers], *, every_s: float = EVERY_S
) -> ServedPage:
    """Serves a page until the block ends or `ServedPage.close` is called.

    Args:
        address: ``"127.0.0.1:8000"``; port 0 is any that is free.
        page: the page.
        source: gives the current numbers; called in a thread of its own.
        every_s: seconds between two questions to it.

    Raises:
        ScenarioError: the address is not one of this machine's loopback, or it is taken.
    """
    host, port = loopback(address)
    try:
        server = _Server(host, port, written(page).encode())
    except OSError as failure:
        raise ScenarioError(
            f"--web {address}: {failure.strerror}; choose another port, or 0 for any that is free"
        ) from None
    return ServedPage(server, source, every_s)


def loopback(address: str) -> tuple[str, int]:
    """Host and port of ``"127.0.0.1:8000"``.

    Raises:
        ScenarioError: it is not such an address, or one that others could reach.
    """
    host, colon, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not (port.isascii() and port.isdigit() and int(port) < 65536):
        raise ScenarioError(f"--web {address}: write ADDRESS:PORT, for example 127.0.0.1:8000")
    if host == "localhost":
        return "127.0.0.1", int(port)
    try:
        inside = ipaddress.ip_address(host).is_loopback
    except ValueError:
        raise ScenarioError(
            f"--web {address}: {host or 'nothing'} is no IP address; write 127.0.0.1:{port}"
        ) from None
    if not inside:
        raise ScenarioError(
            f"--web {address}: the page is for this machine only; write 127.0.0.1:{port}, and reach it "
            "from elsewhere by ssh -L"
        )
    return host, int(port)


class _Server(ThreadingHTTPServer):
    """Listens; holds the page and the history for its handlers."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(self, host: str, port: int, page: bytes) -> None:
        self.page, self.history = page, History()
        self._looking = 0
        self._left = threading.Condition()
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        super().__init__((host, port), _Handler)

    @property
    def at(self) -> tuple[str, int]:
        """Host and port."""
        host, port = self.server_address[:2]
        return str(host), int(port)

    def server_bind(self) -> None:
        """Binds, without the look-up of names that HTTPServer adds."""
        if self.allow_reuse_address:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that goes away is not an error, and the terminal belongs to the command."""

    def admit(self) -> bool:
        """Counts a browser that connects; False if there are too many."""
        with self._left:
            if self._looking >= BROWSERS:
                return False
            self._looking += 1
            return True

    def leave(self) -> None:
        """A browser has left or has been notified of the end."""
        with self._left:
            self._looking -= 1
            self._left.notify_all()

    def wait_for_readers(self, most_s: float) -> None:
        """Waits until no browser is connected, up to a time limit."""
        with self._left:
            self._left.wait_for(lambda: self._looking == 0, most_s)


class _Handler(BaseHTTPRequestHandler):
    """Answers one browser: the page at /, the events at /events."""

    server: _Server
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "bentpipe", ""
    timeout = PATIENCE_S

    def do_GET(self) -> None:
        """The page or the events, for requests that name this machine."""
        path = self.path.partition("?")[0]
        if not self._ours():
            self._say(403, "This page answers to the address of this machine only.\n")
        elif path == "/":
            self._say(200, self.server.page, "text/html; charset=utf-8")
        elif path == "/events":
            self._stream()
        else:
            self._say(404, "There is nothing here; the page is at /.\n")

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the terminal belongs to the command."""

    def _ours(self) -> bool:
        """Whether the browser asked for this server by an address of this machine.

        A page from elsewhere can give its own name the address 127.0.0.1 (DNS rebinding) and would then read
        our answers; its requests name it in Host.
        """
        host, port = self.server.at
        names = {f"[{host}]" if ":" in host else host, "localhost"}
        given = self.headers.get_all("Host") or []
        return len(given) == 1 and given[0].lower() in {f"{name}:{port}" for name in names} | (
            names if port == 80 else set()
        )

    def _say(self, status: int, content: bytes | str, kind: str = "text/plain; charset=utf-8") -> None:
        body = content.encode() if isinstance(content, str) else content
        self._head(status, kind, {"Content-Length": str(len(body))})
        self.wfile.write(body)

    def _head(self, status: int, kind: str, more: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in ({"Content-Type": kind} | _HEADERS | more).items():
            self.send_header(name, value)
        self.end_headers()
        self.close_connection = True

    def _stream(self) -> None:
        if not self.server.admit():
            self._say(503, f"{BROWSERS} browsers look on already; close one.\n")
            return
        try:
            self._head(200, "text/event-stream", {})
            self.wfile.write(b"retry: 1000\n\n")
            for said in self.server.history.events(QUIET_S):
                self.wfile.write(b": still there\n\n" if said is None else event(*said))
        except OSError:
            self.close_connection = True  # the browser has gone, or reads no more
        finally:
            with suppress(OSError):
                self.connection.shutdown(socket.SHUT_WR)
            self.server.leave()


class History:
    """Rows of numbers with their times, the newest last; and whether there will be more."""

    def __init__(self) -> None:
        self._rows: deque[tuple[float, dict[str, float]]] = deque()
        self._numbers = 0
        #: The number of rows so far, removed ones included.
        self._count = 0
        self._ended: str | None = None
        self._changed = threading.Condition()

    def add(self, t_s: float, numbers: Numbers) -> None:
        """Adds a row; rows older than `KEPT_S` are removed."""
        row = {
            name: float(f"{value:.6g}")
            for name, value in numbers.items()
            if value is not None and math.isfinite(value)
        }
        with self._changed:
            if self._ended is not None:
                return
            self._rows.append((round(t_s, 3), row))
            self._numbers += len(row)
            self._count += 1
            while len(self._rows) > 1 and (self._rows[0][0] < t_s - KEPT_S or self._numbers > MOST):
                self._numbers -= len(self._rows.popleft()[1])
            self._changed.notify_all()

    def end(self, said: str) -> None:
        """There will be no more, for the reason `said`. Only the first reason counts."""
        with self._changed:
            if self._ended is None:
                self._ended = said
                self._changed.notify_all()

    def events(self, quiet_s: float) -> Iterator[tuple[str, Any] | None]:
        """The messages to a browser: the history, each row as it comes, the end.

        None after `quiet_s` seconds in which nothing happened, so that a browser that has gone is noticed.
        """
        with self._changed:
            seen, columns = self._count, self._columns()
        yield "history", columns
        while True:
            with self._changed:
                if self._count == seen and self._ended is None:
                    self._changed.wait(quiet_s)
                new, ended = self._count - seen, self._ended
                seen = self._count
                if new > min(BEHIND, len(self._rows)):
                    events: list[tuple[str, Any] | None] = [("history", self._columns())]
                else:
                    events = [("row", self._rows[i]) for i in range(-new, 0)]
            if not events and ended is None:
                events = [None]
            yield from events
            if ended is not None:
                yield "end", ended
                return

    def _columns(self) -> dict[str, Any]:
        """All rows: their times, and a column for each name, with None where a row lacks it."""
        names: dict[str, list[float | None]] = {}
        for i, (_, row) in enumerate(self._rows):
            for name, value in row.items():
                if name not in names:
                    names[name] = [None] * len(self._rows)
                names[name][i] = value
        return {"t": [t for t, _ in self._rows], "columns": names, "kept_s": KEPT_S}


def event(kind: str, value: Any) -> bytes:
    """A server-sent event; JSON has no line breaks that would end it."""
    return f"event: {kind}\ndata: {json.dumps(value, separators=(',', ':'), allow_nan=False)}\n\n".encode()
