"""Vectors as sums: what a loop's body computes from one step's input and the states, in a normal form.

A `Sum` is constant + elementwise products of atoms, each with a coefficient + matrix products. Two ways to write
the same, z * h + (1 - z) * n and n + z * (h - n), or one wide product cut in four and four products, have one form.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

_MOST_TERMS = 32
_MOST_FACTORS = 8


class NotRecurrent(Exception):
    """The loop isn't one of the recurrences that there are operators for; says why."""


@dataclass(frozen=True)
class Source:
    """Columns `start` to `stop` of what comes into the body: a state, or one step of a sequence."""

    name: str
    start: int
    stop: int

    @property
    def width(self) -> int:
        return self.stop - self.start

    @cached_property
    def key(self) -> bytes:
        return _digest(b"source", self.name.encode(), bytes(f"{self.start}:{self.stop}", "ascii"))

    def columns(self, start: int, stop: int) -> Source:
        return Source(self.name, self.start + start, self.start + stop)


@dataclass(frozen=True, eq=False)
class Applied:
    """A function of each element: an activation, or Clip between -parameter and parameter."""

    function: str
    parameters: tuple[float, ...]
    of: Sum

    @property
    def width(self) -> int:
        return self.of.width

    @cached_property
    def key(self) -> bytes:
        return _digest(b"applied", self.function.encode(), repr(self.parameters).encode(), self.of.key)

    def columns(self, start: int, stop: int) -> Applied:
        return Applied(self.function, self.parameters, self.of.columns(start, stop))


@dataclass(frozen=True, eq=False)
class Dense:
    """Matrix products as one factor of an elementwise product."""

    of: Sum

    @property
    def width(self) -> int:
        return self.of.width

    @cached_property
    def key(self) -> bytes:
        return _digest(b"dense", self.of.key)

    def columns(self, start: int, stop: int) -> Dense:
        return Dense(self.of.columns(start, stop))


@dataclass(frozen=True, eq=False)
class Masked:
    """`of` where the step is before the sequence's end, else `otherwise`; with `last`, `of` only in the very last step.

    `lengths` is what the sequences' lengths are called.
    """

    lengths: str
    of: Sum
    otherwise: Sum
    last: bool = False

    @property
    def width(self) -> int:
        return self.of.width

    @cached_property
    def key(self) -> bytes:
        return _digest(b"masked", self.lengths.encode(), bytes([self.last]), self.of.key, self.otherwise.key)

    def columns(self, start: int, stop: int) -> Masked:
        return Masked(self.lengths, self.of.columns(start, stop), self.otherwise.columns(start, stop), self.last)


Atom = Source | Applied | Dense | Masked


@dataclass(frozen=True, eq=False)
class Product:
    """Atoms multiplied elementwise, in the order of their keys."""

    atoms: tuple[Atom, ...]

    @cached_property
    def key(self) -> bytes:
        return _digest(b"product", *(atom.key for atom in self.atoms))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Product) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    @property
    def width(self) -> int:
        return self.atoms[0].width

    def columns(self, start: int, stop: int) -> Product:
        return product(*(atom.columns(start, stop) for atom in self.atoms))


def product(*atoms: Atom) -> Product:
    """The product of these atoms, whatever their order."""
    if len(atoms) > _MOST_FACTORS:
        raise NotRecurrent("its body multiplies too many values with each other")
    return Product(tuple(sorted(atoms, key=lambda atom: atom.key)))


