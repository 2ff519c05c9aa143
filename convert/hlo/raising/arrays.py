"""Array expressions for HLO: operators for every element type, and moves of elements that change nothing left out.

    low, high = word.cast(DType.UINT32), (word >> 32).cast(DType.UINT32)
    return x.transpose(1, 0).reshape(2, 3)[:, :2]

What ONNX (or ONNX Runtime) doesn't compute in an element type is computed in a wider one and brought back: integers
wrap, floats are rounded once more. Several moves in a row become one, and what is one number everywhere stays an
Expand of that number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np

from ....passes import build
from ....passes.build import Expr, Operand, cast, shape_vector
from ....passes.build.expression import small_constant
from ....passes.build.values import INT64_MIN, from_end
from ....passes.errors import Unsupported
from ....passes.graph import Node, Value
from ....passes.protos import enum_of
from ....passes.rewrite import Builder, Rule, view
from ....passes.sizes import OpenSize, dims_of
from ....passes.tensor import TensorData
from ....passes.types import HALVES, DType, Shape, TensorType
from .support import Results, made_by, uniform

MOST_STATED = 100_000  # elements of a constant that is broadcast at once

NIBBLES = (DType.INT2, DType.INT4, DType.UINT2, DType.UINT4)
FLOAT8 = (DType.FLOAT8E4M3FN, DType.FLOAT8E4M3FNUZ, DType.FLOAT8E5M2, DType.FLOAT8E5M2FNUZ)
_STORED = (*FLOAT8, DType.FLOAT8E8M0, DType.FLOAT4E2M1)  # floats that ONNX stores and casts, nothing more
_COMPUTED_IN: dict[DType, DType] = {
    **dict.fromkeys(NIBBLES, DType.INT32),
    **dict.fromkeys(_STORED, DType.FLOAT32),
}
WIDE: dict[DType, DType] = {
    **{dtype: DType.INT8 if dtype.is_signed else DType.UINT8 for dtype in NIBBLES},
    **dict.fromkeys(_STORED, DType.FLOAT32),
}
"""Types whose elements ONNX's operators don't move -> types in which they move."""

_SHORT = {DType.INT16: DType.INT32, DType.UINT16: DType.INT32}
_NO_KERNEL: dict[str, dict[DType, DType]] = {
    "Max": _SHORT,
    "Min": _SHORT,
    "Clip": _SHORT,
    "Where": {**_SHORT, DType.UINT64: DType.INT64},
    "Pad": {**_SHORT, DType.BFLOAT16: DType.FLOAT32},
}
"""Types that ONNX has for an operator and ONNX Runtime 1.31 hasn't, where a cast to another one is no loss."""

_SIGNED = {
    DType.UINT2: DType.INT2,
    DType.UINT4: DType.INT4,
    DType.UINT8: DType.INT8,
    DType.UINT16: DType.INT16,
    DType.UINT32: DType.INT32,
    DType.UINT64: DType.INT64,
}
_UNSIGNED = {signed: unsigned for unsigned, signed in _SIGNED.items()}


def unsigned(dtype: DType) -> DType:
    """The unsigned integer of the same width."""
    return _UNSIGNED.get(dtype, dtype)


def signed(dtype: DType) -> DType:
    """The signed integer of the same width."""
    return _SIGNED.get(dtype, dtype)


