"""The catalogue of control-flow models, from ONNX through the hub to OpenVINO."""

from __future__ import annotations

import numpy as np
import pytest
from backedge.convert.onnx.raising import raise_graph
from backedge.convert.onnx.read import read_model
from backedge.convert.openvino.lowering import lower_graph
from backedge.passes.errors import Unsupported
from control_flow.cases import CASES, Case

from .runner import Runner
from .sweep import difference

NO_TYPE, TEXT = "no element type", "is a string tensor"
REFUSED = {
    **dict.fromkeys(
        [f"type_{kind}_{name}" for kind in ("loop", "scan") for name in ("float8e4m3fnuz", "float8e5m2fnuz", "int2")],
        NO_TYPE,
    ),
    **dict.fromkeys(("type_loop_uint2", "type_scan_uint2"), "uint2"),
    **dict.fromkeys(("type_loop_float8e8m0", "type_scan_float8e8m0"), "rounds to float8e8m0"),
    **dict.fromkeys(("type_loop_float4e2m1", "type_scan_float4e2m1"), "carry from pass to pass"),
    **dict.fromkeys(("type_loop_string_tensor", "type_if_string"), TEXT),
    **dict.fromkeys(("if_ranks_differ_output", "loop_rank_grows"), "rank"),
    "loop_neither_limit": "without an end",
}
"""What OpenVINO can't express, and what the refusal says."""

RUNTIME = {
    **dict.fromkeys(
        ("type_loop_int64_scalar", "type_scan_scalar_int64", "loop_many_iterations"), "computes int64 in int32"
    ),
    **dict.fromkeys(("type_loop_float64_tensor", "type_if_double", "loop_newton"), "computes float64 in float32"),
    "if_condition_computed": "leaves NaN out of a maximum",
    "loop_types_undeclared_empty": "gives two axes where the rank of an element that never was is open",
    **dict.fromkeys(("loop_initializer_is_default", "loop_initializer_ir_4"), "inputs have no defaults: a constant"),
}
"""Where OpenVINO's CPU doesn't do what its own specification says, or nobody says what is right."""

RIGHT = [case for case in CASES if case.name not in REFUSED and case.name not in RUNTIME]


def test_tables_name_cases() -> None:
    assert {*REFUSED, *RUNTIME} <= {case.name for case in CASES}


@pytest.mark.parametrize("case", RIGHT, ids=lambda case: case.name)
def test_right(openvino: Runner, case: Case) -> None:
    """All runs one after the other on one compiled model."""
    graph = raise_graph(read_model(case.model()))
    found = openvino.lowered(graph, [dict(run.inputs) for run in case.runs], recompile="never")
    for run, outputs in zip(case.runs, found, strict=True):
        for output, expected in zip(outputs, run.expected, strict=True):
            assert not difference(output, expected, 1e-4, 1e-5), run.inputs


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    (case,) = [case for case in CASES if case.name == name]
    with pytest.raises(Unsupported, match=REFUSED[name]):
        lower_graph(raise_graph(read_model(case.model())))


@pytest.mark.parametrize("name", RUNTIME)
def test_runtime_is_still_wrong(openvino: Runner, name: str) -> None:
    """So that the table above doesn't outlive what it is about."""
    (case,) = [case for case in CASES if case.name == name]
    graph = raise_graph(read_model(case.model()))
    inputs = {value.name for value in graph.inputs if value.data is None}
    feeds = [{key: value for key, value in run.inputs.items() if key in inputs} for run in case.runs]
    found = openvino.lowered(graph, feeds, recompile="never")
    wrong = [
        difference(output, np.asarray(expected), 1e-6, 1e-9)
        for run, outputs in zip(case.runs, found, strict=True)
        for output, expected in zip(outputs, run.expected, strict=True)
    ]
    assert any(wrong)
