"""Hub -> OpenVINO: reductions, softmax and its kin, searches for the largest, running sums."""

from __future__ import annotations

import math

import numpy as np

from ....passes.errors import Unsupported
from ....passes.graph import Node, Value
from ....passes.preconditions import axis_of, dtype_of, flag, rank_of, required, size_of_axis
from ....passes.rewrite import Builder, Rule, collect, rule, view
from ....passes.types import DType
from ..workarounds import UNORDERED
from .context import context_of
from .tools import (
    axes_mask,
    convert,
    gather_others,
    i64,
    ints,
    number,
    range_of,
    rank_value,
    reduced,
    scalar,
    shape_of,
    size_of,
    slice_axis,
    vector,
)

_NORMS = ("ReduceL1", "ReduceL2")
_WORST = {"ReduceMax": -math.inf, "ReduceMin": math.inf}
_OF_BOOLEANS = {"ReduceMax": "ReduceLogicalOr", "ReduceMin": "ReduceLogicalAnd"}


def _axes(op: Builder, node: Node, data: Value) -> Value | None:
    """The axes to reduce over; None where there are none and nothing is to be reduced.

    Counted from the front: OpenVINO moves reductions before what reshapes, and counts from the end of that rank then.
    """
    stated = node.input(1)
    known = [] if stated is not None and stated.tensor.static_shape == (0,) else ints(stated)
    noop = flag(node, "noop_with_empty_axes")
    if known or (stated is not None and known is None):
        assert stated is not None
        if known is None and not noop:
            count = stated.tensor.shape[0] if stated.tensor.shape else None
            if not isinstance(count, int):
                return _all_if_none(op, node, data, stated)
            return stated if count else _all_axes(op, data)
        if known and data.rank and min(known) < 0:
            return i64(op, [axis_of(node, axis, data.rank) for axis in known])
        return stated
    return None if noop else _all_axes(op, data)


def _all_axes(op: Builder, data: Value) -> Value:
    return range_of(op, rank_value(op, data)) if data.rank is None else i64(op, list(range(data.rank)))


def _all_if_none(op: Builder, node: Node, data: Value, axes: Value) -> Value:
    """The axes, however many there turn out to be; all of them where there is none."""
    if not flag(node, "keepdims", 1):
        raise Unsupported(node, "how many axes are left is known at run time only")
    rank = rank_of(node, data)
    none = op.Equal(shape_of(op, axes), i64(op, [0]))
    chosen = op.Select(none, i64(op, [1] * rank), axes_mask(op, node, axes, rank))
    return vector(op, op.NonZero(chosen))


