"""Matrix products and determinants."""

from __future__ import annotations

import numpy as np

from .base import Array, Attributes, Kernel, is_float, widened
from .quant import quantized


def matmul(_: Attributes, a: Array, b: Array) -> Array:
    """Integers wrap in their own width; 16-bit floats are summed in float32."""
    return np.matmul(widened(a), widened(b)).astype(a.dtype, copy=False)


def gemm(attrs: Attributes, a: Array, b: Array, c: Array | None = None) -> Array:
    """alpha * A' * B' + beta * C; for integers alpha and beta other than 1 are applied in float64 and truncated."""
    left, right = widened(a), widened(b)
    product = np.matmul(left.T if attrs.flag("transA") else left, right.T if attrs.flag("transB") else right)
    result = _scaled(product, attrs.float("alpha"))
    if c is not None:
        result = result + _scaled(widened(c), attrs.float("beta"))
        if result.shape != product.shape:
            raise ValueError(f"C {list(c.shape)} doesn't broadcast to {list(product.shape)}")
    return result.astype(a.dtype, copy=False)


def _scaled(x: Array, factor: float) -> Array:
    if factor == 1.0:
        return x
    return x * x.dtype.type(factor) if is_float(x.dtype) else x.astype(np.float64) * factor


def einsum(attrs: Attributes, *inputs: Array) -> Array:
    dtype = inputs[0].dtype
    wide = [widened(x) for x in inputs]
    return np.asarray(np.einsum(attrs.string("equation"), *wide, optimize=len(wide) > 2)).astype(dtype, copy=False)


def centred(x: Array, zero: Array | None, per_row: bool) -> Array:
    """`x` without its zero point, in float64, which holds every product and sum here exactly."""
    if zero is None:
        return x.astype(np.float64)
    if per_row and zero.ndim == 1 and zero.size > 1:
        zero = zero[:, None]
    return x.astype(np.float64) - zero.astype(np.float64)


def matmul_integer(
    _: Attributes, a: Array, b: Array, a_zero: Array | None = None, b_zero: Array | None = None
) -> Array:
    """int32, wrapping; zero points are one, one per row of `a`, one per column of `b`."""
    product = np.matmul(centred(a, a_zero, per_row=True), centred(b, b_zero, per_row=False))
    return product.astype(np.int64).astype(np.int32)


def qlinear_matmul(
    attrs: Attributes,
    a: Array,
    a_scale: Array,
    a_zero: Array,
    b: Array,
    b_scale: Array,
    b_zero: Array,
    y_scale: Array,
    y_zero: Array,
) -> Array:
    product = np.matmul(centred(a, a_zero, per_row=True), centred(b, b_zero, per_row=False))
    rows = a_scale[:, None] if a_scale.ndim == 1 and a_scale.size > 1 else a_scale
    ratio = rows.astype(attrs.single) * b_scale.astype(attrs.single) / y_scale.astype(attrs.single)
    scaled = attrs.computed(product * (ratio.reshape(()) if ratio.size == 1 else ratio), 4.0)
    return quantized(attrs, scaled, y_zero, y_zero.dtype)


def determinant(_: Attributes, x: Array) -> Array:
    return np.asarray(np.linalg.det(widened(x))).astype(x.dtype, copy=False)


TABLE: dict[str, Kernel] = {
    "MatMul": matmul,
    "Gemm": gemm,
    "Einsum": einsum,
    "MatMulInteger": matmul_integer,
    "QLinearMatMul": qlinear_matmul,
    "Det": determinant,
}
