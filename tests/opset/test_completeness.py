"""Every version step of every operator is accounted for, and what is said to change nothing changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import onnx.defs
from backedge.passes.opset import table, type_widening
from backedge.passes.opset.steps import SAME
from onnx.defs import OpSchema


def _history() -> dict[tuple[str, str], list[OpSchema]]:
    found: dict[tuple[str, str], list[OpSchema]] = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        found.setdefault((schema.domain, schema.name), []).append(schema)
    return {key: sorted(schemas, key=lambda schema: schema.since_version) for key, schemas in found.items()}


def _steps() -> Iterator[tuple[str, OpSchema, OpSchema]]:
    for (domain, name), schemas in sorted(_history().items()):
        for before, after in pairwise(schemas):
            yield f"{domain}.{name}" if domain else name, before, after


STEPS = list(_steps())

UP_REFUSED = {
    ("Scan", 9),  # through the canonical loop
    ("ai.onnx.ml.TreeEnsembleClassifier", 5),
    ("ai.onnx.ml.TreeEnsembleRegressor", 5),
}


def test_there_are_as_many_steps_as_recorded() -> None:
    assert len(STEPS) >= 432  # onnx 1.23; later releases may only add


def test_every_step_has_a_way_up_or_is_known_not_to() -> None:
    missing = [
        (name, after.since_version) for name, _, after in STEPS if (name, after.since_version) not in table.STEPS
    ]
    assert not missing
    refused = {
        (name, after.since_version)
        for name, _, after in STEPS
        if isinstance(table.STEPS[name, after.since_version].up, str)
    }
    assert refused == UP_REFUSED


def test_every_step_down_has_an_adapter_or_a_reason() -> None:
    for name, _, after in STEPS:
        way = table.STEPS[name, after.since_version].down
        assert callable(way) or len(way) > 10, (name, after.since_version)


def test_no_row_is_for_a_version_that_does_not_exist() -> None:
    versions = {
        (f"{domain}.{name}" if domain else name, schema.since_version)
        for (domain, name), schemas in _history().items()
        for schema in schemas
    }
    unversioned = {"Affine", "Crop", "DynamicSlice", "ImageScaler", "ParametricSoftplus", "Scale", "ScaledTanh"}
    assert set(table.STEPS) - versions == {(name, 0) for name in unversioned}


def _attributes(schema: OpSchema) -> dict[str, tuple[str, bool, bytes]]:
    return {
        name: (entry.type.name, entry.required, entry.default_value.SerializeToString())
        for name, entry in schema.attributes.items()
    }


def _places(schema: OpSchema) -> list[list[tuple[str, str]]]:
    return [[(place.name, place.option.name) for place in side] for side in (schema.inputs, schema.outputs)]


SAID_SAME = [entry for entry in STEPS if table.STEPS.get((entry[0], entry[2].since_version)) is SAME]


def test_what_is_called_the_same_has_the_same_signature() -> None:
    assert len(SAID_SAME) > 200
    for name, before, after in SAID_SAME:
        where = f"{name} {before.since_version} -> {after.since_version}"
        assert _attributes(before) == _attributes(after), where
        assert _places(before) == _places(after), where
        assert (before.min_input, before.max_input) == (after.min_input, after.max_input), where
        assert not after.deprecated, where


def test_a_step_of_the_future_is_refused() -> None:
    step = table.find("", "Add", 99)
    assert step.up == "no adapter to Add-99 is known"
    assert step.down == "no adapter from Add-99 down is known"


def test_rows_stand_once() -> None:
    assert len(table.STEPS) == sum(len(family.ROWS) for family in table._FAMILIES)
    assert all(step is SAME for step in type_widening.ROWS.values())
