"""ai.onnx.preview.training: one step of an optimizer for any number of tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain

from ..attributes import NodeAttributes
from ..build import Expr, expr, where
from ..errors import Unsupported
from ..graph import Node, Value
from ..preconditions import dtype_of, required
from ..rewrite import Builder, Rule
from ..types import DType


class _Step:
    """The numbers of one step: `rate` and `count` are scalars, in float64."""

    def __init__(self, op: Builder, node: Node, like: Value) -> None:
        self.op, self.node, self.dtype = op, node, dtype_of(node, like)
        self.attrs = NodeAttributes(node)
        self.rate, self.count = (expr(op, required(node, index), DType.FLOAT64).reshape() for index in range(2))

    def narrow(self, value: Expr) -> Expr:
        """In the tensors' type."""
        return value.cast(self.dtype)

    def regular(self, x: Expr, gradient: Expr) -> Expr:
        """The gradient with the regularization's."""
        share = self.attrs.float("norm_coefficient")
        return gradient if share == 0 else x * share + gradient

    def divisor(self, squares: Expr) -> Expr:
        """sqrt(squares) + epsilon"""
        return squares.sqrt() + self.attrs.float("epsilon")


def _adagrad(step: _Step, x: Expr, gradient: Expr, h: Expr) -> Sequence[Expr]:
    regular = step.regular(x, gradient)
    h = h + regular * regular
    rate = step.narrow(step.rate / (step.count * step.attrs.float("decay_factor") + 1))
    return x - rate * regular / step.divisor(h), h


def _adam(step: _Step, x: Expr, gradient: Expr, v: Expr, h: Expr) -> Sequence[Expr]:
    regular = step.regular(x, gradient)
    alpha, beta = step.attrs.float("alpha"), step.attrs.float("beta")
    v = v * alpha + regular * (1 - alpha)
    h = h * beta + regular * regular * (1 - beta)

    def rest(factor: float) -> Expr:
        return 1 - step.count.like(factor) ** step.count

    corrected = step.rate * rest(beta).sqrt() / rest(alpha)
    rate = step.narrow(where(step.count > 0, corrected, step.rate))
    return (x - rate * v / step.divisor(h)) * (1 - step.attrs.float("norm_coefficient_post")), v, h


def _momentum(step: _Step, x: Expr, gradient: Expr, v: Expr) -> Sequence[Expr]:
    """Standard, or Nesterov's; the gradient has its full weight in the first step."""
    regular, mode = step.regular(x, gradient), step.attrs.string("mode")
    if mode not in ("standard", "nesterov"):
        raise Unsupported(step.node, f"mode={mode!r} isn't known")
    alpha = step.attrs.float("alpha")
    weight = where(step.count > 0, x.like(step.attrs.float("beta")), x.like(1))
    v = v * alpha + regular * weight
    return x - step.narrow(step.rate) * (regular + v * alpha if mode == "nesterov" else v), v


def _optimizer(update: Callable[..., Sequence[Expr]], states: int) -> Rule:
    """A rule: behind rate and count stand all tensors, all gradients, all of the first state and so on."""

    def build(op: Builder, node: Node) -> list[Value]:
        values = [required(node, index) for index in range(2, len(node.inputs))]
        count, rest = divmod(len(values), 2 + states)
        if rest or not count:
            raise Unsupported(node, f"{len(values)} tensors don't make groups of {2 + states}")
        step = _Step(op, node, values[0])
        new = [update(step, *(expr(op, value) for value in values[index::count])) for index in range(count)]
        return [made.value() for made in chain.from_iterable(zip(*new, strict=True))]

    return build


_DOMAIN = "ai.onnx.preview.training"

RULES: dict[tuple[str, str], list[Rule]] = {
    (_DOMAIN, "Adagrad"): [_optimizer(_adagrad, 1)],
    (_DOMAIN, "Adam"): [_optimizer(_adam, 2)],
    (_DOMAIN, "Momentum"): [_optimizer(_momentum, 1)],
}
