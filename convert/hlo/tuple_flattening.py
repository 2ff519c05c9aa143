"""Tuples and their leaves."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

from ...passes.graph import Value
from ...passes.types import TensorType, Type
from .text.tree import ArrayShape, HloShape, TokenShape, TupleShape


def leaves(shape: HloShape) -> list[ArrayShape | TokenShape]:
    """The arrays and tokens in a shape, in order."""
    if not isinstance(shape, TupleShape):
        return [shape]
    return [leaf for element in shape.elements for leaf in leaves(element)]


def leaf_starts(shape: TupleShape) -> list[int]:
    """Where in a tuple's leaves those of each element begin, and after them the number of all."""
    return [0, *itertools.accumulate(len(leaves(element)) for element in shape.elements)]


def parted(shapes: Iterable[HloShape], values: Sequence[Value]) -> Iterator[tuple[HloShape, Sequence[Value]]]:
    """Each of several shapes with those of the values that are its leaves."""
    first = 0
    for shape in shapes:
        end = first + len(leaves(shape))
        yield shape, values[first:end]
        first = end


def type_of(leaf: ArrayShape | TokenShape) -> Type | None:
    """The type of a value; None for a token."""
    return TensorType(leaf.dtype, leaf.dims) if isinstance(leaf, ArrayShape) else None
