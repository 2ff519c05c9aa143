"""Pad: amounts, values and axes that are known at run time only, more element types, and wrapping round."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..build import Expr, expr, size_of, where
from ..build.values import Array
from ..errors import InvalidModel
from ..graph import Node, Value
from ..preconditions import dtype_of, rank_of, required
from ..types import DType, TensorType
from .build import StepBuilder
from .offsets import arange, certain, gathered, remainder
from .reduce import axes_from_front, named, scatter_selected
from .regular_steps import renamed
from .steps import Made, Step, as_type, attribute, changed, constant, numbers, required_attribute, same

_FLOATS = (DType.FLOAT16, DType.FLOAT32, DType.FLOAT64)
# float32 or float64 holds every integer of these
_HELD = {
    **{kind: DType.FLOAT32 for kind in (DType.BOOL, DType.INT8, DType.INT16, DType.UINT8, DType.UINT16)},
    **{kind: DType.FLOAT64 for kind in (DType.INT32, DType.UINT32)},
}


def _inputs(op: StepBuilder, node: Node) -> Made:
    """The value became an input of the data's type."""
    data, value = required(node, 0), attribute(node, "value", 0.0)
    filling = op.const(np.asarray(value), dtype_of(node, data)) if value else None
    pads = numbers(op, required_attribute(node, "pads"))
    return changed(node, inputs=[data, pads, filling], without=("pads", "value"))


def _attributes(op: StepBuilder, node: Node) -> Made:
    """Pad-2 wants to know all beforehand, and pads floats only, with a float32."""
    pads, value = constant(node, 1), constant(node, 2)
    data = required(node, 0)
    kind = data.tensor.dtype or DType.FLOAT32
    work = kind if kind in _FLOATS else _HELD.get(kind)
    unknown = pads is None or (value is None and node.input(2) is not None)
    number = _float32(value) if work is not None and not unknown else None
    if work is None or pads is None or number is None:
        return _by_index(op, node)
    plain = changed(node, inputs=[data], pads=[int(pad) for pad in pads.reshape(-1)], value=number or None)
    if work is kind:
        return plain
    return as_type(op, op.Pad(as_type(op, data, work), **plain.attributes), kind)


def _float32(value: Array | None) -> float | None:
    """A constant value as the float32 that an attribute is; None where it is none."""
    if value is None or not value.size:
        return 0.0
    number = value.reshape(-1)[0]
    with np.errstate(over="ignore"):
        rounded = np.float32(number)
    return float(rounded) if np.isnan(rounded) or rounded.astype(np.float64) == number else None


def _all_axes(op: StepBuilder, node: Node) -> Made:
    """Padding of some axes as padding of all, the others by nothing."""
    if node.input(3) is None:
        return None
    return changed(node, inputs=[required(node, 0), _whole_pads(op, node), node.input(2)])


def _whole_pads(op: StepBuilder, node: Node) -> Value:
    """The amounts before and after all axes of data whose rank is known."""
    data, given, axes = required(node, 0), required(node, 1), required(node, 3)
    size = rank_of(node, data)
    pads, positions = constant(node, 1), constant(node, 3)
    if pads is not None and positions is not None:
        whole = np.zeros((2, size), np.int64)
        whole[:, _positions(node, positions, size)] = _sides(node, pads, positions.size)
        return numbers(op, whole)
    early = op.at(9)
    pairs = early.Reshape(given, numbers(op, [2, 1, -1]), _types=[TensorType(DType.INT64, (2, 1, None))])
    mask = named(early, axes_from_front(early, data, axes), size)
    return early.Reshape(
        scatter_selected(early, mask, pairs, 0), numbers(op, -1), _types=[TensorType(DType.INT64, (2 * size,))]
    )


def _positions(node: Node, axes: Array, size: int) -> Array:
    """Axes of a tensor of a rank, counted from the front."""
    if ((axes < -size) | (axes >= size)).any():
        raise InvalidModel(f"{node!r}: axes {axes.tolist()} of a tensor of rank {size}")
    found = axes.reshape(-1) % size
    if np.unique(found).size < found.size:
        raise InvalidModel(f"{node!r}: axes {axes.tolist()} name one axis twice")
    return found


