"""Random operators: right in distribution only.

No two runtimes draw the same numbers. A node's own generator is seeded with its `seed`, or else with a
number made from its output's name, so that a model gives the same results each time it is built and run.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .base import Array, Attributes, Kernel, scalar, widened


def generator(attrs: Attributes) -> np.random.RandomState:
    """The node's generator, whose stream goes on from call to call."""
    if attrs.state is None:
        seed = attrs.get("seed")
        if seed is None:
            number = zlib.crc32(attrs.node.outputs[0].name.encode())
        elif float(seed).is_integer() and 0 <= seed < 2**32:
            number = int(seed)
        else:
            number = zlib.crc32(struct.pack("d", seed))
        attrs.state = np.random.RandomState(number)
    return attrs.state


Draw = Callable[[Attributes, Sequence[int]], Any]


def _uniform(attrs: Attributes, shape: Sequence[int]) -> Any:
    return generator(attrs).uniform(attrs.float("low"), attrs.float("high"), tuple(shape))


def _normal(attrs: Attributes, shape: Sequence[int]) -> Any:
    return generator(attrs).normal(attrs.float("mean"), attrs.float("scale"), tuple(shape))


def drawn(draw: Draw) -> Kernel:
    """Shape and type from attributes."""

    def kernel(attrs: Attributes) -> Array:
        return np.asarray(draw(attrs, attrs.ints("shape"))).astype(attrs.dtype("dtype").numpy)

    return kernel


def drawn_like(draw: Draw) -> Kernel:
    """Shape, and type unless it is an attribute, from the input."""

    def kernel(attrs: Attributes, x: Array) -> Array:
        return np.asarray(draw(attrs, x.shape)).astype(attrs.dtype_or("dtype", x.dtype))

    return kernel


def bernoulli(attrs: Attributes, x: Array) -> Array:
    hit = generator(attrs).uniform(size=x.shape) < x.astype(np.float64)
    return np.asarray(hit).astype(attrs.dtype_or("dtype", x.dtype))


def multinomial(attrs: Attributes, x: Array) -> Array:
    """Classes drawn for each row of unnormalised log-probabilities."""
    weights = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True).astype(np.float64))
    edges = np.cumsum(weights, axis=1)
    marks = generator(attrs).uniform(size=(len(x), attrs.int("sample_size"))) * edges[:, -1:]
    chosen = [np.searchsorted(edge, mark, side="right") for edge, mark in zip(edges, marks, strict=True)]
    return np.array(chosen).reshape(marks.shape).astype(attrs.dtype("dtype").numpy)


def dropout(
    attrs: Attributes, x: Array, ratio: Array | None = None, training: Array | None = None
) -> tuple[Array, Array]:
    """The identity with a mask of ones, except in training (`training_mode` since 12, `is_test` 0 before 7)."""
    if attrs.version >= 12:
        active = training is not None and bool(scalar(training))
        share = 0.5 if ratio is None else float(scalar(ratio))
    else:
        active = attrs.version < 7 and not attrs.flag("is_test")
        share = attrs.float("ratio")
    mask_type = np.dtype(bool) if attrs.version >= 10 else x.dtype
    if not active or share == 0:
        return x, np.ones(x.shape, mask_type)
    mask = np.asarray(generator(attrs).uniform(size=x.shape) >= share)
    wide = widened(x)
    return (wide * mask * wide.dtype.type(1 / (1 - share))).astype(x.dtype), mask.astype(mask_type)


TABLE: dict[str, Kernel] = {
    "RandomUniform": drawn(_uniform),
    "RandomNormal": drawn(_normal),
    "RandomUniformLike": drawn_like(_uniform),
    "RandomNormalLike": drawn_like(_normal),
    "Bernoulli": bernoulli,
    "Multinomial": multinomial,
    "Dropout": dropout,
}
