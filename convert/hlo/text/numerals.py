"""Data to literals: the shortest decimals that come back as the same values.

Minus zero is `-0.0`: XLA prints it as `-0`, and reads that as an integer, 0.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ....passes.types import DType
from .nans import nan_text, unsigned
from .tree import Literal


def write_literal(literal: Literal) -> str:
    """The literal's text, on one line."""
    if isinstance(literal, tuple):
        return f"({', '.join(map(write_literal, literal))})"
    array = np.ascontiguousarray(literal.numpy())
    texts = _texts(array.reshape(-1), literal.dtype, bool(literal.shape))
    for axis in reversed(range(len(literal.shape))):
        size = literal.shape[axis]
        rows = int(np.prod(literal.shape[:axis], dtype=np.int64))
        texts = ["{" + ", ".join(texts[row * size : row * size + size]) + "}" for row in range(rows)]
    return texts[0]


def _texts(flat: np.ndarray[Any, Any], dtype: DType, among_others: bool) -> list[str]:
    if dtype is DType.BOOL:
        words = ("0", "1") if among_others else ("false", "true")
        return [words[value] for value in flat.tolist()]
    if dtype.is_integer:
        return list(map(str, (flat if flat.dtype.kind in "iu" else flat.astype(np.int64)).tolist()))
    if dtype.is_complex:
        part = DType.FLOAT32 if dtype is DType.COMPLEX64 else DType.FLOAT64
        parts = _floats(flat.view(part.numpy), part)
        return [f"({real}, {imaginary})" for real, imaginary in zip(parts[::2], parts[1::2], strict=True)]
    return _floats(flat, dtype)


def _floats(flat: np.ndarray[Any, Any], dtype: DType) -> list[str]:
    if dtype.bits <= 16:  # few values, however many elements
        bits, positions = np.unique(unsigned(flat), return_inverse=True)
        words = _shortest(bits.view(flat.dtype), dtype)
        return [words[position] for position in positions.tolist()]
    return _shortest(flat, dtype)


def _shortest(flat: np.ndarray[Any, Any], dtype: DType) -> list[str]:
    with np.errstate(invalid="ignore"):
        wide = flat.astype(np.float64)
    if dtype is DType.FLOAT64:
        texts = map(repr, flat.tolist())
    elif dtype is DType.FLOAT32:
        texts = map(str, flat)
    else:
        texts = (repr(_fewest_digits(value, flat.dtype)) for value in wide.tolist())
    found = [text[:-2] if text.endswith(".0") and text != "-0.0" else text for text in texts]
    nans = np.flatnonzero(np.isnan(wide))
    for index, bits in zip(nans.tolist(), unsigned(flat)[nans].tolist(), strict=True):
        found[index] = nan_text(dtype, bits)
    return found


def _fewest_digits(value: float, dtype: np.dtype[Any]) -> float:
    """The number with the fewest digits that becomes `value` in a type of 16 bits or less."""
    if not math.isfinite(value):
        return value
    with np.errstate(over="ignore"):
        rounded = (float(f"{value:.{digits}g}") for digits in range(1, 17))
        return next(number for number in rounded if float(np.asarray(number).astype(dtype)) == value)
