"""Elements put where indices say: Scatter and its kin."""

from __future__ import annotations

import numpy as np

from ..errors import Unsupported
from ..graph import Node, Value
from ..types import DType, TensorType
from .build import StepBuilder
from .indices import linear
from .known import known_array
from .offsets import Size, along, extent, extents, from_front, last_size, scalar, shaped, vector
from .steps import Adapter, Made, Step, attribute, changed, dtype, numbers, rank, required, same

_REDUCTIONS = {"add": "Add", "mul": "Mul", "max": "Max", "min": "Min"}
_INDEX, _GO_ON = TensorType(DType.INT64, ()), TensorType(DType.BOOL, ())


def _to_scatter_elements(op: StepBuilder, node: Node) -> Made:
    return changed(node, op_type="ScatterElements")


def _to_scatter(op: StepBuilder, node: Node) -> Made:
    """ScatterElements-11: indices count from the front."""
    data, axis = required(node, 0), attribute(node, "axis", 0)
    rank(node, data)
    indices = from_front(op, node, 1, extent(op, data, axis))
    return changed(node, op_type="Scatter", inputs=[data, indices, node.input(2)])


def _reducing(*reductions: str) -> Adapter:
    """ScatterElements: the adapter that takes reductions apart.

    Elements that meet in one place stand behind each other along the axis: one after the other is put there.
    """

    def down(op: StepBuilder, node: Node) -> Made:
        reduction = attribute(node, "reduction", "none")
        if reduction not in reductions:
            return _plain(node)
        data, indices, updates = (required(node, index) for index in range(3))
        axis = attribute(node, "axis", 0) % rank(node, data)
        rank(node, indices)
        kind = dtype(node, data)
        if kind in (DType.BOOL, DType.STRING):
            raise Unsupported(node, f"reduction={reduction} of {kind.value} says nothing certain")
        count = extent(op, indices, axis)
        if count == 1 or _apart(indices, data, axis):
            return _put(op, _REDUCTIONS[reduction], data, indices, updates, axis)
        return _put_in_turn(op, _REDUCTIONS[reduction], data, indices, updates, axis, count)

    return down


def _plain(node: Node) -> Made:
    """Nothing is reduced: what it is called may go."""
    is_none = attribute(node, "reduction", "none") == "none" and node.version == 16
    return changed(node, without=("reduction",)) if is_none else None


def _apart(indices: Value, data: Value, axis: int) -> bool:
    """Whether no two elements certainly meet."""
    known, dims = known_array(indices), data.tensor.shape
    size = dims[axis] if dims is not None else None
    if known is None or not isinstance(size, int):
        return False
    order = np.sort(np.where(known < 0, known + size, known), axis=axis)
    return bool((np.diff(order, axis=axis) != 0).all())


def _put(op: StepBuilder, operator: str, data: Value, indices: Value, updates: Value, axis: int) -> Value:
    found = op.GatherElements(data, indices, axis=axis)
    made = op.call(operator, found, updates, _types=[found.type])
    return op.ScatterElements(data, indices, made, axis=axis, _types=[data.type])


def _put_in_turn(
    op: StepBuilder, operator: str, data: Value, indices: Value, updates: Value, axis: int, count: Size
) -> Value:
    """A loop along the axis of the indices."""
    body = op.region("scattering")
    i, _ = body.input("i", _INDEX), body.input("go_on", _GO_ON)
    state = body.input("data", data.type)
    parts = [body.input(name, value.type) for name, value in (("indices", indices), ("updates", updates))]
    place = body.Reshape(i, numbers(body, 1))
    index, update = (body.Gather(part, place, axis=axis) for part in parts)
    made = _put(body, operator, state, index, update, axis)
    body.graph.outputs = [body.Identity(body.const(True, DType.BOOL), _types=[_GO_ON]), made]
    loop = Node("", "Loop", 11)
    loop.regions["body"] = body.graph
    loop.captured = len(parts)
    inputs = [scalar(op, count), op.const(True, DType.BOOL), data, indices, updates]
    return op.place(loop, inputs, {}, 1, [data.type])


# ScatterND ---------------------------------------------------------------------------------------


def _rows(op: StepBuilder, node: Node) -> Value:
    """ScatterND as ScatterElements on rows: the axes that are indexed become one, and so do the others."""
    data, indices, updates = (required(node, index) for index in range(3))
    size, last = rank(node, data), rank(node, indices) - 1
    count = last_size(node, indices)
    dims = data.tensor.static_shape
    if dims is not None and 0 in dims:
        return op.Identity(data)
    sizes = extents(op, data)
    rows = linear(op, node, sizes[:count], count)
    early = op.at(9)
    parts = early.Flatten(data, axis=count), early.Flatten(updates, axis=last)
    width = extent(op, parts[1], 1)
    column = op.Reshape(rows, numbers(op, [-1, 1]), _types=[TensorType(DType.INT64, (None, 1))])
    if width != 1:
        column = op.Expand(column, vector(op, [1, width]))
    reduction = attribute(node, "reduction", "none")
    if reduction == "none":
        made = early.Scatter(parts[0], column, parts[1], axis=0)
    else:
        made = op.at(node.version).ScatterElements(parts[0], column, parts[1], axis=0, reduction=reduction)
    return made if size == 2 and count == 1 else shaped(op, made, sizes)


def _rows_reducing(*reductions: str) -> Adapter:
    """ScatterND: reductions as those of ScatterElements."""

    def down(op: StepBuilder, node: Node) -> Made:
        return _rows(op, node) if attribute(node, "reduction", "none") in reductions else _plain(node)

    return down


# TensorScatter -----------------------------------------------------------------------------------


def _cache(op: StepBuilder, node: Node) -> Value:
    """TensorScatter-24: each sample of the batch is written from its own place on."""
    past, update, starts = required(node, 0), required(node, 1), node.input(2)
    size = rank(node, past)
    axis = attribute(node, "axis", -2) % size
    rank(node, update)
    sizes = extents(op, update)
    places = along(op, sizes[axis], axis, size)
    if starts is not None:
        places = op.Add(op.Reshape(starts, numbers(op, [-1, *[1] * (size - 1)])), places)
    if attribute(node, "mode", "linear") == "circular":
        places = op.Mod(places, scalar(op, extent(op, past, axis)))
    return op.ScatterElements(past, op.Expand(places, vector(op, sizes)), update, axis=axis)


ROWS = {
    ("Scatter", 11): Step(_to_scatter_elements, "there is no Scatter-11"),
    ("ScatterElements", 11): Step("ScatterElements came with version 11", _to_scatter),
    ("ScatterElements", 16): Step(same, _reducing("add", "mul")),
    ("ScatterElements", 18): Step(same, _reducing("max", "min")),
    ("ScatterND", 11): Step("ScatterND came with version 11", _rows),
    ("ScatterND", 16): Step(same, _rows_reducing("add", "mul")),
    ("ScatterND", 18): Step(same, _rows_reducing("max", "min")),
    ("TensorScatter", 24): Step("TensorScatter came with version 24", _cache),
}
