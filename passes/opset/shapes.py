"""Operators that arrange elements: Reshape, Squeeze, Flatten, DepthToSpace, Tile, Trilu; axes from the back."""

from __future__ import annotations

import numpy as np

from ..build import expr, length_of, shape_vector, where
from ..decompose.shapes import flatten
from ..errors import Unsupported
from ..graph import Node, Value
from ..preconditions import dtype_of, rank_of, required
from ..types import DType
from .build import StepBuilder
from .offsets import along, arange, certain, deferred, gathered
from .reduce import squeeze, unsqueeze
from .regular_steps import added, both, defaults, dropped, moved, positive, to_inputs
from .steps import (
    INT64_MAX,
    Made,
    Step,
    attribute,
    changed,
    constant,
    decomposed,
    numbers,
    required_attribute,
    rows,
    same,
)


def _positive_axes(op: StepBuilder, node: Node) -> Made:
    """Unsqueeze: axes from the back count in the result."""
    axes = required_attribute(node, "axes")
    if all(axis >= 0 for axis in axes):
        return None
    if required(node, 0).rank is None and all(axis < 0 for axis in axes):
        return _ones_from_back(op, node, {-1 - axis for axis in axes})
    size = rank_of(node, required(node, 0)) + len(axes)
    return changed(node, axes=[axis % size for axis in axes])


def _ones_from_back(op: StepBuilder, node: Node, indices: set[int]) -> Value:
    """Unsqueeze of an unknown rank: the sizes, with ones at positions that count from the back."""
    data = required(node, 0)
    sizes = op.Shape(data)
    ends: list[Value] = []
    used = 0
    for index in range(max(indices) + 1):
        if index in indices:
            ends.insert(0, numbers(op, 1))
        else:
            used += 1
            end = INT64_MAX if used == 1 else 1 - used
            ends.insert(0, op.Slice(sizes, numbers(op, -used), numbers(op, end), numbers(op, 0)))
    head = op.Slice(sizes, numbers(op, 0), numbers(op, -used), numbers(op, 0)) if used else sizes
    return op.reshape(data, op.Concat(head, *ends, axis=0))


# Reshape, Shape ----------------------------------------------------------------------------------


def _copied_zeros(op: StepBuilder, node: Node) -> Made:
    """Reshape: allowzero=1 where no zero stands, or where zeros leave nothing to reshape."""
    plain = changed(node, without=("allowzero",))
    if not attribute(node, "allowzero", 0):
        return plain
    data, shape = required(node, 0), constant(node, 1)
    if shape is not None:
        return plain if shape.all() else op.const(np.zeros(shape, dtype_of(node, data).numpy))
    if all(isinstance(size, int) and size for size in data.tensor.shape or (None,)):
        return plain  # to no size of 0, whose product would be 0, too
    plain.inputs = [_zeros_to_copy(op, data, required(node, 1)), node.input(1)]
    return plain


def _zeros_to_copy(op: StepBuilder, data: Value, shape: Value) -> Value:
    """The elements along the first of as many axes as a computed shape has sizes, [n, 1, ..]; where there are none,
    all sizes are 0, so that whatever is copied is 0."""
    length = (shape.tensor.shape or (None,))[0]
    if length == 1:
        return op.Reshape(data, numbers(op, [-1]))
    newest = op.newest
    some = expr(newest, op.Size(data)).cast(DType.BOOL).cast(DType.INT64).reshape(1)
    if isinstance(length, int):
        column, counts = numbers(op, [-1] + [1] * (length - 1)), [some] * (length - 1)
    else:
        ones = expr(newest, op.Slice(shape, numbers(op, 1), numbers(op, INT64_MAX), numbers(op, 0))) * 0 + 1
        column, counts = op.Concat(numbers(op, -1), ones, axis=0), [ones * some]
    return op.Tile(op.Reshape(data, column), op.Concat(numbers(op, 1), *counts, axis=0))


def _whole_shape(op: StepBuilder, node: Node) -> Made:
    """Shape: a part of it is cut out of the whole."""
    start, end = attribute(node, "start", 0), attribute(node, "end")
    plain = changed(node, without=("start", "end"))
    if not start and end is None:
        return plain
    whole = op.Shape(required(node, 0))
    return op.Slice(whole, numbers(op, start), numbers(op, INT64_MAX if end is None else end), numbers(op, 0))


# DepthToSpace ------------------------------------------------------------------------------------


def _depth_first(op: StepBuilder, node: Node) -> Made:
    """DepthToSpace: mode=CRD by putting the channels in the order of DCR."""
    if attribute(node, "mode", "DCR") == "DCR":
        return changed(node, without=("mode",))
    data, block = required(node, 0), required_attribute(node, "blocksize") ** 2
    order = arange(length_of(op.newest, data, 1)).reshape(-1, block).transpose(1, 0).reshape(-1)
    return changed(node, inputs=[gathered(op, data, order, 1)], without=("mode",))


def _two_axes(op: StepBuilder, node: Node) -> Made:
    """Flatten-1 takes floats only; Reshape takes everything."""
    return None if dtype_of(node, required(node, 0)).is_float else decomposed(flatten)(op, node)


# Tile --------------------------------------------------------------------------------------------


def _repeats(op: StepBuilder, node: Node) -> Made:
    """Tile: one axis and a number of copies, both of the data's type, became a number for each axis."""
    data, tiles = required(node, 0), required(node, 1)
    axis = constant(node, 2)
    if axis is None:
        raise Unsupported(node, "an axis that isn't constant can't be expressed after version 1")
    size = rank_of(node, data)
    index = int(axis.reshape(-1)[0]) % size
    count = certain(op, tiles).cast(DType.INT64).reshape(1)
    counts = [*[1] * index, count, *[1] * (size - index - 1)]
    return changed(node, inputs=[data, shape_vector(op.newest, counts)])


# Trilu ------------------------------------------------------------------------------------------


def _triangle(op: StepBuilder, node: Node) -> Made:
    """Trilu by comparing each element's column with its row."""
    x, shift = required(node, 0), node.input(1)
    row, column = (deferred(along(length_of(op.newest, x, axis - 2), axis, 2)) for axis in range(2))
    offset = row.like(0) if shift is None else expr(op.newest, shift).reshape()
    above = column - row  # the offset may be as large as any int64, nothing is added to it
    outside = above < offset if attribute(node, "upper", 1) else above > offset
    return where(outside, 0, expr(op.newest, x)).value()


ROWS = {
    ("Reshape", 5): both(dropped("consumed_inputs"), moved(("shape", 1), empty=True)),
    ("Reshape", 14): Step(same, _copied_zeros),
    ("Shape", 15): Step(same, _whole_shape),
    ("Squeeze", 11): positive("axes"),
    ("Squeeze", 13): Step(to_inputs(("axes", 1)), squeeze),
    ("Unsqueeze", 11): Step(same, _positive_axes),
    ("Unsqueeze", 13): Step(to_inputs(("axes", 1), empty=True), unsqueeze),
    **rows("ArgMax ArgMin Compress Concat Flatten", 11, positive("axis")),
    ("Trilu", 14): Step("Trilu came with version 14", _triangle),
    ("Flatten", 9): Step(same, _two_axes),
    ("Concat", 4): defaults({"axis": 1}, {}),
    ("DepthToSpace", 11): Step(same, _depth_first),
    ("SpaceToDepth", 28): added(mode="DCR"),
    ("Tile", 6): Step(_repeats, "one number for each axis can't be expressed in version 1"),
}
