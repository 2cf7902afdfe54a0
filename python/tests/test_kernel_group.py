"""The control group of `bentpipe kernel run`: where it is, who is in it, and what a killed run leaves."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_kernel_attached import needs_kernel
from test_kernel_verbs import PACKAGE, place, wait_until

from bentpipe import _core
from bentpipe.kernel import machine, records
from bentpipe.kernel.running import sweep

__all__ = ["place"]  # a fixture
pytestmark = needs_kernel

OWN = Path(json.loads(_core.kernel_support())["cgroup"]["reason"])
"""The group of this process, in which the tests make theirs."""

THREADED = {"cpu", "cpuset", "perf_event", "pids"}
"""Controllers that go with processes in inner groups (Documentation/admin-guide/cgroup-v2.rst, "Threads")."""

ALGORITHM = r"bp_iiad(?:_\d+)?"
"""No other test uses iiad in the kernel; two runs may be there at once."""

ASK = """
import socket
l = socket.create_server(("127.0.0.1", 0))
s = socket.create_connection(l.getsockname())
print(*(x.getsockopt(6, 13, 16).rstrip(bytes(1)).decode() for x in (s, l.accept()[0])))
print(next(line[3:] for line in open("/proc/self/cgroup").read().splitlines() if line.startswith("0::")))
"""
"""Prints the algorithm of both ends of a connection, and the group in which it runs."""

ORPHAN = "echo ready; exec sleep 60 >/dev/null 2>&1"
"""A command that goes on when its run is killed."""


def processes(path: Path) -> list[int]:
    try:
        return [int(pid) for pid in (path / "cgroup.procs").read_text().split()]
    except OSError:  # a threaded group does not say
        return [int(pid) for pid in (path / "cgroup.threads").read_text().split()]


def clear(path: Path) -> None:
    """Ends all that runs in groups below this one, and removes them."""
    for below in (*sorted((p for p in path.rglob("*") if p.is_dir()), reverse=True), path):
        for pid in processes(below):
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda below=below: not processes(below))
        if below != path:
            remove(below)


def remove(path: Path) -> None:
    """Removes a group; one whose last process is just ending is busy for a moment."""

    def removed() -> bool:
        try:
            path.rmdir()
        except OSError as error:
            return error.errno != errno.EBUSY
        return True

    wait_until(removed)


@pytest.fixture
def group() -> Iterator[Path]:
    """A control group of the test's own; removed with all that is below it."""
    made = OWN / f"test-{os.getpid()}-{time.monotonic_ns()}"
    made.mkdir()
    yield made
    clear(made)
    remove(made)


@pytest.fixture
def controller(group: Path) -> Iterator[str]:
    """A controller that the group may enable for groups below it; it may have no processes then."""
    offered = [name for name in (group / "cgroup.controllers").read_text().split() if name not in THREADED]
    switch, added = OWN / "cgroup.subtree_control", ""
    for name in (OWN / "cgroup.controllers").read_text().split() if not offered else ():
        if name not in THREADED:
            try:
                switch.write_text(f"+{name}")
            except OSError:  # there are processes in it, and it is not the root
                continue
            added, offered = name, [name]
            break
    if not offered:
        pytest.skip(f"no controller can be enabled for groups below {OWN}")
    yield offered[0]
    clear(group)
    (group / "cgroup.subtree_control").write_text(f"-{offered[0]}")
    if added:
        switch.write_text(f"-{added}")


def runs(below: Path) -> list[Path]:
    return [path for path in below.rglob("bentpipe-run-*") if path.is_dir()]


def named(pid: int | str) -> str:
    """The group of a process as /proc calls it."""
    lines = Path(f"/proc/{pid}/cgroup").read_text().splitlines()
    return next(line[3:] for line in lines if line.startswith("0::"))


def group_of(pid: int | str) -> Path:
    """The same as a directory."""
    return OWN / Path(named(pid)).relative_to(named("self"))


