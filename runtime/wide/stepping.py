"""Kernels of the operators that go in steps, with the numbers before them in view, for runs in wide numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from ...passes.protos import dtype_of
from ...passes.types import DType
from ..kernels.base import Array, Attributes, is_float
from ..kernels.cast import convert
from ..kernels.conv import accumulated
from ..kernels.linalg import centred
from ..kernels.quant import broadcast_scale, saturate
from .steps import Step

Round = Callable[[Step], Array]
"""Takes a step, gives its whole numbers."""

Noisy = Callable[[Array, float], Array]
"""The numbers of a step as a runtime computes them: off by so many units of float32."""


def _quantized(round_: Round, name: str, ratio: Array, zero: Array | None, dtype: np.dtype[Any]) -> Array:
    info = ml_dtypes.iinfo(dtype)
    added = np.zeros((), np.float64) if zero is None else zero.astype(np.float64)
    finite = np.where(np.isnan(ratio), 0, ratio)
    step = Step(name, finite, np.rint, added, float(info.min) - added, float(info.max) - added)
    return saturate((round_(step) + added).astype(np.float64), dtype)


def quantize(round_: Round, noisy: Noisy, attrs: Attributes, x: Array, scale: Array, zero: Array | None = None) -> Any:
    to = DType.of(zero.dtype) if zero is not None else attrs.dtype("output_dtype", DType.UINT8)
    axis, block = attrs.int("axis", 1), attrs.int("block_size", 0)
    ratio = noisy(x / broadcast_scale(scale, x.shape, axis, block), 2.0)
    offset = None if zero is None else broadcast_scale(zero, x.shape, axis, block)
    if to.is_float:
        moved = ratio if offset is None else ratio + offset.astype(ratio.dtype)
        return convert(moved.astype(np.float64), to, attrs.int("saturate", 1) != 0)
    return _quantized(round_, attrs.node.outputs[0].name, ratio, offset, to.numpy)


def dequantize(_: Round, noisy: Noisy, attrs: Attributes, x: Array, scale: Array, zero: Array | None = None) -> Any:
    axis, block = attrs.int("axis", 1), attrs.int("block_size", 0)
    moved = x.astype(attrs.single)
    if zero is not None:
        moved = moved - broadcast_scale(zero, x.shape, axis, block).astype(attrs.single)
    return moved * broadcast_scale(scale, x.shape, axis, block)


def dynamic_quantize(round_: Round, noisy: Noisy, attrs: Attributes, x: Array) -> Any:
    low, high = np.minimum(np.min(x, initial=0), 0), np.maximum(np.max(x, initial=0), 0)
    scale = noisy(np.asarray(attrs.single.type(1) if high == low else (high - low) / 255), 2.0)
    name = attrs.node.outputs[0].name
    at = noisy(np.asarray(np.clip(-low / scale, 0, 255)), 2.0)
    zero = np.asarray(round_(Step(f"{name} zero point", at)))
    values = _quantized(round_, name, noisy(x / scale, 2.0), zero, np.dtype(np.uint8))
    return values, scale, zero.astype(np.uint8)


def qlinear_matmul(
    round_: Round,
    noisy: Noisy,
    attrs: Attributes,
    a: Array,
    a_scale: Array,
    a_zero: Array,
    b: Array,
    b_scale: Array,
    b_zero: Array,
    y_scale: Array,
    y_zero: Array,
) -> Any:
    product = np.matmul(centred(a, a_zero, per_row=True), centred(b, b_zero, per_row=False))
    rows = a_scale[:, None] if a_scale.ndim == 1 and a_scale.size > 1 else a_scale
    ratio = rows * b_scale / y_scale
    scaled = noisy(product * (ratio.reshape(()) if ratio.size == 1 else ratio), 4.0)
    return _quantized(round_, attrs.node.outputs[0].name, scaled, y_zero, y_zero.dtype)


def qlinear_conv(
    round_: Round,
    noisy: Noisy,
    attrs: Attributes,
    x: Array,
    x_scale: Array,
    x_zero: Array,
    w: Array,
    w_scale: Array,
    w_zero: Array,
    y_scale: Array,
    y_zero: Array,
    bias: Array | None = None,
) -> Any:
    total = accumulated(attrs, x, w, x_zero, w_zero)
    if bias is not None:
        total = total + bias.reshape((-1,) + (1,) * (x.ndim - 2))
    scale = x_scale.reshape(()) * w_scale.reshape((-1,) + (1,) * (x.ndim - 2)) / y_scale.reshape(())
    return _quantized(round_, attrs.node.outputs[0].name, noisy(total * scale, 4.0), y_zero, y_zero.dtype)


def _whole(function: Callable[[Array], Array]) -> Callable[..., Any]:
    def kernel(round_: Round, _: Noisy, attrs: Attributes, x: Array) -> Any:
        finite = np.where(np.isfinite(x), x, 0)
        return np.where(np.isfinite(x), round_(Step(attrs.node.outputs[0].name, finite, function)), x)

    return kernel


def cast(round_: Round, _: Noisy, attrs: Attributes, x: Array, like: Array | None = None) -> Any:
    """To another float nothing is rounded; to an integer that is a step; text is of the number as declared."""
    if like is not None:
        to = DType.of(like.dtype) if like.dtype in _NAMED else DType.FLOAT64
    elif attrs.version < 6:
        spelled = attrs.string("to")
        to = DType({"FLOAT": "float32", "DOUBLE": "float64"}.get(spelled, spelled.lower()))
    else:
        to = attrs.dtype("to")
    if to in (DType.FLOAT64, DType.FLOAT32, DType.FLOAT16, DType.BFLOAT16) and x.dtype != object:
        return x.astype(attrs.single)
    if to is DType.STRING and is_float(x.dtype):
        declared = attrs.node.inputs[0].tensor.dtype if attrs.node.inputs[0] is not None else None
        x = x.astype((declared or DType.FLOAT32).numpy)
    elif to.is_integer and x.dtype.kind == "f":
        finite = np.where(np.isfinite(x), x, 0)
        whole = round_(Step(attrs.node.outputs[0].name, finite, np.trunc))
        x = np.where(np.isfinite(x), whole, x)
    narrow = x.astype(np.float64) if x.dtype.kind == "f" else x
    return convert(narrow, to, attrs.int("saturate", 1) != 0, attrs.string("round_mode", "up"))


_NAMED = frozenset(dtype.numpy for dtype in DType)


def bit_cast(_: Round, __: Noisy, attrs: Attributes, x: Array) -> Any:
    """The bits of the number as declared."""
    declared = attrs.node.inputs[0].tensor.dtype if attrs.node.inputs[0] is not None else None
    held = x.astype((declared or DType.FLOAT32).numpy) if x.dtype.kind == "f" else x
    to = dtype_of(attrs.int("to"), str(attrs.node)) or DType.FLOAT32
    return np.ascontiguousarray(held).view(to.numpy).reshape(x.shape)


STEPPING: dict[str, Callable[..., Any]] = {
    "QuantizeLinear": quantize,
    "DequantizeLinear": dequantize,
    "DynamicQuantizeLinear": dynamic_quantize,
    "QLinearMatMul": qlinear_matmul,
    "QLinearConv": qlinear_conv,
    "Round": _whole(np.rint),
    "Floor": _whole(np.floor),
    "Ceil": _whole(np.ceil),
    "Cast": cast,
    "CastLike": cast,
    "BitCast": bit_cast,
}
"""Operator -> kernel(round, noisy, attributes, *inputs)."""
