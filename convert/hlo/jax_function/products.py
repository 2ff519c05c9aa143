"""HLO's products, convolutions, Fourier transforms and normalization, by `jax.lax`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax import lax

from ....passes.graph import Node
from ..dimension_numbers import DotNumbers
from ..text.tree import Labels
from .tools import Array, Arrays, result_type


def _dot(node: Node, operands: Arrays) -> jax.Array:
    left, right = operands
    numbers = DotNumbers.of(node)
    contracting = (numbers.lhs_contracting, numbers.rhs_contracting)
    batch = (numbers.lhs_batch, numbers.rhs_batch)
    return lax.dot_general(left, right, (contracting, batch), preferred_element_type=result_type(node).dtype)


def _spec(labels: str, letters: str) -> tuple[int, ...]:
    """Where the dimensions called by two letters stand, then the spatial ones."""
    return (*map(labels.index, letters), *(labels.index(str(at)) for at in range(len(labels) - 2)))


def _convolution(node: Node, operands: Arrays) -> jax.Array:
    """Operands are widened to the result's type first: JAX has no derivative of a convolution that does it itself."""
    labels, window = node.attributes["dim_labels"], node.attributes.get("window", ())
    assert isinstance(labels, Labels)
    dtype = result_type(node).dtype
    left, right = (lax.convert_element_type(operand, dtype) for operand in operands)
    specs = (_spec(labels.lhs, "bf"), _spec(labels.rhs, "oi"), _spec(labels.out, "bf"))
    turned = [specs[1][2 + at] for at, dim in enumerate(window) if dim.reversal]
    return lax.conv_general_dilated(
        left,
        lax.rev(right, turned) if turned else right,
        [dim.stride for dim in window],
        [(dim.low, dim.high) for dim in window],
        [dim.lhs_dilate for dim in window],
        [dim.rhs_dilate for dim in window],
        lax.ConvDimensionNumbers(*specs),
        node.attributes.get("feature_group_count", 1),
        node.attributes.get("batch_group_count", 1),
    )


def _fft(node: Node, operands: Arrays) -> jax.Array:
    return lax.fft(operands[0], node.attributes["fft_type"], node.attributes["fft_length"])


def _batch_norm(node: Node, operands: Arrays) -> jax.Array:
    """scale (x - mean) / sqrt(variance + epsilon) + offset"""
    x = operands[0]
    at = (node.attributes["feature_index"],)
    epsilon = np.asarray(node.attributes["epsilon"], x.dtype)

    def along(values: Array) -> jax.Array:
        return lax.broadcast_in_dim(values, x.shape, at)

    scale, offset, mean, variance = operands[1:]
    deviation = lax.sqrt(lax.add(variance, lax.full_like(variance, epsilon)))
    return lax.add(lax.mul(lax.div(lax.sub(x, along(mean)), along(deviation)), along(scale)), along(offset))


OPERATIONS: dict[str, Callable[[Node, Arrays], Any]] = {
    "batch-norm-inference": _batch_norm,
    "convolution": _convolution,
    "dot": _dot,
    "fft": _fft,
}
