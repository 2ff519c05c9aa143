"""Products of 8-bit numbers in runtimes: whether this processor lets them add those up exactly."""

from __future__ import annotations

import functools

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper


@functools.cache
def _saturates() -> bool:
    """Whether ONNX Runtime loses what two products of uint8 and int8 have beyond 16 bits: 255 * 127 + 255 * 127."""
    names = (("a", TensorProto.UINT8, [4, 64]), ("b", TensorProto.INT8, [64, 16]))
    graph = helper.make_graph(
        [helper.make_node("MatMulInteger", ["a", "b"], ["y"])],
        "g",
        [helper.make_tensor_value_info(*name) for name in names],
        [helper.make_tensor_value_info("y", TensorProto.INT32, [4, 16])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.checker.check_model(model)
    a, b = np.full((4, 64), 255, np.uint8), np.full((64, 16), 127, np.int8)
    (found,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"a": a, "b": b})
    return bool((np.asarray(found) != 64 * 255 * 127).any())


needs_exact_products = pytest.mark.skipif(
    _saturates(), reason="without VNNI, ONNX Runtime adds products of uint8 and int8 up in 16 bits, which saturates"
)
