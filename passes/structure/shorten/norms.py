"""Normalizations that are written out: LayerNormalization, RMSNormalization, InstanceNormalization."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...attributes import NodeAttributes
from ...graph import Node, Value
from .context import FLOATS, Context, Table, broadcasts_as_kept, made_by, static, unviewed

_LAYER_NORMALIZATION, _RMS_NORMALIZATION = 17, 23  # the opsets that brought them


class _Normal(NamedTuple):
    """(x - mean) / sqrt(variance + epsilon), both over `axes`; x / sqrt(mean of squares + epsilon) if not `centred`.

    `scale`: by what the reciprocal of the root is multiplied first, if by anything.
    """

    x: Value
    axes: list[int]
    epsilon: float
    centred: bool = True
    scale: Value | None = None


def _normal(context: Context, node: Node | None) -> _Normal | None:
    if node is not None and node.op_type == "LayerNormalization":
        return _plain(context, node)
    if node is None or node.op_type not in ("Div", "Mul"):
        return None
    for index in (1,) if node.op_type == "Div" else (0, 1):
        data, divisor, scale = node.inputs[1 - index], node.inputs[index], None
        product = made_by(divisor, "Mul") if node.op_type == "Mul" else None
        for side in (0, 1) if product is not None else ():
            if product is not None and made_by(unviewed(product.inputs[side]), "Reciprocal") is not None:
                divisor, scale = product.inputs[side], product.inputs[1 - side]
        inverse = _inverse(context, divisor, node.op_type == "Mul")
        if data is None or inverse is None or (data is not inverse.x) is not inverse.centred:
            continue
        if not inverse.centred or _difference(context, data) == (inverse.x, inverse.axes):
            return inverse._replace(scale=scale)
    return None


def _inverse(context: Context, value: Value | None, reciprocal: bool) -> _Normal | None:
    """What dividing by a root of a deviation normalizes, or multiplying by the reciprocal of one."""
    inner = unviewed(value)
    if reciprocal:
        inverse = made_by(inner, "Reciprocal")
        inner = inverse.inputs[0] if inverse is not None else None
    root = made_by(inner, "Sqrt")
    total = made_by(root.inputs[0], "Add") if root is not None else None
    for deviation, other in (total.inputs, total.inputs[::-1]) if total is not None else ():
        epsilon = context.number(other)
        found = deviation_of(context, deviation) if epsilon is not None else None
        if epsilon is not None and found is not None and broadcasts_as_kept(value, *found[:2]):
            x, axes, centred = found
            return _Normal(x, axes, float(epsilon), centred)
    return None


def deviation_of(context: Context, value: Value | None) -> tuple[Value, list[int], bool] | None:
    """x, axes and True of a variance: the mean of (x - mean)^2, or the mean of x^2 less that of x squared, where
    rounding may make it negative, so that some write max(0, ...). x, axes and False of the mean of x^2."""
    value = unviewed(value)
    rectified = made_by(value, "Max", "Relu")
    if rectified is not None:
        left = [one for one in rectified.inputs if rectified.op_type == "Relu" or context.number(one) != 0]
        if len(left) != 1:
            return None
        value = unviewed(left[0])
    subtracted = made_by(value, "Sub")
    if subtracted is not None:
        squares, mean = _mean_square(context, subtracted.inputs[0]), _square(context, unviewed(subtracted.inputs[1]))
        average = _mean(context, mean)
        return (*average, True) if average is not None and average == squares else None
    found = _mean_square(context, value)
    difference = _difference(context, found[0]) if found is not None else None
    if found is not None and difference is not None and difference[1] == found[1]:
        return *difference, True
    return (*found, False) if found is not None and rectified is None else None


def _square(context: Context, value: Value | None) -> Value | None:
    """x of x * x or x ** 2."""
    node = made_by(value, "Mul", "Pow")
    if node is None:
        return None
    if node.op_type == "Mul":
        return node.inputs[0] if node.inputs[0] is node.inputs[1] else None
    return node.inputs[0] if context.number(node.inputs[1]) == 2 else None


def _mean_square(context: Context, value: Value | None) -> tuple[Value, list[int]] | None:
    """x and the axes, of the mean of x * x."""
    found = _mean(context, value)
    x = _square(context, found[0]) if found is not None else None
    return (x, found[1]) if x is not None and found is not None else None


def _difference(context: Context, value: Value | None) -> tuple[Value, list[int]] | None:
    """x and the axes, of x - mean."""
    node = made_by(value, "Sub")
    mean = _mean(context, node.inputs[1]) if node is not None else None
    if node is None or mean is None or node.inputs[0] is not mean[0]:
        return None
    return mean if broadcasts_as_kept(node.inputs[1], *mean) else None


def _mean(context: Context, value: Value | None) -> tuple[Value, list[int]] | None:
    """What is averaged, and over which axes, whether they are kept or not."""
    node = made_by(unviewed(value), "ReduceMean")
    data, axes = (node.inputs[0], context.integers(node.input(1))) if node is not None else (None, None)
    if data is None or not axes or data.rank is None:
        return None
    return data, sorted(axis % data.rank for axis in axes)


def _plain(context: Context, node: Node) -> _Normal | None:
    """A LayerNormalization that neither scales nor shifts."""
    x, ones = node.inputs[0], context.constant(node.inputs[1])
    if x is None or x.rank is None or node.input(2) is not None or ones is None or not (ones == 1).all():
        return None
    axes = list(range(node.attributes.get("axis", -1) % x.rank, x.rank))
    return _Normal(x, axes, NodeAttributes(node).float("epsilon"))


def normalization(context: Context, node: Node) -> Value | None:
    """Over the last dimensions."""
    found = _normal(context, node)
    shape = found.x.tensor.shape if found is not None else None
    if found is None or shape is None or found.axes != list(range(found.axes[0], len(shape))):
        return None
    if node.output.tensor.shape != shape:  # a scale that it is multiplied by is of more dimensions
        return None
    op_type = "LayerNormalization" if found.centred else "RMSNormalization"
    sizes = [size for size in shape[found.axes[0] :] if isinstance(size, int)]
    dtype = found.x.tensor.dtype
    since = _LAYER_NORMALIZATION if found.centred else _RMS_NORMALIZATION
    if context.opset < since or len(sizes) < len(found.axes) or dtype not in FLOATS:
        return None
    if found.scale is None:
        scale = context.op.const(np.ones(sizes, dtype.numpy), dtype, name="scale")
    else:
        scale = _within(context, found.scale, tuple(sizes))
    if scale is None:
        return None
    options = {"axis": found.axes[0] - len(shape), "epsilon": found.epsilon}
    return context.op.call(op_type, found.x, scale, _types=[node.output.type], **options)


def with_scale(context: Context, node: Node) -> Value | None:
    """LayerNormalization(x, 1) * scale, or RMSNormalization(x, 1) * scale."""
    for index in (0, 1):
        normal = made_by(node.inputs[index], "LayerNormalization", "RMSNormalization")
        if normal is None or normal.input(2) is not None or not context.used_once(normal.output):
            continue
        ones = context.constant(normal.inputs[1])
        if ones is not None and (ones == 1).all() and _has_rank(normal, node):
            scale = _within(context, node.inputs[1 - index], ones.shape)
            if scale is not None:
                return _normalization(context, node, normal, scale)
    return None


def with_bias(context: Context, node: Node) -> Value | None:
    """LayerNormalization(x, scale) + bias."""
    for index in (0, 1):
        normal = made_by(node.inputs[index], "LayerNormalization")
        shape = normal.inputs[1].tensor.static_shape if normal is not None and normal.inputs[1] is not None else None
        if normal is None or shape is None or normal.input(2) is not None or not context.used_once(normal.output):
            continue
        bias = _within(context, node.inputs[1 - index], shape) if _has_rank(normal, node) else None
        if bias is not None:
            return _normalization(context, node, normal, normal.inputs[1], bias)
    return None


def _has_rank(normal: Node, node: Node) -> bool:
    """Whether what is done to a normalized value leaves its shape as it is."""
    return node.output.tensor.shape is not None and node.output.tensor.shape == normal.output.tensor.shape


def _within(context: Context, value: Value | None, shape: tuple[int, ...]) -> Value | None:
    """An operand that varies within the last dimensions only, in the shape that these have; None of any other."""
    filled = made_by(value, "Expand")
    if filled is not None and context.number(filled.inputs[0]) is not None:
        value = filled.inputs[0]
    array = context.constant(value)
    if value is None or array is None:
        while value is not None and value.tensor.static_shape != shape:
            node = made_by(value, "Expand", "Reshape", "Unsqueeze")
            own = value.tensor.static_shape
            if node is None or own is None or own[len(own) - len(shape) :] != shape:
                return None
            value = node.inputs[0]
        return value
    if array.size and (array == array.reshape(-1)[0]).all():
        return context.viewed(value, lambda array: np.broadcast_to(array.reshape(-1)[0], shape))
    own = array.shape[next((index for index, size in enumerate(array.shape) if size != 1), array.ndim) :]
    if len(own) > len(shape) or not all(one in (1, two) for one, two in zip(own[::-1], shape[::-1], strict=False)):
        return None
    return context.viewed(value, lambda array: np.broadcast_to(array.reshape(own), shape))


def _normalization(context: Context, node: Node, normal: Node, *operands: Value | None) -> Value | None:
    options = {"_types": [node.output.type], **normal.attributes}
    return context.op.call(normal.op_type, normal.inputs[0], *operands, **options)


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
            parts = [by_channel(context, value, shape[1], len(shape)) for value in (scale, bias)]
            if None not in parts:
                options = {"epsilon": found.epsilon, "_types": [node.output.type]}
                return context.op.InstanceNormalization(found.x, *parts, **options)
    return None


def by_channel(context: Context, value: Value | None, channels: object, rank: int | None) -> Value | None:
    """A number for each channel, or one for all, as a vector; None of what varies along other dimensions, too."""
    own, source = static(value), unviewed(value)
    if value is None or own is None or not isinstance(channels, int) or rank is None or len(own) > rank:
        return None
    padded = (1,) * (rank - len(own)) + own
    if padded[1] not in (1, channels) or math.prod(padded) != padded[1]:
        return None
    if static(source) == (channels,):
        return source
    return context.viewed(value, lambda array: np.broadcast_to(array.reshape(-1), (channels,)))


RULES: Table = {
    "Div": [normalization],
    "Mul": [normalization, with_scale],
    "Add": [with_bias, instance_normalization],
}
