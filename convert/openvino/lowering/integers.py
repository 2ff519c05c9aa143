"""Hub -> OpenVINO: integers whose type OpenVINO's CPU doesn't compute with, in int32, which it has.

8-bit integers become int32 and come back, which drops what doesn't fit. uint32 is int32 by its bits: what adds,
multiplies and moves them is the same, what orders them has the highest bit turned before and behind.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ....passes.graph import Node, Value
from ....passes.preconditions import dtype_of, required
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import BYTES, DType, TensorType
from ..workarounds import NARROW, UNSIGNED
from .large_integers import compared, extreme, kept, known_axes
from .tools import convert, i32

_LOWEST = np.iinfo(np.int32).min
_BY_BITS = ("Add", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor", "Mul", "Neg", "Sub", "Where")
Change = Callable[[Builder, Value], Value]


def _in_int32(op: Builder, node: Node, dtype: DType, enter: Change, leave: Change) -> list[Value]:
    """A node with its operands and results of one type as int32."""
    twin = Node(node.domain, node.op_type, node.version)
    twin.attributes, twin.meta = node.attributes, node.meta
    twin.inputs = [
        enter(op, value) if value is not None and value.tensor.dtype is dtype else value for value in node.inputs
    ]
    for index, old in enumerate(node.outputs):
        kept = old.type is None or old.tensor.dtype is not dtype
        type = old.type if kept else TensorType(DType.INT32, old.tensor.shape)
        twin.outputs.append(Value(old.name and f"{old.name}_int32", type, twin, index))
    return [leave(op, value) if value.tensor.dtype is DType.INT32 else value for value in op.apply(twin)]


@rule("", "Abs", "Add", "Einsum", "Gemm", "MatMul", "Mul", "Neg", "Sub")
@rule("", "ReduceL1", "ReduceMean", "ReduceProd", "ReduceSum", "ReduceSumSquare")
def narrow(op: Builder, node: Node) -> list[Value] | None:
    """8-bit integers in int32: OpenVINO's CPU stops at 255 where ONNX begins again at 0."""
    dtype = required(node, 0).tensor.dtype
    if dtype not in BYTES or not op.rewriter.workarounds.take(NARROW):
        return None
    return _in_int32(
        op,
        node,
        dtype,
        lambda op, value: convert(op, node, value, DType.INT32),
        lambda op, value: convert(op, node, value, dtype),
    )


# uint32 ------------------------------------------------------------------------------------------


def _before(value: Value) -> Value | None:
    """The int32 that a uint32 was made of."""
    maker = value.producer
    made_of = maker.inputs[0] if maker is not None and maker.op_type == "Convert" else None
    return made_of if made_of is not None and made_of.tensor.dtype is DType.INT32 else None


def _bits(op: Builder, value: Value) -> Value:
    """uint32 as the int32 of the same bits."""
    if value.data is not None:
        return op.const(value.data.numpy().astype(np.uint32).view(np.int32))
    return _before(value) or op.Convert(value, destination_type="i32")


def _of_bits(op: Builder, value: Value) -> Value:
    return op.Convert(value, destination_type="u32")


def _rank(op: Builder, value: Value) -> Value:
    """int32 in the order of the uint32."""
    if value.data is not None:
        return op.const((value.data.numpy().astype(np.uint32) ^ np.uint32(1 << 31)).view(np.int32))
    return op.BitwiseXor(_bits(op, value), i32(op, _LOWEST))


def _of_rank(op: Builder, value: Value) -> Value:
    return _of_bits(op, op.BitwiseXor(value, i32(op, _LOWEST)))


def _is_unsigned(op: Builder, node: Node, position: int = 0) -> bool:
    """Whether a node is one of uint32 that needs other operators."""
    value = node.input(position)
    return value is not None and value.tensor.dtype is DType.UINT32 and op.rewriter.workarounds.take(UNSIGNED)


def _has_bits(value: Value | None) -> bool:
    """Whether a uint32 is a constant that OpenVINO would hold for 2^31 - 1, or is there as int32 already."""
    if value is None or value.tensor.dtype is not DType.UINT32:
        return False
    if value.data is not None:
        return bool((value.data.numpy() > np.iinfo(np.int32).max).any())
    return _before(value) is not None


@rule("", *_BY_BITS)
def by_bits(op: Builder, node: Node) -> list[Value] | None:
    """Where a constant is from 2^31 on, which OpenVINO takes for 2^31 - 1."""
    if not any(map(_has_bits, node.inputs)) or not _is_unsigned(op, node, len(node.inputs) - 1):
        return None
    return _in_int32(op, node, DType.UINT32, _bits, _of_bits)


