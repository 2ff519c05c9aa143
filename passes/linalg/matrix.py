"""Array expressions for linear algebra: real, integer or boolean arrays are one `Expr`, complex ones two."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import build
from ..build import Expr, expr
from ..errors import Unsupported
from ..graph import Value
from ..rewrite import Builder
from ..sizes import OpenSize, dims_of, largest, smallest
from ..types import DType, TensorType

_Operation = Callable[[Any, Any], Expr]
_Slices = dict[int, slice]


def _each(method: Callable[..., Expr]) -> Callable[..., Matrix]:
    """A linear method of expressions, on every part."""
    return lambda self, *args: Matrix(*(method(part, *args) for part in self.parts))


def _reduction(method: Callable[..., Expr]) -> Callable[..., Matrix]:
    """Along some axes, which stay as those of size 1."""
    return lambda self, *axes: Matrix(*(method(part, *axes, keepdims=True) for part in self.parts))


def _real(method: _Operation) -> Callable[[Matrix, Matrix | float], Matrix]:
    """A method of two real arrays."""
    return lambda self, other: Matrix(method(self.parts[0], self.like(other).parts[0]))


class Matrix:
    """Arrays [batch ..., rows, columns] (or vectors, or scalars); sizes may be open (`OpenSize`).

    Python's operators reckon with them; numbers take the element type, real and complex arrays mix. Comparisons and
    functions that only real numbers have look at the real part.
    """

    __slots__ = ("parts",)

    def __init__(self, *parts: Expr) -> None:
        self.parts = parts

    @staticmethod
    def of(op: Builder, *values: Value) -> Matrix:
        return Matrix(*(expr(op, value) for value in values))

    def values(self) -> list[Value]:
        """The parts in the graph."""
        return [part.value() for part in self.parts]

    # what it is ----------------------------------------------------------------------------------

    @property
    def op(self) -> Builder:
        return self.parts[0].op

    @property
    def dtype(self) -> DType:
        return self.parts[0].dtype

    @property
    def shape(self) -> tuple[int, ...]:
        shape = dims_of(self.parts[0].shape)
        if shape is None:
            raise Unsupported(f"value {self.parts[0].value().name!r}", "a matrix whose sizes only a run tells")
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
        return Matrix(self.parts[0])

    @property
    def imag(self) -> Matrix:
        return Matrix(self.parts[1]) if self.is_complex else self * 0.0

    def with_imag(self) -> Matrix:
        """As complex numbers."""
        return complex_of(self.real, self.imag)

    def real_parts(self) -> list[Matrix]:
        """The real part, and the imaginary one where there is one."""
        return [Matrix(part) for part in self.parts]

    @property
    def epsilon(self) -> float:
        """The distance of 1 from the next number of its type."""
        return float(np.finfo(self.dtype.numpy).eps)

    @property
    def tiny(self) -> Matrix:
        """The smallest normal number of its type, times the rows, over epsilon: what LAPACK takes for nothing."""
        return self.real.like(self.sizes[1]) * (float(np.finfo(self.dtype.numpy).tiny) / self.epsilon)

    # constants -----------------------------------------------------------------------------------

    def constant(self, array: Any) -> Matrix:
        """Integers, or booleans."""
        return Matrix(expr(self.op, array))

    def like(self, other: Matrix | float) -> Matrix:
        """A number as a scalar of this element type."""
        return other if isinstance(other, Matrix) else Matrix(self.parts[0].like(other))

    def full(self, number: float, *shape: int) -> Matrix:
        """One number everywhere, of this element type, with an imaginary part of 0 where this has one."""
        if not any(isinstance(size, OpenSize) for size in shape):
            return Matrix(*(part.like(np.full(shape, number * (not at))) for at, part in enumerate(self.parts)))
        return Matrix(*(part.like(number * (not at)).broadcast_to(*shape) for at, part in enumerate(self.parts)))

    def zeros(self, *shape: int) -> Matrix:
        return self.full(0, *shape)

    def eye(self, *shape: int) -> Matrix:
        """Unit matrices, which needn't be square."""
        rows, columns = map(self.count, shape[-2:])
        real = rows.column().equals(columns).cast(self.dtype).broadcast_to(*shape)
        return complex_of(real, self.real.zeros(*shape)) if self.is_complex else real

    def count(self, size: int) -> Matrix:
        """0, 1 ... size - 1 as int64."""
        return Matrix(build.arange(self.op, size))

    def rows(self) -> Matrix:
        """The number of each row, [rows, 1]."""
        return self.count(self.sizes[1]).column()

    def columns(self) -> Matrix:
        """The number of each column, [columns]."""
        return self.count(self.sizes[2])

    def on_diagonal(self, shift: int = 0) -> Matrix:
        """Whether an element [rows, columns] stands on the diagonal, or so far above it."""
        return (self.rows() + shift).equals(self.columns())

    # arithmetic ----------------------------------------------------------------------------------

    def __add__(self, other: Matrix | float) -> Matrix:
        y = self.like(other)
        beside = (self.parts if self.is_complex else y.parts)[1:]
        both = self.is_complex and y.is_complex
        return Matrix(self.parts[0] + y.parts[0], *([self.parts[1] + y.parts[1]] if both else beside))

    def __sub__(self, other: Matrix | float) -> Matrix:
        y = self.like(other)
        if self.is_complex and y.is_complex:
            return Matrix(*map(operator.sub, self.parts, y.parts))
        return Matrix(self.parts[0] - y.parts[0], *self.parts[1:], *(-part for part in y.parts[1:]))

    def __rsub__(self, other: float) -> Matrix:
        return self.like(other) - self

    def _product(self, times: _Operation, y: Matrix) -> Matrix:
        if not y.is_complex:
            return Matrix(*(times(part, y.parts[0]) for part in self.parts))
        if not self.is_complex:
            return Matrix(*(times(self.parts[0], part) for part in y.parts))
        (a, b), (c, d) = self.parts, y.parts
        return Matrix(times(a, c) - times(b, d), times(a, d) + times(b, c))

    def __mul__(self, other: Matrix | float) -> Matrix:
        return self._product(operator.mul, self.like(other))

    def __matmul__(self, other: Matrix) -> Matrix:
        return self._product(lambda x, y: x.call("MatMul", y), other)

    def __truediv__(self, other: Matrix | float) -> Matrix:
        """A complex divisor is scaled first, so that its square is neither lost nor infinite."""
        y = self.like(other)
        if not y.is_complex:
            return self._product(operator.truediv, y)
        size = y.real.abs().maximum(y.imag.abs())
        unit = y / size
        return self * unit.conj() / unit.abs2() / size

    def __rtruediv__(self, other: float) -> Matrix:
        return self.like(other) / self

    __neg__ = _each(lambda x: -x)
    __invert__ = _each(lambda x: ~x)
    __mod__ = _real(lambda x, y: x.call("Mod", y))
    __lt__ = _real(operator.lt)
    __le__ = _real(operator.le)
    __gt__ = _real(operator.gt)
    __ge__ = _real(operator.ge)
    __and__ = _real(operator.and_)
    __or__ = _real(operator.or_)
    equals = _real(Expr.equals)
    maximum = _real(Expr.maximum)
    minimum = _real(Expr.minimum)
    abs = _each(Expr.abs)
    floor = _each(Expr.floor)
    log = _each(Expr.log)
    round = _each(Expr.rint)
    sign = _each(Expr.sign)
    sqrt = _each(Expr.sqrt)
    isnan = _each(lambda x: x.call("IsNaN"))

    def power_of_2(self) -> Matrix:
        """2 to this power."""
        return Matrix(self.like(2.0).parts[0].call("Pow", self.parts[0]))

    def conj(self) -> Matrix:
        return Matrix(self.parts[0], *(-part for part in self.parts[1:]))

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

    sum = _reduction(Expr.sum)
    max = _reduction(Expr.max)

    def norm(self, axis: int) -> Matrix:
        """The length of vectors."""
        axes = expr(self.op, [axis])
        return Matrix(concat(self.real_parts(), axis).parts[0].call("ReduceL2", axes, keepdims=1))

    def any(self, *axes: int) -> Matrix:
        """Of booleans; of all of them, as a scalar, where no axes are named."""
        flags = self.cast(DType.INT32)
        return (flags.max(*axes) if axes else Matrix(flags.parts[0].max())).cast(DType.BOOL)

    def argmax(self, axis: int) -> Matrix:
        return Matrix(self.parts[0].call("ArgMax", axis=axis, keepdims=1))

    def first_true(self) -> Matrix:
        """The number (from 1, int32) of the first flag of each row that is set; 0 where none is. LAPACK's info."""
        numbers = self.cast(DType.INT32).argmax(-1) + 1
        return where(self.any(-1), numbers, 0).squeeze(-1).cast(DType.INT32)

    def sorted(self, count: int, largest: bool) -> tuple[Matrix, Matrix]:
        """The first elements of each row in order, and their positions."""
        types = [TensorType(dtype, (*self.shape[:-1], count)) for dtype in (self.dtype, DType.INT64)]
        options = {"axis": -1, "largest": int(largest), "sorted": 1}
        found = self.op.TopK(self.parts[0], expr(self.op, [count]), _outputs=2, _types=types, **options)
        values, indices = map(self.parts[0].make, found)
        return Matrix(values), Matrix(indices)

    # shapes and places ---------------------------------------------------------------------------

    cast = _each(Expr.cast)
    reshape = _each(Expr.reshape)
    unsqueeze = _each(Expr.unsqueeze)
    squeeze = _each(Expr.squeeze)
    broadcast_to = _each(Expr.broadcast_to)

    def column(self) -> Matrix:
        """Vectors as matrices of one column."""
        return self.unsqueeze(-1)

    def row(self) -> Matrix:
        """Vectors as matrices of one row."""
        return self.unsqueeze(-2)

    @property
    def T(self) -> Matrix:
        rank = len(self.shape)
        return Matrix(*(part.transpose(*range(rank - 2), rank - 1, rank - 2) for part in self.parts))

    @property
    def H(self) -> Matrix:
        return self.T.conj()

    def at(self, index: Matrix, axis: int = -1) -> Matrix:
        """The elements with these indices along a dimension."""
        return Matrix(*(part.gather(index.parts[0], axis) for part in self.parts))

    def take(self, indices: Matrix, axis: int) -> Matrix:
        """For each element the one at a position along a dimension."""
        return Matrix(*(part.call("GatherElements", indices.parts[0], axis=axis) for part in self.parts))

    def slice(self, start: int, stop: int, axis: int = -1) -> Matrix:
        """The elements from `start` up to `stop`, counted from the front, along a dimension."""
        size = self.shape[axis]
        if (start, stop) == (0, size):
            return self
        return self._sliced({axis: slice(start, stop)})._with_size(self, axis, largest(smallest(stop, size) - start, 0))

    def every(self, step: int, start: int, count: int) -> Matrix:
        """So many elements of each row, `step` apart, the first one at `start`."""
        return self._sliced({-1: slice(start, start + count * step, step)})._with_size(self, -1, count)

    def flip(self, *axes: int) -> Matrix:
        """The other way round along these dimensions."""
        return self._sliced(dict.fromkeys(axes, slice(None, None, -1)))._of_shape(self.shape)

    def _of_shape(self, shape: Sequence[int]) -> Matrix:
        """This, of a shape that operators' inference doesn't find where sizes are open."""
        for part in self.parts:
            if part.array is None and dims_of(part.shape) is None:
                part.value().type = TensorType(part.dtype, tuple(shape))
        return self

    def _with_size(self, like: Matrix, axis: int, size: int) -> Matrix:
        """This, of the shape of another array but for one size."""
        shape = list(like.shape)
        shape[axis] = size
        return self._of_shape(shape)

    def _sliced(self, slices: _Slices) -> Matrix:
        rank = len(self.shape)
        found = {axis % rank: part for axis, part in slices.items()}
        index = tuple(found.get(axis, slice(None)) for axis in range(rank))
        return Matrix(*(part[index] for part in self.parts))

    def split(self, sizes: Sequence[int], axis: int) -> list[Matrix]:
        made = zip(*(part.split(sizes, axis) for part in self.parts), strict=True)
        return [Matrix(*parts)._with_size(self, axis, size) for parts, size in zip(made, sizes, strict=True)]

    def pad(self, pads: Sequence[int], axes: Sequence[int], number: float | None = None) -> Matrix:
        """Elements before and behind it along some axes: 0, or a number."""
        count = len(axes)
        before, behind = pads[:count], pads[count:]
        shape = list(self.shape)
        for axis, low, high in zip(axes, before, behind, strict=True):
            shape[axis] += low + high
        padded = (x.make(build.pad(x.op, x.value(), before, behind, number, axes)) for x in self.parts)
        return Matrix(*padded)._of_shape(shape)

    def diagonal(self) -> Matrix:
        """The diagonals of matrices."""
        batch, rows, columns = self.sizes
        return self.reshape(*batch, rows * columns).every(columns + 1, 0, smallest(rows, columns))

    def subdiagonal(self) -> Matrix:
        """The elements [batch ..., n - 1] just below the diagonal."""
        return self.slice(1, self.sizes[1], -2).diagonal()

    def superdiagonal(self) -> Matrix:
        """The elements [batch ..., n - 1] just above the diagonal."""
        return self.slice(1, self.sizes[2], -1).diagonal()

    def triangle(self, lower: bool, shift: int = 0) -> Matrix:
        """One triangle of matrices, zeros elsewhere; its edge is so far above the diagonal."""
        edge = expr(self.op, shift)
        return Matrix(*(part.call("Trilu", edge, upper=int(not lower)) for part in self.parts))

    def hermitian(self, lower: bool) -> Matrix:
        """The Hermitian matrices of which one triangle is given, and the real part of the diagonal."""
        beside = self.triangle(lower, -1 if lower else 1)
        middle = where(self.on_diagonal(), self.real, 0)
        return beside + beside.H + middle

    def of_size_one(self) -> tuple[Matrix, Matrix]:
        """(matrices whose largest element is about 1, so that squares are neither lost nor infinite; the factor back).

        The factor (batch ..., 1, 1) is a power of 2: no digit is lost.
        """
        most = 120 if self.dtype is DType.FLOAT32 else 1000
        exponent = (self.abs1().max(-2, -1).or_one().log() * (1 / math.log(2))).floor()
        factor = exponent.maximum(-most).minimum(most).power_of_2()
        return self / factor, factor


def complex_of(re: Matrix, im: Matrix) -> Matrix:
    return Matrix(*re.parts, *im.parts)


def where(condition: Matrix, x: Matrix | float, y: Matrix | float) -> Matrix:
    """x where the condition holds, y elsewhere; complex where one of them is."""
    like = x if isinstance(x, Matrix) else y
    assert isinstance(like, Matrix)
    parts = [like.like(side).parts for side in (x, y)]
    width = max(map(len, parts))
    rows = ([*part, like.parts[0].like(0.0)][:width] for part in parts)
    return Matrix(*(build.where(condition.parts[0], a, b) for a, b in zip(*rows, strict=True)))


def concat(arrays: Sequence[Matrix], axis: int) -> Matrix:
    """Arrays with as many parts each, one after the other."""
    made = Matrix(*(build.concat(arrays[0].op, p, axis) for p in zip(*(a.parts for a in arrays), strict=True)))
    return made._with_size(arrays[0], axis, sum(x.shape[axis] for x in arrays))
