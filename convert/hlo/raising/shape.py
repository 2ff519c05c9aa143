"""Shapes: broadcast, changed, concatenated, counted."""

from __future__ import annotations

import numpy as np

from ....passes.build import cast, shape_vector
from ....passes.errors import Unsupported
from ....passes.graph import Node
from ....passes.preconditions import dtype_of, given
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType, Shape
from ..dialect import DOMAIN
from .arrays import WIDE, Array, arange, moved_back, widely
from .support import Results, shape_of, uniform

_MOST_COUNTED = 4096  # elements of a constant that counts; longer ones are a Range


@rule(DOMAIN, "broadcast")
@widely
def broadcast(op: Builder, node: Node) -> Results:
    """broadcast: dimension i of the operand becomes dimension `dimensions[i]` of the result."""
    x, result = Array(op, given(node, 0)), node.outputs[0].tensor.shape
    assert result is not None
    places = tuple(node.attributes.get("dimensions", ()))
    x = x.transpose(*sorted(range(len(places)), key=lambda axis: places[axis]))
    target = [dim if isinstance(dim, int) else 1 for dim in result]  # a dynamic one is the operand's own
    if any(not isinstance(dim, int) and place not in places for place, dim in enumerate(result)):
        raise Unsupported(node, "it spreads a value to a size that is only known when the model runs")
    one = uniform(x.value())
    if one is not None:
        return Array(op, one).reshape().broadcast_to(*target).value()
    first = min((place for place in places if result[place] != 1), default=len(result))
    inner = tuple(result[place] if place in places else 1 for place in range(first, len(result)))
    if target == [1] * first + list(inner):  # nothing is repeated
        return _in_shape(node, x, result).value()
    sizes = op.const(target, DType.INT64)
    return op.Expand(_in_shape(node, x, inner), sizes, _types=[node.outputs[0].type])


def _in_shape(node: Node, x: Array, shape: Shape) -> Array:
    """`x` in a shape that may have one size that isn't known."""
    whole = [dim for dim in shape if isinstance(dim, int)]
    if x.value().tensor.static_shape is not None and len(whole) == len(shape):
        return x.reshape(*whole)
    found = x.with_ones(shape)
    if found is not None:
        return found
    if len(shape) - len(whole) > 1 or 0 in whole:
        raise Unsupported(node, "several sizes of its result are only known when the model runs")
    return x.reshape(*(dim if isinstance(dim, int) else -1 for dim in shape))


@rule(DOMAIN, "reshape")
def reshape(op: Builder, node: Node) -> Results:
    """reshape."""
    return _in_shape(node, Array(op, given(node, 0)), node.outputs[0].tensor.shape or ()).value()


@rule(DOMAIN, "dynamic-reshape")
def dynamic_reshape(op: Builder, node: Node) -> Results:
    """dynamic-reshape: an operand for the size of each dimension of the result."""
    x, result = given(node, 0), node.outputs[0]
    if result.tensor.static_shape is not None:
        return _in_shape(node, Array(op, x), result.tensor.static_shape).value()
    sizes = [
        dim if isinstance(dim, int) else cast(op, given(node, 1 + axis), DType.INT64)
        for axis, dim in enumerate(result.tensor.shape or ())
    ]
    return op.Reshape(x, shape_vector(op, sizes), allowzero=1, _types=[result.type])


@rule(DOMAIN, "transpose")
def transpose(op: Builder, node: Node) -> Results:
    """transpose: dimension i of the result is dimension `dimensions[i]` of the operand."""
    return Array(op, given(node, 0)).transpose(*node.attributes.get("dimensions", ())).value()


@rule(DOMAIN, "reverse")
@widely
def reverse(op: Builder, node: Node) -> Results:
    """reverse: a Slice with step -1."""
    x = given(node, 0)
    shape = x.tensor.shape or ()
    axes = [axis for axis in node.attributes.get("dimensions", ()) if shape[axis] not in (0, 1)]
    return x if not axes or uniform(x) is not None else Array(op, x).flip(axes).value()


@rule(DOMAIN, "concatenate")
@widely
def concatenate(op: Builder, node: Node) -> Results:
    """concatenate: operands without elements contribute nothing."""
    (axis,) = node.attributes["dimensions"]
    operands = [given(node, place) for place in range(len(node.inputs))]
    full = [value for value in operands if (value.tensor.shape or ())[axis] != 0] or operands[:1]
    return full[0] if len(full) == 1 else op.Concat(*full, axis=axis, _types=[node.outputs[0].type])


@rule(DOMAIN, "iota")
def iota(op: Builder, node: Node) -> Results:
    """iota: 0, 1 ... along one dimension, the same along all others."""
    result = node.outputs[0]
    shape, dtype = shape_of(node, result), dtype_of(node, result)
    axis = node.attributes.get("iota_dimension", 0)
    if 0 in shape:
        return op.const(np.zeros(shape, dtype.numpy))
    size, wide = shape[axis], WIDE.get(dtype, dtype)
    if size <= _MOST_COUNTED or wide is not dtype:
        # float types that end before the count does overflow as a conversion of the integers does
        numbers = np.arange(size).astype(np.float32 if dtype.is_float else np.int64)
        with np.errstate(over="ignore"):
            made = Array(op, op.const(numbers.astype(dtype.numpy).astype(wide.numpy), wide))
    else:
        made = arange(op, size)
        made = (made.cast(DType.FLOAT32) if dtype.is_float and dtype.bits < 32 else made).cast(dtype)
    made = made.along(axis, len(shape)).broadcast_to(*shape)
    return moved_back(op, made.value(), dtype)


RULES = collect(globals())
