"""Normalization by mean and variance, written out: LayerNormalization, GroupNormalization, MeanVarianceNormalization.

The variance is the mean of squared deviations, as the operators' equations have it. Their function bodies take the
mean of squares less the square of the mean, of which nothing is left where the mean is large.
"""

from __future__ import annotations

import numpy as np

from ..errors import Unsupported
from ..graph import Node, Value
from ..preconditions import required
from ..protos import DTYPES, ENUMS
from ..types import DType
from .build import StepBuilder
from .steps import (
    Made,
    Step,
    as_type,
    attribute,
    changed,
    constant,
    defaults,
    dtype,
    numbers,
    put,
    rank,
    same,
    wanted,
    work_type,
)


def _stash(node: Node) -> DType:
    """The element type that the moments are computed in."""
    number = attribute(node, "stash_type", 1)
    if number not in DTYPES or not DTYPES[number].is_float:
        raise Unsupported(node, f"stash_type={number} is no floating point type")
    return DTYPES[number]


def deviation(op: StepBuilder, x: Value, axes: list[int]) -> tuple[Value, Value, Value]:
    """Mean, deviation from it, and variance, over axes that are kept with size 1."""
    mean = op.ReduceMean(x, axes=axes, keepdims=1)
    apart = op.Sub(x, mean)
    return mean, apart, op.ReduceMean(op.Mul(apart, apart), axes=axes, keepdims=1)


def _root(op: StepBuilder, variance: Value, node: Node, kind: DType) -> Value:
    epsilon = op.const(np.float32(attribute(node, "epsilon", 1e-5)), kind)
    return op.Sqrt(op.Add(variance, epsilon))


def _layer(op: StepBuilder, node: Node) -> list[Value]:
    """LayerNormalization-17: over all axes from `axis` on; only the standardized part is in the stash type."""
    x, scale, bias = required(node, 0), required(node, 1), node.input(2)
    axis = attribute(node, "axis", -1)
    axes = list(range(axis, 0)) if axis < 0 else list(range(axis, rank(node, x)))
    kind, stash = dtype(node, x), _stash(node)
    op = op.at(13)
    mean, apart, variance = deviation(op, as_type(op, x, stash), axes)
    root = _root(op, variance, node, stash)
    made = op.Mul(as_type(op, op.Div(apart, root), kind), scale)
    if bias is not None:
        made = op.Add(made, bias)
    outputs = [made, mean if wanted(node, 1) else Value(""), op.Reciprocal(root) if wanted(node, 2) else Value("")]
    return outputs[: len(node.outputs)]


def _grouped(op: StepBuilder, node: Node, stash: DType) -> Value:
    """Each group of channels [N, G, everything else] standardized over its last axis."""
    x = required(node, 0)
    shape = numbers(op, [0, attribute(node, "num_groups"), -1])
    _, apart, variance = deviation(op, op.Reshape(as_type(op, x, stash), shape), [2])
    return op.Div(apart, _root(op, variance, node, stash))


def _by_channel(op: StepBuilder, node: Node) -> Made:
    """GroupNormalization-21: a scale and a bias for each channel, applied in the data's own type."""
    x, kind = required(node, 0), dtype(node, required(node, 0))
    op = op.at(13)
    made = as_type(op, op.Reshape(_grouped(op, node, _stash(node)), op.Shape(x)), kind)
    column = numbers(op, [-1, *[1] * (rank(node, x) - 2)])
    scale, bias = (op.Reshape(required(node, index), column) for index in (1, 2))
    return op.Add(op.Mul(made, scale), bias)


def _per_channel(op: StepBuilder, node: Node) -> Made:
    """Scale and bias were for a group each and are for a channel; float64 was computed as such."""
    x, groups = required(node, 0), attribute(node, "num_groups")
    shape = x.tensor.shape
    channels = shape[1] if shape is not None and len(shape) > 1 else None
    inputs = node.formal_inputs
    for index in (1, 2):
        value = constant(node, index)
        if value is not None and isinstance(channels, int):
            made = op.const(np.repeat(value, channels // groups), dtype(node, inputs[index]))
        else:
            size = op.Div(op.Shape(x, start=1, end=2), numbers(op, groups))
            column = op.Reshape(required(node, index), numbers(op, [groups, 1]))
            made = op.Reshape(op.Expand(column, op.Concat(numbers(op, groups), size, axis=0)), numbers(op, -1))
        inputs = put(inputs, index, made)
    precision = ENUMS[DType.FLOAT64] if x.tensor.dtype is DType.FLOAT64 else None
    return changed(node, inputs=inputs, stash_type=precision)


def _by_group(op: StepBuilder, node: Node) -> Made:
    """GroupNormalization-18: a scale and a bias for each group."""
    x, kind = required(node, 0), dtype(node, required(node, 0))
    op = op.at(13)
    made = as_type(op, _grouped(op, node, work_type(kind)), kind)
    scale, bias = (op.Reshape(required(node, index), numbers(op, [-1, 1])) for index in (1, 2))
    return op.Reshape(op.Add(op.Mul(made, scale), bias), op.Shape(x))


def _by_mean_and_variance(op: StepBuilder, node: Node) -> Made:
    """MeanVarianceNormalization-9: the deviation over its root mean square plus 1e-9."""
    x = required(node, 0)
    kind = dtype(node, x)
    _, apart, variance = deviation(op, x, list(attribute(node, "axes", [0, 2, 3])))
    return op.Div(apart, op.Add(op.Sqrt(variance), op.const(np.float32(1e-9), kind)))


def _by_default(op: StepBuilder, node: Node) -> Made:
    """MeanVarianceNormalization as it was used before it had a version: by channels, the default of both."""
    if attribute(node, "across_channels", 0) or not attribute(node, "normalize_variance", 1):
        raise Unsupported(node, "other than by channels and variance")
    if rank(node, node.input(0)) != 4:
        raise Unsupported(node, "of other than images")
    return changed(node, without=("across_channels", "normalize_variance"), axes=[0, 2, 3])


ROWS = {
    ("LayerNormalization", 17): Step("LayerNormalization came with version 17", _layer),
    ("GroupNormalization", 18): Step("GroupNormalization came with version 18", _by_group),
    ("GroupNormalization", 21): Step(_per_channel, _by_channel),
    ("MeanVarianceNormalization", 9): Step(_by_default, _by_mean_and_variance),
    ("MeanVarianceNormalization", 13): Step(defaults({"axes": [0, 2, 3]}, {}).up, same),
}
