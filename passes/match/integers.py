"""Equalities of integers, element by element where there are few of them, and of casts between element types."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ..types import DType
from .elementwise import filled, result_shape
from .maker import Application, Maker, rule, rules_of
from .polynomials import Size, as_atom, multiplied_out, quotient, variable
from .terms import CONSTANT, ELEMENT, FOLLOWED, INTEGERS, MOST_ELEMENTS, Term, Typed

# integers -----------------------------------------------------------------------------------------

_ARITHMETIC: dict[str, Callable[..., Size]] = {
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mul": lambda a, b: a * b,
    "Neg": lambda a: -a,
}


def _grids(m: Maker, one: Application) -> list[np.ndarray] | None:
    """The operands as arrays of polynomials, broadcast; None where one isn't small or no integers."""
    shape = result_shape(m, one)
    if shape is None or not all(isinstance(size, int) for size in shape):
        return None
    if math.prod(shape) > MOST_ELEMENTS:  # type: ignore[arg-type]
        return None
    found: list[np.ndarray] = []
    for x in one.operands:
        elements = m.table.elements(x)
        if x is None or elements is None or x.static_shape is None:
            return None
        grid = np.empty(len(elements), object)
        grid[:] = elements
        found.append(np.broadcast_to(grid.reshape(x.static_shape), shape))  # type: ignore[arg-type]
    return found


@rule("integer arithmetic is that of polynomials, modulo 2^n", *_ARITHMETIC)
def integer_arithmetic(m: Maker, one: Application) -> Term | None:
    first = one.operand(0)
    if first.dtype not in FOLLOWED:
        return None
    grids = _grids(m, one)
    if grids is None:
        return None
    rows = list(zip(*(grid.reshape(-1) for grid in grids), strict=True))
    if one.op == "Mul" and not all(multiplied_out(*row) for row in rows):
        return None
    return m.table.integers(first.dtype, grids[0].shape, [_ARITHMETIC[one.op](*row) for row in rows])


def _each(m: Maker, one: Application, dtype: DType, of: Callable[..., Size | None]) -> Term | None:
    """The tensor of what `of` makes of the operands' elements; None where it doesn't for one."""
    grids = _grids(m, one)
    if grids is None:
        return None
    found: list[Size] = []
    for row in zip(*(grid.reshape(-1) for grid in grids), strict=True):
        element = of(*row)
        if element is None:
            return None
        found.append(element)
    return m.table.integers(dtype, grids[0].shape, found)


@rule("a size divided by what divides it evenly", "Div")
def integer_quotient(m: Maker, one: Application) -> Term | None:
    dtype = one.operand(0).dtype
    if dtype not in FOLLOWED:
        return None

    def divided(a: Size, b: Size) -> Size | None:
        if isinstance(a, int) and isinstance(b, int):
            if b == 0:
                return None
            return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        return quotient(a, b) if b == 1 or (m.table.is_size(a) and m.table.is_size(b)) else None

    return _each(m, one, dtype, divided)


@rule("the smaller and the larger of two integers, where it is certain which is; the larger of one and 0", "Max", "Min")
def integer_extreme(m: Maker, one: Application) -> Term | None:
    dtype = one.operand(0).dtype
    if dtype not in FOLLOWED or len(one.operands) != 2:
        return None

    def chosen(a: Size, b: Size) -> Size | None:
        if isinstance(a, int) and isinstance(b, int):
            return max(a, b) if one.op == "Max" else min(a, b)
        if one.op == "Max" and 0 in (a, b):
            return m.table.not_negative(b if a == 0 else a, dtype)
        if not (m.table.is_size(a) and m.table.is_size(b)):
            return None
        small, large = (a, b) if m.table.is_at_most(a, b) else (b, a)
        if m.table.is_at_most(small, large):
            return large if one.op == "Max" else small
        return None if one.operand(0).shape == one.operand(1).shape == () else _extreme(m, one.op, dtype, a, b)

    return _each(m, one, dtype, chosen)


def _extreme(m: Maker, op: str, dtype: DType, a: Size, b: Size) -> Size:
    """The smaller or the larger of two sizes of which it isn't known."""
    found = m.table.elements(m.make(op, m.table.scalar(a, dtype), m.table.scalar(b, dtype)))
    assert found is not None
    return found[0]


@rule("integers are compared where it is certain how they are", "Less", "Equal", "LessOrEqual")
def integer_comparison(m: Maker, one: Application) -> Term | None:
    if one.operand(0).dtype not in FOLLOWED:
        return None
    grids = _grids(m, one)
    if grids is None:
        return None
    found: list[bool] = []
    for a, b in zip(*(grid.reshape(-1) for grid in grids), strict=True):
        known = _compared(m, one.op, a, b)
        if known is None:
            return None
        found.append(known)
    return m.array(np.array(found, bool).reshape(grids[0].shape))


def _compared(m: Maker, op: str, a: Size, b: Size) -> bool | None:
    if isinstance(a, int) and isinstance(b, int):
        return {"Less": a < b, "Equal": a == b, "LessOrEqual": a <= b}[op]
    if a == b:
        return op != "Less"
    if not (m.table.is_size(a) and m.table.is_size(b)):
        return None
    if m.table.is_at_most(a + 1, b):
        return op != "Equal"
    if m.table.is_at_most(b + 1, a):
        return False
    if m.table.is_at_most(b, a) and op == "Less":
        return False
    return True if op == "LessOrEqual" and m.table.is_at_most(a, b) else None


# casts --------------------------------------------------------------------------------------------


@rule("Cast to the type it has = x", "Cast")
def cast_to_itself(m: Maker, one: Application) -> Term | None:
    x = one.operand(0)
    return x if x.dtype is not None and x.dtype is one.attribute("to") else None


