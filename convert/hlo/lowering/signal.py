"""Hub -> HLO: Fourier transforms."""

from __future__ import annotations

from ....passes.errors import InvalidModel, Unsupported
from ....passes.graph import Node, Value
from ....passes.preconditions import axis_of, dtype_of, flag, required
from ....passes.rewrite import Builder, collect, rule
from ....passes.sizes import OpenSize
from ....passes.types import DType, TensorType
from .tools import concatenate, convert, fill, ints_of, pad, reshape, scalar, sizes_of, slice_axis, transpose

_COMPLEX = {DType.FLOAT32: DType.COMPLEX64, DType.FLOAT64: DType.COMPLEX128}


@rule("", "DFT")
def dft(op: Builder, node: Node) -> Value:
    """DFT-20: along one axis of real [..., 1] or complex [..., 2] numbers, cut or filled up with 0 to a length."""
    x = required(node, 0)
    dtype, sizes = dtype_of(node, x), sizes_of(node, x)
    if len(sizes) > 1 and isinstance(sizes[-1], OpenSize):
        raise Unsupported(node, "whether its input is real or complex isn't known")
    if len(sizes) < 2 or sizes[-1] not in (1, 2):
        raise InvalidModel(f"{node!r}: {x.type} is neither real nor complex")
    axis = axis_of(node, (ints_of(node, 2, "axis") or [-2])[0], len(sizes))
    if axis == len(sizes) - 1:
        raise InvalidModel(f"{node!r}: its axis is that of the parts of a number")
    inverse, half = flag(node, "inverse"), flag(node, "onesided")
    if half and sizes[-1] != 1 + inverse:
        raise InvalidModel(f"{node!r}: half a spectrum is taken of real numbers, or made real again")
    length = (ints_of(node, 1, "length") or [2 * (sizes[axis] - 1) if half and inverse else sizes[axis]])[0]
    if length < 1:
        raise InvalidModel(f"{node!r}: a transform of {length} numbers")
    kind = dtype if dtype in _COMPLEX else DType.FLOAT32
    taken, given = length, length  # how many numbers the transform takes and gives
    if half:
        taken, given = (length // 2 + 1, length) if inverse else (length, length // 2 + 1)
    parts = _parts(op, node, convert(op, x, kind), axis, taken)
    inner = list(sizes_of(node, parts[0]))
    if half and not inverse:
        made = parts[0]
    else:
        other = parts[1] if len(parts) == 2 else fill(op, scalar(op, 0, kind), inner)
        made = op.call("complex", parts[0], other, _types=[TensorType(_COMPLEX[kind], tuple(inner))])
    result = (*inner[:-1], given)
    real = TensorType(kind, result)
    way = ("I" if inverse else "") + ("RFFT" if half else "FFT")
    type = real if half and inverse else TensorType(_COMPLEX[kind], result)
    made = op.call("fft", made, fft_type=way, fft_length=(length,), _types=[type])
    found = [made] if half and inverse else [op.call(name, made, _types=[real]) for name in ("real", "imag")]
    order = list(range(len(result) - 1))
    order.insert(axis, len(result) - 1)
    pair = [reshape(op, transpose(op, one, order), [*(result[at] for at in order), 1]) for one in found]
    return convert(op, concatenate(op, pair, len(result)) if len(pair) > 1 else pair[0], dtype)


def _parts(op: Builder, node: Node, x: Value, axis: int, count: int) -> list[Value]:
    """The parts of the numbers, the transform's axis last, cut or filled up to `count` of them."""
    sizes = sizes_of(node, x)
    if count < sizes[axis]:
        x = slice_axis(op, node, x, axis, 0, count)
    elif count > sizes[axis]:
        more = [(0, count - sizes[axis] if at == axis else 0) for at in range(len(sizes))]
        x = pad(op, x, scalar(op, 0, x.tensor.dtype or DType.FLOAT32), more)
    kept = [*sizes[:axis], count, *sizes[axis + 1 : -1]]
    order = [*(at for at in range(len(kept)) if at != axis), axis]
    last = len(sizes) - 1
    return [
        transpose(op, reshape(op, slice_axis(op, node, x, last, at, at + 1), kept), order) for at in range(sizes[-1])
    ]


RULES = collect(globals())
