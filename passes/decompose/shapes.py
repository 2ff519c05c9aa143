"""Operators that only move elements, and those that only ask for a shape."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from ..attributes import NodeAttributes
from ..constant_analysis import static_array
from ..errors import InvalidModel
from ..graph import Node, Value
from ..preconditions import axis_of, rank_of, required, size_of_axis
from ..rewrite import Builder, collect, rule
from ..types import Dim

_MOST_COPIES = 64


@rule("", "Flatten")
def flatten(op: Builder, node: Node) -> Value:
    """Flatten-25: two dimensions, the product of those before an axis and that of the others."""
    x, axis = required(node, 0), NodeAttributes(node).int("axis")
    rank, shape = rank_of(node, x), x.tensor.shape or ()
    axis = rank if axis == rank else axis_of(node, axis, rank)
    sizes = [_product(shape[:axis]), _product(shape[axis:])]
    if None not in sizes:
        return op.Reshape(x, op.const(sizes), allowzero=None if all(sizes) else 1)
    parts = [op.ReduceProd(op.Shape(x, start=start, end=end)) for start, end in ((0, axis), (axis, rank))]
    return op.Reshape(x, op.Concat(*parts, axis=0), allowzero=1)


def _product(sizes: Sequence[Dim]) -> int | None:
    """None where a run tells it; nothing times what a run tells is nothing."""
    known = [size for size in sizes if isinstance(size, int)]
    return math.prod(known) if len(known) == len(sizes) or 0 in known else None


@rule("", "Size")
def size(op: Builder, node: Node) -> Value:
    """Size-25: the product of the shape."""
    return op.ReduceProd(op.Shape(required(node, 0)), keepdims=0)


@rule("", "Split")
def split(op: Builder, node: Node) -> list[Value]:
    """Split-18: a slice for each part; equal parts, the last one smaller, where no lengths are given.

    Raises:
        InvalidModel: lengths that aren't those of the outputs.
    """
    x, lengths, attrs = required(node, 0), node.input(1), NodeAttributes(node)
    axis, count = attrs.int("axis"), len(node.outputs)
    known, total = None if lengths is None else static_array(lengths), size_of_axis(x, axis)
    if known is not None:
        if known.size != count or total not in (None, int(known.sum())):
            raise InvalidModel(f"{node!r}: parts {known.tolist()} of size {total} for {count} outputs")
        bounds = [op.const([index]) for index in (0, *np.cumsum(known.reshape(-1)).tolist())]
    elif lengths is not None:
        ends = op.CumSum(lengths, op.const(0))
        bounds = [op.const([0]), *(op.Gather(ends, op.const([at])) for at in range(count))]
    elif total is not None:
        bounds = [op.const([min(-(-total // count) * at, total)]) for at in range(count + 1)]
    else:  # a slice ends where the tensor does
        sizes = op.Gather(op.Shape(x), op.const([axis]))
        length = op.Div(op.Add(sizes, op.const([count - 1])), op.const([count]))
        bounds = [op.Mul(length, op.const([at])) for at in range(count + 1)]
    return [op.Slice(x, start, end, op.const([axis])) for start, end in itertools.pairwise(bounds)]


@rule("", "Tile")
def tile(op: Builder, node: Node) -> Value:
    """Tile-13: along each axis the tensor joined to itself; with many or unknown repeats a broadcast of a dimension
    put before each, which is reshaped away."""
    x, repeats = required(node, 0), required(node, 1)
    rank, known = rank_of(node, x), static_array(repeats)
    if known is not None and known.size and int(known.min()) > 0 and int(known.max()) <= _MOST_COPIES:
        made = x
        for axis, count in enumerate(known.tolist()):
            made = made if count == 1 else op.Concat(*[made] * count, axis=axis)
        return op.Identity(x) if made is x else made
    if not rank:
        return op.Identity(x)
    sizes = op.Shape(x)
    before = [op.Unsqueeze(value, op.const([1])) for value in (repeats, sizes)]
    both = op.Reshape(op.Concat(*before, axis=1), op.const([-1]))
    apart = op.Unsqueeze(x, op.const(list(range(0, 2 * rank, 2))))
    return op.Reshape(op.Expand(apart, both), op.Mul(repeats, sizes), allowzero=1)


RULES = collect(globals())
