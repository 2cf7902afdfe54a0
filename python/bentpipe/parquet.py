"""Parquet tables as the CSV text that the simulator reads: it has no Parquet library of its own."""

from __future__ import annotations

from pathlib import Path

from bentpipe import _core


def as_csv(path: Path) -> str:
    """A time line file in Parquet as CSV text.

    Raises:
        ValueError: it cannot be read, with the reason in one line.
    """
    from bentpipe.timeline.format import COLUMNS, load

    try:
        frame, _ = load(path)
    except FileNotFoundError:
        raise ValueError("there is no such file; check the name") from None
    except OSError as error:
        raise ValueError(f"the file cannot be read: {error.strerror}") from None
    except _core.ScenarioError as error:  # the caller names the file
        raise ValueError(str(error).removeprefix(str(path)).lstrip(":, ")) from None
    return frame.select(name for name in COLUMNS if name in frame.columns).write_csv(quote_style="never")
