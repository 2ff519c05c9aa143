"""Elementwise arithmetic and comparisons going down: Mod, Round, Pow, Clip, extremes, equality, NaN and infinity."""

from __future__ import annotations

import numpy as np

from ..build import Expr, expr, where
from ..build.values import clip_bounds, limited
from ..constant_analysis import static_array
from ..decompose.arithmetic import total
from ..errors import Unsupported
from ..graph import Node, Value
from ..preconditions import dtype_of, power_type, required
from ..types import DType
from .build import StepBuilder
from .loop_decompositions import Pass, looped
from .steps import (
    INT64_MAX,
    SHORT_INTEGERS,
    Made,
    Step,
    as_type,
    attribute,
    chained,
    changed,
    constant,
    decomposed,
    numbers,
    rows,
    same,
    work_type,
)

_I32, _I64, _F32, _F64, _BOOL = DType.INT32, DType.INT64, DType.FLOAT32, DType.FLOAT64, DType.BOOL


def _operands(node: Node) -> list[Value]:
    return [value for value in node.formal_inputs if value is not None]


def _two_operands(op: StepBuilder, node: Node, dtype: DType | None = None) -> tuple[Expr, Expr]:
    """The two operands as expressions, in another element type where one is given."""
    a, b = (expr(op.newest, required(node, index), dtype) for index in range(2))
    return a, b


# Mod ---------------------------------------------------------------------------------------------


def _modulo(op: StepBuilder, node: Node) -> Made:
    """Mod-10: of integers by a division, which cuts off; of floats by long division.

    INT_MIN is never divided by -1: only the divisor's magnitude counts for the remainder.
    """
    kind = dtype_of(node, required(node, 0))
    if kind.is_float:
        return _float_modulo(op, node, kind) if attribute(node, "fmod", 0) else _floor_modulo(op, node)
    a, b = _two_operands(op, node, _I32 if kind in SHORT_INTEGERS else kind)
    known = constant(node, 1)
    positive = not kind.is_signed or (known is not None and bool((known > 0).all()))
    divisor = b if positive else b.abs()
    made = a - a.call("Div", divisor) * divisor
    if kind.is_signed and not attribute(node, "fmod", 0):
        made = _signed_as(made, b, positive)
    return made.cast(kind).value()


def _signed_as(remainder: Expr, b: Expr, positive: bool = False) -> Expr:
    """One more divisor where the remainder has the other sign."""
    other = remainder < 0
    if not positive:
        other = other & (b > 0) | (remainder > 0) & (b < 0)
    return where(other, remainder + b, remainder)


def _float_modulo(op: StepBuilder, node: Node, kind: DType) -> Made:
    """C's fmod, which is exact (float16's is computed as float32): |b| is doubled until it nearly reaches |a|, and on
    its way back taken off wherever it fits; none of that rounds."""
    a, b = _two_operands(op, node, work_type(kind))
    size, least = a.abs(), b.abs()
    finite = size < np.inf
    valid = finite & (least < np.inf) & (least > 0)
    dividend, divisor = where(valid, size, 0).value(), where(valid, least, 1).value()
    (most,) = looped(op, None, [divisor], [dividend], _doubled)
    rest = expr(op.newest, looped(op, None, [most, dividend], [divisor], _taken_off)[1])
    signed = where(rest > 0, where(a < 0, -rest, rest), a.call("Mul", 0))  # a zero has the sign of a
    alone = finite & ~(least < np.inf) & (least > 0)  # an infinite b, not NaN
    return where(valid, signed, where(alone, a, np.nan)).cast(kind).value()


def _doubled(one: Pass) -> tuple[Value, list[Value]]:
    part, whole = expr(one.op.newest, one.states[0]), one.seen[0]
    twice = part + part
    made = where(twice > whole, part, twice)
    return _any(~(made + made > whole)), [made.value()]


def _taken_off(one: Pass) -> tuple[Value, list[Value]]:
    part, rest = (expr(one.op.newest, state) for state in one.states)
    more = part > one.seen[0]
    left = where(part > rest, rest, rest - part)
    return _any(more), [where(more, part * 0.5, part).value(), left.value()]


