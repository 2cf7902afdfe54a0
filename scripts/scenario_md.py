"""Writes docs/scenario.md from the JSON Schema of scenarios; `--check` reports whether it is up to date.

The words that the schema does not have are in scenario_page.md, its examples in scenario_page.toml.
"""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import md
from md import DOCS, anchor, words

from bentpipe.document.keys import DEFAULTS, QUANTITIES, about, followed, types
from bentpipe.document.plain import toml
from bentpipe.document.schema import scenario_schema
from bentpipe.registry import queues

PAGE = DOCS / "scenario.md"
SCHEMA = scenario_schema()

WORDS = tomllib.loads(words("scenario_page.toml"))
EXAMPLES, OWN = WORDS["examples"], WORDS["own"]
TABLES = [(of["name"], of["heading"], of.get("form", ""), of.get("text", "")) for of in WORDS["table"]]


def alternatives(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """The alternative schemas of a value."""
    schema = followed(schema)
    found = schema.get("anyOf") or schema.get("oneOf")
    if found is None:
        return [schema]
    return [each for part in found if part.get("type") != "null" for each in alternatives(part)]


def table_of(schema: dict[str, Any]) -> str | None:
    """The table of the page that describes a value."""
    name = str(schema.get("$ref", "")).removeprefix("#/$defs/")
    known = {table for table, *_ in TABLES}
    if name in known and name:
        return name
    parts = [*schema.get("anyOf", []), *schema.get("oneOf", []), *followed(schema).get("anyOf", [])]
    parts += [part for key in ("items", "additionalProperties") if isinstance(part := schema.get(key), dict)]
    return next((found for part in parts if (found := table_of(part)) is not None), None)


def values(schema: dict[str, Any]) -> str:
    """The values that a key takes, in words."""
    words: dict[str, None] = {}
    name = table_of(schema)
    if name is not None:
        heading = next(heading for table, heading, *_ in TABLES if table == name)
        word = "tables" if "additionalProperties" in schema else "table"
        words[f"[{word}](#{anchor(heading)})"] = None
    for each in alternatives(schema):
        if name is None or "object" not in types(each):
            words |= dict.fromkeys(_words(each))
    if name == "Flow":  # always a list
        del words[f"[table](#{anchor(heading)})"]
    return ", ".join(words)


def _words(each: dict[str, Any]) -> list[str]:
    if "x-quantity" in each:
        return [f"[{QUANTITIES[each['x-quantity']]}](#units)"]
    if "const" in each or "enum" in each:
        return [f"`{json.dumps(name)}`" for name in each.get("enum", [each.get("const")])]
    found = []
    for kind in types(each):
        match kind:
            case "boolean":
                found.append("true, false")
            case "number" | "integer":
                whole = "whole number" if kind == "integer" else "number"
                low, high = each.get("minimum"), each.get("maximum")
                ends = (
                    f" {low:.10g} to {high:.10g}" if high is not None else f" from {low:.10g}" if low else ""
                )
                found.append(f"{whole}{ends}")
            case "array":
                pair = each.get("items", {}).get("prefixItems")
                found.append("list of steps" if pair else f"list of {_plural(each.get('items', {}))}")
            case "object":
                found.append("table")
            case _:
                found.append("text")
    return found


def _plural(items: dict[str, Any]) -> str:
    word = values(items)
    if word.startswith(("number", "text")):
        return "names" if word == "text" else word.replace("number", "numbers", 1)
    return word.replace("](", "s](")


def example(table: str, key: str, schema: dict[str, Any]) -> Any:
    """A value of a key.

    Raises:
        LookupError: there is none; scenario_page.toml or the schema wants one.
    """
    if f"{table}.{key}" in OWN:
        return OWN[f"{table}.{key}"]
    if key in EXAMPLES:
        return EXAMPLES[key]
    found = [schema, *alternatives(schema)]
    if isinstance(schema.get("default"), bool):
        return not schema["default"]
    for each in found:
        if each.get("examples"):
            return each["examples"][0]
        if "const" in each or "enum" in each:
            return each.get("const") or each["enum"][0]
    if schema.get("default") is not None:
        return schema["default"]
    for each in found:
        if "boolean" in types(each):
            return True
        if "integer" in types(each):
            return max(1, each.get("minimum", 1))
        if "number" in types(each):
            return each.get("minimum", 0.5)
    raise LookupError(f"scripts/scenario_page.toml: [examples] lacks one of {table or 'the top'}: {key}")


def rows(table: str, schema: dict[str, Any]) -> str:
    """The table of the keys of a schema: required keys first."""
    required = schema.get("required", [])
    keys = {key: value for key, value in schema["properties"].items() if key != "kind"}
    if not keys:
        return ""
    cells = []
    for key in sorted(keys, key=lambda key: (key not in required, key)):
        text, default = about(keys[key])
        if not text:
            text = " ".join(followed(keys[key]).get("description", "").split())
        default = (
            DEFAULTS.get(f"{table}.{key}") or default or ("as forward" if table == "Reverse" else "none")
        )
        if key in required:
            default = "must be given"
        sample = toml(example(table, key, keys[key]), str)
        cells.append((f"`{key}`", values(keys[key]), default, text, f"`{key} = {sample}`"))
    return md.table(("key", "values", "default", "what it does", "example"), cells)


def kinds(page: str) -> str:
    """The kinds of queue, each with a link to its keys on a page."""
    places = {queue["kind"]: anchor(f"{queue['label']} ({queue['kind']})") for queue in queues()}
    cells = [(f"[`{q['kind']}`]({page}#{places[q['kind']]})", q["label"]) for q in queues()]
    return md.table(("kind", "name"), cells)


def units() -> str:
    """The table of quantities."""
    found: dict[str, dict[str, Any]] = {}

    def look(part: Any) -> None:
        if isinstance(part, dict):
            if "x-quantity" in part:
                found.setdefault(part["x-quantity"], part)
            part = list(part.values())
        if isinstance(part, list):
            for each in part:
                look(each)

    look(SCHEMA)
    cells = []
    for name, word in QUANTITIES.items():
        spelt = re.search(r"\(([^()]*)\)\\s\*\$$", found[name].get("pattern", ""))
        if spelt is None:
            shown = "E, W, or a plain number of degrees east"
        else:
            shown = ", ".join(f"`{unit}`" for unit in spelt[1].split("|"))
        cells.append((word, shown, f"`{json.dumps(found[name]['examples'][0])}`"))
    return md.table(("quantity", "units", "example"), cells)


def page() -> str:
    """The whole page."""
    return md.page(
        "scenario_page.md",
        None,
        units=units(),
        tables=TABLES,
        schema=lambda name: SCHEMA["$defs"][name] if name else SCHEMA,
        described=lambda schema: " ".join(schema.get("description", "").split()),
        keyed=lambda schema: [each for each in alternatives(schema) if each.get("properties")],
        kinds=kinds("queues.md"),
        rows=rows,
    )


def pages() -> dict[Path, str]:
    """The page."""
    return {PAGE: page()}
