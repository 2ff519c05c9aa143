"""The elements of constants, wherever they stand: initializers and Constant nodes, handed on by Identity."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .node import Node, Value
from .protos import AttributeRef
from .tensor import TensorData

MOST_DATA = 1024
"""Elements of a constant that inference is shown: shapes, axes and pads are small."""


def constant_array(value: Value | None) -> Any:
    """The array of a constant, looking through Identity and Constant nodes; None where it isn't one."""
    while value is not None and value.data is None:
        node = value.producer
        if node is None or node.domain:
            return None
        if node.op_type == "Constant":
            data = constant_node_data(node)
            return None if data is None else data.numpy()
        value = node.inputs[0] if node.op_type == "Identity" else None
    return None if value is None else value.array()


def same_truth(condition: np.ndarray[Any, Any] | None) -> bool | None:
    """Whether a condition holds for all elements (True) or for none (False); None where there is neither, nor any."""
    if condition is None or not condition.size or condition.all() != condition.any():
        return None
    return bool(condition.all())


def small_constant(value: Value | None) -> TensorData | None:
    """The data of a constant such as axes, pads and shapes are; None for others."""
    shape = value.tensor.static_shape if value is not None else None
    if shape is None or math.prod(shape) > MOST_DATA:
        return None
    array = constant_array(value)
    return None if array is None or value is None else value.holding(array)


def constant_node_data(node: Node) -> TensorData | None:
    """The data of a Constant node, whichever attribute holds it; None for sparse or referring ones."""
    attributes = node.attributes
    if isinstance(attributes.get("value"), TensorData):
        return attributes["value"]
    kinds: dict[str, Any] = {
        "value_float": np.float32,
        "value_floats": np.float32,
        "value_int": np.int64,
        "value_ints": np.int64,
        "value_string": object,
        "value_strings": object,
    }
    for name, dtype in kinds.items():
        if name in attributes and not isinstance(attributes[name], AttributeRef):
            return TensorData.of(np.array(attributes[name], dtype))
    return None
