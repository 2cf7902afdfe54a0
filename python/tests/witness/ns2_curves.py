"""The window over time beside ns-2, sample by sample: without any loss, and with one packet lost.

    python python/tests/witness/ns2_curves.py [--figure docs/ns2-curves.svg]

prints docs/validation/ns2-curves.csv and draws its figure. 10 Mbit/s, RTT 100 ms, a buffer that does not
fill, and slow start up to 40 segments; the window is sampled every 100 ms.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import data_file
import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from ns2_grid import SENDERS, Sender

import bentpipe as bp
from bentpipe import ns2, plot
from bentpipe.ns2.dumbbell import MSS
from bentpipe.plot import WIDTH

DURATION = 12.0
LOST = 1000
"""The packet that is lost in the second kind of curve."""
START = 40
STEP = "100 ms"


LOOSER = {
    ("highspeed-native", False): 0.05,
    ("htcp", True): 0.10,
    ("vegas-native", True): 0.12,
}
"""Where more is tolerated, with its cause in docs/validation/ns2.md."""
TOLERATED_SEGMENTS = 2.0
"""Always; and the share that `tolerance` gives."""
SKIPPED = 1.0
"""After the loss: ns-2 counts duplicate ACKs into the window there, or lowers it step by step, s."""


@dataclass(frozen=True)
class Curve:
    """A sender's window in both programs; s and segments; infinite `lost_at` without a loss."""

    sender: Sender
    loss: bool
    lost_at: float
    times: list[float]
    theirs: list[float]
    ours: list[float]

    @property
    def apart(self) -> tuple[float, float]:
        """Largest difference at a sample: segments, and as a share of ns-2's window there."""
        pairs = [
            (abs(a - b), abs(a - b) / a)
            for t, a, b in zip(self.times, self.theirs, self.ours, strict=True)
            if not self.lost_at <= t < self.lost_at + SKIPPED
        ]
        return max(pairs)


def trace(sender: Sender, *, loss: bool, ruled: bool = False) -> Curve:
    """One sender in both programs; `ruled` puts ns-2's rule in the place of the controller."""
    options: dict[str, Any] = {}
    if sender.agent.module is not None:
        options["min_rto"] = "1 s"
    if sender.agent.module == "hybla":
        # The module begins with rho segments.
        options["initial_window"] = 4
    with tempfile.TemporaryDirectory(prefix="bentpipe-witness-") as folder:
        drops = Path(folder, "drops")
        drops.write_text(f"{LOST}\n" if loss else "", encoding="utf-8")
        scenario = ns2.dumbbell(
            sender.agent,
            rate=10e6,
            rtt=0.1,
            buffer=100_000,
            duration=DURATION,
            cc=sender.rule if ruled else None,
            drops=str(drops) if loss else None,
            initial_ssthresh=START,
            **options,
        )
        scenario = replace(scenario, record=bp.Record(interval=STEP))
        theirs = ns2.run(scenario, agents=sender.agent).windows[0]
        ours = bp.run(scenario).trace
    rows = list(zip(theirs, ours["t_s"], ours["cwnd"], strict=False))
    if any(abs(a[0] - t) > 1e-6 for a, t, _ in rows):
        raise RuntimeError("the samples of the two programs are not of the same instants")
    stuck = ours.filter(ours["delivered_bytes"] >= LOST * MSS)["t_s"]
    return Curve(
        sender,
        loss,
        stuck[0] if loss else math.inf,
        [t for _, t, _ in rows],
        [a[1] for a, _, _ in rows],
        [c for _, _, c in rows],
    )


def tolerance(sender: Sender, *, loss: bool) -> float:
    """Tolerated difference as a share of the window; `TOLERATED_SEGMENTS` always are."""
    return LOOSER.get((sender.key, loss), 0.05 if loss else 0.02)


