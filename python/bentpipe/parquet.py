"""Parquet tables as the CSV text that the simulator reads: it has no Parquet library of its own."""

from __future__ import annotations

from pathlib import Path


def as_csv(path: Path) -> str:
    """A time line file in Parquet as CSV text.

    Raises:
        ValueError: it cannot be read, with the reason in one line.
    """
    import polars as pl

    from bentpipe.timeline.format import COLUMNS, VERSION

    try:
        version = pl.read_parquet_metadata(path).get("bentpipe.timeline", str(VERSION))
        frame = pl.read_parquet(path)
    except FileNotFoundError:
        raise ValueError("there is no such file; check the name") from None
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise ValueError(f"it cannot be read as Parquet: {reason[0]}") from None
    if version != str(VERSION):
        raise ValueError(f"it is of version {version}; this program reads version {VERSION}")
    return frame.select(name for name in COLUMNS if name in frame.columns).write_csv(quote_style="never")
