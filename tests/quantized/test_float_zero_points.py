"""Zero points of narrow floats, which the text adds and runtimes mostly don't."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from backedge.convert import convert, load
from backedge.runtime import run
from backedge.runtime.oracles import run_file
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

X = np.array([0.3, 2, -3, 5.5, -100], np.float32)


def model_of(kind: int, operator: str, zero: float) -> onnx.ModelProto:
    """float32 -> QuantizeLinear -> Cast, or constants -> DequantizeLinear; by a scale of 1."""
    four = kind == TensorProto.FLOAT4E2M1
    constants = [helper.make_tensor("s", 1, [], [1.0]), helper.make_tensor("z", kind, [], [zero])]
    given = [helper.make_tensor_value_info("x", 1, X.shape)]
    if operator == "DequantizeLinear":
        constants.append(helper.make_tensor("q", kind, [3], [0.5, 2, -3]))
        nodes = [
            helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"]),
            helper.make_node("Identity", ["d"], ["y"]),
        ]
        given = []
    else:
        nodes = [
            helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
            helper.make_node("Cast", ["q"], ["y"], to=1),
        ]
    shape = [3] if operator == "DequantizeLinear" else list(X.shape)
    graph = helper.make_graph(nodes, "g", given, [helper.make_tensor_value_info("y", 1, shape)], constants)
    opsets = [helper.make_opsetid("", 23 if four else 21)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=11 if four else 10)


def feeds_of(model: onnx.ModelProto) -> dict[str, Any]:
    return {value.name: X for value in model.graph.input}


@pytest.mark.parametrize("zero", [0.0, 1.0])
@pytest.mark.parametrize("kind", [TensorProto.FLOAT8E4M3FN, TensorProto.FLOAT8E5M2, TensorProto.FLOAT4E2M1])
def test_quantized_as_the_runtimes_do(kind: int, zero: float, tmp_path: Path) -> None:
    model = model_of(kind, "QuantizeLinear", zero)
    onnx.save(model, tmp_path / "m.onnx")
    (got,) = run(load(tmp_path / "m.onnx"), feeds_of(model)).values()
    (wanted,) = ReferenceEvaluator(model).run(None, feeds_of(model))
    np.testing.assert_array_equal(got, wanted, strict=True)
    if kind != TensorProto.FLOAT4E2M1:  # ONNX Runtime's CPU has no 4-bit floats
        (theirs,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, feeds_of(model))
        np.testing.assert_array_equal(got, theirs, strict=True)


def test_four_bits_in_openvino(tmp_path: Path) -> None:
    model = model_of(TensorProto.FLOAT4E2M1, "QuantizeLinear", 1.0)
    onnx.save(model, tmp_path / "m.onnx")
    convert(tmp_path / "m.onnx", tmp_path / "m.xml", verify=0)
    (wanted,) = ReferenceEvaluator(model).run(None, feeds_of(model))
    (outcome,) = run_file("openvino", tmp_path / "m.xml", [feeds_of(model)])
    assert outcome.outputs is not None, outcome.error
    np.testing.assert_array_equal(next(iter(outcome.outputs.values())), wanted)


def test_dequantized_as_the_runtimes_do(tmp_path: Path) -> None:
    four = model_of(TensorProto.FLOAT4E2M1, "DequantizeLinear", 1.0)
    onnx.save(four, tmp_path / "m.onnx")
    (got,) = run(load(tmp_path / "m.onnx"), {}).values()
    np.testing.assert_array_equal(got, ReferenceEvaluator(four).run(None, {})[0], strict=True)
    eight = model_of(TensorProto.FLOAT8E5M2, "DequantizeLinear", 1.0)
    onnx.save(eight, tmp_path / "n.onnx")
    with pytest.raises(Exception, match="zero"):
        onnxruntime.InferenceSession(eight.SerializeToString()).run(None, {})
    with pytest.raises(Exception, match="a zero point of 8-bit floats that isn't 0"):
        run(load(tmp_path / "n.onnx"), {})
