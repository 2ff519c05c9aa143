"""Elements by their order: TopK, ArgMax, Unique, NonMaxSuppression."""

from __future__ import annotations

import operator
from collections.abc import Callable

import numpy as np

from ..build import Expr, concat, expr, length_of, product, reshape, size_of, transpose, where
from ..errors import Unsupported
from ..graph import Node, Value
from ..preconditions import dtype_of, rank_of, required
from ..types import DType, TensorType
from .build import StepBuilder
from .loop_decompositions import Pass, looped
from .offsets import MOST_COMPARED, along, arange, certain, deferred, gathered, total
from .regular_steps import to_attributes, to_inputs
from .steps import INT64_MIN, Made, Step, as_type, attribute, changed, constant, numbers, rows, same, wanted

_WIDE = (DType.INT64, DType.UINT64)


# what stands before what -------------------------------------------------------------------------


def _ahead(one: Expr, other: Expr) -> Expr:
    """Whether `one` is less than `other`, NaN being the greatest of all and equal to itself."""
    less = one < other
    return less | ~one.call("IsNaN") & other.call("IsNaN") if one.dtype.is_float else less


def _comparable(op: StepBuilder, node: Node, value: Value) -> Expr:
    kind = dtype_of(node, value)
    if kind is DType.STRING:
        raise Unsupported(node, f"strings can't be sorted before version {node.version}")
    return expr(op.newest, value, DType.INT32 if kind is DType.BOOL else kind)


def _compared(count: Expr) -> tuple[Expr, Expr]:
    """The positions of elements that are compared with each other as a column and as a row."""
    here, there = (deferred(along(count, axis, 2)) for axis in range(2))
    return here, there


# TopK --------------------------------------------------------------------------------------------


def _largest(op: StepBuilder, node: Node) -> Made:
    """TopK-11: the smallest are the largest of the negative ones; what no number stands for is ranked.

    With `sorted=0` any order is right, so that they are sorted. NaN comes where the runtime puts it, as it did.
    """
    x, k = required(node, 0), required(node, 1)
    kind, axis = dtype_of(node, x), attribute(node, "axis")
    largest = bool(attribute(node, "largest", 1))
    if kind in _WIDE or not (largest or _has_attribute(op, node)):
        return _by_rank(op, x, k, (-1 if axis is None else axis) % rank_of(node, x), largest)
    if axis is not None and axis < 0:
        axis %= rank_of(node, x)
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
    """TopK-10: k must be known; where it isn't, all are sorted, and the first k taken. It is at least 1."""
    x, k, known = required(node, 0), required(node, 1), constant(node, 1)
    if known is not None and known.any():
        return to_attributes(("k", 1), kind="one")(op, node)
    axis = attribute(node, "axis", -1) % rank_of(node, x)
    count = size_of(op.newest, x, axis)
    if known is not None or (count.array is not None and not count.array.any()):
        nothing = gathered(op, x, expr(op.newest, np.zeros(0, np.int64)), axis)
        return [nothing, as_type(op, nothing, DType.INT64)]
    if count.array is None:
        return _by_rank(op, x, k, axis, True)
    types = [x.tensor, TensorType(DType.INT64, x.tensor.shape)]
    everything = op.at(10).TopK(x, count, axis=axis, _outputs=2, _types=types)
    first = arange(certain(op, k))
    return [gathered(op, part, first, axis) for part in everything]


def _by_rank(op: StepBuilder, x: Value, k: Value, axis: int, largest: bool) -> list[Value]:
    """Each element's rank is the number of those before it, by value and by position; then they are taken in order."""
    size = x.rank or 0
    last = size - 1
    rows = expr(op.newest, x).transpose(*(index for index in range(size) if index != axis), axis)
    count = length_of(op.newest, rows.value(), last)
    here, there = rows.unsqueeze(size), rows.unsqueeze(last)
    less, more = _ahead(there, here), _ahead(here, there)
    earlier = deferred(along(count, size, size + 1)) < along(count, last, size + 1)  # there before here
    ranks = total((more if largest else less) | ~(less | more) & earlier, size)
    nothing = (ranks - ranks).value()
    positions = nothing + along(count, last, size)
    order = op.at(11).ScatterElements(nothing, ranks, positions, axis=last)
    indices = gathered(op, order, arange(certain(op, k)), last)
    values = op.at(11).GatherElements(rows, indices, axis=last)
    return [transpose(op, part, [*range(axis), last, *range(axis, last)]) for part in (values, indices)]


