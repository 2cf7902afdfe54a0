"""Display of `bentpipe kernel`: attached controllers, their flows, and controllers that can be attached."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bentpipe import terminal, units

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
