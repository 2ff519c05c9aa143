"""Arithmetic of adapters: done at once while every operand is known, built into the graph from there on.

    length = size(op, data, 2)                # [1], int64
    places = (arange(length).cast(DType.FLOAT64) + 0.5) / scale - 0.5
    op.Gather(data, places.floor().cast(DType.INT64).value(), axis=2)

One formula serves sizes that are known and sizes that only a run tells. Everything is built with operators of opset 11
or older, whose integers stand for themselves; what newer ones want, their steps up add. (With a builder of opset 13,
all but `total` and `maximum`.) A size that decides what is built, or is said before opset 9, is a `Size` of `offsets`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..constant_analysis import known_array
from ..graph import Value
from ..types import DType, TensorType
from .build import StepBuilder
from .counting import counted
from .steps import as_type, numbers

Array = np.ndarray[Any, Any]
OPSET = 11


_NEUTRAL = {"Add": 0, "Sub": 0, "Mul": 1, "Div": 1}


@dataclass(frozen=True, slots=True, eq=False)
class Number:
    """An array that is known, or a value of the graph; operands of one operation are of one element type.

    Plain Python numbers take the type of the other operand. Integer division is of numbers not below 0.
    """

    op: StepBuilder
    held: Array | Value

    @property
    def array(self) -> Array | None:
        """The elements, None where only a run tells them."""
        return None if isinstance(self.held, Value) else self.held

    @property
    def dtype(self) -> DType:
        if not isinstance(self.held, Value):
            return DType.of(self.held.dtype)
        assert self.held.tensor.dtype is not None
        return self.held.tensor.dtype

    def value(self) -> Value:
        """The value in the graph."""
        return self.held if isinstance(self.held, Value) else self.op.const(self.held)

    def cast(self, kind: DType) -> Number:
        if not isinstance(self.held, Value):
            with np.errstate(invalid="ignore"):
                return Number(self.op, self.held.astype(kind.numpy))
        return Number(self.op, as_type(self.op, self.held, kind))

    def reshape(self, *shape: int) -> Number:
        """Other sizes, which may be one -1 and copying zeros."""
        if not isinstance(self.held, Value):
            sizes = [self.held.shape[place] if size == 0 else size for place, size in enumerate(shape)]
            return Number(self.op, self.held.reshape(sizes))
        return Number(self.op, self.op.Reshape(self.held, numbers(self.op, shape)))

    def part(self, index: int) -> Number:
        """One element of a vector, as a vector."""
        if not isinstance(self.held, Value):
            return Number(self.op, self.held[index : index + 1])
        return Number(self.op, self.op.Gather(self.held, numbers(self.op, index), axis=0))

    def __add__(self, other: Number | float) -> Number:
        return self._with("Add", operator.add, other)

    def __sub__(self, other: Number | float) -> Number:
        return self._with("Sub", operator.sub, other)

    def __mul__(self, other: Number | float) -> Number:
        return self._with("Mul", operator.mul, other)

    def __truediv__(self, other: Number | float) -> Number:
        return self._with("Div", operator.truediv, other)

    def __floordiv__(self, other: Number | int) -> Number:
        return self._with("Div", operator.floordiv, other)

    def __radd__(self, other: float) -> Number:
        return self + other

    def __rsub__(self, other: float) -> Number:
        return self._like(other) - self

    def __rmul__(self, other: float) -> Number:
        return self * other

    def __rtruediv__(self, other: float) -> Number:
        return self._like(other) / self

    def __mod__(self, other: Number | int) -> Number:
        return self - (self // other) * other

    def __lt__(self, other: Number | float) -> Number:
        return self._with("Less", operator.lt, other, DType.BOOL)

    def __gt__(self, other: Number | float) -> Number:
        return self._with("Greater", operator.gt, other, DType.BOOL)

    def __and__(self, other: Number) -> Number:
        return self._with("And", operator.and_, other)

    def __or__(self, other: Number) -> Number:
        return self._with("Or", operator.or_, other)

    def negated(self) -> Number:
        """The opposite of bools."""
        return self._alone("Not", np.logical_not)

    def floor(self) -> Number:
        return self._alone("Floor", np.floor)

    def ceil(self) -> Number:
        return self._alone("Ceil", np.ceil)

    def rounded(self) -> Number:
        """To the nearest whole number, from the middle to the even one."""
        if self.array is not None or self.op.target >= 11:
            return self._alone("Round", np.rint)
        low = self.floor()
        rest, is_odd = self - low, low - (low / 2).floor() * 2
        return low + choose(rest < 0.5, rest * 0, choose(rest > 0.5, rest * 0 + 1, is_odd))

    def cos(self) -> Number:
        return self._alone("Cos", np.cos)

    def sin(self) -> Number:
        return self._alone("Sin", np.sin)

    def exp(self) -> Number:
        return self._alone("Exp", np.exp)

    def log(self) -> Number:
        return self._alone("Log", np.log)

    def abs(self) -> Number:
        return self._alone("Abs", np.abs)

    def at_least(self, low: Number | float) -> Number:
        """The larger one; of floats, `low` where it is NaN."""
        return choose(self > low, self, self._like(low))

    def at_most(self, high: Number | float) -> Number:
        """The smaller one."""
        if self.dtype.is_float:
            return self._with("Min", np.minimum, high)
        return choose(self < high, self, self._like(high))

    def clipped(self, low: Number | float, high: Number | float) -> Number:
        """Held between two bounds, in the middle of nowhere (NaN) at the lower one."""
        return self.at_least(low).at_most(high)

    def _like(self, other: Number | float) -> Number:
        return other if isinstance(other, Number) else Number(self.op, np.asarray([other], self.dtype.numpy))

    @property
    def _rank(self) -> int | None:
        return self.held.rank if isinstance(self.held, Value) else self.held.ndim

    def _is(self, value: int) -> bool:
        """Whether this is known as a single integer (of floats, adding 0 changes the sign of -0)."""
        array = self.array
        return array is not None and array.shape == (1,) and array.dtype.kind in "iu" and bool(array[0] == value)

    def _alone(self, op_type: str, compute: Callable[[Array], Array]) -> Number:
        if not isinstance(self.held, Value):
            return Number(self.op, compute(self.held))
        return Number(self.op, self.op.call(op_type, self.held, _types=[self.held.type]))

    def _with(
        self, op_type: str, compute: Callable[[Any, Any], Array], other: Number | float, kind: DType | None = None
    ) -> Number:
        right = self._like(other)
        if not isinstance(self.held, Value) and not isinstance(right.held, Value):
            with np.errstate(all="ignore"):
                return Number(self.op, compute(self.held, right.held))
        neutral = _NEUTRAL.get(op_type)
        if neutral is not None and right._is(neutral) and self._rank:
            return self
        if neutral is not None and op_type in ("Add", "Mul") and self._is(neutral) and right._rank:
            return right
        return Number(self.op, _built(self.op, op_type, [self, right], kind or self.dtype))


def _built(op: StepBuilder, op_type: str, operands: Sequence[Number], kind: DType) -> Value:
    """An elementwise operator; shape inference tells the shape, and nothing else needs to."""
    return op.call(op_type, *(operand.value() for operand in operands), _types=[TensorType(kind)])


def number(op: StepBuilder, value: Value) -> Number:
    """What a value holds, as a number: known where it is certain."""
    array = known_array(value)
    return Number(op, value if array is None else array)


def known(op: StepBuilder, array: Any, kind: DType = DType.FLOAT64) -> Number:
    """A number of given elements."""
    return Number(op, np.asarray(array, kind.numpy))


def choose(condition: Number, then: Number, otherwise: Number) -> Number:
    """`then` where the condition holds."""
    if condition.array is not None and then.array is not None and otherwise.array is not None:
        return Number(condition.op, np.where(condition.array, then.array, otherwise.array))
    if condition.array is not None and condition.array.size == 1 and condition.array.ndim == 1:
        return then if condition.array[0] else otherwise
    return Number(condition.op, _built(condition.op, "Where", [condition, then, otherwise], then.dtype))


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


def product(factors: Sequence[Number]) -> Number:
    made = factors[0]
    for factor in factors[1:]:
        made = made * factor
    return made


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
