"""The page of one controller, docs/controllers/ID.md; scripts/controllers_md.py writes it."""

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import md
from md import DOCS, ROOT, anchor, reference, shown

from bentpipe import _core
from bentpipe.linux import way
from bentpipe.pages.markdown import wrapped
from bentpipe.registry import GRADES

SOURCES = ROOT / "crates" / "cc" / "src" / "algorithms"
NATIVE = ROOT / "crates" / "kernel" / "bpf" / "native"
ORACLE = ROOT / "crates" / "cc" / "tests" / "linux"

SENDER = {
    "aen": "a probe after a timeout, to tell lost data from lost ACKs (`aen`)",
    "bulk_repeat": "a retransmission of everything outstanding on its request (`bulk_repeat`)",
    "fixed_rto": "a timeout that does not double on consecutive timeouts (`fixed_rto`)",
    "dctcp": 'an exact echo of marks by the receiver (`ecn = "dctcp"`)',
    "l4s": 'ECT(1) on data, and counters of marks by the receiver (`ect1`, `ecn = "accecn"`)',
}
"""Options of a flow that an algorithm sets unless the flow says otherwise."""

ALIASES = {"newreno": "reno", "sack": "reno", "westwood": "westwood-plus", "(k, l)": "kl", "fast": "fast"}
"""Names in tables of witnesses that are neither id nor label. The others' "westwood" is Linux's Westwood+."""

WITNESSES = {
    "ns2-grid.csv": ("cell", "ns-2", "validation.md#ns-2"),
    "ns2-curves.csv": ("sender", "ns-2, the window over time", "validation.md#the-window-itself"),
    "ns3-grid.csv": ("cell", "ns-3", "validation.md#ns-3"),
    "closed-forms.csv": ("controller", "closed forms", "validation.md#closed-forms"),
    "equilibria.csv": ("controller", "queues at rest", "validation.md#queues-at-rest"),
}
"""Tables of docs/validation: the column with the algorithm, the witness, and its section."""

WORDS = set(
    "a after all an and as at base before below both competitive compressed congestion constants "
    "decisions each equal equals every everything filters fine for from gains growth half idle in it "
    "least like loss losses lost no of on once one only outside queues rate rates rounds samples "
    "segments slow so state states steps the there three throughput two until up what when where "
    "which while windows with".split()
)
"""Words that begin a sentence in the head of a source file; others are names: alpha, cwnd, ns-2."""

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
    cc = entry["id"]
    source = source_of(cc)
    lines = [
        f"<!-- Written from the registry and the head of {source.relative_to(ROOT)} by "
        "scripts/controllers_md.py. Use `make docs`. -->",
        "",
        f"# {entry['label']} (`{cc}`)",
        "",
        wrapped(entry["about"]),
        "",
        *facts(entry, family),
        "",
        "## Try it",
        "",
        *trial(entry),
        "",
        f"![{entry['label']}: window over time in three runs](../gallery/{cc}.svg)",
        "",
        wrapped(
            "The window of one flow over a GEO link in three runs: beside other traffic, at a bit error rate "
            "of 1e-8, and at 1e-7. [gallery.md](../gallery.md) describes them."
        ),
        *(["", wrapped(note)] if note else []),
        "",
        "## On Linux",
        "",
        *linux(entry),
        "",
        "## Rules and deviations",
        "",
        wrapped(
            f"From the head of [{source.name}](../../{source.relative_to(ROOT)}). An arrow before a "
            "name in code font leads to the function that implements a rule."
        ),
        "",
        *rules(source, labels(entries)),
        "",
        "## Parameters",
        "",
        *parameters(entry),
        "",
        "## Comparisons",
        "",
        *comparisons(entry, papers),
    ]
    return "\n".join(lines).rstrip("\n") + "\n"


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


