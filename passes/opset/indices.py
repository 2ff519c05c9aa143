"""Elements by their indices: Gather and its kin, OneHot, Compress, Where, ReverseSequence."""

from __future__ import annotations

import numpy as np

from ..build import expr, size_of
from ..errors import Unsupported
from ..graph import Node, Value
from ..preconditions import required
from ..types import DType
from .build import StepBuilder
from .offsets import (
    MOST_COMPARED,
    Size,
    along,
    common_rank,
    extent,
    extents,
    flat,
    from_front,
    grid,
    in_flat,
    last_size,
    nonnegative,
    plus,
    scalar,
    shaped,
    single,
    times,
    total_of,
    unravelled,
    vector,
)
from .offsets import strides as strides_of
from .steps import (
    INT64_MIN,
    Made,
    Step,
    as_int64,
    as_type,
    attribute,
    changed,
    constant,
    numbers,
    rank,
    same,
    with_input,
)

_WRITTEN = 1 << 8  # comparisons that are written out


# Gather ------------------------------------------------------------------------------------------


def _gather_from_front(op: StepBuilder, node: Node) -> Made:
    """Gather: indices that count from the back, as far as they can't be excluded, are counted from the front."""
    if nonnegative(node, 1):
        return None
    data, axis = required(node, 0), attribute(node, "axis", 0)
    if axis < 0:
        axis += rank(node, data)
    return changed(node, inputs=[data, from_front(op, node, 1, extent(op, data, axis))])


def _by_flat_index(op: StepBuilder, node: Node) -> Value:
    """GatherElements-11: the indices of the elements in the flattened data."""
    data, indices = required(node, 0), required(node, 1)
    size = common_rank(node, data, indices)
    axis = attribute(node, "axis", 0) % size
    sizes = extents(op, data, size)
    made = in_flat(op, from_front(op, node, 1, sizes[axis]), indices, sizes, axis)
    return op.at(9).Gather(flat(op, data), made, axis=0)


def linear(op: StepBuilder, node: Node, sizes: list[Size], count: int) -> Value:
    """Which row each tuple of `count` indices (input 1, along its last axis) names.

    Args:
        sizes: of the axes that the tuples run over; what stands before them are axes of the batch, which the
            indices have in front, too.

    Returns:
        int64, of the indices' shape without the last axis.
    """
    indices = required(node, 1)
    last, before = rank(node, indices) - 1, len(sizes) - count
    steps = strides_of(op, sizes)
    made = from_front(op, node, 1, sizes[before] if count == 1 else vector(op, sizes[before:]))
    if count == 1:
        made = op.at(9).Squeeze(made, axes=[last])
    else:
        made = op.at(9).ReduceSum(op.Mul(made, vector(op, steps[before:])), axes=[last], keepdims=0)
    batch: list[Size | None] = [*sizes[:before], *[None] * (last - before)]
    return plus(op, made, grid(op, batch, [*steps[:before], *[1] * (last - before)]) if before else None)


def _by_row(op: StepBuilder, node: Node) -> Value:
    """GatherND-12: the axes of the batch and those that are indexed become one, of which rows are gathered."""
    data, batch = required(node, 0), attribute(node, "batch_dims", 0)
    count = last_size(node, required(node, 1))
    sizes = extents(op, data, rank(node, data))
    front, rest = sizes[: batch + count], sizes[batch + count :]
    rows = data
    if len(front) > 1:
        rows = shaped(op, data, [total_of(op, front), *rest]) if rest else flat(op, data)
    return op.at(9).Gather(rows, linear(op, node, front, count), axis=0)


def _by_row_in_batch(op: StepBuilder, node: Node) -> Made:
    return _by_row(op, node) if attribute(node, "batch_dims", 0) else changed(node, without=("batch_dims",))


# ReverseSequence ---------------------------------------------------------------------------------


def _reversed(op: StepBuilder, node: Node) -> Value:
    """ReverseSequence-10: position t of a sequence takes the element length - 1 - t as long as there is one."""
    data, lengths = required(node, 0), required(node, 1)
    size = rank(node, data)
    time = attribute(node, "time_axis", 0)
    sizes = extents(op, data, size)
    order = along(op, sizes[time], time, 2)
    last = op.Sub(op.Reshape(lengths, numbers(op, [1, -1] if time == 0 else [-1, 1])), op.const(1))
    back = op.Sub(last, order)
    source = op.Where(op.Less(back, op.const(0)), order, back)
    steps = strides_of(op, sizes[:2])
    if steps[time] != 1:
        source = op.Mul(source, scalar(op, steps[time]))
    counts = [None if axis == time else sizes[axis] for axis in range(2)]
    rows = shaped(op, data, [times(op, sizes[0], sizes[1]), *sizes[2:]]) if size > 2 else flat(op, data)
    return op.Gather(rows, plus(op, source, grid(op, counts, steps)), axis=0)


# OneHot ------------------------------------------------------------------------------------------


def _out_of_range(op: StepBuilder, indices: Value) -> Value:
    """Indices of which the negative ones are out of range, whether negative ones count from the back or don't."""
    indices = as_int64(op, indices)
    return op.Where(op.Less(indices, op.const(0)), op.const(INT64_MIN), indices)


def _no_negative_indices(op: StepBuilder, node: Node) -> Made:
    """OneHot: negative indices were out of range, where now they count from the back."""
    if nonnegative(node, 0):
        return None
    return changed(node, inputs=with_input(node.formal_inputs, 0, _out_of_range(op, required(node, 0))))


