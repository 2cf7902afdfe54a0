"""Shared parts of the pages that `scripts/reproducing_md.py` writes: text and tables in Markdown."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import Any

from bentpipe.studies.design import BASE
from bentpipe.studies.prose import Grid, Items, blocks
from bentpipe.studies.summary import held
from bentpipe.studies.words import Words

WIDTH = 126
WORDS = Words((Path(__file__).parent / "reproducing_words.md").read_text(encoding="utf-8"))
"""The words of the pages."""


def headed(mode: str, title: str, lines: list[str]) -> str:
    """A page written from a run of a mode, with its title."""
    return "\n".join([WORDS.text("Head", mode=mode), "", f"# {title}", "", *lines]).rstrip("\n") + "\n"


def safe(text: str) -> str:
    """Text in which Markdown sees nothing but text."""
    return re.sub(r"([\\`*_<>|])", r"\\\1", " ".join(text.split()))


def paragraph(text: str, indent: str = "") -> str:
    """A paragraph of lines that are not too long, further lines indented."""
    return textwrap.fill(
        text, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def laid_out(text: str, lead: str = "") -> list[str]:
    """The lines of a paragraph, its long lists as lists and tables; ``lead`` is Markdown that comes first."""
    lines = []
    for block in blocks(text):
        if isinstance(block, str):
            lines += [paragraph(lead + safe(block)), ""]
        else:
            lines += [paragraph(f"{lead}{safe(block.head)}:"), ""]
        if isinstance(block, Items):
            lines += [*(paragraph(f"- {safe(item)}", "  ") for item in block.items), ""]
        elif isinstance(block, Grid):
            first = [""] if block.labelled else []
            rows = [[label, *values] if first else list(values) for label, values in block.rows]
            lines += table([*first, *map(safe, block.columns)], [[*map(safe, row)] for row in rows])
        lead = ""
    return lines


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    """The lines of a table."""
    lines = ["| " + " | ".join(cells) + " |" for cells in (head, *rows)]
    return [lines[0], "|" + "---|" * len(head), *lines[1:], ""]


def read(study: dict[str, Any]) -> list[dict[str, Any]]:
    """The readings of a study, the base first, which is all that a study without readings has."""
    if declared := study["readings"].get("readings"):
        return list(declared)
    holding, checks = held(study["claims"])
    claims = {
        claim["id"]: {"verdict": claim["verdict"], "tally": "{}/{}".format(*held([claim]))}
        for claim in study["claims"]
    }
    return [{"name": BASE, "free": 0, "choices": [], "held": holding, "checks": checks, "claims": claims}]


def each_claim(of: dict[str, Any]) -> str:
    """The claims of a reading with their marks: ``"S1 ✓ 5/5, S2 ✗ 2/6"``."""
    return ", ".join(f"{claim} {found['tally']}" for claim, found in of["claims"].items())
