"""Equalities of elementwise operators that hold to the bit; the signs of NaN aside, which no format promises."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core import CORE, ELEMENTWISE
from ..types import DType
from .layout import reshape, scalar_of, transpose
from .maker import IEEE, Application, Maker, rule, rules_of
from .terms import Shape, Term

_COMMUTATIVE = tuple(name for name, core in CORE.items() if "commutative" in core.properties)
_VARIADIC = ("And", "Or", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Max", "Min")
_ELEMENTWISE = tuple(name for name, core in CORE.items() if "elementwise" in core.properties)
_MOVED = tuple(sorted(ELEMENTWISE - {"BitCast"}))
_TOTAL = ELEMENTWISE - {"Div", "Mod", "Pow", "BitCast"}
"""Operators that have a result whatever the elements are: integers can't be divided by 0."""
_DEEPEST = 4
"""Operators within a choice in which the same one is looked for."""
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


def result_shape(m: Maker, one: Application) -> Shape | None:
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
    operands: list[Term] = [x for x in one.operands if x is not None]
    # one operand keeps what all could do without: of several, it doesn't depend on their order which one
    for index in sorted(range(len(operands)), key=lambda at: (shapes[at] == result, operands[at].number)):
        x = operands[index]
        others = [shape for at, shape in enumerate(shapes) if at != index]
        while True:
            plainer = simpler(m, x)
            if plainer is None or m.broadcast([*others, plainer.shape]) != result:
                break
            x = plainer
        shapes[index] = x.shape
        operands[index] = x
    return m.apply(one.op, operands, one.attributes) if tuple(operands) != one.operands else None


@rule(
    "f(Reshape(x), Reshape(y)) = Reshape(f(x, y)), of a leading axis of size 1 that both only got there", *_ELEMENTWISE
)
def leading_axis(m: Maker, one: Application) -> Term | None:
    """Left to `plain_operands`, it would depend on the operands which of them keeps the axis."""
    shape = result_shape(m, one)
    if not shape or shape[0] != 1 or len(one.operands) < 2:
        return None
    operands = [_without_axis(m, x, len(shape)) for x in one.operands if x is not None]
    found = [x for x in operands if x is not None]
    if len(found) < len(one.operands):
        return None
    return m.make("Reshape", m.apply(one.op, found, one.attributes), m.table.listed(shape), allowzero=1)


def _without_axis(m: Maker, x: Term, rank: int) -> Term | None:
    """An operand before it got the leading axis that gives it a rank, None where it has that of itself."""
    if x.shape is None or len(x.shape) < rank:
        return None if x.shape is None else x
    inner = x.operands[0] if x.op == "Reshape" else None
    is_new = inner is not None and inner.shape is not None and len(inner.shape) < rank
    if x.shape[0] == 1 and (is_new or m.data(x) is not None):
        return m.make("Reshape", x, m.table.listed(x.shape[1:]), allowzero=1)
    return None


def simpler(m: Maker, x: Term) -> Term | None:
    """What an elementwise operator may take instead, where the other operands have the shape of its result."""
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
    shape = result_shape(m, one)
    if not shape or all(size == 1 for size in shape):
        return None
    scalars = [x.operands[0] if x is not None and x.op == "Expand" else x for x in one.operands]
    if any(x is None or x.shape != () for x in scalars):
        return None
    return m.make("Expand", m.apply(one.op, scalars, one.attributes), m.table.listed(shape))


# moves --------------------------------------------------------------------------------------------


@rule("f(Transpose(x), c) = Transpose(f(x, c)), of operands that are moved alike, single elements, constants", *_MOVED)
def behind_transpose(m: Maker, one: Application) -> Term | None:
    """Wherever a file has the Transpose, it stands behind."""
    shape = result_shape(m, one)
    first = next((x for x in one.operands if x is not None and x.op == "Transpose"), None)
    if shape is None or first is None:
        return None
    perm = dict(first.attributes)["perm"]
    operands = [None if x is None else _before_transpose(m, x, shape, perm) for x in one.operands]
    if None in operands:
        return None
    return transpose(m, m.apply(one.op, operands, one.attributes), perm)


def _before_transpose(m: Maker, x: Term, shape: Shape, perm: Sequence[int]) -> Term | None:
    if x.op == "Transpose":
        return x.operands[0] if x.shape == shape and dict(x.attributes)["perm"] == perm else None
    scalar = scalar_of(m, x)
    if scalar is not None or m.data(x) is None or x.shape is None:
        return scalar
    whole = reshape(m, x, ((1,) * (len(perm) - len(x.shape)) + x.shape))
    return transpose(m, whole, [list(perm).index(axis) for axis in range(len(perm))])


