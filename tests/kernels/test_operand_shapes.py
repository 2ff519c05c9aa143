"""Operands of sizes that only a run tells, and that their operator doesn't take, be it that NumPy would broadcast
them: refused by ONNX Runtime, and so by the executor."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
import pytest
from backedge.convert import to_hub
from backedge.convert.onnx.read import read_model
from backedge.runtime.executor import Executor
from backedge.runtime.kernels.base import ExecutionError
from onnx import TypeProto, helper, parser

from .one import run_op

Shape = tuple[int, ...]
LENGTHS = np.array([3, 2], np.int32)


def floats(shape: Shape) -> np.ndarray[Any, Any]:
    return np.random.default_rng(3).uniform(0.25, 2, shape).astype(np.float32)


def small(shape: Shape) -> np.ndarray[Any, Any]:
    return np.random.default_rng(4).integers(0, 9, shape).astype(np.uint8)


def inputs_of(shapes: list[Any]) -> list[np.ndarray[Any, Any]]:
    """Numbers where a shape stands."""
    return [floats(entry) if isinstance(entry, tuple) else entry for entry in shapes]


def outcome(op_type: str, inputs: list[Any], version: int, outputs: int, attributes: dict[str, Any]) -> list[Any]:
    """What ONNX Runtime makes of one operator whose inputs are of unknown sizes."""
    feeds = {f"x{index}": value for index, value in enumerate(inputs)}
    declared = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), [None] * value.ndim)
        for name, value in feeds.items()
    ]
    names = [f"y{index}" for index in range(outputs)]
    results = [helper.make_value_info(name, TypeProto()) for name in names]
    graph = helper.make_graph([helper.make_node(op_type, list(feeds), names, **attributes)], "g", declared, results)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)], ir_version=10)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model.SerializeToString(), options).run(None, feeds)


def recurrent(gates: int) -> list[tuple[int, Any]]:
    """Which input of an RNN, GRU or LSTM of 3 steps, 2 sequences, 4 features and 5 units, and its wrong value."""
    wrong: list[tuple[int, Any]] = [
        (1, (1, gates * 5, 3)),
        (2, (2, gates * 5, 5)),
        (3, (1, gates * 5)),
        (3, (2, gates * 10)),
        (4, LENGTHS[:1]),
        (4, LENGTHS + 1),
        (4, LENGTHS - 3),
        (5, (1, 1, 5)),
        (5, (2, 2, 5)),
    ]
    return wrong + ([(6, (1, 1, 5)), (7, (2, 15)), (7, (1, 5))] if gates == 4 else [])


@pytest.mark.parametrize(
    ("op_type", "index", "value"),
    [(op, *case) for op, gates in (("RNN", 1), ("GRU", 3), ("LSTM", 4)) for case in recurrent(gates)],
)
def test_recurrent_operators_take_no_other_sizes(op_type: str, index: int, value: Any) -> None:
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[op_type]
    shapes: list[Any] = [(3, 2, 4), (1, gates * 5, 4), (1, gates * 5, 5), (1, gates * 10), LENGTHS, (1, 2, 5)]
    shapes += [(1, 2, 5), (1, 15)] if gates == 4 else []
    (right,) = outcome(op_type, inputs_of(shapes), 21, 1, {"hidden_size": 5})
    np.testing.assert_allclose(run_op(op_type, *inputs_of(shapes), hidden_size=5), right, rtol=2e-6, atol=1e-6)
    shapes[index] = value
    with pytest.raises(Exception, match="ONNXRuntimeError"):
        outcome(op_type, inputs_of(shapes), 21, 1, {"hidden_size": 5})
    with pytest.raises(ExecutionError, match=r"of the shape|sequence_lens"):
        run_op(op_type, *inputs_of(shapes), hidden_size=5)


IMAGE, LIST = (1, 1, 5, 5), np.array([0], np.int64)
CASES: list[tuple[str, int, list[Any], int, dict[str, Any], str]] = [
    ("QuantizeLinear", 21, [(3, 4), (4,), small((1,))], 1, {}, r"a zero point of the shape \[1\]"),
    ("QuantizeLinear", 21, [(3, 1), (4,), small((4,))], 1, {}, r"a scale or zero point of the shape \[4\]"),
    ("QuantizeLinear", 21, [(3, 4), (3, 3), small((3, 3))], 1, {"block_size": 2}, "in blocks of 2"),
    ("DequantizeLinear", 21, [small((3, 4)), (4,), small(())], 1, {}, r"a zero point of the shape \[\]"),
    ("DequantizeLinear", 21, [small((3, 1)), (4,), small((4,))], 1, {}, r"a scale or zero point of the shape \[4\]"),
    ("DequantizeLinear", 21, [small((3, 4)), (3, 3), small((3, 3))], 1, {"block_size": 2}, "in blocks of 2"),
    ("GridSample", 20, [(1, 1, 3, 3), (3, 2, 2, 2)], 1, {}, "a grid of the shape"),
    ("GridSample", 20, [(3, 1, 3, 3), (4, 2, 2, 2)], 1, {}, "a grid of the shape"),
    ("GridSample", 20, [(3, 1, 3, 3), (3, 2, 2, 3)], 1, {}, "a grid of the shape"),
    ("LayerNormalization", 17, [(1, 3, 1), (4,)], 1, {}, "doesn't broadcast"),
    ("RMSNormalization", 23, [(1, 3, 1), (4,)], 1, {}, "doesn't broadcast"),
    ("GroupNormalization", 21, [(1, 3, 4), (3,), (3,)], 1, {"num_groups": 2}, "3 channels are no 2 groups"),
    ("RoiAlign", 21, [IMAGE, (2, 4), LIST], 1, {}, "rois of the shape"),
    ("RoiAlign", 21, [IMAGE, (1, 4), np.repeat(LIST, 2)], 1, {}, "rois of the shape"),
    ("RoiAlign", 21, [IMAGE, (1, 5), LIST], 1, {}, "rois of the shape"),
    ("OneHot", 21, [LIST, np.array([3], np.int64), (3,)], 1, {}, "values of the shape"),
    ("OneHot", 21, [LIST, np.array([3], np.int64), (1,)], 1, {}, "values of the shape"),
    ("Split", 18, [(3, 4), np.ones(3, np.int64)], 2, {}, "3 parts for 2 outputs"),
    ("Attention", 23, [(2, 2, 3, 4), (1, 2, 5, 4), (1, 2, 5, 4)], 1, {}, "keys of the shape"),
    ("Attention", 23, [(1, 2, 3, 4), (1, 2, 5, 4), (1, 1, 5, 4)], 1, {}, "values of the shape"),
    ("RotaryEmbedding", 23, [(2, 2, 3, 4), (1, 3, 2), (1, 3, 2)], 1, {}, "cos_cache of the shape"),
    ("RotaryEmbedding", 23, [(1, 2, 3, 4), (1, 3, 1), (1, 3, 1)], 1, {}, "cos_cache of the shape"),
    ("RotaryEmbedding", 23, [(1, 2, 3, 4), (3, 2), (4, 2), np.array([[0, 1, 2]])], 1, {}, "sin_cache of the shape"),
    ("TensorScatter", 24, [(2, 3, 4, 5), (1, 3, 2, 5)], 1, {}, "update of the shape"),
    ("TensorScatter", 24, [(2, 3, 4, 5), (2, 3, 2, 5), LIST], 1, {}, "write_indices of the shape"),
    ("Gemm", 13, [(1, 4), (4, 5), (3, 5)], 1, {}, "doesn't broadcast"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("op_type", "version", "shapes", "outputs", "attributes", "reason"),
    CASES,
    ids=[f"{op_type}-{number}" for number, (op_type, *_) in enumerate(CASES)],
)
def test_operands_of_no_other_sizes_are_taken(
    op_type: str, version: int, shapes: list[Any], outputs: int, attributes: dict[str, Any], reason: str
) -> None:
    inputs = inputs_of(shapes)
    with pytest.raises(Exception, match="ONNXRuntimeError"):
        outcome(op_type, inputs, version, outputs, attributes)
    with pytest.raises(ExecutionError, match=reason):
        run_op(op_type, *inputs, outputs=outputs, version=version, **attributes)


def test_a_state_of_other_sizes() -> None:
    """ONNX's text wants (batch, channels, kernel - 1); ONNX Runtime lacks the operator."""
    with pytest.raises(ExecutionError, match=r"past_state of the shape \[1, 3, 2\], which must be \[1, 3, 3\]"):
        run_op("CausalConvWithState", *inputs_of([(1, 3, 5), (3, 1, 4), (3,), (1, 3, 2)]), outputs=2, activation="none")


