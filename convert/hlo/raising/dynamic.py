"""Parts of tensors at places that the program computes, and sizes that it computes."""

from __future__ import annotations

from ....passes.build import cast
from ....passes.errors import InvalidModel
from ....passes.graph import Node, Value
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import TensorType
from ..dialect import DOMAIN
from .index_computation import grid, place, within
from .support import Results, dtype_of, given, shape_of
from .views import MOST_COUNTED, along, broadcast_to, counted, cut, reshaped, sizes, uniform, widely


def _starts(op: Builder, node: Node, first: int, rank: int) -> list[Value]:
    """The start in each dimension: an operand each, or (as it once was) one vector of all."""
    operands = [given(node, index) for index in range(first, len(node.inputs))]
    if len(operands) == 1 and operands[0].rank == 1 and operands[0].tensor.shape == (rank,):
        vector = place(op, operands[0])
        return [reshaped(op, cut(op, vector, [axis], [axis + 1]), ()) for axis in range(rank)]
    if len(operands) != rank or any(value.rank != 0 for value in operands):
        raise InvalidModel(f"{node!r}: {len(operands)} starts for {rank} dimensions")
    return operands


@rule(DOMAIN, "dynamic-slice")
@widely
def dynamic_slice(op: Builder, node: Node) -> Results:
    """dynamic-slice: the starts are clamped so that the part lies inside.

    One element of a dimension is a Gather with a scalar, whose dimension is put back; a reshape behind it takes
    it away again.
    """
    x = given(node, 0)
    shape, size = shape_of(node, x), tuple(node.attributes.get("dynamic_slice_sizes", ()))
    if len(size) != len(shape) or any(not 0 <= part <= whole for part, whole in zip(size, shape, strict=True)):
        raise InvalidModel(f"{node!r}: a part of {list(size)} of {x.type}")
    if uniform(x) is not None:
        return broadcast_to(op, x, size)
    starts = _starts(op, node, 1, len(shape))
    fixed, moving = [0] * len(shape), {}
    for axis, start in enumerate(starts):
        if size[axis] < shape[axis]:
            start = within(op, start, shape[axis] - size[axis])
            if start.data is not None:
                fixed[axis] = int(start.data.numpy())
            else:
                moving[axis] = start
    stops = [
        whole if axis in moving else fixed[axis] + part
        for axis, (part, whole) in enumerate(zip(size, shape, strict=True))
    ]
    x = cut(op, x, fixed, stops)
    single = [axis for axis in moving if size[axis] == 1]
    rest = [axis for axis in moving if size[axis] != 1]
    for axis in reversed(single):
        x = op.Gather(x, moving[axis], axis=axis)
    if rest:
        axes = [axis - sum(one < axis for one in single) for axis in rest]
        first = _vector(op, [moving[axis] for axis in rest])
        behind = op.Add(first, sizes(op, [size[axis] for axis in rest]))
        kept = tuple(part for axis, part in enumerate(size) if axis not in single)
        x = op.Slice(x, first, behind, sizes(op, axes), _types=[TensorType(x.tensor.dtype, kept)])
    return reshaped(op, x, size)


def _vector(op: Builder, scalars: list[Value]) -> Value:
    parts = [reshaped(op, one, [1]) for one in scalars]
    return parts[0] if len(parts) == 1 else op.Concat(*parts, axis=0)


@rule(DOMAIN, "dynamic-update-slice")
@widely
def dynamic_update_slice(op: Builder, node: Node) -> Results:
    """dynamic-update-slice: the starts are clamped so that the update lies inside.

    One dimension behind others is a ScatterElements, leading ones a ScatterND over the places of their elements.
    """
    x, update = given(node, 0), given(node, 1)
    shape, size = shape_of(node, x), shape_of(node, update)
    if len(size) != len(shape) or any(part > whole for part, whole in zip(size, shape, strict=True)):
        raise InvalidModel(f"{node!r}: {update.type} as a part of {x.type}")
    starts = _starts(op, node, 2, len(shape))
    if size == shape or 0 in size:
        return x if 0 in size else update
    axes = [axis for axis, part in enumerate(size) if part < shape[axis]]
    first = {axis: within(op, starts[axis], shape[axis] - size[axis]) for axis in axes}
    axis = axes[0]
    known = first[axis].data
    if len(axes) == 1 and known is not None:
        return _replaced(op, x, update, axis, int(known.numpy()))
    if len(axes) == 1 and axis:
        where = along(op, _counted_from(op, first[axis], size[axis]), axis, len(shape))
        return op.ScatterElements(x, broadcast_to(op, where, size), update, axis=axis)
    depth = axes[-1] + 1
    parts = [
        _counted_from(op, first[axis], size[axis]) if axis in first else counted(op, size[axis])
        for axis in range(depth)
    ]
    return op.ScatterND(x, grid(op, parts), update)


def _replaced(op: Builder, x: Value, update: Value, axis: int, start: int) -> Value:
    """`x` with `update` at a known place of one dimension."""
    shape, count = x.tensor.static_shape, update.tensor.static_shape
    assert shape is not None and count is not None
    zeros, end = [0] * len(shape), start + count[axis]
    before = cut(op, x, zeros, [*shape[:axis], start, *shape[axis + 1 :]])
    behind = cut(op, x, [*zeros[:axis], end, *zeros[axis + 1 :]], shape)
    parts = [part for part, size in ((before, start), (update, 1), (behind, shape[axis] - end)) if size]
    return op.Concat(*parts, axis=axis)


def _counted_from(op: Builder, start: Value, count: int) -> Value:
    """start, start + 1 ... as a vector."""
    if start.data is not None and count <= MOST_COUNTED:
        begin = int(start.data.numpy())
        return sizes(op, range(begin, begin + count))
    return reshaped(op, start, [1]) if count == 1 else op.Add(start, counted(op, count))


# sizes that the program computes ---------------------------------------------------------------------


def _dimension(node: Node, rank: int) -> int:
    axes = node.attributes.get("dimensions", ())
    if len(axes) != 1 or not 0 <= axes[0] < rank:
        raise InvalidModel(f"{node!r}: its dimension {list(axes)} isn't one of {rank}")
    return int(axes[0])


@rule(DOMAIN, "get-dimension-size")
def get_dimension_size(op: Builder, node: Node) -> Results:
    """get-dimension-size: s32, the size that a bounded dimension really has."""
    x = given(node, 0)
    axis, dtype = _dimension(node, x.rank or 0), dtype_of(node, node.outputs[0])
    size = (x.tensor.shape or ())[axis]
    if isinstance(size, int):
        return op.const(size, dtype)
    return cast(op, op.Squeeze(op.Shape(x, start=axis, end=axis + 1), sizes(op, [0])), dtype)


@rule(DOMAIN, "set-dimension-size")
@widely
def set_dimension_size(op: Builder, node: Node) -> Results:
    """set-dimension-size: the first `size` elements of a dimension are its elements from here on."""
    x, size = given(node, 0), place(op, given(node, 1))
    axis = _dimension(node, x.rank or 0)
    result = node.outputs[0]
    if size.data is not None and (x.tensor.shape or ())[axis] == int(size.data.numpy()):
        return x
    return op.Slice(x, sizes(op, [0]), reshaped(op, size, [1]), sizes(op, [axis]), _types=[result.type])


RULES = collect(globals())
