"""Writes docs/scenario.md from the JSON Schema of scenarios; `--check` reports whether it is up to date."""

import json
import re
import sys
from typing import Any

from md import DOCS, anchor, row, write

from bentpipe.registry import queues
from bentpipe.schema import scenario_schema

PAGE = DOCS / "scenario.md"
SCHEMA = scenario_schema()

HEAD = """\
<!-- Written from crates/sim/src/scenario/keys.rs by scripts/scenario_md.py. Use `make docs`. -->

# Scenarios

A scenario is links, flows, a duration and a seed. It is a file in TOML, or the same keys in JSON:

```toml
duration = "120 s"

[link.sat]
rate = "10 Mbit/s"
delay = "250 ms"
queue = { kind = "drop-tail", limit = "1 bdp" }
loss = { kind = "packet-error", rate = 1e-4 }

[[flow]]
cc = "cubic"
path = ["sat"]
```

`bentpipe run my.toml` runs it, `bentpipe scenario list` names those that come with the package, and
`bentpipe scenario new` writes a commented one. `--set link.sat.rate="5 Mbit/s"` replaces a value for one
run: tables and keys stand with points between, items of a list are counted from 0 (`flow.0.cc`), and `*` is
all of them (`flow.*.cc`). In Python a key is an argument of the same name: `bp.Link(rate="10 Mbit/s", ...)`.

Whatever is wrong is said at once, a line for each mistake: file, line, key, what is wrong and what would be
right. The exit status is 2. Names ignore case: `cc = "CUBIC"` is `cc = "cubic"`.

## Units

A quantity is text, a number and its unit: `"250 ms"`, `"1.5e3 bytes"`. A point separates a fraction.
A number without a unit is refused, and so is a unit in another case: an `m` is not an `M`.

"""

EDITORS = """\
## In an editor

`bentpipe schema` prints the [JSON Schema](https://json-schema.org) of scenarios. With it an editor completes
keys, shows what they do, and underlines what is wrong while it is typed:

```sh
bentpipe schema --out scenario.schema.json
```

Visual Studio Code with the extension Even Better TOML, and every other editor with
[Taplo](https://taplo.tamasfe.dev), read the first line of a scenario:

```toml
#:schema ./scenario.schema.json
```

or, for all scenarios of a folder, a file `.taplo.toml` in it:

```toml
[[rule]]
include = ["scenarios/*.toml"]

[rule.schema]
path = "./scenario.schema.json"
enabled = true
```

For a scenario in JSON, Visual Studio Code needs no extension: `"json.schemas": [{ "fileMatch":
["*.scenario.json"], "url": "./scenario.schema.json" }]` in its settings.

The schema checks keys, types, ranges and units.
`bentpipe run` also checks what depends on other values: names of links, algorithms and their parameters,
files. `$id` and `$comment` in it name the version of Bentpipe.

"""

