"""NumPy's universal functions: which of the hub's operators say them, on values of the type that NumPy computes in."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .....passes.build import Expr, expr, where
from .....passes.errors import InvalidModel, Unsupported
from .....passes.graph import Value
from .....passes.rewrite import Builder
from .....passes.types import DType
from .... import formulas
from ....formulas import has_minus, number
from ...operators import FUNCTIONS, SYMBOLS
from .values import PLAIN, Number, broadcast, cast, of_sizes, static_scalar, supported_dtype

Build = Callable[..., Value]
"""(op, operand ...) -> result; all operands have one type and shapes that go together."""


@dataclass(frozen=True, slots=True)
class Ufunc:
    """A universal function with one result.

    Attributes:
        ufunc: NumPy's own, which tells the element types.
        build: makes the result; or an expression over `x1` and `x2`, which have one type.
        refuses: element types for which there is no build.
    """

    ufunc: np.ufunc
    build: Build | str
    refuses: frozenset[DType] = frozenset()


_WEAK = {DType.INT64: int, DType.UINT64: int, DType.FLOAT64: float, DType.BOOL: np.dtype(bool)}
"""A Python number to NumPy's resolution of types."""
_INTEGERS = frozenset(dtype for dtype in DType if dtype.is_integer)


def _same(op_type: str, logical: str | None = None, **attributes: Any) -> Build:
    """One operator; of booleans perhaps another one."""

    def build(op: Builder, *values: Value) -> Value:
        return op.call(logical if logical and Number(values[0]).dtype is DType.BOOL else op_type, *values, **attributes)

    return build


def _itself(op: Builder, x: Value) -> Value:
    return x


def _of_floats(formula: Build) -> Build:
    """A formula of floats; integers stay what they are."""

    def build(op: Builder, x: Value) -> Value:
        return formula(op, x) if Number(x).dtype.is_float else x

    return build


def _compared(op_type: str, inverse: bool = False) -> Build:
    """A comparison; booleans, which ONNX doesn't order, as integers."""

    def build(op: Builder, a: Value, b: Value) -> Value:
        if Number(a).dtype is DType.BOOL:
            a, b = cast(op, Number(a), DType.INT64, a.name), cast(op, Number(b), DType.INT64, b.name)
        made = op.call(op_type, a, b)
        return op.Not(made) if inverse else made

    return build


# rounding and division ---------------------------------------------------------------------------


def _trunc(op: Builder, x: Value) -> Value:
    """Towards zero; -0 stays."""
    return op.Where(op.Less(x, number(op, 0, x)), op.Ceil(x), op.Floor(x))


def _guarded(build: Build) -> Build:
    """Integers divided by zero give 0 in NumPy, and end the process in some runtimes."""

    def guarded(op: Builder, a: Value, b: Value) -> Value:
        if b.data is not None and b.data.numpy().all():
            return build(op, a, b)
        zero = number(op, 0, b)
        none = op.Equal(b, zero)
        return op.Where(none, zero, build(op, a, op.Where(none, number(op, 1, b), b)))

    return guarded


def _by_kind(integers: Build, floats: Build) -> Build:
    return lambda op, a, b: (floats if Number(a).dtype.is_float else integers)(op, a, b)


def _whole_quotient(op: Builder, a: Value, b: Value) -> Value:
    """Integers divided, rounded down: what Mod leaves has the divisor's sign."""
    return op.Div(op.Sub(a, op.Mod(a, b)), b)


def _floor_divide(op: Builder, a: Value, b: Value) -> Value:
    """The quotient rounded down, found from the exact remainder, as a / b may round up to the next integer."""
    x, y = expr(op, a), expr(op, b)
    left = x.call("Mod", y, fmod=1)
    quotient, ratio = (x - left) / y, x / y
    quotient = where(_other_sign(left, y), quotient - 1, quotient)
    down = quotient.floor()
    nearest = where(quotient - down > 0.5, down + 1, down)
    return where(y.equals(0), ratio, where(quotient.equals(0), ratio * 0, nearest)).value()


