"""Paths through satellites: from shells or TLEs and two places to a time line.

    import bentpipe as bp

    shell = "hypatia-kuiper-k1"
    line = bp.orbit.path("Rio", "Saint Petersburg", shell=shell, duration="200 s", step="100 ms")
    bp.timeline.write(line, "leo.parquet")
    net = bp.orbit.network(["Tokyo", "Paris"], shell=shell, duration="20 s")
    bp.orbit.page(net, "net.html")
    bp.orbit.shells()
    bp.orbit.places()

The orbits are computed in `crates/orbit`. `paths` turns a user's words into a request and its columns into
a time line, and keeps the results; `networks` does the same for a whole constellation, whose folders of
Hypatia are read and written by `hypatia`. `ground` has places, voyages and positions from a file, `loads` the
load of links. `figures` draws paths and networks on maps, whose outlines are in `coasts`; `globe` makes a
page of a network, `tables` prints, and `commands` has the verbs. Names are loaded when they are first used.
"""

from bentpipe import lazily

__getattr__, __dir__, __all__ = lazily.attach(__name__, __file__)
