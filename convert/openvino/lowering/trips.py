"""The limit of a Loop's passes, and the sequences that it walks over."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ....passes.errors import InvalidModel, Unsupported
from ....passes.graph import Node, Value
from ....passes.loop import Sliced, TripCount, part_range
from ....passes.preconditions import axis_of, rank_of, size_of_axis
from ....passes.rewrite import Builder
from ....passes.types import TensorType
from .context import is_natural
from .tools import i64, scalar, size_of, slice_axis

_MOST_TRIPS = 2**31 - 1  # OpenVINO's CPU counts in int32; with a condition, a larger count is none


def limit_of(op: Builder, node: Node, known: TripCount, parts: Sequence[Parts]) -> int | Value | None:
    """The most passes there can be, a number or i64 []; None without a limit.

    Raises:
        Unsupported: the loop has no end.
    """
    values = [scalar(op, piece.count) for piece in parts if isinstance(piece.count, Value)]
    if known.count is not None:
        trip = scalar(op, known.count)
        values.append(trip if is_natural(trip) else op.Maximum(trip, i64(op, 0)))
    limit = known.most
    if limit is not None and limit > _MOST_TRIPS and known.decides is not None:
        limit = None
    if not values or limit == 0:
        if limit is None and known.decides is None:
            raise Unsupported(node, "a loop without an end")
        return limit
    return functools.reduce(op.Minimum, values if limit is None else [*values, i64(op, limit)])


# sequences that a Loop walks over: what is cut from them before, and how many parts there are ------


@dataclass(frozen=True, slots=True)
class Parts:
    """A sequence made of whole parts, first to last or last to first.

    Attributes:
        sequence: what feeds the port.
        axis: along which, from the front.
        size: entries of a part along the axis.
        count: how many parts, or i64 [1].
        attributes: the slice in the port map.
        type: of a part as the Parameter sees it, the axis still there.
    """

    sequence: Value
    axis: int
    size: int
    count: int | Value
    attributes: dict[str, Any]
    type: TensorType


def parts_of(op: Builder, node: Node, slot: Sliced, sequence: Value) -> Parts:
    """Cut the range of a Sliced slot out of its sequence, so that nothing but whole parts is left."""
    rank = rank_of(node, sequence)
    if not rank:
        raise InvalidModel(f"{node!r}: a scalar has no parts")
    axis = axis_of(node, slot.axis, rank)
    length = size_of_axis(sequence, axis)
    if length is None:
        left, count = _cut_at_run_time(op, node, slot, sequence, axis)
    else:
        left, count = _cut(op, slot, sequence, axis, length)
    size = slot.part or 1
    slices = {"axis": axis, "stride": size, "part_size": size}
    if slot.reversed:
        slices |= {"start": -1, "end": 0, "stride": -size}
    shape = list(sequence.tensor.shape or ())
    shape[axis] = size
    return Parts(left, axis, size, count, slices, TensorType(sequence.tensor.dtype, tuple(shape)))


def _cut(op: Builder, slot: Sliced, sequence: Value, axis: int, length: int) -> tuple[Value, int]:
    first, count = part_range(slot, length)
    step, size = abs(slot.stride), slot.part or 1
    span = (count - 1) * step + size
    begin = first + 1 - span if slot.reversed else first
    if count == 0 or (begin == 0 and span == length and step == size):
        return sequence, count
    return slice_axis(op, sequence, begin, begin + span, step if slot.part is None else 1, axis), count


def _cut_at_run_time(op: Builder, node: Node, slot: Sliced, sequence: Value, axis: int) -> tuple[Value, Value]:
    length = size_of(op, node, sequence, axis)
    step = abs(slot.stride)
    low, high = (slot.end, slot.start) if slot.reversed else (slot.start, slot.end)
    if (low, high, step) == (0, -1, 1):
        return sequence, length

    def bound(at: int) -> Value:
        if at >= 0:
            return op.Minimum(i64(op, [at]), length)
        return length if at == -1 else op.Maximum(op.Add(length, i64(op, [at + 1])), i64(op, [0]))

    begin, end = bound(low), bound(high)
    span = op.Maximum(op.Subtract(end, begin), i64(op, [0]))
    count = span if step == 1 else op.Divide(span, i64(op, [step]), m_pythondiv=False)
    whole = count if step == 1 else op.Multiply(count, i64(op, [step]))
    if slot.reversed:
        begin = op.Subtract(end, whole)
        if slot.part is None and step > 1:
            begin = op.Add(begin, i64(op, [step - 1]))
    else:
        end = op.Add(begin, whole)
    return slice_axis(op, sequence, begin, end, step if slot.part is None else 1, axis), count
