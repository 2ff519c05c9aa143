"""Hub -> OpenVINO: what is done element by element, and operators that a layer computes of the same inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial, reduce
from typing import Any

import numpy as np

from ....passes.attributes import NodeAttributes
from ....passes.build.values import clip_bounds
from ....passes.errors import Unsupported
from ....passes.graph import Node, Value
from ....passes.preconditions import dtype_of, flag, power_type, required, size_of_axis
from ....passes.protos import DTYPES
from ....passes.rewrite import Builder, Rule, collect, combine, renamed, rule, view
from ....passes.types import HALVES, DType
from ..attributes import BOOLEAN, kind_of
from ..layers import HUB_ATTRIBUTES, LAYERS, OF_HUB, PLAIN, HubAttribute
from ..workarounds import QUOTIENTS
from .context import context_of
from .large_integers import chosen, limited
from .tools import LARGEST, convert, element_type, i64, number, saturated, scalar


@rule("", "Identity")
def identity(op: Builder, node: Node) -> Value:
    return required(node, 0)


_WIDTH = 16
"""Bits of the narrowest floats that OpenVINO's CPU has layers of: others it converts and moves only."""
_UNCONVERTED = {DType.FLOAT4E2M1: 16, DType.FLOAT8E8M0: 4}
"""Floats that it doesn't convert to integers of so many bits and more."""


def _computed(op: Builder, node: Node, x: Value) -> Value:
    """`x` as floats that OpenVINO's CPU computes with, which hold all of its numbers."""
    dtype = dtype_of(node, x)
    return convert(op, node, x, DType.FLOAT32) if dtype.is_float and dtype.bits < _WIDTH else x


@rule("", "IsInf", "IsNaN")
def kind_of_number(op: Builder, node: Node) -> Sequence[Value] | None:
    x = required(node, 0)
    wide = _computed(op, node, x)
    return None if wide is x else op.apply(view(node, [wide]))


@rule("", "Greater", "GreaterOrEqual")
def greater(op: Builder, node: Node) -> Value:
    """Of floats Less the other way round: OpenVINO's CPU says of NaN that it is greater."""
    a, b = required(node, 0), required(node, 1)
    strict = node.op_type == "Greater"
    if dtype_of(node, a).is_float:
        return op.Less(b, a) if strict else op.LessEqual(b, a)
    return op.Greater(a, b) if strict else op.GreaterEqual(a, b)


@rule("", "Div")
def divide(op: Builder, node: Node) -> Value:
    """ONNX's integer division truncates, as C's does; OpenVINO's default rounds down, as Python's does.

    Quotients of 8 bits are rounded to the nearest by its CPU, in either mode.
    """
    dtype = dtype_of(node, required(node, 0))
    if not dtype.is_integer or dtype.bits > 8 or not op.rewriter.workarounds.take(QUOTIENTS):
        return op.Divide(*node.inputs, m_pythondiv=False if dtype.is_integer else None)
    a, b = (convert(op, node, required(node, index), DType.INT32) for index in range(2))
    return convert(op, node, op.Divide(a, b, m_pythondiv=False), dtype)


@rule("", "MatMul")
def product(op: Builder, node: Node) -> Value:
    """By a constant stack as the second factor OpenVINO's CPU multiplies no open matrix, nor an open stack of one. A
    constant vector is a column here: OpenVINO makes a matrix of it where it joins it with a factor that follows."""
    a, b = required(node, 0), required(node, 1)
    if b.rank == 1 and a.rank not in (1, 2) and context_of(op).is_known(b):
        return op.Squeeze(op.MatMul(a, op.Unsqueeze(b, i64(op, [1]))), i64(op, [-1]))
    stack = b.array()
    if stack is None or stack.ndim != 3 or len(stack) == 1 or a.rank not in (2, 3) or a.tensor.static_shape is not None:
        return op.MatMul(a, b)
    if a.rank == 3 and size_of_axis(a, 0) == len(stack):
        return op.MatMul(a, b)
    turned = op.MatMul(b, a, transpose_a=True, transpose_b=True)
    return op.Transpose(turned, op.const([0, 2, 1]))


