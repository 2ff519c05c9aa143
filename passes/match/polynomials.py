"""Integers with open sizes: polynomials with integer coefficients over integer scalars that aren't known.

A polynomial that is constant is a plain `int`; `Size` is either. Equal polynomials are equal numbers, in the integers
as in the residues modulo 2^n, since addition and multiplication commute with taking residues.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

MOST = 64
"""Monomials of a product that is still multiplied out."""


class Atom(Protocol):
    """An integer that isn't known: a term with a number, by which monomials are ordered."""

    number: int


Monomial = tuple[Any, ...]


class Polynomial:
    """A sum of integer multiples of products of atoms, not constant; see `polynomial` and `variable`."""

    __slots__ = ("_hash", "monomials")

    def __init__(self, monomials: tuple[tuple[Monomial, int], ...]) -> None:
        self.monomials = monomials
        self._hash = hash(monomials)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Polynomial) and self.monomials == other.monomials)

    def __add__(self, other: Size) -> Size:
        total = dict(self.monomials)
        for monomial, factor in _monomials(other):
            total[monomial] = total.get(monomial, 0) + factor
        return polynomial(total)

    __radd__ = __add__

    def __neg__(self) -> Polynomial:
        return Polynomial(tuple((monomial, -factor) for monomial, factor in self.monomials))

    def __sub__(self, other: Size) -> Size:
        return self + -other

    def __rsub__(self, other: int) -> Size:
        return -self + other

    def __mul__(self, other: Size) -> Size:
        total: dict[Monomial, int] = {}
        for left, a in self.monomials:
            for right, b in _monomials(other):
                monomial = tuple(sorted(left + right, key=_number)) if left and right else left or right
                total[monomial] = total.get(monomial, 0) + a * b
        return polynomial(total)

    __rmul__ = __mul__

    @property
    def atoms(self) -> set[Any]:
        return {atom for monomial, _ in self.monomials for atom in monomial}

    @property
    def constant(self) -> int:
        """The summand without atoms."""
        return next((factor for monomial, factor in self.monomials if not monomial), 0)

    def __repr__(self) -> str:
        def product(monomial: Monomial, factor: int) -> str:
            return "*".join([*([str(factor)] if factor != 1 or not monomial else []), *map(repr, monomial)])

        return " + ".join(product(*one) for one in self.monomials)


def _number(atom: Atom) -> int:
    return atom.number


def _monomials(size: Size) -> Iterable[tuple[Monomial, int]]:
    return (((), size),) if isinstance(size, int) else size.monomials


def polynomial(monomials: Mapping[Monomial, int]) -> Size:
    """The sum of monomials times their factors; an int if it is constant."""
    found = [(monomial, factor) for monomial, factor in monomials.items() if factor]
    if not found:
        return 0
    if len(found) == 1 and not found[0][0]:
        return found[0][1]
    found.sort(key=lambda one: (len(one[0]), [atom.number for atom in one[0]]))
    return Polynomial(tuple(found))


def variable(atom: Any) -> Polynomial:
    return Polynomial((((atom,), 1),))


def as_atom(size: Size) -> Any | None:
    """The atom that a polynomial consists of, None where it is more than one."""
    if isinstance(size, int) or len(size.monomials) != 1:
        return None
    (monomial, factor) = size.monomials[0]
    return monomial[0] if factor == 1 and len(monomial) == 1 else None


def multiplied_out(left: Size, right: Size) -> bool:
    """Whether a product is short enough to be multiplied out."""
    return len(list(_monomials(left))) * len(list(_monomials(right))) <= MOST


def quotient(size: Size, divisor: Size) -> Size | None:
    """`size / divisor` where it divides evenly whatever the atoms are, and the divisor is one product; else None."""
    (monomial, factor), *more = list(_monomials(divisor))
    if more or not factor:
        return None
    total: dict[Monomial, int] = {}
    for left, scale in _monomials(size):
        rest = list(left)
        for atom in monomial:
            if atom not in rest:
                return None
            rest.remove(atom)
        if scale % factor:
            return None
        total[tuple(rest)] = scale // factor
    return polynomial(total)


def substituted(size: Size, atom: Any, by: Size) -> Size:
    """The polynomial with another one in the place of an atom."""
    return mapped(size, lambda one: by if one is atom else variable(one))


def mapped(size: Size, by: Callable[[Any], Size]) -> Size:
    """The polynomial with another one in the place of each atom."""
    if isinstance(size, int):
        return size
    total: Size = 0
    for monomial, factor in size.monomials:
        product: Size = factor
        for atom in monomial:
            product = product * by(atom)
        total = total + product
    return total


def at_least(size: Size, least: Callable[[Any], int | None]) -> int | None:
    """A number that the polynomial never goes below, None where none is known.

    Args:
        least: of an atom a number >= 0 that it never goes below; None where it can be negative.
    """
    total = 0
    for monomial, factor in _monomials(size):
        product = factor
        for atom in monomial:
            low = least(atom)
            if low is None or factor < 0:
                return None
            product *= low
        total += product
    return total


Size = int | Polynomial
