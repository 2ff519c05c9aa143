"""Computations applied along axes and to elements: reduce, map, scan.

A fold is one of ONNX's reductions, ArgMax or ArgMin where it is one of them, else a Loop.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ....passes.build import where
from ....passes.errors import InvalidModel
from ....passes.graph import Graph, Node, Value
from ....passes.loop import Carried, Sliced, Slot, Stacked
from ....passes.preconditions import dtype_of, input_of
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType, TensorType
from ..dialect import DOMAIN
from ..infer_tools import axes as axes_of
from ..infer_tools import axis as axis_of
from ..infer_tools import number
from ..limits import neutral
from .arrays import Array, arrays
from .computations import applied, computation, extreme, is_count, monoid
from .support import Results, shape_of

REDUCTIONS = {
    "add": "ReduceSum",
    "and": "ReduceMin",
    "maximum": "ReduceMax",
    "minimum": "ReduceMin",
    "multiply": "ReduceProd",
    "or": "ReduceMax",
}
_ORDER = frozenset(["maximum", "minimum"])
_LOGIC = frozenset(["and", "or", "xor"])


def is_neutral(value: Value, kind: str) -> bool:
    """Whether a scalar is a constant that an opcode leaves everything unchanged with."""
    array, dtype = value.array(), value.tensor.dtype
    if array is None or dtype is None:
        return False
    return bool(array.reshape(()) == np.asarray(neutral(kind, dtype)).astype(array.dtype))


def for_sums(dtype: DType) -> DType:
    """The type in which ONNX and ONNX Runtime add what wraps, or is rounded, to `dtype` again."""
    if dtype.is_float:
        return DType.FLOAT32 if dtype.bits < 32 else dtype
    if dtype in (DType.UINT32, DType.UINT64):
        return DType.INT64
    return DType.INT32 if dtype.bits < 32 else dtype


def _for_sum(x: Array, dtype: DType, axes: Sequence[int]) -> DType:
    """As `for_sums`, with room for what stands along axes: ONNX Runtime's ReduceSum of integers saturates."""
    wide = for_sums(dtype)
    if wide is not DType.INT32:
        return wide
    shape, maker = x.value().tensor.static_shape, x.value().producer
    source = maker.inputs[0] if maker is not None and maker.op == ("", "Cast") else x.value()
    narrow = source.tensor.dtype if source is not None else dtype
    bits = 1 if narrow is DType.BOOL else narrow.bits if narrow is not None and narrow.is_integer else dtype.bits
    count = 1 << 32 if shape is None else math.prod(shape[axis] for axis in axes)
    return wide if count << min(bits, dtype.bits) < 1 << 31 else DType.INT64


def for_order(dtype: DType) -> DType:
    """The type in which ONNX and ONNX Runtime compare values of a type."""
    if dtype is DType.UINT32:
        return DType.FLOAT64  # ONNX Runtime's ReduceMax of int64 takes numbers from 2^31 on for negative ones
    return dtype if dtype is DType.UINT64 else for_sums(dtype)


def by_operator(kind: str, x: Array, axes: Sequence[int], dtype: DType) -> Array:
    """One of ONNX's reductions, without what is folded in first; `x` is of type `dtype`."""
    if kind == "xor":
        return (x.cast(DType.INT32).sum(*axes) % 2).cast(DType.BOOL)
    wide = dtype if kind in _LOGIC else for_order(dtype) if kind in _ORDER else _for_sum(x, dtype, axes)
    over = x.op.const(list(axes), DType.INT64)
    return x.make(x.op.call(REDUCTIONS[kind], x.cast(wide), over, keepdims=0)).narrow(dtype)


def has_operator(kind: str | None, dtype: DType) -> bool:
    """Whether a fold is one of ONNX's reductions: there is none of bits, and ReduceProd of integers needn't wrap."""
    if kind is None or (kind == "multiply" and dtype.is_integer):
        return False
    return kind not in _LOGIC or dtype is DType.BOOL