def _any(condition: Expr) -> Value:
    """Whether a condition holds for any element."""
    return (condition.cast(_F32).sum() > 0).value()


def _floor_modulo(op: StepBuilder, node: Node) -> Made:
    """Mod of floats with fmod=0 came with version 28 (and was used before): a zero, too, has the sign of b."""
    kind = dtype_of(node, required(node, 0))
    if attribute(node, "fmod", 0) or not kind.is_float:
        return None
    a, b = _two_operands(op, node)
    made = _signed_as(a.call("Mod", b, fmod=1), b)
    return where(made.equals(0), where(b < 0, b.like(-0.0), 0), made).value()


# rounding, powers --------------------------------------------------------------------------------


def _round(op: StepBuilder, node: Node) -> Value:
    """Round-11, by magnitudes, whose fractions are exact: up where the fraction is more than a half, or a half above
    an odd number. What has no fraction (NaN and infinity, too) stays."""
    x = expr(op.newest, required(node, 0))
    size = x.abs()
    whole = size.floor()
    fraction, pairs = size - whole, whole * 0.5
    up = (fraction > 0.5) | (pairs > pairs.floor()) & ~(fraction < 0.5)
    made = whole + up.cast(dtype_of(node, required(node, 0)))
    return where(fraction > 0, where(x < 0, -made, made), x).value()


def _power(op: StepBuilder, node: Node) -> Made:
    """Pow-7 takes floats of one type. A float base to an integer power, and an integer to a float power (cut off),
    are computed in a float type that holds both."""
    base, exponent = required(node, 0), required(node, 1)
    kind, other = dtype_of(node, base), dtype_of(node, exponent)
    if kind is other and kind.is_float:
        return None
    if kind.is_integer and other.is_integer:
        return _integer_power(op, node, kind)
    known = constant(node, 1)
    work = power_type(kind, other, known) if kind.is_float else _F64
    if known is not None and work is kind:
        return op.Pow(base, op.const(known.astype(kind.numpy), kind))
    return as_type(op, op.Pow(as_type(op, base, work), as_type(op, exponent, work)), kind)


