"""What an instruction's name stands for while a computation is read, and tuples as their leaves.

Operations that a compiled module starts at one index and waits for at another are read as if done where they start. A
start's value is a tuple that names the operands, the result and contexts; the done gives the result:

    start = ((f32[4]), f32[8], s32[]) async-start(x), calls=wrapped        start = f32[8] call(x), to_apply=wrapped
    done = f32[8] async-done(start)                                 ->
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from ...passes.errors import InvalidModel
from ...passes.graph import Value
from ...passes.types import TensorType, Type
from .text.tree import ArrayShape, Computation, HloShape, Instruction, TokenShape, TupleShape


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


_RESULT_ELEMENTS: dict[str, int | None] = {
    "all-gather-start": 1,
    "all-reduce-start": None,
    "async-start": 1,
    "collective-permute-start": 1,
    "copy-start": 0,
}
"""Which element of a start's tuple is the result; None: its value is the result."""

_DONES = frozenset(start.replace("-start", "-done") for start in _RESULT_ELEMENTS)


def is_start(opcode: str) -> bool:
    """Whether an instruction starts an operation."""
    return opcode in _RESULT_ELEMENTS


def is_done(opcode: str) -> bool:
    """Whether an instruction hands out what a start has begun, or hands it on."""
    return opcode in _DONES or opcode == "async-update"


def started(one: Instruction, operands: list[Item], make: Callable[[Instruction, list[Item], HloShape], Item]) -> Item:
    """The item of a start; `make` makes the operation that it starts."""
    position = _RESULT_ELEMENTS[one.opcode]
    name = "call" if one.opcode == "async-start" else one.opcode.removesuffix("-start")
    shape = one.shape
    if shape is None:
        raise error_at(one, f"the {one.opcode} has no shape")
    if position is None:
        return make(replace(one, opcode=name), operands, shape)
    if not isinstance(shape, TupleShape) or len(shape.elements) <= position:
        raise error_at(one, "its shape doesn't say operands and result")
    made = make(replace(one, opcode=name), operands, shape.elements[position])
    item = Item(shape, [])
    for index, part in enumerate(shape.elements):
        item.values += made.values if index == position else [None] * len(leaves(part))
    return item


def finished(one: Instruction, operands: list[Item]) -> Item:
    """The item of a done: the result that stands in its operand."""
    if len(operands) != 1:
        raise error_at(one, f"it has {len(operands)} operands, not 1")
    position = _RESULT_ELEMENTS.get(one.opcode.replace("-done", "-start"))
    if one.opcode == "async-update" or position is None:
        return operands[0]
    return element(one, operands[0], (position,))
