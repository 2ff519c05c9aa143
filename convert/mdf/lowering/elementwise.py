"""Operators that work element by element, as NumPy says them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ....passes.errors import Unsupported
from ....passes.graph import Node
from ....passes.preconditions import dtype_of, flag, given
from ....passes.types import DType
from .terms import Expression, Operands, Term, cast, number, weakened

_UNARY = {
    "Abs": "numpy.abs({0:a})",
    "Acos": "numpy.arccos({0:a})",
    "Acosh": "numpy.arccosh({0:a})",
    "Asin": "numpy.arcsin({0:a})",
    "Asinh": "numpy.arcsinh({0:a})",
    "Atan": "numpy.arctan({0:a})",
    "Atanh": "numpy.arctanh({0:a})",
    "BitwiseNot": "numpy.invert({0:a})",
    "Ceil": "numpy.ceil({0:a})",
    "Cos": "numpy.cos({0:a})",
    "Cosh": "numpy.cosh({0:a})",
    "Exp": "numpy.exp({0:a})",
    "Floor": "numpy.floor({0:a})",
    "Identity": "{0:a}",
    "IsNaN": "numpy.isnan({0:a})",
    "Log": "numpy.log({0:a})",
    "Neg": "-{0}",
    "Not": "numpy.logical_not({0:a})",
    "Reciprocal": "1 / {0}",
    "Relu": "numpy.maximum({0:a}, 0)",
    "Round": "numpy.rint({0:a})",
    "Sigmoid": "1 / (1 + numpy.exp(-{0}))",
    "Sign": "numpy.sign({0:a})",
    "Sin": "numpy.sin({0:a})",
    "Sinh": "numpy.sinh({0:a})",
    "Softplus": "numpy.maximum({0:a}, 0) + numpy.log1p(numpy.exp(-numpy.abs({0:a})))",
    "Softsign": "{0} / (1 + numpy.abs({0:a}))",
    "Sqrt": "numpy.sqrt({0:a})",
    "Tan": "numpy.tan({0:a})",
    "Tanh": "numpy.tanh({0:a})",
}
_BINARY = {
    "Add": "{0} + {1}",
    "Sub": "{0} - {1}",
    "Mul": "{0} * {1}",
    "Equal": "{0} == {1}",
    "Greater": "{0} > {1}",
    "GreaterOrEqual": "{0} >= {1}",
    "Less": "{0} < {1}",
    "LessOrEqual": "{0} <= {1}",
    "And": "numpy.logical_and({0:a}, {1:a})",
    "Or": "numpy.logical_or({0:a}, {1:a})",
    "Xor": "numpy.logical_xor({0:a}, {1:a})",
    "BitwiseAnd": "numpy.bitwise_and({0:a}, {1:a})",
    "BitwiseOr": "numpy.bitwise_or({0:a}, {1:a})",
    "BitwiseXor": "numpy.bitwise_xor({0:a}, {1:a})",
}
_VARIADIC = {"Sum": "{0} + {1}", "Max": "numpy.maximum({0:a}, {1:a})", "Min": "numpy.minimum({0:a}, {1:a})"}


def present(operands: Operands) -> list[Term]:
    return [operand for operand in operands if operand is not None]


def needed(operands: Operands, index: int) -> Term:
    found = operands[index]
    assert found is not None
    return found


def _unary(template: str) -> Expression:
    return lambda node, operands: template.format(*present(operands))


def _binary(template: str) -> Expression:
    return lambda node, operands: template.format(*weakened(present(operands)))


def chained(template: str, operands: Sequence[Term]) -> str:
    text = operands[0].text
    for operand in operands[1:]:
        text = template.format(Term(text), operand)
    return text


def _variadic(template: str) -> Expression:
    return lambda node, operands: chained(template, weakened(present(operands)))


def _divided(node: Node, operands: Operands) -> str:
    """The quotient; of integers truncated toward zero."""
    dtype = dtype_of(node, given(node))
    a, b = weakened(present(operands))
    if dtype.is_float:
        return f"{a} / {b}"
    return f"({a} - numpy.fmod({a:a}, {b:a})) // {b}" if dtype.is_signed else f"{a} // {b}"


def _modulo(node: Node, operands: Operands) -> str:
    a, b = weakened(present(operands))
    return f"numpy.{'fmod' if flag(node, 'fmod') else 'mod'}({a:a}, {b:a})"


def _power(node: Node, operands: Operands) -> str:
    """In the type of the base. Integers are raised as such where the exponent can't be negative."""
    base, exponent = dtype_of(node, given(node, 0)), dtype_of(node, given(node, 1))
    a, b = needed(operands, 0), needed(operands, 1)
    if base is exponent and base.is_float:
        a, b = weakened((a, b))
        return f"numpy.power({a:a}, {b:a})"
    known = given(node, 1).array()
    if base.is_integer and exponent.is_integer and (not exponent.is_signed or (known is not None and known.min() >= 0)):
        wide = DType.INT64 if base.is_signed else DType.UINT64
        return cast(base, f"numpy.power({cast(wide, a.text, node)}, {cast(wide, b.text, node)})", node)
    wide_text = [cast(DType.FLOAT64, operand.text, node) for operand in (a, b)]
    if base.is_integer and base.bits > 32:
        raise Unsupported(node, "a power of 64-bit integers whose exponent may be negative")
    return cast(base, f"numpy.power({', '.join(wide_text)})", node)


