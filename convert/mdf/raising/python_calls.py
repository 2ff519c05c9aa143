"""Python's own functions and those of `math`, which take single numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from ....passes.errors import InvalidModel, Unsupported
from ....passes.infer import constant_array
from ....passes.types import DType
from .arguments import Call
from .numpy_values import (
    Item,
    Listing,
    Number,
    applied,
    cast,
    chosen,
    converted,
    known_scalar,
    scalar,
    truth,
)
from .operators import binary, counted, items_of
from .ufuncs import UFUNCS

Function = Callable[..., Item]
"""(call, argument ...) -> what it gives; its own parameters are what it may be called with."""

_MOST_ITEMS = 1024


# Python ------------------------------------------------------------------------------------------


def abs_(call: Call, x: Item) -> Item:
    number = call.operand(x)
    if not number.is_weak:
        return applied(call.op, UFUNCS["absolute"], [number], call.where)
    plain = known_scalar(number)
    if plain is not None:
        return scalar(call.op, abs(plain), call.where)
    number = counted(call.op, number, call.where)
    return Number(applied(call.op, UFUNCS["absolute"], [number], call.where).value, python=True)


def pow_(call: Call, base: Item, exp: Item) -> Item:
    return binary(call.op, "**", base, exp, call.where)


def _extreme(symbol: str) -> Function:
    def extreme(call: Call, *items: Item) -> Item:
        """The first of those that no other one is beyond: NaN counts as it stands, as in Python."""
        found = _listed(call, items[0]) if len(items) == 1 else list(items)
        if not found:
            raise InvalidModel(f"{call.where}: an extreme of nothing")
        best = found[0]
        for item in found[1:]:
            beyond = truth(call.op, binary(call.op, symbol, item, best, call.where), call.where)
            best = chosen(call.op, beyond, item, best, call.where)
        return best

    return extreme


def _listed(call: Call, item: Item) -> list[Item]:
    items = items_of(call.op, item, call.where)
    if len(items) > _MOST_ITEMS:
        raise Unsupported(call.where, f"{len(items)} items one by one; numpy has the function for arrays")
    return items


def sum_(call: Call, iterable: Item, start: Item = None) -> Item:
    first = scalar(call.op, 0, call.where) if start is None else start
    return reduce(lambda a, b: binary(call.op, "+", a, b, call.where), _listed(call, iterable), first)


def len_(call: Call, x: Item) -> Item:
    if isinstance(x, Listing | tuple):
        return scalar(call.op, len(x.items if isinstance(x, Listing) else x), call.where)
    number = call.operand(x)
    if not number.rank:
        raise InvalidModel(f"{call.where}: the length of one number")
    return scalar(call.op, number.shape[0], call.where)


def _some(symbol: str) -> Function:
    def some(call: Call, iterable: Item) -> Item:
        result: Item = scalar(call.op, symbol == "and", call.where)
        for item in _listed(call, iterable):
            holds = _as_bool(call, item)
            result = chosen(call.op, truth(call.op, result, call.where), *_kept(symbol, holds, result), call.where)
        return result

    return some


def _kept(symbol: str, item: Item, before: Item) -> tuple[Item, Item]:
    return (item, before) if symbol == "and" else (before, item)


def _as_bool(call: Call, item: Item) -> Number:
    condition = truth(call.op, item, call.where)
    if isinstance(condition, bool):
        return scalar(call.op, condition, call.where)
    return Number(condition, python=True)


def bool_(call: Call, x: Item) -> Item:
    return _as_bool(call, x)


def int_(call: Call, x: Item) -> Item:
    """Towards zero; what is no finite number ends a run in Python."""
    number = _single(call, x)
    plain = known_scalar(number)
    if plain is not None:
        if not math.isfinite(plain):
            raise InvalidModel(f"{call.where}: {plain} as an integer")
        return scalar(call.op, int(plain), call.where)
    return Number(cast(call.op, number, DType.INT64, call.where), python=True)


def float_(call: Call, x: Item) -> Item:
    number = _single(call, x)
    return Number(cast(call.op, number, DType.FLOAT64, call.where), python=True)


def round_(call: Call, number: Item, ndigits: Item = None) -> Item:
    """To the nearest integer, halves to the even one."""
    x = _single(call, number)
    if ndigits is not None:
        raise Unsupported(call.where, "rounding to digits; numpy.round does it by NumPy's rules")
    rounded = applied(call.op, UFUNCS["rint"], [converted(call.op, x, DType.FLOAT64, call.where)], call.where)
    return int_(call, rounded if x.dtype.is_float else x)


def _single(call: Call, item: Item) -> Number:
    """One number, as `int()` and the functions of `math` take it."""
    number = call.operand(item)
    if number.rank:
        raise InvalidModel(f"{call.where}: an array of shape {number.shape} where one number is expected")
    return number


PYTHON: dict[str, Function] = {
    "abs": abs_,
    "all": _some("and"),
    "any": _some("or"),
    "bool": bool_,
    "float": float_,
    "int": int_,
    "len": len_,
    "max": _extreme(">"),
    "min": _extreme("<"),
    "pow": pow_,
    "round": round_,
    "sum": sum_,
}


# math --------------------------------------------------------------------------------------------

_REAL = {
    "acos": "arccos",
    "acosh": "arccosh",
    "asin": "arcsin",
    "asinh": "arcsinh",
    "atan": "arctan",
    "atan2": "arctan2",
    "atanh": "arctanh",
    "cbrt": "cbrt",
    "copysign": "copysign",
    "cos": "cos",
    "cosh": "cosh",
    "degrees": "rad2deg",
    "exp": "exp",
    "exp2": "exp2",
    "expm1": "expm1",
    "fabs": "fabs",
    "fmod": "fmod",
    "hypot": "hypot",
    "isfinite": "isfinite",
    "isinf": "isinf",
    "isnan": "isnan",
    "log": "log",
    "log10": "log10",
    "log1p": "log1p",
    "log2": "log2",
    "pow": "power",
    "radians": "deg2rad",
    "sin": "sin",
    "sinh": "sinh",
    "sqrt": "sqrt",
    "tan": "tan",
    "tanh": "tanh",
}
"""Functions of `math` that are NumPy's of the same numbers as floats. Where these give NaN or infinity, math raises."""
_ROUNDING = ("ceil", "floor", "trunc")


