"""Equalities of elementwise operators that hold to the bit; signs of NaN aside, which no format promises anything of."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core import CORE
from ..types import DType
from .layout import scalar_of
from .maker import Application, Maker, rule, rules_of
from .polynomials import Size, as_atom, multiplied_out, quotient, variable
from .terms import CONSTANT, ELEMENT, FOLLOWED, INTEGERS, MOST_ELEMENTS, Shape, Term, Typed

_COMMUTATIVE = tuple(name for name, core in CORE.items() if "commutative" in core.properties)
_VARIADIC = ("And", "Or", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Max", "Min")
_ELEMENTWISE = tuple(name for name, core in CORE.items() if "elementwise" in core.properties)
_BINARY = tuple(name for name in _ELEMENTWISE if name not in ("Where", "Cast", "BitCast"))


def scalar_data(m: Maker, x: Term) -> Any:
    """The number that all elements of a constant are, None where they differ or it is none."""
    scalar = scalar_of(m, x)
    data = None if scalar is None else m.data(scalar)
    return None if data is None or data.dtype is DType.STRING else data.numpy().reshape(-1)[0]


def filled(m: Maker, value: Any, like: Term) -> Term | None:
    """A number in the shape and element type of a term."""
    if like.dtype is None or like.shape is None:
        return None
    scalar = m.array(np.asarray(value, like.dtype.numpy), like.dtype)
    return m.make("Expand", scalar, m.table.listed(like.shape))


def _is_like(m: Maker, result: Shape | None, x: Term) -> bool:
    return result is not None and x.shape == result


def _result_shape(m: Maker, one: Application) -> Shape | None:
    return m.broadcast([None if x is None else x.shape for x in one.operands])


# operands -----------------------------------------------------------------------------------------


@rule(
    "what is expanded to the shape that the others have anyway need not be; nor leading axes of size 1", *_ELEMENTWISE
)
def plain_operands(m: Maker, one: Application) -> Term | None:
    if len(one.operands) < 2:
        return None
    shapes = [None if x is None else x.shape for x in one.operands]
    result = m.broadcast(shapes)
    if result is None:
        return None
    operands: list[Term] = []
    for index, x in enumerate(one.operands):
        assert x is not None
        others = [shape for at, shape in enumerate(shapes) if at != index]
        while True:
            simpler = _simpler(m, x)
            if simpler is None or m.broadcast([*others, simpler.shape]) != result:
                break
            x = simpler
        shapes[index] = x.shape
        operands.append(x)
    return m.apply(one.op, operands, one.attributes) if tuple(operands) != one.operands else None


def _simpler(m: Maker, x: Term) -> Term | None:
    if x.op == "Expand" and x.operands[0] is not None and x.operands[0].shape is not None:
        return x.operands[0]
    if x.shape and x.shape[0] == 1:
        return m.make("Reshape", x, m.table.listed(x.shape[1:]), allowzero=1)
    if x.shape and m.data(x) is not None:
        return scalar_of(m, x)
    return None


@rule("f(Expand(x), Expand(y)) = Expand(f(x, y)) of scalars", *_ELEMENTWISE)
def expanded_scalars(m: Maker, one: Application) -> Term | None:
    """Elementwise operators on copies of scalars copy the result."""
    shape = _result_shape(m, one)
    if not shape or all(size == 1 for size in shape):
        return None
    scalars = [x.operands[0] if x is not None and x.op == "Expand" else x for x in one.operands]
    if any(x is None or x.shape != () for x in scalars):
        return None
    return m.make("Expand", m.apply(one.op, scalars, one.attributes), m.table.listed(shape))


# integers -----------------------------------------------------------------------------------------

_ARITHMETIC: dict[str, Callable[..., Size]] = {
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mul": lambda a, b: a * b,
    "Neg": lambda a: -a,
}


def _grids(m: Maker, one: Application) -> list[np.ndarray] | None:
    """The operands as arrays of polynomials, broadcast; None where one isn't small or no integers."""
    shape = _result_shape(m, one)
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


# floats and bools ---------------------------------------------------------------------------------