@pytest.mark.parametrize("index", [3, 4])
def test_a_step_of_training_takes_states_of_the_tensor_s_shape(index: int) -> None:
    """ONNX's text wants it; ONNX Runtime lacks the operator."""
    inputs = [np.float32(0.1), np.int64(0), *inputs_of([(3,), (3,), (3,)])]
    settings = {"norm_coefficient": 0.0, "alpha": 0.9, "beta": 0.9, "mode": "standard"}
    inputs[index] = inputs[index][:1]
    with pytest.raises(ExecutionError, match=r"a gradient or state of the shape \[1\], which must be \[3\]"):
        run_op("Momentum", *inputs, outputs=2, domain="ai.onnx.preview.training", **settings)


def test_constants_of_a_normalization_fit_each_call() -> None:
    """What is made of them is kept for the next call, which may have other channels."""
    text = """<ir_version: 9, opset_import: ["": 16]> g (float[a, b, c] x) => (float[d, e, f] y) <float[0] s = {}> {
        y = BatchNormalization (x, s, s, s, s) }"""
    executor = Executor(to_hub(read_model(parser.parse_model(text))))
    for _ in range(2):
        assert executor.run({"x": np.zeros((1, 0, 2), np.float32)})["y"].shape == (1, 0, 2)
        with pytest.raises(ExecutionError, match="for 1 channels"):
            executor.run({"x": np.zeros((1, 1, 2), np.float32)})
