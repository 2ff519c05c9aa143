"""Elements by their order: TopK, ArgMax, Unique, NonMaxSuppression."""

from __future__ import annotations

import numpy as np

from ..errors import Unsupported
from ..graph import Node, Value
from ..preconditions import required
from ..types import DType, TensorType
from .build import StepBuilder
from .loops import Pass, looped
from .offsets import MOST_COMPARED, along, counted, extent, flat, grid, scalar, shaped, single, times
from .steps import (
    INT64_MIN,
    Made,
    Step,
    as_int64,
    as_type,
    attribute,
    chained,
    changed,
    constant,
    dtype,
    numbers,
    rank,
    rows,
    same,
    to_attributes,
    to_inputs,
    wanted,
)

_WIDE = (DType.INT64, DType.UINT64)


# what stands before what -------------------------------------------------------------------------


def _ahead(op: StepBuilder, one: Value, other: Value) -> Value:
    """Whether `one` is less than `other`, NaN being the greatest of all and equal to itself."""
    less = op.Less(one, other)
    kind = one.tensor.dtype
    if kind is None or not kind.is_float:
        return less
    return op.Or(less, op.And(op.Not(op.IsNaN(one)), op.IsNaN(other)))


def _comparable(op: StepBuilder, node: Node, value: Value) -> Value:
    kind = dtype(node, value)
    if kind is DType.STRING:
        raise Unsupported(node, f"strings can't be sorted before version {node.version}")
    return as_type(op, value, DType.INT32) if kind is DType.BOOL else value


def _total(op: StepBuilder, chosen: Value, axis: int) -> Value:
    """How many are chosen along an axis."""
    return op.at(9).ReduceSum(as_int64(op, chosen), axes=[axis], keepdims=0)


# TopK --------------------------------------------------------------------------------------------


def _largest(op: StepBuilder, node: Node) -> Made:
    """TopK-11: the smallest are the largest of the negative ones; what no number stands for is ranked.

    With `sorted=0` any order is right, so that they are sorted. NaN comes where the runtime puts it, as it did.
    """
    x, k = required(node, 0), required(node, 1)
    kind, axis = dtype(node, x), attribute(node, "axis")
    largest = bool(attribute(node, "largest", 1))
    if kind in _WIDE or not (largest or _has_attribute(op, node)):
        return _by_rank(op, x, k, (-1 if axis is None else axis) % rank(node, x), largest)
    if axis is not None and axis < 0:
        axis %= rank(node, x)
    if largest:
        return changed(node, without=("largest", "sorted"), axis=axis)
    work = kind if kind.is_float else DType.FLOAT64  # which holds every shorter integer
    values, indices = op.TopK(op.Neg(as_type(op, x, work)), k, axis=axis, _outputs=2)
    return as_type(op, op.Neg(values), kind), indices


def _has_attribute(op: StepBuilder, node: Node) -> bool:
    """Whether the target's TopK can be told a number: k, or that of all elements."""
    dims = required(node, 0).tensor.shape
    size = dims[attribute(node, "axis", -1)] if dims is not None else None
    return op.target >= 10 or constant(node, 1) is not None or isinstance(size, int)


def _number_of_all(op: StepBuilder, node: Node) -> Made:
    """TopK-10: k must be known; where it isn't, all are sorted, and the first k taken."""
    if constant(node, 1) is not None:
        return to_attributes(("k", 1), kind="one")(op, node)
    x, k = required(node, 0), required(node, 1)
    axis = attribute(node, "axis", -1) % rank(node, x)
    count = extent(op, x, axis)
    if not isinstance(count, int):
        return _by_rank(op, x, k, axis, True)
    types = [x.tensor, TensorType(DType.INT64, x.tensor.shape)]
    everything = op.at(10).TopK(x, numbers(op, count), axis=axis, _outputs=2, _types=types)
    first = counted(op, k)
    return [op.Gather(part, first, axis=axis) for part in everything]


def _by_rank(op: StepBuilder, x: Value, k: Value, axis: int, largest: bool) -> list[Value]:
    """Each element's rank is the number of those before it, by value and by position; then they are taken in order."""
    size = x.rank or 0
    perm = [*(index for index in range(size) if index != axis), axis]
    back = [*range(axis), size - 1, *range(axis, size - 1)]
    rows = x if axis == size - 1 else op.Transpose(x, perm=perm)
    count = extent(op, rows, size - 1)
    early = op.at(9)
    here, there = early.Unsqueeze(rows, axes=[size]), early.Unsqueeze(rows, axes=[size - 1])
    less, more = _ahead(op, there, here), _ahead(op, here, there)
    earlier = op.Less(along(op, count, size, size + 1), along(op, count, size - 1, size + 1))  # there before here
    before = op.Or(more if largest else less, op.And(op.Not(op.Or(less, more)), earlier))
    ranks = _total(op, before, size)
    nothing = op.Sub(ranks, ranks)
    positions = op.Add(nothing, along(op, count, size - 1, size))
    order = op.at(11).ScatterElements(nothing, ranks, positions, axis=size - 1)
    indices = op.Gather(order, counted(op, k), axis=size - 1)
    values = op.at(11).GatherElements(rows, indices, axis=size - 1)
    made = [values, indices]
    return made if axis == size - 1 else [op.Transpose(part, perm=back) for part in made]