@rule("f(Reshape(x), c) = Reshape(f(x, c)), of operands of one shape each, single elements, last dimensions", *_MOVED)
def behind_reshape(m: Maker, one: Application) -> Term | None:
    """Wherever a file has the Reshape, it stands behind. Dimensions at the end may be those of all."""
    shape = result_shape(m, one)
    first = next((x for x in one.operands if x is not None and x.op == "Reshape" and x.shape == shape), None)
    before = first.operands[0].shape if first is not None and first.operands[0] is not None else None
    if shape is None or before is None:
        return None
    operands = [None if x is None else _before_reshape(m, x, shape, before) for x in one.operands]
    return None if None in operands else reshape(m, m.apply(one.op, operands, one.attributes), shape)


def _before_reshape(m: Maker, x: Term, shape: Shape, before: Shape) -> Term | None:
    inner = x.operands[0] if x.op == "Reshape" and x.shape == shape else None
    if inner is not None:
        return inner if inner.shape == before else None
    own = x.shape
    if own and len(own) < len(shape) and len(own) <= len(before) and own == shape[-len(own) :] == before[-len(own) :]:
        return x
    return scalar_of(m, x) if own != shape else None


# floats and bools ---------------------------------------------------------------------------------


@rule("x * 1 = x, x / 1 = x, x - 0 = x, x + (-0) = x", "Mul", "Div", "Sub", "Add")
def neutral(m: Maker, one: Application) -> Term | None:
    left, right = one.operand(0), one.operand(1)
    shape = result_shape(m, one)
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


@rule("x - c = x + -c of floats, where c is a constant", "Sub")
def subtracted_constant(m: Maker, one: Application) -> Term | None:
    x, constant = one.operand(0), one.operand(1)
    data = m.data(constant)
    if data is None or x.dtype not in IEEE or m.data(x) is not None:
        return None
    return m.make("Add", x, m.make("Neg", constant))


@rule("x * -1 = -x, 0 - x isn't", "Mul", "Div")
def negated(m: Maker, one: Application) -> Term | None:
    left, right = one.operand(0), one.operand(1)
    if left.dtype is None or not left.dtype.is_float:
        return None
    pairs = [(left, right)] if one.op == "Div" else [(left, right), (right, left)]
    shape = result_shape(m, one)
    for x, other in pairs:
        value = scalar_data(m, other)
        if value is not None and value == -1 and _is_like(m, shape, x):
            return m.make("Neg", x)
    return None


@rule("x / c = x * (1/c) where c is a power of two whose inverse is exact", "Div")
def division_by_power(m: Maker, one: Application) -> Term | None:
    x, by = one.operand(0), one.operand(1)
    if x.dtype not in IEEE:
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


@rule("Max(x, the least of all numbers) = x, Min(x, the largest) = x", "Max", "Min")
def unbounded(m: Maker, one: Application) -> Term | None:
    operands = [x for x in one.operands if x is not None]
    dtype = operands[0].dtype
    if dtype is None:
        return None
    bound = dtype.limits[one.op == "Min"]
    values = [scalar_data(m, x) for x in operands]
    rest = [x for x, value in zip(operands, values, strict=True) if value is None or value != bound]
    if not 0 < len(rest) < len(operands) or m.broadcast([x.shape for x in rest]) != result_shape(m, one):
        return None
    return rest[0] if len(rest) == 1 else m.apply(one.op, rest, one.attributes)


@rule(
    "Min(Max(x, low), high) = Max(Min(x, high), low) = Clip(x, low, high), of numbers low <= high but 0", "Max", "Min"
)
def clipped(m: Maker, one: Application) -> Term | None:
    """Where a bound is 0, Clip hands on -0, of which Max makes 0."""
    outer = _bounded(m, one.operands, result_shape(m, one))
    inner = outer[0] if outer is not None else None
    if outer is None or inner is None or inner.op != ("Max" if one.op == "Min" else "Min"):
        return None
    found = _bounded(m, inner.operands, inner.shape)
    if found is None:
        return None
    low, high = (found[1], outer[1]) if one.op == "Min" else (outer[1], found[1])
    values = scalar_data(m, low), scalar_data(m, high)
    return m.make("Clip", found[0], low, high) if 0 not in values and values[0] <= values[1] else None


