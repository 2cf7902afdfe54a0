"""Time lines: how the rate, delay, loss and reach of a link change over time, as files and polars frames.

import bentpipe as bp

leo = bp.timeline.read("leo.parquet")
bp.timeline.write(leo.with_columns(rate_bps=50e6), "slower.parquet")
"""

from bentpipe.timeline.format import check, complete, faults, handovers, read, write

__all__ = ["check", "complete", "faults", "handovers", "read", "write"]
