"""gather: parts of a tensor at positions that stand in another one."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ....passes.graph import Node
from ....passes.preconditions import dtype_of, input_of
from ....passes.rewrite import Builder, collect, rule
from ....passes.sizes import dims_of
from ....passes.types import TensorType
from ..dialect import DOMAIN
from ..dimension_numbers import GatherNumbers, Label
from .arrays import Array, arange, full, moved_in_wide_types
from .index_computation import Starts, starts_of, with_windows, within
from .support import Results, shape_of, uniform

_Labelled = tuple[Array, list[Label]]


@rule(DOMAIN, "gather")
@moved_in_wide_types
def gather(op: Builder, node: Node) -> Results:
    """gather: windows of the operand, moved where they would lie outside.

    One moving axis is a Gather (all others batched: GatherElements), several are a GatherND, and what
    doesn't start anywhere else than at 0 is sliced before.
    """
    x, indices = input_of(node, 0), input_of(node, 1)
    shape, wanted = shape_of(node, x), shape_of(node, node.outputs[0])
    shape_of(node, indices)
    numbers, size = GatherNumbers.of(node, len(shape)), dims_of(node.attributes["slice_sizes"]) or ()
    if 0 in wanted:
        return full(op, 0, dtype_of(node, x), wanted).value()
    if uniform(x) is not None:
        return Array(op, x).broadcast_to(*wanted).value()
    starts = starts_of(op, numbers, indices)
    moving = [axis for axis in sorted(numbers.mapped) if size[axis] != shape[axis]]
    part, labels = _sliced(Array(op, x), numbers, size, moving)
    if moving:
        others = len(labels) - len(numbers.batching) - 1
        form = _by_coordinates if len(moving) > 1 or (others and numbers.batching) else _along
        form = _by_element if form is _along and numbers.batching else form
        part, labels = form(part, labels, starts.only(op, moving), size, shape)
    return part.rearrange(labels, numbers.result_labels(len(wanted))).broadcast_to(*wanted).value()


def _sliced(x: Array, numbers: GatherNumbers, size: Sequence[int], moving: Sequence[int]) -> _Labelled:
    """The operand as far as windows reach that start at 0, without the dropped axes that don't move; its labels."""
    shape, labels = x.sizes_known, numbers.operand_labels()
    free = [axis in moving or axis in numbers.batching for axis in range(len(shape))]
    stops = [whole if free[axis] else size[axis] for axis, whole in enumerate(shape)]
    gone = [axis for axis in numbers.dropped if axis not in moving]
    kept = [label for axis, label in enumerate(labels) if axis not in gone]
    return x.slice([0] * len(shape), stops).squeeze(*gone), kept


def _line(op: Builder, starts: Starts, size: Sequence[int], shape: Sequence[int]) -> _Labelled:
    """The indices along the one axis that moves, and their labels."""
    (axis,) = starts.axes
    found = within(op, starts.line(op), [shape[axis] - size[axis]])
    if size[axis] == 1:
        return found, starts.batch_labels
    return found.reshape(*starts.batch, 1) + arange(op, size[axis]), [*starts.batch_labels, ("window", axis)]


def _along(x: Array, labels: list[Label], starts: Starts, size: Sequence[int], shape: Sequence[int]) -> _Labelled:
    """One axis moves, all windows in the same tensor: Gather."""
    indices, names = _line(x.op, starts, size, shape)
    axis = labels.index(("window", starts.axes[0]))
    return x.call("Gather", indices, axis=axis), [*labels[:axis], *names, *labels[axis + 1 :]]


def _by_element(x: Array, labels: list[Label], starts: Starts, size: Sequence[int], shape: Sequence[int]) -> _Labelled:
    """One axis moves, all others belong to dimensions of the indices: GatherElements."""
    indices, names = _line(x.op, starts, size, shape)
    axis = labels.index(("window", starts.axes[0]))
    before, after = labels[:axis], labels[axis + 1 :]
    own = [name for name in names if name not in before and name not in after]
    order = [*before, *own, *after]
    indices = indices.rearrange(names, order)
    full, behind = indices.sizes_known, axis + len(own)
    flat = indices.reshape(*full[:axis], math.prod(full[axis:behind]), *full[behind:])
    return x.call("GatherElements", flat, axis=axis).reshape(*full), order


def _by_coordinates(
    x: Array, labels: list[Label], starts: Starts, size: Sequence[int], shape: Sequence[int]
) -> _Labelled:
    """Several axes move, or some are batched: GatherND."""
    batches = [label for label in labels if label[0] == "batch"]
    moving: list[Label] = [("window", axis) for axis in starts.axes]
    rest = [label for label in labels if label not in batches and label not in moving]
    x = x.rearrange(labels, [*batches, *moving, *rest])
    indices = within(x.op, starts.value, [shape[axis] - size[axis] for axis in starts.axes])
    own = [label for label in starts.batch_labels if label not in batches]
    vector: Label = ("window", -1)
    indices = indices.rearrange([*starts.batch_labels, vector], [*batches, *own, vector])
    indices = with_windows(indices, [size[axis] for axis in starts.axes])
    made = TensorType(x.dtype, (*indices.sizes_known[:-1], *x.sizes_known[len(batches) + len(moving) :]))
    found = x.make(x.op.GatherND(x, indices, batch_dims=len(batches) or None, _types=[made]))
    wide: list[Label] = [("window", axis) for axis in starts.axes if size[axis] != 1]
    return found, [*batches, *own, *wide, *rest]


RULES = collect(globals())