def _sides(node: Node, pads: Array, axes: int) -> Array:
    """The amounts before and after so many axes."""
    if pads.size != 2 * axes:
        raise InvalidModel(f"{node!r}: {pads.size} amounts for {axes} axes")
    return pads.reshape(2, axes)


def _no_wrap(op: StepBuilder, node: Node) -> Made:
    return _by_index(op, node) if attribute(node, "mode", "constant") == "wrap" else None


# by index ----------------------------------------------------------------------------------------


def _by_index(op: StepBuilder, node: Node) -> Value:
    """Along each axis, the elements gathered that stand at the positions of the result."""
    data, op = required(node, 0), op.newest
    mode = attribute(node, "mode", "constant")
    for axis, before, after in _amounts(op, node):
        positions = _indices(mode, size_of(op, data, axis), before, after)
        if mode == "constant":
            data = op.Concat(data, _one_more(op, node, data, axis), axis=axis)
        data = gathered(op, data, positions, axis)
    return op.Identity(data) if data is node.input(0) else data


def _amounts(op: StepBuilder, node: Node) -> Iterator[tuple[int, Expr, Expr]]:
    """(axis, before, after) of the axes that may be padded."""
    pads, axes = constant(node, 1), constant(node, 3)
    if pads is not None and (axes is not None or node.input(3) is None):
        depth = required(node, 0).rank
        count = pads.size // 2 if depth is None else depth
        before, after = _sides(node, pads, count if axes is None else axes.size)
        chosen = range(count) if axes is None else axes.reshape(-1)
        if depth is not None and axes is not None:
            chosen = _positions(node, axes, depth)
        for index, axis in enumerate(chosen):
            if before[index] or after[index]:
                position = int(axis) % rank_of(node, required(node, 0)) if axis < 0 else int(axis)
                yield position, expr(op, [before[index]], DType.INT64), expr(op, [after[index]], DType.INT64)
        return
    count = rank_of(node, required(node, 0))
    whole = certain(op, required(node, 1) if node.input(3) is None else _whole_pads(op, node))
    for axis in range(count):
        yield axis, whole.gather([axis]), whole.gather([count + axis])


def _one_more(op: StepBuilder, node: Node, data: Value, axis: int) -> Value:
    """The value to pad with, as one more element of `data` along an axis."""
    kind, dims = dtype_of(node, data), data.tensor.shape
    value, known = node.input(2), constant(node, 2)
    if value is None or (known is not None and not known.size):
        value = op.const(np.asarray("" if kind is DType.STRING else 0), kind)
    mask = np.arange(rank_of(node, data)) == axis
    single = op.Where(op.const(mask), numbers(op, 1), op.Shape(data))
    rest = None if dims is None else tuple(1 if position == axis else dim for position, dim in enumerate(dims))
    return op.Expand(value, single, _types=[TensorType(kind, rest)])


def _indices(mode: str, length: Expr, before: Expr, after: Expr) -> Expr:
    """Which element of an axis stands at each position of the padded one; with a constant, the one behind the last.

    Negative amounts take away first; with a constant also from what is put on the other side, where they are more than
    there is.
    """
    if mode == "constant":
        places = arange((length + before + after).maximum(0)) - before
        return where((places > -1) & (places < length), places, length)
    start, front = (before * -1).maximum(0), before.maximum(0)
    left = (length - start - (after * -1).maximum(0)).maximum(0)
    positions = arange(front + left + after.maximum(0)) - front
    match mode:
        case "edge":
            return positions.maximum(0).minimum(left - 1) + start
        case "wrap":
            return remainder(positions + front * left, left.maximum(1)) + start
    turn = ((left - 1) * 2).maximum(1)  # there and back
    offset = remainder(positions.abs(), turn)
    return offset.minimum(turn - offset) + start


ROWS = {
    ("Pad", 2): renamed("paddings", "pads"),
    ("Pad", 11): Step(_inputs, _attributes),
    ("Pad", 18): Step(same, _all_axes),
    ("Pad", 19): Step(same, _no_wrap),
}
