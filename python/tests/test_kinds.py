"""Files that are recognised by their content, for every verb; and what is said of the others."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import bentpipe as bp
from bentpipe.io import kinds
from bentpipe.measured import estimate

UNIX = "PING 192.0.2.1 (192.0.2.1): 56 data bytes\n" + "".join(
    f"64 bytes from 192.0.2.1: icmp_seq={seq} ttl=52 time={600 + seq}.123 ms\n" for seq in range(4)
)
WINDOWS = (
    "\nPinging 192.0.2.1 with 32 bytes of data:\nReply from 192.0.2.1: bytes=32 time=610ms TTL=52\n"
    "Request timed out.\nReply from 192.0.2.1: bytes=32 time=600ms TTL=52\n"
    "Reply from 192.0.2.1: bytes=32 time=620ms TTL=52\n\nPing statistics for 192.0.2.1:\n"
    "    Packets: Sent = 4, Received = 3, Lost = 1 (25% loss),\n"
    "Approximate round trip times in milli-seconds:\n    Minimum = 600ms, Maximum = 620ms, Average = 610ms\n"
)
FPING = "".join(
    f"[{1000 + 0.2 * seq:.5f}] 192.0.2.1 : [{seq}], 64 bytes, 600 ms (600 avg, 0% loss)\n" for seq in range(4)
)
FILES = {
    "capture": b"\xd4\xc3\xb2\xa1\x02\x00\x04\x00" + bytes(16),
    "iperf3": '{"event": "start", "data": {}}\n{"event": "interval", "data": {}}\n',
    "nuttcp": "    3.1875 MB /   0.50 sec =   53.4737 Mbps     0 retrans\n",
    "ping": UNIX,
    "irtt": '{"version": {}, "round_trips": []}',
    "atlas": '[{"fw": 5080, "prb_id": 1, "msm_id": 2, "timestamp": 1, "result": []}]',
    "dish": 'asked at 10:00\n{"id": "1", "dishGetHistory": {"current": "5"}}\n',
    "ndt7": '{"Key": "starting", "Value": {"Test": "download"}}\n',
    "qlog": '\x1e{"qlog_version": "0.3", "qlog_format": "JSON-SEQ"}\n',
    "flent": gzip.compress(b'{"metadata": {}, "results": {}, "x_values": [], "version": 4}'),
    "ss": "ESTAB 0 0 192.0.2.1:52 192.0.2.9:4000\n\t cubic wscale:7,7 rtt:601.2/3.1 cwnd:3 bytes_acked:9\n",
    "conext23": "time,throughput\n2023-04-12 10:40:20 CDT,93.5\n",
    "autobahn": "timestamp_start_dl,download\n2024-04-19 10:00:00,93.5\n",
    "leoem": "1$NULL\n2$NULL\n",
    "mahimahi": "0\n5\n5\n150\n",
    "leoreplayer": "24\n25\n23\n",
    "csv": "Zeit;Rate\n0;10,5\n",
    "timeline": "t_s,rate_bps\n0,5\n",
    "scenario": 'duration = "1 s"\n[link.a]\nrate = "1 Mbit/s"\n',
    "parquet": b"PAR1" + bytes(20),
    "tle": "1 25544U 98067A   08264.51782528 -.00002182  00000-0 -11606-4 0  2927\n2 25544\n",
    "omm-json": '[{"OBJECT_NAME": "A", "EPOCH": "2026-01-01", "MEAN_MOTION": 15.1}]',
    "omm-csv": '"OBJECT_NAME","EPOCH","MEAN_MOTION"\n"A","2026-01-01","15.1"\n',
    "omm-kvn": "CCSDS_OMM_VERS = 2.0\nOBJECT_NAME = A\n",
    "omm-xml": '<?xml version="1.0"?>\n<ndm>\n<omm>\n',
    "json": '{"a": 1}',
}


def written(place: Path, content: str | bytes) -> Path:
    place.write_bytes(content if isinstance(content, bytes) else content.encode())
    return place


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("called", ["a.txt", "a.csv", "a"])
def test_a_file_is_recognised_whatever_its_name(tmp_path: Path, name: str, called: str) -> None:
    found = kinds.kind(written(tmp_path / called, FILES[name]))
    assert found is not None and found.name == name


@pytest.mark.parametrize("text", ["hello\n", "root:x:0:0:root:/root:/bin/bash\n", "7\n7\n", "a,b\n"])
def test_anything_else_is_not(tmp_path: Path, text: str) -> None:
    assert kinds.kind(written(tmp_path / "a", text)) is None


TAKEN = {
    "advise": {"capture", "iperf3", "ping", "irtt", "atlas", "dish", "ndt7", "qlog", "flent", "ss"},
    "import": {
        "iperf3", "nuttcp", "ping", "irtt", "atlas", "dish", "conext23", "autobahn", "leoem", "mahimahi",
        "leoreplayer", "csv",
    },
    "orbit": {"tle", "omm-json", "omm-csv", "omm-kvn", "omm-xml"},
}  # fmt: skip


@pytest.mark.parametrize("verb", TAKEN)
@pytest.mark.parametrize("name", FILES)
def test_a_verb_that_cannot_use_a_file_says_what_it_is_and_who_takes_it(
    cli: Any, tmp_path: Path, verb: str, name: str
) -> None:
    place = written(tmp_path / "a.txt", FILES[name])
    given = {
        "advise": ("advise", "--measured", place),
        "import": ("timeline", "import", place, "--out", tmp_path / "x.csv"),
        "orbit": ("orbit", "path", "beijing", "new-york", "--tle", place, "--for", "1 min"),
    }[verb]
    if name in TAKEN[verb]:
        return
    done = cli(*given)
    assert done.exit_code == 2 and done.stderr.count("\n") == 1
    if verb == "orbit" and isinstance(FILES[name], bytes):
        assert "a.txt: it is" in done.stderr  # no text, or what it is
        return
    known = kinds.kind(place)
    assert known is not None
    assert f"a.txt: it is {known.words}, " in done.stderr and known.taken_by in done.stderr


def test_a_reader_that_is_named_does_not_deny_what_the_file_is(tmp_path: Path) -> None:
    place = written(tmp_path / "a.txt", FILES["ndt7"])
    with pytest.raises(bp.ScenarioError, match=r"it has no reply; it is a measurement by NDT7: bentpipe adv"):
        bp.timeline.read_trace(place, "ping")
    place.write_text(UNIX)
    for format in ("nuttcp", "iperf3"):
        with pytest.raises(bp.ScenarioError, match="it has no intervals; it is the output of ping or fping"):
            bp.timeline.read_trace(place, format)


def test_a_file_of_no_known_kind_is_asked_for_before_the_place_of_the_time_line(
    cli: Any, tmp_path: Path
) -> None:
    place = written(tmp_path / "passwd", "root:x:0:0:root:/root:/bin/bash\n")
    done = cli("timeline", "import", place)
    assert done.exit_code == 2 and "passwd: no format is recognised in it; say which" in done.stderr
    assert "root" not in done.stderr.replace(str(tmp_path), "")
    done = cli("timeline", "import", written(tmp_path / "p", FPING))
    assert done.exit_code == 2 and "--out FILE is missing" in done.stderr
    done = cli("timeline", "import", tmp_path / "p", "--out", tmp_path / "x.csv")
    assert done.exit_code == 0 and done.stdout.rstrip().endswith("read as ping")


@pytest.mark.parametrize("copy", ["again.json", "again.json.gz", "server.json", "link.json"])
def test_a_measurement_counts_once_under_whatever_name(cli: Any, tmp_path: Path, copy: str) -> None:
    report = json.loads((Path(__file__).parent / "measured" / "clean-iperf3.json").read_text())
    report["start"]["cookie"] = "7abcdefghijklmnopqrstuvwxyz234567abc"
    real, other = tmp_path / "test.json", tmp_path / copy
    real.write_text(json.dumps(report))
    if copy == "link.json":
        other.symlink_to(real)
    elif copy == "server.json":  # another report of the same test
        other.write_text(json.dumps(report | {"title": "server"}))
    else:
        other.write_bytes(gzip.compress(real.read_bytes()) if copy.endswith("gz") else real.read_bytes())
    done = cli("advise", "--measured", real, other)
    assert done.exit_code == 2 and done.stderr.count("\n") == 1
    assert f"{other}: it is " in done.stderr and "test.json, and would count twice" in done.stderr


# --- pings


def delays(tmp_path: Path, text: str | bytes, **options: Any) -> dict[str, list[Any]]:
    frame = bp.timeline.read_trace(written(tmp_path / "a.txt", text), "ping", **options)
    return frame.to_dict(as_series=False)


MACOS = UNIX + (
    "Request timeout for icmp_seq 4\n\n--- 192.0.2.1 ping statistics ---\n"
    "5 packets transmitted, 4 packets received, 20.0% packet loss\n"
)


def test_pings_that_count_from_zero_and_end_without_a_duration(tmp_path: Path) -> None:
    with pytest.raises(
        bp.ScenarioError, match='the summary of this ping has no duration; say --interval "1 s"'
    ):
        delays(tmp_path, MACOS)
    busybox = MACOS.replace("icmp_seq=", "seq=").replace("Request timeout for icmp_seq 4\n", "")
    for text in (MACOS, busybox):
        found = delays(tmp_path, text, interval_s=0.5)
        assert found["t_s"] == [0.0, 0.5, 1.0, 1.5]
        assert found["delay_s"] == pytest.approx([0.3000615 + 0.0005 * seq for seq in range(4)])
        assert set(found["loss_rate"]) == {1 / 5}
        measured = estimate([tmp_path / "a.txt"])
        loss = measured.of("loss")
        assert loss is not None and loss.value == 1 / 5 and loss.method.endswith("1 s apart, as is usual")
    without = delays(tmp_path, UNIX.replace("icmp_seq=0 ", "icmp_seq=9 "), interval_s=0.5)
    assert without["t_s"][0] == 0.0  # the probes from 0 to the first reply are lost


def test_ping_of_windows_in_any_language(tmp_path: Path) -> None:
    found = delays(tmp_path, WINDOWS)
    assert found["t_s"] == [0.0, 2.0, 3.0]
    assert found["delay_s"] == pytest.approx([0.305, 0.3, 0.31])
    assert set(found["loss_rate"]) == {1 / 4}
    german = WINDOWS.replace(
        "Pinging 192.0.2.1 with 32 bytes of data", "Ping wird ausgeführt für 192.0.2.1 mit 32 Bytes Daten"
    )
    german = german.replace("Reply from", "Antwort von").replace("bytes=32 time", "Bytes=32 Zeit")
    german = german.replace("Request timed out", "Zeitüberschreitung der Anforderung")
    for text in (german.encode("cp850"), german.encode("utf-16"), german.encode()):
        assert delays(tmp_path, text) == found
        assert kinds.kind(tmp_path / "a.txt").name == "ping"  # type: ignore[union-attr]
    short = WINDOWS.replace("time=600ms", "time<1ms")
    assert delays(tmp_path, short)["delay_s"][1] == pytest.approx(0.00025)


def test_fping_has_timeouts_and_several_hosts(tmp_path: Path) -> None:
    lost = FPING.replace("[2], 64 bytes, 600 ms", "[2], timed out")
    found = delays(tmp_path, lost)
    assert found["t_s"] == pytest.approx([0.0, 0.2, 0.6])
    assert set(found["loss_rate"]) == {1 / 4}
    assert (
        delays(tmp_path, lost + "192.0.2.1 : [4], timed out (NaN avg, 100% loss)\n")["loss_rate"][0] == 2 / 5
    )
    with pytest.raises(bp.ScenarioError, match="line 5: it has probes of several hosts"):
        delays(tmp_path, FPING + FPING.replace("192.0.2.1", "192.0.2.2"))
    plain = "".join(line.partition("] ")[2] + "\n" for line in FPING.splitlines())
    with pytest.raises(bp.ScenarioError, match='say --interval "1 s", or measure with fping -D'):
        delays(tmp_path, plain)


def test_pings_of_ripe_atlas(tmp_path: Path) -> None:
    """Of 4 results of 3 probes one has a lost one, which is no outage until the next result."""
    results = [
        {
            "prb_id": 7, "msm_id": 1, "from": "192.0.2.1", "dst_addr": "192.0.2.9",
            "timestamp": 1000 + 240 * n,
            "result": [{"rtt": 600.0 + n}, {"rtt": 610.0}, {"x": "*"} if n == 1 else {"rtt": 605.0}],
        }
        for n in range(4)
    ]  # fmt: skip
    place = tmp_path / "a.json"
    for text in (json.dumps(results), "\n".join(map(json.dumps, results))):
        frame = bp.timeline.read_trace(written(place, text))
        assert frame["t_s"].to_list()[:4] == [0.0, 1.0, 2.0, 240.0]
        assert frame["delay_s"].to_list()[:2] == [0.3, 0.305]
        assert set(frame["loss_rate"]) == {1 / 12} and "up" not in frame.columns
        found = estimate([place])
        rtt, loss = found.of("rtt_s"), found.of("loss")
        assert rtt is not None and loss is not None and (rtt.value, loss.value) == (0.6, 1 / 12)
    other = [*results, results[0] | {"prb_id": 8, "from": "192.0.2.2"}]
    with pytest.raises(bp.ScenarioError, match="2 probes towards 1 addresses, which are several paths"):
        bp.timeline.read_trace(written(place, json.dumps(other)))


# --- tables


@pytest.mark.parametrize(
    "text",
    [
        "when,down,ping\n0,10.5,612\n1,11.25,615\n",
        "when;down;ping\n0;10,5;612\n1;11,25;615\n",
        "when\tdown\tping\n0\t10.5\t612\n1\t11,25\t615\n",
        "when  down  ping\n0.0  10.5  612\n1.0  11.25  615\n",
        "# a comment\nDATA_HEADER; when; down; ping\nDATA; 0; 10.5; 612\nINFO; x\nDATA; 1; 11.25; 615\n",
    ],
)
def test_tables_with_any_separator_and_a_decimal_comma(tmp_path: Path, text: str) -> None:
    place = written(tmp_path / "a.txt", text)
    frame = bp.timeline.read_trace(place, columns="t=when:s, rate=down:Mbit/s, rtt=ping:ms")
    assert frame["rate_bps"].to_list() == [10.5e6, 11.25e6]
    assert frame["delay_s"].to_list() == [0.306, 0.3075]


def test_a_table_without_a_head_has_numbered_columns(tmp_path: Path) -> None:
    place = written(tmp_path / "a.txt", "0.000000 2.0\n0.500000 2.25\n")
    frame = bp.timeline.read_trace(place, columns="t=1:s, rate=2:Mbit/s")
    assert frame["rate_bps"].to_list() == [2e6, 2.25e6]
    with pytest.raises(bp.ScenarioError, match="has no column 3; it has 1, 2"):
        bp.timeline.read_trace(place, columns="t=1:s, rate=3:Mbit/s")
    with pytest.raises(bp.ScenarioError, match=r"one cell, nothing divides it \(tab, semicolon, comma or bl"):
        bp.timeline.read_trace(written(tmp_path / "b", "secret\nwords\n"), "csv", columns="t=1:s, rate=2:s")


# --- the dish


def history(rtts: list[float], drops: list[float], current: int, **more: Any) -> str:
    of = {"current": str(current), "popPingLatencyMs": rtts, "popPingDropRate": drops, **more}
    return json.dumps({"apiVersion": "42", "dishGetHistory": of})


def test_the_history_of_a_dish_has_round_trips_and_drops(tmp_path: Path) -> None:
    """A ring of 4 after 6 seconds: the oldest of its seconds is in place 2."""
    place = written(tmp_path / "a", history([44, 46, 40, 0], [0.1, 0, 0, 1], 6))
    frame = bp.timeline.read_trace(place)
    assert frame.to_dict(as_series=False) == {
        "t_s": [0.0, 1.0, 2.0, 3.0, 4.0], "delay_s": [0.02, 0.02, 0.022, 0.023, 0.023],
        "loss_rate": [0.0, 1.0, 0.1, 0.0, 0.0],
    }  # fmt: skip
    found = estimate([place])
    rtt, loss = found.of("rtt_s"), found.of("loss")
    assert rtt is not None and loss is not None
    assert rtt.value == 0.04 and loss.value == pytest.approx(0.1 / 3)  # without the outage
    young = written(tmp_path / "b", history([30, 32, 0, 0], [0, 0, 0, 0], 2))
    assert bp.timeline.read_trace(young)["delay_s"].to_list() == [0.015, 0.016, 0.016]
    outage = {"startTimestampNs": "1471255200000000000", "durationNs": "420000000", "cause": "NO_SCHEDULE"}
    both = written(tmp_path / "c", history([30, 32], [0, 0], 2, outages=[outage]))
    assert "delay_s" in bp.timeline.read_trace(both).columns
    assert bp.timeline.read_trace(both, "dish-outages")["t_s"][-1] == pytest.approx(0.42, abs=1e-6)
    for text, said in (
        (history([30], [0, 0], 2), "popPingLatencyMs has 1 values, popPingDropRate 2"),
        (history([30, 31], [0, 2], 2), "second 2 of popPingLatencyMs or popPingDropRate is out of range"),
        (history(["x", 31], [0, 0], 2), "should be lists of numbers"),  # type: ignore[list-item]
    ):
        with pytest.raises(bp.ScenarioError, match=said):
            bp.timeline.read_trace(written(tmp_path / "d", text))
