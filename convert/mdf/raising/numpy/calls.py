"""The functions and constants that expressions may name: Python's own and those of `math`, which take single numbers,
and the one table of these and of `numpy`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
from typing import Any

import numpy as np

from .....passes.build import reshape
from .....passes.constants import constant_array
from .....passes.errors import InvalidModel, Unsupported
from .....passes.rewrite import Builder
from .....passes.types import DType
from .....passes.words import words
from .....runtime.oracles.mdf_syntax import ARRAY, MEMBERS, METHODS
from .arguments import FORMULAS, TYPES, Call, Function, Operand, formula, of_operands
from .numpy_functions import NUMPY_FUNCTIONS
from .operators import binary, bool_to_int, items_of
from .reductions import REDUCTIONS
from .shapes import SHAPES
from .ufuncs import UFUNCS
from .values import (
    Item,
    Number,
    astype,
    cast,
    constant,
    scalar,
    size_number,
    static_scalar,
    truth_value,
)

_MOST_ITEMS = 1024


# Python ------------------------------------------------------------------------------------------


def abs_(call: Call, x: Operand) -> Item:
    if not x.is_weak:
        return call.universal(x, name="absolute")
    plain = static_scalar(x)
    if plain is not None:
        return scalar(call.op, abs(plain), call.where)
    number = bool_to_int(call.op, x, call.where)
    return Number(call.universal(number, name="absolute").value, python=True)


def _extreme(symbol: str) -> Function:
    def extreme(call: Call, *items: Item) -> Item:
        """The first of those that no other one is beyond: NaN counts as it stands, as in Python."""
        found = _listed(call, items[0]) if len(items) == 1 else list(items)
        if not found:
            raise InvalidModel(f"{call.where}: an extreme of an empty array")
        return _folded(call, f"item if item {symbol} found else found", found[0], found[1:])

    return extreme


def _folded(call: Call, expression: str, found: Item, items: Sequence[Item]) -> Item:
    """What is `found` so far and each item come to, one after the other."""
    return reduce(lambda found, item: call.compute(expression, found=found, item=item), items, found)


def _listed(call: Call, item: Item) -> list[Item]:
    items = items_of(call.op, item, call.where)
    if len(items) > _MOST_ITEMS:
        raise Unsupported(call.where, f"{len(items)} items one by one; numpy has the function for arrays")
    return items


def sum_(call: Call, iterable: Item, start: Item | int = 0) -> Item:
    first = scalar(call.op, start, call.where) if isinstance(start, int) else start
    return _folded(call, "found + item", first, _listed(call, iterable))


def len_(call: Call, x: Item) -> Item:
    if isinstance(x, list | tuple):
        return scalar(call.op, len(x), call.where)
    number = call.operand(x)
    if not number.rank:
        raise InvalidModel(f"{call.where}: the length of one number")
    return size_number(call.op, number, 0)


def _some(symbol: str) -> Function:
    def some(call: Call, iterable: Item) -> Item:
        start = scalar(call.op, symbol == "and", call.where)
        return _folded(call, f"found {symbol} bool(item)", start, _listed(call, iterable))

    return some


def bool_(call: Call, x: Item) -> Item:
    condition = truth_value(call.op, x, call.where)
    return scalar(call.op, condition, call.where) if isinstance(condition, bool) else Number(condition, python=True)


def int_(call: Call, x: Operand) -> Item:
    """Towards zero; what is no finite number ends a run in Python."""
    number = _single(call, x)
    plain = static_scalar(number)
    if plain is not None:
        if not math.isfinite(plain):
            raise InvalidModel(f"{call.where}: {plain} as an integer")
        return scalar(call.op, int(plain), call.where)
    return Number(cast(call.op, number, DType.INT64, call.where), python=True)


def float_(call: Call, x: Operand) -> Item:
    return Number(cast(call.op, _single(call, x), DType.FLOAT64, call.where), python=True)


def round_(call: Call, number: Operand, ndigits: Item = None) -> Item:
    """To the nearest integer, halves to the even one."""
    x = _single(call, number)
    if ndigits is not None:
        raise Unsupported(call.where, "rounding to digits; numpy.round does it by NumPy's rules")
    rounded = call.universal(astype(call.op, x, DType.FLOAT64, call.where), name="rint")
    return int_(call, rounded if x.dtype.is_float else x)


def _single(call: Call, number: Number) -> Number:
    """One number, as `int()` and the functions of `math` take it."""
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
    "pow": formula("pow(base, exp)", "base ** exp"),
    "round": round_,
    "sum": sum_,
}


# math --------------------------------------------------------------------------------------------

_REAL = sorted(
    words(
        "acos acosh asin asinh atan atan2 atanh cbrt copysign cos cosh degrees exp exp2 expm1 fabs fmod hypot isfinite "
        "isinf isnan log log10 log1p log2 pow radians sin sinh sqrt tan tanh"
    )
)
"""Functions of `math` that are NumPy's of the same numbers as floats. Where these give NaN or infinity, math raises."""
_ROUNDING = ("ceil", "floor", "trunc")


def _of_floats(call: Call, *items: Number, name: str) -> Number:
    """A function of single numbers; of constants what Python makes of them."""
    numbers = [_single(call, item) for item in items]
    arrays = [constant_array(number.value) for number in numbers]
    if all(array is not None for array in arrays):
        return scalar(call.op, _computed(call, name, [array.item() for array in arrays]), call.where)
    floats = [astype(call.op, number, DType.FLOAT64, call.where) for number in numbers]
    return Number(call.universal(*floats, name=name).value, python=True)


def _computed(call: Call, name: str, plain: Sequence[Any]) -> Any:
    try:
        return getattr(math, name)(*plain)
    except (ValueError, OverflowError) as error:
        raise InvalidModel(f"{call.where}: {' '.join(str(error).split())}") from None


