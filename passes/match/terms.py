"""Terms: what a value is computed from. Equal terms are one object, so that two values are one when their terms are."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..attributes import Attributes
from ..tensor import TensorData
from ..types import DType, OptionalType, SequenceType, TensorType, Type
from .polynomials import Polynomial, Size, as_atom, at_least, polynomial, substituted, variable

CONSTANT = "$constant"
"""A constant: its bytes' digest stands in the attributes."""
INTEGERS = "$integers"
"""A small tensor of integers, each of which is a polynomial; they stand in `elements`."""
ELEMENT = "$element"
"""One element of an integer tensor, a scalar; attribute `index` counts in C order."""
SIZE = "$size"
"""The size of an axis of a value, a scalar; attribute `axis`."""
INPUT = "$input"
VARIABLE = "$variable"
"""What a loop's body sees of a carried value, or which pass it is."""
PASSES = "$passes"
"""How often a loop runs."""
PASS = "$pass"
"""The number of a pass, from 0."""
COUNT = "$count"
"""An integer, or 0 where it is negative."""
BROADCAST = "$broadcast"
"""The size that two sizes are broadcast to."""
OUTPUT = "$output"
"""One of several outputs of an operator; attribute `index`."""

FOLLOWED = frozenset(dtype for dtype in DType if dtype.is_integer and dtype.bits in (8, 16, 32, 64))
"""Element types of integers that are followed one by one."""

Shape = tuple[Size, ...]

MOST_ELEMENTS = 64
"""Integers that are followed one by one."""


class Term:
    """An operator with its attributes on other terms.

    Attributes:
        op: an operator of the hub ("Add", "ai.onnx.ml.TreeEnsemble"), or one of the kinds above.
        attributes: sorted by name, values hashable.
        operands: None where an optional one is left out.
        dtype: None where it isn't known, or the value is no tensor.
        shape: None where the rank isn't known; a size that isn't is a `$size` of the term.
        container: the type of a value that is no tensor; nothing is said of sizes in it.
        elements: of `$integers`, in C order; of `$broadcast` the two sizes.
        element: of a stack over the passes of loops, in terms of their variables.
        data: of `$constant`.
        number: counts terms in the order in which they were made.
        open: the loop contexts whose variables the term depends on.
    """

    __slots__ = (
        "attributes",
        "container",
        "data",
        "dtype",
        "element",
        "elements",
        "number",
        "op",
        "open",
        "operands",
        "shape",
    )

    def __init__(self, op: str, attributes: Attributes, operands: tuple[Term | None, ...], number: int) -> None:
        self.op = op
        self.attributes = attributes
        self.operands = operands
        self.number = number
        self.dtype: DType | None = None
        self.shape: Shape | None = None
        self.container: Type | None = None
        self.elements: tuple[Size, ...] = ()
        self.element: Term | None = None
        self.data: TensorData | None = None
        self.open: frozenset[int] = frozenset()

    def attribute(self, name: str, default: Any = None) -> Any:
        return next((value for key, value in self.attributes if key == name), default)

    @property
    def rank(self) -> int | None:
        return None if self.shape is None else len(self.shape)

    @property
    def static_shape(self) -> tuple[int, ...] | None:
        if self.shape is None:
            return None
        sizes = tuple(size for size in self.shape if isinstance(size, int))
        return sizes if len(sizes) == len(self.shape) else None

    def __repr__(self) -> str:
        return f"t{self.number}"


class Contradiction(Exception):
    """Operands that no valid model has: an axis that isn't there, sizes that don't go together."""


@dataclass(frozen=True, slots=True)
class Typed:
    """The type of a term; a size that isn't known is None."""

    dtype: DType | None
    shape: Sequence[Size | None] | None
    container: Type | None = None


