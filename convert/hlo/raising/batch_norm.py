"""batch-norm-inference, batch-norm-training, batch-norm-grad."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ....passes.attributes import NodeAttributes
from ....passes.graph import Node, Value
from ....passes.preconditions import input_of
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ..dialect import DOMAIN
from ..infer_tools import axis as axis_of
from .arrays import Array, arrays
from .support import Results, shape_of


@dataclass(frozen=True, slots=True)
class _Features:
    """Operands in a type that formulas are computed in, and which dimension is that of the features."""

    operands: Sequence[Array]
    dtype: DType
    axis: int
    rank: int
    epsilon: float

    @classmethod
    def of(cls, op: Builder, node: Node) -> _Features:
        """Those of a node; narrow floats in float32."""
        xs = arrays(op, *(input_of(node, index) for index in range(len(node.inputs))))
        rank = len(shape_of(node, input_of(node, 0)))
        wide = [x.cast(DType.FLOAT32) if x.dtype.bits < 32 else x for x in xs]
        epsilon = NodeAttributes(node).float("epsilon", 0.0)
        return cls(wide, xs[0].dtype, axis_of(node, rank, "feature_index"), rank, epsilon)

    def along(self, vector: Array) -> Array:
        """A number for each feature, to be broadcast to the whole."""
        return vector.along(self.axis, self.rank)

    def _folded(self, op_type: str, x: Array) -> Array:
        others = [axis for axis in range(self.rank) if axis != self.axis]
        over = x.op.const(others, DType.INT64)
        return x.make(x.op.call(op_type, x, over, keepdims=0, noop_with_empty_axes=None if others else 1))

    def mean(self, x: Array) -> Array:
        """The mean for each feature."""
        return self._folded("ReduceMean", x)

    def sum(self, x: Array) -> Array:
        """The sum for each feature."""
        return self._folded("ReduceSum", x)

    def deviation(self, variance: Array) -> Array:
        """The square root of a variance, and of epsilon."""
        return (variance + variance.like(self.epsilon)).sqrt()

    def back(self, *xs: Array) -> list[Value]:
        """The results in the type of the operands."""
        return [x.narrow(self.dtype).value() for x in xs]


@rule(DOMAIN, "batch-norm-inference")
def inference(op: Builder, node: Node) -> Results:
    """batch-norm-inference(x, scale, offset, mean, variance): BatchNormalization where the features are dimension 1."""
    it = _Features.of(op, node)
    x, scale, offset, mean, variance = it.operands
    if it.axis == 1:
        return it.back(x.call("BatchNormalization", scale, offset, mean, variance, epsilon=it.epsilon))
    factor = it.along(scale / it.deviation(variance))
    return it.back((x - it.along(mean)) * factor + it.along(offset))


@rule(DOMAIN, "batch-norm-training")
def training(op: Builder, node: Node) -> Results:
    """batch-norm-training(x, scale, offset): what is normalized, the mean and the variance of each feature."""
    it = _Features.of(op, node)
    x, scale, offset = it.operands
    mean = it.mean(x)
    centred = x - it.along(mean)
    variance = it.mean(centred * centred)
    return it.back(centred * it.along(scale / it.deviation(variance)) + it.along(offset), mean, variance)


@rule(DOMAIN, "batch-norm-grad")
def gradient(op: Builder, node: Node) -> Results:
    """batch-norm-grad(x, scale, mean, variance, dy): the gradients of x, scale and offset.

    With n = (x - mean) / deviation: dscale is the sum of dy * n, doffset that of dy, and
    dx = scale / deviation * (dy - mean of dy - n * mean of dy * n).
    """
    it = _Features.of(op, node)
    x, scale, mean, variance, dy = it.operands
    deviation = it.deviation(variance)
    n = (x - it.along(mean)) / it.along(deviation)
    rest = dy - it.along(it.mean(dy)) - n * it.along(it.mean(dy * n))
    return it.back(it.along(scale / deviation) * rest, it.sum(dy * n), it.sum(dy))


RULES = collect(globals())