@rule("", "Mod")
def modulo(op: Builder, node: Node) -> Value:
    if flag(node, "fmod"):
        return op.Mod(*node.inputs)
    a, b = required(node, 0), required(node, 1)
    found = op.FloorMod(a, b)
    divisor = b.array()
    if not dtype_of(node, a).is_float or (divisor is not None and np.isfinite(divisor.astype(np.float64)).all()):
        return found
    # of a finite number and an infinite one OpenVINO makes NaN
    zero = number(op, node, 0, a)
    alike = op.Equal(op.Less(a, zero), op.Less(b, zero))
    left = op.Select(op.LogicalOr(alike, op.Equal(a, zero)), a, b)
    return op.Select(op.LogicalAnd(_is_infinite(op, b), op.IsFinite(a)), left, found)


@rule("", "Pow")
def power(op: Builder, node: Node) -> Value:
    """The result has the type of the base, whatever the type of the exponent; integers that float32 doesn't hold are
    raised in float64, as ONNX Runtime does."""
    base, exponent = required(node, 0), required(node, 1)
    kind, other = dtype_of(node, base), dtype_of(node, exponent)
    if kind is other and kind.is_float:
        return op.Power(base, exponent)
    common = other if other.is_float else DType.FLOAT32
    if kind.is_float:
        is_wide = kind.bits >= 32 or power_type(kind, other, exponent.array()) is kind
        common = kind if is_wide else DType.FLOAT32  # which is what OpenVINO's CPU has float64 in, too
    if kind.is_integer and kind.bits > 16 and common.bits < 64:
        common = DType.FLOAT64
    raised = op.Power(convert(op, node, base, common), convert(op, node, exponent, common))
    return convert(op, node, raised, kind)


@rule("", "Max", "Min")
def variadic(op: Builder, node: Node) -> Value:
    layer = OF_HUB[node.op_type]
    return reduce(partial(limited, op, layer), (required(node, index) for index in range(len(node.inputs))))


@rule("", "Cast")
def cast(op: Builder, node: Node) -> Value:
    x = required(node, 0)
    return _cast(op, node, x, DTYPES[node.attributes["to"]])


def _cast(op: Builder, node: Node, x: Value, target: DType) -> Value:
    """Convert; to bool it is `x != 0`, which a conversion of 0.5 isn't everywhere."""
    source = dtype_of(node, x)
    if source is target:
        return x
    if target is DType.BOOL or (target.is_integer and target.bits >= _UNCONVERTED.get(source, target.bits + 1)):
        x = _computed(op, node, x)
    if target is DType.BOOL:
        return op.NotEqual(x, number(op, node, 0, x))
    if target is DType.FLOAT8E8M0:
        raise Unsupported(node, "OpenVINO rounds to float8e8m0 differently")
    if target is DType.FLOAT4E2M1 and source.is_float:  # has no NaN, which becomes -0 in ONNX, and 6 in OpenVINO
        x = op.Select(op.IsNaN(x), number(op, node, -0.0, x), x)
    if target in LARGEST and source.is_float and flag(node, "saturate", 1):
        x = saturated(op, x, LARGEST[target])
    return op.Convert(x, destination_type=element_type(node, target))


def _is_infinite(op: Builder, x: Value) -> Value:
    return op.IsInf(x, detect_negative=True, detect_positive=True)


@rule("", "BitShift")
def bit_shift(op: Builder, node: Node) -> Value:
    """By a negative amount, or by the width and more, ONNX shifts everything out; a processor counts modulo."""
    x, amount = required(node, 0), required(node, 1)
    left = node.attributes["direction"] == "LEFT"
    width, known = dtype_of(node, x).bits, amount.array()
    if left:
        shifted = op.BitwiseLeftShift(x, amount)
    elif width > 32 and (known is None or known.max(initial=0) > 31):
        # OpenVINO's CPU shifts 64 bits as 32, by the amount modulo 32: in two steps
        first = op.Minimum(amount, number(op, node, 31, amount))
        shifted = op.BitwiseRightShift(op.BitwiseRightShift(x, first), op.Subtract(amount, first))
    else:
        shifted = op.BitwiseRightShift(x, amount)
    if known is not None and ((known >= 0) & (known < width)).all():
        return shifted
    zero = number(op, node, 0, x)
    outside = op.GreaterEqual(amount, number(op, node, width, amount))
    out = zero
    if dtype_of(node, x).is_signed:
        outside = op.LogicalOr(outside, op.Less(amount, number(op, node, 0, amount)))
        out = zero if left else op.Select(op.Less(x, zero), number(op, node, -1, x), zero)
    return chosen(op, outside, out, shifted)


# activations -------------------------------------------------------------------------------------


