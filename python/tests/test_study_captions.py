"""The words of figures, written as one block."""

import polars as pl
import pytest

from bentpipe.studies import draw
from bentpipe.studies.captions import Captions

CAPTIONS = Captions("""
    - figure-1 | Figure 1. A line. | Mean over {seeds} seeds; the rate is
      {rate:.1f} Mbit/s. | A line chart
      of nothing.
    - figure-2 | Figure 2. A bar. | Nothing is drawn. | A bar chart.
""")


def test_a_figure_has_its_words_and_the_values_that_its_caption_asks_for():
    drawn, _ = draw.figure(1.0)
    data = pl.DataFrame({"x": [1.0]})
    figure = CAPTIONS.figure("figure-1", drawn, data, seeds=3, rate=2.54)
    assert (figure.name, figure.title) == ("figure-1", "Figure 1. A line.")
    assert figure.caption == "Mean over 3 seeds; the rate is 2.5 Mbit/s."
    assert figure.alt == "A line chart of nothing."
    assert figure.draw is drawn
    assert figure.data is data


def test_a_figure_without_words_or_without_a_value_of_its_caption_is_an_error():
    drawn, _ = draw.figure(1.0)
    with pytest.raises(KeyError, match="figure-3"):
        CAPTIONS.figure("figure-3", drawn, pl.DataFrame())
    with pytest.raises(KeyError, match="rate"):
        CAPTIONS.figure("figure-1", drawn, pl.DataFrame(), seeds=3)
