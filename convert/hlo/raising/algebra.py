"""Arithmetic for decompositions, of real and of complex matrices alike: a number is one value, or two (re, im)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ....passes.graph import Value
from ....passes.rewrite import Builder
from ....passes.types import DType

Number = tuple[Value, ...]


def sizes(x: Number) -> tuple[tuple[int, ...], int, int]:
    """(batch dimensions, rows, columns) of matrices; all sizes must be known. Of vectors there is 1 row."""
    shape = x[0].tensor.static_shape
    assert shape is not None, x
    *batch, columns = shape
    rows = batch.pop() if batch else 1
    return tuple(batch), rows, columns


def epsilon(x: Number) -> float:
    """The distance of 1 from the next number of its type."""
    return float(np.finfo((x[0].tensor.dtype or DType.FLOAT32).numpy).eps)


class Algebra:
    """Builds with `op`. Dimensions: (batch ..., rows, columns), all sizes known."""

    def __init__(self, op: Builder) -> None:
        self.op = op

    def each(self, op_type: str, x: Number, *operands: Value | None, **attributes: Any) -> Number:
        """A linear operator on every part."""
        return tuple(self.op.call(op_type, part, *operands, **attributes) for part in x)

    def both(self, op_type: str, x: Number, y: Number) -> Number:
        return tuple(self.op.call(op_type, a, b) for a, b in zip(x, y, strict=True))

    def add(self, x: Number, y: Number) -> Number:
        return self.both("Add", x, y)

    def subtract(self, x: Number, y: Number) -> Number:
        return self.both("Sub", x, y)

    def product(self, x: Number, y: Number, op_type: str = "Mul") -> Number:
        """x * y, or the product of matrices with "MatMul"."""

        def times(a: Value, b: Value) -> Value:
            return self.op.call(op_type, a, b)

        if len(x) == 1:
            return (times(x[0], y[0]),)
        op, (a, b), (c, d) = self.op, x, y
        return op.Sub(times(a, c), times(b, d)), op.Add(times(a, d), times(b, c))

    def matmul(self, x: Number, y: Number) -> Number:
        return self.product(x, y, "MatMul")

    def scaled(self, x: Number, factor: Value) -> Number:
        return self.each("Mul", x, factor)

    def over(self, x: Number, divisor: Value) -> Number:
        """x over a real number."""
        return self.each("Div", x, divisor)

    def quotient(self, x: Number, y: Number) -> Number:
        """x / y; a complex y is scaled first, so that its square is neither lost nor infinite."""
        op = self.op
        if len(x) == 1:
            return (op.Div(x[0], y[0]),)
        size = op.Max(op.Abs(y[0]), op.Abs(y[1]))
        unit = self.over(y, size)
        return self.over(self.over(self.product(x, self.conjugate(unit)), self.square(unit)), size)

    def conjugate(self, x: Number) -> Number:
        return x if len(x) == 1 else (x[0], self.op.Neg(x[1]))

    def adjoint(self, x: Number) -> Number:
        return self.conjugate(self.transposed(x))

    def square(self, x: Number) -> Value:
        """|x|^2."""
        op = self.op
        real = op.Mul(x[0], x[0])
        return real if len(x) == 1 else op.Add(real, op.Mul(x[1], x[1]))

    def weight(self, x: Number) -> Value:
        """|re| + |im|, as LAPACK compares complex numbers when it looks for a pivot."""
        op = self.op
        return op.Abs(x[0]) if len(x) == 1 else op.Add(op.Abs(x[0]), op.Abs(x[1]))

    def norm(self, x: Number) -> Value:
        """The length of vectors (the last dimension)."""
        whole = x[0] if len(x) == 1 else self.op.Concat(*x, axis=-1)
        return self.op.ReduceL2(whole, self.op.const([-1]), keepdims=0)

    def where(self, condition: Value, x: Number, y: Number) -> Number:
        return tuple(self.op.Where(condition, a, b) for a, b in zip(x, y, strict=True))

    def real(self, re: Value, like: Number) -> Number:
        """A real value as a number like another."""
        return (re,) if len(like) == 1 else (re, self.op.Mul(re, self.scalar(0.0, like)))

    def of_size_one(self, x: Number) -> tuple[Number, Value]:
        """(matrices whose largest element is about 1, so that squares are neither lost nor infinite; the factor back).

        The factor (batch ..., 1, 1) is a power of 2: no digit is lost.
        """
        op, most = self.op, 120 if x[0].tensor.dtype is DType.FLOAT32 else 1000
        size = op.ReduceMax(self.weight(x), op.const([-2, -1]), keepdims=1)
        size = op.Where(op.Equal(size, self.scalar(0.0, x)), self.scalar(1.0, x), size)
        exponent = op.Floor(op.Mul(op.Log(size), self.scalar(1 / math.log(2), x)))
        exponent = op.Min(op.Max(exponent, self.scalar(-most, x)), self.scalar(most, x))
        factor = op.Pow(self.scalar(2.0, x), exponent)
        return self.over(x, factor), factor

    # shapes and places ---------------------------------------------------------------------------

    def scalar(self, number: float, like: Number) -> Value:
        return self.op.const(number, like[0].tensor.dtype or DType.FLOAT32)

    def zeros(self, shape: tuple[int, ...], like: Number) -> Number:
        zero = np.zeros(shape, (like[0].tensor.dtype or DType.FLOAT32).numpy)
        return tuple(self.op.const(zero) for _ in like)

    def unit(self, shape: tuple[int, ...], like: Number) -> Number:
        """Unit matrices, which needn't be square."""
        one = np.broadcast_to(np.eye(shape[-2], shape[-1]), shape).astype((like[0].tensor.dtype or DType.FLOAT32).numpy)
        return (self.op.const(one), *self.zeros(shape, like)[1:])

    def transposed(self, x: Number) -> Number:
        rank = x[0].rank or 0
        return self.each("Transpose", x, perm=[*range(rank - 2), rank - 1, rank - 2])

    def flipped(self, x: Number, axes: tuple[int, ...] = (-1,)) -> Number:
        """The other way round along these dimensions."""
        last, before = [-1] * len(axes), [-(2**31)] * len(axes)
        return self.each("Slice", x, *(self.op.const(list(places)) for places in (last, before, axes, last)))

    def column(self, x: Number) -> Number:
        """Vectors as matrices of one column."""
        return self.each("Unsqueeze", x, self.op.const([-1]))

    def row(self, x: Number) -> Number:
        """Vectors as matrices of one row."""
        return self.each("Unsqueeze", x, self.op.const([-2]))

    def at(self, x: Number, index: Value, axis: int = -1) -> Number:
        """The element with this index along a dimension."""
        return self.each("Gather", x, index, axis=axis)

    def diagonal(self, x: Number) -> Number:
        """The diagonals of matrices."""
        batch, rows, columns = sizes(x)
        count, one = min(rows, columns), self.op.const([-1])
        flat = self.each("Reshape", x, self.op.const([*batch, rows * columns]))
        places = [self.op.const([number]) for number in (0, count * (columns + 1), columns + 1)]
        return self.each("Slice", flat, places[0], places[1], one, places[2])

    def triangle(self, x: Number, lower: bool, strict: bool = False) -> Number:
        """One triangle of matrices, zeros elsewhere; `strict` without the diagonal."""
        shift = (-1 if lower else 1) if strict else 0
        return self.each("Trilu", x, self.op.const(shift), upper=int(not lower))
