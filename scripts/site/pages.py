"""Hooks of mkdocs: pages written from the code, and links that lead out of docs/.

mkdocs calls `on_config`, `on_files` and `on_page_markdown`. The pages of docs/ are written for a code host.
There README.md is above them, with the sources, and a list needs no empty line before it.
"""

from __future__ import annotations

import logging
import re
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from bentpipe.pages.markdown import for_code_host, rendered
from bentpipe.web.installed import MODULE

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
COPIED = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
"""Pages above docs/, and their names on the site."""
TEMPLATES = Path(__file__).parent
_FRAME = (
    '<iframe class="live" src="simulator.html#view=figure&scenario={}" loading="lazy" title="{}"></iframe>'
    "\n\n[Open it in full](simulator.html#scenario={})"
)
LIVE = {
    "index.md": "**Try it here**: [the simulator in this browser](simulator.html).",
    "web.md": "**Try it here**: [the simulator](simulator.html), and [the lab](lab-in-the-browser.html).",
    "lab.md": "**Without an install**: [this lab with the simulator inside](lab-in-the-browser.html).",
    "tutorial.md": _FRAME.format("geo", "A flow over a geostationary link, with sliders", "geo"),
    "gallery.md": _FRAME.format("geo-star", "A flow of any controller, with sliders", "geo-star"),
}
"""What pages have of the simulator on the site, behind their first paragraph."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages that are not in docs/."""
    from mkdocs.structure.files import File

    def add(name: str, content: str | bytes) -> None:
        files.append(File.generated(config, name, content=content))

    for name, target in COPIED.items():
        add(target, lowered((ROOT / name).read_text(encoding="utf-8")))
    for name in ("LICENSE-MIT", "LICENSE-APACHE"):
        add(f"{name}.txt", (ROOT / name).read_text(encoding="utf-8"))
    for name in ("iframe-worker.js", "site.css"):
        add(f"assets/{name}", (Path(__file__).parent / name).read_text(encoding="utf-8"))
    add("cli.md", command_line())
    add("python.md", python())
    add("presets.md", presets())
    for name, content in simulated():
        add(name, content)
    for notebook in sorted((ROOT / "examples").glob("*.ipynb")):
        for name, content in executed(notebook):
            add(f"notebooks/{name}", content)
    return files


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Makes the navigation from docs/README.md."""
    # --quiet hides warnings as well, and then --strict does not count them.
    logging.getLogger("mkdocs").setLevel(logging.WARNING)
    config.nav = navigation((ROOT / "docs" / "README.md").read_text(encoding="utf-8"))
    return config


def navigation(text: str) -> list[dict[str, Any]]:
    """The sections of the list of all pages, with the pages that only the site has."""
    sections: list[dict[str, Any]] = []
    items: list[Any] = []
    for line in text.splitlines():
        if heading := re.match(r"(##+) (.+)", line):
            if len(heading[1]) == 2:
                items = top = []
                sections.append({heading[2]: top})
            else:
                items = []
                top.append({heading[2]: items})
            if heading[2] == "Reference":
                items += [{"Command line": "cli.md"}, {"Python": "python.md"}]
        elif link := re.match(r"- (\[([^\]]+)\]\([^)]+\))", line):
            page = re.sub(r".*\]\((.*)\)", r"\1", inside(link[1]))
            items.append({link[2]: ["controllers.md", *families()] if page == "controllers.md" else page})
    return sections


def families() -> list[dict[str, list[str]]]:
    """The pages of the controllers, by family."""
    text = (ROOT / "scripts" / "controller_families.toml").read_text(encoding="utf-8")
    return [{f["title"]: [f"controllers/{cc}.md" for cc in f["cc"]]} for f in tomllib.loads(text)["family"]]


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Makes a page of a code host one of the site."""
    text = spaced(inside(begun(for_code_host(markdown))))
    live = LIVE.get(page.file.src_uri) if MODULE.is_file() else None
    return text if live is None else after_title(text, live)


def simulated() -> Iterator[tuple[str, str]]:
    """The page that simulates, and the lab in it; nothing where `make site WEB=` has not compiled it."""
    if not MODULE.is_file():
        return
    sys.path.insert(0, str(ROOT / "scripts"))
    from lab_page import lab

    from bentpipe.web import page

    module = MODULE.read_bytes()
    yield "simulator.html", page(module)
    yield "lab-in-the-browser.html", page(module, lab=lab())


def after_title(text: str, more: str) -> str:
    """The text with more behind its first paragraph."""
    head, first, rest = re.match(r"(.*?^# [^\n]*\n+)(.*?\n\n)(.*)", text, re.DOTALL | re.MULTILINE).groups()
    return f"{head}{first}{more}\n\n{rest}"


def begun(text: str) -> str:
    """The text from its heading on: behind a comment mkdocs does not find the title of a page."""
    return re.sub(r"\A\s*<!--.*?-->\s*", "", text, flags=re.DOTALL)


