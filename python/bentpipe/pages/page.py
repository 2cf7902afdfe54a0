"""A page that is built from top to bottom and written as one file."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from errno import EISDIR
from functools import cache
from importlib.resources import files
from itertools import groupby
from operator import itemgetter
from os import strerror
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from bentpipe._core import ScenarioError
from bentpipe.io.files import replace_text
from bentpipe.pages import charts
from bentpipe.pages.charts import Axis, Curve
from bentpipe.pages.prose import Badge, Hyperlink, Prose, Tone, html, is_number, slug

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure as MplFigure

#: From this number of columns on a table is stacked on wider screens too.
MANY = 7
#: From this number of links on a list of runs is unfolded by a click.
MANY_RUNS = 12
LEAST_CONTRAST = 2.6
"""Of a coloured line against the ground, as in the charts (chart.js)."""
LINE_CONTRAST = 2.2
"""Least contrast of a thin line with white. Pale colours are fine as areas and vanish as lines."""
Rgb = tuple[int, int, int]


#: Stands in every page, so that nothing else is replaced by one.
_OURS = '<meta name="generator" content="bentpipe">'


def check_page(path: Path) -> None:
    """Checks that a page written to `path` replaces nothing but a page of Bentpipe.

    Raises:
        ScenarioError: `path` is another file.
        OSError: it is a directory, or cannot be read.
    """
    if path.is_dir():
        raise IsADirectoryError(EISDIR, strerror(EISDIR), str(path))
    if not path.is_file():
        return
    with path.open(encoding="utf-8", errors="replace") as stream:
        begins = stream.read(1000)
    if begins and _OURS not in begins:
        raise ScenarioError(
            f"{path} exists and is no page of Bentpipe; a page would replace it; remove it or choose another"
        )


@dataclass(frozen=True)
class Heading:
    """A row of a table that is a heading for the rows below it."""

    prose: Prose


class Page:
    """One HTML file: title, contents, sections in the order in which they were added.

    Everything that is added goes to the end of the page, so a table belongs to the section before it. The
    file holds its figures, charts and scripts, and a policy in it forbids browsers to load anything else.
    """

    def __init__(self, title: str, *, lead: Prose = "", source: Prose = "", foot: Prose = "") -> None:
        """An empty page.

        Args:
            title: its heading, and the name of the window.
            lead: the paragraph under the title: the question of the page.
            source: a line between the two, for example a citation.
            foot: the last line: the program that wrote the page, and its input.
        """
        self.title, self.lead, self.source, self.foot = title, lead, source, foot
        self._head: list[Markup] = []
        #: Whether it is a figure, which is placed beside adjacent figures, and its HTML.
        self._body: list[tuple[bool, Markup]] = []
        self._contents: list[tuple[int, str, str]] = []
        self._ids: set[str] = set()
        self._charts = 0
        #: Levels of the sections that fold and have not ended.
        self._folds: list[int] = []
        self._folded = False

    def banner(self, *prose: Prose, tone: Tone = "partly") -> None:
        """A line in a box under the title, with a note to read first."""
        self._head.append(blocks().banner([html(part) for part in prose], tone))

    def tally(self, badges: Sequence[Badge]) -> None:
        """Badges in a row under the title."""
        self._head.append(blocks().tally([html(badge) for badge in badges]))

    def section(
        self,
        title: str,
        paragraphs: Sequence[Prose] = (),
        *,
        level: int = 2,
        id: str | None = None,
        badge: Badge | None = None,
        folds: bool = False,
    ) -> str:
        """A heading, which is also listed in the contents, and paragraphs under it.

        Args:
            title: the heading.
            paragraphs: the text under it.
            level: 2 for a section, 3 for a part of one.
            id: the name of the place; from the title if there is none.
            badge: shown behind the heading.
            folds: a click on the heading hides and shows all up to the next section of this or a higher
                level. On a phone it is hidden at first.

        Returns:
            The name of the place: ``Hyperlink("there", f"#{name}")`` leads to it.
        """
        name = self._name(id or slug(title))
        self._contents.append((level, name, title))
        self._end_folds(level)
        heading = blocks().heading(level, name, title, html(badge) if badge else "")
        if folds:
            self._folds.append(level)
            heading = blocks().fold(heading)
        self._add(heading)
        self.paragraphs(*paragraphs)
        return name

    def paragraphs(self, *prose: Prose, small: bool = False) -> None:
        """Paragraphs, in small and soft type where they are an aside."""
        for part in prose:
            self._add(blocks().paragraph(html(part), small))

    def bullets(self, items: Sequence[Prose]) -> None:
        """A list."""
        self._add(blocks().bullets([html(item) for item in items]))

    def command(self, text: str, *, fold: str = "") -> None:
        """Lines of a terminal or of a file, to be copied; a click on ``fold`` unfolds them."""
        self._add(blocks().command(text, fold))

    def opened(self, runs: Sequence[tuple[str, str]]) -> None:
        """Links to runs in the page that simulates: words and address. Without any there is nothing."""
        if not runs:
            return
        self.paragraphs(
            "Open in the browser, which simulates the run again, to change it and to see its packets:"
        )
        shown = [Hyperlink(words, address) for words, address in runs]
        if len(runs) >= MANY_RUNS:
            self.table(["Run"], [[link] for link in shown], fold=f"{len(runs)} runs to open in the browser")
        else:
            self.bullets(shown)

    def table(
        self,
        columns: Sequence[str],
        rows: Sequence[Sequence[Prose] | Heading],
        *,
        caption: Prose = "",
        total: Sequence[Prose] | None = None,
        fold: str = "",
    ) -> None:
        """A table. Where it is wider than its place, each row becomes a block of "column: cell" lines.

        Args:
            columns: the heads.
            rows: a cell for each column, or a `Heading`. The first cell names the row.
            caption: a line above.
            total: the last row, set off.
            fold: words that unfold the table when they are clicked; without them it is open.

        Raises:
            ValueError: a row has another number of cells than there are columns.
        """
        for row in [*rows, *([total] if total is not None else [])]:
            if not isinstance(row, Heading) and len(row) != len(columns):
                raise ValueError(f"the table has {len(columns)} columns, but a row has {len(row)} cells")
        plain = [
            html(row.prose) if isinstance(row, Heading) else [(html(cell), is_number(cell)) for cell in row]
            for row in rows
        ]
        last = None if total is None else [(html(cell), is_number(cell)) for cell in total]
        self._add(blocks().table(columns, plain, html(caption), last, len(columns) >= MANY, fold))

    def figure(
        self,
        fig: MplFigure | Path,
        *,
        alt: str,
        title: str = "",
        caption: Prose = "",
        data: pl.DataFrame | None = None,
        files: Sequence[Hyperlink] = (),
        href: str = "",
        id: str | None = None,
    ) -> None:
        """A figure that does not move. Consecutive figures are placed side by side where there is room.

        Args:
            fig: of matplotlib, or an SVG file; it is put into the page, and dark where the page is.
            alt: a text alternative.
            title: the first words of the caption, set off.
            caption: the text under it.
            data: its data; they can be downloaded from the page as CSV.
            files: files beside the page to name.
            href: where a click on it leads.
            id: the name of its place.
        """
        svg = fig.read_bytes() if isinstance(fig, Path) else _svg(fig)
        links = [html(link) for link in files]
        name = self._name(id or slug(title or "figure"))
        if data is not None:
            csv = _uri("text/csv", data.write_csv().encode())
            links.append(Markup('<a download="{}.csv" href="{}">CSV</a>').format(name, csv))
        uri = _uri("image/svg+xml", for_dark(svg))
        self._add(blocks().figure(name, uri, alt, title, html(caption), links, href), figure=True)

    def chart(
        self,
        curves: Sequence[Curve] | Mapping[str, Sequence[Curve]],
        *,
        x: Axis,
        y: Axis,
        alt: str,
        title: str = "",
        caption: Prose = "",
        choose: str = "",
    ) -> None:
        """An interactive chart: values where it is pointed at, zoom, curves switched off by their legend.

        The keyboard does the same, and the data can be read as a table and downloaded as CSV. A name in a
        legend is switched off in every chart of the page. A mapping gives the reader a choice of
        curves; charts with the same choice change together.

        Args:
            curves: the curves; by name where the reader chooses.
            choose: the words before the choice: "Delay".
            x: the horizontal axis.
            y: the vertical axis.
            alt: a text alternative.
            title: the first words of the caption, set off.
            caption: the text under it.

        Raises:
            ValueError: there is no curve, or the columns of one differ in length.
        """
        self._chart(charts.curves(curves, x, y, choose), alt, title, caption)

    def heat_map(
        self,
        values: Sequence[Sequence[float]],
        *,
        x: Axis,
        y: Axis,
        quantity: str,
        alt: str,
        title: str = "",
        caption: Prose = "",
        ends: tuple[float, float] | None = None,
    ) -> None:
        """A heat map: ``values[j][i]`` belongs to ``y.names[j]`` and ``x.names[i]``.

        Args:
            values: the values behind the colours; NaN is left empty.
            x: the horizontal axis, with names.
            y: the vertical axis, with names.
            quantity: the quantity of the values, with its unit.
            alt: as in `chart`, like all that follow.
            title: the first words of the caption.
            caption: the text under it.
            ends: the values of the first and the last colour, for maps that are compared.

        Raises:
            ValueError: the shape is not that of the names, or no value is finite.
        """
        self._chart(charts.cells(values, x, y, quantity, ends), alt, title, caption)

    def html(self) -> str:
        """The whole file."""
        self._end_folds(0)
        script, style = "", "".join(own(f"templates/{name}.css") for name in ("page", "badge", "table"))
        if self._charts:
            style += own("templates/chart.css") + own("uplot/uPlot.min.css")
            script = own("uplot/uPlot.iife.min.js") + "\n" + own("templates/chart.js")
        if self._folded:  # before the charts, which are drawn where they are seen
            script = own("templates/fold.js") + "\n" + script
        return framed(
            own("templates/page.html"),
            title=self.title,
            source=html(self.source),
            lead=html(self.lead),
            head=self._head,
            body=[
                (figures, [block for _, block in of]) for figures, of in groupby(self._body, itemgetter(0))
            ],
            foot=html(self.foot),
            contents=self._contents,
            charts=self._charts,
            style=Markup(style),
            script=Markup(script),
        )

    def write(self, path: Path | str) -> Path:
        """Writes the file, which appears complete or not at all, and returns its path.

        Raises:
            OSError: it cannot be written.
        """
        path, text = Path(path), self.html()
        replace_text(path, text)
        return path

    def _chart(self, plain: dict[str, Any], alt: str, title: str, caption: Prose) -> None:
        self._charts += 1
        name = self._name(slug(title or "chart"))
        # "<" ends no script element, whatever a label says.
        data = json.dumps(plain, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
        self._add(
            blocks().chart(name, Markup(data), alt, title, html(caption), "choices" in plain), figure=True
        )

    def _end_folds(self, level: int) -> None:
        """Ends the sections that fold of this level and of deeper ones."""
        while self._folds and self._folds[-1] >= level:
            self._folds.pop()
            self._folded = True
            self._add(Markup("</details>"))

    def _add(self, block: Markup, *, figure: bool = False) -> None:
        self._body.append((figure, block))

    def _name(self, wanted: str) -> str:
        """The name if it is free, or the name with the first free number behind it."""
        name, number = wanted, 1
        while name in self._ids:
            number += 1
            name = f"{wanted}-{number}"
        self._ids.add(name)
        return name


@cache
def _environment() -> Environment:
    """The templates; everything put into a page is escaped."""
    return Environment(
        loader=PackageLoader("bentpipe.pages", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def blocks() -> Any:
    """The macros of the parts of a page."""
    return _environment().get_template("blocks.html").module


def framed(template: str, **values: Any) -> str:
    """A page by a template that extends `frame.html`, in which everything but `Markup` is escaped."""
    # Both are ours and end no element of the page; a test makes sure.
    colours = {name: Markup(own(f"templates/{name}.css")) for name in ("light", "dark")}
    return _environment().from_string(template).render(**colours, **values)


@cache
def own(name: str) -> str:
    """A file of this package."""
    return files("bentpipe.pages").joinpath(name).read_text(encoding="utf-8")


def packed(content: bytes) -> Markup:
    """As text for a script element: gzip in base 85, the same for the same content; `unpack.js` reads it.

    The digits are those of RFC 1924, but a point for "<", which begins tags. Base 64 is 7 % longer.
    """
    return Markup(base64.b85encode(gzip.compress(content, 9, mtime=0)).decode("ascii").replace("<", "."))


def _uri(kind: str, content: bytes) -> str:
    return f"data:{kind};base64," + base64.b64encode(content).decode("ascii")


def _svg(fig: MplFigure) -> bytes:
    from bentpipe.plot import looks

    with looks.fixed(looks.LETTERS):
        return looks.encoded(fig, "svg")


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


def line_colour(colour: str) -> str:
    """The same hue, as dark as a thin line or a small dot has to be."""
    red, green, blue = rgb(colour)
    share, darker = 1.0, (red, green, blue)
    while contrast(darker, (255, 255, 255)) < LINE_CONTRAST:
        share -= 0.02
        darker = round(share * red), round(share * green), round(share * blue)
    return written(darker)


@cache
def _ends() -> tuple[Rgb, Rgb]:
    """The ground and the ink of a page in the dark."""
    said = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", own("templates/dark.css")))
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
    parts = (value / 255 for value in colour)
    r, g, b = (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def rgb(colour: str) -> Rgb:
    """The parts of a colour as "#0072b2"."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def written(colour: Rgb) -> str:
    """The colour as "#0072b2"."""
    return "#{:02x}{:02x}{:02x}".format(*colour)
