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
from ... import formulas
from ..dialect import DOMAIN
from .patterns import inverse
from .support import Results, dtype_of
from .type_legalization import call, filled_with, narrowed, operands, widened

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
    return _in_float32(op, node, formulas.expm1)


@rule(DOMAIN, "log-plus-one")
def log1p(op: Builder, node: Node) -> Results:
    """log-plus-one."""
    return _in_float32(op, node, formulas.log1p)


@rule(DOMAIN, "cbrt")
def cbrt(op: Builder, node: Node) -> Results:
    """cbrt."""
    return _in_float32(op, node, formulas.cbrt)


@rule(DOMAIN, "atan2")
def atan2(op: Builder, node: Node) -> Results:
    """atan2, whose second operand is often a positive constant: then it is Atan of the quotient."""
    return inverse(op, *operands(node, 2)) or _in_float32(op, node, _atan2, 2)


def _atan2(op: Builder, y: Value, x: Value) -> Value:
    fixed = filled_with(x)
    if fixed is not None and 0 < fixed < math.inf:
        return op.Atan(y if fixed == 1 else op.Div(y, x))
    return formulas.atan2(op, y, x)


RULES = combine(collect(globals()), _rows())
