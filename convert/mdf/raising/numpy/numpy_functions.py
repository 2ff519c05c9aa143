"""Functions of NumPy that take several steps: new arrays, choices, roundings, comparisons, order, products."""

from __future__ import annotations

import math

import numpy as np

from .....passes.build import reshape, transpose, where_values
from .....passes.errors import InvalidModel, Unsupported
from .....passes.graph import Value
from .....passes.preconditions import size_of_axis
from .....passes.protos import ENUMS
from .....passes.types import DType
from .arguments import Axes, Call, Function, Operand
from .operators import matmul
from .shapes import expand, flat_or_axis, reshape_number, take_along
from .shapes import shape as shape_of
from .values import (
    Item,
    Number,
    astype,
    broadcast,
    cast,
    check_wide,
    checked_shape,
    common_type,
    constant,
    known,
    of_sizes,
    promoted_dtype,
    scalar,
    size_number,
)

# choices -----------------------------------------------------------------------------------------


def where(call: Call, condition: Number, x: Operand | None = None, y: Operand | None = None) -> Item:
    if x is None or y is None:
        raise Unsupported(call.where, "the indices where a condition is true, whose number is known only at run time")
    test = astype(call.op, condition, DType.BOOL, call.where)
    dtype = promoted_dtype([x, y], call.where)
    sizes = broadcast([test.sizes, x.sizes, y.sizes], call.where)
    values = [cast(call.op, number, dtype, call.where) for number in (x, y)]
    return of_sizes(where_values(call.op, test.value, *values), sizes)


def clip(
    call: Call,
    a: Operand,
    a_min: Operand | None = None,
    a_max: Operand | None = None,
    *,
    min: Operand | None = None,
    max: Operand | None = None,
) -> Item:
    """No less than one number and then no more than another."""
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    made = a.array
    if low is not None and high is not None:  # all three decide on the type
        made = astype(call.op, a, promoted_dtype([a, low, high], call.where), call.where)
    if low is not None:
        made = call.compute("numpy.maximum(made, low)", made=made, low=low)
    return made if high is None else call.compute("numpy.minimum(made, high)", made=made, high=high)


def nan_to_num(
    call: Call, x: Number, *, nan: Number | None = None, posinf: Number | None = None, neginf: Number | None = None
) -> Item:
    """Other numbers for NaN and infinities: by default zero, and the largest ones there are."""
    if not x.dtype.is_float:
        return x
    limits = np.finfo(x.dtype.numpy)
    defaults = {"nan": 0.0, "posinf": float(limits.max), "neginf": float(limits.min)}
    filling = {
        name: astype(call.op, given or scalar(call.op, defaults[name], call.where), x.dtype, call.where)
        for name, given in (("nan", nan), ("posinf", posinf), ("neginf", neginf))
    }
    if any(number.rank for number in filling.values()):
        raise Unsupported(call.where, "an array of replacements")
    formula = """
        known = numpy.where(numpy.isnan(x), nan, x)
        numpy.where(x == numpy.inf, posinf, numpy.where(x == -numpy.inf, neginf, known))
    """
    return call.compute(formula, x=x, **filling)


# rounding and comparisons ------------------------------------------------------------------------


def round_(call: Call, a: Number, decimals: int = 0) -> Item:
    """To decimals, halves to the even one: scaled, rounded, scaled back."""
    if not a.dtype.is_float:
        if a.dtype is DType.BOOL or decimals < 0:
            raise Unsupported(call.where, f"{a.dtype.value} to {decimals} decimals")
        return a
    if abs(decimals) > 300:
        raise Unsupported(call.where, f"{decimals} decimals")
    formulas = ("numpy.rint(a / scale) * scale", "numpy.rint(a)", "numpy.rint(a * scale) / scale")
    return call.compute(formulas[int(np.sign(decimals)) + 1], a=a, scale=10.0 ** abs(decimals))


