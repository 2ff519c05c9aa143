"""`$stack`: what all passes of a group of loops give of an element, along axis 0; and the equalities of stacks."""

from __future__ import annotations

from collections.abc import Sequence

from .layout import SELECT, sliced
from .maker import Application, Maker, rule, rules_of
from .polynomials import Size, substituted, variable
from .terms import PASS, SIZE, Term, Typed, close, depends

STACK = "$stack"


def stacked(
    m: Maker, group: int, element: Term, shape: Sequence[Size | None], open_: frozenset[int], passes: Size
) -> Term:
    """The stack of an element over the passes of a group; of a sequence's elements in their order it is a slice.

    Args:
        shape: of the element; None for sizes that differ from pass to pass.
        open_: the contexts around the group's loops.
    """
    stack = m.table.term(STACK, (), (("group", group),), Typed(element.dtype, [passes, *shape]), key=element)
    stack.element = element
    stack = close(stack, open_)
    whole = _whole_sequence(group, element)
    return stack if whole is None else sliced(m, whole, [0], [0], [passes], [1])


def _whole_sequence(group: int, element: Term) -> Term | None:
    """The sequence of which a pass's element is the one at its number, along axis 0."""
    if element.op != SELECT or element.attribute("axis") != 0 or not _is_pass(element.operands[1], group):
        return None
    sequence = element.operands[0]
    return sequence if sequence is not None and sequence.shape is not None and group not in sequence.open else None


def _is_pass(index: Term | None, group: int) -> bool:
    return index is not None and index.op == PASS and index.attribute("context") == group


@rule("Gather with a stack of indices that are one apart is a slice", "Gather")
def gather_counted(m: Maker, one: Application) -> Term | None:
    x, indices, axis = one.operand(0), one.operand(1), one.attribute("axis")
    if indices.op != STACK or indices.rank != 1 or indices.shape is None or indices.element is None:
        return None
    index = m.table.elements(indices.element)
    if index is None or isinstance(index[0], int) or not m.table.is_negative_never(index[0]):
        return None
    turns = [atom for atom in index[0].atoms if _is_pass(atom, indices.attribute("group"))]
    if len(turns) != 1:
        return None
    first = substituted(index[0], turns[0], 0)
    step = substituted(index[0], turns[0], 1) - first
    if not isinstance(step, int) or not step or index[0] != first + step * variable(turns[0]):
        return None
    if depends(first, indices.attribute("group")):
        return None
    return sliced(m, x, [axis], [first], [indices.shape[0]], [step])


@rule("Cast of a stack is a stack of Casts, where each of these is something simpler", "Cast")
def cast_stack(m: Maker, one: Application) -> Term | None:
    x = one.operand(0)
    if x.op != STACK or x.element is None or x.shape is None:
        return None
    element = m.apply("Cast", (x.element,), one.attributes)
    group = x.attribute("group")
    if element.shape is None or group not in element.open or (element.op == "Cast" and x.element in element.operands):
        return None
    sizes = [None if _is_own(size, x) else size for size in x.shape[1:]]
    return stacked(m, group, element, sizes, x.open, x.shape[0])


def _is_own(size: Size, term: Term) -> bool:
    """Whether a size is known as that of a term alone."""
    return not isinstance(size, int) and any(atom.op == SIZE and atom.operands[0] is term for atom in size.atoms)


RULES = rules_of(globals())
