"""Hub -> HLO: what gives elements another position: reshapes, transposes, slices, pads, gathers and scatters.

HLO clamps indices that are out of bounds and drops updates there; ONNX has neither.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ....passes.errors import InvalidModel, Unsupported
from ....passes.graph import Graph, Node, Value
from ....passes.preconditions import axis_of, dtype_of, flag, rank_of, required
from ....passes.rewrite import Builder, collect, rule
from ....passes.sizes import is_below, largest
from ....passes.slices import slice_range
from ....passes.types import DType
from ..text.tree import SliceDim
from .declared import declared_result, is_moving
from .open_sizes import items_of
from .positions import moving_pad, moving_slice
from .tools import (
    Results,
    applied,
    binary,
    broadcast,
    broadcast_to,
    compare,
    concatenate,
    constant,
    fill,
    ints_of,
    iota,
    joint_sizes,
    like,
    negative_counted,
    one_of,
    pad,
    pick,
    reshape,
    scalar,
    second,
    sizes_of,
    slice_axis,
    slice_dims,
    take,
    transpose,
    word,
)


@rule("", "Shape")
def shape(op: Builder, node: Node) -> Value:
    have = sizes_of(node, required(node, 0))
    part = slice(node.attributes.get("start", 0), node.attributes.get("end"))
    return constant(op, have[part], DType.INT64)


@rule("", "Reshape")
def reshaped(op: Builder, node: Node) -> Value:
    x = required(node, 0)
    wanted = ints_of(node, 1, "sizes")
    have = sizes_of(node, x)
    assert wanted is not None
    if not flag(node, "allowzero"):
        if any(size == 0 and at >= len(have) for at, size in enumerate(wanted)):
            raise InvalidModel(f"{node!r}: a size of 0 has no dimension of {list(have)}")
        wanted = [have[at] if size == 0 else size for at, size in enumerate(wanted)]
    rest = math.prod(size for size in wanted if size != -1)
    if -1 in wanted:
        wanted = [math.prod(have) // max(rest, 1) if size == -1 else size for size in wanted]
    before, after = math.prod(have), math.prod(wanted)
    if before != after and not isinstance(before, str) and not isinstance(after, str):
        raise InvalidModel(f"{node!r}: {list(have)} doesn't have as many elements as {wanted}")
    return reshape(op, x, wanted)


@rule("", "Squeeze", "Unsqueeze")
def resized(op: Builder, node: Node) -> Value:
    """Dimensions of size 1 taken away or put in."""
    x = required(node, 0)
    have = sizes_of(node, x)
    axes = ints_of(node, 1, "axes")
    if node.op_type == "Squeeze":
        if axes is None and any(isinstance(size, str) for size in have):
            raise Unsupported(node, f"which of the sizes {list(have)} are 1 is known only when the model runs")
        gone = [at for at, size in enumerate(have) if size == 1] if axes is None else axes
        gone = [axis_of(node, axis, len(have)) for axis in gone]
        if any(have[axis] != 1 and not isinstance(have[axis], str) for axis in gone):
            raise InvalidModel(f"{node!r}: {list(have)} isn't of size 1 along {gone}")
        return reshape(op, x, [size for at, size in enumerate(have) if at not in gone])
    assert axes is not None
    rank = len(have) + len(axes)
    new = {axis_of(node, axis, rank) for axis in axes}
    sizes = iter(have)
    return reshape(op, x, [1 if at in new else next(sizes) for at in range(rank)])


@rule("", "Transpose")
def transposed(op: Builder, node: Node) -> Value:
    x = required(node, 0)
    order = node.attributes.get("perm")
    return transpose(op, x, list(range(rank_of(node, x)))[::-1] if order is None else order)


@rule("", "Expand")
def expand(op: Builder, node: Node) -> Value:
    x = required(node, 0)
    wanted = ints_of(node, 1, "sizes")
    assert wanted is not None
    return broadcast_to(op, node, x, joint_sizes(node, [sizes_of(node, x), wanted]))


@rule("", "Concat")
def concat(op: Builder, node: Node) -> Value:
    values = [value for value in node.inputs if value is not None]
    axis = axis_of(node, node.attributes["axis"], rank_of(node, values[0]))
    return concatenate(op, values, axis)


@rule("", "Slice")
def slice_(op: Builder, node: Node) -> Value:
    """A slice forwards; backwards its elements turned round."""
    x = required(node, 0)
    have = sizes_of(node, x)
    if any(map(is_moving, node.inputs[1:])):
        return moving_slice(op, node, x)
    axes = ints_of(node, 3, "axes")
    starts, ends = ints_of(node, 1, "starts"), ints_of(node, 2, "ends")
    steps = ints_of(node, 4, "steps")
    assert starts is not None and ends is not None
    axes = list(range(len(starts))) if axes is None else [axis_of(node, axis, len(have)) for axis in axes]
    dims = [SliceDim(0, size) for size in have]
    back: list[int] = []
    for axis, start, end, step in zip(axes, starts, ends, steps or [1] * len(starts), strict=True):
        if step == 0:
            raise InvalidModel(f"{node!r}: a step of 0")
        if any(isinstance(number, str) for number in (start, end, have[axis])):
            dims[axis] = _open_slice(start, end, step, have[axis])
            back += [axis] if step < 0 else []
            continue
        indices = slice_range(start, end, step, have[axis])
        if step < 0:
            indices = indices[::-1]
            back += [axis] if len(indices) > 1 else []
        step = abs(step) if len(indices) > 1 else 1
        first = indices[0] if indices else 0
        dims[axis] = SliceDim(first, indices[-1] + 1 if indices else 0, step)
    x = slice_dims(op, node, x, dims)
    return op.reverse(x, dimensions=tuple(sorted(back))) if back else x


_NO_END = 2**31 - 1
"""Ends from here on, on both sides, are beyond every axis."""


def _open_slice(start: int, end: int, step: int, size: int) -> SliceDim:
    """What `[start:end:step]` takes of an axis where one of these is open, forwards."""
    if step > 0:
        first, last = (_position(at, size, 0, size) for at in (start, end))
        return SliceDim(first, largest(first, last), step)
    if not isinstance(start, str) and start <= -_NO_END:
        start = 0
    first, last = _position(start, size, 0, size - 1), _position(end, size, -1, size - 1)
    count = largest(0, (first - last - step - 1) // -step)
    span = largest(0, (count - 1) * -step + 1)  # from the last element that is taken to the first one
    return SliceDim(first + 1 - span, first + 1, -step)


def _position(at: int, size: int, lowest: int, highest: int) -> int:
    """Where an axis is entered or left: between these places, at the highest one where they cross. Of two sizes the
    smaller one is their sum without the larger one, so that what is taken away from it is certain not to be
    negative."""
    if not isinstance(at, str) and at >= _NO_END:
        return highest
    if not isinstance(at, str) and at <= -_NO_END:
        return lowest
    at = largest(lowest, at + size if at < 0 else at)
    return at + highest - largest(at, highest)


@rule("", "Pad")
def padded(op: Builder, node: Node) -> Value:
    x = required(node, 0)
    if is_moving(required(node, 1)) or is_moving(node.input(3)):
        return moving_pad(op, node, x)
    have, rank = sizes_of(node, x), rank_of(node, x)
    pads, axes = ints_of(node, 1, "pads"), ints_of(node, 3, "axes")
    assert pads is not None
    axes = list(range(rank)) if axes is None else [axis_of(node, axis, rank) for axis in axes]
    if len(pads) != 2 * len(axes):
        raise InvalidModel(f"{node!r}: {len(pads)} pads for {len(axes)} axes")
    ends = {axis: (pads[at], pads[at + len(axes)]) for at, axis in enumerate(axes)}
    mode = word(node, "mode", "constant")
    if mode == "constant":
        filling = node.input(2)
        value = scalar(op, 0, dtype_of(node, x)) if filling is None else reshape(op, filling, ())
        return pad(op, x, value, [ends.get(axis, (0, 0)) for axis in range(rank)])
    for axis, (low, high) in ends.items():
        if any(isinstance(size, str) for size in (low, high, have[axis])):
            x = _open_ends(op, node, x, axis, low, high)
            continue
        indices = np.arange(max(-low, 0), have[axis] - max(-high, 0))
        if not indices.size and max(low, high) > 0:
            raise Unsupported(node, f"it pads an empty axis {axis}")
        style = {"reflect": "reflect", "edge": "edge", "wrap": "wrap"}.get(mode)
        if style is None:
            raise Unsupported(node, f"mode={mode!r}")
        widened = np.pad(indices, (max(low, 0), max(high, 0)), mode=style)  # type: ignore[call-overload]
        x = pick(op, node, x, axis, widened.tolist())
    return x


def _open_ends(op: Builder, node: Node, x: Value, axis: int, low: int, high: int) -> Value:
    """The first and the last element repeated at an axis whose size is open; other modes need more than these."""
    mode, have = word(node, "mode", "constant"), sizes_of(node, x)
    if (low, high) == (0, 0):
        return x
    if mode != "edge" or is_below(low, 0) is not False or is_below(high, 0) is not False:
        raise Unsupported(node, f"with mode={mode!r} it pads axis {axis}, whose size {have[axis]} is open")
    parts: list[Value] = []
    for at, count in ((0, low), (have[axis] - 1, high)):
        one = slice_axis(op, node, x, axis, at, at + 1)
        parts.append(broadcast_to(op, node, one, [*have[:axis], count, *have[axis + 1 :]]))
    return concatenate(op, [parts[0], x, parts[1]], axis)


# made of nothing ----------------------------------------------------------------------------------


@rule("", "Range")
def range_(op: Builder, node: Node) -> Value:
    """Of constants, longer than what is folded, and of sizes."""
    parts = [required(node, index) for index in range(3)]
    known = [items_of(value) for value in parts]
    if any(value.data is None for value in parts) and None not in known:
        first, last, by = (items[0] for items in known if items is not None)
        count = largest(0, (last - first + by - 1) // by if by > 0 else (first - last - by - 1) // -by)
        index = iota(op, (count,), 0, dtype_of(node, parts[0]))
        return op.add(op.multiply(index, like(op, node, by, index)), like(op, node, first, index))
    start, limit, step = (value.data for value in parts)
    if start is None or limit is None or step is None:
        index = iota(op, declared_result(op, node, 1), 0, dtype_of(node, parts[0]))
        first, by = (fill(op, reshape(op, one, ()), sizes_of(node, index)) for one in (parts[0], parts[2]))
        return op.add(op.multiply(index, by), first)
    first, last, by = (data.numpy().reshape(()).item() for data in (start, limit, step))
    count = max(math.ceil((last - first) / by), 0)
    index = iota(op, (count,), 0, start.dtype)
    return op.add(op.multiply(index, like(op, node, by, index)), like(op, node, first, index))


@rule("", "NonZero", "Unique", "Compress", "NonMaxSuppression")
def data_dependent(op: Builder, node: Node) -> Results:
    raise Unsupported(node, "the sizes of its result are known only when the model runs")


@rule("", "Gather")
def gather(op: Builder, node: Node) -> Value:
    """Slices where the indices are known and make few runs, a dynamic slice for one that isn't known, else a gather."""
    x, indices = required(node, 0), required(node, 1)
    have = sizes_of(node, x)
    axis = axis_of(node, node.attributes.get("axis", 0), len(have))
    known = indices.array()
    items = items_of(indices) if known is None else known.reshape(-1).tolist()
    if items and rank_of(node, indices) <= 1:
        positions = [index + have[axis] if is_below(index, 0) else index for index in items]
        if all(is_below(-1, index) and is_below(index, have[axis]) for index in positions):
            picked = pick(op, node, x, axis, positions)
            return picked if indices.rank else reshape(op, picked, have[:axis] + have[axis + 1 :])
    return take(op, node, x, axis, negative_counted(op, node, indices, have[axis]))


