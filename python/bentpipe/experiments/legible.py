"""Colours that can be seen on white paper."""

from __future__ import annotations

from bentpipe.pages.page import contrast, rgb, written

CONTRAST = 2.2
"""Least contrast of a line with white. Pale colours are fine as areas and vanish as lines."""


def line_colour(colour: str) -> str:
    """The same hue, as dark as a thin line or a small dot has to be."""
    red, green, blue = rgb(colour)
    share, darker = 1.0, (red, green, blue)
    while contrast(darker, (255, 255, 255)) < CONTRAST:
        share -= 0.02
        darker = round(share * red), round(share * green), round(share * blue)
    return written(darker)