def _remainder(op: Builder, a: Value, b: Value) -> Value:
    """The remainder with the divisor's sign, a zero's as well."""
    x, y = expr(op, a), expr(op, b)
    left = x.call("Mod", y, fmod=1)
    moved = where(_other_sign(left, y), left + y, left)
    return where(left.equals(0), where(y < 0, y.like(-0.0), y.like(0.0)), moved).value()


def _other_sign(left: Expr, y: Expr) -> Expr:
    """Whether a remainder that isn't zero has another sign than the divisor."""
    return (left < 0).call("Xor", y < 0) & ~left.equals(0)


def _shift(direction: str) -> Build:
    """By as many bits as there are, or more, nothing is left but the sign; so by a negative number of bits, too."""

    def shift(op: Builder, a: Value, b: Value) -> Value:
        dtype = Number(a).dtype
        if dtype.is_signed:
            unsigned = DType(f"u{dtype.value}")
            below = op.Less(a, number(op, 0, a)) if direction == "RIGHT" else None
            bits = a if below is None else op.Where(below, op.BitwiseNot(a), a)
            moved = shift(op, *(cast(op, Number(value), unsigned, value.name) for value in (bits, b)))
            made = cast(op, Number(moved), dtype, a.name)
            return made if below is None else op.Where(below, op.BitwiseNot(made), made)
        most = number(op, Number(a).dtype.bits - 1, b)
        shifted = op.BitShift(a, op.Min(b, most), direction=direction)
        return op.Where(op.Greater(b, most), number(op, 0, a), shifted)

    return shift


# extremes and signs ------------------------------------------------------------------------------


def _sign(op: Builder, x: Value) -> Value:
    """Sign, of which ONNX doesn't say what it makes of NaN."""
    made = op.Sign(x)
    return op.Where(op.IsNaN(x), x, made) if Number(x).dtype.is_float else made


# kinds of numbers --------------------------------------------------------------------------------


def _is(kind: Build) -> Build:
    """A question about floats, of integers and booleans as such."""

    def build(op: Builder, x: Value) -> Value:
        return kind(op, x if Number(x).dtype.is_float else cast(op, Number(x), DType.FLOAT64, x.name))

    return build


def _logical(op_type: str) -> Build:
    """Of numbers as conditions."""
    return lambda op, *operands: op.call(op_type, *(cast(op, Number(x), DType.BOOL, x.name) for x in operands))


def _logical_not(op: Builder, x: Value) -> Value:
    return op.Not(x) if Number(x).dtype is DType.BOOL else op.Equal(x, number(op, 0, x))


