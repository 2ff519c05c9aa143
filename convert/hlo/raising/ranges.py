"""What integers of the new graph can be: which are known, and between which bounds the others lie."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ....passes.graph import Node, Value
from ....passes.types import DType

RANGE = "range"
"""Key in the `meta` of a value: (smallest, largest) of its integers, where a pass knows more than operators tell."""

_MOST_KNOWN = 100_000  # elements
_DEPTH = 24  # operators that are looked through, one behind the other

Array = np.ndarray[Any, Any]
Bounds = tuple[int, int]
_Found = dict[Value, Bounds]

_VIEWS = ("Reshape", "Squeeze", "Unsqueeze", "Expand", "Transpose", "Identity")
_PICKS = (*_VIEWS, "Slice", "Gather", "GatherElements", "GatherND")


# what is known ---------------------------------------------------------------------------------------

_RECKONED: Mapping[str, Callable[..., Any]] = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "Max": np.maximum,
    "Min": np.minimum,
    "Less": np.less,
    "LessOrEqual": np.less_equal,
    "Greater": np.greater,
    "GreaterOrEqual": np.greater_equal,
    "Equal": np.equal,
    "And": np.logical_and,
    "Or": np.logical_or,
    "Not": np.logical_not,
    "Where": np.where,
    "Clip": np.clip,
}


def known(value: Value, depth: int = _DEPTH) -> Array | None:
    """The array of a small constant, and of what a program computes of constants on the way to an index."""
    shape, dtype, node = value.tensor.static_shape, value.tensor.dtype, value.producer
    if shape is None or dtype is None or math.prod(shape) > _MOST_KNOWN or not depth:
        return None
    if value.data is not None:
        return value.data.numpy()
    if node is None or node.domain or not (dtype.is_integer or dtype is DType.BOOL):
        return None
    compute = _RECKONED.get(node.op_type)
    if compute is not None:
        parts = [None if one is None else known(one, depth - 1) for one in node.inputs]
        arrays = [part for part in parts if part is not None]
        if len(arrays) < len(parts):
            return None
        with np.errstate(over="ignore"):
            return np.asarray(compute(*arrays)).astype(dtype.numpy).reshape(shape)
    source = node.inputs[0] if node.inputs else None
    if source is None or node.op_type not in ("Cast", "Concat", *_VIEWS):
        return None
    if node.op_type == "Concat":
        found = [None if one is None else known(one, depth - 1) for one in node.inputs]
        arrays = [part for part in found if part is not None]
        return np.concatenate(arrays, node.attributes["axis"]) if len(arrays) == len(found) else None
    array = known(source, depth - 1)
    if array is None or (node.op_type == "Cast" and array.dtype.kind not in "biu"):
        return None
    if node.op_type == "Transpose":
        return array.transpose(node.attributes["perm"])
    return np.broadcast_to(array, shape) if node.op_type == "Expand" else array.astype(dtype.numpy).reshape(shape)


# between which bounds --------------------------------------------------------------------------------


def limits(dtype: DType | None) -> Bounds:
    """The smallest and the largest integer of a type."""
    if dtype is None or not dtype.is_integer:
        return (0, 1) if dtype is DType.BOOL else (-(2**63), 2**64 - 1)
    bits = dtype.bits
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if dtype.is_signed else (0, (1 << bits) - 1)


def bounds(value: Value) -> Bounds:
    """Between which integers, both included, all elements of a value lie."""
    return _bounds(value, {}, _DEPTH)


def _bounds(value: Value | None, found: _Found, depth: int) -> Bounds:
    if value is None:
        return limits(None)
    if value not in found:
        found[value] = _fresh(value, found, depth)
    return found[value]


def _fresh(value: Value, found: _Found, depth: int) -> Bounds:
    low, high = limits(value.tensor.dtype)
    stated = (value.meta or {}).get(RANGE)
    if stated is not None:
        return stated
    if value.data is not None:
        if not 0 < value.data.size <= _MOST_KNOWN or value.data.dtype.is_float:
            return low, high
        array = value.data.numpy()
        return int(array.min()), int(array.max())
    node = value.producer
    if node is None or node.domain or not depth or value.tensor.dtype is None or value.tensor.dtype.is_float:
        return low, high
    told = _told(node, value, found, depth - 1)
    if told is None or told[0] < low or told[1] > high:  # it wraps round
        return low, high
    return told


def _told(node: Node, value: Value, found: _Found, depth: int) -> Bounds | None:
    """What an operator tells of its result, as if integers had no end."""
    name = node.op_type
    if name in ("ArgMax", "ArgMin") or (name == "TopK" and value.index == 1):
        source = node.inputs[0]
        shape = source.tensor.static_shape if source is not None else None
        axis = node.attributes.get("axis", -1 if name == "TopK" else 0)
        return None if not shape else (0, shape[axis] - 1)
    if name in _PICKS or name == "Cast":
        source = node.inputs[0]
        dtype = source.tensor.dtype if source is not None else None
        return None if dtype is None or dtype.is_float else _bounds(source, found, depth)
    parts = [_bounds(one, found, depth) for one in node.inputs]
    if name == "Where":
        chosen = _truth(node.inputs[0], found, depth)
        return _union(parts[1:]) if chosen is None else parts[1] if chosen else parts[2]
    if name == "Range":
        return (parts[0][0], max(parts[1][1] - 1, parts[0][1])) if parts[2][0] > 0 else None
    combine = _COMBINED.get(name)
    return None if combine is None or not parts else combine(parts)


def _union(parts: list[Bounds]) -> Bounds:
    return min(low for low, _ in parts), max(high for _, high in parts)


def _product(parts: list[Bounds]) -> Bounds:
    corners = [one * other for one in parts[0] for other in parts[1]]
    return min(corners), max(corners)


_COMBINED: Mapping[str, Callable[[list[Bounds]], Bounds | None]] = {
    "Add": lambda parts: (parts[0][0] + parts[1][0], parts[0][1] + parts[1][1]),
    "Sub": lambda parts: (parts[0][0] - parts[1][1], parts[0][1] - parts[1][0]),
    "Mul": _product,
    "Neg": lambda parts: (-parts[0][1], -parts[0][0]),
    "Max": lambda parts: (max(low for low, _ in parts), max(high for _, high in parts)),
    "Min": lambda parts: (min(low for low, _ in parts), min(high for _, high in parts)),
    "Mod": lambda parts: (0, parts[1][1] - 1) if parts[1][0] > 0 else None,
    "Clip": lambda parts: (
        (min(max(parts[0][0], parts[1][0]), parts[2][0]), min(max(parts[0][1], parts[1][1]), parts[2][1]))
        if len(parts) == 3
        else None
    ),
    "Concat": _union,
}


# which comparisons always hold -----------------------------------------------------------------------


def truth(value: Value) -> bool | None:
    """Whether a condition holds for all elements (True), for none (False); None where that isn't known."""
    return _truth(value, {}, _DEPTH)


