"""Packet-delivery traces of mahimahi, with the semantics of `mm-link`, and LeoReplayer's, which add delays.

Source: mahimahi, `link_queue.cc` and the manual page of `mm-link`: each line is a whole number of
milliseconds since the start, at which one packet of 1504 bytes can leave. A number that appears on several
lines allows as many packets. After its last line the file repeats, so that line is also the period.

Source: SpaceNetLab/LeoCC at 867e673, `traces/README.md` (the files of a trace) and
`leoreplayer/replayer/src/frontend/delay_queue.cc` (how they are played). `bw_N.txt` is a packet-delivery
trace of mahimahi. Line i of `delay_N.txt` is the one-way delay in whole milliseconds in the i-th step, of 10
ms in the authors' examples. After its end each file begins again.
"""

from __future__ import annotations

import re
from array import array
from pathlib import Path

import numpy as np
import polars as pl

from bentpipe import _core
from bentpipe.io.foreign import MOST_LINES, check_count, digits, lines, quoted, refuse, text
from bentpipe.timeline.combine import join

OPPORTUNITY_BYTES = 1504
"""The bytes of one opportunity: an Ethernet frame's payload with the 4 bytes of a tunnel device's head."""

MOST_OPPORTUNITIES = 32_000_000
"""Of a trace: an hour at 100 Mbit/s. Each takes eight bytes, where a line of other formats takes hundreds."""
STEP_S = 0.01
"""A step of the delays, unless the caller gives another: the argument 10 of `mm-delay` in `run.sh`."""
_LONGEST_MS = 10_000


def read(path: Path, *, bin_s: float | None = None) -> pl.DataFrame:
    """A rate of a mahimahi trace: in each bin, 8 times 1504 bytes times its opportunities over its length.

    The last row is the end of the trace, so that `repeat = true` plays it as mahimahi does. The last bin may
    be shorter than the others.

    Args:
        path: the trace.
        bin_s: the length of a bin, a whole number of milliseconds.

    Raises:
        ScenarioError: no bin is given, or the file is not such a trace; the message names the line.
        OSError: it cannot be read.
    """
    if bin_s is None:
        raise _core.ScenarioError(
            f'{path}: a rate of a mahimahi trace needs bins, for example --bin "100 ms"; without them '
            f'link.NAME.opportunities = "{path}" in a scenario plays the trace packet by packet'
        )
    length = round(bin_s * 1000)
    if length < 1 or abs(bin_s * 1000 - length) > 1e-6:
        raise _core.ScenarioError(f"--bin {bin_s:g} s: a mahimahi trace counts whole milliseconds")
    instants = opportunities(path)
    period = int(instants[-1])
    check_count(path, period // length, MOST_LINES, "bins")
    edges = np.append(np.arange(0, period, length), period)
    # An opportunity at the end of the period is the last of it: the next round begins after it.
    counts, _ = np.histogram(np.where(instants == period, period - 1, instants), bins=edges)
    rates = counts * (8.0 * OPPORTUNITY_BYTES) / (np.diff(edges) / 1000)
    return pl.DataFrame({"t_s": edges / 1000, "rate_bps": np.append(rates, rates[-1])})


def opportunities(path: Path) -> np.ndarray:
    """The instants of a trace in milliseconds, in their order.

    Raises:
        ScenarioError: the file is empty, a line is not a whole number, times go back, or the trace lasts no
            time.
        OSError: it cannot be read.
    """
    found = array("q")
    whole = text(path)
    check_count(path, whole.count("\n"), MOST_OPPORTUNITIES, "lines")
    # One line at a time: a list of all would take thirty times as much memory.
    for number, line in enumerate(re.finditer(r"[^\n]*\n|[^\n]+", whole), 1):
        word = digits(path, number, line[0], "whole number of milliseconds", first=not found)
        if len(word.lstrip("0")) > 10:
            refuse(path, number, f"{quoted(word)} ms are more than a hundred days")
        instant = int(word)
        if found and instant < found[-1]:
            refuse(path, number, f"the time goes back: {instant} ms after {found[-1]} ms")
        found.append(instant)
    if found[-1] == 0:
        refuse(path, len(found), "the trace lasts 0 ms; its last line is its period")
    return np.asarray(found, dtype=np.int64)


def leoreplayer(path: Path, *, bin_s: float | None = None, interval_s: float | None = None) -> pl.DataFrame:
    """The delay of a file `delay_N.txt`; or delay and rate of a directory with `bw_N.txt` and `delay_N.txt`.

    A delay holds for its step, so the scenario needs `delay = "steps"`. The rate is that of `read`.
    The last row is the end: that of the delays, or that of the shorter file.

    Args:
        path: the file of delays, or the directory of one trace.
        bin_s: of a directory, the length of a bin of the rate, a whole number of milliseconds.
        interval_s: the step of the delays, a whole number of milliseconds; by default `STEP_S`.

    Raises:
        ScenarioError: a file is missing or no such trace, a delay is longer than 10 s, or a bin is missing or
            needless; the message names the line.
        OSError: it cannot be read.
    """
    step_ms = round(1000 * (STEP_S if interval_s is None else interval_s))
    if step_ms < 1 or (interval_s is not None and abs(interval_s * 1000 - step_ms) > 1e-6):
        raise _core.ScenarioError(f"--interval {interval_s:g} s: LeoReplayer counts whole milliseconds")
    if not path.is_dir():
        if bin_s is not None:
            raise _core.ScenarioError(
                f"--bin: {path} is a file of delays; the directory of a trace has a rate, too"
            )
        return _delays(path, step_ms)
    delays = _delays(_only(path, "delay_*.txt"), step_ms)
    rates = read(_only(path, "bw_*.txt"), bin_s=bin_s)
    end_s = min(delays["t_s"][-1], rates["t_s"][-1])
    both = join(rates, delays, delay="steps")
    before = both.filter(pl.col("t_s") < end_s)
    return before.vstack(before.tail(1).with_columns(t_s=pl.lit(end_s)))


def _delays(path: Path, step_ms: int) -> pl.DataFrame:
    found: list[int] = []
    for number, line in enumerate(lines(path), 1):
        word = digits(path, number, line, "delay in whole milliseconds", first=not found)
        if len(word.lstrip("0")) > 5 or int(word) > _LONGEST_MS:
            refuse(
                path, number,
                f"a delay of {quoted(word)} ms is longer than {_LONGEST_MS / 1000:g} s; for opportunities "
                "to send, give the directory that has them and the delays",
            )  # fmt: skip
        found.append(int(word))
    times = np.arange(len(found) + 1) * step_ms / 1000
    return pl.DataFrame({"t_s": times, "delay_s": np.array([*found, found[-1]]) / 1000})


def _only(place: Path, pattern: str) -> Path:
    """The file of this name in the directory of a trace."""
    found = sorted(place.glob(pattern))
    if len(found) != 1:
        raise _core.ScenarioError(
            f"{place}: it has {len(found) or 'no'} files {pattern}; the directory of a trace has one "
            "bw_N.txt and one delay_N.txt"
        )
    return found[0]
