"""Functions of NumPy that take several steps: choices, roundings, comparisons, order, products."""

from __future__ import annotations

import math

import numpy as np

from ....passes.errors import InvalidModel, Unsupported
from ....passes.types import DType
from . import products
from .arguments import Call
from .numpy_values import (
    Item,
    Number,
    applied,
    broadcast,
    cast,
    checked_shape,
    common_type,
    constant,
    converted,
    promoted,
    scalar,
    where_values,
)
from .python_calls import Function
from .reductions import REDUCTIONS
from .shapes import expanded, shaped
from .ufuncs import UFUNCS


def _ufunc(call: Call, name: str, *items: Item) -> Number:
    return applied(call.op, UFUNCS[name], [call.operand(item) for item in items], call.where)


# choices -----------------------------------------------------------------------------------------


def where(call: Call, condition: Item, x: Item = None, y: Item = None) -> Item:
    if x is None or y is None:
        raise Unsupported(call.where, "the places where something holds, whose number only running it shows")
    test = converted(call.op, call.array(condition), DType.BOOL, call.where)
    a, b = call.operand(x), call.operand(y)
    dtype = promoted([a, b], call.where)
    shape = broadcast([test.shape, a.shape, b.shape], call.where)
    values = [cast(call.op, number, dtype, call.where) for number in (a, b)]
    made = Number(where_values(call.op, test.value, *values))
    return expanded(call, made, shape)


def clip(call: Call, a: Item, a_min: Item = None, a_max: Item = None, *, min: Item = None, max: Item = None) -> Item:
    """No less than one number and then no more than another."""
    found = call.operand(a)
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    made = found.array
    if low is not None and high is not None:
        # all three decide on the type
        dtype = promoted([found, call.operand(low), call.operand(high)], call.where)
        made = converted(call.op, found, dtype, call.where)
    if low is not None:
        made = _ufunc(call, "maximum", made, low)
    if high is not None:
        made = _ufunc(call, "minimum", made, high)
    return made


def nan_to_num(call: Call, x: Item, *, nan: Item = None, posinf: Item = None, neginf: Item = None) -> Item:
    """Other numbers for NaN and infinities: by default zero, and the largest ones there are."""
    number = call.array(x)
    if not number.dtype.is_float:
        return number
    op, limits = call.op, np.finfo(number.dtype.numpy)

    def instead(item: Item, default: float) -> Item:
        return scalar(op, default, call.where) if item is None else item

    value = number.value
    kinds = (
        (op.IsNaN(value), instead(nan, 0.0)),
        (op.IsInf(value, detect_negative=0), instead(posinf, float(limits.max))),
        (op.IsInf(value, detect_positive=0), instead(neginf, float(limits.min))),
    )
    for condition, item in kinds:
        filling = call.operand(item)
        if filling.rank:
            raise Unsupported(call.where, "an array of replacements")
        value = op.Where(condition, cast(op, filling, number.dtype, call.where), value)
    return Number(value)


# rounding ----------------------------------------------------------------------------------------


def round_(call: Call, a: Item, decimals: Item = None) -> Item:
    """To decimals, halves to the even one: scaled, rounded, scaled back."""
    x = call.array(a)
    places = call.integer(decimals, 0)
    if not x.dtype.is_float:
        if x.dtype is DType.BOOL or places < 0:
            raise Unsupported(call.where, f"{x.dtype.value} to {places} decimals")
        return x
    if abs(places) > 300:
        raise Unsupported(call.where, f"{places} decimals")
    if not places:
        return _ufunc(call, "rint", x)
    scale = constant(call.op, np.asarray(10.0 ** abs(places), x.dtype.numpy))
    there, back = ("multiply", "divide") if places > 0 else ("divide", "multiply")
    return _ufunc(call, back, _ufunc(call, "rint", _ufunc(call, there, x, scale)), scale)


def fix(call: Call, x: Item) -> Item:
    return _ufunc(call, "trunc", x)


def sinc(call: Call, x: Item) -> Item:
    """sin(pi x) / (pi x), 1 at zero: NumPy takes a tiny number for it."""
    number = converted(call.op, call.array(x), DType.FLOAT64, call.where)
    zero = _ufunc(call, "equal", number, scalar(call.op, 0, call.where))
    tiny = call.op.const(np.asarray(1e-20))
    angle = _ufunc(call, "multiply", Number(call.op.Where(zero.value, tiny, number.value)), constant(call.op, math.pi))
    return _ufunc(call, "divide", _ufunc(call, "sin", angle), angle)


