"""The words of a paper: the file ``words.md`` beside its code, and the values that the code gives them.

A section begins with a line ``## NAME``; the text above the first one is for readers of the file. A section
is a block of `bentpipe.studies.prose`: paragraphs, or rows of a table. A quotation at its beginning (lines
with ``> ``) is the clause for the note of a claim, whose reason the section is.

``{name}``, ``{name:FORMAT}`` and ``{name[key]:FORMAT}`` are replaced by values as `str.format` does. Two
formats are ours: ``plain`` is three significant digits, and ``each`` lists a mapping as ``CUBIC 1.2, BIC
3.4``. A format and a unit may follow ``each``: ``{share:each .1f %}``. A paragraph that asks for a value
that is None is left out.
"""

from __future__ import annotations

import re
import string
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from bentpipe.studies import prose
from bentpipe.studies.study import Figure

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

    def block(self, name: str, /, **values: object) -> str:
        """A section with its values.

        Raises:
            KeyError: there is no such section.
            ValueError: it asks for a value that is not given, or does not ask for one that is.
        """
        place, parts, used = f"{self._file}, section {name!r}", [], set[str]()
        for part in re.split(r"\n\s*\n", self[name]):
            fields = {str(field) for _, field, *_ in string.Formatter().parse(part) if field is not None}
            asked = {re.split(r"[.\[]", field)[0] for field in fields}
            if missing := sorted(asked - values.keys()):
                raise ValueError(f"{place}, asks for {', '.join(missing)}, which is not given")
            used |= asked
            if all(values[of] is not None for of in asked):
                parts.append(_FORMATTER.vformat(part, (), values))
        if unused := [of for of in values if of not in used]:
            raise ValueError(f"{place}, does not ask for what is given: {', '.join(unused)}")
        return "\n\n".join(parts)

    def text(self, name: str, /, **values: object) -> str:
        """A section as one paragraph; raises as `block` does."""
        return prose.text(self.block(name, **values))

    def paragraphs(self, name: str, /, **values: object) -> list[str]:
        """The paragraphs of a section; raises as `block` does."""
        return prose.paragraphs(self.block(name, **values))

    def reason(self, name: str, /, **values: object) -> Reason:
        """The clause for the note of a claim, "" if there is none, and paragraphs; raises as `block` does."""
        first, *others = self.paragraphs(name, **values) or [""]
        if not first.startswith("> "):
            return "", [first, *others]
        return first.removeprefix("> ").replace(" > ", " "), others

    def figure(
        self, name: str, drawn: MplFigure, data: pl.DataFrame, /, *, of: str = "", **values: object
    ) -> Figure:
        """A figure, from a section of three paragraphs: title, caption, text alternative.

        Args:
            name: of the figure, and of its section unless ``of`` names that.
            drawn: the figure.
            data: the numbers that it shows.
            of: the section of several figures.
            values: of the section.

        Raises as `block` does.
        """
        title, caption, alternative = self.paragraphs(of or name, **values)
        return Figure(name, title, caption, alternative, drawn, data)


def each(values: Mapping[str, float | str], form: str = "", unit: str = "") -> str:
    """``"CUBIC 1.2, BIC 3.4"``.

    Args:
        values: by name; text stays as it is.
        form: how a number is formatted; three significant digits if empty.
        unit: what follows each value.
    """
    texts = {name: of if isinstance(of, str) else _formatted(of, form) for name, of in values.items()}
    return ", ".join(f"{name} {text} {unit}".rstrip() for name, text in texts.items())


def _formatted(value: float, form: str = "") -> str:
    """A number, to three significant digits without a format."""
    from bentpipe.studies.page import plain

    return format(value, form) if form else plain(value)


class _Formatter(string.Formatter):
    """`str.format` with the formats of ours."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if format_spec == "plain":
            return _formatted(value)
        if format_spec.startswith("each"):
            form, _, unit = format_spec.removeprefix("each").strip().partition(" ")
            return each(value, form, unit)
        return str(super().format_field(value, format_spec))


_FORMATTER = _Formatter()
