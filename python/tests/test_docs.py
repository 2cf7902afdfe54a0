"""Links between pages: the file exists, and the heading that a link names is on it."""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from bentpipe.cli.application import ORDER
from bentpipe.pages.markdown import for_code_host

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def prose(path: Path) -> str:
    """The text of a page without its blocks of code."""
    return re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


@cache
def anchors(path: Path) -> frozenset[str]:
    """The names that a code host gives to the headings of a page, and those that the page gives itself."""
    found: dict[str, int] = {}
    names = set()
    for heading in re.findall(r"^#+ (.+)$", prose(path), re.MULTILINE):
        text = re.sub(r"\]\([^)]*\)", "", heading).lower()
        name = "".join(c for c in text if c.isalnum() or c in " -_").strip().replace(" ", "-")
        names.add(name if name not in found else f"{name}-{found[name]}")
        found[name] = found.get(name, 0) + 1
    return frozenset(names | set(re.findall(r'<a (?:id|name)="([^"]+)"', prose(path))))


def test_every_link_leads_somewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """But to pictures that `make site` draws; mkdocs finds a link to one that is not drawn."""
    monkeypatch.syspath_prepend(ROOT / "scripts")
    docs = import_module("docs")
    wrong, links = [], 0
    for path in PAGES:
        for target in re.findall(r"\]\(([^)\s]+)\)", prose(path)):
            if re.match(r"[a-z]+:", target):
                continue
            links += 1
            file, _, name = target.partition("#")
            place = (path.parent / file).resolve() if file else path
            if file and docs.is_picture(place):
                continue
            if not place.exists():
                wrong.append(f"{path.relative_to(ROOT)}: {target}: no such file")
            elif name and name not in anchors(place):
                wrong.append(f"{path.relative_to(ROOT)}: {target}: no such heading")
    assert not wrong, "\n".join(wrong)
    assert links > 1000


def test_the_anchor_of_a_heading_is_that_of_a_code_host(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# (k, l) history (`kl`)\n\n## TCP New Jersey, `x`\n\n```sh\n# no heading\n```\n\n## Again\n\n"
        "### Again\n",
        encoding="utf-8",
    )
    assert anchors(page) == {"k-l-history-kl", "tcp-new-jersey-x", "again", "again-1"}


def test_the_list_of_pages_has_every_page_once() -> None:
    """But the pages of the controllers, which `controllers.md` lists."""
    listed = re.findall(r"\]\(([\w/-]+\.md)\)", (ROOT / "docs" / "README.md").read_text(encoding="utf-8"))
    pages = {str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md")}
    assert sorted(listed) == sorted(
        page for page in pages if page != "README.md" and not page.startswith("controllers/")
    )
    notebooks = re.findall(r"\(\.\./examples/([\w-]+\.ipynb)\)", (ROOT / "docs" / "README.md").read_text())
    assert sorted(notebooks) == sorted(path.name for path in (ROOT / "examples").glob("*.ipynb"))


def test_the_navigation_of_the_site_follows_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "scripts" / "site")
    site = import_module("pages")
    found = site.navigation(
        "# All\n\n## Start\n\n- [Overview](../README.md): what it is\n- [A book](../examples/book.ipynb)\n\n"
        "## Results\n\n- [Gallery](gallery.md)\n\n### Papers\n\n- [One](reproducing/one.md): a paper\n"
    )
    assert found == [
        {"Start": [{"Overview": "index.md"}, {"A book": "notebooks/book.md"}]},
        {"Results": [{"Gallery": "gallery.md"}, {"Papers": [{"One": "reproducing/one.md"}]}]},
    ]


def test_the_page_of_the_command_line_has_every_verb(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "scripts" / "site")
    page = import_module("pages").command_line()
    assert page.startswith("# Command line\n")
    assert re.findall(r"^## `([\w-]+)`$", page, re.MULTILINE) == ORDER
    assert "### `bentpipe plot timeline`" in page and "* `--measures NAMES`" in page


def test_the_notebook_of_the_lab_is_its_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "scripts")
    lab = import_module("lab_notebook")
    page = for_code_host(lab.PAGE.read_text(encoding="utf-8"))
    assert lab.NOTEBOOK.read_text(encoding="utf-8") == lab.notebook(page)
    kinds = [kind for kind, _ in lab.cells(page)]
    commands = [line for kind, text in lab.cells(page) if kind == "code" for line in text.splitlines()]
    assert sum(line.startswith("bentpipe ") for line in commands) == len(
        re.findall(r"^bentpipe ", page, re.MULTILINE)
    )
    assert sum("*Answer " in text for _, text in lab.cells(page)) == len(
        re.findall(r"^\*\*\d\.\d\*\*", page, re.MULTILINE)
    )
    assert kinds[:2] == ["markdown", "code"]
