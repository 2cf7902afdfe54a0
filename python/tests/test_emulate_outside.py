"""A way out of an emulation. The "real network" is made of namespaces of the test's own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from shutil import which

import pytest
from privilege import needs_root

from bentpipe.emulation import outside

FORWARDING = "/proc/sys/net/ipv4/conf/up0/forwarding"
SERVER = "192.0.2.2"  # RFC 5737: for documentation


@dataclass
class Space:
    """A network namespace, kept by a process that sleeps."""

    pid: int

    def command(self, *words):
        return ["nsenter", f"--net=/proc/{self.pid}/ns/net", *map(str, words)]

    def run(self, *words, **given):
        return subprocess.run(
            self.command(*words), capture_output=True, text=True, timeout=60, check=False, **given
        )

    def do(self, *words):
        done = self.run(*words)
        assert done.returncode == 0, (words, done.stderr)
        return done.stdout


@contextmanager
def space():
    with subprocess.Popen(["unshare", "--net", "sleep", "600"]) as keeper:
        try:
            own = os.stat("/proc/self/ns/net").st_ino
            while os.stat(f"/proc/{keeper.pid}/ns/net").st_ino == own:
                time.sleep(0.01)
            made = Space(keeper.pid)
            made.do("ip", "link", "set", "lo", "up")
            yield made
        finally:
            keeper.kill()


def join(one, name, address, other, its_name, its_address):
    """Two namespaces by a pair of devices."""
    one.do("ip", "link", "add", name, "type", "veth", "peer", "name", its_name, "netns", other.pid)
    for at, device, own in ((one, name, address), (other, its_name, its_address)):
        at.do("ip", "address", "add", f"{own}/24", "dev", device)
        at.do("ip", "link", "set", device, "up")


@dataclass
class World:
    """A machine, `host`, and what it is connected to by its interface up0: `server`."""

    host: Space
    server: Space
    file: Path

    def emulate(self, *words, link=None):
        verb = [sys.executable, "-m", "bentpipe", "emulate", str(link or self.file), *map(str, words)]
        return self.host.command(*verb)

    def left(self):
        """What an emulation has changed on the host and not taken back."""
        devices = [line for line in self.host.do("ip", "-o", "link").splitlines() if "bpnat" in line]
        forwards = self.host.do("cat", FORWARDING).strip() != "0"
        inode = os.stat(f"/proc/{self.host.pid}/ns/net").st_ino
        claims = list(Path("/run/bentpipe").glob(f"forwarding-{inode}-*"))
        return [*devices, *["up0 forwards"] * forwards, *tables(self.host), *claims]

    def settles(self, within_s=10):
        """Is nothing left, soon?"""
        until = time.monotonic() + within_s
        while self.left():
            if time.monotonic() > until:
                return False
            time.sleep(0.1)
        return True


_TABLES = """
import socket, struct
with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12) as asked:  # NETLINK_NETFILTER
    # NFT_MSG_GETTABLE of nf_tables, a dump
    asked.send(struct.pack("=IHHIIBBH", 20, 10 << 8 | 1, 0x301, 1, 0, 0, 0, 0))
    answer = asked.recv(65536)
    while len(answer) >= 16:
        length, kind = struct.unpack_from("=IH", answer)
        if kind == 10 << 8:
            at = 20
            while at < length:
                size, attribute = struct.unpack_from("=HH", answer, at)
                if attribute == 1:
                    print(answer[at + 4 : at + size].rstrip(bytes(1)).decode())
                at += (size + 3) // 4 * 4
        answer = answer[(length + 3) // 4 * 4 :]
"""


def tables(at):
    """The tables of the packet filter, by name."""
    return at.do(sys.executable, "-c", _TABLES).split()


@pytest.fixture
def world(tmp_path):
    missing = [name for name in ("unshare", "nsenter", "ip", "ping", "curl") if which(name) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed")
    if not outside.packet_filter():
        pytest.skip("this kernel has no nf_tables")
    file = tmp_path / "sat.toml"
    file.write_text('[link.sat]\nrate = "10 Mbit/s"\ndelay = "30 ms"\nreverse = { rate = "1 Mbit/s" }\n')
    with space() as host, space() as server:
        join(host, "up0", "192.0.2.1", server, "eth0", SERVER)
        host.do("sh", "-c", f"echo 0 > {FORWARDING}")
        made = World(host, server, file)
        assert made.left() == []
        yield made


@contextmanager
def page(world, size=1000):
    """A server of HTTP behind the host; the lines of its log."""
    folder = world.file.parent / "pages"
    folder.mkdir()
    (folder / "page").write_bytes(b"x" * size)
    log = world.file.parent / "log"
    words = [sys.executable, "-u", "-m", "http.server", "8000", "--bind", SERVER, "--directory", str(folder)]
    with (
        log.open("w") as out,
        subprocess.Popen(world.server.command(*words), stdout=out, stderr=out) as serving,
    ):
        try:
            until = time.monotonic() + 20
            while b"Serving" not in log.read_bytes():
                assert time.monotonic() < until
                time.sleep(0.05)
            yield lambda: log.read_text().splitlines()[1:]
        finally:
            serving.kill()


CURL = ["curl", "-sS", "-m", "30", "-o", "/dev/null", "-w", "%{http_code} %{size_download} %{time_connect}"]


@needs_root
def test_a_program_behind_the_link_reaches_what_is_behind_the_interface(world):
    with page(world) as log:
        done = subprocess.run(
            world.emulate("--nat", "up0", "--", *CURL, f"http://{SERVER}:8000/page"),
            capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        seen = log()
    assert done.returncode == 0, done.stderr
    code, size, connected = done.stdout.split()
    assert (code, size) == ("200", "1000")
    assert float(connected) >= 0.060  # a round trip of the emulated link
    # The server sees the host's address.
    assert [line.split()[0] for line in seen] == ["192.0.2.1"]
    assert "packets" in done.stderr
    assert world.settles()


@needs_root
@pytest.mark.parametrize(("at", "least"), [("sender", 0.8), ("receiver", 0.08)])
def test_the_way_out_is_at_the_other_end(world, at, least):
    """100 kB take 0.8 s over the return link of 1 Mbit/s, and 0.08 s over the forward link of 10."""
    with page(world, 100_000):
        began = time.monotonic()
        done = subprocess.run(
            world.emulate("--nat", "up0", "--at", at, "--out", world.file.parent / "r.json",
                          "--", *CURL, f"http://{SERVER}:8000/page"),
            capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        assert time.monotonic() - began >= least
    assert done.stdout.startswith("200 100000")
    report = json.loads((world.file.parent / "r.json").read_text())
    way = "reverse" if at == "sender" else "forward"
    assert report[way]["delivered_bytes"] > 100_000
    assert world.settles()


@needs_root
def test_a_relay_splits_the_connections_of_a_way_out(world):
    with page(world) as log:
        done = subprocess.run(
            world.emulate("--nat", "up0", "--out", world.file.parent / "r.json",
                          "--", *CURL, f"http://{SERVER}:8000/page", link="geo-pep"),
            capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        seen = log()
    assert done.stdout.startswith("200 1000"), done.stderr
    assert "relay: 1 connections" in done.stderr
    assert [line.split()[0] for line in seen] == ["192.0.2.1"]
    assert world.settles()


@contextmanager
def running(world, script="echo ready; exec sleep 300"):
    """An emulation with a way out, whose command has begun."""
    command = world.emulate("--nat", "up0", "-q", "--", "sh", "-c", script)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            assert process.stdout.readline() == b"ready\n", process.stderr.read()
            yield process
        finally:
            process.kill()


@needs_root
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_host_is_as_before_however_it_ends(world, number):
    with running(world) as process:
        assert world.host.do("cat", FORWARDING) == "1\n"
        assert tables(world.host) == ["bentpipe-nat0"]
        assert any("bpnat0" in str(what) for what in world.left())
        process.send_signal(number)
        process.wait(20)
        assert world.settles()


@needs_root
def test_two_emulations_share_an_interface_and_the_last_one_tidies_up(world):
    with running(world) as first, running(world) as second:
        assert sorted(tables(world.host)) == ["bentpipe-nat0", "bentpipe-nat1"]
        first.kill()
        first.wait(20)
        until = time.monotonic() + 10
        while tables(world.host) != ["bentpipe-nat1"]:
            assert time.monotonic() < until
            time.sleep(0.05)
        time.sleep(0.5)
        assert world.host.do("cat", FORWARDING) == "1\n"
        second.terminate()
        second.wait(20)
    assert world.settles()


@needs_root
def test_an_interface_that_forwarded_before_still_does(world):
    world.host.do("sh", "-c", f"echo 1 > {FORWARDING}")
    with running(world) as process:
        process.terminate()
        process.wait(20)
    until = time.monotonic() + 10
    while world.left() != ["up0 forwards"]:
        assert time.monotonic() < until
        time.sleep(0.1)


@needs_root
def test_the_host_becomes_no_router_for_others(world):
    with ExitStack() as stack:
        lan = stack.enter_context(space())
        join(world.host, "lan0", "198.51.100.1", lan, "eth0", "198.51.100.2")
        lan.do("ip", "route", "add", "default", "via", "198.51.100.1")
        world.host.do("sh", "-c", "echo 1 > /proc/sys/net/ipv4/conf/lan0/forwarding")
        world.server.do("ip", "route", "add", "198.51.100.0/24", "via", "192.0.2.1")
        world.server.do("ip", "route", "add", "10.77.0.0/16", "via", "192.0.2.1")
        ping = ["ping", "-q", "-c", "2", "-i", "0.2", "-W", "1"]
        both = [" ".join([*ping, address]) for address in (SERVER, "198.51.100.2")]
        script = f"{both[0]}; {both[1]}; echo status $?; echo ready; exec sleep 300"
        command = world.emulate("--nat", "up0", "-q", "--", "sh", "-c", script)
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            said = []
            for line in process.stdout:
                said.append(line)
                if line == "ready\n":
                    break
            said = "".join(said)
            assert " 0% packet loss" in said  # the server, through the interface
            assert "status 1" in said  # what is behind another interface
            # From outside: neither to the other network, nor into the emulation.
            assert world.server.run(*ping, "198.51.100.2").returncode == 1
            assert world.server.run(*ping, "10.77.255.2").returncode == 1
            process.kill()
        assert world.settles()
        # The test can tell: with forwarding alone they pass.
        world.host.do("sh", "-c", f"echo 1 > {FORWARDING}")
        assert world.server.run(*ping, "198.51.100.2").returncode == 0


@needs_root
def test_an_interface_that_is_not_there_is_told_in_one_line(world):
    for name in ("eth9", "lo", "../up0", ""):
        done = subprocess.run(
            world.emulate("--nat", name, "--", "true"), capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 2
        assert "there is no such network interface; there are: up0" in done.stderr
        assert done.stderr.count("\n") == 1
    assert world.left() == []


def test_resolvers_on_the_loopback_are_noticed(tmp_path, monkeypatch):
    file = tmp_path / "resolv.conf"
    monkeypatch.setattr(outside, "_RESOLVER", file)
    assert not outside.names_stay_unresolved()
    for text, stays in (
        ("nameserver 127.0.0.53\noptions edns0\n", True),
        ("nameserver ::1\nnameserver 127.0.0.1\n", True),
        ("nameserver 127.0.0.1\nnameserver 192.0.2.53\n", False),
        ("nameserver fe80::1%eth0\n", False),
        ("search example.org\n", False),
    ):
        file.write_text(text)
        assert outside.names_stay_unresolved() == stays, text
