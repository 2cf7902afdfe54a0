"""Result of an emulation in the form of a simulation's result."""

from __future__ import annotations

import json
from typing import Any

from bentpipe import _core
from bentpipe.drawn.lines import as_json, without_lines
from bentpipe.result import Result, named


def made(network: _core.EmulatedNetwork, scenario: dict[str, Any], report: dict[str, Any]) -> Result:
    """A result without flows. Its JSON has the emulation's own report, too, as "emulation"."""
    import polars as pl

    links = json.loads(network.link_reports())
    packets = report["forward"]["delivered_packets"]
    late = "the emulation did not keep time; see emulation.lateness_bound_s"
    about = {
        "schema": 1,
        "seed": report["seed"],
        "simulated_s": report["t_s"],
        "wall_s": report["t_s"],
        "packets": packets,
        "flows": [],
        "links": links,
        "warnings": [late] if report["kept_time"] is False else [],
        "emulation": report,
    }
    names = [f"{link['name']}/{link['direction']}" for link in links]
    trace = named(pl.DataFrame(network.link_trace()), link=names).sort("t_s", "link")
    if trace.height:  # one way may have taken a sample more than the other
        trace = trace.filter(pl.col("t_s") <= trace.group_by("link").agg(pl.col("t_s").max())["t_s"].min())
    whole = without_lines(json.loads(_core.check(as_json(scenario))), scenario)
    return Result.of_tables(whole, about, {"link_trace": trace})
