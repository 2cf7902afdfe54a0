"""The TCP senders of ns-2, and the controller of Bentpipe to which each corresponds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bentpipe import _core
from bentpipe.registry import find


@dataclass(frozen=True)
class Agent:
    """A kind of TCP sender in ns-2.

    Args:
        tcl: its class in ns-2.
        cc: the controller whose rules it has.
        args: parameters of that controller that differ from its defaults.
        recovery: the loss recovery that it does, as a flow's key of that name.
        module: congestion control of `Agent/TCP/Linux`.
        settings: variables of the agent, name and value.
        header_included: whether `packetSize_` means the size on the wire.
        bounded: whether the sender keeps to `window_`.
        sink: the receiver that goes with it.
    """

    tcl: str
    cc: str
    args: Mapping[str, Any] = field(default_factory=dict)
    recovery: str = "sack"
    module: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    header_included: bool = False
    bounded: bool = True
    sink: str = "Agent/TCPSink/Sack1"

    @property
    def timestamps(self) -> bool | None:
        """Whether the flow must use timestamps; None: any. `Agent/TCP/Linux` measures its RTT by them."""
        return True if self.module is not None else None

    def controller(self) -> str | dict[str, Any]:
        """The controller as a scenario names it."""
        return {"name": self.cc, **self.args} if self.args else self.cc


def _linux(module: str, cc: str, args: Mapping[str, Any] | None = None, **other: Any) -> Agent:
    return Agent("Agent/TCP/Linux", cc, args or {}, module=module, **other)


AGENTS: dict[str, Agent] = {
    "sack": Agent("Agent/TCP/Sack1", "reno"),
    "newreno": Agent("Agent/TCP/Newreno", "reno", recovery="newreno", sink="Agent/TCPSink"),
    "reno": Agent("Agent/TCP/Reno", "reno", recovery="reno", sink="Agent/TCPSink"),
    "tahoe": Agent("Agent/TCP", "reno", recovery="tahoe", sink="Agent/TCPSink"),
    # Vegas repairs losses by retransmissions of its own; without SACK at the receiver.
    "vegas": Agent("Agent/TCP/Vegas", "vegas", header_included=True, sink="Agent/TCPSink"),
    "highspeed": Agent("Agent/TCP/Sack1", "highspeed", settings={"windowOption_": "8"}),
    "linux-reno": _linux("reno", "reno"),
    "linux-vegas": _linux("vegas", "vegas", {"rules": "linux"}),
    "linux-veno": _linux("veno", "veno"),
    # The agent never raises CA_EVENT_COMPLETE_CWR, at which the module would go to its estimate.
    "linux-westwood": _linux("westwood", "westwood-plus", {"rules": "ns-2"}),
    "linux-highspeed": _linux("highspeed", "highspeed", {"form": "table"}),
    "linux-scalable": _linux("scalable", "scalable", {"a": 0.02, "at_least_reno": True}),
    "linux-htcp": _linux("htcp", "htcp"),
    "linux-bic": _linux("bic", "bic"),
    # bic_scale 41 per 1024 and 100 ms; 819/1024.
    "linux-cubic": _linux("cubic", "cubic", {"c": 410 / 1024, "beta": 819 / 1024}),
    # The module sets the limit of its window to 65535 and so forgets `window_`.
    "linux-hybla": _linux("hybla", "hybla", {"ssthresh_est": False, "pacing": False}, bounded=False),
}
"""The senders that are known to work, by name. The modules are those of Linux 2.6.22."""


def agent_for(cc: str | Mapping[str, Any], recovery: str, key: str) -> Agent:
    """The agent that has the rules of a controller with exactly these parameters.

    Args:
        cc: the controller, as a scenario names it.
        recovery: the flow's loss recovery.
        key: the key of the controller in the scenario, for messages.

    Raises:
        ScenarioError: ns-2 has no such sender.
    """
    name, given = (
        (cc, {}) if isinstance(cc, str) else (cc["name"], {k: v for k, v in cc.items() if k != "name"})
    )
    if name.startswith(("python:", "javascript:")):
        raise _core.ScenarioError(
            f"{key}: ns-2 has no counterpart of a controller of one's own; name its agent yourself"
        )
    known = [agent for agent in AGENTS.values() if agent.cc == name]
    if not known:
        there = ", ".join(sorted({agent.cc for agent in AGENTS.values()}))
        raise _core.ScenarioError(f"{key}: ns-2 has no sender with the rules of {name!r}; it has {there}")
    defaults = {p["name"]: p["default"] for p in find(name)["params"]}
    wanted = {**defaults, **given}
    complaint = ""
    for agent in known:
        has = {**defaults, **agent.args}
        wrong = [p for p in defaults if wanted[p] != has[p]]
        if not wrong and agent.recovery == recovery:
            return agent
        if wrong:
            p = wrong[0]
            settings = {"name": name, **given, **{p: has[p] for p in wrong}}
            write = ", ".join(f"{one} = {json.dumps(value)}" for one, value in settings.items())
            complaint = (
                f"{key}.{p}: the {name} of ns-2 has {has[p]!r}, not {wanted[p]!r}; write cc = {{ {write} }}"
            )
        else:
            place = key.removesuffix(".cc")
            complaint = f"{place}.recovery: the {name} of ns-2 does {agent.recovery!r}, not {recovery!r}"
    raise _core.ScenarioError(complaint)
