"""The values of random modules: what is known of their numbers, and arrays to start with."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import ml_dtypes
import numpy as np

DTYPES: dict[str, Any] = {
    "f32": np.float32,
    "f64": np.float64,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "s32": np.int32,
    "s64": np.int64,
    "s8": np.int8,
    "u8": np.uint8,
    "u32": np.uint32,
    "pred": np.bool_,
    "c64": np.complex64,
}
_BITS = {"f32": 24, "f64": 53, "f16": 11, "bf16": 8, "c64": 24}
_MOST = {"f32": 4096.0, "f64": 4096.0, "f16": 512.0, "bf16": 512.0, "c64": 512.0}
_MOST_ELEMENTS = 600


def precision(dtype: str) -> float:
    """The relative distance of floats."""
    return 2.0 ** (1 - _BITS[dtype])


def is_float(dtype: str) -> bool:
    return dtype in _BITS


def shape_text(dtype: str, shape: tuple[int, ...]) -> str:
    return f"{dtype}[{','.join(map(str, shape))}]"


@dataclass(frozen=True)
class Value:
    """A value of a computation.

    Floats are multiples of 2**-fraction, at most `bound` large, and `error` away from what another runtime may compute;
    finite ones, that is. `known` is the integer that a scalar is, where the generator knows it.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    bound: float = 0.0
    fraction: int = 0
    error: float = 0.0
    known: int | None = None

    @property
    def type(self) -> str:
        return shape_text(self.dtype, self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @staticmethod
    def of(dtype: str, array: np.ndarray[Any, Any]) -> Value:
        known = int(array) if array.shape == () and not is_float(dtype) else None
        if not is_float(dtype):
            return Value("", dtype, array.shape, known=known)
        return Value("", dtype, array.shape, 4.0, 3)

    def settled(self) -> Value:
        """What can't be held exactly is only close."""
        if not is_float(self.dtype) or self.bound * 2.0**self.fraction <= 2.0 ** _BITS[self.dtype]:
            return self
        return replace(self, error=self.error + self.bound * precision(self.dtype))

    def modest(self) -> bool:
        """Whether it is small enough to go on with."""
        small = not is_float(self.dtype) or (
            self.bound <= _MOST[self.dtype] and self.error <= max(self.bound, 1) * 2.0 ** (6 - _BITS[self.dtype])
        )
        return small and self.size <= _MOST_ELEMENTS and len(self.shape) <= 5


def array_of(random: Random, dtype: str, shape: tuple[int, ...], special: bool) -> np.ndarray[Any, Any]:
    """Random numbers: floats are eighths up to 4, integers are small, or any."""
    size = math.prod(shape)
    if dtype == "pred":
        numbers: list[Any] = [random.random() < 0.5 for _ in range(size)]
    elif dtype == "c64":
        numbers = [complex(random.randint(-32, 32) / 8, random.randint(-32, 32) / 8) for _ in range(size)]
    elif is_float(dtype):
        numbers = [random.randint(-32, 32) / 8 for _ in range(size)]
        if special:
            odd = (math.nan, math.inf, -math.inf, -0.0, 0.0)
            numbers = [random.choice(odd) if random.random() < 0.3 else number for number in numbers]
    else:
        info = np.iinfo(DTYPES[dtype])
        wide = random.random() < 0.25
        low, high = (int(info.min), int(info.max)) if wide else (max(-4, int(info.min)), 6)
        numbers = [
            random.choice((low, high, high - 1)) if wide and random.random() < 0.2 else random.randint(low, high)
            for _ in range(size)
        ]
    return np.array(numbers, DTYPES[dtype]).reshape(shape)


def literal(array: np.ndarray[Any, Any], dtype: str) -> str:
    """An array as HLO writes it."""
    if array.ndim:
        return "{" + ", ".join(literal(part, dtype) for part in array) + "}"
    if dtype == "pred":
        return "true" if array else "false"
    if dtype == "c64":
        number = complex(array)
        return f"({number.real!r}, {number.imag!r})"
    if is_float(dtype):
        number = float(array)
        return "nan" if math.isnan(number) else repr(number)
    return str(int(array))
