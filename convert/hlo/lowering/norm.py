"""Hub -> HLO: normalizations that HLO has operators for."""

from __future__ import annotations

from collections.abc import Sequence

from ....passes.graph import Node, Value
from ....passes.preconditions import dtype_of, flag, required
from ....passes.rewrite import Builder, collect, rule
from .tools import convert, wide


@rule("", "BatchNormalization")
def batch_normalization(op: Builder, node: Node) -> Sequence[Value] | None:
    """BatchNormalization-15 over the statistics that are given.

    In training it is decomposed: XLA's `batch-norm-training` takes the mean of the squares less the square of the mean
    for the variance, which loses the digits of numbers far from 0.
    """
    if flag(node, "training_mode"):
        return None
    x = required(node, 0)
    dtype = dtype_of(node, x)
    inside = [convert(op, required(node, index), wide(dtype)) for index in range(5)]
    epsilon = float(node.attributes.get("epsilon", 1e-5))
    return [convert(op, op.call("batch-norm-inference", *inside, epsilon=epsilon, feature_index=1), dtype)]


RULES = collect(globals())
