"""Numbers of MDF as values of the hub: NumPy's arrays and Python's own numbers, with the types that NumPy 2 gives them.

A Python number is weak (NEP 50): it takes the type of the array it meets. Python integers have 64 bits here: a result
that is known beforehand and needs more is refused, others wrap. Where running Python ends in an error (division by
zero) or in a complex number (a root of a negative one), the hub's operators give infinity or NaN.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .....passes.build import reshape, where_values
from .....passes.certain_size import check_array
from .....passes.constant_analysis import static_array
from .....passes.constants import constant_array
from .....passes.errors import InvalidModel, Unsupported
from .....passes.graph import Graph, Value
from .....passes.protos import enum_of
from .....passes.rewrite import Builder
from .....passes.types import DType, TensorType, merge

Array = np.ndarray[Any, Any]

PLAIN = (DType.BOOL, DType.INT64, DType.FLOAT64)
"""The element types of what a document says."""
MOST_FOLDED = 1 << 20
"""Elements of a constant that is made of smaller ones."""
_MOST_ELEMENTS = 1 << 28
Sizes = tuple[int | None, ...]
"""A shape, None for each size that is known only at run time."""
_NUMERIC = {*PLAIN, DType.FLOAT32, DType.FLOAT16, *(dtype for dtype in DType if dtype.is_integer and dtype.bits >= 8)}


class OpenSize(Unsupported):
    """What is computed needs a size that is known only at run time; `evaluate` tells where."""

    def __init__(self, reason: str) -> None:
        super().__init__("a value", reason)


@dataclass(frozen=True, slots=True)
class Kind:
    """What is known of a `Number` besides its value, see there."""

    dtype: DType
    sizes: Sizes
    python: bool
    listed: int
    blurred: DType | None

    def number(self, value: Value) -> Number:
        """A value of this kind."""
        return Number(value, self.python, self.listed, blurred=self.blurred)


@dataclass(frozen=True, slots=True)
class Number:
    """A value of an expression.

    Attributes:
        value: in the graph being built; its element type and its rank are known.
        python: Python's own int, float or bool (or a list of nothing else): weak where it meets an array.
        listed: how many of the outer axes are Python lists, whose + and * are a list's.
        single: the float32 value that this one was cast from.
        blurred: the narrowest type that it may have as well, which is known only at run time: that of another branch.
    """

    value: Value
    python: bool = False
    listed: int = 0
    single: Value | None = field(default=None, compare=False)
    blurred: DType | None = None

    @property
    def dtype(self) -> DType:
        dtype = self.value.tensor.dtype
        assert dtype is not None, self.value
        return dtype

    @property
    def sizes(self) -> Sizes:
        """The shape, as far as it is known."""
        shape = self.value.tensor.shape
        if shape is None:
            raise OpenSize("its rank is known only at run time")
        return tuple(size if isinstance(size, int) else None for size in shape)

    @property
    def is_open(self) -> bool:
        """Whether a size is known only at run time."""
        return None in self.sizes

    @property
    def shape(self) -> tuple[int, ...]:
        """
        Raises:
            OpenSize: a size is known only at run time.
        """
        sizes = self.sizes
        shape = tuple(size for size in sizes if size is not None)
        if len(shape) < len(sizes):
            raise OpenSize(f"a size of {self.value.tensor} is known only at run time")
        return shape

    @property
    def rank(self) -> int:
        return len(self.sizes)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def is_weak(self) -> bool:
        """Whether it is one Python number."""
        return self.python and not self.listed

    @property
    def kind(self) -> Kind:
        return Kind(self.dtype, self.sizes, self.python, self.listed, self.blurred)

    @property
    def array(self) -> Number:
        """What `numpy.asarray` makes of it."""
        return replace(self, python=False, listed=0) if self.python or self.listed else self


Item = Number | DType | str | None | list["Item"] | tuple["Item", ...]
"""What a part of an expression is: a list is one that the expression writes, what is in it may have different shapes.
An element type, a text and None only stand as arguments."""


# constants ---------------------------------------------------------------------------------------


def constant(op: Builder, array: Any, *, python: bool = False) -> Number:
    """A constant of NumPy's (of Python's) type of `array`."""
    return Number(op.const(np.asarray(array)), python)


def scalar(op: Builder, number: bool | int | float, where: str) -> Number:
    """One Python number. An integer that only uint64 holds is one of that, beside which others are of that, too.

    Raises:
        Unsupported: an integer that 64 bits don't hold.
    """
    dtype = np.float64 if isinstance(number, float) else np.bool_ if isinstance(number, bool) else np.int64
    if dtype is np.int64 and 2**63 <= number < 2**64:
        dtype = np.uint64
    elif dtype is np.int64 and not -(2**63) <= number < 2**63:
        raise Unsupported(where, f"an integer of {int(number).bit_length()} bits; 64 are the most")
    return Number(op.const(np.asarray(number, dtype)), python=True)


def size_number(op: Builder, number: Number, axis: int) -> Number:
    """The size of an axis as Python's number, whether it is known or not."""
    size = number.sizes[axis]
    if size is not None:
        return Number(op.const(np.asarray(size)), python=True)
    found = op.Shape(number.value, start=axis or None, end=axis + 1)
    return Number(reshape(op, found, ()), python=True)


