"""Writes docs/controllers.md and a page for each controller, docs/controllers/ID.md.

The registry has the parameters, the head of the algorithm's source file its rules and deviations,
controller_families.toml the family, gallery_notes.toml the words about the figure, named_protocols.toml the
papers. `--check` writes nothing and fails if a page is out of date.
"""

import csv
import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import md
from md import DOCS, ROOT, shown, words

from bentpipe import _core
from bentpipe.io.toml_tables import beside
from bentpipe.machine.linux import in_a_word, way
from bentpipe.registry import GRADES
from bentpipe.studies import PAPERS

NAMED, FAMILIES, NOTES = "named_protocols.toml", "controller_families.toml", "gallery_notes.toml"
INDEX = DOCS / "controllers.md"
FOLDER = DOCS / "controllers"
SOURCES = ROOT / "crates" / "cc" / "src" / "algorithms"
NATIVE = ROOT / "crates" / "kernel" / "bpf" / "native"
ORACLE = ROOT / "crates" / "cc" / "tests" / "linux"

GIVEN = beside(__file__, "controller_page.toml")
ALIASES: Mapping[str, str] = GIVEN["aliases"]
WORDS = set(GIVEN["words"].split())

LABEL = re.compile(
    r"(?P<label>(?:Unit|Equations?|Rules?|Model|Decisions?|Deviations?|Reconstruct(?:ion|ed)|Grade [ABC])\b"
    r"[^.:]{0,70}:)"
)
"""The beginning of a part in the head of a source file."""


def page(
    entry: Mapping[str, Any],
    entries: Sequence[Mapping[str, Any]],
    family: str,
    note: str | None,
    papers: Mapping[str, Sequence[Mapping[str, Any]]],
) -> str:
    """The text of a controller's page.

    Args:
        entry: the controller in the registry.
        entries: all of them.
        family: the title of its family.
        note: words about its figure.
        papers: the protocols that each paper names (named_protocols.toml).
    """
    cc, source = entry["id"], source_of(entry["id"])
    own = [param for param in entry["params"] if not param["shared"]]
    senders = set(_column(DOCS / "linux-truth" / "cells.csv", "sender"))
    return md.page(
        "controller_page.md",
        entry=entry,
        cc=cc,
        source=source.relative_to(ROOT),
        grades=GRADES,
        origin=", ".join(part for part in (entry["source"], md.reference(entry["reference"])) if part),
        family=family,
        anchor=md.anchor,
        asked=[GIVEN["sender"][option] for option, on in entry["sender"].items() if on],
        command=command(entry),
        own=own,
        shown=shown,
        note=note,
        linux=way(cc),
        gaps=_core.kernel_gaps(cc),
        native=(NATIVE / f"{cc}.bpf.c").exists(),
        rules=rules(source, labels(entries)),
        table=table(own),
        named={
            paper: "; ".join(one["as"] for one in protocols if cc in one.get("cc", ()))
            for paper, protocols in papers.items()
        },
        others=[
            f"[{witness}](../{section})"
            for file, (column, witness, section) in GIVEN["witnesses"].items()
            if any(cc in meant(name, entry) for name in _column(DOCS / "validation" / file, column))
        ],
        oracle=cc in {ALIASES.get(one, one) for one in _oracle()},
        real=[words for how, words in GIVEN["ways"].items() if f"{how}:{cc}" in senders],
        measured=lambda file, column: cc in {name.split()[0] for name in _column(DOCS / file, column)},
    )


@cache
def _heads() -> dict[str, Path]:
    found = {}
    for file in sorted(SOURCES.glob("*.rs")):
        for cc in re.findall(r'^ +id: "([^"]+)"', file.read_text(encoding="utf-8"), re.MULTILINE):
            found[cc] = file
    return found


def source_of(cc: str) -> Path:
    """The source file of a controller, whose head has its rules."""
    return _heads()[cc]


def labels(entries: Iterable[Mapping[str, Any]]) -> dict[str, tuple[str, str]]:
    """Label and id of the first controller of each source file, by the file's name."""
    found: dict[str, tuple[str, str]] = {}
    for entry in entries:
        found.setdefault(source_of(entry["id"]).name, (entry["label"], entry["id"]))
    return found


