"""Writes docs/queues.md from the registry of queues; `--check` reports whether it is up to date."""

from pathlib import Path
from typing import Any

from md import DOCS, anchor, composed, reference, table
from scenario_md import SCHEMA, alternatives, rows

from bentpipe.registry import queues

PAGE = DOCS / "queues.md"


def heading(entry: dict[str, Any]) -> str:
    """The heading of one kind."""
    return f"{entry['label']} (`{entry['kind']}`)"


def section(entry: dict[str, Any]) -> list[str]:
    """The lines on one kind."""
    lines = [f"## {heading(entry)}", "", entry["about"], ""]
    lines += [f"Source: {entry['source']}, {reference(entry['reference'])}.", ""]
    (schema,) = [
        each
        for each in alternatives(SCHEMA["$defs"]["Queue"])
        if each.get("properties", {}).get("kind", {}).get("const") == entry["kind"]
    ]
    return lines + [line.replace("](#", "](scenario.md#") for line in rows("Queue", schema)]


def page(entries: list[dict[str, Any]]) -> str:
    """The whole page."""
    kinds = [(f"[`{entry['kind']}`](#{anchor(heading(entry))})", entry["label"]) for entry in entries]
    sections = (line for entry in entries for line in section(entry))
    return composed("queues_page.md", kinds=[*table(("kind", "name"), kinds), *sections])


def pages() -> dict[Path, str]:
    """The page."""
    return {PAGE: page(queues())}
