"""Hub -> OpenVINO: integers that float32 may not hold, without the layers that OpenVINO's CPU has in float32.

It compares and reduces all integers in float32, and chooses them so where the condition is computed in one kernel with
the choice. Arithmetic, bits, Minimum, Maximum, TopK and CumSum are exact, as is what only moves elements: two integers
are equal if no bit differs, less is what the minimum is not, the largest is the first, a sum the last one so far.
What is certainly small stays plain: sizes, positions, numbers of few bits, and what is compared with small numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ....passes.constants import same_truth
from ....passes.graph import Node, Value
from ....passes.preconditions import axis_of, flag, required, size_of_axis
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ..workarounds import LARGE
from .context import context_of
from .magnitudes import HELD, is_small, most
from .tools import i64, ints, number, slice_axis

_SIGNED = (DType.INT32, DType.INT64)
_LARGE = (*_SIGNED, DType.UINT32, DType.UINT64)


def _is_large(value: Value) -> bool:
    return value.tensor.dtype in _LARGE


def _takes(op: Builder) -> bool:
    return op.rewriter.workarounds.take(LARGE)


def _is_avoided(op: Builder, node: Node) -> bool:
    """Whether float32 is to be avoided; if not, the report tells."""
    if _takes(op):
        return True
    rounded(op, node)
    return False


def rounded(op: Builder, node: Node) -> None:
    """Take note of a node whose integers are rounded."""
    context_of(op).rounded.append(node.outputs[0].name)


# choosing and comparing ----------------------------------------------------------------------------


def chosen(op: Builder, condition: Value, a: Value, b: Value) -> Value:
    """Select, by a condition that isn't computed in one kernel with it, whose other layers know float32 only.

    Of bools without Select, which OpenVINO doesn't load where what is chosen turns out to be the condition.
    """
    if a.tensor.dtype is DType.BOOL:
        return op.LogicalOr(op.LogicalAnd(condition, a), op.LogicalAnd(op.LogicalNot(condition), b))
    if condition.data is None and _is_large(a) and not (is_small(op, a) and is_small(op, b)) and _takes(op):
        first = i64(op, [0])
        condition = op.ReduceLogicalOr(op.Unsqueeze(condition, first), first, keep_dims=False)
    return op.Select(condition, a, b)


def is_rounded(op: Builder, constant: Value) -> bool:
    """Whether a constant has integers that become others in float32, which is avoided."""
    if not _is_large(constant) or is_small(op, constant):
        return False
    array = constant.array()
    return array is not None and bool((array.astype(np.float32) != array).any()) and _takes(op)


@rule("", "Where")
def where(op: Builder, node: Node) -> Value:
    """What a known condition chooses, as it is: OpenVINO replaces a Select of float64 that is added to for ever."""
    condition, a, b = (required(node, index) for index in range(3))
    holds = same_truth(condition.array())
    taken = a if holds else b
    if holds is not None and taken.tensor.static_shape == node.output.tensor.static_shape is not None:
        return taken
    return chosen(op, condition, a, b)


def compared(op: Builder, operator: str, a: Value, b: Value, zero: Value) -> Value:
    """A comparison, by bits and by the smaller one."""
    if operator.startswith("Greater"):
        a, b = b, a
    if operator == "Equal":
        return op.Equal(op.BitwiseXor(a, b), zero)
    least = op.Minimum(a, b)
    if operator.endswith("OrEqual"):
        return op.Equal(op.BitwiseXor(least, a), zero)
    return op.NotEqual(op.BitwiseXor(least, b), zero)


@rule("", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual")
def compare(op: Builder, node: Node) -> Value | None:
    """Against a number that float32 holds all others come out right, rounded or not."""
    a, b = required(node, 0), required(node, 1)
    if not _is_large(a) or is_small(op, a) or is_small(op, b) or not _is_avoided(op, node):
        return None
    return compared(op, node.op_type, a, b, number(op, node, 0, a))


def limited(op: Builder, layer: str, a: Value, b: Value) -> Value:
    """Maximum or Minimum. OpenVINO joins the one and the other to a Clamp, which has constant bounds in float32: where
    it rounds them, the one is the complement of the other of the complements."""
    other = "Minimum" if layer == "Maximum" else "Maximum"
    joined = [value.producer for value in (a, b) if value.producer is not None and value.producer.op_type == other]
    bounds = [a, b, *(value for node in joined for value in node.inputs if value is not None)]
    if joined and a.tensor.dtype in _SIGNED and any(is_rounded(op, bound) for bound in bounds):
        return op.BitwiseNot(op.call(other, op.BitwiseNot(a), op.BitwiseNot(b)))
    return op.call(layer, a, b)


def in_halves(op: Builder, node: Node, x: Value, moved: Callable[[Value], Value]) -> Value:
    """What a layer that moves numbers in float32 makes of integers: of their halves of 16 bits each."""
    if not _is_large(x) or is_small(op, x):
        return moved(x)
    if x.tensor.dtype not in _SIGNED or not _is_avoided(op, node):
        rounded(op, node)
        return moved(x)
    bits = number(op, node, 16, x)
    upper, lower = moved(op.BitwiseRightShift(x, bits)), moved(op.BitwiseAnd(x, number(op, node, 0xFFFF, x)))
    return op.BitwiseOr(op.BitwiseLeftShift(upper, bits), lower)


# reductions ----------------------------------------------------------------------------------------


def known_axes(node: Node, data: Value) -> list[int] | None:
    """The axes of a reduction in order; None where there are none, or a run tells them."""
    stated = node.input(1)
    axes, rank = ints(stated), data.rank
    if not rank or (stated is not None and axes is None) or (not axes and flag(node, "noop_with_empty_axes")):
        return None
    return sorted({axis_of(node, axis, rank) for axis in axes or range(rank)})


def _sizes(data: Value, axes: list[int]) -> list[int | None]:
    shape = data.tensor.shape or ()
    return [size if isinstance(size := shape[axis], int) else None for axis in axes]


def _behind_one(op: Builder, data: Value, axis: int, first: Value) -> Value:
    """With one more element at the beginning of an axis, which may have none."""
    begins = [int(index == axis) for index in range(data.rank or 0)]
    return op.Pad(data, i64(op, begins), i64(op, [0] * len(begins)), first, pad_mode="constant")


def extreme(op: Builder, data: Value, axes: list[int], largest: bool) -> Value:
    """The largest, or the smallest, along axes that stay with size 1: TopK's first, along one after the other."""
    dtype = data.tensor.dtype
    assert dtype is not None
    may_be_empty = not all(_sizes(data, axes))
    if may_be_empty and not largest:  # float32 holds the lowest number, as which nothing counts, but not the largest
        return op.BitwiseNot(extreme(op, op.BitwiseNot(data), axes, True))
    for axis, size in zip(axes, _sizes(data, axes), strict=True):
        data = data if size else _behind_one(op, data, axis, op.const(dtype.integer_limits[0], dtype))
        data = op.TopK(data, i64(op, 1), axis=axis, mode="max" if largest else "min", _outputs=2)[0]
    return data


