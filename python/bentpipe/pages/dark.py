"""Figures that turn dark with the page: rules in the SVG file for the colours that it uses."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

LEAST_CONTRAST = 2.6
"""Of a coloured line against the ground, as in the charts (chart.js)."""

Rgb = tuple[int, int, int]


def for_dark(svg: bytes) -> bytes:
    """The figure with other colours in the dark: greys change places, and colours too dark are lightened.

    Only figures as matplotlib writes them are changed, with colours in `style` attributes.
    """
    begins = re.search(rb"<svg\b[^>]*>", svg)
    used = sorted(set(re.findall(rb"(fill|stroke): (#[0-9a-f]{6})", svg)))
    if begins is None or not used:
        return svg
    _, ink = _ends()
    rules = [f"svg{{fill:{written(ink)}}}"]  # text has no colour of its own
    for what, colour in used:
        name, old = what.decode(), colour.decode()
        rules.append(f'[style*="{name}: {old}"]{{{name}:{written(_in_the_dark(rgb(old)))}!important}}')
    style = f"<style>@media screen and (prefers-color-scheme:dark){{{''.join(rules)}}}</style>"
    return svg[: begins.end()] + style.encode() + svg[begins.end() :]


def _in_the_dark(colour: Rgb) -> Rgb:
    ground, ink = _ends()
    if max(colour) - min(colour) <= 8:
        return _mixed(ink, ground, sum(colour) / 3 / 255)
    for _ in range(20):
        if contrast(colour, ground) >= LEAST_CONTRAST:
            break
        colour = _mixed(colour, ink, 0.15)
    return colour


@cache
def _ends() -> tuple[Rgb, Rgb]:
    """The ground and the ink of a page in the dark."""
    css = files("bentpipe.pages").joinpath("templates/dark.css").read_text(encoding="utf-8")
    said = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", css))
    return rgb(said["ground"]), rgb(said["ink"])


def _mixed(one: Rgb, other: Rgb, share: float) -> Rgb:
    r, g, b = (round(a + share * (z - a)) for a, z in zip(one, other, strict=True))
    return r, g, b


def contrast(one: Rgb, other: Rgb) -> float:
    """The contrast ratio of WCAG 2.1."""
    low, high = sorted((_light(one), _light(other)))
    return (high + 0.05) / (low + 0.05)


def _light(colour: Rgb) -> float:
    """The relative luminance of WCAG 2.1."""
    linear = (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in (v / 255 for v in colour))
    r, g, b = linear
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def rgb(colour: str) -> Rgb:
    """The parts of a colour as "#0072b2"."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def written(colour: Rgb) -> str:
    """The colour as "#0072b2"."""
    return "#{:02x}{:02x}{:02x}".format(*colour)
