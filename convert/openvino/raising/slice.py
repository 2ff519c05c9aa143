"""Parts of tensors: slices, pads, reversals, rolls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ....passes.build import Expr, arange, concat, expr, transpose, where
from ....passes.build.expression import INT64_MAX, INT64_MIN
from ....passes.errors import InvalidModel, Unsupported
from ....passes.graph import Node, Value
from ....passes.preconditions import input_of, rank_of, size_of_axis
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ..dialect import DOMAIN
from .support import Results, constant, constant_integers, integers, inverse_perm, normal_axes, operand, scalar, vector


@rule(DOMAIN, "Slice")
def slice_(op: Builder, node: Node) -> Results:
    """Slice-8: start, stop, step, axes in this order; ONNX has axes before steps."""
    x, start, stop, step = (input_of(node, index) for index in range(4))
    axes = node.input(4)
    given_axes = None if axes is None else vector(op, axes)
    if given_axes is None:
        count = vector(op, start).size(0).item()
        given_axes = op.const(list(range(count)), DType.INT64) if count is not None else None
    return op.Slice(x, vector(op, start), vector(op, stop), given_axes, vector(op, step))


@dataclass(slots=True)
class _Spec:
    """A StridedSlice, entry by entry: what is sliced, dropped, inserted."""

    axes: list[int] = field(default_factory=list)  # of the data, one for each sliced entry
    entries: list[int] = field(default_factory=list)  # their positions in begin, end, strides
    dropped: list[int] = field(default_factory=list)  # axes of the data
    inserted: list[int] = field(default_factory=list)  # axes of the result


def _mask(node: Node, name: str, count: int) -> list[bool]:
    bits = [bool(bit) for bit in node.attributes.get(name) or []]
    return (bits + [False] * count)[:count]


def _spec(node: Node, count: int, rank: int) -> _Spec:
    ellipsis, new, shrink = (_mask(node, f"{name}_mask", count) for name in ("ellipsis", "new_axis", "shrink_axis"))
    plain = sum(not (ellipsis[index] or new[index]) for index in range(count))
    if plain > rank or sum(ellipsis) > 1:
        raise InvalidModel(f"{node!r}: its masks have more dimensions than the {rank} of its input")
    spec = _Spec()
    axis = position = 0
    for index in range(count):
        if ellipsis[index]:
            axis += rank - plain
            position += rank - plain
            continue
        if new[index]:
            spec.inserted.append(position)
            position += 1
            continue
        spec.axes.append(axis)
        spec.entries.append(index)
        if shrink[index]:
            spec.dropped.append(axis)
        else:
            position += 1
        axis += 1
    return spec


def _replaced(values: Expr, chosen: Sequence[bool], fill: Sequence[int]) -> Expr:
    """`values` with some entries replaced by constants."""
    return where(expr(values.op, list(chosen)), np.array(fill), values) if any(chosen) else values


@rule(DOMAIN, "StridedSlice")
def strided_slice(op: Builder, node: Node) -> Results:
    """StridedSlice-1: a set bit of a mask says that begin or end is ignored, a dimension is inserted or dropped,
    or that the entry stands for all dimensions that the others don't speak of."""
    x, begin, end = input_of(node, 0), vector(op, input_of(node, 1)), vector(op, input_of(node, 2))
    strides = node.input(3)
    count = begin.size(0).item()
    if count is None:
        count = max(len(node.attributes.get(f"{name}_mask") or []) for name in ("begin", "end"))
    spec = _spec(node, count, rank_of(node, x))
    if any(
        length not in (None, count)
        for length in (end.size(0).item(), None if strides is None else size_of_axis(strides, 0))
    ):
        raise InvalidModel(f"{node!r}: its begin, end and strides aren't of one length")
    if spec.axes:
        step = expr(op, [1] * count) if strides is None else vector(op, strides)
        x = _sliced(op, node, x, (begin, end, step), spec, count)
    if spec.dropped:
        x = op.Squeeze(x, op.const(spec.dropped, DType.INT64))
    if spec.inserted:
        x = op.Unsqueeze(x, op.const(spec.inserted, DType.INT64))
    return x if spec.axes or spec.dropped or spec.inserted else op.Identity(x)


