"""Operators that choose, place, sort or find elements by index."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .base import Array, Attributes, Kernel, expect_shape, filled, normal_axis, scalar, to_ints


def gather(attrs: Attributes, x: Array, indices: Array) -> Array:
    return np.take(x, indices, axis=normal_axis(attrs.int("axis"), x.ndim))


def _along(indices: Array, axis: int) -> tuple[Array, ...]:
    """The index that takes, at each place of `indices`, its value on `axis` and its own place on the others."""
    grid: list[Array] = list(np.indices(indices.shape, sparse=True))
    grid[axis] = indices
    return tuple(grid)


def gather_elements(attrs: Attributes, x: Array, indices: Array) -> Array:
    return x[_along(indices, normal_axis(attrs.int("axis"), x.ndim))]


def gather_nd(attrs: Attributes, x: Array, indices: Array) -> Array:
    """Index tuples stand along the last axis; the first `batch_dims` axes of both go together."""
    batch = attrs.int("batch_dims", 0)
    if indices.shape[-1] > x.ndim - batch:
        raise ValueError(f"index tuples of {indices.shape[-1]} for {x.ndim - batch} axes")
    if indices.shape[:batch] != x.shape[:batch]:  # ONNX Runtime repeats the data of fewer batches
        raise ValueError(f"batches {list(indices.shape[:batch])} of indices for {list(x.shape[:batch])} of data")
    rank = indices.ndim - 1
    grid = [np.arange(x.shape[axis]).reshape((-1,) + (1,) * (rank - axis - 1)) for axis in range(batch)]
    return x[(*grid, *np.moveaxis(indices, -1, 0))]


_SCATTER: dict[str, Callable[..., Any]] = {
    "add": np.add.at,
    "mul": np.multiply.at,
    "max": np.maximum.at,
    "min": np.minimum.at,
}


def _place(attrs: Attributes, x: Array, index: tuple[Array, ...], updates: Array) -> Array:
    result = x.copy()
    reduction = attrs.string("reduction", "none")
    if reduction == "none":
        result[index] = updates
    else:
        _SCATTER[reduction](result, index, updates)
    return result


def scatter_elements(attrs: Attributes, x: Array, indices: Array, updates: Array) -> Array:
    """With several updates of one place and no reduction, the last one counts (ONNX leaves it undefined)."""
    if indices.shape != updates.shape:
        raise ValueError(f"indices {list(indices.shape)} and updates {list(updates.shape)} differ in shape")
    return _place(attrs, x, _along(indices, normal_axis(attrs.int("axis"), x.ndim)), updates)


def scatter_nd(attrs: Attributes, x: Array, indices: Array, updates: Array) -> Array:
    """`updates` has the shape of the index tuples and of the slices they name."""
    expected = indices.shape[:-1] + x.shape[indices.shape[-1] :]
    if updates.shape != expected:
        raise ValueError(f"updates {list(updates.shape)}, expected {list(expected)}")
    return _place(attrs, x, tuple(np.moveaxis(indices, -1, 0)), updates)


def tensor_scatter(attrs: Attributes, cache: Array, update: Array, starts: Array | None = None) -> Array:
    """Writes `update` into each batch entry of `cache` at its start, round the end when circular."""
    axis = normal_axis(attrs.int("axis"), cache.ndim)
    length, count = cache.shape[axis], update.shape[axis]
    first = np.zeros(cache.shape[0], np.int64) if starts is None else starts
    expect_shape("update", update, (*cache.shape[:axis], count, *cache.shape[axis + 1 :]))
    expect_shape("write_indices", first, (cache.shape[0],))
    places = first[:, None] + np.arange(count)
    if attrs.string("mode") == "circular":
        places = places % length
    elif np.any((places < 0) | (places >= length)):
        raise ValueError(f"writes beyond the {length} entries of axis {axis}")
    result = np.moveaxis(cache, axis, 1).copy()
    result[np.arange(cache.shape[0])[:, None], places] = np.moveaxis(update, axis, 1)
    return np.moveaxis(result, 1, axis)


def non_zero(_: Attributes, x: Array) -> Array:
    """Indices of the elements that aren't zero, (rank, count)."""
    if x.ndim == 0:
        return np.zeros((0, int(bool(x != filled((), x.dtype)))), np.int64)
    return np.array(np.nonzero(x != filled((), x.dtype)), np.int64)


