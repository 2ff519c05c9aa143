"""What the lowering rules share: what is known of a value, and the shortest ways to say common things in HLO."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....passes.errors import Unsupported
from ....passes.graph import Graph, Node, Value
from ....passes.preconditions import dtype_of, rank_of
from ....passes.rewrite import Builder
from ....passes.sizes import OpenSize, dims_of
from ....passes.tensor import TensorData
from ....passes.types import DType, TensorType
from ..expression import HloExpr
from ..limits import neutral
from ..text.tree import PadDim, SliceDim, WindowDim
from .open_sizes import items_of, size_scalar, size_vector

Results = Value | Sequence[Value] | None
Sizes = tuple[int, ...]

_FOLDED = 1024  # elements of a constant that is reshaped here


# what is known ------------------------------------------------------------------------------------


def sizes_of(node: Node, value: Value) -> Sizes:
    """The sizes of a value, ints and `OpenSize`.

    Raises:
        Unsupported: one isn't a function of the inputs' sizes.
    """
    shape = dims_of(value.tensor.shape)
    if shape is None:
        raise Unsupported(node, f"the shape of {value.name!r} is known only when the model runs")
    return shape


def result_sizes(node: Node, index: int = 0) -> Sizes:
    """The sizes of a result, as inference tells them."""
    return sizes_of(node, node.outputs[index])


def array_of(node: Node, index: int, what: str) -> np.ndarray[Any, Any] | None:
    """The elements of an input that must be constant, None where it is left out; `what` says what it holds."""
    value = node.input(index)
    if value is None:
        return None
    array = value.array()
    if array is None:
        raise Unsupported(node, f"its {what} must be known before the model runs ({value.name!r} isn't)")
    return array


def ints_of(node: Node, index: int, what: str) -> list[int] | None:
    """The integers of an input that must be constant or sizes (`OpenSize`), None where it is left out."""
    value = node.input(index)
    items = None if value is None or value.data is not None else items_of(value)
    if items is not None:
        return items
    array = array_of(node, index, what)
    return None if array is None else [int(item) for item in array.reshape(-1)]


def word(node: Node, name: str, default: str) -> str:
    """An ONNX attribute that is text."""
    found = node.attributes.get(name, default)
    return found.decode() if isinstance(found, bytes) else str(found)


# constants ----------------------------------------------------------------------------------------


def scalar(op: Builder, number: Any, dtype: DType) -> Value:
    """A scalar constant, or an open size, one for each number and graph."""
    if isinstance(number, OpenSize):
        return size_scalar(op, number, dtype)
    array = np.asarray(number).astype(dtype.numpy)
    key = (op.graph, dtype, array.tobytes())
    scalars: dict[tuple[Graph, DType, bytes], Value] = op.rewriter.context.scalars
    if key not in scalars:
        scalars[key] = op.const(array, dtype)
    return scalars[key]


def like(op: Builder, node: Node, number: Any, value: Value) -> Value:
    """A number as a constant of the element type and shape of `value`."""
    return fill(op, scalar(op, number, dtype_of(node, value)), sizes_of(node, value))


class Formula(HloExpr):
    """An array expression whose numbers are written once for each graph."""

    __slots__ = ()

    def scalar(self, array: np.ndarray[Any, Any]) -> Value:
        return scalar(self.op, array, DType.of(array.dtype))


def formula(op: Builder, *values: Value) -> list[Formula]:
    """Values to be computed with."""
    return [Formula(op, value) for value in values]


def constant(op: Builder, array: Any, dtype: DType) -> Value:
    if isinstance(array, list | tuple) and any(isinstance(item, OpenSize) for item in array):
        return size_vector(op, array, dtype)
    return op.const(np.asarray(array), dtype)


# shapes -------------------------------------------------------------------------------------------


def typed(value: Value, shape: Sequence[int]) -> TensorType:
    return TensorType(value.tensor.dtype, tuple(shape))


def reshape(op: Builder, value: Value, shape: Sequence[int]) -> Value:
    """The same elements in another shape; several reshapes are one, and a small constant is only seen differently."""
    full = tuple(shape)
    maker = value.producer
    if maker is not None and maker.op_type == "reshape" and maker.inputs[0] is not None:
        value = maker.inputs[0]
    if value.tensor.shape == full:
        return value
    data = value.data
    if data is not None and data.size <= _FOLDED:
        return op.const(TensorData(data.dtype, full, load=lambda: data.numpy().reshape(full)), name=value.name)
    return op.call("reshape", value, _types=[typed(value, full)])


def broadcast(op: Builder, value: Value, shape: Sequence[int], dimensions: Sequence[int]) -> Value:
    """`value` repeated into `shape`, its own dimensions at `dimensions`; XLA sees to it that one of them that is open
    has the size it has there."""
    if value.tensor.shape == tuple(shape):
        return value
    own, have = tuple(shape[axis] for axis in dimensions), value.tensor.shape or ()
    if own != have and any(isinstance(size, str) for size in have):
        value = reshape(op, value, own)
    return op.call("broadcast", value, dimensions=tuple(dimensions), _types=[typed(value, shape)])


def fill(op: Builder, value: Value, shape: Sequence[int]) -> Value:
    """A scalar, repeated."""
    return broadcast(op, value, shape, ())


def broadcast_to(op: Builder, node: Node, value: Value, shape: Sequence[int]) -> Value:
    """`value` repeated into `shape` as NumPy does it: from the right, along dimensions of size 1."""
    have = sizes_of(node, value)
    if have == tuple(shape):
        return value
    skip = len(shape) - len(have)
    if skip < 0 or any(size not in (1, shape[skip + at]) for at, size in enumerate(have)):
        raise Unsupported(node, f"{value.name!r} of shape {_listed(have)} doesn't broadcast to {_listed(shape)}")
    kept = [at for at, size in enumerate(have) if size != 1 or shape[skip + at] == 1]
    return broadcast(op, reshape(op, value, [have[at] for at in kept]), shape, [skip + at for at in kept])


def joint(node: Node, values: Sequence[Value]) -> Sizes:
    """The shape that NumPy's broadcasting gives."""
    return joint_sizes(node, [sizes_of(node, value) for value in values])


