"""Fourier transforms: one axis after the other. OpenVINO counts negative axes without the last dimension (re, im)."""

from __future__ import annotations

from ....passes.errors import InvalidModel
from ....passes.graph import Node, Value
from ....passes.preconditions import dtype_of, given, rank_of
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ..dialect import DOMAIN
from .support import (
    Results,
    cast,
    concatenated,
    constant,
    dimension,
    fixed,
    integers,
    normal_axes,
    number,
    reckoned,
    scalar,
    shape_of,
    steps,
    vector,
    widened,
)


def _axes(op: Builder, node: Node, rank: int) -> list[tuple[int, Value | None]]:
    """(axis, signal size or None for the whole one) for each axis, in order; `rank` without the last dimension."""
    axes = normal_axes(node, fixed(node, 1, "the axes"), rank)
    signal = node.input(2)
    if not axes or signal is None:
        return [(axis, None) for axis in axes]
    wanted = vector(op, signal)
    known = constant(wanted)
    if known is not None:
        if known.size != len(axes):
            raise InvalidModel(f"{node!r}: {known.size} signal sizes for {len(axes)} axes")
        lengths = [int(item) for item in known]
        return [(axis, None if n == -1 else op.const(n)) for axis, n in zip(axes, lengths, strict=True)]
    found: list[tuple[int, Value | None]] = []
    for place, axis in enumerate(axes):
        here = op.Gather(wanted, op.const(place))
        whole = scalar(op, dimension(op, given(node), axis))
        found.append((axis, op.Where(op.Equal(here, op.const(-1)), whole, here)))
    return found


@rule(DOMAIN, "DFT", "IDFT")
def dft(op: Builder, node: Node) -> Results:
    """DFT-7, IDFT-7."""
    x = given(node)
    inverse = int(node.op_type == "IDFT")
    axes = _axes(op, node, rank_of(node, x) - 1)
    for axis, length in axes:
        x = op.DFT(x, length, op.const(axis), inverse=inverse)
    return x if axes else op.Identity(x)


@rule(DOMAIN, "RDFT")
def rdft(op: Builder, node: Node) -> Results:
    """RDFT-9: of real numbers along the last axis named, one half of the spectrum; of complex ones along the others."""
    x = given(node)
    axes = _axes(op, node, rank_of(node, x))
    x = op.Unsqueeze(x, op.const([-1]))
    for place, (axis, length) in enumerate(reversed(axes)):
        x = op.DFT(x, length, op.const(axis), onesided=int(place == 0))
    return x


def _real(op: Builder, x: Value, axis: int, length: Value | None) -> Value:
    """The real signal of one half of a symmetric spectrum along `axis`; `length` None: of an even one."""
    one, two, along = op.const([1]), op.const([2]), op.const([axis])
    bins = dimension(op, x, axis)
    length = reckoned(op, "Mul", reckoned(op, "Sub", bins, one), two) if length is None else vector(op, length)
    half = reckoned(op, "Add", reckoned(op, "Div", length, two), one)
    missing = reckoned(op, "Max", reckoned(op, "Sub", half, bins), op.const([0]))
    if integers(missing) != [0]:
        x = op.Pad(x, concatenated(op, [op.const([0]), missing]), number(op, 0, x), along)
    front = op.Slice(x, op.const([0]), half, along)
    mirrored = op.Slice(x, reckoned(op, "Sub", length, half), op.const([0]), along, op.const([-1]))
    conjugate = op.Mul(mirrored, op.const([1.0, -1.0], x.tensor.dtype or DType.FLOAT32))
    made = op.DFT(op.Concat(front, conjugate, axis=axis), None, op.const(axis), inverse=1)
    return op.Gather(made, op.const(0), axis=-1)


@rule(DOMAIN, "IRDFT")
def irdft(op: Builder, node: Node) -> Results:
    """IRDFT-9: the last axis named holds one half of a symmetric spectrum; the result is real."""
    x = given(node)
    axes = _axes(op, node, rank_of(node, x) - 1)
    for axis, length in axes[:-1]:
        x = op.DFT(x, length, op.const(axis), inverse=1)
    return _real(op, x, *axes[-1])


# short times ---------------------------------------------------------------------------------------


