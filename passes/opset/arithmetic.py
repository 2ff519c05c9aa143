"""Elementwise arithmetic and comparisons going down: Mod, Round, Pow, Clip, extremes, equality, NaN and infinity."""

from __future__ import annotations

import numpy as np

from ..errors import Unsupported
from ..graph import Node, Value
from ..preconditions import required
from ..types import DType
from .build import StepBuilder
from .loops import Pass, looped
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
    dtype,
    numbers,
    rows,
    same,
    work_type,
)

_SINGLE = (*SHORT_INTEGERS, DType.FLOAT16, DType.FLOAT32)  # float32 has all their numbers
_I32, _I64, _F32, _F64, _BOOL = DType.INT32, DType.INT64, DType.FLOAT32, DType.FLOAT64, DType.BOOL


def _operands(node: Node) -> list[Value]:
    return [value for value in node.formal_inputs if value is not None]


# Mod ---------------------------------------------------------------------------------------------


def _modulo(op: StepBuilder, node: Node) -> Made:
    """Mod-10: of integers by a division, which cuts off; of floats by long division.

    INT_MIN is never divided by -1: only the divisor's magnitude counts for the remainder.
    """
    kind = dtype(node, node.input(0))
    if kind.is_float:
        return _float_modulo(op, node, kind) if attribute(node, "fmod", 0) else _floor_modulo(op, node)
    work = _I32 if kind in SHORT_INTEGERS else kind
    a, b = (as_type(op, required(node, index), work) for index in range(2))
    known = constant(node, 1)
    positive = not kind.is_signed or (known is not None and bool((known > 0).all()))
    divisor = b if positive else op.Abs(b)
    made = op.Sub(a, op.Mul(op.Div(a, divisor), divisor))
    if kind.is_signed and not attribute(node, "fmod", 0):
        made = _signed_as(op, made, b, work, positive)
    return as_type(op, made, kind)


def _signed_as(op: StepBuilder, remainder: Value, b: Value, kind: DType, positive: bool = False) -> Value:
    """One more divisor where the remainder has the other sign."""
    zero = op.const(0, kind)
    other = op.Less(remainder, zero)
    if not positive:
        other = op.Or(op.And(other, op.Greater(b, zero)), op.And(op.Greater(remainder, zero), op.Less(b, zero)))
    return op.Where(other, op.Add(remainder, b), remainder)


def _float_modulo(op: StepBuilder, node: Node, kind: DType) -> Made:
    """C's fmod, which is exact (float16's is computed as float32): |b| is doubled until it nearly reaches |a|, and on
    its way back taken off wherever it fits; none of that rounds."""
    work = work_type(kind)
    a, b = (as_type(op, required(node, index), work) for index in range(2))
    infinity, zero = op.const(np.inf, work), op.const(0, work)
    size, least = op.Abs(a), op.Abs(b)
    finite = op.Less(size, infinity)
    valid = op.And(finite, op.And(op.Less(least, infinity), op.Greater(least, zero)))
    dividend = op.Where(valid, size, zero)
    divisor = op.Where(valid, least, op.const(1, work))
    (most,) = looped(op, None, [divisor], [dividend], _doubled)
    _, rest = looped(op, None, [most, dividend], [divisor], _taken_off)
    signed = op.Where(op.Less(a, zero), op.Neg(rest), rest)
    signed = op.Where(op.Greater(rest, zero), signed, op.Mul(a, zero))  # a zero has the sign of a
    alone = op.And(finite, op.Not(op.Less(least, infinity)))
    alone = op.And(alone, op.Greater(least, zero))  # an infinite b, not NaN
    nothing = op.Where(alone, a, op.const(np.nan, work))
    return as_type(op, op.Where(valid, signed, nothing), kind)


def _doubled(one: Pass) -> tuple[Value, list[Value]]:
    op, (part,), (whole,) = one.op, one.states, one.seen
    twice = op.Add(part, part)
    made = op.Where(op.Greater(twice, whole), part, twice)
    return _any(op, op.Not(op.Greater(op.Add(made, made), whole))), [made]


