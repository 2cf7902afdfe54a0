"""The verbs `bentpipe kernel`: by a fake agent without a privilege, and by the kernel where this is root."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from bentpipe import _core
from bentpipe._core import ScenarioError
from bentpipe.kernel import agent, attach, machine, records, routes
from bentpipe.kernel.choice import Choice, choose, kernel_name
from bentpipe.kernel.commands import receives
from bentpipe.kernel.running import run
from bentpipe.registry import controllers

# They ask the kernel which algorithms it has, while other tests attach some.
pytestmark = pytest.mark.root

PACKAGE = str(Path(attach.__file__).parents[2])

FAKE = """
import json, os, sys, time
from bentpipe.kernel import agent


class Fake:
    def __init__(self, choice, pin):
        if choice.cc == "cubic":
            raise RuntimeError("the kernel's verifier refused datapath: no reason")
        if choice.cc == "bic":
            print("killed by a test", file=sys.stderr, flush=True)
            os._exit(3)
        self.choice = choice

    def step(self, timeout_s):
        time.sleep(min(timeout_s, 0.02))
        return False

    def status(self):
        flow = {
            "id": 1, "local": "10.0.0.1:5", "remote": "10.0.0.2:6", "cwnd_segments": 12,
            "ssthresh_segments": None, "pacing_bps": 8e6, "srtt_s": 0.5, "in_flight_segments": 11,
            "delivered_bytes": 10**7, "reports": 7, "orders": 6, "order_age_s": 0.01, "fallbacks": 2,
            "netns": os.stat("/proc/self/ns/net").st_ino,
        }
        ended = flow | {"id": 2, "local": "10.0.0.1:7", "netns": 1}
        times = {"p50": 1e-5, "p90": 2e-5, "p99": 3e-5, "max": 4e-5}
        return json.dumps({
            "flows": [flow, ended], "reports": 7, "dropped_reports": 1,
            "latency": {"ack_to_agent_s": times, "ack_to_applied_s": times},
        })

    def close(self):
        pass


if __name__ == "__main__":
    sys.exit(agent.main(sys.argv[1:], Fake))
"""


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the records are; whatever is attached there at the end is detached."""
    with tempfile.TemporaryDirectory() as folder:
        there = Path(folder) / "state"
        monkeypatch.setenv(records.VARIABLE, str(there))
        yield there
        for record in records.records():
            attach.detach(record)


@pytest.fixture
def fake(tmp_path: Path) -> dict[str, Any]:
    """Keywords of `attach` with which an agent runs that touches no kernel."""
    program = tmp_path / "fake.py"
    program.write_text(FAKE)
    return {"program": (sys.executable, str(program)), "check": lambda: None}


def wait_until(holds: Any, most_s: float = 10.0) -> None:
    end = time.monotonic() + most_s
    while not holds():
        assert time.monotonic() < end, "it has not happened in time"
        time.sleep(0.02)


# What a name means


def test_a_name_is_what_run_takes_and_set_adds_parameters() -> None:
    star = choose("STAR")
    assert (star.cc, star.spec, star.name, star.native) == ("star", "star", "bp_star", False)
    vegas = choose("vegas alpha=2", ["beta=4"])
    assert vegas.agent_spec() == {"name": "vegas", "alpha": 2.0, "beta": 4.0}
    assert Choice(**json.loads(json.dumps(asdict(vegas)))) == vegas


def test_a_class_is_found_from_any_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.py").write_text(
        "import bentpipe as bp\n"
        "class MyVeryLongReno(bp.Controller):\n"
        "    def on_ack(self, flow, ack): self.cwnd += 1\n"
        "    def on_congestion(self, flow, why): self.cwnd /= 2\n"
    )
    monkeypatch.chdir(tmp_path)
    mine = choose("mine.py:MyVeryLongReno")
    monkeypatch.chdir("/")
    assert mine.agent_spec().__name__ == "MyVeryLongReno"
    assert mine.name == "bp_myverylongre"


def test_names_in_the_kernel_differ_and_are_short_enough() -> None:
    names = [kernel_name(entry["id"]) for entry in controllers()]
    assert len(set(names)) == len(names)
    assert max(map(len, names)) == 15  # TCP_CA_NAME_MAX with its final zero is 16