@rule(
    "Cast(Cast(x, wide), t) = Cast(x, t) where `wide` holds every value of x, and no float becomes an integer", "Cast"
)
def cast_twice(m: Maker, one: Application) -> Term | None:
    x, to = one.operand(0), one.attribute("to")
    inner = x.operands[0] if x.op == "Cast" else None
    if inner is None or inner.dtype is None or x.dtype is None or to is DType.STRING or x.dtype is DType.STRING:
        return None
    if not x.dtype.holds(inner.dtype):
        return None
    if to.is_integer and to is not inner.dtype:  # what is out of range of an integer is cast by ways of its own
        exact = not inner.dtype.is_float and (not x.dtype.is_float or to.holds(inner.dtype))
        if not exact:
            return None
    return m.make("Cast", inner, **dict(one.attributes))


@rule("Cast(Cast(x, t), type of x) = x of integers, where t has as many bits: arithmetic is modulo 2^bits", "Cast")
def cast_there_and_back(m: Maker, one: Application) -> Term | None:
    x, to = one.operand(0), one.attribute("to")
    inner = x.operands[0] if x.op == "Cast" else None
    if inner is None or inner.dtype is not to or x.dtype is None or not (to.is_integer and x.dtype.is_integer):
        return None
    return inner if x.dtype.bits >= to.bits else None


@rule("Cast to bool is not x == 0", "Cast")
def cast_to_truth(m: Maker, one: Application) -> Term | None:
    x = one.operand(0)
    if one.attribute("to") is not DType.BOOL or x.dtype in (None, DType.BOOL, DType.STRING):
        return None
    zero = filled(m, 0, x)
    return None if zero is None else m.make("Not", m.make("Equal", x, zero))


@rule("integer arithmetic in a wider type, cast back, is that in the type itself", "Cast")
def cast_arithmetic(m: Maker, one: Application) -> Term | None:
    x, to = one.operand(0), one.attribute("to")
    if x.op not in ("Add", "Sub", "Mul", "Neg") or x.dtype is None or not x.dtype.is_integer or not to.is_integer:
        return None
    if x.dtype.bits < to.bits:
        return None
    narrow = [_narrowed(m, operand, to) for operand in x.operands if operand is not None]
    if None in narrow:
        return None
    return m.apply(x.op, narrow, x.attributes)


def _narrowed(m: Maker, x: Term, to: DType) -> Term | None:
    """An integer operand before it was made wider, or a constant in the narrow type."""
    if x.op == "Cast" and x.operands[0] is not None and x.operands[0].dtype is to:
        return x.operands[0]
    data = m.data(x)
    if data is None or not data.dtype.is_integer:
        return None
    return m.array(data.numpy().astype(to.numpy), to)


@rule("Cast of small integers: to fewer bits of all that they are made of, to more of each where it is known", "Cast")
def cast_integers(m: Maker, one: Application) -> Term | None:
    """To fewer bits a cast takes the residue, which sums and products may be taken of before as well as after."""
    x, to = one.operand(0), one.attribute("to")
    elements = m.table.elements(x)
    if elements is None or to not in FOLLOWED or x.dtype is None or x.static_shape is None:
        return None
    found = [_cast_element(m, element, x.dtype, to) for element in elements]
    known = [element for element in found if element is not None]
    if len(known) < len(found) or (x.op not in (INTEGERS, CONSTANT) and x.shape == () and known == [_cast(m, x, to)]):
        return None
    return m.table.integers(to, x.static_shape, known)


def _cast_element(m: Maker, element: Size, dtype: DType, to: DType) -> Size | None:
    if isinstance(element, int):
        return element
    if to.bits >= 32 and m.table.is_size(element):
        return element
    if to.bits <= dtype.bits:
        total: Size = 0
        for monomial, factor in element.monomials:
            product: Size = factor
            for atom in monomial:
                product = product * _cast(m, atom, to)
            total = total + product
        return total
    atom = as_atom(element)
    return None if atom is None else _cast(m, atom, to)


def _cast(m: Maker, atom: Term, to: DType) -> Size:
    """An atom in another element type; a tensor's element is that of the cast tensor."""
    if atom.op == ELEMENT and atom.operands[0] is not None:
        whole = m.table.term("Cast", atom.operands, (("saturate", 1), ("to", to)), Typed(to, atom.operands[0].shape))
        return variable(m.table.element(whole, atom.attribute("index")))
    inner = atom.operands[0] if atom.op == "Cast" else None
    if inner is not None and inner.dtype is to:
        return variable(inner)
    return variable(m.table.term("Cast", (atom,), (("saturate", 1), ("to", to)), Typed(to, ())))


# reductions ---------------------------------------------------------------------------------------


@rule("the sum and the product of small integers are those of polynomials", "ReduceSum", "ReduceProd")
def integer_reduction(m: Maker, one: Application) -> Term | None:
    x, axes = one.operand(0), m.table.elements(one.operands[1]) if len(one.operands) > 1 else None
    elements = m.table.elements(x)
    if elements is None or axes is None or x.static_shape is None or one.attribute("keepdims") or x.dtype is None:
        return None
    if one.op == "ReduceProd" and len(elements) > 4:
        return None
    grid = np.empty(len(elements), object)
    grid[:] = elements
    grid = grid.reshape(x.static_shape)
    for axis in sorted((axis for axis in axes if isinstance(axis, int)), reverse=True):
        grid = np.add.reduce(grid, axis) if one.op == "ReduceSum" else np.multiply.reduce(grid, axis)
    flat = list(grid.reshape(-1)) if isinstance(grid, np.ndarray) else [grid]
    return m.table.integers(x.dtype, np.shape(grid), flat)


RULES = rules_of(globals())