def inside(group: Path, *command: str, place: Path) -> subprocess.Popen[str]:
    """Starts a command in a control group; `bentpipe` is ours, and `ask` is the program above."""
    for name, code in (("bentpipe", "-m bentpipe"), ("ask", f"-c '{ASK.replace(chr(39), chr(34))}'")):
        program = place.parent / name
        program.write_text(f'#!/bin/sh\nexec {sys.executable} {code} "$@"\n')
        program.chmod(0o755)
    path = f"{place.parent}:{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "PYTHONPATH": PACKAGE, records.VARIABLE: str(place)}
    enter = ["/bin/sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', str(group)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([*enter, *command], env=env, text=True, **pipes)  # type: ignore[call-overload,no-any-return]


def said(group: Path, script: str, place: Path) -> list[str]:
    """The lines that a shell script in a control group prints."""
    process = inside(group, "bash", "-euc", script, place=place)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, out + err
    return out.splitlines()


def check(lines: list[str], caller: str) -> None:
    """Both ends of a connection had the algorithm, in a group below the caller's."""
    assert re.fullmatch(rf"({ALGORITHM}) \1", lines[0]), lines
    assert re.fullmatch(rf"{re.escape(caller)}/bentpipe-run-\d+-\d+", lines[1]), lines


def test_it_is_below_the_callers_own(group: Path, place: Path) -> None:
    check(said(group, "bentpipe kernel run iiad -- ask", place), f"{named('self').rstrip('/')}/{group.name}")
    assert runs(group) == []


def test_what_outlives_the_command_goes_to_the_callers_group(group: Path, place: Path) -> None:
    script = "bentpipe kernel run iiad -- sh -c 'sleep 60 >/dev/null 2>&1 & echo $!'"
    (pid,) = said(group, script, place)
    assert group_of(pid) == group
    assert runs(group) == []


def test_limits_of_the_callers_group_go_on_to_hold(group: Path, controller: str, place: Path) -> None:
    """No controller is enabled for its own group: the caller's has a process, and may enable none."""
    (group / "cgroup.subtree_control").write_text(f"+{controller}")
    leaf = group / "leaf"
    leaf.mkdir()
    assert any(file.name.startswith(f"{controller}.") for file in leaf.iterdir())
    check(
        said(leaf, "bentpipe kernel run iiad -- ask", place),
        f"{named('self').rstrip('/')}/{group.name}/leaf",
    )
    assert runs(group) == []


def test_in_a_threaded_group(group: Path, place: Path) -> None:
    """A group below a threaded one takes processes only once it is threaded as well."""
    threaded = group / "threaded"
    threaded.mkdir()
    (threaded / "cgroup.type").write_text("threaded")
    check(
        said(threaded, "bentpipe kernel run iiad -- ask", place),
        f"{named('self').rstrip('/')}/{group.name}/threaded",
    )
    (pid,) = said(threaded, "bentpipe kernel run iiad -- sh -c 'sleep 60 >/dev/null 2>&1 & echo $!'", place)
    assert group_of(pid) == threaded
    assert runs(group) == []


def test_with_a_delegated_subtree_in_a_control_group_namespace(
    group: Path, place: Path, tmp_path: Path
) -> None:
    """As in a container: the namespace begins at the caller's group, and an older mount begins above it."""
    script = f"""
        unshare --cgroup --mount bash -euc '
            ! bentpipe kernel run iiad -- echo it ran 2>&1
            mount -t cgroup2 none {tmp_path}
            bentpipe kernel run iiad -- ask
            ls {tmp_path} | grep bentpipe-run- || echo none is left
        '"""
    refused, *lines, last = said(group, script, place)
    assert refused.startswith("bentpipe: the control group / of this process is not to be seen where cgroup2")
    check(lines, "")
    assert last == "none is left"


def test_where_groups_may_not_be_made_it_says_what_is_missing(group: Path, place: Path) -> None:
    (group / "cgroup.max.descendants").write_text("0")
    process = inside(group, "bentpipe", "kernel", "run", "iiad", "--", "echo", "it ran", place=place)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err.count("\n")) == (1, "", 1)
    assert f"a control group below {group}" in err and "Delegate=yes" in err


def test_of_two_that_are_nested_the_inner_one_decides(group: Path, place: Path) -> None:
    inner = 'ask; bentpipe kernel run "iiad alpha=2" -- ask; ask'
    lines = said(group, f"bentpipe kernel run iiad -- sh -c '{inner}'", place)
    first, second, third = lines[::2]
    assert first == third != second
    assert all(re.fullmatch(rf"({ALGORITHM}) \1", line) for line in (first, second))
    assert lines[3].startswith(f"{lines[1]}/bentpipe-run-")


def kill(group: Path, place: Path, command: str, after_s: float = 0.0) -> None:
    """Kills a run in a control group once its command runs."""
    process = inside(group, "bentpipe", "kernel", "run", "iiad", "--", "sh", "-c", command, place=place)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    time.sleep(after_s)
    process.kill()
    process.wait()
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


@pytest.mark.parametrize("verb", ["run iiad -- true", "attach iiad", "detach", "status"])
def test_the_next_verb_removes_the_group_of_a_killed_run(group: Path, place: Path, verb: str) -> None:
    kill(group, place, ORPHAN)
    (left,) = runs(group)
    (orphan,) = processes(left)
    process = inside(group, "bentpipe", "kernel", *verb.split(), place=place)
    _, output = process.communicate(timeout=60)
    assert process.returncode == 0, output
    assert runs(group) == [] and group_of(orphan) == group
    line = "a bentpipe kernel run was killed: its control group is removed; process"
    assert f"{line} {orphan} (sleep) goes on in {group}, without the controller\n" in output


