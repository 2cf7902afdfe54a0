"""Text that is written as blocks in the source: paragraphs, and rows of tables."""

from __future__ import annotations

import re


def text(block: str) -> str:
    """A block as one paragraph, without its line breaks."""
    return " ".join(block.split())


def paragraphs(block: str) -> list[str]:
    """The paragraphs of a block, which empty lines part, each without its line breaks."""
    return [text(part) for part in re.split(r"\n\s*\n", block) if part.strip()]


def rows(block: str) -> list[list[str]]:
    """The rows of a table: each begins with ``- `` on a new line, and `` | `` parts its cells."""
    return [text(row).split(" | ") for row in re.split(r"^\s*- ", block, flags=re.MULTILINE)[1:]]
