"""Hub -> HLO: what a loop stacks, in a buffer of one size."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ....passes.errors import Unsupported
from ....passes.graph import Node, Value
from ....passes.loop import Stacked
from ....passes.preconditions import axis_of, dtype_of
from ....passes.rewrite import Builder
from ....passes.types import DType, TensorType
from ..infer_tools import text
from .tools import concatenate, convert, fill, reshape, scalar, sizes_of

_MOST_TOLD = 2**31 - 1
"""Sizes are told in 32 bits; and whoever writes INT32_MAX or more for a bound means that there is none."""

_MOST_ROOM = 1 << 40
"""Bytes of a buffer."""


@dataclass(slots=True)
class Stack:
    """A stack while its loop is built: the empty buffer outside; in the body what is put into it, and where."""

    slot: Stacked
    axis: int
    trips: int
    buffer: Value
    part: Value
    starts: list[Value]
    index: int = -1


def stack(
    op: Builder, body: Builder, node: Node, slot: Stacked, value: Value, trips: int, index: Value, certain: bool
) -> Stack:
    """A buffer for `trips` passes. In reverse it is filled from its end, if the loop certainly runs so often.

    Raises:
        Unsupported: the buffer would be larger than memories are, or than a size that is told can be.
    """
    part, axis = part_of(body, node, slot, value)
    sizes = sizes_of(node, part)
    size = sizes[axis]
    whole = (*sizes[:axis], size * trips, *sizes[axis + 1 :])
    buffer = TensorType(dtype_of(node, part), whole)
    room = math.prod(whole) * dtype_of(node, part).bits // 8
    if not certain and isinstance(size * trips, str):  # a bound is a number
        raise Unsupported(
            node, f"how much of {text(buffer)} it stacks in {value.name!r} is known only when the model runs"
        )
    if not isinstance(room, str) and ((not certain and size * trips >= _MOST_TOLD) or room > _MOST_ROOM):
        what = "its" if certain else "the only bound,"
        raise Unsupported(
            node, f"{what} {trips} passes, makes a buffer {text(buffer)} of what it stacks in {value.name!r}"
        )
    at = index
    if slot.reverse and certain:
        at = body.subtract(scalar(body, trips - 1, DType.INT64), index)
    if size != 1:
        at = body.multiply(at, scalar(body, size, DType.INT64))
    zero = scalar(body, 0, DType.INT64)
    starts = [at if dim == axis else zero for dim in range(len(whole))]
    return Stack(slot, axis, trips, fill(op, scalar(op, 0, dtype_of(node, part)), whole), part, starts)


def part_of(op: Builder, node: Node, slot: Stacked, value: Value) -> tuple[Value, int]:
    """An element as the part of a stack that it becomes, and the stack's axis."""
    sizes = sizes_of(node, value)
    if slot.part is not None:
        return value, axis_of(node, slot.axis, len(sizes))
    axis = axis_of(node, slot.axis, len(sizes) + 1)
    return reshape(op, value, (*sizes[:axis], 1, *sizes[axis:])), axis


def finished(op: Builder, node: Node, made: Stack, filled: Value, passes: Value, certain: bool) -> Value:
    """The stack after the loop, which ran `passes` times: told its size where that isn't the buffer's."""
    if certain:
        return filled
    axis, sizes = made.axis, sizes_of(node, filled)
    size = sizes_of(node, made.part)[axis]
    if made.slot.reverse:
        if size != 1:
            raise Unsupported(node, "it stacks parts of more than one in reverse, and how many isn't known")
        turned = op.reverse(filled, dimensions=(axis,))  # what was filled stands at its end
        twice = concatenate(op, [turned, turned], axis)
        zero = scalar(op, 0, DType.INT64)
        first = op.subtract(scalar(op, made.trips, DType.INT64), passes)
        starts = [first if dim == axis else zero for dim in range(len(sizes))]
        filled = op.call("dynamic-slice", twice, *starts, dynamic_slice_sizes=sizes)
    count = passes if size == 1 else op.multiply(passes, scalar(op, size, DType.INT64))
    return op.call("set-dimension-size", filled, convert(op, count, DType.INT32), dimensions=(axis,))
