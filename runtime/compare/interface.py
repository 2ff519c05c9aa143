"""What a caller sees of two models before either runs: their inputs and outputs.

Names may differ (formats have rules of their own for them); order, element types, ranks and fixed sizes may not, for
whoever feeds or reads the converted model goes by them. A model may take more than the original (a size left open where
the original's is fixed); it may not take less.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ...passes.types import Dim, Interval, OptionalType, SequenceType, TensorType, Type
from ..oracles import Values
from .matching import Matching

_CONTAINERS = (SequenceType, OptionalType)

What = Literal["order", "missing", "additional", "kind", "dtype", "rank", "size"]


@dataclass(frozen=True, slots=True)
class InterfaceDifference:
    """One thing in which the declared inputs or outputs differ.

    Attributes:
        where: of the inputs or of the outputs.
        what: their order; one that isn't there or that is too many; tensor, sequence or optional; the element type;
            the number of dimensions; the size of one.
        name: in A, or in B if A hasn't got it.
        expected, actual: as A and as B declare it.
    """

    where: Literal["input", "output"]
    what: What
    name: str
    expected: str
    actual: str

    def __str__(self) -> str:
        if self.what == "order":
            return f"{self.where}s come in another order: {self.expected} in A"
        return f"{self.where} {self.name!r}: {self.what}, {self.expected} in A, {self.actual} in B"


def interface_differences(
    inputs: Matching | None,
    outputs: Matching | None,
    types_a: Mapping[str, Type | None],
    types_b: Mapping[str, Type | None],
    optional: frozenset[str] = frozenset(),
) -> list[InterfaceDifference]:
    """All of them, inputs first.

    Args:
        inputs, outputs: which of A's belong to which of B's.
        types_a, types_b: declared types of inputs and outputs by name; a type that isn't known is no difference.
        optional: inputs of A with a default, which B may have built in.
    """
    found: list[InterfaceDifference] = []
    if inputs is not None:
        found += _order("input", inputs)
        for name in inputs.missing:
            if name not in optional:
                found.append(InterfaceDifference("input", "missing", name, "declared", "not there"))
        for name, twin in inputs.pairs.items():
            found += _narrower("input", name, types_a.get(name), types_b.get(twin))
    if outputs is not None:
        found += _order("output", outputs)
        found += [InterfaceDifference("output", "missing", name, "declared", "not there") for name in outputs.missing]
        found += [InterfaceDifference("output", "additional", name, "not there", "declared") for name in outputs.extra]
        for name, twin in outputs.pairs.items():
            # the sizes of results are compared where they are computed; exporters declare wrong ones
            found += [
                one
                for one in _narrower("output", name, types_a.get(name), types_b.get(twin))
                if one.what in ("kind", "dtype")
            ]
    return found


def _order(where: Literal["input", "output"], matching: Matching) -> Iterator[InterfaceDifference]:
    if not matching.ordered:
        yield InterfaceDifference(where, "order", next(iter(matching.pairs)), ", ".join(matching.pairs), "another one")


def _narrower(
    where: Literal["input", "output"], name: str, one: Type | None, other: Type | None
) -> Iterator[InterfaceDifference]:
    """In what B takes less than A."""
    if one is None or other is None:
        return
    if isinstance(one, _CONTAINERS) and isinstance(other, _CONTAINERS) and type(one) is type(other):
        yield from _narrower(where, name, one.element, other.element)
        return
    if not (isinstance(one, TensorType) and isinstance(other, TensorType)):
        if type(one) is not type(other):
            yield InterfaceDifference(where, "kind", name, str(one), str(other))
        return
    if one.dtype is not None and other.dtype is not None and one.dtype is not other.dtype:
        yield InterfaceDifference(where, "dtype", name, one.dtype.value, other.dtype.value)
    if other.shape is None:
        return
    if one.shape is None or len(one.shape) != len(other.shape):
        yield InterfaceDifference(where, "rank", name, str(one), str(other))
        return
    if not all(_within(dim, twin) for dim, twin in zip(one.shape, other.shape, strict=True)):
        yield InterfaceDifference(where, "size", name, str(one), str(other))


def _within(dim: Dim, other: Dim) -> bool:
    """Whether every size that A's dimension may have is one of B's."""
    low, high = _range(dim)
    other_low, other_high = _range(other)
    return other_low <= low and (other_high is None or (high is not None and high <= other_high))


def _range(dim: Dim) -> tuple[int, int | None]:
    if isinstance(dim, int):
        return dim, dim
    if isinstance(dim, Interval):
        return dim.lower, dim.upper
    return 0, None


def fits(kind: Type | None, value: Values) -> bool:
    """Whether a tensor has the rank and the fixed dimensions of its type."""
    if not isinstance(kind, TensorType) or kind.shape is None or not isinstance(value, np.ndarray):
        return True
    return value.ndim == len(kind.shape) and all(
        size == dim for size, dim in zip(value.shape, kind.shape, strict=True) if isinstance(dim, int)
    )
