"""The window that a flow has at a given loss rate, beside the closed forms of the literature.

    python python/tests/witness/closed_forms.py           # prints the table
    python python/tests/witness/closed_forms.py --write   # puts it into docs/validation.md, draws the figure
    python python/tests/witness/closed_forms.py --check   # are all curves in docs/validation.md?

Most closed forms are derived for a loss every 1/p packets, some for independent losses; both are run. What
lies between a form and a real sender is in `loss_rules.py`, which predicts the same window from the rules.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import loss_rules
import numpy as np

import bentpipe as bp
from bentpipe.analysis import highspeed, response, spectrum
from bentpipe.stats import Mean, mean

DOCS = Path(__file__).parents[3] / "docs"
PAGE = DOCS / "validation.md"
FIGURE = DOCS / "closed-forms.svg"
BEGIN = "<!-- closed forms: written by python/tests/witness/closed_forms.py -->"
END = "<!-- closed forms: end -->"

MSS = 1460
RTT = 0.5
SHORT_RTT = 0.01
LOSS_RATES = (2e-5, 1e-4, 1e-3, 3e-3, 1e-2)
SEEDS = 5
MOST = 1_500_000
"""Packets that a run measures, at most, if that is not fewer than 60 losses."""
TOLERANCE = 0.10

Form = Callable[[float], float]


@dataclass(frozen=True)
class Curve:
    """A controller, the rule that it is said to follow, and the closed forms for it.

    `periodic` and `random` give the mean window for `p` loss events per packet; None if there is no form.
    `memory` is the number of losses after which a wrong window has shrunk to 1/e of its error. `start` is the
    first window over the expected one: not 1, so that the flow has to find its window.
    """

    label: str
    cc: dict[str, Any]
    rule: loss_rules.Rule
    periodic: Form
    random: Form | None
    memory: Callable[[float], float]
    rtt: float = RTT
    start: float = 1.1
    least: float = 0.0

    @property
    def name(self) -> str:
        """The name in tables: the controller's label, and the round-trip time if it matters."""
        return self.label if self.cc["name"] != "cubic" else f"{self.label}, {self.rtt * 1e3:.0f} ms"


def _simd_periodic(p: float) -> float:
    """SIMD makes Reno's window under random losses; if they are periodic its c is Gamma(3) = 2 too small."""
    return float(response.mathis(p, 1.0)) / float(spectrum.gamma_factor(-0.5)) ** 0.25


def _binomial_memory(k: float, l: float, beta: float) -> Callable[[float], float]:  # noqa: E741
    """A loss takes beta w^l, growth gives as much: an error falls by the share (k+l+1) beta w^(l-1)."""
    return lambda w: w ** (1 - l) / ((k + l + 1) * beta)


