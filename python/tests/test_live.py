"""The live page: what is kept, who is served, and what a browser shows, also after the end."""

from __future__ import annotations

import http.client
import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import browser
import pytest

from bentpipe import ScenarioError, live
from bentpipe.live import sources
from bentpipe.live.server import KEPT_S, History
from bentpipe.live.sources import Largest
from bentpipe.machine.connections import Connection, Endpoint

needs_chromium = pytest.mark.skipif(browser.CHROMIUM is None, reason="needs Chromium, which is not here")
NOBODY: dict[str, Any] = {end: SimpleNamespace(read=list) for end in ("near", "far")}
PAGE = live.LivePage(
    "a <link>",
    [
        live.LiveChart("Rate.", "rate, Mbit/s", [live.Series("rate", "forward", 1e-6)]),
        live.LiveChart("Window.", "cwnd, segments", live.Family("cwnd/", most=2)),
        live.LiveChart("Lateness.", "lateness, ms", [live.Series("late", "99 %", 1e3)], log=True),
    ],
    readings=[live.BoardNumber("rate", "rate", "Mbit/s", 1e-6)],
    rank="bytes/",
)


class Link:
    """A source: a rate that grows by 1 Mbit/s with every question, and whatever else is set."""

    def __init__(self) -> None:
        self.asked = 0
        self.more: dict[str, float | None] = {}

    def __call__(self) -> dict[str, float | None]:
        self.asked += 1
        return {"rate": 1e6 * self.asked, **self.more}


def told(history: History) -> Iterator[tuple[str, Any] | None]:
    return history.events(0.01)


def ask(shown: live.ServedPage, path: str = "/", **headers: str) -> tuple[int, http.client.HTTPMessage, str]:
    connection = http.client.HTTPConnection(shown.address.removeprefix("http://").rstrip("/"), timeout=20)
    try:
        connection.putrequest("GET", path, skip_host="Host" in headers)
        for name, value in headers.items():
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read().decode()
    finally:
        connection.close()


def wait(window: browser.Browser, what: str) -> None:
    until = time.monotonic() + 30
    while not window.run(what):
        assert time.monotonic() < until, (what, window.errors)
        time.sleep(0.02)


def test_ten_minutes_are_kept_whatever_comes() -> None:
    history = History()
    for second in range(2000):
        history.add(second, {"a": second, f"flow/{second // 100}": 1.0})
    kind, given = next(told(history))
    assert kind == "history" and given["kept_s"] == KEPT_S == 600
    assert (given["t"][0], given["t"][-1]) == (1399, 1999)
    assert all(len(column) == len(given["t"]) for column in given["columns"].values())
    # A flow that has gone for longer is forgotten; one that came later has gaps before.
    assert "flow/12" not in given["columns"]
    assert given["columns"]["flow/14"][:3] == [None, 1.0, 1.0]


def test_many_flows_shorten_what_is_kept_and_not_the_memory() -> None:
    history = History()
    for second in range(50):
        history.add(second, {f"flow/{i}": 1.0 for i in range(20_000)})
    _, given = next(told(history))
    assert given["t"] == list(range(30, 50))


def test_numbers_that_are_none_or_not_finite_are_gaps() -> None:
    history = History()
    history.add(0, {"a": float("nan"), "b": None, "c": float("inf"), "d": 1.23456789})
    assert next(told(history)) == ("history", {"t": [0], "columns": {"d": [1.23457]}, "kept_s": 600})


def test_a_late_browser_gets_the_history_then_each_row_then_the_end() -> None:
    history = History()
    history.add(0, {"a": 1})
    events = told(history)
    assert next(events) == ("history", {"t": [0], "columns": {"a": [1]}, "kept_s": 600})
    assert next(events) is None  # nothing for a while
    history.add(1, {"a": 2})
    history.add(2, {"a": 3})
    assert [next(events), next(events)] == [("row", (1, {"a": 2})), ("row", (2, {"a": 3}))]
    history.add(3, {"a": 4})
    history.end("status 0")
    history.end("another reason")
    history.add(4, {"a": 5})
    assert list(events) == [("row", (3, {"a": 4})), ("end", "status 0")]


def test_a_browser_that_falls_behind_gets_the_history_again() -> None:
    history = History()
    history.add(0, {"a": 1})
    events = told(history)
    next(events)
    for second in range(1, 30):
        history.add(second, {"a": 1})
    kind, given = next(events)
    assert kind == "history" and len(given["t"]) == 30


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("0.0.0.0:8000", "this machine only; write 127.0.0.1:8000"),
        ("192.0.2.1:8000", "this machine only"),
        ("[::]:8000", "this machine only"),
        ("8000", "write ADDRESS:PORT"),
        ("127.0.0.1:", "write ADDRESS:PORT"),
        ("127.0.0.1:65536", "write ADDRESS:PORT"),
        ("here:8000", "here is no IP address"),
        (":8000", "nothing is no IP address"),
    ],
)
def test_addresses_that_others_could_reach_are_refused(address: str, said: str) -> None:
    with pytest.raises(ScenarioError, match="--web") as wrong:
        live.serve(address, PAGE, Link())
    assert said in str(wrong.value) and address in str(wrong.value)