@pytest.mark.parametrize(
    ("given", "sets", "said"),
    [
        ("strar", [], "did you mean star"),
        ("vegas alpha=-1", [], "must be a number from 0"),
        ("vegas", ["delta=1"], 'no parameter "delta"'),
        ("vegas", ["alpha"], "is no parameter"),
        ("nothing.py:Mine", [], "no file"),
    ],
)
def test_a_wrong_name_is_refused_before_anything(given: str, sets: list[str], said: str) -> None:
    with pytest.raises(ScenarioError, match=said):
        choose(given, sets)


# Attaching, by the fake


def test_what_is_attached_is_shown_and_goes_away(place: Path, fake: dict[str, Any], cli: Any) -> None:
    attach.attach(choose("star"), **fake)
    assert place.stat().st_mode & 0o777 == 0o700
    found = json.loads(cli("kernel", "status", "--json").stdout)["controllers"]
    mine = next(one for one in found if one["name"] == "bp_star")
    assert mine["agent"] == "running" and mine["attached"] and mine["dropped_reports"] == 1
    assert mine["flows"][0]["cwnd_segments"] == 12
    shown = " ".join(cli("kernel", "status").stdout.split())
    for words in (
        "bp_star (star): agent",
        "10.0.0.1:5",
        "7 reports, 1 dropped",
        "p99 30 us",
        "10.0 MB",
        "8.000 Mbit/s",
    ):
        assert words in shown
    pid = mine["pid"]
    ended = cli("kernel", "detach", "star")
    assert (ended.exit_code, ended.stdout) == (0, "bp_star is detached\n")
    assert records.started(pid) == -1 and not place.exists()
    assert cli("kernel", "detach").stdout == "nothing is attached\n"


def test_flows_of_a_network_that_has_ended_are_left_out(place: Path, fake: dict[str, Any]) -> None:
    """Their programs were killed, and their sockets wait minutes for acknowledgements."""
    attach.attach(choose("star"), **fake)
    answer = agent.ask(place / "bp_star", "status")
    assert answer is not None and [flow["local"] for flow in answer["flows"]] == ["10.0.0.1:5", "10.0.0.1:7"]
    (shown,) = records.status()
    assert [flow["local"] for flow in shown["flows"]] == ["10.0.0.1:5"]


def test_a_network_is_held_by_a_process_or_an_open_file() -> None:
    with subprocess.Popen(["unshare", "--net", "sh", "-c", "echo; cat"], stdin=-1, stdout=-1) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdout.readline()  # the namespace is there
        with Path(f"/proc/{process.pid}/ns/net").open("rb") as file:
            inode = os.fstat(file.fileno()).st_ino
            assert machine.held({inode, 1}) == {inode}
            process.stdin.close()
            process.wait(10)
            assert machine.held({inode, 1}) == {inode}
        assert machine.held({inode, 1}) == set()


def test_nothing_is_attached_twice(place: Path, fake: dict[str, Any]) -> None:
    attach.attach(choose("reno"), **fake)
    with pytest.raises(attach.KernelFailed, match="attached already, by process"):
        attach.attach(choose("reno"), **fake)
    assert [record.choice.name for record in records.records()] == ["bp_reno"]


