"""NDT7, qlog, flent and ss as measurements of a link: what the numbers of each file allow to say."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import bentpipe as bp
from bentpipe.measured import Estimates, estimate

WIRE = 1500 / 1448
RATE, RTT = 8e6, 0.6


def written(place: Path, content: str | bytes) -> Path:
    place.write_bytes(content if isinstance(content, bytes) else content.encode())
    return place


def value(found: Estimates, name: str) -> float:
    one = found.of(name)
    assert one is not None and one.low <= one.value <= one.high
    return one.value


def lines(values: list[dict[str, Any]], before: str = "") -> str:
    return "".join(f"{before}{json.dumps(one)}\n" for one in values)


# --- NDT7: 8 Mbit/s of data reach a client, whose server sends 2 of 100 segments again


def ndt7(swell: float = 1.5, test: str = "download") -> list[dict[str, Any]]:
    found = []
    for tenth in range(1, 101):
        us = 100_000 * tenth
        got = int(RATE / 8 * us / 1e6)
        sent = {"BytesSent": got * 100 // 98, "BytesRetrans": got * 2 // 98, "BytesAcked": got}
        kernel = {"ElapsedTime": us, "MinRTT": int(RTT * 1e6), "RTT": int(swell * RTT * 1e6), **sent}
        kernel["BytesReceived"] = got
        counted = {"ElapsedTime": us, "NumBytes": got}
        found.append(
            {"Origin": "server", "Test": test, "TCPInfo": kernel, "AppInfo": {**counted, "NumBytes": 0}}
        )
        found.append({"Origin": "client", "Test": test, "AppInfo": counted})
    return found


def archived(messages: list[dict[str, Any]]) -> str:
    of = {f"{origin}Measurements": [one for one in messages if one["Origin"] == origin.lower()]
          for origin in ("Server", "Client")}  # fmt: skip
    return json.dumps({"GitShortCommit": "a", "Download": {"UUID": "x", **of}})


@pytest.mark.parametrize("form", ["messages", "client", "archive", "gzip"])
def test_ndt7_gives_rate_round_trip_and_a_bound_of_the_losses(tmp_path: Path, form: str) -> None:
    client = [{"Key": "starting", "Value": {"Test": "download"}}]
    client += [{"Key": "measurement", "Value": one} for one in ndt7()]
    client += [{"ServerFQDN": "x", "Download": {"Throughput": {"Value": 8, "Unit": "Mbit/s"}}}]
    text = {
        "messages": lines(ndt7()), "client": lines(client), "archive": archived(ndt7()),
        "gzip": gzip.compress(archived(ndt7()).encode()),
    }[form]  # fmt: skip
    found = estimate([written(tmp_path / "ndt7.jsonl", text)])
    assert value(found, "rate_bps") == pytest.approx(RATE * WIRE, rel=1e-3)
    assert value(found, "rtt_s") == pytest.approx(RTT)
    loss, rate = found.of("loss"), found.of("rate_bps")
    assert loss is not None and rate is not None
    assert loss.low == 0.0 and 0.02 < loss.high < 0.03
    assert rate.bound == "" and "of the download" in rate.method
    short = estimate([written(tmp_path / "b", lines(ndt7(swell=1.01)))]).of("rate_bps")
    assert short is not None and short.bound == "least"  # no queue ever stood


def test_ndt7_names_the_test_that_is_taken(tmp_path: Path) -> None:
    both = estimate([written(tmp_path / "a", lines([*ndt7(), *ndt7(test="upload")]))]).of("rate_bps")
    assert both is not None and "of the download (the file has an upload, too)" in both.method
    up = estimate([written(tmp_path / "b", lines(ndt7(test="upload")))])
    rate = up.of("rate_bps")
    assert rate is not None and "of the upload" in rate.method
    assert rate.value == pytest.approx(RATE * WIRE, rel=1e-3)
    with pytest.raises(bp.ScenarioError, match="a measurement by NDT7 without data"):
        estimate([written(tmp_path / "c", '{"Key": "starting", "Value": {"Test": "download"}}\n')])


# --- qlog: 500 packets of 1,250 bytes in 5 s are 1 Mbit/s, 1.0224 with 28 bytes of IPv4 and UDP


def events(name: str = "packet_sent", lost: int = 10) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for n in range(501):
        found.append({"time": 10.0 * n, "name": f"transport:{name}", "data": {"raw": {"length": 1250}}})
        trips = {"min_rtt": 600.0 + n % 7, "latest_rtt": 600.0 + n % 7, "smoothed_rtt": 640.0}
        found.append({"time": 10.0 * n, "name": "recovery:metrics_updated", "data": trips})
    lost_ones = [{"time": 4000.0 + n, "name": "recovery:packet_lost", "data": {}} for n in range(lost)]
    return found + lost_ones


HEAD = {"qlog_version": "0.3", "qlog_format": "JSON-SEQ", "trace": {"vantage_point": {"type": "server"}}}


@pytest.mark.parametrize("form", ["seq", "lines", "whole", "draft-00"])
def test_a_qlog_gives_round_trip_rate_and_a_bound_of_the_losses(tmp_path: Path, form: str) -> None:
    rows = [["time", one["name"].split(":")[0], one["name"].split(":")[1], one["data"]] for one in events()]
    for row, one in zip(rows, events(), strict=True):
        row[0] = one["time"]
    text = {
        "seq": lines([HEAD, *events()], before="\x1e"),
        "lines": lines([HEAD, *events()]),
        "whole": json.dumps({"qlog_version": "0.3", "traces": [{"events": events()}]}),
        "draft-00": json.dumps({"qlog_version": "draft-00", "traces": [
            {"event_fields": ["relative_time", "CATEGORY", "EVENT_TYPE", "DATA"], "events": rows}]}),
    }[form]  # fmt: skip
    found = estimate([written(tmp_path / "conn.sqlog", text)])
    assert value(found, "rtt_s") == pytest.approx(0.6)
    loss, rate = found.of("loss"), found.of("rate_bps")
    assert loss is not None and rate is not None
    assert loss.low == 0.0 and 10 / 501 < loss.high < 0.04
    assert rate.bound == "least" and "did not lose" in rate.method
    assert rate.value == pytest.approx(1.0224e6 * (1 - 10 / 501), rel=0.01)


def test_a_qlog_of_a_receiver_has_what_came_through(tmp_path: Path) -> None:
    text = lines(
        [HEAD | {"file_schema": "urn:ietf:params:qlog:file:sequential"}, *events("packet_received", 0)]
    )
    found = estimate([written(tmp_path / "a", text)])
    rate = found.of("rate_bps")
    assert rate is not None and "this end received" in rate.method
    assert rate.value == pytest.approx(1.0224e6, rel=0.01)
    assert found.of("loss") is None
    with pytest.raises(bp.ScenarioError, match="a qlog without round trips and without packets"):
        estimate([written(tmp_path / "b", lines([HEAD]))])
    with pytest.raises(bp.ScenarioError, match="an event is not as qlog has it"):
        estimate([written(tmp_path / "b", lines([HEAD, {"name": "recovery:packet_lost"}]))])


# --- flent: a ping of 600 ms that swells to 900 beside two streams of 4 Mbit/s


def flent(*ways: str, lost: int = 1) -> bytes:
    steps = range(300)
    pings = [
        {"seq": n, "t": 1000 + 0.2 * n, "val": 600.0 if n < 20 else 900.0}
        for n in steps
        if not 50 <= n < 50 + lost
    ]
    results: dict[str, Any] = {"Ping (ms) ICMP": [one["val"] for one in pings] + [None] * lost}
    for way in ways:
        one = [None] * 20 + [4.0] * 280
        results |= {f"TCP {way}::1": one, f"TCP {way}::2": one, f"TCP {way} sum": [None] * 300}
        results[f"TCP {way}::1::tcp_rtt"] = [9e9] * 300
    raw = {"Ping (ms) ICMP": pings}
    data = {"metadata": {"NAME": "x"}, "version": 4, "x_values": [0.2 * n for n in steps]}
    return gzip.compress(json.dumps({**data, "results": results, "raw_values": raw}).encode())


def test_flent_gives_its_pings_and_the_sum_of_its_streams(tmp_path: Path) -> None:
    found = estimate([written(tmp_path / "a.flent.gz", flent("download"))])
    rate, loss = found.of("rate_bps"), found.of("loss")
    assert rate is not None and loss is not None
    assert (rate.value, rate.bound) == (pytest.approx(8e6 * WIRE), "")
    assert value(found, "rtt_s") == 0.6
    assert loss.low == 0.0 and 1 / 300 < loss.high < 0.02
    both = estimate([written(tmp_path / "b", flent("download", "upload"))]).of("rate_bps")
    assert both is not None and both.bound == "least" and "beside an upload at once" in both.method
    up = estimate([written(tmp_path / "c", flent("upload"))]).of("rate_bps")
    assert up is not None and up.bound == "least" and "as the sender's socket took it" in up.method
    with pytest.raises(bp.ScenarioError, match="data of flent without pings and without streams of TCP"):
        empty = {"metadata": {}, "version": 4, "x_values": [], "results": {"HTTP latency": [1.0]}}
        estimate([written(tmp_path / "d", json.dumps(empty))])


# --- ss -tin


SS = """State  Recv-Q  Send-Q  Local Address:Port  Peer Address:Port
ESTAB  0  0  192.0.2.1:22  192.0.2.8:50000
\t cubic wscale:7,7 rtt:9.5/0.5 mss:1448 cwnd:10 bytes_acked:5000 segs_out:20 data_segs_out:10 minrtt:9
ESTAB  0  900000  192.0.2.1:5201  192.0.2.9:40000
\t bbr wscale:7,7 rto:1004 rtt:{rtt}/3.1 ato:40 mss:1448 pmtu:1500 cwnd:300 bytes_sent:9000000\
 bytes_acked:8900000 segs_out:6300 data_segs_out:6215 bbr:(bw:7.5Mbps,mrtt:600.5,pacing_gain:1) send 5.8Mbps\
 pacing_rate 7Mbps delivery_rate {rate} delivered:6200 busy:20000ms unacked:200 retrans:0/20 minrtt:{least}
