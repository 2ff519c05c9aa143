"""Arrays as XLA's parameters and results: element types, sizes that are only bounds, complex numbers as pairs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...passes.errors import Unsupported
from ...passes.types import DType
from .outcome import Values
from .xla_bounds import bounded

_PARTS = {DType.COMPLEX64: np.dtype(np.float32), DType.COMPLEX128: np.dtype(np.float64)}


@dataclass(frozen=True, slots=True)
class Leaf:
    """An array of a parameter or of the root: its shape, and which of its dimensions only have a bound."""

    dtype: DType
    shape: tuple[int, ...]
    bounded: tuple[int, ...] = ()

    def __str__(self) -> str:
        sizes = (f"<={size}" if dim in self.bounded else str(size) for dim, size in enumerate(self.shape))
        return f"{self.dtype.value}[{','.join(sizes)}]"

    def takes(self, shape: tuple[int, ...]) -> bool:
        """Whether an array of that shape is one of this type."""
        return len(shape) == len(self.shape) and all(
            size <= full if dim in self.bounded else size == full
            for dim, (size, full) in enumerate(zip(shape, self.shape, strict=True))
        )


def leaves(shape: Any) -> list[Leaf | None]:
    """The arrays in a jaxlib Shape, in order; None for a token.

    Raises:
        Unsupported: an array has a dimension without a bound.
        TypeError: or elements of a type that nothing else has (s1).
    """
    if shape.is_tuple():
        return [leaf for element in shape.tuple_shapes() for leaf in leaves(element)]
    if shape.is_token():
        return [None]
    if "?" in str(shape):
        raise Unsupported(shape, "a size without a bound: export the program with fixed sizes")
    return [Leaf(DType.of(shape.numpy_dtype()), tuple(shape.dimensions()), tuple(bounded(shape)))]


def to_arrays(name: str, value: Values, leaf: Leaf) -> list[np.ndarray[Any, Any]]:
    """What is fed for a leaf of a parameter: the array, full size, then the size of each bounded dimension.

    Args:
        value: an array of the leaf's type; floats of shape S+[2] may stand for complex numbers of shape S.

    Raises:
        TypeError, ValueError: it has another element type or shape.
    """
    if value is None or isinstance(value, list | dict):
        raise TypeError("XLA has tensors only, no sequences, optionals or maps")
    array = np.asarray(value)
    part = _PARTS.get(leaf.dtype)
    if part is not None and array.dtype == part and array.shape[-1:] == (2,):  # (None is float64 to NumPy)
        array = np.ascontiguousarray(array).view(leaf.dtype.numpy)[..., 0]
    if DType.of(array.dtype) is not leaf.dtype:
        raise TypeError(f"input {name!r} is {leaf.dtype.value}, not {array.dtype}")
    if not leaf.takes(array.shape):
        raise ValueError(f"input {name!r} is {leaf}, not of shape {list(array.shape)}")
    full = np.zeros(leaf.shape, array.dtype)
    full[tuple(map(slice, array.shape))] = array
    return [full, *(np.array(array.shape[dim], np.int32) for dim in leaf.bounded)]


def from_arrays(found: Iterator[Any], leaf: Leaf | None) -> np.ndarray[Any, Any] | None:
    """A copy of a result, taken from jaxlib's arrays as `to_arrays` makes them; None for a token."""
    one = next(found)
    if leaf is None:
        return None
    array = _numpy(one)
    for dim in leaf.bounded:
        array = array.take(range(int(_numpy(next(found)))), dim)
    array = np.array(array, order="C")
    part = _PARTS.get(leaf.dtype)
    return array if part is None else array.reshape(-1).view(part).reshape(*array.shape, 2)


def _numpy(found: Any) -> np.ndarray[Any, Any]:
    array, _ = found._single_device_array_to_np_array_did_copy()
    return array