def sinc(call: Call, x: Number) -> Item:
    """sin(pi x) / (pi x), 1 at zero: NumPy takes a tiny number for it."""
    wide = astype(call.op, x, DType.FLOAT64, call.where)
    return call.compute("angle = numpy.pi * numpy.where(x == 0, 1e-20, x); numpy.sin(angle) / angle", x=wide)


def isclose(
    call: Call,
    a: Operand,
    b: Operand,
    rtol: Operand | float = 1e-05,
    atol: Operand | float = 1e-08,
    equal_nan: bool = False,
) -> Item:
    """|a - b| <= atol + rtol |b|; infinities have to be equal."""
    if b.dtype is DType.BOOL:
        b = astype(call.op, b, DType.FLOAT64, call.where)
    close = "numpy.absolute(numpy.subtract(a, b)) <= atol + rtol * numpy.absolute(b)"
    same = "numpy.equal(a, b) | (numpy.isnan(a) & numpy.isnan(b))" if equal_nan else "numpy.equal(a, b)"
    return call.compute(f"({close}) & numpy.isfinite(b) | {same}", a=a, b=b, rtol=rtol, atol=atol)


def array_equal(call: Call, a1: Number, a2: Number) -> Item:
    if a1.shape != a2.shape:
        return scalar(call.op, False, call.where)
    return call.compute("bool(numpy.all(numpy.equal(a, b)))", a=a1, b=a2)


# order -------------------------------------------------------------------------------------------


def sort(call: Call, a: Number, axis: int | None = -1) -> Item:
    """Upwards; NaN behind all others."""
    if not a.rank:
        raise InvalidModel(f"{call.where}: of one number")
    return _sorted(call, *flat_or_axis(call, a, axis))


def _sorted(call: Call, x: Number, axis: int) -> Number:
    op, size = call.op, x.shape[axis]
    if x.dtype is DType.BOOL:
        ordered = _sorted(call, astype(op, x, DType.INT64, call.where), axis)
        return astype(op, ordered, DType.BOOL, call.where)
    missing = op.IsNaN(x.value) if x.dtype.is_float else None
    key = x.value if missing is None else op.Where(missing, op.const(np.asarray(np.inf, x.dtype.numpy)), x.value)
    ordered, _ = op.TopK(key, op.const([size]), axis=axis, largest=0, _outputs=2)
    if missing is None:
        return Number(ordered)
    count = op.ReduceSum(op.Cast(missing, to=7), op.const([axis]))
    shape = [size if index == axis else 1 for index in range(x.rank)]
    indices = op.const(np.arange(size).reshape(shape))
    behind = op.GreaterOrEqual(indices, op.Sub(op.const(size), count))
    return Number(op.Where(behind, op.const(np.asarray(np.nan, x.dtype.numpy)), ordered))