ESTAB  0  0  127.0.0.1:80  127.0.0.1:4000
\t cubic rtt:0.05/0.01 mss:65483 cwnd:10 bytes_acked:99000000000 data_segs_out:9 minrtt:0.01
"""


def test_ss_gives_what_the_kernel_knows_of_the_connection_that_sent_most(tmp_path: Path) -> None:
    first = SS.format(rtt=610.2, rate="7.4Mbps", least=601.5)
    found = estimate([written(tmp_path / "a", first + SS.format(rtt=615, rate="7240000bps", least=600.5))])
    assert value(found, "rtt_s") == pytest.approx(0.6005)
    rate, loss = found.of("rate_bps"), found.of("loss")
    assert rate is not None and loss is not None
    assert rate.value == pytest.approx(7.5e6 * WIRE) and rate.bound == "least"
    assert "of the connection that sent most, of 2" in rate.method
    assert loss.low == 0.0 and 20 / 6215 < loss.high < 0.006


def test_advice_takes_such_a_file(cli: Any, tmp_path: Path) -> None:
    place = written(tmp_path / "ndt7.jsonl", lines(ndt7()))
    done = cli("advise", "--measured", place, "--cc", "vegas", "--plan", "3x1x2s", "--json")
    assert done.exit_code == 0, done.stderr
    assert any("(ndt7.jsonl)" in line for line in json.loads(done.stdout)["assumptions"])
