"""Hub -> HLO: what is done element by element."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

from ....passes.attributes import NodeAttributes
from ....passes.build import where
from ....passes.build.values import clip_bounds
from ....passes.graph import Node, Value
from ....passes.preconditions import dtype_of, flag, power_type, required
from ....passes.rewrite import Builder, Rule, collect, combine, rule
from ....passes.types import DType
from ..expression import BINARY, COMPARED, UNARY
from .tools import Formula, aligned, broadcast_to, compare, convert, formula, like, sizes_of, word

_BINARY = {name: opcode for name, opcode in BINARY.items() if name not in ("Max", "Min", "Pow")}
_UNARY = {name: opcode for name, opcode in UNARY.items() if name != "Round"}
_VARIADIC = {"Max": "maximum", "Min": "minimum"}


@rule("", "Abs", "Sign")
def of_unsigned(op: Builder, node: Node) -> Value | None:
    """HLO's abs and sign take no unsigned integers: XLA's translation to StableHLO refuses the whole module."""
    x = required(node, 0)
    dtype = dtype_of(node, x)
    if not dtype.is_integer or dtype.is_signed:
        return None
    return x if node.op_type == "Abs" else op.minimum(x, like(op, node, 1, x))


@rule("", *_UNARY)
def unary(op: Builder, node: Node) -> Value:
    return op.call(_UNARY[node.op_type], required(node, 0))


@rule("", *_BINARY)
def binary(op: Builder, node: Node) -> Value:
    return op.call(_BINARY[node.op_type], *aligned(op, node, [required(node, 0), required(node, 1)]))


@rule("", *COMPARED)
def comparison(op: Builder, node: Node) -> Value:
    a, b = aligned(op, node, [required(node, 0), required(node, 1)])
    return compare(op, a, b, COMPARED[node.op_type])


@rule("", *_VARIADIC)
def variadic(op: Builder, node: Node) -> Value:
    values = aligned(op, node, [value for value in node.inputs if value is not None])
    return functools.reduce(lambda a, b: op.call(_VARIADIC[node.op_type], a, b), values)


_INTO_ROUNDING = frozenset(
    [
        "add",
        "broadcast",
        "clamp",
        "convert",
        "maximum",
        "minimum",
        "multiply",
        "negate",
        "opt-barrier",
        "reshape",
        "select",
        "subtract",
    ]
)


@rule("", "Round")
def rounded(op: Builder, node: Node) -> Value:
    """Of a quotient that is rounded no bit may differ. XLA multiplies by 1 / b where b is the same for all elements,
    and what comes out is one off now and then; it doesn't look behind a barrier."""
    x = required(node, 0)
    waiting = [x]
    while waiting:
        maker = waiting.pop().producer
        if maker is not None and maker.op_type == "divide":
            divisor = required(maker, 1)
            if divisor.producer is None or divisor.producer.op_type != "opt-barrier":
                op.graph.set_input(maker, 1, op.call("opt-barrier", divisor))
                waiting.append(divisor)
        elif maker is not None and maker.op_type in _INTO_ROUNDING:
            waiting += [value for value in maker.inputs if value is not None]
    return op.call("round-nearest-even", x)


@rule("", "Identity")
def identity(op: Builder, node: Node) -> Value:
    return required(node, 0)


@rule("", "Mod")
def modulo(op: Builder, node: Node) -> Value:
    """HLO's remainder has the sign of the dividend, as with `fmod`; otherwise it has that of the divisor."""
    a, b = formula(op, *aligned(op, node, [required(node, 0), required(node, 1)]))
    left = a.call("remainder", b)
    if flag(node, "fmod") or not a.dtype.is_signed:
        return left.value()
    zero = left.full_like(0)
    unlike = (left < zero).differs(b < zero)
    return where(unlike & left.differs(zero), left + b, left).value()


@rule("", "Pow")
def power(op: Builder, node: Node) -> Value:
    """The result has the type of the base, whatever the type of the exponent.

    What no integer holds, infinity among it, is the lowest one, as in every runtime on x86.
    """
    base, exponent = aligned(op, node, [required(node, 0), required(node, 1)])
    kind, other = dtype_of(node, base), dtype_of(node, exponent)
    if exponent.data is None and exponent.producer is not None and exponent.producer.op_type == "broadcast":
        source = exponent.producer.inputs[0]
        number = None if source is None or source.data is None or source.data.size != 1 else source.data.numpy().item()
        if number == 2:
            return op.multiply(base, base)
    if kind.is_float:
        common = power_type(kind, other, required(node, 1).array())
        return convert(op, op.power(convert(op, base, common), convert(op, exponent, common)), kind)
    if other.is_integer:
        return _power_of_integers(op, node, base, exponent)
    raised = op.power(convert(op, base, DType.FLOAT64), convert(op, exponent, DType.FLOAT64))
    limit = 2 ** (kind.bits - 1)
    fits = compare(op, op.abs(raised), like(op, node, float(limit), raised), "LT")
    whole = convert(op, raised, kind)
    return op.select(fits, whole, like(op, node, -limit, whole))


_HIGHEST_POWER = 63
"""XLA's CPU looks at the lowest six bits of an integer exponent."""