CUBIC = {"name": "cubic", "fast_convergence": False}
CURVES = (
    Curve(
        "Reno",
        {"name": "reno"},
        loss_rules.Binomial(1.0, 0.5),
        lambda p: response.mathis(p, 1.0),
        lambda p: response.aimd_window_random(p),
        _binomial_memory(0, 1, 0.5),
    ),
    Curve(
        "AIMD(1/5, 1/8)",
        {"name": "aimd"},
        loss_rules.Binomial(0.2, 0.125),
        lambda p: response.aimd_window(p, 0.2, 0.125),
        lambda p: response.aimd_window_random(p, 0.2, 0.125),
        _binomial_memory(0, 1, 0.125),
    ),
    Curve(
        "IIAD(1, 2/3)",
        {"name": "iiad"},
        loss_rules.Binomial(1.0, 2 / 3, 1.0, 0.0),
        lambda p: response.binomial_window(p, 1.0, 2 / 3, 1.0, 0.0),
        lambda p: response.binomial_window(p, 1.0, 2 / 3, 1.0, 0.0),
        _binomial_memory(1, 0, 2 / 3),
        least=1e-4,
    ),
    Curve(
        "SQRT(1, 2/3)",
        {"name": "sqrt"},
        loss_rules.Binomial(1.0, 2 / 3, 0.5, 0.5),
        lambda p: response.binomial_window(p, 1.0, 2 / 3, 0.5, 0.5),
        lambda p: response.binomial_window(p, 1.0, 2 / 3, 0.5, 0.5),
        _binomial_memory(0.5, 0.5, 2 / 3),
    ),
    Curve(
        "SIMD(1/16)",
        {"name": "simd"},
        loss_rules.Simd(),
        _simd_periodic,
        lambda p: response.mathis(p, 1.0),
        lambda w: 8.0,
    ),
    Curve(
        "Scalable",
        {"name": "scalable"},
        loss_rules.Scalable(),
        highspeed.scalable_window,
        highspeed.scalable_window,
        lambda w: 8.0,
    ),
    Curve(
        "HighSpeed",
        {"name": "highspeed"},
        loss_rules.HighSpeed(),
        highspeed.hstcp_window,
        None,
        lambda w: 8.0,
    ),
    Curve(
        "CUBIC",
        CUBIC,
        loss_rules.Cubic(RTT, friendly=False),
        lambda p: highspeed.cubic_window(p, RTT),
        None,
        lambda w: 12.0,
        # Its window is only neutrally stable under periodic losses: it stays where it begins.
        start=1.0,
    ),
    Curve(
        "CUBIC",
        CUBIC,
        loss_rules.Cubic(SHORT_RTT, friendly=True),
        lambda p: highspeed.cubic_window(p, SHORT_RTT, reno=response.RENO),
        None,
        lambda w: 8.0,
        SHORT_RTT,
    ),
)


