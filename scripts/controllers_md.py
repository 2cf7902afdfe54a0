"""Writes docs/controllers.md from the registry of controllers; `--check` reports whether it is up to date."""

import argparse
import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

from bentpipe import _core
from bentpipe.papers import PAPERS

NAMED = Path(__file__).parent / "named_protocols.toml"
PAGE = Path(__file__).parent.parent / "docs" / "controllers.md"

GRADES = {
    "A": "its rules were read in the paper, the RFC or the reference code",
    "B": "written from knowledge of the published standard or paper",
    "C": "a reconstruction: the original could not be obtained",
}
SENDER = {
    "aen": "probe after a timeout to tell lost data from lost ACKs (`aen`)",
    "bulk_repeat": "retransmit everything outstanding when the controller says so (`bulk_repeat`)",
    "fixed_rto": "do not double the timeout on consecutive timeouts (`fixed_rto`)",
    "dctcp": 'an exact echo of marks by the receiver (`ecn = "dctcp"`)',
    "l4s": 'ECT(1) on data, and counters of marks by the receiver (`ect1`, `ecn = "accecn"`)',
}
HEAD = """\
<!-- Written from the registry (crates/cc/src/registry.rs) by scripts/controllers_md.py. Use `make docs`. -->

# Controllers

Every name here can stand as `cc` of a flow in a scenario, as `cc = "ID"` or, with parameters, as
`cc = {{ name = "ID", PARAMETER = VALUE }}`. `bentpipe cc show ID` prints the same in a terminal. The
equations that each one implements, and where it deviates from its source and why, stand at the head of its
file in `crates/cc/src/algorithms/`.

The grade says how well the rules are pinned down:

{grades}

"""

HINT = """\
## Path changes

A link may change hands: another satellite, gateway or route. The host of a sender may learn of that (the
keys `path_hints`, `hint_delay` and `hint_lead` of a flow) and then gives its controller a hint. A few
algorithms have an answer of their own, which is said below, and get hints unless the flow says otherwise.
Every other algorithm can be told to measure the path anew:
`cc = { name = "vegas", path_change = "reset" }`. It forgets its estimates, as of the smallest round-trip
time, with the first segment that was sent after the change, and keeps window and threshold. With
`rate_hints` of the flow it also hears that the rate of its path falls, as a modem tells that follows the
weather. Then it begins anew at once, with the share of window and threshold that the new rate carries."""

SHARED = """\
## Slow start

Every algorithm with the slow start of RFC 5681 can leave the first one by HyStart++ (RFC 9406):
`cc = { name = "cubic", slow_start = "hystart++" }`. Later slow starts, which lead to a known ssthresh, stay
as they are. The other choices, Careful Resume and newCWV are described in
[tcp.md](tcp.md#how-a-transfer-starts); a constant below goes with the choice that its name begins with.
Algorithms that pace by a model of the path, end slow start by a measure of the queue of their own, or have a
window rule of their own there, refuse `slow_start`; each says so below."""


def cell(text: str) -> str:
    """`text` as one cell of a Markdown table."""
    return text.replace("|", "\\|").replace("\n", " ")


def row(*cells: str) -> str:
    """A row of a table."""
    return "| " + " | ".join(cell(text) for text in cells) + " |"


