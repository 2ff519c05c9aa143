"""Hub -> OpenVINO: what is constant already is computed here, so that OpenVINO sees axes and sizes as constants."""

from __future__ import annotations

import numpy as np

from ....passes.errors import BackedgeError
from ....passes.graph import Graph, Node, Value
from ....passes.infer import infer_node
from ....passes.rewrite import Builder
from ....passes.tensor import TensorData
from ....passes.types import DType, merge
from ....runtime.executor import Executor, never_compile
from .context import context_of

_MOST_DATA = 1024  # elements of an input or output; weights stay what they are
_RANDOM = frozenset(
    ["Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"]
)
_KEPT = frozenset(["DequantizeLinear", "QuantizeLinear", "Identity"])


def _is_small(value: Value) -> bool:
    data = value.data
    return data is not None and data.size <= _MOST_DATA and data.dtype is not DType.STRING


def _refine(node: Node) -> None:
    """Types of the outputs from what is known of the inputs by now, constants above all."""
    if all(value.tensor.static_shape is not None and value.tensor.dtype is not None for value in node.outputs):
        return
    for value, found in zip(node.outputs, infer_node(node), strict=False):
        value.type = merge(value.type, found)


def _empty(op: Builder, node: Node) -> list[Value] | None:
    """The outputs where they are certain to have no elements: OpenVINO doesn't always survive computing them."""
    found: list[Value] = []
    for value in node.outputs:
        dtype, shape = value.tensor.dtype, value.tensor.static_shape
        if value.name and (dtype is None or shape is None or 0 not in shape):
            return None
        found.append(Value("") if dtype is None or shape is None else op.const(_nothing(dtype, shape)))
    return found


def _nothing(dtype: DType, shape: tuple[int, ...]) -> TensorData:
    return TensorData(dtype, shape, np.zeros(shape, dtype.numpy))


def folded(op: Builder, node: Node) -> list[Value] | None:
    """The outputs as constants where all inputs are small constants; None otherwise. Tried before any other rule."""
    _refine(node)
    empty = _empty(op, node)
    if empty is not None:
        return empty
    inputs = [value for value in node.inputs if value is not None]
    if not inputs or node.regions or node.op_type in _KEPT or not all(map(_is_small, inputs)):
        return None
    return computed(op, node, _MOST_DATA)


def computed(op: Builder, node: Node, most: int | None = None) -> list[Value] | None:
    """The outputs of an operator on constants, as constants of no more than `most` elements; None where that fails."""
    inputs = [value for value in node.inputs if value is not None]
    if any(value.data is None for value in inputs):
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
    found: list[Value] = []
    for old, new in zip(node.outputs, made.outputs, strict=True):
        dtype = old.tensor.dtype
        if not new.name or dtype is None:
            found.append(Value(""))
        else:
            found.append(op.graph.add_constant(TensorData.of(results[new.name], dtype), op.claim(old.name)))
            context_of(op).look_at_constant(found[-1])
    return found
