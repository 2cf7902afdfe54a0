"""The window that a flow has at a given loss rate, beside the closed forms of the literature.

    python python/tests/witness/closed_forms.py [--figure FILE]   # prints docs/validation/closed-forms.csv
    python python/tests/witness/closed_forms.py --check           # are all curves in that file?

`scripts/validate.py closed-forms` writes that file, its summary in docs/validation.md, and the figure.

Most closed forms are derived for a loss every 1/p packets, some for independent losses; both are run. What
lies between a form and a real sender is in `loss_rules.py`, which predicts the same window from the rules.
"""

from __future__ import annotations

import argparse
import csv
import math
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import data_file
import loss_rules
from response_curves import CURVES, LOSS_RATES, Curve

import bentpipe as bp
from bentpipe.stats import Interval, interval

DOCS = Path(__file__).parents[3] / "docs"
STORED = DOCS / "validation" / "closed-forms.csv"

MSS = 1460
SEEDS = 5
MOST = 1_500_000
"""Packets that a run measures, at most, if that is not fewer than 60 losses."""
TOLERANCE = 0.10


@dataclass(frozen=True)
class Point:
    """One curve at one loss rate: measured, expected by the closed form, and by the rules."""

    curve: Curve
    p: float
    periodic: float
    periodic_form: float
    periodic_rules: float | None
    random: Interval
    random_form: float | None
    random_rules: float | None
    timeouts: float
    """Per 100 random losses."""

    def differences(self) -> dict[str, float | None]:
        """Measured over expected, less 1; None where there is no form."""

        def off(found: float, expected: float | None) -> float | None:
            return None if expected is None else found / expected - 1

        return {
            "periodic, form": off(self.periodic, self.periodic_form),
            "periodic, rules": off(self.periodic, self.periodic_rules),
            "random, form": off(self.random.centre, self.random_form),
            "random, rules": off(self.random.centre, self.random_rules),
        }


@dataclass(frozen=True)
class Plan:
    """A run, and the share of it at its beginning that is left out."""

    scenario: bp.Scenario
    rtt: float
    warm: float


def plan(curve: Curve, loss: Any, p: float, window: float, first: float, seed: int) -> Plan:
    """One flow whose window nothing limits but losses, from the window `first` on, about to be `window`."""
    warm = 3 * curve.memory(window)
    losses = warm + measured(p)
    duration = losses * (1 / (p * window) + 1) * curve.rtt
    # The link takes 0.12 us for a packet: windows of thousands do not lengthen the round trip by 1 per mille.
    link = bp.Link(
        rate="100 Gbit/s",
        delay=f"{curve.rtt / 2 * 1e3:g} ms",
        queue=bp.DropTail("100000 packets"),
        loss=loss,
    )
    flow = bp.Flow(
        curve.cc,
        path=["sat"],
        profile="paper",
        mss=f"{MSS} bytes",
        initial_window=max(round(first), 2),
        initial_ssthresh=2,
    )
    return Plan(
        bp.Scenario(
            links={"sat": link},
            flows=[flow],
            duration=f"{duration:.3f} s",
            seed=seed,
            record=bp.Record(f"{duration / 50:.6f} s", flows=True, links=True),
        ),
        curve.rtt,
        warm / losses,
    )


def measured(p: float) -> float:
    """Losses of a run that are measured: 300, or as many as there are in `MOST` packets, but 60."""
    return max(60.0, min(300.0, MOST * p))


def mean_window(planned: Plan, result: bp.Result) -> tuple[float, float, float]:
    """After the beginning: segments delivered per round trip; packets lost, and packets sent."""
    seconds = result.trace["t_s"].to_numpy()
    segments = result.trace["delivered_bytes"].to_numpy() / MSS
    first = math.ceil(planned.warm * (len(seconds) - 1))
    link = result.link_trace.filter(result.link_trace["link"] == "sat/forward")
    lost, arrived = (
        float(link[name][-1]) - float(link[name][first]) for name in ("dropped_packets", "delivered_packets")
    )
    per_second = (segments[-1] - segments[first]) / (seconds[-1] - seconds[first])
    return float(per_second * planned.rtt), lost, lost + arrived


