"""Controllers inside the kernel's TCP: real transfers over an emulated link, as agent and kernel see them."""

from __future__ import annotations

import json
import os
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from kernel_link import (
    AVAILABLE,
    MARKS,
    OWN,
    PATIENCE_S,
    Fixed,
    attached,
    flow_of,
    link,
    nothing_left,
    settled,
    steered,
    transfer,
    until,
)

from bentpipe import Controller, _core
from bentpipe.emulation.session import Emulation

__all__ = ["nothing_left"]
pytestmark = [*MARKS, pytest.mark.usefixtures("nothing_left")]


def test_the_agent_answers_every_report_and_nothing_is_left() -> None:
    with Emulation(link()) as emulation, _core.KernelAgent("reno", name=OWN) as agent:
        assert agent.name == OWN and OWN in AVAILABLE.read_text().split()
        with transfer(emulation, agent.name) as one:
            used = one.near.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
            assert used.rstrip(b"\0") == OWN.encode()
            one.send(2_000_000)
            status = settled(agent)
            (flow,) = status["flows"]
            assert (flow["fallbacks"], flow["steered"], status["dropped_reports"]) == (0, True, 0)
            # An ACK for two of 1380 segments, and more. A busy agent answers several reports at once.
            assert flow["reports"] > 300 and flow["orders"] > 30
            assert flow["delivered_bytes"] >= 2_000_000 and flow["remote"].startswith(emulation.peer)
            assert flow["cwnd_segments"] == one.window()[0]
            assert 0.02 <= flow["rtt_min_s"] < 0.05
            assert [one["name"] for one in attached()] == [agent.name]
        until(lambda: not json.loads(agent.status())["flows"], "a closed flow is gone")
        latency = json.loads(agent.status())["latency"]
        assert latency["ack_to_agent_s"]["count"] > 300 and latency["ack_to_applied_s"]["count"] > 30
        assert agent.step(0.0) is False
    assert attached() == []


def test_the_kernel_uses_the_window_that_was_ordered() -> None:
    with steered(Fixed, link(loss={"kind": "packet-error", "rate": 0.01})) as (emulation, agent, one):
        one.send(1_000_000)
        until(lambda: flow_of(agent.status())["state"] in ("open", "disorder"), "recovery ended")
        assert one.window() == (17, 9)
        flow = flow_of(agent.status())
        assert (flow["cwnd_segments"], flow["ssthresh_segments"]) == (17, 9)
        assert flow["lost_bytes"] > 0


def test_reno_by_the_agent_is_the_kernels_reno() -> None:
    """The same packets are lost, the same number is retransmitted, and the windows stay together.

    The queue has room for all: where it overflows, one packet more or less decides about another halving.
    """
    lossy = link(
        rate="10 Mbit/s",
        delay="20 ms",
        queue={"kind": "drop-tail", "limit": "2000 packets"},
        loss={"kind": "packet-error", "rate": 0.002},
    )
    ends = {}
    with _core.KernelAgent("reno", name=OWN) as agent:
        for name in ("reno", agent.name):
            with Emulation(lossy) as emulation, transfer(emulation, name) as one:
                one.send(2_500_000)
                ends[name] = (one.window(), emulation.snapshot()["forward"]["dropped_error"])
    (kernels, lost), (ours, lost_too) = ends["reno"], ends[agent.name]
    assert lost > 0 and abs(lost - lost_too) <= 1
    assert (
        abs(kernels[0] - ours[0]) <= 0.15 * kernels[0] and abs(kernels[1] - ours[1]) <= 0.15 * kernels[1]
    ), ends


@pytest.mark.parametrize("pause_s", [3, pytest.param(10, marks=pytest.mark.slow)])
def test_a_pause_is_no_silence_of_the_agent(pause_s: int) -> None:
    with steered("reno", link()) as (emulation, agent, one):
        one.send(200_000)
        time.sleep(pause_s)
        one.send(200_000)
        flow = flow_of(agent.status())
        assert (flow["fallbacks"], flow["steered"]) == (0, True)


AGENT = """
import sys
from bentpipe import _core
agent = _core.KernelAgent(sys.argv[1], name=sys.argv[2], pin=sys.argv[3] or None)
print("ready", flush=True)
agent.step(60)
"""


