"""The look of every figure: settings, sizes, one colour and marker for each algorithm; and its file."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import matplotlib as mpl
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure

from bentpipe import _core, terminal, units
from bentpipe.io.files import replace
from bentpipe.registry import apart, style

WIDTH = 3.5
"""Width of a column in inches."""
HEIGHT = 2.3
"""Height of a figure of one panel in inches."""
RC: dict[str, Any] = {
    "axes.grid": True,
    "axes.labelsize": 8,
    "axes.linewidth": 0.6,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 8,
    "figure.dpi": 150,
    "font.family": "sans-serif",
    "font.size": 8,
    "grid.alpha": 0.3,
    "grid.linewidth": 0.4,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "lines.linewidth": 1.0,
    "lines.markersize": 3.5,
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    "svg.fonttype": "none",
    "svg.hashsalt": "bentpipe",
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
}
"""Matplotlib settings of every figure here, in the type of a two-column paper. They give way to those that a
user has changed in `matplotlib.rcParams`."""
LETTERS: dict[str, Any] = {"svg.fonttype": "path", "svg.hashsalt": "bentpipe"}
"""Settings of an SVG file that looks the same where its fonts are missing."""
PAGE: dict[str, Any] = {
    key: RC[key]
    for key in ("axes.spines.right", "axes.spines.top", "font.size", "svg.fonttype", "svg.hashsalt")
}
"""Settings of the figures of the documentation."""
STUDY: dict[str, Any] = {
    **RC,
    **LETTERS,
    "axes.axisbelow": True,
    "figure.dpi": 100,
    "font.sans-serif": ["Liberation Sans", "Arial", "Helvetica", "DejaVu Sans"],
    "grid.alpha": 1.0,
    "grid.color": "#e3e3e3",
    "grid.linewidth": 0.5,
    "legend.fontsize": 7.5,
    "lines.markersize": 6,
    "ps.fonttype": 3,  # matplotlib chooses the characters of fonts in PDF by it, too
    "xtick.labelsize": 7.5,
    "xtick.major.width": 0.6,
    "ytick.labelsize": 7.5,
    "ytick.major.width": 0.6,
}
"""Settings of the figures of studies."""
_UNDATED: Mapping[str, dict[str, Any]] = {"pdf": {"CreationDate": None}, "svg": {"Date": None}, "png": {}}
DASHES = ("-", "--", ":", "-.")
"""Dashes of flows of one algorithm, by turns."""


@dataclass(frozen=True)
class FigureSize:
    """The size of a figure in inches, and of its type in comparison with that of a paper.

    A figure of several panels may be wider, unless the size is exact: one that was given in centimetres.
    """

    width: float
    height: float
    type: float = 1.0
    exact: bool = False

    def at_least(self, width: float) -> float:
        """The width of a figure that needs as much."""
        return self.width if self.exact else max(self.width, width)


SIZES = {
    "paper": FigureSize(WIDTH, HEIGHT),
    "page": FigureSize(2 * WIDTH + 0.16, 1.35 * HEIGHT),
    "screen": FigureSize(9.0, 5.0, 1.5),
    "slide": FigureSize(12.0, 6.75, 2.2),
}
"""Sizes by name: a column or the whole width of a two-column page, a screen, and a slide of 16:9."""

_WIDTHS = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4}
_own: ContextVar[dict[str, Any] | None] = ContextVar("own", default=None)
"""The user's settings while ours are in force."""
_size: ContextVar[FigureSize] = ContextVar("size", default=SIZES["paper"])


@contextmanager
def sized(name: str) -> Iterator[FigureSize]:
    """Figures drawn inside have the size of this name, or this width with the type of a paper: "12 cm".

    Raises:
        ScenarioError: there is no such size.
    """
    token = _size.set(named_size(name))
    try:
        yield _size.get()
    finally:
        _size.reset(token)


def size() -> FigureSize:
    """The size of figures drawn now."""
    return _size.get()


@contextmanager
def styled() -> Iterator[None]:
    """The settings `RC` at the size of now, for drawing or saving own figures in the same look.

    A setting that the user has changed in `matplotlib.rcParams`, a style or a matplotlibrc stays as it is.
    """
    outer = _own.get()
    now, usual = cast(Any, mpl.rcParams), cast(Any, mpl.rcParamsDefault)
    own = {key: now[key] for key in RC if now[key] != usual[key]} if outer is None else outer
    token = _own.set(own)
    try:
        with mpl.rc_context(cast(Any, _larger(RC) | own)):
            yield
    finally:
        _own.reset(token)


