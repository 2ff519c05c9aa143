"""Functions of NumPy that bring axes together: sums, means, extremes, norms, running sums."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from .....passes.build import reshape, squeeze
from .....passes.errors import InvalidModel, Unsupported
from .....passes.graph import Value
from .....passes.types import DType
from .arguments import Axes, Call, Function, Operand
from .shapes import flat_or_axis
from .values import Item, Number, astype, cast, check_wide, constant, size_number, supported_dtype


def reduced(call: Call, op_type: str, value: Value, axes: Sequence[int], keep: bool) -> Number:
    """A Reduce operator over some axes; over none of them it is the value itself."""
    if not axes:
        return Number(value)
    return Number(call.op.call(op_type, value, call.op.const(list(axes)), keepdims=int(keep)))


def _accumulated(call: Call, function: Callable[..., Any], x: Number, dtype: DType | None) -> Number:
    """In the type that NumPy sums in: small integers and booleans as int64."""
    if dtype in (None, DType.FLOAT16):
        check_wide(x, call.where)
    wide = dtype or supported_dtype(function(np.zeros(1, x.dtype.numpy)).dtype, call.where)
    return astype(call.op, x, wide, call.where)


def _summed(function: Callable[..., Any], op_type: str) -> Function:
    def total(
        call: Call, a: Number, axis: Axes | None = None, dtype: DType | None = None, *, keepdims: bool = False
    ) -> Item:
        x = _accumulated(call, function, a, dtype)
        return reduced(call, op_type, x.value, call.axes(axis, x.rank, scalar=True), keepdims)

    return total


def _running(function: Callable[..., Any], op_type: str) -> Function:
    def running(call: Call, a: Number, axis: int | None = None, dtype: DType | None = None) -> Item:
        x, axis = flat_or_axis(call, _accumulated(call, function, a, dtype), axis)
        return Number(call.op.call(op_type, x.value, call.op.const(axis)))

    return running


def _extreme(op_type: str) -> Function:
    def extreme(
        call: Call, a: Number, axis: Axes | None = None, *, keepdims: bool = False, initial: Operand | None = None
    ) -> Item:
        """The largest (smallest) one; NaN where there is one. Booleans as numbers."""
        axes = call.axes(axis, a.rank, scalar=True)
        if initial is None:
            _check_some(call, a, axes)
        x = astype(call.op, a, DType.INT64, call.where) if a.dtype is DType.BOOL else a.array
        number = reduced(call, op_type, x.value, axes, keepdims)  # of nothing the least (largest) number of the type
        if initial is not None:
            more = astype(call.op, initial, x.dtype, call.where)
            number = call.universal(number, more, name="maximum" if op_type == "ReduceMax" else "minimum")
        return astype(call.op, number, a.dtype, call.where)

    return extreme


def _check_some(call: Call, x: Number, axes: Sequence[int]) -> None:
    """NumPy knows no extreme of nothing, unless nothing is what it is asked for."""
    kept = all(size != 0 for axis, size in enumerate(x.sizes) if axis not in axes)
    if kept and any(x.sizes[axis] == 0 for axis in axes):
        raise InvalidModel(f"{call.where}: an extreme of an empty array")


def _arg_extreme(op_type: str) -> Function:
    def arg_extreme(call: Call, a: Number, axis: int | None = None, *, keepdims: bool = False) -> Item:
        """Where the first one stands; of the first NaN where there is one, which ONNX leaves open."""
        op = call.op
        x = astype(op, a, DType.INT64, call.where) if a.dtype is DType.BOOL else a
        x, axis_ = flat_or_axis(call, x, axis)
        _check_some(call, x, [axis_])
        found = op.call(op_type, x.value, axis=axis_, keepdims=1)
        if x.dtype.is_float:
            missing = cast(op, Number(op.IsNaN(x.value)), DType.INT64, call.where)
            some = op.Greater(op.ReduceMax(missing, op.const([axis_]), keepdims=1), op.const(0))
            found = op.Where(some, op.ArgMax(missing, axis=axis_, keepdims=1), found)
        if axis is not None and a.rank:
            return Number(found if keepdims else squeeze(op, found, [axis_]))
        return Number(reshape(op, found, (1,) * a.rank if keepdims else ()))

    return arg_extreme


def mean(
    call: Call, a: Number, axis: Axes | None = None, dtype: DType | None = None, *, keepdims: bool = False
) -> Item:
    x = _floats(call, a, dtype)
    return _mean(call, x, call.axes(axis, x.rank), keepdims)


def _floats(call: Call, x: Number, dtype: DType | None = None) -> Number:
    """Integers and booleans as float64."""
    if dtype in (None, DType.FLOAT16):
        check_wide(x, call.where)
    return astype(call.op, x, dtype or (x.dtype if x.dtype.is_float else DType.FLOAT64), call.where)


def _mean(call: Call, x: Number, axes: Sequence[int], keep: bool, less: int = 0) -> Number:
    total = reduced(call, "ReduceSum", x.value, axes, keep)
    if any(x.sizes[axis] is None for axis in axes):
        counts = [size_number(call.op, x, axis) for axis in axes]
        found = reduce(lambda a, b: call.universal(a, b, name="multiply"), counts)
        left = call.universal(found.array, constant(call.op, less), name="subtract")
        return call.array(call.compute("total / numpy.maximum(left, 0)", total=total, left=left))
    count = max(math.prod(x.sizes[axis] or 0 for axis in axes) - less, 0)
    return Number(call.op.Div(total.value, call.op.const(np.asarray(count, x.dtype.numpy))))


def var(
    call: Call,
    a: Number,
    axis: Axes | None = None,
    dtype: DType | None = None,
    *,
    ddof: int = 0,
    keepdims: bool = False,
) -> Item:
    x = _floats(call, a, dtype)
    axes = call.axes(axis, x.rank)
    away = call.op.Sub(x.value, _mean(call, x, axes, True).value)
    return _mean(call, Number(call.op.Mul(away, away)), axes, keepdims, ddof)


def average(call: Call, a: Number, axis: Item = None, weights: Number | None = None) -> Item:
    if weights is None:
        return call.compute("numpy.mean(a, axis)", a=a, axis=axis)
    if a.shape != weights.shape:
        raise Unsupported(call.where, f"weights of shape {weights.shape} for an array of shape {a.shape}")
    formula = "numpy.divide(numpy.sum(numpy.multiply(a, weights), axis), numpy.sum(weights, axis))"
    return call.compute(formula, a=a, axis=axis, weights=weights)


def norm(call: Call, x: Number, ord: Item = None, axis: Axes | None = None, keepdims: bool = False) -> Item:
    """The root of the sum of squares: of all elements, or of vectors along one axis."""
    vectors = x.rank == 1 or axis is not None
    if ord is not None and not (ord == "fro" if not vectors else not isinstance(ord, str) and call.integer(ord) == 2):
        raise Unsupported(call.where, "another norm than that of the squares")
    squares = call.op.Mul(_floats(call, x).value, _floats(call, x).value)
    sums = reduced(call, "ReduceSum", squares, call.axes(axis, x.rank), keepdims)
    return call.compute("numpy.sqrt(x)", x=sums)


def diff(call: Call, a: Number, n: int = 1, axis: int = -1) -> Item:
    """Each element less the one before; of booleans whether they differ."""
    axis = call.axis(axis, a.rank)
    if not 0 <= n <= 64:
        raise InvalidModel(f"{call.where}: n={n}")
    name = "not_equal" if a.dtype is DType.BOOL else "subtract"
    before = ":, " * axis
    for _ in range(n):
        a = call.array(call.compute(f"numpy.{name}(a[{before}1:], a[{before}:-1])", a=a))
    return a


REDUCTIONS: dict[str, Function] = {
    "amax": _extreme("ReduceMax"),
    "amin": _extreme("ReduceMin"),
    "argmax": _arg_extreme("ArgMax"),
    "argmin": _arg_extreme("ArgMin"),
    "average": average,
    "cumprod": _running(np.cumprod, "CumProd"),
    "cumsum": _running(np.cumsum, "CumSum"),
    "diff": diff,
    "linalg.norm": norm,
    "max": _extreme("ReduceMax"),
    "mean": mean,
    "min": _extreme("ReduceMin"),
    "prod": _summed(np.prod, "ReduceProd"),
    "sum": _summed(np.sum, "ReduceSum"),
    "var": var,
}
