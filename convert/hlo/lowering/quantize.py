"""Hub -> HLO: quantization by scales and zero points: one, one for each place along an axis, or one for each block."""

from __future__ import annotations

from ....passes.errors import InvalidModel, Unsupported
from ....passes.graph import Node, Value
from ....passes.preconditions import axis_of, dtype_of, required
from ....passes.protos import DTYPES
from ....passes.quantization import dequantizes_by_zero_point, quantizes_by_zero_point
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from .casts import cast_to
from .conv import forwards, with_bias
from .products import matrix_product
from .tools import Sizes, broadcast, broadcast_to, compare, convert, cut, fill, fold, limits, reshape, scalar, sizes_of

_EXACT = {DType.FLOAT16: 2048, DType.BFLOAT16: 256}
"""Up to where every integer is one of a float type."""


def _laid_out(op: Builder, node: Node, value: Value, shape: Sizes) -> Value:
    """Scales or zero points as one for each element: `axis` and `block_size` say how they lie."""
    have = sizes_of(node, value)
    if have in ((), (1,)):
        return fill(op, reshape(op, value, ()), shape)
    axis = axis_of(node, node.attributes.get("axis", 1), len(shape))
    block = node.attributes.get("block_size", 0)
    if not block:
        if len(have) != 1 or have[0] != shape[axis]:
            raise InvalidModel(f"{node!r}: {value.name!r} of shape {list(have)} along axis {axis} of {list(shape)}")
        return broadcast(op, value, shape, (axis,))
    if len(have) != len(shape) or -(-shape[axis] // block) != have[axis]:
        raise InvalidModel(f"{node!r}: {value.name!r} of shape {list(have)} for blocks of {block} of {list(shape)}")
    wide = (*have[: axis + 1], block, *have[axis + 1 :])
    spread_out = broadcast(op, value, wide, [at for at in range(len(wide)) if at != axis + 1])
    joined = reshape(op, spread_out, (*have[:axis], have[axis] * block, *have[axis + 1 :]))
    return cut(op, node, joined, axis, 0, shape[axis])


def quantized(op: Builder, node: Node, x: Value, zero: Value | None, target: DType) -> Value:
    """What was divided by its scale, rounded, moved by the zero point (of x's shape), within the type."""
    dtype = dtype_of(node, x)
    if not target.is_integer:
        if zero is not None and quantizes_by_zero_point(target):
            x = op.add(x, convert(op, zero, dtype))
        return cast_to(op, node, x, target)
    low, high = limits(target)
    whole = op.call("round-nearest-even", x)
    if max(-low, high) * 2 > _EXACT.get(dtype, 1 << 24):
        whole, dtype = convert(op, whole, DType.FLOAT32), DType.FLOAT32
    if zero is not None:
        whole = op.add(whole, convert(op, zero, dtype))
    within = op.clamp(scalar(op, low, dtype), whole, scalar(op, high, dtype))
    return convert(op, convert(op, within, DType.INT32) if target.bits < 8 else within, target)


def exactly_divided(op: Builder, a: Value, b: Value) -> Value:
    """A quotient of which no bit may differ: XLA else multiplies by 1 / b where b is the same for all, and what is
    rounded next comes out one off now and then. It doesn't look behind a barrier."""
    return op.divide(a, op.call("opt-barrier", b))


@rule("", "DynamicQuantizeLinear")
def dynamic_quantize_linear(op: Builder, node: Node) -> list[Value]:
    """Bytes for the range from the least element to the largest, 0 among them; the scale; the zero point.

    Nothing but zeros has the scale 1, not to divide by 0.
    """
    x = required(node, 0)
    dtype, axes = dtype_of(node, x), list(range(len(sizes_of(node, x))))
    zero, most = scalar(op, 0, dtype), scalar(op, 255, dtype)
    low = op.minimum(fold(op, node, x, axes, "minimum"), zero)
    high = op.maximum(fold(op, node, x, axes, "maximum"), zero)
    span = op.subtract(high, low)
    scale = op.select(compare(op, span, zero, "EQ"), scalar(op, 1, dtype), exactly_divided(op, span, most))
    begin = op.subtract(zero, exactly_divided(op, low, scale))
    point = op.call("round-nearest-even", op.clamp(zero, begin, most))
    shape = sizes_of(node, x)
    divided = exactly_divided(op, x, fill(op, scale, shape))
    made = quantized(op, node, divided, fill(op, point, shape), DType.UINT8)
    return [made, scale, convert(op, point, DType.UINT8)]


@rule("", "QuantizeLinear")
def quantize_linear(op: Builder, node: Node) -> Value:
    """Divided in the type of the scale, unless `precision` says in which."""
    x, scale, zero = required(node, 0), required(node, 1), node.input(2)
    to, precision = node.attributes.get("output_dtype", 0), node.attributes.get("precision", 0)
    target = dtype_of(node, zero) if zero is not None else DTYPES[to] if to else DType.UINT8
    dtype = DTYPES[precision] if precision else dtype_of(node, scale)
    if dtype is DType.FLOAT8E8M0 or not dtype.is_float:
        dtype = dtype_of(node, x) if dtype_of(node, x).is_float else DType.FLOAT32
    shape = sizes_of(node, x)
    divisor = _laid_out(op, node, cast_to(op, node, scale, dtype), shape)
    if zero is not None and zero.data is not None and not zero.data.numpy().any():
        zero = None
    laid = None if zero is None else _laid_out(op, node, convert(op, zero, DType.FLOAT32), shape)
    return quantized(op, node, exactly_divided(op, convert(op, x, dtype), divisor), laid, target)


@rule("", "DequantizeLinear")
def dequantize_linear(op: Builder, node: Node) -> Value:
    x, scale, zero = required(node, 0), required(node, 1), node.input(2)
    to = node.attributes.get("output_dtype", 0)
    target = DTYPES[to] if to else dtype_of(node, scale)
    if target is DType.FLOAT8E8M0:
        target = DType.FLOAT32
    shape = sizes_of(node, x)
    moved = _moved(op, node, x, None if zero is None else _laid_out(op, node, zero, shape))
    number = convert(op, moved, DType.FLOAT32)
    factor = _laid_out(op, node, cast_to(op, node, scale, DType.FLOAT32), shape)
    return convert(op, op.multiply(number, factor), target)


def _moved(op: Builder, node: Node, x: Value, zero: Value | None) -> Value:
    """Integers less their zero points as int32, floats as they are."""
    if not dequantizes_by_zero_point(dtype_of(node, x)):
        return convert(op, x, DType.FLOAT32)
    x = convert(op, x, DType.INT32)
    if zero is None or (zero.data is not None and not zero.data.numpy().any()):
        return x
    return op.subtract(x, broadcast_to(op, node, convert(op, zero, DType.INT32), sizes_of(node, x)))


# products of integers -----------------------------------------------------------------------------


def _rows(op: Builder, node: Node, value: Value | None, of: Value) -> Value | None:
    """Scales or zero points of the rows of a matrix, so that they broadcast with it."""
    if value is None:
        return None
    have = sizes_of(node, value)
    if len(have) == 1 and have[0] != 1 and len(sizes_of(node, of)) > 1:
        return reshape(op, value, (have[0], 1))
    return reshape(op, value, ()) if have == (1,) else value


def _channels(op: Builder, node: Node, value: Value | None, rank: int) -> Value | None:
    """Scales or zero points of a kernel's output channels, so that they broadcast with dimension 0."""
    if value is None:
        return None
    have = sizes_of(node, value)
    return reshape(op, value, ()) if have in ((), (1,)) else reshape(op, value, (have[0], *[1] * (rank - 1)))


@rule("", "MatMulInteger")
def matmul_integer(op: Builder, node: Node) -> Value:
    a, b = required(node, 0), required(node, 1)
    moved = _moved(op, node, a, _rows(op, node, node.input(2), a)), _moved(op, node, b, node.input(3))
    return matrix_product(op, node, *moved)


@rule("", "ConvInteger")
def conv_integer(op: Builder, node: Node) -> Value:
    x, w = required(node, 0), required(node, 1)
    zero = _channels(op, node, node.input(3), len(sizes_of(node, w)))
    return forwards(op, node, _moved(op, node, x, node.input(2)), _moved(op, node, w, zero), DType.INT32)


def _scaled(op: Builder, node: Node, total: Value, first: Value, second: Value, last: Value) -> Value:
    """int32 sums as numbers of the result's scale: times both scales, by the third."""
    dtype = DType.FLOAT32
    shape = sizes_of(node, total)
    numbers = [cast_to(op, node, value, dtype) for value in (first, second, last)]
    up, more, down = (
        broadcast_to(op, node, reshape(op, value, ()) if sizes_of(node, value) == (1,) else value, shape)
        for value in numbers
    )
    return op.multiply(convert(op, total, dtype), exactly_divided(op, op.multiply(up, more), down))


@rule("", "QLinearMatMul")
def qlinear_matmul(op: Builder, node: Node) -> Value:
    a, a_scale, a_zero, b, b_scale, b_zero, scale, zero = (required(node, index) for index in range(8))
    target = dtype_of(node, zero)
    moved = _moved(op, node, a, _rows(op, node, a_zero, a)), _moved(op, node, b, b_zero)
    total = matrix_product(op, node, *moved)
    rows = _rows(op, node, a_scale, a)
    assert rows is not None
    made = _scaled(op, node, total, rows, b_scale, scale)
    return quantized(op, node, made, broadcast_to(op, node, _one(op, node, zero), sizes_of(node, made)), target)


def _one(op: Builder, node: Node, zero: Value) -> Value:
    if sizes_of(node, zero) not in ((), (1,)):
        raise Unsupported(node, "a result with several zero points")
    return reshape(op, zero, ())


@rule("", "QLinearConv")
def qlinear_conv(op: Builder, node: Node) -> Value:
    x, x_scale, x_zero, w, w_scale, w_zero, scale, zero = (required(node, index) for index in range(8))
    rank = len(sizes_of(node, x))
    kernel = _moved(op, node, w, _channels(op, node, w_zero, rank))
    total = forwards(op, node, _moved(op, node, x, _one(op, node, x_zero)), kernel, DType.INT32)
    total = with_bias(op, total, node.input(8), sizes_of(node, total))
    factor = _channels(op, node, w_scale, rank - 1)
    assert factor is not None
    made = _scaled(op, node, total, _one(op, node, x_scale), factor, _one(op, node, scale))
    laid = broadcast_to(op, node, _one(op, node, zero), sizes_of(node, made))
    return quantized(op, node, made, laid, dtype_of(node, zero))


RULES = collect(globals())
