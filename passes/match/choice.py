"""`$if(c, a, b)`: the value that a branch gives. One that isn't taken isn't computed, but has no effects either."""

from __future__ import annotations

from ..types import DType
from .maker import Application, Maker, rule, rules_of
from .polynomials import Size, as_atom
from .terms import Term, Typed

IF = "$if"


@rule("the branch that is certain to be taken; both, if they give the same", IF)
def certain_branch(m: Maker, one: Application) -> Term | None:
    condition, yes, no = one.operand(0), one.operand(1), one.operand(2)
    if yes is no:
        return yes
    data = m.data(condition)
    if data is None or data.size != 1:
        return None
    return yes if bool(data.numpy().reshape(-1)[0]) else no


@rule("$if(not c, a, b) = $if(c, b, a)", IF)
def swapped_branches(m: Maker, one: Application) -> Term | None:
    condition = one.operand(0)
    return m.make(IF, condition.operands[0], one.operand(2), one.operand(1)) if condition.op == "Not" else None


@rule("$if(c, $if(c, a, b), d) = $if(c, a, d), and so in the other branch", IF)
def decided_branch(m: Maker, one: Application) -> Term | None:
    condition, yes, no = one.operand(0), one.operand(1), one.operand(2)
    if yes.op == IF and yes.operands[0] is condition:
        return m.make(IF, condition, yes.operands[1], no)
    if no.op == IF and no.operands[0] is condition:
        return m.make(IF, condition, yes, no.operands[2])
    return None


@rule("$if(c, true, false) = c", IF)
def branch_of_truth(m: Maker, one: Application) -> Term | None:
    condition, yes, no = one.operand(0), m.data(one.operand(1)), m.data(one.operand(2))
    if yes is None or no is None or yes.dtype is not DType.BOOL or no.dtype is not DType.BOOL:
        return None
    if condition.shape != () or yes.shape != () or no.shape != ():
        return None
    values = bool(yes.numpy()), bool(no.numpy())
    return {(True, False): condition, (False, True): m.make("Not", condition)}.get(values)


@rule("Where with one condition for all, of two of which one has the shape of the result, is $if", "Where")
def choice_of_whole(m: Maker, one: Application) -> Term | None:
    condition, yes, no = one.operand(0), one.operand(1), one.operand(2)
    if condition.shape is None or not all(size == 1 for size in condition.shape):
        return None
    if yes.shape is None or no.shape is None:
        return None
    shape = m.broadcast([yes.shape, no.shape])
    if shape is None or shape not in (yes.shape, no.shape) or len(condition.shape) > len(shape):
        return None
    scalar = m.make("Reshape", condition, m.table.listed(()), allowzero=1)
    sizes = m.table.listed(shape)
    return m.make(IF, scalar, m.make("Expand", yes, sizes), m.make("Expand", no, sizes))


def types(m: Maker, one: Application) -> Typed | None:
    """The type of `$if`; sizes that differ are choices, too."""
    condition, yes, no = one.operand(0), one.operand(1), one.operand(2)
    if yes.container is not None:
        return Typed(None, None, yes.container if yes.container == no.container else None)
    dtype = yes.dtype if yes.dtype is no.dtype else None
    if yes.shape is None or no.shape is None or len(yes.shape) != len(no.shape):
        return Typed(dtype, None)
    return Typed(dtype, tuple(_size(m, condition, a, b) for a, b in zip(yes.shape, no.shape, strict=True)))


def _size(m: Maker, condition: Term, yes: Size, no: Size) -> Size:
    """The size that a branch has."""
    if yes == no:
        return yes
    (size,) = m.table.elements(m.make(IF, condition, m.table.scalar(yes), m.table.scalar(no))) or (0,)
    atom = as_atom(size)
    if atom is not None:
        m.table.bound(atom, 0)
    return size


RULES = rules_of(globals())
