"""Elements by their indices: Gather and its kin, OneHot, Compress, Where, ReverseSequence."""

from __future__ import annotations

import numpy as np

from ..build import Expr, computed, concat, expr, length_of, product, reshape, size_of, squeeze, taken, where
from ..errors import Unsupported
from ..graph import Node, Value
from ..preconditions import rank_of, required
from ..sizes import is_below
from ..types import DType
from .build import StepBuilder
from .offsets import (
    MOST_COMPARED,
    along,
    certain,
    common_rank,
    deferred,
    flattened,
    from_front,
    gathered,
    in_flat,
    last_size,
    nonnegative,
    sizes_of,
    unravelled,
)
from .steps import INT64_MAX, Made, Step, attribute, changed, constant, numbers, same, with_input

_WRITTEN = 1 << 8  # comparisons that are written out


# Gather ------------------------------------------------------------------------------------------


def _gather_from_front(op: StepBuilder, node: Node) -> Made:
    """Gather: indices that count from the back, as far as they can't be excluded, are counted from the front."""
    if nonnegative(node, 1):
        return None
    data, axis = required(node, 0), attribute(node, "axis", 0)
    if axis < 0:
        axis += rank_of(node, data)
    return changed(node, inputs=[data, from_front(op, node, 1, length_of(op.newest, data, axis)).value()])


def _by_flat_index(op: StepBuilder, node: Node) -> Value:
    """GatherElements-11: the indices of the elements in the flattened data."""
    data, indices = required(node, 0), required(node, 1)
    size = common_rank(node, data, indices)
    axis = attribute(node, "axis", 0) % size
    sizes = sizes_of(op, data, range(size))
    made = in_flat(op, from_front(op, node, 1, sizes[axis]), indices, sizes, axis)
    return gathered(op, reshape(op, data, [-1]), made)


def linear(op: StepBuilder, node: Node, sizes: list[Expr], count: int) -> Expr:
    """Which row each tuple of `count` indices (input 1, along its last axis) names.

    Args:
        sizes: of the axes that the tuples run over; what stands before them are axes of the batch, which the
            indices have in front, too.

    Returns:
        int64, of the indices' shape without the last axis.
    """
    last, before = rank_of(node, required(node, 1)) - 1, len(sizes) - count
    batch, own = sizes[:before], sizes[before:]
    made = from_front(op, node, 1, concat(op.newest, own))
    if count == 1:
        made = made.squeeze(last)
    else:
        one = expr(op.newest, [1])
        steps = [product([one, *own[axis + 1 :]]) for axis in range(count)]
        made = (made * concat(op.newest, steps)).sum(last)
    return flattened([*(along(size, axis, last) for axis, size in enumerate(batch)), made], [*batch, product(own)])


def _by_row(op: StepBuilder, node: Node) -> Value:
    """GatherND-12: the axes of the batch and those that are indexed become one, of which rows are gathered."""
    data, batch = required(node, 0), attribute(node, "batch_dims", 0)
    count = last_size(node, required(node, 1))
    if not count:
        raise Unsupported(node, "each index is a place along none of the axes")
    lengths = [length_of(op.newest, data, axis) for axis in range(batch)]
    sizes = sizes_of(op, data, range(batch, rank_of(node, data)))
    front, rest = [*lengths, *sizes[:count]], sizes[count:]
    rows = data if len(front) == 1 else reshape(op.newest, data, [product(front) if rest else -1, *rest])
    return gathered(op, rows, linear(op, node, front, count))


def _by_row_in_batch(op: StepBuilder, node: Node) -> Made:
    return _by_row(op, node) if attribute(node, "batch_dims", 0) else changed(node, without=("batch_dims",))


# ReverseSequence ---------------------------------------------------------------------------------


def _reversed(op: StepBuilder, node: Node) -> Value:
    """ReverseSequence-10: position t of a sequence takes the element length - 1 - t as long as there is one."""
    data, lengths = required(node, 0), expr(op.newest, required(node, 1))
    time = attribute(node, "time_axis", 0)
    if {time, attribute(node, "batch_axis", 1)} != {0, 1}:
        raise Unsupported(node, "its axes of time and batch have to be 0 and 1")
    front = [length_of(op.newest, data, axis) for axis in range(2)]
    rest = sizes_of(op, data, range(2, rank_of(node, data)))
    lines = [along(length, axis, 2) for axis, length in enumerate(front)]
    back = lengths.reshape(*((1, -1) if time == 0 else (-1, 1))) - 1 - lines[time]
    lines[time] = where(back < 0, lines[time], back)
    rows = reshape(op.newest, data, [product(front) if rest else -1, *rest])
    return gathered(op, rows, flattened(lines, front))


# OneHot ------------------------------------------------------------------------------------------


def _out_of_range(indices: Expr) -> Value:
    """Indices of which the negative ones are out of range, whether negative ones count from the back or don't: ONNX
    Runtime's inference takes no constant ones below 0 before version 11."""
    return where(indices < 0, INT64_MAX, indices).value()


def _no_negative_indices(op: StepBuilder, node: Node) -> Made:
    """OneHot: negative indices were out of range, where now they count from the back."""
    if nonnegative(node, 0):
        return None
    indices = _out_of_range(expr(op.newest, required(node, 0), DType.INT64))
    return changed(node, inputs=with_input(node.formal_inputs, 0, indices))


