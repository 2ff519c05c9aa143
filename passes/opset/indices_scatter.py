"""Elements put where indices say: Scatter and its kin."""

from __future__ import annotations

import numpy as np

from ..build import Expr, concat, expr, length_of, product, reshape, size_of, taken
from ..constant_analysis import static_array
from ..errors import Unsupported
from ..graph import Node, Value
from ..preconditions import dtype_of, rank_of, required
from ..types import DType
from .build import StepBuilder
from .indices import linear
from .loop_decompositions import Pass, looped
from .offsets import along, common_rank, deferred, from_front, gathered, in_flat, last_size, sizes_of
from .steps import Adapter, Made, Step, attribute, changed, same

_MOST = 1 << 26  # comparisons of a position with a target
_REDUCTIONS = {"add": "Add", "mul": "Mul", "max": "Max", "min": "Min"}


def _to_scatter_elements(op: StepBuilder, node: Node) -> Made:
    return changed(node, op_type="ScatterElements")


def _to_scatter(op: StepBuilder, node: Node) -> Made:
    """ScatterElements-11: indices count from the front; `_by_choice` sees to that where Scatter goes on to it."""
    data, axis = required(node, 0), attribute(node, "axis", 0)
    if op.target < 9:
        return changed(node, op_type="Scatter")
    if axis < 0:
        axis += common_rank(node, data, required(node, 1))
    indices = from_front(op, node, 1, size_of(op.newest, data, axis))
    return changed(node, op_type="Scatter", inputs=[data, indices.value(), node.input(2)])


def _by_choice(op: StepBuilder, node: Node) -> Value:
    """Scatter-9: every element is the last that was put in its place, or stays as it was."""
    data, indices, updates = (required(node, index) for index in range(3))
    size = common_rank(node, data, indices)
    axis = attribute(node, "axis", 0) % size
    sizes = sizes_of(op, data, range(size))
    places = from_front(op, node, 1, sizes[axis])  # the text has none from the back; ONNX Runtime takes them
    targets = in_flat(op, places, indices, sizes, axis).reshape(1, -1)
    rows, put = (reshape(op, value, [-1]) for value in (data, updates))
    made = _chosen(op, node, rows, targets, put, product(sizes))
    return made if size == 1 else reshape(op.newest, made, sizes)


def _chosen(op: StepBuilder, node: Node, data: Value, targets: Expr, updates: Value, count: Expr) -> Value:
    """The `count` rows of `data`, those of `updates` put in the rows that `targets` [1, n] say."""
    number = targets.size(1)
    if count.array is not None and number.array is not None and count.item() * number.item() > _MOST:
        raise Unsupported(node, f"{number.item()} updates of {count.item()} elements are too many to be compared")
    order = deferred(along(count, 0, 2))
    hits = order.equals(targets).cast(DType.INT64) * (along(number, 1, 2) + 1)
    last = concat(op.newest, [order - order, hits], 1).max(1, keepdims=True)
    behind = last - order + (count - 1)
    source = order + last.cast(DType.BOOL).cast(DType.INT64) * behind
    return gathered(op, op.Concat(data, updates, axis=0), source.reshape(-1))


def _reducing(*reductions: str) -> Adapter:
    """ScatterElements: the adapter that takes reductions apart.

    Elements that meet in one position stand behind each other along the axis: one after the other is put there.
    """

    def down(op: StepBuilder, node: Node) -> Made:
        reduction = attribute(node, "reduction", "none")
        if reduction not in reductions:
            return _plain(node)
        data, indices, updates = (required(node, index) for index in range(3))
        axis = attribute(node, "axis", 0) % common_rank(node, data, indices)
        kind = dtype_of(node, data)
        if kind in (DType.BOOL, DType.STRING):
            raise Unsupported(node, f"reduction={reduction} of {kind.value} isn't deterministic")
        count = length_of(op.newest, indices, axis)
        if count.item() == 1 or _certainly_unique(indices, data, axis):
            return _scatter(op, _REDUCTIONS[reduction], data, indices, updates, axis)
        return _scatter_in_loop(op, _REDUCTIONS[reduction], data, indices, updates, axis, count)

    return down


def _plain(node: Node) -> Made:
    """Nothing is reduced: what it is called may go."""
    is_none = attribute(node, "reduction", "none") == "none" and node.version == 16
    return changed(node, without=("reduction",)) if is_none else None


def _certainly_unique(indices: Value, data: Value, axis: int) -> bool:
    """Whether no two elements certainly meet."""
    known, dims = static_array(indices), data.tensor.shape
    size = dims[axis] if dims is not None else None
    if known is None or not isinstance(size, int):
        return False
    order = np.sort(np.where(known < 0, known + size, known), axis=axis)
    return bool((np.diff(order, axis=axis) != 0).all())


