"""A scatter as ONNX's ScatterND or ScatterElements, and what becomes of updates whose window doesn't lie inside."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ....passes.build import where
from ....passes.graph import Graph, Value
from ....passes.loop import Carried, Sliced
from ....passes.rewrite import Builder
from ....passes.types import DType, TensorType
from ..dimension_numbers import GatherNumbers, Label
from .arrays import WIDE, Array, arange, cast_back, listed, values
from .index_computation import Starts, as_index, clamped, comparable, inside, with_windows

REPLACE = "none"
"""ONNX's word for a scatter that doesn't combine."""

Put = Callable[[Array, Array, str], Array]
"""(operand, updates, ONNX's reduction) -> the result."""

_NO_WHERE = frozenset([DType.BOOL, DType.INT16, DType.UINT16, DType.UINT64, DType.BFLOAT16])
"""Types that ONNX's Where takes and ONNX Runtime 1.31 doesn't."""

_MOST_STATED = 1024  # elements of a constant of indices
_NEUTRAL = {"add": -0.0, "mul": 1.0}


@dataclass(frozen=True, slots=True)
class Scatter:
    """A scatter with its indices worked out.

    Attributes:
        shape: of the operands; window: of the part that one index updates, an entry for each of the operand's axes.
        labels: of the updates.
        starts: of the windows, on all mapped axes; nearest: moved so that the windows lie inside.
        valid: bool [batch dimensions of the indices]: whether the window lies inside; None where all do.
    """

    numbers: GatherNumbers
    shape: tuple[int, ...]
    window: tuple[int, ...]
    labels: list[Label]
    starts: Starts
    nearest: Starts
    valid: Array | None

    def redirected(self, op: Builder, starts: Starts, spare: Sequence[int]) -> Array:
        """Some of the starts, int64 [.., n], with `spare` for those whose window doesn't lie inside."""
        if self.valid is None:
            return as_index(op, starts.value)
        if len(spare) > 1 or self.valid.array is not None:
            return where(self.valid.reshape(*starts.batch, 1), as_index(op, starts.value), listed(op, spare))
        return where(self.valid, as_index(op, starts.line(op)), spare[0]).reshape(*starts.batch, 1)

    def ordered(self, update: Array, wanted: Sequence[Label]) -> Array:
        """The updates with their dimensions as wanted; what isn't wanted is of size 1, and goes."""
        gone = [index for index, label in enumerate(self.labels) if label not in wanted]
        labels = [label for label in self.labels if label in wanted]
        return update.squeeze(*gone).rearrange(labels, wanted)


def moved_inside(
    op: Builder, starts: Starts, shape: Sequence[int], window: Sequence[int]
) -> tuple[Starts, Array | None]:
    """The starts, int64, moved so that each window lies inside, and which of them didn't have to be; None: none."""
    last = [shape[axis] - window[axis] for axis in starts.axes]
    if inside(starts.value, last):
        return starts, None
    found = comparable(op, starts.value if len(last) > 1 else starts.line(op))
    nearest = clamped(found, last)
    same = found.cast(nearest.dtype).equals(nearest)
    if len(last) > 1:
        same = same.cast(DType.INT32).min(len(starts.batch)).cast(DType.BOOL)
    index = as_index(op, nearest.value()).reshape(*starts.batch, len(last))
    return Starts(index.value(), starts.axes), same


def _word(way: str) -> str | None:
    """The attribute `reduction`, left out where nothing is combined."""
    return None if way == REPLACE else way


# by ONNX's scatters ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Form:
    """One of ONNX's scatters.

    Attributes:
        axis: behind which a spare position for a window can be.
        fit: the updates as the operator wants them.
        mask: bool [batch dimensions of the indices] so that it broadcasts to them.
        indices: where they go; with True, to the spare position where their window doesn't lie inside, else to the
            nearest one that does.
        scatter: (operand, indices, updates, ONNX's reduction) -> result.
        current: (operand, indices) -> what stands there, as the updates.
    """

    axis: int
    fit: Callable[[Array], Array]
    mask: Callable[[Array], Array]
    indices: Callable[[bool], Array]
    scatter: Callable[[Array, Array, Array, str], Array]
    current: Callable[[Array, Array], Array]


def guarded(windows: Scatter, form: Form) -> Put:
    """A scatter that changes nothing by updates whose window doesn't lie inside.

    They add 0, multiply by 1, or put back what stands there, which only one update may do; several go to a spare
    position behind the operand, which is sliced off afterwards.
    """
    indices, shape, valid = functools.cache(form.indices), windows.shape, windows.valid
    none, room = [0] * len(shape), [windows.window[axis] * (axis == form.axis) for axis in range(len(shape))]
    alone = math.prod(windows.starts.batch) == 1

    def put(operand: Array, update: Array, way: str) -> Array:
        update = form.fit(update)
        if valid is None:
            return form.scatter(operand, indices(False), update, way)
        if operand.dtype in _NO_WHERE or not (alone or way in _NEUTRAL):
            return form.scatter(operand.pad(none, room), indices(True), update, way).slice(none, shape)
        neutral = _NEUTRAL.get(way)
        idle = form.current(operand, indices(False)) if neutral is None else update.like(neutral)
        mask = valid.reshape() if alone else form.mask(valid)
        return form.scatter(operand, indices(False), where(mask, update, idle), way)

    return put


def by_coordinates(op: Builder, windows: Scatter, moving: Sequence[int]) -> Form:
    """By coordinates on the axes that windows move along, brought to the front: ScatterND."""
    shape, window, starts = windows.shape, windows.window, windows.starts.only(op, moving)
    near = as_index(op, windows.nearest.only(op, moving).value)
    axes: list[Label] = [("window", axis) for axis in moving]
    every: list[Label] = [("window", axis) for axis in range(len(shape))]
    rest = [label for label in every if label not in axes]
    wide = [label for axis, label in zip(moving, axes, strict=True) if window[axis] != 1]
    spare = [shape[moving[0]], *[0] * (len(moving) - 1)]

    def indices(aside: bool) -> Array:
        return with_windows(windows.redirected(op, starts, spare) if aside else near, [window[axis] for axis in moving])

    def scatter(operand: Array, index: Array, update: Array, way: str) -> Array:
        x = operand.rearrange(every, [*axes, *rest])
        made = x.make(op.ScatterND(x, index, update, reduction=_word(way)))
        return made.rearrange([*axes, *rest], every)

    return Form(
        moving[0],
        lambda update: windows.ordered(update, [*starts.batch_labels, *wide, *rest]),
        lambda mask: mask.reshape(*starts.batch, *[1] * (len(wide) + len(rest))),
        indices,
        scatter,
        lambda operand, index: operand.rearrange(every, [*axes, *rest]).call("GatherND", index),
    )


def by_element(op: Builder, windows: Scatter, axis: int) -> Form:
    """Along one axis, element by element: ScatterElements."""
    labels, starts = windows.numbers.operand_labels(), windows.starts.only(op, [axis])
    room, length = windows.window[axis], windows.shape[axis]
    near = as_index(op, windows.nearest.only(op, [axis]).line(op))
    names = starts.batch_labels
    own = [label for label in names if label not in labels]
    if room != 1:
        own, names = [*own, labels[axis]], [*names, labels[axis]]
    order = [*labels[:axis], *own, *labels[axis + 1 :]]
    behind = axis + len(own)

    def merged(x: Array) -> Array:
        """With one dimension for the axis: all that moves along it."""
        shape = x.sizes_known
        return x.reshape(*shape[:axis], math.prod(shape[axis:behind]), *shape[behind:])

    def indices(aside: bool) -> Array:
        first = windows.redirected(op, starts, [length]) if aside else near
        if room != 1:
            return merged((first.reshape(*starts.batch, 1) + arange(op, room)).rearrange(names, order))
        return merged(first.reshape(*starts.batch).rearrange(names, order))

    def everywhere(index: Array) -> Array:
        """An index for each element of the updates."""
        full = [own if size == 1 else size for size, own in zip(index.sizes_known, windows.window, strict=True)]
        known = [size for size in full if isinstance(size, int)]
        x = index if len(known) == len(full) and math.prod(known) <= _MOST_STATED else Array(op, index.value())
        return x.broadcast_to(*full)

    def mask(x: Array) -> Array:
        more = [room] * (room != 1)
        x = x.reshape(*starts.batch, *[1] * len(more)).broadcast_to(*starts.batch, *more)
        return merged(x.rearrange(names, order))

    def scatter(operand: Array, index: Array, update: Array, way: str) -> Array:
        result = op.ScatterElements(operand, everywhere(index), update, axis=axis, reduction=_word(way))
        return operand.make(result)

    return Form(
        axis,
        lambda update: merged(windows.ordered(update, order)),
        mask,
        indices,
        scatter,
        lambda operand, index: operand.call("GatherElements", everywhere(index), axis=axis),
    )


# into the flattened operand --------------------------------------------------------------------------


def _flat_indices(op: Builder, windows: Scatter) -> tuple[Array, list[Label]]:
    """Where each element of the updates goes in the flattened operand (behind it: nowhere); the order of its labels."""
    steps = [math.prod(windows.shape[axis + 1 :]) for axis in range(len(windows.shape))]
    starts = windows.starts
    names: list[Label] = [*starts.batch_labels, *(label for label in windows.labels if label[0] == "window")]
    extent = {("window", axis): size for axis, size in enumerate(windows.window)}
    extent |= dict(zip(starts.batch_labels, starts.batch, strict=True))
    total = [extent[label] for label in names]
    ahead = [1] * (len(names) - len(starts.batch))
    indices = Array(op, np.zeros([1] * len(names), np.int64))
    for label, step in zip(windows.numbers.operand_labels(), steps, strict=True):
        if label in names:
            indices = indices + (arange(op, extent[label]) * step).along(names.index(label), len(names))
    if starts.axes:
        weights = [steps[axis] for axis in starts.axes]
        indices = _weighted(as_index(op, starts.value), weights).reshape(*starts.batch, *ahead) + indices
    if windows.valid is not None:
        indices = where(windows.valid.reshape(*starts.batch, *ahead), indices, math.prod(windows.shape))
    return indices.broadcast_to(*total).reshape(math.prod(total)), names


def _weighted(x: Array, weights: Sequence[int]) -> Array:
    """The sum of the numbers in the last dimension, each times its weight: [.., n] -> [..]."""
    if len(weights) == 1:
        return x.squeeze(len(x.sizes_known) - 1) * weights[0]
    return (x * listed(x.op, weights)).sum(len(x.sizes_known) - 1)


def _flat_operand(windows: Scatter, operand: Array) -> Array:
    flat = operand.reshape(math.prod(windows.shape))
    return flat if windows.valid is None else flat.pad([0], [1])


def _unflattened(windows: Scatter, flat: Array) -> Array:
    return flat.slice([0], [math.prod(windows.shape)]).reshape(*windows.shape)


def _flat_update(windows: Scatter, update: Array, names: Sequence[Label]) -> Array:
    update = windows.ordered(update, names)
    return update.reshape(math.prod(update.sizes_known))


def put_flat(op: Builder, windows: Scatter) -> Put:
    """Into the flattened operand, each element at its own position."""
    indices, names = _flat_indices(op, windows)

    def put(operand: Array, update: Array, way: str) -> Array:
        flat = _flat_operand(windows, operand)
        result = op.ScatterElements(flat, indices, _flat_update(windows, update, names), reduction=_word(way))
        return _unflattened(windows, flat.make(result))

    return put


def put_each(
    op: Builder, windows: Scatter, region: Graph, operands: Sequence[Array], updates: Sequence[Array]
) -> list[Value]:
    """One update after the other, combined by a region that is no reduction of ONNX's.

    for index, *news in zip(indices, *updates):
        results = region(*(operand[index] for operand in operands), *news)
        for operand, result in zip(operands, results): operand[index] = result
    """
    count = len(operands)
    indices, names = _flat_indices(op, windows)
    dtypes = [x.dtype for x in (*operands, *updates)]
    wide = [WIDE.get(dtype, dtype) for dtype in dtypes]
    moved = [x.cast(dtype) for x, dtype in zip((*operands, *updates), wide, strict=True)]
    fed = values([_flat_operand(windows, x) for x in moved[:count]])
    news = values([_flat_update(windows, x, names) for x in moved[count:]])
    body = op.region("scatter")
    index = body.input("index", TensorType(DType.INT64, ()))
    new = [body.input("new", TensorType(dtype, ())) for dtype in wide[count:]]
    olds = [body.input("old", value.type) for value in fed]
    elements = [body.Gather(old, index, axis=0) for old in olds]
    results = body.inline(region, [cast_back(body, *pair) for pair in zip((*elements, *new), dtypes, strict=True)])
    at = Array(body, index).reshape(1)
    body.graph.outputs = [
        body.ScatterElements(old, at, Array(body, result).cast(dtype).reshape(1), axis=0)
        for old, result, dtype in zip(olds, results, wide, strict=False)
    ]
    slots = [Sliced(), *(Sliced() for _ in news), *(Carried() for _ in olds)]
    types = [value.type for value in fed]
    last = op.loop(None, None, slots, [indices.value(), *news, *fed], body.graph, types=types)
    flat = (_unflattened(windows, Array(op, value)).value() for value in last)
    return [cast_back(op, value, dtype) for value, dtype in zip(flat, dtypes, strict=False)]
