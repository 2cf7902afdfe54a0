"""Writes docs/controllers.md and a page for each controller, docs/controllers/ID.md.

The registry has the parameters, the head of the algorithm's source file its rules and deviations,
controller_families.toml the family, gallery_notes.toml the words about the figure, named_protocols.toml the
papers. `--check` writes nothing and fails if a page is out of date.
"""

import json
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from controller_page import page, table
from md import DOCS, row, write

from bentpipe import _core
from bentpipe.linux import in_a_word
from bentpipe.registry import GRADES
from bentpipe.studies import PAPERS

NAMED = Path(__file__).with_name("named_protocols.toml")
FAMILIES = Path(__file__).with_name("controller_families.toml")
NOTES = Path(__file__).with_name("gallery_notes.toml")
INDEX = DOCS / "controllers.md"
FOLDER = DOCS / "controllers"

HEAD = """\
<!-- Written from the registry (crates/cc/src/registry.rs) by scripts/controllers_md.py. Use `make docs`. -->

# Controllers

Each of the {count} congestion controllers has a page with its rules and equations, its deviations from the
source, its parameters, a figure of its window, and the way to get it on Linux. In a scenario a name here is
the `cc` of a flow: `cc = "ID"` or, with parameters, `cc = {{ name = "ID", PARAMETER = VALUE }}`.
`bentpipe cc show ID` prints the parameters in a terminal. [gallery.md](gallery.md) compares the figures and
the goodput of all.

## Grades

The grade says how well the rules are known:

{grades}

The column "Linux" names the kernel's own module. "Attach" means that
[`bentpipe kernel attach`](kernel.md) puts the controller into the kernel's TCP. "Router" means that routers
on the path must take part. "Simulation" means that the controller runs in simulation only.
"""

HINT = """\
## Path changes

A link may change hands: another satellite, gateway or route. The host of a sender may learn of the change
(the keys `path_hints`, `hint_delay` and `hint_lead` of a flow) and then passes a hint to its controller.
[SaTCP](controllers/satcp.md) and [LeoCC](controllers/leocc.md) have a reaction of their own, and get hints
unless the flow says otherwise. Every other algorithm can measure the path anew:
`cc = { name = "vegas", path_change = "reset" }`. It forgets its estimates, such as the smallest round-trip
time, with the first segment that was sent after the change, and keeps window and threshold. With `rate_hints`
of the flow it also learns that the rate of its path falls, as a modem reports when it follows the weather. It
then begins anew at once, with the share of window and threshold that the new rate carries.
[leo.md](leo.md) measures the effect."""

SHARED = """\
## Slow start

Every algorithm with the slow start of RFC 5681 can leave the first slow start by HyStart++ (RFC 9406):
`cc = { name = "cubic", slow_start = "hystart++" }`. Later slow starts lead to a known ssthresh and stay as
they are. [tcp.md](tcp.md#how-a-transfer-starts) describes the other choices, Careful Resume and newCWV. A
constant below belongs to the choice with which its name begins. An algorithm refuses `slow_start` if it paces
by a model of the path, ends slow start by a measure of the queue, or has another window rule in slow start.
Its page then gives the reason."""


def families(entries: Sequence[dict[str, Any]], given: list[dict[str, Any]]) -> dict[str, str]:
    """The title of each controller's family, by the controller's id.

    Raises:
        SystemExit: a controller is in no family or in two, or a name is not registered.
    """
    found: dict[str, str] = {}
    for family in given:
        for cc in family["cc"]:
            if cc in found:
                raise SystemExit(f"{FAMILIES.name}: {cc} is in {found[cc]} and in {family['title']}")
            found[cc] = family["title"]
    if wrong := sorted(set(found) ^ {entry["id"] for entry in entries}):
        raise SystemExit(f"{FAMILIES.name}: {', '.join(wrong)}: every controller is in one family")
    return found


