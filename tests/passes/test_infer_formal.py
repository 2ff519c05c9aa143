"""Element types that an operator's signature alone tells: nothing is known of what it is given."""

from __future__ import annotations

import pytest
from backedge.passes.graph import Node, Value
from backedge.passes.infer import infer_node
from backedge.passes.types import DType, TensorType

CERTAIN = {
    ("Shape", 1, 1): DType.INT64,
    ("Shape", 25, 1): DType.INT64,
    ("Size", 13, 1): DType.INT64,
    ("NonZero", 13, 1): DType.INT64,
    ("ArgMax", 13, 1): DType.INT64,
    ("Equal", 19, 2): DType.BOOL,
    ("Less", 13, 2): DType.BOOL,
    ("Not", 1, 1): DType.BOOL,
    ("IsNaN", 13, 1): DType.BOOL,
    ("MatMulInteger", 10, 2): DType.INT32,
}


@pytest.mark.parametrize(("op_type", "version", "inputs"), CERTAIN)
def test_certain_element_types(op_type: str, version: int, inputs: int) -> None:
    node = Node("", op_type, version, "n")
    node.inputs = [Value(f"x{index}") for index in range(inputs)]
    node.outputs = [Value("y", None, node)]
    (found,) = infer_node(node)
    assert isinstance(found, TensorType)
    assert found.dtype is CERTAIN[op_type, version, inputs]


def test_what_only_the_input_tells() -> None:
    node = Node("", "Transpose", 13, "n")
    node.inputs, node.outputs = [Value("x")], [Value("y", None, node)]
    (found,) = infer_node(node)
    assert found is None
