"""The functions and constants that expressions may name: one table for Python's own, for `math` and for `numpy`."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ....passes.errors import InvalidModel, Unsupported
from ....passes.rewrite import Builder
from ....passes.types import DType
from .arguments import Call
from .making import MAKERS
from .numbers import Item, applied, constant, converted, scalar
from .numpy_calls import NUMPY_CALLS
from .python_calls import MATH, MATH_CONSTANTS, NUMPY_CONSTANTS, PYTHON, Function
from .reductions import REDUCTIONS
from .shapes import SHAPES
from .ufuncs import UFUNCS

TYPES = {
    "bool": DType.BOOL,
    "bool_": DType.BOOL,
    "double": DType.FLOAT64,
    "float32": DType.FLOAT32,
    "float64": DType.FLOAT64,
    "int32": DType.INT32,
    "int64": DType.INT64,
    "int_": DType.INT64,
    "single": DType.FLOAT32,
}


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
_TABLES: Mapping[str, Mapping[str, Function]] = {"": PYTHON, "math": MATH, "numpy": NUMPY}


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
    if name in _TABLES[module]:
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
    function = _TABLES[module].get(name)
    if function is None:
        raise _unknown(module, name, one.where)
    one = replace(one, where=f"{one.where}, {spelled}")
    signature = inspect.signature(function)
    odd = next((keyword for keyword in keywords if keyword not in signature.parameters), None)
    if odd is not None:
        raise Unsupported(one.where, f"its argument {odd!r:.40}")
    try:
        signature.bind(one, *arguments, **keywords)
    except TypeError as error:
        raise InvalidModel(f"{one.where}: {error}") from None
    return function(one, *arguments, **keywords)


def _unknown(module: str, name: str, where: str) -> InvalidModel | Unsupported:
    return InvalidModel(f"{where}: {module}.{name:.40} is unknown")