def one_hot(attrs: Attributes, indices: Array, depth: Array, values: Array) -> Array:
    """`values` is [off, on]; indices outside [-depth, depth) are off everywhere."""
    size = int(scalar(depth))
    expect_shape("values", values, (2,))
    if size < 0:
        raise ValueError(f"depth is {size}")
    chosen = indices.astype(np.int64)
    chosen = np.where(chosen < 0, chosen + size, chosen)
    axis = normal_axis(attrs.int("axis"), indices.ndim + 1)
    classes = np.arange(size).reshape((-1,) + (1,) * (indices.ndim - axis))
    return np.where(np.expand_dims(chosen, axis) == classes, values[1], values[0]).astype(values.dtype, copy=False)


def top_k(attrs: Attributes, x: Array, k: Array | None = None) -> tuple[Array, Array]:
    """The k largest (smallest) along an axis, in order, equal ones by index; NaN counts as the largest."""
    count = attrs.int("k") if k is None else int(scalar(k))
    axis = normal_axis(attrs.int("axis"), x.ndim)
    length = x.shape[axis]
    if not 0 <= count <= length:
        raise ValueError(f"k is {count} for an axis of {length}")
    if attrs.int("largest", 1):
        order = length - 1 - np.flip(np.argsort(np.flip(x, axis), axis=axis, kind="stable"), axis)
    else:
        order = np.argsort(x, axis=axis, kind="stable")
    indices = np.take(order, np.arange(count), axis=axis).astype(np.int64)
    return np.take_along_axis(x, indices, axis=axis), indices


def unique(attrs: Attributes, x: Array) -> tuple[Array, Array, Array, Array]:
    """Distinct elements, or distinct subtensors along `axis`: values, first places, inverse, counts."""
    if attrs.has("axis"):
        axis = normal_axis(attrs.int("axis"), x.ndim)
        moved = np.moveaxis(x, axis, 0)
        rows = [tuple(row) for row in moved.reshape(len(moved), math.prod(moved.shape[1:])).tolist()]
        first, inverse, counts = _distinct(rows)
    else:
        axis, x = 0, x.reshape(-1)
        _, first, inverse, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
    if not attrs.flag("sorted"):
        order = np.argsort(first, kind="stable")
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        first, inverse, counts = first[order], place[inverse.reshape(-1)], counts[order]
    as_int = [value.astype(np.int64).reshape(-1) for value in (first, inverse, counts)]
    return np.take(x, as_int[0], axis=axis), as_int[0], as_int[1], as_int[2]


def _distinct(rows: list[tuple[Any, ...]]) -> tuple[Array, Array, Array]:
    """np.unique's index, inverse and counts for a list of rows."""
    found: dict[tuple[Any, ...], list[int]] = {}
    for index, row in enumerate(rows):
        found.setdefault(row, []).append(index)
    groups = [found[row] for row in sorted(found)]
    inverse = np.zeros(len(rows), np.int64)
    for number, group in enumerate(groups):
        inverse[group] = number
    first = np.array([group[0] for group in groups], np.int64)
    return first, inverse, np.array([len(group) for group in groups], np.int64)


def compress(attrs: Attributes, x: Array, condition: Array) -> Array:
    """What the condition has more than the axis has elements is left out, as in ONNX Runtime."""
    axis = normal_axis(attrs.int("axis"), x.ndim) if attrs.has("axis") else None
    return np.compress(condition[: x.size if axis is None else x.shape[axis]], x, axis=axis)


def array_feature_extractor(_: Attributes, x: Array, indices: Array) -> Array:
    """Columns of the last axis; a vector gives one row."""
    chosen = np.take(x, to_ints(indices), axis=-1)
    return chosen.reshape(1, -1) if x.ndim == 1 else chosen


TABLE: dict[str, Kernel] = {
    "Gather": gather,
    "GatherElements": gather_elements,
    "GatherND": gather_nd,
    "Scatter": scatter_elements,
    "ScatterElements": scatter_elements,
    "ScatterND": scatter_nd,
    "TensorScatter": tensor_scatter,
    "NonZero": non_zero,
    "OneHot": one_hot,
    "TopK": top_k,
    "Unique": unique,
    "Compress": compress,
}
ML_TABLE: dict[str, Kernel] = {"ArrayFeatureExtractor": array_feature_extractor}
