"""Fourier transforms as products with matrices of cosines and sines, and the mel filter bank, before version 17.

Everything is computed in float64 and cast back. The matrices are constants where the sizes are known, and small
enough; otherwise they are computed from the sizes when the model runs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import Unsupported
from ..graph import Node, Value
from ..protos import ENUMS
from ..types import DType, TensorType
from .build import StepBuilder
from .counting import single
from .steps import Made, Step, as_type, attribute, changed, constant, dtype, numbers, put, rank, required

_MOST_ELEMENTS = 1 << 20
_WORK = DType.FLOAT64

Size = int | Value
"""A length: a number, or an int64 scalar of the graph."""


@dataclass(frozen=True, slots=True)
class _Sizes:
    """Arithmetic of lengths, as numbers as long as they are known."""

    op: StepBuilder

    def value(self, size: Size) -> Value:
        return self.op.const(size, DType.INT64) if isinstance(size, int) else size

    def vector(self, size: Size) -> Value:
        return numbers(self.op, size) if isinstance(size, int) else self.op.Reshape(size, numbers(self.op, 1))

    def binary(self, op_type: str, left: Size, right: Size) -> Size:
        if not (isinstance(left, int) and isinstance(right, int)):
            return self.op.call(op_type, self.value(left), self.value(right))
        match op_type:
            case "Add":
                return left + right
            case "Sub":
                return left - right
            case "Mul":
                return left * right
        return int(left / right)  # Div, towards zero

    def count(self, size: Size, shape: list[int]) -> Value:
        """0, 1 .. below a length, in a shape."""
        if isinstance(size, int):
            return self.op.const(np.arange(size).reshape(shape), DType.INT64)
        counted = self.op.Range(self.op.const(0), size, self.op.const(1))
        return self.op.Reshape(counted, numbers(self.op, shape))

    def of(self, value: Value, axis: int) -> Size:
        shape = value.tensor.shape
        size = shape[axis] if shape is not None else None
        return size if isinstance(size, int) else self.op.Gather(self.op.Shape(value), self.op.const(axis))

    def given(self, node: Node, index: int) -> Size | None:
        """A length that is an input of one element; None where it is left out."""
        value, array = node.input(index), constant(node, index)
        if value is None:
            return None
        if array is not None:
            return int(array.reshape(-1)[0])
        return self.op.Reshape(as_type(self.op, value, DType.INT64), numbers(self.op, []))


def _circle(sizes: _Sizes, rows: Size, columns: Size, length: Size) -> tuple[Value, Value]:
    """cos and sin of 2 pi n k / length for row n and column k; the product is reduced before it is an angle."""
    op = sizes.op
    if isinstance(rows, int) and isinstance(columns, int) and isinstance(length, int):
        if rows * columns <= _MOST_ELEMENTS:
            angles = np.outer(np.arange(rows), np.arange(columns)) % max(length, 1) * (2 * np.pi / max(length, 1))
            return op.const(np.cos(angles), _WORK), op.const(np.sin(angles), _WORK)
        rows, columns = sizes.value(rows), sizes.value(columns)
    whole = sizes.value(length)
    product = op.Mul(sizes.count(rows, [-1, 1]), sizes.count(columns, [1, -1]))
    turns = op.Sub(product, op.Mul(op.Div(product, whole), whole))
    step = op.Div(op.const(2 * np.pi, _WORK), as_type(op, whole, _WORK))
    angles = op.Mul(as_type(op, turns, _WORK), step)
    return op.Cos(angles), op.Sin(angles)


def _without_dft(op: StepBuilder, node: Node) -> Made:
    """DFT-17: axis and inverse as attributes, the length as an input."""
    x, op = required(node, 0), op.at(13)
    size, kind = rank(node, x), dtype(node, x)
    parts = (x.tensor.shape or [None])[-1]
    if not isinstance(parts, int) or parts not in (1, 2):
        raise Unsupported(node, "whether its input is real or complex isn't known")
    inverse, onesided = bool(attribute(node, "inverse", 0)), bool(attribute(node, "onesided", 0))
    if onesided and inverse != (parts == 2):
        raise Unsupported(node, "onesided is said of real input, and of the inverse of complex input")
    axis = attribute(node, "axis", 1)
    axis += size if axis < 0 else 0
    order = [*(place for place in range(size) if place not in (axis, size - 1)), axis, size - 1]
    sizes = _Sizes(op)
    last = op.Transpose(as_type(op, x, _WORK), perm=order) if axis != size - 2 else as_type(op, x, _WORK)
    length, bins = sizes.given(node, 1), sizes.of(last, size - 2)
    if length is None:
        length = sizes.binary("Mul", sizes.binary("Sub", bins, 1), 2) if onesided and inverse else bins
    half = sizes.binary("Add", sizes.binary("Div", length, 2), 1)
    most = half if onesided and inverse else length  # of the input, what counts; it may be shorter
    if not (isinstance(most, int) and isinstance(bins, int) and bins <= most):
        last = op.Slice(last, numbers(op, 0), sizes.vector(most), numbers(op, size - 2))
        bins = sizes.of(last, size - 2)
    cosines, sines = _circle(sizes, bins, half if onesided and not inverse else length, length)
    if inverse:
        weights = _share(sizes, bins, length, onesided)
        cosines, sines = op.Mul(cosines, weights), op.Mul(sines, weights)
    made = _transformed(op, last, parts, (cosines, sines), inverse, onesided)
    if axis != size - 2:
        made = op.Transpose(made, perm=[order.index(place) for place in range(size)])
    return as_type(op, made, kind)


def _share(sizes: _Sizes, bins: Size, length: Size, onesided: bool) -> Value:
    """What each bin counts in the inverse: 1 / length, twice that where it stands for its mirror image, too."""
    op, whole = sizes.op, sizes.value(length)
    single = op.Div(op.const(1, _WORK), as_type(op, whole, _WORK))
    if not onesided:
        return single
    place = sizes.count(bins, [-1, 1])
    double = op.Mul(place, op.const(2))
    alone = op.Or(op.Equal(place, op.const(0)), op.Equal(double, whole))
    return op.Where(alone, single, op.Mul(single, op.const(2, _WORK)))


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
    return changed(node, inputs=put(node.formal_inputs, 2, axis), without=("axis",))


def _axis_attribute(op: StepBuilder, node: Node) -> Made:
    axis = constant(node, 2)
    if axis is None and node.input(2) is not None:
        return _any_axis(op, node)
    return changed(node, inputs=node.formal_inputs[:2], axis=-2 if axis is None else int(axis.reshape(-1)[0]))


def _any_axis(op: StepBuilder, node: Node) -> Value:
    """An axis known only when the model runs: what lies before it, and behind it, are one axis each."""
    x = required(node, 0)
    place, op = as_type(op, required(node, 2), DType.INT64), op.at(13)
    place = op.Reshape(place, numbers(op, 1))
    sizes = op.Shape(x)
    place = op.Where(op.Less(place, numbers(op, 0)), op.Add(place, op.Shape(sizes)), place)
    behind = op.Add(place, numbers(op, 1))

    def part(start: Value, end: Value) -> Value:
        return op.Slice(sizes, start, end, numbers(op, 0))

    def joined(part: Value) -> Value:
        return op.ReduceProd(op.Concat(numbers(op, 1), part, axis=0), keepdims=1)

    before, after, parts = part(numbers(op, 0), place), part(behind, numbers(op, -1)), (x.tensor.shape or [None])[-1]
    last = op.Slice(sizes, numbers(op, -1), op.Shape(sizes), numbers(op, 0))
    flat = op.Concat(joined(before), part(place, behind), joined(after), last, axis=0)
    known = TensorType(x.tensor.dtype, (None, None, None, parts))
    options = {name: value for name, value in node.attributes.items() if name in ("inverse", "onesided")}
    made = op.at(17).DFT(op.reshape(x, flat, known), node.input(1), axis=1, **options)
    found = op.Shape(made)
    end = [op.Slice(found, numbers(op, axis), numbers(op, axis + 1), numbers(op, 0)) for axis in (1, 3)]
    return op.reshape(made, op.Concat(before, end[0], after, end[1], axis=0))


# STFT ----------------------------------------------------------------------------------------------


def _frames(op: StepBuilder, node: Node) -> Made:
    """STFT-17: frames that begin a step after each other, times the window, through DFT."""
    signal, window, op = required(node, 0), node.input(2), op.at(13)
    if rank(node, signal) == 2:  # real parts without an axis of their own, which runtimes take, too
        signal = op.at(9).Unsqueeze(signal, axes=[2])
    if rank(node, signal) != 3:
        raise Unsupported(node, "its signal hasn't rank 3")
    sizes = _Sizes(op)
    whole, step, length = sizes.of(signal, 1), sizes.given(node, 1), sizes.given(node, 3)
    if step is None:
        raise Unsupported(node, "frame_step is missing")
    if length is None:
        length = whole if window is None else sizes.of(window, 0)
    count = sizes.binary("Add", sizes.binary("Div", sizes.binary("Sub", whole, length), step), 1)
    starts = op.Mul(sizes.count(count, [-1, 1]), sizes.value(step))
    framed = op.Gather(signal, op.Add(starts, sizes.count(length, [1, -1])), axis=1)
    if window is not None:
        framed = op.Mul(framed, op.Reshape(window, numbers(op, [-1, 1])))
    batch, _, parts = signal.tensor.shape or (None, None, None)
    known = [size if isinstance(size, int) else None for size in (count, length)]
    framed.type = TensorType(signal.tensor.dtype, (batch, *known, parts))
    return op.at(17).DFT(framed, axis=2, onesided=attribute(node, "onesided", 1))


# MelWeightMatrix -----------------------------------------------------------------------------------


def _mel_matrix(op: StepBuilder, node: Node) -> Made:
    """MelWeightMatrix-17: triangles over the bins of a spectrum, whose corners lie evenly on the mel scale."""
    op = op.at(13)
    sizes = _Sizes(op)
    given = [sizes.given(node, index) for index in range(3)]
    filters, length, rate = (size for size in given if size is not None)

    def real(value: Value) -> Value:
        return as_type(op, value, _WORK)

    def number(value: float) -> Value:
        return op.const(value, _WORK)

    def mel(index: int) -> Value:
        hertz = single(op, real(required(node, index)))
        return op.Mul(op.Log(op.Add(op.Div(hertz, number(700)), number(1))), number(2595 / np.log(10)))

    low, corners = mel(3), sizes.binary("Add", filters, 2)
    step = op.Div(op.Sub(mel(4), low), real(sizes.value(corners)))
    mels = op.Add(op.Mul(real(sizes.count(corners, [-1])), step), low)
    hertz = op.Mul(op.Sub(op.Exp(op.Mul(mels, number(np.log(10) / 2595))), number(1)), number(700))
    scaled = op.Mul(hertz, real(sizes.value(sizes.binary("Add", length, 1))))
    places = op.Floor(op.Div(scaled, real(sizes.value(rate))))

    def corner(index: int) -> Value:
        end = sizes.vector(sizes.binary("Add", filters, index))
        return op.Slice(places, numbers(op, index), end, numbers(op, 0))

    left, top, right = (corner(index) for index in range(3))
    bins = real(sizes.count(sizes.binary("Add", sizes.binary("Div", length, 2), 1), [-1, 1]))

    def slope(distance: Value, whole: Value) -> Value:
        """The part of the way from a corner to the top; a way of no length is never asked for."""
        return op.Div(distance, op.Max(whole, number(1)))

    rising = slope(op.Sub(bins, left), op.Sub(top, left))
    falling = slope(op.Sub(right, bins), op.Sub(right, top))
    zero, one = number(0), number(1)
    below = op.Where(op.Less(bins, left), zero, rising)
    above = op.Where(op.Less(bins, right), falling, zero)
    made = op.Where(op.Less(bins, top), below, op.Where(op.Greater(bins, top), above, one))
    return op.Cast(made, to=attribute(node, "output_datatype", ENUMS[DType.FLOAT32]))


ROWS = {
    ("DFT", 17): Step("DFT came with version 17", _without_dft),
    ("DFT", 20): Step(_axis_input, _axis_attribute),
    ("STFT", 17): Step("STFT came with version 17", _frames),
    ("MelWeightMatrix", 17): Step("MelWeightMatrix came with version 17", _mel_matrix),
}
