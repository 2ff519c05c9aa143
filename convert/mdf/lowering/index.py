"""Operators that choose, sort or find elements by index; products."""

from __future__ import annotations

import math

from ....passes.constant_analysis import known_array
from ....passes.errors import Unsupported
from ....passes.graph import Node
from ....passes.preconditions import axis_of, dtype_of, flag, given, rank_of, size_of_axis
from ....passes.types import DType
from .elementwise import needed, present
from .reduce import keyed
from .shape import taken
from .terms import Expression, Operands, cast, sizes


def _axis(node: Node, default: int = 0, more: int = 0) -> int:
    return axis_of(node, int(node.attributes.get("axis", default)), rank_of(node, given(node)) + more)


def _gathered(node: Node, operands: Operands) -> str:
    x, indices = present(operands)
    return taken(x.text, indices.weak or indices.text, _axis(node))


def _gathered_elements(node: Node, operands: Operands) -> str:
    """Beside the axis, only as many of the data count as there are indices."""
    x, indices = present(operands)
    axis = _axis(node)
    data, places = (given(node, index).tensor.static_shape for index in (0, 1))
    if data is None or places is None:
        raise Unsupported(node, "the shapes of its inputs aren't known before the model runs")
    text = x.text
    for other, (size, count) in enumerate(zip(data, places, strict=True)):
        if other != axis and size != count:
            text = taken(text, f"numpy.arange({count})", other)
    return f"numpy.take_along_axis({text}, {indices:a}, {axis})"


def _gathered_tuples(node: Node, operands: Operands) -> str:
    """Index tuples become places in the flat data."""
    x, indices = present(operands)
    data, places = (given(node, index).tensor.static_shape for index in (0, 1))
    if data is None or places is None:
        raise Unsupported(node, "the shapes of its inputs aren't known before the model runs")
    batch, width = int(node.attributes.get("batch_dims", 0)), places[-1]
    indexed, rest = data[batch : batch + width], data[batch + width :]
    strides = [math.prod(indexed[place + 1 :]) for place in range(width)]
    positive = f"numpy.where({indices} < 0, {indices} + numpy.int64({sizes(indexed)}), {indices:a})"
    flat = keyed("sum", f"{positive} * numpy.int64({sizes(strides)})", [len(places) - 1], False)
    outer, inner = math.prod(data[:batch]), math.prod(indexed)
    if batch:
        shape = (*data[:batch], *[1] * (len(places) - 1 - batch))
        flat = f"{flat} + {inner} * numpy.reshape(numpy.arange({outer}), {sizes(shape)})"
    return taken(f"numpy.reshape({x:a}, {sizes((outer * inner, *rest))})", flat, 0)


def _count(node: Node, operands: Operands) -> str:
    """A number of elements, input 1."""
    known = known_array(given(node, 1))
    if known is not None:
        return str(int(known.reshape(-1)[0]))
    return f"numpy.reshape(numpy.int64({needed(operands, 1):a}), ())"


def _top(node: Node, operands: Operands) -> list[str]:
    """The largest (smallest) along an axis, in order, equal ones by index."""
    x, axis = needed(operands, 0), _axis(node, -1)
    length = size_of_axis(given(node), axis)
    last = f"numpy.size({x:a}, {axis}) - 1" if length is None else str(length - 1)
    if flag(node, "largest", 1):
        ranked = f"numpy.argsort(numpy.flip({x:a}, {axis}), {axis}, kind='stable')"
        order = f"{last} - numpy.flip({ranked}, {axis})"
    else:
        order = f"numpy.argsort({x:a}, {axis}, kind='stable')"
    indices = taken(order, f"numpy.arange({_count(node, operands)})", axis)
    return [f"numpy.take_along_axis({x:a}, {indices}, {axis})", indices]


def _compressed(node: Node, operands: Operands) -> str:
    x, condition = present(operands)
    where = f", {_axis(node)}" if node.attributes.get("axis") is not None else ""
    return f"numpy.compress({condition:a}, {x:a}{where})"


def _non_zero(node: Node, operands: Operands) -> str:
    if rank_of(node, given(node)) == 0:
        raise Unsupported(node, "of a scalar")
    return f"numpy.transpose(numpy.argwhere({needed(operands, 0):a}))"


# products -----------------------------------------------------------------------------------------


def _product(node: Node, operands: Operands) -> str:
    """A matrix product; 16-bit floats are rounded once."""
    texts = [term.text for term in present(operands)]
    if dtype_of(node, given(node)) is DType.FLOAT16:
        wide = [cast(DType.FLOAT32, text, node) for text in texts]
        return cast(DType.FLOAT16, f"numpy.matmul({', '.join(wide)})", node)
    return f"numpy.matmul({', '.join(texts)})"


EXPRESSIONS: dict[str, Expression] = {
    "Compress": _compressed,
    "Gather": _gathered,
    "GatherElements": _gathered_elements,
    "GatherND": _gathered_tuples,
    "MatMul": _product,
    "NonZero": _non_zero,
    "TopK": _top,
}