@rule("x * 1 = x, x / 1 = x, x - 0 = x, x + (-0) = x", "Mul", "Div", "Sub", "Add")
def neutral(m: Maker, one: Application) -> Term | None:
    left, right = one.operand(0), one.operand(1)
    shape = _result_shape(m, one)
    pairs = [(left, right)] if one.op in ("Div", "Sub") else [(left, right), (right, left)]
    for x, other in pairs:
        if not _is_like(m, shape, x) or x.dtype is None:
            continue
        value = scalar_data(m, other)
        if value is None:
            continue
        if one.op in ("Mul", "Div"):
            same = value == 1
        elif one.op == "Sub" or not x.dtype.is_float:
            same = value == 0 and not (x.dtype.is_float and np.signbit(np.float64(value)))
        else:
            same = value == 0 and bool(np.signbit(np.float64(value)))
        if same:
            return x
    return None


@rule("x * -1 = -x, 0 - x isn't", "Mul", "Div")
def negated(m: Maker, one: Application) -> Term | None:
    left, right = one.operand(0), one.operand(1)
    if left.dtype is None or not left.dtype.is_float:
        return None
    pairs = [(left, right)] if one.op == "Div" else [(left, right), (right, left)]
    shape = _result_shape(m, one)
    for x, other in pairs:
        value = scalar_data(m, other)
        if value is not None and value == -1 and _is_like(m, shape, x):
            return m.make("Neg", x)
    return None


@rule("x / c = x * (1/c) where c is a power of two whose inverse is exact", "Div")
def division_by_power(m: Maker, one: Application) -> Term | None:
    x, by = one.operand(0), one.operand(1)
    if x.dtype not in (DType.FLOAT32, DType.FLOAT64, DType.FLOAT16):
        return None
    value = scalar_data(m, by)
    if value is None or not np.isfinite(value) or value == 0:
        return None
    fraction, exponent = np.frexp(np.float64(value))
    if abs(fraction) != 0.5 or abs(int(exponent)) > 10:
        return None
    inverse = filled(m, 1.0 / np.float64(value), by)
    return None if inverse is None else m.make("Mul", x, inverse)


@rule("-(-x) = x, not not x = x", "Neg", "Not", "BitwiseNot")
def twice(m: Maker, one: Application) -> Term | None:
    x = one.operand(0)
    return x.operands[0] if x.op == one.op else None


@rule("x > y is y < x, x >= y is y <= x", "Greater", "GreaterOrEqual")
def swapped_comparison(m: Maker, one: Application) -> Term | None:
    return m.make({"Greater": "Less", "GreaterOrEqual": "LessOrEqual"}[one.op], one.operand(1), one.operand(0))


@rule("x <= y is not y < x, of integers", "LessOrEqual")
def ordered(m: Maker, one: Application) -> Term | None:
    x = one.operand(0)
    if x.dtype is None or not x.dtype.is_integer:
        return None
    return m.make("Not", m.make("Less", one.operand(1), x))


@rule("nested Max, Min, And, Or are one; their operands have no order and count once", *_VARIADIC)
def flattened(m: Maker, one: Application) -> Term | None:
    operands: dict[Term, None] = {}
    counted: list[Term] = []
    for x in one.operands:
        assert x is not None
        counted += [inner for inner in x.operands if inner is not None] if x.op == one.op else [x]
    if one.op == "BitwiseXor":
        ordered = sorted(counted, key=lambda term: term.number)
    else:
        operands = dict.fromkeys(counted)
        ordered = sorted(operands, key=lambda term: term.number)
    if tuple(ordered) == one.operands:
        return None
    if len(ordered) == 1:
        return ordered[0]
    return m.apply(one.op, ordered, one.attributes)


