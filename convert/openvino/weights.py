"""The `.bin` beside the `.xml`: constants read where they lie, and written without being all in memory."""

from __future__ import annotations

import hashlib
import math
import mmap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from ...passes.errors import InvalidModel
from ...passes.limits import FileBytes, is_beyond_arrays, size_on_disk
from ...passes.tensor import TensorData
from ...passes.types import DType
from ..file_state import FileState
from .types import shown


@dataclass(frozen=True, slots=True)
class Piece:
    """`origin` of a constant that was read: its bytes in the mapped file, and what they are."""

    weights: Weights
    mapped: np.ndarray[Any, np.dtype[np.uint8]]
    dtype: DType
    count: int

    @property
    def raw(self) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """The bytes.

        Raises:
            InvalidModel: others stand in their place by now.
        """
        self.weights.check()
        return self.mapped


class Weights:
    """The mapped `.bin` of one model; opened when the first constant is asked for."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._raw: np.ndarray[Any, np.dtype[np.uint8]] | None = None
        self._state: FileState | None = None
        self._size = FileBytes()

    def _bytes(self) -> np.ndarray[Any, np.dtype[np.uint8]]:
        if self._raw is None:
            if not self._path.is_file() and self._path.exists():  # a pipe would be waited for
                raise InvalidModel(f"its constants, {self._path}, can't be read: no regular file")
            self._size.add(size_on_disk(self._path))
            try:
                with open(self._path, "rb") as file:
                    self._state = FileState.of(self._path, file.fileno())
                    empty = not file.seek(0, 2)
                    mapped = b"" if empty else mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            except (OSError, ValueError) as error:
                reason = getattr(error, "strerror", None) or error
                raise InvalidModel(f"its constants, {self._path}, can't be read: {reason}") from None
            self._raw = np.frombuffer(mapped, np.uint8)
        return self._raw

    def check(self) -> None:
        """Before bytes are looked at. A file that another one has replaced is still mapped.

        Raises:
            InvalidModel: it was written to.
        """
        if self._state is not None and self._state.change() == "changed":
            raise InvalidModel(f"its constants, {self._path}, were changed since it was read")

    def constant(self, dtype: DType, shape: tuple[int, ...], offset: int, size: int) -> TensorData:
        """The constant in `size` bytes from `offset`, loaded when it is asked for.

        Raises:
            InvalidModel: no such file, no such bytes in it, or too many or too few of them for the shape.
        """
        raw = self._bytes()
        if offset + size > len(raw):
            raise InvalidModel(f"bytes {offset} to {offset + size} aren't in {self._path}, which has {len(raw)}")
        count = math.prod(shape)
        if is_beyond_arrays(shape):
            raise InvalidModel(f"no array can have the shape {shown(str(list(shape)))}")
        piece = Piece(self, raw[offset : offset + size], dtype, count)
        if dtype is DType.STRING:
            check_strings(piece.mapped, count)
        elif count and size != storage_size(dtype, count):
            raise InvalidModel(f"{size} bytes where {dtype.value}{list(shape)} takes {storage_size(dtype, count)}")
        return TensorData(dtype, shape, load=lambda: unpack(piece.raw, dtype, shape), origin=piece)


def _stored(data: TensorData) -> Iterator[memoryview | bytes]:
    """A constant's bytes as the file holds them: those it was read from where there are some."""
    piece = data.origin
    if data.size == 0 and data.dtype is not DType.STRING:
        yield b"\0"  # what OpenVINO stores for an empty constant
    elif not (isinstance(piece, Piece) and piece.dtype is data.dtype and piece.count == data.size):
        yield from chunks(data)
    elif data.dtype is DType.STRING:
        yield piece.raw.tobytes()
    else:
        raw = piece.raw[: storage_size(data.dtype, data.size)].data
        for start in range(0, len(raw), CHUNK):
            yield raw[start : start + CHUNK]


class WeightsWriter:
    """Writes constants one behind the other, equal ones once."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._end = 0
        self._places: dict[bytes, tuple[int, int]] = {}

    def add(self, data: TensorData) -> tuple[int, int]:
        """(offset, size) of the constant.

        Raises:
            ValueError: it can't be stored.
        """
        digest = hashlib.blake2b(digest_size=32)
        for chunk in _stored(data):
            digest.update(chunk)
        key = digest.digest()
        if key not in self._places:
            start = self._end
            for chunk in _stored(data):
                self._end += self._file.write(chunk)
            self._places[key] = start, self._end - start
        return self._places[key]


# constants as the `.bin` holds them: bytes to arrays and back --------------------------------------
#
# Elements of whole bytes lie there as they are. Narrow ones are packed:
#
# | type                 | in the file                                                              |
# |----------------------|--------------------------------------------------------------------------|
# | i4, u4, nf4, f4e2m1  | two to a byte, the first in the low half                                 |
# | u2                   | four to a byte, the first in the lowest bits                             |
# | u1                   | eight to a byte, the first in the highest bit                            |
# | u3                   | eight to three bytes: two bytes of low two bits, one of high bits,       |
# |                      | the first element in the highest bits                                    |
# | u6                   | four to three bytes: two bytes of low four bits, one of high two bits,   |
# |                      | the first element in the highest bits                                    |
# | string               | uint32 count, uint32 0, uint32 end of each string, then their characters |


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
        raise InvalidModel(f"the constant has {header[0]} strings where its shape needs {count}")
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
