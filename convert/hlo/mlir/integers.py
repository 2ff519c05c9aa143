"""Integers that a StableHLO program computes sizes with, as polynomials over the sizes of its inputs.

`jax.export` writes a program with open sizes so that `get_dimension_size` gives them, scalar arithmetic makes others of
them, and `concatenate` puts them together as the operands of dynamic operations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ....passes.sizes import Size, at_least, computed, is_at_most, is_less
from ....passes.tensor import TensorData
from ....passes.types import DType, TensorType

Known = np.ndarray[Any, Any]
"""The elements of a small tensor of integers or bools, each an int, a Polynomial, or None where it isn't known."""

MOST = 64
"""Elements of a tensor that is followed."""


def known(items: Any, shape: Sequence[int]) -> Known:
    """An array of what is known."""
    array = np.empty(tuple(shape), object)
    array[...] = np.asarray(items, object).reshape(tuple(shape)) if array.size else array
    return array


def unknown(shape: Sequence[int]) -> Known:
    return np.full(tuple(shape), None, object)


def _elements(function: Callable[..., Any]) -> Callable[..., Known]:
    """The function of each element, None where an operand isn't known."""

    def applied(*operands: Known) -> Known:
        whole = np.broadcast_arrays(*operands)
        found = np.empty(whole[0].shape, object)
        for index in np.ndindex(found.shape):
            found[index] = function(*(one[index] for one in whole))
        return found

    return applied


def _each(function: Callable[..., Any]) -> Callable[..., Known]:
    """The function of each element whose operands are all known."""
    return _elements(lambda *items: None if any(item is None for item in items) else function(*items))


def _sign(x: Size) -> int | None:
    low, high = at_least(x), at_least(-x)
    if low is not None and low > 0:
        return 1
    return -1 if high is not None and high > 0 else 0 if x == 0 else None


def _divided(function: str) -> Callable[[Size, Size], Size | None]:
    """Division toward zero and its rest, of what isn't negative: elsewhere it isn't the floor's."""

    def divided(x: Size, y: Size) -> Size | None:
        if isinstance(x, int) and isinstance(y, int) and y:
            whole = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
            return whole if function == "floordiv" else x - whole * y
        return computed(function, x, y) if is_at_most(0, x) and is_at_most(1, y) else None

    return divided


def _equal(x: Size, y: Size) -> bool | None:
    return True if x == y else False if is_less(x, y) or is_less(y, x) else None


def _opposite(found: bool | None) -> bool | None:
    return None if found is None else not found


_DIRECTIONS: Mapping[str, Callable[[Size, Size], bool | None]] = {
    "EQ": _equal,
    "NE": lambda x, y: _opposite(_equal(x, y)),
    "LT": is_less,
    "GE": lambda x, y: _opposite(is_less(x, y)),
    "GT": lambda x, y: is_less(y, x),
    "LE": lambda x, y: _opposite(is_less(y, x)),
}


def _choice(which: bool | None, one: Any, other: Any) -> Any:
    return one if which is True or one == other else other if which is False else None


def _both(one: bool | None, other: bool | None) -> bool | None:
    if one is False or other is False:
        return False
    return True if one is True and other is True else None


_selected, _and = _elements(_choice), _elements(_both)


def _or(x: Known, y: Known) -> Known:
    return _not(_and(_not(x), _not(y)))


_not = _each(lambda x: not x if isinstance(x, bool) else None)

_COMPUTED: Mapping[str, Callable[..., Known]] = {
    "add": _each(lambda x, y: x + y),
    "and": _and,
    "clamp": _each(lambda low, x, high: computed("min", computed("max", low, x), high)),
    "convert": _each(lambda x: int(x) if isinstance(x, bool) else x),
    "divide": _each(_divided("floordiv")),
    "maximum": _each(lambda x, y: computed("max", x, y)),
    "minimum": _each(lambda x, y: computed("min", x, y)),
    "multiply": _each(lambda x, y: x * y),
    "negate": _each(lambda x: -x),
    "not": _not,
    "or": _or,
    "remainder": _each(_divided("mod")),
    "select": _selected,
    "sign": _each(_sign),
    "subtract": _each(lambda x, y: x - y),
}


FLOORED: Mapping[str, str] = {"floor_divide": "floordiv", "remainder": "mod"}
"""Functions that JAX writes out in many operations -> what they compute of two sizes, where `is_floored` agrees."""

_SAMPLES = [(x, y) for x in (*range(-13, 14), 100, -101) for y in (1, 2, 3, 4, 7, 16)]


def is_floored(function: str, compute: Callable[[int, int], int | None]) -> bool:
    """Whether a function divides as Python does, by numbers above 0: it consists of signs, rests and choices, so that
    small numbers of both signs show it."""
    return all(compute(x, y) == computed(function, x, y) for x, y in _SAMPLES)


def follow_result(
    name: str, attributes: Mapping[str, Any], operands: Sequence[tuple[Known | None, TensorType]], type: TensorType
) -> Known | None:
    """What is known of a result of this type, small and of integers or bools, by what is of the operands and their
    types; None where nothing is."""
    shape, dtype = _small(type), type.dtype
    if shape is None or dtype is None or not (dtype.is_integer or dtype is DType.BOOL):
        return None
    given: list[Known] = []
    for found, of in operands:
        size = _small(of)
        if size is None:
            return None
        given.append(unknown(size) if found is None else found)
    found = follow(name, attributes, given, shape)
    if found is None or all(item is None for item in found.reshape(-1)):
        return None
    low, high = dtype.integer_limits
    for index in np.ndindex(found.shape):
        if isinstance(found[index], int) and not low <= found[index] <= high:
            found[index] = None
    return found


def _small(type: TensorType) -> tuple[int, ...] | None:
    """The shape of a tensor that is followed; None where it is too large."""
    shape = type.static_shape
    return shape if shape is not None and math.prod(shape) <= MOST else None


def of_constant(data: TensorData) -> Known | None:
    """The elements of a constant that is followed; None where it is none."""
    if data.dtype.is_float or data.dtype.is_complex or data.size > MOST or data.dtype is DType.STRING:
        return None
    items = data.numpy().reshape(-1)
    return known([bool(item) if data.dtype is DType.BOOL else int(item) for item in items], data.shape)


def follow(name: str, attributes: Mapping[str, Any], operands: Sequence[Known], shape: Sequence[int]) -> Known | None:
    """What an operation makes of known integers; None where nothing of it is followed.

    Args:
        name: of a StableHLO operation, without the dialect.
        shape: of its result.
    """
    if name == "reshape":
        return operands[0].reshape(tuple(shape))
    if name == "concatenate":
        return np.concatenate(operands, attributes["dimension"])
    if name == "slice":
        parts = zip(attributes["start_indices"], attributes["limit_indices"], attributes["strides"], strict=True)
        return operands[0][tuple(slice(*part) for part in parts)]
    if name == "broadcast_in_dim":
        lined = [1] * len(shape)
        for axis, size in zip(attributes["broadcast_dimensions"], operands[0].shape, strict=True):
            lined[axis] = size
        return np.broadcast_to(operands[0].reshape(lined), tuple(shape)).copy()
    if name == "iota":
        axis = attributes["iota_dimension"]
        lined = [size if index == axis else 1 for index, size in enumerate(shape)]
        return np.broadcast_to(known(list(range(shape[axis])), lined), tuple(shape)).copy()
    if name == "compare":
        return _each(_DIRECTIONS[attributes["comparison_direction"]])(*operands)
    compute = _COMPUTED.get(name)
    return None if compute is None else compute(*operands)
