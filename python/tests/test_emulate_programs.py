"""Programs behind an emulated link: how they send, where their words go, and that none is left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from shutil import which
from typing import Any

import pytest
from privilege import needs_root
from test_emulate import alive, gone, sat, scenario, verb

import bentpipe as bp
from bentpipe._core import ScenarioError
from bentpipe.emulation import congestion
from bentpipe.emulation.session import Emulation

__all__ = ["sat"]  # a fixture

SETTINGS = Path("/proc/sys/net/ipv4")


def words(name: str) -> list[str]:
    return (SETTINGS / name).read_text(encoding="ascii").split()


def not_the_default(*, allowed: bool) -> str:
    """An algorithm of the kernel that is not the machine's default, and that everybody may use, or not."""
    everybody = words("tcp_allowed_congestion_control")
    for name in words("tcp_available_congestion_control"):
        ours = name.startswith(("bp_", "bpn_", "t")) and "_" in name
        if name != congestion.default() and (name in everybody) == allowed and not ours:
            return name
    pytest.skip(f"the kernel has no other algorithm that is {'' if allowed else 'not '}allowed to everybody")


ASK = """
import os, socket
def name(s): return s.getsockopt(6, 13, 16).rstrip(bytes(1)).decode()
def connected(before):
    s = socket.socket()
    if before: s.setsockopt(6, 13, before.encode())
    s.connect((os.environ["BENTPIPE_PEER"], 8000))
    return s
plain = connected(None)
print("near", name(plain), "far", plain.recv(99).decode(), "chosen", name(connected(CHOSEN)), flush=True)
"""
SERVE = """
import socket
with socket.create_server(("0.0.0.0", 8000)) as listening:
    while True:
        s, _ = listening.accept()
        s.send(s.getsockopt(6, 13, 16).rstrip(bytes(1)))
        s.close()
"""


def algorithms(emulation: Emulation, chosen: str) -> list[str]:
    """Of a connection: at its near end, at its far end, and at the near end of one that asks for another."""
    server = emulation.popen([sys.executable, "-c", SERVE], side="far")
    from bentpipe.emulation.programs import wait_for_listener

    wait_for_listener(emulation, "far", server, ["server"], 10, lambda: False)
    script = ASK.replace("CHOSEN", repr(chosen))
    asking = emulation.popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    said: str = asking.communicate(timeout=20)[0]
    return said.split()[1::2]


@needs_root
def test_programs_send_with_the_machine_s_default_unless_another_is_named() -> None:
    default, other = congestion.default(), not_the_default(allowed=True)
    with Emulation(scenario()) as emulation:
        assert algorithms(emulation, other) == [default, default, other]
    report = emulation.report()
    assert (report["congestion_control"], report["congestion_control_by"]) == (default, None)
    with Emulation(scenario(), cc=other) as emulation:
        assert algorithms(emulation, default) == [other, other, default]
    report = emulation.report()
    assert (report["congestion_control"], report["congestion_control_by"]) == (other, "sysctl")
    assert congestion.default() == default  # the machine's is as it was


@needs_root
def test_one_that_not_everybody_may_use_goes_by_the_routes(sat: Path) -> None:
    if which("ip") is None:
        pytest.skip("ip is not installed")
    default, other = congestion.default(), not_the_default(allowed=False)
    allowed = words("tcp_allowed_congestion_control")
    with Emulation(scenario(), cc=other) as emulation:
        # A choice before connecting is overridden by the route, as the summary says.
        assert algorithms(emulation, default) == [other, other, other]
    assert emulation.report()["congestion_control_by"] == "route"
    assert (words("tcp_allowed_congestion_control"), congestion.default()) == (allowed, default)
    said = verb(sat, "--cc", other, "--", "true").stderr
    assert f"TCP at the ends: {other}, set by the routes, which override what a program chooses" in said


@needs_root
@pytest.mark.parametrize("allowed", [True, False])
def test_a_relay_without_a_controller_sends_with_the_one_that_is_named(*, allowed: bool) -> None:
    other = not_the_default(allowed=allowed)
    for relay, sends in (({"at": "gateway"}, other), ({"at": "gateway", "cc": "reno"}, "reno")):
        with Emulation("geo-pep", relay={"buffer": "1 MB", **relay}, cc=other) as emulation:
            assert algorithms(emulation, other)[0] == other
        assert emulation.report()["relay"]["controller"] == sends


@pytest.mark.root
def test_what_the_kernel_lacks_is_said_with_what_to_do() -> None:
    with pytest.raises(ScenarioError, match=r"cc: .* called star; it has .*bentpipe kernel attach star"):
        Emulation(scenario(), cc="star")
    with pytest.raises(ScenarioError, match="called no-such; it has [^;]*$"):
        Emulation(scenario(), cc="no-such")
    # The kernel cuts names at 15 characters; what is asked for is not cut.
    with pytest.raises(ScenarioError, match="called renorenorenoreno"):
        Emulation(scenario(), cc="renorenorenoreno")
    assert congestion.chosen("reno") == "reno"


