"""Element by element, one operator for one opcode or nearly so: arithmetic, rounding, extremes, logic."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ....passes.graph import Node, Value
from ....passes.rewrite import Builder, Key, Rule, collect, combine, rule
from ....passes.types import DType
from ..dialect import DOMAIN
from .support import Results, dtype_of
from .type_legalization import call, filled_with, number, operands

_UNARY = {
    "abs": "Abs",
    "ceil": "Ceil",
    "cosine": "Cos",
    "exponential": "Exp",
    "floor": "Floor",
    "log": "Log",
    "logistic": "Sigmoid",
    "round-nearest-even": "Round",
    "sine": "Sin",
    "sqrt": "Sqrt",
    "tanh": "Tanh",
}
_BINARY = {
    "add": ("Add", "Or"),
    "and": ("BitwiseAnd", "And"),
    "maximum": ("Max", "Or"),
    "minimum": ("Min", "And"),
    "multiply": ("Mul", "And"),
    "or": ("BitwiseOr", "Or"),
    "subtract": ("Sub", "Xor"),
    "xor": ("BitwiseXor", "Xor"),
}
"""Opcode -> the operator, and that on booleans.

Max and Min hand on NaN in ONNX Runtime and in the executor, as in XLA. Of two zeros with different signs XLA takes +0
for the larger one, ONNX says nothing; Max(x, 0) is +0 for -0 in both runtimes, where Relu and Clip give -0. So
maximum(x, 0) stays a Max.
"""


def _unary(target: str) -> Rule:
    return lambda op, node: call(op, target, *operands(node, 1))


def _binary(target: str, logical: str) -> Rule:
    def build(op: Builder, node: Node) -> Results:
        a, b = operands(node, 2)
        return op.call(logical, a, b) if dtype_of(node, a) is DType.BOOL else call(op, target, a, b)

    return build


def _rows() -> dict[Key, list[Rule]]:
    unary = {(DOMAIN, opcode): [_unary(target)] for opcode, target in _UNARY.items()}
    return unary | {(DOMAIN, opcode): [_binary(*targets)] for opcode, targets in _BINARY.items()}


@rule(DOMAIN, "negate")
def negate(op: Builder, node: Node) -> Results:
    """negate; ONNX's Neg takes no unsigned integers."""
    (x,) = operands(node, 1)
    if dtype_of(node, x).is_signed:
        return call(op, "Neg", x)
    return call(op, "Sub", number(op, 0, x), x)


@rule(DOMAIN, "not")
def not_(op: Builder, node: Node) -> Results:
    """not: of a pred, or of every bit."""
    (x,) = operands(node, 1)
    return op.Not(x) if dtype_of(node, x) is DType.BOOL else call(op, "BitwiseNot", x)


@rule(DOMAIN, "sign")
def sign(op: Builder, node: Node) -> Results:
    """sign: a zero and NaN stay what they are. ONNX Runtime's Sign makes +0 of -0, and 0 of float16's NaN."""
    (x,) = operands(node, 1)
    if not dtype_of(node, x).is_float:
        return call(op, "Sign", x)
    return call(op, "Where", call(op, "Greater", call(op, "Abs", x), number(op, 0, x)), call(op, "Sign", x), x)


@rule(DOMAIN, "rsqrt")
def rsqrt(op: Builder, node: Node) -> Results:
    """rsqrt."""
    (x,) = operands(node, 1)
    return call(op, "Reciprocal", call(op, "Sqrt", x))


@rule(DOMAIN, "round-nearest-afz")
def round_away(op: Builder, node: Node) -> Results:
    """round-nearest-afz: as Round, but for halves that Round, which makes them even, moved towards zero."""
    (x,) = operands(node, 1)
    even = call(op, "Round", x)
    left = call(op, "Sub", x, even)  # exact; NaN of an infinity
    half = call(op, "Equal", call(op, "Abs", left), number(op, 0.5, x))
    inwards = call(op, "Greater", call(op, "Mul", left, x), number(op, 0, x))
    return call(op, "Where", op.And(half, inwards), call(op, "Add", x, left), even)


@rule(DOMAIN, "is-finite")
def is_finite(op: Builder, node: Node) -> Results:
    """is-finite: NaN isn't less than infinity either."""
    (x,) = operands(node, 1)
    return call(op, "Less", call(op, "Abs", x), number(op, math.inf, x))


@rule(DOMAIN, "clamp")
def clamp(op: Builder, node: Node) -> Results:
    """clamp: Clip where the bounds are constant scalars, else Max and Min; NaN in a bound is NaN in the result.

    A bound of zero stays a Max or Min as well: Clip would hand on a -0 where XLA makes it +0.
    """
    low, x, high = operands(node, 3)
    dtype = dtype_of(node, x)
    if dtype is DType.BOOL:
        return op.And(op.Or(x, low), high)
    bounds = [filled_with(low), filled_with(high)]
    if all(_is_plain(bound, dtype) for bound in bounds):
        return call(op, "Clip", *(_as_scalars(op, x, bounds)))
    return call(op, "Min", call(op, "Max", x, low), high)


def _is_plain(bound: Any, dtype: DType) -> bool:
    return bound is not None and not (dtype.is_float and (np.isnan(bound) or bound == 0))


def _as_scalars(op: Builder, x: Value, bounds: list[Any]) -> list[Value]:
    return [x, *(number(op, bound, x) for bound in bounds)]


@rule(DOMAIN, "select")
def select(op: Builder, node: Node) -> Results:
    """select; the pred may be a scalar. ONNX Runtime has no Where of booleans, which And and Or say as well.

    (Its Where makes +0 of a -0 that is chosen because the condition is true.)
    """
    condition, chosen, other = operands(node, 3)
    if dtype_of(node, chosen) is not DType.BOOL:
        return call(op, "Where", condition, chosen, other)
    yes, no = filled_with(chosen), filled_with(other)
    if yes is not None and no is not None and bool(yes) != bool(no):
        made = condition if yes else op.Not(condition)
        return made if made.tensor.shape == node.output.tensor.shape else None
    return op.Or(op.And(condition, chosen), op.And(op.Not(condition), other))


RULES = combine(collect(globals()), _rows())
