"""The JSON Schema of scenarios, for editors and other programs, and the verb that prints it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from bentpipe import terminal


def scenario_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a scenario, as TOML or JSON holds it.

    `$id` names the version of Bentpipe that it belongs to. `x-quantity` names the quantity in a text,
    `x-hint` the text for a missing key, and `x-carriage` the carrier of a kind of traffic.
    """
    from bentpipe import _core

    schema: dict[str, Any] = json.loads(_core.schema())
    return schema


def schema_verb(
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Default: standard output.")
    ] = None,
) -> None:
    """Print the JSON Schema of scenarios: keys, units, defaults and completion in an editor."""
    from bentpipe import _core
    from bentpipe.files import replace

    text = json.dumps(scenario_schema(), indent=2) + "\n"
    if out is None:
        terminal.line(text.rstrip("\n"))
        return
    if out.is_dir():
        raise _core.ScenarioError(f"--out {out} is a directory; name a file")
    replace(out, lambda place: place.write_text(text, encoding="utf-8"))
    terminal.line(f"written to {terminal.plain(str(out))}")
