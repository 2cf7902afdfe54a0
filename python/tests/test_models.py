"""The classes of the parts of a scenario, which follow from the JSON Schema."""

import dataclasses
import json
import pickle
import pydoc

import pytest

import bentpipe as bp
from bentpipe import _core, models

SCHEMA = json.loads(_core.schema())
KINDS = {
    table["properties"]["kind"]["const"]: table
    for found in SCHEMA["$defs"].values()
    for table in found.get("oneOf", [])
    if "kind" in table.get("properties", {})
}


def keys(cls):
    return [field.name.rstrip("_") for field in dataclasses.fields(cls)]


def test_every_kind_of_the_schema_has_its_class():
    assert set(models.KINDS) == set(KINDS)
    for kind, table in KINDS.items():
        cls = models.KINDS[kind]
        assert cls.kind == kind and getattr(bp, cls.__name__) is cls
        assert set(keys(cls)) == set(table["properties"]) - {"kind"}


def test_a_scenario_has_the_keys_of_the_schema():
    """It is the only class of a table that is written by hand."""
    names = {"links": "link", "flows": "flow", "stations": "station"}
    assert {names.get(key, key) for key in keys(bp.Scenario)} == set(SCHEMA["properties"])


def test_the_help_of_a_class_says_what_each_key_does_and_its_unit_and_default():
    text = " ".join(pydoc.render_doc(bp.Red, renderer=pydoc.plaintext).replace(" | ", " ").split())
    args = text[text.index("Args: ") : text.index("Method resolution order")]
    for key, schema in KINDS["red"]["properties"].items():
        if key == "kind":
            continue
        about = args[args.index(f" {key}: ") :]
        assert " ".join(schema["description"].split())[:60] in about
        if schema.get("default") is not None:
            default = (
                json.dumps(schema["default"]) if isinstance(schema["default"], str) else schema["default"]
            )
            assert f" Default: {default}." in about[: about.index("Default: ") + 30]
    for said in (
        ' such as "432 packets" (packets, bytes, kB, MB or bdp)',
        ' such as "1448 bytes"',
        " from 0 to 1.",
    ):
        assert said in args
    assert "average length" in text and "Red(limit: 'str' = '1 bdp', min: 'float" in text


def test_arguments_by_position_are_in_the_order_of_their_declaration():
    assert bp.Outage("1 s", "2 s") == bp.Outage(from_="1 s", to="2 s")
    assert bp.Pareto("10 kB", 1.2) == bp.Pareto(least="10 kB", shape=1.2)
    assert bp.ShortFlows("10 kB", 2.0) == bp.ShortFlows(size="10 kB", per_second=2.0)
    assert bp.Flow("reno", ["a"]) == bp.Flow(cc="reno", path=["a"])
    with pytest.raises(TypeError, match="positional"):
        bp.Flow("reno", ["a"], "name")
    with pytest.raises(TypeError, match="positional"):
        bp.Link("1 Mbit/s")


def test_a_path_of_one_link_may_be_its_name():
    assert bp.Flow("reno", "sat").path == ["sat"]


def test_models_are_values():
    red = bp.Red("9 packets", ecn=True)
    assert pickle.loads(pickle.dumps(red)) == red and hash(red) == hash(bp.Red("9 packets", ecn=True))
    assert repr(bp.Priority(bands=3)) == "Priority(limit='1 bdp', bands=3)"
    with pytest.raises(dataclasses.FrozenInstanceError):
        red.ecn = False
    flow = bp.Flow("reno", "sat")
    flow.count = 3
    assert pickle.loads(pickle.dumps(flow)) == flow != bp.Flow("reno", "sat")