_LOGARITHM = (
    "found = numpy.log(x1) / {log}; whole = numpy.rint(found); numpy.where({base} ** whole == x1, whole, found)"
)
"""To another base than e: exact where the number is a power of it."""
_LOGADDEXP = "numpy.maximum(x1, x2) + numpy.log1p(numpy.exp(-numpy.where(x1 == x2, 0, numpy.absolute(x1 - x2))))"
"""From the larger one on; of two equal infinities that infinity."""
_HYPOT = """
a = numpy.absolute(x1)
b = numpy.absolute(x2)
most = numpy.maximum(a, b)
ratio = numpy.minimum(a, b) / numpy.where(most == 0, 1, most)
numpy.where(numpy.isinf(a) | numpy.isinf(b), numpy.inf, most * numpy.sqrt(1 + ratio * ratio))
"""
"""Squares of parts of the larger one don't overflow. An infinite one beats NaN."""
_ROWS: dict[str, Build | str] = {
    **{function: _same(name) for name, function in FUNCTIONS.items()},
    **{FUNCTIONS[name]: _compared(name) for name in SYMBOLS if name in FUNCTIONS},
    **{FUNCTIONS[name]: _logical(name) for name in ("And", "Or", "Xor")},
    # arithmetic
    "add": _same("Add", "Or"),
    "subtract": _same("Sub"),
    "multiply": _same("Mul", "And"),
    "divide": _same("Div"),
    "floor_divide": _by_kind(_guarded(_whole_quotient), _floor_divide),
    "remainder": _by_kind(_guarded(_same("Mod")), _remainder),
    "fmod": _by_kind(_guarded(_same("Mod", fmod=1)), _same("Mod", fmod=1)),
    "power": _same("Pow"),
    "float_power": _same("Pow"),
    "positive": _itself,
    "absolute": _same("Abs", "Identity"),
    "fabs": _same("Abs"),
    "sign": _sign,
    "copysign": "numpy.where(numpy.signbit(x2), -numpy.absolute(x1), numpy.absolute(x1))",
    "square": "x1 * x1",
    "reciprocal": _same("Reciprocal"),
    "heaviside": "numpy.where(x1 == 0, x2, numpy.where(numpy.isnan(x1), x1, x1 > 0))",
    # extremes
    "maximum": _same("Max", "Or"),
    "minimum": _same("Min", "And"),
    "fmax": "numpy.where(numpy.isnan(x1), x2, numpy.where(numpy.isnan(x2), x1, numpy.maximum(x1, x2)))",
    "fmin": "numpy.where(numpy.isnan(x1), x2, numpy.where(numpy.isnan(x2), x1, numpy.minimum(x1, x2)))",
    # rounding
    "floor": _of_floats(_same("Floor")),
    "ceil": _of_floats(_same("Ceil")),
    "trunc": _of_floats(_trunc),
    # powers and logarithms
    "cbrt": formulas.cbrt,
    "exp2": "2 ** x1",
    "expm1": formulas.expm1,
    "log2": _LOGARITHM.format(base=2.0, log=math.log(2)),
    "log10": _LOGARITHM.format(base=10.0, log=math.log(10)),
    "log1p": formulas.log1p,
    "logaddexp": _LOGADDEXP,
    "hypot": _HYPOT,
    # angles
    "arctan2": formulas.atan2,
    "deg2rad": f"x1 * {math.pi / 180}",
    "radians": f"x1 * {math.pi / 180}",
    "rad2deg": f"x1 * {180 / math.pi}",
    "degrees": f"x1 * {180 / math.pi}",
    # comparisons and logic
    "not_equal": _compared("Equal", inverse=True),
    "logical_not": _logical_not,
    "bitwise_and": _same("BitwiseAnd", "And"),
    "bitwise_or": _same("BitwiseOr", "Or"),
    "bitwise_xor": _same("BitwiseXor", "Xor"),
    "left_shift": _shift("LEFT"),
    "right_shift": _shift("RIGHT"),
    "invert": _same("BitwiseNot", "Not"),
    "isnan": _is(_same("IsNaN")),
    "isinf": _is(_same("IsInf")),
    "isfinite": "numpy.absolute(x1) < numpy.inf",
    "signbit": _is(has_minus),
}


UFUNCS: dict[str, Ufunc] = {
    name: Ufunc(found, _ROWS[found.__name__], _INTEGERS if found is np.reciprocal else frozenset())
    for name, found in vars(np).items()
    if isinstance(found, np.ufunc) and found.__name__ in _ROWS
}
"""By their names in NumPy, of which some have several."""


# applied to numbers -------------------------------------------------------------------------------


