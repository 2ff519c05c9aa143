"""Arithmetic, comparison, logic and bits, element by element with NumPy's (ONNX's multidirectional) broadcasting."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from ...passes.preconditions import default_bounds
from ...passes.types import DType
from .base import Array, Attributes, Kernel, between, in_float32, is_float, normal_axis, widened

Binary = Callable[[Array, Array], Array]
_BOUNDS = ("min", "max")


def aligned(attrs: Attributes, a: Array, b: Array) -> Array:
    """Before version 7 `b` is broadcast when `broadcast` is set: from `axis` on, else from the end."""
    if attrs.version >= 7 or not attrs.flag("broadcast") or not attrs.has("axis"):
        return b
    after = a.ndim - normal_axis(attrs.int("axis"), max(a.ndim, 1)) - b.ndim
    return b.reshape(b.shape + (1,) * after)


def binary(function: Binary) -> Kernel:
    """A kernel on two tensors from a function on two arrays."""

    def kernel(attrs: Attributes, a: Array, b: Array) -> Array:
        return function(a, b if attrs.version >= 7 else aligned(attrs, a, b))

    return kernel


def unary(function: Callable[[Array], Array]) -> Kernel:
    def kernel(_: Attributes, x: Array) -> Array:
        return function(x)

    return kernel


def whole(function: Callable[[Array], Array]) -> Kernel:
    def kernel(attrs: Attributes, x: Array) -> Array:
        return attrs.whole(x, function)

    return kernel


def variadic(function: Binary) -> Kernel:
    def kernel(_: Attributes, *inputs: Array) -> Array:
        return reduce(function, inputs)

    return kernel


def comparison(function: Binary) -> Kernel:
    """Like `binary`, with a bool result for strings too."""
    return binary(lambda a, b: np.asarray(function(a, b)).astype(bool))


def divide(a: Array, b: Array) -> Array:
    """Quotient; of integers truncated toward zero. Integer division by zero gives 0."""
    if is_float(a.dtype):
        return np.divide(a, b)
    return np.floor_divide(a - np.fmod(a, b), b)


def modulo(attrs: Attributes, a: Array, b: Array) -> Array:
    """Remainder with the sign of `b`, or of `a` when `fmod` is set. Of integers modulo zero: 0."""
    return np.fmod(a, b) if attrs.flag("fmod") else np.mod(a, b)


def power(attrs: Attributes, a: Array, b: Array) -> Array:
    """`a` to the power of `b`, in the type of `a`.

    Integers to negative powers follow real arithmetic truncated toward zero (0 to a negative power is
    undefined there).
    """
    if attrs.version < 7:
        b = aligned(attrs, a, b)
    if a.dtype == b.dtype and is_float(a.dtype):
        return np.power(a, b)
    if is_float(a.dtype) or is_float(b.dtype):
        return np.power(a.astype(np.float64), b.astype(np.float64)).astype(a.dtype)
    wide = np.uint64 if a.dtype.kind == "u" else np.int64
    if b.dtype.kind == "i" and np.any(b < 0):
        exact = np.power(a.astype(wide), np.maximum(b, 0).astype(wide))
        inverse = np.trunc(np.power(a.astype(np.float64), b.astype(np.float64)))
        return np.where(b < 0, np.where(np.isfinite(inverse), inverse, 0).astype(wide), exact).astype(a.dtype)
    return np.power(a.astype(wide), b.astype(wide)).astype(a.dtype)


def shift(attrs: Attributes, a: Array, b: Array) -> Array:
    """Shifts by a negative amount, or by the width and more, leave only the sign's extension."""
    direction = attrs.string("direction")
    if direction not in ("LEFT", "RIGHT"):
        raise ValueError(f"unknown direction {direction!r}")
    return np.left_shift(a, b) if direction == "LEFT" else np.right_shift(a, b)


