"""The words of a paper's figures: titles, captions and text alternatives, written as one block."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bentpipe.studies.prose import rows
from bentpipe.studies.study import Figure

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure as MplFigure


class Captions:
    """The words of each figure of a paper, by the figure's name."""

    def __init__(self, block: str) -> None:
        """Read a row for each figure (`bentpipe.studies.prose.rows`): name, title, caption, alternative.

        A name in braces in the caption is replaced by a value that is known when the figure is drawn.
        """
        self._words = {name: words for name, *words in rows(block)}

    def figure(self, name: str, drawn: MplFigure, data: pl.DataFrame, **values: object) -> Figure:
        """The figure ``name`` as it is drawn, with the data that it shows and the values of its caption."""
        title, caption, alternative = self._words[name]
        return Figure(name, title, caption.format(**values), alternative, drawn, data)