def joint_sizes(node: Node, shapes: Sequence[Sequence[int]]) -> Sizes:
    """The shape that NumPy's broadcasting makes of these.

    Raises:
        Unsupported: they don't broadcast, or only for some sizes.
    """
    rank = max(map(len, shapes), default=0)
    found: list[int] = []
    for sizes in zip(*([1] * (rank - len(shape)) + list(shape) for shape in shapes), strict=True):
        several = dict.fromkeys(size for size in sizes if size != 1)
        if len(several) > 1:
            told = " and ".join(map(_listed, shapes))
            only = " for all sizes" if any(isinstance(size, str) for size in several) else ""
            raise Unsupported(node, f"its inputs have shapes that don't broadcast{only}: {told}")
        found.append(next(iter(several), 1))
    return tuple(found)


def _listed(shape: Sequence[int]) -> str:
    return f"[{', '.join(map(str, shape))}]"


def aligned(op: Builder, node: Node, values: Sequence[Value]) -> list[Value]:
    """Values of one shape, by NumPy's broadcasting. Bounded sizes are only taken where all have the same."""
    if len({value.tensor.shape for value in values}) == 1:
        return list(values)
    shape = joint(node, values)
    return [broadcast_to(op, node, value, shape) for value in values]


def transpose(op: Builder, value: Value, order: Sequence[int]) -> Value:
    return value if list(order) == sorted(order) else op.transpose(value, dimensions=tuple(order))


