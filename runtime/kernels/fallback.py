"""The long tail: onnx's reference implementation of one operator, at the node's version.

Only the operators named here come this way; their implementations were compared with their recorded
tests or with ONNX Runtime. Control flow never does: the reference has Loop and Scan wrong.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

from ...passes.protos import node_to_proto
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
)


def _evaluator(attrs: Attributes, given: tuple[bool, ...]) -> ReferenceEvaluator:
    node = attrs.node
    proto = node_to_proto(node, lambda value: value.name)
    del proto.input[:], proto.output[:]
    proto.input.extend(f"in{index}" if present else "" for index, present in enumerate(given))
    proto.output.extend(f"out{index}" for index in range(attrs.outputs))
    imports = [onnx.helper.make_opsetid(node.domain, attrs.version)]
    names = [name for name in proto.input if name]
    return ReferenceEvaluator(
        onnx.helper.make_function("backedge", node.op_type, names, proto.output, [proto], imports)
    )


def reference(attrs: Attributes, *inputs: Any) -> Any:
    """One node through the reference, which is built at the first call."""
    given = tuple(value is not None for value in inputs)
    if attrs.state is None or attrs.state[0] != given:
        attrs.state = (given, _evaluator(attrs, given))
    feeds = {f"in{index}": value for index, value in enumerate(inputs) if value is not None}
    results = attrs.state[1].run(None, feeds, attributes={})
    values = tuple(_plain(value) for value in results)
    return values[0] if len(values) == 1 else values


def _plain(value: Any) -> Any:
    is_text = isinstance(value, np.ndarray) and value.dtype.kind in "US"
    return value.astype(object) if is_text else value


TABLE: dict[tuple[str, str], Kernel] = dict.fromkeys(OPERATORS, reference)
