"""What is constant already is computed while a graph is converted, so that targets see axes and sizes as constants."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..passes.core import DRAWING
from ..passes.errors import BackedgeError
from ..passes.graph import Graph, Node, Value
from ..passes.infer import infer_node
from ..passes.rewrite import Builder
from ..passes.tensor import TensorData
from ..passes.types import DType, merge
from ..runtime.executor import Executor, never_compile

MOST_DATA = 1024
"""Elements of an input or output that is folded; weights stay what they are."""


def is_small(value: Value) -> bool:
    """Whether a value is a constant of numbers, and no more than `MOST_DATA` of them."""
    data = value.data
    return data is not None and data.size <= MOST_DATA and data.dtype is not DType.STRING


def refine(node: Node) -> None:
    """Types of the outputs from what is known of the inputs by now, constants above all."""
    if all(value.tensor.static_shape is not None and value.tensor.dtype is not None for value in node.outputs):
        return
    for value, found in zip(node.outputs, infer_node(node), strict=False):
        value.type = merge(value.type, found)


def without_elements(op: Builder, node: Node) -> list[Value] | None:
    """The outputs as constants where they are certain to have no elements."""
    found: list[Value] = []
    for value in node.outputs:
        dtype, shape = value.tensor.dtype, value.tensor.static_shape
        if value.name and (dtype is None or shape is None or 0 not in shape):
            return None
        if dtype is None or shape is None:
            found.append(Value(""))
        else:
            found.append(op.const(TensorData(dtype, shape, np.zeros(shape, dtype.numpy))))
    return found


def folded(op: Builder, node: Node) -> list[Value] | None:
    """The outputs as constants where all inputs are small constants; None otherwise, and where a run decides.

    A rule that targets try before any other.
    """
    refine(node)
    inputs = [value for value in node.inputs if value is not None]
    if not inputs or node.regions or node.op in DRAWING or not all(map(is_small, inputs)):
        return None
    return computed(op, node, MOST_DATA)


def computed(op: Builder, node: Node, most: int | None = None) -> list[Value] | None:
    """The outputs of an operator on constants, as constants of no more than `most` elements; None where that fails."""
    arrays = computed_arrays(node, most)
    if arrays is None:
        return None
    found: list[Value] = []
    for old, array in zip(node.outputs, arrays, strict=True):
        if array is None or old.tensor.dtype is None:
            found.append(Value(""))
        else:
            found.append(op.graph.add_constant(old.holding(array), op.claim(old.name)))
    return found


def computed_arrays(node: Node, most: int | None = None) -> list[Any] | None:
    """The outputs of a hub operator whose inputs are constants, None for one that nobody wants.

    None if it fails, or one has more than `most` elements. Where types tell that, nothing is computed: three numbers
    may be the sizes of terabytes.
    """
    inputs = [value for value in node.inputs if value is not None]
    if any(value.data is None for value in inputs):
        return None
    shapes = [value.tensor.static_shape for value in node.outputs]
    if most is not None and any(shape is not None and math.prod(shape) > most for shape in shapes):
        return None
    if any(value.tensor.dtype in (None, DType.STRING) for value in node.outputs if value.name):
        return None
    graph = Graph("hub")
    twins = {value: graph.add_constant(value.data, f"in{index}") for index, value in enumerate(inputs)}
    outputs = [(f"out{index}" if value.name else "", value.type) for index, value in enumerate(node.outputs)]
    made = graph.add_node(
        node.op_type,
        [None if value is None else twins[value] for value in node.inputs],
        outputs,
        node.attributes,
        domain=node.domain,
        version=node.version,
    )
    graph.outputs = [value for value in made.outputs if value.name]
    try:
        results = Executor(graph, never_compile).run({})
    except BackedgeError:
        return None
    for result in results.values():
        if result is None or isinstance(result, list) or (most is not None and result.size > most):
            return None
    return [results[value.name] if value.name else None for value in made.outputs]
