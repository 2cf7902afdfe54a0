"""What each rule of a constellation changes under load: docs/network-rules.md and its figure."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import bentpipe as bp
from bentpipe import measures, stats
from bentpipe.experiments.announced import grid, label
from bentpipe.experiments.experiment import Experiment
from bentpipe.experiments.rows import Rows, shown
from bentpipe.pages.markdown import markdown, rendered
from bentpipe.sweeps.case import Case
from bentpipe.sweeps.kept import Row

MBPS, SECONDS, SEEDS, CC = 10, 20, 3, "cubic"
PATHS, TURNS = "shortest paths", "a satellite for 15 s"
BASES: dict[str, dict[str, Any]] = {PATHS: {}, TURNS: {"select": "highest-elevation", "every": "15 s"}}
"""What each rule is compared with: the defaults, and stations that keep the highest satellite for 15 s."""
WAITING: dict[str, dict[str, Any]] = {
    'in_flight = "lost"': {"handover": {"in_flight": "lost"}},
    'queue = "flushed"': {"handover": {"queue": "flushed"}},
    'queue = "requeued"': {"handover": {"queue": "requeued"}},
    'outage = "100 ms"': {"handover": {"outage": "100 ms"}},
    'decide = "departure"': {"decide": "departure"},
}
"""Rules for packets that are on their way when tables change."""
ROUTING: dict[str, dict[str, Any]] = {
    'reach = "length"': {"reach": "length"},
    'route = "hops"': {"route": "hops"},
    'select = "highest-elevation"': {"select": "highest-elevation"},
    'the same, every = "15 s"': BASES[TURNS],
    'select = "longest-visible"': {"select": "longest-visible", "every": "lost"},
    "5 % of lasers fail": {"failures": ["5 % of lasers, seed 1, from 5 s, detected after 1 s"]},
    "relays, no lasers": {"isl": None, "relays": True},
}
"""Rules of routing, and failures."""
RULES = {PATHS: ROUTING | WAITING, TURNS: WAITING}
"""The rules that are changed alone, by what they are compared with."""
ABSOLUTE = ("Mbit/s", "lost, %", "RTT p95, ms")
MEASURES = {"mbps": "goodput, %", "lost": "packets lost, points of %", "p95_ms": "RTT p95, %"}


class NetworkRules(Experiment):
    """The experiment: a permutation of a hundred cities with each rule alone changed."""

    name = "network-rules"
    columns = {  # noqa: RUF012
        "mbps": "goodput of all flows together, Mbit/s by acknowledged bytes",
        "lost": "packets dropped, percent of those sent",
        "p95_ms": "median over the flows of the 95th percentile of the RTT, ms",
        "jain": "Jain's index of the flows' goodput",
        "changes": "path changes of a flow, mean over the flows",
    }

    def cases(self) -> list[Case]:
        """Both bases and each rule alone; quick: three of them."""
        paths = [named(base, rule) for base, rules in RULES.items() for rule in ("", *rules)]
        return grid(paths[-3:] if self.quick else paths, [CC], self.seeds(SEEDS), scenario)

    def measure(self, case: Case, result: bp.Result) -> Row:  # noqa: ARG002
        """The measures of a row."""
        ends = result.network_flows
        mbps = ends["acked_goodput_bps"].to_numpy() / 1e6
        return {
            "mbps": float(mbps.sum()),
            "lost": 100 * (measures.lost(result.json["flows"]) or 0.0),
            "p95_ms": 1e3 * float(np.median(result.flows["rtt_p95_s"].drop_nulls().drop_nans().to_numpy())),
            "jain": stats.jain(mbps),
            "changes": float(ends["path_changes"].to_numpy().mean()),
        }

    def text(self, rows: Rows) -> str:
        """The page."""

        def table(base: str) -> str:
            heads = ["<rule", *MEASURES.values()]
            body = [
                [f"`{rule}`" if "=" in rule else rule]
                + [_cell(change(rows, base, rule, of)) for of in MEASURES]
                for rule in RULES[base]
            ]
            return markdown(heads, body)

        heads = ["<stations use", *ABSOLUTE, "path changes of a flow"]
        body = [
            [base, *(rows.cell(of, 1, path=base, cc=CC) for of in (*MEASURES, "changes"))] for base in BASES
        ]
        return rendered(
            Path(__file__).with_suffix(".md"),
            tables={base: table(base) for base in BASES},
            base=markdown(heads, body),
            changed=lambda base, rule, of: _cell(change(rows, base, rule, of)),
            seeds=SEEDS,
            seconds=SECONDS,
            rate=MBPS,
        )

    def views(self, rows: Rows) -> Iterator[tuple[str, Figure]]:
        """The change of goodput, losses and delay by each rule."""
        figure = Figure(figsize=(8.6, 6.2), layout="constrained")
        heights = [len(rules) for rules in RULES.values()]
        grid_of = figure.subplots(2, 3, sharey="row", height_ratios=heights)
        for line, (base, rules) in zip(grid_of, RULES.items(), strict=True):
            places = np.arange(len(rules))
            for axes, (of, words) in zip(line, MEASURES.items(), strict=True):
                axes.axvline(0, color="0.6", linewidth=0.8, zorder=0)
                found = [change(rows, base, rule, of) for rule in rules]
                look = bp.plot.look(CC) | {"linestyle": "", "capsize": 2, "markersize": 4}
                axes.errorbar(
                    [one.centre for one in found], places, xerr=[one.half_width for one in found], **look
                )
                axes.set(ylim=(len(rules) - 0.5, -0.5), yticks=places)
                axes.set_yticklabels(list(rules))
                axes.grid(axis="y", color="0.92", linewidth=0.6)
                axes.set_axisbelow(True)
                if base == list(RULES)[-1]:
                    axes.set_xlabel(f"change of {words}")
            line[0].set_title(f"beside {base}", loc="left", fontsize="medium")
        yield "network-rules.svg", figure


def named(base: str, rule: str) -> str:
    """The name of a row: what stations use, and the rule that is changed, if any."""
    return f"{base}, {rule}" if rule else base


def scenario(path: str, cc: str, seed: int) -> dict[str, Any]:
    """A run by the names of its row."""
    base, _, rule = path.partition(", ")
    port = {"rate": f"{MBPS} Mbit/s"}
    network: dict[str, Any] = {"shell": "hypatia-kuiper-k1", "update": "100 ms", "isl": port, "gsl": port}
    network |= BASES[base] | (RULES[base][rule] if rule else {})
    flow = {"cc": cc, "pairs": "permutation", "start_jitter": "1 s"}
    return {
        "title": f"{path}: {label(cc)}", "seed": seed, "duration": f"{SECONDS} s",
        "network": {key: value for key, value in network.items() if value is not None},
        "flow": [flow], "record": {"flows": False},
    }  # fmt: skip


def change(rows: Rows, base: str, rule: str, of: str) -> stats.Interval:
    """What a rule changes, paired by seed: percent, of the share of lost packets the difference."""
    mine, other = (rows.values(of, path=path, cc=CC) for path in (named(base, rule), base))
    by_seed = [
        mine[seed] - other[seed] if of == "lost" else 100 * (mine[seed] / other[seed] - 1) for seed in mine
    ]
    return stats.interval(by_seed)


def _cell(known: stats.Interval) -> str:
    return shown(known.centre, known.half_width, 1)
