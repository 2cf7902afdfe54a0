"""Writes docs/lab.md as one HTML file with the simulator inside: `scripts/lab_page.py MODULE.wasm FILE`.

A command of the lab becomes a button, which does in the page what the command does in a terminal: `run` opens
the scenario with its changes, `compare` and `sweep` run every combination with every seed and give a table. A
block of TOML becomes a file that the page opens, and a class in JavaScript goes into its editor. Behind each
question are fields for the answers; those with numbers are checked (scripts/lab_answers.toml). A comment
`<!-- page ... -->` in docs/lab.md has the words for the page in place of the block that follows it. The
solutions are not in the file.
"""

from __future__ import annotations

import itertools
import json
import re
import shlex
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup, escape
from md import DOCS, ROOT

from bentpipe.comparison import base_and_model, flow_name
from bentpipe.document.plain import document
from bentpipe.document.source import Source
from bentpipe.io.files import replace_text
from bentpipe.pages.markdown import PAGE_WORDS
from bentpipe.registry import find
from bentpipe.web import Exercise, page

PAGE = DOCS / "lab.md"
ANSWERS = ROOT / "scripts" / "lab_answers.toml"
LAST = "\n## If there is time"
"""Where what needs an installation begins."""
RIGHT = ("value", "within", "least", "most")
"""Keys of a field that say which numbers are right."""
_AXES = re.compile(r"^seeds = [^\n]*\n|\n*^\[vary\]\n.*", re.MULTILINE | re.DOTALL)
_QUESTION = re.compile(r"\*\*(\d\.\d)\*\*")


@dataclass
class Writer:
    """Turns the page into HTML, and collects the work of its buttons.

    Attributes:
        answers: the fields behind each question.
        folder: where its files are written, so that commands find them.
        files: the text of each file by its name.
        jobs: the work of each button, in their order.
        question: the number of the question that has no fields yet.
    """

    answers: Mapping[str, Any]
    folder: Path
    files: dict[str, str] = field(default_factory=dict)
    jobs: list[dict[str, Any]] = field(default_factory=list)
    question: str | None = None

    def html(self, text: str) -> Iterator[str]:
        """The parts of the page."""
        yield from self._parts(
            PAGE_WORDS.sub(lambda found: f"<!-- page {json.dumps(found[1])} -->\n\n", text)
        )
        yield self.asked(None)

    def _parts(self, text: str) -> Iterator[str]:
        parser = MarkdownIt("commonmark").enable("table")
        replaced = False
        for block in blocks(parser.parse(text)):
            first = block[0]
            words = re.fullmatch(r"<!-- page (.*) -->\s*", first.content, re.DOTALL)
            if first.type == "html_block" and words:
                yield from self._parts(json.loads(words[1]))
                replaced = True
                continue
            if replaced:
                replaced = False
                continue
            found = _QUESTION.match(block[1].content) if len(block) > 1 else None
            if found or first.type == "heading_open":
                yield self.asked(found[1] if found else None)
            if first.type == "fence":
                yield self.code(first.info, first.content)
            else:
                yield parser.renderer.render(linked(block), parser.options, {})

    def code(self, language: str, text: str) -> str:
        """A block of code: a file that can be opened, or buttons for commands."""
        if language == "sh":
            lines = [line for line in text.splitlines() if not line.startswith("bentpipe plot")]
            return f'<p class="do">{"".join(self.button(line) for line in lines)}</p>'
        name = re.match(r"(?:#|//) (\S+)\n", text)
        if name is None:
            return f"<pre>{escape(text)}</pre>"
        if language == "js":
            code = text[name.end() :]
            return self._file(name[1], code, {"code": code}, "Put it into the editor")
        self.files[name[1]] = text
        (self.folder / name[1]).write_text(text, encoding="utf-8")
        # The axes of a sweep are for its button.
        job = {
            "open": _AXES.sub("", text) if "[vary]" in text else text,
            "name": Path(name[1]).stem,
            "changes": [],
        }
        return self._file(name[1], text, job, "Open it in the simulator")

    def _file(self, name: str, text: str, job: dict[str, Any], words: str) -> str:
        """A file and the button that does something with it."""
        return (
            f"<details open><summary>{escape(name)}</summary><pre>{escape(text)}</pre></details>"
            f'<p class="do">{self._made(job, words)}</p>'
        )

    def button(self, line: str) -> str:
        """The button of a command."""
        _, verb, *words = shlex.split(line)
        names = [word for word in words if not word.startswith("--")]
        options = [(words[i], words[i + 1]) for i, word in enumerate(words) if word.startswith("--")]
        given = dict(options)
        if verb == "run":
            sets = [tuple(value.split("=", 1)) for name, value in options if name == "--set"]
            sets += [(f"flow.{i}.cc", given["--cc"]) for i in range(2) if "--cc" in given]
            said = ", ".join(
                sorted({f"{key.rpartition('.')[2]} {shown(plain(value))}" for key, value in sets})
            )
            job: dict[str, Any] = {"open": self.files[names[0]], "name": Path(names[0]).stem, "changes": sets}
            return self._made(job, f"Run {names[0]}" + (f", {said}" if said else ""))
        rows, seeds = self.swept(names[0]) if verb == "sweep" else self.compared(given)
        columns = ["relay"] if "--relay" in given else list(rows[0]["keys"])
        job = {"rows": rows, "seeds": seeds, "columns": columns}
        return self._made(
            job, f"Run {len(rows)} cases with {seeds} seeds each" if seeds > 1 else f"Run {len(rows)} cases"
        )

    def swept(self, name: str) -> tuple[list[dict[str, Any]], int]:
        """Each combination of a sweep, and the number of seeds."""
        table = tomllib.loads(self.files[name])
        axes = table["vary"]
        rows = []
        for values in itertools.product(*axes.values()):
            overrides = dict(zip(axes, values, strict=True))
            keys = {key.rpartition(".")[2]: shown(value) for key, value in overrides.items()}
            rows.append({"keys": keys, "text": self._text(name, overrides)})
        return rows, int(table["seeds"])

    def compared(self, given: Mapping[str, str]) -> tuple[list[dict[str, Any]], int]:
        """Each algorithm and relay of a comparison, and the number of seeds."""
        name = given.get("--scenario") or given["--link"]
        whole = "--scenario" in given
        base, model = base_and_model(self.folder / name, whole=whole)
        # As `bentpipe compare` names them: equal names meet equal random numbers.
        called = flow_name(model, base.flows) if whole else "compared"
        rows = []
        for cc, relay in itertools.product(given["--cc"].split(","), given.get("--relay", "").split(",")):
            overrides: dict[str, Any] = {"flow.0.name": called, "flow.0.cc": cc}
            if "--per" in given:
                (link,) = tomllib.loads(self.files[name])["link"]
                overrides[f"link.{link}.loss"] = {"kind": "packet-error", "rate": float(given["--per"])}
            if "--for" in given:
                overrides["duration"] = given["--for"]
            if relay:
                overrides["flow.0.relay"] = relay
            keys = {"cc": shown(cc), **({"relay": shown(relay)} if relay else {})}
            rows.append({"keys": keys, "text": self._text(name, overrides)})
        return rows, int(given["--seeds"])

    def asked(self, following: str | None) -> str:
        """The fields for the answer to the question before, if there is one; the following one begins."""
        question, self.question = self.question, following
        if question is None:
            return ""
        given = self.answers.get(question, {})
        fields = "".join(
            f'<label>{escape(one["label"])} <input inputmode="decimal" autocomplete="off" '
            + "".join(f'data-{key}="{one[key]}" ' for key in RIGHT if key in one)
            + f"> {escape(one.get('unit', ''))} <output></output></label>"
            for one in given.get("field", [])
        )
        check = '<button type="button" class="check">Check the numbers</button>' if fields else ""
        return (
            f'<div class="answer" data-question="{question}">{fields}{check}'
            f'<label class="why">Answer {question}<textarea rows="3"></textarea></label>'
            + ('<pre class="own-code"></pre>' if given.get("code") else "")
            + "</div>"
        )

    def _text(self, name: str, overrides: Mapping[str, Any]) -> str:
        return document(Source(self.folder / name).load(overrides, sweep=True))

    def _made(self, job: dict[str, Any], words: str) -> str:
        self.jobs.append(job)
        return f'<button type="button" data-job="{len(self.jobs) - 1}">{escape(words)}</button> '


