"""Functions of NumPy that are expressions over other ones, as a model itself could write them."""

from __future__ import annotations

import inspect
from dataclasses import dataclass

from .arguments import Call, Function, signature
from .values import Item

_FORMULAS = {
    # statistics
    "all(a, axis=None, *, keepdims=False)": "numpy.bool(numpy.prod(numpy.bool(a), axis, keepdims=keepdims))",
    "any(a, axis=None, *, keepdims=False)": "numpy.bool(numpy.count_nonzero(a, axis, keepdims=keepdims))",
    "count_nonzero(a, axis=None, *, keepdims=False)": "numpy.sum(numpy.bool(a), axis, keepdims=keepdims)",
    "nanprod(a, axis=None, *, keepdims=False)": (
        "numpy.prod(numpy.where(numpy.isnan(a), 1, a), axis, keepdims=keepdims)"
    ),
    "nansum(a, axis=None, *, keepdims=False)": "numpy.sum(numpy.where(numpy.isnan(a), 0, a), axis, keepdims=keepdims)",
    "ptp(a, axis=None, *, keepdims=False)": (
        "numpy.subtract(numpy.max(a, axis, keepdims=keepdims), numpy.min(a, axis, keepdims=keepdims))"
    ),
    "std(a, axis=None, dtype=None, *, ddof=0, keepdims=False)": (
        "numpy.sqrt(numpy.var(a, axis, dtype, ddof=ddof, keepdims=keepdims))"
    ),
    "trace(a)": "numpy.sum(numpy.diagonal(a), -1)",
    # rounding
    "around(a, decimals=0)": "numpy.round(a, decimals)",
    "fix(x)": "numpy.trunc(x)",
    # comparisons
    "allclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False)": (
        "bool(numpy.all(numpy.isclose(a, b, rtol, atol, equal_nan)))"
    ),
    # products
    "inner(a, b)": "numpy.dot(a, numpy.swapaxes(b, -1, -2) if numpy.ndim(a) and numpy.ndim(b) > 1 else b)",
    "matmul(x1, x2)": "numpy.asarray(x1) @ numpy.asarray(x2)",
    "outer(a, b)": "numpy.multiply(numpy.ravel(a)[:, None], numpy.ravel(b))",
    "vdot(a, b)": "numpy.ravel(a) @ numpy.ravel(b)",
    # new arrays
    "asarray(a, dtype=None)": "numpy.array(a, dtype)",
    "astype(x, dtype)": "numpy.array(x, dtype)",
    "copy(a)": "numpy.array(a)",
    "identity(n, dtype=None)": "numpy.eye(n, dtype=dtype)",
    "logspace(start, stop, num=50, endpoint=True, base=10.0)": (
        "numpy.power(numpy.array(base), numpy.linspace(start, stop, num, endpoint))"
    ),
    "ones(shape, dtype=None)": "numpy.full(shape, 1.0, dtype)",
    "ones_like(a, dtype=None, *, shape=None)": "numpy.full_like(a, 1, dtype, shape=shape)",
    "zeros(shape, dtype=None)": "numpy.full(shape, 0.0, dtype)",
    "zeros_like(a, dtype=None, *, shape=None)": "numpy.full_like(a, 0, dtype, shape=shape)",
    # other shapes
    "append(arr, values, axis=None)": "numpy.concatenate([arr, values], axis)",
    "concat(arrays, axis=0)": "numpy.concatenate(arrays, axis)",
}


@dataclass(frozen=True, eq=False)
class Formula:
    """A function that an expression over its parameters stands for."""

    __signature__: inspect.Signature
    expression: str

    def __call__(self, call: Call, *items: Item, **keywords: Item) -> Item:
        names = list(self.__signature__.parameters)[1:]
        return call.compute(self.expression, **dict(zip(names, items, strict=False)), **keywords)


def formula(text: str, expression: str) -> Formula:
    """The function `name(parameters)` whose value is an expression."""
    return Formula(signature(text, "Item"), expression)


FORMULAS: dict[str, Function] = {text.partition("(")[0]: formula(text, body) for text, body in _FORMULAS.items()}
