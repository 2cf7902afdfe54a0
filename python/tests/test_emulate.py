"""Emulated links: real programs behind the simulator's own directions.

Times are bounded only from below, or by the round trip of another flow.
"""

from __future__ import annotations

import contextlib
import gc
import json
import math
import os
import pty
import re
import shlex
import signal
import socket
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path
from shutil import which

import forked
import pytest
from privilege import needs_root

import bentpipe as bp
from bentpipe._core import ScenarioError
from bentpipe.emulation.commands import against_the_data, line_text, short
from bentpipe.emulation.scene import prepared
from bentpipe.emulation.session import Emulation, whole


def scenario(**keys):
    """A link of 10 Mbit/s and 10 ms, without flows."""
    link = {"rate": "10 Mbit/s", "delay": "10 ms", "queue": {"kind": "drop-tail", "limit": "500 packets"}}
    return {"link": {"sat": {**link, **keys}}}


def pings(emulation, *options, side="near"):
    """Round trips in seconds, as ping says them."""
    peer = {"near": emulation.peer, "far": emulation.addresses[0][0]}[side]
    with emulation.popen(["ping", *options, peer], side=side, stdout=subprocess.PIPE, text=True) as ping:
        said = ping.communicate(timeout=20)[0]
    return [float(row.split("time=")[1].split()[0]) / 1e3 for row in said.splitlines() if "time=" in row]


def verb(*args, **given):
    command = [sys.executable, "-m", "bentpipe", "emulate", *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, **given)


@pytest.fixture
def sat(tmp_path):
    file = tmp_path / "sat.toml"
    file.write_text('[link.sat]\nrate = "10 Mbit/s"\ndelay = "10 ms"\n')
    return file


def balance(way):
    """All packets that were read are somewhere."""
    refused = way["refused_protocol"] + way["refused_size"]
    gone = way["dropped_queue"] + way["dropped_error"] + refused
    assert (
        way["read_packets"] == way["delivered_packets"] + way["refused_kernel"] + gone + way["inside_packets"]
    )


def packets(path):
    """The packets of a capture: interface, and bytes."""
    content, at, found = path.read_bytes(), 0, []
    while at < len(content):
        kind, length = struct.unpack_from("<II", content, at)
        if kind == 6:
            interface, _, _, kept, _ = struct.unpack_from("<IIIII", content, at + 8)
            found.append((interface, content[at + 28 : at + 28 + kept]))
        at += length
    return found


def send(emulation, count, size=972, tos=0, pause_s=0.0):
    """Sends numbered datagrams from the near end; those that arrived, as (number, codepoint)."""
    received = []

    def listen():
        far = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        far.setsockopt(socket.SOL_SOCKET, 33, 1 << 23)  # SO_RCVBUFFORCE
        far.setsockopt(socket.IPPROTO_IP, 13, 1)  # IP_RECVTOS
        far.bind(("10.77.0.2", 5000))
        far.settimeout(1)
        return far

    far = emulation.within("far", listen)

    def speak():
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as near:
            near.setsockopt(socket.SOL_SOCKET, 32, 1 << 23)  # SO_SNDBUFFORCE
            near.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, tos)
            for number in range(count):
                near.sendto(struct.pack("!I", number).ljust(size, b"\0"), ("10.77.0.2", 5000))
                if pause_s:
                    time.sleep(pause_s)

    emulation.within("near", speak)
    with far:
        while True:
            try:
                data, more, _, _ = far.recvmsg(2000, 100)
            except TimeoutError:
                return received
            codepoint = [value[0] & 3 for level, kind, value in more if (level, kind) == (0, 1)]
            received.append((struct.unpack_from("!I", data)[0], codepoint[0] if codepoint else 0))


@needs_root
def test_a_round_trip_is_that_of_the_link_and_all_packets_are_accounted_for():
    with Emulation(scenario()) as emulation:
        trips = pings(emulation, "-c", "5", "-i", "0.05")
        seen = emulation.snapshot()
    assert len(trips) == 5
    assert min(trips) >= 0.020
    assert seen["forward"]["delivered_packets"] == seen["reverse"]["delivered_packets"] == 5
    assert seen["forward"]["rate_bps"] > 0
    report = emulation.report()
    for way in ("forward", "reverse"):
        balance(report[way])
        row = report[way]
        assert row["delivered_bytes"] == 5 * 84
        assert sum(count for _, count in row["lateness"]) == 5
        assert 0 <= row["lateness_p50_s"] <= row["lateness_p99_s"] <= row["lateness_max_s"]
    assert report["t_s"] > seen["t_s"]
    assert emulation.snapshot() == report


