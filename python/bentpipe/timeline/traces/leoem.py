"""LeoEM's precomputed paths, as its emulator plays them.

Source: XuyangCaoUCSD/LeoEM at 4488b00, `emulation_stage/emulator.py`: `read_link_info` (the format) and
`update_precomputed_link` (handovers and how long they break the path). A line is a second: its number from
1, the nodes of the path, their count, the delay of each hop and their sum in seconds, with dollars between;
or number and NULL where there is no path.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from bentpipe.io.foreign import lines, quoted, refuse
from bentpipe.timeline.traces.samples import Samples

_STEP_S = 1.0
# The signalling of a handover takes three trips over the old and three over the new link of the dish.
_TRIPS = 3


@dataclass(frozen=True)
class _Second:
    nodes: list[int]
    hops_s: list[float]


def read(path: Path, *, gap_s: float | None = None) -> pl.DataFrame:
    """Delay, reach and handovers of a path, one row per second and one at the end of each break.

    A handover is a change of the nodes. Where the first or the last satellite changes, the path is dark for
    three times the delays of the old and the new link between it and its dish; of both ends the longer break
    counts.

    Raises:
        ScenarioError: a line is not such a second, a number is missing, or a delay is negative.
        OSError: it cannot be read.
    """
    samples = Samples(path)
    before: _Second | None = None
    for number, line in enumerate(lines(path), 1):
        words = line.split("$")
        if words[0].strip() != str(number):
            what = f"it should be {number}: each line is a second, counted from 1"
            begins = f"the line begins with {quoted(words[0])}; " if number > 1 else ""
            refuse(path, number, f"{begins}{what}")
        begin = (number - 1) * _STEP_S
        if len(words) < 5:
            if len(words) != 2 or words[1].strip() != "NULL":
                refuse(path, number, "a second without a path ends in $NULL, one with a path has five parts")
            samples.add(number, begin, delay_s=None, up=False, handover=before is not None)
            before = None
            continue
        now, delay_s = _second(path, number, words)
        broken = _break_s(before, now) if number > 1 else 0.0
        moved = number > 1 and before is not None and before.nodes != now.nodes
        samples.add(number, begin, delay_s=delay_s, up=broken == 0, handover=moved)
        if broken:
            samples.add(
                number, begin + min(broken, 0.999 * _STEP_S), delay_s=delay_s, up=True, handover=False
            )
        before = now
    return samples.frame(gap_s)


def _second(path: Path, number: int, words: list[str]) -> tuple[_Second, float]:
    try:
        nodes, hops_s = json.loads(words[1]), [float(hop) for hop in json.loads(words[3])]
        count, delay_s = int(words[2]), float(words[4])
    except (ValueError, TypeError):
        refuse(path, number, "the parts of a second are: number, [nodes], count, [delays], sum of the delays")
    if not isinstance(nodes, list) or count != len(nodes) or len(hops_s) != count - 1 or count < 3:
        refuse(path, number, f"{count} nodes are announced, {len(nodes)} stand there with {len(hops_s)} hops")
    if abs(sum(hops_s) - delay_s) > 1e-9:
        refuse(
            path, number, f"the delays of the hops are {sum(hops_s):.9g} s, their sum says {delay_s:.9g} s"
        )
    return _Second(nodes, hops_s), delay_s


def _break_s(before: _Second | None, now: _Second) -> float:
    if before is None:
        return _TRIPS * max(now.hops_s[0], now.hops_s[-1])
    first = _TRIPS * (before.hops_s[0] + now.hops_s[0]) if before.nodes[1] != now.nodes[1] else 0.0
    last = _TRIPS * (before.hops_s[-1] + now.hops_s[-1]) if before.nodes[-2] != now.nodes[-2] else 0.0
    return max(first, last)