def _taken_off(one: Pass) -> tuple[Value, list[Value]]:
    op, (part, rest), (least,) = one.op, one.states, one.seen
    more = op.Greater(part, least)
    left = op.Where(op.Greater(part, rest), rest, op.Sub(rest, part))
    half = op.Mul(part, op.const(0.5, part.tensor.dtype))
    return _any(op, more), [op.Where(more, half, part), left]


def _any(op: StepBuilder, where: Value) -> Value:
    """Whether a condition holds for any element."""
    return op.Greater(op.ReduceSum(as_type(op, where, _F32), keepdims=0), op.const(0, _F32))


def _floor_modulo(op: StepBuilder, node: Node) -> Made:
    """Mod of floats with fmod=0 came with version 28 (and was used before): a zero, too, has the sign of b."""
    kind = dtype(node, required(node, 0))
    if attribute(node, "fmod", 0) or not kind.is_float:
        return None
    op = op.at(max(op.opsets[""], 11))
    a, b = _operands(node)
    zero = op.const(0, kind)
    made = _signed_as(op, op.Mod(a, b, fmod=1), b, kind)
    nothing = op.Where(op.Less(b, zero), op.const(-0.0, kind), zero)
    return op.Where(op.Equal(made, zero), nothing, made)


# rounding, powers --------------------------------------------------------------------------------


def _round(op: StepBuilder, node: Node) -> Value:
    """Round-11, by magnitudes, whose fractions are exact: up where the fraction is more than a half, or a half above
    an odd number. What has no fraction (NaN and infinity, too) stays."""
    x = required(node, 0)
    kind = dtype(node, x)
    half, zero = op.const(0.5, kind), op.const(0, kind)
    size = op.Abs(x)
    whole = op.Floor(size)
    fraction, pairs = op.Sub(size, whole), op.Mul(whole, half)
    odd = op.Greater(pairs, op.Floor(pairs))
    up = op.Or(op.Greater(fraction, half), op.And(odd, op.Not(op.Less(fraction, half))))
    made = op.Add(whole, as_type(op, up, kind))
    signed = op.Where(op.Less(x, zero), op.Neg(made), made)
    return op.Where(op.Greater(fraction, zero), signed, x)


def _power(op: StepBuilder, node: Node) -> Made:
    """Pow-7 takes floats of one type. A float base to an integer power, and an integer to a float power (cut off),
    are computed in a float type that holds both."""
    base, exponent = required(node, 0), required(node, 1)
    kind, other = dtype(node, base), dtype(node, exponent)
    if kind is other and kind.is_float:
        return None
    if kind.is_integer and other.is_integer:
        return _integer_power(op, node, base, kind)
    known = constant(node, 1)
    if known is not None and kind.is_float and (known.astype(kind.numpy).astype(known.dtype) == known).all():
        return op.Pow(base, op.const(known.astype(kind.numpy), kind))
    work = _F32 if kind.is_float and kind in _SINGLE and other in _SINGLE else _F64
    return as_type(op, op.Pow(as_type(op, base, work), as_type(op, exponent, work)), kind)


