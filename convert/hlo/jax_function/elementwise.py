"""HLO's elementwise opcodes by `jax.lax`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax import lax

from ....passes.errors import Unsupported
from ....passes.graph import Node
from .tools import Arrays, result_type

PLAIN: dict[str, Callable[..., jax.Array]] = {
    "abs": lax.abs,
    "acos": lax.acos,
    "acosh": lax.acosh,
    "add": lax.add,
    "and": lax.bitwise_and,
    "asin": lax.asin,
    "asinh": lax.asinh,
    "atan": lax.atan,
    "atan2": lax.atan2,
    "atanh": lax.atanh,
    "cbrt": lax.cbrt,
    "ceil": lax.ceil,
    "complex": lax.complex,
    "copy": lambda x: x,
    "cosh": lax.cosh,
    "cosine": lax.cos,
    "count-leading-zeros": lax.clz,
    "divide": lax.div,
    "erf": lax.erf,
    "exponential": lax.exp,
    "exponential-minus-one": lax.expm1,
    "floor": lax.floor,
    "imag": lax.imag,
    "is-finite": lax.is_finite,
    "log": lax.log,
    "log-plus-one": lax.log1p,
    "logistic": lax.logistic,
    "maximum": lax.max,
    "minimum": lax.min,
    "multiply": lax.mul,
    "negate": lax.neg,
    "not": lax.bitwise_not,
    "opt-barrier": lax.optimization_barrier,
    "or": lax.bitwise_or,
    "popcnt": lax.population_count,
    "power": lax.pow,
    "real": lax.real,
    "remainder": lax.rem,
    "round-nearest-afz": lambda x: lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO),
    "round-nearest-even": lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN),
    "rsqrt": lax.rsqrt,
    "select": lax.select,
    "shift-left": lax.shift_left,
    "shift-right-arithmetic": lax.shift_right_arithmetic,
    "shift-right-logical": lax.shift_right_logical,
    "sign": lax.sign,
    "sine": lax.sin,
    "sinh": lax.sinh,
    "sqrt": lax.sqrt,
    "subtract": lax.sub,
    "tan": lax.tan,
    "tanh": lax.tanh,
    "xor": lax.bitwise_xor,
}
"""Opcodes that are one function of their operands."""

_COMPARED: dict[str, Callable[..., jax.Array]] = {
    "EQ": lax.eq,
    "GE": lax.ge,
    "GT": lax.gt,
    "LE": lax.le,
    "LT": lax.lt,
    "NE": lax.ne,
}


def _compare(node: Node, operands: Arrays) -> jax.Array:
    if node.attributes.get("type") == "TOTALORDER":
        raise Unsupported(node, "JAX has the total order of floats in sorts only")
    return _COMPARED[node.attributes["direction"]](*operands)


def _convert(node: Node, operands: Arrays) -> jax.Array:
    return lax.convert_element_type(operands[0], result_type(node).dtype)


def _bits(node: Node, operands: Arrays) -> jax.Array:
    return lax.bitcast_convert_type(operands[0], result_type(node).dtype)


def _clamp(node: Node, operands: Arrays) -> jax.Array:
    """Bounds that aren't constants are repeated: JAX has no derivative by a scalar bound."""
    low, x, high = operands
    if not all(isinstance(bound, np.ndarray) for bound in (low, high)):
        low, high = (lax.broadcast_in_dim(bound, x.shape, range(bound.ndim)) for bound in (low, high))
    return lax.clamp(low, x, high)


OPERATIONS: dict[str, Callable[[Node, Arrays], Any]] = {
    "bitcast-convert": _bits,
    "clamp": _clamp,
    "compare": _compare,
    "convert": _convert,
}
