"""Writes the classes of python/bentpipe/models.py, and their names in `__init__.pyi`, from the JSON Schema.

Each kind of queue, loss, access, traffic and law in the schema is a class. So are the tables that `CLASSES`
names. Their texts are the comments in crates/sim. `--check` reports whether both files are up to date.
"""

import json
import keyword
import re
import textwrap
from pathlib import Path
from typing import Any

from md import words
from scenario_md import DEFAULTS, QUANTITIES, SCHEMA, about, followed, types

from bentpipe.registry import VALUES
from bentpipe.source import FILE_KEYS

PACKAGE = Path(__file__).parent.parent / "python" / "bentpipe"
MODELS, STUB = PACKAGE / "models.py", PACKAGE / "__init__.pyi"
WIDTH = 110
TABLES = SCHEMA["$defs"]

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


def kinds(table: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The tables that `kind` distinguishes, by its value; none if the table has no kinds."""
    found = {each.get("properties", {}).get("kind", {}).get("const"): each for each in table.get("oneOf", [])}
    return {kind: each for kind, each in found.items() if kind is not None}


def class_of(kind: str) -> str:
    """The class of a kind: "fq-codel" is FqCodel."""
    return NAMES.get(kind) or "".join(part.capitalize() for part in kind.split("-"))


def name_of(schema: dict[str, Any]) -> str:
    """The name of the table that a schema refers to, or none."""
    return str(schema.get("$ref", "")).removeprefix("#/$defs/")


def groups() -> list[str]:
    """The tables with kinds and the classes without, each behind those that its keys name."""
    found: dict[str, None] = {}

    def look(part: Any) -> None:
        if isinstance(part, list):
            for each in part:
                look(each)
        elif isinstance(part, dict):
            name = name_of(part)
            keys = part.get("properties", {})
            look(TABLES[name] if name else [keys[key] for key in part.get("x-order", keys) if key in keys])
            look([value for key, value in part.items() if key != "properties"])
            if kinds(TABLES.get(name, {})) or name in CLASSES:
                found.setdefault(name)

    look([SCHEMA["properties"][key] for key in ("link", "flow", "record")])
    return list(found)


def annotation(key: str, schema: dict[str, Any]) -> str:
    """The type of an argument, without None."""
    return " | ".join(dict.fromkeys(_types(key, schema)))


def _types(key: str, schema: dict[str, Any]) -> list[str]:
    name, items = name_of(schema), schema.get("items", {})
    if name == "Cc":
        return ["Any"]
    if kinds(TABLES.get(name, {})) or name in CLASSES:
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


def argument(table: str, key: str, schema: dict[str, Any]) -> list[str]:
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
    return wrapped(line, " " * 8, " " * 12)


def wrapped(text: str, first: str, others: str) -> list[str]:
    """The lines of a text; quoted text is not broken."""
    whole = re.sub(r'"[^"]{,20}"', lambda quoted: quoted[0].replace(" ", "\0"), text)
    lines = textwrap.wrap(
        whole, WIDTH, initial_indent=first, subsequent_indent=others, break_on_hyphens=False
    )
    return [line.replace("\0", " ") for line in lines]


def attribute(key: str) -> str:
    """The name of a key in Python."""
    return f"{key}_" if keyword.iskeyword(key) else key


def literal(value: Any) -> str:
    """A value as Python writes it."""
    return json.dumps(value) if isinstance(value, str) else repr(value)


def docstring(name: str, table: dict[str, Any], keys: list[str]) -> list[str]:
    """The lines of the text of a class.

    Raises:
        ValueError: its first sentence does not fit into a line.
    """
    first, *others = re.split(r"(?<=[.?]) (?=[A-Z`])", " ".join(table["description"].split()), maxsplit=1)
    if len(first) > WIDTH - 7:
        raise ValueError(f"the first sentence on {name} has more than {WIDTH - 7} letters: {first}")
    lines = [f'    """{first}']
    for text in others:
        lines += ["", *wrapped(text, "    ", "    ")]
    if not keys:
        return [f'{lines[0]}"""', ""]
    lines += ["", "    Args:"]
    for key in keys:
        lines += argument(name if name in CLASSES else "", key, table["properties"][key])
    return [*lines, '    """', ""]


def class_text(name: str, table: dict[str, Any], kind: str | None = None) -> list[str]:
    """The lines of a class."""
    keys = [key for key in table["x-order"] if key in table["properties"] and key != "kind"]
    required, positional = table.get("required", []), POSITIONAL.get(name)
    if positional is None:
        keys.sort(key=lambda key: key not in required)
    else:
        keys.sort(key=lambda key: positional.index(key) if key in positional else len(positional))
    lines = ["", "", "@dataclass(frozen=True)" if positional is None else "@dataclass"]
    lines += [f"class {name}({'OnPath' if 'path' in keys else 'Model'}):", *docstring(name, table, keys)]
    if kind is not None:
        lines.append(f"    kind = {literal(kind)}")
    if "x-carriage" in table:
        lines.append(f"    carriage = {literal(table['x-carriage'])}")
    for i, key in enumerate(keys):
        if positional is not None and i == len(positional):
            lines.append("    _: KW_ONLY")
        schema = table["properties"][key]
        field = f"    {attribute(key)}: {annotation(key, schema)}"
        if positional is None and key in required:
            lines.append(field)
        elif key in FILLED and schema.get("default") is not None:
            lines.append(f"{field} = {literal(schema['default'])}")
        else:
            lines.append(f"{field} = None" if field.endswith(" Any") else f"{field} | None = None")
    return lines


def tables() -> dict[str, tuple[dict[str, Any], str | None]]:
    """Every class, in the order of the file: its table, and its kind if it has one.

    Raises:
        ValueError: two kinds of one name have different keys.
    """
    found: dict[str, tuple[dict[str, Any], str | None]] = {}
    for name in groups():
        if name in CLASSES:
            found[name] = TABLES[name], None
        for kind, table in kinds(TABLES[name]).items():
            before = found.get(class_of(kind), (table, None))[0]
            if before["x-order"] != table["x-order"]:
                raise ValueError(f"two tables of kind {kind!r} differ in their keys")
            found[class_of(kind)] = merged(before, table), kind
    return found


def merged(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """A table whose values may be those of either."""
    if one is other:
        return one
    texts = [one["description"], other["description"]]
    pairs = {key: (one["properties"][key], other["properties"][key]) for key in one["properties"]}
    either = {
        key: {"description": a.get("description", ""), "anyOf": [a, b]} for key, (a, b) in pairs.items()
    }
    return one | {"description": " ".join(texts), "properties": either}


def models() -> str:
    """The text of models.py."""
    lines: list[str] = []
    for name, (table, kind) in tables().items():
        lines += class_text(name, table, kind)
    for name in groups():
        if found := [class_of(kind) for kind in kinds(TABLES[name])]:
            line = f"{name} = {' | '.join(found)}"
            fits = len(line) <= WIDTH
            lines += ["", "", line] if fits else ["", "", f"{name} = (", f"    {found[0]}"]
            lines += [] if fits else [*(f"    | {each}" for each in found[1:]), ")"]
            lines.append(f'"""{" ".join(TABLES[name]["description"].split())}"""')
    return words("models_py.txt").replace("{{ classes }}", "\n".join(lines))


def stub(text: str) -> str:
    """The text of `__init__.pyi` with the names of all classes."""
    names = [f"from .models import {name} as {name}" for name in sorted(tables())]
    return re.sub(r"(from \.models import .*\n)+", "\n".join(names) + "\n", text, count=1)


def pages() -> dict[Path, str]:
    """Both files."""
    return {MODELS: models(), STUB: stub(STUB.read_text(encoding="utf-8"))}
