"""Controllers in the kernel of this machine, as root: attached, pinned, for a route, for one command."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from test_kernel_verbs import DOCS, PACKAGE, blocks, place, wait_until

from bentpipe import _core
from bentpipe.kernel import agent, attach, machine, records
from bentpipe.kernel.choice import choose

__all__ = ["place"]  # a fixture


def why_not() -> str | None:
    """Why the tests of the kernel cannot run here."""
    support = json.loads(_core.kernel_support())
    if not support["supported"]:
        return str(support["reason"])
    missing = [program for program in ("ip", "unshare", "iperf3") if shutil.which(program) is None]
    return f"{' and '.join(missing)} is missing" if missing else None


UNABLE = why_not()
needs_kernel = [pytest.mark.root, pytest.mark.skipif(UNABLE is not None, reason=str(UNABLE))]


def in_a_network(script: str, place: Path, timeout_s: float = 30) -> str:
    """What a shell script prints in a network namespace of its own; `bentpipe` is ours."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "bentpipe"
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -m bentpipe "$@"\n')
        program.chmod(0o755)
        env = {
            **os.environ,
            "PATH": f"{folder}:{os.environ['PATH']}",
            "PYTHONPATH": PACKAGE,
            records.VARIABLE: str(place),
        }
        done = subprocess.run(
            ["unshare", "--net", "bash", "-euc", f"ip link set lo up\n{script}"],
            env=env,
            capture_output=True,
            text=True,
            timeout=timeout_s,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


class TestKernel:
    pytestmark = needs_kernel

    @pytest.fixture(autouse=True)
    def _nothing_stays(self, place: Path) -> Iterator[None]:
        """After each test the kernel has none of the names that were used, and no pin or map of them."""
        before = self.datapaths()
        yield
        for record in records.records():
            attach.detach(record)
        wait_until(lambda: not any(name.startswith(self.NAMES) for name in machine.registered()))
        wait_until(lambda: self.datapaths() <= before)
        assert not (machine.BPFFS / "bentpipe").exists()

    NAMES = ("bp_sqrt", "bp_binomial", "bp_kl")
    """No other test uses these algorithms in the kernel."""

    def datapaths(self) -> int:
        """How many datapaths of these names have maps; a connection that lingers holds its own."""
        return sum(one["name"].startswith(self.NAMES) for one in json.loads(_core.kernel_status()))

    def test_a_connection_uses_what_is_attached(self, place: Path) -> None:
        said = in_a_network(
            """
            bentpipe kernel attach sqrt
            echo >"$BENTPIPE_STATE.json"
            iperf3 --server --one-off --port 5301 >/dev/null &
            sleep 0.4
            iperf3 --client 127.0.0.1 --port 5301 --congestion bp_sqrt --bitrate 20M --time 9 >/dev/null &
            client=$!
            until grep -q '"delivered_bytes": [1-9]' "$BENTPIPE_STATE.json"; do
                bentpipe kernel status --json >"$BENTPIPE_STATE.json"
            done
            kill $client
            bentpipe kernel detach sqrt
            """,
            place,
        )
        assert "attached as bp_sqrt" in said and "bp_sqrt is detached" in said
        found = json.loads(Path(f"{place}.json").read_text())
        (mine,) = (one for one in found["controllers"] if one["name"] == "bp_sqrt")
        busy = max(mine["flows"], key=lambda flow: flow["delivered_bytes"])
        assert busy["delivered_bytes"] > 0 and busy["orders"] > 0 and busy["fallbacks"] == 0
        assert mine["latency"]["ack_to_applied_s"]["p99"] > 0
        assert "bp_sqrt" not in machine.registered()

    def test_the_flows_of_a_native_program_are_shown_as_ss_shows_them(self, place: Path) -> None:
        said = in_a_network(
            """
            until bentpipe kernel attach hswa --native 2>&1; do sleep 0.5; done  # the name is the machine's
            iperf3 --server --one-off --port 5304 >/dev/null &
            sleep 0.4
            iperf3 --client 127.0.0.1 --port 5304 --congestion bpn_hswa --bitrate 20M --time 9 >/dev/null &
            client=$!
            until ss -tin state established | grep -q "bytes_acked:[0-9]\\{6\\}"; do sleep 0.1; done
            bentpipe kernel status
            bentpipe kernel status --json >"$BENTPIPE_STATE.json"
            ss -tin state established
            kill $client
            bentpipe kernel detach hswa
            """,
            place,
            timeout_s=90,
        )
        found = json.loads(Path(f"{place}.json").read_text())
        (mine,) = (one for one in found["controllers"] if one["name"] == "bpn_hswa")
        sending = [flow for flow in mine["flows"] if flow["remote"] == "127.0.0.1:5304"]
        busy = max(sending, key=lambda flow: flow["delivered_bytes"])
        assert busy["delivered_bytes"] >= 100_000 and busy["cwnd_segments"] >= 10
        assert 0 < busy["rtt_min_s"] <= busy["srtt_s"] < 1 and busy["in_flight_segments"] >= 0
        assert f" mss:{busy['mss']} " in said and busy["local"] in said
        assert re.search(r"\(hswa\): native \d+, \d flows", said)
        assert "in the kernel: ber is not filled in" in said

    def test_run_is_for_its_command_alone(self, place: Path) -> None:
        said = in_a_network(
            """
            iperf3 --server --port 5302 >/dev/null &
            server=$!
            sleep 0.4
            bentpipe kernel run binomial -- \\
                iperf3 --client 127.0.0.1 --port 5302 --bitrate 20M --time 2 >/dev/null &
            client=$!
            until [ "$(ss -tin state established | grep -o bp_binomial | wc -l)" = 2 ]; do sleep 0.1; done
            ss -tin state established | grep -oE "bp_binomial|cubic|reno|bbr" | sort | uniq -c
            wait $client
            kill $server
            """,
            place,
        )
        counts = {line.split()[1]: int(line.split()[0]) for line in said.splitlines()}
        assert counts["bp_binomial"] == 2  # control and data; the server's ends are of the machine's own
        assert sum(counts.values()) >= 4
        assert not list(Path(machine.support()["cgroup"]["reason"]).glob("bentpipe-run-*"))

    def test_the_exit_status_is_the_commands(self, place: Path, cli: Any) -> None:
        assert cli("kernel", "run", "kl", "--", "sh", "-c", "exit 7").exit_code == 7
        assert cli("kernel", "run", "kl", "--", "sh", "-c", "kill -TERM $$").exit_code == 128 + signal.SIGTERM
        ran = cli("kernel", "run", "kl", "--", "no-such-program")
        assert ran.exit_code == 2 and "no-such-program" in ran.stderr

    def test_two_runs_of_one_algorithm_have_agents_of_their_own(self, place: Path) -> None:
        in_a_network(
            """
            exec >"$BENTPIPE_STATE.said" 2>&1  # with --json, a command writes to standard error
            bentpipe kernel run --json kl -- bentpipe kernel run --json "kl k=0.5" -- \\
                bentpipe kernel run --json kl -- true
            """,
            place,
        )
        names = re.findall(r'"name": "(\w+)"', Path(f"{place}.said").read_text())
        assert names == ["bp_kl_3", "bp_kl_2", "bp_kl"]  # the innermost ends first

    def test_a_run_uses_what_is_attached_if_it_is_the_same(self, place: Path, cli: Any) -> None:
        attach.attach(choose("kl"))
        assert json.loads(cli("kernel", "run", "kl", "--json", "--", "true").stdout) == {"schema": 1}
        other = json.loads(cli("kernel", "run", "kl k=0.5", "--json", "--", "true").stdout)
        assert other["name"] == "bp_kl_2"

    def test_an_interrupt_ends_command_and_agent(self, place: Path) -> None:
        env = {**os.environ, "PYTHONPATH": PACKAGE, records.VARIABLE: str(place)}
        words = [sys.executable, "-m", "bentpipe", "kernel", "run", "kl", "--", "sleep", "60"]
        process = subprocess.Popen(words, env=env, start_new_session=True)
        wait_until(lambda: "bp_kl" in machine.registered())
        time.sleep(0.3)
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(5) in (128 + signal.SIGINT, 130)

    def test_a_pinned_one_outlives_its_agent_and_is_taken_up_again(self, place: Path) -> None:
        attach.attach(choose("sqrt"), pin=True)
        first = records.records()[0]
        os.kill(first.pid, signal.SIGKILL)
        wait_until(lambda: not first.alive())
        assert "bp_sqrt" in machine.registered()
        assert records.status()[0]["agent"] == "gone"
        attach.attach(choose("sqrt"))
        (again,) = records.records()
        assert again.alive() and again.pin == first.pin
        attach.detach(again)
        assert "bp_sqrt" not in machine.registered()

    def test_a_route_chooses_it_until_it_is_detached(self, place: Path) -> None:
        said = in_a_network(
            """
            ip link add near type veth peer name far
            ip addr add 10.9.0.1/24 dev near
            ip link set near up
            ip link set far up
            ip route add default via 10.9.0.2 dev near mtu 1400
            ip route add default via 10.9.0.3 dev near metric 70
            before=$(ip route show)
            ! bentpipe kernel attach sqrt --congctl default 2>&1
            bentpipe kernel attach sqrt --congctl "default dev near metric 70" --congctl "10.9.0.0/24 lock" \\
                >/dev/null
            ip route show default | grep "metric 70"
            ip route show exact 10.9.0.0/24
            bentpipe kernel detach >/dev/null
            [ "$before" = "$(ip route show)" ]
            ! bentpipe kernel attach sqrt --congctl 10.8.0.0/16 2>&1
            """,
            place,
        )
        lines = said.splitlines()
        assert "there are 2 such routes; add via, dev or metric" in lines[0]
        assert "congctl bp_sqrt" in lines[1]
        assert lines[2].split()[-3:] == ["congctl", "lock", "bp_sqrt"]
        assert lines[3] == "bentpipe: --congctl 10.8.0.0/16: there is no such route (ip -4 route show)"

    def test_all_routes_of_a_namespace_may_use_one(self, place: Path) -> None:
        said = in_a_network(
            f"""
            ip link add near type veth peer name far
            ip addr add 10.9.0.1/24 dev near
            ip -6 addr add fd00::1/64 dev near nodad
            ip link set near up
            ip link set far up
            ip route add default via 10.9.0.2 dev near mtu 1400
            ip -6 route add default via fd00::2
            until [ "$(ip -6 route show fe80::/64 | wc -l)" = 2 ]; do sleep 0.05; done
            shown() {{ ip route show; ip -6 route show; }}
            before=$(shown)
            {sys.executable} -c "from bentpipe.kernel import routes; routes.choose_everywhere('reno')"
            echo "$before" | wc -l
            shown | grep -v fe80: | grep -v "congctl reno" || echo all
            diff <(echo "$before" | sort) <(shown | sed "s/ congctl reno//" | sort)
            """,
            place,
        )
        assert said.split() == ["6", "all"]

    def test_a_name_that_is_taken_is_refused_and_left_alone(self, place: Path) -> None:
        """A run has the name; attaching it as well must not take it away."""
        made = agent.make(choose("sqrt"), None)
        try:
            with pytest.raises(attach.KernelFailed, match="bp_sqrt"):
                attach.attach(choose("sqrt"))
            assert "bp_sqrt" in machine.registered() and records.records() == []
        finally:
            made.close()

    @pytest.mark.parametrize(
        "number", range(len([block for block in blocks() if block.startswith("# as root")]))
    )
    def test_the_commands_of_the_page_work(self, place: Path, number: int) -> None:
        block = [block for block in blocks() if block.startswith("# as root")][number]
        in_a_network(block, place)
        assert not place.exists()

    def test_it_nests_in_an_emulated_link(self, place: Path) -> None:
        """The command waits until its connections have closed, which the link would otherwise cut off."""
        if not hasattr(_core, "EmulatedNetwork"):
            pytest.skip("this build has no emulator")
        said = in_a_network(
            """
            bentpipe emulate geo --quiet --serve "iperf3 -s --logfile /dev/null" -- \\
                bentpipe kernel run --json kl -- sh -c \\
                "iperf3 --client 10.77.0.2 --bitrate 200K --time 1 --logfile /dev/null; sleep 2"
            """,
            place,
        )
        answer = json.loads(said)
        assert answer["name"] == "bp_kl" and answer["orders"] > 0

    def test_programs_of_an_emulated_link_may_have_it_as_their_default(self, place: Path) -> None:
        """A namespace that has ended keeps no reference to it: `_nothing_stays`."""
        if not hasattr(_core, "EmulatedNetwork"):
            pytest.skip("this build has no emulator")
        said = in_a_network(
            """
            bentpipe kernel attach kl >/dev/null
            bentpipe emulate geo --cc kl --json --serve "iperf3 -s --logfile /dev/null" -- \\
                sh -c "iperf3 --client 10.77.0.2 --bitrate 200K --time 1 --logfile /dev/null; sleep 2; \\
                bentpipe kernel status --json >$BENTPIPE_STATE.json" 2>"$BENTPIPE_STATE.said"
            bentpipe kernel detach kl >/dev/null
            """,
            place,
        )
        answer = json.loads(said)
        assert (answer["congestion_control"], answer["congestion_control_by"]) == ("bp_kl", "sysctl")
        attached = json.loads(Path(f"{place}.json").read_text())["controllers"]
        (mine,) = (one for one in attached if one["name"] == "bp_kl")
        assert mine["reports"] > 0

    def test_three_capabilities_are_enough(self, place: Path) -> None:
        """Those of the service in docs/kernel.md; without CAP_BPF it is refused, and nothing is changed."""
        unit = re.search(r"^CapabilityBoundingSet=(.*)$", DOCS.read_text(encoding="utf-8"), re.MULTILINE)
        assert unit is not None
        held = ",".join(f"+{word.removeprefix('CAP_').lower()}" for word in unit[1].split())
        in_a_network(
            f"""
            setpriv --bounding-set=-all,{held} bentpipe kernel attach kl >/dev/null
            setpriv --bounding-set=-all,{held} bentpipe kernel detach kl >/dev/null
            some=-all,+net_admin,+perfmon
            ! setpriv --bounding-set=$some bentpipe kernel attach kl 2>"$BENTPIPE_STATE.said"
            grep -q "CAP_BPF and CAP_PERFMON" "$BENTPIPE_STATE.said"
            [ ! -e "$BENTPIPE_STATE" ]
            """,
            place,
        )

    def test_a_class_of_ones_own_serves_connections(self, place: Path, tmp_path: Path) -> None:
        (tmp_path / "mine.py").write_text(
            "import bentpipe as bp\n"
            "class Sqrt(bp.Controller):\n"
            "    def on_ack(self, flow, ack): self.cwnd += ack['acked'] / flow['mss'] / self.cwnd\n"
            "    def on_congestion(self, flow, why): self.ssthresh = self.cwnd = max(self.cwnd / 2, 2)\n"
        )
        said = in_a_network(
            f"""
            iperf3 --server --one-off --port 5303 >/dev/null &
            sleep 0.4
            bentpipe kernel run --json {tmp_path}/mine.py:Sqrt -- \\
                iperf3 --client 127.0.0.1 --port 5303 --bitrate 20M --time 1 --logfile /dev/null
            """,
            place,
        )
        answer = json.loads(said)
        assert answer["name"] == "bp_sqrt" and answer["reports"] > 0 and answer["orders"] > 0
