"""Where a scatter's updates go: the windows, whether they lie inside, the order of dimensions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ....passes.build import cast
from ....passes.graph import Value
from ....passes.rewrite import Builder
from ....passes.types import DType
from .dimension_numbers import Label, Numbers, Starts
from .index_computation import clamped, compared, inside, place
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
        starts: of the windows, on all mapped axes; nearest: moved so that the windows lie inside.
        valid: bool [batch dimensions of the indices]: whether the window lies inside; None where all do.
    """

    numbers: Numbers
    shape: tuple[int, ...]
    window: tuple[int, ...]
    labels: list[Label]  # of the updates
    starts: Starts
    nearest: Starts
    valid: Value | None

    @property
    def batches(self) -> list[Label]:
        return [("batch", axis) for axis in range(len(self.starts.batch))]


def placed(op: Builder, starts: Starts, shape: Sequence[int], window: Sequence[int]) -> tuple[Starts, Value | None]:
    """The starts, int64, moved so that each window lies inside, and which of them didn't have to be; None: none."""
    last = [shape[axis] - window[axis] for axis in starts.axes]
    if inside(starts.value, last):
        return starts, None
    value = compared(op, starts.value if len(last) > 1 else starts.line(op))
    moved = clamped(op, value, last)
    if value.data is not None and moved.data is not None:
        good = (value.data.numpy() == moved.data.numpy()).reshape(*starts.batch, len(last)).all(-1)
        mask = op.const(good, DType.BOOL)
    elif len(last) == 1:
        mask = op.Equal(value, moved)
    else:
        every = cast(op, op.Equal(value, moved), DType.INT32)
        mask = cast(op, op.ReduceMin(every, sizes(op, [len(starts.batch)]), keepdims=0), DType.BOOL)
    return Starts(reshaped(op, place(op, moved), [*starts.batch, len(last)]), starts.axes), mask


def redirected(op: Builder, starts: Starts, valid: Value | None, spare: Sequence[int]) -> Value:
    """The starts, int64 [.., n], with `spare` for those whose window doesn't lie inside."""
    if valid is None:
        return place(op, starts.value)
    known = place(op, starts.value).data
    if known is not None and valid.data is not None:
        chosen = np.where(valid.data.numpy()[..., None], known.numpy(), np.array(spare, np.int64))
        return op.const(chosen, DType.INT64)
    full = [*starts.batch, len(spare)]
    if len(spare) == 1:
        return reshaped(op, op.Where(valid, place(op, starts.line(op)), op.const(spare[0])), full)
    return op.Where(reshaped(op, valid, [*starts.batch, 1]), place(op, starts.value), sizes(op, spare))


def ordered(op: Builder, found: Scatter, update: Value, wanted: Sequence[Label]) -> Value:
    """The updates with their dimensions as wanted; what isn't wanted is of size 1, and goes."""
    gone = [place for place, label in enumerate(found.labels) if label not in wanted]
    labels = [label for label in found.labels if label in wanted]
    return arranged(op, squeezed(op, update, gone), labels, wanted)


def word(way: str) -> str | None:
    """The attribute `reduction`, left out where nothing is combined."""
    return None if way == REPLACE else way