@needs_root
def test_flows_have_round_trips_of_their_own():
    """The third flow's jitter is of up to 150 ms: that ten draws are all below 30 ms has a chance of 1e-7."""
    flows = [
        {},
        {"name": "second", "extra_delay": "40 ms"},
        {"ack_jitter": "150 ms"},
        {"path": ["sat/reverse"]},
    ]
    flows = [{"cc": "reno", "path": ["sat"], **flow} for flow in flows]
    with Emulation({**scenario(), "flow": flows}) as emulation:
        assert emulation.peers == {0: "10.77.0.2", 1: "10.77.0.3", 2: "10.77.0.4"}
        assert emulation.peers[0] == emulation.peer
        listener = emulation.within("far", lambda: socket.create_server(("", 0)))
        port = listener.getsockname()[1]

        def handshake(address):
            with emulation.within("near", socket.socket) as near:
                near.settimeout(10)
                began = time.monotonic()
                near.connect((address, port))
                took = time.monotonic() - began
                listener.accept()[0].close()
            return took

        with listener:
            first, second, third = (
                [handshake(address) for _ in range(10)] for address in emulation.peers.values()
            )
        # What the far end sends without a choice comes from the first address.
        back = pings(emulation, "-c", "5", "-i", "0.1", side="far")
    assert 0.02 <= min(first) < 0.1 <= min(second)
    assert 0.02 <= min(back) < 0.1
    assert min(third) >= 0.02 and max(third) > 0.05
    balance(emulation.report()["forward"])
    assert [hop["name"] for hop in emulation.report()["forward"]["hops"]] == ["access/second", "sat/forward"]


@needs_root
def test_the_packets_that_are_lost_are_those_of_the_simulation(tmp_path):
    count, rate = 2000, 0.01
    table = {**scenario(loss={"kind": "packet-error", "rate": rate}, rate="100 Mbit/s"), "seed": 11}
    table["link"]["sat"]["queue"]["limit"] = "5000 packets"
    traffic = {"kind": "cbr", "rate": "10 Mbit/s", "packet": "1000 bytes"}
    flow = [{"path": ["sat"], "traffic": traffic}]
    simulated = bp.run(
        {**table, "flow": flow, "duration": "2 s"}, pcap=bp.Capture(tmp_path / "s.pcapng", "receiver")
    )
    arrived = {struct.unpack_from("!H", data, 4)[0] for _, data in packets(tmp_path / "s.pcapng")}
    sent = simulated.json["flows"][0]["sent_packets"]
    horizon = min(count, sent - 100)  # the last may be under way
    lost = {number for number in range(horizon) if number not in arrived}
    assert abs(len(lost) - horizon * rate) < 4 * math.sqrt(horizon * rate)
    with Emulation(table) as emulation:
        received = {number for number, _ in send(emulation, count)}
    missing = {number for number in range(horizon) if number not in received}
    assert missing == lost
    row = emulation.report()["forward"]
    assert row["dropped_error"] == count - len(received)
    assert (row["dropped_queue"], row["read_packets"]) == (0, count)
    balance(row)
    with Emulation(table, seed=12) as emulation:
        other = {number for number, _ in send(emulation, count)}
    assert other != received


@needs_root
def test_marks_reach_the_other_end_with_their_checksum_right():
    queue = {"kind": "codel", "limit": "500 packets", "target": "5 ms", "interval": "20 ms", "ecn": True}
    with Emulation(scenario(queue=queue, rate="4 Mbit/s")) as emulation:
        received = send(emulation, 300, tos=2)
    row = emulation.report()["forward"]
    # The kernel drops what has a wrong checksum.
    assert len(received) == row["delivered_packets"] == 300
    assert sum(codepoint == 3 for _, codepoint in received) == row["marked"] > 0
    assert {codepoint for _, codepoint in received} == {2, 3}


