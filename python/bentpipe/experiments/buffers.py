"""Every algorithm behind buffers of several sizes over a GEO link: docs/buffers.md and its figure."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

from matplotlib.figure import Figure

import bentpipe as bp
from bentpipe import measures
from bentpipe.experiments.experiment import Experiment, case_of
from bentpipe.experiments.rows import Rows
from bentpipe.models import KINDS
from bentpipe.pages.markdown import markdown, rendered
from bentpipe.registry import find
from bentpipe.sweeps.case import Case
from bentpipe.sweeps.kept import Row

SIZES = {f"{size:g} bdp": size for size in (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0, 2.0, 4.0)}
"""Limits of the queue, in bandwidth-delay products."""
RATE_MBPS, RTT_MS, FLOWS, SECONDS, SEEDS = 20, 600, 4, 180, 3
ENOUGH = 0.9
"""A buffer is enough that gives this share of an algorithm's best goodput."""
SHOWN = ("reno", "cubic", "bbr", "vegas", "hybla", "star")
"""The lines of the figure that have colours."""


class Buffers(Experiment):
    """The experiment: four flows of one algorithm, for every algorithm and buffer."""

    name = "buffers"
    columns = {  # noqa: RUF012
        "goodput": "payload of all flows, percent of the link's rate over the whole run",
        "queueing_ms": "95th percentile of the round trip beyond the one without queues, mean over the flows "
        "that get through",
        "lost": "packets dropped, percent of those sent",
        "jain": "Jain's index of the flows' goodput, each over its own life",
    }

    def cases(self) -> list[Case]:
        """Every registered algorithm; quick: three."""
        ccs = ["cubic", "bbr", "vegas"] if self.quick else [entry["id"] for entry in bp.controllers()]
        return [
            case_of({"path": size, "cc": cc, "seed": seed}, scenario(size, cc, seed))
            for size, cc, seed in product(SIZES, ccs, self.seeds(SEEDS))
        ]

    def measure(self, case: Case, result: bp.Result) -> Row:  # noqa: ARG002
        """The measures of a row."""
        flows = result.json["flows"]
        return {
            "goodput": sum(flow["delivered_bytes"] for flow in flows) * 8e-4 / RATE_MBPS / SECONDS,
            "queueing_ms": 1e3 * fmean(flow["rtt_p95_s"] for flow in flows if flow["rtt_p95_s"]) - RTT_MS,
            "lost": 100 * (measures.lost(flows) or 0.0),
            "jain": measures.jain(flows),
        }

    def text(self, rows: Rows) -> str:
        """The page."""
        goodput, queueing, lost, jain = (means(rows, of) for of in ("goodput", "queueing_ms", "lost", "jain"))
        need = {
            cc: next(s for s in SIZES if of[s] >= ENOUGH * max(of.values())) for cc, of in goodput.items()
        }
        body = [
            [find(cc)["label"], f"{SIZES[size]:g}", *(f"{of:.0f}" for of in goodput[cc].values())]
            + [f"{queueing[cc][size]:.0f}", f"{queueing[cc]['4 bdp']:.0f}"]
            + [f"{lost[cc][size]:.1f}", f"{jain[cc][size]:.2f}"]
            for cc, size in sorted(
                need.items(), key=lambda pair: (SIZES[pair[1]], -max(goodput[pair[0]].values()))
            )
        ]
        sizes = [f"{size:g}" for size in SIZES.values()]
        heads = ["<controller", "enough", *sizes, "queueing, ms", "at 4 BDP", "lost, %", "Jain"]
        return rendered(
            Path(__file__).with_suffix(".md"), table=markdown(heads, body), goodput=goodput,
            queueing=queueing, lost=lost, jain=jain, need={cc: SIZES[size] for cc, size in need.items()},
        )  # fmt: skip

    def views(self, rows: Rows) -> Iterator[tuple[str, Figure]]:
        """Goodput and queueing delay over the buffer."""
        figure = Figure(figsize=(8.6, 3.4), layout="constrained")
        labels = {"goodput": "goodput, % of the link", "queueing_ms": "queueing delay (p95), ms"}
        for axes, (of, label) in zip(figure.subplots(1, 2), labels.items(), strict=True):
            for cc, by_size in means(rows, of).items():
                grey = {"color": "0.85", "linewidth": 0.5, "zorder": 0}
                look = bp.plot.look(cc) if cc in SHOWN else grey
                axes.plot(list(SIZES.values()), list(by_size.values()), **look)
            axes.set_xscale("log", base=2)
            axes.set_xticks(list(SIZES.values()), [f"{size:g}" for size in SIZES.values()])
            axes.set(xlabel="buffer, bandwidth-delay products", ylabel=label)
        figure.axes[0].set_ylim(0)
        figure.axes[0].legend(frameon=False)
        figure.axes[1].set_yscale("log")
        yield "buffers.svg", figure


def scenario(size: str, cc: str, seed: int) -> bp.Scenario:
    """Flows of one algorithm; one that depends on signals of a queue gets such a queue."""
    kind: Any = KINDS[find(cc)["queue"] or "drop-tail"]
    link = bp.Link(rate=f"{RATE_MBPS} Mbit/s", delay=f"{RTT_MS / 2:g} ms", queue=kind(limit=size))
    flow = bp.Flow(cc, path=["sat"], count=FLOWS, start_jitter="10 s")
    return bp.Scenario(links={"sat": link}, flows=[flow], duration=f"{SECONDS} s", seed=seed)


def means(rows: Rows, of: str) -> dict[str, dict[str, float]]:
    """The mean over the seeds of a measure, by algorithm and buffer in the order of `SIZES`."""
    ccs = sorted(cc for (cc,) in rows.groups("cc"))
    return {cc: {size: fmean(rows.column(of, path=size, cc=cc)) for size in SIZES} for cc in ccs}
