"""Products of matrices and convolutions that generated code calls, see `helpers`."""

from __future__ import annotations

import numpy as np
from numba import njit

from .helpers import kernel


@kernel
def multiply(a, b, out):
    """out = a @ b: two rows by four steps at a time, in blocks that stay in the cache."""
    m, k = a.shape
    n = b.shape[1]
    whole = k - k % 4
    for i in range(m):
        for j in range(n):
            out[i, j] = 0
    for low in range(0, whole, 128):
        high = min(low + 128, whole)
        paired = m - m % 2
        for i in range(0, paired, 2):
            for p in range(low, high, 4):
                x0, x1, x2, x3 = a[i, p], a[i, p + 1], a[i, p + 2], a[i, p + 3]
                y0, y1, y2, y3 = a[i + 1, p], a[i + 1, p + 1], a[i + 1, p + 2], a[i + 1, p + 3]
                for j in range(n):
                    b0, b1, b2, b3 = b[p, j], b[p + 1, j], b[p + 2, j], b[p + 3, j]
                    out[i, j] = out[i, j] + x0 * b0 + x1 * b1 + x2 * b2 + x3 * b3
                    out[i + 1, j] = out[i + 1, j] + y0 * b0 + y1 * b1 + y2 * b2 + y3 * b3
        for i in range(paired, m):
            for p in range(low, high, 4):
                x0, x1, x2, x3 = a[i, p], a[i, p + 1], a[i, p + 2], a[i, p + 3]
                for j in range(n):
                    out[i, j] = out[i, j] + x0 * b[p, j] + x1 * b[p + 1, j] + x2 * b[p + 2, j] + x3 * b[p + 3, j]
    for p in range(whole, k):
        for i in range(m):
            x0 = a[i, p]
            for j in range(n):
                out[i, j] += x0 * b[p, j]


@kernel
def multiply_row(a, b, out):
    """out = a @ b for an `a` of one row: four steps at a time."""
    k, n = b.shape
    whole = k - k % 4
    for j in range(n):
        out[0, j] = 0
    for p in range(0, whole, 4):
        x0, x1, x2, x3 = a[0, p], a[0, p + 1], a[0, p + 2], a[0, p + 3]
        for j in range(n):
            out[0, j] = out[0, j] + x0 * b[p, j] + x1 * b[p + 1, j] + x2 * b[p + 2, j] + x3 * b[p + 3, j]
    for p in range(whole, k):
        x0 = a[0, p]
        for j in range(n):
            out[0, j] += x0 * b[p, j]


@njit(error_model="numpy", fastmath={"reassoc", "nsz"})
def _dot(a, b):
    """The sum of products in any order: without that freedom it can't be vectorised."""
    total = a.dtype.type(0)
    for p in range(a.size):
        total += a[p] * b[p]
    return total


@kernel
def multiply_column(a, b, out):
    """out = a @ b for a `b` of one column."""
    column = b.reshape(b.size)
    for i in range(a.shape[0]):
        out[i, 0] = _dot(a[i], column)


@kernel
def convolve(x, w, stride_h, stride_w, dilation_h, dilation_w, out):
    """out = x (N, C, H, W), padded already, under the filters w (M, C / groups, KH, KW), as products of matrices.

    What the windows see is copied: a row for each element of a window, or where there are few windows a row for each of
    them, so that the inner loops are long.
    """
    count, channels = x.shape[0], x.shape[1]
    filters, inner, height, width = w.shape
    rows, columns = out.shape[2], out.shape[3]
    groups = channels // inner
    each, size, places = filters // groups, inner * height * width, rows * columns
    few = places < 8
    seen = np.empty((places, size) if few else (size, places), x.dtype)
    flat = w.reshape(filters, size)
    results = out.reshape(count * filters, places)
    for n in range(count):
        for g in range(groups):
            for c in range(inner):
                for i in range(height):
                    for j in range(width):
                        k = (c * height + i) * width + j
                        for r in range(rows):
                            for s in range(columns):
                                value = x[
                                    n, g * inner + c, r * stride_h + i * dilation_h, s * stride_w + j * dilation_w
                                ]
                                if few:
                                    seen[r * columns + s, k] = value
                                else:
                                    seen[k, r * columns + s] = value
            low = n * filters + g * each
            if few:
                for m in range(each):
                    for p in range(places):
                        results[low + m, p] = _dot(flat[g * each + m], seen[p])
            else:
                multiply(flat[g * each : (g + 1) * each], seen, results[low : low + each])