class Table:
    """All terms of one comparison."""

    def __init__(self) -> None:
        self._terms: dict[Any, Term] = {}
        self._upper: dict[Term, list[Size]] = {}
        self._least: dict[Term, int] = {}
        self._constants: dict[int, tuple[TensorData, Term]] = {}
        self.made = 0
        self._contexts = 0

    def context(self) -> int:
        """A number that no other context of a loop's variables has: what is known of a variable is kept by its term,
        over all tries to prove two graphs equal."""
        self._contexts += 1
        return self._contexts

    # making ---------------------------------------------------------------------------------------

    def term(
        self,
        op: str,
        operands: Sequence[Term | None] = (),
        attributes: Attributes = (),
        typed: Typed | None = None,
        key: Any = None,
    ) -> Term:
        """The term as it stands, no rule applied. `typed` counts where it is new; its unknown sizes are atoms then."""
        operands = tuple(operands)
        identity = (op, attributes, operands, key)
        found = self._terms.get(identity)
        if found is None:
            found = self._terms[identity] = Term(op, attributes, operands, self.made)
            self.made += 1
            contexts = [operand.open for operand in operands if operand is not None and operand.open]
            if contexts:
                found.open = contexts[0] if len(contexts) == 1 else frozenset().union(*contexts)
            if typed is not None:
                found.dtype, found.container = typed.dtype, typed.container
                found.shape = None if typed.shape is None else self.open_shape(found, typed.shape)
        return found

    def constant(self, data: TensorData) -> Term:
        """A constant; small ones of integers as such."""
        known = self._constants.get(id(data))
        if known is None:
            known = self._constants[id(data)] = (data, self._constant(data))
        return known[1]

    def _constant(self, data: TensorData) -> Term:
        array = data.numpy()
        if data.dtype in FOLLOWED and array.size <= MOST_ELEMENTS:
            return self.integers(data.dtype, data.shape, [int(one) for one in array.reshape(-1)])
        if data.dtype is DType.STRING:
            content: Any = tuple(str(one) for one in array.reshape(-1))
        else:
            content = _digest(array)
        term = self.term(
            CONSTANT,
            (),
            (("content", content), ("dtype", data.dtype), ("shape", tuple(data.shape))),
            Typed(data.dtype, tuple(data.shape)),
        )
        if term.data is None:
            term.data = data
        return term

    def array(self, array: Any, dtype: DType | None = None) -> Term:
        return self.constant(TensorData.of(array, dtype))

    def integers(self, dtype: DType, shape: Sequence[int], elements: Sequence[Size]) -> Term:
        """A tensor of integers; another tensor where they are all of its elements, in order."""
        shape = tuple(shape)
        elements = tuple(wrapped(one, dtype) for one in elements)
        whole = self._same_tensor(dtype, shape, elements)
        return self._listed(dtype, shape, elements) if whole is None else whole

    def listed(self, sizes: Sequence[Size]) -> Term:
        """Sizes or positions as an operand, always element by element."""
        return self._listed(DType.INT64, (len(sizes),), tuple(sizes))

    def _listed(self, dtype: DType, shape: tuple[int, ...], elements: tuple[Size, ...]) -> Term:
        term = self.term(INTEGERS, (), (), Typed(dtype, shape), key=(dtype, shape, elements))
        if not term.elements and elements:
            term.elements = elements
            contexts = {
                context for one in elements if not isinstance(one, int) for a in one.atoms for context in a.open
            }
            term.open = frozenset(contexts)
        return term

    def _same_tensor(self, dtype: DType, shape: tuple[int, ...], elements: tuple[Size, ...]) -> Term | None:
        if not elements:
            return None
        first = as_atom(elements[0])
        if first is None:
            return None
        if shape == ():
            return first if first.dtype is dtype else None
        if first.op != ELEMENT or first.operands[0].shape != shape or first.operands[0].dtype is not dtype:
            return None
        tensor = first.operands[0]
        for index, one in enumerate(elements):
            atom = as_atom(one)
            if atom is None or atom.op != ELEMENT or atom.operands[0] is not tensor or atom.attribute("index") != index:
                return None
        return tensor

    def elements(self, term: Term | None) -> tuple[Size, ...] | None:
        """The elements of a small integer tensor; None where it isn't one, or may have another number of them."""
        if term is None:
            return None
        if term.op == INTEGERS:
            return term.elements
        shape = term.static_shape
        if term.dtype not in FOLLOWED or shape is None or math.prod(shape) > MOST_ELEMENTS:
            return None
        if term.op == CONSTANT:
            assert term.data is not None
            return tuple(int(one) for one in term.data.numpy().reshape(-1))
        return tuple(variable(self.element(term, index)) for index in range(math.prod(shape)))

    def element(self, term: Term, index: int) -> Term:
        """The atom that stands for one element of an integer tensor."""
        if term.shape == ():
            return term
        return self.term(ELEMENT, (term,), (("index", index),), Typed(term.dtype, ()))

    def scalar(self, size: Size, dtype: DType = DType.INT64) -> Term:
        return self.integers(dtype, (), [size])

    def size(self, term: Term, axis: int) -> Size:
        """The size of an axis of a term whose shape isn't told by its operands."""
        atom = self.term(SIZE, (term,), (("axis", axis),), Typed(DType.INT64, ()))
        self._least.setdefault(atom, 0)
        return variable(atom)

    def open_shape(self, term: Term, known: Sequence[Size | None]) -> Shape:
        """A shape with atoms in the place of the sizes that aren't known."""
        return tuple(self.size(term, axis) if size is None else size for axis, size in enumerate(known))

    # what is known of integers --------------------------------------------------------------------

    def bound(self, atom: Term, least: int | None = None, most: Size | None = None) -> None:
        """An atom never goes below `least` (>= 0), nor beyond `most`."""
        if least is not None:
            self._least[atom] = max(least, self._least.get(atom, 0))
        if most is not None:
            known = self._upper.setdefault(atom, [])
            if most not in known:
                known.append(most)

    def not_negative(self, size: Size, dtype: DType = DType.INT64) -> Size:
        """The larger of a size and 0."""
        if isinstance(size, int):
            return max(0, size)
        if self.is_negative_never(size):
            return size
        atom = self.term(COUNT, (self.scalar(size, dtype),), (), Typed(dtype, ()))
        self.bound(atom, 0)
        return variable(atom)

    def most(self, atom: Term) -> Sequence[Size]:
        """What an atom never goes beyond."""
        return self._upper.get(atom, ())

    def is_size(self, size: Size) -> bool:
        """Whether a polynomial is made of sizes and numbers of passes, which are >= 0 and far from any overflow."""
        return isinstance(size, int) or all(atom in self._least for atom in size.atoms)

    def least(self, size: Size) -> int | None:
        """A number that a size never goes below, None where none is known."""
        return at_least(size, self._least.get)

    def is_negative_never(self, size: Size, depth: int = 3) -> bool:
        """Whether a size is certain to be >= 0, from what is known of its atoms."""
        low = self.least(size)
        if low is not None:
            return low >= 0
        if isinstance(size, int) or not depth:
            return False
        for atom in sorted(size.atoms, key=lambda one: -one.number):
            if atom not in self._upper or not self._falls(size, atom):
                continue
            if any(self.is_negative_never(substituted(size, atom, most), depth - 1) for most in self._upper[atom]):
                return True
        return False

    def _falls(self, size: Polynomial, atom: Term) -> bool:
        """Whether a polynomial is certain not to rise where an atom does."""
        for monomial, factor in size.monomials:
            if atom in monomial and (factor > 0 or any(one not in self._least for one in monomial)):
                return False
        return True

    def is_at_most(self, small: Size, large: Size) -> bool:
        return self.is_negative_never(large - small)


