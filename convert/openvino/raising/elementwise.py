"""Element by element: arithmetic, comparison, logic, bits, conversions, rounding, activation functions."""

from __future__ import annotations

import math
from typing import Any

from ....passes.build import cast, constant_like, expr, reshape, size_of, squeeze, where_values
from ....passes.errors import InvalidModel, Unsupported
from ....passes.graph import Node, Value
from ....passes.preconditions import dtype_of, input_of, size_of_axis
from ....passes.protos import ENUMS, enum_of
from ....passes.rewrite import Builder, collect, combine, rule
from ....passes.types import BYTES, HALVES, DType, TensorType
from ..dialect import DOMAIN
from ..workarounds import FLOOR, SATURATED
from .support import Results, aligned, call, constant, element_type, round_half_away, rows, scalar


@rule(DOMAIN, "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor")
def bitwise(op: Builder, node: Node) -> Results:
    """Bitwise*-13: on booleans the logical operator."""
    inputs = aligned(op, node, 1 if node.op_type == "BitwiseNot" else 2)
    logical = inputs[0].tensor.dtype is DType.BOOL
    return op.call(node.op_type.removeprefix("Bitwise") if logical else node.op_type, *inputs)


@rule(DOMAIN, "BitwiseLeftShift", "BitwiseRightShift")
def shift(op: Builder, node: Node) -> Results:
    """BitwiseLeftShift-15, BitwiseRightShift-15: signed ones shift left as unsigned, right with their sign."""
    a, b = aligned(op, node)
    dtype = dtype_of(node, a)
    left = node.op_type == "BitwiseLeftShift"
    if not dtype.is_signed:
        return op.BitShift(a, b, direction="LEFT" if left else "RIGHT")
    unsigned = DType(f"u{dtype.value}")
    if left:
        return cast(op, op.BitShift(cast(op, a, unsigned), cast(op, b, unsigned), direction="LEFT"), dtype)
    # of a negative number ~(~a >> b), which never shifts a sign
    negative = op.Less(a, constant_like(op, 0, a))
    bits = op.Where(negative, op.BitwiseNot(a), a)
    moved = cast(op, op.BitShift(cast(op, bits, unsigned), cast(op, b, unsigned), direction="RIGHT"), dtype)
    return op.Where(negative, op.BitwiseNot(moved), moved)


def _disagrees(op: Builder, remainder: Value, divisor: Value) -> Value:
    """Where a remainder isn't zero and its sign isn't the divisor's."""
    zero = constant_like(op, 0, remainder)
    signs = op.Xor(op.Less(remainder, zero), op.Less(divisor, zero))
    return op.And(op.Not(op.Equal(remainder, zero)), signs)


@rule(DOMAIN, "Divide")
def divide(op: Builder, node: Node) -> Results:
    """Divide-1: of integers the floor, unless `m_pythondiv` is false; ONNX's Div truncates, and so does the CPU."""
    a, b = aligned(op, node)
    dtype = dtype_of(node, a)
    quotient = call(op, "Div", a, b)
    if not dtype.is_integer or not dtype.is_signed or not node.attributes.get("m_pythondiv", True):
        return quotient
    if op.rewriter.workarounds.take(FLOOR):
        return quotient
    op.rewriter.notes.append(f"{node!r}: rounds down, as m_pythondiv says; OpenVINO's CPU runtime rounds towards zero")
    wrong = _disagrees(op, op.Mod(a, b, fmod=1), b)
    return op.Sub(quotient, cast(op, wrong, dtype))


@rule(DOMAIN, "Add", "Multiply", "Subtract")
def saturated(op: Builder, node: Node) -> Results | None:
    """Add-1, Multiply-1, Subtract-1 of 8-bit integers: the CPU stops at the type's limits."""
    dtype = input_of(node).tensor.dtype
    if dtype not in BYTES or not op.rewriter.workarounds.take(SATURATED):
        return None
    a, b = (cast(op, value, DType.INT32) for value in aligned(op, node))
    made = op.call({"Multiply": "Mul", "Subtract": "Sub"}.get(node.op_type, node.op_type), a, b)
    low, high = (op.const(limit, DType.INT32) for limit in dtype.integer_limits)
    return cast(op, op.Min(op.Max(made, low), high), dtype)