def _sliced(op: Builder, node: Node, x: Value, bounds: tuple[Expr, Expr, Expr], spec: _Spec, count: int) -> Value:
    begin, end, step = (value if spec.entries == list(range(count)) else value.gather(spec.entries) for value in bounds)
    open_begin, open_end = (_mask(node, f"{name}_mask", count) for name in ("begin", "end"))
    free_begin = [open_begin[index] for index in spec.entries]
    drop = [axis in spec.dropped for axis in spec.axes]
    free_end = [open_end[index] and not dropped for index, dropped in zip(spec.entries, drop, strict=True)]
    signs = integers(step)
    if signs is None and (any(free_begin) or any(free_end)):
        raise Unsupported(node, "its strides aren't constant, and a begin or end is masked")
    backwards = [sign < 0 for sign in signs or [1] * len(spec.axes)]
    begin = _replaced(begin, free_begin, [INT64_MAX if back else 0 for back in backwards])
    end = _replaced(end, free_end, [INT64_MIN if back else INT64_MAX for back in backwards])
    if any(drop):
        step = _replaced(step, drop, [1] * len(drop))
        begin = _replaced(begin, [d and f for d, f in zip(drop, free_begin, strict=True)], [0] * len(drop))
        after = begin + 1
        end = where(expr(op, drop), where(after.equals(0), INT64_MAX, after), end)
    return op.Slice(x, begin, end, op.const(spec.axes, DType.INT64), step)


# pads ----------------------------------------------------------------------------------------------


@rule(DOMAIN, "Pad")
def pad(op: Builder, node: Node) -> Results:
    """Pad-1, -12 (which also takes negative pads): "symmetric", which ONNX hasn't, gathers mirrored indices."""
    x, before, after = input_of(node, 0), vector(op, input_of(node, 1)), vector(op, input_of(node, 2))
    mode = str(node.attributes.get("pad_mode", "constant")).lower()
    if mode == "symmetric":
        return _mirrored(node, operand(op, node), before, after)
    if mode not in ("constant", "edge", "reflect"):
        raise Unsupported(node, f"pad_mode is {mode!r}")
    filler = node.input(3) if mode == "constant" else None
    value = None if filler is None else scalar(op, filler, x.tensor.dtype)
    return op.Pad(x, concat(op, [before, after]), value, mode=mode)


def _mirrored(node: Node, x: Expr, before: Expr, after: Expr) -> Value:
    """Index k from -before to n + after, reflected so that the edges stand twice."""
    for axis in range(rank_of(node, input_of(node))):
        extent, front, behind = x.size(axis), before[axis : axis + 1], after[axis : axis + 1]
        if front.item() == 0 == behind.item():
            continue
        period = extent * 2
        index = (arange(x.op, extent + behind + front) - front).call("Mod", period)
        x = x.gather(index.minimum(period - 1 - index), axis)
    return x.value()


# the other way round -------------------------------------------------------------------------------


@rule(DOMAIN, "Reverse")
def reverse(op: Builder, node: Node) -> Results:
    """Reverse-1: the axes by index, or by a mask."""
    x, axes = input_of(node, 0), input_of(node, 1)
    mode, dtype = str(node.attributes.get("mode", "index")).lower(), axes.tensor.dtype
    if dtype is not None and not (dtype is DType.BOOL if mode == "mask" else dtype.is_integer):
        raise InvalidModel(f"{node!r}: mode is {mode!r}, and its axes {axes.tensor}")
    if mode == "mask":
        bits = constant(axes)
        if bits is None:
            raise Unsupported(node, "its mask isn't constant")
        chosen = expr(op, np.flatnonzero(bits))
    elif mode == "index":
        chosen = vector(op, axes)
    else:
        raise Unsupported(node, f"mode is {mode!r}")
    if integers(chosen) == []:
        return op.Identity(x)
    ones, least = chosen.full_like(-1), chosen.full_like(INT64_MIN)
    return op.Slice(x, ones, least, chosen, ones)


@rule(DOMAIN, "ReverseSequence")
def reverse_sequence(op: Builder, node: Node) -> Results:
    """ReverseSequence-1: ONNX's takes batch and sequence on axes 0 and 1 only."""
    x, lengths = input_of(node, 0), vector(op, input_of(node, 1))
    rank = rank_of(node, x)
    batch, time = normal_axes(
        node, [int(node.attributes.get("batch_axis", 0)), int(node.attributes.get("seq_axis", 1))], rank
    )
    if {batch, time} == {0, 1}:
        return op.ReverseSequence(x, lengths, batch_axis=batch, time_axis=time)
    perm = [batch, time] + [axis for axis in range(rank) if axis not in (batch, time)]
    turned = op.ReverseSequence(transpose(op, x, perm), lengths, batch_axis=0, time_axis=1)
    return transpose(op, turned, inverse_perm(perm))


@rule(DOMAIN, "Roll")
def roll(op: Builder, node: Node) -> Results:
    """Roll-7: each shift along its axis; one shift may stand for all axes."""
    x, shift = operand(op, node), vector(op, input_of(node, 1))
    for index, axis in enumerate(constant_integers(node, 2, "the axes")):
        extent = x.size(axis)
        step = shift.gather([0 if shift.size(0).item() == 1 else index])
        x = x.gather((arange(op, extent) - step).call("Mod", extent), axis)
    return x.value()


RULES = collect(globals())
