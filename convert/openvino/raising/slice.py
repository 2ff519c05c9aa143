"""Parts of tensors: slices, pads, reversals, rolls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ....passes.errors import InvalidModel, Unsupported
from ....passes.graph import Node, Value
from ....passes.preconditions import given, rank_of, size_of_axis
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ..dialect import DOMAIN
from .support import (
    INT64_MAX,
    INT64_MIN,
    Results,
    concatenated,
    constant,
    dimension,
    fixed,
    integers,
    inverted,
    normal_axes,
    scalar,
    steps,
    transposed,
    vector,
)


@rule(DOMAIN, "Slice")
def slice_(op: Builder, node: Node) -> Results:
    """Slice-8: start, stop, step, axes in this order; ONNX has axes before steps."""
    x, start, stop, step = (given(node, index) for index in range(4))
    axes = node.input(4)
    given_axes = None if axes is None else vector(op, axes)
    if given_axes is None:
        count = size_of_axis(vector(op, start), 0)
        given_axes = op.const(list(range(count)), DType.INT64) if count is not None else None
    return op.Slice(x, vector(op, start), vector(op, stop), given_axes, vector(op, step))


@dataclass(slots=True)
class _Spec:
    """A StridedSlice, entry by entry: what is sliced, dropped, inserted."""

    axes: list[int] = field(default_factory=list)  # of the data, one for each sliced entry
    entries: list[int] = field(default_factory=list)  # their places in begin, end, strides
    dropped: list[int] = field(default_factory=list)  # axes of the data
    inserted: list[int] = field(default_factory=list)  # axes of the result


def _mask(node: Node, name: str, count: int) -> list[bool]:
    bits = [bool(bit) for bit in node.attributes.get(name) or []]
    return (bits + [False] * count)[:count]


def _spec(node: Node, count: int, rank: int) -> _Spec:
    ellipsis, new, shrink = (_mask(node, f"{name}_mask", count) for name in ("ellipsis", "new_axis", "shrink_axis"))
    plain = sum(not (ellipsis[index] or new[index]) for index in range(count))
    if plain > rank or sum(ellipsis) > 1:
        raise InvalidModel(f"{node!r}: its masks speak of more dimensions than the {rank} of its input")
    spec = _Spec()
    axis = place = 0
    for index in range(count):
        if ellipsis[index]:
            axis += rank - plain
            place += rank - plain
            continue
        if new[index]:
            spec.inserted.append(place)
            place += 1
            continue
        spec.axes.append(axis)
        spec.entries.append(index)
        if shrink[index]:
            spec.dropped.append(axis)
        else:
            place += 1
        axis += 1
    return spec


def _picked(op: Builder, values: Value, entries: Sequence[int], count: int) -> Value:
    """Some entries of a vector."""
    known = integers(values)
    if known is not None:
        return op.const([known[index] for index in entries], DType.INT64)
    return values if list(entries) == list(range(count)) else op.Gather(values, op.const(list(entries), DType.INT64))


def _replaced(op: Builder, values: Value, where: Sequence[bool], fill: Sequence[int]) -> Value:
    """`values` with some entries replaced by constants."""
    if not any(where):
        return values
    known = integers(values)
    if known is not None:
        return op.const([f if w else k for w, f, k in zip(where, fill, known, strict=True)], DType.INT64)
    return op.Where(op.const(list(where), DType.BOOL), op.const(list(fill), DType.INT64), values)


@rule(DOMAIN, "StridedSlice")
def strided_slice(op: Builder, node: Node) -> Results:
    """StridedSlice-1: a set bit of a mask says that begin or end is ignored, a dimension is inserted or dropped,
    or that the entry stands for all dimensions that the others don't speak of."""
    x, begin, end = given(node, 0), vector(op, given(node, 1)), vector(op, given(node, 2))
    strides = node.input(3)
    count = size_of_axis(begin, 0)
    if count is None:
        count = max(len(node.attributes.get(f"{name}_mask") or []) for name in ("begin", "end"))
    spec = _spec(node, count, rank_of(node, x))
    if any(
        length not in (None, count)
        for length in (size_of_axis(end, 0), None if strides is None else size_of_axis(strides, 0))
    ):
        raise InvalidModel(f"{node!r}: its begin, end and strides aren't of one length")
    if spec.axes:
        step = op.const([1] * count, DType.INT64) if strides is None else vector(op, strides)
        x = _sliced(op, node, x, (begin, end, step), spec, count)
    if spec.dropped:
        x = op.Squeeze(x, op.const(spec.dropped, DType.INT64))
    if spec.inserted:
        x = op.Unsqueeze(x, op.const(spec.inserted, DType.INT64))
    return x if spec.axes or spec.dropped or spec.inserted else op.Identity(x)


