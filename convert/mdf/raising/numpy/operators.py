"""Python's operators between numbers: of two Python numbers by Python's rules, of an array by NumPy's."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .....passes.constants import constant_array
from .....passes.errors import InvalidModel, Unsupported
from .....passes.graph import Value
from .....passes.rewrite import Builder
from .....passes.types import DType
from .ufuncs import UFUNCS, apply_ufunc
from .values import (
    Item,
    Number,
    as_number,
    astype,
    broadcast,
    cast,
    check_wide,
    common_type,
    scalar,
    select,
    static_scalar,
    truth_value,
)

_BINARY: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "+": (operator.add, "add"),
    "-": (operator.sub, "subtract"),
    "*": (operator.mul, "multiply"),
    "/": (operator.truediv, "divide"),
    "//": (operator.floordiv, "floor_divide"),
    "%": (operator.mod, "remainder"),
    "**": (operator.pow, "power"),
    "&": (operator.and_, "bitwise_and"),
    "|": (operator.or_, "bitwise_or"),
    "^": (operator.xor, "bitwise_xor"),
    "==": (operator.eq, "equal"),
    "!=": (operator.ne, "not_equal"),
    "<": (operator.lt, "less"),
    "<=": (operator.le, "less_equal"),
    ">": (operator.gt, "greater"),
    ">=": (operator.ge, "greater_equal"),
}
"""Of Python's numbers a function of Python's, of arrays one of NumPy's."""
_BITS = ("&", "|", "^")
_COUNTING = ("+", "-", "//", "%", "**")
"""Operators that take Python's booleans as integers, and NumPy's as something else."""
_MOST_LEAVES = 1 << 16
_MOST_BITS = 4096
"""Of a constant power, before it is called no number at all."""


# two operands ------------------------------------------------------------------------------------


def binary(op: Builder, symbol: str, left: Item, right: Item, where: str) -> Item:
    """`left symbol right`, comparisons among them.

    Raises:
        InvalidModel: Python or NumPy refuses it whatever the values are.
        Unsupported: what it gives depends on the values in a way that no static type can say.
    """
    if symbol in ("<<", ">>"):
        raise Unsupported(where, f"the operator {symbol}")
    if _is_list(left) or _is_list(right):
        listed = _of_lists(op, symbol, left, right, where)
        if listed is not None:
            return listed
    a, b = as_number(op, left, where), as_number(op, right, where)
    if symbol == "@":
        return matmul(op, a.array, b.array, where)
    if symbol in _BITS:
        a, b = _float_to_int(op, a, where), _float_to_int(op, b, where)
    if a.is_weak and b.is_weak:
        return _of_python(op, symbol, a, b, where)
    a, b = _strong_list(a), _strong_list(b)
    if symbol in _COUNTING and a.dtype is b.dtype is DType.BOOL:
        _check_known_dtype([a, b], where)
    exponent = static_scalar(b) if symbol == "**" else None
    if isinstance(exponent, int) and exponent < 0 and a.dtype.is_integer:
        raise InvalidModel(f"{where}: NumPy doesn't raise integers to the power {exponent}")
    return apply_ufunc(op, UFUNCS[_BINARY[symbol][1]], [a, b], where)


def _check_known_dtype(operands: Sequence[Number], where: str) -> None:
    """Refuse arithmetic on what may be Python's boolean or NumPy's."""
    if any(operand.blurred is DType.BOOL for operand in operands):
        raise Unsupported(
            where, "arithmetic on a boolean that may be Python's or NumPy's, which is known only at run time"
        )


def _strong_list(number: Number) -> Number:
    return number.array if number.listed else number


