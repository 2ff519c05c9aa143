"""reduce-window: pooling, sums over windows, what accumulates along an axis, and any other computation.

| windows | ONNX |
|---|---|
| all that was before (or comes after), one at a time | CumSum, CumProd; a Loop for other computations |
| maximum, minimum | MaxPool |
| add, of floats up to float32 | Conv with a kernel of ones |
| anything else | the windows' elements gathered, then folded as `reduce` does |

What lies in the padding is left out, and every window begins with the start, as XLA's CPU backend has it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....passes.build import cast
from ....passes.graph import Graph, Node, Value
from ....passes.loop import Carried, Sliced, Slot, Stacked
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType, TensorType
from ..dialect import DOMAIN
from ..infer_tools import windows as window_of
from ..text.tree import WindowDim
from .bodies import applied, computation, monoid
from .reducers import for_sums, highest, is_neutral, lowest, reduced
from .support import Results, dtype_of, given, shape_of
from .type_legalization import narrowed
from .views import WIDE, broadcast_to, reshaped, transposed
from .windows import count, gathered, inner_axes, is_whole, padded, present, seen, sliding

_CARRIERS: dict[DType, DType] = {
    DType.BOOL: DType.UINT8,
    DType.INT8: DType.INT8,
    DType.UINT8: DType.UINT8,
    DType.INT16: DType.FLOAT32,
    DType.UINT16: DType.FLOAT32,
    DType.FLOAT16: DType.FLOAT32,
    DType.BFLOAT16: DType.FLOAT32,
    DType.FLOAT32: DType.FLOAT32,
    DType.INT32: DType.FLOAT64,
    DType.UINT32: DType.FLOAT64,
    DType.FLOAT64: DType.FLOAT64,
    **WIDE,
}
"""Types of which MaxPool finds the largest element exactly -> the type in which ONNX and ONNX Runtime have it."""

_MOST_SPATIAL = 3  # dimensions that ONNX Runtime pools over


@rule(DOMAIN, "reduce-window")
def reduce_window(op: Builder, node: Node) -> Results:
    """reduce-window: values, then their starts; `to_apply` folds what each window sees."""
    many = len(node.inputs) // 2
    values = [given(node, index) for index in range(many)]
    starts = [given(node, index) for index in range(many, 2 * many)]
    region, shape = computation(node), shape_of(node, values[0])
    window = window_of(node, len(shape))
    places = [count(size, dim) for size, dim in zip(shape, window, strict=True)]
    if 0 in shape or 0 in places:
        return [broadcast_to(op, start, places) for start in starts]
    run = _running(shape, window)
    if run is not None:
        return _accumulated(op, node, region, values, starts, run)
    kind = monoid(region) if many == 1 else None
    made = _pooled(op, node, kind, values[0], starts[0], window) if kind is not None else None
    if made is not None:
        return made if is_neutral(starts[0], kind or "") else applied(op, region, [starts[0], made], places)
    valid = present(op, shape, window)
    return reduced(op, node, region, [gathered(op, one, window) for one in values], starts, inner_axes(window), valid)


# pooling -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Image:
    """An array as [batch, channels, ...] with what a window slides over at its end, and the way back."""

    value: Value
    order: list[int]
    window: list[WindowDim]
    front: list[int]

    def back(self, op: Builder, made: Value) -> Value:
        shape = made.tensor.static_shape
        assert shape is not None
        back = [self.order.index(axis) for axis in range(len(self.order))]
        return transposed(op, reshaped(op, made, [*self.front, *shape[2:]]), back)


def _image(op: Builder, node: Node, value: Value, window: Sequence[WindowDim]) -> _Image:
    shape = shape_of(node, value)
    over = [axis for axis, dim in enumerate(window) if not is_whole(dim)]
    rest = [axis for axis in range(len(shape)) if axis not in over]
    over = over or rest[-1:]
    rest = [axis for axis in rest if axis not in over]
    front = [shape[axis] for axis in rest]
    outer = front if len(front) == 2 else [1, math.prod(front)]
    turned = transposed(op, value, [*rest, *over])
    image = reshaped(op, turned, [*outer, *(shape[axis] for axis in over)])
    return _Image(image, [*rest, *over], [window[axis] for axis in over], front)


def _pooled(
    op: Builder, node: Node, kind: str, value: Value, start: Value, window: Sequence[WindowDim]
) -> Value | None:
    """Windows folded with one opcode, without their start; None where ONNX has no operator for it."""
    dtype = dtype_of(node, start)
    axes = sum(not is_whole(dim) for dim in window)
    if axes > _MOST_SPATIAL or any(dim.lhs_dilate > 1 for dim in window) or not axes:
        return None
    if dtype is DType.BOOL:
        kind = {"or": "maximum", "and": "minimum"}.get(kind, kind)
    if kind == "add" and dtype.is_float and dtype is not DType.FLOAT64:  # ONNX Runtime has no Conv of doubles
        return narrowed(op, _summed(op, node, cast(op, value, for_sums(dtype)), window), dtype)
    if kind not in ("maximum", "minimum") or dtype not in _CARRIERS:
        return None
    carrier = _CARRIERS[dtype]
    if kind == "minimum" and not carrier.is_float:
        carrier = DType.FLOAT32
    wide = cast(op, cast(op, value, dtype), carrier)
    if kind == "maximum":
        return narrowed(op, _largest(op, node, wide, window, lowest(dtype)), dtype)
    return narrowed(op, op.Neg(_largest(op, node, op.Neg(wide), window, -highest(dtype))), dtype)


def _largest(op: Builder, node: Node, value: Value, window: Sequence[WindowDim], least: float) -> Value:
    """The largest element of each window, `least` where it sees none."""
    image = _image(op, node, value, window)
    dims, x = image.window, image.value
    pads = [dim.low for dim in dims] + [dim.high for dim in dims]
    inside = all(0 <= pad < dim.size for dim, pad in zip([*dims, *dims], pads, strict=True))
    spatial = shape_of(node, x)[2:]
    if not inside or not all(seen(size, dim)[1].any(axis=1).all() for size, dim in zip(spatial, dims, strict=True)):
        # ONNX Runtime wants every pad to be smaller than the window, and finds its own number where there is none
        item = op.const(least, dtype_of(node, x))
        x, inside = padded(op, x, [(0, 0), (0, 0), *((dim.low, dim.high) for dim in dims)], item), False
    made = op.MaxPool(x, pads=pads if inside and any(pads) else None, **sliding(dims))
    return image.back(op, made)


def _summed(op: Builder, node: Node, value: Value, window: Sequence[WindowDim]) -> Value:
    image = _image(op, node, value, window)
    dims, x = image.window, image.value
    pads = [dim.low for dim in dims] + [dim.high for dim in dims]
    if min(pads) < 0:
        zero = op.const(0, dtype_of(node, x))
        x, pads = padded(op, x, [(0, 0), (0, 0), *((dim.low, dim.high) for dim in dims)], zero), []
    channels = shape_of(node, x)[1]
    ones = np.ones([channels, 1, *(dim.size for dim in dims)])
    kernel = op.const(ones, dtype_of(node, x), name="ones")
    made = op.Conv(x, kernel, group=channels, pads=pads if any(pads) else None, **sliding(dims))
    return image.back(op, made)


# what accumulates ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Run:
    """Along an axis every place sees all before it (all behind it, if `reverse`), itself only if not `exclusive`."""

    axis: int
    reverse: bool
    exclusive: bool


def _running(shape: Sequence[int], window: Sequence[WindowDim]) -> _Run | None:
    over = [axis for axis, dim in enumerate(window) if not is_whole(dim)]
    if len(over) != 1:
        return None
    axis, dim = over[0], window[over[0]]
    size = shape[axis]
    if size < 2 or dim.stride != 1 or dim.lhs_dilate != 1 or dim.rhs_dilate != 1 or dim.size < size:
        return None
    for reverse, (before, behind) in ((False, (dim.low, dim.high)), (True, (dim.high, dim.low))):
        for exclusive in (False, True):
            if (before, behind) == (dim.size - 1 + exclusive, -exclusive):
                return _Run(axis, reverse, exclusive)
    return None


_CUMULATIVE = {"add": "CumSum", "multiply": "CumProd"}


def _accumulated(
    op: Builder, node: Node, region: Graph, values: Sequence[Value], starts: Sequence[Value], run: _Run
) -> Results:
    kind = monoid(region) if len(values) == 1 else None
    if kind not in _CUMULATIVE:
        return _by_steps(op, node, region, values, starts, run)
    dtype = dtype_of(node, starts[0])
    flags: dict[str, Any] = {"reverse": int(run.reverse) or None, "exclusive": int(run.exclusive) or None}
    wide = cast(op, cast(op, values[0], dtype), for_sums(dtype))
    made = narrowed(op, op.call(_CUMULATIVE[kind], wide, op.const(run.axis), **flags), dtype)
    return made if is_neutral(starts[0], kind) else applied(op, region, [starts[0], made], shape_of(node, values[0]))


def _by_steps(
    op: Builder, node: Node, region: Graph, values: Sequence[Value], starts: Sequence[Value], run: _Run
) -> Results:
    """A Loop that goes along the axis; backwards it keeps the order of the two, as what is associative allows."""
    shape = shape_of(node, values[0])
    kept = [size for axis, size in enumerate(shape) if axis != run.axis]
    body = op.region(region.name)
    so_far = [body.input("so_far", TensorType(start.tensor.dtype, tuple(kept))) for start in starts]
    elements = [body.input("element", TensorType(value.tensor.dtype, tuple(kept))) for value in values]
    turned = run.reverse and [one.tensor.dtype for one in values] == [one.tensor.dtype for one in starts]
    made = applied(body, region, [*elements, *so_far] if turned else [*so_far, *elements], kept)
    body.graph.outputs = [*made, *(so_far if run.exclusive else made)]
    slots: list[Slot] = [Carried() for _ in starts]
    slots += [Sliced(run.axis, -1, 0, -1) if run.reverse else Sliced(run.axis) for _ in values]
    slots += [Stacked(run.axis, run.reverse) for _ in starts]
    begin = [broadcast_to(op, start, kept) for start in starts]
    types = [TensorType(start.tensor.dtype, tuple(dims)) for dims in (kept, shape) for start in starts]
    return op.loop(None, None, slots, [*begin, *values], body.graph, types)[len(starts) :]


RULES = collect(globals())
