"""What an operand that an input ends in may be, as arrays for that input."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from ...passes.types import TensorType
from ..oracles import Values
from .backwards import undone
from .edges import for_shape, numbers
from .inputs import Draft
from .signature import Edge, InputSpec

_WIDE = 2**24


class Base(NamedTuple):
    """A plain set of inputs, in which one thing is changed."""

    draft: Draft
    values: dict[str, Values]


@dataclass(frozen=True, slots=True)
class Proposal:
    """What an operand may be.

    Attributes:
        text: its values, for people.
        old: the input's value in the plain set.
        values, shape: see `filled`; the input's type holds them.
    """

    text: str
    old: Values
    values: Sequence[float]
    shape: tuple[int, ...] | None

    def array(self) -> Values:
        """The input's value."""
        return filled(self.old, self.values, self.shape)


def proposals(spec: InputSpec, edge: Edge, base: Base) -> list[Proposal]:
    """What an operand may be in this set."""
    old = base.values.get(spec.name)
    if not isinstance(old, np.ndarray) or old.dtype.kind not in ("iu" if edge.kind == "level" else "iuf"):
        return []
    dims = dims_of(edge, base)
    size = size_of(edge, base, dims)
    lists = [
        list(for_shape(edge.kind, count, _talked_of(edge, dims, size))) for count in _counts(spec, edge, old, dims)
    ]
    sizes = (size,) if dims or edge.size is not None else (2, 3, 4)
    single: list[Sequence[float]] = [
        [number] for number in dict.fromkeys(n for k in sizes for n in numbers(edge.kind, k))
    ]
    for_all = [values for column in zip_longest(*lists) for values in column if values is not None]
    chosen = single if old.size == 1 and not for_all else [*for_all[:4], *_mixed(single, for_all[4:])]
    found: dict[str, Proposal] = {}
    for values in chosen:
        turned = [undone(edge, value) for value in values]
        shape = _length(spec, old, len(turned)) if values not in single else None
        if fits(old, turned, shape):
            text = str([int(v) if v == int(v) else v for v in values])
            found.setdefault(text, Proposal(text, old, turned, shape))
    return list(found.values())


def _mixed(first: Sequence[Any], second: Sequence[Any]) -> Iterator[Any]:
    for pair in zip_longest(first, second):
        yield from (one for one in pair if one is not None)


def dims_of(edge: Edge, base: Base) -> list[int]:
    """The shape of the operand's data, as far as it is known."""
    data = base.values.get(edge.data)
    if isinstance(data, np.ndarray):
        return list(data.shape)
    if isinstance(data, list):
        return [len(data)]
    return [_resolved(dim, base) for dim in edge.shape or ()]


def _resolved(dim: Any, base: Base) -> int:
    if isinstance(dim, int):
        return dim
    return base.draft.symbols.get(dim, base.draft.shared) if isinstance(dim, str) else base.draft.shared


def size_of(edge: Edge, base: Base, dims: Sequence[int]) -> int:
    if edge.size is not None:
        return _resolved(edge.size, base)
    if edge.kind == "axes":
        return len(dims)
    return dims[0] if dims else base.draft.shared


def _talked_of(edge: Edge, dims: list[int], size: int) -> list[int]:
    """What `for_shape` counts from: the size of one axis, or all of them."""
    return [size] if edge.kind in ("partition", "position", "length") else dims


def _counts(spec: InputSpec, edge: Edge, old: np.ndarray[Any, Any], dims: Sequence[int]) -> list[int]:
    """How many elements the operand may have: others than `old` has if its length is open."""
    rank = len(dims)
    if not _is_open(spec):
        return [old.size]
    own = {"axes": (1, rank), "pad": (2 * rank,), "partition": (2, 3), "shape": (rank, 1, rank + 1)}
    own |= {"size": (rank, rank + 1), "repeat": (rank,), "scale": (rank,)}
    return [*own.get(edge.kind, (old.size,))]


def _is_open(spec: InputSpec) -> bool:
    """An input with one dimension, of any length."""
    return (
        isinstance(spec.type, TensorType) and spec.type.rank == 1 and not isinstance((spec.type.shape or (0,))[0], int)
    )


def _length(spec: InputSpec, old: np.ndarray[Any, Any], count: int) -> tuple[int, ...] | None:
    """The shape for so many elements, None where the input can't have them."""
    return (count,) if _is_open(spec) or (old.ndim == 1 and old.size == count) else old.shape


def fits(old: Values, values: Sequence[float], shape: tuple[int, ...] | None = None) -> bool:
    """Whether there is such an array, see `filled`."""
    if not isinstance(old, np.ndarray) or old.dtype.kind not in "iufV":
        return False
    if shape is not None and math.prod(shape) != len(values):
        return False
    if old.dtype.kind in "iu":
        info = ml_dtypes.iinfo(old.dtype)
        return all(value == int(value) and info.min <= value <= info.max for value in values)
    return all(abs(value) <= _WIDE for value in values)


def filled(old: Values, values: Sequence[float], shape: tuple[int, ...] | None = None) -> Values:
    """The values in an array like `old`, over and over; None where its type doesn't hold them."""
    if not isinstance(old, np.ndarray) or not fits(old, values, shape):
        return None
    numbers = [int(value) for value in values] if old.dtype.kind in "iu" else list(values)
    return np.resize(np.array(numbers, object).astype(old.dtype), old.shape if shape is None else shape)
