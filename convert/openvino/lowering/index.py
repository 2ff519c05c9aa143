"""Hub -> OpenVINO: gathering, scattering, and everything else that goes by positions."""

from __future__ import annotations

import math

import numpy as np

from ....passes.attributes import text
from ....passes.errors import Unsupported
from ....passes.graph import Node, Value
from ....passes.preconditions import axis_of, dtype_of, flag, rank_of, required, size_of_axis
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from .functions import narrower
from .text import gather_strings, is_text
from .tools import (
    convert,
    i64,
    ints,
    number,
    range_of,
    scalar,
    shape_of,
    size_of,
    slice_axis,
    transpose,
    vector,
    with_size,
)


def _from_front(op: Builder, node: Node, positions: Value, size: Value) -> Value:
    """Positions with those counted from the end (negative ones) counted from the front. `size` broadcasts."""
    known = ints(positions) if positions.data is None or positions.data.size <= 4096 else None
    if known is not None and all(at >= 0 for at in known):
        return positions
    size = convert(op, node, size, positions.tensor.dtype or DType.INT64)
    behind = op.Less(positions, number(op, node, 0, positions))
    return op.Select(behind, op.Add(positions, size), positions)


@rule("", "Gather")
def gather(op: Builder, node: Node) -> Value:
    data, indices = required(node, 0), required(node, 1)
    if is_text(data) and data.data is not None and data.rank == 1:
        return gather_strings(op, node, indices, [text(word) for word in data.data.numpy()])
    return op.Gather(data, indices, i64(op, node.attributes.get("axis", 0)))


@rule("", "GatherElements")
def gather_elements(op: Builder, node: Node) -> Value:
    """The other dimensions go along with the positions', of which there may be fewer; OpenVINO wants as many.

    It takes a Slice to the positions' size for one that does nothing, so the elements are gathered.
    """
    data, positions = required(node, 0), required(node, 1)
    rank = rank_of(node, data)
    axis = axis_of(node, node.attributes.get("axis", 0), rank)
    have, wanted = (value.tensor.shape or (None,) * rank for value in (data, positions))
    for at in range(rank):
        if at != axis and (have[at] is None or have[at] != wanted[at]):
            indices = range_of(op, size_of(op, node, positions, at))
            data = op.Gather(data, indices, i64(op, at))
    return op.GatherElements(data, _from_front(op, node, positions, size_of(op, node, data, axis)), axis=axis)


@rule("", "ReverseSequence")
def reverse_sequence(op: Builder, node: Node) -> Value | list[Value]:
    """OpenVINO's CPU moves float32: integers that it doesn't hold are gathered."""
    data, lengths = required(node, 0), required(node, 1)
    dtype = dtype_of(node, data)
    if dtype.is_integer and dtype.bits > 16:
        return narrower(op, node, 9)
    batch, time = (node.attributes.get(name, default) for name, default in (("batch_axis", 1), ("time_axis", 0)))
    return op.ReverseSequence(data, lengths, batch_axis=batch, seq_axis=time)


@rule("", "GatherND")
def gather_nd(op: Builder, node: Node) -> Value:
    data, positions = required(node, 0), required(node, 1)
    batch = node.attributes.get("batch_dims", 0)
    if size_of_axis(positions, -1) is None:
        raise Unsupported(node, "how many axes it makes is known at run time only")
    return op.GatherND(data, _tuples_from_front(op, node, data, positions, batch), batch_dims=batch)


def _tuples_from_front(op: Builder, node: Node, data: Value, positions: Value, batch: int = 0) -> Value:
    """As `_from_front`, for positions that are tuples along their last axis."""
    known = ints(positions)
    if known is not None and all(at >= 0 for at in known):
        return positions
    length = size_of(op, node, positions, -1)
    sizes = slice_axis(op, shape_of(op, data), batch, op.Add(length, i64(op, [batch])))
    return _from_front(op, node, positions, sizes)


@rule("", "ScatterElements")
def scatter_elements(op: Builder, node: Node) -> Value:
    reduction = {"add": "sum", "mul": "prod"}.get(found := node.attributes.get("reduction", "none"), found)
    data, positions = required(node, 0), required(node, 1)
    axis = axis_of(node, node.attributes.get("axis", 0), rank_of(node, data))
    indices = _from_front(op, node, positions, size_of(op, node, data, axis))
    return op.ScatterElementsUpdate(data, indices, required(node, 2), i64(op, axis), reduction=reduction)


@rule("", "ScatterND")
def scatter_nd(op: Builder, node: Node) -> Value:
    reduction = {"add": "sum", "mul": "prod"}.get(found := node.attributes.get("reduction", "none"), found)
    data, positions = required(node, 0), required(node, 1)
    indices = _tuples_from_front(op, node, data, positions)
    return op.ScatterNDUpdate(data, indices, required(node, 2), reduction=reduction)