def known(number: Number) -> Array | None:
    """The elements where they are certain whatever the model is given; None where they aren't."""
    return static_array(number.value)


def static_scalar(number: Number) -> bool | int | float | None:
    """A Python number that is a constant; None otherwise."""
    array = constant_array(number.value) if number.is_weak else None
    return None if array is None else array.item()


def cast(op: Builder, number: Number, dtype: DType, where: str) -> Value:
    """The value in another element type, as `astype` makes it."""
    value = number.value
    if number.dtype is dtype:
        return value
    if dtype is DType.FLOAT32 and number.single is not None:
        return number.single
    if value.data is not None:
        with np.errstate(all="ignore"):
            return op.const(value.data.numpy().astype(dtype.numpy))
    return op.Cast(value, to=enum_of(dtype, where))


def astype(op: Builder, number: Number, dtype: DType, where: str) -> Number:
    """`numpy.asarray(number, dtype)`"""
    return Number(cast(op, number, dtype, where))


# arrays ------------------------------------------------------------------------------------------


def common_type(dtypes: Sequence[DType], where: str) -> DType:
    """The element type that holds them all, none of them weak.

    Raises:
        Unsupported: NumPy has one that isn't among those that are computed in here.
    """
    return supported_dtype(np.result_type(*(dtype.numpy for dtype in dtypes)), where)


def promoted_dtype(operands: Sequence[Number], where: str) -> DType:
    """The element type that several operands have together, in which Python numbers are weak."""
    if all(operand.is_weak for operand in operands):
        if len({operand.dtype for operand in operands}) > 1 and any(one.dtype is DType.UINT64 for one in operands):
            raise Unsupported(where, "an integer of 64 bits among others")
        return common_type([operand.dtype for operand in operands], where)
    weak = {DType.BOOL: np.dtype(bool), DType.INT64: 0, DType.UINT64: 0, DType.FLOAT64: 0.0}
    given = [weak[operand.dtype] if operand.is_weak else operand.dtype.numpy for operand in operands]
    return supported_dtype(np.result_type(*given), where)


def supported_dtype(dtype: np.dtype[Any], where: str) -> DType:
    found = DType.of(dtype) if dtype.kind in "biuf" else None
    if found not in _NUMERIC:
        raise Unsupported(where, f"NumPy makes {dtype} of this")
    return found


def broadcast(shapes: Sequence[Sizes], where: str) -> Sizes:
    """The shape that all of them broadcast to.

    Raises:
        InvalidModel: there is none, whatever the sizes are that aren't known.
    """
    try:
        known = np.broadcast_shapes(*(tuple(1 if size is None else size for size in shape) for shape in shapes))
    except ValueError:
        shown = " and ".join(map(_shown, shapes))
        raise InvalidModel(f"{where}: the shapes {shown} can't be broadcast together") from None
    found = list[int | None](known)
    for shape in shapes:
        for axis, size in enumerate(shape, len(known) - len(shape)):
            if size is None and known[axis] == 1:
                found[axis] = None
    checked_shape(known, where)
    return tuple(found)