@rule("and, or with a constant", "And", "Or")
def logic_with_constant(m: Maker, one: Application) -> Term | None:
    shape = _result_shape(m, one)
    for index, x in enumerate(one.operands):
        assert x is not None
        value = scalar_data(m, x)
        rest = [other for at, other in enumerate(one.operands) if at != index and other is not None]
        if value is None or not rest:
            continue
        if bool(value) == (one.op == "Or"):
            like = rest[0] if _is_like(m, shape, rest[0]) else None
            return None if like is None else filled(m, value, like)
        if m.broadcast([other.shape for other in rest]) == shape:
            return rest[0] if len(rest) == 1 else m.apply(one.op, rest, one.attributes)
    return None


@rule("a + b = b + a, and so on: in order of the terms' numbers", *_COMMUTATIVE)
def commuted(m: Maker, one: Application) -> Term | None:
    if len(one.operands) != 2 or one.operand(0).number <= one.operand(1).number:
        return None
    return m.apply(one.op, (one.operand(1), one.operand(0)), one.attributes)


@rule("x == x, of integers and bools", "Equal")
def equal_to_itself(m: Maker, one: Application) -> Term | None:
    x = one.operand(0)
    if x is not one.operand(1) or x.dtype is None or not (x.dtype.is_integer or x.dtype is DType.BOOL):
        return None
    if x.shape is None:
        return None
    return m.make("Expand", m.array(np.bool_(True)), m.table.listed(x.shape))


@rule("b == true is b", "Equal")
def equal_to_truth(m: Maker, one: Application) -> Term | None:
    shape = _result_shape(m, one)
    for x, other in ((one.operand(0), one.operand(1)), (one.operand(1), one.operand(0))):
        value = scalar_data(m, other) if x.dtype is DType.BOOL else None
        if value is not None and _is_like(m, shape, x):
            return x if bool(value) else m.make("Not", x)
    return None


@rule("which of two is certain, or they are the same", "Where")
def certain_choice(m: Maker, one: Application) -> Term | None:
    condition, x, y = one.operand(0), one.operand(1), one.operand(2)
    shape = _result_shape(m, one)
    value = scalar_data(m, condition)
    chosen = x if x is y else None if value is None else x if bool(value) else y
    return chosen if chosen is not None and _is_like(m, shape, chosen) else None


@rule("Where(not c, x, y) = Where(c, y, x)", "Where")
def swapped_choice(m: Maker, one: Application) -> Term | None:
    condition = one.operand(0)
    if condition.op != "Not":
        return None
    return m.make("Where", condition.operands[0], one.operand(2), one.operand(1))


@rule("Where(c, true, false) = c", "Where")
def choice_of_truth(m: Maker, one: Application) -> Term | None:
    condition, x, y = one.operand(0), one.operand(1), one.operand(2)
    if x.dtype is not DType.BOOL or not _is_like(m, _result_shape(m, one), condition):
        return None
    values = scalar_data(m, x), scalar_data(m, y)
    if values[0] is None or values[1] is None or bool(values[0]) == bool(values[1]):
        return None
    return condition if values[0] else m.make("Not", condition)


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


_NEUTRAL: dict[str, Callable[[DType], Any]] = {
    "ReduceMax": lambda dtype: dtype.limits[0],
    "ReduceMin": lambda dtype: dtype.limits[1],
    "ReduceSum": lambda dtype: 0,
    "ReduceProd": lambda dtype: 1,
}


@rule("a reduction of nothing gives its neutral element, which need not be chosen", "$if")
def guarded_reduction(m: Maker, one: Application) -> Term | None:
    condition, nothing, reduced = one.operand(0), one.operand(1), one.operand(2)
    x = reduced.operands[0] if reduced.op in _NEUTRAL else None
    axes = m.table.elements(reduced.operands[1]) if x is not None and len(reduced.operands) > 1 else None
    if condition.op != "Equal" or x is None or x.shape is None or axes is None or x.dtype is None:
        return None
    count: Size = 1
    for axis in axes:
        assert isinstance(axis, int)
        count = count * x.shape[axis]
    sides = [m.table.elements(operand) for operand in condition.operands]
    value = scalar_data(m, nothing)
    if value is None or sorted(sides, key=repr) != sorted([(count,), (0,)], key=repr):
        return None
    return reduced if value == _NEUTRAL[reduced.op](x.dtype) else None


RULES = rules_of(globals())