def _sliced(op: Builder, node: Node, x: Value, bounds: tuple[Value, Value, Value], spec: _Spec, count: int) -> Value:
    begin, end, step = (_picked(op, value, spec.entries, count) for value in bounds)
    open_begin, open_end = (_mask(node, f"{name}_mask", count) for name in ("begin", "end"))
    free_begin = [open_begin[index] for index in spec.entries]
    drop = [axis in spec.dropped for axis in spec.axes]
    free_end = [open_end[index] and not dropped for index, dropped in zip(spec.entries, drop, strict=True)]
    signs = integers(step)
    if signs is None and (any(free_begin) or any(free_end)):
        raise Unsupported(node, "its strides aren't constant, and a begin or end is masked")
    backwards = [sign < 0 for sign in signs or [1] * len(spec.axes)]
    begin = _replaced(op, begin, free_begin, [INT64_MAX if back else 0 for back in backwards])
    end = _replaced(op, end, free_end, [INT64_MIN if back else INT64_MAX for back in backwards])
    if any(drop):
        step = _replaced(op, step, drop, [1] * len(drop))
        begin = _replaced(op, begin, [d and f for d, f in zip(drop, free_begin, strict=True)], [0] * len(drop))
        known = integers(begin)
        if known is not None:
            end = _replaced(op, end, drop, [first + 1 or INT64_MAX for first in known])
        else:
            after = op.Add(begin, op.const([1]))
            after = op.Where(op.Equal(after, op.const([0])), op.const([INT64_MAX]), after)
            end = op.Where(op.const(drop, DType.BOOL), after, end)
    return op.Slice(x, begin, end, op.const(spec.axes, DType.INT64), step)


# pads ----------------------------------------------------------------------------------------------


@rule(DOMAIN, "Pad")
def pad(op: Builder, node: Node) -> Results:
    """Pad-1, -12 (which also takes negative pads): "symmetric", which ONNX hasn't, gathers mirrored indices."""
    x, before, after = given(node, 0), vector(op, given(node, 1)), vector(op, given(node, 2))
    mode = str(node.attributes.get("pad_mode", "constant")).lower()
    if mode == "symmetric":
        return _mirrored(op, node, x, before, after)
    if mode not in ("constant", "edge", "reflect"):
        raise Unsupported(node, f"pad_mode is {mode!r}")
    filler = node.input(3) if mode == "constant" else None
    value = None if filler is None else scalar(op, filler, x.tensor.dtype)
    return op.Pad(x, concatenated(op, [before, after]), value, mode=mode)


def _mirrored(op: Builder, node: Node, x: Value, before: Value, after: Value) -> Value:
    """Index k from -before to n + after, reflected so that the edges stand twice."""
    starts, ends = integers(before), integers(after)
    for axis in range(rank_of(node, x)):
        if starts is not None and ends is not None and not (starts[axis] or ends[axis]):
            continue
        here = op.const([axis])
        extent = dimension(op, x, axis)
        first = op.Neg(op.Gather(before, here))
        count = op.Sub(op.Add(extent, op.Gather(after, here)), first)
        period = op.Add(extent, extent)
        index = op.Mod(op.Add(steps(op, count), first), period)
        other = op.Sub(op.Sub(period, op.const([1])), index)
        x = op.Gather(x, op.Min(index, other), axis=axis)
    return x


# the other way round -------------------------------------------------------------------------------


@rule(DOMAIN, "Reverse")
def reverse(op: Builder, node: Node) -> Results:
    """Reverse-1: the axes by index, or by a mask."""
    x, axes = given(node, 0), given(node, 1)
    mode = str(node.attributes.get("mode", "index")).lower()
    if mode == "mask":
        bits = constant(axes)
        if bits is None:
            raise Unsupported(node, "its mask isn't constant")
        chosen = op.const([index for index, bit in enumerate(bits.reshape(-1)) if bit], DType.INT64)
    elif mode == "index":
        chosen = vector(op, axes)
    else:
        raise Unsupported(node, f"mode is {mode!r}")
    if integers(chosen) == []:
        return op.Identity(x)
    count = size_of_axis(chosen, 0)
    if count is not None:
        ones, least = op.const([-1] * count), op.const([INT64_MIN] * count)
    else:
        ones, least = (op.Expand(op.const([item]), op.Shape(chosen)) for item in (-1, INT64_MIN))
    return op.Slice(x, ones, least, chosen, ones)


@rule(DOMAIN, "ReverseSequence")
def reverse_sequence(op: Builder, node: Node) -> Results:
    """ReverseSequence-1: ONNX's takes batch and sequence on axes 0 and 1 only."""
    x, lengths = given(node, 0), vector(op, given(node, 1))
    rank = rank_of(node, x)
    batch, time = normal_axes(
        node, [int(node.attributes.get("batch_axis", 0)), int(node.attributes.get("seq_axis", 1))], rank
    )
    if {batch, time} == {0, 1}:
        return op.ReverseSequence(x, lengths, batch_axis=batch, time_axis=time)
    perm = [batch, time] + [axis for axis in range(rank) if axis not in (batch, time)]
    turned = op.ReverseSequence(transposed(op, x, perm), lengths, batch_axis=0, time_axis=1)
    return transposed(op, turned, inverted(perm))


@rule(DOMAIN, "Roll")
def roll(op: Builder, node: Node) -> Results:
    """Roll-7: each shift along its axis; one shift may stand for all axes."""
    x, shift = given(node, 0), vector(op, given(node, 1))
    axes = fixed(node, 2, "the axes")
    count = size_of_axis(shift, 0)
    for place, axis in enumerate(axes):
        extent = dimension(op, x, axis)
        step = op.Gather(shift, op.const([0 if count == 1 else place]))
        x = op.Gather(x, op.Mod(op.Sub(steps(op, extent), step), extent), axis=axis)
    return x


RULES = collect(globals())
