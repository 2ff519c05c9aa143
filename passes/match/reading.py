"""A hub node whose operands are terms, as the functions see it that read operators."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..attributes import NodeAttributes
from ..graph import Node
from ..tensor import TensorData
from ..types import DType
from .maker import Attributes, Maker
from .polynomials import Size
from .terms import Contradiction, Term


@dataclass(slots=True)
class Reading:
    """A node whose operands are terms."""

    m: Maker
    node: Node
    attributes: NodeAttributes
    operands: tuple[Term | None, ...]

    def operand(self, index: int) -> Term | None:
        return self.operands[index] if index < len(self.operands) else None

    def sizes(self, index: int) -> tuple[Size, ...] | None:
        """The elements of a list of integers, None where it is left out or isn't followed."""
        return self.m.table.elements(self.operand(index))


Read = Callable[[Reading], "Term | Sequence[Term] | None"]
"""The terms of an operator's outputs; None where it is taken as it stands."""


def reads(*operators: str) -> Callable[[Read], Read]:
    def mark(function: Read) -> Read:
        function.operators = operators  # type: ignore[attr-defined]
        return function

    return mark


def readings_of(namespace: Mapping[str, Any]) -> dict[str, Read]:
    """The functions of a module that read operators, by operator."""
    found: dict[str, Read] = {}
    for function in list(namespace.values()):
        if callable(function):
            found |= dict.fromkeys(getattr(function, "operators", ()), function)
    return found


def axis_of(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise Contradiction
    return axis % rank


def ints_of(sizes: Sequence[Size] | None) -> list[int] | None:
    found = [size for size in sizes or () if isinstance(size, int)]
    return found if sizes is not None and len(found) == len(sizes) else None


def attributes_of(node: Node) -> Attributes:
    """A node's attributes with the defaults of its schema, sorted, in hashable form."""
    known = NodeAttributes(node)
    names = {*node.attributes, *known.names}
    return tuple((name, _hashable(known.get(name))) for name in sorted(names) if known.get(name) is not None)


def _hashable(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    if isinstance(value, list | tuple):
        return tuple(_hashable(one) for one in value)
    if isinstance(value, TensorData):
        return (
            value.dtype,
            value.shape,
            value.numpy().tobytes() if value.dtype is not DType.STRING else str(value.numpy()),
        )
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and value == 0 and math.copysign(1, value) < 0:
        return ("-0.0",)  # which is equal to 0.0 otherwise
    if isinstance(value, np.ndarray):
        return (str(value.dtype), value.shape, value.tobytes())
    return value