@rule(DOMAIN, "Power")
def power(op: Builder, node: Node) -> Results:
    """Power-1: of integers as int64, which has the same low bits; ONNX's Pow takes few integers."""
    a, b = aligned(op, node)
    dtype = dtype_of(node, a)
    if not dtype.is_integer or dtype in (DType.INT32, DType.INT64):
        return call(op, "Pow", a, b)
    return cast(op, op.Pow(cast(op, a, DType.INT64), cast(op, b, DType.INT64)), dtype)


@rule(DOMAIN, "FloorMod")
def floor_mod(op: Builder, node: Node) -> Results:
    """FloorMod-1: the sign of the divisor. ONNX's Mod does that for integers only."""
    a, b = aligned(op, node)
    if not dtype_of(node, a).is_float:
        return call(op, "Mod", a, b)
    remainder = call(op, "Mod", a, b, fmod=1)
    return op.Where(_disagrees(op, remainder, b), op.Add(remainder, b), remainder)


@rule(DOMAIN, "SquaredDifference")
def squared_difference(op: Builder, node: Node) -> Results:
    """SquaredDifference-1."""
    difference = call(op, "Sub", *aligned(op, node))
    return call(op, "Mul", difference, difference)


@rule(DOMAIN, "Equal")
def equal(op: Builder, node: Node) -> Results | None:
    """Equal-1 of 0 and the bits that differ: what the bits are of is compared (`lowering/large_integers.py`)."""
    pair = _differing(node)
    if pair is None:
        return None
    other = _compared(*pair)
    return op.Equal(*pair) if other is None else op.LessOrEqual(pair[1], other)


@rule(DOMAIN, "NotEqual")
def not_equal(op: Builder, node: Node) -> Results:
    """NotEqual-1."""
    pair = _differing(node)
    if pair is None:
        return op.Not(call(op, "Equal", *aligned(op, node)))
    other = _compared(*pair)
    return op.Not(op.Equal(*pair)) if other is None else op.Less(other, pair[1])


def _differing(node: Node) -> tuple[Value, Value] | None:
    """Two integers whose bits that differ are compared with 0."""
    bits, zero = node.input(0), constant(node.input(1))
    maker = None if bits is None else bits.producer
    if maker is None or maker.op != ("", "BitwiseXor") or zero is None or zero.shape or zero.any():
        return None
    return input_of(maker, 0), input_of(maker, 1)


def _compared(least: Value, one: Value) -> Value | None:
    """The other one of two numbers, of which `least` is the smaller."""
    maker = least.producer
    if maker is None or maker.op != ("", "Min") or len(maker.inputs) != 2 or one not in maker.inputs:
        return None
    return input_of(maker, int(maker.inputs[0] is one))


@rule(DOMAIN, "Select")
def select(op: Builder, node: Node) -> Results:
    """Select-1: "pdpd" aligns with the second input."""
    condition, chosen, other = aligned(op, node, 3, base=1)
    return where_values(op, cast(op, condition, DType.BOOL), chosen, other)


@rule(DOMAIN, "IsFinite")
def is_finite(op: Builder, node: Node) -> Results:
    """IsFinite-10."""
    x = input_of(node)
    return op.Not(op.Or(call(op, "IsInf", x), call(op, "IsNaN", x)))


@rule(DOMAIN, "Round")
def round_(op: Builder, node: Node) -> Results:
    """Round-5: half_to_even is ONNX's; half_away_from_zero goes over the magnitude's floor, which is exact."""
    x = input_of(node)
    if not dtype_of(node, x).is_float:
        return op.Identity(x)
    mode = str(node.attributes.get("mode", "half_to_even")).lower()
    if mode == "half_to_even":
        return call(op, "Round", x)
    if mode != "half_away_from_zero":
        raise Unsupported(node, f"mode is {mode!r}")
    return round_half_away(expr(op, x)).value()


