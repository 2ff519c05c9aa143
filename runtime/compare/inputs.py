"""Designed inputs: few sets of values under which a wrong conversion shows.

Plain random numbers hardly enter a loop body (a normal deviate cast to an integer is a trip count <= 0 in
five of six cases) and never meet a threshold. So trip counts are walked through 0, 1, 2 .. 4 and more,
crossed with both values of every condition; every fourth trial runs deep (about three trips, every
condition true) with varied data only; data vary in kind per input; dynamic sizes are swept.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ...passes.errors import Unsupported
from ...passes.limits import is_beyond_arrays
from ...passes.types import Dim, DType, Interval, OptionalType, SequenceType, TensorType, Type
from ..oracles import Values
from .fill import KINDS, Fill
from .signature import InputSpec, Role, Signature, numeric

_DEEP_TRIPS = (3, 3, 2, 4)
_WALK = (0, 1, 3, 2, 6, 4, 1, 9)
_SIZES = (2, 3, 1, 4, 5, 7, 2, 3, 8)
_FREE = 8  # one in so many sets has other integers than those with which the results are of the declared sizes
_MAX_CROSSED_CONDITIONS = 6

ORDINARY = 1e9
"""Floats beyond it, the bounds of Clip among them, are left to trials with special numbers: they overflow."""


def design(signature: Signature, trials: int, seed: int = 0) -> Iterator[dict[str, Values]]:
    """Sets of inputs, each a dict input name -> value; the same ones for the same arguments.

    Trial k doesn't depend on `trials`. Trial 0 is plain: sizes 2 and 3, three trips, conditions true, normal data.

    Raises:
        Unsupported: an input has a type for which no values can be made (maps, sparse tensors, unknown).
    """
    for number in range(trials):
        yield Draft(signature, number, seed).values()


class Draft:
    """One set of inputs in the making.

    `sizes`, if they are given: of some symbols, and of "", the dynamic dimensions without a name; such a set is one in
    which something is changed, and its data are as plain as in trial 0.
    """

    def __init__(self, signature: Signature, number: int, seed: int, sizes: Mapping[str, int] | None = None) -> None:
        self.specs = signature.inputs
        self.rows = signature.rows
        self.integers: Mapping[str, np.ndarray[Any, Any]] = {}
        if signature.integers and number % _FREE:
            self.integers = signature.integers[number % len(signature.integers)]
        self.number = number
        self.random = np.random.default_rng([seed & 0xFFFFFFFF, number])
        self.is_base = sizes is not None
        self.deep = number % 4 == 0
        self.walked = number - number // 4 - 1  # counts the trials that aren't deep
        self.fill = Fill(self.random)
        self.least = 0 if signature.allow_empty and not self.deep else 1
        self.symbols: dict[str, int] = {}
        self.row_numbers: np.ndarray[Any, Any] = np.zeros(0, np.int64)
        self.shared = self._size(0)
        if sizes and "" in sizes:
            self.shared = sizes[""]
        self.free = "shared" if number == 0 else self.random.choice(["shared", "axis", "any"], p=[0.6, 0.3, 0.1])
        if sizes and "" in sizes:
            self.free = "shared"
        for symbol in symbols_of(signature):
            self.symbols[symbol] = self._size(len(self.symbols))
        if signature.sizings:
            self.symbols |= signature.sizings[number % len(signature.sizings)]
        self.symbols |= {symbol: size for symbol, size in (sizes or {}).items() if symbol}

    def _size(self, place: int) -> int:
        """A size for a dynamic dimension; neighbouring places differ in trial 0, so that swapped axes show."""
        if self.number == 0:
            return 2 + place % 2
        if self.least == 0 and self.random.random() < 0.1:
            return 0
        return int(self.random.choice(_SIZES))

    def values(self) -> dict[str, Values]:
        found: dict[str, Values] = {}
        turns: Counter[Role] = Counter()
        for spec in self.specs:
            if spec.name in self.integers:
                found[spec.name] = self.integers[spec.name]
                continue
            if spec.default is not None and (self.number == 0 or self.random.random() < 0.25):
                found[spec.name] = spec.default
                continue
            found[spec.name] = self._value(spec, spec.type, turns[spec.role])
            turns[spec.role] += 1
        return found

    def _value(self, spec: InputSpec, kind: Type | None, turn: int) -> Values:
        if isinstance(kind, OptionalType):
            if self.number and self.random.random() < 0.25:
                return None
            return self._value(spec, kind.element, turn)
        if isinstance(kind, SequenceType):
            length = 2 if self.number == 0 else int(self.random.integers(self.least, 4))
            return [self._value(spec, kind.element, turn) for _ in range(length)]
        if not isinstance(kind, TensorType) or kind.dtype is None:
            raise Unsupported(f"input {spec.name!r}", f"no values can be made up for the type {kind or '?'}")
        shape = self._shape(kind.shape)
        if is_beyond_arrays(shape):
            raise Unsupported(f"input {spec.name!r}", f"no array is of the shape {list(shape)}")
        rows = self.rows.get(spec.name)
        if rows is not None and shape and shape[1:] == rows.shape[1:]:
            return rows[self._chosen(len(rows), shape[0])]
        role = spec.role if _can_be(spec.role, kind.dtype) else "data"
        if role in ("index", "shape") and self.number % 3 and any(edge.kind == "trip" for edge in spec.edges):
            role = "trip"  # it is both, by turns
        if role == "trip" and (kind.dtype.is_integer or not shape or np.prod(shape) == 1):
            return self.bounded(spec, self.fill.up_to(kind.dtype, shape, self._trip(spec, turn)))
        if role == "condition":
            return self.fill.condition(kind.dtype, shape, self._condition(spec, turn))
        if role == "shape":
            rest = spec.lower is None and (self.number == 0 or self.random.random() < 0.6)
            return self.bounded(spec, self.fill.sizes(kind.dtype, shape, rest))
        if role == "index":
            distinct = any(edge.kind == "axes" for edge in spec.edges)
            positions = self.fill.index(kind.dtype, shape, self._limit(spec), spec.wrap and not self.deep, distinct)
            return (positions + int(spec.lower or 0)).astype(kind.dtype.numpy)
        return self.bounded(spec, self._data(spec, kind.dtype, shape, turn))

    def _chosen(self, rows: int, count: int) -> np.ndarray[Any, Any]:
        """Which rows: the same of all inputs."""
        if len(self.row_numbers) != count:
            self.row_numbers = self.random.integers(rows, size=count)
        return self.row_numbers

    def _data(self, spec: InputSpec, dtype: DType, shape: tuple[int, ...], turn: int) -> np.ndarray[Any, Any]:
        """Data of some kind: plain in trial 0, in a third of the others the model's own constants if it has any.

        A single number mostly is below, at or above one of them in turn, crossed with all conditions.
        """
        most = ORDINARY if dtype.is_float else np.inf
        constants = [constant for constant in spec.constants if isinstance(constant, str) or abs(constant) <= most]
        numbers = numeric(constants) if _can_be("trip", dtype) else []
        if self.number == 0 or self.is_base:
            kind = "normal"
        elif numbers and np.prod(shape) == 1 and not self.deep and self.random.random() < 2 / 3:
            step = self.walked // 4 + turn
            return self.fill.beside(dtype, shape, numbers[step // 3 % len(numbers)], step % 3 - 1)
        elif constants and self.random.random() < 1 / 3:
            kind = "thresholds"
        else:
            kind = str(self.random.choice(KINDS))
        return self.fill.data(dtype, shape, kind, constants)

    def _trip(self, spec: InputSpec, turn: int) -> int:
        """The trip count of the `turn`-th trip input."""
        if self.deep:
            return _DEEP_TRIPS[(self.number // 4 + turn) % len(_DEEP_TRIPS)]
        step = self.walked // len(_WALK)
        trip = _WALK[(self.walked + turn * (step + 1)) % len(_WALK)]
        thresholds = [int(c) for c in spec.constants if isinstance(c, int | float) and 0 <= c <= 64]
        if thresholds and self.random.random() < 0.3:
            return max(0, int(self.random.choice(thresholds)) + int(self.random.integers(-1, 2)))
        if spec.lower is not None and spec.lower < 0 and trip == 0 and step % 2:
            return -1
        return trip

    def _condition(self, spec: InputSpec, turn: int) -> bool:
        """The value of the `turn`-th condition: all combinations come up, each with every trip count."""
        if self.deep:
            return True
        # the walk of trip counts restarts after len(_WALK) trials: counting in another rhythm crosses both
        count = self.walked + self.walked // len(_WALK)
        if spec.gate:
            return (count + turn) % 4 != 3
        if turn >= _MAX_CROSSED_CONDITIONS:
            return bool(self.random.integers(2))
        return bool(count >> turn & 1)

    def _limit(self, spec: InputSpec) -> int:
        """What an index must stay below."""
        bound = self.symbols.get(spec.bound) if isinstance(spec.bound, str) else spec.bound
        limit = bound if isinstance(bound, int) else 2
        return limit if spec.upper is None else min(limit, int(spec.upper) + 1)

    def _shape(self, shape: tuple[Dim, ...] | None) -> tuple[int, ...]:
        if shape is None:
            rank = 2 if self.number == 0 else int(self.random.integers(1, 4))
            shape = (None,) * rank
        return tuple(self._dim(dim, axis) for axis, dim in enumerate(shape))

    def _dim(self, dim: Dim, axis: int) -> int:
        if isinstance(dim, int):
            return dim
        if isinstance(dim, str):
            return self.symbols[dim]
        if self.free == "shared":
            size = self.shared
        elif self.free == "axis":
            size = self.symbols.setdefault(f"axis {axis}", self._size(axis))
        else:
            size = self._size(axis)
        if isinstance(dim, Interval):
            size = max(size, dim.lower)
            size = size if dim.upper is None else min(size, dim.upper)
        return size

    def bounded(self, spec: InputSpec, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Within the bounds, and without zeros where the model divides."""
        if array.dtype.kind == "b" and spec.upper == 0:
            return np.zeros_like(array)
        if array.dtype.kind in "OUSbc":
            return array
        if spec.lower is not None or spec.upper is not None:
            wide = np.clip(array.astype(np.float64), spec.lower, spec.upper)
            array = wide.astype(array.dtype)
        if spec.nonzero:
            array = np.where(array == np.zeros((), array.dtype), np.ones((), array.dtype), array)
        return array


