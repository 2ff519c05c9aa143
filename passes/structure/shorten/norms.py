"""Normalizations that are written out: LayerNormalization, InstanceNormalization."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...graph import Node, Value
from .context import Context, Table, made_by

_LAYER_NORMALIZATION = 17  # the opset that brought it


class _Normal(NamedTuple):
    """(x - mean) / sqrt(variance + epsilon), both over `axes`."""

    x: Value
    axes: list[int]
    epsilon: float


def _normal(context: Context, node: Node | None) -> _Normal | None:
    if node is not None and node.op_type == "LayerNormalization":
        return _plain(context, node)
    root = made_by(node.inputs[1], "Sqrt") if node is not None and node.op_type == "Div" else None
    total = made_by(root.inputs[0], "Add") if root is not None else None
    centred = node.inputs[0] if node is not None else None
    difference = made_by(centred, "Sub")
    if total is None or difference is None:
        return None
    for index in (0, 1):
        epsilon, variance = context.constant(total.inputs[1 - index]), _mean(context, total.inputs[index])
        if epsilon is None or epsilon.size != 1 or variance is None:
            continue
        square, mean, x = made_by(variance[0], "Mul"), _mean(context, difference.inputs[1]), difference.inputs[0]
        if square is None or mean is None or x is None or mean[0] is not x or mean[1] != variance[1]:
            continue
        if all(factor is centred for factor in square.inputs):
            return _Normal(x, mean[1], float(epsilon.reshape(-1)[0]))
    return None


def _plain(context: Context, node: Node) -> _Normal | None:
    """A LayerNormalization that neither scales nor shifts."""
    x, ones = node.inputs[0], context.constant(node.inputs[1])
    if x is None or x.rank is None or node.input(2) is not None or ones is None or not (ones == 1).all():
        return None
    axes = list(range(node.attributes.get("axis", -1) % x.rank, x.rank))
    return _Normal(x, axes, node.attributes.get("epsilon", 1e-5))


def _mean(context: Context, value: Value | None) -> tuple[Value, list[int]] | None:
    """What is averaged, and over which axes, which stay with size 1."""
    node = made_by(value, "ReduceMean")
    data, axes = (node.inputs[0], context.integers(node.input(1))) if node is not None else (None, None)
    if node is None or data is None or not axes or data.rank is None or not node.attributes.get("keepdims", 1):
        return None
    return data, sorted(axis % data.rank for axis in axes)


def _fits(value: Value, shape: tuple[int, ...]) -> bool:
    """Whether an operand lies within the last dimensions, which have these sizes."""
    own = value.tensor.static_shape
    if own is None:
        return False
    own = own[next((index for index, size in enumerate(own) if size != 1), len(own)) :]
    return len(own) <= len(shape) and all(one in (1, two) for one, two in zip(own[::-1], shape[::-1], strict=False))


def layer_normalization(context: Context, node: Node) -> Value | None:
    """Over the last dimensions."""
    found = _normal(context, node) if context.opset >= _LAYER_NORMALIZATION else None
    dtype = found.x.tensor.dtype if found is not None else None
    shape = found.x.tensor.shape if found is not None else None
    if found is None or shape is None or dtype is None or found.axes != list(range(found.axes[0], len(shape))):
        return None
    sizes = [size for size in shape[found.axes[0] :] if isinstance(size, int)]
    if len(sizes) < len(found.axes):
        return None
    ones = context.op.const(np.ones(sizes, dtype.numpy), dtype, name="scale")
    options = {"axis": found.axes[0] - len(shape), "epsilon": found.epsilon}
    return context.op.LayerNormalization(found.x, ones, _types=[node.output.type], **options)


def with_scale(context: Context, node: Node) -> Value | None:
    """LayerNormalization(x, 1) * scale."""
    for index in (0, 1):
        normal, scale = made_by(node.inputs[index], "LayerNormalization"), node.inputs[1 - index]
        if normal is None or normal.input(2) is not None or not context.used_once(normal.output):
            continue
        ones = context.constant(normal.inputs[1])
        if ones is None or not (ones == 1).all() or not _broadcasts_within(normal, scale, ones.shape):
            continue
        return _normalization(context, node, normal, _broadcast(context, scale, ones.shape))
    return None


def with_bias(context: Context, node: Node) -> Value | None:
    """LayerNormalization(x, scale) + bias."""
    for index in (0, 1):
        normal, bias = made_by(node.inputs[index], "LayerNormalization"), node.inputs[1 - index]
        shape = normal.inputs[1].tensor.static_shape if normal is not None and normal.inputs[1] is not None else None
        if normal is None or shape is None or normal.input(2) is not None or not context.used_once(normal.output):
            continue
        if _broadcasts_within(normal, bias, shape):
            return _normalization(context, node, normal, normal.inputs[1], _broadcast(context, bias, shape))
    return None


def _broadcasts_within(normal: Node, operand: Value | None, shape: tuple[int, ...]) -> bool:
    rank = normal.output.rank
    return operand is not None and rank is not None and (operand.rank or 0) <= rank and _fits(operand, shape)


def _broadcast(context: Context, value: Value | None, shape: tuple[int, ...]) -> Value | None:
    """A constant in the shape of the normalized dimensions."""
    assert value is not None
    own = value.tensor.static_shape or ()
    last = own[max(len(own) - len(shape), 0) :]
    return context.viewed(value, lambda array: np.broadcast_to(array.reshape(last), shape))


def _normalization(context: Context, node: Node, normal: Node, *operands: Value | None) -> Value | None:
    if None in operands:
        return None
    return context.op.LayerNormalization(normal.inputs[0], *operands, _types=[node.output.type], **normal.attributes)


def instance_normalization(context: Context, node: Node) -> Value | None:
    """Over all dimensions behind the channels, with a scale and a bias for each of these."""
    for index in (0, 1):
        scaled, bias = made_by(node.inputs[index], "Mul"), node.inputs[1 - index]
        if scaled is None or not context.used_once(scaled.output):
            continue
        for side in (0, 1):
            found, scale = (
                _normal(context, made_by(scaled.inputs[side], "Div", "LayerNormalization")),
                scaled.inputs[1 - side],
            )
            shape = found.x.tensor.shape if found is not None else None
            if found is None or shape is None or len(shape) < 3 or found.axes != list(range(2, len(shape))):
                continue
            parts = [_by_channel(context, value, shape[1], len(shape)) for value in (scale, bias)]
            if None not in parts:
                options = {"epsilon": found.epsilon, "_types": [node.output.type]}
                return context.op.InstanceNormalization(found.x, *parts, **options)
    return None


def _by_channel(context: Context, value: Value | None, channels: object, rank: int) -> Value | None:
    """A constant with a number for each channel, as a vector."""
    own = value.tensor.static_shape if value is not None else None
    if value is None or own is None or (1,) * (rank - len(own)) + own != (1, channels, *[1] * (rank - 2)):
        return None
    return context.viewed(value, lambda array: array.reshape(-1))


RULES: Table = {
    "Div": [layer_normalization],
    "Mul": [with_scale],
    "Add": [with_bias, instance_normalization],
}