@needs_root
def test_a_full_queue_drops_and_says_so():
    queue = {"kind": "drop-tail", "limit": "20 packets"}
    with Emulation(scenario(queue=queue, rate="2 Mbit/s")) as emulation:
        received = send(emulation, 200)
    row = emulation.report()["forward"]
    assert 20 <= len(received) < 200
    assert row["dropped_queue"] == 200 - len(received)
    balance(row)


@needs_root
def test_each_way_has_its_own_rate():
    with Emulation(scenario(reverse={"rate": "100 kbit/s"})) as emulation:
        small, large = (pings(emulation, "-c", "1", "-s", size) for size in ("16", "1400"))
    # 1428 bytes take 1.1 ms there and 114 ms back.
    assert small[0] >= 0.020 + 44 * 8 / 1e5
    assert large[0] >= 0.020 + 1428 * 8 / 1e5 + 1428 * 8 / 1e7


@needs_root
def test_a_time_line_and_its_trace(tmp_path):
    delay = [["0 s", "20 ms"], ["1 s", "150 ms"]]
    given = scenario(delay=delay, nominal={"delay": "20 ms"})
    with Emulation(given, trace=True, pcap=tmp_path / "x.pcapng") as emulation:
        before = pings(emulation, "-c", "1")
        while emulation.snapshot()["t_s"] < 1.1:
            time.sleep(0.05)
        after = pings(emulation, "-c", "1")
    assert before[0] >= 0.040
    assert after[0] >= 0.300
    result = emulation.result()
    result.save(tmp_path / "result")
    stored = bp.Result.load(tmp_path / "result")
    trace = stored.link_trace
    simulated = bp.run({**given, "duration": "2 s", "flow": [{"cc": "reno", "path": ["sat"]}],
                        "record": {"interval": "100 ms", "links": True}})  # fmt: skip
    assert trace.schema == simulated.link_trace.schema
    assert stored.links.schema == simulated.links.schema
    assert trace["delay_s"].unique().sort().to_list() == [0.02, 0.15]
    assert trace["t_s"].unique().sort().to_list()[:3] == [0.0, 0.1, 0.2]
    assert trace["delivered_packets"].max() == 2
    assert stored.links["delivered_packets"].to_list() == [2, 2]
    seen = packets(tmp_path / "x.pcapng")
    assert [interface for interface, _ in seen] == [0, 1, 0, 1]
    assert {data[:1] for _, data in seen} == {b"\x45"}
    from bentpipe import plot

    plot.queue(stored)