@rule("", "GatherElements")
def gather_elements(op: Builder, node: Node) -> Value:
    """The other dimensions go along with the indices', of which there may be fewer."""
    x, indices = required(node, 0), required(node, 1)
    wanted, rank = sizes_of(node, indices), rank_of(node, x)
    axis = axis_of(node, node.attributes.get("axis", 0), rank)
    size = sizes_of(node, x)[axis]
    for at in range(rank):
        if at != axis:
            x = slice_axis(op, node, x, at, 0, wanted[at])
    return along(op, x, negative_counted(op, node, indices, size), axis)


def along(op: Builder, x: Value, indices: Value, axis: int) -> Value:
    """`numpy.take_along_axis`: as many other dimensions of the same sizes, indices not negative."""
    rank = x.rank or 0
    others = tuple(at for at in range(rank) if at != axis)
    return op.gather(
        x,
        indices,
        offset_dims=(),
        collapsed_slice_dims=(axis,),
        start_index_map=(axis,),
        operand_batching_dims=others,
        start_indices_batching_dims=others,
        index_vector_dim=rank,
        slice_sizes=tuple(map(one_of, x.tensor.shape or ())),
    )


def _from_front(op: Builder, node: Node, indices: Value, sizes: tuple[int, ...]) -> Value:
    """Vectors of indices (along the last dimension) into dimensions of these sizes, counted from the front."""
    shape = sizes_of(node, indices)
    dtype = dtype_of(node, indices)
    known = indices.array()
    if known is not None and (known >= 0).all():
        return indices
    whole = broadcast(op, constant(op, sizes, dtype), shape, (len(shape) - 1,))
    return op.select(compare(op, indices, like(op, node, 0, indices), "LT"), op.add(indices, whole), indices)