def _total(op: Builder, node: Node, data: Value, axes: list[int]) -> Value:
    """Sums along axes that stay with size 1."""
    for axis, size in zip(axes, _sizes(data, axes), strict=True):
        data = data if size else _behind_one(op, data, axis, number(op, node, 0, data))
        data = slice_axis(op, op.CumSum(data, i64(op, axis), exclusive=False, reverse=False), -1, 2**31 - 1, 1, axis)
    return data


def kept(op: Builder, node: Node, found: Value, axes: list[int]) -> Value:
    """The result of a reduction, whose axes may go."""
    return found if flag(node, "keepdims", 1) else op.Squeeze(found, i64(op, axes))


@rule("", "ReduceMax", "ReduceMin")
def reduce_extreme(op: Builder, node: Node) -> Value | None:
    data, largest = required(node, 0), node.op_type == "ReduceMax"
    if not _is_large(data) or not data.rank or is_small(op, data):
        return None
    axes = known_axes(node, data)
    if axes is None or not (largest or data.tensor.dtype in _SIGNED or all(_sizes(data, axes))):
        return rounded(op, node)
    return kept(op, node, extreme(op, data, axes, largest), axes) if _is_avoided(op, node) else None


@rule("", "ReduceL1", "ReduceSum")
def reduce_sum(op: Builder, node: Node) -> Value | None:
    """What counts, by zeros and ones, isn't larger than a size."""
    data = required(node, 0)
    if not _is_large(data) or not data.rank:
        return None
    axes = known_axes(node, data)
    sizes = [None] if axes is None else _sizes(data, axes)
    count = math.inf if None in sizes else math.prod(size or 0 for size in sizes)
    if most(op, data) <= 1 or is_small(op, data, count):
        return None
    if axes is None:
        return rounded(op, node)
    if not _is_avoided(op, node):
        return None
    data = op.Abs(data) if node.op_type == "ReduceL1" and data.tensor.dtype in _SIGNED else data
    return kept(op, node, _total(op, node, data, axes), axes)


# what has no other form ----------------------------------------------------------------------------


@rule("", "Gemm", "MatMul", "Einsum", "ReduceL2", "ReduceMean")
def float_only(op: Builder, node: Node) -> None:
    """Products that certainly are small enough, and means of what is, aren't rounded."""
    data = required(node, 0)
    if not _is_large(data):
        return
    if node.op_type.startswith("Reduce"):
        exact = is_small(op, data)
    else:
        terms = (
            size_of_axis(data, 0 if flag(node, "transA") else -1) if node.op_type != "Einsum" and data.rank else None
        )
        factors = [most(op, value) for value in node.inputs[:2] if value is not None]
        exact = math.prod([*factors, math.inf if terms is None else terms]) <= HELD
    if not exact:
        rounded(op, node)


RULES = collect(globals())