@rule(DOMAIN, "Clamp")
def clamp(op: Builder, node: Node) -> Results:
    """Clamp-1: the bounds of an integer are rounded inwards and clamped to its range."""
    x = input_of(node)
    dtype = dtype_of(node, x)
    low, high = float(node.attributes.get("min", -math.inf)), float(node.attributes.get("max", math.inf))
    bounds: list[Any] = [low, high]
    if dtype.is_integer:
        least, most = dtype.finite_limits
        bounds = [
            least if low <= least else most if low >= most else math.ceil(low),
            most if high >= most else least if high <= least else math.floor(high),
        ]
    return call(op, "Clip", x, constant_like(op, bounds[0], x), constant_like(op, bounds[1], x))


_UNSATURATED = (DType.FLOAT8E4M3FN, DType.FLOAT8E5M2)  # what is too large becomes NaN, infinity

# conversions ---------------------------------------------------------------------------------------


def _converted(op: Builder, node: Node, value: Value, dtype: DType) -> Value:
    source = dtype_of(node, value)
    enum_of(dtype, node)
    if source in ENUMS:
        types = [TensorType(dtype, value.tensor.shape)]
        return op.Cast(value, to=enum_of(dtype, node), saturate=0 if dtype in _UNSATURATED else None, _types=types)
    array = constant(value)
    if array is None or not source.is_integer:
        raise Unsupported(node, f"ONNX has no element type {source.value}")
    return op.const(array.astype(dtype.numpy), dtype)  # u1, u3, u6: the codes are the numbers


@rule(DOMAIN, "Convert")
def convert(op: Builder, node: Node) -> Results:
    """Convert-1. A constant of a type that ONNX hasn't (u1, u3, u6) is converted here."""
    dtype = element_type(node, "destination_type") or node.output.tensor.dtype
    if dtype is None:
        raise Unsupported(node, "destination_type isn't given")
    return _converted(op, node, input_of(node), dtype)


@rule(DOMAIN, "ConvertLike")
def convert_like(op: Builder, node: Node) -> Results:
    """ConvertLike-1."""
    return _converted(op, node, input_of(node), dtype_of(node, input_of(node, 1)))


_HALVES = {
    frozenset((DType.FLOAT8E4M3FN, DType.FLOAT8E5M2)): DType.FLOAT16,
    frozenset(HALVES): DType.FLOAT32,
}  # the types of one size that have a common one


def _common(node: Node, a: Value, b: Value) -> DType | None:
    """The type that ConvertPromoteTypes brings both operands to, None where there is none."""
    one, other = dtype_of(node, a), dtype_of(node, b)
    if one is other or other is DType.BOOL:
        return one
    if one is DType.BOOL:
        return other
    unsafe = bool(node.attributes.get("promote_unsafe", False))
    if one.is_float != other.is_float:
        real, whole = (one, other) if one.is_float else (other, one)
        return real if unsafe or real.bits >= 2 * whole.bits else None
    if node.attributes.get("pytorch_scalar_promotion", False) and (a.rank == 0) != (b.rank == 0):
        scalar, target = (one, other) if a.rank == 0 else (other, one)
        room = target.bits * (2 if target.is_signed and not scalar.is_signed else 1)
        fits = target.is_signed >= scalar.is_signed and room >= scalar.bits
        return target if unsafe or fits else None
    if one.is_signed != other.is_signed:
        signed, unsigned = (one, other) if one.is_signed else (other, one)
        if unsigned.bits <= 32 and (unsafe or 2 * unsigned.bits <= signed.bits):
            return DType(f"int{max(2 * unsigned.bits, signed.bits)}")
        return element_type(node, "u64_integer_promotion_target", "f32") if unsafe else None
    if one.bits != other.bits:
        return max(one, other, key=lambda dtype: dtype.bits)
    return _HALVES.get(frozenset((one, other))) if unsafe else None


