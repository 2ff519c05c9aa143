"""select-and-scatter: what a window has chosen gets the window's source, as in the gradient of max pooling."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ....passes.build import cast
from ....passes.errors import Unsupported
from ....passes.graph import Graph, Node, Value
from ....passes.loop import Carried, Sliced, Slot
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType, TensorType
from ..dialect import DOMAIN
from ..infer_tools import windows as window_of
from ..text.tree import WindowDim
from .bodies import applied, computation, either, monoid
from .reducers import for_sums, neutral
from .support import Results, dtype_of, given, shape_of
from .type_legalization import narrowed
from .views import WIDE, broadcast_to, reshaped, transposed
from .windows import is_whole, seen

_SCATTERED = {"add": "add", "maximum": "max", "minimum": "min", "multiply": "mul"}


@dataclass(frozen=True, slots=True)
class _Places:
    """What the windows see of the dimensions that they slide over, counted through: [elements of a window, windows].

    `first` are the first elements that are there; where a window sees none (`blind`), it is 0.
    """

    index: np.ndarray
    there: np.ndarray
    first: np.ndarray
    blind: np.ndarray


def _places(extent: Sequence[int], window: Sequence[WindowDim]) -> _Places:
    found = [seen(size, dim) for size, dim in zip(extent, window, strict=True)]
    many = len(extent)
    index, there = np.zeros((), np.int64), np.ones((), np.bool_)
    for axis, (at, inside) in enumerate(found):
        shape = [1] * (2 * many)
        shape[axis], shape[many + axis] = at.shape[1], at.shape[0]
        index = index * extent[axis] + at.T.reshape(shape)
        there = there & inside.T.reshape(shape)
    count = math.prod(dim.size for dim in window)
    index, there = (np.broadcast_to(one, _full(found)).reshape(count, -1) for one in (index, there))
    earliest = there.argmax(axis=0)
    first = np.take_along_axis(index, earliest[None], axis=0)[0]
    return _Places(index, there, first, ~there.any(axis=0))


def _full(found: Sequence[tuple[np.ndarray, np.ndarray]]) -> list[int]:
    return [at.shape[1] for at, _ in found] + [at.shape[0] for at, _ in found]


@rule(DOMAIN, "select-and-scatter")
def select_and_scatter(op: Builder, node: Node) -> Results:
    """select-and-scatter: `select` keeps one element of each window, `scatter` folds the sources of each element.

    A window takes its elements in order and keeps the one before where `select` says so.
    """
    x, source, start = (given(node, index) for index in range(3))
    shape, spots = shape_of(node, x), shape_of(node, source)
    window = window_of(node, len(shape))
    if any(dim.lhs_dilate > 1 or dim.rhs_dilate > 1 for dim in window):
        raise Unsupported(node, "a dilated window")
    if dtype_of(node, x) in WIDE:
        raise Unsupported(node, f"ONNX's operators move no {dtype_of(node, x).value}")
    over = [axis for axis, dim in enumerate(window) if not is_whole(dim)] or list(range(len(shape)))[-1:]
    if 0 in shape or 0 in spots or not over:
        if not over:
            return applied(op, computation(node, "scatter"), [start, source], ())
        return broadcast_to(op, start, shape)
    rest = [axis for axis in range(len(shape)) if axis not in over]
    places = _places([shape[axis] for axis in over], [window[axis] for axis in over])
    kept = [shape[axis] for axis in rest]
    line = reshaped(op, transposed(op, x, [*rest, *over]), [*kept, math.prod(shape[axis] for axis in over)])
    given_out = reshaped(op, transposed(op, source, [*rest, *over]), [*kept, places.index.shape[1]])
    chosen = _chosen(op, computation(node, "select"), line, places, kept)
    made = _scattered(op, node, given_out, chosen, broadcast_to(op, start, shape_of(node, line)), places.blind)
    back = [[*rest, *over].index(axis) for axis in range(len(shape))]
    return transposed(op, reshaped(op, made, [shape[axis] for axis in [*rest, *over]]), back)


def _chosen(op: Builder, select: Graph, line: Value, places: _Places, kept: Sequence[int]) -> Value:
    """The place of the element that each window keeps, along the last dimension."""
    axis, full = len(kept), [*kept, places.index.shape[1]]
    if places.index.shape[0] == 1:
        return broadcast_to(op, op.const(places.first, DType.INT64), full)
    views = op.Gather(line, op.const(places.index, DType.INT64), axis=axis)
    begin = [op.Gather(line, op.const(places.first, DType.INT64), axis=axis)]
    begin.append(broadcast_to(op, op.const(places.first, DType.INT64), full))
    sequences = [views, op.const(places.index, DType.INT64)]
    slots: list[Slot] = [Carried(), Carried(), Sliced(axis), Sliced()]
    if not places.there.all():
        sequences.append(op.const(places.there))
        slots.append(Sliced())
    body = op.region("select")
    spots = (places.index.shape[1],)
    held = [body.input("kept", TensorType(one.tensor.dtype, tuple(full))) for one in begin]
    value = body.input("element", TensorType(line.tensor.dtype, tuple(full)))
    place = body.input("place", TensorType(DType.INT64, spots))
    (stays,) = applied(body, select, [held[0], value], full)
    if len(sequences) > 2:
        stays = body.Or(stays, body.Not(body.input("there", TensorType(DType.BOOL, spots))))
    body.graph.outputs = [either(body, stays, held[0], value), body.Where(stays, held[1], place)]
    types = [one.type for one in held]
    return op.loop(None, None, slots, [*begin, *sequences], body.graph, types)[1]


def _scattered(op: Builder, node: Node, source: Value, chosen: Value, start: Value, blind: np.ndarray) -> Value:
    """The sources folded, along the last dimension, into what was chosen."""
    region, dtype = computation(node, "scatter"), dtype_of(node, source)
    kind, axis = monoid(region), (source.rank or 1) - 1
    if kind not in _SCATTERED or dtype is DType.BOOL:
        return _one_by_one(op, node, source, chosen, start, blind)
    if blind.any():
        source = either(op, op.const(~blind), source, op.const(neutral(kind, dtype), dtype))
    wide = for_sums(dtype)
    reduction = _SCATTERED[kind]
    made = op.ScatterElements(cast(op, start, wide), chosen, cast(op, source, wide), axis=axis, reduction=reduction)
    return narrowed(op, made, dtype)


def _one_by_one(op: Builder, node: Node, source: Value, chosen: Value, start: Value, blind: np.ndarray) -> Value:
    """As `_scattered`, for any computation: one window after the other."""
    region, axis = computation(node, "scatter"), (source.rank or 1) - 1
    shape, total = shape_of(node, source), start.type
    body = op.region(region.name)
    so_far = body.input("so_far", total)
    one = (*shape[:-1], 1)
    update, place = body.input("source", TensorType(source.tensor.dtype, one)), body.input("place")
    place.type = TensorType(DType.INT64, one)
    old = body.GatherElements(so_far, place, axis=axis)
    (new,) = applied(body, region, [old, update], one)
    slots: list[Slot] = [Carried(), Sliced(axis, part=1), Sliced(axis, part=1)]
    sequences = [source, chosen]
    if blind.any():
        slots.append(Sliced(0, part=1))
        sequences.append(op.const(blind))
        new = either(body, body.input("blind", TensorType(DType.BOOL, (1,))), old, new)
    body.graph.outputs = [body.ScatterElements(so_far, place, new, axis=axis)]
    return op.loop(None, None, slots, [start, *sequences], body.graph, [total])[0]


RULES = collect(globals())
