"""Arrays of one kind or another, for every element type."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from ...passes.types import DType
from .signature import numeric

Array = np.ndarray[Any, Any]

KINDS = ("normal", "large", "constant", "grid", "grid", "sparse", "negative")
"""What data may look like, beside "thresholds"."""

_TEXTS = ("", "a", "b", "B", "ab", "Ab", "1", "é", "two words")


class Fill:
    """Makes arrays from one source of random numbers."""

    def __init__(self, random: np.random.Generator) -> None:
        self.random = random
        self._kinds: dict[str, Callable[[tuple[int, ...]], Array]] = {
            "normal": random.standard_normal,
            "large": lambda shape: random.standard_normal(shape) * 4,
            "constant": lambda shape: np.full(shape, random.choice([0.0, 1.0, 1.0, -1.0, 0.5, 2.0])),
            "grid": lambda shape: random.integers(-3, 4, shape) * random.choice([1.0, 1.0, 0.5]),
            "sparse": lambda shape: random.standard_normal(shape) * (random.random(shape) < 0.2),
            "negative": lambda shape: -np.abs(random.standard_normal(shape)) - 0.01,
        }

    def data(self, dtype: DType, shape: tuple[int, ...], kind: str, constants: Sequence[float | str] = ()) -> Array:
        """Data of one of the `KINDS`, or "thresholds": the model's own `constants` and their neighbours."""
        if dtype is DType.STRING:
            return self._texts(shape, [text for text in constants if isinstance(text, str)])
        if dtype is DType.BOOL:
            share = {"constant": self.random.integers(2), "sparse": 0.2, "large": 0.8}.get(kind, 0.5)
            return self.random.random(shape) < share
        numbers = [float(number) for number in numeric(constants)]
        if kind == "thresholds":
            real = self._near(shape, numbers, dtype) if numbers else self._kinds["grid"](shape)
        else:
            real = np.asarray(self._kinds[kind](shape))
        if dtype.is_complex:
            return (real + 1j * self.random.standard_normal(shape)).astype(dtype.numpy)
        if dtype.is_float and dtype is not DType.NF4:
            if dtype is DType.FLOAT8E8M0:  # powers of two, no zero
                real = np.maximum(np.abs(real), 2.0**-10)
            return _into_range(real, dtype)
        if kind in ("normal", "large"):  # spread integers out, the narrow ones over their whole range
            real = self._integers(dtype, shape) if kind == "large" else np.rint(real * self.random.choice([2, 5, 20]))
        return _into_range(np.rint(real), dtype)

    def _integers(self, dtype: DType, shape: tuple[int, ...]) -> Array:
        low, high = _range(dtype)
        if dtype.bits > 16:
            low, high = max(low, -100), 100
        return self.random.integers(int(low), int(high) + 1, shape).astype(np.float64)

    def beside(self, dtype: DType, shape: tuple[int, ...], number: float, side: int) -> Array:
        """A number everywhere (`side` 0), or what is just below (-1) or above it (1)."""
        return _into_range(np.full(shape, number + side * _step(number, dtype)), dtype)

    def _near(self, shape: tuple[int, ...], numbers: list[float], dtype: DType) -> Array:
        """The numbers themselves half the time, else just beside them, or anything.

        In every other tensor all elements are one number (floats: over a small count or the tensor's size,
        because loops and reductions add up before they compare).
        """
        if self.random.random() < 0.5:
            parts = [1, 1, 2, 3, 4, max(1, math.prod(shape))] if dtype.is_float else [1]
            number = self.random.choice(numbers) / self.random.choice(parts)
            return np.full(shape, number + self.random.choice([-1, 0, 0, 1]) * _step(number, dtype))
        chosen = self.random.choice(numbers, shape)
        near = chosen + _step(chosen, dtype) * self.random.integers(-1, 2, shape)
        anything = self.random.standard_normal(shape) * 2
        pick = self.random.random(shape)
        return np.where(pick < 0.5, chosen, np.where(pick < 0.8, near, anything))

    def _texts(self, shape: tuple[int, ...], own: list[str]) -> Array:
        choices = [*_TEXTS, *own, *own]
        picked = self.random.integers(0, len(choices), shape)
        found = np.empty(picked.size, object)
        found[:] = [choices[k] for k in np.reshape(picked, -1)]
        return found.reshape(shape)

    def up_to(self, dtype: DType, shape: tuple[int, ...], most: int) -> Array:
        """Counts, the largest of them `most`."""
        counts = np.full(shape, most)
        if counts.size > 1 and most > 0:
            counts = self.random.integers(0, most + 1, shape)
            counts.reshape(-1)[int(self.random.integers(counts.size))] = most
        return _into_range(counts, dtype)

    def condition(self, dtype: DType, shape: tuple[int, ...], value: bool) -> Array:
        """`value`; in a tensor of several conditions a false one here and there if it is false."""
        flags = np.full(shape, value)
        if flags.size > 1 and not value:
            flags = self.random.random(shape) < self.random.choice([0.0, 0.5, 0.8])
        return flags.astype(dtype.numpy)

    def sizes(self, dtype: DType, shape: tuple[int, ...], rest: bool) -> Array:
        """Small sizes; `rest`: all 1 but for one -1 (what is left, in Reshape)."""
        counts = np.asarray(self.random.choice([1, 1, 2, 3], shape))
        if rest and counts.size and dtype.is_signed:
            counts = np.ones(shape, np.int64)
            counts.reshape(-1)[int(self.random.integers(counts.size))] = -1
        return _into_range(counts, dtype)

    def index(self, dtype: DType, shape: tuple[int, ...], limit: int, wrap: bool, distinct: bool = False) -> Array:
        """Positions below `limit`; counted from the end in a quarter of the cases if `wrap`, none twice if `distinct`
        and there are as many."""
        if limit <= 0:
            return np.zeros(shape, dtype.numpy)
        if distinct and math.prod(shape) <= limit:
            positions = self.random.permutation(limit)[: math.prod(shape)].reshape(shape)
        else:
            positions = np.asarray(self.random.integers(0, limit, shape))
        if wrap and dtype.is_signed and self.random.random() < 0.25:
            positions = positions - limit
        return positions.astype(dtype.numpy)


def _step(number: Any, dtype: DType) -> Any:
    """A small step, but one that bfloat16 still sees."""
    return np.maximum(np.abs(number), 1) * 2.0**-7 if dtype.is_float else 1.0


def _range(dtype: DType) -> tuple[float, float]:
    if dtype.numpy == np.dtype(np.uint8):  # also the types that are stored as uint8 codes
        return 0, 2.0 ** min(dtype.bits, 8) - 1
    info = ml_dtypes.finfo(dtype.numpy) if dtype.is_float else ml_dtypes.iinfo(dtype.numpy)
    return float(info.min), float(info.max)


def _into_range(real: Any, dtype: DType) -> Array:
    """Cast without overflow. Unsigned types get the magnitude."""
    low, high = _range(dtype)
    real = np.asarray(real, np.float64)
    if low >= 0:
        real = np.abs(real)
    return np.clip(real, low, high).astype(dtype.numpy) if abs(high) < 2.0**53 else real.astype(dtype.numpy)
