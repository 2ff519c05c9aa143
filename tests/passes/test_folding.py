"""What is folded of constants, and what isn't since it would be large."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from backedge.convert import to_hub
from backedge.convert.folding import MOST_DATA, computed_arrays, refine
from backedge.convert.onnx.read import read_model
from backedge.passes.graph import Node
from onnx import parser

SIZES = "int64[2] s = {8192, 16384}"
GROWING = {
    "ConstantOfShape": ("y = ConstantOfShape (s)", SIZES),
    "Expand": ("y = Expand (a, s)", f"float a = {{1}}, {SIZES}"),
    "Tile": ("y = Tile (a, s)", f"float[1, 1] a = {{1}}, {SIZES}"),
    "Pad": ("y = Pad (a, p)", "float[1] a = {1}, int64[2] p = {0, 67108864}"),
    "Range": ("y = Range (a, b, c)", "int64 a = {0}, int64 b = {67108864}, int64 c = {1}"),
}


def _node(body: str, constants: str) -> Node:
    head = '<ir_version: 10, opset_import: ["" : 21]> g () => (float y)'
    model = parser.parse_model(f"{head} <{constants}> {{ {body} }}")
    model.graph.output[0].ClearField("type")
    (node,) = to_hub(read_model(model)).nodes
    refine(node)
    return node


@pytest.mark.parametrize("op_type", GROWING)
def test_small_constants_that_would_be_a_large_one(op_type: str) -> None:
    node = _node(*GROWING[op_type])
    tracemalloc.start()
    try:
        assert computed_arrays(node, MOST_DATA) is None
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1 << 24


def test_a_small_one() -> None:
    arrays = computed_arrays(_node("y = Expand (a, s)", "float a = {2.5}, int64[2] s = {2, 3}"), MOST_DATA)
    assert arrays is not None
    np.testing.assert_array_equal(arrays[0], np.full((2, 3), 2.5, np.float32))
