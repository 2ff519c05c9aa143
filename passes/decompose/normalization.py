"""Normalizations in terms of means, products and roots.

Halves are computed in float32 and rounded once, at the end, as ONNX Runtime does. Variances are means of squared
distances from the mean: the mean of the squares less the square of the mean would lose all digits far from 0.
"""

from __future__ import annotations

from ..attributes import NodeAttributes
from ..errors import Unsupported
from ..graph import Node, Value
from ..preconditions import axis_of, dtype_of, rank_of, required
from ..rewrite import Builder, collect, rule
from .common import cast, numbers, working


def _per_channel(op: Builder, value: Value, rank: int) -> Value:
    """A vector of one element for each channel, ready to broadcast against [N, C, ...]."""
    return op.Reshape(value, op.const([-1, *[1] * max(rank - 2, 0)]))


@rule("", "BatchNormalization")
def batch_normalization(op: Builder, node: Node) -> list[Value]:
    """BatchNormalization-15: (x - mean) / sqrt(variance + epsilon) * scale + bias, for each channel.

    In training the batch's own mean and variance, whose divisor is the count, take the place of those that are given,
    and the further outputs are given * momentum + own * (1 - momentum).
    """
    attrs = NodeAttributes(node)
    x, rank = required(node, 0), rank_of(node, required(node, 0))
    dtype = working(node, x)
    wide, scale, bias, mean, variance = (cast(op, node, required(node, index), dtype) for index in range(5))
    running: list[Value] = []
    if attrs.flag("training_mode"):
        axes = op.const([axis for axis in range(rank) if axis != 1])
        given, mean = (mean, variance), op.ReduceMean(wide, axes, keepdims=0)
        apart = op.Sub(wide, _per_channel(op, mean, rank))
        variance = op.ReduceMean(op.Mul(apart, apart), axes, keepdims=0)
        keep, take = (numbers(op, share, dtype) for share in (attrs.float("momentum"), 1 - attrs.float("momentum")))
        for index, old, new in zip((3, 4), given, (mean, variance), strict=True):
            after = op.Add(op.Mul(old, keep), op.Mul(new, take))
            running.append(cast(op, node, after, dtype_of(node, required(node, index))))
    mean, variance, scale, bias = (_per_channel(op, value, rank) for value in (mean, variance, scale, bias))
    root = op.Sqrt(op.Add(variance, numbers(op, attrs.float("epsilon"), dtype)))
    made = op.Add(op.Mul(op.Div(op.Sub(wide, mean), root), scale), bias)
    return [cast(op, node, made, dtype_of(node, x)), *running]


@rule("", "InstanceNormalization")
def instance_normalization(op: Builder, node: Node) -> Value:
    """InstanceNormalization-22: (x - mean) / sqrt(variance + epsilon) * scale + bias, for each channel of each instance
    with its own mean and variance."""
    x, rank = required(node, 0), rank_of(node, required(node, 0))
    dtype = working(node, x)
    wide, scale, bias = (cast(op, node, required(node, index), dtype) for index in range(3))
    axes = op.const(list(range(2, rank)))
    centred = op.Sub(wide, op.ReduceMean(wide, axes))
    variance = op.ReduceMean(op.Mul(centred, centred), axes)
    root = op.Sqrt(op.Add(variance, numbers(op, NodeAttributes(node).float("epsilon"), dtype)))
    made = op.Mul(op.Div(centred, root), _per_channel(op, scale, rank))
    return cast(op, node, op.Add(made, _per_channel(op, bias, rank)), dtype_of(node, x))


@rule("", "LpNormalization")
def lp_normalization(op: Builder, node: Node) -> Value:
    """LpNormalization-22: x / norm(x) along one axis; 0 where the norm is 0."""
    attrs, x = NodeAttributes(node), required(node, 0)
    reduction = {1: "ReduceL1", 2: "ReduceL2"}.get(attrs.int("p"))
    if reduction is None:
        raise Unsupported(node, f"a norm of order {attrs.int('p')}")
    dtype = working(node, x)
    wide = cast(op, node, x, dtype)
    norm = op.call(reduction, wide, op.const([axis_of(node, attrs.int("axis"), rank_of(node, x))]))
    zero = numbers(op, 0, dtype)
    none = op.Equal(norm, zero)
    made = op.Where(none, zero, op.Div(wide, op.Where(none, numbers(op, 1, dtype), norm)))
    return cast(op, node, made, dtype_of(node, x))


@rule("", "LRN")
def local_response_normalization(op: Builder, node: Node) -> Value:
    """LRN-13: x / (bias + alpha / size * sum of the squares of `size` neighbours along the channels) ^ beta.

    The mean of a window that counts its padding is that sum by the size.
    """
    attrs, x, rank = NodeAttributes(node), required(node, 0), rank_of(node, required(node, 0))
    dtype, size = working(node, x), attrs.int("size")
    wide = cast(op, node, x, dtype)
    others = [0] * (rank - 2)
    squares = op.Unsqueeze(op.Mul(wide, wide), op.const([1]))
    window = {"kernel_shape": [size, *(1 for _ in others)], "count_include_pad": 1}
    mean = op.AveragePool(squares, pads=[(size - 1) // 2, *others, size // 2, *others], **window)
    alpha, beta, bias = (numbers(op, attrs.float(name), dtype) for name in ("alpha", "beta", "bias"))
    base = op.Add(op.Mul(op.Squeeze(mean, op.const([1])), alpha), bias)
    return cast(op, node, op.Div(wide, op.Pow(base, beta)), dtype_of(node, x))


RULES = collect(globals())
