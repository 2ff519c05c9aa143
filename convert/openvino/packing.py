"""Constants as the `.bin` holds them: bytes to arrays and back.

Elements of whole bytes lie there as they are. Narrow ones are packed:

| type                 | in the file                                                              |
|----------------------|--------------------------------------------------------------------------|
| i4, u4, nf4, f4e2m1  | two to a byte, the first in the low half                                 |
| u2                   | four to a byte, the first in the lowest bits                             |
| u1                   | eight to a byte, the first in the highest bit                            |
| u3                   | eight to three bytes: two bytes of low two bits, one of high bits,       |
|                      | the first element in the highest bits                                    |
| u6                   | four to three bytes: two bytes of low four bits, one of high two bits,   |
|                      | the first element in the highest bits                                    |
| string               | uint32 count, uint32 0, uint32 end of each string, then their characters |
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...passes.errors import InvalidModel
from ...passes.tensor import TensorData
from ...passes.types import DType

Bytes = np.ndarray[Any, np.dtype[np.uint8]]

CHUNK = 1 << 22
"""Elements that are packed at a time; a multiple of every group below."""

_SPLIT: dict[DType, tuple[int, int]] = {DType.UINT3: (2, 1), DType.UINT6: (4, 2)}  # bits in the low and the high part
_HIGH_FIRST = (DType.UINT1,)


def _group(dtype: DType) -> tuple[int, int]:
    """(elements, bytes) of the smallest group of whole bytes."""
    if dtype in _SPLIT:
        return 8 // _SPLIT[dtype][1], 3
    return (8 // dtype.bits, 1) if dtype.bits < 8 else (1, dtype.bits // 8)


def storage_size(dtype: DType, count: int) -> int:
    """Bytes that `count` elements take in the file (not for strings)."""
    elements, size = _group(dtype)
    return -(-count // elements) * size


def _shifts(bits: int, high_first: bool) -> Bytes:
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    return shifts[::-1] if high_first else shifts


def _fields(raw: Bytes, bits: int, high_first: bool) -> Bytes:
    """The `bits`-wide fields of each byte along the last axis, the axis growing by 8 / bits."""
    fields = (raw[..., None] >> _shifts(bits, high_first)) & np.uint8((1 << bits) - 1)
    return fields.reshape(*raw.shape[:-1], -1)


def _join(fields: Bytes, bits: int, high_first: bool) -> Bytes:
    """The opposite of `_fields`."""
    grouped = fields.reshape(*fields.shape[:-1], -1, 8 // bits)
    return np.bitwise_or.reduce(grouped << _shifts(bits, high_first), axis=-1)


def _codes(raw: Bytes, dtype: DType) -> Bytes:
    if dtype not in _SPLIT:
        return _fields(raw, dtype.bits, dtype in _HIGH_FIRST)
    low, high = _SPLIT[dtype]
    groups = raw.reshape(-1, 3)
    return (_fields(groups[:, :2], low, True) | (_fields(groups[:, 2:], high, True) << np.uint8(low))).reshape(-1)


def _packed(codes: Bytes, dtype: DType) -> Bytes:
    elements, _ = _group(dtype)
    codes = np.concatenate([codes, np.zeros(-len(codes) % elements, np.uint8)])
    if dtype not in _SPLIT:
        return _join(codes, dtype.bits, dtype in _HIGH_FIRST)
    low, high = _SPLIT[dtype]
    groups = codes.reshape(-1, elements)
    lows = _join(groups & np.uint8((1 << low) - 1), low, True)
    return np.concatenate([lows, _join(groups >> np.uint8(low), high, True)], axis=1).reshape(-1)


def unpack(raw: Bytes, dtype: DType, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """The array of `shape` that these bytes hold; a read-only view of them where it can be one.

    Raises:
        InvalidModel: strings whose header contradicts the shape or the size.
    """
    count = int(np.prod(shape, dtype=object))
    if dtype is DType.STRING:
        return _strings(raw, count).reshape(shape)
    raw = raw[: storage_size(dtype, count)]
    if dtype is DType.BOOL:
        return (raw != 0).reshape(shape)
    if dtype.bits >= 8:
        if raw.ctypes.data % dtype.numpy.itemsize:
            raw = raw.copy()
        return raw.view(dtype.numpy).reshape(shape)
    codes = _codes(raw, dtype)[:count]
    if dtype is DType.INT4:
        return ((codes ^ 8).astype(np.int8) - 8).astype(dtype.numpy).reshape(shape)
    if dtype in (DType.UINT4, DType.UINT2):
        return codes.astype(dtype.numpy).reshape(shape)
    return codes.view(dtype.numpy).reshape(shape)


def chunks(data: TensorData) -> Iterator[memoryview | bytes]:
    """The bytes of a constant as the file holds them, piece by piece. Nothing for an empty one.

    Raises:
        ValueError: a code doesn't fit the type.
    """
    array = data.numpy()
    if data.dtype is DType.STRING:
        yield _packed_strings(array)
        return
    flat = np.ascontiguousarray(array, data.dtype.numpy).reshape(-1)
    if data.dtype.bits >= 8:
        raw = flat.view(np.uint8).data
        for start in range(0, len(raw), CHUNK):
            yield raw[start : start + CHUNK]
        return
    mask = np.uint8((1 << data.dtype.bits) - 1)
    for start in range(0, len(flat), CHUNK):
        part = flat[start : start + CHUNK]
        codes = part.astype(np.int8).view(np.uint8) & mask if data.dtype is DType.INT4 else part.view(np.uint8)
        if (codes > mask).any():
            raise ValueError(f"{int(codes.max())} is no {data.dtype.value}")
        yield _packed(codes, data.dtype).data


def check_strings(raw: Bytes, count: int) -> np.ndarray[Any, Any]:
    """The bounds of each of `count` strings, count + 1 of them, measured in the characters.

    Raises:
        InvalidModel: the header contradicts the count or the size.
    """
    head = 4 * (2 + count)
    if len(raw) < head:
        raise InvalidModel(f"{count} strings need a header of {head} bytes, the constant has {len(raw)}")
    header = raw[:head].view("<u4") if raw.ctypes.data % 4 == 0 else raw[:head].copy().view("<u4")
    if header[0] != count:
        raise InvalidModel(f"the constant holds {header[0]} strings where its shape wants {count}")
    bounds = header[1:].astype(np.int64)
    if bounds[0] != 0 or (np.diff(bounds) < 0).any() or bounds[-1] != len(raw) - head:
        raise InvalidModel("the ends of the constant's strings contradict its size")
    return bounds


def _strings(raw: Bytes, count: int) -> np.ndarray[Any, Any]:
    bounds = check_strings(raw, count)
    characters = raw[4 * (2 + count) :].tobytes()
    strings = np.empty(count, object)
    for index in range(count):
        piece = characters[bounds[index] : bounds[index + 1]]
        try:
            strings[index] = piece.decode()
        except UnicodeDecodeError:
            strings[index] = piece
    return strings


def _packed_strings(array: np.ndarray[Any, Any]) -> bytes:
    pieces = [piece if isinstance(piece, bytes) else str(piece).encode() for piece in array.reshape(-1)]
    bounds = np.cumsum([0, *map(len, pieces)], dtype=np.int64)
    if bounds[-1] >= 2**32:
        raise ValueError("strings of 4 GiB and more don't fit")
    header = np.concatenate([[len(pieces)], bounds]).astype("<u4")
    return header.tobytes() + b"".join(pieces)