def command(entry: Mapping[str, Any]) -> str:
    """A command that shows the controller at work, on a path that has what it needs."""
    cc = entry["id"]
    other = "reno" if cc == "cubic" else "cubic"
    marks = {"dctcp": "red", "l4s": "dualpi2"}
    kind = entry["queue"] or next((marks[o] for o, on in entry["sender"].items() if on and o in marks), None)
    if kind is None and entry["uses_extra_segments"]:
        kind = "priority"
    if kind is not None:
        more = ", ecn = true" if kind == "red" else ""
        return f"bentpipe run geo --cc {cc} --set 'link.geo.queue={{ kind = \"{kind}\"{more} }}'"
    if entry["uses_subflows"]:
        return f"bentpipe compare --scenario geo-leo-multipath --cc {cc},reno"
    if entry["uses_path_hints"]:
        return f"bentpipe compare --scenario leo-handover --cc {cc},{other}"
    return f"bentpipe compare --link geo --per 1e-4 --cc {cc},{other}"


def rules(source: Path, names: Mapping[str, tuple[str, str]]) -> str:
    """The head of a source file as Markdown of a page."""
    head = [
        line.removeprefix("//!").removeprefix(" ")
        for line in source.read_text(encoding="utf-8").splitlines()
        if line.startswith("//!")
    ]
    text = before = ""
    for kind, block in blocks(head):
        said = plain(block, names, source.name)
        if kind == "item":
            said = f"- {begun(said)}"
        elif kind == "text" and LABEL.match(said):
            said = LABEL.sub(r"**\g<label>**", said, count=1)
        text += ("\n" if kind == before == "item" else "\n\n") + said
        before = kind
    return text


def begun(item: str) -> str:
    """An item of a list with a capital letter, unless it begins with a name of the algorithm's."""
    return item[0].upper() + item[1:] if item.split(maxsplit=1)[0].rstrip(",:") in WORDS else item


