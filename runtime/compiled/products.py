"""Products of matrices and convolutions that generated code calls, see `helpers`.

Large products go tile by tile: so many rows by two vectors of columns stay in registers over all steps, fed from
copies of both matrices in the order in which the tile reads them (Goto and van de Geijn, Anatomy of High-Performance
Matrix Multiplication, 2008).
"""

from __future__ import annotations

from typing import Any

import llvmlite.binding
import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from .helpers import kernel

_FEATURES = llvmlite.binding.get_host_cpu_features()
BYTES, ROWS = (64, 8) if _FEATURES.get("avx512f") else (32, 6) if _FEATURES.get("avx") else (16, 4)
"""Bytes in a vector, and rows in a tile: with two vectors in each row they fill the processor's registers."""

STEPS = 256  # of a product that are done in one go: what they read of both copies stays in the cache


def _tile_code(context: Any, a: Any, b: Any, steps: Any, out: Any, row: Any, column: Any) -> Any:
    """out[row : row + ROWS, column : column + 2 vectors] += a.T @ b, for a [steps, ROWS] and b [steps, 2 vectors] as
    they lie in memory."""
    lanes = BYTES * 8 // a.dtype.bitwidth

    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        element = target.get_value_type(a.dtype)
        vector = ir.VectorType(element, lanes)
        size = a.dtype.bitwidth // 8
        given, other, count, whole, first, left = arguments
        pointers = [
            cgutils.create_struct_proxy(kind)(target, builder, value).data
            for kind, value in zip((signature.args[0], signature.args[1]), (given, other), strict=True)
        ]
        result = cgutils.create_struct_proxy(signature.args[3])(target, builder, whole)
        width = cgutils.unpack_tuple(builder, result.shape)[1]
        int64 = ir.IntType(64)

        def at(pointer: Any, place: Any, kind: Any) -> Any:
            return builder.bitcast(builder.gep(pointer, [place]), kind.as_pointer())

        sums = [[cgutils.alloca_once_value(builder, ir.Constant(vector, None)) for _ in range(2)] for _ in range(ROWS)]
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), lanes), [0] * lanes)
        with cgutils.for_range(builder, count, intp=int64) as loop:
            begin = builder.mul(loop.index, int64(2 * lanes))
            columns = [
                builder.load(at(pointers[1], builder.add(begin, int64(half * lanes)), vector), align=size)
                for half in range(2)
            ]
            begin = builder.mul(loop.index, int64(ROWS))
            for k, row_sums in enumerate(sums):
                one = builder.load(at(pointers[0], builder.add(begin, int64(k)), element), align=size)
                spread = builder.insert_element(ir.Constant(vector, ir.Undefined), one, ir.IntType(32)(0))
                spread = builder.shuffle_vector(spread, ir.Constant(vector, ir.Undefined), zeros)
                for place, column_vector in zip(row_sums, columns, strict=True):
                    product = builder.fmul(spread, column_vector, flags=("contract",))
                    builder.store(builder.fadd(builder.load(place), product, flags=("contract",)), place)
        for k, row_sums in enumerate(sums):
            begin = builder.add(builder.mul(builder.add(first, int64(k)), width), left)
            for half, place in enumerate(row_sums):
                goal = at(result.data, builder.add(begin, int64(half * lanes)), vector)
                builder.store(builder.fadd(builder.load(goal, align=size), builder.load(place)), goal, align=size)
        return target.get_dummy_value()

    matrices = all(isinstance(one, types.Array) and one.layout == "C" for one in (a, b, out))
    return (types.void(a, b, types.int64, out, types.int64, types.int64), generate) if matrices else None


_tile: Any = intrinsic(_tile_code)


@kernel
def add_tile(a, b, steps, out, row, column, rows, columns, rest):
    """`_tile` on so many rows and columns of `out`; by way of `rest` [ROWS, two vectors] where a tile has more."""
    if rows == ROWS and columns == b.shape[1]:
        _tile(a, b, steps, out, row, column)
        return
    rest[:] = 0
    _tile(a, b, steps, rest, 0, 0)
    for i in range(rows):
        for j in range(columns):
            out[row + i, column + j] += rest[i, j]


@kernel
def packed_columns(b):
    """The columns of b [k, n] as `multiply_packed` takes them: two vectors of columns at a time, parts of `STEPS` rows,
    zeros beyond the last ones."""
    k, n = b.shape
    wide = 2 * (BYTES // b.itemsize)
    packed = np.zeros(((k + STEPS - 1) // STEPS, (n + wide - 1) // wide, min(k, STEPS), wide), b.dtype)
    for p in range(k):
        for j in range(n):
            packed[p // STEPS, j // wide, p % STEPS, j % wide] = b[p, j]
    return packed


@kernel
def multiply_packed(a, b, packed, out):
    """out = a @ b for a matrix of many rows, tile by tile; `packed`: `packed_columns` of b."""
    m, k = a.shape
    n = b.shape[1]
    wide = packed.shape[3]
    down = (m + ROWS - 1) // ROWS
    left = np.zeros((down, packed.shape[2], ROWS), a.dtype)
    rest = np.empty((ROWS, wide), a.dtype)  # a tile that reaches over the edge
    out[:] = 0
    for part in range(packed.shape[0]):
        low = part * STEPS
        steps = min(STEPS, k - low)
        for r in range(down):
            for i in range(min(ROWS, m - r * ROWS)):
                for p in range(steps):
                    left[r, p, i] = a[r * ROWS + i, low + p]
        for c in range(packed.shape[1]):
            columns = min(wide, n - c * wide)
            for r in range(down):
                rows = min(ROWS, m - r * ROWS)
                add_tile(left[r], packed[part, c], steps, out, r * ROWS, c * wide, rows, columns, rest)


@kernel
def multiply_tiles(a, b, out):
    """out = a @ b for matrices of many rows and columns, tile by tile."""
    multiply_packed(a, b, packed_columns(b), out)


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
def multiply_bytes(a, b, out):
    """out = a @ b, int32, for an int32 `a` of few rows and a `b` of 8-bit numbers: so many columns at a time that their
    sums stay in the nearest cache."""
    k, n = b.shape
    whole = k - k % 4
    for left in range(0, n, 512):
        right = min(left + 512, n)
        out[:, left:right] = 0
        for p in range(0, whole, 4):
            b0, b1, b2, b3 = b[p, left:right], b[p + 1, left:right], b[p + 2, left:right], b[p + 3, left:right]
            for i in range(a.shape[0]):
                x0, x1, x2, x3 = a[i, p], a[i, p + 1], a[i, p + 2], a[i, p + 3]
                row = out[i, left:right]
                for j in range(right - left):
                    row[j] += x0 * np.int32(b0[j]) + x1 * np.int32(b1[j]) + x2 * np.int32(b2[j]) + x3 * np.int32(b3[j])
        for p in range(whole, k):
            for i in range(a.shape[0]):
                for j in range(left, right):
                    out[i, j] += a[i, p] * np.int32(b[p, j])


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
def multiply_row_flipped(a, b, out):
    """out = a @ b.T for an `a` of one row."""
    for j in range(b.shape[0]):
        out[0, j] = _dot(a[0], b[j])


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
