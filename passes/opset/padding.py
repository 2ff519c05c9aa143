"""Pad: amounts, values and axes that are known at run time only, more element types, and wrapping round."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..graph import Node, Value
from ..types import DType, TensorType
from .build import StepBuilder
from .ranges import as_type, counted
from .slicing import from_front, named, spread
from .steps import (
    Made,
    Step,
    attribute,
    changed,
    constant,
    dtype,
    given,
    numbers,
    rank,
    renamed,
    required,
    same,
)

_ONE = TensorType(DType.INT64, (1,))
_FLOATS = (DType.FLOAT16, DType.FLOAT32, DType.FLOAT64)
# float32 or float64 holds every integer of these
_HELD = {
    **{kind: DType.FLOAT32 for kind in (DType.BOOL, DType.INT8, DType.INT16, DType.UINT8, DType.UINT16)},
    **{kind: DType.FLOAT64 for kind in (DType.INT32, DType.UINT32)},
}


def _inputs(op: StepBuilder, node: Node) -> Made:
    """The value became an input of the data's type."""
    data, value = required(node, 0), attribute(node, "value", 0.0)
    filling = op.const(np.asarray(value), dtype(node, data)) if value else None
    pads = numbers(op, given(node, "pads"))
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


def _float32(value: np.ndarray[Any, Any] | None) -> float | None:
    """A constant value as the float32 that an attribute is; None where it is none."""
    if value is None or not value.size:
        return 0.0
    number = value.reshape(-1)[0]
    with np.errstate(over="ignore"):
        held = np.float32(number)
    return float(held) if np.isnan(held) or held.astype(np.float64) == number else None


def _all_axes(op: StepBuilder, node: Node) -> Made:
    """Padding of some axes as padding of all, the others by nothing."""
    if node.input(3) is None:
        return None
    return changed(node, inputs=[required(node, 0), _whole_pads(op, node), node.input(2)])


def _whole_pads(op: StepBuilder, node: Node) -> Value:
    """The amounts before and after all axes of data whose rank is known."""
    data, given, axes = required(node, 0), required(node, 1), required(node, 3)
    size = rank(node, data)
    pads, places = constant(node, 1), constant(node, 3)
    if pads is not None and places is not None:
        whole = np.zeros((2, size), np.int64)
        whole[:, places.reshape(-1) % size] = pads.reshape(2, -1)
        return numbers(op, whole)
    early = op.at(9)
    pairs = early.Reshape(given, numbers(op, [2, 1, -1]), _types=[TensorType(DType.INT64, (2, 1, None))])
    mask = named(early, from_front(early, data, axes), size)
    return early.Reshape(spread(early, mask, pairs, 0), numbers(op, -1), _types=[TensorType(DType.INT64, (2 * size,))])


def _no_wrap(op: StepBuilder, node: Node) -> Made:
    return _by_index(op, node) if attribute(node, "mode", "constant") == "wrap" else None


# by index ----------------------------------------------------------------------------------------


def _by_index(op: StepBuilder, node: Node) -> Value:
    """Along each axis, the elements gathered that stand at the places of the result."""
    data, early = required(node, 0), op.at(9)
    mode = attribute(node, "mode", "constant")
    for axis, before, after in _amounts(op, node):
        dims = data.tensor.shape
        size = dims[axis] if dims is not None else None
        if isinstance(size, int) and isinstance(before, int) and isinstance(after, int):
            places: Value = numbers(op, _sources(mode, size, before, after))
        else:
            pair = [numbers(op, pad) if isinstance(pad, int) else pad for pad in (before, after)]
            places = _places(early, mode, _size(early, data, axis), *pair)
        if mode == "constant":
            data = early.Concat(data, _one_more(early, node, data, axis), axis=axis)
        data = early.Gather(data, places, axis=axis)
    return data if data is not node.input(0) else early.Identity(data)


def _amounts(op: StepBuilder, node: Node) -> Iterator[tuple[int, int | Value, int | Value]]:
    """(axis, before, after) of the axes that may be padded."""
    pads, axes = constant(node, 1), constant(node, 3)
    if pads is not None and (axes is not None or node.input(3) is None):
        pairs = pads.reshape(2, -1)
        chosen = range(pairs.shape[1]) if axes is None else axes.reshape(-1)
        for axis, (before, after) in zip(chosen, pairs.T, strict=True):
            if before or after:
                yield int(axis) % rank(node, node.input(0)) if axis < 0 else int(axis), int(before), int(after)
        return
    size = rank(node, node.input(0))
    whole = required(node, 1) if node.input(3) is None else _whole_pads(op, node)
    for axis in range(size):
        yield axis, _item(op.at(9), whole, axis), _item(op.at(9), whole, size + axis)


