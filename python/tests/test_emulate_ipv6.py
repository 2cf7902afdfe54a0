"""Emulated links under IPv6, with large packets, and what the kernel drops beside them."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from pathlib import Path

import pytest
from privilege import needs_root
from test_emulate import balance, packets, pings, scenario, verb

from bentpipe._core import ScenarioError
from bentpipe.emulation.session import Emulation

IPV6 = pytest.mark.skipif(not os.path.exists("/proc/sys/net/ipv6"), reason="this kernel has no IPv6")


def sent_and_received(emulation, size, family=socket.AF_INET, options=(), count=1):
    """Sends datagrams from the near end; of those that arrive at the far end lengths and codepoints."""
    near_far = emulation.addresses_ipv6 if family == socket.AF_INET6 else emulation.addresses
    address = (near_far[0][1], 5000)

    def listen():
        far = socket.socket(family, socket.SOCK_DGRAM)
        if family == socket.AF_INET6:
            far.setsockopt(socket.IPPROTO_IPV6, 66, 1)  # IPV6_RECVTCLASS
        far.setsockopt(socket.SOL_SOCKET, 33, 1 << 23)  # SO_RCVBUFFORCE: a busy machine reads late
        far.bind(address)
        far.settimeout(1)
        return far

    def speak():
        with socket.socket(family, socket.SOCK_DGRAM) as near:
            for option in options:
                near.setsockopt(*option)
            for _ in range(count):
                near.sendto(b"x" * size, address)

    found = []
    with emulation.within("far", listen) as far:
        emulation.within("near", speak)
        while len(found) < count:
            try:
                data, more, _, _ = far.recvmsg(10_000, 100)
            except TimeoutError:
                break
            found.append((len(data), [value[0] & 3 for _, _, value in more]))
    return found


@IPV6
@needs_root
def test_ipv6_crosses_the_link_and_nobody_else_speaks(tmp_path):
    file = tmp_path / "x.pcapng"
    with Emulation(scenario(), pcap=file) as emulation:
        assert emulation.addresses_ipv6 == [("fd77::1", "fd77::2")]
        said = emulation.popen(
            ["sh", "-c", "echo $BENTPIPE_ADDRESS6 $BENTPIPE_PEER6"], stdout=subprocess.PIPE, text=True
        )
        assert said.communicate(timeout=10)[0] == "fd77::1 fd77::2\n"
        command = ["ping", "-6", "-c", "3", "-i", "0.05", "fd77::2"]
        with emulation.popen(command, stdout=subprocess.PIPE, text=True) as ping:
            rows = ping.communicate(timeout=20)[0].splitlines()
        time.sleep(1.5)  # the kernel's own packets would come by now: routers sought, groups reported
    trips = [float(row.split("time=")[1].split()[0]) for row in rows if "time=" in row]
    assert len(trips) == 3
    assert min(trips) >= 20
    report = emulation.report()
    for way in ("forward", "reverse"):
        assert report[way]["read_packets"] == report[way]["delivered_packets"] == 3
        assert report[way]["delivered_bytes"] == 3 * (40 + 8 + 56)
        balance(report[way])
    seen = packets(file)
    # Version 6, ICMPv6; without payload 40 bytes and the 8 of an echo are kept.
    assert [(interface, data[0] >> 4, data[6], len(data)) for interface, data in seen] == [
        (interface, 6, 58, 48) for _ in range(3) for interface in (0, 1)
    ]


@IPV6
@needs_root
def test_marks_reach_the_other_end_by_ipv6():
    queue = {"kind": "codel", "limit": "500 packets", "target": "5 ms", "interval": "20 ms", "ecn": True}
    with Emulation(scenario(queue=queue, rate="4 Mbit/s")) as emulation:
        capable = [(socket.IPPROTO_IPV6, socket.IPV6_TCLASS, 2)]
        found = sent_and_received(emulation, 972, socket.AF_INET6, capable, 300)
    row = emulation.report()["forward"]
    assert len(found) == row["delivered_packets"] == 300
    assert sum(codepoint == [3] for _, codepoint in found) == row["marked"] > 0


@IPV6
@needs_root
def test_a_relay_splits_ipv4_and_there_is_no_ipv6_beside_it():
    with Emulation("geo-pep") as emulation:
        assert emulation.addresses_ipv6 == []
        table = emulation.within("near", Path("/proc/thread-self/net/if_inet6").read_text)
        assert "bp0" not in table


@needs_root
def test_jumbo_packets_cross_a_link_that_is_made_for_them():
    def largest(emulation, size):
        do_not_fragment = [(socket.IPPROTO_IP, 10, 2)]  # IP_MTU_DISCOVER, IP_PMTUDISC_DO
        return [length for length, _ in sent_and_received(emulation, size - 28, options=do_not_fragment)]

    with Emulation(scenario(), mtu=9000) as emulation:
        assert largest(emulation, 9000) == [9000 - 28]
        with pytest.raises(OSError, match="too long"):
            largest(emulation, 9001)
    assert emulation.report()["forward"]["delivered_bytes"] == 9000
    with Emulation(scenario()) as emulation, pytest.raises(OSError, match="too long"):
        largest(emulation, 1501)
    for wrong in (1279, 9001, 70_000):
        with pytest.raises(ScenarioError, match=r"1280 to 9000 bytes; not"), Emulation(scenario(), mtu=wrong):
            pass


@needs_root
def test_what_is_longer_than_the_link_takes_is_refused_and_counted():
    with Emulation(scenario()) as emulation:
        # A program that raises the device's own limit.
        emulation.popen(["ip", "link", "set", "bp0", "mtu", "4000"]).wait(10)
        assert pings(emulation, "-c", "1", "-W", "1", "-s", "3000", "-M", "do") == []
    row = emulation.report()["forward"]
    assert (row["refused_size"], row["refused_protocol"], row["delivered_packets"]) == (1, 0, 0)
    balance(row)


@needs_root
def test_what_a_full_socket_drops_is_not_the_links():
    count = 400
    with Emulation(scenario(rate="100 Mbit/s")) as emulation:

        def listen():
            far = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            far.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            far.bind(("10.77.0.2", 5000))
            return far

        far = emulation.within("far", listen)

        def speak():
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as near:
                for _ in range(count):
                    near.sendto(b"x" * 1000, ("10.77.0.2", 5000))

        emulation.within("near", speak)
        time.sleep(0.5)
        held = 0
        with far:
            far.setblocking(False)
            while True:
                try:
                    far.recv(2000)
                except BlockingIOError:
                    break
                held += 1
    row = emulation.report()["forward"]
    assert (row["delivered_packets"], row["dropped_queue"], row["kernel_dropped_before"]) == (count, 0, 0)
    assert 0 < held < count
    assert row["socket_dropped"] == count - held
    assert emulation.report()["reverse"]["socket_dropped"] == 0


@needs_root
def test_what_the_device_drops_before_it_is_read_is_counted():
    with Emulation(scenario(rate="100 Mbit/s")) as emulation:
        # A queue that holds one packet of a burst that comes faster than anybody reads.
        emulation.popen(["ip", "link", "set", "bp0", "txqueuelen", "1"]).wait(10)
        found = sent_and_received(emulation, 1000, count=300)
        table = emulation.within("near", Path("/proc/thread-self/net/dev").read_text)
    row = emulation.report()["forward"]
    assert row["read_packets"] == row["delivered_packets"] == len(found)
    assert row["kernel_dropped_before"] == 300 - len(found) > 0
    told = next(line for line in table.splitlines() if "bp0:" in line).split(":")[1].split()
    assert int(told[11]) == row["kernel_dropped_before"]


@needs_root
def test_a_link_that_fails_ends_the_emulation_with_its_reason(tmp_path):
    file = tmp_path / "sat.toml"
    file.write_text('[link.sat]\nrate = "10 Mbit/s"\ndelay = "10 ms"\n')
    began = time.monotonic()
    done = verb(file, "--", "sh", "-c", "ip link delete bp0; sleep 60")
    assert time.monotonic() - began < 30
    assert done.returncode == 1
    assert "the emulated link has failed (link 0, forward)" in done.stderr
    assert "Traceback" not in done.stderr
    with Emulation(scenario()) as emulation:
        emulation.popen(["ip", "link", "delete", "bp0"], side="far").wait(10)
        until = time.monotonic() + 10
        with pytest.raises(OSError, match=r"has failed \(link 0, reverse\)"):
            while time.monotonic() < until:
                emulation.check()
        with pytest.raises(OSError, match="has failed"):
            emulation.snapshot()
        with pytest.raises(OSError, match="has failed"):
            emulation.close()
    with pytest.raises(OSError, match="has failed"):
        emulation.report()
