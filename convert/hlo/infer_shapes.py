"""Shape inference of the HLO opcodes that move elements: broadcast to scatter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from ...passes.graph import Node
from ...passes.types import Dim, DType, Interval, Shape, TensorType
from .infer_tools import (
    Found,
    arity,
    axes,
    axis,
    bound,
    check_parameters,
    check_results,
    count,
    ints,
    items,
    joint_dim,
    number,
    operand,
    operands,
    refuse,
    same_dim,
    same_shape,
    scalar_index,
    sized,
    stated,
    text,
)
from .text.tree import PadDim, SliceDim


def _iota(node: Node) -> Found:
    arity(node, 0)
    found = stated(node)
    axis(node, found.rank or 0, "iota_dimension")
    return [found]


def _broadcast(node: Node) -> Found:
    arity(node, 1)
    dtype, shape = operand(node)
    result = stated(node)
    assert result.shape is not None
    dims = axes(node, "dimensions", len(result.shape), () if not shape else None)
    if len(dims) != len(shape):
        refuse(node, f"dimensions has {len(dims)} entries for an operand of rank {len(shape)}")
    for at, dim in zip(dims, shape, strict=True):
        if not same_dim(result.shape[at], dim):
            refuse(node, f"{text(TensorType(dtype, shape))} doesn't fit into {text(result)} by dimensions")
    return [TensorType(dtype, result.shape)]


def _reshape(node: Node) -> Found:
    """`reshape` and `dynamic-reshape`: the stated shape, which must have as many elements."""
    dtype, shape = operand(node)
    result = stated(node)
    assert result.shape is not None
    before, after = count(shape), count(result.shape)
    if node.op_type == "reshape":
        arity(node, 1)
    else:
        arity(node, 1 + len(result.shape))
        for index in range(1, len(node.inputs)):
            scalar_index(node, index)
    if before is not None and after is not None and before != after:
        refuse(node, f"{text(TensorType(dtype, shape))} doesn't have as many elements as {text(result)}")
    return [TensorType(dtype, result.shape)]


def _bitcast(node: Node) -> Found:
    """The stated type, which must have as many bits."""
    arity(node, 1)
    dtype, shape = operand(node)
    result = stated(node)
    assert result.shape is not None and result.dtype is not None
    before, after = count(shape), count(result.shape)
    if before is not None and after is not None and before * dtype.bits != after * result.dtype.bits:
        refuse(node, f"{text(TensorType(dtype, shape))} doesn't have as many bits as {text(result)}")
    return [result]


def _transpose(node: Node) -> Found:
    arity(node, 1)
    dtype, shape = operand(node)
    order = axes(node, "dimensions", len(shape), () if not shape else None)
    if len(order) != len(shape):
        refuse(node, f"dimensions={{{','.join(map(str, order))}}} is no order of {len(shape)} dimensions")
    return [TensorType(dtype, tuple(shape[at] for at in order))]


def _reverse(node: Node) -> Found:
    arity(node, 1)
    dtype, shape = operand(node)
    axes(node, "dimensions", len(shape))
    return [TensorType(dtype, shape)]


def _concatenate(node: Node) -> Found:
    types = operands(node)
    if not types:
        refuse(node, "it has no operands")
    dtype, shape = types[0]
    at = axis(node, len(shape))
    dims, total = list(shape), [shape[at]]
    for other, more in types[1:]:
        fits = len(more) == len(shape) and all(
            same_dim(a, b) for index, (a, b) in enumerate(zip(dims, more, strict=True)) if index != at
        )
        if other is not dtype or not fits:
            first, second = text(TensorType(dtype, shape)), text(TensorType(other, more))
            refuse(node, f"operands {first} and {second} don't fit along dimension {at}")
        total.append(more[at])
        dims = list(map(joint_dim, dims, more))
    sizes = [bound(dim) for dim in total]
    fixed = [size for size in sizes if size is not None]
    dynamic = any(isinstance(dim, Interval) for dim in total)
    size = sum(fixed) if len(fixed) == len(sizes) else None
    dims[at] = Interval(0, size) if dynamic and size is not None else size
    return [TensorType(dtype, tuple(dims))]


def _slice(node: Node) -> Found:
    arity(node, 1)
    dtype, shape = operand(node)
    result: list[Dim] = []
    for at, (dim, part) in enumerate(zip(shape, items(node, "slice", SliceDim, len(shape)), strict=True)):
        size = bound(dim)
        if not 0 <= part.start <= part.limit or part.stride < 1 or (size is not None and part.limit > size):
            refuse(
                node, f"[{part.start}:{part.limit}:{part.stride}] of dimension {at} of {text(TensorType(dtype, shape))}"
            )
        whole = part.start == 0 and part.limit == size and part.stride == 1
        result.append(dim if whole else -((part.start - part.limit) // part.stride))
    return [TensorType(dtype, tuple(result))]


def _starts(node: Node, first: int, rank: int) -> None:
    """The indices of a dynamic slice: a scalar for each dimension, or (in old files) all of them in one vector."""
    rest = len(node.inputs) - first
    if rest == 1 and len(operand(node, first)[1]) == 1:
        dtype, shape = operand(node, first, 1)
        if not dtype.is_integer or not same_dim(shape[0], rank):
            refuse(node, f"indices of type {text(TensorType(dtype, shape))} for rank {rank}")
        return
    if rest != rank:
        refuse(node, f"{rest} indices for an array of rank {rank}")
    for index in range(first, len(node.inputs)):
        scalar_index(node, index)


def _check_sizes_within(node: Node, sizes: Sequence[Dim], shape: Shape, what: str) -> None:
    for at, (size, dim) in enumerate(zip(sizes, shape, strict=True)):
        here, most = bound(size), bound(dim)
        if here is not None and (here < 0 or (most is not None and here > most)):
            refuse(node, f"{what} of size {here} along dimension {at} of size {most}")


def _dynamic_slice(node: Node) -> Found:
    dtype, shape = operand(node)
    sizes = ints(node, "dynamic_slice_sizes", () if not shape else None)
    if len(sizes) != len(shape):
        refuse(node, f"dynamic_slice_sizes has {len(sizes)} entries for rank {len(shape)}")
    _starts(node, 1, len(shape))
    _check_sizes_within(node, sizes, shape, "a slice")
    return [TensorType(dtype, sizes)]


def _dynamic_update_slice(node: Node) -> Found:
    dtype, shape = operand(node)
    other, part = operand(node, 1, len(shape))
    if other is not dtype:
        refuse(node, f"{text(TensorType(other, part))} doesn't fit into {text(TensorType(dtype, shape))}")
    _starts(node, 2, len(shape))
    _check_sizes_within(node, part, shape, "an update")
    return [TensorType(dtype, shape)]


def _pad(node: Node) -> Found:
    arity(node, 2)
    (dtype, shape), (other, _) = operand(node), operand(node, 1, 0)
    if other is not dtype:
        refuse(node, "what it pads with has another element type")
    result: list[Dim] = []
    for at, (dim, pad) in enumerate(zip(shape, items(node, "padding", PadDim, len(shape)), strict=True)):
        size = bound(dim)
        if size is not None:
            size += pad.low + pad.high + max(size - 1, 0) * pad.interior
        if pad.interior < 0 or (size is not None and size < 0):
            refuse(node, f"padding {pad.low}_{pad.high}_{pad.interior} of dimension {at} of size {bound(dim)}")
        result.append(sized(dim, size))
    return [TensorType(dtype, tuple(result))]


def _get_size(node: Node) -> Found:
    arity(node, 1)
    axis(node, len(operand(node)[1]))
    return [TensorType(DType.INT32, ())]


def _set_size(node: Node) -> Found:
    """The dimension is a bound afterwards, unless a constant says the whole size."""
    arity(node, 2)
    dtype, shape = operand(node)
    at = axis(node, len(shape))
    scalar_index(node, 1)
    most = bound(shape[at])
    value = node.inputs[1]
    size = None if value is None else value.array()
    fixed = size is not None and most is not None and int(size) == most
    dim: Dim = most if fixed else None if most is None else Interval(0, most)
    return [TensorType(dtype, (*shape[:at], dim, *shape[at + 1 :]))]


# gather and scatter ------------------------------------------------------------------------------


def _index_dims(node: Node, index: int, mapped: int) -> Shape:
    """The dimensions of the indices without the one that holds an index' parts, of which there must be `mapped`."""
    dtype, shape = operand(node, index)
    at = number(node, "index_vector_dim", len(shape))
    if not dtype.is_integer or not 0 <= at <= len(shape):
        refuse(node, f"indices {text(TensorType(dtype, shape))} with index_vector_dim={at}")
    parts: Dim = 1 if at == len(shape) else shape[at]
    if not same_dim(parts, mapped):
        refuse(node, f"indices have {bound(parts)} parts for {mapped} dimensions")
    return (*shape[:at], *shape[at + 1 :])