@needs_root
def test_a_capture_that_tshark_reads(tmp_path):
    if which("tshark") is None:
        pytest.skip("tshark is not installed")
    file = tmp_path / "x.pcapng"
    with Emulation(scenario(), pcap=bp.Capture(file, at="sat", whole=True)) as emulation:
        pings(emulation, "-c", "2", "-i", "0.05")
    done = subprocess.run(
        ["tshark", "-r", str(file), "-o", "ip.check_checksum:TRUE", "-T", "fields",
         "-e", "frame.interface_name", "-e", "icmp.type",
         "-e", "ip.checksum.status", "-e", "icmp.checksum.status"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.split("\n")[:2] == ["sat/forward\t8\t1\t1", "sat/reverse\t0\t1\t1"]
    assert len(done.stdout.splitlines()) == 4


@needs_root
def test_emulations_live_beside_each_other_and_relays_between_legs():
    two = {"link": {"a": scenario()["link"]["sat"], "b": scenario(delay="30 ms")["link"]["sat"]}}
    with Emulation(two, path=["a"]) as first, Emulation(two, legs=[["a"], ["b"]]) as second:
        assert min(pings(first, "-c", "2", "-i", "0.05")) >= 0.020
        assert min(pings(second, "-c", "2", "-i", "0.05")) >= 0.020
        relay = second.popen(
            ["ping", "-c", "1", second.addresses[1][1]], side="relay", stdout=subprocess.PIPE
        )
        assert b"time=" in relay.communicate(timeout=20)[0]
        seen = second.snapshot()
    assert [leg["forward"]["delivered_packets"] for leg in seen["legs"]] == [2, 1]
    assert seen["forward"]["delivered_packets"] == 1
    assert first.report()["forward"]["delivered_packets"] == 2


@needs_root
def test_the_device_has_the_mtu_and_the_queue_that_the_page_says():
    with Emulation(scenario()) as emulation:
        mtu = emulation.popen(["ip", "link", "show", "bp0"], stdout=subprocess.PIPE, text=True)
        said = mtu.communicate(timeout=10)[0]
    assert "mtu 1500" in said
    assert "qlen 10000" in said


@needs_root
def test_a_server_is_reached_and_the_command_owns_standard_output(sat, tmp_path):
    (tmp_path / "page").write_text("it works")
    serve = f"{sys.executable} -m http.server 8000 --bind 10.77.0.2 --directory {tmp_path}"
    ask = (
        "import os, urllib.request as u;"
        "print(u.urlopen(f'http://{os.environ[\"BENTPIPE_PEER\"]}:8000/page').read().decode())"
    )
    done = verb(sat, "--serve", serve, "--out", tmp_path / "report.json", "--", sys.executable, "-c", ask)
    assert (done.returncode, done.stdout) == (0, "it works\n")
    assert "GET /page" in done.stderr
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["forward"]["delivered_packets"] > 3
    assert "lateness: half within" in done.stderr
    assert ("did not keep time" in done.stderr) == (not report["kept_time"])


@needs_root
def test_a_scenario_from_standard_input(sat):
    done = verb("-", "--", "ping", "-q", "-c", "1", "10.77.0.2", input=sat.read_text())
    assert (done.returncode, " 0% packet loss" in done.stdout) == (0, True)


@needs_root
def test_an_emulation_that_cannot_begin_leaves_nothing(tmp_path):
    gc.collect()  # what earlier tests have left
    before = set(os.listdir("/proc/self/fd"))
    emulation = Emulation(scenario(), pcap=tmp_path)  # a directory
    with pytest.raises(OSError, match="cannot write the capture"):
        emulation.__enter__()
    with pytest.raises(RuntimeError, match="inside the with block"):
        emulation.popen(["true"])
    del emulation
    gc.collect()
    assert set(os.listdir("/proc/self/fd")) == before


@needs_root
def test_the_exit_status_is_the_commands(sat):
    for script, status in (("exit 7", 7), ("kill -9 $$", 137), ("true", 0)):
        assert verb(sat, "-q", "--", "sh", "-c", script).returncode == status
    quiet = verb(sat, "-q", "--json", "--", "true")
    assert (quiet.returncode, quiet.stderr) == (0, "")
    assert json.loads(quiet.stdout)["forward"]["read_packets"] == 0
    failed = verb(sat, "-q", "--json", "--", "sh", "-c", "exit 7")
    assert json.loads(failed.stdout)["exit_status"] == failed.returncode == 7
    ended = verb(sat, "--for", "300 ms", "--", "sleep", "60")
    assert ended.returncode == 143


@needs_root
def test_a_bound_that_nothing_keeps_marks_the_run_and_not_the_status(sat):
    done = verb(sat, "--lateness-bound", "1 ns", "--json", "--", "ping", "-q", "-c", "1", "10.77.0.2")
    assert done.returncode == 0
    assert "did not keep time" in done.stderr
    assert json.loads(done.stdout)["kept_time"] is False


@needs_root
def test_at_the_receiver_the_command_is_at_the_far_end(sat):
    script = "echo $BENTPIPE_ADDRESS $BENTPIPE_PEER; ping -q -c 1 $BENTPIPE_PEER"
    done = verb(sat, "--at", "receiver", "--", "sh", "-c", script)
    assert done.stdout.startswith("10.77.0.2 10.77.0.1\n")
    assert " 0% packet loss" in done.stdout


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["geo"], "emulate runs a program, behind two dashes"),
        (["goe", "--", "true"], "geo"),
        (["geo", "--path", "nolink", "--", "true"], "no link is called"),
        (["geo", "--at", "middle", "--", "true"], "--at middle"),
        (["geo", "--serve", "'", "--", "true"], "--serve"),
        (["geo", "--pcap-at", "geo", "--", "true"], "add --pcap FILE"),
        (["geo", "--for", "soon", "--", "true"], "--for"),
    ],
)
def test_a_wrong_request_is_told_in_one_line(args, said):
    done = forked.run(["emulate", *args])
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


