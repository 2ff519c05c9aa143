"""Counting, filling and accumulating before there was such an operator: Range, ConstantOfShape, EyeLike, Expand; CumSum
and CumProd by a Scan that accumulates along the axis, in its order."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..build import Expr, concat, length_of, reshape, shape_of
from ..constant_analysis import static_array
from ..errors import Unsupported
from ..graph import Node, Value
from ..preconditions import dtype_of, rank_of, required
from ..protos import DTYPES
from ..types import DType, TensorType
from .build import StepBuilder
from .offsets import along, arange, certain, count_between, deferred
from .reduce import axes_from_front
from .regular_steps import added
from .steps import INT64_MAX, Adapter, Made, Step, attribute, constant, numbers, work_type

# Range -------------------------------------------------------------------------------------------


def _range(op: StepBuilder, node: Node) -> Value:
    """Range-11: start + i * delta, of which there are max(0, ceil((limit - start) / delta))."""
    made = static_array(node.output)
    if made is not None:
        return op.const(made)
    kind = dtype_of(node, required(node, 0))
    work = work_type(kind) if kind.is_float else DType.INT64
    start, limit, delta = (certain(op, required(node, index)).cast(work).reshape(1) for index in range(3))
    if kind.is_float:  # float64 holds the differences of float32 numbers as well as their quotient can be told
        first, last, step = (number.cast(DType.FLOAT64) for number in (start, limit, delta))
        count = ((last - first) / step).ceil().call("Relu").cast(DType.INT64)
    else:
        count = count_between(limit - start, delta, delta.sign())
    numbers = arange(count).cast(work)
    numbers = numbers if delta.item() == 1 else numbers * delta
    return (numbers if start.item() == 0 else numbers + start).cast(kind).value()


# filling -----------------------------------------------------------------------------------------


def _filled(op: StepBuilder, node: Node) -> Value:
    """ConstantOfShape-9: one element, expanded."""
    made = static_array(node.output)
    if made is not None:
        return op.const(made, node.output.tensor.dtype)
    data = attribute(node, "value")
    one = op.const(0.0) if data is None else op.const(data.numpy().reshape(()), data.dtype)
    return op.Expand(one, required(node, 0))


def _tiled(op: StepBuilder, node: Node) -> Value:
    """Expand-8: axes of size 1 are repeated, others once."""
    data, shape = required(node, 0), required(node, 1)
    count = shape.tensor.static_shape
    if count is None:
        raise Unsupported(node, "a shape of unknown length can't be expressed before version 8")
    size = rank_of(node, data)
    longest = max(size, count[0])
    if not longest:
        return data

    def lengthened(sizes: Expr, length: int) -> Expr:
        return concat(op.newest, [np.ones(longest - length), sizes]) if length < longest else sizes

    sizes = lengthened(shape_of(op.newest, data), size)
    single = sizes.equals(1).cast(DType.INT64)
    repeats = single * (lengthened(certain(op, shape), count[0]) - 1) + 1
    return op.Tile(reshape(op.newest, data, [sizes]) if size < longest else data, repeats)


def _eye(op: StepBuilder, node: Node) -> Value:
    """EyeLike-9: where the column is the row and k more."""
    data = required(node, 0)
    number, last = attribute(node, "dtype"), rank_of(node, data) - 1  # a vector's length is that of both axes
    kind = dtype_of(node, data) if number is None else DTYPES[number]
    row, column = (deferred(along(length_of(op.newest, data, (0, last)[axis]), axis, 2)) for axis in range(2))
    return column.equals(row + attribute(node, "k", 0)).cast(kind).value()


def _by_scan(operator: str, start: float) -> Adapter:
    """The adapter for an accumulation with a binary operator.

    Args:
        start: what the operator leaves every element unchanged with.
    """

    def down(op: StepBuilder, node: Node) -> Made:
        known = static_array(node.output)
        if known is not None:
            return op.const(known, node.output.tensor.dtype)
        data = required(node, 0)
        size = rank_of(node, data)
        axis = constant(node, 1)
        if size == 1:
            return _accumulated(op, node, operator, start, 0)
        if axis is not None:
            return _accumulated(op, node, operator, start, int(axis.item()) % size)
        given = reshape(op, axes_from_front(op, data, required(node, 1)), [1])
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
    kind = dtype_of(node, data)
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