class Sum:
    """A vector of `width` elements, per batch entry.

    Attributes:
        constant: [width], float64.
        terms: product -> its coefficient, [width], float64.
        dense: product of width v -> the matrix that it is multiplied with from the right, [v, width].
    """

    def __init__(self, constant: Array, terms: Mapping[Product, Array], dense: Mapping[Product, Array]) -> None:
        self.constant = np.asarray(constant, np.float64) + 0.0  # no negative zeros: they would tell equal sums apart
        self.terms = {item: coefficient + 0.0 for item, coefficient in terms.items() if coefficient.any()}
        self.dense = {item: matrix for item, matrix in dense.items() if matrix.any()}
        if len(self.terms) + len(self.dense) > _MOST_TERMS:
            raise NotRecurrent("its body adds up too many products")

    @property
    def width(self) -> int:
        return len(self.constant)

    @cached_property
    def key(self) -> bytes:
        """The same for equal sums."""
        parts = [self.constant.tobytes()]
        for table in (self.terms, self.dense):
            for item in sorted(table, key=lambda item: item.key):
                parts += [item.key, np.ascontiguousarray(table[item], np.float64).tobytes()]
            parts.append(b"|")
        return _digest(b"sum", *parts)

    @property
    def is_constant(self) -> bool:
        return not self.terms and not self.dense

    @property
    def single_product(self) -> Product | None:
        """The one product that this sum is; None where it is more, or a multiple."""
        if self.dense or len(self.terms) != 1 or self.constant.any():
            return None
        ((item, coefficient),) = self.terms.items()
        return item if (coefficient == 1).all() else None

    @property
    def atom(self) -> Atom | None:
        """The one atom that this sum is."""
        item = self.single_product
        return item.atoms[0] if item is not None and len(item.atoms) == 1 else None

    def columns(self, start: int, stop: int) -> Sum:
        """Columns `start` to `stop`."""
        if (start, stop) == (0, self.width):
            return self
        return Sum(
            self.constant[start:stop],
            _gathered((item.columns(start, stop), value[start:stop]) for item, value in self.terms.items()),
            {item: matrix[:, start:stop] for item, matrix in self.dense.items()},
        )

    def plus(self, other: Sum, factor: float = 1.0) -> Sum:
        """This sum and `factor` times another."""
        other = other if factor == 1 else other.scaled(np.full(other.width, factor))
        return Sum(
            self.constant + other.constant,
            _gathered((*self.terms.items(), *other.terms.items())),
            _gathered((*self.dense.items(), *other.dense.items())),
        )

    def scaled(self, factors: Array) -> Sum:
        """Each column times its own constant."""
        if (factors == 1).all():
            return self
        return Sum(
            self.constant * factors,
            {item: value * factors for item, value in self.terms.items()},
            {item: matrix * factors for item, matrix in self.dense.items()},
        )

    def times(self, other: Sum) -> Sum:
        """The elementwise product, multiplied out."""
        if self.is_constant:
            return other.scaled(self.constant)
        if other.is_constant:
            return self.scaled(other.constant)
        found: list[tuple[Product, Array]] = []
        ours, theirs = self._elementwise(), other._elementwise()
        for item, value in ours.items():
            found += [(product(*item.atoms, *more.atoms), value * factor) for more, factor in theirs.items()]
            found.append((item, value * other.constant))
        found += [(more, factor * self.constant) for more, factor in theirs.items()]
        return Sum(self.constant * other.constant, _gathered(found), {})

    def _elementwise(self) -> dict[Product, Array]:
        """The terms, the matrix products among them as one atom."""
        if not self.dense:
            return self.terms
        whole = Dense(Sum(np.zeros(self.width), {}, self.dense))
        return {**self.terms, product(whole): np.ones(self.width)}

    def through(self, matrix: Array) -> Sum:
        """This row vector times a matrix of [width, n].

        Raises:
            NotRecurrent: it is a matrix product already.
        """
        if self.dense:
            raise NotRecurrent("two weights are applied one after the other")
        dense: list[tuple[Product, Array]] = []
        for item, value in self.terms.items():
            dense.append((item, matrix if (value == 1).all() else value[:, None] * matrix))
        constant = self.constant @ matrix.astype(np.float64) if self.constant.any() else np.zeros(matrix.shape[1])
        return Sum(constant, {}, _gathered(dense))

    def applied(self, function: str, *parameters: float) -> Sum:
        """A function of each element."""
        return as_sum(Applied(function, parameters, self))


def as_sum(atom: Atom) -> Sum:
    """An atom as a sum."""
    return Sum(np.zeros(atom.width), {product(atom): np.ones(atom.width)}, {})


def constant(values: Array) -> Sum:
    return Sum(values, {}, {})


def _gathered(items: Any) -> dict[Product, Array]:
    found: dict[Product, Array] = {}
    for item, value in items:
        found[item] = found[item] + value if item in found else value
    return found


def _digest(*parts: bytes) -> bytes:
    state = hashlib.blake2b(digest_size=16)
    for part in parts:
        state.update(len(part).to_bytes(8, "little"))
        state.update(part)
    return state.digest()