def zeros(op: Builder, sizes: Sequence[int], dtype: Any, where: str) -> Number:
    """Zeros of a shape that a file declares.

    Args:
        dtype: what NumPy takes for one.

    Raises:
        TooLarge: they don't fit into the memory.
    """
    check_array(TensorType(DType.of(np.dtype(dtype)), tuple(sizes)), where)
    return constant(op, np.zeros(sizes, dtype))


def checked_shape(shape: Sizes, where: str) -> Sizes:
    """A shape that isn't absurdly large.

    Raises:
        Unsupported: it is, as a few expressions over each other can make it.
    """
    if math.prod(size for size in shape if size is not None) > _MOST_ELEMENTS:
        raise Unsupported(where, f"an array of shape {_shown(shape)}")
    return shape


def common_sizes(a: Sizes, b: Sizes) -> Sizes:
    """The sizes of what is of the one shape or of the other, which have as many axes."""
    return tuple(one if one == other else None for one, other in zip(a, b, strict=True))


def of_sizes(value: Value, sizes: Sizes) -> Number:
    """A number of which more is known than what its operator tells."""
    if value.tensor.static_shape is None:
        value.type = merge(value.type, TensorType(value.tensor.dtype, sizes))
    return Number(value)


def _shown(shape: Sizes) -> str:
    return str(shape).replace("None", "?")


def as_number(op: Builder, item: Item, where: str) -> Number:
    """One number of whatever an expression has: a list becomes an array, as in `numpy.array`.

    Raises:
        InvalidModel: it isn't made of numbers.
        Unsupported: they have different shapes.
    """
    if isinstance(item, Number):
        if item.dtype is DType.STRING:
            raise InvalidModel(f"{where}: text where a number is expected")
        return item
    if not isinstance(item, list | tuple):
        what = "None" if item is None else "a text" if isinstance(item, str) else "a type"
        raise InvalidModel(f"{where}: {what} where a number is expected")
    parts = [as_number(op, part, where) for part in item]
    if not parts:
        return Number(op.const(np.zeros(0)), python=True, listed=1)
    if any(part.shape != parts[0].shape for part in parts):  # of an open size Python's list may be no array
        shapes = " and ".join(dict.fromkeys(str(part.shape) for part in parts))
        raise Unsupported(where, f"a list of different shapes ({shapes}), which is no array")
    dtypes = {part.dtype for part in parts}
    if len(dtypes) > 1 and any(part.python and part.dtype is DType.UINT64 for part in parts):
        raise Unsupported(where, "an integer of 64 bits among others")
    dtype = common_type([part.dtype for part in parts], where)
    values = [cast(op, part, dtype, where) for part in parts]
    checked_shape((len(parts), *parts[0].shape), where)
    depth = 1 + min(part.listed for part in parts)
    return Number(stack_values(op, values), python=all(part.python for part in parts), listed=depth)


def stack_values(op: Builder, values: Sequence[Value], axis: int = 0) -> Value:
    """Values of one type and shape side by side along a new axis."""
    arrays = [value.data for value in values]
    small = len(values) * Number(values[0]).size <= MOST_FOLDED
    if small and all(array is not None for array in arrays):
        return op.const(np.stack([array.numpy() for array in arrays if array is not None], axis))
    axes = op.const([axis])
    return op.Concat(*(op.Unsqueeze(value, axes) for value in values), axis=axis)


# conditions --------------------------------------------------------------------------------------


