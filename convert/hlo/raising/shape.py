"""Shapes: spread out, changed, put together, counted."""

from __future__ import annotations

import numpy as np

from ....passes.build import cast
from ....passes.errors import InvalidModel, Unsupported
from ....passes.graph import Node, Value
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ..dialect import DOMAIN
from .support import Results, dtype_of, given, shape_of
from .views import (
    INT64_MIN,
    MOST_COUNTED,
    WIDE,
    broadcast_to,
    counted,
    empty,
    narrowed,
    relabelled,
    reshaped,
    sizes,
    transposed,
    uniform,
    widely,
)


@rule(DOMAIN, "broadcast")
@widely
def broadcast(op: Builder, node: Node) -> Results:
    """broadcast: dimension i of the operand becomes dimension `dimensions[i]` of the result."""
    x, result = given(node, 0), node.outputs[0].tensor.shape
    places, have = tuple(node.attributes.get("dimensions", ())), x.tensor.shape
    if have is None or result is None or len(places) != len(have):
        raise InvalidModel(f"{node!r}: {len(places)} dimensions for an operand of rank {x.rank}")
    if len(set(places)) < len(places) or any(not 0 <= place < len(result) for place in places):
        raise InvalidModel(f"{node!r}: its dimensions {list(places)} aren't ones of {len(result)}")
    if any(result[place] != dim for place, dim in zip(places, have, strict=True)):
        raise InvalidModel(f"{node!r}: an operand of {x.type} isn't spread to {node.outputs[0].type}")
    order = sorted(range(len(places)), key=lambda axis: places[axis])
    x = transposed(op, x, order)
    target = [dim if isinstance(dim, int) else 1 for dim in result]  # a dynamic one is the operand's own
    if any(not isinstance(dim, int) and place not in places for place, dim in enumerate(result)):
        raise Unsupported(node, "it spreads a value to a size that is only known when the model runs")
    one = uniform(x)
    if one is not None:
        return broadcast_to(op, reshaped(op, one, ()), target)
    first = min((place for place in places if result[place] != 1), default=len(result))
    inner = [result[place] if place in places else 1 for place in range(first, len(result))]
    if target == [1] * first + inner:  # nothing is repeated
        return _in_shape(op, node, x, result)
    return op.Expand(_in_shape(op, node, x, inner), sizes(op, target), _types=[node.outputs[0].type])


def _in_shape(op: Builder, node: Node, x: Value, shape: object) -> Value:
    """`x` in a shape that may have one size that isn't known."""
    dims = tuple(shape)  # type: ignore[arg-type]
    whole = [dim for dim in dims if isinstance(dim, int)]
    if x.tensor.static_shape is not None and len(whole) == len(dims):
        return reshaped(op, x, whole)
    found = relabelled(op, x, dims)
    if found is not None:
        return found
    if len(dims) - len(whole) > 1 or 0 in whole:
        raise Unsupported(node, "several sizes of its result are only known when the model runs")
    return op.Reshape(x, sizes(op, [dim if isinstance(dim, int) else -1 for dim in dims]))


@rule(DOMAIN, "reshape")
def reshape(op: Builder, node: Node) -> Results:
    """reshape."""
    return _in_shape(op, node, given(node, 0), node.outputs[0].tensor.shape)


@rule(DOMAIN, "dynamic-reshape")
def dynamic_reshape(op: Builder, node: Node) -> Results:
    """dynamic-reshape: an operand for the size of each dimension of the result."""
    x, result = given(node, 0), node.outputs[0].tensor.shape
    if result is None or len(node.inputs) != 1 + len(result):
        raise InvalidModel(f"{node!r}: {len(node.inputs) - 1} sizes for a result of {node.outputs[0].type}")
    if node.outputs[0].tensor.static_shape is not None:
        return _in_shape(op, node, x, result)
    parts = [
        sizes(op, [dim])
        if isinstance(dim, int)
        else op.Unsqueeze(cast(op, given(node, 1 + axis), DType.INT64), sizes(op, [0]))
        for axis, dim in enumerate(result)
    ]
    shape = parts[0] if len(parts) == 1 else op.Concat(*parts, axis=0)
    return op.Reshape(x, shape, allowzero=1, _types=[node.outputs[0].type])


@rule(DOMAIN, "transpose")
def transpose(op: Builder, node: Node) -> Results:
    """transpose: dimension i of the result is dimension `dimensions[i]` of the operand."""
    x, perm = given(node, 0), list(node.attributes.get("dimensions", ()))
    if sorted(perm) != list(range(x.rank or 0)):
        raise InvalidModel(f"{node!r}: {perm} is no order of {x.rank} dimensions")
    return transposed(op, x, perm)


@rule(DOMAIN, "reverse")
@widely
def reverse(op: Builder, node: Node) -> Results:
    """reverse: a Slice with step -1."""
    x = given(node, 0)
    shape = x.tensor.shape or ()
    dimensions = node.attributes.get("dimensions", ())
    if any(not 0 <= axis < len(shape) for axis in dimensions):
        raise InvalidModel(f"{node!r}: it reverses the dimensions {list(dimensions)} of {len(shape)}")
    axes = [axis for axis in dimensions if shape[axis] not in (0, 1)]
    if not axes or uniform(x) is not None:
        return x
    back = sizes(op, [-1] * len(axes))
    return op.Slice(x, back, sizes(op, [INT64_MIN] * len(axes)), sizes(op, axes), back, _types=[x.type])


@rule(DOMAIN, "concatenate")
@widely
def concatenate(op: Builder, node: Node) -> Results:
    """concatenate: operands without elements contribute nothing."""
    axes = node.attributes.get("dimensions", ())
    operands = [given(node, place) for place in range(len(node.inputs))]
    rank = node.outputs[0].rank or 0
    if len(axes) != 1 or not 0 <= axes[0] < rank or any(value.rank != rank for value in operands):
        raise InvalidModel(f"{node!r}: it joins operands of other ranks, or not along one of {rank} dimensions")
    full = [value for value in operands if (value.tensor.shape or ())[axes[0]] != 0] or operands[:1]
    return full[0] if len(full) == 1 else op.Concat(*full, axis=axes[0], _types=[node.outputs[0].type])


@rule(DOMAIN, "iota")
def iota(op: Builder, node: Node) -> Results:
    """iota: places along one dimension, the same along all others."""
    result = node.outputs[0]
    shape, dtype = shape_of(node, result), dtype_of(node, result)
    axis = int(node.attributes.get("iota_dimension", 0))
    if not 0 <= axis < len(shape):
        raise InvalidModel(f"{node!r}: it counts along dimension {axis} of {len(shape)}")
    if 0 in shape:
        return empty(op, dtype, shape)
    size, wide = shape[axis], WIDE.get(dtype, dtype)
    if size <= MOST_COUNTED or wide is not dtype:
        # float types that end before the count does overflow as a conversion of the integers does
        numbers = np.arange(size).astype(np.float32 if dtype.is_float else np.int64)
        with np.errstate(over="ignore"):
            places = op.const(numbers.astype(dtype.numpy).astype(wide.numpy), wide)
    else:
        places = counted(op, size)
        if dtype.is_float and dtype.bits < 32:
            places = cast(op, places, DType.FLOAT32)
        places = cast(op, places, dtype)
    made = broadcast_to(op, reshaped(op, places, [size, *[1] * (len(shape) - 1 - axis)]), shape)
    return made if wide is dtype else narrowed(op, made, dtype)


RULES = collect(globals())
