"""Element by element: arithmetic, rounding, extremes, logic, and functions of real numbers.

Floats below 32 bits are computed as float32 in what takes several steps, as XLA does it, and rounded once. What may be
-0 stands where a Where's condition is false: ONNX Runtime makes +0 of it on the other side (to which it brings it as
well where the condition is a Not).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ....passes.build import where
from ....passes.graph import Node, Value
from ....passes.rewrite import Builder, Key, Rule, collect, combine, rule
from ....passes.types import DType
from ... import formulas
from ..dialect import DOMAIN
from ..expression import UNARY
from .arrays import Array, arrays
from .support import Results, filled_with, made_by, operands

_UNARY = {
    **{opcode: name for name, opcode in UNARY.items() if opcode not in ("negate", "not", "sign", "tan")},
    **{name.lower(): name for name in ("Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Cosh", "Sinh")},
}
_BINARY = {
    "add": ("Add", "Or"),
    "and": ("And", "And"),
    "maximum": ("Max", "Or"),
    "minimum": ("Min", "And"),
    "multiply": ("Mul", "And"),
    "or": ("Or", "Or"),
    "subtract": ("Sub", "Xor"),
    "xor": ("Xor", "Xor"),
}
"""Opcode -> the operator, and that on booleans.

Max and Min hand on NaN in ONNX Runtime and in the executor, as in XLA. Of two zeros with different signs XLA takes +0
for the larger one, ONNX says nothing; Max(x, 0) is +0 for -0 in both runtimes, where Relu and Clip give -0. So
maximum(x, 0) stays a Max.
"""
_IN_FLOAT32: dict[str, Callable[..., Value]] = {
    "cbrt": formulas.cbrt,
    "exponential-minus-one": formulas.expm1,
    "log-plus-one": formulas.log1p,
}


def operand_arrays(op: Builder, node: Node, count: int) -> list[Array]:
    """The operands of an operator that broadcasts by itself, see `operands`."""
    return arrays(op, *operands(node, count))


def _unary(target: str) -> Rule:
    return lambda op, node: operand_arrays(op, node, 1)[0].call(target).value()


def _binary(target: str, logical: str) -> Rule:
    def build(op: Builder, node: Node) -> Results:
        a, b = operand_arrays(op, node, 2)
        return a.call(logical if a.dtype is DType.BOOL else target, b).value()

    return build


def _in_float32(formula: Callable[..., Value], count: int = 1) -> Rule:
    """The formula of the operands in at least float32, in their own type again."""

    def build(op: Builder, node: Node) -> Results:
        xs = operand_arrays(op, node, count)
        return xs[0].make(formula(op, *(x.widen().value() for x in xs))).narrow(xs[0].dtype).value()

    return build


def _rows() -> dict[Key, list[Rule]]:
    return {
        **{(DOMAIN, opcode): [_unary(target)] for opcode, target in _UNARY.items()},
        **{(DOMAIN, opcode): [_binary(*targets)] for opcode, targets in _BINARY.items()},
        **{(DOMAIN, opcode): [_in_float32(formula)] for opcode, formula in _IN_FLOAT32.items()},
    }


@rule(DOMAIN, "negate")
def negate(op: Builder, node: Node) -> Results:
    """negate; ONNX's Neg takes no unsigned integers."""
    (x,) = operand_arrays(op, node, 1)
    return (-x if x.dtype.is_signed else 0 - x).value()


@rule(DOMAIN, "not")
def not_(op: Builder, node: Node) -> Results:
    """not: of a pred, or of every bit."""
    (x,) = operand_arrays(op, node, 1)
    return x.call("Not" if x.dtype is DType.BOOL else "BitwiseNot").value()


@rule(DOMAIN, "sign")
def sign(op: Builder, node: Node) -> Results:
    """sign: a zero and NaN stay what they are. ONNX Runtime's Sign makes +0 of -0, and 0 of float16's NaN."""
    (x,) = operand_arrays(op, node, 1)
    return (where(x.abs() > 0, x.sign(), x) if x.dtype.is_float else x.sign()).value()


@rule(DOMAIN, "rsqrt")
def rsqrt(op: Builder, node: Node) -> Results:
    """rsqrt."""
    (x,) = operand_arrays(op, node, 1)
    return x.sqrt().call("Reciprocal").value()


@rule(DOMAIN, "tan")
def tan(op: Builder, node: Node) -> Results:
    """tan; of float64 by Sin and Cos, which ONNX Runtime has."""
    (x,) = operand_arrays(op, node, 1)
    return (x.sin() / x.cos() if x.dtype is DType.FLOAT64 else x.call("Tan")).value()


