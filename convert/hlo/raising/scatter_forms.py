"""A scatter as ONNX's ScatterND or ScatterElements, and what becomes of updates whose window doesn't lie inside."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ....passes.graph import Value
from ....passes.rewrite import Builder
from ....passes.types import DType
from .dimension_numbers import Label
from .index_computation import place, shifted, with_windows
from .scatter_places import Put, Scatter, ordered, redirected, word
from .views import arranged, broadcast_to, counted, cut, padded, reshaped

_NO_WHERE = frozenset([DType.BOOL, DType.INT16, DType.UINT16, DType.UINT64, DType.BFLOAT16])
"""Types that ONNX's Where takes and ONNX Runtime 1.31 doesn't."""

_MOST_STATED = 1024  # elements of a constant of places


@dataclass(frozen=True, slots=True)
class Form:
    """One of ONNX's scatters.

    Attributes:
        axis: behind which a spare place for a window can be.
        fit: the updates as the operator wants them.
        mask: bool [batch dimensions of the indices] so that it broadcasts to them.
        places: where they go; with True, to the spare place where their window doesn't lie inside, else to the
            nearest one that does.
        scatter: (operand, places, updates, ONNX's reduction) -> result.
        current: (operand, places) -> what stands there, as the updates.
    """

    axis: int
    fit: Callable[[Value], Value]
    mask: Callable[[Value], Value]
    places: Callable[[bool], Value]
    scatter: Callable[[Value, Value, Value, str], Value]
    current: Callable[[Value, Value], Value]


def guarded(op: Builder, found: Scatter, form: Form) -> Put:
    """A scatter that changes nothing by updates whose window doesn't lie inside.

    They add 0, multiply by 1, or put back what stands there, which only one update may do; several go to a spare
    place behind the operand, which is cut off afterwards.
    """
    places, shape, valid = functools.cache(form.places), found.shape, found.valid
    none, room = [0] * len(shape), [found.window[axis] * (axis == form.axis) for axis in range(len(shape))]
    alone = math.prod(found.starts.batch) == 1

    def put(operand: Value, update: Value, way: str) -> Value:
        update = form.fit(update)
        if valid is None:
            return form.scatter(operand, places(False), update, way)
        dtype = operand.tensor.dtype
        if dtype in _NO_WHERE or not (alone or way in _NEUTRAL):
            return cut(op, form.scatter(padded(op, operand, none, room), places(True), update, way), none, shape)
        neutral = _NEUTRAL.get(way)
        idle = form.current(operand, places(False)) if neutral is None else op.const(neutral, dtype)
        mask = reshaped(op, valid, ()) if alone else form.mask(valid)
        return form.scatter(operand, places(False), op.Where(mask, update, idle), way)

    return put


_NEUTRAL = {"add": -0.0, "mul": 1.0}


def by_coordinates(op: Builder, found: Scatter, moving: Sequence[int]) -> Form:
    """By coordinates on the axes that windows move along, brought to the front: ScatterND."""
    shape, window, starts = found.shape, found.window, found.starts.only(op, moving)
    near = place(op, found.nearest.only(op, moving).value)
    axes: list[Label] = [("window", axis) for axis in moving]
    every: list[Label] = [("window", axis) for axis in range(len(shape))]
    rest = [label for label in every if label not in axes]
    wide = [label for axis, label in zip(moving, axes, strict=True) if window[axis] > 1]
    spare = [shape[moving[0]], *[0] * (len(moving) - 1)]

    def places(aside: bool) -> Value:
        value = redirected(op, starts, found.valid, spare) if aside else near
        return with_windows(op, value, [window[axis] for axis in moving])

    def scatter(operand: Value, where: Value, update: Value, way: str) -> Value:
        x = arranged(op, operand, every, [*axes, *rest])
        return arranged(op, op.ScatterND(x, where, update, reduction=word(way)), [*axes, *rest], every)

    return Form(
        moving[0],
        lambda update: ordered(op, found, update, [*found.batches, *wide, *rest]),
        lambda mask: reshaped(op, mask, [*starts.batch, *[1] * (len(wide) + len(rest))]),
        places,
        scatter,
        lambda operand, where: op.GatherND(arranged(op, operand, every, [*axes, *rest]), where),
    )


def by_element(op: Builder, found: Scatter, axis: int) -> Form:
    """Along one axis, element by element: ScatterElements."""
    labels, starts = found.numbers.operand_labels(), found.starts.only(op, [axis])
    room, length = found.window[axis], found.shape[axis]
    near = place(op, found.nearest.only(op, [axis]).line(op))
    own = [label for label in found.batches if label not in labels]
    names = [*found.batches]
    if room > 1:
        own, names = [*own, labels[axis]], [*names, labels[axis]]
    order = [*labels[:axis], *own, *labels[axis + 1 :]]
    behind = axis + len(own)

    def merged(value: Value) -> Value:
        """With one dimension for the axis: all that moves along it."""
        shape = value.tensor.static_shape
        assert shape is not None
        return reshaped(op, value, [*shape[:axis], math.prod(shape[axis:behind]), *shape[behind:]])

    def places(aside: bool) -> Value:
        value = redirected(op, starts, found.valid, [length]) if aside else near
        if room > 1:
            value = shifted(op, reshaped(op, value, [*starts.batch, 1]), counted(op, room))
        else:
            value = reshaped(op, value, starts.batch)
        return merged(arranged(op, value, names, order))

    def everywhere(where: Value) -> Value:
        """A place for each element of the updates."""
        shape = where.tensor.static_shape
        assert shape is not None
        full = [max(pair) for pair in zip(shape, found.window, strict=True)]
        if where.data is not None and math.prod(full) <= _MOST_STATED:
            return op.const(np.broadcast_to(where.data.numpy(), full), DType.INT64)
        return broadcast_to(op, where, full)

    def mask(value: Value) -> Value:
        value = reshaped(op, value, [*starts.batch, *[1] * (room > 1)])
        value = broadcast_to(op, value, [*starts.batch, *[room] * (room > 1)])
        return merged(arranged(op, value, names, order))

    return Form(
        axis,
        lambda update: merged(ordered(op, found, update, order)),
        mask,
        places,
        lambda operand, where, update, way: op.ScatterElements(
            operand, everywhere(where), update, axis=axis, reduction=word(way)
        ),
        lambda operand, where: op.GatherElements(operand, everywhere(where), axis=axis),
    )