def facts(entry: Mapping[str, Any], family: str) -> list[str]:
    """Source, grade, family and requirements, as a list."""
    source = ", ".join(part for part in (entry["source"], reference(entry["reference"])) if part)
    found = [
        f"Source: {source.removesuffix('.')}.",
        f"[Grade](../controllers.md#grades) {entry['grade']}: {GRADES[entry['grade']]}.",
        f"Family: [{family}](../controllers.md#{anchor(family)}).",
    ]
    asked = [SENDER[option] for option, on in entry["sender"].items() if on]
    if asked:
        found.append(f"It requires of the sender, unless the flow says otherwise: {'; '.join(asked)}.")
    if entry["uses_path_hints"]:
        found.append("It uses hints of [path changes](../controllers.md#path-changes) (`path_hints`).")
    if entry["refuses_hystart"]:
        found.append(
            "It has no other [`slow_start`](../controllers.md#slow-start). The reason: "
            f"{entry['refuses_hystart']}."
        )
    return [wrapped(text, "- ", "  ") for text in found]


def trial(entry: Mapping[str, Any]) -> list[str]:
    """A command that shows the controller at work, and its line of a scenario."""
    own = [param for param in entry["params"] if not param["shared"]]
    lines = ["```sh", command(entry), "```", ""]
    text = f'In a scenario: `cc = "{entry["id"]}"`'
    if own:
        text += f', or `cc = {{ name = "{entry["id"]}", {own[0]["name"]} = {shown(own[0]["default"])} }}`'
    return [*lines, wrapped(f"{text}.")]


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


def linux(entry: Mapping[str, Any]) -> list[str]:
    """The ways to get the controller on Linux."""
    cc = entry["id"]
    found = way(cc)
    if not found.had:
        return [f"Simulation only: it {found.text}."]
    commands = ["```sh", *found.commands, "```"]
    attach = "`bentpipe kernel attach` puts the controller into the kernel's TCP ([kernel.md](../kernel.md))"
    if found.kind == "attach":
        lines = [f"Linux does not have it. {attach}, as root:", "", *commands]
    else:
        opening = "It is built into Linux." if found.kind == "built in" else f"It is the {found.text}."
        lines = [f"{opening} As root:", "", *commands, ""]
        lines += [
            wrapped(
                f"Linux's version is not the code described here. To run this code instead, {attach}: "
                f"`bentpipe kernel attach {cc}`."
            )
        ]
    if gaps := _core.kernel_gaps(cc):
        lines += ["", "The kernel's TCP cannot carry all of it:", ""]
        lines += [wrapped(f"{gap[0].upper()}{gap[1:]}.", "- ", "  ") for gap in gaps]
    if (NATIVE / f"{cc}.bpf.c").exists():
        native = f"`bentpipe kernel attach {cc} --native` ([native.md](../native.md))"
        lines += ["", wrapped(f"A native program decides inside the kernel, without an agent: {native}.")]
    return [wrapped(line) if len(line) > 110 and not line.startswith(("-", " ")) else line for line in lines]


def rules(source: Path, names: Mapping[str, tuple[str, str]]) -> list[str]:
    """The head of a source file as Markdown of a page."""
    text = [
        line.removeprefix("//!").removeprefix(" ")
        for line in source.read_text(encoding="utf-8").splitlines()
        if line.startswith("//!")
    ]
    lines: list[str] = []
    for kind, block in blocks(text):
        said = plain(block, names, source.name)
        if kind == "table":
            lines += [*said.splitlines(), ""]
        elif kind == "item":
            if len(lines) > 1 and lines[-2].startswith("- "):
                lines.pop()
            lines += [wrapped(glued(begun(said)), "- ", "  ").replace("\0", " "), ""]
        else:
            said = LABEL.sub(r"**\g<label>**", said, count=1) if LABEL.match(said) else said
            lines += [wrapped(glued(said)).replace("\0", " "), ""]
    return lines[:-1]


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


def glued(text: str) -> str:
    """Keeps an operator from the beginning of a line, where it would begin a list or a heading."""
    return re.sub(r" (?=[-+*>#=|] |\d+[.)] )", "\0", text)


def parameters(entry: Mapping[str, Any]) -> list[str]:
    """The parameters of this controller alone, and its probes."""
    own = [param for param in entry["params"] if not param["shared"]]
    shared = (
        "[path changes](../controllers.md#path-changes) and, with the usual slow start, of "
        "[slow start](../controllers.md#slow-start)"
    )
    lines = table(own)
    lines += [wrapped(f"{'Every controller also has' if own else 'It has only'} the parameters of {shared}.")]
    if entry["probes"]:
        named = ", ".join(f"`{probe['name']}`" for probe in entry["probes"])
        lines += ["", wrapped(f"Probes, which `record.probes` records: {named}.")]
    return lines


