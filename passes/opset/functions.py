"""Real functions before there was such an operator: only by formulas that are accurate."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..errors import Unsupported
from ..graph import Node, Value
from ..preconditions import required
from ..types import DType
from .build import StepBuilder
from .steps import Adapter, Step, as_type, dtype

_F64 = DType.FLOAT64


def _cosh(op: StepBuilder, node: Node) -> Value:
    """Cosh-9, in float64."""
    x = required(node, 0)
    return as_type(op, _even(op, as_type(op, x, _F64)), dtype(node, x))


def _sinh(op: StepBuilder, node: Node) -> Value:
    """Sinh-9, in float64: the hyperbolic tangent is accurate near 0, and the cosine everywhere."""
    x = required(node, 0)
    wide = as_type(op, x, _F64)
    return as_type(op, op.Mul(op.Tanh(wide), _even(op, wide)), dtype(node, x))


def _even(op: StepBuilder, x: Value) -> Value:
    """cosh: (u + 1/u) / 2 with u the exponential, taken as two factors that don't overflow before the result."""
    half = op.const(0.5, _F64)
    root = op.Exp(op.Mul(op.Abs(x), half))
    return op.Add(op.Mul(op.Mul(half, root), root), op.Div(op.Div(half, root), root))


def _wide(formula: Callable[[StepBuilder, Value], Value]) -> Adapter:
    """A function of float32 and float16 computed in float64, as the formula loses digits."""

    def down(op: StepBuilder, node: Node) -> Value:
        x = required(node, 0)
        kind = dtype(node, x)
        if kind is _F64:
            raise Unsupported(node, f"no formula by operators before version {node.version} is accurate for float64")
        return as_type(op, formula(op.at(9), as_type(op, x, _F64)), kind)

    return down


def _near_zero(op: StepBuilder, x: Value, cubic: float, otherwise: Value) -> Value:
    """x * (1 + cubic * x^2) where the next term is lost in float32."""
    series = op.Mul(x, op.Add(op.const(1, _F64), op.Mul(op.const(cubic, _F64), op.Mul(x, x))))
    return op.Where(op.Less(op.Abs(x), op.const(1e-4, _F64)), series, otherwise)


def _asinh(op: StepBuilder, x: Value) -> Value:
    size, one = op.Abs(x), op.const(1, _F64)
    made = op.Log(op.Add(size, op.Sqrt(op.Add(op.Mul(x, x), one))))
    return _near_zero(op, x, -1 / 6, op.Where(op.Less(x, op.const(0, _F64)), op.Neg(made), made))


def _acosh(op: StepBuilder, x: Value) -> Value:
    one = op.const(1, _F64)
    return op.Log(op.Add(x, op.Mul(op.Sqrt(op.Sub(x, one)), op.Sqrt(op.Add(x, one)))))


def _atanh(op: StepBuilder, x: Value) -> Value:
    one = op.const(1, _F64)
    made = op.Log(op.Div(op.Add(one, x), op.Sub(one, x)))
    return _near_zero(op, x, 1 / 3, op.Mul(made, op.const(0.5, _F64)))


_TERMS = 60  # of the series below; what is left out of it is less than 1e-11 of it


def _erf(op: StepBuilder, x: Value) -> Value:
    """2 / sqrt(pi) * exp(-x^2) * x * (1 + 2x^2/3 * (1 + 2x^2/5 * ..)), which adds up without loss; from 4 on float32
    has no number below 1."""
    x, one = op.Clip(x, min=-4.0, max=4.0), op.const(1, _F64)
    square = op.Mul(x, x)
    twice = op.Mul(square, op.const(2, _F64))
    series = one
    for divisor in range(2 * _TERMS + 1, 1, -2):
        series = op.Add(op.Mul(op.Div(twice, op.const(divisor, _F64)), series), one)
    factor = op.Mul(op.Mul(x, op.const(2 / np.sqrt(np.pi), _F64)), op.Exp(op.Neg(square)))
    return op.Mul(factor, series)


ROWS = {
    ("Cosh", 9): Step("Cosh came with version 9", _cosh),
    ("Sinh", 9): Step("Sinh came with version 9", _sinh),
    ("Asinh", 9): Step("Asinh came with version 9", _wide(_asinh)),
    ("Acosh", 9): Step("Acosh came with version 9", _wide(_acosh)),
    ("Atanh", 9): Step("Atanh came with version 9", _wide(_atanh)),
    ("Erf", 9): Step("Erf came with version 9", _wide(_erf)),
}
