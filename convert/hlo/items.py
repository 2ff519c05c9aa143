"""What an instruction's name stands for while a computation is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...passes.errors import InvalidModel
from ...passes.graph import Value
from .leaves import leaf_range
from .text.tree import Computation, HloShape, Instruction, TupleShape


@dataclass(slots=True)
class Item:
    """A shape, and the values of its leaves (None: nobody may use it)."""

    shape: HloShape
    values: list[Value | None]


def error_at(where: Instruction | Computation, what: str) -> InvalidModel:
    """What to raise about an instruction."""
    return InvalidModel(f"line {where.line}, column {where.column}: {where.name}: {what}")


def usable(one: Instruction, item: Item) -> list[Value]:
    """The values that `item` has for an instruction."""
    found = [value for value in item.values if value is not None]
    if len(found) != len(item.values):
        raise error_at(one, "it uses the context of an asynchronous operation")
    return found


def element(one: Instruction, item: Item, path: Sequence[int]) -> Item:
    """What stands in a tuple at `path`."""
    shape, values = item.shape, item.values
    for index in path:
        if not isinstance(shape, TupleShape) or not 0 <= index < len(shape.elements):
            raise error_at(one, f"its operand has no element {index}")
        first, end = leaf_range(shape, index)
        shape, values = shape.elements[index], values[first:end]
    return Item(shape, values)
