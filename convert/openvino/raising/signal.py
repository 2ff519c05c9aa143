"""Fourier transforms: one axis after the other. OpenVINO counts negative axes without the last dimension (re, im)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....passes.build import Expr, arange, concat, expr, where
from ....passes.build.values import pad
from ....passes.errors import InvalidModel, Unsupported
from ....passes.graph import Node, Value
from ....passes.preconditions import dtype_of, input_of, rank_of
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ..dialect import DOMAIN
from .support import Results, constant_integers, in_wider_type, integers, normal_axes, operand, scalar, vector


def _axes(op: Builder, node: Node, rank: int) -> list[tuple[int, Expr | None]]:
    """(axis, signal size or None for the whole one) for each axis, in order; `rank` without the last dimension."""
    axes = normal_axes(node, constant_integers(node, 1, "the axes"), rank)
    return list(zip(axes, _lengths(op, node, axes), strict=True))


def _lengths(op: Builder, node: Node, axes: Sequence[int | Expr]) -> list[Expr | None]:
    signal = node.input(2)
    if not axes or signal is None:
        return [None] * len(axes)
    wanted, sizes = vector(op, signal), operand(op, node).sizes()
    if wanted.size(0).item() not in (None, len(axes)):
        raise InvalidModel(f"{node!r}: {wanted.size(0).item()} signal sizes for {len(axes)} axes")
    lengths = [wanted[index] for index in range(len(axes))]
    return [
        None if n.item() == -1 else where(n.equals(-1), sizes.gather(axis), n)
        for axis, n in zip(axes, lengths, strict=True)
    ]


def _computed_axes(op: Builder, node: Node, rank: int) -> list[Expr]:
    """Axes that the model computes, counted from the front."""
    axes = vector(op, input_of(node, 1))
    count = axes.size(0).item()
    if count is None:
        raise Unsupported(node, "how many axes there are is known at run time only")
    if count > rank:
        raise InvalidModel(f"{node!r}: {count} axes of numbers along {rank}")
    axes = where(axes < 0, axes + rank, axes)
    return [axes[index] for index in range(count)]


@rule(DOMAIN, "DFT", "IDFT")
def dft(op: Builder, node: Node) -> Results:
    """DFT-7, IDFT-7."""
    x = input_of(node)
    inverse = int(node.op_type == "IDFT")
    rank = rank_of(node, x) - 1
    known = integers(input_of(node, 1))
    axes = _computed_axes(op, node, rank) if known is None else normal_axes(node, known, rank)
    for axis, length in zip(axes, _lengths(op, node, axes), strict=True):
        x = op.DFT(x, length, axis if isinstance(axis, Expr) else op.const(axis), inverse=inverse)
    return x if axes else op.Identity(x)


@rule(DOMAIN, "RDFT")
def rdft(op: Builder, node: Node) -> Results:
    """RDFT-9: of real numbers along the last axis named, one half of the spectrum; of complex ones along the others."""
    x = input_of(node)
    axes = _axes(op, node, rank_of(node, x))
    x = op.Unsqueeze(x, op.const([-1]))
    for index, (axis, length) in enumerate(reversed(axes)):
        x = op.DFT(x, length, op.const(axis), onesided=int(index == 0))
    return x


def _real(x: Expr, axis: int, length: Expr | None) -> Expr:
    """The real signal of one half of a symmetric spectrum along `axis`; `length` None: of an even one."""
    op, bins = x.op, x.size(axis)
    length = (bins - 1) * 2 if length is None else length.reshape(1)
    half = length // 2 + 1
    missing = (half - bins).maximum(0)
    padded = expr(op, pad(op, x.value(), [0], [missing], 0, [axis]))
    lead = (slice(None),) * axis
    mirrored = padded[(*lead, slice(length - half, 0, -1))]
    conjugate = mirrored * np.array([1, -1])
    whole = concat(op, [padded[(*lead, slice(0, half))], conjugate], axis)
    return expr(op, op.DFT(whole, None, op.const(axis), inverse=1))[..., 0]


@rule(DOMAIN, "IRDFT")
def irdft(op: Builder, node: Node) -> Results:
    """IRDFT-9: the last axis named holds one half of a symmetric spectrum; the result is real."""
    x = input_of(node)
    axes = _axes(op, node, rank_of(node, x) - 1)
    for axis, length in axes[:-1]:
        x = op.DFT(x, length, op.const(axis), inverse=1)
    return _real(expr(op, x), *axes[-1]).value()


# short times ---------------------------------------------------------------------------------------


def _window(window: Expr, size: Expr) -> Expr:
    """The window in the middle of a frame, zeros around it."""
    missing = size - window.size(0)
    before = missing // 2
    return expr(window.op, pad(window.op, window.value(), [before], [missing - before]))


@rule(DOMAIN, "STFT")
def stft(op: Builder, node: Node) -> Results:
    """STFT-15: the spectrum of each frame, [batch, frames, bins, 2], or frames behind bins with `transpose_frames`."""
    x, window = in_wider_type(operand(op, node, 0)), in_wider_type(operand(op, node, 1))
    size, step = vector(op, input_of(node, 2)), scalar(op, input_of(node, 3), DType.INT64)
    single = rank_of(node, input_of(node)) == 1
    x = x[None] if single else x
    half = {"onesided": 1}  # stated, as ONNX's inference takes it for 0 where it is left out
    made = expr(op, op.STFT(x[..., None], step, _window(window, size), scalar(op, size), **half))
    if node.attributes.get("transpose_frames", False):
        made = made.transpose(0, 2, 1, 3)
    return (made.squeeze(0) if single else made).cast(dtype_of(node, input_of(node))).value()


@rule(DOMAIN, "ISTFT")
def istft(op: Builder, node: Node) -> Results:
    """ISTFT-16: of [batch, bins, frames, 2]. The frames' signals times the window are added up where they lie, and
    divided by the sum of the windows' squares there. With `center` half a frame is cut off at the beginning.
    """
    x, window = in_wider_type(operand(op, node, 0)), in_wider_type(operand(op, node, 1))
    size, step = (vector(op, input_of(node, index)) for index in (2, 3))
    window = _window(window, size)
    single = rank_of(node, input_of(node)) == 3
    x = x[None] if single else x
    frames = _real(x, 1, size).transpose(0, 2, 1)  # [batch, frames, size]
    count = frames.size(1)
    indices = (arange(op, count) * step)[:, None] + arange(op, size)
    full, flat = (count - 1) * step + size, indices.reshape(-1)
    laid = (frames * window).reshape(None, -1)
    signal, weights = x.like(0).broadcast_to(x.size(0), full), x.like(0).broadcast_to(full)
    index = flat.broadcast_to(laid.sizes())
    signal = signal.call("ScatterElements", index, laid, axis=1, reduction="add")
    squares = (window * window).broadcast_to(indices.sizes()).reshape(-1)
    weights = weights.call("ScatterElements", flat, squares, axis=0, reduction="add")
    if node.attributes.get("normalized", False):
        signal = signal * size.cast(x.dtype).sqrt()
    signal = where(weights.equals(0), 0, signal / weights)
    part = _part(signal, size, node.input(4), bool(node.attributes.get("center", False)))
    return (part.squeeze(0) if single else part).cast(dtype_of(node, input_of(node))).value()


def _part(signal: Expr, size: Expr, wanted: Value | None, center: bool) -> Expr:
    """As much of the signal as is wanted, zeros behind it; else all but the margins, which it has with `center`."""
    op, margin = signal.op, size // 2
    if wanted is None:
        return signal[:, margin : 0 - margin] if center else signal
    length = vector(op, wanted)
    begin = margin if center else margin.like(0).reshape(1)
    signal = signal[:, begin : begin + length]
    return expr(op, pad(op, signal.value(), [0], [length - signal.size(1)], None, [1]))


RULES = collect(globals())