def measure(
    curves: Sequence[Curve] = CURVES, rates: Sequence[float] = LOSS_RATES, seeds: int = SEEDS
) -> Iterator[Point]:
    """Every curve at every loss rate."""
    with tempfile.TemporaryDirectory(prefix="bentpipe-closed-forms-") as folder:
        for curve in curves:
            yield from (point(curve, p, seeds, Path(folder)) for p in curve.rates(tuple(rates)))


def point(curve: Curve, p: float, seeds: int, folder: Path) -> Point:
    """One curve at one loss rate."""
    form = float(curve.periodic(p))
    # Without a rule the flow begins at the form.
    rules, before, expected = form, form, form
    if curve.rule is not None:
        rules, before = loss_rules.periodic(curve.rule, p, form)
        expected = loss_rules.random(curve.rule, p, form, chains=20)
    first = curve.start * before
    # The first loss comes with the first window, all others 1/p packets apart.
    every = round(1 / p)
    losses = int(4 * curve.memory(form) + 2 * measured(p)) + 20
    trace = folder / "losses"
    trace.write_text("\n".join(str(round(first) + every * i) for i in range(losses)))
    plans = [plan(curve, bp.LossTrace(str(trace)), p, rules, first, 1)]
    plans += [
        plan(curve, bp.PacketError(p), p, expected, curve.start * expected, seed)
        for seed in range(1, seeds + 1)
    ]
    results = bp.run_many([planned.scenario for planned in plans])
    found = [mean_window(planned, result) for planned, result in zip(plans, results, strict=True)]
    flows = [result.json["flows"][0] for result in results]
    if (
        flows[0]["timeouts"] > flows[0]["dropped_packets"] / 200
        or max(flow["rtt_mean_s"] for flow in flows) > 1.01 * curve.rtt
    ):
        raise RuntimeError(f"{curve.name} at {p:g}: the assumptions do not hold: {flows[0]}")
    random = interval(window for window, _, _ in found[1:])
    # What was lost in these runs, rather than what may be expected: n losses stray by 1 / sqrt(n).
    rate = sum(lost for _, lost, _ in found[1:]) / sum(sent for _, _, sent in found[1:])
    # The forms take loss events per packet: what is lost within a window of a loss is the same event.
    events = rate / (1 + rate * random.centre)
    return Point(
        curve,
        p,
        found[0][0],
        form,
        None if curve.rule is None else rules,
        random,
        None if curve.random is None else float(curve.random(events)),
        None if curve.rule is None else loss_rules.random(curve.rule, rate, expected),
        100
        * sum(flow["timeouts"] for flow in flows[1:])
        / sum(flow["dropped_packets"] for flow in flows[1:]),
    )


COLUMNS = """
controller loss_rate
periodic_window_segments periodic_form_segments periodic_form_difference_percent
periodic_rules_segments periodic_rules_difference_percent
random_window_segments random_window_half_interval_segments
random_form_segments random_form_difference_percent random_rules_segments random_rules_difference_percent
timeouts_per_100_losses
""".split()
"""Of the data file. The half interval is that of 95 % confidence."""


def row(found: Point) -> list[str]:
    """One row of the data file."""
    off = found.differences()

    def difference(key: str) -> str:
        value = off[key]
        return "" if value is None else data_file.percent(value)

    return [
        found.curve.name,
        f"{found.p:g}",
        window(found.periodic),
        window(found.periodic_form),
        difference("periodic, form"),
        window(found.periodic_rules),
        difference("periodic, rules"),
        window(found.random.centre),
        f"{found.random.half_width:.2g}",
        window(found.random_form),
        difference("random, form"),
        window(found.random_rules),
        difference("random, rules"),
        f"{found.timeouts:.1f}",
    ]


def window(segments: float | None) -> str:
    """A window to four digits."""
    if segments is None:
        return ""
    return f"{segments:.0f}" if segments >= 1000 else f"{segments:.4g}"


