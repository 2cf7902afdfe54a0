"""Reports of iperf3: the receiver's intervals or a refusal, directions, and every form that it writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import bentpipe as bp
from bentpipe.measured import estimate

UPLOAD = [(0, 1, 27e6), (1, 2, 0.0), (2, 3, 9e6)]
"""What a sender's socket took of ..."""
RECEIVED = [(0, 1, 4e6), (1, 2, 6e6), (2, 3.5, 8e6)]
"""... this, which came through."""
Rows = list[tuple[float, float, float]]


def stream(begin: float, end: float, rate: float, *, sent: bool) -> dict[str, Any]:
    return {"start": begin, "end": end, "seconds": end - begin, "bits_per_second": rate, "sender": sent}


def document(up: Rows, down: Rows = (), *, server: bool = False, reverse: bool = False) -> dict[str, Any]:  # type: ignore[assignment]
    """The JSON of one end: of two streams, a quarter and three quarters of the rate."""
    intervals = []
    for place in range(max(len(up), len(down))):
        sums, streams = {}, []
        for name, rows, sent in (("sum", up, server == reverse), ("sum_bidir_reverse", down, server)):
            if place < len(rows):
                sums[name] = stream(*rows[place], sent=sent)
                begin, end, rate = rows[place]
                streams += [stream(begin, end, share * rate, sent=sent) for share in (0.25, 0.75)]
        intervals.append({"streams": streams, **sums})
    start = {"test_start": {"protocol": "TCP", "num_streams": 2, "reverse": int(reverse)}}
    start |= {"accepted_connection": {"host": "192.0.2.1"}} if server else {"connecting_to": {"host": "x"}}
    return {"start": start, "intervals": intervals, "end": {}}


def report(rows: Rows, unit: str = "Mbits", factor: float = 1e6, counts: str = "", id: str = "[  5]") -> str:
    return "".join(
        f"{id}   {begin:.2f}-{end:.2f}   sec  1.00 MBytes  {rate / factor:.4g} {unit}/sec{counts}\n"
        for begin, end, rate in rows
    )


@pytest.fixture
def rates(tmp_path: Path) -> Any:
    """The rates that are read of a text or JSON, without the last row."""

    def read(content: Any, **options: Any) -> list[float]:
        place = tmp_path / "a.txt"
        place.write_text(content if isinstance(content, str) else json.dumps(content))
        frame = bp.timeline.read_trace(place, "iperf3", **options)
        bp.timeline.check(frame)
        return list(frame["rate_bps"])[:-1]

    return read


def streamed(events: list[tuple[str, Any]]) -> str:
    return "".join(json.dumps({"event": name, "data": of}) + "\n" for name, of in events)


def values(rows: Rows) -> list[float]:
    return [rate for _, _, rate in rows]


REFUSED = r"a.txt: its intervals say what the sender's socket took.*; measure with --reverse, or with --get-s"
HEAD = "Connecting to host 192.0.2.1, port 5201\n"
SENT = "    0   86.3 KBytes       "


def test_the_intervals_of_a_tcp_upload_are_the_servers_or_are_refused(rates: Any) -> None:
    with pytest.raises(bp.ScenarioError, match=REFUSED):
        rates(document(UPLOAD))
    servers = {"server_output_json": document(RECEIVED, server=True)}
    assert rates(document(UPLOAD) | servers) == values(RECEIVED)
    assert rates(document(UPLOAD) | servers, stream=2) == [0.75 * rate for rate in values(RECEIVED)]
    text = "Accepted connection from 192.0.2.9, port 5\n" + report(RECEIVED)
    text += report([(0, 3.5, 7e6)], counts="                  receiver")
    assert rates(document(UPLOAD) | {"server_output_text": text}) == values(RECEIVED)
    assert rates(document(RECEIVED, server=True)) == values(RECEIVED)  # the server's own file
    assert rates(document(RECEIVED, reverse=True)) == values(RECEIVED)  # a download


