"""Fourier transforms: one axis after the other. OpenVINO counts negative axes without the last dimension (re, im)."""

from __future__ import annotations

from ....passes.errors import InvalidModel
from ....passes.graph import Node, Value
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ..dialect import DOMAIN
from .support import Results, constant, dimension, fixed, given, normal_axes, number, rank_of, scalar, vector


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


@rule(DOMAIN, "IRDFT")
def irdft(op: Builder, node: Node) -> Results:
    """IRDFT-9: the last axis named holds one half of a symmetric spectrum; the result is real."""
    x = given(node)
    axes = _axes(op, node, rank_of(node, x) - 1)
    for axis, length in axes[:-1]:
        x = op.DFT(x, length, op.const(axis), inverse=1)
    axis, length = axes[-1]
    bins = scalar(op, dimension(op, x, axis))
    if length is None:
        length = op.Mul(op.Sub(bins, op.const(1)), op.const(2))
    half = op.Add(op.Div(length, op.const(2)), op.const(1))
    missing = op.Max(op.Sub(half, bins), op.const(0))
    pads = op.Concat(op.const([0]), vector(op, missing), axis=0)
    x = op.Pad(x, pads, number(op, 0, x), op.const([axis]))
    front = op.Gather(x, op.Range(op.const(0), half, op.const(1)), axis=axis)
    mirrored = op.Gather(x, op.Sub(length, op.Range(half, length, op.const(1))), axis=axis)
    conjugate = op.Mul(mirrored, op.const([1.0, -1.0], x.tensor.dtype or DType.FLOAT32))
    made = op.DFT(op.Concat(front, conjugate, axis=axis), None, op.const(axis), inverse=1)
    return op.Gather(made, op.const(0), axis=-1)


RULES = collect(globals())
