"""Test vectors: what a controller is told, call by call, and what it answers, as lines of JSON.

`of` gives those of an algorithm. `schema.json` describes the lines. `replay.py` and `replay.rs` replay them
against another implementation; they need nothing of this package.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bentpipe import _core
from bentpipe.controller import named_algorithm
from bentpipe.document.plain import is_datagrams
from bentpipe.registry import find, unknown
from bentpipe.scenario import Scenario

EVENTS = list(_core.VECTOR_EVENTS)
"""What random sequences may be without: calls; "uncounted", acknowledgements that do not count in full;
"limited", times in which the window does not limit the sender; "ssthresh", an initial threshold."""
SCHEMA = Path(__file__).with_name("schema.json")
"""The JSON Schema of a line."""
READERS = {suffix: Path(__file__).with_name(f"replay{suffix}") for suffix in (".py", ".rs")}
"""The programs that replay vectors, by the suffix of their language."""


def of(
    cc: Any,
    *,
    seed: int = 1,
    sequences: int = 8,
    calls: int = 500,
    without: Sequence[str] = (),
    scenario: str | Path | Scenario | None = None,
) -> str:
    """The test vectors of an algorithm: a line for each call. The same arguments give the same text.

    Args:
        cc: its name, also with parameters ("cubic rules=linux"), or a dict as in `Flow`.
        seed: of all draws.
        sequences: random sequences. In every second one a report merges many acknowledgements.
        calls: lines of a sequence; that of the run may have fewer.
        without: names of `EVENTS`, which are in no random sequence: what the other implementation lacks.
        scenario: the run that is the last sequence, in place of `path_for`: what its first flow meets, whose
            algorithm this is.

    Raises:
        ScenarioError: the name, a parameter, a number or the scenario is wrong.
    """
    algorithm = named_algorithm(cc)
    if not isinstance(algorithm, (str, dict)):
        raise _core.ScenarioError(f"{cc}: vectors are of registered algorithms; bentpipe cc list has all")
    for event in without:
        if event not in EVENTS:
            raise _core.ScenarioError(f"without: {unknown('event', event, EVENTS)}")
    name = algorithm if isinstance(algorithm, str) else algorithm["name"]
    run = Scenario.from_dict(path_for(name)) if scenario is None else Scenario.of(scenario)
    tcp = [flow for flow in run.flows if not is_datagrams(flow.traffic)]
    if not tcp:
        raise _core.ScenarioError("scenario: it has no flow with a congestion controller")
    first = dataclasses.replace(tcp[0], cc=algorithm)
    flows = [first if flow is tcp[0] else flow for flow in run.flows]
    run = dataclasses.replace(run, flows=flows, seed=seed)
    return _core.vectors(run.as_written(), sequences, calls, list(without))


def path_for(cc: str) -> dict[str, Any]:
    """A scenario of 40 s in which a flow meets losses, marks, handovers with outages, and pauses.

    An algorithm that needs a queue of its own has that one, and one that is coupled has a second path.
    """
    entry = find(cc)
    queue: dict[str, Any] = {"kind": "codel", "ecn": True}
    if entry["queue"] or entry["uses_extra_segments"]:
        queue = {"kind": entry["queue"] or "priority"}
    link = {
        "rate": "4 Mbit/s",
        "delay": "40 ms",
        "queue": queue,
        "loss": {"kind": "packet-error", "rate": 2e-3},
        "handover": {"every": "9 s", "outage": "1 s", "queue": "kept"},
    }
    flow: dict[str, Any] = {"cc": cc, "path": ["a"], "ecn": True, "delayed_ack": True}
    flow["traffic"] = {
        "kind": "on-off",
        "size": {"kind": "list", "sizes": ["500 kB", "2 MB"]},
        "off": {"kind": "exponential", "mean": "1 s"},
    }
    if entry["uses_subflows"]:
        flow = {"cc": cc, "path": ["a"], "subflow": [{"path": ["b"]}]}
    return {"duration": "40 s", "link": {"a": link, "b": link | {"delay": "90 ms"}}, "flow": [flow]}