class Array(Expr):
    """An array expression whose operators take every element type of HLO.

    `&`, `|` and `^` are of booleans or of bits, `where` takes booleans too. Shapes are known, except where a rule says.
    """

    __slots__ = ()

    @classmethod
    def of(cls, op: Builder, value: Value) -> Self:
        """A value, known where it is a constant of no more than 4096 elements."""
        return cls(op, value, small_constant(value))

    @property
    def sizes_known(self) -> tuple[int, ...]:
        """The shape; sizes that are open are functions of the inputs' sizes.

        Raises:
            Unsupported: a size isn't even that.
        """
        found = dims_of(self.shape)
        if found is None:
            raise Unsupported(f"value {self.value().name!r}", "it has a size that is only known when the model runs")
        return found

    # arithmetic ----------------------------------------------------------------------------------

    def built(self, op_type: str, operands: Sequence[Expr], kind: DType | None = None, **attributes: Any) -> Self:
        dtype = operands[-1].dtype
        if op_type in ("And", "Or", "Xor") and dtype is not DType.BOOL:
            op_type = f"Bitwise{op_type}"
        if op_type == "Where" and dtype is DType.BOOL:  # which ONNX Runtime has no kernel for
            condition, then, otherwise = map(self.like, operands)
            return condition & then | ~condition & otherwise
        work = _NO_KERNEL.get(op_type, {}).get(dtype) or _COMPUTED_IN.get(dtype)
        if work is None:
            return super().built(op_type, operands, kind, **attributes)
        wide = [operand.cast(work) if operand.dtype is dtype else operand for operand in operands]
        made = super().built(op_type, wide, kind, **attributes)
        return made.narrow(dtype) if made.dtype is work else made

    def __xor__(self, other: Operand) -> Self:
        return self.call("Xor", other)

    def __lshift__(self, count: Operand) -> Self:
        return self.call("BitShift", count, direction="LEFT")

    def __rshift__(self, count: Operand) -> Self:
        return self.call("BitShift", count, direction="RIGHT")

    def isnan(self) -> Self:
        return self.call("IsNaN")

    def widen(self) -> Self:
        """Floats below 32 bits as float32, in which a formula of several steps rounds once, at its end."""
        return self.cast(DType.FLOAT32) if self.dtype in HALVES or self.dtype in _STORED else self

    def narrow(self, dtype: DType) -> Self:
        """Integers with high bits dropped, floats rounded; what a float of 8 bits can't hold is NaN or infinite."""
        if dtype in FLOAT8:
            return self.make(self.op.Cast(self, to=enum_of(dtype, self), saturate=0))
        if dtype not in NIBBLES:
            return self.cast(dtype)
        low = self & (1 << dtype.bits) - 1  # Cast says nothing of what 4 bits can't hold
        if dtype.is_signed:
            half = 1 << dtype.bits - 1
            low = (low ^ half) - half
        return low.cast(dtype)

    # moves ---------------------------------------------------------------------------------------

    def _source(self, *op_types: str) -> Self | None:
        """What an operator of one of these types made it of, in a known shape."""
        maker = None if self.array is not None else self.value().producer
        source = maker.inputs[0] if maker is not None and not maker.domain and maker.op_type in op_types else None
        return None if source is None or dims_of(source.tensor.shape) is None else self.make(source)

    def _number(self) -> Value | None:
        """The constant scalar that all elements are."""
        one = uniform(self.value())
        if one is None or one.rank == 0 or one.data is None:
            return one
        data = one.data
        return self.op.const(TensorData(data.dtype, (), load=lambda: data.numpy().reshape(())))

    def broadcast_to(self, *dims: build.values.Dim) -> Self:
        """By ONNX's rules; what is known is written out while it is short, a scalar never."""
        shape = tuple(dim for dim in dims if isinstance(dim, int | str))
        if self.shape == shape:
            return self
        fixed = [dim for dim in shape if isinstance(dim, int)]
        if self.array is not None and self.array.ndim and len(fixed) == len(shape) and math.prod(fixed) <= MOST_STATED:
            return self.make(np.broadcast_to(self.array, fixed))
        value = self._number() or self.value()
        type = TensorType(self.dtype, shape)
        return self.make(self.op.Expand(value, shape_vector(self.op, shape), _types=[type]))

    def reshape(self, *dims: build.values.Dim | None) -> Self:
        """In a shape of known sizes (one may be -1), by Squeeze or Unsqueeze where only ones go or come."""
        shape = tuple(dim for dim in dims if isinstance(dim, int | str))
        if self.shape == shape:
            return self
        if len(shape) == len(dims) and not all(isinstance(dim, int) for dim in shape):
            return self._in_open_shape(shape)
        if self.array is not None or self.value().data is not None or -1 in shape:
            return super().reshape(*dims)
        if self._number() is not None:
            return self.broadcast_to(*shape)
        source = self._source("Reshape", "Squeeze", "Unsqueeze")
        if source is not None:
            return source.reshape(*shape)
        found = self._as_element(shape) or self.with_ones(shape)
        where = self.op.const(list(shape), DType.INT64)
        return found or self.make(self.op.Reshape(self, where, allowzero=1 if 0 in shape else None))

    def _in_open_shape(self, shape: tuple[int, ...]) -> Self:
        """In a shape with open sizes."""
        if self._number() is not None:
            return self.broadcast_to(*shape)
        source = self._source("Reshape", "Squeeze", "Unsqueeze")
        if source is not None and source.array is None:
            return source.reshape(*shape)
        found = self.with_ones(shape)
        if found is not None:
            return found
        return super().reshape(*shape)

    def _as_element(self, shape: Sequence[int]) -> Self | None:
        """What was sliced out of one dimension as the element there that it is; None where that isn't all."""
        maker, source = made_by(self.value(), "Slice"), self._source("Slice")
        if maker is None or source is None or len(maker.inputs) != 4:  # with axes, without steps
            return None
        starts, axes = (None if one is None else one.array() for one in maker.inputs[1::2])
        have = self.sizes_known
        if starts is None or axes is None or axes.size != 1 or have[axis := int(axes[0])] != 1:
            return None
        if (*have[:axis], *have[axis + 1 :]) != tuple(shape):
            return None
        type = TensorType(self.dtype, tuple(shape))
        return self.make(self.op.Gather(source, self.op.const(int(starts[0])), axis=axis, _types=[type]))

    def with_ones(self, shape: Shape) -> Self | None:
        """In a shape that only lacks ones or has more of them; None where that isn't so."""
        have = self.shape
        if have is None:
            return None
        more, fewer = _ones_between(have, shape), _ones_between(shape, have)
        if more:
            return self.make(self.op.Unsqueeze(self, self.op.const(more, DType.INT64)))
        if fewer:
            return self.make(self.op.Squeeze(self, self.op.const(fewer, DType.INT64)))
        return self if more == [] else None

    def squeeze(self, *axes: int) -> Self:
        return self.reshape(*(size for axis, size in enumerate(self.sizes_known) if axis not in axes))

    def transpose(self, *perm: int) -> Self:
        """Reshaped where only ones change their positions."""
        shape = self.shape
        if list(perm) == sorted(perm) or self.array is not None:
            return self if list(perm) == sorted(perm) else super().transpose(*perm)
        assert shape is not None
        moved = [axis for axis in perm if shape[axis] != 1]
        whole = dims_of([shape[axis] for axis in perm])
        if whole is not None and (moved == sorted(moved) or uniform(self.value()) is not None):
            return self.reshape(*whole)
        before, source = made_by(self.value(), "Transpose"), self._source("Transpose")
        if before is not None and source is not None:
            return source.transpose(*(before.attributes["perm"][axis] for axis in perm))
        return super().transpose(*perm)

    def slice(self, starts: Sequence[int], stops: Sequence[int], steps: Sequence[int] | None = None) -> Self:
        """`[start:stop:step, ...]`, positions counted from the front, every size known where it is cut."""
        shape = self.shape
        assert shape is not None
        steps = steps or [1] * len(shape)
        bounds = list(zip(starts, stops, steps, strict=True))
        axes = [axis for axis, size in enumerate(shape) if bounds[axis] != (0, size, 1)]
        sizes = [_count(*bounds[axis]) if axis in axes else size for axis, size in enumerate(shape)]
        fixed = dims_of(sizes)
        if not axes:
            return self
        constant = self.array if self.array is not None else small_constant(self.value())
        if fixed is not None and (constant is None or constant.size == 1) and self._number() is not None:
            return self.broadcast_to(*fixed)
        known = [[one for one in bound if isinstance(one, int)] for bound in bounds]
        if constant is not None and all(len(bound) == 3 for bound in known):
            return self.make(constant[tuple(slice(*bound) for bound in known)])
        places = ([from_end(bounds[axis][index], shape[axis]) for axis in axes] for index in range(2))
        first, last = (shape_vector(self.op, one) for one in places)
        paces = [bounds[axis][2] for axis in axes]
        type = TensorType(self.dtype, tuple(sizes))
        where, step = (self.op.const(numbers, DType.INT64) for numbers in (axes, paces))
        return self.make(self.op.Slice(self, first, last, where, None if {*paces} == {1} else step, _types=[type]))

    def pad(self, before: Sequence[int], behind: Sequence[int], number: Self | None = None) -> Self:
        """With elements before and behind it in each dimension, of which a negative number is taken away: 0, or a
        scalar."""
        if not any(before) and not any(behind):
            return self
        if number is not None and number.array is not None and not any(number.array.tobytes()):
            number = None
        pads = shape_vector(self.op, [*before, *behind])
        dtype = self.dtype
        work = _NO_KERNEL["Pad"].get(dtype, dtype)
        wide, fill = self.cast(work), None if number is None else number.cast(work)
        made = zip(self.shape or (), before, behind, strict=True)
        sizes = [None if not isinstance(dim, int | str) else low + dim + high for dim, low, high in _computable(made)]
        return self.make(self.op.Pad(wide, pads, fill, _types=[TensorType(work, tuple(sizes))])).cast(dtype)

    def dilate(self, strides: Sequence[int], number: Self) -> Self:
        """With a gap behind each element, filled with a scalar: [n] -> [n, 1] -> [n, stride] -> [n * stride]."""
        if max(strides, default=1) == 1:
            return self
        apart: list[int] = []
        behind: list[int] = []
        for size, stride in zip(self.sizes_known, strides, strict=True):
            apart += [size, 1] if stride > 1 else [size]
            behind += [0, stride - 1] if stride > 1 else [0]
        filled = self.reshape(*apart).pad([0] * len(apart), behind, number)
        return filled.reshape(*(size * stride for size, stride in zip(self.sizes_known, strides, strict=True)))

    def flip(self, axes: Sequence[int]) -> Self:
        """Backwards along some axes."""
        back, ends = ([number] * len(axes) for number in (-1, INT64_MIN))
        first, last, where = (self.op.const(numbers, DType.INT64) for numbers in (back, ends, list(axes)))
        return self.make(self.op.Slice(self, first, last, where, first, _types=[self.value().type]))

    def along(self, axis: int, rank: int) -> Self:
        """A vector as dimension `axis` of `rank`, ones around it; those in front come by themselves."""
        return self.reshape(*self.sizes_known, *[1] * (rank - 1 - axis))

    def rearrange(self, labels: Sequence[Hashable], wanted: Sequence[Hashable]) -> Self:
        """With its dimensions, which bear `labels`, as `wanted`: in that order, a 1 for each that it hasn't."""
        moved = self.transpose(*(labels.index(label) for label in wanted if label in labels))
        left = iter(moved.sizes_known)
        return moved.reshape(*(next(left) if label in labels else 1 for label in wanted))