def _integer_power(op: StepBuilder, node: Node, base: Value, kind: DType) -> Value:
    """By squaring. Of an exponent above 63 only its lowest bit matters to -1, 0 and 1; everything else overflows.
    To a negative power, everything but 1 and -1 is cut off to 0 (0 itself has none)."""
    known, zero, one = constant(node, 1), op.const(0, _I64), op.const(1, _I64)
    two, most = op.const(2, _I64), op.const(63, _I64)
    square, exponent = as_type(op, base, _I64), as_type(op, required(node, 1), _I64)
    small = known is not None and bool(((known >= 0) & (known <= 63)).all())
    if not small:
        size = op.Abs(exponent)
        parity = op.Sub(size, op.Mul(op.Div(size, two), two))
        square = op.Where(op.And(op.Less(exponent, zero), op.Greater(op.Abs(square), one)), zero, square)
        exponent = op.Where(op.Greater(size, most), op.Add(parity, op.const(62, _I64)), size)
    bits = int(np.max(known, initial=1)).bit_length() if small and known is not None else 6
    made: Value | None = None
    for bit in range(bits):
        half = op.Div(exponent, two)
        taken = op.Equal(op.Sub(exponent, op.Mul(half, two)), one)
        factor = op.Where(taken, square, one)
        made = factor if made is None else op.Mul(made, factor)
        if bit < bits - 1:
            square, exponent = op.Mul(square, square), half
    assert made is not None
    return as_type(op, made, kind)


# Clip, extremes ----------------------------------------------------------------------------------


def _clip_inputs(op: StepBuilder, node: Node) -> Made:
    """Bounds became inputs of the input's type; version 6's defaults are float32's for every type."""
    x = required(node, 0)
    inputs: list[Value | None] = [x]
    limits = np.finfo(np.float32)
    for name, default in (("min", limits.min), ("max", limits.max)):
        value = attribute(node, name, default if x.tensor.dtype is _F64 else None)
        with np.errstate(over="ignore"):
            inputs.append(None if value is None else op.const(np.asarray(value), dtype(node, x)))
    return changed(node, inputs=inputs, without=("min", "max"))


def _clip_attributes(op: StepBuilder, node: Node) -> Made:
    """Bounds that version 6 can't express, as numbers or by its defaults, are said by Max and Min."""
    x, low, high = required(node, 0), node.input(1), node.input(2)
    kind, values = dtype(node, x), {}
    for index, name in enumerate(("min", "max"), start=1):
        array = constant(node, index)
        if array is not None and array.size == 1 and float(np.float32(array.item())) == float(array.item()):
            values[name] = float(array.item())
        elif node.input(index) is not None or kind is not _F32:
            break
    else:
        return changed(node, inputs=[x], **values)
    made = x if low is None else op.Max(x, low)
    made = made if high is None else op.Min(made, high)
    return changed(node, inputs=[x], op_type="Identity") if made is x else made


def _clip_integers(op: StepBuilder, node: Node) -> Made:
    """Clip of integers, which came with version 12."""
    made = required(node, 0)
    if dtype(node, made).is_float:
        return None
    later, low, high = op.at(12), node.input(1), node.input(2)
    made = made if low is None else later.Max(made, low)
    made = made if high is None else later.Min(made, high)
    return made if low is not None or high is not None else changed(node, op_type="Identity")


def _extreme_of_integers(op: StepBuilder, node: Node) -> Made:
    """Max, Min of integers, which came with version 12."""
    made, *others = _operands(node)
    if dtype(node, made).is_float:
        return None
    for other in others:
        keep = op.Greater(made, other) if node.op_type == "Max" else op.Less(made, other)
        made = op.Where(keep, made, other)
    return made if others else changed(node, op_type="Identity")


def _relu_of_integers(op: StepBuilder, node: Node) -> Made:
    """Relu of integers, which came with version 14."""
    x = required(node, 0)
    return None if dtype(node, x).is_float else op.at(12).Max(x, op.const(0, dtype(node, x)))


def _to_one_shape(op: StepBuilder, node: Node) -> Made:
    """Max, Mean, Min, Sum: before version 8 all inputs had one shape."""
    values = _operands(node)
    shapes = [value.tensor.static_shape for value in values]
    if len(values) == 1 or (None not in shapes and len(set(shapes)) == 1):
        return None
    if node.op_type in ("Sum", "Mean"):
        made = chained(op, "Add", values)
        count = op.const(len(values), dtype(node, made))
        return op.Div(made, count) if node.op_type == "Mean" else made
    zeros = [as_type(op, op.Less(value, value), dtype(node, value)) for value in values]  # NaN or not
    spread = chained(op, "Add", zeros)
    return op.call(node.op_type, *[op.Sub(value, spread) for value in values])  # which keeps a -0