@contextmanager
def fixed(settings: Mapping[str, Any], *groups: str) -> Iterator[None]:
    """Settings to which a user's give way (`PAGE`, `STUDY`); `groups` ("axes.") at the size of now."""
    with mpl.rc_context(cast(Any, _larger(settings, groups))):
        yield


def _larger(settings: Mapping[str, Any], groups: tuple[str, ...] = ("",)) -> dict[str, Any]:
    """Settings, those of groups for the type of now."""
    scale = size().type
    grows = {key for key in settings if key.startswith(groups) and key.endswith(("size", "width"))}
    return {key: value * scale if key in grows else value for key, value in settings.items()}


def encoded(figure: Figure, kind: str, dpi: float | str = "figure") -> bytes:
    """A figure as the content of a file of this kind: svg, pdf or png, in the settings of now.

    No dates are written, so that equal figures give equal files.
    """
    content = io.BytesIO()
    figure.savefig(content, format=kind, dpi=cast(Any, dpi), metadata=_UNDATED[kind])
    return content.getvalue()


def write(figure: Figure, path: Path) -> None:
    """Writes a figure as its ending says (`encoded`). The file appears complete or not at all.

    Raises:
        OSError: it cannot be written.
    """
    replace(path, lambda work: work.write_bytes(encoded(figure, path.suffix.removeprefix("."))))


def look(cc: str, label: str | None = None, nth: int = 0) -> dict[str, Any]:
    """The style of an algorithm's line, as keyword arguments of matplotlib's `plot`.

    The registry gives each algorithm its colour and marker. A controller of one's own has a hollow marker and
    a colour by its name, the same in every figure, and never the black of CUBIC.

    Args:
        cc: an id ("cubic") or the name of an own controller ("python:Mine" or "Mine").
        label: instead of the algorithm's own.
        nth: 0 for the first flow of an algorithm in a figure, 1 for the next: the dashes distinguish them.

    Returns:
        color, marker, markerfacecolor, linestyle and label (in which a dollar does not begin mathematics).
    """
    known = style(cc)
    colour = known["colour"]
    if is_dark() and colour == "#000000":
        colour = mpl.rcParams["text.color"]
    return {
        "color": colour,
        "marker": known["marker"],
        "markerfacecolor": colour if known["fill"] == "full" else "white",
        "linestyle": DASHES[nth % len(DASHES)],
        "label": text(known["label"] if label is None else label),
    }


def is_dark() -> bool:
    """Whether figures are drawn on a dark face, by the user's style (`dark_background`)."""
    return sum(to_rgb(mpl.rcParams["axes.facecolor"])) < 1.5


def grey(shade: float) -> str:
    """A grey as a colour of matplotlib, from 0 for black to 1 for white; its opposite on a dark face."""
    return f"{1 - shade if is_dark() else shade:g}"


class Turns:
    """Looks of lines one after another: those of one algorithm differ by dashes, of others by colour."""

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()
        self._colours: dict[str, str] = {}

    def look(self, cc: str, label: str | None = None) -> dict[str, Any]:
        """The look of the next line of an algorithm."""
        self._seen[cc] += 1
        found = look(cc, label, self._seen[cc] - 1)
        own = found["color"]
        if cc not in self._colours:
            self._colours[cc] = apart(to_hex(own), self._colours.values())
        colour = self._colours[cc]
        face = colour if found["markerfacecolor"] == own else found["markerfacecolor"]
        return found | {"color": colour, "markerfacecolor": face}


def text(name: str) -> str:
    """A name as a label: dollars are no mathematics, control characters are written out."""
    return terminal.plain(name).replace("$", r"\$")


def named_size(name: str) -> FigureSize:
    """The size of this name, or of this width with the type of a paper.

    Raises:
        ScenarioError: there is no such size.
    """
    if name in SIZES:
        return SIZES[name]
    width = units.number(name, _WIDTHS)
    if width is None:
        raise _core.ScenarioError(
            f"no size of a figure is called {name!r}; there are {', '.join(SIZES)}, "
            'and widths in in, cm or mm, for example "12 cm"'
        )
    if not 1.5 <= width <= 40:
        raise _core.ScenarioError(f"a figure of {name} is not 1.5 to 40 in wide")
    return FigureSize(width, width * HEIGHT / WIDTH, exact=True)
