"""The extraordinary values of operands: a table from what an operand is to the numbers at which it behaves otherwise.

Numbers count from the size of the axis (or shape) that the operand talks of. Where a model refuses one, nothing is
lost: such sets of inputs are dropped.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .signature import Kind

Array = np.ndarray[Any, Any]

INT64 = np.iinfo(np.int64)
INT32 = np.iinfo(np.int32)

TRIPS = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, -1, 12, 20, 64, 65)
LONG_TRIPS = (1000, 5000)
MOST_TRIPS = 50_000  # of those that stand in a model: small loops are done with them within a second
NO_TRIPS = (-3, -1, -10, INT64.min)

# A single number, or the same everywhere: kind -> numbers for an axis of size n.
_NUMBERS: dict[Kind, Callable[[int], Sequence[float]]] = {
    "position": lambda n: (0, n - 1, -1, -n, n, -n - 1, 1, -2, n + 1, 2**31, 2**32 + 1),
    "length": lambda n: (0, 1, n, n - 1, n + 1),
    "count": lambda n: (0, n, 1, n - 1, n + 1),
    "depth": lambda n: (1, 2, n, n + 1, 7, 0),
    "shift": lambda _: (0, 1, 7, 8, 9, 15, 16, 31, 32, 33, 63, 64),
    "window": lambda n: (0, 1, 2, 3, 4, 5, 8, n, n + 1),
    "divisor": lambda _: (1, -1, 2, -2, 3, -3, 7, 100),
    "exponent": lambda _: (0, 1, 2, 3, 7, 31),
    "level": lambda _: (0, 1, 127, 128, 255, -128, -1),
    "partition": lambda n: (1, 2, n, n - 1, n + 1, 0),
    "start": lambda n: (0, 1, -1, -2, n - 1, n, n + 1, -n, -n - 1, 1 - n, INT64.max, INT64.min),
    "end": lambda n: (n, n + 1, n - 1, -1, -2, 0, 1, -n, -n - 1, INT64.max, INT64.min, INT32.max),
    "step": lambda n: (1, 2, -1, -2, n, n + 1, -n, INT64.max),
    "first": lambda _: (0, 5, -3, 1),
    "limit": lambda _: (0, 5, -3, 7),
    "delta": lambda _: (-1, 2, -2, 3, 100, -100),
    "axes": lambda n: (0, n - 1, -1, -n, 1),
}
_NEUTRAL: dict[Kind, float] = {
    "start": 0,
    "end": INT32.max,
    "step": 1,
    "pad": 0,
    "repeat": 1,
    "scale": 1,
    "first": 0,
    "limit": 5,
    "delta": 1,
}
# Operands of one node whose values go together: kinds -> for an axis of size n.
_TOGETHER: dict[tuple[Kind, ...], Callable[[int], Sequence[tuple[float, ...]]]] = {
    ("start", "end", "step"): lambda n: (
        (n - 1, INT64.min, -1),
        (-1, -n - 1, -1),
        (0, INT64.max, 2),
        (-2, INT64.max, 1),
        (1, -1, 1),
        (0, n + 1, 1),
        (n, 0, -1),
        (-n - 1, 2, 1),
        (2, 1, 1),
        (0, n, n),
        (n + 1, -n - 2, -2),
        (n - 1, 0, -2),
        (0, 0, 1),
    ),
    ("first", "limit", "delta"): lambda _: (
        (5, 0, -1),
        (0, -5, -2),
        (7, 0, -3),
        (3, 3, 1),
        (0, 7, 3),
        (0, 6, 3),
        (4, 1, 1),
        (-2, 4, 1),
        (1, 8, 100),
        (1, 5, -1),
        (6, 0, -3),
        (-1, -8, -2),
    ),
}
_SCALES = (2, 0.5, 4, 0.25, 1, 1.5, 0.6, 3, 1.3, 5)


def numbers(kind: Kind, size: int) -> Sequence[float]:
    """What a single number of this kind is tried with; nothing for the kinds that are made for a whole shape."""
    return _NUMBERS[kind](size) if kind in _NUMBERS else ()


def together(kinds: Sequence[Kind], size: int) -> list[dict[Kind, float]]:
    """Values of the operands of one node that go together, for an axis of this size."""
    for names, made in _TOGETHER.items():
        if len(set(kinds) & set(names)) > 1:
            return [dict(zip(names, values, strict=True)) for values in made(size)]
    return []


def neutral(kind: Kind, count: int, dims: Sequence[int], size: int) -> Sequence[float]:
    """What an operand of `count` elements is where nothing extraordinary happens; [] where anything will do."""
    if kind in _NEUTRAL:
        return [_NEUTRAL[kind]] * count
    if kind in ("size", "shape"):
        return [*[1] * (count - len(dims)), *dims][len(dims) - count if count < len(dims) else 0 :]
    if kind == "partition" and count:
        return [size // count] * (count - 1) + [size - size // count * (count - 1)]
    return []


def for_shape(kind: Kind, count: int, dims: Sequence[int]) -> Iterator[Sequence[float]]:
    """The values of an operand with `count` elements that go together, for data (or an axis) of the sizes `dims`."""
    if kind == "size":
        yield from _sizes(count, dims)
    elif kind == "repeat":
        yield from _varied([1] * count, (0, 2, 3, 5))
        yield [2] * count
    elif kind == "scale":
        yield from _varied([1] * count, _SCALES)
    elif kind == "shape":
        yield from _shapes(count, dims)
    elif kind == "pad":
        yield from _pads(count, dims)
    elif kind == "partition":
        yield from _partitions(count, dims[0] if dims else 4)
    elif kind == "axes":
        yield from _axes(count, len(dims))
    elif kind == "position":
        yield from _positions(count, dims[0] if dims else 3)
    elif kind == "length":
        size = dims[0] if dims else 3
        yield [(0, size, 1, size - 1)[k % 4] for k in range(count)]
        yield [0, *[size] * (count - 1)]
        yield [*[size] * (count - 1), 0]


def _varied(base: Sequence[float], choices: Sequence[float]) -> Iterator[Sequence[float]]:
    """One element changed: the last ones first, which are what images are scaled and padded along."""
    last = range(len(base) - 1, max(len(base) - 3, -1), -1)
    for places in (last, range(len(base) - 3, -1, -1)):
        for choice in choices:
            yield from ([*base[:place], choice, *base[place + 1 :]] for place in places)


def _sizes(count: int, dims: Sequence[int]) -> Iterator[Sequence[float]]:
    base = [*[1] * (count - len(dims)), *dims][-count:] if dims else [2] * count
    if count == 1:  # of which axis isn't known
        yield from ([size + step] for step in (0, 1, -1) for size in dict.fromkeys(dims))
    yield [*[2] * (count - len(dims)), *dims][-count:] if dims else base
    if not count:
        return
    yield [0] * count
    yield [1] * count
    yield from _varied(base, (0, 1, 7))
    for place, size in enumerate(base):
        for other in (size + 1, 2 * size, 3 * size + 1, 4 * size, size - 1):
            yield [*base[:place], other, *base[place + 1 :]]


def _shapes(count: int, dims: Sequence[int]) -> Iterator[Sequence[float]]:
    """Shapes of as many elements: products of axes, with a rest (-1), with sizes taken over (0)."""
    total = math.prod(dims)
    if count == 0:
        yield []
        return
    yield [1] * (count - 1) + [-1]
    yield [-1] + [1] * (count - 1)
    yield [total] + [1] * (count - 1)
    if dims:
        taken = [0] * min(count, len(dims)) + [1] * max(0, count - len(dims))
        if count >= len(dims):
            yield taken
            yield [*dims[::-1], *[1] * (count - len(dims))]
        for place in range(min(count, len(dims))):
            yield [*taken[:place], -1, *[1] * (count - place - 1)]  # sizes before it kept, the rest in one
        for place in range(count):
            shape = [1] * count
            shape[place], shape[0 if place else count - 1] = -1, dims[0]
            yield shape
            shape = [1] * count
            shape[place], shape[place - 1] = -1, dims[-1]
            yield shape
        yield [-1, *[0] * (min(count, len(dims)) - 1), *[1] * (count - len(dims))]


def _pads(count: int, dims: Sequence[int]) -> Iterator[Sequence[float]]:
    half = count // 2
    per_axis = [dims[-half:][k % half] if half and len(dims) >= half else 3 for k in range(count)]
    yield [0] * count
    yield [(-1, 2, 0, 5)[k % 4] for k in range(count)]
    yield [(5, 0, -1, 1)[k % 4] for k in range(count)]
    yield [(0, -2, 4, 3)[k % 4] for k in range(count)]
    yield [size - 1 for size in per_axis]
    for value in (-1, 1, 4, 7):
        yield [value] * count
    for place, size in enumerate(per_axis):
        for value in (size - 1, -1, size, size + 1, -size, 5, 2 * size + 1, -2):
            yield [*[0] * place, value, *[0] * (count - place - 1)]


def _partitions(count: int, size: int) -> Iterator[Sequence[float]]:
    if count < 2:
        return
    rest = [0] * (count - 1)
    yield [size, *rest]
    yield [*rest, size]
    yield [1, *[0] * (count - 2), size - 1]
    yield [size - 1, *[0] * (count - 2), 1]
    even = [size // count] * count
    yield [*even[:-1], size - sum(even[:-1])]
    yield [size - sum(even[1:]), *even[1:]]
    yield [0, size, *rest[1:]]


def _axes(count: int, rank: int) -> Iterator[Sequence[float]]:
    yield []  # where the operand's length is open
    if rank:
        yield list(range(count))
        yield list(range(count))[::-1]
        yield [rank - 1 - k for k in range(count)]
        yield [-1 - k for k in range(count)]
        yield [k - rank for k in range(count)]


def _positions(count: int, size: int) -> Iterator[Sequence[float]]:
    yield [(size - 1 - k) % max(size, 1) for k in range(count)]  # backwards
    yield [-1 - k % max(size, 1) for k in range(count)]
    yield [(0, size - 1, 0, -1, -size, 1)[k % 6] for k in range(count)]  # some twice, unsorted
    yield [(size, 0, -size - 1, -1)[k % 4] for k in range(count)]  # some outside
    yield [(0, -1, size + 3, 1)[k % 4] for k in range(count)]
