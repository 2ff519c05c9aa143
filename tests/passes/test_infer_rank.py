"""Ranks of results whose sizes only a run tells: as many axes as ONNX Runtime gives them."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from backedge.convert.files import to_hub
from backedge.convert.onnx.read import read_model
from backedge.passes.infer import infer_node
from backedge.passes.types import TensorType
from backedge.runtime.executor import Executor
from onnx import parser
from onnx.reference import ReferenceEvaluator

Arrays = list[np.ndarray[Any, Any]]


def _ones(*sizes: int, dtype: Any = np.float32) -> np.ndarray[Any, Any]:
    return np.ones(sizes, dtype)


TWO, FOUR, AXIS = np.array(2), np.array(4), np.array([1])
CASES: dict[str, Arrays] = {
    "STFT (0, 1, 2)": [_ones(1, 8, 1), TWO, _ones(4)],
    "STFT <onesided = 0> (0, 1, , 2)": [_ones(1, 8, 2), TWO, FOUR],
    "HannWindow (0)": [FOUR],
    "HammingWindow (0)": [FOUR],
    "BlackmanWindow (0)": [FOUR],
    "MelWeightMatrix (0, 1, 2, 3, 4)": [TWO, np.array(8), np.array(64), np.array(0, "f4"), np.array(8, "f4")],
    "Resize (0, , , 1)": [_ones(1, 1, 2, 2), np.array([1, 1, 4, 4])],
    "Pad (0, 1, 2, 3)": [_ones(2, 3), np.array([1, 1]), np.array(0, "f4"), AXIS],
    "CenterCropPad (0, 1)": [_ones(2, 3), np.array([1, 2])],
    "MaxUnpool <kernel_shape = [2]> (0, 1, 2)": [_ones(1, 1, 2), np.array([[[0, 3]]]), np.array([1, 1, 5])],
    "Conv (0, 1)": [_ones(1, 2, 4), _ones(3, 2, 2)],
    "ConvTranspose (0, 1)": [_ones(1, 2, 4), _ones(2, 3, 2)],
    "ConvInteger (0, 1)": [_ones(1, 2, 4, 4, dtype=np.uint8), _ones(3, 2, 2, 2, dtype=np.uint8)],
    "ReduceSum (0, 1)": [_ones(2, 3), AXIS],
    "ReduceL2 <keepdims = 0> (0, 1)": [_ones(2, 3), AXIS],
    "Squeeze (0, 1)": [_ones(2, 1, 3), AXIS],
    "Unsqueeze (0, 1)": [_ones(2, 3), np.array([1, -1])],
    "Reshape (0, 1)": [_ones(2, 3), np.array([1, 3, 2])],
    "Compress (0, 1)": [_ones(2, 3), np.array([True, False, True])],
    "Compress <axis = 1> (0, 1)": [_ones(2, 3), np.array([True, False, True])],
    "Split (0, 1)": [_ones(2, 3), np.array([1, 1])],
}


def _model(call: str, given: Arrays, several: bool) -> onnx.ModelProto:
    inputs = []
    for index, array in enumerate(given):
        kind = {"float32": "float", "uint8": "uint8", "bool": "bool"}.get(array.dtype.name, "int64")
        listed = array.dtype == np.int64 and array.ndim == 1
        sizes = ", ".join(str(size) if listed else f"s{index}_{at}" for at, size in enumerate(array.shape))
        inputs.append(f"{kind}[{sizes}] x{index}" if array.ndim else f"{kind} x{index}")
    operator, _, operands = call.rpartition("(")
    named = ", ".join(f"x{text.strip()}" if text.strip() else "" for text in operands.rstrip(")").split(","))
    text = f"g ({', '.join(inputs)}) => () {{ {'y, z' if several else 'y'} = {operator} ({named}) }}"
    model = parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21]> {text}')
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in model.graph.node[0].output)
    return model


@pytest.mark.parametrize("call", CASES)
def test_ranks(call: str) -> None:
    given = CASES[call]
    model = _model(call, given, call.startswith("Split"))
    session = onnxruntime.InferenceSession(model.SerializeToString())
    found = session.run(None, {f"x{index}": array for index, array in enumerate(given)})
    (node,) = read_model(model).nodes
    types = infer_node(node)
    assert [isinstance(one, TensorType) and len(one.shape or ()) for one in types] == [
        np.asarray(one).ndim for one in found
    ]


def test_axes_that_may_be_one() -> None:
    """ONNX Runtime takes an axis that is named twice once."""
    for call in ("Squeeze (0, 1)", "ReduceSum <keepdims = 0> (0, 1)"):
        given = [_ones(1, 1, 3), np.array([0, 0])]
        model = _model(call, given, several=False)
        session = onnxruntime.InferenceSession(model.SerializeToString())
        (found,) = session.run(None, {"x0": given[0], "x1": given[1]})
        assert np.asarray(found).ndim == 2
        (node,) = read_model(model).nodes
        (told,) = infer_node(node)
        assert isinstance(told, TensorType) and told.shape is None


def test_sizes_whose_number_is_open() -> None:
    """ONNX's own inference counts none of them; the model is right, and ONNX Runtime runs it."""
    model = parser.parse_model("""<ir_version: 10, opset_import: ["" : 21]>
        g (float[n, 2] x, int64[n] sizes) => (float y) {
            one = Constant <value = int64 {1}> ()
            kept = Loop (one, "", x) <body = b (int64 i, bool g, float v) => (bool on, float w) {
                on = Identity (g) w = Identity (v) }>
            y = Resize (kept, , , sizes) }""")
    model.graph.output[0].type.tensor_type.ClearField("shape")
    feeds = {"x": _ones(2, 2), "sizes": np.array([4, 6])}
    (wanted,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, feeds)
    graph = to_hub(read_model(model))
    (found,) = Executor(graph).run(feeds).values()
    np.testing.assert_array_equal(found, wanted, strict=True)


@pytest.mark.parametrize("kind", ["int32", "int64"])
def test_sizes_behind_a_pad(kind: str) -> None:
    """ONNX's own inference reads axes of int64 alone; onnx's reference runs both, as the operator says."""
    model = parser.parse_model(f"""<ir_version: 10, opset_import: ["" : 21]>
        g (float[2, 3] x) => (float y) <int64[2] pads = {{1, 1}}, {kind}[1] axis = {{0}}> {{
            y = Pad (x, pads, , axis) }}""")
    (told,) = infer_node(read_model(model).nodes[0])
    assert isinstance(told, TensorType) and told.shape == (4, 3)
    model.graph.output[0].type.tensor_type.ClearField("shape")
    (wanted,) = ReferenceEvaluator(model).run(None, {"x": _ones(2, 3)})
    (found,) = Executor(to_hub(read_model(model))).run({"x": _ones(2, 3)}).values()
    np.testing.assert_array_equal(found, wanted, strict=True)