@rule(DOMAIN, "ConvertPromoteTypes")
def convert_promote_types(op: Builder, node: Node) -> Results:
    """ConvertPromoteTypes-14: both operands in one type that holds the values of both, nearly so if it's `unsafe`."""
    a, b = input_of(node, 0), input_of(node, 1)
    dtype = _common(node, a, b)
    if dtype is None:
        raise InvalidModel(f"{node!r}: no common type of {dtype_of(node, a).value} and {dtype_of(node, b).value}")
    return [_converted(op, node, value, dtype) for value in (a, b)]


# activation functions ------------------------------------------------------------------------------


def _single(value: Value | None) -> float | None:
    """A constant of one element."""
    array = constant(value)
    return float(array.reshape(-1)[0]) if array is not None and array.size == 1 else None


@rule(DOMAIN, "HardSigmoid")
def hard_sigmoid(op: Builder, node: Node) -> Results:
    """HardSigmoid-1: alpha and beta are inputs."""
    x, alpha, beta = input_of(node, 0), input_of(node, 1), input_of(node, 2)
    known = _single(alpha), _single(beta)
    if known[0] is not None and known[1] is not None:
        return call(op, "HardSigmoid", x, alpha=known[0], beta=known[1])
    line = op.Add(op.Mul(scalar(op, alpha), x), scalar(op, beta))
    return op.Clip(line, constant_like(op, 0, x), constant_like(op, 1, x))


@rule(DOMAIN, "Selu")
def selu(op: Builder, node: Node) -> Results:
    """Selu-1: alpha and lambda are inputs."""
    x, alpha, gamma = input_of(node, 0), input_of(node, 1), input_of(node, 2)
    known = _single(alpha), _single(gamma)
    if known[0] is not None and known[1] is not None:
        return call(op, "Selu", x, alpha=known[0], gamma=known[1])
    zero = constant_like(op, 0, x)
    below = op.Mul(scalar(op, alpha), op.Sub(op.Exp(op.Min(x, zero)), constant_like(op, 1, x)))
    return op.Mul(scalar(op, gamma), op.Where(op.Greater(x, zero), x, below))


@rule(DOMAIN, "Swish")
def swish(op: Builder, node: Node) -> Results:
    """Swish-4: x * sigmoid(beta * x), beta an optional input."""
    x, beta = input_of(node, 0), node.input(1)
    if beta is None:
        return op.Swish(x)
    known = _single(beta)
    if known is not None:
        return op.Swish(x, alpha=known)
    return op.Mul(x, op.Sigmoid(op.Mul(scalar(op, beta), x)))


@rule(DOMAIN, "PReLU")
def prelu(op: Builder, node: Node) -> Results:
    """PReLU-1: a vector of slopes as long as dimension 1 is the channels', else NumPy's rule; the shape is x's."""
    x, slope = input_of(node, 0), input_of(node, 1)
    rank = x.rank
    if slope.rank == 1 and rank is not None and rank > 2:
        count, channels = size_of_axis(slope, 0), size_of_axis(x, 1)
        by_channel, by_last = [1, -1] + [1] * (rank - 2), [1] * (rank - 1) + [-1]
        if count is not None and channels is not None:
            slope = reshape(op, slope, by_channel if count == channels else by_last)
        elif count != 1:
            same = op.Equal(size_of(op, x, 1), size_of(op, slope, 0))
            slope = op.Reshape(slope, op.Where(same, op.const(by_channel), op.const(by_last)))
    if slope.rank is not None and rank is not None:
        more = range(slope.rank - rank)
        if any(size_of_axis(slope, axis) not in (1, None) for axis in more):
            raise InvalidModel(f"{node!r}: slopes of {slope.tensor} don't go with {x.tensor}")
        return call(op, "PRelu", x, squeeze(op, slope, more))
    return op.Reshape(op.Where(op.Less(x, constant_like(op, 0, x)), op.Mul(x, slope), x), op.Shape(x), allowzero=1)


RULES = combine(collect(globals()), rows())
