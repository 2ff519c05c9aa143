"""How operators are read that take parts of tensors and put them together: positions resolved."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .layout import concat, select, sliced
from .maker import Maker
from .polynomials import Size
from .reading import Reading, axis_of, ints_of, readings_of, reads
from .terms import Contradiction, Term


@reads("Concat")
def _concat(r: Reading) -> Term | None:
    parts = [part for part in r.operands if part is not None]
    rank = next((part.rank for part in parts if part.rank is not None), None)
    if rank is None:
        return None
    if any(part.rank not in (None, rank) for part in parts):
        raise Contradiction
    axis = axis_of(r.attributes.int("axis"), rank)
    for at, sizes in enumerate(zip(*(part.shape for part in parts if part.shape is not None), strict=True)):
        if at != axis and len({size for size in sizes if isinstance(size, int)}) > 1:
            raise Contradiction
    return concat(r.m, parts, axis)


@reads("Gather")
def _gather(r: Reading) -> Term | None:
    x, indices = r.operand(0), r.operand(1)
    if x is None or indices is None or x.rank is None:
        return None
    axis = axis_of(r.attributes.int("axis", 0), x.rank)
    elements = r.m.table.elements(indices)
    if indices.shape == () and elements is not None:
        return select(r.m, x, axis, elements[0])
    return r.m.make("Gather", x, indices, axis=axis)


@reads("Split")
def _split(r: Reading) -> Sequence[Term] | None:
    x = r.operand(0)
    if x is None or x.shape is None:
        return None
    axis = axis_of(r.attributes.int("axis", 0), len(x.shape))
    count, size = len(r.node.outputs), x.shape[axis]
    if r.operand(1) is not None:
        sizes = r.sizes(1)
        if sizes is None or len(sizes) != count:
            return None
    else:
        if not isinstance(size, int):
            return None
        part = -(-size // (r.attributes.get("num_outputs") or count))
        sizes = [max(0, min(part, size - part * index)) for index in range(count)]
    found: list[Term] = []
    start: Size = 0
    for one in sizes:
        found.append(sliced(r.m, x, [axis], [start], [one], [1]))
        start = start + one
    return found


@reads("Slice")
def _slice(r: Reading) -> Term | None:
    x, starts, ends = r.operand(0), r.sizes(1), r.sizes(2)
    if x is None or x.shape is None or starts is None or ends is None:
        return None
    axes = ints_of(r.sizes(3)) if r.operand(3) is not None else list(range(len(starts)))
    steps = ints_of(r.sizes(4)) if r.operand(4) is not None else [1] * len(starts)
    if axes is None or steps is None:
        return None
    if not len(starts) == len(ends) == len(axes) == len(steps) or 0 in steps:
        raise Contradiction
    rows = [
        _range(r.m, x.shape[axis_of(axis, len(x.shape))], start, end, step)
        for axis, start, end, step in zip(axes, starts, ends, steps, strict=True)
    ]
    places = [axis_of(axis, len(x.shape)) for axis in axes]
    known = [(axis, row, step) for axis, row, step in zip(places, rows, steps, strict=True) if row is not None]
    x = sliced(
        r.m,
        x,
        [axis for axis, _, _ in known],
        [start for _, (start, _), _ in known],
        [size for _, (_, size), _ in known],
        [step for _, _, step in known],
    )
    others = sorted(index for index, row in enumerate(rows) if row is None)
    if not others:
        return x
    listed = r.m.table.listed
    operands = [listed([of[index] for index in others]) for of in (starts, ends, places, steps)]
    return r.m.make("Slice", x, *operands)


def _range(m: Maker, size: Size, start: Size, end: Size, step: int) -> tuple[Size, Size] | None:
    """(first position, number of positions) of a slice of an axis, None where it isn't certain."""
    lowest: Size = 0 if step > 0 else -1
    highest: Size = size if step > 0 else size - 1
    first = _clamped(m, start, size, 0, highest)
    last = _clamped(m, end, size, lowest, highest if step < 0 else size)
    if first is None or last is None:
        return None
    span = last - first if step > 0 else first - last
    if not m.table.is_negative_never(span):
        return (first, 0) if m.table.is_negative_never(-span) else None
    if abs(step) == 1:
        return first, span
    if not isinstance(span, int):
        return None
    return first, -(-span // abs(step))


def _clamped(m: Maker, at: Size, size: Size, lowest: Size, highest: Size) -> Size | None:
    """A bound of a slice within an axis; a negative one counts from the end."""
    if isinstance(at, int) and isinstance(size, int):
        at = at + size if at < 0 else at
        assert isinstance(lowest, int) and isinstance(highest, int)
        return min(max(at, lowest), highest)
    if isinstance(at, int) and at >= 1 << 31:
        return highest
    if isinstance(at, int) and at <= -(1 << 31):
        return lowest
    if m.table.is_negative_never(-1 - at):
        at = size + at
    elif not m.table.is_negative_never(at):
        return None
    if m.table.is_at_most(highest, at):
        return highest
    if m.table.is_at_most(at, lowest):
        return lowest
    return at if m.table.is_at_most(at, highest) and m.table.is_at_most(lowest, at) else None


@reads("Range")
def _range_of(r: Reading) -> Term | None:
    ends = [r.sizes(index) for index in range(3)]
    if any(one is not None and len(one) != 1 for one in ends):
        raise Contradiction
    known = [one[0] for one in ends if one is not None and isinstance(one[0], int)]
    start = r.operand(0)
    if len(known) != 3 or start is None or start.dtype is None:
        return None
    if not known[2]:
        raise Contradiction
    found = range(known[0], known[1], known[2])
    if len(found) > 1 << 16:
        return None
    return r.m.array(np.arange(known[0], known[1], known[2], dtype=start.dtype.numpy), start.dtype)


READINGS = readings_of(globals())
