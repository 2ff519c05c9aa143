"""Hub -> HLO: Cast and its kin. HLO's `convert` wraps integers and saturates floats; the rest is told here."""

from __future__ import annotations

from ....passes.errors import Unsupported
from ....passes.graph import Node, Value
from ....passes.preconditions import dtype_of, flag, required
from ....passes.protos import DTYPES
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType, TensorType
from ..dialect import NAMES
from .tools import Results, compare, convert, like, result_sizes, scalar, word

_SATURATED = frozenset([DType.FLOAT8E4M3FN, DType.FLOAT8E4M3FNUZ, DType.FLOAT8E5M2, DType.FLOAT8E5M2FNUZ])
_NARROW = (DType.INT2, DType.UINT2, DType.INT4, DType.UINT4, DType.INT8, DType.UINT8, DType.INT16, DType.UINT16)
_CUT = {**dict.fromkeys(_NARROW, DType.INT32), DType.UINT32: DType.INT64}
"""Through what floats become integers: ONNX leaves open what is out of range; runtimes keep the lowest bits of this."""


@rule("", "Cast")
def cast(op: Builder, node: Node) -> Value:
    return cast_to(op, node, required(node, 0), DTYPES[node.attributes["to"]])


def cast_to(op: Builder, node: Node, x: Value, target: DType) -> Value:
    """`convert`; floats of eight bits and less take their largest number for what is larger, unless told otherwise."""
    source = dtype_of(node, x)
    if source is target:
        return x
    for dtype in (source, target):
        if dtype not in NAMES:
            raise Unsupported(node, f"HLO has no element type {dtype.value}")
    if DType.FLOAT8E8M0 in (source, target):
        return _powers_of_two(op, node, x, target)
    if target in _SATURATED and flag(node, "saturate", 1):
        x = saturated(op, node, x, target)
    if target is DType.FLOAT4E2M1:
        x = saturated(op, node, x, target)
        if source.is_float:  # it has no NaN
            x = op.select(compare(op, x, x, "NE"), like(op, node, 0, x), x)
    if source.is_float and target in _CUT:
        x = convert(op, x, _CUT[target])
    made = convert(op, x, target)
    if source.is_float and target is DType.UINT64:  # there is nothing wider: those below 0 go through int64
        below = compare(op, x, like(op, node, 0, x), "LT")
        made = op.select(below, convert(op, convert(op, x, DType.INT64), target), made)
    return made


def saturated(op: Builder, node: Node, x: Value, target: DType) -> Value:
    """A number within the finite ones of `target`; NaN stays NaN."""
    source = dtype_of(node, x)
    if source is DType.BOOL:
        return x
    most = target.finite_limits[1]
    if source.is_integer:
        if 2**source.bits <= most:
            return x
        x = convert(op, x, DType.FLOAT32)
        source = DType.FLOAT32
    elif source.finite_limits[1] <= most:
        return x
    return op.clamp(scalar(op, -most, source), x, scalar(op, most, source))


def _powers_of_two(op: Builder, node: Node, x: Value, target: DType) -> Value:
    """float8e8m0 -> others exactly; others -> float8e8m0 by the exponent, as `round_mode` says."""
    source = dtype_of(node, x)
    if source is DType.FLOAT8E8M0:
        return convert(op, convert(op, x, DType.FLOAT32), target)
    mode = word(node, "round_mode", "up")
    if mode not in ("up", "down", "nearest"):
        raise Unsupported(node, f"round_mode={mode!r}")
    shape = x.tensor.shape
    size = op.abs(convert(op, x, DType.FLOAT32))
    bits = op.call("bitcast-convert", size, _types=[TensorType(DType.UINT32, shape)])
    exponent = op.call("shift-right-logical", bits, like(op, node, 23, bits))
    rest = op.call("and", bits, like(op, node, 0x7FFFFF, bits))
    one, zero = like(op, node, 1, bits), like(op, node, 0, bits)
    if mode != "down":
        limit = 0 if mode == "up" else 0x3FFFFF
        more = compare(op, rest, like(op, node, limit, bits), "GT")
        exponent = op.add(exponent, op.select(more, one, zero))
    if flag(node, "saturate", 1):
        exponent = op.minimum(exponent, like(op, node, 254, bits))
    nan = compare(op, size, size, "NE")
    exponent = op.select(nan, like(op, node, 255, bits), exponent)
    code = convert(op, exponent, DType.UINT8)
    return op.call("bitcast-convert", code, _types=[TensorType(DType.FLOAT8E8M0, shape)])


@rule("", "BitCast")
def bit_cast(op: Builder, node: Node) -> Results:
    """`bitcast-convert`; a bool is a byte, of which XLA has no bits."""
    x, target = required(node, 0), DTYPES[node.attributes["to"]]
    if dtype_of(node, x) is target:
        return x
    if dtype_of(node, x) is DType.BOOL:
        x = convert(op, x, DType.UINT8)
    made = DType.UINT8 if target is DType.BOOL else target
    if dtype_of(node, x) is not made:
        x = op.call("bitcast-convert", x, _types=[TensorType(made, result_sizes(node))])
    return convert(op, x, target) if target is DType.BOOL else x


RULES = collect(globals())