# ArgMax -----------------------------------------------------------------------------------------


def _last_of_equals(op: StepBuilder, node: Node) -> Made:
    """ArgMax, ArgMin: the last of equal elements is the first from the back."""
    plain = changed(node, without=("select_last_index",))
    if not attribute(node, "select_last_index", 0):
        return plain
    x, axis = required(node, 0), attribute(node, "axis", 0)
    backwards = op.Slice(x, numbers(op, -1), numbers(op, INT64_MIN), numbers(op, axis), numbers(op, -1))
    index = op.call(node.op_type, backwards, **plain.attributes)
    return (length_of(op.newest, x, axis) - 1 - index).value()


# Unique ------------------------------------------------------------------------------------------


def _unique(op: StepBuilder, node: Node) -> Made:
    """Unique-11: every element is compared with every other.

    Of those that are equal the first one stands for all; how many of these come before it is its position.
    """
    x = required(node, 0)
    size, axis = rank_of(node, x), attribute(node, "axis")
    keys = _comparable(op, node, x)
    if axis is None:
        x, axis = reshape(op.newest, x, [-1]), 0
        less, more = _pairs(keys.reshape(-1))
    else:
        axis %= size
        others = [dim for place, dim in enumerate(x.tensor.shape or (None,)) if place != axis]
        less, more = _row_pairs(keys, axis, all(isinstance(dim, int) and dim > 0 for dim in others))
    count = size_of(op.newest, x, axis)
    if count.array is not None and count.item() > MOST_COMPARED:
        raise Unsupported(node, f"{count.item()} elements are too many to be compared with each other")
    same_kind = ~(less | more)
    here, there = _compared(count)
    earlier = there < here
    first = ~total(same_kind & earlier, 1).cast(DType.BOOL)
    positions = first.call("NonZero").squeeze(0)
    row = first.unsqueeze(0)
    if attribute(node, "sorted", 1):
        inverse = total(more & row, 1)
        ranks = gathered(op, inverse.value(), positions)
        positions = expr(op.newest, op.at(11).ScatterElements(positions, ranks, positions, axis=0))
    else:
        order = total(earlier & row, 1)
        inverse = ((same_kind & row).cast(DType.INT64) * order.unsqueeze(0)).sum(1)
    made = [gathered(op, x, positions, axis), positions.value(), inverse.value()]
    if wanted(node, 3):
        made.append(gathered(op, total(same_kind, 1).value(), positions))
    return made[: len(node.outputs)]


def _pairs(keys: Expr) -> tuple[Expr, Expr]:
    """bool [n, n, ..]: whether element i is less than element j, and more."""
    here, there = keys.unsqueeze(1), keys.unsqueeze(0)
    return _ahead(here, there), _ahead(there, here)


def _row_pairs(keys: Expr, axis: int, has_elements: bool) -> tuple[Expr, Expr]:
    """The same of the parts along an axis: the first elements that differ decide."""
    front = keys.transpose(axis, *(index for index in range(keys.rank or 0) if index != axis))
    less, more = _pairs(front.call("Flatten", axis=1))
    if not has_elements:  # one more, which doesn't decide, so that there is one
        none = (less & more).cast(DType.INT32).sum(2, keepdims=True)
        less, more = (concat(keys.op, [part.cast(DType.INT32), none], 2).cast(DType.BOOL) for part in (less, more))
    decisive = (less | more).cast(DType.INT32).call("ArgMax", axis=2, keepdims=1)
    first, second = (part.call("GatherElements", decisive, axis=2).squeeze(2) for part in (less, more))
    return first, second


# NonMaxSuppression -------------------------------------------------------------------------------


def _suppressing(op: StepBuilder, node: Node) -> Value:
    """NonMaxSuppression-10: a loop whose every pass takes the best box that is left of each batch and class."""
    boxes, scores, most = required(node, 0), required(node, 1), node.input(2)
    for value in (boxes, scores):
        rank_of(node, value)
    spatial = length_of(op.newest, scores, 2)
    if most is None or spatial.item() == 0:
        return op.const(np.zeros((0, 3), np.int64))
    real = None
    if spatial.array is None:  # there may be no box: one more, which is never left, so that there is one
        real = along(spatial + 1, 2, 3) < spatial
        boxes, scores = op.Pad(boxes, pads=[0, 0, 0, 0, 1, 0]), op.Pad(scores, pads=[0, 0, 0, 0, 0, 1])
    chance = expr(op.newest, scores)
    left = ~(chance < chance) if node.input(4) is None else chance > reshape(op, required(node, 4), [])
    left = left if real is None else left & real
    starts = along(size_of(op.newest, boxes, 0), 0, 2) * size_of(op.newest, boxes, 1)
    picked, taken = _picked(op, left, chance, _overlapping(op, node, boxes), starts, expr(op.newest, most).reshape())
    return _listed(op, picked, taken)


