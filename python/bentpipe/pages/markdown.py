"""Parts of Markdown pages that programs write: tables, paragraphs, and text between marks."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence


def cell(text: str) -> str:
    """`text` as one cell of a table."""
    return text.replace("|", "\\|").replace("\n", " ")


def row(*cells: str) -> str:
    """A row of a table."""
    return "| " + " | ".join(cell(text) for text in cells) + " |"


def markdown(heads: Sequence[str], rows: Iterable[Sequence[str]], *, spaced: bool = False) -> str:
    """A table, without a line feed at its end.

    Args:
        heads: of the columns, which are to the right; with "<" or "~" before it, to the left.
        rows: the cells.
        spaced: spaces around the rules below the heads.
    """
    rules = ["---" if head[:1] in ("<", "~") else "---:" for head in heads]
    below = row(*rules) if spaced else f"|{'|'.join(rules)}|"
    return "\n".join([row(*(head.lstrip("<~") for head in heads)), below, *(row(*cells) for cells in rows)])


def texts(heads: Iterable[str]) -> list[str]:
    """The heads of columns that all are to the left."""
    return [f"<{head}" for head in heads]


def wrapped(text: str, first: str = "", rest: str = "", width: int = 110) -> str:
    """A paragraph in lines of `width` columns, indented by `first` and then by `rest`."""
    return textwrap.fill(
        text,
        width,
        initial_indent=first,
        subsequent_indent=rest,
        break_on_hyphens=False,
        break_long_words=False,
    )


def replaced(page: str, name: str, part: str) -> str:
    """A page with another text between the marks `<!-- NAME -->` and `<!-- end NAME -->`.

    Raises:
        ValueError: the page lacks one of the marks.
    """
    begin, end = f"<!-- {name} -->\n", f"<!-- end {name} -->"
    before, found, rest = page.partition(begin)
    _, found_end, after = rest.partition(end)
    if not (found and found_end):
        raise ValueError(f"the page has no {begin.strip()} or no {end}")
    return f"{before}{begin}\n{part.strip()}\n\n{end}{after}"