def test_two_at_once_end_as_one(place: Path, fake: dict[str, Any]) -> None:
    """Both begin with nothing attached; one must wait for the other."""
    said: list[str] = []

    def one() -> None:
        try:
            attach.attach(choose("reno"), **fake)
            said.append("attached")
        except attach.KernelFailed:
            said.append("refused")

    threads = [threading.Thread(target=one) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(said) == ["attached", "refused"]


@pytest.mark.parametrize(
    ("cc", "said"),
    [("cubic", "verifier refused datapath"), ("bic", "ended before it was ready: killed by a test")],
)
def test_an_agent_that_fails_leaves_nothing(place: Path, fake: dict[str, Any], cc: str, said: str) -> None:
    with pytest.raises(attach.KernelFailed, match=said):
        attach.attach(choose(cc), **fake)
    assert not place.exists()


def test_a_killed_agent_is_told_and_started_again(place: Path, fake: dict[str, Any], cli: Any) -> None:
    attach.attach(choose("reno"), **fake)
    first = records.records()[0]
    os.kill(first.pid, signal.SIGKILL)
    wait_until(lambda: not first.alive())
    assert records.status()[0]["agent"] == "gone"
    assert "attach it again, or: bentpipe kernel detach reno" in cli("kernel", "status").stdout
    attach.attach(choose("reno"), **fake)
    assert records.status()[0]["pid"] not in (None, first.pid)


def test_a_killed_agent_can_be_detached(place: Path, fake: dict[str, Any]) -> None:
    attach.attach(choose("reno"), **fake)
    os.kill(records.records()[0].pid, signal.SIGKILL)
    assert attach.detach(attach.find("bp_reno")[0]) == []
    assert not place.exists()


def test_the_number_of_a_dead_agent_may_be_anothers(place: Path) -> None:
    """A record with our own number, but another time: this process must live on."""
    place.mkdir()
    record = records.AttachedController(
        choose("reno"), pid=os.getpid(), began=records.started(os.getpid()) - 1
    )
    record.write()
    assert attach.detach(record) == []


def test_in_the_foreground_it_is_this_process(place: Path, fake: dict[str, Any]) -> None:
    ours, theirs = socket.socketpair()
    program = (
        "import os, sys; sys.path.insert(0, os.path.dirname(sys.argv[1])); from fake import Fake\n"
        "from bentpipe.kernel.attach import attach\nfrom bentpipe.kernel.choice import choose\n"
        "from bentpipe.kernel.commands import _say_attached\n"
        "attach(choose('reno'), foreground=True, check=lambda: None, maker=Fake, ready=_say_attached)\n"
    )
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    listening.bind("\0bentpipe-test-" + str(os.getpid()))
    listening.settimeout(10)
    env = {**os.environ, "PYTHONPATH": PACKAGE, "NOTIFY_SOCKET": f"@bentpipe-test-{os.getpid()}"}
    with ours, theirs, listening:
        process = subprocess.Popen([sys.executable, "-c", program, fake["program"][1]], env=env)
        assert listening.recv(100) == b"READY=1"  # what systemd waits for
        (record,) = records.records()
        assert record.pid == process.pid
        assert agent.ask(record.directory, "status") is not None
        process.terminate()
        assert process.wait(10) == 0
    assert not place.exists()


def test_a_question_that_nobody_asks_is_answered(place: Path, fake: dict[str, Any]) -> None:
    attach.attach(choose("reno"), **fake)
    answer = agent.ask(records.records()[0].directory, "who")
    assert answer == {"error": "no question is called 'who'"}
    assert agent.ask(place / "nothing", "status") is None


# Without the kernel, the privilege or the name


def test_status_is_an_empty_list_when_nothing_is_attached(place: Path, cli: Any) -> None:
    ran = cli("kernel", "status", "--json")
    assert ran.exit_code == 0
    assert [one for one in json.loads(ran.stdout)["controllers"] if one["attached"]] == []
    assert not place.exists()


@pytest.mark.parametrize("command", [["attach", "star"], ["run", "star", "--", "true"]])
def test_a_refusal_is_one_line_and_changes_nothing(
    place: Path, cli: Any, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    refusal = {"supported": False, "reason": "loading it takes CAP_BPF"}
    monkeypatch.setattr(machine, "support", lambda: refusal)
    ran = cli("kernel", *command)
    assert (ran.exit_code, ran.stdout) == (1, "")
    assert ran.stderr == "bentpipe: loading it takes CAP_BPF; bentpipe doctor tells more\n"
    assert not place.exists()


WRONG = [
    (["attach"], "NAME"),
    (["attach", "strar"], "did you mean star"),
    (["attach", "star", "--native", "--set", "bw_at_timeout=reset"], "--native"),
    (["attach", "tfrc", "--native"], "tfrc has no native program"),
    (["detach", "star"], "star is not attached; nothing is"),
    (["run", "star"], "behind two dashes"),
    (["status", "--web", "0.0.0.0:0"], "for this machine only"),
    (["status", "--web", "127.0.0.1:0", "--json"], "leave out --json"),
]


@pytest.mark.parametrize(("arguments", "said"), WRONG)
def test_a_wrong_request_has_status_2(place: Path, cli: Any, arguments: list[str], said: str) -> None:
    ran = cli("kernel", *arguments)
    assert ran.exit_code == 2
    assert said in ran.stderr and len(ran.stderr.splitlines()) == 1
    assert not place.exists()


def test_the_live_page_is_served_until_ctrl_c(place: Path, fake: dict[str, Any]) -> None:
    attach.attach(choose("star"), **fake)
    env = {**os.environ, "PYTHONPATH": PACKAGE}
    words = [sys.executable, "-m", "bentpipe", "kernel", "status", "--web", "127.0.0.1:0"]
    with subprocess.Popen(
        words, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        address = process.stdout.readline().split()[0]
        with urlopen(f"{address}events", timeout=10) as events:  # a loopback address
            until = iter(events.readline, b"")
            assert any(b"10.0.0.1:5" in line for line in until)
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 130
        assert process.stderr.read() == "bentpipe: interrupted\n"


def test_an_unprivileged_user_is_told(cli: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "unreadable", lambda: True)
    for verb in ("status", "detach"):
        ran = cli("kernel", verb)
        assert ran.exit_code == 1 and "run it as root" in ran.stderr


def test_a_record_that_only_root_may_read_is_not_taken_for_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(records.VARIABLE, str(tmp_path))
    (tmp_path / "forwarding-1-eth0").touch(0o600)  # of an emulated link, which makes the folder readable
    assert not records.unreadable()
    (tmp_path / "bp_star").mkdir()
    assert not records.unreadable()
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert records.unreadable()


DOCS = Path(__file__).parents[2] / "docs" / "kernel.md"


def blocks() -> list[str]:
    """The shell commands of docs/kernel.md; those that begin with "# as root" change the kernel."""
    return re.findall(r"^```sh\n(.*?)^```", DOCS.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def test_the_page_has_no_verb_that_is_not_there(cli: Any) -> None:
    text = DOCS.read_text(encoding="utf-8")
    verbs = set(re.findall(r"bentpipe kernel ([a-z]+)", text))
    assert verbs == {"attach", "detach", "status", "run", "list"}
    helps = "".join(cli("kernel", verb, "--help").stdout for verb in verbs)
    named = set(re.findall(r"(?<![\w-])--(?:pin|native|congctl|set|foreground|json|watch|web)\b", text))
    assert len(named) == 8 and all(option in helps for option in named)


def test_the_commands_of_the_page_that_need_no_privilege_work(cli: Any) -> None:
    free = [block for block in blocks() if not block.startswith("# as root")]
    commands = [line.split("#")[0].split()[1:] for block in free for line in block.splitlines()]
    assert ["doctor"] in commands
    for command in commands:
        assert cli(*command).exit_code == 0


# What can be attached


def test_the_list_has_every_algorithm_with_what_the_kernel_cannot_carry(cli: Any) -> None:
    rows = {row["id"]: row for row in json.loads(cli("kernel", "list", "--json").stdout)["algorithms"]}
    assert list(rows) == [entry["id"] for entry in controllers()]
    assert any("AEN" in gap for gap in rows["star"]["gaps"])
    assert len(rows["westwood-br"]["gaps"]) >= 2  # bulk repeat and a fixed timer
    assert rows["reno"]["gaps"] == []
    shown = cli("kernel", "list").stdout
    assert "bp_star" in shown and "AEN" in shown


def test_doctor_tells_what_the_kernel_needs(cli: Any) -> None:
    found = {check["name"]: check for check in json.loads(cli("doctor", "--json").stdout)["checks"]}
    for name in (
        "kernel support",
        "BTF",
        "struct_ops for TCP",
        "BPF privileges",
        "cgroup v2",
        "bpffs",
        "TUN",
        "clang",
    ):
        assert not found[name]["needed"] and found[name]["purpose"] and found[name]["remedy"]
    support = json.loads(_core.kernel_support())
    assert (found["kernel support"]["found"] is not None) == support["compiled"]["ok"]
    assert (found["struct_ops for TCP"]["found"] is not None) == support["cong_control"]["ok"]
    assert (found["BPF privileges"]["found"] is not None) == support["privileges"]["ok"]


# Running, with what touches no kernel


class Stub:
    """Both a datapath, which may fail, and a control group."""

    def __init__(self, folder: Path, failure: Exception | None = None) -> None:
        self.path, self.failure, self.closed = folder, failure, 0

    def step(self, _timeout_s: float) -> bool:
        if self.failure is not None:
            raise self.failure
        return False

    def status(self) -> str:
        return '{"orders": 3}'

    def close(self) -> None:
        self.closed += 1


def test_a_command_is_in_the_group_from_its_first_instruction(place: Path, tmp_path: Path) -> None:
    stub = Stub(tmp_path)
    command = ["sh", "-c", f"[ $$ = $(cat {tmp_path}/cgroup.procs) ] && exit 5"]
    ended = run(choose("star"), command, check=lambda: None, maker=lambda *_: stub, group=lambda _: stub)
    assert ended == (5, {"orders": 3})
    assert stub.closed == 2  # as datapath and as group


def test_a_command_does_not_go_on_without_its_agent(place: Path, tmp_path: Path) -> None:
    stub = Stub(tmp_path, ValueError("a controller failed"))
    command = ["sh", "-c", f"sleep 60; touch {tmp_path}/went-on"]
    with pytest.raises(ValueError, match="a controller failed"):
        run(choose("star"), command, check=lambda: None, maker=lambda *_: stub, group=lambda _: stub)
    assert stub.closed == 2
    assert not (tmp_path / "went-on").exists()


def test_a_name_that_is_taken_meanwhile_is_no_failure(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another run takes each name just before this one does, three times."""
    taken: list[str] = []
    monkeypatch.setattr(machine, "registered", lambda: set(taken))

    def maker(choice: Choice, _pin: str | None) -> Stub:
        if len(taken) < 3:
            taken.append(choice.name)
            raise _core.KernelError(f"the kernel has an algorithm called {choice.name} already")
        names.append(choice.name)
        return Stub(tmp_path)

    names: list[str] = []
    run(
        choose("star"),
        ["true"],
        check=lambda: None,
        maker=maker,
        group=lambda name: names.append(name) or Stub(tmp_path),
    )
    assert names == ["bp_star_4", "bp_star_4"]


# Routes


def test_a_route_is_taken_as_it_is_shown() -> None:
    plain = "default via 10.0.0.1 dev eth0 proto dhcp metric 100".split()
    shown = [*plain, *"linkdown expires 12sec congctl lock cubic".split()]
    assert routes.without(routes.clean(shown)) == plain
    assert routes.without(["default", "congctl", "bp_star", "mtu", "1400"]) == ["default", "mtu", "1400"]


def test_a_record_that_is_not_what_its_folder_says_is_not_believed(tmp_path, monkeypatch) -> None:
    """Its name would lead elsewhere, and its process would be ended; so would be that of another user's."""
    monkeypatch.setenv(records.VARIABLE, str(tmp_path))
    for name, said in (("bp_reno", "../victim"), ("bp_star", "bp_star")):
        record = records.AttachedController(choose("reno"), pid=os.getpid(), began=1)
        table = asdict(record)
        table["choice"] |= {"name": said}
        (tmp_path / name).mkdir(mode=0o700)
        (tmp_path / name / "record.json").write_text(json.dumps(table), encoding="utf-8")
    assert [record.choice.name for record in records.records()] == ["bp_star"]
    os.chown(tmp_path / "bp_star" / "record.json", 65534, 65534)
    assert records.records() == []


def test_an_algorithm_at_the_receiving_end_is_said_to_do_nothing() -> None:
    said = receives("bp_hybla", (5_000_000, 1_000), (8_100_000, 90_000))
    assert "received 3.10 MB and sent 0.0890 MB" in said and "does nothing" in said
    assert receives("bp_hybla", (0, 0), (8_000_000, 8_000_000)) == ""  # both ends are here
    assert receives("bp_hybla", (0, 0), (90_000, 8_000_000)) == receives("bp_hybla", (0, 0), (900, 0)) == ""


def test_the_bytes_of_this_network_are_counted() -> None:
    before = machine.octets()
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as there,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as here,
    ):
        here.bind(("127.0.0.1", 0))
        for _ in range(20):
            there.sendto(bytes(1000), here.getsockname())
    came, went = (now - then for now, then in zip(machine.octets(), before, strict=True))
    assert came >= 20_560 and went >= 20_560  # with 28 bytes of headers each
