"""Phrases that a native engineer would not write: how often they occur, and no more often than before.

    python scripts/english.py                   # compare with scripts/english.toml (part of `make lint`)
    python scripts/english.py --list "so many"  # the places of one phrase
    python scripts/english.py --update          # lower the numbers in scripts/english.toml to those of today

The text is the prose of pages without code, docstrings and comments of Python, and comments of Rust. A number
in english.toml is the most that an area may have of a phrase; `--update` never raises one. Exit status 0, or
1 if an area has more of a phrase than its number.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import sys
import tokenize
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "scripts" / "english.toml"
WIDTH = 110
"""Columns of a comment of Rust; the phrase `LONG` counts the lines beyond."""
LONG = "long comment"


@dataclass(frozen=True)
class ProseLine:
    """A line of prose: the file, the number of the line, and its text."""

    path: Path
    number: int
    text: str


def pages() -> Iterator[ProseLine]:
    """Prose of README.md, CONTRIBUTING.md and docs/*.md: no code blocks, no code between backquotes."""
    for path in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]:
        code = False
        for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            fence = text.lstrip().startswith("```")
            if not fence and not code:
                yield ProseLine(path, number, re.sub(r"`[^`]*`", "", text))
            code ^= fence


def docstrings() -> Iterator[ProseLine]:
    """Docstrings and comments of Python."""
    for folder in ("python/bentpipe", "scripts"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield from _of_python(path, path.read_text(encoding="utf-8"))


def _of_python(path: Path, source: str) -> Iterator[ProseLine]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            if isinstance(node.value.value, str):
                for offset, text in enumerate(node.value.value.splitlines()):
                    yield ProseLine(path, node.lineno + offset, text)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield ProseLine(path, token.start[0], token.string)


def comments() -> Iterator[ProseLine]:
    """Comments of Rust, with their indentation."""
    for path in sorted((ROOT / "crates").rglob("*.rs")):
        for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if text.lstrip().startswith("//"):
                yield ProseLine(path, number, text)


AREAS = {"pages": pages, "python": docstrings, "rust": comments}


def found(phrase: str, area: str, lines: list[ProseLine]) -> list[ProseLine]:
    """The lines of an area that have the phrase, once for each time."""
    if phrase == LONG:
        return [line for line in lines if area == "rust" and len(line.text) > WIDTH]
    if phrase == "What/Which/How ...":
        first = re.compile(r"(What|Which|How|Where|Who|When|Why)\b")
        return [line for line in lines if area == "python" and line.number == 1 and first.match(line.text)]
    pattern = re.compile(rf"\b{phrase}\b", re.IGNORECASE)
    return [line for line in lines for _ in pattern.findall(line.text)]


def written(limits: dict[str, dict[str, int]], better: dict[str, str]) -> str:
    """The text of english.toml."""
    head = "# The most that an area may have of a phrase: numbers fall, none rises (scripts/english.py).\n"
    parts = [
        f'\n["{phrase}"]\nbetter = "{better[phrase]}"\n'
        + "".join(f"{area} = {number}\n" for area, number in of.items())
        for phrase, of in limits.items()
    ]
    return head + "".join(parts)


def main() -> int:
    """Counts, and compares or lowers the numbers."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--list", metavar="PHRASE", help="the places of a phrase")
    parser.add_argument("--update", action="store_true", help="lower the numbers")
    given = parser.parse_args()
    table = tomllib.loads(FILE.read_text(encoding="utf-8"))
    text = {area: list(lines()) for area, lines in AREAS.items()}
    if given.list is not None:
        if given.list not in table:
            parser.error(f"there is no phrase {given.list!r}; there are {', '.join(table)}")
        for area, lines in text.items():
            for line in found(given.list, area, lines):
                print(f"{line.path.relative_to(ROOT)}:{line.number}: {line.text.strip()}")
        return 0
    counts = {phrase: {area: len(found(phrase, area, text[area])) for area in AREAS} for phrase in table}
    if given.update:
        lower = {p: {a: min(n, table[p].get(a, n)) for a, n in of.items()} for p, of in counts.items()}
        FILE.write_text(written(lower, {p: table[p]["better"] for p in table}), encoding="utf-8")
        return 0
    more = [(p, a, n, table[p][a]) for p, of in counts.items() for a, n in of.items() if n > table[p][a]]
    for phrase, area, number, most in more:
        print(
            f"english: {phrase!r} occurs {number} times in {area}, {most} before; better: "
            f'{table[phrase]["better"]}; see scripts/english.py --list "{phrase}"',
            file=sys.stderr,
        )
    return bool(more)


if __name__ == "__main__":
    sys.exit(main())