@needs_root
@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["geo", "--", "no-such-program"], "COMMAND: there is no program"),
        (["geo", "--serve", "false", "--", "true"], "has ended with status 1"),
        (["geo", "--pcap", "x.pcapng", "--pcap-at", "nolink", "--", "true"], "nor a link"),
    ],
)
def test_what_cannot_be_started_is_told_in_one_line(args, said, tmp_path):
    done = verb(*args, cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


@needs_root
def test_without_the_privilege_it_says_what_it_takes():
    if which("setpriv") is None:
        pytest.skip("setpriv is not installed")
    caps = "-sys_admin,-net_admin"
    done = subprocess.run(
        ["setpriv", f"--bounding-set={caps}", f"--inh-caps={caps}",
         sys.executable, "-m", "bentpipe", "emulate", "geo", "--", "true"],
        capture_output=True, text=True, timeout=30,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "CAP_NET_ADMIN" in done.stderr


def alive(mark):
    """Processes whose environment has this mark."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                if mark.encode() in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def gone(mark, within_s=10):
    until = time.monotonic() + within_s
    while alive(mark):
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


@needs_root
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_however_it_ends(sat, number, tmp_path):
    mark = f"BENTPIPE_TEST_MARK={os.getpid()}-{number}"
    # A program, a program of its own that has left its session, and one that ignores requests to end.
    script = "setsid sleep 300 & (trap '' TERM INT; sleep 300) & echo ready; exec sleep 300"
    command = [sys.executable, "-m", "bentpipe", "emulate", str(sat), "--serve", "sleep 300", "--pcap",
               str(tmp_path / "x.pcapng"), "--", "sh", "-c", script]  # fmt: skip
    env = dict(os.environ, BENTPIPE_TEST_MARK=mark.split("=")[1])
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env) as process:
        assert process.stdout.readline() == b"ready\n"
        assert len(alive(mark)) >= 5
        process.send_signal(number)
        status = process.wait(timeout=20)
        assert gone(mark)
    assert status == {signal.SIGINT: 143, signal.SIGTERM: 143, signal.SIGKILL: -9}[number]
    assert not Path("/sys/class/net/bp0").exists()
    if number != signal.SIGKILL:
        assert (tmp_path / "x.pcapng").exists()


@needs_root
def test_a_child_of_the_command_does_not_outlive_it(sat):
    mark = f"BENTPIPE_TEST_MARK={os.getpid()}-child"
    env = dict(os.environ, BENTPIPE_TEST_MARK=mark.split("=")[1])
    done = verb(sat, "--", "sh", "-c", "setsid sleep 300 >/dev/null 2>&1 & exit 3", env=env)
    assert done.returncode == 3
    assert gone(mark)


@needs_root
def test_the_live_line_is_drawn_on_a_terminal_and_nowhere_else(sat):
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (12, 150))
    command = [
        sys.executable,
        "-m",
        "bentpipe",
        "emulate",
        str(sat),
        "--",
        "sh",
        "-c",
        "echo one; sleep 1; echo two",
    ]
    said = b""
    with subprocess.Popen(
        command, env={**os.environ, "TERM": "xterm"}, preexec_fn=lambda: os.login_tty(theirs)
    ) as process:
        os.close(theirs)
        with contextlib.suppress(OSError):  # how Linux says that the other side of a terminal is closed
            while part := os.read(ours, 1 << 16):
                said += part
    os.close(ours)
    assert process.returncode == 0
    # The last line is kept apart, drawn, cleared, and given back.
    for sought in (
        b"one",
        b"\x1b[1;11r",
        b"\x1b[12;1H",
        b"0 waiting",
        b"two",
        b"\x1b[r\x1b[12;1H\x1b[2K",
        b"lateness",
    ):
        assert sought in said
        said = said[said.index(sought) :]
    done = subprocess.run(command, capture_output=True, timeout=30)
    assert b"\x1b" not in done.stderr


@needs_root
def test_the_page_is_typed_as_it_stands(tmp_path):
    """The files of docs/emulator.md are written, its commands typed, and its program is run."""
    missing = [name for name in ("ping", "iperf3", "curl") if which(name) is None]
    if missing:
        pytest.skip(f"the page uses {', '.join(missing)}, which is not installed")
    text = (Path(__file__).parents[2] / "docs/emulator.md").read_text(encoding="utf-8")
    typed = 0
    for language, block in re.findall(r"^```(\w+)\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        named = re.match(r"# ([\w.]+)\n", block)
        if named:
            (tmp_path / named[1]).write_text(block, encoding="utf-8")
        commands = block.splitlines() if language == "sh" else []
        commands = [[sys.executable, "-m", "bentpipe", *shlex.split(command)[1:]] for command in commands]
        if language == "python":
            commands.append([sys.executable, named[1]])
        for command in commands:
            done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
            assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
            typed += 1
    assert typed >= 9
    assert "Directory listing" in (tmp_path / "page.html").read_text()


def test_a_path_is_needed_where_several_links_are():
    two = {"link": {"a": scenario()["link"]["sat"], "b": scenario()["link"]["sat"]}}
    with pytest.raises(ScenarioError, match="several links, a, b; say which to cross"):
        prepared(two)
    for path in (["a"], ["b/reverse"], ["a", "b"]):
        table = json.loads(prepared(two, path=path))
        assert table["flow"][0]["path"] == path
    with pytest.raises(ScenarioError, match="at least one link"):
        prepared(two, path=[])
    with pytest.raises(ScenarioError, match="no link is called"):
        prepared(two, path=["c"])


def test_what_a_scenario_says_stands_unless_it_is_overridden():
    geo = json.loads(prepared("geo"))
    assert (geo["flow"][0]["path"], geo["seed"], geo["duration"]) == (["geo"], 1, "120 s")
    other = json.loads(prepared("geo", [("link.geo.rate", "1Mbit/s")], seed=5, duration="7 s"))
    assert (other["link"]["geo"]["rate"], other["seed"], other["duration"]) == ("1 Mbit/s", 5, "7 s")
    assert json.loads(prepared(bp.Scenario.load("geo"))) == json.loads(bp.Scenario.load("geo").to_json()) | {
        key: geo[key] for key in geo
    }


def way(**given):
    counts = {"delivered_packets": 5, "delivered_bytes": 500, "read_packets": 9, "queue_packets": 2}
    lost = {"dropped_queue": 3, "dropped_error": 1}
    row = {"lateness_p99_s": 0.001, "realtime": True, "hops": [1], "rate_bps": 9e6}
    return {**counts, **lost, **row, **given}


def test_the_whole_of_two_legs():
    both = whole(
        [way(), way(delivered_packets=4, delivered_bytes=1, lateness_p99_s=0.002, realtime=False, hops=[2])]
    )
    assert both["delivered_packets"] == 4
    assert (both["read_packets"], both["dropped_queue"], both["queue_packets"]) == (9, 6, 4)
    assert (both["lateness_p99_s"], both["realtime"], both["hops"]) == (0.002, False, [1, 2])


def test_the_live_line_says_both_ways():
    said = line_text({"t_s": 12.4, "forward": way(), "reverse": way(rate_bps=1e3, lateness_p99_s=0.01)})
    assert [short(s) for s in (0, 3.4e-5, 0.00099949, 0.0025)] == [
        "0 \N{MICRO SIGN}s",
        "34 \N{MICRO SIGN}s",
        "999 \N{MICRO SIGN}s",
        "2.5 ms",
    ]
    assert said == (
        "12 s   \N{RIGHTWARDS ARROW} 9.000 Mbit/s, 2 waiting, 4 lost   "
        "\N{LEFTWARDS ARROW} 1.000 kbit/s, 2 waiting, 4 lost   99 % within 10.0 ms"
    )


def test_a_download_over_the_return_link_is_pointed_out():
    def way(forward, back):
        return {"forward": {"delivered_bytes": forward}, "reverse": {"delivered_bytes": back}}

    hint = "most of the data crossed the return link (10.0 of 10.2 MB); --at receiver"
    assert against_the_data(way(200_000, 10_000_000), "sender").startswith(hint)
    assert "--at sender lets" in against_the_data(way(0, 10_000_000), "receiver")
    assert against_the_data(way(10_000_000, 200_000), "sender") == ""
    assert against_the_data(way(400, 900), "sender") == ""  # a ping
