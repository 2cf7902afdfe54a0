"""The JSON Schema of scenarios, for editors and other programs."""

from __future__ import annotations

import json
from typing import Any


def scenario_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a scenario, as TOML or JSON holds it.

    `$id` names the version of Bentpipe that it belongs to. `x-quantity` names the quantity in a text,
    `x-hint` the text for a missing key, and `x-carriage` the carrier of a kind of traffic.
    """
    from bentpipe import _core

    schema: dict[str, Any] = json.loads(_core.schema())
    schema["$defs"]["DrawnTimeline"] = _drawn(schema["$defs"]["Flow"]["properties"])
    for kind in ("Link", "Reverse"):
        line = schema["$defs"][kind]["properties"]["timeline"]
        line["anyOf"].insert(1, {"$ref": "#/$defs/DrawnTimeline"})
    return schema


def sweep_schema() -> dict[str, Any]:
    """The same of a file that may be a sweep: a scenario with `seeds` and `vary`."""
    schema = scenario_schema()
    schema["properties"] |= {
        "seeds": {
            "description": "The number of seeds of each point, or a list of them.",
            "oneOf": [
                {"type": "integer", "minimum": 1},
                {
                    "type": "array",
                    "minItems": 1,
                    "uniqueItems": True,
                    "items": {"type": "integer", "minimum": 0},
                },
            ],
        },
        "vary": {
            "description": "Values by dotted key. All axes are crossed.",
            "type": "object",
            "properties": {
                "zip": {
                    "description": "Keys that vary together, value by value.",
                    "anyOf": [
                        {"$ref": "#/$defs/Axes"},
                        {"type": "array", "items": {"$ref": "#/$defs/Axes"}},
                    ],
                }
            },
            "additionalProperties": {"$ref": "#/$defs/Axis"},
        },
    }
    end = {"type": "array", "minItems": 2, "maxItems": 2, "items": {"type": ["number", "string"]}}
    points = {"type": "integer", "minimum": 2, "description": "The number of values, both ends included."}
    ranges = [
        {
            "type": "object",
            "additionalProperties": False,
            "required": [kind, "points"],
            "properties": {kind: {**end, "description": text}, "points": points},
        }
        for kind, text in (
            ("log", "Both ends of values with equal ratios."),
            ("lin", "Both ends of values with equal distances."),
        )
    ]
    axes = {"type": "object", "minProperties": 1, "additionalProperties": {"$ref": "#/$defs/Axis"}}
    schema["$defs"] |= {
        "Axes": axes,
        "Axis": {
            "anyOf": [
                {"type": "array", "minItems": 1},
                *ranges,
                {**axes, "propertyNames": {"not": {"enum": ["log", "lin"]}}},
            ]
        },
    }
    return schema


def _drawn(quantities: dict[str, Any]) -> dict[str, Any]:
    """The table of a time line that is drawn.

    `drawn.lines` makes a file of it before the simulator reads the scenario.

    Args:
        quantities: keys of the simulator's schema, one with a time among them.
    """
    from bentpipe.drawn.profiles import DIRECTIONS, PROFILES
    from bentpipe.drawn.recipe import GENERATORS, Recipe

    time = {key: value for key, value in quantities["start"].items() if key not in ("default", "description")}
    return {
        "type": "object",
        "description": "A time line that is drawn anew for each seed.",
        "additionalProperties": False,
        "required": ["generator"],
        "properties": {
            "generator": {"enum": list(GENERATORS), "description": "The model that draws it."},
            "profile": {
                "enum": list(PROFILES), "default": Recipe.profile,
                "description": "The constants of the model.",
            },
            "direction": {
                "enum": list(DIRECTIONS), "default": Recipe.direction,
                "description": "The direction of the access link, towards the user or away.",
            },
            "rate_median": {
                "type": "string", "examples": ["242 Mbit/s"], "x-quantity": "rate",
                "description": "Median of the rate over the periods of 15 s. Default that of the profile.",
            },
            "share": {
                "type": "number", "minimum": 0, "maximum": 1, "default": 1.0,
                "description": "Share of the rate that is drawn.",
            },
            "blackout": {
                **time,
                "description": "Time without transmission in each period. Default that of the profile.",
            },
            "seed": {
                "type": "integer", "minimum": 0,
                "description": "Seed of the draw. Default that of the run, so that each seed has its own.",
            },
        },
    }  # fmt: skip