def depends(size: Size, context: int) -> bool:
    """Whether a size depends on the variables of a loop's context."""
    return not isinstance(size, int) and any(context in atom.open for atom in size.atoms)


def close(term: Term, open_: frozenset[int]) -> Term:
    """Give a leaf that is new the contexts that it depends on, and its own sizes."""
    if not term.open:
        term.open = open_
        for size in term.shape or ():
            for atom in () if isinstance(size, int) else size.atoms:
                if atom.op == SIZE and atom.operands[0] is term:
                    atom.open = open_
    return term


def _digest(array: np.ndarray[Any, Any]) -> str:
    """Of the bytes of an array; ml_dtypes' arrays have no buffer of their own type."""
    return hashlib.blake2b(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data, digest_size=16).hexdigest()


def wrapped(size: Size, dtype: DType) -> Size:
    """The polynomial with its factors as the element type holds them: arithmetic is modulo 2^bits."""
    low, high = dtype.integer_limits
    if isinstance(size, int):
        return (size - low) % (high - low + 1) + low
    if all(low <= factor <= high for _, factor in size.monomials):
        return size
    return polynomial({monomial: (factor - low) % (high - low + 1) + low for monomial, factor in size.monomials})


def container_type(type: Type | None) -> Type | None:
    """The type of a sequence or optional value without the sizes that it declares; None for others."""
    if isinstance(type, SequenceType | OptionalType):
        inner = type.element
        bare = TensorType(inner.dtype, None) if isinstance(inner, TensorType) else container_type(inner)
        return SequenceType(bare) if isinstance(type, SequenceType) else OptionalType(bare)
    return None
