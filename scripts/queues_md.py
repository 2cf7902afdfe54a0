"""Writes docs/queues.md from the registry of queues; `--check` reports whether it is up to date."""

import sys
from typing import Any

from md import DOCS, anchor, reference, row, write
from scenario_md import SCHEMA, alternatives, rows

from bentpipe.registry import queues

PAGE = DOCS / "queues.md"

HEAD = """\
<!-- Written from the registry (crates/sim/src/queue/mod.rs) by scripts/queues_md.py. Use `make docs`. -->

# Queues

A link has a queue in front of the transmitter of each direction: `queue = { kind = "KIND", KEY = VALUE }`
in its table, or in its `reverse` for that direction alone. Without one it is `drop-tail`. The head of each
file in `crates/sim/src/queue/` has the rules, and every deviation from the source with its reason.
`bentpipe queue show KIND` prints the keys in a terminal. [scenario.md](scenario.md#units) has the units.

All kinds have in common:

- The waiting data does not include the packet in transmission, and a packet that finds the transmitter idle
  needs no room.
- The `limit` of `drop-tail` and `drop-front` may be a time, such as `"200 ms"`: as many bytes as the link
  sends in it. Where the rate changes, it is the rate of the instant; in an outage, the last one before. Linux
  (`latency` of `tbf`) and routers (`queue-limit` of Cisco IOS XR, `queue-delay` of Nokia SR OS) compute the
  bytes in the same way, but once. It is no limit of a packet's age: nothing is dropped while nothing arrives.
- All packets that a queue drops, early or late, count as `dropped_queue`, and those that it marks as
  `marked`. It marks packets of flows with `ecn` only.
- A target and an interval that suit the Internet do not suit a satellite. The interval ought to be the
  longest usual round trip, and the target 5 to 10 % of it (RFC 8289 section 4). An example for a
  geostationary link is `target = "30 ms", interval = "600 ms"`.

"""


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
    lines = ["| kind | name |", "|---|---|"]
    for entry in entries:
        lines.append(row(f"[`{entry['kind']}`](#{anchor(heading(entry))})", entry["label"]))
    lines.append("")
    for entry in entries:
        lines += section(entry)
    return HEAD + "\n".join(lines).rstrip("\n") + "\n"


if __name__ == "__main__":
    sys.exit(write({PAGE: page(queues())}, __doc__))