def slice_axis(op: Builder, node: Node, value: Value, axis: int, start: int, stop: int, step: int = 1) -> Value:
    """`value[start:stop:step]` along one axis, forwards and within the size."""
    have = sizes_of(node, value)
    if (start, stop, step) == (0, have[axis], 1):
        return value
    whole = [SliceDim(0, size) for size in have]
    whole[axis] = SliceDim(start, max(stop, start), step)
    return op.slice(value, slice=tuple(whole))


def slice_dims(op: Builder, node: Node, value: Value, dims: Sequence[SliceDim]) -> Value:
    """`slice`, left out where it takes everything."""
    whole = all(
        (dim.start, dim.limit, dim.stride) == (0, size, 1)
        for dim, size in zip(dims, sizes_of(node, value), strict=True)
    )
    return value if whole else op.slice(value, slice=tuple(dims))


def concatenate(op: Builder, values: Sequence[Value], axis: int) -> Value:
    return values[0] if len(values) == 1 else op.concatenate(*values, dimensions=(axis,))


def pad(op: Builder, value: Value, filling: Value, pads: Sequence[tuple[int, int]]) -> Value:
    """`filling` (a scalar) added before and after each dimension; less than 0 takes away."""
    if not any(low or high for low, high in pads):
        return value
    return op.pad(value, filling, padding=tuple(PadDim(low, high) for low, high in pads))


def iota(op: Builder, shape: Sequence[int], axis: int, dtype: DType = DType.INT64) -> Value:
    """0, 1, 2 ... along one axis."""
    return op.call("iota", iota_dimension=axis, _types=[TensorType(dtype, tuple(shape))])


def pick(op: Builder, node: Node, value: Value, axis: int, indices: Sequence[int]) -> Value:
    """The elements at these positions along an axis: runs of them as slices, else by a gather."""
    runs = _runs(indices)
    if len(runs) > 4:
        return take(op, node, value, axis, constant(op, indices, DType.INT64))
    have = sizes_of(node, value)
    parts = []
    for start, step, count in runs:
        if step == 0 and count > 1:
            one = slice_axis(op, node, value, axis, start, start + 1)
            parts.append(broadcast_to(op, node, one, [*have[:axis], count, *have[axis + 1 :]]))
        elif step < 0:
            last = start + step * (count - 1)
            parts.append(op.reverse(slice_axis(op, node, value, axis, last, start + 1, -step), dimensions=(axis,)))
        else:
            parts.append(slice_axis(op, node, value, axis, start, start + max(step, 1) * (count - 1) + 1, max(step, 1)))
    if not parts:
        return slice_axis(op, node, value, axis, 0, 0)
    return concatenate(op, parts, axis)


def _runs(indices: Sequence[int]) -> list[tuple[int, int, int]]:
    """(start, step, count) of each stretch with one step between its elements; the steps are numbers."""
    found: list[tuple[int, int, int]] = []
    at = 0
    while at < len(indices):
        step = indices[at + 1] - indices[at] if at + 1 < len(indices) else 1
        end = at + 1
        if isinstance(step, OpenSize):  # from one end to the other
            found.append((indices[at], 1, 1))
            at = end
            continue
        while end < len(indices) and indices[end] - indices[end - 1] == step:
            end += 1
        if end - at == 2 and abs(step) > 1 and end < len(indices):
            end, step = at + 1, 1  # two far apart are no run
        found.append((indices[at], step, end - at))
        at = end
    return found


def one_of(size: object) -> int:
    """Of a dimension that a gather takes single elements of: one, none where it has none."""
    return 0 if size == 0 else 1