# The tables in the order of the page: name in the schema, heading, its form, and the text to read first.
TABLES = [
    ("", "The top of the file", "", ""),
    ("Record", "`record`", "[record]", ""),
    (
        "Station",
        "`station`",
        "[station.NAME]",
        "`from` and `to` of a link name it, or one of the built-in cities.",
    ),
    ("Link", "`link`", "[link.NAME]", ""),
    ("Reverse", "`reverse` of a link", "[link.NAME.reverse]", ""),
    ("Satellite", "`satellite` of a link", "", ""),
    ("TimelineTable", "`timeline` of a link", "", "[timeline.md](timeline.md) describes the format."),
    (
        "DrawnTimeline",
        "`timeline` of a link that is drawn",
        "",
        "[starlink.md](starlink.md#the-model) describes the model.",
    ),
    ("HandoverKeys", "`handover` of a link", "", ""),
    ("Nominal", "`nominal` of a link", "", ""),
    ("Queue", "`queue` of a link", "", "[queues.md](queues.md) has the keys of each kind, and its source."),
    ("Loss", "`loss` of a link", "", "A table, or a list of tables."),
    ("Access", "`access` of a link", "", ""),
    ("Arq", "`arq` of a link", "", ""),
    ("AckThinning", "`ack_thinning` of a link", "", ""),
    ("Flow", "`flow`", "[[flow]]", ""),
    (
        "Cc",
        "`cc` of a flow",
        "",
        "[controllers.md](controllers.md) leads to the parameters of each algorithm.",
    ),
    (
        "SubflowKeys",
        "`subflow` of a flow",
        "[[flow.subflow]]",
        "A further path of the connection; see [multipath.md](multipath.md).",
    ),
    ("WayBack", "`both_ways` of a flow", "", "[tcp.md](tcp.md#both-ends-write) has more."),
    ("Traffic", "`traffic` of a flow", "", "[workloads.md](workloads.md) has more on them."),
    (
        "SizeLaw",
        "A size by chance",
        "",
        "What `size`, `response`, `main` and `embedded` of traffic may be instead of one size.",
    ),
    (
        "LengthLaw",
        "A time by chance",
        "",
        "What `on`, `off`, `think`, `parsing` and `reading` of traffic may be instead of one time.",
    ),
    ("CountLaw", "A number by chance", "", "What `objects` of traffic may be instead of one number."),
    ("Relay", "`relay` of a flow", "", ""),
]

# Examples where the schema, the type and the default have none that is useful.
EXAMPLES = {
    "ack_jitter": "20 ms",
    "ack_size": "40 bytes",
    "delayed_ack_timeout": "40 ms",
    "every": "15 s",
    "extra_delay": "10 ms",
    "first": "3 s",
    "granularity": "10 ms",
    "header": "40 bytes",
    "hint_delay": "50 ms",
    "initial_rto": "1 s",
    "initial_ssthresh": 64.0,
    "initial_window": 10.0,
    "length": "2 s",
    "mark_p": 0.1,
    "max_rto": "60 s",
    "min_elevation": 10.0,
    "min_rto": "200 ms",
    "off": "10 s",
    "offset": "1 min",
    "on": "10 s",
    "outage": "100 ms",
    "packet": "1000 bytes",
    "profile": "paper",
    "quantum": "1514 bytes",
    "recovery": "newreno",
    "round_trip": "20 ms",
    "spurious": "eifel",
    "start": "10 s",
    "step": "2 ms",
    "stop": "100 s",
    "target": "30 ms",
    "interval": "600 ms",
    "access": {"kind": "dama", "frame": "26.5 ms", "slots": 16},
    "ack_path": ["sat/reverse"],
    "acks": "linux",
    "ack_thinning": {"keep": 1},
    "arq": {"tries": 3},
    "at": ["15 s", "40 s"],
    "cc": "cubic",
    "file": "leo.csv",
    "flow": [{"cc": "reno", "path": ["sat"]}],
    "from": "beijing",
    "geo": "100E",
    "handover": {"every": "15 s", "outage": "100 ms"},
    "hint_lead": "100 ms",
    "lat": 39.4,
    "link": {"sat": {"rate": "10 Mbit/s", "delay": "250 ms"}},
    "lon": 116.4,
    "loss": {"kind": "packet-error", "rate": 1e-4},
    "name": "upload",
    "nominal": {"rate": "100 Mbit/s", "delay": "20 ms"},
    "opportunities": "trace.up",
    "path_change": "reset",
    "queue": {"kind": "codel", "target": "30 ms", "interval": "600 ms"},
    "record": {"interval": "100 ms", "links": True},
    "relay": {"at": "terrestrial", "buffer": "4 MB", "cc": "hybla"},
    "reverse": {"rate": "1 Mbit/s"},
    "satellite": {"geo": "100E"},
    "slots": 16,
    "snack_vector": 16,
    "slow_start": "hystart++",
    "start_jitter": "1 s",
    "station": {"farm": {"lat": 48.1, "lon": 11.6}},
    "timeline": {"file": "leo.csv", "repeat": True},
    "title": "Uploads from a farm",
    "to": "new-york",
    "traffic": {"kind": "bulk", "size": "2 MB"},
    "tries": 3,
    "up": [["0 s", True], ["14.5 s", False], ["15 s", True]],
}
# Those of one table, where another has a key of the name.
OWN = {
    "Access.vbdc": 8,
    "DrawnTimeline.blackout": "150 ms",
    "DrawnTimeline.profile": "car-2024",
    "DrawnTimeline.share": 0.65,
    "Traffic.size": "2 MB",
    "Traffic.interval": "10 ms",
    "Queue.first": 0.05,
    "Queue.max": "15 packets",
    "Queue.min": "5 packets",
    "Queue.update": "16 ms",
    "Record.interval": "100 ms",
    "Cc.name": "hybla",
    "Flow.ecn": True,
    "HandoverKeys.queue": "flushed",
    "Loss.file": "lost.txt",
    "Loss.from": "10 s",
    "Traffic.load": 0.3,
    "Traffic.request": "500 bytes",
    "Traffic.response": "10 kB",
    "Traffic.think": "5 s",
    "Traffic.main": "30 kB",
    "Traffic.objects": 70,
    "Traffic.embedded": {"kind": "log-normal", "median": "12 kB", "sigma": 1.5},
    "Traffic.parsing": "130 ms",
    "Traffic.reading": "30 s",
    "Traffic.connections": 6,
    "Traffic.ladder": ["1 Mbit/s", "3 Mbit/s", "8 Mbit/s"],
    "Traffic.segment": "4 s",
    "Traffic.buffer": "240 s",
    "Traffic.reservoir": "90 s",
    "Traffic.cushion": "126 s",
    "Traffic.startup": "8 s",
    "Traffic.length": "10 min",
    "SizeLaw.least": "10 kB",
    "SizeLaw.most": "10 MB",
    "CountLaw.least": 2.0,
    "CountLaw.shape": 1.1,
    "CountLaw.most": 55.0,
    "SizeLaw.file": "sizes.txt",
    "SizeLaw.sizes": ["1 kB", "1 MB"],
    "SizeLaw.weights": [9.0, 1.0],
    "Loss.rate": 1e-4,
    "Loss.to": "12 s",
    "Loss.p": 0.001,
    "Loss.r": 0.1,
    "Reverse.queue": {"kind": "drop-tail", "limit": "50 packets"},
    "Relay.at": "terrestrial",
    "Relay.buffer": "4 MB",
    "Relay.cc": "hybla",
}

