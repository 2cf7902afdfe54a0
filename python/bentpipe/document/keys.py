"""The keys of a scenario: what each means, its values and its default, and the class of each table.

All follow from the JSON Schema, whose texts are the comments in crates/sim.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import keyword
import re
import textwrap
from collections.abc import Callable
from typing import Any

from bentpipe import _core
from bentpipe.document.plain import Model, OnPath, toml
from bentpipe.document.schema import scenario_schema
from bentpipe.document.source import FILE_KEYS
from bentpipe.registry import VALUES

QUANTITIES = {
    "duration": "time",
    "rate": "rate",
    "size": "size",
    "queue-size": "room",
    "queue-room": "room or time",
    "window-size": "window",
    "interval": "interval",
    "longitude": "longitude",
}
"""The quantities of the schema in words."""
DEFAULTS = {
    "Flow.ack_path": "the opposite of `path`",
    "Flow.cc": "must be given, unless the traffic has none",
    "Flow.profile": '`"modern"`',
    "Link.delay": "must be given, or a satellite or timeline",
    "Link.rate": "must be given, or a timeline",
    "Link.reorder": "no",
    "Link.up": "yes",
    "Link.reverse": "as forward, without losses",
    "Record.interval": '`"change"`',
    "Reverse.loss": "none",
    "Reverse.opportunities": "none",
}
"""Defaults whose descriptions do not begin a sentence with the key."""
CLASSES = ("AckThinning", "Arq", "Flow", "Link", "Record")
"""Tables without kinds that are classes. All others are dicts."""
NAMES = {"dualpi2": "DualPi2", "file": "SizeFile", "list": "SizeList", "trace": "LossTrace"}
"""Classes of kinds whose names are not clear by themselves, or have no capitals where they should."""
POSITIONAL = {"Flow": ("cc", "path"), "Link": ()}
"""Classes whose other arguments are keywords. All may be left out: the core reports missing ones."""
FILLED = ("cra", "free", "in_order", "keep", "limit")
"""Keys whose default is the argument's. For others it is None, and the core fills in the default."""
CONTROLLER = (
    'the name of an algorithm, {"name": "simd", "beta": 0.0625} with parameters, or a `Controller` subclass'
)
_DEFAULT = r"(?:^|(?<=[.;] ))((?:Default|Paper|[Bb]y default)\b.*?)\.(?= |$)"
_WIDTH = 106
"""Columns of a text, which a class indents by four."""


@functools.cache
def tables() -> dict[str, Any]:
    """The tables of the simulator's schema by name."""
    found: dict[str, Any] = json.loads(_core.schema())["$defs"]
    return found


def name_of(schema: dict[str, Any]) -> str:
    """The name of the table that a schema refers to, or none."""
    return str(schema.get("$ref", "")).removeprefix("#/$defs/")


def followed(schema: dict[str, Any]) -> dict[str, Any]:
    """The target of a schema's reference, or the schema itself."""
    name = name_of(schema)
    if not name:
        return schema
    found: dict[str, Any] = tables().get(name) or scenario_schema()["$defs"][name]
    return found


def types(schema: dict[str, Any]) -> list[str]:
    """The JSON types that a schema without alternatives allows."""
    kind = schema.get("type", [])
    return [name for name in ([kind] if isinstance(kind, str) else kind) if name != "null"]


def about(schema: dict[str, Any]) -> tuple[str, str]:
    """The meaning of a key, and its default."""
    text = " ".join(schema.get("description", "").split())
    said = re.search(_DEFAULT, text)
    default = ""
    if said is not None and ":" not in said[1][len("Default:") :]:
        default = re.sub(r"^(Default|By default|by default):? ?", "", said[1]).replace("Paper", "paper")
        text = (text[: said.start()].rstrip("; ") + text[said.end() :]).strip()
        text += "" if text.endswith((".", "?")) else "."
    if schema.get("default") not in (None, []):
        default = f"`{toml(schema['default'], str)}`"
    return text, re.sub(r'("[^"]+")', r"`\1`", default) if "`" not in default else default


