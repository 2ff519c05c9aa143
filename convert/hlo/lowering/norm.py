"""Hub -> HLO: normalizations that ONNX doesn't spell out in other operators."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ....passes.demands import axis_of, dtype_of, flag, required
from ....passes.graph import Node, Value
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import TensorType
from ..text.tree import WindowDim
from .tools import broadcast, compare, convert, fold, kept, like, reshape, sizes_of, spread, wide, window_fold


def _per_channel(op: Builder, value: Value, shape: Sequence[int]) -> Value:
    return broadcast(op, value, shape, [1])


@rule("", "BatchNormalization")
def batch_normalization(op: Builder, node: Node) -> Sequence[Value]:
    """BatchNormalization-15: over the channels' own statistics in training, else over those that are given."""
    x, scale, offset, mean, variance = (required(node, index) for index in range(5))
    dtype = dtype_of(node, x)
    kind = wide(dtype)
    epsilon = float(node.attributes.get("epsilon", 1e-5))
    inside = [convert(op, value, kind) for value in (x, scale, offset)]
    options = {"epsilon": epsilon, "feature_index": 1}
    if not flag(node, "training_mode"):
        known = [convert(op, value, kind) for value in (mean, variance)]
        return [convert(op, op.call("batch-norm-inference", *inside, *known, **options), dtype)]
    small = TensorType(kind, scale.tensor.shape)
    made, *seen = op.call("batch-norm-training", *inside, **options, _outputs=3, _types=[inside[0].type, small, small])
    share = float(node.attributes.get("momentum", 0.9))
    running: list[Value] = []
    for old, new in zip((mean, variance), seen, strict=True):
        before = convert(op, old, kind)
        after = op.add(
            op.multiply(before, like(op, node, share, before)), op.multiply(new, like(op, node, 1 - share, new))
        )
        running.append(convert(op, after, dtype_of(node, old)))
    return [convert(op, made, dtype), *running][: len(node.outputs)]


@rule("", "InstanceNormalization")
def instance_normalization(op: Builder, node: Node) -> Value:
    """InstanceNormalization-22: each channel of each instance over its own mean and variance."""
    x, scale, offset = (required(node, index) for index in range(3))
    dtype, shape = dtype_of(node, x), sizes_of(node, x)
    kind = wide(dtype)
    x, scale, offset = (convert(op, value, kind) for value in (x, scale, offset))
    axes = range(2, len(shape))

    def mean(value: Value) -> Value:
        total = fold(op, node, value, axes, "add")
        return broadcast(op, op.divide(total, like(op, node, math.prod(shape[2:]), total)), shape, [0, 1])

    centred = op.subtract(x, mean(x))
    variance = mean(op.multiply(centred, centred))
    root = op.sqrt(op.add(variance, like(op, node, float(node.attributes.get("epsilon", 1e-5)), variance)))
    made = op.multiply(op.divide(centred, root), _per_channel(op, scale, shape))
    return convert(op, op.add(made, _per_channel(op, offset, shape)), dtype)


@rule("", "LRN")
def lrn(op: Builder, node: Node) -> Value:
    """LRN-13: each element over the squares of its neighbours in other channels."""
    x = required(node, 0)
    dtype, shape = dtype_of(node, x), sizes_of(node, x)
    wider = convert(op, x, wide(dtype))
    size = int(node.attributes.get("size", 1))
    alpha, beta, bias = (float(node.attributes.get(name, value)) for name, value in _LRN)
    window = [WindowDim(1)] * len(shape)
    window[1] = WindowDim(size, 1, (size - 1) // 2, size - 1 - (size - 1) // 2)
    total = window_fold(op, node, op.multiply(wider, wider), window, "add")
    base = op.add(op.multiply(total, like(op, node, alpha / size, total)), like(op, node, bias, total))
    return convert(op, op.divide(wider, op.power(base, like(op, node, beta, base))), dtype)


_LRN = (("alpha", 1e-4), ("beta", 0.75), ("bias", 1.0))


@rule("", "LpNormalization")
def lp_normalization(op: Builder, node: Node) -> Value:
    """LpNormalization-22: over the p-norm along one axis; 0 where that is 0."""
    x = required(node, 0)
    dtype, shape = dtype_of(node, x), sizes_of(node, x)
    axis = axis_of(node, int(node.attributes.get("axis", -1)), len(shape))
    wider = convert(op, x, wide(dtype))
    once = int(node.attributes.get("p", 2)) == 1
    total = fold(op, node, op.abs(wider) if once else op.multiply(wider, wider), [axis], "add")
    norm = spread(op, node, reshape(op, total if once else op.sqrt(total), kept(shape, [axis])), shape)
    zero = like(op, node, 0, norm)
    made = op.select(compare(op, norm, zero, "EQ"), zero, op.divide(wider, norm))
    return convert(op, made, dtype)


RULES = collect(globals())