# Descriptions that do not begin a sentence with the key.
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
    **{f"Reverse.{key}": "none" for key in ("loss", "opportunities")},
}

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


def followed(schema: dict[str, Any]) -> dict[str, Any]:
    """The target of a schema's reference, or the schema itself."""
    name = str(schema.get("$ref", "")).removeprefix("#/$defs/")
    return SCHEMA["$defs"][name] if name else schema


def alternatives(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """The alternative schemas of a value."""
    schema = followed(schema)
    found = schema.get("anyOf") or schema.get("oneOf")
    if found is None:
        return [schema]
    return [each for part in found if part.get("type") != "null" for each in alternatives(part)]


def types(schema: dict[str, Any]) -> list[str]:
    """The JSON types that a schema without alternatives allows."""
    kind = schema.get("type", [])
    return [name for name in ([kind] if isinstance(kind, str) else kind) if name != "null"]


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


DEFAULT = re.compile(r"(?:^|(?<=[.;] ))((?:Default|Paper|[Bb]y default)\b.*?)\.(?= |$)")


def about(schema: dict[str, Any]) -> tuple[str, str]:
    """The meaning of a key, and its default."""
    text = " ".join(schema.get("description", "").split())
    said = DEFAULT.search(text)
    default = ""
    if said is not None and ":" not in said[1][len("Default:") :]:
        default = re.sub(r"^(Default|By default|by default):? ?", "", said[1]).replace("Paper", "paper")
        text = (text[: said.start()].rstrip("; ") + text[said.end() :]).strip()
        text += "" if text.endswith((".", "?")) else "."
    if schema.get("default") not in (None, []):
        default = f"`{toml(schema['default'])}`"
    return text, re.sub(r'("[^"]+")', r"`\1`", default) if "`" not in default else default


def toml(value: Any) -> str:
    """A value as TOML writes it."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value)


def example(table: str, key: str, schema: dict[str, Any]) -> Any:
    """A value of a key.

    Raises:
        LookupError: there is none; `EXAMPLES` or the schema wants one.
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
    raise LookupError(f"scripts/scenario_md.py: EXAMPLES lacks one of {table or 'the top'}: {key}")


def rows(table: str, schema: dict[str, Any]) -> list[str]:
    """The table of the keys of a schema: required keys first."""
    required = schema.get("required", [])
    keys = {key: value for key, value in schema["properties"].items() if key != "kind"}
    if not keys:
        return []
    lines = ["| key | values | default | what it does | example |", "|---|---|---|---|---|"]
    for key in sorted(keys, key=lambda key: (key not in required, key)):
        text, default = about(keys[key])
        if not text:
            text = " ".join(followed(keys[key]).get("description", "").split())
        default = (
            DEFAULTS.get(f"{table}.{key}") or default or ("as forward" if table == "Reverse" else "none")
        )
        if key in required:
            default = "must be given"
        sample = toml(example(table, key, keys[key]))
        lines.append(row(f"`{key}`", values(keys[key]), default, text, f"`{key} = {sample}`"))
    return [*lines, ""]


def section(name: str, heading: str, written: str, more: str) -> list[str]:
    """The lines on one table."""
    schema = SCHEMA["$defs"][name] if name else SCHEMA
    text = " ".join(schema.get("description", "").split())
    lines = [f"## {heading}", "", text, ""]
    if written:
        lines += ["Written as a table:", "", "```toml", written, "```", ""]
    if more:
        lines += [more, ""]
    if name == "Queue":
        return [*lines, *kinds(schema)]
    tables = [each for each in alternatives(schema) if each.get("properties")]
    for each in tables:
        kind = each["properties"].get("kind", {}).get("const")
        if kind is not None:
            what = " ".join(each.get("description", "").split())
            lines += [f"### `kind = {json.dumps(kind)}`", "", what, ""]
        lines += rows(name, each)
    return lines


def kinds(schema: dict[str, Any]) -> list[str]:
    """The kinds of queue, each with a link to its keys."""
    lines = ["| kind | name |", "|---|---|"]
    for queue in queues():
        heading = f"{queue['label']} ({queue['kind']})"
        lines.append(row(f"[`{queue['kind']}`](queues.md#{anchor(heading)})", queue["label"]))
    return [*lines, ""]


def units() -> list[str]:
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
    lines = ["| quantity | units | example |", "|---|---|---|"]
    for name, word in QUANTITIES.items():
        spelt = re.search(r"\(([^()]*)\)\\s\*\$$", found[name].get("pattern", ""))
        if spelt is None:
            shown = "E, W, or a plain number of degrees east"
        else:
            shown = ", ".join(f"`{unit}`" for unit in spelt[1].split("|"))
        lines.append(row(word, shown, f"`{json.dumps(found[name]['examples'][0])}`"))
    notes = [
        "`bdp` is the rate times the longest round-trip time of the flows that cross the link, in packets of",
        "their largest size. Prefixes are powers of 1000, those with an i (KiB, MiB, GiB) of 1024.",
    ]
    return [*lines, "", *notes, ""]


def page() -> str:
    """The whole page."""
    lines = units()
    lines += EDITORS.splitlines()
    for table in TABLES:
        lines += section(*table)
    return HEAD + "\n".join(lines).rstrip("\n") + "\n"


if __name__ == "__main__":
    sys.exit(write({PAGE: page()}, __doc__))