def kinds(table: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The tables that `kind` distinguishes, by its value; none if the table has no kinds."""
    found = {each.get("properties", {}).get("kind", {}).get("const"): each for each in table.get("oneOf", [])}
    return {kind: each for kind, each in found.items() if kind is not None}


def class_of(kind: str) -> str:
    """The class of a kind: "fq-codel" is FqCodel."""
    return NAMES.get(kind) or "".join(part.capitalize() for part in kind.split("-"))


@functools.cache
def groups() -> list[str]:
    """The tables with kinds and the classes without, each behind those that its keys name."""
    found: dict[str, None] = {}
    seen: set[str] = set()

    def look(part: Any) -> None:
        if isinstance(part, list):
            for each in part:
                look(each)
        elif isinstance(part, dict):
            name = name_of(part)
            if name in seen:
                return
            seen.update([name] if name else [])
            keys = part.get("properties", {})
            look(
                tables()[name] if name else [keys[key] for key in part.get("x-order") or keys if key in keys]
            )
            look([value for key, value in part.items() if key != "properties"])
            if kinds(tables().get(name, {})) or name in CLASSES:
                found.setdefault(name)

    look([{"$ref": f"#/$defs/{name}"} for name in ("Link", "Flow", "Record")])
    return list(found)


@functools.cache
def described() -> dict[str, tuple[dict[str, Any], str | None]]:
    """The table of each class of a part of a scenario and its kind, by the class's name.

    Each is behind those that its keys name.

    Raises:
        ValueError: two kinds of one name have different keys.
    """
    found: dict[str, tuple[dict[str, Any], str | None]] = {}
    for name in groups():
        if name in CLASSES:
            found[name] = tables()[name], None
        for kind, table in kinds(tables()[name]).items():
            before = found.get(class_of(kind), (table, None))[0]
            if before["x-order"] != table["x-order"]:
                raise ValueError(f"two tables of kind {kind!r} differ in their keys")
            found[class_of(kind)] = _merged(before, table), kind
    return found


def unions() -> dict[str, tuple[str, list[str]]]:
    """The text and the names of the classes of each table with kinds, by its name."""
    of = {name: (" ".join(tables()[name]["description"].split()), kinds(tables()[name])) for name in groups()}
    return {name: (text, [class_of(kind) for kind in of]) for name, (text, of) in of.items() if of}


def attribute(key: str) -> str:
    """The name of a key in Python."""
    return f"{key}_" if keyword.iskeyword(key) else key


def literal(value: Any) -> str:
    """A value as Python writes it."""
    return json.dumps(value) if isinstance(value, str) else repr(value)


class _Text:
    """The text of a class, written when it is first read."""

    def __init__(self, write: Callable[[], str]) -> None:
        self.write = functools.cache(write)

    def __get__(self, instance: object, owner: type) -> str:
        return self.write()


def made(name: str, module: str) -> type[Model]:
    """The class of a part of a scenario, a dataclass with a field for each key, which takes a millisecond.

    Required keys are first, and then those by position.

    Args:
        name: one of `described`.
        module: the module of the class.
    """
    table, kind = described()[name]
    required, positional = table.get("required", []), POSITIONAL.get(name)
    first = required if positional is None else positional
    keys = [key for key in table["x-order"] if key in table["properties"] and key != "kind"]
    keys.sort(key=lambda key: key not in first)
    fields: list[tuple[str, Any, Any]] = []
    for key in keys:
        schema = table["properties"][key]
        by_name = positional is not None and key not in positional
        of, default = annotation(key, schema), None
        if key in FILLED and schema.get("default") is not None:
            default = schema["default"]
        elif positional is None and key in required:
            default = dataclasses.MISSING
        elif of != "Any":
            of += " | None"
        fields.append((attribute(key), of, dataclasses.field(default=default, kw_only=by_name)))
    carriage = {"carriage": table["x-carriage"]} if "x-carriage" in table else {}
    found = dataclasses.make_dataclass(
        name, fields, bases=(OnPath if "path" in keys else Model,), frozen=positional is None,
        namespace={"__module__": module} | ({} if kind is None else {"kind": kind}) | carriage,
    )  # fmt: skip
    found.__doc__ = _Text(lambda: _docstring(name, table, keys))  # type: ignore[assignment]
    return found


def _merged(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """A table whose values may be those of either."""
    if one is other:
        return one
    texts = [one["description"], other["description"]]
    pairs = {key: (one["properties"][key], other["properties"][key]) for key in one["properties"]}
    either = {
        key: {"description": a.get("description", ""), "anyOf": [a, b]} for key, (a, b) in pairs.items()
    }
    return one | {"description": " ".join(texts), "properties": either}


def annotation(key: str, schema: dict[str, Any]) -> str:
    """The type of an argument, without None."""
    return " | ".join(dict.fromkeys(_types(key, schema)))


def _types(key: str, schema: dict[str, Any]) -> list[str]:
    name, items = name_of(schema), schema.get("items", {})
    if name == "Cc":
        return ["Any"]
    if kinds(tables().get(name, {})) or name in CLASSES:
        return [name, "dict[str, Any]"]
    table = followed(schema)
    if several := table.get("anyOf") or table.get("oneOf"):
        return [word for each in several for word in _types(key, each)]
    return [word for kind in types(table) for word in _plain_types(key, kind, items)]


def _plain_types(key: str, kind: str, items: dict[str, Any]) -> list[str]:
    match kind:
        case "array":
            return ["Steps"] if "prefixItems" in items else [f"Sequence[{annotation(key, items)}]"]
        case "string":
            return ["str", "Path"] if key in FILE_KEYS else ["str"]
    return [{"boolean": "bool", "integer": "int", "number": "float", "object": "dict[str, Any]"}[kind]]


def values(schema: dict[str, Any]) -> str:
    """The possible values of an argument, in words, if its type does not say them."""
    words = list(dict.fromkeys(_words(schema, schema)))
    if not set(words) - {"True", "False", "steps"}:
        return ""
    text = " or ".join(filter(None, [", ".join(words[:-1]), words[-1]])) + "."
    return text[0].upper() + text[1:]


def _words(each: dict[str, Any], schema: dict[str, Any]) -> list[str]:
    name, table = name_of(each), followed(each)
    if name == "Cc":
        return [CONTROLLER]
    if name in CLASSES:
        return [f"`{name}`"]
    if several := table.get("anyOf") or table.get("oneOf"):
        return [word for part in several for word in _words(part, schema)]
    if "x-quantity" in each:
        sample = json.dumps((schema.get("examples") or each["examples"])[0])
        units = f" ({VALUES[each['x-quantity']]})" if each["x-quantity"].startswith("queue-") else ""
        return [f"a {QUANTITIES[each['x-quantity']]} such as {sample}{units}"]
    if "const" in each or "enum" in each:
        return [json.dumps(word) for word in each.get("enum", [each.get("const")])]
    return [word for kind in types(table) for word in _plain_words(kind, table)]


def _plain_words(kind: str, table: dict[str, Any]) -> list[str]:
    match kind:
        case "boolean":
            return ["True", "False"]
        case "number" | "integer":
            low, high = table.get("minimum"), table.get("maximum")
            ends = f" from {low:.10g}" if low is not None else ""
            ends += f" to {high:.10g}" if high is not None else ""
            return [("a number" if kind == "number" else "a whole number") + ends]
        case "array":
            return ["steps"] if "prefixItems" in table["items"] else _words(table["items"], table)
        case "object":
            keys = table.get("properties", {})
            if "const" in keys.get("kind", {}):
                return [f"`{class_of(keys['kind']['const'])}`"]
            return [f"a dict with {', '.join(map(json.dumps, keys))}"] if keys else []
    return []


def _argument(table: str, key: str, schema: dict[str, Any]) -> list[str]:
    """The lines on an argument: its meaning, its values, and its default."""
    text, default = about(schema)
    if not text:
        text = " ".join(followed(schema).get("description", "").split())
    default = DEFAULTS.get(f"{table}.{key}") or default
    if schema.get("default") not in (None, []):
        default = literal(schema["default"])
    default = default.replace('`"', '"').replace('"`', '"')
    if default and not default.startswith("must be given"):
        default = f"default: {default}"
    parts = [text, values(schema), f"{default[:1].upper()}{default[1:]}." if default else ""]
    line = f"{attribute(key)}: {' '.join(filter(None, parts))}"
    return _wrapped(line, " " * 4, " " * 8)


def _wrapped(text: str, first: str, others: str) -> list[str]:
    """The lines of a text; quoted text is not broken."""
    whole = re.sub(r'"[^"]{,20}"', lambda quoted: quoted[0].replace(" ", "\0"), text)
    lines = textwrap.wrap(
        whole, _WIDTH, initial_indent=first, subsequent_indent=others, break_on_hyphens=False
    )
    return [line.replace("\0", " ") for line in lines]


def _docstring(name: str, table: dict[str, Any], keys: list[str]) -> str:
    """The text of a class: of a sentence, what follows it, and the arguments."""
    if name in CLASSES:
        table = scenario_schema()["$defs"][name]  # in which a link may have a drawn time line
    first, *others = re.split(r"(?<=[.?]) (?=[A-Z`])", " ".join(table["description"].split()), maxsplit=1)
    lines = [first]
    for text in others:
        lines += ["", *_wrapped(text, "", "")]
    if not keys:
        return first
    lines += ["", "Args:"]
    for key in keys:
        lines += _argument(name if name in CLASSES else "", key, table["properties"][key])
    return "\n".join([*lines, ""])
