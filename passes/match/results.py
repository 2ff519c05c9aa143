"""The terms of what a loop hands out, by the group that it belongs to."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..loop import Slot, Stacked
from .assumptions import settle
from .choice import IF
from .groups import Class, Group
from .layout import concat, expand, reshape, sliced, transpose, unsqueeze
from .maker import Maker
from .numbering import Numbering
from .polynomials import variable
from .runs import NumberedBody, Run, Unfollowed, advanced, number_body, open_outside
from .stacks import stacked
from .terms import Term, Typed, close, depends

FINAL = "$final"
"""The last value of a class of carried values of a group of loops."""


def results(
    numbering: Numbering, group: Group, run: Run, classes: Sequence[int | None], body: NumberedBody
) -> list[Term]:
    m, open_ = numbering.m, open_outside(run)
    found: dict[int, Term] = {}
    for entry, one, at in zip(run.carried, run.assumed, classes, strict=True):
        if at is None:
            found[entry.indices.result] = one.whole(m, advanced(m, one, group.passes))
            continue
        last = _closed_form(numbering, group, group.classes[at], open_)
        if last is None:
            last = _final(m, group, at, open_)
        found[entry.indices.result] = one.whole(m, last)
    for entry, element in zip(run.stacked, body.elements, strict=True):
        found[entry.indices.result] = _stacked(numbering, group, entry.slot, element, open_)
    return [found[index] for index in range(len(run.node.outputs))]


def _final(m: Maker, group: Group, at: int, open_: frozenset[int]) -> Term:
    of = group.classes[at]
    shape = None
    if of.kept is not None and of.initial.shape is not None:
        shape = [size if kept else None for size, kept in zip(of.initial.shape, of.kept, strict=True)]
    attributes = (("class", at), ("group", group.index))
    term = m.table.term(FINAL, (), attributes, Typed(of.initial.dtype, shape, of.initial.container))
    return close(term, open_)


def _closed_form(numbering: Numbering, group: Group, of: Class, open_: frozenset[int]) -> Term | None:
    """The last value of a class, where passes only add parts of one shape to it, or fill its rows one after the other:
    by induction the parts are a stack, and nothing else of it changes."""
    m, became = numbering.m, of.next
    first, shape = of.initial, of.initial.shape
    if became.op == "Concat" and shape is not None and of.variable in (became.operands[0], became.operands[-1]):
        front, axis = became.operands[0] is not of.variable, became.attribute("axis")
        rest = [x for x in (became.operands[:-1] if front else became.operands[1:]) if x is not None]
        part = concat(m, rest, axis)
        size = None if part.shape is None or _varies(part, group.index) else part.shape[axis]
        if not isinstance(size, int) or part.shape is None:
            return None
        slot = Stacked(axis, front, None if size == 1 else size)
        if size == 1:
            part = reshape(m, part, (*part.shape[:axis], *part.shape[axis + 1 :]))
        parts = _stacked(numbering, group, slot, part, open_)
        return concat(m, [parts, first] if front else [first, parts], axis)
    if became.op == "ScatterND" and became.attribute("reduction") == "none" and became.operands[0] is of.variable:
        index, rows = became.operands[1], became.operands[2]
        assert index is not None and rows is not None
        is_row = index.static_shape == (1, 1) and m.table.elements(index) == (variable(group.iteration),)
        if not shape or not is_row or rows.shape is None or _varies(rows, group.index) or rows.shape != (1, *shape[1:]):
            return None
        if not m.table.is_at_most(group.passes, shape[0]):
            return None
        parts = _stacked(numbering, group, Stacked(), reshape(m, rows, shape[1:]), open_)
        return concat(m, [parts, sliced(m, first, [0], [group.passes], [shape[0] - group.passes], [1])], 0)
    return None


def _varies(term: Term, context: int) -> bool:
    """Whether a size of a term differs from pass to pass."""
    return any(depends(size, context) for size in term.shape or ())


def _stacked(numbering: Numbering, group: Group, slot: Slot, element: Term, open_: frozenset[int]) -> Term:
    """The term of collected elements: along axis 0 and forwards, then moved to where they are wanted."""
    assert isinstance(slot, Stacked)
    m, passes = numbering.m, group.passes
    if element.shape is None:
        raise Unfollowed
    if slot.part is not None:
        axis = slot.axis % max(1, len(element.shape))
        if not isinstance(element.shape[axis], int):
            raise Unfollowed
    shape = [None if depends(size, group.index) else size for size in element.shape]
    if group.index not in element.open and None not in shape:
        stack = expand(m, reshape(m, element, (1, *element.shape)), (passes, *element.shape))
    else:
        stack = stacked(m, group.index, element, shape, open_, passes)
    assert stack.shape is not None
    rank = len(stack.shape)
    if slot.reverse:
        stack = sliced(m, stack, [0], [passes - 1], [passes], [-1])
    if slot.part is None:
        axis = slot.axis % rank
        return transpose(m, stack, [*range(1, axis + 1), 0, *range(axis + 1, rank)])
    axis = slot.axis % (rank - 1)
    moved = transpose(m, stack, [*range(1, axis + 1), 0, *range(axis + 1, rank)])
    assert moved.shape is not None
    joined = (*moved.shape[:axis], moved.shape[axis] * moved.shape[axis + 1], *moved.shape[axis + 2 :])
    return reshape(m, moved, joined)


def unrolled(numbering: Numbering, run: Run, passes: int) -> list[Term]:
    """The results of a loop of so many passes, each of them written out."""
    carried = [one.initial for one in run.assumed]
    elements: list[list[Term]] = [[] for _ in run.stacked]
    bodies = numbering.loops[run.node, run.operands] = list[NumberedBody]()
    for index in range(passes):
        learned, numbering.learned = numbering.learned, {}  # a pass isn't a case of the one before
        body = number_body(numbering, run, index, carried)
        numbering.learned = learned
        bodies.append(body)
        carried = body.next
        for collected, element in zip(elements, body.elements, strict=True):
            collected.append(element)
    found = {entry.indices.result: term for entry, term in zip(run.carried, carried, strict=True)}
    stacks = (
        _empty(numbering, run)
        if not passes
        else [_concatenated(numbering, entry.slot, parts) for entry, parts in zip(run.stacked, elements, strict=True)]
    )
    found |= {entry.indices.result: stack for entry, stack in zip(run.stacked, stacks, strict=True)}
    return [found[index] for index in range(len(run.node.outputs))]


def chosen(numbering: Numbering, run: Run) -> list[Term]:
    """The results of a loop that makes one pass, if it is entered: those of the pass, or what it began with."""
    m = numbering.m
    before = [one.initial for one in run.assumed]
    body = number_body(numbering, run, 0, before)
    numbering.loops[run.node, run.operands] = [body]
    after = body.next
    if run.entered is None:
        return after
    return [m.make(IF, run.entered, new, old) for new, old in zip(after, before, strict=True)]


def _concatenated(numbering: Numbering, slot: Slot, parts: Sequence[Term]) -> Term:
    """The elements of a Stacked slot, pass by pass."""
    assert isinstance(slot, Stacked)
    m = numbering.m
    ordered = parts[::-1] if slot.reverse else parts
    if any(part.shape is None for part in ordered):
        raise Unfollowed
    rank = len(ordered[0].shape or ())
    axis = slot.axis % (rank + (slot.part is None))
    if slot.part is None:
        ordered = [unsqueeze(m, part, axis) for part in ordered]
    return m.make("Concat", *ordered, axis=axis)


def _empty(numbering: Numbering, run: Run) -> list[Term]:
    """What a loop without a pass collects: nothing, in the shape that elements would have."""
    if not run.stacked:
        return []
    _, body = settle(numbering, run)
    numbering.contradicted = body.contradicted or numbering.contradicted
    found: list[Term] = []
    for entry, element in zip(run.stacked, body.elements, strict=True):
        slot, shape = entry.slot, element.static_shape
        assert isinstance(slot, Stacked)
        if shape is None or element.dtype is None:
            raise Unfollowed
        axis = slot.axis % (len(shape) + (slot.part is None))
        sizes = (*shape[:axis], 0, *shape[axis + (slot.part is not None) :])
        found.append(numbering.m.array(np.zeros(sizes, element.dtype.numpy), element.dtype))
    return found
