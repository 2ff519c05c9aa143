"""Operators along axes: sums, extremes and their positions, running sums; choice and order by index; products."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ....passes.constant_analysis import static_array
from ....passes.errors import Unsupported
from ....passes.graph import Node
from ....passes.preconditions import axis_of, dtype_of, flag, input_of, rank_of, size_of_axis
from ....passes.types import DType
from .elementwise import needed, present
from .terms import Expression, Operands, Term, cast, number, take


def static_ints(node: Node, index: int, what: str) -> list[int] | None:
    """The integers of an input that must be known; None where it is left out.

    Raises:
        Unsupported: they aren't.
    """
    value = node.input(index)
    if value is None:
        return None
    array = static_array(value)
    if array is None:
        raise Unsupported(node, f"its {what} aren't known before the model runs")
    return [int(item) for item in array.reshape(-1)]


def keyed(function: str, x: str, axes: Sequence[int], keep: bool, more: str = "") -> str:
    """A reduction by a function of NumPy."""
    over = str(axes[0]) if len(axes) == 1 else str(tuple(axes))
    return f"numpy.{function}({x}, axis={over}{', keepdims=True' if keep else ''}{more})"


def _axes(node: Node) -> list[int]:
    """What is reduced; no axes at all where nothing is."""
    rank = rank_of(node, input_of(node))
    axes = static_ints(node, 1, "axes")
    if not axes:
        return [] if flag(node, "noop_with_empty_axes") else list(range(rank))
    return sorted(axis_of(node, axis, rank) for axis in axes)


def _may_be_empty(node: Node, axes: Sequence[int]) -> bool:
    return any(not size_of_axis(input_of(node), axis) for axis in axes)


def _total(function: str) -> Any:
    """A sum or product in the element type of its operand; 16-bit floats are rounded once."""

    def express(node: Node, x: Term, dtype: DType, axes: Sequence[int]) -> str:
        wide = cast(DType.FLOAT32, x.text, node) if dtype is DType.FLOAT16 else x.text
        text = keyed(function, wide, axes, flag(node, "keepdims", 1))
        return cast(dtype, text, node) if dtype is DType.FLOAT16 or (dtype.is_integer and dtype.bits < 64) else text

    return express


def _extreme(function: str) -> Any:
    def express(node: Node, x: Term, dtype: DType, axes: Sequence[int]) -> str:
        more = ""
        if _may_be_empty(node, axes):
            least: Any = function != "max" if dtype is DType.BOOL else None
            if dtype.is_float:
                least = "-numpy.inf" if function == "max" else "numpy.inf"
            elif least is None:
                limits = np.iinfo(dtype.numpy)
                least = limits.min if function == "max" else limits.max
            more = f", initial={least}"
        return keyed(function, x.text, axes, flag(node, "keepdims", 1), more)

    return express


_REDUCTIONS: dict[str, Any] = {
    "ReduceMax": _extreme("max"),
    "ReduceMin": _extreme("min"),
    "ReduceProd": _total("prod"),
    "ReduceSum": _total("sum"),
}


def _reduced(node: Node, operands: Operands) -> str:
    x, dtype, axes = needed(operands, 0), dtype_of(node, input_of(node)), _axes(node)
    if not axes:
        return x.text
    return _REDUCTIONS[node.op_type](node, x, dtype, axes)


def _arg_extreme(function: str) -> Expression:
    """Where the first (or last) extreme along an axis stands."""

    def express(node: Node, operands: Operands) -> str:
        x, value = needed(operands, 0), input_of(node)
        rank = rank_of(node, value)
        if rank == 0:
            return "numpy.int64(0)"
        axis = axis_of(node, int(node.attributes.get("axis", 0)), rank)
        if flag(node, "select_last_index"):
            text = f"numpy.size({x:a}, {axis}) - 1 - numpy.{function}(numpy.flip({x:a}, {axis}), {axis})"
        else:
            text = f"numpy.{function}({x:a}, {axis})"
        return f"numpy.expand_dims({text}, {axis})" if flag(node, "keepdims", 1) else text

    return express


def _running(function: str, neutral: int) -> Expression:
    """Running sums or products along the axis that the second input names."""

    def express(node: Node, operands: Operands) -> str:
        x, value, dtype = needed(operands, 0), input_of(node), dtype_of(node, input_of(node))
        found = static_ints(node, 1, "axis")
        if not found:
            raise Unsupported(node, "it has no axis")
        axis = axis_of(node, found[0], rank_of(node, value))
        text = cast(DType.FLOAT32, x.text, node) if dtype is DType.FLOAT16 else x.text
        turned = flag(node, "reverse")
        text = f"numpy.flip({text}, {axis})" if turned else text
        text = f"numpy.{function}({text}, {axis})"
        if flag(node, "exclusive"):
            shape = value.tensor.static_shape
            if shape is None:
                raise Unsupported(node, "exclusive, over an axis whose size isn't known before the model runs")
            if shape[axis]:
                first = tuple(1 if index == axis else size for index, size in enumerate(shape))
                kept = f"numpy.take({text}, numpy.arange({shape[axis] - 1}), {axis})"
                text = f"numpy.concatenate((numpy.full({first}, {number(neutral, dtype).text}), {kept}), {axis})"
        text = f"numpy.flip({text}, {axis})" if turned else text
        return cast(dtype, text, node) if dtype.bits < 32 or dtype is DType.INT32 or dtype is DType.UINT32 else text

    return express


def _axis(node: Node, default: int = 0, more: int = 0) -> int:
    return axis_of(node, int(node.attributes.get("axis", default)), rank_of(node, input_of(node)) + more)


def _gathered(node: Node, operands: Operands) -> str:
    x, indices = present(operands)
    return take(x.text, indices.weak or indices.text, _axis(node))


def _count(node: Node, operands: Operands) -> str:
    """A number of elements, input 1."""
    known = static_array(input_of(node, 1))
    if known is not None:
        return str(int(known.reshape(-1)[0]))
    return f"numpy.reshape(numpy.int64({needed(operands, 1):a}), ())"


def _top(node: Node, operands: Operands) -> list[str]:
    """The largest (smallest) along an axis, in order, equal ones by index."""
    x, axis = needed(operands, 0), _axis(node, -1)
    length = size_of_axis(input_of(node), axis)
    last = f"numpy.size({x:a}, {axis}) - 1" if length is None else str(length - 1)
    if flag(node, "largest", 1):
        ranked = f"numpy.argsort(numpy.flip({x:a}, {axis}), {axis}, kind='stable')"
        order = f"{last} - numpy.flip({ranked}, {axis})"
    else:
        order = f"numpy.argsort({x:a}, {axis}, kind='stable')"
    indices = take(order, f"numpy.arange({_count(node, operands)})", axis)
    return [f"numpy.take_along_axis({x:a}, {indices}, {axis})", indices]


def _compressed(node: Node, operands: Operands) -> str:
    """NumPy refuses a condition that is longer than the axis; ONNX Runtime leaves out what it has more."""
    x, condition = present(operands)
    where = f", {_axis(node)}" if node.attributes.get("axis") is not None else ""
    shape = input_of(node).tensor.static_shape
    most = None if shape is None else shape[_axis(node)] if where else math.prod(shape)
    length = size_of_axis(input_of(node, 1), 0)
    chosen = f"{condition:a}"
    if most is not None and length is not None and most < length:
        chosen = f"numpy.take({chosen}, numpy.arange({most}))"
    return f"numpy.compress({chosen}, {x:a}{where})"


def _non_zero(node: Node, operands: Operands) -> str:
    if rank_of(node, input_of(node)) == 0:
        raise Unsupported(node, "of a scalar")
    return f"numpy.transpose(numpy.argwhere({needed(operands, 0):a}))"


# products -----------------------------------------------------------------------------------------


def _product(node: Node, operands: Operands) -> str:
    """A matrix product; 16-bit floats are rounded once."""
    texts = [term.text for term in present(operands)]
    if dtype_of(node, input_of(node)) is DType.FLOAT16:
        wide = [cast(DType.FLOAT32, text, node) for text in texts]
        return cast(DType.FLOAT16, f"numpy.matmul({', '.join(wide)})", node)
    return f"numpy.matmul({', '.join(texts)})"


EXPRESSIONS: dict[str, Expression] = {
    **dict.fromkeys(_REDUCTIONS, _reduced),
    "ArgMax": _arg_extreme("argmax"),
    "ArgMin": _arg_extreme("argmin"),
    "CumProd": _running("cumprod", 1),
    "CumSum": _running("cumsum", 0),
    "Compress": _compressed,
    "Gather": _gathered,
    "MatMul": _product,
    "NonZero": _non_zero,
    "TopK": _top,
}
