"""Between which bounds integers lie, and which comparisons of them are certain."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from ..graph import Node, Value
from ..sizes import OpenSize, at_least
from ..types import DType
from ..words import words

_RANGE = "range"
"""Key in the `meta` of a value: (smallest, largest) of its integers, where a pass knows more than operators tell."""

_MOST_KNOWN = 100_000  # elements
DEPTH = 24
"""Operators that are looked through, one behind the other."""

Bounds = tuple[float, float]
"""The smallest and the largest integer, both included; infinite where there is no end."""

Operation = tuple[str, list[Value | None]]
"""An operator of the hub (or NotEqual), "" where it is none, and its operands in the hub's order."""

_PICKS = words("Expand Gather GatherElements GatherND Identity Reshape Slice Squeeze Transpose Unsqueeze")


def scalar(value: Value | None) -> int | None:
    """The integer that a constant of one element is, else None."""
    dtype = None if value is None else value.tensor.dtype
    if value is None or value.data is None or dtype is None or not dtype.is_integer or value.data.size != 1:
        return None
    return int(np.asarray(value.data.numpy()).reshape(()).item())


# between which bounds --------------------------------------------------------------------------------


def limits(dtype: DType | None) -> tuple[int, int]:
    """The smallest and the largest integer of a type."""
    if dtype is None or not dtype.is_integer:
        return (0, 1) if dtype is DType.BOOL else (-(2**63), 2**64 - 1)
    return dtype.integer_limits


def within(inner: Bounds, outer: Bounds) -> bool:
    """Whether all integers between bounds lie between others."""
    return outer[0] <= inner[0] and inner[1] <= outer[1]


_LARGEST = 2**31 - 1
"""No dimension has more, in any runtime that counts it in 32 bits, as XLA does."""


def hull(size: float | OpenSize) -> Bounds:
    """Between which integers a size lies."""
    if not isinstance(size, OpenSize):
        return size, size
    low, high = at_least(size.size), at_least(-size.size)
    return -_LARGEST if low is None else low, _LARGEST if high is None else -high


def stated(value: Value | None) -> Bounds | None:
    """What a pass knows of a value's integers beside what operators tell."""
    return None if value is None else (value.meta or {}).get(_RANGE)


def state(value: Value, found: Bounds) -> None:
    """Note between which bounds a value's integers lie."""
    value.meta = {**(value.meta or {}), _RANGE: found}


def bounds(value: Value) -> Bounds:
    """Between which integers, both included, all elements of a value of the hub lie."""
    return Ranges().bounds(value)


def truth(value: Value) -> bool | None:
    """Whether a condition of the hub holds for all elements (True), for none (False); None where that isn't known."""
    return Ranges().truth(value)


def hub_operation(node: Node) -> Operation:
    """A node of the hub as a `Vocabulary` tells it."""
    maker = node.inputs[0].producer if node.inputs and node.inputs[0] is not None else None
    if node.op == ("", "Not") and maker is not None and maker.op == ("", "Equal"):
        return "NotEqual", maker.inputs
    if node.op == ("", "Mod") and node.attributes.get("fmod", 0):  # has the sign of what is divided
        return "", node.inputs
    return "" if node.domain else node.op_type, node.inputs


@dataclass(slots=True)
class Ranges:
    """What is known of a graph's integers, each looked at once."""

    operation: Callable[[Node], Operation] = hub_operation
    found: dict[Value, Bounds] = field(default_factory=dict)

    def bounds(self, value: Value | None, depth: int = DEPTH) -> Bounds:
        """Between which integers, both included, all elements lie."""
        if value is None:
            return limits(None)
        if value not in self.found:
            self.found[value] = self._fresh(value, depth)
        return self.found[value]

    def _fresh(self, value: Value, depth: int) -> Bounds:
        most = limits(value.tensor.dtype)
        known = stated(value)
        if known is not None:
            return known
        if value.data is not None:
            if not 0 < value.data.size <= _MOST_KNOWN or value.data.dtype.is_float:
                return most
            array = value.data.numpy()
            return int(array.min()), int(array.max())
        node = value.producer
        if node is None or not depth or value.tensor.dtype is None or value.tensor.dtype.is_float:
            return most
        result_range = self._told(node, value, depth - 1)
        return most if result_range is None or not within(result_range, most) else result_range  # it wraps round

    def _told(self, node: Node, value: Value, depth: int) -> Bounds | None:
        """What an operator tells of its result, as if integers had no end."""
        name, inputs = self.operation(node)
        if name in ("ArgMax", "ArgMin") or (name == "TopK" and value.index == 1):
            source = inputs[0]
            shape = source.tensor.static_shape if source is not None else None
            axis = node.attributes.get("axis", -1 if name == "TopK" else 0)
            return None if not shape else (0, shape[axis] - 1)
        if name in _PICKS or name == "Cast":
            source = inputs[0]
            dtype = source.tensor.dtype if source is not None else None
            return None if dtype is None or dtype.is_float else self.bounds(source, depth)
        if name == "Where":
            chosen = self.truth(inputs[0], depth)
            parts = [self.bounds(one, depth) for one in inputs[1:]]
            return _union(parts) if chosen is None else parts[0] if chosen else parts[1]
        if name != "Range" and name not in _COMBINED:
            return None
        parts = [self.bounds(one, depth) for one in inputs]
        if name == "Range":
            return (parts[0][0], max(parts[1][1] - 1, parts[0][1])) if parts[2][0] > 0 else None
        return _COMBINED[name](parts) if parts else None

    def difference(self, left: Value | None, right: Value | None, depth: int = DEPTH) -> Bounds:
        """Between which integers the difference of two values lies."""
        return _COMBINED["Sub"]([self.bounds(left, depth), self.bounds(right, depth)]) or limits(None)

    def truth(self, value: Value | None, depth: int = DEPTH) -> bool | None:
        """Whether a condition holds for all elements (True), for none (False); None where that isn't known."""
        if value is None or not depth:
            return None
        if value.data is not None:
            array = value.data.numpy()
            return True if array.all() else False if not array.any() else None
        if value.producer is None:
            return None
        name, inputs = self.operation(value.producer)
        if name in _PICKS:
            return self.truth(inputs[0], depth - 1)
        dtypes = [one.tensor.dtype for one in inputs if one is not None]
        if name not in _SIGNS or any(dtype is None or not dtype.is_integer for dtype in dtypes):
            return None
        return _SIGNS[name](*self.difference(inputs[0], inputs[1], depth - 1))


def _union(parts: list[Bounds]) -> Bounds:
    return min(low for low, _ in parts), max(high for _, high in parts)


def _product(parts: list[Bounds]) -> Bounds | None:
    if any(math.isinf(end) for one in parts for end in one):
        return None
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

_SIGNS: Mapping[str, Callable[[float, float], bool | None]] = {
    "Less": lambda low, high: True if high < 0 else False if low >= 0 else None,
    "LessOrEqual": lambda low, high: True if high <= 0 else False if low > 0 else None,
    "Greater": lambda low, high: True if low > 0 else False if high <= 0 else None,
    "GreaterOrEqual": lambda low, high: True if low >= 0 else False if high < 0 else None,
    "Equal": lambda low, high: True if low == high == 0 else False if low > 0 or high < 0 else None,
    "NotEqual": lambda low, high: True if low > 0 or high < 0 else False if low == high == 0 else None,
}
"""Of the range of a difference: whether it is always, or never, so."""
