"""Elementwise operators: broadcasting before version 7, casts, more element types, functions by accurate formulas."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from onnx import TensorProto

from ..errors import Unsupported
from ..graph import Node, Value
from ..preconditions import required
from ..types import DType
from .build import StepBuilder
from .steps import (
    SHORT_INTEGERS,
    Adapter,
    Made,
    Step,
    as_type,
    attribute,
    both,
    changed,
    defaults,
    dropped,
    dtype,
    fixed,
    given,
    rank,
    rows,
    same,
    through,
)

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


# broadcasting ------------------------------------------------------------------------------------


def _aligned(op: StepBuilder, node: Node) -> Made:
    """B was laid along A from `axis` on (from its end without one) where `broadcast` was set."""
    plain = changed(node, without=("axis", "broadcast"))
    axis = attribute(node, "axis", -1)
    if not attribute(node, "broadcast", 0) or axis == -1:
        return plain
    a, b = required(node, 0), required(node, 1)
    if b.tensor.static_shape is not None and not any(size != 1 for size in b.tensor.static_shape):
        return plain  # one element fits everywhere
    behind = rank(node, a) - axis % rank(node, a) - rank(node, b)
    if behind < 0:
        raise Unsupported(node, f"B of rank {rank(node, b)} doesn't fit A of rank {rank(node, a)} from axis {axis} on")
    if behind:
        size = rank(node, b)
        plain.inputs[1] = op.Unsqueeze(b, axes=list(range(size, size + behind)))
    return plain


def _along(op: StepBuilder, node: Node) -> Made:
    """What B has besides ones in front must end A's shape (Gemm: C the result's); `broadcast` says so."""
    *_, b = node.formal_inputs
    a = node.outputs[0] if node.op_type == "Gemm" else node.inputs[0]
    whole, part = fixed(node, a), fixed(node, b)
    if whole == part:
        return None
    if len(part) > len(whole) or (part != whole[len(whole) - len(part) :] and any(size != 1 for size in part)):
        raise Unsupported(node, f"{part} is broadcast to {whole} in a way that came with version {node.version}")
    return changed(node, broadcast=1)


def _per_channel(op: StepBuilder, node: Node) -> Made:
    """PRelu: a slope of more than one element was one for each channel (axis 1)."""
    x, slope = required(node, 0), required(node, 1)
    shape = slope.tensor.shape
    if shape is not None and (len(shape) != 1 or shape[0] == 1):
        return None
    size = rank(node, x)
    if shape is None:
        raise Unsupported(node, "the rank of the slope isn't known")
    channels = x.tensor.shape[1] if x.tensor.shape is not None and size > 1 else None
    if size < 3 or (isinstance(channels, int) and isinstance(shape[0], int) and channels != shape[0]):
        return None
    return changed(node, inputs=[x, op.Unsqueeze(slope, axes=list(range(1, size - 1)))])


# Cast ------------------------------------------------------------------------------------------

_TYPE_NAMES = {name: number for name, number in TensorProto.DataType.items() if number}


def _cast_number(op: StepBuilder, node: Node) -> Made:
    """The target type was spelled."""
    name = given(node, "to")
    if isinstance(name, int):
        return None
    if not isinstance(name, str) or name.upper() not in _TYPE_NAMES:
        raise Unsupported(node, f"no element type {name!r}")
    return changed(node, to=_TYPE_NAMES[name.upper()])


def _cast_name(op: StepBuilder, node: Node) -> Made:
    return changed(node, to=TensorProto.DataType.Name(given(node, "to")))


def _irrelevant(name: str) -> Step:
    """A new attribute that speaks of types only that came with it, or with a version before it."""
    return Step(same, lambda op, node: changed(node, without=(name,)))


# others ------------------------------------------------------------------------------------------


def _through_float(op: StepBuilder, node: Node) -> Made:
    """Erf of integers: computed in float64 and cut off."""
    x = required(node, 0)
    kind = dtype(node, x)
    if kind.is_float:
        return None
    return as_type(op, op.Erf(as_type(op, x, DType.FLOAT64)), kind)


_CONSUMED = dropped("consumed_inputs")


ROWS = {
    ("Cosh", 9): Step("Cosh came with version 9", _cosh),
    ("Sinh", 9): Step("Sinh came with version 9", _sinh),
    ("Asinh", 9): Step("Asinh came with version 9", _wide(_asinh)),
    ("Acosh", 9): Step("Acosh came with version 9", _wide(_acosh)),
    ("Atanh", 9): Step("Atanh came with version 9", _wide(_atanh)),
    ("Erf", 9): Step("Erf came with version 9", _wide(_erf)),
    **rows(
        "Abs Ceil Clip Elu Exp Floor HardSigmoid LeakyRelu Log Max Mean Min Neg PRelu Reciprocal Relu Sigmoid Sqrt"
        " Clip Sum Tanh Add Div Mul Sub Dropout InstanceNormalization",
        6,
        _CONSUMED,
    ),
    ("Selu", 6): both(
        _CONSUMED,
        defaults(
            {"alpha": 1.6732, "gamma": 1.0507},
            {"alpha": 1.67326319217681884765625, "gamma": 1.05070102214813232421875},
        ),
    ),
    **rows("Add Div Mul Sub And Equal Greater Less Or Pow Xor", 7, Step(_aligned, _along)),
    ("Gemm", 7): Step(lambda op, node: changed(node, without=("broadcast",)), _along),
    ("PRelu", 7): Step(_per_channel, "slopes before version 7 were for one channel each, or a single one"),
    **rows("Add Div Mul Sub", 14, through(DType.INT64, *SHORT_INTEGERS)),
    ("IsInf", 20): through(DType.FLOAT32, DType.FLOAT16, DType.BFLOAT16),
    ("Cast", 6): Step(_cast_number, _cast_name),
    ("Cast", 9): Step(_cast_number, same),  # models of opset 6 went on spelling for a while
    **rows("Cast CastLike", 19, _irrelevant("saturate")),
    **rows("Cast CastLike", 24, _irrelevant("round_mode")),
    ("Erf", 13): Step(_through_float, same),
}