def lowered(text: str) -> str:
    """A page from above docs/, adapted to a place inside it."""
    text = re.sub(r"\]\(docs/", "](", text)
    text = re.sub(r"\]\(scenarios/?\)", "](presets.md)", text)
    text = re.sub(r"\]\((LICENSE-\w+)\)", r"](\1.txt)", text)
    text = re.sub(r"\]\(examples/([\w-]+)\.ipynb\)", r"](notebooks/\1.md)", text)
    for name, target in COPIED.items():
        text = text.replace(f"]({name}", f"]({target}")
    return re.sub(r"\[([\w.-]+)\]\(\1\)", r"`\1`", text)  # a file that is no page


def inside(text: str) -> str:
    """Links of a page in docs/ that lead out of it: to a page of the site, or the name of the source."""
    for name, target in COPIED.items():
        text = text.replace(f"](../{name}", f"]({target}")
    text = re.sub(r"\]\(\.\./examples/([\w-]+)\.ipynb\)", r"](notebooks/\1.md)", text)
    text = re.sub(r"\]\(\.\./scenarios/?\)", "](presets.md)", text)
    text = re.sub(r"\[([^\]]*)\]\(validation/?\)", r"\1", text)  # the folder itself
    text = re.sub(r"\[([\w./-]+)\]\((?:\.\./)+\1/?\)", r"`\1`", text)  # the text is the place
    source = r"\[([^\]]*)\]\((?:\.\./)+((?:crates|scenarios|scripts|python)/[^)]*)\)"
    return re.sub(source, r"\1 (`\2`)", text)


def spaced(text: str) -> str:
    """The text with an empty line before each list, outside of code."""
    lines: list[str] = []
    fence = None
    for line in text.split("\n"):
        mark = re.match(r" {0,3}(```+|~~~+)", line)
        if mark and fence is None:
            fence = mark[1]
        elif mark and fence is not None and line.strip().startswith(fence):
            fence = None
        item = re.match(r"(?:[-*]|\d+\.) ", line)
        before = lines[-1] if lines else ""
        if fence is None and item and before.strip() and not re.match(r"(?:[-*]|\d+\.) |\s", before):
            lines.append("")
        lines.append(line)
    return "\n".join(lines)


def command_line() -> str:
    """Every verb and option, as typer lists them."""
    import typer
    from typer.cli import get_docs_for_click
    from typer.core import MARKUP_MODE_KEY

    from bentpipe.cli.application import application

    made = application()
    command = typer.main.get_command(made)
    context = typer.Context(command, obj={MARKUP_MODE_KEY: made.rich_markup_mode})
    text = get_docs_for_click(obj=command, ctx=context, name="bentpipe").strip()
    return f"{text}\n".replace("# `bentpipe`", "# Command line", 1).replace("\n## `bentpipe ", "\n## `")


def python() -> str:
    """The public names of the package, by the module that defines them."""
    import bentpipe

    homes: dict[str, list[str]] = {}
    modules = []
    for name in bentpipe.__all__:
        value = getattr(bentpipe, name)
        if isinstance(value, ModuleType):
            modules.append(name)
        elif (home := getattr(value, "__module__", "")).startswith("bentpipe."):
            homes.setdefault(home, []).append(name)  # not the exceptions of the extension: the head has them
    order = ["scenario", "models", "runs", "result", "comparison"]

    def place(home: str) -> tuple[int, str]:
        name = home.removeprefix("bentpipe.")
        return (order.index(name) if name in order else len(order), home)

    return rendered(
        TEMPLATES / "python.md",
        homes={h: homes[h] for h in sorted(homes, key=place)},
        modules={m: members(m) for m in modules},
    )


def members(module: str) -> list[str]:
    """What mkdocstrings shows of a module: its public names, wherever they are defined."""
    import importlib

    found = importlib.import_module(f"bentpipe.{module}")
    return sorted(
        getattr(found, "__all__", None)
        or [
            name
            for name, value in vars(found).items()
            if not name.startswith("_") and getattr(value, "__module__", None) == found.__name__
        ]
    )


def presets() -> str:
    """The scenarios that come with the package, each with its text."""
    from bentpipe.presets.shipped import shipped

    return rendered(TEMPLATES / "presets.md", presets=shipped())


def executed(notebook: Path) -> Iterator[tuple[str, str | bytes]]:
    """A notebook that has just been run, as a page and its pictures.

    Raises:
        CellExecutionError: a cell failed.
    """
    import nbformat
    from jupyter_client.manager import AsyncKernelManager
    from nbclient import NotebookClient
    from nbconvert import MarkdownExporter
    from nbconvert.preprocessors import CoalesceStreamsPreprocessor

    content: Any = nbformat.read(notebook, as_version=4)
    where = {"metadata": {"path": str(notebook.parent)}}
    with tempfile.TemporaryDirectory() as folder:  # for sockets: nothing listens on the network
        kernel = AsyncKernelManager(transport="ipc", connection_file=f"{folder}/kernel.json")
        NotebookClient(content, km=kernel, timeout=120, resources=where).execute()
    exporter = MarkdownExporter()
    exporter.register_preprocessor(CoalesceStreamsPreprocessor, enabled=True)
    text, resources = exporter.from_notebook_node(content, {"output_files_dir": f"{notebook.stem}_files"})
    text = text.replace("](../docs/", "](../")
    yield (
        f"{notebook.stem}.md",
        f"{text}\n\nThe notebook itself: `examples/{notebook.name}` in the sources.\n",
    )
    yield from resources["outputs"].items()
