"""ai.onnx.preview.training: one step of an optimizer for any number of tensors."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np

from .base import Array, Attributes, Kernel, expect_shape, scalar

Update = Callable[..., tuple[Any, ...]]


def optimizer(update: Update, states: int) -> Kernel:
    """A kernel from `update(attrs, rate, count, tensor, gradient, *states)`, which gives tensor and states anew.

    The inputs after rate and count are all tensors, all gradients, all of the first state and so on; the
    outputs are ordered in the same way.
    """

    def kernel(attrs: Attributes, rate: Array, count: Array, *inputs: Array) -> tuple[Array, ...]:
        number, rest = divmod(len(inputs), 2 + states)
        if rest:
            raise ValueError(f"{len(inputs)} tensors don't make groups of {2 + states}")
        groups = [inputs[index::number] for index in range(number)]
        for tensor, *others in groups:
            for other in others:
                expect_shape("a gradient or state", other, tensor.shape)
        new = [update(attrs, float(scalar(rate)), int(scalar(count)), *group) for group in groups]
        kinds = zip(*new, strict=True)
        return tuple(value.astype(inputs[0].dtype) for value in chain.from_iterable(kinds))

    return kernel


def adagrad(attrs: Attributes, rate: float, count: int, x: Array, gradient: Array, h: Array) -> tuple[Array, Array]:
    regular = attrs.float("norm_coefficient") * x + gradient
    h = h + regular * regular
    step = rate / (1 + count * attrs.float("decay_factor"))
    return x - step * regular / (np.sqrt(h) + attrs.float("epsilon")), h


def adam(
    attrs: Attributes, rate: float, count: int, x: Array, gradient: Array, v: Array, h: Array
) -> tuple[Array, Array, Array]:
    alpha, beta = attrs.float("alpha"), attrs.float("beta")
    regular = attrs.float("norm_coefficient") * x + gradient
    v = alpha * v + (1 - alpha) * regular
    h = beta * h + (1 - beta) * regular * regular
    if count > 0:
        rate = rate * math.sqrt(1 - beta**count) / (1 - alpha**count)
    new = x - rate * v / (np.sqrt(h) + attrs.float("epsilon"))
    return (1 - attrs.float("norm_coefficient_post")) * new, v, h


def momentum(attrs: Attributes, rate: float, count: int, x: Array, gradient: Array, v: Array) -> tuple[Array, Array]:
    """Standard, or Nesterov's; the gradient has its full weight in the first step."""
    alpha, mode = attrs.float("alpha"), attrs.string("mode")
    if mode not in ("standard", "nesterov"):
        raise ValueError(f"unknown mode {mode!r}")
    regular = attrs.float("norm_coefficient") * x + gradient
    v = alpha * v + (attrs.float("beta") if count > 0 else 1.0) * regular
    return x - rate * (regular + alpha * v if mode == "nesterov" else v), v


TABLE: dict[str, Kernel] = {
    "Adagrad": optimizer(adagrad, 1),
    "Adam": optimizer(adam, 2),
    "Momentum": optimizer(momentum, 1),
}