def symbols_of(signature: Signature) -> list[str]:
    """The symbolic dimensions of the inputs, in order."""
    found: dict[str, None] = {}
    for spec in signature.inputs:
        for kind in tensor_types(spec.type):
            found.update(dict.fromkeys(dim for dim in kind.shape or () if isinstance(dim, str)))
    return list(found)


def elements_of(signature: Signature, sizes: Mapping[str, int], other: int) -> int:
    """How many elements all inputs have. `sizes`: of symbols, and of "", the dimensions without a name; where there is
    none it is `other`."""
    total = 0
    for spec in signature.inputs:
        for kind in tensor_types(spec.type):
            names = [dim if isinstance(dim, int | str) else "" for dim in kind.shape or ()]
            total += math.prod(sizes.get(name, other) if isinstance(name, str) else name for name in names)
    return total


def _can_be(role: Role, dtype: DType) -> bool:
    """Whether a value of this type can play the role directly (a string doesn't count trips, say)."""
    if dtype is DType.BOOL:
        return role == "condition"
    return dtype.is_integer or (dtype.is_float and dtype.is_signed and dtype is not DType.FLOAT8E8M0)


def tensor_types(kind: Type | None) -> Iterator[TensorType]:
    if isinstance(kind, TensorType):
        yield kind
    elif isinstance(kind, SequenceType | OptionalType):
        yield from tensor_types(kind.element)