@rule("", "GatherND")
def gather_nd(op: Builder, node: Node) -> Value:
    x, indices = required(node, 0), required(node, 1)
    have, shape = sizes_of(node, x), sizes_of(node, indices)
    batch = node.attributes.get("batch_dims", 0)
    parts = shape[-1]
    indexed = tuple(range(batch, batch + parts))
    kept = len(have) - batch - parts
    slices = tuple(one_of(size) if at < batch + parts else size for at, size in enumerate(have))
    first = len(shape) - 1
    return op.gather(
        x,
        _from_front(op, node, indices, have[batch : batch + parts]),
        offset_dims=tuple(range(first, first + kept)),
        collapsed_slice_dims=indexed,
        start_index_map=indexed,
        operand_batching_dims=tuple(range(batch)) or None,
        start_indices_batching_dims=tuple(range(batch)) or None,
        index_vector_dim=first,
        slice_sizes=slices,
    )


# scatters -----------------------------------------------------------------------------------------

_REDUCTIONS = {"add": "add", "mul": "multiply", "max": "maximum", "min": "minimum"}


def _combining(op: Builder, node: Node, dtype: DType) -> Graph:
    """What a scatter does with what is there and an update."""
    reduction = word(node, "reduction", "none")
    if reduction != "none":
        if reduction not in _REDUCTIONS:
            raise Unsupported(node, f"reduction={reduction!r}")
        return binary(op, _REDUCTIONS[reduction], dtype)
    return second(op, dtype)