# comparisons -------------------------------------------------------------------------------------


def _neither_way(op: StepBuilder, node: Node) -> Made:
    """Equal of floats, which came with version 11: neither is less, and both are numbers."""
    a, b = _operands(node)
    if not dtype(node, a).is_float:
        return None
    apart = op.Or(op.Less(a, b), op.Greater(a, b))
    return op.Not(op.Or(apart, op.Or(op.IsNaN(a), op.IsNaN(b))))


def _same_text(op: StepBuilder, node: Node) -> Made:
    """Equal of strings, which came with version 19: both are looked up in a list of what there is."""
    a, b = _operands(node)
    if dtype(node, a) is not DType.STRING:
        return None
    if op.target < 11:
        raise Unsupported(node, "strings can't be compared before version 11")
    flat = [op.Reshape(value, numbers(op, [-1])) for value in (a, b)]
    places = op.Unique(op.Concat(*flat, axis=0), _outputs=3)[2]
    count, end = op.Shape(flat[0]), numbers(op, INT64_MAX)
    first, second = op.Slice(places, numbers(op, [0]), count), op.Slice(places, count, end)
    return op.Equal(op.reshape(first, op.Shape(a)), op.reshape(second, op.Shape(b)))


def _is_infinite(op: StepBuilder, node: Node) -> Value:
    """IsInf-10: beyond the largest finite number."""
    x = required(node, 0)
    kind = dtype(node, x)
    most = float(np.finfo(kind.numpy).max)
    above, below = attribute(node, "detect_positive", 1), attribute(node, "detect_negative", 1)
    if above:
        return op.Greater(op.Abs(x) if below else x, op.const(most, kind))
    return op.Less(x, op.const(-most, kind)) if below else op.Less(x, x)


def _is_number(op: StepBuilder, x: Value, kind: DType) -> Value:
    return op.Or(op.Less(x, op.const(1, kind)), op.Greater(x, op.const(0, kind)))


def _is_nan(op: StepBuilder, node: Node) -> Value:
    """IsNaN-9: neither below 1 nor above 0."""
    x = required(node, 0)
    return op.Not(_is_number(op, x, dtype(node, x)))


def _sign(op: StepBuilder, node: Node) -> Value:
    """Sign-9. NaN stays one: 0 / 0."""
    x = required(node, 0)
    kind = dtype(node, x)
    zero, work = op.const(0, kind), _I32 if kind in SHORT_INTEGERS else kind
    above, below = (as_type(op, op.at(9).call(name, x, zero), work) for name in ("Greater", "Less"))
    made = op.Sub(above, below)
    return op.Div(made, as_type(op, _is_number(op, x, kind), kind)) if kind.is_float else as_type(op, made, kind)


def _by_halves(op: StepBuilder, node: Node) -> Made:
    """Less, Greater of integers of 64 bits before version 9: two parts of each, which float64 holds.

    Others are carried by float64 as they are.
    """
    a, b = _operands(node)
    kind = dtype(node, a)
    if kind not in (_I64, DType.UINT64):
        return None
    base = op.const(1 << 32, kind)

    def halves(value: Value) -> tuple[Value, Value]:
        high = op.Div(value, base)
        return as_type(op, high, _F64), as_type(op, op.Sub(value, op.Mul(high, base)), _F64)

    (high, low), (other_high, other_low) = halves(a), halves(b)
    there, back = op.call(node.op_type, high, other_high), op.call(node.op_type, other_high, high)
    return op.Or(there, op.And(op.Not(back), op.call(node.op_type, low, other_low)))


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
    ("Sign", 9): Step("Sign came with version 9", _sign),
    **rows("Greater Less", 9, Step(same, _by_halves)),
}
