"""Models written without an operator: onnxruntime gives the numbers that it gives with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from backedge.convert import convert
from backedge.passes.core import CORE
from backedge.passes.errors import NotLegal
from onnx import TensorProto, helper, numpy_helper

OPSET = 17
SPECIAL = [0.0, -0.0, 1.5, -2.5, 3e38, -1e-40, np.nan, np.inf, -np.inf, 7.0, -7.0, 0.3]
FLOATS = np.array(SPECIAL, np.float32).reshape(3, 4)
OTHERS = np.array(SPECIAL[5:] + SPECIAL[:5], np.float32).reshape(3, 4)
PLAIN = np.linspace(-2, 3, 24, dtype=np.float32).reshape(2, 3, 4)
TRUTHS = np.array([True, True, False, False]), np.array([True, False, True, False])
COMPOSITES = "Relu Reciprocal Gemm GlobalAveragePool GlobalMaxPool Sigmoid ReduceMean Identity"

CASES: list[tuple[str, tuple[Any, ...], dict[str, Any], float]] = [
    # operator, inputs (a tuple of one is a constant), attributes, units in the last place
    ("Sub", (FLOATS, OTHERS), {}, 0),
    ("Neg", (FLOATS,), {}, 0),
    ("Div", (PLAIN, PLAIN[::-1].copy()), {}, 2),
    ("Clip", (FLOATS,), {}, 0),
    ("Clip", (FLOATS, (), (np.float32(1),)), {}, 0),
    ("Clip", (FLOATS, (np.float32(2),), (np.float32(1),)), {}, 0),
    ("Clip", (np.arange(-3, 5, dtype=np.int32), (np.int32(2),)), {}, 0),
    ("Div", (FLOATS, (np.float32(4),)), {}, 0),
    ("Max", (FLOATS, (np.float32(0),)), {}, 0),
    ("Max", ((np.float32(0),), FLOATS), {}, 0),
    ("Min", (FLOATS, OTHERS), {}, 0),
    ("Abs", (FLOATS,), {}, 0),
    ("Greater", (FLOATS, OTHERS), {}, 0),
    ("Less", (FLOATS, OTHERS), {}, 0),
    ("And", TRUTHS, {}, 0),
    ("Or", TRUTHS, {}, 0),
    ("Not", TRUTHS[:1], {}, 0),
    ("Xor", TRUTHS, {}, 0),
    ("Pow", (FLOATS, (np.float32(2),)), {}, 0),
    ("Pow", (PLAIN, (np.float32(3),)), {}, 4),
    ("Pow", (abs(PLAIN), (np.float32(0.5),)), {}, 2),
    ("Pow", (PLAIN, (np.float32(-1),)), {}, 2),
    ("Sqrt", (abs(PLAIN),), {}, 2),
    ("Tan", (PLAIN,), {}, 8),
    ("ReduceMax", (PLAIN,), {"axes": [2], "keepdims": 1}, 0),
    ("ReduceMax", (PLAIN,), {"axes": [-1], "keepdims": 0}, 0),
    ("ReduceSum", (PLAIN, (np.array([0, -1]),)), {"keepdims": 0}, 8),
    ("ReduceMean", (PLAIN,), {"axes": [2], "keepdims": 0}, 4),
    ("ReduceMean", (PLAIN,), {"axes": [0, 2]}, 4),
    ("MatMul", (PLAIN[0], PLAIN[0].T.copy()), {}, 16),
    ("Squeeze", (PLAIN[:, :, :1].copy(), (np.array([-1]),)), {}, 0),
    ("Unsqueeze", (PLAIN, (np.array([0, -1]),)), {}, 0),
    ("Gather", (PLAIN, (np.array(1),)), {"axis": 1}, 0),
    ("Gather", (PLAIN, (np.array([1, 2]),)), {"axis": -1}, 0),
    ("Gather", (PLAIN, (np.array([-2, -1]),)), {"axis": 2}, 0),
    ("Slice", (PLAIN, (np.array([3]),), (np.array([-(2**63)]),), (np.array([2]),), (np.array([-2]),)), {}, 0),
    ("Slice", (PLAIN, (np.array([-2, 0]),), (np.array([2**31, 2]),), (np.array([1, -1]),)), {}, 0),
    ("Cast", (FLOATS,), {"to": TensorProto.BOOL}, 0),
    ("Sigmoid", (FLOATS,), {}, 128),  # ONNX Runtime's own is a short polynomial
    ("Softmax", (PLAIN,), {"axis": 1}, 8),
    ("HardSwish", (PLAIN,), {}, 4),
    ("Split", (PLAIN, (np.array([1, 3]),)), {"axis": 2}, 0),
    ("Tile", (PLAIN, (np.array([2, 1, 3]),)), {}, 0),
    ("Flatten", (PLAIN,), {"axis": 2}, 0),
    ("Resize", (PLAIN[None], (), (np.array([1, 1, 2, 1.5], np.float32),)), {"mode": "linear"}, 64),
    ("LayerNormalization", (PLAIN, (np.arange(1, 5, dtype=np.float32),)), {}, 512),
    ("LSTM", (PLAIN, (np.full((1, 8, 4), 0.1, np.float32),), (np.full((1, 8, 2), -0.2, np.float32),)),
     {"hidden_size": 2}, 64),
]  # fmt: skip


def model_of(op_type: str, inputs: tuple[Any, ...], attributes: dict[str, Any]) -> tuple[onnx.ModelProto, dict]:
    names, feeds, given, constants = [], {}, [], []
    for place, value in enumerate(inputs):
        name = f"x{place}"
        if isinstance(value, tuple) and not value:
            names.append("")
            continue
        names.append(name)
        if isinstance(value, tuple):
            constants.append(numpy_helper.from_array(np.asarray(value[0]), name))
        else:
            feeds[name] = value
            given.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape))
    count = 2 if op_type == "Split" else 1
    outputs = [f"y{place}" for place in range(count)]
    node = helper.make_node(op_type, names, outputs, "the_node", **attributes)
    made = [onnx.ValueInfoProto(name=name) for name in outputs]
    graph = helper.make_graph([node], "g", given, made, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
    return onnx.shape_inference.infer_shapes(model), feeds


def run(path: Path, feeds: dict[str, Any]) -> list[np.ndarray]:
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return [np.asarray(value) for value in session.run(None, feeds)]


@pytest.mark.parametrize(("op_type", "inputs", "attributes", "units"), CASES)
def test_without_the_operator(
    op_type: str, inputs: tuple[Any, ...], attributes: dict[str, Any], units: float, tmp_path: Path
) -> None:
    model, feeds = model_of(op_type, inputs, attributes)
    source, target = tmp_path / "a.onnx", tmp_path / "b.onnx"
    onnx.save(model, source)
    listed = [name for name in (*CORE, *COMPOSITES.split()) if name not in (op_type, "Constant")]
    convert(source, target, only_ops=list(dict.fromkeys(listed)), verify=0)
    written = onnx.load(target)
    assert op_type not in {node.op_type for node in written.graph.node}
    assert {node.op_type for node in written.graph.node} <= {*listed, "Constant"}
    for got, wanted in zip(run(target, feeds), run(source, feeds), strict=True):
        assert got.dtype == wanted.dtype and got.shape == wanted.shape
        if units and got.dtype.kind == "f":
            np.testing.assert_array_max_ulp(got, wanted, units)
        else:
            np.testing.assert_array_equal(got, wanted, strict=True)


def test_signs_of_zero_are_kept(tmp_path: Path) -> None:
    model, feeds = model_of("Neg", (FLOATS,), {})
    source, target = tmp_path / "a.onnx", tmp_path / "b.onnx"
    onnx.save(model, source)
    convert(source, target, only_ops=["Mul"], verify=0)
    (got,), (wanted,) = run(target, feeds), run(source, feeds)
    numbers = ~np.isnan(FLOATS)
    np.testing.assert_array_equal(np.signbit(got[numbers]), np.signbit(wanted[numbers]))


def test_a_circle_of_equivalents_ends(tmp_path: Path) -> None:
    """Sub is Add of Neg, And is made of Or, Or of And."""
    model, _ = model_of("And", TRUTHS, {})
    onnx.save(model, tmp_path / "a.onnx")
    with pytest.raises(NotLegal) as refusal:
        convert(tmp_path / "a.onnx", tmp_path / "b.onnx", only_ops=["Not", "Add"], verify=0)
    (reason,) = refusal.value.refusals
    assert reason.reason.startswith("the list doesn't list And; decomposed: the list doesn't list Or")
    assert not (tmp_path / "b.onnx").exists()