def shown(value: Any) -> str:
    """A parameter's value as a scenario would write it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:.10g}" if isinstance(value, int | float) else f'"{value}"'


def allowed(param: dict[str, Any]) -> str:
    """The values that a parameter takes, in words."""
    match param["kind"]:
        case "number":
            return f"{shown(param['min'])} to {shown(param['max'])}"
        case "flag":
            return "true, false"
        case _:
            return ", ".join(shown(choice) for choice in param["choices"])


def reference(text: str) -> str:
    """A DOI or an RFC number, linked."""
    if text.startswith("doi:"):
        return f"[{text}](https://doi.org/{text.removeprefix('doi:')})"
    if text.startswith("RFC ") and text.removeprefix("RFC ").isdigit():
        return f"[{text}](https://www.rfc-editor.org/rfc/rfc{text.removeprefix('RFC ')})"
    return text


def heading(entry: dict[str, Any]) -> str:
    """The heading of one controller."""
    return f"{entry['label']} (`{entry['id']}`)"


def section(entry: dict[str, Any]) -> list[str]:
    """The lines on one controller."""
    lines = [f"## {heading(entry)}", "", entry["about"], ""]
    source = ", ".join(part for part in (entry["source"], reference(entry["reference"])) if part)
    lines += [f"Source: {source}. Grade {entry['grade']}.", ""]
    asked = [SENDER[option] for option, on in entry["sender"].items() if on]
    if asked:
        lines += ["Asks of the sender, unless the flow says otherwise: " + "; ".join(asked) + ".", ""]
    if entry["uses_path_hints"]:
        lines += ["Uses hints that the path changes hands (`path_hints`).", ""]
    if entry["refuses_hystart"]:
        lines += [f"Cannot start by another `slow_start`: {entry['refuses_hystart']}.", ""]
    lines += table([param for param in entry["params"] if not param["shared"]])
    if entry["probes"]:
        names = ", ".join(f"`{probe['name']}`" for probe in entry["probes"])
        lines += [f"Probes, which `record.probes` records: {names}.", ""]
    return lines


def table(params: list[dict[str, Any]]) -> list[str]:
    """The lines that list parameters."""
    lines: list[str] = []
    if params:
        lines += ["| parameter | default | allowed | unit | what it does |", "|---|---|---|---|---|"]
        for param in params:
            about = param["about"]
            if param["from_path"] == "BitErrorRate":
                fact = re.sub(r"(?<=[a-z])(?=[A-Z])|[_-]", " ", param["from_path"]).lower()
                about += f"; unless given, the {fact} of the path"
            default = shown(param["default"])
            lines.append(row(f"`{param['name']}`", default, allowed(param), param["unit"], about))
        lines.append("")
    return lines


def page(entries: list[dict[str, Any]]) -> str:
    """The whole page."""
    grades = ";\n".join(f"- {grade}: {means}" for grade, means in GRADES.items())
    text = HEAD.format(grades=grades + ".")
    lines = ["| id | name | grade | what it is |", "|---|---|---|---|"]
    for entry in entries:
        link = f"[`{entry['id']}`](#{anchor(heading(entry))})"
        lines.append(row(link, entry["label"], entry["grade"], entry["about"]))
    lines.append("")
    shared = {p["name"]: p for entry in entries for p in entry["params"] if p["shared"]}
    hint = shared.pop("path_change")
    lines += [*HINT.splitlines(), "", *table([hint])]
    lines += [*SHARED.splitlines(), "", *table(list(shared.values()))]
    lines += named(entries, tomllib.loads(NAMED.read_text(encoding="utf-8")))
    for entry in entries:
        lines += section(entry)
    return text + "\n".join(lines).rstrip("\n") + "\n"


NAMED_HEAD = """\
## What the papers name

Every protocol that one of the five papers proposes, compares with or names, and what it is here: a
controller, a kind of [queue](queues.md), or an [option of a flow](tcp.md)."""


def named(entries: list[dict[str, Any]], papers: dict[str, list[dict[str, Any]]]) -> list[str]:
    """The tables of the protocols that each paper names.

    Raises:
        SystemExit: a name is not registered, a protocol is absent without a reason, or a paper is missing.
    """
    known = {entry["id"]: f"[`{entry['id']}`](#{anchor(heading(entry))})" for entry in entries}
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


def anchor(heading: str) -> str:
    """The anchor that Markdown readers make of a heading."""
    return "".join(c for c in heading.lower() if c.isalnum() or c in " -_").replace(" ", "-")


def write(path: Path, text: str, about: str | None) -> int:
    """Writes `text` to a page or, by `--check`, checks whether it is there; 1 if a check fails."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the page is out of date")
    if not parser.parse_args().check:
        path.write_text(text, encoding="utf-8")
        return 0
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        print(f"docs/{path.name} does not agree with the registry: run `make docs`", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(write(PAGE, page(json.loads(_core.controllers())), __doc__))
