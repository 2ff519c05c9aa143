"""compare: by value, or with all floats in one total order."""

from __future__ import annotations

from ....passes.build import cast
from ....passes.errors import InvalidModel
from ....passes.graph import Node, Value
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ..dialect import DOMAIN
from .bits import SAME_WIDTH, bit_cast
from .support import Results, dtype_of
from .type_legalization import call, number, operands

_DIRECTIONS = {"LT": "Less", "LE": "LessOrEqual", "GT": "Greater", "GE": "GreaterOrEqual", "EQ": "Equal"}


@rule(DOMAIN, "compare")
def compare(op: Builder, node: Node) -> Results:
    """compare: NaN is equal to nothing, unless the type is TOTALORDER (then -NaN < -inf < -0 < +0 < inf < NaN)."""
    a, b = operands(node, 2)
    dtype = dtype_of(node, a)
    direction = str(node.attributes.get("direction", ""))
    if direction != "NE" and direction not in _DIRECTIONS:
        raise InvalidModel(f"{node!r}: direction is {direction!r}")
    if dtype is DType.BOOL:
        return _of_booleans(op, direction, a, b)
    if dtype.is_float and node.attributes.get("type") == "TOTALORDER":
        a, b = (_in_total_order(op, value, dtype) for value in (a, b))
    elif dtype.is_float and a is b and direction in ("NE", "EQ"):
        nan = op.IsNaN(a)  # the only thing that isn't what it is
        return nan if direction == "NE" else op.Not(nan)
    if direction == "NE":
        return op.Not(call(op, "Equal", a, b))
    return call(op, _DIRECTIONS[direction], a, b)


def _of_booleans(op: Builder, direction: str, a: Value, b: Value) -> Value:
    match direction:
        case "EQ":
            return op.Equal(a, b)
        case "NE":
            return op.Xor(a, b)
        case "LT":
            return op.And(op.Not(a), b)
        case "LE":
            return op.Or(op.Not(a), b)
        case "GT":
            return op.And(a, op.Not(b))
        case _:
            return op.Or(a, op.Not(b))


def _in_total_order(op: Builder, value: Value, dtype: DType) -> Value:
    """Integers in the order of the floats: their bits, where the sign is set all the others turned round."""
    bits = bit_cast(op, value, SAME_WIDTH[dtype])
    if dtype.bits < 32:
        bits = cast(op, bits, DType.INT32)
    turned = op.BitwiseXor(bits, number(op, (1 << (dtype.bits - 1)) - 1, bits))
    return op.Where(op.Less(bits, number(op, 0, bits)), turned, bits)


RULES = collect(globals())
