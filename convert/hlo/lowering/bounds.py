"""Hub -> HLO: one type for what has known sizes here and bounded ones there: a carried value, what branches return."""

from __future__ import annotations

from ....passes.graph import Value
from ....passes.rewrite import Builder
from ....passes.types import DType, Interval, Type
from ..infer_open import is_certainly
from .tools import scalar


def bounded_axes(type: Type | None, other: Type | None) -> frozenset[int] | None:
    """The axes along which one type has a bound where the other has that number as its size; None where the types
    differ in more than that."""
    if not is_certainly(type, other):
        return None
    shapes = [getattr(one, "shape", None) or () for one in (type, other)]
    pairs = enumerate(zip(*shapes, strict=True))
    return frozenset(at for at, (one, two) in pairs if isinstance(one, Interval) and not isinstance(two, Interval))


def bounded(op: Builder, value: Value, axes: frozenset[int]) -> Value:
    """A value whose sizes along some axes are bounds from here on.

    XLA takes a size that it sees for known wherever the value goes, though a loop or a branch may replace it by a
    shorter one, of which it then gives more elements than there are; it doesn't look behind a barrier.
    """
    for axis in sorted(axes):
        size = (value.tensor.shape or ())[axis]
        assert isinstance(size, int)
        told = op.call("opt-barrier", scalar(op, size, DType.INT32))
        value = op.call("set-dimension-size", value, told, dimensions=(axis,))
    return value
