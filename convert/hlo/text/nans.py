"""NaNs of every float type, bit by bit."""

from __future__ import annotations

import numpy as np

from ....passes.types import DType

_MANTISSA = {
    DType.FLOAT8E5M2: 2,
    DType.FLOAT8E4M3: 3,
    DType.FLOAT8E3M4: 4,
    DType.FLOAT16: 10,
    DType.BFLOAT16: 7,
    DType.FLOAT32: 23,
    DType.FLOAT64: 52,
}
"""Mantissa bits of the types whose NaNs have payloads, as in IEEE 754."""

_SINGLE = {
    DType.FLOAT8E4M3FN: (0x7F, 0xFF),
    DType.FLOAT8E4M3FNUZ: (0x80, 0x80),
    DType.FLOAT8E4M3B11FNUZ: (0x80, 0x80),
    DType.FLOAT8E5M2FNUZ: (0x80, 0x80),
    DType.FLOAT8E8M0: (0xFF, 0xFF),
}
"""nan and -nan of the types that have just these."""


def nan_bits(dtype: DType, text: str) -> int | None:
    """The bits of `nan`, `-nan`, `nan(0x1)`; None where the type has no such value."""
    negative = text.startswith("-")
    if dtype in _SINGLE:
        return None if "(" in text else _SINGLE[dtype][negative]
    mantissa = _MANTISSA.get(dtype)
    if mantissa is None:
        return None
    payload = int(text.partition("(0x")[2].rstrip(")"), 16) if "(" in text else 1 << mantissa - 1
    if not 0 < payload < 1 << mantissa:
        return None
    exponent = (1 << dtype.bits - 1) - (1 << mantissa)
    return negative << dtype.bits - 1 | exponent | payload


def nan_text(dtype: DType, bits: int) -> str:
    """What `nan_bits` reads as these bits."""
    if dtype in _SINGLE:
        return "-nan" if bits != _SINGLE[dtype][0] else "nan"
    mantissa = _MANTISSA[dtype]
    sign = "-" if bits >> dtype.bits - 1 else ""
    payload = bits & (1 << mantissa) - 1
    return f"{sign}nan" if payload == 1 << mantissa - 1 else f"{sign}nan(0x{payload:x})"


def unsigned(array: np.ndarray) -> np.ndarray:
    """The bits of a flat array."""
    return array.view(f"u{array.itemsize}")
