"""A live page of numbers: served to this machine only, while a command runs.

    page = live.LivePage(
        "bentpipe emulate geo",
        [live.LiveChart("Rate.", "rate, Mbit/s", [live.Series("rate", "forward", scale=1e-6)])],
    )
    with live.serve("127.0.0.1:0", page, source) as shown:
        print(shown.address)

`source` is asked for the current numbers a few times a second: a mapping of names to numbers. The page
(`board` describes it and makes its file) gets them as server-sent events (WHATWG HTML, section 9.2) from
`server`, which keeps those of the last ten minutes for browsers that come later. `sources` has the pages of
an emulation and of the kernel's flows.
"""

from bentpipe.live.board import BoardNumber, Family, LiveChart, LivePage, Series
from bentpipe.live.server import ServedPage, serve

__all__ = ["Family", "LiveChart", "LivePage", "BoardNumber", "Series", "ServedPage", "serve"]
