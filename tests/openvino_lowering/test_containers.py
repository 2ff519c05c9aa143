"""Models that use sequences and optionals inside, which IR doesn't have; expected values by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from backedge.convert.onnx.raising import raise_graph
from backedge.convert.onnx.read import read_model
from backedge.convert.openvino.lowering import lower_graph
from backedge.passes.errors import Unsupported
from backedge.passes.graph import Graph

from .hub import f32
from .runner import Runner

X = f32([[1, 2], [3, 4], [5, 6]])


def graph_of(text: str) -> Graph:
    return raise_graph(read_model(onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 24]> {text}')))


CASES: list[tuple[str, dict[str, Any], list[Any]]] = [
    (
        "g (float[3, 2] x) => (float[1, 2] y, int64 n) <int64 at = {-1}> "
        "{ s = SplitToSequence <axis = 0> (x) y = SequenceAt (s, at) n = SequenceLength (s) }",
        {"x": X},
        [X[2:], 3],
    ),
    (
        "g (float[2] x, float[3] z) => (float[n] y) <int64 at = {0}> "
        "{ e = SequenceEmpty () s = SequenceInsert (e, x) t = SequenceInsert (s, z, at) "
        "y = ConcatFromSequence <axis = 0> (t) }",
        {"x": f32([1, 2]), "z": f32([3, 4, 5])},
        [f32([3, 4, 5, 1, 2])],
    ),
    (
        "g (float[3, 2] x) => (float[3, 2] y) <int64 m = {3}, int64[1] zero = {0}> { e = SequenceEmpty () "
        "s = Loop (m, , e) <body = b (int64 i, bool c, seq(float) q) => (bool d, seq(float) r) "
        "{ d = Identity (c) one = Gather (x, i) two = Mul (one, one) r = SequenceInsert (q, two) }> "
        "y = ConcatFromSequence <axis = 0, new_axis = 1> (s) }",
        {"x": X},
        [X * X],
    ),
    (
        "g (float[2] x, float[2] z) => (float[2] y, float[2] w) { s = SequenceConstruct (x, z) "
        "t = SequenceMap (s) <body = b (float[2] a) => (float[2] c) { c = Neg (a) }> "
        "at = Constant <value = int64 {1}> () y = SequenceAt (t, at) w = SequenceAt (s, at) }",
        {"x": f32([1, 2]), "z": f32([3, 4])},
        [f32([-3, -4]), f32([3, 4])],
    ),
    (
        "g (float[2] x) => (bool h, float[2] y) "
        "{ o = Optional (x) h = OptionalHasElement (o) y = OptionalGetElement (o) }",
        {"x": f32([1, 2])},
        [True, f32([1, 2])],
    ),
]


@pytest.mark.parametrize(("text", "feeds", "wanted"), CASES, ids=["split", "insert", "loop", "map", "optional"])
def test_held_inside(openvino: Runner, text: str, feeds: dict[str, Any], wanted: list[Any]) -> None:
    (found,) = openvino.lowered(graph_of(text), [feeds])
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("kind", ["seq(float[2])", "optional(float[2])"])
def test_entering(kind: str) -> None:
    read = "SequenceLength (x)" if kind.startswith("seq") else "OptionalHasElement (x)"
    result = "int64" if kind.startswith("seq") else "bool"
    with pytest.raises(Unsupported, match=r"the model takes .*tensors only"):
        lower_graph(graph_of(f"g ({kind} x) => ({result} y) {{ y = {read} }}"))