@contextmanager
def agent_process(cc: str, name: str, pin: str = "") -> Iterator[subprocess.Popen[str]]:
    """An agent in a process of its own, which is killed at the end if it still runs."""
    command = [sys.executable, "-c", AGENT, cc, name, pin]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()


def test_a_killed_agent_costs_no_connection() -> None:
    with Emulation(link()) as emulation, agent_process("reno", OWN) as process:
        with transfer(emulation, OWN) as one:
            one.send(500_000)
            (before,) = attached()
            assert before["pid"] == process.pid and before["fallbacks"] == 0
            process.kill()
            process.wait()
            one.send(2_000_000)
            (after,) = attached()
            (flow,) = after["flows"]
            assert (after["pid"], flow["fallbacks"], flow["in_fallback"]) == (None, 1, True)
            # Reno grows on: a fallback that had stopped the window would not have doubled it.
            assert flow["cwnd_segments"] > before["flows"][0]["cwnd_segments"] or flow["lost_bytes"] > 0


@pytest.fixture
def pins(tmp_path: Path) -> Iterator[Path]:
    """A directory for pins: the datapath mounts a file system there."""
    path = tmp_path / "pins"
    yield path
    subprocess.run(["umount", path], capture_output=True)


def test_a_restarted_agent_takes_its_flows_up_again(pins: Path) -> None:
    with Emulation(link()) as emulation, agent_process("reno", OWN, str(pins)) as process:
        with transfer(emulation, OWN) as one:
            one.send(500_000)
            process.kill()
            process.wait()
            one.send(500_000)
            (status,) = attached()
            flow = status["flows"][0]
            assert flow["in_fallback"] and status["registered"]
            with transfer(emulation, OWN) as new:  # new connections can use it, too
                new.send(50_000)
            with _core.KernelAgent(Fixed, name=OWN, pin=pins) as agent:
                command = [sys.executable, "-c", AGENT, "reno", OWN, str(pins)]
                second = subprocess.run(command, capture_output=True, text=True)
                assert f"KernelError: {OWN} is served by process {os.getpid()} already" in second.stderr
                one.send(100_000)
                again = flow_of(agent.status())
                assert (again["id"], again["steered"], again["fallbacks"]) == (flow["id"], True, 1)
                assert one.window()[0] == 17  # and the threshold that the flow had
            assert _core.kernel_detach(OWN, pins) is True
            assert OWN not in AVAILABLE.read_text().split()
            one.send(50_000)
    assert _core.kernel_detach(OWN, pins) is False


def a_thousand(emulation: Emulation, stack: ExitStack) -> list[tuple[socket.socket, socket.socket]]:
    """Near and far ends of 1000 connections."""
    listener = stack.enter_context(emulation.within("far", socket.socket))
    listener.bind((emulation.peer, 0))
    listener.listen(2000)
    near: list[socket.socket] = emulation.within("near", lambda: [socket.socket() for _ in range(1000)])
    for one in near:
        stack.enter_context(one)
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, OWN.encode())
        one.setblocking(False)
        one.connect_ex(listener.getsockname())
    listener.settimeout(PATIENCE_S)
    far = {}
    while len(far) < len(near):
        one, address = listener.accept()
        far[address] = stack.enter_context(one)
    return [(one, far[one.getsockname()]) for one in near]


@pytest.mark.slow
def test_a_thousand_flows() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 8192)), hard))
    with (
        Emulation(
            link("100 Mbit/s", "10 ms", queue={"kind": "drop-tail", "limit": "4000 packets"})
        ) as emulation,
        _core.KernelAgent("reno", name=OWN) as agent,
    ):
        with ExitStack() as stack:
            pairs = a_thousand(emulation, stack)
            for near, _ in pairs:
                assert near.send(bytes(20_000)) == 20_000
            for _, far in pairs:
                far.settimeout(PATIENCE_S)
                left = 20_000
                while left > 0:
                    left -= len(far.recv(left))
            status = settled(agent)
            assert len(status["flows"]) == 1000 and status["flows_refused"] == 0
            assert status["fallbacks"] == 0
            assert all(flow["steered"] for flow in status["flows"])
        until(lambda: not json.loads(agent.status())["flows"], "the connections are still open")