@dataclass(frozen=True)
class Point:
    """One curve at one loss rate: measured, expected by the closed form, and by the rules."""

    curve: Curve
    p: float
    periodic: float
    periodic_form: float
    periodic_rules: float
    random: Mean
    random_form: float | None
    random_rules: float
    timeouts: float
    """Per 100 random losses."""

    def differences(self) -> dict[str, float | None]:
        """Measured over expected, less 1; None where there is no form."""
        return {
            "periodic, form": self.periodic / self.periodic_form - 1,
            "periodic, rules": self.periodic / self.periodic_rules - 1,
            "random, form": None if self.random_form is None else self.random.mean / self.random_form - 1,
            "random, rules": self.random.mean / self.random_rules - 1,
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
            yield from (point(curve, p, seeds, Path(folder)) for p in rates if p >= curve.least)


def point(curve: Curve, p: float, seeds: int, folder: Path) -> Point:
    """One curve at one loss rate."""
    form = float(curve.periodic(p))
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
    if flows[0]["timeouts"] or max(flow["rtt_mean_s"] for flow in flows) > 1.01 * curve.rtt:
        raise RuntimeError(f"{curve.name} at {p:g}: the assumptions do not hold: {flows[0]}")
    random = mean(window for window, _, _ in found[1:])
    # What was lost in these runs, rather than what may be expected: n losses stray by 1 / sqrt(n).
    rate = sum(lost for _, lost, _ in found[1:]) / sum(sent for _, _, sent in found[1:])
    # The forms take loss events per packet: what is lost within a window of a loss is the same event.
    events = rate / (1 + rate * random.mean)
    return Point(
        curve,
        p,
        found[0][0],
        form,
        rules,
        random,
        None if curve.random is None else float(curve.random(events)),
        loss_rules.random(curve.rule, rate, expected),
        100
        * sum(flow["timeouts"] for flow in flows[1:])
        / sum(flow["dropped_packets"] for flow in flows[1:]),
    )


HEADER = """\
| controller | p | periodic | form | difference | rules | difference | random | form | difference | rules \
| difference | timeouts |
|---|---|---|---|---|---|---|---|---|---|---|---|---|"""


def row(found: Point) -> str:
    """One line of the table."""
    off = found.differences()

    def difference(key: str) -> str:
        value = off[key]
        if value is None:
            return ""
        return f"**{value:+.1%}**" if abs(value) > TOLERANCE else f"{value:+.1%}"

    cells = [
        found.curve.name,
        f"{found.p:g}",
        window(found.periodic),
        window(found.periodic_form),
        difference("periodic, form"),
        window(found.periodic_rules),
        difference("periodic, rules"),
        f"{window(found.random.mean)} ± {found.random.half_width:.2g}",
        "" if found.random_form is None else window(found.random_form),
        difference("random, form"),
        window(found.random_rules),
        difference("random, rules"),
        f"{found.timeouts:.1f}",
    ]
    return f"| {' | '.join(cells)} |"


def window(segments: float) -> str:
    """A window to four digits."""
    return f"{segments:.0f}" if segments >= 1000 else f"{segments:.4g}"


def draw(points: Sequence[Point]) -> None:
    """Measured windows as points over the closed forms as lines: periodic losses left, random ones right."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    style = {"svg.hashsalt": "bentpipe", "svg.fonttype": "none", "font.size": 8}
    with mpl.rc_context(style):
        figure = Figure(figsize=(7.8, 4.0), layout="constrained", facecolor="white")
        axes = figure.subplots(1, 2, sharex=True, sharey=True)
        p = np.geomspace(min(LOSS_RATES), max(LOSS_RATES), 40)
        for curve in CURVES:
            mine = [found for found in points if found.curve is curve]
            look = bp.registry.style(curve.cc["name"])
            rates = [found.p for found in mine]
            hollow = "white" if curve.rtt == SHORT_RTT else look["colour"]
            marks = {"ls": "", "marker": look["marker"], "ms": 4.5, "mfc": hollow, "color": look["colour"]}
            seen = p[p >= curve.least * 0.999]
            axes[0].plot(seen, [curve.periodic(x) for x in seen], color=look["colour"], lw=0.8)
            axes[0].plot(rates, [found.periodic for found in mine], label=curve.name, **marks)
            if curve.random is not None:
                # The line is drawn over packets lost, not events: w = form(p / (1 + p w)), by iteration.
                axes[1].plot(
                    seen, [_random_form(curve.random, x) for x in seen], color=look["colour"], lw=0.8
                )
            means = [found.random.mean for found in mine]
            axes[1].errorbar(
                rates, means, [found.random.half_width for found in mine], elinewidth=0.8, capsize=2, **marks
            )
        for ax, title in zip(axes, ("a loss every 1/p packets", "independent losses"), strict=True):
            ax.set(xscale="log", yscale="log", xlabel="packets lost, p")
            ax.set_title(title, fontsize=8)
            ax.spines[["top", "right"]].set_visible(False)
            ax.grid(visible=True, alpha=0.25, lw=0.4)
        axes[0].set_ylabel("mean window in segments")
        figure.legend(loc="outside lower center", ncols=5, frameon=False, fontsize=7.5)
        figure.savefig(FIGURE, metadata={"Date": None, "Creator": None})


def _random_form(form: Form, p: float) -> float:
    w = float(form(p))
    for _ in range(50):
        w = float(form(p / (1 + p * w)))
    return w


def missing() -> list[str]:
    """Curves that the page does not show."""
    text = PAGE.read_text(encoding="utf-8")
    shown = text.partition(BEGIN)[2].partition(END)[0]
    wanted = [(curve, p) for curve in CURVES for p in LOSS_RATES if p >= curve.least]
    return [f"{curve.name} at {p:g}" for curve, p in wanted if f"\n| {curve.name} | {p:g} |" not in shown]


def main() -> int:
    """Prints or writes the table; 1 if the page lacks something."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write docs/validation.md and its figure")
    parser.add_argument(
        "--check", action="store_true", help="only ask whether docs/validation.md has all curves"
    )
    given = parser.parse_args()
    if given.check:
        for what in missing():
            print(f"docs/validation.md, closed forms: no row for {what}: run `make docs`", file=sys.stderr)
        return 1 if missing() else 0
    points, lines = [], HEADER.splitlines()
    print(HEADER)
    for found in measure():
        points.append(found)
        lines.append(row(found))
        print(lines[-1], flush=True)
    if not given.write:
        return 0
    head, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    tail = rest.partition(END)[2]
    PAGE.write_text("\n".join([head + BEGIN, "", *lines, "", END]) + tail, encoding="utf-8")
    draw(points)
    return 0


if __name__ == "__main__":
    sys.exit(main())