def _count(start: int, stop: int, step: int) -> int:
    """How many positions there are."""
    if isinstance(start, int) and isinstance(stop, int):
        return len(range(start, stop, step))
    return (stop - start + (step - 1)) // step


def _computable(rows: Iterable[Sequence[Any]]) -> Iterator[list[Any]]:
    """Rows of sizes as what can be computed with."""
    return ([OpenSize(item) if isinstance(item, str) else item for item in row] for row in rows)


def _ones_between(short: Shape, long: Shape) -> list[int] | None:
    """At which positions of `long` stand ones that make it of `short`; None where it isn't made so."""
    axes: list[int] = []
    matched = 0
    for axis, dim in enumerate(long):
        if matched < len(short) and short[matched] == dim:
            matched += 1
        elif dim == 1:
            axes.append(axis)
        else:
            return None
    return axes if matched == len(short) else None


def arrays(op: Builder, *values: Value) -> list[Array]:
    """Values as arrays that aren't looked into: what rules make of them is left for the run."""
    return [Array(op, value) for value in values]


def arange(op: Builder, count: int) -> Array:
    """0, 1 ... count - 1 as int64."""
    made = build.arange(op, count)
    return Array(op, made.value() if made.array is None else made.array)


def listed(op: Builder, sizes: Sequence[int]) -> Any:
    """Sizes as what arithmetic takes: an array, or a vector of int64 where some are open."""
    if all(isinstance(size, int) for size in sizes):
        return np.array(sizes)
    return Array(op, shape_vector(op, sizes))


