"""Functions of NumPy that bring axes together: sums, means, extremes, norms, running sums."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ....passes.errors import InvalidModel, Unsupported
from ....passes.graph import Value
from ....passes.types import DType
from .arguments import Call
from .numpy_values import Item, Number, applied, cast, constant, converted, reshaped, supported
from .python_calls import Function
from .ufuncs import UFUNCS


def reduced(call: Call, op_type: str, value: Value, axes: Sequence[int], keep: bool) -> Number:
    """A Reduce operator over some axes; over none of them it is the value itself."""
    if not axes:
        return Number(value)
    return Number(call.op.call(op_type, value, call.op.const(list(axes)), keepdims=int(keep)))


def _summed(function: Callable[..., Any], op_type: str) -> Function:
    def total(call: Call, a: Item, axis: Item = None, dtype: Item = None, *, keepdims: Item = None) -> Item:
        """In the type that NumPy sums in: small integers and booleans as int64."""
        x = call.array(a)
        wide = call.dtype(dtype) or supported(function(np.zeros(1, x.dtype.numpy)).dtype, call.where)
        axes, keep = call.reduced_axes(axis, x.rank), call.flag(keepdims)
        return reduced(call, op_type, cast(call.op, x, wide, call.where), axes, keep)

    return total


def _extreme(op_type: str) -> Function:
    def extreme(call: Call, a: Item, axis: Item = None, *, keepdims: Item = None) -> Item:
        """The largest (smallest) one; NaN where there is one. Booleans as numbers."""
        x = call.array(a)
        axes = call.reduced_axes(axis, x.rank)
        _check_some(call, x, axes)
        if x.dtype is not DType.BOOL:
            return reduced(call, op_type, x.value, axes, call.flag(keepdims))
        number = reduced(call, op_type, cast(call.op, x, DType.INT64, call.where), axes, call.flag(keepdims))
        return converted(call.op, number, DType.BOOL, call.where)

    return extreme


def _check_some(call: Call, x: Number, axes: Sequence[int]) -> None:
    """NumPy knows no extreme of nothing, unless nothing is what it is asked for."""
    kept = math.prod(x.shape[axis] for axis in range(x.rank) if axis not in axes)
    if kept and not all(x.shape[axis] for axis in axes):
        raise InvalidModel(f"{call.where}: an extreme of nothing")


def _place(op_type: str) -> Function:
    def place(call: Call, a: Item, axis: Item = None, *, keepdims: Item = None) -> Item:
        """Where the first one stands."""
        x, keep = call.array(a), call.flag(keepdims)
        value = cast(call.op, x, DType.INT64, call.where) if x.dtype is DType.BOOL else x.value
        if axis is None or not x.rank:
            value, along = reshaped(call.op, value, (x.size,)), call.axis(axis, 1) if axis is not None else 0
        else:
            along = call.axis(axis, x.rank)
        _check_some(call, Number(value), [along])
        found = _first(call, op_type, value, along, keep and axis is not None)
        return Number(reshaped(call.op, found, (1,) * x.rank)) if keep and axis is None else Number(found)

    return place


def _first(call: Call, op_type: str, value: Value, axis: int, keep: bool) -> Value:
    """ArgMax or ArgMin; of the first NaN where there is one, which ONNX leaves open."""
    op = call.op
    found = op.call(op_type, value, axis=axis, keepdims=int(keep))
    if not Number(value).dtype.is_float:
        return found
    missing = cast(op, Number(op.IsNaN(value)), DType.INT64, call.where)
    some = op.Greater(op.ReduceMax(missing, op.const([axis]), keepdims=int(keep)), op.const(0))
    return op.Where(some, op.ArgMax(missing, axis=axis, keepdims=int(keep)), found)


def mean(call: Call, a: Item, axis: Item = None, dtype: Item = None, *, keepdims: Item = None) -> Item:
    x = _floats(call, a, dtype)
    return _mean(call, x, call.axes(axis, x.rank), call.flag(keepdims))


def _floats(call: Call, a: Item, dtype: Item = None) -> Number:
    """Integers and booleans as float64."""
    x = call.array(a)
    wanted = call.dtype(dtype) or (x.dtype if x.dtype.is_float else DType.FLOAT64)
    return converted(call.op, x, wanted, call.where)


def _mean(call: Call, x: Number, axes: Sequence[int], keep: bool, less: int = 0) -> Number:
    count = max(math.prod(x.shape[axis] for axis in axes) - less, 0)
    total = reduced(call, "ReduceSum", x.value, axes, keep)
    return Number(call.op.Div(total.value, call.op.const(np.asarray(count, x.dtype.numpy))))


def var(
    call: Call, a: Item, axis: Item = None, dtype: Item = None, *, ddof: Item = None, keepdims: Item = None
) -> Item:
    x = _floats(call, a, dtype)
    axes = call.axes(axis, x.rank)
    less = call.integer(ddof, 0)
    away = call.op.Sub(x.value, _mean(call, x, axes, True).value)
    return _mean(call, Number(call.op.Mul(away, away)), axes, call.flag(keepdims), less)


def std(
    call: Call, a: Item, axis: Item = None, dtype: Item = None, *, ddof: Item = None, keepdims: Item = None
) -> Item:
    found = var(call, a, axis, dtype, ddof=ddof, keepdims=keepdims)
    return applied(call.op, UFUNCS["sqrt"], [call.array(found)], call.where)


def average(call: Call, a: Item, axis: Item = None, weights: Item = None) -> Item:
    if weights is None:
        return mean(call, a, axis)
    x, share = call.array(a), call.array(weights)
    if x.shape != share.shape:
        raise Unsupported(call.where, f"weights of shape {share.shape} for an array of shape {x.shape}")
    product = applied(call.op, UFUNCS["multiply"], [x, share], call.where)
    total, whole = (_SUM(call, number, axis) for number in (product, share))
    return applied(call.op, UFUNCS["divide"], [call.array(total), call.array(whole)], call.where)


def ptp(call: Call, a: Item, axis: Item = None, *, keepdims: Item = None) -> Item:
    ends = [_extreme(op_type)(call, a, axis, keepdims=keepdims) for op_type in ("ReduceMax", "ReduceMin")]
    return applied(call.op, UFUNCS["subtract"], [call.array(end) for end in ends], call.where)


def count_nonzero(call: Call, a: Item, axis: Item = None, *, keepdims: Item = None) -> Item:
    x = call.array(a)
    return _SUM(call, converted(call.op, x, DType.BOOL, call.where), axis, keepdims=keepdims)


def all_(call: Call, a: Item, axis: Item = None, *, keepdims: Item = None) -> Item:
    """True of nothing."""
    x = converted(call.op, call.array(a), DType.BOOL, call.where)
    counted = cast(call.op, x, DType.INT64, call.where)
    product = reduced(call, "ReduceProd", counted, call.reduced_axes(axis, x.rank), call.flag(keepdims))
    return converted(call.op, product, DType.BOOL, call.where)


def any_(call: Call, a: Item, axis: Item = None, *, keepdims: Item = None) -> Item:
    """False of nothing."""
    found = call.array(count_nonzero(call, a, axis, keepdims=keepdims))
    return converted(call.op, found, DType.BOOL, call.where)


def norm(call: Call, x: Item, ord: Item = None, axis: Item = None, keepdims: Item = None) -> Item:
    """The root of the sum of squares: of all elements, or of vectors along one axis."""
    number = _floats(call, x)
    vectors = number.rank == 1 or axis is not None
    if ord is not None and not (ord == "fro" if not vectors else not isinstance(ord, str) and call.integer(ord) == 2):
        raise Unsupported(call.where, "another norm than that of the squares")
    axes = call.axes(axis, number.rank)
    squares = reduced(call, "ReduceSum", call.op.Mul(number.value, number.value), axes, call.flag(keepdims))
    return applied(call.op, UFUNCS["sqrt"], [squares], call.where)


def _running(function: Callable[..., Any], op_type: str) -> Function:
    def running(call: Call, a: Item, axis: Item = None, dtype: Item = None) -> Item:
        x = call.array(a)
        wide = call.dtype(dtype) or supported(function(np.zeros(1, x.dtype.numpy)).dtype, call.where)
        value = cast(call.op, x, wide, call.where)
        if axis is None or not x.rank:
            value, along = reshaped(call.op, value, (x.size,)), call.axis(axis, 1) if axis is not None else 0
        else:
            along = call.axis(axis, x.rank)
        return Number(call.op.call(op_type, value, call.op.const(along)))

    return running


def diff(call: Call, a: Item, n: Item = None, axis: Item | int = -1) -> Item:
    """Each element less the one before; of booleans whether they differ."""
    x = call.array(a)
    if not x.rank:
        raise InvalidModel(f"{call.where}: of one number")
    along = x.rank - 1 if isinstance(axis, int) else call.axis(axis, x.rank)
    name = "not_equal" if x.dtype is DType.BOOL else "subtract"
    times = call.integer(n, 1)
    if not 0 <= times <= 64:
        raise InvalidModel(f"{call.where}: n={times}")
    for _ in range(times):
        size = x.shape[along]
        parts = [_part(call, x, along, start, end) for start, end in ((min(1, size), size), (0, max(size - 1, 0)))]
        x = applied(call.op, UFUNCS[name], parts, call.where)
    return x


def _part(call: Call, x: Number, axis: int, start: int, end: int) -> Number:
    return Number(call.op.Slice(x.value, *(call.op.const([bound]) for bound in (start, end, axis))))


def _without_nan(function: str, instead: float) -> Function:
    def build(call: Call, a: Item, axis: Item = None, *, keepdims: Item = None) -> Item:
        x = call.array(a)
        if x.dtype.is_float:
            filling = constant(call.op, np.asarray(instead, x.dtype.numpy))
            x = Number(call.op.Where(call.op.IsNaN(x.value), filling.value, x.value))
        return REDUCTIONS[function](call, x, axis, keepdims=keepdims)

    return build


_SUM = _summed(np.sum, "ReduceSum")
_LARGEST, _SMALLEST = _extreme("ReduceMax"), _extreme("ReduceMin")
REDUCTIONS: dict[str, Function] = {
    "all": all_,
    "amax": _LARGEST,
    "amin": _SMALLEST,
    "any": any_,
    "argmax": _place("ArgMax"),
    "argmin": _place("ArgMin"),
    "average": average,
    "count_nonzero": count_nonzero,
    "cumprod": _running(np.cumprod, "CumProd"),
    "cumsum": _running(np.cumsum, "CumSum"),
    "diff": diff,
    "linalg.norm": norm,
    "max": _LARGEST,
    "mean": mean,
    "min": _SMALLEST,
    "nanprod": _without_nan("prod", 1),
    "nansum": _without_nan("sum", 0),
    "prod": _summed(np.prod, "ReduceProd"),
    "ptp": ptp,
    "std": std,
    "sum": _SUM,
    "var": var,
}
