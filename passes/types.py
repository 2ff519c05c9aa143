"""Element types, dimensions and value types, the same for every format.

Formats keep their own spellings (ONNX enum numbers, OpenVINO precisions, HLO primitive names) in
their own folders; here stands only what a value is.
"""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np


class DType(enum.Enum):
    """An element type. The value is its name in the text form of a graph."""

    BOOL = "bool"
    UINT1 = "uint1"
    UINT2 = "uint2"
    UINT3 = "uint3"
    UINT4 = "uint4"
    UINT6 = "uint6"
    UINT8 = "uint8"
    UINT16 = "uint16"
    UINT32 = "uint32"
    UINT64 = "uint64"
    INT2 = "int2"
    INT4 = "int4"
    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    FLOAT16 = "float16"
    BFLOAT16 = "bfloat16"
    FLOAT32 = "float32"
    FLOAT64 = "float64"
    FLOAT8E3M4 = "float8e3m4"
    FLOAT8E4M3 = "float8e4m3"
    FLOAT8E4M3FN = "float8e4m3fn"
    FLOAT8E4M3FNUZ = "float8e4m3fnuz"
    FLOAT8E4M3B11FNUZ = "float8e4m3b11fnuz"
    FLOAT8E5M2 = "float8e5m2"
    FLOAT8E5M2FNUZ = "float8e5m2fnuz"
    FLOAT8E8M0 = "float8e8m0"
    FLOAT4E2M1 = "float4e2m1"
    FLOAT6E2M3 = "float6e2m3"
    FLOAT6E3M2 = "float6e3m2"
    NF4 = "nf4"
    COMPLEX64 = "complex64"
    COMPLEX128 = "complex128"
    STRING = "string"

    @property
    def numpy(self) -> np.dtype[Any]:
        """The NumPy dtype an array of this type has in the executor (ml_dtypes where NumPy has none;
        object for strings; uint8 codes for the four types that no library has)."""
        return _NUMPY[self]

    @property
    def bits(self) -> int:
        """Bits per element in dense storage; 0 for strings."""
        return _BITS[self]

    @property
    def is_float(self) -> bool:
        return self.value.startswith(("float", "bfloat")) or self is DType.NF4

    @property
    def is_integer(self) -> bool:
        return self.value.startswith(("int", "uint"))

    @property
    def is_signed(self) -> bool:
        return not (self.value.startswith("uint") or self in (DType.BOOL, DType.STRING))

    @property
    def is_complex(self) -> bool:
        return self in (DType.COMPLEX64, DType.COMPLEX128)

    @property
    def integer_limits(self) -> tuple[int, int]:
        """The least and the largest number of an integer type; 0 and 1 for bools."""
        if self is DType.BOOL:
            return 0, 1
        return -(1 << self.bits - 1) if self.is_signed else 0, (1 << self.bits - self.is_signed) - 1

    @property
    def finite_limits(self) -> tuple[int | float, int | float]:
        """The least and the largest finite number of a type."""
        if not self.is_float:
            return self.integer_limits
        found = ml_dtypes.finfo(self.numpy)
        return float(found.min), float(found.max)

    @property
    def limits(self) -> tuple[int | float, int | float]:
        """The least and the largest number of a type, which are the infinities where it has them."""
        if self.is_float:
            with np.errstate(all="ignore"):
                infinite = np.asarray(np.inf).astype(self.numpy)
            if np.isinf(infinite.astype(np.float64)):
                return -np.inf, np.inf
        return self.finite_limits

    def holds(self, narrow: DType) -> bool:
        """Whether every value of `narrow` is one of this type as well: bools, integers and floats in wider ones."""
        exact = _EXACT_BITS.get(self)
        if narrow is self:
            return True
        if narrow.is_float:
            return exact is not None and exact > 11 and self.bits >= narrow.bits
        if exact is not None:
            return (narrow.is_integer and narrow.bits <= exact) or narrow is DType.BOOL
        if not self.is_integer or not (narrow.is_integer or narrow is DType.BOOL):
            return False
        whole = narrow.bits - narrow.is_signed
        return self.bits - self.is_signed >= whole and (self.is_signed or not narrow.is_signed)

    @staticmethod
    def of(dtype: np.dtype[Any] | type) -> DType:
        """The element type of a NumPy (or ml_dtypes) dtype.

        Raises:
            TypeError: no element type has this dtype.
        """
        dtype = np.dtype(dtype)
        found = _FROM_NUMPY.get(dtype)
        if found is None:
            if dtype.kind in "OUST":
                return DType.STRING
            raise TypeError(f"no element type for the NumPy dtype {dtype}")
        return found


HALVES = (DType.FLOAT16, DType.BFLOAT16)
"""Floats of 16 bits."""
BYTES = (DType.INT8, DType.UINT8)
"""Integers of 8 bits."""


_EXACT_BITS = {DType.BFLOAT16: 8, DType.FLOAT16: 11, DType.FLOAT32: 24, DType.FLOAT64: 53}
"""Integers of so many bits are exact in a float."""

_CODES_ONLY = (DType.UINT1, DType.UINT3, DType.UINT6, DType.NF4)
"""Their codes stand in uint8 arrays, out of which the types aren't found again."""
_LIBRARY_NAMES = {DType.FLOAT8E8M0: "float8_e8m0fnu", DType.STRING: "object", **dict.fromkeys(_CODES_ONLY, "uint8")}


def _numpy_name(dtype: DType) -> str:
    """How NumPy or ml_dtypes calls an element type: float8e4m3 is float8_e4m3 there, float4e2m1 float4_e2m1fn."""
    short_float = re.fullmatch(r"(float[468])(e.*)", dtype.value)
    if dtype in _LIBRARY_NAMES or short_float is None:
        return _LIBRARY_NAMES.get(dtype, dtype.value)
    return f"{short_float[1]}_{short_float[2]}{'' if short_float[1] == 'float8' else 'fn'}"


