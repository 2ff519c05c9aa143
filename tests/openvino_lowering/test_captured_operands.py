"""ONNX's own cases in the body of a loop that captures their operands: each pass gives what the first one gives.

OpenVINO's CPU puts some results into the memory of an operand, which the next pass reads again.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import onnx
import pytest
from backedge.convert.onnx.raising import raise_graph
from backedge.convert.onnx.read import read_model
from backedge.passes.errors import InvalidModel, Unsupported
from onnx import TensorProto, helper

from .corpus import Case, node_cases
from .runner import Runner

_PASSES = 3
_DRAWING = {"Bernoulli", "Dropout", "Multinomial", "RandomNormalLike", "RandomUniformLike"}


def _cases() -> Iterator[Case]:
    """One of each set of operators and their texts ("add", "linear"), of tensors, that draws no random numbers."""
    seen = set()
    for case in node_cases():
        graph = case.model.graph
        operators = {node.op_type for node in graph.node}
        texts = {attribute.s for node in graph.node for attribute in node.attribute}
        tensors = all(value.type.HasField("tensor_type") for value in (*graph.input, *graph.output))
        if (
            tensors
            and case.sets
            and (key := (frozenset(operators), frozenset(texts))) not in seen
            and _DRAWING.isdisjoint(operators)
        ):
            seen.add(key)
            yield case


def _looped(model: onnx.ModelProto) -> onnx.ModelProto:
    """A loop whose body is the model, which captures all its inputs; the results are stacked."""
    graph = model.graph
    entries = [helper.make_tensor_value_info(name, kind, []) for name, kind in (("i_", 7), ("go_", TensorProto.BOOL))]
    on = helper.make_tensor_value_info("on_", TensorProto.BOOL, [])
    again = helper.make_node("Identity", ["go_"], ["on_"])
    body = helper.make_graph([again, *graph.node], "body", entries, [on, *graph.output])
    stacked = [helper.make_tensor_value_info(f"{one.name}_all", _kind(one), None) for one in graph.output]
    loop = helper.make_node("Loop", ["passes_", ""], [one.name for one in stacked], body=body)
    passes = helper.make_tensor_value_info("passes_", TensorProto.INT64, [])
    outer = helper.make_graph([loop], "g", [*graph.input, passes], stacked, [*graph.initializer])
    return helper.make_model(outer, opset_imports=model.opset_import, ir_version=model.ir_version)


def _kind(value: onnx.ValueInfoProto) -> int:
    return value.type.tensor_type.elem_type


@pytest.mark.full
@pytest.mark.timeout(600)
def test_each_pass_gives_the_same(openvino: Runner) -> None:
    changing, run = [], 0
    for case in _cases():
        feeds = dict(zip([one.name for one in case.model.graph.input], case.sets[0][0], strict=False))
        try:
            graph = raise_graph(read_model(_looped(case.model)))
            (found,) = openvino.lowered(graph, [{**feeds, "passes_": np.array(_PASSES)}])
        except (Unsupported, InvalidModel, RuntimeError):
            continue  # what OpenVINO refuses, or doesn't load, is asked elsewhere
        run += 1
        for stack in found:
            if any(one.tolist() != stack[0].tolist() and one.tobytes() != stack[0].tobytes() for one in stack[1:]):
                changing.append(case.name)
    assert changing == []
    assert run > 200