def index(entries: Sequence[dict[str, Any]], given: list[dict[str, Any]]) -> str:
    """The page of all controllers: families, shared parameters, and the protocols that the papers name."""
    families(entries, given)
    grades = ";\n".join(f"- {grade}: {means}" for grade, means in GRADES.items())
    lines = [HEAD.format(count=len(entries), grades=grades + ".")]
    known = {entry["id"]: entry for entry in entries}
    for family in given:
        lines += [f"## {family['title']}", "", family["about"].strip(), ""]
        lines += ["| id | name | grade | Linux | rule |", "|---|---|---|---|---|"]
        for cc in family["cc"]:
            entry = known[cc]
            lines.append(row(link(cc), entry["label"], entry["grade"], in_a_word(cc), entry["about"]))
        lines.append("")
    shared = {p["name"]: p for entry in entries for p in entry["params"] if p["shared"]}
    hint = shared.pop("path_change")
    lines += [HINT, "", *table([hint])]
    lines += [SHARED, "", *table(list(shared.values()))]
    lines += named(entries, tomllib.loads(NAMED.read_text(encoding="utf-8")))
    return "\n".join(lines).rstrip("\n") + "\n"


def link(cc: str) -> str:
    """A controller's id as a link from docs/ to its page."""
    return f"[`{cc}`](controllers/{cc}.md)"


NAMED_HEAD = """\
## What the papers name

The tables have every protocol that one of the five papers proposes, compares with or names, and its
counterpart here: a controller, a kind of [queue](queues.md), or an [option of a flow](tcp.md)."""


def named(entries: Sequence[dict[str, Any]], papers: dict[str, list[dict[str, Any]]]) -> list[str]:
    """The tables of the protocols that each paper names.

    Raises:
        SystemExit: a name is not registered, a protocol is absent without a reason, or a paper is missing.
    """
    known = {entry["id"]: link(entry["id"]) for entry in entries}
    queues = {queue["kind"] for queue in json.loads(_core.queues())}
    options = json.loads(_core.schema())["$defs"]["Flow"]["properties"]
    if missing := {paper.replace("_", "-") for paper in PAPERS} ^ set(papers):
        raise SystemExit(f"{NAMED.name}: {', '.join(sorted(missing))}: not the papers that are studied")
    lines = [*NAMED_HEAD.splitlines(), ""]
    for paper, protocols in papers.items():
        lines += [f"### {paper}", "", "| named | as what | here |", "|---|---|---|"]
        for one in protocols:
            for kind, register in (("cc", known), ("queue", queues), ("option", options)):
                if strange := [name for name in one.get(kind, ()) if name not in register]:
                    raise SystemExit(
                        f"{NAMED.name}, {paper}, {one['name']}: no {kind} is called {strange[0]}"
                    )
            here = [known[name] for name in one.get("cc", ())]
            here += [f"queue `{name}`" for name in one.get("queue", ())]
            here += [f"option `{name}`" for name in one.get("option", ())]
            if bool(here) == ("absent" in one):
                raise SystemExit(
                    f"{NAMED.name}, {paper}, {one['name']}: say what it is here, or why it is absent"
                )
            lines.append(row(one["name"], one["as"], ", ".join(here) or f"absent: {one['absent']}"))
        lines.append("")
    return lines


def notes() -> dict[str, str]:
    """The words about each figure of docs/gallery, by controller."""
    with NOTES.open("rb") as file:
        return {name: " ".join(text.split()) for name, text in tomllib.load(file).items()}


def pages() -> dict[Path, str]:
    """The text of every page."""
    entries = json.loads(_core.controllers())
    given = tomllib.loads(FAMILIES.read_text(encoding="utf-8"))["family"]
    family = families(entries, given)
    papers = tomllib.loads(NAMED.read_text(encoding="utf-8"))
    words = notes()
    if unknown := sorted(set(words) - set(family)):
        raise SystemExit(f"{NOTES.name}: no controller is called {', '.join(unknown)}")
    found = {INDEX: index(entries, given)}
    for entry in entries:
        cc = entry["id"]
        found[FOLDER / f"{cc}.md"] = page(entry, entries, family[cc], words.get(cc), papers)
    return found


if __name__ == "__main__":
    sys.exit(write(pages(), __doc__, FOLDER))
