"""Pairs of real values as ONNX has complex numbers, parts in the last dimension: in DFT, and where a model begins and
ends. HLO's fft has pairs for complex operands and results here (see `complex_pairs`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ....passes.graph import Node, Value
from ....passes.rewrite import Builder, collect, rule
from ..dialect import DOMAIN
from .support import Results, dtype_of, given, shape_of


def _is_zero(value: Value) -> bool:
    """Whether a value is known to be 0 everywhere."""
    maker = value.producer
    source = maker.inputs[0] if maker is not None and maker.op == ("", "Expand") else value
    return source is not None and source.data is not None and not source.data.numpy().any()


def _whole_of(re: Value, im: Value) -> Value | None:
    """The array whose last dimension holds just these two parts, where they were taken from one."""
    found: list[Value | None] = []
    for place, part in enumerate((re, im)):
        maker = part.producer
        if maker is None or maker.op != ("", "Gather") or maker.attributes.get("axis") != -1:
            return None
        index = maker.inputs[1].array() if maker.inputs[1] is not None else None
        if index is None or index.shape != () or index != place:
            return None
        found.append(maker.inputs[0])
    whole = found[0]
    return whole if whole is not None and whole is found[1] and (whole.tensor.shape or (0,))[-1] == 2 else None


def _joined(op: Builder, *parts: Value) -> Value:
    """Parts as the last dimension of one array."""
    whole = _whole_of(*parts) if len(parts) == 2 else None
    if whole is not None:
        return whole
    apart = [op.Unsqueeze(part, op.const([-1])) for part in parts]
    return apart[0] if len(apart) == 1 else op.Concat(*apart, axis=-1)


@rule(DOMAIN, "part")
def part(op: Builder, node: Node) -> Results:
    """A part of the complex numbers that enter a model."""
    return op.Gather(given(node, 0), op.const(node.attributes["index"]), axis=-1)


@rule(DOMAIN, "joined")
def joined(op: Builder, node: Node) -> Results:
    """The complex numbers that leave a model."""
    return _joined(op, given(node, 0), given(node, 1))


@rule(DOMAIN, "real")
def real(op: Builder, node: Node) -> Results:
    """Of a real number; that of a complex one is gone with the pairs."""
    return given(node, 0)


@rule(DOMAIN, "imag")
def imag(op: Builder, node: Node) -> Results:
    """Of a real number: nothing."""
    x = given(node, 0)
    return op.const(np.zeros(shape_of(node, x), dtype_of(node, x).numpy))


def _signal(op: Builder, parts: Sequence[Value | None]) -> Value:
    """The operand as DFT takes it: the parts last, or the real one alone where the other is nothing."""
    return _joined(op, *(part for part in parts if part is not None and (part is parts[0] or not _is_zero(part))))


def _complex(op: Builder, x: Value) -> Value:
    """A signal with both parts."""
    if x.tensor.shape and x.tensor.shape[-1] == 2:
        return x
    return op.Pad(x, op.const([0, 1]), None, op.const([-1]))


def _whole(op: Builder, x: Value, axis: int, length: int) -> Value:
    """The whole spectrum of a real signal of this length, from its first half along `axis`."""
    x = _complex(op, x)
    half = length // 2 + 1
    if half == length:
        return x
    back = op.Slice(x, op.const([length - half]), op.const([0]), op.const([axis]), op.const([-1]))
    conjugate = op.Mul(back, op.const([1.0, -1.0], x.tensor.dtype))
    return op.Concat(x, conjugate, axis=axis)


@rule(DOMAIN, "fft")
def fft(op: Builder, node: Node) -> Results:
    """FFT, IFFT, RFFT, IRFFT over the last dimensions, one after the other; one of size 1 stays as it is.

    IRFFT takes no notice of the imaginary parts of the constant and of the highest frequency: they end up in the
    imaginary part of its result, which is left out.
    """
    kind, lengths = node.attributes["fft_type"], node.attributes["fft_length"]
    sizes = [shape_of(node, value) for value in node.outputs]
    if not math.prod(sizes[0]):
        return [op.const(np.zeros(size, dtype_of(node, given(node, 0)).numpy)) for size in sizes]
    x = _signal(op, node.inputs)
    rank = len(sizes[0])
    axes = {rank - len(lengths) + place: length for place, length in enumerate(lengths)}
    inverse = 1 if kind.startswith("I") else None
    if kind == "RFFT" and axes[rank - 1] > 1:
        x = op.DFT(x, None, op.const(rank - 1), onesided=1)
    for axis, length in axes.items():
        if length > 1 and (axis < rank - 1 or kind in ("FFT", "IFFT")):
            x = op.DFT(x, None, op.const(axis), inverse=inverse)
    if kind == "IRFFT" and axes[rank - 1] > 1:
        x = op.DFT(_whole(op, x, rank - 1, axes[rank - 1]), None, op.const(rank - 1), inverse=1)
    if len(node.outputs) == 2:
        x = _complex(op, x)
    return [op.Gather(x, op.const(part), axis=-1) for part in range(len(node.outputs))]


RULES = collect(globals())
