"""A hub node whose operands are terms, as the functions see it that read operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..attributes import NodeAttributes
from ..graph import Node
from .maker import Maker
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
