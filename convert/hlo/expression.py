"""Array expressions in HLO's opcodes: formulas for what is rewritten within HLO, or lowered to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from ...passes.build import Expr, Operand
from ...passes.build.values import Array
from ...passes.graph import Value
from ...passes.rewrite import Builder
from ...passes.types import DType, Interval, TensorType

COMPARED = {"Equal": "EQ", "Greater": "GT", "GreaterOrEqual": "GE", "Less": "LT", "LessOrEqual": "LE"}
_DIRECTIONS = {**COMPARED, "NotEqual": "NE"}
UNARY = {
    "Abs": "abs",
    "BitwiseNot": "not",
    "Ceil": "ceil",
    "Cos": "cosine",
    "Erf": "erf",
    "Exp": "exponential",
    "Floor": "floor",
    "Log": "log",
    "Neg": "negate",
    "Not": "not",
    "Round": "round-nearest-even",
    "Sigmoid": "logistic",
    "Sign": "sign",
    "Sin": "sine",
    "Sqrt": "sqrt",
    "Tan": "tan",
    "Tanh": "tanh",
}
BINARY = {
    "Add": "add",
    "And": "and",
    "BitwiseAnd": "and",
    "BitwiseOr": "or",
    "BitwiseXor": "xor",
    "Div": "divide",
    "Max": "maximum",
    "Min": "minimum",
    "Mul": "multiply",
    "Or": "or",
    "Pow": "power",
    "Sub": "subtract",
    "Xor": "xor",
}
OPCODES = {**UNARY, **BINARY, "Where": "select"}
"""Operators of the hub that are one opcode, on operands of one shape."""


class HloExpr(Expr):
    """An array expression in HLO: opcodes broadcast nothing, so numbers are repeated in the shape of the others."""

    __slots__ = ()

    def built(self, op_type: str, operands: Sequence[Expr], kind: DType | None = None, **attributes: Any) -> Self:
        whole = next(operand.value() for operand in operands if operand.array is None)
        values = [self.filled(x.array, whole) if x.array is not None else x.value() for x in operands]
        if op_type in _DIRECTIONS:
            return self.make(self.op.compare(*values, direction=_DIRECTIONS[op_type]))
        return self.make(self.op.call(OPCODES.get(op_type, op_type), *values, **attributes))

    def scalar(self, array: Array) -> Value:
        """A constant scalar."""
        return self.op.const(array)

    def filled(self, array: Array, like: Value) -> Value:
        """A number everywhere in the shape of a value; an array of that shape as it is.

        Where a size has a bound the value says what it is: a scalar that is repeated doesn't.
        """
        if array.ndim or not like.rank:
            return self.op.const(np.ascontiguousarray(array)) if array.ndim else self.scalar(array)
        shape = like.tensor.shape or ()
        whole = tuple(dim.upper if isinstance(dim, Interval) else dim for dim in shape)
        type = TensorType(DType.of(array.dtype), whole)
        made = self.op.call("broadcast", self.scalar(array), dimensions=(), _types=[type])
        for axis in (axis for axis, dim in enumerate(shape) if isinstance(dim, Interval)):
            size = self.op.call("get-dimension-size", like, dimensions=(axis,))
            made = self.op.call("set-dimension-size", made, size, dimensions=(axis,))
        return made

    def full_like(self, number: float) -> Self:
        return self.make(self.filled(self.like(number).known, self.value()))

    def differs(self, other: Operand) -> Self:
        """Whether two aren't equal: NaN isn't even equal to itself."""
        return self.call("NotEqual", other)

    def expm1(self) -> Self:
        """exp(x) - 1, exact near 0."""
        return self.call("exponential-minus-one")

    def log1p(self) -> Self:
        """log(1 + x), exact near 0."""
        return self.call("log-plus-one")

    def atan2(self, x: Operand) -> Self:
        """The angle of the point (x, self)."""
        return self.call("atan2", x)

    def tanh(self) -> Self:
        return self.call("Tanh")


def expressions(op: Builder, *values: Value) -> list[HloExpr]:
    """Values as expressions that aren't looked into."""
    return [HloExpr(op, value) for value in values]
