"""The first condition that holds among several: one Where after the other."""

from __future__ import annotations

import numpy as np

from ...graph import Node, Value
from ...types import DType
from .context import Context, Table, certain, made_by, static


def first_that_holds(context: Context, node: Node) -> Value | None:
    """Wheres over ArgMax(Concat(c0, c1, ...)) < k, as jax.numpy.select writes them: Where(c0, x0, Where(c1, x1, ...)).

    ArgMax takes the first of equal elements, so that it is 0 also where no condition holds.
    """
    index = _compared(node)
    joined = _joined(index)
    if index is None or joined is None or certain(index) is None or certain(index) != certain(node.output):
        return None
    axis = joined.attributes["axis"]
    if not all(_is_one(context, value, axis) for value in joined.inputs):
        return None
    compared = (user.op_type == "Less" and at == 0 for user, at in context.graph.uses(index))
    if _is_inside(context, node, index) or not all(compared):
        return None
    chosen: list[Value] = []
    for at in range(len(joined.inputs)):
        value = _chosen(context, node, index, at)
        if value is None:
            return None
        chosen.append(value)
    result = chosen[0]
    for stacked, value in zip(reversed(joined.inputs), reversed(chosen), strict=True):
        array = context.constant(stacked)
        if value is result or (array is not None and not array.any()):
            continue
        view = made_by(stacked, "Unsqueeze")
        condition = view.inputs[0] if view is not None else None
        if condition is None and stacked is not None:
            condition = context.viewed(stacked, lambda array: np.squeeze(array, axis))
        result = context.op.Where(condition, value, result, _types=[node.output.type])
    return result


def _compared(where: Node) -> Value | None:
    """i, where a Where chooses by i < k."""
    less = made_by(where.inputs[0], "Less")
    return less.inputs[0] if less is not None else None


def _is_inside(context: Context, node: Node, index: Value) -> bool:
    """Whether a Where chooses among others of the same index."""
    users = [user for user, _ in context.graph.uses(node.output)]
    return any(user.op == ("", "Where") and _compared(user) is index for user in users)


def _chosen(context: Context, where: Node, index: Value, at: int) -> Value | None:
    """What Wheres choose where the index is `at`."""
    node: Node | None = where
    value: Value | None = where.output
    while node is not None and _compared(node) is index:
        less = made_by(node.inputs[0], "Less")
        limit = context.number(less.inputs[1]) if less is not None else None
        if limit is None:
            return None
        value = node.inputs[1 if at < limit else 2]
        node = made_by(value, "Where")
    return value


def _joined(index: Value | None) -> Node | None:
    """The Concat of conditions of which an index is that of the first one that holds."""
    cast = made_by(index, "Cast")
    found = made_by(cast.inputs[0] if cast is not None else index, "ArgMax")
    if found is None or found.attributes.get("keepdims", 1) or found.attributes.get("select_last_index", 0):
        return None
    cast = made_by(found.inputs[0], "Cast")
    joined = made_by(cast.inputs[0], "Concat") if cast is not None else None
    rank = joined.output.rank if joined is not None else None
    if joined is None or not rank or joined.output.tensor.dtype is not DType.BOOL:
        return None
    return joined if (joined.attributes["axis"] - found.attributes.get("axis", 0)) % rank == 0 else None


def _is_one(context: Context, value: Value | None, axis: int) -> bool:
    """Whether what is joined is one condition."""
    view = made_by(value, "Unsqueeze")
    if view is not None:
        axes, rank = context.integers(view.input(1)), view.output.rank
        return axes is not None and rank is not None and [one % rank for one in axes] == [axis % rank]
    return value is not None and context.constant(value) is not None and (static(value) or ())[axis] == 1


RULES: Table = {"Where": [first_that_holds]}