def _real(name: str) -> Function:
    if UFUNCS[_REAL[name]].ufunc.nin == 1:
        return lambda call, x: _of_floats(call, name, x)
    return lambda call, x, y: _of_floats(call, name, x, y)


def _of_floats(call: Call, name: str, *items: Item) -> Number:
    """A function of single numbers; of constants what Python makes of them."""
    numbers = [_single(call, item) for item in items]
    arrays = [constant_array(number.value) for number in numbers]
    if all(array is not None for array in arrays):
        return scalar(call.op, _computed(call, name, [array.item() for array in arrays]), call.where)
    floats = [converted(call.op, number, DType.FLOAT64, call.where) for number in numbers]
    return Number(applied(call.op, UFUNCS[_REAL[name]], floats, call.where).value, python=True)


def _computed(call: Call, name: str, plain: Sequence[Any]) -> Any:
    try:
        return getattr(math, name)(*plain)
    except (ValueError, OverflowError) as error:
        raise InvalidModel(f"{call.where}: {' '.join(str(error).split())}") from None


def _rounding(name: str) -> Function:
    return lambda call, x: int_(call, applied(call.op, UFUNCS[name], [_single(call, x)], call.where))


def log(call: Call, x: Item, base: Item = None) -> Item:
    found = _of_floats(call, "log", x)
    return found if base is None else binary(call.op, "/", found, _of_floats(call, "log", base), call.where)


def hypot(call: Call, *coordinates: Item) -> Item:
    """Of any number of coordinates."""
    return reduce(lambda a, b: _of_floats(call, "hypot", a, b), coordinates, scalar(call.op, 0.0, call.where))


MATH: dict[str, Function] = {
    **{name: _real(name) for name in _REAL},
    **{name: _rounding(name) for name in _ROUNDING},
    "hypot": hypot,
    "log": log,
}
MATH_CONSTANTS = {"e": math.e, "inf": math.inf, "nan": math.nan, "pi": math.pi, "tau": math.tau}
NUMPY_CONSTANTS: dict[str, float | None] = {
    "e": math.e,
    "euler_gamma": np.euler_gamma,
    "inf": math.inf,
    "nan": math.nan,
    "newaxis": None,
    "pi": math.pi,
}
