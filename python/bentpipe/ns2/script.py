"""The Tcl script of a scenario, or an error that names the key that ns-2 does not support."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, NoReturn

from bentpipe import _core
from bentpipe.io import foreign
from bentpipe.ns2.agents import Agent, agent_for
from bentpipe.scenario import Scenario
from bentpipe.units import FACTORS

_UNITS = {**FACTORS["time"], **FACTORS["rate"], **FACTORS["size"], "packets": 1, "segments": 1}
_ENDLESS = 1_000_000
"""Represents a window or a queue without limit, packets."""
_FIXED = {
    "prr": False,
    "byte_counting": False,
    "limited_transmit": True,
    "delayed_ack": False,
    "rto": "rfc6298",
    "spurious": "none",
    "pacing": False,
    "ect1": False,
    "aen": False,
    "bulk_repeat": False,
    "fixed_rto": False,
    "snack": False,
    "traffic": {"kind": "bulk"},
}
"""Options of a flow for which ns-2 has a single setting, that of the profile `paper`."""
_MOST_SEEDS = 10_000


def _refuse(key: str, why: str) -> NoReturn:
    raise _core.ScenarioError(f"{key}: {why}")


def _value(text: str) -> float:
    """The number of a quantity in the core's spelling, in seconds, bit/s, bytes, packets or segments."""
    number, unit = text.split(" ")
    return float(number) * _UNITS[unit]


def _steps(given: str | Sequence[tuple[str, str]]) -> list[tuple[float, float]]:
    """Instants in s, and the value from each of them on; one if it does not change."""
    return [(0.0, _value(given))] if isinstance(given, str) else [(_value(at), _value(v)) for at, v in given]


def _count(text: str, unit: str, key: str) -> int:
    """A quantity that ns-2 must have in whole packets or segments."""
    if not text.endswith(unit):
        _refuse(key, f'ns-2 needs it in {unit}, not {text!r}; write for example "100 {unit}"')
    return round(_value(text))


@dataclass
class _Direction:
    """One direction of a link and the nodes between which it runs."""

    key: str
    name: str
    table: Mapping[str, Any]
    ends: tuple[int, int]


@dataclass(frozen=True)
class _Hop:
    """One way over a link."""

    link: str
    way: str

    @classmethod
    def named(cls, name: str, links: Mapping[str, Any]) -> _Hop:
        """The hop that a path names: "sat", "sat/forward" or "sat/reverse"."""
        link, _, way = name.rpartition("/")
        return cls(name, "forward") if name in links else cls(link, way)

    def back(self) -> _Hop:
        """The other way over the same link."""
        return _Hop(self.link, "reverse" if self.way == "forward" else "forward")

    def end(self, *, far: bool) -> tuple[str, int]:
        """The end of the link at which packets come out, or go in."""
        return self.link, int(far == (self.way == "forward"))


def _paths(flow: Mapping[str, Any], links: Mapping[str, Any]) -> tuple[list[_Hop], list[_Hop]]:
    """The paths of a flow's data, and of its acknowledgements."""
    path = [_Hop.named(name, links) for name in flow["path"]]
    if flow.get("ack_path") is None:
        return path, [hop.back() for hop in reversed(path)]
    return path, [_Hop.named(name, links) for name in flow["ack_path"]]


def _directions(scenario: Mapping[str, Any]) -> tuple[list[_Direction], dict[tuple[str, int], int]]:
    """The directions that packets cross, and the number of the node at each end of a link."""
    from scipy.cluster.hierarchy import DisjointSet

    # Ends of links that a packet passes in succession are the same node.
    nodes = DisjointSet((name, end) for name in scenario["link"] for end in (0, 1))
    crossed: dict[_Hop, None] = {}
    for flow in scenario["flow"]:
        path, back = _paths(flow, scenario["link"])
        ring = [*path, *back, path[0]]
        for hop, following in zip(ring, ring[1:], strict=False):
            nodes.merge(hop.end(far=True), following.end(far=False))
        # In the order of the path, which the streams of losses follow.
        returning = back if flow.get("ack_path") else reversed(back)
        crossed.update(dict.fromkeys([*path, *returning]))
    roots: dict[tuple[str, int], int] = {}
    number: dict[tuple[str, int], int] = {}
    for hop in crossed:
        for end in ((hop.link, 0), (hop.link, 1)):
            number[end] = roots.setdefault(nodes[end], len(roots))
    directions = []
    taken: dict[tuple[int, int], str] = {}
    for hop in crossed:
        link = scenario["link"][hop.link]
        a, b = number[hop.end(far=False)], number[hop.end(far=True)]
        key = f"link.{hop.link}"
        if hop.way == "reverse":
            link, key = link["reverse"], f"{key}.reverse"
        if (a, b) in taken or a == b:
            _refuse(key, "ns-2 has one link between two places, and none from a place to itself")
        taken[a, b] = key
        directions.append(_Direction(key, f"{hop.link}/{hop.way}", link, (a, b)))
    return directions, number