# comparisons -------------------------------------------------------------------------------------


def isclose(call: Call, a: Item, b: Item, rtol: Item = None, atol: Item = None, equal_nan: Item = None) -> Item:
    """|a - b| <= atol + rtol |b|; infinities have to be equal."""
    x, y = call.operand(a), call.operand(b)
    relative = scalar(call.op, 1e-5, call.where) if rtol is None else rtol
    absolute = scalar(call.op, 1e-8, call.where) if atol is None else atol
    if y.dtype is DType.BOOL:
        y = converted(call.op, y, DType.FLOAT64, call.where)
    bound = _ufunc(call, "add", absolute, _ufunc(call, "multiply", relative, _ufunc(call, "absolute", y)))
    close = _ufunc(call, "less_equal", _ufunc(call, "absolute", _ufunc(call, "subtract", x, y)), bound)
    close = _ufunc(call, "logical_and", close, _ufunc(call, "isfinite", y))
    found = _ufunc(call, "logical_or", close, _ufunc(call, "equal", x, y))
    if not call.flag(equal_nan):
        return found
    both = _ufunc(call, "logical_and", _ufunc(call, "isnan", x), _ufunc(call, "isnan", y))
    return _ufunc(call, "logical_or", found, both)


def allclose(call: Call, a: Item, b: Item, rtol: Item = None, atol: Item = None, equal_nan: Item = None) -> Item:
    found = call.array(REDUCTIONS["all"](call, isclose(call, a, b, rtol, atol, equal_nan)))
    return Number(found.value, python=True)


def array_equal(call: Call, a1: Item, a2: Item) -> Item:
    a, b = call.array(a1), call.array(a2)
    if a.shape != b.shape:
        return scalar(call.op, False, call.where)
    found = call.array(REDUCTIONS["all"](call, _ufunc(call, "equal", a, b)))
    return Number(found.value, python=True)


# order -------------------------------------------------------------------------------------------


def sort(call: Call, a: Item, axis: Item | int = -1) -> Item:
    """Upwards; NaN behind all others."""
    x = call.array(a)
    if axis is None:
        x, along = shaped(call, x, (x.size,)), 0
    elif isinstance(axis, int):
        along = x.rank - 1
    else:
        along = call.axis(axis, x.rank)
    if not x.rank:
        raise InvalidModel(f"{call.where}: of one number")
    return _sorted(call, x, along)


def _sorted(call: Call, x: Number, axis: int) -> Number:
    op, size = call.op, x.shape[axis]
    if x.dtype is DType.BOOL:
        ordered = _sorted(call, converted(op, x, DType.INT64, call.where), axis)
        return converted(op, ordered, DType.BOOL, call.where)
    missing = op.IsNaN(x.value) if x.dtype.is_float else None
    key = x.value if missing is None else op.Where(missing, op.const(np.asarray(np.inf, x.dtype.numpy)), x.value)
    ordered, _ = op.TopK(key, op.const([size]), axis=axis, largest=0, _outputs=2)
    if missing is None:
        return Number(ordered)
    count = op.ReduceSum(op.Cast(missing, to=7), op.const([axis]))
    shape = [size if place == axis else 1 for place in range(x.rank)]
    places = op.const(np.arange(size).reshape(shape))
    behind = op.GreaterOrEqual(places, op.Sub(op.const(size), count))
    return Number(op.Where(behind, op.const(np.asarray(np.nan, x.dtype.numpy)), ordered))