def _power_of_integers(op: Builder, node: Node, base: Value, exponent: Value) -> Value:
    """Of 0, 1 and -1 every power is right, of others those that fit. 1 over an integer is cut to 0 but for 1 and -1: in
    a While, XLA's CPU takes -1 for one of the others."""
    known = required(node, 1).array()
    x, k = formula(op, base, exponent)
    if known is None or known.max(initial=0) > _HIGHEST_POWER:
        k = where(k > _HIGHEST_POWER, (k & 1) + (_HIGHEST_POWER - 1), k)
    if not k.dtype.is_signed or (known is not None and known.min(initial=0) >= 0):
        return op.power(base, convert(op, k.value(), x.dtype))
    inverse = where((k & 1).equals(0), x.full_like(1), x)
    of_unit = where(x.equals(1) | x.equals(-1) if x.dtype.is_signed else x.equals(1), inverse, 0)
    power = op.power(base, convert(op, k.maximum(0).value(), x.dtype))
    return where(k < 0, of_unit, power).value()


@rule("", "Where")
def select(op: Builder, node: Node) -> Value:
    return op.select(*aligned(op, node, [required(node, index) for index in range(3)]))


@rule("", "IsNaN")
def is_nan(op: Builder, node: Node) -> Value:
    x = required(node, 0)
    return compare(op, x, x, "NE")


@rule("", "BitShift")
def bit_shift(op: Builder, node: Node) -> Value:
    """By the width and more everything is shifted out, on both sides; signed ones keep their sign to the right."""
    a, b = aligned(op, node, [required(node, 0), required(node, 1)])
    right = "shift-right-arithmetic" if dtype_of(node, a).is_signed else "shift-right-logical"
    return op.call("shift-left" if word(node, "direction", "") == "LEFT" else right, a, b)


# functions that XLA's CPU has no code for ----------------------------------------------------------


def _asin(x: Formula) -> Formula:
    """2 atan2(x, 1 + sqrt((1 - x)(1 + x)))"""
    one = x.full_like(1)
    return 2 * x.atan2(one + ((one - x) * (one + x)).sqrt())


def _acos(x: Formula) -> Formula:
    """2 atan2(sqrt(1 - x), sqrt(1 + x))"""
    one = x.full_like(1)
    return 2 * (one - x).sqrt().atan2((one + x).sqrt())


def _atan(x: Formula) -> Formula:
    return x.atan2(1)


def _acosh(x: Formula) -> Formula:
    """log1p(x - 1 + sqrt(x - 1) sqrt(x + 1)), which is exact near 1; the roots apart, so that nothing overflows on the
    way."""
    above = x - 1
    roots = above.sqrt() * (x + 1).sqrt()
    return where(x > x.dtype.finite_limits[1] / 4, x.log() + math.log(2), (above + roots).log1p())


def _asinh(x: Formula) -> Formula:
    """sign(x) log1p(|x| + x^2 / (1 + sqrt(x^2 + 1))); log(2|x|) where x^2 overflows."""
    size, square = x.abs(), x * x
    small = (size + square / (1 + (square + 1).sqrt())).log1p()
    large = size.log() + math.log(2)
    return x.sign() * where(size > math.sqrt(x.dtype.finite_limits[1]) / 2, large, small)


def _atanh(x: Formula) -> Formula:
    """sign(x) log1p(2|x| / (1 - |x|)) / 2: XLA's log1p of float64 is inexact below 0."""
    size = x.abs()
    return x.sign() * 0.5 * (2 * size / (1 - size)).log1p()


def _halves(x: Formula) -> tuple[Formula, Formula]:
    """exp(x) / 2 and exp(-x) / 2, which overflow no earlier than their sum."""
    root, other = (x * 0.5).exp(), (-x * 0.5).exp()
    return root * 0.5 * root, other * 0.5 * other


def _cosh(x: Formula) -> Formula:
    grown, shrunk = _halves(x)
    return grown + shrunk


def _sinh(x: Formula) -> Formula:
    """(e + e / (e + 1)) / 2 with e = exp(x) - 1 for small x, where a difference of powers loses its digits."""
    less = x.expm1()
    grown, shrunk = _halves(x)
    return where(x.abs() < 1, 0.5 * (less + less / (less + 1)), grown - shrunk)


def _softplus(x: Formula) -> Formula:
    """max(x, 0) + log1p(exp(-|x|))"""
    return x.maximum(0) + (-x.abs()).exp().log1p()


_COMPOSED: dict[str, Callable[[Formula], Formula]] = {
    "Acos": _acos,
    "Acosh": _acosh,
    "Asin": _asin,
    "Asinh": _asinh,
    "Atan": _atan,
    "Atanh": _atanh,
    "Cosh": _cosh,
    "Sinh": _sinh,
    "Softplus": _softplus,
}


def _composed(build: Callable[[Formula], Formula]) -> Rule:
    return lambda op, node: build(formula(op, required(node, 0))[0]).value()


# activations --------------------------------------------------------------------------------------


@rule("", "Clip")
def clip(op: Builder, node: Node) -> Value:
    """`clamp`, which takes the upper bound where the bounds cross, as ONNX does."""
    x = required(node, 0)
    low, high = clip_bounds(op, node)
    if low is not None and high is not None and low.rank == high.rank == 0:
        return op.clamp(low, x, high)
    shape = sizes_of(node, x)
    x = x if low is None else op.maximum(x, broadcast_to(op, node, low, shape))
    return x if high is None else op.minimum(x, broadcast_to(op, node, high, shape))


@rule("", "Elu")
def elu(op: Builder, node: Node) -> Value:
    """alpha (exp(x) - 1) below 0, x elsewhere."""
    (x,) = formula(op, required(node, 0))
    return where(x < 0, NodeAttributes(node).float("alpha") * x.expm1(), x).value()


RULES = combine(collect(globals()), {("", name): [_composed(build)] for name, build in _COMPOSED.items()})