def _scatter(op: StepBuilder, operator: str, data: Value, indices: Value, updates: Value, axis: int) -> Value:
    found = op.GatherElements(data, indices, axis=axis)
    made = op.call(operator, found, updates, _types=[found.type])
    return op.ScatterElements(data, indices, made, axis=axis, _types=[data.type])


def _scatter_in_loop(
    op: StepBuilder, operator: str, data: Value, indices: Value, updates: Value, axis: int, count: Expr
) -> Value:
    """A loop along the axis of the indices."""

    def put(one: Pass) -> tuple[None, list[Value]]:
        position = reshape(one.op, one.turn, [1])
        index, update = (taken(one.op, part, position, axis) for part in one.seen)
        return None, [_scatter(one.op, operator, one.states[0], index, update, axis)]

    (made,) = looped(op, count.value(), [data], [indices, updates], put)
    return made


# ScatterND ---------------------------------------------------------------------------------------


def _rows(op: StepBuilder, node: Node) -> Value:
    """ScatterND as ScatterElements on rows: the axes that are indexed become one, and so do the others."""
    data, indices, updates = (required(node, index) for index in range(3))
    size, last = rank_of(node, data), rank_of(node, indices) - 1
    count = last_size(node, indices)
    dims = data.tensor.static_shape
    if dims is not None and 0 in dims:
        return op.Identity(data)
    if not count:
        raise Unsupported(node, "each index is a place along none of the axes")
    sizes = sizes_of(op, data, range(size))
    rows, reduction = linear(op, node, sizes[:count], count), attribute(node, "reduction", "none")
    early = op.at(9)
    if op.target < 9 and reduction == "none":  # neither Scatter nor Flatten of integers
        length, width = product(sizes[:count]), product([*sizes[count:], rows.like(1).reshape(1)])
        targets = rows.reshape(1, -1)
        put = reshape(op.newest, updates, [targets.size(1), width])
        return reshape(
            op.newest, _chosen(op, node, reshape(op.newest, data, [length, width]), targets, put, length), sizes
        )
    data, updates = early.Flatten(data, axis=count), early.Flatten(updates, axis=last)
    width = size_of(op.newest, updates, 1)
    column = rows.reshape(-1, 1)
    if width.item() != 1:
        column = column.broadcast_to(1, width)
    if reduction == "none":
        made = early.Scatter(data, column, updates, axis=0)
    else:
        made = op.at(node.version).ScatterElements(data, column, updates, axis=0, reduction=reduction)
    return made if size == 2 and count == 1 else reshape(op.newest, made, sizes)


def _rows_reducing(*reductions: str) -> Adapter:
    """ScatterND: reductions as those of ScatterElements."""

    def down(op: StepBuilder, node: Node) -> Made:
        return _rows(op, node) if attribute(node, "reduction", "none") in reductions else _plain(node)

    return down


# TensorScatter -----------------------------------------------------------------------------------


def _cache(op: StepBuilder, node: Node) -> Value:
    """TensorScatter-24: each sample of the batch is written from its own position on."""
    past, update, starts = required(node, 0), required(node, 1), node.input(2)
    size = rank_of(node, past)
    axis = attribute(node, "axis", -2) % size
    sizes = sizes_of(op, update, range(size))
    indices = along(sizes[axis], axis, size)
    if starts is not None:
        indices = expr(op.newest, starts).reshape(-1, *[1] * (size - 1)) + indices
    if attribute(node, "mode", "linear") == "circular":
        indices = indices % size_of(op.newest, past, axis)
    return op.ScatterElements(past, indices.broadcast_to(*sizes), update, axis=axis)


ROWS = {
    ("Scatter", 11): Step(_to_scatter_elements, "there is no Scatter-11"),
    ("Scatter", 9): Step("Scatter came with version 9", _by_choice),
    ("ScatterElements", 11): Step("ScatterElements came with version 11", _to_scatter),
    # max and min are of version 18; ONNX Runtime also takes them at 16
    ("ScatterElements", 16): Step(same, _reducing("add", "mul", "max", "min")),
    ("ScatterElements", 18): Step(same, _reducing("max", "min")),
    ("ScatterND", 11): Step("ScatterND came with version 11", _rows),
    ("ScatterND", 16): Step(same, _rows_reducing("add", "mul", "max", "min")),
    ("ScatterND", 18): Step(same, _rows_reducing("max", "min")),
    ("TensorScatter", 24): Step("TensorScatter came with version 24", _cache),
}