def _truth(value: Value | None, found: _Found, depth: int) -> bool | None:
    if value is None or not depth:
        return None
    if value.data is not None:
        array = value.data.numpy()
        return True if array.all() else False if not array.any() else None
    node = value.producer
    if node is None or node.domain:
        return None
    if node.op_type in _PICKS:
        return _truth(node.inputs[0], found, depth - 1)
    signs = _SIGNS.get(node.op_type)
    dtypes = [one.tensor.dtype for one in node.inputs if one is not None]
    if signs is None or any(dtype is None or not dtype.is_integer for dtype in dtypes):
        return None
    (low, high), (other_low, other_high) = (_bounds(one, found, depth - 1) for one in node.inputs)
    return signs(low - other_high, high - other_low)


_SIGNS: Mapping[str, Callable[[int, int], bool | None]] = {
    "Less": lambda low, high: True if high < 0 else False if low >= 0 else None,
    "LessOrEqual": lambda low, high: True if high <= 0 else False if low > 0 else None,
    "Greater": lambda low, high: True if low > 0 else False if high <= 0 else None,
    "GreaterOrEqual": lambda low, high: True if low >= 0 else False if high < 0 else None,
    "Equal": lambda low, high: True if low == high == 0 else False if low > 0 or high < 0 else None,
}
"""Of the range of a difference: whether it is always, or never, so."""