def apply_ufunc(
    op: Builder, row: Ufunc, operands: Sequence[Number], where: str, compute: Callable[..., Any] | None = None
) -> Number:
    """A universal function of NumPy: types promoted, shapes broadcast; the result is never weak.

    Args:
        compute: what an expression comes to, for the functions that are one.

    Raises:
        InvalidModel: it takes no such types or shapes.
        Unsupported: it is computed in a type that isn't supported (float16 of booleans), or only running it shows in
            which one.
    """
    dtypes = [operand.dtype for operand in operands]
    if DType.STRING in dtypes:
        raise InvalidModel(f"{where}: text where a number is expected")
    try:
        resolved = _resolved_dtypes(row, operands, dtypes, where)
    except TypeError:
        shown = " and ".join(dtype.value for dtype in dtypes)
        if any(operand.blurred for operand in operands):
            raise Unsupported(where, f"{row.ufunc.__name__} of {shown}, or of a type that it takes") from None
        raise InvalidModel(f"{where}: {row.ufunc.__name__} takes no {shown}") from None
    if resolved[0] in row.refuses:
        raise Unsupported(where, f"numpy.{row.ufunc.__name__} of {resolved[0].value}")
    other = _other_result_dtype(row, operands, resolved[-1], where)
    sizes = broadcast([operand.sizes for operand in operands], where)
    values = [cast(op, operand, dtype, where) for operand, dtype in zip(operands, resolved, strict=False)]
    values = [_as_single(op, value) for value in values]
    if isinstance(row.build, str):
        assert compute is not None, row.ufunc
        value = compute(row.build, **{f"x{index}": Number(value) for index, value in enumerate(values, 1)}).value
    else:
        value = row.build(op, *values)
    if resolved[-1] is DType.FLOAT16:
        value = cast(op, Number(value), DType.FLOAT16, where)
    result = replace(of_sizes(value, sizes), blurred=other)
    assert result.dtype is resolved[-1], (row.ufunc, result.dtype, resolved)
    assert len(result.sizes) == len(sizes), (row.ufunc, result.sizes, sizes)
    assert all(found in (size, None) or size is None for found, size in zip(result.sizes, sizes, strict=True))
    return result


def _as_single(op: Builder, value: Value) -> Value:
    """Where NumPy computes in float16 it does so in float32, and rounds at the end."""
    return cast(op, Number(value), DType.FLOAT32, value.name) if Number(value).dtype is DType.FLOAT16 else value


def _resolved_dtypes(row: Ufunc, operands: Sequence[Number], dtypes: Sequence[DType], where: str) -> list[DType]:
    """The element types in which NumPy computes on operands of these: of each, then of the result.

    Raises:
        TypeError: it takes no such types.
    """
    strong = all(operand.is_weak for operand in operands)
    operand_dtypes = [
        _WEAK[dtype] if operand.is_weak and not strong else dtype.numpy
        for operand, dtype in zip(operands, dtypes, strict=True)
    ]
    resolved = row.ufunc.resolve_dtypes((*operand_dtypes, None))
    for operand, dtype in zip(operands, resolved, strict=False):
        _check_range(operand, dtype, where)
    supported = [supported_dtype(dtype, where) for dtype in resolved]
    odd = next((dtype for dtype in supported if dtype not in (*PLAIN, DType.FLOAT32) and dtype not in dtypes), None)
    if odd is not None:
        raise Unsupported(where, f"NumPy computes {row.ufunc.__name__} of this in {odd.value}")
    return supported


def _other_result_dtype(row: Ufunc, operands: Sequence[Number], result: DType, where: str) -> DType | None:
    """The narrowest type that the result may have as well, because operands may.

    Raises:
        Unsupported: the values would be others then: booleans are added up otherwise, integers divided by zero.
    """
    if all(operand.blurred is None for operand in operands):
        return None
    python = all(operand.is_weak for operand in operands)
    narrow = [operand.blurred or operand.dtype for operand in operands]
    if python:  # whose booleans are integers
        narrow = [DType.INT64 if dtype is DType.BOOL else dtype for dtype in narrow]
    try:
        other = _resolved_dtypes(row, operands, narrow, where)[-1]
    except TypeError:
        return None
    divides = row.ufunc in (np.floor_divide, np.remainder, np.fmod)
    if other is not result and not python and (other is DType.BOOL or (divides and not other.is_float)):
        raise Unsupported(where, f"{row.ufunc.__name__} of what has a type that is known only at run time")
    if result is DType.BOOL and not python and all(each.is_weak or each.blurred for each in operands):
        return DType.BOOL  # Python's or NumPy's
    return None if other is result else other


def _check_range(operand: Number, dtype: np.dtype[Any], where: str) -> None:
    """A Python integer has to be one of the type that it takes."""
    number = static_scalar(operand)
    if isinstance(number, int) and dtype.kind in "iu":
        limits = np.iinfo(dtype)
        if not limits.min <= number <= limits.max:
            raise InvalidModel(f"{where}: {number} is no {dtype}")