# ArgMax -----------------------------------------------------------------------------------------


def _last_of_equals(op: StepBuilder, node: Node) -> Made:
    """ArgMax, ArgMin: the last of equal elements is the first from the back."""
    plain = changed(node, without=("select_last_index",))
    if not attribute(node, "select_last_index", 0):
        return plain
    x, axis = required(node, 0), attribute(node, "axis", 0)
    backwards = op.Slice(x, numbers(op, -1), numbers(op, INT64_MIN), numbers(op, axis), numbers(op, -1))
    index = op.call(node.op_type, backwards, **plain.attributes)
    last = op.Sub(scalar(op, extent(op, x, axis)), op.const(1))
    return op.Sub(last, index)


# Unique ------------------------------------------------------------------------------------------


def _unique(op: StepBuilder, node: Node) -> Made:
    """Unique-11: every element is compared with every other.

    Of those that are equal the first one stands for all; how many of these come before it is its position.
    """
    x = required(node, 0)
    size, axis = rank(node, x), attribute(node, "axis")
    keys = _comparable(op, node, x)
    if axis is None:
        data, axis = flat(op, x), 0
        less, more = _pairs(op, flat(op, keys))
    else:
        data, axis = x, axis % size
        less, more = _row_pairs(op, keys, axis)
    count = extent(op, data, axis)
    if isinstance(count, int) and count > MOST_COMPARED:
        raise Unsupported(node, f"{count} elements are too many to be compared with each other")
    same_kind = op.Not(op.Or(less, more))
    here, there = along(op, count, 0, 2), along(op, count, 1, 2)
    earlier = op.Less(there, here)
    repeated = as_type(op, _total(op, op.And(same_kind, earlier), 1), DType.BOOL)
    first = op.Not(repeated)
    early = op.at(9)
    indices = early.Squeeze(early.NonZero(first), axes=[0])
    row = early.Unsqueeze(first, axes=[0])
    if attribute(node, "sorted", 1):
        inverse = _total(op, op.And(more, row), 1)
        indices = _in_order(op, indices, op.Gather(inverse, indices))
    else:
        order = _total(op, op.And(earlier, row), 1)
        found = as_int64(op, op.And(same_kind, row))
        inverse = early.ReduceSum(op.Mul(found, early.Unsqueeze(order, axes=[0])), axes=[1], keepdims=0)
    made = [op.Gather(data, indices, axis=axis), indices, inverse]
    if wanted(node, 3):
        made.append(op.Gather(_total(op, same_kind, 1), indices))
    return made[: len(node.outputs)]


def _in_order(op: StepBuilder, values: Value, indices: Value) -> Value:
    """Each value at its position."""
    return op.at(11).ScatterElements(values, indices, values, axis=0)


def _pairs(op: StepBuilder, keys: Value) -> tuple[Value, Value]:
    """bool [n, n]: whether element i is less than element j, and more."""
    early = op.at(9)
    here, there = early.Unsqueeze(keys, axes=[1]), early.Unsqueeze(keys, axes=[0])
    return _ahead(op, here, there), _ahead(op, there, here)


def _row_pairs(op: StepBuilder, keys: Value, axis: int) -> tuple[Value, Value]:
    """The same of the parts along an axis: the first elements that differ decide."""
    size = keys.rank or 0
    perm = [axis, *(index for index in range(size) if index != axis)]
    early = op.at(9)
    rows = early.Flatten(keys if axis == 0 else op.Transpose(keys, perm=perm), axis=1)
    here, there = early.Unsqueeze(rows, axes=[1]), early.Unsqueeze(rows, axes=[0])
    less, more = _ahead(op, here, there), _ahead(op, there, here)
    differ = as_type(op, op.Or(less, more), DType.INT32)
    decisive = op.at(9).ArgMax(differ, axis=2, keepdims=1)
    later = op.at(11)
    parts = (later.GatherElements(part, decisive, axis=2) for part in (less, more))
    first, second = (early.Squeeze(part, axes=[2]) for part in parts)
    return first, second


# NonMaxSuppression -------------------------------------------------------------------------------