def test_what_found_the_ring_full_is_told_later() -> None:
    """A slow agent and the smallest ring: news are merged, and none is lost."""

    class Slow(Fixed):
        acked = 0
        delivered = 0

        def on_ack(self, flow: Any, ack: Any) -> None:
            Slow.acked += ack["acked"]
            Slow.delivered = flow["delivered"]
            time.sleep(0.01)

    with steered(Slow, link(), ring_bytes=4096) as (emulation, agent, one):
        one.send(1_500_000)
        status = settled(agent)
        assert status["dropped_reports"] > 0
        assert Slow.acked == Slow.delivered > 0
        one.send(1000)  # brings the rest
        until(lambda: Slow.delivered == flow_of(agent.status())["delivered_bytes"], "the rest is told")
        assert Slow.acked == Slow.delivered


def test_connections_beyond_the_slots_run_as_reno() -> None:
    with Emulation(link()) as emulation, _core.KernelAgent(Fixed, name=OWN, flows=1) as agent:
        with transfer(emulation, agent.name) as first, transfer(emulation, agent.name) as second:
            first.send(100_000)
            second.send(500_000)
            assert len(json.loads(agent.status())["flows"]) == 1
            assert json.loads(agent.status())["flows_refused"] == 1
            assert first.window()[0] == 17 and second.window()[0] > 17


def test_a_failing_controller_is_named_and_the_kernel_goes_on() -> None:
    class Broken(Controller):
        def on_ack(self, flow: Any, ack: Any) -> None:
            if flow["delivered"] > 100_000:
                raise ValueError("no idea")

        def on_congestion(self, flow: Any, why: Any) -> None:
            pass

    with Emulation(link()) as emulation, _core.KernelAgent(Broken, name=OWN) as agent:
        with transfer(emulation, agent.name) as one:
            one.send(1_000_000)
            with pytest.raises(
                _core.ControllerError, match=r"Broken\.on_ack raised .*no idea.* in flow 10\.77"
            ):
                agent.step(PATIENCE_S)
            one.send(100_000)


def test_only_the_connections_of_a_group_are_given_the_algorithm() -> None:
    program = """
import socket, os, sys
assert sys.stdin.readline() == "go\\n"
ears = socket.create_server(("127.0.0.1", 0))
made = socket.create_connection(ears.getsockname())
taken = ears.accept()[0]
for one in (made, taken):
    print(one.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\\0").decode())
"""
    default = Path("/proc/sys/net/ipv4/tcp_congestion_control").read_text().strip()
    with _core.KernelAgent("reno", name=OWN) as agent, _core.KernelGroup(agent.name) as group:
        for inside in (True, False):
            pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
            with subprocess.Popen(
                [
                    "unshare",
                    "-n",
                    "sh",
                    "-c",
                    'ip link set lo up; exec "$@"',
                    "sh",
                    sys.executable,
                    "-c",
                    program,
                ],
                **pipes,
            ) as process:
                if inside:
                    group.take(process.pid)
                output, _ = process.communicate("go\n", timeout=PATIENCE_S)
            assert output.split() == [agent.name if inside else default] * 2
    assert group.path is None


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"spec": "rono"}, 'no congestion controller is called "rono"'),
        ({"spec": {"name": "hswa", "a": -1}}, "parameter a of hswa must be a number from 0 to 1000"),
        ({"spec": "reno", "name": "a-name-of-16-char"}, "1 to 15 letters"),
        ({"spec": "reno", "name": "reno"}, "the kernel has an algorithm called reno already"),
        ({"spec": "reno", "ring_bytes": 5000}, "ring_bytes must be a power of two"),
        ({"spec": "reno", "flows": 0}, "flows must be a number from 1"),
        ({"spec": "rono", "native": True}, "no native program is called rono"),
    ],
)
def test_what_cannot_be_attached_is_refused_before_anything_changes(
    given: dict[str, Any], message: str
) -> None:
    with pytest.raises(_core.KernelError, match=message) as refused:
        _core.KernelAgent(**given)
    assert "\n" not in str(refused.value)


def test_without_privilege_it_is_said_what_it_takes() -> None:
    program = "import os; from bentpipe import _core; os.setuid(65534); _core.KernelAgent('reno')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env={**os.environ})
    assert "KernelError: loading it takes CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN" in done.stderr
