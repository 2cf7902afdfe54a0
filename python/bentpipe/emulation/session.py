"""An emulated link, and programs at its ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import get_ident
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

from bentpipe import _core, units
from bentpipe.emulation import watcher
from bentpipe.emulation.scene import prepared
from bentpipe.emulation.splitting import split
from bentpipe.runs import Capture, prepare_capture
from bentpipe.scenario import Scenario
from bentpipe.source import STDIN, Source

if TYPE_CHECKING:
    from bentpipe.result import Result

Side = Literal["near", "relay", "far"]
"""An end of an emulation; "relay" is between two legs."""
_WAYS = ("forward", "reverse")

LATENESS_BOUND_S = 0.002
"""How late packets may be: an emulation in which one in a hundred was later has not kept time."""
_SAMPLED_S = 0.1
"""Between samples of a trace, unless the scenario says."""
_GRACE_S = 0.2
"""How long a program may take to end when it is asked to."""


class Emulation:
    """A link under real programs: two network namespaces, and the simulator's directions between them.

    A context manager. The link runs from `with` on; programs are started at its ends by `popen`. At the end
    all programs that still run there are ended. When the process dies, they and the namespaces are gone, too.

    Args:
        scenario: a scenario, or what `bentpipe.source.Source` reads. Flows are not needed.
        path: the directions from the near end to the far end, instead of the first flow's path.
        legs: instead of `path`, two paths one behind the other. Between them is a third end, "relay", whose
            programs are reached from either side; nothing passes it by itself.
        relay: keys of a flow's `relay`, {"at": "gateway", "buffer": "4 MB"}, instead of the first flow's;
            False: none. TCP connections are split there, by a relay that neither end sees.
        seed: instead of the scenario's. The same packet numbers are lost as in a simulation.
        duration: how long time lines are worked out, "10 min"; instead of the scenario's duration.
        overrides: values by dotted key, or pairs of a key and its value as TOML.
        lateness_bound_s: how late one packet in a hundred may be before `kept_time` is false.
        trace: sample the links, every 100 ms unless the scenario records them more often; see `result`.
        pcap: write the packets to this file, as the near end sees them; or a `bentpipe.Capture`, which says
            where: "sender" (the near end), "receiver" (the far end), or the name of a link.

    Raises:
        ScenarioError: the scenario is not correct, or says no route.
        OSError: the machine or the privileges do not allow it; the message says what it takes.
    """

    def __init__(
        self,
        scenario: Scenario | Mapping[str, Any] | str | Path,
        *,
        path: Sequence[str] | None = None,
        legs: Sequence[Sequence[str]] | None = None,
        relay: Mapping[str, str] | Literal[False] | None = None,
        seed: int | None = None,
        duration: str | None = None,
        overrides: Mapping[str, Any] | Sequence[tuple[str, str]] = (),
        lateness_bound_s: float = LATENESS_BOUND_S,
        trace: bool = False,
        pcap: str | Path | Capture | None = None,
    ) -> None:
        if not hasattr(_core, "EmulatedNetwork"):
            raise OSError("emulation needs Linux: network namespaces and TUN devices")
        if legs is not None and (path is not None or len(legs) != 2):
            raise _core.ScenarioError("legs are two paths, one behind the other, and stand in place of path")
        if legs is not None and relay:
            raise _core.ScenarioError("between legs is a relay of yours; leave legs or relay out")
        if isinstance(scenario, str | Path) and str(scenario) == STDIN:
            scenario = Source(scenario).raw()  # it can be read but once
        self._split = None
        if legs is None and relay is not False:
            self._split = split(scenario, overrides, path=path, relay=relay, seed=seed, duration=duration)
            legs = None if self._split is None else self._split.legs
        paths = [path] if legs is None else legs
        self._scenarios = [
            prepared(scenario, overrides, path=one, seed=seed, duration=duration) for one in paths
        ]
        self._sides: list[Side] = ["near", "far"] if legs is None else ["near", "relay", "far"]
        self._bound_s = lateness_bound_s
        self._interval_s = _interval(self.scenario) if trace else None
        self._capture = Capture(pcap) if isinstance(pcap, str | Path) else pcap
        if self._capture is not None:
            prepare_capture(Path(self._capture.path))
        self._network: _core.EmulatedNetwork | None = None
        self._threads: dict[str, ThreadPoolExecutor] = {}
        self._programs: list[subprocess.Popen[Any]] = []
        self._watcher: subprocess.Popen[bytes] | None = None
        self._last: dict[tuple[int, str], tuple[float, int]] = {}
        self._report: dict[str, Any] | None = None
        #: Sockets of programs that were waited for, see `listening`.
        self.served: set[str] = set()
        #: The kernel's name of the controller with which a relay sends.
        self.relay_controller: str | None = None
        #: Addresses of the near and the far end of each leg, in order; of the one leg unless `legs` is given.
        self.addresses = [_core.EmulatedNetwork.addresses(leg) for leg in range(len(self._scenarios))]

    @property
    def peer(self) -> str:
        """The address that the near end speaks to: the far end's, or the program's between two legs."""
        return self.addresses[-1 if self._split else 0][1]

    @property
    def sides(self) -> Sequence[Side]:
        """The ends: near and far, and relay between them if there is one."""
        return self._sides

    @property
    def scenario(self) -> dict[str, Any]:
        """The scenario that is emulated, as a table; with two legs of yours that of the first."""
        table: dict[str, Any] = json.loads(self._split.scenario if self._split else self._scenarios[0])
        return table

    def __enter__(self) -> Self:
        links = [(i, i + 1, scenario) for i, scenario in enumerate(self._scenarios)]
        interval_ns = None if self._interval_s is None else round(self._interval_s * 1e9)
        network = _core.EmulatedNetwork(len(self._sides), links, interval_ns, _triple(self._capture))
        self._threads = {side: _thread_at(network, end) for end, side in enumerate(self._sides)}
        try:
            if self._split is not None:
                self.relay_controller = network.start_relay(self._split.scenario, self._split.controllers)
            network.start()
            self._watcher = _watch([network.descriptor(end) for end in range(len(self._sides))])
        except BaseException:
            self._dismiss()
            raise
        self._network = network
        return self

    @property
    def changes_until_s(self) -> float | None:
        """Until when rates, delays or losses of the link change; None if they never do.

        Later the last values hold. It is the duration of the scenario.
        """
        return None if self._network is None else self._network.changes_until_s

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def popen(self, argv: Sequence[str], side: Side = "near", **given: Any) -> subprocess.Popen[Any]:
        """Starts a program at an end of the link.

        Its environment has BENTPIPE_PEER, the address of the end that it speaks to, and BENTPIPE_ADDRESS, its
        own. A relay speaks to the far end.

        Args:
            argv: the program and its arguments.
            side: at which end.
            given: for `subprocess.Popen`.

        Raises:
            OSError: there is no such program, or it cannot be started.
        """
        (near, beyond), (before, far) = self.addresses[0], self.addresses[-1]
        if self._split is not None:  # which is not seen
            beyond, before = far, near
        peer = {"near": beyond, "relay": far, "far": before}
        own = {"near": near, "relay": beyond, "far": far}
        env = dict(os.environ if given.get("env") is None else given["env"])
        env |= {"BENTPIPE_PEER": peer[side], "BENTPIPE_ADDRESS": own[side]}
        program: subprocess.Popen[Any] = self.within(
            side, lambda: subprocess.Popen(argv, **{**given, "env": env})
        )
        self._programs.append(program)
        return program

    def within(self, side: Side, work: Any) -> Any:
        """Calls `work` in a thread at an end: its sockets and /proc/thread-self/net are those of that end.

        Raises:
            RuntimeError: the emulation has not begun or is over.
        """
        if side not in self._threads:
            raise RuntimeError("programs run inside the with block of an Emulation, at its near or far end")
        return self._threads[side].submit(work).result()

    def snapshot(self) -> dict[str, Any]:
        """What the link has done so far: "t_s", and for "forward" and "reverse" the numbers of each way.

        Each way has "rate_bps" (delivered since this thread's last snapshot), "queue_packets" and
        "queue_bytes" (waiting now), "delivered_packets", "delivered_bytes", "dropped_queue",
        "dropped_error", "marked", and "lateness_p50_s", "lateness_p99_s", "lateness_max_s". With two legs
        the ways have the numbers of the whole, and "legs" those of each leg; "relay" has those of the relay
        that splits connections, or None: "controller", with which it sends, "wanted", the names of which it
        is the first that the kernel has, "connections", "unreached", "broken", "bytes".
        """
        if self._report is not None:
            return self._report
        if self._network is None:
            raise RuntimeError("an Emulation has numbers inside its with block, and after it")
        now = self._status(self._network, histogram=False)
        for name, row in _named_ways(now):
            then, bytes_then = self._last.get((get_ident(), name), (0.0, 0))
            took = now["t_s"] - then
            row["rate_bps"] = (row["delivered_bytes"] - bytes_then) * 8 / took if took > 0 else 0.0
            self._last[get_ident(), name] = (now["t_s"], row["delivered_bytes"])
        return now

    def report(self) -> dict[str, Any]:
        """The numbers at the end: as a snapshot, rates over the whole time; "kept_time" and the histograms.

        Raises:
            RuntimeError: the emulation is not over.
        """
        if self._report is None:
            raise RuntimeError("the report of an Emulation is there when its with block is over")
        return self._report

    def result(self) -> Result:
        """The numbers of the links as a simulation has them: `links`, and with `trace` `link_trace`.

        It has no flows: those belong to the programs.

        Raises:
            RuntimeError: the emulation is not over.
        """
        from bentpipe.emulation.outcome import made

        found = self.report()
        if self._network is None:
            raise RuntimeError("an Emulation that has not begun has no result")
        return made(self._network, self.scenario, found)

    def close(self) -> None:
        """Ends all programs at the ends, and then the link. A second call does nothing."""
        if self._network is None or self._report is not None:
            return
        for program in self._programs:
            if program.poll() is None:
                with suppress(OSError):
                    program.terminate()
        for program in self._programs:
            with suppress(subprocess.TimeoutExpired):
                program.wait(_GRACE_S)
            if program.poll() is None:
                program.kill()
        if self._watcher is not None and self._watcher.stdin is not None:
            self._watcher.stdin.close()  # it now ends what programs have left behind
            with suppress(subprocess.TimeoutExpired):
                self._watcher.wait(2)
        for program in self._programs:
            program.wait()
        self._dismiss()
        self._report = self._final(self._network)

    def _dismiss(self) -> None:
        for thread in self._threads.values():
            thread.shutdown()
        self._threads = {}

    def _status(self, network: _core.EmulatedNetwork, *, histogram: bool) -> dict[str, Any]:
        found = [json.loads(network.status(leg, histogram)) for leg in range(len(self._scenarios))]
        if len(found) == 1:
            only: dict[str, Any] = found[0]
            return only
        return {
            "t_s": found[0]["t_s"],
            "forward": whole([leg["forward"] for leg in found]),
            "reverse": whole([leg["reverse"] for leg in reversed(found)]),
            "legs": found,
            "relay": self._relayed(network),
        }

    def _relayed(self, network: _core.EmulatedNetwork) -> dict[str, Any] | None:
        """What the relay has done: its controller, connections, those unreached and broken, bytes."""
        if self._split is None:
            return None
        sending = {"controller": self.relay_controller, "wanted": self._split.controllers}
        return {**sending, **json.loads(network.relayed())}

    def _final(self, network: _core.EmulatedNetwork) -> dict[str, Any]:
        missed = network.stop()
        found = self._status(network, histogram=True)
        for _, row in _named_ways(found):
            row["rate_bps"] = row["delivered_bytes"] * 8 / found["t_s"] if found["t_s"] > 0 else 0.0
        late = max(found[way]["lateness_p99_s"] for way in _WAYS)
        kept = {"kept_time": late <= self._bound_s, "lateness_bound_s": self._bound_s}
        return {**found, **kept, "seed": self.scenario["seed"], "capture_missed": missed}


def _named_ways(found: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The ways of the whole and of each leg, each with a name of its own."""
    legs = [*found.get("legs", ()), found]
    return [(f"{i}/{way}", leg[way]) for i, leg in enumerate(legs) for way in _WAYS]


def whole(ways: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The numbers of a way in several parts, in order: what the last delivers, what all drop, how late."""
    last = ways[-1]
    made = {key: last[key] for key in ("delivered_packets", "delivered_bytes")}
    made["read_packets"] = ways[0]["read_packets"]
    for key, value in last.items():
        if key.startswith("lateness_"):
            made[key] = max(way[key] for way in ways)
        elif isinstance(value, bool):
            made[key] = all(way[key] for way in ways)
        elif key not in made and isinstance(value, int):
            made[key] = sum(way[key] for way in ways)
    made["hops"] = [hop for way in ways for hop in way["hops"]]
    return made


def _triple(capture: Capture | None) -> tuple[str, str, bool] | None:
    return None if capture is None else (str(capture.path), capture.at, capture.whole)


def _interval(scenario: dict[str, Any]) -> float:
    """Seconds between samples."""
    given = (scenario.get("record") or {}).get("interval")
    return _SAMPLED_S if given is None else units.seconds(given, "record.interval")


def _watch(namespaces: list[int]) -> subprocess.Popen[bytes]:
    """The process that ends what is left in these namespaces when its standard input ends."""
    command = [sys.executable, "-I", "-S", str(watcher.__file__), *map(str, namespaces)]
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        pass_fds=namespaces,
        start_new_session=True,
    )


def _thread_at(network: _core.EmulatedNetwork, end: int) -> ThreadPoolExecutor:
    """A thread at an end. Programs that it starts are there, too."""
    thread = ThreadPoolExecutor(1, thread_name_prefix=f"end-{end}")
    thread.submit(network.enter, end).result()
    return thread
