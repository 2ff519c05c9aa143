"""Hub -> HLO: Fourier transforms."""

from __future__ import annotations

from ....passes.demands import dtype_of, required
from ....passes.errors import InvalidModel, Unsupported
from ....passes.graph import Node, Value
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType, TensorType
from .tools import axis_of, convert, cut, fill, flag, ints_of, join, pad, reshape, scalar, sizes_of, transpose

_COMPLEX = {DType.FLOAT32: DType.COMPLEX64, DType.FLOAT64: DType.COMPLEX128}


@rule("", "DFT")
def dft(op: Builder, node: Node) -> Value:
    """DFT-20: along one axis of real [..., 1] or complex [..., 2] numbers, cut or filled up with 0 to a length."""
    x = required(node, 0)
    dtype, sizes = dtype_of(node, x), sizes_of(node, x)
    if len(sizes) < 2 or sizes[-1] not in (1, 2):
        raise InvalidModel(f"{node!r}: {x.type} holds neither real nor complex numbers")
    axis = axis_of(node, (ints_of(node, 2, "its axis") or [-2])[0], len(sizes))
    if axis == len(sizes) - 1:
        raise InvalidModel(f"{node!r}: its axis is that of the parts of a number")
    length = (ints_of(node, 1, "its length") or [sizes[axis]])[0]
    inverse, half = flag(node, "inverse"), flag(node, "onesided")
    if half and (inverse or sizes[-1] == 2):
        raise Unsupported(node, "half of a spectrum of complex numbers, or backwards from half of one")
    if length < 1:
        raise InvalidModel(f"{node!r}: a transform of {length} numbers")
    kind = dtype if dtype in _COMPLEX else DType.FLOAT32
    x = convert(op, x, kind)
    if length < sizes[axis]:
        x = cut(op, node, x, axis, 0, length)
    elif length > sizes[axis]:
        more = [(0, length - sizes[axis] if at == axis else 0) for at in range(len(sizes))]
        x = pad(op, x, scalar(op, 0, kind), more)
    kept = [*sizes[:axis], length, *sizes[axis + 1 : -1]]
    order = [*(at for at in range(len(kept)) if at != axis), axis]
    last = len(sizes) - 1
    parts = [transpose(op, reshape(op, cut(op, node, x, last, at, at + 1), kept), order) for at in range(sizes[-1])]
    inner = [kept[at] for at in order]
    if half:
        result = [*inner[:-1], length // 2 + 1]
        made = _fft(op, parts[0], "RFFT", length, TensorType(_COMPLEX[kind], tuple(result)))
    else:
        result = inner
        whole = TensorType(_COMPLEX[kind], tuple(inner))
        imaginary = parts[1] if len(parts) == 2 else fill(op, scalar(op, 0, kind), inner)
        made = op.call("complex", parts[0], imaginary, _types=[whole])
        made = _fft(op, made, "IFFT" if inverse else "FFT", length, whole)
    back = [order.index(at) for at in range(len(order))]
    real = TensorType(kind, tuple(result))
    pair = [
        reshape(op, transpose(op, op.call(name, made, _types=[real]), back), [*(result[at] for at in back), 1])
        for name in ("real", "imag")
    ]
    return convert(op, join(op, pair, len(pair[0].tensor.shape or ()) - 1), dtype)


def _fft(op: Builder, x: Value, kind: str, length: int, type: TensorType) -> Value:
    return op.call("fft", x, fft_type=kind, fft_length=(length,), _types=[type])


RULES = collect(globals())