def test_a_port_that_is_taken_is_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(ScenarioError, match="Address already in use; choose another port"):
            live.serve(f"127.0.0.1:{port}", PAGE, Link())


def test_only_this_machine_is_answered_and_only_under_its_own_name() -> None:
    with live.serve("127.0.0.1:0", PAGE, Link()) as shown:
        port = int(shown.address.rstrip("/").rpartition(":")[2])
        status, headers, page = ask(shown)
        assert status == 200 and "a &lt;link&gt;" in page and "<link>" not in page
        assert headers["Cache-Control"] == "no-store" and headers["X-Frame-Options"] == "DENY"
        assert "Access-Control-Allow-Origin" not in headers
        assert ask(shown, Host=f"localhost:{port}")[0] == 200
        for host in (
            "elsewhere.example",
            f"elsewhere.example:{port}",
            f"127.0.0.1:{port + 1}",
            "127.0.0.1",
            "",
        ):
            for path in ("/", "/events"):
                assert ask(shown, path, Host=host)[0] == 403
        assert ask(shown, "/etc/passwd")[0] == 404
        with pytest.raises(OSError):
            socket.create_connection(("127.0.0.2", port), timeout=5)
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", port), timeout=5)


def test_it_serves_ipv6_too() -> None:
    try:
        shown = live.serve("[::1]:0", PAGE, Link())
    except ScenarioError:
        pytest.skip("no ::1 here")
    with shown:
        assert shown.address.startswith("http://[::1]:") and ask(shown)[0] == 200


def test_the_events_end_with_the_run_and_a_failing_source_ends_only_the_page() -> None:
    link = Link()
    shown = live.serve("127.0.0.1:0", PAGE, link, every_s=0.01)
    found: list[str] = []
    reader = threading.Thread(target=lambda: found.append(ask(shown, "/events")[2]), daemon=True)
    reader.start()
    while link.asked < 5:
        time.sleep(0.01)
    shown.close("the command ended with status 3")
    reader.join(20)
    assert found[0].startswith("retry: 1000\n\nevent: history\ndata: ")
    assert found[0].endswith('event: end\ndata: "the command ended with status 3"\n\n')

    def failing() -> dict[str, float]:
        raise OSError("the link is gone")

    with live.serve("127.0.0.1:0", PAGE, failing) as shown:
        assert ask(shown, "/events")[2].endswith('event: end\ndata: "no more numbers: the link is gone"\n\n')


def test_browsers_that_leave_or_read_nothing_leave_nothing_behind() -> None:
    link = Link()
    link.more = {f"flow/{i}": 1.0 for i in range(2000)}
    with live.serve("127.0.0.1:0", PAGE, link, every_s=0.01) as shown:
        host, _, port = shown.address.removeprefix("http://").rstrip("/").rpartition(":")
        request = f"GET /events HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode()
        deaf = [socket.create_connection((host, int(port))) for _ in range(3)]
        for one in deaf:
            one.sendall(request)
        for _ in range(50):  # more than are served at once
            with socket.create_connection((host, int(port))) as gone:
                gone.sendall(request)
        before = link.asked
        until = time.monotonic() + 20
        while link.asked < before + 20:
            assert time.monotonic() < until
            time.sleep(0.01)
        # Those who left have made room.
        while ask_first_line(host, int(port), request) != b"HTTP/1.1 200 OK":
            assert time.monotonic() < until
            time.sleep(0.05)
    for one in deaf:
        one.close()
    while any(thread.name.startswith("live") for thread in threading.enumerate()):
        assert time.monotonic() < until
        time.sleep(0.01)


def ask_first_line(host: str, port: int, request: bytes) -> bytes:
    with socket.create_connection((host, port)) as one:
        one.sendall(request)
        return one.makefile("rb").readline().strip()


def test_the_largest_of_many_flows_are_those_that_were_fast_of_late() -> None:
    largest = Largest(most=2)
    assert largest.rates(0.0, {"a": 9e9, "b": 1, "c": 0}) == {"a": 0, "b": 0}
    assert largest.rates(2.0, {"a": 9e9, "b": 1001, "c": 500}) == {"b": 4000, "c": 2000}
    # A pause does not remove a flow at once; a flow that has gone is gone.
    assert largest.rates(3.0, {"a": 9e9 + 10, "b": 1001, "c": 500}) == {"b": 0, "c": 0}
    assert largest.rates(4.0, {"a": 9e9 + 10, "c": 1500, "d": 7e6}) == {"a": 0, "c": 8000}
    assert set(largest.rates(5.0, {"a": 9e9 + 10, "c": 1500, "d": 8e6})) == {"c", "d"}


