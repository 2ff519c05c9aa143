"""What is given for an input or a parameter, checked and in the model's element type."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from ....passes.graph import Value
from ....passes.sizes import OpenSize
from ....passes.types import Dim, Interval
from .tools import Array

_NARROW = {"int64": "int32", "uint64": "uint32", "float64": "float32", "complex128": "complex64"}
"""What JAX makes of arrays of 64 bits where it isn't told otherwise (`jax_enable_x64`)."""


def argument(given: Any, value: Value, sizes: dict[str, tuple[int, str]]) -> Array:
    """An array for an input, a NumPy array where plain numbers are given.

    Args:
        sizes: the sizes of the model's symbols, and of which input each is; it takes up those of this one.

    Raises:
        TypeError: it is no array, of another element type, or has sizes that are symbols.
        ValueError: its rank or a size contradicts the model.
    """
    what = f"input {value.name!r}"
    array = _typed(given, value, what)
    if not all(isinstance(size, int) for size in array.shape):
        raise TypeError(f"{what} has sizes that aren't known ({list(array.shape)})")
    declared = value.tensor.shape
    if declared is None:
        return array
    if len(declared) != array.ndim:
        raise ValueError(f"{what} is {value.type}, which has {len(declared)} dimensions; {list(array.shape)} is given")
    for axis, (dim, size) in enumerate(zip(declared, array.shape, strict=True)):
        if not _fits(dim, size):
            raise ValueError(f"{what} is {value.type}, which {list(array.shape)} isn't: {size} along axis {axis}")
        if isinstance(dim, str) and not isinstance(dim, OpenSize):
            known, other = sizes.setdefault(dim, (size, what))
            if known != size:
                raise ValueError(
                    f"{what} has size {size} along axis {axis}; that is {dim!r}, which is {known} by {other}"
                )
    return array


def parameter(given: Any, value: Value) -> Array:
    """An array for a parameter.

    Raises:
        TypeError: it is no array, or of another element type.
        ValueError: it has another shape.
    """
    what = f"parameter {value.name!r}"
    array = _typed(given, value, what)
    if array.shape != value.tensor.shape:
        raise ValueError(f"{what} is {value.type}; {list(array.shape)} is given")
    return array


def is_known(array: Array) -> bool:
    """Whether what `argument` made of plain numbers is known before anything runs: integers and bools are."""
    return isinstance(array, np.ndarray) and array.dtype.kind in "iub"


def _fits(dim: Dim, size: int) -> bool:
    if isinstance(dim, Interval):
        return dim.lower <= size and (dim.upper is None or size <= dim.upper)
    return not isinstance(dim, int) or dim == size


def _typed(given: Any, value: Value, what: str) -> Array:
    """An array in the element type of a value; plain numbers are taken to it where that changes nothing."""
    assert value.tensor.dtype is not None
    wanted = value.tensor.dtype.numpy
    if not hasattr(given, "dtype"):
        plain = np.asarray(given)
        plain = plain if plain.size else plain.astype(wanted)
        if not np.can_cast(plain.dtype, wanted, "same_kind") and not (plain.dtype.kind == "i" and wanted.kind in "uf"):
            raise TypeError(f"{what} is {value.type}; {given!r:.60} is given")
        array = plain.astype(wanted)
        if wanted.kind in "iu" and not np.array_equal(array.astype(plain.dtype), plain):
            raise TypeError(f"{what} is {value.type}, which hasn't {given!r:.60}")
        return array
    if str(given.dtype) not in (str(wanted), _NARROW.get(str(wanted))):
        raise TypeError(f"{what} is {value.type}; {given.dtype}{list(given.shape)} is given")
    return jax.numpy.asarray(given, wanted)