@rule("", "OneHot")
def one_hot(op: Builder, node: Node) -> Value:
    """Positions outside of [-depth, depth) give a row of off values."""
    positions, depth, values = required(node, 0), required(node, 1), required(node, 2)
    positions = convert(op, node, positions, DType.INT64)
    depth = scalar(op, convert(op, node, depth, DType.INT64))
    behind = op.Less(positions, i64(op, 0))
    positions = op.Select(behind, op.Add(positions, depth), positions)
    off, on = (scalar(op, slice_axis(op, values, index, index + 1)) for index in range(2))
    return op.OneHot(
        positions, depth, on, off, axis=node.attributes.get("axis", -1), negative_indices_mode="ignore_negative"
    )


@rule("", "Unique")
def unique(op: Builder, node: Node) -> tuple[Value, ...]:
    """Along the first axis, of 32 bits: OpenVINO's CPU takes slices along others for the same, or not, by what stands
    beside them, counts bytes wrongly, and of all elements in their own order gives zeros where nobody asks for the
    places."""
    data, axis = required(node, 0), node.attributes.get("axis")
    dtype, order = dtype_of(node, data), [0]
    if axis is None:
        data = vector(op, data)
    elif axis_of(node, axis, rank_of(node, data)):
        order = list(range(rank_of(node, data)))
        order.insert(0, order.pop(axis_of(node, axis, len(order))))
        data = transpose(op, data, order)
    wide = convert(op, node, data, DType.INT32) if dtype.bits < 32 and not dtype.is_float else data
    found, *others = op.Unique(
        _with_some(op, node, wide),
        i64(op, 0),
        sorted=flag(node, "sorted", 1),
        index_element_type="i64",
        count_element_type="i64",
        _outputs=4,
    )
    if not _has_some(data):  # there are no more than were given
        sizes, none = shape_of(op, data), [0] * rank_of(node, data)
        every = i64(op, list(range(len(none))))
        found = op.Slice(found, i64(op, none), sizes, i64(op, [1] * len(none)), every)
        others = [slice_axis(op, each, 0, slice_axis(op, sizes, 0, 1)) for each in others]
    found = transpose(op, convert(op, node, found, dtype), np.argsort(order).tolist())
    return (found, *others)[: len(node.outputs)]


def _has_some(data: Value) -> bool:
    """Whether there certainly are elements."""
    return data.tensor.static_shape is not None and 0 not in data.tensor.static_shape


def _with_some(op: Builder, node: Node, data: Value) -> Value:
    """Zeros where there are no elements, as many as it takes for each axis to have one: OpenVINO's CPU leaves open
    how many of none are unique, which fails in the layers behind."""
    if _has_some(data):
        return data
    missing = op.Maximum(op.Subtract(i64(op, 1), shape_of(op, data)), i64(op, 0))
    return op.Pad(data, i64(op, [0] * rank_of(node, data)), missing, number(op, node, 0, data), pad_mode="constant")


def _just_above(op: Builder, overlap: Value | None) -> Value:
    """The next larger float: OpenVINO's CPU drops boxes that overlap by the threshold, ONNX those by more than it."""
    if overlap is None or overlap.data is not None:
        known = np.float32(0) if overlap is None or overlap.data is None else overlap.data.numpy().reshape(())
        above = np.nextafter(known.astype(np.float32), np.float32(math.inf))
        return op.const(np.maximum(above, np.finfo(np.float32).smallest_normal))
    threshold = scalar(op, overlap)
    more = op.Multiply(threshold, op.const(np.float32(0.6 * 2**-23)))
    return op.Maximum(op.Add(threshold, more), op.const(np.finfo(np.float32).smallest_normal))


def _not_negative(op: Builder, most: Value) -> Value:
    """How many boxes of each class are kept; below 0 it is none, of which OpenVINO's CPU makes some, or an error."""
    known = ints(most)
    if known is not None:
        return i64(op, max(*known, 0))
    return op.Maximum(scalar(op, most), i64(op, 0))


@rule("", "NonMaxSuppression")
def non_max_suppression(op: Builder, node: Node) -> Value:
    boxes, scores = required(node, 0), required(node, 1)
    most, overlap, least = node.input(2), node.input(3), node.input(4)
    return op.NonMaxSuppression(
        with_size(op, boxes, 2, 4),
        scores,
        i64(op, 0) if most is None else _not_negative(op, most),
        _just_above(op, overlap),
        op.const(np.float32(-math.inf)) if least is None else scalar(op, least),
        box_encoding="center" if flag(node, "center_point_box") else "corner",
        sort_result_descending=False,
        output_type="i64",
        _outputs=3,
    )[0]


@rule("", "Einsum")
def einsum(op: Builder, node: Node) -> Value:
    return op.Einsum(*node.inputs, equation=node.attributes["equation"].replace(" ", ""))


RULES = collect(globals())
