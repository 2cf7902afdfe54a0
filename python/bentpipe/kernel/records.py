"""Records of attached controllers, one directory for each with all that `detach` must undo; their status.

The directory is /run/bentpipe, for its owner alone; BENTPIPE_STATE names another. A record is written before
action that it describes is taken, so that a crash leaves no untracked state. The status is from the records,
their agents, and the maps in the kernel.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bentpipe import _core
from bentpipe.kernel import agent, machine
from bentpipe.kernel.choice import Choice
from bentpipe.machine.connections import Connection, Connections

VARIABLE = "BENTPIPE_STATE"
"""The environment variable that names another directory."""

OURS = re.compile(r"bpn?_[a-z0-9_-]+")
"""Names of our controllers in the kernel."""
_OF_FLOW = (
    "cwnd_segments", "ssthresh_segments", "pacing_bps", "srtt_s", "rtt_min_s", "in_flight_segments", "mss",
)  # fmt: skip
"""Values of a connection that a flow of an agent has by the same names."""


@dataclass
class AttachedController:
    """One attached controller.

    Attributes:
        choice: which.
        pin: directory in a bpffs where the datapath is pinned, or None.
        mounted: where the agent had to mount that, or None.
        pid: process of the agent; 0 before it has started.
        began: start of that process, in ticks since boot: the number of a dead process is reused.
        netns: inode of the network namespace whose routes were changed.
        routes: of each changed route, "family" ("-4" or "-6"), "old" and "new": the words of `ip route`.
    """

    choice: Choice
    pin: str | None = None
    mounted: str | None = None
    pid: int = 0
    began: int = 0
    netns: int = 0
    routes: list[dict[str, Any]] = field(default_factory=list)

    @property
    def directory(self) -> Path:
        """Its path, beside the agent's socket and log."""
        return home() / self.choice.name

    def alive(self) -> bool:
        """Whether its agent still runs."""
        return self.pid > 0 and started(self.pid) == self.began

    def write(self) -> None:
        """Writes it, at once and as a whole."""
        self.directory.mkdir(mode=0o700, exist_ok=True)
        new = self.directory / "record.new"
        new.write_text(json.dumps(asdict(self), indent=1), encoding="utf-8")
        new.replace(self.directory / "record.json")

    def remove(self) -> None:
        """Forgets it, with the agent's socket and log."""
        shutil.rmtree(self.directory, ignore_errors=True)


def home() -> Path:
    """The directory of all records."""
    return Path(os.environ.get(VARIABLE) or "/run/bentpipe")


def records() -> list[AttachedController]:
    """All that is attached, in order of their names; nothing if this user may not look.

    A record of another user, or of another name than its directory's, is none: what it says is not believed.
    """
    found = []
    try:
        places = sorted(home().iterdir())
    except OSError:
        return []
    for place in places:
        with suppress(OSError, ValueError, KeyError, TypeError):
            if place.is_symlink() or any(
                each.stat().st_uid != os.geteuid() for each in (place.parent, place, place / "record.json")
            ):
                continue
            table = json.loads((place / "record.json").read_text(encoding="utf-8"))
            record = AttachedController(**table | {"choice": Choice(**table["choice"])})
            if record.directory == place:
                found.append(record)
    return found


def unreadable() -> bool:
    """Whether there is a directory of records that this user may not read: that of all, or that of one."""
    try:
        return any(place.is_dir() and not os.access(place, os.R_OK | os.X_OK) for place in home().iterdir())
    except PermissionError:
        return True
    except OSError:
        return False


@contextmanager
def changing() -> Iterator[None]:
    """A block in which no other process attaches or detaches.

    Raises:
        OSError: the directory cannot be made.
    """
    handle = _locked()
    try:
        yield
    finally:
        with suppress(OSError):  # something is attached
            home().rmdir()
        os.close(handle)


