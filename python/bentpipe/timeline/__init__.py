"""Time lines: the rate, delay, loss and reach of a link over time, as files and polars frames.

    import bentpipe as bp

    measured = bp.timeline.read_trace("ping.log", "ping")
    orbit = bp.timeline.read("leo.parquet")
    both = bp.timeline.join(orbit, bp.timeline.read_trace("iperf.json", "iperf3"))
    bp.timeline.write(both, "both.parquet")

docs/timeline.md describes the file. Names are loaded when they are first used.
"""

from bentpipe import lazily

__getattr__, __dir__, __all__ = lazily.attach(__name__, __file__)
