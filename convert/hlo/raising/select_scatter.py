"""select-and-scatter: what a window has chosen gets the window's source, as in the gradient of max pooling."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ....passes.build import where
from ....passes.errors import Unsupported
from ....passes.graph import Graph, Node
from ....passes.loop import Carried, Sliced, Slot
from ....passes.preconditions import input_of
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType, TensorType
from ..dialect import DOMAIN
from ..infer_tools import windows as window_of
from ..limits import neutral
from ..text.tree import WindowDim
from .arrays import WIDE, Array, arrays
from .computations import applied, computation, monoid
from .reduce import for_sums
from .reduce_window import seen
from .support import Results, shape_of

_SCATTERED = {"add": "add", "maximum": "max", "minimum": "min", "multiply": "mul"}


@dataclass(frozen=True, slots=True)
class _WindowElements:
    """What the windows see of the dimensions that they slide over, counted through: [elements of a window, windows].

    `first` are the first elements that are there; where a window sees none (`blind`), it is 0.
    """

    index: np.ndarray
    there: np.ndarray
    first: np.ndarray
    blind: np.ndarray

    @classmethod
    def of(cls, extent: Sequence[int], window: Sequence[WindowDim]) -> _WindowElements:
        many = len(extent)
        index, there = np.zeros((), np.int64), np.ones((), np.bool_)
        for axis, (size, dim) in enumerate(zip(extent, window, strict=True)):
            at, inside = seen(size, dim)
            shape = [1] * (2 * many)
            shape[axis], shape[many + axis] = at.shape[1], at.shape[0]
            index = index * size + at.T.reshape(shape)
            there = there & inside.T.reshape(shape)
        count = math.prod(dim.size for dim in window)
        index, there = index.reshape(count, -1), there.reshape(count, -1)
        first = np.take_along_axis(index, there.argmax(axis=0)[None], axis=0)[0]
        return cls(index, there, first, np.logical_not(there.any(axis=0)))


@rule(DOMAIN, "select-and-scatter")
def select_and_scatter(op: Builder, node: Node) -> Results:
    """select-and-scatter: `select` keeps one element of each window, `scatter` folds the sources of each element.

    A window takes its elements in order and keeps the one before where `select` says so.
    """
    x, source, start = arrays(op, *(input_of(node, index) for index in range(3)))
    shape, spots = shape_of(node, input_of(node, 0)), shape_of(node, input_of(node, 1))
    window = window_of(node, len(shape))
    if any(dim.lhs_dilate > 1 or dim.rhs_dilate > 1 for dim in window):
        raise Unsupported(node, "a dilated window")
    if x.dtype in WIDE:
        raise Unsupported(node, f"ONNX's operators move no {x.dtype.value}")
    over = [axis for axis, dim in enumerate(window) if not dim.is_whole] or list(range(len(shape)))[-1:]
    if not over:
        return applied(op, computation(node, "scatter"), [start.value(), source.value()], ())
    if 0 in shape or 0 in spots:
        return start.broadcast_to(*shape).value()
    rest = [axis for axis in range(len(shape)) if axis not in over]
    elements = _WindowElements.of([shape[axis] for axis in over], [window[axis] for axis in over])
    kept = [shape[axis] for axis in rest]
    line = x.transpose(*rest, *over).reshape(*kept, math.prod(shape[axis] for axis in over))
    sources = source.transpose(*rest, *over).reshape(*kept, elements.index.shape[1])
    chosen = _chosen(op, computation(node, "select"), line, elements, kept)
    scattered = _scattered(
        op, computation(node, "scatter"), sources, chosen, start.broadcast_to(*line.sizes_known), elements
    )
    back = [[*rest, *over].index(axis) for axis in range(len(shape))]
    return scattered.reshape(*(shape[axis] for axis in (*rest, *over))).transpose(*back).value()


def _chosen(op: Builder, select: Graph, line: Array, elements: _WindowElements, kept: Sequence[int]) -> Array:
    """The position of the element that each window keeps, along the last dimension."""
    axis, full = len(kept), (*kept, elements.index.shape[1])
    index, first = op.const(elements.index), op.const(elements.first)
    begin = line.make(first).broadcast_to(*full)
    if elements.index.shape[0] == 1:
        return begin
    views = op.Gather(line, index, axis=axis)
    starts = [op.Gather(line, first, axis=axis), begin.value()]
    sequences = [views, index]
    slots: list[Slot] = [Carried(), Carried(), Sliced(axis), Sliced()]
    if not elements.there.all():
        sequences.append(op.const(elements.there))
        slots.append(Sliced())
    body = op.region("select")
    spots = (elements.index.shape[1],)
    current, at = (Array(body, body.input("kept", TensorType(one.tensor.dtype, full))) for one in starts)
    value = Array(body, body.input("element", TensorType(line.dtype, full)))
    position = body.input("index", TensorType(DType.INT64, spots))
    stays = Array(body, applied(body, select, [current.value(), value.value()], full)[0])
    if len(sequences) > 2:
        stays = stays | ~Array(body, body.input("there", TensorType(DType.BOOL, spots)))
    body.graph.outputs = [where(stays, current, value).value(), where(stays, at, position).value()]
    types = [one.type for one in starts]
    return line.make(op.loop(None, None, slots, [*starts, *sequences], body.graph, types)[1])


def _scattered(
    op: Builder, region: Graph, source: Array, chosen: Array, start: Array, elements: _WindowElements
) -> Array:
    """The sources folded, along the last dimension, into what was chosen."""
    kind, axis, dtype = monoid(region), (source.rank or 1) - 1, source.dtype
    if kind not in _SCATTERED or dtype is DType.BOOL:
        return _one_by_one(op, region, source, chosen, start, elements.blind)
    if elements.blind.any():
        source = where(source.make(~elements.blind), source, neutral(kind, dtype))
    wide = for_sums(dtype)
    made = op.ScatterElements(start.cast(wide), chosen, source.cast(wide), axis=axis, reduction=_SCATTERED[kind])
    return source.make(made).narrow(dtype)


def _one_by_one(op: Builder, region: Graph, source: Array, chosen: Array, start: Array, blind: np.ndarray) -> Array:
    """As `_scattered`, for any computation: one window after the other."""
    axis, total = (source.rank or 1) - 1, start.value().type
    body = op.region(region.name)
    so_far = body.input("so_far", total)
    one = (*source.sizes_known[:-1], 1)
    update = body.input("source", TensorType(source.dtype, one))
    index = body.input("index", TensorType(DType.INT64, one))
    old = body.GatherElements(so_far, index, axis=axis)
    new = Array(body, applied(body, region, [old, update], one)[0])
    slots: list[Slot] = [Carried(), Sliced(axis, part=1), Sliced(axis, part=1)]
    sequences = [source.value(), chosen.value()]
    if blind.any():
        slots.append(Sliced(0, part=1))
        sequences.append(op.const(blind))
        new = where(Array(body, body.input("blind", TensorType(DType.BOOL, (1,)))), old, new)
    body.graph.outputs = [body.ScatterElements(so_far, index, new, axis=axis)]
    return start.make(op.loop(None, None, slots, [start.value(), *sequences], body.graph, [total])[0])


RULES = collect(globals())
