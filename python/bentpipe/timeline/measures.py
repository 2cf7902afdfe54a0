"""A time line in a few numbers, and on the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from bentpipe import terminal, units
from bentpipe.document.spans import merged
from bentpipe.timeline.drawn import is_drawn
from bentpipe.timeline.format import check, complete, handovers, read

_BARS = "\u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588"
_WIDTH = 48


def summary(frame: pl.DataFrame) -> dict[str, Any]:
    """A summary of a time line, for display and as JSON.

    Returns:
        `rows`; `duration_s`, the time of the last row; `handovers`, their number; `outages`, `dark_s`,
        `longest_outage_s` if there is a column `up` (an outage at the end counts up to the last row); and for
        each of `rate_bps`, `delay_s`, `loss_rate` that is there, `least`, `mean` (over time) and `most`.

    Raises:
        ScenarioError: it is not a time line.
    """
    check(frame)
    whole = complete(frame)
    found: dict[str, Any] = {
        "rows": whole.height,
        "duration_s": whole["t_s"][-1],
        "handovers": len(handovers(whole)),
    }
    if "up" in whole.columns:
        lengths = [end - begin for begin, end in outages(whole)]
        found |= {
            "outages": len(lengths),
            "dark_s": sum(lengths),
            "longest_outage_s": max(lengths, default=0.0),
        }
    for name in ("rate_bps", "delay_s", "loss_rate"):
        if name in whole.columns:
            column = whole[name]
            found[name] = {"least": column.min(), "mean": mean(whole, name), "most": column.max()}
    return found


def show(title: str, frame: pl.DataFrame, found: dict[str, Any]) -> None:
    """Prints `summary`'s result, and beside each quantity its mean in 48 slots of time as bars from 0."""
    whole = complete(frame)
    shown = terminal.table(terminal.plain(title), ["<", "least", "mean", "most", "<over time"])
    for name, label, text in (
        ("rate_bps", "rate", units.rate),
        ("delay_s", "delay", lambda value: f"{units.milliseconds(value)} ms"),
        ("loss_rate", "loss", lambda value: f"{units.digits(100 * value, 3)} %"),
    ):
        if name in found:
            values = (text(found[name][key]) for key in ("least", "mean", "most"))
            shown.add_row(label, *values, course(whole, name))
    if "up" in whole.columns:
        share = found["dark_s"] / found["duration_s"] if found["duration_s"] else 0.0
        shown.add_row("up", "", f"{units.percent(1 - share, 2)} %", "", course(whole, "up"))
    terminal.console().print(shown)
    words = [f"{found['rows']:,} rows over {found['duration_s']:g} s", f"{found['handovers']:,} handovers"]
    if "outages" in found:
        longest = f", the longest {found['longest_outage_s']:.3g} s" if found["outages"] else ""
        words.append(f"{found['outages']:,} outages{longest}")
    terminal.line("; ".join(words))


def course(frame: pl.DataFrame, name: str) -> str:
    """The mean of a column in each slot of time as bars, from 0 to its greatest; blank where it is 0."""
    times = frame["t_s"].to_numpy()
    values = frame[name].cast(pl.Float64).to_numpy()
    if times[-1] == 0:
        return ""
    edges = np.linspace(0, times[-1], _WIDTH + 1)
    whole = np.concatenate([[0.0], np.cumsum(values[:-1] * np.diff(times))])
    means = np.diff(np.interp(edges, times, whole)) / np.diff(edges)
    top = means.max()
    if top <= 0:
        return " " * _WIDTH
    return "".join(
        " " if mean <= 1e-12 * top else _BARS[min(int(len(_BARS) * mean / top), len(_BARS) - 1)]
        for mean in means
    )


def outages(frame: pl.DataFrame) -> list[tuple[float, float]]:
    """The times in which the path is dark: begin and end in seconds. The last row ends an open one."""
    whole = complete(frame)
    if "up" not in whole.columns:
        return []
    times = whole["t_s"].to_list()
    rows = zip(times, [*times[1:], times[-1]], whole["up"], strict=True)
    return merged((begin, end) for begin, end, up in rows if not up)


def lasts(line: str | Path | Mapping[str, Any]) -> float | None:
    """The time that a link's time line lasts from a run's start, seconds; None if it repeats or is drawn.

    Args:
        line: `Link.timeline`: a file, a table with `file`, `offset` and `repeat`, or a line that is drawn.

    Raises:
        ScenarioError: the file is not a time line.
        OSError: it cannot be read.
    """
    table = line if isinstance(line, Mapping) else {"file": line}
    if table.get("repeat") or is_drawn(table):
        return None
    end_s = float(_read_once(Path(str(table["file"])))["t_s"][-1])
    return end_s - (units.seconds(str(table["offset"]), "offset") if "offset" in table else 0.0)


def nominal(path: str | Path) -> dict[str, str]:
    """The means over time of a time line's rate and delay, as a link's `nominal` has them.

    Empty for quantities that the file lacks: a bandwidth-delay product then is that of the link's own values.

    Raises:
        ScenarioError: it is not a time line.
        OSError: it cannot be read.
    """
    frame = _read_once(Path(path))
    found = {}
    if "rate_bps" in frame.columns and (rate := mean(frame, "rate_bps")) > 0:
        found["rate"] = f"{rate:.0f} bit/s"
    if "delay_s" in frame.columns:
        found["delay"] = f"{mean(frame, 'delay_s') * 1e9:.0f} ns"
    return found


def _read_once(path: Path) -> pl.DataFrame:
    """A time line, cached because each of many runs needs it; a file that has changed is read again."""
    return _as_it_was(path, path.stat().st_mtime_ns if path.exists() else 0)


@lru_cache(maxsize=16)
def _as_it_was(path: Path, _changed_ns: int) -> pl.DataFrame:
    return read(path)


def mean(frame: pl.DataFrame, name: str) -> float:
    """The mean over time: of delays along straight lines, of others in steps."""
    values, times = frame[name].to_numpy(), frame["t_s"].to_numpy()
    if len(values) == 1:
        return float(values[0])
    middle = (values[1:] + values[:-1]) / 2 if name == "delay_s" else values[:-1]
    return float(np.sum(middle * np.diff(times)) / times[-1])