def _rising(node: Node, name: str, rank: int) -> tuple[int, ...]:
    found = axes(node, name, rank, ())
    if any(a > b for a, b in pairwise(found)):
        refuse(node, f"{name}={{{','.join(map(str, found))}}} isn't sorted")
    return found


def _batching(node: Node, shape: Shape, index: int, names: tuple[str, str]) -> tuple[int, ...]:
    """The dimensions of the array that go along with some of the indices', as checked."""
    indices = operand(node, index)[1]
    mine, theirs = (axes(node, name, len(dims), ()) for name, dims in zip(names, (shape, indices), strict=True))
    if len(mine) != len(theirs) or not all(same_dim(shape[a], indices[b]) for a, b in zip(mine, theirs, strict=True)):
        refuse(node, f"{names[0]} and {names[1]} don't match")
    if number(node, "index_vector_dim", len(indices)) in theirs:
        refuse(node, f"{names[1]} contains index_vector_dim")
    return mine


def _gather(node: Node) -> Found:
    arity(node, 2)
    dtype, shape = operand(node)
    rank = len(shape)
    mapped = axes(node, "start_index_map", rank)
    batch = _index_dims(node, 1, len(mapped))
    batching = _batching(node, shape, 1, ("operand_batching_dims", "start_indices_batching_dims"))
    collapsed = _rising(node, "collapsed_slice_dims", rank)
    sizes = ints(node, "slice_sizes", () if not rank else None)
    if len(sizes) != rank:
        refuse(node, f"slice_sizes has {len(sizes)} entries for rank {rank}")
    _check_sizes_within(node, sizes, shape, "a slice")
    gone = {*collapsed, *batching}
    if len(gone) < len(collapsed) + len(batching) or set(mapped) & set(batching):
        refuse(node, "a dimension is collapsed, batched or indexed twice")
    if any(sizes[at] > 1 for at in gone):
        refuse(node, "a collapsed or batched dimension has slices of more than one")
    kept = [size for at, size in enumerate(sizes) if at not in gone]
    offsets = _rising(node, "offset_dims", len(batch) + len(kept))
    if len(offsets) != len(kept):
        refuse(node, f"offset_dims has {len(offsets)} entries for {len(kept)} dimensions of a slice")
    return [TensorType(dtype, _interleaved(batch, kept, offsets))]