def _of_python(op: Builder, symbol: str, a: Number, b: Number, where: str) -> Number:
    """Two Python numbers: what is constant is computed as Python does it."""
    x, y = static_scalar(a), static_scalar(b)
    if x is not None and y is not None:
        return scalar(op, python_result(symbol, x, y, where), where)
    if DType.UINT64 in (a.dtype, b.dtype):
        raise Unsupported(where, "a Python integer of 64 bits and what is known only at run time")
    if not (symbol in _BITS and a.dtype is b.dtype is DType.BOOL):
        a, b = bool_to_int(op, a, where), bool_to_int(op, b, where)
    if symbol == "**" and a.dtype is b.dtype is DType.INT64:
        if y is None:
            raise Unsupported(where, "an integer to a power that isn't known: is it an integer or a float?")
        if y < 0:
            a, b = (astype(op, number, DType.FLOAT64, where) for number in (a, b))
    return _weak(apply_ufunc(op, UFUNCS[_BINARY[symbol][1]], [a, b], where))


def _weak(number: Number) -> Number:
    return replace(number, python=True)


def bool_to_int(op: Builder, number: Number, where: str) -> Number:
    """A Python bool as the integer that it is in arithmetic."""
    if number.dtype is not DType.BOOL:
        return number
    return replace(number, value=cast(op, number, DType.INT64, where), single=None)


def _float_to_int(op: Builder, number: Number, where: str) -> Number:
    """A Python float as an integer: MDF's engine turns those that are integers into such from node to node."""
    if not number.is_weak or number.dtype is not DType.FLOAT64 or static_scalar(number) is not None:
        return number
    return Number(cast(op, number, DType.INT64, where), python=True)


def python_result(symbol: str, x: Any, y: Any, where: str) -> bool | int | float:
    """What Python makes of two constants; no power is computed that wouldn't be a number of 64 bits.

    Raises:
        InvalidModel: it makes no real number of them.
    """
    shown = f"{x!r:.30} {symbol} {y!r:.30}"
    if symbol == "**" and isinstance(x, int) and isinstance(y, int) and abs(x) > 1 and y > 64:
        if y > _MOST_BITS:
            raise InvalidModel(f"{where}: {shown} is too large a number")
        raise Unsupported(where, f"{shown} has more than 64 bits")
    try:
        found = _BINARY[symbol][0](x, y)
    except ZeroDivisionError:
        raise InvalidModel(f"{where}: {shown} divides by zero") from None
    except OverflowError:
        raise InvalidModel(f"{where}: {shown} is too large a number") from None
    except TypeError:
        raise InvalidModel(f"{where}: there is no {shown}") from None
    if isinstance(found, complex):
        raise Unsupported(where, f"{shown}, which is no real number")
    return found


# lists -------------------------------------------------------------------------------------------


def _is_list(item: Item) -> bool:
    return isinstance(item, list | tuple) or (isinstance(item, Number) and item.listed > 0)


def _of_lists(op: Builder, symbol: str, left: Item, right: Item, where: str) -> Item:
    """What Python's lists (tuples) make of an operator; None where an array beside it takes it for one."""
    if _is_list(left) and _is_list(right):
        if symbol == "+" and isinstance(left, tuple) == isinstance(right, tuple):
            return _list_like([*items_of(op, left, where), *items_of(op, right, where)], left)
        raise Unsupported(where, f"the operator {symbol} between two lists")
    row, other = (left, right) if _is_list(left) else (right, left)
    if not isinstance(other, Number):
        return None
    if not other.is_weak:
        if not other.rank and (other.blurred or (symbol == "*" and other.dtype.is_integer)):
            raise Unsupported(where, "a list and a number that may be Python's, NumPy's or an array without axes")
        return None
    if other.blurred and symbol not in ("==", "!="):
        raise Unsupported(where, "a list and a number that may be an integer or not")
    if symbol in ("==", "!="):
        return scalar(op, symbol == "!=", where)
    times = static_scalar(other)
    if symbol != "*" or other.dtype is DType.FLOAT64:
        raise InvalidModel(f"{where}: the operator {symbol} between a list and a number that is no array")
    if times is None:
        raise Unsupported(where, "a list repeated a number of times that is known only at run time")
    items = items_of(op, row, where)
    if _leaves(items) * max(int(times), 0) > _MOST_LEAVES:
        raise Unsupported(where, f"a list {times} times over")
    return _list_like(items * int(times), row)


def _leaves(items: Sequence[Item]) -> int:
    """How many items there are in lists inside of lists."""
    inner = (item for item in items if isinstance(item, list | tuple))
    return len(items) + sum(map(_leaves, inner))


