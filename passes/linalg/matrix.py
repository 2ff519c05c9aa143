"""Array expressions for linear algebra: real, integer or boolean arrays in one value, complex ones in two."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..graph import Value
from ..protos import enum_of
from ..rewrite import Builder
from ..types import DType

_BACK = -(2**31)  # before the first element of any axis


def _each(op_type: str) -> Callable[[Matrix], Matrix]:
    return lambda self: self.each(op_type)


def _compared(op_type: str) -> Callable[[Matrix, Matrix | float], Matrix]:
    return lambda self, other: self.real.with_real(op_type, other)


class Matrix:
    """Arrays [batch ..., rows, columns] (or vectors, or scalars) in a graph, all sizes known.

    Python's operators reckon with them; numbers take the element type, real and complex arrays mix. Comparisons and
    functions that only real numbers have look at the real part.
    """

    __slots__ = ("op", "parts")

    def __init__(self, op: Builder, *parts: Value) -> None:
        self.op = op
        self.parts = parts

    def made(self, *parts: Value) -> Matrix:
        return Matrix(self.op, *parts)

    # what it is ----------------------------------------------------------------------------------

    @property
    def dtype(self) -> DType:
        return self.parts[0].tensor.dtype or DType.FLOAT32

    @property
    def shape(self) -> tuple[int, ...]:
        shape = self.parts[0].tensor.static_shape
        assert shape is not None, self.parts
        return shape

    @property
    def sizes(self) -> tuple[tuple[int, ...], int, int]:
        """(batch dimensions, rows, columns); of vectors there is 1 row."""
        *batch, columns = self.shape
        rows = batch.pop() if batch else 1
        return tuple(batch), rows, columns

    @property
    def is_complex(self) -> bool:
        return len(self.parts) == 2

    @property
    def real(self) -> Matrix:
        return self.made(self.parts[0]) if self.is_complex else self

    @property
    def imag(self) -> Matrix:
        return self.made(self.parts[1]) if self.is_complex else self * 0.0

    def with_imag(self) -> Matrix:
        """As complex numbers."""
        return self.made(self.parts[0], self.imag.parts[0])

    def real_parts(self) -> list[Matrix]:
        """The real part, and the imaginary one where there is one."""
        return [self.made(part) for part in self.parts]

    @property
    def epsilon(self) -> float:
        """The distance of 1 from the next number of its type."""
        return float(np.finfo(self.dtype.numpy).eps)

    @property
    def tiny(self) -> float:
        """The smallest normal number of its type, times the rows, over epsilon: what LAPACK takes for nothing."""
        return float(np.finfo(self.dtype.numpy).tiny) * self.sizes[1] / self.epsilon

    # constants -----------------------------------------------------------------------------------

    def constant(self, array: Any) -> Matrix:
        """Integers, or booleans."""
        return self.made(self.op.const(array))

    def like(self, other: Matrix | float) -> Matrix:
        """A number as a scalar of this element type."""
        return other if isinstance(other, Matrix) else self.made(self.op.const(other, self.dtype))

    def filled(self, array: np.ndarray[Any, Any]) -> Matrix:
        """A real constant of this element type, with an imaginary part of 0 where this has one."""
        array = array.astype(self.dtype.numpy)
        return self.made(*(self.op.const(array * (not place)) for place in range(len(self.parts))))

    def zeros(self, *shape: int) -> Matrix:
        return self.filled(np.zeros(shape))

    def eye(self, *shape: int) -> Matrix:
        """Unit matrices, which needn't be square."""
        return self.filled(np.broadcast_to(np.eye(shape[-2], shape[-1]), shape))

    def rows(self) -> Matrix:
        """The number of each row, [rows, 1]."""
        return self.constant(np.arange(self.sizes[1])[:, None])

    def columns(self) -> Matrix:
        """The number of each column, [columns]."""
        return self.constant(np.arange(self.sizes[2]))

    # arithmetic ----------------------------------------------------------------------------------

    def each(self, op_type: str, *operands: Value | None, **attributes: Any) -> Matrix:
        """A linear operator on every part."""
        return self.made(*(self.op.call(op_type, part, *operands, **attributes) for part in self.parts))

    def with_real(self, op_type: str, other: Matrix | float) -> Matrix:
        """Each part with the same real value."""
        return self.each(op_type, self.like(other).parts[0])

    def _sum(self, op_type: str, other: Matrix | float) -> Matrix:
        y = self.like(other)
        parts = [self.op.call(op_type, a, b) for a, b in zip(self.parts, y.parts, strict=False)]
        if len(self.parts) != len(y.parts):
            flip = op_type == "Sub" and y.is_complex
            parts.append(self.op.Neg(y.parts[1]) if flip else (*self.parts, *y.parts[1:])[1])
        return self.made(*parts)

    def _product(self, op_type: str, y: Matrix) -> Matrix:
        if not y.is_complex:
            return self.with_real(op_type, y)

        def times(a: Value, b: Value) -> Value:
            return self.op.call(op_type, a, b)

        if not self.is_complex:
            return self.made(*(times(self.parts[0], part) for part in y.parts))
        op, (a, b), (c, d) = self.op, self.parts, y.parts
        return self.made(op.Sub(times(a, c), times(b, d)), op.Add(times(a, d), times(b, c)))

    def __add__(self, other: Matrix | float) -> Matrix:
        return self._sum("Add", other)

    def __sub__(self, other: Matrix | float) -> Matrix:
        return self._sum("Sub", other)

    def __rsub__(self, other: float) -> Matrix:
        return self.like(other) - self

    def __mul__(self, other: Matrix | float) -> Matrix:
        return self._product("Mul", self.like(other))

    def __matmul__(self, other: Matrix) -> Matrix:
        return self._product("MatMul", other)

    def __truediv__(self, other: Matrix | float) -> Matrix:
        """A complex divisor is scaled first, so that its square is neither lost nor infinite."""
        y = self.like(other)
        if not y.is_complex:
            return self.with_real("Div", y)
        size = y.real.abs().maximum(y.imag.abs())
        unit = y / size
        return self * unit.conj() / unit.abs2() / size

    def __rtruediv__(self, other: float) -> Matrix:
        return self.like(other) / self

    def __mod__(self, other: int) -> Matrix:
        return self.with_real("Mod", other)

    __neg__ = _each("Neg")
    __invert__ = _each("Not")
    __lt__ = _compared("Less")
    __le__ = _compared("LessOrEqual")
    __gt__ = _compared("Greater")
    __ge__ = _compared("GreaterOrEqual")
    __and__ = _compared("And")
    __or__ = _compared("Or")
    equals = _compared("Equal")
    maximum = _compared("Max")
    minimum = _compared("Min")
    abs = _each("Abs")
    floor = _each("Floor")
    log = _each("Log")
    round = _each("Round")
    sign = _each("Sign")
    sqrt = _each("Sqrt")
    isnan = _each("IsNaN")

    def power_of_2(self) -> Matrix:
        """2 to this power."""
        return self.like(2.0).with_real("Pow", self)

    def conj(self) -> Matrix:
        return self.made(self.parts[0], self.op.Neg(self.parts[1])) if self.is_complex else self

    def abs1(self) -> Matrix:
        """|re| + |im|, as LAPACK compares complex numbers when it looks for a pivot."""
        return self.real.abs() + self.imag.abs() if self.is_complex else self.abs()

    def abs2(self) -> Matrix:
        """|x|^2."""
        square = self.real * self.real
        return square + self.imag * self.imag if self.is_complex else square

    def is_zero(self) -> Matrix:
        return self.abs1().equals(0) if self.is_complex else self.equals(0)

    def or_one(self) -> Matrix:
        """1 where it is 0, to be divided by."""
        return where(self.is_zero(), 1, self)

    # along axes ----------------------------------------------------------------------------------

    def _reduced(self, op_type: str, axes: Sequence[int], keepdims: bool = True) -> Matrix:
        return self.each(op_type, self.op.const(list(axes)), keepdims=int(keepdims))

    def sum(self, *axes: int) -> Matrix:
        """Axes that are folded stay, as those of size 1."""
        return self._reduced("ReduceSum", axes)

    def max(self, *axes: int) -> Matrix:
        return self._reduced("ReduceMax", axes)

    def norm(self, axis: int) -> Matrix:
        """The length of vectors."""
        return concat(self.real_parts(), axis)._reduced("ReduceL2", [axis])

    def any(self, *axes: int) -> Matrix:
        """Of booleans; of all of them, as a scalar, where no axes are named."""
        flags = self.cast(DType.INT32)
        return (flags.max(*axes) if axes else flags.each("ReduceMax", keepdims=0)).cast(DType.BOOL)

    def argmax(self, axis: int) -> Matrix:
        return self.each("ArgMax", axis=axis, keepdims=1)

    def first_true(self) -> Matrix:
        """The number (from 1, int32) of the first flag of each row that is set; 0 where none is. LAPACK's info."""
        flags = self.cast(DType.INT32)
        return where(self.any(-1), flags.argmax(-1) + 1, 0).squeeze(-1).cast(DType.INT32)

    def sorted(self, count: int, largest: bool) -> tuple[Matrix, Matrix]:
        """The first elements of each row in order, and their places."""
        count_ = self.op.const([count])
        made = self.op.TopK(self.parts[0], count_, _outputs=2, axis=-1, largest=int(largest), sorted=1)
        return self.made(made[0]), self.made(made[1])

    # shapes and places ---------------------------------------------------------------------------

    def cast(self, dtype: DType) -> Matrix:
        return self if self.dtype is dtype else self.each("Cast", to=enum_of(dtype, self.parts[0].name))

    def reshape(self, *shape: int) -> Matrix:
        return self.each("Reshape", self.op.const(list(shape)))

    def unsqueeze(self, *axes: int) -> Matrix:
        return self.each("Unsqueeze", self.op.const(list(axes)))

    def squeeze(self, *axes: int) -> Matrix:
        return self.each("Squeeze", self.op.const(list(axes)))

    def column(self) -> Matrix:
        """Vectors as matrices of one column."""
        return self.unsqueeze(-1)

    def row(self) -> Matrix:
        """Vectors as matrices of one row."""
        return self.unsqueeze(-2)

    def broadcast_to(self, *shape: int) -> Matrix:
        return self.each("Expand", self.op.const(list(shape)))

    @property
    def T(self) -> Matrix:
        rank = len(self.shape)
        return self.each("Transpose", perm=[*range(rank - 2), rank - 1, rank - 2])

    @property
    def H(self) -> Matrix:
        return self.T.conj()

    def at(self, index: Matrix, axis: int = -1) -> Matrix:
        """The elements with these indices along a dimension."""
        return self.each("Gather", index.parts[0], axis=axis)

    def take(self, places: Matrix, axis: int) -> Matrix:
        """For each element the one at a place along a dimension."""
        return self.each("GatherElements", places.parts[0], axis=axis)

    def cut(self, start: int, stop: int, axis: int = -1, step: int = 1) -> Matrix:
        numbers = [self.op.const([number]) for number in (start, stop, axis, step)]
        return self.each("Slice", *(numbers if step != 1 else numbers[:3]))

    def flip(self, *axes: int) -> Matrix:
        """The other way round along these dimensions."""
        last, before = [-1] * len(axes), [_BACK] * len(axes)
        return self.each("Slice", *(self.op.const(list(places)) for places in (last, before, axes, last)))

    def split(self, sizes: Sequence[int], axis: int) -> list[Matrix]:
        count = len(sizes)
        found = [self.op.Split(part, self.op.const(list(sizes)), _outputs=count, axis=axis) for part in self.parts]
        return [self.made(*(part[place] for part in found)) for place in range(count)]

    def pad(self, pads: Sequence[int], axes: Sequence[int], number: float | None = None) -> Matrix:
        """Elements before and behind it along some axes: 0, or a number."""
        fill = None if number is None else self.like(number).parts[0]
        return self.each("Pad", self.op.const(list(pads)), fill, self.op.const(list(axes)))

    def diagonal(self) -> Matrix:
        """The diagonals of matrices."""
        batch, rows, columns = self.sizes
        return self.reshape(*batch, rows * columns).cut(0, min(rows, columns) * (columns + 1), -1, columns + 1)

    def subdiagonal(self) -> Matrix:
        """The elements [batch ..., n - 1] just below the diagonal."""
        return self.cut(1, self.sizes[1], -2).diagonal()

    def superdiagonal(self) -> Matrix:
        """The elements [batch ..., n - 1] just above the diagonal."""
        return self.cut(1, self.sizes[2], -1).diagonal()

    def triangle(self, lower: bool, shift: int = 0) -> Matrix:
        """One triangle of matrices, zeros elsewhere; its edge is so far above the diagonal."""
        return self.each("Trilu", self.op.const(shift), upper=int(not lower))

    def hermitian(self, lower: bool) -> Matrix:
        """The Hermitian matrices of which one triangle is given, and the real part of the diagonal."""
        beside = self.triangle(lower, -1 if lower else 1)
        middle = where(self.constant(np.eye(self.sizes[1], dtype=bool)), self.real, 0)
        return beside + beside.H + middle

    def of_size_one(self) -> tuple[Matrix, Matrix]:
        """(matrices whose largest element is about 1, so that squares are neither lost nor infinite; the factor back).

        The factor (batch ..., 1, 1) is a power of 2: no digit is lost.
        """
        most = 120 if self.dtype is DType.FLOAT32 else 1000
        exponent = (self.abs1().max(-2, -1).or_one().log() * (1 / math.log(2))).floor()
        factor = exponent.maximum(-most).minimum(most).power_of_2()
        return self / factor, factor


def where(condition: Matrix, x: Matrix | float, y: Matrix | float) -> Matrix:
    """x where the condition holds, y elsewhere; complex where one of them is."""
    like = x if isinstance(x, Matrix) else y
    assert isinstance(like, Matrix)
    x, y = like.like(x), like.like(y)
    chosen = condition.parts[0]
    made = [like.op.Where(chosen, a, b) for a, b in zip(x.parts, y.parts, strict=False)]
    if x.is_complex is not y.is_complex:
        zero = like.like(0.0).parts[0]
        made.append(like.op.Where(chosen, (*x.parts, zero)[1], (*y.parts, zero)[1]))
    return like.made(*made)


def concat(arrays: Sequence[Matrix], axis: int) -> Matrix:
    """Arrays with as many parts each, one after the other."""
    first = arrays[0]
    if len(arrays) == 1:
        return first
    return first.made(*(first.op.Concat(*parts, axis=axis) for parts in zip(*(a.parts for a in arrays), strict=True)))
