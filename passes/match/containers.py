"""Equalities of sequences and optionals.

A sequence of elements of one shape is `$elements(x)`: those of a tensor along its axis 0. What is done to the sequence
is done to the tensor then, which is how targets without sequences have it.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..types import SequenceType, TensorType
from .choice import IF
from .layout import concat, reshape, select, transpose, unsqueeze
from .maker import Application, Maker, rule, rules_of
from .terms import Contradiction, Term, Typed

ELEMENTS = "$elements"
"""The sequence of what a tensor holds along axis 0."""

_GIVEN = "SequenceConstruct"
_READERS = ("SequenceLength", "SequenceAt", "ConcatFromSequence", "OptionalHasElement", "OptionalGetElement")


def elements_of(m: Maker, x: Term) -> Term:
    return m.make(ELEMENTS, x)


def given(sequence: Term) -> list[Term] | None:
    """The elements of a sequence that is made of certain ones."""
    if sequence.op == "SequenceEmpty":
        return []
    return [x for x in sequence.operands if x is not None] if sequence.op == _GIVEN else None


def tensor_of(m: Maker, sequence: Term) -> Term | None:
    """The tensor whose elements a sequence has; None where they have several shapes, or aren't known."""
    if sequence.op == ELEMENTS:
        return sequence.operands[0]
    if sequence.op == IF:
        tensors = [None if x is None else tensor_of(m, x) for x in sequence.operands[1:]]
        if tensors[0] is None or tensors[1] is None or not _are_alike(tensors[0], tensors[1]):
            return None
        return m.make(IF, sequence.operands[0], *tensors)
    parts = given(sequence)
    if not parts or parts[0].shape is None or parts[0].dtype is None:
        return None
    if any(part.shape != parts[0].shape or part.dtype is not parts[0].dtype for part in parts):
        return None
    return concat(m, [unsqueeze(m, part, 0) for part in parts], 0)


def _position(m: Maker, one: Application, at: int) -> int | None:
    """The index that an operand certainly is."""
    found = m.table.elements(one.operand(at))
    return found[0] if found is not None and len(found) == 1 and isinstance(found[0], int) else None


@rule("an operator on a container that a branch gives is that operator in each branch", *_READERS)
def read_branch(m: Maker, one: Application) -> Term | None:
    if not one.operands or one.operand(0).op != IF:
        return None
    condition, *branches = one.operand(0).operands
    return m.make(IF, condition, *(m.apply(one.op, (x, *one.operands[1:]), one.attributes) for x in branches))


@rule("$elements($if(c, x, y)) is how branches give elements of tensors", IF)
def branch_of_elements(m: Maker, one: Application) -> Term | None:
    condition, yes, no = one.operand(0), one.operand(1), one.operand(2)
    if ELEMENTS not in (yes.op, no.op):
        return None
    first, second = tensor_of(m, yes), tensor_of(m, no)
    if first is None or second is None or not _are_alike(first, second):
        return None
    return elements_of(m, m.make(IF, condition, first, second))


def _are_alike(x: Term, y: Term) -> bool:
    """Whether the elements of two tensors have one type and shape."""
    return x.dtype is y.dtype and None not in (x.shape, y.shape) and (x.shape or ())[1:] == (y.shape or ())[1:]


@rule("an insertion into certain elements, or before or behind those of a tensor", "SequenceInsert")
def inserted(m: Maker, one: Application) -> Term | None:
    sequence, x = one.operand(0), one.operand(1)
    parts = given(sequence)
    at = None if len(one.operands) < 3 else _position(m, one, 2)
    if len(one.operands) > 2 and at is None:
        return None
    if parts is not None:
        at = len(parts) if at is None else at
        return m.apply(_GIVEN, [*parts[:at], x, *parts[at:]]) if 0 <= at <= len(parts) else None
    tensor = sequence.operands[0] if sequence.op == ELEMENTS else None
    if tensor is None or tensor.shape is None or tensor.shape[1:] != x.shape or tensor.dtype is not x.dtype:
        return None
    if at not in (None, 0):
        return None
    new = unsqueeze(m, x, 0)
    return elements_of(m, concat(m, [tensor, new] if at is None else [new, tensor], 0))