_NUMPY = {dtype: np.dtype(getattr(ml_dtypes, name, name)) for dtype in DType if (name := _numpy_name(dtype))}
_FROM_NUMPY = {dtype: name for name, dtype in _NUMPY.items() if name not in _CODES_ONLY}
_NARROW = {"nf4": 4, "float4e2m1": 4, "float6e2m3": 6, "float6e3m2": 6, "bool": 8, "string": 0}
_BITS: dict[DType, int] = {
    dtype: _NARROW[dtype.value]
    if dtype.value in _NARROW
    else int(dtype.value.removeprefix("u").removeprefix("int"))
    if dtype.is_integer
    else _NUMPY[dtype].itemsize * 8
    for dtype in DType
}


@dataclass(frozen=True, slots=True)
class Interval:
    """A dynamic dimension with known bounds (OpenVINO's `2..5`, HLO's `<=5`); `upper` None means unbounded."""

    lower: int
    upper: int | None

    def __str__(self) -> str:
        return f"{self.lower}..{'' if self.upper is None else self.upper}"


Dim = int | str | Interval | None
"""A dimension: a size, a symbol (equal symbols are equal sizes), bounds, or unknown."""

Shape = tuple[Dim, ...]


@dataclass(frozen=True, slots=True)
class TensorType:
    """A dense tensor. `dtype` None: not known yet. `shape` None: not even the rank is known."""

    dtype: DType | None = None
    shape: Shape | None = None

    @property
    def rank(self) -> int | None:
        return None if self.shape is None else len(self.shape)

    @property
    def static_shape(self) -> tuple[int, ...] | None:
        """The shape if every dimension is a size, else None."""
        if self.shape is None:
            return None
        sizes = tuple(dim for dim in self.shape if isinstance(dim, int))
        return sizes if len(sizes) == len(self.shape) else None

    def __str__(self) -> str:
        name = self.dtype.value if self.dtype else "?"
        if self.shape is None:
            return f"{name}[...]"
        return f"{name}[{', '.join('?' if dim is None else str(dim) for dim in self.shape)}]"


@dataclass(frozen=True, slots=True)
class SparseTensorType:
    """A sparse tensor (ONNX COO)."""

    dtype: DType | None = None
    shape: Shape | None = None

    def __str__(self) -> str:
        return f"sparse({TensorType(self.dtype, self.shape)})"


@dataclass(frozen=True, slots=True)
class SequenceType:
    """A list of values of one type."""

    element: Type | None = None

    def __str__(self) -> str:
        return f"seq({self.element or '?'})"


@dataclass(frozen=True, slots=True)
class OptionalType:
    """A value of the element's type, or nothing."""

    element: Type | None = None

    def __str__(self) -> str:
        return f"optional({self.element or '?'})"


@dataclass(frozen=True, slots=True)
class MapType:
    """A dictionary (ONNX-ML's ZipMap)."""

    key: DType
    value: Type | None = None

    def __str__(self) -> str:
        return f"map({self.key.value}, {self.value or '?'})"


@dataclass(frozen=True, slots=True)
class OpaqueType:
    """A type that only its own domain understands; carried through."""

    domain: str = ""
    name: str = ""

    def __str__(self) -> str:
        return f"opaque({self.domain}:{self.name})"


Type = TensorType | SparseTensorType | SequenceType | OptionalType | MapType | OpaqueType


def tensor(dtype: DType | str, *dims: Dim) -> TensorType:
    """Shorthand: `tensor("float32", 2, "N")`."""
    return TensorType(DType(dtype) if isinstance(dtype, str) else dtype, dims)


def merge_dims(a: Dim, b: Dim) -> Dim:
    """The more precise of two descriptions of one dimension (a size beats a symbol beats bounds)."""
    for kind in (int, str, Interval):
        if isinstance(a, kind):
            return a
        if isinstance(b, kind):
            return b
    return None


def is_known(type: Type | None) -> bool:
    """Whether a type is known down to its rank, if it is a tensor's."""
    if isinstance(type, TensorType):
        return type.dtype is not None and type.shape is not None
    return type is not None


def merge(known: Type | None, found: Type | None) -> Type | None:
    """The more precise of two descriptions of one value; `known` wins where both say something."""
    if known is None or found is None:
        return known or found
    if isinstance(known, TensorType) and isinstance(found, TensorType):
        if known.shape is None or found.shape is None or len(known.shape) != len(found.shape):
            shape = found.shape if known.shape is None else known.shape
        else:
            shape = tuple(merge_dims(a, b) for a, b in zip(known.shape, found.shape, strict=True))
        return TensorType(known.dtype or found.dtype, shape)
    if isinstance(known, SequenceType) and isinstance(found, SequenceType):
        return SequenceType(merge(known.element, found.element))
    if isinstance(known, OptionalType) and isinstance(found, OptionalType):
        return OptionalType(merge(known.element, found.element))
    return known


def conflict(declared: Type | None, found: Type | None) -> bool:
    """Whether no tensor is of both types."""
    if not isinstance(declared, TensorType) or not isinstance(found, TensorType):
        return False
    if declared.dtype and found.dtype and declared.dtype is not found.dtype:
        return True
    if declared.shape is None or found.shape is None:
        return False
    return len(declared.shape) != len(found.shape) or any(
        isinstance(one, int) and isinstance(other, int) and one != other
        for one, other in zip(declared.shape, found.shape, strict=True)
    )