def _scatter(op: Builder, node: Node, values: list[Value], **attributes: Any) -> Value:
    combine = _combining(op, node, dtype_of(node, values[0]))
    return applied(op, "scatter", {"to_apply": combine}, values, **attributes)


@rule("", "ScatterElements")
def scatter_elements(op: Builder, node: Node) -> Value:
    """Dimensions of the same sizes go along; along others the position is a part of the index."""
    x, indices, updates = (required(node, index) for index in range(3))
    have, shape = sizes_of(node, x), sizes_of(node, indices)
    axis = axis_of(node, node.attributes.get("axis", 0), len(have))
    if 0 in shape:
        return x
    mapped = [at for at in range(len(have)) if at == axis or have[at] != shape[at]]
    along_ = tuple(at for at in range(len(have)) if at not in mapped)
    indices = negative_counted(op, node, indices, have[axis])
    parts = [indices if at == axis else iota(op, shape, at, dtype_of(node, indices)) for at in mapped]
    rank = len(shape)
    vectors = concatenate(op, [reshape(op, part, (*shape, 1)) for part in parts], rank) if len(parts) > 1 else parts[0]
    return _scatter(
        op,
        node,
        [x, vectors, updates],
        update_window_dims=(),
        inserted_window_dims=tuple(mapped),
        scatter_dims_to_operand_dims=tuple(mapped),
        **_along(along_),
        index_vector_dim=rank,
    )


def _along(dims: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
    return {"input_batching_dims": dims, "scatter_indices_batching_dims": dims} if dims else {}


@rule("", "ScatterND")
def scatter_nd(op: Builder, node: Node) -> Value:
    x, indices, updates = (required(node, index) for index in range(3))
    have, shape = sizes_of(node, x), sizes_of(node, indices)
    parts, first = shape[-1], len(shape) - 1
    if 0 in shape[:-1]:
        return x
    return _scatter(
        op,
        node,
        [x, _from_front(op, node, indices, have[:parts]), updates],
        update_window_dims=tuple(range(first, first + len(have) - parts)),
        inserted_window_dims=tuple(range(parts)),
        scatter_dims_to_operand_dims=tuple(range(parts)),
        index_vector_dim=first,
    )


RULES = collect(globals())