def _interleaved(batch: Shape, kept: Sequence[Dim], offsets: Sequence[int]) -> Shape:
    """`kept` at the positions `offsets`, `batch` at the others."""
    inside, outside = iter(kept), iter(batch)
    return tuple(next(inside) if at in offsets else next(outside) for at in range(len(batch) + len(kept)))


def _scatter(node: Node) -> Found:
    many = len(node.inputs) // 2
    if many < 1 or len(node.inputs) != 2 * many + 1:
        refuse(node, f"{len(node.inputs)} operands where it takes arrays, indices and as many updates")
    targets, updates = operands(node, 0, many), operands(node, many + 1)
    shape = targets[0][1]
    rank = len(shape)
    mapped = axes(node, "scatter_dims_to_operand_dims", rank)
    batch = _index_dims(node, many, len(mapped))
    batching = _batching(node, shape, many, ("input_batching_dims", "scatter_indices_batching_dims"))
    inserted = _rising(node, "inserted_window_dims", rank)
    gone = {*inserted, *batching}
    if len(gone) < len(inserted) + len(batching) or set(mapped) & set(batching):
        refuse(node, "a dimension is inserted, batched or indexed twice")
    inside = [dim for at, dim in enumerate(shape) if at not in gone]
    window = _rising(node, "update_window_dims", len(batch) + len(inside))
    if len(window) != len(inside):
        refuse(node, f"update_window_dims has {len(window)} entries for {len(inside)} dimensions of a window")
    for (dtype, dims), (other, update) in zip(targets, updates, strict=True):
        outside = [dim for at, dim in enumerate(update) if at not in window]
        fits = len(update) == len(batch) + len(window) and same_shape(tuple(outside), batch)
        if not fits or other is not dtype or not same_shape(dims, shape):
            refuse(node, f"updates {text(TensorType(other, update))} don't fit {text(TensorType(dtype, dims))}")
        _check_sizes_within(node, [update[at] for at in window], tuple(inside), "an update")
    scalars = [TensorType(dtype, ()) for dtype, _ in targets]
    combine = check_parameters(node, "to_apply", [*scalars, *scalars], "values")
    check_results(node, "to_apply", combine, scalars)
    return [TensorType(dtype, dims) for dtype, dims in targets]


MOVING: dict[str, Callable[[Node], Found]] = {
    "iota": _iota,
    "broadcast": _broadcast,
    "reshape": _reshape,
    "dynamic-reshape": _reshape,
    "bitcast": _bitcast,
    "transpose": _transpose,
    "reverse": _reverse,
    "concatenate": _concatenate,
    "slice": _slice,
    "dynamic-slice": _dynamic_slice,
    "dynamic-update-slice": _dynamic_update_slice,
    "pad": _pad,
    "get-dimension-size": _get_size,
    "set-dimension-size": _set_size,
    "gather": _gather,
    "scatter": _scatter,
}