@rule("", "ArgMax", "ArgMin", "Clip", "Max", "Min", "TopK", "Unique")
def by_rank(op: Builder, node: Node) -> list[Value] | None:
    """What OpenVINO orders exactly in int32."""
    return _in_int32(op, node, DType.UINT32, _rank, _of_rank) if _is_unsigned(op, node) else None


@rule("", "ScatterElements", "ScatterND")
def scatter(op: Builder, node: Node) -> list[Value] | None:
    """The largest or the smallest of what comes to one place."""
    if node.attributes.get("reduction") not in ("max", "min") or not _is_unsigned(op, node):
        return None
    return _in_int32(op, node, DType.UINT32, _rank, _of_rank)


@rule("", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual")
def compare(op: Builder, node: Node) -> Value | None:
    if not _is_unsigned(op, node):
        return None
    enter = _bits if node.op_type == "Equal" else _rank
    return compared(op, node.op_type, enter(op, required(node, 0)), enter(op, required(node, 1)), i32(op, 0))


@rule("", "ReduceMax", "ReduceMin")
def reduce_extreme(op: Builder, node: Node) -> Value | None:
    data = required(node, 0)
    axes = known_axes(node, data)
    if axes is None or not _is_unsigned(op, node):
        return None
    return kept(op, node, _of_rank(op, extreme(op, _rank(op, data), axes, node.op_type == "ReduceMax")), axes)


@rule("", "Abs", "Relu")
def natural(op: Builder, node: Node) -> Value | None:
    """What is never negative stays."""
    return required(node, 0) if _is_unsigned(op, node) else None


@rule("", "Sign")
def sign(op: Builder, node: Node) -> Value | None:
    if not _is_unsigned(op, node):
        return None
    return op.Convert(op.NotEqual(_bits(op, required(node, 0)), i32(op, 0)), destination_type="u32")


@rule("", "BitShift")
def shift(op: Builder, node: Node) -> Value | None:
    """To the right the sign comes in, and is cut off again; everything is out from 32 on."""
    if node.attributes["direction"] == "LEFT" or not _is_unsigned(op, node):
        return None
    x, amount = required(node, 0), required(node, 1)
    known = amount.array()
    if known is not None:
        steps = np.minimum(known.astype(np.int64), 31)
        mask = op.const(np.where(known > 31, 0, (1 << (32 - steps)) - 1).astype(np.uint32).view(np.int32))
        moved = op.BitwiseRightShift(_bits(op, x), op.const(steps.astype(np.int32)))
        return _of_bits(op, op.BitwiseAnd(moved, mask))
    bits = _bits(op, amount)  # negative from 2^31 on
    steps = op.Minimum(bits, i32(op, 31))
    left = op.BitwiseLeftShift(i32(op, -1), op.Subtract(i32(op, 31), steps))
    mask = op.BitwiseNot(op.BitwiseLeftShift(left, i32(op, 1)))
    moved = op.BitwiseAnd(op.BitwiseRightShift(_bits(op, x), steps), mask)
    inside = op.LogicalAnd(op.Less(bits, i32(op, 32)), op.GreaterEqual(bits, i32(op, 0)))
    return _of_bits(op, op.Multiply(moved, op.Convert(inside, destination_type="i32")))


@rule("", "Cast")
def cast(op: Builder, node: Node) -> Value | None:
    """Floats to 8 bits through int32, and uint32 into floats by halves of 16 bits, whose sum is rounded once."""
    x, target = required(node, 0), node.output.tensor.dtype
    if target in BYTES and dtype_of(node, x).is_float:
        return _cast_to_narrow(op, node, x, target)
    if target not in (DType.FLOAT32, DType.FLOAT64) or x.data is not None or not _is_unsigned(op, node):
        return None
    bits = _bits(op, x)
    halves = (op.BitwiseAnd(half, i32(op, 0xFFFF)) for half in (op.BitwiseRightShift(bits, i32(op, 16)), bits))
    upper, lower = (op.Convert(half, destination_type="f32") for half in halves)
    made = op.Add(op.Multiply(upper, op.const(np.float32(1 << 16))), lower)
    return convert(op, node, made, target)


def _cast_to_narrow(op: Builder, node: Node, x: Value, target: DType) -> Value | None:
    """At open sizes OpenVINO's CPU stops at the type's limits; at fixed ones it drops what doesn't fit itself."""
    if x.data is not None or x.tensor.static_shape is not None or not op.rewriter.workarounds.take(NARROW):
        return None
    return convert(op, node, convert(op, node, x, DType.INT32), target)


RULES = collect(globals())
