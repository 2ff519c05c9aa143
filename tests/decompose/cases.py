"""Models of one operator, and what ONNX Runtime makes of them beside each target that is lowered to."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import onnx
import onnxruntime
import pytest
from backedge.convert.onnx.raising import raise_graph
from backedge.convert.onnx.read import read_model
from backedge.passes.errors import Unsupported
from backedge.passes.graph import Graph
from onnx import TensorProto, helper
from openvino_lowering.sweep import difference

FLOAT, INT64, STRING = TensorProto.FLOAT, TensorProto.INT64, TensorProto.STRING
KINDS = {np.dtype(np.float32): FLOAT, np.dtype(np.int64): INT64, np.dtype(object): STRING}
KINDS |= {np.dtype(np.float64): TensorProto.DOUBLE, np.dtype(np.int32): TensorProto.INT32}
KINDS[np.dtype(np.float16)] = TensorProto.FLOAT16


WORDS = np.array(["cat", "", "dög", "horse", "cats", "cat"], object)
NUMBERS = np.array([[3, -1, 7], [0, 3, 5]], np.int64)


class Target(Protocol):
    """Lowers hub graphs and runs them."""

    holds_text: bool
    open_sizes: bool
    exact: bool
    """Whether float64 is computed as such."""

    def run(self, graph: Graph, feeds: dict[str, Any]) -> list[np.ndarray]: ...


def model(
    op_type: str,
    x: Any,
    outputs: int,
    version: int,
    *more: np.ndarray,
    domain: str,
    open_sizes: bool = True,
    **attributes: Any,
) -> onnx.ModelProto:
    names = [f"x{index}" for index in range(1 + len(more))]
    made = [f"y{index}" for index in range(outputs)]
    node = helper.make_node(op_type, names, made, domain=domain, **attributes)
    inputs = [
        helper.make_tensor_value_info(name, KINDS[array.dtype], _sizes(name, array, open_sizes))
        for name, array in zip(names, (x, *more), strict=True)
    ]
    graph = helper.make_graph([node], "g", inputs, [onnx.ValueInfoProto(name=name) for name in made])
    opsets = [helper.make_opsetid(domain, version)]
    if domain:
        opsets.append(helper.make_opsetid("", 21))
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def _sizes(name: str, array: np.ndarray, is_open: bool) -> list[Any]:
    return [f"{name}_{axis}" for axis in range(array.ndim)] if is_open else list(array.shape)


def check(
    target: Target,
    op_type: str,
    *inputs: Any,
    outputs: int = 1,
    version: int = 3,
    domain: str = "ai.onnx.ml",
    rtol: float = 1e-4,
    **attributes: Any,
) -> None:
    """The target's results are ONNX Runtime's; or it refuses text, which it doesn't hold."""
    made = model(
        op_type, inputs[0], outputs, version, *inputs[1:], domain=domain, open_sizes=target.open_sizes, **attributes
    )
    feeds = {f"x{index}": array for index, array in enumerate(inputs)}
    wanted = onnxruntime.InferenceSession(made.SerializeToString()).run(None, feeds)
    graph = raise_graph(read_model(made))
    if not target.holds_text and any(array.dtype == object for array in (*inputs, *wanted)):
        with pytest.raises(Unsupported, match="string"):
            target.run(graph, feeds)
        return
    found = target.run(graph, feeds)
    assert [difference(one, other, rtol, 1e-5) for one, other in zip(found, wanted, strict=True)] == [""] * outputs