def table(params: Sequence[Mapping[str, Any]]) -> list[str]:
    """The lines that list parameters."""
    rows = []
    for param in params:
        about = param["about"]
        if param["from_path"] == "BitErrorRate":
            about += "; unless given, the bit error rate of the path"
        rows.append((f"`{param['name']}`", shown(param["default"]), allowed(param), param["unit"], about))
    return md.table(("parameter", "default", "allowed", "unit", "effect"), rows) if rows else []


def allowed(param: Mapping[str, Any]) -> str:
    """The values that a parameter takes, in words."""
    match param["kind"]:
        case "number":
            return f"{shown(param['min'])} to {shown(param['max'])}"
        case "flag":
            return "true, false"
        case _:
            return ", ".join(shown(choice) for choice in param["choices"])


def comparisons(entry: Mapping[str, Any], papers: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[str]:
    """Comparisons with papers, other programs, the kernel and other controllers, as a list."""
    cc = entry["id"]
    found: list[str] = []
    for paper, protocols in papers.items():
        said = "; ".join(one["as"] for one in protocols if cc in one.get("cc", ()))
        if said:
            found.append(f"The paper [{paper}](../reproducing/{paper}.md): {said}.")
    others = [
        f"[{witness}](../{section})"
        for file, (column, witness, section) in WITNESSES.items()
        if any(cc in named(name, entry) for name in _column(DOCS / "validation" / file, column))
    ]
    if others:
        found.append(f"Other programs and formulas: {', '.join(others)}.")
    if cc in {ALIASES.get(one, one) for one in _oracle()}:
        found.append("The kernel's module of that name, ACK by ACK: [oracle.md](../oracle.md).")
    ways = {"kernel": "the kernel's own", "agent": "through the agent", "native": "as a native program"}
    senders = set(_column(DOCS / "linux-truth" / "cells.csv", "sender"))
    real = [words for how, words in ways.items() if f"{how}:{cc}" in senders]
    if real:
        found.append(f"Transfers by the kernel, {', '.join(real)}: [linux-truth.md](../linux-truth.md).")
    if cc in _column(DOCS / "quic.csv", "controller"):
        found.append("Under QUIC, beside TCP: [quic.md](../quic.md#beside-tcp).")
    measured = ["[the gallery](../gallery.md)"]
    if cc in {name.split()[0] for name in _column(DOCS / "leo.csv", "cc")}:
        measured.append("[moving paths](../leo.md)")
    if cc in {name.split()[0] for name in _column(DOCS / "satellite-2026.csv", "cc")}:
        measured.append("[files, pages and video over satellites](../satellite-2026.md)")
    if entry["queue"]:
        measured.append("[routers that compute](../routers.md)")
    if entry["uses_subflows"]:
        measured.append("[several paths](../multipath.md)")
    found.append(f"Measured beside other controllers: {', '.join(measured)}.")
    return [wrapped(text, "- ", "  ") for text in found]


@cache
def _column(file: Path, column: str) -> frozenset[str]:
    with file.open(encoding="utf-8", newline="") as lines:
        return frozenset(line[column] for line in csv.DictReader(lines))


@cache
def _oracle() -> frozenset[str]:
    return frozenset(file.stem.rsplit("-", 1)[0] for file in ORACLE.glob("*.csv"))


def named(name: str, entry: Mapping[str, Any]) -> set[str]:
    """Ids that a witness may mean by a name: "H-TCP", "newreno-100ms-per-0", "AIMD(1/5, 1/8)"."""
    low = name.lower()
    found = {of for alias, of in ALIASES.items() if re.match(re.escape(alias) + r"(?![\w+])", low)}
    own = "|".join(re.escape(one) for one in (entry["id"], entry["label"].lower()))
    if not found and re.match(rf"({own})(?![\w+])", low):
        found = {entry["id"]}
    return found
