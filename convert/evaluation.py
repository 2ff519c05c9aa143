"""Values of a certificate's terms: random ones, and what onnx's reference implementation computes of them."""

from __future__ import annotations

import base64
import functools
import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx

from ..passes.graph import Node
from ..passes.protos import ENUMS
from ..passes.schemas import HUB_OPSETS
from ..passes.tensor import TensorData
from ..passes.types import DType
from .reference import Reference, Undefined, defined

Json = dict[str, Any]
_LARGEST = 4
"""Of sizes and passes that are drawn."""
_COMPUTED = ("$slice", "$select", "$if", "$constant", "$integers", "$output")

_DRAWN = ("$input", "$variable", "$final", "$stack")


class Terms(list[Json]):
    """A certificate's terms; none has a second index, counted from the end."""

    def __getitem__(self, index: Any) -> Any:
        if index < 0:
            raise IndexError(index)
        return super().__getitem__(index)


_DEEPEST = 500
"""So many terms may be computed each for the one before."""


@dataclass
class Shared:
    """What all worlds of a certificate have in common.

    Attributes:
        constants: of the files, by digest.
        turns: term of the number of a pass -> how many passes there are.
        numbers: that are drawn more often than others.
        known: the values of constant terms.
        open: how many terms are being computed, each for the one before.
    """

    terms: list[Json]
    constants: dict[Any, Any] = field(default_factory=dict[Any, Any])
    turns: dict[int, Any] = field(default_factory=dict[int, Any])
    numbers: np.ndarray[Any, Any] = field(default_factory=lambda: np.zeros(0))
    known: dict[int, Any] = field(default_factory=dict[int, Any])
    open: int = 0
    reference: Reference = field(default_factory=Reference)

    def constant(self, index: int) -> Any:
        """The value of a constant term."""
        if index not in self.known:
            self.known[index] = self._constant(self.terms[index])
        return self.known[index]

    def _constant(self, term: Json) -> Any:
        if term["op"] == "$integers":
            return _integers(term, term["elements"])
        data = term.get("data")
        if data is None:
            shape = tuple(term["shape"])
            return self.constants[str(np.dtype(DType(term["dtype"]).numpy)), shape, term["attributes"]["content"]]
        if "texts" in data:
            return np.array(data["texts"], object).reshape(data["shape"])
        return np.frombuffer(base64.b64decode(data["bytes"]), DType(term["dtype"]).numpy).reshape(data["shape"])


def digest(array: np.ndarray[Any, Any]) -> Any:
    """What arrays that are the same to the bit have in common."""
    if array.dtype == object:
        return "string", array.shape, tuple(str(one) for one in array.reshape(-1))
    data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return str(array.dtype), array.shape, hashlib.blake2b(data.data, digest_size=16).hexdigest()


def is_known(term: Json) -> bool:
    """Whether a term is a constant."""
    if term["op"] != "$integers":
        return term["op"] == "$constant"
    return all(isinstance(size, int) for size in term["elements"])


def is_own(terms: list[Json], leaf: int, axis: int, size: Any) -> bool:
    """Whether a size of a leaf is just the one that it has, and may be any."""
    if not isinstance(size, list) or len(size) != 1 or size[0][0] != 1 or len(size[0][1]) != 1:
        return False
    term = terms[size[0][1][0]]
    return (term["op"], term["operands"], term["attributes"]) == ("$size", [leaf], {"axis": axis})


def _integers(term: Json, elements: Sequence[int]) -> Any:
    low, high = DType(term["dtype"]).integer_limits
    numbers = [(one - low) % (high - low + 1) + low for one in elements]
    return np.array(numbers, DType(term["dtype"]).numpy).reshape(term["shape"])