@needs_root
def test_the_verb_says_how_programs_have_sent(sat: Path) -> None:
    default, other = congestion.default(), not_the_default(allowed=True)
    plain, named = verb(sat, "--", "true"), verb(sat, "--cc", other, "--", "true")
    usual = f"{default}, this machine's default, unless a program chooses its own; --cc chooses another"
    assert f"TCP at the ends: {usual}\n" in plain.stderr
    assert f"TCP at the ends: {other}\n" in named.stderr
    wrong = verb(sat, "--cc", "no-such", "--", "true")
    assert (wrong.returncode, wrong.stderr.count("\n")) == (2, 1)


@needs_root
def test_with_json_standard_output_is_the_report_s_alone(sat: Path, tmp_path: Path) -> None:
    script = 'echo "{"; echo from the command >&2; ping -q -c 1 $BENTPIPE_PEER'
    done = verb(sat, "--json", "--", "sh", "-c", script)
    report = json.loads(done.stdout)
    assert report["kept_time"] in (True, False)
    assert (report["program"], report["exit_status"]) == (["sh", "-c", script], 0)
    assert "{\nfrom the command\nPING" in done.stderr
    out = tmp_path / "report.json"
    done = verb(sat, "--out", out, "--", "sh", "-c", script)
    assert done.stdout.startswith("{\nPING") and "from the command" in done.stderr
    assert json.loads(out.read_text())["forward"]["delivered_packets"] == 1


@needs_root
def test_time_is_kept_only_where_packets_were(sat: Path, tmp_path: Path) -> None:
    done = verb(sat, "--json", "--trace", tmp_path / "result", "--", "true")
    assert json.loads(done.stdout)["kept_time"] is None
    assert "lateness: no packet crossed the link, so nothing is known of it" in done.stderr
    assert "kept time" not in done.stderr
    assert bp.Result.load(tmp_path / "result").json["warnings"] == []


def watchers(of: int) -> list[int]:
    """The processes that watch over the namespaces of an emulator."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                is_one = b"watcher.py" in (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if parent == of and is_one:
                found.append(int(entry.name))
    return found


def started(sat: Path, mark: str) -> subprocess.Popen[bytes]:
    """An emulator whose programs run: its command, a server, and a child in a session of its own."""
    script = "setsid sleep 300 & echo ready; exec sleep 300"
    command = [sys.executable, "-m", "bentpipe", "emulate", str(sat), "--serve", "sleep 300", "--",
               "sh", "-c", script]  # fmt: skip
    env = dict(os.environ, BENTPIPE_TEST_MARK=mark)
    quiet: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, env=env, **quiet)
    assert process.stdout is not None and process.stdout.readline() == b"ready\n"
    return process


@needs_root
@pytest.mark.parametrize("order", ["one and the emulator", "both and the emulator later", "in turns"])
def test_killed_watchers_are_replaced_before_they_are_missed(sat: Path, order: str) -> None:
    mark = f"{os.getpid()}-{order.replace(' ', '-')}"
    with started(sat, mark) as process:
        first = watchers(process.pid)
        assert len(first) == 2
        if order == "one and the emulator":
            os.kill(first[0], signal.SIGKILL)
        elif order == "both and the emulator later":
            for watcher in first:
                os.kill(watcher, signal.SIGKILL)
            until = time.monotonic() + 10
            while len(set(watchers(process.pid)) - set(first)) < 2:
                assert time.monotonic() < until, "they were not replaced"
                time.sleep(0.01)
        else:
            for watcher in first:
                os.kill(watcher, signal.SIGKILL)
                time.sleep(0.3)
        assert len(alive(f"BENTPIPE_TEST_MARK={mark}")) >= 4
        os.kill(process.pid, signal.SIGKILL)
        assert process.wait(timeout=20) == -signal.SIGKILL
        assert gone(f"BENTPIPE_TEST_MARK={mark}")


@needs_root
def test_a_killed_watcher_changes_nothing_for_the_command(sat: Path) -> None:
    mark = f"{os.getpid()}-nothing"
    script = "import os, signal, subprocess; from test_emulate_programs import watchers"
    kill = f"{script}; [os.kill(w, signal.SIGKILL) for w in watchers(os.getppid())]; print('done')"
    env = dict(os.environ, BENTPIPE_TEST_MARK=mark, PYTHONPATH=str(Path(__file__).parent))
    done = verb(sat, "--serve", "sleep 300", "--", sys.executable, "-c", kill, env=env)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    assert gone(f"BENTPIPE_TEST_MARK={mark}")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("cubicc", r"did you mean cubic\?"),
        ("bbr99", r"(did you mean bbr\?|modprobe tcp_bbr99)"),  # not bbr2, which no kernel has
        ("simd", "it may be had by bentpipe kernel attach simd"),  # which no other test attaches meanwhile
        ("zzzz", "modprobe tcp_zzzz loads a module of that name"),
    ],
)
def test_a_controller_that_the_kernel_lacks_comes_with_a_way_to_it(name: str, hint: str) -> None:
    with pytest.raises(ScenarioError, match=f"no congestion control called {name}; it has .*; {hint}"):
        congestion.chosen(name)