def _item(op: StepBuilder, vector: Value, index: int) -> Value:
    return op.Slice(vector, starts=[index], ends=[index + 1], axes=[0], _types=[_ONE])


def _size(op: StepBuilder, data: Value, axis: int) -> Value:
    return _item(op, op.Shape(data), axis)


def _one_more(op: StepBuilder, node: Node, data: Value, axis: int) -> Value:
    """The value to pad with, as one more element of `data` along an axis."""
    kind, dims = dtype(node, data), data.tensor.shape
    value, known = node.input(2), constant(node, 2)
    if value is None or (known is not None and not known.size):
        value = op.const(np.asarray("" if kind is DType.STRING else 0), kind)
    mask = np.arange(rank(node, data)) == axis
    single = op.Where(op.const(mask), numbers(op, 1), op.Shape(data))
    rest = None if dims is None else tuple(1 if place == axis else dim for place, dim in enumerate(dims))
    return op.Expand(value, single, _types=[TensorType(kind, rest)])


def _sources(mode: str, size: int, before: int, after: int) -> np.ndarray[Any, Any]:
    """`_places` where all is known."""
    start = max(-before, 0)
    size_left = max(size - start - max(-after, 0), 0)
    places = np.arange(-max(before, 0), size_left + max(after, 0))
    if mode == "constant":
        return np.where((places >= 0) & (places < size_left), places + start, size)
    if mode == "edge":
        return np.clip(places, 0, size_left - 1) + start
    if mode == "wrap":
        return places % max(size_left, 1) + start
    turn = max(2 * (size_left - 1), 1)
    return np.minimum(places % turn, turn - places % turn) + start


def _places(op: StepBuilder, mode: str, size: Value, before: Value, after: Value) -> Value:
    """Which element of an axis stands at each place of the padded one; with a constant, the one behind the last.

    Negative amounts take away first.
    """
    zero = op.const(0)

    def at_least(value: Value, low: Value) -> Value:
        return op.Where(op.Less(value, low), low, value)

    start = at_least(op.Neg(before), zero)
    left = at_least(op.Sub(op.Sub(size, start), at_least(op.Neg(after), zero)), zero)
    front = at_least(before, zero)
    total = op.Add(op.Add(front, left), at_least(after, zero))
    places = op.Sub(counted(op, total), front)
    return _CHOICES[mode](op, places, front, left, start, size)


def _inside(op: StepBuilder, places: Value, front: Value, left: Value, start: Value, size: Value) -> Value:
    within = op.And(op.Greater(places, op.const(-1)), op.Less(places, left))
    return op.Where(within, op.Add(places, start), size)


def _nearest(op: StepBuilder, places: Value, front: Value, left: Value, start: Value, size: Value) -> Value:
    zero, last = op.const(0), op.Sub(left, op.const(1))
    low = op.Where(op.Less(places, zero), zero, places)
    return op.Add(op.Where(op.Greater(low, last), last, low), start)


def _mirrored(op: StepBuilder, places: Value, front: Value, left: Value, start: Value, size: Value) -> Value:
    """There and back is one turn; a single element is there wherever one looks."""
    one, two = op.const(1), op.const(2)
    turn = op.Mul(op.Sub(left, one), two)
    turn = op.Where(op.Less(turn, one), one, turn)
    offset = _remainder(op, op.Abs(places), turn)
    back = op.Sub(turn, offset)
    return op.Add(op.Where(op.Less(back, offset), back, offset), start)


def _wrapped(op: StepBuilder, places: Value, front: Value, left: Value, start: Value, size: Value) -> Value:
    return op.Add(_remainder(op, op.Add(places, op.Mul(front, left)), left), start)


def _remainder(op: StepBuilder, value: Value, divisor: Value) -> Value:
    """Of a number that isn't negative."""
    return op.Sub(value, op.Mul(op.Div(value, divisor), divisor))


_CHOICES: dict[str, Callable[..., Value]] = {
    "constant": _inside,
    "edge": _nearest,
    "reflect": _mirrored,
    "wrap": _wrapped,
}

ROWS = {
    ("Pad", 2): renamed("paddings", "pads"),
    ("Pad", 11): Step(_inputs, _attributes),
    ("Pad", 18): Step(same, _all_axes),
    ("Pad", 19): Step(same, _no_wrap),
}