@rule(DOMAIN, "round-nearest-afz")
def round_away(op: Builder, node: Node) -> Results:
    """round-nearest-afz: as Round, but for halves that Round, which makes them even, moved towards zero."""
    (x,) = operand_arrays(op, node, 1)
    even = x.rint()
    left = x - even  # exact; NaN of an infinity
    return where(left.abs().equals(0.5) & (left * x > 0), x + left, even).value()


@rule(DOMAIN, "is-finite")
def is_finite(op: Builder, node: Node) -> Results:
    """is-finite: NaN isn't less than infinity either."""
    (x,) = operand_arrays(op, node, 1)
    return (x.abs() < math.inf).value()


@rule(DOMAIN, "clamp")
def clamp(op: Builder, node: Node) -> Results:
    """clamp: Clip where the bounds are constant scalars, else Max and Min; NaN in a bound is NaN in the result.

    A bound of zero stays a Max or Min as well: Clip would hand on a -0 where XLA makes it +0.
    """
    low, x, high = operand_arrays(op, node, 3)
    if x.dtype is DType.BOOL:
        return (x.call("Or", low) & high).value()
    bounds = [filled_with(bound.value()) for bound in (low, high)]
    if all(_is_plain(bound, x.dtype) for bound in bounds):
        return x.call("Clip", *bounds).value()
    return x.maximum(low).minimum(high).value()


def _is_plain(bound: Any, dtype: DType) -> bool:
    return bound is not None and not (dtype.is_float and (np.isnan(bound) or bound == 0))


@rule(DOMAIN, "select")
def select(op: Builder, node: Node) -> Results:
    """select; the pred may be a scalar. Of booleans by And and Or, unless both sides are constant.

    (ONNX Runtime's Where makes +0 of a -0 that is chosen because the condition is true.)
    """
    condition, then, otherwise = operand_arrays(op, node, 3)
    if then.dtype is DType.BOOL:
        yes, no = filled_with(then.value()), filled_with(otherwise.value())
        if yes is not None and no is not None and bool(yes) != bool(no):
            made = condition if yes else ~condition
            return made.value() if made.shape == node.output.tensor.shape else None
    return where(condition, then, otherwise).value()


# functions that JAX spells out and ONNX has ----------------------------------------------------------


def sigmoid(numerator: Array, denominator: Array) -> Array | None:
    """1 / (1 + exp(-x)) as Sigmoid, which ONNX defines so; None where that isn't divided."""
    if filled_with(numerator.value()) != 1:
        return None
    exponential = _other(denominator.value(), "Add", 1)
    negated = made_by(_input(exponential, "Exp"), "Neg")
    return None if negated is None else numerator.make(_operand(negated, 0)).call("Sigmoid")


@rule(DOMAIN, "atan2")
def atan2(op: Builder, node: Node) -> Results:
    """atan2, whose second operand is often a positive constant: then it is Atan of the quotient.

    atan2(sqrt((1 - z)(1 + z)), z) is Acos, atan2(z, 1 + sqrt((1 - z)(1 + z))) half an Asin.
    """
    y, x = operand_arrays(op, node, 2)
    if _is_unit_circle_leg(y.value(), x.value()):
        return x.call("Acos").value()
    if _is_unit_circle_leg(_other(x.value(), "Add", 1), y.value()):
        return (y.call("Asin") * 0.5).value()
    return _in_float32(_atan2, 2)(op, node)


def _atan2(op: Builder, y: Value, x: Value) -> Value:
    fixed = filled_with(x)
    if fixed is not None and 0 < fixed < math.inf:
        return op.Atan(y if fixed == 1 else op.Div(y, x))
    return formulas.atan2(op, y, x)


def _is_unit_circle_leg(value: Value | None, z: Value) -> bool:
    """Whether a value is sqrt((1 - z)(1 + z))."""
    product = made_by(_input(value, "Sqrt"), "Mul")
    if product is None:
        return False
    for one, other in (product.inputs, product.inputs[::-1]):
        less = made_by(one, "Sub")
        if less is not None and _other(other, "Add", 1) is z:
            return less.inputs[1] is z and filled_with(_operand(less, 0)) == 1
    return False


def _operand(node: Node, index: int) -> Value:
    value = node.inputs[index]
    assert value is not None
    return value


def _input(value: Value | None, op_type: str) -> Value | None:
    """The operand of the operator that makes a value, if it is this one."""
    maker = made_by(value, op_type)
    return None if maker is None else maker.inputs[0]


def _other(value: Value | None, op_type: str, item: float) -> Value | None:
    """The operand beside a constant filled with one number, of this operator."""
    maker = made_by(value, op_type)
    if maker is None:
        return None
    for index in range(2):
        if filled_with(_operand(maker, index)) == item:
            return maker.inputs[1 - index]
    return None


RULES = combine(collect(globals()), _rows())
