"""Functions that generated code calls. Imports Numba, so only generated code may import this module.

All of them are plain enough to be inlined. Their text is part of the cache's key.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

kernel = njit(error_model="numpy")


def _operation(name: str) -> Any:
    """The machine's own truncating division or remainder; undefined for 0 and for the lowest number by -1."""

    @intrinsic
    def operation(context: Any, a: Any, b: Any) -> Any:
        def generate(_: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return getattr(builder, ("s" if a.signed else "u") + name)(*arguments)

        return (a(a, a), generate) if isinstance(a, types.Integer) and a == b else None

    return operation


_divide = _operation("div")
_remainder = _operation("rem")


@intrinsic
def select(context, condition, a, b):
    """`a if condition else b`, both of which are known: no branch, of which Numba can bear few in a function."""
    result = context.unify_types(a, b)

    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.select(*arguments)

    return (result(types.boolean, result, result), generate) if result is not None else None


@intrinsic
def opaque(context, number):
    """An int64 that LLVM knows nothing of."""

    def generate(_: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        whole = ir.IntType(64)
        return builder.asm(ir.FunctionType(whole, [whole]), "", "=r,0", arguments, False)

    return types.int64(types.int64), generate


def _extreme(sign: str, a: Any, b: Any) -> Any:
    def generate(_: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        one, other = arguments
        if isinstance(a, types.Float):
            is_first = builder.or_(builder.fcmp_ordered(sign, one, other), builder.fcmp_unordered("uno", one, one))
        else:
            is_first = (builder.icmp_signed if a.signed else builder.icmp_unsigned)(sign, one, other)
        return builder.select(is_first, one, other)

    return (a(a, a), generate) if isinstance(a, types.Number) and a == b else None


@intrinsic
def larger(context, a, b):
    """The larger of two; of zeros that differ in sign the second one, as NumPy has it; NaN where one of them is."""
    return _extreme(">", a, b)


@intrinsic
def smaller(context, a, b):
    """The smaller of two, see `larger`."""
    return _extreme("<", a, b)


@kernel
def divide_signed(a, b):
    """a / b truncated toward zero; 0 for b = 0; wraps for the lowest number by -1."""
    if b == 0:
        return a - a
    if b == -1:
        return -a
    return _divide(a, b)


@kernel
def divide_unsigned(a, b):
    """a / b; 0 for b = 0."""
    if b == 0:
        return b
    return _divide(a, b)


@kernel
def remainder_signed(a, b):
    """a - b * truncated(a / b); 0 for b = 0."""
    if b == 0 or b == -1:
        return a - a
    return _remainder(a, b)


@kernel
def remainder_unsigned(a, b):
    """a mod b; 0 for b = 0."""
    if b == 0:
        return b
    return _remainder(a, b)


@kernel
def modulo_signed(a, b):
    """The remainder with the sign of b; 0 for b = 0."""
    if b == 0 or b == -1:
        return a - a
    r = _remainder(a, b)
    return r + b if r != 0 and (r ^ b) < 0 else r


@kernel
def power_signed(a, b):
    """a to the power of b in wrapping int64; negative powers are truncated, 0 where they are infinite."""
    if b < 0:
        if a == 1:
            return a
        if a == -1:
            return a if b & 1 else -a
        return a - a
    result = np.int64(1)
    while b > 0:
        if b & 1:
            result *= a
        a *= a
        b >>= 1
    return result


@kernel
def power_unsigned(a, b):
    """a to the power of b in wrapping uint64, for b >= 0; like `power_signed` else."""
    if b < 0:
        return np.uint64(1) if a == 1 else np.uint64(0)
    result = np.uint64(1)
    while b > 0:
        if b & 1:
            result *= a
        a *= a
        b >>= 1
    return result


@kernel
def to_int32(x):
    """A float truncated; the lowest number where it doesn't fit, as processors have it."""
    wide = np.float64(x)
    if wide > -2147483649.0 and wide < 2147483648.0:
        return np.int32(np.int64(wide))
    return np.int32(-2147483648)


@kernel
def to_int64(x):
    """A float truncated; the lowest number where it doesn't fit, as processors have it."""
    if x >= -9223372036854775808.0 and x < 9223372036854775808.0:
        return np.int64(x)
    return np.int64(-9223372036854775808)


@kernel
def to_uint64(x):
    """A float truncated; numbers that don't fit come out as processors without such a conversion give them."""
    if x >= 9223372036854775808.0:
        return np.uint64(to_int64(x - 9223372036854775808.0)) ^ np.uint64(9223372036854775808)
    return np.uint64(to_int64(x))


@kernel
def grown(buffer):
    """A buffer of twice the length with the same beginning."""
    count = buffer.shape[0]
    shape = (max(2 * count, 64),) + buffer.shape[1:]  # noqa: RUF005  Numba knows no unpacking here
    bigger = np.empty(shape, buffer.dtype)
    bigger[:count] = buffer
    return bigger


@kernel
def with_room(planes, count, room):
    """The first `count` rows of each plane, in an array with room for so many."""
    found = np.empty((planes.shape[0], room, planes.shape[2]), planes.dtype)
    found[:, :count] = planes[:, :count]
    return found


@kernel
def flipped(matrix):
    """The transposed matrix, contiguous."""
    rows, columns = matrix.shape
    result = np.empty((columns, rows), matrix.dtype)
    for i in range(columns):
        for j in range(rows):
            result[i, j] = matrix[j, i]
    return result


@kernel
def reflected(at, length):
    """Where the element at a place that may lie outside is found, if what is outside mirrors what is inside."""
    if at < 0:
        return -at
    return at if at < length else 2 * (length - 1) - at


@kernel
def clamped(at, length):
    """The same, if what is outside repeats the last element."""
    return min(max(at, 0), length - 1)


@kernel
def wrapped(at, length):
    """The same, if what is outside begins anew."""
    if at < 0:
        return at + length
    return at if at < length else at - length


@kernel
def slice_start(start, step, length):
    """Where a slice begins: within the axis (-1 where it is empty), as Python has it but for `python_start`."""
    if start < 0:
        start += length
    if step > 0:
        return min(max(start, 0), length)
    return min(max(start, 0), length - 1)


@kernel
def slice_count(first, end, step, length):
    """How many elements a slice has that begins at `first`, as Python has it."""
    if end < 0:
        end += length
        if end < 0:
            end = -1 if step < 0 else 0
    if step > 0:
        return max((min(end, length) - first + step - 1) // step, 0)
    return max((first - min(end, length - 1) - step - 1) // -step, 0)


@kernel
def part_first(start, length, backwards):
    """Index of the first element that a sliced slot sees, in its own direction."""
    place = min(max(start if start >= 0 else start + length + 1, 0), length)
    return place - 1 if backwards else place


@kernel
def part_count(start, end, step, length):
    """Number of whole parts of a sliced slot."""
    first = min(max(start if start >= 0 else start + length + 1, 0), length)
    last = min(max(end if end >= 0 else end + length + 1, 0), length)
    return max(last - first, 0) // step if step > 0 else max(first - last, 0) // -step


@kernel
def true_places(mask):
    """The places in a vector whose elements aren't 0."""
    places = np.empty(mask.size, np.int64)
    count = 0
    for i in range(mask.size):
        places[count] = i
        count += mask[i] != 0
    return places[:count]


@kernel
def coordinates(places, shape):
    """The indices of places in row-major order, a row for each axis."""
    found = np.empty((len(shape), places.size), np.int64)
    for i in range(places.size):
        place = places[i]
        for back in range(len(shape)):
            axis = len(shape) - 1 - back
            found[axis, i] = place % shape[axis]
            place //= shape[axis]
    return found


@kernel
def _block_sum(a, low, count):
    """The sum of at most 128 elements of a vector from `low` on, in NumPy's order: eight sums side by side."""
    if count < 8:
        total = a[low] if count > 0 else a.dtype.type(0)
        for i in range(low + 1, low + count):
            total += a[i]
        return total
    r0, r1, r2, r3 = a[low], a[low + 1], a[low + 2], a[low + 3]
    r4, r5, r6, r7 = a[low + 4], a[low + 5], a[low + 6], a[low + 7]
    whole = count - count % 8
    for i in range(low + 8, low + whole, 8):
        r0 += a[i]
        r1 += a[i + 1]
        r2 += a[i + 2]
        r3 += a[i + 3]
        r4 += a[i + 4]
        r5 += a[i + 5]
        r6 += a[i + 6]
        r7 += a[i + 7]
    total = ((r0 + r1) + (r2 + r3)) + ((r4 + r5) + (r6 + r7))
    for i in range(low + whole, low + count):
        total += a[i]
    return total


@kernel
def pairwise_sum(a, low, count):
    """The sum of `count` elements of a vector from `low` on, in NumPy's order: halves, halved again.

    No recursion: Numba's cached code of a function that calls itself crashes when it is loaded.
    """
    if count <= 128:
        return _block_sum(a, low, count)
    left = np.empty(64, a.dtype)  # sums of left halves
    right = np.empty(64, np.int64)  # lengths of right halves still to come, -1 once begun
    depth = 0
    while True:
        while count > 128:
            half = count // 2
            half -= half % 8
            right[depth] = count - half
            depth += 1
            count = half
        total = _block_sum(a, low, count)
        low += count
        while depth > 0 and right[depth - 1] < 0:
            depth -= 1
            total = left[depth] + total
        if depth == 0:
            return total
        left[depth - 1] = total
        count = right[depth - 1]
        right[depth - 1] = -1


@kernel
def _precedes(a, b, largest):
    """Whether TopK has `a` before `b` wherever they stand; NaN counts as the largest."""
    if largest:
        return (a > b) | ((a != a) & (b == b))
    return (a < b) | ((b != b) & (a == a))


@kernel
def top(x, largest, values, indices):
    """The largest (smallest) elements of each row of x, in order, equal ones by index: as many as `values` holds."""
    rows, length = x.shape
    most = values.shape[1]
    for row in range(rows):
        count = 0
        for k in range(length):
            value = x[row, k]
            place = count
            if count == most:
                if most == 0 or not _precedes(value, values[row, most - 1], largest):
                    continue
                place = most - 1
            else:
                count += 1
            while place > 0 and _precedes(value, values[row, place - 1], largest):
                values[row, place], indices[row, place] = values[row, place - 1], indices[row, place - 1]
                place -= 1
            values[row, place], indices[row, place] = value, k
