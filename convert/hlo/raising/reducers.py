"""Folding along axes with any computation: ONNX's reductions, ArgMax and ArgMin where it is one of them, or a Loop."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ....passes.build import cast
from ....passes.graph import Graph, Node, Value
from ....passes.loop import Carried, Sliced, Slot
from ....passes.rewrite import Builder
from ....passes.types import DType, TensorType
from .bodies import applied, either, monoid
from .extremes import extreme, is_count
from .support import dtype_of, shape_of
from .type_legalization import narrowed
from .views import broadcast_to, reshaped, transposed

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


def lowest(dtype: DType) -> int | float:
    """What every value of a type is at least: -inf for floats that have one."""
    return _least(dtype, -1)


def highest(dtype: DType) -> int | float:
    """What every value of a type is at most."""
    return _least(dtype, 1)


def _least(dtype: DType, sign: int) -> int | float:
    import ml_dtypes

    if dtype is DType.BOOL:
        return int(sign > 0)
    if dtype.is_float:
        end = np.asarray(sign * np.inf).astype(dtype.numpy)
        found = ml_dtypes.finfo(dtype.numpy)
        return float(end) if np.isinf(end.astype(np.float64)) else float(found.max if sign > 0 else found.min)
    whole = ml_dtypes.iinfo(dtype.numpy)
    return int(whole.max if sign > 0 else whole.min)


def neutral(kind: str, dtype: DType) -> int | float:
    """What an opcode leaves every value of a type unchanged with."""
    if kind in ("maximum", "minimum"):
        return lowest(dtype) if kind == "maximum" else highest(dtype)
    if kind == "and" and dtype is not DType.BOOL and dtype.is_signed:
        return -1
    return {"add": 0, "or": 0, "xor": 0, "multiply": 1, "and": highest(dtype)}[kind]


def is_neutral(value: Value, kind: str) -> bool:
    """Whether a scalar is a constant that an opcode leaves everything unchanged with."""
    array = value.array()
    if array is None:
        return False
    return bool(array.reshape(()) == np.asarray(neutral(kind, dtype_of_data(value))).astype(array.dtype))


def dtype_of_data(value: Value) -> DType:
    assert value.tensor.dtype is not None, value
    return value.tensor.dtype


def for_sums(dtype: DType) -> DType:
    """The type in which ONNX and ONNX Runtime add what wraps, or is rounded, to `dtype` again."""
    if dtype.is_float:
        return DType.FLOAT32 if dtype.bits < 32 else dtype
    if dtype in (DType.UINT32, DType.UINT64):
        return DType.INT64
    return DType.INT32 if dtype.bits < 32 else dtype


def _for_sum(value: Value, dtype: DType, axes: Sequence[int]) -> DType:
    """As `for_sums`, with room for what stands along axes: ONNX Runtime's ReduceSum of integers saturates."""
    wide = for_sums(dtype)
    if wide is not DType.INT32:
        return wide
    shape, maker = value.tensor.static_shape, value.producer
    source = maker.inputs[0] if maker is not None and maker.op == ("", "Cast") else value
    narrow = source.tensor.dtype if source is not None else dtype
    bits = 1 if narrow is DType.BOOL else narrow.bits if narrow is not None and narrow.is_integer else dtype.bits
    count = 1 << 32 if shape is None else math.prod(shape[axis] for axis in axes)
    return wide if count << min(bits, dtype.bits) < 1 << 31 else DType.INT64


def for_order(dtype: DType) -> DType:
    """The type in which ONNX and ONNX Runtime compare values of a type."""
    if dtype is DType.UINT32:
        return DType.FLOAT64  # ONNX Runtime's ReduceMax of int64 takes numbers from 2^31 on for negative ones
    return dtype if dtype is DType.UINT64 else for_sums(dtype)


