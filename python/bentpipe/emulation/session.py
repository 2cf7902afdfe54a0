"""An emulated link with programs at its ends, as a context manager."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import get_ident
from typing import Any, Literal, Self

from bentpipe import _core, units
from bentpipe.document.relays import NONE
from bentpipe.document.source import STDIN, Source
from bentpipe.emulation import congestion
from bentpipe.emulation.outside import Guard, claim
from bentpipe.emulation.scene import prepared, split
from bentpipe.result import Result, named
from bentpipe.runs import Capture, prepare_capture
from bentpipe.scenario import Scenario

Side = Literal["near", "relay", "far"]
"""An end of an emulation; "relay" is between two legs."""
_WAYS = ("forward", "reverse")

LATENESS_BOUND_S = 0.002
"""Bound on the lateness of packets: an emulation in which one in a hundred was later has not kept time."""
_SAMPLED_S = 0.1
"""Between samples of a trace, unless the scenario sets it."""
_GRACE_S = 0.2
"""Time that a program has to end after it is asked to."""


class Emulation:
    """A link under real programs: two network namespaces, and the simulator's directions between them.

    A context manager. The link runs from `with` on; programs are started at its ends by `popen`. At the end
    all programs that still run there are ended. When the process dies, they and the namespaces are gone, too.

    Args:
        scenario: a scenario, or an argument of `bentpipe.document.source.Source`. Flows are not needed.
        path: the directions from the near end to the far end, instead of the first flow's path.
        legs: instead of `path`, two paths one behind the other. Between them is a third end, "relay", whose
            programs are reached from either side; nothing passes it by itself.
        relay: keys of a flow's `relay`, {"at": "gateway", "buffer": "4 MB"}, instead of the first flow's, or
            as text, "gateway, buffer=8 MB, cc=hybla" or "hybla"; "none" or False: none. TCP connections are
            split there, by a relay that neither end sees.
        cc: the congestion control of programs at the ends that choose none: one of the laboratory's that is
            attached, or one of the kernel's. Otherwise the machine's default. A relay without a controller of
            its own, or whose controller the kernel lacks, sends by it too.
        seed: instead of the scenario's. The same packet numbers are lost as in a simulation.
        duration: how long time lines are worked out, "10 min"; instead of the scenario's duration.
        overrides: values by dotted key, or pairs of a key and its value as TOML.
        lateness_bound_s: how late one packet in a hundred may be before `kept_time` is false.
        trace: sample the links, every 100 ms unless the scenario records them more often; see `result`.
        mtu: the largest packet, bytes: 1280 to 9000.
        nat: a network interface of this machine by which programs at the ends reach the network behind it.
        nat_side: at which end its packets come in and go out, "near" or "far".
        pcap: write the packets to this file, as the near end sees them; or a `bentpipe.Capture`, which says
            where: "sender" (the near end), "receiver" (the far end), or the name of a link.

    Raises:
        ScenarioError: the scenario is not correct, or gives no route.
        OSError: the machine or the privileges do not allow it; the message names the requirement.
    """

    def __init__(
        self,
        scenario: Scenario | Mapping[str, Any] | str | Path,
        *,
        path: Sequence[str] | None = None,
        legs: Sequence[Sequence[str]] | None = None,
        relay: Mapping[str, str] | str | Literal[False] | None = None,
        cc: str | None = None,
        seed: int | None = None,
        duration: str | None = None,
        overrides: Mapping[str, Any] | Sequence[tuple[str, str]] = (),
        lateness_bound_s: float = LATENESS_BOUND_S,
        trace: bool = False,
        pcap: str | Path | Capture | None = None,
        mtu: int = 1500,
        nat: str | None = None,
        nat_side: Side = "far",
    ) -> None:
        if not hasattr(_core, "EmulatedNetwork"):
            raise OSError("emulation needs Linux: network namespaces and TUN devices")
        if legs is not None and (path is not None or len(legs) != 2):
            raise _core.ScenarioError("legs are two paths, one behind the other, and stand in place of path")
        if relay == NONE:
            relay = False
        if legs is not None and relay:
            raise _core.ScenarioError("between legs is a relay of yours; leave legs or relay out")
        if nat is not None and legs is not None:
            raise _core.ScenarioError("nothing passes between legs by itself; leave legs or nat out")
        if nat_side not in ("near", "far"):
            raise _core.ScenarioError(f'nat_side is "near" or "far", not {nat_side!r}')
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
        #: The ends: near and far, and relay between them if there is one.
        self.sides: Sequence[Side] = ["near", "far"] if legs is None else ["near", "relay", "far"]
        self._cc = None if cc is None else congestion.chosen(cc)
        self._bound_s = lateness_bound_s
        self._interval_s = _interval(self.scenario) if trace else None
        self._capture = Capture(pcap) if isinstance(pcap, str | Path) else pcap
        if self._capture is not None:
            prepare_capture(Path(self._capture.path))
        self._mtu = mtu
        self._nat, self._nat_side = nat, nat_side
        self._network: _core.EmulatedNetwork | None = None
        self._threads: dict[str, ThreadPoolExecutor] = {}
        self._programs: list[subprocess.Popen[Any]] = []
        self._guards: list[Guard] = []
        self._last: dict[tuple[int, str], tuple[float, int]] = {}
        self._report: dict[str, Any] | None = None
        self._over = False
        #: Sockets of programs that were waited for, see `programs`.
        self.served: set[str] = set()
        #: The kernel's name of the controller with which a relay sends.
        self.relay_controller: str | None = None
        #: That of the controller with which programs at the ends send if they choose none, and by which means
        #: they were given it: "sysctl" or "route", None for the machine's default.
        self.congestion_control: str | None = None
        self.congestion_control_by: congestion.Means | None = None
        #: Addresses of the near and the far end of each leg, in order; of the one leg unless `legs` is given.
        self.addresses = [_core.EmulatedNetwork.addresses(leg) for leg in range(len(self._scenarios))]
        #: The same of IPv6, inside the `with` block. Empty with a relay, which splits IPv4 alone.
        self.addresses_ipv6: list[tuple[str, str]] = []
        #: Addresses of the far end, inside the `with` block, by the index of a flow in the scenario. Packets
        #: from or to an address have the `extra_delay` and the `ack_jitter` of its flow. The first flow has
        #: `peer`. Others have one if their paths are those of the first; with a relay, `path` or `legs` no
        #: other has one.
        self.peers: Mapping[int, str] = {}

    @property
    def peer(self) -> str:
        """The address that the near end speaks to: the far end's, or the program's between two legs."""
        return self.addresses[-1 if self._split else 0][1]

    @property
    def scenario(self) -> dict[str, Any]:
        """The scenario that is emulated, as a table; with two legs of yours that of the first."""
        table: dict[str, Any] = json.loads(self._split.scenario if self._split else self._scenarios[0])
        return table

    def __enter__(self) -> Self:
        links = [(i, i + 1, one) for i, one in enumerate(self._scenarios)]
        interval_ns = None if self._interval_s is None else round(self._interval_s * 1e9)
        given = self._capture
        capture = None if given is None else (str(given.path), given.at, given.whole)
        network = _core.EmulatedNetwork(len(self.sides), links, interval_ns, capture, self._mtu)
        self._threads = {side: _thread_at(network, end) for end, side in enumerate(self.sides)}
        try:
            if self._split is not None:
                controllers = [*self._split.controllers, *([] if self._cc is None else [self._cc])]
                self.relay_controller = network.start_relay(self._split.scenario, controllers)
            self.peers = network.flow_addresses(len(links) - 1 if self._split else 0)
            if network.has_ipv6:
                self.addresses_ipv6 = [network.addresses_ipv6(leg) for leg in range(len(links))]
            namespaces = [network.descriptor(end) for end in range(len(self.sides))]
            # One of them works while another replaces one that was killed.
            for _ in range(2):
                self._guards.append(Guard(namespaces, None if self._nat is None else claim(self._nat)))
            if self._nat is not None and (claimed := self._guards[0].claimed) is not None:
                network.open_outside(
                    0 if self._nat_side == "near" else len(self.sides) - 1, self._nat, claimed.closed
                )
                claimed.turn_on()  # when the rules are there, and the watchers
            self._choose_congestion_control()
            network.start()
        except BaseException:
            self._end_guards()
            self._dismiss()
            raise
        self._network = network
        return self

    def _choose_congestion_control(self) -> None:
        """Sets it at all ends with programs, once their routes exist; not at our own relay."""
        if (cc := self._cc) is None:
            self.congestion_control = self.within("near", congestion.default)
            return
        self.congestion_control = cc
        for side in self.sides:
            if side != "relay" or self._split is None:
                self.congestion_control_by = self.within(side, lambda: congestion.set_default(cc))

    def check(self) -> None:
        """Checks that the link still forwards.

        Raises:
            OSError: it has failed, and nothing passes any more.
        """
        if self._network is not None:
            self._network.check()

    @property
    def changes_until_s(self) -> float | None:
        """Until when rates, delays or losses of the link change; None if they never do.

        Later the last values hold. It is the duration of the scenario.
        """
        return None if self._network is None else self._network.changes_until_s

    def __exit__(self, *_: object) -> None:
        self.close()

    def popen(self, argv: Sequence[str], side: Side = "near", **given: Any) -> subprocess.Popen[Any]:
        """Starts a program at an end of the link.

        Its environment has BENTPIPE_PEER, the address of the end that it speaks to, and BENTPIPE_ADDRESS, its
        own; those of IPv6 are BENTPIPE_PEER6 and BENTPIPE_ADDRESS6. A relay speaks to the far end.

        Args:
            argv: the program and its arguments.
            side: at which end.
            given: for `subprocess.Popen`.

        Raises:
            OSError: there is no such program, or it cannot be started.
        """
        env = dict(os.environ if given.get("env") is None else given["env"])
        for version, addresses in (("", self.addresses), ("6", self.addresses_ipv6)):
            if addresses:
                (near, beyond), (before, far) = addresses[0], addresses[-1]
                if self._split is not None:  # which is not seen
                    beyond, before = far, near
                env[f"BENTPIPE_PEER{version}"] = {"near": beyond, "relay": far, "far": before}[side]
                env[f"BENTPIPE_ADDRESS{version}"] = {"near": near, "relay": beyond, "far": far}[side]
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
        """The counters of the link so far: "t_s", and for "forward" and "reverse" the numbers of each way.

        Each way has "rate_bps" (delivered since this thread's last snapshot), "queue_packets" and
        "queue_bytes" (waiting now), "delivered_packets", "delivered_bytes", "dropped_queue", "dropped_error",
        "marked", and "lateness_p50_s", "lateness_p99_s", "lateness_max_s". With two legs the ways have the
        numbers of the whole, and "legs" those of each leg; "relay" has those of the relay that splits
        connections, or None: "controller", with which it sends, "wanted", its list of names from which the
        first that the kernel has is taken, "connections", "unreached", "broken", "bytes".
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
        """The numbers at the end: as a snapshot, rates over the whole time, and the histograms.

        "kept_time" is None if no packet was delivered: then nothing is known. "congestion_control" is the
        kernel's name of that with which programs sent if they chose none, and "congestion_control_by" says
        how they were given it: "sysctl" or "route", None for the machine's default.

        Raises:
            OSError: the link has failed; see `check`.
            RuntimeError: the emulation is not over.
        """
        if self._over:
            self.check()
        if self._report is None:
            raise RuntimeError("the report of an Emulation is there when its with block is over")
        return self._report

    def result(self) -> Result:
        """The numbers of the links as a simulation has them: `links`, and with `trace` `link_trace`.

        It has no flows: those belong to the programs. Its JSON has the emulation's own report, too, as
        "emulation".

        Raises:
            RuntimeError: the emulation is not over.
        """
        import polars as pl

        found = self.report()
        if self._network is None:
            raise RuntimeError("an Emulation that has not begun has no result")
        links = json.loads(self._network.link_reports())
        packets = found["forward"]["delivered_packets"]
        late = "the emulation did not keep time; see emulation.lateness_bound_s"
        about = {
            "schema": 1,
            "seed": found["seed"],
            "simulated_s": found["t_s"],
            "wall_s": found["t_s"],
            "packets": packets,
            "flows": [],
            "links": links,
            "warnings": [late] if found["kept_time"] is False else [],
            "emulation": found,
        }
        names = [f"{link['name']}/{link['direction']}" for link in links]
        trace = named(pl.DataFrame(self._network.link_trace()), link=names).sort("t_s", "link")
        if trace.height:  # one way may have taken a sample more than the other
            trace = trace.filter(
                pl.col("t_s") <= trace.group_by("link").agg(pl.col("t_s").max())["t_s"].min()
            )
        whole = json.loads(_core.check(json.dumps(self.scenario)))
        return Result.of_tables(whole, about, {"link_trace": trace})

    def close(self) -> None:
        """Ends all programs at the ends, and then the link. A second call does nothing.

        Raises:
            OSError: the link has failed before; see `check`.
        """
        if self._network is None or self._over:
            return
        self._over = True
        for program in self._programs:
            if program.poll() is None:
                with suppress(OSError):
                    program.terminate()
        for program in self._programs:
            with suppress(subprocess.TimeoutExpired):
                program.wait(_GRACE_S)
            if program.poll() is None:
                program.kill()
        self._end_guards()
        for program in self._programs:
            program.wait()
        self._dismiss()
        self._report = self._final(self._network)

    def _end_guards(self) -> None:
        """Their watchers end processes left behind, and undo the changes to this machine."""
        for guard in self._guards:
            guard.end()
        for guard in self._guards:
            guard.wait(2)
        self._guards = []

    def _dismiss(self) -> None:
        for thread in self._threads.values():
            thread.shutdown()
        self._threads = {}

    def _status(self, network: _core.EmulatedNetwork, *, histogram: bool) -> dict[str, Any]:
        found: list[dict[str, Any]] = [
            json.loads(network.status(leg, histogram)) for leg in range(len(self._scenarios))
        ]
        if len(found) == 1:
            return found[0]
        return {
            "t_s": found[0]["t_s"],
            "forward": whole([leg["forward"] for leg in found]),
            "reverse": whole([leg["reverse"] for leg in reversed(found)]),
            "legs": found,
            "relay": self._relayed(network),
        }

    def _relayed(self, network: _core.EmulatedNetwork) -> dict[str, Any] | None:
        """The counters of the relay: its controller, connections, those unreached and broken, bytes."""
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
        carried = any(found[way]["delivered_packets"] for way in _WAYS)
        return {
            **found,
            "kept_time": late <= self._bound_s if carried else None,
            "lateness_bound_s": self._bound_s,
            "congestion_control": self.congestion_control,
            "congestion_control_by": self.congestion_control_by,
            "seed": self.scenario["seed"],
            "capture_missed": missed,
        }


def _named_ways(found: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The ways of the whole and of each leg, each with a name of its own."""
    legs = [*found.get("legs", ()), found]
    return [(f"{i}/{way}", leg[way]) for i, leg in enumerate(legs) for way in _WAYS]


def whole(ways: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The numbers of a way in several parts, in order: the last one's deliveries, all drops, the lateness."""
    last = ways[-1]
    made = {key: last[key] for key in ("delivered_packets", "delivered_bytes")}
    made["read_packets"] = ways[0]["read_packets"]
    for key, value in last.items():
        if key.startswith(("lateness_", "burst_")):
            made[key] = max(way[key] for way in ways)
        elif isinstance(value, bool):
            made[key] = all(way[key] for way in ways)
        elif key not in made and isinstance(value, int):
            made[key] = sum(way[key] for way in ways)
    made["hops"] = [hop for way in ways for hop in way["hops"]]
    return made


def _interval(scenario: dict[str, Any]) -> float:
    """Seconds between samples."""
    given = (scenario.get("record") or {}).get("interval")
    return _SAMPLED_S if given is None else units.seconds(given, "record.interval")


def _thread_at(network: _core.EmulatedNetwork, end: int) -> ThreadPoolExecutor:
    """A thread at an end. Programs that it starts are there, too."""
    thread = ThreadPoolExecutor(1, thread_name_prefix=f"end-{end}")
    thread.submit(network.enter, end).result()
    return thread
