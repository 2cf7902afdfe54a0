"""The verb `drill`: packetdrill scripts against the TCP of the simulator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from bentpipe import _core, terminal
from bentpipe.cli.verbs import FAILED, Json, argument

MOST_BYTES = 1_000_000
"""Of a script; those of packetdrill have a few kilobytes."""


def drill_verb(
    places: Annotated[list[Path], argument("FILE|DIR...", "Scripts, or folders that hold some (*.pkt).")],
    strict: Annotated[
        bool,
        typer.Option("--strict", help="A segment that no line names is a difference, as in our own scripts."),
    ] = False,
    json: Json = False,
) -> None:
    """Play packetdrill scripts against the TCP of the simulator: what differs from what they say."""
    found = [played(script, name, strict=strict) for script, name in _scripts(places)]

    def show() -> None:
        rows = [[one["verdict"], one["script"], str(one["line"] or "-"), one["message"]] for one in found]
        terminal.show_whole("", ["<verdict", "<script", "line", "~what it says"], rows)
        counts = Counter(one["verdict"] for one in found)
        terminal.line(", ".join(f"{number} {word}" for word, number in sorted(counts.items())))

    terminal.give(lambda: {"scripts": found}, show, json=json)
    if any(one["verdict"] in ("differs", "unreadable") for one in found):
        raise typer.Exit(FAILED)


def played(script: Path, name: str, *, strict: bool) -> dict[str, Any]:
    """The verdict on a script: "pass", "differs", "refused" (it needs what is not here) or "unreadable".

    With it are the line that is to blame, null if there is none, and what it says.
    """
    text = _core.read_file(script, MOST_BYTES).decode(errors="replace")
    word, line, message = _core.drill(text, strict)
    return {"script": name, "verdict": word, "line": line or None, "message": message}


def _scripts(places: list[Path]) -> Iterator[tuple[Path, str]]:
    """The scripts at these places, each with its name: below the folder that is given."""
    for place in places:
        if not place.is_dir():
            yield place, str(place)
            continue
        inside = sorted(path for path in place.rglob("*.pkt") if path.is_file())
        if not inside:
            raise _core.ScenarioError(f"{place}: no script (*.pkt) is in this folder")
        yield from ((path, str(path.relative_to(place))) for path in inside)
