"""Slice and Split: parts that are cut out, at positions known before or at run time."""

from __future__ import annotations

from ..build import Expr, expr, shape_vector, size_of, where
from ..errors import InvalidModel
from ..graph import Node, Value
from ..preconditions import rank_of, required
from ..types import DType
from .build import StepBuilder
from .offsets import arange, certain, count_between, gathered
from .reduce import axes_from_front, named, scatter_selected
from .regular_steps import positive, to_attributes, to_inputs
from .steps import INT64_MAX, Made, Step, as_type, attribute, changed, constant, numbers, same, with_input

_FAR = 1 << 62  # behind the end of every axis
_SLICE = (("starts", 1), ("ends", 2), ("axes", 3))


# Slice -------------------------------------------------------------------------------------------


def _axes_from_front(op: StepBuilder, node: Node) -> Made:
    """Slice: axes counted from the front only."""
    axes = constant(node, 3)
    if node.input(3) is None or (axes is not None and (axes >= 0).all()):
        return None
    data = required(node, 0)
    if axes is not None and data.rank is not None:
        made = numbers(op, axes.reshape(-1) % data.rank)
    else:
        made = axes_from_front(op, data, required(node, 3))
    inputs = [None if value is None else as_type(op, value, DType.INT64) for value in node.formal_inputs[1:]]
    return changed(node, inputs=with_input([data, *inputs], 3, made))


def _to_attributes(op: StepBuilder, node: Node) -> Made:
    """Slice: positions known before, and every element between them; others are gathered by index."""
    starts, steps = constant(node, 1), constant(node, 4)
    if node.input(4) is None or (steps is not None and (steps == 1).all()):
        given = [constant(node, index) for _, index in _SLICE if node.input(index) is not None]
        if all(array is not None for array in given):
            plain = changed(node, inputs=node.formal_inputs[:4])
            nowhere = starts is not None and not starts.size
            return required(node, 0) if nowhere else to_attributes(*_SLICE, empty=True)(op, plain)
    return _gathered(op, node)


def _gathered(op: StepBuilder, node: Node) -> Value:
    """Slice by an index vector for each axis."""
    data = required(node, 0)
    axes, *bounds = _by_axis(op.newest, node)
    if data.rank is not None and any(axis >= data.rank for axis in axes):
        raise InvalidModel(f"{node!r}: axes {axes} of a tensor of rank {data.rank}")
    for index, axis in enumerate(axes):
        start, end, step = (values.gather([index]) for values in bounds)
        length = size_of(op.newest, required(node, 0), axis)
        data = gathered(op, data, _indices(start, end, step, length), axis)
    return data


def _by_axis(op: StepBuilder, node: Node) -> tuple[list[int], Expr, Expr, Expr]:
    """The axes, and for each of them start, end and step."""
    data, axes, known_axes = required(node, 0), node.input(3), constant(node, 3)
    given = (value for value in (*node.inputs[1:3], node.input(4)) if value is not None)
    starts, ends, *steps = (as_type(op, value, DType.INT64) for value in given)
    if axes is not None and known_axes is None:
        count = rank_of(node, data)
        mask = named(op, as_type(op, axes, DType.INT64), count)
        starts, ends = scatter_selected(op, mask, starts, 0), scatter_selected(op, mask, ends, INT64_MAX)
        steps = [scatter_selected(op, mask, values, 1) for values in steps]
        chosen = list(range(count))
    elif known_axes is not None:
        chosen = [int(axis) for axis in known_axes.reshape(-1)]
    else:
        lengths = [value.tensor.static_shape for value in (starts, ends, *steps)]
        shape = next((shape for shape in lengths if shape), None)
        chosen = list(range(shape[0] if shape else rank_of(node, data)))
        if not shape:  # they may be fewer than the axes: the rest stays whole

            def filled(values: Value, filling: int) -> Value:
                return op.Concat(values, numbers(op, [filling] * len(chosen)), axis=0)

            starts, ends, steps = filled(starts, 0), filled(ends, INT64_MAX), [filled(values, 1) for values in steps]
    ones = expr(op, [1] * len(chosen), DType.INT64)
    return chosen, certain(op, starts), certain(op, ends), certain(op, steps[0]) if steps else ones