def reduced(
    op: Builder,
    node: Node,
    region: Graph,
    values: Sequence[Value],
    starts: Sequence[Value],
    axes: Sequence[int],
    valid: Array | None = None,
) -> list[Value]:
    """Arrays of one shape folded along axes, each result beginning with its start (a scalar).

    Elements are taken in order, which XLA leaves open. `valid` (bool, broadcast to the arrays): what isn't is left out.
    """
    kinds = [monoid(region, index) for index in range(len(values))]
    dtypes = [dtype_of(node, start) for start in starts]
    static = values[0].tensor.static_shape
    if static is not None and 0 in static:  # nothing is folded, or nothing comes of it
        kept = [size for axis, size in enumerate(static) if axis not in axes]
        return [x.broadcast_to(*kept).value() for x in arrays(op, *starts)]
    if all(has_operator(kind, dtype) for kind, dtype in zip(kinds, dtypes, strict=True)):
        totals: list[Value] = []
        for kind, x, dtype in zip(kinds, arrays(op, *values), dtypes, strict=True):
            assert kind is not None
            x = x.cast(dtype)
            x = x if valid is None else where(valid, x, neutral(kind, dtype))
            totals.append((by_operator(kind, x, axes, dtype) if axes else x).value())
        neutral_starts = [is_neutral(start, kind or "") for start, kind in zip(starts, kinds, strict=True)]
        begun = totals if all(neutral_starts) else _begun(op, node, region, starts, totals)
        return [one if idle else other for one, other, idle in zip(totals, begun, neutral_starts, strict=True)]
    result = None if valid is not None else _argument(op, node, region, values, starts, axes)
    return result if result is not None else folded(op, node, region, values, starts, axes, valid)


def _begun(op: Builder, node: Node, region: Graph, starts: Sequence[Value], totals: Sequence[Value]) -> list[Value]:
    """What was folded, with the starts before it."""
    return applied(op, region, [*starts, *totals], shape_of(node, totals[0]))


def _argument(
    op: Builder, node: Node, region: Graph, values: Sequence[Value], starts: Sequence[Value], axes: Sequence[int]
) -> list[Value] | None:
    """The largest or smallest element along an axis and its position, where that is what is computed.

    NaN is before all others, as NumPy has it, and ONNX's reference; ONNX Runtime's ArgMax overlooks it.
    """
    if len(values) != 2 or len(axes) != 1 or not is_count(values[1], axes[0]):
        return None
    comparison = extreme(region)
    if comparison is None:
        return None
    (axis,), x = axes, Array(op, values[0])
    kind, wide = x.dtype, x.cast(for_order(x.dtype))
    name = "Max" if comparison.largest else "Min"
    index = wide.call(f"Arg{name}", axis=axis, keepdims=0, select_last_index=int(comparison.last) or None)
    best = wide.max(axis) if comparison.largest else wide.min(axis)
    results = [best.narrow(kind).value(), index.cast(dtype_of(node, values[1])).value()]
    first = starts[1].array()
    has_neutral_start = is_neutral(starts[0], "maximum" if comparison.largest else "minimum")
    if has_neutral_start and (comparison.last or (first is not None and int(first) == 0)):
        return results
    return _begun(op, node, region, starts, results)


# any computation -----------------------------------------------------------------------------------


def without(value: Value, axis: int) -> TensorType:
    """The type of a value's elements along an axis."""
    shape = value.tensor.shape or ()
    return TensorType(value.tensor.dtype, (*shape[:axis], *shape[axis + 1 :]))