class World:
    """Random values of the terms that aren't computed from others; `fixed` has those that are set."""

    def __init__(self, shared: Shared, seed: int, fixed: dict[int, Any]) -> None:
        self.shared, self.seed, self.fixed = shared, seed, fixed
        self.known: dict[int, Any] = dict(fixed)

    def at(self, iteration: int, number: int) -> World:
        """The same world in a certain pass."""
        return self.where({iteration: np.int64(number)})

    def where(self, fixed: dict[int, Any]) -> World:
        """The same world with other values of some terms."""
        return World(self.shared, self.seed, {**self.fixed, **fixed})

    def size(self, size: Any) -> int:
        if isinstance(size, int):
            return size
        return sum(factor * math.prod(int(self.value(atom)) for atom in atoms) for factor, atoms in size)

    def value(self, index: Any) -> Any:
        """Of a term, or of a constant operand.

        Raises:
            RecursionError: too many terms stand in each other, as in a certificate whose terms go in circles. Python's
                own limit is no help: it may be higher than the machine's stack, see `limits.allow_calls`.
        """
        if index is None or isinstance(index, TensorData):
            return None if index is None else index.numpy()
        if index not in self.known:
            term = self.shared.terms[index]
            if self.shared.open == _DEEPEST:
                raise RecursionError(f"more than {_DEEPEST} terms stand in each other")
            self.shared.open += 1
            try:
                self.known[index] = self.shared.constant(index) if is_known(term) else self._value(index, term)
            finally:
                self.shared.open -= 1
        return self.known[index]

    def kept(self, leaf: int, term: Any, before: Sequence[Any] = ()) -> Any:
        """The value of a leaf, if a term has the type that is drawn for it, sizes aside that are the leaf's own.

        Args:
            before: sizes that the leaf has before those of the term.
        """
        found, like = self.shared.terms[leaf], np.asarray(self.value(term))
        actual = (*map(self.size, before), *like.shape)
        if len(found["shape"]) != len(actual) or like.dtype != DType(found["dtype"]).numpy:
            return None
        for axis, (size, expected) in enumerate(zip(found["shape"], actual, strict=True)):
            if not is_own(self.shared.terms, leaf, axis, size) and self.size(size) != expected:
                return None
        return self.value(leaf)

    def _value(self, index: int, term: Json) -> Any:
        op, attributes, operands = term["op"], term["attributes"], term["operands"]
        if not op.startswith("$"):
            return self._applied(index, 0)
        match op:
            case "$integers":
                return _integers(term, [*map(self.size, term["elements"])])
            case "$size" if operands[0] not in self.fixed and (
                self.shared.terms[operands[0]]["op"].startswith("$")
                and self.shared.terms[operands[0]]["op"] not in _COMPUTED
            ):
                return np.int64(self._random(index).integers(int(self.seed % 4 != 3), _LARGEST))  # empty in some worlds
            case "$size":
                return np.int64(np.shape(self.value(operands[0]))[attributes["axis"]])
            case "$element":
                return np.asarray(self.value(operands[0])).reshape(-1)[attributes["index"]]
            case "$count":
                return np.maximum(self.value(operands[0]), 0)
            case "$broadcast":
                sizes = {self.size(one) for one in term["elements"]} - {1}
                return np.int64(defined(len(sizes) < 2) and max(sizes, default=1))
            case "$pass":
                most = self.size(self.shared.turns[index])
                return np.int64(defined(most > 0) and self._random(index).integers(0, most))
            case "$passes":
                most = min([_LARGEST, *(self.size(one) for one in term["most"])])
                return np.int64(defined(most >= 0) and self._random(index).integers(0, most + 1))
            case "$if":
                return self.value(operands[1 if bool(np.all(self.value(operands[0]))) else 2])
            case "$slice":
                x, starts, sizes = map(self.value, operands)
                for axis, start, size, step in zip(attributes["axes"], starts, sizes, attributes["steps"], strict=True):
                    defined(int(size) <= x.shape[axis])
                    x = _taken(x, axis, int(start) + step * np.arange(max(int(size), 0)))
                return x
            case "$select":
                x, at = self.value(operands[0]), int(self.value(operands[1]))
                length = x.shape[attributes["axis"]]
                return _taken(x, attributes["axis"], np.asarray(at + length if -length <= at < 0 else at))
            case "$output":
                return self._applied(operands[0], attributes["index"])
        return self._drawn(term, self._random(index))

    def _random(self, index: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, index])

    def _applied(self, index: int, output: int) -> Any:
        term = self.shared.terms[index]
        domain, _, name = term["op"].rpartition(".")
        attributes = {key: attribute_of(one) for key, one in term["attributes"].items()}
        values = [self.value(one) for one in term["operands"]]
        return self.shared.reference.operator(index, (domain, name), attributes, values, output + 1)[output]

    def _drawn(self, term: Json, random: np.random.Generator) -> Any:
        sizes: list[Any] | None = term.get("shape")
        if term["op"] not in _DRAWN or sizes is None or term["dtype"] in (None, "string"):
            raise Undefined
        shape = [self.size(one) for one in sizes]
        defined(min(shape, default=0) >= 0 and math.prod(shape) <= 1 << 20)
        return drawn(DType(term["dtype"]), shape, random, self.shared.numbers, 0.2)


