"""How a dialect writes what the passes over loops ask about: integer arithmetic, parts read and parts written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ..graph import Node, Value
from ..rewrite import Builder
from ..types import DType, TensorType
from .affine import Lines
from .ranges import Operation


@dataclass(frozen=True, slots=True)
class Access:
    """A part of an array: along each axis so many elements from a start on (None: it isn't known, or doesn't count)."""

    whole: Value
    sizes: Sequence[int]
    starts: Sequence[Value | None]


class Vocabulary(Protocol):
    """One dialect's. What is built stands where the builder `op` builds."""

    def operation(self, node: Node) -> Operation:
        """What a node computes of integers and booleans."""
        ...

    def read(self, node: Node, lines: Lines) -> Access | None:
        """The part that is a node's only result; None where that isn't what the node does."""
        ...

    def written(self, node: Node) -> tuple[Access, Value] | None:
        """The part of an array that a node replaces, and by what; None where that isn't what the node does."""
        ...

    def size(self, value: Value) -> int | None:
        """The open size (`OpenSize`) that a scalar is; None where it isn't known as one."""
        ...

    def sized(self, op: Builder, size: int, dtype: DType) -> Value:
        """An open size as a scalar."""
        ...

    def call(self, op: Builder, name: str, *operands: Value) -> Value:
        """An operator of integers or booleans by its name in the hub."""
        ...

    def cast(self, op: Builder, value: Value, dtype: DType) -> Value: ...

    def reshape(self, op: Builder, value: Value, type: TensorType) -> Value: ...

    def inserted(self, op: Builder, whole: Value, part: Value, axis: int, start: int) -> Value:
        """`whole` with `part` in its place along an axis."""
        ...
