"""Changes of element type: Cast, CastLike, BitCast."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np

from ...passes.attributes import strings
from ...passes.types import DType
from .base import COMPUTED, Array, Attributes, Kernel, is_float, single_or_wider

_FLOAT8 = (DType.FLOAT8E4M3FN, DType.FLOAT8E4M3FNUZ, DType.FLOAT8E5M2, DType.FLOAT8E5M2FNUZ)
_TYPES = frozenset(dtype.numpy for dtype in DType)
_SPECIAL = {"nan": "NaN", "inf": "INF", "-inf": "-INF"}


def convert(x: Array, to: DType, saturate: bool = True, round_mode: str = "up") -> Array:
    """The elements of `x` as `to`, by the rules of Cast.

    Out of range: floats become infinite (float8 saturates unless told otherwise, float6 and float4
    always do), integers lose their high bits. Strings hold the shortest decimal that reads back the same.

    Raises:
        ValueError: a string that isn't a number, or doesn't fit the integer type.
    """
    if x.dtype == to.numpy:
        return x
    if to is DType.STRING:
        return strings(map(_spelled, x.reshape(-1)), x.shape)
    if x.dtype == object:
        return _parsed(x, to)
    if to is DType.BOOL:
        return x != np.zeros((), x.dtype)
    if to is DType.FLOAT8E8M0:
        return to_e8m0(x, saturate, round_mode)
    if to in _FLOAT8 and saturate:
        return saturated(x, to.numpy)
    return x.astype(to.numpy)


def saturated(x: Array, dtype: np.dtype[Any]) -> Array:
    """`x` clipped to the finite range of a float `dtype`, infinities too; NaN stays NaN."""
    limit = float(ml_dtypes.finfo(dtype).max)
    return np.clip(x.astype(single_or_wider(x.dtype)), -limit, limit).astype(dtype)


def to_e8m0(x: Array, saturate: bool, round_mode: str) -> Array:
    """Powers of two from 2**-127 to 2**127, the sign dropped.

    `round_mode` "up", "down" or "nearest" (ties up) between two powers. Below and above the range:
    the nearest power when `saturate`, else NaN.
    """
    magnitude = np.abs(x.astype(np.float64))
    fraction, exponent = np.frexp(magnitude)
    code = exponent.astype(np.int64) - 1 + 127
    if round_mode == "up":
        code += fraction > 0.5
    elif round_mode == "nearest":
        code += fraction >= 0.75
    elif round_mode != "down":
        raise ValueError(f"unknown rounding mode {round_mode!r}")
    code = np.where(magnitude == 0, -1, np.where(np.isinf(magnitude), 255, code))
    code = np.clip(code, 0, 254) if saturate else np.where((code < 0) | (code > 254), 255, code)
    code = np.where(np.isnan(magnitude), 255, code)
    return code.astype(np.uint8).view(DType.FLOAT8E8M0.numpy)


def _spelled(value: Any) -> str:
    if isinstance(value, bool | np.bool_):
        return "1" if value else "0"
    if not is_float(np.asarray(value).dtype):
        return str(value)
    spelled = str(value) if isinstance(value, np.floating) else str(np.float32(value))
    return _SPECIAL.get(spelled) or spelled.removesuffix(".0")


def _parsed(x: Array, to: DType) -> Array:
    flat = x.reshape(-1)
    if is_float(to.numpy):
        return np.array([float(item) for item in flat], np.float64).astype(to.numpy).reshape(x.shape)
    numbers = [_integer(item) for item in flat]
    if to is DType.BOOL:
        return np.array([number != 0 for number in numbers], bool).reshape(x.shape)
    return np.array(numbers, np.uint64 if to is DType.UINT64 else np.int64).astype(to.numpy).reshape(x.shape)


def _integer(item: str) -> int:
    try:
        return int(item)
    except ValueError:
        return math.trunc(float(item))


def cast(attrs: Attributes, x: Array, like: Array | None = None) -> Array:
    """To the type of `like`, or the attribute's. To an integer is a step; a run that is more exact than the graph
    declares has its own type for every float that is computed in."""
    to = _target(attrs, like)
    if to in (*COMPUTED, DType.FLOAT64) and attrs.single != np.float32 and x.dtype != object:
        return x.astype(attrs.single)
    if x.dtype.kind == "f":
        x = attrs.whole(x, np.trunc) if to.is_integer else x
        x = x.astype(np.float64) if x.dtype.itemsize > 8 else x
    return convert(x, to, attrs.int("saturate", 1) != 0, attrs.string("round_mode", "up"))


def _target(attrs: Attributes, like: Array | None) -> DType:
    """The wanted element type; before version 6 `to` is a string."""
    if like is not None:
        return DType.of(like.dtype) if like.dtype in _TYPES else DType.FLOAT64
    if attrs.version >= 6:
        return attrs.dtype("to")
    spelled = attrs.string("to")
    return DType({"FLOAT": "float32", "DOUBLE": "float64"}.get(spelled, spelled.lower()))


def bit_cast(attrs: Attributes, x: Array) -> Array:
    """The same bits as another type of the same width (little endian)."""
    to = attrs.dtype("to")
    source = DType.of(x.dtype)
    if source.bits != to.bits or DType.STRING in (source, to):
        raise ValueError(f"{source.value} and {to.value} don't have the same width")
    return np.ascontiguousarray(x).view(to.numpy).reshape(x.shape)


TABLE: dict[str, Kernel] = {
    "Cast": cast,
    "CastLike": cast,
    "BitCast": bit_cast,
}