def draw(points: Sequence[Point], file: Path) -> None:
    """Measured over expected, a panel for each curve: periodic and random losses, and the tolerated band."""
    from matplotlib.figure import Figure

    from bentpipe.plot.looks import PAGE, fixed, write

    with fixed(PAGE):
        rows = -(-len(CURVES) // PANELS_A_LINE)
        figure = Figure(figsize=(8.6, 1.55 * rows + 0.5), layout="constrained", facecolor="white")
        axes = figure.subplots(rows, PANELS_A_LINE, sharex=True, sharey=True)
        for ax, curve in zip(axes.flat, CURVES, strict=False):
            _panel(ax, curve, [found for found in points if found.curve is curve])
        for ax in axes.flat[len(CURVES) :]:
            ax.set_axis_off()
        # The panels above the empty places are the last of their columns.
        for ax in axes.flat[len(CURVES) - PANELS_A_LINE : len(CURVES)]:
            ax.tick_params(labelbottom=True)
        figure.supxlabel("share of packets lost, p", fontsize=8)
        figure.supylabel("mean window, measured over closed form, less 1", fontsize=8)
        handles, labels = axes.flat[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=3, frameon=False, fontsize=8)
        write(figure, file)


PANELS_A_LINE = 5
"""Of the figure."""


def _panel(ax: Any, curve: Curve, mine: Sequence[Point]) -> None:
    """One curve."""
    colour = bp.registry.style(curve.cc["name"])["colour"]
    low, high = -0.32, 0.17
    ax.axhspan(-TOLERANCE, TOLERANCE, color="0.92", lw=0, label="tolerated")
    ax.axhline(0, color="0.4", lw=0.6)
    for kind, shift, fill in (("periodic", 0.93, colour), ("random", 1.08, "white")):
        shown = [(found, found.differences()[f"{kind}, form"]) for found in mine]
        kept = [(found, off) for found, off in shown if off is not None]
        if not kept:
            continue
        rates = [found.p * shift for found, _ in kept]
        bars = None
        if kind == "random":
            bars = [found.random.half_width / found.random.centre * (1 + off) for found, off in kept]
        label = "a loss every 1/p packets" if kind == "periodic" else "independent losses, 95 % interval"
        ax.errorbar(
            rates, [off for _, off in kept], bars, ls="", marker="o", ms=4, color=colour, mfc=fill,
            elinewidth=0.8, capsize=1.5, label=label,
        )  # fmt: skip
    ax.set(xscale="log", xlim=(1.2e-5, 1.7e-2), ylim=(low, high), yticks=[-0.2, -0.1, 0, 0.1])
    ax.set_yticklabels(["-20 %", "-10 %", "0", "10 %"])
    ax.set_xticks([1e-4, 1e-2])
    ax.minorticks_off()
    ax.set_title(curve.name, fontsize=8)


def missing() -> list[str]:
    """Curves that the stored file does not have."""
    with STORED.open(encoding="utf-8", newline="") as file:
        shown = {(row["controller"], row["loss_rate"]) for row in csv.DictReader(file)}
    wanted = [(curve.name, f"{p:g}") for curve in CURVES for p in curve.rates()]
    return [f"{name} at {p}" for name, p in wanted if (name, p) not in shown]


def main() -> int:
    """Prints the rows and draws the figure; 1 if the stored file lacks something."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--figure", type=Path, help="draw the comparison into this SVG file")
    parser.add_argument(
        "--check", action="store_true", help="only ask whether the stored file has all curves"
    )
    given = parser.parse_args()
    if given.check:
        for what in missing():
            print(f"{STORED.name}: no row for {what}: run scripts/validate.py closed-forms", file=sys.stderr)
        return 1 if missing() else 0
    points = []
    print(data_file.line(COLUMNS))
    for found in measure():
        points.append(found)
        print(data_file.line(row(found)), flush=True)
    if given.figure is not None:
        draw(points, given.figure)
    return 0


if __name__ == "__main__":
    sys.exit(main())