def _only_way(directions: Sequence[_Direction], start: int, end: int, hops: int, key: str) -> None:
    """Checks that the one shortest way from `start` to `end` has `hops` links: that is the way ns-2 takes."""
    ways = {start: 1}
    for _ in range(hops):
        following: dict[int, int] = {}
        for d in directions:
            if d.ends[0] in ways:
                following[d.ends[1]] = following.get(d.ends[1], 0) + ways[d.ends[0]]
        if end in ways:
            break
        ways = following
    else:
        if ways.get(end) == 1:
            return
    _refuse(key, "ns-2 sends packets over the fewest links, and that is not this path, or not it alone")


def _queue(d: _Direction, limit: Mapping[str, Any]) -> list[str]:
    """Settings of a direction's queue after the link has been made."""
    a, b = d.ends
    key = f"{d.key}.queue"
    room = _count(limit["limit"], "packets", f"{key}.limit")
    if limit["kind"] == "drop-tail":
        # ns-2 counts the packet in transmission, a scenario does not.
        return [f"$ns queue-limit $n{a} $n{b} {room + 1}"]

    def threshold(name: str) -> float:
        value = limit[name]
        if isinstance(value, str):
            return _count(value, "packets", f"{key}.{name}")
        return float(value) * room

    if not limit["hard_drop"]:
        _refuse(f"{key}.hard_drop", "RED of ns-2 drops all packets where the average asks for all")
    settings = {
        "thresh_": f"{threshold('min'):.9g}",
        "maxthresh_": f"{threshold('max'):.9g}",
        "q_weight_": f"{limit['weight']:.9g}",
        "linterm_": f"{1.0 / limit['max_p']:.9g}",
        "gentle_": str(limit["gentle"]).lower(),
        "wait_": str(limit["wait"]).lower(),
        "bytes_": str(limit["by_size"]).lower(),
        "setbit_": str(limit["ecn"]).lower(),
        "mean_pktsize_": f"{_value(limit['mean_packet']):.0f}",
    }
    if limit.get("mark_p") is not None:
        settings |= {"use_mark_p_": "true", "mark_p_": f"{limit['mark_p']:.9g}"}
    set_all = [f"[[$ns link $n{a} $n{b}] queue] set {name} {value}" for name, value in settings.items()]
    # Unlike drop-tail, RED does not count the packet in transmission.
    return [f"$ns queue-limit $n{a} $n{b} {room}", *set_all]


def _losses(d: _Direction, seed: int) -> list[str]:
    """The error model of a direction."""
    losses = d.table.get("loss", [])
    if len(losses) > 1:
        _refuse(f"{d.key}.loss", "a link of ns-2 has one loss model, not several")
    ends = f"$n{d.ends[0]} $n{d.ends[1]}"
    for loss in losses:
        match loss["kind"]:
            case "packet-error":
                make = f"$errors set rate_ {loss['rate']!r}\n$errors unit pkt"
            case "bit-error":
                # ns-2 counts bytes: one is in error if any of its bits is.
                per_byte = 1.0 - (1.0 - loss["rate"]) ** 8
                make = f"$errors set rate_ {per_byte!r}\n$errors unit byte"
            case "trace":
                lines = foreign.content(Path(loss["file"])).decode().splitlines()
                indices = " ".join(line.split("#")[0].strip() for line in lines)
                return [
                    "set errors [new ErrorModel/List]",
                    "$errors unit pkt",
                    f"$errors droplist {{{indices}}}",
                    f'lose $errors "" {ends}',
                ]
            case other:
                _refuse(f"{d.key}.loss.kind", f"ns-2 has no counterpart of {other!r}")
        return ["set errors [new ErrorModel]", make, f"lose $errors [draws {seed}] {ends}"]
    return []


