"""Operators that work element by element, as NumPy says them."""

from __future__ import annotations

import math

from onnx.defs import get_schema

from ....passes.attributes import NodeAttributes
from ....passes.errors import Unsupported
from ....passes.graph import Node
from ....passes.preconditions import default_bounds, dtype_of, flag, input_of
from ....passes.types import DType
from ..operators import FUNCTIONS, SYMBOLS
from .terms import Expression, Operands, Term, cast, number, weakened

_UNARY = {
    **{name: f"numpy.{FUNCTIONS[name]}({{0:a}})" for name in FUNCTIONS if get_schema(name).max_input == 1},
    "Identity": "{0:a}",
    "Neg": "-{0}",
    "Reciprocal": "1 / {0}",
    "Relu": "numpy.maximum({0:a}, 0)",
    "Sigmoid": "1 / (1 + numpy.exp(-{0}))",
    "Softplus": "numpy.maximum({0:a}, 0) + numpy.log1p(numpy.exp(-numpy.absolute({0:a})))",
    "Softsign": "{0} / (1 + numpy.absolute({0:a}))",
}
_BINARY = {
    **{name: f"numpy.{FUNCTIONS[name]}({{0:a}}, {{1:a}})" for name in FUNCTIONS if get_schema(name).max_input > 1},
    **{name: f"{{0}} {symbol} {{1}}" for name, symbol in SYMBOLS.items()},
}


def present(operands: Operands) -> list[Term]:
    return [operand for operand in operands if operand is not None]


def needed(operands: Operands, index: int) -> Term:
    found = operands[index]
    assert found is not None
    return found


def _unary(template: str) -> Expression:
    return lambda node, operands: template.format(*present(operands))


def _chained(template: str) -> Expression:
    """Of two operands, and of more one after the other."""

    def express(node: Node, operands: Operands) -> str:
        first, *others = weakened(present(operands))
        text = first.text
        for operand in others:
            text = template.format(Term(text), operand)
        return text

    return express


def _divided(node: Node, operands: Operands) -> str:
    """The quotient; of integers truncated toward zero."""
    dtype = dtype_of(node, input_of(node))
    a, b = weakened(present(operands))
    if dtype.is_float:
        return f"{a} / {b}"
    return f"({a} - numpy.fmod({a:a}, {b:a})) // {b}" if dtype.is_signed else f"{a} // {b}"


def _modulo(node: Node, operands: Operands) -> str:
    a, b = weakened(present(operands))
    return f"numpy.{'fmod' if flag(node, 'fmod') else 'mod'}({a:a}, {b:a})"


def _power(node: Node, operands: Operands) -> str:
    """In the type of the base. Integers are raised as such where the exponent can't be negative."""
    base, exponent = dtype_of(node, input_of(node, 0)), dtype_of(node, input_of(node, 1))
    a, b = needed(operands, 0), needed(operands, 1)
    if base is exponent and base.is_float:
        a, b = weakened((a, b))
        return f"numpy.power({a:a}, {b:a})"
    known = input_of(node, 1).array()
    is_natural = not exponent.is_signed or (known is not None and known.min(initial=0) >= 0)
    if base.is_integer and exponent.is_integer and is_natural:
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
    x, *bounds = (*operands, None, None)[:3]
    assert x is not None
    text, dtype = x.text, dtype_of(node, input_of(node))
    for name, bound, default in zip(("maximum", "minimum"), bounds, default_bounds(dtype), strict=True):
        limit = number(default, dtype) if bound is None and default is not None else bound
        if limit is not None:
            text = f"numpy.{name}({text}, {limit.weak or limit.text})"
    return text


def _cast(node: Node, operands: Operands) -> str:
    if dtype_of(node, input_of(node)) is DType.STRING:
        raise Unsupported(node, "MDF has no arrays of strings")
    return cast(dtype_of(node, node.outputs[0]), needed(operands, 0).text, node)


def _elu(node: Node, operands: Operands) -> str:
    """alpha * (exp(x) - 1) below 0, x elsewhere."""
    x, alpha = needed(operands, 0), NodeAttributes(node).float("alpha")
    if not math.isfinite(alpha):
        raise Unsupported(node, f"its alpha is {alpha}")
    factor = number(alpha, DType.FLOAT64 if dtype_of(node, input_of(node)) is DType.FLOAT64 else DType.FLOAT32).weak
    return f"numpy.where({x} < 0, {Term(factor)} * numpy.expm1(numpy.minimum({x:a}, 0)), {x:a})"


def _in_float32(express: Expression) -> Expression:
    """Let an expression over one element type compute 16-bit floats in float32 and round once at the end."""

    def wide(node: Node, operands: Operands) -> str | list[str]:
        dtype = dtype_of(node, input_of(node))
        if dtype is not DType.FLOAT16:
            return express(node, operands)
        terms = [None if one is None else Term(cast(DType.FLOAT32, one.text, node), one.weak) for one in operands]
        text = express(node, terms)
        assert isinstance(text, str)
        return cast(dtype, text, node)

    return wide


_EXACT = frozenset(["Abs", "BitwiseNot", "Ceil", "Floor", "Identity", "IsNaN", "Neg", "Not", "Relu", "Round", "Sign"])
"""What needs no more digits than its operand has."""


EXPRESSIONS: dict[str, Expression] = {
    **{name: _unary(_UNARY[name]) if name in _EXACT else _in_float32(_unary(_UNARY[name])) for name in _UNARY},
    **{name: _chained(template) for name, template in _BINARY.items()},
    "Sum": _in_float32(_chained("{0} + {1}")),
    "BitShift": _shift,
    "Cast": _cast,
    "Clip": _clip,
    "Div": _divided,
    "Elu": _in_float32(_elu),
    "Mod": _modulo,
    "Pow": _power,
    "Where": _where,
}
