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