def _suppressing(op: StepBuilder, node: Node) -> Value:
    """NonMaxSuppression-10: a loop whose every pass takes the best box that is left of each batch and class."""
    boxes, scores, most = required(node, 0), required(node, 1), node.input(2)
    for value in (boxes, scores):
        rank(node, value)
    spatial = extent(op, scores, 2)
    if most is None or spatial == 0:
        return op.const(np.zeros((0, 3), np.int64))
    real = None
    if not isinstance(spatial, int):  # there may be no box: one more, which is never left, so that there is one
        real = op.Less(along(op, op.Add(spatial, op.const(1)), 2, 3), spatial)
        boxes, scores = op.Pad(boxes, pads=[0, 0, 0, 0, 1, 0]), op.Pad(scores, pads=[0, 0, 0, 0, 0, 1])
    if node.input(4) is None:
        left = op.Not(op.Less(scores, scores))
    else:
        left = op.Greater(scores, single(op, required(node, 4)))
    left = left if real is None else op.And(left, real)
    starts = grid(op, [extent(op, boxes, 0), None], [extent(op, boxes, 1), 1]) or op.const([[0]])
    most = single(op, most)
    picked, taken = _picked(op, left, scores, _overlapping(op, node, boxes), starts, most)
    return _listed(op, picked, taken)


def _overlapping(op: StepBuilder, node: Node, boxes: Value) -> Value:
    """bool [batches * boxes, boxes]: whether two boxes of a batch overlap by more than the threshold."""
    early = op.at(9)
    parts = [op.Gather(boxes, op.const(index), axis=2) for index in range(4)]
    if attribute(node, "center_point_box", 0):
        half = op.const(2.0)
        x, y, width, height = parts
        width, height = op.Div(width, half), op.Div(height, half)
        lows, highs = [op.Sub(x, width), op.Sub(y, height)], [op.Add(x, width), op.Add(y, height)]
    else:
        lows = [op.Min(parts[axis], parts[axis + 2]) for axis in range(2)]
        highs = [op.Max(parts[axis], parts[axis + 2]) for axis in range(2)]
    zero = op.const(0.0)
    area = op.Mul(*(op.Sub(high, low) for low, high in zip(lows, highs, strict=True)))

    def pair(value: Value) -> tuple[Value, Value]:
        return early.Unsqueeze(value, axes=[2]), early.Unsqueeze(value, axes=[1])

    sides = [op.Sub(op.Min(*pair(high)), op.Max(*pair(low))) for low, high in zip(lows, highs, strict=True)]
    common = op.Mul(*sides)
    union = op.Sub(op.Add(*pair(area)), common)
    solid = [op.Greater(value, zero) for value in (*sides, *pair(area), union)]
    threshold = node.input(3)
    limit = zero if threshold is None else single(op, threshold)
    made = chained(op, "And", [op.Greater(op.Div(common, union), limit), *solid])
    size = extent(op, boxes, 1)
    return shaped(op, made, [times(op, extent(op, boxes, 0), size), size])


def _picked(
    op: StepBuilder, left: Value, scores: Value, overlap: Value, starts: Value, most: Value
) -> tuple[Value, Value]:
    """int64 and bool [passes, batches, classes]: which box each pass took, and whether there was one."""

    def suppress(one: Pass) -> tuple[Value, list[Value]]:
        body, (state,), (score, over, start, end) = one.op, one.states, one.seen
        early, kind = body.at(9), DType.INT32
        best = early.ReduceMax(body.Where(state, score, body.const(-np.inf, DType.FLOAT32)), axes=[2], keepdims=1)
        equal = as_type(body, body.And(state, body.Not(body.Less(score, best))), kind)
        box, found = early.ArgMax(equal, axis=2, keepdims=0), early.ReduceMax(equal, axes=[2], keepdims=0)
        itself = body.Equal(along(body, extent(body, score, 2), 2, 3), early.Unsqueeze(box, axes=[2]))
        after = body.And(state, body.Not(body.Or(body.Gather(over, body.Add(box, start), axis=0), itself)))
        number = early.ReduceSum(as_type(body, after, kind), axes=[0, 1, 2], keepdims=0)
        taken = body.And(as_type(body, found, DType.BOOL), body.Less(one.turn, end))
        return body.Greater(number, body.const(0, kind)), [after, box, taken]

    once = op.const(1)  # without a pass nothing would tell the shapes
    passes = op.Where(op.Less(most, once), once, most)
    _, picked, found = looped(op, passes, [left], [scores, overlap, starts, most], suppress)
    return picked, found


def _listed(op: StepBuilder, picked: Value, taken: Value) -> Value:
    """Batch, class and box of everything that was taken, by batch, class and pass."""
    picked, taken = (op.Transpose(value, perm=[1, 2, 0]) for value in (picked, taken))
    early = op.at(9)
    indices = op.Transpose(early.NonZero(taken), perm=[1, 0])
    chosen = early.Compress(picked, early.Reshape(taken, numbers(op, -1)))
    pairs = early.Slice(indices, starts=[0], ends=[2], axes=[1])
    return op.Concat(pairs, early.Unsqueeze(chosen, axes=[1]), axis=1)


ROWS = {
    ("TopK", 10): Step(to_inputs(("k", 1), kind="one"), _number_of_all),
    ("TopK", 11): Step(same, _largest),
    **rows("ArgMax ArgMin", 12, Step(same, _last_of_equals)),
    ("Unique", 11): Step("Unique came with version 11", _unique),
    ("NonMaxSuppression", 10): Step("NonMaxSuppression came with version 10", _suppressing),
}
