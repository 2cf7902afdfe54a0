"""Writes examples/lab.ipynb from docs/lab.md; `--check` reports whether it is up to date.

A block of TOML or Python becomes a cell that writes the file, and a block of commands a cell that runs them.
After each question comes a cell for the answer.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from md import DOCS, ROOT

from bentpipe.pages.markdown import for_code_host

PAGE = DOCS / "lab.md"
NOTEBOOK = ROOT / "examples" / "lab.ipynb"

FIRST = """\
import os
import sys
import tempfile
from pathlib import Path

from IPython.display import SVG

os.chdir(tempfile.mkdtemp())  # for the files of the lab
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
os.environ["COLUMNS"] = "90"
plain = os.environ.pop("FORCE_COLOR", None)  # a notebook's, for terminals"""


def cells(text: str) -> Iterator[tuple[str, str]]:
    """The kind and the text of each cell of a page."""
    text = re.sub(r"\]\((?![a-z]+:|#)", "](../docs/", for_code_host(text))
    title, _, rest = text.partition("\n\n")
    begins, _, rest = rest.partition("\n## ")
    yield "markdown", f"{title}\n\n{begins}"
    yield "code", FIRST
    question = None
    for part in re.split(r"^(```\w+\n.*?^```\n)", f"## {rest}", flags=re.MULTILINE | re.DOTALL):
        if part.startswith("```"):
            yield from code(part)
            continue
        for paragraph in re.split(r"\n(?=\*\*\d\.\d\*\*|#)", part):
            begun = re.match(r"\*\*(\d\.\d)\*\*|#", paragraph)
            if begun and question:
                yield "markdown", f"*Answer {question}:*"
            question = begun[1] if begun else question
            if paragraph.strip():
                yield "markdown", paragraph.strip()


def code(block: str) -> Iterator[tuple[str, str]]:
    """The cells of a block of code: a file to write, or commands and the figures that they draw."""
    language, text = re.findall(r"```(\w+)\n(.*?)\n```", block, re.DOTALL)[0]
    if language == "sh":
        yield "code", f"%%bash -e\n{text}"
        for figure in re.findall(r"-o (\S+\.svg)", text):
            yield "code", f'SVG("{figure}")'
    else:
        (name,) = re.findall(r"\A# (\S+)\n", text)
        yield "code", f"%%writefile {name}\n{text}"


def notebook(text: str) -> str:
    """The notebook of a page."""
    found: list[dict[str, Any]] = []
    for number, (kind, source) in enumerate(cells(text)):
        cell: dict[str, Any] = {"cell_type": kind, "id": f"{number:02}", "metadata": {}}
        if kind == "code":
            cell |= {"execution_count": None, "outputs": []}
        found.append(cell | {"source": source.splitlines(keepends=True)})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    whole = {"cells": found, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def pages() -> dict[Path, str]:
    """The notebook."""
    return {NOTEBOOK: notebook(PAGE.read_text(encoding="utf-8"))}