def _indices(start: Expr, end: Expr, step: Expr, length: Expr) -> Expr:
    """The positions along an axis of a length, clamped as Slice-13 says."""
    back = (step < 0).cast(DType.INT64)
    first = _clamped(start, length, back * 0, length - back)
    span = _clamped(end, length, 0 - back, length - back) - first
    return arange(count_between(span, step, back * -2 + 1)) * step + first


def _clamped(position: Expr, length: Expr, low: Expr, high: Expr) -> Expr:
    """A position, negative ones counted from the end, clamped between two bounds."""
    if position.array is not None and abs(int(position.array[0])) >= _FAR:
        before_all = low.array is not None and bool(low.array[0] < 0)  # even before the bound of an empty axis
        return high if position.array[0] > 0 else low if before_all else low.minimum(high)
    return where(position < 0, position + length, position).maximum(low).minimum(high)


# Split -------------------------------------------------------------------------------------------


def _lengths_attribute(op: StepBuilder, node: Node) -> Made:
    """The lengths could be an input of the data's type; then they must be constant, or the input comes back."""
    lengths = constant(node, 1)
    if node.input(1) is None:
        return None
    if lengths is not None:
        return changed(node, inputs=node.inputs[:1], split=[int(length) for length in lengths.reshape(-1)])
    later = op.at(13)
    made = as_type(later, required(node, 1), DType.INT64)
    axis = attribute(node, "axis", 0)
    return later.Split(required(node, 0), made, axis=axis, _outputs=len(node.outputs))


def _count(op: StepBuilder, node: Node) -> Made:
    """Equal parts had no number but that of the outputs."""
    return None if node.input(1) is not None else changed(node, num_outputs=len(node.outputs))


def _lengths(op: StepBuilder, node: Node) -> Made:
    """`num_outputs` may leave a smaller last part: the lengths are written out unless all are equal."""
    count = attribute(node, "num_outputs")
    if count is None:
        return None
    data = required(node, 0)
    axis = attribute(node, "axis", 0)
    plain = changed(node, without=("num_outputs",))
    whole = size_of(op.newest, data, axis)
    if whole.array is not None and whole.array[0] % count == 0:
        return plain
    part = (whole + (count - 1)) // count
    lengths = shape_vector(op.newest, [*[part] * (count - 1), whole - part * (count - 1)])
    return changed(plain, inputs=[data, lengths])


def _cut_parts(op: StepBuilder, node: Node) -> Made:
    """Lengths given at run time: each part is cut out by itself."""
    if node.input(1) is None or constant(node, 1) is not None:
        return to_attributes(("split", 1))(op, node)
    data, lengths, axis = required(node, 0), required(node, 1), attribute(node, "axis", 0)
    parts: list[Value] = []
    end = numbers(op, 0)
    for index in range(len(node.outputs)):
        length = op.Slice(lengths, numbers(op, index), numbers(op, index + 1))
        start, end = end, length if not index else op.Add(end, length)
        if op.target < 10:
            positions = arange(certain(op, length))
            parts.append(gathered(op, data, positions + start if index else positions, axis))
        else:
            parts.append(op.Slice(data, start, end, numbers(op, axis)))
    return parts


ROWS = {
    ("Slice", 10): Step(to_inputs(*_SLICE, empty=True), _to_attributes),
    ("Slice", 11): Step(same, _axes_from_front),
    ("Split", 2): Step(_lengths_attribute, same),
    ("Split", 11): positive("axis"),
    ("Split", 13): Step(to_inputs(("split", 1)), _cut_parts),
    ("Split", 18): Step(_count, _lengths),
}