@rule("certain elements without one of them", "SequenceErase")
def erased(m: Maker, one: Application) -> Term | None:
    parts = given(one.operand(0))
    at = -1 if len(one.operands) < 2 else _position(m, one, 1)
    if not parts or at is None or not -len(parts) <= at < len(parts) or len(parts) == 1:
        return None
    at %= len(parts)
    return m.apply(_GIVEN, [*parts[:at], *parts[at + 1 :]])


@rule("an element of certain ones, or of a tensor", "SequenceAt")
def element_at(m: Maker, one: Application) -> Term | None:
    sequence, index = one.operand(0), m.table.elements(one.operand(1))
    if index is None or len(index) != 1:
        return None
    if sequence.op == ELEMENTS:
        x = sequence.operands[0]
        return None if x is None or x.shape is None else select(m, x, 0, index[0])
    parts, at = given(sequence), index[0]
    if not parts or not isinstance(at, int) or not -len(parts) <= at < len(parts):
        return None
    return parts[at]


@rule("how many elements there are", "SequenceLength")
def length(m: Maker, one: Application) -> Term | None:
    sequence = one.operand(0)
    parts = given(sequence)
    if parts is not None:
        return m.table.scalar(len(parts))
    x = sequence.operands[0] if sequence.op == ELEMENTS else None
    return None if x is None or x.shape is None else m.table.scalar(x.shape[0])


@rule("certain elements, or those of a tensor, joined", "ConcatFromSequence")
def joined(m: Maker, one: Application) -> Term | None:
    sequence, is_new = one.operand(0), bool(one.attribute("new_axis", 0))
    parts = given(sequence)
    if parts:
        return _concatenated(m, parts, one.attribute("axis"), is_new)
    x = sequence.operands[0] if sequence.op == ELEMENTS else None
    if x is None or x.shape is None or (m.is_strict and not m.table.is_negative_never(x.shape[0] - 1)):
        return None  # an empty sequence can't be joined
    rank = len(x.shape)
    axis = _axis(one.attribute("axis"), rank if is_new else rank - 1)
    moved = transpose(m, x, [*range(1, axis + 1), 0, *range(axis + 1, rank)])
    if is_new or moved.shape is None:
        return moved if is_new else None
    sizes = moved.shape
    return reshape(m, moved, (*sizes[:axis], sizes[axis] * sizes[axis + 1], *sizes[axis + 2 :]))


def _axis(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise Contradiction
    return axis % rank


def _concatenated(m: Maker, parts: Sequence[Term], axis: int, is_new: bool) -> Term | None:
    if any(part.shape is None for part in parts):
        return None
    axis = _axis(axis, len(parts[0].shape or ()) + is_new)
    return concat(m, [unsqueeze(m, part, axis) for part in parts] if is_new else parts, axis)


@rule("whether an optional holds something: one that is made of a value does", "OptionalHasElement")
def has_element(m: Maker, one: Application) -> Term | None:
    x = one.operands[0] if one.operands else None
    if x is None:
        return m.array(False)
    if x.op == "Optional":
        return m.array(bool(x.operands))
    return m.array(True) if _is_value(x) else None


@rule("what an optional holds that is made of a value", "OptionalGetElement")
def get_element(m: Maker, one: Application) -> Term | None:
    x = one.operand(0)
    if x.op == "Optional":
        return x.operands[0] if x.operands else None
    return x if _is_value(x) else None


def _is_value(x: Term) -> bool:
    """Whether a term is a tensor or a sequence for certain."""
    return x.dtype is not None or isinstance(x.container, SequenceType)


def types(m: Maker, one: Application) -> Typed | None:
    x = one.operand(0)
    return Typed(None, None, SequenceType(TensorType(x.dtype, None)))


RULES = rules_of(globals())
