"""Writes docs/controllers.md and a page for each controller, docs/controllers/ID.md.

The registry has the parameters, the head of the algorithm's source file its rules and deviations,
controller_families.toml the family, gallery_notes.toml the words about the figure, named_protocols.toml the
papers. `--check` writes nothing and fails if a page is out of date.
"""

import json
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import md
from controller_page import page, table
from md import DOCS, words

from bentpipe import _core
from bentpipe.linux import in_a_word
from bentpipe.registry import GRADES
from bentpipe.studies import PAPERS

NAMED, FAMILIES, NOTES = "named_protocols.toml", "controller_families.toml", "gallery_notes.toml"
INDEX = DOCS / "controllers.md"
FOLDER = DOCS / "controllers"


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
