"""What an instruction's name stands for while a computation is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ...passes.errors import InvalidModel
from ...passes.graph import Value
from .text.tree import Computation, HloShape, Instruction, TupleShape
from .tuple_flattening import leaf_starts


@dataclass(slots=True)
class Item:
    """A shape, and the values of its leaves (None: nobody may use it).

    `starts` is where the leaves of each element begin, once somebody has asked: a wide tuple is taken apart often.
    """

    shape: HloShape
    values: list[Value | None]
    starts: list[int] = field(default_factory=list)


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
    for index in path:
        shape = item.shape
        if not isinstance(shape, TupleShape) or not 0 <= index < len(shape.elements):
            raise error_at(one, f"its operand has no element {index}")
        if not item.starts:
            item.starts = leaf_starts(shape)
        item = Item(shape.elements[index], item.values[item.starts[index] : item.starts[index + 1]])
    return item
