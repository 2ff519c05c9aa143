"""Zero points of ONNX's quantization operators, as the runtimes that have them take them."""

from __future__ import annotations

from .types import DType


def quantizes_by_zero_point(dtype: DType) -> bool:
    """Whether QuantizeLinear into this type adds the zero point.

    The text adds it in every type; ONNX Runtime and onnx's reference leave out that of 8-bit floats.
    """
    return dtype.is_integer or dtype is DType.FLOAT4E2M1


def dequantizes_by_zero_point(dtype: DType) -> bool:
    """Whether DequantizeLinear from this type subtracts the zero point.

    ONNX Runtime and onnx's reference refuse one of 8-bit floats that isn't 0, and the reference, the only one that has
    them, leaves out that of 4-bit floats.
    """
    return dtype.is_integer
