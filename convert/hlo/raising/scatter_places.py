"""Where a scatter's updates go: the windows, whether they lie inside, the order of dimensions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ....passes.graph import Value
from ....passes.rewrite import Builder
from ....passes.types import DType
from .numbers import Label, Numbers, Starts
from .places import columns
from .support import cast
from .views import arranged, reshaped, sizes, squeezed

REPLACE = "none"
"""ONNX's word for a scatter that doesn't combine."""

Put = Callable[[Value, Value, str], Value]
"""(operand, updates, ONNX's reduction) -> the result."""


@dataclass(frozen=True, slots=True)
class Scatter:
    """A scatter with its places worked out.

    Attributes:
        shape: of the operands; window: of the part that one index updates, an entry for each of the operand's axes.
        starts: of the windows, on all mapped axes.
        valid: bool [batch dimensions of the indices]: whether the window lies inside; None where all do.
    """

    numbers: Numbers
    shape: tuple[int, ...]
    window: tuple[int, ...]
    labels: list[Label]  # of the updates
    starts: Starts
    valid: Value | None

    @property
    def batches(self) -> list[Label]:
        return [("batch", axis) for axis in range(len(self.starts.batch))]


def valid_windows(op: Builder, starts: Starts, shape: Sequence[int], window: Sequence[int]) -> Value | None:
    """Whether each window lies inside; None where that is certain for all of them."""
    last = [shape[axis] - window[axis] for axis in starts.axes]
    value = starts.value
    if value.data is not None:
        array = value.data.numpy()
        good = ((array >= 0) & (array <= np.array(last, np.int64))).all(-1)
        return None if good.all() else op.const(good, DType.BOOL)
    found = columns(value, len(last))
    below, behind = (
        any(low < 0 for low, _ in found),
        any(high > end for (_, high), end in zip(found, last, strict=True)),
    )
    if not below and not behind:
        return None
    ends = op.const(last[0]) if len(set(last)) == 1 else sizes(op, last)
    tests: list[Value] = []
    if below:
        tests.append(op.GreaterOrEqual(value, op.const(0)))
    if behind:
        tests.append(op.LessOrEqual(value, ends))
    good = tests[0] if len(tests) == 1 else op.And(*tests)
    if len(last) == 1:
        return reshaped(op, good, starts.batch)
    all_of = op.ReduceMin(cast(op, good, DType.INT32), sizes(op, [len(starts.batch)]), keepdims=0)
    return cast(op, all_of, DType.BOOL)


def redirected(op: Builder, places: Value, valid: Value | None, spare: Sequence[int]) -> Value:
    """Coordinates [.., n] with `spare` for those whose window doesn't lie inside."""
    if valid is None:
        return places
    shape = valid.tensor.static_shape
    assert shape is not None
    if places.data is not None and valid.data is not None:
        chosen = np.where(valid.data.numpy()[..., None], places.data.numpy(), np.array(spare, np.int64))
        return op.const(chosen, DType.INT64)
    return op.Where(reshaped(op, valid, [*shape, 1]), places, sizes(op, spare))


def ordered(op: Builder, found: Scatter, update: Value, wanted: Sequence[Label]) -> Value:
    """The updates with their dimensions as wanted; what isn't wanted is of size 1, and goes."""
    gone = [place for place, label in enumerate(found.labels) if label not in wanted]
    labels = [label for label in found.labels if label in wanted]
    return arranged(op, squeezed(op, update, gone), labels, wanted)


def word(way: str) -> str | None:
    """The attribute `reduction`, left out where nothing is combined."""
    return None if way == REPLACE else way
