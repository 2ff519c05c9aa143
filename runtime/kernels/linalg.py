"""Matrix products and determinants."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .base import Array, Attributes, Kernel, expect_broadcast, is_float, widened
from .quant import quantized


def matmul(_: Attributes, a: Array, b: Array) -> Array:
    """Integers wrap in their own width; 16-bit floats are summed in float32."""
    right = widened(b)
    return _by_rows(widened(a), right, lambda left: np.matmul(left, right)).astype(a.dtype, copy=False)


def _by_rows(a: Array, b: Array, product: Callable[[Array], Array]) -> Array:
    """`product` of `a` by `b`; of a stack of matrices by one matrix as that of all their rows, which NumPy would do
    matrix by matrix."""
    if a.ndim < 3 or b.ndim != 2 or not a.size:
        return product(a)
    return product(a.reshape(-1, a.shape[-1])).reshape(*a.shape[:-1], b.shape[1])


def gemm(attrs: Attributes, a: Array, b: Array, c: Array | None = None) -> Array:
    """alpha * A' * B' + beta * C; integers by fractions are computed in float64 and truncated, all others wrap.

    Where `beta` is 0, C isn't added at all, as in BLAS, ONNX Runtime and onnx's reference: it may be NaN.
    """
    left, right = widened(a), widened(b)
    product = np.matmul(left.T if attrs.flag("transA") else left, right.T if attrs.flag("transB") else right)
    result = _scaled(product, attrs.float("alpha"))
    if c is not None:
        beta = attrs.float("beta")
        expect_broadcast("C", c, product.shape)
        result = result + _scaled(widened(c), beta) if beta else result
    return result.astype(a.dtype, copy=False)


def _scaled(x: Array, factor: float) -> Array:
    if factor == 1.0:
        return x
    if is_float(x.dtype):
        return x * x.dtype.type(factor)
    return x * np.array(int(factor)).astype(x.dtype) if factor == int(factor) else x.astype(np.float64) * factor


def einsum(attrs: Attributes, *inputs: Array) -> Array:
    dtype = inputs[0].dtype
    wide = [widened(x) for x in inputs]
    return np.asarray(np.einsum(attrs.string("equation"), *wide, optimize=len(wide) > 2)).astype(dtype, copy=False)


def centred(x: Array, zero: Array | None, per_row: bool) -> Array:
    """`x` without its zero point, in a float that holds every product exactly: 8-bit numbers in float32."""
    wide = np.float32 if x.dtype.itemsize == 1 else np.float64
    if zero is None:
        return x.astype(wide)
    if per_row and zero.ndim == 1 and zero.size > 1:
        zero = zero[:, None]
    return x.astype(wide) - zero.astype(wide)


EXACT_TERMS = 2**24 // 255**2
"""So many products of 8-bit numbers without their zero points float32 adds up exactly."""


def _integer_product(attrs: Attributes, left: int, right: int, a_zero: int, b_zero: int, given: Sequence[Any]) -> Array:
    """The exact product, int64 or int32, of the inputs at these positions without their zero points."""
    a_offset, b_offset = (given[zero] if zero < len(given) else None for zero in (a_zero, b_zero))
    factor = given[right]

    def product(a: Array) -> Array:
        found = None if attrs.native is None else attrs.native.byte_product(a, factor, a_offset, b_offset)
        if found is not None:
            return found
        a = centred(a, a_offset, per_row=True)
        b = attrs.prepared((right, b_zero), lambda: centred(factor, b_offset, per_row=False))
        terms = EXACT_TERMS if a.dtype == b.dtype == np.float32 else a.shape[-1]
        total = np.matmul(a[..., :terms], b[..., :terms, :] if b.ndim > 1 else b[:terms]).astype(np.int64)
        for start in range(terms, a.shape[-1], terms):
            part = slice(start, start + terms)
            total += np.matmul(a[..., part], b[..., part, :] if b.ndim > 1 else b[part]).astype(np.int64)
        return total

    is_one = a_offset is None or a_offset.size == 1  # else there is one for each row of a matrix
    return _by_rows(given[left], factor, product) if is_one else product(given[left])


def matmul_integer(attrs: Attributes, *inputs: Array | None) -> Array:
    """a, b, and their zero points if they have any: int32, wrapping; zero points are one, one per row of `a`, one per
    column of `b`."""
    return _integer_product(attrs, 0, 1, 2, 3, inputs).astype(np.int32)


def qlinear_matmul(attrs: Attributes, *inputs: Array) -> Array:
    """a and its scale and zero point, the same of b, scale and zero point of the result."""
    _, a_scale, _, _, b_scale, _, y_scale, y_zero = inputs
    product = _integer_product(attrs, 0, 3, 2, 5, inputs)
    rows = a_scale[:, None] if a_scale.ndim == 1 and a_scale.size > 1 else a_scale
    ratio = rows.astype(attrs.single) * b_scale.astype(attrs.single) / y_scale.astype(attrs.single)
    scaled = attrs.computed(product * (ratio.reshape(()) if ratio.size == 1 else ratio), 4.0)
    return quantized(attrs, scaled, y_zero, y_zero.dtype)


def determinant(attrs: Attributes, x: Array) -> Array:
    """A run that is more exact than the graph declares eliminates step by step, each of which rounds: it fills zeros
    in, whose errors are of the size of what they are made of, and NumPy's has no wider numbers than float64."""
    found = np.linalg.det(widened(x)) if attrs.single == np.float32 else _by_elimination(attrs, x)
    return np.asarray(found).astype(x.dtype, copy=False)


def _by_elimination(attrs: Attributes, x: Array) -> Array:
    """With the greatest pivot of each column."""
    rest, product = x, np.ones(x.shape[:-2], x.dtype)
    for left in range(x.shape[-1], 0, -1):
        at = np.argmax(np.abs(rest[..., 0]), axis=-1)[..., None, None]
        order = np.broadcast_to(np.arange(left)[:, None], (*rest.shape[:-1], 1))
        order = np.where(order == 0, at, np.where(order == at, 0, order))  # the pivot's row and the first one
        rest = np.take_along_axis(rest, order, axis=-2)
        row = rest[..., :1, :]
        pivot = row[..., 0, 0]
        product = attrs.operated(product * np.where(at[..., 0, 0] == 0, pivot, -pivot))
        with np.errstate(all="ignore"):
            factor = attrs.operated(rest[..., 1:, :1] / np.where(pivot == 0, 1, pivot)[..., None, None])
        rest = attrs.operated(rest[..., 1:, 1:] - attrs.operated(factor * row[..., 1:]))
    return product


TABLE: dict[str, Kernel] = {
    "MatMul": matmul,
    "Gemm": gemm,
    "Einsum": einsum,
    "MatMulInteger": matmul_integer,
    "QLinearMatMul": qlinear_matmul,
    "Det": determinant,
}
