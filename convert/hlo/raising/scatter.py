"""scatter: parts of a tensor combined with updates at positions that stand in another one."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ....passes.build import where
from ....passes.graph import Graph, Node
from ....passes.preconditions import input_of
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import HALVES, DType
from ..dialect import DOMAIN
from ..dimension_numbers import GatherNumbers
from .arrays import WIDE, Array, arrays, cast_back, full, values
from .index_computation import starts_of
from .scatter_forms import REPLACE, Put, Scatter, by_coordinates, by_element, guarded, moved_inside, put_each, put_flat
from .support import Results, shape_of, uniform

_KEEP = "keep"
_REDUCTIONS: Mapping[str, str] = {"add": "add", "multiply": "mul", "minimum": "min", "maximum": "max"}
_LOGICAL: Mapping[str, str] = {"and": "min", "or": "max"}


@rule(DOMAIN, "scatter")
def scatter(op: Builder, node: Node) -> Results:
    """scatter: an update whose window doesn't lie inside changes nothing; the others are applied one after the other.

    Along one axis behind others, or where others are batched, it is a ScatterElements; else a ScatterND; what neither
    can say scatters into the flattened operand. Computations that ONNX has no reduction for are a loop over the
    updates.
    """
    count = len(node.inputs) // 2
    operands = arrays(op, *(input_of(node, at) for at in range(count)))
    updates = arrays(op, *(input_of(node, count + 1 + at) for at in range(count)))
    indices, region = input_of(node, count), node.regions["to_apply"]
    shape, extent = shape_of(node, input_of(node, 0)), shape_of(node, input_of(node, count + 1))
    shape_of(node, indices)
    numbers = GatherNumbers.of(node, len(shape))
    if 0 in extent or 0 in shape:
        return values(operands)
    labels = numbers.result_labels(len(extent))
    sizes = dict(zip(labels, extent, strict=True))
    window = tuple(sizes.get(("window", axis), 1) for axis in range(len(shape)))
    starts = starts_of(op, numbers, indices)
    windows = Scatter(numbers, shape, window, labels, starts, *moved_inside(op, starts, shape, window))
    if windows.valid is not None and windows.valid.array is not None and not windows.valid.array.any():
        return values(operands)
    ways = [_reduction_name(region, at, count) for at in range(count)]
    if any(way is None for way in ways):
        return put_each(op, windows, region, operands, updates)
    put = _scatter_one(op, windows)
    return values(
        [
            one if way == _KEEP or way is None else _combined(one, update, way, put)
            for one, update, way in zip(operands, updates, ways, strict=True)
        ]
    )


def _reduction_name(region: Graph, at: int, count: int) -> str | None:
    """ONNX's word for what the computation makes of the old and the new element; None where it has none."""
    old, new, result = region.inputs[at], region.inputs[count + at], region.outputs[at]
    if result is new:
        return REPLACE
    if result is old:
        return _KEEP
    node, dtype = result.producer, result.tensor.dtype
    if node is None or node.domain != DOMAIN or dtype is None or set(node.inputs) != {old, new}:
        return None
    if dtype is DType.BOOL:
        return _LOGICAL.get(node.op_type)
    return None if dtype in WIDE else _REDUCTIONS.get(node.op_type)


def _combined(operand: Array, update: Array, way: str, put: Put) -> Array:
    """Scattered in an element type that ONNX's operators take and runtimes reduce."""
    dtype = operand.dtype
    work = dtype
    if way == REPLACE:
        work = WIDE.get(dtype, dtype)
    elif dtype is DType.BOOL or (dtype.is_integer and dtype.bits < 32):
        work = DType.INT32
    elif dtype is DType.UINT32:
        work = DType.INT64
    elif dtype in HALVES and way in ("min", "max"):
        work = DType.FLOAT32
    operand, update = operand.cast(work), update.cast(work)
    scattered = put(operand, update, way)
    if way in ("min", "max") and work.is_float:
        # of two numbers one of which is NaN, ONNX may take either; HLO takes the NaN
        flags = put(_nans(operand), _nans(update), "max")
        scattered = where(flags.cast(DType.BOOL), np.nan, scattered)
    return operand.make(cast_back(scattered.op, scattered.value(), dtype)) if way == REPLACE else scattered.cast(dtype)


def _nans(x: Array) -> Array:
    """1 for each NaN, as int32."""
    one = uniform(x.value())
    if one is not None and one.data is not None:
        return full(x.op, np.isnan(one.data.numpy()).any(), DType.INT32, x.sizes_known)
    return x.isnan().cast(DType.INT32)


def _scatter_one(op: Builder, windows: Scatter) -> Put:
    """What scatters into one operand; the indices are worked out once for all of them."""
    numbers, shape, window = windows.numbers, windows.shape, windows.window
    moving = [axis for axis in sorted(numbers.mapped) if window[axis] != shape[axis]]
    if not moving and windows.valid is not None:
        moving = [numbers.mapped[0]]
    partial = [
        axis
        for axis in range(len(shape))
        if window[axis] != shape[axis] and axis not in moving and axis not in numbers.batching
    ]
    if partial or not moving or (numbers.batching and len(moving) > 1):
        return put_flat(op, windows)
    if numbers.batching or (len(moving) == 1 and moving[0]):
        return guarded(windows, by_element(op, windows, moving[0]))
    return guarded(windows, by_coordinates(op, windows, moving))


RULES = collect(globals())
