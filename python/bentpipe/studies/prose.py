"""Text that is written as blocks: paragraphs, and rows of tables; and the lists in it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

#: A sentence that lists more things than `PARTS` becomes a list or a table, or as many things in more
#: words than `WORDS`.
PARTS, WORDS = 3, 30
#: A number with what may follow it in a cell (``12.1 ± 0.3``, ``2 of 24``, ``1.19 (0.1%)``), or a dash.
_NUMBER = r"-?\d[\d.,]*(?:e-?\d+)?(?: ?%)?"
VALUE = rf"(?:{_NUMBER}(?: (?:±|to|and|of) {_NUMBER})?(?: \([^()]*\))?|-)"


def text(block: str) -> str:
    """A block as one paragraph, without its line breaks."""
    return " ".join(block.split())


def paragraphs(block: str) -> list[str]:
    """The paragraphs of a block, which empty lines part, each without its line breaks."""
    return [text(part) for part in re.split(r"\n\s*\n", block) if part.strip()]


def rows(block: str) -> list[list[str]]:
    """The rows of a table: each begins with ``- `` on a new line, and `` | `` parts its cells."""
    return [text(row).split(" | ") for row in re.split(r"^\s*- ", block, flags=re.MULTILINE)[1:]]


@dataclass(frozen=True)
class Items:
    """A list with the words that introduce it."""

    head: str
    items: Sequence[str]


@dataclass(frozen=True)
class Grid:
    """A table of values with the words that introduce it; one row without a label, or rows with labels."""

    head: str
    columns: Sequence[str]
    #: The label of each row, "" if it is the only one, and its values.
    rows: Sequence[tuple[str, Sequence[str]]]

    @property
    def labelled(self) -> bool:
        """Whether the rows have labels."""
        return any(label for label, _ in self.rows)


Block = str | Items | Grid


def blocks(prose: str) -> list[Block]:
    """The blocks of a paragraph: text, and each sentence that lists many things as a list or a table.

    A list is ``head: part; part``. It is a table if each part is ``row: column 1.2, column 3.4`` with the
    same columns in each row, or if it has one such part without a label.
    """
    found: list[Block] = []
    for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z\"(])", prose):
        block = _listed(sentence)
        if isinstance(block, str) and found and isinstance(found[-1], str):
            found[-1] += f" {block}"
        else:
            found.append(block)
    return found


def _listed(sentence: str) -> Block:
    """A sentence, laid out if it lists many things."""
    head, colon, rest = sentence.removesuffix(".").partition(": ")
    parts = _outside(r"; ", rest)
    if not colon or re.search(r"(?<!\beq)\. ", rest):
        return sentence
    if (grid := _grid(head, parts)) is not None:
        return grid
    many = len(parts) > PARTS or (len(parts) == PARTS and len(sentence.split()) > WORDS)
    return Items(head, parts) if many else sentence


def _grid(head: str, parts: Sequence[str]) -> Grid | None:
    """The table that some parts are; None if they are none, or a small one."""
    rows, columns = [], set()
    for part in parts:
        label, _, rest = part.rpartition(": ")
        pairs = [_pair(item) for item in _outside(r", ", rest)]
        named = [pair for pair in pairs if pair is not None]
        if len(named) < len(pairs):
            return None
        columns.add(tuple(name for name, _ in named))
        rows.append((label, [value for _, value in named]))
    labelled = all(label for label, _ in rows)
    if (
        len(columns) > 1
        or sum(len(values) for _, values in rows) <= PARTS
        or (len(rows) > 1 and not labelled)
    ):
        return None
    (names,) = columns
    return Grid(head, names, rows) if len(names) > 1 else None


def _pair(item: str) -> tuple[str, str] | None:
    """A name and its value, from ``name 1.2`` or ``1.2 at place``; None if the item is something else."""
    if at := re.fullmatch(rf"({VALUE}) (at \S+)", item):
        return at[2], at[1]
    pair = re.fullmatch(rf"(.*?[^\s\d].*?) ({VALUE})", item)
    return (pair[1], pair[2]) if pair else None


def _outside(mark: str, text: str) -> list[str]:
    """The parts of a text between marks that are not in brackets."""
    return re.split(mark + r"(?![^(]*\))", text)
