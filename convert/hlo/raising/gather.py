"""gather: parts of a tensor at places that stand in another one."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ....passes.errors import InvalidModel
from ....passes.graph import Node, Value
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import TensorType
from ..dialect import DOMAIN
from .dimension_numbers import Label, Numbers, Starts, numbers_of, starts_of
from .index_computation import clamped, compared, place, shifted, with_windows, within
from .support import Results, dtype_of, given, shape_of
from .views import arranged, broadcast_to, counted, cut, empty, reshaped, squeezed, uniform, widely

_NAMES = (
    "offset_dims",
    "collapsed_slice_dims",
    "start_index_map",
    "operand_batching_dims",
    "start_indices_batching_dims",
)


@rule(DOMAIN, "gather")
@widely
def gather(op: Builder, node: Node) -> Results:
    """gather: windows of the operand, moved where they would lie outside.

    One moving axis is a Gather (all others batched: GatherElements), several are a GatherND, and what
    doesn't start anywhere else than at 0 is cut before.
    """
    x, indices, result = given(node, 0), given(node, 1), node.outputs[0]
    shape, wanted = shape_of(node, x), shape_of(node, result)
    shape_of(node, indices)
    numbers = numbers_of(node, len(shape), indices, len(wanted), _NAMES)
    size = tuple(node.attributes.get("slice_sizes", ()))
    single = (*numbers.dropped, *numbers.batching)
    if len(size) != len(shape) or any(not 0 <= part <= whole for part, whole in zip(size, shape, strict=True)):
        raise InvalidModel(f"{node!r}: windows of {list(size)} of {x.type}")
    if any(size[axis] > 1 for axis in single):
        raise InvalidModel(f"{node!r}: a window of {list(size)} has no single element on the axes {list(single)}")
    if 0 in wanted:
        return empty(op, dtype_of(node, x), wanted)
    if uniform(x) is not None:
        return broadcast_to(op, x, wanted)
    starts = starts_of(op, numbers, indices)
    moving = [axis for axis in sorted(numbers.mapped) if size[axis] < shape[axis]]
    x, labels = _cut(op, x, numbers, size, moving)
    if moving:
        others = len(labels) - len(numbers.batching) - 1
        form = _by_coordinates if len(moving) > 1 or (others and numbers.batching) else _along
        form = _by_element if form is _along and numbers.batching else form
        x, labels = form(op, x, labels, starts.only(op, moving), size, shape)
    return broadcast_to(op, arranged(op, x, labels, numbers.result_labels(len(wanted))), wanted)


def _cut(
    op: Builder, x: Value, numbers: Numbers, size: Sequence[int], moving: Sequence[int]
) -> tuple[Value, list[Label]]:
    """The operand as far as windows reach that start at 0, without the dropped axes that don't move; its labels."""
    shape, labels = x.tensor.static_shape, numbers.operand_labels()
    assert shape is not None
    free = [axis in moving or axis in numbers.batching for axis in range(len(shape))]
    stops = [whole if free[axis] else size[axis] for axis, whole in enumerate(shape)]
    gone = [axis for axis in numbers.dropped if axis not in moving]
    x = squeezed(op, cut(op, x, [0] * len(shape), stops), gone)
    return x, [label for axis, label in enumerate(labels) if axis not in gone]


def _batches(starts: Starts) -> list[Label]:
    return [("batch", axis) for axis in range(len(starts.batch))]


def _line(op: Builder, starts: Starts, size: Sequence[int], shape: Sequence[int]) -> tuple[Value, list[Label]]:
    """The places along the one axis that moves, and their labels."""
    axis = starts.axes[0]
    places, labels = within(op, starts.line(op), shape[axis] - size[axis]), _batches(starts)
    if size[axis] == 1:
        return places, labels
    places = reshaped(op, places, [*starts.batch, 1])
    return shifted(op, places, counted(op, size[axis])), [*labels, ("window", axis)]


def _along(
    op: Builder, x: Value, labels: list[Label], starts: Starts, size: Sequence[int], shape: Sequence[int]
) -> tuple[Value, list[Label]]:
    """One axis moves, all windows in the same tensor: Gather."""
    places, names = _line(op, starts, size, shape)
    axis = labels.index(("window", starts.axes[0]))
    return op.Gather(x, places, axis=axis), [*labels[:axis], *names, *labels[axis + 1 :]]


def _by_element(
    op: Builder, x: Value, labels: list[Label], starts: Starts, size: Sequence[int], shape: Sequence[int]
) -> tuple[Value, list[Label]]:
    """One axis moves, all others belong to dimensions of the indices: GatherElements."""
    places, names = _line(op, starts, size, shape)
    axis = labels.index(("window", starts.axes[0]))
    before, after = labels[:axis], labels[axis + 1 :]
    own = [name for name in names if name not in before and name not in after]
    order = [*before, *own, *after]
    places = arranged(op, places, names, order)
    spaced = places.tensor.static_shape
    assert spaced is not None
    behind = axis + len(own)
    flat = reshaped(op, places, [*spaced[:axis], math.prod(spaced[axis:behind]), *spaced[behind:]])
    return reshaped(op, op.GatherElements(x, flat, axis=axis), spaced), order


def _by_coordinates(
    op: Builder, x: Value, labels: list[Label], starts: Starts, size: Sequence[int], shape: Sequence[int]
) -> tuple[Value, list[Label]]:
    """Several axes move, or some are batched: GatherND."""
    batches = [label for label in labels if label[0] == "batch"]
    moving: list[Label] = [("window", axis) for axis in starts.axes]
    rest = [label for label in labels if label not in batches and label not in moving]
    x = arranged(op, x, labels, [*batches, *moving, *rest])
    last = [shape[axis] - size[axis] for axis in starts.axes]
    places = place(op, clamped(op, compared(op, starts.value), last))
    own = [label for label in _batches(starts) if label not in batches]
    vector: Label = ("window", -1)
    places = arranged(op, places, [*_batches(starts), vector], [*batches, *own, vector])
    wide = [axis for axis in starts.axes if size[axis] > 1]
    places = with_windows(op, places, [size[axis] for axis in starts.axes])
    behind, ahead = x.tensor.static_shape, places.tensor.static_shape
    assert behind is not None and ahead is not None
    made = TensorType(x.tensor.dtype, (*ahead[:-1], *behind[len(batches) + len(moving) :]))
    found = op.GatherND(x, places, batch_dims=len(batches) or None, _types=[made])
    return found, [*batches, *own, *(("window", axis) for axis in wide), *rest]


RULES = collect(globals())
