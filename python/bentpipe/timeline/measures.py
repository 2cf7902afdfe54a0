"""A time line in a few numbers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from bentpipe.drawn.lines import is_recipe
from bentpipe.timeline.format import check, complete, handovers, read
from bentpipe.units import seconds


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
            found[name] = {"least": column.min(), "mean": _mean(whole, name), "most": column.max()}
    return found


def outages(frame: pl.DataFrame) -> list[tuple[float, float]]:
    """The times in which the path is dark: begin and end in seconds. The last row ends an open one."""
    whole = complete(frame)
    if "up" not in whole.columns:
        return []
    found: list[tuple[float, float]] = []
    begin = None
    for now, up in whole.select("t_s", "up").iter_rows():
        if not up and begin is None:
            begin = now
        elif up and begin is not None:
            found.append((begin, now))
            begin = None
    if begin is not None:
        found.append((begin, whole["t_s"][-1]))
    return found


def lasts(line: str | Path | Mapping[str, Any]) -> float | None:
    """The time that a link's time line lasts from a run's start, seconds; None if it repeats or is drawn.

    Args:
        line: `Link.timeline`: a file, a table with `file`, `offset` and `repeat`, or a recipe.

    Raises:
        ScenarioError: the file is not a time line.
        OSError: it cannot be read.
    """
    table = line if isinstance(line, Mapping) else {"file": line}
    if table.get("repeat") or is_recipe(table):
        return None
    end_s = float(_read_once(Path(str(table["file"])))["t_s"][-1])
    return end_s - (seconds(str(table["offset"]), "offset") if "offset" in table else 0.0)


def nominal(path: str | Path) -> dict[str, str]:
    """The means over time of a time line's rate and delay, as a link's `nominal` has them.

    Empty for quantities that the file lacks: a bandwidth-delay product then is that of the link's own values.

    Raises:
        ScenarioError: it is not a time line.
        OSError: it cannot be read.
    """
    frame = _read_once(Path(path))
    found = {}
    if "rate_bps" in frame.columns and (rate := _mean(frame, "rate_bps")) > 0:
        found["rate"] = f"{rate:.0f} bit/s"
    if "delay_s" in frame.columns:
        found["delay"] = f"{_mean(frame, 'delay_s') * 1e9:.0f} ns"
    return found


def _read_once(path: Path) -> pl.DataFrame:
    """A time line, cached because each of many runs needs it; a file that has changed is read again."""
    return _as_it_was(path, path.stat().st_mtime_ns if path.exists() else 0)


@lru_cache(maxsize=16)
def _as_it_was(path: Path, _changed_ns: int) -> pl.DataFrame:
    return read(path)


def mean_rate_bps(frame: pl.DataFrame) -> float | None:
    """The mean rate over time, dark times included as recorded; None without a rate."""
    return _mean(frame, "rate_bps") if "rate_bps" in frame.columns else None


def _mean(frame: pl.DataFrame, name: str) -> float:
    """The mean over time: of delays along straight lines, of others in steps."""
    values, times = frame[name].to_numpy(), frame["t_s"].to_numpy()
    if len(values) == 1:
        return float(values[0])
    middle = (values[1:] + values[:-1]) / 2 if name == "delay_s" else values[:-1]
    return float(np.sum(middle * np.diff(times)) / times[-1])
