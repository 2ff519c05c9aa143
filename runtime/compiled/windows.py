"""Convolution over images that generated code calls, see `helpers`.

Images lie flat, with their padding, so that what all windows see at one of their elements is one run of numbers: that
of the output's positions, shifted. Where windows move by more than one element there is a flat image for each phase.
A convolution is then a product of the filters with such runs, tile by tile as in `products`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from .helpers import kernel
from .products import BYTES, ROWS, add_tile

_BEHIND = 256  # elements that may be read at once, see `flat_images`
_LONG = 4  # vectors of output positions that stay in registers while a window's elements are gone through


def _vector(array: Any) -> Any:
    """The type of a vector of an array's elements, or None."""
    width = array.dtype.bitwidth if isinstance(array, types.Array) and isinstance(array.dtype, types.Float) else 0
    element = {32: ir.FloatType(), 64: ir.DoubleType()}.get(width)
    return None if element is None else ir.VectorType(element, BYTES * 8 // width)


def _pointer(target: Any, builder: Any, kind: Any, value: Any) -> Any:
    return cgutils.create_struct_proxy(kind)(target, builder, value).data


def _copy_code(context: Any, source: Any, place: Any, goal: Any, begin: Any) -> Any:
    """goal.flat[begin : begin + two vectors] = source.flat[place : place + two vectors]"""
    vector = _vector(source)

    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        size = BYTES // vector.count
        pointers = [_pointer(target, builder, signature.args[k], arguments[k]) for k in (0, 2)]
        for half in range(2):
            moved = ir.Constant(ir.IntType(64), half * vector.count)
            first, second = (
                builder.bitcast(builder.gep(pointer, [builder.add(at, moved)]), vector.as_pointer())
                for pointer, at in zip(pointers, (arguments[1], arguments[3]), strict=True)
            )
            builder.store(builder.load(first, align=size), second, align=size)
        return target.get_dummy_value()

    return (types.void(source, types.int64, goal, types.int64), generate) if vector is not None else None


_copy: Any = intrinsic(_copy_code)


def _sum_of_shifted_code(
    context: Any, flat: Any, base: Any, offsets: Any, weights: Any, first: Any, start: Any, out: Any, place: Any
) -> Any:
    """out.flat[place + k] = start + the sum of weights[first + j] * flat[base + offsets[j] + k] over j, for as many k
    as `_LONG` vectors have."""
    vector = _vector(flat)

    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        size, int64 = BYTES // vector.count, ir.IntType(64)
        numbers, shifts, factors, goal = (
            _pointer(target, builder, signature.args[k], arguments[k]) for k in (0, 2, 3, 6)
        )
        offset_array = cgutils.create_struct_proxy(signature.args[2])(target, builder, arguments[2])
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), vector.count), [0] * vector.count)
        nothing = ir.Constant(vector, ir.Undefined)

        def filled(number: Any) -> Any:
            one = builder.insert_element(nothing, number, ir.IntType(32)(0))
            return builder.shuffle_vector(one, nothing, zeros)

        begin = filled(arguments[5])
        sums = [cgutils.alloca_once(builder, vector) for _ in range(_LONG)]
        for one in sums:
            builder.store(begin, one)
        count = cgutils.unpack_tuple(builder, offset_array.shape)[0]
        with cgutils.for_range(builder, count, intp=int64) as loop:
            shift = builder.load(builder.gep(shifts, [loop.index]))
            at, weight = builder.add(arguments[1], shift), builder.add(arguments[4], loop.index)
            factor = filled(builder.load(builder.gep(factors, [weight])))
            for k, one in enumerate(sums):
                pointer = builder.gep(numbers, [builder.add(at, int64(k * vector.count))])
                seen = builder.load(builder.bitcast(pointer, vector.as_pointer()), align=size)
                product = builder.fmul(seen, factor, flags=("contract",))
                builder.store(builder.fadd(builder.load(one), product, flags=("contract",)), one)
        for k, one in enumerate(sums):
            pointer = builder.gep(goal, [builder.add(arguments[7], int64(k * vector.count))])
            builder.store(builder.load(one), builder.bitcast(pointer, vector.as_pointer()), align=size)
        return target.get_dummy_value()

    whole = types.int64
    signature = types.void(flat, whole, offsets, weights, whole, flat.dtype, out, whole)
    return (signature, generate) if vector is not None else None


_sum_of_shifted: Any = intrinsic(_sum_of_shifted_code)


