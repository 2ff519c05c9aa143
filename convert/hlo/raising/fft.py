"""Pairs of real values as ONNX has complex numbers, parts in the last dimension: in DFT, and where a model begins and
ends. HLO's fft has pairs for complex operands and results here (see `complex_pairs`).
"""

from __future__ import annotations

import numpy as np

from ....passes.graph import Node
from ....passes.preconditions import dtype_of, input_of
from ....passes.rewrite import Builder, collect, rule
from ..dialect import DOMAIN
from .arrays import Array, arrays, concat, full
from .support import Results, made_by, shape_of, uniform


def _is_zero(x: Array) -> bool:
    """Whether an array is known to be 0 everywhere."""
    data = (uniform(x.value()) or x.value()).data
    return data is not None and not data.numpy().any()


def _whole_of(re: Array, im: Array) -> Array | None:
    """The array whose last dimension holds just these two parts, where they were taken from one."""
    makers = [made_by(part.value(), "Gather") for part in (re, im)]
    sources = {maker and maker.inputs[0] for maker in makers}
    whole = sources.pop()
    if whole is None or sources or (whole.tensor.shape or (0,))[-1] != 2:
        return None
    for position, maker in enumerate(makers):
        index = None if maker is None or maker.inputs[1] is None else maker.inputs[1].array()
        if maker is None or maker.attributes.get("axis") != -1 or index is None or index.shape or index != position:
            return None
    return re.make(whole)


def _stacked(*parts: Array) -> Array:
    """Parts as the last dimension of one array."""
    whole = _whole_of(*parts) if len(parts) == 2 else None
    return concat([part.unsqueeze(-1) for part in parts], -1) if whole is None else whole


@rule(DOMAIN, "part")
def part(op: Builder, node: Node) -> Results:
    """A part of the complex numbers that enter a model."""
    return Array(op, input_of(node, 0)).gather(node.attributes["index"], axis=-1).value()


@rule(DOMAIN, "stack")
def stacked(op: Builder, node: Node) -> Results:
    """The complex numbers that leave a model."""
    return _stacked(*arrays(op, input_of(node, 0), input_of(node, 1))).value()


@rule(DOMAIN, "real")
def real(op: Builder, node: Node) -> Results:
    """Of a real number; that of a complex one is gone with the pairs."""
    return input_of(node, 0)


@rule(DOMAIN, "imag")
def imag(op: Builder, node: Node) -> Results:
    """Of a real number: nothing."""
    x = input_of(node, 0)
    return full(op, 0, dtype_of(node, x), shape_of(node, x)).value()


def _complex(x: Array) -> Array:
    """A signal with both parts."""
    if x.sizes_known[-1] == 2:
        return x
    return x.make(x.op.Pad(x, x.op.const([0, 1]), None, x.op.const([-1])))


def _whole_spectrum(x: Array, axis: int, length: int) -> Array:
    """The whole spectrum of a real signal of this length, from its first half along `axis`."""
    x = _complex(x)
    half = length // 2 + 1
    if half == length:
        return x
    back = x[(*[slice(None)] * axis, slice(length - half, 0, -1))]
    return concat([x, back * np.array([1.0, -1.0])], axis)


def _dft(x: Array, axis: int, **attributes: int | None) -> Array:
    return x.make(x.op.DFT(x, None, x.op.const(axis), **attributes))


@rule(DOMAIN, "fft")
def fft(op: Builder, node: Node) -> Results:
    """FFT, IFFT, RFFT, IRFFT over the last dimensions, one after the other; one of size 1 stays as it is.

    IRFFT takes no notice of the imaginary parts of the constant and of the highest frequency: they end up in the
    imaginary part of its result, which is left out.
    """
    kind, lengths = node.attributes["fft_type"], node.attributes["fft_length"]
    sizes = [shape_of(node, value) for value in node.outputs]
    if 0 in sizes[0]:
        return [full(op, 0, dtype_of(node, input_of(node, 0)), size).value() for size in sizes]
    signal, *imaginary = arrays(op, *(input_of(node, index) for index in range(len(node.inputs))))
    x = _stacked(signal, *(part for part in imaginary if not _is_zero(part)))
    rank = len(sizes[0])
    axes = {rank - len(lengths) + position: length for position, length in enumerate(lengths)}
    last = axes[rank - 1]
    if kind == "RFFT" and last > 1:
        x = _dft(x, rank - 1, onesided=1)
    for axis, length in axes.items():
        if length > 1 and (axis < rank - 1 or kind in ("FFT", "IFFT")):
            x = _dft(x, axis, inverse=1 if kind.startswith("I") else None)
    if kind == "IRFFT" and last > 1:
        x = _dft(_whole_spectrum(x, rank - 1, last), rank - 1, inverse=1)
    if len(node.outputs) == 2:
        x = _complex(x)
    return [x.gather(position, axis=-1).value() for position in range(len(node.outputs))]


RULES = collect(globals())
