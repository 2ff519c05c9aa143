"""Hub -> HLO: gathers and scatters. HLO clamps what is out of bounds and drops updates there; ONNX has neither."""

from __future__ import annotations

from typing import Any

from ....passes.errors import Unsupported
from ....passes.graph import Graph, Node, Value
from ....passes.preconditions import axis_of, dtype_of, rank_of, required
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from .tools import (
    applied,
    binary,
    broadcast,
    compare,
    cut,
    iota,
    join,
    like,
    negative_counted,
    pick,
    reshape,
    second,
    sizes_of,
    take,
    word,
)


@rule("", "Gather")
def gather(op: Builder, node: Node) -> Value:
    """Slices where the indices are known and make few runs, a dynamic slice for one that isn't known, else a gather."""
    x, indices = required(node, 0), required(node, 1)
    have = sizes_of(node, x)
    axis = axis_of(node, node.attributes.get("axis", 0), len(have))
    known = indices.array()
    if known is not None and known.size and known.ndim <= 1:
        places = [place + have[axis] if place < 0 else place for place in known.reshape(-1).tolist()]
        if all(0 <= place < have[axis] for place in places):
            picked = pick(op, node, x, axis, places)
            return picked if known.ndim else reshape(op, picked, have[:axis] + have[axis + 1 :])
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
            x = cut(op, node, x, at, 0, wanted[at])
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
        slice_sizes=(1,) * rank,
    )


def _from_front(op: Builder, node: Node, indices: Value, sizes: tuple[int, ...]) -> Value:
    """Vectors of indices (along the last dimension) into dimensions of these sizes, counted from the front."""
    shape = sizes_of(node, indices)
    dtype = dtype_of(node, indices)
    known = indices.array()
    if known is not None and (known >= 0).all():
        return indices
    whole = broadcast(op, op.const(list(sizes), dtype), shape, (len(shape) - 1,))
    return op.select(compare(op, indices, like(op, node, 0, indices), "LT"), op.add(indices, whole), indices)


@rule("", "GatherND")
def gather_nd(op: Builder, node: Node) -> Value:
    x, indices = required(node, 0), required(node, 1)
    have, shape = sizes_of(node, x), sizes_of(node, indices)
    batch = node.attributes.get("batch_dims", 0)
    parts = shape[-1]
    indexed = tuple(range(batch, batch + parts))
    kept = len(have) - batch - parts
    slices = tuple(1 if at < batch + parts else size for at, size in enumerate(have))
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
    vectors = join(op, [reshape(op, part, (*shape, 1)) for part in parts], rank) if len(parts) > 1 else parts[0]
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