@kernel
def lay_flat(x, before_h, before_w, step_h, step_w, rows, columns, out):
    """out = the images x (N, C, H, W) as `flat_images.Layout` has them, zeros around and behind."""
    count, channels, height, width = x.shape
    out[:] = 0
    for n in range(count):
        for c in range(channels):
            image = (n * channels + c) * step_h * step_w * rows * columns
            for i in range(height):
                row, phase = (i + before_h) // step_h, (i + before_h) % step_h
                if row >= rows:
                    continue
                for other in range(step_w):
                    j = (other - before_w) % step_w
                    column = (j + before_w) // step_w
                    begin = image + ((phase * step_w + other) * rows + row) * columns
                    for k in range(min(columns - column, (width - j + step_w - 1) // step_w)):
                        out[begin + column + k] = x[n, c, i, j + k * step_w]


@kernel
def convolve_tiles(flat, each_image, each_group, packed, bias, offsets, out):
    """out (images * filters, positions) = filters over flat images, plus a number for each filter.

    Args:
        flat: the images, `each_image` elements each, of which each group takes `each_group`.
        packed: the filters as [groups, parts of their elements, tiles of filters, elements, ROWS].
        offsets: by how far the positions are shifted for each element of a filter.
    """
    groups, parts, down, steps, _ = packed.shape
    filters, places = bias.size, out.shape[1]
    count = out.shape[0] // filters
    each = filters // groups
    wide = 2 * (BYTES // flat.itemsize)
    panel = np.empty((steps, wide), flat.dtype)
    rest = np.empty((ROWS, wide), flat.dtype)  # a tile that reaches over the edge
    for n in range(count):
        for m in range(filters):
            out[n * filters + m, :] = bias[m]
        for g in range(groups):
            above = n * filters + g * each
            image = n * each_image + g * each_group
            for part in range(parts):
                taken_steps = min(steps, offsets.size - part * steps)
                panel[taken_steps:] = 0
                for begin in range(0, places, wide):
                    taken = min(wide, places - begin)
                    for p in range(taken_steps):
                        at = image + begin + offsets[part * steps + p]
                        if at + wide <= flat.size:
                            _copy(flat, at, panel, p * wide)
                        else:
                            for q in range(wide):
                                panel[p, q] = flat[at + q] if at + q < flat.size else 0
                    for d in range(down):
                        high = min(ROWS, each - d * ROWS)
                        add_tile(packed[g, part, d], panel, steps, out, above + d * ROWS, begin, high, taken, rest)


@kernel
def convolve_channels(flat, each_channel, weights, bias, offsets, out):
    """out (channels, positions) = each flat channel under a filter of its own, plus a number.

    Args:
        flat: the channels, `each_channel` elements each, and at the end as many as are computed at once.
        weights, bias: of the channels of one image.
    """
    channels, places = out.shape
    wide = _LONG * (BYTES // flat.itemsize)
    rest = np.empty(wide, flat.dtype)
    for c in range(channels):
        m = c % bias.size
        first, start = m * offsets.size, bias[m]
        for begin in range(0, places, wide):
            at = c * each_channel + begin
            if begin + wide <= places:
                _sum_of_shifted(flat, at, offsets, weights, first, start, out, c * places + begin)
                continue
            _sum_of_shifted(flat, at, offsets, weights, first, start, rest, 0)
            for q in range(places - begin):
                out[c, begin + q] = rest[q]


@kernel
def _laid_flat(x, before_h, before_w, step_h, step_w, rows, columns, lies_flat):
    """The images x as a flat array; `lies_flat`: they are one already."""
    if lies_flat:
        return x.reshape(x.size)
    channels = x.shape[0] * x.shape[1]
    flat = np.empty(channels * step_h * step_w * rows * columns + columns + _BEHIND, x.dtype)
    lay_flat(x, before_h, before_w, step_h, step_w, rows, columns, flat)
    return flat


@kernel
def convolve_packed(x, before_h, before_w, step_h, step_w, rows, columns, lies_flat, packed, bias, offsets, out):
    """out (N, M, rows, columns) = packed filters over the images x (N, C, H, W), see `convolve_tiles`; the last columns
    are nobody's."""
    flat = _laid_flat(x, before_h, before_w, step_h, step_w, rows, columns, lies_flat)
    each = step_h * step_w * rows * columns
    goal = out.reshape((out.shape[0] * out.shape[1], out.shape[2] * out.shape[3]))
    channels = x.shape[1]
    convolve_tiles(flat, channels * each, channels // packed.shape[0] * each, packed, bias, offsets, goal)


@kernel
def convolve_alone(x, before_h, before_w, step_h, step_w, rows, columns, lies_flat, weights, bias, offsets, out):
    """The same with a filter for each channel, see `convolve_channels`."""
    flat = _laid_flat(x, before_h, before_w, step_h, step_w, rows, columns, lies_flat)
    goal = out.reshape((out.shape[0] * out.shape[1], out.shape[2] * out.shape[3]))
    convolve_channels(flat, step_h * step_w * rows * columns, weights, bias, offsets, goal)
