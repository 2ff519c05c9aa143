"""Normalization in groups of channels that stand behind the other dimensions, as Flax writes it out.

It becomes an InstanceNormalization, not a GroupNormalization: ONNX defines that by the mean of squares less the square
of the mean, which rounding makes negative where a group's elements are all alike, so that ONNX Runtime gives NaN.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ...graph import Node, Value
from .context import SHORT_FLOATS, Context, Table, broadcasts_as_kept, certain, made_by, unviewed
from .norms import deviation_of


class _Normal(NamedTuple):
    """x normalized in groups of its last dimension, and what it is multiplied by then."""

    x: Value
    groups: int
    epsilon: float
    scale: Value | None = None


def group_normalization(context: Context, node: Node) -> Value | None:
    """A normalization in groups, maybe times a scale."""
    found = next(_normals(context, node), None) if node.output.tensor.dtype in SHORT_FLOATS else None
    shape = found.x.tensor.shape if found is not None else None
    if found is None or shape is None or node.output.tensor.shape != shape:
        return None
    op, rank, dtype = context.op, len(shape), node.output.tensor.dtype
    sizes = [size if isinstance(size, int) else -1 for size in (shape[0], shape[-1], *shape[1:-1])]
    if sizes.count(-1) > 1 or 0 in sizes:
        return None
    grouped = op.Reshape(
        op.Transpose(found.x, perm=[0, rank - 1, *range(1, rank - 1)]), context.sizes([0, found.groups, -1])
    )
    ones, zeros = (op.const(np.full(found.groups, number), dtype) for number in (1, 0))
    normal = op.Reshape(op.InstanceNormalization(grouped, ones, zeros, epsilon=found.epsilon), context.sizes(sizes))
    made = op.Transpose(normal, perm=[0, *range(2, rank), 1], _types=[found.x.type])
    return made if found.scale is None else op.Mul(made, found.scale, _types=[node.output.type])


def _normals(context: Context, node: Node) -> Iterator[_Normal]:
    """What a product normalizes, if anything."""
    for one, other in (node.inputs, node.inputs[::-1]):
        centred, scaled = made_by(one, "Sub"), made_by(other, "Mul")
        if centred is None:
            continue
        for root, scale in (scaled.inputs, scaled.inputs[::-1]) if scaled is not None else ((other, None),):
            found = _of_channels(context, centred, root)
            if found is not None:
                yield found._replace(scale=scale)


def _of_channels(context: Context, centred: Node, inverse: Value | None) -> _Normal | None:
    """(x - mean) / sqrt(variance + epsilon), both computed of x as [batch, ..., groups, channels of a group] and spread
    over all channels."""
    x, mean = centred.inputs[0], made_by(_of_groups(centred.inputs[1]), "ReduceMean")
    reciprocal = made_by(_of_groups(inverse), "Reciprocal")
    root = made_by(_of_groups(reciprocal.inputs[0]), "Sqrt") if reciprocal is not None else None
    total = made_by(_of_groups(root.inputs[0]), "Add") if root is not None else None
    if x is None or mean is None or mean.inputs[0] is None or unviewed(mean.inputs[0]) is not unviewed(x):
        return None
    shape, grouped, axes = x.tensor.shape, mean.inputs[0].tensor.shape, context.integers(mean.input(1))
    if shape is None or grouped is None or axes is None or len(shape) < 2 or None in shape:
        return None
    groups, size = grouped[-2:]
    if grouped[:-2] != shape[:-1] or not isinstance(groups, int) or not isinstance(size, int):
        return None
    wanted = [*range(1, len(grouped) - 2), len(grouped) - 1]
    if shape[-1] != groups * size or sorted(axis % len(grouped) for axis in axes) != wanted:
        return None
    kept = [*range(1, len(shape) - 1)]
    for variance, epsilon in (total.inputs, total.inputs[::-1]) if total is not None else ():
        number = context.number(epsilon)
        found = deviation_of(context, _of_groups(variance)) if number is not None else None
        if number is None or found is None or found != (mean.inputs[0], wanted, True):
            continue
        if all(broadcasts_as_kept(one, x, kept) for one in (centred.inputs[1], inverse)):
            return _Normal(x, groups, float(number))
    return None


def _of_groups(value: Value | None) -> Value | None:
    """A value with a number for each group, of one with that number for each channel: spread over a last dimension,
    which is joined with the one before then. Any other value without its views."""
    value = unviewed(value)
    spread = made_by(value, "Expand")
    before, after = certain(spread.inputs[0]) if spread is not None else None, certain(value)
    if spread is None or not before or after is None or before[-1] != 1:
        return value
    if (1,) * (len(after) - len(before)) + before[:-1] != after[:-1]:
        return value
    return unviewed(spread.inputs[0])


RULES: Table = {"Mul": [group_normalization]}
