"""Elements narrower than a byte, as runtimes keep them: several to a byte, the first one lowest."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...passes.types import DType


def pack(array: np.ndarray[Any, Any], bits: int) -> bytes:
    """The bytes of an array whose elements have `bits` bits: 2 or 4, or whole bytes."""
    if bits >= 8:
        return np.ascontiguousarray(array).tobytes()
    per_byte = 8 // bits
    codes = np.ascontiguousarray(array).reshape(-1).view(np.uint8) & ((1 << bits) - 1)
    codes = np.pad(codes, (0, -len(codes) % per_byte)).reshape(-1, per_byte)
    packed = np.zeros(len(codes), np.uint8)
    for place in range(per_byte):
        packed |= codes[:, place] << np.uint8(place * bits)
    return packed.tobytes()


def unpack(raw: bytes, dtype: DType, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """The array of `dtype` and `shape` that `pack` would have turned into `raw`."""
    bits = dtype.bits
    if bits >= 8:
        return np.frombuffer(raw, dtype.numpy).reshape(shape).copy()
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    codes = (np.frombuffer(raw, np.uint8)[:, None] >> shifts) & np.uint8((1 << bits) - 1)
    codes = codes.reshape(-1)[: math.prod(shape)]
    if dtype.is_integer and dtype.is_signed:
        sign = np.uint8(1 << (bits - 1))
        signed = (codes ^ sign).astype(np.int8) - np.int8(sign)
        return signed.astype(dtype.numpy).reshape(shape)
    if dtype.is_integer:
        return codes.astype(dtype.numpy).reshape(shape)
    return codes.view(dtype.numpy).reshape(shape)