def _window(op: Builder, window: Value, size: Value) -> Value:
    """The window in the middle of a frame, zeros around it."""
    missing = reckoned(op, "Sub", size, dimension(op, window, 0))
    if integers(missing) == [0]:
        return window
    before = reckoned(op, "Div", missing, op.const([2]))
    return op.Pad(window, concatenated(op, [before, reckoned(op, "Sub", missing, before)]))


@rule(DOMAIN, "STFT")
def stft(op: Builder, node: Node) -> Results:
    """STFT-15: the spectrum of each frame, [batch, frames, bins, 2], or frames behind bins with `transpose_frames`."""
    x, window = widened(op, given(node, 0)), widened(op, given(node, 1))
    size, step = vector(op, given(node, 2)), scalar(op, given(node, 3), DType.INT64)
    single = rank_of(node, x) == 1
    x = op.Unsqueeze(x, op.const([0])) if single else x
    made = op.STFT(op.Unsqueeze(x, op.const([-1])), step, _window(op, window, size), scalar(op, size))
    if node.attributes.get("transpose_frames", False):
        made = op.Transpose(made, perm=[0, 2, 1, 3])
    return cast(op, op.Squeeze(made, op.const([0])) if single else made, dtype_of(node, given(node)))


@rule(DOMAIN, "ISTFT")
def istft(op: Builder, node: Node) -> Results:
    """ISTFT-16: of [batch, bins, frames, 2]. The frames' signals times the window are added up where they lie, and
    divided by the sum of the windows' squares there. With `center` half a frame is cut off at the beginning.
    """
    x, window = widened(op, given(node, 0)), widened(op, given(node, 1))
    size, step = (vector(op, given(node, index)) for index in (2, 3))
    window = _window(op, window, size)
    wanted = node.input(4)
    single = rank_of(node, x) == 3
    x = op.Unsqueeze(x, op.const([0])) if single else x
    frames = op.Transpose(_real(op, x, 1, scalar(op, size)), perm=[0, 2, 1])  # [batch, frames, size]
    count = dimension(op, frames, 1)
    begins = reckoned(op, "Mul", steps(op, count), step)
    places = op.Add(op.Unsqueeze(begins, op.const([1])), steps(op, size))
    full = reckoned(op, "Add", reckoned(op, "Mul", reckoned(op, "Sub", count, op.const([1])), step), size)
    flat = op.Reshape(places, op.const([-1]))
    zero = number(op, 0, x)
    spread = op.Reshape(op.Mul(frames, window), op.const([0, -1]))
    signal = op.Expand(zero, concatenated(op, [dimension(op, x, 0), full]))
    signal = op.ScatterElements(signal, op.Expand(flat, shape_of(op, spread)), spread, axis=1, reduction="add")
    every = op.Reshape(op.Expand(op.Mul(window, window), shape_of(op, places)), op.const([-1]))
    weights = op.ScatterElements(op.Expand(zero, full), flat, every, axis=0, reduction="add")
    if node.attributes.get("normalized", False):
        signal = op.Mul(signal, op.Sqrt(cast(op, size, dtype_of(node, x))))
    signal = op.Where(op.Equal(weights, zero), zero, op.Div(signal, weights))
    made = _cut(op, signal, size, wanted, bool(node.attributes.get("center", False)))
    return cast(op, op.Squeeze(made, op.const([0])) if single else made, dtype_of(node, given(node)))


def _cut(op: Builder, signal: Value, size: Value, wanted: Value | None, center: bool) -> Value:
    """As much of the signal as is wanted, zeros behind it; else all but the margins, which it has with `center`."""
    margin = reckoned(op, "Div", size, op.const([2]))
    if wanted is None:
        end = reckoned(op, "Sub", op.const([0]), margin)
        return op.Slice(signal, margin, end, op.const([1])) if center else signal
    length = vector(op, wanted)
    begin = margin if center else op.const([0])
    signal = op.Slice(signal, begin, reckoned(op, "Add", begin, length), op.const([1]))
    missing = reckoned(op, "Sub", length, dimension(op, signal, 1))
    return op.Pad(signal, concatenated(op, [op.const([0]), missing]), None, op.const([1]))


RULES = collect(globals())
