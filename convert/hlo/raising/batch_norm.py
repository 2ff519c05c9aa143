"""batch-norm-inference, batch-norm-training, batch-norm-grad."""

from __future__ import annotations

from dataclasses import dataclass

from ....passes.build import cast
from ....passes.graph import Node, Value
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ..dialect import DOMAIN
from ..infer_tools import axis as axis_of
from .support import Results, dtype_of, given, shape_of
from .type_legalization import narrowed
from .views import reshaped, sizes


@dataclass(slots=True)
class _Features:
    """The operands in a type that formulas are reckoned in, and the dimension that the features are."""

    op: Builder
    node: Node

    @property
    def axis(self) -> int:
        return axis_of(self.node, len(shape_of(self.node, given(self.node, 0))), "feature_index")

    @property
    def epsilon(self) -> float:
        return float(self.node.attributes.get("epsilon", 0.0))

    def operand(self, index: int) -> Value:
        """An operand; narrow floats in float32."""
        value = given(self.node, index)
        return cast(self.op, value, DType.FLOAT32) if dtype_of(self.node, value).bits < 32 else value

    def along(self, vector: Value) -> Value:
        """A number for each feature, to be broadcast to the whole."""
        shape = shape_of(self.node, given(self.node, 0))
        return reshaped(self.op, vector, [shape[self.axis], *[1] * (len(shape) - 1 - self.axis)])

    def mean(self, value: Value) -> Value:
        """The mean for each feature."""
        return self.op.ReduceMean(value, self.others(), keepdims=0, noop_with_empty_axes=self.alone())

    def total(self, value: Value) -> Value:
        """The sum for each feature."""
        return self.op.ReduceSum(value, self.others(), keepdims=0, noop_with_empty_axes=self.alone())

    def others(self) -> Value:
        rank = len(shape_of(self.node, given(self.node, 0)))
        return sizes(self.op, [axis for axis in range(rank) if axis != self.axis])

    def alone(self) -> int | None:
        """1 where there is no other dimension than that of the features."""
        return 1 if len(shape_of(self.node, given(self.node, 0))) == 1 else None

    def deviation(self, variance: Value) -> Value:
        """The square root of a variance, and of epsilon."""
        return self.op.Sqrt(self.op.Add(variance, self.op.const(self.epsilon, variance.tensor.dtype)))

    def back(self, *values: Value) -> list[Value]:
        """The results in the type of the operands."""
        return [narrowed(self.op, value, dtype_of(self.node, given(self.node, 0))) for value in values]


@rule(DOMAIN, "batch-norm-inference")
def inference(op: Builder, node: Node) -> Results:
    """batch-norm-inference(x, scale, offset, mean, variance): BatchNormalization where the features are dimension 1."""
    it = _Features(op, node)
    x, scale, offset, mean, variance = (it.operand(index) for index in range(5))
    if it.axis == 1:
        return it.back(op.BatchNormalization(x, scale, offset, mean, variance, epsilon=it.epsilon))
    factor = op.Div(scale, it.deviation(variance))
    scaled = op.Mul(op.Sub(x, it.along(mean)), it.along(factor))
    return it.back(op.Add(scaled, it.along(offset)))


@rule(DOMAIN, "batch-norm-training")
def training(op: Builder, node: Node) -> Results:
    """batch-norm-training(x, scale, offset): what is normalized, the mean and the variance of each feature."""
    it = _Features(op, node)
    x, scale, offset = (it.operand(index) for index in range(3))
    mean = it.mean(x)
    centred = op.Sub(x, it.along(mean))
    variance = it.mean(op.Mul(centred, centred))
    scaled = op.Mul(centred, it.along(op.Div(scale, it.deviation(variance))))
    return it.back(op.Add(scaled, it.along(offset)), mean, variance)


@rule(DOMAIN, "batch-norm-grad")
def gradient(op: Builder, node: Node) -> Results:
    """batch-norm-grad(x, scale, mean, variance, dy): the gradients of x, scale and offset.

    With n = (x - mean) / deviation: dscale is the sum of dy * n, doffset that of dy, and
    dx = scale / deviation * (dy - mean of dy - n * mean of dy * n).
    """
    it = _Features(op, node)
    x, scale, mean, variance, dy = (it.operand(index) for index in range(5))
    deviation = it.deviation(variance)
    normal = op.Div(op.Sub(x, it.along(mean)), it.along(deviation))
    product = op.Mul(dy, normal)
    rest = op.Sub(dy, it.along(it.mean(dy)))
    rest = op.Sub(rest, op.Mul(normal, it.along(it.mean(product))))
    return it.back(op.Mul(it.along(op.Div(scale, deviation)), rest), it.total(product), it.total(dy))


RULES = collect(globals())
