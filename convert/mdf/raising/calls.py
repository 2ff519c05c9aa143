"""The functions and constants that expressions may name: one table for Python's own, for `math` and for `numpy`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ....passes.errors import InvalidModel, Unsupported
from ....passes.infer import words
from ....passes.rewrite import Builder
from ....passes.types import DType
from ..expressions import ARRAY
from .arguments import TYPES, Call
from .array_creation import MAKERS
from .methods import methods
from .numpy_calls import NUMPY_CALLS
from .numpy_values import Item, applied, constant, converted, scalar
from .python_calls import MATH, MATH_CONSTANTS, NUMPY_CONSTANTS, PYTHON, Function
from .reductions import REDUCTIONS
from .shapes import SHAPES
from .ufuncs import UFUNCS


def _universal(name: str) -> Function:
    row = UFUNCS[name]
    if row.ufunc.nin == 1:
        return lambda call, x: applied(call.op, row, [call.operand(x)], call.where)
    return lambda call, x1, x2: applied(call.op, row, [call.operand(x1), call.operand(x2)], call.where)


def _cast(dtype: DType) -> Function:
    return lambda call, x: converted(call.op, call.array(x), dtype, call.where)


NUMPY: dict[str, Function] = {
    **{name: _universal(name) for name in UFUNCS},
    **{name: _cast(dtype) for name, dtype in TYPES.items()},
    **REDUCTIONS,
    **SHAPES,
    **MAKERS,
    **NUMPY_CALLS,
}
TABLES: Mapping[str, Mapping[str, Function]] = {
    "": PYTHON,
    "math": MATH,
    "numpy": NUMPY,
    ARRAY: methods(NUMPY),
}
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
    if module == "numpy" and name in ("True_", "False_"):
        return constant(op, np.asarray(name == "True_"))
    constants = MATH_CONSTANTS if module == "math" else NUMPY_CONSTANTS
    if name in constants:
        value = constants[name]
        return None if value is None else scalar(op, value, where)
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
    if module == "math":
        return callable(vars(math).get(name))
    inner, _, name = name.rpartition(".")
    if inner in ("fft", "linalg"):
        return name in getattr(np, inner).__all__
    found = vars(np).get(name) if not inner and name in np.__all__ else None
    if isinstance(found, type):
        return issubclass(found, np.generic)
    return callable(found) and name not in _REACHING