def _list_like(items: Sequence[Item], like: Item) -> Item:
    return tuple(items) if isinstance(like, tuple) else list(items)


def items_of(op: Builder, item: Item, where: str) -> list[Item]:
    """The items of a list or a tuple, of an array its rows.

    Raises:
        InvalidModel: it is one number.
    """
    if isinstance(item, list | tuple):
        return list(item)
    number = as_number(op, item, where)
    if not number.rank:
        raise InvalidModel(f"{where}: one number where a list of them is expected")
    array = constant_array(number.value)
    items: list[Item] = []
    for index in range(number.shape[0]):
        if array is not None:
            value = op.const(np.asarray(array[index]))
        else:
            value = op.Gather(number.value, op.const(np.asarray(index, np.int64)), axis=0)
        items.append(Number(value, number.python, max(number.listed - 1, 0)))
    return items


# products ----------------------------------------------------------------------------------------


def matmul(op: Builder, a: Number, b: Number, where: str) -> Number:
    """`a @ b`

    Raises:
        InvalidModel: one has no axes, or the sizes can't be broadcast together.
    """
    if not a.rank or not b.rank:
        raise InvalidModel(f"{where}: a matrix product with a number that is no array")
    inner = a.sizes[-1], b.sizes[-2 if b.rank > 1 else 0]
    if None not in inner and inner[0] != inner[1]:
        raise InvalidModel(f"{where}: no matrix product of the shapes {a.sizes} and {b.sizes}")
    columns = b.sizes[-1] if b.rank > 1 else 1
    broadcast([(*a.sizes[:-1], 1), (*b.sizes[:-2], 1, columns)], where)
    dtype = common_type([a.dtype, b.dtype], where)
    check_wide(a if a.dtype is dtype else b, where)
    if dtype is not DType.BOOL:
        return Number(op.MatMul(cast(op, a, dtype, where), cast(op, b, dtype, where)))
    bool_to_int = op.MatMul(cast(op, a, DType.INT64, where), cast(op, b, DType.INT64, where))
    return Number(op.Greater(bool_to_int, op.const(0)))


# one operand -------------------------------------------------------------------------------------


def unary(op: Builder, symbol: str, operand: Item, where: str) -> Number:
    """`-x`, `+x`, `~x`, `not x`

    Raises:
        InvalidModel: NumPy has none of this type.
    """
    if symbol == "not":
        return logical_not(op, truth_value(op, operand, where))
    if _is_list(operand):
        raise InvalidModel(f"{where}: the operator {symbol} of a list")
    number = as_number(op, operand, where)
    if not number.is_weak:
        _check_known_dtype([number], where)
        name = {"-": "negative", "+": "positive", "~": "invert"}[symbol]
        return apply_ufunc(op, UFUNCS[name], [number], where)
    number = bool_to_int(op, number, where)
    plain = static_scalar(number)
    if symbol == "+":
        return number
    if symbol == "-":
        if plain is not None:
            return scalar(op, -plain, where)
        return _weak(apply_ufunc(op, UFUNCS["negative"], [number], where))
    return _weak(apply_ufunc(op, UFUNCS["invert"], [_float_to_int(op, number, where)], where))


# conditions --------------------------------------------------------------------------------------


def logical_not(op: Builder, condition: Value | bool) -> Number:
    """A Python bool: `not condition`."""
    if isinstance(condition, bool):
        return Number(op.const(np.asarray(not condition)), python=True)
    return Number(op.Not(condition), python=True)


def logical(op: Builder, symbol: str, left: Item, right: Callable[[], Item], where: str) -> Item:
    """`left and right`, `left or right`: one of the two, as Python has it."""
    condition = truth_value(op, left, where)
    if isinstance(condition, bool):
        return right() if condition == (symbol == "and") else left
    other = right()
    if symbol == "and":
        return select(op, condition, other, left, where)
    return select(op, condition, left, other, where)


def is_whole(number: float) -> bool:
    """Whether a float is an integer that 64 bits hold."""
    return math.isfinite(number) and number == math.floor(number) and -(2.0**63) <= number < 2.0**63
