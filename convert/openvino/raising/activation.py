"""Activation functions, and the normalizing ones (SoftMax, LogSoftmax)."""

from __future__ import annotations

from ....passes.build import constant_like, reshape, size_of
from ....passes.graph import Node, Value
from ....passes.preconditions import given, size_of_axis
from ....passes.rewrite import Builder, collect, rule
from ..dialect import DOMAIN
from .support import Results, call, constant, scalar


def _single(value: Value | None) -> float | None:
    """A constant of one element."""
    array = constant(value)
    return float(array.reshape(-1)[0]) if array is not None and array.size == 1 else None


@rule(DOMAIN, "HardSigmoid")
def hard_sigmoid(op: Builder, node: Node) -> Results:
    """HardSigmoid-1: alpha and beta are inputs."""
    x, alpha, beta = given(node, 0), given(node, 1), given(node, 2)
    known = _single(alpha), _single(beta)
    if known[0] is not None and known[1] is not None:
        return call(op, "HardSigmoid", x, alpha=known[0], beta=known[1])
    line = op.Add(op.Mul(scalar(op, alpha), x), scalar(op, beta))
    return op.Clip(line, constant_like(op, 0, x), constant_like(op, 1, x))


@rule(DOMAIN, "Selu")
def selu(op: Builder, node: Node) -> Results:
    """Selu-1: alpha and lambda are inputs."""
    x, alpha, gamma = given(node, 0), given(node, 1), given(node, 2)
    known = _single(alpha), _single(gamma)
    if known[0] is not None and known[1] is not None:
        return call(op, "Selu", x, alpha=known[0], gamma=known[1])
    zero = constant_like(op, 0, x)
    below = op.Mul(scalar(op, alpha), op.Sub(op.Exp(op.Min(x, zero)), constant_like(op, 1, x)))
    return op.Mul(scalar(op, gamma), op.Where(op.Greater(x, zero), x, below))


@rule(DOMAIN, "Swish")
def swish(op: Builder, node: Node) -> Results:
    """Swish-4: x * sigmoid(beta * x), beta an optional input."""
    x, beta = given(node, 0), node.input(1)
    if beta is None:
        return op.Swish(x)
    known = _single(beta)
    if known is not None:
        return op.Swish(x, alpha=known)
    return op.Mul(x, op.Sigmoid(op.Mul(scalar(op, beta), x)))


@rule(DOMAIN, "PReLU")
def prelu(op: Builder, node: Node) -> Results:
    """PReLU-1: a vector of slopes as long as dimension 1 belongs to the channels, else NumPy's rule."""
    x, slope = given(node, 0), given(node, 1)
    rank = x.rank
    if slope.rank == 1 and rank is not None and rank > 2:
        count, channels = size_of_axis(slope, 0), size_of_axis(x, 1)
        by_channel, by_last = [1, -1] + [1] * (rank - 2), [1] * (rank - 1) + [-1]
        if count is not None and channels is not None:
            slope = reshape(op, slope, by_channel if count == channels else by_last)
        elif count != 1:
            same = op.Equal(size_of(op, x, 1), size_of(op, slope, 0))
            slope = op.Reshape(slope, op.Where(same, op.const(by_channel), op.const(by_last)))
    if slope.rank is not None and rank is not None and slope.rank <= rank:
        return call(op, "PRelu", x, slope)
    return op.Where(op.Less(x, constant_like(op, 0, x)), op.Mul(x, slope), x)


RULES = collect(globals())