def _hot_from_front(op: StepBuilder, node: Node) -> Made:
    """OneHot-9: the axis and the indices count from the front."""
    back = not nonnegative(node, 0)
    if op.target < 9:
        return _either(op, node, back)
    axis = attribute(node, "axis", -1)
    plain = changed(node, axis=axis % (rank(node, node.input(0)) + 1)) if axis < -1 else changed(node)
    if back:
        depth = single(op, as_int64(op, required(node, 1)))
        plain.inputs = with_input(plain.formal_inputs, 0, _out_of_range(op, from_front(op, node, 0, depth)))
    return plain


def _one_hot(op: StepBuilder, node: Node) -> Value:
    return _either(op, node, False)


def _either(op: StepBuilder, node: Node, back: bool) -> Value:
    """OneHot: either value, by whether the index names the position.

    Args:
        back: whether it may count from the back.
    """
    indices, depth = required(node, 0), constant(node, 1)
    size = rank(node, indices) + 1
    axis = attribute(node, "axis", -1) % size
    indices = op.at(9).Unsqueeze(as_int64(op, indices), axes=[axis])
    count = int(depth.item()) if depth is not None else single(op, as_int64(op, required(node, 1)))
    positions = along(op, count, axis, size)
    hot = op.Equal(indices, positions)
    if back:
        hot = op.Or(hot, op.Equal(indices, op.Sub(positions, scalar(op, count))))
    return op.Gather(required(node, 2), as_int64(op, hot), axis=0)


# Compress, NonZero, Where ------------------------------------------------------------------------


def _kept(op: StepBuilder, node: Node) -> Value:
    """Compress-9: the elements under the condition, by their positions."""
    data, condition = required(node, 0), constant(node, 1)
    axis = attribute(node, "axis")
    if condition is not None:
        indices = numbers(op, np.flatnonzero(condition))
    else:
        indices = op.Squeeze(op.at(9).NonZero(required(node, 1)), axes=[0])
    return op.Gather(flat(op, data) if axis is None else data, indices, axis=axis or 0)


def _not_zero(op: StepBuilder, node: Node) -> Value:
    """NonZero-9: the first of the positions is the one that no other chosen one comes before, and so on."""
    x = required(node, 0)
    if not rank(node, x):
        raise Unsupported(node, "of a scalar it can't be expressed before version 9")
    lengths = [size_of(op.newest, x, axis) for axis in range(rank(node, x))]
    total = total_of(op, extents(op, x, len(lengths)))
    if isinstance(total, int) and total > MOST_COMPARED:
        raise Unsupported(node, f"{total} elements are too many to be compared before version 9")
    chosen = as_type(op, flat(op, x), DType.BOOL)
    here, there = (along(op, total, axis, 2) for axis in range(2))
    if isinstance(total, int) and total <= _WRITTEN:
        earlier = op.const(np.tri(total, k=-1, dtype=np.bool_))
    else:
        earlier = op.at(9).Less(there, here)
    count = as_int64(op, chosen)
    before = op.ReduceSum(op.Mul(as_int64(op, earlier), count), axes=[1], keepdims=0)
    turn = along(op, op.ReduceSum(count, axes=[0], keepdims=0), 0, 2)
    found = as_int64(op, op.And(op.Equal(before, turn), chosen))
    indices = expr(op.newest, op.ReduceSum(op.Mul(found, there), axes=[1], keepdims=0))
    return op.Concat(*(op.Unsqueeze(row.value(), axes=[0]) for row in unravelled(indices, lengths)), axis=0)


_PRODUCTS = (DType.INT32, DType.INT64, DType.UINT32, DType.UINT64)


def _one_of_both(op: StepBuilder, node: Node) -> Value:
    """Where-9: both choices flattened behind each other, and the index of either; of integers, 1 and 0 times them."""
    condition, *choices = (required(node, index) for index in range(3))
    kind = next((value.tensor.dtype for value in choices if value.tensor.dtype), None)
    if kind in _PRODUCTS and op.target >= 7:  # where operands are broadcast
        then, otherwise = choices
        factor = as_type(op, condition, kind)
        return op.Add(op.Mul(factor, then), op.Mul(op.Sub(op.const(1, kind), factor), otherwise))
    ranks = [rank(node, value) for value in (condition, *choices)]
    taken = as_int64(op, condition)
    later, size = op.at(9), max(ranks)
    dims = [value.tensor.static_shape for value in (condition, *choices)]
    if None not in dims:
        whole: list[Size] = [*np.broadcast_shapes(*(shape for shape in dims if shape is not None))]
    else:
        full = taken
        for choice in choices:
            full = later.Expand(full, op.Shape(choice))
        whole = [extent(op, full, axis) for axis in range(size)]
    both: list[Value] = []
    for choice in choices:
        spread = choice if choice.tensor.static_shape == tuple(whole) else later.Expand(choice, vector(op, whole))
        both.append(flat(op, spread) if size else op.Reshape(spread, numbers(op, 1)))
    indices = grid(op, whole, strides_of(op, whole)) if size else None
    other = op.Mul(op.Sub(op.const(1), taken), scalar(op, total_of(op, whole)))
    return op.Gather(op.Concat(*both, axis=0), plus(op, other, indices), axis=0)


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
