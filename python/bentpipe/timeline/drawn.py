"""Time lines that are drawn for each seed, by the simulator (crates/sim/src/drawn, docs/starlink.md)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import polars as pl

from bentpipe import _core

_KNOWN = json.loads(_core.drawn_profiles())
PROFILES: Mapping[str, Any] = {
    name: SimpleNamespace(
        **{key: SimpleNamespace(**of) if isinstance(of, dict) else of for key, of in constants.items()}
    )
    for name, constants in _KNOWN["profiles"].items()
}
"""Constants of the model by the name of the profile: each has value, low and high; `measured` is words."""
PERIOD_S, PHASE_S = float(_KNOWN["period_s"]), float(_KNOWN["phase_s"])
"""Time between reconfigurations, and the first second after a full minute that has one."""


@dataclass(frozen=True)
class LineDraw:
    """One draw.

    Attributes:
        line: `t_s`, `rate_bps`, `delay_s`, `up` and `handover`, without outages.
        outages: begin and end of each, seconds; they do not overlap.
        nominal: median rate and short delay, as a link's `nominal` has them.
    """

    line: pl.DataFrame
    outages: list[tuple[float, float]]
    nominal: dict[str, str]


def is_drawn(line: object) -> bool:
    """Whether the `timeline` of a link is drawn."""
    return isinstance(line, Mapping) and "generator" in line


def constants(table: Mapping[str, Any]) -> Any:
    """The constants of the model that draws a `timeline`."""
    return PROFILES[table.get("profile", next(iter(PROFILES)))]


def draw(table: Mapping[str, Any], seed: int, duration_s: float) -> LineDraw:
    """The draw of a `timeline` that a scenario accepts.

    Args:
        table: the keys of the `timeline`.
        seed: of the run; the table's own goes before it.
        duration_s: time of the last row.
    """
    found = _core.drawn_line(json.dumps(table), seed, round(duration_s * 1e9))
    rate_bps, delay_s = found.pop("nominal")
    nominal = {"rate": f"{rate_bps} bit/s", "delay": f"{delay_s * 1e6:.0f} us"}
    outages = [(begin, end) for begin, end in found.pop("outages")]
    return LineDraw(pl.DataFrame(found), outages, nominal)


def check(table: Mapping[str, Any], duration: str) -> None:
    """Checks a `timeline` and the duration of a run with it.

    Raises:
        ScenarioError: a value is wrong; the message begins with its key.
    """
    link, flow = {"timeline": table}, {"cc": "reno", "path": ["drawn"]}
    try:
        _core.check(json.dumps({"duration": duration, "link": {"drawn": link}, "flow": [flow]}))
    except _core.ScenarioError as wrong:
        raise _core.ScenarioError(str(wrong).replace("link.drawn.", "")) from None