def blocks(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """The tokens of each block at the top of a page."""
    block: list[Token] = []
    depth = 0
    for token in tokens:
        block.append(token)
        depth += token.nesting
        if depth == 0:
            yield block
            block = []


def linked(block: list[Token]) -> list[Token]:
    """The block without links to other pages, which are not in the file."""
    for token in block:
        inside = token.children or []
        for i, one in enumerate(inside):
            if one.type == "link_open" and not str(one.attrs["href"]).startswith("#"):
                end = next(k for k in range(i, len(inside)) if inside[k].type == "link_close")
                one.tag = inside[end].tag = "i"
                one.attrs = {}
        if token.type == "heading_open" and token.tag != "h1":
            token.attrs["id"] = anchor(block[1].content)
    return block


def anchor(text: str) -> str:
    """The name of a heading, as code hosts make it."""
    return re.sub(r"[^\w -]", "", text.lower()).replace(" ", "-")


def plain(value: str) -> str:
    """A value of TOML without its quotes."""
    return value.strip('"')


def shown(value: Any) -> str:
    """An algorithm by its display name; anything else as it is written."""
    try:
        return str(find(str(value))["label"])
    except ValueError:
        return str(value).removeprefix("javascript:")


def lab() -> Exercise:
    """The lab for the page."""
    answers = tomllib.loads(ANSWERS.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        writer = Writer(answers, Path(folder))
        here = PAGE.read_text(encoding="utf-8").partition(LAST)[0]
        text = Markup("".join(writer.html(here)))
    return Exercise(text, writer.jobs)


if __name__ == "__main__":
    module, file = map(Path, sys.argv[1:])
    file.parent.mkdir(parents=True, exist_ok=True)
    replace_text(file, page(module.read_bytes(), lab=lab()))
    print(f"{file}, {file.stat().st_size:,} bytes")