def test_ten_that_are_killed_at_various_moments_leave_nothing(group: Path, place: Path) -> None:
    for i in reversed(range(10)):
        kill(group, place, "echo ready; exec sleep 0.2 >/dev/null 2>&1", after_s=0.03 * i)
    assert runs(group)
    sweep()
    assert runs(group) == []
    assert sweep() == []


def test_what_is_nested_in_a_killed_run_is_removed_with_it(group: Path, place: Path) -> None:
    kill(group, place, f"bentpipe kernel run iiad -- sh -c '{ORPHAN}'")
    (outer,) = (path for path in runs(group) if path.parent == group)
    (inner,) = runs(outer)
    (orphan,) = processes(inner)
    sweep()
    assert outer.exists() and group_of(orphan) == inner  # the inner run goes on
    os.kill(orphan, signal.SIGKILL)
    wait_until(lambda: not inner.exists())
    sweep()
    assert runs(group) == []


def test_a_run_that_goes_on_keeps_its_group(group: Path, place: Path) -> None:
    command = ["bentpipe", "kernel", "run", "iiad", "--", "sh", "-c", "echo ready; sleep 2; ask"]
    process = inside(group, *command, place=place)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    (mine,) = runs(group)
    assert sweep() == [] and runs(group) == [mine]
    out, err = process.communicate(timeout=30)
    assert re.fullmatch(rf"({ALGORITHM}) \1", out.splitlines()[0]), out + err


def test_from_another_pid_namespace_nothing_is_mistaken(group: Path, place: Path) -> None:
    """There, processes of this one are all called 0, which is oneself when it is written to a group."""
    look = "from bentpipe.kernel.running import sweep; print(sweep())"
    script = f"unshare --pid --fork {sys.executable} -c '{look}; print(open(\"/proc/self/cgroup\").read())'"
    command = ["bentpipe", "kernel", "run", "iiad", "--", "sh", "-c", ORPHAN]
    process = inside(group, *command, place=place)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    (mine,) = runs(group)
    (orphan,) = processes(mine)
    for living in (True, False):
        if not living:
            process.kill()
            process.communicate()
        first, *lines = said(group, script, place)
        assert first == "[]"
        assert any(line.startswith("0::") and line.endswith(f"/{group.name}") for line in lines)
        assert group_of(orphan) == mine
    assert len(sweep()) == 1 and runs(group) == []


def test_where_the_group_above_takes_nothing_it_stays_until_it_is_empty(
    group: Path, controller: str, place: Path
) -> None:
    """The caller has gone, and its group has become one that has only groups below it."""
    kill(group, place, ORPHAN)
    (left,) = runs(group)
    (orphan,) = processes(left)
    (group / "cgroup.subtree_control").write_text(f"+{controller}")
    assert sweep() == [] and group_of(orphan) == left
    os.kill(orphan, signal.SIGKILL)
    wait_until(lambda: not processes(left))
    assert sweep() == ["a bentpipe kernel run was killed: its control group is removed"]
    assert runs(group) == []


OPERATIONS = """
struct tcp_congestion_ops {
    unsigned (*ssthresh)(void *);
    void (*cong_avoid)(void *, unsigned, unsigned);
    unsigned (*undo_cwnd)(void *);
    char name[16];
};
#define IN(name) __attribute__((section(name), used))
#define PROGRAM(name, type, answer) IN("struct_ops") type name(void *ctx) { answer; }
PROGRAM(ssthresh, unsigned, return 10)
PROGRAM(cong_avoid, void, (void)ctx)
PROGRAM(undo_cwnd, unsigned, return 10)
IN("license") char LICENSE[] = "GPL";
IN(".struct_ops") struct tcp_congestion_ops table = {
    (void *)ssthresh, (void *)cong_avoid, (void *)undo_cwnd, "NAME"
};
"""


def test_only_the_algorithm_of_the_whole_name_is_taken_out(tmp_path: Path) -> None:
    """Without a link, as on kernels that have none: there, what is left behind is found by its name."""
    clang, bpftool = machine.clang(), shutil.which("bpftool")
    if clang is None or bpftool is None:
        pytest.skip("clang and bpftool make the algorithm of this test")
    name = f"x{os.getpid()}"
    file = tmp_path / "table.c"
    file.write_text(OPERATIONS.replace("NAME", name))
    compiler = [clang, "-target", "bpf", "-O2", "-g", "-c", str(file), "-o", str(tmp_path / "table.o")]
    subprocess.run(compiler, check=True)
    subprocess.run([bpftool, "struct_ops", "register", str(tmp_path / "table.o")], check=True)
    try:
        assert name in machine.registered()
        assert _core.kernel_detach(name[1:]) is False
        assert _core.kernel_detach(name[:-1]) is False
        assert name in machine.registered()
    finally:
        assert _core.kernel_detach(name) is True
    wait_until(lambda: name not in machine.registered())