def _overlapping(op: StepBuilder, node: Node, boxes: Value) -> Expr:
    """bool [batches * boxes, boxes]: whether two boxes of a batch overlap by more than the threshold."""
    parts = [expr(op.newest, boxes)[:, :, index] for index in range(4)]
    if attribute(node, "center_point_box", 0):
        x, y, width, height = parts
        width, height = width / 2, height / 2
        lows, highs = [x - width, y - height], [x + width, y + height]
    else:
        lows = [parts[axis].minimum(parts[axis + 2]) for axis in range(2)]
        highs = [parts[axis].maximum(parts[axis + 2]) for axis in range(2)]
    area = product([high - low for low, high in zip(lows, highs, strict=True)])

    def pair(value: Expr) -> tuple[Expr, Expr]:
        return value.unsqueeze(2), value.unsqueeze(1)

    def both(combine: Callable[[Expr, Expr], Expr], value: Expr) -> Expr:
        return combine(*pair(value))

    sides = [both(Expr.minimum, high) - both(Expr.maximum, low) for low, high in zip(lows, highs, strict=True)]
    common = product(sides)
    union = both(operator.add, area) - common
    threshold = node.input(3)
    made = common / union > (0 if threshold is None else reshape(op, threshold, []))
    for value in (*sides, *pair(area), union):
        made = made & (value > 0)
    size = size_of(op.newest, boxes, 1)
    return made.reshape(size_of(op.newest, boxes, 0) * size, size)


def _picked(op: StepBuilder, left: Expr, scores: Expr, overlap: Expr, starts: Expr, most: Expr) -> tuple[Value, Value]:
    """int64 and bool [passes, batches, classes]: which box each pass took, and whether there was one."""

    def suppress(one: Pass) -> tuple[Value, list[Value]]:
        body = one.op.newest
        state, score, over, start, end = (expr(body, value) for value in (*one.states, *one.seen))
        best = where(state, score, -np.inf).max(2, keepdims=True)
        equal = (state & ~(score < best)).cast(DType.INT32)
        box, found = equal.call("ArgMax", axis=2, keepdims=0), equal.max(2)
        itself = along(score.size(2), 2, 3).equals(box.unsqueeze(2))
        after = state & ~(expr(body, gathered(body, over.value(), box + start)) | itself)
        taken = found.cast(DType.BOOL) & (expr(body, one.turn) < end)
        return (after.cast(DType.INT32).sum() > 0).value(), [after.value(), box.value(), taken.value()]

    passes = where(most < 1, 1, most)  # without a pass nothing would tell the shapes
    seen = [value.value() for value in (scores, overlap, starts, most)]
    _, picked, found = looped(op, passes.value(), [left.value()], seen, suppress)
    return picked, found


def _listed(op: StepBuilder, picked: Value, taken: Value) -> Value:
    """Batch, class and box of everything that was taken, by batch, class and pass."""
    picked, taken = (op.Transpose(value, perm=[1, 2, 0]) for value in (picked, taken))
    early = op.at(9)
    indices = op.Transpose(early.NonZero(taken), perm=[1, 0])
    chosen = early.Compress(picked, reshape(op, taken, [-1]))
    pairs = early.Slice(indices, starts=[0], ends=[2], axes=[1])
    return op.Concat(pairs, early.Unsqueeze(chosen, axes=[1]), axis=1)


ROWS = {
    ("TopK", 10): Step(to_inputs(("k", 1), kind="one"), _number_of_all),
    ("TopK", 11): Step(same, _largest),
    **rows("ArgMax ArgMin", 12, Step(same, _last_of_equals)),
    ("Unique", 11): Step("Unique came with version 11", _unique),
    ("NonMaxSuppression", 10): Step("NonMaxSuppression came with version 10", _suppressing),
}
