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
from ...passes.tensor import TensorData
from ...passes.types import DType
from .packing import CHUNK, check_strings, chunks, storage_size, unpack
from .types import LARGEST, shown

_MOST_DIMENSIONS = 64  # of a NumPy array


@dataclass(frozen=True, slots=True)
class Piece:
    """`origin` of a constant that was read: its bytes in the mapped file, and what they are."""

    raw: np.ndarray[Any, np.dtype[np.uint8]]
    dtype: DType
    count: int


class Weights:
    """The mapped `.bin` of one model; opened when the first constant is asked for."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._raw: np.ndarray[Any, np.dtype[np.uint8]] | None = None

    def _bytes(self) -> np.ndarray[Any, np.dtype[np.uint8]]:
        if self._raw is None:
            try:
                with open(self._path, "rb") as file:
                    empty = not file.seek(0, 2)
                    mapped = b"" if empty else mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            except (OSError, ValueError) as error:
                reason = getattr(error, "strerror", None) or error
                raise InvalidModel(f"its constants, {self._path}, can't be read: {reason}") from None
            self._raw = np.frombuffer(mapped, np.uint8)
        return self._raw

    def constant(self, dtype: DType, shape: tuple[int, ...], offset: int, size: int) -> TensorData:
        """The constant in `size` bytes from `offset`, loaded when it is asked for.

        Raises:
            InvalidModel: no such file, no such bytes in it, or too many or too few of them for the shape.
        """
        raw = self._bytes()
        if offset + size > len(raw):
            raise InvalidModel(f"bytes {offset} to {offset + size} aren't in {self._path}, which has {len(raw)}")
        count = math.prod(shape)
        if len(shape) > _MOST_DIMENSIONS or math.prod(dim for dim in shape if dim) > LARGEST:
            raise InvalidModel(f"no array can have the shape {shown(str(list(shape)))}")
        piece = Piece(raw[offset : offset + size], dtype, count)
        if dtype is DType.STRING:
            check_strings(piece.raw, count)
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
