"""The text of a study: paragraphs, and lists and tables with the words that introduce them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bentpipe.studies.claim import Tally


@dataclass
class Table:
    """A table of the page. Cells are text or tallies; text that equals a verdict is shown as a badge."""

    header: Sequence[str]
    rows: Sequence[Sequence[str | Tally]]
    caption: str = ""

    def __str__(self) -> str:
        """A table in a text, whose rows have a label or none, as a sentence."""
        rows = (
            (f"{label}: " if label else "") + ", ".join(map("{} {}".format, self.header[1:], cells))
            for label, *cells in self.rows
        )
        return f"{self.caption}: {'; '.join(rows)}."

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        rows = [list(map(str, row)) for row in self.rows]
        return {"caption": self.caption, "header": list(self.header), "rows": rows}


@dataclass(frozen=True)
class Items:
    """A list in a text, with the words that introduce it."""

    head: str
    items: Sequence[str]

    def __str__(self) -> str:
        """It as a sentence."""
        return f"{self.head}: {'; '.join(self.items)}."

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"head": self.head, "items": list(self.items)}


#: A paragraph, or a list or a table between paragraphs.
Block = str | Items | Table
Text = str | Sequence[Block]


def listing(head: str, items: Sequence[str]) -> Block:
    """Items as a list, or as a sentence if they are few and short."""
    sentence = str(of := Items(" ".join(head.split()), items))
    return of if len(items) > 3 or (len(items) == 3 and len(sentence.split()) > 30) else sentence


def blocks(text: Text) -> Sequence[Block]:
    """The blocks of a text."""
    return [text] if isinstance(text, str) else text


def sentences(text: Text) -> str:
    """A text as one paragraph: its lists and tables as sentences."""
    return " ".join(map(str, blocks(text)))


def as_json(text: Text) -> Any:
    """A text as plain values for JSON."""
    plain = [block if isinstance(block, str) else block.as_dict() for block in blocks(text)]
    return text if isinstance(text, str) else plain


def from_json(plain: Any) -> Text:
    """The text that `as_json` wrote."""
    if isinstance(plain, str):
        return plain
    return [(Items if "items" in of else Table)(**of) if isinstance(of, dict) else of for of in plain]
