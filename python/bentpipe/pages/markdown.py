"""Parts of Markdown pages that programs write: tables, paragraphs, templates, and text between marks."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment

PAGE_WORDS = re.compile(r"<!-- page\n(.*?)\n-->\n\n", re.DOTALL)
"""A comment with the words of a page in a browser, in place of the block that follows."""


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


def for_code_host(text: str) -> str:
    """A page of docs/ without the words that are only for its form in a browser (scripts/lab_page.py)."""
    return PAGE_WORDS.sub("", text)


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


def laid_out(text: str, width: int = 110) -> str:
    """Paragraphs and lists in lines of `width` columns; code, tables, figures and heads as they are."""

    def block(one: str) -> str:
        if one.startswith(("```", "|", "#", "!", "<")):
            return one
        # An operator must not begin a line, where it would begin a list or a heading.
        glued = re.sub(r" (?=[-+*>#=|] |\d+[.)] )", "\0", one)
        first, rest = ("- ", "  ") if one.startswith("- ") else ("", "")
        items = re.split(r"\n- ", glued.removeprefix("- ")) if first else [glued]
        return "\n".join(wrapped(item, first, rest, width) for item in items).replace("\0", " ")

    return "\n\n".join(map(block, re.split(r"\n\s*\n", text.strip()))) + "\n"


def environment(**more: Any) -> Environment:
    """How templates of Jinja2 are read: blocks leave no empty line, and no value may be missing."""
    import jinja2

    made = jinja2.Environment(trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True, **more)
    made.undefined = jinja2.StrictUndefined
    return made


def rendered(template: Path, /, **values: Any) -> str:
    """The text of a template of Jinja2, which has the filter `laid_out`."""
    made = environment()
    made.filters["laid_out"] = laid_out
    return made.from_string(template.read_text(encoding="utf-8")).render(values)


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