def _hot_from_front(op: StepBuilder, node: Node) -> Made:
    """OneHot-9: the axis and the indices count from the front."""
    back = not nonnegative(node, 0)
    if op.target < 9:
        return _either(op, node, back)
    axis = attribute(node, "axis", -1)
    plain = changed(node, axis=axis % (rank_of(node, required(node, 0)) + 1)) if axis < -1 else changed(node)
    if back:
        indices = _out_of_range(from_front(op, node, 0, _depth(op, node)))
        plain.inputs = with_input(plain.formal_inputs, 0, indices)
    return plain


def _depth(op: StepBuilder, node: Node) -> Expr:
    return certain(op, required(node, 1)).cast(DType.INT64).reshape()


def _one_hot(op: StepBuilder, node: Node) -> Value:
    return _either(op, node, False)


def _either(op: StepBuilder, node: Node, back: bool) -> Value:
    """OneHot: either value, by whether the index names the position.

    Args:
        back: whether it may count from the back.
    """
    indices = required(node, 0)
    size = rank_of(node, indices) + 1
    axis = attribute(node, "axis", -1) % size
    column, count = expr(op.newest, indices, DType.INT64).unsqueeze(axis), _depth(op, node)
    positions = along(count, axis, size)
    hot = column.equals(positions)
    if back:
        hot = hot | column.equals(positions - count)
    return gathered(op, required(node, 2), hot.cast(DType.INT64))


# Compress, NonZero, Where ------------------------------------------------------------------------


def _kept(op: StepBuilder, node: Node) -> Value:
    """Compress-9: the elements under the condition, by their positions.

    What a condition has more than the axis has elements is left out, as in ONNX Runtime.
    """
    axis = attribute(node, "axis")
    data = required(node, 0) if axis is not None else reshape(op, required(node, 0), [-1])
    axis = axis or 0
    condition, known = expr(op.newest, required(node, 1)), constant(node, 1)
    most = None if data.tensor.shape is None else data.tensor.shape[axis]
    if known is not None and isinstance(most, int):
        indices = numbers(op, np.flatnonzero(known[:most]))
    else:
        length = None if condition.shape is None else condition.shape[0]
        if not (isinstance(length, int | str) and isinstance(most, int | str) and is_below(most, length) is False):
            condition = condition[: size_of(op.newest, data, axis)]
        indices = squeeze(op.newest, op.at(9).NonZero(condition.value()), [0])
    return taken(op, data, indices, axis)


def _not_zero(op: StepBuilder, node: Node) -> Value:
    """NonZero-9: the first of the positions is the one that no other chosen one comes before, and so on."""
    x = required(node, 0)
    if not rank_of(node, x):
        raise Unsupported(node, "of a scalar it can't be expressed before version 9")
    lengths = sizes_of(op, x, range(rank_of(node, x)))
    total = product(lengths)
    if total.array is not None and total.item() > MOST_COMPARED:
        raise Unsupported(node, f"{total.item()} elements are too many to be compared before version 9")
    chosen = expr(op.newest, reshape(op, x, [-1])).cast(DType.BOOL)
    here, there = (along(total, axis, 2) for axis in range(2))
    if total.array is None or total.item() > _WRITTEN:
        there = deferred(there)
    count = chosen.cast(DType.INT64)
    before = ((there < here).cast(DType.INT64) * count).sum(1)
    turn = along(count.sum(0), 0, 2)
    found = (before.equals(turn) & chosen).cast(DType.INT64)
    indices = unravelled((found * there).sum(1), lengths)
    return concat(op.newest, [row.unsqueeze(0) for row in indices]).value()


_PRODUCTS = (DType.INT32, DType.INT64, DType.UINT32, DType.UINT64)


def _one_of_both(op: StepBuilder, node: Node) -> Value:
    """Where-9: both choices flattened behind each other, and the index of either; of integers, 1 and 0 times them."""
    condition, *choices = (expr(op.newest, required(node, index)) for index in range(3))
    kind = next((choice.dtype for choice in choices if choice.value().tensor.dtype), None)
    if kind in _PRODUCTS and op.target >= 7:  # where operands are broadcast
        then, otherwise = choices
        factor = condition.cast(kind)
        return (factor * then + (1 - factor) * otherwise).value()
    size = max(rank_of(node, required(node, index)) for index in range(3))
    taken = condition.cast(DType.INT64)
    shapes = [required(node, index).tensor.static_shape for index in range(3)]
    if None not in shapes:
        lengths = computed(np.broadcast_shapes, *(shape for shape in shapes if shape is not None)).tolist()
        whole = [expr(op.newest, [length], DType.INT64) for length in lengths]
    else:
        full = taken.value()
        for choice in choices:
            full = op.newest.Expand(full, op.Shape(choice))
        whole = sizes_of(op, full, range(size))
    both = concat(op.newest, [choice.broadcast_to(*whole).reshape(-1) for choice in choices])
    other = (1 - taken) * (product(whole) if size else 1)
    if size:
        other = other + flattened([along(length, axis, size) for axis, length in enumerate(whole)], whole)
    return gathered(op, both.value(), other)


ROWS = {
    ("Gather", 11): Step(same, _gather_from_front),
    ("GatherElements", 11): Step("GatherElements came with version 11", _by_flat_index),
    ("GatherND", 11): Step("GatherND came with version 11", _by_row),
    ("GatherND", 12): Step(same, _by_row_in_batch),
    ("ReverseSequence", 10): Step("ReverseSequence came with version 10", _reversed),
    ("OneHot", 9): Step("OneHot came with version 9", _one_hot),
    ("OneHot", 11): Step(_no_negative_indices, _hot_from_front),
    ("Compress", 9): Step("Compress came with version 9", _kept),
    ("NonZero", 9): Step("NonZero came with version 9", _not_zero),
    ("Where", 9): Step("Where came with version 9", _one_of_both),
}
