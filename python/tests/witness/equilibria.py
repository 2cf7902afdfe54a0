"""The queue that a controller which watches delay keeps at rest, beside what its paper says.

    python python/tests/witness/equilibria.py [--figure FILE]

prints docs/validation/equilibria.csv in a few seconds. One flow on 10 Mbit/s, without losses, at several
round-trip times: the number of packets that wait does not depend on them.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import data_file

import bentpipe as bp

RATE = 10e6
RTTS = (0.02, 0.1, 0.5)
ROUNDS, WARM = 1500, 1000
"""Round trips of a run, and how many of them are left out at the beginning."""
SAMPLES = 12
"""Of the queue in a round trip."""


@dataclass(frozen=True)
class Law:
    """A controller, and the packets that it keeps queued: their range, and their mean where it has one."""

    label: str
    cc: dict[str, Any]
    low: float
    high: float
    mean: float | None
    source: str


LAWS = (
    Law("Vegas", {"name": "vegas"}, 1, 3, None, "alpha to beta (Brakmo and Peterson 1995)"),
    Law("Vegas, Linux's rules", {"name": "vegas", "rules": "linux"}, 2, 4, None, "the same"),
    Law("FAST, alpha = 20", {"name": "fast", "alpha": 20}, 20, 20, 20, "alpha (Wei et al. 2006)"),
    Law("FAST, alpha = 50", {"name": "fast", "alpha": 50}, 50, 50, 50, "the same"),
    Law(
        "Copa, delta = 1/2",
        {"name": "copa"},
        0,
        5,
        2.5,
        "2.5 / delta, mean 1.25 / delta (Arun and Balakrishnan 2018)",
    ),
    Law("Copa, delta = 1/4", {"name": "copa", "delta": 0.25}, 0, 10, 5, "the same"),
)


@dataclass(frozen=True)
class Rest:
    """A law at one round-trip time: packets waiting."""

    law: Law
    rtt: float
    mean: float
    least: float
    most: float

    @property
    def agrees(self) -> bool:
        """Within a packet of the range, and the mean within a tenth or a packet: packets are whole."""
        law = self.law
        kept = law.low - 1 <= self.least and self.most <= law.high + 1
        return kept and (law.mean is None or abs(self.mean - law.mean) <= max(1.0, 0.1 * law.mean))

    def row(self) -> list[str]:
        """One row of the data file."""
        law = self.law
        return [
            law.label,
            f"{self.rtt * 1e3:.0f}",
            f"{law.low:g}",
            f"{law.high:g}",
            "" if law.mean is None else f"{law.mean:g}",
            law.source,
            f"{self.mean:.1f}",
            f"{self.least:.0f}",
            f"{self.most:.0f}",
            "agrees" if self.agrees else "differs",
        ]


COLUMNS = """
controller rtt_ms form_least_packets form_most_packets form_mean_packets source
measured_mean_packets measured_least_packets measured_most_packets verdict
""".split()
"""Of the data file."""


def scenario(law: Law, rtt: float) -> bp.Scenario:
    """One flow whose slow start ends at half the bandwidth-delay product."""
    link = bp.Link(rate=f"{RATE:.0f} bit/s", delay=f"{rtt * 500:g} ms", queue=bp.DropTail("100000 packets"))
    ssthresh = max(2, int(RATE * rtt / 8 / 1500 / 2))
    flow = bp.Flow(law.cc, path=["sat"], profile="paper", initial_ssthresh=ssthresh)
    return bp.Scenario(
        links={"sat": link},
        flows=[flow],
        duration=f"{ROUNDS * rtt:g} s",
        record=bp.Record(f"{rtt / SAMPLES:.9f} s", flows=False, links=True),
    )


def measure(laws: Sequence[Law] = LAWS) -> Iterator[Rest]:
    """Every law at every round-trip time."""
    for law in laws:
        for rtt in RTTS:
            trace = bp.run(scenario(law, rtt)).link_trace
            queue = trace.filter(trace["link"] == "sat/forward")["queue_packets"].to_list()
            rest = queue[SAMPLES * WARM :]
            yield Rest(law, rtt, statistics.fmean(rest), min(rest), max(rest))


def draw(found: Sequence[Rest], file: Path) -> None:
    """A panel for each law: the band that it says, and the queue's mean and range."""
    from matplotlib.figure import Figure

    from bentpipe.plot.looks import PAGE, fixed, write

    with fixed(PAGE):
        figure = Figure(figsize=(8.6, 2.3), layout="constrained", facecolor="white")
        axes = figure.subplots(1, len(LAWS), sharex=True)
        for ax, law in zip(axes, LAWS, strict=True):
            mine = [rest for rest in found if rest.law is law]
            colour = bp.registry.style(law.cc["name"])["colour"]
            if law.low < law.high:
                ax.axhspan(law.low, law.high, color="0.88", lw=0, label="form: range")
            if law.mean is not None:
                ax.axhline(law.mean, color="0.3", lw=0.8, ls="--", label="form: mean")
            means = [rest.mean for rest in mine]
            bars = [
                [rest.mean - rest.least for rest in mine],
                [rest.most - rest.mean for rest in mine],
            ]
            ax.errorbar(
                range(len(RTTS)), means, bars, ls="", marker="o", ms=4, color=colour, capsize=2,
                elinewidth=0.8, label="measured: mean, smallest to largest",
            )  # fmt: skip
            ax.set_xticks(range(len(RTTS)), [f"{rtt * 1e3:.0f}" for rtt in RTTS])
            ax.set_xlim(-0.5, len(RTTS) - 0.5)
            ax.set_ylim(0, 1.35 * max(law.high, *(rest.most for rest in mine)))
            ax.set_title(law.label.replace(", ", ",\n"), fontsize=8)
        figure.supxlabel("round-trip time, ms", fontsize=8)
        figure.supylabel("packets waiting", fontsize=8)
        labelled: dict[str, Any] = {}
        for ax in axes:
            handles, labels = ax.get_legend_handles_labels()
            labelled |= dict(zip(labels, handles, strict=True))
        figure.legend(
            labelled.values(), labelled.keys(), loc="outside upper center", ncols=3, frameon=False, fontsize=8
        )
        write(figure, file)


def main() -> int:
    """Prints the rows, draws the figure; 1 if something differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--figure", type=Path, help="draw the comparison into this SVG file")
    given = parser.parse_args()
    found = list(measure())
    print("\n".join(map(data_file.line, [COLUMNS, *(rest.row() for rest in found)])))
    if given.figure is not None:
        draw(found, given.figure)
    return 0 if all(rest.agrees for rest in found) else 1


if __name__ == "__main__":
    sys.exit(main())