def blocks(text: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Paragraphs, items and tables of a head, each with its kind; a part of it begins a paragraph."""
    kind, block = "", list[str]()
    for line in [*text, ""]:
        item = re.match(r" ?\*  ?(?=\S)", line)
        of = (
            ""
            if not line.strip()
            else "table"
            if line.startswith("|") and (kind == "table" or line.rstrip().endswith("|"))
            else "item"
            if item or (kind == "item" and line.startswith("  "))
            else "text"
        )
        if block and (of != kind or item or (of == "text" and LABEL.match(line))):
            yield kind, ("\n" if kind == "table" else " ").join(block)
            block = []
        kind = of
        if of:
            block.append(line[item.end() :] if item else line.strip())


def plain(text: str, names: Mapping[str, tuple[str, str]], own: str) -> str:
    """Links of rustdoc as code, and names of pages and of other algorithms' files as links."""
    text = re.sub(r"\[(`[^`]+`)\](?:\([^)]*\))?", r"\1", text)
    text = re.sub(r"\bdocs/(\w+\.md)\b", r"[\1](../\1)", text)

    def linked(found: re.Match[str]) -> str:
        file = found[1]
        return f"[{names[file][0]}]({names[file][1]}.md)" if file in names and file != own else found[0]

    return re.sub(r"`(\w+\.rs)`", linked, text)


def table(params: Sequence[Mapping[str, Any]]) -> str:
    """A table of parameters, if there are any."""
    rows = []
    for param in params:
        about = param["about"]
        if param["from_path"] == "BitErrorRate":
            about += "; unless given, the bit error rate of the path"
        rows.append((f"`{param['name']}`", shown(param["default"]), allowed(param), param["unit"], about))
    return md.table(("parameter", "default", "allowed", "unit", "effect"), rows) if rows else ""


def allowed(param: Mapping[str, Any]) -> str:
    """The values that a parameter takes, in words."""
    match param["kind"]:
        case "number":
            return f"{shown(param['min'])} to {shown(param['max'])}"
        case "flag":
            return "true, false"
        case _:
            return ", ".join(shown(choice) for choice in param["choices"])


@cache
def _column(file: Path, column: str) -> frozenset[str]:
    with file.open(encoding="utf-8", newline="") as lines:
        return frozenset(line[column] for line in csv.DictReader(lines))


@cache
def _oracle() -> frozenset[str]:
    return frozenset(file.stem.rsplit("-", 1)[0] for file in ORACLE.glob("*.csv"))


def meant(name: str, entry: Mapping[str, Any]) -> set[str]:
    """Ids that a witness may mean by a name: "H-TCP", "newreno-100ms-per-0", "AIMD(1/5, 1/8)"."""
    low = name.lower()
    found = {of for alias, of in ALIASES.items() if re.match(re.escape(alias) + r"(?![\w+])", low)}
    own = "|".join(re.escape(one) for one in (entry["id"], entry["label"].lower()))
    if not found and re.match(rf"({own})(?![\w+])", low):
        found = {entry["id"]}
    return found


def families(entries: Sequence[dict[str, Any]], given: list[dict[str, Any]]) -> dict[str, str]:
    """The title of each controller's family, by the controller's id.

    Raises:
        SystemExit: a controller is in no family or in two, or a name is not registered.
    """
    found: dict[str, str] = {}
    for family in given:
        for cc in family["cc"]:
            if cc in found:
                raise SystemExit(f"{FAMILIES}: {cc} is in {found[cc]} and in {family['title']}")
            found[cc] = family["title"]
    if wrong := sorted(set(found) ^ {entry["id"] for entry in entries}):
        raise SystemExit(f"{FAMILIES}: {', '.join(wrong)}: every controller is in one family")
    return found


def index(entries: Sequence[dict[str, Any]], given: list[dict[str, Any]]) -> str:
    """The page of all controllers: families, shared parameters, and the protocols that the papers name."""
    families(entries, given)
    known = {entry["id"]: entry for entry in entries}
    shared = {p["name"]: p for entry in entries for p in entry["params"] if p["shared"]}
    hint = shared.pop("path_change")
    return md.page(
        "controllers_page.md",
        None,
        count=len(entries),
        grades=GRADES,
        families=given,
        rows=lambda family: [
            (link(cc), known[cc]["label"], known[cc]["grade"], in_a_word(cc), known[cc]["about"])
            for cc in family["cc"]
        ],
        hint=table([hint]),
        shared=table(list(shared.values())),
        named=named(entries, tomllib.loads(words(NAMED))),
        table=md.table,
    )


def link(cc: str) -> str:
    """A controller's id as a link from docs/ to its page."""
    return f"[`{cc}`](controllers/{cc}.md)"


def named(
    entries: Sequence[dict[str, Any]], papers: dict[str, list[dict[str, Any]]]
) -> dict[str, list[tuple[str, str, str]]]:
    """The rows of the protocols that each paper names.

    Raises:
        SystemExit: a name is not registered, a protocol is absent without a reason, or a paper is missing.
    """
    known = {entry["id"]: link(entry["id"]) for entry in entries}
    queues = {queue["kind"] for queue in json.loads(_core.queues())}
    options = json.loads(_core.schema())["$defs"]["Flow"]["properties"]
    if missing := {paper.replace("_", "-") for paper in PAPERS} ^ set(papers):
        raise SystemExit(f"{NAMED}: {', '.join(sorted(missing))}: not the papers that are studied")
    found = {}
    for paper, protocols in papers.items():
        rows = found[paper] = list[tuple[str, str, str]]()
        for one in protocols:
            for kind, register in (("cc", known), ("queue", queues), ("option", options)):
                if strange := [name for name in one.get(kind, ()) if name not in register]:
                    raise SystemExit(f"{NAMED}, {paper}, {one['name']}: no {kind} is called {strange[0]}")
            here = [known[name] for name in one.get("cc", ())]
            here += [f"queue `{name}`" for name in one.get("queue", ())]
            here += [f"option `{name}`" for name in one.get("option", ())]
            if bool(here) == ("absent" in one):
                raise SystemExit(f"{NAMED}, {paper}, {one['name']}: say what it is here, or why it is absent")
            rows.append((one["name"], one["as"], ", ".join(here) or f"absent: {one['absent']}"))
    return found


def notes() -> dict[str, str]:
    """The words about each figure of docs/gallery, by controller."""
    return {name: " ".join(text.split()) for name, text in tomllib.loads(words(NOTES)).items()}


def pages() -> dict[Path, str]:
    """The text of every page."""
    entries = json.loads(_core.controllers())
    given = tomllib.loads(words(FAMILIES))["family"]
    family = families(entries, given)
    papers = tomllib.loads(words(NAMED))
    about = notes()
    if unknown := sorted(set(about) - set(family)):
        raise SystemExit(f"{NOTES}: no controller is called {', '.join(unknown)}")
    found = {INDEX: index(entries, given)}
    for entry in entries:
        cc = entry["id"]
        found[FOLDER / f"{cc}.md"] = page(entry, entries, family[cc], about.get(cc), papers)
    return found
