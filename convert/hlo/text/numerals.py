"""Data to literals: the shortest decimals that come back as the same values.

Minus zero is `-0.0`: XLA prints it as `-0`, and reads that as an integer, 0.
"""

from __future__ import annotations

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
    if dtype.bits <= 16:
        bits, positions = np.unique(unsigned(flat), return_inverse=True)
        words = _shortest(bits.view(flat.dtype), dtype)
        return [words[position] for position in positions.tolist()]
    return _shortest(flat, dtype)


def _shortest(flat: np.ndarray[Any, Any], dtype: DType) -> list[str]:
    wide = flat.astype(np.float64)
    texts = list(map(repr, wide.tolist())) if dtype is DType.FLOAT64 else _by_digits(flat, wide)
    texts = [text[:-2] if text.endswith(".0") and text != "-0.0" else text for text in texts]
    for index in np.flatnonzero(np.isnan(wide)).tolist():
        texts[index] = nan_text(dtype, int(unsigned(flat[index : index + 1])[0]))
    return texts


def _by_digits(flat: np.ndarray[Any, Any], wide: np.ndarray[Any, Any]) -> list[str]:
    """As few digits as bring each value back: nine are enough for float32."""
    texts = [""] * flat.size
    left = np.flatnonzero(~np.isnan(wide))
    for digits in range(6 if flat.itemsize == 4 else 1, 10):
        form = f"%.{digits}g"
        tried = [float(form % value) for value in wide[left].tolist()]
        with np.errstate(over="ignore"):
            back = np.array(tried).astype(flat.dtype)
        for index, value in zip(left.tolist(), tried, strict=True):
            texts[index] = repr(value)
        left = left[back != flat[left]]
        if not left.size:
            break
    return texts
