"""Hub -> HLO: normalizations that ONNX doesn't spell out in other operators."""

from __future__ import annotations

from collections.abc import Sequence

from ....passes.demands import dtype_of, flag, required
from ....passes.graph import Node, Value
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import TensorType
from .tools import convert, like, wide


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


RULES = collect(globals())
