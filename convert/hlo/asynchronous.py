"""Operations that a compiled module starts at one place and waits for at another: read as if done where they start.

A start's value is a tuple that names the operands, the result and contexts; the done gives the result:

    start = ((f32[4]), f32[8], s32[]) async-start(x), calls=wrapped        start = f32[8] call(x), to_apply=wrapped
    done = f32[8] async-done(start)                                 ->
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from .items import Item, element, error_at
from .text.tree import HloShape, Instruction, TupleShape
from .tuple_flattening import leaves

_PLACES: dict[str, int | None] = {
    "all-gather-start": 1,
    "all-reduce-start": None,
    "async-start": 1,
    "collective-permute-start": 1,
    "copy-start": 0,
}
"""Which element of a start's tuple is the result; None: its value is the result."""

_DONES = frozenset(start.replace("-start", "-done") for start in _PLACES)


def is_start(opcode: str) -> bool:
    """Whether an instruction starts an operation."""
    return opcode in _PLACES


def is_done(opcode: str) -> bool:
    """Whether an instruction hands out what a start has begun, or hands it on."""
    return opcode in _DONES or opcode == "async-update"


def started(one: Instruction, operands: list[Item], make: Callable[[Instruction, list[Item], HloShape], Item]) -> Item:
    """The item of a start; `make` makes the operation that it starts."""
    place = _PLACES[one.opcode]
    name = "call" if one.opcode == "async-start" else one.opcode.removesuffix("-start")
    shape = one.shape
    if shape is None:
        raise error_at(one, f"the {one.opcode} has no shape")
    if place is None:
        return make(replace(one, opcode=name), operands, shape)
    if not isinstance(shape, TupleShape) or len(shape.elements) <= place:
        raise error_at(one, "its shape doesn't say operands and result")
    made = make(replace(one, opcode=name), operands, shape.elements[place])
    item = Item(shape, [])
    for index, part in enumerate(shape.elements):
        item.values += made.values if index == place else [None] * len(leaves(part))
    return item


def finished(one: Instruction, operands: list[Item]) -> Item:
    """The item of a done: the result that stands in its operand."""
    if len(operands) != 1:
        raise error_at(one, f"it has {len(operands)} operands, not 1")
    place = _PLACES.get(one.opcode.replace("-done", "-start"))
    if one.opcode == "async-update" or place is None:
        return operands[0]
    return element(one, operands[0], (place,))
