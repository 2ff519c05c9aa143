"""Constant data that need not be in memory: an array, or a promise of one."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .errors import InvalidModel
from .types import DType, TensorType

_KEPT = 4096  # bytes


class TensorData:
    """The data of a constant: dtype, shape, and an array that is made when somebody asks for it.

    Args:
        dtype: element type.
        shape: sizes; `()` for a scalar.
        array: the data, C-contiguous in the dtype's NumPy form; or
        load: makes that array. Its result isn't kept unless it is small, so that big data stays where it
            is (a memory map, a protobuf field) and is read again when needed again.
        origin: what the reader wants to find again when writing (opaque to everybody else).
    """

    __slots__ = ("_array", "_load", "dtype", "origin", "shape")

    def __init__(
        self,
        dtype: DType,
        shape: tuple[int, ...],
        array: np.ndarray[Any, Any] | None = None,
        load: Callable[[], np.ndarray[Any, Any]] | None = None,
        origin: Any = None,
    ) -> None:
        self.dtype = dtype
        self.shape = shape
        self._array = array
        self._load = load
        self.origin = origin

    @staticmethod
    def of(array: Any, dtype: DType | None = None) -> TensorData:
        """Wrap an array (or anything `np.asarray` takes).

        Args:
            dtype: of the elements; floats are rounded to it.

        Raises:
            ValueError: a number that this integer (or bool) type doesn't have.
        """
        array = np.asarray(array)
        if array.dtype.kind in "US":
            array = array.astype(object)
        if dtype is not None and array.dtype != dtype.numpy and dtype is not DType.STRING:
            array = _as_type(array, dtype)
        return TensorData(dtype or DType.of(array.dtype), array.shape, array)

    def numpy(self) -> np.ndarray[Any, Any]:
        """The data as an array, not to be written to."""
        if self._array is not None:
            return self._array
        assert self._load is not None
        array = self._load()
        if array.nbytes <= _KEPT:
            self._array = array
        return array

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes in dense storage (strings count as nothing)."""
        return (self.size * self.dtype.bits + 7) // 8

    def __repr__(self) -> str:
        return f"TensorData({self.dtype.value}{list(self.shape)})"


def _as_type(array: np.ndarray[Any, Any], dtype: DType) -> np.ndarray[Any, Any]:
    """An array with another element type.

    Raises:
        ValueError: an integer type doesn't have its numbers.
    """
    rounds = dtype.is_float or dtype.is_complex
    with np.errstate(all="ignore"):
        if rounds or array.dtype.kind != "c":
            made = array.astype(dtype.numpy)
            if rounds or (np.array_equal(made.astype(array.dtype), array) and np.array_equal(made < 0, array < 0)):
                return made
    raise ValueError(f"{array.tolist()!r:.60} has numbers that {dtype.value} doesn't")


def typed_array(given: Any, type: TensorType, where: str) -> np.ndarray[Any, Any]:
    """Numbers or text of Python, or an array, as an array of a type's element type. Its shape isn't looked at.

    Raises:
        InvalidModel: it isn't of that type, or has numbers that the integer type doesn't; `where` begins the message.
    """
    assert type.dtype is not None
    if type.dtype is DType.STRING:
        return np.asarray(given, object)
    try:
        plain = np.asarray(given)
        array = plain.astype(type.dtype.numpy)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidModel(f"{where}: {type} is expected ({error})") from None
    if (
        array.dtype.kind in "iub"
        and plain.dtype != array.dtype
        and not np.array_equal(array.astype(plain.dtype), plain)
    ):
        raise InvalidModel(f"{where}: {type} is expected ({given!r:.60} has other numbers)")
    return array
