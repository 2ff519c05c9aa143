"""Arithmetic of adapters: done at once while every operand is known, built into the graph from there on.

    length = size(op, data, 2)                # [1], int64
    places = (arange(length).cast(DType.FLOAT64) + 0.5) / scale - 0.5
    op.Gather(data, places.floor().cast(DType.INT64).value(), axis=2)

One formula serves sizes that are known and sizes that only a run tells. Everything is built with operators of opset 11
or older, whose integers stand for themselves; what newer ones want, their steps up add. (With a builder of opset 13,
all but `total` and `maximum`.) A size that decides what is built, or is said before opset 9, is a `Size` of `offsets`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from ..build import Expr, Operand, where
from ..constant_analysis import known_array
from ..graph import Value
from ..types import DType, TensorType
from .build import StepBuilder
from .counting import counted
from .steps import as_type, numbers

OPSET = 11


class Number(Expr):
    """An array expression in the operators of opset 11 and older."""

    __slots__ = ()
    op: StepBuilder

    def __floordiv__(self, other: Operand) -> Self:
        """0 where a known number is divided by 0: of tensors without elements."""
        return self._quotient(other)

    def __mod__(self, other: Operand) -> Self:
        return self - (self // other) * other

    def cast(self, dtype: DType) -> Self:
        if self.array is None:
            return self.make(as_type(self.op, self.value(), dtype))
        with np.errstate(invalid="ignore"):
            return self.make(self.array.astype(dtype.numpy))

    def part(self, index: int) -> Self:
        """One element of a vector, as a vector."""
        return self.gather([index])

    def rounded(self) -> Self:
        """To the nearest whole number, from the middle to the even one."""
        if self.array is not None or self.op.target >= 11:
            return self.rint()
        low = self.floor()
        rest, is_odd = self - low, low - (low / 2).floor() * 2
        return low + where(rest < 0.5, rest * 0, where(rest > 0.5, rest * 0 + 1, is_odd))

    def at_least(self, low: Operand) -> Self:
        """The larger one; of floats, `low` where it is NaN."""
        return where(self > low, self, low)

    def at_most(self, high: Operand) -> Self:
        """The smaller one."""
        return self.minimum(high) if self.dtype.is_float else where(self < high, self, high)

    def clipped(self, low: Operand, high: Operand) -> Self:
        """Between two bounds, NaN at the lower one."""
        return self.at_least(low).at_most(high)

    def built(self, op_type: str, operands: Sequence[Expr], kind: DType | None = None, **attributes: Any) -> Self:
        """An elementwise operator; shape inference tells the shape, and nothing else needs to."""
        attributes.setdefault("_types", [TensorType(kind or self.dtype)])
        return super().built(op_type, operands, kind, **attributes)


def number(op: StepBuilder, value: Value) -> Number:
    """What a value holds, as a number: known where it is certain."""
    array = known_array(value)
    return Number(op, value if array is None else array)


def known(op: StepBuilder, array: Any, kind: DType = DType.FLOAT64) -> Number:
    """A number of given elements."""
    return Number(op, np.asarray(array, kind.numpy))


def size(op: StepBuilder, data: Value, axis: int) -> Number:
    """The length of an axis as a vector of one, int64."""
    shape = data.tensor.shape
    length = shape[axis] if shape is not None else None
    if isinstance(length, int):
        return known(op, [length], DType.INT64)
    return Number(op, op.Gather(op.Shape(data), numbers(op, axis), axis=0))


def arange(count: Number) -> Number:
    """0, 1, ... up to a vector of one, int64."""
    op = count.op
    if count.array is not None:
        return known(op, np.arange(int(count.array[0])), DType.INT64)
    return Number(op, counted(op, count.value()))


def maximum(vector: Number, least: float) -> Number:
    """The largest element of a vector, or `least`, as a vector of one."""
    op = vector.op
    floor = known(op, [least], vector.dtype)
    if vector.array is not None:
        return known(op, [max(least, *vector.array.tolist())], vector.dtype)
    whole = op.Concat(vector.value(), floor.value(), axis=0)
    return Number(op, op.ReduceMax(whole, axes=[0], keepdims=1))


def total(numbers: Number) -> Number:
    """The sum along the first axis, which is gone; how many, of bools (int64)."""
    op = numbers.op
    if numbers.array is not None:
        return Number(op, numbers.array.sum(axis=0))
    numbers = numbers.cast(DType.INT64) if numbers.dtype is DType.BOOL else numbers
    return Number(op, op.ReduceSum(numbers.value(), axes=[0], keepdims=0))


def flattened(places: Sequence[Number], lengths: Sequence[Number]) -> Number:
    """Places along each axis as one, counted row by row."""
    made = places[0]
    for place, length in zip(places[1:], lengths[1:], strict=True):
        made = made * length + place
    return made


def unravelled(index: Number, lengths: Sequence[Number]) -> list[Number]:
    """The places along each axis of elements counted row by row."""
    found: list[Number] = []
    for length in reversed(lengths[1:]):
        found.insert(0, index % length)
        index = index // length
    return [index, *found]


def concatenated(op: StepBuilder, parts: Sequence[Number]) -> Value:
    """Vectors one after the other, as a shape."""
    arrays = [part.array for part in parts]
    if all(array is not None for array in arrays):
        return numbers(op, np.concatenate([array for array in arrays if array is not None]))
    return op.Concat(*(part.value() for part in parts), axis=0)