def _locked() -> int:
    """A handle of the directory of all records, which no other process has locked."""
    while True:
        home().mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(FileNotFoundError):  # the last controller goes just now
            handle = os.open(home(), os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(handle, fcntl.LOCK_EX)
            try:
                if os.path.samestat(os.fstat(handle), os.stat(home())):
                    return handle
            except FileNotFoundError:
                pass
            os.close(handle)


def started(pid: int) -> int:
    """The start of a process, in ticks since boot (field 22 of /proc/PID/stat); -1 if it has ended."""
    words = machine.text(f"/proc/{pid}/stat").rpartition(")")[2].split()  # the name before may hold anything
    return -1 if not words or words[0] in "ZX" else int(words[19])


def status() -> list[dict[str, Any]]:
    """One table for each attached controller, then for those of `bentpipe kernel run` and other programs.

    Each has name (the kernel's), given and cc (as asked for), native, attached (False for those others),
    agent ("running" or "gone"), pid, pin, routes, the values of `_core.KernelAgent.status` (flows, reports,
    dropped_reports, latency), and error if the agent cannot answer. A native program has no agent: its flows
    are those of this network namespace, as the kernel's own tables have them, without an agent's values.
    Flows of an agent whose network namespace has ended are left out.
    """
    # The maps of all datapaths: none without the privilege to read them.
    known = {one["name"]: one for one in json.loads(_core.kernel_status()) if one.get("registered")}
    there = records()
    mine = [_one(record, known.pop(record.choice.name, {})) for record in there]
    found = [*mine, *(_other(known[name]) for name in sorted(known))]
    if any(one["native"] for one in found):
        with closing(Connections()) as here:
            connections = here.read()
        for one in found:
            if one["native"]:
                one["flows"] = [_flow(at) for at in connections if at.algorithm == one["name"]]
    _leave_out_ended(found)
    return found


def _leave_out_ended(controllers: Iterable[dict[str, Any]]) -> None:
    """Removes the flows whose network namespace, that of an emulated link for example, has ended."""
    of_agents = [one for one in controllers if one.get("flows") and not one["native"]]
    held = machine.held({flow["netns"] for one in of_agents for flow in one["flows"]})
    for one in of_agents:
        one["flows"] = [flow for flow in one["flows"] if flow["netns"] in held]


def unseen() -> list[str]:
    """Our names that the kernel offers, for an unprivileged user."""
    return sorted(name for name in machine.registered() if OURS.fullmatch(name))


def together() -> dict[str, Any]:
    """All controllers as if they were one: their flows, reports missed by agents, and the slowest latency."""
    there = status()
    slow = max(
        (one["latency"] for one in there if one.get("latency")),
        key=lambda latency: latency["ack_to_applied_s"]["p99"] or 0.0,
        default=None,
    )
    return {
        "flows": [flow for one in there for flow in one.get("flows") or []],
        "dropped_reports": sum(one.get("dropped_reports") or 0 for one in there),
        "latency": slow,
    }


def _flow(at: Connection) -> dict[str, Any]:
    """A flow of a native program, by the names that those of an agent have."""
    ends = {"local": str(at.local), "remote": str(at.remote)}
    return {**ends, **{name: getattr(at, name) for name in _OF_FLOW}, "delivered_bytes": at.acked_bytes}


def _other(known: Mapping[str, Any]) -> dict[str, Any]:
    running = known["native"] or known.get("pid") is not None
    state: dict[str, Any] = {
        "attached": False,
        "agent": "running" if running else "gone",
        "pin": None,
        "routes": [],
    }
    return {**known, "given": known["cc"], **state}


def _one(record: AttachedController, known: Mapping[str, Any]) -> dict[str, Any]:
    said: Mapping[str, Any] | None = None
    if record.alive():
        try:
            said = agent.ask(record.directory, "status")
        except TimeoutError:
            said = {"error": "it does not answer"}
    choice = record.choice
    return {
        **known,
        **(said or {}),
        "name": choice.name,
        "given": choice.given,
        "cc": choice.cc,
        "native": choice.native,
        "attached": True,
        "agent": "running" if record.alive() else "gone",
        "pid": record.pid if record.alive() else None,
        "pin": record.pin,
        "routes": [" ".join(table["new"]) for table in record.routes],
    }
