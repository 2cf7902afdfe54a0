"""Packet-delivery traces of mahimahi, with the semantics of `mm-link`.

Source: mahimahi, `link_queue.cc` and the manual page of `mm-link`: each line is a whole number of
milliseconds since the start, at which one packet of 1504 bytes can leave. A number that appears on several
lines allows as many packets. After its last line the file repeats, so that line is also the period.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

from bentpipe import _core
from bentpipe.foreign import MOST_LINES, check_count, digits, quoted, refuse, text

OPPORTUNITY_BYTES = 1504
"""The bytes of one opportunity: an Ethernet frame's payload with the 4 bytes of a tunnel device's head."""

MOST_OPPORTUNITIES = 32_000_000
"""Of a trace: an hour at 100 Mbit/s. Each takes eight bytes, where a line of other formats takes hundreds."""


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
    for number, line in enumerate(_lines(whole), 1):
        word = digits(path, number, line, "whole number of milliseconds", first=not found)
        if len(word.lstrip("0")) > 10:
            refuse(path, number, f"{quoted(word)} ms are more than a hundred days")
        instant = int(word)
        if found and instant < found[-1]:
            refuse(path, number, f"the time goes back: {instant} ms after {found[-1]} ms")
        found.append(instant)
    if found[-1] == 0:
        refuse(path, len(found), "the trace lasts 0 ms; its last line is its period")
    return np.asarray(found, dtype=np.int64)


def _lines(whole: str) -> Iterator[str]:
    """The lines of a text, one at a time: a list of all would take thirty times as much memory."""
    at = 0
    while at < len(whole):
        end = whole.find("\n", at)
        end = len(whole) if end < 0 else end
        yield whole[at:end]
        at = end + 1
