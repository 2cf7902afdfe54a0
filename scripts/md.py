"""Parts of Markdown pages that are written by programs: tables, links, anchors, and the pages' `--check`."""

import argparse
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bentpipe.pages.markdown import laid_out, markdown, rendered, replaced, texts

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"


def words(name: str) -> str:
    """A file beside this one, with the words of a page that are written by hand."""
    return (ROOT / "scripts" / name).read_text(encoding="utf-8")


def page(template: str, width: int | None = 110, /, **values: Any) -> str:
    """A page from its template beside this file.

    Paragraphs and items get lines of `width` columns; with None they stay as the template has them.
    """
    text = rendered(ROOT / "scripts" / template, **values)
    return re.sub(r"\n{3,}", "\n\n", text).rstrip("\n") + "\n" if width is None else laid_out(text, width)


def filled(page: Path, parts: Mapping[str, str]) -> dict[Path, str]:
    """A page of docs with other texts between its marks; a part has the name of its marks."""
    text = page.read_text(encoding="utf-8")
    for name, part in parts.items():
        text = replaced(text, name, part)
    return {page: text}


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose columns are to the left."""
    return markdown(texts(heads), rows)


def shown(value: Any) -> str:
    """A value as a scenario would write it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:.10g}" if isinstance(value, int | float) else f'"{value}"'


def reference(text: str) -> str:
    """A DOI or an RFC number, linked."""
    if text.startswith("doi:"):
        return f"[{text}](https://doi.org/{text.removeprefix('doi:')})"
    if text.startswith("RFC ") and text.removeprefix("RFC ").isdigit():
        return f"[{text}](https://www.rfc-editor.org/rfc/rfc{text.removeprefix('RFC ')})"
    return text


def anchor(heading: str) -> str:
    """The anchor that Markdown readers make of a heading."""
    return "".join(c for c in heading.lower() if c.isalnum() or c in " -_").replace(" ", "-")


def stale(pages: Mapping[Path, str], folder: Path | None = None) -> list[str]:
    """The pages that are not as given, and the pages of `folder` that are not among them; a line each."""
    wrong = [
        f"{_named(path)} does not agree with its source"
        for path, text in pages.items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    others = sorted(set(folder.glob("*.md")) - set(pages)) if folder is not None else []
    return wrong + [f"{_named(path)} has no source" for path in others]


def _named(path: Path) -> Path:
    """A page by its path in the repository."""
    return path.relative_to(ROOT) if path.is_relative_to(ROOT) else path


def taken_or_simulated(
    about: str | None, what: str, take_over: Callable[[Path], None], simulate: Callable[[], None]
) -> None:
    """The command line of a page whose real transfers are stored: new ones, or all simulations again."""
    parser = command_line(about)
    asked = parser.add_mutually_exclusive_group(required=True)
    asked.add_argument("--from", dest="folder", type=Path, help=f"take over what {what} wrote there")
    asked.add_argument("--simulate", action="store_true", help="simulate all that is stored again")
    given = parser.parse_args()
    if given.folder is not None:
        take_over(given.folder)
    else:
        simulate()


def command_line(about: str | None) -> argparse.ArgumentParser:
    """The command line of a program; `about` is its help text, with its own line breaks."""
    return argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
