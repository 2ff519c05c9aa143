"""Hub -> HLO: what is done element by element."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

from ....passes.graph import Node, Value
from ....passes.preconditions import dtype_of, flag, required
from ....passes.rewrite import Builder, Rule, collect, combine, rule
from ....passes.types import DType
from .tools import aligned, broadcast_to, compare, convert, largest, like, word

_UNARY = {
    "Abs": "abs",
    "BitwiseNot": "not",
    "Ceil": "ceil",
    "Cos": "cosine",
    "Erf": "erf",
    "Exp": "exponential",
    "Floor": "floor",
    "Log": "log",
    "Neg": "negate",
    "Not": "not",
    "Sigmoid": "logistic",
    "Sign": "sign",
    "Sin": "sine",
    "Sqrt": "sqrt",
    "Tan": "tan",
    "Tanh": "tanh",
}
_BINARY = {
    "Add": "add",
    "And": "and",
    "BitwiseAnd": "and",
    "BitwiseOr": "or",
    "BitwiseXor": "xor",
    "Div": "divide",
    "Mul": "multiply",
    "Or": "or",
    "Sub": "subtract",
    "Xor": "xor",
}
_COMPARED = {"Equal": "EQ", "Greater": "GT", "GreaterOrEqual": "GE", "Less": "LT", "LessOrEqual": "LE"}
_VARIADIC = {"Max": "maximum", "Min": "minimum", "Sum": "add"}


@rule("", *_UNARY)
def unary(op: Builder, node: Node) -> Value:
    return op.call(_UNARY[node.op_type], required(node, 0))


@rule("", *_BINARY)
def binary(op: Builder, node: Node) -> Value:
    return op.call(_BINARY[node.op_type], *aligned(op, node, [required(node, 0), required(node, 1)]))


@rule("", *_COMPARED)
def comparison(op: Builder, node: Node) -> Value:
    a, b = aligned(op, node, [required(node, 0), required(node, 1)])
    return compare(op, a, b, _COMPARED[node.op_type])


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
    a, b = aligned(op, node, [required(node, 0), required(node, 1)])
    left = op.remainder(a, b)
    if flag(node, "fmod") or not dtype_of(node, a).is_signed:
        return left
    zero = like(op, node, 0, a)
    unlike = compare(op, compare(op, left, zero, "LT"), compare(op, b, zero, "LT"), "NE")
    other = op.call("and", unlike, compare(op, left, zero, "NE"))
    return op.select(other, op.add(left, b), left)


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
    if kind.is_float or other.is_integer:
        return op.power(base, convert(op, exponent, kind))
    raised = op.power(convert(op, base, DType.FLOAT64), convert(op, exponent, DType.FLOAT64))
    limit = 2 ** (kind.bits - 1)
    fits = compare(op, op.abs(raised), like(op, node, float(limit), raised), "LT")
    whole = convert(op, raised, kind)
    return op.select(fits, whole, like(op, node, -limit, whole))


@rule("", "Where")
def where(op: Builder, node: Node) -> Value:
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


def _one(op: Builder, node: Node, x: Value) -> Value:
    return like(op, node, 1, x)


def _asin(op: Builder, node: Node, x: Value) -> Value:
    """2 atan2(x, 1 + sqrt((1 - x)(1 + x)))"""
    one = _one(op, node, x)
    root = op.sqrt(op.multiply(op.subtract(one, x), op.add(one, x)))
    return op.multiply(like(op, node, 2, x), op.atan2(x, op.add(one, root)))


def _acos(op: Builder, node: Node, x: Value) -> Value:
    """2 atan2(sqrt(1 - x), sqrt(1 + x))"""
    one = _one(op, node, x)
    angle = op.atan2(op.sqrt(op.subtract(one, x)), op.sqrt(op.add(one, x)))
    return op.multiply(like(op, node, 2, x), angle)


def _atan(op: Builder, node: Node, x: Value) -> Value:
    return op.atan2(x, _one(op, node, x))


def _acosh(op: Builder, node: Node, x: Value) -> Value:
    """log(x + sqrt(x - 1) sqrt(x + 1)); the roots apart, so that nothing overflows on the way."""
    one = _one(op, node, x)
    roots = op.multiply(op.sqrt(op.subtract(x, one)), op.sqrt(op.add(x, one)))
    large = compare(op, x, like(op, node, largest(dtype_of(node, x)) / 4, x), "GT")
    doubled = op.add(op.log(x), like(op, node, math.log(2), x))
    return op.select(large, doubled, op.log(op.add(x, roots)))


def _asinh(op: Builder, node: Node, x: Value) -> Value:
    """sign(x) log1p(|x| + x^2 / (1 + sqrt(x^2 + 1))); log(2|x|) where x^2 overflows."""
    one, size = _one(op, node, x), op.abs(x)
    square = op.multiply(x, x)
    more = op.divide(square, op.add(one, op.sqrt(op.add(square, one))))
    small = op.call("log-plus-one", op.add(size, more))
    large = op.add(op.log(size), like(op, node, math.log(2), x))
    limit = like(op, node, math.sqrt(largest(dtype_of(node, x))) / 2, x)
    return op.multiply(op.sign(x), op.select(compare(op, size, limit, "GT"), large, small))


def _atanh(op: Builder, node: Node, x: Value) -> Value:
    """(log1p(x) - log1p(-x)) / 2"""
    difference = op.subtract(op.call("log-plus-one", x), op.call("log-plus-one", op.negate(x)))
    return op.multiply(like(op, node, 0.5, x), difference)


def _halves(op: Builder, node: Node, x: Value) -> tuple[Value, Value]:
    """exp(x) / 2 and exp(-x) / 2, which overflow no earlier than their sum."""
    half = like(op, node, 0.5, x)
    root, other = op.exponential(op.multiply(x, half)), op.exponential(op.multiply(op.negate(x), half))
    return op.multiply(op.multiply(root, half), root), op.multiply(op.multiply(other, half), other)


def _cosh(op: Builder, node: Node, x: Value) -> Value:
    return op.add(*_halves(op, node, x))


def _sinh(op: Builder, node: Node, x: Value) -> Value:
    """(e + e / (e + 1)) / 2 with e = exp(x) - 1 for small x, where a difference of powers loses its digits."""
    less = op.call("exponential-minus-one", x)
    near = op.multiply(like(op, node, 0.5, x), op.add(less, op.divide(less, op.add(less, _one(op, node, x)))))
    small = compare(op, op.abs(x), _one(op, node, x), "LT")
    return op.select(small, near, op.subtract(*_halves(op, node, x)))


_COMPOSED: dict[str, Callable[[Builder, Node, Value], Value]] = {
    "Acos": _acos,
    "Acosh": _acosh,
    "Asin": _asin,
    "Asinh": _asinh,
    "Atan": _atan,
    "Atanh": _atanh,
    "Cosh": _cosh,
    "Sinh": _sinh,
}


def _composed(build: Callable[[Builder, Node, Value], Value]) -> Rule:
    return lambda op, node: build(op, node, required(node, 0))


# activations --------------------------------------------------------------------------------------


@rule("", "Clip")
def clip(op: Builder, node: Node) -> Value:
    """`clamp`, which takes the upper bound where the bounds cross, as ONNX does."""
    x, low, high = required(node, 0), node.input(1), node.input(2)
    if low is not None and high is not None and low.rank == high.rank == 0:
        return op.clamp(low, x, high)
    shape = x.tensor.static_shape or ()
    x = x if low is None else op.maximum(x, broadcast_to(op, node, low, shape))
    return x if high is None else op.minimum(x, broadcast_to(op, node, high, shape))


@rule("", "Elu")
def elu(op: Builder, node: Node) -> Value:
    """alpha (exp(x) - 1) below 0, x elsewhere."""
    x = required(node, 0)
    below = op.multiply(like(op, node, node.attributes.get("alpha", 1.0), x), op.call("exponential-minus-one", x))
    return op.select(compare(op, x, like(op, node, 0, x), "LT"), below, x)


@rule("", "Softplus")
def softplus(op: Builder, node: Node) -> Value:
    """max(x, 0) + log1p(exp(-|x|))"""
    x = required(node, 0)
    rest = op.call("log-plus-one", op.exponential(op.negate(op.abs(x))))
    return op.add(op.maximum(x, like(op, node, 0, x)), rest)


RULES = combine(collect(globals()), {("", name): [_composed(build)] for name, build in _COMPOSED.items()})
