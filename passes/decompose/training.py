"""ai.onnx.preview.training: one step of an optimizer for any number of tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain

from ..attributes import NodeAttributes
from ..errors import Unsupported
from ..graph import Node, Value
from ..preconditions import dtype_of, required
from ..rewrite import Builder, Rule
from ..types import DType
from .common import cast, numbers


class _Step:
    """The numbers of one step and the arithmetic on them; `rate` and `count` are scalars, in float64."""

    def __init__(self, op: Builder, node: Node, like: Value) -> None:
        self.op, self.node, self.dtype = op, node, dtype_of(node, like)
        self.attrs = NodeAttributes(node)
        self.rate, self.count = (
            op.Reshape(cast(op, node, required(node, index), DType.FLOAT64), op.const([], DType.INT64))
            for index in range(2)
        )
        self.later = op.Greater(self.count, self.exact(0))

    def exact(self, value: float) -> Value:
        return numbers(self.op, value, DType.FLOAT64)

    def number(self, value: float) -> Value:
        return numbers(self.op, value, self.dtype)

    def narrow(self, value: Value) -> Value:
        """In the tensors' type."""
        return cast(self.op, self.node, value, self.dtype)

    def times(self, factor: float, value: Value) -> Value:
        return value if factor == 1 else self.op.Mul(self.number(factor), value)

    def regular(self, x: Value, gradient: Value) -> Value:
        """The gradient with the regularization's."""
        share = self.attrs.float("norm_coefficient")
        return gradient if share == 0 else self.op.Add(self.times(share, x), gradient)

    def below(self, root: Value) -> Value:
        """sqrt(root) + epsilon"""
        return self.op.Add(self.op.Sqrt(root), self.number(self.attrs.float("epsilon")))


def _adagrad(step: _Step, x: Value, gradient: Value, h: Value) -> Sequence[Value]:
    op, regular = step.op, step.regular(x, gradient)
    h = op.Add(h, op.Mul(regular, regular))
    decay = op.Add(op.Mul(step.exact(step.attrs.float("decay_factor")), step.count), step.exact(1))
    rate = step.narrow(op.Div(step.rate, decay))
    return op.Sub(x, op.Div(op.Mul(rate, regular), step.below(h))), h


def _adam(step: _Step, x: Value, gradient: Value, v: Value, h: Value) -> Sequence[Value]:
    op, regular = step.op, step.regular(x, gradient)
    alpha, beta = step.attrs.float("alpha"), step.attrs.float("beta")
    v = op.Add(step.times(alpha, v), step.times(1 - alpha, regular))
    h = op.Add(step.times(beta, h), step.times(1 - beta, op.Mul(regular, regular)))

    def rest(factor: float) -> Value:
        return op.Sub(step.exact(1), op.Pow(step.exact(factor), step.count))

    corrected = op.Div(op.Mul(step.rate, op.Sqrt(rest(beta))), rest(alpha))
    rate = step.narrow(op.Where(step.later, corrected, step.rate))
    new = op.Sub(x, op.Div(op.Mul(rate, v), step.below(h)))
    return step.times(1 - step.attrs.float("norm_coefficient_post"), new), v, h


def _momentum(step: _Step, x: Value, gradient: Value, v: Value) -> Sequence[Value]:
    """Standard, or Nesterov's; the gradient has its full weight in the first step."""
    op, regular, mode = step.op, step.regular(x, gradient), step.attrs.string("mode")
    if mode not in ("standard", "nesterov"):
        raise Unsupported(step.node, f"mode={mode!r} isn't known")
    alpha = step.attrs.float("alpha")
    weight = op.Where(step.later, step.number(step.attrs.float("beta")), step.number(1))
    v = op.Add(step.times(alpha, v), op.Mul(weight, regular))
    move = op.Add(regular, step.times(alpha, v)) if mode == "nesterov" else v
    return op.Sub(x, op.Mul(step.narrow(step.rate), move)), v


def _optimizer(update: Callable[..., Sequence[Value]], states: int) -> Rule:
    """A rule: behind rate and count stand all tensors, all gradients, all of the first state and so on."""

    def build(op: Builder, node: Node) -> list[Value]:
        values = [required(node, index) for index in range(2, len(node.inputs))]
        count, rest = divmod(len(values), 2 + states)
        if rest or not count:
            raise Unsupported(node, f"{len(values)} tensors don't make groups of {2 + states}")
        step = _Step(op, node, values[0])
        new = [update(step, *values[index::count]) for index in range(count)]
        return list(chain.from_iterable(zip(*new, strict=True)))

    return build


_DOMAIN = "ai.onnx.preview.training"

RULES: dict[tuple[str, str], list[Rule]] = {
    (_DOMAIN, "Adagrad"): [_optimizer(_adagrad, 1)],
    (_DOMAIN, "Adam"): [_optimizer(_adam, 2)],
    (_DOMAIN, "Momentum"): [_optimizer(_momentum, 1)],
}
