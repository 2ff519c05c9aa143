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
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....passes.build import shape_vector, where
from ....passes.graph import Graph, Node, Value
from ....passes.loop import Carried, Sliced, Slot, Stacked
from ....passes.preconditions import dtype_of, input_of
from ....passes.rewrite import Builder, collect, rule
from ....passes.sizes import OpenSize, is_below
from ....passes.types import DType, TensorType
from ..dialect import DOMAIN
from ..infer_tools import windows as window_of
from ..text.tree import WindowDim
from .arrays import WIDE, Array, arange, arrays, move_widened
from .computations import applied, computation, monoid
from .reduce import for_sums, is_neutral, reduced
from .support import Results, shape_of


def seen(size: int, dim: WindowDim) -> tuple[np.ndarray, np.ndarray]:
    """What the windows see of a dimension: indices [positions, size of the window], and whether an element is there.

    Where none is (padding, and between elements that `lhs_dilate` puts apart) the index is 0.
    """
    index, part = np.ogrid[: operator.index(dim.count(size)), : operator.index(dim.size)]
    at = index * dim.stride + part * dim.rhs_dilate - dim.low
    there = (at >= 0) & (at <= (size - 1) * dim.lhs_dilate) & (at % dim.lhs_dilate == 0)
    return np.where(there, at // dim.lhs_dilate, 0), there


def _looked_at(op: Builder, size: int, dim: WindowDim) -> tuple[Array, Array]:
    """As `seen`, where sizes may be open."""
    if all(isinstance(one, int) for one in (size, dim.count(size), dim.size, dim.low)):
        index, there = seen(operator.index(size), dim)
        return Array(op, index.astype(np.int64)), Array(op, there)
    starts, parts = arange(op, dim.count(size)) * dim.stride, arange(op, dim.size) * dim.rhs_dilate
    at = starts.reshape(dim.count(size), 1) + parts.reshape(1, dim.size) - dim.low
    there = (at >= 0) & (at <= (size - 1) * dim.lhs_dilate)
    if dim.lhs_dilate != 1:
        there = there & (at % dim.lhs_dilate).equals(0)
    return where(there, at, 0) // dim.lhs_dilate, there


def gathered(x: Array, window: Sequence[WindowDim]) -> Array:
    """Each dimension's positions and behind them what a window sees there; a dimension seen whole stays as it is."""
    shape = x.sizes_known

    def gather(found: Array) -> Array:
        for axis in reversed(range(len(window))):
            if not window[axis].is_whole:
                index, _ = _looked_at(found.op, shape[axis], window[axis])
                sizes = found.sizes_known
                slid = (*sizes[:axis], window[axis].count(shape[axis]), window[axis].size, *sizes[axis + 1 :])
                made = found.op.Gather(found, index, axis=axis, _types=[TensorType(found.dtype, slid)])
                found = found.make(made)
        return found

    return move_widened(x, gather)


def inner_axes(window: Sequence[WindowDim]) -> list[int]:
    """The axes of `gathered` along which the elements of one window stand."""
    found: list[int] = []
    for axis, dim in enumerate(window):
        if not dim.is_whole:
            found.append(axis + len(found) + 1)
    return found


def present(like: Array, window: Sequence[WindowDim]) -> Array | None:
    """Where `gathered` holds elements of `like`, to be broadcast to its shape; None where it does everywhere."""
    mask = like.make(np.ones((), np.bool_))
    for size, dim in zip(like.sizes_known, window, strict=True):
        there = like.make(np.ones(1, np.bool_)) if dim.is_whole else _looked_at(like.op, size, dim)[1]
        mask = mask.reshape(*mask.sizes_known, *[1] * (there.rank or 0))
        mask = mask if dim.is_whole else mask & there
    return None if mask.array is not None and mask.array.all() else mask


def padded(x: Array, window: Sequence[WindowDim], number: Array, front: int = 0) -> Array:
    """`x` with a scalar in the padding of a window that slides over the dimensions behind the first ones."""
    low, high = ([0] * front + [getattr(dim, side) for dim in window] for side in ("low", "high"))
    return x.pad(low, high, number)


def pads_of(window: Sequence[WindowDim]) -> list[int]:
    """As ONNX's operators have them."""
    return [dim.low for dim in window] + [dim.high for dim in window]


def are_attributes(pads: Sequence[int]) -> bool:
    """Whether ONNX's sliding windows take these pads: others are padded before."""
    return all(isinstance(pad, int) and pad >= 0 for pad in pads)


def sliding(dims: Sequence[WindowDim]) -> dict[str, Any]:
    """The attributes of ONNX's sliding windows, those left out that say nothing.

    Raises:
        Unsupported: the size of a window is open.
    """
    strides, dilations = [dim.stride for dim in dims], [dim.rhs_dilate for dim in dims]
    return {
        "kernel_shape": [operator.index(dim.size) for dim in dims],
        "strides": strides if max(strides) > 1 else None,
        "dilations": dilations if max(dilations) > 1 else None,
    }


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
    operands = [input_of(node, index) for index in range(len(node.inputs))]
    many = len(operands) // 2
    xs, starts = arrays(op, *operands[:many]), operands[many:]
    region, shape = computation(node), shape_of(node, operands[0])
    window = window_of(node, len(shape))
    indices = [dim.count(size) for size, dim in zip(shape, window, strict=True)]
    if 0 in shape or 0 in indices:
        return [start.broadcast_to(*indices).value() for start in arrays(op, *starts)]
    run = _running(shape, window)
    if run is not None:
        return _accumulated(op, node, region, xs, starts, run)
    kind = monoid(region) if many == 1 else None
    made = _pooled(kind, xs[0], dtype_of(node, starts[0]), window) if kind is not None else None
    if made is not None:
        value = made.value()
        return value if is_neutral(starts[0], kind or "") else applied(op, region, [starts[0], value], indices)
    valid, seen_ = present(xs[0], window), [gathered(x, window).value() for x in xs]
    return reduced(op, node, region, seen_, starts, inner_axes(window), valid)


# pooling -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Image:
    """An array as [batch, channels, ...] with what a window slides over at its end, and the way back."""

    value: Array
    order: list[int]
    window: list[WindowDim]
    front: list[int]

    @classmethod
    def of(cls, x: Array, window: Sequence[WindowDim]) -> _Image:
        shape = x.sizes_known
        over = [axis for axis, dim in enumerate(window) if not dim.is_whole] or [len(shape) - 1]
        rest = [axis for axis in range(len(shape)) if axis not in over]
        front = [shape[axis] for axis in rest]
        outer = front if len(front) == 2 else [1, math.prod(front)]
        if isinstance(outer[1], OpenSize):  # a Conv of one group for each channel wants their number
            outer = [math.prod(front), 1]
        image = x.transpose(*rest, *over).reshape(*outer, *(shape[axis] for axis in over))
        return cls(image, [*rest, *over], [window[axis] for axis in over], front)

    def slid(self, dtype: DType) -> TensorType:
        """The type of what a window makes of the image."""
        outer, spatial = self.value.sizes_known[:2], self.value.sizes_known[2:]
        return TensorType(dtype, (*outer, *(dim.count(size) for dim, size in zip(self.window, spatial, strict=True))))

    def back(self, made: Array) -> Array:
        back = [self.order.index(axis) for axis in range(len(self.order))]
        return made.reshape(*self.front, *made.sizes_known[2:]).transpose(*back)


def _pooled(kind: str, x: Array, dtype: DType, window: Sequence[WindowDim]) -> Array | None:
    """Windows folded with one opcode, without their start; None where ONNX has no operator for it."""
    axes = sum(not dim.is_whole for dim in window)
    if axes > _MOST_SPATIAL or any(dim.lhs_dilate > 1 for dim in window) or not axes:
        return None
    if dtype is DType.BOOL:
        kind = {"or": "maximum", "and": "minimum"}.get(kind, kind)
    if kind == "add" and dtype.is_float and dtype is not DType.FLOAT64:  # ONNX Runtime has no Conv of doubles
        return _summed(x.cast(for_sums(dtype)), window).narrow(dtype)
    if kind not in ("maximum", "minimum") or dtype not in _CARRIERS:
        return None
    carrier = _CARRIERS[dtype]
    if kind == "minimum" and not carrier.is_float:
        carrier = DType.FLOAT32
    wide = x.cast(dtype).cast(carrier)
    least, most = dtype.limits
    made = _largest(wide, window, least) if kind == "maximum" else -_largest(-wide, window, -most)
    return made.narrow(dtype)


def _largest(x: Array, window: Sequence[WindowDim], least: float) -> Array:
    """The largest element of each window, `least` where it sees none."""
    image = _Image.of(x, window)
    dims, x = image.window, image.value
    pads = pads_of(dims)
    inside = all(isinstance(pad, int) and 0 <= pad < dim.size for dim, pad in zip([*dims, *dims], pads, strict=True))
    if not inside or not all(_sees(*one) for one in zip(x.sizes_known[2:], dims, strict=True)):
        # ONNX Runtime wants every pad to be smaller than the window, and finds its own number where there is none
        x, inside = padded(x, dims, x.like(least), front=2), False
    attributes = {"pads": pads if inside and any(pads) else None, **sliding(dims)}
    type = image.slid(x.dtype)
    made = x.call("MaxPool", _types=[type], **attributes)
    sizes = made.sizes_known
    if any(is_below(0, size) is None for size in sizes):  # of less than a window ONNX Runtime makes one, HLO none
        axes = list(range(len(sizes)))
        cut = made.op.Slice(made, made.op.const([0] * len(sizes)), shape_vector(made.op, sizes), made.op.const(axes))
        cut.type, made = type, made.make(cut)
    return image.back(made)


def _sees(size: int, dim: WindowDim) -> bool:
    """Whether a window whose padding is smaller than itself sees an element at every position."""
    if isinstance(size, OpenSize):
        return dim.rhs_dilate == 1
    return bool(seen(size, dim)[1].any(axis=1).all())


def _summed(x: Array, window: Sequence[WindowDim]) -> Array:
    image = _Image.of(x, window)
    dims, x = image.window, image.value
    pads = pads_of(dims)
    if not are_attributes(pads):
        x, pads = padded(x, dims, x.like(0), front=2), []
    channels = x.sizes_known[1]
    attributes = {"group": channels, "pads": pads if any(pads) else None, **sliding(dims)}
    kernel = np.ones([channels, 1, *attributes["kernel_shape"]])
    return image.back(x.call("Conv", kernel, _types=[image.slid(x.dtype)], **attributes))


# what accumulates ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Run:
    """Along an axis every position sees all before it (all behind it, if `reverse`), itself only if not `exclusive`."""

    axis: int
    reverse: bool
    exclusive: bool


def _running(shape: Sequence[int], window: Sequence[WindowDim]) -> _Run | None:
    over = [axis for axis, dim in enumerate(window) if not dim.is_whole]
    if len(over) != 1:
        return None
    axis, dim = over[0], window[over[0]]
    size = shape[axis]
    plain = dim.stride == dim.lhs_dilate == dim.rhs_dilate == 1
    if size == 1 or not plain or is_below(dim.size, size) is not False:
        return None
    for reverse, (before, behind) in ((False, (dim.low, dim.high)), (True, (dim.high, dim.low))):
        for exclusive in (False, True):
            if (before, behind) == (dim.size - 1 + exclusive, -exclusive):
                return _Run(axis, reverse, exclusive)
    return None


_CUMULATIVE = {"add": "CumSum", "multiply": "CumProd"}


def _accumulated(
    op: Builder, node: Node, region: Graph, xs: Sequence[Array], starts: Sequence[Value], run: _Run
) -> Results:
    kind = monoid(region) if len(xs) == 1 else None
    if kind not in _CUMULATIVE:
        return _by_steps(op, region, xs, starts, run)
    dtype = dtype_of(node, starts[0])
    wide = xs[0].cast(dtype).cast(for_sums(dtype))
    made = op.call(
        _CUMULATIVE[kind],
        wide,
        op.const(run.axis),
        reverse=int(run.reverse) or None,
        exclusive=int(run.exclusive) or None,
    )
    value = wide.make(made).narrow(dtype).value()
    return value if is_neutral(starts[0], kind) else applied(op, region, [starts[0], value], xs[0].sizes_known)


def _by_steps(op: Builder, region: Graph, xs: Sequence[Array], starts: Sequence[Value], run: _Run) -> Results:
    """A Loop that goes along the axis; backwards it keeps the order of the two, as what is associative allows."""
    shape = xs[0].sizes_known
    kept = (*shape[: run.axis], *shape[run.axis + 1 :])
    body = op.region(region.name)
    so_far = [body.input("so_far", TensorType(start.tensor.dtype, kept)) for start in starts]
    elements = [body.input("element", TensorType(x.dtype, kept)) for x in xs]
    turned = run.reverse and [x.dtype for x in xs] == [one.tensor.dtype for one in starts]
    made = applied(body, region, [*elements, *so_far] if turned else [*so_far, *elements], kept)
    body.graph.outputs = [*made, *(so_far if run.exclusive else made)]
    slots: list[Slot] = [Carried() for _ in starts]
    slots += [Sliced(run.axis, -1, 0, -1) if run.reverse else Sliced(run.axis) for _ in xs]
    slots += [Stacked(run.axis, run.reverse) for _ in starts]
    begin = [start.broadcast_to(*kept).value() for start in arrays(op, *starts)]
    types = [TensorType(start.tensor.dtype, dims) for dims in (kept, shape) for start in starts]
    fed = [*begin, *(x.value() for x in xs)]
    return op.loop(None, None, slots, fed, body.graph, types)[len(starts) :]


RULES = collect(globals())