def drawn(
    kind: DType,
    shape: Sequence[int],
    random: np.random.Generator,
    numbers: np.ndarray[Any, Any],
    share: float,
    exactly: bool = False,
) -> np.ndarray[Any, Any]:
    """Random values of a type, a share of them at, beside and between `numbers`, where comparisons turn; `exactly`: all
    of them at these."""
    if kind is DType.BOOL:
        return np.asarray(random.random(shape) < 0.5)
    if kind.is_integer:
        plain = random.integers(-_LARGEST if kind.is_signed else 0, 2 * _LARGEST, shape).astype(np.float64)
    else:
        special = random.choice([0.0, -0.0, np.inf, -np.inf, np.nan], shape)
        plain = np.where(random.random(shape) < 0.1, special, random.normal(0, 2, shape))
    if numbers.size:
        one, other = random.choice(numbers, shape), random.choice(numbers, shape)
        single = one.astype(np.float32)
        beside = np.nextafter(single, random.choice(np.array([-np.inf, np.inf], np.float32), shape)).astype(np.float64)
        turn = np.choose(random.integers(0, 4, shape), [one, beside, (one + other) / 2, np.sqrt(np.abs(one * other))])
        plain = one if exactly else np.where(random.random(shape) < share, turn, plain)
    if kind.is_integer:
        low, high = kind.integer_limits
        plain = np.clip(np.nan_to_num(plain), float(low), float(high) / 2)
    with np.errstate(all="ignore"):
        return np.asarray(plain).astype(kind.numpy)


def numbers_of(arrays: Sequence[Any]) -> np.ndarray[Any, Any]:
    """The finite numbers of small arrays."""
    few = [np.asarray(one) for one in arrays if np.asarray(one).dtype.kind in "fiuV" and np.asarray(one).size <= 64]
    found = np.concatenate([np.zeros(0), *(one.astype(np.float64).reshape(-1) for one in few)])
    return np.unique(found[np.isfinite(found)])


def _taken(x: Any, axis: int, positions: np.ndarray[Any, Any]) -> Any:
    defined(not positions.size or bool(positions.min() >= 0 and positions.max() < x.shape[axis]))
    return x.take(positions, axis)


def attribute_of(value: Any) -> Any:
    if isinstance(value, dict):
        return ENUMS[DType(value["dtype"])] if "dtype" in value else base64.b64decode(value["bytes"])
    return [attribute_of(one) for one in value] if isinstance(value, list) else value


def attributes_with_defaults(node: Node) -> Json:
    """A node's attributes with the defaults of its schema."""
    given = {name: value for name, value in node.attributes.items() if value is not None}
    return {name: comparable(value) for name, value in (_defaults(*node.op) | given).items()}


@functools.cache
def _defaults(domain: str, op: str) -> Json:
    return {
        name: onnx.helper.get_attribute_value(attribute.default_value)
        for name, attribute in onnx.defs.get_schema(op, HUB_OPSETS[domain], domain).attributes.items()
        if attribute.default_value.name
    }


def comparable(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    if isinstance(value, TensorData):
        return digest(value.numpy())
    return [comparable(one) for one in value] if isinstance(value, list | tuple) else value


def equal(one: Any, other: Any, with_zeros: bool = True) -> bool:
    """Whether values are the same to the bit, all NaNs being one; without the signs of zeros if they don't count."""
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(equal, one, other))
    one, other = np.asarray(one), np.asarray(other)
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    if one.dtype == object or one.dtype.kind in "biu":
        return bool((one == other).all())
    if one.dtype.kind == "c":
        return equal(one.real, other.real, with_zeros) and equal(one.imag, other.imag, with_zeros)
    alike = one == other
    if with_zeros:
        alike &= np.signbit(one) == np.signbit(other)
    return bool((alike | ((one != one) & (other != other))).all())
