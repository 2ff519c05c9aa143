"""Normalizations in terms of means, products and roots.

Halves are computed in float32 and rounded once, at the end, as ONNX Runtime does. Variances are means of squared
distances from the mean: the mean of the squares less the square of the mean would lose all digits far from 0.
"""

from __future__ import annotations

from ..attributes import NodeAttributes
from ..build import Expr, expr, where
from ..errors import Unsupported
from ..graph import Node, Value
from ..preconditions import axis_of, dtype_of, rank_of, required
from ..rewrite import Builder, collect, rule
from .common import working


def _per_channel(value: Expr, rank: int) -> Expr:
    """A vector of one element for each channel, ready to broadcast against [N, C, ...]."""
    return value.reshape(-1, *[1] * max(rank - 2, 0))


@rule("", "BatchNormalization")
def batch_normalization(op: Builder, node: Node) -> list[Value]:
    """BatchNormalization-15: (x - mean) / sqrt(variance + epsilon) * scale + bias, for each channel.

    In training the batch's own mean and variance, whose divisor is the count, take the place of those that are given,
    and the further outputs are given * momentum + own * (1 - momentum).
    """
    attrs = NodeAttributes(node)
    x, rank = required(node, 0), rank_of(node, required(node, 0))
    dtype = working(node, x)
    wide, scale, bias, mean, variance = (expr(op, required(node, index), dtype) for index in range(5))
    running: list[Value] = []
    if attrs.flag("training_mode"):
        axes, momentum = [axis for axis in range(rank) if axis != 1], attrs.float("momentum")
        given, mean = (mean, variance), wide.mean(*axes)
        apart = wide - _per_channel(mean, rank)
        variance = (apart * apart).mean(*axes)
        for index, old, new in zip((3, 4), given, (mean, variance), strict=True):
            after = old * momentum + new * (1 - momentum)
            running.append(after.cast(dtype_of(node, required(node, index))).value())
    mean, variance, scale, bias = (_per_channel(value, rank) for value in (mean, variance, scale, bias))
    made = (wide - mean) / (variance + attrs.float("epsilon")).sqrt() * scale + bias
    return [made.cast(dtype_of(node, x)).value(), *running]


@rule("", "InstanceNormalization")
def instance_normalization(op: Builder, node: Node) -> Value:
    """InstanceNormalization-22: (x - mean) / sqrt(variance + epsilon) * scale + bias, for each channel of each instance
    with its own mean and variance."""
    x, rank = required(node, 0), rank_of(node, required(node, 0))
    dtype = working(node, x)
    wide, scale, bias = (expr(op, required(node, index), dtype) for index in range(3))
    centred = wide - wide.mean(*range(2, rank), keepdims=True)
    variance = (centred * centred).mean(*range(2, rank), keepdims=True)
    normal = centred / (variance + NodeAttributes(node).float("epsilon")).sqrt()
    return (normal * _per_channel(scale, rank) + _per_channel(bias, rank)).cast(dtype_of(node, x)).value()


@rule("", "LpNormalization")
def lp_normalization(op: Builder, node: Node) -> Value:
    """LpNormalization-22: x / norm(x) along one axis; 0 where the norm is 0."""
    attrs, x = NodeAttributes(node), required(node, 0)
    reduction = {1: "ReduceL1", 2: "ReduceL2"}.get(attrs.int("p"))
    if reduction is None:
        raise Unsupported(node, f"a norm of order {attrs.int('p')}")
    wide = expr(op, x, working(node, x))
    norm = expr(op, op.call(reduction, wide, op.const([axis_of(node, attrs.int("axis"), rank_of(node, x))])))
    none = norm.equals(0)
    return where(none, 0, wide / where(none, 1, norm)).cast(dtype_of(node, x)).value()


@rule("", "LRN")
def local_response_normalization(op: Builder, node: Node) -> Value:
    """LRN-13: x / (bias + alpha / size * sum of the squares of `size` neighbours along the channels) ^ beta.

    The mean of a window that counts its padding is that sum by the size.
    """
    attrs, x, rank = NodeAttributes(node), required(node, 0), rank_of(node, required(node, 0))
    wide, size = expr(op, x, working(node, x)), attrs.int("size")
    others = [0] * (rank - 2)
    squares = (wide * wide).unsqueeze(1)
    window = {"kernel_shape": [size, *(1 for _ in others)], "count_include_pad": 1}
    mean = expr(op, op.AveragePool(squares, pads=[(size - 1) // 2, *others, size // 2, *others], **window))
    base = mean.squeeze(1) * attrs.float("alpha") + attrs.float("bias")
    return (wide / base ** attrs.float("beta")).cast(dtype_of(node, x)).value()


RULES = collect(globals())
