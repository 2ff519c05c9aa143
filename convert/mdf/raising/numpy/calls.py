"""The functions and constants that expressions may name: one table for Python's own, for `math` and for `numpy`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from .....passes.build import reshape
from .....passes.errors import InvalidModel, Unsupported
from .....passes.infer import words
from .....passes.rewrite import Builder
from .....runtime.oracles.mdf_syntax import ARRAY, MEMBERS, METHODS
from .arguments import FORMULAS, TYPES, Call, Function, formula, of_operands
from .numpy_functions import NUMPY_FUNCTIONS
from .python_functions import MATH, PYTHON
from .reductions import REDUCTIONS
from .shapes import SHAPES
from .ufuncs import UFUNCS
from .values import Item, Number, constant, scalar

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
            raise InvalidModel(f"{call.where}: of something that is no array")
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
        one: `where` names the place without the function.

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
        return Unsupported(where, f"{spelled} gives something random")
    if _is_numeric(module, name):
        return Unsupported(where, spelled)
    return InvalidModel(f"{where}: {spelled} is unknown, or nothing for an expression")


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