def take(op: Builder, node: Node, value: Value, axis: int, indices: Value) -> Value:
    """`numpy.take`: the elements at `indices` (not negative) along an axis, the indices' dimensions in its place."""
    have, many = sizes_of(node, value), rank_of(node, indices)
    slices = tuple(one_of(size) if at == axis else size for at, size in enumerate(have))
    if many == 0:
        starts = [indices if at == axis else scalar(op, 0, dtype_of(node, indices)) for at in range(len(have))]
        one = op.call("dynamic-slice", value, *starts, dynamic_slice_sizes=slices)
        return reshape(op, one, have[:axis] + have[axis + 1 :])
    offsets = [at if at < axis else at + many - 1 for at in range(len(have)) if at != axis]
    return op.gather(
        value,
        indices,
        offset_dims=tuple(offsets),
        collapsed_slice_dims=(axis,),
        start_index_map=(axis,),
        index_vector_dim=many,
        slice_sizes=slices,
    )


# arithmetic ---------------------------------------------------------------------------------------


def convert(op: Builder, value: Value, dtype: DType) -> Value:
    """`value` as another element type, by HLO's own rules; itself where it has it already."""
    if value.tensor.dtype is dtype:
        return value
    return op.call("convert", value, _types=[TensorType(dtype, value.tensor.shape)])


def compare(op: Builder, a: Value, b: Value, direction: str) -> Value:
    return op.compare(a, b, direction=direction)


def negative_counted(op: Builder, node: Node, indices: Value, size: int) -> Value:
    """Indices counted from the front: those below 0 are counted from the end of an axis of this size."""
    data = indices.data
    if data is not None and (data.numpy() >= 0).all():
        return indices
    if data is not None and not isinstance(size, OpenSize):
        array = data.numpy()
        return op.const(np.where(array < 0, array + size, array), data.dtype)
    if not dtype_of(node, indices).is_signed:
        return indices
    below = compare(op, indices, like(op, node, 0, indices), "LT")
    return op.select(below, op.add(indices, like(op, node, size, indices)), indices)


def wide(dtype: DType) -> DType:
    """The type in which sums of many are computed."""
    return DType.FLOAT32 if dtype.is_float and dtype.bits < 32 else dtype


def start_of(op: Builder, kind: str, dtype: DType) -> Value:
    """What a fold of nothing gives."""
    return scalar(op, neutral(kind, dtype), dtype)


def binary(op: Builder, kind: str, dtype: DType) -> Graph:
    """A computation of two scalars."""
    region = op.region(kind)
    a, b = (region.input(name, TensorType(dtype, ())) for name in ("a", "b"))
    region.graph.outputs = [region.call(kind, a, b)]
    return region.graph


def second(op: Builder, dtype: DType) -> Graph:
    """The update, whatever was there."""
    region = op.region("second")
    region.input("a", TensorType(dtype, ()))
    region.graph.outputs = [region.input("b", TensorType(dtype, ()))]
    return region.graph


def applied(
    op: Builder, opcode: str, regions: dict[str, Graph], values: Sequence[Value], outputs: int = 1, **attributes: Any
) -> Any:
    """A node that applies computations."""
    domain, version = op.rewriter.dialect.resolve(opcode)
    node = Node(domain, opcode, version)
    node.regions = regions
    return op.insert(node, values, attributes, outputs)


def fold(op: Builder, node: Node, value: Value, axes: Sequence[int], kind: str) -> Value:
    """A reduction by an associative opcode."""
    if not axes:
        return value
    dtype = dtype_of(node, value)
    start = start_of(op, kind, dtype)
    return applied(op, "reduce", {"to_apply": binary(op, kind, dtype)}, [value, start], dimensions=tuple(sorted(axes)))


def window_fold(op: Builder, node: Node, value: Value, window: Sequence[WindowDim], kind: str) -> Value:
    """A reduction of windows by an associative opcode."""
    dtype = dtype_of(node, value)
    start = start_of(op, kind, dtype)
    return applied(op, "reduce-window", {"to_apply": binary(op, kind, dtype)}, [value, start], window=tuple(window))


def kept(shape: Sequence[int], axes: Sequence[int]) -> Sizes:
    """A shape with size 1 in place of these axes."""
    return tuple(1 if at in axes else size for at, size in enumerate(shape))