def median(call: Call, a: Item, axis: Item = None) -> Item:
    """The middle one, or the mean of the two in the middle; NaN where there is one."""
    x = call.array(a)
    x = x if x.dtype.is_float else converted(call.op, x, DType.FLOAT64, call.where)
    if axis is None:
        x, along = shaped(call, x, (x.size,)), 0
    else:
        along = call.axis(axis, x.rank)
    size = x.shape[along]
    if not size:
        raise Unsupported(call.where, "of nothing")
    op, ordered = call.op, _sorted(call, x, along).value
    middle = [op.Gather(ordered, op.const(place), axis=along) for place in ((size - 1) // 2, size // 2)]
    found = op.Mul(op.Add(*middle), op.const(np.asarray(0.5, x.dtype.numpy)))
    last = op.Gather(ordered, op.const(size - 1), axis=along)
    return Number(op.Where(op.IsNaN(last), last, found))


def interp(call: Call, x: Item, xp: Item, fp: Item) -> Item:
    """Linear between the points (xp, fp), whose xp grow; beyond them the outermost fp."""
    op = call.op
    at, places, values = (converted(op, call.array(item), DType.FLOAT64, call.where) for item in (x, xp, fp))
    if places.rank != 1 or places.shape != values.shape or not places.size:
        raise InvalidModel(f"{call.where}: points of shapes {places.shape} and {values.shape}")
    count = places.size
    column = shaped(call, at, (*at.shape, 1)).value
    passed = op.Cast(op.GreaterOrEqual(column, places.value), to=7)
    index = op.Sub(op.ReduceSum(passed, op.const([-1]), keepdims=0), op.const(1))
    low = op.Min(op.Max(index, op.const(0)), op.const(max(count - 2, 0)))
    high = op.Min(op.Add(low, op.const(1)), op.const(count - 1))
    (x0, y0), (x1, y1) = (
        (op.Gather(places.value, each, axis=0), op.Gather(values.value, each, axis=0)) for each in (low, high)
    )
    slope = op.Div(op.Sub(y1, y0), op.Sub(x1, x0))
    inside = op.Add(op.Mul(slope, op.Sub(at.value, x0)), y0)
    first, last = (op.Gather(values.value, op.const(place), axis=0) for place in (0, count - 1))
    ends = [op.Gather(places.value, op.const(place), axis=0) for place in (0, count - 1)]
    found = op.Where(op.GreaterOrEqual(at.value, ends[1]), last, inside)
    found = op.Where(op.Less(at.value, ends[0]), first, found)
    return Number(op.Where(op.IsNaN(at.value), at.value, found))


# products ----------------------------------------------------------------------------------------


def _product(function) -> Function:
    return lambda call, a, b: function(call.op, call.array(a), call.array(b), call.where)


def einsum(call: Call, subscripts: Item, *operands: Item) -> Item:
    """Einstein's summation, its equation as a text."""
    numbers = [call.array(operand) for operand in operands]
    if not isinstance(subscripts, str) or not numbers:
        raise Unsupported(call.where, "without an equation in front of arrays")
    try:
        shaped_alike = [np.broadcast_to(np.zeros(()), number.shape) for number in numbers]
        np.einsum_path(subscripts, *shaped_alike, optimize=False)
    except (ValueError, TypeError) as error:
        raise InvalidModel(f"{call.where}: {' '.join(str(error).split()):.100}") from None
    dtype = common_type([number.dtype for number in numbers], call.where)
    if dtype is DType.BOOL:
        raise Unsupported(call.where, "of booleans")
    values = [cast(call.op, number, dtype, call.where) for number in numbers]
    made = call.op.Einsum(*values, equation="".join(subscripts.split()))
    if made.tensor.static_shape is None:
        raise Unsupported(call.where, f"the equation {subscripts!r:.60}")
    checked_shape(made.tensor.static_shape, call.where)
    return Number(made)


def linalg_det(call: Call, a: Item) -> Item:
    x = call.array(a)
    if x.rank < 2 or x.shape[-1] != x.shape[-2]:
        raise InvalidModel(f"{call.where}: of an array of shape {x.shape}")
    wide = x.dtype if x.dtype.is_float else DType.FLOAT64
    return Number(call.op.Det(cast(call.op, x, wide, call.where)))


NUMPY_CALLS: dict[str, Function] = {
    "allclose": allclose,
    "around": round_,
    "array_equal": array_equal,
    "clip": clip,
    "einsum": einsum,
    "dot": _product(products.dot),
    "fix": fix,
    "inner": _product(products.inner),
    "interp": interp,
    "isclose": isclose,
    "linalg.det": linalg_det,
    "matmul": _product(products.matmul),
    "median": median,
    "nan_to_num": nan_to_num,
    "outer": _product(products.outer),
    "round": round_,
    "sinc": sinc,
    "sort": sort,
    "vdot": _product(products.vdot),
    "where": where,
}