def _link(d: _Direction, seed: int, *, watched: bool) -> list[str]:
    """One simplex link with its queue, its losses, its changes and, if it is watched, its monitor."""
    for moving in ("timeline", "up", "handover"):
        if moving in d.table:
            _refuse(f"{d.key}.{moving}", "a link of ns-2 moves by lists of rate and delay alone")
    if "delay" not in d.table:
        _refuse(f"{d.key}.satellite", "this script has fixed delays; write `delay`")
    a, b = d.ends
    queue = d.table["queue"]
    kind = {"drop-tail": "DropTail", "red": "RED"}.get(queue["kind"])
    if kind is None:
        _refuse(f"{d.key}.queue.kind", f"{queue['kind']!r} has no counterpart here; use drop-tail or red")
    rates, delays = _steps(d.table["rate"]), _steps(d.table["delay"])
    (_, rate), (_, delay) = rates[0], delays[0]
    lines = [f"$ns simplex-link $n{a} $n{b} {rate:.0f} {delay:.9f}s {kind}", *_queue(d, queue)]
    # In ns-2 a packet has the rate and the delay of the instant at which its transmission begins.
    link = f"[$ns link $n{a} $n{b}] link"
    lines += [f"$ns at {at:.9f} {{ [{link}] set bandwidth_ {value:.0f} }}" for at, value in rates[1:]]
    lines += [f"$ns at {at:.9f} {{ [{link}] set delay_ {value:.9f} }}" for at, value in delays[1:]]
    if not d.table.get("reorder", False):
        lines.append(f"[{link}] set avoidReordering_ true")
    if watched:
        lines.append(f'set watch({d.name}) [$ns monitor-queue $n{a} $n{b} ""]')
    return lines + _losses(d, seed)


def _flow(i: int, key: str, flow: Mapping[str, Any], agent: Agent, nodes: tuple[str, str]) -> list[str]:
    """Sender `tcp(i)` and its receiver; `begin` starts it."""
    differing = [option for option, wanted in _FIXED.items() if flow[option] != wanted]
    if differing:
        option, *others = differing
        also = f" (also {', '.join(others)})" if others else ""
        _refuse(
            f"{key}.{option}",
            f"ns-2 has {json.dumps(_FIXED[option])} here, not {json.dumps(flow[option])}{also}; "
            'profile = "paper" in the flow sets what ns-2 has',
        )
    if flow.get("newreno_exit") == "flight-size":
        _refuse(f"{key}.newreno_exit", 'ns-2 has "ssthresh" here (exit_recovery_fix_ is 0)')
    if flow.get("both_ways"):
        _refuse(f"{key}.both_ways", "this script has senders and receivers that do one thing each")
    for option in ("relay", "read_rate"):
        if option in flow:
            _refuse(f"{key}.{option}", "ns-2's receivers read at once, and no relay is built here")
    if isinstance(flow["ecn"], str):
        _refuse(f"{key}.ecn", "this script has the echo of RFC 3168 alone; write true or false")
    if "stop" in flow:
        _refuse(f"{key}.stop", "this script lets flows run to the end")
    if agent.timestamps is not None and flow["timestamps"] != agent.timestamps:
        _refuse(f"{key}.timestamps", f"{agent.tcl} needs {str(agent.timestamps).lower()}")
    if "ack_size" not in flow:
        _refuse(f"{key}.ack_size", "ns-2 has acknowledgements of one size; write it")
    window, ceiling = _ENDLESS, 0
    if "receive_window" in flow:
        if not agent.bounded:
            _refuse(f"{key}.receive_window", f"the module {agent.module} pays no regard to a receive window")
        window = ceiling = _count(flow["receive_window"], "segments", f"{key}.receive_window")
    mss, header = round(_value(flow["mss"])), round(_value(flow["header"]))
    stamp = 12 if flow["timestamps"] else 0
    settings = {
        "packetSize_": f"{mss + header if agent.header_included else mss}",
        # ns-2 adds its base header, and 10 bytes for timestamps; on the wire those are 12 (RFC 7323, padded).
        "tcpip_base_hdr_size_": f"{header - stamp}",
        "ts_option_size_": "12",
        "timestamps_": str(flow["timestamps"]).lower(),
        "windowInit_": f"{flow['initial_window']:g}",
        "window_": f"{window}",
        # Without it cwnd keeps growing while window_ limits the sender.
        "maxcwnd_": f"{ceiling}",
        "tcpTick_": f"{_value(flow['granularity']):.9g}",
        "rtxcur_init_": f"{_value(flow['initial_rto']):.9g}",
        "minrto_": f"{_value(flow['min_rto']):.9g}",
        "maxrto_": f"{_value(flow['max_rto']):.9g}",
        "ecn_": "1" if flow["ecn"] else "0",
        **agent.settings,
    }
    lines = [f"set tcp({i}) [new {agent.tcl}]", f"set sink({i}) [new {agent.sink}]"]
    lines += [f"$tcp({i}) set {name} {value}" for name, value in settings.items()]
    lines.append(f"$sink({i}) set packetSize_ {round(_value(flow['ack_size']))}")
    if flow["timestamps"]:
        # The sink must echo the timestamp of RFC 1323, or a loss inflates the RTT estimate.
        lines.append(f"$sink({i}) set ts_echo_rfc1323_ true")
    lines.append(f"transfer {i} ${nodes[0]} ${nodes[1]} {8 * mss}.0 {mss + header}")
    threshold = flow.get("initial_ssthresh")
    begin = f"begin {i} {'{}' if threshold is None else f'{threshold:g}'} {agent.module or '{}'}"
    moment = f"{_value(flow['start']):.9f}"
    jitter = _value(flow["start_jitter"])
    if jitter > 0.0:
        moment = f"[expr {moment} + [$starts uniform 0 {jitter:.9g}]]"
    lines.append(f"$ns at {moment} {{{begin}}}")
    return lines