@dataclass(frozen=True)
class Compared:
    """The curve of the controller here, and that of ns-2's rule in its place where there is one."""

    plain: Curve
    ruled: Curve | None

    def agrees(self, curve: Curve) -> bool:
        """Is this curve as close to ns-2's as is tolerated?"""
        segments, share = curve.apart
        return segments <= TOLERATED_SEGMENTS or share <= tolerance(curve.sender, loss=curve.loss)

    @property
    def explained(self) -> bool:
        """Does one of the two agree?"""
        return self.agrees(self.plain) or (self.ruled is not None and self.agrees(self.ruled))

    def row(self) -> list[str]:
        """One row of the data file."""

        def apart(curve: Curve | None) -> list[str]:
            return ["", ""] if curve is None else [f"{curve.apart[0]:.2f}", f"{100.0 * curve.apart[1]:.1f}"]

        limit = tolerance(self.plain.sender, loss=self.plain.loss)
        return [
            self.plain.sender.key,
            "one loss" if self.plain.loss else "no loss",
            *apart(self.plain),
            *apart(self.ruled),
            f"{TOLERATED_SEGMENTS:g}",
            f"{100.0 * limit:.0f}",
            "agrees" if self.agrees(self.plain) else "agrees by rule" if self.explained else "differs",
        ]


COLUMNS = """
sender curve difference_segments difference_percent rule_difference_segments rule_difference_percent
tolerated_segments tolerated_percent verdict
""".split()
"""Of the data file. Per cent are of ns-2's window at that sample; a rule is ns-2's in the place of ours."""


def compare() -> Iterator[Compared]:
    """Every sender without a loss and with one."""
    for sender in SENDERS:
        for loss in (False, True):
            plain = trace(sender, loss=loss)
            yield Compared(plain, trace(sender, loss=loss, ruled=True) if sender.rule else None)


def draw(found: list[Compared]) -> Figure:
    """The windows with one packet lost."""
    shown = [c for c in found if c.plain.loss]
    columns = 4
    lines = math.ceil(len(shown) / columns)
    with plot.styled():
        figure, axes = plt.subplots(lines, columns, figsize=(2.0 * WIDTH, 1.25 * lines), sharex=True)
        for ax, one in zip(axes.flat, shown, strict=False):
            ax.plot(
                one.plain.times,
                one.plain.theirs,
                "o",
                color="black",
                markersize=1.6,
                markevery=5,
                label="ns-2",
            )
            ax.plot(one.plain.times, one.plain.ours, color="#4477aa", label="Bentpipe")
            if one.ruled is not None:
                ax.plot(one.ruled.times, one.ruled.ours, "--", color="#ee6677", label="with ns-2's rule")
            ax.set_title(one.plain.sender.key)
        handles, labels = axes.flat[2].get_legend_handles_labels()
        spare = axes.flat[len(shown) :]
        for ax in spare:
            ax.set_axis_off()
        spare[0].legend(handles, labels, loc="center")
        for ax in axes.flat[max(0, len(shown) - columns) : len(shown)]:
            ax.tick_params(labelbottom=True)  # the lowest of its column
        figure.supxlabel("time, s", fontsize=8)
        figure.supylabel("congestion window, segments", fontsize=8)
        figure.tight_layout()
    return figure


def main(arguments: list[str] | None = None) -> int:
    """Prints the rows and draws the figure; 1 if a curve differs and ns-2's rule does not explain it."""
    parser = argparse.ArgumentParser(description="The window over time beside ns-2.")
    parser.add_argument("--figure", type=Path, help="draw the windows to this file")
    given = parser.parse_args(arguments)
    if not ns2.available():
        print(ns2.MISSING, file=sys.stderr)
        return 3
    print(data_file.line(COLUMNS))
    found = []
    for compared in compare():
        found.append(compared)
        print(data_file.line(compared.row()), flush=True)
    if given.figure is not None:
        plot.save(draw(found), given.figure)
    return 0 if all(c.explained for c in found) else 1


if __name__ == "__main__":
    sys.exit(main())
