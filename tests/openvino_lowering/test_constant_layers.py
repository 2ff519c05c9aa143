"""Layers of large constants, whose results OpenVINO's CPU would overwrite: each inference gives what is right."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
import pytest
from backedge.convert.onnx.raising import raise_graph
from backedge.convert.onnx.read import read_model
from backedge.convert.openvino.constant_layers import lower_graph
from onnx import ModelProto, TensorProto, helper, numpy_helper

from .runner import Runner

_RANDOM = np.random.default_rng(5)


def _floats(*shape: int) -> np.ndarray:
    return _RANDOM.standard_normal(shape).astype(np.float32)


IMAGE = _floats(1, 4, 20, 20)
BITS = _RANDOM.integers(0, 99, (40, 40)).astype(np.int32)
STEPS = _floats(40, 2, 16)
CASES: dict[str, tuple[dict[str, Any], list[np.ndarray | None]]] = {
    # operator: (attributes, operands)
    "Conv": ({}, [IMAGE, _floats(2, 4, 3, 3)]),
    "ConvTranspose": ({}, [IMAGE, _floats(4, 2, 3, 3)]),
    "AveragePool": ({"kernel_shape": [3, 3]}, [IMAGE]),
    "BitwiseAnd": ({}, [BITS, np.int32(7)]),
    "BitwiseNot": ({}, [BITS]),
    "Celu": ({}, [IMAGE]),
    "Col2Im": ({}, [_floats(1, 8, 780), np.array([40, 20]), np.array([2, 1])]),
    "Elu": ({}, [IMAGE]),
    "GatherElements": ({"axis": 3}, [IMAGE, _RANDOM.integers(-20, 20, IMAGE.shape)]),
    "GatherND": ({}, [IMAGE, np.zeros((1, 1), np.int64)]),
    "GRU": ({"hidden_size": 8}, [STEPS, _floats(1, 24, 16), _floats(1, 24, 8)]),
    "HardSigmoid": ({}, [IMAGE]),
    "IsNaN": ({}, [np.where(IMAGE > 0, IMAGE, np.float32(np.nan))]),
    "LpNormalization": ({"axis": 1}, [IMAGE]),
    "LRN": ({"size": 3}, [IMAGE]),
    "LSTM": ({"hidden_size": 8}, [STEPS, _floats(1, 32, 16), _floats(1, 32, 8)]),
    "Mod": ({"fmod": 1}, [IMAGE, IMAGE[..., :1]]),
    "ReverseSequence": ({"batch_axis": 0, "time_axis": 1}, [IMAGE, np.array([3])]),
    "RNN": ({"hidden_size": 8}, [STEPS, _floats(1, 8, 16), _floats(1, 8, 8)]),
    "RoiAlign": ({"output_height": 4}, [IMAGE, np.float32([[0, 0, 10, 10]]), np.array([0])]),
    "Selu": ({}, [IMAGE]),
    "Softsign": ({}, [IMAGE]),
}


def _model(operator: str, in_loop: bool = False) -> ModelProto:
    """y = operator(constants) - x, x a scalar; or x less twice the constants' sum, a pass of a Loop after the other."""
    attributes, operands = CASES[operator]
    constants = [numpy_helper.from_array(np.asarray(one), f"c{k}") for k, one in enumerate(operands)]
    made = helper.make_node(operator, [one.name for one in constants], ["k"], **attributes)
    cast = helper.make_node("Cast", ["k"], ["f"], to=TensorProto.FLOAT)
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in (("x", []), ("y", None)))
    nodes = [made, cast, helper.make_node("Sub", ["f", "x"], ["y"])]
    if in_loop:
        infos = [helper.make_tensor_value_info(name, kind, []) for name, kind in (("i", 7), ("g", 9), ("s", 1))]
        results = [helper.make_tensor_value_info(name, kind, []) for name, kind in (("g2", 9), ("s2", 1))]
        inner = [
            *(made, cast, helper.make_node("Mul", ["f", "s"], ["p"]), helper.make_node("Identity", ["g"], ["g2"])),
            helper.make_node("ReduceMean", ["p"], ["s2"], keepdims=0),
        ]
        body = helper.make_graph(inner, "body", infos, results, constants)
        constants = [numpy_helper.from_array(np.array(2), "n")]
        nodes = [helper.make_node("Loop", ["n", "", "x"], ["y"], body=body)]
    graph = helper.make_graph(nodes, "g", [x], [y], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


@pytest.mark.parametrize("in_loop", [False, True], ids=["", "in a loop"])
@pytest.mark.parametrize("operator", CASES)
def test_inferences_and_passes_leave_constants_alone(openvino: Runner, operator: str, in_loop: bool) -> None:
    model = _model(operator, in_loop)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    feeds: list[dict[str, Any]] = [{"x": np.array(number, np.float32)} for number in (1, 2, -3)]
    wanted = [session.run(None, feed)[0] for feed in feeds]
    found = openvino.lowered(raise_graph(read_model(model)), feeds, recompile="never")
    for (y,), right in zip(found, wanted, strict=True):
        np.testing.assert_allclose(y, right, rtol=1e-4, atol=1e-5)


def test_what_openvino_evaluates_itself_stays_as_it_is() -> None:
    """Weights that are stored compressed, above all."""
    half = numpy_helper.from_array(_floats(64, 64).astype(np.float16), "w")
    cast, product = helper.make_node("Cast", ["w"], ["f"], to=1), helper.make_node("MatMul", ["x", "f"], ["y"])
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [3, 64]) for name in "xy")
    model = helper.make_model(helper.make_graph([cast, product], "g", [x], [y], [half]), ir_version=9)
    lowered = lower_graph(raise_graph(read_model(model)))
    assert [node.op_type for node in lowered.nodes] == ["Convert", "MatMul"]
