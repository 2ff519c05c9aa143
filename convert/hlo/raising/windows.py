"""Windows that slide over an array: which elements each sees, and arrays of all that they see."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....passes.types import DType
from ..text.tree import WindowDim
from .arrays import Array, moved


def seen(size: int, dim: WindowDim) -> tuple[np.ndarray, np.ndarray]:
    """What the windows see of a dimension: indices [places, size of the window], and whether an element is there.

    Where none is (padding, and between elements that `lhs_dilate` puts apart) the index is 0.
    """
    place, part = np.ogrid[: dim.count(size), : dim.size]
    at = place * dim.stride + part * dim.rhs_dilate - dim.low
    there = (at >= 0) & (at <= (size - 1) * dim.lhs_dilate) & (at % dim.lhs_dilate == 0)
    return np.where(there, at // dim.lhs_dilate, 0), there


def gathered(x: Array, window: Sequence[WindowDim]) -> Array:
    """Each dimension's places and behind them what a window sees there; a dimension seen whole stays as it is."""
    shape = x.sizes_known

    def gather(found: Array) -> Array:
        for axis in reversed(range(len(window))):
            if not window[axis].is_whole:
                index = found.op.const(seen(shape[axis], window[axis])[0], DType.INT64)
                found = found.make(found.op.Gather(found, index, axis=axis))
        return found

    return moved(x, gather)


def inner_axes(window: Sequence[WindowDim]) -> list[int]:
    """The axes of `gathered` along which the elements of one window stand."""
    found: list[int] = []
    for axis, dim in enumerate(window):
        if not dim.is_whole:
            found.append(axis + len(found) + 1)
    return found


def present(like: Array, window: Sequence[WindowDim]) -> Array | None:
    """Where `gathered` holds elements of `like`, to be broadcast to its shape; None where it does everywhere."""
    mask = np.ones((), np.bool_)
    for size, dim in zip(like.sizes_known, window, strict=True):
        there = np.ones(1, np.bool_) if dim.is_whole else seen(size, dim)[1]
        mask = mask.reshape(*mask.shape, *[1] * there.ndim) & there
    return None if mask.all() else like.make(mask)


def padded(x: Array, window: Sequence[WindowDim], number: Array, front: int = 0) -> Array:
    """`x` with a scalar in the padding of a window that slides over the dimensions behind the first ones."""
    low, high = ([0] * front + [getattr(dim, side) for dim in window] for side in ("low", "high"))
    return x.pad(low, high, number)


def pads_of(window: Sequence[WindowDim]) -> list[int]:
    """As ONNX's operators have them."""
    return [dim.low for dim in window] + [dim.high for dim in window]


def sliding(dims: Sequence[WindowDim]) -> dict[str, list[int] | None]:
    """The attributes of ONNX's sliding windows, those left out that say nothing."""
    strides, dilations = [dim.stride for dim in dims], [dim.rhs_dilate for dim in dims]
    return {
        "kernel_shape": [dim.size for dim in dims],
        "strides": strides if max(strides) > 1 else None,
        "dilations": dilations if max(dilations) > 1 else None,
    }