def folded(
    op: Builder,
    node: Node,
    region: Graph,
    values: Sequence[Value],
    starts: Sequence[Value],
    axes: Sequence[int],
    valid: Array | None = None,
) -> list[Value]:
    """A Loop over the elements along axes, in order; see `reduced`."""
    shape = shape_of(node, values[0])
    rest = [axis for axis in range(len(shape)) if axis not in axes]
    kept = [shape[axis] for axis in rest]
    if not axes:
        return applied(op, region, [*starts, *values], kept)
    sequences = [*arrays(op, *values), *([] if valid is None else [valid])]
    index = axes[0]
    if len(axes) > 1:  # all that is folded along the first axis, in order
        index, many = 0, math.prod(shape[axis] for axis in axes)
        turned = [x.transpose(*sorted(axes), *rest) for x in sequences]
        sequences = [x.reshape(many, *x.sizes_known[len(axes) :]) for x in turned]
    fed = [x.value() for x in sequences]
    slots: list[Slot] = [*(Carried() for _ in starts), *(Sliced(axis=index) for _ in fed)]
    body = op.region(region.name)
    types = [TensorType(start.tensor.dtype, tuple(kept)) for start in starts]
    so_far = [body.input("so_far", type) for type in types]
    elements = [body.input("element", without(value, index)) for value in fed]
    results = applied(body, region, [*so_far, *elements[: len(values)]], kept)
    if valid is not None:
        is_valid = Array(body, elements[-1])
        results = [where(is_valid, *pair).value() for pair in zip(arrays(body, *results), so_far, strict=True)]
    body.graph.outputs = results
    begin = [x.broadcast_to(*kept).value() for x in arrays(op, *starts)]
    return list(op.loop(None, None, slots, [*begin, *fed], body.graph, types))


@rule(DOMAIN, "reduce")
def reduce(op: Builder, node: Node) -> Results:
    """reduce: values, then their starts; `dimensions` are folded by `to_apply`.

    A single element is the result as it is: a start must change nothing, and XLA doesn't look at it then.
    """
    operands = [input_of(node, index) for index in range(len(node.inputs))]
    values, starts = operands[: len(operands) // 2], operands[len(operands) // 2 :]
    axes = axes_of(node, "dimensions", values[0].rank or 0)
    shape = values[0].tensor.static_shape
    alike = [value.tensor.dtype for value in values] == [start.tensor.dtype for start in starts]
    if shape is not None and alike and all(shape[axis] == 1 for axis in axes):
        return [x.squeeze(*axes).value() for x in arrays(op, *values)]
    return reduced(op, node, computation(node), values, starts, sorted(axes))


@rule(DOMAIN, "map")
def map_elements(op: Builder, node: Node) -> Results:
    """map: `to_apply` for each element, whatever `dimensions` says."""
    values = [input_of(node, index) for index in range(len(node.inputs))]
    return applied(op, computation(node), values, shape_of(node, values[0]))


@rule(DOMAIN, "scan")
def scan(op: Builder, node: Node) -> Results:
    """scan: the last `num_carries` operands begin what is carried, the others are taken apart along `dimensions`.

    `to_apply` takes the parts and what is carried; it gives the parts of the results and what is carried on.
    """
    region, carries = computation(node), number(node, "num_carries", 0)
    split, stacked = len(node.inputs) - carries, len(node.outputs) - carries
    if split < 1 or stacked < 0 or len(region.outputs) != len(node.outputs):
        raise InvalidModel(f"{node!r}: {carries} carries of {len(node.inputs)} operands")
    operands = [input_of(node, index) for index in range(len(node.inputs))]
    sequences, begin = operands[:split], operands[split:]
    for value in sequences:
        shape_of(node, value)
    axis = axis_of(node, sequences[0].rank or 0)
    backwards = bool(node.attributes.get("is_reverse", False))
    slots: list[Slot] = [Carried() for _ in range(carries)]
    slots += [Sliced(axis, -1, 0, -1) if backwards else Sliced(axis) for _ in sequences]
    slots += [Stacked(axis, backwards) for _ in range(stacked)]
    body = op.region(region.name)
    names = [value.name for value in region.inputs]
    carried = [body.input(name, value.type) for name, value in zip(names[split:], begin, strict=True)]
    parts = [body.input(name, without(value, axis)) for name, value in zip(names, sequences, strict=False)]
    left = body.inline(region, [*parts, *carried])
    body.graph.outputs = [*left[stacked:], *left[:stacked]]
    types = [value.type for value in (*node.outputs[stacked:], *node.outputs[:stacked])]
    results = op.loop(None, None, slots, [*begin, *sequences], body.graph, types)
    return [*results[carries:], *results[:carries]]


RULES = collect(globals())