def mean(_: Attributes, *inputs: Array) -> Array:
    total = reduce(np.add, map(widened, inputs))
    return (total / total.dtype.type(len(inputs))).astype(inputs[0].dtype)


def where(_: Attributes, condition: Array, a: Array, b: Array) -> Array:
    return np.where(condition, a, b)


def clip(attrs: Attributes, x: Array, low: Array | None = None, high: Array | None = None) -> Array:
    """Between `low` and `high` (attributes before version 11); `high` where `low` is above it.

    Without a bound, infinity is cut off at what the declared type holds. onnx's reference leaves it as it is.
    """
    if attrs.version < 11:
        return between(x, *(np.asarray(attrs.float(name), x.dtype) if attrs.has(name) else None for name in _BOUNDS))
    declared = attrs.node.inputs[0]
    limits = default_bounds((declared and declared.tensor.dtype) or DType.of(x.dtype))
    bounds = (limit if bound is None else bound.reshape(()) for bound, limit in zip((low, high), limits, strict=True))
    return between(x, *(np.asarray(bound, x.dtype) if isinstance(bound, float) else bound for bound in bounds))


def is_infinite(attrs: Attributes, x: Array) -> Array:
    found = np.isinf(x)
    if not attrs.int("detect_positive", 1):
        found = found & (x < np.zeros((), x.dtype))
    if not attrs.int("detect_negative", 1):
        found = found & (x > np.zeros((), x.dtype))
    return found


def reciprocal(x: Array) -> Array:
    return np.divide(np.ones((), x.dtype), x)


def identity(_: Attributes, x: Any) -> Any:
    return x


def accurate(function: Callable[[Array], Array]) -> Kernel:
    """A real function of one tensor; 16-bit floats are computed in float32 and rounded once."""
    return in_float32(unary(function))


TABLE: dict[str, Kernel] = {
    # two tensors
    "Add": binary(np.add),
    "Sub": binary(np.subtract),
    "Mul": binary(np.multiply),
    "Div": binary(divide),
    "Mod": modulo,
    "Pow": power,
    "Equal": comparison(np.equal),
    "Greater": comparison(np.greater),
    "GreaterOrEqual": comparison(np.greater_equal),
    "Less": comparison(np.less),
    "LessOrEqual": comparison(np.less_equal),
    "And": binary(np.logical_and),
    "Or": binary(np.logical_or),
    "Xor": binary(np.logical_xor),
    "BitwiseAnd": binary(np.bitwise_and),
    "BitwiseOr": binary(np.bitwise_or),
    "BitwiseXor": binary(np.bitwise_xor),
    "BitShift": shift,
    # any number of tensors
    "Sum": in_float32(variadic(np.add)),
    "Max": variadic(np.maximum),
    "Min": variadic(np.minimum),
    "Mean": mean,
    "Where": where,
    "Clip": clip,
    # one tensor
    "Identity": identity,
    "Abs": unary(np.abs),
    "Neg": unary(np.negative),
    "Sign": unary(np.sign),
    "Not": unary(np.logical_not),
    "BitwiseNot": unary(np.invert),
    "Reciprocal": unary(reciprocal),
    "Sqrt": unary(np.sqrt),
    "Ceil": whole(np.ceil),
    "Floor": whole(np.floor),
    "Round": whole(np.rint),
    "Exp": accurate(np.exp),
    "Log": accurate(np.log),
    "Sin": accurate(np.sin),
    "Cos": accurate(np.cos),
    "Tan": accurate(np.tan),
    "Asin": accurate(np.arcsin),
    "Acos": accurate(np.arccos),
    "Atan": accurate(np.arctan),
    "Sinh": accurate(np.sinh),
    "Cosh": accurate(np.cosh),
    "Tanh": accurate(np.tanh),
    "Asinh": accurate(np.arcsinh),
    "Acosh": accurate(np.arccosh),
    "Atanh": accurate(np.arctanh),
    "IsNaN": unary(np.isnan),
    "IsInf": is_infinite,
}
