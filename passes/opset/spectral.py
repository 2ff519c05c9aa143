"""Fourier transforms as products with matrices of cosines and sines, and the mel filter bank, before version 17.

Everything is computed in float64 and cast back. The matrices are constants where the sizes are known, and small
enough; otherwise they are computed from the sizes when the model runs.
"""

from __future__ import annotations

import numpy as np

from ..build import Expr, expr, reshape, size_of, where
from ..errors import Unsupported
from ..graph import Node, Value
from ..preconditions import dtype_of, rank_of, required
from ..protos import ENUMS
from ..types import DType, TensorType
from .build import StepBuilder
from .offsets import arange, certain, deferred, gathered, remainder
from .reduce import axes_from_front
from .steps import Made, Step, as_type, attribute, changed, constant, numbers, with_input

_MOST_ELEMENTS = 1 << 20
_WORK = DType.FLOAT64


def _given(op: StepBuilder, node: Node, index: int) -> Expr | None:
    """A length that is an input of one element; None where it is left out."""
    value = node.input(index)
    return None if value is None else certain(op, value).cast(DType.INT64).reshape(1)


def _circle(rows: Expr, columns: Expr, length: Expr) -> tuple[Value, Value]:
    """cos and sin of 2 pi n k / length for row n and column k; the product is reduced before it is an angle."""
    down, across = arange(rows).reshape(-1, 1), arange(columns).reshape(1, -1)
    if down.array is not None and across.array is not None and down.array.size * across.array.size > _MOST_ELEMENTS:
        down = deferred(down)
    angles = remainder(down * across, length.maximum(1)).cast(_WORK) * (2 * np.pi / length.cast(_WORK))
    return angles.cos().value(), angles.sin().value()


def _without_dft(op: StepBuilder, node: Node) -> Made:
    """DFT-17: axis and inverse as attributes, the length as an input."""
    x, op = required(node, 0), op.newest
    depth, kind = rank_of(node, x), dtype_of(node, x)
    parts = (x.tensor.shape or [None])[-1]
    if not isinstance(parts, int) or parts not in (1, 2):
        raise Unsupported(node, "whether its input is real or complex isn't known")
    inverse, onesided = bool(attribute(node, "inverse", 0)), bool(attribute(node, "onesided", 0))
    if onesided and inverse != (parts == 2):
        raise Unsupported(node, "onesided is for real input, and for the inverse of complex input")
    axis = attribute(node, "axis", 1)
    axis += depth if axis < 0 else 0
    order = [*(position for position in range(depth) if position not in (axis, depth - 1)), axis, depth - 1]
    last = op.Transpose(as_type(op, x, _WORK), perm=order) if axis != depth - 2 else as_type(op, x, _WORK)
    length, bins = _given(op, node, 1), size_of(op, last, depth - 2)
    if length is None:
        length = (bins - 1) * 2 if onesided and inverse else bins
    half = length // 2 + 1
    most = half if onesided and inverse else length  # of the input, what counts; it may be shorter
    if most.array is None or bins.array is None or bins.array[0] > most.array[0]:
        last = op.Slice(last, numbers(op, 0), most.value(), numbers(op, depth - 2))
        bins = size_of(op, last, depth - 2)
    cosines, sines = _circle(bins, half if onesided and not inverse else length, length)
    if inverse:
        weights = _share(bins, length, onesided).value()
        cosines, sines = op.Mul(cosines, weights), op.Mul(sines, weights)
    made = _transformed(op, last, parts, (cosines, sines), inverse, onesided)
    if axis != depth - 2:
        made = op.Transpose(made, perm=[order.index(position) for position in range(depth)])
    return as_type(op, made, kind)


def _share(bins: Expr, length: Expr, onesided: bool) -> Expr:
    """What each bin counts in the inverse: 1 / length, twice that where it stands for its mirror image, too."""
    share = 1 / length.cast(_WORK)
    if not onesided:
        return share
    position = arange(bins).reshape(-1, 1)
    paired = (position > 0) & (position * 2 < length)
    return where(paired, share * 2, share)


def _transformed(
    op: StepBuilder, x: Value, parts: int, circle: tuple[Value, Value], inverse: bool, onesided: bool
) -> Value:
    """(.., bins, parts) times e^(-+ i angle): the real part and, except of a real result, the imaginary one."""
    cosines, sines = circle

    def column(value: Value) -> Value:
        return op.Unsqueeze(value, numbers(op, -1))

    real = op.Gather(x, op.const(0), axis=-1)
    in_phase, across = op.MatMul(real, cosines), op.MatMul(real, sines)
    if not inverse:
        across = op.Neg(across)
    if parts == 1:
        return op.Concat(column(in_phase), column(across), axis=-1)
    imaginary = op.Gather(x, op.const(1), axis=-1)
    turned = op.MatMul(imaginary, sines)
    in_phase = op.Sub(in_phase, turned) if inverse else op.Add(in_phase, turned)
    if onesided:
        return column(in_phase)
    return op.Concat(column(in_phase), column(op.Add(across, op.MatMul(imaginary, cosines))), axis=-1)


# the axis ------------------------------------------------------------------------------------------


def _axis_input(op: StepBuilder, node: Node) -> Made:
    axis = op.const(attribute(node, "axis", 1), DType.INT64)
    return changed(node, inputs=with_input(node.formal_inputs, 2, axis), without=("axis",))


