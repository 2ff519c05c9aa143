"""ONNX Runtime's LSTM with weights of eight bits: its own numbers, on the executor and in OpenVINO."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from backedge.convert import to_hub
from backedge.convert.onnx.read import read_model
from backedge.passes.errors import Unsupported
from backedge.runtime.executor import Executor
from byte_products import needs_exact_products
from onnx import TensorProto, helper, numpy_helper
from openvino_lowering.runner import Runner
from openvino_lowering.worker import Worker

WIDTH, HIDDEN = 6, 5
STATES, RESULTS = ("h0", "c0"), ("y", "h", "c")


def model(
    direction: str = "forward",
    *,
    by_column: bool = False,
    signed: bool = True,
    leave_out: tuple[str, ...] = ("peepholes",),
    **attributes: Any,
) -> onnx.ModelProto:
    """One operator; weights, scales and zero points are constants."""
    ways = 2 if direction == "bidirectional" else 1
    random = np.random.default_rng(1)
    low, high, dtype = (-100, 100, np.int8) if signed else (5, 250, np.uint8)
    shape = (ways, 4 * HIDDEN) if by_column else (ways,)
    weights = {
        "w": random.integers(low, high, (ways, WIDTH, 4 * HIDDEN)).astype(dtype),
        "r": random.integers(low, high, (ways, HIDDEN, 4 * HIDDEN)).astype(dtype),
        "b": (random.standard_normal((ways, 8 * HIDDEN)) * 0.1).astype(np.float32),
        "peepholes": (random.standard_normal((ways, 3 * HIDDEN)) * 0.3).astype(np.float32),
        "w_scale": (random.random(shape) * 0.01 + 0.002).astype(np.float32),
        "w_zero": np.full(shape, 0 if signed else 128).astype(dtype),
        "r_scale": (random.random(shape) * 0.01 + 0.002).astype(np.float32),
        "r_zero": np.full(shape, 0 if signed else 120).astype(dtype),
    }
    names = ["x", "w", "r", "b", "lengths", *STATES, "peepholes", "w_scale", "w_zero", "r_scale", "r_zero"]
    gone = {"lengths", *leave_out} - ({"lengths"} if "lengths" in attributes else set())
    attributes.pop("lengths", None)
    node = helper.make_node(
        "DynamicQuantizeLSTM",
        ["" if name in gone else name for name in names],
        RESULTS,
        domain="com.microsoft",
        hidden_size=HIDDEN,
        direction=direction,
        **attributes,
    )
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["T", "B", WIDTH])]
    inputs += [
        helper.make_tensor_value_info(k, TensorProto.FLOAT, [ways, "B", HIDDEN]) for k in STATES if k not in gone
    ]
    if "lengths" not in gone:
        inputs.append(helper.make_tensor_value_info("lengths", TensorProto.INT32, ["B"]))
    graph = helper.make_graph(
        [node],
        "g",
        inputs,
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in RESULTS],
        [numpy_helper.from_array(array, name) for name, array in weights.items() if name not in gone],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


CASES: dict[str, dict[str, Any]] = {
    "forward": {},
    "reverse": {"direction": "reverse"},
    "bidirectional": {"direction": "bidirectional"},
    "by_column": {"by_column": True},
    "unsigned": {"direction": "bidirectional", "by_column": True, "signed": False},
    "no_states": {"signed": False, "leave_out": ("h0", "c0", "peepholes")},
    "no_bias_clipped": {"leave_out": ("b", "peepholes"), "clip": 0.5},
    "peepholes": {"leave_out": ()},
    "coupled": {"input_forget": 1},
}


@needs_exact_products
@pytest.mark.parametrize("name", CASES)
def test_numbers(openvino: Runner, onnxruntime: Worker, name: str) -> None:
    """One thread: with more, ONNX Runtime quantizes parts of a batch by themselves."""
    proto = model(**CASES[name])
    hub = to_hub(read_model(proto))
    ways = 2 if CASES[name].get("direction") == "bidirectional" else 1
    random = np.random.default_rng(3)
    for time, batch in ((4, 1), (1, 2), (7, 3)):
        feeds = {"x": random.standard_normal((time, batch, WIDTH)).astype(np.float32)}
        if "h0" not in CASES[name].get("leave_out", ()):
            feeds |= {key: random.standard_normal((ways, batch, HIDDEN)).astype(np.float32) for key in STATES}
        wanted = onnxruntime.ask(proto.SerializeToString(), feeds)
        made = Executor(hub).run(feeds)
        (found,) = openvino.lowered(hub, [feeds], recompile="never")
        for place, result in enumerate(RESULTS):
            assert made[result].shape == found[place].shape == wanted[place].shape
            np.testing.assert_allclose(made[result], wanted[place], atol=1e-6, err_msg=result)
            np.testing.assert_allclose(found[place], wanted[place], atol=1e-6, err_msg=result)


def test_lengths_are_refused() -> None:
    with pytest.raises(Unsupported, match="lengths of sequences"):
        to_hub(read_model(model(lengths=True)))


def test_an_odd_activation_is_refused() -> None:
    with pytest.raises(Unsupported, match="the activation 'affine'"):
        to_hub(read_model(model(activations=["Affine", "Tanh", "Tanh"])))
