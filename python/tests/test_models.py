"""The classes of Python have the keys of the JSON Schema, which the structs of Rust give."""

import dataclasses
import json
import typing

import pytest

import bentpipe as bp
from bentpipe import _core, models

SCHEMA = json.loads(_core.schema())
KINDS = {
    table["properties"]["kind"]["const"]: table
    for name in ("Queue", "Loss", "Access", "Traffic", "SizeLaw", "LengthLaw", "CountLaw")
    for table in SCHEMA["$defs"][name]["oneOf"]
}
PLURAL = {"links": "link", "flows": "flow", "stations": "station"}


def fields(cls):
    """The fields of a class, under the keys that a scenario uses."""
    names = PLURAL if cls is bp.Scenario else {}
    return {names.get(f.name, f.name.rstrip("_")): f for f in dataclasses.fields(cls)}


def test_every_kind_has_a_model():
    assert {kind: model.kind for kind, model in models.KINDS.items()} == {kind: kind for kind in KINDS}
    assert {*models.KINDS.values(), models.Arq, models.AckThinning, models.Record} == set(
        models.Model.__subclasses__()
    )
    assert {model.__name__ for model in models.Model.__subclasses__()} <= set(bp.__all__)
    queues = [table["properties"]["kind"]["const"] for table in SCHEMA["$defs"]["Queue"]["oneOf"]]
    assert set(typing.get_args(models.Queue)) == {models.KINDS[kind] for kind in queues}


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_has_the_keys_of_its_kind(kind):
    table, found = KINDS[kind], fields(models.KINDS[kind])
    keys = {key: about for key, about in table["properties"].items() if key != "kind"}
    assert set(found) == set(keys)
    needed = {key for key, field in found.items() if field.default is dataclasses.MISSING}
    assert needed == set(table["required"]) - {"kind"}
    for key in set(found) - needed:
        default = found[key].default
        assert default is None or default == keys[key]["default"]


@pytest.mark.parametrize("cls", [bp.Record, bp.Arq, bp.AckThinning, bp.Link, bp.Flow, bp.Scenario])
def test_a_class_has_the_keys_of_its_table(cls):
    table = SCHEMA if cls is bp.Scenario else SCHEMA["$defs"][cls.__name__]
    assert set(fields(cls)) == set(table["properties"])
