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
from .terms import Expression, Operands, Term, cast, number, sizes


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


def _one_hot(node: Node, operands: Operands) -> str:
    indices, values = needed(operands, 0), needed(operands, 2)
    axis, rank = _axis(node, -1, 1), rank_of(node, given(node))
    size = _count(node, operands)
    chosen = Term(cast(DType.INT64, indices.text, node))
    places = sizes([-1 if place == axis else 1 for place in range(rank + 1)])
    classes = f"numpy.reshape(numpy.arange({size}), {places})"
    positive = f"numpy.where({chosen} < 0, {chosen} + {size}, {chosen:a})"
    hot = f"numpy.expand_dims({positive}, {axis}) == {classes}"
    return f"numpy.where({hot}, {taken(values.text, '1', 0)}, {taken(values.text, '0', 0)})"


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
    return _multiplied(node, *(term.text for term in present(operands)))


def _multiplied(node: Node, a: str, b: str) -> str:
    """A matrix product; 16-bit floats are rounded once."""
    if dtype_of(node, given(node)) is DType.FLOAT16:
        wide = [cast(DType.FLOAT32, text, node) for text in (a, b)]
        return cast(DType.FLOAT16, f"numpy.matmul({', '.join(wide)})", node)
    return f"numpy.matmul({a}, {b})"


def _affine(node: Node, operands: Operands) -> str:
    a, b, c = (*operands, None)[:3]
    assert a is not None and b is not None
    texts = [
        f"numpy.transpose({term:a})" if flag(node, name) else term.text for name, term in (("transA", a), ("transB", b))
    ]
    dtype = dtype_of(node, given(node))
    alpha, beta = (float(node.attributes.get(name, 1.0)) for name in ("alpha", "beta"))
    if not dtype.is_float and not (alpha.is_integer() and beta.is_integer()):
        raise Unsupported(node, "of integers, times what is none")
    text = _multiplied(node, *texts)
    if alpha != 1:
        text = f"{number(alpha, dtype).weak} * {Term(text)}"
    if c is None or beta == 0:
        return text
    return f"{Term(text)} + {c if beta == 1 else f'{number(beta, dtype).weak} * {c}'}"


def _einsum(node: Node, operands: Operands) -> str:
    equation = node.attributes["equation"]
    equation = equation.decode() if isinstance(equation, bytes) else str(equation)
    terms = ", ".join(term.text for term in present(operands))
    if dtype_of(node, given(node)) is DType.FLOAT16 or not set(equation) <= set(_LETTERS):
        raise Unsupported(node, f"the equation {equation!r}")
    return f"numpy.einsum('{equation}', {terms})"


_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ,->. "


def _integers(node: Node, operands: Operands) -> str:
    """A product of 8-bit matrices in 32 bits, each less its zero point."""
    texts: list[str] = []
    for place, axis in ((0, -2), (1, -1)):
        text = cast(DType.INT32, needed(operands, place).text, node)
        zero, point = (*operands, None, None)[2 + place], node.input(2 + place)
        if zero is not None and point is not None:
            offset = cast(DType.INT32, zero.text, node)
            if point.rank == 1 and axis == -2:
                offset = f"numpy.expand_dims({offset}, 1)"
            text = f"{text} - {offset}"
        texts.append(text)
    return f"numpy.matmul({', '.join(texts)})"


EXPRESSIONS: dict[str, Expression] = {
    "Compress": _compressed,
    "Einsum": _einsum,
    "Gather": _gathered,
    "GatherElements": _gathered_elements,
    "GatherND": _gathered_tuples,
    "Gemm": _affine,
    "MatMul": _product,
    "MatMulInteger": _integers,
    "NonZero": _non_zero,
    "OneHot": _one_hot,
    "TopK": _top,
}
