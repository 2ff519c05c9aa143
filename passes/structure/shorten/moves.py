"""Elements put in another order, or seen in another shape: two steps become one, a step and its way back none."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...graph import Node, Value
from .context import VIEWS, Context, Table, certain, made_by, part_of_shape, permutation, static, unviewed

_MOST_SEEN = 64  # values on the way from sizes to a shape
_VIEWS = (*VIEWS, "Flatten")


# order ---------------------------------------------------------------------------------------------


def transpose(context: Context, node: Node) -> Value | None:
    """No move at all; a move of a constant; a move after a move."""
    data, perm = node.inputs[0], permutation(node)
    if data is None or perm is None:
        return None
    around = _around_view(context, data, perm)
    if around is not None:
        return around
    before = made_by(data, "Transpose")
    first = permutation(before) if before is not None else None
    if before is not None and first is not None:
        data, perm = before.inputs[0], [first[axis] for axis in perm]
    if data is None or perm == sorted(perm):
        return data
    seen = context.viewed(data, lambda array: array.transpose(perm))
    if seen is not None or before is None:
        return seen
    return context.op.Transpose(data, perm=perm, _types=[node.output.type])


def _around_view(context: Context, data: Value, perm: list[int]) -> Value | None:
    """Transpose(Squeeze(Transpose(x))), or with Unsqueeze: the axes of size 1 go or come where they stand in x."""
    view = made_by(data, "Squeeze", "Unsqueeze")
    before = made_by(view.inputs[0], "Transpose") if view is not None else None
    order: list[int | None] = [*(permutation(before) or ())] if before is not None else []
    axes, rank = context.integers(view.input(1)) if view is not None else None, data.rank
    if view is None or before is None or not order or not axes or rank is None:
        return None
    if view.op_type == "Squeeze":
        gone = {axis % len(order) for axis in axes}
        order = [source for index, source in enumerate(order) if index not in gone]
    else:
        order = _with_new_axes(order, axes, rank)
    order = [order[axis] for axis in perm]
    op, value = context.op, before.inputs[0]
    left = sorted(source for source in order if source is not None)
    gone = sorted({*range(before.output.rank or 0)} - {*left})
    if gone:
        value = op.Squeeze(value, context.sizes(gone))
    moves = [left.index(source) for source in order if source is not None]
    if moves != sorted(moves):
        value = op.Transpose(value, perm=moves)
    come = [index for index, source in enumerate(order) if source is None]
    return op.Unsqueeze(value, context.sizes(come)) if come else value


def _with_new_axes(order: Sequence[int | None], axes: Sequence[int], rank: int) -> list[int | None]:
    """Dimensions with None where Unsqueeze puts one of size 1, up to so many in all."""
    found = list(order)
    for axis in sorted(axis % rank for axis in axes):
        found.insert(axis, None)
    return found


def between_views(context: Context, node: Node) -> Value | None:
    """Squeeze(Transpose(Unsqueeze(x))) is Transpose(x), where as many axes of size 1 go as came."""
    moved = made_by(node.inputs[0], "Transpose")
    view = made_by(moved.inputs[0], "Unsqueeze") if moved is not None else None
    perm = permutation(moved) if moved is not None else None
    came = context.integers(view.input(1)) if view is not None else None
    gone = context.integers(node.input(1))
    x = view.inputs[0] if view is not None else None
    if x is None or x.rank is None or not perm or not came or not gone:
        return None
    order = _with_new_axes(range(x.rank), came, len(perm))
    if len(order) != len(perm):
        return None  # types contradict each other
    order = [order[axis] for axis in perm]
    dropped = {axis % len(perm) for axis in gone}
    ones = [source for axis, source in enumerate(order) if axis in dropped and source is not None]
    left = [source for axis, source in enumerate(order) if axis not in dropped]
    if len(ones) != left.count(None):
        return None
    places = [source if source is not None else ones.pop(0) for source in left]
    if places == sorted(places):
        return x
    return context.op.Transpose(x, perm=places, _types=[node.output.type])


# shape ---------------------------------------------------------------------------------------------


def view(context: Context, node: Node) -> Value | None:
    """The shape that is there already; another shape of a constant; a view of a view, Transposes included that
    move dimensions of size 1 only."""
    data = node.inputs[0]
    if data is None or not _is_view(node):
        return None
    base, steps = data, 0
    while base.producer is not None and _is_view(base.producer) and base.producer.inputs[0] is not None:
        base, steps = base.producer.inputs[0], steps + 1
    shape, target = static(node.output), _target(node.output)
    if (shape is not None and shape == static(base)) or (target is not None and target == _target(base)):
        return base
    seen = context.viewed(base, lambda array: array.reshape(shape)) if shape is not None else None
    if seen is not None:
        return seen
    if target is None or not steps:
        return None
    return context.op.Reshape(base, context.sizes(target), _types=[node.output.type])


def _is_view(node: Node) -> bool:
    if node.domain:
        return False
    return node.op_type in _VIEWS or (node.op_type == "Transpose" and _moves_ones(node))


def _moves_ones(node: Node) -> bool:
    """Whether a Transpose leaves all dimensions of other sizes than 1 in their order."""
    shape, perm = node.inputs[0].tensor.shape if node.inputs[0] is not None else None, permutation(node)
    if shape is None or perm is None or len(perm) != len(shape):
        return False
    moved = [axis for axis in perm if shape[axis] != 1]
    return moved == sorted(moved)


def _target(value: Value) -> list[int] | None:
    """The shape of a value as Reshape wants it, with -1 for one size that isn't known; None where that won't do."""
    shape = value.tensor.shape
    if shape is None:
        return None
    sizes = [size if isinstance(size, int) else -1 for size in shape]
    return sizes if sizes.count(-1) <= 1 and 0 not in sizes else None


def tile(context: Context, node: Node) -> Value | None:
    """Reshape(Expand(Unsqueeze(x))) that repeats whole dimensions, one copy behind the other."""
    spread = made_by(node.inputs[0], "Expand")
    x = unviewed(spread.inputs[0]) if spread is not None else None
    found = [certain(value) for value in (x, spread and spread.inputs[0], spread and spread.output, node.output)]
    if spread is None or x is None or not context.used_once(spread.output):
        return None
    own, narrow, wide, result = found
    if own is None or narrow is None or wide is None or result is None or len(own) != len(result):
        return None
    if [size for size in own if size != 1] != [size for size in narrow if size != 1]:
        return None
    narrow = (1,) * (len(wide) - len(narrow)) + narrow
    times, left = [1], [index for index, size in enumerate(own) if size != 1]
    repeats = [1] * len(own)
    for before, after in zip(narrow, wide, strict=True):
        if before != 1:
            repeats[left.pop(0)], times = math.prod(times), [1]
        elif not isinstance(after, int):
            return None
        else:
            times.append(after)
    known = [
        (size, copies, made) for size, copies, made in zip(own, repeats, result, strict=True) if isinstance(size, int)
    ]
    if math.prod(times) != 1 or any(size * copies != made for size, copies, made in known) or len(own) - len(known) > 1:
        return None
    return context.op.Tile(x, context.sizes(repeats), _types=[node.output.type])


def computed_shape(context: Context, node: Node) -> Value | None:
    """Reshape to a shape that the model computes of sizes, though it is known but for one size, or only ones come or
    go. A shape that is an input, or computed of one, stays: the model takes others."""
    data = node.inputs[0]
    if data is None or context.constant(node.inputs[1]) is not None or not _is_of_sizes(context, node.inputs[1]):
        return None
    moved = _ones_moved(context, data, node.output)
    if moved is not None:
        return moved
    target = _target(node.output) or _partial_shape(context, node) or _copied(context, node)
    if target is None:
        return None
    if target == _target(data):
        return data
    return context.op.Reshape(data, context.sizes(target), _types=[node.output.type])


def _is_of_sizes(context: Context, value: Value | None) -> bool:
    """Whether a value is certainly computed of sizes and constants alone."""
    stack, seen = [value], set[Value]()
    while stack:
        top = stack.pop()
        if top is None or top in seen or context.constant(top) is not None:
            continue
        seen.add(top)
        node = top.producer
        if node is None or node.regions or len(seen) > _MOST_SEEN:
            return False
        if node.op not in (("", "Shape"), ("", "Size")):
            stack += node.inputs
    return True


def _ones_moved(context: Context, data: Value, made: Value) -> Value | None:
    """`data` in the shape of `made`, where these differ in dimensions of size 1 only."""
    before, after = certain(data), certain(made)
    if before is None or after is None:
        return None
    kept, places = ([axis for axis, size in enumerate(one) if size != 1] for one in (before, after))
    if [before[axis] for axis in kept] != [after[axis] for axis in places]:
        return None
    if len(before) == len(after):
        ones = [axis for axis in range(len(before)) if axis not in kept]
        order = {place: axis for place, axis in zip(places, kept, strict=True)}
        perm = [order[axis] if axis in order else ones.pop(0) for axis in range(len(after))]
        return context.op.Transpose(data, perm=perm, _types=[made.type])
    if len(kept) < len(before):
        data = context.op.Squeeze(data, context.sizes([axis for axis in range(len(before)) if axis not in kept]))
    come = [axis for axis in range(len(after)) if axis not in places]
    return context.op.Unsqueeze(data, context.sizes(come), _types=[made.type]) if come else data


def _partial_shape(context: Context, node: Node) -> list[int] | None:
    """The shape as far as it is known, where that is all but one size."""
    sizes = _sizes(context, node.inputs[1])
    if sizes is None or sizes.count(None) > 1 or min((size for size in sizes if size is not None), default=1) < 1:
        return None
    return [-1 if size is None else size for size in sizes]


def _sizes(context: Context, value: Value | None) -> list[int | None] | None:
    """A vector's elements, None for each that isn't known."""
    sizes = context.knowledge.sizes(value) if value is not None else None
    if sizes is not None:
        return sizes
    parts, shape = made_by(value, "Concat"), static(value)
    if parts is None:
        return [None for _ in range(shape[0])] if shape is not None and len(shape) == 1 else None
    found = [_sizes(context, part) for part in parts.inputs]
    known = [part for part in found if part is not None]
    return [size for part in known for size in part] if len(known) == len(found) else None


def _copied(context: Context, node: Node) -> list[int] | None:
    """The shape where every size that isn't known is the one of the same dimension of the data: 0 says so."""
    parts = made_by(node.inputs[1], "Concat")
    if parts is None or node.attributes.get("allowzero", 0):
        return None
    target: list[int] = []
    for part in parts.inputs:
        shape = made_by(part, "Shape")
        known = context.integers(part)
        if known is not None and min(known, default=1) > 0:
            target += known
            continue
        said = part_of_shape(shape) if shape is not None and shape.inputs[0] is node.inputs[0] else None
        if said is None or said[0] != len(target):
            return None
        target += [0] * (said[1] - said[0])
    return target


RULES: Table = {
    "Transpose": [transpose, view],
    "Reshape": [view, tile, computed_shape],
    "Squeeze": [view, between_views],
    "Unsqueeze": [view],
    "Flatten": [view],
}