def test_the_text_of_a_tcp_upload_is_refused_unless_the_server_tells(rates: Any) -> None:
    ends = report([(0, 3, 12e6)], counts="   14             sender")
    ends += report([(0, 3.5, 7e6)], counts="                  receiver")
    upload = HEAD + report(UPLOAD, counts=SENT) + ends
    for text in (upload, report(UPLOAD, counts=SENT), HEAD + report(UPLOAD)):
        with pytest.raises(bp.ScenarioError, match=REFUSED):
            rates(text)
    servers = "\nServer output:\nAccepted connection from 192.0.2.9, port 5\n" + report(RECEIVED)
    assert rates(upload + servers) == values(RECEIVED)
    download = HEAD + "Reverse mode, remote host 192.0.2.1 is sending\n" + report(RECEIVED)
    assert rates(download) == values(RECEIVED)


def test_a_test_in_both_directions_asks_for_one(rates: Any) -> None:
    both = document(UPLOAD, RECEIVED)
    with pytest.raises(bp.ScenarioError, match=r"both directions at once.*--direction up.*--direction down"):
        rates(both)
    assert rates(both, direction="down") == values(RECEIVED)
    assert rates(both, stream=3) == [0.25 * rate for rate in values(RECEIVED)]
    for how in ({"direction": "up"}, {"stream": 1}):
        with pytest.raises(bp.ScenarioError, match=REFUSED):
            rates(both, **how)
    servers = {"server_output_json": document([(0, 1, 1e6), (1, 2, 2e6), (2, 3, 3e6)], UPLOAD, server=True)}
    assert rates(both | servers, direction="up") == [1e6, 2e6, 3e6]
    assert rates(both | servers, stream=2) == [0.75e6, 1.5e6, 2.25e6]
    with pytest.raises(bp.ScenarioError, match="nothing went up in it: the test went down"):
        rates(document(RECEIVED, reverse=True), direction="up")
    with pytest.raises(bp.ScenarioError, match="--direction 'sideways': write down or up"):
        rates(both, direction="sideways")


def test_the_text_of_both_directions_has_roles(rates: Any) -> None:
    rows = (
        report([up], counts=SENT, id="[  5][TX-C]") + report([down], id="[  7][RX-C]")
        for up, down in zip(UPLOAD, RECEIVED, strict=True)
    )
    text = HEAD + "".join(rows)
    assert rates(text, direction="down") == rates(text, stream=2) == values(RECEIVED)
    with pytest.raises(bp.ScenarioError, match="--direction up"):
        rates(text)
    with pytest.raises(bp.ScenarioError, match=REFUSED):
        rates(text, direction="up")


def test_advice_names_the_direction_of_a_test_in_both(tmp_path: Path) -> None:
    place = tmp_path / "both.json"
    both = document(UPLOAD, RECEIVED)
    both["end"] = {
        "sum_received": {"bits_per_second": 5e6, "seconds": 3.0}, "sum_sent_bidir_reverse": {},
        "sum_received_bidir_reverse": {"bits_per_second": 99e6, "seconds": 3.0},
    }  # fmt: skip
    place.write_text(json.dumps(both))
    rate = estimate([place]).of("rate_bps")
    assert rate is not None and rate.bound == "least"
    assert rate.value == pytest.approx(5e6 * 1500 / 1448)
    assert rate.method.startswith("of the upload, beside a download at once (--bidir): what the receiver got")


def test_advice_takes_what_the_receiver_got_and_not_what_a_socket_took(tmp_path: Path) -> None:
    place = tmp_path / "up.txt"
    wire = 1500 / 1448
    rows = [(i, i + 1, 8e6) for i in range(12)]
    place.write_text(HEAD + report([(i, i + 1, 30e6) for i in range(12)], counts=SENT))
    alone = estimate([place]).of("rate_bps")
    assert alone is not None and "what came through is not in the file" in alone.method
    assert alone.low < 0.6 * 30e6 * wire
    ended = HEAD + report([(i, i + 1, 30e6) for i in range(12)], counts=SENT)
    place.write_text(ended + report([(0, 12.5, 7e6)], counts="                  receiver"))
    summed = estimate([place]).of("rate_bps")
    assert summed is not None and summed.value == pytest.approx(7e6 * wire)
    place.write_text(ended + "\nServer output:\n" + report(rows))
    servers = estimate([place]).of("rate_bps")
    assert servers is not None and servers.value == servers.high == pytest.approx(8e6 * wire)