def script(
    scenario: Scenario | Mapping[str, Any],
    *,
    agents: Agent | Mapping[str, Agent] | None = None,
    watch: Sequence[str] = (),
    scheduler: str = "Calendar",
) -> str:
    """The Tcl text that carries out a scenario.

    Args:
        scenario: the scenario to simulate.
        agents: the ns-2 sender of all flows, or of some by their names, where it is not to follow from
            `cc` and `recovery`.
        watch: directions of links whose queues are to be observed, "sat/forward"; costs time.
        scheduler: the queue of events that ns-2 uses, "Calendar", "Splay", "Heap" or "List". It changes how
            long a run takes and nothing else.

    Raises:
        ScenarioError: the scenario is not correct, or ns-2 cannot follow it; the message names the key.
    """
    if not isinstance(scenario, Scenario):
        scenario = Scenario.from_dict(scenario)
    plan = json.loads(scenario.to_json())
    seed = plan["seed"]
    if seed > _MOST_SEEDS:
        _refuse("seed", f"ns-2 is stepped to it; at most {_MOST_SEEDS}, not {seed}")
    directions, number = _directions(plan)
    unknown = set(watch) - {d.name for d in directions}
    if unknown:
        _refuse("watch", f"no packet crosses {sorted(unknown)[0]!r}")
    lines = [f"set n{n} [$ns node]" for n in range(len(set(number.values())))]
    lines.append(f"for {{set i 0}} {{$i < {seed}}} {{incr i}} {{ $defaultRNG next-substream }}")
    for d in directions:
        lines += _link(d, seed, watched=d.name in watch)
    lines.append(f"set starts [draws {seed}]")
    # By then the routes have been computed as well.
    lines.append('$ns at 0.0 {puts "setup [spent]"}')
    flows: list[tuple[str, Mapping[str, Any]]] = []
    for k, flow in enumerate(plan["flow"]):
        if "cc" not in flow:
            _refuse(f"flow.{k}.traffic.kind", "this script has TCP senders only")
        cc = flow["cc"]
        name = flow.get("name", cc if isinstance(cc, str) else cc["name"])
        copies = [name] if flow["count"] == 1 else [f"{name}-{n + 1}" for n in range(flow["count"])]
        flows += [(f"flow.{k}", {**flow, "name": name}) for name in copies]
    for i, (key, flow) in enumerate(flows):
        path, back = _paths(flow, plan["link"])
        ends = number[path[0].end(far=False)], number[path[-1].end(far=True)]
        _only_way(directions, *ends, len(path), f"{key}.path")
        back_key = f"{key}.path" if flow.get("ack_path") is None else f"{key}.ack_path"
        _only_way(directions, ends[1], ends[0], len(back), back_key)
        named = agents if isinstance(agents, Agent) else (agents or {}).get(flow["name"])
        agent = named or agent_for(flow["cc"], flow["recovery"], f"{key}.cc")
        source = f"n{ends[0]}"
        extra = _value(flow["extra_delay"])
        if extra > 0.0:
            # A private delay costs no transmission time in a scenario; next to none at this rate.
            near, source = source, f"own{i}"
            lines += [f"set own{i} [$ns node]", f"$ns duplex-link $own{i} ${near} 1e13 {extra:.9f}s DropTail"]
            lines += [f"$ns queue-limit {way} {_ENDLESS}" for way in (f"$own{i} ${near}", f"${near} $own{i}")]
        lines += _flow(i, key, flow, agent, (source, f"n{ends[1]}"))
    record = plan.get("record")
    if record is not None and record["flows"]:
        interval = record.get("interval", "change")
        if interval == "change":
            _refuse("record.interval", 'ns-2 is asked at intervals; write for example "100 ms"')
        lines.append(f"$ns at 0.0 {{sample {_value(interval):.9g} {len(flows)}}}")
    duration = f"{_value(plan['duration']):.9f}"
    lines += [f"$ns at {duration} {{finish {duration} {len(flows)}}}", "$ns run"]
    head = files("bentpipe.ns2").joinpath("head.tcl").read_text(encoding="utf-8")
    return head.replace("{scheduler}", scheduler) + "\n".join(lines) + "\n"