@rule("", "ReduceL1", "ReduceL2", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum")
def reduce_(op: Builder, node: Node) -> Value:
    data = required(node, 0)
    target = node.op_type
    if _may_be_none(node):
        return _with_one_more(op, node, data, reduce_)
    axes = _axes(op, node, data)
    if axes is None or data.rank == 0:
        return op.Abs(data) if target in _NORMS else data
    dtype, keep = dtype_of(node, data), flag(node, "keepdims", 1)
    known = ints(axes)
    if known is None and dtype is DType.BFLOAT16:
        return _in_float32(op, node, data, reduce_)
    if known is None and not keep:
        return _at_run_time(op, node, data, axes)
    if dtype is DType.BOOL:
        if known is not None:
            return op.call(_OF_BOOLEANS[target], data, axes, keep_dims=keep)
        counted = op.call(target, convert(op, node, data, DType.INT32), axes, keep_dims=keep)
        return convert(op, node, counted, DType.BOOL)
    if target == "ReduceL2" and dtype.is_integer:  # OpenVINO's CPU would sum the squares in 32 bits; float64 holds more
        floats = op.call(target, convert(op, node, data, DType.FLOAT64), axes, keep_dims=keep)
        return convert(op, node, floats, dtype)
    result = reduced(op, node, target, data, axes, keep)
    if target in _WORST and dtype.is_float:
        worst = number(op, node, _WORST[target], data)
        shape = node.output.tensor.static_shape
        if 0 in (data.tensor.shape or ()) and shape is not None:
            return op.Broadcast(worst, i64(op, list(shape)))
        if context_of(op).infinities:
            only = op.ReduceLogicalAnd(op.Equal(data, worst), axes, keep_dims=keep)
            result = op.Select(only, worst, result)
        elif _may_be_empty(data, known):
            count = op.ReduceProd(op.Gather(shape_of(op, data), axes, i64(op, 0)), i64(op, [0]))
            result = op.Select(op.Equal(count, i64(op, 0)), worst, result)
    return result


def _may_be_none(node: Node) -> bool:
    """Whether it is told when the model runs whether there are axes, without which nothing is reduced."""
    axes = node.input(1)
    count = None if axes is None or not axes.tensor.shape else axes.tensor.shape[0]
    open_ = axes is not None and axes.data is None and not isinstance(count, int)
    return open_ and flag(node, "noop_with_empty_axes")


def _with_one_more(op: Builder, node: Node, data: Value, reduction: Rule) -> Value:
    """Along a new first axis of size 1, too, so that there certainly is one."""
    rank = rank_of(node, data)
    behind = op.FloorMod(convert(op, node, required(node, 1), DType.INT64), i64(op, rank))
    axes = op.Concat(i64(op, [0]), op.Add(behind, i64(op, 1)), axis=0)
    wider = Node(node.domain, node.op_type, node.version)
    wider.attributes = {**node.attributes, "noop_with_empty_axes": 0}
    wider.inputs, wider.outputs = [op.Unsqueeze(data, i64(op, [0])), axes], node.outputs
    return op.Squeeze(reduction(op, wider), i64(op, [0]))


def _in_float32(op: Builder, node: Node, data: Value, reduction: Rule) -> Value:
    """Numbers of bfloat16, which OpenVINO doesn't reduce along axes that are known at run time only."""
    made = reduction(op, view(node, [convert(op, node, data, DType.FLOAT32), *node.inputs[1:]]))
    assert isinstance(made, Value)
    return convert(op, node, made, DType.BFLOAT16)


def _may_be_empty(data: Value, axes: list[int] | None) -> bool:
    """Whether an axis that is reduced may have the size 0, where OpenVINO gives the lowest finite number."""
    shape = data.tensor.shape
    reduced = shape if shape is None or axes is None else [shape[axis] for axis in axes]
    return reduced is None or not all(isinstance(size, int) and size for size in reduced)


def _at_run_time(op: Builder, node: Node, data: Value, axes: Value) -> Value:
    """The axes go with a Reshape: OpenVINO couldn't tell the rank."""
    kept = Node(node.domain, node.op_type, node.version)
    kept.attributes = {**node.attributes, "keepdims": 1}
    kept.inputs, kept.outputs = node.inputs, node.outputs
    made = reduce_(op, kept)
    assert isinstance(made, Value)
    return _without(op, node, made, data, axes)


def _without(op: Builder, node: Node, kept: Value, data: Value, axes: Value) -> Value:
    """What was made of `data` without the axes, known at run time, that have the size 1 now."""
    return op.Reshape(kept, gather_others(op, node, shape_of(op, data), axes, rank_of(node, data)))


@rule("", "ReduceLogSumExp")
def reduce_log_sum_exp(op: Builder, node: Node) -> Value:
    """log(sum(exp(x - top))) + top, where top is the largest value if that is finite, else 0."""
    data = required(node, 0)
    if _may_be_none(node):
        return _with_one_more(op, node, data, reduce_log_sum_exp)
    axes = _axes(op, node, data)
    if axes is None or data.rank == 0:
        if not dtype_of(node, data).is_float:
            return data
        nothing = number(op, node, 0, data)
        return op.Select(op.Equal(data, nothing), nothing, data)  # the logarithm of exp(-0) is 0
    if ints(axes) is None and data.tensor.dtype is DType.BFLOAT16:
        return _in_float32(op, node, data, reduce_log_sum_exp)
    keep = flag(node, "keepdims", 1)
    top = op.ReduceMax(data, axes, keep_dims=True)
    top = op.Select(op.IsFinite(top), top, number(op, node, 0, data))
    total = op.Log(op.ReduceSum(op.Exp(op.Subtract(data, top)), axes, keep_dims=True))
    shifted = op.Add(total, top)
    if keep:
        return shifted
    return _without(op, node, shifted, data, axes) if ints(axes) is None else op.Squeeze(shifted, axes)


# along one axis ----------------------------------------------------------------------------------


def _ordered(op: Builder, data: Value, most: bool) -> Value | None:
    """Numbers with the largest, or the lowest, in the place of NaN; None where there is none, or the text counts."""
    if data.tensor.dtype is None or not data.tensor.dtype.is_float or data.data is not None:
        return None
    if not op.rewriter.workarounds.take(UNORDERED):
        return None
    return op.Select(op.IsNaN(data), op.const(math.inf if most else -math.inf, data.tensor.dtype), data)


def _top(op: Builder, node: Node, data: Value, axis: int, largest: bool) -> Value:
    """Where along the axis the first largest (smallest) value is, i64, the axis kept with size 1."""
    mode = "max" if largest else "min"
    return op.TopK(data, i64(op, 1), axis=axis, mode=mode, index_element_type="i64", _outputs=2)[1]


@rule("", "ArgMax", "ArgMin")
def arg_extreme(op: Builder, node: Node) -> Value:
    """TopK with k = 1; the last of equals is the first from behind."""
    data = required(node, 0)
    if rank_of(node, data) == 0:
        return i64(op, 0)
    axis = axis_of(node, node.attributes.get("axis", 0), rank_of(node, data))
    largest = node.op_type == "ArgMax"
    data = _ordered(op, data, largest) or data
    last = flag(node, "select_last_index")
    if last:
        data = slice_axis(op, data, -1, np.iinfo(np.int64).min, -1, axis)
    found = _top(op, node, data, axis, largest)
    if last:
        found = op.Subtract(op.Subtract(size_of(op, node, data, axis), i64(op, [1])), found)
    return found if flag(node, "keepdims", 1) else op.Squeeze(found, i64(op, [axis]))


@rule("", "TopK")
def topk(op: Builder, node: Node) -> tuple[Value, ...]:
    """OpenVINO's CPU takes one at least, and there must be one: where there may be none, what it takes is cut."""
    data = required(node, 0)
    if rank_of(node, data) == 0:
        raise Unsupported(node, "the largest of a scalar")
    axis = axis_of(node, node.attributes.get("axis", -1), rank_of(node, data))
    wanted = vector(op, convert(op, node, required(node, 1), DType.INT64))
    some = bool(ints(wanted)) and ints(wanted) != [0]
    data = data if some else _one_at_least(op, node, data, axis)
    ordered = _ordered(op, data, True)
    made = op.TopK(
        data if ordered is None else ordered,
        scalar(op, wanted if some else op.Maximum(wanted, i64(op, [1]))),
        axis=axis,
        mode="max" if flag(node, "largest", 1) else "min",
        _outputs=2,
    )
    if ordered is not None:
        made = op.GatherElements(data, made[1], axis=axis), made[1]
    return made if some else tuple(slice_axis(op, value, 0, wanted, axis=axis) for value in made)


def _one_at_least(op: Builder, node: Node, data: Value, axis: int) -> Value:
    """With one 0 along an axis that has the size 0."""
    size = size_of_axis(data, axis)
    if size:
        return data
    rank, sizes = rank_of(node, data), shape_of(op, data)
    missing = op.Convert(op.Equal(sizes, i64(op, 0)), destination_type="i64")
    along_axis = i64(op, [int(index == axis) for index in range(rank)])
    filler = number(op, node, 0, data)
    return op.Pad(data, i64(op, [0] * rank), op.Multiply(missing, along_axis), filler, pad_mode="constant")


@rule("", "CumSum")
def cum_sum(op: Builder, node: Node) -> Value:
    axis = scalar(op, required(node, 1))
    return op.CumSum(required(node, 0), axis, exclusive=flag(node, "exclusive"), reverse=flag(node, "reverse"))


RULES = collect(globals())
