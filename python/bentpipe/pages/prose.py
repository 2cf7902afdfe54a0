"""The text of a page: plain strings, escaped, with the few things between them that are not plain."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from markupsafe import Markup, escape

#: The colours of a badge: holds, holds in part, does not hold, neutral.
Tone = Literal["good", "partly", "bad", "plain"]

_NUMBER = re.compile(r"[-−+]?[\d.,]+(e[-+]?\d+)?( ± [\d.,]+)?( ?(%|[kMG]?bit/s|m?s|packets))?")


@dataclass(frozen=True)
class Hyperlink:
    """Words that lead elsewhere: to ``"#id"`` of the same page or to a file beside it."""

    text: str
    href: str


@dataclass(frozen=True)
class Badge:
    """Words on a ground whose colour gives their meaning."""

    text: str
    tone: Tone = "plain"


@dataclass(frozen=True)
class Snippet:
    """Words of a program or a command, in a typewriter's face."""

    text: str


Piece: TypeAlias = str | int | float | Hyperlink | Badge | Snippet | None
#: A sentence, a cell, a caption: one piece or several in a row.
Prose: TypeAlias = Piece | Sequence[Piece]


def html(prose: Prose) -> Markup:
    """The HTML of it. None and NaN are shown as a dash, other numbers with up to five digits."""
    if isinstance(prose, str):
        return escape(prose)
    if isinstance(prose, Hyperlink):
        return Markup('<a href="{}">{}</a>').format(prose.href, prose.text)
    if isinstance(prose, Badge):
        return Markup('<span class="badge {}">{}</span>').format(prose.tone, prose.text)
    if isinstance(prose, Snippet):
        return Markup("<code>{}</code>").format(prose.text)
    if isinstance(prose, bool):
        return Markup("yes" if prose else "no")
    if prose is None or isinstance(prose, int | float):
        return Markup(_shown(prose))
    return Markup("").join(html(piece) for piece in prose)


def with_snippets(text: str) -> list[Piece]:
    """A text in which words of a program are between backquotes."""
    return [Snippet(part) if i % 2 else part for i, part in enumerate(text.split("`"))]


def is_number(prose: Prose) -> bool:
    """Whether it is a number, with or without an interval and a unit, which must not be broken into lines."""
    if isinstance(prose, str):
        return _NUMBER.fullmatch(prose) is not None
    return isinstance(prose, int | float) and not isinstance(prose, bool)


def slug(text: str) -> str:
    """The text as the name of a place on a page: ``"Goodput, by loss"`` becomes ``"goodput-by-loss"``."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "part"


def _shown(number: float | None) -> str:
    if number is None or math.isnan(number):
        return "-"
    if isinstance(number, int):
        return f"{number:,}"
    if 1e4 <= abs(number) < 1e15:
        return f"{number:,.0f}"
    return f"{number:.5g}"