def way(**given: float) -> dict[str, float]:
    names = "queue_packets delivered_bytes dropped_queue dropped_error".split()
    late = {f"lateness_{part}_s": 1e-5 for part in ("p50", "p99", "max")}
    return dict.fromkeys(names, 0.0) | late | given


def test_an_emulation_is_shown_by_what_it_did_between_two_looks() -> None:
    seen = [
        {"t_s": 1.0, "forward": way(delivered_bytes=1000, dropped_queue=3), "reverse": way()},
        {
            "t_s": 1.5,
            "forward": way(delivered_bytes=126_000, dropped_queue=5, queue_packets=7, lateness_p99_s=2e-5),
            "reverse": way(dropped_error=1, lateness_max_s=3e-4),
        },
    ]
    source = sources.EmulationSource(iter(seen).__next__, NOBODY)
    first, second = source(), source()
    assert "forward/rate" not in first and first["lost"] == 3
    assert second["forward/rate"] == 2e6 and second["forward/queue"] == 7  # 125 kB in half a second
    assert (second["forward/dropped_queue"], second["reverse/dropped_error"]) == (4, 2)
    assert (second["lost"], second["late/p99"], second["late/max"]) == (6, 2e-5, 3e-4)
    assert shown_names(sources.emulation_page("geo")) <= set(second)


def test_both_sides_of_a_relay_are_shown() -> None:
    leg = {"forward": way(queue_packets=2), "reverse": way()}
    other = {"forward": way(queue_packets=5), "reverse": way()}
    seen = [
        {"t_s": t, "forward": way(queue_packets=7), "reverse": way(), "legs": [leg, other]} for t in (1, 2)
    ]
    source = sources.EmulationSource(iter(seen).__next__, NOBODY)
    source()
    numbers = source()
    queues = [numbers[name] for name in ("first forward/queue", "second forward/queue", "queue")]
    assert queues == [2, 5, 7]
    assert shown_names(sources.emulation_page("geo-pep", relay=True)) <= set(numbers)


def test_a_connection_is_shown_where_its_data_is_sent() -> None:
    near, far = Endpoint("10.77.0.1", 40000), Endpoint("10.77.0.2", 5201)

    def at(local: Endpoint, remote: Endpoint, acked: int) -> Connection:
        return Connection(local, remote, "cubic", 1448, 10, None, 3, None, 0.5, 0.5, acked)

    up = {"near": [at(near, far, 9000)], "far": [at(far, near, 5)]}
    assert sources.sending(up) == {"40000 → 5201": up["near"][0]}
    down = {"near": [at(near, far, 5)], "far": [at(far, near, 9000)]}
    assert sources.sending(down) == {"40000 ← 5201": down["far"][0]}
    # A relay has both addresses, each on the other side.
    relayed = down | {"relay": [at(far, near, 8000), at(near, far, 4)]}
    assert sources.sending(relayed) == {
        "40000 ← 5201/first": relayed["relay"][0],
        "40000 ← 5201/second": down["far"][0],
    }


def shown_names(page: live.LivePage) -> set[str]:
    """The names that a page asks for, families excepted."""
    curves = [series.name for chart in page.charts for series in getattr(chart.curves, "__iter__", list)()]
    return {*curves, *(reading.name for reading in page.readings)}


def test_the_flows_of_the_kernel_are_shown_at_most_eight_of_them() -> None:
    def status(factor: int, flows: int = 12) -> dict[str, Any]:
        return {
            "flows": [
                {
                    "id": i,
                    "local": f"192.0.2.1:{i}",
                    "remote": "192.0.2.2:80",
                    "cwnd_segments": 10 + i,
                    "srtt_s": 0.5,
                    "in_flight_segments": 9,
                    "delivered_bytes": factor * i * 1000,
                    "order_age_s": 0.01,
                    "fallbacks": 1,
                }
                for i in range(flows)
            ],
            "dropped_reports": 2,
            "latency": {"ack_to_applied_s": {"p99": 3e-4}},
        }

    statuses, times = iter([status(1), status(2), {"flows": []}]), iter([10.0, 12.0, 14.0])
    source = sources.KernelSource(statuses.__next__, times.__next__)
    source()
    numbers = source()
    name = "192.0.2.1:11 → 192.0.2.2:80"
    assert numbers[f"bps/{name}"] == 44_000 and numbers[f"cwnd/{name}"] == 21
    assert numbers["rate"] == 66 * 4000 and numbers["fallbacks"] == 12 and numbers["applied"] == 3e-4
    assert sum(key.startswith("cwnd/") for key in numbers) == 8
    assert shown_names(sources.kernel_page("star")) <= set(numbers)
    assert source()["flows"] == 0  # nothing is attached any more: the page goes on


