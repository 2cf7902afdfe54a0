"""Status of attached controllers, from records, agents and the maps in the kernel, and its display."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from typing import Any

from bentpipe import terminal, units
from bentpipe.connections import Connection, Connections
from bentpipe.kernel import agent, machine
from bentpipe.kernel.records import Record, records

OURS = re.compile(r"bpn?_[a-z0-9_-]+")
"""Names of our controllers in the kernel."""


def status() -> list[dict[str, Any]]:
    """One table for each attached controller, then for those of `bentpipe kernel run` and other programs.

    Each has name (the kernel's), given and cc (as asked for), native, attached (False for those others),
    agent ("running" or "gone"), pid, pin, routes, the values of `_core.KernelAgent.status` (flows, reports,
    dropped_reports, latency), and error if the agent cannot answer. A native program has no agent: its flows
    are those of this network namespace, as the kernel's own tables have them, without an agent's values.
    Flows of an agent whose network namespace has ended are left out.
    """
    known = {one["name"]: one for one in _kernels() if one.get("registered")}
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
    return {
        "local": str(at.local),
        "remote": str(at.remote),
        "cwnd_segments": at.cwnd_segments,
        "ssthresh_segments": at.ssthresh_segments,
        "pacing_bps": at.pacing_bps,
        "srtt_s": at.srtt_s,
        "rtt_min_s": at.rtt_min_s,
        "in_flight_segments": at.in_flight_segments,
        "mss": at.mss,
        "delivered_bytes": at.acked_bytes,
    }


def _other(known: Mapping[str, Any]) -> dict[str, Any]:
    running = known["native"] or known.get("pid") is not None
    state: dict[str, Any] = {
        "attached": False,
        "agent": "running" if running else "gone",
        "pin": None,
        "routes": [],
    }
    return {**known, "given": known["cc"], **state}


def _one(record: Record, known: Mapping[str, Any]) -> dict[str, Any]:
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


def _kernels() -> list[dict[str, Any]]:
    """The contents of the maps of all datapaths; empty without the privilege to read them."""
    from bentpipe import _core

    return list(json.loads(_core.kernel_status()))


_MOST_FLOWS = 50


def show_status(attached: Sequence[Mapping[str, Any]]) -> None:
    """The controllers in the kernel, and the flows of each."""
    if not attached:
        terminal.line("nothing is attached")
    for one in attached:
        terminal.line(_headline(one))
        for line in _details(one):
            terminal.line(f"  {line}")
        flows = one.get("flows") or []
        if flows:
            show_flows(flows[:_MOST_FLOWS])
            if len(flows) > _MOST_FLOWS:
                terminal.line(f"... and {len(flows) - _MOST_FLOWS:,} flows more; --json prints all")


def _headline(one: Mapping[str, Any]) -> str:
    pid = "" if one.get("pid") is None else f" {one['pid']}"
    kind = "native" if one["native"] else "agent"
    state = f"{kind}{pid}" if one["agent"] == "running" else "its agent has ended"
    flows = one.get("flows")
    count = "" if flows is None else f", {len(flows):,} {'flow' if len(flows) == 1 else 'flows'}"
    return f"{one['name']} ({terminal.plain(one['cc'])}): {state}{count}"


def _details(one: Mapping[str, Any]) -> list[str]:
    lines = []
    if not one["attached"]:
        lines.append("not attached: of bentpipe kernel run, or of another program")
    if one.get("pin"):
        lines.append(f"pinned at {one['pin']}: it outlives the agent")
    lines += [f"route {route}" for route in one["routes"]]
    if one["agent"] != "running" and one["attached"]:
        go_on = "connections go on by the fallback; " if one.get("pin") else ""
        lines.append(f"{go_on}attach it again, or: bentpipe kernel detach {terminal.plain(one['cc'])}")
    if one.get("error"):
        lines.append(f"the agent says: {terminal.plain(one['error'])}")
    if one.get("reports") is not None:
        lines.append(f"{one['reports']:,} reports, {one.get('dropped_reports', 0):,} dropped")
    for key, what in (("ack_to_agent_s", "ACK to agent"), ("ack_to_applied_s", "ACK to applied")):
        times = (one.get("latency") or {}).get(key) or {}
        if times.get("p50") is not None:
            told = ", ".join(f"{name} {_micros(times.get(name))}" for name in ("p50", "p90", "p99", "max"))
            lines.append(f"{what}: {told}")
    return lines


def show_flows(flows: Sequence[Mapping[str, Any]]) -> None:
    """A row for each flow."""
    heads = [
        *("<local", "<remote", "cwnd", "ssthresh", "in flight", "pacing", "RTT ms", "delivered"),
        *("orders", "last order", "fallbacks"),
    ]
    terminal.show_table("", heads, [_row(flow) for flow in flows])


def _row(flow: Mapping[str, Any]) -> list[str]:
    age, srtt, pacing = flow.get("order_age_s"), flow.get("srtt_s"), flow.get("pacing_bps")
    return [
        terminal.plain(str(flow.get("local", ""))),
        terminal.plain(str(flow.get("remote", ""))),
        _count(flow.get("cwnd_segments")),
        _count(flow.get("ssthresh_segments")),
        _count(flow.get("in_flight_segments")),
        "-" if not pacing else units.rate(pacing),
        "-" if srtt is None else units.milliseconds(srtt),
        "-" if flow.get("delivered_bytes") is None else f"{flow['delivered_bytes'] / 1e6:,.1f} MB",
        _count(flow.get("orders")),
        "-" if age is None else f"{units.milliseconds(age)} ms",
        _count(flow.get("fallbacks")),
    ]


def _count(value: Any) -> str:
    return "-" if value is None or value >= 2**31 - 1 else f"{value:,}"


def _micros(value: float | None) -> str:
    return "-" if value is None else f"{value * 1e6:,.0f} us"


def show_offered(rows: Sequence[Mapping[str, Any]]) -> None:
    """The controllers that can be attached."""
    cells = [
        [row["id"], row["label"], row["name"], row["native"] or "-", "; ".join(row["gaps"])] for row in rows
    ]
    terminal.show_table(
        "", ["<name", "<algorithm", "<in the kernel", "<native", "~what the kernel cannot carry"], cells
    )
