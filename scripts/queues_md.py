"""Writes docs/queues.md from the registry of queues; `--check` reports whether it is up to date."""

from pathlib import Path
from typing import Any

from md import DOCS, page, reference
from scenario_md import SCHEMA, alternatives, kinds, rows

from bentpipe.registry import queues

PAGE = DOCS / "queues.md"


def heading(entry: dict[str, Any]) -> str:
    """The heading of one kind."""
    return f"{entry['label']} (`{entry['kind']}`)"


def keys(entry: dict[str, Any]) -> str:
    """The table of the keys of one kind."""
    (schema,) = [
        each
        for each in alternatives(SCHEMA["$defs"]["Queue"])
        if each.get("properties", {}).get("kind", {}).get("const") == entry["kind"]
    ]
    return rows("Queue", schema).replace("](#", "](scenario.md#")


def pages() -> dict[Path, str]:
    """The page."""
    given = {"entries": queues(), "heading": heading, "reference": reference, "keys": keys}
    return {PAGE: page("queues_page.md", None, kinds=kinds(""), **given)}
