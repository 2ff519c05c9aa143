"""Functions of real numbers: those that ONNX has, and those put together from them without losing digits.

Floats below 32 bits are computed as float32 in what takes several steps, as XLA does it, and rounded once. What may be
-0 stands where a Where's condition is false: ONNX Runtime makes +0 of it on the other side (to
which it brings it as well where the condition is a Not).
"""

from __future__ import annotations

import math
from collections.abc import Callable

from ....passes.graph import Node, Value
from ....passes.rewrite import Builder, Key, Rule, collect, combine, rule
from ....passes.types import DType
from ..dialect import DOMAIN
from .idioms import inverse
from .support import Results, cast, dtype_of
from .typed import call, filled_with, narrowed, number, operands, widened

_SAME = {
    "acos": "Acos",
    "acosh": "Acosh",
    "asin": "Asin",
    "asinh": "Asinh",
    "atan": "Atan",
    "atanh": "Atanh",
    "cosh": "Cosh",
    "erf": "Erf",
    "sinh": "Sinh",
}


def _same(target: str) -> Rule:
    return lambda op, node: call(op, target, *operands(node, 1))


def _rows() -> dict[Key, list[Rule]]:
    return {(DOMAIN, opcode): [_same(target)] for opcode, target in _SAME.items()}


def _in_float32(op: Builder, node: Node, formula: Callable[..., Value], count: int = 1) -> Value:
    """The formula of the operands in at least float32, in their own type again."""
    values = operands(node, count)
    dtype = dtype_of(node, values[0])
    return narrowed(op, formula(op, *(widened(op, value) for value in values)), dtype)


@rule(DOMAIN, "tan")
def tan(op: Builder, node: Node) -> Results:
    """tan; of float64 by Sin and Cos, which ONNX Runtime has."""
    (x,) = operands(node, 1)
    if dtype_of(node, x) is DType.FLOAT64:
        return op.Div(op.Sin(x), op.Cos(x))
    return call(op, "Tan", x)


@rule(DOMAIN, "exponential-minus-one")
def expm1(op: Builder, node: Node) -> Results:
    """exponential-minus-one."""
    return _in_float32(op, node, _expm1)


def _expm1(op: Builder, x: Value) -> Value:
    """tanh(x/2) * (exp(x) + 1): nothing cancels, and small x, both zeros and infinities come out right."""
    return op.Mul(op.Tanh(op.Mul(x, number(op, 0.5, x))), op.Add(op.Exp(x), number(op, 1, x)))


@rule(DOMAIN, "log-plus-one")
def log1p(op: Builder, node: Node) -> Results:
    """log-plus-one."""
    return _in_float32(op, node, _log1p)


def _log1p(op: Builder, x: Value) -> Value:
    """log(u) * x / (u - 1) with u = 1 + x: what u lost in rounding is lost in u - 1 too. Where u is 1, x itself;
    where u - 1 is x, infinite ones among them, log(u)."""
    one = number(op, 1, x)
    above = op.Add(x, one)
    kept = op.Sub(above, one)
    exact = op.Equal(kept, x)
    scale = op.Where(exact, one, op.Div(x, kept))
    return op.Where(op.Greater(op.Abs(kept), number(op, 0, x)), op.Mul(op.Log(above), scale), x)


@rule(DOMAIN, "cbrt")
def cbrt(op: Builder, node: Node) -> Results:
    """cbrt."""
    return _in_float32(op, node, _cbrt)


def _cbrt(op: Builder, x: Value) -> Value:
    """The power 1/3 of the magnitude, of float32 as float64, of float64 with a step of Newton's for the digits that
    1/3 lacks; where that isn't a number (zeros, infinities) the power stands."""
    dtype = x.tensor.dtype
    wide = cast(op, x, DType.FLOAT64)
    size = op.Abs(wide)
    third = number(op, 1 / 3, wide)
    root = op.Pow(size, third)
    if dtype is DType.FLOAT64:
        step = op.Mul(op.Sub(root, op.Div(size, op.Mul(root, root))), third)
        root = op.Where(op.IsNaN(step), root, op.Sub(root, step))
    root = cast(op, op.Where(op.Less(wide, number(op, 0, wide)), op.Neg(root), root), dtype or DType.FLOAT32)
    return op.Where(op.Greater(size, number(op, 0, wide)), root, x)


@rule(DOMAIN, "atan2")
def atan2(op: Builder, node: Node) -> Results:
    """atan2, whose second operand is often a positive constant: then it is Atan of the quotient."""
    return inverse(op, *operands(node, 2)) or _in_float32(op, node, _atan2, 2)


def _atan2(op: Builder, y: Value, x: Value) -> Value:
    """Atan(y / x), turned by half a circle where x has a minus, a zero's as well."""
    fixed = filled_with(x)
    if fixed is not None and 0 < fixed < math.inf:
        return op.Atan(y if fixed == 1 else op.Div(y, x))
    zero, one, pi = number(op, 0, y), number(op, 1, y), number(op, math.pi, y)
    left, below = _has_minus(op, x), _has_minus(op, y)
    zeros = op.And(op.Equal(y, zero), op.Equal(x, zero))
    infinities = op.And(op.IsInf(y), op.IsInf(x))
    above = op.Where(infinities, op.Where(op.Xor(left, below), op.Neg(one), one), y)
    quotient = op.Div(above, op.Where(op.Or(zeros, infinities), one, x))
    angle = op.Atan(quotient)
    turned = op.Add(angle, op.Where(below, op.Neg(pi), pi))
    return op.Where(left, turned, angle)


def _has_minus(op: Builder, value: Value) -> Value:
    """Whether the sign is set; a zero's is seen in what it divides."""
    zero = number(op, 0, value)
    return op.Less(op.Where(op.Equal(value, zero), op.Reciprocal(value), value), zero)


RULES = combine(collect(globals()), _rows())