def test_a_json_stream_is_the_same_as_the_json(rates: Any) -> None:
    whole = document(RECEIVED, reverse=True)
    whole["end"] = {"sum_received": {"bits_per_second": 6e6, "seconds": 3.0}}
    events = [("start", whole["start"]), *(("interval", one) for one in whole["intervals"])]
    lines = "".join(
        json.dumps({"event": name, "data": of}) + "\n" for name, of in [*events, ("end", whole["end"])]
    )
    assert rates(lines) == values(RECEIVED)
    assert rates(lines + json.dumps(whole, indent=1)) == values(RECEIVED)  # --json-stream-full-output
    upload = "".join(
        json.dumps({"event": "interval", "data": one}) + "\n" for one in document(UPLOAD)["intervals"]
    )
    servers = json.dumps({"event": "server_output_json", "data": document(RECEIVED, server=True)})
    assert rates(upload + servers) == values(RECEIVED)
    with pytest.raises(bp.ScenarioError, match="the test failed: no route"):
        rates(lines + json.dumps({"event": "error", "data": "no route"}))
    with pytest.raises(bp.ScenarioError, match="line 3: the JSON is damaged"):
        rates("\n".join([*lines.splitlines()[:2], '{"event": "interval", "da']))
    with pytest.raises(bp.ScenarioError, match="it holds 2 tests; a file must have one"):
        rates(json.dumps(whole) + json.dumps(whole))


@pytest.mark.parametrize(
    ("unit", "factor"),
    [
        ("bits", 1.0), ("Kbits", 1e3), ("Gbits", 1e9),
        ("Bytes", 8.0), ("KBytes", 8 * 1024), ("MBytes", 8 * 1024**2), ("GBytes", 8 * 1024**3),
    ],
)  # fmt: skip
def test_rates_in_every_unit_of_f(rates: Any, unit: str, factor: float) -> None:
    """units.c: bits are counted by 1000, bytes by 1024."""
    rows = [(0.0, 1.0, 3 * factor), (1.0, 2.0, 5 * factor)]
    assert rates(report(rows, unit, factor)) == [3 * factor, 5 * factor]


def test_lines_with_sums_alone_are_enough(rates: Any) -> None:
    assert rates(report(RECEIVED, id="[SUM]")) == values(RECEIVED)
    with pytest.raises(bp.ScenarioError, match="there is no stream 1; the test has 0"):
        rates(report(RECEIVED, id="[SUM]"), stream=1)
    with pytest.raises(bp.ScenarioError, match=REFUSED):
        rates(report(UPLOAD, counts="    3             ", id="[SUM]"))
    two = report(RECEIVED, id="[  5]") + report(RECEIVED, id="[  7]")  # without the sums
    assert rates(two) == [2 * rate for rate in values(RECEIVED)]


def test_the_verb_takes_a_direction(cli: Any, tmp_path: Path) -> None:
    (tmp_path / "both.json").write_text(json.dumps(document(UPLOAD, RECEIVED)))
    given = ("timeline", "import", tmp_path / "both.json", "--format", "iperf3", "--out", tmp_path / "x.csv")
    asked = cli(*given)
    assert asked.exit_code == 2 and "--direction down" in asked.stderr and asked.stderr.count("\n") == 1
    assert cli(*given, "--direction", "down").exit_code == 0
    assert bp.timeline.read(tmp_path / "x.csv")["rate_bps"].to_list()[:-1] == values(RECEIVED)
