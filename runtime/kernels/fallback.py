"""The long tail: onnx's reference implementation of one operator, at the node's version.

Only the operators named here come this way; their implementations were compared with their recorded
tests or with ONNX Runtime. Control flow never does: the reference has Loop and Scan wrong.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

from ...passes.errors import Unsupported
from ...passes.tensor import TensorData
from .base import Attributes, Kernel

OPERATORS: tuple[tuple[str, str], ...] = (
    ("ai.onnx.ml", "SVMClassifier"),
    ("ai.onnx.ml", "SVMRegressor"),
    ("ai.onnx.ml", "TreeEnsemble"),
    ("ai.onnx.ml", "TreeEnsembleClassifier"),
    ("ai.onnx.ml", "TreeEnsembleRegressor"),
    ("ai.onnx.preview.training", "Adagrad"),
    ("ai.onnx.preview.training", "Adam"),
    ("ai.onnx.preview.training", "Momentum"),
    ("", "ImageDecoder"),
)


def _attribute(value: Any) -> Any:
    if isinstance(value, TensorData):
        return onnx.numpy_helper.from_array(value.numpy())
    return value


def _evaluator(attrs: Attributes, given: tuple[bool, ...]) -> ReferenceEvaluator:
    node = attrs.node
    names = [f"in{index}" if present else "" for index, present in enumerate(given)]
    outputs = [f"out{index}" for index in range(attrs.outputs)]
    values = {name: _attribute(value) for name, value in node.attributes.items()}
    proto = onnx.helper.make_node(node.op_type, names, outputs, domain=node.domain, **values)
    imports = [onnx.helper.make_opsetid(node.domain, attrs.version)]
    function = onnx.helper.make_function("backedge", node.op_type, [n for n in names if n], outputs, [proto], imports)
    return ReferenceEvaluator(function)


def reference(attrs: Attributes, *inputs: Any) -> Any:
    """One node through the reference, which is built at the first call.

    Raises:
        Unsupported: it needs a package that isn't installed.
    """
    given = tuple(value is not None for value in inputs)
    if attrs.state is None or attrs.state[0] != given:
        attrs.state = (given, _evaluator(attrs, given))
    feeds = {f"in{index}": value for index, value in enumerate(inputs) if value is not None}
    try:
        results = attrs.state[1].run(None, feeds)
    except ImportError as error:
        raise Unsupported(attrs.node, f"needs a package that isn't installed ({error.name})") from error
    values = [value.astype(object) if isinstance(value, np.ndarray) and value.dtype.kind in "US" else value for value in results]
    return values[0] if len(values) == 1 else tuple(values)


TABLE: dict[tuple[str, str], Kernel] = dict.fromkeys(OPERATORS, reference)
