"""Counting, filling and accumulating before there was such an operator: Range, ConstantOfShape, EyeLike, Expand; CumSum
and CumProd by a Scan that accumulates along the axis, in its order."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..constant_analysis import static_array
from ..errors import Unsupported
from ..graph import Node, Value
from ..preconditions import required
from ..protos import DTYPES
from ..types import DType, TensorType
from .build import StepBuilder
from .offsets import along, counted, extent, one_of
from .reduce import axes_from_front
from .steps import (
    INT64_MAX,
    Adapter,
    Made,
    Step,
    added,
    as_int64,
    as_type,
    attribute,
    constant,
    dtype,
    numbers,
    rank,
    work_type,
)

# Range -------------------------------------------------------------------------------------------


def _range(op: StepBuilder, node: Node) -> Value:
    """Range-11: start + i * delta, of which there are as many as `_count_of` says."""
    certain = static_array(node.output)
    if certain is not None:
        return op.const(certain)
    kind = dtype(node, required(node, 0))
    work = work_type(kind) if kind.is_float else DType.INT64
    start, limit, delta = (one_of(op, as_type(op, required(node, index), work)) for index in range(3))
    count = _count_of_floats(op, start, limit, delta) if kind.is_float else _count_of(op, node, start, limit, delta)
    made = as_type(op, counted(op, count), work)
    step, first = constant(node, 2), constant(node, 0)
    if step is None or step.item() != 1:
        made = op.Mul(made, delta)
    if first is None or first.item() != 0:
        made = op.Add(made, start)
    return as_type(op, made, kind)


def _count_of(op: StepBuilder, node: Node, start: Value, limit: Value, delta: Value) -> Value:
    """max(0, ceil((limit - start) / delta)) of integers, whose division cuts off."""
    zero, one = op.const(0), op.const(1)
    first, step = constant(node, 0), constant(node, 2)
    span = limit if first is not None and first.item() == 0 else op.Sub(limit, start)
    if step is not None and step.item() == 1:
        return op.Where(op.Greater(span, zero), span, zero)
    sign = op.const(int(np.sign(step.item()))) if step is not None else op.Sign(delta)
    count = op.Add(op.Div(op.Sub(span, sign), delta), one)
    ahead = op.Greater(span, zero) if step is not None and step.item() > 0 else op.Greater(op.Mul(span, sign), zero)
    return op.Where(ahead, count, zero)


def _count_of_floats(op: StepBuilder, start: Value, limit: Value, delta: Value) -> Value:
    """The same in float64, which holds the differences of float32 numbers as well as their quotient can be told."""
    start, limit, delta = (as_type(op, value, DType.FLOAT64) for value in (start, limit, delta))
    quotient = op.Div(op.Sub(limit, start), delta)
    return as_int64(op, op.Relu(op.Ceil(quotient)))


# filling -----------------------------------------------------------------------------------------


def _filled(op: StepBuilder, node: Node) -> Value:
    """ConstantOfShape-9: one element, expanded."""
    certain = static_array(node.output)
    if certain is not None:
        return op.const(certain, node.output.tensor.dtype)
    data = attribute(node, "value")
    one = op.const(0.0) if data is None else op.const(data.numpy().reshape(()), data.dtype)
    return op.Expand(one, required(node, 0))


def _tiled(op: StepBuilder, node: Node) -> Value:
    """Expand-8: axes of size 1 are repeated, others once."""
    data, shape = required(node, 0), required(node, 1)
    count = shape.tensor.static_shape
    if count is None:
        raise Unsupported(node, "a shape of unknown length can't be expressed before version 8")
    size = rank(node, data)
    longest = max(size, count[0])
    if not longest:
        return data

    def lengthened(sizes: Value, length: int) -> Value:
        front = longest - length
        parts = [numbers(op, [1] * front)] * bool(front) + [sizes] * bool(length)
        return parts[0] if len(parts) == 1 else op.Concat(*parts, axis=0, _types=[TensorType(DType.INT64, (longest,))])

    sizes = lengthened(op.Shape(data), size)
    single = as_int64(op, op.Equal(sizes, numbers(op, [1] * longest)))
    wanted = op.Mul(single, lengthened(shape, count[0]))
    repeats = op.Add(wanted, op.Sub(numbers(op, [1] * longest), single))
    return op.Tile(op.Reshape(data, sizes) if size < longest else data, repeats)


def _eye(op: StepBuilder, node: Node) -> Value:
    """EyeLike-9: where the column is the row and k more."""
    data = required(node, 0)
    number, last = attribute(node, "dtype"), rank(node, data) - 1  # a vector's length is that of both axes
    kind = dtype(node, data) if number is None else DTYPES[number]
    rows, columns = along(op, extent(op, data, 0), 0, 2), along(op, extent(op, data, last), 1, 2)
    return as_type(op, op.Equal(columns, op.Add(rows, op.const(attribute(node, "k", 0)))), kind)


def _by_scan(operator: str, start: float) -> Adapter:
    """The adapter for an accumulation with a binary operator.

    Args:
        start: what the operator leaves every element unchanged with.
    """

    def down(op: StepBuilder, node: Node) -> Made:
        certain = static_array(node.output)
        if certain is not None:
            return op.const(certain, node.output.tensor.dtype)
        data = required(node, 0)
        size = rank(node, data)
        axis = constant(node, 1)
        if size == 1:
            return _accumulated(op, node, operator, start, 0)
        if axis is not None:
            return _accumulated(op, node, operator, start, int(axis.item()) % size)
        given = one_of(op, axes_from_front(op, data, required(node, 1)))
        made = _accumulated(op, node, operator, start, 0)
        for index in range(1, size):
            other = _accumulated(op, node, operator, start, index)
            made = op.Where(op.Equal(given, numbers(op, index)), other, made)
        return made

    return down


def _accumulated(op: StepBuilder, node: Node, operator: str, start: float, axis: int) -> Value:
    """Along one axis, which is put first: not every runtime scans another one, or an empty tensor along it."""
    data = required(node, 0)
    dims = data.tensor.shape
    assert dims is not None
    if dims[axis] == 0:
        return op.Identity(data)
    if not axis:
        return _from_first_to_last(op, node, data, operator, start)
    order = [axis, *(index for index in range(len(dims)) if index != axis)]
    made = _from_first_to_last(op, node, op.Transpose(data, perm=order), operator, start)
    return op.Transpose(made, perm=np.argsort(order).tolist(), _types=[data.type])


def _from_first_to_last(op: StepBuilder, node: Node, data: Value, operator: str, start: float) -> Value:
    """Along axis 0. Where it may be empty it gets one element more, as a loop without a pass has no shape to give."""
    kind = dtype(node, data)
    length, *rest = data.tensor.shape or (None,)
    exclusive, reverse = attribute(node, "exclusive", 0), attribute(node, "reverse", 0)
    if operator == "Add" and kind.is_float and not exclusive:
        start = -0.0  # the sum of a single -0 is -0
    early, inner = op.at(9), TensorType(kind, tuple(rest))
    first = op.const(start, kind)
    if rest:
        first = op.Expand(first, early.Gather(op.Shape(data), numbers(op, range(1, len(rest) + 1))), _types=[inner])
    elements, padded = data, not isinstance(length, int)
    if padded:
        one = early.Unsqueeze(first, axes=[0])
        elements = op.Concat(data, one, axis=0) if reverse else op.Concat(one, data, axis=0)
    body = op.region("accumulation")
    total, part = body.input("total", inner), body.input("part", inner)
    after = body.call(operator, total, part, _types=[inner])
    gives = after if padded or not exclusive else total
    body.graph.outputs = [after, body.Identity(gives, _types=[inner])]
    scan = Node("", "Scan", 9)
    scan.regions["body"] = body.graph
    plan: dict[str, Any] = {"num_scan_inputs": 1}
    if reverse:
        plan |= {"scan_input_directions": [1], "scan_output_directions": [1]}
    whole = TensorType(kind, (None if padded else length, *rest))
    _, made = op.insert(scan, [first, elements], plan, 2, [inner, whole])
    if not padded:
        return made
    from_place, to_place = (0, -1) if bool(exclusive) is not bool(reverse) else (1, INT64_MAX)
    return early.Slice(made, starts=[from_place], ends=[to_place], axes=[0], _types=[data.type])


ROWS = {
    ("Range", 27): added(stash_type=1),
    ("Range", 11): Step("Range came with version 11", _range),
    ("ConstantOfShape", 9): Step("ConstantOfShape came with version 9", _filled),
    ("EyeLike", 9): Step("EyeLike came with version 9", _eye),
    ("Expand", 8): Step("Expand came with version 8", _tiled),
    ("CumSum", 11): Step("CumSum came with version 11", _by_scan("Add", 0.0)),
    ("CumProd", 26): Step("CumProd came with version 26", _by_scan("Mul", 1.0)),
}
