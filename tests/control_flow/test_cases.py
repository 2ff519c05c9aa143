"""The catalogue itself: valid models, complete versions, and expected values that ONNX Runtime confirms."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import onnx
import onnxruntime
import pytest
from onnx import defs, helper

from control_flow.case import CONTROL_FLOW, IR_BY_OPSET
from control_flow.cases import BY_NAME, CASES, Case

MEASURED = "1.31."  # the ONNX Runtime whose faults the catalogue names
KNOWN_OPSET = defs.onnx_opset_version()


def opset(case: Case) -> int:
    return case.model().opset_import[0].version


def per_case(cases: list[Case]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases, ids=[case.name for case in cases])


@per_case([case for case in CASES if not case.checker_fault])
def test_checker_accepts(case: Case) -> None:
    if opset(case) > KNOWN_OPSET:
        pytest.skip("newer than the installed onnx")
    onnx.checker.check_model(case.model(), full_check=True)


@per_case([case for case in CASES if case.checker_fault])
def test_checker_refuses(case: Case) -> None:
    with pytest.raises((onnx.checker.ValidationError, onnx.shape_inference.InferenceError)):
        onnx.checker.check_model(case.model(), full_check=True)


@pytest.fixture(scope="module")
def confirmed() -> dict[str, list[str]]:
    if not hasattr(os, "fork"):
        pytest.skip("ONNX Runtime dies on some cases: they need a fork each")
    command = [sys.executable, "-m", "control_flow.ort_child"]
    done = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@per_case([case for case in CASES if not case.ort_fault or opset(case) > 26])
def test_onnxruntime_agrees(case: Case, confirmed: dict[str, list[str]]) -> None:
    assert confirmed[case.name] == []


@pytest.mark.skipif(not onnxruntime.__version__.startswith(MEASURED), reason="faults were measured on another release")
@per_case([case for case in CASES if case.ort_fault and opset(case) <= 26])
def test_onnxruntime_is_at_fault(case: Case, confirmed: dict[str, list[str]]) -> None:
    assert confirmed[case.name]


def test_names_are_unique() -> None:
    assert len(BY_NAME) == len(CASES)


@per_case(CASES)
def test_case_is_complete(case: Case) -> None:
    model = case.model()
    initialized = {tensor.name for tensor in model.graph.initializer}
    types = {value.name: value.type.tensor_type.elem_type for value in model.graph.input}
    assert case.why
    assert case.runs
    assert model.ir_version == IR_BY_OPSET[opset(case)]
    for run in case.runs:
        assert set(types) - initialized <= set(run.inputs) <= set(types)
        for name, value in run.inputs.items():
            assert value.dtype == helper.tensor_dtype_to_np_dtype(types[name])
        wanted = [helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type) for value in model.graph.output]
        assert [value.dtype for value in run.expected] == wanted


def nodes(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            yield from nodes(attribute.g)


def test_every_version_occurs() -> None:
    found = {
        (node.op_type, defs.get_schema(node.op_type, min(opset(case), KNOWN_OPSET)).since_version)
        for case in CASES
        for node in nodes(case.model().graph)
        if node.op_type in CONTROL_FLOW
    }
    known = {
        (schema.name, schema.since_version)
        for schema in defs.get_all_schemas_with_history()
        if schema.domain == "" and schema.name in CONTROL_FLOW
    }
    assert known <= found
