"""scatter: parts of a tensor combined with updates at places that stand in another one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ....passes.errors import InvalidModel
from ....passes.graph import Graph, Node, Value
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ..dialect import DOMAIN
from .numbers import Label, numbers_of, starts_of
from .places import shifted, with_windows
from .scatter_flat import put_each, put_flat
from .scatter_places import REPLACE, Put, Scatter, ordered, redirected, valid_windows, word
from .support import Results, cast, given, shape_of
from .views import WIDE, arranged, counted, cut, narrowed, padded, reshaped, spread, uniform

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

    Windows that don't lie inside go to a spare place behind the operand. Along one axis behind others, or
    where others are batched, it is a ScatterElements; else a ScatterND; what neither can say scatters into the
    flattened operand. Computations that ONNX has no reduction for are a loop over the updates.
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
    found = Scatter(numbers, shape, window, labels, starts, valid_windows(op, starts, shape, window))
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
        return spread(op, op.const(int(np.isnan(one.data.numpy()).any()), DType.INT32), shape)
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
        return _put_elements(op, found, moving[0])
    return _put_windows(op, found, moving)


def _spared(op: Builder, found: Scatter, axis: int, put: Callable[[Value, Value, str], Value]) -> Put:
    """Scatter into an operand that has room for one more window behind one axis, which is cut off afterwards."""
    if found.valid is None:
        return put
    shape = found.shape
    none, room = [0] * len(shape), [found.window[axis] * (place == axis) for place in range(len(shape))]

    def spared(operand: Value, update: Value, way: str) -> Value:
        return cut(op, put(padded(op, operand, none, room), update, way), none, shape)

    return spared


def _put_windows(op: Builder, found: Scatter, moving: Sequence[int]) -> Put:
    """By coordinates on the axes that windows move along, brought to the front: ScatterND."""
    axes: list[Label] = [("window", axis) for axis in moving]
    every: list[Label] = [("window", axis) for axis in range(len(found.shape))]
    rest = [label for label in every if label not in axes]
    spare = [found.shape[moving[0]], *[0] * (len(moving) - 1)]
    places = redirected(op, found.starts.only(op, moving).value, found.valid, spare)
    places = with_windows(op, places, [found.window[axis] for axis in moving])
    wide = [label for axis, label in zip(moving, axes, strict=True) if found.window[axis] > 1]

    def put(operand: Value, update: Value, way: str) -> Value:
        x = arranged(op, operand, every, [*axes, *rest])
        update = ordered(op, found, update, [*found.batches, *wide, *rest])
        made = op.ScatterND(x, places, update, reduction=word(way))
        return arranged(op, made, [*axes, *rest], every)

    return _spared(op, found, moving[0], put)


def _put_elements(op: Builder, found: Scatter, axis: int) -> Put:
    """Along one axis, element by element: ScatterElements."""
    labels = found.numbers.operand_labels()
    own = [label for label in found.batches if label not in labels]
    names = [*found.batches]
    room = found.window[axis]
    places = redirected(op, found.starts.only(op, [axis]).value, found.valid, [found.shape[axis]])
    if room > 1:
        places, own, names = shifted(op, places, counted(op, room)), [*own, labels[axis]], [*names, labels[axis]]
    else:
        places = reshaped(op, places, found.starts.batch)
    order = [*labels[:axis], *own, *labels[axis + 1 :]]
    places = arranged(op, places, names, order)

    def merged(value: Value, shape: Sequence[int]) -> Value:
        behind = axis + len(own)
        return reshaped(op, value, [*shape[:axis], math.prod(shape[axis:behind]), *shape[behind:]])

    def put(operand: Value, update: Value, way: str) -> Value:
        update = ordered(op, found, update, order)
        extent, have = update.tensor.static_shape, places.tensor.static_shape
        assert extent is not None and have is not None
        update, where = merged(update, extent), merged(places, have)
        flat = update.tensor.static_shape
        assert flat is not None
        return op.ScatterElements(operand, spread(op, where, flat), update, axis=axis, reduction=word(way))

    return _spared(op, found, axis, put)


RULES = collect(globals())
