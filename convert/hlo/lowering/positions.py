"""Hub -> HLO: slices and pads at positions that are known only when the model runs.

How much there is of the result its declared type says; which element of the input each of its elements is, is computed
axis by axis.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....passes.errors import Unsupported
from ....passes.graph import Node, Value
from ....passes.preconditions import axis_of, dtype_of, rank_of, required
from ....passes.rewrite import Builder
from ....passes.sizes import is_below
from ....passes.types import DType
from .declared import declared_result
from .open_sizes import items_of
from .tools import (
    Sizes,
    broadcast,
    compare,
    convert,
    fill,
    fold,
    iota,
    like,
    negative_counted,
    reshape,
    scalar,
    sizes_of,
    slice_axis,
    take,
    word,
)


def _at_axes(op: Builder, node: Node, values: Value, axes: Value | None, rank: int, rest: int) -> list[Value | None]:
    """One scalar (int64) for each axis: of a vector what stands for it there, None where certainly nothing does, and
    `rest` where nothing does in a run.

    Args:
        axes: which axis each is for; None: for one after the other, from the first.
    """
    values, (count,) = convert(op, values, DType.INT64), sizes_of(node, values)
    known = items_of(axes) if axes is not None else list(range(count))
    if axes is None or known is not None:
        places = {axis_of(node, axis, rank): at for at, axis in enumerate(known or ())}
        return [
            reshape(op, slice_axis(op, node, values, 0, places[axis], places[axis] + 1), ()) if axis in places else None
            for axis in range(rank)
        ]
    which = negative_counted(op, node, convert(op, axes, DType.INT64), rank)
    found: list[Value | None] = []
    for axis in range(rank):
        there = compare(op, which, like(op, node, axis, which), "EQ")
        less = op.subtract(values, like(op, node, rest, values))
        total = fold(op, node, op.select(there, less, like(op, node, 0, less)), [0], "add")
        found.append(op.add(total, scalar(op, rest, DType.INT64)))
    return found


def _wanted(op: Builder, node: Node, index: int, have: Sizes, touched: Sequence[Value | None]) -> Sizes:
    """The sizes of the result, which operand `index` would tell; axes that nothing touches keep theirs."""
    kept = tuple(size if one is None else None for one, size in zip(touched, have, strict=True))
    return declared_result(op, node, index, kept)


def moving_slice(op: Builder, node: Node, x: Value) -> Value:
    """What begins where only a run tells: by steps of 1 a dynamic slice, else gathers."""
    have, axes, steps = sizes_of(node, x), node.input(3), node.input(4)
    rank, zero = len(have), scalar(op, 0, DType.INT64)
    starts = _at_axes(op, node, required(node, 1), axes, rank, 0)
    wanted = _wanted(op, node, 2, have, starts)
    if any(is_below(old, size) for size, old in zip(wanted, have, strict=True)):
        raise Unsupported(node, f"a slice of {list(have)} would be {list(wanted)}")
    firsts = [
        zero if one is None else negative_counted(op, node, one, size) for one, size in zip(starts, have, strict=True)
    ]
    if steps is None or all(step == 1 for step in items_of(steps) or (0,)):
        return op.call("dynamic-slice", x, *firsts, dynamic_slice_sizes=wanted)
    for axis, by in enumerate(_at_axes(op, node, steps, axes, rank, 1)):
        if by is None:
            continue
        last = op.maximum(zero, scalar(op, have[axis] - 1, DType.INT64))
        shape = (wanted[axis],)
        first, step = (fill(op, one, shape) for one in (op.clamp(zero, firsts[axis], last), by))
        x = take(op, node, x, axis, op.add(op.multiply(iota(op, shape, 0), step), first))
    return x


def moving_pad(op: Builder, node: Node, x: Value) -> Value:
    """What is added only a run tells: each element is looked up, axis by axis.

    Raises:
        Unsupported: elements of an empty axis would be repeated.
    """
    have, pads, rank = sizes_of(node, x), required(node, 1), rank_of(node, x)
    half = sizes_of(node, pads)[0] // 2
    halves = (slice_axis(op, node, pads, 0, at * half, (at + 1) * half) for at in range(2))
    lows, highs = (_at_axes(op, node, one, node.input(3), rank, 0) for one in halves)
    wanted = _wanted(op, node, 1, have, lows)
    for axis, (low, high) in enumerate(zip(lows, highs, strict=True)):
        if low is not None and high is not None:
            x = _padded(op, node, x, axis, wanted[axis], (low, high))
    return x


def _padded(op: Builder, node: Node, x: Value, axis: int, count: int, pads: tuple[Value, Value]) -> Value:
    """One axis, `count` elements afterwards. Less than nothing is added where elements are taken away, which is done
    first."""
    mode, filling = word(node, "mode", "constant"), node.input(2)
    have = sizes_of(node, x)
    shape = (*have[:axis], count, *have[axis + 1 :])
    zero, one = (scalar(op, number, DType.INT64) for number in (0, 1))
    value = scalar(op, 0, dtype_of(node, x)) if filling is None else reshape(op, filling, ())
    if have[axis] == 0:
        if mode == "constant":
            return fill(op, value, shape)
        raise Unsupported(node, f"it pads an empty axis {axis}")
    cut, behind = (op.maximum(op.negate(pad), zero) for pad in pads)
    left = op.subtract(op.subtract(scalar(op, have[axis], DType.INT64), cut), behind)
    last = op.maximum(op.subtract(left, one), zero)

    def whole(number: Value) -> Value:
        return fill(op, number, (count,))

    index = op.subtract(iota(op, (count,), 0), whole(op.maximum(pads[0], zero)))
    match mode:
        case "constant" | "edge":
            found = op.clamp(zero, index, last)
        case "reflect":  # there and back again
            period = op.maximum(op.add(last, last), one)
            found = _modulo(op, index, whole(period))
            found = op.minimum(found, op.subtract(whole(period), found))
        case "wrap":
            found = _modulo(op, index, whole(op.maximum(left, one)))
        case _:
            raise Unsupported(node, f"mode={mode!r}")
    made = take(op, node, x, axis, op.add(found, whole(cut)))
    if mode != "constant":
        return made
    inside = op.call("and", compare(op, index, whole(zero), "GE"), compare(op, index, whole(left), "LT"))
    return op.select(broadcast(op, inside, shape, (axis,)), made, fill(op, value, shape))


def _modulo(op: Builder, x: Value, by: Value) -> Value:
    """The rest of a division that rounds down, by numbers above 0."""
    return op.remainder(op.add(op.remainder(x, by), by), by)
