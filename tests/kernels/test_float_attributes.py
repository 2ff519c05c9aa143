"""Attributes of kind FLOAT are float32, also where another format spelled them with more digits."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from backedge.passes.attributes import NodeAttributes
from backedge.passes.node import Node
from backedge.passes.opset.steps import attribute
from onnx.reference import ReferenceEvaluator

from .one import run_op

X = np.random.default_rng(5).normal(size=(2, 3, 4))
ONES = np.ones(3)

CASES: list[tuple[str, tuple[np.ndarray[Any, Any], ...], dict[str, Any]]] = [
    ("BatchNormalization", (X, ONES, 0 * ONES, 0 * ONES, 1e-4 * ONES), {"epsilon": 1e-5}),
    ("InstanceNormalization", (1e-3 * X, ONES, ONES), {"epsilon": 1e-5}),
    ("LayerNormalization", (1e-3 * X, np.ones(4)), {"epsilon": 1e-5}),
    ("LeakyRelu", (X,), {"alpha": 0.1}),
    ("Elu", (X,), {"alpha": 0.3}),
    ("ThresholdedRelu", (np.array([0.1, float(np.float32(0.1)), 0.2]),), {"alpha": 0.1}),
    ("HardSigmoid", (X,), {"alpha": 0.3, "beta": 0.6}),
    ("Shrink", (X,), {"lambd": 0.1, "bias": 0.3}),
    ("Gemm", (X[0], X[1].T), {"alpha": 0.1}),
]


@pytest.mark.parametrize(("op_type", "inputs", "attributes"), CASES, ids=[case[0] for case in CASES])
def test_float64_is_computed_with_float32_attributes(
    op_type: str, inputs: tuple[np.ndarray[Any, Any], ...], attributes: dict[str, Any]
) -> None:
    names = [f"x{index}" for index in range(len(inputs))]
    node = onnx.helper.make_node(op_type, names, ["y"], **attributes)  # the protobuf rounds
    values = [onnx.helper.make_tensor_value_info(name, 11, None) for name in (*names, "y")]
    model = onnx.helper.make_model(
        onnx.helper.make_graph([node], "g", values[:-1], values[-1:]), opset_imports=[onnx.helper.make_opsetid("", 22)]
    )
    (expected,) = ReferenceEvaluator(model).run(None, dict(zip(names, inputs, strict=True)))
    found = run_op(op_type, *inputs, version=22, **attributes)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-15)


def test_read_from_a_node() -> None:
    node = Node("", "LRN", 13)
    node.attributes = {"alpha": 0.1, "beta": 1, "bias": 1e300}
    known = NodeAttributes(node)
    assert [known.float(name) for name in ("alpha", "beta", "bias")] == [np.float32(0.1), 1.0, np.inf]
    assert NodeAttributes(Node("", "LRN", 13)).float("alpha") == np.float32(1e-4)
    assert attribute(node, "alpha") == attribute(Node("", "LRN", 13), "alpha", 0.1) == np.float32(0.1)
    assert known.floats("activation_alpha", (0.1,)) == [np.float32(0.1)]
