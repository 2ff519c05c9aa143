"""Array expressions: formulas written with Python's operators, computed at once while every operand is known.

    x, y = expr(op, boxes)[..., 0], expr(op, boxes)[..., 1]
    size = size_of(op, image, 2)                               # int64 [1]
    inside = (x >= 0) & (x < size.cast(DType.FLOAT32))
    return where(inside, x * scale + 0.5, 0).value()

One formula serves what is known and what only a run tells. A builder takes expressions as inputs: `op.Softmax(x - y)`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from types import EllipsisType
from typing import Any, ClassVar, Self, TypeVar, Union

import numpy as np

from ..constants import constant_array
from ..errors import InvalidModel
from ..graph import Value
from ..preconditions import dtype_of
from ..rewrite import Builder
from ..sizes import OpenSize
from ..types import DType, Shape
from . import values
from .open_sizes import size_scalar
from .values import INT64_MAX, INT64_MIN, MOST_FOLDED, MOST_MOVED, Array, Dim

_MOST_BROADCAST = 1 << 20  # elements
_Index = int | slice | EllipsisType | None
Operand = Union["Expr", Value, Array, float]
"""What stands beside an expression in a formula."""
E = TypeVar("E", bound="Expr")


class Inconsistent(InvalidModel):
    """Known arrays can't be broadcast together as a formula wants it: the file's numbers are wrong."""


def computed(compute: Callable[..., Any], *arrays: Any, **options: Any) -> Array:
    """What NumPy makes of known arrays, as an operator would: overflow and division by zero say nothing.

    Raises:
        Inconsistent: their shapes, or the positions in them, don't fit.
    """
    try:
        with np.errstate(all="ignore"):
            return np.asarray(compute(*arrays, **options))
    except (ValueError, IndexError) as error:
        raise Inconsistent(f"known arrays can't be broadcast together: {error}") from error


# how methods are made of an operator and what NumPy computes ---------------------------------------


def _unary(op_type: str, compute: Callable[[Array], Any]) -> Callable[[E], E]:
    def method(self: E) -> E:
        if self.array is None:
            return self.built(op_type, [self])
        return self.make(computed(compute, self.array).astype(self.array.dtype))

    return method


def _binary(op_type: str, compute: Callable[[Any, Any], Any], kind: DType | None = None) -> Callable[[E, Operand], E]:
    neutral = {"Add": 0, "Sub": 0, "Mul": 1, "Div": 1}.get(op_type)
    commutes = op_type in ("Add", "Mul")

    def method(self: E, other: Operand) -> E:
        is_exact = op_type != "Add" or not self.dtype.is_float  # -0.0 + 0 is 0.0
        if neutral is not None and isinstance(other, int | float) and other == neutral and is_exact:
            return self
        right = self.like(other)
        if self.array is not None and right.array is not None:
            return self.make(computed(compute, self.array, right.array))
        if neutral is not None and right.is_integer(neutral) and (self.rank or 0) >= (right.rank or 0):
            return self
        if commutes and neutral is not None and self.is_integer(neutral) and (right.rank or 0) >= (self.rank or 0):
            return right
        return self.built(op_type, [self, right], kind)

    return method


def _reduction(op_type: str, compute: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: E, *axes: int, keepdims: bool = False) -> E:
        """Along some axes; none are named: all."""
        if self.array is not None:
            made = computed(compute, self.array, axis=axes or None, keepdims=keepdims)
            return self.make(made.astype(self.array.dtype))
        which = [self.op.const(list(axes), DType.INT64)] if axes else []
        return self.make(self.op.call(op_type, self, *which, keepdims=int(keepdims)))

    return method


def _extreme(compute: Callable[..., Any], sign: int) -> Callable[..., Any]:
    """`np.max` or `np.min`, which of nothing is what any element takes the place of, as ReduceMax and ReduceMin say."""

    def extreme(array: Array, **options: Any) -> Any:
        if array.size:
            return compute(array, **options)
        none: Any = sign > 0
        if array.dtype.kind in "iu":
            known = np.iinfo(array.dtype)
            none = known.max if sign > 0 else known.min
        elif array.dtype.kind != "b":
            none = array.dtype.type(sign * np.inf)
        return compute(array, initial=none, **options)

    return extreme


class Expr:
    """An array that is known, or a value of the graph.

    Operands of one operation have one element type. Python numbers and NumPy arrays take the type of the other
    operand, and a Python number that changes nothing (adding 0, dividing by 1) isn't built. Integer division is of
    numbers not below 0, and so is its rest.

    Attributes:
        op: builds what isn't known.
        array: the elements, None where only a run tells them.
    """

    __slots__ = ("_value", "array", "op")
    __array_ufunc__: ClassVar[None] = None  # so that NumPy leaves `array * expression` to the expression

    def __init__(self, op: Builder, operand: Array | Value, array: Array | None = None) -> None:
        """`array`: the elements of a value, where they are known."""
        self.op = op
        self.array = array if isinstance(operand, Value) else operand
        self._value = operand if isinstance(operand, Value) else None

    def __repr__(self) -> str:
        return f"Expr({self._value or self.array})"

    # what is known of it -------------------------------------------------------------------------

    @property
    def dtype(self) -> DType:
        """The element type; of a value of which it isn't known `Unsupported` is raised."""
        if self._value is None:
            return DType.of(self.known.dtype)
        return dtype_of(self._value.producer or self._value, self._value)

    @property
    def shape(self) -> Shape | None:
        """The sizes as far as they are known; None where not even the rank is."""
        return self.known.shape if self._value is None else self._value.tensor.shape

    @property
    def rank(self) -> int | None:
        return self.known.ndim if self._value is None else self._value.rank

    @property
    def is_whole(self) -> bool:
        """Whether its element type is known and holds integers only."""
        return (self._value is None or self._value.tensor.dtype is not None) and not self.dtype.is_float

    def size(self, axis: int) -> Self:
        """The size of an axis as int64 [1], the axis counted from either end."""
        at = axis + self.rank if axis < 0 and self.rank is not None else axis
        return self.sizes(at, None if at == -1 else at + 1)

    def sizes(self, start: int = 0, end: int | None = None) -> Self:
        """The sizes of the axes from `start` up to `end`, int64; known where all of them are."""
        if self.shape is not None:
            sizes = self.shape[start:end]
            known = [size for size in sizes if isinstance(size, int)]
            if len(known) == len(sizes):
                return self.make(np.array(known, np.int64))
            end = None if end is not None and end >= len(self.shape) else end
        return self.make(self.op.Shape(self, start=start or None, end=end))

    def item(self) -> Any:
        """The only element as a Python number, None where it isn't known or there are several."""
        return self.array.item() if self.array is not None and self.array.size == 1 else None

    @property
    def known(self) -> Array:
        """The elements of an array that is known."""
        assert self.array is not None
        return self.array

    def value(self) -> Value:
        """The value in the graph."""
        if self._value is None:
            self._value = self.op.const(self.known)
        return self._value

    # arithmetic ----------------------------------------------------------------------------------

    __add__ = _binary("Add", operator.add)
    __sub__ = _binary("Sub", operator.sub)
    __mul__ = _binary("Mul", operator.mul)
    __truediv__ = _binary("Div", operator.truediv)
    _quotient = _binary("Div", lambda a, b: (a - np.fmod(a, b)) // b)
    __mod__ = _binary("Mod", operator.mod)
    __pow__ = _binary("Pow", operator.pow)
    __lt__ = _binary("Less", operator.lt, DType.BOOL)
    __gt__ = _binary("Greater", operator.gt, DType.BOOL)
    __le__ = _binary("LessOrEqual", operator.le, DType.BOOL)
    __ge__ = _binary("GreaterOrEqual", operator.ge, DType.BOOL)
    __and__ = _binary("And", operator.and_)
    __or__ = _binary("Or", operator.or_)
    equals = _binary("Equal", operator.eq, DType.BOOL)  # `==` tells whether two are one and the same expression
    maximum = _binary("Max", np.maximum)
    minimum = _binary("Min", np.minimum)

    __invert__ = _unary("Not", np.logical_not)
    __neg__ = _unary("Neg", np.negative)
    abs = _unary("Abs", np.abs)
    ceil = _unary("Ceil", np.ceil)
    cos = _unary("Cos", np.cos)
    exp = _unary("Exp", np.exp)
    floor = _unary("Floor", np.floor)
    log = _unary("Log", np.log)
    rint = _unary("Round", np.rint)
    sign = _unary("Sign", np.sign)
    sin = _unary("Sin", np.sin)
    sqrt = _unary("Sqrt", np.sqrt)

    def __floordiv__(self, other: Operand) -> Self:
        """The quotient of integers, rounded towards 0 as by Div, not downwards as by Python.

        Raises:
            Inconsistent: a number is divided by a known 0.
        """
        divisor = self.like(other)
        if divisor.array is not None and not divisor.array.all():
            raise Inconsistent("a size divided by 0")
        return self._quotient(divisor)

    def __radd__(self, other: Operand) -> Self:
        return self + other

    def __rsub__(self, other: Operand) -> Self:
        return self.like(other) - self

    def __rmul__(self, other: Operand) -> Self:
        return self * other

    def __rtruediv__(self, other: Operand) -> Self:
        return self.like(other) / self

    def clip(self, low: Operand, high: Operand) -> Self:
        """Between two bounds; the upper one where they cross."""
        return self.maximum(low).minimum(high)

    # along axes ----------------------------------------------------------------------------------

    sum = _reduction("ReduceSum", np.sum)
    prod = _reduction("ReduceProd", np.prod)
    mean = _reduction("ReduceMean", np.mean)
    max = _reduction("ReduceMax", _extreme(np.max, -1))
    min = _reduction("ReduceMin", _extreme(np.min, 1))

    def cumsum(self, axis: int, exclusive: bool = False) -> Self:
        return self.call("CumSum", self.make(np.array(axis)), exclusive=1 if exclusive else None)

    def gather(self, index: Operand | Sequence[int], axis: int = 0) -> Self:
        """The elements at int64 positions along an axis."""
        where = self.like(index) if isinstance(index, Expr | Value) else self.make(np.asarray(index, np.int64))
        if self.array is not None and where.array is not None:
            return self.make(computed(np.take, self.array, where.array, axis))
        return self.built("Gather", [self, where], axis=axis)

    def call(self, op_type: str, *others: Operand, **attributes: Any) -> Self:
        """Any operator with this as its first input and one output, never computed at once."""
        return self.built(op_type, [self, *map(self.like, others)], **attributes)

    def split(self, parts: int | Sequence[int], axis: int) -> list[Self]:
        """Equal parts, or parts of these sizes, along an axis."""
        sizes = None if isinstance(parts, int) else values.shape_vector(self.op, parts)
        count = parts if isinstance(parts, int) else len(parts)
        made = self.op.Split(self, sizes, axis=axis, num_outputs=count if sizes is None else None, _outputs=count)
        return [self.make(part) for part in (made if count > 1 else [made])]

    # views ---------------------------------------------------------------------------------------

    def cast(self, dtype: DType) -> Self:
        plain = dtype.bits > 8 or not dtype.is_float  # of floats of 8 bits and less, Cast is told how
        if self.array is not None and plain and DType.STRING not in (dtype, self.dtype):
            return self if dtype is self.dtype else self.make(computed(self.array.astype, dtype.numpy))
        return self.make(values.cast(self.op, self.value(), dtype))

    def reshape(self, *dims: Dim | None) -> Self:
        """See `values.reshape`: one size may be -1, None is the axis's own."""
        if self.array is not None:
            sizes = values.static_shape_of(
                [self.array.shape[axis] if dim is None else dim for axis, dim in enumerate(dims)]
            )
            if sizes is not None:
                return self.make(computed(self.array.reshape, sizes))
        return self.make(values.reshape(self.op, self.value(), dims))

    def transpose(self, *perm: int) -> Self:
        if self.array is not None:
            return self.make(computed(self.array.transpose, perm))
        return self.make(values.transpose(self.op, self.value(), perm))

    def unsqueeze(self, *axes: int) -> Self:
        """With axes of size 1 inserted, counted in the result."""
        if self.array is not None:
            return self.make(computed(np.expand_dims, self.array, axes))
        return self.make(values.unsqueeze(self.op, self.value(), axes))

    def squeeze(self, *axes: int) -> Self:
        if self.array is not None:
            return self.make(computed(np.squeeze, self.array, axes))
        return self.make(values.squeeze(self.op, self.value(), axes))

    def broadcast_to(self, *dims: Dim) -> Self:
        """See `values.broadcast_to`; computed at once unless it is one number that would have to be written often."""
        shape = values.static_shape_of(dims)
        if self.array is not None and shape is not None:
            most = _MOST_BROADCAST if self.array.size > 1 else MOST_FOLDED
            full = tuple(computed(np.broadcast_shapes, self.array.shape, tuple(shape)).tolist())
            if math.prod(full) <= most:
                return self.make(np.broadcast_to(self.array, full))
        return self.make(values.broadcast_to(self.op, self.value(), dims))

    def full_like(self, number: float) -> Self:
        """An array of one number again and again, in this one's shape and element type."""
        return self.like(number).broadcast_to(self.sizes())

    def __getitem__(self, index: _Index | tuple[_Index, ...]) -> Self:
        """NumPy's basic indexing: numbers, slices (whose bounds may be expressions), `...` and None.

        Raises:
            Inconsistent: there are more indices than axes.
        """
        items = tuple(_with_known_bounds(item) for item in (index if isinstance(index, tuple) else (index,)))
        bounds = [bound for item in items if isinstance(item, slice) for bound in (item.start, item.stop)]
        if self.array is not None and not any(isinstance(bound, Expr | OpenSize) for bound in bounds):
            return self.make(computed(self.array.__getitem__, items))
        axes, rank = sum(item is not None and item is not ... for item in items), self.value().rank
        if rank is not None and axes > rank:
            raise Inconsistent(f"{axes} indices of an array of rank {rank}")
        split = next((position for position, item in enumerate(items) if item is ...), len(items))
        parts = [*_axes(items[:split], 0, 1), *_axes(items[:split:-1], -1, -1)]
        value = _sliced(self.op, self.value(), [(axis, item) for axis, item in parts if isinstance(item, slice)])
        # axes from the front the last one first, those from the end the first one first: the others stay in their place
        taken = [(axis, item) for axis, item in parts if isinstance(item, int)]
        for axis, item in sorted(taken, key=lambda part: -part[0] if part[0] >= 0 else part[0]):
            value = self.op.Gather(value, self.op.const(item), axis=axis)
        return self.make(values.unsqueeze(self.op, value, [axis for axis, item in parts if item is None]))

    # how results are made ------------------------------------------------------------------------

    def make(self, operand: Array | Value) -> Self:
        return type(self)(self.op, operand)

    def like(self, other: Operand) -> Self:
        """Another operand as an expression; numbers, arrays and open sizes in this one's element type (float32 if
        unknown)."""
        if isinstance(other, Expr):
            assert isinstance(other, type(self))
            return other
        if isinstance(other, Value):
            return type(self)(self.op, other, small_constant(other))
        dtype = self.dtype if self._value is None or self._value.tensor.dtype else DType.FLOAT32
        if isinstance(other, OpenSize):
            return self.make(size_scalar(self.op, other)).cast(dtype)
        with np.errstate(invalid="ignore"):
            return self.make(np.asarray(other).astype(dtype.numpy))

    def value_in(self, op: Builder) -> Value:
        """The value in the graph of a builder: what is known can stand in any."""
        if self.array is not None and op.graph is not self.op.graph:
            return op.const(self.array)
        return self.value()

    def is_integer(self, number: int) -> bool:
        """Whether it is known as this one integer (of floats, adding 0 changes the sign of -0)."""
        return self.array is not None and self.array.dtype.kind in "iu" and self.item() == number

    def built(self, op_type: str, operands: Sequence[Expr], kind: DType | None = None, **attributes: Any) -> Self:
        """An operator in the graph of the first operand that isn't known. `kind`: the result's element type, which
        otherwise is that of this one."""
        op = next((operand.op for operand in operands if operand.array is None), self.op)
        return type(self)(op, op.call(op_type, *(operand.value_in(op) for operand in operands), **attributes))


def _with_known_bounds(item: _Index) -> _Index:
    """A slice whose bounds are numbers where they are known."""
    if not isinstance(item, slice):
        return item
    start, stop = (
        bound.item() if isinstance(bound, Expr) and bound.array is not None else bound
        for bound in (item.start, item.stop)
    )
    return slice(start, stop, item.step)


def _axes(items: Sequence[_Index], index: int, pace: int) -> list[tuple[int, _Index]]:
    """(axis, item) of an index from one side: the axis of the array for numbers and slices, of the result for None."""
    found: list[tuple[int, _Index]] = []
    axis = result = index
    for item in items:
        found.append((result if item is None else axis, item))
        axis += pace * (item is not None)
        result += pace * (not isinstance(item, int))
    return found


def _sliced(op: Builder, value: Value, parts: Sequence[tuple[int, slice]]) -> Value:
    parts = [(axis, part) for axis, part in parts if part != slice(None)]
    starts: list[Dim] = []
    ends: list[Dim] = []
    steps = [part.step or 1 for _, part in parts]
    for (_, part), step in zip(parts, steps, strict=True):
        starts.append(part.start if part.start is not None else 0 if step > 0 else INT64_MAX)
        ends.append(part.stop if part.stop is not None else INT64_MAX if step > 0 else INT64_MIN)
    return values.slice_axes(op, value, [axis for axis, _ in parts], starts, ends, steps)


def small_constant(value: Value) -> Array | None:
    """The elements of a constant that isn't long."""
    shape = value.tensor.static_shape
    return None if shape is None or math.prod(shape) > MOST_MOVED else constant_array(value)