def _axis_attribute(op: StepBuilder, node: Node) -> Made:
    axis = constant(node, 2)
    if axis is None and node.input(2) is not None:
        return _any_axis(op, node)
    return changed(node, inputs=node.formal_inputs[:2], axis=-2 if axis is None else int(axis.reshape(-1)[0]))


def _any_axis(op: StepBuilder, node: Node) -> Value:
    """An axis known only when the model runs: what lies before it, and behind it, are one axis each."""
    x = required(node, 0)
    op = op.newest
    position, sizes = axes_from_front(op, x, reshape(op, required(node, 2), [1])), op.Shape(x)
    behind = op.Add(position, numbers(op, 1))

    def part(start: Value, end: Value) -> Value:
        return op.Slice(sizes, start, end, numbers(op, 0))

    def concatenated(part: Value) -> Value:
        return op.ReduceProd(op.Concat(numbers(op, 1), part, axis=0), keepdims=1)

    before, after, parts = part(numbers(op, 0), position), part(behind, numbers(op, -1)), (x.tensor.shape or [None])[-1]
    last = op.Slice(sizes, numbers(op, -1), op.Shape(sizes), numbers(op, 0))
    flat = op.Concat(concatenated(before), part(position, behind), concatenated(after), last, axis=0)
    known = TensorType(x.tensor.dtype, (None, None, None, parts))
    options = {name: value for name, value in node.attributes.items() if name in ("inverse", "onesided")}
    made = op.at(17).DFT(op.reshape(x, flat, known), node.input(1), axis=1, **options)
    found = op.Shape(made)
    end = [op.Slice(found, numbers(op, axis), numbers(op, axis + 1), numbers(op, 0)) for axis in (1, 3)]
    return op.reshape(made, op.Concat(before, end[0], after, end[1], axis=0))


# STFT ----------------------------------------------------------------------------------------------


def _frames(op: StepBuilder, node: Node) -> Made:
    """STFT-17: frames that begin a step after each other, times the window, through DFT."""
    signal, window, op = required(node, 0), node.input(2), op.newest
    if rank_of(node, signal) == 2:  # real parts without an axis of their own, which runtimes take, too
        signal = op.Unsqueeze(signal, numbers(op, 2))
    if rank_of(node, signal) != 3:
        raise Unsupported(node, "its signal hasn't rank 3")
    whole, step, length = size_of(op, signal, 1), _given(op, node, 1), _given(op, node, 3)
    if step is None:
        raise Unsupported(node, "frame_step is missing")
    if length is None:
        length = whole if window is None else size_of(op, window, 0)
    count = (whole - length) // step + 1
    starts = arange(count).reshape(-1, 1) * step
    positions = deferred(starts) + arange(length).reshape(1, -1)
    framed = gathered(op, signal, positions, 1)
    if window is not None:
        framed = op.Mul(framed, op.Reshape(window, numbers(op, [-1, 1])))
    batch, _, parts = signal.tensor.shape or (None, None, None)
    known = [None if found.array is None else int(found.array[0]) for found in (count, length)]
    framed.type = TensorType(signal.tensor.dtype, (batch, *known, parts))
    return op.at(17).DFT(framed, axis=2, onesided=attribute(node, "onesided", 1))


# MelWeightMatrix -----------------------------------------------------------------------------------


def _mel_matrix(op: StepBuilder, node: Node) -> Made:
    """MelWeightMatrix-17: triangles over the bins of a spectrum, whose corners lie evenly on the mel scale."""
    op = op.newest
    given = [_given(op, node, index) for index in range(3)]
    filters, length, rate = (found for found in given if found is not None)

    def mel(index: int) -> Expr:
        hertz = certain(op, required(node, index)).cast(_WORK).reshape(1)
        return (hertz / 700 + 1).log() * (2595 / np.log(10))

    low, corners = mel(3), filters + 2
    mels = arange(corners).cast(_WORK) * ((mel(4) - low) / corners.cast(_WORK)) + low
    hertz = ((mels * (np.log(10) / 2595)).exp() - 1) * 700
    positions = (hertz * (length + 1).cast(_WORK) / rate.cast(_WORK)).floor().value()

    def corner(index: int) -> Expr:
        return certain(op, op.Slice(positions, numbers(op, index), (filters + index).value(), numbers(op, 0)))

    left, top, right = (corner(index) for index in range(3))
    bins = arange(length // 2 + 1).reshape(-1, 1).cast(_WORK)
    # a way of no length from a corner to the top is never asked for
    rising, falling = (bins - left) / (top - left).maximum(1), (right - bins) / (right - top).maximum(1)
    zero, one = expr(op, [0], DType.FLOAT64), expr(op, [1], DType.FLOAT64)
    below, above = where(bins < left, zero, rising), where(bins < right, falling, zero)
    peak = where((top < left) & (right <= top), zero, one)  # none where the corners fall
    made = where(bins < top, below, where(bins > top, above, peak)).value()
    return op.Cast(made, to=attribute(node, "output_datatype", ENUMS[DType.FLOAT32]))


ROWS = {
    ("DFT", 17): Step("DFT came with version 17", _without_dft),
    ("DFT", 20): Step(_axis_input, _axis_attribute),
    ("STFT", 17): Step("STFT came with version 17", _frames),
    ("MelWeightMatrix", 17): Step("MelWeightMatrix came with version 17", _mel_matrix),
}