@rule("", "Clip")
def clip(op: Builder, node: Node) -> Value:
    """Constant bounds of floats are Clamp's attributes; everything else is Maximum, then Minimum.

    A bound of shape [1] is a scalar, too, as ONNX Runtime has it.
    """
    x = required(node, 0)
    low, high = (None if bound is None else scalar(op, bound) for bound in clip_bounds(op, node))
    if dtype_of(node, x).is_float and low is not None and high is not None:
        least, most = low.array(), high.array()
        if least is not None and most is not None and np.isfinite([least, most]).all() and least <= most:
            return op.Clamp(x, min=float(least), max=float(most))
    x = x if low is None else limited(op, "Maximum", x, low)
    return x if high is None else limited(op, "Minimum", x, high)


@rule("", "Relu")
def relu(op: Builder, node: Node) -> Value | None:
    """Of integers by Maximum: OpenVINO's CPU has this one in float32."""
    x = required(node, 0)
    return op.Maximum(x, number(op, node, 0, x)) if dtype_of(node, x).is_integer else None


@rule("", "HardSigmoid")
def hard_sigmoid(op: Builder, node: Node) -> Value | None:
    """Of halves in float32, which the parameters are; None where one of those is 0, which OpenVINO's CPU takes for one
    that is left out."""
    x = required(node, 0)
    values = list(map(NodeAttributes(node).float, ("alpha", "beta")))
    if not all(values):
        return None
    dtype = dtype_of(node, x)
    wide = convert(op, node, x, DType.FLOAT32) if dtype in HALVES else x
    return convert(op, node, op.HardSigmoid(wide, *(number(op, node, value, wide) for value in values)), dtype)


@rule("", "LeakyRelu")
def leaky_relu(op: Builder, node: Node) -> Value:
    x = required(node, 0)
    return op.PReLU(x, op.const([NodeAttributes(node).float("alpha")], dtype_of(node, x)))


@rule("", "PRelu")
def prelu(op: Builder, node: Node) -> Value | None:
    """With one slope; OpenVINO's operator aligns a vector with the channels, ONNX broadcasts as NumPy does."""
    x, slope = required(node, 0), required(node, 1)
    if slope.data is not None and slope.data.size == 1 and dtype_of(node, x).is_float:
        return op.PReLU(x, op.const(slope.data.numpy().reshape(-1), slope.data.dtype))
    return None


# operators that a layer computes of the same inputs, each a row ------------------------------------


_BLOCK_ORDERS = {"blocks_first": "DCR", "depth_first": "CRD"}


def row(layer: str, attributes: Mapping[str, HubAttribute], inputs: str = "") -> Rule:
    """The rule of an operator that is `layer`.

    Args:
        attributes: those of the layer that are attributes of the operator.
        inputs: attributes of the operator that are scalar inputs of the layer, behind the others.
    """

    def build(op: Builder, node: Node) -> Value:
        values = NodeAttributes(node)
        behind = [number(op, node, values.float(name), required(node, 0)) for name in inputs.split()]
        taken = {name: _layer_attribute(node, values, name, source) for name, source in attributes.items()}
        return op.call(layer, *node.inputs, *behind, **taken)

    return build


def _layer_attribute(node: Node, values: NodeAttributes, name: str, source: HubAttribute) -> Any:
    if source.words is None:
        return values.flag(source.name) if kind_of(name) is BOOLEAN else values.get(source.name)
    found = values.string(source.name)
    word = next((word for word, of_hub in source.words.items() if of_hub == found), None)
    if word is None:
        raise Unsupported(node, f"{source.name}={found!r} isn't supported by OpenVINO")
    return word


_BLOCKS = {"block_size": HubAttribute("blocksize"), "mode": HubAttribute("mode", words=_BLOCK_ORDERS)}

_ROWS = {
    **{
        LAYERS[layer].hub: row(layer, attributes)
        for layer, attributes in HUB_ATTRIBUTES.items()
        if layer not in ("GridSample", "GroupNormalization")  # which are rows of some only: `image.py`, `nn.py`
    },
    "Round": row("Round", {}),
    **{name: row(name, _BLOCKS) for name in ("DepthToSpace", "SpaceToDepth")},
    "Selu": row("Selu", {}, "alpha gamma"),
    "Swish": row("Swish", {}, "alpha"),
}

RULES = combine(
    collect(globals()),
    {("", name): [rule] for name, rule in _ROWS.items()},
    renamed("", {hub: layer for layer, hub in PLAIN.items()}),
)
