"""Functions that JAX spells out and ONNX has: 1 / (1 + exp(-x)), and what it makes atan2 of."""

from __future__ import annotations

from ....passes.graph import Node, Value
from ....passes.rewrite import Builder
from .type_legalization import call, filled_with, made_by, number


def sigmoid(op: Builder, numerator: Value, denominator: Value) -> Value | None:
    """1 / (1 + exp(-x)) as Sigmoid, which ONNX defines so; None where that isn't divided."""
    if filled_with(numerator) != 1:
        return None
    exponential = _other(denominator, "Add", 1)
    negated = made_by(_input(exponential, "Exp", 0), "Neg")
    return None if negated is None else call(op, "Sigmoid", _operand(negated, 0))


def inverse(op: Builder, y: Value, x: Value) -> Value | None:
    """atan2(sqrt((1 - z)(1 + z)), z) as Acos, atan2(z, 1 + sqrt((1 - z)(1 + z))) as half an Asin; else None."""
    if _is_leg(y, x):
        return call(op, "Acos", x)
    if _is_leg(_other(x, "Add", 1), y):
        return call(op, "Mul", call(op, "Asin", y), number(op, 0.5, y))
    return None


def _is_leg(value: Value | None, z: Value) -> bool:
    """Whether a value is sqrt((1 - z)(1 + z))."""
    product = made_by(_input(value, "Sqrt", 0), "Mul")
    if product is None:
        return False
    for one, other in (product.inputs, product.inputs[::-1]):
        less = made_by(one, "Sub")
        if less is not None and _other(other, "Add", 1) is z:
            return less.inputs[1] is z and filled_with(_operand(less, 0)) == 1
    return False


def _operand(node: Node, place: int) -> Value:
    value = node.inputs[place]
    assert value is not None
    return value


def _input(value: Value | None, op_type: str, place: int) -> Value | None:
    """An operand of the operator that makes a value, if it is this one."""
    maker = made_by(value, op_type)
    return None if maker is None else maker.inputs[place]


def _other(value: Value | None, op_type: str, item: float) -> Value | None:
    """The operand beside a constant filled with one number, of this operator."""
    maker = made_by(value, op_type)
    if maker is None:
        return None
    for place in range(2):
        if filled_with(_operand(maker, place)) == item:
            return maker.inputs[1 - place]
    return None