def _integer_power(op: StepBuilder, node: Node, kind: DType) -> Value:
    """By squaring. Of an exponent above 63 only its lowest bit matters to -1, 0 and 1; everything else overflows.
    To a negative power, everything but 1 and -1 is cut off to 0 (0 itself has none)."""
    known, (square, exponent) = constant(node, 1), _two_operands(op, node, _I64)
    small = known is not None and bool(((known >= 0) & (known <= 63)).all())
    if not small:
        size = exponent.abs()
        square = where((exponent < 0) & (square.abs() > 1), 0, square)
        exponent = where(size > 63, size - size // 2 * 2 + 62, size)
    bits = int(np.max(known, initial=1)).bit_length() if small and known is not None else 6
    made: Expr | None = None
    for bit in range(bits):
        half = exponent // 2
        factor = where((exponent - half * 2).equals(1), square, 1)
        made = factor if made is None else made * factor
        if bit < bits - 1:
            square, exponent = square * square, half
    assert made is not None
    return made.cast(kind).value()


# Clip, extremes ----------------------------------------------------------------------------------


def _clip_inputs(op: StepBuilder, node: Node) -> Made:
    """Bounds became inputs of the input's type. Version 6's defaults are float32's for every type (which are infinite
    in float16), later ones the type's own."""
    x = required(node, 0)
    inputs: list[Value | None] = [x]
    for name, default in zip(("min", "max"), _F32.finite_limits, strict=True):
        value = attribute(node, name, None if x.tensor.dtype is _F32 else default)
        with np.errstate(over="ignore"):
            inputs.append(None if value is None else op.const(np.asarray(value), dtype_of(node, x)))
    return changed(node, inputs=inputs, without=("min", "max"))


def _clip_attributes(op: StepBuilder, node: Node) -> Made:
    """Bounds that version 6 can't express as numbers are said by Max and Min; those that cross, too, which ONNX Runtime
    refuses there."""
    x = required(node, 0)
    low, high = clip_bounds(op, node)
    assert low is not None and high is not None
    arrays = [static_array(low), static_array(high)]
    numbers = [float(array.item()) for array in arrays if array is not None and array.size == 1]
    with np.errstate(over="ignore"):
        exact = len(numbers) == 2 and all(float(np.float32(one)) == one for one in numbers)
    if exact and numbers[0] <= numbers[1]:
        pairs = zip(numbers, _F32.finite_limits, strict=True)
        least, most = (None if one == default else one for one, default in pairs)
        return changed(node, inputs=[x], min=least, max=most)
    return limited(op, x, low, high)


def _clip_integers(op: StepBuilder, node: Node) -> Made:
    """Clip of integers, which came with version 12."""
    made = required(node, 0)
    if dtype_of(node, made).is_float:
        return None
    low, high = node.input(1), node.input(2)
    made = limited(op.at(12), made, low, high)
    return made if low is not None or high is not None else changed(node, op_type="Identity")


def _extreme_of_integers(op: StepBuilder, node: Node) -> Made:
    """Max, Min of integers, which came with version 12."""
    made, *others = _operands(node)
    if dtype_of(node, made).is_float:
        return None
    for other in others:
        keep = op.Greater(made, other) if node.op_type == "Max" else op.Less(made, other)
        made = op.Where(keep, made, other)
    return made if others else changed(node, op_type="Identity")


def _relu_of_integers(op: StepBuilder, node: Node) -> Made:
    """Relu of integers, which came with version 14."""
    x = required(node, 0)
    return None if dtype_of(node, x).is_float else op.at(12).Max(x, op.const(0, dtype_of(node, x)))


def _to_one_shape(op: StepBuilder, node: Node) -> Made:
    """Max, Mean, Min, Sum: before version 8 all inputs had one shape."""
    values = _operands(node)
    shapes = [value.tensor.static_shape for value in values]
    if len(values) == 1 or (None not in shapes and len(set(shapes)) == 1):
        return None
    if node.op_type in ("Sum", "Mean"):
        return decomposed(total)(op, node)
    widest = sorted(values, key=lambda value: value.rank or 0, reverse=True)  # before version 7 the first one's shape
    zeros = [as_type(op, op.Less(value, value), dtype_of(node, value)) for value in widest]  # NaN or not
    spread = op.Neg(chained(op, "Add", zeros))
    return op.call(node.op_type, *[op.Add(spread, value) for value in values])  # -0 keeps a -0


# comparisons -------------------------------------------------------------------------------------


def _neither_way(op: StepBuilder, node: Node) -> Made:
    """Equal of floats, which came with version 11: neither is less, and both are numbers."""
    a, b = _two_operands(op, node)
    if not dtype_of(node, required(node, 0)).is_float:
        return None
    return (~((a < b) | (a > b) | (a.call("IsNaN") | b.call("IsNaN")))).value()


def _same_text(op: StepBuilder, node: Node) -> Made:
    """Equal of strings, which came with version 19: both are looked up in a list of what there is."""
    a, b = _operands(node)
    if dtype_of(node, a) is not DType.STRING:
        return None
    if op.target < 11:
        raise Unsupported(node, "strings can't be compared before version 11")
    flat = [op.Reshape(value, numbers(op, [-1])) for value in (a, b)]
    indices = op.Unique(op.Concat(*flat, axis=0), _outputs=3)[2]
    count, end = op.Shape(flat[0]), numbers(op, INT64_MAX)
    first, second = op.Slice(indices, numbers(op, [0]), count), op.Slice(indices, count, end)
    return op.Equal(op.reshape(first, op.Shape(a)), op.reshape(second, op.Shape(b)))


def _is_infinite(op: StepBuilder, node: Node) -> Value:
    """IsInf-10: beyond the largest finite number. Floats of 8 bits, which may have no infinity, are looked at in
    float32."""
    kind, x = dtype_of(node, required(node, 0)), expr(op.newest, required(node, 0))
    if kind.bits <= 8:
        kind, x = DType.FLOAT32, x.cast(DType.FLOAT32)
    most = float(np.finfo(kind.numpy).max)
    above, below = attribute(node, "detect_positive", 1), attribute(node, "detect_negative", 1)
    if above:
        return ((x.abs() if below else x) > most).value()
    return (x < (-most if below else x)).value()


def _is_number(x: Expr) -> Expr:
    return (x < 1) | (x > 0)


def _is_nan(op: StepBuilder, node: Node) -> Value:
    """IsNaN-9: neither below 1 nor above 0."""
    dtype_of(node, required(node, 0))
    return (~_is_number(expr(op.newest, required(node, 0)))).value()


def _sign(op: StepBuilder, node: Node) -> Value:
    """Sign-9. NaN stays one: 0 / 0."""
    kind, x = dtype_of(node, required(node, 0)), expr(op.newest, required(node, 0))
    work = _I32 if kind in SHORT_INTEGERS else kind
    made = (x > 0).cast(work) - (x < 0).cast(work)
    return (made / _is_number(x).cast(kind) if kind.is_float else made.cast(kind)).value()


def _by_halves(op: StepBuilder, node: Node) -> Made:
    """Less, Greater of integers of 64 bits before version 9: two parts of each, which float64 holds.

    Others are carried by float64 as they are.
    """
    if dtype_of(node, required(node, 0)) not in (_I64, DType.UINT64):
        return None

    def halves(value: Expr) -> tuple[Expr, Expr]:
        high = value.call("Div", 1 << 32)
        return high.cast(_F64), (value - high * (1 << 32)).cast(_F64)

    (high, low), (other_high, other_low) = map(halves, _two_operands(op, node))
    there, back = high.call(node.op_type, other_high), other_high.call(node.op_type, high)
    return (there | ~back & low.call(node.op_type, other_low)).value()


# ThresholdedRelu ---------------------------------------------------------------------------------


def _above_threshold(op: StepBuilder, node: Node) -> Made:
    """ThresholdedRelu-10: x where it is above alpha, else 0.

    `alpha` is a float32, and halves are compared in it, as in runtimes; ONNX's own body rounds it to a half, which may
    be above it.
    """
    x = required(node, 0)
    is_above = expr(op.newest, x, work_type(dtype_of(node, x))) > attribute(node, "alpha", 1.0)
    return where(is_above, expr(op.newest, x), 0).value()


def _as_experimental(op: StepBuilder, node: Node) -> Made:
    return changed(node)


# Shrink ------------------------------------------------------------------------------------------


def _shrink(op: StepBuilder, node: Node) -> Made:
    """Shrink-9: toward zero by `bias` outside of [-lambd, lambd], zero inside.

    Integers become floats for it and are truncated afterwards, as runtimes do; ONNX's own body makes `bias` an integer
    before.
    """
    x = required(node, 0)
    kind = dtype_of(node, x)
    wide = expr(op.newest, x, work_type(kind) if kind.is_float else _F64)
    limit, bias = attribute(node, "lambd", 0.5), attribute(node, "bias", 0.0)
    moved = where(wide < -limit, wide + bias, where(wide > limit, wide - bias, 0))
    return moved.cast(kind).value()


ROWS = {
    ("Mod", 10): Step("Mod came with version 10", _modulo),
    ("Mod", 28): Step(same, _floor_modulo),
    ("Round", 11): Step("Round came with version 11", _round),
    ("Pow", 12): Step(same, _power),
    ("Clip", 11): Step(_clip_inputs, _clip_attributes),
    ("Clip", 12): Step(same, _clip_integers),
    **rows("Max Min", 12, Step(same, _extreme_of_integers)),
    **rows("Max Mean Min Sum", 8, Step(same, _to_one_shape)),
    ("Relu", 14): Step(same, _relu_of_integers),
    ("Equal", 11): Step(same, _neither_way),
    ("Equal", 19): Step(same, _same_text),
    ("IsInf", 10): Step("IsInf came with version 10", _is_infinite),
    ("IsNaN", 9): Step("IsNaN came with version 9", _is_nan),
    ("ThresholdedRelu", 10): Step(_as_experimental, _above_threshold),
    ("Shrink", 9): Step("Shrink came with version 9", _shrink),
    ("Sign", 9): Step("Sign came with version 9", _sign),
    **rows("Greater Less", 9, Step(same, _by_halves)),
}
