"""Captures show TCP as the RFCs allow it: each packet says what its host has sent and heard."""

import shutil
import subprocess

import pytest

import bentpipe as bp

FIELDS = {
    "stream": "tcp.stream",
    "src": "ip.src",
    "flags": "tcp.flags",
    "seq": "tcp.seq",
    "ack": "tcp.ack",
    "len": "tcp.len",
    "window": "tcp.window_size",
    "tsval": "tcp.options.timestamp.tsval",
    "tsecr": "tcp.options.timestamp.tsecr",
    "mss": "tcp.options.mss_val",
    "acked_lost": "tcp.analysis.ack_lost_segment",
    "lost": "tcp.analysis.lost_segment",
}
FIN, SYN, ACK = 1, 2, 16


def read_by_tshark(file):
    """The packets of TCP in a capture: their fields, as tshark reads them. Its numbers begin at each SYN."""
    tshark = shutil.which("tshark")
    if tshark is None:
        pytest.skip("tshark is not installed")
    asked = [word for field in FIELDS.values() for word in ("-e", field)]
    command = [tshark, "-r", str(file), "-T", "fields", *asked, "tcp"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    packets = [dict(zip(FIELDS, line.split("\t"), strict=True)) for line in said.splitlines()]
    for packet in packets:
        packet["flags"] = int(packet["flags"], 16)
        for name in ("seq", "ack", "len", "window", "tsval", "tsecr"):
            packet[name] = int(packet[name] or 0)
    return packets


def captured(tmp_path, table, at):
    file = tmp_path / f"{at}.pcapng"
    result = bp.run(table, pcap=bp.Capture(file, at=at))
    return result, read_by_tshark(file)


def breaches(packets, *, host=None):
    """What the packets of one connection break, in words; `host` is the address at which they were seen.

    A packet from `host` is judged by what had arrived there. One from the other end may acknowledge all that
    `host` had sent.
    """
    found = []
    sent, acked, edge, stamps, recent = {}, {}, {}, {}, {}
    for number, packet in enumerate(packets, start=1):
        src, flags, seq, ack = packet["src"], packet["flags"], packet["seq"], packet["ack"]
        other = next((one["src"] for one in packets if one["src"] != src), None)
        beyond = seq + packet["len"] + bool(flags & SYN) + bool(flags & FIN)
        if flags & ACK:
            if ack > sent.get(other, 0):
                found.append(f"{number}: acknowledges {ack}, but {sent.get(other, 0)} is the end of the data")
            if ack < acked.get(src, 0):
                found.append(f"{number}: its acknowledgement goes back from {acked[src]} to {ack}")
            if not flags & SYN and ack + packet["window"] < edge.get(src, 0):
                found.append(
                    f"{number}: the window's edge goes back from {edge[src]} to {ack + packet['window']}"
                )
            acked[src] = max(acked.get(src, 0), ack)
            edge[src] = max(edge.get(src, 0), ack + packet["window"])
            if packet["tsecr"] not in stamps.get(other, ()):
                found.append(f"{number}: echoes {packet['tsecr']}, which {other} has not sent")
            if src == host and packet["tsecr"] < recent.get(src, 0):
                found.append(f"{number}: echoes {packet['tsecr']}, older than the handshake's")
        if not packet["len"] and not flags & (SYN | FIN) and seq < sent.get(src, 0):
            found.append(f"{number}: carries nothing and has number {seq}, but {sent[src]} is next")
        if other in edge and packet["len"] and beyond > edge[other]:
            found.append(f"{number}: data to {beyond} is beyond the window's edge, {edge[other]}")
        sent[src] = max(sent.get(src, 0), beyond)
        stamps.setdefault(src, set()).add(packet["tsval"])
        if seq <= 1 and not packet["len"]:
            recent[other] = max(recent.get(other, 0), packet["tsval"])
    return found


def connections(packets):
    """The packets of each connection."""
    streams = {}
    for packet in packets:
        streams.setdefault(packet["stream"], []).append(packet)
    return list(streams.values())


def link(**given):
    return {"a": {"rate": "1 Mbit/s", "delay": "50 ms", **given}}


def multipath(tmp_path):
    """8,597 bytes are six segments of 1,428 and one of 29, on either subflow."""
    flow = {"cc": "reno", "path": ["a"], "traffic": {"kind": "bulk", "size": "8597 bytes"}}
    return {"duration": "5 s", "link": link(), "flow": [{**flow, "subflow": [{"path": ["a"]}]}]}


def first_lost(tmp_path):
    """The receiver answers to what comes behind a hole before it has any data."""
    (tmp_path / "first.txt").write_text("2\n3\n", encoding="utf-8")
    loss = {"kind": "trace", "file": str(tmp_path / "first.txt")}
    flow = {"cc": "reno", "path": ["a"], "start": "1 s"}
    return {"duration": "4 s", "link": link(loss=loss), "flow": [flow]}


def both(tmp_path, **given):
    return {
        "duration": "4 s",
        "link": link(),
        "flow": [{"cc": "bic", "path": ["a"], "start": "1 s", **given}],
    }


def both_without_end(tmp_path):
    return both(tmp_path, both_ways=True)


def an_answer(tmp_path):
    """Both ends close, and a delayed acknowledgement is still to come."""
    return both(tmp_path, stop="2.5 s", both_ways=True, acks="rfc5681", recovery="tahoe")


def answers_repeated(tmp_path):
    """The delay grows during the handshake, so the SYN-ACK is sent again while the first one is answered."""
    table = both(tmp_path, both_ways=True, cc="reno", start="0 s")
    delay = [["0 s", "90 ms"], ["0.1 s", "600 ms"], ["1.2 s", "400 ms"]]
    return table | {"duration": "8 s", "link": link(rate="10 Mbit/s", delay=delay)}


def relay(tmp_path, **given):
    """The relay's window moves by bytes, and the last segment is short."""
    flow = {"cc": "reno", "path": ["a", "b"], "traffic": {"kind": "bulk", "size": "200001 bytes"}}
    links = link(rate="4 Mbit/s") | {"b": {"rate": "300 kbit/s", "delay": "20 ms"}}
    flow |= {"relay": {"at": "a", "buffer": "70000 bytes"}, **given}
    return {"duration": "12 s", "link": links, "flow": [flow]}


def slow_reader(tmp_path):
    return relay(tmp_path, relay="none", read_rate="200 kbit/s", receive_window="45 segments")


CASES = [multipath, first_lost, both_without_end, an_answer, answers_repeated, relay, slow_reader]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("at", ["sender", "receiver"])
def test_every_connection_is_legal(tmp_path, case, at):
    table = case(tmp_path)
    if table["flow"][0].get("relay") == "none":
        del table["flow"][0]["relay"]
    _, packets = captured(tmp_path, table, at)
    assert len(packets) > 10
    for connection in connections(packets):
        opener = connection[0]["src"]
        host = opener if at == "sender" else next(p["src"] for p in connection if p["src"] != opener)
        assert breaches(connection, host=host) == []


def test_a_connection_of_subflows_shows_its_bytes_once(tmp_path):
    _, packets = captured(tmp_path, multipath(tmp_path), "sender")
    assert sum(packet["len"] for packet in packets) == 8597
    assert not any(packet["acked_lost"] or packet["lost"] for packet in packets)


@pytest.mark.parametrize(("timestamps", "payload"), [(True, 1448), (False, 1460)])
def test_the_segment_size_does_not_count_options(tmp_path, timestamps, payload):
    """RFC 6691: both ends say 1460 over 1500 bytes, whatever options the segments carry."""
    flow = {
        "cc": "reno",
        "path": ["a"],
        "timestamps": timestamps,
        "traffic": {"kind": "bulk", "size": "100 kB"},
    }
    flow |= {} if timestamps else {"mss": "1460 bytes"}
    _, packets = captured(tmp_path, {"duration": "4 s", "link": link(), "flow": [flow]}, "sender")
    assert {packet["mss"] for packet in packets if packet["flags"] & SYN} == {"1460"}
    assert max(packet["len"] for packet in packets) == payload
