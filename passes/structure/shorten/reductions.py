"""Reductions that keep the dimensions they reduce, and what is made of them: Softmax, LogSoftmax."""

from __future__ import annotations

import numpy as np

from ...core import REDUCTIONS
from ...graph import Node, Value
from ...sizes import Size, size_of
from .context import FLOATS, Context, Table, broadcasts_as_kept, certain, is_one_element, made_by, unviewed
from .sizes import product, product_of_sizes

_ONE_AXIS = 13  # the opset from which Softmax is of one dimension; before, of all from there on


def _reduction(
    context: Context, value: Value | None, op_type: str, seen: Value | None
) -> tuple[Node, list[int]] | None:
    """The reduction that a value is a view of and its axes, from the front, where `seen`, which has the same elements,
    broadcasts to what was reduced as the reduction does that keeps its axes."""
    node = made_by(unviewed(value), op_type)
    if node is None or node.inputs[0] is None:
        return None
    axes = _axes(context, node.input(1), node.inputs[0].rank)
    return (node, axes) if axes is not None and broadcasts_as_kept(seen, node.inputs[0], axes) else None


def _axes(context: Context, value: Value | None, rank: int | None) -> list[int] | None:
    axes = context.integers(value)
    return sorted(axis % rank for axis in axes) if axes and rank else None


def kept(context: Context, node: Node) -> Value | None:
    """Unsqueeze(Reduce(x, axes), axes) is Reduce(x, axes) {keepdims: 1}, as Squeeze of that is Reduce(x, axes)."""
    reduction, keeps = made_by(node.inputs[0], *REDUCTIONS), int(node.op_type == "Unsqueeze")
    if reduction is None or reduction.attributes.get("keepdims", 1) == keeps or not context.used_once(reduction.output):
        return None
    rank = (node if keeps else reduction).output.rank
    axes = _axes(context, reduction.input(1), rank)
    if axes is None or axes != _axes(context, node.input(1), rank):
        return None
    attributes = {**reduction.attributes, "keepdims": keeps}
    return context.op.call(reduction.op_type, *reduction.inputs, _types=[node.output.type], **attributes)


def of_one(context: Context, node: Node) -> Value | None:
    """The largest, the least and the product of one element along each axis: that element."""
    x = node.inputs[0]
    axes = _axes(context, node.input(1), x.rank) if x is not None else None
    shape = x.tensor.shape if x is not None else None
    if x is None or axes is None or shape is None or any(shape[axis] != 1 for axis in axes):
        return None
    if node.attributes.get("keepdims", 1):
        return x
    return context.op.Squeeze(x, context.sizes(axes), _types=[node.output.type])


def bounded(context: Context, node: Node) -> Value | None:
    """Max(x, -inf) and Min(x, inf), of one number and a value of the result's shape."""
    infinite = np.inf if node.op_type == "Min" else -np.inf
    for index in (0, 1) if len(node.inputs) == 2 else ():
        other, array = node.inputs[1 - index], context.constant(node.inputs[index])
        if other is not None and array is not None and array.ndim == 0 and array == infinite:
            return other
    return None


def mean(context: Context, node: Node) -> Value | None:
    """ReduceSum(x, axes) / n is ReduceMean(x, axes), where n elements are summed; with a reciprocal of n, too.

    Of floats: the sum of integers may be more than their type holds, where the mean is exact all the same.
    """
    dtype = node.output.tensor.dtype
    if dtype is None or not dtype.is_float:
        return None
    for index in (0, 1) if node.op_type == "Mul" else (0,):
        total, divisor = made_by(node.inputs[index], "ReduceSum"), node.inputs[1 - index]
        shape = certain(total.inputs[0]) if total is not None else None
        axes = _axes(context, total.input(1), len(shape)) if total is not None and shape is not None else None
        if total is None or shape is None or not axes or not context.used_once(total.output):
            continue
        keeps_shape = certain(total.output) == certain(node.output)
        count = product(size_of(shape[axis]) for axis in axes)
        if keeps_shape and count is not None and _is_count(context, divisor, count, node.op_type == "Mul"):
            kept_dims = total.attributes.get("keepdims", 1)
            return context.op.ReduceMean(*total.inputs, keepdims=kept_dims, _types=[node.output.type])
    return None


def _is_count(context: Context, value: Value | None, count: Size, reciprocal: bool) -> bool:
    """Whether a float is a number of elements, or the reciprocal of that; of an open one, whether it is computed."""
    number = context.constant(value)
    if number is None:
        return is_one_element(value) and not reciprocal and product_of_sizes(context, value) == count
    if number.size != 1 or number.dtype.kind != "f" or not isinstance(count, int) or not count:
        return False
    dtype = number.dtype.type
    return bool((number == (dtype(1) / dtype(count) if reciprocal else dtype(count))).all())


def _centred(context: Context, value: Value | None) -> tuple[Value, int] | None:
    """x and the axis, of x - ReduceMax(x, axis)."""
    node = made_by(value, "Sub")
    top = node.inputs[1] if node is not None else None
    found = _reduction(context, top, "ReduceMax", top)
    if node is None or found is None or len(found[1]) != 1 or found[0].inputs[0] is not node.inputs[0]:
        return None
    x, (axis,) = node.inputs[0], found[1]
    assert x is not None
    is_last = axis == (x.rank or 0) - 1
    return (x, axis) if context.opset >= _ONE_AXIS or is_last else None


def _exponentials(context: Context, value: Value | None, axis: int, seen: Value | None) -> Node | None:
    """The Exp whose results are summed along an axis; `seen`: see `_reduction`."""
    found = _reduction(context, value, "ReduceSum", seen)
    return made_by(found[0].inputs[0], "Exp") if found is not None and found[1] == [axis] else None


def softmax(context: Context, node: Node) -> Value | None:
    """Softmax-13 as it is defined: exp(x - max) / sum(exp(x - max))."""
    exponential = made_by(node.inputs[0], "Exp")
    found = _centred(context, exponential.inputs[0]) if exponential is not None else None
    if exponential is None or found is None or node.output.tensor.dtype not in FLOATS:
        return None
    if len(context.graph.uses(exponential.output)) != 2:
        return None
    x, axis = found
    if _exponentials(context, node.inputs[1], axis, node.inputs[1]) is not exponential:
        return None
    return context.op.Softmax(x, axis=axis, _types=[node.output.type])


def log_softmax(context: Context, node: Node) -> Value | None:
    """LogSoftmax-13 without the rounding to 0 of small quotients: x - max - log(sum(exp(x - max)))."""
    centred, logarithm = node.inputs[0], made_by(unviewed(node.inputs[1]), "Log")
    found = _centred(context, centred)
    if found is None or logarithm is None or node.output.tensor.dtype not in FLOATS:
        return None
    x, axis = found
    exponential = _exponentials(context, logarithm.inputs[0], axis, node.inputs[1])
    if exponential is None or exponential.inputs[0] is not centred:
        return None
    return context.op.LogSoftmax(x, axis=axis, _types=[node.output.type])


RULES: Table = {
    "Squeeze": [kept],
    "Unsqueeze": [kept],
    **dict.fromkeys(("ReduceMax", "ReduceMin", "ReduceProd"), (of_one,)),
    "Max": [bounded],
    "Min": [bounded],
    "Div": [mean, softmax],
    "Mul": [mean],
    "Sub": [log_softmax],
}
