"""Figures of results, in the size and type of a two-column paper, with the registry's colours and markers.

Each function returns a `Drawing`, a matplotlib figure that notebooks show and that has its numbers in
`data`. `save(figure, "cwnd.pdf", data=True)` writes it as vectors with embedded fonts, and cwnd.csv beside
it. Inside `with sized("screen"):` figures are drawn for a screen. docs/plots.md shows them all.
"""

from bentpipe import lazily

__getattr__, __dir__, __all__ = lazily.attach(__name__, __file__)
