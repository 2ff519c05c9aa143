"""Hub -> HLO: what only gives elements another place: reshapes, transposes, slices, pads."""

from __future__ import annotations

import math

import numpy as np

from ....passes.errors import InvalidModel, Unsupported
from ....passes.graph import Node, Value
from ....passes.preconditions import axis_of, dtype_of, flag, rank_of, required
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ..text.tree import SliceDim
from .tools import (
    Results,
    broadcast_to,
    constant,
    cut,
    cut_all,
    ints_of,
    iota,
    join,
    like,
    negative_counted,
    pad,
    pick,
    reshape,
    result_sizes,
    scalar,
    sizes_of,
    transpose,
    word,
)


@rule("", "Shape")
def shape(op: Builder, node: Node) -> Value:
    have = sizes_of(node, required(node, 0))
    part = slice(node.attributes.get("start", 0), node.attributes.get("end"))
    return constant(op, np.asarray(have[part], np.int64), DType.INT64)


@rule("", "Reshape")
def reshaped(op: Builder, node: Node) -> Value:
    x = required(node, 0)
    wanted = ints_of(node, 1, "sizes")
    have = sizes_of(node, x)
    assert wanted is not None
    if not flag(node, "allowzero"):
        if any(size == 0 and at >= len(have) for at, size in enumerate(wanted)):
            raise InvalidModel(f"{node!r}: a size of 0 stands for no dimension of {list(have)}")
        wanted = [have[at] if size == 0 else size for at, size in enumerate(wanted)]
    rest = math.prod(size for size in wanted if size != -1)
    if -1 in wanted:
        wanted = [math.prod(have) // max(rest, 1) if size == -1 else size for size in wanted]
    if math.prod(wanted) != math.prod(have):
        raise InvalidModel(f"{node!r}: {list(have)} hasn't the elements of {wanted}")
    return reshape(op, x, wanted)


@rule("", "Squeeze", "Unsqueeze")
def resized(op: Builder, node: Node) -> Value:
    """Dimensions of size 1 taken away or put in."""
    x = required(node, 0)
    have = sizes_of(node, x)
    axes = ints_of(node, 1, "axes")
    if node.op_type == "Squeeze":
        gone = [at for at, size in enumerate(have) if size == 1] if axes is None else axes
        gone = [axis_of(node, axis, len(have)) for axis in gone]
        if any(have[axis] != 1 for axis in gone):
            raise InvalidModel(f"{node!r}: {list(have)} isn't of size 1 along {gone}")
        return reshape(op, x, [size for at, size in enumerate(have) if at not in gone])
    assert axes is not None
    rank = len(have) + len(axes)
    new = {axis_of(node, axis, rank) for axis in axes}
    sizes = iter(have)
    return reshape(op, x, [1 if at in new else next(sizes) for at in range(rank)])


@rule("", "Transpose")
def transposed(op: Builder, node: Node) -> Value:
    x = required(node, 0)
    order = node.attributes.get("perm")
    return transpose(op, x, list(range(rank_of(node, x)))[::-1] if order is None else order)


@rule("", "Expand")
def expand(op: Builder, node: Node) -> Value:
    x = required(node, 0)
    wanted = ints_of(node, 1, "sizes")
    assert wanted is not None
    try:
        joined = np.broadcast_shapes(sizes_of(node, x), tuple(wanted))
    except ValueError:
        raise InvalidModel(f"{node!r}: {x.name!r} doesn't broadcast to {wanted}") from None
    return broadcast_to(op, node, x, joined)


@rule("", "Concat")
def concat(op: Builder, node: Node) -> Value:
    values = [value for value in node.inputs if value is not None]
    axis = axis_of(node, node.attributes["axis"], rank_of(node, values[0]))
    return join(op, values, axis)


@rule("", "Slice")
def slice_(op: Builder, node: Node) -> Value:
    """A slice forwards; backwards its elements turned round."""
    x = required(node, 0)
    have = sizes_of(node, x)
    axes = ints_of(node, 3, "axes")
    if any(required(node, index).array() is None for index in (1, 2)):
        return _moving_slice(op, node, x, axes)
    starts, ends = ints_of(node, 1, "starts"), ints_of(node, 2, "ends")
    steps = ints_of(node, 4, "steps")
    assert starts is not None and ends is not None
    axes = list(range(len(starts))) if axes is None else [axis_of(node, axis, len(have)) for axis in axes]
    dims = [SliceDim(0, size) for size in have]
    back: list[int] = []
    for axis, start, end, step in zip(axes, starts, ends, steps or [1] * len(starts), strict=True):
        if step == 0:
            raise InvalidModel(f"{node!r}: a step of 0")
        places = range(*slice(start, end, step).indices(have[axis]))
        if step < 0:
            places = places[::-1]
            back += [axis] if len(places) > 1 else []
        step = abs(step) if len(places) > 1 else 1
        first = places[0] if places else 0
        dims[axis] = SliceDim(first, places[-1] + 1 if places else 0, step)
    x = cut_all(op, node, x, dims)
    return op.reverse(x, dimensions=tuple(sorted(back))) if back else x


def _moving_slice(op: Builder, node: Node, x: Value, axes: list[int] | None) -> Value:
    """Where it starts is known only when the model runs; how much it takes says the type of its result."""
    have, starts, steps = sizes_of(node, x), required(node, 1), ints_of(node, 4, "steps")
    if any(step != 1 for step in steps or ()):
        raise Unsupported(node, "it starts where only the run tells, and its steps aren't 1")
    places: list[Value] = [scalar(op, 0, dtype_of(node, starts))] * len(have)
    for at, axis in enumerate(range(sizes_of(node, starts)[0]) if axes is None else axes):
        axis = axis_of(node, axis, len(have))
        place = reshape(op, cut(op, node, starts, 0, at, at + 1), ())
        places[axis] = negative_counted(op, node, place, have[axis])
    return op.call("dynamic-slice", x, *places, dynamic_slice_sizes=result_sizes(node))


@rule("", "Pad")
def padded(op: Builder, node: Node) -> Value:
    x = required(node, 0)
    have, rank = sizes_of(node, x), rank_of(node, x)
    pads, axes = ints_of(node, 1, "pads"), ints_of(node, 3, "axes")
    assert pads is not None
    axes = list(range(rank)) if axes is None else [axis_of(node, axis, rank) for axis in axes]
    if len(pads) != 2 * len(axes):
        raise InvalidModel(f"{node!r}: {len(pads)} pads for {len(axes)} axes")
    ends = {axis: (pads[at], pads[at + len(axes)]) for at, axis in enumerate(axes)}
    mode = word(node, "mode", "constant")
    if mode == "constant":
        filling = node.input(2)
        value = scalar(op, 0, dtype_of(node, x)) if filling is None else reshape(op, filling, ())
        return pad(op, x, value, [ends.get(axis, (0, 0)) for axis in range(rank)])
    for axis, (low, high) in ends.items():
        places = np.arange(max(-low, 0), have[axis] - max(-high, 0))
        if not places.size and max(low, high) > 0:
            raise Unsupported(node, f"it pads nothing along axis {axis}")
        style = {"reflect": "reflect", "edge": "edge", "wrap": "wrap"}.get(mode)
        if style is None:
            raise Unsupported(node, f"mode={mode!r}")
        widened = np.pad(places, (max(low, 0), max(high, 0)), mode=style)  # type: ignore[call-overload]
        x = pick(op, node, x, axis, widened.tolist())
    return x


# made of nothing ----------------------------------------------------------------------------------


@rule("", "Range")
def range_(op: Builder, node: Node) -> Value:
    """Of constants, longer than what is folded."""
    if any(value is not None and value.data is None for value in node.inputs):
        raise Unsupported(node, "its length is known only when the model runs")
    start, limit, step = (required(node, index).data for index in range(3))
    assert start is not None and limit is not None and step is not None
    first, last, by = (data.numpy().reshape(()).item() for data in (start, limit, step))
    count = max(math.ceil((last - first) / by), 0)
    index = iota(op, (count,), 0, start.dtype)
    return op.add(op.multiply(index, like(op, node, by, index)), like(op, node, first, index))


@rule("", "NonZero", "Unique", "Compress", "NonMaxSuppression")
def data_dependent(op: Builder, node: Node) -> Results:
    raise Unsupported(node, "the sizes of its result are known only when the model runs")


RULES = collect(globals())