def by_operator(op: Builder, kind: str, value: Value, axes: Sequence[int], dtype: DType) -> Value:
    """One of ONNX's reductions, without what is folded in first; `value` is of type `dtype`."""
    over = op.const(list(axes), DType.INT64)
    if kind == "xor":
        count = op.ReduceSum(cast(op, value, DType.INT32), over, keepdims=0)
        return cast(op, op.Mod(count, op.const(2, DType.INT32)), DType.BOOL)
    if kind in _LOGIC:
        wide = dtype
    elif kind in _ORDER:
        wide = for_order(dtype)
    else:
        wide = _for_sum(value, dtype, axes)
    return narrowed(op, op.call(REDUCTIONS[kind], cast(op, value, wide), over, keepdims=0), dtype)


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
    valid: Value | None = None,
) -> list[Value]:
    """Arrays of one shape folded along axes, each result beginning with its start (a scalar).

    Elements are taken in order, which XLA leaves open. `valid` (bool, broadcast to the arrays): what isn't is left out.
    """
    kinds = [monoid(region, index) for index in range(len(values))]
    dtypes = [dtype_of(node, start) for start in starts]
    static = values[0].tensor.static_shape
    if static is not None and 0 in (static[axis] for axis in axes):
        kept = [size for axis, size in enumerate(static) if axis not in axes]
        return [broadcast_to(op, start, kept) for start in starts]
    if all(has_operator(kind, dtype) for kind, dtype in zip(kinds, dtypes, strict=True)):
        found = []
        for kind, value, dtype in zip(kinds, values, dtypes, strict=True):
            assert kind is not None
            value = cast(op, value, dtype)
            if valid is not None:
                value = either(op, valid, value, op.const(neutral(kind, dtype), dtype))
            found.append(by_operator(op, kind, value, axes, dtype) if axes else value)
        known = [is_neutral(start, kind or "") for start, kind in zip(starts, kinds, strict=True)]
        begun = found if all(known) else _begun(op, node, region, starts, found)
        return [one if idle else other for one, other, idle in zip(found, begun, known, strict=True)]
    found = None if valid is not None else _argument(op, node, region, values, starts, axes)
    return found if found is not None else folded(op, node, region, values, starts, axes, valid)


def _begun(op: Builder, node: Node, region: Graph, starts: Sequence[Value], found: Sequence[Value]) -> list[Value]:
    """What was folded, with the starts before it."""
    return applied(op, region, [*starts, *found], shape_of(node, found[0]))


def _argument(
    op: Builder, node: Node, region: Graph, values: Sequence[Value], starts: Sequence[Value], axes: Sequence[int]
) -> list[Value] | None:
    """The largest or smallest element along an axis and its place, where that is what is computed.

    NaN is before all others, as NumPy has it, and ONNX's reference; ONNX Runtime's ArgMax overlooks it.
    """
    if len(values) != 2 or len(axes) != 1 or not is_count(values[1], axes[0]):
        return None
    found = extreme(region)
    if found is None:
        return None
    axis, kind = axes[0], dtype_of(node, values[0])
    wide = cast(op, values[0], for_order(kind))
    name = "Max" if found.largest else "Min"
    place = op.call(f"Arg{name}", wide, axis=axis, keepdims=0, select_last_index=int(found.last) or None)
    over = op.const([axis], DType.INT64)
    best = op.call(f"Reduce{name}", wide, over, keepdims=0)
    results = [narrowed(op, best, kind), cast(op, place, dtype_of(node, values[1]))]
    first = starts[1].array()
    known = is_neutral(starts[0], "maximum" if found.largest else "minimum")
    if known and (found.last or (first is not None and int(first) == 0)):
        return results
    return _begun(op, node, region, starts, results)


# any computation -----------------------------------------------------------------------------------


def folded(
    op: Builder,
    node: Node,
    region: Graph,
    values: Sequence[Value],
    starts: Sequence[Value],
    axes: Sequence[int],
    valid: Value | None = None,
) -> list[Value]:
    """A Loop over the elements along axes, in order; see `reduced`."""
    kept = [size for axis, size in enumerate(shape_of(node, values[0])) if axis not in axes]
    if not axes:
        return applied(op, region, [*starts, *values], kept)
    sequences = [_in_a_row(op, node, value, axes) for value in (*values, *([] if valid is None else [valid]))]
    place = axes[0] if len(axes) == 1 else 0
    slots: list[Slot] = [Carried() for _ in starts]
    slots += [Sliced(axis=place) for _ in sequences]
    body = op.region(region.name)
    types = [TensorType(start.tensor.dtype, tuple(kept)) for start in starts]
    so_far = [body.input("so_far", type) for type in types]
    elements = [body.input("element", _without(value, place)) for value in sequences]
    made = applied(body, region, [*so_far, *elements[: len(values)]], kept)
    if valid is not None:
        made = [either(body, elements[-1], new, old) for new, old in zip(made, so_far, strict=True)]
    body.graph.outputs = made
    begin = [broadcast_to(op, start, kept) for start in starts]
    return list(op.loop(None, None, slots, [*begin, *sequences], body.graph, types))


def _without(value: Value, axis: int) -> TensorType:
    """The type of a value's elements along an axis."""
    shape = value.tensor.shape or ()
    return TensorType(value.tensor.dtype, tuple(size for at, size in enumerate(shape) if at != axis))


def _in_a_row(op: Builder, node: Node, value: Value, axes: Sequence[int]) -> Value:
    """A value with all that is folded along its first axis, in order; one axis stays where it is."""
    if len(axes) == 1:
        return value
    shape = shape_of(node, value)
    over = sorted(axes)
    rest = [axis for axis in range(len(shape)) if axis not in axes]
    target = [math.prod(shape[axis] for axis in over), *(shape[axis] for axis in rest)]
    return reshaped(op, transposed(op, value, [*over, *rest]), target)
