"""Shape inference of HLO's elementwise opcodes: which element types each takes, and what it makes of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...passes.graph import Node
from ...passes.types import DType, Shape, TensorType
from .dialect import NAMES
from .infer_tools import (
    Found,
    arity,
    choice,
    joint_dim,
    operand,
    operands,
    refuse,
    same_shape,
    stated,
    stated_dtype,
    text,
)

_PARTS = {DType.COMPLEX64: DType.FLOAT32, DType.COMPLEX128: DType.FLOAT64}
_WHOLES = {part: whole for whole, part in _PARTS.items()}
DIRECTIONS = ("EQ", "NE", "LT", "LE", "GT", "GE")
COMPARISONS = ("FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED")


def kinds(dtype: DType) -> str:
    """One letter for what an element type is: predicate, integer, float or complex."""
    return "p" if dtype is DType.BOOL else "i" if dtype.is_integer else "c" if dtype.is_complex else "f"


_UNARY: dict[str, str] = {
    "ifc": "abs negate sign",
    "pi": "not",
    "i": "count-leading-zeros popcnt",
    "f": "cbrt ceil erf floor round-nearest-afz round-nearest-even reduce-precision",
    "fc": """
        acos acosh asin asinh atan atanh cosine cosh exponential exponential-minus-one log log-plus-one logistic
        rsqrt sine sinh sqrt tan tanh
    """,
}
_BINARY: dict[str, str] = {
    "pifc": "add maximum minimum multiply",
    "ifc": "subtract divide power remainder",
    "pi": "and or xor",
    "i": "mulhi shift-left shift-right-arithmetic shift-right-logical",
    "fc": "atan2",
}


def _rows(table: dict[str, str]) -> dict[str, str]:
    return {opcode: allowed for allowed, opcodes in table.items() for opcode in opcodes.split()}


UNARY, BINARY = _rows(_UNARY), _rows(_BINARY)


def _takes(node: Node, dtype: DType, allowed: str) -> None:
    if kinds(dtype) not in allowed:
        refuse(node, f"it doesn't take {NAMES.get(dtype, dtype.value)}")


def _common_type(node: Node, found: Sequence[tuple[DType, Shape]]) -> tuple[DType, Shape]:
    """The one type of several operands; their bounds joined."""
    dtype, shape = found[0]
    for other, dims in found[1:]:
        if other is not dtype or not same_shape(shape, dims):
            refuse(node, f"operands {text(TensorType(dtype, shape))} and {text(TensorType(other, dims))} differ")
        shape = tuple(map(joint_dim, shape, dims))
    return dtype, shape


def _unary(node: Node) -> Found:
    arity(node, 1)
    dtype, shape = operand(node)
    _takes(node, dtype, UNARY[node.op_type])
    if node.op_type == "abs":
        dtype = _PARTS.get(dtype, dtype)
    return [TensorType(dtype, shape)]


def _binary(node: Node) -> Found:
    arity(node, 2)
    dtype, shape = _common_type(node, operands(node))
    _takes(node, dtype, BINARY[node.op_type])
    return [TensorType(dtype, shape)]


def _is_finite(node: Node) -> Found:
    arity(node, 1)
    dtype, shape = operand(node)
    _takes(node, dtype, "f")
    return [TensorType(DType.BOOL, shape)]


def _compare(node: Node) -> Found:
    arity(node, 2)
    direction = choice(node, "direction", DIRECTIONS)
    choice(node, "type", COMPARISONS, "FLOAT")
    dtype, shape = _common_type(node, operands(node))
    if dtype.is_complex and direction not in ("EQ", "NE"):
        refuse(node, f"complex values have no order for {direction}")
    return [TensorType(DType.BOOL, shape)]


def _complex(node: Node) -> Found:
    arity(node, 2)
    dtype, shape = _common_type(node, operands(node))
    if dtype not in _WHOLES:
        refuse(node, f"it doesn't take {NAMES.get(dtype, dtype.value)}")
    return [TensorType(_WHOLES[dtype], shape)]


def _part(node: Node) -> Found:
    arity(node, 1)
    dtype, shape = operand(node)
    _takes(node, dtype, "fc")
    return [TensorType(_PARTS.get(dtype, dtype), shape)]


def _convert(node: Node) -> Found:
    """The element type is what is stated."""
    arity(node, 2 if node.op_type == "stochastic-convert" else 1)
    return [TensorType(stated(node).dtype, operand(node)[1])]


def _select(node: Node) -> Found:
    arity(node, 3)
    decides, where = operand(node)
    if decides is not DType.BOOL:
        refuse(node, f"operand 0 is {NAMES.get(decides, decides.value)}, not pred")
    dtype, shape = _common_type(node, operands(node, 1))
    if where and not same_shape(where, shape):
        refuse(node, f"it chooses by {text(TensorType(decides, where))} between {text(TensorType(dtype, shape))}")
    return [TensorType(dtype, tuple(map(joint_dim, shape, where)) if where else shape)]


def _clamp(node: Node) -> Found:
    arity(node, 3)
    dtype, shape = operand(node, 1)
    _common_type(node, [(dtype, shape), *(end for end in operands(node) if end[1] or end[0] is not dtype)])
    return [TensorType(dtype, shape)]


def _bits(node: Node) -> Found:
    """`bitcast-convert`: the stated type, which must have as many bits."""
    arity(node, 1)
    dtype, shape = operand(node)
    to = stated_dtype(node, dtype)
    if dtype.is_complex != to.is_complex:
        refuse(node, f"bits of {NAMES.get(dtype, dtype.value)} are none of {NAMES.get(to, to.value)}")
    before, after = (1 if kind is DType.BOOL else kind.bits for kind in (dtype, to))
    before, after = max(before, 8) if dtype is DType.BOOL else before, max(after, 8) if to is DType.BOOL else after
    if before == after:
        return [TensorType(to, shape)]
    if before > after:
        return [TensorType(to, (*shape, before // after))]
    if not shape or shape[-1] != after // before:
        refuse(node, f"the last dimension of {text(TensorType(dtype, shape))} isn't {after // before}")
    return [TensorType(to, shape[:-1])]


ELEMENTWISE: dict[str, Callable[[Node], Found]] = {
    **dict.fromkeys(UNARY, _unary),
    **dict.fromkeys(BINARY, _binary),
    "is-finite": _is_finite,
    "compare": _compare,
    "complex": _complex,
    "real": _part,
    "imag": _part,
    "convert": _convert,
    "stochastic-convert": _convert,
    "select": _select,
    "clamp": _clamp,
    "bitcast-convert": _bits,
}