def median(call: Call, a: Number, axis: int | None = None) -> Item:
    """The middle one, or the mean of the two in the middle; NaN where there is one."""
    x = a if a.dtype.is_float else astype(call.op, a, DType.FLOAT64, call.where)
    x, axis = flat_or_axis(call, x, None if axis is None else call.axis(axis, x.rank))
    size = x.shape[axis]
    if not size:
        raise Unsupported(call.where, "of nothing")
    ordered = _sorted(call, x, axis)
    low, high, last = (take_along(call, ordered, index, axis) for index in ((size - 1) // 2, size // 2, size - 1))
    return call.compute("numpy.where(numpy.isnan(last), last, (low + high) * 0.5)", low=low, high=high, last=last)


def interp(call: Call, x: Number, xp: Number, fp: Number) -> Item:
    """Linear between the points (xp, fp), whose xp grow; beyond them the outermost fp."""
    at, indices, values = (astype(call.op, number, DType.FLOAT64, call.where) for number in (x, xp, fp))
    if indices.rank != 1 or indices.shape != values.shape or not indices.size:
        raise InvalidModel(f"{call.where}: points of shapes {indices.shape} and {values.shape}")
    return call.compute(
        """
        below = numpy.sum(numpy.expand_dims(x, -1) >= xp, -1) - 1
        low = numpy.clip(below, 0, max(numpy.size(xp) - 2, 0))
        high = numpy.clip(low + 1, 0, numpy.size(xp) - 1)
        inside = (fp[high] - fp[low]) / (xp[high] - xp[low]) * (x - xp[low]) + fp[low]
        found = numpy.where(x < xp[0], fp[0], numpy.where(x >= xp[-1], fp[-1], inside))
        numpy.where(numpy.isnan(x), x, found)
        """,
        **{"x": at, "xp": indices, "fp": values},
    )


def argsort(call: Call, a: Number, axis: int = -1, *, kind: Item = None) -> Item:
    """Where the elements stand when they are in order, of equal ones the first one first: `kind` must ask for that."""
    if kind != "stable":
        raise Unsupported(call.where, "in no order of equal elements")
    if not a.rank:
        raise Unsupported(call.where, "of one number")
    op, axis = call.op, call.axis(axis, a.rank)
    x = astype(op, a, DType.INT64, call.where) if a.dtype is DType.BOOL else a
    count = size_number(op, x, axis)
    if not x.dtype.is_float:
        return Number(_ranked(call, x.value, count, axis))
    missing = op.IsNaN(x.value)  # all behind the others, in their order
    by_value = _ranked(call, op.Where(missing, op.const(np.asarray(0, x.dtype.numpy)), x.value), count, axis)
    behind = op.GatherElements(op.Cast(missing, to=ENUMS[DType.INT64]), by_value, axis=axis)
    return Number(op.GatherElements(by_value, _ranked(call, behind, count, axis), axis=axis))


def _ranked(call: Call, value: Value, count: Number, axis: int) -> Value:
    """Indices along an axis, of the least element first; equal ones as they stand."""
    k = reshape(call.op, count.value, (1,))
    return call.op.TopK(value, k, axis=axis, largest=0, _outputs=2)[1]


def take_along_axis(call: Call, arr: Number, indices: Number, axis: int = -1) -> Item:
    if arr.rank != indices.rank:
        raise InvalidModel(f"{call.where}: {indices.rank} axes of indices of an array of {arr.rank}")
    axis = call.axis(axis, arr.rank)
    if any(arr.sizes[at] is None or arr.sizes[at] != indices.sizes[at] for at in range(arr.rank) if at != axis):
        raise Unsupported(call.where, "sizes that have to be broadcast, or are known only at run time")
    index = cast(call.op, indices, DType.INT64, call.where)
    return Number(call.op.GatherElements(arr.value, index, axis=axis))


# parts whose sizes only running it shows -----------------------------------------------------------


def compress(call: Call, condition: Number, a: Number, axis: int | None = None) -> Item:
    """The elements at whose positions a condition holds, which may be shorter."""
    if condition.rank != 1:
        raise InvalidModel(f"{call.where}: a condition of {condition.rank} axes")
    x, axis = flat_or_axis(call, a, axis)
    chosen = cast(call.op, condition, DType.BOOL, call.where)
    length, size = size_of_axis(chosen, 0), size_of_axis(x.value, axis)
    if length is not None and size is not None and length > size:  # an error where it holds behind the last
        places = call.op.Squeeze(call.op.NonZero(chosen), call.op.const([0]))
        return Number(call.op.Gather(x.value, places, axis=axis))
    return Number(call.op.Compress(x.value, chosen, axis=axis))


def argwhere(call: Call, a: Number) -> Item:
    """Where elements are that aren't zero, a row for each."""
    x = cast(call.op, a, DType.INT64, call.where) if a.dtype is DType.BOOL else a.value
    if not a.rank:
        raise Unsupported(call.where, "of one number")
    return Number(transpose(call.op, call.op.NonZero(x), [1, 0]))


# products ----------------------------------------------------------------------------------------


def dot(call: Call, a: Number, b: Number) -> Item:
    """Of a number the product, of arrays the sum over the last axis of `a` and the last but one of `b`."""
    if not a.rank or not b.rank:
        return _scaled(call, a, b)
    if b.rank <= 2:
        return matmul(call.op, a, b, call.where)
    kept = (*b.shape[:-2], b.shape[-1])
    moved = transpose(call.op, b.value, [b.rank - 2, *range(b.rank - 2), b.rank - 1])
    flat = Number(reshape(call.op, moved, (b.shape[-2], math.prod(kept))))
    rows = Number(reshape(call.op, a.value, (math.prod(a.shape[:-1]), a.shape[-1])))
    made = matmul(call.op, rows, flat, call.where)
    return Number(reshape(call.op, made.value, (*a.shape[:-1], *kept)))


def _scaled(call: Call, a: Number, b: Number) -> Item:
    """A product with a number. Of floats it is added to nothing: there is no -0 in it, and nothing times 0 is 0."""
    made = call.array(call.compute("a * b", a=a, b=b))
    if not made.dtype.is_float or made.size < 2:
        return made
    return call.compute("numpy.where(factor == 0, 0, made + 0)", factor=b if a.rank else a, made=made)


def einsum(call: Call, subscripts: Item, *operands: Number) -> Item:
    """Einstein's summation, its equation as a text."""
    if not isinstance(subscripts, str) or not operands:
        raise Unsupported(call.where, "without an equation in front of arrays")
    virtual = [np.broadcast_to(np.zeros(()), number.shape) for number in operands]
    call.run(lambda *arrays: np.einsum_path(subscripts, *arrays, optimize=False), *virtual)
    dtype = common_type([number.dtype for number in operands], call.where)
    if dtype is DType.BOOL:
        raise Unsupported(call.where, "of booleans")
    for number in operands:
        check_wide(number, call.where)
    values = [cast(call.op, number, dtype, call.where) for number in operands]
    made = call.op.Einsum(*values, equation="".join(subscripts.split()))
    if made.tensor.static_shape is None:
        raise Unsupported(call.where, f"the equation {subscripts!r:.60}")
    checked_shape(made.tensor.static_shape, call.where)
    return Number(made)


def linalg_det(call: Call, a: Number) -> Item:
    if a.rank < 2 or a.shape[-1] != a.shape[-2]:
        raise InvalidModel(f"{call.where}: of an array of shape {a.shape}")
    check_wide(a, call.where)
    return Number(call.op.Det(cast(call.op, a, a.dtype if a.dtype.is_float else DType.FLOAT64, call.where)))


def full(call: Call, shape: Item, fill_value: Number, dtype: DType | None = None) -> Item:
    """What is filled with may have more axes, of one element each, before others: NumPy assigns it."""
    found = call.array(shape)
    more = fill_value.rank - (found.size if found.rank else 1)
    if more > 0 and set(fill_value.shape[:more]) == {1}:
        fill_value = reshape_number(call, fill_value, fill_value.shape[more:])
    if known(found) is None and found.rank <= 1 and found.dtype.is_integer:
        return _full_of_open_sizes(call, found, astype(call.op, fill_value, dtype or fill_value.dtype, call.where))
    sizes = call.shape(call.integers(shape))
    if broadcast([fill_value.shape, sizes], call.where) != sizes:
        raise InvalidModel(f"{call.where}: a shape {fill_value.shape} doesn't fill {sizes}")
    return expand(call, astype(call.op, fill_value, dtype or fill_value.dtype, call.where), sizes)


def _full_of_open_sizes(call: Call, shape: Number, filling: Number) -> Number:
    """Sizes that only running it shows; how many there are is known."""
    count = shape.size
    if set(filling.shape) - {1}:
        raise Unsupported(call.where, "an array that is to fill sizes that are known only at run time")
    sizes = reshape(call.op, cast(call.op, shape, DType.INT64, call.where), (count,))
    return of_sizes(call.op.Expand(filling.value, sizes), (None,) * count)


def full_like(
    call: Call, a: Number, fill_value: Number, dtype: DType | None = None, *, shape: Axes | None = None
) -> Item:
    sizes: Item = shape_of(call, a) if shape is None else tuple(scalar(call.op, size, call.where) for size in shape)
    return full(call, sizes, fill_value, dtype or a.dtype)


def array(call: Call, object: Number, dtype: DType | None = None, *, ndmin: int = 0) -> Item:
    if ndmin > object.rank:
        raise Unsupported(call.where, "more axes than the list has")
    return object if dtype is None else astype(call.op, object, dtype, call.where)


def arange(
    call: Call, start: Number, stop: Number | None = None, step: Number | None = None, dtype: DType | None = None
) -> Item:
    """Numbers in steps; known only at run time may be integers, and how far a count goes."""
    zero, one = constant(call.op, 0), constant(call.op, 1)
    bounds = (zero, start, step or one) if stop is None else (start, stop, step or one)
    if any(number.rank for number in bounds):
        raise Unsupported(call.where, "bounds that are arrays")
    if any(known(number) is None for number in bounds) and all(number.dtype.is_integer for number in bounds):
        wide = common_type([number.dtype for number in bounds], call.where)
        made = Number(call.op.Range(*(cast(call.op, number, wide, call.where) for number in bounds)))
        return made if dtype is None else astype(call.op, made, dtype, call.where)
    if known(bounds[1]) is None and all(_is(bound, plain) for bound, plain in ((bounds[0], 0), (bounds[2], 1))):
        count = cast(call.op, call.universal(bounds[1], name="ceil"), DType.INT64, call.where)
        counted = Number(call.op.Range(zero.value, count, one.value))
        return astype(call.op, counted, dtype or DType.FLOAT64, call.where)
    first, end, stride = (call.elements(number).item() for number in bounds)
    if not stride or not np.isfinite([first, end, stride]).all():
        raise InvalidModel(f"{call.where}: from {first} to {end} in steps of {stride}")
    call.check_shape([max(int((end - first) / stride) + 1, 0)])
    made = constant(call.op, np.arange(first, end, stride))
    return made if dtype is None else astype(call.op, made, dtype, call.where)


def _is(number: Number, plain: int) -> bool:
    found = known(number)
    return found is not None and bool(found == plain)


def linspace(call: Call, start: Number, stop: Number, num: int = 50, endpoint: bool = True) -> Item:
    """So many numbers at equal distances; the first and the last may be any two numbers."""
    if num < 0:
        raise InvalidModel(f"{call.where}: {num} numbers")
    call.check_shape([num])
    ends = [astype(call.op, end, DType.FLOAT64, call.where) for end in (start, stop)]
    if any(end.rank for end in ends):
        raise Unsupported(call.where, f"ends of shapes {start.shape} and {stop.shape}")
    plain = [known(end) for end in ends]
    if plain[0] is not None and plain[1] is not None:
        return constant(call.op, np.linspace(plain[0], plain[1], num, endpoint))
    spaces = num - endpoint
    step = "(last - first) / spaces" if spaces > 0 else "last - first"
    made = "made" if not endpoint or num < 2 else "numpy.append(made[:-1], last)"
    indices = constant(call.op, np.arange(num, dtype=np.float64))
    formula = f"made = indices * ({step}) + first; {made}"
    return call.compute(formula, first=ends[0], last=ends[1], indices=indices, spaces=float(spaces))


def eye(call: Call, N: int, M: int | None = None, k: int = 0, dtype: DType | None = None) -> Item:
    call.shape([N, N if M is None else M])
    return astype(call.op, constant(call.op, np.eye(N, M, k)), dtype or DType.FLOAT64, call.where)


NUMPY_FUNCTIONS: dict[str, Function] = {
    "arange": arange,
    "argsort": argsort,
    "argwhere": argwhere,
    "array": array,
    "array_equal": array_equal,
    "clip": clip,
    "compress": compress,
    "dot": dot,
    "einsum": einsum,
    "eye": eye,
    "full": full,
    "full_like": full_like,
    "interp": interp,
    "isclose": isclose,
    "linalg.det": linalg_det,
    "linspace": linspace,
    "median": median,
    "nan_to_num": nan_to_num,
    "round": round_,
    "sinc": sinc,
    "sort": sort,
    "take_along_axis": take_along_axis,
    "where": where,
}
