"""Parts of tensors at places that the program states, and what stands around them."""

from __future__ import annotations

from ....passes.errors import InvalidModel
from ....passes.graph import Node, Value
from ....passes.rewrite import Builder, collect, rule
from ..dialect import DOMAIN
from ..text.tree import PadDim, SliceDim
from .support import Results, given, shape_of
from .views import broadcast_to, cut, padded, reshaped, uniform, widely


@rule(DOMAIN, "slice")
@widely
def slice_(op: Builder, node: Node) -> Results:
    """slice: [start:limit:stride] for each dimension."""
    x = given(node, 0)
    parts: tuple[SliceDim, ...] = tuple(node.attributes.get("slice", ()))
    if len(parts) != x.rank:
        raise InvalidModel(f"{node!r}: {len(parts)} parts for {x.type}")
    if any(part.stride < 1 or not 0 <= part.start <= part.limit for part in parts):
        raise InvalidModel(f"{node!r}: a part that runs backwards, or from before the start")
    starts, stops, steps = ([getattr(part, name) for part in parts] for name in ("start", "limit", "stride"))
    for axis, dim in enumerate(x.tensor.shape or ()):
        if isinstance(dim, int):
            if stops[axis] > dim:
                raise InvalidModel(f"{node!r}: it takes what lies behind the {dim} of dimension {axis}")
            if stops[axis] - starts[axis] <= 1:
                steps[axis] = 1
    return cut(op, x, starts, stops, steps)


@rule(DOMAIN, "pad")
@widely
def pad(op: Builder, node: Node) -> Results:
    """pad: elements between the operand's, then before and behind them, of which a negative number is taken away."""
    x, value = given(node, 0), given(node, 1)
    shape = shape_of(node, x)
    parts: tuple[PadDim, ...] = tuple(node.attributes.get("padding", ()))
    if len(parts) != len(shape) or any(part.interior < 0 for part in parts):
        raise InvalidModel(f"{node!r}: {len(parts)} pads for {x.type}, or fewer than none between elements")
    gaps = [part.interior if size > 1 else 0 for part, size in zip(parts, shape, strict=True)]
    wide = [size + (size - 1) * gap if gap else size for size, gap in zip(shape, gaps, strict=True)]
    # in the places of the widened operand the result is what lies from -low to its size + high
    low = [-part.low for part in parts]
    high = [size + part.high for part, size in zip(parts, wide, strict=True)]
    result = [end - start for start, end in zip(low, high, strict=True)]
    if any(size < 0 for size in result):
        raise InvalidModel(f"{node!r}: it takes away more than there is of {x.type}")
    have = [size * (gap + 1) for size, gap in zip(shape, gaps, strict=True)]  # with a gap behind the last one, too
    starts = [max(start, 0) for start in low]
    stops = [min(end, size) for end, size in zip(high, have, strict=True)]
    if any(start >= stop for start, stop in zip(starts, stops, strict=True)) or _same(x, value):
        return broadcast_to(op, value, result)
    kept = cut(op, _spaced(op, x, value, shape, gaps), starts, stops)
    before = [max(-start, 0) for start in low]
    behind = [max(end - size, 0) for end, size in zip(high, have, strict=True)]
    return padded(op, kept, before, behind, value)


def _same(x: Value, value: Value) -> bool:
    """Whether all elements of `x` are what it is padded with, to the bit."""
    one = uniform(x)
    if one is None or one.data is None or value.data is None:
        return False
    return one.data.numpy().tobytes() == value.data.numpy().tobytes()


def _spaced(op: Builder, x: Value, value: Value, shape: tuple[int, ...], gaps: list[int]) -> Value:
    """`x` with a gap behind each element: [n] -> [n, 1] -> [n, 1 + gap] -> [n * (1 + gap)]."""
    if not any(gaps):
        return x
    apart: list[int] = []
    behind: list[int] = []
    for size, gap in zip(shape, gaps, strict=True):
        apart += [size, 1] if gap else [size]
        behind += [0, gap] if gap else [0]
    filled = padded(op, reshaped(op, x, apart), [0] * len(apart), behind, value)
    return reshaped(op, filled, [size * (gap + 1) for size, gap in zip(shape, gaps, strict=True)])


RULES = collect(globals())
