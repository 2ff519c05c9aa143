"""scatter: parts of a tensor combined with updates at places that stand in another one."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ....passes.build import cast
from ....passes.errors import InvalidModel
from ....passes.graph import Graph, Node, Value
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ..dialect import DOMAIN
from .dimension_numbers import numbers_of, starts_of
from .scatter_flat import put_each, put_flat
from .scatter_forms import by_coordinates, by_element, guarded
from .scatter_places import REPLACE, Put, Scatter, placed
from .support import Results, given, shape_of
from .views import WIDE, broadcast_to, narrowed, uniform

_NAMES = (
    "update_window_dims",
    "inserted_window_dims",
    "scatter_dims_to_operand_dims",
    "input_batching_dims",
    "scatter_indices_batching_dims",
)
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
    operands, updates = [given(node, at) for at in range(count)], [given(node, count + 1 + at) for at in range(count)]
    indices = given(node, count)
    shape, extent = shape_of(node, operands[0]), shape_of(node, updates[0])
    shape_of(node, indices)
    if any(shape_of(node, one) != shape for one in operands) or any(shape_of(node, one) != extent for one in updates):
        raise InvalidModel(f"{node!r}: its operands, or its updates, aren't of one shape")
    numbers = numbers_of(node, len(shape), indices, len(extent), _NAMES)
    if 0 in extent or 0 in shape:
        return operands
    labels = numbers.result_labels(len(extent))
    sizes_of = dict(zip(labels, extent, strict=True))
    window = tuple(sizes_of.get(("window", axis), 1) for axis in range(len(shape)))
    if any(part > whole for part, whole in zip(window, shape, strict=True)):
        raise InvalidModel(f"{node!r}: a window of {list(window)} of {operands[0].type}")
    starts = starts_of(op, numbers, indices)
    found = Scatter(numbers, shape, window, labels, starts, *placed(op, starts, shape, window))
    if found.valid is not None and found.valid.data is not None and not found.valid.data.numpy().any():
        return operands
    ways = [_way(node.regions["to_apply"], at, count) for at in range(count)]
    if any(way is None for way in ways):
        return put_each(op, found, node.regions["to_apply"], operands, updates)
    put = _put(op, found)
    return [
        one if way == _KEEP or way is None else _combined(op, one, update, way, put)
        for one, update, way in zip(operands, updates, ways, strict=True)
    ]


def _way(region: Graph, at: int, count: int) -> str | None:
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


def _combined(op: Builder, operand: Value, update: Value, way: str, put: Put) -> Value:
    """Scattered in an element type that ONNX's operators take and runtimes reduce."""
    dtype = operand.tensor.dtype
    assert dtype is not None
    if way == REPLACE:
        wide = WIDE.get(dtype, dtype)
        made = put(cast(op, operand, wide), cast(op, update, wide), way)
        return made if wide is dtype else narrowed(op, made, dtype)
    if dtype is DType.BOOL or (dtype.is_integer and dtype.bits < 32):
        return cast(op, put(cast(op, operand, DType.INT32), cast(op, update, DType.INT32), way), dtype)
    if dtype is DType.UINT32:
        return cast(op, put(cast(op, operand, DType.INT64), cast(op, update, DType.INT64), way), dtype)
    if dtype in (DType.FLOAT16, DType.BFLOAT16) and way in ("min", "max"):
        wide = DType.FLOAT32
        return cast(op, _combined(op, cast(op, operand, wide), cast(op, update, wide), way, put), dtype)
    made = put(operand, update, way)
    if way not in ("min", "max") or not dtype.is_float:
        return made
    # of two numbers one of which is none, ONNX may take either; HLO takes the one that is none
    flags = put(_none_numbers(op, operand), _none_numbers(op, update), "max")
    return op.Where(cast(op, flags, DType.BOOL), op.const(np.nan, dtype), made)


def _none_numbers(op: Builder, value: Value) -> Value:
    """1 for each NaN, as int32."""
    one, shape = uniform(value), value.tensor.static_shape
    if one is not None and one.data is not None and shape is not None:
        return broadcast_to(op, op.const(int(np.isnan(one.data.numpy()).any()), DType.INT32), shape)
    return cast(op, op.IsNaN(value), DType.INT32)


def _put(op: Builder, found: Scatter) -> Put:
    """What scatters into one operand; the places are worked out once for all of them."""
    numbers, shape, window = found.numbers, found.shape, found.window
    moving = [axis for axis in sorted(numbers.mapped) if window[axis] < shape[axis]]
    if not moving and found.valid is not None:
        moving = [numbers.mapped[0]]
    partial = [
        axis
        for axis in range(len(shape))
        if window[axis] < shape[axis] and axis not in moving and axis not in numbers.batching
    ]
    if partial or not moving or (numbers.batching and len(moving) > 1):
        return put_flat(op, found)
    if numbers.batching or (len(moving) == 1 and moving[0]):
        return guarded(op, found, by_element(op, found, moving[0]))
    return guarded(op, found, by_coordinates(op, found, moving))


RULES = collect(globals())
