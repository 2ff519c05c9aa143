"""Windows that slide over an array: which elements each sees, and arrays of all that they see."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....passes.build import cast
from ....passes.graph import Value
from ....passes.rewrite import Builder
from ....passes.types import DType
from ..text.tree import WindowDim
from .views import WIDE, narrowed, sizes


def is_whole(dim: WindowDim) -> bool:
    """Whether a window sees one element of a dimension after the other, none left out."""
    return (dim.size, dim.stride, dim.low, dim.high, dim.lhs_dilate) == (1, 1, 0, 0, 1)


def count(size: int, dim: WindowDim) -> int:
    """How many places a window has along a dimension."""
    base = (size - 1) * dim.lhs_dilate + 1 if size else 0
    room = base + dim.low + dim.high - reach(dim)
    return room // dim.stride + 1 if room >= 0 else 0


def reach(dim: WindowDim) -> int:
    """How many elements a window spans along a dimension, with what it leaves out."""
    return (dim.size - 1) * dim.rhs_dilate + 1


def seen(size: int, dim: WindowDim) -> tuple[np.ndarray, np.ndarray]:
    """What the windows see of a dimension: indices [places, size of the window], and whether an element is there.

    Where none is (padding, and between elements that `lhs_dilate` puts apart) the index is 0.
    """
    place, part = np.ogrid[: count(size, dim), : dim.size]
    at = place * dim.stride + part * dim.rhs_dilate - dim.low
    there = (at >= 0) & (at <= (size - 1) * dim.lhs_dilate) & (at % dim.lhs_dilate == 0)
    return np.where(there, at // dim.lhs_dilate, 0), there


def gathered(op: Builder, value: Value, window: Sequence[WindowDim]) -> Value:
    """Each dimension's places and behind them what a window sees there; a dimension seen whole stays as it is."""
    shape, dtype = value.tensor.static_shape, value.tensor.dtype
    assert shape is not None and dtype is not None
    value = cast(op, value, WIDE.get(dtype, dtype))
    for axis in reversed(range(len(window))):
        if not is_whole(window[axis]):
            indices, _ = seen(shape[axis], window[axis])
            value = op.Gather(value, op.const(indices, DType.INT64), axis=axis)
    return narrowed(op, value, dtype) if dtype in WIDE else value


def inner_axes(window: Sequence[WindowDim]) -> list[int]:
    """The axes of `gathered` along which the elements of one window stand."""
    found: list[int] = []
    for axis, dim in enumerate(window):
        if not is_whole(dim):
            found.append(axis + len(found) + 1)
    return found


def present(op: Builder, shape: Sequence[int], window: Sequence[WindowDim]) -> Value | None:
    """Where `gathered` holds elements, to be broadcast to its shape; None where it does everywhere."""
    masks: list[np.ndarray] = []
    some = False
    rank = len(window) + len(inner_axes(window))
    axis = 0
    for size, dim in zip(shape, window, strict=True):
        if is_whole(dim):
            axis += 1
            continue
        _, there = seen(size, dim)
        some = some or not there.all()
        full = [1] * rank
        full[axis : axis + 2] = there.shape
        masks.append(there.reshape(full))
        axis += 2
    if not some:
        return None
    together = masks[0]
    for mask in masks[1:]:
        together = together & mask
    return op.const(together)


def padded(op: Builder, value: Value, dims: Sequence[tuple[int, int]], item: Value) -> Value:
    """`value` with `item` before and behind each dimension; negative numbers cut off."""
    if not any(low or high for low, high in dims):
        return value
    return op.Pad(value, sizes(op, [*(low for low, _ in dims), *(high for _, high in dims)]), item)


def sliding(dims: Sequence[WindowDim]) -> dict[str, list[int] | None]:
    """The attributes of ONNX's sliding windows, those left out that say nothing."""
    strides, dilations = [dim.stride for dim in dims], [dim.rhs_dilate for dim in dims]
    return {
        "kernel_shape": [dim.size for dim in dims],
        "strides": strides if max(strides) > 1 else None,
        "dilations": dilations if max(dilations) > 1 else None,
    }
