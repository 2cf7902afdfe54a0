"""Colours that can be seen on white paper."""

from __future__ import annotations

from matplotlib.colors import to_hex, to_rgb

CONTRAST = 2.2
"""Least contrast of a line with white. Pale colours are fine as areas and vanish as lines."""


def line_colour(colour: str) -> str:
    """The same hue, as dark as a thin line or a small dot has to be."""
    parts = to_rgb(colour)
    share = 1.0
    while contrast(_darker(parts, share)) < CONTRAST:
        share -= 0.02
    return colour if share == 1.0 else _darker(parts, share)


def contrast(colour: str) -> float:
    """Contrast of a colour with white, 1 to 21 (WCAG 2.2, contrast ratio)."""
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in to_rgb(colour)]
    return 1.05 / (0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] + 0.05)


def _darker(parts: tuple[float, float, float], share: float) -> str:
    red, green, blue = parts
    return to_hex((share * red, share * green, share * blue))
