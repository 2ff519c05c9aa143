"""Elementwise operators: broadcasting before version 7, casts, more element types, functions by accurate formulas."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from onnx import TensorProto

from ..build import Expr, expr, where
from ..errors import Unsupported
from ..graph import Node, Value
from ..preconditions import dtype_of, rank_of, required
from ..types import DType
from .build import StepBuilder
from .regular_steps import both, defaults, dropped, through
from .steps import (
    SHORT_INTEGERS,
    Adapter,
    Made,
    Step,
    as_type,
    attribute,
    changed,
    required_attribute,
    rows,
    same,
    static_shape,
)

_F64 = DType.FLOAT64


def _wide(formula: Callable[[Expr], Expr], accurate: bool = False) -> Adapter:
    """A function by a formula in float64.

    Args:
        accurate: the formula loses no digits; otherwise float64 is refused.
    """

    def down(op: StepBuilder, node: Node) -> Value:
        x = required(node, 0)
        kind = dtype_of(node, x)
        if kind is _F64 and not accurate:
            raise Unsupported(node, f"no formula by operators before version {node.version} is accurate for float64")
        return formula(expr(op.newest, x, _F64)).cast(kind).value()

    return down


def _cosh(x: Expr) -> Expr:
    """(u + 1/u) / 2 with u the exponential, taken as two factors that don't overflow before the result."""
    root = (x.abs() * 0.5).exp()
    return 0.5 * root * root + 0.5 / root / root


def _sinh(x: Expr) -> Expr:
    """The hyperbolic tangent is accurate near 0, and the cosine everywhere."""
    return x.call("Tanh") * _cosh(x)


def _near_zero(x: Expr, cubic: float, otherwise: Expr) -> Expr:
    """x * (1 + cubic * x^2) where the next term is lost in float32."""
    return where(x.abs() < 1e-4, x * (1 + cubic * (x * x)), otherwise)


def _asinh(x: Expr) -> Expr:
    made = (x.abs() + (x * x + 1).sqrt()).log()
    return _near_zero(x, -1 / 6, where(x < 0, -made, made))


def _acosh(x: Expr) -> Expr:
    return (x + (x - 1).sqrt() * (x + 1).sqrt()).log()


def _atanh(x: Expr) -> Expr:
    return _near_zero(x, 1 / 3, ((1 + x) / (1 - x)).log() * 0.5)


_TERMS = 60  # of the series below; what is left out of it is less than 1e-11 of it


def _celu(op: StepBuilder, node: Node) -> Value:
    """Celu-12: max(x, 0) + min(alpha (exp(x / alpha) - 1), 0). ONNX's own function makes vectors of scalars."""
    x, alpha = expr(op.newest, required(node, 0)), float(attribute(node, "alpha", 1.0))
    return (x.call("Relu") + (((x / alpha).exp() - 1) * alpha).minimum(0)).value()


def _erf(x: Expr) -> Expr:
    """2 / sqrt(pi) * exp(-x^2) * x * (1 + 2x^2/3 * (1 + 2x^2/5 * ..)), which adds up without loss; from 4 on float32
    has no number below 1."""
    x = x.call("Clip", x.like(-4), x.like(4))
    twice, series = x * x * 2, x.like(1)
    for divisor in range(2 * _TERMS + 1, 1, -2):
        series = twice / divisor * series + 1
    return x * (2 / np.sqrt(np.pi)) * (-(x * x)).exp() * series


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
    whole, size = rank_of(node, a), rank_of(node, b)
    behind = whole - axis % whole - size
    if behind < 0:
        raise Unsupported(node, f"B of rank {size} doesn't fit A of rank {whole} from axis {axis} on")
    if behind:
        plain.inputs[1] = op.Unsqueeze(b, axes=list(range(size, size + behind)))
    return plain


def _along(op: StepBuilder, node: Node) -> Made:
    """What B has besides ones in front must end A's shape (Gemm: C the result's); `broadcast` says so."""
    *_, b = node.formal_inputs
    a = node.outputs[0] if node.op_type == "Gemm" else node.inputs[0]
    whole, part = static_shape(node, a), static_shape(node, b)
    if whole == part:
        return None
    if len(part) > len(whole) or (part != whole[len(whole) - len(part) :] and any(size != 1 for size in part)):
        raise Unsupported(node, f"{part} is broadcast to {whole} in a way that was added in version {node.version}")
    return changed(node, broadcast=1)


def _per_channel(op: StepBuilder, node: Node) -> Made:
    """PRelu: a slope of more than one element was one for each channel (axis 1)."""
    x, slope = required(node, 0), required(node, 1)
    shape = slope.tensor.shape
    if shape is not None and (len(shape) != 1 or shape[0] == 1):
        return None
    size = rank_of(node, x)
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
    name = required_attribute(node, "to")
    if isinstance(name, int):
        return None
    if not isinstance(name, str) or name.upper() not in _TYPE_NAMES:
        raise Unsupported(node, f"no element type {name!r}")
    return changed(node, to=_TYPE_NAMES[name.upper()])


def _cast_name(op: StepBuilder, node: Node) -> Made:
    return changed(node, to=TensorProto.DataType.Name(required_attribute(node, "to")))


# others ------------------------------------------------------------------------------------------


def _through_float(op: StepBuilder, node: Node) -> Made:
    """Erf of integers: computed in float64 and cut off."""
    x = required(node, 0)
    kind = dtype_of(node, x)
    if kind.is_float:
        return None
    return as_type(op, op.Erf(as_type(op, x, DType.FLOAT64)), kind)


_CONSUMED = dropped("consumed_inputs")


ROWS = {
    ("Cosh", 9): Step("Cosh came with version 9", _wide(_cosh, accurate=True)),
    ("Sinh", 9): Step("Sinh came with version 9", _wide(_sinh, accurate=True)),
    ("Asinh", 9): Step("Asinh came with version 9", _wide(_asinh)),
    ("Acosh", 9): Step("Acosh came with version 9", _wide(_acosh)),
    ("Atanh", 9): Step("Atanh came with version 9", _wide(_atanh)),
    ("Celu", 12): Step("Celu came with version 12", _celu),
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
    ("Gemm", 7): Step(dropped("broadcast").up, _along),
    ("PRelu", 7): Step(_per_channel, "slopes before version 7 were for one channel each, or a single one"),
    **rows("Add Div Mul Sub", 14, through(DType.INT64, *SHORT_INTEGERS)),
    ("IsInf", 20): through(DType.FLOAT32, DType.FLOAT16, DType.BFLOAT16),
    ("Cast", 6): Step(_cast_number, _cast_name),
    ("Cast", 9): Step(_cast_number, same),  # models of opset 6 went on spelling for a while
    # what they speak of are types only that came with them, or before them
    **rows("Cast CastLike", 19, Step(same, dropped("saturate").up)),
    **rows("Cast CastLike", 24, Step(same, dropped("round_mode").up)),
    ("Erf", 13): Step(_through_float, same),
}
