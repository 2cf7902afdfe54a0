"""One command whose TCP connections use a controller, while all others of the machine are unaffected."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from bentpipe import _core
from bentpipe.kernel import agent, machine
from bentpipe.kernel.attach import check_machine
from bentpipe.kernel.choice import LONGEST_NAME, Choice
from bentpipe.kernel.records import records

#: The shell puts itself into the group $0 and becomes the command, which is in the group from its first
#: instruction, with all that it starts.
_ENTER = 'echo $$ > "$0/cgroup.procs" && exec "$@"'
_HEARD = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_STEP_S = 0.1
_STOP_S = 1.0
_RUNS = 100
"""Names that are tried, for as many runs of one algorithm at once."""


class Group(Protocol):
    """The interface of `_core.KernelGroup`: a control group whose TCP connections use one algorithm."""

    @property
    def path(self) -> Any:
        """Its directory."""

    def close(self) -> None:
        """Removes it; remaining processes go to the group above."""


def make_group(name: str) -> Group:
    """A control group whose TCP connections use the kernel's algorithm `name`.

    Raises:
        KernelError: cgroup v2 is not mounted, or the program cannot be attached.
    """
    return _core.KernelGroup(name)


def sweep() -> list[str]:
    """Removes the control groups that killed runs have left; a line for each.

    A command that has outlived its run continues in the group above, where it would be without the run.
    """
    lines = []
    for found in json.loads(_core.kernel_sweep_groups()):
        group = Path(found["path"])
        state = "its control group is removed" if found["removed"] else f"{group} stays until it is empty"
        named = ", ".join(
            f"{pid} ({(machine.text(f'/proc/{pid}/comm') or 'ended').strip()})" for pid in found["moved"]
        )
        on = f"; process {named} goes on in {group.parent}, without the controller" if named else ""
        lines.append(f"a bentpipe kernel run was killed: {state}{on}")
    return lines


def run(
    choice: Choice,
    command: Sequence[str],
    *,
    output: int | None = None,
    check: Callable[[], None] = check_machine,
    maker: agent.Maker = agent.make,
    group: Callable[[str], Group] = make_group,
) -> tuple[int, dict[str, Any]]:
    """Runs a command with a controller for its connections, and for as long.

    If the same is attached already, that serves the command; otherwise this process is the agent, under a
    name that is free: `bp_star`, `bp_star_2` and so on.

    Args:
        choice: which.
        command: program and arguments, run in the network and with the files of this process.
        output: a file descriptor for the command's standard output, instead of this process's own.
        check: looks whether the machine allows it.
        maker: registers the controller.
        group: makes the control group.

    Returns:
        The command's exit status, 128 more than its signal if that ended it; and the agent's last status,
        empty if this process was none.

    Raises:
        KernelFailed: nothing is changed then, and the command has not run.
        ScenarioError: there is no such program.
    """
    check()
    if shutil.which(command[0]) is None:
        raise _core.ScenarioError(f"COMMAND: there is no program {command[0]!r}")
    name, datapath = _served(choice, maker)
    try:
        held = group(name)
        try:
            status = _run(["/bin/sh", "-c", _ENTER, str(held.path), *command], datapath, output)
        finally:
            held.close()
        said = {} if datapath is None else json.loads(datapath.status())
    finally:
        if datapath is not None:
            datapath.close()
    return status, said


def _served(choice: Choice, maker: agent.Maker) -> tuple[str, agent.Datapath | None]:
    """The kernel's name of the controller, and its agent in this process unless another one serves it."""
    for record in records():
        if record.alive() and (record.choice.spec, record.choice.source) == (choice.spec, choice.source):
            if record.choice.native == choice.native:
                return record.choice.name, None
    if choice.native and choice.name in machine.registered():
        return choice.name, None  # the same program for everyone
    for number in range(1, _RUNS + 1):
        tail = f"_{number}" if number > 1 else ""
        name = choice.name[: LONGEST_NAME - len(tail)] + tail
        if name in machine.registered() and number < _RUNS:
            continue  # another run's, or attached with other parameters
        try:
            return name, maker(replace(choice, name=name), None)
        except _core.KernelError:
            if name not in machine.registered() or number == _RUNS:  # or another process was quicker
                raise
    raise AssertionError("the last name returns or raises")


def _run(words: list[str], datapath: agent.Datapath | None, output: int | None) -> int:
    """Runs it to its end, or to the agent's. Ctrl-C reaches it directly; other signals are handed on."""
    heard: list[int] = []
    before = {number: signal.signal(number, lambda n, _: heard.append(n)) for number in _HEARD}
    try:
        program = subprocess.Popen(words, stdout=output)
        failed: BaseException | None = None
        asked = 0
        while (status := _waited(program)) is None:
            if failed is None and datapath is not None:
                try:
                    datapath.step(0)
                except Exception as failure:  # without its agent the command would measure something else
                    failed = failure
                    program.terminate()
            for number in heard[asked:]:
                if number != signal.SIGINT:
                    program.send_signal(number)
            if heard and asked == 0:
                _kill_later(program)
            asked = len(heard)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if failed is not None:
        raise failed
    return 128 - status if status < 0 else status


def _waited(program: subprocess.Popen[bytes]) -> int | None:
    try:
        return program.wait(_STEP_S)
    except subprocess.TimeoutExpired:
        return None


def _kill_later(program: subprocess.Popen[bytes]) -> None:
    """A command that continues after a signal is killed."""
    timer = threading.Timer(_STOP_S, program.kill)
    timer.daemon = True
    timer.start()
