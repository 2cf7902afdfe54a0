"""The words of a paper: the file ``words.md`` beside its code, and the values that the code gives them.

A section begins with a line ``## NAME``; the text above the first one is for readers of the file. A section
is a template of Jinja2. It has paragraphs, parted by empty lines, or rows of a table: a row begins with
``- ``, and `` | `` separates its cells. A quotation at its beginning (lines with ``> ``) is the clause for
the note of a claim, whose reason the section is.

``{{ rtt|f(".2f") }}`` writes a number by a format of Python, ``{{ rtt|f }}`` to three significant digits,
and ``{{ share|each(".1f", "%") }}`` a mapping as ``CUBIC 1.2 %, BIC 3.4 %``. ``{{ table(WORDS, VALUES) }}``,
``{{ listing(WORDS, ITEMS) }}`` and ``{{ tried|headed(WORDS) }}`` are the functions of these names. A table or
a list in a paragraph parts it in two.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from bentpipe.studies.study import Figure
from bentpipe.studies.text import Block, Items, Table, listing, sentences

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure as MplFigure

    from bentpipe.studies.judge import Reason

#: The name of the file.
FILE = "words.md"


class Words(dict[str, str]):
    """The sections of a text by their names, as they are written.

    Args:
        text: of the file.
        file: its name in messages.

    Raises:
        ValueError: two sections have one name.
    """

    def __init__(self, text: str, file: str = FILE) -> None:
        parts = re.split(r"^## (.+)\n", text, flags=re.MULTILINE)[1:]
        names = parts[::2]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"{file}: two sections are called {', '.join(twice)}")
        super().__init__(zip(names, parts[1::2], strict=True))
        self._file = file

    @classmethod
    @cache
    def beside(cls, module: str) -> Self:
        """Those of the file beside a module (its ``__file__``).

        Raises:
            OSError: it cannot be read.
            ValueError: two sections have one name.
        """
        path = Path(module).with_name(FILE)
        return cls(path.read_text(encoding="utf-8"), f"{path.parent.name}/{path.name}")

    def __missing__(self, name: str) -> str:
        raise KeyError(f"{self._file} has no section {name!r}; there are: {', '.join(self)}")

    def _rendered(self, name: str, values: Mapping[str, object], kept: list[Items | Table]) -> str:
        """A section, which has marks where a list or a table of ``kept`` stands."""
        import jinja2.meta

        from bentpipe.pages.markdown import environment

        place = f"{self._file}, section {name!r}"

        def shown(value: object) -> object:
            if value is None:
                raise ValueError(f"{place}, asks for a value that is None")
            if not isinstance(value, Items | Table):
                return value
            kept.append(value)
            return f"\n\n\0{len(kept) - 1}\n\n"

        made = environment(finalize=shown)
        made.filters |= {"f": formatted, "each": each, "headed": headed}
        made.globals |= {"table": table, "listing": listing}
        template = made.parse(self[name])
        asked = jinja2.meta.find_undeclared_variables(template) - made.globals.keys()
        if missing := sorted(asked - values.keys()):
            raise ValueError(f"{place}, asks for {', '.join(missing)}, which is not given")
        if unused := [of for of in values if of not in asked]:
            raise ValueError(f"{place}, does not ask for what is given: {', '.join(unused)}")
        return made.from_string(template).render(values)

    def paragraphs(self, name: str, /, **values: object) -> list[Block]:
        """The paragraphs, lists and tables of a section.

        Raises:
            KeyError: there is no such section.
            ValueError: it asks for a value that is not given or None, or does not ask for one that is given.
        """
        kept: list[Items | Table] = []
        text = self._rendered(name, values, kept)
        parts = (" ".join(part.split()) for part in re.split(r"\n\s*\n", text) if part.strip())
        return [kept[int(part[1:])] if part.startswith("\0") else part for part in parts]

    def text(self, name: str, /, **values: object) -> str:
        """A section as one paragraph; raises as `paragraphs` does."""
        return " ".join(map(str, self.paragraphs(name, **values)))

    def rows(self, name: str, /, **values: object) -> list[list[str]]:
        """The cells of the rows of a section; raises as `paragraphs` does."""
        rows = re.split(r"^- ", self._rendered(name, values, []), flags=re.MULTILINE)[1:]
        return [" ".join(row.split()).split(" | ") for row in rows]

    def reason(self, name: str, /, **values: object) -> Reason:
        """The clause for the note of a claim or "", and the rest; raises as `paragraphs` does."""
        first, *others = self.paragraphs(name, **values)
        if isinstance(first, str) and first.startswith("> "):
            return first.removeprefix("> ").replace(" > ", " "), others
        return "", [first, *others]

    def figure(
        self, name: str, drawn: MplFigure, data: pl.DataFrame, /, *, of: str = "", **values: object
    ) -> Figure:
        """A figure, from a section: the title, the caption, and in the last paragraph the text alternative.

        Args:
            name: of the figure, and of its section unless ``of`` names that.
            drawn: the figure.
            data: the numbers that it shows.
            of: the section of several figures.
            values: of the section.

        Raises as `paragraphs` does.
        """
        title, *caption, alternative = self.paragraphs(of or name, **values)
        no_block = all(isinstance(block, str) for block in caption)
        return Figure(
            name, str(title), sentences(caption) if no_block else caption, str(alternative), drawn, data
        )


def formatted(value: float | str, form: str = "") -> str:
    """A number, to three significant digits without a format; text stays as it is."""
    from bentpipe.studies.page import plain

    return value if isinstance(value, str) else format(value, form) if form else plain(value)


def each(values: Mapping[str, float | str], form: str = "", unit: str = "") -> str:
    """``"CUBIC 1.2, BIC 3.4"``: values by name, each `formatted` and with a unit."""
    return ", ".join(f"{name} {formatted(of, form)} {unit}".rstrip() for name, of in values.items())


def headed(of: Items | None, head: str) -> Block:
    """A list with words before its own; "" if there is none."""
    return "" if of is None else listing(f"{head} {of.head}".rstrip(), of.items)


def table(head: str, values: Mapping[str, Any], form: str = "", unit: str = "") -> Table:
    """A table in a text.

    Args:
        head: the words that introduce it.
        values: the value of each column; or the rows, each by its label with such values.
        form: how a number is formatted, as by `formatted`.
        unit: what follows each value.
    """
    rows = values if all(isinstance(of, Mapping) for of in values.values()) else {"": values}
    columns: Sequence[str] = list(next(iter(rows.values())))
    cells = [
        [label, *(f"{formatted(of[x], form)} {unit}".rstrip() for x in columns)] for label, of in rows.items()
    ]
    return Table(["", *columns], cells, " ".join(head.split()))