def full(op: Builder, number: Any, dtype: DType, shape: Sequence[int]) -> Array:
    """One number everywhere."""
    return Array(op, np.asarray(number).astype(dtype.numpy)).broadcast_to(*shape)


def concat(parts: Sequence[Array], axis: int) -> Array:
    """Arrays one after the other along an axis; one alone stays itself."""
    if len(parts) == 1:
        return parts[0]
    known = [part.array for part in parts if part.array is not None]
    if len(known) == len(parts):
        return parts[0].make(np.concatenate(known, axis))
    return parts[0].make(parts[0].op.Concat(*parts, axis=axis))


def values(parts: Sequence[Array]) -> list[Value]:
    """The values in the graph."""
    return [part.value() for part in parts]


# element types that ONNX's operators don't move ------------------------------------------------------


def moved_in_wide_types(moving: Rule) -> Rule:
    """A rule that only moves elements, for the narrow types too: they move in a wider one that operators take."""

    def widened(op: Builder, node: Node) -> Results:
        narrow = {dtype for value in node.outputs if (dtype := value.tensor.dtype) in WIDE}
        if not narrow:
            return moving(op, node)
        inputs = [_in_wide_type(op, value, narrow) for value in node.inputs]
        wide = view(node, inputs)
        wide.outputs = [_twin(value) for value in node.outputs]
        moved = moving(op, wide)
        assert moved is not None
        results = [moved] if isinstance(moved, Value) else list(moved)
        return [
            cast_back(op, new, dtype) if (dtype := old.tensor.dtype) in narrow and dtype is not None else new
            for old, new in zip(node.outputs, results, strict=True)
        ]

    return widened


def _in_wide_type(op: Builder, value: Value | None, narrow: Collection[DType]) -> Value | None:
    dtype = None if value is None else value.tensor.dtype
    return value if value is None or dtype is None or dtype not in narrow else cast(op, value, WIDE[dtype])


def cast_back(op: Builder, value: Value, dtype: DType) -> Value:
    """Elements that were moved about in a wider type, in their own, which holds each: an infinity stays one."""
    if value.tensor.dtype is dtype:
        return value
    return op.Cast(value, to=enum_of(dtype, value.name), saturate=None if dtype.is_integer else 0)


def move_widened(x: Array, move: Callable[[Array], Array]) -> Array:
    """What only moves elements, in a type that operators take."""
    made = move(x.cast(WIDE.get(x.dtype, x.dtype)))
    return made.make(cast_back(made.op, made.value(), x.dtype))


def _twin(value: Value) -> Value:
    """An output as its rule is to see it, in the wider type."""
    dtype = value.tensor.dtype
    if dtype not in WIDE:
        return value
    return Value(value.name, replace(value.tensor, dtype=WIDE[dtype]), value.producer, value.index)
