"""Every algorithm behind buffers of several sizes over a GEO link: docs/buffers.md and its figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from matplotlib.figure import Figure

import bentpipe as bp
from bentpipe import measures
from bentpipe.experiments.table import Key, TableExperiment
from bentpipe.models import KINDS
from bentpipe.pages.markdown import markdown, rendered
from bentpipe.plot.looks import LETTERS, PAGE, fixed, write
from bentpipe.registry import find
from bentpipe.sweeps.case import Case

SIZES = {f"{size:g} bdp": size for size in (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0, 2.0, 4.0)}
"""Limits of the queue, in bandwidth-delay products."""
RATE_MBPS, RTT_MS, FLOWS, SECONDS, SEEDS = 20, 600, 4, 180, 3
ENOUGH = 0.9
"""A buffer is enough that gives this share of an algorithm's best goodput."""
SHOWN = ("reno", "cubic", "bbr", "vegas", "hybla", "star")
"""The lines of the figure that have colours."""


@dataclass(frozen=True)
class Buffered:
    """A row.

    Attributes:
        path: the buffer, of `SIZES`.
        goodput: payload of all flows, percent of the link's rate over the whole run.
        queueing_ms: round trip beyond the one without queues, 95th percentile, mean over the flows; one that
            never gets through has none.
        lost: packets dropped, percent of those sent.
        jain: Jain's index of the flows' goodput, each over its own life.
    """

    path: str
    cc: str
    seed: int
    goodput: float
    queueing_ms: float
    lost: float
    jain: float


class Buffers(TableExperiment[Buffered]):
    """The experiment: four flows of one algorithm, for every algorithm and buffer."""

    name = "buffers"
    row = Buffered

    def keys(self) -> list[Key]:
        """Every registered algorithm; quick: three."""
        ccs = ["cubic", "bbr", "vegas"] if self.quick else [entry["id"] for entry in bp.controllers()]
        return [Key(size, cc, seed) for size in SIZES for cc in ccs for seed in self.seeds(SEEDS)]

    def scenarios(self, key: Key) -> dict[str, bp.Scenario]:
        """One run; an algorithm that depends on signals of a queue gets such a queue."""
        kind: Any = KINDS[find(key.cc)["queue"] or "drop-tail"]
        delay = f"{RTT_MS / 2:g} ms"
        link = bp.Link(rate=f"{RATE_MBPS} Mbit/s", delay=delay, queue=kind(limit=key.path))
        flow = bp.Flow(key.cc, path=["sat"], count=FLOWS, start_jitter="10 s")
        run = bp.Scenario(links={"sat": link}, flows=[flow], duration=f"{SECONDS} s", seed=key.seed)
        return {"run": run}

    def measure(self, case: Case, result: bp.Result) -> Mapping[str, float]:  # noqa: ARG002
        """The measures of a row."""
        flows = result.json["flows"]
        return {
            "goodput": sum(flow["delivered_bytes"] for flow in flows) * 8e-4 / RATE_MBPS / SECONDS,
            "queueing_ms": 1e3 * fmean(flow["rtt_p95_s"] for flow in flows if flow["rtt_p95_s"]) - RTT_MS,
            "lost": 100 * (measures.lost(flows) or 0.0),
            "jain": measures.jain(flows),
        }

    def text(self, rows: Sequence[Buffered]) -> str:
        """The page."""
        goodput, queueing, lost, jain = (means(rows, of) for of in ("goodput", "queueing_ms", "lost", "jain"))
        need = {
            cc: next(s for s in SIZES if of[s] >= ENOUGH * max(of.values())) for cc, of in goodput.items()
        }
        order = sorted(need, key=lambda cc: (SIZES[need[cc]], -max(goodput[cc].values())))
        body = [
            [find(cc)["label"], f"{SIZES[size]:g}", *(f"{of:.0f}" for of in goodput[cc].values())]
            + [f"{queueing[cc][size]:.0f}", f"{queueing[cc]['4 bdp']:.0f}"]
            + [f"{lost[cc][size]:.1f}", f"{jain[cc][size]:.2f}"]
            for cc in order
            for size in [need[cc]]
        ]
        sizes = [f"{size:g}" for size in SIZES.values()]
        heads = ["<controller", "enough", *sizes, "queueing, ms", "at 4 BDP", "lost, %", "Jain"]
        return rendered(
            Path(__file__).with_suffix(".md"), table=markdown(heads, body), goodput=goodput,
            queueing=queueing, lost=lost, jain=jain, need={cc: SIZES[size] for cc, size in need.items()},
        )  # fmt: skip

    def draw(self, rows: Sequence[Buffered]) -> None:
        """Goodput and queueing delay over the buffer."""
        with fixed(PAGE | LETTERS):
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
            write(figure, self.out / "buffers.svg")


def means(rows: Sequence[Buffered], of: str) -> dict[str, dict[str, float]]:
    """The mean over the seeds of a measure, by algorithm and buffer in the order of `SIZES`."""
    found: dict[str, dict[str, list[float]]] = {}
    for row in sorted(rows, key=lambda row: SIZES[row.path]):
        found.setdefault(row.cc, {}).setdefault(row.path, []).append(getattr(row, of))
    return {cc: {size: fmean(of) for size, of in by_size.items()} for cc, by_size in sorted(found.items())}