def _bounded(m: Maker, operands: Sequence[Term | None], shape: Shape | None) -> tuple[Term, Term] | None:
    """The operand that has the shape of the result, and the scalar that the other one is."""
    for x, bound in (operands, operands[::-1]) if len(operands) == 2 else ():
        scalar = scalar_of(m, bound) if bound is not None and m.data(bound) is not None else None
        if x is not None and scalar is not None and m.data(x) is None and _is_like(m, shape, x):
            return x, scalar
    return None


@rule("and, or with a constant", "And", "Or")
def logic_with_constant(m: Maker, one: Application) -> Term | None:
    shape = result_shape(m, one)
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
    shape = result_shape(m, one)
    for x, other in ((one.operand(0), one.operand(1)), (one.operand(1), one.operand(0))):
        value = scalar_data(m, other) if x.dtype is DType.BOOL else None
        if value is not None and _is_like(m, shape, x):
            return x if bool(value) else m.make("Not", x)
    return None


@rule("which of two is certain, or they are the same: that one, in the shape of the result", "Where")
def certain_choice(m: Maker, one: Application) -> Term | None:
    condition, x, y = one.operand(0), one.operand(1), one.operand(2)
    shape = result_shape(m, one)
    value = scalar_data(m, condition)
    chosen = x if x is y else None if value is None else x if bool(value) else y
    return None if chosen is None or shape is None else m.make("Expand", chosen, m.table.listed(shape))


@rule("Where(not c, x, y) = Where(c, y, x)", "Where")
def swapped_choice(m: Maker, one: Application) -> Term | None:
    condition = one.operand(0)
    if condition.op != "Not":
        return None
    return m.make("Where", condition.operands[0], one.operand(2), one.operand(1))


@rule("Where(c, f(Where(c, x, y)), z) = Where(c, f(x), z), and so on: what c chooses within is certain", "Where")
def chosen_within(m: Maker, one: Application) -> Term | None:
    condition, branches = one.operand(0), one.operands[1:]
    certain = [x and _chosen(m, x, condition, index, _DEEPEST) for index, x in enumerate(branches, 1)]
    if all(x is old for x, old in zip(certain, branches, strict=True)):
        return None
    return m.make("Where", condition, *certain)


def _chosen(m: Maker, x: Term, condition: Term, index: int, depth: int) -> Term:
    """What a value is where a condition is as the operand `index` of Where wants it: the same in all other elements."""
    if x.op == "Where" and x.operands[0] is condition:
        chosen = x.operands[index]
        return x if chosen is None or x.shape is None else m.make("Expand", chosen, m.table.listed(x.shape))
    if x.op not in _TOTAL or x.shape is None or not depth:
        return x
    operands = [y and _chosen(m, y, condition, index, depth - 1) for y in x.operands]
    return x if tuple(operands) == x.operands else m.apply(x.op, operands, x.attributes)


@rule("Where(y < bits, x << y, 0) = x << y of unsigned x, which is 0 by that many bits and more; >> alike", "Where")
def guarded_shift(m: Maker, one: Application) -> Term | None:
    condition, shifted, zero = one.operand(0), one.operand(1), one.operand(2)
    shift = shifted.operands[0] if shifted.op == "Cast" else shifted
    if shift is None or shift.op != "BitShift" or shift.dtype is None or shift.dtype.is_signed:
        return None
    if condition.op != "Less" or condition.operands[0] is not shift.operands[1] or condition.operands[1] is None:
        return None
    if shifted.dtype is None or not shifted.dtype.is_integer or not _is_like(m, result_shape(m, one), shifted):
        return None
    most, least = scalar_data(m, condition.operands[1]), scalar_data(m, zero)
    return shifted if most == shift.dtype.bits and least == 0 else None


@rule("Where(c, true, false) = c", "Where")
def choice_of_truth(m: Maker, one: Application) -> Term | None:
    condition, x, y = one.operand(0), one.operand(1), one.operand(2)
    if x.dtype is not DType.BOOL or not _is_like(m, result_shape(m, one), condition):
        return None
    values = scalar_data(m, x), scalar_data(m, y)
    if values[0] is None or values[1] is None or bool(values[0]) == bool(values[1]):
        return None
    return condition if values[0] else m.make("Not", condition)


RULES = rules_of(globals())
