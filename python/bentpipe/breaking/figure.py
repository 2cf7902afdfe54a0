"""The figure of a failure over time: what arrives, windows and the queue, beside the yardstick's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bentpipe.breaking.conditions import LINK
from bentpipe.breaking.mechanism import Seen, flows
from bentpipe.breaking.observation import Trace, outages, rates, seconds
from bentpipe.breaking.trials import Pair
from bentpipe.plot import rates as arrivals
from bentpipe.plot.drawing import Drawing, blank, note
from bentpipe.plot.looks import HEIGHT, look, size, styled
from bentpipe.result import Result

_DOWN = "#f2dede"
"""The colour of times without a path."""


def figure(
    pair: Pair,
    scenario: Mapping[str, Any],
    traces: Mapping[str, Mapping[str, Trace]],
    results: Mapping[str, Result],
    words: str,
) -> Drawing:
    """Draws a failure.

    Args:
        pair: the goal, the algorithm and the yardstick.
        scenario: that of the algorithm.
        traces: of the flows of each run, by the names of `Goal.scenarios`.
        results: of these runs, which recorded links.
        words: what goes below it.
    """
    end = seconds(scenario["duration"])
    window = max(1.0, end / 40)
    styles = _styles(pair, shown := flows(pair, traces))
    with styled():
        fig = blank(size().width, 2.1 * HEIGHT)
        top, middle, bottom = fig.subplots(3, 1, sharex=True)
        steps = rates(scenario)
        top.fill_between(
            [*steps, end], [*(bps / 1e6 for bps in steps.values()), list(steps.values())[-1] / 1e6],
            step="post", color="0.9", linewidth=0, zorder=0,
        )  # fmt: skip
        queues = {flow.role: style for flow, style in zip(shown, styles, strict=True)}
        for flow, style in zip(shown, styles, strict=True):
            mean = arrivals.means(arrivals.arrivals(results[flow.role])[flow.flow], window)
            top.plot(mean["t_s"], mean["goodput_bps"] / 1e6, **style)
            middle.plot(flow.t, flow.trace["cwnd"], drawstyle="steps-post", **style)
        for role, style in queues.items():
            rows = results[role].link_trace
            rows = rows.filter(rows["link"].cast(str) == f"{LINK}/forward")
            alone = {} if len(queues) > 1 else {"color": "0.3", "linestyle": "-"}
            bottom.plot(rows["t_s"], rows["queue_packets"], drawstyle="steps-post", **(style | alone))
        for axes, label in (
            (top, "goodput, Mbit/s"),
            (middle, "window, segments"),
            (bottom, "queue, packets"),
        ):
            for begin, stop in outages(scenario, end):
                axes.axvspan(begin, stop, color=_DOWN, linewidth=0, zorder=0)
            axes.set(ylabel=label, ylim=(0, None), xmargin=0)
        bottom.set_xlabel("time, s")
        fig.align_ylabels()
        fig.legend(*top.get_legend_handles_labels(), loc="outside upper center", ncols=2)
        away = "; red: no path" if outages(scenario, end) else ""
        note(
            fig,
            f"{words}; n = 1 (seed {scenario['seed']}); means over {window:.3g} s; "
            f"grey: the link's rate{away}",
        )
    return fig


def _styles(pair: Pair, shown: list[Seen]) -> list[dict[str, Any]]:
    """The look of each flow; two of one algorithm differ in their dashes."""
    subject, yardstick = (
        one.cc if isinstance(one.cc, str) else one.cc["name"] for one in (pair.subject, pair.yardstick)
    )
    ccs = {"starve": [subject] * 2, "attack": [subject] * 2, "harm": [yardstick] * 2}.get(
        pair.goal.name, [subject, yardstick]
    )
    same = ccs[0] == ccs[1]
    return [
        {**look(cc, flow.label, nth if same else 0), "marker": ""}
        for nth, (cc, flow) in enumerate(zip(ccs, shown, strict=True))
    ]
