"""RNN, GRU and LSTM written as loops: the numbers ONNX Runtime has for the operator itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from backedge.convert.onnx.raising import raise_graph
from backedge.convert.onnx.read import read_model
from backedge.passes.decompose import recurrent
from backedge.passes.decompose.library import Decompose
from backedge.passes.infer import infer
from backedge.runtime import run
from onnx import TensorProto, helper

_GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
_TIME, _BATCH, _INPUT, _HIDDEN = 4, 3, 2, 5

CASES: list[tuple[str, dict[str, Any], str]] = [
    ("RNN", {}, "x w r"),
    ("RNN", {"activations": ["Relu"], "clip": 0.3}, "x w r b"),
    ("RNN", {"direction": "reverse"}, "x w r b l h"),
    ("RNN", {"direction": "bidirectional", "activations": ["Affine", "ScaledTanh"], "activation_alpha": [0.5, 1.2],
             "activation_beta": [0.1, 0.7]}, "x w r b l h"),
    ("GRU", {}, "x w r"),
    ("GRU", {"linear_before_reset": 1}, "x w r b l h"),
    ("GRU", {"direction": "bidirectional"}, "x w r b l h"),
    ("GRU", {"direction": "reverse", "linear_before_reset": 1, "clip": 0.5}, "x w r b"),
    ("GRU", {"activations": ["HardSigmoid", "Softsign"], "activation_alpha": [0.3], "activation_beta": [0.4]}, "x w r"),
    ("LSTM", {}, "x w r"),
    ("LSTM", {"clip": 0.4}, "x w r b l h c p"),
    ("LSTM", {"input_forget": 1}, "x w r b"),
    ("LSTM", {"direction": "reverse"}, "x w r b l h c p"),
    ("LSTM", {"direction": "bidirectional"}, "x w r b l h c p"),
    ("LSTM", {"activations": ["LeakyRelu", "Elu", "ThresholdedRelu"], "activation_alpha": [0.2, 0.9, 0.05]}, "x w r b"),
]  # fmt: skip


def model_of(op_type: str, attributes: dict[str, Any], given: str) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    """A model of the operator alone, and inputs for it."""
    ways = 2 if attributes.get("direction") == "bidirectional" else 1
    gates = _GATES[op_type]
    shapes = {
        "x": (_TIME, _BATCH, _INPUT),
        "w": (ways, gates * _HIDDEN, _INPUT),
        "r": (ways, gates * _HIDDEN, _HIDDEN),
        "b": (ways, 2 * gates * _HIDDEN),
        "h": (ways, _BATCH, _HIDDEN),
        "c": (ways, _BATCH, _HIDDEN),
        "p": (ways, 3 * _HIDDEN),
    }
    generator = np.random.default_rng(len(str(attributes)) + len(given))
    feeds = {
        name: np.array([4, 0, 2], np.int32)
        if name == "l"
        else generator.standard_normal(shapes[name]).astype(np.float32)
        for name in given.split()
    }
    order = ["x", "w", "r", "b", "l", "h", "c", "p"][: 8 if op_type == "LSTM" else 6]
    outputs = ["y", "y_h", "y_c"][: 3 if op_type == "LSTM" else 2]
    node = helper.make_node(
        op_type, [name if name in feeds else "" for name in order], outputs, hidden_size=_HIDDEN, **attributes
    )
    graph = helper.make_graph(
        [node],
        "one",
        [
            helper.make_tensor_value_info(name, TensorProto.INT32 if name == "l" else TensorProto.FLOAT, array.shape)
            for name, array in feeds.items()
        ],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10), feeds


@pytest.mark.parametrize(("op_type", "attributes", "given"), CASES)
def test_as_onnx_runtime(op_type: str, attributes: dict[str, Any], given: str) -> None:
    model, feeds = model_of(op_type, attributes, given)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    wanted = session.run(None, feeds)
    graph = raise_graph(read_model(model))
    infer(graph)
    result = Decompose(recurrent.RULES)(graph)
    assert result.modified
    assert not {"RNN", "GRU", "LSTM"} & {node.op_type for _, node in result.graph.walk()}
    infer(result.graph)
    for got, value in zip(run(result.graph, feeds).values(), wanted, strict=True):
        assert got.dtype == value.dtype
        np.testing.assert_allclose(got, value, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("op_type", ["RNN", "GRU", "LSTM"])
def test_halves_are_rounded_once(op_type: str) -> None:
    """What ONNX Runtime gives in float32, as the nearest halves."""
    model, feeds = model_of(op_type, {"direction": "reverse"}, "x w r b l h c" if op_type == "LSTM" else "x w r b l h")
    feeds = {name: value if name == "l" else (value * 3).astype(np.float16) for name, value in feeds.items()}
    single = {name: value if name == "l" else value.astype(np.float32) for name, value in feeds.items()}
    wanted = onnxruntime.InferenceSession(model.SerializeToString()).run(None, single)
    for value in (*model.graph.input, *model.graph.output):
        if value.name != "l":
            value.type.tensor_type.elem_type = TensorProto.FLOAT16
    graph = raise_graph(read_model(model))
    infer(graph)
    expanded = Decompose(recurrent.RULES)(graph).graph
    infer(expanded)
    for got, value in zip(run(expanded, feeds).values(), wanted, strict=True):
        assert got.dtype == np.float16
        near = np.abs(got.astype(np.float32) - value) <= np.spacing(np.abs(value).astype(np.float16)) / 2 + 2e-6
        assert near.all()


@pytest.mark.parametrize("op_type", ["RNN", "GRU", "LSTM"])
def test_no_steps_at_all(op_type: str) -> None:
    """The last states are 0 then, too, whatever they began with."""
    names = "x w r l h c" if op_type == "LSTM" else "x w r l h"
    model, feeds = model_of(op_type, {"direction": "bidirectional"}, names)
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "T"
    feeds |= {"x": feeds["x"][:0], "l": np.zeros(_BATCH, np.int32)}
    wanted = onnxruntime.InferenceSession(model.SerializeToString()).run(None, feeds)
    assert not any(value.any() for value in wanted)
    for given in (feeds, {name: value for name, value in feeds.items() if name != "l"}):
        if "l" not in given:  # without lengths ONNX Runtime's GRU and LSTM die of it
            model.graph.node[0].input[4] = ""
            del model.graph.input[[value.name for value in model.graph.input].index("l")]
        graph = raise_graph(read_model(model))
        infer(graph)
        expanded = Decompose(recurrent.RULES)(graph).graph
        infer(expanded)
        for got, value in zip(run(expanded, given).values(), wanted, strict=True):
            np.testing.assert_array_equal(got, value, strict=True)
