"""Writes docs/queues.md from the registry of queues; `--check` reports whether it is up to date."""

import sys
from pathlib import Path
from typing import Any

from md import anchor, reference, row, shown, write

from bentpipe.registry import allowed, queues

PAGE = Path(__file__).parent.parent / "docs" / "queues.md"

HEAD = """\
<!-- Written from the registry (crates/sim/src/queue/mod.rs) by scripts/queues_md.py. Use `make docs`. -->

# Queues

A link has a queue in front of the transmitter of each direction: `queue = { kind = "KIND", KEY = VALUE }`
in its table, or in its `reverse` for that direction alone. Without one it is `drop-tail`. The rules of each,
and where they deviate from their source and why, stand at the head of its file in `crates/sim/src/queue/`.
`bentpipe queue show KIND` prints the same in a terminal.

All of them have in common:

- What waits does not include the packet in transmission, and a packet that finds the transmitter idle needs
  no room.
- `bdp` is the rate times the longest round trip of the flows that cross the link, in packets of their
  largest size.
- Whatever a queue drops, early or late, counts as `dropped_queue`; what it marks, as `marked`. It marks
  packets of flows with `ecn` only.
- A target and an interval that suit the Internet do not suit a satellite. The interval ought to be the
  longest usual round trip, and the target 5 to 10 % of it (RFC 8289 section 4): over a geostationary link,
  for instance `target = "30 ms", interval = "600 ms"`.

"""


def heading(entry: dict[str, Any]) -> str:
    """The heading of one kind."""
    return f"{entry['label']} (`{entry['kind']}`)"


def section(entry: dict[str, Any]) -> list[str]:
    """The lines on one kind."""
    lines = [f"## {heading(entry)}", "", entry["about"], ""]
    lines += [f"Source: {entry['source']}, {reference(entry['reference'])}.", ""]
    lines += ["| key | default | values | what it does |", "|---|---|---|---|"]
    for key in entry["keys"]:
        default = "none" if key["default"] is None else f"`{shown(key['default'])}`"
        lines.append(row(f"`{key['name']}`", default, allowed(key), key["about"]))
    return [*lines, ""]


def page(entries: list[dict[str, Any]]) -> str:
    """The whole page."""
    lines = ["| kind | name | what it is |", "|---|---|---|"]
    for entry in entries:
        lines.append(row(f"[`{entry['kind']}`](#{anchor(heading(entry))})", entry["label"], entry["about"]))
    lines.append("")
    for entry in entries:
        lines += section(entry)
    return HEAD + "\n".join(lines).rstrip("\n") + "\n"


if __name__ == "__main__":
    sys.exit(write({PAGE: page(queues())}, __doc__))