def _shift(node: Node, operands: Operands) -> str:
    way = node.attributes.get("direction", "")
    way = way.decode() if isinstance(way, bytes) else str(way)
    if way not in ("LEFT", "RIGHT"):
        raise Unsupported(node, f"the direction {way!r}")
    a, b = present(operands)
    return f"numpy.{way.lower()}_shift({a:a}, {b:a})"


def _where(node: Node, operands: Operands) -> str:
    condition, then, otherwise = present(operands)
    return f"numpy.where({condition:a}, {then:a}, {otherwise:a})"


def _clip(node: Node, operands: Operands) -> str:
    x, low, high = (*operands, None, None)[:3]
    assert x is not None
    text = x.text
    for name, limit in (("maximum", low), ("minimum", high)):
        if limit is not None:
            text = f"numpy.{name}({text}, {limit.weak or limit.text})"
    return text


def _cast(node: Node, operands: Operands) -> str:
    if dtype_of(node, given(node)) is DType.STRING:
        raise Unsupported(node, "MDF has no text in its numbers")
    return cast(dtype_of(node, node.outputs[0]), needed(operands, 0).text, node)


def _elu(node: Node, operands: Operands) -> str:
    """alpha * (exp(x) - 1) below 0, x elsewhere."""
    x, alpha = needed(operands, 0), float(node.attributes.get("alpha", 1.0))
    if not math.isfinite(alpha):
        raise Unsupported(node, f"its alpha is {alpha}")
    factor = number(alpha, DType.FLOAT64 if dtype_of(node, given(node)) is DType.FLOAT64 else DType.FLOAT32).weak
    return f"numpy.where({x} < 0, {Term(factor)} * numpy.expm1(numpy.minimum({x:a}, 0)), {x:a})"


def _in_float32(express: Expression) -> Expression:
    """Let an expression over one element type compute 16-bit floats in float32 and round once at the end."""

    def wide(node: Node, operands: Operands) -> str | list[str]:
        dtype = dtype_of(node, given(node))
        if dtype is not DType.FLOAT16:
            return express(node, operands)
        terms = [None if one is None else Term(cast(DType.FLOAT32, one.text, node), one.weak) for one in operands]
        text = express(node, terms)
        assert isinstance(text, str)
        return cast(dtype, text, node)

    return wide


_EXACT = frozenset(["Abs", "BitwiseNot", "Ceil", "Floor", "Identity", "IsNaN", "Neg", "Not", "Relu", "Round", "Sign"])
"""What needs no more digits than its operand has."""


def _rounded_once(table: dict[str, Expression], but: frozenset[str] = frozenset()) -> dict[str, Expression]:
    wrap: Callable[[Expression], Expression] = _in_float32
    return {name: express if name in but else wrap(express) for name, express in table.items()}


EXPRESSIONS: dict[str, Expression] = {
    **_rounded_once({name: _unary(template) for name, template in _UNARY.items()}, _EXACT),
    **{name: _binary(template) for name, template in _BINARY.items()},
    **{name: _variadic(template) for name, template in _VARIADIC.items()},
    "BitShift": _shift,
    "Cast": _cast,
    "Clip": _clip,
    "Div": _divided,
    "Elu": _in_float32(_elu),
    "Mod": _modulo,
    "Pow": _power,
    "Where": _where,
}
