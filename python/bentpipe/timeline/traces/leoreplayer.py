"""Traces of LeoReplayer: opportunities to send, and delays at fixed steps without a column of times.

Source: SpaceNetLab/LeoCC at 867e673, `traces/README.md` (the files of a trace) and
`leoreplayer/replayer/src/frontend/delay_queue.cc` (how they are played). `bw_N.txt` is a packet-delivery
trace of mahimahi. Line i of `delay_N.txt` is the one-way delay in whole milliseconds in the i-th step, of 10
ms in the authors' examples. After its end each file begins again.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from bentpipe import _core
from bentpipe.foreign import digits, lines, quoted, refuse
from bentpipe.timeline.combine import join
from bentpipe.timeline.traces import mahimahi

STEP_S = 0.01
"""A step of the delays, unless the caller gives another: the argument 10 of `mm-delay` in `run.sh`."""
_LONGEST_MS = 10_000


def read(path: Path, *, bin_s: float | None = None, interval_s: float | None = None) -> pl.DataFrame:
    """The delay of a file `delay_N.txt`; or delay and rate of a directory with `bw_N.txt` and `delay_N.txt`.

    A delay holds for its step, so the scenario needs `delay = "steps"`. The rate is that of `mahimahi.read`.
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
    rates = mahimahi.read(_only(path, "bw_*.txt"), bin_s=bin_s)
    end_s = min(delays["t_s"][-1], rates["t_s"][-1])
    both = join(rates, delays, delay="steps")
    return both.filter(pl.col("t_s") < end_s).vstack(_end(both, end_s))


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


def _end(frame: pl.DataFrame, end_s: float) -> pl.DataFrame:
    """The last row: the values just before the end, at the end."""
    return frame.filter(pl.col("t_s") < end_s).tail(1).with_columns(t_s=pl.lit(end_s))
