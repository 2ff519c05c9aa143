"""Equalities that hold over the reals, not to the bit: sums and products in any order, multiplied out.

Floats are taken for the real numbers that they stand for, and operators for the functions that they round: what is
equal here may still round otherwise, or overflow, and nothing is said of NaN and infinities. An expression of `Add`,
`Sub`, `Mul`, `Div`, `Neg` and of powers becomes a sum of products in one order. Its coefficients are rational numbers:
what the constants of the files are exactly. Numerators and denominators don't cancel: x / x isn't 1 where x is 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from ..types import DType
from .elementwise import result_shape, scalar_data, simpler
from .layout import expand, reshape
from .maker import Application, Maker, Rule
from .rules import RULES
from .terms import Shape, Term, Typed

RATIONAL = "$rational"
"""A rational number that no element of the type is, a scalar; attribute `value`."""

_MOST = 64  # monomials of a sum, and factors of each, that are still multiplied out
_POWERS = {-2: (0, 2), -1: (0, 1), 1: (1, 0), 2: (2, 0), 3: (3, 0), 4: (4, 0)}
_SUMS = ("Add", "Sub", "Mul", "Div", "Neg")


@dataclass(frozen=True, slots=True)
class Monomial:
    """A product of terms over a product of terms, each in the order of their numbers."""

    above: tuple[Term, ...] = ()
    below: tuple[Term, ...] = ()

    def __mul__(self, other: Monomial) -> Monomial:
        return Monomial(_sorted(self.above + other.above), _sorted(self.below + other.below))

    @property
    def order(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        return tuple(one.number for one in self.above), tuple(one.number for one in self.below)


Sum = dict[Monomial, Fraction]
_ONE = Monomial()


def _sorted(terms: Iterable[Term]) -> tuple[Term, ...]:
    return tuple(sorted(terms, key=lambda one: one.number))


def over_the_reals() -> Mapping[str, Sequence[Rule]]:
    """The rules that hold to the bit, and after these the ones that hold over the reals only; for one table."""
    reals = _Reals()
    found = dict(RULES)
    for operator in (*_SUMS, "Pow"):
        rule = Rule(operator, "a sum of products in one order, over the reals", reals.normal)
        found[operator] = [*found.get(operator, ()), rule]
    for operator in _LINEAR:
        rule = Rule(operator, "f(c * x) = c * f(x) of linear f, over the reals", reals.scaled)
        found[operator] = [*found.get(operator, ()), rule]
    return found


_LINEAR = {"MatMul": (0, 1), "ReduceSum": (0,)}
"""Operators that are linear in each of these operands."""


@dataclass
class _Reals:
    """Sums of products, of one table's terms.

    Attributes:
        known: of terms that were looked at.
    """

    known: dict[Term, Sum] = field(default_factory=dict[Term, Sum])

    def normal(self, m: Maker, one: Application) -> Term | None:
        shape, dtype = result_shape(m, one), one.operand(0).dtype
        if shape is None or dtype is None or not dtype.is_float:
            return None
        found = self._combined(m, one.op, one.operands)
        return None if found is None else self._made(m, found, dtype, shape)

    def scaled(self, m: Maker, one: Application) -> Term | None:
        """A linear operator on operands whose first coefficient is 1, times what these were multiplied with."""
        dtype = one.operand(0).dtype
        if dtype is None or not dtype.is_float:
            return None
        factor = Fraction(1)
        operands = list(one.operands)
        for index in _LINEAR[one.op]:
            x = one.operand(index)
            of = self._sum(m, x)
            leading = of[min(of, key=lambda monomial: monomial.order)] if of else Fraction(1)
            if leading != 1 and x.shape is not None:
                factor *= leading
                parts = {monomial: coefficient / leading for monomial, coefficient in of.items()}
                operands[index] = self._made(m, parts, dtype, x.shape)
        if factor == 1:
            return None
        whole = m.plain(one.op, operands, one.attributes)
        if whole.shape is None:
            return None
        return self._made(m, {Monomial((_plainest(m, whole),)): factor}, dtype, whole.shape)

    # what a term is a sum of ----------------------------------------------------------------------

    def _sum(self, m: Maker, x: Term) -> Sum:
        x = _plainest(m, x)
        found = self.known.get(x)
        if found is None:
            found = self.known[x] = self._looked_into(m, x)
        return found

    def _looked_into(self, m: Maker, x: Term) -> Sum:
        if x.op == RATIONAL:
            return {_ONE: x.attribute("value")}
        value = scalar_data(m, x) if m.data(x) is not None else None
        if value is not None and np.isfinite(np.float64(value)):
            return _without_zeros({_ONE: Fraction(float(value))})
        found = self._combined(m, x.op, x.operands) if x.op in _SUMS else None
        return {Monomial((x,)): Fraction(1)} if found is None else found

    def _combined(self, m: Maker, op: str, operands: Sequence[Term | None]) -> Sum | None:
        """The sum that an operator gives; None where it gives none, or too long a one."""
        left, *rest = (self._sum(m, x) for x in operands[: 1 if op == "Pow" else 2] if x is not None)
        match op:
            case "Add":
                return _added(left, rest[0], 1)
            case "Sub":
                return _added(left, rest[0], -1)
            case "Neg":
                return {monomial: -coefficient for monomial, coefficient in left.items()}
            case "Mul":
                return _multiplied(left, rest[0])
            case "Div":
                inverse = self._inverse(m, rest[0], operands[1])
                return None if inverse is None else _multiplied(left, inverse)
            case _:
                exponent = scalar_data(m, operands[1]) if operands[1] is not None else None
                above, below = _POWERS.get(exponent, (0, 0)) if exponent is not None else (0, 0)
                inverse = self._inverse(m, left, operands[0]) if below else None
                factor = left if above else inverse
                found: Sum | None = {_ONE: Fraction(1)} if above or below else None
                for _ in range(above + below):
                    found = None if found is None or factor is None else _multiplied(found, factor)
                return found

    def _inverse(self, m: Maker, of: Sum, x: Term | None) -> Sum | None:
        """1 / x: of a product with nothing below the line multiplied out, else as a factor below the line."""
        if not of or x is None:
            return None  # a division by zero
        ((monomial, coefficient), *more) = of.items()
        if not more and not monomial.below:
            return {Monomial((), monomial.above): 1 / coefficient}
        if x.dtype is None or x.shape is None:
            return None
        whole = self._made(m, of, x.dtype, x.shape)
        return {Monomial((), (_plainest(m, whole),)): Fraction(1)}

    # the term of a sum ----------------------------------------------------------------------------

    def _made(self, m: Maker, of: Sum, dtype: DType, shape: Shape) -> Term:
        total: Term | None = None
        for monomial in sorted(of, key=lambda one: one.order):
            part = self._product(m, monomial, of[monomial], dtype)
            total = part if total is None else m.plain("Add", (total, part))
        if total is None:
            total = m.array(np.zeros((), dtype.numpy), dtype)
        self.known.setdefault(total, of)
        return _in_shape(m, total, shape)

    def _product(self, m: Maker, monomial: Monomial, coefficient: Fraction, dtype: DType) -> Term:
        above, below = _chain(m, monomial.above), _chain(m, monomial.below)
        if above is None or coefficient != 1:
            factor = _number(m, coefficient, dtype)
            above = factor if above is None else m.plain("Mul", (factor, above))
        return above if below is None else m.plain("Div", (above, below))


def _in_shape(m: Maker, x: Term, shape: Shape) -> Term:
    """A term broadcast to a shape."""
    ones = len(shape) - len(x.shape or ())
    is_longer_only = x.shape == shape[ones:] and all(size == 1 for size in shape[:ones])
    return x if x.shape == shape else reshape(m, x, shape) if is_longer_only else expand(m, x, shape)


def _plainest(m: Maker, x: Term) -> Term:
    """A term without what broadcasting does anyway."""
    plainer: Term | None = x
    while plainer is not None:
        x, plainer = plainer, simpler(m, plainer)
    return x


def _chain(m: Maker, factors: Sequence[Term]) -> Term | None:
    found: Term | None = None
    for one in factors:
        found = one if found is None else m.plain("Mul", (found, one))
    return found


def _number(m: Maker, value: Fraction, dtype: DType) -> Term:
    array = np.asarray(float(value), dtype.numpy) if abs(value) < 1e300 else None
    if array is not None and np.isfinite(np.float64(array)) and Fraction(float(array)) == value:
        return m.array(array, dtype)
    return m.table.term(RATIONAL, (), (("dtype", dtype), ("value", value)), Typed(dtype, ()))


def _added(left: Sum, right: Sum, sign: int) -> Sum | None:
    total = dict(left)
    for monomial, coefficient in right.items():
        total[monomial] = total.get(monomial, Fraction(0)) + sign * coefficient
    return _without_zeros(total) if len(total) <= _MOST else None


def _multiplied(left: Sum, right: Sum) -> Sum | None:
    if len(left) * len(right) > _MOST:
        return None
    total: Sum = {}
    for one, first in left.items():
        for other, second in right.items():
            product = one * other
            if len(product.above) + len(product.below) > _MOST:
                return None
            total[product] = total.get(product, Fraction(0)) + first * second
    return _without_zeros(total)


def _without_zeros(total: Sum) -> Sum:
    return {monomial: coefficient for monomial, coefficient in total.items() if coefficient}