@needs_chromium
def test_a_browser_shows_numbers_as_they_come_flows_that_come_and_go_and_the_end(tmp_path: Path) -> None:
    length = "[...bentpipe.all.values()][0].given.curves[0].y.length"
    names = "[...document.querySelectorAll('#chart-1 .legend button')].map(b => b.innerText).join()"
    drawn = "document.querySelector('#chart-0 canvas').toDataURL()"
    state = "document.getElementById('state').innerText"
    link = Link()
    with browser.browser(tmp_path) as window:
        shown = live.serve("127.0.0.1:0", PAGE, link, every_s=0.02)
        try:
            while link.asked < 20:  # a late browser
                time.sleep(0.01)
            window.open(shown.address)
            wait(window, f"{length} >= 20")
            first = window.run(drawn)
            wait(window, f"{length} >= 40 && {drawn} !== {json.dumps(first)}")
            values = window.run("[...bentpipe.all.values()][0].given.curves[0].y.slice(0, 3)")
            assert values == pytest.approx([1, 2, 3])  # of the very first rows, in Mbit/s
            assert window.run(state).startswith("Live, ")
            assert window.run("document.querySelector('.now dd').innerText").endswith(" Mbit/s")

            assert window.run(names) == "none now"
            link.more = {"cwnd/a": 3, "bytes/a": 10}
            wait(window, f"{names} === 'a'")
            colour = "getComputedStyle(document.querySelector('#chart-1 .legend path')).stroke"
            of_a = window.run(colour)
            # The largest two by bytes, in the order in which they came; a keeps its colour.
            link.more = {"cwnd/a": 3, "bytes/a": 1e9, "cwnd/b": 5, "bytes/b": 1, "cwnd/c": 7, "bytes/c": 1e8}
            wait(window, f"{names} === 'a,c'")
            assert window.run(colour) == of_a
            assert window.run("document.getElementById('fewer').innerText") == "The 2 largest of 3 are shown."
            link.more = {}
            wait(
                window, "[...bentpipe.all.values()][1].given.curves[1].y.at(-1) === null"
            )  # a gap, not a zero

            window.run("document.getElementById('pause').click()")
            stopped, asked = window.run(length), link.asked
            while link.asked < asked + 10:
                time.sleep(0.01)
            assert window.run(length) == stopped and window.run(state).startswith("Paused")
            window.run("document.getElementById('pause').click()")
            wait(window, f"{length} > {stopped} + 5")
        finally:
            shown.close("status 0")
        wait(window, f"{state}.startsWith('The run has ended after')")
        assert window.run(state).endswith(": status 0.")
        assert window.run("document.title") == "ended: a <link>"
        # It does not ask any more, and the curves stay.
        assert window.run(length) > 40 and window.errors == []
        assert window.requests == [shown.address + "events"]


@needs_chromium
def test_the_page_fits_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    link = Link()
    link.more = {"cwnd/10.77.0.1:50000 to 10.77.0.2:5201": 3, "late": 1e-5}
    with (
        live.serve("127.0.0.1:0", PAGE, link, every_s=0.02) as shown,
        browser.browser(tmp_path) as window,
    ):
        assert browser.faults(window, shown.address) == []


SERVING = """
import itertools, sys, time
from bentpipe import live
page = live.LivePage("a run", [live.LiveChart("Count.", "count", [live.Series("n", "n")])])
count = itertools.count(int(sys.argv[2]))
with live.serve(sys.argv[1], page, lambda: {"n": next(count)}, every_s=0.02) as shown:
    print(shown.address, flush=True)
    sys.stdin.read()
"""


def serving(address: str, first: int) -> tuple[subprocess.Popen[str], str]:
    process = subprocess.Popen(
        [sys.executable, "-c", SERVING, address, str(first)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


@needs_chromium
def test_a_browser_finds_its_way_back(tmp_path: Path) -> None:
    """The process is killed and says nothing; another serves the same address with other numbers."""
    state = "document.getElementById('state').innerText"
    first = "[...bentpipe.all.values()][0].given.curves[0].y[0]"
    with browser.browser(tmp_path) as window:
        process, address = serving("127.0.0.1:0", 0)
        window.open(address)
        wait(window, f"{state}.startsWith('Live') && {first} === 0")
        process.kill()
        process.communicate()
        wait(window, f"{state}.startsWith('The connection is lost')")
        process, again = serving(address.removeprefix("http://").rstrip("/"), 1000)
        assert again == address
        wait(window, f"{state}.startsWith('Live') && {first} === 1000")
        process.communicate()
        assert process.returncode == 0
        wait(window, f"{state}.startsWith('The run has ended')")
