"""Functions of real numbers that ONNX hasn't, put together from its operators without losing digits.

All are of values of one float type, which the result has as well. What may be -0 stands where a Where's condition is
false: ONNX Runtime makes +0 of it on the other side (to which it brings it as well where the condition is a Not).
"""

from __future__ import annotations

import math

from ..passes.graph import Value
from ..passes.protos import enum_of
from ..passes.rewrite import Builder
from ..passes.types import DType


def number(op: Builder, item: float, like: Value) -> Value:
    """A scalar of the element type of `like`."""
    return op.const(item, like.tensor.dtype)


def expm1(op: Builder, x: Value) -> Value:
    """tanh(x/2) * (exp(x) + 1): nothing cancels, and small x, both zeros and infinities come out right."""
    return op.Mul(op.Tanh(op.Mul(x, number(op, 0.5, x))), op.Add(op.Exp(x), number(op, 1, x)))


def log1p(op: Builder, x: Value) -> Value:
    """log(u) * x / (u - 1) with u = 1 + x: what u lost in rounding is lost in u - 1 too. Where u is 1, x itself;
    where u - 1 is x, infinite ones among them, log(u)."""
    one = number(op, 1, x)
    above = op.Add(x, one)
    kept = op.Sub(above, one)
    exact = op.Equal(kept, x)
    scale = op.Where(exact, one, op.Div(x, kept))
    return op.Where(op.Greater(op.Abs(kept), number(op, 0, x)), op.Mul(op.Log(above), scale), x)


def cbrt(op: Builder, x: Value) -> Value:
    """The power 1/3 of the magnitude, of float32 as float64, of float64 with a step of Newton's for the digits that
    1/3 lacks; where that isn't a number (zeros, infinities) the power stands."""
    dtype = x.tensor.dtype
    wide = x if dtype is DType.FLOAT64 else op.Cast(x, to=enum_of(DType.FLOAT64, x.name))
    size = op.Abs(wide)
    third = number(op, 1 / 3, wide)
    root = op.Pow(size, third)
    if dtype is DType.FLOAT64:
        step = op.Mul(op.Sub(root, op.Div(size, op.Mul(root, root))), third)
        root = op.Where(op.IsNaN(step), root, op.Sub(root, step))
    root = op.Where(op.Less(wide, number(op, 0, wide)), op.Neg(root), root)
    if dtype is not DType.FLOAT64:
        root = op.Cast(root, to=enum_of(dtype or DType.FLOAT32, x.name))
    return op.Where(op.Greater(size, number(op, 0, wide)), root, x)


def atan2(op: Builder, y: Value, x: Value) -> Value:
    """Atan(y / x), turned by half a circle where x has a minus, a zero's as well."""
    zero, one, pi = number(op, 0, y), number(op, 1, y), number(op, math.pi, y)
    left, below = has_minus(op, x), has_minus(op, y)
    zeros = op.And(op.Equal(y, zero), op.Equal(x, zero))
    infinities = op.And(op.IsInf(y), op.IsInf(x))
    above = op.Where(infinities, op.Where(op.Xor(left, below), op.Neg(one), one), y)
    quotient = op.Div(above, op.Where(op.Or(zeros, infinities), one, x))
    angle = op.Atan(quotient)
    turned = op.Add(angle, op.Where(below, op.Neg(pi), pi))
    return op.Where(left, turned, angle)


def has_minus(op: Builder, value: Value) -> Value:
    """Whether the sign is set; a zero's is seen in what it divides."""
    zero = number(op, 0, value)
    return op.Less(op.Where(op.Equal(value, zero), op.Reciprocal(value), value), zero)