def _rounding(name: str) -> Function:
    def rounded(call: Call, x: Operand) -> Item:
        return int_(call, call.universal(_single(call, x), name=name))

    return rounded


def log(call: Call, x: Operand, base: Operand | None = None) -> Item:
    found = _of_floats(call, x, name="log")
    return found if base is None else binary(call.op, "/", found, _of_floats(call, base, name="log"), call.where)


def hypot(call: Call, *coordinates: Operand) -> Item:
    """Of any number of coordinates."""
    return reduce(lambda a, b: _of_floats(call, a, b, name="hypot"), coordinates, scalar(call.op, 0.0, call.where))


MATH: dict[str, Function] = {
    **{name: of_operands(UFUNCS[name].ufunc.nin, partial(_of_floats, name=name)) for name in _REAL},
    **{name: _rounding(name) for name in _ROUNDING},
    "hypot": hypot,
    "log": log,
}


NUMPY: dict[str, Function] = {
    **{name: of_operands(row.ufunc.nin, partial(Call.universal, name=name)) for name, row in UFUNCS.items()},
    **{name: formula("cast(x)", f"numpy.array(x, numpy.{name})") for name in TYPES},
    **REDUCTIONS,
    **SHAPES,
    **NUMPY_FUNCTIONS,
    **FORMULAS,
}


# methods and members of arrays -------------------------------------------------------------------


def _method(function: Function, unpacked: bool = False) -> Function:
    """A function of NumPy with the array in front; `unpacked`: `a.reshape(2, 3)` for `a.reshape((2, 3))`.

    Arrays have methods, and Python's numbers and lists haven't these.
    """

    def method(call: Call, own: Item, *items: Item, **keywords: Item) -> Item:
        if not isinstance(own, Number) or own.is_weak or own.listed:
            raise InvalidModel(f"{call.where}: of something that isn't an array")
        return call.bound(function, [own, items] if unpacked and len(items) > 1 else [own, *items], keywords)

    return method


def _item(call: Call, own: Number) -> Item:
    """The one element as a Python number."""
    if own.size != 1:
        raise InvalidModel(f"{call.where}: of an array of shape {own.shape}")
    return Number(reshape(call.op, own.value, ()), python=True)


_METHODS = {**NUMPY, "flatten": NUMPY["ravel"], "T": NUMPY["transpose"], "item": _item}
TABLES: Mapping[str, Mapping[str, Function]] = {
    "": PYTHON,
    "math": MATH,
    "numpy": NUMPY,
    ARRAY: {
        name: _method(_METHODS[name], name in ("reshape", "transpose")) for name in (METHODS | MEMBERS) & set(_METHODS)
    },
}
_CONSTANTS = {"math": words("e inf nan pi tau"), "numpy": words("e euler_gamma False_ inf nan newaxis pi True_")}
_REACHING = words(
    "apply_along_axis apply_over_axes array2string array_repr array_str base_repr binary_repr copyto einsum_path "
    "errstate fill_diagonal format_float_positional format_float_scientific from_dlpack frombuffer fromfile "
    "fromfunction fromiter frompyfunc fromregex fromstring genfromtxt get_include get_printoptions getbufsize geterr "
    "geterrcall info load loadtxt mask_indices may_share_memory piecewise place printoptions put putmask save savetxt "
    "savez savez_compressed set_printoptions setbufsize seterr seterrcall shares_memory show_config show_runtime test "
    "vectorize"
)
"""Functions of NumPy that do something else than compute: files, settings, texts, calls of other functions."""


def attribute(op: Builder, module: str, name: str, where: str) -> Item:
    """A constant of a module, or an element type of NumPy.

    Raises:
        InvalidModel: there is none of this name.
    """
    if module == "numpy" and name in TYPES:
        return TYPES[name]
    if name in _CONSTANTS[module]:
        value: Any = getattr(math if module == "math" else np, name)
        if value is None:
            return None
        return constant(op, value) if isinstance(value, np.bool) else scalar(op, value, where)
    if name in TABLES[module]:
        raise InvalidModel(f"{where}: {module}.{name} is a function, no value")
    raise _unknown(module, name, where)


def call(one: Call, module: str, name: str, arguments: Sequence[Item], keywords: Mapping[str, Item]) -> Item:
    """A call of a function.

    Args:
        one: `where` names the position without the function.

    Raises:
        InvalidModel: there is none of this name, or it takes no such arguments.
        Unsupported: NumPy has it and the tables haven't, or not with such a keyword.
    """
    spelled = f"{module}.{name}" if module else name
    function = TABLES[module].get(name)
    if function is None:
        raise _unknown(module, name, one.where)
    one = replace(one, where=f"{one.where}, {spelled}")
    return one.bound(function, arguments, keywords)


def _unknown(module: str, name: str, where: str) -> InvalidModel | Unsupported:
    """Why there is no such name: NumPy may have it all the same, for numbers."""
    spelled = f"{module}.{name:.60}"
    if module == "numpy" and name.startswith("random."):
        return Unsupported(where, f"{spelled} returns random values")
    if _is_numeric(module, name):
        return Unsupported(where, spelled)
    return InvalidModel(f"{where}: {spelled} is unknown, or isn't allowed in an expression")


def _is_numeric(module: str, name: str) -> bool:
    if module == ARRAY:
        return True
    if module == "math":
        return callable(vars(math).get(name))
    inner, _, name = name.rpartition(".")
    if inner in ("fft", "linalg"):
        return name in getattr(np, inner).__all__
    found = vars(np).get(name) if not inner and name in np.__all__ else None
    if isinstance(found, type):
        return issubclass(found, np.generic)
    return callable(found) and name not in _REACHING
