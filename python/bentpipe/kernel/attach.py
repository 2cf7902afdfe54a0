"""Attaches a controller to the kernel, and detaches it with everything that came with it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NoReturn

from bentpipe import _core
from bentpipe.kernel import agent, machine, routes
from bentpipe.kernel.choice import Choice
from bentpipe.kernel.records import AttachedController, changing, records, started

READY_S = 60.0
"""Time limit for an agent to register its controller; it takes half a second in an emulated machine."""
END_S = 10.0
"""Time limit for an agent to end."""

_KERNELS_OWN = {"maps.debug", "progs.debug"}
"""The initial contents of every bpffs."""

PROGRAM = (sys.executable, "-m", "bentpipe.kernel.agent")
"""The program that runs an agent."""


class KernelFailed(Exception):
    """The kernel, the privileges or the build do not allow it; the message says which, with the remedy."""


def check_machine() -> None:
    """Looks whether a controller could be attached here; nothing is changed.

    Raises:
        KernelFailed: it could not; the message says why.
    """
    support = machine.support()
    if not support.get("supported"):
        raise KernelFailed(f"{support['reason']}; bentpipe doctor tells more")


def attach(
    choice: Choice,
    *,
    pin: bool = False,
    congctl: Sequence[str] = (),
    foreground: bool = False,
    ready: Callable[[AttachedController], None] = lambda _record: None,
    check: Callable[[], None] = check_machine,
    maker: agent.Maker = agent.make,
    program: Sequence[str] = PROGRAM,
) -> None:
    """Registers a controller under its name in the kernel, with an agent that serves it.

    Args:
        choice: which.
        pin: the kernel keeps it in a bpffs when the agent ends.
        congctl: routes whose connections are to use it (`routes.plan`).
        foreground: the agent is this process, until SIGTERM or Ctrl-C.
        ready: called with the record once all is done.
        check: looks whether the machine allows it.
        maker: registers it, in the foreground.
        program: the program that runs an agent in the background.

    Raises:
        KernelFailed: nothing is changed then.
        ScenarioError: a route is wrong, or the file of the user's class.
    """
    check()
    with changing():
        old = next((record for record in records() if record.choice.name == choice.name), None)
        if old is not None and old.alive():
            raise KernelFailed(
                f"{choice.name} is attached already, by process {old.pid}; "
                f"bentpipe kernel detach {choice.cc} ends that"
            )
        changes = [routes.plan(route, choice.name) for route in congctl]
        record = _planned(choice, old, pin=pin)
        record.write()
        datapath = None
        try:
            if foreground:
                datapath = maker(choice, record.pin)
                record.pid, record.began = os.getpid(), started(os.getpid())
                record.write()
            else:
                _start(record, program)
        except BaseException:
            _forget(record, old)
            raise
        try:
            _change(record, changes)
        except BaseException:
            if datapath is not None:
                datapath.close()
                record.pid = 0
            _take_out(record)
            raise
    if datapath is None:
        ready(record)
        return
    agent.serve(datapath, record.directory, lambda: ready(record))
    if record.pin is None:
        record.pid = 0
        detach(record)


def detach(record: AttachedController) -> list[str] | None:
    """Takes a controller out: routes, agent, pins, record.

    Returns:
        The obstacles, a line each; None if another command has taken it out meanwhile.
    """
    with changing():
        return _take_out(record) if record.directory.exists() else None


def find(given: str | None) -> list[AttachedController]:
    """The attached controllers that a word means: the user's, the registry's or the kernel's; all for None.

    Raises:
        ScenarioError: nothing of this name is attached.
    """
    there = records()
    if given is None:
        return there
    found = [r for r in there if given in (r.choice.given, r.choice.cc, r.choice.name)]
    if not found:
        names = ", ".join(r.choice.name for r in there)
        raise _core.ScenarioError(
            f"{given} is not attached; {f'attached: {names}' if names else 'nothing is'}"
        )
    return found


def _planned(choice: Choice, old: AttachedController | None, *, pin: bool) -> AttachedController:
    """The record of what is to be attached, with the remains of an agent that has died."""
    record = AttachedController(choice) if old is None else replace(old, choice=choice, pid=0, began=0)
    if pin and record.pin is None:
        if machine.bpffs() is None:  # the agent mounts it
            record.mounted = str(machine.BPFFS)
        record.pin = str(machine.BPFFS / "bentpipe" / choice.name)
    return record


def _start(record: AttachedController, program: Sequence[str]) -> None:
    """Starts the agent in a session of its own and waits for its first line."""
    mine, its = os.pipe()
    try:
        log = os.open(record.directory / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            process = subprocess.Popen(
                [*program, str(record.directory), str(its)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=[its],
                start_new_session=True,
                cwd="/",
                env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
            )
        finally:
            os.close(log)
            os.close(its)
        try:
            text = agent.wait_for_line(mine, READY_S)
        except BaseException:
            _end(process)
            raise
    finally:
        os.close(mine)
    said: dict[str, Any] = json.loads(text) if text.startswith("{") else {}
    if "pid" not in said:
        _end(process)
        _refuse(said, record)
    record.pid, record.began = process.pid, started(process.pid)
    process.returncode = 0  # it is to outlive us: no warning that it runs
    record.write()


def _refuse(said: dict[str, Any], record: AttachedController) -> NoReturn:
    if said.get("kind") == "ScenarioError":
        raise _core.ScenarioError(str(said["error"]))
    if "error" in said:
        raise KernelFailed(str(said["error"]))
    lines = [line for line in machine.text(record.directory / "log").split("\n") if line.strip()]
    last = f": {lines[-1]}" if lines else ", without a word"
    raise KernelFailed(f"the agent ended before it was ready{last}")


def _change(record: AttachedController, changes: Sequence[routes.RouteChange]) -> None:
    """Changes the routes, first those of an agent that has died; each is recorded before."""
    for table in record.routes:
        with suppress(OSError):  # it has gone meanwhile
            routes.apply(routes.RouteChange(**table))
    for change in changes:
        record.netns = routes.namespace()
        record.routes.append(asdict(change))
        record.write()
        try:
            routes.apply(change)
        except OSError as failure:
            record.routes.pop()
            record.write()
            raise KernelFailed(str(failure)) from None


def _take_out(record: AttachedController) -> list[str]:
    """Undoes everything in the opposite order; an obstacle does not stop the rest."""
    said = []
    if record.routes and record.netns != routes.namespace():
        said.append("its routes are in another network namespace and lose the algorithm with it")
    elif record.routes:
        for table in reversed(record.routes):
            trouble = routes.undo(routes.RouteChange(**table))
            if trouble is not None:
                said.append(trouble)
    if record.alive():
        with suppress(TimeoutError):
            agent.ask(record.directory, "stop")
        _wait(record)
    _unregister(record)
    record.remove()
    return said


def _wait(record: AttachedController) -> None:
    """Waits until the agent has ended; one that does not listen is ended."""
    for number in (None, signal.SIGTERM, signal.SIGKILL):
        if number is not None:
            with suppress(ProcessLookupError):
                os.kill(record.pid, number)
        end = time.monotonic() + END_S
        while record.alive() and time.monotonic() < end:
            time.sleep(0.02)
        if not record.alive():
            return


def _unregister(record: AttachedController) -> None:
    """Removes its pins, whereupon the kernel lets the datapath go when its last connection ends."""
    pin = None if record.pin is None else Path(record.pin).parent
    with suppress(_core.KernelError):  # a build without the datapath has pinned nothing
        _core.kernel_detach(record.choice.name, None if pin is None else str(pin))
    _unmount(record)


def _unmount(record: AttachedController) -> None:
    """Removes directory and mount that were made for pins, unless others are pinned there."""
    if record.pin is None:
        return
    with suppress(OSError):
        Path(record.pin).parent.rmdir()
    if record.mounted is None or not os.path.ismount(record.mounted):
        return
    if set(os.listdir(record.mounted)) <= _KERNELS_OWN:
        subprocess.run(["umount", record.mounted], stdin=subprocess.DEVNULL, capture_output=True)
        return
    for other in records():  # the last one unmounts it
        if other.pin is not None and other.choice.name != record.choice.name:
            other.mounted = record.mounted
            other.write()
            return


def _forget(record: AttachedController, old: AttachedController | None) -> None:
    """Restores the state before an attempt."""
    if old is not None:
        old.write()
        return
    _unmount(record)
    record.remove()


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends one of our processes and waits for it."""
    process.terminate()
    try:
        process.wait(END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