def truth_value(op: Builder, item: Item, where: str) -> Value | bool:
    """Whether Python takes it for true: a bool scalar, or the answer itself where it is certain.

    Raises:
        Unsupported: an array that hasn't one element, for which there is no answer.
    """
    if item is None:
        return False
    if isinstance(item, list | tuple):
        return bool(item)
    if isinstance(item, str):
        return bool(item)
    if not isinstance(item, Number) or item.dtype is DType.STRING:
        return True
    if item.listed:
        return item.shape[0] > 0
    if item.is_open or item.size != 1:
        raise Unsupported(where, f"an array of shape {_shown(item.sizes)} is neither true nor false")
    array = known(item)
    if array is not None:
        return bool(array.item())
    value = reshape(op, item.value, ())
    if item.dtype is DType.BOOL:
        return value
    return op.Not(op.Equal(value, op.const(np.zeros((), item.dtype.numpy))))


def select(op: Builder, condition: Value | bool, then: Item, otherwise: Item, where: str) -> Item:
    """One of two items, both of which are computed already.

    Raises:
        Unsupported: it isn't known which, and they have different numbers of axes.
    """
    if isinstance(condition, bool):
        return then if condition else otherwise
    if isinstance(then, tuple) and isinstance(otherwise, tuple) and len(then) == len(otherwise):
        return tuple(select(op, condition, a, b, where) for a, b in zip(then, otherwise, strict=True))
    if isinstance(then, tuple) or isinstance(otherwise, tuple):
        raise Unsupported(where, "it is a tuple or not, which is known only at run time")
    a, b = as_number(op, then, where), as_number(op, otherwise, where)
    kind = chosen_kind(a, b, where)
    if a.value is b.value:
        value = a.value
    else:
        choice = one_of if a.is_open or a.sizes != b.sizes else where_values
        value = choice(op, condition, cast(op, a, kind.dtype, where), cast(op, b, kind.dtype, where))
    return kind.number(value)


def chosen_kind(a: Number, b: Number, where: str) -> Kind:
    """That of one of two numbers.

    Raises:
        Unsupported: they have different numbers of axes, or are lists of different lengths.
    """
    if a.rank != b.rank or a.listed != b.listed or (a.listed and a.sizes != b.sizes):
        raise Unsupported(where, f"it is {_described(a)} or {_described(b)}, which is known only at run time")
    return common_kind(a.kind, b.kind, where)


def check_wide(number: Number, where: str) -> None:
    """Refuse what NumPy sums up in float16, rounding as it goes, in an order of its own."""
    if number.dtype is DType.FLOAT16:
        raise Unsupported(where, "sums in float16")


def common_kind(a: Kind, b: Kind, where: str) -> Kind:
    """That of what is of the one kind or of the other, which have as many axes.

    Raises:
        Unsupported: no element type holds the numbers of both.
    """
    dtype = common_type([a.dtype, b.dtype], where)
    if dtype.is_float and not a.dtype.is_float and not b.dtype.is_float:
        raise Unsupported(where, f"it is {a.dtype.value} or {b.dtype.value}, which is known only at run time")
    return Kind(dtype, common_sizes(a.sizes, b.sizes), a.python and b.python, a.listed, _narrowest_dtype(a, b))


def _narrowest_dtype(a: Kind, b: Kind) -> DType | None:
    """`Kind.blurred` of what is the one or the other; None where both have one and the same type."""
    least = {each.blurred or each.dtype for each in (a, b)}
    if len(least) == 1 and a.python == b.python and a.blurred is b.blurred is None:
        return None
    return min(least, key=lambda dtype: (dtype.is_float, dtype.bits, dtype.value))


def one_of(op: Builder, condition: Value, then: Value, otherwise: Value) -> Value:
    """One of two values of one element type and rank; their sizes may differ."""
    regions: list[Graph] = []
    for index, name in enumerate(("then", "else")):
        region = op.region(name)
        values = [region.input(value.name, value.type) for value in (then, otherwise)]
        region.graph.outputs = [region.Identity(values[index])]
        regions.append(region.graph)
    type = TensorType(then.tensor.dtype, common_sizes(Number(then).sizes, Number(otherwise).sizes))
    (made,) = op.branch(condition, [then, otherwise], regions[0], regions[1], [type])
    return made


def _described(number: Number) -> str:
    return f"{'a list ' if number.listed else ''}of shape {_shown(number.sizes)}"
